//go:build linux

package main

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestCachePipe: whether a file is in the cache is not asked of a pipe, whose writer would find that its reader has gone.
func TestCachePipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if st, m, err := look(pipe); st != nil || m != nil || err != nil { // nobody writes: opening it would wait
		t.Error(st, m, err)
	}
}
