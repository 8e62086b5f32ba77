package host

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
)

// Value is a WebAssembly value with its type. The zero Value has no type, and is refused
// everywhere.
//
// It has four words, of which compilers keep variables in registers.
type Value struct {
	// low and high are the bits of a number, of which only vectors have high. Of a reference, low is the type.
	low, high uint64
	// ref is the numType of a number; of a reference it is a *Func that is not nil, any Go value, or nil for null.
	ref any
}

// numType is the type of a number, as Value.ref. Numbers have no types above the classes, and Go keeps a byte without an allocation.
type numType uint8

func number(t ValType, low, high uint64) Value { return Value{low, high, numType(t)} }

// I32 returns the value of type i32.
func I32(v int32) Value { return number(TypeI32, uint64(uint32(v)), 0) }

// I64 returns the value of type i64.
func I64(v int64) Value { return number(TypeI64, uint64(v), 0) }

// F32 returns the value of type f32.
func F32(v float32) Value { return number(TypeF32, uint64(math.Float32bits(v)), 0) }

// F64 returns the value of type f64.
func F64(v float64) Value { return number(TypeF64, math.Float64bits(v), 0) }

// V128 returns the value of type v128 that has these bytes in linear memory: lane 0 of any shape comes first.
func V128(v [16]byte) Value {
	return number(TypeV128, binary.LittleEndian.Uint64(v[:8]), binary.LittleEndian.Uint64(v[8:]))
}

// Ref returns an externref to a Go value; nil is null. Of an *Object or I31 it is what extern.convert_any makes of it.
func Ref(v any) Value { return Value{low: uint64(TypeExternRef), ref: v} }

// AnyRef returns an anyref: to what an *Object refers to, to a small integer if v is an I31, or else to a Go value, as any.convert_extern makes it of an externref. nil is null.
func AnyRef(v any) Value { return Value{low: uint64(TypeAnyRef), ref: v} }

// FuncRef returns a funcref; nil is null.
func FuncRef(f *Func) Value {
	if f == nil {
		return Value{low: uint64(TypeFuncRef)}
	}
	return Value{low: uint64(TypeFuncRef), ref: f}
}

// ExnRef returns an exnref; nil is null.
func ExnRef(x *Exception) Value {
	if x == nil {
		return Value{low: uint64(TypeExnRef)}
	}
	return Value{low: uint64(TypeExnRef), ref: x}
}

// Type returns the type of the value, 0 for the zero Value.
func (v Value) Type() ValType {
	if t, ok := v.ref.(numType); ok {
		return ValType(t)
	}
	return ValType(v.low)
}

// The accessors return zero for a value of another type.

// I32 returns the value of an i32. Convert it to uint32 for an unsigned one.
func (v Value) I32() int32 { return int32(v.as(TypeI32)) }

// I64 returns the value of an i64.
func (v Value) I64() int64 { return int64(v.as(TypeI64)) }

// F32 returns the value of an f32.
func (v Value) F32() float32 { return math.Float32frombits(uint32(v.as(TypeF32))) }

// F64 returns the value of an f64.
func (v Value) F64() float64 { return math.Float64frombits(v.as(TypeF64)) }

// V128 returns the bytes of a v128, as linear memory has them.
func (v Value) V128() (b [16]byte) {
	if v.Type() == TypeV128 {
		binary.LittleEndian.PutUint64(b[:8], v.low)
		binary.LittleEndian.PutUint64(b[8:], v.high)
	}
	return b
}

// Ref returns the Go value of an externref, nil for null.
func (v Value) Ref() any {
	if v.Type() != TypeExternRef {
		return nil
	}
	return v.ref
}

// AnyRef returns what an anyref is to: an *Object, an I31, or a Go value that compiled code has converted; nil for null.
func (v Value) AnyRef() any {
	if v.Type() != TypeAnyRef {
		return nil
	}
	return v.ref
}

// Func returns the function of a funcref, nil for null.
func (v Value) Func() *Func {
	if v.Type() != TypeFuncRef {
		return nil
	}
	f, _ := v.ref.(*Func)
	return f
}

// Exception returns the exception of an exnref, nil for null.
func (v Value) Exception() *Exception {
	if v.Type() != TypeExnRef {
		return nil
	}
	x, _ := v.ref.(*Exception)
	return x
}

// isHandle reports whether the value is a reference for which a word is made when compiled code gets it.
func (v Value) isHandle() bool {
	return v.Type() == TypeExternRef || v.Type() == TypeExnRef || v.Type() == TypeAnyRef
}

func (v Value) as(t ValType) uint64 {
	if v.Type() != t {
		return 0
	}
	return v.low
}

