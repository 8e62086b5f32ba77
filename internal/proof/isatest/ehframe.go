package isatest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/waot-project/waot/objfile"
)

// This file reads .eh_frame as unwinders do, by DWARF 5, section 6.4, as far as objects have it.

// DWARF are numbers of a machine's registers.
type DWARF struct {
	FramePointer, ReturnAddress int
	Kept                        []int // the callee-saved ones, in the order of abi.Saves
}

// frameRow says where the caller's registers are at a place in the code: the canonical frame address is base and offset bytes, and those in at are that
// far from it. The others have the values that they have in the caller.
type frameRow struct {
	base, offset int
	at           map[int]int
}

func (r *frameRow) clone() *frameRow {
	c := *r
	c.at = maps.Clone(r.at)
	return &c
}

func (r *frameRow) String() string {
	return fmt.Sprintf("CFA r%d%+d, %v", r.base, r.offset, r.at) // fmt sorts the keys
}

// frameTable is .eh_frame of an object.
type frameTable struct {
	entry   *frameRow
	code    uint32 // the unit of distances in the code
	entries []frameEntry
}

// frameEntry describes size bytes from start on, an offset in .text.
type frameEntry struct {
	start, size uint32
	code        []byte
}

const frameDataAlign = -8

var errFrames = errors.New("malformed .eh_frame")

// readFrames reads .eh_frame of an object with one common information entry.
func readFrames(o *objfile.Object) (t *frameTable, err error) {
	defer func() {
		if recover() != nil { // an index
			err = errFrames
		}
	}()
	s := &o.Sections[o.SectionIndex(".eh_frame")]
	starts := map[uint64]uint32{}
	for i := range s.Relocs {
		r := &s.Relocs[i]
		starts[r.Offset] = uint32(int64(o.Symbols[r.Symbol].Value) + r.Addend)
	}
	t = &frameTable{entry: &frameRow{at: map[int]int{}}}
	for at := 0; at < len(s.Data); {
		end := at + 4 + int(binary.LittleEndian.Uint32(s.Data[at:]))
		b := s.Data[at+4 : end]
		if at == 0 {
			// Identifier, version, "zR", alignments of code and data, return address, length of the augmentation, encoding of addresses.
			t.code = uint32(b[8])
			if string(b[4:8]) != "\x01zR\x00" || b[9] != 0x78 || b[11] != 1 || b[12] != 0x1b {
				return nil, errFrames
			}
			if _, err := t.run(b[13:], t.entry, 0); err != nil {
				return nil, err
			}
		} else {
			start, ok := starts[uint64(at+8)]
			if !ok || int(binary.LittleEndian.Uint32(b)) != at+4 || b[12] != 0 {
				return nil, errFrames
			}
			t.entries = append(t.entries, frameEntry{start, binary.LittleEndian.Uint32(b[8:]), b[13:]})
		}
		at = end
	}
	return t, nil
}

// at returns the row of an offset in .text.
func (t *frameTable) at(offset uint32) (row *frameRow, err error) {
	defer func() {
		if recover() != nil { // an index
			err = errFrames
		}
	}()
	for i := range t.entries {
		if e := &t.entries[i]; offset-e.start < e.size {
			return t.run(e.code, t.entry.clone(), offset-e.start)
		}
	}
	return nil, fmt.Errorf("nothing describes %#x", offset)
}

// run executes instructions on row, which it changes, up to a place.
func (t *frameTable) run(code []byte, row *frameRow, to uint32) (*frameRow, error) {
	at, stack := uint32(0), []*frameRow(nil)
	number := func() int {
		x, n := binary.Uvarint(code)
		code = code[n:]
		return int(x)
	}
	for len(code) > 0 {
		op, low := code[0]&0xc0, int(code[0]&0x3f)
		if op == 0 {
			op = code[0]
		}
		code = code[1:]
		switch op {
		case 0x00: // DW_CFA_nop
		case 0x40: // DW_CFA_advance_loc
			at += uint32(low) * t.code
		case 0x02: // DW_CFA_advance_loc1
			at += uint32(code[0]) * t.code
			code = code[1:]
		case 0x03: // DW_CFA_advance_loc2
			at += uint32(binary.LittleEndian.Uint16(code)) * t.code
			code = code[2:]
		case 0x04: // DW_CFA_advance_loc4
			at += binary.LittleEndian.Uint32(code) * t.code
			code = code[4:]
		case 0x80: // DW_CFA_offset
			row.at[low] = number() * frameDataAlign
		case 0x05: // DW_CFA_offset_extended
			reg := number()
			row.at[reg] = number() * frameDataAlign
		case 0xc0, 0x06: // DW_CFA_restore, DW_CFA_restore_extended
			if op == 0x06 {
				low = number()
			}
			delete(row.at, low)
			if o, ok := t.entry.at[low]; ok {
				row.at[low] = o
			}
		case 0x0a: // DW_CFA_remember_state
			stack = append(stack, row.clone())
		case 0x0b: // DW_CFA_restore_state
			row, stack = stack[len(stack)-1], stack[:len(stack)-1]
		case 0x0c: // DW_CFA_def_cfa
			row.base = number()
			row.offset = number()
		case 0x0d: // DW_CFA_def_cfa_register
			row.base = number()
		case 0x0e: // DW_CFA_def_cfa_offset
			row.offset = number()
		case 0x12: // DW_CFA_def_cfa_sf; tail calls have it, behind their jumps
			row.base = number()
			x, n := binary.Uvarint(code)
			row.offset = int(int64(x)<<(64-7*n)>>(64-7*n)) * frameDataAlign
			code = code[n:]
		default:
			return nil, fmt.Errorf("instruction %#x", op)
		}
		if at > to {
			break
		}
	}
	return row, nil
}
