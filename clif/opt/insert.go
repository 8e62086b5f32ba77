package opt

import (
	"cmp"
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// insertions are instructions that a pass puts in front of others, all at once.
type insertions struct {
	fresh []freshInst
	// The new instructions, during insert.
	insts []clif.InstData
	srcs  []uint32
}

// freshInst is an instruction to be put in front of another.
type freshInst struct {
	at clif.Inst
	d  clif.InstData
}

// add returns the result, of type t, of the instruction d in front of at. It is not there before insert.
func (z *insertions) add(f *clif.Func, at clif.Inst, t clif.Type, d clif.InstData) clif.Value {
	d.Result, d.NumResults = clif.Value(len(f.Values)), 1
	f.Values = append(stop.Room(f.Stop, f.Values), clif.ValueData{Type: t, Def: uint32(at)})
	z.fresh = append(stop.Room(f.Stop, z.fresh), freshInst{at, d})
	return d.Result
}

// insert puts the fresh instructions where they belong; those in front of the same one stay in order.
func (z *insertions) insert(f *clif.Func) {
	slices.SortStableFunc(z.fresh, func(a, b freshInst) int { return cmp.Compare(a.at, b.at) })
	z.insts, z.srcs = f.Rewriting(len(f.Insts) + len(z.fresh))
	for _, b := range f.Layout {
		start := clif.Inst(len(z.insts))
		old := f.Blocks[b]
		next, _ := slices.BinarySearchFunc(z.fresh, old.Start, func(x freshInst, at clif.Inst) int { return cmp.Compare(x.at, at) })
		for i := old.Start; i < old.End; i++ {
			f.Stop.PollAt(int(i))
			for ; next < len(z.fresh) && z.fresh[next].at == i; next++ {
				z.place(f, z.fresh[next].d, f.Srcs[i])
			}
			z.place(f, f.Insts[i], f.Srcs[i])
		}
		f.Blocks[b].Start, f.Blocks[b].End = start, clif.Inst(len(z.insts))
	}
	f.Rewritten(z.insts, z.srcs)
	z.insts, z.srcs = nil, nil
	z.fresh = z.fresh[:0]
}

// place appends d to the new instructions.
func (z *insertions) place(f *clif.Func, d clif.InstData, src uint32) {
	for n := range clif.Value(d.NumResults) {
		f.Values[d.Result+n].Def = uint32(len(z.insts))
	}
	z.insts, z.srcs = append(z.insts, d), append(z.srcs, src)
}
