package checker

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// prepare checks all that needs no state, and sets up the tables.
func (c *Checker) prepare() *Error {
	in, out := c.in, c.out
	switch {
	case len(in.Blocks) == 0 || len(in.Insts) == 0:
		return fault(RuleInput, "no code")
	case len(in.Blocks) >= isParam || len(in.VRegs) >= indexMask || len(in.Insts) >= 1<<29:
		return fault(RuleInput, "too many virtual registers or instructions")
	case len(in.ClobberSets) == 0 || !in.ClobberSets[0].IsEmpty():
		return fault(RuleInput, "no empty clobber set")
	case int(in.Insts[len(in.Insts)-1].OperandEnd) != len(in.Operands) || int(in.Insts[0].OperandEnd) > len(in.Operands):
		return fault(RuleInput, "operands of no instruction")
	case len(out.Edits) >= 1<<31:
		return fault(RuleShape, "too many edits")
	case in.ArgWords < 0 || in.ArgWords > maxArgWords || in.ArgWords&1 != 0:
		return fault(RuleInput, "an argument area of %d words", in.ArgWords)
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
	if err := c.checkFlags(); err != nil {
		return err
	}
	if err := c.checkBlocks(); err != nil {
		return err
	}
	if err := c.checkUnsaved(); err != nil {
		return err
	}
	if err := c.nameParams(); err != nil {
		return err
	}
	// To find, a copy with its final name may look like a root; the name is right anyway.
	for _, v := range c.copies {
		c.v[v].name = c.v[c.find(v)].name
	}
	c.setLocations()
	return nil
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
	c.allocatable, c.writeable, c.swaps = allocatable, allocatable|c.scratch, c.env.Swaps&c.regs[regalloc.Int]
}

// otherWidths are, by class, how many bytes values have that have not 8.
var otherWidths = [regalloc.NumClasses]uint8{regalloc.Int: 4, regalloc.Float: 16}

// initValues makes each virtual register its own name.
func (c *Checker) initValues() *Error {
	vregs := c.in.VRegs
	c.v = stop.Resize(c.in.Stop, c.v, len(vregs))
	values := c.v[:len(vregs)]
	for i := range vregs {
		c.in.Stop.PollAt(i)
		info := &vregs[i]
		name := nameBit | uint32(i) | uint32(info.Class&1)<<floatShift
		switch info.Bytes {
		case 4:
			name |= halfBit
		case 16:
			name |= wideBit
		}
		if info.Ref {
			name |= refBit
		}
		if info.Class > regalloc.Float || info.Bytes != 8 && info.Bytes != otherWidths[info.Class] {
			return fault(RuleInput, "%v has class %d and %d bytes", regalloc.VReg(i), info.Class, info.Bytes)
		}
		values[i] = value{name: name, sub: name}
	}
	c.copies = c.copies[:0]
	return nil
}

// setLocations sizes the tables of locations. Facts of earlier functions that
// are left in them are older than any visit to come.
func (c *Checker) setLocations() {
	c.slotWords, c.argWords = uint32(c.out.SlotWords), uint32(c.in.ArgWords)
	n := int(c.slotWords + c.argWords)
	if n > len(c.touched) {
		c.locs = append(c.locs, make([]fact, numRegs+n-len(c.locs))...)
		c.touched = append(c.touched, make([]touch, n-len(c.touched))...)
	} else if len(c.locs) < numRegs {
		c.locs = make([]fact, numRegs)
	}
	c.layOut()
}

// checkFlags checks that there are as many terminators as blocks and as many stack
// maps as safepoints.
func (c *Checker) checkFlags() *Error {
	terminators, safepoints := 0, 0
	for k := range c.in.Insts {
		flags := c.in.Insts[k].Flags
		terminators += int(flags / regalloc.IsTerminator & 1)
		safepoints += int(flags / regalloc.Safepoint & 1)
	}
	switch {
	case terminators != len(c.in.Blocks):
		return fault(RuleInput, "code is malformed: %d terminators of %d blocks", terminators, len(c.in.Blocks))
	case safepoints != len(c.out.StackMaps):
		return fault(RuleStackMap, "%d stack maps for %d safepoints", len(c.out.StackMaps), safepoints)
	}
	return nil
}

// checkBlocks checks that blocks partition the instructions and end with terminators,
// that edges lead to blocks and parameters are defined once, that edits are at allowed
// points and stack maps in order. It fills blockInfo.
func (c *Checker) checkBlocks() *Error {
	in, maps := c.in, c.out.StackMaps
	c.blocks = stop.Zeroed(in.Stop, c.blocks, len(in.Blocks))
	next, edit, stackMap, forward := uint32(0), 0, 0, true
	for b := range in.Blocks {
		in.Stop.Poll()
		c.block = regalloc.Block(b)
		block, info := &in.Blocks[b], &c.blocks[b]
		r := block.Insts
		if r.Start != next || r.End <= r.Start || int64(r.End) > int64(len(in.Insts)) ||
			in.Insts[r.End-1].Flags&regalloc.IsTerminator == 0 {
			return c.blockFault("instructions are no partition with terminators")
		}
		next = r.End
		info.edit, info.stackMap = uint32(edit), uint32(stackMap)
		var err *Error
		if edit, err = c.skipEdits(r, edit); err != nil {
			return err
		}
		for stackMap < len(maps) && uint32(maps[stackMap].Inst) < r.End {
			stackMap++
		}
		if !fits(block.Params, len(in.VRegLists)) || !fits(block.Succs, len(in.Edges)) {
			return c.blockFault("parameters or edges are malformed")
		}
		if block.Params.Len() != 0 {
			if err := c.checkParamsOf(c.block); err != nil {
				return err
			}
		}
		if flags := in.Insts[r.End-1].Flags; flags&leaving != 0 {
			if msg := endMessage(flags, block.Succs.Len()); msg != "" {
				return c.at(regalloc.Inst(r.End-1), fault(RuleInput, "%s", msg))
			}
		}
		forward = forward && (info.inEdges != 0 || b == 0)
		for k := block.Succs.Start; k < block.Succs.End; k++ {
			to := uint(in.Edges[k].To)
			if to >= uint(len(c.blocks)) {
				return c.blockFault("edges are malformed")
			}
			c.blocks[to].inEdges++
			c.blocks[to].inEdge = k
		}
	}
	switch {
	case int(next) != len(in.Insts):
		return fault(RuleInput, "instructions of no block")
	case edit != len(c.out.Edits):
		return c.editFault(&c.out.Edits[edit], "there is no such instruction")
	case stackMap != len(maps):
		return fault(RuleStackMap, "a stack map of no instruction")
	}
	c.block = 0
	if c.blocks[0].inEdges != 0 || in.Blocks[0].Params.Len() != 0 {
		return c.blockFault("the entry has predecessors or parameters")
	}
	if forward {
		return nil // each block has an earlier predecessor, so the entry reaches all
	}
	return c.checkReachable()
}

// leaving are the flags of calls that do not always come back to where they are.
const leaving = regalloc.IsTailCall | regalloc.MayThrow

// endMessage says what is wrong with such a call that ends a block with as many successors; "" if nothing is.
func endMessage(flags regalloc.InstFlags, succs int) string {
	switch {
	case flags&regalloc.IsTailCall != 0 && (flags != regalloc.IsTerminator|regalloc.IsTailCall || succs != 0):
		return "a tail call is something else, too, or has successors"
	case flags&regalloc.MayThrow != 0 && (flags&regalloc.IsReturn != 0 || succs != 2):
		return "a call that may throw does not have two successors"
	}
	return ""
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
	for _, p := range c.in.ParamsOf(b) {
		if int64(p) >= int64(len(c.v)) || c.v[p].seen != 0 {
			return c.blockFault("parameters are malformed or defined twice")
		}
		c.v[p].seen, c.v[p].def = isParam|uint32(b), isParam
	}
	return nil
}

// checkArgs checks that arguments along e fit the parameters in number, class, width
// and being references.
func (c *Checker) checkArgs(e *regalloc.Edge) *Error {
	in := c.in
	if !fits(e.Args, len(in.VRegLists)) || e.Args.Len() != in.Blocks[e.To].Params.Len() {
		return c.blockFault("edges are malformed")
	}
	if e.Args.Len() == 0 {
		return nil
	}
	params := in.ParamsOf(e.To)
	for j, a := range in.ArgsOf(*e) {
		if int64(a) >= int64(len(c.v)) || !fitsType(c.v[a].name, c.v[params[j]].name) {
			return c.blockFault("an argument does not fit its parameter")
		}
	}
	return nil
}

// fitsType reports whether the value arg may be passed for param.
func fitsType(arg, param uint32) bool { return (arg^param)&(typeBits|halfBit) == 0 }

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

// nameParams names the parameters of blocks with one incoming edge after their
// arguments. The number of edges is counted, not taken from Preds.
func (c *Checker) nameParams() *Error {
	for b := range c.blocks {
		if c.in.Blocks[b].Params.Len() == 0 || c.blocks[b].inEdges != 1 {
			continue
		}
		e := &c.in.Edges[c.blocks[b].inEdge]
		c.block = regalloc.Block(b)
		if err := c.checkArgs(e); err != nil {
			return err
		}
		args := c.in.ArgsOf(*e)
		for k, p := range c.in.ParamsOf(c.block) {
			if !c.unify(p, args[k]) {
				return c.blockFault(p.String() + " is defined twice, or by itself")
			}
		}
	}
	return nil
}

// unify makes w a copy of v, which is of the same type. It reports whether w has only one
// definition and v is not a copy of w.
func (c *Checker) unify(w, v regalloc.VReg) bool {
	root := c.find(v)
	if root == w || c.v[w].sub != c.v[w].name {
		return false
	}
	c.v[w].sub = c.v[root].name
	c.copies = append(c.copies, w)
	return true
}

// checkReachable looks for a block that nothing reaches.
func (c *Checker) checkReachable() *Error {
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

// rising reports whether the slots are in the frame and strictly ascending.
func (c *Checker) rising(slots []uint32) bool {
	for j, s := range slots {
		if s >= c.slotWords || j > 0 && s <= slots[j-1] {
			return false
		}
	}
	return true
}
