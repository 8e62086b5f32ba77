package linear

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// liveness is the values live into each block, found by walking from each use
// up to the definition (Boissinot et al., computing liveness sets for SSA-form
// programs, 2011). This needs no fixpoint, is right for any graph in any
// order, and costs time and memory proportional to the result.
type liveness struct {
	function
	liveIn    []uint32 // values, block after block
	liveInEnd []uint32 // by block

	global    []globalUse
	globalOf  []uint32 // first global use of each value
	lastBlock []uint32 // by value: block of the latest use; by block: latest value
	found     []livePair
	work      []uint32
}

// globalUse is a use in a block other than that of the definition.
type globalUse struct{ block, next uint32 }

type livePair struct{ vreg, block uint32 }

// liveInto returns the values live into b, parameters excepted.
func (lv *liveness) liveInto(b uint32) []uint32 {
	start := uint32(0)
	if b > 0 {
		start = lv.liveInEnd[b-1]
	}
	return lv.liveIn[start:lv.liveInEnd[b]]
}

// find finds the values live into the blocks of fn, and where and how often its values are
// defined and used.
func (lv *liveness) find(fn function) error {
	lv.function = fn
	lv.scanUses()
	if err := lv.propagate(); err != nil {
		return err
	}
	// Sort the pairs by block, stably.
	sum := uint32(0)
	for b, n := range lv.liveInEnd {
		lv.liveInEnd[b] = sum
		sum += n
	}
	lv.liveIn = stop.Resize(lv.in.Stop, lv.liveIn, len(lv.found))
	values, next := lv.liveIn, lv.liveInEnd
	for k, p := range lv.found {
		lv.in.Stop.PollAt(k)
		at := &next[p.block]
		values[*at] = p.vreg
		*at++
	}
	return nil
}

// scanUses notes definitions, the loop depth of uses, and the uses outside the
// block of the definition. A definition in the same block is always seen
// before the use.
func (lv *liveness) scanUses() {
	in := lv.in
	lv.global = lv.global[:0]
	lv.globalOf = stop.Resize(lv.in.Stop, lv.globalOf, len(in.VRegs))
	lv.lastBlock = stop.Resize(lv.in.Stop, lv.lastBlock, max(len(in.VRegs), len(in.Blocks)))
	for v := range lv.globalOf {
		lv.globalOf[v], lv.lastBlock[v] = none, none
	}
	op := uint32(0)
	for b := range uint32(len(in.Blocks)) {
		info := &in.Blocks[b]
		depth := uint8(min(info.LoopDepth, 255))
		for k, p := range in.ParamsOf(regalloc.Block(b)) {
			lv.vregs[p].defBlock, lv.vregs[p].index = b, uint32(k)
			lv.vregs[p].flags |= isParam
		}
		for i := info.Insts.Start; i < info.Insts.End; i++ {
			in.Stop.PollAt(int(i))
			lv.instBlock[i] = b
			end := in.Insts[i].OperandEnd
			for _, o := range in.Operands[op:end] {
				if o.Access.Defines() {
					lv.vregs[o.VReg].defBlock, lv.vregs[o.VReg].defInst = b, i
					if o.Constraint == regalloc.FixedArg {
						lv.vregs[o.VReg].flags |= isArg
					}
				} else {
					lv.noteUse(uint32(o.VReg), b, depth)
				}
			}
			op = end
		}
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			for _, v := range in.ArgsOf(e) {
				lv.noteUse(uint32(v), b, depth)
			}
		}
	}
}

func (lv *liveness) noteUse(v, b uint32, depth uint8) {
	vr := &lv.vregs[v]
	vr.depth = max(vr.depth, depth)
	vr.weight += float32(lv.freq[b])
	if vr.defBlock == b || lv.lastBlock[v] == b {
		return
	}
	lv.lastBlock[v] = b
	lv.global = stop.Append(lv.in.Stop, lv.global, globalUse{b, lv.globalOf[v]})
	lv.globalOf[v] = uint32(len(lv.global) - 1)
}

// A function may be small and have many values that are live through many
// blocks: their product takes memory here, in claims and in stack maps. The largest real
// functions (of Go's compiler and SQLite, among 31,000) have 135,000 pairs of value and block,
// and never more than 30 for an instruction.
const (
	maxPairs        = 1 << 21
	maxPairsPerInst = 64
)

// maxLive returns the greatest accepted number of pairs of a value and a place where it is live.
func (fn *function) maxLive() int { return maxPairs + maxPairsPerInst*len(fn.in.Insts) }

// propagate finds the blocks that each value with global uses is live into, and counts the values of each block in liveInEnd.
func (lv *liveness) propagate() error {
	in, global := lv.in, lv.global
	found, work, limit := lv.found[:0], lv.work[:0], lv.maxLive()
	lv.liveInEnd = stop.Zeroed(in.Stop, lv.liveInEnd, len(in.Blocks))
	seen, count := lv.lastBlock[:len(in.Blocks)], lv.liveInEnd // seen is by block from here on
	for b := range seen {
		seen[b] = none
	}
	for value, g := range lv.globalOf {
		in.Stop.PollAt(value)
		v := uint32(value)
		for ; g != none; g = global[g].next {
			def := lv.vregs[v].defBlock
			for b := global[g].block; ; {
				if seen[b] == v || b == def {
					n := len(work)
					if n == 0 {
						break
					}
					b, work = work[n-1], work[:n-1]
					continue
				}
				if len(found) >= limit {
					return fail(TooLarge, none, v)
				}
				in.Stop.PollAt(len(found))
				seen[b] = v
				count[b]++
				found = append(stop.Room(in.Stop, found), livePair{v, b})
				preds := in.PredsOf(regalloc.Block(b))
				if len(preds) == 0 { // b is the entry
					return fail(Undefined, none, v)
				}
				b = uint32(preds[0])
				if len(preds) > 1 {
					work = others(work, preds, seen, v, def)
				}
			}
		}
	}
	lv.found, lv.work = found, work
	return nil
}

// others appends the predecessors behind the first that are not seen, nor the definition's block.
func others(work []uint32, preds []regalloc.Block, seen []uint32, v, def uint32) []uint32 {
	for _, p := range preds[1:] {
		if seen[p] != v && uint32(p) != def {
			work = append(work, uint32(p))
		}
	}
	return work
}
