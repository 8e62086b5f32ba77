package opt

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// nest makes random nests of choices and loops, in which few things are read again and again, and seldom written. Global 2 takes in what is
// read.
type nest struct {
	*clif.Builder
	r    *rand.Rand
	room int // instructions that may still be made
}

// steps makes some steps in a row.
func (n *nest) steps(depth int) {
	for range 1 + n.r.IntN(3) {
		if n.room--; n.room < 0 {
			return
		}
		switch kind := n.r.IntN(11); {
		case kind < 4:
			n.read()
		case kind < 5:
			n.write()
		case depth > 3:
		case kind < 9:
			n.choice(depth + 1)
		default:
			n.loop(depth + 1)
		}
	}
}

func (n *nest) read() {
	var x clif.Value
	switch n.r.IntN(5) {
	case 0:
		x = n.Load(i64, clif.Full, 0, 0, 4)
	case 1:
		x = n.Entity(clif.OpGlobalGet, i64, uint32(n.r.IntN(2)))
	case 2:
		x = n.Unary(clif.OpBitcast, i64, n.Entity(clif.OpGlobalGet, f64, 3))
	case 3:
		null := n.Unary(clif.OpRefIsNull, clif.FuncRef, n.Entity(clif.OpTableGet, clif.FuncRef, 0, n.Iconst(i64, 1)))
		x = n.Unary(clif.OpUextend, i64, null)
	case 4:
		x = n.Entity([]clif.Opcode{clif.OpMemorySize, clif.OpTableSize}[n.r.IntN(2)], clif.Invalid, 0)
	}
	sum := n.Binary(clif.OpRotl, i64, n.Entity(clif.OpGlobalGet, i64, 2), n.Iconst(i64, 5))
	n.EntityEffect(clif.OpGlobalSet, i64, 2, 0, n.Binary(clif.OpBxor, i64, sum, x))
}

func (n *nest) write() {
	k := n.Iconst(i64, n.r.Uint64N(1000))
	switch n.r.IntN(7) {
	case 0:
		n.Store(i64, clif.Full, 0, 1, k, 4)
	case 1:
		n.EntityEffect(clif.OpGlobalSet, i64, uint32(n.r.IntN(2)), 0, k)
	case 2:
		n.EntityEffect(clif.OpGlobalSet, f64, 3, 0, n.Unary(clif.OpBitcast, f64, k))
	case 3:
		ref := n.FuncAddr(2)
		if n.r.IntN(2) == 0 {
			ref = n.RefNull(clif.FuncRef)
		}
		n.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, n.Iconst(i64, 1), ref)
	case 4:
		n.Entity(clif.OpMemoryGrow, clif.Invalid, 0, n.Iconst(i32, 1))
	case 5:
		n.Entity(clif.OpTableGrow, clif.FuncRef, 0, n.Iconst(i32, 1), n.RefNull(clif.FuncRef))
	case 6:
		n.Call(2, nil)
	}
}

// condition is a bit of what has been read.
func (n *nest) condition() clif.Value {
	bit := n.Binary(clif.OpBand, i64, n.Entity(clif.OpGlobalGet, i64, 2), n.Iconst(i64, 1<<n.r.IntN(8)))
	return n.Icmp(clif.Ne, i64, bit, n.Iconst(i64, 0))
}

func (n *nest) choice(depth int) {
	then, els, join := n.NewBlock(), n.NewBlock(), n.NewBlock()
	n.Branch(n.condition(), n.Target(then, nil), n.Target(els, nil))
	n.SwitchTo(then)
	n.steps(depth)
	n.Jump(n.Target(join, nil))
	n.SwitchTo(els)
	if n.r.IntN(2) == 0 {
		n.steps(depth)
	}
	n.Jump(n.Target(join, nil))
	n.SwitchTo(join)
}

// loop runs twice, or less if a way leaves it.
func (n *nest) loop(depth int) {
	body, latch, after := n.NewBlock(), n.NewBlock(), n.NewBlock()
	left := n.AddParam(body, i32)
	n.Jump(n.Target(body, []val{n.Iconst(i32, 2)}))
	n.SwitchTo(body)
	n.steps(depth)
	if n.r.IntN(2) == 0 {
		n.Branch(n.condition(), n.Target(latch, nil), n.Target(after, nil))
	} else {
		n.Jump(n.Target(latch, nil))
	}
	n.SwitchTo(latch)
	n.steps(depth)
	left = n.Binary(clif.OpIsub, i32, left, n.Iconst(i32, 1))
	n.Branch(left, n.Target(body, []val{left}), n.Target(after, nil))
	n.SwitchTo(after)
}

