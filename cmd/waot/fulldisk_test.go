//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
)

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
