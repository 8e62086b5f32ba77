// Command costs measures what waot costs a Go program at its edges, beside wazero: calls in
// both directions, WASI, instances, loading, memory, and how long the rest of the process
// waits. Engines take turns within a round; figures are medians of rounds, with the
// smallest and the largest. It needs nothing but the Go toolchain and this module.
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
	"regexp"
	"runtime/pprof"
	"slices"
)

func main() {
	rounds := flag.Int("rounds", 7, "rounds; each measures everything once with each engine")
	run := flag.String("run", "", "only what matches")
	profile := flag.String("cpuprofile", "", "write a CPU profile")
	resident := flag.String("resident", "", "for internal use: ENGINE,MODULE whose instances' memory to print")
	flag.Parse()
	if err := start(*rounds, *run, *profile, *resident); err != nil {
		fmt.Fprintln(os.Stderr, "costs:", err)
		os.Exit(1)
	}
}

func start(rounds int, run, profile, resident string) error {
	if resident != "" {
		return printResident(resident)
	}
	match, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	if profile != "" {
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
	modules, err := findModules()
	if err != nil {
		return err
	}
	// Delays first: they depend on the size of Go's heap.
	if err := delays(max(1, rounds), match); err != nil {
		return err
	}
	return costs(modules, max(1, rounds), match)
}

// The engines, as indices.
const (
	waotEngine = iota
	wazeroEngine
	numEngines
)

var engineNames = [numEngines]string{"waot", "wazero"}

// item is one thing that is measured.
type item struct {
	name string
	unit string // ns, us, ms or KiB
	// measure gives one figure in that unit for each engine.
	measure [numEngines]func() (float64, error)
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
func costs(m *modules, rounds int, match *regexp.Regexp) error {
	items, closeAll, err := allItems(m)
	if err != nil {
		return err
	}
	defer closeAll()
	items = slices.DeleteFunc(items, func(i item) bool { return !match.MatchString(i.name) })
	if len(items) == 0 {
		return nil
	}
	results := make([][numEngines]samples, len(items))
	for r := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", r+1, rounds)
		for n, it := range items {
			for k := range numEngines {
				e := (k + r) % numEngines
				v, err := it.measure[e]()
				if err != nil {
					return fmt.Errorf("%s, %s: %w", it.name, engineNames[e], err)
				}
				results[n][e] = append(results[n][e], v)
			}
		}
	}
	fmt.Println("| | unit | waot | wazero | waot / wazero |\n|---|---|---|---|---|")
	for n, it := range items {
		for e := range results[n] {
			slices.Sort(results[n][e])
		}
		a, b := results[n][waotEngine], results[n][wazeroEngine]
		fmt.Printf("| %s | %s | %v | %v | %.2f |\n", it.name, it.unit, a, b, a.median()/b.median())
	}
	return nil
}
