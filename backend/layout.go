package backend

import (
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// This file decides, between allocation and emission, which blocks have code, which loop headers are aligned, and
// how far apart blocks can be at most, so that branches forward can be short.

// blockPlan is what is known of a block before it is emitted. Offsets count bytes from the end of the
// function, as bounds.
type blockPlan struct {
	// dest is the block itself, or, if it is nothing but a jump, where that leads.
	dest uint32
	// next is the next block with code, or the number of blocks.
	next uint32
	// before and start are where the block's padding and its code begin.
	before, start uint32
	// body bounds the bytes of its instructions without the branches at its end, worst is the sum of these
	// bytes, padding and all branches at their longest of the blocks in front of it.
	body, worst uint32
	// loopEnd is, of a loop header, the last block that branches back to it.
	loopEnd uint32
	empty   bool
	aligned bool
	// landing is the label in front of what Target.EmitLanding emits, 0 if nothing.
	landing machbuffer.Label
}

// tooFar is more than any branch that is not of full range reaches; bounds stop there.
const tooFar = 1 << 30

// maxAlignedLoop is the largest size in bytes of a loop whose header is aligned.
const maxAlignedLoop = 512

// plan fills e.blocks.
func (e *Emitter) plan() {
	n := len(e.VC.In.Blocks)
	e.blocks = resize(e.blocks, n+1)
	e.measure()
	e.thread()
	e.landings()
	header := uint32(n)
	for bi := n - 1; bi >= 0; bi-- {
		p := &e.blocks[bi]
		p.before, p.start = e.blocks[bi+1].before, e.blocks[bi+1].before
		e.backEdges(uint32(bi))
		if p.dest != uint32(bi) {
			continue
		}
		e.Block = bi
		p.start = min(p.start+p.body+e.Target.BranchBytes(e), tooFar)
		p.before = p.start
		if e.VC.Headers[bi] {
			innermost := header > p.loopEnd && p.start-e.blocks[p.loopEnd+1].before <= maxAlignedLoop
			p.aligned = innermost && !e.VC.In.Blocks[bi].Cold && e.Target.LoopAlign > 1
			header = uint32(bi)
		}
		if p.aligned {
			p.before += e.Target.LoopAlign - 1
		}
	}
}

// thread fills dest and next. Empty blocks lead forward, or to a block with code, so that there is no cycle.
func (e *Emitter) thread() {
	in := &e.VC.In
	next := uint32(len(in.Blocks))
	for bi := len(in.Blocks); bi >= 0; bi-- {
		p := &e.blocks[bi]
		p.dest, p.next = uint32(bi), next
		if !p.empty {
			next = uint32(bi)
			continue
		}
		to := in.Edges[in.Blocks[bi].Succs.Start].To
		if p.dest = uint32(to); int(to) > bi {
			p.dest = e.blocks[to].dest
		}
	}
}

// landings notes the blocks to which indirect jumps lead, and counts their additional bytes; worst has them
// for all blocks.
func (e *Emitter) landings() {
	if e.Target.EmitLanding == nil {
		return
	}
	for _, n := range e.VC.Indirect {
		blocks := e.Table(n)
		for _, b := range blocks[:len(blocks)-1] {
			if p := &e.blocks[e.Dest(b)]; p.landing == 0 {
				p.landing = e.Buf.NewLabel()
				p.body = min(p.body+e.Target.LandingBytes, tooFar)
			}
		}
	}
}

// backEdges notes that block b ends the loops to whose headers it branches.
func (e *Emitter) backEdges(b uint32) {
	for _, s := range e.VC.In.SuccsOf(regalloc.Block(b)) {
		if uint32(s.To) <= b {
			e.blocks[s.To].loopEnd = max(e.blocks[s.To].loopEnd, b)
		}
	}
}

// measure fills body, worst and empty. A block is empty if nothing is in it but a jump forward, or to a block
// with code.
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
			end := in.Insts[i].OperandEnd
			n = min(n+maxBytes(e, regalloc.Inst(i), e.Out.Allocs[start:end]), tooFar)
			start = end
		}
		for len(edits) > 0 && edits[0].Point.Inst() < regalloc.Inst(blk.Insts.End) {
			n = min(n+e.Target.MaxEdit(e, &edits[0]), tooFar)
			edits = edits[1:]
		}
		p.body = n
		if n == 0 && blk.Insts.Len() == 1 && e.VC.Insts[blk.Insts.Start].Op == OpJump {
			to := in.Edges[blk.Succs.Start].To
			p.empty = int(to) > bi || int(to) < bi && !e.blocks[to].empty
		}
		if !p.empty {
			worst = min(worst+p.body+e.Target.LoopAlign+e.Target.LandingBytes+e.Target.MaxBranches, tooFar)
		}
	}
	e.blocks[len(in.Blocks)].worst = worst
}

// Next is the block whose code follows that of the current block.
func (e *Emitter) Next() int { return int(e.blocks[e.Block].next) }

// Distance bounds the number of bytes from the end of the current block to the start of block to, which must follow.
func (e *Emitter) Distance(to int) uint32 {
	if b := e.blocks[e.Block+1].before; b < tooFar {
		d := b - e.blocks[to].start
		if e.blocks[to].landing != 0 {
			d += e.Target.LandingBytes
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
