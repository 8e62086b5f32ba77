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
)

// amode is a memory operand.
type amode struct {
	mode  backend.Mode
	scale uint8
	n     uint8 // how many of regs
	disp  int32
	ref   uint32
	regs  [2]vreg
}

// sym is the operand at offset off of the instance data.
func sym(off uint32) amode {
	return amode{mode: backend.ModeSym, disp: int32(off), ref: uint32(backend.SymInstance)}
}

// based is [base + disp], which does not fault.
func based(base vreg, disp int32) amode {
	return amode{mode: backend.ModeBase, n: 1, regs: [2]vreg{base}, disp: disp, ref: backend.NoFault}
}

// indexed is [base + index<<scale], which does not fault. Scale is 0 or the logarithm of the width
// of the access.
func indexed(base, index vreg, scale uint8) amode {
	return amode{mode: backend.ModeBaseIndex, n: 2, scale: scale, regs: [2]vreg{base, index}, ref: backend.NoFault}
}

// pool is the constant lo, hi of the given width.
func pool(l *lower, lo, hi uint64, bytes uint8) amode {
	return amode{mode: backend.ModeConst, ref: l.PoolConst(lo, hi, bytes)}
}

// set puts the address into in.
func (a *amode) set(in *backend.Inst) {
	in.Mode, in.Scale, in.Disp, in.Ref = a.mode, a.scale, a.disp, a.ref
}

// reach makes a displacement that op cannot have an index.
func (a *amode) reach(l *lower, op backend.Op, size uint8) {
	if a.mode != backend.ModeBase || asm.FitsDisp(op, size, a.disp) {
		return
	}
	a.mode, a.n, a.regs[1], a.disp = backend.ModeBaseIndex, 2, temp(l, int64(a.disp)), 0
}

// heap is the address of access i, an instruction of the form f, at addr + offset in a memory. The index, an i32, is
// zero-extended in its register, and offset < 2^32: base + index + offset stays in the
// reservation, so the sum must be exact: formed in 64 bits, without folding what computes addr in 32
// bits, unless that cannot wrap. A larger offset is out of bounds whatever the index, as 2^32 is.
func heap(l *lower, i clif.Inst, d *clif.InstData, f loadForm) amode {
	m, addr, offset := d.Aux, d.ArgA(), heapOffset(d)
	if l.F.TypeOf(addr) != clif.I32 {
		panic(backend.Unsupported("64-bit memories are not supported"))
	}
	if m > math.MaxUint8 {
		panic(backend.Unsupported("more than 256 memories are not supported"))
	}
	base := l.MemBase(clif.MemoryIndex(m))
	a := amode{mode: backend.ModeBase, n: 1, regs: [2]vreg{base}, ref: m}
	key, low, near := sumOf(l, d)
	index, k := addr, 0
	if key.Index != clif.NoValue {
		index, k = scaled(l, addr)
	}
	switch {
	case near && key.Index == clif.NoValue && key.Offset == 0 && l.Rule("heap_const"):
		a.disp = low
	case near && k != 0 && !(offset == 0 && 1<<k == access(d)):
		l.Rule("heap_scaled_sum")
		a.regs[0], a.disp = l.NewVReg(clif.I64), low
		defineSum(l, key, base, index, k, a.regs[0])
	case near && k == 0 && (offset != 0 || key.Index == clif.NoValue):
		sum, define := l.SharedSum(i, key, wanted)
		if a.regs[0], a.disp = sum, low; define {
			defineSum(l, key, base, index, 0, sum)
		} else {
			l.Rule("heap_share")
		}
	case near: // no offset
		if sum, ok := l.PendingSum(key); ok && l.Rule("heap_share_zero") {
			a.regs[0] = sum
			break
		}
		a.mode, a.n, a.regs[1], a.scale = backend.ModeBaseIndex, 2, l.Use(index), uint8(k)
		if k != 0 {
			l.Rule("heap_scaled")
		}
	case key.Index == clif.NoValue && l.Rule("heap_const_far"):
		c, _ := l.Iconst(addr)
		a.mode, a.n, a.regs[1] = backend.ModeBaseIndex, 2, temp(l, int64(c+offset))
	default:
		l.Rule("heap_far")
		a.mode, a.n, a.regs[1] = backend.ModeBaseIndex, 2, l.NewVReg(clif.I64)
		emit(l, backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, uint8(k))}, temp(l, int64(offset)), l.Use(index), a.regs[1])
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
	case offset <= math.MaxInt16 && asm.FitsDisp(f.op, f.size, int32(offset)):
		return key, int32(offset), true
	case offset < 1<<24 && asm.FitsDisp(f.op, f.size, int32(offset&page)):
		key.Offset = uint32(offset &^ page)
		return key, int32(offset & page), true
	}
	return key, 0, false
}

// plain are loads by the logarithm of their width: all accesses of a width have the same displacements.
var plain = [...]loadForm{{asm.Ldrb, 4}, {asm.Ldrh, 4}, {asm.Ldr, 4}, {asm.Ldr, 8}, {asm.Fldr, 16}}

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
		emit(l, backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, uint8(k))}, base, l.Use(index), to)
		base = to
	}
	if key.Offset != 0 {
		l.Rule("heap_page")
		emit(l, backend.Inst{Op: asm.AddImm, Size: 8, Imm: int64(key.Offset)}, base, sum)
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
		_, y := constLast(l, d.ArgA(), d.ArgB())
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
