package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/exec"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/regalloc/local"
	"github.com/waot-project/waot/regalloc/ssa"
)

const (
	// maxInsts bounds the real functions taken, so that paths reach all of them.
	maxInsts = 3000
	// paths is how many are executed before a mutant counts as one that changes
	// nothing; steps bounds each behind the planted fault.
	paths, steps = 8, 1500
	// functions is how many are tried for a place for a fault, as some kinds have few.
	functions = 60
)

// campaign is a run over mutants.
type campaign struct {
	want     int
	seed     uint64
	seconds  float64
	workers  int
	corpus   []function
	tooLarge int // functions left out

	mu      sync.Mutex
	next    uint64
	changed int
	err     error
	counts  [len(faults)]count
	real    [2]count               // of random and of real functions
	alloc   [len(allocators)]count // of each allocator
}

// count counts mutants by what became of them.
type count struct {
	planted, malformed, changed int
	// rejected is how many of the other mutants the checker rejects too. The fixpoint mode
	// accepts otherClaims of these: only their claims are wrong.
	rejected, otherClaims int
}

func (n *count) add(v verdict) {
	n.planted++
	switch {
	case errors.Is(v.difference, exec.ErrMalformed):
		n.malformed++
	case v.difference != nil:
		n.changed++
	case v.claims != nil:
		n.rejected++
		if v.fixpoint == nil {
			n.otherClaims++
		}
	}
}

// verdict holds the facts about one mutant: how its execution differs, and what
// both modes of the checker say.
type verdict struct {
	difference, claims, fixpoint error
	// again is what the claims mode says with the claims of the fixpoint mode,
	// where that finds no fault.
	again error
}

// fault returns the checker's mistake, or nil.
func (v *verdict) fault() error {
	switch {
	case v.difference != nil && (v.claims == nil || v.fixpoint == nil):
		return fmt.Errorf("survives: %w", v.difference)
	case v.claims == nil && v.fixpoint != nil:
		return fmt.Errorf("the modes disagree: only the fixpoint finds that %w", v.fixpoint)
	case v.again != nil:
		return fmt.Errorf("the modes disagree: with the claims of the fixpoint, %w", v.again)
	}
	return nil
}

// worker has the contexts for one goroutine.
type worker struct {
	c     *campaign
	alloc [len(allocators)]allocator
	out   regalloc.Output
	check *checker.Checker
	exec  exec.Executor
}

// allocator is what all allocators are.
type allocator interface {
	Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error
}

// allocators are those whose allocations get faults, each of them as many.
var allocators = [...]struct {
	name string
	make func() allocator
}{{"linear", func() allocator { return linear.New() }}, {"ssa", func() allocator { return ssa.New() }},
	{"local", func() allocator { return local.New() }}}

func (c *campaign) newWorker() *worker {
	w := &worker{c: c, check: checker.New()}
	w.makeAllocators()
	return w
}

func (w *worker) makeAllocators() {
	for k := range allocators {
		w.alloc[k] = allocators[k].make()
	}
}

// run plants mutants until enough have changed the meaning.
func (c *campaign) run() error {
	deadline := time.Now().Add(time.Duration(c.seconds * float64(time.Second)))
	var wg sync.WaitGroup
	for range max(c.workers, 1) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			w := c.newWorker()
			for c.seconds == 0 || time.Now().Before(deadline) {
				number, ok := c.take()
				if !ok {
					return
				}
				if err := w.one(number); err != nil {
					c.fail(fmt.Errorf("%w\nto see it, add -mutant %d to the same flags and modules", err, number))
				}
			}
		}()
	}
	wg.Wait()
	return c.err
}

func (c *campaign) take() (number uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	number = c.seed + c.next
	c.next++
	return number, c.err == nil && c.changed < c.want
}

func (c *campaign) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// one makes the mutant of a number, judges it and counts it.
func (w *worker) one(number uint64) error {
	m, err := w.make(number)
	if err != nil || m == nil {
		return err
	}
	v := w.judge(m)
	if err := v.fault(); err != nil {
		return fmt.Errorf("mutant %d, %s in %s, allocator %s: %w", number, m.fault.name, m.name, allocators[m.alloc].name, err)
	}
	c := w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	k := number % uint64(len(faults))
	c.counts[k].add(v)
	c.real[m.real].add(v)
	c.alloc[m.alloc].add(v)
	if v.difference != nil && !errors.Is(v.difference, exec.ErrMalformed) {
		c.changed++
	}
	return nil
}

// make plants the fault with a number in the first of a few functions that has a place for it; nil if none has.
func (w *worker) make(number uint64) (*mutant, error) {
	r := rand.New(rand.NewPCG(number, 17))
	for range functions {
		if m, err := w.plant(r, &faults[number%uint64(len(faults))]); m != nil || err != nil {
			return m, err
		}
	}
	return nil, nil
}

