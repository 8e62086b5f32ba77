package checker_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/regalloc"
)

// code is a hand-made input with its allocation.
type code struct {
	gen
	allocs []loc
	out    *regalloc.Output
	in     *regalloc.Input
	env    *regalloc.MachineEnv // nil is testEnv
}

// add appends an instruction with its allocations to b, which must be the last
// block begun.
func (c *code) add(b *genBlock, flags regalloc.InstFlags, clobbers uint16, ops []operand, allocs ...loc) {
	b.insts = append(b.insts, genInst{ops: ops, flags: flags, clobbers: clobbers, words: c.argWords})
	c.allocs = append(c.allocs, allocs...)
}

func (c *code) ret(b *genBlock, ops []operand, allocs ...loc) {
	c.add(b, regalloc.IsTerminator|regalloc.IsReturn, 0, ops, allocs...)
}

func (c *code) finish() {
	c.in = c.flatten()
	c.out = &regalloc.Output{Allocs: c.allocs, SlotWords: 4, Used: ^regalloc.PRegSet(0)}
	c.out.ClaimEnd = make([]uint32, len(c.in.Blocks))
}

// claims sets the claims of the last block.
func (c *code) claims(cl ...regalloc.Claim) {
	c.out.Claims = cl
	c.out.ClaimEnd[len(c.out.ClaimEnd)-1] = uint32(len(cl))
}

func (c *code) edits(es ...regalloc.Edit) { c.out.Edits = es }

func r(n int) loc { return regalloc.InReg(regalloc.IntReg(n)) }
func f(n int) loc { return regalloc.InReg(regalloc.FloatReg(n)) }
func s(n int) loc { return regalloc.InSlot(n) }

func use(v vreg, c regalloc.Constraint) operand { return regalloc.UseOf(v, c) }
func def(v vreg) operand                        { return regalloc.DefOf(v, regalloc.Reg) }
func with(op operand, a regalloc.Access) operand {
	op.Access = a
	return op
}

func move(p regalloc.ProgPoint, to, from loc, bytes uint8) regalloc.Edit {
	return regalloc.Edit{Point: p, To: to, From: from, Bytes: bytes}
}

const after0, before1 = regalloc.ProgPoint(1), regalloc.ProgPoint(2)

// straight is one block: inst0 defines %0 (of kind) at def, inst1 reads it at
// use, inst2 returns.
func straight(kind int, at, where loc) *code {
	c := &code{}
	v := c.vreg(kind)
	b := c.block()
	c.add(b, 0, 0, []operand{regalloc.DefOf(v, regalloc.Any)}, at)
	c.add(b, 0, 0, []operand{use(v, regalloc.Any)}, where)
	c.ret(b, nil)
	c.finish()
	return c
}

// argument is one block: inst0 defines %0, of 16 bytes, in an incoming argument word, inst1 reads it there.
func argument(word int) *code {
	c := &code{}
	c.argWords = 4
	v := c.vreg(2)
	b := c.block()
	at := regalloc.InArg(word)
	c.add(b, 0, 0, []operand{regalloc.StackArgDef(v, word)}, at)
	c.add(b, 0, 0, []operand{use(v, regalloc.Any)}, at)
	c.ret(b, nil)
	c.finish()
	return c
}

// pair is one block: inst0 defines %0 in p0, %1 in p1; inst1 has ops at allocs.
func pair(clobbers uint16, ops []operand, allocs ...loc) *code {
	c := &code{}
	c.vreg(0)
	c.vreg(0)
	c.vreg(0)
	c.vreg(0)
	b := c.block()
	c.add(b, 0, 0, []operand{def(0), def(1)}, r(0), r(1))
	c.add(b, 0, clobbers, ops, allocs...)
	c.ret(b, nil)
	c.finish()
	return c
}

// safepoint is one block: inst0 defines reference %0 in p10 and plain %1 in s2,
// inst1 is a safepoint with stack map slots, inst2 reads %0 at where.
func safepoint(where loc, slots ...uint32) *code {
	c := &code{}
	v, w := c.vreg(3), c.vreg(0)
	b := c.block()
	c.add(b, 0, 0, []operand{def(v), regalloc.DefOf(w, regalloc.Any)}, r(10), s(2))
	c.add(b, regalloc.Safepoint, 1, nil)
	c.add(b, 0, 0, []operand{use(v, regalloc.Any)}, where)
	c.ret(b, nil)
	c.finish()
	c.edits(move(after0, s(0), r(10), 8), move(after0, s(1), r(10), 8))
	c.out.StackMapSlots = slots
	c.out.StackMaps = []regalloc.StackMap{{Inst: 1, Slots: regalloc.Range{End: uint32(len(slots))}}}
	return c
}

// loop is block0 -> block1 (parameter %2, from %0 and %3) -> block2 -> block1,
// and block1 -> block3. %1 is defined in block0 too and read in block1.
func loop(backEdge ...regalloc.Edit) *code {
	c := &code{}
	v0, v1, p, v3 := c.vreg(0), c.vreg(0), c.vreg(0), c.vreg(0)
	b0, b1, b2, b3 := c.block(), c.block(), c.block(), c.block()
	b1.params = []vreg{p}
	c.add(b0, 0, 0, []operand{def(v0), def(v1)}, r(0), r(1))
	c.add(b0, regalloc.IsTerminator, 0, nil)
	c.add(b1, 0, 0, []operand{use(p, regalloc.Reg), use(v1, regalloc.Reg)}, r(0), r(1))
	c.add(b1, regalloc.IsTerminator, 0, nil)
	c.add(b2, 0, 0, []operand{def(v3)}, r(3))
	c.add(b2, regalloc.IsTerminator, 0, nil)
	c.ret(b3, nil)
	b0.succs = []genEdge{{b1, []vreg{v0}}}
	b1.succs = []genEdge{{b2, nil}, {b3, nil}}
	b2.succs = []genEdge{{b1, []vreg{v3}}}
	c.finish()
	c.edits(backEdge...)
	for i := range c.out.Edits {
		c.out.Edits[i].Point = regalloc.Before(5)
	}
	c.out.Claims = []regalloc.Claim{{Loc: r(0), VReg: p}, {Loc: r(1), VReg: v1}, {Loc: r(1), VReg: v1}, {Loc: r(0), VReg: p}}
	c.out.ClaimEnd = []uint32{0, 2, 4, 4}
	return c
}

// twins passes %0 for both parameters of a block with two predecessors, which
// share a register there, with references and a safepoint between the uses.
func twins(kind int) *code {
	c := &code{}
	v, p, q := c.vreg(kind), c.vreg(kind), c.vreg(kind)
	b0, b1, b2, b3 := c.block(), c.block(), c.block(), c.block()
	b3.params = []vreg{p, q}
	c.add(b0, 0, 0, []operand{regalloc.DefOf(v, regalloc.Any)}, s(0))
	c.add(b0, regalloc.IsTerminator, 0, nil)
	c.add(b1, regalloc.IsTerminator, 0, nil)
	c.add(b2, regalloc.IsTerminator, 0, nil)
	both := []operand{use(p, regalloc.Any), use(q, regalloc.Any), use(v, regalloc.Any)}
	c.add(b3, 0, 0, both, s(0), s(0), s(0))
	c.add(b3, regalloc.Safepoint, 1, nil)
	c.ret(b3, both, s(0), s(0), s(0))
	b0.succs = []genEdge{{b1, nil}, {b2, nil}}
	b1.succs = []genEdge{{b3, []vreg{v, v}}}
	b2.succs = []genEdge{{b3, []vreg{v, v}}}
	c.finish()
	c.out.Claims = []regalloc.Claim{{Loc: s(0), VReg: v}, {Loc: s(0), VReg: v}, {Loc: s(0), VReg: v}, {Loc: s(0), VReg: p}, {Loc: s(0), VReg: q}}
	c.out.ClaimEnd = []uint32{0, 1, 2, 5}
	c.out.StackMaps = []regalloc.StackMap{{Inst: 5}}
	if kind == 3 {
		c.out.StackMaps[0].Slots.End = 1
		c.out.StackMapSlots = []uint32{0}
	}
	return c
}

// reloaded is twins of the kind whose first parameter is read in p0, where a move of the given number of bytes puts it.
func reloaded(kind int, bytes uint8) *code {
	c := twins(kind)
	c.out.Allocs[1] = r(0)
	c.edits(move(regalloc.Before(4), r(0), s(0), bytes))
	return c
}

