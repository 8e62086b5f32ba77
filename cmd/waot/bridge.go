package main

import (
	"fmt"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/objfile"
)

// loadELF makes an image of the bytes of an object file.
func loadELF(b []byte) (*inproc.Image, error) {
	o, err := objfile.ReadELF(b)
	if err != nil {
		return nil, err
	}
	bytesOf := func(name string) []byte {
		if s := o.Section(name); s != nil {
			return s.Data
		}
		return nil
	}
	m, err := meta.Decode(meta.Sections{Meta: bytesOf(meta.SectionMeta), Traps: bytesOf(meta.SectionTraps),
		StackMaps: bytesOf(meta.SectionStackMaps), Calls: bytesOf(meta.SectionCalls)},
		meta.Sizes{Text: uint64(len(bytesOf(".text"))), Data: uint64(len(bytesOf(".data")))})
	if err != nil {
		return nil, err
	}
	for _, d := range m.Digests {
		i := o.SectionIndex(d.Section)
		if i == objfile.Undefined || o.Digest(i) != d.Digest {
			return nil, &inproc.ImageError{Reason: "section " + d.Section + " is damaged"}
		}
	}
	return loadParts(o, m)
}

// imageSections are the sections of an object that an image has.
var imageSections = map[string]inproc.Section{".text": inproc.Text, ".rodata": inproc.Rodata, ".data": inproc.Data}

// loadParts makes an image of an object. The loader fills slots and descriptors itself; what
// is left are references between the sections, and elements that are imports.
func loadParts(o *objfile.Object, m *meta.Module) (*inproc.Image, error) {
	img := &inproc.Image{Meta: m}
	descs := map[string]uint32{}
	for i := range m.Funcs {
		if n := m.Funcs[i].Import; n != nil {
			descs[objfile.MangleIn(n.Module, n.Name)+".desc"] = uint32(i)
		}
	}
	for i := range o.Sections {
		s := &o.Sections[i]
		sec, ok := imageSections[s.Name]
		if !ok {
			continue
		}
		switch sec {
		case inproc.Text:
			img.Text = s.Data
		case inproc.Rodata:
			img.Rodata = s.Data
		default:
			img.Data = s.Data
		}
		for k := range s.Relocs {
			r := &s.Relocs[k]
			sym := &o.Symbols[r.Symbol]
			out := inproc.Reloc{Section: sec, Offset: uint32(r.Offset), Kind: inproc.Abs64, Addend: r.Addend}
			if r.Kind != objfile.Abs64 {
				out.Kind = inproc.PC32
			}
			if n, ok := descs[sym.Name]; ok && sym.Name != "" {
				out.Target, out.Index = inproc.TargetImportDesc, n
			} else if sym.Section != objfile.Undefined && sym.Binding == objfile.Local {
				in, ok := imageSections[o.Sections[sym.Section].Name]
				if !ok {
					return nil, &inproc.ImageError{Reason: fmt.Sprintf("relocation of %s+%#x", s.Name, r.Offset)}
				}
				out.In, out.TargetOffset = in, uint32(sym.Value)
			} else {
				continue
			}
			img.Relocs = append(img.Relocs, out)
		}
	}
	return img, nil
}
