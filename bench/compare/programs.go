package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/waot-project/waot/bench/nested"
	"github.com/waot-project/waot/bench/programs"
	"github.com/waot-project/waot/bench/protocol"
	"github.com/waot-project/waot/bench/suite"
)

//go:embed v8.mjs
var v8Source []byte

// Names of peers that ratios ask for.
const (
	nameNative   = "native Go"
	nameWaot     = "waot"
	nameWasmtime = "wasmtime"
	nameV8       = "V8"
)

// again is what the name of a peer has behind that of another one if both are the same, which shows the noise.
const again = " again"

// peer is a way to run a program in a process of its own.
type peer struct {
	name string
	// compile writes into the program's folder what run needs, and returns the processor time that it took, or 0 if run tells it.
	compile func(p *program) (ns int64, err error)
	// run is the command, which reports what bench/protocol says.
	run func(p *program) []string
	// once means that compiling takes so long that once must be enough.
	once bool
}

// program is what peers run.
type program struct {
	name string
	// dir is a folder for its module, and for what peers make of it.
	dir string
	// start makes the folder in which it runs once.
	start func() (string, error)
	// want is what it prints.
	want string
}

// module is the file of the program's module.
func (p *program) module() string { return filepath.Join(p.dir, "module.wasm") }

// compiled is the file that a peer makes of it.
func (p *program) compiled(peer string) string {
	return filepath.Join(p.dir, strings.ReplaceAll(peer, " ", "-"))
}

// comparePrograms measures the programs of bench/programs.
func comparePrograms(names []string, rounds int, node, with string, log io.Writer) (table, error) {
	if len(names) == 0 {
		names = programs.Names()
	}
	native := peer{name: nameNative,
		compile: func(p *program) (int64, error) { return 0, programs.Native(p.name, p.compiled(nameNative)) },
		run:     func(p *program) []string { return []string{p.compiled(nameNative)} },
	}
	return comparePeers(len(names), rounds, []peer{native}, node, with, log, func(i int, dir string) (*program, error) {
		p := &program{name: names[i], dir: dir, start: func() (string, error) { return os.MkdirTemp(dir, "run") }}
		if _, err := native.compile(p); err != nil {
			return nil, err
		}
		out, err := exec.Command(p.compiled(nameNative)).Output()
		p.want = string(out)
		return p, errors.Join(err, programs.Module(p.name, p.module()))
	})
}

// compareModules measures the modules of a benchmark suite, or those that lie in a folder.
func compareModules(folder string, names []string, rounds int, node, with string, log io.Writer) (table, error) {
	// Engines may refuse the first two, which need vectors and garbage collection.
	modules, err := suite.Find(folder, regexp.MustCompile("^("+strings.Join(names, "|")+")"), "blake3-simd/benchmark", "splay/splay")
	if err != nil {
		return nil, err
	}
	return comparePeers(len(modules), rounds, nil, node, with, log, func(i int, dir string) (*program, error) {
		m := modules[i]
		p := &program{m.Name, dir, func() (string, error) { return m.WorkingFolder(dir) }, string(m.Stdout)}
		return p, os.Symlink(m.File, p.module())
	})
}

