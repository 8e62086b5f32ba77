// Command instcount counts the instructions that generated code executes, for AArch64 or x86-64,
// exactly and without such a machine: a plugin of qemu-user counts, and leaves out the
// code of hosts. It compares waot with other engines on the benchmark modules.
//
//	go run ./bench/instcount [-modules DIR] [-only RE] [-engines LIST] [-baseline FILE] [-v]
//	go run ./bench/instcount -engines waot -only quicksort -top 10
//	go run ./bench/instcount -modules bench/vectors
//	go run ./bench/instcount -go -engines waot,wasmtime
//	go run ./bench/instcount -machine x86-64 -engines waot
//
// It needs qemu-user with plugins and gcc; wasmtime needs the cross gcc too, and the engines in C wasm2c, the cross tools
// and clang-19.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waot-project/waot/bench/suite"
)

// config is the command line.
type config struct {
	modules, only, engines, emulator string
	waot, waotArgs, machine          string
	keep, baseline, results          string
	top, repeat                      int
	timeout                          time.Duration
	programs, verbose                bool
}

func main() {
	var c config
	flag.StringVar(&c.modules, "modules", os.Getenv("WAOT_BENCH_DIR"), "`folder` of the benchmark modules")
	flag.BoolVar(&c.programs, "go", false, "count the Go programs of bench/programs instead")
	flag.StringVar(&c.only, "only", "", "only modules whose names match the `expression`")
	flag.StringVar(&c.engines, "engines", "", "`names` of engines, separated by commas; all if empty")
	flag.StringVar(&c.emulator, "emulator", "", "the emulator and its options; the machine's with -cpu max if empty")
	flag.StringVar(&c.machine, "machine", "aarch64", "the `machine` whose code is counted: aarch64 or x86-64")
	flag.StringVar(&c.waot, "waot", "", "`checkout` that waot is built from, instead of this one")
	flag.StringVar(&c.waotArgs, "waotargs", "", "more arguments of waot build, such as -O1")
	flag.StringVar(&c.keep, "keep", "", "`folder` to build in, which stays")
	flag.StringVar(&c.baseline, "baseline", "", "`file` that keeps the counts of engines other than waot: what it has is not counted again")
	flag.StringVar(&c.results, "results", "", "`file` that all counts are written to, as JSON")
	flag.IntVar(&c.top, "top", 0, "print the `n` hottest blocks of each run")
	flag.IntVar(&c.repeat, "repeat", 1, "count `n` times, and demand that the counts are equal")
	flag.DurationVar(&c.timeout, "timeout", 30*time.Minute, "end a run in the emulator after this time")
	flag.BoolVar(&c.verbose, "v", false, "print all counts")
	flag.Parse()
	if err := measure(&c); err != nil {
		fmt.Fprintln(os.Stderr, "instcount:", err)
		os.Exit(1)
	}
}

func measure(c *config) error {
	if c.modules == "" && !c.programs {
		return errors.New("no folder of modules: -modules DIR, WAOT_BENCH_DIR, or -go")
	}
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	on, err := findMachine(c.machine)
	if err != nil {
		return err
	}
	c.emulator = cmp.Or(c.emulator, on.emulator)
	engines, err := selectEngines(on, c.engines)
	if err != nil {
		return err
	}
	b, clean, err := newBuilder(c, on)
	if err != nil {
		return err
	}
	defer clean()
	if c.programs {
		c.modules = b.path("programs")
		if err := buildPrograms(c.modules, only); err != nil {
			return err
		}
	}
	modules, err := suite.Find(c.modules, only)
	if err != nil {
		return err
	}
	s := &session{config: c, builder: b, modules: modules}
	if c.baseline != "" {
		if s.recorded, err = readResults(c.baseline); err != nil {
			return err
		}
	}
	if s.plugin, err = b.plugin(); err != nil {
		return err
	}
	for i := range engines {
		if err := s.measure(&engines[i]); err != nil {
			return fmt.Errorf("%s: %w", engines[i].name, err)
		}
	}
	return s.report()
}

