package alloctest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

const (
	term = regalloc.IsTerminator
	ret  = regalloc.IsTerminator | regalloc.IsReturn
)

func def(v regalloc.VReg) regalloc.Operand { return regalloc.DefOf(v, regalloc.Reg) }
func reg(v regalloc.VReg) regalloc.Operand { return regalloc.UseOf(v, regalloc.Reg) }

// Ordinary is functions like those of a compiler: few oddities.
func Ordinary(n int, blocks, insts int) []*regalloc.Input {
	c := gen.Default()
	c.Blocks, c.Insts = blocks, insts
	c.CallRate, c.RefRate, c.FloatRate, c.FarRate, c.Params = 0.05, 0, 0.1, 0.03, 3
	c.TerminatorDefRate, c.IrreducibleRate, c.ShuffleRate = 0, 0, 0
	var list []*regalloc.Input
	for k := range n {
		list = append(list, gen.Func(rand.New(rand.NewPCG(uint64(k), 3)), c, gen.X64()))
	}
	return list
}

// SteadyState fails if an allocator allocates memory for functions that it has had before.
func SteadyState(t *testing.T, a Allocator) {
	env := gen.X64()
	var out regalloc.Output
	list := Ordinary(20, 30, 16)
	run := func() {
		for _, in := range list {
			if err := a.Run(in, env, &out); err != nil {
				t.Fatal(err)
			}
		}
	}
	run()
	if n := testing.AllocsPerRun(3, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// OneBlock is n instructions that each use two values of a window.
func OneBlock(n, window int) *regalloc.Input {
	var b Builder
	vs := b.Entry(4)
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		v := b.VReg(regalloc.Int)
		last := vs[max(0, len(vs)-window):]
		b.Inst(0, 0, reg(last[r.IntN(len(last))]), regalloc.UseOf(last[r.IntN(len(last))], regalloc.Any), def(v))
		vs = append(vs, v)
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	return b.Finish()
}

// chain is n blocks one after the other, each with a way out to a cold block
// that uses values, and live values throughout.
func chain(n, live int) *regalloc.Input {
	var b Builder
	vs := b.Entry(live)
	x := vs[0]
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	for k := 1; k <= n; k++ {
		for range 10 {
			y := b.VReg(regalloc.Int)
			b.Inst(0, 0, reg(x), regalloc.UseOf(vs[k%live], regalloc.Any), def(y))
			x = y
		}
		b.Inst(term, 0, reg(x))
		b.Block(nil, 0, regalloc.Edge{To: regalloc.Block(k + 1)}, regalloc.Edge{To: regalloc.Block(n + 1 + k)})
		vs[k%live] = x
	}
	b.Inst(ret, 0, reg(x))
	b.Block(nil, 0)
	for k := 1; k <= n; k++ {
		b.Inst(ret, 0)
		b.Block(nil, 0)
		b.In.Blocks[len(b.In.Blocks)-1].Cold = true
	}
	return b.Finish()
}

// coldUses is chain, but each cold block uses the value of its block, so that
// there are as many values with holes up to the end.
func coldUses(n int) *regalloc.Input {
	in := chain(n, 4)
	for k := 1; k <= n; k++ {
		i := in.Blocks[n+1+k].Insts.Start
		use := in.OperandsOf(regalloc.Inst(in.Blocks[k].Insts.End - 1))[0]
		for j := i; j < uint32(len(in.Insts)); j++ {
			in.Insts[j].OperandEnd++
		}
		in.Operands = append(in.Operands, use)
	}
	return in
}

// nest is loops in loops, each with its own values, all used inside.
func nest(depth int) *regalloc.Input {
	var b Builder
	outer := b.Entry(3)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List(outer)})
	all := append([]regalloc.VReg(nil), outer...)
	// Block k heads loop k; block 2*depth+1-k is its latch; the innermost is both.
	for k := 1; k <= depth; k++ {
		p := []regalloc.VReg{b.VReg(0), b.VReg(0), b.VReg(0)}
		all = append(all, p...)
		for j := range 4 {
			v := b.VReg(regalloc.Int)
			b.Inst(0, 0, reg(p[j%3]), regalloc.UseOf(all[(7*k+j)%len(all)], regalloc.Any), def(v))
			p[j%3] = v
		}
		b.Inst(term, 0)
		b.Block(p[:0:0], k, regalloc.Edge{To: regalloc.Block(k + 1), Args: b.List(p)})
		b.In.Blocks[len(b.In.Blocks)-1].Params = b.List(all[len(all)-3:])
	}
	// The middle: parameters of its own, then latches outward.
	p := []regalloc.VReg{b.VReg(0), b.VReg(0), b.VReg(0)}
	b.Inst(term, 0)
	b.Block(p, depth, regalloc.Edge{To: regalloc.Block(depth + 2)})
	for k := depth; k >= 1; k-- {
		at := regalloc.Block(len(b.In.Blocks))
		b.Inst(term, 0, reg(p[k%3]))
		b.Block(nil, k, regalloc.Edge{To: at + 1}, regalloc.Edge{To: at + 2})
		b.Inst(term, 0) // edge block back
		b.Block(nil, k, regalloc.Edge{To: regalloc.Block(k), Args: b.List(p)})
	}
	b.Inst(ret, 0, reg(p[0]))
	b.Block(nil, 0)
	return b.Finish()
}