// comparePeers measures n programs, each of which is made in a folder. Rounds run all peers one after the other, each time
// beginning with another one.
func comparePeers(n, rounds int, peers []peer, node, with string, log io.Writer, make func(i int, dir string) (*program, error)) (table, error) {
	dir, err := os.MkdirTemp("", "waot-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	more, err := findPeers(dir, node, with, log)
	if err != nil {
		return nil, err
	}
	peers = append(peers, more...)
	found := programTable{}
	for _, p := range peers {
		found.Peers = append(found.Peers, p.name)
	}
	for i := range n {
		folder, err := os.MkdirTemp(dir, "program")
		if err != nil {
			return nil, err
		}
		p, err := make(i, folder)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(log, p.name)
		row, err := measureProgram(peers, p, rounds)
		if err != nil {
			return nil, err
		}
		found.Programs = append(found.Programs, *row)
		if err := os.RemoveAll(folder); err != nil {
			return nil, err
		}
	}
	return &found, nil
}

// measureProgram returns the medians of each peer, or why it refuses the program: its first attempt fails.
func measureProgram(peers []peer, p *program, rounds int) (*programRow, error) {
	row := &programRow{p.name, make([]int64, len(peers)), make([]int64, len(peers)), make([]string, len(peers))}
	runs, compiles := make([][]int64, len(peers)), make([][]int64, len(peers))
	for r := range rounds {
		for k := range peers {
			i := (k + r) % len(peers)
			if row.Refused[i] != "" {
				continue
			}
			run, compile, out, err := once(&peers[i], p, r == 0)
			switch {
			case err != nil && r == 0:
				row.Refused[i] = err.Error()
				continue
			case err == nil && out != p.want:
				err = fmt.Errorf("it prints %q, not %q", out, p.want)
			case err == nil && run <= 0:
				err = errors.New("it reports no time")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", p.name, peers[i].name, err)
			}
			runs[i] = append(runs[i], run)
			if compile > 0 {
				compiles[i] = append(compiles[i], compile)
			}
		}
	}
	for i := range peers {
		row.NS[i], row.CompileNS[i] = median(runs[i]), median(compiles[i])
	}
	return row, nil
}

// once compiles and runs a program, and returns both times and the output.
func once(peer *peer, p *program, first bool) (run, compile int64, out string, err error) {
	if first || !peer.once {
		if compile, err = peer.compile(p); err != nil {
			return 0, 0, "", err
		}
	}
	dir, err := p.start()
	if err != nil {
		return 0, 0, "", err
	}
	defer os.RemoveAll(dir)
	r, out, err := execute(peer.run(p), dir)
	return r.ExecCPUNS, max(compile, r.CompileCPUNS), out, err
}

// median is 0 of none.
func median(t []int64) int64 {
	if len(t) == 0 {
		return 0
	}
	slices.Sort(t)
	return t[len(t)/2]
}

// execute runs a command in a folder, and returns what it reports, and its output. The error has the first line that it wrote about it.
func execute(argv []string, dir string) (r protocol.Result, stdout string, err error) {
	report, err := os.CreateTemp("", "report")
	if err != nil {
		return r, "", err
	}
	defer os.Remove(report.Name())
	defer report.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), protocol.Variable+"="+report.Name())
	c.Dir = dir
	out, err := c.Output()
	var failure *exec.ExitError
	if errors.As(err, &failure) {
		line, _, _ := bytes.Cut(failure.Stderr, []byte("\n"))
		return r, "", fmt.Errorf("%w: %s", err, line)
	}
	if err == nil {
		err = json.NewDecoder(report).Decode(&r)
	}
	return r, string(out), err
}

// findPeers builds the peers' programs in a folder, and leaves out peers that this machine does not have.
func findPeers(dir, node, with string, log io.Writer) (peers []peer, err error) {
	built := func(folder, pkg string, env ...string) (file string, err error) {
		file = filepath.Join(dir, filepath.Base(filepath.Join(folder, pkg)))
		return file, nested.Build(folder, pkg, file, env...)
	}
	waot, err := built("bench", "./waot-bench")
	if err != nil {
		return nil, err
	}
	wazero, err := built("bench/instcount", "./wazerorun")
	if err != nil {
		return nil, err
	}
	peers = []peer{
		ahead(nameWaot, waot, "-jobs", "1"),
		ahead(nameWaot+again, waot, "-jobs", "1"),
		justInTime("wazero", wazero, "-measure"),
	}
	if with != "" {
		name, program, ok := strings.Cut(with, "=")
		if !ok {
			return nil, fmt.Errorf("-with %s: not NAME=PROGRAM", with)
		}
		peers = append(peers, ahead(name, program))
	}
	translated := func(name string, program ...string) peer {
		p := ahead(name, program...)
		p.once = true
		return p
	}
	// Those of Go modules of their own.
	for _, m := range []struct {
		folder, pkg, env string
		names            []string
		peer             func(name string, program ...string) peer
	}{
		{"bench/peers", "./wazyrun", "", []string{"wazy"}, justInTime},
		{"bench/peers", "./wasm2gorun", "", []string{"wasm2go"}, translated},
		{"bench/instcount/wasmtimerun", ".", "CGO_ENABLED=1", []string{nameWasmtime, nameWasmtime + again}, ahead},
	} {
		file, err := built(m.folder, m.pkg, m.env)
		if err != nil {
			fmt.Fprintf(log, "without %s: %v\n", m.names[0], err)
			continue
		}
		for _, name := range m.names {
			peers = append(peers, m.peer(name, file))
		}
	}
	path, err := exec.LookPath(node)
	if err != nil {
		fmt.Fprintln(log, "without V8:", err)
		return peers, nil
	}
	script := filepath.Join(dir, "v8.mjs")
	// Older versions of node:wasi allocate in a fast call, where V8 does not allow it.
	return append(peers, justInTime(nameV8, path, "--no-warnings", "--no-liftoff", "--no-wasm-tier-up",
		"--no-wasm-lazy-compilation", "--no-turbo-fast-api-calls", script)), os.WriteFile(script, v8Source, 0o666)
}

