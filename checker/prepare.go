package checker

import "github.com/waot-project/waot/regalloc"

// prepare checks all that needs no state, and sets up the tables.
func (c *Checker) prepare() *Error {
	in, out := c.in, c.out
	switch {
	case len(in.Blocks) == 0 || len(in.Insts) == 0:
		return fault(RuleInput, "no code")
	case len(in.VRegs) >= indexMask || len(in.Insts) >= 1<<29:
		return fault(RuleInput, "too many virtual registers or instructions")
	case len(in.ClobberSets) == 0 || in.ClobberSets[0] != 0:
		return fault(RuleInput, "no empty clobber set")
	case len(out.Allocs) != len(in.Operands):
		return fault(RuleShape, "%d allocations for %d operands", len(out.Allocs), len(in.Operands))
	case out.SlotWords < 0 || out.SlotWords > maxSlotWords:
		return fault(RuleShape, "a spill area of %d words", out.SlotWords)
	}
	c.written = 0
	c.setRegs()
	if err := c.initValues(); err != nil {
		return err
	}
	safepoints, err := c.checkCode()
	if err != nil {
		return err
	}
	if err := c.nameParams(); err != nil {
		return err
	}
	// A copy whose name is final may look like a root to find, with the right name.
	for _, v := range c.copies {
		c.v[v].name = c.v[c.find(v)].name
	}
	if err := c.checkReachable(); err != nil {
		return err
	}
	c.setLocations()
	if err := c.checkEdits(); err != nil {
		return err
	}
	return c.checkStackMaps(safepoints)
}

func (c *Checker) setRegs() {
	c.scratch = 0
	for _, p := range c.env.Scratch {
		if p < numRegs {
			c.scratch = c.scratch.Add(p)
		}
	}
	allocatable := c.env.Allocatable &^ c.scratch
	for class := range c.regs {
		c.regs[class] = allocatable.OfClass(regalloc.Class(class))
	}
	c.fixed = (allocatable | c.env.FixedOnly) &^ c.scratch
	c.writeable = c.fixed | c.scratch
}

// initValues makes each virtual register its own name.
func (c *Checker) initValues() *Error {
	c.v = grow(c.v, len(c.in.VRegs))
	for i := range c.in.VRegs {
		info := &c.in.VRegs[i]
		name := uint32(i) | uint32(info.Class&1)<<floatShift
		if info.Bytes == 16 {
			name |= wideBit
		}
		if info.Ref {
			name |= refBit
		}
		if info.Class > regalloc.Float || info.Bytes != 8 && (info.Bytes != 16 || info.Class == regalloc.Int) {
			return fault(RuleInput, "%v has class %d and %d bytes", regalloc.VReg(i), info.Class, info.Bytes)
		}
		c.v[i] = value{name: name, sub: name}
	}
	c.copies = c.copies[:0]
	return nil
}

// setLocations sizes the tables of locations. Facts of earlier functions that
// are left in them are older than any visit to come.
func (c *Checker) setLocations() {
	c.slotWords, c.argWords = uint32(c.out.SlotWords), 0
	for _, op := range c.in.OperandsOf(0) {
		if op.Constraint == regalloc.FixedArg && int64(op.VReg) < int64(len(c.v)) {
			c.argWords = max(c.argWords, uint32(op.Arg)+words(c.v[op.VReg].name))
		}
	}
	n := int(c.slotWords + c.argWords)
	if n > len(c.touched) {
		c.locs = append(c.locs, make([]fact, numRegs+n-len(c.locs))...)
		c.touched = append(c.touched, make([]touch, n-len(c.touched))...)
	} else if len(c.locs) < numRegs {
		c.locs = make([]fact, numRegs)
	}
}

