package checker

import (
	"testing"

	"github.com/waot-project/waot/regalloc"
)

// TestClock: when times run out, nothing old is believed and nothing new lost.
func TestClock(t *testing.T) {
	in := &regalloc.Input{
		VRegs:       []regalloc.VRegInfo{{Bytes: 8, Remat: regalloc.NoInst}},
		Operands:    []regalloc.Operand{regalloc.DefOf(0, regalloc.Any), regalloc.UseOf(0, regalloc.Any)},
		Insts:       []regalloc.InstInfo{{OperandEnd: 1}, {OperandEnd: 2, Flags: regalloc.IsTerminator}},
		ClobberSets: []regalloc.Clobbers{{}},
		Blocks:      []regalloc.BlockInfo{{Insts: regalloc.Range{End: 2}}},
	}
	env := &regalloc.MachineEnv{Allocatable: 3}
	out := &regalloc.Output{Allocs: []regalloc.Allocation{regalloc.InSlot(0), regalloc.InSlot(0)}, SlotWords: 2, ClaimEnd: []uint32{0}}
	c := New()
	for range 3 {
		c.clock = 1<<31 + 1
		if err := c.Check(in, env, out, Options{}); err != nil {
			t.Fatal(err)
		}
		if c.clock > 10 {
			t.Fatalf("the clock is at %d", c.clock)
		}
		out.Allocs[1] = regalloc.InSlot(1)
		if err := c.Check(in, env, out, Options{}); err == nil {
			t.Fatal("a wrong use passes")
		}
		out.Allocs[1] = regalloc.InSlot(0)
	}
}
