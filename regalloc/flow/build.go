package flow

import (
	"sort"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// builder is the state of building intervals, which goes backward through the
// code, so that ranges and uses are put at the front of their lists.
type builder struct {
	Intervals
	live     *Liveness
	reserved *Reservations

	blockStart uint32 // position
	crowded    bool   // the instruction may leave no register for an operand that can do without
	ties       []tie
}

// tie says that vreg is defined in the register of the given operand, which
// reads the value use.
type tie struct{ operand, vreg, use uint32 }

// build makes the intervals of fn and fills the reservations.
func (bl *builder) build(fn function, live *Liveness, reserved *Reservations) {
	in := fn.In
	bl.function, bl.live, bl.reserved = fn, live, reserved
	bl.Ranges = append(stop.Grow(in.Stop, bl.Ranges[:0], 2*len(in.VRegs)+1), Range{Start: Inf, End: Inf})
	bl.Uses = append(stop.Grow(in.Stop, bl.Uses[:0], len(in.Operands)+len(in.VRegLists)+1), use{Pos: Inf})
	reserved.reset(fn)
	bl.FixedDefs, bl.refArgs, bl.passed = bl.FixedDefs[:0], bl.refArgs[:0], bl.passed[:0]
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
}

// buildEdges adds ranges for the values that are live at the end of b.
func (bl *builder) buildEdges(b uint32) {
	in := bl.In
	end := 4 * in.Blocks[b].Insts.End
	for _, e := range in.SuccsOf(regalloc.Block(b)) {
		loop := uint8(0)
		if uint32(e.To) <= b {
			loop = uint8(min(in.Blocks[e.To].LoopDepth, 255))
		}
		values := bl.live.LiveInto(uint32(e.To))
		bl.addRanges(values, end)
		if loop > 0 {
			for k, v := range values {
				in.Stop.PollAt(k)
				if vr := &bl.Values[v]; vr.Depth >= loop {
					bl.addSoftUse(vr, end-1)
				}
			}
		}
		params := in.ParamsOf(e.To)
		for k, v := range in.ArgsOf(e) {
			in.Stop.PollAt(k)
			av, pv := &bl.Values[v], &bl.Values[params[k]]
			bl.addRange(av, end)
			if av.Flags&IsRemat != 0 {
				bl.passed = stop.Append(in.Stop, bl.passed, passed{uint32(v), uint32(params[k]), b})
			} else if uint32(e.To) <= b || bl.UsedSoon(uint32(params[k]), uint32(e.To)) {
				bl.addSoftUse(av, end-1)
			}
			if av.Link == None {
				av.Link = uint32(params[k])
			}
			if pv.Link == None || uint32(e.To) > b {
				pv.Link = uint32(v)
			}
			if av.Pref == uint8(regalloc.NoPReg) {
				av.Pref = pv.Pref
			}
		}
	}
}

// addSoftUse adds a softUse of a value at pos, unless it has a use there.
func (bl *builder) addSoftUse(vr *Value, pos uint32) {
	if bl.Uses[vr.Use].Pos != pos {
		bl.addUse(vr, pos, 0, SoftUse)
	}
}

// Soon is how many instructions from the start of a block on a use counts as
// near.
const Soon = 32

// UsedSoon reports whether v, which is live into block b, is worth a register there:
// it is used near the start of the block or in a deeper loop.
func (iv *Intervals) UsedSoon(v, b uint32) bool {
	pos := iv.Uses[iv.Values[v].Use].Pos
	if pos == Inf {
		return false
	}
	info := &iv.In.Blocks[b]
	return InstOf(pos) < info.Insts.Start+Soon || iv.DepthAt(pos) > uint32(info.LoopDepth)
}

// addRanges is addRange for each of the values, which are live into a block that comes next.
func (bl *builder) addRanges(values []uint32, end uint32) {
	vregs, ranges, start := bl.Values, bl.Ranges, bl.blockStart
	for len(values) > 0 {
		n := bl.In.Stop.Chunk(len(values))
		for _, v := range values[:n] {
			vr := &vregs[v]
			switch h := &ranges[vr.Range]; {
			case h.Start == end: // it is live into the next block, as most are
				h.Start = start
			case h.Start != start: // else it is live into another one, too
				bl.addNewRange(vr, end)
				ranges = bl.Ranges
			}
		}
		values = values[n:]
	}
}

// addRange makes a value live from the start of this block to end.
func (bl *builder) addRange(vr *Value, end uint32) {
	if h := &bl.Ranges[vr.Range]; h.Start == end {
		h.Start = bl.blockStart
		return
	}
	bl.addNewRange(vr, end)
}

// addNewRange is addRange where the first range of vr does not begin at end.
func (bl *builder) addNewRange(vr *Value, end uint32) {
	h := &bl.Ranges[vr.Range]
	switch {
	case vr.Range == 0:
		vr.End = end
	case h.Start == bl.blockStart:
		if h.End < end { // used twice by one instruction
			h.End = end
			if h.Next == 0 {
				vr.End = end
			}
		}
		return
	}
	bl.Ranges = stop.Append(bl.In.Stop, bl.Ranges, Range{bl.blockStart, end, vr.Range})
	vr.Range = uint32(len(bl.Ranges) - 1)
}

// define makes pos the start of a value, and next its end if it is not live.
func (bl *builder) define(vr *Value, pos, next uint32) {
	if h := &bl.Ranges[vr.Range]; vr.Range != 0 && h.Start == bl.blockStart {
		h.Start = pos
		if h.End <= pos {
			vr.Range = h.Next
		}
		return
	}
	if pos < next {
		if vr.Range == 0 {
			vr.End = next
		}
		bl.Ranges = stop.Append(bl.In.Stop, bl.Ranges, Range{pos, next, vr.Range})
		vr.Range = uint32(len(bl.Ranges) - 1)
	}
}

// addUse puts a use where it belongs in a value's list, which is at or near the front.
func (bl *builder) addUse(vr *Value, pos, op, kind uint32) {
	if vr.LastWish == 0 && (kind == MustUse || kind == SoftUse) {
		vr.LastWish = pos
	}
	n := uint32(len(bl.Uses))
	head := &bl.Uses[vr.Use]
	if head.Pos < pos {
		bl.insertUse(vr.Use, use{pos, 0, op | kind<<KindBits, n})
		return
	}
	must := n
	if kind != MustUse {
		must = head.NextMust
	}
	bl.Uses = stop.Append(bl.In.Stop, bl.Uses, use{pos, vr.Use, op | kind<<KindBits, must})
	vr.Use = n
}

// insertUse is addUse of u behind head and perhaps others in front of which it does not belong.
func (bl *builder) insertUse(head uint32, u use) {
	n, last := uint32(len(bl.Uses)), head
	bl.Uses = stop.Append(bl.In.Stop, bl.Uses, u)
	for uses := bl.Uses; uses[uses[last].Next].Pos < u.Pos; {
		last = uses[last].Next
	}
	behind := bl.Uses[last].Next
	bl.Uses[last].Next, bl.Uses[n].Next = n, behind
	if u.Kind() != MustUse {
		bl.Uses[n].NextMust = bl.Uses[behind].NextMust
		return
	}
	for h := head; h != n; h = bl.Uses[h].Next {
		if x := &bl.Uses[h]; bl.Uses[x.NextMust].Pos >= u.Pos {
			x.NextMust = n
		}
	}
}

func (bl *builder) buildInst(i uint32) {
	in := bl.In
	s, e := in.OperandRange(regalloc.Inst(i))
	info := in.Insts[i]
	if info.Clobbers != 0 {
		bl.reserved.clobber(info.Clobbers, 4*i+AtDef)
	}
	if info.Flags&regalloc.Safepoint != 0 {
		bl.reserved.Safepoints = stop.Append(bl.In.Stop, bl.reserved.Safepoints, 4*i+AtDef)
	}
	bl.ties = bl.ties[:0]
	bl.crowded = info.Clobbers != 0 || e-s > 4 || info.Flags&regalloc.Safepoint != 0
	ops := in.Operands[s:e]
	for k := range ops {
		if o := &ops[k]; o.Access.Defines() {
			bl.buildDef(i, s, s+uint32(k), o)
		}
	}
	for k := range ops {
		if o := &ops[k]; !o.Access.Defines() {
			bl.buildUse(i, s+uint32(k), o)
		}
	}
}

// relate notes that w comes from v and would like its register.
func (bl *builder) relate(v, w uint32) {
	bl.Values[w].Link = v
	vr := &bl.Values[v]
	if vr.Link == None {
		vr.Link = w
	}
	if vr.Pref == uint8(regalloc.NoPReg) {
		vr.Pref = bl.Values[w].Pref
	}
}

// buildDef processes operand j, a definition of instruction i whose operands begin
// at first.
func (bl *builder) buildDef(i, first, j uint32, o *regalloc.Operand) {
	v, pos := uint32(o.VReg), 4*i
	d := pos + AtDef
	if o.Access == regalloc.EarlyDef {
		d = pos + AtUse
	}
	kind := uint32(MustUse)
	switch o.Constraint {
	case regalloc.Fixed:
		bl.defineIn(v, j, regalloc.InReg(o.PReg()), d, pos+4)
		return
	case regalloc.FixedArg:
		if bl.Values[v].Flags&IsRef != 0 {
			bl.refArgs = stop.Append(bl.In.Stop, bl.refArgs, v)
		}
		bl.defineIn(v, j, regalloc.InArg(int(o.Arg)), d, pos+4)
		return
	case regalloc.Reuse:
		k := first + uint32(o.Arg)
		of := bl.In.Operands[k]
		bl.relate(uint32(of.VReg), v)
		if of.Constraint == regalloc.Fixed {
			bl.defineIn(v, j, regalloc.InReg(of.PReg()), pos+AtUse, pos+4)
			return
		}
		d = pos + AtUse
		bl.ties = append(bl.ties, tie{k, v, uint32(of.VReg)})
	case regalloc.Any:
		kind = AnyUse
	}
	vr := &bl.Values[v]
	bl.define(vr, d, pos+4)
	bl.addUse(vr, pos+AtDef, j, kind)
}

// defineIn makes operand j define v in a place of its own, where it is until
// just after the instruction; v's interval begins there.
func (bl *builder) defineIn(v, j uint32, loc regalloc.Allocation, from, next uint32) {
	if loc.IsReg() {
		bl.reserved.reserve(loc.Reg(), from, next)
	}
	bl.Out.Allocs[j] = loc
	bl.FixedDefs = append(bl.FixedDefs, v)
	vr := &bl.Values[v]
	vr.Def = loc
	bl.define(vr, next, next)
}

// buildUse processes operand j of instruction i, which reads.
func (bl *builder) buildUse(i, j uint32, o *regalloc.Operand) {
	v, pos := uint32(o.VReg), 4*i
	if len(bl.ties) > 0 && bl.buildTied(v, j, pos, o) {
		return
	}
	vr := &bl.Values[v]
	at := pos + AtUse
	if o.Access == regalloc.LateUse {
		at = pos + AtDef
	}
	switch o.Constraint {
	case regalloc.Fixed:
		bl.reserved.reserve(o.PReg(), pos+AtUse, at+1)
		bl.Out.Allocs[j] = regalloc.InReg(o.PReg())
		vr.Pref = uint8(o.PReg())
		bl.addRange(vr, pos+AtUse)
		bl.addUse(vr, pos, j, GapUse)
		return
	case regalloc.FixedArg:
		bl.Out.Allocs[j] = regalloc.InArg(int(o.Arg))
		bl.addRange(vr, pos+AtUse)
		bl.addUse(vr, pos, j, GapUse)
		return
	}
	kind := uint32(MustUse)
	if o.Constraint == regalloc.Any {
		// A value without a home needs a register even here; but the instruction may
		// leave none.
		if bl.crowded {
			vr.Flags &^= IsRemat
		}
		if vr.Flags&IsRemat == 0 {
			kind = AnyUse
		}
	}
	bl.addRange(vr, at+1)
	bl.addUse(vr, at, j, kind)
}

// buildTied processes operand j if it is tied to a Reuse definition, or reads the
// same value as a tied operand, and so is in the definition's register.
func (bl *builder) buildTied(v, j, pos uint32, o *regalloc.Operand) bool {
	for _, t := range bl.ties {
		if t.operand == j {
			vr := &bl.Values[v]
			bl.addUse(&bl.Values[t.vreg], pos+AtDef, j, MustUse)
			bl.addRange(vr, pos+AtUse)
			bl.addUse(vr, pos, j, GapUse)
			return true
		}
		if t.use == v && o.Access == regalloc.Use && (o.Constraint == regalloc.Reg || o.Constraint == regalloc.Any) {
			bl.addUse(&bl.Values[t.vreg], pos+AtDef, j, MustUse)
			return true
		}
	}
	return false
}

func (fn *function) DefinedByTerminator(v uint32) bool {
	d := fn.Values[v].DefInst
	return d != None && fn.In.Insts[d].Flags&regalloc.IsTerminator != 0
}

// homeOfRefArg lets the reference v, which comes in an argument word, stay
// there only if it passes no safepoint: no stack map lists argument words.
func (iv *Intervals) homeOfRefArg(v uint32, safepoints []uint32) {
	vr := &iv.Values[v]
	l := safepoints
	for r := vr.Range; r != 0; r = iv.Ranges[r].Next {
		rr := &iv.Ranges[r]
		// The lowest safepoint not before the range, of a falling list.
		j := sort.Search(len(l), func(k int) bool { return l[k] < rr.Start }) - 1
		if j >= 0 && l[j] < rr.End {
			vr.Flags &^= IsArg
			return
		}
	}
}
