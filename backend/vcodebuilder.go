package backend

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// VCodeBuilder collects the VCode of a function, which lowering makes backwards: blocks from the last to the first, and
// in each block CLIF instructions from the last to the first. The instructions that one CLIF instruction becomes
// are appended in execution order as a group. finish puts the groups in order.
type VCodeBuilder struct {
	// Ops collects the operands of the instruction being appended, see Push.
	Ops []regalloc.Operand

	vc       *VCode
	insts    []Inst
	meta     []instMeta
	groups   []group
	blockEnd []uint32 // by block: end of its groups
	src      uint32   // of the group's instruction
	loadSrc  uint32   // if folds: of the load that the next instruction which can fault does
	folds    bool
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

// begin prepares for a function with the given numbers of blocks and CLIF instructions, whose VCode becomes vc. There is room for about what these become, so
// that large tables are not copied while they grow.
func (c *VCodeBuilder) begin(flag *stop.Flag, vc *VCode, blocks, insts int) {
	c.vc = vc
	vc.reset()
	vc.In.Stop = flag
	vc.In.Blocks = stop.Zeroed(flag, vc.In.Blocks, blocks)
	c.blockEnd = stop.Zeroed(flag, c.blockEnd, blocks)
	c.insts, c.meta, c.groups = stop.Grow(flag, c.insts[:0], insts), stop.Grow(flag, c.meta[:0], insts), stop.Grow(flag, c.groups[:0], insts)
	c.Ops, vc.In.VRegs = stop.Grow(flag, c.Ops[:0], 2*insts), stop.Grow(flag, vc.In.VRegs, insts)
}

// PoolConst returns the number of a constant in the function's pool. Equal constants
// become one in the machine buffer.
func (c *VCodeBuilder) PoolConst(lo, hi uint64, bytes uint8) uint32 {
	c.vc.Consts = append(c.vc.Consts, PoolConst{lo, hi, bytes})
	return uint32(len(c.vc.Consts) - 1)
}

// group starts the group of an instruction with source src.
func (c *VCodeBuilder) group(src uint32) {
	c.groups = append(stop.Room(c.vc.In.Stop, c.groups), group{uint32(len(c.insts)), uint32(len(c.Ops))})
	c.src, c.folds = src, false
}

// foldLoad notes that an instruction of this group will do a load with source src.
func (c *VCodeBuilder) foldLoad(src uint32) { c.loadSrc, c.folds = src, true }

// endBlock notes that block b has no more groups.
func (c *VCodeBuilder) endBlock(b int) { c.blockEnd[b] = uint32(len(c.groups)) }

// Push appends an instruction whose operands have been appended to c.Ops.
func (c *VCodeBuilder) Push(in Inst, flags regalloc.InstFlags) {
	c.insts = append(stop.Room(c.vc.In.Stop, c.insts), in)
	c.meta = append(stop.Room(c.vc.In.Stop, c.meta), instMeta{opEnd: uint32(len(c.Ops)), src: c.srcOf(&in), flags: flags})
}

// srcOf returns the source of the next instruction to append. If a load is folded into the instruction, a fault is the
// load's, and so the source is the load's too.
func (c *VCodeBuilder) srcOf(in *Inst) uint32 {
	if !c.folds {
		return c.src
	}
	if _, ok := in.Fault().Memory(); !ok {
		return c.src
	}
	c.folds = false
	return c.loadSrc
}

// PushClobber is Push of an instruction that overwrites set.
func (c *VCodeBuilder) PushClobber(in Inst, flags regalloc.InstFlags, set regalloc.Clobbers) {
	c.Push(in, flags)
	sets := c.vc.In.ClobberSets
	n := 0
	for n < len(sets) && sets[n] != set {
		n++
	}
	if n == len(sets) {
		c.vc.In.ClobberSets = append(sets, set)
	}
	c.meta[len(c.meta)-1].clobbers = uint16(n)
}

// PushRemat is Push of an instruction that may be repeated anywhere: its only
// operand is a Def with the constraint Reg.
func (c *VCodeBuilder) PushRemat(in Inst) {
	c.Push(in, 0)
	c.meta[len(c.meta)-1].remat = true
}

// EndWith makes the last instruction appended, which sets flags, the terminator.
func (c *VCodeBuilder) EndWith(tail Tail, cond uint8) {
	n := len(c.insts) - 1
	c.insts[n].Tail, c.insts[n].Cond = tail, cond
	c.meta[n].flags |= regalloc.IsTerminator
}

// finish puts groups in order and fills the rest of the VCode, whose blocks are those of o. The machine's rows say which constants can be stored.
func (c *VCodeBuilder) finish(o *BlockOrder, rows *CommonRows) {
	vc, in := c.vc, &c.vc.In
	flag := in.Stop
	c.groups = append(stop.Room(flag, c.groups), group{inst: uint32(len(c.insts)), op: uint32(len(c.Ops))})
	vc.Headers = stop.Zeroed(flag, vc.Headers, len(in.Blocks))
	vc.Tops = append(vc.Tops, o.tops...)
	in.Operands, in.Insts = stop.Resize(flag, in.Operands, len(c.Ops)), stop.Resize(flag, in.Insts, len(c.insts))
	vc.Insts, vc.Srcs = stop.Resize(flag, vc.Insts, len(c.insts)), stop.Resize(flag, vc.Srcs, len(c.insts))
	at, start := group{}, uint32(0)
	for b := range in.Blocks {
		lb := &o.Blocks[b]
		from := uint32(0)
		if b+1 < len(in.Blocks) {
			from = c.blockEnd[b+1]
		}
		at = c.place(from, c.blockEnd[b], at, rows)
		flag.Poll()
		bi := &in.Blocks[b]
		bi.Insts = regalloc.Range{Start: start, End: at.inst}
		bi.LoopDepth, bi.Cold = lb.LoopDepth, lb.Cold
		vc.Headers[b] = lb.Header
		start = bi.Insts.End
	}
	c.preds()
}

// place copies the instructions of the groups, the last of them first, to the VCode, from the given place on, and returns where they end.
func (c *VCodeBuilder) place(from, to uint32, at group, rows *CommonRows) group {
	vc, in := c.vc, &c.vc.In
	ops, operands := c.Ops, in.Operands
	for g := to; g > from; g-- {
		in.Stop.PollAt(int(g))
		op, end := c.groups[g-1].op, c.groups[g].inst
		for i := c.groups[g-1].inst; i < end; i++ {
			m := &c.meta[i]
			for ; op < m.opEnd; op++ {
				operands[at.op] = ops[op]
				at.op++
			}
			if m.remat {
				v := &in.VRegs[operands[at.op-1].VReg]
				v.Remat = regalloc.Inst(at.inst)
				_, v.Storable = rows.StoreOf(&c.insts[i], v.Bytes)
			}
			in.Insts[at.inst] = regalloc.InstInfo{OperandEnd: at.op, Clobbers: m.clobbers, Flags: m.flags}
			vc.Insts[at.inst], vc.Srcs[at.inst] = c.insts[i], m.src
			at.inst++
		}
	}
	return at
}

// preds fills the lists of predecessors.
func (c *VCodeBuilder) preds() {
	in := &c.vc.In
	for _, e := range in.Edges {
		in.Blocks[e.To].Preds.End++
	}
	at := uint32(0)
	for b := range in.Blocks {
		p := &in.Blocks[b].Preds
		p.Start, p.End, at = at, at, at+p.End
	}
	in.BlockLists = stop.Zeroed(in.Stop, in.BlockLists, int(at))
	for b := range in.Blocks {
		in.Stop.Poll()
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			p := &in.Blocks[e.To].Preds
			in.BlockLists[p.End] = regalloc.Block(b)
			p.End++
		}
	}
}
