package checker_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/regalloc"
)

// TestSafepoints: the flags and the list must be of the same instructions, whatever else the flags say.
func TestSafepoints(t *testing.T) {
	const s, other = regalloc.Safepoint, regalloc.IsMove | regalloc.IsTerminator | regalloc.IsReturn
	for _, c := range []struct {
		flags []regalloc.InstFlags
		list  []regalloc.Inst
		at    regalloc.Inst // of the fault, or NoInst
		msg   string
	}{
		{nil, nil, regalloc.NoInst, ""},
		{[]regalloc.InstFlags{0, s, 0, s | other, other}, []regalloc.Inst{1, 3}, regalloc.NoInst, ""},
		{[]regalloc.InstFlags{0, s, 0, s}, []regalloc.Inst{1}, 3, "a safepoint, though it cannot collect"},
		{[]regalloc.InstFlags{0, s, 0, s}, nil, 1, "a safepoint, though it cannot collect"},
		{[]regalloc.InstFlags{0, s, other, s}, []regalloc.Inst{1, 2, 3}, 2, "no safepoint, though it may collect"},
		{[]regalloc.InstFlags{0}, []regalloc.Inst{0}, 0, "no safepoint, though it may collect"},
		{[]regalloc.InstFlags{s, s}, []regalloc.Inst{0, 1, 2}, 2, "no safepoint, though it may collect"},
		{[]regalloc.InstFlags{s, s}, []regalloc.Inst{1, 0}, 0, "a safepoint, though it cannot collect"},
		{[]regalloc.InstFlags{s, s}, []regalloc.Inst{0, 0}, 1, "a safepoint, though it cannot collect"},
	} {
		in := &regalloc.Input{}
		for _, f := range c.flags {
			in.Insts = append(in.Insts, regalloc.InstInfo{Flags: f})
		}
		err := checker.Safepoints(in, c.list)
		var e *checker.Error
		switch {
		case c.at == regalloc.NoInst:
			if err != nil {
				t.Errorf("%v, %v: %v", c.flags, c.list, err)
			}
		case !errors.As(err, &e) || e.Rule != checker.RuleSafepoint || e.Inst != c.at || e.Msg != c.msg:
			t.Errorf("%v, %v: %v", c.flags, c.list, err)
		}
	}
}
