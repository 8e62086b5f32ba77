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
	lower = backend.Lower
	vreg  = regalloc.VReg

	amode      = backend.Address
	comparison = backend.Comparison
)

// heap is backend.Target.Heap: addr + offset in a memory. The index, an i32, is
// zero-extended in its register, and offset < 2^32: base + index + offset stays in the
// reservation, so the sum must be exact: formed in 64 bits, without folding what computes addr in 32
// bits, unless that cannot wrap. A larger offset is out of bounds whatever the index, as 2^32 is.
func heap(l *lower, i clif.Inst, d *clif.InstData) amode {
	m, addr, offset := d.Aux, d.ArgA(), heapOffset(d)
	base := l.HeapBase(m, addr)
	a := amode{Mode: backend.ModeBase, N: 1, Regs: [2]vreg{base}, Ref: m}
	key, low, near := sumOf(l, d)
	index, k := addr, 0
	if key.Index != clif.NoValue {
		index, k = scaled(l, addr)
	}
	switch {
	case near && key.Index == clif.NoValue && key.Offset == 0 && l.Rule("heap_const"):
		a.Disp = low
	case near && k != 0 && !(offset == 0 && 1<<k == access(d)):
		l.Rule("heap_scaled_sum")
		a.Regs[0], a.Disp = l.NewVReg(clif.I64), low
		defineSum(l, key, base, index, k, a.Regs[0])
	case near && k == 0 && (offset != 0 || key.Index == clif.NoValue):
		sum, define := l.SharedSum(i, key, wanted)
		if a.Regs[0], a.Disp = sum, low; define {
			defineSum(l, key, base, index, 0, sum)
		} else {
			l.Rule("heap_share")
		}
	case near: // no offset
		if sum, ok := l.PendingSum(key); ok && l.Rule("heap_share_zero") {
			a.Regs[0] = sum
			break
		}
		a.Mode, a.N, a.Regs[1], a.Scale = backend.ModeBaseIndex, 2, l.Use(index), uint8(k)
		if k != 0 {
			l.Rule("heap_scaled")
		}
	case key.Index == clif.NoValue && l.Rule("heap_const_far"):
		c, _ := l.Iconst(addr)
		a.Mode, a.N, a.Regs[1] = backend.ModeBaseIndex, 2, l.Temp(int64(c+offset))
	default:
		l.Rule("heap_far")
		a.Mode, a.N, a.Regs[1] = backend.ModeBaseIndex, 2, l.NewVReg(clif.I64)
		l.Emit(backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, uint8(k))}, l.Temp(int64(offset)), l.Use(index), a.Regs[1])
	}
	return a
}

// heapOffset is the offset of a load or store.
func heapOffset(d *clif.InstData) uint64 { return min(d.Imm, 1<<32) }

// access is the width in bytes of a load or store.
func access(d *clif.InstData) int { return d.Access().Bytes(d.Type) }

// sumOf splits the address of a load or store into a sum of registers, perhaps with a multiple of 4096 that one
// more addition takes, and a displacement; not ok if the offset is too large.
func sumOf(l *lower, d *clif.InstData) (key backend.SumKey, disp int32, ok bool) {
	key = backend.SumKey{Mem: clif.MemoryIndex(d.Aux), Index: l.Resolve(d.ArgA())}
	offset := heapOffset(d)
	if c, ok := l.Iconst(d.ArgA()); ok {
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

// plain are loads by the logarithm of their width: all accesses of a width have the same displacements.
var plain = [...]backend.Form{{Op: asm.Ldrb, Size: 4}, {Op: asm.Ldrh, Size: 4}, {Op: asm.Ldr, Size: 4}, {Op: asm.Ldr, Size: 8}, {Op: asm.Fldr, Size: 16}}

// wanted is the sum that a load or store asks for, if it does; see Lower.SharedSum. An address
// that two accesses use is not scaled.
func wanted(l *lower, d *clif.InstData) (backend.SumKey, bool) {
	key, _, near := sumOf(l, d)
	if key.Index == clif.NoValue {
		return key, near && key.Offset != 0
	}
	return key, near && heapOffset(d) != 0
}

// defineSum appends sum = base + index<<k + offset.
func defineSum(l *lower, key backend.SumKey, base vreg, index clif.Value, k int, sum vreg) {
	if key.Index != clif.NoValue {
		to := sum
		if key.Offset != 0 {
			to = l.NewVReg(clif.I64)
		}
		l.Emit(backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, uint8(k))}, base, l.Use(index), to)
		base = to
	}
	if key.Offset != 0 {
		l.Rule("heap_page")
		l.Emit(backend.Inst{Op: asm.AddImm, Size: 8, Imm: int64(key.Offset)}, base, sum)
	}
}

// scaled is what addr, an i32, is a shift left of, by how much, if the shift loses no bits.
func scaled(l *lower, addr clif.Value) (clif.Value, int) {
	x, k, ok := shiftedBy(l, addr, clif.OpIshl, clif.I32)
	if !ok || k+maxBits(l, x) > 32 {
		return addr, 0
	}
	return x, k
}

// maxBits bounds the number of bits that the i32 v can have.
func maxBits(l *lower, v clif.Value) int {
	if l.F.TypeOf(l.Resolve(v)) != clif.I32 {
		return 64
	}
	_, d := l.DefInst(v)
	if d == nil {
		return 32
	}
	switch d.Op {
	case clif.OpLoad:
		if a := d.Access(); a == clif.U8 || a == clif.U16 {
			return 8 * a.Bytes(d.Type)
		}
	case clif.OpBand:
		_, y := l.ConstLast(d.ArgA(), d.ArgB())
		if m, ok := l.Iconst(y); ok {
			return bits.Len64(m)
		}
	case clif.OpUshr:
		if k, ok := amount(l, d.Type, d.ArgB()); ok {
			return 32 - k
		}
	case clif.OpIcmp, clif.OpFcmp, clif.OpRefIsNull:
		return 1
	}
	return 32
}

// sinkable is the load of v, if the instruction being lowered may do it instead, the access being of exactly
// the given number of bytes. The caller must use it.
func sinkable(l *lower, v clif.Value, bytes int) (clif.Inst, *clif.InstData) {
	i, d := l.SinkableLoad(v)
	if d == nil || d.Op != clif.OpLoad || access(d) != bytes || d.Type == clif.V128 {
		return clif.NoInst, nil
	}
	l.Sink(i)
	return i, d
}
