package opt

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/internal/abi"
)

// chooseTables makes some blocks dispatchers, to which other blocks have edges more often. A dispatcher leads to
// another one only if that comes later, so that each cycle has a block that counts.
func (g *graph) chooseTables() {
	n := len(g.succs)
	g.table = make([]bool, n)
	if n < 4 || g.r.IntN(3) > 0 {
		return
	}
	g.anyTable = true
	for range 1 + g.r.IntN(3) {
		d := 1 + g.r.IntN(n-1)
		g.table[d] = true
		for range 1 + g.r.IntN(n) {
			i := g.r.IntN(n)
			g.succs[i] = append(g.succs[i], d)
		}
		for range 3 {
			g.succs[d] = append(g.succs[d], 1+g.r.IntN(n-1))
		}
	}
	for d := range n {
		if !g.table[d] {
			continue
		}
		g.succs[d] = slices.DeleteFunc(g.succs[d], func(to int) bool { return g.table[to] && to <= d })
		g.table[d] = len(g.succs[d]) > 0
	}
}

// dispatch ends dispatcher i, sometimes with arithmetic before the table.
func (g *graph) dispatch(i int, targets []clif.Target) {
	b, v := g.b, g.avail[i][0]
	for range g.r.IntN(4) {
		op := []clif.Opcode{clif.OpIsub, clif.OpBand, clif.OpBxor, clif.OpUshr}[g.r.IntN(4)]
		v = b.Binary(op, clif.I32, v, b.Iconst(clif.I32, uint64(g.r.IntN(3))))
		if g.r.IntN(8) == 0 {
			g.add(i, v) // others use it, so that no edge may bypass the block
		}
	}
	b.BrTable(v, append(targets, targets[g.r.IntN(len(targets))]))
}

// graph is a random control-flow graph: irreducible, with self loops, unreachable
// blocks, parameters that feed themselves, tables with repeated targets, and branches
// whose edges agree.
type graph struct {
	r      *rand.Rand
	f      *clif.Func
	b      *clif.Builder
	ops    []pureOp
	succs  [][]int // by block
	params [][]clif.Type
	avail  [][]clif.Value // by block: what it defines
	idom   []int          // -1 for the entry and for unreachable blocks
	// table says which blocks are dispatchers: they have nothing but a br_table on their first parameter.
	table    []bool
	anyTable bool
}

func (g *graph) types(n int) (ts []clif.Type) {
	for range n {
		ts = append(ts, []clif.Type{clif.I32, clif.I64}[g.r.IntN(2)])
	}
	return ts
}

// shape chooses edges, and finds immediate dominators from a skeleton.
func (g *graph) shape(n int) {
	g.succs = make([][]int, n)
	skeleton := &clif.Func{Mod: testModule(nil, nil)}
	b := &clif.Builder{F: skeleton}
	for i := range n {
		b.NewBlock()
		for range []int{0, 1, 1, 2, 2, 2, 3, 5}[g.r.IntN(8)] {
			to := 1 + g.r.IntN(n-1)
			switch g.r.IntN(12) {
			case 0:
				to = max(i, 1)
			case 2, 3, 4, 5:
				to = min(i+1, n-1)
			}
			g.succs[i] = append(g.succs[i], to)
		}
	}
	g.chooseTables()
	for i := range n {
		b.SwitchTo(clif.Block(i))
		var targets []clif.Target
		for _, to := range g.succs[i] {
			targets = append(targets, b.Target(clif.Block(to), nil))
		}
		if len(targets) == 0 {
			b.Trap(abi.TrapUnreachable)
		} else {
			b.BrTable(b.Iconst(clif.I32, 0), targets)
		}
	}
	var cfg analysis.CFG
	var dom analysis.DomTree
	cfg.Compute(skeleton)
	dom.Compute(&cfg)
	g.idom = make([]int, n)
	for i := range g.idom {
		g.idom[i] = -1
		if i > 0 && cfg.Reachable(clif.Block(i)) {
			g.idom[i] = int(dom.Idom(clif.Block(i)))
		}
	}
	// Emit dominators first, for their values; the layout is mixed later.
	order := append([]clif.Block(nil), cfg.Order()...)
	for i := range n {
		if !cfg.Reachable(clif.Block(i)) {
			order = append(order, clif.Block(i))
		}
	}
	g.emit(n, order)
}

