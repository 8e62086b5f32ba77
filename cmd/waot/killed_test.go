package main

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
)

// buildProgram makes the command, and a module whose object has at least 100,000 bytes.
func buildProgram(t *testing.T) (program, module string) {
	t.Helper()
	program, module = builtHere(t), filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(module, wasmgen.Generate(1, wasmgen.Config{Funcs: 25, Size: 2000}).Wasm, 0o666); err != nil {
		t.Fatal(err)
	}
	return program, module
}

// TestKilled: a build that is killed at any time leaves the object that was there before or none, or the whole new one.
func TestKilled(t *testing.T) {
	program, module := buildProgram(t)
	dir := t.TempDir()
	object := filepath.Join(dir, "m.o")
	begin := time.Now()
	if out, err := exec.Command(program, "build", module, "-o", object).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(begin)
	whole, err := os.ReadFile(object)
	if err != nil || len(whole) < 100_000 {
		t.Fatalf("%d bytes, error %v", len(whole), err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	counts := map[string]int{}
	missing := func() bool { return counts["old"] == 0 || counts["none"] == 0 || counts["complete"] == 0 }
	for i, n := 0, testenv.Cases(10, 20, 60); i < n || missing() && i < 1000; i++ {
		var old []byte
		if os.Remove(object); i%2 == 0 {
			old = []byte("old")
			if err := os.WriteFile(object, old, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(program, "build", module, "-o", object)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Int64N(int64(took) * 5 / 4 * int64(1+i/60)))) // the machine may have become slower
		cmd.Process.Signal([]os.Signal{os.Kill, os.Interrupt, syscall.SIGTERM}[i%3])
		cmd.Wait()
		switch b, err := os.ReadFile(object); {
		case err == nil && bytes.Equal(b, whole):
			counts["complete"]++
		case err == nil && old != nil && bytes.Equal(b, old):
			counts["old"]++
		case errors.Is(err, os.ErrNotExist) && old == nil:
			counts["none"]++
		default:
			t.Fatalf("%d bytes of %d are left, error %v", len(b), len(whole), err)
		}
		// A kill may leave a file beside, which is no object by its name.
		beside, err := filepath.Glob(filepath.Join(dir, ".m.o.tmp*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range beside {
			counts["beside"]++
			os.Remove(file)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 1 {
			t.Fatal(left, err)
		}
	}
	t.Log(counts)
	if missing() {
		t.Error("the builds were not killed at all times")
	}
}
