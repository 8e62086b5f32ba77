package flow

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// wrapper decides in which blocks the callee-saved registers are the caller's (regalloc.Output.Unsaved), so that quick ways through a
// function save nothing. It is known as shrink-wrapping. Saved are blocks with calls, blocks in which many values are live or needed at once, and loops; the blocks that lie on a path from one of these to another; and those next to them
// without which registers could not be saved at the start of a block and restored at the end of one.
type wrapper struct {
	Intervals
	reserved *Reservations
	live     *Liveness

	saved  []bool  // by block
	reach  []uint8 // by block: fromSaved, toSaved
	work   []uint32
	change []int32 // by instruction: how many integers are live, less those at the instruction before
}

const (
	fromSaved = 1 << iota // a path leads here from a saved block
	toSaved               // a path leads from here to a saved block
)

const (
	// At most maxSaves quarters of the times that the function is entered may save registers.
	maxSaves = 3
	// maxSites is how many more places may save or restore than in a function that saves registers in its prologue.
	maxSites = 2
	// maxRuns bounds the runs of unsaved blocks in the layout, each of which may split parts in all callee-saved registers.
	maxRuns = 32
)

// wrap fills Output.Unsaved, and reserves the callee-saved registers in these blocks. Few functions have quick ways between their calls, so where many values
// are live is found out last.
func (wr *wrapper) wrap(iv Intervals, lv *Liveness, reserved *Reservations) {
	wr.Intervals, wr.live, wr.reserved = iv, lv, reserved
	if !wr.mayWrap() || !wr.findCalls() || !wr.returnsEarly() {
		return
	}
	wr.join()
	wr.enclose()
	price, pays := wr.pays()
	if pays {
		crowds := wr.findCrowds()
		if wr.findNeeds() || crowds {
			wr.join()
			wr.enclose()
			price, pays = wr.pays()
		}
	}
	if pays {
		reserved.SavePrice = price
		wr.reserve()
	}
}

// mayWrap reports whether control divides, and no instruction asks for a callee-saved register, nor a move between slots
// (emitter.rematToSlot).
func (wr *wrapper) mayWrap() bool {
	in, saved := wr.In, wr.Env.CalleeSaved
	if len(in.Blocks) < 3 || saved == 0 {
		return false
	}
	for _, order := range wr.Env.Order {
		if len(order) > 0 && saved.Has(order[0]) {
			return false
		}
	}
	for k := range in.ClobberSets {
		if in.ClobberSets[k].Low&saved != 0 {
			return false
		}
	}
	for s := saved; s != 0; s &= s - 1 {
		if len(wr.reserved.Spans[s.First()]) > 0 {
			return false
		}
	}
	return true
}

// findCalls fills saved with the blocks with calls, which may well take longer than saving, and with loops. It reports whether there are calls, but
// not in the entry.
func (wr *wrapper) findCalls() bool {
	in := wr.In
	wr.saved = stop.Zeroed(in.Stop, wr.saved, len(in.Blocks))
	found := false
	for k, l := range wr.reserved.SetPos[:wr.reserved.NumSets] {
		if wr.reserved.sets[k].Low.Len() < wr.Env.CalleeSaved.Len() {
			continue // it is no call
		}
		if n := len(l); n > 0 && wr.InstBlock[InstOf(l[n-1])] == 0 {
			return false
		}
		for _, pos := range l {
			in.Stop.Poll()
			if b := wr.InstBlock[InstOf(pos)]; !in.Blocks[b].Cold {
				wr.saved[b], found = true, true
			}
		}
	}
	for b := 0; found && b < len(in.Blocks); b++ {
		in.Stop.PollAt(b)
		if info := &in.Blocks[b]; info.LoopDepth > 0 && !info.Cold {
			wr.saved[b] = true
		}
	}
	return found && !wr.saved[0]
}

// returnsEarly reports whether a way from the entry to a return, or to a tail call, passes no saved block.
func (wr *wrapper) returnsEarly() bool {
	in := wr.In
	wr.reach = stop.Zeroed(in.Stop, wr.reach, len(in.Blocks))
	wr.work = append(wr.work[:0], 0)
	for len(wr.work) > 0 {
		in.Stop.Poll()
		info := &in.Blocks[wr.work[len(wr.work)-1]]
		wr.work = wr.work[:len(wr.work)-1]
		if in.Insts[info.Insts.End-1].Flags&(regalloc.IsReturn|regalloc.IsTailCall) != 0 {
			return true
		}
		for k := info.Succs.Start; k < info.Succs.End; k++ {
			if to := uint32(in.Edges[k].To); wr.reach[to] == 0 && !wr.saved[to] && !in.Blocks[to].Cold {
				wr.reach[to] = 1
				wr.work = append(wr.work, to)
			}
		}
	}
	return false
}

