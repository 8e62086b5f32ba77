package main

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/internal/proof/entropy"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
)

// TestSoak: nothing is refused, and every feature occurs.
func TestSoak(t *testing.T) {
	o := options{n: 2000, first: 1 << 40, large: 0.25, workers: 2}
	if testing.Short() {
		o.n = 300
	}
	d, _, err := o.run()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(d)
	if missing := d.Missing(); !testing.Short() && len(missing) > 0 {
		t.Errorf("no function has %v", missing)
	}
}

// Bounds of FuzzFunction, in bytes, and in instructions and virtual registers in
// lists: they keep an execution below a tenth of a second.
const (
	maxInput    = 8 << 10
	maxFunction = 20_000
)

// FuzzFunction: the function that the bytes choose is not refused, and does what
// it means along two paths.
func FuzzFunction(f *testing.F) {
	r := rand.NewChaCha8([32]byte{5: 'r'})
	for k := range 48 { // each distribution, in both sizes, for each machine
		b := make([]byte, 3+40*(k%13))
		r.Read(b)
		b[0], b[1], b[2] = byte(k), byte(k/8), byte(k/16)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxInput {
			t.Skip("more than the largest function takes")
		}
		e := entropy.New(b)
		cfg := gen.Varied(e)
		if e.IntN(2) == 0 {
			cfg = cfg.Small()
		}
		envs := gen.Envs()
		env := envs[e.IntN(len(envs))]
		in := gen.Func(e, cfg, env)
		if len(in.Insts)+len(in.VRegLists) > maxFunction {
			t.Skip("too large")
		}
		var w worker
		w.init()
		paths := rand.New(rand.NewPCG(e.Uint64(), 13))
		for k := range w.allocators {
			if err := w.allocate(k, in, env); err != nil {
				t.Fatal(err)
			}
			if err := w.execute(paths, k, in, env); err != nil {
				t.Fatal(err)
			}
		}
	})
}