// join is a loop with many parameters, rotated by one each time round.
func join(params int) *regalloc.Input {
	var b Builder
	vs := b.Entry(2)
	for len(vs) < params {
		v := b.VReg(regalloc.Int)
		b.Inst(0, 0, def(v))
		vs = append(vs, v)
	}
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1, Args: b.List(vs)})
	var ps []regalloc.VReg
	for range params {
		ps = append(ps, b.VReg(regalloc.Int))
	}
	b.Inst(term, 0, reg(ps[0]))
	b.Block(ps, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1, Args: b.List(append(append([]regalloc.VReg(nil), ps[1:]...), ps[0]))})
	for _, p := range ps {
		b.Inst(0, 0, reg(p))
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	return b.Finish()
}

// calls is n calls with values live across all of them.
func calls(n int) *regalloc.Input {
	env := gen.X64()
	var b Builder
	b.CallClobbers(env)
	vs := b.Entry(8)
	for k := range n {
		v := b.VReg(regalloc.Int)
		b.Inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[k%8], env.Order[0][0]), regalloc.FixedUse(vs[(k+3)%8], env.Order[0][1]),
			regalloc.FixedDef(v, env.Order[0][0]))
		w := b.VReg(regalloc.Int)
		b.Inst(0, 0, reg(v), regalloc.UseOf(vs[k%8], regalloc.Any), def(w))
		if k%3 == 0 {
			vs[k%8] = w
		}
	}
	b.Inst(ret, 0)
	b.Block(nil, 0)
	return b.Finish()
}

// rareChain is a loop of n times rare code with a call, behind which the usual way goes on; its values live all through it.
func rareChain(n int) *regalloc.Input {
	env := gen.X64()
	var b Builder
	b.CallClobbers(env)
	vs := b.Entry(12)
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	for k := range n {
		at := regalloc.Block(len(b.In.Blocks))
		b.Inst(term, 0, reg(vs[k%12]))
		b.Block(nil, 1, regalloc.Edge{To: at + 1}, regalloc.Edge{To: at + 2})
		b.Inst(term, 0)
		b.Block(nil, 1, regalloc.Edge{To: at + 3})
		b.Inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[(k+5)%12], env.Order[0][0]))
		b.Inst(term, 0)
		b.Block(nil, 1, regalloc.Edge{To: at + 3})
	}
	at := regalloc.Block(len(b.In.Blocks))
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 1, regalloc.Edge{To: at + 1}, regalloc.Edge{To: at + 2})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1})
	b.Inst(ret, 0)
	b.Block(nil, 0)
	return b.Finish()
}

