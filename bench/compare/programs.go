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
	nameShipped  = "V8 as shipped"
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
	// split takes times out of what it prints, or is nil.
	split func(out string) (rest string, times []timed)
}

// timed is a time that a program prints.
type timed struct {
	name string
	ns   int64
}

// setup is what all measurements need.
type setup struct {
	rounds int
	// node is the program that has V8.
	node string
	// with is another engine, NAME=PROGRAM.
	with string
	// without has names of peers to leave out.
	without []string
	// objects is for programs with garbage collection: without peers that do not know it, and with V8 as it is shipped.
	objects bool
	log     io.Writer
}

// module is the file of the program's module.
func (p *program) module() string { return filepath.Join(p.dir, "module.wasm") }

// compiled is the file that a peer makes of it.
func (p *program) compiled(peer string) string {
	return filepath.Join(p.dir, strings.ReplaceAll(peer, " ", "-"))
}

// comparePrograms measures the programs of bench/programs.
func (s *setup) comparePrograms(names []string) (table, error) {
	if len(names) == 0 {
		names = programs.Names()
	}
	native := peer{name: nameNative,
		compile: func(p *program) (int64, error) { return 0, programs.Native(p.name, p.compiled(nameNative)) },
		run:     func(p *program) []string { return []string{p.compiled(nameNative)} },
	}
	return s.comparePeers(len(names), []peer{native}, func(i int, dir string) (*program, error) {
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
func (s *setup) compareModules(folder string, names []string) (table, error) {
	// Engines may refuse the first two, which need vectors and garbage collection.
	modules, err := suite.Find(folder, regexp.MustCompile("^("+strings.Join(names, "|")+")"), "blake3-simd/benchmark", "splay/splay")
	if err != nil {
		return nil, err
	}
	return s.comparePeers(len(modules), nil, func(i int, dir string) (*program, error) {
		m := modules[i]
		return ofSuite(m, dir)
	})
}

// ofSuite makes a program of a module of a suite.
func ofSuite(m *suite.Module, dir string) (*program, error) {
	p := &program{name: m.Name, dir: dir, start: func() (string, error) { return m.WorkingFolder(dir) }, want: string(m.Stdout)}
	return p, os.Symlink(m.File, p.module())
}

// comparePeers measures n programs, each of which is made in a folder. Rounds run all peers one after the other, each time
// beginning with another one.
func (s *setup) comparePeers(n int, peers []peer, make func(i int, dir string) (*program, error)) (*programTable, error) {
	dir, err := os.MkdirTemp("", "waot-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	more, err := s.findPeers(dir)
	if err != nil {
		return nil, err
	}
	peers = slices.DeleteFunc(append(peers, more...), func(p peer) bool {
		return slices.Contains(s.without, strings.TrimSuffix(p.name, again))
	})
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
		fmt.Fprintln(s.log, p.name)
		rows, err := measureProgram(peers, p, s.rounds)
		if err != nil {
			return nil, err
		}
		found.Programs = append(found.Programs, rows...)
		if err := os.RemoveAll(folder); err != nil {
			return nil, err
		}
	}
	return &found, nil
}

// patience is for how long a program may take processor time, in nanoseconds, to be executed more than once.
const patience = 10e9

// measureProgram returns the medians of each peer, or why it refuses the program: its first attempt fails. Rows for the times that the
// program prints follow.
func measureProgram(peers []peer, p *program, rounds int) ([]programRow, error) {
	refused := make([]string, len(peers))
	all, parts := make([]samples, len(peers)), map[string][]samples{}
	var names []string // of parts, in their order
	for r := range rounds {
		for k := range peers {
			i := (k + r) % len(peers)
			if refused[i] != "" || slices.Max(append(all[i].cpu, 0)) > patience {
				continue
			}
			result, out, err := once(&peers[i], p, r == 0)
			var times []timed
			if err == nil && p.split != nil {
				out, times = p.split(out)
			}
			switch {
			case err != nil && r == 0:
				refused[i] = err.Error()
				continue
			case err == nil && out != p.want:
				err = fmt.Errorf("it prints %q, not %q", out, p.want)
			case err == nil && result.ExecCPUNS <= 0:
				err = errors.New("it reports no time")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", p.name, peers[i].name, err)
			}
			all[i].add(&result)
			for _, t := range times {
				if parts[t.name] == nil {
					names, parts[t.name] = append(names, t.name), make([]samples, len(peers))
				}
				part := &parts[t.name][i]
				part.wall = append(part.wall, t.ns)
			}
		}
	}
	rows := []programRow{newRow(p.name, all)}
	rows[0].Refused = refused
	for _, name := range names {
		row := newRow(name, parts[name])
		row.Of = p.name
		rows = append(rows, row)
	}
	return rows, nil
}

// samples are a peer's times of all rounds.
type samples struct{ cpu, wall, compile []int64 }

func (s *samples) add(r *protocol.Result) {
	s.cpu, s.wall = append(s.cpu, r.ExecCPUNS), append(s.wall, r.ExecNS)
	if r.CompileCPUNS > 0 {
		s.compile = append(s.compile, r.CompileCPUNS)
	}
}

// newRow has the medians of each peer.
func newRow(name string, peers []samples) programRow {
	n := len(peers)
	row := programRow{Name: name, NS: make([]int64, n), WallNS: make([]int64, n), CompileNS: make([]int64, n), Refused: make([]string, n)}
	for i, s := range peers {
		row.NS[i], row.WallNS[i], row.CompileNS[i] = median(s.cpu), median(s.wall), median(s.compile)
	}
	return row
}

// once compiles and runs a program, and returns both times and the output.
func once(peer *peer, p *program, first bool) (r protocol.Result, out string, err error) {
	var compile int64
	if first || !peer.once {
		if compile, err = peer.compile(p); err != nil {
			return r, "", err
		}
	}
	dir, err := p.start()
	if err != nil {
		return r, "", err
	}
	defer os.RemoveAll(dir)
	r, out, err = execute(peer.run(p), dir)
	r.CompileCPUNS = max(compile, r.CompileCPUNS)
	return r, out, err
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
func (s *setup) findPeers(dir string) (peers []peer, err error) {
	built := func(folder, pkg string, env ...string) (file string, err error) {
		file = filepath.Join(dir, filepath.Base(filepath.Join(folder, pkg)))
		return file, nested.Build(folder, pkg, file, env...)
	}
	waot, err := built("bench", "./waot-bench")
	if err != nil {
		return nil, err
	}
	peers = []peer{
		ahead(nameWaot, waot, "-jobs", "1"),
		ahead(nameWaot+again, waot, "-jobs", "1"),
	}
	if !s.objects {
		wazero, err := built("bench/instcount", "./wazerorun")
		if err != nil {
			return nil, err
		}
		peers = append(peers, justInTime("wazero", wazero, "-measure"))
	}
	if s.with != "" {
		name, program, ok := strings.Cut(s.with, "=")
		if !ok {
			return nil, fmt.Errorf("-with %s: not NAME=PROGRAM", s.with)
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
		if s.objects && m.pkg == "./wasm2gorun" {
			continue
		}
		file, err := built(m.folder, m.pkg, m.env)
		if err != nil {
			fmt.Fprintf(s.log, "without %s: %v\n", m.names[0], err)
			continue
		}
		for _, name := range m.names {
			peers = append(peers, m.peer(name, file))
		}
	}
	path, err := exec.LookPath(s.node)
	if err != nil {
		fmt.Fprintln(s.log, "without V8:", err)
		return peers, nil
	}
	script := filepath.Join(dir, "v8.mjs")
	// Older versions of node:wasi allocate in a fast call, where V8 does not allow it.
	v8 := []string{path, "--no-warnings", "--no-turbo-fast-api-calls"}
	optimising := append(slices.Clone(v8), "--no-liftoff", "--no-wasm-tier-up", "--no-wasm-lazy-compilation")
	peers = append(peers, justInTime(nameV8, append(optimising, script)...))
	if s.objects {
		peers = append(peers, justInTime(nameShipped, append(v8, script)...))
	}
	return peers, os.WriteFile(script, v8Source, 0o666)
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

// programRow has the medians of a program in the order of peers: processor time and that of the wall clock in nanoseconds, 0 where there is none.
type programRow struct {
	Name string `json:"name"`
	// Of is the program of which this is a part.
	Of        string  `json:"of,omitempty"`
	NS        []int64 `json:"cpu_ns"`
	WallNS    []int64 `json:"wall_ns"`
	CompileNS []int64 `json:"compile_cpu_ns"`
	// Refused says why a peer does not run it.
	Refused []string `json:"refused"`
}

// title is what tables call it.
func (r *programRow) title() string {
	if r.Of == "" {
		return r.Name
	}
	return r.Of + ": " + r.Name
}

// times are those of one kind that a row has.
type times func(*programRow) []int64

func running(r *programRow) []int64   { return r.NS }
func elapsed(r *programRow) []int64   { return r.WallNS }
func compiling(r *programRow) []int64 { return r.CompileNS }

// ratios says what a table shows, and beside which peer.
type ratios struct {
	title, base string
	times       times
}

// write prints tables of times beside those of some peers, and what was refused.
func (t *programTable) write(w io.Writer) {
	const run = "Running, processor time"
	t.writeAll(w, []ratios{{run, nameWasmtime, running}, {run, nameNative, running}, {run, nameWaot, running},
		{"Compiling, processor time", nameWaot, compiling}})
}

// writeAll prints those of the tables whose peer is there, and what was refused.
func (t *programTable) writeAll(w io.Writer, tables []ratios) {
	for _, x := range tables {
		if base := slices.Index(t.Peers, x.base); base >= 0 {
			fmt.Fprintf(w, "%s beside %s:\n\n", x.title, x.base)
			t.writeTimes(w, base, x.times)
			fmt.Fprintln(w)
		}
	}
	programs := 0
	for _, p := range t.Programs {
		if p.Of == "" {
			programs++
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
			fmt.Fprintf(w, "%s runs %d of %d, and refuses:\n%s\n\n", name, programs-len(refused), programs, strings.Join(refused, ""))
		}
	}
}

// writeTimes prints ratios to a peer, with a mean for each other peer and of how many programs it is. Where parts of a program have times,
// they count, and the program does not.
func (t *programTable) writeTimes(w io.Writer, base int, times times) {
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
		inParts := slices.ContainsFunc(t.Programs, func(r programRow) bool { return r.Of == p.Name && times(&r)[base] > 0 })
		fmt.Fprintf(w, "| %s | %.1f |", p.title(), float64(of[base])/1e6)
		for k, i := range others {
			if of[i] == 0 {
				fmt.Fprint(w, " |")
				continue
			}
			r := float64(of[i]) / float64(of[base])
			if !inParts {
				logs[k] += math.Log(r)
				counts[k]++
			}
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
