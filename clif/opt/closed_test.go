package opt

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
)

// closedModule has globals and tables that nobody writes. Functions 0 and 2 have one type, function 1 another; function 3 is the one that is tested.
// All functions of table 0 have one type, those of table 1 have two, and table 2 has an entry that is not known, which is function 0.
func closedModule(params, results []clif.Type) *clif.Module {
	const null = clif.ElemNull
	m := &clif.Module{
		Sigs: []clif.Signature{{Params: []clif.Type{i32}, Results: []clif.Type{i32}}, {Params: []clif.Type{i32}}, {Params: params, Results: results}, {},
			{Params: []clif.Type{i32}, Results: []clif.Type{i32}}}, // the same as the first
		Funcs: []clif.FuncDecl{{Sig: 0, Name: "a", Addressed: true}, {Sig: 1, Name: "b", Addressed: true}, {Sig: 4, Name: "c", Addressed: true},
			{Sig: 2, Name: "f"}, {Sig: 3, Name: "init"}},
		Tables: []clif.TableDecl{{Entries: []clif.FuncIndex{null, 0, 2, 0}, Only: 0, HasOnly: true}, {Entries: []clif.FuncIndex{1, null, 0, 2}},
			{Entries: []clif.FuncIndex{0, 1, clif.ElemComputed, null}}},
	}
	for i := range m.Tables {
		t := &m.Tables[i]
		t.Elem, t.Min, t.Max, t.HasMax = clif.FuncRef, 4, 4, true
	}
	for i, t := range fixedTypes {
		m.Globals = append(m.Globals, clif.GlobalDecl{Type: t, Mutable: true, Init: fixedInits[i], Fixed: true})
	}
	return m
}

var (
	fixedTypes = []clif.Type{i32, i64, f32, f64, clif.Ref, clif.FuncRef}
	fixedInits = []uint64{0x80000001, 0x8000000000000003, 0x7FA00001, 0x7FF0000000000001, 0, 0}
)

// closedCall is f(i, x), which calls entry i of a table, or entry k, with x as the type says.
func closedCall(table, sig uint32, k int) *clif.Func {
	m := closedModule([]clif.Type{i64, i32}, []clif.Type{i32})
	f := &clif.Func{Name: "f", Mod: m, Index: 3, Sig: 2}
	b := &clif.Builder{F: f}
	entry := b.NewBlock()
	index, x := b.AddParam(entry, i64), b.AddParam(entry, i32)
	b.SwitchTo(entry)
	if k >= 0 {
		index = b.Iconst(i64, uint64(k))
	}
	index = b.Bound(index, b.Entity(clif.OpTableSize, clif.Invalid, table), abi.TrapUndefinedElement)
	ref := b.Entity(clif.OpTableGet, clif.FuncRef, table, index)
	null := b.Unary(clif.OpRefIsNull, clif.FuncRef, b.Entity(clif.OpTableGet, clif.FuncRef, table, index))
	b.SigCheck(clif.SigIndex(sig), ref)
	r := b.CallRef(clif.SigIndex(sig), ref, []val{x})
	if sig == 1 {
		r = x
	}
	b.Return([]val{b.Binary(clif.OpIadd, i32, r, null)})
	return f
}

// closedGlobals is f(), which returns the globals that nothing changes.
func closedGlobals() *clif.Func {
	f := &clif.Func{Name: "f", Mod: closedModule(nil, fixedTypes), Index: 3, Sig: 2}
	b := &clif.Builder{F: f}
	b.SwitchTo(b.NewBlock())
	var read []val
	for i, t := range fixedTypes {
		read = append(read, b.Entity(clif.OpGlobalGet, t, uint32(i)))
		if t == clif.Ref {
			b.TrapIf(b.Icmp(clif.Eq, i32, b.Unary(clif.OpRefIsNull, t, read[i]), b.Iconst(i32, 0)), abi.TrapUnreachable)
		}
	}
	b.Return(read)
	return f
}

// closedFuncs are all functions to which the rules of closed.go apply, or nearly.
func closedFuncs() (funcs []*clif.Func) {
	for table := range uint32(3) {
		for _, sig := range []uint32{0, 1, 4} {
			for k := range 6 {
				funcs = append(funcs, closedCall(table, sig, k-1))
			}
		}
	}
	return append(funcs, closedGlobals())
}

