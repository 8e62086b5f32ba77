package exec

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
)

// TestCorrectAllocations: what an allocator makes does what the code means,
// through every block.
func TestCorrectAllocations(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 60
	}
	envs := gen.Envs()
	a, x := linear.New(), new(Executor)
	var out regalloc.Output
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 11))
		env := envs[seed%3]
		in := gen.Func(r, gen.Varied(r), env)
		if err := a.Run(in, env, &out); err != nil {
			t.Fatal(err)
		}
		for b := range in.Blocks {
			if err := x.Run(r, in, env, &out, Path{Through: regalloc.Block(b), Steps: 60}); err != nil {
				t.Fatalf("seed %d, through block%d: %v", seed, b, err)
			}
		}
	}
}

// code is one function with its allocation: of Any constraints unless said.
type code struct {
	in  regalloc.Input
	out regalloc.Output
}

func (c *code) inst(info regalloc.InstInfo, ops []regalloc.Operand, allocs ...regalloc.Allocation) {
	c.in.Operands = append(c.in.Operands, ops...)
	c.out.Allocs = append(c.out.Allocs, allocs...)
	info.OperandEnd = uint32(len(c.in.Operands))
	c.in.Insts = append(c.in.Insts, info)
}

// ops is a list of operands.
func ops(o ...regalloc.Operand) []regalloc.Operand { return o }

func with(o regalloc.Operand, a regalloc.Access) regalloc.Operand {
	o.Access = a
	return o
}