// findCrowds adds the blocks in which many integers are live at once, and reports whether there are any.
func (wr *wrapper) findCrowds() (found bool) {
	in := wr.In
	wr.countLive()
	free := int32((wr.Env.Allocatable &^ wr.Env.CalleeSaved).OfClass(regalloc.Int).Len())
	live := int32(0)
	for i, change := range wr.change[:len(in.Insts)] {
		in.Stop.PollAt(i)
		if live += change; live < free {
			continue
		}
		if b := wr.InstBlock[i]; !in.Blocks[b].Cold && !wr.saved[b] {
			wr.saved[b], found = true, true
		}
	}
	return found
}

// findNeeds adds the blocks with an instruction that may need more registers at once than those that need no saving, cold blocks too, and reports
// whether there are any.
func (wr *wrapper) findNeeds() (found bool) {
	in, free := wr.In, wr.Env.Allocatable&^wr.Env.CalleeSaved
	for b := range in.Blocks {
		r := in.Blocks[b].Insts
		for i := r.Start; i < r.End && !wr.saved[b]; i++ {
			in.Stop.PollAt(int(i))
			if !wr.fits(regalloc.Inst(i), free) {
				wr.saved[b], found = true, true
			}
		}
	}
	return found
}

// fits reports whether the registers in free are enough for instruction i, where it reads and where it writes. Each operand that must be in a register counts,
// though some may share one.
func (wr *wrapper) fits(i regalloc.Inst, free regalloc.PRegSet) bool {
	in := wr.In
	c := in.ClobbersOf(i)
	lost := (c.Low | c.High) & free
	var reads, writes [regalloc.NumClasses]int
	for _, o := range in.OperandsOf(i) {
		if o.Constraint == regalloc.Any || o.Constraint == regalloc.FixedArg {
			continue
		}
		class := in.VRegs[o.VReg].Class
		if o.Access.Reads() || o.Access == regalloc.EarlyDef {
			reads[class]++
		}
		if o.Access != regalloc.Use && (o.Constraint != regalloc.Fixed || !lost.Has(o.PReg())) {
			writes[class]++
		}
	}
	for k := range reads {
		class := regalloc.Class(k)
		if n := free.OfClass(class).Len(); reads[k] > n || writes[k] > n-lost.OfClass(class).Len() {
			return false
		}
	}
	return true
}

// countLive fills change. Values that cost nothing in memory do not count.
func (wr *wrapper) countLive() {
	in := wr.In
	wr.change = stop.Zeroed(in.Stop, wr.change, len(in.Insts)+1)
	for v := range wr.Values {
		in.Stop.PollAt(v)
		vr := &wr.Values[v]
		if vr.Flags&(IsRemat|IsArg|IsFloat) != 0 {
			continue
		}
		for r := vr.Range; r != 0; r = wr.Ranges[r].Next {
			in.Stop.Poll()
			wr.change[wr.Ranges[r].Start>>2]++
			wr.change[wr.Ranges[r].End>>2]--
		}
	}
}

// join saves in the blocks between saved ones, so that no path saves twice.
func (wr *wrapper) join() {
	in := wr.In
	wr.reach = stop.Zeroed(in.Stop, wr.reach, len(in.Blocks))
	for _, mark := range [...]uint8{fromSaved, toSaved} {
		wr.work = wr.work[:0]
		for b, saved := range wr.saved {
			in.Stop.PollAt(b)
			if saved {
				wr.reach[b] |= mark
				wr.work = append(wr.work, uint32(b))
			}
		}
		for len(wr.work) > 0 {
			in.Stop.Poll()
			b := regalloc.Block(wr.work[len(wr.work)-1])
			wr.work = wr.work[:len(wr.work)-1]
			if mark == toSaved {
				for _, p := range in.PredsOf(b) {
					wr.mark(uint32(p), mark)
				}
				continue
			}
			for _, e := range in.SuccsOf(b) {
				wr.mark(uint32(e.To), mark)
			}
		}
	}
	for b, reach := range wr.reach {
		in.Stop.PollAt(b)
		wr.saved[b] = reach == fromSaved|toSaved
	}
}

