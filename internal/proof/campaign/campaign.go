package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Config configures a campaign.
type Config struct {
	First, N uint64        // seeds
	Vectors  bool          // the programs have vectors
	Typed    bool          // the programs have typed function references, and no vectors
	Tails    bool          // the programs have tail calls
	Throws   bool          // the programs have exceptions, those of odd seeds of the legacy proposal too, which the judge does not know: then the CLIF interpreter judges
	GC       bool          // the programs have structures and arrays, which the CLIF interpreter judges; those that are not long run with a collection for each object, too
	For      time.Duration // ends the campaign earlier; 0 does not
	// Turns, if not 0, is how many ways to compile for each target a program takes, which take turns; then programs with structures are smaller, some programs only are
	// interpreted as the mid-end leaves them, and some only count what they execute.
	Turns   int
	Workers int // 0 means 1
	Targets []string
	// Command returns the command of a process that serves for a target.
	Command func(target string) *exec.Cmd
	// Start starts a command; nil stands for the command's own Start.
	Start func(*exec.Cmd) error
	// PerProcess is how many programs one process runs before the next one starts; 0 means 500. MaxBytes is how much memory
	// it may use after a program; 0 means 1 GiB.
	PerProcess int
	MaxBytes   uint64
	// Timeout is for one object in one process; 0 means a minute.
	Timeout time.Duration
	// Dir gets a folder for each difference, if it is not empty.
	Dir string
	// MaxFailures ends the campaign; 0 means 20.
	MaxFailures int
	// ReduceFor bounds the time that making one program small takes; 0 means two minutes.
	ReduceFor time.Duration
	// Again is the start of the command line for reports; seeds and targets follow.
	Again string
	// Progress, if not nil, is called now and then.
	Progress func(*Figures)
	// Spoil, if not nil, may plant a fault in what a variant compiles, in tests of the campaign.
	Spoil func(v *Variant, o *compile.Options)
}

// Variant is a way to compile.
type Variant struct {
	Name   string
	Target string // empty for the CLIF interpreter on what the mid-end gives
	CPU    string
	Level  opt.Level
	// NoSpectre is compile.Options.NoSpectre.
	NoSpectre bool
	// ExplicitBounds is compile.Options.ExplicitBounds.
	ExplicitBounds bool
	// Regalloc is compile.Options.Regalloc.
	Regalloc string
	// EagerInlining is compile.Options.EagerInlining.
	EagerInlining bool
	// NoLowering turns all lowering rules off.
	NoLowering bool
}

// Interpreter is the name of the variant that does not compile.
const Interpreter = "CLIF interpreter"

// optimised returns the variant of the mid-end without a back end.
func optimised() *Variant { return &Variant{Name: Interpreter + " -O1", Level: opt.O1} }

// options returns the options of the compiler.
func (v *Variant) options() compile.Options {
	o := compile.Options{Target: v.Target, CPU: v.CPU, OptLevel: v.Level, NoSpectre: v.NoSpectre, ExplicitBounds: v.ExplicitBounds, Regalloc: v.Regalloc, EagerInlining: v.EagerInlining, Verify: true, Jobs: 1}
	if v.NoLowering {
		o.Control = func(clif.FuncIndex) *opt.Control {
			return &opt.Control{Limit: -1, Off: map[string]bool{rewrite.LowerPass: true}}
		}
	}
	return o
}

