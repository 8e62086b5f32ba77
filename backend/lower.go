package backend

import (
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Lowering goes through blocks in reverse of the final order, in each block through instructions from last to first, so that uses are seen
// before definitions. An instruction without effects whose result nothing has used is not lowered: it was dead, or its users have folded it.
//
// Its context is one struct of three layers, each with the one in front of it inside: Query, Place and Emit. What is called with one of them can do no
// more than that layer: guards of rules ask, lowering functions emit. The layers are parts of one memory, so that going from one to another costs nothing.

// Query is what may be asked at the instruction being lowered. No method of it, nor of DefUse, that others can call changes anything.
type Query struct {
	DefUse

	Mod    *clif.Module
	Layout *instance.Layout
	Target *Target
	Order  *BlockOrder

	code   *VCode        // being made
	fnSig  abi.Sig       // of the function
	hidden regalloc.VReg // the caller's result area

	noSpectre bool // Options.NoSpectre

	vregs    []regalloc.VReg // by Value, NoVReg until something uses it
	color    []uint32        // by Inst: equal if no write, call or trap lies between, except traps of loads
	loads    []uint32        // by Inst: how many loads lie before it
	sunk     []bool          // by Inst: folded into its only user, or left out
	inBounds []bool          // by Inst, of accesses to memories without explicit checks: surely in bounds where it stands
	sums     []sharedSum     // empty between blocks
	joins    []joined        // the same

	block  int       // being lowered, in Order
	cur    clif.Inst // the instruction being lowered
	noSink int       // loads must stay where they are
}

// Place gives values their registers, and decides where what several instructions share is defined: constants and bases, in front of loops and in the
// blocks that dominate their uses (hoister), bases and sizes of memories that move, sums of addresses. It appends no code.
type Place struct {
	Query
	hoister

	kinds [2][]abi.ArgKind // scratch

	// constsStay: each block makes all constants that it uses, so that none lives in another.
	constsStay bool
	consts     []clif.Inst // that the block being lowered uses and makes
	depths     []uint16    // by Inst, of constants: how many loops are around

	tables  []sharedTable      // empty between blocks
	resized [][2]regalloc.VReg // the same
	checked checkedMemories
	proofs  boundsProofs
}

// Emit appends VCode: instructions with their operands, by rules or by lowering functions.
type Emit struct {
	Place
	VCodeBuilder

	sig   abi.Sig            // of the call being lowered
	flags regalloc.InstFlags // of calls of functions that are lowered
	words []regalloc.Operand // of the tail call being lowered: arguments on the stack

	control *rewrite.Control // nil: all rules apply, and nothing is recorded
	trace   *Trace           // nil unless tracing

	matches []*Match // of the questions that are being asked, and free ones
	asking  int      // how many are being asked
}

// lowering goes through a function's blocks and instructions.
type lowering struct {
	Emit
	tops tops
	made []madeConst // if tracing: all constants that blocks make, of all blocks
}

// Run lowers f into vc. o is the block order of f.
func (l *lowering) Run(f *clif.Func, o *BlockOrder, vc *VCode) {
	l.Mod, l.Order, l.code = f.Mod, o, vc
	l.DefUse.begin(f)
	l.VCodeBuilder.begin(f.Stop, vc, len(o.Blocks), len(f.Insts))
	l.hoister.begin(f.Stop, o, len(f.Mod.Memories))
	l.tops.begin(f.Stop, len(o.Blocks))
	l.checked.begin(f, o)
	l.reset()
	l.analyse()
	l.signature()
	for b := len(o.Blocks) - 1; b >= 0; b-- {
		f.Stop.Poll()
		l.tops.vregs[b] = uint32(len(vc.In.VRegs))
		l.lowerBlock(b)
		l.endBlock(b)
	}
	l.finish(o, &l.Target.Common)
	l.tops.split(l.vc, o)
}

func (l *lowering) reset() {
	f := l.F
	l.vregs = stop.Zeroed(f.Stop, l.vregs, len(f.Values))
	for i := range l.vregs {
		f.Stop.PollAt(i)
		l.vregs[i] = regalloc.NoVReg
	}
	l.color, l.loads = stop.Zeroed(f.Stop, l.color, len(f.Insts)), stop.Zeroed(f.Stop, l.loads, len(f.Insts))
	l.sunk = stop.Zeroed(f.Stop, l.sunk, len(f.Insts))
	l.inBounds = stop.Zeroed(f.Stop, l.inBounds, len(f.Insts))
	l.proofs.begin(f)
	l.depths = stop.Resize(f.Stop, l.depths, len(f.Insts))
	l.sums, l.joins, l.tables, l.consts, l.made = l.sums[:0], l.joins[:0], l.tables[:0], l.consts[:0], l.made[:0]
	l.hidden = regalloc.NoVReg
	l.noSink, l.asking = 0, 0
}

// analyse counts uses and colours instructions. It looks through uextend, and through ireduce of a value that
// fits: an i32 is always zero-extended, so operand and result share a register.
func (l *Place) analyse() {
	f := l.F
	col, loads := uint32(0), uint32(0)
	for bi := range l.Order.Blocks {
		b := l.Order.Blocks[bi].Orig
		if b == clif.NoBlock {
			continue
		}
		l.enter(bi)
		col++
		bd := &f.Blocks[b]
		for i := bd.Start; i < bd.End; i++ {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i]
			if d.Op == clif.OpNop {
				continue
			}
			l.color[i], l.loads[i] = col, loads
			if d.Op == clif.OpUextend || d.Op == clif.OpIreduce && l.below32(d.ArgA()) {
				v := l.Resolve(d.ArgA())
				l.canon[d.Result] = v
				l.halves[v] = d.Op == clif.OpIreduce || l.halves[v]
				l.wholes[v] = d.Op == clif.OpUextend && l.DefOf(v, clif.OpIreduce, clif.I32) != nil
				continue
			}
			l.countArgs(d)
			if d.Op == clif.OpIconst || d.Op == clif.OpFconst || d.Op == clif.OpVconst {
				l.depths[i] = l.Order.Blocks[bi].LoopDepth
				l.sunk[i] = !l.constsStay && l.depths[i] > 0 && l.Target.hoists(d) && l.hoist(&l.DefUse, l.Order, bi, i, d)
				continue
			}
			l.expectBases(d, bi)
			info := d.Op.Info()
			if (d.Op == clif.OpLoad || d.Op == clif.OpStore) && !l.isChecked(d.Aux) {
				l.noteBounds(i, d, uint32(bi))
			}
			if d.Op == clif.OpLoad {
				loads++
			} else if info.Effects.Has(effect.Writes | effect.Calls | effect.Traps) {
				col++
			}
		}
	}
	l.dropLoads()
	l.analyseChecked()
	l.settle(l.Order)
}

