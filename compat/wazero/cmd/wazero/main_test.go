package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot"
)

// TestRun: the exit status is that of the program, of a timeout, or of a wrong command line.
func TestRun(t *testing.T) {
	file := func(name, text string) string {
		wasm, err := waot.ParseText([]byte(text))
		path := filepath.Join(t.TempDir(), name)
		if err == nil {
			err = os.WriteFile(path, wasm, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := func(module string) string {
		return `(module (import "` + module + `" "args_sizes_get" (func $sizes (param i32 i32) (result i32))) (import "` + module + `" "proc_exit" (func $exit (param i32)))
			(memory (export "memory") 1) (func (export "_start") (drop (call $sizes (i32.const 0) (i32.const 4))) (call $exit (i32.load (i32.const 0)))))`
	}
	counts, older := file("counts.wasm", args("wasi_snapshot_preview1")), file("older.wasm", args("wasi_unstable"))
	loop := file("loop.wasm", `(module (func (export "_start") (loop (br 0))))`)
	cache := t.TempDir()
	deadline := sys.ExitCodeDeadlineExceeded
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, 0},
		{[]string{"version"}, 0},
		{[]string{"nonsense"}, 1},
		{[]string{"run"}, 1},
		{[]string{"run", "-h"}, 0},
		{[]string{"run", counts}, 1},
		{[]string{"run", "-cachedir", cache, counts, "a", "b"}, 3},
		{[]string{"run", older, "--", "-x"}, 2},
		{[]string{"run", "-env", "A", counts}, 1},
		{[]string{"run", "-mount", "/nothing/here:/", counts}, 1},
		{[]string{"run", "-mount", cache + ":/:ro", "-env", "A=b", "-hostlogging", "proc", counts, "a"}, 2},
		{[]string{"run", "-hostlogging", "nothing", counts}, 1},
		{[]string{"run", "-timeout", "10ms", loop}, int(deadline)},
		{[]string{"compile", "-cachedir", cache, counts}, 0},
		{[]string{"compile", "main_test.go"}, 1},
	} {
		if got := run(c.args); got != c.want {
			t.Errorf("%q: status %d, want %d", c.args, got, c.want)
		}
	}
	if files, err := os.ReadDir(filepath.Join(cache, "waot")); err != nil || len(files) == 0 {
		t.Errorf("the cache has %v, %v", files, err)
	}
}
