// Command embed runs WebAssembly inside a Go program: it compiles two modules that are part
// of it, gives one a Go function to call, and ends the other, an endless loop, at a deadline.
//
//	go run ./examples/embed
//
// The modules are copies from testdata/wasm. As text they are
//
//	(module
//	  (import "env" "log" (func $log (param i32 i32)))
//	  (memory (export "memory") 1 3)
//	  (data (i32.const 16) "hello, world")
//	  (func (export "greet") i32.const 16 i32.const 12 call $log))
//
//	(module (func (export "forever") loop br 0 end))
//
// and "go test . -run TestModules -update" in the root of the repository makes them.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/waot-project/waot"
)

var (
	//go:embed greet.wasm
	greetWasm []byte
	//go:embed loop.wasm
	loopWasm []byte
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := call(ctx, greetWasm, "greet"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	err := call(ctx, loopWasm, "forever")
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("an endless loop has ended: %w", err)
	}
	fmt.Println(err)
	return nil
}

// imports are the Go functions that modules can call.
func imports() waot.Imports {
	return waot.Imports{"env": {
		"log": func(c *waot.Caller, ptr, n uint32) error {
			s, ok := c.Memory().ReadString(ptr, n)
			if !ok {
				return errors.New("log: outside of the memory")
			}
			fmt.Println("the module says:", s)
			return nil
		},
	}}
}

// call compiles a module and calls one of its functions, in a store of its own.
func call(ctx context.Context, wasm []byte, name string) error {
	mod, err := waot.Compile(wasm, nil)
	if err != nil {
		return err
	}
	defer mod.Close()
	store, err := waot.NewStore(&waot.StoreOptions{MaxMemoryPages: 16})
	if err != nil {
		return err
	}
	defer store.Close()
	inst, err := store.Instantiate(ctx, mod, imports())
	if err != nil {
		return err
	}
	f, err := inst.Func(name)
	if err != nil {
		return err
	}
	_, err = f.Call(ctx)
	return err
}
