package checker_test

import (
	"math/rand/v2"

	"github.com/waot-project/waot/regalloc"
)

type (
	operand = regalloc.Operand
	vreg    = regalloc.VReg
	preg    = regalloc.PReg
)

const scratchReg = preg(32 + 15)

// testEnv is a small machine: 0-6 and 10-15 of each class are allocatable, of
// which calls leave homeRegs alone, but for the upper half of the last one.
func testEnv() *regalloc.MachineEnv {
	env := &regalloc.MachineEnv{Scratch: [2]preg{regalloc.NoPReg, scratchReg}}
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14} {
		env.Order[0] = append(env.Order[0], regalloc.IntReg(n))
		env.Order[1] = append(env.Order[1], regalloc.FloatReg(n))
		env.Allocatable = env.Allocatable.Add(regalloc.IntReg(n)).Add(regalloc.FloatReg(n))
	}
	env.CalleeSaved = homeRegs()
	env.Swaps = env.Allocatable.OfClass(regalloc.Int)
	return env
}

func homeRegs() (s regalloc.PRegSet) {
	for n := 10; n <= 14; n++ {
		s = s.Add(regalloc.IntReg(n)).Add(regalloc.FloatReg(n))
	}
	return s
}

// lowHome is the float register of homeRegs of which calls keep only the low half.
const lowHome = preg(32 + 14)

// The clobber sets; callSet is that of calls, halfSet changes upper halves only.
const (
	noSet = iota
	callSet
	smallSet
	halfSet
)

var clobberSets = []regalloc.Clobbers{
	noSet:    {},
	callSet:  {Low: callClobbers, High: callClobbers.Add(lowHome)},
	smallSet: regalloc.WholeRegs(regalloc.SetOf(2, 34)),
	halfSet:  {High: regalloc.SetOf(32, 34, lowHome)},
}

const callClobbers = regalloc.PRegSet(0xf | 0xf<<32 | 1<<scratchReg)

// The kinds of virtual registers of the generator.
var kinds = [...]regalloc.VRegInfo{
	{Class: regalloc.Int, Bytes: 8},
	{Class: regalloc.Float, Bytes: 8},
	{Class: regalloc.Float, Bytes: 16},
	{Class: regalloc.Int, Bytes: 8, Ref: true},
	{Class: regalloc.Int, Bytes: 4},
}

type genInst struct {
	ops      []operand
	clobbers uint16
	flags    regalloc.InstFlags
	remat    bool
	words    int // that a tail call passes
}

type genEdge struct {
	to   *genBlock
	args []vreg
}

type genBlock struct {
	params []vreg
	insts  []genInst
	succs  []genEdge
	index  int
}

// choices are what decisions are made with: a *rand.Rand, or an *entropy.Source.
type choices interface {
	IntN(n int) int
	Uint32() uint32
	Perm(n int) []int
	Shuffle(n int, swap func(i, j int))
}

// gen makes random structured functions in SSA form.
type gen struct {
	choices
	vregs  []regalloc.VRegInfo
	blocks []*genBlock
	budget int
	// run bounds the instructions between branches.
	run int
	// stack are the arguments in words, of which there are own; argWords is how many there are with those of tail calls.
	stack         []vreg
	own, argWords int
}

func generate(seed uint64, size int) *regalloc.Input {
	return generateOf(rand.New(rand.NewPCG(seed, 1)), size)
}

// generateOf makes a function of about size instructions of r's choices.
func generateOf(r choices, size int) *regalloc.Input {
	g := &gen{choices: r, budget: size, run: 6}
	if size > 200 {
		g.run = 60
	}
	entry := g.block()
	first := genInst{}
	var scope []vreg
	for n, p := range []preg{0, 1, 2, 32, 33} {
		if g.IntN(3) > 0 {
			k := 0
			if p >= 32 {
				k = 1 + n&1
			} else if n == 2 {
				k = 3
			}
			first.ops = append(first.ops, regalloc.FixedDef(g.vreg(k), p))
		}
	}
	word := 0
	for range g.IntN(4) {
		k := g.IntN(len(kinds))
		words := kinds[k].Words()
		word = (word + words - 1) &^ (words - 1)
		first.ops = append(first.ops, regalloc.StackArgDef(g.vreg(k), word))
		g.stack = append(g.stack, vreg(len(g.vregs)-1))
		word += words
	}
	first.words = word + word&1
	g.argWords = first.words
	for _, op := range first.ops {
		scope = append(scope, op.VReg)
	}
	entry.insts = append(entry.insts, first)
	end, scope := g.region(entry, scope, 0)
	g.ret(end, scope)
	if g.IntN(2) == 0 {
		g.Shuffle(len(g.blocks)-1, func(i, j int) {
			g.blocks[i+1], g.blocks[j+1] = g.blocks[j+1], g.blocks[i+1]
		})
	}
	return g.flatten()
}

