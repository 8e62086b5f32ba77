package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shell is a peer that prints a line and reports processor time in nanoseconds.
func shell(name, line, report string) peer {
	script := fmt.Sprintf("echo '%s'; echo '%s' >$WASMBENCH_RESULT", line, report)
	return command(name, "sh", "-c", script)
}

// command is a peer that compiles in 3 ns and executes a command.
func command(name string, argv ...string) peer {
	return peer{name: name, compile: func(*program) (int64, error) { return 3, nil }, run: func(*program) []string { return argv }}
}

func testProgram(t *testing.T) *program {
	dir := t.TempDir()
	return &program{name: "p", dir: dir, start: func() (string, error) { return os.MkdirTemp(dir, "run") }, want: "p 1\n"}
}

// TestMeasureProgram: peers must print what is wanted, and report a time. One that fails at first refuses the program, which is no error.
func TestMeasureProgram(t *testing.T) {
	good := shell("a", "p 1", `{"exec_cpu_ns":5,"exec_ns":8}`)
	rare := shell("c", "p 1", `{"exec_cpu_ns":6}`)
	compiled := 0
	rare.once, rare.compile = true, func(*program) (int64, error) { compiled++; return 4, nil }
	peers := []peer{good, shell("b", "p 1", `{"exec_cpu_ns":7,"compile_cpu_ns":9}`), rare,
		command("d", "sh", "-c", "echo no GC >&2; echo more >&2; exit 1"),
		{name: "e", compile: func(*program) (int64, error) { return 0, errors.New("too large") }}}
	got, err := measureProgram(peers, testProgram(t), 3)
	want := []programRow{{"p", "", []int64{5, 7, 6, 0, 0}, []int64{8, 0, 0, 0, 0}, []int64{3, 9, 4, 0, 0},
		[]string{"", "", "", "exit status 1: no GC", "too large"}}}
	if d := cmp.Diff(want, got); err != nil || d != "" || compiled != 1 {
		t.Errorf("%v, compiled %d times\n%s", err, compiled, d)
	}
	for name, p := range map[string]peer{
		"another line":    shell("b", "p 2", `{"exec_cpu_ns":7}`),
		"no time":         shell("b", "p 1", `{"exec_ns":7}`),
		"a later failure": command("b", "sh", "-c", `echo p 1; echo '{"exec_cpu_ns":7}' >$WASMBENCH_RESULT; mkdir ../seen || exit 1`),
	} {
		if got, err := measureProgram([]peer{good, p}, testProgram(t), 2); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, err := measureProgram([]peer{shell("b", "p 1", "")}, testProgram(t), 1); err != nil || got[0].Refused[0] == "" {
		t.Errorf("without a report: %v, %v", got, err)
	}
}

func TestProgramTable(t *testing.T) {
	var b strings.Builder
	table := programTable{Peers: []string{nameWaot, nameWaot + again, "x", nameWasmtime, nameWasmtime + again}, Programs: []programRow{
		{Name: "a", NS: []int64{2e6, 1e6, 0, 4e6, 5e6}, CompileNS: []int64{1e6, 1e6, 0, 2e6, 2e6}, Refused: []string{"", "", "it is large", "", ""}},
		{Name: "b", NS: []int64{4e6, 4e6, 1e6, 2e6, 2e6}, CompileNS: []int64{1e6, 4e6, 0, 8e6, 2e6}, Refused: make([]string, 5)},
	}}
	table.write(&b)
	want := `Running, processor time beside wasmtime:

| program | wasmtime, ms | waot / wasmtime | x / wasmtime | wasmtime again / wasmtime |
|---|---|---|---|---|
| a | 4.0 | 0.50 | | 1.25 |
| b | 2.0 | 2.00 | 0.50 | 1.00 |
| **geometric mean** | | **1.00** | **0.50** | **1.12** |
| programs | | 2 | 1 | 2 |

Running, processor time beside waot:

| program | waot, ms | waot again / waot | x / waot | wasmtime / waot |
|---|---|---|---|---|
| a | 2.0 | 0.50 | | 2.00 |
| b | 4.0 | 1.00 | 0.25 | 0.50 |
| **geometric mean** | | **0.71** | **0.25** | **1.00** |
| programs | | 2 | 1 | 2 |

Compiling, processor time beside waot:

| program | waot, ms | waot again / waot | wasmtime / waot |
|---|---|---|---|
| a | 1.0 | 1.00 | 2.00 |
| b | 1.0 | 4.00 | 8.00 |
| **geometric mean** | | **2.00** | **4.00** |
| programs | | 2 | 2 |

x runs 1 of 2, and refuses:

- a: it is large

`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}
