package linear

import "github.com/waot-project/waot/regalloc"

// crowd is the number of edges, outside loops, from which on a parameter that comes
// from memory is not loaded on each edge.
const crowd = 3

// vote looks at where the arguments for the parameter v are on forward
// edges. It reports whether v is best left in memory, where they are;
// else it sets a.wish to the register that most of them are in, unless v goes
// around a loop.
func (w *walker) vote(v uint32) bool {
	vr := &w.vregs[v]
	preds := w.in.PredsOf(regalloc.Block(vr.defBlock))
	if len(preds) < 2 {
		return false
	}
	var votes [64]uint32
	c := w.coalescer.classFor(v)
	inReg, inMem, count, loop := uint32(0), uint32(0), 0, false
	for _, p := range preds {
		if uint32(p) >= vr.defBlock {
			loop = true
			continue
		}
		arg := uint32(w.in.ArgsOf(w.in.SuccsOf(p)[0])[vr.index])
		f := w.freq[p]
		loc := w.placedAt(arg, 4*w.in.Blocks[p].Insts.End-1)
		switch {
		case loc.IsReg():
			inReg += f
			// A value of another class gives its register to that class again.
			if d := w.coalescer.classFor(arg); d != none && d != c {
				f /= 4
			}
			votes[loc.Reg()&63] += f
		case w.vregs[arg].flags&(isRemat|isArg) != 0:
		case c != none && c == w.coalescer.classFor(arg):
			inMem += f
			count++
		default:
			inReg += f
		}
	}
	if !loop && inMem > inReg && (!w.usedSoon(v, vr.defBlock) || count >= crowd && w.in.Blocks[vr.defBlock].LoopDepth == 0) {
		return true
	}
	if loop && c != none && w.coalescer.classes[c].pref != uint8(regalloc.NoPReg) {
		return false
	}
	best := uint32(0)
	for _, r := range w.env.Order[w.class(v)] {
		if votes[r] > best {
			best, w.wish = votes[r], r
		}
	}
	return false
}

// placedAt returns the register that v is in at pos, which the walk has passed, or
// NoAllocation.
func (w *walker) placedAt(v, pos uint32) regalloc.Allocation {
	p := v
	for n := w.parts[p].sib; n != none && w.parts[n].start <= pos; n = w.parts[n].sib {
		p = n
	}
	return w.parts[p].loc
}
