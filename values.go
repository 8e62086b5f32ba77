package waot

import "github.com/waot-project/waot/host"

// I32 returns the value of type i32.
func I32(v int32) Value { return host.I32(v) }

// I64 returns the value of type i64.
func I64(v int64) Value { return host.I64(v) }

// F32 returns the value of type f32.
func F32(v float32) Value { return host.F32(v) }

// F64 returns the value of type f64.
func F64(v float64) Value { return host.F64(v) }

// V128 returns the value of type v128 that has these bytes in linear memory: lane 0 of any shape comes first.
func V128(v [16]byte) Value { return host.V128(v) }

// Ref returns an externref to a Go value; nil is null.
func Ref(v any) Value { return host.Ref(v) }

// AnyRef returns an anyref: to what an *Object refers to, to a small integer if v is an I31, or else to a Go value; nil is null.
func AnyRef(v any) Value { return host.AnyRef(v) }

// ExnRef returns an exnref; nil is null.
func ExnRef(x *Exception) Value { return host.ExnRef(x) }

// NewException makes an exception of a tag; see host.NewException.
func NewException(tag *Tag, args ...any) (*Exception, error) { return host.NewException(tag, args...) }

// FuncRef returns a funcref; nil is null.
func FuncRef(f *Func) Value { return host.FuncRef(f) }