// copies reads a copy where only its source is known, %0: %1 is the parameter of a
// block with one predecessor, %2 that of one behind it.
func copies() *code {
	c := &code{}
	v, w, p := c.vreg(0), c.vreg(0), c.vreg(0)
	b0, b1, b2 := c.block(), c.block(), c.block()
	b1.params, b2.params = []vreg{w}, []vreg{p}
	c.add(b0, 0, 0, []operand{def(v)}, r(0))
	c.add(b0, regalloc.IsTerminator, 0, nil)
	c.add(b1, 0, 0, []operand{use(v, regalloc.Reg), use(w, regalloc.Reg)}, r(0), r(0))
	c.add(b1, regalloc.IsTerminator, 0, nil)
	c.ret(b2, []operand{use(p, regalloc.Reg), use(w, regalloc.Reg), use(v, regalloc.Reg)}, r(0), r(0), r(0))
	b0.succs, b1.succs = []genEdge{{b1, []vreg{v}}}, []genEdge{{b2, []vreg{w}}}
	c.finish()
	c.claims(regalloc.Claim{Loc: r(0), VReg: p}, regalloc.Claim{Loc: r(0), VReg: w})
	return c
}

// halves is straight for a value of the kind in p2f, of which the reader clobbers set and
// which the return reads there again; its access by the reader is a.
func halves(kind int, set regalloc.Clobbers, a regalloc.Access) *code {
	c := straight(kind, f(2), f(2))
	c.in.Operands[1].Access = a
	c.in.Operands = append(c.in.Operands, use(0, regalloc.Any))
	c.out.Allocs = append(c.out.Allocs, f(2))
	c.in.Insts[2].OperandEnd = 3
	c.in.ClobberSets, c.in.Insts[1].Clobbers = []regalloc.Clobbers{{}, set}, 1
	return c
}

// change applies f to the allocation or input of c.
func change(c *code, f func(c *code)) *code {
	f(c)
	return c
}

func swap(x, y loc) regalloc.Edit {
	return regalloc.Edit{Point: after0, Kind: regalloc.Swap, From: x, To: y, Bytes: 8}
}

// swapped is one block: inst0 defines %0 in p0, %1 in p1; inst1 reads %0 in p1 and %1 in p0.
func swapped(edits ...regalloc.Edit) *code {
	c := pair(0, []operand{use(0, regalloc.Reg), use(1, regalloc.Reg)}, r(1), r(0))
	c.edits(edits...)
	return c
}

// stored is straight with a constant of the kind that is defined in p0, stored in s1 and read there.
func stored(kind int, f func(c *code)) *code {
	return change(straight(kind, r(0), s(1)), func(c *code) {
		v := &c.in.VRegs[0]
		v.Remat, v.Storable = 0, true
		c.in.Operands[0].Constraint = regalloc.Reg
		c.edits(regalloc.Edit{Point: before1, Kind: regalloc.StoreConst, To: s(1), Inst: 0, Bytes: v.Bytes})
		f(c)
	})
}

// intScratch is one block for a machine with the int scratch register p7: inst0 defines the constant %0, inst1 %1 in p1, inst2 reads %1 in p2, where it
// comes by way of p7. If across is set, %0 is made again meanwhile.
func intScratch(across bool) *code {
	c := &code{}
	v, w := c.vreg(0), c.vreg(0)
	b := c.block()
	c.add(b, 0, 0, []operand{def(v)}, r(0))
	c.add(b, 0, 0, []operand{def(w)}, r(1))
	c.add(b, 0, 0, []operand{use(w, regalloc.Reg)}, r(2))
	c.ret(b, nil)
	c.finish()
	c.in.VRegs[v].Remat = 0
	c.env = testEnv()
	c.env.Scratch[regalloc.Int] = regalloc.IntReg(7)
	at := regalloc.After(1)
	edits := []regalloc.Edit{move(at, r(7), r(1), 8), move(at, r(2), r(7), 8), {Point: at, Kind: regalloc.Remat, To: r(3), Inst: 0, Bytes: 8}}
	if across {
		edits[1], edits[2] = edits[2], edits[1]
	}
	c.edits(edits...)
	return c
}

// rule is a hand-made allocation and what the checker says of it: that nothing is wrong, if the rule is no, or a message with msg.
type rule struct {
	name string
	c    *code
	rule checker.Rule
	msg  string
}

const no = checker.Rule(255)