// TestRegions: what is read where paths have met, and in loops, is what is there.
func TestRegions(t *testing.T) {
	functions, known := testenv.Cases(500, 800, 10000), 0
	for seed := range uint64(functions) {
		r := rand.New(rand.NewPCG(seed, 41))
		m := effectModule()
		keepSome(m, r)
		f := &clif.Func{Name: "f", Mod: m, Index: 1}
		n := nest{Builder: &clif.Builder{F: f}, r: r, room: 60}
		entry := n.NewBlock()
		for _, ty := range m.Sigs[0].Params {
			n.AddParam(entry, ty)
		}
		n.SwitchTo(entry)
		for range 4 {
			n.read()
		}
		for n.room > 0 {
			n.steps(0)
		}
		n.Return(nil)
		ctl := &Control{Limit: -1}
		g := optimized(t, &Optimizer{Control: ctl}, f)
		for i := range ctl.Log {
			if ctl.Log[i].Rule == RuleLoadKnown.Info() {
				known++
			}
		}
		for _, in := range [][]uint64{{0, 0, 5}, {8, 9, 0}, {4, 65000, 1}} {
			x, _ := observed(t, f, in)
			if y, _ := observed(t, g, in); x != y {
				t.Fatalf("seed %d, f(%#x):\n%s\nbefore\n%s\nafter\n%v\n%v", seed, in, x, y, f, g)
			}
		}
	}
	t.Logf("%d functions, %d reads known", functions, known)
	if known < functions {
		t.Errorf("only %d reads of %d functions are known", known, functions)
	}
}

// TestLongRegion: what is written in a region that is too long to be followed is not taken for what it was.
func TestLongRegion(t *testing.T) {
	for _, length := range []int{1, regionWalk - 2, regionWalk + 10} {
		m := effectModule()
		m.Sigs[0].Results = []clif.Type{i64}
		f := &clif.Func{Name: "f", Mod: m, Index: 1}
		b := &clif.Builder{F: f}
		entry := b.NewBlock()
		for _, ty := range m.Sigs[0].Params {
			b.AddParam(entry, ty)
		}
		b.SwitchTo(entry)
		before := b.Load(i64, clif.Full, 0, b.Iconst(i32, 8), 0)
		next, meet := b.NewBlock(), b.NewBlock()
		b.Branch(0, b.Target(next, nil), b.Target(meet, nil))
		b.SwitchTo(next)
		b.Store(i64, clif.Full, 0, b.Iconst(i32, 8), b.Iconst(i64, 77), 0)
		for range length {
			next = b.NewBlock()
			b.Jump(b.Target(next, nil))
			b.SwitchTo(next)
		}
		b.Jump(b.Target(meet, nil))
		b.SwitchTo(meet)
		b.Return([]val{b.Binary(clif.OpIsub, i64, b.Load(i64, clif.Full, 0, b.Iconst(i32, 8), 0), before)})
		g := optimized(t, &Optimizer{}, f)
		for _, in := range [][]uint64{{0, 0, 5}, {1, 9, 0}} {
			x, _ := observed(t, f, in)
			if y, _ := observed(t, g, in); x != y {
				t.Errorf("%d blocks, f(%d): %s before, %s after", length, in, x, y)
			}
		}
	}
}

// TestRegionSteps: the walks through regions follow a number of edges that is linear in the function, however its loops are nested.
func TestRegionSteps(t *testing.T) {
	for _, depth := range []int{10, 100, 1000} {
		m := effectModule()
		f := &clif.Func{Name: "f", Mod: m, Index: 1}
		b := &clif.Builder{F: f}
		entry := b.NewBlock()
		for _, ty := range m.Sigs[0].Params {
			b.AddParam(entry, ty)
		}
		b.SwitchTo(entry)
		b.Load(i64, clif.Full, 0, 0, 4)
		var headers []clif.Block
		for range depth {
			h := b.NewBlock()
			b.Jump(b.Target(h, nil))
			b.SwitchTo(h)
			headers = append(headers, h)
		}
		for n := range depth {
			after := b.NewBlock()
			b.Branch(1, b.Target(headers[depth-1-n], nil), b.Target(after, nil))
			b.SwitchTo(after)
		}
		b.Return(nil)
		var o Optimizer
		optimized(t, &o, f)
		r := &o.fold.regions
		if taken := regionSteps*2*depth + regionSteps + regionWalk - r.steps; taken > regionSteps*(2*depth+2)+2*regionWalk {
			t.Errorf("%d loops: %d steps", depth, taken)
		}
	}
}
