package inline

import "github.com/waot-project/waot/clif"

// This file decides what is worth inlining. A call costs the moves of its arguments, the call, the set-up of a frame, the
// saves of registers on both sides and the return: about ten instructions, and the mid-end cannot see across it.

// limits is the largest weight of a body that is inlined, by how many loops are around the call. Outside of
// loops a body must not be larger than the call that it replaces, so that code does not grow.
var limits = [...]int{12, 40, 60}

// maxWeight is the largest of all.
const maxWeight = 60

// callWeight is the weight of a call in a body: with it the function is not a leaf, so that only one of two calls is saved.
const callWeight = 6

// maxDepth bounds how deep calls are inlined in each other, so that a chain of functions that call each other has
// tables of places in proportion to its length.
const maxDepth = 8

// budget is how many instructions may be inlined into f: no function more than doubles, but for small ones.
func budget(f *clif.Func) int { return 200 + len(f.Insts) }

// weightOf is about how many instructions of a machine f needs, and whether it calls. It stops counting once that is too much.
func weightOf(f *clif.Func) (weight int, calls bool) {
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End && weight <= maxWeight; i++ {
			d := &f.Insts[i]
			switch {
			case d.Op == clif.OpBrTable:
				weight += int(d.C)
			case d.Op.Has(clif.Calls):
				weight += callWeight
				calls = true
			case !weightless[d.Op]:
				weight++
			}
		}
	}
	return weight, calls
}

// weightless are the operations that become operands, or nothing.
var weightless = [clif.NumOpcodes]bool{clif.OpNop: true, clif.OpIconst: true, clif.OpUextend: true, clif.OpIreduce: true, clif.OpJump: true, clif.OpReturn: true}

// heat finds out how many loops are around blocks of f, if anybody asks.
type heat struct {
	n     *Inliner
	f     *clif.Func
	known bool
}

// wants reports whether body is worth inlining in block b.
func (h *heat) wants(b clif.Block, body *Body) bool {
	weight := body.weight - len(body.f.Signature().Params)
	if weight <= limits[0] {
		return true
	}
	return weight <= limits[h.loops(b)] && h.f.Insts[h.f.Terminator(b)].Op != clif.OpTrap
}

// loops returns how many loops are around b, at most as many as there are limits for.
func (h *heat) loops(b clif.Block) (depth int) {
	if !h.known {
		h.n.cfg.Compute(h.f)
		h.n.loops.Compute(h.f, &h.n.cfg)
		h.known = true
	}
	for in := h.n.loops.Innermost(b); in != clif.NoBlock && depth < len(limits)-1; in = h.n.loops.Around(in) {
		depth++
	}
	return depth
}
