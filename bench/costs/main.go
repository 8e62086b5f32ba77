// Command costs measures what waot costs a Go program at its edges, beside wazero and wazy: calls in
// both directions, WASI, instances, loading, memory, and how long the rest of the process
// waits. Each engine has a process of its own, and waot has two, which shows the noise. They take turns within a round; figures are
// medians of rounds, with the smallest and the largest. It needs nothing but the Go toolchain and this module, and for wazy
// the module that bench/peers requires.
//
//	go run ./bench/costs [-rounds N] [-run REGEXP] [-cpuprofile FILE]
//
// With WAOT_BENCH_DIR, the folder of a benchmark suite's modules, the large module is its
// sqlite3/sqlite3.wasm; otherwise it is a program of this tree.
package main

import (
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
	profile := flag.String("cpuprofile", "", "write a CPU profile of what waot does")
	engine := flag.String("engine", "", "for internal use: measure with this engine what standard input names")
	resident := flag.String("resident", "", "for internal use: the module whose instances' memory to print")
	flag.Parse()
	if err := start(*rounds, *run, *profile, *engine, *resident); err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

// ours are the engines within this program.
var ours = map[string]edges.Engine{"waot": waotEngine{}, "wazero": wazeroEngine{}}

func start(rounds int, run, profile, engine, resident string) error {
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
	return costs(max(1, rounds), match, profile)
}

// engine is a process that measures.
type engine struct {
	name string
	*edges.Process
}

// startEngines starts all processes: first waot, twice, then those beside which it is. Without the module of wazy there is none of it.
func startEngines(profile string) (engines []engine, err error) {
	dir, err := os.MkdirTemp("", "waot-costs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // the programs run already
	programs := [][]string{
		{"waot", "/proc/self/exe", "-engine", "waot", "-cpuprofile", profile},
		{"waot again", "/proc/self/exe", "-engine", "waot"},
		{"wazero", "/proc/self/exe", "-engine", "wazero"},
	}
	wazy := filepath.Join(dir, "wazy")
	if err := nested.Build("bench/peers", "./wazycosts", wazy); err != nil {
		fmt.Fprintln(os.Stderr, "without wazy:", err)
	} else {
		programs = append(programs, []string{"wazy", wazy})
	}
	for _, p := range programs {
		process, err := edges.Start(p[1:]...)
		if err != nil {
			return nil, err
		}
		engines = append(engines, engine{p[0], process})
	}
	return engines, nil
}

// samples are the figures of one engine, sorted.
type samples []float64

func (s samples) median() float64 { return s[len(s)/2] }

// String returns the median with the range.
func (s samples) String() string {
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
func costs(rounds int, match *regexp.Regexp, profile string) (err error) {
	items := slices.DeleteFunc(edges.Items(edges.Large()), func(i edges.Item) bool { return !match.MatchString(i.Name) })
	if len(items) == 0 {
		return nil
	}
	engines, err := startEngines(profile)
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
				v, err := engines[e].Measure(it)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", it.Name, engines[e].name, err)
				}
				results[n][e] = append(results[n][e], v)
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
func write(items []edges.Item, engines []engine, results [][]samples) {
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
			fmt.Printf(" %.3g |", results[n][0].median()/s.median())
		}
		fmt.Println()
	}
}
