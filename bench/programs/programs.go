// Package programs has ordinary Go programs, for measurements and tests, each in a folder. A program computes with the standard library what
// such programs compute, between bench.start and bench.end, and prints its name and a checksum of all results. Built for wasip1 it
// prints what it prints natively.
//
// Place in the pipeline: none.
//
// Input: the name of a program.
// Output: its module, or an executable file of this machine.
package programs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Names returns the names of the programs in alphabetical order.
func Names() []string {
	return strings.Fields("bignum cache flate floats interp json regexp sorting source templates trees words")
}

// Module builds a program for wasip1 into a file.
func Module(name, file string) error { return build(name, file, "GOOS=wasip1", "GOARCH=wasm") }

// Native builds a program for this machine into a file.
func Native(name, file string) error { return build(name, file, "GOOS=", "GOARCH=", "CGO_ENABLED=0") }

func build(name, file string, env ...string) error {
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("no program is called %q", name)
	}
	c := exec.Command("go", "build", "-o", file, "github.com/waot-project/waot/bench/programs/"+name)
	c.Env = append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, bytes.TrimSpace(out))
	}
	return nil
}
