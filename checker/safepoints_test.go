package checker_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/regalloc"
)

// TestSafepoints: the stack maps and the list must be of the same instructions.
func TestSafepoints(t *testing.T) {
	type list []regalloc.Inst
	const no, must = "a safepoint, though it cannot collect", "no safepoint, though it may collect"
	for _, c := range []struct {
		maps, list list
		at         regalloc.Inst // of the fault, or NoInst
		msg        string
	}{
		{nil, nil, regalloc.NoInst, ""},
		{list{1, 3}, list{1, 3}, regalloc.NoInst, ""},
		{list{1, 3}, list{1}, 3, no},
		{list{1, 3}, list{3}, 1, no},
		{list{1, 3}, nil, 1, no},
		{list{1, 3}, list{1, 2, 3}, 2, must},
		{list{1, 3}, list{0, 1, 3}, 0, must},
		{list{1, 3}, list{1, 3, 4}, 4, must},
		{list{1, 3}, list{1, 4}, 3, no},
		{nil, list{0}, 0, must},
	} {
		out := &regalloc.Output{}
		for _, i := range c.maps {
			out.StackMaps = append(out.StackMaps, regalloc.StackMap{Inst: i})
		}
		err := checker.Safepoints(out, c.list)
		var e *checker.Error
		switch {
		case c.at == regalloc.NoInst:
			if err != nil {
				t.Errorf("%v, %v: %v", c.maps, c.list, err)
			}
		case !errors.As(err, &e) || e.Rule != checker.RuleSafepoint || e.Inst != c.at || e.Msg != c.msg:
			t.Errorf("%v, %v: %v", c.maps, c.list, err)
		}
	}
}

// TestCalls: each call in the list must clobber at least the given set.
func TestCalls(t *testing.T) {
	sets := []regalloc.Clobbers{{}, {Low: 0b1100, High: 1 << 40}, {Low: 0b1111, High: 3 << 40}, {Low: 0b0100, High: 1 << 40}, {Low: 0b1100}}
	must := sets[1]
	for _, c := range []struct {
		clobbers []uint16
		calls    []regalloc.Inst
		at       regalloc.Inst // of the fault, or NoInst
	}{
		{[]uint16{0, 0}, nil, regalloc.NoInst},
		{[]uint16{1, 0, 2, 1}, []regalloc.Inst{0, 2, 3}, regalloc.NoInst},
		{[]uint16{3, 4, 1}, []regalloc.Inst{2}, regalloc.NoInst},
		{[]uint16{1, 0, 1}, []regalloc.Inst{0, 1, 2}, 1},
		{[]uint16{0, 1}, []regalloc.Inst{0, 1}, 0},
		{[]uint16{1, 2, 3}, []regalloc.Inst{0, 1, 2}, 2},
		{[]uint16{4, 1}, []regalloc.Inst{0, 1}, 0},
	} {
		in := &regalloc.Input{ClobberSets: sets}
		for _, n := range c.clobbers {
			in.Insts = append(in.Insts, regalloc.InstInfo{Clobbers: n})
		}
		err := checker.Calls(in, c.calls, must)
		var e *checker.Error
		if (err != nil) != (c.at != regalloc.NoInst) || err != nil && (!errors.As(err, &e) || e.Rule != checker.RuleCall || e.Inst != c.at) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