// Dispatcher is a loop whose usual way uses all of the given number of values, and whose arms, of which one may run in an
// iteration, call and use some of them.
func Dispatcher(arms, values int) (in *regalloc.Input, usual []regalloc.Block) {
	env := gen.X64()
	var b Builder
	b.CallClobbers(env)
	vs := b.Entry(3)
	for len(vs) < values {
		v := b.VReg(regalloc.Int)
		b.Inst(0, 0, def(v))
		vs = append(vs, v)
	}
	b.Inst(term, 0)
	b.Block(nil, 0, regalloc.Edge{To: 1})
	for _, v := range vs {
		b.Inst(0, 0, reg(v))
	}
	latch := regalloc.Block(arms + 4)
	b.Inst(term, 0, reg(vs[0]))
	b.Block(nil, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: latch})
	var ways []regalloc.Edge
	for k := range arms {
		ways = append(ways, regalloc.Edge{To: regalloc.Block(k + 4)})
	}
	b.Inst(term, 0, reg(vs[1]))
	b.Block(nil, 1, ways...)
	for k := range arms {
		b.Inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[k%values], env.Order[0][0]))
		b.Inst(0, 0, reg(vs[(k+1)%values]), reg(vs[(k+2)%values]))
		b.Inst(term, 0)
		b.Block(nil, 1, regalloc.Edge{To: latch})
	}
	b.Inst(term, 0, reg(vs[2]))
	b.Block(nil, 1, regalloc.Edge{To: latch + 1}, regalloc.Edge{To: latch + 2})
	b.Inst(term, 0)
	b.Block(nil, 1, regalloc.Edge{To: 1})
	b.Inst(ret, 0)
	b.Block(nil, 0)
	return b.Finish(), []regalloc.Block{1, 2, latch, latch + 1}
}

// Pathological measures shapes that make allocators quadratic, at two
// sizes: the time for an instruction must not grow much.
func Pathological(t *testing.T, fresh func() Allocator, full bool) {
	scale := 5
	if full {
		scale = 1
	}
	env := gen.X64()
	c := checker.New()
	for _, test := range []struct {
		name string
		make func(n int) *regalloc.Input
		n    int
	}{
		{"one block, 200 000 instructions", func(n int) *regalloc.Input { return OneBlock(n, 12) }, 200000},
		{"one block, high pressure", func(n int) *regalloc.Input { return OneBlock(n, 400) }, 100000},
		{"chain of 50 000 blocks", func(n int) *regalloc.Input { return chain(n, 6) }, 50000},
		{"chain with uses in cold blocks", coldUses, 50000},
		{"nest of loops", nest, 300},
		{"block with many parameters", join, 5000},
		{"calls", calls, 50000},
		{"loop with many arms", func(n int) *regalloc.Input { in, _ := Dispatcher(n, 40); return in }, 10000},
		{"rare code again and again", rareChain, 10000},
		{"tail calls", tailCalls, 5000},
		{"calls that may throw", throws, 20000},
	} {
		a := fresh()
		var out regalloc.Output
		var per [2]float64
		for k, n := range [2]int{test.n / 10 / scale, test.n / scale} {
			in := test.make(n)
			size := float64(len(in.Insts) + len(in.VRegLists))
			took := cputime.LeastShort(time.Duration((6*per[0]+1000)*size), func() {
				if err := a.Run(in, env, &out); err != nil {
					t.Fatalf("%s: %v", test.name, err)
				}
			})
			per[k] = float64(took.Nanoseconds()) / size
			t.Logf("%s: %d instructions, %d blocks: %v, %.0f ns each; %+v", test.name, len(in.Insts), len(in.Blocks), took, per[k], out.Stats)
			if err := c.Check(in, env, &out, checker.Options{}); err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
		}
		// A nest of loops has quadratically many live values in itself.
		if test.name != "nest of loops" && per[1] > 6*per[0]+1000 {
			t.Errorf("%s: from %.0f to %.0f ns each", test.name, per[0], per[1])
		}
	}
}
