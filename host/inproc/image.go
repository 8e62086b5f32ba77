package inproc

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/reloc"
)

// Section is a part of an image.
type Section uint8

// The sections.
const (
	Text   Section = iota // code
	Rodata                // constants
	Data                  // the initial instance data
	numSections
)

// Reloc is a relocation: of the kinds that the machine has, but not PC64. Abs64 is in Data only, and what changes instructions in
// Text. The words that the host fills itself need none: those of helpers, types, imports and descriptors.
type Reloc struct {
	Section Section // of the field
	Offset  uint32  // of the field in Section
	Kind    reloc.Kind
	// The target is at TargetOffset in the section In; of kind Abs64 and with IsImport, it is the descriptor of the imported function
	// with the index Import (of Meta.Funcs).
	In           Section
	TargetOffset uint32
	IsImport     bool
	Import       uint32
	Addend       int64
}

// Image is a compiled module before it is placed at an address. Load copies
// what it needs: the caller may change the bytes afterwards, but not Meta.
type Image struct {
	Text, Rodata []byte
	// Data is the initial instance data; its slots for helpers, memories, tables,
	// types and imports, and its descriptors, are filled for each instance.
	Data   []byte
	Relocs []Reloc
	Meta   *meta.Module
}

// size of section s of the image.
func (img *Image) size(s Section) uint64 {
	return uint64(len([numSections][]byte{img.Text, img.Rodata, img.Data}[s]))
}

// maxTail is the most that can lie between the start of a field of kind PC32 and the end of its instruction, which the
// processor counts from: the field and an immediate operand, in bytes.
const maxTail = 8

// validate checks every number that loading and running will use, so that what is wrong is refused, not
// followed. It cannot know whether what is possible is true: an image is trusted like the code in it.
func (img *Image) validate() error {
	m := img.Meta
	if m == nil {
		return &ImageError{"no metadata"}
	}
	if m.ABI != abi.Version {
		return &ImageError{fmt.Sprintf("binary interface version %d, this host has %d", m.ABI, abi.Version)}
	}
	if m.Arch != machine {
		return &ImageError{fmt.Sprintf("code for %q", m.Arch)}
	}
	for s := range numSections {
		if img.size(s) > abi.MaxSectionBytes {
			return &ImageError{"section too large"}
		}
	}
	if err := m.Validate(meta.Sizes{Text: img.size(Text), Rodata: img.size(Rodata), Data: img.size(Data)}); err != nil {
		return &ImageError{err.Error()}
	}
	for i := range img.Relocs {
		if err := img.checkReloc(&img.Relocs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (img *Image) checkReloc(r *Reloc) error {
	bad := func(why string) error {
		return &ImageError{fmt.Sprintf("relocation at %d+%#x: %s", r.Section, r.Offset, why)}
	}
	if r.Section >= numSections {
		return bad("no such section")
	}
	switch {
	case !relocTypes.Has(r.Kind) || r.Kind == reloc.PC64:
		return bad("unknown kind")
	case uint64(r.Offset)+r.Kind.Width() > img.size(r.Section):
		return bad("outside of its section")
	case r.Kind == reloc.Abs64 && r.Offset%8 != 0:
		return bad("not at a word")
	case r.Kind != reloc.Abs64 && r.IsImport:
		return bad("relative to something outside of the image")
	case r.Kind == reloc.Abs64 && r.Section != Data:
		return bad("absolute address in shared code or constants")
	case r.Kind.InInstruction() && (r.Section != Text || r.Offset%4 != 0):
		return bad("not at an instruction")
	}
	if r.IsImport {
		if uint64(r.Import) >= uint64(len(img.Meta.Funcs)) || img.Meta.Funcs[r.Import].Import == nil {
			return bad("target is not an import")
		}
		return nil
	}
	if r.In >= numSections {
		return bad("target in no section")
	}
	const far = 1 << 40 // outside of any section, and nothing overflows
	least, s := int64(0), int64(r.TargetOffset)+max(min(r.Addend, far), -far)
	if r.Kind == reloc.PC32 {
		least = -maxTail
	}
	if uint64(r.TargetOffset) > img.size(r.In) || s < least || s > int64(img.size(r.In)) {
		return bad("target outside of its section")
	}
	return nil
}
