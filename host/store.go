package host

import (
	"context"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
)

// StoreOptions bound what a store gives its instances. A field that is zero means its default, as does a nil pointer for all.
type StoreOptions struct {
	// MaxMemoryPages bounds each memory, in pages of 64 KiB; default and ceiling 65536.
	MaxMemoryPages uint64
	// MaxTotalMemoryPages bounds all memories together; default 262,144 pages, 16 GiB.
	MaxTotalMemoryPages uint64
	// MaxTableElements bounds each table; default 10,000,000, ceiling 2^32 - 1.
	MaxTableElements uint64
	// MaxTableMemory bounds all tables together, in bytes, 8 per element; default
	// 128 MiB, and at least what a table of MaxTableElements takes.
	MaxTableMemory uint64
	// MaxTables, MaxMemories and MaxGlobals bound their numbers, and count those of instances whose
	// instantiation failed later. The defaults are 4096, 4096 and 1,000,000. Negative values allow none, as does
	// a negative MaxInstances.
	MaxTables, MaxMemories, MaxGlobals int
	// MaxStack bounds the stack of compiled code in all nested calls of a goroutine together, in bytes. The
	// default is 8 MiB, the range from 64 KiB to just below 64 MiB. A call that needs more traps (TrapStackOverflow).
	MaxStack uint64
	// MaxHostStack bounds, in bytes, what Go functions may use of the goroutine's stack before one of them
	// calls into the store again. It counts from the outermost call, and 8 bytes for each of their
	// arguments and results. The default is 8 MiB, the most 128 MiB. A call that finds more in use
	// traps (TrapStackOverflow), as does one that finds 256 MiB of the stack in use in all.
	MaxHostStack uint64
	// MaxHostDepth bounds the calls into the store that are active at one time: nested in each other by Go functions,
	// the outermost one included, and those of all goroutines that Caller.Leave lets in. The default is 10,000. One more traps (TrapStackOverflow).
	MaxHostDepth int
	// MaxExceptionMemory bounds the exceptions that compiled code has made references to, in bytes: about 256 for each, and what its arguments take. Half of it is for those that nobody holds any more and that
	// are not collected yet. The default is 128 MiB. A call that needs more fails with a *LimitError.
	MaxExceptionMemory uint64
	// MaxHeapMemory bounds the structures and arrays of WebAssembly together, in bytes. The default is 1 GiB, which is also about the most that there is. Code that needs more
	// traps (TrapHeapExhausted).
	MaxHeapMemory uint64
	// MaxInstances bounds the instances; by default only the system does.
	MaxInstances int
	// HugePages asks the system for huge pages when a memory grows by 4 MiB or more at once, and the first one was quick to be had. Such
	// a memory takes 2 MiB where a guest touches one byte.
	HugePages bool
	// KeepViews makes slices from Memory.Read valid as long as the program has them, also after the store has been closed: they are in Go's heap, whose collector
	// knows. Each memory takes a file descriptor then, its size counts as heap as soon as Read has been called, and its pages take longer to be touched for
	// the first time. If the process has no mappings left for a part that is read, its pages stay mapped for ever. Without KeepViews slices must not be touched
	// when the store has been closed.
	KeepViews bool
	// Allocator, if not nil, supplies the bytes of all memories of the store. It is for modules that were compiled with CompileOptions.ExplicitBounds: others
	// cannot have memories here (ErrGuardPages), nor import one (a *LinkError).
	Allocator MemoryAllocator
	// Fuel is what the store has at first, and again after Reset, for modules that were compiled with CompileOptions.Fuel; at most 2^63 - 1. Without any, their
	// code traps at once (TrapOutOfFuel).
	Fuel uint64
	// OutOfFuel, if not nil, is called where code needs more fuel than is left, with the context of the call. If it adds enough with AddFuel, the code goes on as if nothing
	// had happened; otherwise it traps. An error ends the call, and is returned unchanged. Of the store and what belongs to it only Fuel and AddFuel may be used
	// in it: the rest fails with ErrBusy, but memories can be read, and must not be written. It is not called, and the code traps, where the processor has more state than can be saved.
	OutOfFuel func(ctx context.Context, s *Store) error
}

