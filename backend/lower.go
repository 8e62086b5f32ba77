package backend

import (
	"math"

	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Lower is the context of lowering: blocks in reverse of the final order, in each
// block instructions from last to first, so that uses are seen before definitions. An
// instruction without effects whose result nothing has used is not lowered:
// it was dead, or its users have folded it.
//
// The instructions that one CLIF instruction becomes are appended in execution order as a
// group; the groups are put in order at the end.
type Lower struct {
	F      *clif.Func
	Mod    *clif.Module
	Layout *instance.Layout
	Target *Target
	Order  *BlockOrder
	// Ops collects the operands of the instruction being appended, see Push.
	Ops []regalloc.Operand

	sig   abi.Sig          // of the call being lowered
	kinds [2][]abi.ArgKind // scratch
	fnSig abi.Sig          // of the function

	vc        *VCode
	noSpectre bool             // Options.NoSpectre
	control   *rewrite.Control // nil: all rules apply, and nothing is recorded
	trace     *Trace           // nil unless tracing

	matches []*Match // of the questions that are being asked, and free ones
	asking  int      // how many are being asked

	canon []clif.Value    // by Value: what aliases and zero-extensions stand for
	vregs []regalloc.VReg // by Value, NoVReg until something uses it
	uses  []uint8         // by Value: 0, 1, 2 for more
	color []uint32        // by Inst: equal if no write, call or trap lies between, except traps of loads
	loads []uint32        // by Inst: how many loads lie before it
	sunk  []bool          // by Inst: folded into its only user

	insts    []Inst
	meta     []instMeta
	groups   []group
	blockEnd []uint32      // by block: end of its groups
	hidden   regalloc.VReg // the caller's result area
	targets  []clif.Target
	sums     []sharedSum // empty between blocks
	hoister

	block  int       // being lowered, in Order
	cur    clif.Inst // the instruction being lowered
	curSrc uint32    // its source
	noSink int       // loads must stay where they are
	folded clif.Inst // the load that the instruction being lowered does, until it is appended, or NoInst
}

// instMeta is what regalloc.InstInfo will hold, and Inst's source.
type instMeta struct {
	opEnd    uint32
	src      uint32
	clobbers uint16
	flags    regalloc.InstFlags
	remat    bool
}

// group is the instructions of one CLIF instruction; it ends where the next begins.
type group struct{ inst, op uint32 }

// Run lowers f into vc. o is the block order of f.
func (l *Lower) Run(f *clif.Func, o *BlockOrder, vc *VCode) {
	l.F, l.Mod, l.Order, l.vc = f, f.Mod, o, vc
	vc.reset()
	vc.In.Stop = f.Stop
	l.reset()
	l.analyse()
	l.signature()
	vc.In.Blocks = stop.Zeroed(l.F.Stop, vc.In.Blocks, len(o.Blocks))
	l.blockEnd = stop.Zeroed(l.F.Stop, l.blockEnd, len(o.Blocks))
	for b := len(o.Blocks) - 1; b >= 0; b-- {
		f.Stop.Poll()
		l.lowerBlock(b)
		l.blockEnd[b] = uint32(len(l.groups))
	}
	l.finish()
}

func (l *Lower) reset() {
	f := l.F
	l.canon = stop.Zeroed(l.F.Stop, l.canon, len(f.Values))
	l.vregs = stop.Zeroed(l.F.Stop, l.vregs, len(f.Values))
	l.uses = stop.Zeroed(l.F.Stop, l.uses, len(f.Values))
	l.color, l.loads = stop.Zeroed(l.F.Stop, l.color, len(f.Insts)), stop.Zeroed(l.F.Stop, l.loads, len(f.Insts))
	l.sunk = stop.Zeroed(l.F.Stop, l.sunk, len(f.Insts))
	for i := range l.vregs {
		f.Stop.PollAt(i)
		l.vregs[i] = regalloc.NoVReg
		l.canon[i] = clif.Value(i)
	}
	l.insts, l.meta, l.groups, l.Ops, l.sums = l.insts[:0], l.meta[:0], l.groups[:0], l.Ops[:0], l.sums[:0]
	l.hidden = regalloc.NoVReg
	l.noSink, l.asking = 0, 0
	l.hoister.stop = f.Stop
	l.hoister.begin(l.Order, len(f.Mod.Memories))
	if l.Target.Hoist && !l.flat() {
		l.findLoops()
	}
}

// analyse counts uses and colours instructions. It looks through uextend, and through ireduce of a value that
// fits: an i32 is always zero-extended, so operand and result share a register.
func (l *Lower) analyse() {
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
				l.canon[d.Result] = l.Resolve(d.ArgA())
				continue
			}
			l.countArgs(d)
			if d.Op == clif.OpIconst || d.Op == clif.OpFconst {
				l.hoist(i, d)
				continue
			}
			l.expectBases(d, bi)
			info := d.Op.Info()
			if d.Op == clif.OpLoad {
				loads++
			} else if info.Effects&(clif.Writes|clif.Calls|clif.CanTrap) != 0 {
				col++
			}
		}
	}
	l.settle(l.Order)
}

