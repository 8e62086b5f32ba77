package backend

import (
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// This file decides, between allocation and emission, which blocks have code, in which order they are emitted, which
// loop headers are aligned, and how far apart blocks can be at most, so that branches forward can be short.

// blockPlan holds the facts about a block before it is emitted. Offsets count bytes from the end of the
// function, as bounds.
type blockPlan struct {
	// dest is the block itself, or, if the block is only a jump, the block where the jump leads.
	dest uint32
	// next is the next block with code in the order of emission, or the number of blocks; pos is the place in that order.
	next, pos uint32
	// before and start are where the block's padding and its code begin. label is where its label may be: if the block has no bytes,
	// that moves past the padding of the next one.
	before, start, label uint32
	// body bounds the bytes of its instructions without the branches at its end. worst is the sum, over the blocks in
	// front of it, of these bytes, of padding and of all branches at their longest.
	body, worst uint32
	// loopEnd of a loop header is the last block that branches back to it.
	loopEnd uint32
	// latch of a loop header is the block that is moved in front of it, or 0.
	latch  uint32
	header bool // the top of a loop leads here
	empty  bool
	// aligned: the loop begins at a multiple of Target.LoopAlign, or where span says.
	aligned bool
	// span of an aligned block is how many bytes its loop has at most, if these are to lie in one line of the cache; otherwise 0.
	span uint32
	// placed: the loop begins at bytes from the start of a line.
	at     uint32
	placed bool
	// ends is where the block's code ends, once it is emitted.
	ends uint32
	// landing is the label in front of the code of Target.Landing, 0 if there is none.
	landing machbuffer.Label
}

// tooFar is beyond the reach of every branch except those of full range. Bounds stop there.
const tooFar = 1 << 30

// maxAlignedLoop is the largest size in bytes of a loop whose header is aligned.
const maxAlignedLoop = 512

// maxCallingLoop is the same of a loop with calls: what an iteration of a longer one takes does not depend on its place.
const maxCallingLoop = 32

// plan fills e.blocks.
func (e *Emitter) plan() {
	n := len(e.VC.In.Blocks)
	e.blocks = stop.Zeroed(e.VC.In.Stop, e.blocks, n+1)
	for _, l := range e.places {
		e.blocks[l.header].placed, e.blocks[l.header].at = true, l.at
	}
	e.measure()
	e.thread()
	e.landings()
	e.arrange()
	for bi := range n {
		e.VC.In.Stop.PollAt(bi)
		e.backEdges(uint32(bi))
	}
	header := uint32(n)
	for k := len(e.order) - 1; k >= 0; k-- {
		e.VC.In.Stop.Poll()
		bi := int(e.order[k])
		p := &e.blocks[bi]
		e.Block = bi
		p.start = min(e.end(bi)+p.body+e.Target.BranchBytes(e), tooFar)
		p.before, p.label = p.start, p.start
		if next := &e.blocks[p.next]; p.body == 0 && next.label != next.before {
			p.label = next.label
		}
		if p.header || e.VC.Headers[bi] {
			size := p.start - e.end(int(p.loopEnd))
			innermost := header > p.loopEnd && size <= maxAlignedLoop
			p.aligned = innermost && !e.VC.In.Blocks[bi].Cold && e.Target.LoopAlign > 1 && (size <= maxCallingLoop || !e.calls(bi, int(e.lastOf(p))))
			if p.aligned && size <= machbuffer.CacheLine {
				p.span = size
			}
			header = uint32(bi)
		}
		switch {
		case p.placed:
			p.before += machbuffer.CacheLine - 1
		case p.span != 0: // padding is shorter than what would have begun in front of the line's end
			p.before += p.span - 1
		case p.aligned:
			p.before += e.Target.LoopAlign - 1
		}
	}
}

// loopPadding is how many bytes there are in front of a loop at most, and one more.
func (e *Emitter) loopPadding() uint32 {
	if e.Target.LoopAlign > 1 {
		return machbuffer.CacheLine
	}
	return 1
}

// end returns where block b ends.
func (e *Emitter) end(b int) uint32 { return e.blocks[e.blocks[b].next].before }

// arrange fills order, next and pos. Blocks with code keep their order, except where the machine wants
// the back edge of a loop to fall through.
func (e *Emitter) arrange() {
	n := uint32(len(e.VC.In.Blocks))
	e.order = stop.Grow(e.VC.In.Stop, e.order[:0], int(n))
	e.rotated = false
	e.blocks[n].pos = n
	if e.Target.Rotate {
		for b := range n {
			e.VC.In.Stop.PollAt(int(b))
			if h, ok := e.rotates(b); ok {
				e.blocks[h].latch = b
				e.rotated = true
			}
		}
	}
	for b := range n {
		e.VC.In.Stop.PollAt(int(b))
		p := &e.blocks[b]
		if p.dest != b || p.moved(e, b) {
			continue
		}
		if p.latch != 0 {
			e.order = append(e.order, p.latch)
		}
		e.order = append(e.order, b)
	}
	for k, b := range e.order {
		e.VC.In.Stop.PollAt(k)
		p := &e.blocks[b]
		p.pos, p.next = uint32(k), n
		if k+1 < len(e.order) {
			p.next = e.order[k+1]
		}
	}
	next := n
	for b := n; b > 0; b-- {
		switch p := &e.blocks[b-1]; {
		case p.dest != b-1:
			p.next = next
		case !p.moved(e, b-1):
			next = b - 1
		}
	}
}

// moved reports whether block b stands in front of the loop header that it jumps back to.
func (p *blockPlan) moved(e *Emitter, b uint32) bool {
	if !e.rotated || p.dest != b || b == 0 { // the entry comes first, and 0 is no latch
		return false
	}
	in := &e.VC.In
	s := in.Blocks[b].Succs
	return s.Len() == 1 && e.blocks[e.blocks[in.Edges[s.Start].To].dest].latch == b
}

// rotates returns the header to which block b jumps back, if b can stand in front of it: there is one way to b, a conditional
// branch, which can lead there as well.
func (e *Emitter) rotates(b uint32) (header uint32, ok bool) {
	in := &e.VC.In
	blk := &in.Blocks[b]
	if e.blocks[b].dest != b || blk.Cold || blk.Succs.Len() != 1 || blk.Preds.Len() != 1 {
		return 0, false
	}
	header = e.blocks[in.Edges[blk.Succs.Start].To].dest
	from := in.BlockLists[blk.Preds.Start]
	last := &e.VC.Insts[in.Blocks[from].Insts.End-1]
	if header >= b || e.blocks[header].dest != header || e.blocks[header].landing != 0 || last.Tail != TailJump || e.VC.Insts[blk.Insts.End-1].Op != OpJump {
		return 0, false
	}
	for i := blk.Insts.Start; i < blk.Insts.End; i++ {
		if in.Insts[i].Flags&regalloc.Safepoint != 0 { // stack maps are in the order of instructions
			return 0, false
		}
	}
	return header, true
}

// thread fills dest. Empty blocks lead forward, to a block with code, or back to the top of a loop. There is no cycle:
// what follows a top alone leads to a conditional branch.
func (e *Emitter) thread() {
	in := &e.VC.In
	for bi := len(in.Blocks) - 1; bi >= 0; bi-- {
		in.Stop.PollAt(bi)
		p := &e.blocks[bi]
		p.dest = uint32(bi)
		if !p.empty {
			continue
		}
		to := in.Edges[in.Blocks[bi].Succs.Start].To
		if p.dest = uint32(to); int(to) > bi {
			p.dest = e.blocks[to].dest
		}
	}
	if len(e.VC.Tops) > 0 {
		e.throughTops()
	}
}

// throughTops completes dest where it is a top without code, and fills header of where tops lead.
func (e *Emitter) throughTops() {
	for bi := range e.VC.In.Blocks {
		e.VC.In.Stop.PollAt(bi)
		p := &e.blocks[bi]
		if !p.empty {
			continue
		}
		for d := &e.blocks[p.dest]; e.blocks[d.dest].dest != d.dest; {
			e.VC.In.Stop.Poll()
			d.dest = e.blocks[d.dest].dest
		}
		p.dest = e.blocks[p.dest].dest
	}
	for _, top := range e.VC.Tops {
		e.blocks[e.blocks[top].dest].header = true
	}
}

// landings notes the blocks to which indirect jumps lead, and counts the bytes of their landing code. worst counts these
// bytes for all blocks.
func (e *Emitter) landings() {
	if len(e.Target.Landing) == 0 {
		return
	}
	for _, n := range e.VC.Indirect {
		blocks := e.Table(n)
		for _, b := range blocks[:len(blocks)-1] {
			if p := &e.blocks[e.Dest(b)]; p.landing == 0 {
				p.landing = e.Buf.NewLabel()
				p.body = min(p.body+uint32(len(e.Target.Landing)), tooFar)
			}
		}
	}
}

// backEdges notes that block b ends the loops to whose headers it branches.
func (e *Emitter) backEdges(b uint32) {
	for _, s := range e.VC.In.SuccsOf(regalloc.Block(b)) {
		if to := e.blocks[s.To].dest; to <= b {
			e.blocks[to].loopEnd = max(e.blocks[to].loopEnd, b)
		}
	}
}

// measure fills body, worst and empty. A block is empty if nothing is in it but a jump forward, to a block
// with code, or to the top of a loop.
func (e *Emitter) measure() {
	in := &e.VC.In
	edits, maxBytes := e.Out.Edits, e.Target.MaxBytes
	worst := uint32(0)
	for bi := range in.Blocks {
		blk, p := &in.Blocks[bi], &e.blocks[bi]
		p.worst = worst
		n := uint32(0)
		start, _ := in.OperandRange(regalloc.Inst(blk.Insts.Start))
		for i := blk.Insts.Start; i < blk.Insts.End; i++ {
			in.Stop.PollAt(int(i))
			end := in.Insts[i].OperandEnd
			if allocs := e.Out.Allocs[start:end]; !leftOut(allocs) {
				n = min(n+maxBytes(e, &e.VC.Insts[i], allocs), tooFar)
			}
			start = end
		}
		for len(edits) > 0 && edits[0].Point.Inst() < regalloc.Inst(blk.Insts.End) {
			in.Stop.PollAt(len(edits))
			n = min(n+e.maxEdit(&edits[0]), tooFar)
			edits = edits[1:]
		}
		n = min(n+e.savesBytes(regalloc.Block(bi)), tooFar)
		p.body = n
		if n == 0 && blk.Insts.Len() == 1 && e.VC.Insts[blk.Insts.Start].Op == OpJump {
			to := in.Edges[blk.Succs.Start].To
			p.empty = int(to) > bi || int(to) < bi && (!e.blocks[to].empty || e.isTop(uint32(to)))
		}
		if !p.empty {
			worst = min(worst+p.body+e.loopPadding()+uint32(len(e.Target.Landing))+e.Target.MaxBranches, tooFar)
		}
	}
	e.blocks[len(in.Blocks)].worst = worst
}

// savesBytes bounds the size of the code in block b that saves callee-saved registers, behind the prologue, and that restores them before
// a jump.
func (e *Emitter) savesBytes(b regalloc.Block) (n uint32) {
	if len(e.Out.Unsaved) == 0 || e.Out.Unsaved[b] {
		return 0
	}
	if b > 0 && e.Out.SavesAt(&e.VC.In, b) {
		n += e.Target.SavesBytes(&e.Frame)
	}
	if e.Out.RestoresAt(&e.VC.In, b) {
		n += e.Target.SavesBytes(&e.Frame)
	}
	return n
}

// isTop reports whether block b is the top of a loop.
func (e *Emitter) isTop(b uint32) bool {
	_, ok := slices.BinarySearch(e.VC.Tops, b)
	return ok
}

// Next returns the block whose code follows that of the current block.
func (e *Emitter) Next() int { return int(e.blocks[e.Block].next) }

// Back reports whether block b, which has code, is emitted before the end of the current block.
func (e *Emitter) Back(b int) bool { return e.blocks[b].pos <= e.blocks[e.Block].pos }

// Distance bounds the number of bytes from the end of the current block to the start of block to, which must follow.
func (e *Emitter) Distance(to int) uint32 {
	if b := e.end(e.Block); b < tooFar {
		d := b - e.blocks[to].label
		if e.blocks[to].landing != 0 {
			d += uint32(len(e.Target.Landing))
		}
		return d
	}
	return tooFar
}

// DistanceBack bounds the number of bytes from the start of block to to the end of the current block, which
// is not in front of it.
func (e *Emitter) DistanceBack(to int) uint32 {
	if w := e.blocks[e.Block+1].worst; w < tooFar {
		return w - e.blocks[to].worst
	}
	return tooFar
}
