//go:build linux && (amd64 || arm64)

package waot_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/waot-project/waot"
)

// The modules are described in testdata/wasm/README.md.
var (
	//go:embed testdata/wasm/div.wasm
	divWasm []byte
	//go:embed testdata/wasm/greet.wasm
	greetWasm []byte
	//go:embed testdata/wasm/hello.wasm
	helloWasm []byte
	//go:embed testdata/wasm/keep.wasm
	keepWasm []byte
	//go:embed testdata/wasm/loop.wasm
	loopWasm []byte
)

// instantiate compiles a module and makes an instance in a store of its own.
func instantiate(wasm []byte, imports waot.Imports) (*waot.Store, *waot.Instance) {
	mod, err := waot.Compile(wasm, nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := waot.NewStore(nil)
	if err != nil {
		log.Fatal(err)
	}
	inst, err := store.Instantiate(context.Background(), mod, imports)
	if err != nil {
		log.Fatal(err)
	}
	return store, inst
}

// function is an exported function.
func function(inst *waot.Instance, name string) *waot.Func {
	f, err := inst.Func(name)
	if err != nil {
		log.Fatal(err)
	}
	return f
}

func Example() {
	ctx := context.Background()
	mod, err := waot.Compile(addWasm, nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := waot.NewStore(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	inst, err := store.Instantiate(ctx, mod, nil)
	if err != nil {
		log.Fatal(err)
	}
	add, err := inst.Func("add")
	if err != nil {
		log.Fatal(err)
	}
	results, err := add.Call(ctx, 40, 2)
	fmt.Println(results, err)
	// Output: [42] <nil>
}

// Go functions are imports. They may ask for the context and the caller.
func ExampleParseText() {
	wasm, err := waot.ParseText([]byte(`
		(module
		  (func (export "twice") (param $n i32) (result i32)
		    (i32.add (local.get $n) (local.get $n))))`))
	if err != nil {
		log.Fatal(err)
	}
	store, inst := instantiate(wasm, nil)
	defer store.Close()
	fmt.Println(function(inst, "twice").Call(context.Background(), 21))
	_, err = waot.ParseText([]byte("(module\n  (func i32.plus))"))
	fmt.Println(err)
	// Output:
	// [42] <nil>
	// 2:9: unknown operator i32.plus, expected an operator or )
}

func ExampleImports() {
	store, inst := instantiate(greetWasm, waot.Imports{"env": {
		"log": func(c *waot.Caller, ptr, n uint32) error {
			s, ok := c.Memory().ReadString(ptr, n)
			if !ok {
				return errors.New("log: outside of the memory")
			}
			fmt.Println("the module says:", s)
			return nil
		},
	}})
	defer store.Close()
	if _, err := function(inst, "greet").Call(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: the module says: hello, world
}

// A WASI program reaches only what it is given.
func ExampleNewWASI() {
	ctx := context.Background()
	var stdout bytes.Buffer
	wasi, err := waot.NewWASI(&waot.WASIOptions{Args: []string{"hello"}, Stdout: &stdout})
	if err != nil {
		log.Fatal(err)
	}
	defer wasi.Close()
	store, inst := instantiate(helloWasm, wasi.Imports())
	defer store.Close()
	status, err := wasi.Start(ctx, inst)
	fmt.Printf("status %d, error %v, output %q\n", status, err, stdout.String())
	// Output: status 0, error <nil>, output "hello, WASI\n"
}

// A context ends compiled code wherever it is.
func ExampleFunc_Call() {
	store, inst := instantiate(loopWasm, nil)
	defer store.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := function(inst, "forever").Call(ctx)
	fmt.Println(errors.Is(err, waot.ErrCancelled), errors.Is(err, context.DeadlineExceeded))
	var e *waot.CancelError
	if errors.As(err, &e) {
		fmt.Println("it was in", e.Backtrace[0].Name)
	}
	// Output:
	// true true
	// it was in forever
}

// An object is compiled once, and loaded as often as needed, also by programs without a
// compiler: those import package host.
func ExampleLoad() {
	object, err := waot.CompileObject(addWasm, &waot.CompileOptions{Name: "add"})
	if err != nil {
		log.Fatal(err)
	}
	mod, err := waot.Load(object, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer mod.Close()
	for _, e := range mod.Exports() {
		fmt.Println(mod.Name(), e.Name, e.Type)
	}
	// Output: add add function (i32, i32) -> (i32)
}

// An externref refers to any Go value. The module can keep it, and give it back.
func ExampleRef() {
	ctx := context.Background()
	store, inst := instantiate(keepWasm, waot.Imports{"env": {
		"show": func(v any) { fmt.Printf("%T %v\n", v, v) },
	}})
	defer store.Close()
	if _, err := function(inst, "put").Call(ctx, 1, time.Second); err != nil {
		log.Fatal(err)
	}
	if _, err := function(inst, "show").Call(ctx, 1); err != nil {
		log.Fatal(err)
	}
	results, err := function(inst, "get").Call(ctx, 1)
	fmt.Println(results[0].(time.Duration), err)
	// Output:
	// time.Duration 1s
	// 1s <nil>
}

// A trap says what happened and where. The instance can be called again.
func ExampleTrap() {
	store, inst := instantiate(divWasm, nil)
	defer store.Close()
	div := function(inst, "div")
	_, err := div.Call(context.Background(), 1, 0)
	var trap *waot.Trap
	if errors.As(err, &trap) && trap.Code == waot.TrapIntegerDivideByZero {
		for _, f := range trap.Backtrace {
			fmt.Printf("%v in %s at offset %#x\n", trap.Code, f.Name, f.Offset)
		}
	}
	results, err := div.Call(context.Background(), 84, 2)
	fmt.Println(results, err)
	// Output:
	// integer divide by zero in div at offset 0x27
	// [42] <nil>
}

// CallRaw is for calls that are so frequent that the conversion of arguments matters.
func ExampleFunc_CallRaw() {
	ctx := context.Background()
	store, inst := instantiate(addWasm, nil)
	defer store.Close()
	add := function(inst, "add")
	stack := make([]uint64, 2)
	sum := uint64(0)
	for i := range uint64(1000) {
		stack[0], stack[1] = sum, i
		if err := add.CallRaw(ctx, stack); err != nil {
			log.Fatal(err)
		}
		sum = stack[0]
	}
	fmt.Println(sum)
	// Output: 499500
}
