package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// This file addresses objects of the collected heap, and makes and compares references.

var objects = backend.Heap{Field: fieldAt, Element: elementOffset, Pointer: pointer, ArraySize: arraySize, ObjectOrNull: objectOrNull}

// fieldAt implements backend.Heap.Field.
func fieldAt(_ *lower, base, index vreg, scale uint8, disp int32, _ uint8) amode {
	a := backend.Indexed(base, index, scale)
	a.Disp = disp
	return a
}

// elementOffset implements backend.Heap.Element.
func elementOffset(l *lower, ref vreg, index clif.Value, log uint8, disp uint32) vreg {
	i := l.Use(index)
	if log > 3 {
		shifted := l.NewVReg(clif.I64)
		l.Emit(backend.Inst{Op: asm.ShlImm, Size: 4, Imm: int64(log)}, i, shifted)
		i, log = shifted, 0
	}
	a := backend.Indexed(ref, i, log)
	a.Disp = int32(disp)
	offset := l.NewVReg(clif.I64)
	l.Access(asm.Lea, 4, a, offset)
	return offset
}

// pointer implements backend.Heap.Pointer.
func pointer(l *lower, base, offset vreg) vreg {
	p := l.NewVReg(clif.I64)
	l.Access(asm.Lea, 8, backend.Indexed(base, offset, 0), p)
	return p
}

// arraySize implements backend.Heap.ArraySize.
func arraySize(l *lower, n vreg, log uint8, fixed uint32) vreg {
	if log > 3 {
		shifted := l.NewVReg(clif.I64)
		l.Emit(backend.Inst{Op: asm.ShlImm, Size: 8, Imm: int64(log)}, n, shifted)
		n, log = shifted, 0
	}
	sum, size := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
	l.Access(asm.Lea, 8, amode{Mode: backend.ModeIndex, N: 1, Scale: log, Disp: int32(fixed + abi.ObjectAlign - 1), Regs: [2]vreg{n}}, sum)
	l.Emit(backend.Inst{Op: asm.AndImm, Size: 8, Imm: -abi.ObjectAlign}, sum, size)
	return size
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
	t := l.RefTest(d)
	if t.Bits != 0 {
		c := backend.Comparing(backend.Inst{Op: asm.TestImm, Size: t.Size, Imm: int64(t.Bits)}, asm.NE)
		c.Add(t.X)
		return c
	}
	return compareEqual(t.Size, t.X, t.Y)
}

// compareEqual compares whether registers are equal.
func compareEqual(size uint8, x, y vreg) comparison {
	c := backend.Comparing(backend.Inst{Op: asm.Cmp, Size: size}, asm.E)
	c.Add(x, y)
	return c
}

// lowerRefI31 appends 2x + 1, in 32 bits.
func lowerRefI31(l *lower, _ clif.Inst, d *clif.InstData) {
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

func lowerRefTest(l *lower, i clif.Inst, d *clif.InstData) {
	if d.Type == clif.FuncRef {
		l.FuncTest(d)
		return
	}
	lowerCompare(l, i, d)
}
