package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// builder is the state of building intervals, which goes backward through the
// code, so that ranges and uses are put at the front of their lists.
type builder struct {
	intervals
	live     *liveness
	reserved *reservations

	blockStart uint32 // position
	crowded    bool   // the instruction may leave no register for an operand that can do without
	ties       []tie
}

// tie says that vreg is defined in the register of the given operand, which
// reads the value use.
type tie struct{ operand, vreg, use uint32 }

// build makes the intervals of fn and fills the reservations.
func (bl *builder) build(fn function, live *liveness, reserved *reservations) intervals {
	in := fn.in
	bl.function, bl.live, bl.reserved = fn, live, reserved
	bl.ranges = append(bl.ranges[:0], rng{start: inf, end: inf})
	bl.uses = append(stop.Resize(in.Stop, bl.uses, len(in.Operands)+1)[:0], use{pos: inf})
	reserved.reset(fn)
	bl.fixedDefs, bl.refArgs, bl.passed = bl.fixedDefs[:0], bl.refArgs[:0], bl.passed[:0]
	for b := len(in.Blocks) - 1; b >= 0; b-- {
		info := &in.Blocks[b]
		in.Stop.Poll()
		bl.blockStart = 4 * info.Insts.Start
		bl.buildEdges(uint32(b))
		for i := info.Insts.End; i > info.Insts.Start; i-- {
			in.Stop.PollAt(int(i))
			bl.buildInst(i - 1)
		}
	}
	return bl.intervals
}

