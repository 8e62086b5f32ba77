package link

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/waot-project/waot/objfile"
)

// The parts of the ELF format that executables have and objects lack, or whose size matters here. Names are the format's.
const (
	ehSize  = 64
	phSize  = 56
	shSize  = 64
	symSize = 24
	dynSize = 16

	etDyn = 3

	ptLoad        = 1
	ptDynamic     = 2
	ptNote        = 4
	ptPhdr        = 6
	ptGNUStack    = 0x6474e551
	ptGNURelro    = 0x6474e552
	ptGNUProperty = 0x6474e553

	pfX, pfW, pfR = 1, 2, 4

	shtProgbits = 1
	shtSymtab   = 2
	shtStrtab   = 3
	shtDynamic  = 6
	shtNote     = 7
	shtNobits   = 8
	shtDynsym   = 11
	shtRelr     = 19

	shfWrite = 1
	shfAlloc = 2
	shfExec  = 4

	dtNull    = 0
	dtStrtab  = 5
	dtSymtab  = 6
	dtStrsz   = 10
	dtSyment  = 11
	dtFlags   = 30
	dtRelrsz  = 35
	dtRelr    = 36
	dtRelrent = 37
	dtFlags1  = 0x6ffffffb
	dfBindNow = 8
	df1Now    = 1
	df1PIE    = 0x08000000
)

// segmentFlags are the protections of the segments, in memory and in the flags of their sections.
var segmentFlags = [numSegments]struct {
	protection uint32
	section    uint64
}{
	segConst:  {pfR, shfAlloc},
	segText:   {pfR | pfX, shfAlloc | shfExec},
	segRelro:  {pfR | pfW, shfAlloc | shfWrite},
	segData:   {pfR | pfW, shfAlloc | shfWrite},
	segMemory: {pfR, shfAlloc},
}

// programHeader is a program header: of a segment, or of a section of the program if out is not negative.
type programHeader struct {
	kind, flags  uint32
	segment, out int
}

// programHeaders lists the program headers.
func (l *linker) programHeaders() []programHeader {
	const none = -1
	h := []programHeader{{kind: ptPhdr, flags: pfR, segment: none, out: none}}
	for seg := range numSegments {
		if seg == segConst || l.segmentHas(seg) {
			h = append(h, programHeader{ptLoad, segmentFlags[seg].protection, seg, none})
		}
	}
	h = append(h, programHeader{ptDynamic, pfR | pfW, none, outDynamic})
	if l.outs[outProperty].size != 0 {
		h = append(h, programHeader{ptNote, pfR, none, outProperty}, programHeader{ptGNUProperty, pfR, none, outProperty})
	}
	return append(h, programHeader{ptGNUStack, pfR | pfW, none, none}, programHeader{ptGNURelro, pfR, segRelro, none})
}

// segmentHas reports whether a segment holds anything.
func (l *linker) segmentHas(seg int) bool {
	for n := range l.outs {
		if o := &l.outs[n]; o.segment == seg && o.size != 0 {
			return true
		}
	}
	return false
}

// dynamic makes .dynamic, for tools: the program's start finds .relr.dyn by symbols. Its size does not depend on addresses.
func (l *linker) dynamic() []byte {
	var b []byte
	add := func(tag, value uint64) {
		b = binary.LittleEndian.AppendUint64(b, tag)
		b = binary.LittleEndian.AppendUint64(b, value)
	}
	add(dtStrtab, l.outs[outDynstr].address)
	add(dtStrsz, l.outs[outDynstr].size)
	add(dtSymtab, l.outs[outDynsym].address)
	add(dtSyment, symSize)
	add(dtRelr, l.outs[outRelr].address)
	add(dtRelrsz, l.outs[outRelr].size)
	add(dtRelrent, outSections[outRelr].entry)
	add(dtFlags, dfBindNow)
	add(dtFlags1, df1Now|df1PIE)
	add(dtNull, 0)
	return b
}

