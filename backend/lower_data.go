package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// This file lowers loads, accesses to instance data (globals, tables, segments and sizes), and calls of helpers.

func lowerLoad(l *Emit, i clif.Inst, d *clif.InstData) {
	f := l.LoadForm(d.Type, d.Access())
	l.Access(f.Op, f.Size, l.Target.Memory(l, i, d), l.Def(d, 0))
}

// loadBase appends a rematerialisable load of the base of memory m.
func loadBase(l *Emit, dst regalloc.VReg, m clif.MemoryIndex) {
	f := l.Full(clif.I64)
	in := Inst{Op: f.Op, Size: f.Size}
	a := InstanceAt(l.Layout.Memory(m))
	a.Set(&in)
	l.EmitRemat(in, dst)
}

// Global returns where global g is.
func (l *Emit) Global(g uint32) Address {
	off, indirect := l.Layout.Global(clif.GlobalIndex(g))
	if indirect {
		return Based(l.ReadWord(off), 0)
	}
	return InstanceAt(off)
}

func lowerGlobalGet(l *Emit, _ clif.Inst, d *clif.InstData) {
	f := l.Full(d.Type)
	l.Access(f.Op, f.Size, l.Global(d.Aux), l.Def(d, 0))
}

// putFull appends a store of the whole of v, of type t, at a.
func putFull(l *Emit, t clif.Type, a Address, v clif.Value) {
	l.Target.Put(l, t, t.Bits()/8, a, v)
}

func lowerGlobalSet(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.Full(d.Type)
	putFull(l, d.Type, l.Global(d.Aux), d.ArgA())
}

// MemorySize returns where the size of memory m is.
func (l *Emit) MemorySize(m uint32) Address {
	return Based(l.base(int(m)), abi.MemorySizeOffset)
}

// TableSize returns where the size of table t is.
func (l *Emit) TableSize(t uint32) Address { return Based(l.TableBase(t), abi.TableSizeOffset) }

func lowerMemorySize(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.loadWord(l.MemorySize(d.Aux), l.Def(d, 0))
}

// callSlot returns a call of the function whose address is in the slot at offset off of the instance data.
func (l *Query) callSlot(off uint32) Inst {
	in := Inst{Op: l.Target.Common.CallInd, Size: 8}
	a := InstanceAt(off)
	a.Set(&in)
	return in
}

// grown appends a call of a helper that returns an i32, and clears the upper half
// of -1.
func grown(l *Emit, d *clif.InstData, h abi.Helper, args ...regalloc.VReg) {
	wide := l.NewVReg(clif.I64)
	l.HelperCall(h, wide, args...)
	l.Emit(Inst{Op: l.Target.Common.Copy, Size: 4}, wide, l.Def(d, 0))
}

func lowerMemoryGrow(l *Emit, _ clif.Inst, d *clif.InstData) {
	grown(l, d, abi.HelperMemoryGrow, l.base(int(d.Aux)), l.Use(d.ArgA()))
}

// plus returns the register of base + v<<scale, which the front end has checked to be in bounds.
func plus(l *Emit, base regalloc.VReg, v clif.Value, scale uint8) regalloc.VReg {
	r := l.NewVReg(clif.I64)
	l.Target.Sum(l, base, SumTerm{V: v, Scale: scale}, r)
	return r
}

// putZero appends a store of a word that is zero at a.
func putZero(l *Emit, a Address) { l.Access(l.Target.Common.StoreZero, 8, a) }

// times8 appends the register with 8v.
func times8(l *Emit, v clif.Value) regalloc.VReg {
	r := l.NewVReg(clif.I64)
	l.Emit(Inst{Op: l.Target.Common.ShlImm, Size: 8, Imm: 3}, l.Use(v), r)
	return r
}

func lowerMemoryCopy(l *Emit, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.MemBase(clif.MemoryIndex(d.Aux)), d.ArgA(), 0)
	from := plus(l, l.MemBase(clif.MemoryIndex(d.Imm)), d.ArgB(), 0)
	l.HelperCall(abi.HelperMemmove, regalloc.NoVReg, to, from, l.Use(d.ArgC()))
}

