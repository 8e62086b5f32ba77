package opt

import (
	"fmt"

	"github.com/waot-project/waot/clif"
)

// This file replaces block arguments by constants: on an edge where the result of a comparison is known, from a branch or a trap, 0 or 1 is passed
// instead. Code that keeps the condition of a branch in a variable, as asyncify does while it unwinds, then needs neither a second comparison nor a
// register, and such edges may skip further branches (dispatch.go).

// isBool are the operations that give 0 or 1.
var isBool = [clif.NumOpcodes]bool{
	clif.OpIcmp: true, clif.OpFcmp: true, clif.OpRefIsNull: true, clif.OpVanyTrue: true, clif.OpVallTrue: true,
}

// edges replaces arguments on the edges of d, a jump or a branch, that are decided there. On the edges of a branch its condition is.
func (c *folder) edges(d *clif.InstData) {
	switch {
	case d.Op == clif.OpJump:
		c.edge(d, clif.Target(d.Args[1]))
	case d.Op == clif.OpBranch && d.Args[1] != d.Args[2]:
		c.decidedEdge(d, clif.Target(d.Args[1]), isNonzero)
		c.decidedEdge(d, clif.Target(d.Args[2]), isZero)
	}
}

// decidedEdge is edge for the edge t, on which the condition of the branch d is x.
func (c *folder) decidedEdge(d *clif.InstData, t clif.Target, x uint8) {
	if c.f.Targets[t].Args.Len == 0 {
		return
	}
	mark := c.truth.mark()
	c.truth.set(d.ArgA(), x)
	c.edge(d, t)
	c.truth.undo(mark)
}

// edge replaces arguments of t, an edge of d.
func (c *folder) edge(d *clif.InstData, t clif.Target) {
	if len(c.truth.log) == 0 {
		return
	}
	args := c.f.TargetArgs(t)
	for i := range args {
		c.f.Stop.PollAt(i)
		v := c.f.Resolve(clif.Value(args[i]))
		args[i] = uint32(v)
		if x := c.truth.get(v); x != unknown {
			c.decide(d, &args[i], x)
		}
	}
}

// decide puts a constant in the place of the argument in slot, of an edge of d, if that is a comparison. It is decided to be x.
func (c *folder) decide(d *clif.InstData, slot *uint32, x uint8) {
	old := *slot
	in := c.def(clif.Value(old))
	if in == nil || !isBool[in.Op] || !c.may(RuleConditionKnown) {
		return
	}
	ctl := c.o.Control
	if ctl == nil {
		*slot = uint32(c.iconst(clif.I32, boolBits(x == isNonzero)))
		return
	}
	n := len(ctl.Log) - 1
	k := c.iconst(clif.I32, boolBits(x == isNonzero))
	*slot = uint32(k)
	describe(ctl, n, c.f.Offset(c.src), fmt.Sprintf("v%d on an edge", old), k.String())
}
