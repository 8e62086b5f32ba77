package exec

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/regalloc"
)

// endsEnv has six registers of each class, of which p5i is callee-saved.
var endsEnv = regalloc.MachineEnv{Allocatable: 0x3f_0000003f, CalleeSaved: regalloc.SetOf(5), Scratch: [2]regalloc.PReg{regalloc.NoPReg, regalloc.FloatReg(7)}}

// runs executes c many times, up to a difference.
func (c *code) runs() (err error) {
	c.out.Used = ^regalloc.PRegSet(0)
	x, chance := new(Executor), rand.New(rand.NewPCG(1, 1))
	for k := 0; k < 20 && err == nil; k++ {
		err = x.Run(chance, &c.in, &endsEnv, &c.out, Path{Steps: 10})
	}
	return err
}

// TestTailCalls: what a tail call reads is where its operands say, and only edits in front of it write argument words.
func TestTailCalls(t *testing.T) {
	a, f := regalloc.InArg, regalloc.InReg(regalloc.FloatReg(7))
	r := func(n int) regalloc.Allocation { return regalloc.InReg(regalloc.IntReg(n)) }
	move := func(p regalloc.ProgPoint, to, from regalloc.Allocation, bytes uint8) regalloc.Edit {
		return regalloc.Edit{Point: p, To: to, From: from, Bytes: bytes}
	}
	const at = regalloc.ProgPoint(4) // in front of the call
	exchange := []regalloc.Edit{move(at, r(2), a(0), 8), move(at, f, a(1), 8), move(at, a(0), f, 8), move(at, a(1), r(2), 8)}
	for _, test := range []struct {
		name  string
		ops   []regalloc.Operand
		edits []regalloc.Edit
		flags regalloc.InstFlags // instead of those of a tail call
		msg   string
	}{
		{name: "where they are", ops: ops(regalloc.StackArgUse(0, 0), regalloc.StackArgUse(1, 1))},
		{name: "exchanged", ops: ops(regalloc.StackArgUse(0, 1), regalloc.StackArgUse(1, 0)), edits: exchange},
		{name: "not exchanged", ops: ops(regalloc.StackArgUse(0, 1), regalloc.StackArgUse(1, 0)), msg: "something else than %0"},
		{name: "overwritten first", ops: ops(regalloc.StackArgUse(0, 1), regalloc.StackArgUse(1, 0)), edits: exchange[1:], msg: "something else than %0"},
		{name: "16 bytes", ops: ops(regalloc.StackArgUse(2, 0)), edits: []regalloc.Edit{move(at, a(0), regalloc.InReg(regalloc.FloatReg(0)), 16)}},
		{name: "half of 16 bytes", ops: ops(regalloc.StackArgUse(2, 0)), edits: []regalloc.Edit{move(at, a(0), regalloc.InReg(regalloc.FloatReg(0)), 8)}, msg: "something else than %2"},
		{name: "16 bytes with half of them overwritten", ops: ops(regalloc.StackArgUse(2, 0)),
			edits: []regalloc.Edit{move(at, a(0), regalloc.InReg(regalloc.FloatReg(0)), 16), move(at, a(1), r(0), 8)}, msg: "something else than %2"},
		{name: "constant stored", ops: ops(regalloc.StackArgUse(3, 1)), edits: []regalloc.Edit{{Point: at, Kind: regalloc.StoreConst, To: a(1), Inst: 1, Bytes: 8}}},
		{name: "constant stored too early", ops: ops(regalloc.StackArgUse(3, 1)), edits: []regalloc.Edit{{Point: 3, Kind: regalloc.StoreConst, To: a(1), Inst: 1, Bytes: 8}},
			msg: "no such store"},
		{name: "written too early", ops: ops(regalloc.StackArgUse(0, 1)), edits: []regalloc.Edit{move(1, r(2), a(0), 8), move(1, a(1), r(2), 8)}, msg: "no such move"},
		{name: "written in front of a return", edits: exchange, flags: regalloc.IsTerminator | regalloc.IsReturn, msg: "no such move"},
		{name: "behind the words", ops: ops(regalloc.StackArgUse(0, 2)), msg: "cannot be in"},
		{name: "a callee-saved register is restored", edits: []regalloc.Edit{move(at, r(5), r(0), 8)}},
	} {
		info := regalloc.VRegInfo{Bytes: 8, Remat: regalloc.NoInst}
		c := &code{}
		c.in.VRegs = []regalloc.VRegInfo{info, info, {Class: regalloc.Float, Bytes: 16, Remat: regalloc.NoInst}, {Bytes: 8, Remat: 1, Storable: true}}
		c.in.ClobberSets, c.in.ArgWords = []regalloc.Clobbers{{}}, 2
		c.inst(regalloc.InstInfo{}, ops(regalloc.StackArgDef(0, 0), regalloc.StackArgDef(1, 1), regalloc.FixedDef(2, 32)), a(0), a(1), regalloc.InReg(regalloc.FloatReg(0)))
		c.inst(regalloc.InstInfo{}, ops(regalloc.DefOf(3, regalloc.Reg)), regalloc.NoAllocation)
		flags := regalloc.IsTerminator | regalloc.IsTailCall
		if test.flags != 0 {
			flags = test.flags
		}
		c.inst(regalloc.InstInfo{Flags: flags}, test.ops, make([]regalloc.Allocation, len(test.ops))...)
		c.in.Blocks = []regalloc.BlockInfo{{Insts: regalloc.Range{End: 3}}}
		c.out.SlotWords, c.out.Edits = 2, test.edits
		if err := c.runs(); test.msg == "" && err != nil || test.msg != "" && (err == nil || !strings.Contains(err.Error(), test.msg)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.msg)
		}
	}
}

