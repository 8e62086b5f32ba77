package opt

import (
	"errors"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/stop"
)

// dispatcherOf is a dispatcher of n states with params parameters besides the state, each of which a state changes.
func dispatcherOf(n, params int) *clif.Func {
	m := testModule([]clif.Type{clif.I32}, []clif.Type{clif.I32})
	f := &clif.Func{Name: "f", Mod: m}
	b := &clif.Builder{F: f}
	entry, head, exit := b.NewBlock(), b.NewBlock(), b.NewBlock()
	start := b.AddParam(entry, clif.I32)
	var values []clif.Value
	for range params + 1 {
		values = append(values, b.AddParam(head, clif.I32))
	}
	b.SwitchTo(entry)
	first := make([]clif.Value, params+1)
	for i := range first {
		first[i] = start
	}
	b.Jump(b.Target(head, first))
	b.SwitchTo(head)
	var states []clif.Block
	var targets []clif.Target
	for range n {
		states = append(states, b.NewBlock())
		targets = append(targets, b.Target(states[len(states)-1], nil))
	}
	b.BrTable(values[0], append(targets, b.Target(exit, nil)))
	for i, s := range states {
		b.SwitchTo(s)
		args := append([]clif.Value{b.Iconst(clif.I32, uint64((i+1)%n))}, values[1:]...)
		k := 1 + i%params
		args[k] = b.Binary(clif.OpIadd, clif.I32, values[k], values[1+(i+1)%params])
		b.Branch(values[k], b.Target(head, args), b.Target(exit, nil))
	}
	b.SwitchTo(exit)
	sum := values[1]
	for _, v := range values[2:] {
		sum = b.Binary(clif.OpIadd, clif.I32, sum, v)
	}
	b.Return([]clif.Value{sum})
	return f
}

// TestDispatchBudget: where parameters times states are too many, all edges stay; the function is as it was.
func TestDispatchBudget(t *testing.T) {
	for _, c := range []struct {
		states, params int
		threaded       bool
	}{{10, 5, true}, {300, 20, true}, {2000, 20, true}, {2000, 200, false}, {200, 2000, false}} {
		f := dispatcherOf(c.states, c.params)
		if err := verify.Func(f); err != nil {
			t.Fatal(err)
		}
		before, size := body(f), len(f.Pool)
		o := Optimizer{Control: &Control{Limit: -1}}
		o.RunPass(f, "dispatch")
		if err := verify.Func(f); err != nil {
			t.Fatal(err)
		}
		want := 0
		if c.threaded {
			want = c.states
		} else if got := body(f); got != before || len(f.Pool) != size {
			t.Errorf("%v: changed, and nothing says so", c)
		}
		if got := len(o.Control.Log); got != want {
			t.Errorf("%v: %d edges, want %d", c, got, want)
		}
	}
}

// sharedTarget is a dispatcher of two states. The first one ends with a branch both edges of which are one target, whose argument is a
// parameter of the dispatcher; it has used another one before.
func sharedTarget() *clif.Func {
	f, b := newFunc(testModule([]clif.Type{i32, i32}, []clif.Type{i32}))
	head, one, same, next, two, exit := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
	state, x, y, n := b.AddParam(head, i32), b.AddParam(head, i32), b.AddParam(head, i32), b.AddParam(head, i32)
	z, result := b.AddParam(next, i32), b.AddParam(exit, i32)
	again := func(state uint64, x, y val) {
		left := b.Binary(clif.OpIsub, i32, n, b.Iconst(i32, 1))
		b.Branch(left, b.Target(head, []val{b.Iconst(i32, state), x, y, left}), b.Target(exit, []val{x}))
	}
	b.Jump(b.Target(head, []val{b.Iconst(i32, 0), 0, 1, b.Iconst(i32, 9)}))
	b.SwitchTo(head)
	b.BrTable(state, []clif.Target{b.Target(one, nil), b.Target(two, nil), b.Target(exit, []val{x})})
	b.SwitchTo(one)
	b.Jump(b.Target(same, nil))
	b.SwitchTo(same)
	sum := b.Binary(clif.OpIadd, i32, x, state)
	shared := b.Target(next, []val{y})
	b.Branch(sum, shared, shared)
	b.SwitchTo(next)
	again(1, b.Binary(clif.OpIadd, i32, z, sum), sum)
	b.SwitchTo(two)
	again(0, b.Binary(clif.OpIsub, i32, x, y), x)
	b.SwitchTo(exit)
	b.Return([]val{result})
	return f
}

