package waot_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

// refTypes are the types of the reference fields of objectFields, by the index there, as Go code makes tables and globals of them, and as a module does.
func (g *objectGuest) refTypes() map[int]waot.RefType {
	types := map[int]waot.RefType{}
	for i, f := range g.param("field 0").Fields() {
		if strings.Contains(objectFields[i].typ, "ref") {
			types[i] = waot.RefType{Type: f.Type, Object: f.Object}
		}
	}
	return types
}

// notNull is a type in the text format without null.
func notNull(typ string) string {
	if heap, ok := strings.CutPrefix(typ, "(ref null "); ok {
		return "(ref " + heap
	}
	return "(ref " + strings.TrimSuffix(typ, "ref") + ")"
}

// TestRefTypes: tables and globals of each type of references are made in Go, with and without null, and refuse what is not of the type when they are made and afterwards. Modules import them as what they
// are, and see what Go code puts there while all objects move.
func TestRefTypes(t *testing.T) {
	for _, always := range []bool{false, true} {
		g := newObjectGuest(t, always)
		for i, typ := range g.refTypes() {
			f := objectFields[i]
			if f.typ == "(ref null $unary)" {
				for _, err := range []error{failure(g.s.NewTableOf(typ, waot.Limits{}, nil)), failure(g.s.NewGlobalOf(typ, true, nil))} {
					if !errors.Is(err, waot.ErrType) {
						t.Errorf("%s without a module: %v", f.typ, err)
					}
				}
				continue
			}
			for _, typ.NotNull = range []bool{false, true} {
				g.tryRefType(typ, f.typ, f.set(g), f.refused(g))
			}
		}
	}
}

func failure(_ any, err error) error { return err }

// tryRefType makes a table and a global of a type, which is text in a module, of values, the first of which that are not null begin there.
func (g *objectGuest) tryRefType(typ waot.RefType, text string, values, refused []any) {
	g.Helper()
	if typ.NotNull {
		text = notNull(text)
		refused = append(refused, nil)
		if values[0] == nil {
			values = values[1:]
		}
	}
	if len(values) == 0 {
		g.Fatal(text)
	}
	table, err := g.s.NewTableOf(typ, waot.Limits{Min: 3}, values[0])
	if err != nil {
		g.Fatalf("table %s: %v", text, err)
	}
	global, err := g.s.NewGlobalOf(typ, true, values[0])
	if err != nil {
		g.Fatalf("global %s: %v", text, err)
	}
	if table.ObjectType() != typ.Object || global.ObjectType() != typ.Object || table.Elem() != global.Type() || table.Elem().IsNotNull() != typ.NotNull {
		g.Errorf("%s is a table of %v, a global of %v", text, table.Elem(), global.Type())
	}
	m := typedModule(g.T, `(module `+objectTypes+`
		(import "env" "table" (table $t 3 `+text+`)) (import "env" "global" (global $g (mut `+text+`)))
		(func (export "element") (param i32) (result `+text+`) (table.get $t (local.get 0)))
		(func (export "global") (result `+text+`) (global.get $g))
		(func (export "copy") (param i32) (global.set $g (table.get $t (local.get 0)))))`)
	imports := waot.Imports{"env": {"table": table, "global": global}}
	inst, err := g.s.Instantiate(context.Background(), m, imports)
	if err != nil {
		g.Fatalf("%v: %v", typ, err)
	}
	other := &heapGuest{g.T, g.s, inst}
	same := func(what string, want any, got ...any) {
		g.Helper()
		for _, x := range got {
			if !is(x, want) {
				g.Errorf("%s of %s: %v, not %v", what, text, x, want)
			}
		}
	}
	get := func(i uint32) any {
		v, err := table.Get(i)
		if err != nil {
			g.Error(err)
		}
		return v
	}
	value := func() any {
		v, err := global.Get()
		if err != nil {
			g.Error(err)
		}
		return v.Any()
	}
	g.must("garbage", 10)
	same("the first value", values[0], get(0), get(2), value(), other.must("element", 1), other.must("global"))
	for _, v := range values {
		if err := table.Set(1, v); err != nil {
			g.Errorf("%s: %v", text, err)
		}
		old, err := table.Grow(2, v)
		if err != nil {
			g.Errorf("%s: %v", text, err)
		}
		g.must("garbage", 10)
		same("an element", v, get(1), get(old+1), other.must("element", 1), other.must("element", int(old)))
		other.must("copy", int(old))
		same("the global", v, value(), other.must("global"))
		x, err := global.Get()
		if err == nil {
			other.must("copy", 0)
			err = global.Set(x)
		}
		if err != nil {
			g.Errorf("%s: %v", text, err)
		}
		same("the global", v, value(), other.must("global"))
	}
	kept := value()
	for _, v := range refused {
		for what, err := range map[string]error{
			"Set": table.Set(0, v), "Grow": failure(table.Grow(1, v)), "NewTableOf": failure(g.s.NewTableOf(typ, waot.Limits{}, v)), "NewGlobalOf": failure(g.s.NewGlobalOf(typ, true, v)),
			"Global.Set": setAny(global, v),
		} {
			if !errors.Is(err, waot.ErrType) {
				g.Errorf("%s of %T in %s: %v", what, v, text, err)
			}
		}
	}
	same("what was there", values[0], get(0))
	same("what was there", kept, value())
	if typ.NotNull { // a nullable one is another type
		typ.NotNull = false
		if imports["env"]["table"], err = g.s.NewTableOf(typ, waot.Limits{Min: 3}, nil); err != nil {
			g.Fatal(err)
		}
		var link *waot.LinkError
		if _, err := g.s.Instantiate(context.Background(), m, imports); !errors.As(err, &link) || link.Name != "table" {
			g.Errorf("%v as %s: %v", typ, text, err)
		}
	}
}

