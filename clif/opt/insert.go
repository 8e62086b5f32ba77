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
	next  int // of seek
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

// addEffect is add for an instruction without a result.
func (z *insertions) addEffect(f *clif.Func, at clif.Inst, d clif.InstData) {
	d.Result = clif.NoValue
	z.fresh = append(stop.Room(f.Stop, z.fresh), freshInst{at, d})
}

// insert puts the fresh instructions where they belong; those in front of the same one stay in order. Only blocks that get some are written anew, at the end of all
// instructions, unless these are many.
func (z *insertions) insert(f *clif.Func) {
	order := func(a, b freshInst) int { return cmp.Compare(a.at, b.at) }
	if !slices.IsSortedFunc(z.fresh, order) { // passes follow the layout, or nearly so
		slices.SortStableFunc(z.fresh, order)
	}
	if changed := z.changed(f); changed > len(f.Insts)/4 {
		z.insts, z.srcs = f.Rewriting(len(f.Insts) + len(z.fresh))
		for _, b := range f.Layout {
			z.block(f, b)
		}
		f.Rewritten(z.insts, z.srcs)
	} else {
		z.insts, z.srcs = stop.Grow(f.Stop, f.Insts, changed+len(z.fresh)), stop.Grow(f.Stop, f.Srcs, changed+len(z.fresh))
		for n, b := range f.Layout {
			f.Stop.PollAt(n)
			if old := f.Blocks[b]; z.seek(&old) {
				z.block(f, b)
				for i := old.Start; i < old.End; i++ {
					z.insts[i] = clif.InstData{Result: clif.NoValue}
				}
			}
		}
		f.Insts, f.Srcs = z.insts, z.srcs
	}
	z.insts, z.srcs = nil, nil
	z.fresh = z.fresh[:0]
}

// seek makes next the first of the fresh instructions at or behind the start of a block, and reports whether it is for the block. For blocks in the order of their
// instructions, which they mostly are in, next is that already, or nearly.
func (z *insertions) seek(bd *clif.BlockData) bool {
	n := z.next
	for n < len(z.fresh) && n < z.next+4 && z.fresh[n].at < bd.Start {
		n++
	}
	if n < len(z.fresh) && z.fresh[n].at < bd.Start || n > 0 && z.fresh[n-1].at >= bd.Start {
		n, _ = slices.BinarySearchFunc(z.fresh, bd.Start, func(x freshInst, at clif.Inst) int { return cmp.Compare(x.at, at) })
	}
	z.next = n
	return n < len(z.fresh) && z.fresh[n].at < bd.End
}

// changed returns how many instructions the blocks have that get fresh ones.
func (z *insertions) changed(f *clif.Func) (insts int) {
	z.next = 0
	for n, b := range f.Layout {
		f.Stop.PollAt(n)
		if bd := &f.Blocks[b]; z.seek(bd) {
			insts += int(bd.End - bd.Start)
		}
	}
	return insts
}

// block appends the instructions of b and the fresh ones.
func (z *insertions) block(f *clif.Func, b clif.Block) {
	start := clif.Inst(len(z.insts))
	old := f.Blocks[b]
	z.seek(&old)
	next := z.next
	for i := old.Start; i < old.End; i++ {
		f.Stop.PollAt(int(i))
		for ; next < len(z.fresh) && z.fresh[next].at == i; next++ {
			z.place(f, z.fresh[next].d, f.Srcs[i])
		}
		z.place(f, f.Insts[i], f.Srcs[i])
	}
	f.Blocks[b].Start, f.Blocks[b].End = start, clif.Inst(len(z.insts))
}

// place appends d to the new instructions.
func (z *insertions) place(f *clif.Func, d clif.InstData, src uint32) {
	for n := range clif.Value(d.NumResults) {
		f.Values[d.Result+n].Def = uint32(len(z.insts))
	}
	z.insts, z.srcs = append(z.insts, d), append(z.srcs, src)
}
