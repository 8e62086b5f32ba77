// Command startup measures how long a small program takes from the command line to its end, when it has been compiled before: by waot with its
// cache, by wasmtime with a module that it has compiled, and by wazero's command with its cache. Engines take turns; waot as `go build` makes it
// runs twice in each turn, which shows how far figures of the same thing are apart.
//
//	go run ./bench/startup [-rounds N] [MODULE.wasm [ARGS...]]
//
// The module is testdata/wasm/hello.wasm unless another is named. It needs the Go toolchain, what go.sum names, and for wasmtime gcc: a C program with
// the library that the module oracle has is measured instead of wasmtime's command, which does more.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 400, "rounds; each runs every engine once")
	flag.Parse()
	module := []string{filepath.Join("testdata", "wasm", "hello.wasm")}
	if flag.NArg() > 0 {
		module = flag.Args()
	}
	if err := start(max(1, *rounds), module[0], module[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(1)
	}
}

func start(rounds int, module string, args []string) error {
	dir, err := os.MkdirTemp("", "startup")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := builder{dir: dir, module: module, args: args}
	list, err := b.engines()
	if err != nil {
		return err
	}
	// A cache trusts the states of files that have not changed for two seconds.
	time.Sleep(2200 * time.Millisecond)
	for i := range list {
		for range 2 {
			if _, err := list[i].run(); err != nil {
				return err
			}
		}
	}
	samples := make([][]sample, len(list))
	for range rounds {
		for i := range list {
			s, err := list[i].run()
			if err != nil {
				return err
			}
			samples[i] = append(samples[i], s)
		}
	}
	report(list, samples)
	return nil
}

// engine is a command to measure.
type engine struct {
	name string
	argv []string
	env  []string // additions to the environment
}

// sample is one run.
type sample struct {
	cpu, wall float64 // milliseconds
	faults    float64 // of pages
}

// run runs the command once, without its output.
func (e *engine) run() (sample, error) {
	c := exec.Command(e.argv[0], e.argv[1:]...)
	c.Env = append(os.Environ(), e.env...)
	began := time.Now()
	err := c.Run()
	wall := time.Since(began)
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w", e.name, err)
	}
	used := c.ProcessState.SysUsage().(*syscall.Rusage)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return sample{ms(c.ProcessState.UserTime() + c.ProcessState.SystemTime()), ms(wall), float64(used.Minflt)}, nil
}

// report prints a table in Markdown.
func report(list []engine, samples [][]sample) {
	fmt.Println("| | processor time, least | median | wall time, least | median | page faults |")
	fmt.Println("|---|---|---|---|---|---|")
	for i, e := range list {
		of := func(figure func(sample) float64) (least, median float64) {
			var all []float64
			for _, s := range samples[i] {
				all = append(all, figure(s))
			}
			slices.Sort(all)
			return all[0], all[len(all)/2]
		}
		cpuLeast, cpu := of(func(s sample) float64 { return s.cpu })
		wallLeast, wall := of(func(s sample) float64 { return s.wall })
		_, faults := of(func(s sample) float64 { return s.faults })
		fmt.Printf("| %s | %.2f | %.2f | %.2f | %.2f | %.0f |\n", e.name, cpuLeast, cpu, wallLeast, wall, faults)
	}
}