// value is a random value of type t that may be used in block i.
func (g *graph) value(i int, t clif.Type) clif.Value {
	if g.r.IntN(8) > 0 {
		for k := i; k >= 0; k = g.idom[k] {
			if vs := g.avail[k]; len(vs) > 0 && g.r.IntN(3) > 0 {
				for range 4 {
					if v := vs[g.r.IntN(len(vs))]; g.f.TypeOf(v) == t {
						return v
					}
				}
			}
		}
	}
	xs := corners(t)
	v := g.b.Iconst(t, xs[g.r.IntN(len(xs))])
	g.avail[i] = append(g.avail[i], v)
	return v
}

const fuelGlobal = 3

func (g *graph) emit(n int, order []clif.Block) {
	for i := range n {
		blk := g.b.NewBlock()
		types := g.f.Signature().Params
		if i > 0 {
			types = g.types(g.r.IntN(4))
		}
		if g.table[i] {
			types = append([]clif.Type{clif.I32}, types...)
		}
		g.params = append(g.params, types)
		g.avail = append(g.avail, nil)
		for _, t := range types {
			g.avail[i] = append(g.avail[i], g.b.AddParam(blk, t))
		}
	}
	for _, blk := range order {
		i := int(blk)
		b := g.b
		b.SwitchTo(blk)
		if g.table[i] {
			g.terminator(i)
			continue
		}
		if len(g.succs[i]) > 0 && g.r.IntN(3) > 0 || i == 0 || g.loops(i) || g.anyTable {
			fuel := b.Binary(clif.OpIsub, clif.I32, b.Entity(clif.OpGlobalGet, clif.I32, fuelGlobal), b.Iconst(clif.I32, 1))
			b.EntityEffect(clif.OpGlobalSet, clif.I32, fuelGlobal, 0, fuel)
			b.TrapIf(b.Icmp(clif.Eq, clif.I32, fuel, b.Iconst(clif.I32, 0)), abi.TrapStackOverflow)
		}
		for range g.r.IntN(8) {
			g.inst(i)
		}
		g.observe(i)
		g.terminator(i)
	}
	// Any order will do behind the entry.
	rest := g.f.Layout[1:]
	g.r.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
}

// loops reports whether block i has an edge to a block that may come before it.
func (g *graph) loops(i int) bool {
	for _, to := range g.succs[i] {
		if to <= i {
			return true
		}
	}
	return false
}

// observe mixes some of what block i computed into a global.
func (g *graph) observe(i int) {
	b := g.b
	for range g.r.IntN(4) {
		if len(g.avail[i]) == 0 {
			return
		}
		v := g.avail[i][g.r.IntN(len(g.avail[i]))]
		if g.f.TypeOf(v) == clif.I32 {
			v = b.Unary(clif.OpUextend, clif.I64, v)
		}
		old := b.Binary(clif.OpRotl, clif.I64, b.Entity(clif.OpGlobalGet, clif.I64, 4), b.Iconst(clif.I64, 7))
		b.EntityEffect(clif.OpGlobalSet, clif.I64, 4, 0, b.Binary(clif.OpIadd, clif.I64, old, v))
	}
}

func (g *graph) add(i int, v clif.Value) { g.avail[i] = append(g.avail[i], v) }

// address is one of few values, so that accesses meet.
func (g *graph) address(i int) clif.Value {
	if g.r.IntN(2) == 0 {
		return g.b.Iconst(clif.I32, uint64(g.r.IntN(3)*8))
	}
	v := g.b.Binary(clif.OpBand, clif.I32, g.value(i, clif.I32), g.b.Iconst(clif.I32, 0x18))
	g.add(i, v)
	return v
}

