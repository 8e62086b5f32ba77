package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/waot-project/waot/bench/programs"
	"github.com/waot-project/waot/bench/protocol"
)

//go:embed v8.mjs
var v8Source []byte

// Names of peers that ratios ask for.
const (
	nameNative   = "native Go"
	nameWaot     = "waot"
	nameWasmtime = "wasmtime"
	nameAgain    = "wasmtime again"
	nameV8       = "V8"
)

// peer is a way to run a program in a process of its own.
type peer struct {
	name string
	// prepare writes what run needs for the module of a program, or for the program itself, into a folder.
	prepare func(program, dir string) error
	// run is the command, which reports what bench/protocol says.
	run func(program, dir string) []string
}

// comparePrograms measures the programs of bench/programs. Rounds run all peers one after the other, each time beginning with another one.
func comparePrograms(names []string, rounds int, node, with string, log io.Writer) (table, error) {
	dir, err := os.MkdirTemp("", "waot-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	peers, err := findPeers(dir, node, with, log)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = programs.Names()
	}
	found := programTable{}
	for _, p := range peers {
		found.Peers = append(found.Peers, p.name)
	}
	for _, name := range names {
		fmt.Fprintln(log, name)
		if err := programs.Module(name, filepath.Join(dir, name+".wasm")); err != nil {
			return nil, err
		}
		for _, p := range peers {
			if err := p.prepare(name, dir); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
		}
		times, err := measureProgram(peers, name, dir, rounds)
		if err != nil {
			return nil, err
		}
		found.Programs = append(found.Programs, programRow{name, times})
	}
	return &found, nil
}

// measureProgram returns the median of each peer.
func measureProgram(peers []peer, name, dir string, rounds int) ([]int64, error) {
	times := make([][]int64, len(peers))
	want := ""
	for r := range rounds {
		for k := range peers {
			i := (k + r) % len(peers)
			cpu, out, err := execute(peers[i].run(name, dir), dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, peers[i].name, err)
			}
			if want == "" {
				want = out
			}
			if out != want || !strings.HasPrefix(out, name+" ") {
				return nil, fmt.Errorf("%s: %s prints %q, and %s printed %q", name, peers[i].name, out, peers[0].name, want)
			}
			times[i] = append(times[i], cpu)
		}
	}
	medians := make([]int64, len(peers))
	for i, t := range times {
		slices.Sort(t)
		medians[i] = t[len(t)/2]
	}
	return medians, nil
}

// execute runs a command, and returns the processor time that it reports, and its output.
func execute(argv []string, dir string) (cpu int64, stdout string, err error) {
	report := filepath.Join(dir, "report")
	defer os.Remove(report)
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), protocol.Variable+"="+report)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.Output()
	if err != nil {
		return 0, "", err
	}
	line, err := os.ReadFile(report)
	if err != nil {
		return 0, "", err
	}
	var r protocol.Result
	if err := json.Unmarshal(line, &r); err != nil {
		return 0, "", err
	}
	if r.ExecCPUNS <= 0 {
		return 0, "", fmt.Errorf("no time in the report %s", line)
	}
	return r.ExecCPUNS, string(out), nil
}

// command runs a command in a folder, with additions to the environment.
func command(dir string, env []string, argv ...string) error {
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, bytes.TrimSpace(out))
	}
	return nil
}

