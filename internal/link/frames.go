package link

import (
	"encoding/binary"

	"github.com/waot-project/waot/objfile"
)

const ehFrame = ".eh_frame"

// cutFrames leaves the entries of functions that the program does not have out of each .eh_frame. An entry is its length in
// four bytes and that many more; the next four are 0 in a CIE, and in an FDE the distance back to its CIE, before the
// function's address (Linux Standard Base, Exception Frames).
func (l *linker) cutFrames() error {
	l.frames = make([]objfile.Section, len(l.inputs))
	for i := range l.inputs {
		o := l.inputs[i].Object
		n := o.SectionIndex(ehFrame)
		if n == objfile.Undefined {
			continue
		}
		s, ok := l.liveFrames(i, &o.Sections[n])
		if !ok {
			return &Error{l.inputs[i].Name, "section .eh_frame is malformed"}
		}
		l.frames[i] = s
		l.sections[i][n].live = len(s.Data) > 0
	}
	return nil
}

// liveFrames is s, the .eh_frame of input i, without the entries of functions that are left out.
func (l *linker) liveFrames(i int, s *objfile.Section) (_ objfile.Section, ok bool) {
	const idOffset, functionOffset = 4, 8
	le := binary.LittleEndian
	cut := *s
	cut.Data, cut.Relocs = nil, nil
	relocs := s.Relocs // in order
	cies := make(map[int]int)
	for at := 0; at+idOffset <= len(s.Data); {
		size := idOffset + int(le.Uint32(s.Data[at:]))
		if size == idOffset { // the end
			break
		}
		if size < functionOffset || size > len(s.Data)-at {
			return cut, false
		}
		entry := s.Data[at : at+size]
		n := 0
		for n < len(relocs) && relocs[n].Offset < uint64(at+size) {
			n++
		}
		own := relocs[:n]
		relocs = relocs[n:]
		to := len(cut.Data)
		id := int(le.Uint32(entry[idOffset:]))
		switch {
		case id == 0:
			cies[at] = to
		case len(own) == 0 || own[0].Offset != uint64(at+functionOffset):
			return cut, false
		default:
			cie, known := cies[at+idOffset-id]
			if !known {
				return cut, false
			}
			if r, ok := l.target(i, own[0].Symbol); !ok || !l.sections[r.input][l.section(r)].live {
				at += size
				continue
			}
			id = to + idOffset - cie
		}
		cut.Data = append(cut.Data, entry...)
		le.PutUint32(cut.Data[to+idOffset:], uint32(id))
		for _, r := range own {
			r.Offset += uint64(to) - uint64(at)
			cut.Relocs = append(cut.Relocs, r)
		}
		at += size
	}
	return padded(cut), true
}

// padded is s, of whole entries, with its last one as long as the section's alignment asks for: what is between sections would be
// taken for the end.
func padded(s objfile.Section) objfile.Section {
	le := binary.LittleEndian
	last := 0
	for at := 0; at < len(s.Data); {
		last = at
		at += 4 + int(le.Uint32(s.Data[at:]))
	}
	for len(s.Data) != 0 && uint32(len(s.Data))%max(s.Align, 1) != 0 {
		s.Data = append(s.Data, 0) // DW_CFA_nop
		le.PutUint32(s.Data[last:], le.Uint32(s.Data[last:])+1)
	}
	return s
}