func lowerMemoryFill(l *Emit, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.MemBase(clif.MemoryIndex(d.Aux)), d.ArgA(), 0)
	l.HelperCall(abi.HelperMemset, regalloc.NoVReg, to, l.Use(d.ArgB()), l.Use(d.ArgC()))
}

func lowerMemoryInit(l *Emit, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.MemBase(clif.MemoryIndex(d.Aux)), d.ArgA(), 0)
	from := plus(l, l.ReadWord(l.Layout.Data(uint32(d.Imm))), d.ArgB(), 0)
	l.HelperCall(abi.HelperMemmove, regalloc.NoVReg, to, from, l.Use(d.ArgC()))
}

func lowerDataLen(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.loadWord(InstanceAt(l.Layout.Data(d.Aux)+abi.SegmentLength), l.Def(d, 0))
}

func lowerDataDrop(l *Emit, _ clif.Inst, d *clif.InstData) {
	putZero(l, InstanceAt(l.Layout.Data(d.Aux)+abi.SegmentLength))
}

func lowerTableSize(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.loadWord(l.TableSize(d.Aux), l.Def(d, 0))
}

// element returns the address of element v of an array of words.
func element(l *Emit, base regalloc.VReg, v clif.Value) Address {
	if _, ok := l.Fold(RuleElementConst, clif.I32, v, 4); ok {
		c, _ := l.Iconst(v)
		return Based(base, int32(c<<3))
	}
	return Indexed(base, l.Use(v), 3)
}

func lowerTableGet(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.loadWord(element(l, l.TableBase(d.Aux), d.ArgA()), l.Def(d, 0))
}

func lowerTableSet(l *Emit, _ clif.Inst, d *clif.InstData) {
	putFull(l, d.Type, element(l, l.TableBase(d.Aux), d.ArgA()), d.ArgB())
}

func lowerTableGrow(l *Emit, _ clif.Inst, d *clif.InstData) {
	grown(l, d, abi.HelperTableGrow, l.TableBase(d.Aux), l.Use(d.ArgA()), l.Use(d.ArgB()))
}

func lowerTableCopy(l *Emit, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.TableBase(d.Aux), d.ArgA(), 3)
	from := plus(l, l.TableBase(uint32(d.Imm)), d.ArgB(), 3)
	l.HelperCall(abi.HelperMemmove, regalloc.NoVReg, to, from, times8(l, d.ArgC()))
}

func lowerTableFill(l *Emit, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.TableBase(d.Aux), d.ArgA(), 3)
	l.HelperCall(abi.HelperTableFill, regalloc.NoVReg, to, l.Use(d.ArgB()), l.Use(d.ArgC()))
}

func lowerTableInit(l *Emit, _ clif.Inst, d *clif.InstData) {
	to := plus(l, l.TableBase(d.Aux), d.ArgA(), 3)
	from := plus(l, l.ReadWord(l.Layout.Elem(uint32(d.Imm))), d.ArgB(), 3)
	l.HelperCall(abi.HelperMemmove, regalloc.NoVReg, to, from, times8(l, d.ArgC()))
}

func lowerElemLen(l *Emit, _ clif.Inst, d *clif.InstData) {
	l.loadWord(InstanceAt(l.Layout.Elem(d.Aux)+abi.SegmentLength), l.Def(d, 0))
}

func lowerElemDrop(l *Emit, _ clif.Inst, d *clif.InstData) {
	putZero(l, InstanceAt(l.Layout.Elem(d.Aux)+abi.SegmentLength))
}

func lowerElemSet(l *Emit, _ clif.Inst, d *clif.InstData) {
	base := l.NewVReg(clif.I64)
	l.Access(l.Target.Common.Lea, 8, InstanceAt(l.Layout.ElemArray(d.Aux)), base)
	putFull(l, d.Type, element(l, base, d.ArgA()), d.ArgB())
}