// Variants returns the variants for a target: each level of optimisation, one of them without the protection against
// misspeculation, one with explicit bounds checks, one without lowering rules, some with another register allocator than the usual one, one that inlines whatever budgets allow, and, for this machine, the highest level of processor that it has.
func Variants(target string) (list []Variant) {
	list = []Variant{
		{Name: target + " -O0", Target: target, Level: opt.O0},
		{Name: target + " -O1 --spectre=off", Target: target, Level: opt.O1, NoSpectre: true},
		{Name: target + " -O1 --bounds=explicit", Target: target, Level: opt.O1, ExplicitBounds: true},
		{Name: target + " -O1 --rules-off=lower", Target: target, Level: opt.O1, NoLowering: true},
		{Name: target + " -O1 --regalloc=ssa", Target: target, Level: opt.O1, Regalloc: "ssa"},
		{Name: target + " -O1 --regalloc=local", Target: target, Level: opt.O1, Regalloc: "local"},
		{Name: target + " -O0 --regalloc=linear", Target: target, Level: opt.O0, Regalloc: "linear"},
		{Name: target + " -O0 --regalloc=ssa", Target: target, Level: opt.O0, Regalloc: "ssa"},
		{Name: target + " -O1 --bounds=explicit --regalloc=ssa", Target: target, Level: opt.O1, ExplicitBounds: true, Regalloc: "ssa"},
		{Name: target + " -O1 inlining eagerly", Target: target, Level: opt.O1, EagerInlining: true},
		{Name: target + " -O1", Target: target, Level: opt.O1},
	}
	if v3 := (Variant{Name: target + " -O1 x86-64-v3", Target: target, CPU: "x86-64-v3", Level: opt.O1}); target == compile.HostTarget() && runs(&v3) {
		list = append(list, v3)
	}
	return list
}

// runs reports whether this machine runs what v compiles.
func runs(v *Variant) bool {
	r, err := compile.Module([]byte("\x00asm\x01\x00\x00\x00"), compile.Options{Target: v.Target, CPU: v.CPU})
	if err != nil {
		return false // not a processor of the target
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return false
	}
	m, err := inproc.Load(img)
	if err != nil {
		return false
	}
	m.Close()
	return true
}

// Figures are what a campaign did.
type Figures struct {
	Modules, Functions, Bytes              int
	Calls                                  int            // that the judge made
	Compared                               int            // calls, by all that was compared with it
	Collecting                             int            // modules that ran with a collection for each object, too
	ComparedBy                             map[string]int // Compared, by variant
	Traps                                  int            // calls of the judge that trapped
	Places                                 int            // of traps, compared with those of the CLIF interpreter
	Trapping, Looping, Indirect, Growing   int            // modules that did so
	Hosting                                int            // modules that called the host
	Rounds, IndirectCalls, Grows, HostCall uint64
	Operators, VectorOperators             int // of which the functions are made
	Unsupported                            int // compilations
	Exhausted                              int // modules that made too many objects for the CLIF interpreter, which frees none
	OutOfSteps                             int // modules that the CLIF interpreter did not finish, so that nothing else was compared
	Unjudged                               int // modules that the judge does not know, compared with the CLIF interpreter alone
	Cut                                    int // modules compared up to a stack overflow only, as host calls show how deep it was
	Starts                                 int // of processes
	PeakBytes                              uint64
	Counts                                 randprog.Counts // of what programs count themselves
	Elapsed                                time.Duration
	Variants                               []string
	Failures                               []Failure
}

// Failure is a difference.
type Failure struct {
	Seed    uint64
	Variant string
	Diff    string
	Size    int    // of the module, in bytes
	Reduced []byte // the module made small; nil if it could not be
	Calls   int    // that are left
	Tries   int
	// OutOfSteps are tries that could not be compared: the CLIF interpreter ran out of steps.
	OutOfSteps int
	Small      string // how the small one differs
	Rewrite    string // of the mid-end or of lowering, or why there is none
	Listing    string // of the small one
	// File is the reduced program, or the whole one if it could not be reduced, as a file of testdata/programs that shows the
	// difference. FileTest has its calls as a file of testdata/clif, which shows it too. If there is no such file, the
	// text says why.
	File       []byte
	NoFile     string
	FileTest   string
	NoFileTest string
	Dir        string // empty if nothing was written
}

