package flow

import (
	"math/bits"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Liveness is the values live into each block, found by walking from each use
// up to the definition (Boissinot et al., computing liveness sets for SSA-form
// programs, 2011), for 64 values at once. This is right for any graph in any
// order: a block is visited again only if more of the values are live into it. So time and memory
// are at most proportional to the result.
type Liveness struct {
	function
	LiveIn    []uint32 // values, block after block
	LiveInEnd []uint32 // by block

	global   []globalUse
	globalOf []uint32 // by value: its latest global use
	values   []uint32 // those with global uses: in order, or first those that are live in few blocks, then the others
	merged   []uint32
	climbed  []climbing
	found    []found  // batch after batch
	work     BlockSet // blocks where values wait
}

// globalUse is a use in a block other than that of the definition.
type globalUse struct{ block, next uint32 }

// LiveInto returns the values live into b, parameters excepted.
func (lv *Liveness) LiveInto(b uint32) []uint32 {
	start := uint32(0)
	if b > 0 {
		start = lv.LiveInEnd[b-1]
	}
	return lv.LiveIn[start:lv.LiveInEnd[b]]
}

// find finds the values live into the blocks of fn, and where and how often its values are
// defined and used.
func (lv *Liveness) find(fn function) error {
	lv.function = fn
	lv.scanUses()
	if err := lv.propagate(); err != nil {
		return err
	}
	lv.sort()
	return nil
}

// scanUses notes definitions, the loop depth of uses, and the uses outside the
// block of the definition. A definition in the same block is always seen
// before the use.
func (lv *Liveness) scanUses() {
	in := lv.In
	lv.global = lv.global[:0]
	lv.globalOf = stop.Resize(lv.In.Stop, lv.globalOf, len(in.VRegs))
	for v := range lv.globalOf {
		lv.globalOf[v] = None
	}
	op := uint32(0)
	for b := range uint32(len(in.Blocks)) {
		info := &in.Blocks[b]
		depth, freq := uint8(min(info.LoopDepth, 255)), float32(lv.Freq[b])
		for k, p := range in.ParamsOf(regalloc.Block(b)) {
			lv.Values[p].DefBlock, lv.Values[p].Index = b, uint32(k)
			lv.Values[p].Flags |= IsParam
		}
		for i := info.Insts.Start; i < info.Insts.End; i++ {
			in.Stop.PollAt(int(i))
			lv.InstBlock[i] = b
			end := in.Insts[i].OperandEnd
			ops := in.Operands[op:end]
			for k := range ops {
				o := &ops[k]
				vr := &lv.Values[o.VReg]
				if o.Access.Reads() {
					if vr.used(depth, freq); vr.DefBlock != b {
						lv.noteGlobal(uint32(o.VReg), b)
					}
					continue
				}
				vr.DefBlock, vr.DefInst = b, i
				if o.Constraint == regalloc.FixedArg {
					vr.Flags |= IsArg
				}
			}
			op = end
		}
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			for _, v := range in.ArgsOf(e) {
				vr := &lv.Values[v]
				if vr.used(depth, freq); vr.DefBlock != b {
					lv.noteGlobal(uint32(v), b)
				}
			}
		}
	}
}

// used notes a use of vr in a block of the given loop depth that runs freq times.
func (vr *Value) used(depth uint8, freq float32) {
	vr.Depth = max(vr.Depth, depth)
	vr.Weight += freq
}

// noteGlobal notes a use of v in b, which does not define it.
func (lv *Liveness) noteGlobal(v, b uint32) {
	first := lv.globalOf[v]
	if first != None && lv.global[first].block == b {
		return
	}
	lv.globalOf[v] = uint32(len(lv.global))
	lv.global = stop.Append(lv.In.Stop, lv.global, globalUse{b, first})
}

// maxLive returns the greatest accepted number of pairs of a value and a place where it is live.
func (fn *function) maxLive() int { return maxLive(fn.In) }

func maxLive(in *regalloc.Input) int { return regalloc.FreePairs + regalloc.PairsPerInst*len(in.Insts) }

// LimitLive returns an error if there are more than the greatest accepted number of pairs of a value of in and a place where it is live; v is one of them.
func LimitLive(in *regalloc.Input, pairs int, v uint32) error {
	if limit := maxLive(in); pairs > limit {
		return failLive(limit, None, v)
	}
	return nil
}

// Values are propagated in batches. climbing is what propagate keeps of a block, as sets of the values of a batch. Those in
// waiting are live into the block, but have not gone on from there; those in live have.
type climbing struct{ live, waiting, defined uint64 }

// batchSize is how many values a set of climbing has room for.
const batchSize = 64

// found are the values of a batch that are live into a block.
type found struct {
	set          uint64
	block, batch uint32
}

