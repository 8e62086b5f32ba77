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
type Value struct {
	typ  ValType
	bits uint64 // of a number; the low half of a vector
	high uint64 // the other half of a vector
	ref  any    // of a reference: a *Func that is not nil, any Go value, or nil for null
}

// I32 returns the value of type i32.
func I32(v int32) Value { return Value{typ: TypeI32, bits: uint64(uint32(v))} }

// I64 returns the value of type i64.
func I64(v int64) Value { return Value{typ: TypeI64, bits: uint64(v)} }

// F32 returns the value of type f32.
func F32(v float32) Value { return Value{typ: TypeF32, bits: uint64(math.Float32bits(v))} }

// F64 returns the value of type f64.
func F64(v float64) Value { return Value{typ: TypeF64, bits: math.Float64bits(v)} }

// V128 returns the value of type v128 that has these bytes in linear memory: lane 0 of any shape comes first.
func V128(v [16]byte) Value {
	return Value{typ: TypeV128, bits: binary.LittleEndian.Uint64(v[:8]), high: binary.LittleEndian.Uint64(v[8:])}
}

// Ref returns an externref to a Go value; nil is null.
func Ref(v any) Value { return Value{typ: TypeExternRef, ref: v} }

// FuncRef returns a funcref; nil is null.
func FuncRef(f *Func) Value {
	if f == nil {
		return Value{typ: TypeFuncRef}
	}
	return Value{typ: TypeFuncRef, ref: f}
}

// Type returns the type of the value, 0 for the zero Value.
func (v Value) Type() ValType { return v.typ }

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
	if v.typ == TypeV128 {
		binary.LittleEndian.PutUint64(b[:8], v.bits)
		binary.LittleEndian.PutUint64(b[8:], v.high)
	}
	return b
}

// Ref returns the Go value of an externref, nil for null.
func (v Value) Ref() any {
	if v.typ != TypeExternRef {
		return nil
	}
	return v.ref
}

// Func returns the function of a funcref, nil for null.
func (v Value) Func() *Func {
	if v.typ != TypeFuncRef {
		return nil
	}
	f, _ := v.ref.(*Func)
	return f
}

func (v Value) as(t ValType) uint64 {
	if v.typ != t {
		return 0
	}
	return v.bits
}

// Any returns the value as Func.Call does: int32, int64, float32, float64, [16]byte, the
// Go value of an externref, a *Func; nil for null.
func (v Value) Any() any {
	switch v.typ {
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
	if v.typ == TypeV128 {
		return fmt.Sprintf("v128:i32x4:0x%08x,0x%08x,0x%08x,0x%08x", uint32(v.bits), v.bits>>32, uint32(v.high), v.high>>32)
	}
	return fmt.Sprintf("%v:%v", v.typ, v.Any())
}

// valueOf converts an argument of Func.Call to a value of type t.
func valueOf(t ValType, x any) (Value, error) {
	if v, ok := x.(Value); ok && v.typ == t {
		return v, nil
	}
	switch t {
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
	case TypeV128:
		if x, ok := x.([16]byte); ok {
			return V128(x), nil
		}
	}
	return Value{}, detail(ErrType, "wanted %v, got %T", t, x)
}

// appendWords adds the words of a value that is no reference: two for a v128, the low half first.
func (v *Value) appendWords(words []uint64) []uint64 {
	words = append(words, v.bits)
	if v.typ == TypeV128 {
		words = append(words, v.high)
	}
	return words
}

// takeNumber returns the value of type t, no reference, at the beginning of words, and the words behind it.
func takeNumber(t ValType, words []uint64) (v Value, rest []uint64) {
	if t == TypeV128 {
		return Value{typ: t, bits: words[0], high: words[1]}, words[2:]
	}
	return Value{typ: t, bits: words[0]}, words[1:]
}

// word returns the value, the low half of a v128, as compiled code of the store has it. The caller is inside the store,
// and releases what was made for an externref.
func (v Value) word(s *inproc.Store) (uint64, error) {
	switch v.typ {
	case TypeExternRef:
		return s.ExternRef(v.ref), nil
	case TypeFuncRef:
		return funcWord(s, v.Func())
	}
	return v.bits, nil
}

// with calls f with the value as word returns it, which f puts where it stays. The caller is
// inside the store.
func (v Value) with(s *inproc.Store, f func(w uint64) error) error {
	w, err := v.word(s)
	if err != nil {
		return err
	}
	if v.typ == TypeExternRef {
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
func takeValue(s *inproc.Store, t meta.ValType, words []uint64) (v Value, rest []uint64) {
	switch t {
	case meta.ExternRef:
		return Ref(s.Extern(words[0])), words[1:]
	case meta.FuncRef:
		return FuncRef((*Func)(s.FuncOf(words[0]))), words[1:]
	}
	return takeNumber(ValType(t), words)
}
