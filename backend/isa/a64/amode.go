package a64

import (
	"math"
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
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
// reservation. The sum must be exact: it is formed in 64 bits, and the 32-bit operation that computes addr is
// folded only if it cannot wrap. A larger offset is out of bounds whatever the index is.
func heap(l *lower, i clif.Inst, d *clif.InstData) amode {
	if p, ok := l.Checked(i, d, farSum); ok {
		return checkedHeap(l, d, &p)
	}
	base := l.HeapBase(d.Aux, d.ArgA())
	a, ok := pendingAddress(l, i, d)
	if !ok {
		a, ok = l.SelectAddress(termAddress, i, d)
	}
	if !ok {
		a = amode{Mode: backend.ModeBaseIndex, N: 2, Regs: [2]vreg{base, 0}}
		if offset := heapOffset(d); offset == 0 {
			a.Regs[1], a.Extend = index(l, d.ArgA())
		} else {
			a.Regs[1] = farIndex(l, offset, d.ArgA(), 0)
		}
	}
	a.Faulting(l.FaultOf(i, d))
	return a
}

// checkedHeap is heap in a memory with explicit checks, whose sums do not wrap at 64 bits.
func checkedHeap(l *lower, d *clif.InstData, p *backend.CheckedPlace) amode {
	if p.Check {
		l.PushCheck(p, asm.Cmp, uint8(asm.HS), plusConst)
	}
	f := plain[bits.Len(uint(access(d)))-1]
	switch {
	case p.Offset == 0:
	case p.Offset <= math.MaxInt16 && asm.FitsDisp(f.Op, f.Size, int32(p.Offset)):
		sum := l.NewVReg(clif.I64)
		l.Emit(backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, 0)}, p.Base, p.Index, sum)
		return backend.Based(sum, int32(p.Offset))
	default:
		p.Index = plusConst(l, p.Index, p.Offset)
	}
	return backend.Indexed(p.Base, p.Index, 0)
}

// plusConst returns a register with x + k.
func plusConst(l *lower, x vreg, k uint64) vreg {
	sum := l.NewVReg(clif.I64)
	if k < 1<<12 {
		l.Emit(backend.Inst{Op: asm.AddImm, Size: 8, Imm: int64(k)}, x, sum)
		return sum
	}
	l.Emit(backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, 0)}, l.Temp(int64(k)), x, sum)
	return sum
}

// farSum returns a register with addr + k.
func farSum(l *lower, addr clif.Value, k uint64) vreg { return plusConst(l, l.Use(addr), k) }

// memory returns the register of the base of the memory of a load or store.
func memory(l *lower, m *match) vreg { return l.HeapBase(m.D.Aux, m.D.ArgA()) }

// pendingAddress returns the address of the access i if it asks for a sum that a later access relies on. The access i must define the
// sum, unless another access in front of it does.
func pendingAddress(l *lower, i clif.Inst, d *clif.InstData) (a amode, ok bool) {
	key, ok := wantsSum(&l.Query, d)
	if !ok {
		return a, false
	}
	sum, ok := l.PendingSum(key)
	if !ok {
		return a, false
	}
	a = sumAddress(l, d, sum)
	if !l.AskedBefore(i, key, wantsSum) {
		l.TakeSum(key)
		defineSum(l, d, sum)
	}
	return a, true
}

// sumAddress returns the address of an access whose sum is in a register.
func sumAddress(l *lower, d *clif.InstData, sum vreg) amode {
	_, disp, _ := sumOf(&l.Query, d)
	return amode{Mode: backend.ModeBase, N: 1, Regs: [2]vreg{sum}, Disp: disp}
}

// addressConst applies RuleHeapConst.
func addressConst(l *lower, m *match) { m.Addr = sumAddress(l, m.D, memory(l, m)) }

// addressShare applies RuleHeapShare.
func addressShare(l *lower, m *match) {
	key, _, _ := sumOf(&l.Query, m.D)
	m.Addr = sumAddress(l, m.D, l.NewSum(key))
}

// addressPending applies RuleHeapShareZero.
func addressPending(l *lower, m *match) {
	key, _, _ := sumOf(&l.Query, m.D)
	sum, _ := l.PendingSum(key)
	m.Addr = sumAddress(l, m.D, sum)
}

// placedAddress returns the address of the access d as the place of its offset in memory, which a loop has in a register, and an index; not ok if
// its displacement does without, or there is no loop. The index is shifted by k.
func placedAddress(l *lower, d *clif.InstData, v clif.Value, k int) (a amode, ok bool) {
	key, _, near := sumOf(&l.Query, d)
	if !near || key.Offset == 0 || key.Index == clif.NoValue {
		return a, false
	}
	far, ok := l.PlaceInFront(key.Mem, heapOffset(d))
	if !ok {
		return a, false
	}
	a = amode{Mode: backend.ModeBaseIndex, N: 2, Regs: [2]vreg{far, 0}, Scale: uint8(k)}
	if k > 0 {
		a.Regs[1] = l.Use(v)
	} else {
		a.Regs[1], a.Extend = index(l, v)
	}
	return a, true
}

// addressSum applies RuleHeapSum.
func addressSum(l *lower, m *match) {
	if a, ok := placedAddress(l, m.D, m.D.ArgA(), 0); ok {
		m.Addr = a
		return
	}
	sum := l.NewVReg(clif.I64)
	m.Addr = sumAddress(l, m.D, sum)
	defineSum(l, m.D, sum)
}

