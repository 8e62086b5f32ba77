package linear_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
)

// ordinary is functions like those of a compiler: few oddities.
func ordinary(n int, blocks, insts int) []*regalloc.Input {
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

func BenchmarkRun(b *testing.B) {
	env := gen.X64()
	for _, size := range []struct{ funcs, blocks, insts int }{{64, 10, 10}, {32, 40, 16}, {2, 2000, 16}} {
		b.Run(fmt.Sprintf("blocks=%d", size.blocks), func(b *testing.B) {
			list := ordinary(size.funcs, size.blocks, size.insts)
			insts := 0
			for _, in := range list {
				insts += len(in.Insts)
			}
			a := linear.New()
			var out regalloc.Output
			b.ReportAllocs()
			start := cputime.Used()
			for b.Loop() {
				for _, in := range list {
					if err := a.Run(in, env, &out); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64((cputime.Used()-start).Nanoseconds())/float64(b.N*insts), "cpu-ns/inst")
			b.ReportMetric(float64(insts)/float64(len(list)), "insts/func")
		})
	}
}

// BenchmarkStraight is straight-line code without pressure, calls or spills: the
// least that an instruction can cost.
func BenchmarkStraight(b *testing.B) {
	in, env := oneBlock(2000, 10), gen.X64()
	a := linear.New()
	var out regalloc.Output
	start := cputime.Used()
	for b.Loop() {
		if err := a.Run(in, env, &out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cputime.Used()-start).Nanoseconds())/float64(b.N*len(in.Insts)), "cpu-ns/inst")
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	env := gen.X64()
	a := linear.New()
	var out regalloc.Output
	list := ordinary(20, 30, 16)
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

// builder makes an input block by block.
type builder struct{ in regalloc.Input }

func (b *builder) vreg(c regalloc.Class) regalloc.VReg {
	b.in.VRegs = append(b.in.VRegs, regalloc.VRegInfo{Class: c, Bytes: 8, Remat: regalloc.NoInst})
	return regalloc.VReg(len(b.in.VRegs) - 1)
}

func (b *builder) inst(flags regalloc.InstFlags, clobbers uint16, ops ...regalloc.Operand) {
	b.in.Operands = append(b.in.Operands, ops...)
	b.in.Insts = append(b.in.Insts, regalloc.InstInfo{OperandEnd: uint32(len(b.in.Operands)), Flags: flags, Clobbers: clobbers})
}

func (b *builder) list(vs []regalloc.VReg) regalloc.Range {
	s := uint32(len(b.in.VRegLists))
	b.in.VRegLists = append(b.in.VRegLists, vs...)
	return regalloc.Range{Start: s, End: uint32(len(b.in.VRegLists))}
}

// block ends the block of the instructions since the one before.
func (b *builder) block(params []regalloc.VReg, depth int, edges ...regalloc.Edge) {
	start := uint32(0)
	if n := len(b.in.Blocks); n > 0 {
		start = b.in.Blocks[n-1].Insts.End
	}
	e := uint32(len(b.in.Edges))
	b.in.Edges = append(b.in.Edges, edges...)
	b.in.Blocks = append(b.in.Blocks, regalloc.BlockInfo{
		Insts: regalloc.Range{Start: start, End: uint32(len(b.in.Insts))}, Params: b.list(params),
		Succs: regalloc.Range{Start: e, End: uint32(len(b.in.Edges))}, LoopDepth: uint16(depth),
	})
}

// finish fills in predecessors.
func (b *builder) finish() *regalloc.Input {
	preds := make([][]regalloc.Block, len(b.in.Blocks))
	for k := range b.in.Blocks {
		for _, e := range b.in.SuccsOf(regalloc.Block(k)) {
			preds[e.To] = append(preds[e.To], regalloc.Block(k))
		}
	}
	for k, p := range preds {
		s := uint32(len(b.in.BlockLists))
		b.in.BlockLists = append(b.in.BlockLists, p...)
		b.in.Blocks[k].Preds = regalloc.Range{Start: s, End: uint32(len(b.in.BlockLists))}
	}
	if b.in.ClobberSets == nil {
		b.in.ClobberSets = []regalloc.Clobbers{{}}
	}
	return &b.in
}

const (
	term = regalloc.IsTerminator
	ret  = regalloc.IsTerminator | regalloc.IsReturn
)

func def(v regalloc.VReg) regalloc.Operand { return regalloc.DefOf(v, regalloc.Reg) }
func reg(v regalloc.VReg) regalloc.Operand { return regalloc.UseOf(v, regalloc.Reg) }

// entry makes the arguments.
func (b *builder) entry(n int) []regalloc.VReg {
	var vs []regalloc.VReg
	var ops []regalloc.Operand
	for k := range n {
		v := b.vreg(regalloc.Int)
		vs = append(vs, v)
		ops = append(ops, regalloc.FixedDef(v, gen.X64().Order[0][k]))
	}
	b.inst(0, 0, ops...)
	return vs
}

// oneBlock is n instructions that each use two values of a window.
func oneBlock(n, window int) *regalloc.Input {
	var b builder
	vs := b.entry(4)
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		v := b.vreg(regalloc.Int)
		last := vs[max(0, len(vs)-window):]
		b.inst(0, 0, reg(last[r.IntN(len(last))]), regalloc.UseOf(last[r.IntN(len(last))], regalloc.Any), def(v))
		vs = append(vs, v)
	}
	b.inst(ret, 0)
	b.block(nil, 0)
	return b.finish()
}

// chain is n blocks one after the other, each with a way out to a cold block
// that uses values, and live values throughout.
func chain(n, live int) *regalloc.Input {
	var b builder
	vs := b.entry(live)
	x := vs[0]
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: 1})
	for k := 1; k <= n; k++ {
		for range 10 {
			y := b.vreg(regalloc.Int)
			b.inst(0, 0, reg(x), regalloc.UseOf(vs[k%live], regalloc.Any), def(y))
			x = y
		}
		b.inst(term, 0, reg(x))
		b.block(nil, 0, regalloc.Edge{To: regalloc.Block(k + 1)}, regalloc.Edge{To: regalloc.Block(n + 1 + k)})
		vs[k%live] = x
	}
	b.inst(ret, 0, reg(x))
	b.block(nil, 0)
	for k := 1; k <= n; k++ {
		b.inst(ret, 0)
		b.block(nil, 0)
		b.in.Blocks[len(b.in.Blocks)-1].Cold = true
	}
	return b.finish()
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
	var b builder
	outer := b.entry(3)
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: 1, Args: b.list(outer)})
	all := append([]regalloc.VReg(nil), outer...)
	// Block k heads loop k; block 2*depth+1-k is its latch; the innermost is both.
	for k := 1; k <= depth; k++ {
		p := []regalloc.VReg{b.vreg(0), b.vreg(0), b.vreg(0)}
		all = append(all, p...)
		for j := range 4 {
			v := b.vreg(regalloc.Int)
			b.inst(0, 0, reg(p[j%3]), regalloc.UseOf(all[(7*k+j)%len(all)], regalloc.Any), def(v))
			p[j%3] = v
		}
		b.inst(term, 0)
		b.block(p[:0:0], k, regalloc.Edge{To: regalloc.Block(k + 1), Args: b.list(p)})
		b.in.Blocks[len(b.in.Blocks)-1].Params = b.list(all[len(all)-3:])
	}
	// The middle: parameters of its own, then latches outward.
	p := []regalloc.VReg{b.vreg(0), b.vreg(0), b.vreg(0)}
	b.inst(term, 0)
	b.block(p, depth, regalloc.Edge{To: regalloc.Block(depth + 2)})
	for k := depth; k >= 1; k-- {
		at := regalloc.Block(len(b.in.Blocks))
		b.inst(term, 0, reg(p[k%3]))
		b.block(nil, k, regalloc.Edge{To: at + 1}, regalloc.Edge{To: at + 2})
		b.inst(term, 0) // edge block back
		b.block(nil, k, regalloc.Edge{To: regalloc.Block(k), Args: b.list(p)})
	}
	b.inst(ret, 0, reg(p[0]))
	b.block(nil, 0)
	return b.finish()
}

