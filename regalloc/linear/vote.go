package linear

import (
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// crowd is the number of edges, outside loops, from which on a parameter that comes
// from memory is not loaded on each edge.
const crowd = 3

// vote looks at where the arguments for the parameter v are on forward
// edges. It reports whether v is best left in memory, where they are;
// else it sets a.wish to the register that most of them are in, unless v goes
// around a loop.
func (w *walker) vote(v uint32) bool {
	vr := &w.Values[v]
	preds := w.In.PredsOf(regalloc.Block(vr.DefBlock))
	if len(preds) < 2 {
		return false
	}
	var votes [64]uint64
	c := w.coalescer.ClassFor(v)
	inReg, inMem, count, loop := uint64(0), uint64(0), 0, false
	for _, p := range preds {
		if uint32(p) >= vr.DefBlock {
			loop = true
			continue
		}
		arg := uint32(w.In.ArgsOf(w.In.SuccsOf(p)[0])[vr.Index])
		f := uint64(w.Freq[p])
		loc := w.placedAt(arg, 4*w.In.Blocks[p].Insts.End-1)
		switch {
		case loc.IsReg():
			inReg += f
			// A value of another class gives its register to that class again.
			if d := w.coalescer.ClassFor(arg); d != flow.None && d != c {
				f /= 4
			}
			votes[loc.Reg()&63] += f
		case w.Values[arg].Flags&(flow.IsRemat|flow.IsArg) != 0:
		case c != flow.None && c == w.coalescer.ClassFor(arg):
			inMem += f
			count++
		default:
			inReg += f
		}
	}
	if !loop && inMem > inReg && (!w.UsedSoon(v, vr.DefBlock) || count >= crowd && w.In.Blocks[vr.DefBlock].LoopDepth == 0) {
		return true
	}
	if loop && c != flow.None && w.coalescer.All[c].Pref != uint8(regalloc.NoPReg) {
		return false
	}
	if c != flow.None && w.coalescer.All[c].Depth >= 0 { // most often a loop's next iteration wants it there
		votes[w.coalescer.All[c].Pref&63] += uint64(w.Freq[vr.DefBlock])
	}
	best := uint64(0)
	for _, r := range w.Env.Order[w.ClassOf(v)] {
		if votes[r] > best {
			best, w.wish = votes[r], r
		}
	}
	return false
}

// placedAt returns the register that v is in at pos, which the walk has passed, or NoAllocation, also if that takes too long to
// find out.
func (w *walker) placedAt(v, pos uint32) regalloc.Allocation {
	// Values may have very many parts; the one in question is most often near the one that was before.
	vr, p := &w.Values[v], v
	if vr.Recent != 0 {
		p = vr.Recent
	}
	for p != v && w.parts[p].Start > pos {
		if w.effort--; w.effort < 0 {
			return regalloc.NoAllocation
		}
		p = w.parts[p].Before
	}
	for n := w.parts[p].Sib; n != flow.None && w.parts[n].Start <= pos; n = w.parts[n].Sib {
		if w.effort--; w.effort < 0 {
			return regalloc.NoAllocation
		}
		p = n
	}
	vr.Recent = p
	return w.parts[p].Loc
}

// atHeader returns where v is at the header of the innermost loop around block b if it is live from before that loop on, else
// several, which is no location.
func (w *walker) atHeader(v, b uint32) regalloc.Allocation {
	h := w.Headers[b]
	if h == flow.None || w.Ranges[w.Values[v].Range].Start >= 4*w.In.Blocks[h].Insts.Start {
		return flow.Several
	}
	return w.placedAt(v, 4*w.In.Blocks[h].Insts.Start)
}

// stays looks at where the value of part p, which is not its first and begins where control joins, is at the header of the
// loop around: there the next iteration wants it again. It reports whether that is in memory, and p, which is not used soon,
// best stays there too; else it sets w.wish to the register.
func (w *walker) stays(p uint32) bool {
	pt := &w.parts[p]
	b := w.InstBlock[flow.InstOf(pt.Start)]
	if pt.Start != 4*w.In.Blocks[b].Insts.Start || w.In.Blocks[b].Preds.Len() < 2 {
		return false
	}
	loc := w.atHeader(pt.Value, b)
	if loc == flow.Several {
		return false
	}
	if loc.IsReg() {
		w.wish = loc.Reg()
		return false
	}
	u := pt.Use
	for ; w.Uses[u].Kind() == flow.SoftUse && w.effort > 0; w.effort-- {
		u = w.Uses[u].Next
	}
	pos := w.Uses[u].Pos
	return pos >= pt.End || pos >= pt.Start+4*flow.Soon || w.DepthAt(pos) < w.DepthAt(pt.Start)
}
