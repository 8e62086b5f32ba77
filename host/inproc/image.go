package inproc

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
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

// RelocKind is how a relocated field is computed. S is the target, A the addend,
// P the address of the field.
type RelocKind uint8

// The kinds of relocation. Those from Call26 on are of AArch64: they change the bits of one instruction,
// at P, that hold the value, and are in Text only. The target of all but Abs64 is in a section of the image.
const (
	PC32    RelocKind = iota // 4 bytes: S + A - P
	Abs64                    // 8 bytes: S + A; only in Data
	Call26                   // bl, b: (S + A - P) / 4
	Page21                   // adrp: page of S + A - page of P, in pages of 4 KiB
	Lo12                     // add; ldr and str of a byte: the low 12 bits of S + A
	Lo12x2                   // ldr and str of 2 bytes: the same, divided by the size
	Lo12x4                   // of 4 bytes
	Lo12x8                   // of 8 bytes
	Lo12x16                  // of 16 bytes
)

// value puts s, the target with its addend, into what is in the field at p. Both are distances from
// the start of the image, whose address is a multiple of granule. It reports whether the value can be
// expressed.
func (k RelocKind) value(field uint32, s, p int64) (uint32, bool) {
	switch d := s - p; k {
	case PC32:
		return uint32(d), d == int64(int32(d))
	case Call26:
		return field&^(1<<26-1) | uint32(d>>2)&(1<<26-1), d%4 == 0 && -1<<27 <= d && d < 1<<27
	case Page21:
		const low, high = 3 << 29, (1<<19 - 1) << 5
		d = s>>12 - p>>12
		return field&^(low|high) | uint32(d)<<29&low | uint32(d>>2)<<5&high, -1<<20 <= d && d < 1<<20
	}
	const bits = (1<<12 - 1) << 10
	scale := k - Lo12
	return field&^bits | uint32(s)&0xfff>>scale<<10, s&(1<<scale-1) == 0
}

// TargetKind says what a relocation refers to.
type TargetKind uint8

// The kinds of target; Index of a relocation counts within each.
const (
	TargetSection    TargetKind = iota // Section + TargetOffset
	TargetHelper                       // code of helper Index (abi.Helper)
	TargetType                         // canonical record of function type Index (of Meta.Types)
	TargetImportCode                   // code of imported function Index (of Meta.Funcs)
	TargetImportDesc                   // descriptor of imported function Index
)

// Reloc is a relocation.
type Reloc struct {
	Section Section // of the field
	Offset  uint32  // of the field in Section
	Kind    RelocKind
	Target  TargetKind
	// In is the target's section if Target is TargetSection; Index the number of any
	// other target.
	In           Section
	TargetOffset uint32
	Index        uint32
	Addend       int64
}

// Image is a compiled module before it is placed at an address. Load copies
// what it needs: the caller may change the bytes afterwards, but not Meta.
type Image struct {
	Text, Rodata []byte
	// Data is the initial instance data; its slots for helpers, memories, tables,
	// types and imports, and its descriptors, are filled by the loader.
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

// maxSection bounds a section, so that distances fit PC32.
const maxSection = 512 << 20

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
		if img.size(s) > maxSection {
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
	width := uint64(4)
	if r.Kind == Abs64 {
		width = 8
	}
	switch {
	case r.Kind > lastReloc:
		return bad("unknown kind")
	case uint64(r.Offset)+width > img.size(r.Section):
		return bad("outside of its section")
	case r.Kind == Abs64 && r.Offset%8 != 0:
		return bad("not at a word")
	case r.Kind != Abs64 && r.Target != TargetSection:
		return bad("relative to something outside of the image")
	case r.Kind == Abs64 && r.Section != Data:
		return bad("absolute address in shared code or constants")
	case r.Kind > Abs64 && (r.Section != Text || r.Offset%4 != 0):
		return bad("not at an instruction")
	}
	n := 0
	switch r.Target {
	case TargetSection:
		if r.In >= numSections {
			return bad("target in no section")
		}
		const far = 1 << 40 // outside of any section, and nothing overflows
		least, s := int64(0), int64(r.TargetOffset)+max(min(r.Addend, far), -far)
		if r.Kind == PC32 {
			least = -maxTail
		}
		if uint64(r.TargetOffset) > img.size(r.In) || s < least || s > int64(img.size(r.In)) {
			return bad("target outside of its section")
		}
		return nil
	case TargetHelper:
		n = int(abi.NumHelpers)
	case TargetType:
		n = len(img.Meta.Types)
	case TargetImportCode, TargetImportDesc:
		n = len(img.Meta.Funcs)
		if int(r.Index) < n && img.Meta.Funcs[r.Index].Import == nil {
			return bad("target is not an import")
		}
	}
	if int64(r.Index) >= int64(n) {
		return bad("no such target")
	}
	return nil
}
