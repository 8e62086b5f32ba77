package waot_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/waot-project/waot"
)

// TestResetNeverNull: what is never null has a function also while instances are reset, and after a reset that has failed: others may call functions that rely on it.
func TestResetNeverNull(t *testing.T) {
	caller := typedModule(t, `(module (type $v (func (result i32)))
		(import "env" "t" (table $t 2 funcref))
		(global $sum (export "sum") (mut i32) (i32.const 0))
		(func $call (export "call") (if (i32.eqz (ref.is_null (table.get $t (i32.const 0))))
			(then (global.set $sum (i32.add (call_indirect $t (type $v) (i32.const 0)) (i32.mul (i32.const 10) (call_indirect $t (type $v) (i32.const 1))))))))
		(start $call))`)
	owner := typedModule(t, `(module (type $v (func (result i32)))
		(import "env" "t" (table $t 2 funcref))
		(import "env" "fails" (func $fails))
		(func $one (type $v) (i32.const 1))
		(func $two (type $v) (i32.const 2))
		(elem declare func $two)
		(global $g (mut (ref $v)) (ref.func $one))
		(table $own 2 9 (ref $v) (ref.func $one))
		(func $ofGlobal (type $v) (call_ref $v (global.get $g)))
		(func $ofTable (type $v) (call_indirect $own (type $v) (i32.const 1)))
		(func (export "change") (global.set $g (ref.func $two)) (table.set $own (i32.const 1) (ref.func $two)) (drop (table.grow $own (ref.func $two) (i32.const 3))))
		(func (export "size") (result i32) (table.size $own))
		(elem (table $t) (i32.const 0) func $ofGlobal $ofTable)
		(start $fails))`)
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	table, err := s.NewTable(waot.TypeFuncRef, waot.Limits{Min: 2})
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	imports := waot.Imports{"env": {"t": table, "fails": func() {}}}
	a, err := s.Instantiate(ctx, caller, imports)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Instantiate(ctx, owner, imports)
	if err != nil {
		t.Fatal(err)
	}
	call := func(i *waot.Instance, name string) string {
		f, err := i.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.Call(context.Background())
		return fmt.Sprint(out, err)
	}
	sum := func() string {
		g, err := a.Global("sum")
		if err != nil {
			t.Fatal(err)
		}
		v, err := g.Get()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(v)
	}
	for _, err := range []error{s.Reset(ctx), s.Reset(ctx)} { // the start function of the first calls the second, which is new only after that
		if err != nil || sum() != "i32:11" || call(b, "size") != "[2] <nil>" {
			t.Error(err, sum(), call(b, "size"))
		}
		call(b, "change")
		call(a, "call")
		if sum() != "i32:22" || call(b, "size") != "[5] <nil>" {
			t.Error(sum(), call(b, "size"))
		}
		if err := b.Reset(ctx); err != nil {
			t.Error(err)
		}
		if call(a, "call"); sum() != "i32:11" || call(b, "size") != "[2] <nil>" {
			t.Error(sum(), call(b, "size"))
		}
	}
	end()
	if err := b.Reset(ctx); err == nil {
		t.Error("a reset although its context has ended")
	}
	if call(a, "call"); sum() != "i32:11" {
		t.Error(sum())
	}
}
