// Command soak makes random functions, allocates registers for them with every
// allocator, and checks each allocation: in both modes of the checker, with the
// claims of the allocator and with those that the other mode finds, and by
// executing it along random paths. It prints how many functions there were and what they
// contained. Any refusal ends it with the function's seed and status 1.
//
// Place in the pipeline: none; a campaign for testing.
//
// Input: flags.
// Output: figures on the standard output.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/exec"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/regalloc/local"
	"github.com/waot-project/waot/regalloc/ssa"
)

// allocator is what all allocators are.
type allocator interface {
	Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error
}

// allocators are those to run.
var allocators = [...]struct {
	name string
	make func() allocator
}{{"linear", func() allocator { return linear.New() }}, {"ssa", func() allocator { return ssa.New() }},
	{"local", func() allocator { return local.New() }}}

type options struct {
	n       uint64 // functions
	first   uint64 // seed of the first
	large   float64
	seconds float64 // 0 is no limit
	workers int
	only    string // the allocator to run; empty is all
}

func main() {
	var o options
	flag.Uint64Var(&o.n, "n", 10_000, "number of functions")
	flag.Uint64Var(&o.first, "first", 1, "seed of the first")
	flag.Float64Var(&o.large, "large", 0.25, "share of functions of full size; the others have a tenth of it")
	flag.Float64Var(&o.seconds, "seconds", 0, "stop after this many seconds; 0 is never")
	flag.IntVar(&o.workers, "workers", 1, "functions to work on at once")
	flag.StringVar(&o.only, "only", "", "the only allocator to run")
	flag.Parse()
	start := time.Now()
	d, executed, err := o.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	fmt.Print(d)
	fmt.Printf("%d allocators, no refusal; %d allocations executed along two paths; %.0f s\n", len(allocators), executed, time.Since(start).Seconds())
}

// worker has the contexts for one goroutine.
type worker struct {
	allocators [len(allocators)]allocator
	check      *checker.Checker
	exec       exec.Executor
	out        regalloc.Output
	dist       gen.Distribution
	executed   int
}

func (w *worker) init() {
	w.check = checker.New()
	for k := range allocators {
		w.allocators[k] = allocators[k].make()
	}
}

// run checks the functions; the error names the seed of one that fails.
func (o *options) run() (d *gen.Distribution, executed int, err error) {
	var next atomic.Uint64
	var wg sync.WaitGroup
	workers := make([]worker, max(o.workers, 1))
	errs := make([]error, len(workers))
	deadline := time.Now().Add(time.Duration(o.seconds * float64(time.Second)))
	for k := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w := &workers[k]
			w.init()
			for errs[k] == nil && (o.seconds == 0 || time.Now().Before(deadline)) {
				seed := next.Add(1) - 1
				if seed >= o.n {
					return
				}
				if err := w.guarded(o, o.first+seed); err != nil {
					errs[k] = fmt.Errorf("seed %d: %w", o.first+seed, err)
				}
			}
		}()
	}
	wg.Wait()
	d = new(gen.Distribution)
	for k := range workers {
		if errs[k] != nil {
			return nil, 0, errs[k]
		}
		d.Merge(&workers[k].dist)
		executed += workers[k].executed
	}
	return d, executed, nil
}

// guarded is function with panics as errors.
func (w *worker) guarded(o *options, seed uint64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return w.function(o, seed)
}

// function makes the function of a seed and puts it through everything. Every
// eighth allocation is executed.
func (w *worker) function(o *options, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 13))
	cfg := gen.Varied(r)
	if r.Float64() >= o.large {
		cfg = cfg.Small()
	}
	envs := gen.Envs()
	env := envs[seed%uint64(len(envs))]
	in := gen.Func(r, cfg, env)
	for k := range w.allocators {
		if o.only != "" && o.only != allocators[k].name {
			continue
		}
		if err := w.allocate(k, in, env); err != nil {
			return err
		}
		if k == 0 || o.only != "" {
			w.dist.Add(in, &w.out)
		}
		if seed%8 != 0 {
			continue
		}
		if err := w.execute(r, k, in, env); err != nil {
			return err
		}
	}
	return nil
}

// allocate runs allocator k and checks what it says.
func (w *worker) allocate(k int, in *regalloc.Input, env *regalloc.MachineEnv) error {
	err := w.allocators[k].Run(in, env, &w.out)
	if err == nil {
		err = w.verify(in, env)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", allocators[k].name, err)
	}
	return nil
}

// execute follows the allocation along two random paths.
func (w *worker) execute(r *rand.Rand, k int, in *regalloc.Input, env *regalloc.MachineEnv) error {
	w.executed++
	for range 2 {
		through := regalloc.Block(r.IntN(len(in.Blocks)))
		if err := w.exec.Run(r, in, env, &w.out, exec.Path{Through: through, Steps: len(in.Insts)}); err != nil {
			return fmt.Errorf("%s, executed: %w", allocators[k].name, err)
		}
	}
	return nil
}

// verify checks w.out with its claims, by the fixpoint, and with the claims that
// the fixpoint finds.
func (w *worker) verify(in *regalloc.Input, env *regalloc.MachineEnv) error {
	if err := w.check.Check(in, env, &w.out, checker.Options{}); err != nil {
		return err
	}
	if err := w.check.Check(in, env, &w.out, checker.Options{Fixpoint: true}); err != nil {
		return fmt.Errorf("fixpoint: %w", err)
	}
	w.check.Claim(&w.out)
	if err := w.check.Check(in, env, &w.out, checker.Options{}); err != nil {
		return fmt.Errorf("with claims of the fixpoint: %w", err)
	}
	return nil
}
