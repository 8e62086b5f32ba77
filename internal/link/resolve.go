package link

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/objfile"
)

// definedSymbol is a symbol that the linker itself defines. Those of a range mark its first byte and the byte behind it.
type definedSymbol int32

const (
	symHeader definedSymbol = iota // the ELF header: where the program begins in memory
	symRelr
	symRelrEnd
	symRelro
	symRelroEnd
	numDefined
)

// definedNames are the names of the symbols that the linker defines.
var definedNames = [numDefined]string{
	symHeader: "waot_link_header",
	symRelr:   "waot_link_relr", symRelrEnd: "waot_link_relr_end",
	symRelro: "waot_link_relro", symRelroEnd: "waot_link_relro_end",
}

// resolve decides what each name stands for: one COMDAT group of each name, a global definition before weak ones, the
// first of several weak ones.
func (l *linker) resolve() error {
	l.discardGroups()
	l.globals = make(map[string]symbolRef)
	for d, name := range definedNames {
		l.globals[name] = symbolRef{input: linkerDefined, index: int32(d)}
	}
	if err := l.addEdges(); err != nil {
		return err
	}
	for i := range l.inputs {
		o := l.inputs[i].Object
		for n := range o.Symbols {
			s := &o.Symbols[n]
			if !l.defines(i, s) {
				continue
			}
			before, ok := l.globals[s.Name]
			if ok && s.Binding == objfile.Weak {
				continue
			}
			if ok && (before.input == linkerDefined || before.kind != refSymbol || l.symbol(before).Binding == objfile.Global) {
				return &Error{l.inputs[i].Name, fmt.Sprintf("symbol %q is defined twice", s.Name)}
			}
			l.globals[s.Name] = symbolRef{input: int32(i), index: int32(n)}
		}
	}
	return nil
}

// addEdges defines __start_NAME and __stop_NAME of sections whose NAME is a C identifier, as linkers do; there may be one of each.
func (l *linker) addEdges() error {
	for i := range l.inputs {
		o := l.inputs[i].Object
		for n := range o.Sections {
			name := o.Sections[n].Name
			if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
				continue
			}
			if _, ok := l.globals["__start_"+name]; ok {
				return &Error{l.inputs[i].Name, fmt.Sprintf("second section %q", name)}
			}
			l.globals["__start_"+name] = symbolRef{int32(i), int32(n), refStart}
			l.globals["__stop_"+name] = symbolRef{int32(i), int32(n), refStop}
		}
	}
	return nil
}

// discardGroups keeps the first of several COMDAT groups of one name.
func (l *linker) discardGroups() {
	kept := make(map[string]bool)
	for i := range l.inputs {
		o := l.inputs[i].Object
		for _, g := range o.Groups {
			name := o.Symbols[g.Signature].Name
			if kept[name] {
				for _, s := range g.Sections {
					l.sections[i][s].discarded = true
				}
			}
			kept[name] = true
		}
	}
}

// defines reports whether s, of input i, defines a name for all objects.
func (l *linker) defines(i int, s *objfile.Symbol) bool {
	return s.Binding != objfile.Local && s.Section != objfile.Undefined && !l.sections[i][s.Section].discarded
}

func (l *linker) symbol(r symbolRef) *objfile.Symbol {
	return &l.inputs[r.input].Object.Symbols[r.index]
}

// section returns the section that r, which is not linkerDefined, is in.
func (l *linker) section(r symbolRef) int32 {
	if r.kind != refSymbol {
		return r.index
	}
	return int32(l.symbol(r).Section)
}

// target returns what a symbol that a relocation of input i names stands for; ok is false if nothing defines it.
func (l *linker) target(i int, n objfile.SymbolIndex) (r symbolRef, ok bool) {
	s := &l.inputs[i].Object.Symbols[n]
	if s.Binding != objfile.Local {
		r, ok = l.globals[s.Name]
		return r, ok
	}
	return symbolRef{input: int32(i), index: int32(n)}, s.Section != objfile.Undefined && !l.sections[i][s.Section].discarded
}

// mark finds the sections that the program needs, from the entry on. .eh_frame refers to everything and keeps nothing.
func (l *linker) mark() error {
	entry, ok := l.globals[l.opt.Entry]
	if !ok || entry.input == linkerDefined {
		return &MissingError{[]string{l.opt.Entry}}
	}
	type ref struct{ input, section int32 }
	var work []ref
	need := func(r symbolRef) {
		if r.input == linkerDefined {
			return
		}
		section := l.section(r)
		if p := &l.sections[r.input][section]; !p.live {
			p.live = true
			work = append(work, ref{r.input, section})
		}
	}
	need(entry)
	var missing []string
	named := make(map[string]bool)
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		o := l.inputs[at.input].Object
		for _, r := range o.Sections[at.section].Relocs {
			to, ok := l.target(int(at.input), r.Symbol)
			if ok {
				need(to)
			} else if name := o.Symbols[r.Symbol].Name; !named[name] {
				named[name] = true
				missing = append(missing, name)
			}
		}
	}
	if missing != nil {
		return &MissingError{missing}
	}
	return nil
}
