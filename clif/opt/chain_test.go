package opt

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// compareRuns compares f before and after on the inputs.
func compareRuns(t *testing.T, seed uint64, f *clif.Func, inputs [][]uint64) (after *clif.Func) {
	t.Helper()
	var o Optimizer
	h := optimized(t, &o, f)
	for _, in := range inputs {
		x, y := newWorld(t, f, callee(f.Mod)), newWorld(t, h, callee(f.Mod))
		a, b := x.call(t, in), y.call(t, in)
		a, b = a+" "+x.state(3), b+" "+y.state(3)
		if a != b {
			t.Fatalf("seed %d, f(%#x):\n%s before\n%s after\n%v\n%v", seed, in, a, b, f, h)
		}
	}
	return h
}

// TestMemory runs random sequences of everything that reads or writes memory,
// globals, tables and sizes, at few overlapping places, and looks at everything that
// was read. Now and then the sequence goes on in another block.
func TestMemory(t *testing.T) {
	n := uint64(1500)
	if testing.Short() {
		n = 500
	}
	removed := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 7))
		m := randomModule([]clif.Type{clif.I32, clif.I32, clif.I64})
		m.Globals = []clif.GlobalDecl{{Type: clif.I64, Mutable: true}, {Type: clif.I64, Mutable: true}, {Type: clif.I64}}
		f, b := newFunc(m)
		var read []clif.Value
		ints := map[clif.Type][]clif.Value{clif.I32: {0, 1}, clif.I64: {2}}
		one := func(ty clif.Type) clif.Value {
			vs := ints[ty]
			return vs[max(0, len(vs)-1-r.IntN(4))]
		}
		note := func(v clif.Value, ty clif.Type) {
			read = append(read, v)
			m.Sigs[0].Results = append(m.Sigs[0].Results, ty)
			if ty.IsInt() {
				ints[ty] = append(ints[ty], v)
			}
		}
		loads := []clif.Access{clif.Full, clif.Full, clif.U8, clif.S8, clif.U16, clif.S16, clif.U32, clif.S32}
		stores := []clif.Access{clif.Full, clif.Full, clif.U8, clif.U16, clif.U32}
		for range 4 + r.IntN(24) {
			ty := []clif.Type{clif.I32, clif.I64}[r.IntN(2)]
			narrow := 6 + 2*int(ty-clif.I32) // how many of loads
			base, offset, kind := clif.Value(r.IntN(2)), uint64(r.IntN(12)), r.IntN(15)
			if seed%2 == 0 { // linear memory only, with one index
				base, kind = 0, r.IntN(6)
			}
			index, table := b.Iconst(clif.I64, uint64(r.IntN(2))), uint32(r.IntN(2))
			switch kind {
			case 0, 1, 2:
				note(b.Load(ty, loads[r.IntN(narrow)], 0, base, offset), ty)
			case 3, 4, 5:
				b.Store(ty, stores[r.IntN(4+int(ty-clif.I32))], 0, base, one(ty), offset)
			case 6:
				note(b.Entity(clif.OpGlobalGet, clif.I64, uint32(r.IntN(3))), clif.I64)
			case 7:
				b.EntityEffect(clif.OpGlobalSet, clif.I64, uint32(r.IntN(2)), 0, one(clif.I64))
			case 8:
				note(b.Entity(clif.OpMemorySize, clif.Invalid, 0), clif.I64)
				note(b.Entity(clif.OpTableSize, clif.Invalid, table), clif.I64)
			case 9:
				note(b.Entity(clif.OpMemoryGrow, clif.Invalid, 0, b.Iconst(clif.I32, uint64(r.IntN(2)))), clif.I32)
			case 10:
				note(b.Entity(clif.OpTableGrow, clif.FuncRef, 0, b.Iconst(clif.I32, uint64(r.IntN(2))), b.RefNull(clif.FuncRef)), clif.I32)
			case 11:
				ref := b.Entity(clif.OpTableGet, clif.FuncRef, table, index)
				note(b.Unary(clif.OpRefIsNull, clif.FuncRef, ref), clif.I32)
			case 12:
				ref := b.RefNull(clif.FuncRef)
				if r.IntN(2) == 0 {
					ref = b.FuncAddr(1)
				}
				b.EntityEffect(clif.OpTableSet, clif.FuncRef, table, 0, index, ref)
			case 13:
				sequenceRest(r, b, base, index, table)
			case 14:
				next, other := b.NewBlock(), b.NewBlock()
				b.Branch(one(clif.I32), b.Target(next, nil), b.Target(other, nil))
				b.SwitchTo(other)
				b.Trap(abi.TrapUnreachable)
				b.SwitchTo(next)
			}
		}
		b.Return(read)
		h := compareRuns(t, seed, f, [][]uint64{{0, 0, 5}, {8, 9, 0xFFFFFFFFFFFFFFFF}, {0x10203040, 8, 1}, {65532, 0, 3}, {16, 0x01020304, 0x0102030405060708}})
		removed += count(f, clif.OpLoad) - count(h, clif.OpLoad)
	}
	if removed == 0 {
		t.Error("no load was ever redundant")
	}
}