// buildEdges adds ranges for the values that are live at the end of b.
func (bl *builder) buildEdges(b uint32) {
	in := bl.in
	end := 4 * in.Blocks[b].Insts.End
	for _, e := range in.SuccsOf(regalloc.Block(b)) {
		loop := uint8(0)
		if uint32(e.To) <= b {
			loop = uint8(min(in.Blocks[e.To].LoopDepth, 255))
		}
		values := bl.live.liveInto(uint32(e.To))
		bl.addRanges(values, end)
		if loop > 0 {
			for k, v := range values {
				in.Stop.PollAt(k)
				if bl.vregs[v].depth >= loop {
					bl.addSoftUse(v, end-1)
				}
			}
		}
		params := in.ParamsOf(e.To)
		for k, v := range in.ArgsOf(e) {
			in.Stop.PollAt(k)
			bl.addRange(uint32(v), end)
			av, pv := &bl.vregs[v], &bl.vregs[params[k]]
			if av.flags&isRemat != 0 {
				bl.passed = stop.Append(in.Stop, bl.passed, passed{uint32(v), uint32(params[k]), b})
			} else if uint32(e.To) <= b || bl.usedSoon(uint32(params[k]), uint32(e.To)) {
				bl.addSoftUse(uint32(v), end-1)
			}
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

// addSoftUse adds a softUse of v at pos, unless v has a use there.
func (bl *builder) addSoftUse(v, pos uint32) {
	if bl.uses[bl.vregs[v].use].pos != pos {
		bl.addUse(v, pos, 0, softUse)
	}
}

// soon is how many instructions from the start of a block on a use counts as
// near.
const soon = 32

// usedSoon reports whether v, which is live into block b, is worth a register there:
// it is used near the start of the block or in a deeper loop.
func (iv *intervals) usedSoon(v, b uint32) bool {
	pos := iv.uses[iv.vregs[v].use].pos
	if pos == inf {
		return false
	}
	info := &iv.in.Blocks[b]
	return instOf(pos) < info.Insts.Start+soon || iv.depthAt(pos) > uint32(info.LoopDepth)
}

// addRanges is addRange for each of the values, which are live into a block that comes next.
func (bl *builder) addRanges(values []uint32, end uint32) {
	vregs, start := bl.vregs, bl.blockStart
	for k, v := range values {
		bl.in.Stop.PollAt(k)
		vr := &vregs[v]
		switch h := &bl.ranges[vr.rng]; {
		case h.start == end: // it is live into the next block, as most are
			h.start = start
		case h.start != start: // else it is live into another one, too
			bl.addNewRange(vr, end)
		}
	}
}

// addRange makes v live from the start of this block to end.
func (bl *builder) addRange(v, end uint32) {
	vr := &bl.vregs[v]
	if h := &bl.ranges[vr.rng]; h.start == end {
		h.start = bl.blockStart
		return
	}
	bl.addNewRange(vr, end)
}

// addNewRange is addRange where the first range of vr does not begin at end.
func (bl *builder) addNewRange(vr *vreg, end uint32) {
	h := &bl.ranges[vr.rng]
	switch {
	case vr.rng == 0:
		vr.end = end
	case h.start == bl.blockStart:
		if h.end < end { // used twice by one instruction
			h.end = end
			if h.next == 0 {
				vr.end = end
			}
		}
		return
	}
	bl.ranges = stop.Append(bl.in.Stop, bl.ranges, rng{bl.blockStart, end, vr.rng})
	vr.rng = uint32(len(bl.ranges) - 1)
}

// define makes pos the start of v, and next the end of a v that is not live.
func (bl *builder) define(v, pos, next uint32) {
	vr := &bl.vregs[v]
	if h := &bl.ranges[vr.rng]; vr.rng != 0 && h.start == bl.blockStart {
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
		bl.ranges = stop.Append(bl.in.Stop, bl.ranges, rng{pos, next, vr.rng})
		vr.rng = uint32(len(bl.ranges) - 1)
	}
}

// addUse puts a use where it belongs in v's list, which is at or near the front.
func (bl *builder) addUse(v, pos, op, kind uint32) {
	vr := &bl.vregs[v]
	vr.use = bl.insertUse(vr.use, pos, op, kind)
	if vr.lastWish == 0 && (kind == mustUse || kind == softUse) {
		vr.lastWish = pos
	}
}

func (bl *builder) insertUse(head, pos, op, kind uint32) uint32 {
	if bl.uses[head].pos < pos {
		rest := bl.insertUse(bl.uses[head].next, pos, op, kind)
		h := &bl.uses[head]
		h.next = rest
		if h.kind() != mustUse {
			h.nextMust = bl.uses[rest].nextMust
		}
		return head
	}
	n := uint32(len(bl.uses))
	u := use{pos, head, op | kind<<kindBits, bl.uses[head].nextMust}
	if kind == mustUse {
		u.nextMust = n
	}
	bl.uses = stop.Append(bl.in.Stop, bl.uses, u)
	return n
}

func (bl *builder) buildInst(i uint32) {
	in := bl.in
	s, e := in.OperandRange(regalloc.Inst(i))
	info := in.Insts[i]
	if info.Clobbers != 0 {
		bl.reserved.clobber(info.Clobbers, 4*i+atDef)
	}
	if info.Flags&regalloc.Safepoint != 0 {
		bl.reserved.safepoints = stop.Append(bl.in.Stop, bl.reserved.safepoints, 4*i+atDef)
	}
	bl.ties = bl.ties[:0]
	bl.crowded = info.Clobbers != 0 || e-s > 4 || info.Flags&regalloc.Safepoint != 0
	for j := s; j < e; j++ {
		if o := &in.Operands[j]; o.Access.Defines() {
			bl.buildDef(i, s, j, *o)
		}
	}
	for j := s; j < e; j++ {
		if o := &in.Operands[j]; !o.Access.Defines() {
			bl.buildUse(i, j, *o)
		}
	}
}

// relate notes that w comes from v and would like its register.
func (bl *builder) relate(v, w uint32) {
	bl.vregs[w].link = v
	vr := &bl.vregs[v]
	if vr.link == none {
		vr.link = w
	}
	if vr.pref == uint8(regalloc.NoPReg) {
		vr.pref = bl.vregs[w].pref
	}
}

// buildDef processes operand j, a definition of instruction i whose operands begin
// at first.
func (bl *builder) buildDef(i, first, j uint32, o regalloc.Operand) {
	v, pos := uint32(o.VReg), 4*i
	d := pos + atDef
	if o.Access == regalloc.EarlyDef {
		d = pos + atUse
	}
	kind := uint32(mustUse)
	switch o.Constraint {
	case regalloc.Fixed:
		bl.defineIn(v, j, regalloc.InReg(o.PReg()), d, pos+4)
		return
	case regalloc.FixedArg:
		if bl.vregs[v].flags&isRef != 0 {
			bl.refArgs = stop.Append(bl.in.Stop, bl.refArgs, v)
		}
		bl.defineIn(v, j, regalloc.InArg(int(o.Arg)), d, pos+4)
		return
	case regalloc.Reuse:
		k := first + uint32(o.Arg)
		of := bl.in.Operands[k]
		bl.relate(uint32(of.VReg), v)
		if of.Constraint == regalloc.Fixed {
			bl.defineIn(v, j, regalloc.InReg(of.PReg()), pos+atUse, pos+4)
			return
		}
		d = pos + atUse
		bl.ties = append(bl.ties, tie{k, v, uint32(of.VReg)})
	case regalloc.Any:
		kind = anyUse
	}
	bl.define(v, d, pos+4)
	bl.addUse(v, pos+atDef, j, kind)
}

// defineIn makes operand j define v in a place of its own, where it is until
// just after the instruction; v's interval begins there.
func (bl *builder) defineIn(v, j uint32, loc regalloc.Allocation, from, next uint32) {
	if loc.IsReg() {
		bl.reserved.reserve(loc.Reg(), from, next)
	}
	bl.out.Allocs[j] = loc
	bl.vregs[v].def = loc
	bl.fixedDefs = append(bl.fixedDefs, v)
	bl.define(v, next, next)
}

// buildUse processes operand j of instruction i, which reads.
func (bl *builder) buildUse(i, j uint32, o regalloc.Operand) {
	v, pos := uint32(o.VReg), 4*i
	if len(bl.ties) > 0 && bl.buildTied(v, j, pos, o) {
		return
	}
	vr := &bl.vregs[v]
	at := pos + atUse
	if o.Access == regalloc.LateUse {
		at = pos + atDef
	}
	if o.Constraint == regalloc.Fixed {
		bl.reserved.reserve(o.PReg(), pos+atUse, at+1)
		bl.out.Allocs[j] = regalloc.InReg(o.PReg())
		vr.pref = uint8(o.PReg())
		bl.addRange(v, pos+atUse)
		bl.addUse(v, pos, j, gapUse)
		return
	}
	kind := uint32(mustUse)
	if o.Constraint == regalloc.Any {
		// A value without a home needs a register even here; but the instruction may
		// leave none.
		if bl.crowded {
			vr.flags &^= isRemat
		}
		if vr.flags&isRemat == 0 {
			kind = anyUse
		}
	}
	bl.addRange(v, at+1)
	bl.addUse(v, at, j, kind)
}

// buildTied processes operand j if it is tied to a Reuse definition, or reads the
// same value as a tied operand, and so is in the definition's register.
func (bl *builder) buildTied(v, j, pos uint32, o regalloc.Operand) bool {
	for _, t := range bl.ties {
		if t.operand == j {
			bl.addUse(t.vreg, pos+atDef, j, mustUse)
			bl.addRange(v, pos+atUse)
			bl.addUse(v, pos, j, gapUse)
			return true
		}
		if t.use == v && o.Access == regalloc.Use && (o.Constraint == regalloc.Reg || o.Constraint == regalloc.Any) {
			bl.addUse(t.vreg, pos+atDef, j, mustUse)
			return true
		}
	}
	return false
}

func (fn *function) definedByTerminator(v uint32) bool {
	d := fn.vregs[v].defInst
	return d != none && fn.in.Insts[d].Flags&regalloc.IsTerminator != 0
}
