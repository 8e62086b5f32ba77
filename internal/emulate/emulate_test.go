package emulate

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestFor(t *testing.T) {
	m, err := For(runtime.GOARCH, "")
	if err != nil || len(m.Command(t.Context(), "/program", "a", "b").Args) != 3 {
		t.Errorf("this machine: %v, %v", m, err)
	}
	if _, err := For("pdp11", ""); err == nil || !strings.Contains(err.Error(), "no emulator is known for pdp11") {
		t.Error(err)
	}
	if _, err := For("arm64", "emulator-that-is-not-there -cpu max"); err == nil || !strings.Contains(err.Error(), "emulator-that-is-not-there") ||
		!strings.Contains(err.Error(), "qemu-user") {
		t.Error(err)
	}
	env, err := exec.LookPath("env")
	if err != nil {
		t.Skip(err)
	}
	// An emulator that is named is used, even on the machine itself.
	m, err = For(runtime.GOARCH, "env  X=1")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // commands share nothing
		if args := m.Command(t.Context(), "/program", "a").Args; !slices.Equal(args, []string{env, "X=1", "/program", "a"}) {
			t.Error(args)
		}
	}
}

// TestBuild builds programs for both machines, and says in one line why it cannot.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"built\") }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for goarch := range emulators {
		m, err := For(goarch, "env")
		if err != nil {
			t.Skip(err)
		}
		program, err := m.Build(t.Context(), dir, source, "build")
		if err != nil {
			t.Fatal(err)
		}
		if goarch != runtime.GOARCH {
			continue
		}
		if out, err := m.Command(t.Context(), program).CombinedOutput(); err != nil || string(out) != "built\n" {
			t.Errorf("%s %v", out, err)
		}
	}
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { wrong() }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m := &Machine{GOARCH: runtime.GOARCH}
	if _, err := m.Build(t.Context(), dir, source, "build"); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "wrong") {
		t.Error(err)
	}
}
