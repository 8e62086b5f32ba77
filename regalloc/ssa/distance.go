package ssa

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// Distances are in instructions, along the nearest way to a use; an edge adds to them what its way is less likely.
const (
	// never is the distance of a value that is dead.
	never = 1 << 31
	// far is the greatest distance of a value that is live.
	far = 1 << 29
	// An edge out of a loop adds loopExit for each loop.
	loopExit = 1 << 18
	// An edge into cold code adds intoCold, another that is rarely taken intoRare.
	intoCold = 1 << 15
	intoRare = 1 << 10
	rarely   = 8
)

// distances are how far the next uses of values are. They only weigh what is better in a register, so that in nests of loops a distance may be too long, but never that of
// a live value never.
type distances struct {
	flow.Intervals
	live  *flow.Liveness
	order *order

	// into is, for each entry of Liveness.LiveIn, the distance from the start of the block.
	into []uint32
	// params is the same of the parameters, by value; never of a dead one.
	params []uint32
	// next is, by operand, where the value is used next behind the instruction: the number of an instruction, or, behind
	// the end of the block, what a distance from there adds to that.
	next []uint32
	// excess is, by block, how many more values are live at once somewhere than there are registers for them, by class; negative where some are free. Of the header of a
	// loop it is that of the whole loop.
	excess [][regalloc.NumClasses]int32
	outer  []uint32 // by block: if it is the header of a loop, that of the loop around, or flow.None

	cur   []uint32 // by value: where it is used next, if at is the present visit
	at    []uint32 // by value: the latest visit in which it is live
	visit uint32
	count [regalloc.NumClasses]int32 // values live
}

// find fills the tables. Blocks in loops take a pass before, so that the other knows how far uses in the next iteration are.
func (d *distances) find(iv *flow.Intervals, live *flow.Liveness, o *order) {
	d.Intervals, d.live, d.order = *iv, live, o
	in := d.In
	d.into = stop.Resize(in.Stop, d.into, len(live.LiveIn))
	for k := range d.into {
		in.Stop.PollAt(k)
		d.into[k] = far
	}
	n := len(d.Values)
	d.params = stop.Resize(in.Stop, d.params, n)
	d.cur = stop.Resize(in.Stop, d.cur, n)
	d.at = stop.Zeroed(in.Stop, d.at, n)
	for v := range d.params {
		in.Stop.PollAt(v)
		d.params[v] = far
		if d.Values[v].Range == 0 {
			d.params[v] = never
		}
	}
	d.next = stop.Resize(in.Stop, d.next, len(in.Operands))
	d.excess = stop.Resize(in.Stop, d.excess, len(in.Blocks))
	d.visit = 0
	for _, all := range [2]bool{false, true} {
		for k := len(o.blocks) - 1; (all || d.HasLoops) && k >= 0; k-- {
			in.Stop.Poll()
			if b := o.blocks[k]; all || in.Blocks[b].LoopDepth > 0 {
				d.visit++
				d.block(b, all)
			}
		}
	}
	if d.HasLoops {
		d.foldLoops()
	}
}

// intoBlock returns the distances of the values live into b.
func (d *distances) intoBlock(b uint32) []uint32 {
	start := uint32(0)
	if b > 0 {
		start = d.live.LiveInEnd[b-1]
	}
	return d.into[start:d.live.LiveInEnd[b]]
}

// block goes backward through block b; if last is not set, only for the distances.
func (d *distances) block(b uint32, last bool) {
	in := d.In
	info := &in.Blocks[b]
	d.count = [regalloc.NumClasses]int32{}
	d.behind(b)
	most := [regalloc.NumClasses]int32{-64, -64}
	for i := info.Insts.End; i > info.Insts.Start; i-- {
		in.Stop.PollAt(int(i))
		if last {
			d.note(i - 1)
			if info.LoopDepth > 0 {
				d.measure(i-1, &most)
			}
		}
		d.inst(i - 1)
	}
	d.excess[b] = most
	dist := d.intoBlock(b)
	for k, v := range d.live.LiveInto(b) {
		in.Stop.PollAt(k)
		dist[k] = min(d.cur[v]-info.Insts.Start, far)
	}
	for k, p := range in.ParamsOf(regalloc.Block(b)) {
		in.Stop.PollAt(k)
		d.params[p] = never
		if d.at[p] == d.visit {
			d.params[p] = min(d.cur[p]-info.Insts.Start, far)
		}
	}
}

