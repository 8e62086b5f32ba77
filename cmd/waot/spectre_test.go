package main

import (
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
)

// spectreMasks are, by target, what keeps misspeculation within a bound.
var spectreMasks = map[string]string{compile.TargetX64: "sbb ", compile.TargetA64: "hint #0x14"} // csdb

// TestSpectre: each index of a table and of br_table is masked, and none is with --spectre=off.
func TestSpectre(t *testing.T) {
	setUp(t)
	files := map[string]string{
		"get": "\x20\x00\x25\x00\x1a\x20\x00", "set": "\x20\x00\xd0\x70\x26\x00\x20\x00", "indirect": "\x20\x00\x20\x00\x11\x00\x00",
		// Five entries and the default, to two blocks.
		"switch": "\x02\x40\x02\x40\x20\x00\x0e\x05\x00\x01\x00\x01\x00\x01\x0b\x41\x07\x21\x00\x0b\x20\x00",
		"none":   "\x20\x00\x20\x00\x6c",
	}
	for name, body := range files {
		if err := os.WriteFile(name+".wasm", []byte(module(section(1, "\x60\x01\x7f\x01\x7f"), section(3, "\x00"), section(4, "\x70\x00\x05"), section(10, code(body)))), 0o666); err != nil {
			t.Fatal(err)
		}
		for target, mask := range spectreMasks {
			for _, mode := range []string{"on", "off"} {
				want := 0
				if mode == "on" && name != "none" {
					want = 1
				}
				status, stdout, stderr := execute("inspect", name+".wasm", "--func=0", "--emit=asm", "--target", target, "--spectre", mode)
				if status != 0 {
					t.Fatal(stderr)
				}
				if got := strings.Count(stdout, mask); got != want {
					t.Errorf("%s for %s, --spectre=%s: %d masks, want %d\n%s", name, target, mode, got, want, stdout)
				}
			}
		}
	}
}
