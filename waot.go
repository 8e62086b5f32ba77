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
// The examples show more: Go functions as imports, WASI programs, deadlines, objects,
// references to Go values.
//
// # What is where
//
// [Compile] makes a [Module] from WebAssembly. [Load] makes one from an object that [CompileObject] or the
// command waot build made earlier. A [Store] holds instances, and [Store.Instantiate] makes
// them. [NewWASI] gives programs files, arguments and standard streams. [ParseText] reads modules
// in the text format.
//
// Everything but compilation and WASI is in package host (github.com/waot-project/waot/host) under
// the same names. Programs that only load objects import that instead, and contain no
// compiler. Its documentation says how stores, goroutines, contexts and imports work together,
// and describes the methods of the types below. Package host/wasirun does so for WASI.
//
// The functions of this package may be called from any goroutine at any time. Those with options take a pointer to a
// struct. A nil pointer means the defaults, as does each field that is zero. The struct is only read during the call.
//
// # Stability
//
// This package is part of the stable API. The others are host, host/hosterr, host/jsstring, host/sign, host/wasirun and wasi. The API consists
// of their exported names and documentation; testdata/api.txt lists the names. The API mentions no types of
// other packages. Structs may get more fields, so literals should name fields. Texts of errors may change. Before
// version 1 the API may still change; CHANGELOG.md says how. After that, a change that breaks programs needs a new major
// version.
//
// All other packages, and what waot inspect prints, may change in any release.
//
// # Place in the pipeline
//
// This package is the Go interface to the compiler (package compile), to the host (package host) and to WASI (package host/wasirun).
//
// Input: a WebAssembly module or an object, and what it imports.
// Output: an object, or a module that can be instantiated and called.
package waot

import (
	"context"
	"errors"
	"fmt"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/internal/cache"
	"github.com/waot-project/waot/wasmfront/fuel"
)

// CompileOptions say how to compile. A field that is zero means its default, as does a nil pointer for all.
type CompileOptions struct {
	// Name is the name of the module in backtraces, and the prefix of the object's symbols. The
	// default is "module".
	Name string
	// Target is the machine: "x86-64-linux" or "aarch64-linux". The default is the machine that the program runs
	// on if it is one of these, else x86-64. Code for another machine cannot be loaded.
	Target string
	// CPU is the level of processor that the code may need: "x86-64-v2", the default, or
	// "x86-64-v3"; "armv8.0-a", "armv8.2-a+dotprod". Loading fails with a *CPUError where the processor has less.
	CPU string
	// Workers is the number of functions that are compiled at one time. The default is the number of
	// processors. The result does not depend on it.
	Workers int
	// NoOptimize leaves out the optimizations of the mid-end: compilation is faster, the code slower.
	NoOptimize bool
	// NoSpectre leaves out the masks that keep a speculating processor from using an index of a table or of br_table
	// that is out of bounds. It is for modules whose authors are trusted.
	NoSpectre bool
	// ExplicitBounds makes code compare each address with the size of the memory, instead of relying on a reservation of 8 GiB behind it. Such memories take
	// the addresses that they need, may move when they grow, and may be a MemoryAllocator's (see StoreOptions). The code is larger and
	// slower. It can also use memories of code without this option, but not the other way round.
	ExplicitBounds bool
	// Regalloc is the register allocator: "linear", the default, "ssa", or "local", which compiles fastest.
	Regalloc string
	// Fuel makes code count how much fuel is left (StoreOptions.Fuel): each operator costs some, and each basic block is charged for all of its operators before it runs. The count is the
	// same on all machines, however code is optimized, as long as the module does the same (see Deterministic). Modules of one store must all count, or none of them.
	Fuel FuelMode
	// FuelCosts is what operators cost: lines of an operator's name and its cost, from 0 to 1000. Operators that are not named cost 1, or what docs/fuel.md says of the few that cost more or
	// nothing.
	FuelCosts string
	// Deterministic gives the same results on all machines: NaNs that operators compute are canonical, and relaxed
	// operators do what the specification's deterministic profile says.
	Deterministic bool
	// MaxModuleBytes bounds the module, MaxFunctions its functions (imported ones included), MaxFunctionBytes the
	// body of each function in the module, and MaxCodeBytes the machine code with the tables of its traps, calls and stack maps. A module with more gives a
	// *CompileLimitError. The defaults are 2^30 bytes, 1,000,000 functions, 7,654,321 bytes and 2^29 bytes; larger
	// values have no effect.
	MaxModuleBytes, MaxFunctions, MaxFunctionBytes, MaxCodeBytes uint64
	// MaxMemory bounds, in bytes, what the compiler counts of its own memory; more gives a *CompileLimitError. The
	// default is no limit. The compiler counts 8 MiB for any module, the module, what it makes from the module's declarations, three times the
	// code with its tables, and the tables of the largest function. With one worker and Go's usual pace of collection, the
	// peak of memory is at most three times MaxMemory. Tables of further workers are not counted.
	MaxMemory uint64
	// Snapshot, if not nil, initialises the module now, in this process: what is compiled is a module whose instances begin behind that, as SnapshotModule makes it.
	Snapshot *SnapshotOptions
	// Cache, if not nil, keeps what Compile and CompileContext make; CompileObject and CompileObjectContext do not use it. Progress
	// is not called for a module that is there.
	Cache *Cache
	// Progress, if not nil, is called after each function has been compiled, from any goroutine, but never by two at once. done and
	// total are numbers of functions.
	Progress func(done, total int)
}