// ahead is of a program with the commands compile and run.
func ahead(name string, argv ...string) peer {
	return peer{name: name,
		compile: func(p *program) (int64, error) {
			r, _, err := execute(append(slices.Clip(argv), "compile", p.module(), p.compiled(name)), ".")
			return r.CompileCPUNS, err
		},
		run: func(p *program) []string { return append(slices.Clip(argv), "run", p.compiled(name), "--dir", ".") },
	}
}

// justInTime is of a command that gets a module as its last argument, and compiles it.
func justInTime(name string, argv ...string) peer {
	return peer{name: name,
		compile: func(*program) (int64, error) { return 0, nil },
		run:     func(p *program) []string { return append(slices.Clip(argv), p.module()) },
	}
}

// programTable is the result for programs.
type programTable struct {
	Peers    []string     `json:"peers"`
	Programs []programRow `json:"programs"`
}

// programRow has the medians of a program in the order of peers: processor time in nanoseconds, 0 where there is none.
type programRow struct {
	Name      string  `json:"name"`
	NS        []int64 `json:"cpu_ns"`
	CompileNS []int64 `json:"compile_cpu_ns"`
	// Refused says why a peer does not run it.
	Refused []string `json:"refused"`
}

// write prints tables of times beside those of some peers, and what was refused.
func (t *programTable) write(w io.Writer) {
	running := func(r *programRow) []int64 { return r.NS }
	for _, x := range []struct {
		what, base string
		times      func(*programRow) []int64
	}{
		{"Running", nameWasmtime, running}, {"Running", nameNative, running}, {"Running", nameWaot, running},
		{"Compiling", nameWaot, func(r *programRow) []int64 { return r.CompileNS }},
	} {
		if base := slices.Index(t.Peers, x.base); base >= 0 {
			fmt.Fprintf(w, "%s, processor time beside %s:\n\n", x.what, x.base)
			t.writeTimes(w, base, x.times)
			fmt.Fprintln(w)
		}
	}
	for i, name := range t.Peers {
		if strings.HasSuffix(name, again) {
			continue
		}
		var refused []string
		for _, p := range t.Programs {
			if why := p.Refused[i]; why != "" {
				refused = append(refused, fmt.Sprintf("\n- %s: %s", p.Name, why))
			}
		}
		if refused != nil {
			fmt.Fprintf(w, "%s runs %d of %d, and refuses:\n%s\n\n", name, len(t.Programs)-len(refused), len(t.Programs), strings.Join(refused, ""))
		}
	}
}

// writeTimes prints ratios to a peer, with a mean for each other peer and of how many programs it is.
func (t *programTable) writeTimes(w io.Writer, base int, times func(*programRow) []int64) {
	var others []int
	fmt.Fprintf(w, "| program | %s, ms |", t.Peers[base])
	for i, p := range t.Peers {
		if of, same := strings.CutSuffix(p, again); i == base || same && of != t.Peers[base] ||
			!slices.ContainsFunc(t.Programs, func(r programRow) bool { return times(&r)[i] > 0 }) {
			continue
		}
		others = append(others, i)
		fmt.Fprintf(w, " %s / %s |", p, t.Peers[base])
	}
	fmt.Fprint(w, "\n|---|---|", strings.Repeat("---|", len(others)), "\n")
	logs, counts := make([]float64, len(others)), make([]int, len(others))
	for _, p := range t.Programs {
		of := times(&p)
		if of[base] == 0 {
			continue
		}
		fmt.Fprintf(w, "| %s | %.1f |", p.Name, float64(of[base])/1e6)
		for k, i := range others {
			if of[i] == 0 {
				fmt.Fprint(w, " |")
				continue
			}
			r := float64(of[i]) / float64(of[base])
			logs[k] += math.Log(r)
			counts[k]++
			fmt.Fprintf(w, " %.2f |", r)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| **geometric mean** | |")
	for k, l := range logs {
		fmt.Fprintf(w, " **%.2f** |", math.Exp(l/float64(counts[k])))
	}
	fmt.Fprint(w, "\n| programs | |")
	for _, n := range counts {
		fmt.Fprintf(w, " %d |", n)
	}
	fmt.Fprintln(w)
}
