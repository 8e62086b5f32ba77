package objfile

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/internal/stop"
)

// Machine is an instruction set, numbered as in ELF (e_machine).
type Machine uint16

// The machines.
const (
	X86_64  Machine = 62
	AArch64 Machine = 183
)

// SectionKind is what a section holds.
type SectionKind uint8

// The kinds of section.
const (
	Progbits SectionKind = iota // bytes
	Nobits                      // Size zero bytes that take no room in the file
	Note                        // ELF notes
)

// SectionFlags are properties of a section.
type SectionFlags uint8

// The flags.
const (
	Alloc   SectionFlags = 1 << iota // occupies memory at run time
	Write                            // writable at run time
	Exec                             // contains instructions
	Exclude                          // left out of linked programs
)

// SectionIndex is an index into Object.Sections.
type SectionIndex int32

// Undefined is the section of a symbol that is defined elsewhere.
const Undefined SectionIndex = -1

// Section is a section.
type Section struct {
	Name  string
	Kind  SectionKind
	Flags SectionFlags
	Align uint32 // in bytes, a power of two; 0 counts as 1
	Data  []byte // unless Kind is Nobits
	Size  uint64 // of Nobits, in bytes; otherwise len(Data) counts
	// Relocs have fields inside Data.
	Relocs []Reloc
}

// Bytes returns the size of s in memory.
func (s *Section) Bytes() uint64 {
	if s.Kind == Nobits {
		return s.Size
	}
	return uint64(len(s.Data))
}

// Binding is how symbols of one name combine.
type Binding uint8

// The bindings.
const (
	Local  Binding = iota // visible in this object only
	Global                // defined once
	Weak                  // gives way to a Global definition
)

// SymbolKind is what a symbol names.
type SymbolKind uint8

// The kinds of symbol.
const (
	NoType SymbolKind = iota
	Func
	Data
	SectionSym // the section itself; no name
	FileSym    // the name of the source file; in no section
)

// SymbolIndex is an index into Object.Symbols.
type SymbolIndex uint32

// Symbol is a symbol.
type Symbol struct {
	Name    string
	Section SectionIndex // or Undefined
	Value   uint64       // offset in Section
	Size    uint64       // in bytes
	Binding Binding
	Kind    SymbolKind
	// Hidden symbols are not visible outside of the program or library that the object
	// becomes part of.
	Hidden bool
}

// Reloc is a relocation.
type Reloc struct {
	Offset uint64 // of the field
	Kind   reloc.Kind
	Symbol SymbolIndex
	Addend int64
}

// Apply computes the field of r in data, the bytes of its section, which is at the given address; ok is false if the value
// does not fit. Offset and kind must be valid.
func (r *Reloc) Apply(data []byte, address, target uint64) (ok bool) {
	return r.Kind.Apply(data[r.Offset:], target+uint64(r.Addend), address+r.Offset)
}

// Group is a COMDAT group: of several groups of one name, linkers keep one.
type Group struct {
	Signature SymbolIndex // its name is the group's
	Sections  []SectionIndex
}

// Object is a relocatable object.
type Object struct {
	Machine  Machine
	Sections []Section
	Symbols  []Symbol
	Groups   []Group
	// Stop is polled by methods that take long, and ends them; nil never does.
	Stop *stop.Flag
}

// Error is an Object that cannot be written.
type Error struct {
	// Symbol or Section is what it is about; both may be empty.
	Symbol, Section string
	Reason          string
}

func (e *Error) Error() string {
	s := "objfile: "
	if e.Section != "" {
		s += fmt.Sprintf("section %q: ", e.Section)
	}
	if e.Symbol != "" {
		s += fmt.Sprintf("symbol %q: ", e.Symbol)
	}
	return s + e.Reason
}

// AddSection appends a section.
func (o *Object) AddSection(s Section) SectionIndex {
	o.Sections = append(o.Sections, s)
	return SectionIndex(len(o.Sections) - 1)
}

// AddSymbol appends a symbol.
func (o *Object) AddSymbol(s Symbol) SymbolIndex {
	o.Stop.Poll()
	o.Symbols = append(o.Symbols, s)
	return SymbolIndex(len(o.Symbols) - 1)
}

// Section returns the first section of that name, or nil.
func (o *Object) Section(name string) *Section {
	if i := o.SectionIndex(name); i != Undefined {
		return &o.Sections[i]
	}
	return nil
}

// SectionIndex returns the first section of that name, or Undefined.
func (o *Object) SectionIndex(name string) SectionIndex {
	for i := range o.Sections {
		if o.Sections[i].Name == name {
			return SectionIndex(i)
		}
	}
	return Undefined
}

// Symbol returns the first symbol of that name that is not local, or nil.
func (o *Object) Symbol(name string) *Symbol {
	for i := range o.Symbols {
		if s := &o.Symbols[i]; s.Binding != Local && s.Name == name {
			return s
		}
	}
	return nil
}

// maxSectionBytes bounds sections, so that distances between them fit PC32.
const maxSectionBytes = math.MaxInt32

// maxAlign bounds the alignment of sections, in bytes.
const maxAlign = 64 << 10