func (f *Figures) add(g *Figures) {
	f.Modules += g.Modules
	f.Functions += g.Functions
	f.Bytes += g.Bytes
	f.Calls += g.Calls
	f.Compared += g.Compared
	f.Collecting += g.Collecting
	f.comparedBy(g.ComparedBy)
	f.Traps += g.Traps
	f.Places += g.Places
	f.Trapping += g.Trapping
	f.Looping += g.Looping
	f.Indirect += g.Indirect
	f.Growing += g.Growing
	f.Hosting += g.Hosting
	f.Rounds += g.Rounds
	f.IndirectCalls += g.IndirectCalls
	f.Grows += g.Grows
	f.HostCall += g.HostCall
	f.Operators += g.Operators
	f.VectorOperators += g.VectorOperators
	f.Unsupported += g.Unsupported
	f.OutOfSteps += g.OutOfSteps
	f.Exhausted += g.Exhausted
	f.Unjudged += g.Unjudged
	f.Cut += g.Cut
	f.Counts.Merge(&g.Counts)
	f.Failures = append(f.Failures, g.Failures...)
}

// String returns the figures as text.
func (f *Figures) String() string {
	share := func(n int) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(max(f.Modules, 1))) }
	var b strings.Builder
	fmt.Fprintf(&b, "%d modules, %d functions, %d bytes, %.0f s\n", f.Modules, f.Functions, f.Bytes, f.Elapsed.Seconds())
	fmt.Fprintf(&b, "compared with wazero's interpreter: %s\n", strings.Join(f.Variants, ", "))
	fmt.Fprintf(&b, "calls: %d, of which %d trap; %d compared; places of %d traps compared with the CLIF interpreter's\n", f.Calls, f.Traps, f.Compared, f.Places)
	fmt.Fprintf(&b, "modules that trap: %s; that execute a back edge: %s; that call indirectly: %s; that grow memory: %s; that call the host: %s\n",
		share(f.Trapping), share(f.Looping), share(f.Indirect), share(f.Growing), share(f.Hosting))
	fmt.Fprintf(&b, "back edges: %d, indirect calls: %d, memory.grow: %d, calls of the host: %d\n", f.Rounds, f.IndirectCalls, f.Grows, f.HostCall)
	fmt.Fprintf(&b, "operators: %d, of which %d (%.1f %%) work on vectors\n", f.Operators, f.VectorOperators,
		100*float64(f.VectorOperators)/float64(max(f.Operators, 1)))
	fmt.Fprintf(&b, "compared by variant:")
	for i, name := range slices.Sorted(maps.Keys(f.ComparedBy)) {
		fmt.Fprintf(&b, "%s %s %d", strings.Repeat(",", min(i, 1)), name, f.ComparedBy[name])
	}
	fmt.Fprintln(&b)
	fmt.Fprintf(&b, "modules that ran with a collection for each object, too: %d\n", f.Collecting)
	fmt.Fprintf(&b, "processes: %d, at most %d MiB each; compilations that need what is not supported: %d\n", f.Starts, f.PeakBytes>>20, f.Unsupported)
	fmt.Fprintf(&b, "modules for which the CLIF interpreter ran out of steps: %d\n", f.OutOfSteps)
	fmt.Fprintf(&b, "modules with more objects than the CLIF interpreter can have, which frees none: %d\n", f.Exhausted)
	fmt.Fprintf(&b, "modules that the judge does not know: %d\n", f.Unjudged)
	fmt.Fprintf(&b, "modules that show the host how deep the stack is, compared up to its overflow: %d\n", f.Cut)
	if f.Counts.Names != nil {
		fmt.Fprintf(&b, "%v\n", &f.Counts)
	}
	fmt.Fprintf(&b, "differences: %d\n", len(f.Failures))
	for i := range f.Failures {
		x := &f.Failures[i]
		fmt.Fprintf(&b, "seed %d, %s: %s\n", x.Seed, x.Variant, x.Diff)
		if x.Reduced != nil {
			fmt.Fprintf(&b, "  from %d bytes to %d and %d calls, %d tries, of which %d ran out of steps: %s\n  %s\n", x.Size, len(x.Reduced), x.Calls, x.Tries, x.OutOfSteps, x.Small, x.Rewrite)
		} else if x.Small != "" {
			fmt.Fprintf(&b, "  not made small: %s\n", x.Small)
		}
		if x.Dir != "" {
			fmt.Fprintf(&b, "  in %s\n", x.Dir)
		}
	}
	return b.String()
}

