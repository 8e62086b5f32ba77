package main

import (
	"fmt"

	"github.com/waot-project/waot/objfile"
)

// object shows the sections and symbols of the whole module's object.
func (in *inspector) object(file string, bin []byte) error {
	art, err := compileModule(file, bin, in.opt)
	if err != nil {
		return err
	}
	o := art.result.Object
	printf(in.c, ";; obj: %d sections, %d symbols, cpu %s\n", len(o.Sections), len(o.Symbols), art.cpu)
	for i := range o.Sections {
		s := &o.Sections[i]
		printf(in.c, "section %-24s %9d bytes, align %d, %d relocations\n", s.Name, s.Bytes(), max(s.Align, 1), len(s.Relocs))
	}
	bindings := map[objfile.Binding]string{objfile.Local: "local", objfile.Global: "global", objfile.Weak: "weak"}
	for i := range o.Symbols {
		s := &o.Symbols[i]
		if s.Kind == objfile.SectionSym || s.Kind == objfile.FileSym {
			continue
		}
		where := "undefined"
		if s.Section != objfile.Undefined {
			where = fmt.Sprintf("%s+0x%x", o.Sections[s.Section].Name, s.Value)
		}
		printf(in.c, "symbol %-6s %s %s %d bytes\n", bindings[s.Binding], s.Name, where, s.Size)
	}
	return nil
}
