package inspect

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/regalloc"
)

// chain is a function of n blocks, each with a jump, in the first of which n values are defined that the last one uses.
func chain(n uint32) (*regalloc.Input, *regalloc.Output) {
	in := &regalloc.Input{ClobberSets: make([]regalloc.Clobbers, 1)}
	inst := func() {
		in.Insts = append(in.Insts, regalloc.InstInfo{OperandEnd: uint32(len(in.Operands))})
	}
	for b := range n {
		block := regalloc.BlockInfo{Insts: regalloc.Range{Start: uint32(len(in.Insts))}}
		for v := range n {
			switch b {
			case 0:
				in.VRegs = append(in.VRegs, regalloc.VRegInfo{Bytes: 8})
				in.Operands = append(in.Operands, regalloc.DefOf(regalloc.VReg(v), regalloc.Any))
				inst()
			case n - 1:
				in.Operands = append(in.Operands, regalloc.UseOf(regalloc.VReg(v), regalloc.Any))
				inst()
			}
		}
		inst()
		block.Insts.End = uint32(len(in.Insts))
		block.Preds.Start = uint32(len(in.BlockLists))
		if b > 0 {
			in.BlockLists = append(in.BlockLists, regalloc.Block(b-1))
		}
		block.Preds.End = uint32(len(in.BlockLists))
		block.Succs.Start = uint32(len(in.Edges))
		if b+1 < n {
			in.Edges = append(in.Edges, regalloc.Edge{To: regalloc.Block(b + 1)})
		}
		block.Succs.End = uint32(len(in.Edges))
		in.Blocks = append(in.Blocks, block)
	}
	out := &regalloc.Output{}
	for _, o := range in.Operands {
		out.Allocs = append(out.Allocs, regalloc.InSlot(int(o.VReg)))
	}
	return in, out
}

// follow goes through the blocks of a chain with one row for each head and instruction.
func follow(in *regalloc.Input, out *regalloc.Output) *timeline {
	t, row := newTimeline(in, out), 0
	for b := range in.Blocks {
		t.enter(b, row)
		row++
		for i := in.Blocks[b].Insts.Start; i < in.Blocks[b].Insts.End; i++ {
			t.inst(regalloc.Inst(i), b, row)
			row++
		}
		t.leave(b)
	}
	t.finish(row)
	return t
}

// TestTimeline: a value is in its place from where it is defined to its last use, and nowhere if that would take too much memory.
func TestTimeline(t *testing.T) {
	tl := follow(chain(3))
	want := []segment{
		{held{0, regalloc.InSlot(0)}, 3, 16}, {held{1, regalloc.InSlot(1)}, 5, 18}, {held{2, regalloc.InSlot(2)}, 7, 20},
	}
	if tl.omitted != "" || len(tl.done) != len(want) {
		t.Fatalf("%q, %v", tl.omitted, tl.done)
	}
	for i := range want {
		if tl.done[i] != want[i] {
			t.Errorf("%v, want %v", tl.done[i], want[i])
		}
	}
	if tl := follow(chain(3000)); tl.omitted == "" || len(tl.done) > 0 {
		t.Errorf("%d segments", len(tl.done))
	}
}

// TestTimelineClobber: a register that an instruction overwrites holds nothing from then on, be it that the value lives on elsewhere.
func TestTimelineClobber(t *testing.T) {
	reg, slot := regalloc.InReg(regalloc.IntReg(1)), regalloc.InSlot(0)
	in := &regalloc.Input{
		VRegs:       []regalloc.VRegInfo{{Bytes: 8}},
		Operands:    []regalloc.Operand{regalloc.FixedDef(0, regalloc.IntReg(1)), regalloc.UseOf(0, regalloc.Any)},
		Insts:       []regalloc.InstInfo{{OperandEnd: 1}, {OperandEnd: 1, Clobbers: 1}, {OperandEnd: 2}},
		ClobberSets: []regalloc.Clobbers{{}, regalloc.WholeRegs(regalloc.SetOf(regalloc.IntReg(1), regalloc.IntReg(2)))},
		Blocks:      []regalloc.BlockInfo{{Insts: regalloc.Range{End: 3}}},
	}
	out := &regalloc.Output{Allocs: []regalloc.Allocation{reg, slot}, Edits: []regalloc.Edit{{Point: regalloc.After(0), From: reg, To: slot, Bytes: 8}}}
	tl := newTimeline(in, out)
	tl.enter(0, 0)
	tl.inst(0, 0, 1)
	if moved := tl.edit(0, 2); len(moved) != 1 || moved[0] != (held{0, slot}) {
		t.Errorf("the edit moves %v", moved)
	}
	tl.inst(1, 0, 3)
	tl.inst(2, 0, 4)
	tl.leave(0)
	tl.finish(5)
	if want := []segment{{held{0, reg}, 3, 6}, {held{0, slot}, 5, 8}}; !slices.Equal(tl.done, want) {
		t.Errorf("%v, want %v", tl.done, want)
	}
}

