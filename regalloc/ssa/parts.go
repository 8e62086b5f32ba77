package ssa

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// parts is the state of making parts of intervals out of segments.
type parts struct {
	flow.Intervals
	list []flow.Part
	last []uint32 // by value: its latest part, or flow.None
	// ranges and uses are, by value, the first ones that are not in front of what has been seen.
	ranges, uses []uint32
	entry        []entryReg // by value
	valid        []uint32   // by value: the latest block plus 1 in which its slot holds it
}

// entryReg is the register of a value at the start of a block, of that number less 1.
type entryReg struct {
	block uint32
	reg   regalloc.PReg
	valid bool
}

// make makes parts, going through the blocks in the order of the layout.
func (ps *parts) make(iv *flow.Intervals, live *flow.Liveness, sp *spilling, c *colouring, va *validity) []flow.Part {
	ps.Intervals = *iv
	in, n := ps.In, len(ps.Values)
	f := in.Stop
	ps.list = stop.Resize(f, ps.list, n)
	ps.last = stop.Resize(f, ps.last, n)
	ps.ranges, ps.uses = stop.Resize(f, ps.ranges, n), stop.Resize(f, ps.uses, n)
	ps.entry, ps.valid = stop.Zeroed(f, ps.entry, n), stop.Zeroed(f, ps.valid, n)
	for v := range ps.list {
		f.PollAt(v)
		vr := &ps.Values[v]
		ps.list[v] = flow.Part{Start: flow.Inf, End: vr.End, Range: vr.Range, First: vr.Use, Use: vr.Use, Value: uint32(v), Sib: flow.None, Next: flow.None}
		ps.last[v] = flow.None
		ps.ranges[v], ps.uses[v] = vr.Range, vr.Use
	}
	for b := range uint32(len(in.Blocks)) {
		f.Poll()
		start := 4 * in.Blocks[b].Insts.Start
		r := sp.entries.ranges[b]
		for k := r.Start; k < r.End; k++ {
			if v := sp.entries.words[k]; v != flow.None {
				ps.entry[v] = entryReg{b + 1, c.entryRegs[k], va.entries[k]}
			}
		}
		for k, v := range live.LiveInto(b) {
			f.PollAt(k)
			ps.enter(v, b, start)
		}
		for k, v := range in.ParamsOf(regalloc.Block(b)) {
			f.PollAt(k)
			if ps.Values[v].Range != 0 {
				ps.enter(uint32(v), b, start)
			}
		}
		s := c.segmentRanges[b]
		for k := s.Start; k < s.End; k++ {
			f.PollAt(int(k))
			x := &c.segments[k]
			ps.addIn(b, x)
		}
	}
	iv.Ranges = ps.Ranges
	ps.Out.Stats.Splits = len(ps.list) - n
	ps.leaveOut()
	return ps.list
}

// enter says where v is at the start of block b.
func (ps *parts) enter(v, b, start uint32) {
	loc := regalloc.NoAllocation
	if e := ps.entry[v]; e.block == b+1 {
		loc = regalloc.InReg(e.reg)
		if e.valid && ps.Values[v].Flags&(flow.IsRemat|flow.IsArg) == 0 {
			ps.valid[v] = b + 1
		}
	}
	ps.add(v, start, loc, loc.IsReg() && ps.valid[v] == b+1)
}

// addIn adds a segment in block b.
func (ps *parts) addIn(b uint32, x *segment) {
	if p := ps.last[x.value]; p != flow.None && x.loc.IsReg() && x.pos&3 == flow.AtUse && ps.list[p].Loc == regalloc.NoAllocation &&
		ps.Values[x.value].Flags&flow.NeedSlot != 0 && !flow.SameInst(x.pos, 4*ps.Values[x.value].DefInst) {
		ps.valid[x.value] = b + 1 // it is reloaded
	}
	ps.add(x.value, x.pos, x.loc, x.loc.IsReg() && ps.valid[x.value] == b+1)
}

// add says that v is in loc from pos on, and whether its slot holds it as well.
func (ps *parts) add(v, pos uint32, loc regalloc.Allocation, valid bool) {
	p := ps.last[v]
	vr := &ps.Values[v]
	if p != flow.None && ps.list[p].Loc == loc && ps.list[p].Valid == valid {
		return
	}
	if loc == regalloc.NoAllocation && vr.Flags&(flow.IsRemat|flow.IsArg) == 0 {
		vr.Flags |= flow.NeedSlot
	}
	if p == flow.None {
		ps.list[v].Start, ps.list[v].Loc, ps.list[v].Valid = pos, loc, valid
		ps.last[v] = v
		return
	}
	u := ps.uses[v]
	for ps.Uses[u].Pos < pos {
		u = ps.Uses[u].Next
	}
	ps.uses[v] = u
	n, end := uint32(len(ps.list)), pos
	if i := vr.DefInst; flow.SameInst(pos, 4*i) || pos == 4*i+4 && vr.Def != regalloc.NoAllocation {
		end-- // v is defined here, and was not live before: the layout has shown a use already
	}
	ps.list[p].End, ps.list[p].Sib = end, n
	ps.list = stop.Append(ps.In.Stop, ps.list, flow.Part{
		Start: pos, End: vr.End, Range: ps.rangeAt(v, pos), First: u, Use: u, Value: v, Sib: flow.None, Next: flow.None, Loc: loc, Valid: valid,
	})
	ps.last[v] = n
}

// rangeAt returns the first range of v from pos on, if v is a reference: nothing asks for those of others.
func (ps *parts) rangeAt(v, pos uint32) uint32 {
	if ps.Values[v].Flags&flow.IsRef == 0 {
		return 0
	}
	r := ps.ranges[v]
	for r != 0 && ps.Ranges[r].End <= pos {
		r = ps.Ranges[r].Next
	}
	if r != 0 && ps.Ranges[r].Start < pos {
		ps.Ranges = stop.Append(ps.In.Stop, ps.Ranges, flow.Range{Start: pos, End: ps.Ranges[r].End, Next: ps.Ranges[r].Next})
		r = uint32(len(ps.Ranges) - 1)
	}
	ps.ranges[v] = r
	return r
}

// leaveOut leaves out the definitions of values that can be rematerialised: they come into registers where they are used.
func (ps *parts) leaveOut() {
	for _, v := range ps.Remats {
		ps.In.Stop.Poll()
		if p := &ps.list[v]; ps.Values[v].Flags&flow.IsRemat != 0 && p.Start != flow.Inf {
			ps.Out.Stats.LeftOut++
			u := p.First
			for ps.Uses[u].Pos < 4*ps.Values[v].DefInst+flow.AtDef {
				u = ps.Uses[u].Next
			}
			def := &ps.Uses[u]
			def.Op = def.Operand() | flow.AnyUse<<flow.KindBits
		}
	}
}
