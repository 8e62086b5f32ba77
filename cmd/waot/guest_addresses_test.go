//go:build linux

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestFewAddresses: a process with a limit of addresses says what to do, and does it.
func TestFewAddresses(t *testing.T) {
	if os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("an emulator has addresses of its own: not in an emulator")
	}
	if list := os.Getenv("WAOT_TEST_FEW_ADDRESSES"); list != "" {
		os.Exit(run(strings.Fields(list), strings.NewReader(""), os.Stdout, os.Stderr))
	}
	setUp(t)
	limited := func(args string) (string, error) {
		cmd := exec.Command("sh", "-c", `ulimit -v 3000000; exec "$0" -test.run='^TestFewAddresses$'`, os.Args[0])
		cmd.Env = append(os.Environ(), "WAOT_TEST_FEW_ADDRESSES="+args)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	args := "run --cache=off --invoke add lib.wasm -- 40 2"
	if out, err := limited(args); err == nil || strings.Count(out, "\n") != 1 || !strings.Contains(out, "--bounds=explicit") {
		t.Errorf("%v, %s", err, out)
	}
	if out, err := limited(strings.Replace(args, "run", "run --bounds=explicit", 1)); err != nil || !strings.Contains(out, "42") {
		t.Errorf("with explicit bounds: %v, %s", err, out)
	}
}