// join is a loop with many parameters, rotated by one each time round.
func join(params int) *regalloc.Input {
	var b builder
	vs := b.entry(2)
	for len(vs) < params {
		v := b.vreg(regalloc.Int)
		b.inst(0, 0, def(v))
		vs = append(vs, v)
	}
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: 1, Args: b.list(vs)})
	var ps []regalloc.VReg
	for range params {
		ps = append(ps, b.vreg(regalloc.Int))
	}
	b.inst(term, 0, reg(ps[0]))
	b.block(ps, 1, regalloc.Edge{To: 2}, regalloc.Edge{To: 3})
	b.inst(term, 0)
	b.block(nil, 1, regalloc.Edge{To: 1, Args: b.list(append(append([]regalloc.VReg(nil), ps[1:]...), ps[0]))})
	for _, p := range ps {
		b.inst(0, 0, reg(p))
	}
	b.inst(ret, 0)
	b.block(nil, 0)
	return b.finish()
}

// calls is n calls with values live across all of them.
func calls(n int) *regalloc.Input {
	env := gen.X64()
	var b builder
	b.callClobbers(env)
	vs := b.entry(8)
	for k := range n {
		v := b.vreg(regalloc.Int)
		b.inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[k%8], env.Order[0][0]), regalloc.FixedUse(vs[(k+3)%8], env.Order[0][1]),
			regalloc.FixedDef(v, env.Order[0][0]))
		w := b.vreg(regalloc.Int)
		b.inst(0, 0, reg(v), regalloc.UseOf(vs[k%8], regalloc.Any), def(w))
		if k%3 == 0 {
			vs[k%8] = w
		}
	}
	b.inst(ret, 0)
	b.block(nil, 0)
	return b.finish()
}

