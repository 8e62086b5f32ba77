package checker_test

import (
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/regalloc"
)

// What ends functions and blocks otherwise than returns and branches do: tail calls, and calls that may throw.

func a(n int) loc { return regalloc.InArg(n) }

// tail is one block for which the arguments have four words. inst0 defines %0 in a2, %1 in a3, %2 in p0, %3, of 16 bytes, in p0f, %4, of 4 bytes, in p2 and the reference %5
// in p3; inst1 is a tail call with ops, in the places that they name.
func tail(ops []operand, edits ...regalloc.Edit) *code {
	c := &code{}
	c.argWords = 4
	for _, kind := range []int{0, 0, 0, 2, 4, 3} {
		c.vreg(kind)
	}
	b := c.block()
	c.add(b, 0, 0, []operand{regalloc.StackArgDef(0, 2), regalloc.StackArgDef(1, 3), regalloc.FixedDef(2, 0), regalloc.FixedDef(3, 32), regalloc.FixedDef(4, 2),
		regalloc.FixedDef(5, 3)}, a(2), a(3), r(0), f(0), r(2), r(3))
	var at []loc
	for _, op := range ops {
		if op.Constraint == regalloc.FixedArg {
			at = append(at, a(int(op.Arg)))
		} else {
			at = append(at, regalloc.InReg(op.PReg()))
		}
	}
	c.add(b, regalloc.IsTerminator|regalloc.IsTailCall, 0, ops, at...)
	c.finish()
	c.edits(edits...)
	return c
}

// to is a move in front of the tail call of tail.
func to(to, from loc, bytes uint8) regalloc.Edit { return move(before1, to, from, bytes) }