// behind finds where values are used next that are live at the end of b.
func (d *distances) behind(b uint32) {
	in := d.In
	end := in.Blocks[b].Insts.End
	for _, e := range in.SuccsOf(regalloc.Block(b)) {
		more := end + d.cost(b, uint32(e.To))
		dist := d.intoBlock(uint32(e.To))
		for k, v := range d.live.LiveInto(uint32(e.To)) {
			in.Stop.PollAt(k)
			d.use(v, more+dist[k])
		}
		params := in.ParamsOf(e.To)
		for k, v := range in.ArgsOf(e) {
			in.Stop.PollAt(k)
			if d.Values[v].Flags&flow.IsRemat != 0 {
				d.use(uint32(v), end+far) // a register would save nothing
				continue
			}
			d.use(uint32(v), more+min(d.params[params[k]], far))
		}
	}
}

// cost returns what the edge from b to another block adds to distances.
func (d *distances) cost(b, to uint32) uint32 {
	from, dest := &d.In.Blocks[b], &d.In.Blocks[to]
	switch {
	case dest.LoopDepth < from.LoopDepth:
		return loopExit * uint32(min(from.LoopDepth-dest.LoopDepth, 8))
	case dest.Cold && !from.Cold:
		return intoCold
	case d.Freq[to] <= d.Freq[b]/rarely:
		return intoRare
	}
	return 0
}

// use notes a use of v at next, which is nearer than what comes behind it in this block.
func (d *distances) use(v, next uint32) {
	if d.at[v] != d.visit {
		d.at[v] = d.visit
		d.count[d.ClassOf(v)]++
		d.cur[v] = next
		return
	}
	d.cur[v] = min(d.cur[v], next)
}

// note fills next for the operands of instruction i.
func (d *distances) note(i uint32) {
	in := d.In
	first, end := in.OperandRange(regalloc.Inst(i))
	for j := first; j < end; j++ {
		d.next[j] = never
		if v := in.Operands[j].VReg; d.at[v] == d.visit {
			d.next[j] = d.cur[v]
		}
	}
}

// measure notes how many values are live behind instruction i that it leaves no registers to.
func (d *distances) measure(i uint32, most *[regalloc.NumClasses]int32) {
	lost := d.In.ClobbersOf(regalloc.Inst(i)).Lost(8)
	for c := range most {
		regs := d.Env.Allocatable.OfClass(regalloc.Class(c)) &^ lost
		most[c] = max(most[c], d.count[c]-int32(regs.Len()))
	}
}

// inst goes backward over instruction i.
func (d *distances) inst(i uint32) {
	in := d.In
	first, end := in.OperandRange(regalloc.Inst(i))
	for j := first; j < end; j++ {
		if o := &in.Operands[j]; o.Access.Defines() && d.at[o.VReg] == d.visit {
			d.at[o.VReg] = 0
			d.count[d.ClassOf(uint32(o.VReg))]--
		}
	}
	for j := first; j < end; j++ {
		o := &in.Operands[j]
		if !o.Access.Reads() {
			continue
		}
		if o.Constraint == regalloc.Fixed && d.Values[o.VReg].Flags&flow.IsRemat != 0 {
			d.use(uint32(o.VReg), i+far)
			continue
		}
		d.use(uint32(o.VReg), i)
		d.cur[o.VReg] = i
	}
}

// foldLoops gives each header of a loop the excess of its loop, inner loops included.
func (d *distances) foldLoops() {
	in := d.In
	d.outer = stop.Resize(in.Stop, d.outer, len(in.Blocks))
	for b := range uint32(len(in.Blocks)) {
		in.Stop.Poll()
		d.outer[b] = flow.None
		if d.Headers[b] != b || b == 0 {
			continue
		}
		h := d.Headers[b-1]
		for h != flow.None && in.Blocks[h].LoopDepth >= in.Blocks[b].LoopDepth {
			h = d.outer[h]
		}
		d.outer[b] = h
	}
	for k := len(in.Blocks) - 1; k >= 0; k-- {
		in.Stop.PollAt(k)
		b := uint32(k)
		to := d.Headers[b]
		if to == b {
			to = d.outer[b]
		}
		if to == flow.None || in.Blocks[b].Cold {
			continue
		}
		for c, x := range d.excess[b] {
			d.excess[to][c] = max(d.excess[to][c], x)
		}
	}
}
