package checker

import "github.com/waot-project/waot/regalloc"

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

	// Sets of registers: allocatable ones of each class, those that Fixed
	// operands may name, those that edits may write, and scratch ones.
	regs             [regalloc.NumClasses]regalloc.PRegSet
	fixed, writeable regalloc.PRegSet
	scratch          regalloc.PRegSet

	slotWords, argWords uint32

	v       []value
	locs    []fact // registers, slot words, argument words
	touched []touch
	known   regalloc.PRegSet // registers that may have a fact of this visit
	written regalloc.PRegSet

	// sets[n] is the members of set n, a range of elems. Members are never
	// changed once the block's code runs.
	sets   []regalloc.Range
	elems  []uint32
	single [1]uint32

	// clock is the present time; start is when the visit of the block began.
	clock, start uint32
	// oldest is the time before which facts are void: of plain values (start)
	// and of references (when those outside stack maps were last lost).
	oldest [2]uint32
	block  regalloc.Block

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
	// after: inEdge comes from the block before.
	after bool
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
	c.in, c.env, c.out = nil, nil, nil
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

// verify visits each block once, with the output's claims, or with the state
// of the block before where that is all there is.
func (c *Checker) verify() *Error {
	if err := c.resolveClaims(); err != nil {
		return err
	}
	for b := range c.in.Blocks {
		b := regalloc.Block(b)
		if c.continues(b) {
			c.block = b
		} else if err := c.begin(b, c.claimsOf(b)); err != nil {
			return err
		}
		if err := c.visit(b); err != nil {
			return err
		}
		for _, e := range c.in.SuccsOf(b) {
			if err := c.checkEdge(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// continues reports whether b goes on with the state of the block before it:
// that is the only way to b, so that parameters have the names of what is
// passed, and nothing is claimed.
func (c *Checker) continues(b regalloc.Block) bool {
	return c.blocks[b].inEdges == 1 && c.blocks[b].after && len(c.claimsOf(b)) == 0
}

// visit runs the code of block b from the state at hand.
func (c *Checker) visit(b regalloc.Block) *Error {
	edits := c.out.Edits[c.blocks[b].edit:]
	maps := c.out.StackMaps[c.blocks[b].stackMap:]
	r := c.in.Blocks[b].Insts
	begin, _ := c.in.OperandRange(regalloc.Inst(r.Start))
	for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
		for len(edits) > 0 && edits[0].Point == regalloc.Before(i) {
			c.apply(&edits[0])
			edits = edits[1:]
		}
		info := c.in.Insts[i]
		var slots []uint32
		if info.Flags&regalloc.Safepoint != 0 {
			slots = c.out.StackMapSlots[maps[0].Slots.Start:maps[0].Slots.End]
			maps = maps[1:]
		}
		if err := c.inst(i, info, begin, slots); err != nil {
			return err
		}
		begin = info.OperandEnd
		for len(edits) > 0 && edits[0].Point == regalloc.After(i) {
			c.apply(&edits[0])
			edits = edits[1:]
		}
	}
	return nil
}
