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

// TestTimesOfParts: times that a program prints have rows of their own, which count in place of the program's.
func TestTimesOfParts(t *testing.T) {
	p := testProgram(t)
	p.want, p.split = "2 parts", splitKotlin
	lines := "cd inner=1 ok=true ms=40\nlist inner=3 ok=true ms=2"
	rows, err := measureProgram([]peer{shell(nameV8, lines, `{"exec_cpu_ns":9000000,"exec_ns":50000000}`)}, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	newObjectTable(&programTable{Peers: []string{nameV8}, Programs: rows}).write(&b)
	want := `Running, processor time beside V8:

| program | V8, ms |
|---|---|
| p | 9.0 |
| **geometric mean** | |
| programs | |

Running, wall time beside V8:

| program | V8, ms |
|---|---|
| p | 50.0 |
| p: cd | 40.0 |
| **geometric mean** | |
| programs | |

`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	table := programTable{Peers: []string{nameV8, "x"}, Programs: []programRow{
		{Name: "p", WallNS: []int64{2e6, 20e6}}, {Name: "cd", Of: "p", WallNS: []int64{1e6, 2e6}}, {Name: "q", WallNS: []int64{1e6, 8e6}}}}
	b.Reset()
	table.writeTimes(&b, 0, elapsed)
	if want := "| p: cd | 1.0 | 2.00 |\n| q | 1.0 | 8.00 |\n| **geometric mean** | | **4.00** |\n| programs | | 2 |\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant at its end\n%s", &b, want)
	}
	for _, out := range []string{"cd inner=1 ok=false ms=40\n", "cd inner=1 ok=true\n"} {
		if rest, times := splitKotlin(out); rest != out+"0 parts" || times != nil {
			t.Errorf("of %q there is %q, and %v", out, rest, times)
		}
	}
}

// TestParts: what single operations take, from sizes of kernels and the numbers that pauses prints.
func TestParts(t *testing.T) {
	rest, times := splitNumbers("pauses 00000400\npauses 00000002\npauses 0001f400\npauses 003ffc00\n")
	want := []timed{{partLongest, 1024}, {partNumber, 2}, {partSum, 128000}}
	if d := cmp.Diff(want, times, cmp.AllowUnexported(timed{})); d != "" || rest != "pauses 003ffc00\n" {
		t.Errorf("%q\n%s", rest, d)
	}
	table := &programTable{Peers: []string{"x", "y"}}
	for _, r := range []struct {
		name, of string
		ns       int64
	}{{"alloc", "", 250e6}, {"casts", "", 900e6}, {"loads", "", 300e6}, {"pauses", "", 3500e6}, {partLongest, "pauses", 1024},
		{partNumber, "pauses", 2}, {partSum, "pauses", 128000}, {"dropped", "", 1000e6}, {partLongest, "dropped", 7}} {
		two := []int64{r.ns, 0}
		table.Programs = append(table.Programs, programRow{Name: r.name, Of: r.of, NS: two, WallNS: two})
	}
	var b strings.Builder
	newObjectTable(table).write(&b)
	const text = `| | x | y |
|---|---|---|
| an allocation of 24 bytes that a ring keeps, ns | 2.50 |  |
| a cast, ns | 2.00 |  |
| collections for each MiB of garbage with 64 MiB alive, ms | 2.00 |  |
| wall time: the longest burst of allocations with 64 MiB alive, ms | 1.02 |  |
| bursts of 5 ms or more | 2.00 |  |
| one of them, for each MiB alive, ms | 1.00 |  |
`
	if d := cmp.Diff(text, b.String()); d != "" {
		t.Error(d)
	}
}