// TestTimelineEdits: a swap exchanges what two registers hold, and a stored constant is in its slot.
func TestTimelineEdits(t *testing.T) {
	x, y, slot := regalloc.InReg(regalloc.IntReg(1)), regalloc.InReg(regalloc.IntReg(2)), regalloc.InSlot(0)
	in := &regalloc.Input{
		VRegs:       []regalloc.VRegInfo{{Bytes: 8, Remat: regalloc.NoInst}, {Bytes: 8, Remat: regalloc.NoInst}, {Bytes: 8, Remat: 1, Storable: true}},
		Operands:    []regalloc.Operand{regalloc.DefOf(0, regalloc.Reg), regalloc.DefOf(1, regalloc.Reg), regalloc.DefOf(2, regalloc.Reg)},
		Insts:       []regalloc.InstInfo{{OperandEnd: 2}, {OperandEnd: 3}, {OperandEnd: 6}},
		ClobberSets: []regalloc.Clobbers{{}},
		Blocks:      []regalloc.BlockInfo{{Insts: regalloc.Range{End: 3}}},
	}
	for v := range regalloc.VReg(3) {
		in.Operands = append(in.Operands, regalloc.UseOf(v, regalloc.Any))
	}
	out := &regalloc.Output{Allocs: []regalloc.Allocation{x, y, regalloc.NoAllocation, y, x, slot}, Edits: []regalloc.Edit{
		{Point: regalloc.After(1), Kind: regalloc.Swap, From: x, To: y, Bytes: 8}, {Point: regalloc.After(1), Kind: regalloc.StoreConst, To: slot, Inst: 1, Bytes: 8},
	}}
	tl := newTimeline(in, out)
	tl.enter(0, 0)
	tl.inst(0, 0, 1)
	tl.inst(1, 0, 2)
	if moved, want := tl.edit(0, 3), []held{{0, y}, {1, x}}; !slices.Equal(moved, want) {
		t.Errorf("the swap moves %v, want %v", moved, want)
	}
	if moved, want := tl.edit(1, 4), []held{{2, slot}}; !slices.Equal(moved, want) {
		t.Errorf("the store moves %v, want %v", moved, want)
	}
	tl.inst(2, 0, 5)
	tl.leave(0)
	tl.finish(6)
	want := []segment{{held{0, x}, 3, 6}, {held{1, y}, 3, 6}, {held{0, y}, 7, 10}, {held{1, x}, 7, 10}, {held{2, slot}, 9, 10}}
	for _, g := range want {
		if !slices.Contains(tl.done, g) {
			t.Errorf("no %v in %v", g, tl.done)
		}
	}
	if len(tl.done) != len(want) {
		t.Errorf("%v, want %v", tl.done, want)
	}
}

// TestTooLarge: a page has a limit.
func TestTooLarge(t *testing.T) {
	f := &Function{Pool: make([]Row, 70)}
	for i := range f.Pool {
		f.Pool[i].Text = strings.Repeat("x", 1<<20)
	}
	var large *TooLarge
	if err := (&Page{Functions: []*Function{f}}).Write(io.Discard); !errors.As(err, &large) || large.Bytes < 70<<20 || !strings.Contains(err.Error(), "choose fewer functions") {
		t.Error(err)
	}
	f.Pool = f.Pool[:60]
	if err := (&Page{Functions: []*Function{f}}).Write(io.Discard); err != nil {
		t.Error(err)
	}
}
