package checker

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// resolveClaims checks that the output's claims are well formed and converts them
// to c.claims.
func (c *Checker) resolveClaims() *Error {
	out := c.out
	if len(out.ClaimEnd) != len(c.in.Blocks) {
		return fault(RuleShape, "claim ends of %d blocks, not %d", len(out.ClaimEnd), len(c.in.Blocks))
	}
	c.claims = stop.Resize(c.in.Stop, c.claims, len(out.Claims))
	last := uint32(0)
	for b, end := range out.ClaimEnd {
		c.block = regalloc.Block(b)
		if end < last || int64(end) > int64(len(out.Claims)) || b == 0 && end != 0 {
			e := c.blockFault("claims are malformed, or the entry has some")
			e.Rule = RuleClaim
			return e
		}
		if end == last {
			c.blocks[b].continues = c.blocks[b].inEdges == 1
			continue
		}
		if err := c.resolve(last, end); err != nil {
			return err
		}
		last = end
	}
	if int(last) != len(out.Claims) {
		return fault(RuleShape, "claims of no block")
	}
	return nil
}

// resolve fills c.claims from the output's claims of this block, which are numbers start
// to end.
func (c *Checker) resolve(start, end uint32) *Error {
	claims, values, others := c.claims[start:end], c.v, ^c.allocatable
	param := isParam | uint32(c.block)
	for j, cl := range c.out.Claims[start:end] {
		if uint(cl.VReg) >= uint(len(values)) {
			return c.claimOf(int(start)+j, fault(RuleClaim, "no such virtual register"))
		}
		name := values[cl.VReg].name
		loc, ok := c.locate(cl.Loc, words(name))
		if !ok || others>>loc&1 != 0 {
			return c.claimOf(int(start)+j, fault(RuleClaim, "no such location"))
		}
		if values[name&indexMask].seen == param {
			name |= paramBit
		}
		claims[j] = entry{loc, name}
	}
	return nil
}

// claimRange returns the range of block b's claims.
func (c *Checker) claimRange(b regalloc.Block) (start, end uint32) {
	if b > 0 {
		start = c.out.ClaimEnd[b-1]
	}
	return start, c.out.ClaimEnd[b]
}

func (c *Checker) claimsOf(b regalloc.Block) []entry {
	start, end := c.claimRange(b)
	return c.claims[start:end]
}

// isDuplicate reports whether an earlier claim of this block equals the j-th.
func (c *Checker) isDuplicate(j int) bool {
	start, _ := c.claimRange(c.block)
	claims := c.out.Claims[start:]
	for _, other := range claims[:j] {
		if other == claims[j] {
			return true
		}
	}
	return false
}

// claimFault returns a fault of the j-th claim of this block.
func (c *Checker) claimFault(j int, msg string) *Error {
	start, _ := c.claimRange(c.block)
	return c.claimOf(int(start)+j, fault(RuleClaim, "%s", msg))
}

// claimOf completes a fault of claim j, counted over all blocks.
func (c *Checker) claimOf(j int, e *Error) *Error {
	cl := c.out.Claims[j]
	e.Loc, e.VReg = cl.Loc, cl.VReg
	for b, end := range c.out.ClaimEnd {
		if j < int(end) {
			e.Block = regalloc.Block(b)
			break
		}
	}
	return e
}

// checkEdge checks the claims of the block that e leads to against the state
// at the end of this block.
func (c *Checker) checkEdge(e *regalloc.Edge) *Error {
	params := e.Args.Len() != 0
	if params {
		c.bindParams(e)
	}
	locs, start := c.locs, c.start
	claims := c.claimsOf(e.To)
	for j := range claims {
		cl := &claims[j]
		// The common case of holds, of a value of one word that is no parameter or
		// reference.
		if f := &locs[cl.loc]; f.name == cl.name && f.time >= start && cl.name&(wideBit|refBit) == 0 {
			continue
		}
		if !c.holds(cl.loc, c.v[cl.name&indexMask].sub) {
			return c.refute(e, j)
		}
	}
	if params {
		c.unbindParams(e)
	}
	return nil
}

// refute returns the fault of claim j at the end of e.
func (c *Checker) refute(e *regalloc.Edge, j int) *Error {
	start, _ := c.claimRange(e.To)
	err := c.claimOf(int(start)+j, fault(RuleClaim, "claimed at the entry of block%d, but there comes %s",
		e.To, c.describe(c.claims[int(start)+j].loc)))
	err.Block, err.Inst = c.block, regalloc.Inst(c.in.Blocks[c.block].Insts.End-1)
	return err
}