func TestRules(t *testing.T) {
	late, early := with(use(1, 0), regalloc.LateUse), with(def(2), regalloc.EarlyDef)
	low, high := regalloc.Clobbers{Low: regalloc.SetOf(34)}, regalloc.Clobbers{High: regalloc.SetOf(34)}
	in := func(f func(in *regalloc.Input)) *code {
		return change(loop(move(0, r(0), r(3), 8)), func(c *code) { f(c.in) })
	}
	out := func(f func(o *regalloc.Output)) *code {
		return change(loop(move(0, r(0), r(3), 8)), func(c *code) { f(c.out) })
	}
	remat := func(f func(c *code)) *code {
		return change(straight(0, r(0), r(1)), func(c *code) {
			c.in.VRegs[0].Remat = 0
			c.in.Operands[0].Constraint = regalloc.Reg
			c.edits(regalloc.Edit{Point: before1, Kind: regalloc.Remat, To: r(1), Inst: 0})
			f(c)
		})
	}
	checkRules(t, []rule{
		{"same place", straight(0, r(0), r(0)), no, ""},
		{"other place", straight(0, r(0), r(1)), checker.RuleUse, "block0 inst1 operand 0 %0 in p1i: read from where nothing known is"},
		{"int in float", straight(0, f(0), f(0)), checker.RuleConstraint, "must be in an allocatable register of its class"},
		{"no register", straight(0, r(0)+64, r(0)), checker.RuleConstraint, "p?64"},
		{"aliasing register", straight(0, r(0), r(0)+256), checker.RuleConstraint, "p?256"},
		{"not allocatable", straight(0, r(9), r(9)), checker.RuleConstraint, ""},
		{"scratch", straight(1, f(15), f(15)), checker.RuleConstraint, ""},
		{"none", straight(1, 0, 0), checker.RuleConstraint, ""},
		{"slot", straight(2, s(2), s(2)), no, ""},
		{"slot out of frame", straight(2, s(4), s(4)), checker.RuleConstraint, ""},
		{"slot half out of frame", change(straight(2, s(2), s(2)), func(c *code) { c.out.SlotWords = 3 }), checker.RuleConstraint, ""},
		{"slot at an odd word", straight(2, s(1), s(1)), checker.RuleConstraint, "must be in an allocatable register of its class or an aligned slot"},
		{"use at an odd word", change(straight(2, f(0), s(1)), func(c *code) { c.edits(move(after0, s(1), f(0), 8)) }), checker.RuleConstraint, ""},
		{"narrow slot at an odd word", straight(1, s(3), s(3)), no, ""},
		{"argument at an odd word", argument(1), checker.RuleConstraint, "the argument word it names"},
		{"argument at an even word", argument(2), no, ""},
		{"def to argument", straight(0, regalloc.InArg(0), r(0)), checker.RuleConstraint, ""},
		{"upper half", change(straight(2, s(0), s(1)), func(c *code) {
			v := c.vreg(1)
			c.in.VRegs = append(c.in.VRegs, c.vregs[v])
			c.in.Operands = slices.Insert(c.in.Operands, 1, def(v))
			c.out.Allocs = slices.Insert(c.out.Allocs, 1, f(1))
			for i := range c.in.Insts {
				c.in.Insts[i].OperandEnd++
			}
			c.in.Operands[2].VReg = v
		}), checker.RuleUse, "the upper half of %0"},
		{"half overwritten", change(straight(2, s(0), s(0)), func(c *code) { c.edits(move(after0, s(1), r(0), 8)) }),
			checker.RuleUse, "only the lower half of %0"},
		{"lower half overwritten", change(straight(2, s(0), s(0)), func(c *code) { c.edits(move(after0, s(0), r(0), 8)) }), checker.RuleUse, ""},
		{"4 bytes moved", change(straight(4, r(0), r(1)), func(c *code) { c.edits(move(after0, r(1), r(0), 4)) }), no, ""},
		{"4 bytes moved as 8", change(straight(4, r(0), r(1)), func(c *code) { c.edits(move(after0, r(1), r(0), 8)) }), no, ""},
		{"4 bytes through a slot", change(straight(4, r(0), r(1)), func(c *code) { c.edits(move(after0, s(0), r(0), 4), move(before1, r(1), s(0), 4)) }), no, ""},
		{"4 bytes spilled as 8", change(straight(4, r(0), r(1)), func(c *code) { c.edits(move(after0, s(0), r(0), 8), move(before1, r(1), s(0), 4)) }), no, ""},
		{"4 bytes reloaded as 8", change(straight(4, r(0), r(1)), func(c *code) { c.edits(move(after0, s(0), r(0), 4), move(before1, r(1), s(0), 8)) }), checker.RuleUse, ""},
		{"4 bytes read in a slot", change(straight(4, r(0), s(0)), func(c *code) { c.edits(move(after0, s(0), r(0), 4)) }), no, ""},
		{"4 of 8 bytes moved", change(straight(0, r(0), r(1)), func(c *code) { c.edits(move(after0, r(1), r(0), 4)) }), checker.RuleUse, ""},
		{"4 of 8 bytes spilled", change(straight(0, r(0), r(1)), func(c *code) { c.edits(move(after0, s(0), r(0), 4), move(before1, r(1), s(0), 8)) }), checker.RuleUse, ""},
		{"4 of 16 bytes moved", change(straight(2, f(0), f(1)), func(c *code) { c.edits(move(after0, f(1), f(0), 4)) }), checker.RuleUse, ""},
		{"4 bytes of a reference moved", change(straight(3, r(0), r(1)), func(c *code) { c.edits(move(after0, r(1), r(0), 4)) }), checker.RuleUse, ""},
		{"4 bytes of a float moved", change(straight(1, f(0), f(1)), func(c *code) { c.edits(move(after0, f(1), f(0), 4)) }), checker.RuleUse, ""},
		{"wide reload", change(straight(2, s(0), f(0)), func(c *code) { c.edits(move(after0, f(0), s(0), 16)) }), no, ""},
		{"narrow reload", change(straight(2, s(0), f(0)), func(c *code) { c.edits(move(after0, f(0), s(0), 8)) }), checker.RuleUse, ""},
		{"narrow between registers", change(straight(2, f(1), f(0)), func(c *code) { c.edits(move(after0, f(0), f(1), 8)) }), checker.RuleUse, ""},
		{"half reloaded", change(straight(2, s(0), f(0)), func(c *code) {
			c.edits(move(after0, s(1), r(0), 8), move(after0, f(0), s(0), 16))
		}), checker.RuleUse, ""},
		{"other half reloaded", change(straight(2, s(0), f(0)), func(c *code) { c.edits(move(after0, f(0), s(1), 16)) }), checker.RuleEdit, "no location of this width: s1"},
		{"narrow value moved wide", change(straight(1, f(1), s(2)), func(c *code) { c.edits(move(after0, s(2), f(1), 16)) }), no, ""},
		{"wide move to an odd word", change(straight(1, f(1), s(1)), func(c *code) { c.edits(move(after0, s(1), f(1), 16)) }), checker.RuleEdit, "no location of this width: s1"},
		{"wide move over the next slot", change(straight(1, s(1), s(1)), func(c *code) { c.edits(move(after0, s(0), f(1), 16)) }), checker.RuleUse, ""},
		{"through scratch", change(straight(0, s(1), s(0)), func(c *code) { c.edits(move(after0, f(15), s(1), 8), move(after0, s(0), f(15), 8)) }), no, ""},
		{"scratch across", change(straight(0, r(1), s(0)), func(c *code) {
			c.edits(move(after0, f(15), r(1), 8), move(regalloc.After(1), s(0), f(15), 8))
			c.in.Operands[1], c.out.Allocs[1] = use(0, regalloc.Reg), r(1)
			c.in.Insts[2].OperandEnd = 3
			c.in.Operands = append(c.in.Operands, use(0, regalloc.Any))
			c.out.Allocs = append(c.out.Allocs, s(0))
		}), checker.RuleUse, "block0 inst2"},
		{"wide through int", change(straight(1, f(1), r(0)), func(c *code) { c.edits(move(after0, r(0), f(1), 16)) }), checker.RuleEdit, "16 bytes with an int register"},
		{"memory to memory", change(straight(0, s(1), s(0)), func(c *code) { c.edits(move(after0, s(0), s(1), 8)) }), checker.RuleEdit, "memory to memory"},
		{"to argument", change(straight(0, r(1), r(1)), func(c *code) { c.edits(move(after0, regalloc.InArg(0), r(1), 8)) }), checker.RuleEdit, "not in front of a tail call"},
		{"move outside the frame", change(straight(0, r(1), r(1)), func(c *code) { c.edits(move(after0, s(4), r(1), 8)) }), checker.RuleEdit, "no location of this width: s4"},
		{"wide move half outside the frame", change(straight(1, f(1), s(1)), func(c *code) {
			c.edits(move(after0, s(2), f(1), 16))
			c.out.SlotWords = 3
		}), checker.RuleEdit, "no location of this width: s2"},
		{"move of nothing", change(straight(0, r(1), r(1)), func(c *code) { c.edits(move(after0, s(0), 0, 8)) }), checker.RuleEdit, "no location of this width: -"},
		{"move to a foreign register", change(straight(0, r(1), r(1)), func(c *code) { c.edits(move(after0, r(9), r(1), 8)) }), checker.RuleEdit, "not a register of the allocator: p9i"},
		{"bad kind", change(straight(0, r(1), r(1)), func(c *code) { c.edits(regalloc.Edit{Point: after0, Kind: 7}) }), checker.RuleEdit, "unknown kind"},
		{"bad point", change(straight(0, r(1), r(1)), func(c *code) { c.edits(move(99, r(0), r(1), 8)) }), checker.RuleEdit, "no such instruction"},
		{"after terminator", change(straight(0, r(1), r(1)), func(c *code) { c.edits(move(regalloc.After(2), r(0), r(1), 8)) }), checker.RuleEdit, "edit after to p0i from p1i: after a terminator"},

		{"remat", remat(func(*code) {}), no, ""},
		{"left out", remat(func(c *code) { c.out.Allocs[0] = regalloc.NoAllocation }), no, ""},
		{"left out, and not repeated", remat(func(c *code) { c.out.Allocs[0], c.out.Edits = regalloc.NoAllocation, nil }), checker.RuleUse, ""},
		{"left out, of another", remat(func(c *code) { c.out.Allocs[0], c.in.VRegs[0].Remat = regalloc.NoAllocation, 2 }), checker.RuleConstraint, ""},
		{"left out, of what may not be repeated", change(straight(0, r(0), r(0)), func(c *code) { c.out.Allocs[0] = regalloc.NoAllocation }), checker.RuleConstraint, ""},
		{"left out, with a clobber", remat(func(c *code) {
			c.in.ClobberSets, c.in.Insts[0].Clobbers = []regalloc.Clobbers{{}, {High: 1 << 40}}, 1
			c.out.Allocs[0], c.out.Edits = regalloc.NoAllocation, nil
		}), checker.RuleConstraint, ""},
		{"left out, of a use", remat(func(c *code) { c.out.Allocs[1] = regalloc.NoAllocation }), checker.RuleConstraint, ""},
		{"remat of no inst", remat(func(c *code) { c.out.Edits[0].Inst = 44 }), checker.RuleEdit, ""},
		{"remat of a use", remat(func(c *code) { c.out.Edits[0].Inst = 1 }), checker.RuleEdit, ""},
		{"remat of another", remat(func(c *code) { c.in.VRegs[0].Remat = 2 }), checker.RuleEdit, "may not be repeated"},
		{"remat into memory", remat(func(c *code) { c.out.Edits[0].To = s(0) }), checker.RuleEdit, ""},
		{"remat into another class", remat(func(c *code) { c.out.Edits[0].To = f(0) }), checker.RuleEdit, ""},
		{"remat with a clobber", remat(func(c *code) {
			c.in.ClobberSets, c.in.Insts[0].Clobbers = []regalloc.Clobbers{{}, {High: 1 << 40}}, 1
		}), checker.RuleEdit, "more than"},

		{"remat, with the int scratch register used", intScratch(false), no, ""},
		{"remat, with the int scratch register in use", intScratch(true), checker.RuleUse, "inst2 operand 0 %1"},

		{"swap", swapped(swap(r(0), r(1))), no, ""},
		{"swap, the other way round", swapped(swap(r(1), r(0))), no, ""},
		{"no swap", swapped(move(after0, r(4), r(0), 8)), checker.RuleUse, ""},
		{"swap of another register", swapped(swap(r(0), r(2))), checker.RuleUse, "operand 0 %0 in p1i"},
		{"swap twice", swapped(swap(r(0), r(1)), swap(r(0), r(1))), checker.RuleUse, ""},
		{"swap with nothing", change(straight(4, r(0), r(1)), func(c *code) { c.edits(swap(r(1), r(0))) }), no, ""},
		{"swap loses nothing, but leaves nothing", change(straight(0, r(0), r(0)), func(c *code) { c.edits(swap(r(0), r(1))) }), checker.RuleUse, "read from where nothing known is"},
		{"swap of one register", swapped(swap(r(0), r(0))), checker.RuleEdit, "a swap of what are not two whole registers"},
		{"swap of floats", change(straight(1, f(0), f(1)), func(c *code) { c.edits(swap(f(0), f(1))) }), checker.RuleEdit, "a swap of"},
		{"swap of an int and a float", swapped(swap(r(0), f(1))), checker.RuleEdit, "a swap of"},
		{"swap of a float and an int", swapped(swap(f(1), r(0))), checker.RuleEdit, "a swap of"},
		{"swap with a slot", swapped(swap(r(0), s(1))), checker.RuleEdit, "a swap of"},
		{"swap of a slot", swapped(swap(s(1), r(0))), checker.RuleEdit, "a swap of"},
		{"swap with nowhere", swapped(swap(r(0), 0)), checker.RuleEdit, "a swap of"},
		{"swap with the scratch register", swapped(swap(r(0), f(15))), checker.RuleEdit, "a swap of"},
		{"swap with a register that the machine keeps", swapped(swap(r(0), r(9))), checker.RuleEdit, "a swap of"},
		{"swap with no register", swapped(swap(r(0), r(0)+64)), checker.RuleEdit, "a swap of"},
		{"swap of halves", swapped(regalloc.Edit{Point: after0, Kind: regalloc.Swap, From: r(0), To: r(1), Bytes: 4}), checker.RuleEdit, "a swap of"},
		{"swap of a reference over a safepoint", change(safepoint(r(11), 0), func(c *code) {
			c.edits(swap(r(10), r(11)))
			c.out.StackMapSlots, c.out.StackMaps[0].Slots = nil, regalloc.Range{}
		}), checker.RuleUse, "reference not in the stack map"},
		{"swap of a reference behind a safepoint", change(safepoint(r(11)), func(c *code) {
			c.edits(regalloc.Edit{Point: regalloc.After(1), Kind: regalloc.Swap, From: r(10), To: r(11), Bytes: 8})
		}), checker.RuleUse, ""},
		{"swap, one not in Used", change(swapped(swap(r(0), r(1))), func(c *code) {
			c.edits(swap(r(0), r(1)), swap(r(5), r(6)))
			c.out.Used = regalloc.SetOf(0, 1, 6)
		}), checker.RuleUsed, "p5i"},
		{"swap, the other not in Used", change(swapped(swap(r(0), r(1))), func(c *code) {
			c.edits(swap(r(0), r(1)), swap(r(6), r(5)))
			c.out.Used = regalloc.SetOf(0, 1, 6)
		}), checker.RuleUsed, "p5i"},

		{"swap into a register that is clobbered", change(straight(0, r(0), r(0)), func(c *code) {
			c.edits(swap(r(0), r(1)))
			c.in.ClobberSets, c.in.Insts[1].Clobbers = []regalloc.Clobbers{{}, {Low: 1 << 1}}, 1
			c.in.Insts[1].OperandEnd, c.out.Allocs[1] = 1, r(1)
		}), checker.RuleUse, "inst2 operand 0 %0 in p1i"},

		{"stored constant", stored(0, func(*code) {}), no, ""},
		{"stored constant of 4 bytes", stored(4, func(*code) {}), no, ""},
		{"stored null reference", stored(3, func(*code) {}), no, ""},
		{"stored constant, left out", stored(0, func(c *code) { c.out.Allocs[0] = regalloc.NoAllocation }), no, ""},
		{"stored elsewhere", stored(0, func(c *code) { c.out.Edits[0].To = s(2) }), checker.RuleUse, "in s1"},
		{"stored over", stored(0, func(c *code) { c.edits(c.out.Edits[0], move(before1, s(1), r(3), 8)) }), checker.RuleUse, "in s1"},
		{"stored over the upper half", stored(0, func(c *code) {
			w := c.vreg(2)
			c.in.VRegs = append(c.in.VRegs, c.vregs[w])
			c.in.Operands = slices.Insert(c.in.Operands, 1, regalloc.DefOf(w, regalloc.Any), regalloc.UseOf(w, regalloc.Any))
			c.out.Allocs = slices.Insert(c.out.Allocs, 1, s(0), s(0))
			c.in.Insts[0].OperandEnd, c.in.Insts[1].OperandEnd, c.in.Insts[2].OperandEnd = 1, 2, 4
			c.out.Edits[0].Point = regalloc.After(1)
		}), checker.RuleUse, "only the lower half of %1"},
		{"stored in a register", stored(0, func(c *code) { c.out.Edits[0].To = r(1) }), checker.RuleEdit, "a constant in what is no slot"},
		{"stored in an argument word", stored(0, func(c *code) { c.out.Edits[0].To = regalloc.InArg(0) }), checker.RuleEdit, "no slot"},
		{"stored in a real argument word", change(argument(2), func(c *code) {
			c.in.VRegs = append(c.in.VRegs, regalloc.VRegInfo{Bytes: 8, Remat: 1, Storable: true})
			c.in.Operands[1], c.out.Allocs[1] = def(1), r(0)
			c.edits(regalloc.Edit{Point: regalloc.After(1), Kind: regalloc.StoreConst, To: regalloc.InArg(2), Inst: 1, Bytes: 8})
		}), checker.RuleEdit, "no slot"},
		{"stored outside the frame", stored(0, func(c *code) { c.out.Edits[0].To = s(4) }), checker.RuleEdit, "no slot"},
		{"stored with another width", stored(0, func(c *code) { c.out.Edits[0].Bytes = 4 }), checker.RuleEdit, "cannot be stored so"},
		{"stored with more width", stored(4, func(c *code) { c.out.Edits[0].Bytes = 8 }), checker.RuleEdit, "cannot be stored so"},
		{"stored, but not storable", stored(0, func(c *code) { c.in.VRegs[0].Storable = false }), checker.RuleEdit, "cannot be stored so"},
		{"stored, but not to be made again", stored(0, func(c *code) { c.in.VRegs[0].Remat = regalloc.NoInst }), checker.RuleEdit, "may not be repeated"},
		{"stored, of no inst", stored(0, func(c *code) { c.out.Edits[0].Inst = 44 }), checker.RuleEdit, "no such instruction"},
		{"stored, of a use", stored(0, func(c *code) { c.out.Edits[0].Inst = 1 }), checker.RuleEdit, "may not be repeated"},

		{"def over use", pair(0, []operand{use(0, 0), def(2)}, r(0), r(0)), no, ""},
		{"two defs", pair(0, []operand{def(2), def(3)}, r(0), r(0)), checker.RuleConflict, "operand 1 %3 in p0i: shares its register with a def operand"},
		{"def over late use", pair(0, []operand{def(2), late}, r(1), r(1)), checker.RuleConflict, "shares its register with a def"},
		{"late use under def", pair(0, []operand{late, def(2)}, r(1), r(1)), checker.RuleConflict, "with a late operand"},
		{"early def over use", pair(0, []operand{early, use(0, 0)}, r(0), r(0)), checker.RuleConflict, "with a early operand"},
		{"use shared", pair(0, []operand{use(0, 0), use(0, 0), late}, r(0), r(0), r(1)), no, ""},
		{"defs in one slot", pair(0, []operand{regalloc.DefOf(2, 0), regalloc.DefOf(3, 0)}, s(1), s(1)), checker.RuleConflict, "shares its place"},
		{"use clobbered", pair(1, []operand{use(0, 0)}, r(0)), no, ""},
		{"late use clobbered", pair(1, []operand{use(0, 0), late}, r(0), r(1)), checker.RuleConflict, "operand 1 %1 in p1i: in a register that the instruction clobbers"},
		{"def clobbered", pair(1, []operand{def(2)}, r(2)), checker.RuleConflict, ""},
		{"fixed def clobbered", pair(1, []operand{regalloc.FixedDef(2, 2)}, r(2)), no, ""},
		{"fixed elsewhere", pair(0, []operand{regalloc.FixedDef(2, 2)}, r(3)), checker.RuleConstraint, "must be in the register p2i"},
		{"fixed float for int", pair(0, []operand{regalloc.FixedDef(2, 33)}, f(1)), checker.RuleConstraint, ""},
		{"fixed but not allocatable", pair(0, []operand{regalloc.FixedDef(2, 7)}, r(7)), checker.RuleConstraint, "must be in the register p7i"},
		{"narrow, upper half clobbered", halves(1, high, regalloc.Use), no, ""},
		{"wide, upper half clobbered", halves(2, high, regalloc.Use), checker.RuleUse, "inst2 operand 0 %0 in p2f: read from where nothing known is"},
		{"narrow, lower half clobbered", halves(1, low, regalloc.Use), checker.RuleUse, "read from where nothing known is"},
		{"wide, lower half clobbered", halves(2, low, regalloc.Use), checker.RuleUse, "read from where nothing known is"},
		{"narrow late use, upper half clobbered", halves(1, high, regalloc.LateUse), no, ""},
		{"wide late use, upper half clobbered", halves(2, high, regalloc.LateUse), checker.RuleConflict, "operand 0 %0 in p2f: in a register that the instruction clobbers"},
		{"narrow def, upper half clobbered", change(straight(1, f(2), f(2)), func(c *code) {
			c.in.ClobberSets, c.in.Insts[0].Clobbers = []regalloc.Clobbers{{}, high}, 1
		}), no, ""},
		{"wide def, upper half clobbered", change(straight(2, f(2), f(2)), func(c *code) {
			c.in.ClobberSets, c.in.Insts[0].Clobbers = []regalloc.Clobbers{{}, high}, 1
		}), checker.RuleConflict, "operand 0 %0 in p2f: in a register that the instruction clobbers"},
		{"upper half of a callee-saved register not in Used", change(halves(1, regalloc.Clobbers{High: 1 << 42}, regalloc.Use), func(c *code) {
			c.out.Used = regalloc.SetOf(34)
		}), no, ""},
		{"callee-saved register not in Used", change(halves(1, regalloc.Clobbers{Low: 1 << 42}, regalloc.Use), func(c *code) {
			c.out.Used = regalloc.SetOf(34)
		}), checker.RuleUsed, "p10f"},
		{"fixed scratch", pair(0, []operand{regalloc.FixedDef(2, 47)}, f(15)), checker.RuleConstraint, ""},
		{"fixed nowhere", pair(0, []operand{{VReg: 2, Constraint: regalloc.Fixed, Access: regalloc.Def, Arg: 256}}, r(0)), checker.RuleConstraint, "p?256"},
		{"reuse", pair(0, []operand{use(0, regalloc.Reg), regalloc.ReuseDef(2, 0)}, r(0), r(0)), no, ""},
		{"reuse elsewhere", pair(0, []operand{use(0, regalloc.Reg), regalloc.ReuseDef(2, 0)}, r(0), r(2)), checker.RuleConstraint, "the use it names"},
		{"reuse of nothing", pair(0, []operand{regalloc.ReuseDef(2, 3)}, r(0)), checker.RuleConstraint, ""},
		{"reg in slot", pair(0, []operand{def(2)}, s(0)), checker.RuleConstraint, "class int"},
		{"late argument", pair(0, []operand{regalloc.StackArgDef(2, 0)}, regalloc.InArg(0)), checker.RuleInput, "names a word of the arguments"},
		{"bad constraint", pair(0, []operand{{VReg: 0, Constraint: 9}}, r(0)), checker.RuleConstraint, "known constraint"},
		{"bad access", pair(0, []operand{{VReg: 0, Access: 9}}, r(0)), checker.RuleInput, "malformed"},
		{"bad vreg", pair(0, []operand{use(77, 0)}, r(0)), checker.RuleInput, "malformed"},

		{"safepoint", safepoint(s(0), 0), no, ""},
		{"safepoint, register", safepoint(r(10), 0), checker.RuleUse, "reference not in the stack map"},
		{"safepoint, other slot", safepoint(s(1), 0), checker.RuleUse, "reference not in the stack map"},
		{"safepoint, both", safepoint(s(1), 0, 1), no, ""},
		{"safepoint, plain value", safepoint(s(0), 0, 2), checker.RuleStackMap, "inst1 in s2: listed but no reference: %1"},
		{"safepoint, nothing", safepoint(s(0), 0, 3), checker.RuleStackMap, "listed but no reference: nothing known"},
		{"safepoint, order", safepoint(s(0), 1, 0), checker.RuleStackMap, "malformed"},
		{"safepoint, beyond", safepoint(s(0), 0, 9), checker.RuleStackMap, "malformed"},
		{"safepoint, early def", change(safepoint(s(1), 0, 1), func(c *code) {
			c.in.Operands = append(c.in.Operands[:2:2], with(regalloc.DefOf(0, regalloc.Any), regalloc.EarlyDef), c.in.Operands[2])
			c.out.Allocs = append(c.out.Allocs[:2:2], s(0), c.out.Allocs[2])
			for i := 1; i < 4; i++ {
				c.in.Insts[i].OperandEnd++
			}
		}), checker.RuleStackMap, "overwrites it early"},

		{"loop", loop(move(0, r(0), r(3), 8)), no, ""},
		{"stale over the back edge", loop(), checker.RuleClaim, "block2 inst5 %2 in p0i: claimed at the entry of block1, but there comes %2"},
		{"lost over the back edge", loop(move(0, r(0), r(3), 8), move(0, r(1), r(3), 8)), checker.RuleClaim, "%1 in p1i"},
		{"twins", twins(0), no, ""},
		{"twin references", twins(3), no, ""},
		{"twin wides", twins(2), no, ""},
		{"twin references, not listed", change(twins(3), func(c *code) { c.out.StackMaps[0].Slots.End = 0 }), checker.RuleUse,
			"a reference not in the stack map of a safepoint before and %"},
		{"twins of 4 bytes", twins(4), no, ""},
		{"twins of 4 bytes, reloaded", reloaded(4, 4), no, ""},
		{"twins of 4 bytes, reloaded as 8", reloaded(4, 8), checker.RuleUse, "inst4 operand 0 %1 in p0i"},
		{"twins of 8 bytes, reloaded as 4", reloaded(0, 4), checker.RuleUse, "inst4 operand 0 %1 in p0i"},
		{"copies", copies(), no, ""},

		{"no code", change(loop(), func(c *code) { c.in = &regalloc.Input{} }), checker.RuleInput, "no code"},
		{"no clobber sets", in(func(in *regalloc.Input) { in.ClobberSets = nil }), checker.RuleInput, "clobber set"},
		{"clobbers without a number", in(func(in *regalloc.Input) { in.ClobberSets = []regalloc.Clobbers{{High: 1}} }), checker.RuleInput, "clobber set"},
		{"bytes", in(func(in *regalloc.Input) { in.VRegs[0].Bytes = 2 }), checker.RuleInput, ""},
		{"8 bytes for a parameter of 4", in(func(in *regalloc.Input) { in.VRegs[2].Bytes = 4 }), checker.RuleInput, "an argument does not fit its parameter"},
		{"4 bytes for a parameter of 8", change(twins(4), func(c *code) { c.in.VRegs[1].Bytes = 8 }), checker.RuleInput, "an argument does not fit its parameter"},
		{"blocks", in(func(in *regalloc.Input) { in.Blocks[1].Insts.Start++ }), checker.RuleInput, "partition"},
		{"insts left", in(func(in *regalloc.Input) { in.Blocks = in.Blocks[:3]; in.Edges[2].To = 0 }), checker.RuleInput, ""},
		{"terminator", in(func(in *regalloc.Input) { in.Insts[3].Flags = 0 }), checker.RuleInput, "malformed"},
		{"args", in(func(in *regalloc.Input) { in.Edges[0].Args.End-- }), checker.RuleInput, "edges"},
		{"no args there", in(func(in *regalloc.Input) { in.Edges[1].Args = regalloc.Range{Start: 99, End: 99} }), checker.RuleInput, "edges"},
		{"clobbers", in(func(in *regalloc.Input) { in.Insts[0].Clobbers = 99 }), checker.RuleInput, "malformed"},
		{"operands", in(func(in *regalloc.Input) { in.Insts[2].OperandEnd = 99 }), checker.RuleInput, "malformed"},
		{"edges", in(func(in *regalloc.Input) { in.Blocks[0].Succs.End = 99 }), checker.RuleInput, "edges"},
		{"params", in(func(in *regalloc.Input) { in.Blocks[1].Params.End = 99 }), checker.RuleInput, "edges"},
		{"entry params", in(func(in *regalloc.Input) { in.Blocks[0].Params.End = 99 }), checker.RuleInput, "parameters"},
		{"param twice", in(func(in *regalloc.Input) {
			in.Blocks[2].Params, in.Edges[1].Args = in.Blocks[1].Params, in.Edges[0].Args
		}), checker.RuleInput, "defined twice"},
		{"argument type", in(func(in *regalloc.Input) { in.VRegs[2].Ref = true }), checker.RuleInput, "does not fit"},
		{"entry as a loop", in(func(in *regalloc.Input) { in.Edges[1].To = 0 }), checker.RuleInput, "entry"},
		{"unreachable", in(func(in *regalloc.Input) { in.Edges[1].To = 3 }), checker.RuleInput, "block2: not reachable"},
		{"parameter defined", change(copies(), func(c *code) { c.in.Operands[0].VReg = 2 }), checker.RuleInput, "second definition"},
		{"parameter of itself", change(copies(), func(c *code) { c.in.VRegLists[c.in.Edges[1].Args.Start] = 2 }), checker.RuleInput, "by itself"},
		{"parameters of each other", change(copies(), func(c *code) { c.in.VRegLists[c.in.Edges[0].Args.Start] = 2 }), checker.RuleInput, "by itself"},

		{"frame", out(func(o *regalloc.Output) { o.SlotWords = 1 << 40 }), checker.RuleShape, "spill area"},
		{"allocations", out(func(o *regalloc.Output) { o.Allocs = nil }), checker.RuleShape, "0 allocations for 5 operands"},
		{"maps", out(func(o *regalloc.Output) { o.StackMaps = make([]regalloc.StackMap, 1) }), checker.RuleStackMap, "1 stack maps for 0"},
		{"used", out(func(o *regalloc.Output) { o.Used = 0 }), checker.RuleUsed, "in p0i: written"},
	})
	if err := checker.New().Check(nil, testEnv(), nil, checker.Options{}); err == nil {
		t.Error("nothing passes")
	}
}