// rareChain is a loop of n times rare code with a call, behind which the usual way goes on; its values live all through it.
func rareChain(n int) *regalloc.Input {
	env := gen.X64()
	var b builder
	b.callClobbers(env)
	vs := b.entry(12)
	b.inst(term, 0)
	b.block(nil, 0, regalloc.Edge{To: 1})
	for k := range n {
		at := regalloc.Block(len(b.in.Blocks))
		b.inst(term, 0, reg(vs[k%12]))
		b.block(nil, 1, regalloc.Edge{To: at + 1}, regalloc.Edge{To: at + 2})
		b.inst(term, 0)
		b.block(nil, 1, regalloc.Edge{To: at + 3})
		b.inst(regalloc.Safepoint, 1, regalloc.FixedUse(vs[(k+5)%12], env.Order[0][0]))
		b.inst(term, 0)
		b.block(nil, 1, regalloc.Edge{To: at + 3})
	}
	at := regalloc.Block(len(b.in.Blocks))
	b.inst(term, 0, reg(vs[0]))
	b.block(nil, 1, regalloc.Edge{To: at + 1}, regalloc.Edge{To: at + 2})
	b.inst(term, 0)
	b.block(nil, 1, regalloc.Edge{To: 1})
	b.inst(ret, 0)
	b.block(nil, 0)
	return b.finish()
}

var full = flag.Bool("full", false, "run the pathological tests at full size")

// TestPathological measures shapes that make allocators quadratic, at two
// sizes: the time for an instruction must not grow much.
func TestPathological(t *testing.T) {
	scale := 5
	if *full {
		scale = 1
	}
	env := gen.X64()
	c := checker.New()
	for _, test := range []struct {
		name string
		make func(n int) *regalloc.Input
		n    int
	}{
		{"one block, 200 000 instructions", func(n int) *regalloc.Input { return oneBlock(n, 12) }, 200000},
		{"one block, high pressure", func(n int) *regalloc.Input { return oneBlock(n, 400) }, 100000},
		{"chain of 50 000 blocks", func(n int) *regalloc.Input { return chain(n, 6) }, 50000},
		{"chain with uses in cold blocks", coldUses, 50000},
		{"nest of loops", nest, 300},
		{"block with many parameters", join, 5000},
		{"calls", calls, 50000},
		{"loop with many arms", func(n int) *regalloc.Input { in, _ := dispatcher(n, 40); return in }, 10000},
		{"rare code again and again", rareChain, 10000},
	} {
		a := linear.New()
		var out regalloc.Output
		var per [2]float64
		for k, n := range [2]int{test.n / 10 / scale, test.n / scale} {
			in := test.make(n)
			size := float64(len(in.Insts) + len(in.VRegLists))
			took := cputime.Least(1, time.Duration((6*per[0]+1000)*size), func() {
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
