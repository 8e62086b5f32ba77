package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// loadForm is the row and size that do a load.
type loadForm struct {
	op   backend.Op
	size uint8
}

// loads are the forms by type and access.
var loads = [clif.NumTypes][clif.NumAccesses]loadForm{
	clif.I32: {clif.Full: {asm.Ldr, 4}, clif.U8: {asm.Ldrb, 4}, clif.S8: {asm.Ldrsb, 4},
		clif.U16: {asm.Ldrh, 4}, clif.S16: {asm.Ldrsh, 4}, clif.U32: {asm.Ldr, 4}, clif.S32: {asm.Ldr, 4}},
	clif.I64: {clif.Full: {asm.Ldr, 8}, clif.U8: {asm.Ldrb, 4}, clif.S8: {asm.Ldrsb, 8},
		clif.U16: {asm.Ldrh, 4}, clif.S16: {asm.Ldrsh, 8}, clif.U32: {asm.Ldr, 4}, clif.S32: {asm.Ldrsw, 8}},
	clif.F32:     {clif.Full: {asm.Fldr, 4}},
	clif.F64:     {clif.Full: {asm.Fldr, 8}},
	clif.Ref:     {clif.Full: {asm.Ldr, 8}},
	clif.FuncRef: {clif.Full: {asm.Ldr, 8}},
}

// loadBase is backend.Target.LoadBase.
func loadBase(l *lower, dst vreg, m clif.MemoryIndex) {
	in := backend.Inst{Op: asm.Ldr, Size: 8}
	a := sym(l.Layout.Memory(m))
	a.set(&in)
	emitRemat(l, in, dst)
}

func lowerLoad(l *lower, i clif.Inst, d *clif.InstData) {
	f := loads[d.Type][d.Access()]
	if f.op == asm.Invalid {
		panic(backend.Unsupported("v128 values are not supported"))
	}
	load(l, f.op, f.size, heap(l, i, d, f), l.Def(d, 0))
}

// full is the form of a load of the whole of type t.
func full(t clif.Type) loadForm {
	f := loads[t][clif.Full]
	if f.op == asm.Invalid {
		panic(backend.Unsupported("v128 values are not supported"))
	}
	return f
}

// storeForm is the form of a store of so many bytes of a value of type t.
func storeForm(t clif.Type, bytes int) loadForm {
	switch {
	case t == clif.V128:
		panic(backend.Unsupported("v128 values are not supported"))
	case t.IsFloat():
		return loadForm{asm.Fstr, uint8(bytes)}
	case bytes == 1:
		return loadForm{asm.Strb, 4}
	case bytes == 2:
		return loadForm{asm.Strh, 4}
	}
	return loadForm{asm.Str, uint8(bytes)}
}

// putFull appends a store of v, of type t, at a.
func putFull(l *lower, t clif.Type, a amode, v clif.Value) {
	f := storeForm(t, t.Bits()/8)
	r, f := stored(l, f, v)
	store(l, f.op, f.size, a, r)
}

// stored is the register of v for a store of the form f, and the form: the bits of a float constant are
// stored from an integer register.
func stored(l *lower, f loadForm, v clif.Value) (vreg, loadForm) {
	switch {
	case f.op != asm.Fstr && f.size == 4:
		return low(l, v), f
	case f.op != asm.Fstr:
		return l.Use(v), f
	}
	d := l.DefOp(v, clif.OpFconst)
	if d == nil || !l.OnlyUse(v) || !l.Rule("store_fconst") {
		return l.Use(v), f
	}
	bits := d.Imm
	if f.size == 4 {
		bits = uint64(uint32(bits))
	}
	return temp(l, int64(bits)), loadForm{asm.Str, f.size}
}

func lowerStore(l *lower, i clif.Inst, d *clif.InstData) {
	t, v := d.Type, d.ArgB()
	bytes := d.Access().Bytes(t)
	f := storeForm(t, bytes)
	if t.IsInt() && bytes < 8 {
		v = narrow(l, v, bytes)
	}
	r, f := stored(l, f, v)
	store(l, f.op, f.size, heap(l, i, d, f), r)
}

