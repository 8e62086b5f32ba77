package clif

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/internal/abi"
)

// String returns the text form of what m declares, which clif/text parses; the
// functions' own text follows it. Every line is a declaration:
//
//	module "name"
//	sig0 = (i32, i64) -> (i32)
//	import fn0 "env" "f" "name" sig0
//	fn1 "name" sig0 addressed
//	import mem0 "env" "memory" 1 2
//	mem1 1 checked
//	global0 i32 mut = 5
//	table0 funcref 10 20
//	tag0 sig0
//	type0 func open
//	type1 struct super type0 place 1 [mut i32, i8, (ref null 1)]
//	data0 "bytes"
//	elem0 funcref [fn1, null, computed]
//	export "name" fn1
//	start fn1
//
// Indices count from 0 in each index space, imports first. The name of a function may be
// left out. Types are left out if all are functions that nothing but their signature distinguishes. Exported and, for exported functions, Addressed follow from the
// exports.
func (m *Module) String() string {
	p := modulePrinter{m: m}
	if m.Name != "" {
		p.line("module %s", strconv.Quote(m.Name))
	}
	for i := range m.Sigs {
		p.line("sig%d = %v", i, &m.Sigs[i])
	}
	p.types()
	p.funcs()
	for i := range m.Memories {
		d := &m.Memories[i]
		line := p.head("mem", i, d.Import) + limits(d.Min, d.Max, d.HasMax)
		if d.Checked {
			line += " checked"
		}
		p.line("%s", line)
	}
	p.globals()
	for i := range m.Tables {
		d := &m.Tables[i]
		p.line("%s %v%s", p.head("table", i, d.Import), d.Elem, limits(d.Min, d.Max, d.HasMax))
	}
	for i := range m.Tags {
		p.line("%s sig%d", p.head("tag", i, m.Tags[i].Import), m.Tags[i].Sig)
	}
	for i := range m.Datas {
		p.line("data%d %s", i, strconv.QuoteToASCII(string(m.Datas[i].Bytes)))
	}
	p.elems()
	for i := range m.Exports {
		e := &m.Exports[i]
		p.line("export %s %s%d", strconv.Quote(e.Name), exportNames[e.Kind], e.Index)
	}
	if m.HasStart {
		p.line("start fn%d", m.Start)
	}
	return p.b.String()
}

var exportNames = [...]string{abi.ExternFunc: "fn", abi.ExternTable: "table", abi.ExternMemory: "mem", abi.ExternGlobal: "global", abi.ExternTag: "tag"}

type modulePrinter struct {
	m *Module
	b strings.Builder
}

func (p *modulePrinter) line(format string, args ...any) {
	fmt.Fprintf(&p.b, format, args...)
	p.b.WriteByte('\n')
}

// head begins the declaration of an entity that may be imported.
func (p *modulePrinter) head(entity string, i int, name *ImportName) string {
	if name == nil {
		return fmt.Sprintf("%s%d", entity, i)
	}
	return fmt.Sprintf("import %s%d %s %s", entity, i, strconv.Quote(name.Module), strconv.Quote(name.Name))
}

func limits(min, max uint64, hasMax bool) string {
	if hasMax {
		return fmt.Sprintf(" %d %d", min, max)
	}
	return fmt.Sprintf(" %d", min)
}

// types declares the types, which have the indices of their signatures.
func (p *modulePrinter) types() {
	plain := func(t abi.TypeDef) bool { return t.Kind == abi.KindFunc && !t.Open && !t.HasSuper && t.Place == 0 }
	if !slices.ContainsFunc(p.m.Types, func(t abi.TypeDef) bool { return !plain(t) }) {
		return
	}
	for i := range p.m.Types {
		t := &p.m.Types[i]
		line := fmt.Sprintf("type%d %v", i, t.Kind)
		if t.Open {
			line += " open"
		}
		if t.HasSuper {
			line += fmt.Sprintf(" super type%d", t.Super)
		}
		if t.Place > 0 {
			line += fmt.Sprintf(" place %d", t.Place)
		}
		if t.Kind != abi.KindFunc {
			line += " " + fieldList(t.Fields)
		}
		p.line("%s", line)
	}
}

// fieldList writes the types of fields.
func fieldList(fields []abi.FieldType) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		if f.Mutable {
			names[i] = "mut "
		}
		if f.Packed != 0 {
			names[i] += fmt.Sprintf("i%d", f.Packed)
		} else {
			names[i] += f.Type.String()
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func (p *modulePrinter) funcs() {
	for i := range p.m.Funcs {
		d := &p.m.Funcs[i]
		line := p.head("fn", i, d.Import)
		if d.Name != "" {
			line += " " + strconv.Quote(d.Name)
		}
		line += fmt.Sprintf(" sig%d", d.Sig)
		if d.Addressed {
			line += " addressed"
		}
		p.line("%s", line)
	}
}

func (p *modulePrinter) globals() {
	for i := range p.m.Globals {
		d := &p.m.Globals[i]
		line := p.head("global", i, d.Import) + " " + d.Type.String()
		if d.Mutable {
			line += " mut"
		}
		switch {
		case d.Import != nil:
		case d.Type == I32:
			line += fmt.Sprintf(" = %d", int32(d.Init))
		case d.Type == I64:
			line += fmt.Sprintf(" = %d", int64(d.Init))
		case d.Type.IsFloat():
			line += fmt.Sprintf(" = 0x%x", d.Init)
		}
		p.line("%s", line)
	}
}

func (p *modulePrinter) elems() {
	for i := range p.m.Elems {
		d := &p.m.Elems[i]
		items := make([]string, len(d.Funcs))
		for j, f := range d.Funcs {
			switch f {
			case ElemNull:
				items[j] = "null"
			case ElemComputed:
				items[j] = "computed"
			default:
				items[j] = fmt.Sprintf("fn%d", f)
			}
		}
		p.line("elem%d %v [%s]", i, d.Type, strings.Join(items, ", "))
	}
}
