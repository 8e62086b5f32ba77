package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/parmove"
)

// resolver is the state of the last steps, which connect parts by moves.
type resolver struct {
	moves parmove.Resolver
	recs  []rec
	heads []uint32 // first rec beside each instruction, or none
	cost  []uint64 // by value: of storing it wherever it goes to memory
	// where is, by value, the only place it is in, or several.
	where []regalloc.Allocation
	flat  []place // of values that have several parts, in order
	flats []regalloc.Range
	// cursor is, by value, the place in flat that was found last.
	cursor []uint32
	// entryLocs, parallel to liveIn, is where values are at the entries of
	// blocks, in the end before the moves of an only edge to the block.
	entryLocs []regalloc.Allocation
	gaps      []gap

	group, ordered []parmove.Move
	remats         []uint32
	pairs          []uint64
}

// place says where a value is from start on.
type place struct {
	start uint32
	loc   regalloc.Allocation
}

// rec is one move to be done beside an instruction. From is NoAllocation if the
// value is to be rematerialised.
type rec struct {
	next     uint32
	vreg     uint32
	from, to regalloc.Allocation
	when     uint8
	// spill marks a store that is not needed if the slot is valid already.
	spill bool
}

// gap is a value, in loc, that operand op reads in the gap before its
// instruction, at position pos.
type gap struct {
	op, pos, vreg uint32
	loc           regalloc.Allocation
}

// When beside an instruction moves happen; each group is a parallel move.
const (
	onEntry   = iota // before, on the edge into the block
	inGap            // before
	onExit           // before a terminator, on the edge out
	afterward        // after
	numWhen
)

// fillOperands gives the operands their allocations.
func (a *Allocator) fillOperands() error {
	a.gaps = a.gaps[:0]
	for p := range a.parts {
		a.in.Stop.PollAt(p)
		pt := &a.parts[p]
		if pt.start == inf {
			continue
		}
		loc := a.locOf(uint32(p))
		for u := pt.first; a.uses[u].pos < pt.end; u = a.uses[u].next {
			x := &a.uses[u]
			op := x.op & opMask
			switch x.op >> kindBits {
			case gapUse:
				a.gaps = stop.Append(a.in.Stop, a.gaps, gap{op, x.pos, pt.vreg, loc})
				continue
			case softUse:
				continue
			case mustUse:
				if !loc.IsReg() {
					return fail(Unallocatable, x.pos>>2, pt.vreg)
				}
			}
			a.out.Allocs[op] = loc
		}
	}
	return nil
}

// connect makes the moves that do not lie on edges: between parts in a block,
// to operands with places of their own, and from definitions with such.
func (a *Allocator) connect() {
	a.heads = stop.Resize(a.in.Stop, a.heads, len(a.in.Insts))
	for i := range a.heads {
		a.heads[i] = none
	}
	a.recs = a.recs[:0]
	a.cost = stop.Resize(a.in.Stop, a.cost, len(a.vregs))
	clear(a.cost)
	a.flatten()
	for _, g := range a.gaps {
		a.in.Stop.Poll()
		a.move(g.pos>>2, inGap, g.vreg, g.loc, a.out.Allocs[g.op], false)
	}
	for v := range a.vregs {
		a.in.Stop.PollAt(v)
		for p := uint32(v); a.parts[p].sib != none; p = a.parts[p].sib {
			if c := a.parts[p].sib; a.parts[c].start == a.parts[p].end {
				a.connectParts(uint32(v), p, c)
			}
		}
	}
	for _, v := range a.fixedDefs {
		i := a.vregs[v].defInst
		if a.parts[v].start != inf && !a.definedByTerminator(v) {
			a.move(i, afterward, v, a.vregs[v].def, a.locAt(v, 4*i+4), false)
		}
	}
}

// connectParts makes the moves, if any, from part p to c, which follows without
// a hole.
func (a *Allocator) connectParts(v, p, c uint32) {
	pos := a.parts[c].start
	i := pos >> 2
	from, to := a.locOf(p), a.locOf(c)
	switch pos & 3 {
	case 0:
		if a.instBlock[i] != a.instBlock[i-1] {
			return // edges connect them
		}
		a.move(i-1, afterward, v, from, to, true)
	case atUse:
		a.move(i, inGap, v, from, to, true)
	case atDef:
		a.move(i, inGap, v, a.locAt(v, 4*i), to, true)
	}
}

// several, in resolver.where, is more places than one. It is no location.
const several regalloc.Allocation = 1

// flatten finds where values are, and makes arrays of the parts of those that
// have several.
func (a *Allocator) flatten() {
	a.flat = a.flat[:0]
	a.flats = stop.Resize(a.in.Stop, a.flats, len(a.vregs))
	a.where = stop.Resize(a.in.Stop, a.where, len(a.vregs))
	for v := range a.vregs {
		a.in.Stop.PollAt(v)
		if a.parts[v].sib == none {
			a.where[v] = a.locOf(uint32(v))
			continue
		}
		a.where[v] = several
		start := len(a.flat)
		for p := uint32(v); p != none; p = a.parts[p].sib {
			a.flat = stop.Append(a.in.Stop, a.flat, place{a.parts[p].start, a.locOf(p)})
		}
		a.flats[v] = regalloc.Range{Start: uint32(start), End: uint32(len(a.flat))}
	}
}

// locOf is where part p is.
func (a *Allocator) locOf(p uint32) regalloc.Allocation {
	if l := a.parts[p].loc; l != regalloc.NoAllocation {
		return l
	}
	return a.homes[a.parts[p].vreg]
}

