// Command program runs the module that wasm2gorun builds into it, and reports the time between the marks.
package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/waot-project/waot/bench/peers/wasm2gorun/program/guest"
	"github.com/waot-project/waot/bench/peers/wasm2gorun/program/host"
)

func main() {
	h, err := host.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// New has a parameter for each imported module, in the order of the imports. The host is all of them.
	create := reflect.ValueOf(guest.New)
	args := make([]reflect.Value, create.Type().NumIn())
	for i := range args {
		args[i] = reflect.ValueOf(h)
	}
	module := create.Call(args)[0].Interface().(*guest.Module)
	status := host.Run(module.X_start)
	if err := h.Result.Emit(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(status)
}
