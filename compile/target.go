package compile

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc/linear"
)

// machine is a target with what the object says about it.
type machine struct {
	target *backend.Target
	arch   string // of the metadata
	cpu    string // of the metadata
	elf    objfile.Machine
	level  objfile.ISALevel
}

// targetFor is the target for the named level of processor.
func targetFor(cpu string) (*machine, error) {
	if cpu == "" {
		cpu = "v2"
	}
	features, err := x64.Level(cpu)
	if err != nil {
		return nil, err
	}
	m := &machine{target: x64.New(features), arch: "x86-64", cpu: "x86-64-v2", elf: objfile.X86_64, level: objfile.X86V2}
	if features.Has(x64.V3) {
		m.cpu, m.level = "x86-64-v3", objfile.X86V3
	}
	return m, nil
}

// newGenerator is the back end for one worker.
func (d *driver) newGenerator() generate {
	if d.opt.generator != nil {
		return d.opt.generator(d.cm, d.layout)
	}
	return backend.New(d.target.target, d.layout, d.cm, backend.Options{
		Allocator: linear.New(), SkipChecker: d.opt.SkipChecker, Fixpoint: d.opt.Fixpoint,
		Verify: d.opt.Verify, Trace: d.opt.Trace,
	}).Compile
}
