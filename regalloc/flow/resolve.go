package flow

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// resolver is the state of connecting parts by moves.
type resolver struct {
	locations
	live  *Liveness
	moves moveList

	spilled []uint32
	// cost is, by value, what it costs to store it wherever it goes to memory; if its definition can be left out, what that costs.
	cost []uint64
	// entries are where the values live into blocks are that are in several places: indices into locations.flat, block after block.
	entries    []uint32
	entriesEnd []uint32 // by block
	gaps       []gap
	mapEvents  []mapEvent // of makeStackMaps, as active, slots
	active     []uint32
	unread     []uint32 // of leaveOut
}

// moveList are the moves to be done beside instructions.
type moveList struct {
	recs  []rec
	heads []uint32 // first rec beside each instruction, or none
}

// rec is one move to be done beside an instruction. From is NoAllocation if the
// value must be rematerialised.
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

// resolve gives operands their allocations, and finds the moves between the parts, whose
// homes in memory are those of their values.
func (rs *resolver) resolve(iv Intervals, live *Liveness, parts []Part, homes []regalloc.Allocation, spilled []uint32) error {
	rs.Intervals, rs.live, rs.parts, rs.homes, rs.spilled = iv, live, parts, homes, spilled
	rs.cost = stop.Zeroed(rs.In.Stop, rs.cost, len(rs.Values))
	rs.leaveOut()
	if err := rs.fillOperands(); err != nil {
		return err
	}
	rs.connect()
	rs.resolveEdges()
	rs.storeDefs()
	return nil
}

// leaveOut finds values that can be rematerialised, and that no instruction reads in the register that the definition puts them into.
// Where the edges that pass the value gain less from the register than the definition costs, it is left out: the value begins nowhere.
func (rs *resolver) leaveOut() {
	rs.unread = rs.unread[:0]
	for _, v := range rs.Remats {
		rs.In.Stop.Poll()
		if rs.isUnread(v) {
			rs.Values[v].Flags |= unread
			rs.unread = stop.Append(rs.In.Stop, rs.unread, v)
		}
	}
	if len(rs.unread) == 0 {
		return
	}
	for _, p := range rs.passed {
		rs.In.Stop.Poll()
		if rs.Values[p.v].Flags&unread != 0 && 4*rs.In.Blocks[p.b].Insts.End <= rs.parts[p.v].End {
			rs.cost[p.v] += uint64(rs.Freq[p.b] * rs.gain(p.v, p.param))
		}
	}
	for _, v := range rs.unread {
		rs.In.Stop.Poll()
		if pt := &rs.parts[v]; rs.cost[v] < uint64(rs.Freq[rs.Values[v].DefBlock]) {
			rs.Out.Stats.LeftOut++
			pt.Loc = regalloc.NoAllocation
			def := &rs.Uses[pt.First]
			def.Op = def.Operand() | AnyUse<<KindBits
		}
	}
}

// isUnread reports whether the first part of v begins with the definition, no instruction reads it, and no other part that an edge leads to is
// in its register.
func (rs *resolver) isUnread(v uint32) bool {
	pt, vr := &rs.parts[v], &rs.Values[v]
	if vr.Flags&IsRemat == 0 || pt.Loc == regalloc.NoAllocation || pt.Start == Inf || InstOf(pt.Start) != vr.DefInst || rs.Uses[rs.Uses[pt.First].Next].Pos < pt.End {
		return false
	}
	if pt.End < 4*rs.In.Blocks[vr.DefBlock].Insts.End {
		return true
	}
	for c := pt.Sib; c != None; c = rs.parts[c].Sib {
		if rs.parts[c].Loc == pt.Loc {
			return false
		}
	}
	return true
}

// gain returns how many instructions an edge needs less that passes v for parameter p, because v is in the register of its first part.
func (rs *resolver) gain(v, p uint32) uint32 {
	switch to := &rs.parts[p]; {
	case to.Start == Inf:
		return 0
	case to.Loc == rs.parts[v].Loc:
		return 1
	case to.Loc.IsReg():
		return 0
	}
	return 3 // a store takes the place of rematToSlot, which has four edits if the machine cannot store the value
}

// fillOperands gives the operands their allocations.
func (rs *resolver) fillOperands() error {
	rs.gaps = rs.gaps[:0]
	uses, allocs := rs.Uses, rs.Out.Allocs
	for p := range rs.parts {
		rs.In.Stop.PollAt(p)
		pt := &rs.parts[p]
		if pt.Start == Inf {
			continue
		}
		loc, end := rs.locOf(uint32(p)), pt.End
		for x := &uses[pt.First]; x.Pos < end; x = &uses[x.Next] {
			op := x.Operand()
			switch x.Kind() {
			case GapUse:
				rs.gaps = stop.Append(rs.In.Stop, rs.gaps, gap{op, x.Pos, pt.Value, loc})
				continue
			case SoftUse:
				continue
			case MustUse:
				// Where building has taken a value for one that can be rematerialised, and found otherwise later, memory is just as good.
				if !loc.IsReg() && (rs.In.Operands[op].Constraint != regalloc.Any || loc == regalloc.NoAllocation) {
					return Fail(Unallocatable, InstOf(x.Pos), pt.Value)
				}
			}
			allocs[op] = loc
		}
	}
	return nil
}