// newBuilder makes the builder of a run. clean removes what it built.
func newBuilder(c *config, on *machine) (b *builder, clean func(), err error) {
	mod, err := output(".", "go", "env", "GOMOD")
	if err != nil {
		return nil, nil, err
	}
	b = &builder{root: filepath.Dir(mod), machine: on, waotArgs: strings.Fields(c.waotArgs)}
	if b.waot, err = filepath.Abs(cmp.Or(c.waot, b.root)); err != nil {
		return nil, nil, err
	}
	if c.keep != "" {
		if b.dir, err = filepath.Abs(c.keep); err != nil {
			return nil, nil, err
		}
		return b, func() {}, os.MkdirAll(b.dir, 0o777)
	}
	b.dir, err = os.MkdirTemp("", "instcount")
	return b, func() { os.RemoveAll(b.dir) }, err
}

// session is one run of this program.
type session struct {
	*config
	builder  *builder
	plugin   string
	modules  []*suite.Module
	recorded results // the baseline's
	found    results // of this run, with those of the baseline that it needs
}

// measure counts an engine on all modules.
func (s *session) measure(e *engine) error {
	version, err := e.version(s.builder)
	if err != nil {
		return err
	}
	var run runner // once needed
	for _, m := range s.modules {
		r := result{Engine: e.name, Version: version, Module: m.Name, SHA256: m.SHA256, Emulator: s.emulator}
		if i := slices.IndexFunc(s.recorded, r.same); e.fixed && s.top == 0 && i >= 0 {
			s.found.put(s.recorded[i])
			continue
		}
		if run == nil {
			if run, err = e.prepare(s.builder); err != nil {
				return err
			}
		}
		if err := s.count(&r, m, run); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		s.found.put(r)
		if e.fixed && s.baseline != "" {
			s.recorded.put(r)
			if err := s.recorded.write(s.baseline); err != nil {
				return err
			}
		}
	}
	return nil
}

// count fills in a result's counts.
func (s *session) count(r *result, m *suite.Module, run runner) error {
	start := time.Now()
	p, err := run(m)
	if err != nil {
		return err
	}
	var all []translation
	for i := range max(1, s.repeat) {
		if all, err = s.execute(m, &p); err != nil {
			return err
		}
		c := s.builder.executedIn(all)
		if i > 0 && c != r.counts {
			return fmt.Errorf("counts differ: %+v, then %+v", r.counts, c)
		}
		r.counts = c
	}
	fmt.Fprintf(os.Stderr, "%s, %s: %d instructions (%.0f s)\n", r.Engine, r.Module, r.Instructions, time.Since(start).Seconds())
	if s.top > 0 {
		fmt.Printf("\n## %s, %s: %d instructions\n", r.Engine, r.Module, r.Instructions)
		var symbols []symbol
		if p.symbols != "" {
			if symbols, err = s.builder.readSymbols(p.symbols, all); err != nil {
				return err
			}
		}
		return s.builder.printHottest(os.Stdout, s.builder.dir, all, symbols, s.top)
	}
	return nil
}

// execute runs a program on a module in the emulator, and demands the module's output.
func (s *session) execute(m *suite.Module, p *program) ([]translation, error) {
	dir, err := m.WorkingFolder(s.builder.dir)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "counts")
	argv := append(strings.Fields(s.emulator), "-plugin", s.plugin+",out="+out+p.options())
	argv = append(argv, p.argv...)
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	// Signals that preempt goroutines would end translations anywhere, and qemu-x86_64 may lose them in generated code.
	c.Dir, c.Stdout, c.Stderr, c.Env = dir, &stdout, &stderr, append(os.Environ(), "GODEBUG=asyncpreemptoff=1")
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	if !bytes.Equal(stdout.Bytes(), m.Stdout) {
		return nil, fmt.Errorf("%s: the output is not the expected one", strings.Join(argv, " "))
	}
	f, err := os.Open(out)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := readTranslations(f)
	if err != nil || p.object == "" {
		return all, err
	}
	text, err := s.builder.loadedText(p.object, all)
	return within(all, text), err
}

// report prints the tables.
func (s *session) report() error {
	if s.results != "" {
		if err := s.found.write(s.results); err != nil {
			return err
		}
	}
	if s.top > 0 {
		return nil
	}
	s.found.writeVersions(os.Stdout)
	fmt.Println()
	s.found.writeTable(os.Stdout, s.modules)
	if s.verbose {
		fmt.Println()
		s.found.writeCounts(os.Stdout)
	}
	return nil
}
