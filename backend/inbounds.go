package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// This file finds accesses that are always in bounds: those at a constant address below the memory's minimum, and those that end no further than an earlier
// access with the same address value, if there is one on every path. Memories do not shrink. The earlier access may be folded into a later instruction, but
// not past another access, and is never removed. In memories with guard pages, accesses in bounds have no trap site, and such loads are removed if nothing uses
// them. In memories with explicit checks they need no check.
//
// The result holds only at the place of the access.

// boundsProofs holds what the accesses visited so far prove.
type boundsProofs struct {
	newest []uint32 // by value: the last proof about it + 1, or 0
	list   []boundsProof
	loads  []clif.Inst // that are in bounds by them
}

// boundsProof says that a memory has end bytes from an address on, behind inst in block.
type boundsProof struct {
	inst   clif.Inst
	block  uint32
	memory uint32
	end    uint64
	before uint32 // the one before about the same value + 1
}

// maxProofs is how many proofs about an address are looked at, maxClimb how many dominators.
const maxProofs, maxClimb = 4, 32

func (p *boundsProofs) begin(f *clif.Func) {
	p.newest = stop.Zeroed(f.Stop, p.newest, len(f.Values))
	p.list, p.loads = p.list[:0], p.loads[:0]
}

// surely returns how many bytes memory m has at least.
func (l *Query) surely(m uint32) uint64 { return l.Mod.Memories[m].Min * abi.PageSize }

// endOf returns how many bytes from its address on the access d needs. An offset of 2^32 is out of bounds whatever the address is, and
// sums of an i32 and it do not wrap at 64 bits.
func endOf(d *clif.InstData) uint64 { return min(d.Imm, 1<<32) + uint64(d.Access().Bytes(d.Type)) }

// inBoundsBy returns which instruction shows that the access i in block b of the order, which d describes, is in bounds: NoInst if it surely is, or i if
// it has to show that itself. Accesses are visited in the order of blocks, each once.
func (l *Place) inBoundsBy(i clif.Inst, d *clif.InstData, b uint32) clif.Inst {
	end := endOf(d)
	if x, ok := l.Iconst(d.ArgA()); ok && x+end <= l.surely(d.Aux) {
		return clif.NoInst
	}
	p, v := &l.proofs, l.Resolve(d.ArgA())
	for n, left := p.newest[v], maxProofs; n != 0 && left > 0; n, left = p.list[n-1].before, left-1 {
		if x := &p.list[n-1]; x.memory == d.Aux && x.end >= end && l.dominates(x.block, b) {
			return x.inst
		}
	}
	p.list = append(stop.Room(l.F.Stop, p.list), boundsProof{i, b, d.Aux, end, p.newest[v]})
	p.newest[v] = uint32(len(p.list))
	return i
}

// noteBounds fills inBounds for the access i to a memory without explicit checks.
func (l *Place) noteBounds(i clif.Inst, d *clif.InstData, b uint32) {
	l.inBounds[i] = l.inBoundsBy(i, d, b) != i
	if l.inBounds[i] && d.Op == clif.OpLoad {
		l.proofs.loads = append(stop.Room(l.F.Stop, l.proofs.loads), i)
	}
}

// dropLoads leaves out the loads in bounds that nothing uses. No proof is one of them.
func (l *Place) dropLoads() {
	for n, i := range l.proofs.loads {
		l.F.Stop.PollAt(n)
		l.sunk[i] = l.uses[l.F.Insts[i].Result] == 0
	}
}

// FaultOf returns how the access i to a memory without explicit checks, which d describes, may fault.
func (l *Query) FaultOf(i clif.Inst, d *clif.InstData) Fault {
	if l.inBounds[i] {
		return NoFault
	}
	return MemoryFaults(d.Aux)
}

// dominates reports whether block a of the order dominates b, as far as it is near.
func (l *Place) dominates(a, b uint32) bool {
	if l.flat() {
		return a == b
	}
	for n := 0; b > a && n < maxClimb; n++ {
		b = l.dom.Of(b)
	}
	return a == b
}
