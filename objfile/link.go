package objfile

import (
	"encoding/binary"
	"fmt"
	"math"
)

// SegmentKind is a part of a linked image: sections with the same permissions.
type SegmentKind uint8

// The segments, in order of address.
const (
	SegText   SegmentKind = iota // readable, executable
	SegRodata                    // readable
	SegData                      // readable, writable; Nobits sections at the end
	NumSegments
)

// LinkOptions say where things go.
type LinkOptions struct {
	// Base is the address of the first segment; Align, a power of two, is
	// the alignment of each.
	Base, Align uint64
	// Resolve gives the address of a symbol that no object defines; nil if there are none.
	Resolve func(name string) (address uint64, ok bool)
	// Discard says which sections to leave out besides those without Alloc.
	Discard func(s *Section) bool
}

// Segment is a part of an image.
type Segment struct {
	Address uint64
	Data    []byte
	// Zeros is how many zero bytes follow Data.
	Zeros uint64
}

// Image is the outcome of linking.
type Image struct {
	Segments [NumSegments]Segment
	// Symbols are the addresses of all symbols that are not local.
	Symbols map[string]uint64
	// Sections, by object, are the addresses of its sections; 0 if left out.
	Sections [][]uint64
}

// linker is one run of Link.
type linker struct {
	objs []*Object
	opt  LinkOptions
	img  *Image
	kept [][]bool
	// owner is the object and symbol that defines a name.
	owner map[string]definition
}

type definition struct{ obj, sym int }

// Link combines objects of one machine: it keeps one of the COMDAT groups of each name,
// lets global definitions override weak ones, places all sections that occupy
// memory and computes their fields. Errors are *Error.
func Link(objs []*Object, opt LinkOptions) (*Image, error) {
	if opt.Align == 0 || opt.Align&(opt.Align-1) != 0 || opt.Base%opt.Align != 0 {
		return nil, &Error{Reason: "base or alignment of the image"}
	}
	l := &linker{objs: objs, opt: opt, owner: make(map[string]definition),
		img: &Image{Symbols: make(map[string]uint64)}}
	for _, o := range objs {
		if err := o.Validate(); err != nil {
			return nil, err
		}
		if o.Machine != objs[0].Machine {
			return nil, &Error{Reason: "objects of different machines"}
		}
	}
	l.keep()
	if err := l.define(); err != nil {
		return nil, err
	}
	if err := l.place(); err != nil {
		return nil, err
	}
	for name, d := range l.owner {
		s := &l.objs[d.obj].Symbols[d.sym]
		l.img.Symbols[name] = l.img.Sections[d.obj][s.Section] + s.Value
	}
	for i := range objs {
		if err := l.relocate(i); err != nil {
			return nil, err
		}
	}
	return l.img, nil
}

// keep decides which sections are in the image.
func (l *linker) keep() {
	groups := make(map[string]bool)
	for _, o := range l.objs {
		kept := make([]bool, len(o.Sections))
		for i := range o.Sections {
			s := &o.Sections[i]
			kept[i] = s.Flags&Alloc != 0 && s.Flags&Exclude == 0 && (l.opt.Discard == nil || !l.opt.Discard(s))
		}
		for i := range o.Groups {
			name := o.Symbols[o.Groups[i].Signature].Name
			for _, s := range o.Groups[i].Sections {
				kept[s] = kept[s] && !groups[name]
			}
			groups[name] = true
		}
		l.kept = append(l.kept, kept)
	}
}

// define finds the definition of each name.
func (l *linker) define() error {
	for i, o := range l.objs {
		for j := range o.Symbols {
			s := &o.Symbols[j]
			if s.Binding == Local || s.Section == Undefined || !l.kept[i][s.Section] {
				continue
			}
			old, ok := l.owner[s.Name]
			if ok {
				before := l.objs[old.obj].Symbols[old.sym].Binding
				if before == Global && s.Binding == Global {
					return &Error{Symbol: s.Name, Reason: "defined in two objects"}
				}
				if s.Binding == Weak || before == Global {
					continue
				}
			}
			l.owner[s.Name] = definition{i, j}
		}
	}
	return nil
}

func segmentOf(s *Section) SegmentKind {
	switch {
	case s.Flags&Exec != 0:
		return SegText
	case s.Flags&Write != 0:
		return SegData
	}
	return SegRodata
}

