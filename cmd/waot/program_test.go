package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/waot-project/waot/internal/emulate"
)

// programs are waots that tests execute in other processes, by GOARCH. Each is built for the first test that asks.
var programs struct {
	sync.Mutex
	source, dir string // of this package, of the programs
	built       map[string]string
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		os.Setenv("WAOT_CACHE", cacheOff) // but where tests say otherwise
		var err error
		if programs.source, err = os.Getwd(); err == nil {
			programs.dir, err = os.MkdirTemp("", "waot-test")
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		defer os.RemoveAll(programs.dir)
		return m.Run()
	}())
}

// built is the path of waot for a machine.
func built(t *testing.T, m *emulate.Machine) string {
	t.Helper()
	programs.Lock()
	defer programs.Unlock()
	if program := programs.built[m.GOARCH]; program != "" {
		return program
	}
	program, err := m.Build(t.Context(), programs.dir, programs.source, "build", "-ldflags=-w")
	if err != nil {
		t.Fatal(err)
	}
	if programs.built == nil {
		programs.built = map[string]string{}
	}
	programs.built[m.GOARCH] = program
	return program
}

// builtHere is a copy of waot for this machine, which processes of other tests do not run.
func builtHere(t *testing.T) string {
	t.Helper()
	m, err := emulate.For(runtime.GOARCH, "")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "waot")
	if err := os.Link(built(t, m), program); err != nil {
		t.Fatal(err)
	}
	return program
}
