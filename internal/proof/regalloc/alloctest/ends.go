package alloctest

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

const (
	tail  = regalloc.IsTerminator | regalloc.IsTailCall
	throw = regalloc.IsTerminator | regalloc.MayThrow | regalloc.Safepoint
)

// wide makes a virtual register of 16 bytes, ref one for a reference.
func (b *Builder) wide() regalloc.VReg {
	v := b.VReg(regalloc.Float)
	b.In.VRegs[v].Bytes = 16
	return v
}

func (b *Builder) ref() regalloc.VReg {
	v := b.VReg(regalloc.Int)
	b.In.VRegs[v].Ref = true
	return v
}

// ends are functions that end with tail calls, or have calls that may throw: what allocators have been wrong about, or may be.
var ends = [...]struct {
	name string
	make func(b *Builder, env *regalloc.MachineEnv)
	// none: there is nothing to move.
	none bool
}{
	{name: "arguments stay where they are", none: true, make: func(b *Builder, env *regalloc.MachineEnv) {
		v, w, x := b.VReg(0), b.wide(), b.VReg(0)
		b.Inst(0, 0, regalloc.StackArgDef(v, 0), regalloc.StackArgDef(w, 2), regalloc.FixedDef(x, env.Order[0][0]))
		b.Inst(tail, 0, regalloc.StackArgUse(v, 0), regalloc.StackArgUse(w, 2), regalloc.FixedUse(x, env.Order[0][0]))
		b.Block(nil, 0)
	}},
	{name: "a ring of arguments", make: func(b *Builder, _ *regalloc.MachineEnv) {
		var in, out []regalloc.Operand
		for k := range 12 {
			v := b.VReg(0)
			in, out = append(in, regalloc.StackArgDef(v, k)), append(out, regalloc.StackArgUse(v, (k+5)%12))
		}
		b.Inst(0, 0, in...)
		b.Inst(tail, 0, out...)
		b.Block(nil, 0)
	}},
	{name: "a ring of vectors", make: func(b *Builder, _ *regalloc.MachineEnv) {
		var in, out []regalloc.Operand
		for k := range 4 {
			v := b.wide()
			in, out = append(in, regalloc.StackArgDef(v, 2*k)), append(out, regalloc.StackArgUse(v, (2*k+2)%8))
		}
		b.Inst(0, 0, in...)
		b.Inst(tail, 0, out...)
		b.Block(nil, 0)
	}},
	{name: "a vector and two numbers change places", make: func(b *Builder, env *regalloc.MachineEnv) {
		v, x, y := b.wide(), b.VReg(0), b.VReg(0)
		b.Inst(0, 0, regalloc.StackArgDef(v, 0), regalloc.StackArgDef(x, 2), regalloc.StackArgDef(y, 3))
		b.Inst(tail, 0, regalloc.StackArgUse(y, 0), regalloc.StackArgUse(x, 1), regalloc.StackArgUse(v, 2), regalloc.FixedUse(x, env.Order[0][0]))
		b.Block(nil, 0)
	}},
	{name: "a vector over two numbers that go to registers", make: func(b *Builder, env *regalloc.MachineEnv) {
		v, x, y := b.wide(), b.VReg(0), b.VReg(0)
		b.Inst(0, 0, regalloc.StackArgDef(x, 0), regalloc.StackArgDef(y, 1), regalloc.FixedDef(v, env.Order[1][0]))
		b.Inst(tail, 0, regalloc.StackArgUse(v, 0), regalloc.FixedUse(x, env.Order[0][0]), regalloc.FixedUse(y, env.Order[0][1]))
		b.Block(nil, 0)
	}},
	{name: "an argument for two, one of them in a register", make: func(b *Builder, env *regalloc.MachineEnv) {
		v, w := b.VReg(0), b.VReg(0)
		b.Inst(0, 0, regalloc.StackArgDef(v, 0), regalloc.FixedDef(w, env.Order[0][1]))
		b.Inst(tail, 0, regalloc.StackArgUse(w, 0), regalloc.StackArgUse(v, 1), regalloc.StackArgUse(v, 3), regalloc.FixedUse(v, env.Order[0][1]))
		b.Block(nil, 0)
	}},
	{name: "constants in words and in all registers", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.Entry(1)
		var ops []regalloc.Operand
		for k := range 8 {
			class := regalloc.Class(k % 2)
			v := b.VReg(class)
			b.In.VRegs[v].Remat, b.In.VRegs[v].Storable = regalloc.Inst(len(b.In.Insts)), k%4 == 0
			b.Inst(0, 0, def(v))
			ops = append(ops, regalloc.StackArgUse(v, k))
			if r := env.Order[class][k/2]; !env.CalleeSaved.Has(r) {
				ops = append(ops, regalloc.FixedUse(v, r))
			}
		}
		b.Inst(tail, 0, ops...)
		b.Block(nil, 0)
	}},
	{name: "more values than registers, a loop, a call and two tail calls", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		r, first := b.ref(), b.VReg(0)
		b.Inst(0, 0, regalloc.StackArgDef(first, 0), regalloc.StackArgDef(r, 1))
		vs := []regalloc.VReg{first}
		for len(vs) < len(env.Order[0])+6 {
			v := b.VReg(0)
			b.Inst(0, 0, regalloc.UseOf(vs[len(vs)-1], regalloc.Any), def(v))
			vs = append(vs, v)
		}
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 1})
		b.Inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[3], env.Order[0][0]))
		b.Inst(term, 0, reg(vs[1]))
		b.Block(nil, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
		b.Inst(term, 0)
		b.Block(nil, 1, regalloc.Edge{To: 1})
		b.Inst(term, 0, reg(vs[2]))
		b.Block(nil, 0, regalloc.Edge{To: 4}, regalloc.Edge{To: 5})
		var ops []regalloc.Operand
		for k, v := range vs {
			ops = append(ops, regalloc.StackArgUse(v, len(vs)-k))
		}
		b.Inst(tail, 0, append(ops, regalloc.StackArgUse(r, 0))...)
		b.Block(nil, 0)
		b.Inst(tail, 0, regalloc.StackArgUse(r, 0), regalloc.StackArgUse(first, 1))
		b.Block(nil, 0)
	}},

	{name: "the result takes the place of the argument", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		vs, p := b.Entry(2), env.Order[0][0]
		v := b.VReg(0)
		b.Inst(throw, 1, regalloc.FixedUse(vs[0], p), regalloc.FixedDef(v, p))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		b.Inst(ret, 0, regalloc.FixedUse(v, p))
		b.Block(nil, 0)
		b.Inst(ret, 0, regalloc.FixedUse(vs[0], p), regalloc.FixedUse(vs[1], env.Order[0][1]))
		b.Block(nil, 0)
	}},
	{name: "results in registers and in slots, used far behind", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		vs := b.Entry(2)
		ops := []regalloc.Operand{regalloc.FixedUse(vs[0], env.Order[0][0])}
		for k := range 6 {
			v := b.VReg(regalloc.Class(k % 2))
			vs = append(vs, v)
			ops = append(ops, regalloc.DefOf(v, regalloc.Any))
		}
		ops = append(ops, regalloc.FixedDef(b.VReg(0), env.Order[0][1])) // nothing uses it
		b.Inst(throw, 1, ops...)
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 3})
		b.Inst(regalloc.Safepoint, 1)
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 2})
		for _, v := range vs {
			b.Inst(0, 0, reg(v))
		}
		b.Inst(ret, 0)
		b.Block(nil, 0)
		b.Inst(ret, 0, reg(vs[1]))
		b.Block(nil, 0)
	}},
	{name: "one handler for several calls", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		vs, p := b.Entry(2), env.Order[0][0]
		r, got, kept := b.ref(), b.VReg(0), b.ref()
		b.Inst(0, 0, def(r))
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 1})
		// Blocks 1 to 3 call, 4 is behind them all, 5 to 7 are the pads, 8 the handler.
		for k := range regalloc.Block(3) {
			v := b.VReg(0)
			b.Inst(throw, 1, regalloc.FixedUse(vs[len(vs)-1], p), regalloc.FixedDef(v, p))
			b.Block(nil, 0, regalloc.Edge{To: k + 2}, regalloc.Edge{To: k + 5})
			vs = append(vs, v)
		}
		b.Inst(ret, 0, regalloc.FixedUse(vs[4], p))
		b.Block(nil, 0)
		for k := range 3 {
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: 8, Args: b.List([]regalloc.VReg{vs[k+1], r})})
		}
		b.Inst(regalloc.Safepoint, 1)
		b.Inst(ret, 0, reg(got), reg(kept), reg(vs[0]))
		b.Block([]regalloc.VReg{got, kept}, 0)
	}},
	{name: "a loop that catches in each iteration, the handler in front of the rest", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		vs, p := b.Entry(3), env.Order[0][0]
		i, r, f, v, g := b.VReg(0), b.ref(), b.wide(), b.VReg(0), b.VReg(0)
		b.Inst(0, 0, def(r), def(f))
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List(vs[:1])})
		b.Inst(throw, 1, regalloc.FixedUse(i, p), regalloc.UseOf(r, regalloc.Any), regalloc.FixedDef(v, p))
		b.Block([]regalloc.VReg{i}, 1, regalloc.Edge{To: 3}, regalloc.Edge{To: 2})
		b.Inst(0, 0, reg(f), reg(vs[1]), def(g))
		b.Inst(term, 0)
		b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{g})})
		b.Inst(term, 0, reg(v))
		b.Block(nil, 1, regalloc.Edge{To: 4}, regalloc.Edge{To: 5})
		b.Inst(term, 0)
		b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List([]regalloc.VReg{v})})
		b.Inst(tail, 0, regalloc.FixedUse(v, p), regalloc.StackArgUse(r, 1), regalloc.StackArgUse(f, 2))
		b.Block(nil, 0)
	}},
	{name: "a value that lives into the handler alone, and one behind the return alone", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		vs, r, s := b.Entry(2), b.ref(), b.ref()
		b.Inst(0, 0, def(r), def(s))
		b.Inst(throw, 1)
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		b.Inst(ret, 0, reg(vs[0]), reg(r))
		b.Block(nil, 0)
		b.Inst(ret, 0, reg(vs[1]), reg(s))
		b.Block(nil, 0)
	}},
	{name: "ways that part and meet again, behind the return and in the handler", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		vs, p := b.Entry(2), env.Order[0][0]
		v := b.VReg(0)
		b.Inst(throw, 1, regalloc.FixedUse(vs[0], p), regalloc.FixedDef(v, p))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		b.Inst(term, 0, reg(vs[1]))
		b.Block(nil, 0, regalloc.Edge{To: 6}, regalloc.Edge{To: 7})
		b.Inst(term, 0, reg(vs[1]))
		b.Block(nil, 0, regalloc.Edge{To: 3}, regalloc.Edge{To: 4})
		for _, to := range []regalloc.Block{5, 5} {
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: to})
		}
		b.Inst(ret, 0, reg(vs[0]))
		b.Block(nil, 0)
		for _, to := range []regalloc.Block{8, 8} {
			b.Inst(term, 0)
			b.Block(nil, 0, regalloc.Edge{To: to})
		}
		b.Inst(ret, 0, reg(v), reg(vs[0]))
		b.Block(nil, 0)
	}},
	{name: "both ways meet again", make: func(b *Builder, env *regalloc.MachineEnv) {
		b.CallClobbers(env)
		vs, p := b.Entry(2), env.Order[0][0]
		v, w, x := b.VReg(0), b.VReg(0), b.VReg(0)
		b.Inst(throw, 1, regalloc.FixedUse(vs[0], p), regalloc.FixedDef(v, p), regalloc.DefOf(w, regalloc.Any))
		b.Block(nil, 0, regalloc.Edge{To: 1}, regalloc.Edge{To: 2})
		b.Inst(0, 0, reg(w))
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 3, Args: b.List([]regalloc.VReg{v})})
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: 3, Args: b.List(vs[1:])})
		b.Inst(ret, 0, reg(x), reg(vs[0]))
		b.Block([]regalloc.VReg{x}, 0)
	}},
}