// lowerBlock lowers block b of the order.
func (l *lowering) lowerBlock(b int) {
	l.block = b
	l.enterVersions(b)
	lb := &l.Order.Blocks[b]
	if b == 0 {
		defer l.lowerEntry()
	}
	if lb.Orig == clif.NoBlock {
		l.group(0)
		l.Push(Inst{Op: OpJump}, regalloc.IsTerminator)
		if lb.Via != clif.NoTarget || lb.TopOf != clif.NoBlock {
			l.edges(b)
		}
		l.lowerResized()
		l.lowerHoisted(b)
		l.lowerConsts()
		if lb.Results != clif.NoInst {
			l.lowerResults(lb.Results)
		}
		if lb.TopOf != clif.NoBlock {
			l.blockParams(b, lb.TopOf)
		}
		return
	}
	f := l.F
	bd := &f.Blocks[lb.Orig]
	first := true
	for i := bd.End; i > bd.Start; {
		i--
		f.Stop.PollAt(int(i))
		d := &f.Insts[i]
		if d.Op == clif.OpNop || l.sunk[i] {
			continue
		}
		terminator := first
		first = false
		if terminator { // its edges' arguments are used at the end
			l.edges(b)
		} else if d.Op.IsPure() && !l.anyUsed(d) {
			continue
		}
		l.cur = i
		l.passVersion(b, i)
		l.group(f.Srcs[i])
		if d.Op.Has(effect.Calls) {
			l.loadTables()
		}
		if !l.Select(TermInst, i, d) {
			fn := l.Target.Lower[d.Op]
			if fn == nil {
				panic(Unsupported("the instruction " + d.Op.String() + " is not supported on " + l.Target.Name))
			}
			fn(&l.Emit, i, d)
		}
		if terminator {
			l.lowerResized()
			l.lowerHoisted(b)
		}
	}
	l.leaveVersions(b)
	l.lowerConsts()
	if b > 0 {
		l.lowerBases(b, true)
		if l.Order.Blocks[b-1].TopOf != lb.Orig {
			l.blockParams(b, lb.Orig)
		}
	}
}

// Unsupported, as the value of a panic during lowering, is an error about input that
// is valid but cannot be compiled.
type Unsupported string

func (l *Query) anyUsed(d *clif.InstData) bool {
	for n := clif.Value(0); n < clif.Value(d.NumResults); n++ {
		if l.vregs[d.Result+n] != regalloc.NoVReg {
			return true
		}
	}
	return false
}

