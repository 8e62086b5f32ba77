package wasmedit_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
)

// TestRoundTrip: a module that was taken apart and put together is the same, apart from how it is
// written, which then stays as it is.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(60) {
		p := wasmgen.Generate(seed, wasmgen.Config{NoTraps: seed%2 == 0, RawNaNs: seed%3 == 0, Vectors: seed%4 == 1, Relaxed: seed%4 == 1, Tails: seed%5 == 1})
		for _, b := range [][]byte{p.Wasm, p.Env} {
			m, err := wasmedit.Decode(b, wasmfront.DefaultFeatures)
			if err != nil {
				t.Fatal(err)
			}
			once, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := wasmedit.Decode(once, wasmfront.DefaultFeatures)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if d := cmp.Diff(m, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(wasmedit.Module{})); d != "" {
				t.Fatalf("seed %d: -before +after\n%s", seed, d)
			}
			if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("seed %d: written differently, or %v", seed, err)
			}
		}
	}
}

// TestDead: what is dead is left out and the rest is renumbered; what uses it is an error.
func TestDead(t *testing.T) {
	p := wasmgen.Generate(1, wasmgen.Config{Funcs: 4})
	m, err := wasmedit.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	m.Funcs[1].Dead = true
	if _, err := m.Encode(); err == nil {
		t.Error("an exported function is not there, and nothing is said")
	}
	for i := range m.Exports {
		m.Exports[i].Dead = m.Exports[i].Name != "reset"
	}
	for i := range m.Elems {
		m.Elems[i].Dead = true
	}
	for i := range m.Data {
		m.Data[i].Dead = true
	}
	last := len(m.Funcs) - 1
	for i := range m.Funcs {
		m.Funcs[i].Dead = i != last
	}
	for i := range m.Globals {
		m.Globals[i].Dead = i != 2 // the fuel, which reset refills
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	small, err := wasmedit.Decode(b, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if len(small.Funcs) != 1 || len(small.Globals) != 1 || len(small.Exports) != 1 || small.Exports[0].Index != 0 {
		t.Errorf("left: %d functions, %d globals, %d exports", len(small.Funcs), len(small.Globals), len(small.Exports))
	}
}