// Ends allocates functions that end with tail calls, or have calls that may throw, for all machines, and executes them.
func Ends(t *testing.T, fresh func() Allocator) {
	for _, test := range ends {
		for k, env := range gen.Envs() {
			var b Builder
			test.make(&b, env)
			in, a, c := b.Finish(), fresh(), checker.New()
			var out regalloc.Output
			if err := guarded(a, in, env, &out); err != nil {
				t.Errorf("%s, machine %d: %v\n%s", test.name, k, err, Dump(in, &out))
				continue
			}
			for _, o := range []checker.Options{{}, {Fixpoint: true}} {
				if err := c.Check(in, env, &out, o); err != nil {
					t.Errorf("%s, machine %d: %v\n%s", test.name, k, err, Dump(in, &out))
				}
			}
			if test.none && len(out.Edits) > 0 {
				t.Errorf("%s, machine %d: there is nothing to move\n%s", test.name, k, Dump(in, &out))
			}
			r := rand.New(rand.NewPCG(1, 1))
			for range 20 {
				s := sim{in: in, out: &out, env: env, rng: r}
				if err := s.run(200); err != nil {
					t.Errorf("%s, machine %d: simulation: %v\n%s", test.name, k, err, Dump(in, &out))
					break
				}
			}
		}
	}
}

