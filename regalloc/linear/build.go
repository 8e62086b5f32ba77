package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// builder is the state of building intervals, which goes backward through the
// code, so that ranges and uses are put at the front of their lists.
type builder struct {
	blockStart uint32 // position
	crowded    bool   // the instruction may leave no register for an operand that can do without
	ties       []tie
	fixedDefs  []uint32 // values whose definition is in a place of its own
	refArgs    []uint32 // references that come in argument words
}

// tie says that vreg is defined in the register of the given operand, which
// reads the value use.
type tie struct{ operand, vreg, use uint32 }

// build makes the intervals, their uses, and the reservations.
func (a *Allocator) build() {
	in := a.in
	a.resetFixed()
	a.fixedDefs, a.refArgs = a.fixedDefs[:0], a.refArgs[:0]
	for b := len(in.Blocks) - 1; b >= 0; b-- {
		info := &in.Blocks[b]
		in.Stop.Poll()
		a.blockStart = 4 * info.Insts.Start
		a.buildEdges(uint32(b))
		for i := info.Insts.End; i > info.Insts.Start; i-- {
			in.Stop.PollAt(int(i))
			a.buildInst(i - 1)
		}
	}
}

// buildEdges makes all values live that are so at the end of b.
func (a *Allocator) buildEdges(b uint32) {
	in := a.in
	end := 4 * in.Blocks[b].Insts.End
	for _, e := range in.SuccsOf(regalloc.Block(b)) {
		loop := uint8(0)
		if uint32(e.To) <= b {
			loop = uint8(min(in.Blocks[e.To].LoopDepth, 255))
		}
		for _, v := range a.liveInto(uint32(e.To)) {
			in.Stop.Poll()
			a.live(v, end)
			if loop > 0 && a.vregs[v].depth >= loop {
				a.wanted(v, end-1)
			}
		}
		params := in.ParamsOf(e.To)
		for k, v := range in.ArgsOf(e) {
			in.Stop.PollAt(k)
			a.live(uint32(v), end)
			if a.vregs[v].flags&isRemat == 0 && (uint32(e.To) <= b || a.usedSoon(uint32(params[k]), uint32(e.To))) {
				a.wanted(uint32(v), end-1)
			}
			av, pv := &a.vregs[v], &a.vregs[params[k]]
			if av.link == none {
				av.link = uint32(params[k])
			}
			if pv.link == none || uint32(e.To) > b {
				pv.link = uint32(v)
			}
			if av.pref == uint8(regalloc.NoPReg) {
				av.pref = pv.pref
			}
		}
	}
}

// wanted notes a softUse of v.
func (a *Allocator) wanted(v, pos uint32) {
	if a.uses[a.vregs[v].use].pos != pos {
		a.addUse(v, pos, 0, softUse)
	}
}

// soon is how many instructions from the start of a block on a use counts as
// near.
const soon = 32

// usedSoon reports whether v, live into block b, is worth a register there: it
// is used near the start of the block or in a deeper loop.
func (a *Allocator) usedSoon(v, b uint32) bool {
	pos := a.uses[a.vregs[v].use].pos
	if pos == inf {
		return false
	}
	info := &a.in.Blocks[b]
	return pos>>2 < info.Insts.Start+soon || a.depthAt(pos) > uint32(info.LoopDepth)
}

// live makes v live from the start of this block to end.
func (a *Allocator) live(v, end uint32) {
	vr := &a.vregs[v]
	h := &a.ranges[vr.rng]
	switch {
	case vr.rng == 0:
		vr.end = end
	case h.start == a.blockStart:
		if h.end < end { // used twice by one instruction
			h.end = end
			if h.next == 0 {
				vr.end = end
			}
		}
		return
	case h.start == end:
		h.start = a.blockStart
		return
	}
	a.ranges = stop.Append(a.in.Stop, a.ranges, rng{a.blockStart, end, vr.rng})
	vr.rng = uint32(len(a.ranges) - 1)
}

// define makes pos the start of v, and next the end of a v that is not live.
func (a *Allocator) define(v, pos, next uint32) {
	vr := &a.vregs[v]
	if h := &a.ranges[vr.rng]; vr.rng != 0 && h.start == a.blockStart {
		h.start = pos
		if h.end <= pos {
			vr.rng = h.next
		}
		return
	}
	if pos < next {
		if vr.rng == 0 {
			vr.end = next
		}
		a.ranges = stop.Append(a.in.Stop, a.ranges, rng{pos, next, vr.rng})
		vr.rng = uint32(len(a.ranges) - 1)
	}
}

// addUse puts a use where it belongs in v's list, which is at or near the front.
func (a *Allocator) addUse(v, pos, op, kind uint32) {
	vr := &a.vregs[v]
	vr.use = a.insertUse(vr.use, pos, op, kind)
	if vr.lastWish == 0 && (kind == mustUse || kind == softUse) {
		vr.lastWish = pos
	}
}

func (a *Allocator) insertUse(head, pos, op, kind uint32) uint32 {
	if a.uses[head].pos < pos {
		rest := a.insertUse(a.uses[head].next, pos, op, kind)
		h := &a.uses[head]
		h.next = rest
		if h.op>>kindBits != mustUse {
			h.nextMust = a.uses[rest].nextMust
		}
		return head
	}
	n := uint32(len(a.uses))
	u := use{pos, head, op | kind<<kindBits, a.uses[head].nextMust}
	if kind == mustUse {
		u.nextMust = n
	}
	a.uses = stop.Append(a.in.Stop, a.uses, u)
	return n
}

