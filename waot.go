// Package waot compiles WebAssembly to native machine code, ahead of time, and runs it
// inside a Go program, without cgo. This is a whole program:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/waot-project/waot"
//	)
//
//	// A module with one function: (func (export "add") (param i32 i32) (result i32)
//	// local.get 0 local.get 1 i32.add).
//	const wasm = "\x00asm\x01\x00\x00\x00\x01\x07\x01\x60\x02\x7f\x7f\x01\x7f\x03\x02\x01\x00" +
//		"\x07\x07\x01\x03add\x00\x00\x0a\x09\x01\x07\x00\x20\x00\x20\x01\x6a\x0b"
//
//	func main() {
//		ctx := context.Background()
//		mod, err := waot.Compile([]byte(wasm), nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		store, err := waot.NewStore(nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer store.Close()
//		inst, err := store.Instantiate(ctx, mod, nil)
//		if err != nil {
//			log.Fatal(err)
//		}
//		add, err := inst.Func("add")
//		if err != nil {
//			log.Fatal(err)
//		}
//		results, err := add.Call(ctx, 40, 2)
//		fmt.Println(results, err) // [42] <nil>
//	}
//
// The examples show more: Go functions as imports, WASI programs, deadlines, ready objects,
// references to Go values.
//
// # What is where
//
// [Compile] makes a [Module] of WebAssembly, [Load] of an object that [CompileObject] or the
// command waot build has made before. A [Store] holds instances, and [Store.Instantiate] makes
// them. [NewWASI] gives programs files, arguments and standard streams.
//
// Everything but compilation and WASI is package host (github.com/waot-project/waot/host), under
// the same names: programs that only load objects import that instead, and contain no
// compiler. Its documentation says how stores, goroutines, contexts and imports work together;
// the methods of the types below are described there.
//
// # Place in the pipeline
//
// The face of all of it for Go programmers: package compile and what is below it, package
// host, package host/wasirun.
//
// Input: a WebAssembly module or an object, and what it imports.
// Output: an object, or a module that can be instantiated and called.
package waot

import (
	"bytes"
	"context"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
)

// CompileOptions say how to compile. The zero value and nil mean the defaults.
type CompileOptions struct {
	// Name is the name of the module, in backtraces and the prefix of the object's symbols;
	// default "module".
	Name string
	// Target is the machine: "x86-64-linux" or "aarch64-linux"; default the one the program runs
	// on, if it is one of these, else x86-64. Code for another machine cannot be loaded.
	Target string
	// CPU is the level of processor that the code may need: "x86-64-v2", the default, or
	// "x86-64-v3"; "armv8.0-a". Loading fails with a *CPUError where the processor has less.
	CPU string
	// Workers is the number of functions compiled at one time; default as many as there are
	// processors. The result does not depend on it.
	Workers int
	// NoOptimize leaves out the mid-end, which compiles faster, to slower code.
	NoOptimize bool
	// NoSpectre leaves out what keeps a processor that speculates from taking indices that are out of
	// bounds, of tables and of br_table. That is for modules whose authors are trusted.
	NoSpectre bool
	// MaxModuleBytes, MaxFunctions (imported ones included), MaxFunctionBytes (of each function in the module)
	// and MaxCodeBytes (of machine code) bound what is compiled; a module with more gives a
	// *CompileLimitError. 0 means the default, 2^30, 1,000,000, 7,654,321 and 2^29, which cannot be exceeded.
	MaxModuleBytes, MaxFunctions, MaxFunctionBytes, MaxCodeBytes uint64
	// MaxMemory bounds what the compiler counts of its own memory, in bytes, with a *CompileLimitError; 0 means no
	// limit. It counts the module, what is made of its declarations, three times the code with its tables, and the tables of the largest function; the
	// garbage collector's share and further workers come on top.
	MaxMemory uint64
	// Progress, if not nil, is called after each function, one call at a time.
	Progress func(done, total int)
}

// Compile compiles a module and makes it ready to be instantiated. The errors are
// *ModuleError, *FuncError, *CompileLimitError and those of Load.
func Compile(wasm []byte, o *CompileOptions) (*Module, error) {
	return CompileContext(context.Background(), wasm, o)
}

// CompileContext is Compile until ctx ends: then it ends soon, whatever it is doing, with a *CancelError, and
// nothing of it runs any more. Only the code's way into memory at its end, as that of Load, is not interrupted: a
// millisecond or two for each megabyte of code.
func CompileContext(ctx context.Context, wasm []byte, o *CompileOptions) (*Module, error) {
	r, err := compileWasm(ctx, wasm, o)
	if err != nil {
		return nil, err
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return nil, loaded.Error(err)
	}
	m, err := loaded.New(img)
	return (*Module)(m), err
}

// CompileObject compiles a module to an object, an ELF file, which Load accepts, and linkers
// too. It works on every machine. The errors are *ModuleError, *FuncError and *CompileLimitError.
func CompileObject(wasm []byte, o *CompileOptions) ([]byte, error) {
	return CompileObjectContext(context.Background(), wasm, o)
}

// CompileObjectContext is CompileObject until ctx ends, as CompileContext is.
func CompileObjectContext(ctx context.Context, wasm []byte, o *CompileOptions) ([]byte, error) {
	r, err := compileWasm(ctx, wasm, o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := r.WriteELFContext(ctx, &b); err != nil {
		return nil, compileError(err)
	}
	return b.Bytes(), nil
}

func compileWasm(ctx context.Context, wasm []byte, o *CompileOptions) (*compile.Result, error) {
	if o == nil {
		o = &CompileOptions{}
	}
	c := compile.Options{Name: o.Name, Target: o.Target, CPU: o.CPU, Jobs: o.Workers, Progress: o.Progress, OptLevel: opt.O1, NoSpectre: o.NoSpectre, Context: ctx,
		Limits: compile.Limits{ModuleBytes: o.MaxModuleBytes, Functions: o.MaxFunctions, FunctionBytes: o.MaxFunctionBytes,
			CodeBytes: o.MaxCodeBytes, Memory: o.MaxMemory}}
	if o.NoOptimize {
		c.OptLevel = opt.O0
	}
	r, err := compile.Module(wasm, c)
	return r, compileError(err)
}
