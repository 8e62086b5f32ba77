package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kept is what waot cache ls --json prints.
func kept(t *testing.T, flags ...string) (entries []struct {
	Key, Name string
	Bytes     int64
}) {
	t.Helper()
	status, stdout, stderr := execute(append([]string{"cache", "ls", "--json"}, flags...)...)
	list := struct{ Entries any }{&entries}
	if err := json.Unmarshal([]byte(stdout), &list); status != 0 || err != nil {
		t.Fatal(status, stdout, stderr, err)
	}
	return entries
}

// TestCache runs modules twice: the second time they are loaded, unless options or bytes differ.
func TestCache(t *testing.T) {
	setUp(t)
	t.Setenv("WAOT_CACHE", "folder")
	runs := func(want string, args ...string) {
		t.Helper()
		status, stdout, stderr := execute(append([]string{"run", "--time", "--invoke=add"}, append(args, "40", "2")...)...)
		if status != 0 || stdout != "i32:42\n" || !strings.HasPrefix(stderr, "waot: "+want+" in ") || !strings.Contains(stderr, "\nwaot: ran in ") {
			t.Errorf("%v: status %d, %q, %q, want %s", args, status, stdout, stderr, want)
		}
	}
	const compiled, loaded = "compiled", "loaded from the cache"
	runs(compiled, "lib.wasm")
	runs(loaded, "lib.wasm")
	runs(compiled, "lib.wasm", "--cache=off")
	for _, option := range []string{"-O0", "--spectre=off", "--deterministic", "--verify", "--regalloc-check=off", "--max-functions=50"} {
		runs(compiled, option, "lib.wasm")
		runs(loaded, option, "lib.wasm")
	}
	runs(loaded, "lib.wasm", "--jobs=2")
	runs(compiled, "lib.wasm", "--rules-off=add-zero") // not kept: for debugging
	runs(compiled, "lib.wasm", "--rules-off=add-zero")
	runs(compiled, "lib.wasm", "--cache=another")
	if err := os.Rename("lib.wasm", "renamed.wasm"); err != nil {
		t.Fatal(err)
	}
	runs(compiled, "renamed.wasm") // the name is in backtraces
	entries := kept(t)
	if len(entries) != 8 || entries[0].Name != "renamed" {
		t.Errorf("%+v", entries)
	}
	status, stdout, stderr := execute("cache", "ls")
	if want := "folder: 8 entries, "; status != 0 || !strings.Contains(stdout, want) || !strings.Contains(stdout, entries[0].Key[:16]) {
		t.Error(status, stdout, stderr)
	}
	if err := os.WriteFile(filepath.Join("folder", entries[0].Key), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(compiled, "renamed.wasm")
	runs(loaded, "renamed.wasm")
	t.Setenv("WAOT_CACHE_MAX", "1000")
	runs(loaded, "renamed.wasm")
}

// TestCacheText: places in a text are told of a module from the cache too.
func TestCacheText(t *testing.T) {
	setUp(t)
	t.Setenv("WAOT_CACHE", "folder")
	_, _, first := execute("run", "trap.wat")
	_, _, second := execute("run", "trap.wat")
	if first != second || !strings.Contains(first, "trap.wat:5:5: ") {
		t.Errorf("%q, then %q", first, second)
	}
	if n := len(kept(t)); n != 1 {
		t.Errorf("%d entries", n)
	}
	if status, stdout, _ := execute("cache", "clear"); status != 0 || !strings.Contains(stdout, "1 entries removed") {
		t.Error(status, stdout)
	}
	if n := len(kept(t)); n != 0 {
		t.Errorf("%d entries", n)
	}
}

// TestNoCacheFolder: who looks at a cache makes no folder.
func TestNoCacheFolder(t *testing.T) {
	setUp(t)
	dir := filepath.Join(t.TempDir(), "none")
	for _, what := range []string{"ls", "clear"} {
		if status, stdout, stderr := execute("cache", what, "--cache="+dir); status != 0 || !strings.Contains(stdout, ": 0 entries") || stderr != "" {
			t.Error(what, status, stdout, stderr)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCacheFolder: the default folder is in XDG_CACHE_HOME; where there can be none, there is no warning, and no cache.
func TestCacheFolder(t *testing.T) {
	setUp(t)
	dir := t.TempDir()
	t.Setenv("WAOT_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", dir)
	for range 2 {
		if status, _, stderr := execute("run", "lib.wasm", "--invoke=add", "1", "2"); status != 0 || stderr != "" {
			t.Error(status, stderr)
		}
	}
	if n := len(kept(t, "--cache="+filepath.Join(dir, "waot"))); n != 1 {
		t.Errorf("%d entries", n)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", file)
	if status, _, stderr := execute("run", "lib.wasm", "--invoke=add", "1", "2"); status != 0 || stderr != "" {
		t.Error(status, stderr)
	}
	t.Setenv("XDG_CACHE_HOME", dir)
	if err := errors.Join(os.Chmod(filepath.Join(dir, "waot"), 0o770)); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := execute("run", "lib.wasm", "--invoke=add", "1", "2"); status != 0 || strings.Count(stderr, "waot: warning: ") != 1 || strings.Count(stderr, "\n") != 1 {
		t.Error(status, stderr)
	}
}
