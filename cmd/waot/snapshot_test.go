package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// frozenText is a program that writes a letter before the marker, and two behind it: the first is what it computed before.
const frozenText = `(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "waot" "snapshot" (func $snapshot))
  (memory (export "memory") 1)
  (data (i32.const 8) "\20\00\00\00\01\00\00\00")
  (func $put (param i32)
    (i32.store8 (i32.const 32) (local.get 0))
    (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 16))))
  (func $dead (result i32) (i32.add (i32.load8_u (i32.const 40)) (i32.const 77)))
  (func (export "_start") (local $x i32)
    (call $put (i32.const 97))
    (local.set $x (call $dead))
    (call $snapshot)
    (call $put (local.get $x))
    (call $put (i32.const 10)))
  (func (export "warm") (i32.store8 (i32.const 40) (i32.const 3))))`

// TestBuildSnapshot: each kind of output begins where the program was frozen.
func TestBuildSnapshot(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("frozen.wat", []byte(frozenText), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		out, snapshot, want string
		run                 []string
	}{
		{"app.o", "--snapshot", "M\n", []string{"run", "app.o"}},
		{"app.img", "--snapshot", "M\n", []string{"run", "app.img"}},
		{"app.wasm", "--snapshot", "M\n", []string{"run", "app.wasm"}},
		{"warm.wasm", "--snapshot=warm", "aP\n", []string{"run", "warm.wasm"}}, // the marker is passed later
	} {
		status, out, errs := execute("build", "frozen.wat", "-o", c.out, c.snapshot)
		if status != 0 || !strings.Contains(out, "snapshot: ") {
			t.Fatalf("%s: %d %s%s", c.out, status, out, errs)
		}
		// What is written meanwhile goes to standard error.
		if want := map[bool]string{true: "a"}[c.snapshot == "--snapshot"]; errs != want {
			t.Errorf("%s: %q on standard error, want %q", c.out, errs, want)
		}
		if status, out, errs := execute(c.run...); status != 0 || out != c.want {
			t.Errorf("%s: %d %q %s, want %q", c.out, status, out, errs, c.want)
		}
	}
	// Without --snapshot the marker does nothing.
	if status, out, errs := execute("run", "frozen.wat"); status != 0 || out != "aM\n" {
		t.Errorf("%d %q %s", status, out, errs)
	}
}

// TestSnapshotExecutable: executables of both machines.
func TestSnapshotExecutable(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("frozen.wat", []byte(frozenText), 0o666); err != nil {
		t.Fatal(err)
	}
	for arch, target := range map[string]string{"amd64": "x86-64-linux", "arm64": "aarch64-linux"} {
		m, err := emulate.For(arch, "")
		if err != nil {
			testenv.Missing(t, err.Error())
		}
		for _, c := range []struct{ flag, want string }{{"--snapshot", "M\n"}, {"--json", "aM\n"}} {
			if status, out, errs := execute("build", "frozen.wat", "-o", "app", "--target", target, c.flag); status != 0 {
				t.Fatalf("%s: %d %s%s", target, status, out, errs)
			}
			out, err := m.Command(t.Context(), "./app").Output()
			if err != nil || string(out) != c.want {
				t.Errorf("%s %s: %q %v, want %q", target, c.flag, out, err, c.want)
			}
		}
	}
}

// TestSnapshotErrors: what is wrong is said in a line, and nothing is written.
func TestSnapshotErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"frozen.wat": frozenText,
		"clock.wat":  `(module (import "wasi_snapshot_preview1" "clock_time_get" (func $f (param i32 i64 i32) (result i32))) (memory (export "memory") 1) (func (export "_initialize") (drop (call $f (i32.const 0) (i64.const 0) (i32.const 0)))))`,
		"trap.wat":   "(module (data $d \"x\") (func (export \"_initialize\") (data.drop $d)\n  unreachable))",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args, want string
		status     int
	}{
		{"clock.wat -o x.o --snapshot", "waot: clock.wat: no snapshot: the program looks at a clock, and no time is given", 1},
		{"clock.wat -o x.o --snapshot --snapshot-time=2001-02-03T04:05:06Z", "", 0},
		{"clock.wat -o x.o --snapshot --snapshot-time=yesterday", "--snapshot-time=yesterday: must be like", 2},
		{"frozen.wat -o x.o --snapshot=cold", `frozen.wat: no snapshot: the module exports no function "cold"`, 1},
		{"frozen.wat -o x.o --snapshot=", "must name an exported function", 2},
		{"frozen.wat -o x.o --snapshot-seed=1", "--snapshot-seed: counts only with --snapshot", 2},
		{"frozen.wat -o x.wasm", "is a module's name", 2},
		{"frozen.wat -o x.wasm --snapshot --header x.h", "x.wasm is a module", 2},
		{"trap.wat -o x.o --snapshot", "trap.wat:2:3: function 0 (_initialize): wasm trap: unreachable", 1},
	} {
		os.Remove("x.o")
		status, _, errs := execute(append([]string{"build"}, strings.Fields(c.args)...)...)
		if status != c.status || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %q, want %d, %q", c.args, status, errs, c.status, c.want)
		}
		if _, err := os.Stat("x.o"); (err == nil) != (c.status == 0) {
			t.Errorf("%s: an output: %v", c.args, err)
		}
	}
}

// TestSnapshotJSON: what became of the module.
func TestSnapshotJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("frozen.wat", []byte(frozenText), 0o666); err != nil {
		t.Fatal(err)
	}
	_, out, errs := execute("build", "frozen.wat", "-o", "x.o", "--snapshot", "--json")
	var r buildResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Snapshot == nil {
		t.Fatal(err, out, errs)
	}
	s := r.Snapshot
	if !s.Marker || s.Export != "_start" || s.Functions != 4 || s.DeadFunctions != 1 || s.MemoryBytes != 65536 || s.BytesBefore == 0 || s.BytesAfter == 0 || s.DataBytes == 0 {
		t.Errorf("%+v", s)
	}
}