func (g *graph) inst(i int) {
	b, r := g.b, g.r
	t := g.types(1)[0]
	switch n := r.IntN(20); {
	case n < 6:
		p := &g.ops[r.IntN(len(g.ops))]
		args := make([]clif.Value, len(p.args))
		for k := range args {
			args[k] = g.value(i, p.args[k])
		}
		g.add(i, p.emit(b, args))
	case n < 8:
		a := []clif.Access{clif.Full, clif.Full, clif.U8, clif.S16}[r.IntN(4)]
		g.add(i, b.Load(t, a, 0, g.address(i), uint64(r.IntN(4)*4)))
	case n < 10:
		a := []clif.Access{clif.Full, clif.Full, clif.U8, clif.U16}[r.IntN(4)]
		addr := g.address(i)
		b.Store(t, a, 0, addr, g.value(i, t), uint64(r.IntN(4)*4))
	case n < 11:
		g.add(i, b.Entity(clif.OpGlobalGet, clif.I64, uint32(1+r.IntN(2))))
	case n < 12:
		b.EntityEffect(clif.OpGlobalSet, clif.I64, 1, 0, g.value(i, clif.I64))
	case n < 13:
		g.add(i, b.Entity(clif.OpMemorySize, clif.Invalid, 0))
		g.add(i, b.Entity(clif.OpTableSize, clif.Invalid, uint32(r.IntN(2))))
	case n < 14:
		if r.IntN(2) == 0 {
			g.add(i, b.Entity(clif.OpMemoryGrow, clif.Invalid, 0, b.Iconst(clif.I32, uint64(r.IntN(2)))))
		} else {
			g.add(i, b.Entity(clif.OpTableGrow, clif.FuncRef, 0, b.Iconst(clif.I32, uint64(r.IntN(2))), b.RefNull(clif.FuncRef)))
		}
	case n < 15:
		b.Call(1, nil)
	case n < 17:
		index, table := b.Iconst(clif.I64, uint64(r.IntN(3))), uint32(r.IntN(2))
		if r.IntN(2) == 0 {
			ref := b.RefNull(clif.FuncRef)
			if r.IntN(2) == 0 {
				ref = b.FuncAddr(clif.FuncIndex(r.IntN(2)))
			}
			b.EntityEffect(clif.OpTableSet, clif.FuncRef, table, 0, index, ref)
			return
		}
		ref := b.Entity(clif.OpTableGet, clif.FuncRef, table, index)
		g.add(i, b.Unary(clif.OpRefIsNull, clif.FuncRef, ref))
		if r.IntN(4) == 0 {
			b.SigCheck(1, ref)
			if r.IntN(2) == 0 {
				b.CallRef(1, ref, nil)
			}
		}
	case n < 19:
		g.add(i, g.condition(i))
	case g.r.IntN(3) == 0:
		b.TrapIf(g.condition(i), abi.TrapUnreachable)
	}
}

// condition is an i32 that has often been, or been nearly, a condition before.
func (g *graph) condition(i int) clif.Value {
	b := g.b
	v := g.value(i, clif.I32)
	for range g.r.IntN(3) {
		v = b.Icmp([]clif.IntCC{clif.Eq, clif.Ne}[g.r.IntN(2)], clif.I32, v, b.Iconst(clif.I32, 0))
		g.add(i, v)
	}
	if g.r.IntN(3) == 0 {
		x := g.value(i, clif.I64)
		v = b.Icmp(clif.IntCC(g.r.IntN(int(clif.NumIntCCs))), clif.I64, x, g.value(i, clif.I64))
		g.add(i, v)
		if g.r.IntN(6) == 0 {
			b.TrapIf(v, abi.TrapIntegerOverflow)
		}
	}
	return v
}

// target makes a branch target. Its arguments are made before.
func (g *graph) args(i, to int) (args []clif.Value) {
	for k, t := range g.params[to] {
		if k == 0 && g.table[to] && g.r.IntN(4) > 0 {
			args = append(args, g.b.Iconst(t, uint64(g.r.IntN(len(g.succs[to])+1))))
			continue
		}
		args = append(args, g.value(i, t))
	}
	return args
}