// checkCode checks that blocks partition the instructions and edges fit, gives
// copies their names, and returns the number of safepoints.
func (c *Checker) checkCode() (safepoints int, err *Error) {
	in := c.in
	c.blocks = grow(c.blocks, len(in.Blocks))
	clear(c.blocks)
	next, operands := uint32(0), uint32(0)
	for b := range in.Blocks {
		c.block = regalloc.Block(b)
		r := in.Blocks[b].Insts
		if r.Start != next || r.End <= r.Start || int64(r.End) > int64(len(in.Insts)) {
			return 0, c.blockFault("instructions are not a partition")
		}
		next = r.End
		c.blocks[b].stackMap = uint32(safepoints)
		if err := c.checkParamsOf(regalloc.Block(b)); err != nil {
			return 0, err
		}
		insts := in.Insts[r.Start:r.End]
		for k := range insts {
			info, i := &insts[k], r.Start+uint32(k)
			if info.OperandEnd < operands || int(info.Clobbers) >= len(in.ClobberSets) {
				return 0, c.at(regalloc.Inst(i), fault(RuleInput, "instruction is malformed"))
			}
			if info.Flags == 0 && i < r.End-1 {
				operands = info.OperandEnd
				continue
			}
			if int64(info.OperandEnd) > int64(len(in.Operands)) || (info.Flags&regalloc.IsTerminator != 0) != (i == r.End-1) {
				return 0, c.at(regalloc.Inst(i), fault(RuleInput, "instruction is malformed"))
			}
			if info.Flags&regalloc.IsMove != 0 {
				if err := c.nameCopy(regalloc.Inst(i), in.Operands[operands:info.OperandEnd]); err != nil {
					return 0, err
				}
			}
			if info.Flags&regalloc.Safepoint != 0 {
				safepoints++
			}
			operands = info.OperandEnd
		}
		if err := c.checkEdgesOf(regalloc.Block(b)); err != nil {
			return 0, err
		}
	}
	if int(next) != len(in.Insts) || int(operands) != len(in.Operands) {
		return 0, fault(RuleInput, "instructions or operands of no block")
	}
	c.block = 0
	if c.blocks[0].inEdges != 0 || in.Blocks[0].Params.Len() != 0 {
		return 0, c.blockFault("the entry has predecessors or parameters")
	}
	return safepoints, nil
}

func (c *Checker) blockFault(msg string) *Error {
	e := fault(RuleInput, "%s", msg)
	e.Block = c.block
	return e
}

// fits reports whether r is a range of n elements.
func fits(r regalloc.Range, n int) bool { return r.Start <= r.End && int64(r.End) <= int64(n) }

// checkParamsOf checks that parameters are in range and defined once.
func (c *Checker) checkParamsOf(b regalloc.Block) *Error {
	if !fits(c.in.Blocks[b].Params, len(c.in.VRegLists)) {
		return c.blockFault("parameters are malformed")
	}
	for _, p := range c.in.ParamsOf(b) {
		// Time 1 is before or at the start of any visit, so it outdates nothing.
		if int64(p) >= int64(len(c.v)) || c.v[p].def != 0 {
			return c.blockFault("parameters are malformed or defined twice")
		}
		c.v[p].def = 1
	}
	return nil
}

// checkEdgesOf checks that arguments along the edges out of b fit parameters in
// number, class, width and being references.
func (c *Checker) checkEdgesOf(b regalloc.Block) *Error {
	in := c.in
	r := in.Blocks[b].Succs
	if !fits(r, len(in.Edges)) {
		return c.blockFault("edges are malformed")
	}
	for k := r.Start; k < r.End; k++ {
		e := &in.Edges[k]
		if int64(e.To) >= int64(len(in.Blocks)) || !fits(e.Args, len(in.VRegLists)) || e.Args.Len() != in.Blocks[e.To].Params.Len() {
			return c.blockFault("edges are malformed")
		}
		if e.Args.Len() != 0 {
			if err := c.checkArgs(e); err != nil {
				return err
			}
		}
		to := &c.blocks[e.To]
		to.inEdges++
		to.inEdge = k
		to.forward = to.forward || e.To > b
	}
	return nil
}

// checkArgs checks that the arguments along e fit the parameters, of which there
// are as many.
func (c *Checker) checkArgs(e *regalloc.Edge) *Error {
	in := c.in
	if !fits(in.Blocks[e.To].Params, len(in.VRegLists)) {
		return c.blockFault("edges are malformed")
	}
	params := in.ParamsOf(e.To)
	for j, a := range in.ArgsOf(*e) {
		p := params[j]
		if int64(a) >= int64(len(c.v)) || int64(p) >= int64(len(c.v)) || (c.v[a].name^c.v[p].name)&typeBits != 0 {
			return c.blockFault("an argument does not fit its parameter")
		}
	}
	return nil
}

// find returns the value that v is a copy of, through all copies known so far.
func (c *Checker) find(v regalloc.VReg) regalloc.VReg {
	for {
		up := &c.v[v]
		if up.sub == up.name {
			return v
		}
		up.sub = c.v[up.sub&indexMask].sub
		v = regalloc.VReg(up.sub & indexMask)
	}
}