// TestSharedTarget: arguments that two edges have in common are made valid once.
func TestSharedTarget(t *testing.T) {
	f := sharedTarget()
	o := Optimizer{Control: &Control{Limit: -1}}
	o.RunPass(f, "dispatch")
	if err := verify.Func(f); err != nil {
		t.Fatal(err)
	}
	if n := len(o.Control.Log); n != 3 {
		t.Errorf("%d edges, want 3", n)
	}
	before, after := newWorld(t, sharedTarget()), newWorld(t, f)
	for x := range uint64(5) {
		for y := range uint64(5) {
			want, err := before.inst.Func(0).Call([]uint64{x, y})
			got, err2 := after.inst.Func(0).Call([]uint64{x, y})
			if err != nil || err2 != nil || !slices.Equal(got, want) {
				t.Errorf("f(%d, %d) = %v, want %v (%v, %v)", x, y, got, want, err, err2)
			}
		}
	}
}

// flagOf sets a flag on n ways to a branch on it, with as many instructions as fill in front.
func flagOf(n, fill int) *clif.Func {
	f, b := newFunc(testModule([]clif.Type{i32, i32}, []clif.Type{i32}))
	x := val(1)
	for range fill {
		x = b.Binary(clif.OpImul, i32, x, x)
	}
	head, next, exit := b.NewBlock(), b.NewBlock(), b.NewBlock()
	flag := b.AddParam(head, i32)
	for range n {
		way := b.NewBlock()
		b.Branch(0, b.Target(head, []val{b.Iconst(i32, 1)}), b.Target(way, nil))
		b.SwitchTo(way)
	}
	b.Jump(b.Target(head, []val{x}))
	b.SwitchTo(head)
	b.Branch(flag, b.Target(next, nil), b.Target(exit, nil))
	b.SwitchTo(next)
	b.Return([]val{x})
	b.SwitchTo(exit)
	b.Return([]val{flag})
	return f
}

// TestBranchBudget: edges go past branches where they are not few for the size of the function.
func TestBranchBudget(t *testing.T) {
	for _, c := range []struct {
		edges, fill int
		threaded    bool
	}{{1, 200, true}, {1, 300, false}, {3, 700, true}, {3, 800, false}, {2000, 0, true}} {
		f := flagOf(c.edges, c.fill)
		if err := verify.Func(f); err != nil {
			t.Fatal(err)
		}
		o := Optimizer{Control: &Control{Limit: -1}}
		o.RunPass(f, "dispatch")
		if err := verify.Func(f); err != nil {
			t.Fatal(err)
		}
		want := 0
		if c.threaded {
			want = c.edges
		}
		if got := len(o.Control.Log); got != want {
			t.Errorf("%v: %d edges, want %d", c, got, want)
		}
	}
}

// TestDispatchPolls: the pass polls for each edge and block, and a poll that finds the flag set ends it.
func TestDispatchPolls(t *testing.T) {
	polls := func(states, end int) (n int, err error) {
		defer stop.Recover(&err)
		f := dispatcherOf(states, 10)
		f.Stop = new(stop.Flag)
		f.Stop.Observe(func() {
			if n++; n == end {
				f.Stop.Set()
			}
		})
		new(Optimizer).RunPass(f, "dispatch")
		return n, nil
	}
	few, err := polls(100, -1)
	if err != nil {
		t.Fatal(err)
	}
	many, _ := polls(1000, -1)
	if few < 100*10 || many < 9*few {
		t.Errorf("%d polls for 100 states, %d for 1,000", few, many)
	}
	for end := 1; end < few; end += 97 {
		if n, err := polls(100, end); !errors.Is(err, stop.Stopped{}) || n != end {
			t.Errorf("the flag was set at poll %d: %d polls, %v", end, n, err)
		}
	}
}
