package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
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
	clif.I32: {clif.Full: {asm.Mov, 4}, clif.U8: {asm.Movzx8, 4}, clif.S8: {asm.Movsx8, 4},
		clif.U16: {asm.Movzx16, 4}, clif.S16: {asm.Movsx16, 4}, clif.U32: {asm.Mov, 4}, clif.S32: {asm.Mov, 4}},
	clif.I64: {clif.Full: {asm.Mov, 8}, clif.U8: {asm.Movzx8, 4}, clif.S8: {asm.Movsx8, 8},
		clif.U16: {asm.Movzx16, 4}, clif.S16: {asm.Movsx16, 8}, clif.U32: {asm.Mov, 4}, clif.S32: {asm.Movsx32, 8}},
	clif.F32:     {clif.Full: {asm.MovfLoad, 4}},
	clif.F64:     {clif.Full: {asm.MovfLoad, 8}},
	clif.Ref:     {clif.Full: {asm.Mov, 8}},
	clif.FuncRef: {clif.Full: {asm.Mov, 8}},
}

// loadBase is backend.Target.LoadBase.
func loadBase(l *lower, dst vreg, m clif.MemoryIndex) {
	in := backend.Inst{Op: asm.Mov, Size: 8}
	a := sym(l.Layout.Memory(m))
	a.set(&in)
	emitRemat(l, in, dst)
}

func lowerLoad(l *lower, _ clif.Inst, d *clif.InstData) {
	f := loads[d.Type][d.Access()]
	if f.op == asm.Invalid {
		panic(backend.Unsupported("v128 values are not supported"))
	}
	load(l, f.op, f.size, heap(l, d.Aux, d.ArgA(), d.Imm), l.Def(d, 0))
}

// full is the form of a load of the whole of type t.
func full(t clif.Type) loadForm {
	f := loads[t][clif.Full]
	if f.op == asm.Invalid {
		panic(backend.Unsupported("v128 values are not supported"))
	}
	return f
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

// putFull appends a store of v, of type t, at a.
func putFull(l *lower, t clif.Type, a amode, v clif.Value) {
	size := full(t).size
	if k, ok := constBits(l, v, int(size)); ok && l.Rule("store_imm") {
		storeImm(l, asm.MovStoreImm, size, a, k)
		return
	}
	if t.IsFloat() {
		store(l, asm.MovfStore, size, a, l.Use(v))
		return
	}
	store(l, asm.MovStore, size, a, use(l, t, v))
}

func lowerStore(l *lower, _ clif.Inst, d *clif.InstData) {
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
			v = narrow(l, v, bytes)
		}
	}
	a := heap(l, d.Aux, d.ArgA(), d.Imm)
	if k, ok := constBits(l, v, bytes); ok && l.Rule("store_imm") {
		storeImm(l, asm.MovStoreImm, uint8(bytes), a, k)
		return
	}
	op := asm.MovStore
	if t.IsFloat() {
		op = asm.MovfStore
	}
	store(l, op, uint8(bytes), a, l.Use(v))
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
	a := heap(l, d.Aux, d.ArgA(), d.Imm)
	if k, ok := constBits(l, y, bytes); ok && l.Rule("store_modify_imm") {
		storeImm(l, modifyRows[row].imm, uint8(bytes), a, k)
		return true
	}
	l.Rule("store_modify")
	store(l, modifyRows[row].reg, uint8(bytes), a, l.Use(y))
	return true
}

// samePlace reports whether x is a sinkable load of the bytes that the store d writes.
func samePlace(l *lower, d *clif.InstData, x clif.Value, bytes int) bool {
	_, ld := l.SinkableLoad(x)
	return ld != nil && ld.Op == clif.OpLoad && ld.Type == d.Type && ld.Aux == d.Aux && ld.Imm == d.Imm &&
		ld.Access().Bytes(ld.Type) == bytes && l.Resolve(ld.ArgA()) == l.Resolve(d.ArgA())
}

// readSym appends a fresh register with the 64-bit word at offset off of the instance data.
func readSym(l *lower, off uint32) vreg {
	v := l.NewVReg(clif.I64)
	load(l, asm.Mov, 8, sym(off), v)
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
	load(l, asm.Mov, 8, based(l.MemBase(clif.MemoryIndex(d.Aux)), abi.MemorySizeOffset), l.Def(d, 0))
}

// helper appends a call of a helper.
func helper(l *lower, h abi.Helper, dst vreg, args ...vreg) {
	in := backend.Inst{Op: asm.CallInd, Size: 8}
	a := sym(l.Layout.Helper(h))
	a.set(&in)
	l.HelperCall(in, dst, args...)
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

// plus appends base + v<<scale. The front end has checked that it is in bounds.
func plus(l *lower, base vreg, v clif.Value, scale uint8) vreg {
	r := l.NewVReg(clif.I64)
	if c, ok := l.Iconst(v); ok && c <= math.MaxInt32>>scale {
		load(l, asm.Lea, 8, based(base, int32(c<<scale)), r)
		return r
	}
	load(l, asm.Lea, 8, indexed(base, l.Use(v), scale, 0), r)
	return r
}

// times8 appends the register with 8v.
func times8(l *lower, v clif.Value) vreg {
	r := l.NewVReg(clif.I64)
	emit(l, backend.Inst{Op: asm.ShlImm, Size: 8, Imm: 3}, l.Use(v), r)
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
	load(l, asm.Mov, 8, sym(l.Layout.Data(d.Aux)+8), l.Def(d, 0))
}

func lowerDataDrop(l *lower, _ clif.Inst, d *clif.InstData) {
	storeImm(l, asm.MovStoreImm, 8, sym(l.Layout.Data(d.Aux)+8), 0)
}

func tableBase(l *lower, t uint32) vreg { return readSym(l, l.Layout.Table(clif.TableIndex(t))) }

func lowerTableSize(l *lower, _ clif.Inst, d *clif.InstData) {
	load(l, asm.Mov, 8, based(tableBase(l, d.Aux), abi.TableSizeOffset), l.Def(d, 0))
}

// element is the address of element v of an array of words.
func element(l *lower, base vreg, v clif.Value) amode {
	if c, ok := l.Iconst(v); ok && c <= math.MaxInt32>>3 && l.Rule("element_const") {
		return based(base, int32(c<<3))
	}
	return indexed(base, l.Use(v), 3, 0)
}

func lowerTableGet(l *lower, _ clif.Inst, d *clif.InstData) {
	load(l, asm.Mov, 8, element(l, tableBase(l, d.Aux), d.ArgA()), l.Def(d, 0))
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
	load(l, asm.Mov, 8, sym(l.Layout.Elem(d.Aux)+8), l.Def(d, 0))
}

func lowerElemDrop(l *lower, _ clif.Inst, d *clif.InstData) {
	storeImm(l, asm.MovStoreImm, 8, sym(l.Layout.Elem(d.Aux)+8), 0)
}

func lowerElemSet(l *lower, _ clif.Inst, d *clif.InstData) {
	base := l.NewVReg(clif.I64)
	load(l, asm.Lea, 8, sym(l.Layout.ElemArray(d.Aux)), base)
	putFull(l, d.Type, element(l, base, d.ArgA()), d.ArgB())
}
