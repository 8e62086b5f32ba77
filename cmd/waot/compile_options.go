package main

import (
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/cost"
	"github.com/waot-project/waot/wasmfront/fuel"
	"github.com/waot-project/waot/wasmfront/translate"
)

// compileOptions are the options as the compiler takes them.
func (o *options) compileOptions() compile.Options {
	co := compile.Options{
		Jobs: o.jobs, OptLevel: opt.Level(o.level), Target: o.target, CPU: o.codeLevel(), Name: o.name,
		Regalloc: o.regalloc, SkipChecker: !o.check, NoSpectre: o.noSpectre, ExplicitBounds: o.explicitBounds, Deterministic: o.deterministic, Verify: o.verify, Progress: o.progress,
		Limits: o.limits, Context: o.ctx, Costs: o.costs, Collect: true, Fuel: o.fuel, FuelSlack: o.fuelSlack,
	}
	if o.rewrites != nil {
		co.Control = o.rewrites.control
	}
	return co
}

// named is compileOptions for the module of a file, which gives its name to what has none.
func (o *options) named(file string) compile.Options {
	co := o.compileOptions()
	if co.Name == "" {
		co.Name = nameOf(file)
	}
	return co
}

// translation is what operators become.
func (o *options) translation() translate.Options {
	c := o.compileOptions()
	t, err := c.Translation()
	if err != nil {
		panic(err) // target and processor were checked when they were read
	}
	return t
}

// codeLevel returns the level of processor as the compiler knows it: nothing of v4 is used yet.
func (o *options) codeLevel() string {
	if o.cpu == "x86-64-v4" {
		return "x86-64-v3"
	}
	return o.cpu
}

// targetFlag returns the flag of commands that may compile for another machine.
func targetFlag() cli.Flag {
	return &cli.StringFlag{Name: "target", Usage: "machine and system to compile for: " + strings.Join(compile.Targets(), " or ") + " (default: this machine)"}
}

// compileFlags are the flags of every command that compiles.
func compileFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "cpu", Usage: "the processor to compile for, at least: x86-64-v2, -v3, -v4, armv8.0-a, armv8.2-a+dotprod, or native (default: the target's first; of run in this process, native)"},
		&cli.IntFlag{Name: "opt", Aliases: []string{"O"}, Value: 1, Usage: "optimisation `LEVEL`: 0 or 1"},
		&cli.IntFlag{Name: "jobs", Usage: "compile `N` functions at once (default: one per processor)"},
		&cli.StringFlag{Name: "regalloc", Usage: "how registers are allocated: " + strings.Join(compile.Allocators(), ", ") + " (default: " + compile.DefaultAllocator(opt.O0) + " with -O0, else " + compile.DefaultAllocator(opt.O1) + ")"},
		&cli.StringFlag{Name: "regalloc-check", Value: "on", Usage: "prove each register allocation: on or off"},
		&cli.StringFlag{Name: "spectre", Value: "on", Usage: "keep misspeculation within tables and jump tables: on or off"},
		&cli.StringFlag{Name: "bounds", Value: "guard", Usage: "how accesses stay within memories: guard (pages that fault, in reservations of 8 GiB) or explicit (comparisons; memories take what they need)"},
		&cli.BoolFlag{Name: "deterministic", Usage: "give the same results on all machines: canonical NaNs, relaxed operators as the specification's deterministic profile"},
		&cli.BoolFlag{Name: "verify", Usage: "check the compiler's own invariants after each pass"},
	}, slices.Concat(fuelFlags(), limitFlags(), rewriteFlags())...)
}

// options are the options of a compilation.
type options struct {
	target         string // one of compile.Targets
	cpu            string // full name of a level
	level          int
	jobs           int // 0: one per processor
	check, verify  bool
	regalloc       string // one of compile.Allocators
	noSpectre      bool
	explicitBounds bool
	deterministic  bool
	fuel           *fuel.Costs // nil: code does not count
	fuelSlack      bool
	rewrites       *rewriting // nil: all
	name           string
	progress       func(done, total int)
	limits         compile.Limits
	ctx            context.Context // nil for one that never ends
	costs          *cost.Meter     // nil if nothing is measured
}

// context returns the context of the compilation, which is never nil.
func (o *options) context() context.Context {
	if o.ctx == nil {
		return context.Background()
	}
	return o.ctx
}

// readOptions reads compileFlags, and the target where there is one.
func readOptions(c *cli.Context) (*options, error) {
	o := &options{level: c.Int("opt"), jobs: c.Int("jobs"), verify: c.Bool("verify"), deterministic: c.Bool("deterministic")}
	if err := o.readTarget(c.String("target"), c.String("cpu")); err != nil {
		return nil, err
	}
	if o.level < 0 || o.level > 1 {
		return nil, usagef("-O%d: the levels are 0 and 1", o.level)
	}
	if o.jobs < 0 || o.jobs > 1024 {
		return nil, usagef("--jobs=%d: must be from 0 to 1024", o.jobs)
	}
	if err := oneOf("regalloc-check", c.String("regalloc-check"), "on", "off"); err != nil {
		return nil, err
	}
	o.check = c.String("regalloc-check") == "on"
	if o.regalloc = c.String("regalloc"); o.regalloc == "" {
		o.regalloc = compile.DefaultAllocator(opt.Level(o.level))
	}
	if err := oneOf("regalloc", o.regalloc, compile.Allocators()...); err != nil {
		return nil, err
	}
	if err := oneOf("spectre", c.String("spectre"), "on", "off"); err != nil {
		return nil, err
	}
	o.noSpectre = c.String("spectre") == "off"
	if err := oneOf("bounds", c.String("bounds"), "guard", "explicit"); err != nil {
		return nil, err
	}
	o.explicitBounds = c.String("bounds") == "explicit"
	if err := o.readFuel(c); err != nil {
		return nil, err
	}
	var err error
	if o.limits, err = readLimits(c); err != nil {
		return nil, err
	}
	o.rewrites, err = readRewriting(c)
	return o, err
}

// cpuNames are the processors by target, the default first.
var cpuNames = map[string][]string{
	compile.TargetX64: {"x86-64-v2", "x86-64-v3", "x86-64-v4"},
	compile.TargetA64: {"armv8.0-a", "armv8.2-a+dotprod"},
}

// readTarget reads --target and --cpu, either of which may be empty.
func (o *options) readTarget(target, cpu string) error {
	host := compile.HostTarget()
	if o.target = target; target == "" {
		o.target = host
	}
	names, ok := cpuNames[o.target]
	switch {
	case !ok:
		return usagef("--target=%s: unknown target; the targets are %s", target, strings.Join(compile.Targets(), ", "))
	case cpu == "":
		cpu = names[0]
	case cpu == "native" && o.target != host:
		return usagef("--cpu=native: this machine is no %s", o.target)
	case cpu == "native":
		cpu = nativeCPU()
	}
	o.cpu = cpu
	if o.target == compile.TargetX64 && !strings.HasPrefix(cpu, "x86-64-") {
		o.cpu = "x86-64-" + cpu
	}
	if oneOf("cpu", o.cpu, names...) != nil {
		return usagef("--cpu=%s: must be one of %s, native", cpu, strings.Join(names, ", "))
	}
	return nil
}
