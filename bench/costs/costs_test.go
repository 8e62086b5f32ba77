package main

import (
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
