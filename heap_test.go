package waot_test

import (
	"context"
	"errors"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host/inproc"
)

const heapText = `(module $heap
	(type $point (struct (field $x i32) (field $y i32)))
	(type $list (array (mut anyref)))
	(import "env" "swap" (func $swap (param anyref eqref) (result anyref eqref)))
	(import "env" "seen" (func $seen (param (ref null $point) (ref null i31)) (result (ref $point))))
	(tag $e (export "e") (param anyref (ref null $point)))
	(global (export "global") (mut anyref) (ref.null any))
	(table (export "table") 3 anyref)
	(func (export "point") (param i32 i32) (result (ref $point)) (struct.new $point (local.get 0) (local.get 1)))
	(func (export "x") (param (ref null $point)) (result i32) (struct.get $point $x (local.get 0)))
	(func (export "list") (param anyref) (result (ref array)) (array.new $list (local.get 0) (i32.const 3)))
	(func (export "first") (param arrayref) (result anyref) (array.get $list (ref.cast (ref $list) (local.get 0)) (i32.const 0)))
	(func (export "i31") (param i32) (result i31ref) (ref.i31 (local.get 0)))
	(func (export "value") (param i31ref) (result i32) (i31.get_u (local.get 0)))
	(func (export "swapped") (param i32) (result i32) (local $any anyref)
		(call $swap (struct.new $point (local.get 0) (i32.const 2)) (ref.i31 (i32.const 7)))
		(drop)
		(local.set $any)
		(i31.get_s (ref.cast (ref i31) (local.get $any))))
	(func (export "saw") (param i32) (result i32)
		(struct.get $point $y (call $seen (struct.new $point (local.get 0) (i32.const 9)) (ref.i31 (i32.const 3)))))
	(func (export "throw") (param anyref (ref null $point)) (throw $e (local.get 0) (local.get 1)))
	(func (export "extern") (param anyref) (result externref) (extern.convert_any (local.get 0))))`

// heapGuest is a store with an instance of heapText.
type heapGuest struct {
	*testing.T
	s    *waot.Store
	inst *waot.Instance
}