// findPeers builds the peers' programs in a folder, and leaves out peers that this machine does not have.
func findPeers(dir, node, with string, log io.Writer) ([]peer, error) {
	const tree = "github.com/waot-project/waot/bench/"
	waot, wazero := filepath.Join(dir, "waot-bench"), filepath.Join(dir, "wazerorun")
	for file, pkg := range map[string]string{waot: "waot-bench", wazero: "instcount/wazerorun"} {
		if err := command(".", nil, "go", "build", "-o", file, tree+pkg); err != nil {
			return nil, err
		}
	}
	peers := []peer{
		{nameNative, func(program, dir string) error { return programs.Native(program, filepath.Join(dir, program)) },
			func(program, dir string) []string { return []string{filepath.Join(dir, program)} }},
		ahead(nameWaot, waot),
		justInTime("wazero", wazero, "-measure"),
	}
	if with != "" {
		name, program, ok := strings.Cut(with, "=")
		if !ok {
			return nil, fmt.Errorf("-with %s: not NAME=PROGRAM", with)
		}
		peers = append(peers, ahead(name, program))
	}
	if wasmtime, err := buildWasmtime(dir); err != nil {
		fmt.Fprintln(log, "without wasmtime:", err)
	} else {
		peers = append(peers, ahead(nameWasmtime, wasmtime), ahead(nameAgain, wasmtime))
	}
	if path, err := exec.LookPath(node); err != nil {
		fmt.Fprintln(log, "without V8:", err)
	} else {
		script := filepath.Join(dir, "v8.mjs")
		if err := os.WriteFile(script, v8Source, 0o666); err != nil {
			return nil, err
		}
		// Older versions of node:wasi allocate in a fast call, where V8 does not allow it.
		peers = append(peers, justInTime(nameV8, path, "--no-warnings", "--no-liftoff", "--no-wasm-tier-up",
			"--no-wasm-lazy-compilation", "--no-turbo-fast-api-calls", script))
	}
	return peers, nil
}

// buildWasmtime builds the driver of wasmtime, which is a Go module of its own.
func buildWasmtime(dir string) (file string, err error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/waot-project/waot").Output()
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "wasmtimerun")
	return file, command(filepath.Join(strings.TrimSpace(string(root)), "bench/instcount/wasmtimerun"),
		[]string{"CGO_ENABLED=1"}, "go", "build", "-o", file, ".")
}

// ahead is of a program with the commands compile and run.
func ahead(name, program string) peer {
	file := func(p, dir string) string { return filepath.Join(dir, p+"."+strings.ReplaceAll(name, " ", "-")) }
	return peer{name,
		func(p, dir string) error { return command(dir, nil, program, "compile", p+".wasm", file(p, dir)) },
		func(p, dir string) []string { return []string{program, "run", file(p, dir), "--dir", "."} },
	}
}

// justInTime is of a command that gets a module as its last argument.
func justInTime(name string, argv ...string) peer {
	return peer{name,
		func(string, string) error { return nil },
		func(p, dir string) []string { return append(slices.Clip(argv), filepath.Join(dir, p+".wasm")) },
	}
}

// programTable is the result for Go programs.
type programTable struct {
	Peers    []string     `json:"peers"`
	Programs []programRow `json:"programs"`
}

// programRow has the medians of a program in the order of peers: processor time in nanoseconds.
type programRow struct {
	Name string  `json:"name"`
	NS   []int64 `json:"cpu_ns"`
}

// write prints times of native code and of wasmtime, and ratios to both where they were measured.
func (t *programTable) write(w io.Writer) {
	native, wasmtime := slices.Index(t.Peers, nameNative), slices.Index(t.Peers, nameWasmtime)
	type column struct {
		title    string
		of, base int
	}
	var columns []column
	for i, p := range t.Peers {
		if wasmtime >= 0 && i != wasmtime && i != native {
			columns = append(columns, column{p + " / " + nameWasmtime, i, wasmtime})
		}
	}
	for i, p := range t.Peers {
		if i != native && p != nameAgain {
			columns = append(columns, column{p + " / " + nameNative, i, native})
		}
	}
	fmt.Fprintf(w, "| program | %s, ms |", nameNative)
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c.title)
	}
	fmt.Fprint(w, "\n|---|---|", strings.Repeat("---|", len(columns)), "\n")
	logs := make([]float64, len(columns))
	for _, p := range t.Programs {
		fmt.Fprintf(w, "| %s | %.1f |", p.Name, float64(p.NS[native])/1e6)
		for i, c := range columns {
			r := float64(p.NS[c.of]) / float64(p.NS[c.base])
			logs[i] += math.Log(r)
			fmt.Fprintf(w, " %.2f |", r)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| **geometric mean** | |")
	for _, l := range logs {
		fmt.Fprintf(w, " **%.2f** |", math.Exp(l/float64(len(t.Programs))))
	}
	fmt.Fprintln(w)
}