// TestFaults: each thing that an allocation can do wrong makes a difference, and
// its correct neighbour makes none.
func TestFaults(t *testing.T) {
	r := func(n int) regalloc.Allocation { return regalloc.InReg(regalloc.IntReg(n)) }
	f := func(n int) regalloc.Allocation { return regalloc.InReg(regalloc.FloatReg(n)) }
	s := regalloc.InSlot
	const (
		val, other, wide, ref = 0, 1, 2, 3 // virtual registers
		made, more            = 4, 5
		narrow                = 6
	)
	use := func(v regalloc.VReg) regalloc.Operand { return regalloc.UseOf(v, regalloc.Any) }
	def := func(v regalloc.VReg) regalloc.Operand { return regalloc.DefOf(v, regalloc.Any) }
	move := func(p regalloc.ProgPoint, to, from regalloc.Allocation, bytes uint8) regalloc.Edit {
		return regalloc.Edit{Point: p, To: to, From: from, Bytes: bytes}
	}
	after0 := regalloc.After(0)
	swap := func(from, to regalloc.Allocation, bytes uint8) regalloc.Edit {
		return regalloc.Edit{Point: after0, Kind: regalloc.Swap, From: from, To: to, Bytes: bytes}
	}
	const constant, large, half = 7, 8, 9 // of inst1, inst2 and inst3; constant and half can be stored
	again := func(kind regalloc.EditKind, i regalloc.Inst, to regalloc.Allocation, bytes uint8) regalloc.Edit {
		return regalloc.Edit{Point: regalloc.After(3), Kind: kind, Inst: i, To: to, Bytes: bytes}
	}
	store := regalloc.StoreConst
	safepoint := regalloc.InstInfo{Flags: regalloc.Safepoint}
	clobbers := regalloc.InstInfo{Clobbers: 1} // p2i, and p5i, which is callee-saved
	highHalf := regalloc.InstInfo{Clobbers: 2} // of p0f and p1f, and of p5i
	for _, test := range []struct {
		name string
		info regalloc.InstInfo
		ops  []regalloc.Operand
		at   []regalloc.Allocation
		// edits and maps are those of the whole function; unused leaves p5i out of Used.
		edits  []regalloc.Edit
		maps   []uint32
		unused bool
		// result is where made is read in the end, if it is.
		result regalloc.Allocation
		msg    string
	}{
		{name: "right", ops: ops(use(val)), at: []regalloc.Allocation{r(0)}},
		{name: "wrong register", ops: ops(use(val)), at: []regalloc.Allocation{r(1)}, msg: "something else than %0"},
		{name: "wrong class", ops: ops(use(val)), at: []regalloc.Allocation{f(0)}, msg: "cannot be in"},
		{name: "moved", ops: ops(use(val)), at: []regalloc.Allocation{r(3)}, edits: []regalloc.Edit{move(after0, r(3), r(0), 8)}},
		{name: "moved from elsewhere", ops: ops(use(val)), at: []regalloc.Allocation{r(3)}, edits: []regalloc.Edit{move(after0, r(3), r(1), 8)}, msg: "something else"},
		{name: "wide", ops: ops(use(wide)), at: []regalloc.Allocation{f(2)}, edits: []regalloc.Edit{move(after0, s(2), f(0), 16), move(after0, f(2), s(2), 16)}},
		{name: "narrow spill", ops: ops(use(wide)), at: []regalloc.Allocation{f(2)}, edits: []regalloc.Edit{move(after0, s(2), f(0), 8), move(after0, f(2), s(2), 16)}, msg: "something else"},
		{name: "narrow reload", ops: ops(use(wide)), at: []regalloc.Allocation{f(2)}, edits: []regalloc.Edit{move(after0, s(2), f(0), 16), move(after0, f(2), s(2), 8)}, msg: "something else"},
		{name: "half overwritten", ops: ops(use(wide)), at: []regalloc.Allocation{s(2)}, edits: []regalloc.Edit{move(after0, s(2), f(0), 16), move(after0, s(3), r(0), 8)}, msg: "something else"},
		{name: "wide over the next slot", ops: ops(use(val)), at: []regalloc.Allocation{s(3)}, edits: []regalloc.Edit{move(after0, s(3), r(0), 8), move(after0, s(2), f(0), 16)}, msg: "something else"},
		{name: "wide at an odd word", ops: ops(use(wide)), at: []regalloc.Allocation{f(2)}, edits: []regalloc.Edit{move(after0, s(3), f(0), 16), move(after0, f(2), s(3), 16)}, msg: "no such location"},
		{name: "wide use at an odd word", ops: ops(use(wide)), at: []regalloc.Allocation{s(3)}, edits: []regalloc.Edit{move(after0, s(2), f(0), 16)}, msg: "cannot be in"},
		{name: "16 bytes in an int register", ops: ops(use(val)), at: []regalloc.Allocation{r(0)}, edits: []regalloc.Edit{move(after0, s(2), r(0), 16)}, msg: "16 bytes"},
		{name: "memory to memory", ops: ops(use(val)), at: []regalloc.Allocation{r(0)}, edits: []regalloc.Edit{move(after0, s(2), s(1), 8)}, msg: "no such move"},
		{name: "scratch does not last", ops: ops(use(val)), at: []regalloc.Allocation{r(3)}, edits: []regalloc.Edit{move(after0, f(7), r(0), 8), move(regalloc.After(4), r(3), f(7), 8)}, msg: "something else"},
		{name: "swapped", ops: ops(use(val), use(other)), at: []regalloc.Allocation{r(1), r(0)}, edits: []regalloc.Edit{swap(r(0), r(1), 8)}},
		{name: "swapped twice", ops: ops(use(val)), at: []regalloc.Allocation{r(1)}, edits: []regalloc.Edit{swap(r(0), r(1), 8), swap(r(1), r(0), 8)}, msg: "something else"},
		{name: "swapped with another", ops: ops(use(val)), at: []regalloc.Allocation{r(1)}, edits: []regalloc.Edit{swap(r(0), r(3), 8)}, msg: "something else"},
		{name: "swapped with what cannot be", ops: ops(use(val)), at: []regalloc.Allocation{r(5)}, edits: []regalloc.Edit{swap(r(0), r(5), 8)}, msg: "no such swap"},
		{name: "swapped what cannot be", ops: ops(use(val)), at: []regalloc.Allocation{r(5)}, edits: []regalloc.Edit{swap(r(5), r(0), 8)}, msg: "no such swap"},
		{name: "swapped with itself", ops: ops(use(val)), at: []regalloc.Allocation{r(0)}, edits: []regalloc.Edit{swap(r(0), r(0), 8)}, msg: "no such swap"},
		{name: "swapped halves", ops: ops(use(val)), at: []regalloc.Allocation{r(1)}, edits: []regalloc.Edit{swap(r(0), r(1), 4)}, msg: "no such swap"},
		{name: "swapped with a slot", ops: ops(use(val)), at: []regalloc.Allocation{s(1)}, edits: []regalloc.Edit{swap(s(1), r(0), 8)}, msg: "no such swap"},
		{name: "constant stored", ops: ops(use(constant)), at: []regalloc.Allocation{s(0)}, edits: []regalloc.Edit{again(store, 1, s(0), 8)}},
		{name: "half stored", ops: ops(use(half)), at: []regalloc.Allocation{s(0)}, edits: []regalloc.Edit{again(store, 3, s(0), 4)}},
		{name: "constant stored elsewhere", ops: ops(use(constant)), at: []regalloc.Allocation{s(0)}, edits: []regalloc.Edit{again(store, 1, s(2), 8)}, msg: "something else"},
		{name: "another constant stored", ops: ops(use(constant)), at: []regalloc.Allocation{s(0)}, edits: []regalloc.Edit{again(store, 3, s(0), 4)}, msg: "something else"},
		{name: "stored, though it cannot be", ops: ops(use(large)), at: []regalloc.Allocation{s(0)}, edits: []regalloc.Edit{again(store, 2, s(0), 8)}, msg: "no such store"},
		{name: "stored with another width", ops: ops(use(constant)), at: []regalloc.Allocation{s(0)}, edits: []regalloc.Edit{again(store, 1, s(0), 4)}, msg: "no such store"},
		{name: "stored in a register", ops: ops(use(constant)), at: []regalloc.Allocation{r(3)}, edits: []regalloc.Edit{again(store, 1, r(3), 8)}, msg: "no such store"},
		{name: "stored nowhere", ops: ops(use(constant)), at: []regalloc.Allocation{r(4)}, edits: []regalloc.Edit{again(store, 1, s(5), 8)}, msg: "no such location"},
		{name: "made again in a slot", ops: ops(use(constant)), at: []regalloc.Allocation{s(0)}, edits: []regalloc.Edit{again(regalloc.Remat, 1, s(0), 8)}, msg: "cannot be repeated so"},
		{name: "made again, by way of the int scratch register", ops: ops(use(val)), at: []regalloc.Allocation{r(3)}, edits: []regalloc.Edit{
			again(regalloc.Remat, 1, r(4), 8), move(regalloc.After(3), r(6), r(0), 8), move(regalloc.After(3), r(3), r(6), 8)}},
		{name: "made again, the int scratch register in use", ops: ops(use(val)), at: []regalloc.Allocation{r(3)}, edits: []regalloc.Edit{
			move(regalloc.After(3), r(6), r(0), 8), again(regalloc.Remat, 1, r(4), 8), move(regalloc.After(3), r(3), r(6), 8)}, msg: "something else"},
		{name: "def over use", ops: ops(use(val), def(made)), at: []regalloc.Allocation{r(0), r(0)}},
		{name: "early def over use", ops: ops(use(val), with(def(made), regalloc.EarlyDef)), at: []regalloc.Allocation{r(0), r(0)}, msg: "something else"},
		{name: "two defs in two places", ops: ops(def(made), def(more)), at: []regalloc.Allocation{r(3), r(4)}, result: r(3)},
		{name: "two defs in one place", ops: ops(def(made), def(more)), at: []regalloc.Allocation{r(3), r(3)}, result: r(3), msg: "something else than %4"},
		{name: "two defs in one place, turned", ops: ops(def(more), def(made)), at: []regalloc.Allocation{r(3), r(3)}, result: r(3), msg: "something else than %4"},
		{name: "def over late use", ops: ops(with(use(val), regalloc.LateUse), def(made)), at: []regalloc.Allocation{r(0), r(0)}, msg: "something else"},
		{name: "late use clobbered", info: clobbers, ops: ops(with(use(val), regalloc.LateUse)), at: []regalloc.Allocation{r(2)}, edits: []regalloc.Edit{move(after0, r(2), r(0), 8)}, msg: "something else"},
		{name: "use clobbered", info: clobbers, ops: ops(use(val)), at: []regalloc.Allocation{r(2)}, edits: []regalloc.Edit{move(after0, r(2), r(0), 8)}},
		{name: "narrow late use, upper half clobbered", info: highHalf, ops: ops(with(use(narrow), regalloc.LateUse)), at: []regalloc.Allocation{f(1)}},
		{name: "wide late use, upper half clobbered", info: highHalf, ops: ops(with(use(wide), regalloc.LateUse)), at: []regalloc.Allocation{f(0)}, msg: "something else than %2"},
		{name: "wide use, upper half clobbered", info: highHalf, ops: ops(use(wide)), at: []regalloc.Allocation{f(0)}},
		{name: "callee-saved with its upper half changed unsaved", info: highHalf, unused: true},
		{name: "callee-saved changed unsaved", info: clobbers, unused: true, msg: "callee-saved p5i has changed"},
		{name: "reference in the map", info: safepoint, maps: []uint32{1}},
		{name: "no stack map", info: safepoint, msg: "finds no stack map"},
		{name: "reference not in the map", info: safepoint, maps: []uint32{}, msg: "something else than %3"},
		{name: "no reference in the map", info: safepoint, maps: []uint32{0, 1}, msg: "no object in slot 0"},
		{name: "malformed", ops: ops(use(val)), at: []regalloc.Allocation{r(0)}, edits: []regalloc.Edit{move(0, r(3), r(0), 8)}, msg: "malformed"},
	} {
		info := regalloc.VRegInfo{Bytes: 8, Remat: regalloc.NoInst}
		c := &code{}
		c.in.VRegs = []regalloc.VRegInfo{info, info, {Class: regalloc.Float, Bytes: 16, Remat: regalloc.NoInst}, {Bytes: 8, Ref: true, Remat: regalloc.NoInst}, info, info,
			{Class: regalloc.Float, Bytes: 8, Remat: regalloc.NoInst},
			constant: {Bytes: 8, Remat: 1, Storable: true}, large: {Bytes: 8, Remat: 2}, half: {Bytes: 4, Remat: 3, Storable: true}}
		c.in.ClobberSets = []regalloc.Clobbers{{}, regalloc.WholeRegs(regalloc.SetOf(2, 5)), {High: regalloc.SetOf(5, 32, 33)}}
		c.inst(regalloc.InstInfo{}, ops(def(val), def(other), def(wide), def(ref), def(narrow)), r(0), r(1), f(0), s(1), f(1))
		for _, v := range []regalloc.VReg{constant, large, half} {
			c.inst(regalloc.InstInfo{}, ops(regalloc.DefOf(v, regalloc.Reg)), regalloc.NoAllocation)
		}
		c.inst(test.info, test.ops, test.at...)
		end, at := ops(use(ref)), []regalloc.Allocation{s(1)}
		if test.result != 0 {
			end, at = append(end, use(made)), append(at, test.result)
		}
		c.inst(regalloc.InstInfo{Flags: regalloc.IsTerminator | regalloc.IsReturn}, end, at...)
		c.in.Blocks = []regalloc.BlockInfo{{Insts: regalloc.Range{End: 6}}}
		c.out.SlotWords, c.out.Edits, c.out.Used = 5, test.edits, ^regalloc.PRegSet(0)
		if test.unused {
			c.out.Used = c.out.Used.Remove(5)
		}
		if test.maps != nil {
			c.out.StackMapSlots = test.maps
			c.out.StackMaps = []regalloc.StackMap{{Inst: 4, Slots: regalloc.Range{End: uint32(len(test.maps))}}}
		}
		env := &regalloc.MachineEnv{
			Allocatable: 0x3f_0000003f, CalleeSaved: regalloc.SetOf(5), Scratch: [2]regalloc.PReg{regalloc.IntReg(6), regalloc.FloatReg(7)}, Swaps: 0x1f,
		}
		var err error
		x, chance := new(Executor), rand.New(rand.NewPCG(1, 1))
		for k := 0; k < 20 && err == nil; k++ {
			err = x.Run(chance, &c.in, env, &c.out, Path{Steps: 10})
		}
		if test.msg == "" && err != nil || test.msg != "" && (err == nil || !strings.Contains(err.Error(), test.msg)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.msg)
		}
		if errors.Is(err, ErrMalformed) != (test.msg == "malformed") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
