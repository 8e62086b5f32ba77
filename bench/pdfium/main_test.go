package main

import "testing"

// TestAdd: figures of the benchmarks are those of processor time, by name, and of the engine that was asked.
func TestAdd(t *testing.T) {
	const out = `cpu: AMD EPYC
BenchmarkNewInstance/wazy-2         	     100	   4356637 ns/op	   1234567 cpu-ns/op
BenchmarkRender/test/wazy-2         	       5	 111 ns/op	        12.5 cpu-ns/op
PASS
`
	var tab table
	if err := tab.add(1, 2, "wazy", []byte(out)); err != nil {
		t.Fatal(err)
	}
	if len(tab) != 2 || tab[0].name != "NewInstance" || tab[1].name != "Render/test" || tab[0].median(1) != 1234567 || tab[1].median(1) != 12.5 {
		t.Errorf("%v", tab)
	}
	if err := tab.add(1, 2, "wazero", []byte(out)); err == nil {
		t.Error("figures of another engine are taken")
	}
	if err := tab.add(1, 2, "wazy", []byte("PASS\n")); err == nil {
		t.Error("no figures are taken")
	}
}
