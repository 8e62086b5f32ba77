package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
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
// reservation, so the sum must be exact, without wrapping at 32 bits: nothing
// that computes addr is folded. A larger offset is out of bounds whatever the index, as
// 2^32 is.
func heap(l *lower, _ clif.Inst, d *clif.InstData) amode {
	m, addr, offset := d.Aux, d.ArgA(), min(d.Imm, 1<<32)
	base := l.HeapBase(m, addr)
	if c, ok := l.Iconst(addr); ok && c+offset <= math.MaxInt32 && l.Rule("heap_const") {
		return amode{Mode: backend.ModeBase, N: 1, Regs: [2]vreg{base}, Disp: int32(c + offset), Ref: m}
	}
	index := l.Use(addr)
	if offset > math.MaxInt32 && l.Rule("heap_far") {
		k, sum := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
		l.Emit(backend.Inst{Op: asm.MovImm, Size: 8, Imm: int64(offset)}, k)
		l.Emit(backend.Inst{Op: asm.Add, Size: 8}, k, index, sum)
		index, offset = sum, 0
	}
	return amode{Mode: backend.ModeBaseIndex, N: 2, Regs: [2]vreg{base, index}, Disp: int32(offset), Ref: m}
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
		return l.Global(d.Aux), l.Rule("sink_global")
	case clif.OpMemorySize:
		return l.MemorySize(d.Aux), l.Rule("sink_memory_size")
	case clif.OpTableSize:
		return l.TableSize(d.Aux), l.Rule("sink_table_size")
	}
	return heap(l, i, d), l.Rule("sink_load")
}

// sinkableFull is sinkable for an operand of the whole of type t, which must be v's own:
// not a zero-extended i32 for an i64, nor a narrow load.
func sinkableFull(l *lower, v clif.Value, t clif.Type) (amode, bool) {
	if l.F.TypeOf(l.Resolve(v)) != t {
		return amode{}, false
	}
	return sinkable(l, v, t.Bits()/8)
}