func (a *Allocator) buildInst(i uint32) {
	in := a.in
	s, e := in.OperandRange(regalloc.Inst(i))
	info := in.Insts[i]
	if info.Clobbers != 0 {
		a.clobber(info.Clobbers, 4*i+atDef)
	}
	if info.Flags&regalloc.Safepoint != 0 {
		a.safepoints = stop.Append(a.in.Stop, a.safepoints, 4*i+atDef)
	}
	a.ties = a.ties[:0]
	a.crowded = info.Clobbers != 0 || e-s > 4 || info.Flags&regalloc.Safepoint != 0
	for j := s; j < e; j++ {
		if o := in.Operands[j]; o.Access.Defines() {
			a.buildDef(i, s, j, o)
		}
	}
	for j := s; j < e; j++ {
		if o := in.Operands[j]; !o.Access.Defines() {
			a.buildUse(i, j, o)
		}
	}
}

// relate notes that w comes from v and would like its register.
func (a *Allocator) relate(v, w uint32) {
	a.vregs[w].link = v
	vr := &a.vregs[v]
	if vr.link == none {
		vr.link = w
	}
	if vr.pref == uint8(regalloc.NoPReg) {
		vr.pref = a.vregs[w].pref
	}
}

// buildDef makes operand j, a definition of instruction i whose operands begin
// at first.
func (a *Allocator) buildDef(i, first, j uint32, o regalloc.Operand) {
	v, pos := uint32(o.VReg), 4*i
	d := pos + atDef
	if o.Access == regalloc.EarlyDef {
		d = pos + atUse
	}
	kind := uint32(mustUse)
	switch o.Constraint {
	case regalloc.Fixed:
		a.defineIn(v, j, regalloc.InReg(o.PReg()), d, pos+4)
		return
	case regalloc.FixedArg:
		if a.vregs[v].flags&isRef != 0 {
			a.refArgs = stop.Append(a.in.Stop, a.refArgs, v)
		}
		a.defineIn(v, j, regalloc.InArg(int(o.Arg)), d, pos+4)
		return
	case regalloc.Reuse:
		k := first + uint32(o.Arg)
		of := a.in.Operands[k]
		a.relate(uint32(of.VReg), v)
		if of.Constraint == regalloc.Fixed {
			a.defineIn(v, j, regalloc.InReg(of.PReg()), pos+atUse, pos+4)
			return
		}
		d = pos + atUse
		a.ties = append(a.ties, tie{k, v, uint32(of.VReg)})
	case regalloc.Any:
		kind = anyUse
	}
	a.define(v, d, pos+4)
	a.addUse(v, pos+atDef, j, kind)
}

// defineIn makes operand j define v in a place of its own, where it is until
// just after the instruction; v's interval begins there.
func (a *Allocator) defineIn(v, j uint32, loc regalloc.Allocation, from, next uint32) {
	if loc.IsReg() {
		a.reserve(loc.Reg(), from, next)
	}
	a.out.Allocs[j] = loc
	a.vregs[v].def = loc
	a.fixedDefs = append(a.fixedDefs, v)
	a.define(v, next, next)
}

// buildUse makes operand j of instruction i, which reads.
func (a *Allocator) buildUse(i, j uint32, o regalloc.Operand) {
	v, pos := uint32(o.VReg), 4*i
	if len(a.ties) > 0 && a.buildTied(v, j, pos, o) {
		return
	}
	vr := &a.vregs[v]
	at := pos + atUse
	if o.Access == regalloc.LateUse {
		at = pos + atDef
	}
	if o.Constraint == regalloc.Fixed {
		a.reserve(o.PReg(), pos+atUse, at+1)
		a.out.Allocs[j] = regalloc.InReg(o.PReg())
		vr.pref = uint8(o.PReg())
		a.live(v, pos+atUse)
		a.addUse(v, pos, j, gapUse)
		return
	}
	kind := uint32(mustUse)
	if o.Constraint == regalloc.Any {
		// What has no home needs a register even here; but an instruction may
		// leave none for that.
		if a.crowded {
			vr.flags &^= isRemat
		}
		if vr.flags&isRemat == 0 {
			kind = anyUse
		}
	}
	a.live(v, at+1)
	a.addUse(v, at, j, kind)
}

// buildTied makes operand j if it is tied to a Reuse definition, or reads the
// same value as one that is, which is then in the definition's register.
func (a *Allocator) buildTied(v, j, pos uint32, o regalloc.Operand) bool {
	for _, t := range a.ties {
		if t.operand == j {
			a.addUse(t.vreg, pos+atDef, j, mustUse)
			a.live(v, pos+atUse)
			a.addUse(v, pos, j, gapUse)
			return true
		}
		if t.use == v && o.Access == regalloc.Use && (o.Constraint == regalloc.Reg || o.Constraint == regalloc.Any) {
			a.addUse(t.vreg, pos+atDef, j, mustUse)
			return true
		}
	}
	return false
}

func (a *Allocator) definedByTerminator(v uint32) bool {
	d := a.vregs[v].defInst
	return d != none && a.in.Insts[d].Flags&regalloc.IsTerminator != 0
}
