//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestFullOutput: what cannot be printed is an error, too.
func TestFullOutput(t *testing.T) {
	setUp(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"inspect", "lib.wasm", "--emit=asm"}, {"build", "lib.wasm", "-o", "lib.o"}, {"version"}, {"cache", "ls", "--cache=folder"}, {"run", "lib.wasm", "--invoke=add", "--", "1", "2"}} {
		var errs strings.Builder
		if status := run(args, strings.NewReader(""), full, &errs); status != 1 || !strings.Contains(errs.String(), "standard output: no space left on device") {
			t.Errorf("%v: status %d, %s", args, status, errs.String())
		}
	}
	if status := run([]string{"validate", "lib.wasm", "--json"}, strings.NewReader(""), full, io.Discard); status != 1 {
		t.Errorf("status %d", status)
	}
	// A program does with it what it wants.
	var errs strings.Builder
	if status := run([]string{"run", "exit.wasm"}, strings.NewReader(""), full, &errs); status != 7 {
		t.Errorf("status %d, %s", status, errs.String())
	}
}

// TestFullDisk: a build for which the disk has no room fails with one line and leaves nothing.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64k"); err != nil {
		fmt.Fprintf(os.Stderr, "WARNING: a full disk is not tried: mounting a small one needs root: %v\n", err)
		testenv.Missing(t, err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, 0); err != nil {
			t.Error(err)
		}
	})
	program, module := buildProgram(t)
	object := filepath.Join(disk, "m.o")
	out, err := exec.Command(program, "build", module, "-o", object).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Error(err)
	}
	if text := string(out); strings.Count(text, "\n") != 1 || !strings.Contains(text, object) || !strings.Contains(text, syscall.ENOSPC.Error()) {
		t.Errorf("%q", text)
	}
	if left, err := os.ReadDir(disk); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}
