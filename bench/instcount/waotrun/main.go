// Command waotrun runs the objects of waot for instcount, in an emulator:
//
//	waotrun MODULE.o
//
// The module has WASI preview 1 with the working directory preopened as ".", argv[0]
// only, no environment, a clock that counts its readings and one constant for random
// bytes, so that runs are equal.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
)

func main() {
	status, err := run(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "waotrun:", err)
		os.Exit(1)
	}
	os.Exit(int(status))
}

func run(file string) (status uint32, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	mod, err := host.Load(b, nil)
	if err != nil {
		return 0, err
	}
	var reads int64
	clock := func() int64 {
		reads++
		return reads * int64(time.Millisecond)
	}
	return wasirun.Run(nil, mod, &wasirun.Options{
		Args: []string{"benchmark.wasm"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Dirs:     []wasirun.Dir{{Host: ".", Guest: "."}},
		Walltime: clock, Monotonic: clock, Rand: constant{},
	}, host.Imports{"bench": {"start": func() {}, "end": func() {}}})
}

// constant is a source of bytes that are all the same.
type constant struct{}

func (constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 42
	}
	return len(p), nil
}
