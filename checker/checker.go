package checker

import (
	"math/bits"
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Options choose what Check does.
type Options struct {
	// Fixpoint computes the entry states of blocks instead of verifying the
	// Output's claims, which are then not looked at. It costs several visits of
	// each block of a loop; it is for fuzzing and for debugging an allocator.
	Fixpoint bool
}

// Checker is a context for Check that keeps its memory between calls. It is for
// one goroutine at a time.
type Checker struct {
	in  *regalloc.Input
	env *regalloc.MachineEnv
	out *regalloc.Output

	// Sets of registers: allocatable ones of each class, and of both, those that
	// edits may write, scratch ones, and those that edits may swap.
	regs                   [regalloc.NumClasses]regalloc.PRegSet
	allocatable, writeable regalloc.PRegSet
	scratch, swaps         regalloc.PRegSet

	slotWords, argWords uint32
	areas               [2][4]area // by words of the value less one, and Allocation.Kind

	v       []value
	locs    []fact // registers, slot words, argument words
	touched []touch
	tracked regalloc.PRegSet    // registers about which this visit may have a fact
	maps    []regalloc.StackMap // the block's stack maps from here on
	written regalloc.PRegSet

	// sets[n] is the members of set n, a range of elems. Members are never
	// changed once the block's code runs.
	sets   []regalloc.Range
	elems  []uint32
	single [1]uint32

	// clock is the present time; start is when the visit of the block began, or of
	// the root of its tree.
	clock, start uint32
	// oldest is the time before which facts are void: for plain values, start;
	// for references, when those outside stack maps were last lost.
	oldest [2]uint32
	block  regalloc.Block
	// outgoing is the point at which edits may write argument words in the present block: in front of its tail call; noPoint if it has none.
	outgoing regalloc.ProgPoint

	// branches are the blocks whose successors are not all visited yet; log
	// restores the state at their ends.
	branches []branch
	log      []undo

	copies []regalloc.VReg
	blocks []blockInfo
	stack  []regalloc.Block
	claims []entry   // of all blocks, parallel to out.Claims
	own    [][]entry // entry states of blocks in fixpoint mode
}

// blockInfo is where a block's edits and stack maps begin, and its state in the
// passes over blocks.
type blockInfo struct {
	edit, stackMap uint32
	// inEdges is the number of edges to the block; inEdge is the last of them.
	inEdges, inEdge uint32
	seen, dirty     bool
	// continues: see Checker.continues.
	continues bool
	// fromSaved and fromUnsaved: some edge comes from a block where callee-saved registers are saved, or are not (Output.Unsaved).
	fromSaved, fromUnsaved bool
}

// branch is the end of a block: its state, and the edges yet to be followed to blocks that continue
// with that state.
type branch struct {
	edges      regalloc.Range
	log        uint32 // undone from here on
	sets       uint32
	elems      uint32
	references uint32 // oldest[1]
	tracked    regalloc.PRegSet
	regs       [numRegs]fact
}

// undo is a fact about a word of memory that was overwritten.
type undo struct {
	loc uint32
	was fact
}

// New returns an empty context.
func New() *Checker { return new(Checker) }

// Check reports whether out is a correct allocation of in: nil, or an *Error,
// the first one in the order of the checks.
func (c *Checker) Check(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output, opt Options) error {
	if in == nil || env == nil || out == nil {
		return fault(RuleShape, "nothing to check")
	}
	c.in, c.env, c.out = in, env, out
	err := c.run(opt)
	c.in, c.env, c.out, c.maps = nil, nil, nil, nil
	if err != nil {
		return err
	}
	return nil
}

func (c *Checker) run(opt Options) *Error {
	if err := c.prepare(); err != nil {
		return err
	}
	var err *Error
	if opt.Fixpoint {
		err = c.solve()
	} else {
		err = c.verify()
	}
	if err != nil {
		return err
	}
	if m := c.written &^ c.out.Used; m != 0 {
		e := fault(RuleUsed, "written but not in Used")
		e.Loc = regalloc.InReg(m.First())
		return e
	}
	return nil
}

// verify visits each block once. Blocks with claims, or with several incoming edges, start
// with what is claimed; each is followed by the blocks that continue with its state.
func (c *Checker) verify() *Error {
	if err := c.resolveClaims(); err != nil {
		return err
	}
	for b := range c.in.Blocks {
		if c.continues(regalloc.Block(b)) {
			continue
		}
		if err := c.begin(regalloc.Block(b), c.claimsOf(regalloc.Block(b))); err != nil {
			return err
		}
		if err := c.verifyFrom(regalloc.Block(b)); err != nil {
			return err
		}
	}
	return nil
}

// continues reports whether b continues with the state of its predecessor: b has one
// incoming edge, so that parameters have the names of their arguments, and nothing is
// claimed of b.
func (c *Checker) continues(b regalloc.Block) bool { return c.blocks[b].continues }

// verifyFrom visits the tree of b: b, which starts with the present state, and the
// blocks that continue from its end. The state at the end of a block is kept until the last of
// its successors is visited.
func (c *Checker) verifyFrom(b regalloc.Block) *Error {
	in := c.in
	c.branches, c.log = c.branches[:0], c.log[:0]
	for {
		c.in.Stop.Poll()
		c.block = b
		if err := c.visitSaved(b); err != nil {
			return err
		}
		block := &in.Blocks[b]
		succs := block.Succs
		var more int
		var err *Error
		if in.Insts[block.Insts.End-1].Flags&regalloc.MayThrow == 0 {
			b, more, err = c.leave(succs)
		} else {
			b, more, err = c.leaveThrowing(succs)
		}
		if err != nil {
			return err
		}
		if more == 1 {
			continue
		}
		if more > 1 {
			c.fork(succs)
		} else if len(c.branches) > 0 {
			c.restore()
		} else {
			return nil
		}
		b = c.nextBranch()
	}
}

// leave checks the given edges out of the present block. It returns how many of them lead to blocks that continue with the present state, and the last of these.
func (c *Checker) leave(edges regalloc.Range) (next regalloc.Block, more int, err *Error) {
	in := c.in
	for k := edges.Start; k < edges.End; k++ {
		e := &in.Edges[k]
		if !fits(e.Args, len(in.VRegLists)) || e.Args.Len()|in.Blocks[e.To].Params.Len() != 0 {
			if err := c.checkArgs(e); err != nil {
				return 0, 0, err
			}
		}
		if c.continues(e.To) {
			next = e.To
			more++
		} else if err := c.checkEdge(e); err != nil {
			return 0, 0, err
		}
	}
	return next, more, nil
}

// leaveThrowing is leave for a block that ends with a call that may throw: what the call defines is known on the first edge, and not on the other one, to the
// handler. If both lead on, it goes to the handler first, since the state then is that of the branch less something.
func (c *Checker) leaveThrowing(edges regalloc.Range) (next regalloc.Block, more int, err *Error) {
	normal, handler := regalloc.Range{Start: edges.Start, End: edges.Start + 1}, regalloc.Range{Start: edges.Start + 1, End: edges.End}
	if _, more, err = c.leave(normal); err != nil {
		return 0, 0, err
	}
	if more > 0 {
		c.fork(normal)
	}
	if err := c.undefine(&c.in.Edges[handler.Start]); err != nil {
		return 0, 0, err
	}
	return c.leave(handler)
}

// undefine makes the state at the end of the present block, a call that may throw, that on the edge to its handler e: what the call defines is nowhere. No
// argument of e is such a value.
func (c *Checker) undefine(e *regalloc.Edge) *Error {
	i := regalloc.Inst(c.in.Blocks[c.block].Insts.End - 1)
	begin, end := c.in.OperandRange(i)
	for k := begin; k < end; k++ {
		op := &c.in.Operands[k]
		if op.Access.Reads() {
			continue
		}
		if fits(e.Args, len(c.in.VRegLists)) && slices.Contains(c.in.ArgsOf(*e), op.VReg) {
			return c.at(i, fault(RuleInput, "%v is passed to the handler of the call that defines it", op.VReg))
		}
		n := words(c.v[op.VReg].name)
		loc, _ := c.locate(c.out.Allocs[k], n)
		if loc < numRegs {
			c.locs[loc] = fact{}
			continue
		}
		for w := loc; w < loc+n; w++ {
			c.setWord(w, fact{})
		}
	}
	return nil
}

// fork saves the present state, with which the edges lead on.
func (c *Checker) fork(edges regalloc.Range) {
	n := len(c.branches)
	c.branches = stop.Grow(c.in.Stop, c.branches, 1)[:n+1]
	br := &c.branches[n]
	br.edges, br.log, br.sets, br.elems = edges, uint32(len(c.log)), uint32(len(c.sets)), uint32(len(c.elems))
	br.references, br.tracked = c.oldest[1], c.tracked
	copy(br.regs[:], c.locs[:end(br.tracked)])
}

// restore brings the state back to that at the end of the last branch.
func (c *Checker) restore() {
	br := &c.branches[len(c.branches)-1]
	for k := len(c.log); k > int(br.log); k-- {
		c.locs[c.log[k-1].loc] = c.log[k-1].was
	}
	c.log = c.log[:br.log]
	c.sets, c.elems = c.sets[:br.sets], c.elems[:br.elems]
	n := copy(c.locs, br.regs[:end(br.tracked)])
	clear(c.locs[n:max(n, end(c.tracked))])
	c.oldest[1], c.tracked = br.references, br.tracked
}

// end returns the number after the highest register of set.
func end(set regalloc.PRegSet) int { return bits.Len64(uint64(set)) }

// nextBranch returns the next block that continues from the last branch. It drops the
// branch with its last block.
func (c *Checker) nextBranch() regalloc.Block {
	br := &c.branches[len(c.branches)-1]
	edges := c.in.Edges[br.edges.Start:br.edges.End]
	// From the last edge on, as the first leads to the block next in order, which
	// is the likeliest to be long.
	k := len(edges) - 1
	for !c.continues(edges[k].To) {
		k--
	}
	next := edges[k].To
	for k--; k >= 0; k-- {
		if c.continues(edges[k].To) {
			br.edges.End = br.edges.Start + uint32(k) + 1
			return next
		}
	}
	c.branches = c.branches[:len(c.branches)-1]
	return next
}

// visit runs the code of block b from the present state.
func (c *Checker) visit(b regalloc.Block) *Error {
	r, edits, insts := c.in.Blocks[b].Insts, c.out.Edits, c.in.Insts
	edit := int(c.blocks[b].edit)
	c.maps = c.out.StackMaps[c.blocks[b].stackMap:]
	begin, _ := c.in.OperandRange(regalloc.Inst(r.Start))
	next := pointOf(edits, edit)
	c.outgoing = noPoint
	if insts[r.End-1].Flags&regalloc.IsTailCall != 0 {
		c.outgoing = regalloc.Before(regalloc.Inst(r.End - 1))
	}
	for i := r.Start; i < r.End; {
		for ; next == regalloc.Before(regalloc.Inst(i)); next = pointOf(edits, edit) {
			if err := c.apply(&edits[edit]); err != nil {
				return err
			}
			edit++
		}
		// Up to the next edit: that is in front of end, or behind the instruction in front of it.
		end := min(r.End, uint32(next>>1+next&1))
		end = i + uint32(c.in.Stop.Chunk(int(end-i)))
		if i, begin = c.plainRun(i, end, begin); i < end {
			info := insts[i]
			if err := c.inst(regalloc.Inst(i), info, begin); err != nil {
				return err
			}
			begin = info.OperandEnd
			i++
		}
		for ; next == regalloc.After(regalloc.Inst(i-1)); next = pointOf(edits, edit) {
			if err := c.apply(&edits[edit]); err != nil {
				return err
			}
			edit++
		}
	}
	return nil
}

// noPoint is behind all points.
const noPoint = ^regalloc.ProgPoint(0)

// pointOf returns the point of edit k, or noPoint.
func pointOf(edits []regalloc.Edit, k int) regalloc.ProgPoint {
	if k < len(edits) {
		return edits[k].Point
	}
	return noPoint
}
