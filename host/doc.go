// Package host loads compiled WebAssembly modules and runs them inside a Go program, at
// native speed and without cgo. It contains no compiler and no WASI, so programs that
// only run ready objects stay small. Package waot (the root of this module) has
// everything that is here under the same names, and both of those: where only ready
// objects are loaded, one import can take the place of the other.
//
//	mod, err := host.Load(object, nil) // what waot build or waot.CompileObject made
//	store, err := host.NewStore(nil)
//	inst, err := store.Instantiate(ctx, mod, nil)
//	add, err := inst.Func("add")
//	results, err := add.Call(ctx, 40, 2) // []any{int32(42)}
//
// Place in the pipeline: the last stage, a face for Go programmers on top of
// host/inproc, which runs the code, and host/load, which reads objects.
//
// Input: an object, what its imports stand for, and calls.
// Output: results, traps and other errors, and what the code does to memories, tables and
// globals.
//
// # Modules, stores, instances
//
// A [Module] is compiled code. It is immutable, safe for concurrent use, and can be
// instantiated any number of times. A [Store] holds instances, and everything that
// they can reach: what is in different stores is strictly separate. All of a store
// lives until [Store.Close], which is needed to give its memory back. To drop
// instances one by one, give each its own store.
//
// # Goroutines
//
// One goroutine at a time may be inside a store, by calling a function, instantiating, or
// changing something; others get [ErrBusy] at once, they do not wait. Different stores run
// in parallel. A host function runs on the goroutine that made the call, and may use
// the store freely, call back into compiled code included. Reading and writing a
// [Memory] is not checked in this way, for the sake of speed: from other goroutines
// it is a data race like any other in Go.
//
// # Ending calls
//
// When the context of a call ends, so does compiled code, also an endless loop, within
// milliseconds and without any cost as long as it runs. The error is a [*CancelError]; it
// matches [ErrCancelled] and the cause of the context. Host functions are not interrupted,
// but compiled code is not returned to after them. The instance stays as the
// code left it, and can be called again.
//
// # Imports
//
// [Imports] gives modules what they import: Go functions, and what other instances export or
// the store has made. Go functions are ordinary ones:
//
//	host.Imports{"env": {
//		"log":  func(ctx context.Context, c *host.Caller, ptr, n uint32) error { ... },
//		"now":  func() int64 { ... },
//		"lib":  otherInstance.Exports()["lib"],
//	}}
//
// See [Store.NewFunc] for the types that may occur, and [RawFunc] for functions on raw words.
//
// # Three ways to call
//
// [Func.Call] is for convenience, [Func.CallValues] for exact types without allocation, and
// [Func.CallRaw] for speed.
package host
