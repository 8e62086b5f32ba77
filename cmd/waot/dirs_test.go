package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// prober is a program that asks each of its first eight descriptors for a preopened directory, opens the file "canary" in
// it, and reads that. It writes the error numbers of the former, those of the latter, and what it has read, 16 bytes at most.
var prober = module(
	section(1, "\x60\x00\x00", "\x60\x02\x7f\x7f\x01\x7f", "\x60\x09\x7f\x7f\x7f\x7f\x7f\x7e\x7e\x7f\x7f\x01\x7f", "\x60\x04\x7f\x7f\x7f\x7f\x01\x7f"),
	section(2, name("wasi_snapshot_preview1")+name("fd_prestat_get")+"\x00\x01", name("wasi_snapshot_preview1")+name("path_open")+"\x00\x02",
		name("wasi_snapshot_preview1")+name("fd_read")+"\x00\x03", name("wasi_snapshot_preview1")+name("fd_write")+"\x00\x03"),
	section(3, "\x00"), section(5, "\x00\x01"), section(7, name("memory")+"\x02\x00", name("_start")+"\x00\x04"),
	section(10, name("\x01\x02\x7f"+ // locals 0, a descriptor, and 1
		"\x03\x40"+
		"\x20\x00\x20\x00\x41\x00\x10\x00\x3a\x00\x40"+ // store8 offset=64 (0) (fd_prestat_get (0) 0)
		"\x20\x00\x20\x00\x41\x00\x41\x20\x41\x06\x41\x00\x42\x02\x42\x00\x41\x00\x41\x08\x10\x01\x22\x01\x3a\x00\x48"+ // store8 offset=72 (0) (path_open (0) 0 32 6 0 2 0 0 8)
		"\x20\x01\x45\x04\x40\x41\x08\x28\x02\x00\x41\x10\x41\x01\x41\x0c\x10\x02\x1a\x0b"+ // if that is 0: fd_read (load 8) 16 1 12
		"\x20\x00\x41\x01\x6a\x22\x00\x41\x08\x49\x0d\x00\x0b"+ // again while 0 is below 8
		"\x41\x01\x41\x18\x41\x01\x41\x0c\x10\x03\x1a\x0b")), // fd_write 1 24 1 12
	section(11, "\x00\x41\x10\x0b"+name("\x50\x00\x00\x00\x10\x00\x00\x00\x40\x00\x00\x00\x20\x00\x00\x00canary")), // at 16: {80, 16}, {64, 32}
)

// TestNoDirectory: a program that was given no directory has none, not even the current one; one that was given a directory has that,
// and no other.
func TestNoDirectory(t *testing.T) {
	setUp(t)
	for file, text := range map[string]string{"prober.wasm": prober, "canary": "in the current", filepath.Join("other", "canary"): "in the other"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("empty", 0o777); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := execute("build", "prober.wasm", "-o", "prober.o"); status != 0 {
		t.Fatal(stderr)
	}
	const badf, noent, notdir = 8, 44, 54
	for _, c := range []struct {
		dir          []string
		prestat      byte // what descriptor 3 says of itself
		open         byte // of the file
		content, why string
	}{
		{nil, badf, badf, "", "no directory"},
		{[]string{"--dir", "."}, 0, 0, "in the current", "the current one"},
		{[]string{"--dir", ".::/else"}, 0, 0, "in the current", "the current one by another name"},
		{[]string{"--dir", "other::/"}, 0, 0, "in the other", "another one"},
		{[]string{"--dir", "empty::."}, 0, noent, "", "an empty one by the current one's name"},
	} {
		for _, file := range []string{"prober.wasm", "prober.o"} {
			t.Run(file+" "+strings.Join(c.dir, " "), func(t *testing.T) {
				status, stdout, stderr := execute(append([]string{"run", file}, c.dir...)...)
				if status != 0 || stderr != "" || len(stdout) != 32 {
					t.Fatalf("status %d, %q, %s", status, stdout, stderr)
				}
				want := [32]byte{badf, badf, badf, c.prestat, badf, badf, badf, badf, notdir, notdir, notdir, c.open, badf, badf, badf, badf}
				if c.open == 0 {
					want[12] = notdir // descriptor 4 is the file by then
				}
				copy(want[16:], c.content)
				if !bytes.Equal([]byte(stdout), want[:]) {
					t.Errorf("%s: % x %q, want % x %q", c.why, stdout[:16], stdout[16:], want[:16], want[16:])
				}
			})
		}
	}
}
