package abi

import (
	"slices"
	"testing"
)

// TestRecords: equal types of two modules have one record, whatever their indices, and others have others. Records of types that refer to each other stay short.
func TestRecords(t *testing.T) {
	self := func(i uint32) FuncType { return FuncType{Params: []ValType{RefTo(i), I32}} }
	a := RecordsOf(Defs([]FuncType{
		{Results: []ValType{I32}}, self(1), {Params: []ValType{RefTo(0).NotNull()}, Results: []ValType{RefTo(1)}}, {Params: []ValType{RefTo(0)}},
		{Params: []ValType{FuncRef.NotNull()}}, {Params: []ValType{ExternRef.NotNull()}}, {Params: []ValType{FuncRef}}, {Params: []ValType{RefTo(1)}},
		{Params: []ValType{ExnRef}}, {Params: []ValType{ExnRef.NotNull()}}, {Params: []ValType{NullExnRef}}, {Params: []ValType{ExternRef}},
	}), nil)
	polls := 0
	b := RecordsOf(Defs([]FuncType{
		{}, self(1), {Results: []ValType{I32}}, {Params: []ValType{RefTo(2).NotNull()}, Results: []ValType{RefTo(1)}}, {Params: []ValType{RefTo(2)}},
		{Params: []ValType{FuncRef.NotNull()}}, {Params: []ValType{ExternRef.NotNull()}}, {Params: []ValType{FuncRef}}, {Params: []ValType{RefTo(1)}},
		{Params: []ValType{ExnRef}}, {Params: []ValType{ExnRef.NotNull()}}, {Params: []ValType{NullExnRef}}, {Params: []ValType{ExternRef}},
	}), func() { polls++ })
	if polls < 9 {
		t.Errorf("%d polls", polls)
	}
	same := map[[2]int]bool{{0, 2}: true, {1, 1}: true, {2, 3}: true, {3, 4}: true, {4, 5}: true, {5, 6}: true, {6, 7}: true, {7, 8}: true, {8, 9}: true, {9, 10}: true, {10, 11}: true, {11, 12}: true}
	for i := range a.types {
		for k := range b.types {
			equal := string(a.Of(uint32(i))) == string(b.Of(uint32(k)))
			if equal != same[[2]int{i, k}] || equal != (a.Digest(uint32(i)) == b.Digest(uint32(k))) {
				t.Errorf("%v and %v: equal %v", &a.types[i].FuncType, &b.types[k].FuncType, equal)
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
	if n := len(RecordsOf(Defs(deep), nil).Of(999)); n > 64 {
		t.Errorf("a record of %d bytes", n)
	}
}

// TestMatches: which types are subtypes, in one module and across two.
func TestMatches(t *testing.T) {
	types := []FuncType{{}, {Params: []ValType{I32}}, {}}
	own, other := RecordsOf(Defs(types), nil), RecordsOf(Defs([]FuncType{types[1], types[0]}), nil)
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

// TestRecordsOfGroups: types are equal if their recursion groups are, and their places there, whatever else a module defines. Everything that a definition says counts.
func TestRecordsOfGroups(t *testing.T) {
	list := func(next uint32, more ...TypeDef) []TypeDef { // of two types that refer to each other
		node := []FieldType{{Type: I32, Mutable: true}, {Type: RefToKind(KindStruct, next)}}
		return append([]TypeDef{{Kind: KindStruct, Open: true, Fields: node}, {Kind: KindArray, Fields: []FieldType{{Type: RefToKind(KindStruct, next-1).NotNull()}}, Place: 1}}, more...)
	}
	a := RecordsOf(list(1), nil)
	b := RecordsOf(append([]TypeDef{{}, {Kind: KindStruct}}, list(3, TypeDef{}, TypeDef{Kind: KindStruct})...), nil)
	for i := range uint32(2) {
		if string(a.Of(i)) != string(b.Of(i+2)) || a.Digest(i) != b.Digest(i+2) {
			t.Errorf("type %d of a group is another one in another module", i)
		}
	}
	if string(b.Of(0)) != string(b.Of(4)) || string(b.Of(1)) != string(b.Of(5)) {
		t.Error("types in front of a group and behind it differ")
	}
	seen := map[string]string{}
	for name, types := range map[string][]TypeDef{
		"group":          list(1),
		"longer group":   list(1, TypeDef{Place: 2}),
		"structure":      {{Kind: KindStruct}},
		"open structure": {{Kind: KindStruct, Open: true}},
		"array":          {{Kind: KindArray, Fields: []FieldType{{Type: I32}}}},
		"one field":      {{Kind: KindStruct, Fields: []FieldType{{Type: I32}}}},
		"mutable":        {{Kind: KindStruct, Fields: []FieldType{{Type: I32, Mutable: true}}}},
		"8 bits":         {{Kind: KindStruct, Fields: []FieldType{{Type: I32, Packed: 8}}}},
		"16 bits":        {{Kind: KindStruct, Fields: []FieldType{{Type: I32, Packed: 16}}}},
		"i64":            {{Kind: KindStruct, Fields: []FieldType{{Type: I64}}}},
		"any":            {{Kind: KindStruct, Fields: []FieldType{{Type: AnyRef}}}},
		"eq":             {{Kind: KindStruct, Fields: []FieldType{{Type: EqRef}}}},
		"extern":         {{Kind: KindStruct, Fields: []FieldType{{Type: ExternRef}}}},
		"not null":       {{Kind: KindStruct, Fields: []FieldType{{Type: AnyRef.NotNull()}}}},
		"itself":         {{Kind: KindStruct, Fields: []FieldType{{Type: RefToKind(KindStruct, 0)}}}},
		"function":       {{}},
		"open function":  {{Open: true}},
		"two functions":  {{}, {Place: 1}},
		"the first":      {{Kind: KindStruct, Fields: []FieldType{{Type: RefToKind(KindStruct, 0)}}}, {Kind: KindStruct, Place: 1}},
		"the second":     {{Kind: KindStruct, Fields: []FieldType{{Type: RefToKind(KindStruct, 1)}}}, {Kind: KindStruct, Place: 1}},
	} {
		if key := string(RecordsOf(types, nil).Of(0)); seen[key] != "" {
			t.Errorf("%s and %s have one record", name, seen[key])
		} else {
			seen[key] = name
		}
	}
	super := RecordsOf([]TypeDef{{Kind: KindStruct, Open: true}, {Kind: KindStruct, HasSuper: true, Depth: 1}, {Kind: KindStruct}}, nil)
	if string(super.Of(1)) == string(super.Of(2)) {
		t.Error("a supertype does not count")
	}
	if first, second := RecordsOf([]TypeDef{{}, {Place: 1}}, nil).Of(0), RecordsOf([]TypeDef{{}, {Place: 1}}, nil).Of(1); string(first) == string(second) {
		t.Error("the place in a group does not count")
	}
}

// TestMatchesHierarchies: each abstract heap type is within those above it and no others, bottom types are within all that have an index, too, and an index is within what its kind is.
func TestMatchesHierarchies(t *testing.T) {
	object, array, function := RefToKind(KindStruct, 3), RefToKind(KindArray, 4), RefTo(5)
	types := []ValType{ExternRef, NullExternRef, ExnRef, NullExnRef, FuncRef, NullFuncRef, AnyRef, EqRef, I31Ref, StructRef, ArrayRef, NullRef, object, array, function}
	above := map[ValType][]ValType{
		NullExternRef: {ExternRef}, NullExnRef: {ExnRef}, NullFuncRef: {FuncRef, function}, function: {FuncRef},
		EqRef: {AnyRef}, I31Ref: {EqRef, AnyRef}, StructRef: {EqRef, AnyRef}, ArrayRef: {EqRef, AnyRef}, object: {StructRef, EqRef, AnyRef}, array: {ArrayRef, EqRef, AnyRef},
		NullRef: {AnyRef, EqRef, I31Ref, StructRef, ArrayRef, object, array},
	}
	same := func(i, j uint32) bool { return i == j }
	for _, a := range types {
		if i, ok := a.TypeIndex(); ok != (a == object || a == array || a == function) || ok && RefToKind(a.Kind(), i) != a || !a.IsValid() || !a.NotNull().IsValid() {
			t.Errorf("%v: index %d, %v, valid %v", a, i, ok, a.IsValid())
		}
		if back := a.Base().Saying(a.Says()); back != a || a.Says() > MaxSays {
			t.Errorf("%v says %d, which says %v", a, a.Says(), back)
		}
		if internal := slices.Contains(append(above[a], a), AnyRef); a.IsInternal() != internal {
			t.Errorf("%v is internal: %v", a, a.IsInternal())
		}
		for _, b := range types {
			want := a == b || slices.Contains(above[a], b)
			if got := Matches(a, b, same); got != want {
				t.Errorf("%v is a subtype of %v: %v", a, b, got)
			}
			if got := Matches(a.NotNull(), b, same); got != want {
				t.Errorf("%v is a subtype of %v: %v", a.NotNull(), b, got)
			}
			if Matches(a, b.NotNull(), same) {
				t.Errorf("%v is a subtype of %v", a, b.NotNull())
			}
		}
	}
}
