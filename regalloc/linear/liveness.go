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
	nb := len(lv.in.Blocks)
	lv.liveInEnd = stop.Resize(lv.in.Stop, lv.liveInEnd, nb)
	clear(lv.liveInEnd)
	for _, p := range lv.found {
		lv.in.Stop.Poll()
		lv.liveInEnd[p.block]++
	}
	sum := uint32(0)
	for b, n := range lv.liveInEnd {
		lv.liveInEnd[b] = sum
		sum += n
	}
	lv.liveIn = stop.Resize(lv.in.Stop, lv.liveIn, len(lv.found))
	for _, p := range lv.found {
		lv.in.Stop.Poll()
		lv.liveIn[lv.liveInEnd[p.block]] = p.vreg
		lv.liveInEnd[p.block]++
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

// propagate finds the blocks that each value with global uses is live into.
func (lv *liveness) propagate() error {
	in := lv.in
	lv.found = lv.found[:0]
	limit := lv.maxLive()
	seen := lv.lastBlock // by block from here on
	for b := range in.Blocks {
		seen[b] = none
	}
	for v, g := range lv.globalOf {
		in.Stop.PollAt(v)
		def := lv.vregs[v].defBlock
		for ; g != none; g = lv.global[g].next {
			lv.work = lv.work[:0]
			for b := lv.global[g].block; ; {
				in.Stop.Poll()
				if seen[b] == uint32(v) || b == def {
					if len(lv.work) == 0 {
						break
					}
					b = lv.work[len(lv.work)-1]
					lv.work = lv.work[:len(lv.work)-1]
					continue
				}
				if b == 0 {
					return fail(Undefined, none, uint32(v))
				}
				seen[b] = uint32(v)
				if len(lv.found) >= limit {
					return fail(TooLarge, none, uint32(v))
				}
				lv.found = stop.Append(lv.in.Stop, lv.found, livePair{uint32(v), b})
				preds := in.PredsOf(regalloc.Block(b))
				for _, p := range preds[1:] {
					if seen[p] != uint32(v) && uint32(p) != def {
						lv.work = append(lv.work, uint32(p))
					}
				}
				b = uint32(preds[0])
			}
		}
	}
	return nil
}