// mark notes how b reaches saved blocks.
func (wr *wrapper) mark(b uint32, mark uint8) {
	if wr.reach[b]&mark == 0 {
		wr.reach[b] |= mark
		wr.work = append(wr.work, b)
	}
}

// enclose saves in more blocks, where it would otherwise be impossible to save or restore, or where that would happen in a loop.
func (wr *wrapper) enclose() {
	in := wr.In
	wr.work = wr.work[:0]
	for b, saved := range wr.saved {
		in.Stop.PollAt(b)
		if saved {
			wr.work = append(wr.work, uint32(b))
		}
	}
	for len(wr.work) > 0 {
		in.Stop.Poll()
		b := wr.work[len(wr.work)-1]
		wr.work = wr.work[:len(wr.work)-1]
		preds, succs := in.PredsOf(regalloc.Block(b)), in.SuccsOf(regalloc.Block(b))
		for _, p := range preds {
			// The moves of an edge are behind what saves only if they stand at the start of b.
			if len(preds) > 1 || in.Blocks[p].Succs.Len() == 1 || in.Blocks[b].LoopDepth > 0 {
				wr.save(uint32(p))
			}
		}
		for _, e := range succs {
			// They are in front of what restores only if they stand at the end of b.
			if len(succs) > 1 || in.Blocks[e.To].Preds.Len() == 1 {
				wr.save(uint32(e.To))
			}
		}
	}
}

// save makes b a saved block.
func (wr *wrapper) save(b uint32) {
	if !wr.saved[b] {
		wr.saved[b] = true
		wr.work = append(wr.work, b)
	}
}

// pays reports whether enough ways through the function save nothing, at the cost of few places that save and restore and no move, and
// returns what a save and a restore cost then, in units of frequency.
func (wr *wrapper) pays() (price uint32, pays bool) {
	in := wr.In
	if wr.saved[0] {
		return 0, false
	}
	often, sites, usual := uint32(0), 0, 1
	for b, saved := range wr.saved {
		in.Stop.PollAt(b)
		info := &in.Blocks[b]
		if in.Insts[info.Insts.End-1].Flags&(regalloc.IsReturn|regalloc.IsTailCall) != 0 {
			usual++
			if saved {
				sites++
			}
		}
		if !saved {
			continue
		}
		if !wr.saved[in.PredsOf(regalloc.Block(b))[0]] {
			often = min(often+wr.Freq[b], maxFreq)
			sites++
			if wr.carries(uint32(b)) {
				return 0, false
			}
		}
		if info.Succs.Len() == 1 && !wr.saved[in.Edges[info.Succs.Start].To] {
			sites++
		}
	}
	return 2 * often, 4*often <= maxSaves*EntryFreq && sites <= usual+maxSites
}

// carries reports whether a value other than the function's arguments is live into b, where registers are saved, and would need a move
// there. Its definition could otherwise put it into a callee-saved register at no cost.
func (wr *wrapper) carries(b uint32) bool {
	for k, v := range wr.live.LiveInto(b) {
		wr.In.Stop.PollAt(k)
		if vr := &wr.Values[v]; vr.DefInst != 0 && vr.Flags&(IsRemat|IsArg) == 0 {
			return true
		}
	}
	return false
}

// reserve keeps the walk from using callee-saved registers in the blocks that are not saved.
func (wr *wrapper) reserve() {
	in, list := wr.In, wr.reserved.Unsaved[:0]
	for b := len(in.Blocks) - 1; b >= 0; b-- {
		in.Stop.PollAt(b)
		if wr.saved[b] {
			continue
		}
		r := in.Blocks[b].Insts
		if n := len(list); n > 0 && list[n-1].Start == 4*r.End {
			list[n-1].Start = 4 * r.Start
			continue
		}
		if len(list) == maxRuns {
			return
		}
		list = append(list, Span{4 * r.Start, 4 * r.End})
	}
	wr.reserved.Unsaved = list
	for b, saved := range wr.saved {
		in.Stop.PollAt(b)
		wr.Out.Unsaved = append(wr.Out.Unsaved, !saved)
	}
}