// place gives each kept section an address: segment by segment, objects in order,
// Nobits last.
func (l *linker) place() error {
	for _, o := range l.objs {
		l.img.Sections = append(l.img.Sections, make([]uint64, len(o.Sections)))
	}
	at := l.opt.Base
	for seg := range NumSegments {
		at = (at + l.opt.Align - 1) &^ (l.opt.Align - 1)
		g := &l.img.Segments[seg]
		g.Address = at
		for _, nobits := range []bool{false, true} {
			for i, o := range l.objs {
				for j := range o.Sections {
					s := &o.Sections[j]
					if !l.kept[i][j] || segmentOf(s) != seg || (s.Kind == Nobits) != nobits {
						continue
					}
					align := uint64(max(s.Align, 1))
					at = (at + align - 1) &^ (align - 1)
					l.img.Sections[i][j] = at
					at += s.Bytes()
					if at-l.opt.Base > maxSectionBytes || at < l.opt.Base {
						return &Error{Section: s.Name, Reason: "the image is too large"}
					}
				}
			}
			if !nobits {
				g.Data = make([]byte, at-g.Address)
			}
		}
		g.Zeros = at - g.Address - uint64(len(g.Data))
	}
	return nil
}

// relocate copies the sections of object i into the image and computes fields.
func (l *linker) relocate(i int) error {
	o := l.objs[i]
	for j := range o.Sections {
		s := &o.Sections[j]
		if !l.kept[i][j] || s.Kind == Nobits {
			continue
		}
		g := &l.img.Segments[segmentOf(s)]
		address := l.img.Sections[i][j]
		data := g.Data[address-g.Address:][:len(s.Data)]
		copy(data, s.Data)
		for k := range s.Relocs {
			r := &s.Relocs[k]
			target, err := l.address(i, r.Symbol)
			if err != nil {
				return err
			}
			if !ApplyReloc(data, r, address, target) {
				return &Error{Section: s.Name, Symbol: o.Symbols[r.Symbol].Name,
					Reason: fmt.Sprintf("relocation at %#x does not reach its target", r.Offset)}
			}
		}
	}
	return nil
}

// address is the address of a symbol of object i.
func (l *linker) address(i int, n SymbolIndex) (uint64, error) {
	s := &l.objs[i].Symbols[n]
	if s.Binding != Local {
		if a, ok := l.img.Symbols[s.Name]; ok {
			return a, nil
		}
		if l.opt.Resolve != nil {
			if a, ok := l.opt.Resolve(s.Name); ok {
				return a, nil
			}
		}
		if s.Binding == Weak {
			return 0, nil
		}
		return 0, &Error{Symbol: s.Name, Reason: "not defined"}
	}
	if s.Section == Undefined || !l.kept[i][s.Section] {
		return 0, &Error{Symbol: s.Name, Reason: "in a section that was left out"}
	}
	return l.img.Sections[i][s.Section] + s.Value, nil
}

// ApplyReloc computes the field of r in data, the bytes of its section, which is at the
// given address; ok is false if the value does not fit. The offset must be valid.
func ApplyReloc(data []byte, r *Reloc, address, target uint64) (ok bool) {
	v, at := target+uint64(r.Addend), address+r.Offset
	field := data[r.Offset:]
	switch {
	case r.Kind >= Call26:
		inst, ok := patchA64(binary.LittleEndian.Uint32(field), r.Kind, v, at)
		binary.LittleEndian.PutUint32(field, inst)
		return ok
	case r.Kind != Abs64:
		v -= at
	}
	if r.Kind.Width() == 8 {
		binary.LittleEndian.PutUint64(field, v)
		return true
	}
	if d := int64(v); d < math.MinInt32 || d > math.MaxInt32 {
		return false
	}
	binary.LittleEndian.PutUint32(field, uint32(v))
	return true
}

// loShift is, by kind from AddLo12 on, the logarithm of what the low 12 bits are divided by.
var loShift = [...]uint8{0, 0, 1, 2, 3, 4}

// patchA64 inserts the field of a relocation into an instruction that is at the given address; v is the
// address that is referred to. If it does not fit the instruction stays as it is.
func patchA64(inst uint32, kind RelocKind, v, at uint64) (uint32, bool) {
	const (
		imm26 = 1<<26 - 1
		imm19 = 1<<19 - 1
		imm12 = 1<<12 - 1
	)
	switch kind {
	case Call26, Jump26:
		d := int64(v - at)
		if d&3 != 0 || d < -1<<27 || d >= 1<<27 {
			return inst, false
		}
		return inst&^imm26 | uint32(d>>2)&imm26, true
	case Page21:
		d := int64(v&^imm12 - at&^imm12)
		if d < -1<<32 || d >= 1<<32 {
			return inst, false
		}
		n := uint32(d >> 12)
		return inst&^(3<<29|imm19<<5) | n&3<<29 | n>>2&imm19<<5, true
	}
	shift := loShift[kind-AddLo12]
	lo := uint32(v) & imm12
	if lo&(1<<shift-1) != 0 {
		return inst, false
	}
	return inst&^(imm12<<10) | lo>>shift<<10, true
}
