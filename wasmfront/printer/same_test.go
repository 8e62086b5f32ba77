package printer

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waot-project/waot/wasmfront"
)

// places are the fields that say where in the module something is, or how it is encoded.
var places = cmp.Options{
	cmpopts.IgnoreFields(wasmfront.Module{}, "Bytes", "Sections", "TypeOffsets", "Customs", "Code", "StartOffset", "DataCount", "HasDataCount"),
	cmpopts.IgnoreFields(wasmfront.Import{}, "Offset"), cmpopts.IgnoreFields(wasmfront.Func{}, "Offset"),
	cmpopts.IgnoreFields(wasmfront.Table{}, "Offset"), cmpopts.IgnoreFields(wasmfront.Memory{}, "Offset"),
	cmpopts.IgnoreFields(wasmfront.Tag{}, "Offset"), cmpopts.IgnoreFields(wasmfront.Global{}, "Offset"), cmpopts.IgnoreFields(wasmfront.Export{}, "Offset"),
	cmpopts.IgnoreFields(wasmfront.ConstExpr{}, "End"), cmpopts.IgnoreFields(wasmfront.ConstOp{}, "Offset"),
	cmpopts.IgnoreFields(wasmfront.ElemSegment{}, "Offset"), cmpopts.IgnoreFields(wasmfront.DataSegment{}, "Offset"),
	cmpopts.IgnoreUnexported(wasmfront.Module{}, wasmfront.ElemSegment{}),
	cmpopts.EquateEmpty(),
}

// exact says that names, custom sections, and the forms of element segments are compared, too.
const exact = true

// difference says how two modules differ, but for how they are encoded; it is empty if they are the same.
func difference(a, b []byte, exact bool) string {
	m, err := wasmfront.Decode(a, wasmfront.DecodableFeatures)
	if err != nil {
		return "the first module: " + err.Error()
	}
	n, err := wasmfront.Decode(b, wasmfront.DecodableFeatures)
	if err != nil {
		return "the second module: " + err.Error()
	}
	if !exact {
		simplify(m)
		simplify(n)
	}
	if d := cmp.Diff(m, n, places); d != "" {
		return d
	}
	for i := range m.Code {
		if d := bodyDifference(m, n, uint32(i)+m.NumImportedFuncs, exact); d != "" {
			return fmt.Sprintf("function %d: %s", uint32(i)+m.NumImportedFuncs, d)
		}
	}
	if !exact {
		return ""
	}
	x, known := m.DecodeAllNames()
	y, alsoKnown := n.DecodeAllNames()
	if known != alsoKnown {
		return fmt.Sprintf("names known: %v, %v", known, alsoKnown)
	}
	for _, names := range [...]*wasmfront.AllNames{x, y} { // a list without names says nothing
		if names != nil {
			names.Locals = slices.DeleteFunc(names.Locals, func(f wasmfront.InnerNames) bool { return len(f.Names) == 0 })
			names.Fields = slices.DeleteFunc(names.Fields, func(f wasmfront.InnerNames) bool { return len(f.Names) == 0 })
		}
	}
	if d := cmp.Diff(x, y, cmpopts.EquateEmpty()); known && d != "" {
		return d
	}
	return cmp.Diff(customs(m, known), customs(n, known))
}

// simplify turns elements that are all ref.func into functions.
func simplify(m *wasmfront.Module) {
	for i := range m.Elems {
		s := &m.Elems[i]
		funcs := []uint32{}
		for _, e := range s.Exprs {
			if len(e.Ops) == 1 && e.Ops[0].Op == wasmfront.OpRefFunc {
				funcs = append(funcs, e.Ops[0].Index)
			}
		}
		if s.Type == wasmfront.FuncRef && len(s.Exprs) > 0 && len(funcs) == len(s.Exprs) {
			s.Funcs, s.Exprs = funcs, nil
		}
	}
}

// customs lists the custom sections, each with the section that it follows, but for the one with the names if those are known.
func customs(m *wasmfront.Module, namesKnown bool) []string {
	var list []string
	after, k := "", 0
	for _, s := range m.Sections {
		if s.ID != 0 {
			if s.Size != 1 || m.Bytes[s.Offset] != 0 {
				after = s.Name()
			}
			continue
		}
		c := m.Customs[k]
		k++
		if namesKnown && c.Name == "name" {
			namesKnown = false
			continue
		}
		list = append(list, fmt.Sprintf("%q after %s: %x", c.Name, after, c.Bytes))
	}
	return list
}

func bodyDifference(m, n *wasmfront.Module, f uint32, exact bool) string {
	rm, lm := locals(m, f)
	rn, ln := locals(n, f)
	if !slices.Equal(lm, ln) {
		return cmp.Diff(lm, ln)
	}
	for rm.More() && rn.More() {
		x, y := next(m, rm, exact), next(n, rn, exact)
		if !reflect.DeepEqual(x, y) { // quicker than cmp
			return cmp.Diff(x, y)
		}
	}
	if rm.More() != rn.More() || rm.Err != nil || rn.Err != nil {
		return fmt.Sprintf("ends: %v, %v", rm.Err, rn.Err)
	}
	return ""
}

// next reads an operator. Unless exact, the types of blocks that have a short form get that, and empty else branches are left out.
func next(m *wasmfront.Module, r *wasmfront.Reader, exact bool) (op wasmfront.Operator) {
	r.Operator(&op, m.Features)
	op.Offset = 0
	if exact {
		return op
	}
	if op.Op == wasmfront.OpElse && r.Buf[r.Pos] == byte(wasmfront.OpEnd) {
		return next(m, r, exact)
	}
	if _, opens := op.Op.Opens(); opens && op.Index != wasmfront.NoIndex {
		if t := &m.Types[op.Index]; len(t.Params) == 0 && len(t.Results) <= 1 {
			op.Index, op.Results = wasmfront.NoIndex, append([]wasmfront.ValType(nil), t.Results...) // nil if empty
		}
	}
	return op
}

// locals returns the reader of a body after its locals, and the types of these.
func locals(m *wasmfront.Module, f uint32) (*wasmfront.Reader, []wasmfront.ValType) {
	body := m.Body(f)
	r := &wasmfront.Reader{Buf: m.Bytes, Pos: body.Offset, End: body.Offset + len(body.Bytes), Func: int(f), Types: m.Types}
	var ts []wasmfront.ValType
	for n := r.U32(); n > 0 && r.Err == nil; n-- {
		count := r.U32()
		t := r.ValType(m.Features)
		for range count {
			ts = append(ts, t)
		}
	}
	return r, ts
}
