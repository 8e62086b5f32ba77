package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
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

// indexed is [base + index<<scale + disp], which does not fault.
func indexed(base, index vreg, scale uint8, disp int32) amode {
	return amode{mode: backend.ModeBaseIndex, n: 2, scale: scale, regs: [2]vreg{base, index}, disp: disp, ref: backend.NoFault}
}

// pool is the constant lo, hi of the given width.
func pool(l *lower, lo, hi uint64, bytes uint8) amode {
	return amode{mode: backend.ModeConst, ref: l.PoolConst(lo, hi, bytes)}
}

// set puts the address into in.
func (a *amode) set(in *backend.Inst) {
	in.Mode, in.Scale, in.Disp, in.Ref = a.mode, a.scale, a.disp, a.ref
}

// heap is the address of an access at addr + offset to memory m. The index, an i32, is
// zero-extended in its register, and offset < 2^32: base + index + offset stays in the
// reservation, so the sum must be exact, without wrapping at 32 bits: nothing
// that computes addr is folded. A larger offset is out of bounds whatever the index, as
// 2^32 is.
func heap(l *lower, m uint32, addr clif.Value, offset uint64) amode {
	offset = min(offset, 1<<32)
	if l.F.TypeOf(addr) != clif.I32 {
		panic(backend.Unsupported("64-bit memories are not supported"))
	}
	if m > math.MaxUint8 {
		panic(backend.Unsupported("more than 256 memories are not supported"))
	}
	base := l.MemBase(clif.MemoryIndex(m))
	if c, ok := l.Iconst(addr); ok && c+offset <= math.MaxInt32 && l.Rule("heap_const") {
		return amode{mode: backend.ModeBase, n: 1, regs: [2]vreg{base}, disp: int32(c + offset), ref: m}
	}
	index := l.Use(addr)
	if offset > math.MaxInt32 && l.Rule("heap_far") {
		k, sum := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
		emit(l, backend.Inst{Op: asm.MovImm, Size: 8, Imm: int64(offset)}, k)
		emit(l, backend.Inst{Op: asm.Add, Size: 8}, k, index, sum)
		index, offset = sum, 0
	}
	return amode{mode: backend.ModeBaseIndex, n: 2, regs: [2]vreg{base, index}, disp: int32(offset), ref: m}
}

// sinkable is the address of what v is loaded from, if the instruction being lowered
// may read it there instead, the access being of exactly the given number of bytes
// and of the bank of v's type. The caller must use it.
func sinkable(l *lower, v clif.Value, bytes int) (amode, bool) {
	i, d := l.SinkableLoad(v)
	if d == nil {
		return amode{}, false
	}
	t := l.F.TypeOf(d.Result)
	if d.Access().Bytes(t) != bytes && d.Op == clif.OpLoad || t.Bits() != 8*bytes && d.Op != clif.OpLoad || t == clif.V128 {
		return amode{}, false
	}
	l.Sink(i)
	switch d.Op {
	case clif.OpGlobalGet:
		return global(l, d.Aux), l.Rule("sink_global")
	case clif.OpMemorySize:
		return based(l.MemBase(clif.MemoryIndex(d.Aux)), abi.MemorySizeOffset), l.Rule("sink_memory_size")
	case clif.OpTableSize:
		return based(tableBase(l, d.Aux), abi.TableSizeOffset), l.Rule("sink_table_size")
	}
	return heap(l, d.Aux, d.ArgA(), d.Imm), l.Rule("sink_load")
}

// sinkableFull is sinkable for an operand of the whole of type t, which must be v's own:
// not a zero-extended i32 for an i64, nor a narrow load.
func sinkableFull(l *lower, v clif.Value, t clif.Type) (amode, bool) {
	if l.F.TypeOf(l.Resolve(v)) != t {
		return amode{}, false
	}
	return sinkable(l, v, t.Bits()/8)
}