func (g *gen) block() *genBlock {
	b := &genBlock{}
	g.blocks = append(g.blocks, b)
	return b
}

func (g *gen) vreg(kind int) vreg {
	v := kinds[kind]
	v.Remat = regalloc.NoInst
	g.vregs = append(g.vregs, v)
	return vreg(len(g.vregs) - 1)
}

func (g *gen) kindOf(v vreg) int {
	i := g.vregs[v]
	switch {
	case i.Ref:
		return 3
	case i.Bytes == 16:
		return 2
	case i.Bytes == 4:
		return 4
	}
	return int(i.Class)
}

// pick returns a value of the kind in scope, made if there is none.
func (g *gen) pick(b *genBlock, scope *[]vreg, kind int) vreg {
	s := *scope
	for range 8 {
		if len(s) == 0 {
			break
		}
		// Recent values are likelier, old ones live long.
		n := g.IntN(len(s))
		if g.IntN(2) == 0 {
			n = max(n, len(s)-1-g.IntN(6))
			n = max(n, 0)
		}
		if g.kindOf(s[n]) == kind {
			return s[n]
		}
	}
	v := g.vreg(kind)
	b.insts = append(b.insts, genInst{ops: []operand{regalloc.DefOf(v, regalloc.Reg)}, remat: g.IntN(4) > 0})
	*scope = append(*scope, v)
	return v
}

func (g *gen) region(b *genBlock, scope []vreg, depth int) (*genBlock, []vreg) {
	for {
		for range g.IntN(g.run) {
			g.inst(b, &scope)
		}
		if g.budget <= 0 || depth > 3 {
			return b, scope
		}
		switch g.IntN(5) {
		case 0:
			return b, scope
		case 1, 2:
			b, scope = g.diamond(b, scope, depth)
		case 3:
			b, scope = g.loop(b, scope, depth)
		case 4:
			b, scope = g.terminatorCall(b, scope)
		}
	}
}

// terminator ends b with up to two uses.
func (g *gen) terminator(b *genBlock, scope *[]vreg) {
	var t genInst
	for range g.IntN(3) {
		t.ops = append(t.ops, regalloc.UseOf(g.pick(b, scope, g.IntN(len(kinds))), regalloc.Any))
	}
	t.flags = regalloc.IsTerminator
	b.insts = append(b.insts, t)
	g.budget--
}

func (g *gen) ret(b *genBlock, scope []vreg) {
	if g.IntN(3) == 0 {
		g.tailCall(b, scope)
		return
	}
	var t genInst
	for n, p := range []preg{0, 1, 32} {
		if g.IntN(4) > 0 {
			t.ops = append(t.ops, regalloc.FixedUse(g.pick(b, &scope, [...]int{4 * g.IntN(2), 3, 2}[n]), p))
		}
	}
	t.flags = regalloc.IsTerminator | regalloc.IsReturn
	b.insts = append(b.insts, t)
}

// tailCall ends b with a tail call, to which it passes arguments of its own in other words, and other values.
func (g *gen) tailCall(b *genBlock, scope []vreg) {
	t := genInst{flags: regalloc.IsTerminator | regalloc.IsTailCall}
	for n, p := range []preg{0, 1, 32} {
		if g.IntN(4) > 0 {
			t.ops = append(t.ops, regalloc.FixedUse(g.pick(b, &scope, [...]int{0, 3, 2}[n]), p))
		}
	}
	for range g.IntN(7) {
		v := g.pick(b, &scope, g.IntN(4))
		if len(g.stack) > 0 && g.IntN(2) == 0 {
			v = g.stack[g.IntN(len(g.stack))]
		}
		if g.kindOf(v) == 4 {
			continue
		}
		words := kinds[g.kindOf(v)].Words()
		t.words = (t.words + words - 1) &^ (words - 1)
		t.ops = append(t.ops, regalloc.StackArgUse(v, t.words))
		t.words += words
	}
	t.words += t.words & 1
	g.argWords = max(g.argWords, t.words)
	b.insts = append(b.insts, t)
}

// to adds an edge with arguments for to's parameters, which it makes with the
// first edge.
func (g *gen) to(b *genBlock, scope *[]vreg, to *genBlock, params int) genEdge {
	if to.params == nil {
		for range params {
			to.params = append(to.params, g.vreg(g.IntN(len(kinds))))
		}
	}
	e := genEdge{to: to}
	for _, p := range to.params {
		e.args = append(e.args, g.pick(b, scope, g.kindOf(p)))
	}
	return e
}

