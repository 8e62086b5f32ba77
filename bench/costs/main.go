// Command costs measures what waot costs a Go program at its edges, beside wazero and wazy: calls in
// both directions, WASI, instances, loading, memory, and how long the rest of the process
// waits. What are loops in a module (exceptions, tail calls) it also measures beside wasmtime and V8.
// Each engine has a process of its own, and waot has two, which shows the noise. They take turns within a round; figures are
// medians of rounds, with the smallest and the largest. It needs nothing but the Go toolchain and this module, for wazy
// the module that bench/peers requires, for wasmtime a C compiler and its Go package, and for V8 a node.
//
//	go run ./bench/costs [-rounds N] [-run REGEXP] [-node FILE] [-cpuprofile FILE]
//
// With WAOT_WASM3_DIR there is a program in C++ among the loops. With WAOT_BENCH_DIR, the folder of a benchmark suite's modules, the large module is its
// sqlite3/sqlite3.wasm; otherwise it is a program of this tree.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/waot-project/waot/bench/costs/edges"
	"github.com/waot-project/waot/bench/nested"
)

func main() {
	rounds := flag.Int("rounds", 7, "rounds; each measures everything once with each engine")
	run := flag.String("run", "", "only what matches")
	node := flag.String("node", "node", "the program of V8")
	profile := flag.String("cpuprofile", "", "write a CPU profile of what waot does")
	engine := flag.String("engine", "", "for internal use: measure with this engine what standard input names")
	resident := flag.String("resident", "", "for internal use: the module whose instances' memory to print")
	flag.Parse()
	if err := start(*rounds, *run, *node, *profile, *engine, *resident); err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

// ours are the engines within this program.
var ours = map[string]edges.Engine{"waot": waotEngine{}, "wazero": wazeroEngine{}}

func start(rounds int, run, node, profile, engine, resident string) error {
	if engine != "" {
		if profile != "" && resident == "" {
			f, err := os.Create(profile)
			if err != nil {
				return err
			}
			defer f.Close()
			if err := pprof.StartCPUProfile(f); err != nil {
				return err
			}
			defer pprof.StopCPUProfile()
		}
		return edges.Serve(ours[engine], resident)
	}
	match, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	if err := delays(max(1, rounds), match); err != nil {
		return err
	}
	return costs(max(1, rounds), match, node, profile)
}

// engine is a process that measures.
type engine struct {
	name string
	// loops says that it measures nothing but loops; minutes, that a program which throws often takes it minutes.
	loops, minutes bool
	*edges.Process
}

// measures says whether the engine is asked for an item.
func (e *engine) measures(i edges.Item) bool {
	loops := edges.Loops()
	n := slices.IndexFunc(loops, func(l *edges.Loop) bool { return l.Name == i.Name })
	return n < 0 && !e.loops || n >= 0 && !(e.minutes && loops[n].Start > 0)
}

//go:embed v8.mjs
var v8 []byte

// startEngines starts all processes, which may read a folder: first waot, twice, then those beside which it is. What this machine does not have is left out.
func startEngines(dir, node, profile string) (engines []*engine, err error) {
	script := filepath.Join(dir, "v8.mjs")
	if err := errors.Join(edges.WriteLoops(dir), os.WriteFile(script, v8, 0o666)); err != nil {
		return nil, err
	}
	add := func(name string, loops bool, argv ...string) error {
		p, err := edges.Start(argv...)
		if err != nil {
			return err
		}
		engines = append(engines, &engine{name: name, loops: loops, minutes: name == "wazero", Process: p})
		return nil
	}
	if err := errors.Join(
		add("waot", false, "/proc/self/exe", "-engine", "waot", "-cpuprofile", profile),
		add("waot again", false, "/proc/self/exe", "-engine", "waot"),
		add("wazero", false, "/proc/self/exe", "-engine", "wazero")); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		name, folder, pkg, env string
		loops                  bool
	}{
		{"wazy", "bench/peers", "./wazycosts", "CGO_ENABLED=0", false},
		{"wasmtime", "bench/instcount/wasmtimerun", "./costs", "CGO_ENABLED=1", true},
	} {
		file := filepath.Join(dir, x.name)
		err := nested.Build(x.folder, x.pkg, file, x.env)
		if err == nil {
			err = add(x.name, x.loops, file)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "without %s: %v\n", x.name, err)
		}
	}
	for _, x := range []struct {
		name  string
		flags []string
	}{
		{"V8", []string{"--no-liftoff", "--no-wasm-tier-up", "--no-wasm-lazy-compilation"}},
		{"V8 with tiers", nil},
	} {
		if err := add(x.name, true, append(append([]string{node}, x.flags...), script, dir)...); err != nil {
			fmt.Fprintf(os.Stderr, "without %s: %v\n", x.name, err)
		}
	}
	return engines, nil
}

// samples are the figures of one engine, sorted. There are none of what it refuses.
type samples []float64

func (s samples) median() float64 { return s[len(s)/2] }

// String returns the median with the range.
func (s samples) String() string {
	if len(s) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s-%s)", figure(s.median()), figure(s[0]), figure(s[len(s)-1]))
}

// figure has about three digits.
func figure(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// costs measures all items and prints a table.
func costs(rounds int, match *regexp.Regexp, node, profile string) (err error) {
	items := slices.DeleteFunc(edges.Items(edges.Large()), func(i edges.Item) bool { return !match.MatchString(i.Name) })
	if len(items) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "waot-costs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	engines, err := startEngines(dir, node, profile)
	if err != nil {
		return err
	}
	results := make([][]samples, len(items))
	for n := range items {
		results[n] = make([]samples, len(engines))
	}
	for r := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", r+1, rounds)
		for n, it := range items {
			for k := range engines {
				e := (k + r) % len(engines)
				if !engines[e].measures(it) || r > 0 && len(results[n][e]) == 0 {
					continue
				}
				v, err := engines[e].Measure(it)
				switch {
				case err == nil:
					results[n][e] = append(results[n][e], v)
				case r == 0 && !strings.HasPrefix(engines[e].name, engines[0].name):
					fmt.Fprintf(os.Stderr, "%s, %s: refused: %v\n", it.Name, engines[e].name, err)
				default:
					return fmt.Errorf("%s, %s: %w", it.Name, engines[e].name, err)
				}
			}
		}
	}
	for _, e := range engines {
		if err := e.Close(); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	write(items, engines, results)
	return nil
}

// write prints figures, and ratios of waot to the others.
func write(items []edges.Item, engines []*engine, results [][]samples) {
	head := "| | unit |"
	for _, e := range engines {
		head += " " + e.name + " |"
	}
	for _, e := range engines[1:] {
		head += " " + engines[0].name + " / " + e.name + " |"
	}
	fmt.Println(head)
	fmt.Println("|" + strings.Repeat("---|", 1+2*len(engines)))
	for n, it := range items {
		fmt.Printf("| %s | %s |", it.Name, it.Unit)
		for _, s := range results[n] {
			slices.Sort(s)
			fmt.Printf(" %v |", s)
		}
		for _, s := range results[n][1:] {
			ratio := ""
			if len(s) > 0 {
				ratio = fmt.Sprintf("%.3g", results[n][0].median()/s.median())
			}
			fmt.Printf(" %s |", ratio)
		}
		fmt.Println()
	}
}