func TestTailCalls(t *testing.T) {
	in := regalloc.StackArgUse
	both := []operand{in(0, 3), in(1, 2)}
	exchange := []regalloc.Edit{to(r(1), a(2), 8), to(f(15), a(3), 8), to(a(2), f(15), 8), to(a(3), r(1), 8)}
	without := func(k int) (l []regalloc.Edit) {
		return append(append(l, exchange[:k]...), exchange[k+1:]...)
	}
	turned := func(x, y int) []regalloc.Edit {
		l := append([]regalloc.Edit{}, exchange...)
		l[x], l[y] = l[y], l[x]
		return l
	}
	set := func(c *code, f func(c *code)) *code { return change(c, f) }
	flags := func(more regalloc.InstFlags) *code {
		return set(tail(nil), func(c *code) { c.in.Insts[1].Flags |= more })
	}
	constant := func(f func(c *code)) *code { // %6 is a constant of inst1, and the tail call inst2 passes it in a0
		c := tail([]operand{in(6, 0)})
		v := c.vreg(0)
		c = &code{gen: c.gen, allocs: append(c.allocs[:6:6], r(1), a(0))}
		insts := c.blocks[0].insts
		c.blocks[0].insts = []genInst{insts[0], {ops: []operand{def(v)}, remat: true}, insts[1]}
		c.finish()
		c.in.VRegs[v].Storable = true
		c.edits(regalloc.Edit{Point: regalloc.Before(2), Kind: regalloc.StoreConst, To: a(0), Inst: 1, Bytes: 8})
		f(c)
		return c
	}
	checkRules(t, []rule{
		{"nothing passed", tail(nil), no, ""},
		{"a register", tail([]operand{regalloc.FixedUse(2, 0)}), no, ""},
		{"another register", tail([]operand{regalloc.FixedUse(2, 1)}, to(r(1), r(0), 8)), no, ""},
		{"arguments where they are", tail([]operand{in(0, 2), in(1, 3)}), no, ""},
		{"arguments exchanged", tail(both, exchange...), no, ""},
		{"a reference, and the same once more", tail([]operand{in(5, 0), in(5, 3)}, to(a(0), r(3), 8), to(a(3), r(3), 8)), no, ""},
		{"16 bytes over two words, of which one goes to a register", tail([]operand{in(3, 2), regalloc.FixedUse(1, 1)}, to(r(1), a(3), 8), to(a(2), f(0), 16)), no, ""},
		{"a constant stored", constant(func(*code) {}), no, ""},

		{"arguments not exchanged", tail(both), checker.RuleUse, "inst1 operand 0 %0 in a3: read from where %1 is"},
		{"one not read before it is written", tail(both, without(0)...), checker.RuleUse, ""},
		{"one not written", tail(both, without(2)...), checker.RuleUse, "operand 1 %1 in a2"},
		{"written before it is read", tail(both, turned(1, 3)...), checker.RuleUse, ""},
		{"read after it is written", tail(both, turned(0, 2)...), checker.RuleUse, ""},
		{"half overwritten", tail([]operand{in(3, 2)}, to(a(2), f(0), 16), to(a(3), r(0), 8)), checker.RuleUse, "only the lower half of %3"},
		{"two words over one that is still needed", tail([]operand{in(3, 2), regalloc.FixedUse(1, 1)}, to(a(2), f(0), 16), to(r(1), a(3), 8)), checker.RuleUse, "%1 in p1i"},
		{"another word", set(tail(both, exchange...), func(c *code) { c.out.Allocs[6], c.out.Allocs[7] = a(2), a(3) }), checker.RuleConstraint, "must be in the argument word it names"},
		{"a slot", set(tail([]operand{in(2, 0)}, to(s(0), r(0), 8)), func(c *code) { c.out.Allocs[6] = s(0) }), checker.RuleConstraint, "the argument word it names"},
		{"an odd word for 16 bytes", tail([]operand{in(3, 1)}, to(a(2), f(0), 16)), checker.RuleConstraint, "the argument word it names"},
		{"16 bytes moved to an odd word", tail(nil, to(a(1), f(0), 16)), checker.RuleEdit, "no location of this width"},
		{"a move behind the words", tail(nil, to(a(4), r(0), 8)), checker.RuleEdit, "no location"},
		{"written behind the first instruction", tail([]operand{in(2, 0)}, move(after0, a(0), r(0), 8)), checker.RuleEdit, "not in front of a tail call"},
		{"a constant stored too early", constant(func(c *code) { c.out.Edits[0].Point = regalloc.After(1) }), checker.RuleEdit, "in what is no slot"},
		{"made again in a word", constant(func(c *code) { c.out.Edits[0].Kind = regalloc.Remat }), checker.RuleEdit, "what is no register"},
		{"a constant stored in another word", constant(func(c *code) { c.out.Edits[0].To = a(1) }), checker.RuleUse, "nothing known"},

		{"4 bytes", tail([]operand{in(4, 0)}), checker.RuleInput, "names a word of the arguments"},
		{"behind the words", tail([]operand{in(2, 4)}), checker.RuleInput, "one behind them"},
		{"half behind the words", set(tail([]operand{in(3, 2)}), func(c *code) {
			c.in.Operands = c.in.Operands[:7]
			c.in.Operands[0].Arg, c.in.Operands[1].Arg, c.out.Allocs[0], c.out.Allocs[1] = 0, 1, a(0), a(1)
			c.in.ArgWords = 2
		}), checker.RuleInput, "one behind them"},
		{"a definition behind the words", set(tail(nil), func(c *code) { c.in.ArgWords = 2 }), checker.RuleInput, "inst0 operand 0 %0 in a2: names a word of the arguments"},
		{"one word twice", tail([]operand{in(0, 2), in(0, 2)}), checker.RuleInput, "passed twice"},
		{"half of a value", tail([]operand{in(3, 2), in(2, 3)}, to(a(2), f(0), 16)), checker.RuleInput, "passed twice"},
		{"a callee-saved register", tail([]operand{regalloc.FixedUse(2, 10)}, to(r(10), r(0), 8)), checker.RuleInput, "operand 0 is none of a tail call"},
		{"a fixed use of no register", tail([]operand{{VReg: 2, Constraint: regalloc.Fixed, Arg: 99}}), checker.RuleInput, "operand 0 is none of a tail call"},
		{"any place", set(tail([]operand{regalloc.FixedUse(2, 0)}), func(c *code) { c.in.Operands[6].Constraint = regalloc.Any }), checker.RuleInput, "none of a tail call"},
		{"a late use", tail([]operand{with(in(0, 2), regalloc.LateUse)}), checker.RuleInput, "none of a tail call"},
		{"a definition", set(tail([]operand{regalloc.FixedUse(2, 0)}), func(c *code) { c.in.Operands[6].Access = regalloc.Def }), checker.RuleInput, "none of a tail call"},
		{"clobbers", set(tail(nil), func(c *code) { c.in.Insts[1].Clobbers = callSet }), checker.RuleInput, "clobbers"},
		{"a return", flags(regalloc.IsReturn), checker.RuleInput, "something else, too"},
		{"one that may throw", flags(regalloc.MayThrow), checker.RuleInput, "something else, too"},
		{"a safepoint", set(flags(regalloc.Safepoint), func(c *code) { c.out.StackMaps = []regalloc.StackMap{{Inst: 1}} }), checker.RuleInput, "something else, too"},
		{"successors", set(throwing(0), func(c *code) { c.in.Insts[1].Flags, c.out.StackMaps = regalloc.IsTerminator|regalloc.IsTailCall, nil }), checker.RuleInput, "has successors"},
		{"in the middle", set(tail(nil), func(c *code) { c.in.Insts[0].Flags = regalloc.IsTailCall }), checker.RuleInput, "ends no block"},
		{"a return that passes words", set(tail([]operand{in(0, 2)}), func(c *code) { c.in.Insts[1].Flags = regalloc.IsTerminator | regalloc.IsReturn }),
			checker.RuleInput, "names a word of the arguments"},
		{"an odd area", set(tail(nil), func(c *code) { c.in.ArgWords = 5 }), checker.RuleInput, "an argument area of 5 words"},
		{"no area", set(tail(nil), func(c *code) { c.in.ArgWords = -2 }), checker.RuleInput, "an argument area"},
		{"an area beyond what operands name", set(tail(nil), func(c *code) { c.in.ArgWords = 1<<16 + 2 }), checker.RuleInput, "an argument area"},
	})
}

