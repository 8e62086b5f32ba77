package waot_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host/inproc"
)

// objectFields are the types of a structure with one field of each kind: the type, values for it as Set takes them, and what Get gives.
var objectFields = []struct {
	typ       string
	set, want func(g *objectGuest) []any // want is nil where it is the same
	refused   func(g *objectGuest) []any
}{
	{"i8", all(-1, uint8(200), int8(-3), uint32(0x1ff), 0), all(int32(255), int32(200), int32(253), int32(255), int32(0)), all(nil, "x", 1.5, int16(1), int64(1))},
	{"i16", all(-1, uint16(40000), int16(-3), 0x1ffff, 0), all(int32(65535), int32(40000), int32(65533), int32(65535), int32(0)), all(nil, "x", uint8(1))},
	{"i32", all(-5, uint32(1<<31), int32(7)), all(int32(-5), int32(math.MinInt32), int32(7)), all(nil, int64(1), uint8(1), 1<<40)},
	{"i64", all(-5, uint64(1<<63), int64(7)), all(int64(-5), int64(math.MinInt64), int64(7)), all(nil, int32(1))},
	{"f32", all(float32(1.5)), nil, all(1.5, 1)},
	{"f64", all(1.5), nil, all(float32(1.5), 1)},
	{"v128", all([16]byte{1, 2, 15: 9}), nil, all([]byte{1})},
	{"anyref", func(g *objectGuest) []any { return []any{nil, g.node, waot.I31(-4), "a Go value"} }, nil, func(g *objectGuest) []any { return []any{g.foreign} }},
	{"eqref", func(g *objectGuest) []any { return []any{nil, g.node, g.bytes, waot.I31(1)} }, nil, func(g *objectGuest) []any { return []any{g.foreign, "a Go value"} }},
	{"i31ref", all(nil, waot.I31(1<<30-1)), nil, func(g *objectGuest) []any { return []any{g.node, 1} }},
	{"structref", func(g *objectGuest) []any { return []any{nil, g.node, g.leaf} }, nil, func(g *objectGuest) []any { return []any{g.bytes, waot.I31(1)} }},
	{"(ref null $node)", func(g *objectGuest) []any { return []any{nil, g.node, g.leaf} }, nil, func(g *objectGuest) []any { return []any{g.bytes, waot.I31(1), g.foreign, g.other} }},
	{"(ref null $leaf)", func(g *objectGuest) []any { return []any{nil, g.leaf} }, nil, func(g *objectGuest) []any { return []any{g.node} }},
	{"externref", func(g *objectGuest) []any { return []any{nil, g.node, waot.I31(7), "a Go value"} }, nil, func(g *objectGuest) []any { return []any{g.foreign} }},
	{"funcref", func(g *objectGuest) []any { return []any{nil, g.unary, g.other2} }, nil, func(g *objectGuest) []any { return []any{g.node, "x"} }},
	{"(ref null $unary)", func(g *objectGuest) []any { return []any{nil, g.unary} }, nil, func(g *objectGuest) []any { return []any{g.other2} }},
	{"exnref", func(g *objectGuest) []any { return []any{nil, g.exn} }, nil, func(g *objectGuest) []any { return []any{"x"} }},
}

func all(v ...any) func(*objectGuest) []any { return func(*objectGuest) []any { return v } }

// objectTypes is what all modules of these tests begin with.
const objectTypes = `
	(type $unary (func (param i32) (result i32)))
	(rec
		(type $node (sub (struct (field $n (mut i32)) (field $next (mut (ref null $node))))))
		(type $leaf (sub final $node (struct (field (mut i32)) (field (mut (ref null $node))) (field $fixed i64)))))
	(type $bytes (array (mut i8)))`

// objectGuest is a store with an instance that has a structure of all kinds of fields, and an array of each.
type objectGuest struct {
	*heapGuest
	mod *waot.Module
	// What fields may have: see objectFields.
	node, leaf, other, bytes, foreign *waot.Object
	unary, other2                     *waot.Func
	exn                               *waot.Exception
}