// MemoryAllocator supplies the bytes of memories. Their content and size are the module's business only, and the bytes may be anywhere: a slice of Go's heap, a
// mapping. Its methods are called by the goroutine that is inside the store.
type MemoryAllocator interface {
	// Allocate begins a memory that is expected to have capacity bytes soon, and never has more than max.
	Allocate(capacity, max uint64) LinearMemory
}

// LinearMemory is the bytes of one memory. Reallocate is first called for the size at the beginning, and then for each growth that the store's limits allow; a
// slice from before is not used any more after that. It is not called at the same time as code of the store runs. The memory does not grow while it runs. Free is called when the store is closed, and when the memory is reset, after the bytes that take the place have been allocated.
type LinearMemory interface {
	// Reallocate returns size bytes, that begin with those of before and go on with zeroes; nil if there is no room.
	Reallocate(size uint64) []byte
	// Free is called when nobody uses the bytes any more.
	Free()
}

// allocator is a MemoryAllocator as package inproc has it.
type allocator struct{ of MemoryAllocator }

// Allocate implements inproc.MemoryAllocator.
func (a allocator) Allocate(capacity, max uint64) inproc.LinearMemory {
	return a.of.Allocate(capacity, max)
}

// Store holds instances and everything that they can reach. One goroutine at a time may be inside; the package comment
// says what that means. The zero Store is a closed one.
type Store inproc.Store

// NewStore creates a store. It must be closed to release its memory. o may be nil. The errors are
// *LimitError, *SystemError and ErrUnsupported.
func NewStore(o *StoreOptions) (*Store, error) {
	var none StoreOptions
	if o == nil {
		o = &none
	}
	if o.OutOfFuel != nil {
		return newFuelledStore(o)
	}
	s, err := inproc.NewStore(o.config())
	return (*Store)(s), err
}

// newFuelledStore is NewStore with OutOfFuel.
func newFuelledStore(o *StoreOptions) (*Store, error) {
	c := o.config()
	f := o.OutOfFuel
	var s *inproc.Store
	c.OutOfFuel = func(ctx context.Context) error { return f(ctx, (*Store)(s)) }
	s, err := inproc.NewStore(c)
	return (*Store)(s), err
}

// config is the options as package inproc has them, but for OutOfFuel.
func (o *StoreOptions) config() inproc.Config {
	var a inproc.MemoryAllocator
	if o.Allocator != nil {
		a = allocator{o.Allocator}
	}
	return inproc.Config{
		MaxMemoryPages: o.MaxMemoryPages, MaxTotalMemoryPages: o.MaxTotalMemoryPages,
		MaxTableElements: o.MaxTableElements, MaxTableMemory: o.MaxTableMemory, MaxExceptionMemory: o.MaxExceptionMemory, MaxHeapMemory: o.MaxHeapMemory,
		MaxTables: o.MaxTables, MaxMemories: o.MaxMemories, MaxGlobals: o.MaxGlobals, MaxInstances: o.MaxInstances,
		MaxStack: o.MaxStack, MaxHostStack: o.MaxHostStack, MaxHostDepth: o.MaxHostDepth, HugePages: o.HugePages, KeepViews: o.KeepViews, Allocator: a,
		Fuel: o.Fuel,
	}
}

// FreeOSMemory gives back to the system what closed stores have left for the next ones, up to 64 MiB and 16 KiB for each store that was open at the same time as others.
// The next stores take longer to make. It may be called at any time, from any goroutine.
func FreeOSMemory() { inproc.FreeOSMemory() }

func (s *Store) inproc() *inproc.Store { return (*inproc.Store)(s) }

// Close releases everything that the store holds. From then on, methods of what belonged to it
// return ErrClosed, or report failure. Slices of memories must not be used
// any more, unless they are from Memory.Read and StoreOptions.KeepViews is set. The error is ErrBusy while a goroutine is inside, the calling one included,
// and ErrClosed if the store has been closed.
func (s *Store) Close() error { return s.inproc().Close() }

