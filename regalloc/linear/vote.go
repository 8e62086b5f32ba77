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
	var votes [64]uint64
	c := w.coalescer.classFor(v)
	inReg, inMem, count, loop := uint64(0), uint64(0), 0, false
	for _, p := range preds {
		if uint32(p) >= vr.defBlock {
			loop = true
			continue
		}
		arg := uint32(w.in.ArgsOf(w.in.SuccsOf(p)[0])[vr.index])
		f := uint64(w.freq[p])
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
	if c != none && w.coalescer.classes[c].depth >= 0 { // most often a loop's next iteration wants it there
		votes[w.coalescer.classes[c].pref&63] += uint64(w.freq[vr.defBlock])
	}
	best := uint64(0)
	for _, r := range w.env.Order[w.class(v)] {
		if votes[r] > best {
			best, w.wish = votes[r], r
		}
	}
	return false
}

// placedAt returns the register that v is in at pos, which the walk has passed, or NoAllocation, also if that takes too long to
// find out.
func (w *walker) placedAt(v, pos uint32) regalloc.Allocation {
	p := v
	for n := w.parts[p].sib; n != none && w.parts[n].start <= pos; n = w.parts[n].sib {
		if w.effort--; w.effort < 0 {
			return regalloc.NoAllocation
		}
		p = n
	}
	return w.parts[p].loc
}

// atHeader returns where v is at the header of the innermost loop around block b if it is live from before that loop on, else
// several, which is no location.
func (w *walker) atHeader(v, b uint32) regalloc.Allocation {
	h := w.headers[b]
	if h == none || w.ranges[w.vregs[v].rng].start >= 4*w.in.Blocks[h].Insts.Start {
		return several
	}
	return w.placedAt(v, 4*w.in.Blocks[h].Insts.Start)
}

// stays looks at where the value of part p, which is not its first and begins where control joins, is at the header of the
// loop around: there the next iteration wants it again. It reports whether that is in memory, and p, which is not used soon,
// best stays there too; else it sets w.wish to the register.
func (w *walker) stays(p uint32) bool {
	pt := &w.parts[p]
	b := w.instBlock[instOf(pt.start)]
	if pt.start != 4*w.in.Blocks[b].Insts.Start || w.in.Blocks[b].Preds.Len() < 2 {
		return false
	}
	loc := w.atHeader(pt.vreg, b)
	if loc == several {
		return false
	}
	if loc.IsReg() {
		w.wish = loc.Reg()
		return false
	}
	u := pt.use
	for ; w.uses[u].kind() == softUse && w.effort > 0; w.effort-- {
		u = w.uses[u].next
	}
	pos := w.uses[u].pos
	return pos >= pt.end || pos >= pt.start+4*soon || w.depthAt(pos) < w.depthAt(pt.start)
}