// narrow is a value with the same low bytes as v, found by dropping what only changes the
// others.
func narrow(l *lower, v clif.Value, bytes int) clif.Value {
	mask := uint64(1)<<(8*bytes) - 1
	for {
		_, d := l.DefInst(v)
		if d == nil {
			return v
		}
		switch d.Op {
		case clif.OpIreduce, clif.OpSextend:
			if bytes > 4 {
				return v
			}
		case clif.OpSext8:
			if bytes > 1 {
				return v
			}
		case clif.OpSext16:
			if bytes > 2 {
				return v
			}
		case clif.OpBand:
			if k, ok := l.Iconst(d.ArgB()); !ok || k&mask != mask {
				return v
			}
		default:
			return v
		}
		l.Rule("store_narrow")
		v = d.ArgA()
	}
}

// readSym appends a fresh register with the 64-bit word at offset off of the instance data.
func readSym(l *lower, off uint32) vreg {
	v := l.NewVReg(clif.I64)
	load(l, asm.Ldr, 8, sym(off), v)
	return v
}

// global is where global g is.
func global(l *lower, g uint32) amode {
	off, indirect := l.Layout.Global(clif.GlobalIndex(g))
	if indirect {
		return based(readSym(l, off), 0)
	}
	return sym(off)
}

func lowerGlobalGet(l *lower, _ clif.Inst, d *clif.InstData) {
	f := full(d.Type)
	load(l, f.op, f.size, global(l, d.Aux), l.Def(d, 0))
}

func lowerGlobalSet(l *lower, _ clif.Inst, d *clif.InstData) {
	full(d.Type)
	putFull(l, d.Type, global(l, d.Aux), d.ArgA())
}

func lowerMemorySize(l *lower, _ clif.Inst, d *clif.InstData) {
	load(l, asm.Ldr, 8, based(l.MemBase(clif.MemoryIndex(d.Aux)), abi.MemorySizeOffset), l.Def(d, 0))
}

// helper appends a call of a helper.
func helper(l *lower, h abi.Helper, dst vreg, args ...vreg) {
	l.HelperCall(callSlot(l.Layout.Helper(h)), dst, args...)
}

// grown appends a call of a helper whose result is an i32: the upper half of -1 is
// cleared.
func grown(l *lower, d *clif.InstData, h abi.Helper, args ...vreg) {
	wide := l.NewVReg(clif.I64)
	helper(l, h, wide, args...)
	emit(l, backend.Inst{Op: asm.Mov, Size: 4}, wide, l.Def(d, 0))
}

func lowerMemoryGrow(l *lower, _ clif.Inst, d *clif.InstData) {
	grown(l, d, abi.HelperMemoryGrow, l.MemBase(clif.MemoryIndex(d.Aux)), l.Use(d.ArgA()))
}

// plus appends base + v<<k.
func plus(l *lower, base vreg, v clif.Value, k int) vreg {
	r := l.NewVReg(clif.I64)
	if c, ok := l.Iconst(v); ok && asm.FitsArith(int64(c<<k)) {
		emit(l, backend.Inst{Op: asm.AddImm, Size: 8, Imm: int64(c << k)}, base, r)
		return r
	}
	emit(l, backend.Inst{Op: asm.Add, Size: 8, Imm: asm.Shifted(asm.LSL, uint8(k))}, base, l.Use(v), r)
	return r
}

// times8 appends the register with 8v.
func times8(l *lower, v clif.Value) vreg {
	r := l.NewVReg(clif.I64)
	emit(l, backend.Inst{Op: asm.LslImm, Size: 8, Imm: 3}, l.Use(v), r)
	return r
}

func lowerMemoryCopy(l *lower, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.MemBase(clif.MemoryIndex(d.Aux)), d.ArgA(), 0)
	from := plus(l, l.MemBase(clif.MemoryIndex(d.Imm)), d.ArgB(), 0)
	helper(l, abi.HelperMemmove, regalloc.NoVReg, to, from, l.Use(d.ArgC()))
}