func (g *gen) jump(b *genBlock, scope []vreg, to *genBlock, params int) []vreg {
	e := g.to(b, &scope, to, params)
	b.insts = append(b.insts, genInst{flags: regalloc.IsTerminator})
	g.budget--
	b.succs = append(b.succs, e)
	return scope
}

func (g *gen) branch(b *genBlock, scope []vreg, params int) (x, y *genBlock, sc []vreg) {
	x, y = g.block(), g.block()
	e, f := g.to(b, &scope, x, g.IntN(params+1)), g.to(b, &scope, y, g.IntN(params+1))
	g.terminator(b, &scope)
	b.succs = append(b.succs, e, f)
	return x, y, scope
}

func (g *gen) diamond(b *genBlock, scope []vreg, depth int) (*genBlock, []vreg) {
	x, y, scope := g.branch(b, scope, 2)
	join := g.block()
	n := g.IntN(4)
	for _, side := range []*genBlock{x, y} {
		sc := append(append([]vreg{}, scope...), side.params...)
		end, sc := g.region(side, sc, depth+1)
		g.jump(end, sc, join, n)
		if n == 0 {
			join.params = []vreg{}
		}
	}
	return join, append(scope[:len(scope):len(scope)], join.params...)
}

func (g *gen) loop(b *genBlock, scope []vreg, depth int) (*genBlock, []vreg) {
	head := g.block()
	scope = g.jump(b, scope, head, 1+g.IntN(4))
	scope = append(scope[:len(scope):len(scope)], head.params...)
	end, scope := g.region(head, scope, depth+1)
	exit, back, scope := g.branch(end, scope, 2)
	sc := append(append([]vreg{}, scope...), back.params...)
	g.jump(back, sc, head, 0)
	return exit, append(scope[:len(scope):len(scope)], exit.params...)
}

// terminatorCall ends b with a call whose results are on its normal edge only.
func (g *gen) terminatorCall(b *genBlock, scope []vreg) (*genBlock, []vreg) {
	in := g.call(b, &scope)
	in.flags |= regalloc.IsTerminator | regalloc.MayThrow
	b.insts = append(b.insts, in)
	g.budget--
	next := g.block()
	unwind := g.block()
	b.succs = append(b.succs, genEdge{to: next}, genEdge{to: unwind})
	g.ret(unwind, append([]vreg{}, scope...))
	return next, append(scope[:len(scope):len(scope)], defsOf(in.ops)...)
}

func defsOf(ops []operand) (vs []vreg) {
	for _, op := range ops {
		if op.Access.Defines() {
			vs = append(vs, op.VReg)
		}
	}
	return vs
}

func (g *gen) call(b *genBlock, scope *[]vreg) genInst {
	var in genInst
	for n, p := range []preg{0, 1, 32} {
		if g.IntN(3) > 0 {
			in.ops = append(in.ops, regalloc.FixedUse(g.pick(b, scope, [...]int{4 * g.IntN(2), 3, 1}[n]), p))
		}
	}
	if g.IntN(2) == 0 {
		in.ops = append(in.ops, regalloc.UseOf(g.pick(b, scope, g.IntN(len(kinds))), regalloc.Any))
	}
	if g.IntN(2) == 0 {
		in.ops = append(in.ops, operand{VReg: g.pick(b, scope, 0), Access: regalloc.LateUse})
	}
	for n, p := range []preg{0, 3, 32} {
		if g.IntN(2) == 0 {
			in.ops = append(in.ops, regalloc.FixedDef(g.vreg([...]int{0, 3, 2}[n]), p))
		}
	}
	if g.IntN(3) == 0 {
		in.ops = append(in.ops, regalloc.DefOf(g.vreg(g.IntN(len(kinds))), regalloc.Any))
	}
	in.clobbers = callSet
	if g.IntN(4) > 0 {
		in.flags = regalloc.Safepoint
	}
	return in
}

