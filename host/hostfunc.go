package host

import (
	"context"
	"math"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
)

// RawFunc is a Go function on raw words. It is the fastest kind, since nothing is converted.
type RawFunc struct {
	Params, Results []ValType
	// Func receives the arguments as words: i32 and f32 in the low half, zero-extended, floats
	// as their bits, a v128 as two words, the low half first, references as words of the store. It sets the results, which
	// are zero before. Both slices are valid until it returns. A result that should be a reference
	// of the store and is not ends the call with a *ReferenceError. See Store.NewFunc for
	// other errors.
	Func func(c *Caller, args, results []uint64) error
}

// Caller is the call that a Go function serves. It is for the goroutine of the call, and must not be
// used after the function has returned: then it is empty, or describes another call of the store.
type Caller inproc.Caller

func (c *Caller) inproc() *inproc.Caller { return (*inproc.Caller)(c) }

// Context returns the context of the call: that of the innermost call around the function that has
// one, or the background context if none has.
func (c *Caller) Context() context.Context { return c.inproc().Context() }

// Store returns the store of the call.
func (c *Caller) Store() *Store { return (*Store)(c.inproc().Store()) }

// Instance returns the instance whose code called the function; nil if Go code did.
func (c *Caller) Instance() *Instance { return (*Instance)(c.inproc().Instance()) }

// Memory returns the memory that the calling instance exports as "memory"; nil if there is
// none. Methods of a nil memory report failure.
func (c *Caller) Memory() *Memory {
	i := c.inproc().Instance()
	if i == nil {
		return nil
	}
	return (*Memory)(i.MainMemory())
}

// Backtrace returns the frames of compiled code that led to the function, innermost first, at most 64.
func (c *Caller) Backtrace() []Frame { return c.inproc().Backtrace() }

// Frames is Backtrace without the frames of calls around the innermost one.
func (c *Caller) Frames() []Frame { return c.inproc().Frames() }

// Leave lets other goroutines into the store until Enter, or until the function returns. It is for a function that waits for goroutines that use the
// store, such as a coroutine of iter.Pull. Without Leave, those goroutines get ErrBusy. Each goroutine has its own native stack, so calls may end in any
// order. Enter waits while another goroutine is inside the store, and so does the return of the function. Between Leave and Enter the function may use the
// store like any other goroutine, but only the methods Enter and Context of the Caller.
func (c *Caller) Leave() { c.inproc().Leave() }

// Enter ends what Leave began.
func (c *Caller) Enter() { c.inproc().Enter() }

// goFunc is a Go function whose type has been found to be possible, and its adapter for one store: adapters may keep state.
type goFunc struct {
	typ     FuncType
	adapter inproc.HostFunc
}

// goFuncOf checks what NewFunc and Imports take as a Go function.
func goFuncOf(fn any) (goFunc, error) {
	raw, ok := fn.(RawFunc)
	if !ok {
		return reflectFunc(fn)
	}
	if raw.Func == nil {
		return goFunc{}, detail(ErrType, "a RawFunc without Func")
	}
	for _, types := range [][]ValType{raw.Params, raw.Results} {
		for _, t := range types {
			if !abi.ValType(t).NeedsNoModule() {
				return goFunc{}, detail(ErrType, "a RawFunc with %v", t)
			}
		}
	}
	f := raw.Func
	return goFunc{FuncType{raw.Params, raw.Results}, func(c *inproc.Caller, args, results []uint64) error {
		return f((*Caller)(c), args, results)
	}}, nil
}

// integer is the Go types of i32 and i64.
type integer interface {
	int32 | uint32 | int64 | uint64
}

// adapt returns a direct adapter for the frequent functions on one type of integers, and nil for
// all others.
func adapt[T integer](fn any) inproc.HostFunc {
	switch f := fn.(type) {
	case func():
		return func(*inproc.Caller, []uint64, []uint64) error { f(); return nil }
	case func(T):
		return func(_ *inproc.Caller, a, _ []uint64) error { f(T(a[0])); return nil }
	case func(T, T):
		return func(_ *inproc.Caller, a, _ []uint64) error { f(T(a[0]), T(a[1])); return nil }
	case func() T:
		return func(_ *inproc.Caller, _, r []uint64) error { r[0] = uint64(f()); return nil }
	case func(T) T:
		return func(_ *inproc.Caller, a, r []uint64) error { r[0] = uint64(f(T(a[0]))); return nil }
	case func(T, T) T:
		return func(_ *inproc.Caller, a, r []uint64) error { r[0] = uint64(f(T(a[0]), T(a[1]))); return nil }
	case func(T, T, T) T:
		return func(_ *inproc.Caller, a, r []uint64) error { r[0] = uint64(f(T(a[0]), T(a[1]), T(a[2]))); return nil }
	case func(*Caller):
		return func(c *inproc.Caller, _, _ []uint64) error { f((*Caller)(c)); return nil }
	case func(*Caller, T):
		return func(c *inproc.Caller, a, _ []uint64) error { f((*Caller)(c), T(a[0])); return nil }
	case func(*Caller, T, T):
		return func(c *inproc.Caller, a, _ []uint64) error { f((*Caller)(c), T(a[0]), T(a[1])); return nil }
	case func(*Caller, T) T:
		return func(c *inproc.Caller, a, r []uint64) error { r[0] = uint64(f((*Caller)(c), T(a[0]))); return nil }
	case func(*Caller, T, T) T:
		return func(c *inproc.Caller, a, r []uint64) error {
			r[0] = uint64(f((*Caller)(c), T(a[0]), T(a[1])))
			return nil
		}
	case func(context.Context, *Caller, T, T):
		return func(c *inproc.Caller, a, _ []uint64) error {
			f(c.Context(), (*Caller)(c), T(a[0]), T(a[1]))
			return nil
		}
	case func(context.Context, *Caller, T, T) T:
		return func(c *inproc.Caller, a, r []uint64) error {
			r[0] = uint64(f(c.Context(), (*Caller)(c), T(a[0]), T(a[1])))
			return nil
		}
	}
	return nil
}

// adaptFloat is adapt for the usual functions of mathematics.
func adaptFloat(fn any) inproc.HostFunc {
	switch f := fn.(type) {
	case func(float64) float64:
		return func(_ *inproc.Caller, a, r []uint64) error {
			r[0] = math.Float64bits(f(math.Float64frombits(a[0])))
			return nil
		}
	case func(float64, float64) float64:
		return func(_ *inproc.Caller, a, r []uint64) error {
			r[0] = math.Float64bits(f(math.Float64frombits(a[0]), math.Float64frombits(a[1])))
			return nil
		}
	}
	return nil
}

// direct returns an adapter that needs no reflection, nil if there is none for the type. Words
// of results may have anything in the upper half of an i32.
func direct(fn any) inproc.HostFunc {
	for _, try := range [...]func(any) inproc.HostFunc{adapt[int32], adapt[uint32], adapt[int64], adapt[uint64], adaptFloat} {
		if f := try(fn); f != nil {
			return f
		}
	}
	return nil
}