// below32 reports whether the i64 v is surely less than 2^32.
func (l *Lower) below32(v clif.Value) bool {
	_, d := l.DefInst(v)
	if d == nil {
		return false
	}
	switch d.Op {
	case clif.OpUshr:
		k, ok := l.Iconst(d.ArgB())
		return ok && d.Type == clif.I64 && k&63 >= 32
	case clif.OpBand:
		k, ok := l.Iconst(d.ArgB())
		return ok && k <= math.MaxUint32
	case clif.OpLoad:
		a := d.Access()
		return a == clif.U8 || a == clif.U16 || a == clif.U32
	}
	return false
}

// countArgs counts the uses in d and in the targets of a terminator.
func (l *Lower) countArgs(d *clif.InstData) {
	switch d.NumArgs() {
	case 3:
		l.countUse(d.ArgC())
		fallthrough
	case 2:
		l.countUse(d.ArgB())
		fallthrough
	case 1:
		l.countUse(d.ArgA())
	}
	switch d.Op {
	case clif.OpCall, clif.OpCallRef, clif.OpReturn:
		for _, v := range l.F.VarArgs(d) {
			l.countUse(clif.Value(v))
		}
	case clif.OpJump, clif.OpBranch, clif.OpBrTable:
		l.targets = l.F.AppendTargets(l.targets[:0], d)
		for _, t := range l.targets {
			for _, v := range l.F.TargetArgs(t) {
				l.countUse(clif.Value(v))
			}
		}
	}
}

func (l *Lower) countUse(v clif.Value) {
	if v = l.Resolve(v); l.uses[v] < 2 {
		l.uses[v]++
	}
}

// lowerBlock lowers block b of the order.
func (l *Lower) lowerBlock(b int) {
	l.block = b
	lb := &l.Order.Blocks[b]
	if b == 0 {
		defer l.lowerEntry()
	}
	if lb.Orig == clif.NoBlock {
		l.curSrc = 0
		l.begin()
		l.Push(Inst{Op: OpJump}, regalloc.IsTerminator)
		if lb.Via != clif.NoTarget {
			l.edges(b)
		}
		l.lowerHoisted(b)
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
		l.cur, l.curSrc = i, f.Srcs[i]
		l.begin()
		if !l.Select(TermInst, i, d) {
			fn := l.Target.Lower[d.Op]
			if fn == nil {
				panic(Unsupported("the instruction " + d.Op.String() + " is not supported on " + l.Target.Name))
			}
			fn(l, i, d)
		}
		if terminator {
			l.lowerHoisted(b)
		}
	}
	if b > 0 {
		l.lowerBases(b, true)
		l.blockParams(b, lb.Orig)
	}
}

// Unsupported, as the value of a panic during lowering, is an error about input that
// is valid but cannot be compiled.
type Unsupported string

func (l *Lower) anyUsed(d *clif.InstData) bool {
	for n := clif.Value(0); n < clif.Value(d.NumResults); n++ {
		if l.vregs[d.Result+n] != regalloc.NoVReg {
			return true
		}
	}
	return false
}

// edges fills the block's successors and the arguments that edges pass.
func (l *Lower) edges(b int) {
	in := &l.vc.In
	start := uint32(len(in.Edges))
	for _, s := range l.Order.SuccsOf(b) {
		e := regalloc.Edge{To: regalloc.Block(s.To)}
		e.Args.Start = uint32(len(in.VRegLists))
		if s.Via != clif.NoTarget {
			for _, v := range l.F.TargetArgs(s.Via) {
				in.VRegLists = append(in.VRegLists, l.Use(clif.Value(v)))
			}
		}
		e.Args.End = uint32(len(in.VRegLists))
		in.Edges = append(in.Edges, e)
	}
	in.Blocks[b].Succs = regalloc.Range{Start: start, End: uint32(len(in.Edges))}
}

func (l *Lower) blockParams(b int, orig clif.Block) {
	in := &l.vc.In
	start := uint32(len(in.VRegLists))
	for _, p := range l.F.Params(orig) {
		in.VRegLists = append(in.VRegLists, l.Use(clif.Value(p)))
	}
	in.Blocks[b].Params = regalloc.Range{Start: start, End: uint32(len(in.VRegLists))}
}