// addressScaledSum applies RuleHeapScaledSum.
func addressScaledSum(l *lower, m *match) {
	if k := amount(clif.I32, m.K); 1<<k == access(m.D) {
		if a, ok := placedAddress(l, m.D, m.X(), k); ok {
			m.Addr = a
			return
		}
	}
	sum := l.NewVReg(clif.I64)
	m.Addr = sumAddress(l, m.D, sum)
	defineScaledSum(l, m.D, m.X(), amount(clif.I32, m.K), sum)
}

// accessScaled reports whether x<<k can be the scaled index of the address: there is no offset, and 1<<k is the width of
// the access.
func accessScaled(m *match) bool {
	return heapOffset(m.D) == 0 && 1<<amount(clif.I32, m.K) == access(m.D)
}

// addressScaled applies RuleHeapScaled.
func addressScaled(l *lower, m *match) {
	m.Addr = amode{Mode: backend.ModeBaseIndex, N: 2, Regs: [2]vreg{memory(l, m), l.Use(m.X())}, Scale: uint8(amount(clif.I32, m.K))}
}

// addressScaledFar applies RuleHeapScaledFar.
func addressScaledFar(l *lower, m *match) {
	m.Addr = amode{Mode: backend.ModeBaseIndex, N: 2}
	m.Addr.Regs = [2]vreg{memory(l, m), farIndex(l, heapOffset(m.D), m.X(), amount(clif.I32, m.K))}
}

// addressConstFar applies RuleHeapConstFar.
func addressConstFar(l *lower, m *match) {
	m.Addr = amode{Mode: backend.ModeBaseIndex, N: 2, Regs: [2]vreg{memory(l, m), l.Temp(int64(unsigned(clif.I32, m.K) + heapOffset(m.D)))}}
}

// farIndex returns a register with offset + index<<k.
func farIndex(l *lower, offset uint64, index clif.Value, k int) vreg {
	sum := l.NewVReg(clif.I64)
	plusIndex(l, l.Temp(int64(offset)), index, k, sum)
	return sum
}

// index returns a register whose low half is the index v, an i32, and the extension that an address then needs, 0 if the upper half
// is zero.
func index(l *lower, v clif.Value) (r vreg, extend uint8) {
	if b, ok := l.Fold(RuleIndexReduce, clif.I32, v, 4); ok {
		return l.Use(b.X()), uint8(asm.UXTW)
	}
	return l.Use(v), 0
}

// plusIndex appends sum = base + index<<k.
func plusIndex(l *lower, base vreg, v clif.Value, k int, sum vreg) {
	r, extend := index(l, v)
	in := backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, uint8(k))}
	if extend != 0 {
		in.Op, in.Imm = asm.AddExt, asm.Extended(asm.Extend(extend), uint8(k))
	}
	l.Emit(in, base, r, sum)
}

// heapOffset returns the offset of a load or store.
func heapOffset(d *clif.InstData) uint64 { return min(d.Imm, 1<<32) }

// access returns the width in bytes of a load or store.
func access(d *clif.InstData) int { return d.Access().Bytes(d.Type) }

// sumOf splits the address of a load or store into a sum of registers, perhaps with a multiple of 4096 that one
// more addition takes, and a displacement; not ok if the offset is too large.
func sumOf(q *query, d *clif.InstData) (key backend.SumKey, disp int32, ok bool) {
	key = backend.SumKey{Mem: clif.MemoryIndex(d.Aux), Index: q.Resolve(d.ArgA())}
	offset := heapOffset(d)
	if c, ok := q.Iconst(d.ArgA()); ok {
		key.Index = clif.NoValue
		offset += c
	}
	const page = 1<<12 - 1
	f := plain[bits.Len(uint(access(d)))-1]
	switch {
	case offset <= math.MaxInt16 && asm.FitsDisp(f.Op, f.Size, int32(offset)):
		return key, int32(offset), true
	case offset < 1<<24 && asm.FitsDisp(f.Op, f.Size, int32(offset&page)):
		key.Offset = uint32(offset &^ page)
		return key, int32(offset & page), true
	}
	return key, 0, false
}

// plain are loads by the logarithm of their width. All accesses of one width allow the same displacements.
var plain = [...]backend.Form{{Op: asm.Ldrb, Size: 4}, {Op: asm.Ldrh, Size: 4}, {Op: asm.Ldr, Size: 4}, {Op: asm.Ldr, Size: 8}, {Op: asm.Fldr, Size: 16}}

// wantsSum returns the sum that a load or store asks for, if it does; see Lower.AskedBefore. An address
// that two accesses use is not scaled.
func wantsSum(q *query, d *clif.InstData) (backend.SumKey, bool) {
	_, fixed := q.Iconst(d.ArgA())
	if !fixed && heapOffset(d) == 0 {
		return backend.SumKey{}, false
	}
	key, _, near := sumOf(q, d)
	return key, near && (!fixed || key.Offset != 0)
}

// defineSum appends the sum that the access d wants.
func defineSum(l *lower, d *clif.InstData, sum vreg) { defineScaledSum(l, d, d.ArgA(), 0, sum) }

// defineScaledSum is defineSum with the address as index<<k.
func defineScaledSum(l *lower, d *clif.InstData, index clif.Value, k int, sum vreg) {
	key, _, _ := sumOf(&l.Query, d)
	base := l.HeapBase(d.Aux, d.ArgA())
	if key.Index != clif.NoValue {
		to := sum
		if key.Offset != 0 {
			to = l.NewVReg(clif.I64)
		}
		plusIndex(l, base, index, k, to)
		base = to
	}
	if key.Offset != 0 {
		l.Emit(backend.Inst{Op: asm.AddImm, Size: 8, Imm: int64(key.Offset)}, base, sum)
	}
}

// loaded returns the address that the folded load reads.
func loaded(l *lower, m *match) amode { return heap(l, m.Load, &l.F.Insts[m.Load]) }
