package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// This file addresses objects of the collected heap, and makes and compares references.

var objects = backend.Heap{Field: fieldAt, Offset: offset, ObjectOrNull: objectOrNull}

// fieldAt implements backend.Heap.Field.
func fieldAt(_ *lower, base, index vreg, scale uint8, disp int32, _ uint8) amode {
	a := backend.Indexed(base, index, scale)
	a.Disp = disp
	return a
}

// offset implements backend.Heap.Offset.
func offset(l *lower, size uint8, base, index vreg, log uint8, disp int32) vreg {
	if log > 3 {
		shifted := l.NewVReg(clif.I64)
		l.Emit(backend.Inst{Op: asm.ShlImm, Size: size, Imm: int64(log)}, index, shifted)
		index, log = shifted, 0
	}
	a := amode{Mode: backend.ModeIndex, N: 1, Scale: log, Regs: [2]vreg{index}}
	if base != regalloc.NoVReg {
		a = backend.Indexed(base, index, log)
	}
	a.Disp = disp
	sum := l.NewVReg(clif.I64)
	l.Access(asm.Lea, size, a, sum)
	return sum
}

// objectOrNull implements backend.Heap.ObjectOrNull.
func objectOrNull(l *lower, ref vreg) vreg {
	c := backend.Comparing(backend.Inst{Op: asm.TestImm, Size: 4, Imm: abi.ObjectAlign - 1}, asm.E)
	c.Add(ref)
	object := l.NewVReg(clif.I64)
	selectInto(l, c, ref, l.Temp(0), object)
	return object
}

// compareRefTest returns the comparison of a ref_test of anything but functions.
func compareRefTest(l *lower, d *clif.InstData) comparison {
	t := backend.RefTestOf(l, d)
	if t.Bits != 0 {
		c := backend.Comparing(backend.Inst{Op: asm.TestImm, Size: t.Size, Imm: int64(t.Bits)}, asm.NE)
		c.Add(t.X)
		return c
	}
	if t.Null != regalloc.NoVReg {
		c := backend.Comparing(backend.Inst{Op: asm.Test, Size: 4}, asm.E)
		c.Add(t.Null, t.Null)
		x := l.NewVReg(clif.I32)
		selectInto(l, c, t.Y, t.X, x)
		t.X = x
	}
	return compareEqual(t.Size, t.X, t.Y)
}

// compareHeapFull returns the comparison of a heap_full.
func compareHeapFull(l *lower, d *clif.InstData) comparison {
	end := backend.EndOfStructure(l, d)
	c := backend.Comparing(backend.Inst{Op: asm.CmpMem, Size: 4}, asm.B)
	c.Address(backend.EndOfRoom(l))
	c.Add(end)
	return c
}

// compareEqual compares whether registers are equal.
func compareEqual(size uint8, x, y vreg) comparison {
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: size}, asm.E)
	c.Add(x, y)
	return c
}

// lowerRefI31 appends 2x + 1, in 32 bits.
func lowerRefI31(l *lower, _ clif.Inst, d *clif.InstData) {
	backend.UsesHeap(l)
	x := l.Low(d.ArgA())
	a := backend.Indexed(x, x, 0)
	a.Disp = abi.RefTagInt
	l.Access(asm.Lea, 4, a, l.Def(d, 0))
}

func lowerI31GetS(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.SarImm, Size: 4, Imm: 1}, l.Use(d.ArgA()), l.Def(d, 0))
}

func lowerI31GetU(l *lower, _ clif.Inst, d *clif.InstData) {
	l.Emit(backend.Inst{Op: asm.ShrImm, Size: 4, Imm: 1}, l.Use(d.ArgA()), l.Def(d, 0))
}