// Validate checks that all indices and offsets are in range and that no name is
// defined twice. Errors are *Error.
func (o *Object) Validate() error {
	if len(o.Symbols) >= math.MaxInt32 || len(o.Sections) >= math.MaxInt32 {
		return &Error{Reason: "too many symbols or sections"}
	}
	for i := range o.Sections {
		if err := o.validateSection(&o.Sections[i]); err != nil {
			return err
		}
	}
	return o.validateSymbols()
}

func (o *Object) validateSection(s *Section) error {
	switch {
	case s.Align&(s.Align-1) != 0 || s.Align > maxAlign:
		return &Error{Section: s.Name, Reason: "alignment is not a power of two, or too large"}
	case s.Kind > Note, s.Kind == Nobits && (len(s.Data) != 0 || len(s.Relocs) != 0):
		return &Error{Section: s.Name, Reason: "contents do not fit its kind"}
	case s.Bytes() > maxSectionBytes:
		return &Error{Section: s.Name, Reason: "too large"}
	}
	size := s.Bytes()
	for i := range s.Relocs {
		o.Stop.Poll()
		r := &s.Relocs[i]
		switch {
		case r.Kind >= reloc.NumKinds:
			return &Error{Section: s.Name, Reason: "relocation of unknown kind"}
		case r.Offset > size || size-r.Offset < r.Kind.Width():
			return &Error{Section: s.Name, Reason: fmt.Sprintf("relocation at %#x is outside", r.Offset)}
		case r.Kind.InInstruction() && r.Offset%4 != 0:
			return &Error{Section: s.Name, Reason: fmt.Sprintf("relocation at %#x is not of an instruction", r.Offset)}
		case int64(r.Symbol) >= int64(len(o.Symbols)):
			return &Error{Section: s.Name, Reason: fmt.Sprintf("relocation at %#x has no symbol", r.Offset)}
		}
	}
	return nil
}

func (o *Object) validateSymbols() error {
	defined := make(map[string]bool)
	for i := range o.Symbols {
		o.Stop.Poll()
		s := &o.Symbols[i]
		bad := func(reason string) error { return &Error{Symbol: s.Name, Reason: reason} }
		switch {
		case s.Binding > Weak || s.Kind > FileSym:
			return bad("unknown kind or binding")
		case s.Section < Undefined || int(s.Section) >= len(o.Sections):
			return bad("section does not exist")
		case s.Kind == FileSym:
			continue
		case s.Section == Undefined && s.Binding == Local:
			return bad("local but not defined")
		}
		if s.Section != Undefined {
			if size := o.Sections[s.Section].Bytes(); s.Value > size || size-s.Value < s.Size {
				return bad("outside of its section")
			}
		}
		if s.Binding == Local {
			continue
		}
		if s.Name == "" {
			return bad("no name")
		}
		if before, ok := defined[s.Name]; ok {
			if before || s.Section != Undefined {
				return bad("occurs twice")
			}
		}
		defined[s.Name] = s.Section != Undefined
	}
	return o.validateGroups()
}

func (o *Object) validateGroups() error {
	owner := make([]bool, len(o.Sections))
	for i := range o.Groups {
		g := &o.Groups[i]
		if int64(g.Signature) >= int64(len(o.Symbols)) || len(g.Sections) == 0 {
			return &Error{Reason: fmt.Sprintf("group %d is malformed", i)}
		}
		for _, s := range g.Sections {
			if s < 0 || int(s) >= len(o.Sections) || owner[s] {
				return &Error{Reason: fmt.Sprintf("sections of group %d", i)}
			}
			owner[s] = true
		}
	}
	return nil
}

// DigestSize is the size of a Digest in bytes.
const DigestSize = 16

// hashPiece is how many bytes are hashed between two polls.
const hashPiece = 1 << 20

// Digest returns a hash of everything that matters of a section: name, kind, flags,
// alignment, bytes, and relocations with what they refer to. It detects damage, not malice.
// The object must be valid.
func (o *Object) Digest(i SectionIndex) (d [DigestSize]byte) {
	h := sha256.New()
	s := &o.Sections[i]
	var buf []byte
	str := func(s string) {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	num := func(x uint64) { buf = binary.LittleEndian.AppendUint64(buf, x) }
	str(s.Name)
	num(uint64(s.Kind)<<8 | uint64(s.Flags))
	num(uint64(max(s.Align, 1)))
	num(s.Bytes())
	h.Write(buf)
	for data := s.Data; len(data) > 0; {
		o.Stop.Poll()
		n := min(len(data), hashPiece)
		h.Write(data[:n])
		data = data[n:]
	}
	for i := range s.Relocs {
		r := &s.Relocs[i]
		o.Stop.Poll()
		sym := &o.Symbols[r.Symbol]
		buf = buf[:0]
		num(r.Offset)
		num(uint64(r.Kind)<<8 | uint64(sym.Binding))
		num(uint64(r.Addend))
		if sym.Section != Undefined && sym.Binding == Local {
			str(o.Sections[sym.Section].Name)
			num(sym.Value)
		} else {
			str(sym.Name)
		}
		h.Write(buf)
	}
	copy(d[:], h.Sum(nil))
	return d
}
