package link

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// Host says what of an object's instance data the host of an image fills for each instance.
type Host struct {
	// Filled tells, by word, what it fills without regard to relocations; words beyond the end are not among them.
	Filled []bool
	// Imports are the functions whose descriptors symbols stand for.
	Imports map[objfile.SymbolIndex]uint32
}

// imageSections are the sections of an object that become those of an image, and their segments in order.
var (
	imageSections = [image.NumSections]string{image.Text: ".text", image.Rodata: ".rodata", image.Data: ".data"}
	imageSegments = []int{segText, segConst, segData}
)

// imagePage is the alignment of the sections of an image, in bytes: the largest page size, so that they can be mapped.
const imagePage = 64 << 10

// fills reports whether the host fills the word of a relocation of the instance data.
func (h *Host) fills(r *objfile.Reloc) bool {
	word := r.Offset / 8
	return word < uint64(len(h.Filled)) && h.Filled[word]
}

// maxTail is the most that can lie between the start of a field of kind PC32 and the end of its instruction, which the
// processor counts from: the field and an immediate operand, in bytes.
const maxTail = 8

// Image links an object, whose metadata m is, into an image. Both must be valid; the image may refer to their parts. Errors are *Error.
func Image(o *objfile.Object, m *meta.Module, h Host) (*image.Image, error) {
	o, m, memories := takeMemories(o, m, imageMemory)
	l := &linker{inputs: []Input{{m.Name, o}}, machine: machines[o.Machine], sections: [][]placed{make([]placed, len(o.Sections))}}
	if l.machine == nil {
		return nil, &Error{m.Name, fmt.Sprintf("code for machine %d", o.Machine)}
	}
	var sections [image.NumSections]objfile.SectionIndex
	for s, name := range imageSections {
		n := o.SectionIndex(name)
		if n == objfile.Undefined {
			return nil, &Error{m.Name, fmt.Sprintf("no section %q", name)}
		}
		if o.Sections[n].Bytes() > abi.MaxSectionBytes {
			return nil, &Error{m.Name, fmt.Sprintf("section %q is too large", name)}
		}
		sections[s], l.sections[0][n].live = n, true
	}
	data := sections[image.Data]
	l.later = func(n int, r *objfile.Reloc) bool {
		if objfile.SectionIndex(n) != data {
			return false
		}
		_, imported := h.Imports[r.Symbol]
		return imported || h.fills(r)
	}
	img := &image.Image{Meta: m, Page: l.machine.page, Memories: memories}
	for _, n := range sections {
		s := &o.Sections[n]
		for i := range s.Relocs {
			r := &s.Relocs[i]
			if why := l.unfit(int(n), r, n == data); why != "" {
				return nil, &Error{m.Name, fmt.Sprintf("relocation at %s+%#x: %s", quote.Name(s.Name), r.Offset, why)}
			}
			if n != data || h.fills(r) {
				continue
			}
			if f, ok := h.Imports[r.Symbol]; ok {
				img.Imports = append(img.Imports, image.ImportWord{At: uint32(r.Offset), Func: f, Addend: r.Addend})
			}
		}
	}
	if err := l.fillSections(); err != nil {
		return nil, err
	}
	l.place(imageSegments, 0, imagePage)
	words, err := l.relativeWords()
	if err != nil {
		return nil, err
	}
	whole := make([]byte, alignUp(l.fileSize, l.machine.page))
	if err := l.copySections(whole); err != nil {
		return nil, err
	}
	part := func(s image.Section) []byte {
		at := l.address(0, int32(sections[s]))
		img.Address[s] = at
		return whole[at : at+o.Sections[sections[s]].Bytes()]
	}
	img.Text, img.Rodata, img.Data = part(image.Text), part(image.Rodata), part(image.Data)
	img.Text = whole[:alignUp(uint64(len(img.Text)), l.machine.page)] // with the filler
	for i := range words[segData] {
		words[segData][i] -= img.Address[image.Data]
	}
	img.Addresses = words[segData]
	return img, nil
}

// unfit says why a relocation cannot be a part of an image, whose sections are mapped together, empty if it can.
func (l *linker) unfit(n int, r *objfile.Reloc, inData bool) string {
	o := l.inputs[0].Object
	switch {
	case !l.machine.relocs.Has(r.Kind) || r.Kind == reloc.PC64:
		return "unknown kind"
	case r.Offset > o.Sections[n].Bytes() || o.Sections[n].Bytes()-r.Offset < r.Kind.Width():
		return "outside of its section"
	case r.Kind == reloc.Abs64 && r.Offset%8 != 0:
		return "not at a word"
	case r.Kind == reloc.Abs64 && !inData:
		return "absolute address in shared code or constants"
	case r.Kind.InInstruction() && (o.Sections[n].Flags&objfile.Exec == 0 || r.Offset%4 != 0):
		return "not at an instruction"
	case l.leaves(n, r) && r.Kind != reloc.Abs64:
		return "relative to something outside of the image"
	case l.leaves(n, r):
		return ""
	}
	s := &o.Symbols[r.Symbol]
	if s.Binding != objfile.Local || s.Section == objfile.Undefined || !l.sections[0][s.Section].live {
		return fmt.Sprintf("symbol %q stands for nothing known", s.Name)
	}
	const far = 1 << 40 // outside of any section, and nothing overflows
	least, at := int64(0), int64(s.Value)+max(min(r.Addend, far), -far)
	if r.Kind == reloc.PC32 {
		least = -maxTail
	}
	if size := o.Sections[s.Section].Bytes(); s.Value > size || at < least || at > int64(size) {
		return "target outside of its section"
	}
	return ""
}