// sequenceRest is the rarer things that TestMemory does.
func sequenceRest(r *rand.Rand, b *clif.Builder, base, index clif.Value, table uint32) {
	wide := b.Unary(clif.OpUextend, clif.I64, base)
	wide = b.Binary(clif.OpBand, clif.I64, wide, b.Iconst(clif.I64, 0xFF))
	four := b.Iconst(clif.I64, 4)
	switch r.IntN(6) {
	case 0, 1:
		b.Call(1, nil)
	case 2:
		b.EntityEffect(clif.OpMemoryFill, clif.Invalid, 0, 0, wide, base, four)
	case 3:
		b.EntityEffect(clif.OpMemoryCopy, clif.Invalid, 0, 0, wide, four, four)
	case 4:
		b.EntityEffect(clif.OpTableFill, clif.FuncRef, table, 0, index, b.RefNull(clif.FuncRef), b.Iconst(clif.I64, 1))
	case 5:
		b.EntityEffect(clif.OpTableCopy, clif.Invalid, table, 1-table, index, b.Iconst(clif.I64, 1), b.Iconst(clif.I64, 1))
	}
}

// randomModule is testModule with a function to call.
func randomModule(params []clif.Type) *clif.Module {
	m := testModule(params, nil)
	m.Funcs = []clif.FuncDecl{{Sig: 0, Name: "f", Addressed: true}, {Sig: 1, Name: "callee", Addressed: true}, {Sig: 1, Name: "init"}}
	return m
}

func count(f *clif.Func, op clif.Opcode) (n int) {
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			if f.Insts[i].Op == op {
				n++
			}
		}
	}
	return n
}

// TestDecided runs random trees of branches, trapifs and selects on conditions
// that are related to one another: the same, negated, compared with zero.
func TestDecided(t *testing.T) {
	n := uint64(800)
	if testing.Short() {
		n = 300
	}
	removed := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 8))
		m := randomModule([]clif.Type{clif.I32, clif.I32})
		m.Sigs[0].Results = []clif.Type{clif.I32}
		f, b := newFunc(m)
		leaf := uint64(0)
		var tree func(depth int, sum clif.Value)
		cond := func() clif.Value {
			v := clif.Value(r.IntN(2))
			if r.IntN(3) > 0 {
				v = b.Icmp(clif.IntCC(r.IntN(4)), clif.I32, 0, 1)
			}
			for range r.IntN(3) {
				v = b.Icmp(clif.IntCC(r.IntN(2)), clif.I32, v, b.Iconst(clif.I32, 0))
			}
			return v
		}
		tree = func(depth int, sum clif.Value) {
			for range r.IntN(3) {
				leaf++
				k := b.Iconst(clif.I32, leaf<<8)
				switch r.IntN(4) {
				case 0:
					b.TrapIf(cond(), abi.TrapCode(1+r.IntN(3)))
				case 1:
					sum = b.Binary(clif.OpIadd, clif.I32, sum, b.Select(clif.I32, cond(), k, sum))
				default:
					sum = b.Binary(clif.OpIadd, clif.I32, sum, cond())
				}
			}
			if depth == 0 {
				leaf++
				b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I32, sum, b.Iconst(clif.I32, leaf<<16))})
				return
			}
			then, els := b.NewBlock(), b.NewBlock()
			p, q := b.AddParam(then, clif.I32), b.AddParam(els, clif.I32)
			b.Branch(cond(), b.Target(then, []clif.Value{sum}), b.Target(els, []clif.Value{sum}))
			b.SwitchTo(then)
			tree(depth-1, p)
			b.SwitchTo(els)
			tree(depth-1, q)
		}
		tree(1+r.IntN(4), b.Iconst(clif.I32, 0))
		h := compareRuns(t, seed, f, [][]uint64{{0, 0}, {0, 1}, {1, 0}, {5, 5}, {0xFFFFFFFF, 3}, {3, 0xFFFFFFFF}, {0, 0xFFFFFFFF}, {1, 1}})
		removed += count(f, clif.OpBranch) - count(h, clif.OpBranch)
	}
	if removed == 0 {
		t.Error("no branch was ever decided")
	}
}