// Enter makes the calling goroutine the one inside the store until Leave, so that
// nobody comes between several operations: others get ErrBusy. It fails with ErrBusy if
// a goroutine is inside, this one included, and with ErrClosed.
func (s *Store) Enter() error { return s.inproc().Enter() }

// Leave ends what Enter began, on the same goroutine. It does nothing if Enter has failed.
func (s *Store) Leave() { s.inproc().LeaveEntered() }

// Fuel returns how much fuel is left: 0 where it has run out, and in a closed store or one whose modules do not count it. It is exact in Go functions that compiled code
// calls, and after calls, traps included. It is for the goroutine that is inside the store, or, while none is, for one at a time.
func (s *Store) Fuel() uint64 {
	if s == nil {
		return 0
	}
	return s.inproc().Fuel()
}

// AddFuel adds n units of fuel, up to 2^63 - 1 in all. It is for the same goroutines as Fuel, in OutOfFuel as well, and does nothing in a closed store or one whose modules do
// not count.
func (s *Store) AddFuel(n uint64) {
	if s != nil {
		s.inproc().AddFuel(n)
	}
}

// ConsumeFuel takes n units of fuel away, for a Go function that does work for compiled code, and reports whether there were so many. If not, none is left, and the code
// that called traps (TrapOutOfFuel) where it compares next. It is for the same goroutines as Fuel. In a closed store, and in one whose modules do not count, there is no fuel.
func (s *Store) ConsumeFuel(n uint64) bool { return s != nil && s.inproc().ConsumeFuel(n) || n == 0 }

// do runs f inside the store.
func (s *Store) do(f func(*inproc.Store) error) error {
	if s == nil {
		return ErrClosed // of the zero value of what belongs to a store
	}
	p := s.inproc()
	outer, err := p.Hold()
	if err != nil {
		return err
	}
	if outer {
		defer p.Leave()
	}
	return f(p)
}

// NewFunc makes a function of the store from a Go function. It can be imported, put into tables, passed as a
// funcref, and called. fn is a RawFunc, or any Go function with
//
//   - optionally a context.Context in front, that of the call;
//   - then optionally a *Caller;
//   - parameters and results of the types int32 and uint32 (for i32), int64 and uint64 (i64),
//     float32, float64, [16]byte (v128, the bytes as in linear memory), any (externref), *Func (funcref), *Exception (exnref), or named types
//     based on the numeric ones or on [16]byte;
//   - optionally an error as the last result. One that is not nil ends the call, and is returned unchanged to the
//     caller of compiled code. But if it is an *Exception of the store, or wraps one, it is thrown, and compiled code may
//     catch it.
//
// A panic ends the call too, and propagates to the caller of compiled code. The store stays usable.
//
// The function lives as long as the store. To instantiate often in one store, make
// it once. The errors are ErrType, ErrBusy, ErrClosed and *SystemError.
func (s *Store) NewFunc(fn any) (*Func, error) {
	g, err := goFuncOf(fn)
	if err != nil {
		return nil, err
	}
	return s.newFunc(g)
}

func (s *Store) newFunc(g goFunc) (*Func, error) {
	f, err := s.inproc().NewHostFunc(meta.FuncType{Params: metaTypes(g.typ.Params), Results: metaTypes(g.typ.Results)}, g.adapter)
	return (*Func)(f), err
}

// NewMemory creates a memory. The errors are *LimitError, *SystemError, ErrBusy and ErrClosed.
func (s *Store) NewMemory(l Limits) (*Memory, error) {
	m, err := s.inproc().NewMemory(inproc.Limits(l))
	return (*Memory)(m), err
}

// NewTable is NewTableOf for nulls of a type that has no index, such as TypeFuncRef, TypeExternRef and TypeEqRef.
func (s *Store) NewTable(elem ValType, l Limits) (*Table, error) {
	return s.NewTableOf(RefType{Type: elem}, l, nil)
}

// NewTableOf creates a table of references. Each element is v, as Table.Set takes it; it must be of the type also where there are no elements to begin with. The errors are ErrType, *LimitError, *SystemError,
// ErrBusy, ErrClosed, and ErrCancelled if the context of the call around it ends before many elements are filled.
func (s *Store) NewTableOf(t RefType, l Limits, v any) (x *Table, err error) {
	err = s.withRef(t, "table", v, func(p *inproc.Store, w uint64) error {
		table, err := p.NewTableOf(t.inproc(), inproc.Limits(l), w)
		x = (*Table)(table)
		return err
	})
	return x, err
}

