package a64

import (
	"math/bits"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// This file addresses objects of the collected heap, and makes and compares references.

var objects = backend.Heap{Field: fieldAt, Offset: offset, ObjectOrNull: objectOrNull}

// fieldAt implements backend.Heap.Field.
func fieldAt(l *lower, base, index vreg, scale uint8, disp int32, bytes uint8) amode {
	if disp == 0 && (scale == 0 || 1<<scale == bytes) {
		return backend.Indexed(base, index, scale)
	}
	sum := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, scale)}, base, index, sum)
	if f := plain[bits.Len8(bytes)-1]; !asm.FitsDisp(f.Op, f.Size, disp) {
		return backend.Indexed(sum, l.Temp(int64(disp)), 0)
	}
	return backend.Based(sum, disp)
}

// offset implements backend.Heap.Offset.
func offset(l *lower, size uint8, base, index vreg, log uint8, disp int32) vreg {
	if base == regalloc.NoVReg {
		base, disp = l.Temp(int64(disp)), 0
	}
	sum := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.Add, Size: size, Imm: asm.Shifted(asm.LSL, log)}, base, index, sum)
	if disp == 0 {
		return sum
	}
	far := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.AddImm, Size: size, Imm: int64(disp)}, sum, far)
	return far
}

// objectOrNull implements backend.Heap.ObjectOrNull.
func objectOrNull(l *lower, ref vreg) vreg {
	c := backend.Comparing(backend.Inst{Op: asm.TstImm, Size: 4, Imm: abi.ObjectAlign - 1}, asm.EQ)
	c.Add(ref)
	object := l.NewVReg(clif.I64)
	c.Push(l, backend.TailSelectZero, 0, ref, object)
	return object
}

// compareRefTest returns the comparison of a ref_test of anything but functions.
func compareRefTest(l *lower, d *clif.InstData) comparison {
	t := backend.RefTestOf(l, d)
	if t.Bits != 0 {
		c := backend.Comparing(backend.Inst{Op: asm.TstImm, Size: t.Size, Imm: int64(t.Bits)}, asm.NE)
		c.Add(t.X)
		return c
	}
	if t.Null != regalloc.NoVReg {
		c := backend.Comparing(backend.Inst{Op: asm.CmpImm, Size: 4}, asm.EQ)
		c.Add(t.Null)
		x := l.NewVReg(clif.I32)
		c.Push(l, backend.TailSelect, 0, t.Y, t.X, x)
		t.X = x
	}
	return compareEqual(t.Size, t.X, t.Y)
}

// compareHeapFull returns the comparison of a heap_full.
func compareHeapFull(l *lower, d *clif.InstData) comparison {
	end, room := backend.EndOfStructure(l, d), l.NewVReg(clif.I64)
	f := l.LoadForm(clif.I64, clif.U32)
	l.Access(f.Op, f.Size, backend.EndOfRoom(l), room)
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: 4}, asm.LO)
	c.Add(room, end)
	return c
}

// compareEqual compares whether registers are equal.
func compareEqual(size uint8, x, y vreg) comparison {
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: size}, asm.EQ)
	c.Add(x, y)
	return c
}

// lowerRefI31 appends 2x + 1, in 32 bits.
func lowerRefI31(l *lower, _ clif.Inst, d *clif.InstData) {
	backend.UsesHeap(l)
	twice := l.NewVReg(clif.I64)
	l.Emit(backend.Inst{Op: asm.LslImm, Size: 4, Imm: 1}, l.Low(d.ArgA()), twice)
	l.Emit(backend.Inst{Op: asm.AddImm, Size: 4, Imm: abi.RefTagInt}, twice, l.Def(d, 0))
}

func lowerI31GetS(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.AsrImm, Size: 4, Imm: 1}, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerI31GetU(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.LsrImm, Size: 4, Imm: 1}, l.Use(d.ArgA()), l.Def(d, 0))
}
