//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/waot-project/waot/compile"
)

// profileFiles compiles the modules for each target, several times, and writes the profile of the processor time that the Go compiler builds
// waot with. Modules that are refused are left out.
func profileFiles(out string, modules []string, times int, o compile.Options) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	o.CPU = ""
	for _, name := range modules {
		wasm, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for range times {
			if err := compileEach(wasm, o); err != nil {
				fmt.Fprintf(os.Stderr, "waot-bench: %s: %v\n", name, err)
				break
			}
		}
	}
	return nil
}

// compileEach compiles a module for each target.
func compileEach(wasm []byte, o compile.Options) error {
	for _, o.Target = range compile.Targets() {
		res, err := compile.Module(wasm, o)
		if err != nil {
			return err
		}
		if _, err := res.ELF(nil); err != nil {
			return err
		}
	}
	return nil
}