func lowerMemoryFill(l *lower, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.MemBase(clif.MemoryIndex(d.Aux)), d.ArgA(), 0)
	helper(l, abi.HelperMemset, regalloc.NoVReg, to, l.Use(d.ArgB()), l.Use(d.ArgC()))
}

func lowerMemoryInit(l *lower, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.MemBase(clif.MemoryIndex(d.Aux)), d.ArgA(), 0)
	from := plus(l, readSym(l, l.Layout.Data(uint32(d.Imm))), d.ArgB(), 0)
	helper(l, abi.HelperMemmove, regalloc.NoVReg, to, from, l.Use(d.ArgC()))
}

func lowerDataLen(l *lower, _ clif.Inst, d *clif.InstData) {
	load(l, asm.Ldr, 8, sym(l.Layout.Data(d.Aux)+8), l.Def(d, 0))
}

func lowerDataDrop(l *lower, _ clif.Inst, d *clif.InstData) {
	store(l, asm.Str, 8, sym(l.Layout.Data(d.Aux)+8), temp(l, 0))
}

func tableBase(l *lower, t uint32) vreg { return readSym(l, l.Layout.Table(clif.TableIndex(t))) }

func lowerTableSize(l *lower, _ clif.Inst, d *clif.InstData) {
	load(l, asm.Ldr, 8, based(tableBase(l, d.Aux), abi.TableSizeOffset), l.Def(d, 0))
}

// element is the address of element v of an array of words.
func element(l *lower, base vreg, v clif.Value) amode {
	if c, ok := l.Iconst(v); ok && c < 4096 && l.Rule("element_const") {
		return based(base, int32(c<<3))
	}
	return indexed(base, l.Use(v), 3)
}

func lowerTableGet(l *lower, _ clif.Inst, d *clif.InstData) {
	load(l, asm.Ldr, 8, element(l, tableBase(l, d.Aux), d.ArgA()), l.Def(d, 0))
}

func lowerTableSet(l *lower, _ clif.Inst, d *clif.InstData) {
	putFull(l, d.Type, element(l, tableBase(l, d.Aux), d.ArgA()), d.ArgB())
}

func lowerTableGrow(l *lower, _ clif.Inst, d *clif.InstData) {
	grown(l, d, abi.HelperTableGrow, tableBase(l, d.Aux), l.Use(d.ArgA()), l.Use(d.ArgB()))
}

func lowerTableCopy(l *lower, _ clif.Inst, d *clif.InstData) {
	to := plus(l, tableBase(l, d.Aux), d.ArgA(), 3)
	from := plus(l, tableBase(l, uint32(d.Imm)), d.ArgB(), 3)
	helper(l, abi.HelperMemmove, regalloc.NoVReg, to, from, times8(l, d.ArgC()))
}

func lowerTableFill(l *lower, _ clif.Inst, d *clif.InstData) {
	to := plus(l, tableBase(l, d.Aux), d.ArgA(), 3)
	helper(l, abi.HelperTableFill, regalloc.NoVReg, to, l.Use(d.ArgB()), l.Use(d.ArgC()))
}

func lowerTableInit(l *lower, _ clif.Inst, d *clif.InstData) {
	to := plus(l, tableBase(l, d.Aux), d.ArgA(), 3)
	from := plus(l, readSym(l, l.Layout.Elem(uint32(d.Imm))), d.ArgB(), 3)
	helper(l, abi.HelperMemmove, regalloc.NoVReg, to, from, times8(l, d.ArgC()))
}

func lowerElemLen(l *lower, _ clif.Inst, d *clif.InstData) {
	load(l, asm.Ldr, 8, sym(l.Layout.Elem(d.Aux)+8), l.Def(d, 0))
}

func lowerElemDrop(l *lower, _ clif.Inst, d *clif.InstData) {
	store(l, asm.Str, 8, sym(l.Layout.Elem(d.Aux)+8), temp(l, 0))
}

func lowerElemSet(l *lower, _ clif.Inst, d *clif.InstData) {
	base := l.NewVReg(clif.I64)
	load(l, asm.Lea, 8, sym(l.Layout.ElemArray(d.Aux)), base)
	putFull(l, d.Type, element(l, base, d.ArgA()), d.ArgB())
}
