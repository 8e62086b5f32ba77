//go:build linux && (amd64 || arm64)

package host_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// compiled is the object of a module of testdata/wasm. In earnest it comes from a file, made by
// waot build.
func compiled(name string) []byte {
	wasm, err := os.ReadFile("../testdata/wasm/" + name + ".wasm")
	if err != nil {
		log.Fatal(err)
	}
	object, err := waot.CompileObject(wasm, nil)
	if err != nil {
		log.Fatal(err)
	}
	return object
}

// run makes an instance of an object in a new store.
func run(object []byte, imports host.Imports) (*host.Store, *host.Instance) {
	mod, err := host.Load(object, nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := host.NewStore(nil)
	if err != nil {
		log.Fatal(err)
	}
	inst, err := store.Instantiate(context.Background(), mod, imports)
	if err != nil {
		log.Fatal(err)
	}
	return store, inst
}

func ExampleLoad() {
	mod, err := host.Load(compiled("add"), nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := host.NewStore(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()
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

// A RawFunc gets and gives words, without conversion.
func ExampleRawFunc() {
	show := func(c *host.Caller, args, results []uint64) error {
		b, _ := c.Memory().Read(uint32(args[0]), uint32(args[1]))
		fmt.Printf("%s, called from %s\n", b, c.Backtrace()[0].Name)
		return nil
	}
	store, inst := run(compiled("greet"), host.Imports{"env": {
		"log": host.RawFunc{Params: []host.ValType{host.TypeI32, host.TypeI32}, Func: show},
	}})
	defer store.Close()
	greet, err := inst.Func("greet")
	if err == nil {
		err = greet.CallRaw(context.Background(), nil)
	}
	fmt.Println(err)
	// Output:
	// hello, world, called from greet
	// <nil>
}

// The error of a Go function ends the call, and arrives as it is.
func ExampleStore_NewFunc() {
	errFull := errors.New("the log is full")
	store, inst := run(compiled("greet"), host.Imports{"env": {
		"log": func(ptr, n int32) error { return errFull },
	}})
	defer store.Close()
	greet, err := inst.Func("greet")
	if err == nil {
		_, err = greet.Call(context.Background())
	}
	fmt.Println(err == errFull)
	// Output: true
}

// A wrong import says what was wanted.
func ExampleLinkError() {
	mod, err := host.Load(compiled("greet"), nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := host.NewStore(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	_, err = store.Instantiate(context.Background(), mod, host.Imports{"env": {"log": func(s int64) {}}})
	fmt.Println(err)
	var link *host.LinkError
	fmt.Println(errors.As(err, &link))
	// Output:
	// incompatible import type: "env" "log": wanted function (i32, i32) -> (), got func(int64), function (i64) -> ()
	// true
}
