package backend

import (
	"slices"

	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// This file decides, after a function has been emitted, where in a line of the instruction cache its small loops begin. Processors keep decoded operations
// by cache lines. The lines that a loop occupies can decide how many cycles an iteration takes, and an aligned top can be the worst place. Only
// emission determines which instructions a line has, so after emission the machine buffer moves loops in bad places. If a branch would then not reach its target, the
// function is emitted a second time, with other padding in front of these loops.

// Operation is what a processor decodes as one operation: an instruction, or a comparison fused with a branch. From, At and End are offsets of its
// beginning, of that of its last instruction, and of its end.
type Operation struct {
	From, At, End uint32
	Branch        bool
}

// loopPlace says that the loop with this header begins at bytes from the start of a line.
type loopPlace struct {
	header, at uint32
}

// What the supply of operations costs, in sixteenths of a cycle. A line's operations come in entries of up to six. The figures
// are fitted to loops of random instructions on an AMD Zen 5 (docs/isa.md): there, three entries in the line where a loop begins stall.
const (
	cycle       = 16
	opsPerEntry = 6
	perOp       = cycle / 8 // where the supply is no limit
	straddle    = cycle     // of a branch, or the comparison with it, on the border of two lines, and of a branch alone in the last line
)

// supply is the cost of a line by its number of entries, the last for all above: of the line that is the whole loop, the first, one in the
// middle, the last.
var supply = struct{ whole, first, middle, last [5]uint32 }{
	whole:  [5]uint32{0, cycle, cycle, 3 * cycle, 3 * cycle},
	first:  [5]uint32{0, 0, cycle, 3 * cycle, 3 * cycle},
	middle: [5]uint32{cycle, 3 * cycle / 2, 3 * cycle / 2, 7 * cycle / 4, 3 * cycle},
	last:   [5]uint32{0, cycle, cycle, 5 * cycle / 4, 3 * cycle},
}

// loopCost estimates the time of an iteration of a loop of ops that begins at bytes from the start of a line, if nothing but the supply of
// operations limits it.
func loopCost(ops []Operation, at uint32) uint32 {
	cost, stalls, line, n := uint32(0), uint32(0), uint32(0), uint32(0)
	entries := func() uint32 { return min((n+opsPerEntry-1)/opsPerEntry, 4) }
	for i := range ops {
		op := &ops[i]
		if l := (at + op.At) / machbuffer.CacheLine; l != line {
			if line == 0 {
				cost += supply.first[entries()]
			} else {
				cost += supply.middle[entries()]
			}
			line, n = l, 0
		}
		n++
		if op.Branch && (at+op.From)/machbuffer.CacheLine != (at+op.End-1)/machbuffer.CacheLine {
			stalls += straddle
		}
	}
	if line == 0 {
		cost += supply.whole[entries()]
	} else if cost += supply.last[entries()]; n == 1 {
		stalls += straddle
	}
	return max(cost, perOp*uint32(len(ops))) + stalls
}

// maxPlacedLoop is the largest size in bytes of a loop whose place is looked at: an iteration of a larger one loses little in its first line.
const maxPlacedLoop = 256

// againBytes bounds the code that is moved, or emitted a second time, for each loop in a bad place: that of larger functions would take too much time.
const againBytes = 1024

// placeLoops looks where the aligned loops of the function are. If some would be faster elsewhere, it fills e.places and returns true.
func (e *Emitter) placeLoops() bool {
	if e.Target.Operations == nil {
		return false
	}
	moved, starts := uint32(0), machbuffer.AnyStart
	for _, bi := range e.order {
		e.VC.In.Stop.PollAt(int(bi))
		p := &e.blocks[bi]
		if !p.aligned {
			continue
		}
		from, ok := e.Buf.LabelOffset(e.Label(int(bi)))
		last := e.lastOf(p)
		to := e.blocks[last].ends
		if !ok || to <= from || to-from > maxPlacedLoop || to > e.Buf.Offset() || e.calls(int(bi), int(last)) {
			continue
		}
		e.ops = e.Target.Operations(e.Buf.Code()[from:to], e.ops[:0])
		if anywhere(e.ops, e.Target.LoopAlign) {
			continue
		}
		first := e.Buf.Starts().First()
		at := (first + from) % machbuffer.CacheLine
		best := bestPlace(e.ops, at, first+e.blocks[e.order[max(p.pos, 1)-1]].ends)
		if best != at {
			moved++
		}
		e.places = append(e.places, loopPlace{bi, best})
		cost := loopCost(e.ops, at)
		starts &= machbuffer.Where(from, func(at uint32) bool { return loopCost(e.ops, at) <= cost })
	}
	again := moved > 0 && e.Buf.Offset() <= moved*againBytes
	if !again {
		e.Buf.KeepStarts(starts)
	}
	return again
}

// moveLoops moves the loops of e.places, and what is noted of the code behind them. It reports false if some branch would not reach its target, or
// if emission has decided otherwise about the code in front of a loop.
func (e *Emitter) moveLoops() bool {
	e.moving = e.moving[:0]
	for _, l := range e.places {
		e.moving = append(e.moving, machbuffer.Place{Label: e.Label(int(l.header)), At: l.at})
	}
	moves, ok := e.Buf.Move(e.moving)
	if !ok {
		return false
	}
	for i := range e.unwind {
		e.VC.In.Stop.PollAt(i)
		e.unwind[i].Offset = moves.End(e.unwind[i].Offset)
	}
	for i := range e.marks {
		e.VC.In.Stop.PollAt(i)
		if m := &e.marks[i]; m.Inst == regalloc.NoInst && m.Edit < 0 {
			m.Offset = moves.End(m.Offset) // padding belongs to no instruction
		} else {
			m.Offset = moves.Begin(m.Offset)
		}
	}
	return true
}

// lastOf returns the last block with code of the loop with header p.
func (e *Emitter) lastOf(p *blockPlan) uint32 {
	behind := len(e.order)
	if next := e.blocks[p.loopEnd].next; int(next) < len(e.VC.In.Blocks) {
		behind = int(e.blocks[next].pos)
	}
	return e.order[behind-1]
}

// calls reports whether blocks first to last call anything.
func (e *Emitter) calls(first, last int) bool {
	from, to := e.VC.In.Blocks[first].Insts.Start, e.VC.In.Blocks[last].Insts.End
	k, _ := slices.BinarySearch(e.VC.Calls, regalloc.Inst(from))
	return k < len(e.VC.Calls) && e.VC.Calls[k] < regalloc.Inst(to)
}

// less is how much a loop of this cost must gain for the padding to pay.
func less(cost uint32) uint32 { return max(2*cycle, cost) / 16 }

// anywhere reports whether a loop of ops is as fast at all multiples of align.
func anywhere(ops []Operation, align uint32) bool {
	lowest, highest := ^uint32(0), uint32(0)
	for k := uint32(0); k < machbuffer.CacheLine; k += align {
		c := loopCost(ops, k)
		lowest, highest = min(lowest, c), max(highest, c)
	}
	return highest-lowest < less(highest)
}

// bestPlace returns where a loop of ops is to begin that is at bytes from the start of a line, and could be anywhere from the offset free on: there, unless
// it is faster elsewhere, and otherwise in the first of the best of places four bytes apart.
func bestPlace(ops []Operation, at, free uint32) uint32 {
	least := max(perOp*uint32(len(ops)), cycle)
	cost := loopCost(ops, at)
	best, limit := at, cost-less(cost)
	for k := uint32(0); k < machbuffer.CacheLine && limit >= least; k += 4 {
		place := (free + k) % machbuffer.CacheLine
		if c := loopCost(ops, place); c <= limit {
			best, limit = place, c-1
		}
	}
	return best
}