// checkRules checks each allocation in both modes. A false claim shows by a use in the mode that does not look at claims.
func checkRules(t *testing.T, tests []rule) {
	c := checker.New()
	for _, test := range tests {
		env := test.c.env
		if env == nil {
			env = testEnv()
		}
		for _, fix := range []bool{false, true} {
			err := c.Check(test.c.in, env, test.c.out, checker.Options{Fixpoint: fix})
			var e *checker.Error
			switch {
			case test.rule == no && err != nil:
				t.Errorf("%s: %v", test.name, err)
			case test.rule == no:
			case !errors.As(err, &e):
				t.Errorf("%s (fixpoint %v): no error", test.name, fix)
			case fix && test.rule == checker.RuleClaim:
				if e.Rule != checker.RuleUse {
					t.Errorf("%s: %v, not a use", test.name, err)
				}
			case e.Rule != test.rule || !strings.Contains(err.Error(), test.msg) || strings.Contains(err.Error(), "\n"):
				t.Errorf("%s (fixpoint %v): got %q, want rule %v with %q", test.name, fix, err, test.rule, test.msg)
			}
		}
	}
}

func TestClaimRules(t *testing.T) {
	tests := []struct {
		msg string
		f   func(o *regalloc.Output)
	}{
		{"", func(o *regalloc.Output) {}},
		{"claim ends", func(o *regalloc.Output) { o.ClaimEnd = o.ClaimEnd[:2] }},
		{"malformed", func(o *regalloc.Output) { o.ClaimEnd[1] = 77 }},
		{"or the entry has some", func(o *regalloc.Output) { o.ClaimEnd[0] = 1 }},
		{"of no block", func(o *regalloc.Output) { o.Claims = append(o.Claims, o.Claims[0]) }},
		{"no such virtual register", func(o *regalloc.Output) { o.Claims[1].VReg = regalloc.NoVReg }},
		{"block1 %1: no such location", func(o *regalloc.Output) { o.Claims[1].Loc = 0 }},
		{"no such location", func(o *regalloc.Output) { o.Claims[1].Loc = f(15) }},
		{"no such location", func(o *regalloc.Output) { o.Claims[1].Loc = s(4) }},
		{"no such location", func(o *regalloc.Output) { o.Claims[1].Loc = regalloc.InArg(0) }},
		{"nothing known", func(o *regalloc.Output) { o.Claims[1].Loc = s(3) }},
	}
	c := checker.New()
	for _, test := range tests {
		x := loop(move(0, r(0), r(3), 8))
		test.f(x.out)
		err := c.Check(x.in, testEnv(), x.out, checker.Options{})
		if test.msg == "" && err != nil || test.msg != "" && (err == nil || !strings.Contains(err.Error(), test.msg)) {
			t.Errorf("got %v, want %q", err, test.msg)
		}
		if err := c.Check(x.in, testEnv(), x.out, checker.Options{Fixpoint: true}); err != nil {
			t.Errorf("fixpoint mode looks at claims: %v", err)
		}
	}
	// Claims of two words must begin at even ones.
	for word, msg := range []string{"", "no such location", "nothing known"} {
		x := straight(2, s(0), s(0))
		x.block()
		x.ret(x.blocks[1], nil)
		x.blocks[0].insts = x.blocks[0].insts[:2]
		x.add(x.blocks[0], regalloc.IsTerminator, 0, nil)
		x.blocks[0].succs = []genEdge{{x.blocks[1], nil}}
		x.finish()
		x.claims(regalloc.Claim{Loc: s(word), VReg: 0})
		err := c.Check(x.in, testEnv(), x.out, checker.Options{})
		if msg == "" && err != nil || msg != "" && (err == nil || !strings.Contains(err.Error(), msg)) {
			t.Errorf("a claim at word %d: %v, want %q", word, err, msg)
		}
	}
	// Claims of several words that collide with each other.
	for _, kinds := range [][2]int{{2, 1}, {1, 2}, {1, 0}} {
		x := &code{}
		v, w := x.vreg(kinds[0]), x.vreg(kinds[1])
		b0, b1 := x.block(), x.block()
		x.add(b0, 0, 0, []operand{regalloc.DefOf(v, regalloc.Any), regalloc.DefOf(w, regalloc.Any)}, s(0), s(2))
		x.add(b0, regalloc.IsTerminator, 0, nil)
		x.ret(b1, nil)
		b0.succs = []genEdge{{b1, nil}}
		x.finish()
		for _, at := range [][2]int{{0, 1}, {1, 0}, {0, 0}} {
			x.claims(regalloc.Claim{Loc: s(at[0]), VReg: v}, regalloc.Claim{Loc: s(at[1]), VReg: w})
			if err := c.Check(x.in, testEnv(), x.out, checker.Options{}); err == nil {
				t.Errorf("colliding claims %v pass", x.out.Claims)
			}
		}
	}
	// A block that claims what it will check an own edge against: the claims
	// are entered before its edges are looked at.
	for _, at := range [][2]int{{0, 1}, {1, 0}, {0, 0}} {
		x := &code{}
		v, w := x.vreg(2), x.vreg(1)
		b0, b1, b2 := x.block(), x.block(), x.block()
		x.add(b0, 0, 0, []operand{regalloc.DefOf(v, regalloc.Any)}, s(0))
		x.add(b0, regalloc.IsTerminator, 0, nil)
		x.ret(b1, nil)
		x.add(b2, 0, 0, []operand{regalloc.DefOf(w, regalloc.Any)}, s(0))
		x.add(b2, regalloc.IsTerminator, 0, nil)
		b0.succs, b2.succs = []genEdge{{b2, nil}}, []genEdge{{b1, nil}}
		x.finish()
		x.out.Claims = []regalloc.Claim{{Loc: s(0), VReg: v}, {Loc: s(at[1]), VReg: w}}
		if at[0] == 1 {
			x.out.Claims = []regalloc.Claim{{Loc: s(1), VReg: w}, {Loc: s(0), VReg: v}}
		}
		// The claim of block2 keeps it from being visited before block1.
		x.out.Claims = append(x.out.Claims, regalloc.Claim{Loc: s(0), VReg: v})
		x.out.ClaimEnd = []uint32{0, 2, 3}
		err := c.Check(x.in, testEnv(), x.out, checker.Options{})
		if err == nil || !strings.Contains(err.Error(), "overlaps another claim") {
			t.Errorf("claims %v: %v", x.out.Claims, err)
		}
	}
}

