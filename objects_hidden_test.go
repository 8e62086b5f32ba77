package waot_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

// TestObjectsHidden: Go code does not get at objects in tables and globals that are their module's own, nor at functions by which it could pass others, since compiled code relies on what is in their fields.
// What else is there can be read, and all of it if the module exports it.
func TestObjectsHidden(t *testing.T) {
	const text = `(module
		(type $f (func (result i32)))
		(type $methods (struct (field $m (ref $f))))
		(type $object (struct (field $methods (mut (ref $methods)))))
		(func $one (type $f) (i32.const 1)) (func (export "two") (type $f) (i32.const 2))
		(func $take (param $o (ref $object)) (result i32) (call_ref $f (struct.get $methods $m (struct.get $object $methods (local.get $o)))))
		(elem declare func $one)
		(global $methods EXPORT0 (ref $methods) (struct.new $methods (ref.func $one)))
		(global $object EXPORT1 (ref $object) (struct.new $object (global.get $methods)))
		(global EXPORT2 externref (extern.convert_any (ref.i31 (i32.const 3))))
		(global EXPORT3 externref (extern.convert_any (global.get $object)))
		(global EXPORT4 (ref func) (ref.func $take))
		(table EXPORT5 5 eqref) (elem (table 0) (offset (i32.const 0)) eqref (item (global.get $object)) (item (ref.i31 (i32.const 4))))
		(table EXPORT6 funcref (elem $one $take))
		(func (export "run") (result i32) (call $take (global.get $object))))`
	for _, exported := range []bool{false, true} {
		text := text
		for _, n := range strings.Split("0123456", "") {
			export := ""
			if exported {
				export = `(export "` + n + `")`
			}
			text = strings.Replace(text, "EXPORT"+n, export, 1)
		}
		m := typedModule(t, text)
		s, err := waot.NewStore(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		inst, err := s.Instantiate(nil, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		see := func(name string, v any, err error, withheld bool) {
			if errors.Is(err, waot.ErrType) != (withheld && !exported) || err == nil && v == nil {
				t.Errorf("%s, exported %v: %v, %v", name, exported, v, err)
			}
			got[name] = v
		}
		for n, withheld := range []bool{true, true, false, true, true} {
			x, err := inst.At(waot.KindGlobal, uint32(n))
			if err != nil {
				t.Fatal(err)
			}
			v, err := x.(*waot.Global).Get()
			see(fmt.Sprint("global ", n), v.Any(), err, withheld)
		}
		for n, withheld := range [][]bool{{true, false}, {false, true}} {
			x, err := inst.At(waot.KindTable, uint32(n))
			if err != nil {
				t.Fatal(err)
			}
			for i, withheld := range withheld {
				v, err := x.(*waot.Table).Get(uint32(i))
				see(fmt.Sprintf("element %d of table %d", i, n), v, err, withheld)
			}
		}
		run, err := inst.Func("run")
		if err != nil {
			t.Fatal(err)
		}
		want := int32(1)
		if o, ok := got["global 1"].(*waot.Object); ok { // then the code knows that it may change
			two, err := inst.Func("two")
			if err != nil {
				t.Fatal(err)
			}
			methods, err := s.NewStruct(o.Type().Fields()[0].Object, two)
			if err != nil {
				t.Fatal(err)
			}
			if err := o.Set(0, methods); err != nil {
				t.Fatal(err)
			}
			want = 2
		}
		if r, err := run.Call(nil); err != nil || r[0] != want {
			t.Errorf("run: %v, %v, want %d", r, err, want)
		}
	}
}
