package main

import (
	"os"
	"strings"
	"testing"
)

// TestDiffPlacesWASI: where a trap is that depends on what WASI writes to memory is the same on the CLIF interpreter, which has WASI, too.
func TestDiffPlacesWASI(t *testing.T) {
	setUp(t)
	program := module(section(1, "\x60\x02\x7f\x7f\x01\x7f", "\x60\x00\x00"),
		section(2, name("wasi_snapshot_preview1")+name("args_sizes_get")+"\x00\x00"), section(3, "\x01"), section(5, "\x00\x01"),
		section(7, name("_start")+"\x00\x01", name("memory")+"\x02\x00"),
		// (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
		// (if (i32.load (i32.const 0)) (then unreachable))
		// unreachable
		section(10, code("\x41\x00\x41\x04\x10\x00\x1a\x41\x00\x28\x02\x00\x04\x40\x00\x0b\x00")))
	if err := os.WriteFile("places.wasm", []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := execute("diff", "places.wasm")
	if status != statusDone || stderr != "" || !strings.Contains(stdout, "same: ") || !strings.Contains(stdout, ", places of 1 traps\n") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}
