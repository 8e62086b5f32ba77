package flow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/regalloc"
)

// TestLiveness: the values live into each block are those that a search from each use finds, in order, in functions with few blocks and many, whose
// values live for few blocks and many.
func TestLiveness(t *testing.T) {
	var lv Liveness
	for seed, blocks := range []int{1, 2, 40, manyBlocks, manyBlocks + 1, manyBlocks + 500, 40} {
		in := chain(rand.New(rand.NewPCG(uint64(seed), 1)), blocks)
		var fn function
		fn.setup(in, &regalloc.MachineEnv{}, new(regalloc.Output))
		if err := lv.find(fn); err != nil {
			t.Fatal(err)
		}
		want := liveInto(in)
		far := 0
		for b := range in.Blocks {
			if got := lv.LiveInto(uint32(b)); !slices.Equal(got, want[b]) {
				t.Fatalf("%d blocks, block %d: %d are live, want %d", blocks, b, got, want[b])
			}
			far = max(far, len(want[b]))
		}
		if blocks > manyBlocks && (slices.IsSorted(lv.values) || far < batchSize/2) {
			t.Errorf("%d blocks: no values that live long, or few at once: %d", blocks, far)
		}
	}
}

// chain returns a function whose blocks follow each other, with loops. Each block is one instruction, which defines some values and uses
// some that are defined before.
func chain(r *rand.Rand, blocks int) *regalloc.Input {
	in := &regalloc.Input{}
	for b := range blocks {
		start := uint32(len(in.Edges))
		if b+1 < blocks {
			in.Edges = append(in.Edges, regalloc.Edge{To: regalloc.Block(b + 1)})
		}
		if b > 0 && r.IntN(10) == 0 {
			in.Edges = append(in.Edges, regalloc.Edge{To: regalloc.Block(1 + max(0, b-1-r.IntN(30)))})
		}
		for range r.IntN(3) {
			if n := len(in.VRegs); n > 0 {
				v := n - 1 - r.IntN(min(n, 20))
				if r.IntN(8) == 0 {
					v = r.IntN(n)
				}
				in.Operands = append(in.Operands, regalloc.Operand{VReg: regalloc.VReg(v), Constraint: regalloc.Reg, Access: regalloc.Use})
			}
		}
		for range 1 + r.IntN(2) {
			in.Operands = append(in.Operands, regalloc.Operand{VReg: regalloc.VReg(len(in.VRegs)), Constraint: regalloc.Reg, Access: regalloc.Def})
			in.VRegs = append(in.VRegs, regalloc.VRegInfo{Bytes: 8, Remat: regalloc.NoInst})
		}
		in.Insts = append(in.Insts, regalloc.InstInfo{OperandEnd: uint32(len(in.Operands))})
		in.Blocks = append(in.Blocks, regalloc.BlockInfo{Insts: regalloc.Range{Start: uint32(b), End: uint32(b + 1)},
			Succs: regalloc.Range{Start: start, End: uint32(len(in.Edges))}})
	}
	for b := range in.Blocks {
		start := uint32(len(in.BlockLists))
		for from := max(0, b-1); from < min(len(in.Blocks), b+40); from++ { // edges lead at most that far back
			for _, e := range in.SuccsOf(regalloc.Block(from)) {
				if int(e.To) == b {
					in.BlockLists = append(in.BlockLists, regalloc.Block(from))
				}
			}
		}
		in.Blocks[b].Preds = regalloc.Range{Start: start, End: uint32(len(in.BlockLists))}
	}
	return in
}

// liveInto returns the values live into each block of a chain.
func liveInto(in *regalloc.Input) [][]uint32 {
	live := make([][]uint32, len(in.Blocks))
	def := make([]int, len(in.VRegs))
	var visit func(v uint32, b int)
	visit = func(v uint32, b int) {
		if def[v] == b || len(live[b]) > 0 && live[b][len(live[b])-1] == v {
			return
		}
		live[b] = append(live[b], v)
		for _, p := range in.PredsOf(regalloc.Block(b)) {
			visit(v, int(p))
		}
	}
	for b := range in.Blocks {
		for _, o := range in.OperandsOf(regalloc.Inst(b)) {
			if o.Access.Defines() {
				def[o.VReg] = b
			}
		}
	}
	for v := range in.VRegs {
		for b := range in.Blocks {
			for _, o := range in.OperandsOf(regalloc.Inst(b)) {
				if int(o.VReg) == v && !o.Access.Defines() {
					visit(uint32(v), b)
				}
			}
		}
	}
	return live
}
