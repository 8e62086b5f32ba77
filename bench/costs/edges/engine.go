// Package edges measures what an engine costs a Go program at its edges, in a process that has no other engine: their
// heaps, signal handlers and mappings stay apart.
//
// Place in the pipeline: none.
//
// Input: an engine, and on standard input names of what to measure, one a line.
// Output: a figure for each of them, on standard output.
package edges

import (
	"context"
	"os"
)

// Engine is what is measured.
type Engine interface {
	// Guest makes an instance of guest.Costs. If closing is set, a call ends when its context does.
	Guest(wasm []byte, closing bool) (Guest, error)
	// Program compiles a module that may use WASI.
	Program(wasm []byte) (Program, error)
}

// Instance is an instance with all that was made for it.
type Instance interface {
	Func(name string) (Func, error)
	Close() error
}

// Func is an export. Both fields hold functions, so that all engines are called in the same way.
type Func struct {
	// Raw takes arguments and results as words.
	Raw func(context.Context, []uint64) error
	// Call calls the function in the engine's usual way, with 1 and 2.
	Call func(context.Context) error
}

// Resetter is an Instance that can become new again.
type Resetter interface {
	// Reset writes to some pages of the memory first.
	Reset() error
}

// Guest is an instance of guest.Costs.
type Guest interface {
	Instance
	// Ref returns the word of a reference, "extern" to a value of Go or "func" to a function.
	Ref(kind string) (uint64, error)
}

// Program is a compiled module.
type Program interface {
	// Instantiate makes an instance that can be dropped by itself. stdout may be nil.
	Instantiate(wasi bool, stdout *os.File) (Instance, error)
	// Load loads the module again as it was compiled before.
	Load() error
	Close() error
}

// Typed and Mixed are the functions of the host that guest.Costs calls typed and mixed.
func Typed(a, b int64) int64                  { return a + b }
func Mixed(a int32, b int64, f float64) int64 { return int64(a) + b + int64(f) }