// propagate finds the blocks that each value with global uses is live into, and counts the values of each block in liveInEnd.
func (lv *Liveness) propagate() error {
	in, pairs, limit := lv.In, 0, lv.maxLive()
	lv.climbed = stop.Zeroed(in.Stop, lv.climbed, len(in.Blocks))
	lv.LiveInEnd = stop.Zeroed(in.Stop, lv.LiveInEnd, len(in.Blocks))
	lv.found, lv.values = lv.found[:0], lv.values[:0]
	lv.work.Reset(in.Stop, len(in.Blocks))
	for v, g := range lv.globalOf {
		in.Stop.PollAt(v)
		if g != None {
			lv.values = stop.Append(in.Stop, lv.values, uint32(v))
		}
	}
	if len(in.Blocks) > manyBlocks {
		lv.partition()
	}
	for batch := range (len(lv.values) + batchSize - 1) / batchSize {
		done := len(lv.found)
		lv.enter(lv.batch(uint32(batch)))
		if err := lv.climb(uint32(batch)); err != nil {
			return err
		}
		for k := done; k < len(lv.found); k++ {
			in.Stop.PollAt(k)
			f := &lv.found[k]
			c := &lv.climbed[f.block]
			f.set, c.live = c.live, 0
			n := bits.OnesCount64(f.set)
			lv.LiveInEnd[f.block] += uint32(n)
			pairs += n
		}
		for _, v := range lv.batch(uint32(batch)) {
			if def := lv.Values[v].DefBlock; def != None {
				lv.climbed[def].defined = 0
			}
		}
		if pairs > limit {
			return failLive(limit, None, lv.batch(uint32(batch))[0])
		}
	}
	lv.Out.Stats.Live = in.PairsBeyond(pairs)
	return nil
}

// A batch takes time and memory for each block that any of its values is live into. So in functions with more than manyBlocks blocks, values that
// live for more than nearBlocks are in other batches than the rest, which are live where their neighbours are: else the product of batches and blocks
// would be most of the memory that a function of a megabyte takes.
const manyBlocks, nearBlocks = 4096, 256

// partition puts values that live long behind the others, each in order.
func (lv *Liveness) partition() {
	lv.merged = lv.merged[:0]
	near := lv.values[:0]
	for k, v := range lv.values {
		lv.In.Stop.PollAt(k)
		// The first in the list is the last in the code.
		if def, last := lv.Values[v].DefBlock, lv.global[lv.globalOf[v]].block; def == None || last > def+nearBlocks {
			lv.merged = stop.Append(lv.In.Stop, lv.merged, v)
		} else {
			near = append(near, v)
		}
	}
	lv.values = append(near, lv.merged...)
}

// batch returns the values of a batch.
func (lv *Liveness) batch(k uint32) []uint32 {
	return lv.values[batchSize*k : min(batchSize*(int(k)+1), len(lv.values))]
}

// enter puts the values of a batch where they are defined and used.
func (lv *Liveness) enter(batch []uint32) {
	for k, v := range batch {
		if def := lv.Values[v].DefBlock; def != None {
			lv.climbed[def].defined |= 1 << k
		}
		for g := lv.globalOf[v]; g != None; g = lv.global[g].next {
			lv.In.Stop.Poll()
			lv.wait(lv.global[g].block, 1<<k)
		}
	}
}

// wait lets those of the values wait at b that have not gone on from there and are not defined there.
func (lv *Liveness) wait(b uint32, set uint64) {
	c := &lv.climbed[b]
	if set &^= c.live | c.defined; set != 0 {
		if c.waiting == 0 {
			lv.work.Add(b)
		}
		c.waiting |= set
	}
}

// climb takes the values of a batch from block to block until none waits, and puts the blocks into found. The last blocks come first, so that
// few are visited twice.
func (lv *Liveness) climb(batch uint32) error {
	in := lv.In
	for !lv.work.Empty() {
		in.Stop.Poll()
		b := lv.work.TakeLast()
		c := &lv.climbed[b]
		set := c.waiting
		if c.live == 0 {
			lv.found = stop.Append(in.Stop, lv.found, found{block: b, batch: batch})
		}
		c.live, c.waiting = c.live|set, 0
		preds := in.PredsOf(regalloc.Block(b))
		if len(preds) == 0 { // b is the entry
			return Fail(Undefined, None, lv.batch(batch)[bits.TrailingZeros64(set)])
		}
		for _, p := range preds {
			lv.wait(uint32(p), set)
		}
	}
	return nil
}

// sort fills liveIn: what propagate has found, block after block. The values of a block are in order.
func (lv *Liveness) sort() {
	in, pairs := lv.In, uint32(0)
	for b, n := range lv.LiveInEnd {
		in.Stop.PollAt(b)
		lv.LiveInEnd[b] = pairs
		pairs += n
	}
	lv.LiveIn = stop.Resize(in.Stop, lv.LiveIn, int(pairs))
	for k := range lv.found {
		in.Stop.Poll()
		f := &lv.found[k]
		batch, end := lv.batch(f.batch), &lv.LiveInEnd[f.block]
		live := lv.LiveIn[*end : int(*end)+bits.OnesCount64(f.set)]
		set := f.set
		for n := range live {
			live[n] = batch[bits.TrailingZeros64(set)]
			set &= set - 1
		}
		*end += uint32(len(live))
	}
	if len(in.Blocks) > manyBlocks {
		for b := range in.Blocks {
			in.Stop.Poll()
			lv.merge(lv.LiveInto(uint32(b)))
		}
	}
}

// merge sorts values that partition has put into two parts.
func (lv *Liveness) merge(values []uint32) {
	k := 1
	for k < len(values) && values[k-1] < values[k] {
		k++
	}
	if k >= len(values) {
		return
	}
	lv.merged = append(stop.Grow(lv.In.Stop, lv.merged[:0], k), values[:k]...)
	near, far := lv.merged, values[k:]
	for at := 0; len(near) > 0; at++ { // what is left of far is where it belongs
		lv.In.Stop.PollAt(at)
		if len(far) == 0 || near[0] < far[0] {
			values[at], near = near[0], near[1:]
		} else {
			values[at], far = far[0], far[1:]
		}
	}
}