// setAny sets a global to a value of the base of its type, if there is one.
func setAny(g *waot.Global, v any) error {
	var x waot.Value
	switch g.Type().Base() {
	case waot.TypeAnyRef:
		x = waot.AnyRef(v)
	case waot.TypeExternRef:
		x = waot.Ref(v)
	case waot.TypeExnRef:
		x = waot.ExnRef(nil)
		if v != nil {
			return waot.ErrType
		}
	case waot.TypeFuncRef:
		x = waot.FuncRef(nil)
		if v != nil {
			return waot.ErrType
		}
	}
	return g.Set(x)
}

// TestRefTypesAlone: in a store without instances small integers are ones, and a type of a module that is closed and forgotten stays the table's.
func TestRefTypesAlone(t *testing.T) {
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	must := func(v any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	eq := must(s.NewTableOf(waot.RefType{Type: waot.TypeEqRef, NotNull: true}, waot.Limits{Min: 2}, waot.I31(-5))).(*waot.Table)
	any := must(s.NewGlobal(false, waot.AnyRef(waot.I31(6)))).(*waot.Global)
	const text = `(module (type $pair (struct (field i32) (field i32))) (func (export "one") (result (ref $pair)) (struct.new $pair (i32.const 1) (i32.const 2))))`
	empty := func() *waot.Table {
		m := typedModule(t, `(module (type (array f64)))`)
		defer m.Close()
		return must(s.NewTableOf(waot.RefType{Object: must(m.ObjectType(0)).(*waot.ObjectType)}, waot.Limits{}, nil)).(*waot.Table)
	}()
	pairs := func() *waot.Table {
		m := typedModule(t, text)
		defer m.Close()
		pair := must(m.ObjectType(0)).(*waot.ObjectType)
		p := must(s.NewStruct(pair, 3, 4)).(*waot.Object)
		return must(s.NewTableOf(waot.RefType{Object: pair}, waot.Limits{Min: 1}, p)).(*waot.Table)
	}()
	for range 3 {
		runtime.GC()
	}
	if o := empty.ObjectType(); o == nil || o.String() != "(array f64)" {
		t.Errorf("an empty table is one of %v", o)
	}
	m := typedModule(t, `(module (type $pair (struct (field i32) (field i32)))
		(import "env" "eq" (table $eq 2 (ref eq))) (import "env" "any" (global $any anyref)) (import "env" "pairs" (table $pairs 1 (ref null $pair)))
		(func (export "sum") (result i32)
			(i32.add (i31.get_s (ref.cast (ref i31) (table.get $eq (i32.const 1)))) (i31.get_s (ref.cast (ref i31) (global.get $any)))))
		(func (export "field") (result i32) (struct.get $pair 1 (table.get $pairs (i32.const 0)))))`)
	inst := must(s.Instantiate(context.Background(), m, waot.Imports{"env": {"eq": eq, "any": any, "pairs": pairs}})).(*waot.Instance)
	g := &heapGuest{t, s, inst}
	if sum, field := g.must("sum"), g.must("field"); sum != int32(1) || field != int32(4) {
		t.Errorf("the sum is %v, the field %v", sum, field)
	}
	if p := must(pairs.Get(0)).(*waot.Object); p.Type() != pairs.ObjectType() {
		t.Errorf("%v in a table of %v", p.Type(), pairs.ObjectType())
	}
	for typ, want := range map[waot.RefType]string{
		{Type: waot.TypeEqRef}: "eqref", {Type: waot.TypeEqRef, NotNull: true}: "(ref eq)", {Object: pairs.ObjectType()}: "(ref null (struct (field i32) (field i32)))",
		{Object: pairs.ObjectType(), NotNull: true}: "(ref (struct (field i32) (field i32)))", {Type: waot.TypeI32}: "i32", {Type: waot.TypeI32, NotNull: true}: "(ref i32)", {}: "unknown",
	} {
		if typ.String() != want {
			t.Errorf("%v, not %s", typ, want)
		}
		_, err := s.NewTableOf(typ, waot.Limits{}, nil)
		if refuse := strings.HasPrefix(want, "(ref (") || strings.HasSuffix(want, "i32)") || want == "i32" || want == "(ref eq)" || want == "unknown"; errors.Is(err, waot.ErrType) != refuse {
			t.Errorf("a table of %s without a value: %v", want, err)
		}
	}
}

// TestGoFunctionsOfObjects: functions and tags that Go code makes have types that need no module: what they get and give is checked, and modules import them as of these types.
func TestGoFunctionsOfObjects(t *testing.T) {
	g := newObjectGuest(t, true)
	result := any(waot.I31(3))
	f, err := g.s.NewFunc(waot.RawFunc{Params: []waot.ValType{waot.TypeEqRef, waot.TypeStructRef}, Results: []waot.ValType{waot.TypeI31Ref}, Func: func(c *waot.Caller, args, results []uint64) error {
		if c.Store().Extern(args[0]) != any(waot.I31(9)) || !is(c.Store().Extern(args[1]), g.leaf) {
			return fmt.Errorf("%v and %v", c.Store().Extern(args[0]), c.Store().Extern(args[1]))
		}
		r, err := c.Store().ExternRef(result)
		results[0] = r
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := f.Call(context.Background(), waot.I31(9), g.leaf); err != nil || r[0] != result {
		t.Errorf("%v, %v", r, err)
	}
	for _, args := range [][]any{{"x", nil}, {waot.I31(9), g.bytes}, {waot.I31(9), waot.I31(9)}} {
		if _, err := f.Call(context.Background(), args...); !errors.Is(err, waot.ErrType) {
			t.Errorf("%v: %v", args, err)
		}
	}
	tag, err := g.s.NewTag(waot.TypeArrayRef)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := waot.NewException(tag, g.leaf); !errors.Is(err, waot.ErrType) {
		t.Errorf("an exception with a structure for an array: %v", err)
	}
	m := typedModule(t, `(module `+objectTypes+`
		(import "env" "f" (func $f (param eqref structref) (result i31ref))) (import "env" "e" (tag $e (param arrayref)))
		(func (export "run") (param (ref $leaf)) (result i32) (i31.get_s (call $f (ref.i31 (i32.const 9)) (local.get 0))))
		(func (export "throw") (param (ref $bytes)) (throw $e (local.get 0))))`)
	inst, err := g.s.Instantiate(context.Background(), m, waot.Imports{"env": {"f": f, "e": tag}})
	if err != nil {
		t.Fatal(err)
	}
	other := &heapGuest{t, g.s, inst}
	if n := other.must("run", g.leaf); n != int32(3) {
		t.Errorf("run is %v", n)
	}
	result = g.leaf
	if n, err := other.call("run", g.leaf); !errors.Is(err, waot.ErrType) {
		t.Errorf("a structure for a small integer: %v, %v", n, err)
	}
	var x *waot.Exception
	if _, err := other.call("throw", g.bytes); !errors.As(err, &x) || x.Tag() != tag || !is(x.Args()[0].Any(), g.bytes) {
		t.Errorf("throw: %v", err)
	}
	for _, types := range [][]waot.ValType{g.typesOf("node"), {waot.ValType(0)}} {
		if _, err := g.s.NewTag(types...); !errors.Is(err, waot.ErrType) {
			t.Errorf("a tag with %v: %v", types, err)
		}
		if _, err := g.s.NewFunc(waot.RawFunc{Params: types, Func: func(*waot.Caller, []uint64, []uint64) error { return nil }}); !errors.Is(err, waot.ErrType) {
			t.Errorf("a function with %v: %v", types, err)
		}
	}
}

// typesOf are the types of the parameters of an export.
func (g *objectGuest) typesOf(name string) []waot.ValType {
	f, err := g.inst.Func(name)
	if err != nil {
		g.Fatal(err)
	}
	return f.Type().Params
}

// TestNullFuncRef: a function is no nullfuncref, in elements, globals, arguments and results.
func TestNullFuncRef(t *testing.T) {
	m := typedModule(t, `(module (import "env" "give" (func $give (result nullfuncref)))
		(table (export "table") 1 2 nullfuncref) (global (export "global") (mut nullfuncref) (ref.null nofunc))
		(func (export "f") (param nullfuncref)) (func (export "give") (result funcref) (call $give)))`)
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var f *waot.Func
	inst, err := s.Instantiate(context.Background(), m, waot.Imports{"env": {"give": func() *waot.Func { return f }}})
	if err != nil {
		t.Fatal(err)
	}
	table, _ := inst.Table("table")
	global, _ := inst.Global("global")
	take, _ := inst.Func("f")
	give, _ := inst.Func("give")
	for _, f = range []*waot.Func{nil, take} {
		for what, err := range map[string]error{
			"element": table.Set(0, f), "global": global.Set(waot.FuncRef(f)), "argument": failure(take.Call(context.Background(), f)), "result": failure(give.Call(context.Background())),
		} {
			if errors.Is(err, waot.ErrType) != (f != nil) {
				t.Errorf("%s %v: %v", what, f, err)
			}
		}
	}
}
