package abi

import "testing"

// TestValTypes: each row of the table is found by its name, code and letter, which no other row has, and a type that says more than its class
// keeps the class.
func TestValTypes(t *testing.T) {
	for v := I32; v < NumValTypes; v++ {
		if a, b, c := ValTypeByName(v.String()), ValTypeByCode(v.Code()), ValTypeByLetter(letters(v.Slice())[0]); a != v || b != v || c != v {
			t.Errorf("%v is found as %v by name, %v by code, %v by letter", v, a, b, c)
		}
		if more := v | 1<<20; more.Class() != uint8(v) || more.IsRef() != v.IsRef() || more.Words() != v.Words() || more.CType() != v.CType() {
			t.Errorf("%v with more than its class: %v", v, more)
		}
		if v.IsRef() != (v == FuncRef || v == ExternRef) || !v.IsValid() {
			t.Errorf("%v: reference %v, valid %v", v, v.IsRef(), v.IsValid())
		}
	}
	for _, v := range []ValType{ExnRef, NullExnRef, NullExternRef, AnyRef, EqRef, I31Ref, StructRef, ArrayRef, NullRef, NullFuncRef} {
		if a, b, c := ValTypeByName(v.String()), ValTypeByCode(v.Code()), RefByHeap(v.Heap()); a != v || b != v || c != v {
			t.Errorf("%v is found as %v by name, %v by code, %v by what it refers to", v, a, b, c)
		}
		if !v.IsValid() || !v.IsRef() || v.IsExn() != (v == ExnRef || v == NullExnRef) || v.NotNull().IsExn() != v.IsExn() || !v.NotNull().IsValid() || !v.IsTyped() || v.NotNull().Code() != 0 {
			t.Errorf("%v is not a valid type of references", v)
		}
		if _, ok := v.TypeIndex(); ok {
			t.Errorf("%v has the index of a type", v)
		}
	}
	if ExnRef.NotNull().String() != "(ref exn)" || NullExnRef.NotNull().String() != "(ref noexn)" || FuncRef.IsExn() || ExternRef.NotNull().IsExn() || RefTo(0).IsExn() || UnknownRef.IsExn() {
		t.Error("types of references to exceptions")
	}
	if NumValTypes > 1<<classBits {
		t.Errorf("%d classes do not fit in %d bits", NumValTypes, classBits)
	}
	for _, v := range []ValType{ValTypeUnknown, NumValTypes, UnknownRef, I32.NotNull(), ExternRef | numHeaps<<heapBits, ExternRef | (heapIndices-1)<<heapBits, I32 | 1<<heapBits, 1 << 31} {
		if v.IsValid() || v.Code() != 0 {
			t.Errorf("%v is valid, with code %#x", v, v.Code())
		}
	}
	if a, b, c := ValTypeByName("unknown"), ValTypeByCode(0), ValTypeByLetter('?'); a|b|c != ValTypeUnknown {
		t.Errorf("the unknown type is found as %v, %v, %v", a, b, c)
	}
}