func newHeapGuest(t *testing.T, o *waot.StoreOptions) *heapGuest {
	t.Helper()
	m := typedModule(t, heapText)
	s, err := waot.NewStore(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	inst, err := s.Instantiate(context.Background(), m, waot.Imports{"env": {
		"swap": func(a, b any) (any, any) { return b, a },
		"seen": func(c *waot.Caller, p, i any) any {
			if o, ok := p.(*waot.Object); !ok || o.Kind() != waot.ObjectStruct || i != waot.I31(3) || o.Store() != c.Store() {
				t.Errorf("a host function gets %v and %v", p, i)
			}
			return p
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &heapGuest{t, s, inst}
}

func (g *heapGuest) call(name string, args ...any) (any, error) {
	g.Helper()
	f, err := g.inst.Func(name)
	if err != nil {
		g.Fatal(err)
	}
	r, err := f.Call(context.Background(), args...)
	return append(r, nil)[0], err
}

func (g *heapGuest) must(name string, args ...any) any {
	g.Helper()
	r, err := g.call(name, args...)
	if err != nil {
		g.Fatalf("%s%v: %v", name, args, err)
	}
	return r
}

// TestObjects: Go code gets structures, arrays and small integers, keeps them, and gives them back, as values of all ways to call.
func TestObjects(t *testing.T) {
	g := newHeapGuest(t, nil)
	p := g.must("point", 5, 6).(*waot.Object)
	if x := g.must("x", p); x != int32(5) || p.Kind() != waot.ObjectStruct || p.Kind().String() != "struct" {
		t.Errorf("x of a %v is %v", p.Kind(), x)
	}
	list := g.must("list", p).(*waot.Object)
	if first := g.must("first", list).(*waot.Object); list.Kind() != waot.ObjectArray || !first.Same(p) || first.Same(list) || p.Same(nil) {
		t.Error("the first element of a list is another one")
	}
	if n := g.must("i31", -3); n != waot.I31(-3) {
		t.Errorf("ref.i31 gives %v", n)
	}
	if n := g.must("value", waot.I31(-1)); n != int32(1<<31-1) {
		t.Errorf("i31.get_u gives %v", n)
	}
	for _, v := range []any{nil, p, waot.I31(1 << 29), "a Go value"} {
		if got := g.must("first", g.must("list", v)); got != v && !got.(*waot.Object).Same(p) {
			t.Errorf("an element %v is %v", v, got)
		}
		if got := g.must("extern", v); got != v && !got.(*waot.Object).Same(p) {
			t.Errorf("%v is as an externref %v", v, got)
		}
		global, err := g.inst.Global("global")
		if err != nil {
			t.Fatal(err)
		}
		if err := global.Set(waot.AnyRef(v)); err != nil {
			t.Fatal(err)
		}
		if got, err := global.Get(); err != nil || got.Type() != waot.TypeAnyRef || got.AnyRef() != v && !got.AnyRef().(*waot.Object).Same(p) {
			t.Errorf("a global with %v has %v, %v", v, got, err)
		}
		table, err := g.inst.Table("table")
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Set(1, v); err != nil {
			t.Fatal(err)
		}
		if got, err := table.Get(1); err != nil || got != v && !got.(*waot.Object).Same(p) {
			t.Errorf("an element of a table that is %v is %v, %v", v, got, err)
		}
		_, err = g.call("throw", v, p)
		var x *waot.Exception
		if !errors.As(err, &x) || len(x.Args()) != 2 {
			t.Fatal(err)
		}
		if got := x.Args()[0].AnyRef(); got != v && !got.(*waot.Object).Same(p) || !x.Args()[1].AnyRef().(*waot.Object).Same(p) {
			t.Errorf("an exception with %v has %v", v, x.Args())
		}
	}
	if n := g.must("swapped", 1); n != int32(7) {
		t.Errorf("a Go function gives %v back", n)
	}
	if n := g.must("saw", 1); n != int32(9) {
		t.Errorf("a Go function gives a structure with %v back", n)
	}
}

// TestObjectsRefused: what is of another type or store is refused, and nothing happens.
func TestObjectsRefused(t *testing.T) {
	g, other := newHeapGuest(t, nil), newHeapGuest(t, nil)
	foreign := other.must("point", 1, 2)
	list := g.must("list", nil)
	for name, args := range map[string][]any{
		"x":     {waot.I31(1), list, foreign, "a Go value", waot.Ref("a Go value"), 1},
		"first": {waot.I31(1), g.must("point", 1, 2), foreign},
		"value": {list, foreign},
		"list":  {foreign},
	} {
		for _, a := range args {
			if a == 1 && name != "x" {
				continue
			}
			if _, err := g.call(name, a); !errors.Is(err, waot.ErrType) {
				t.Errorf("%s of %v: %v", name, a, err)
			}
		}
	}
	o := foreign.(*waot.Object)
	other.s.Close()
	if k := o.Kind(); k != waot.ObjectUnknown || k.String() != "unknown" || o.Same(o) {
		t.Errorf("an object of a store that has been closed: %v", k)
	}
}

// TestObjectsLimit: StoreOptions.MaxHeapMemory bounds the heap; a trap is a trap.
func TestObjectsLimit(t *testing.T) {
	g := newHeapGuest(t, &waot.StoreOptions{MaxHeapMemory: 1 << 20})
	var kept []any
	var err error
	for err == nil && len(kept) < 1<<20 {
		var p any
		p, err = g.call("list", nil)
		kept = append(kept, p)
	}
	var trap *waot.Trap
	if !errors.As(err, &trap) || trap.Code != waot.TrapHeapExhausted || trap.Code.String() != "heap exhausted" || len(kept) < 26_000 {
		t.Fatalf("%v after %d arrays", err, len(kept))
	}
	kept = nil
	for range 10 {
		g.must("list", nil)
	}
	if _, err := g.call("x", nil); !errors.As(err, &trap) || trap.Code != waot.TrapNullStructure {
		t.Error(err)
	}
}

// TestObjectHandles: references that pass between code and Go, and are read, are no more than those that one needs: they are collected though nothing allocates.
func TestObjectHandles(t *testing.T) {
	g := newHeapGuest(t, nil)
	point := g.must("point", 1, 2)
	table, err := g.inst.Table("table")
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Set(0, point); err != nil {
		t.Fatal(err)
	}
	const rounds, most = 5000, 3000
	for _, c := range []struct {
		what string
		do   func()
	}{
		{"reads", func() {
			if _, err := table.Get(0); err != nil {
				t.Fatal(err)
			}
		}},
		{"results", func() { g.must("point", 1, 2) }},
	} {
		for range rounds {
			c.do()
		}
		if n := (*inproc.Store)(g.s).NumRefs(); n > most {
			t.Errorf("%d references after %d %s", n, rounds, c.what)
		}
	}
}

// TestPrivateTags: Go programs get at what exceptions refer to if their module exports the tag. Others pass through Go code unchanged, and have numbers and values of Go.
func TestPrivateTags(t *testing.T) {
	const text = `(module
		(type $box (struct (field (mut i32)))) (type $f (func))
		(import "env" "again" (func $again (param exnref) (result exnref)))
		(import "env" "throw" (func $throw (param exnref)))
		(tag $public (export "tag") (param (ref $box))) (tag $box (param i32 (ref $box))) (tag $func (param (ref null $f))) (tag $exn (param exnref)) (tag $number (param i32)) (tag $value (param externref))
		(func (export "public") (throw $public (struct.new $box (i32.const 1))))
		(func (export "box") (throw $box (i32.const 2) (struct.new $box (i32.const 3))))
		(func (export "func") (throw $func (ref.null $f)))
		(func (export "exn") (throw $exn (ref.null exn)))
		(func (export "number") (throw $number (i32.const 4)))
		(func (export "value") (param externref) (throw $value (local.get 0)))
		(func (export "through") (result i32) (local $x exnref)
			(local.set $x (block $thrown (result exnref) (try_table (catch_all_ref $thrown) (throw $box (i32.const 2) (struct.new $box (i32.const 3)))) (unreachable)))
			(block $caught (result i32 (ref $box)) (try_table (catch $box $caught) (call $throw (call $again (local.get $x)))) (unreachable))
			(i32.add (struct.get $box 0))))`
	ctx := context.Background()
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	inst, err := s.Instantiate(ctx, typedModule(t, text), waot.Imports{"env": {
		"again": func(x *waot.Exception) *waot.Exception { return x },
		"throw": func(x *waot.Exception) error { return x },
	}})
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string, args ...any) ([]any, error) {
		f, err := inst.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		return f.Call(ctx, args...)
	}
	for name, want := range map[string]int{"public": 1, "box": -1, "func": -1, "exn": -1, "number": 1, "value": 1} {
		var args []any
		if name == "value" {
			args = []any{"a Go value"}
		}
		var x *waot.Exception
		if _, err := call(name, args...); !errors.As(err, &x) || (x.Tag() == nil) != (want < 0) || len(x.Args()) != max(want, 0) || len(x.Backtrace()) == 0 {
			t.Errorf("%s: %v, tag %v, %v", name, err, x.Tag(), x.Args())
		}
	}
	if r, err := call("through"); err != nil || r[0] != int32(5) {
		t.Error(r, err)
	}
}
