package main

import (
	"fmt"
	"slices"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

// machines are the targets whose code is taken.
var machines = [...]string{compile.TargetX64, compile.TargetA64}

// function is a function as the allocator saw it. Slices of in alias nothing.
type function struct {
	name string // where it is from
	in   *regalloc.Input
	env  *regalloc.MachineEnv
}

// recorder is an allocator that keeps what it is asked to allocate.
type recorder struct {
	linear.Allocator
	got *regalloc.Input
}

// Run implements backend.Allocator.
func (r *recorder) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	r.got = cloneInput(in)
	return r.Allocator.Run(in, env, out)
}

// realFunctions are the functions of a module, lowered for the machine, and the
// number of WebAssembly operators that they come from.
func realFunctions(name string, wasm []byte, machine string) (fns []function, operators int, err error) {
	m, err := validate.Module(wasm, validate.Config{})
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, err)
	}
	target, err := compile.CodeTarget(machine, "")
	if err != nil {
		return nil, 0, err
	}
	cm := translate.Module(m, m.DecodeNames())
	tr := translate.New(m, cm)
	var f clif.Func
	var o opt.Optimizer
	rec := &recorder{Allocator: *linear.New()}
	c := backend.New(target, instance.New(cm), cm, backend.Options{Allocator: rec, SkipChecker: true})
	for i := uint32(cm.NumImportedFuncs); i < uint32(len(cm.Funcs)); i++ {
		if i == uint32(cm.InitFunc()) {
			tr.Init(&f)
		} else {
			operators += countOperators(m, i)
			if err := tr.Func(&f, i); err != nil {
				return nil, 0, fmt.Errorf("%s: function %d: %w", name, i, err)
			}
		}
		if err := o.Run(&f, opt.O1); err != nil {
			return nil, 0, fmt.Errorf("%s: function %d: %w", name, i, err)
		}
		if _, err := c.Compile(&f); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", name, err)
		}
		fns = append(fns, function{fmt.Sprintf("%s, function %d, %s", name, i, machine), rec.got, &target.Env})
	}
	return fns, operators, nil
}

func countOperators(m *wasmfront.Module, i uint32) (n int) {
	var v validate.Func
	var op wasmfront.Operator
	for v.Begin(m, i); v.Next(&op); n++ {
	}
	return n
}

func cloneInput(in *regalloc.Input) *regalloc.Input {
	return &regalloc.Input{
		VRegs: slices.Clone(in.VRegs), Insts: slices.Clone(in.Insts), Operands: slices.Clone(in.Operands),
		ClobberSets: slices.Clone(in.ClobberSets), Blocks: slices.Clone(in.Blocks), Edges: slices.Clone(in.Edges),
		BlockLists: slices.Clone(in.BlockLists), VRegLists: slices.Clone(in.VRegLists),
	}
}

func cloneOutput(o *regalloc.Output) *regalloc.Output {
	c := *o
	c.Allocs, c.Edits = slices.Clone(o.Allocs), slices.Clone(o.Edits)
	c.StackMaps, c.StackMapSlots = slices.Clone(o.StackMaps), slices.Clone(o.StackMapSlots)
	c.Claims, c.ClaimEnd = slices.Clone(o.Claims), slices.Clone(o.ClaimEnd)
	return &c
}
