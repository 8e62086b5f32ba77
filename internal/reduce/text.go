package reduce

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Text returns a listing of a valid module, in the manner of the text format, an operator a line.
func Text(b []byte, features wasmfront.Features) (string, error) {
	if features == 0 {
		features = wasmfront.DefaultFeatures
	}
	m, err := validate.All(b, validate.Config{Features: features})
	if err != nil {
		return "", err
	}
	var w strings.Builder
	w.WriteString("(module\n")
	for i := range m.Types {
		fmt.Fprintf(&w, "  (type (;%d;) (func%s))\n", i, signature(&m.Types[i]))
	}
	for i := range m.Imports {
		imp := &m.Imports[i]
		fmt.Fprintf(&w, "  (import %q %q (%s))\n", imp.Module, imp.Name, importText(m, imp))
	}
	for i := m.NumImportedTables; int(i) < len(m.Tables); i++ {
		fmt.Fprintf(&w, "  (table (;%d;) %v %v)\n", i, m.Tables[i].Limits, m.Tables[i].Elem)
	}
	for i := m.NumImportedMemories; int(i) < len(m.Memories); i++ {
		fmt.Fprintf(&w, "  (memory (;%d;) %v)\n", i, m.Memories[i].Limits)
	}
	for i := m.NumImportedGlobals; int(i) < len(m.Globals); i++ {
		fmt.Fprintf(&w, "  (global (;%d;) %s%s)\n", i, globalText(m.Globals[i].GlobalType), constText(&m.Globals[i].Init))
	}
	for i := range m.Exports {
		fmt.Fprintf(&w, "  (export %q (%v %d))\n", m.Exports[i].Name, m.Exports[i].Kind, m.Exports[i].Index)
	}
	if m.HasStart {
		fmt.Fprintf(&w, "  (start %d)\n", m.Start)
	}
	for i := range m.Elems {
		elemText(&w, i, &m.Elems[i])
	}
	for i := m.NumImportedFuncs; int(i) < len(m.Funcs); i++ {
		funcText(&w, m, i)
	}
	for i := range m.Data {
		d := &m.Data[i]
		fmt.Fprintf(&w, "  (data (;%d;)", i)
		if d.Mode == wasmfront.SegmentActive {
			fmt.Fprintf(&w, " (memory %d) (offset%s)", d.Memory, constText(&d.OffExpr))
		}
		w.WriteString(` "`)
		for _, c := range d.Bytes {
			fmt.Fprintf(&w, `\%02x`, c)
		}
		w.WriteString("\")\n")
	}
	w.WriteString(")\n")
	return w.String(), nil
}

func words(keyword string, ts []wasmfront.ValType) string {
	if len(ts) == 0 {
		return ""
	}
	s := " (" + keyword
	for _, t := range ts {
		s += " " + t.String()
	}
	return s + ")"
}

func signature(t *wasmfront.FuncType) string {
	return words("param", t.Params) + words("result", t.Results)
}

func globalText(t wasmfront.GlobalType) string {
	if t.Mutable {
		return "(mut " + t.Type.String() + ")"
	}
	return t.Type.String()
}

func importText(m *wasmfront.Module, imp *wasmfront.Import) string {
	switch imp.Kind {
	case abi.ExternFunc:
		return fmt.Sprintf("func (;%d;)%s", imp.Index, signature(m.FuncType(imp.Index)))
	case abi.ExternTable:
		return fmt.Sprintf("table (;%d;) %v %v", imp.Index, m.Tables[imp.Index].Limits, m.Tables[imp.Index].Elem)
	case abi.ExternMemory:
		return fmt.Sprintf("memory (;%d;) %v", imp.Index, m.Memories[imp.Index].Limits)
	}
	return fmt.Sprintf("global (;%d;) %s", imp.Index, globalText(m.Globals[imp.Index].GlobalType))
}

func constText(e *wasmfront.ConstExpr) string {
	s := ""
	for i := range e.Ops {
		op := &e.Ops[i]
		s += " (" + (&wasmfront.Operator{Op: op.Op, Type: op.Type, Index: op.Index, I64: op.Bits, High: op.High}).String() + ")"
	}
	return s
}

func elemText(w *strings.Builder, i int, s *wasmfront.ElemSegment) {
	fmt.Fprintf(w, "  (elem (;%d;)", i)
	switch s.Mode {
	case wasmfront.SegmentActive:
		fmt.Fprintf(w, " (table %d) (offset%s)", s.Table, constText(&s.OffExpr))
	case wasmfront.SegmentDeclarative:
		w.WriteString(" declare")
	}
	if s.Exprs == nil {
		w.WriteString(" func")
	} else {
		w.WriteString(" " + s.Type.String())
	}
	for _, f := range s.Funcs {
		fmt.Fprintf(w, " %d", f)
	}
	for k := range s.Exprs {
		fmt.Fprintf(w, " (item%s)", constText(&s.Exprs[k]))
	}
	w.WriteString(")\n")
}

func funcText(w *strings.Builder, m *wasmfront.Module, i uint32) {
	var v validate.Func
	var op wasmfront.Operator
	v.Begin(m, i)
	fmt.Fprintf(w, "  (func (;%d;)%s\n", i, signature(v.Type()))
	if locals := words("local", v.Locals()[v.NumParams():]); locals != "" {
		fmt.Fprintf(w, "   %s\n", locals)
	}
	depth := 0
	for v.Next(&op) && v.Depth() > 0 {
		if op.Op == wasmfront.OpEnd {
			depth--
		}
		indent := depth
		if op.Op == wasmfront.OpElse {
			indent--
		}
		fmt.Fprintf(w, "    %s%v\n", strings.Repeat("  ", indent), &op)
		if nesting(op.Op) > 0 {
			depth++
		}
	}
	w.WriteString("  )\n")
}
