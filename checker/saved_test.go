package checker_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/regalloc"
)

// quick is block0 -> block1 -> block3 and block0 -> block2 -> block3, which returns. Callee-saved registers are saved in block2 alone, which
// defines %1 in p10 and reads it there.
func quick() *code {
	c := &code{}
	v, w := c.vreg(0), c.vreg(0)
	b0, b1, b2, b3 := c.block(), c.block(), c.block(), c.block()
	c.add(b0, 0, 0, []operand{def(v)}, r(0))                // inst0
	c.add(b0, regalloc.IsTerminator, 0, nil)                // inst1
	c.add(b1, regalloc.IsTerminator, 0, nil)                // inst2
	c.add(b2, 0, 0, []operand{def(w)}, r(10))               // inst3
	c.add(b2, 0, 0, []operand{use(w, regalloc.Reg)}, r(10)) // inst4
	c.add(b2, regalloc.IsTerminator, 0, nil)                // inst5
	c.add(b3, 0, 0, []operand{use(v, regalloc.Reg)}, r(0))  // inst6
	c.ret(b3, nil)                                          // inst7
	b0.succs = []genEdge{{b1, nil}, {b2, nil}}
	b1.succs, b2.succs = []genEdge{{b3, nil}}, []genEdge{{b3, nil}}
	c.finish()
	c.claims(regalloc.Claim{Loc: r(0), VReg: v})
	c.out.Unsaved = []bool{true, true, false, true}
	return c
}

// TestSaved: callee-saved registers are written only where they are saved, hold nothing where they are restored, and can be saved and restored
// where the output says.
func TestSaved(t *testing.T) {
	const no = checker.Rule(255)
	saved := func(unsaved ...bool) *code {
		return change(quick(), func(c *code) { c.out.Unsaved = unsaved })
	}
	y, n := true, false
	last := regalloc.Before(5)
	for _, test := range []struct {
		name string
		c    *code
		rule checker.Rule
		msg  string
	}{
		{"a quick way", quick(), no, ""},
		{"saved everywhere", saved(), no, ""},
		{"saved everywhere, in so many words", saved(n, n, n, n), no, ""},
		{"saved nowhere", saved(y, y, y, y), checker.RuleSaved, "block2 in p10i: written where it is not saved"},
		{"saved elsewhere", saved(y, n, y, y), checker.RuleSaved, "block2 in p10i"},
		{"saved on one way to the return", saved(y, y, n, n), checker.RuleSaved, "block3: callee-saved registers are saved on some ways"},
		{"restored on an edge of two", saved(n, y, n, n), checker.RuleSaved, "block0: callee-saved registers cannot be restored on one edge"},
		{"too few blocks", saved(y, y), checker.RuleShape, "2 blocks"},
		{"moved there in front", change(quick(), func(c *code) { c.edits(move(after0, r(11), r(0), 8)) }), checker.RuleSaved, "block0 in p11i"},
		{"swapped there in front", change(quick(), func(c *code) { c.edits(swap(r(1), r(11))) }), checker.RuleSaved, "block0 in p11i"},
		{"swapped from there in front", change(quick(), func(c *code) { c.edits(swap(r(11), r(1))) }), checker.RuleSaved, "block0 in p11i"},
		{"made again there in front", change(quick(), func(c *code) {
			c.in.VRegs[0].Remat = 0
			c.edits(regalloc.Edit{Point: after0, Kind: regalloc.Remat, To: r(12), Inst: 0, Bytes: 8})
		}), checker.RuleSaved, "block0 in p12i"},
		{"clobbered in front", change(quick(), func(c *code) {
			c.in.ClobberSets, c.in.Insts[1].Clobbers = []regalloc.Clobbers{{}, {Low: regalloc.SetOf(10)}}, 1
		}), checker.RuleSaved, "block0 in p10i"},
		{"moved back before it is restored", change(quick(), func(c *code) {
			c.edits(move(regalloc.Before(4), r(11), r(0), 8), move(last, r(0), r(11), 8))
		}), no, ""},
		{"claimed where it is restored", change(quick(), func(c *code) {
			c.edits(move(last, r(11), r(0), 8))
			c.claims(regalloc.Claim{Loc: r(11), VReg: 0})
		}), checker.RuleClaim, "in p11i"},
		{"read where it is restored", change(quick(), func(c *code) {
			c.edits(move(last, r(11), r(0), 8))
			c.out.Allocs[slices.Index(c.out.Allocs[1:], r(0))+1] = r(11)
		}), checker.RuleUse, "operand 0 %0 in p11i"},
	} {
		for _, fixpoint := range []bool{false, true} {
			err := checker.New().Check(test.c.in, testEnv(), test.c.out, checker.Options{Fixpoint: fixpoint})
			var e *checker.Error
			switch {
			case test.rule == no && err != nil:
				t.Errorf("%s (fixpoint %v): %v", test.name, fixpoint, err)
			case test.rule == no:
			case fixpoint && test.rule == checker.RuleClaim: // it has claims of its own
			case !errors.As(err, &e) || e.Rule != test.rule || !strings.Contains(err.Error(), test.msg):
				t.Errorf("%s (fixpoint %v): %v, want %v: %s", test.name, fixpoint, err, test.rule, test.msg)
			}
		}
	}
}
