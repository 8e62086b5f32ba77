package isatest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
)

// This file tests the records of calls: places, offsets in the Wasm module, stack maps. It also tests that faults planted
// into the data about safepoints are refused.

// callSites is a module with functions that make calls of every kind.
type callSites struct {
	module
	// want are the offsets in the Wasm module of the calls that may collect, in order, by function.
	want [][]uint32
}

// nextSrc gives the code that follows a new offset in the Wasm module, one more than the last.
func nextSrc(b *clif.Builder) uint32 {
	b.Src++
	return b.Src
}

// callResults returns the results of functions that are called.
func callResults() [][]clif.Type {
	all := [][]clif.Type{nil, {clif.I32}, {clif.Ref}, {clif.F32}, {clif.F64}, {clif.F64, clif.Ref}, {clif.F32, clif.I64}, {clif.Ref, clif.F64}}
	many := []clif.Type{clif.F64}
	for range 6 {
		many = append(many, clif.F64, clif.Ref, clif.I32)
	}
	return append(all, many)
}

func newCallSites(on *Machine) *callSites {
	m := &callSites{module: module{on: on}}
	m.Memories = []clif.MemoryDecl{{Min: 1, Max: 2, HasMax: true}}
	m.Tables = []clif.TableDecl{{Elem: clif.Ref, Min: 4, Max: 8, HasMax: true}}
	for k, rs := range callResults() {
		params := []clif.Type{clif.Ref, clif.Ref}
		for range 12 * (k % 2) { // some of them on the stack
			params = append(params, clif.I64)
		}
		m.Sigs = append(m.Sigs, clif.Signature{Params: params, Results: rs})
		m.Funcs = append(m.Funcs, clif.FuncDecl{Sig: clif.SigIndex(k), Addressed: true,
			Import: &clif.ImportName{Module: "m", Name: fmt.Sprint("f", k)}})
	}
	m.NumImportedFuncs = len(m.Funcs)
	for k := range m.NumImportedFuncs {
		m.defineCaller(clif.FuncIndex(k))
	}
	return m
}

// defineCaller adds a function that makes all kinds of calls, of functions with the type of the import, while its
// references are alive, and two that only call.
func (m *callSites) defineCaller(imp clif.FuncIndex) {
	params, results := m.FuncSig(imp).Params, m.FuncSig(imp).Results
	callee := m.Fn(params, results, func(b *clif.Builder, p []clif.Value) { b.Return(m.all(b, imp, p)) })
	m.want = append(m.want, []uint32{1})
	sig := m.Funcs[callee].Sig
	var want []uint32
	m.Fn(params, params[:2], func(b *clif.Builder, p []clif.Value) {
		site := func() { want = append(want, nextSrc(b)) }
		site()
		b.Call(callee, p)
		for range 2 {
			site()
			b.Entity(clif.OpMemoryGrow, clif.Invalid, 0, b.Iconst(clif.I32, 0))
			site()
			b.Call(imp, p)
			nextSrc(b)
			zero, n := b.Iconst(clif.I64, 0), b.Iconst(clif.I64, 1)
			b.EntityEffect(clif.OpMemoryFill, clif.Invalid, 0, 0, zero, b.Iconst(clif.I32, 1), n)
			b.EntityEffect(clif.OpMemoryCopy, clif.Invalid, 0, 0, zero, zero, n)
			b.EntityEffect(clif.OpTableFill, clif.Ref, 0, 0, zero, p[0], n)
			b.EntityEffect(clif.OpTableCopy, clif.Invalid, 0, 0, zero, zero, n)
			site()
			b.Entity(clif.OpTableGrow, clif.Ref, 0, b.Iconst(clif.I32, 0), p[1])
			for _, fn := range []clif.FuncIndex{callee, imp} {
				f := b.FuncAddr(fn)
				nextSrc(b)
				b.SigCheck(m.Funcs[fn].Sig, f)
				site()
				b.CallRef(m.Funcs[fn].Sig, f, p)
			}
			nextSrc(b)
			b.Store(clif.I32, clif.Full, 0, b.Iconst(clif.I32, 0), b.Iconst(clif.I32, 5), 0)
			site()
			b.Call(callee, p)
		}
		b.Src += 2
		b.Return([]clif.Value{p[1], p[0]})
	})
	m.want = append(m.want, want)
	m.Fn(params, nil, func(b *clif.Builder, p []clif.Value) { // the last instruction that can be reached
		b.Src = 6
		b.CallRef(sig, b.FuncAddr(callee), p)
		b.Src = 7
		b.Trap(abi.TrapUnreachable)
	})
	m.want = append(m.want, []uint32{6})
}

