// Command soak compares random programs, compiled for each target at each level of optimisation, with
// wazero's interpreter and the CLIF interpreter, and prints figures. For each difference it leaves a folder with the
// reduced program. The status is 1 if there is a difference.
//
// Place in the pipeline: none; a campaign for testing.
//
// Input: flags.
// Output: figures on the standard output.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/campaign"
)

func main() {
	cfg := campaign.Config{Again: "go run ./internal/proof/campaign/soak"}
	flag.Uint64Var(&cfg.N, "n", 10_000, "number of modules")
	flag.Uint64Var(&cfg.First, "seed", 1, "seed of the first")
	flag.BoolVar(&cfg.Vectors, "vectors", false, "modules with vectors")
	flag.BoolVar(&cfg.Typed, "typed", false, "modules with typed function references")
	flag.BoolVar(&cfg.Tails, "tails", false, "modules with tail calls")
	flag.BoolVar(&cfg.Throws, "throws", false, "modules with exceptions, every other one of the legacy proposal")
	flag.BoolVar(&cfg.GC, "gc", false, "modules with structures and arrays")
	flag.IntVar(&cfg.Turns, "turns", 0, "ways to compile for each target that a module takes, in turns; 0 is all")
	seconds := flag.Float64("seconds", 0, "stop after this many seconds; 0 is never")
	flag.IntVar(&cfg.Workers, "workers", runtime.GOMAXPROCS(0), "modules to work on at once")
	targets := flag.String("targets", strings.Join(compile.Targets(), ","), "targets, of which host is this machine's")
	flag.StringVar(&cfg.Dir, "out", "", "write what differs to this folder")
	flag.IntVar(&cfg.PerProcess, "per-process", 2000, "modules that one process runs before the next is started")
	mib := flag.Uint64("memory", 1024, "MiB that one process may have in use after a module")
	serve := flag.Bool("serve", false, "run programs for another process, which is how soak starts itself")
	flag.Parse()
	debug.SetGCPercent(800) // modules are small, and collections a fifth of the time, most of all in an emulator
	if *serve {
		// What interrupts the campaign interrupts its whole group; this process ends when it is not needed.
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		exit(campaign.Serve(os.Stdin, os.Stdout))
	}
	if cfg.Vectors {
		cfg.Again += " -vectors"
	}
	if cfg.Typed {
		cfg.Again += " -typed"
	}
	if cfg.Tails {
		cfg.Again += " -tails"
	}
	if cfg.Throws {
		cfg.Again += " -throws"
	}
	if cfg.GC {
		cfg.Again += " -gc"
	}
	if cfg.Turns != 0 {
		cfg.Again += fmt.Sprintf(" -turns %d", cfg.Turns)
	}
	cfg.For, cfg.MaxBytes = time.Duration(*seconds*float64(time.Second)), *mib<<20
	for _, t := range strings.Split(*targets, ",") {
		if t == "host" {
			t = compile.HostTarget()
		}
		cfg.Targets = append(cfg.Targets, t)
	}
	exit(soak(cfg))
}

// exit ends the program.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// soak runs the campaign and prints the figures.
func soak(cfg campaign.Config) error {
	dir, err := emulate.NewFolder("waot-soak-")
	if err != nil {
		return err
	}
	defer dir.Remove()
	cfg.Start = emulate.Start
	servers := map[string]func() *exec.Cmd{}
	for _, t := range cfg.Targets {
		m, err := emulate.For(compile.GOARCH(t), "")
		if err != nil {
			return err
		}
		program, err := os.Executable()
		if err == nil && m.GOARCH != runtime.GOARCH {
			program, err = m.Build(context.Background(), dir.Path, "github.com/waot-project/waot/internal/proof/campaign/soak", "build")
		}
		if err != nil {
			return err
		}
		servers[t] = func() *exec.Cmd { return m.Command(context.Background(), program, "-serve") }
	}
	cfg.Command = func(target string) *exec.Cmd { return servers[target]() }
	cfg.Progress = func(f *campaign.Figures) {
		fmt.Fprintf(os.Stderr, "%d modules, %.0f s, %d differences\n", f.Modules, f.Elapsed.Seconds(), len(f.Failures))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f, err := campaign.Run(ctx, cfg)
	fmt.Print(f)
	if err == nil && len(f.Failures) > 0 {
		err = fmt.Errorf("%d differences", len(f.Failures))
	}
	return err
}