// connect makes the moves that do not lie on edges: between parts in a block,
// to operands with places of their own, and from definitions with such places.
func (rs *resolver) connect() {
	rs.moves.heads = stop.Resize(rs.In.Stop, rs.moves.heads, len(rs.In.Insts))
	for i := range rs.moves.heads {
		rs.moves.heads[i] = None
	}
	rs.moves.recs = stop.Grow(rs.In.Stop, rs.moves.recs[:0], len(rs.gaps)+len(rs.FixedDefs)+len(rs.parts)-len(rs.Values)+len(rs.In.VRegLists))
	rs.flatten()
	for _, g := range rs.gaps {
		rs.In.Stop.Poll()
		if to := rs.Out.Allocs[g.op]; g.loc != to {
			rs.note(InstOf(g.pos), rec{vreg: g.vreg, from: g.loc, to: to, when: inGap})
		}
	}
	for _, v := range rs.split {
		rs.In.Stop.Poll()
		for p := v; rs.parts[p].Sib != None; p = rs.parts[p].Sib {
			if c := rs.parts[p].Sib; rs.parts[c].Start == rs.parts[p].End {
				rs.connectParts(v, p, c)
			}
		}
	}
	for _, v := range rs.FixedDefs {
		i := rs.Values[v].DefInst
		if rs.parts[v].Start != Inf && !rs.DefinedByTerminator(v) {
			rs.move(i, afterward, v, rs.Values[v].Def, rs.locAt(v, 4*i+4), false)
		}
	}
}

// connectParts makes the moves, if any, from part p to c, which follows without
// a hole.
func (rs *resolver) connectParts(v, p, c uint32) {
	pos := rs.parts[c].Start
	i := pos >> 2
	from, to := rs.locOf(p), rs.locOf(c)
	if rs.parts[p].Valid && to == rs.homes[v] {
		return
	}
	switch pos & 3 {
	case 0:
		if rs.InstBlock[i] != rs.InstBlock[i-1] {
			return // edges connect them
		}
		rs.move(i-1, afterward, v, from, to, true)
	case AtUse:
		rs.move(i, inGap, v, from, to, true)
	case AtDef:
		rs.move(i, inGap, v, rs.locAt(v, 4*i), to, true)
	}
}

// move notes a move of v beside instruction i. If spill is set, a store into
// v's slot counts for the decision where to store v. A value whose home is an argument word is there already: only tail calls change such words.
func (rs *resolver) move(i uint32, when uint8, v uint32, from, to regalloc.Allocation, spill bool) {
	if from == to || to == regalloc.NoAllocation || to.IsArg() {
		return
	}
	spill = spill && to.IsSlot()
	if spill {
		rs.cost[v] += uint64(max(rs.Freq[rs.InstBlock[i]], leastStore))
	}
	rs.note(i, rec{vreg: v, from: from, to: to, when: when, spill: spill})
}

// note puts x in front of the moves beside instruction i.
func (rs *resolver) note(i uint32, x rec) {
	x.next = rs.moves.heads[i]
	rs.moves.recs = stop.Append(rs.In.Stop, rs.moves.recs, x)
	rs.moves.heads[i] = uint32(len(rs.moves.recs) - 1)
}

// leastStore is what a store costs at least, in units of frequency: many that run seldom make the code larger.
const leastStore = EntryFreq / 8

// followsOn reports whether the only way into b is from the block in front of it, and everything stays in its place there: so there are no moves, and
// nobody asks for the entries.
func (rs *resolver) followsOn(b uint32) bool {
	preds := rs.In.PredsOf(regalloc.Block(b))
	return len(preds) == 1 && uint32(preds[0]) == b-1 && !rs.cuts[b] && !rs.Defines(regalloc.Inst(rs.In.Blocks[b].Insts.Start-1))
}

// findEntries finds where values are at the entries of blocks, but for those that followsOn. Most are in one place all the time, which where has.
func (rs *resolver) findEntries() {
	rs.begin()
	rs.entries = stop.Resize(rs.In.Stop, rs.entries, len(rs.live.LiveIn))
	rs.entriesEnd = stop.Resize(rs.In.Stop, rs.entriesEnd, len(rs.In.Blocks))
	cursors, entries, n := rs.cursors, rs.entries, 0
	for b := range rs.In.Blocks {
		at := 4 * rs.In.Blocks[b].Insts.Start
		if rs.followsOn(uint32(b)) {
			rs.entriesEnd[b] = uint32(n)
			continue
		}
		for values := rs.live.LiveInto(uint32(b)); len(values) > 0; {
			k := rs.In.Stop.Chunk(len(values))
			for _, v := range values[:k] {
				c := &cursors[v]
				if c.at == None {
					continue
				}
				for c.until <= at {
					rs.turn(v, c.at+1)
				}
				entries[n] = c.at
				n++
			}
			values = values[k:]
		}
		rs.entriesEnd[b] = uint32(n)
	}
	rs.rewind()
}