// bindParams makes value.sub of each parameter the name of its argument along
// e; unbindParams undoes that. Nobody reads sub of a parameter that is named after its
// argument.
func (c *Checker) bindParams(e *regalloc.Edge) {
	args := c.in.ArgsOf(*e)
	for k, p := range c.in.ParamsOf(e.To) {
		c.v[p].sub = c.v[args[k]].name
	}
}

func (c *Checker) unbindParams(e *regalloc.Edge) {
	for _, p := range c.in.ParamsOf(e.To) {
		c.v[p].sub = c.v[p].name
	}
}

// solve visits blocks until their entry states no longer shrink. They start as the state
// that the first edge brings. A fault on the way is final: knowing less never removes a
// fault.
func (c *Checker) solve() *Error {
	if n := len(c.blocks); n > len(c.own) {
		c.own = append(c.own, make([][]entry, n-len(c.own))...)
	}
	for b := range c.blocks {
		c.own[b] = c.own[b][:0]
		c.blocks[b].seen = false
	}
	c.blocks[0].seen, c.blocks[0].dirty = true, true
	for again := true; again; {
		again = false
		for b := range c.blocks {
			if !c.blocks[b].dirty {
				continue
			}
			c.blocks[b].dirty = false
			if err := c.begin(regalloc.Block(b), c.own[b]); err != nil {
				return err
			}
			if err := c.visitSaved(regalloc.Block(b)); err != nil {
				return err
			}
			edges, end := c.in.SuccsOf(regalloc.Block(b)), c.in.Blocks[b].Insts.End-1
			for k := range edges {
				e := &edges[k]
				if k == 1 && c.in.Insts[end].Flags&regalloc.MayThrow != 0 {
					if err := c.undefine(e); err != nil {
						return err
					}
				}
				if err := c.checkArgs(e); err != nil {
					return err
				}
				if c.meet(e) {
					c.blocks[e.To].dirty = true
					again = again || int(e.To) <= b
				}
			}
		}
	}
	return nil
}

// Claim makes the entry states that the last Check found the claims of out: one
// with Options.Fixpoint that found no fault. Of all claims that out can have, they
// say the most.
func (c *Checker) Claim(out *regalloc.Output) {
	out.Claims, out.ClaimEnd = out.Claims[:0], out.ClaimEnd[:0]
	for b := range c.blocks {
		for _, e := range c.own[b] {
			out.Claims = append(out.Claims, regalloc.Claim{Loc: c.allocation(e.loc), VReg: regalloc.VReg(e.name & indexMask)})
		}
		out.ClaimEnd = append(out.ClaimEnd, uint32(len(out.Claims)))
	}
}

// meet intersects the entry state of the block that e leads to with the state at the end
// of this block. It reports whether that changed the entry state.
func (c *Checker) meet(e *regalloc.Edge) bool {
	c.bindParams(e)
	defer c.unbindParams(e)
	own := c.own[e.To]
	if !c.blocks[e.To].seen {
		c.blocks[e.To].seen = true
		c.own[e.To] = c.gather(own, c.in.ParamsOf(e.To))
		return true
	}
	kept := own[:0]
	for _, en := range own {
		if c.holds(en.loc, c.v[en.name&indexMask].sub) {
			kept = append(kept, en)
		}
	}
	c.own[e.To] = kept
	return len(kept) < len(own)
}

// gather appends all facts of the state along an edge with bound parameters.
func (c *Checker) gather(own []entry, params []regalloc.VReg) []entry {
	for loc := range firstSlot + c.slotWords + c.argWords {
		f := c.locs[loc]
		if f.time < c.start || f.name&tailBit != 0 {
			continue
		}
		for _, n := range c.namesOf(f.name) {
			if !c.holds(loc, n) {
				continue
			}
			if c.v[n&indexMask].sub == n {
				own = append(own, entry{loc, n})
			}
			for _, p := range params {
				// A parameter that is a copy is known by its source.
				if v := &c.v[p]; v.sub == n && v.name != n && v.name&indexMask == uint32(p) {
					own = append(own, entry{loc, v.name})
				}
			}
		}
	}
	return own
}