// edges fills the block's successors and the arguments that edges pass.
func (l *lowering) edges(b int) {
	in := &l.vc.In
	start := uint32(len(in.Edges))
	for _, s := range l.Order.SuccsOf(b) {
		e := regalloc.Edge{To: regalloc.Block(s.To)}
		e.Args.Start = uint32(len(in.VRegLists))
		if s.Via != clif.NoTarget {
			for _, v := range l.F.TargetArgs(s.Via) {
				in.VRegLists = stop.Append(l.F.Stop, in.VRegLists, l.edgeArg(clif.Value(v)))
			}
		}
		e.Args.End = uint32(len(in.VRegLists))
		in.Edges = append(stop.Room(l.F.Stop, in.Edges), e)
	}
	in.Blocks[b].Succs = regalloc.Range{Start: start, End: uint32(len(in.Edges))}
}

// edgeArg returns the register of v as an argument: an integer of as many bytes as its type has, since that is what parameters have. Where v has another one, it is
// copied in front of the terminator.
func (l *Place) edgeArg(v clif.Value) regalloc.VReg {
	r := l.Use(v)
	t := l.F.TypeOf(v)
	if bytes := l.BytesOfVReg(r); t == clif.I64 && bytes == 8 || t == clif.I32 && bytes == 4 || t != clif.I64 && t != clif.I32 {
		return r
	}
	resized := l.NewVReg(t)
	l.resized = append(l.resized, [2]regalloc.VReg{r, resized})
	return resized
}

// lowerResized appends the copies that edgeArg asked for.
func (l *lowering) lowerResized() {
	for _, c := range l.resized {
		l.group(0)
		l.Emit.Emit(Inst{Op: l.Target.Common.Copy, Size: 4}, c[0], c[1])
	}
	l.resized = l.resized[:0]
}

func (l *lowering) blockParams(b int, orig clif.Block) {
	in := &l.vc.In
	start := uint32(len(in.VRegLists))
	for _, p := range l.F.Params(orig) {
		in.VRegLists = stop.Append(l.F.Stop, in.VRegLists, l.Use(clif.Value(p)))
	}
	in.Blocks[b].Params = regalloc.Range{Start: start, End: uint32(len(in.VRegLists))}
}

// lowerEntry appends what comes first in the function: the arguments, then bases
// of memories.
func (l *lowering) lowerEntry() {
	f := l.F
	if l.Order.Blocks[0].Orig == clif.NoBlock { // synthetic: it passes the arguments on
		in := &l.vc.In
		r := regalloc.Range{Start: uint32(len(in.VRegLists))}
		for _, p := range f.Params(f.Entry()) {
			in.VRegLists = append(in.VRegLists, l.NewVReg(f.TypeOf(clif.Value(p))))
		}
		r.End = uint32(len(in.VRegLists))
		l.lowerBases(0, true)
		l.lowerArgs(in.VRegLists[r.Start:r.End:r.End])
		s := uint32(len(in.Edges))
		in.Edges = append(in.Edges, regalloc.Edge{To: 1, Args: r})
		in.Blocks[0].Succs = regalloc.Range{Start: s, End: s + 1}
		return
	}
	l.lowerBases(0, true)
	at := len(l.vc.In.VRegLists)
	for _, p := range f.Params(f.Entry()) {
		l.vc.In.VRegLists = append(l.vc.In.VRegLists, l.vregs[p])
	}
	l.lowerArgs(l.vc.In.VRegLists[at:])
	l.vc.In.VRegLists = l.vc.In.VRegLists[:at]
}

// lowerArgs appends the OpArgs; vregs are the parameters, NoVReg if unused.
func (l *lowering) lowerArgs(vregs []regalloc.VReg) {
	l.group(0)
	if l.hidden != regalloc.NoVReg {
		l.Ops = append(l.Ops, regalloc.FixedDef(l.hidden, regalloc.IntReg(int(l.fnSig.HiddenReg))))
	}
	for i, v := range vregs {
		if v != regalloc.NoVReg {
			l.Ops = append(l.Ops, l.argDef(v, l.fnSig.Args[i]))
		}
	}
	l.Push(Inst{Op: OpArgs}, 0)
}

// EndsHere reports whether nothing after the instruction being lowered uses v:
// code is lowered backwards, so a later user would have asked for its register.
// (A user earlier in the code may still follow, in the next iteration of a surrounding loop.)
func (l *Query) EndsHere(v clif.Value) bool { return l.vregs[l.Resolve(v)] == regalloc.NoVReg }
