package main

import "testing"

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

// FuzzFunction: the function of a seed is not refused.
func FuzzFunction(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed%2 == 0)
	}
	o := options{workers: 1, n: 1}
	f.Fuzz(func(t *testing.T, seed uint64, large bool) {
		if o.first, o.large = seed, 0; large {
			o.large = 1
		}
		if _, _, err := o.run(); err != nil {
			t.Error(err)
		}
	})
}
