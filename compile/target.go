package compile

import (
	"fmt"
	"math/bits"
	"runtime"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/wasmfront/translate"
)

// The targets.
const (
	TargetX64 = "x86-64-linux"
	TargetA64 = "aarch64-linux"
)

// targets are the targets with the GOARCH that is the same machine.
var targets = [...]struct {
	name, goarch string
	machine      func(cpu string) (*machine, error)
}{{TargetX64, "amd64", x64Machine}, {TargetA64, "arm64", a64Machine}}

// Targets are the names of the targets.
func Targets() []string {
	var names []string
	for i := range targets {
		names = append(names, targets[i].name)
	}
	return names
}

// HostTarget returns the target of the machine that this runs on, x86-64 if that is none.
func HostTarget() string {
	for i := range targets {
		if targets[i].goarch == runtime.GOARCH {
			return targets[i].name
		}
	}
	return TargetX64
}

// GOARCH is Go's name for the machine of a target, empty if there is no such target.
func GOARCH(target string) string {
	for i := range targets {
		if targets[i].name == target {
			return targets[i].goarch
		}
	}
	return ""
}

// machine is a target with what the object says about it.
type machine struct {
	target   *backend.Target
	fuelled  func() *backend.Target // of code that counts fuel
	arch     string                 // of the metadata
	cpu      string                 // of the metadata
	relaxed  translate.Relaxed
	elf      objfile.Machine
	property objfile.Section // .note.gnu.property
	c        *cMachine
	// filler fills the gaps between functions; executed, it traps.
	filler byte
	// relocs are the kinds of relocation, cfi is the call frame information.
	relocs *reloc.Types
	cfi    *abi.CFI
	// kept are the callee-saved registers, that of the count of fuel included.
	kept regalloc.PRegSet
	// instanceAlign is the alignment of the instance data in bytes, if more than 16.
	instanceAlign uint32
	// callReach is how far a call reaches, in bytes, 0 for the whole text; veneer is the branch of a veneer.
	callReach int64
	veneer    []byte
}

// savedRules are the unwind rules of registers that a function saves.
func (m *machine) savedRules(s regalloc.PRegSet) (rules []abi.CFIRule) {
	const toCFA = -16 // from the CFA to the frame pointer
	rules = make([]abi.CFIRule, 0, bits.OnesCount64(uint64(s)))
	for i := 0; s != 0; i++ {
		r := s.First()
		s = s.Remove(r)
		rules = append(rules, abi.CFIRule{Kind: abi.SavedAt, Reg: m.cfi.Registers[r], Offset: toCFA + int16((&backend.Frame{}).SavedOffset(i))})
	}
	return rules
}

// machine returns the machine that the options name.
func (o *Options) machine() (*machine, error) {
	m, err := targetFor(o.Target, o.CPU)
	if err == nil && o.Fuel != nil {
		m.target = m.fuelled()
	}
	return m, err
}

// targetFor returns the machine of the named target and processor; either may be empty.
func targetFor(name, cpu string) (*machine, error) {
	if name == "" {
		name = HostTarget()
	}
	for i := range targets {
		if targets[i].name == name {
			m, err := targets[i].machine(cpu)
			if err == nil {
				m.kept = m.target.Env.CalleeSaved
			}
			return m, err
		}
	}
	return nil, fmt.Errorf("compile: unknown target %q (want %s)", name, strings.Join(Targets(), " or "))
}

// CodeTarget returns the back end's part of a target, for tools that compile single functions; target and cpu are as in
// Options. The code may count fuel if fuelled is set.
func CodeTarget(target, cpu string, fuelled bool) (*backend.Target, error) {
	m, err := targetFor(target, cpu)
	if err == nil && fuelled {
		return m.fuelled(), nil
	}
	if err != nil {
		return nil, err
	}
	return m.target, nil
}

// Translation returns what operators become with the given options.
func (o *Options) Translation() (translate.Options, error) {
	m, err := o.machine()
	if err != nil {
		return translate.Options{}, err
	}
	return o.translation(m), nil
}

func (o *Options) translation(m *machine) translate.Options {
	t := translate.Options{NoSpectre: o.NoSpectre, Relaxed: m.relaxed}
	if o.Deterministic {
		t.Relaxed, t.CanonicalNaNs = translate.RelaxedDeterministic, true
	}
	if t.Fuel = o.Fuel; t.Fuel != nil && !o.FuelSlack {
		t.OutOfFuel = abi.TrapOutOfFuel
	}
	return t
}

// Rules are the rules of the mid-end and of lowering for a target, in the order of their tables; nil if there is no such
// target.
func Rules(target string) (all []*rewrite.Info) {
	m, err := targetFor(target, "")
	if err != nil {
		return nil
	}
	all = append(all, inline.Rules()...)
	for r := range opt.NumRules {
		all = append(all, r.Info())
	}
	for r := range m.target.Rules.Rows {
		all = append(all, m.target.Rules.Info(backend.Rule(r)))
	}
	return all
}

// x64Machine is x86-64 with the named level of processor, or the lowest.
func x64Machine(cpu string) (*machine, error) {
	if cpu == "" {
		cpu = "v2"
	}
	features, err := x64.Level(cpu)
	if err != nil {
		return nil, err
	}
	m := &machine{target: x64.New(features), fuelled: func() *backend.Target { return x64.NewFuelled(features) }, arch: "x86-64", cpu: "x86-64-v2", relaxed: translate.RelaxedX64, elf: objfile.X86_64,
		property: objfile.PropertyNote(objfile.X86V2), c: &sysv,
		filler: 0xcc, // int3
		relocs: &reloc.X64,
		cfi:    x64.CFI(),
	}
	if features.Has(x64.V3) {
		m.cpu, m.relaxed, m.property = "x86-64-v3", translate.RelaxedX64FMA, objfile.PropertyNote(objfile.X86V3)
	}
	return m, nil
}

// newGenerator returns the back end for one worker, whose mid-end has the Control of each function.
func (d *driver) newGenerator(w *worker) generate {
	if d.opt.generator != nil {
		return d.opt.generator(d.cm, d.layout)
	}
	newAllocator := d.opt.NewAllocator
	if newAllocator == nil {
		newAllocator = d.newAllocator
	}
	var ended func(string)
	if w.costs != nil {
		ended = w.costs.Ended
	}
	c := backend.New(d.target.target, d.layout, d.cm, backend.Options{
		Allocator: newAllocator(), SkipChecker: d.opt.SkipChecker, Fixpoint: d.opt.Fixpoint, NoSpectre: d.opt.NoSpectre,
		Verify: d.opt.Verify, Trace: d.opt.Trace, Ended: ended,
	})
	return func(f *clif.Func) (*backend.Code, error) {
		c.Control = w.opt.Control
		return c.Compile(f)
	}
}