// throwing is block0, which ends with a call that may throw, block1, where it returns to, and block2, its handler. inst0 defines %0, of the kind, in p0, and %1 in p10; inst1, the call, is
// a safepoint, reads %0 in p0, defines %2 in p0 and %3 in s3; block1 reads all of these but %0, block2 only %1 and %0, in s0. If %0 is a reference, s0 is listed.
func throwing(kind int, edits ...regalloc.Edit) *code {
	c := &code{}
	for _, k := range []int{kind, 0, 0, 0} {
		c.vreg(k)
	}
	b0, b1, b2 := c.block(), c.block(), c.block()
	c.add(b0, 0, 0, []operand{def(0), def(1)}, r(0), r(10))
	c.add(b0, regalloc.IsTerminator|regalloc.MayThrow|regalloc.Safepoint, callSet,
		[]operand{regalloc.FixedUse(0, 0), regalloc.FixedDef(2, 0), regalloc.DefOf(3, regalloc.Any)}, r(0), r(0), s(3))
	c.ret(b1, []operand{use(1, regalloc.Any), regalloc.FixedUse(2, 0), use(3, regalloc.Any)}, r(10), r(0), s(3))
	c.ret(b2, []operand{use(1, regalloc.Any), use(0, regalloc.Any)}, r(10), s(0))
	b0.succs = []genEdge{{b1, nil}, {b2, nil}}
	c.finish()
	c.edits(append([]regalloc.Edit{move(after0, s(0), r(0), 8)}, edits...)...)
	c.out.StackMaps = []regalloc.StackMap{{Inst: 1}}
	if kind == 3 {
		c.out.StackMaps[0].Slots.End = 1
		c.out.StackMapSlots = []uint32{0}
	}
	return c
}

// The operands of throwing.
const (
	readByCall = 2 + iota
	fixedResult
	otherResult
	oldInNormal
	fixedInNormal
	otherInNormal
	oldInHandler
	argInHandler
)

