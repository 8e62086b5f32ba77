package checker

import "github.com/waot-project/waot/regalloc"

// checkUnsaved checks that callee-saved registers can be saved and restored where Output.Unsaved says: at the start of blocks that only
// unsaved ones lead to, and at the end of blocks with one successor.
func (c *Checker) checkUnsaved() *Error {
	unsaved := c.out.Unsaved
	if len(unsaved) == 0 {
		return nil
	}
	if len(unsaved) != len(c.blocks) {
		return fault(RuleShape, "%d blocks are unsaved or not, not %d", len(unsaved), len(c.blocks))
	}
	for b := range c.blocks {
		c.in.Stop.Poll()
		block := &c.in.Blocks[b]
		for k := block.Succs.Start; k < block.Succs.End; k++ {
			to := c.in.Edges[k].To
			switch {
			case unsaved[b]:
				c.blocks[to].fromUnsaved = true
			case !unsaved[to]:
				c.blocks[to].fromSaved = true
			case block.Succs.Len() > 1:
				return c.savedFault(regalloc.Block(b), "callee-saved registers cannot be restored on one edge out of several")
			}
		}
	}
	for b := range c.blocks {
		if c.blocks[b].fromSaved && c.blocks[b].fromUnsaved && !unsaved[b] {
			return c.savedFault(regalloc.Block(b), "callee-saved registers are saved on some ways to the block")
		}
	}
	return nil
}

// savedFault returns a fault of where block b has callee-saved registers.
func (c *Checker) savedFault(b regalloc.Block, msg string) *Error {
	e := fault(RuleSaved, "%s", msg)
	e.Block = b
	return e
}

// visitSaved visits block b, in which nothing writes a callee-saved register if it is unsaved. What restores them at its end ends what they
// hold.
func (c *Checker) visitSaved(b regalloc.Block) *Error {
	if len(c.out.Unsaved) == 0 {
		return c.visit(b)
	}
	saved := c.env.CalleeSaved
	if !c.out.Unsaved[b] {
		err := c.visit(b)
		if edges := c.in.SuccsOf(b); len(edges) == 1 && c.out.Unsaved[edges[0].To] {
			c.eraseRegs(saved)
		}
		return err
	}
	before := c.written
	c.written = 0
	err := c.visit(b)
	if m := c.written & saved; m != 0 && err == nil {
		err = c.savedFault(b, "written where it is not saved")
		err.Loc = regalloc.InReg(m.First())
	}
	c.written |= before
	return err
}
