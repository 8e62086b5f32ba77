package abi

import "testing"

// TestRecords: equal types of two modules have one record, whatever their indices, and others have others. Records of types that refer to each other stay short.
func TestRecords(t *testing.T) {
	self := func(i uint32) FuncType { return FuncType{Params: []ValType{RefTo(i), I32}} }
	a := RecordsOf([]FuncType{
		{Results: []ValType{I32}}, self(1), {Params: []ValType{RefTo(0).NotNull()}, Results: []ValType{RefTo(1)}}, {Params: []ValType{RefTo(0)}},
		{Params: []ValType{FuncRef.NotNull()}}, {Params: []ValType{ExternRef.NotNull()}}, {Params: []ValType{FuncRef}}, {Params: []ValType{RefTo(1)}},
		{Params: []ValType{ExnRef}}, {Params: []ValType{ExnRef.NotNull()}}, {Params: []ValType{NullExnRef}}, {Params: []ValType{ExternRef}},
	}, nil)
	polls := 0
	b := RecordsOf([]FuncType{
		{}, self(1), {Results: []ValType{I32}}, {Params: []ValType{RefTo(2).NotNull()}, Results: []ValType{RefTo(1)}}, {Params: []ValType{RefTo(2)}},
		{Params: []ValType{FuncRef.NotNull()}}, {Params: []ValType{ExternRef.NotNull()}}, {Params: []ValType{FuncRef}}, {Params: []ValType{RefTo(1)}},
		{Params: []ValType{ExnRef}}, {Params: []ValType{ExnRef.NotNull()}}, {Params: []ValType{NullExnRef}}, {Params: []ValType{ExternRef}},
	}, func() { polls++ })
	if polls < 9 {
		t.Errorf("%d polls", polls)
	}
	same := map[[2]int]bool{{0, 2}: true, {1, 1}: true, {2, 3}: true, {3, 4}: true, {4, 5}: true, {5, 6}: true, {6, 7}: true, {7, 8}: true, {8, 9}: true, {9, 10}: true, {10, 11}: true, {11, 12}: true}
	for i := range a.types {
		for k := range b.types {
			equal := string(a.Of(uint32(i))) == string(b.Of(uint32(k)))
			if equal != same[[2]int{i, k}] || equal != (a.Digest(uint32(i)) == b.Digest(uint32(k))) {
				t.Errorf("%v and %v: equal %v", &a.types[i], &b.types[k], equal)
			}
		}
	}
	var deep []FuncType
	for i := range uint32(1000) {
		f := FuncType{}
		for range 20 {
			f.Params = append(f.Params, RefTo(max(i, 1)-1), RefTo(i/2).NotNull())
		}
		deep = append(deep, f)
	}
	if n := len(RecordsOf(deep, nil).Of(999)); n > 64 {
		t.Errorf("a record of %d bytes", n)
	}
}

// TestMatches: which types are subtypes, in one module and across two.
func TestMatches(t *testing.T) {
	types := []FuncType{{}, {Params: []ValType{I32}}, {}}
	own, other := RecordsOf(types, nil), RecordsOf([]FuncType{types[1], types[0]}, nil)
	exact, null := RefTo(0).NotNull(), RefTo(0)
	for _, c := range []struct {
		t, u ValType
		want bool
	}{
		{I32, I32, true}, {I32, I64, false}, {FuncRef, FuncRef, true}, {FuncRef, ExternRef, false}, {FuncRef, I64, false},
		{FuncRef.NotNull(), FuncRef, true}, {FuncRef, FuncRef.NotNull(), false}, {ExternRef.NotNull(), ExternRef, true}, {ExternRef.NotNull(), FuncRef, false},
		{exact, null, true}, {null, exact, false}, {exact, FuncRef, true}, {exact, FuncRef.NotNull(), true}, {null, FuncRef, true}, {null, FuncRef.NotNull(), false},
		{FuncRef.NotNull(), null, false}, {FuncRef, null, false}, {null, RefTo(1), false}, {null, RefTo(2), true}, {RefTo(2).NotNull(), null, true}, {null, ExternRef, false},
		{ExnRef, ExnRef, true}, {ExnRef.NotNull(), ExnRef, true}, {ExnRef, ExnRef.NotNull(), false}, {NullExnRef, ExnRef, true}, {ExnRef, NullExnRef, false},
		{NullExnRef.NotNull(), ExnRef.NotNull(), true}, {NullExnRef.NotNull(), NullExnRef, true}, {NullExnRef, ExnRef.NotNull(), false}, {ExnRef, ExternRef, false},
		{ExternRef, ExnRef, false}, {NullExnRef, ExternRef, false}, {ExternRef, NullExnRef, false}, {ExnRef, FuncRef, false}, {FuncRef, ExnRef, false}, {I32, ExnRef, false},
	} {
		if got := own.Own(c.t).Matches(own.Own(c.u)); got != c.want {
			t.Errorf("%v is a subtype of %v: %v", c.t, c.u, got)
		}
	}
	if !own.Own(exact).Matches(other.Own(RefTo(1))) || own.Own(exact).Matches(other.Own(RefTo(0))) || own.Own(null) != other.Own(RefTo(1)) {
		t.Error("types of two modules are compared by their indices")
	}
}