// Run runs a campaign. An error means that it could not continue; differences are in the figures.
func Run(ctx context.Context, cfg Config) (*Figures, error) {
	cfg.setDefaults()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	total := &Figures{Variants: []string{Interpreter, optimised().Name}}
	for _, t := range cfg.Targets {
		for _, v := range Variants(t) {
			total.Variants = append(total.Variants, v.Name)
		}
	}
	var next atomic.Uint64
	next.Store(cfg.First)
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for range cfg.Workers {
		wg.Go(func() {
			w := newWorker(&cfg)
			defer w.close()
			for ctx.Err() == nil && (cfg.For == 0 || time.Since(start) < cfg.For) {
				seed := next.Add(1) - 1
				if seed >= cfg.First+cfg.N {
					break
				}
				f, err := w.module(ctx, seed)
				mu.Lock()
				total.add(f)
				total.Elapsed = time.Since(start)
				if cfg.Progress != nil && total.Modules%1000 == 0 {
					cfg.Progress(total)
				}
				if len(total.Failures) >= cfg.MaxFailures {
					next.Store(cfg.First + cfg.N)
				}
				mu.Unlock()
				if err != nil && ctx.Err() == nil {
					cancel(fmt.Errorf("seed %d: %w", seed, err))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, m := range w.machines {
				total.Starts += m.starts
				total.PeakBytes = max(total.PeakBytes, m.peak)
			}
		})
	}
	wg.Wait()
	total.Elapsed = time.Since(start)
	return total, context.Cause(ctx)
}

// program makes the program of a seed, which depends on the targets as far as one may write a part of a vector.
func (cfg *Config) program(seed uint64) *randprog.Program {
	switch {
	case cfg.Typed:
		return randprog.GenerateTyped(seed, false)
	case cfg.Tails:
		return randprog.GenerateTails(seed)
	case cfg.GC:
		return cfg.generateGC(seed, false)
	case cfg.Throws:
		return randprog.GenerateExceptions(seed/2, seed%2 > 0, false)
	case cfg.Vectors:
		torn := !slices.ContainsFunc(cfg.Targets, func(t string) bool { return compile.GOARCH(t) != "amd64" })
		return randprog.GenerateVectors(seed, false, torn)
	}
	return randprog.Generate(seed)
}

// generateGC makes the program of a seed with structures and arrays; counts says that it counts what it executes. Those of a campaign in turns are
// smaller, so that there are more of them.
func (cfg *Config) generateGC(seed uint64, counts bool) *randprog.Program {
	if cfg.Turns > 0 {
		return randprog.GenerateSmallGC(seed, seed%2 == 1, counts)
	}
	return randprog.GenerateGC(seed, seed%2 == 1, counts)
}

func (cfg *Config) setDefaults() {
	set := func(p *int, n int) {
		if *p == 0 {
			*p = n
		}
	}
	set(&cfg.Workers, 1)
	set(&cfg.PerProcess, 500)
	set(&cfg.MaxFailures, 20)
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = 1 << 30
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.ReduceFor == 0 {
		cfg.ReduceFor = 2 * time.Minute
	}
}

// worker compares one program at a time.
type worker struct {
	cfg      *Config
	machines []*machine // by target
}

// machine is a target with its process.
type machine struct {
	process
	target   string
	variants []Variant
	envs     map[string]*environment // by module
}

func newWorker(cfg *Config) *worker {
	w := &worker{cfg: cfg}
	for _, t := range cfg.Targets {
		m := &machine{target: t, variants: Variants(t), envs: map[string]*environment{}}
		m.process = process{command: func() *exec.Cmd { return cfg.Command(t) }, launch: cfg.Start, timeout: cfg.Timeout, perProcess: cfg.PerProcess, maxBytes: cfg.MaxBytes}
		w.machines = append(w.machines, m)
	}
	return w
}

// close ends the processes; how they end no longer matters.
func (w *worker) close() {
	for _, m := range w.machines {
		m.stop()
	}
}

// module compares the program of a seed. An error means that it could not be compared.
func (w *worker) module(ctx context.Context, seed uint64) (*Figures, error) {
	f := &Figures{}
	p := w.cfg.program(seed)
	want, err := w.judge(ctx, p, f, seed)
	if err != nil {
		return f, err
	}
	run := p
	fail := func(v *Variant, name string, got *randprog.Outcome) {
		if w.cfg.GC && want.Exhausted() && !got.Exhausted() {
			f.Exhausted = 1
			return
		}
		if d := got.Diff(want); d != "" {
			x := Failure{Seed: seed, Variant: name, Diff: d, Size: len(p.Wasm)}
			w.investigate(ctx, run, v, &x)
			f.Failures = append(f.Failures, x)
		}
		compared := len(want.Calls)
		if got.Cut(want) {
			f.Cut, compared = 1, want.Overflow.Calls
		}
		f.Compared += compared
		if v != nil && v.Target != "" {
			f.comparedBy(map[string]int{v.Name: compared})
		}
		f.Places += got.Places(want)
	}
	plain, short := w.plain(p)
	if plain.TooLong() {
		f.OutOfSteps++
		return f, nil
	}
	if want == nil {
		want = plain
		f.Modules, f.Unjudged, f.Bytes, f.Calls = 1, 1, len(p.Wasm), len(want.Calls)
	}
	fail(nil, Interpreter, plain)
	want = randprog.Reference(want, plain)
	turn := w.cfg.turn(seed)
	if turn.some(4) {
		fail(optimised(), optimised().Name, w.interpret(p, optimised(), nil, interp.Options{Context: ctx, MaxSteps: 8 * wholeLimits.MaxSteps}))
	}
	ways := []*randprog.Program{p}
	if w.cfg.GC {
		f.traps(plain)
		if turn.some(8) {
			f.countOperators(w.cfg.generateGC(seed, true))
		}
		if short {
			f.Collecting = 1
			moving := *p
			moving.CollectAlways = true
			ways = append(ways, &moving)
		}
	}
	for _, m := range w.machines {
		variants := turn.choose(m.variants)
		c, err := w.compile(m, p, variants, nil)
		if err != nil {
			return f, fmt.Errorf("%s: %w", m.target, err)
		}
		for _, run = range turn.runs(m.target, ways) {
			list, err := m.outcomes(run, c)
			if err != nil {
				return f, fmt.Errorf("%s: %w", m.target, err)
			}
			for i, got := range list {
				if got == nil {
					f.Unsupported++
					continue
				}
				fail(&variants[i], variants[i].Name+collecting(run), got)
			}
		}
	}
	return f, nil
}

// turn chooses what is done with a program, where not all is.
type turn struct {
	*rand.Rand // nil if all is done
	ways       int
}

func (cfg *Config) turn(seed uint64) turn {
	if cfg.Turns == 0 {
		return turn{}
	}
	return turn{rand.New(rand.NewPCG(seed, 0x7075)), cfg.Turns} // what a program consists of depends on remainders of the seed
}

// some reports whether to do something, once in n times.
func (t turn) some(n int) bool { return t.Rand == nil || t.IntN(n) == 0 }

// choose chooses the ways to compile.
func (t turn) choose(list []Variant) []Variant {
	if t.Rand == nil || t.ways >= len(list) {
		return list
	}
	var chosen []Variant
	for _, i := range t.Perm(len(list))[:t.ways] {
		chosen = append(chosen, list[i])
	}
	return chosen
}

// runs chooses what runs for a target: one of the ways in an emulator, which takes long to translate the code of each.
func (t turn) runs(target string, ways []*randprog.Program) []*randprog.Program {
	if t.Rand == nil || compile.GOARCH(target) == runtime.GOARCH {
		return ways
	}
	i := t.IntN(len(ways))
	return ways[i : i+1]
}

// plain runs a program on the CLIF interpreter, and reports whether it is one that can run with a collection for each object.
func (w *worker) plain(p *randprog.Program) (o *randprog.Outcome, short bool) {
	if w.cfg.GC {
		if o = randprog.Run(&interpengine.Engine{Options: w.cfg.collectingLimits()}, p); !o.TooLong() {
			return o, true
		}
	}
	return randprog.Run(&interpengine.Engine{Options: wholeLimits}, p), false
}

func (f *Figures) comparedBy(calls map[string]int) {
	if f.ComparedBy == nil {
		f.ComparedBy = map[string]int{}
	}
	for name, n := range calls {
		f.ComparedBy[name] += n
	}
}

// collectingLimits bound programs that run with a collection for each object, as each takes time in proportion to what lives: seconds, in an emulator half a minute.
func (cfg *Config) collectingLimits() interp.Options {
	if cfg.Turns > 0 {
		return interp.Options{MaxSteps: 10_000}
	}
	return interp.Options{MaxSteps: 60_000}
}

// collecting says in the name of a variant that it does so.
func collecting(p *randprog.Program) string {
	if p.CollectAlways {
		return " collecting always"
	}
	return ""
}

// countOperators counts what a program does by the counters that the generator has put into it.
func (f *Figures) countOperators(p *randprog.Program) {
	f.Counts.Add(p.Counters, randprog.Run(&interpengine.Engine{}, p).Counts)
}

// traps counts the calls that trapped.
func (f *Figures) traps(o *randprog.Outcome) {
	for i := range o.Calls {
		if o.Calls[i].Trapped() {
			f.Traps, f.Trapping = f.Traps+1, 1
		}
	}
}

// judge returns the outcome under the judge, and describes the program; nil if the judge does not know it, or panics itself, as it does for some exceptions.
func (w *worker) judge(ctx context.Context, p *randprog.Program, f *Figures, seed uint64) (*randprog.Outcome, error) {
	if w.cfg.GC || w.cfg.Throws && seed%2 > 0 {
		return nil, nil
	}
	want, _, err := randprog.Judge(ctx, p)
	switch {
	case randprog.JudgePanics(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the judge: %w", err)
	}
	if err := f.describe(ctx, p, want); err != nil {
		*f = Figures{}
		return nil, err
	}
	return want, nil
}

// describe counts what the program is and does.
func (f *Figures) describe(ctx context.Context, p *randprog.Program, want *randprog.Outcome) error {
	wm, err := validate.Module(p.Wasm, validate.Config{})
	if err != nil {
		return err
	}
	wasm, err := f.counting(p.Wasm)
	if err != nil {
		return err
	}
	q := *p
	q.Wasm = wasm
	again, counts, err := randprog.Judge(ctx, &q, counters()...)
	if err != nil {
		return fmt.Errorf("the judge, counting: %w", err)
	}
	if d := again.Diff(want); d != "" {
		return fmt.Errorf("the judge, counting: %s", d)
	}
	one := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	f.Modules, f.Functions, f.Bytes, f.Calls = 1, len(wm.Code), len(p.Wasm), len(want.Calls)
	for i := range want.Calls {
		one(&f.Traps, want.Calls[i].Trapped())
	}
	f.Rounds, f.IndirectCalls, f.Grows = counts[countRounds]-counts[countEntries], counts[countIndirect], counts[countGrow]
	f.HostCall = uint64(len(want.Host))
	one(&f.Trapping, f.Traps > 0)
	one(&f.Looping, f.Rounds > 0)
	one(&f.Indirect, f.IndirectCalls > 0)
	one(&f.Growing, len(want.Memory) > 65536)
	one(&f.Hosting, f.HostCall > 0)
	return nil
}

// interpret runs a program on the CLIF interpreter as a variant optimises it. set, if not nil, changes the options.
func (w *worker) interpret(p *randprog.Program, v *Variant, set func(*compile.Options), limits interp.Options) *randprog.Outcome {
	o := w.options(v, set)
	tr, err := o.Translation()
	if err != nil {
		panic(err) // a variant without such a target
	}
	return randprog.Run(&interpengine.Engine{Options: limits, Translation: tr, Rewrite: midEnd(&o)}, p)
}

// options returns the options that a variant is compiled with. set, if not nil, changes them.
func (w *worker) options(v *Variant, set func(*compile.Options)) compile.Options {
	o := v.options()
	if w.cfg.Spoil != nil {
		w.cfg.Spoil(v, &o)
	}
	if set != nil {
		set(&o)
	}
	return o
}

// compiled is a program as several variants compile it.
type compiled struct {
	env     *environment
	objects [][]byte
	// places are the numbers of the variants that objects are of, and list has the outcomes of those that give none.
	places []int
	list   []*randprog.Outcome
}

// compile compiles a program for a machine. set, if not nil, changes the options.
func (w *worker) compile(m *machine, p *randprog.Program, variants []Variant, set func(*compile.Options)) (*compiled, error) {
	env := m.envs[string(p.Env)]
	if env == nil {
		env = &environment{}
		for form, to := range []*[]byte{&env.Guarded, &env.Checked} {
			var err error
			if *to, err = object(p.Env, compile.Options{Target: m.target, Jobs: 1, ExplicitBounds: form == 1}); err != nil {
				return nil, fmt.Errorf("env: %w", err)
			}
		}
		m.envs[string(p.Env)] = env
	}
	c := &compiled{env: env, list: make([]*randprog.Outcome, len(variants))}
	for i := range variants {
		b, err := object(p.Wasm, w.options(&variants[i], set))
		switch {
		case errors.Is(err, backend.ErrUnsupported):
		case err != nil:
			c.list[i] = &randprog.Outcome{Failed: "it is not compiled: " + randprog.FirstLine(err)}
		default:
			c.objects, c.places = append(c.objects, b), append(c.places, i)
		}
	}
	return c, nil
}

// outcomes runs what a program was compiled to. The outcome is nil for a variant that does not support it.
func (m *machine) outcomes(p *randprog.Program, c *compiled) ([]*randprog.Outcome, error) {
	list := slices.Clone(c.list)
	outcomes, err := m.run(p, c.env, c.objects)
	for k, o := range outcomes {
		list[c.places[k]] = o
	}
	return list, err
}

// onMachine runs a program as each variant compiles it. The outcome is nil for a variant that does not support it. set, if not
// nil, changes the options.
func (w *worker) onMachine(m *machine, p *randprog.Program, variants []Variant, set func(*compile.Options)) ([]*randprog.Outcome, error) {
	c, err := w.compile(m, p, variants, set)
	if err != nil {
		return nil, err
	}
	return m.outcomes(p, c)
}

// object compiles a module.
func object(wasm []byte, o compile.Options) ([]byte, error) {
	r, err := compile.Module(wasm, o)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = r.WriteELF(&b)
	return b.Bytes(), err
}

// machine returns the machine of a variant.
func (w *worker) machine(v *Variant) *machine {
	i := slices.IndexFunc(w.machines, func(m *machine) bool { return m.target == v.Target })
	return w.machines[i]
}
