package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/bench/costs/edges"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// TestItems: a process is asked by name.
func TestItems(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range edges.Items("large") {
		if seen[i.Name] {
			t.Errorf("%q is there twice", i.Name)
		}
		seen[i.Name] = true
	}
}

// TestEngines: what is measured does the same in all engines.
func TestEngines(t *testing.T) {
	for name, e := range ours {
		t.Run(name, func(t *testing.T) {
			g, err := edges.NewGuest(e, true)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			p, err := e.Program(guest.Growing())
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			i, err := p.Instantiate(false, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			fill(t, i)
			if r, ok := i.(edges.Resetter); ok {
				if err := r.Reset(); err != nil {
					t.Error(err)
				}
				fill(t, i)
			}
		})
	}
}

// TestLoops: loops count what they do, from the files that other programs read, too.
func TestLoops(t *testing.T) {
	dir := t.TempDir()
	if err := edges.WriteLoops(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "loops.json"))
	if err != nil {
		t.Fatal(err)
	}
	var loops []edges.Loop
	if err := json.Unmarshal(text, &loops); err != nil || len(loops) == 0 {
		t.Fatal(len(loops), err)
	}
	for _, l := range loops {
		if l.Start > 0 {
			continue // a longer one, of a folder that may be missing
		}
		wasm, err := os.ReadFile(filepath.Join(dir, l.Module+".wasm"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := waotEngine{}.Program(wasm)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		i, err := p.Instantiate(false, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		f, err := i.Func(l.Func)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []uint64{1, 2, 1001} {
			stack := append([]uint64{n}, l.Args...)
			if err := f.Raw(t.Context(), stack); err != nil || stack[0] != n {
				t.Errorf("%s: %d, %v, want %d", l.Name, stack[0], err, n)
			}
		}
	}
}

// fill has an instance of guest.Growing write three pages.
func fill(t *testing.T, i edges.Instance) {
	t.Helper()
	f, err := i.Func("fill")
	if err == nil {
		err = f.Raw(t.Context(), []uint64{3})
	}
	if err != nil {
		t.Error(err)
	}
}