// property makes the note of what the processor must have and what all objects with code keep, or nil if there is nothing to say.
func (l *linker) property() []byte {
	var notes [][]byte
	for i := range l.inputs {
		o := l.inputs[i].Object
		if !slices.ContainsFunc(o.Sections, func(s objfile.Section) bool { return s.Flags&objfile.Exec != 0 }) {
			continue
		}
		var note []byte
		if s := o.Section(objfile.SectionProperty); s != nil {
			note = s.Data
		}
		notes = append(notes, note)
	}
	return objfile.MergeProperties(notes)
}

// copySections puts the contents of the sections into the file and resolves what they refer to.
func (l *linker) copySections(file []byte) (err error) {
	text := &l.outs[outText]
	filled := text.offset
	fill := func(to uint64) { // with what lies between functions
		for at := filled; at < to; at++ {
			file[at] = l.machine.filler[(at-text.offset)%uint64(len(l.machine.filler))]
		}
	}
	l.eachLive(func(i, n int, p *placed) {
		o := &l.outs[p.out]
		s := l.contents(i, n)
		if o.kind == shtNobits {
			return
		}
		at := o.offset + p.offset
		data := file[at : at+s.Bytes()]
		if p.out == outText {
			fill(at)
			filled = at + s.Bytes()
		}
		copy(data, s.Data)
		address := l.address(int32(i), int32(n))
		for k := range s.Relocs {
			r := &s.Relocs[k]
			if l.leaves(n, r) {
				continue
			}
			to, _ := l.target(i, r.Symbol)
			if !r.Apply(data, address, l.value(to)) && err == nil {
				err = &Error{l.inputs[i].Name, fmt.Sprintf("section %q: what the field at %#x refers to is too far away", s.Name, r.Offset)}
			}
		}
	})
	fill(min(alignUp(text.offset+text.size, filePage), uint64(len(file)))) // to the end of the last page with code
	for n := range l.outs {
		if o := &l.outs[n]; o.made != nil { // .bss may begin behind the end of the file
			copy(file[o.offset:], o.made)
		}
	}
	return err
}

// writeHeaders fills in the ELF header, but for the section headers, and the program headers.
func (l *linker) writeHeaders(file []byte) {
	le := binary.LittleEndian
	copy(file, "\x7fELF\x02\x01\x01")
	le.PutUint16(file[16:], etDyn)
	le.PutUint16(file[18:], uint16(l.inputs[0].Object.Machine))
	le.PutUint32(file[20:], 1)
	le.PutUint64(file[24:], l.value(l.globals[l.opt.Entry]))
	le.PutUint64(file[32:], ehSize)
	le.PutUint16(file[52:], ehSize)
	le.PutUint16(file[54:], phSize)
	le.PutUint16(file[56:], uint16(len(l.headers)))
	le.PutUint16(file[58:], shSize)
	for i, h := range l.headers {
		b := file[ehSize+phSize*i:]
		s := segment{}
		align := uint64(8)
		switch {
		case h.kind == ptPhdr:
			size := uint64(phSize * len(l.headers))
			s = segment{offset: ehSize, address: ehSize, fileSize: size, memory: size}
		case h.out >= 0:
			o := &l.outs[h.out]
			s = segment{offset: o.offset, address: o.address, fileSize: o.size, memory: o.size}
		case h.segment >= 0:
			s = l.segments[h.segment]
		}
		switch h.kind {
		case ptLoad:
			align = l.page
		case ptGNURelro:
			align = 1
		case ptGNUStack:
			align = 16
		}
		le.PutUint32(b, h.kind)
		le.PutUint32(b[4:], h.flags)
		le.PutUint64(b[8:], s.offset)
		le.PutUint64(b[16:], s.address)
		le.PutUint64(b[24:], s.address)
		le.PutUint64(b[32:], s.fileSize)
		le.PutUint64(b[40:], s.memory)
		le.PutUint64(b[48:], align)
	}
}
