package link

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/objfile"
)

// imageMemory is the number of bytes of static data segments below which copying them is cheaper for a host than a mapping.
const imageMemory = 16 << 10

// pagesOfMemory is how many pages the static data segments of a program must have that are mapped: the file has part of a page more in front and behind.
const pagesOfMemory = 16

// CutMemory takes what the only memory of a program holds at first out of its object and its metadata, if it has many pages. The object and the metadata are not changed: it returns others,
// and runs of pages of the memory; or the same, and none.
func CutMemory(o *objfile.Object, m *meta.Module) (*objfile.Object, *meta.Module, []image.Run) {
	mach := machines[o.Machine]
	if mach == nil || len(m.Memories) != 1 {
		return o, m, nil
	}
	cut, without, memories := takeMemories(o, m, pagesOfMemory*int(mach.page))
	if memories == nil {
		return o, m, nil
	}
	return cut, without, memories[0].Runs(mach.page)
}

// MemoryAlign is the alignment that contents of memories need in a program for a machine, in bytes.
func MemoryAlign(m objfile.Machine) uint32 { return uint32(machines[m].page) }

// takeMemories makes of the static data segments of an object what memories hold at first, so that pages of it can be mapped, and takes
// them out of the object and its metadata, which it does not change: it returns others. It returns the same, and no memories, if the
// segments have less than least bytes, or so few on their pages that mappings would be of zeros.
func takeMemories(o *objfile.Object, m *meta.Module, least int) (*objfile.Object, *meta.Module, []image.Memory) {
	rodata, data := o.SectionIndex(".rodata"), o.SectionIndex(".data")
	total := 0
	for i := range m.Datas {
		total += int(m.Datas[i].Len)
	}
	if total < least || rodata == objfile.Undefined || data == objfile.Undefined {
		return o, m, nil
	}
	constants := o.Sections[rodata].Data
	memories := make([]image.Memory, len(m.Memories))
	pairs := make(map[uint64]bool, len(m.Datas)) // words with the addresses of static segments
	end := uint64(0)
	for i := range m.Datas {
		d := &m.Datas[i]
		start := uint64(d.Rodata)
		if start < end || start+uint64(d.Len) > uint64(len(constants)) || uint64(d.Memory) >= uint64(len(memories)) ||
			uint64(d.Pair)+abi.SegmentLength+8 > uint64(len(o.Sections[data].Data)) {
			return o, m, nil // invalid, which others tell
		}
		end = start + uint64(d.Len)
		memories[d.Memory] = append(memories[d.Memory], image.Piece{Offset: uint64(d.Offset), Data: constants[d.Rodata : d.Rodata+d.Len]})
		pairs[uint64(d.Pair)+abi.SegmentAddress] = true
	}
	const some = 64 << 10
	span := uint64(0)
	for _, x := range memories {
		for _, r := range x.Runs(machines[o.Machine].page) {
			low, high := r.Extent()
			span += high - low
		}
	}
	if span > 2*uint64(total)+some {
		return o, m, nil
	}
	c := &cutter{datas: m.Datas}
	out := *o
	out.Sections = slices.Clone(o.Sections)
	if !c.cut(&out, rodata, data, pairs) {
		return o, m, nil
	}
	without := *m
	without.Datas = nil
	return &out, &without, memories
}

// cutter takes static data segments out of the constants.
type cutter struct {
	datas []meta.Data
	// kept are the parts of the constants that stay: where they were, and how much lower they are.
	kept []keptPart
}

type keptPart struct{ start, end, by int64 }

// cut changes a copy of an object, whose table of sections is its own. It reports whether everything that refers to constants is known.
func (c *cutter) cut(o *objfile.Object, rodata, data objfile.SectionIndex, pairs map[uint64]bool) bool {
	old := o.Sections[rodata].Data
	var left []byte
	const align = 16 // of data segments
	keep := func(from, to uint32) {
		if part := old[from:to]; len(part) < align && len(bytes.Trim(part, "\x00")) == 0 { // between segments
			return
		}
		for uint32(len(left))%align != from%align {
			left = append(left, 0)
		}
		c.kept = append(c.kept, keptPart{int64(from), int64(to), int64(from) - int64(len(left))})
		left = append(left, old[from:to]...)
	}
	at := uint32(0)
	for i := range c.datas {
		d := &c.datas[i]
		keep(at, d.Rodata)
		at = d.Rodata + d.Len
	}
	keep(at, uint32(len(old)))
	for n := range o.Sections {
		s := &o.Sections[n]
		inData := objfile.SectionIndex(n) == data
		var changed []objfile.Reloc
		if inData {
			changed = make([]objfile.Reloc, 0, len(s.Relocs))
		}
		for i := range s.Relocs {
			r := &s.Relocs[i]
			sym := &o.Symbols[r.Symbol]
			if !inData && sym.Section != rodata {
				continue
			}
			by := int64(0)
			if sym.Section == rodata {
				if inData && pairs[r.Offset] {
					continue
				}
				var ok bool
				if by, ok = c.lower(int64(sym.Value) + r.Addend); !ok || !inData {
					return false
				}
			}
			changed = append(changed, *r)
			changed[len(changed)-1].Addend -= by
		}
		if inData {
			s.Relocs = changed
		}
	}
	o.Sections[rodata].Data = left
	words := bytes.Clone(o.Sections[data].Data)
	for i := range c.datas {
		binary.LittleEndian.PutUint64(words[c.datas[i].Pair+abi.SegmentLength:], 0)
	}
	o.Sections[data].Data = words
	return true
}

// lower returns how much lower a place of the constants is; ok is false if it has been cut out.
func (c *cutter) lower(at int64) (by int64, ok bool) {
	i, found := slices.BinarySearchFunc(c.kept, at, func(k keptPart, at int64) int { return cmp.Compare(k.start, at) })
	if !found {
		i--
	}
	if i < 0 || at > c.kept[i].end {
		return 0, false
	}
	return c.kept[i].by, true
}