// objectText has a structure of all kinds of fields, its readers, and an array of each kind.
func objectText() string {
	var b strings.Builder
	b.WriteString("(module $objects" + objectTypes + "\n(type $all (struct")
	for _, f := range objectFields {
		b.WriteString(" (field (mut " + f.typ + "))")
	}
	b.WriteString("))\n(tag $e (export \"e\") (param i32))\n(type $other (struct (field f64)))\n")
	for i, f := range objectFields {
		get := f.typ
		suffix := ""
		if f.typ == "i8" || f.typ == "i16" {
			get, suffix = "i32", "_u"
		}
		fmt.Fprintf(&b, "(type $array%d (array (mut %s)))\n", i, f.typ)
		fmt.Fprintf(&b, "(func (export \"field %d\") (param (ref $all)) (result %s) (struct.get%s $all %d (local.get 0)))\n", i, get, suffix, i)
		fmt.Fprintf(&b, "(func (export \"element %d\") (param (ref $array%d) i32) (result %s) (array.get%s $array%d (local.get 0) (local.get 1)))\n", i, i, get, suffix, i)
	}
	b.WriteString(`
	(func (export "unary") (type $unary) (local.get 0))
	(func (export "binary") (param i32 i32) (result i32) (local.get 0))
	(func (export "node") (param i32 (ref null $node)) (result (ref $node)) (struct.new $node (local.get 0) (local.get 1)))
	(func (export "leaf") (result (ref $leaf)) (struct.new $leaf (i32.const 1) (ref.null $node) (i64.const 2)))
	(func (export "other") (result (ref $other)) (struct.new $other (f64.const 1)))
	(func (export "bytes") (param i32) (result (ref $bytes)) (array.new $bytes (i32.const 7) (local.get 0)))
	(global $last (mut (ref null $bytes)) (ref.null $bytes))
	(func (export "throw") (throw $e (i32.const 1)))
	(func (export "garbage") (param i32) (loop (global.set $last (array.new_default $bytes (i32.const 64))) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))`)
	return b.String()
}