func TestThrowing(t *testing.T) {
	const normal, handler = 1, 2
	claim := func(c *code, block int, cl ...regalloc.Claim) *code {
		c.out.Claims = append(c.out.Claims, cl...)
		for b := range c.out.ClaimEnd[block:] {
			c.out.ClaimEnd[block+b] += uint32(len(cl))
		}
		return c
	}
	inHandler := func(v vreg, at loc, edits ...regalloc.Edit) *code {
		return change(throwing(0, edits...), func(c *code) { c.in.Operands[argInHandler].VReg, c.out.Allocs[argInHandler] = v, at })
	}
	at := func(l loc, v vreg) regalloc.Claim { return regalloc.Claim{Loc: l, VReg: v} }
	all := []regalloc.Claim{at(r(10), 1), at(r(0), 2), at(s(3), 3)}
	flags := func(f regalloc.InstFlags) *code {
		return change(throwing(0), func(c *code) { c.in.Insts[1].Flags = f })
	}
	passed := func(v vreg) *code { // %4 is the handler's parameter, for which the call passes v, in s1
		c := throwing(0)
		p := c.vreg(0)
		c = &code{gen: c.gen, allocs: c.allocs, out: c.out}
		c.blocks[0].succs[1].args, c.blocks[2].params = []vreg{v}, []vreg{p}
		c.blocks[2].insts[0].ops[1].VReg = p
		out := c.out
		c.finish()
		c.out = out
		return c
	}
	checkRules(t, []rule{
		{"a call that may throw", throwing(0), no, ""},
		{"a reference across", throwing(3), no, ""},
		{"claims behind its return", claim(throwing(0), normal, all...), no, ""},
		{"claims at its handler", claim(throwing(0), handler, at(r(10), 1), at(s(0), 0)), no, ""},
		{"claims at both", claim(claim(throwing(0), normal, all...), handler, at(r(10), 1), at(s(0), 0)), no, ""},
		{"what is passed to the handler", passed(0), no, ""},

		{"the result read in the handler", inHandler(2, r(0)), checker.RuleUse, "block2 inst3 operand 1 %2 in p0i: read from where nothing known is"},
		{"the result read in the handler, in its slot", inHandler(3, s(3)), checker.RuleUse, "nothing known"},
		{"the result stored in the handler", inHandler(2, s(1), move(regalloc.Before(3), s(1), r(0), 8)), checker.RuleUse, "nothing known"},
		{"the result claimed at the handler", claim(inHandler(2, r(0)), handler, at(r(10), 1), at(r(0), 2)), checker.RuleClaim, "claimed at the entry of block2, but there comes nothing known"},
		{"the result claimed at the handler, in its slot", claim(inHandler(3, s(3)), handler, at(r(10), 1), at(s(3), 3)), checker.RuleClaim, "nothing known"},
		{"the result passed to the handler", passed(2), checker.RuleInput, "%2 is passed to the handler of the call that defines it"},
		{"what the result overwrites, in the handler", inHandler(1, s(3), move(after0, s(3), r(10), 8)), checker.RuleUse, "nothing known"},
		{"what the call clobbers, in the handler", inHandler(0, r(2), move(after0, r(2), r(0), 8)), checker.RuleUse, "nothing known"},
		{"the argument in its register, in the handler", inHandler(0, r(0)), checker.RuleUse, "nothing known"},
		{"a reference that the map does not list", change(throwing(3), func(c *code) { c.out.StackMaps[0].Slots.End = 0 }), checker.RuleUse, "block2 inst3 operand 1 %0 in s0"},
		{"no map", change(throwing(3), func(c *code) { c.out.StackMaps = nil }), checker.RuleStackMap, "0 stack maps for 1"},
		{"the call reads from elsewhere", change(throwing(0), func(c *code) { c.in.Operands[readByCall] = use(0, regalloc.Any); c.out.Allocs[readByCall] = r(1) }), checker.RuleUse, "inst1 operand 0"},
		{"the result in another register", change(throwing(0), func(c *code) { c.out.Allocs[fixedResult] = r(1) }), checker.RuleConstraint, "operand 1"},
		{"the result in another slot", change(throwing(0), func(c *code) { c.out.Allocs[otherResult] = s(2) }), checker.RuleUse, "block1"},
		{"the result in a register that is lost", change(throwing(0), func(c *code) { c.out.Allocs[otherResult] = r(1) }), checker.RuleConflict, "clobbers"},
		{"the result read elsewhere", change(throwing(0), func(c *code) { c.out.Allocs[otherInNormal] = s(2) }), checker.RuleUse, "block1"},

		{"in the middle", change(throwing(0), func(c *code) { c.in.Insts[0].Flags = regalloc.MayThrow }), checker.RuleInput, "ends no block"},
		{"a return", flags(regalloc.IsTerminator | regalloc.MayThrow | regalloc.Safepoint | regalloc.IsReturn), checker.RuleInput, "does not have two successors"},
		{"no successors", change(tail(nil), func(c *code) { c.in.Insts[1].Flags = regalloc.IsTerminator | regalloc.MayThrow }), checker.RuleInput, "does not have two successors"},
	})
}

// TestDefinitionsOfTerminators: operands of the last instruction of a block are checked as all others are, whatever follows. Checkers of others have left them out.
func TestDefinitionsOfTerminators(t *testing.T) {
	c := checker.New()
	for _, mark := range []regalloc.InstFlags{0, regalloc.MayThrow} {
		for k := readByCall; k <= argInHandler; k++ {
			x := throwing(0)
			x.in.Insts[1].Flags = regalloc.IsTerminator | regalloc.Safepoint | mark
			if err := c.Check(x.in, testEnv(), x.out, checker.Options{}); err != nil {
				t.Fatal(err)
			}
			x.out.Allocs[k] = s(1)
			if x.in.Operands[k].Constraint == regalloc.Fixed {
				x.out.Allocs[k] = r(4)
			}
			if err := c.Check(x.in, testEnv(), x.out, checker.Options{}); err == nil {
				t.Errorf("flags %b: operand %d may be anywhere", mark, k)
			}
		}
	}
}