// all calls a function, the first that the function does, and gives its results.
func (m *callSites) all(b *clif.Builder, fn clif.FuncIndex, args []clif.Value) (out []clif.Value) {
	nextSrc(b)
	first := b.Call(fn, args)
	for i := range m.FuncSig(fn).Results {
		out = append(out, first+clif.Value(i))
	}
	b.Src += 2
	return out
}

// planter is an allocator that plants a fault into its input or into its output. Either function may be nil.
type planter struct {
	linear.Allocator
	before func(in *regalloc.Input)
	after  func(in *regalloc.Input, out *regalloc.Output)
}

// Run implements backend.Allocator.
func (p *planter) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	if p.before != nil {
		p.before(in)
	}
	err := p.Allocator.Run(in, env, out)
	if p.after != nil && err == nil {
		p.after(in, out)
	}
	return err
}

// planted returns a compiler with an allocator that plants faults.
func (m *module) planted(t *testing.T, p *planter, skipChecker bool) *backend.Compiler {
	t.Helper()
	target, err := m.on.Target(m.on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	p.Allocator = *linear.New()
	return backend.New(target, instance.New(&m.Module.Module), &m.Module.Module, backend.Options{Allocator: p, SkipChecker: skipChecker, Verify: true})
}

// testCallSites: every call that may collect has a record with its own offset in the module at its own return address, and a
// stack map of the two references; other calls have none.
func testCallSites(t *testing.T, on *Machine) {
	m := newCallSites(on)
	m.AddInit()
	c := m.compiler(t)
	for k, want := range m.want {
		code, err := c.Compile(m.Defined[k])
		if err != nil {
			t.Fatal(err)
		}
		var got, at, mapped []uint32
		for _, s := range code.Calls {
			got, at = append(got, s.Src), append(at, s.Offset)
			if s.Offset > uint32(len(code.Bytes)) || !on.EndsCall(code.Bytes[:s.Offset]) {
				t.Errorf("function %d: no call returns to %#x, source %d", k, s.Offset, s.Src)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("function %d: calls at %d, want %d", k, got, want)
		}
		for _, s := range code.StackMaps {
			mapped = append(mapped, s.Offset)
			if len(s.Slots) != 2 || s.Slots[0] == s.Slots[1] {
				t.Errorf("function %d: slots %d", k, s.Slots)
			}
			for _, d := range s.Slots {
				if d >= 0 || d < -int32(code.FrameBytes) || d%8 != 0 {
					t.Errorf("function %d: slot %d, frame of %d bytes", k, d, code.FrameBytes)
				}
			}
		}
		if len(want) > 1 && !slices.Equal(mapped, at) { // nothing is live in the functions that only call
			t.Errorf("function %d: stack maps at %#x, calls return to %#x", k, mapped, at)
		}
	}
}

// plantClobbers: instruction i, a call, is refused if it clobbers nothing, or one register less, or in one register only the half.
func (m *module) plantClobbers(i int, refused func(what, stage string, p *planter, rules ...checker.Rule)) {
	refused(fmt.Sprintf("call %d without clobbers", i), "check", &planter{before: func(in *regalloc.Input) { in.Insts[i].Clobbers = 0 }}, checker.RuleCall)
	for _, half := range [...]bool{false, true} {
		refused(fmt.Sprintf("call %d with fewer clobbers, half %v", i, half), "check", &planter{before: func(in *regalloc.Input) {
			set := in.ClobberSets[in.Insts[i].Clobbers]
			if all := &set.Low; half && set.High != 0 {
				set.High = set.High.Remove(set.High.First())
			} else {
				*all = all.Remove(all.First())
			}
			in.Insts[i].Clobbers = uint16(len(in.ClobberSets))
			in.ClobberSets = append(in.ClobberSets, set)
		}}, checker.RuleCall)
	}
}

// testPlantedSafepoints: wrong safepoint flags in the allocator's input are refused, one by one, and so are stack maps
// that lack a slot or belong to another call. Faults that the checker cannot see are left to emission, as far as it can see
// them.
func testPlantedSafepoints(t *testing.T, on *Machine) {
	m := newCallSites(on)
	m.AddInit()
	flags, slots, calls := 0, 0, 0
	for k := range m.want {
		f := m.Defined[k]
		refused := func(what, stage string, p *planter, rules ...checker.Rule) {
			t.Helper()
			_, err := m.planted(t, p, stage == "emit").Compile(f)
			var e *backend.Error
			var ce *checker.Error
			if !errors.As(err, &e) || e.Stage != stage || stage == "check" && (!errors.As(err, &ce) || !slices.Contains(rules, ce.Rule)) {
				t.Errorf("function %d, %s: %v", k, what, err)
			}
		}
		var insts []regalloc.InstInfo
		var maps []regalloc.StackMap
		if _, err := m.planted(t, &planter{after: func(in *regalloc.Input, out *regalloc.Output) {
			insts, maps = slices.Clone(in.Insts), slices.Clone(out.StackMaps)
		}}, false).Compile(f); err != nil {
			t.Fatal(err)
		}
		for i := range insts {
			flip := func(in *regalloc.Input) { in.Insts[i].Flags ^= regalloc.Safepoint }
			marked := insts[i].Flags&regalloc.Safepoint != 0
			if insts[i].Clobbers == 0 && i%7 != 0 && !marked {
				continue
			}
			if insts[i].Clobbers != 0 {
				calls++
				m.plantClobbers(i, refused)
			}
			flags++
			what := fmt.Sprintf("flag of instruction %d", i)
			if !marked { // a rematerialisable instruction cannot be a safepoint either
				refused(what, "check", &planter{before: flip}, checker.RuleSafepoint, checker.RuleEdit)
				continue
			}
			refused(what, "check", &planter{before: flip}, checker.RuleSafepoint)
			refused(what+", not checked", "emit", &planter{before: flip})
		}
		for n := range maps {
			for s := range maps[n].Slots.Len() {
				slots++
				refused(fmt.Sprintf("slot %d of map %d", s, n), "check", &planter{after: func(_ *regalloc.Input, out *regalloc.Output) {
					r := &out.StackMaps[n].Slots
					kept := slices.Delete(slices.Clone(out.StackMapSlots[r.Start:r.End]), s, s+1)
					*r = regalloc.Range{Start: uint32(len(out.StackMapSlots)), End: uint32(len(out.StackMapSlots) + len(kept))}
					out.StackMapSlots = append(out.StackMapSlots, kept...)
				}}, checker.RuleUse, checker.RuleStackMap) // at a use, or where a later map lists it
			}
			other := func(_ *regalloc.Input, out *regalloc.Output) { out.StackMaps[n].Inst++ }
			refused(fmt.Sprintf("map %d of another call", n), "check", &planter{after: other}, checker.RuleStackMap)
			refused(fmt.Sprintf("map %d of another call, not checked", n), "emit", &planter{after: other})
		}
	}
	t.Logf("%d flags, %d slots, %d calls", flags, slots, calls)
	if calls < flags/4 || flags < 300 || slots < 200 {
		t.Error("too few")
	}
}
