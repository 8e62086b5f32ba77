//go:build linux && (amd64 || arm64)

package host_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/waot-project/waot/host"
)

// integerFuncs is the types of functions on T that have adapters of their own.
func integerFuncs[T int32 | uint32 | int64 | uint64]() []any {
	return []any{
		(func())(nil), (func(T))(nil), (func(T, T))(nil),
		(func() T)(nil), (func(T) T)(nil), (func(T, T) T)(nil), (func(T, T, T) T)(nil),
		(func(*host.Caller))(nil), (func(*host.Caller, T))(nil), (func(*host.Caller, T, T))(nil),
		(func(*host.Caller, T) T)(nil), (func(*host.Caller, T, T) T)(nil),
		(func(context.Context, *host.Caller, T, T))(nil), (func(context.Context, *host.Caller, T, T) T)(nil),
	}
}

// wordOf is a number as compiled code passes it.
func wordOf(v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Int32:
		return uint64(uint32(v.Int()))
	case reflect.Int64:
		return uint64(v.Int())
	case reflect.Uint32, reflect.Uint64:
		return v.Uint()
	case reflect.Float32:
		return uint64(math.Float32bits(float32(v.Float())))
	}
	return math.Float64bits(v.Float())
}

// number is the nth of numbers that differ from each other in both halves, of type t.
func number(t reflect.Type, n int) reflect.Value {
	v := reflect.New(t).Elem()
	switch bits := uint64(n+1) * 0x8765_4321_8765_4321; t.Kind() {
	case reflect.Int32:
		v.SetInt(int64(int32(bits)))
	case reflect.Int64:
		v.SetInt(int64(bits))
	case reflect.Uint32:
		v.SetUint(uint64(uint32(bits)))
	case reflect.Uint64:
		v.SetUint(bits)
	default:
		v.SetFloat(float64(n) + 0.5)
	}
	return v
}

// TestAdapters: Go functions of each type with an adapter get their arguments in order, the caller and the context, and their result arrives.
func TestAdapters(t *testing.T) {
	s := newStore(t)
	type key struct{}
	ctx := context.WithValue(bg, key{}, "value")
	types := slices.Concat(integerFuncs[int32](), integerFuncs[uint32](), integerFuncs[int64](), integerFuncs[uint64](),
		[]any{(func(float64) float64)(nil), (func(float64, float64) float64)(nil), (func(float32) float32)(nil)})
	for _, nilFunc := range types {
		typ := reflect.TypeOf(nilFunc)
		calls := 0
		var result uint64
		fn := reflect.MakeFunc(typ, func(in []reflect.Value) (out []reflect.Value) {
			calls++
			n := 0
			for _, v := range in {
				switch x := v.Interface().(type) {
				case context.Context:
					if x.Value(key{}) != "value" {
						t.Errorf("%v: another context", typ)
					}
				case *host.Caller:
					if x.Store() != s || x.Context() != ctx {
						t.Errorf("%v: another caller", typ)
					}
				default:
					if want := number(v.Type(), n).Interface(); x != want {
						t.Errorf("%v: argument %d is %v, want %v", typ, n, x, want)
					}
					n++
				}
			}
			for i := range typ.NumOut() {
				v := number(typ.Out(i), 10)
				result = wordOf(v)
				out = append(out, v)
			}
			return out
		})
		f, err := s.NewFunc(fn.Interface())
		if err != nil {
			t.Errorf("%v: %v", typ, err)
			continue
		}
		var stack []uint64
		for i := range typ.NumIn() {
			if in := typ.In(i); in.Kind() != reflect.Interface && in.Kind() != reflect.Pointer {
				stack = append(stack, wordOf(number(in, len(stack))))
			}
		}
		if params := f.Type().Params; len(params) != len(stack) {
			t.Errorf("%v: parameters %v", typ, params)
		}
		if len(stack) == 0 {
			stack = []uint64{0}
		}
		if err := f.CallRaw(ctx, stack); err != nil || calls != 1 {
			t.Errorf("%v: %v, %d calls", typ, err, calls)
		}
		if typ.NumOut() == 0 {
			continue
		}
		if kind := typ.Out(0).Kind(); kind == reflect.Int32 || kind == reflect.Uint32 {
			stack[0] = uint64(uint32(stack[0])) // the upper half may be anything
		}
		if stack[0] != result {
			t.Errorf("%v: result %#x, want %#x", typ, stack[0], result)
		}
	}
}