// NewGlobal creates a global variable of v's type, one of the constants TypeI32 to TypeAnyRef. The errors are ErrType, *LimitError, *SystemError,
// ErrBusy and ErrClosed.
func (s *Store) NewGlobal(mutable bool, v Value) (*Global, error) {
	if v.Type().isRef() {
		return s.NewGlobalOf(RefType{Type: v.Type()}, mutable, v)
	}
	if v.Type() == 0 {
		return nil, detail(ErrType, "a global without a type")
	}
	var g *inproc.Global
	err := s.do(func(p *inproc.Store) (err error) {
		g, err = p.NewGlobal(meta.ValType(v.Type()), mutable, v.low, v.high)
		return err
	})
	return (*Global)(g), err
}

// NewGlobalOf creates a global variable that has a reference: v, as Table.Set takes it. The errors are ErrType, *LimitError, *SystemError, ErrBusy and ErrClosed.
func (s *Store) NewGlobalOf(t RefType, mutable bool, v any) (x *Global, err error) {
	err = s.withRef(t, "global", v, func(p *inproc.Store, w uint64) error {
		g, err := p.NewGlobalOf(t.inproc(), mutable, w)
		x = (*Global)(g)
		return err
	})
	return x, err
}

// withRef calls f inside the store with the word of v, for what is made of references of type t.
func (s *Store) withRef(t RefType, what string, v any, f func(p *inproc.Store, w uint64) error) error {
	typ, err := t.inproc().ValType()
	if err != nil {
		return detail(ErrType, "a %s of %v", what, t)
	}
	x, err := valueOf(ValType(typ), v)
	if err != nil {
		return err
	}
	return s.do(func(p *inproc.Store) error {
		if err := p.Use(t.inproc()); err != nil {
			return err
		}
		return unfit(typ, v, x.with(p, func(w uint64) error { return f(p, w) }))
	})
}

// References as words, for Func.CallRaw and RawFunc.

// ExternRef returns a word that stands for a Go value, as compiled code has an externref; 0 for
// nil. If a Go function that compiled code has called makes it, it is valid until the function returns;
// otherwise until Release. Beyond that it is valid as long as compiled code, a table or a global has it. The word of an *Object or I31 is one of an anyref as well. The errors are
// ErrType for an *Object of another store, ErrBusy and ErrClosed.
func (s *Store) ExternRef(v any) (ref uint64, err error) {
	err = s.do(func(p *inproc.Store) error {
		ref, err = storeWord(p, v)
		return err
	})
	return ref, err
}

// Extern returns the Go value that a word stands for, which is an *Object or I31 for what is in the store's heap. It returns nil for null, for a word that is of another store or not
// valid any more, and if another goroutine is inside the store.
func (s *Store) Extern(ref uint64) (v any) {
	s.do(func(p *inproc.Store) error {
		v = goValue(p.Extern(ref))
		return nil
	})
	return v
}

// Retain keeps a word of an externref, such as an argument of a RawFunc, valid until Release
// has been called as often. It reports whether the word stands for a value; false also if another goroutine is inside the store.
func (s *Store) Retain(ref uint64) (ok bool) {
	s.do(func(p *inproc.Store) error {
		ok = p.Retain(ref)
		return nil
	})
	return ok
}

// Release says that Go code does not need a word from ExternRef or Retain any more. Other words
// are ignored.
func (s *Store) Release(ref uint64) {
	s.do(func(p *inproc.Store) error {
		p.Release(ref)
		return nil
	})
}

// FuncOf returns the function that the word of a funcref stands for. It returns nil for null, for a word that is not a
// function of this store, and if another goroutine is inside the store.
func (s *Store) FuncOf(ref uint64) (f *Func) {
	s.do(func(p *inproc.Store) error {
		f = (*Func)(p.FuncOf(ref))
		return nil
	})
	return f
}