// nameCopy gives the Def of an IsMove the name of its Use, unless they differ
// in type: then the instruction makes a value of its own.
func (c *Checker) nameCopy(i regalloc.Inst, ops []regalloc.Operand) *Error {
	if len(ops) != 2 || ops[0].Access != regalloc.Use || ops[1].Access != regalloc.Def ||
		int64(ops[0].VReg) >= int64(len(c.v)) || int64(ops[1].VReg) >= int64(len(c.v)) ||
		c.in.VRegs[ops[0].VReg].Class != c.in.VRegs[ops[1].VReg].Class ||
		c.in.Insts[i].Flags&(regalloc.Safepoint|regalloc.IsTerminator) != 0 {
		return c.at(i, fault(RuleInput, "not of the form of a move"))
	}
	if !c.unify(ops[1].VReg, ops[0].VReg) {
		return c.at(i, fault(RuleInput, "%v is defined twice, or by itself", ops[1].VReg))
	}
	return nil
}

// nameParams names the parameters of blocks with one incoming edge after their
// arguments. The number of edges is counted, not taken from Preds.
func (c *Checker) nameParams() *Error {
	for b := range c.blocks {
		if c.blocks[b].inEdges != 1 || c.in.Blocks[b].Params.Len() == 0 {
			continue
		}
		args := c.in.ArgsOf(c.in.Edges[c.blocks[b].inEdge])
		for k, p := range c.in.ParamsOf(regalloc.Block(b)) {
			if !c.unify(p, args[k]) {
				c.block = regalloc.Block(b)
				return c.blockFault(p.String() + " is defined twice, or by itself")
			}
		}
	}
	return nil
}

// unify makes w a copy of v. It reports whether w is one definition's and v is
// not a copy of w.
func (c *Checker) unify(w, v regalloc.VReg) bool {
	if (c.v[w].name^c.v[v].name)&typeBits != 0 {
		return true
	}
	root := c.find(v)
	if root == w || c.v[w].sub != c.v[w].name {
		return false
	}
	c.v[w].sub = c.v[root].name
	c.copies = append(c.copies, w)
	return true
}

// checkReachable checks that each block is reachable: a block that nothing
// reaches would be checked against nothing.
func (c *Checker) checkReachable() *Error {
	ordered := true
	for b := range c.blocks[1:] {
		ordered = ordered && c.blocks[1+b].forward
	}
	if ordered {
		return nil // each from one before it, and so from the first
	}
	c.stack = append(c.stack[:0], 0)
	c.blocks[0].seen = true
	seen := 1
	for len(c.stack) > 0 {
		b := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		for _, e := range c.in.SuccsOf(b) {
			if !c.blocks[e.To].seen {
				c.blocks[e.To].seen = true
				c.stack = append(c.stack, e.To)
				seen++
			}
		}
	}
	if seen == len(c.blocks) {
		return nil
	}
	for b := range c.blocks {
		if !c.blocks[b].seen {
			c.block = regalloc.Block(b)
			break
		}
	}
	return c.blockFault("not reachable")
}

// checkStackMaps checks that there is one stack map for each safepoint, in
// order, with slots of the frame, rising.
func (c *Checker) checkStackMaps(safepoints int) *Error {
	out := c.out
	if len(out.StackMaps) != safepoints {
		return fault(RuleStackMap, "%d stack maps for %d safepoints", len(out.StackMaps), safepoints)
	}
	for k, m := range out.StackMaps {
		// With the number right and the order strict, they are the safepoints.
		if int64(m.Inst) >= int64(len(c.in.Insts)) || c.in.Insts[m.Inst].Flags&regalloc.Safepoint == 0 ||
			k > 0 && m.Inst <= out.StackMaps[k-1].Inst || !fits(m.Slots, len(out.StackMapSlots)) ||
			!c.rising(out.StackMapSlots[m.Slots.Start:m.Slots.End]) {
			e := fault(RuleStackMap, "stack map %d is malformed", k)
			e.Inst = m.Inst
			return e
		}
	}
	return nil
}

// rising reports whether slots are of the frame and each is above the last.
func (c *Checker) rising(slots []uint32) bool {
	for j, s := range slots {
		if s >= c.slotWords || j > 0 && s <= slots[j-1] {
			return false
		}
	}
	return true
}

// grow returns s with length n; elements are not initialised.
func grow[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]T, n, n+n/4)
}