// plant plants a fault in a function; nil if there is no place for it.
func (w *worker) plant(r *rand.Rand, f *fault) (*mutant, error) {
	m := &mutant{Rand: r, fault: f, alloc: r.IntN(len(allocators))}
	if len(w.c.corpus) > 0 && r.IntN(2) == 0 {
		m.function, m.real = w.c.corpus[r.IntN(len(w.c.corpus))], 1
	} else {
		envs := gen.Envs()
		env := envs[r.IntN(len(envs))]
		m.function = function{"a random function", gen.Func(r, gen.Varied(r).Small(), env), env}
	}
	if err := w.alloc[m.alloc].Run(m.in, m.env, &w.out); err != nil {
		return nil, fmt.Errorf("%s, %s: %w", allocators[m.alloc].name, m.name, err)
	}
	m.out = cloneOutput(&w.out)
	if m.fault.misread == nil {
		if !m.fault.plant(m) {
			return nil, nil
		}
		return m, nil
	}
	told := cloneInput(m.in)
	m.told = told
	if !m.fault.misread(m) {
		return nil, nil
	}
	m.out = new(regalloc.Output)
	if !w.allocate(m) {
		return nil, nil
	}
	return m, nil
}

// allocate allocates registers for the input that the allocator is told, which may be impossible.
func (w *worker) allocate(m *mutant) (ok bool) {
	defer func() {
		if recover() != nil {
			w.makeAllocators()
			ok = false
		}
	}()
	if w.alloc[m.alloc].Run(m.told, m.env, m.out) != nil {
		return false
	}
	if !m.fault.lowered {
		m.completeMaps()
	}
	return true
}

// judge executes a mutant, and asks the checker.
func (w *worker) judge(m *mutant) (v verdict) {
	through := blockOf(m.in, m.at)
	for k := range paths {
		if k == paths-1 { // one path from the entry, for faults that show on every path
			through = 0
		}
		if v.difference = w.exec.Run(m.Rand, m.in, m.env, m.out, exec.Path{Through: through, Steps: steps}); v.difference != nil {
			break
		}
	}
	v.claims = w.ask(m, checker.Options{})
	v.fixpoint = w.ask(m, checker.Options{Fixpoint: true})
	if v.fixpoint == nil {
		out := cloneOutput(m.out)
		w.check.Claim(out)
		v.again = w.check.Check(m.in, m.env, out, checker.Options{})
	}
	return v
}

// ask returns what the checker says of a mutant.
func (w *worker) ask(m *mutant, opt checker.Options) error {
	if !m.fault.lowered {
		return w.check.Check(m.in, m.env, m.out, opt)
	}
	if err := w.check.Check(m.told, m.env, m.out, opt); err != nil {
		return err
	}
	return checker.Safepoints(m.out, safepoints(m.in))
}

// table returns the figures of a campaign.
func (c *campaign) table() string {
	var b strings.Builder
	row := func(name string, n *count) {
		discarded := n.planted - n.changed - n.malformed
		fmt.Fprintf(&b, "%-46s %8d %8d %8d %8d %6.1f %8d\n", name, n.planted, n.changed, n.malformed, discarded,
			100*float64(discarded)/float64(max(n.planted, 1)), n.rejected)
	}
	fmt.Fprintf(&b, "%-46s %8s %8s %8s %8s %6s %8s\n", "fault", "planted", "changed", "no code", "discarded", "%", "rejected")
	var all count
	for k := range faults {
		n := &c.counts[k]
		row(faults[k].name, n)
		all.planted += n.planted
		all.malformed += n.malformed
		all.changed += n.changed
		all.rejected += n.rejected
		all.otherClaims += n.otherClaims
	}
	row("all", &all)
	row("of random functions", &c.real[0])
	row("of real functions", &c.real[1])
	for k := range allocators {
		row("of the allocator "+allocators[k].name, &c.alloc[k])
	}
	fmt.Fprintf(&b, "%d mutants that change the meaning, all caught in both modes, and %d that are no code; %d discarded, of which %d are refused too, %d for their claims only\n",
		all.changed, all.malformed, all.planted-all.changed-all.malformed, all.rejected, all.otherClaims)
	fmt.Fprintf(&b, "%d real functions (%d left out: more than %d instructions)\n", len(c.corpus), c.tooLarge, maxInsts)
	return b.String()
}

// missing are the kinds of fault that changed nothing and made no malformed output.
func (c *campaign) missing() (names []string) {
	for k := range faults {
		if n := &c.counts[k]; n.changed+n.malformed == 0 {
			names = append(names, faults[k].name)
		}
	}
	return names
}
