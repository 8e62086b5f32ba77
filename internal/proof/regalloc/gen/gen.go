// Package gen makes random inputs for register allocators: valid ones (I1 to I6
// of regalloc.Input) of every shape that the contract allows, whether or not a
// back end would make them.
//
// Place in the pipeline: tests and fuzzing only.
//
// Input: a source of choices, a Config, a regalloc.MachineEnv.
// Output: a regalloc.Input.
package gen

import "github.com/waot-project/waot/regalloc"

// Choices are what decisions are made with: a *rand.Rand, or an *entropy.Source.
type Choices interface {
	IntN(n int) int
	Float64() float64
	Perm(n int) []int
	Shuffle(n int, swap func(i, j int))
}

// Config is the distribution. Rates are in 0 to 1.
type Config struct {
	// Blocks and Insts are the greatest number of blocks before critical edges
	// are split, and of ordinary instructions in one block.
	Blocks, Insts int
	// LoopRate is the chance that a block has an edge backward, IrreducibleRate
	// that it goes anywhere.
	LoopRate, IrreducibleRate float64
	// NestRate is the chance of a nest of loops as deep as the blocks allow.
	NestRate float64
	// ShuffleRate is the chance of a layout in random order.
	ShuffleRate float64
	// CallRate is the chance that an instruction is a call, SafepointRate that a
	// call is a safepoint.
	CallRate, SafepointRate float64
	// RefRate, FloatRate: the chance of a value to be one.
	RefRate, FloatRate float64
	// ParamRate is the chance that a block has parameters, Params the greatest
	// number (rarely ten times that). ManyParamsRate is the chance of a function
	// with blocks that have hundreds.
	ParamRate, ManyParamsRate float64
	Params                    int
	// TerminatorDefRate is the chance that a terminator with several successors
	// defines values, half of the time as a call.
	TerminatorDefRate float64
	// ThrowRate is the chance that a terminator with two successors is a call that may throw, TailCallRate that one without any is a tail call.
	ThrowRate, TailCallRate float64
	// FarRate is the chance that a use is of any available value rather than of
	// a recent one: it determines register pressure.
	FarRate float64
	// Quick is for functions that may save no callee-saved register on some ways: only calls and values that live across calls
	// make them use such registers, and most values that calls follow are arguments, which are there when such a function begins to save.
	Quick bool
}

// Default returns a distribution with something of everything.
func Default() Config {
	return Config{
		Blocks: 36, Insts: 22, LoopRate: 0.12, IrreducibleRate: 0.02, ShuffleRate: 0.2,
		CallRate: 0.06, SafepointRate: 0.5, RefRate: 0.15, FloatRate: 0.3,
		NestRate: 0.02, ParamRate: 0.35, ManyParamsRate: 0.005, Params: 5, TerminatorDefRate: 0.1, ThrowRate: 0.1, TailCallRate: 0.3, FarRate: 0.3,
	}
}

// Varied returns a random one of several distributions, each of which has more of
// something.
func Varied(r Choices) Config {
	c := Default()
	switch r.IntN(9) {
	case 0:
		c.CallRate, c.FarRate = 0.3, 0.6
	case 1:
		c.Blocks, c.Insts, c.FarRate = 80, 6, 0.7
	case 2:
		c.IrreducibleRate, c.LoopRate, c.ShuffleRate = 0.2, 0.3, 0.5
	case 3:
		c.TerminatorDefRate, c.ParamRate = 0.6, 0.8
	case 4:
		c.ParamRate, c.Params, c.FarRate = 1, 20, 0.5
	case 5:
		c.Blocks, c.Insts = 6, 120
	case 6:
		c.NestRate, c.IrreducibleRate = 0.5, 0.05
	case 7:
		c.Quick, c.Blocks, c.Insts, c.CallRate, c.LoopRate, c.TerminatorDefRate = true, 24, 8, 0.02, 0.03, 0
		c.ThrowRate = 0.05
	case 8:
		c.ThrowRate, c.TailCallRate, c.LoopRate, c.ParamRate = 0.8, 0.9, 0.2, 0.6
	}
	return c
}

// Small returns c for functions of about a tenth of the size.
func (c Config) Small() Config {
	c.Blocks, c.Insts = 2+c.Blocks/3, 2+c.Insts/3
	return c
}

// inst is an instruction under construction.
type inst struct {
	ops      []regalloc.Operand
	clobbers uint16
	flags    regalloc.InstFlags
	remat    regalloc.VReg
	words    int // of arguments that its operands name
}

// edge is a way to block to.
type edge struct {
	to   int
	args []regalloc.VReg
}

type block struct {
	params []regalloc.VReg
	// results are what a call that may throw defines, of which this is the normal successor.
	results []regalloc.VReg
	insts   []inst
	succs   []edge
	preds   []int
	kids    []int // of the dominator tree
	idom    int
	depth   uint16
	cold    bool
}

// gen is the state of making one function.
type gen struct {
	Choices
	cfg    Config
	env    *regalloc.MachineEnv
	vregs  []regalloc.VRegInfo
	sets   []regalloc.Clobbers
	blocks []block
	rpo    []int
	// avail are the values that may be used here, by kind, oldest first.
	avail [numKinds][]regalloc.VReg
	at    *block
	// args are how many of avail are arguments.
	args [numKinds]int
	// stack are the arguments that come in words, argWords how many words those have that come or go.
	stack    []regalloc.VReg
	argWords int
}

// The kinds of values.
const (
	intKind = iota
	floatKind
	wideKind
	refKind
	halfKind
	numKinds
)