// TestThrowing: what a call defines is there behind its return, and nowhere in its handler; what survives it is in both.
func TestThrowing(t *testing.T) {
	r := func(n int) regalloc.Allocation { return regalloc.InReg(regalloc.IntReg(n)) }
	const val, result, other = 0, 1, 2
	use := func(v regalloc.VReg) regalloc.Operand { return regalloc.UseOf(v, regalloc.Any) }
	for _, test := range []struct {
		name                string
		returned, caught    regalloc.Operand // read behind the return, and in the handler
		atReturn, inHandler regalloc.Allocation
		flags               regalloc.InstFlags
		msg                 string
	}{
		{name: "right", returned: use(result), atReturn: r(0), caught: use(val), inHandler: r(5)},
		{name: "in the slot", returned: use(other), atReturn: regalloc.InSlot(0), caught: use(val), inHandler: r(5)},
		{name: "result in the handler", returned: use(result), atReturn: r(0), caught: use(result), inHandler: r(0), msg: "block2: inst3: reads something else than %1"},
		{name: "result in the handler, in the slot", returned: use(result), atReturn: r(0), caught: use(other), inHandler: regalloc.InSlot(0), msg: "block2: inst3"},
		{name: "an ordinary terminator", returned: use(result), atReturn: r(0), caught: use(result), inHandler: r(0), flags: regalloc.Safepoint},
		{name: "lost in the handler", returned: use(result), atReturn: r(0), caught: use(val), inHandler: r(1), msg: "block2: inst3"},
		{name: "lost behind the return", returned: use(val), atReturn: r(1), caught: use(val), inHandler: r(5), msg: "block1: inst2"},
	} {
		info := regalloc.VRegInfo{Bytes: 8, Remat: regalloc.NoInst}
		c := &code{}
		c.in.VRegs = []regalloc.VRegInfo{info, info, info}
		c.in.ClobberSets = []regalloc.Clobbers{{}, regalloc.WholeRegs(regalloc.SetOf(0, 1, 2))}
		end := regalloc.IsTerminator | regalloc.IsReturn
		c.inst(regalloc.InstInfo{}, ops(use(val)), r(5))
		c.in.Operands[0].Access = regalloc.Def
		flags := regalloc.IsTerminator | regalloc.Safepoint
		if test.flags == 0 {
			flags |= regalloc.MayThrow
		}
		c.inst(regalloc.InstInfo{Flags: flags, Clobbers: 1}, ops(regalloc.FixedDef(result, 0), regalloc.DefOf(other, regalloc.Any)), r(0), regalloc.InSlot(0))
		c.inst(regalloc.InstInfo{Flags: end}, ops(test.returned), test.atReturn)
		c.inst(regalloc.InstInfo{Flags: end}, ops(test.caught), test.inHandler)
		c.in.Edges = []regalloc.Edge{{To: 1}, {To: 2}}
		c.in.BlockLists = []regalloc.Block{0}
		c.in.Blocks = []regalloc.BlockInfo{{Insts: regalloc.Range{End: 2}, Succs: regalloc.Range{End: 2}}, {Insts: regalloc.Range{Start: 2, End: 3}, Preds: regalloc.Range{End: 1}},
			{Insts: regalloc.Range{Start: 3, End: 4}, Preds: regalloc.Range{End: 1}}}
		c.out.SlotWords = 1
		c.out.StackMaps = []regalloc.StackMap{{Inst: 1}}
		c.out.Edits = []regalloc.Edit{{Point: regalloc.After(0), From: r(5), To: r(1), Bytes: 8}}
		err := c.runs()
		if test.msg == "" && err != nil || test.msg != "" && (err == nil || !strings.Contains(err.Error(), test.msg)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.msg)
		}
		if errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
