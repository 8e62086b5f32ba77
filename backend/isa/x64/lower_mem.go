package x64

import (
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
	clif.V128:    {clif.Full: {Op: asm.MovfLoad, Size: 16}, clif.U32: {Op: asm.MovfLoad, Size: 4}, clif.U64: {Op: asm.MovfLoad, Size: 8}},
	clif.Ref:     {clif.Full: {Op: asm.Mov, Size: 8}},
	clif.FuncRef: {clif.Full: {Op: asm.Mov, Size: 8}},
}

// constBits returns the value of v if it is a constant of any type that can be the immediate
// of a store of the given number of bytes.
func constBits(q *query, v clif.Value, bytes int) (int64, bool) {
	x, ok := q.Iconst(v)
	if !ok {
		d := q.DefOp(v, clif.OpFconst)
		if d == nil {
			return 0, false
		}
		x = d.Imm
	}
	return storedBits(int64(x), bytes)
}

// storedBits returns the bits of x that a store of the given number of bytes writes, and whether they fit an immediate.
func storedBits(x int64, bytes int) (int64, bool) {
	switch bytes {
	case 1:
		return int64(int8(x)), true
	case 2:
		return int64(int16(x)), true
	case 4:
		return int64(int32(x)), true
	}
	return x, fits(x)
}

// storeLow implements backend.Target.Put.
func storeLow(l *lower, t clif.Type, bytes int, a amode, v clif.Value) {
	if _, ok := l.Fold(RuleStoreImm, t, v, bytes); ok {
		k, _ := constBits(&l.Query, v, bytes)
		storeImm(l, asm.MovStoreImm, uint8(bytes), a, k)
		return
	}
	switch {
	case t.IsFloat() || t == clif.V128:
		l.Access(asm.MovfStore, uint8(bytes), a, l.Use(v))
	case bytes == 4:
		l.Access(asm.MovStore, 4, a, l.Low(v))
	default:
		l.Access(asm.MovStore, uint8(bytes), a, l.Use(v))
	}
}

func lowerStore(l *lower, i clif.Inst, d *clif.InstData) {
	t, v, bytes := d.Type, d.ArgB(), access(d)
	if t.IsInt() && bytes < 8 {
		v = l.Narrow(v, bytes)
	}
	storeLow(l, t, bytes, heap(l, i, d), v)
}

// modifyRows are the rows that change memory, by opcode: with a register, with an immediate.
var modifyRows = [clif.NumOpcodes]struct{ reg, imm backend.Op }{
	clif.OpIadd: {asm.AddStore, asm.AddStoreImm}, clif.OpIsub: {asm.SubStore, asm.SubStoreImm},
	clif.OpBand: {asm.AndStore, asm.AndStoreImm}, clif.OpBor: {asm.OrStore, asm.OrStoreImm},
	clif.OpBxor: {asm.XorStore, asm.XorStoreImm},
}

// matchSamePlace is the guard place-left: y is a load of the bytes that the store writes, and the store can do it. The low
// bytes of the operations depend on the low bytes of their operands only.
func matchSamePlace(q *query, m *match) bool {
	d := m.D
	i, ld := q.SinkableLoad(m.Y())
	m.Load = i
	return ld != nil && ld.Op == clif.OpLoad && ld.Type == d.Type && ld.Aux == d.Aux && ld.Imm == d.Imm &&
		access(ld) == access(d) && q.Resolve(ld.ArgA()) == q.Resolve(d.ArgA())
}

func lowerModifyImm(l *lower, m *match) {
	a := heap(l, m.Load, m.D)
	k, _ := storedBits(m.K, access(m.D))
	storeImm(l, modifyRows[m.Op].imm, uint8(access(m.D)), a, k)
}

func lowerModify(l *lower, m *match) {
	a := heap(l, m.Load, m.D)
	l.Access(modifyRows[m.Op].reg, uint8(access(m.D)), a, l.Use(m.Z()))
}

// sum implements backend.Target.Sum.
func sum(l *lower, base vreg, t backend.SumTerm, dst vreg) {
	rule := RulePlusImm
	if t.Scale != 0 {
		rule = RulePlusElements
	}
	if t.V != clif.NoValue {
		b, ok := l.Fold(rule, clif.I64, t.V, 8)
		if !ok {
			l.Access(asm.Lea, 8, backend.Indexed(base, l.Use(t.V), t.Scale), dst)
			return
		}
		t.K = b.K << t.Scale
	}
	l.Access(asm.Lea, 8, backend.Based(base, int32(t.K)), dst)
}
