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
	"fmt"
	"os"

	"github.com/waot-project/waot/internal/proof/stress/guest"
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

// NewGuest makes an instance of guest.Costs, which must compute what it computes in all engines.
func NewGuest(e Engine, closing bool) (Guest, error) {
	g, err := e.Guest(guest.Costs(), closing)
	if err != nil {
		return nil, err
	}
	extern, err := g.Ref("extern")
	if err != nil {
		return nil, err
	}
	function, err := g.Ref("func")
	if err != nil {
		return nil, err
	}
	for _, x := range []struct {
		name  string
		stack [2]uint64
		want  uint64
	}{
		{"add", [2]uint64{3, 5}, 8}, {"callraw", [2]uint64{3}, 6}, {"calltyped", [2]uint64{3}, 6}, {"callmixed", [2]uint64{3}, 9},
		{"callmodule", [2]uint64{3}, 6 + 3*65536}, {"sameextern", [2]uint64{extern}, extern}, {"samefunc", [2]uint64{function}, function},
	} {
		f, err := g.Func(x.name)
		if err == nil {
			err = f.Raw(context.Background(), x.stack[:])
		}
		if err != nil || x.stack[0] != x.want {
			return nil, fmt.Errorf("%s gives %d, not %d (%v)", x.name, x.stack[0], x.want, err)
		}
	}
	return g, nil
}