func (g *gen) inst(b *genBlock, scope *[]vreg) {
	var in genInst
	use := func(kind int, c regalloc.Constraint, a regalloc.Access) {
		in.ops = append(in.ops, operand{VReg: g.pick(b, scope, kind), Constraint: c, Access: a})
	}
	constraint := func() regalloc.Constraint { return regalloc.Constraint(g.IntN(2)) }
	switch g.IntN(8) {
	case 0:
		in = g.call(b, scope)
	case 1: // two-address
		k := g.IntN(len(kinds))
		use(k, regalloc.Reg, regalloc.Use)
		use(g.IntN(len(kinds)), regalloc.Any, regalloc.Use)
		in.ops = append(in.ops, regalloc.ReuseDef(g.vreg(k), 0))
	case 2: // like a division
		in.ops = append(in.ops, regalloc.FixedUse(g.pick(b, scope, 0), 0))
		use(0, regalloc.Reg, regalloc.LateUse)
		in.ops = append(in.ops, regalloc.FixedDef(g.vreg(0), 0), regalloc.FixedDef(g.vreg(0), 2))
		in.clobbers = smallSet
	case 3: // of upper halves
		use(g.IntN(len(kinds)), constraint(), regalloc.Use)
		use(g.IntN(len(kinds)), constraint(), regalloc.LateUse)
		in.ops = append(in.ops, operand{VReg: g.vreg(g.IntN(len(kinds))), Constraint: regalloc.Reg, Access: regalloc.Def})
		in.clobbers = halfSet
	case 4:
		use(g.IntN(len(kinds)), regalloc.Reg, regalloc.Use)
		use(g.IntN(len(kinds)), constraint(), regalloc.Use)
		use(g.IntN(3), regalloc.Reg, regalloc.LateUse)
		in.ops = append(in.ops, operand{VReg: g.vreg(g.IntN(len(kinds))), Constraint: regalloc.Reg, Access: regalloc.EarlyDef})
		if g.IntN(2) == 0 {
			in.ops = append(in.ops, operand{VReg: g.vreg(g.IntN(len(kinds))), Constraint: regalloc.Any, Access: regalloc.EarlyDef})
		}
		in.clobbers = uint16(g.IntN(2)) * smallSet
	default:
		for range g.IntN(4) {
			use(g.IntN(len(kinds)), constraint(), regalloc.Use)
		}
		for range g.IntN(3) {
			in.ops = append(in.ops, regalloc.DefOf(g.vreg(g.IntN(len(kinds))), regalloc.Reg))
		}
		if g.IntN(3) == 0 {
			in.ops = append(in.ops, regalloc.DefOf(g.vreg(g.IntN(len(kinds))), regalloc.Any))
		}
	}
	b.insts = append(b.insts, in)
	*scope = append(*scope, defsOf(in.ops)...)
	g.budget--
}

func (g *gen) flatten() *regalloc.Input {
	in := &regalloc.Input{VRegs: g.vregs, ClobberSets: clobberSets, ArgWords: g.argWords}
	for i, b := range g.blocks {
		b.index = i
	}
	preds := make([][]regalloc.Block, len(g.blocks))
	for i, b := range g.blocks {
		info := regalloc.BlockInfo{}
		info.Insts.Start = uint32(len(in.Insts))
		for _, gi := range b.insts {
			if gi.remat {
				v := &in.VRegs[gi.ops[0].VReg]
				v.Remat, v.Storable = regalloc.Inst(len(in.Insts)), v.Class == regalloc.Int && gi.ops[0].VReg&1 == 0
			}
			for _, op := range gi.ops {
				if op.Constraint == regalloc.FixedArg {
					op.Arg += uint16(g.argWords - gi.words) // all arguments end where the area does
				}
				in.Operands = append(in.Operands, op)
			}
			in.Insts = append(in.Insts, regalloc.InstInfo{OperandEnd: uint32(len(in.Operands)), Clobbers: gi.clobbers, Flags: gi.flags})
		}
		info.Insts.End = uint32(len(in.Insts))
		info.Params = list(in, b.params)
		info.Succs.Start = uint32(len(in.Edges))
		for _, e := range b.succs {
			in.Edges = append(in.Edges, regalloc.Edge{To: regalloc.Block(e.to.index), Args: list(in, e.args)})
			preds[e.to.index] = append(preds[e.to.index], regalloc.Block(i))
		}
		info.Succs.End = uint32(len(in.Edges))
		in.Blocks = append(in.Blocks, info)
	}
	for i, p := range preds {
		in.Blocks[i].Preds.Start = uint32(len(in.BlockLists))
		in.BlockLists = append(in.BlockLists, p...)
		in.Blocks[i].Preds.End = uint32(len(in.BlockLists))
	}
	return in
}

func list(in *regalloc.Input, vs []vreg) regalloc.Range {
	s := uint32(len(in.VRegLists))
	in.VRegLists = append(in.VRegLists, vs...)
	return regalloc.Range{Start: s, End: uint32(len(in.VRegLists))}
}
