// Package host loads compiled WebAssembly modules and runs them inside a Go program, at
// native speed and without cgo. It contains no compiler and no WASI, so programs that
// only run objects stay small. Package waot (the root of this module) exports
// everything in this package under the same names, and adds the compiler and WASI.
//
//	mod, err := host.Load(object, nil) // what waot build or waot.CompileObject made
//	store, err := host.NewStore(nil)
//	defer store.Close()
//	inst, err := store.Instantiate(ctx, mod, nil)
//	add, err := inst.Func("add")
//	results, err := add.Call(ctx, 40, 2) // []any{int32(42)}
//
// Place in the pipeline: the last stage. It is the public API of
// host/inproc, which runs the code, and host/load, which reads objects.
//
// Input: an object, values for its imports, and calls.
// Output: results, traps and other errors, and changed memories, tables and
// globals.
//
// # Modules, stores, instances
//
// A [Module] is compiled code. It is immutable, safe for concurrent use, and can be
// instantiated any number of times. A [Store] holds instances and everything that
// they can reach. Different stores share nothing. Everything in a store
// lives until [Store.Close], which the program must call to free its memory. To free
// instances one by one, give each its own store.
//
// # Goroutines
//
// Methods of [Module], and methods that only describe ([Func.Type], [Memory.Limits] and the like), may be called from any
// goroutine at any time. For everything else, only one goroutine at a time may be inside a store: it calls a function, instantiates,
// looks up exports, or changes something. Other goroutines get [ErrBusy] at once; they do not wait. Where a method cannot return an error, its comment says
// what it returns instead. Different stores run in parallel. A store is not bound to a goroutine.
//
// A Go function that compiled code calls runs on the goroutine that called the compiled code. It may use
// the store, and may call compiled code.
//
// For speed, reading and writing a [Memory] is not checked in this way. If two goroutines do so at once,
// that is a data race, like any other in Go.
//
// # Ending calls
//
// When the context of a call ends, compiled code ends within milliseconds, even in an endless
// loop. This costs nothing while the code runs. The error is a [*CancelError], which
// matches [ErrCancelled] and the cause of the context. Go functions are not interrupted,
// but compiled code does not continue after they return. The instance stays as the
// code left it, and can be called again.
//
// # Imports
//
// [Imports] holds the imports of modules: Go functions, exports of other instances, and functions, memories, tables, globals and tags that
// the store has made. Any Go function with suitable types can be imported:
//
//	host.Imports{"env": {
//		"log":  func(ctx context.Context, c *host.Caller, ptr, n uint32) error { ... },
//		"now":  func() int64 { ... },
//		"lib":  otherInstance.Exports()["lib"],
//	}}
//
// [Store.NewFunc] lists the types that may occur. [RawFunc] is for functions on raw words.
//
// # Exceptions
//
// What compiled code throws and does not catch is the error of the call, an [*Exception]. A Go function throws by returning one, and compiled code catches it if it knows the [Tag].
// Traps and the ends of contexts are no exceptions.
//
// # Three ways to call
//
// [Func.Call] is for convenience, [Func.CallValues] for exact types without allocation, and
// [Func.CallRaw] for speed.
//
// # Options
//
// Functions with options take a pointer to a struct. A nil pointer means the defaults, as does each field that is zero. The
// struct is only read during the call.
//
// # Stability
//
// This package is part of the stable API, which package waot describes. Types such as [Func] are defined by types of
// package host/inproc; that they can be converted to these is not part of the API.
package host
