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

// quickWays is a module of functions with ways on which nothing is saved, since few random functions have some.
const quickWays = `(module
	(func $fib (param i32) (result i32)
		(if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
			(then (i32.const 1))
			(else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
	(func $sum (param i32 i64 f64) (result f64)
		(if (result f64) (i32.eqz (local.get 0))
			(then (local.get 2))
			(else
				(drop (call $fib (local.get 0)))
				(f64.add (call $sum (i32.sub (local.get 0) (i32.const 1)) (local.get 1) (f64.mul (local.get 2) (f64.const 1.5)))
					(f64.add (local.get 2) (f64.convert_i64_s (i64.mul (local.get 1) (i64.extend_i32_u (local.get 0)))))))))
	(func $count (param i32 i32) (result i32)
		(if (i32.gt_u (local.get 0) (i32.const 1000)) (then (return (local.get 1))))
		(loop $again
			(local.set 1 (i32.add (local.get 1) (call $fib (local.get 0))))
			(br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
		(local.get 1)))`

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
	target, err := compile.CodeTarget(machine, "", false)
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
		BlockLists: slices.Clone(in.BlockLists), VRegLists: slices.Clone(in.VRegLists), ArgWords: in.ArgWords,
	}
}

func cloneOutput(o *regalloc.Output) *regalloc.Output {
	c := *o
	c.Allocs, c.Edits = slices.Clone(o.Allocs), slices.Clone(o.Edits)
	c.StackMaps, c.StackMapSlots = slices.Clone(o.StackMaps), slices.Clone(o.StackMapSlots)
	c.Claims, c.ClaimEnd, c.Unsaved = slices.Clone(o.Claims), slices.Clone(o.ClaimEnd), slices.Clone(o.Unsaved)
	return &c
}