func (g *graph) terminator(i int) {
	b := g.b
	succs := g.succs[i]
	targets := make([]clif.Target, len(succs))
	for k, to := range succs {
		targets[k] = b.Target(clif.Block(to), g.args(i, to))
	}
	if g.table[i] {
		g.dispatch(i, targets)
		return
	}
	switch len(succs) {
	case 0:
		if g.r.IntN(4) == 0 {
			b.Trap(abi.TrapUnreachable)
			return
		}
		b.Return([]clif.Value{g.value(i, clif.I32), g.value(i, clif.I64)})
	case 1:
		b.Jump(targets[0])
	case 2:
		if succs[0] == succs[1] && g.r.IntN(2) == 0 {
			targets[1] = targets[0]
		}
		b.Branch(g.condition(i), targets[0], targets[1])
	default:
		targets = append(targets, targets[g.r.IntN(len(targets))])
		b.BrTable(g.value(i, clif.I32), targets)
	}
}

// callee changes what calls may change.
func callee(m *clif.Module) *clif.Func {
	f := &clif.Func{Name: "callee", Mod: m, Index: 1, Sig: 1}
	b := &clif.Builder{F: f}
	b.SwitchTo(b.NewBlock())
	b.EntityEffect(clif.OpGlobalSet, clif.I64, 1, 0,
		b.Binary(clif.OpIadd, clif.I64, b.Entity(clif.OpGlobalGet, clif.I64, 1), b.Iconst(clif.I64, 3)))
	at := b.Iconst(clif.I32, 0)
	b.Store(clif.I64, clif.Full, 0, at, b.Entity(clif.OpGlobalGet, clif.I64, 1), 8)
	zero := b.Iconst(clif.I64, 0)
	b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, zero, b.FuncAddr(1))
	b.Return(nil)
	return f
}

func randomGraph(r *rand.Rand, ops []pureOp) *graph {
	m := testModule([]clif.Type{clif.I32, clif.I64}, []clif.Type{clif.I32, clif.I64})
	m.Funcs = []clif.FuncDecl{{Sig: 0, Name: "f", Addressed: true}, {Sig: 1, Name: "callee", Addressed: true}, {Sig: 1, Name: "init"}}
	m.Globals = append(m.Globals, clif.GlobalDecl{Type: clif.I32, Mutable: true, Init: 40},
		clif.GlobalDecl{Type: clif.I64, Mutable: true})
	f := &clif.Func{Name: "f", Mod: m}
	g := &graph{r: r, f: f, b: &clif.Builder{F: f}, ops: ops}
	g.shape(2 + r.IntN(12))
	return g
}

// TestGraphs compares random functions before and after: results, traps,
// memory, globals and tables; with and without limited fuel.
func TestGraphs(t *testing.T) {
	var ops []pureOp
	for _, p := range pureOps() {
		if p.result.IsInt() && !p.args[0].IsFloat() {
			ops = append(ops, p)
		}
	}
	n, runs, traps := 1500, 0, 0
	if testing.Short() {
		n = 500
	}
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 99))
		f := randomGraph(r, ops).f
		var o Optimizer
		if seed%4 == 0 {
			o.Control = &Control{Limit: r.IntN(40)}
		}
		h := optimized(t, &o, f)
		switch seed % 6 {
		case 0:
			h = optimized(t, &o, h)
		case 1: // each pass must do by itself
			h = clone(f)
			for range 5 {
				p := &Passes()[r.IntN(len(passes))]
				o.RunPass(h, p.Name)
				if err := o.After(p, h); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 4 {
			before, after := newWorld(t, f, callee(f.Mod)), newWorld(t, h, callee(f.Mod))
			x, y := corners(clif.I32), corners(clif.I64)
			in := []uint64{x[r.IntN(len(x))], y[r.IntN(len(y))]}
			a, b := before.call(t, in), after.call(t, in)
			a, b = a+" "+before.state(5), b+" "+after.state(5)
			runs++
			if strings.HasPrefix(a, "trap") {
				traps++
			}
			if a != b {
				t.Fatalf("seed %d, f(%#x):\n%s before\n%s after\n%v\n%v", seed, in, a, b, f, h)
			}
		}
	}
	t.Logf("%d runs, %d traps", runs, traps)
}