// lowerEntry appends what comes first in the function: the arguments, then bases
// of memories.
func (l *Lower) lowerEntry() {
	f := l.F
	l.curSrc = 0
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
func (l *Lower) lowerArgs(vregs []regalloc.VReg) {
	l.begin()
	if l.hidden != regalloc.NoVReg {
		l.Ops = append(l.Ops, regalloc.FixedDef(l.hidden, regalloc.IntReg(int(l.fnSig.HiddenReg))))
	}
	for i, v := range vregs {
		if v != regalloc.NoVReg {
			l.Ops = append(l.Ops, argDef(v, l.fnSig.Args[i]))
		}
	}
	l.Push(Inst{Op: OpArgs}, 0)
}

func (l *Lower) begin() {
	l.groups = append(stop.Room(l.F.Stop, l.groups), group{uint32(len(l.insts)), uint32(len(l.Ops))})
	l.folded = clif.NoInst
}

// Push appends an instruction whose operands have been appended to l.Ops.
func (l *Lower) Push(in Inst, flags regalloc.InstFlags) {
	l.insts = append(stop.Room(l.F.Stop, l.insts), in)
	l.meta = append(stop.Room(l.F.Stop, l.meta), instMeta{opEnd: uint32(len(l.Ops)), src: l.srcOf(&in), flags: flags})
}

// srcOf returns the source of the next instruction to append. If the instruction does a folded load, its fault is the
// load's, and so is its source.
func (l *Lower) srcOf(in *Inst) uint32 {
	if l.folded == clif.NoInst {
		return l.curSrc
	}
	if _, ok := in.Fault().Memory(); !ok {
		return l.curSrc
	}
	src := l.F.Srcs[l.folded]
	l.folded = clif.NoInst
	return src
}

// PushClobber is Push of an instruction that overwrites set.
func (l *Lower) PushClobber(in Inst, flags regalloc.InstFlags, set regalloc.Clobbers) {
	l.Push(in, flags)
	sets := l.vc.In.ClobberSets
	n := 0
	for n < len(sets) && sets[n] != set {
		n++
	}
	if n == len(sets) {
		l.vc.In.ClobberSets = append(sets, set)
	}
	l.meta[len(l.meta)-1].clobbers = uint16(n)
}

// PushRemat is Push of an instruction that may be repeated anywhere: its only
// operand is a Def with the constraint Reg.
func (l *Lower) PushRemat(in Inst) {
	l.Push(in, 0)
	l.meta[len(l.meta)-1].remat = true
}

// finish puts groups in order and fills the rest of the VCode.
func (l *Lower) finish() {
	vc, in := l.vc, &l.vc.In
	l.groups = append(stop.Room(l.F.Stop, l.groups), group{inst: uint32(len(l.insts)), op: uint32(len(l.Ops))})
	vc.Headers = stop.Zeroed(l.F.Stop, vc.Headers, len(in.Blocks))
	flag := l.F.Stop
	in.Operands, in.Insts = stop.Resize(flag, in.Operands, len(l.Ops))[:0], stop.Resize(flag, in.Insts, len(l.insts))[:0]
	vc.Insts, vc.Srcs = stop.Resize(flag, vc.Insts, len(l.insts))[:0], stop.Resize(flag, vc.Srcs, len(l.insts))[:0]
	start := uint32(0)
	for b := range in.Blocks {
		lb := &l.Order.Blocks[b]
		from := uint32(0)
		if b+1 < len(in.Blocks) {
			from = l.blockEnd[b+1]
		}
		for g := l.blockEnd[b]; g > from; g-- {
			l.F.Stop.PollAt(int(g))
			l.place(g - 1)
		}
		l.F.Stop.Poll()
		bi := &in.Blocks[b]
		bi.Insts = regalloc.Range{Start: start, End: uint32(len(vc.Insts))}
		bi.LoopDepth, bi.Cold = lb.LoopDepth, lb.Cold
		vc.Headers[b] = lb.Header
		start = bi.Insts.End
	}
	l.preds()
}

// place appends the instructions of group g to the VCode.
func (l *Lower) place(g uint32) {
	vc, in := l.vc, &l.vc.In
	gr := &l.groups[g]
	op := gr.op
	for i := gr.inst; i < l.groups[g+1].inst; i++ {
		m := &l.meta[i]
		in.Operands = append(in.Operands, l.Ops[op:m.opEnd]...)
		op = m.opEnd
		if m.remat {
			in.VRegs[in.Operands[len(in.Operands)-1].VReg].Remat = regalloc.Inst(len(vc.Insts))
		}
		in.Insts = append(in.Insts, regalloc.InstInfo{
			OperandEnd: uint32(len(in.Operands)), Clobbers: m.clobbers, Flags: m.flags,
		})
		vc.Insts = append(vc.Insts, l.insts[i])
		vc.Srcs = append(vc.Srcs, m.src)
	}
}

// preds fills the lists of predecessors.
func (l *Lower) preds() {
	in := &l.vc.In
	for _, e := range in.Edges {
		in.Blocks[e.To].Preds.End++
	}
	at := uint32(0)
	for b := range in.Blocks {
		p := &in.Blocks[b].Preds
		p.Start, p.End, at = at, at, at+p.End
	}
	in.BlockLists = stop.Zeroed(l.F.Stop, in.BlockLists, int(at))
	for b := range in.Blocks {
		in.Stop.Poll()
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			p := &in.Blocks[e.To].Preds
			in.BlockLists[p.End] = regalloc.Block(b)
			p.End++
		}
	}
}

// EndsHere reports whether nothing after the instruction being lowered uses v:
// code is lowered backwards, so a later user would have asked for its register.
// (A user earlier in a loop around may still follow.)
func (l *Lower) EndsHere(v clif.Value) bool { return l.vregs[l.Resolve(v)] == regalloc.NoVReg }

// IsParam reports whether v is a block parameter.
func (l *Lower) IsParam(v clif.Value) bool {
	return l.F.Values[l.Resolve(v)].Kind == clif.ValueParam
}
