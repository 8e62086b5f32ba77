package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

type (
	lower = backend.Emit
	query = backend.Query
	vreg  = regalloc.VReg

	amode      = backend.Address
	comparison = backend.Comparison
	match      = backend.Match
)

// heap implements backend.Target.Memory: addr + offset in a memory. The index, an i32, is
// zero-extended in its register, and offset < 2^32, so base + index + offset stays in the
// reservation. The sum must be exact, without wrapping at 32 bits, so an instruction
// that computes addr is folded only if it surely does not wrap. A larger offset is out of bounds whatever the index is.
func heap(l *lower, i clif.Inst, d *clif.InstData) amode {
	if p, ok := l.Checked(i, d, farSum); ok {
		return checkedHeap(l, &p)
	}
	base := l.HeapBase(d.Aux, d.ArgA())
	a, ok := l.SelectAddress(termAddress, i, d)
	if !ok {
		index, offset := l.Use(d.ArgA()), heapOffset(d)
		if offset > math.MaxInt32 {
			index, offset = plusConst(l, index, offset), 0
		}
		a = amode{Mode: backend.ModeBaseIndex, N: 2, Disp: int32(offset)}
		a.Regs[1] = index
	}
	a.Regs[0] = base
	a.Faulting(l.FaultOf(i, d))
	return a
}

// checkedHeap is heap in a memory with explicit checks, whose sums do not wrap at 64 bits.
func checkedHeap(l *lower, p *backend.CheckedPlace) amode {
	if p.Check {
		l.PushCheck(p, asm.Cmp, uint8(asm.AE), plusConst)
	}
	if p.Offset > math.MaxInt32 {
		p.Index, p.Offset = plusConst(l, p.Index, p.Offset), 0
	}
	return amode{Mode: backend.ModeBaseIndex, N: 2, Disp: int32(p.Offset), Regs: [2]vreg{p.Base, p.Index}}
}

// plusConst returns a register with x + k.
func plusConst(l *lower, x vreg, k uint64) vreg {
	if k <= math.MaxInt32 {
		sum := l.NewVReg(clif.I64)
		l.Access(asm.Lea, 8, backend.Based(x, int32(k)), sum)
		return sum
	}
	far, sum := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.MovImm, Size: 8, Imm: int64(k)}, far)
	l.Emit(backend.Inst{Op: asm.Add, Size: 8}, far, x, sum)
	return sum
}

// farSum returns a register with addr + k.
func farSum(l *lower, addr clif.Value, k uint64) vreg { return plusConst(l, l.Use(addr), k) }

// addressConst applies RuleHeapConst.
func addressConst(_ *lower, m *match) {
	m.Addr = amode{Mode: backend.ModeBase, N: 1, Disp: int32(uint64(uint32(m.K)) + heapOffset(m.D))}
}

// addressIndexed gives x, shifted by j, plus k, as far as the rule has them.
func addressIndexed(l *lower, m *match) {
	m.Addr = amode{Mode: backend.ModeBaseIndex, N: 2, Scale: uint8(amount(m.T, m.J)), Disp: int32(m.K + int64(heapOffset(m.D)))}
	m.Addr.Regs[1] = l.Use(m.X())
}

// loaded returns the address that the folded load reads.
func loaded(l *lower, m *match) amode { return loadedAt(l, m.Load) }

// loadedAt returns the address that a load reads.
func loadedAt(l *lower, i clif.Inst) amode {
	d := &l.F.Insts[i]
	switch d.Op {
	case clif.OpGlobalGet:
		return l.Global(d.Aux)
	case clif.OpMemorySize:
		return l.MemorySize(d.Aux)
	case clif.OpTableSize:
		return l.TableSize(d.Aux)
	}
	return heap(l, i, d)
}