// TestVacuous: an entry block without any instruction but its terminator, and a
// planted fault behind it, must be reported.
func TestVacuous(t *testing.T) {
	c := &code{}
	v := c.vreg(0)
	b0, b1 := c.block(), c.block()
	c.add(b0, regalloc.IsTerminator, 0, nil)
	c.add(b1, 0, 0, []operand{def(v)}, r(0))
	c.ret(b1, []operand{use(v, regalloc.Reg)}, r(1))
	b0.succs = []genEdge{{b1, nil}}
	c.finish()
	for _, fix := range []bool{false, true} {
		if err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{Fixpoint: fix}); err == nil {
			t.Errorf("fixpoint %v: passes", fix)
		}
	}
}

// TestDamagedOutputs: whatever is in an Output, there is an error or none, but
// no panic, and the context works afterwards.
func TestDamagedOutputs(t *testing.T) {
	env := testEnv()
	c := checker.New()
	bad := 0
	for seed := range uint64(40) {
		in := generate(seed, 15)
		good := allocate(seed, in, env)
		rnd := rand.New(rand.NewPCG(seed, 9))
		for range 150 {
			out := cloneOut(good)
			for range 1 + rnd.IntN(4) {
				damage(rnd, out)
			}
			for _, fix := range []bool{false, true} {
				if c.Check(in, env, out, checker.Options{Fixpoint: fix}) != nil {
					bad++
				}
			}
		}
		if err := c.Check(in, env, good, checker.Options{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%d of %d rejected", bad, 40*150*2)
}

func damage(rnd choices, o *regalloc.Output) {
	word := func() uint32 {
		switch rnd.IntN(4) {
		case 0:
			return rnd.Uint32()
		case 1:
			return uint32(rnd.IntN(70))
		case 2:
			return uint32(1+rnd.IntN(3))<<30 | uint32(rnd.IntN(100))
		}
		return ^uint32(0) >> rnd.IntN(32)
	}
	pick := func(n int) int {
		if n == 0 {
			return 0
		}
		return rnd.IntN(n)
	}
	switch k := rnd.IntN(16); {
	case k == 0 && len(o.Allocs) > 0:
		o.Allocs[pick(len(o.Allocs))] = loc(word())
	case k == 1:
		o.Allocs = o.Allocs[:pick(len(o.Allocs))]
	case k == 2 && len(o.Edits) > 0:
		o.Edits[pick(len(o.Edits))].From = loc(word())
	case k == 3 && len(o.Edits) > 0:
		o.Edits[pick(len(o.Edits))].To = loc(word())
	case k == 4 && len(o.Edits) > 0:
		o.Edits[pick(len(o.Edits))].Point = regalloc.ProgPoint(word())
	case k == 5 && len(o.Edits) > 0:
		e := &o.Edits[pick(len(o.Edits))]
		e.Kind, e.Inst, e.Bytes = regalloc.EditKind(rnd.IntN(5)), regalloc.Inst(word()), uint8(word())
	case k == 6:
		o.SlotWords = int(int32(word()))
	case k == 7 && len(o.StackMaps) > 0:
		o.StackMaps[pick(len(o.StackMaps))].Slots = regalloc.Range{Start: word(), End: word()}
	case k == 8 && len(o.StackMaps) > 0:
		o.StackMaps[pick(len(o.StackMaps))].Inst = regalloc.Inst(word())
	case k == 9 && len(o.StackMapSlots) > 0:
		o.StackMapSlots[pick(len(o.StackMapSlots))] = word()
	case k == 10 && len(o.Claims) > 0:
		o.Claims[pick(len(o.Claims))].Loc = loc(word())
	case k == 11 && len(o.Claims) > 0:
		o.Claims[pick(len(o.Claims))].VReg = vreg(word())
	case k == 12 && len(o.ClaimEnd) > 0:
		o.ClaimEnd[pick(len(o.ClaimEnd))] = word()
	case k == 13:
		o.ClaimEnd = o.ClaimEnd[:pick(len(o.ClaimEnd))]
	case k == 14 && len(o.Claims) > 0:
		o.Claims[pick(len(o.Claims))] = o.Claims[pick(len(o.Claims))]
	case k == 15:
		o.SlotWords = rnd.IntN(8)
	}
}

func TestSteadyStateAllocs(t *testing.T) {
	in := generate(3, 100)
	env := testEnv()
	out := allocate(3, in, env)
	c := checker.New()
	check := func() {
		if err := c.Check(in, env, out, checker.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if n := testing.AllocsPerRun(10, check); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	env := testEnv()
	// Of large blocks, and of small ones with many claims.
	for _, mode := range []string{"claims", "large", "fixpoint"} {
		b.Run(mode, func(b *testing.B) {
			var ins []*regalloc.Input
			var outs []*regalloc.Output
			operands := 0
			for seed := range uint64(40) {
				size := 150
				if mode == "large" {
					size = 300
				}
				in := generate(seed, size)
				ins, outs = append(ins, in), append(outs, allocate(seed, in, env))
				operands += len(in.Operands)
			}
			claims, edits := 0, 0
			for _, o := range outs {
				claims += len(o.Claims)
				edits += len(o.Edits)
			}
			c := checker.New()
			b.ReportAllocs()
			for b.Loop() {
				for k := range ins {
					if err := c.Check(ins[k], env, outs[k], checker.Options{Fixpoint: mode == "fixpoint"}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*operands), "ns/operand")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(operands+edits+claims)), "ns/item")
			b.ReportMetric(float64(edits)/float64(operands), "edits/operand")
			b.ReportMetric(float64(claims)/float64(operands), "claims/operand")
		})
	}
}

// TestContinuedBlock: of a block with one way in nothing needs to be claimed; of
// others, what they use does.
func TestContinuedBlock(t *testing.T) {
	for _, test := range []struct {
		name   string
		reader int // which of the three blocks after the entry reads
		join   bool
		at     loc
		rule   checker.Rule
	}{
		{"next", 1, false, r(0), 0},
		{"next but elsewhere", 1, false, r(1), checker.RuleUse},
		{"not next", 2, false, r(0), 0},
		{"not next, and elsewhere", 2, false, r(1), checker.RuleUse},
		{"two ways", 3, true, r(0), checker.RuleUse},
		{"after another", 3, false, r(0), 0},
		{"after another, and elsewhere", 3, false, r(1), checker.RuleUse},
	} {
		c := &code{}
		v := c.vreg(0)
		b := []*genBlock{c.block(), c.block(), c.block(), c.block()}
		c.add(b[0], 0, 0, []operand{def(v)}, r(0))
		c.add(b[0], regalloc.IsTerminator, 0, nil)
		b[0].succs = []genEdge{{b[1], nil}, {b[2], nil}}
		b[2].succs = []genEdge{{b[3], nil}}
		if test.join {
			b[1].succs = []genEdge{{b[3], nil}}
		}
		for k := 1; k < 4; k++ {
			if k == test.reader {
				c.add(b[k], 0, 0, []operand{use(v, regalloc.Reg)}, test.at)
			}
			if len(b[k].succs) > 0 {
				c.add(b[k], regalloc.IsTerminator, 0, nil)
			} else {
				c.ret(b[k], nil)
			}
		}
		c.finish()
		err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{})
		var e *checker.Error
		if errors.As(err, &e); (err == nil) != (test.rule == 0) || e != nil && e.Rule != test.rule {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestClaimedSibling: of the blocks after a branch, those that something is claimed
// of are checked against their claims, the others go on, in whatever order.
func TestClaimedSibling(t *testing.T) {
	for claimed := 1; claimed <= 3; claimed++ {
		for _, at := range []loc{r(0), r(1)} {
			c := &code{}
			v := c.vreg(0)
			b := []*genBlock{c.block(), c.block(), c.block(), c.block()}
			c.add(b[0], 0, 0, []operand{def(v)}, r(0))
			c.add(b[0], regalloc.IsTerminator, 0, nil)
			for k := 1; k <= 3; k++ {
				b[0].succs = append(b[0].succs, genEdge{b[k], nil})
				c.ret(b[k], []operand{use(v, regalloc.Reg)}, r(0))
			}
			c.finish()
			c.out.Claims = []regalloc.Claim{{Loc: at, VReg: v}}
			for k := claimed; k <= 3; k++ {
				c.out.ClaimEnd[k] = 1
			}
			err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{})
			var e *checker.Error
			if errors.As(err, &e); (err == nil) != (at == r(0)) || e != nil && e.Rule != checker.RuleClaim {
				t.Errorf("block%d, %v: %v", claimed, at, err)
			}
		}
	}
}

// TestClaim: the claims that the fixpoint finds pass, where those of an allocator
// do and where it has made none.
func TestClaim(t *testing.T) {
	env := testEnv()
	c := checker.New()
	for seed := range uint64(60) {
		in := generate(seed, 40)
		out := allocate(seed, in, env)
		for range 2 {
			if err := c.Check(in, env, out, checker.Options{Fixpoint: true}); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			c.Claim(out)
			if err := c.Check(in, env, out, checker.Options{}); err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, dump(in, out))
			}
			out.Claims = nil
			clear(out.ClaimEnd)
		}
	}
}

// TestSiblings: what one of several blocks after a branch does to the state is not
// seen in the others, in whatever order they are visited.
func TestSiblings(t *testing.T) {
	nothing := func(*code, *genBlock, vreg) {}
	inst := func(flags regalloc.InstFlags, clobbers uint16, at loc, ops ...operand) func(*code, *genBlock, vreg) {
		return func(c *code, b *genBlock, _ vreg) {
			c.add(b, flags, clobbers, ops, []loc{at}[:len(ops)]...)
		}
	}
	for _, test := range []struct {
		name string
		kind int
		at   loc // of the value at the branch
		does func(c *code, b *genBlock, v vreg)
		move loc // where it is copied in that block, too
		read loc // where the others read it
		ok   bool
	}{
		{"nothing", 0, r(0), nothing, 0, r(0), true},
		{"overwritten in a register", 0, r(0), inst(0, 0, r(0), def(1)), 0, r(0), true},
		{"overwritten in a slot", 2, s(0), inst(0, 0, s(1), regalloc.DefOf(1, regalloc.Any)), 0, s(0), true},
		{"clobbered", 0, r(0), inst(0, 1, 0), 0, r(0), true},
		{"moved to a register", 0, r(0), nothing, r(1), r(1), false},
		{"moved to a slot", 2, f(0), nothing, s(0), s(0), false},
		{"moved over", 0, r(0), inst(0, 0, r(1), def(1)), r(0), r(0), true},
		{"a safepoint elsewhere", 3, s(0), inst(regalloc.Safepoint, 1, 0), 0, s(0), true},
	} {
		for doer := range 3 {
			c := &code{}
			v := c.vreg(test.kind)
			c.vreg(0)
			b := []*genBlock{c.block(), c.block(), c.block(), c.block()}
			c.add(b[0], 0, 0, []operand{regalloc.DefOf(v, regalloc.Any)}, test.at)
			c.add(b[0], regalloc.IsTerminator, 0, nil)
			end := regalloc.Inst(0)
			for k := 1; k < 4; k++ {
				b[0].succs = append(b[0].succs, genEdge{b[k], nil})
				if k-1 == doer {
					test.does(c, b[k], v)
					c.ret(b[k], nil)
					end = regalloc.Inst(len(b[0].insts) + 2*(k-1) + len(b[k].insts) - 1)
					continue
				}
				c.add(b[k], 0, 0, []operand{use(v, regalloc.Any)}, test.read)
				c.ret(b[k], nil)
			}
			c.finish()
			if test.move != 0 {
				from := test.at
				if test.move == from {
					from = r(1)
				}
				c.edits(move(regalloc.Before(end), test.move, from, c.in.VRegs[v].Bytes))
			}
			for i, info := range c.in.Insts {
				if info.Flags&regalloc.Safepoint != 0 {
					c.out.StackMaps = []regalloc.StackMap{{Inst: regalloc.Inst(i)}}
				}
			}
			for _, fix := range []bool{false, true} {
				if err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{Fixpoint: fix}); (err == nil) != test.ok {
					t.Errorf("%s in block%d, fixpoint %v: %v", test.name, doer+1, fix, err)
				}
			}
		}
	}
}

// TestClobberedCalleeSaved: a callee-saved register that an instruction clobbers
// is changed as one that is written is.
func TestClobberedCalleeSaved(t *testing.T) {
	env := testEnv()
	env.CalleeSaved = env.CalleeSaved.Add(2)
	c := pair(2, nil)
	for _, used := range []regalloc.PRegSet{^regalloc.PRegSet(0), regalloc.SetOf(0, 1, 34)} {
		c.out.Used = used
		for _, fix := range []bool{false, true} {
			err := checker.New().Check(c.in, env, c.out, checker.Options{Fixpoint: fix})
			var e *checker.Error
			if errors.As(err, &e); (err == nil) != used.Has(2) || e != nil && (e.Rule != checker.RuleUsed || e.Loc != r(2)) {
				t.Errorf("used %x: %v", used, err)
			}
		}
	}
}

// TestClaimOfCopy: a claim by the name of a parameter's copy is one of the parameter:
// what is passed has to be there.
func TestClaimOfCopy(t *testing.T) {
	for _, passed := range []bool{true, false} {
		c := &code{}
		v, p, w, next := c.vreg(0), c.vreg(0), c.vreg(0), c.vreg(0)
		b0, b1, b2, b3 := c.block(), c.block(), c.block(), c.block()
		b1.params, b2.params = []vreg{p}, []vreg{w}
		c.add(b0, 0, 0, []operand{def(v)}, r(0))
		c.add(b0, regalloc.IsTerminator, 0, nil)
		c.add(b1, 0, 0, []operand{use(p, regalloc.Reg)}, r(0))
		c.add(b1, regalloc.IsTerminator, 0, nil)
		c.add(b2, 0, 0, []operand{def(next)}, r(3))
		c.add(b2, regalloc.IsTerminator, 0, nil)
		c.ret(b3, nil)
		b0.succs = []genEdge{{b1, []vreg{v}}}
		b1.succs = []genEdge{{b2, []vreg{p}}, {b3, nil}}
		b2.succs = []genEdge{{b1, []vreg{next}}}
		c.finish()
		if passed {
			c.edits(move(regalloc.Before(5), r(0), r(3), 8))
		}
		c.out.Claims = []regalloc.Claim{{Loc: r(0), VReg: regalloc.VReg(w)}}
		c.out.ClaimEnd = []uint32{0, 1, 1, 1}
		for _, fix := range []bool{false, true} {
			err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{Fixpoint: fix})
			if (err == nil) != passed {
				t.Errorf("passed %v, fixpoint %v: %v", passed, fix, err)
			}
		}
	}
}

// TestEarlyRemat: what was repeated before the definition is no longer there after it, even if that is left out.
func TestEarlyRemat(t *testing.T) {
	for n := range 4 {
		early, at := n&1 != 0, [...]loc{r(0), regalloc.NoAllocation}[n>>1]
		c := &code{}
		v := c.vreg(0)
		b := c.block()
		c.add(b, 0, 0, nil)
		c.add(b, 0, 0, []operand{def(v)}, at)
		c.add(b, 0, 0, []operand{use(v, regalloc.Reg)}, r(1))
		c.ret(b, nil)
		c.finish()
		c.in.VRegs[v].Remat = 1
		point := regalloc.After(1)
		if early {
			point = regalloc.After(0)
		}
		c.edits(regalloc.Edit{Point: point, Kind: regalloc.Remat, To: r(1), Inst: 1, Bytes: 8})
		for _, fix := range []bool{false, true} {
			err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{Fixpoint: fix})
			if (err != nil) != early {
				t.Errorf("early %v, definition in %v, fixpoint %v: %v", early, at, fix, err)
			}
		}
	}
}

