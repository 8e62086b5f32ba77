package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/bench/suite"
)

func TestTable(t *testing.T) {
	var rs results
	for _, r := range []result{
		{Engine: nameWaot, Module: "a", counts: counts{Instructions: 1e6, Loads: 6, Stores: 2, Taken: 5}},
		{Engine: nameWaot, Module: "b", counts: counts{Instructions: 1e6, Loads: 1, Stores: 1, Taken: 5}},
		{Engine: nameWasmtime, Module: "a", counts: counts{Instructions: 2e6, Loads: 2, Stores: 2, Taken: 5}},
		{Engine: nameWasmtime, Module: "b", counts: counts{Instructions: 5e5, Loads: 1, Stores: 1, Taken: 5}},
		{Engine: nameGCC, Module: "b", counts: counts{Instructions: 4e6}},
	} {
		rs.put(r)
	}
	var b strings.Builder
	rs.writeTable(&b, []*suite.Module{{Name: "a"}, {Name: "b"}})
	lines := strings.Split(b.String(), "\n")
	want := []string{
		"| a | 2.0 | 0.500 | | | | 2.000 | 1.000 |",
		"| b | 0.5 | 2.000 | | | 0.250 | 1.000 | 1.000 |",
		"| **geometric mean** | | **1.000** | | | **0.250** | **1.414** | **1.000** |",
		"",
	}
	if d := cmp.Diff(want, lines[2:]); d != "" {
		t.Error(d)
	}
	if n := strings.Count(lines[0], "|"); n != strings.Count(lines[2], "|") || n != strings.Count(lines[1], "|") {
		t.Errorf("lines have different numbers of columns:\n%s", b.String())
	}
}

func TestResultsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	if rs, err := readResults(file); err != nil || len(rs) != 0 {
		t.Fatalf("a file that is not there gives %v, %v", rs, err)
	}
	r := result{Engine: nameWazero, Version: "v1", Module: "a", SHA256: "00", Emulator: "qemu", counts: counts{1, 2, 3, 4, 5, 6, 7, 8}}
	want := results{r}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := readResults(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(result{})); d != "" {
		t.Error(d)
	}
	// A kept count is used for the same thing only.
	for _, change := range []func(*result){
		func(r *result) { r.Engine = nameWasmtime }, func(r *result) { r.Version = "v2" }, func(r *result) { r.Module = "b" },
		func(r *result) { r.SHA256 = "01" }, func(r *result) { r.Emulator = "qemu -cpu max" },
	} {
		o := r
		change(&o)
		if r.same(o) || !r.same(r) {
			t.Errorf("%+v is taken for %+v", o, r)
		}
	}
}
