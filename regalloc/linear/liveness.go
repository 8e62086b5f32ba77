package linear

import (
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// liveness is the values live into each block, found by walking from each use
// up to the definition (Boissinot et al., computing liveness sets for SSA-form
// programs, 2011). This needs no fixpoint, is right for any graph in any
// order, and costs time and memory proportional to the result.
type liveness struct {
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
func (a *Allocator) liveInto(b uint32) []uint32 {
	start := uint32(0)
	if b > 0 {
		start = a.liveInEnd[b-1]
	}
	return a.liveIn[start:a.liveInEnd[b]]
}

func (a *Allocator) findLiveness() error {
	a.scanUses()
	if err := a.propagate(); err != nil {
		return err
	}
	// Sort the pairs by block, stably.
	nb := len(a.in.Blocks)
	a.liveInEnd = stop.Resize(a.in.Stop, a.liveInEnd, nb)
	clear(a.liveInEnd)
	for _, p := range a.found {
		a.in.Stop.Poll()
		a.liveInEnd[p.block]++
	}
	sum := uint32(0)
	for b, n := range a.liveInEnd {
		a.liveInEnd[b] = sum
		sum += n
	}
	a.liveIn = stop.Resize(a.in.Stop, a.liveIn, len(a.found))
	for _, p := range a.found {
		a.in.Stop.Poll()
		a.liveIn[a.liveInEnd[p.block]] = p.vreg
		a.liveInEnd[p.block]++
	}
	return nil
}

// scanUses notes definitions, the loop depth of uses, and the uses outside the
// block of the definition. A definition in the same block is always seen
// before the use.
func (a *Allocator) scanUses() {
	in := a.in
	a.global = a.global[:0]
	a.globalOf = stop.Resize(a.in.Stop, a.globalOf, len(in.VRegs))
	a.lastBlock = stop.Resize(a.in.Stop, a.lastBlock, max(len(in.VRegs), len(in.Blocks)))
	for v := range a.globalOf {
		a.globalOf[v], a.lastBlock[v] = none, none
	}
	op := uint32(0)
	for b := range uint32(len(in.Blocks)) {
		info := &in.Blocks[b]
		depth := uint8(min(info.LoopDepth, 255))
		for k, p := range in.ParamsOf(regalloc.Block(b)) {
			a.vregs[p].defBlock, a.vregs[p].index = b, uint32(k)
			a.vregs[p].flags |= isParam
		}
		for i := info.Insts.Start; i < info.Insts.End; i++ {
			in.Stop.PollAt(int(i))
			a.instBlock[i] = b
			end := in.Insts[i].OperandEnd
			for _, o := range in.Operands[op:end] {
				if o.Access.Defines() {
					a.vregs[o.VReg].defBlock, a.vregs[o.VReg].defInst = b, i
					if o.Constraint == regalloc.FixedArg {
						a.vregs[o.VReg].flags |= isArg
					}
				} else {
					a.noteUse(uint32(o.VReg), b, depth)
				}
			}
			op = end
		}
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			for _, v := range in.ArgsOf(e) {
				a.noteUse(uint32(v), b, depth)
			}
		}
	}
}

func (a *Allocator) noteUse(v, b uint32, depth uint8) {
	vr := &a.vregs[v]
	vr.depth = max(vr.depth, depth)
	vr.weight += float32(a.freq[b])
	if vr.defBlock == b || a.lastBlock[v] == b {
		return
	}
	a.lastBlock[v] = b
	a.global = stop.Append(a.in.Stop, a.global, globalUse{b, a.globalOf[v]})
	a.globalOf[v] = uint32(len(a.global) - 1)
}

// A function may be small and have many values that are live through many
// blocks: their product takes memory here, in claims and in stack maps. The largest real
// functions (of Go's compiler and SQLite, among 31,000) have 135,000 pairs of value and block,
// and never more than 30 for an instruction.
const (
	maxPairs        = 1 << 21
	maxPairsPerInst = 64
)

// maxLive is how many pairs of a value and a place where it is live are accepted.
func (a *Allocator) maxLive() int { return maxPairs + maxPairsPerInst*len(a.in.Insts) }

// propagate finds the blocks that each value with global uses is live into.
func (a *Allocator) propagate() error {
	in := a.in
	a.found = a.found[:0]
	limit := a.maxLive()
	seen := a.lastBlock // by block from here on
	for b := range in.Blocks {
		seen[b] = none
	}
	for v, g := range a.globalOf {
		in.Stop.PollAt(v)
		def := a.vregs[v].defBlock
		for ; g != none; g = a.global[g].next {
			a.work = append(a.work[:0], a.global[g].block)
			for len(a.work) > 0 {
				in.Stop.Poll()
				b := a.work[len(a.work)-1]
				a.work = a.work[:len(a.work)-1]
				if seen[b] == uint32(v) || b == def {
					continue
				}
				if b == 0 {
					return fail(Undefined, none, uint32(v))
				}
				seen[b] = uint32(v)
				if len(a.found) >= limit {
					return fail(TooLarge, none, uint32(v))
				}
				if n := len(a.found); n == cap(a.found) {
					a.found = slices.Grow(a.found, max(n, 64)) // append would grow by less
				}
				a.found = stop.Append(a.in.Stop, a.found, livePair{uint32(v), b})
				for _, p := range in.PredsOf(regalloc.Block(b)) {
					if seen[p] != uint32(v) && uint32(p) != def {
						a.work = append(a.work, uint32(p))
					}
				}
			}
		}
	}
	return nil
}