// TestDefinedOnce: a value has one definition, also where another would do no harm: on another way, in a block that begins with claims, beside the first
// one, of a parameter, or of a value that is left out. A visit of a fixpoint is none.
func TestDefinedOnce(t *testing.T) {
	const (
		once = iota
		otherWay
		behindJoin
		beside
		ofParam
		leftOut
		numCases
	)
	for n := range numCases {
		c := &code{}
		v, w, p := c.vreg(0), c.vreg(0), c.vreg(0)
		b0, b1, b2, b3 := c.block(), c.block(), c.block(), c.block()
		b3.params = []vreg{p}
		c.add(b0, 0, 0, nil)
		c.add(b0, regalloc.IsTerminator, 0, nil)
		define := func(b *genBlock, v vreg, at loc) {
			c.add(b, 0, 0, []operand{def(v)}, at)
			if at != regalloc.NoAllocation {
				c.add(b, 0, 0, []operand{use(v, regalloc.Reg)}, at)
			}
		}
		args := [2]vreg{v, w}
		switch n {
		case otherWay:
			args[1] = v
			define(b1, v, r(0))
			define(b2, v, r(0))
		case leftOut:
			define(b1, v, regalloc.NoAllocation)
			define(b1, v, r(0))
			define(b2, w, r(0))
		case beside:
			c.add(b1, 0, 0, []operand{def(v), def(v)}, r(0), r(1))
			define(b2, w, r(0))
		default:
			define(b1, v, r(0))
			define(b2, w, r(0))
		}
		c.add(b1, regalloc.IsTerminator, 0, nil)
		c.add(b2, regalloc.IsTerminator, 0, nil)
		switch n {
		case behindJoin:
			define(b3, v, r(1))
		case ofParam:
			define(b3, p, r(1))
		}
		c.ret(b3, nil)
		b0.succs = []genEdge{{b1, nil}, {b2, nil}}
		b1.succs = []genEdge{{b3, args[:1]}}
		b2.succs = []genEdge{{b3, args[1:]}}
		c.finish()
		if n == leftOut {
			c.in.VRegs[v].Remat = 2
		}
		for _, fix := range []bool{false, true} {
			err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{Fixpoint: fix})
			var e *checker.Error
			if n == once && err == nil || errors.As(err, &e) && e.Rule == checker.RuleInput && strings.Contains(err.Error(), "second definition") {
				continue
			}
			t.Errorf("case %d, fixpoint %v: %v", n, fix, err)
		}
	}
}