// locAt is where v, live there, is at pos: NoAllocation if nowhere.
func (a *Allocator) locAt(v, pos uint32) regalloc.Allocation {
	if l := a.where[v]; l != several {
		return l
	}
	r := a.flats[v]
	l := a.flat[r.Start:r.End]
	// The last place that starts at or before pos is in l.
	for len(l) > 4 {
		if h := len(l) / 2; l[h].start <= pos {
			l = l[h:]
		} else {
			l = l[:h]
		}
	}
	n := len(l) - 1
	for n > 0 && l[n].start > pos {
		n--
	}
	return l[n].loc
}

// move notes a move of v beside instruction i. If spill is set, a store into
// v's slot counts for the decision where to store v.
func (a *Allocator) move(i uint32, when uint8, v uint32, from, to regalloc.Allocation, spill bool) {
	if from == to || to == regalloc.NoAllocation || to.IsArg() {
		return
	}
	spill = spill && to.IsSlot()
	if spill {
		a.cost[v] += uint64(a.freq[a.instBlock[i]])
	}
	a.recs = stop.Append(a.in.Stop, a.recs, rec{next: a.heads[i], vreg: v, from: from, to: to, when: when, spill: spill})
	a.heads[i] = uint32(len(a.recs) - 1)
}

// rewind lets next begin at position 0 again.
func (a *Allocator) rewind() {
	a.cursor = stop.Resize(a.in.Stop, a.cursor, len(a.vregs))
	for v, l := range a.where {
		if l == several {
			a.cursor[v] = a.flats[v].Start
		}
	}
}

// next is locAt for positions that do not fall from one call for v to the next.
func (a *Allocator) next(v, pos uint32) regalloc.Allocation {
	if l := a.where[v]; l != several {
		return l
	}
	n, end := a.cursor[v], a.flats[v].End
	for n+1 < end && a.flat[n+1].start <= pos {
		n++
	}
	a.cursor[v] = n
	return a.flat[n].loc
}

// findEntries finds where values are at the entries of blocks.
func (a *Allocator) findEntries() {
	a.rewind()
	a.entryLocs = stop.Resize(a.in.Stop, a.entryLocs, len(a.liveIn))
	k := uint32(0)
	for b := range a.in.Blocks {
		entry := 4 * a.in.Blocks[b].Insts.Start
		for end := a.liveInEnd[b]; k < end; k++ {
			a.in.Stop.Poll()
			a.entryLocs[k] = a.next(a.liveIn[k], entry)
		}
	}
	a.rewind()
}

// nextAtEnd is where v is behind the terminator t, which may define v only if
// defines is set; it calls next.
func (a *Allocator) nextAtEnd(v, t uint32, defines bool) regalloc.Allocation {
	if defines {
		if vr := &a.vregs[v]; vr.defInst == t && vr.def != regalloc.NoAllocation {
			return vr.def
		}
	}
	return a.next(v, 4*t+atDef)
}

// defines reports whether i defines anything.
func (a *Allocator) defines(i regalloc.Inst) bool {
	for _, o := range a.in.OperandsOf(i) {
		if o.Access.Defines() {
			return true
		}
	}
	return false
}

// resolveEdges makes the moves on edges: at the start of the target if this is
// the only way there, else before the terminator of the source.
func (a *Allocator) resolveEdges() {
	in := a.in
	a.findEntries()
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		t := in.Blocks[b].Insts.End - 1
		defines := a.defines(regalloc.Inst(t))
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			to := &in.Blocks[e.To]
			at, when := to.Insts.Start, uint8(onEntry)
			single := to.Preds.Len() == 1
			if !single {
				at, when = t, onExit
			}
			first := a.liveInEnd[e.To] - uint32(len(a.liveInto(uint32(e.To))))
			for k, v := range a.liveInto(uint32(e.To)) {
				in.Stop.PollAt(k)
				dest := a.entryLocs[first+uint32(k)]
				from := dest
				if defines || a.where[v] == several {
					from = a.nextAtEnd(v, t, defines)
				}
				if single {
					a.entryLocs[first+uint32(k)] = from
				}
				if from == dest {
					continue
				}
				a.move(at, when, v, from, dest, true)
			}
			params := in.ParamsOf(e.To)
			for k, v := range in.ArgsOf(e) {
				in.Stop.PollAt(k)
				p := uint32(params[k])
				if a.parts[p].start == inf {
					continue
				}
				from, dest := a.nextAtEnd(uint32(v), t, defines), a.locAt(p, 4*to.Insts.Start)
				a.move(at, when, uint32(v), from, dest, dest == a.homes[v])
			}
		}
	}
}

// storeDefs decides for each value with a slot whether it is stored once, where
// it is defined, or wherever it goes from a register to memory. The first is
// right because the definition dominates all else.
func (a *Allocator) storeDefs() {
	for _, v := range a.spilled {
		a.in.Stop.Poll()
		vr := &a.vregs[v]
		if a.parts[v].start == inf {
			continue
		}
		var at uint32
		var first regalloc.Allocation
		when := uint8(afterward)
		switch {
		case vr.flags&isParam != 0:
			at, when = a.in.Blocks[vr.defBlock].Insts.Start, inGap
			first = a.locAt(v, 4*at)
		case a.definedByTerminator(v):
			if vr.def == regalloc.NoAllocation && a.locAt(v, 4*vr.defInst+atDef) == a.homes[v] {
				vr.flags |= stored
			}
			continue
		case vr.def != regalloc.NoAllocation:
			at = vr.defInst
			if first = a.locAt(v, 4*at+4); first != a.homes[v] {
				first = vr.def
			}
		default:
			at = vr.defInst
			first = a.locAt(v, 4*at+atDef)
		}
		if first == a.homes[v] {
			vr.flags |= stored
			continue
		}
		if uint64(a.freq[vr.defBlock]) > a.cost[v] {
			continue
		}
		vr.flags |= stored
		a.move(at, when, v, first, a.homes[v], false)
	}
}