// FuelMode says how code counts fuel.
type FuelMode uint8

const (
	// FuelOff: code does not count.
	FuelOff FuelMode = iota
	// FuelExact: code traps (TrapOutOfFuel) in front of the first block that cannot be paid and has an effect or begins a loop, or where a call from Go
	// ends. See docs/fuel.md.
	FuelExact
	// FuelSlack: the count is as exact, but code does not compare it. It traps once the host looks: where it calls a Go function, and otherwise about every 10
	// milliseconds, when Go's scheduler interrupts it; never in between if Preemption returns an error.
	FuelSlack
)

// Compile compiles a module and makes it ready to be instantiated. wasm is a module in the binary format. The errors are
// *ModuleError, *FuncError, *CompileLimitError, those of Load, and one for an unknown target, CPU or register allocator.
func Compile(wasm []byte, o *CompileOptions) (*Module, error) {
	return CompileContext(context.Background(), wasm, o)
}

// CompileContext is like Compile, but ends with a *CancelError soon after ctx ends, whatever it is doing. No goroutine of
// the compilation is left then. Only the last step, which puts the code into memory, is not interrupted; it takes one or two
// milliseconds for each megabyte of code.
func CompileContext(ctx context.Context, wasm []byte, o *CompileOptions) (*Module, error) {
	c, err := compileOptions(ctx, o)
	if err != nil {
		return nil, err
	}
	if wasm, err = o.frozen(ctx, wasm, &c); err != nil {
		return nil, err
	}
	s := &cache.Source{Wasm: wasm, Fingerprint: c.Fingerprint(), Name: c.Name, Image: func() (*inproc.Image, error) {
		r, err := compile.Module(wasm, c)
		if err != nil {
			return nil, compileError(err)
		}
		img, err := load.Image(r.Object, r.Meta)
		if err != nil {
			return nil, loaded.ObjectError(err)
		}
		return img, nil
	}}
	var kept *cache.Cache
	if o != nil && o.Cache != nil {
		kept = o.Cache.cache
	}
	m, _, err := kept.Load(s)
	return (*Module)(m), err
}

// CompileObject compiles a module to an object: an ELF file for Load, or for a linker.
// It works on every machine. The errors are *ModuleError, *FuncError, *CompileLimitError, and one for an unknown target, CPU or register allocator.
func CompileObject(wasm []byte, o *CompileOptions) ([]byte, error) {
	return CompileObjectContext(context.Background(), wasm, o)
}

// CompileObjectContext is like CompileObject, but ends with a *CancelError soon after ctx ends, as CompileContext does.
func CompileObjectContext(ctx context.Context, wasm []byte, o *CompileOptions) ([]byte, error) {
	r, err := compileWasm(ctx, wasm, o)
	if err != nil {
		return nil, err
	}
	file, err := r.ELF(ctx)
	return file, compileError(err)
}

func compileWasm(ctx context.Context, wasm []byte, o *CompileOptions) (*compile.Result, error) {
	c, err := compileOptions(ctx, o)
	if err != nil {
		return nil, err
	}
	if wasm, err = o.frozen(ctx, wasm, &c); err != nil {
		return nil, err
	}
	r, err := compile.Module(wasm, c)
	return r, compileError(err)
}

// compileOptions converts options, which may be nil.
func compileOptions(ctx context.Context, o *CompileOptions) (compile.Options, error) {
	if o == nil {
		o = &CompileOptions{}
	}
	c := compile.Options{Name: o.Name, Target: o.Target, CPU: o.CPU, Jobs: o.Workers, Progress: o.Progress, OptLevel: opt.O1, NoSpectre: o.NoSpectre, ExplicitBounds: o.ExplicitBounds, Regalloc: o.Regalloc, Deterministic: o.Deterministic, Context: ctx,
		Limits: compile.Limits{ModuleBytes: o.MaxModuleBytes, Functions: o.MaxFunctions, FunctionBytes: o.MaxFunctionBytes,
			CodeBytes: o.MaxCodeBytes, Memory: o.MaxMemory}}
	if o.NoOptimize {
		c.OptLevel = opt.O0
	}
	switch {
	case o.Fuel > FuelSlack:
		return c, fmt.Errorf("waot: unknown way to count fuel: %d", o.Fuel)
	case o.Fuel == FuelOff && o.FuelCosts != "":
		return c, errors.New("waot: costs of fuel for code that does not count it")
	case o.Fuel == FuelOff:
		return c, nil
	}
	var err error
	if c.Fuel, err = fuel.Parse(o.FuelCosts); err != nil {
		return c, fmt.Errorf("waot: costs of fuel: %w", err)
	}
	c.FuelSlack = o.Fuel == FuelSlack
	return c, nil
}
