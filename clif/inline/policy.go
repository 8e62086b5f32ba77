package inline

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// This file decides what is worth inlining. A call costs the moves of its arguments, the call, the set-up of a frame, the
// saves of registers on both sides and the return: about ten instructions, and the mid-end cannot see across it.

// limits is the largest weight of a body that is inlined, by how many loops are around the call. Outside of
// loops a body must not be larger than the call that it replaces, so that code does not grow.
var limits = [...]int{4, 16, 30}

// objectLimits are the limits in modules that have objects: programs of such languages consist of small methods, which are called from loops of other methods.
var objectLimits = [len(limits)]int{16, 24, 30}

// maxRecursiveWeight is that of a function that is inlined in itself.
const maxRecursiveWeight = 40

// maxDeepWeight is what a function may weigh with further levels of itself.
const maxDeepWeight = 80

// maxOnceWeight is that of a function to which nothing refers but this call: its code only moves.
const maxOnceWeight = 130

// maxWeight is the largest of all others.
const maxWeight = 46

// maxEagerWeight is the largest where that does not matter.
const maxEagerWeight = 200

// maxDepth bounds how deep calls are inlined in each other, so that a chain of functions that call each other has
// tables of places in proportion to its length. A function that inlines itself repeats what it has inlined, d deep, in n-d levels
// of a depth of d+1, where n is maxDepth.
const maxDepth = 8

// budget is the size of what may be inlined into f: no function more than doubles, but for small ones.
func budget(f *clif.Func) int { return 200 + len(f.Insts) }

// maxSize is the largest size of what is kept. A body with few instructions may have many parameters.
const maxSize = 1000

// sizeOf is the size of a function's tables, counted in instructions.
func sizeOf(f *clif.Func) int { return len(f.Insts) + len(f.Values)/4 + len(f.Pool)/12 }

// recurs reports whether f, into which body, its own, has been inlined some levels deep, may have another one.
func (n *Inliner) recurs(f *clif.Func, body *Body, levels int) bool {
	if int(body.depth)+levels >= maxDepth {
		return false
	}
	calls := 0
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			if d := &f.Insts[i]; d.Op == clif.OpCall && clif.FuncIndex(d.Aux) == f.Index {
				calls++
			}
		}
	}
	return n.scales.weigh(f)+calls*(body.weight-callWeight) <= maxDeepWeight && sizeOf(f)+calls*body.size <= maxSize
}

// costs is the weight that an inlined body has more than what the call had before it.
func (b *Body) costs() int { return b.weight - len(b.f.Signature().Params) }

// wants reports whether body is worth inlining in the block of f that is at a place in the layout.
func (n *Inliner) wants(f *clif.Func, at int, body *Body) bool {
	if n.Eager {
		return true
	}
	weight := body.costs()
	if body.f.Index == f.Index {
		return weight <= maxRecursiveWeight
	}
	limits := &limits
	if n.Objects {
		limits = &objectLimits
	}
	if weight <= limits[0] {
		return true
	}
	limit := limits[n.heat.of(f, at)]
	if body.once && !n.Lean {
		limit = max(limit, maxOnceWeight)
	}
	return weight <= limit && f.Insts[f.Terminator(f.Layout[at])].Op != clif.OpTrap
}

// heat is how many loops are around blocks, as far as the layout shows it: a loop is from its header, to which an edge
// leads back, to the last block with such an edge. That is right for what the front end makes, and takes little time.
type heat struct {
	known bool
	at    []uint32 // by block: where it is in the layout
	end   []uint32 // by position: where the loop with this header ends
	loops []uint32 // by position: how many loops are around it
}

// of returns how many loops are around a block, at most as many as there are limits for.
func (h *heat) of(f *clif.Func, at int) int {
	if !h.known {
		h.known = true
		h.compute(f)
	}
	return min(int(h.loops[at]), len(limits)-1)
}

func (h *heat) compute(f *clif.Func) {
	h.at = stop.Resize(f.Stop, h.at, len(f.Blocks))
	h.end, h.loops = stop.Zeroed(f.Stop, h.end, len(f.Layout)), stop.Zeroed(f.Stop, h.loops, len(f.Layout)+1)
	for n, b := range f.Layout {
		f.Stop.PollAt(n)
		h.at[b] = uint32(n)
	}
	for n, b := range f.Layout {
		f.Stop.Poll()
		for _, t := range f.TargetsOf(&f.Insts[f.Terminator(b)]) {
			if to := h.at[f.Targets[t].Block]; to <= uint32(n) {
				h.end[to] = uint32(n) + 1
			}
		}
	}
	depth := uint32(0)
	for n := range f.Layout {
		f.Stop.PollAt(n)
		// loops[n] holds the number of loops that end before n, until it is overwritten.
		depth -= h.loops[n]
		if end := h.end[n]; end > 0 {
			depth++
			h.loops[end]++
		}
		h.loops[n] = depth
	}
}