var kinds = [numKinds]regalloc.VRegInfo{
	{Class: regalloc.Int, Bytes: 8, Remat: regalloc.NoInst},
	{Class: regalloc.Float, Bytes: 8, Remat: regalloc.NoInst},
	{Class: regalloc.Float, Bytes: 16, Remat: regalloc.NoInst},
	{Class: regalloc.Int, Bytes: 8, Ref: true, Remat: regalloc.NoInst},
	{Class: regalloc.Int, Bytes: 4, Remat: regalloc.NoInst},
}

// Func makes one function. env must have at least six allocatable registers of
// each class, of which a few are not callee-saved.
func Func(r Choices, cfg Config, env *regalloc.MachineEnv) *regalloc.Input {
	g := &gen{Choices: r, cfg: cfg, env: env}
	g.makeSets()
	g.makeGraph()
	g.splitCritical()
	g.dominators()
	g.loopDepths()
	g.makeParams()
	g.fill()
	return g.layout()
}

func (g *gen) chance(p float64) bool { return g.Float64() < p }

// newVReg makes a virtual register of the kind. One of intKind may have 4 bytes.
func (g *gen) newVReg(kind int) regalloc.VReg {
	return g.exactVReg(g.halve(kind))
}

// exactVReg makes one with as many bytes as the kind has.
func (g *gen) exactVReg(kind int) regalloc.VReg {
	g.vregs = append(g.vregs, kinds[kind])
	return regalloc.VReg(len(g.vregs) - 1)
}

// halve returns kind, or halfKind if that does in its place.
func (g *gen) halve(kind int) int {
	if kind == intKind && g.chance(0.4) {
		return halfKind
	}
	return kind
}

func (g *gen) kind() int {
	switch x := g.Float64(); {
	case x < g.cfg.RefRate:
		return refKind
	case x < g.cfg.RefRate+g.cfg.FloatRate:
		if g.chance(0.3) {
			return wideKind
		}
		return floatKind
	}
	return intKind
}

// The clobber sets: none, those of a call and of one that keeps nothing, small ones, and
// one of which a narrow value would not notice anything.
const (
	noSet = iota
	callSet
	allSet
	intSet
	mixedSet
	highSet
	numSets
)

// makeSets makes the clobber sets. Calls keep only the low halves of callee-saved float
// registers.
func (g *gen) makeSets() {
	var order regalloc.PRegSet
	for _, list := range g.env.Order {
		for _, p := range list {
			order = order.Add(p)
		}
	}
	ints, floats := g.env.Order[0], g.env.Order[1]
	call := regalloc.Clobbers{Low: order &^ g.env.CalleeSaved, High: order.OfClass(regalloc.Float)}
	if p := g.env.Scratch[regalloc.Float]; p != regalloc.NoPReg {
		call.Low, call.High = call.Low.Add(p), call.High.Add(p)
	}
	g.sets = []regalloc.Clobbers{
		noSet:    {},
		callSet:  call,
		allSet:   regalloc.WholeRegs(order),
		intSet:   regalloc.WholeRegs(regalloc.SetOf(ints[2])),
		mixedSet: regalloc.WholeRegs(regalloc.SetOf(ints[0], floats[1], floats[2])),
		highSet:  {High: regalloc.SetOf(floats[0], floats[2], floats[len(floats)-1])},
	}
	if g.cfg.Quick {
		g.sets[allSet] = call
	}
}

// layout puts the blocks in order and makes an Input.
func (g *gen) layout() *regalloc.Input {
	order := g.blockOrder()
	number := make([]int, len(g.blocks))
	for n, b := range order {
		number[b] = n
	}
	in := &regalloc.Input{VRegs: g.vregs, ClobberSets: g.sets, ArgWords: g.argWords}
	for _, b := range order {
		src := &g.blocks[b]
		info := regalloc.BlockInfo{LoopDepth: src.depth, Cold: src.cold}
		info.Insts.Start = uint32(len(in.Insts))
		for _, x := range src.insts {
			if x.remat != regalloc.NoVReg {
				in.VRegs[x.remat].Remat = regalloc.Inst(len(in.Insts))
			}
			for _, o := range x.ops {
				if o.Constraint == regalloc.FixedArg {
					o.Arg += uint16(g.argWords - x.words) // all arguments end where the area does
				}
				in.Operands = append(in.Operands, o)
			}
			in.Insts = append(in.Insts, regalloc.InstInfo{
				OperandEnd: uint32(len(in.Operands)), Clobbers: x.clobbers, Flags: x.flags,
			})
		}
		info.Insts.End = uint32(len(in.Insts))
		info.Params = list(&in.VRegLists, src.params)
		info.Preds.Start = uint32(len(in.BlockLists))
		for _, p := range src.preds {
			in.BlockLists = append(in.BlockLists, regalloc.Block(number[p]))
		}
		info.Preds.End = uint32(len(in.BlockLists))
		info.Succs.Start = uint32(len(in.Edges))
		for _, e := range src.succs {
			in.Edges = append(in.Edges, regalloc.Edge{
				To: regalloc.Block(number[e.to]), Args: list(&in.VRegLists, e.args),
			})
		}
		info.Succs.End = uint32(len(in.Edges))
		in.Blocks = append(in.Blocks, info)
	}
	return in
}

func list(to *[]regalloc.VReg, vs []regalloc.VReg) regalloc.Range {
	start := uint32(len(*to))
	*to = append(*to, vs...)
	return regalloc.Range{Start: start, End: uint32(len(*to))}
}

// blockOrder is reverse post-order with cold blocks last, or anything.
func (g *gen) blockOrder() []int {
	var order, cold []int
	for _, b := range g.rpo {
		if g.blocks[b].cold && b != 0 {
			cold = append(cold, b)
		} else {
			order = append(order, b)
		}
	}
	order = append(order, cold...)
	if g.chance(g.cfg.ShuffleRate) {
		rest := order[1:]
		g.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	}
	return order
}