// entriesOf returns where the values live into b are that are in several places; nothing if followsOn.
func (rs *resolver) entriesOf(b uint32) []uint32 {
	start := uint32(0)
	if b > 0 {
		start = rs.entriesEnd[b-1]
	}
	return rs.entries[start:rs.entriesEnd[b]]
}

// nextAtEnd returns where v is behind the terminator t, which may define v only if
// defines is set, and whether its slot holds it as well; it calls next.
func (rs *resolver) nextAtEnd(v, t uint32, defines bool) (loc regalloc.Allocation, valid bool) {
	if defines && rs.Values[v].DefInst == t && rs.Values[v].Def != regalloc.NoAllocation {
		return rs.Values[v].Def, false
	}
	loc = rs.next(v, 4*t+AtDef)
	return loc, rs.cursors[v].valid
}

// Defines reports whether i defines anything.
func (fn *function) Defines(i regalloc.Inst) bool {
	for _, o := range fn.In.OperandsOf(i) {
		if o.Access.Defines() {
			return true
		}
	}
	return false
}

// resolveEdges makes the moves on edges: at the start of the target if this is
// the only way there, else before the terminator of the source.
func (rs *resolver) resolveEdges() {
	in := rs.In
	rs.findEntries()
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		x := edge{t: in.Blocks[b].Insts.End - 1}
		x.defines = rs.Defines(regalloc.Inst(x.t))
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			to := &in.Blocks[e.To]
			if x.at, x.when = to.Insts.Start, onEntry; to.Preds.Len() != 1 {
				x.at, x.when = x.t, onExit
			}
			x.behind = 0
			if uint32(e.To) > b && !x.defines {
				x.behind = 4*x.t + 4
			}
			rs.resolveEntries(&x, rs.entriesOf(uint32(e.To)))
			rs.resolveArgs(&x, e)
		}
	}
}

// edge is an edge out of a block whose terminator is t.
type edge struct {
	t       uint32
	defines bool   // t defines something
	at      uint32 // the moves of the edge are beside this instruction
	when    uint8
	// behind is a position: what has been in its place since before is in that place behind t, too.
	behind uint32
}

// resolveEntries makes the moves of edge e for values that are live into its target and in several places, of which entries are those there.
func (rs *resolver) resolveEntries(e *edge, entries []uint32) {
	flat, behind := rs.flat, e.behind
	for len(entries) > 0 {
		n := rs.In.Stop.Chunk(len(entries))
		for _, k := range entries[:n] {
			x := &flat[k]
			if x.start < behind {
				continue
			}
			if from, valid := rs.nextAtEnd(x.vreg, e.t, e.defines); from != x.loc && !(valid && x.loc == rs.homes[x.vreg]) {
				rs.move(e.at, e.when, x.vreg, from, x.loc, true)
			}
		}
		entries = entries[n:]
	}
}

// resolveArgs makes the moves of edge e, to to, for the parameters there.
func (rs *resolver) resolveArgs(e *edge, to regalloc.Edge) {
	in := rs.In
	params, start := in.ParamsOf(to.To), 4*in.Blocks[to.To].Insts.Start
	for k, v := range in.ArgsOf(to) {
		in.Stop.PollAt(k)
		p := uint32(params[k])
		if rs.parts[p].Start == Inf {
			continue
		}
		from, valid := rs.nextAtEnd(uint32(v), e.t, e.defines)
		dest := rs.locAt(p, start)
		if valid && dest == rs.homes[v] {
			continue
		}
		rs.move(e.at, e.when, uint32(v), from, dest, dest == rs.homes[v])
	}
}

// storeDefs decides for each value with a slot whether it is stored once, where
// it is defined, or wherever it goes from a register to memory. The first is
// right because the definition dominates all else.
func (rs *resolver) storeDefs() {
	for _, v := range rs.spilled {
		rs.In.Stop.Poll()
		vr := &rs.Values[v]
		if rs.parts[v].Start == Inf {
			continue
		}
		var at uint32
		var first regalloc.Allocation
		when := uint8(afterward)
		switch {
		case vr.Flags&IsParam != 0:
			at, when = rs.In.Blocks[vr.DefBlock].Insts.Start, inGap
			first = rs.locAt(v, 4*at)
		case rs.DefinedByTerminator(v):
			if vr.Def == regalloc.NoAllocation && rs.locAt(v, 4*vr.DefInst+AtDef) == rs.homes[v] {
				vr.Flags |= Stored
			}
			continue
		case vr.Def != regalloc.NoAllocation:
			at = vr.DefInst
			if first = rs.locAt(v, 4*at+4); first != rs.homes[v] {
				first = vr.Def
			}
		default:
			at = vr.DefInst
			first = rs.locAt(v, 4*at+AtDef)
		}
		if first == rs.homes[v] {
			vr.Flags |= Stored
			continue
		}
		if uint64(rs.Freq[vr.DefBlock]) > rs.cost[v] {
			continue
		}
		vr.Flags |= Stored
		rs.move(at, when, v, first, rs.homes[v], false)
	}
}