// TestSecondDefinition: a value that is defined again, against I3, is refused where that happens, wherever the value was.
func TestSecondDefinition(t *testing.T) {
	for _, at := range []loc{r(0), s(0)} {
		for _, again := range []regalloc.Access{regalloc.Def, regalloc.EarlyDef} {
			for _, shared := range []bool{false, true} {
				c := &code{}
				v, p := c.vreg(0), c.vreg(0)
				b0, b1, b2, b3 := c.block(), c.block(), c.block(), c.block()
				b1.params = []vreg{p}
				c.add(b0, 0, 0, []operand{regalloc.DefOf(v, regalloc.Any)}, at)
				c.add(b0, regalloc.IsTerminator, 0, nil)
				c.add(b1, 0, 0, []operand{use(v, regalloc.Any)}, at)
				c.add(b1, regalloc.IsTerminator, 0, nil)
				c.add(b2, 0, 0, []operand{with(def(v), again)}, r(1))
				c.add(b2, 0, 0, []operand{use(v, regalloc.Any)}, at)
				c.add(b2, regalloc.IsTerminator, 0, nil)
				c.ret(b3, nil)
				b0.succs = []genEdge{{b1, []vreg{v}}}
				b1.succs = []genEdge{{b2, nil}, {b3, nil}}
				b2.succs = []genEdge{{b1, []vreg{v}}}
				c.finish()
				c.out.Claims = []regalloc.Claim{{Loc: at, VReg: regalloc.VReg(v)}}
				if shared {
					c.out.Claims = append(c.out.Claims, regalloc.Claim{Loc: at, VReg: regalloc.VReg(p)})
				}
				for b := 1; b < len(c.out.ClaimEnd); b++ {
					c.out.ClaimEnd[b] = uint32(len(c.out.Claims))
				}
				for _, fix := range []bool{false, true} {
					err := checker.New().Check(c.in, testEnv(), c.out, checker.Options{Fixpoint: fix})
					var e *checker.Error
					if !errors.As(err, &e) || e.Rule != checker.RuleInput || e.Block != 2 {
						t.Errorf("%v %v shared %v fixpoint %v: %v", at, again, shared, fix, err)
					}
				}
			}
		}
	}
}
