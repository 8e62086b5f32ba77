package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
)

// TestReproduction demands that a bug leaves module, function and report behind,
// once, and that its error stays one line that names the folder.
func TestReproduction(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	m := &clif.Module{Sigs: []clif.Signature{{}}, Funcs: []clif.FuncDecl{{Name: "f"}}}
	f := &clif.Func{Name: "f", Mod: m}
	b := clif.Builder{F: f}
	b.SwitchTo(b.NewBlock())
	b.Return(nil)
	bug := &compile.FuncError{Func: 3, Name: "f", Stage: "lower", Err: errors.New("internal error: oh\nstack")}

	r := &reproducer{bin: []byte("module"), opt: compile.Options{SkipChecker: true}}
	r.crash(&compile.Crash{Error: bug, CLIF: f})
	first := r.dir
	r.crash(&compile.Crash{Error: bug, CLIF: f})
	if first == "" || r.dir != first {
		t.Fatalf("folders %q and %q", first, r.dir)
	}
	for name, want := range map[string]string{"module.wasm": "module", "function.clif": "return", "report.txt": "stage lower"} {
		b, err := os.ReadFile(filepath.Join(first, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, %q", name, err, b)
		}
	}
	// The flags in the report are such as the command takes.
	report, err := os.ReadFile(filepath.Join(first, "report.txt"))
	if err != nil || !strings.Contains(string(report), " --regalloc-check=off --spectre=on --bounds=guard --deterministic=false --fuel=off --verify=false\n") {
		t.Errorf("%v, %s", err, report)
	}
	var p problem
	if !pipelineProblem(&p, r.wrap(bug)) || !strings.Contains(p.Reason, first) || strings.Contains(p.Reason, "\n") {
		t.Errorf("reason %q", p.Reason)
	}

	unsupported := &compile.FuncError{Err: fmt.Errorf("v128: %w", backend.ErrUnsupported)}
	r = &reproducer{}
	r.crash(&compile.Crash{Error: unsupported, CLIF: f})
	if r.dir != "" {
		t.Error("what is not supported is not a bug")
	}
	// A function that cannot be printed must not get in the way.
	if s := clifText(&compile.Crash{CLIF: &clif.Func{Layout: []clif.Block{7}}}); !strings.Contains(s, "cannot be printed") {
		t.Error(s)
	}
}
