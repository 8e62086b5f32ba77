package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shell is a peer that prints a line and reports processor time in nanoseconds.
func shell(name, line, report string) peer {
	script := fmt.Sprintf("echo '%s'; echo '%s' >$WASMBENCH_RESULT", line, report)
	return peer{name, func(string, string) error { return nil }, func(string, string) []string { return []string{"sh", "-c", script} }}
}

// TestMeasureProgram: peers must print the same line, which begins with the program's name, and report a time.
func TestMeasureProgram(t *testing.T) {
	good := shell("a", "p 1", `{"exec_cpu_ns":5}`)
	got, err := measureProgram([]peer{good, shell("b", "p 1", `{"exec_cpu_ns":7}`)}, "p", t.TempDir(), 3)
	if d := cmp.Diff([]int64{5, 7}, got); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	for name, peers := range map[string][]peer{
		"another line": {good, shell("b", "p 2", `{"exec_cpu_ns":7}`)},
		"another name": {shell("a", "q 1", `{"exec_cpu_ns":5}`)},
		"no time":      {good, shell("b", "p 1", `{"exec_ns":7}`)},
		"no report":    {good, shell("b", "p 1", "")},
		"a failure":    {good, {"b", nil, func(string, string) []string { return []string{"false"} }}},
	} {
		if got, err := measureProgram(peers, "p", t.TempDir(), 1); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestProgramTable(t *testing.T) {
	var b strings.Builder
	table := programTable{Peers: []string{nameNative, nameWaot, nameWasmtime, nameAgain}, Programs: []programRow{
		{"a", []int64{1e6, 2e6, 4e6, 5e6}}, {"b", []int64{2e6, 4e6, 2e6, 2e6}},
	}}
	table.write(&b)
	want := `| program | native Go, ms | waot / wasmtime | wasmtime again / wasmtime | waot / native Go | wasmtime / native Go |
|---|---|---|---|---|---|
| a | 1.0 | 0.50 | 1.25 | 2.00 | 4.00 |
| b | 2.0 | 2.00 | 1.00 | 2.00 | 1.00 |
| **geometric mean** | | **1.00** | **1.12** | **2.00** | **2.00** |
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	b.Reset()
	table = programTable{Peers: []string{nameNative, nameWaot}, Programs: []programRow{{"a", []int64{1e6, 3e6}}}}
	table.write(&b)
	if want := "| program | native Go, ms | waot / native Go |\n|---|---|---|\n| a | 1.0 | 3.00 |\n| **geometric mean** | | **3.00** |\n"; b.String() != want {
		t.Errorf("without wasmtime:\n%s", b.String())
	}
}
