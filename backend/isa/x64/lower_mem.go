package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// loads are the forms by type and access.
var loads = [clif.NumTypes][clif.NumAccesses]backend.Form{
	clif.I32: {clif.Full: {Op: asm.Mov, Size: 4}, clif.U8: {Op: asm.Movzx8, Size: 4}, clif.S8: {Op: asm.Movsx8, Size: 4},
		clif.U16: {Op: asm.Movzx16, Size: 4}, clif.S16: {Op: asm.Movsx16, Size: 4}, clif.U32: {Op: asm.Mov, Size: 4}, clif.S32: {Op: asm.Mov, Size: 4}},
	clif.I64: {clif.Full: {Op: asm.Mov, Size: 8}, clif.U8: {Op: asm.Movzx8, Size: 4}, clif.S8: {Op: asm.Movsx8, Size: 8},
		clif.U16: {Op: asm.Movzx16, Size: 4}, clif.S16: {Op: asm.Movsx16, Size: 8}, clif.U32: {Op: asm.Mov, Size: 4}, clif.S32: {Op: asm.Movsx32, Size: 8}},
	clif.F32:     {clif.Full: {Op: asm.MovfLoad, Size: 4}},
	clif.F64:     {clif.Full: {Op: asm.MovfLoad, Size: 8}},
	clif.Ref:     {clif.Full: {Op: asm.Mov, Size: 8}},
	clif.FuncRef: {clif.Full: {Op: asm.Mov, Size: 8}},
}

// constBits is the value of v if it is a constant of any type that a store of so many
// bytes can have as immediate.
func constBits(l *lower, v clif.Value, bytes int) (int64, bool) {
	x, ok := l.Iconst(v)
	if !ok {
		d := l.DefOp(v, clif.OpFconst)
		if d == nil {
			return 0, false
		}
		x = d.Imm
	}
	switch bytes {
	case 1:
		return int64(int8(x)), true
	case 2:
		return int64(int16(x)), true
	case 4:
		return int64(int32(x)), true
	}
	return int64(x), fits(int64(x))
}

// putFull is backend.Target.Put.
func putFull(l *lower, t clif.Type, a amode, v clif.Value) {
	size := l.Full(t).Size
	if k, ok := constBits(l, v, int(size)); ok && l.Rule("store_imm") {
		storeImm(l, asm.MovStoreImm, size, a, k)
		return
	}
	if t.IsFloat() {
		l.Access(asm.MovfStore, size, a, l.Use(v))
		return
	}
	l.Access(asm.MovStore, size, a, l.UseAs(t, v))
}

func lowerStore(l *lower, i clif.Inst, d *clif.InstData) {
	t, v := d.Type, d.ArgB()
	bytes := d.Access().Bytes(t)
	if t == clif.V128 {
		panic(backend.Unsupported("v128 values are not supported"))
	}
	if t.IsInt() {
		if modify(l, d, bytes) {
			return
		}
		if bytes < 8 {
			v = l.Narrow(v, bytes)
		}
	}
	a := heap(l, i, d)
	if k, ok := constBits(l, v, bytes); ok && l.Rule("store_imm") {
		storeImm(l, asm.MovStoreImm, uint8(bytes), a, k)
		return
	}
	op := asm.MovStore
	if t.IsFloat() {
		op = asm.MovfStore
	}
	l.Access(op, uint8(bytes), a, l.Use(v))
}

// modifyRows are the rows that change memory, by opcode: with a register, with an immediate.
var modifyRows = [...]struct {
	op       clif.Opcode
	reg, imm backend.Op
}{
	{clif.OpIadd, asm.AddStore, asm.AddStoreImm}, {clif.OpIsub, asm.SubStore, asm.SubStoreImm},
	{clif.OpBand, asm.AndStore, asm.AndStoreImm}, {clif.OpBor, asm.OrStore, asm.OrStoreImm},
	{clif.OpBxor, asm.XorStore, asm.XorStoreImm},
}

// modify appends op [addr], y for a store of (load addr) op y, if load and operation have
// no other user and nothing between may write or trap. The low bytes of these
// operations depend on the low bytes of their operands only.
func modify(l *lower, d *clif.InstData, bytes int) bool {
	_, op := l.DefInst(d.ArgB())
	if op == nil || !l.OnlyUse(d.ArgB()) || op.Type != d.Type {
		return false
	}
	row := -1
	for i := range modifyRows {
		if modifyRows[i].op == op.Op {
			row = i
		}
	}
	if row < 0 {
		return false
	}
	x, y := op.ArgA(), op.ArgB()
	if !samePlace(l, d, x, bytes) {
		if op.Op == clif.OpIsub || !samePlace(l, d, y, bytes) {
			return false
		}
		x, y = y, x
	}
	i, _ := l.SinkableLoad(x)
	l.Sink(i)
	a := heap(l, i, d)
	if k, ok := constBits(l, y, bytes); ok && l.Rule("store_modify_imm") {
		storeImm(l, modifyRows[row].imm, uint8(bytes), a, k)
		return true
	}
	l.Rule("store_modify")
	l.Access(modifyRows[row].reg, uint8(bytes), a, l.Use(y))
	return true
}

// samePlace reports whether x is a sinkable load of the bytes that the store d writes.
func samePlace(l *lower, d *clif.InstData, x clif.Value, bytes int) bool {
	_, ld := l.SinkableLoad(x)
	return ld != nil && ld.Op == clif.OpLoad && ld.Type == d.Type && ld.Aux == d.Aux && ld.Imm == d.Imm &&
		ld.Access().Bytes(ld.Type) == bytes && l.Resolve(ld.ArgA()) == l.Resolve(d.ArgA())
}

// putZero is backend.Target.PutZero.
func putZero(l *lower, a amode) { storeImm(l, asm.MovStoreImm, 8, a, 0) }

// plus is backend.Target.Plus.
func plus(l *lower, base vreg, v clif.Value, scale uint8, dst vreg) {
	if c, ok := l.Iconst(v); ok && c <= math.MaxInt32>>scale {
		l.Access(asm.Lea, 8, backend.Based(base, int32(c<<scale)), dst)
		return
	}
	l.Access(asm.Lea, 8, backend.Indexed(base, l.Use(v), scale), dst)
}