// Any returns the value as Func.Call does: int32, int64, float32, float64, [16]byte, the
// Go value of an externref, a *Func, an *Exception, an *Object, an I31; nil for null.
func (v Value) Any() any {
	switch v.Type() {
	case TypeI32:
		return v.I32()
	case TypeI64:
		return v.I64()
	case TypeF32:
		return v.F32()
	case TypeF64:
		return v.F64()
	case TypeV128:
		return v.V128()
	}
	return v.ref
}

// String returns the type and the value, such as "i32:42". A v128 has four lanes: "v128:i32x4:0x00000001,...".
func (v Value) String() string {
	if v.Type() == TypeV128 {
		return fmt.Sprintf("v128:i32x4:0x%08x,0x%08x,0x%08x,0x%08x", uint32(v.low), v.low>>32, uint32(v.high), v.high>>32)
	}
	return fmt.Sprintf("%v:%v", v.Type(), v.Any())
}

// valueOf converts an argument of Func.Call to a value of type t.
func valueOf(t ValType, x any) (Value, error) {
	if v, ok := x.(Value); ok && v.Type() == t.Base() {
		return v, nil
	}
	switch t.Base() {
	case TypeI32:
		switch x := x.(type) {
		case int32:
			return I32(x), nil
		case uint32:
			return I32(int32(x)), nil
		case int:
			if int64(x) >= math.MinInt32 && int64(x) <= math.MaxUint32 {
				return I32(int32(x)), nil
			}
			return Value{}, detail(ErrType, "%d is no i32", x)
		}
	case TypeI64:
		switch x := x.(type) {
		case int64:
			return I64(x), nil
		case uint64:
			return I64(int64(x)), nil
		case int:
			return I64(int64(x)), nil
		}
	case TypeF32:
		if x, ok := x.(float32); ok {
			return F32(x), nil
		}
	case TypeF64:
		if x, ok := x.(float64); ok {
			return F64(x), nil
		}
	case TypeFuncRef:
		if x == nil {
			return FuncRef(nil), nil
		}
		if f, ok := x.(*Func); ok {
			return FuncRef(f), nil
		}
	case TypeExternRef:
		return Ref(x), nil
	case TypeAnyRef:
		return AnyRef(x), nil
	case TypeExnRef:
		if x == nil {
			return ExnRef(nil), nil
		}
		if x, ok := x.(*Exception); ok {
			return ExnRef(x), nil
		}
	case TypeV128:
		if x, ok := x.([16]byte); ok {
			return V128(x), nil
		}
	}
	return Value{}, detail(ErrType, "wanted %v, got %T", t, x)
}

// putNumber writes the words of a value that is no reference, two for a v128, the low half first, and
// returns how many there are.
func putNumber(words []uint64, v Value) int {
	words[0] = v.low
	if v.Type() != TypeV128 {
		return 1
	}
	words[1] = v.high
	return 2
}

// takeNumber returns the value of type t, no reference, at the beginning of words, and how many words it has.
func takeNumber(t ValType, words []uint64) (Value, int) {
	if t != TypeV128 {
		return number(t, words[0], 0), 1
	}
	return number(t, words[0], words[1]), 2
}

// word returns the value, the low half of a v128, as compiled code of the store has it. The caller is inside the store,
// and releases what was made if isHandle.
func (v Value) word(s *inproc.Store) (uint64, error) {
	switch v.Type() {
	case TypeExternRef, TypeAnyRef:
		return storeWord(s, v.ref)
	case TypeFuncRef:
		return funcWord(s, v.Func())
	case TypeExnRef:
		return exceptionWord(s, v.Exception())
	}
	return v.low, nil
}

// with calls f with the value as word returns it, which f puts where it stays. The caller is
// inside the store.
func (v Value) with(s *inproc.Store, f func(w uint64) error) error {
	w, err := v.word(s)
	if err != nil {
		return err
	}
	if v.isHandle() {
		defer s.Unmake(w)
	}
	return f(w)
}

// funcWord returns the reference to a function, which must be of the store.
func funcWord(s *inproc.Store, f *Func) (uint64, error) {
	if f == nil {
		return 0, nil
	}
	if f.inproc().Store() != s {
		return 0, detail(ErrType, "the function belongs to another store")
	}
	return f.inproc().Ref(), nil
}

// takeValue is takeNumber for all types. The caller is inside the store.
func takeValue(s *inproc.Store, t meta.ValType, words []uint64) (Value, int) {
	switch t.Base() {
	case meta.ExternRef:
		return refValue(ValType(t), s.Take(words[0])), 1
	case meta.FuncRef:
		return FuncRef((*Func)(s.FuncOf(words[0]))), 1
	}
	return takeNumber(ValType(t), words)
}