// tailCalls is n tail calls of a function with many arguments, in turn of numbers and of vectors, all in other words than they have come in.
func tailCalls(n int) *regalloc.Input {
	const words = 32
	var b Builder
	var vs []regalloc.VReg
	var ops []regalloc.Operand
	for k := range words / 2 {
		v, w := b.VReg(0), b.wide()
		if k%2 == 0 {
			vs = append(vs, v, b.VReg(0))
			ops = append(ops, regalloc.StackArgDef(v, 2*k), regalloc.StackArgDef(vs[len(vs)-1], 2*k+1))
			continue
		}
		vs = append(vs, w)
		ops = append(ops, regalloc.StackArgDef(w, 2*k))
	}
	x := b.VReg(0)
	b.Inst(0, 0, append(ops, regalloc.FixedDef(x, 0))...)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	for k := range n {
		at := regalloc.Block(len(b.In.Blocks))
		b.Inst(term, 0, reg(x))
		b.Block(nil, 0, regalloc.Edge{To: at + 1}, regalloc.Edge{To: at + 2})
		word := 0
		ops = ops[:0]
		for j := range vs {
			v := vs[(j+k)%len(vs)]
			n := b.In.VRegs[v].Words()
			word = (word + n - 1) &^ (n - 1)
			ops = append(ops, regalloc.StackArgUse(v, word))
			word += n
		}
		b.Inst(tail, 0, ops...)
		b.Block(nil, 0)
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	return b.Finish()
}

// throws is n calls that may throw, one after the other, all with the same handler.
func throws(n int) *regalloc.Input {
	env := gen.X64()
	var b Builder
	b.CallClobbers(env)
	vs, p := b.Entry(6), env.Order[0][0]
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	handler := regalloc.Block(2*n + 2)
	for k := range n {
		v := b.VReg(0)
		b.Inst(throw, 1, regalloc.FixedUse(vs[k%6], p), regalloc.FixedDef(v, p))
		at := regalloc.Block(len(b.In.Blocks))
		b.Block(nil, 0, regalloc.Edge{To: at + 2}, regalloc.Edge{To: at + 1})
		b.Inst(term, 0)
		b.Block(nil, 0, regalloc.Edge{To: handler, Args: b.List(vs[k%6 : k%6+1])})
		vs[k%6] = v
	}
	b.Inst(ret, 0, reg(vs[0]))
	b.Block(nil, 0)
	got := b.VReg(0)
	b.Inst(ret, 0, reg(got))
	b.Block([]regalloc.VReg{got}, 0)
	return b.Finish()
}
