// Package link makes executables of objects, static, position-independent ELF files that the kernel starts without a dynamic
// loader, and images, which hosts map. It is a linker for the objects that this compiler writes and for the C runtime beside them, not
// for any others.
//
// Place in the pipeline: after the module driver, which makes the program's object. internal/cruntime has the other one. host/load has images
// made.
//
// Input: objects, which this package checks, and the name of the symbol where the program begins; for an image one object.
// Output: the bytes of an ELF file, or an image. The same input gives the same bytes.
//
// Sections that nothing refers to are left out. Words that hold addresses are listed, in .relr.dyn or in the image; the program's own
// start, or the host, adds to them where it was loaded.
package link

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/objfile"
)

// Input is an object and what errors call it.
type Input struct {
	Name   string
	Object *objfile.Object
}

// Options say what the program is to be.
type Options struct {
	// Entry is the symbol of the first instruction.
	Entry string
	// Stripped leaves out the symbol table.
	Stripped bool
}

// Error is a program that cannot be linked.
type Error struct {
	Input  string // the object that it is about, or empty
	Reason string
}

func (e *Error) Error() string {
	if e.Input == "" {
		return "link: " + e.Reason
	}
	return fmt.Sprintf("link: %s: %s", quote.Name(e.Input), e.Reason)
}

// MissingError is a program some of whose symbols nothing defines.
type MissingError struct {
	Symbols []string // in the order of the inputs
}

// maxListed is how many symbols an error names.
const maxListed = 8

func (e *MissingError) Error() string {
	s := e.Symbols
	more := ""
	if len(s) > maxListed {
		s, more = s[:maxListed], fmt.Sprintf(" and %d more", len(s)-maxListed)
	}
	return "link: nothing defines " + quote.Name(strings.Join(s, ", ")) + more
}

// symbolRef is a symbol of an input, or where a section of it begins or ends. Input may be linkerDefined; then index is
// a definedSymbol.
type symbolRef struct {
	input, index int32 // index is of a symbol or a section
	kind         refKind
}

const linkerDefined = -1

type refKind uint8

const (
	refSymbol refKind = iota
	refStart          // of a section
	refStop
)

// placed is what becomes of a section of an input.
type placed struct {
	discarded bool // another object has the same COMDAT group
	live      bool // something refers to it
	out       int32
	offset    uint64 // in the section out of the program
}

// linker makes one program. It fills its fields from the top.
type linker struct {
	inputs  []Input
	opt     Options
	machine *machine

	sections [][]placed           // by input and section
	globals  map[string]symbolRef // what each name stands for
	frames   []objfile.Section    // by input: .eh_frame without the functions that are left out
	outs     [numOuts]outSection
	segments [numSegments]segment
	headers  []programHeader
	page     uint64 // alignment of segments in memory, in bytes
	fileSize uint64 // without symbol table and section headers

	// later reports whether something else resolves a relocation of section n, of the only input; nil if nothing does.
	later func(n int, r *objfile.Reloc) bool
}

// leaves reports whether a relocation of section n is not the linker's.
func (l *linker) leaves(n int, r *objfile.Reloc) bool { return l.later != nil && l.later(n, r) }

// Executable links objects of one machine into a program and appends the file to dst. Errors are *Error and *MissingError.
func Executable(dst []byte, inputs []Input, opt Options) ([]byte, error) {
	l := &linker{inputs: inputs, opt: opt}
	for _, step := range []func() error{l.check, l.resolve, l.mark, l.cutFrames, l.layout} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	start := len(dst)
	dst = append(dst, make([]byte, l.fileSize)...)
	file := dst[start:]
	if err := l.copySections(file); err != nil {
		return nil, err
	}
	l.writeHeaders(file)
	return l.appendTables(dst, start), nil
}

// check validates the inputs, which must be for one machine.
func (l *linker) check() error {
	if len(l.inputs) == 0 {
		return &Error{Reason: "no objects"}
	}
	l.machine = machines[l.inputs[0].Object.Machine]
	for i := range l.inputs {
		in := &l.inputs[i]
		if err := in.Object.Validate(); err != nil {
			return &Error{in.Name, err.Error()}
		}
		if l.machine == nil || machines[in.Object.Machine] != l.machine {
			return &Error{in.Name, fmt.Sprintf("code for machine %d", in.Object.Machine)}
		}
		l.sections = append(l.sections, make([]placed, len(in.Object.Sections)))
	}
	return nil
}