// closedEnd says what a call of f in a new instance gives.
func closedEnd(t *testing.T, f *clif.Func, in []uint64) string {
	m := f.Mod
	build := func(i clif.FuncIndex, emit func(b *clif.Builder)) *clif.Func {
		f := &clif.Func{Name: m.Funcs[i].Name, Mod: m, Index: i, Sig: m.Funcs[i].Sig}
		b := &clif.Builder{F: f}
		entry := b.NewBlock()
		for _, t := range f.Signature().Params {
			b.AddParam(entry, t)
		}
		b.SwitchTo(entry)
		emit(b)
		return f
	}
	plus := func(k uint64) func(b *clif.Builder) {
		return func(b *clif.Builder) { b.Return([]val{b.Binary(clif.OpIadd, i32, 0, b.Iconst(i32, k))}) }
	}
	funcs := []*clif.Func{build(0, plus(100)), build(1, func(b *clif.Builder) { b.Return(nil) }), build(2, plus(200)), f, build(4, func(b *clif.Builder) {
		for i := range m.Tables {
			for k, e := range m.Tables[i].Entries {
				if e == clif.ElemComputed {
					e = 0
				}
				if e != clif.ElemNull {
					b.EntityEffect(clif.OpTableSet, clif.FuncRef, uint32(i), 0, b.Iconst(i64, uint64(k)), b.FuncAddr(e))
				}
			}
		}
		b.Return(nil)
	})}
	inst, err := interp.NewStore(interp.Options{MaxSteps: 1000}).Instantiate(m, func(i clif.FuncIndex) (*clif.Func, error) { return funcs[i], nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := inst.Func(3).Call(in)
	var trap *interp.Trap
	if errors.As(err, &trap) {
		return trap.Code.String()
	}
	return fmt.Sprint(results, err)
}

// TestClosed: for each entry of tables that nobody writes, each type that a call expects, and constant and other indices, calls do the
// same as before; what is known is not looked up.
func TestClosed(t *testing.T) {
	var o Optimizer
	for _, f := range closedFuncs() {
		g := optimized(t, &o, f)
		for k := range uint64(6) {
			in := []uint64{k, 7}[:len(f.Signature().Params)]
			if before, after := closedEnd(t, f, in), closedEnd(t, g, in); before != after {
				t.Fatalf("f(%d): %s before, %s after\n%v\n%v", in, before, after, f, g)
			}
		}
		text := g.String()
		_, _, computed := strings.Cut(f.String(), "table2")
		if d := &f.Insts[0]; d.Op == clif.OpIconst && d.Imm < 4 && !computed && strings.Contains(text, "table") {
			t.Errorf("%v\n%v", f, g)
		}
		if strings.Contains(text, "global_get") {
			t.Errorf("%v\n%v", f, g)
		}
	}
	// Rules do not rely on each other.
	for rule := RuleGlobalFixed; rule <= RuleCallKnown; rule++ {
		o := Optimizer{Control: &Control{Limit: -1, Off: map[string]bool{rule.Info().Name: true}}}
		for _, f := range closedFuncs() {
			g := optimized(t, &o, f)
			for k := range uint64(6) {
				in := []uint64{k, 7}[:len(f.Signature().Params)]
				if before, after := closedEnd(t, f, in), closedEnd(t, g, in); before != after {
					t.Fatalf("without %v, f(%d): %s before, %s after\n%v\n%v", rule.Info(), in, before, after, f, g)
				}
			}
		}
	}
	// The check of an entry that is not constant.
	for _, c := range []struct {
		table, sig uint32
		checked    bool
	}{{0, 0, false}, {0, 4, false}, {0, 1, true}, {1, 0, true}, {2, 0, true}} {
		g := optimized(t, &o, closedCall(c.table, c.sig, -1))
		if got := strings.Contains(g.String(), "sig_check"); got != c.checked {
			t.Errorf("table %d, type %d: checked is %v\n%v", c.table, c.sig, got, g)
		}
	}
}

// TestClosedInit: the init function sees tables before they are as others see them.
func TestClosedInit(t *testing.T) {
	f := closedCall(0, 0, 1)
	f.Mod.Sigs[2] = clif.Signature{Params: []clif.Type{i64, i32}, Results: []clif.Type{i32}}
	f.Mod.Funcs = f.Mod.Funcs[:4] // f is the last
	var o Optimizer
	if g := optimized(t, &o, f); !strings.Contains(g.String(), "table_get") || !strings.Contains(g.String(), "sig_check") {
		t.Errorf("%v", g)
	}
}
