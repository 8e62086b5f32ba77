//go:build linux && (amd64 || arm64)

package waot_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot"
)

// TestCompileCache: what is in the cache is not compiled, for the same options only.
func TestCompileCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	compiled := 0
	compile := func(o waot.CompileOptions, want bool) {
		t.Helper()
		cache, err := waot.OpenCache(&waot.CacheOptions{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		o.Cache, o.Progress = cache, func(done, total int) { compiled++ }
		compiled = 0
		mod, err := waot.Compile(divWasm, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer mod.Close()
		if (compiled > 0) != want {
			t.Errorf("%+v: %d functions compiled", o, compiled)
		}
		store, err := waot.NewStore(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		inst, err := store.Instantiate(context.Background(), mod, nil)
		if err != nil {
			t.Fatal(err)
		}
		if results, err := function(inst, "div").Call(nil, int32(7), int32(2)); err != nil || results[0] != any(int32(3)) {
			t.Error(results, err)
		}
	}
	for range 2 {
		for i, o := range []waot.CompileOptions{{}, {Name: "other"}, {NoOptimize: true}, {NoSpectre: true}, {Deterministic: true}, {MaxFunctions: 10}, {Workers: 1}} {
			compile(o, i < 6)
			compile(o, false)
		}
		cache, err := waot.OpenCache(&waot.CacheOptions{Dir: dir})
		if err != nil || cache.Dir() != dir {
			t.Fatal(err)
		}
		if err := cache.Clear(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	var unsafe *waot.CacheError
	if _, err := waot.OpenCache(&waot.CacheOptions{Dir: dir}); !errors.As(err, &unsafe) || unsafe.Dir != dir {
		t.Error(err)
	}
	// Errors are those of Compile, and nothing is kept.
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cache, err := waot.OpenCache(&waot.CacheOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var malformed *waot.ModuleError
	if mod, err := waot.Compile(divWasm[:20], &waot.CompileOptions{Cache: cache}); mod != nil || !errors.As(err, &malformed) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 { // the tag
		t.Error(left, err)
	}
}

// The second time the module is not compiled, but mapped from the folder.
func ExampleOpenCache() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cache, err := waot.OpenCache(&waot.CacheOptions{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		compiled := 0
		mod, err := waot.Compile(addWasm, &waot.CompileOptions{Cache: cache, Progress: func(done, total int) { compiled = done }})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(compiled > 0)
		mod.Close()
	}
	// Output:
	// true
	// false
}