// newObjectGuest makes one; always says that each allocation collects, and moves all objects.
func newObjectGuest(t *testing.T, always bool) *objectGuest {
	t.Helper()
	m := typedModule(t, objectText())
	open := func(c inproc.Config) *heapGuest {
		p, err := inproc.NewStore(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		s := (*waot.Store)(p)
		inst, err := s.Instantiate(context.Background(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &heapGuest{t, s, inst}
	}
	g := &objectGuest{heapGuest: open(inproc.Config{CollectAlways: always}), mod: m}
	object := func(name string, args ...any) *waot.Object { return g.must(name, args...).(*waot.Object) }
	g.node, g.leaf, g.other, g.bytes = object("node", 1, nil), object("leaf"), object("other"), object("bytes", 4)
	g.foreign = open(inproc.Config{}).must("leaf").(*waot.Object)
	for name, f := range map[string]**waot.Func{"unary": &g.unary, "binary": &g.other2} {
		var err error
		if *f, err = g.inst.Func(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.call("throw"); !errors.As(err, &g.exn) {
		t.Fatal(err)
	}
	return g
}

// param is the type of structures or arrays that the first parameter of an export refers to.
func (g *objectGuest) param(name string) *waot.ObjectType {
	g.Helper()
	f, err := g.inst.Func(name)
	if err != nil {
		g.Fatal(err)
	}
	index, ok := f.Type().Params[0].TypeIndex()
	if !ok {
		g.Fatalf("%s has type %v", name, f.Type())
	}
	typ, err := f.ObjectType(index)
	if err != nil {
		g.Fatal(err)
	}
	return typ
}

// is reports whether two values of Go code are the same, or references to the same object.
func is(a, b any) bool {
	x, ok := a.(*waot.Object)
	y, ok2 := b.(*waot.Object)
	if ok && ok2 {
		return x.Same(y)
	}
	return a == b
}

// TestObjectFields: fields and elements of each type take from Go what is of their type, keep it while all objects move, show it to compiled code, and refuse what is not.
func TestObjectFields(t *testing.T) {
	for _, always := range []bool{false, true} {
		g := newObjectGuest(t, always)
		s, err := g.s.NewStruct(g.param("field 0"))
		if err != nil {
			t.Fatal(err)
		}
		if n := s.Len(); n != uint32(len(objectFields)) {
			t.Errorf("%d fields", n)
		}
		for i, f := range objectFields {
			a, err := g.s.NewArray(g.param(fmt.Sprintf("element %d", i)), 3, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := f.want
			if want == nil {
				want = f.set
			}
			wants := want(g)
			for k, v := range f.set(g) {
				if err := errors.Join(s.Set(uint32(i), v), a.Set(2, v)); err != nil {
					t.Errorf("%s set to %v: %v", f.typ, v, err)
					continue
				}
				g.must("garbage", 10)
				got, err := s.Get(uint32(i))
				if field := g.must(fmt.Sprintf("field %d", i), s); err != nil || !is(got, wants[k]) || !is(field, wants[k]) {
					t.Errorf("%s set to %v is %v, and %v in compiled code, %v", f.typ, v, got, field, err)
				}
				got, err = a.Get(2)
				if element := g.must(fmt.Sprintf("element %d", i), a, 2); err != nil || !is(got, wants[k]) || !is(element, wants[k]) {
					t.Errorf("element %s set to %v is %v, and %v in compiled code, %v", f.typ, v, got, element, err)
				}
			}
			before, err := s.Get(uint32(i))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range f.refused(g) {
				if err := s.Set(uint32(i), v); !errors.Is(err, waot.ErrType) {
					t.Errorf("%s set to %v: %v", f.typ, v, err)
				}
				if err := a.Set(2, v); !errors.Is(err, waot.ErrType) {
					t.Errorf("element %s set to %v: %v", f.typ, v, err)
				}
			}
			after, err := s.Get(uint32(i))
			if err != nil || !is(before, after) {
				t.Errorf("%s has become %v, %v", f.typ, after, err)
			}
			if got, err := a.Get(1); err != nil || got != nil && !reflect.ValueOf(got).IsZero() {
				t.Errorf("element %s beside is %v, %v", f.typ, got, err)
			}
		}
	}
}

// TestObjectsOfGo: what Go code makes is what it says, and all that it must not be is refused.
func TestObjectsOfGo(t *testing.T) {
	for _, always := range []bool{false, true} {
		g := newObjectGuest(t, always)
		node, leaf, other, bytes := g.node.Type(), g.leaf.Type(), g.other.Type(), g.bytes.Type()
		var list *waot.Object
		var err error
		for i := range 50 {
			if list, err = g.s.NewStruct(node, i, list); err != nil {
				t.Fatal(err)
			}
		}
		last, err := g.s.NewStruct(leaf, -1, list, int64(5))
		if err != nil {
			t.Fatal(err)
		}
		x := last
		for i := 49; i >= 0; i-- {
			next, err := x.Get(1)
			if err != nil {
				t.Fatal(err)
			}
			x = next.(*waot.Object)
			if n, err := x.Get(0); n != int32(i) || err != nil {
				t.Errorf("node %d has %v, %v", i, n, err)
			}
		}
		if err := last.Set(2, int64(6)); !errors.Is(err, waot.ErrType) || !strings.Contains(err.Error(), "immutable") {
			t.Errorf("an immutable field: %v", err)
		}
		if v, err := last.Get(2); v != int64(5) || err != nil {
			t.Errorf("an immutable field is %v, %v", v, err)
		}
		filled, err := g.s.NewArray(g.param("element 11"), 5, last)
		if err != nil {
			t.Fatal(err)
		}
		refs := make([]any, 5)
		if err := filled.Read(0, refs); err != nil || slices.ContainsFunc(refs, func(x any) bool { return !is(x, last) }) {
			t.Errorf("an array filled with an object has %v, %v", refs, err)
		}
		if o, err := g.s.NewArray(bytes, 3, 0x1ff); err != nil {
			t.Error(err)
		} else if v, err := o.Get(2); v != int32(255) || err != nil || o.Len() != 3 {
			t.Errorf("an array of bytes has %v, %v", v, err)
		}
		if o, err := g.s.NewStruct(leaf); err != nil {
			t.Error(err)
		} else if v, err := o.Get(2); v != int64(0) || err != nil {
			t.Errorf("a structure of defaults has %v, %v", v, err)
		}
		get := func(_ any, err error) error { return err }
		for what, err := range map[string]error{
			"too few fields":            get(g.s.NewStruct(leaf, 1, nil)),
			"too many fields":           get(g.s.NewStruct(node, 1, nil, int64(3))),
			"a field of another type":   get(g.s.NewStruct(node, 1, g.other)),
			"a field of another store":  get(g.s.NewStruct(node, 1, g.foreign)),
			"a structure of arrays":     get(g.s.NewStruct(bytes)),
			"an array of structures":    get(g.s.NewArray(node, 1, nil)),
			"no type":                   get(g.s.NewStruct(nil)),
			"an element of no type":     get(g.s.NewArray(bytes, 1, "x")),
			"a refused element":         get(g.s.NewArray(g.param("element 12"), 1, g.node)),
			"elements of another type":  get(g.s.NewArrayFrom(bytes, []uint16{1})),
			"elements of another kind":  get(g.s.NewArrayFrom(node, []byte{1})),
			"elements that are refused": get(g.s.NewArrayFrom(g.param("element 12"), []any{nil, g.node})),
			"elements of no slice":      get(g.s.NewArrayFrom(bytes, "text")),
			"elements of a structure":   g.node.Read(0, []byte{1}),
			"elements not of numbers":   filled.Write(0, []uint32{1}),
			"unsigned for floats":       get(g.s.NewArrayFrom(g.param("element 4"), []uint32{1})),
		} {
			if !errors.Is(err, waot.ErrType) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := g.node.Set(1, g.other); err == nil || !strings.Contains(err.Error(), "*host.Object is no (ref null 1)") {
			t.Errorf("a field of another type: %v", err)
		}
		for what, err := range map[string]error{
			"field 2":           g.node.Set(2, 1),
			"field 2, to get":   get(g.node.Get(2)),
			"element 4":         g.bytes.Set(4, 1),
			"the last":          get(g.bytes.Get(math.MaxUint32)),
			"elements":          g.bytes.Read(2, make([]byte, 3)),
			"elements to write": g.bytes.Write(math.MaxUint32, make([]byte, 2)),
			"values":            g.bytes.Read(0, make([]any, 5)),
		} {
			if !errors.Is(err, waot.ErrBounds) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := g.bytes.Read(4, []byte{}); err != nil {
			t.Error(err)
		}
		if _, err := g.s.NewStruct(other); err != nil {
			t.Error(err)
		}
	}
}

// TestObjectElements: slices of numbers are copied to and from arrays as compiled code has their elements.
func TestObjectElements(t *testing.T) {
	g := newObjectGuest(t, true)
	for i, slices := range map[int][]any{
		0: {[]byte("\x00\x7f\x80\xff"), []int8{-128, 127, -1, 1}},
		1: {[]uint16{0, 0x8000, 0xffff, 1}, []int16{-32768, -1, 5, 32767}},
		2: {[]uint32{0, 1 << 31, 5, 6}, []int32{-1, 2, 3, math.MinInt32}},
		3: {[]uint64{0, 1 << 63, 5, 6}, []int64{-1, 2, 3, math.MinInt64}},
		4: {[]float32{1, -2.5, 0, float32(math.Inf(1))}},
		5: {[]float64{1, -2.5, 0, math.Inf(-1)}},
		6: {[][16]byte{{1, 2}, {15: 3}, {}, {7: 5}}},
	} {
		for _, slice := range slices {
			a, err := g.s.NewArrayFrom(g.param(fmt.Sprintf("element %d", i)), slice)
			if err != nil {
				t.Fatal(err)
			}
			of := reflect.TypeOf(slice)
			got := reflect.MakeSlice(of, 4, 4)
			if err := a.Read(0, got.Interface()); err != nil || !reflect.DeepEqual(got.Interface(), slice) {
				t.Errorf("an array of %v has %v, %v", slice, got, err)
			}
			one := reflect.ValueOf(slice).Slice(3, 4).Interface()
			if err := a.Write(1, one); err != nil {
				t.Error(err)
			}
			each := make([]any, 4)
			if err := a.Read(0, each); err != nil || !reflect.DeepEqual(each[1], each[3]) {
				t.Errorf("element 3 of %v is not as element 1 after it has been copied: %v, %v", slice, each, err)
			}
			if err := a.Write(0, each[2:]); err != nil {
				t.Error(err)
			}
			for k, want := range []int{2, 3, 2, 3} {
				if code := g.must(fmt.Sprintf("element %d", i), a, k); !reflect.DeepEqual(code, each[want]) {
					t.Errorf("element %d of %v is %v in compiled code, not %v", k, slice, code, each[want])
				}
			}
		}
	}
	text, err := g.s.NewArrayFrom(g.bytes.Type(), []byte(strings.Repeat("long ", 100_000)))
	if err != nil || text.Len() != 500_000 {
		t.Fatal(text.Len(), err)
	}
	g.must("garbage", 10)
	b := make([]byte, 4)
	if err := text.Read(499_995, b); err != nil || string(b) != "long" {
		t.Errorf("a long array ends with %q, %v", b, err)
	}
}

// TestObjectTypes: a type is one in all modules, whatever its index there, and says what it is.
func TestObjectTypes(t *testing.T) {
	g := newObjectGuest(t, false)
	shifted := typedModule(t, `(module (type $more (struct)) (type (func (param v128)))`+objectTypes+`
		(type $refs (array (ref $leaf)))
		(func (export "f") (param (ref $leaf) i32) (result (ref null $bytes) (ref $unary)) (unreachable)))`)
	node, leaf, bytes := g.node.Type(), g.leaf.Type(), g.bytes.Type()
	for index, want := range map[uint32]*waot.ObjectType{3: node, 4: leaf, 5: bytes} {
		got, err := shifted.ObjectType(index)
		if err != nil || got != want {
			t.Errorf("type %d is %v, not %v, %v", index, got, want, err)
		}
		if own, err := g.mod.ObjectType(index - 2); err != nil || own != want {
			t.Errorf("type %d is %v, not %v, %v", index-2, own, want, err)
		}
	}
	for index, want := range map[uint32]error{1: waot.ErrType, 8: waot.ErrBounds, math.MaxUint32: waot.ErrBounds} {
		if _, err := shifted.ObjectType(index); !errors.Is(err, want) {
			t.Errorf("type %d: %v", index, err)
		}
	}
	inst, err := g.s.Instantiate(context.Background(), shifted, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := inst.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[waot.ValType]*waot.ObjectType{f.Type().Params[0]: leaf, f.Type().Results[0]: bytes, f.Type().Results[1]: nil} {
		index, _ := v.TypeIndex()
		if typ, err := f.ObjectType(index); typ != want || (err == nil) != (want != nil) || err != nil && !errors.Is(err, waot.ErrType) {
			t.Errorf("%v is %v, %v", v, typ, err)
		}
	}
	if _, err := g.unary.ObjectType(0); !errors.Is(err, waot.ErrType) {
		t.Error(err)
	}
	for _, c := range []struct {
		t, u    *waot.ObjectType
		matches bool
	}{{leaf, node, true}, {node, node, true}, {node, leaf, false}, {bytes, node, false}, {nil, node, false}, {node, nil, false}} {
		if c.t.Matches(c.u) != c.matches {
			t.Errorf("%v matches %v: %v", c.t, c.u, !c.matches)
		}
	}
	if leaf.Super() != node || node.Super() != nil || leaf.Kind() != waot.ObjectStruct || bytes.Kind() != waot.ObjectArray {
		t.Errorf("%v is a subtype of %v", leaf, leaf.Super())
	}
	want := []waot.FieldType{{Type: waot.TypeI32, Mutable: true}, {Type: node.Fields()[1].Type, Mutable: true, Object: node}, {Type: waot.TypeI64}}
	if !slices.Equal(leaf.Fields(), want) || !slices.Equal(bytes.Fields(), []waot.FieldType{{Type: waot.TypeI32, Packed: 8, Mutable: true}}) {
		t.Errorf("fields are %v and %v", leaf.Fields(), bytes.Fields())
	}
	if s := leaf.String() + bytes.String(); s != "(struct (field (mut i32)) (field (mut (ref null 1))) (field i64))(array (mut i8))" {
		t.Error(s)
	}
	refs, err := shifted.ObjectType(6)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.s.NewArray(refs, 1, nil); !errors.Is(err, waot.ErrType) {
		t.Errorf("an array of references that are not null: %v", err)
	}
	if _, err := g.s.NewArrayFrom(refs, []any{g.leaf, nil}); !errors.Is(err, waot.ErrType) {
		t.Errorf("an array of references, one of which is null: %v", err)
	}
	a, err := g.s.NewArrayFrom(refs, []any{g.leaf, g.leaf})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Set(0, g.leaf); !errors.Is(err, waot.ErrType) {
		t.Errorf("an immutable element: %v", err)
	}
	if err := a.Write(0, []any{g.leaf}); !errors.Is(err, waot.ErrType) {
		t.Errorf("immutable elements: %v", err)
	}
	empty, err := shifted.ObjectType(0)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := g.s.NewStruct(empty); err != nil || o.Len() != 0 || o.Type() != empty {
		t.Errorf("a structure without fields: %v", err)
	}
}

// TestObjectSubtypes: where a supertype has room for more than a reference of the subtype, the objects of Go are as compiled code has them.
func TestObjectSubtypes(t *testing.T) {
	m := typedModule(t, `(module
		(type $wide (sub (array anyref))) (type $narrow (sub $wide (array i31ref)))
		(type $s (sub (struct (field anyref) (field i32)))) (type $t (sub $s (struct (field i31ref) (field i32) (field i31ref))))
		(func (export "array") (param (ref $wide) i32) (result anyref) (array.get $wide (local.get 0) (local.get 1)))
		(func (export "narrow array") (param (ref $narrow) i32) (result anyref) (array.get $narrow (local.get 0) (local.get 1)))
		(func (export "struct") (param (ref $s)) (result anyref) (struct.get $s 0 (local.get 0)))
		(func (export "narrow struct") (param (ref $t)) (result anyref) (struct.get $t 2 (local.get 0))))`)
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	inst, err := s.Instantiate(context.Background(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &heapGuest{t, s, inst}
	small := []any{waot.I31(1), waot.I31(-2), waot.I31(3)}
	a, err := s.NewArrayFrom(second(m.ObjectType(1)).(*waot.ObjectType), small)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]any, 3)
	if err := a.Read(0, got); err != nil || !slices.Equal(got, small) {
		t.Errorf("elements are %v, %v", got, err)
	}
	for i, want := range small {
		if x, y := g.must("array", a, i), g.must("narrow array", a, i); x != want || y != want {
			t.Errorf("element %d is %v and %v in compiled code", i, x, y)
		}
	}
	o, err := s.NewStruct(second(m.ObjectType(3)).(*waot.ObjectType), waot.I31(4), 5, waot.I31(6))
	if err != nil {
		t.Fatal(err)
	}
	if x, y := g.must("struct", o), g.must("narrow struct", o); x != waot.I31(4) || y != waot.I31(6) || second(o.Get(0)) != x || second(o.Get(2)) != y {
		t.Errorf("fields are %v and %v", x, y)
	}
}

// TestObjectsOfNoInstance: a store makes objects of a module's types before it has an instance, and none when it has been closed.
func TestObjectsOfNoInstance(t *testing.T) {
	m := typedModule(t, objectText())
	s, err := waot.NewStore(&waot.StoreOptions{MaxHeapMemory: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	node, err := m.ObjectType(1)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := m.ObjectType(3)
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.NewStruct(node, 5, nil)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(context.Background(), m, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &heapGuest{t, s, inst}
	if n := g.must("node", 7, first).(*waot.Object); !is(first, second(n.Get(1))) {
		t.Error("the object of Go is another one in compiled code")
	}
	var limit *waot.LimitError
	if _, err := s.NewArray(bytes, 200_000, nil); !errors.As(err, &limit) || limit.What != "bytes of objects" || limit.Limit != 100_000 || limit.Want < 200_000 {
		t.Errorf("an array above the limit: %v", err)
	}
	if _, err := s.NewArray(bytes, math.MaxUint32, 1); !errors.As(err, &limit) {
		t.Errorf("the longest array: %v", err)
	}
	var list *waot.Object
	for n := 0; ; n++ {
		next, err := s.NewStruct(node, n, list)
		if errors.As(err, &limit) {
			if n < 3000 {
				t.Errorf("only %d objects", n)
			}
			break
		}
		if err != nil || n > 10_000 {
			t.Fatal(n, err)
		}
		list = next
	}
	list = nil // all of it is collected
	for n := range 10_000 {
		if list, err = s.NewStruct(node, n, nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if list.Type() != nil || list.Len() != 0 {
		t.Error("an object of a closed store has a type")
	}
	for what, err := range map[string]error{
		"Get": func() error { _, err := list.Get(0); return err }(), "Set": list.Set(0, 1), "Read": list.Read(0, []byte{}), "Write": list.Write(0, []byte{}),
		"NewStruct": func() error { _, err := s.NewStruct(node); return err }(),
	} {
		if !errors.Is(err, waot.ErrClosed) {
			t.Errorf("%s in a closed store: %v", what, err)
		}
	}
}

func second(v any, _ error) any { return v }

// TestObjectsInside: a Go function that compiled code calls changes objects that the code holds, and makes others, while all of them move.
func TestObjectsInside(t *testing.T) {
	m := typedModule(t, `(module`+objectTypes+`
		(import "env" "f" (func $f (param (ref $node)) (result (ref $node))))
		(func (export "run") (param i32) (result i32 i32 i32) (local $n (ref $node))
			(local.set $n (struct.new $node (local.get 0) (ref.null $node)))
			(struct.get $node $n (local.get $n))
			(struct.get $node $n (call $f (local.get $n)))
			(struct.get $node $n (local.get $n))))`)
	for _, always := range []bool{false, true} {
		p, err := inproc.NewStore(inproc.Config{CollectAlways: always})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		inst, err := (*waot.Store)(p).Instantiate(context.Background(), m, waot.Imports{"env": {"f": func(c *waot.Caller, o any) (any, error) {
			n := o.(*waot.Object)
			made, err := c.Store().NewStruct(n.Type(), 30, n)
			for i := range 20 {
				if _, err := c.Store().NewStruct(n.Type(), i, made); err != nil {
					return nil, err
				}
			}
			return made, errors.Join(err, n.Set(0, 20), n.Set(1, made))
		}}})
		if err != nil {
			t.Fatal(err)
		}
		run, err := inst.Func("run")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run.Call(context.Background(), 10); err != nil || !slices.Equal(got, []any{int32(10), int32(30), int32(20)}) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestObjectsRandom does random things with nodes from Go and from compiled code, and compares with what they should be.
func TestObjectsRandom(t *testing.T) {
	type mirror struct {
		n    int32
		next *mirror
	}
	for _, always := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(3, 4))
		g := newObjectGuest(t, always)
		typ := g.node.Type()
		var objects [20]*waot.Object
		var are [20]*mirror
		steps := 10_000
		if always { // each allocation takes longer
			steps = 1000
		}
		for range steps {
			i, k, n := rng.IntN(len(objects)), rng.IntN(len(objects)), rng.Int32()
			var err error
			switch rng.IntN(6) {
			case 0:
				objects[i], err = g.s.NewStruct(typ, n, objects[k])
				are[i] = &mirror{n, are[k]}
			case 1:
				objects[i] = g.must("node", n, objects[k]).(*waot.Object)
				are[i] = &mirror{n, are[k]}
			case 2:
				if are[i] != nil {
					err = errors.Join(objects[i].Set(0, n), objects[i].Set(1, objects[k]))
					are[i].n, are[i].next = n, are[k]
				}
			case 3:
				if are[k] != nil && are[k].next != nil {
					objects[i], are[i] = second(objects[k].Get(1)).(*waot.Object), are[k].next
				}
			case 4:
				objects[i], are[i] = nil, nil
			case 5:
				g.must("garbage", 1+rng.IntN(20))
			}
			if err != nil {
				t.Fatal(err)
			}
			o, m := objects[k], are[k]
			for range 10 {
				if m == nil {
					break
				}
				if got := second(o.Get(0)); got != m.n {
					t.Fatalf("a node has %v, not %d", got, m.n)
				}
				next := second(o.Get(1))
				if (next == nil) != (m.next == nil) {
					t.Fatalf("a node is followed by %v, not %v", next, m.next)
				}
				m = m.next
				o, _ = next.(*waot.Object)
			}
		}
	}
}
