package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// loads are the forms by type and access.
var loads = [clif.NumTypes][clif.NumAccesses]backend.Form{
	clif.I32: {clif.Full: {Op: asm.Ldr, Size: 4}, clif.U8: {Op: asm.Ldrb, Size: 4}, clif.S8: {Op: asm.Ldrsb, Size: 4},
		clif.U16: {Op: asm.Ldrh, Size: 4}, clif.S16: {Op: asm.Ldrsh, Size: 4}, clif.U32: {Op: asm.Ldr, Size: 4}, clif.S32: {Op: asm.Ldr, Size: 4}},
	clif.I64: {clif.Full: {Op: asm.Ldr, Size: 8}, clif.U8: {Op: asm.Ldrb, Size: 4}, clif.S8: {Op: asm.Ldrsb, Size: 8},
		clif.U16: {Op: asm.Ldrh, Size: 4}, clif.S16: {Op: asm.Ldrsh, Size: 8}, clif.U32: {Op: asm.Ldr, Size: 4}, clif.S32: {Op: asm.Ldrsw, Size: 8}},
	clif.F32:     {clif.Full: {Op: asm.Fldr, Size: 4}},
	clif.F64:     {clif.Full: {Op: asm.Fldr, Size: 8}},
	clif.V128:    {clif.Full: {Op: asm.Fldr, Size: 16}, clif.U32: {Op: asm.Fldr, Size: 4}, clif.U64: {Op: asm.Fldr, Size: 8}},
	clif.Ref:     {clif.Full: {Op: asm.Ldr, Size: 8}},
	clif.FuncRef: {clif.Full: {Op: asm.Ldr, Size: 8}},
}

// storeForm returns the form of a store of the given number of low bytes of a value of type t.
func storeForm(t clif.Type, bytes int) backend.Form {
	switch {
	case t.IsFloat() || t == clif.V128:
		return backend.Form{Op: asm.Fstr, Size: uint8(bytes)}
	case bytes == 1:
		return backend.Form{Op: asm.Strb, Size: 4}
	case bytes == 2:
		return backend.Form{Op: asm.Strh, Size: 4}
	}
	return backend.Form{Op: asm.Str, Size: uint8(bytes)}
}

// storeLow implements backend.Target.Put.
func storeLow(l *lower, t clif.Type, bytes int, a amode, v clif.Value) {
	store(l, storeForm(t, bytes), a, v)
}

// store appends a store of v at a. Zero has a register of its own.
func store(l *lower, f backend.Form, a amode, v clif.Value) {
	t, bytes := l.F.TypeOf(v), int(f.Size)
	if f.Op != asm.Fstr {
		bytes = asm.RowOf(f.Op).MemBytes(f.Size)
	}
	if _, ok := l.Fold(RuleStoreZero, t, v, bytes); ok {
		l.Access(zeroRow(f.Op), f.Size, a)
		return
	}
	if _, ok := l.Fold(RuleStoreLane, t, v, bytes); ok {
		storeLane(l, a, l.DefOp(v, clif.OpVextract))
		return
	}
	if f.Op == asm.Fstr {
		if _, ok := l.Fold(RuleStoreFconst, t, v, bytes); ok {
			x := l.DefOp(v, clif.OpFconst).Imm
			if f.Size == 4 {
				x = uint64(uint32(x))
			}
			l.Access(asm.Str, f.Size, a, l.Temp(int64(x)))
			return
		}
	}
	if f.Op != asm.Fstr && f.Size == 4 {
		l.Access(f.Op, f.Size, a, l.Low(v))
		return
	}
	l.Access(f.Op, f.Size, a, l.Use(v))
}

// isZero reports whether the given number of low bytes of v are zero.
func isZero(q *query, bytes int, v clif.Value) bool {
	if d := q.DefOp(v, clif.OpFconst); d != nil {
		return d.Imm<<(64-8*bytes) == 0
	}
	k, ok := q.Iconst(v)
	return ok && k<<(64-8*bytes) == 0
}

// zeroRow returns the row that stores zero where op stores a register.
func zeroRow(op backend.Op) backend.Op {
	switch op {
	case asm.Strb:
		return asm.StrbZero
	case asm.Strh:
		return asm.StrhZero
	}
	return asm.StrZero
}

func lowerStore(l *lower, i clif.Inst, d *clif.InstData) {
	t, v := d.Type, d.ArgB()
	bytes := d.Access().Bytes(t)
	if t.IsInt() && bytes < 8 {
		v = l.Narrow(v, bytes)
	}
	storeLow(l, t, bytes, heap(l, i, d), v)
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
			l.Emit(backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, t.Scale)}, base, l.Use(t.V), dst)
			return
		}
		t.K = b.K << t.Scale
	}
	in := backend.Inst{Op: asm.AddImm, Size: 8, Imm: t.K}
	if t.K < 0 {
		in.Op, in.Imm = asm.SubImm, -t.K
	}
	const page = 1<<12 - 1
	if low := t.K & page; t.K > page && low != 0 {
		high := l.NewVReg(clif.I64)
		l.Emit(backend.Inst{Op: asm.AddImm, Size: 8, Imm: t.K &^ page}, base, high)
		base, in.Imm = high, low
	}
	l.Emit(in, base, dst)
}
