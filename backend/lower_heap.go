package backend

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// This file lowers what works on the collected heap (docs/gc.md). A reference is an offset from the base of the heap, which never moves. What is computed from one is used by the same instruction of
// CLIF, behind which no call stands: so no such register lives across a safepoint.

// Heap has the functions of a machine that address objects. The results fault nowhere, unless they are told so.
type Heap struct {
	// Field is the address base + index<<scale + disp for accesses of the given number of bytes. The displacement is at least abi.ObjectType and below abi.HeapFirst, the scale 0 or 2.
	Field func(l *Emit, base, index regalloc.VReg, scale uint8, disp int32, bytes uint8) Address
	// Offset appends base + index<<log + disp, in size bytes, 4 or 8; without a base if that is NoVReg. The logarithm is at most 4, the displacement small.
	Offset func(l *Emit, size uint8, base, index regalloc.VReg, log uint8, disp int32) regalloc.VReg
	// ObjectOrNull appends a register with ref, or with 0 if that is a small integer or a handle of the host.
	ObjectOrNull func(l *Emit, ref regalloc.VReg) regalloc.VReg
}

// The bases behind those of the memories, counted from the last one.
const (
	instanceBase = 1 + iota
	rowsBase
	heapBase
	numOtherBases = iota
)

// UsesHeap notes that instances need the part for the heap: hosts know of it that there are objects, and small integers.
func UsesHeap(l *Emit) { l.code.HasHeap = true }

// loadHeapBase appends a rematerialisable load of the base of the heap, or of the address of the rows of types.
func loadHeapBase(l *Emit, dst regalloc.VReg, kind int) {
	slot := uint32(abi.HeapBase)
	if kind == rowsBase {
		slot = uint32(abi.HeapRows)
	}
	loadOfHeapPart(l, l.Full(clif.I64), l.Layout.Heap()+slot, dst)
}

// loadOfHeapPart appends a rematerialisable load of a word of the part of the instance data for the heap, which never changes.
func loadOfHeapPart(l *Emit, f Form, off uint32, dst regalloc.VReg) {
	UsesHeap(l)
	in := Inst{Op: f.Op, Size: f.Size}
	a := InstanceAt(off)
	a.Set(&in)
	l.EmitRemat(in, dst)
}

// baseOfHeap returns the register of the base of the heap.
func baseOfHeap(l *Emit) regalloc.VReg {
	UsesHeap(l)
	return l.base(len(l.bases) - heapBase)
}

// expectHeap notes that instruction d of block b will use the base of the heap, or the rows of types.
func (l *Place) expectHeap(d *clif.InstData, b int) {
	switch {
	case d.Op == clif.OpRefTest && d.Type == clif.Ref:
		l.expect(len(l.bases)-heapBase, b)
		l.expect(len(l.bases)-rowsBase, b)
	case d.Op >= clif.OpStructNew && d.Op <= clif.OpArrayInitElem:
		l.expect(len(l.bases)-heapBase, b)
	}
}

// typeNumber appends a register with the number of type i.
func typeNumber(l *Emit, i uint32) regalloc.VReg {
	v := l.NewVReg(clif.I32)
	loadOfHeapPart(l, l.Full(clif.I32), l.Layout.TypeNumber(i), v)
	return v
}

// newObject appends the call that makes an object of a length and size.
func newObject(l *Emit, d *clif.InstData, length, size regalloc.VReg) {
	number := typeNumber(l, d.Aux)
	l.HelperCall(abi.HelperHeapNew, l.Def(d, 0), number, length, size, baseOfHeap(l))
}

func lowerStructNew(l *Emit, _ clif.Inst, d *clif.InstData) {
	newObject(l, d, l.Temp(0), l.Temp(int64(l.Layout.Object(d.Aux).Fixed)))
}

func lowerHeapNext(l *Emit, _ clif.Inst, d *clif.InstData) {
	f := l.LoadForm(clif.I64, clif.U32)
	l.Access(f.Op, f.Size, Based(baseOfHeap(l), abi.HeapNext), l.Def(d, 0))
}

// EndOfStructure appends the offset behind the structure that d, a heap_full or heap_claim, would make. It has no more than 32 bits: structures lie below the large arrays.
func EndOfStructure(l *Emit, d *clif.InstData) regalloc.VReg {
	end := l.NewVReg(clif.I64)
	l.Target.Sum(l, l.Use(d.ArgA()), SumTerm{V: clif.NoValue, K: int64(l.Layout.Object(d.Aux).Fixed)}, end)
	return end
}

// EndOfRoom is the address of the offset that no object may be behind, 32 bits.
func EndOfRoom(l *Emit) Address { return Based(baseOfHeap(l), abi.HeapEnd) }

func lowerHeapClaim(l *Emit, _ clif.Inst, d *clif.InstData) {
	store := l.Target.Common.Store[regalloc.Int]
	l.Access(store, 4, l.Target.Field(l, baseOfHeap(l), l.Use(d.ArgA()), 0, abi.ObjectType, 4), typeNumber(l, d.Aux))
	l.Access(store, 4, Based(baseOfHeap(l), abi.HeapNext), EndOfStructure(l, d))
}

func lowerArrayNew(l *Emit, _ clif.Inst, d *clif.InstData) {
	n := l.Use(d.ArgA())
	_, log := elementSize(l, d.Aux)
	sum := l.Target.Offset(l, 8, regalloc.NoVReg, n, log, int32(l.Layout.Object(d.Aux).Fixed)+abi.ObjectAlign-1)
	size := l.NewVReg(clif.I64)
	l.Emit(Inst{Op: l.Target.Common.AndImm, Size: 8, Imm: -abi.ObjectAlign}, sum, size)
	newObject(l, d, n, size)
}

// loadField appends a load of a field or element of type f, which takes size bytes, at a; signed says how one that is packed is extended.
func loadField(l *Emit, d *clif.InstData, f *abi.FieldType, size uint32, signed bool, a Address) {
	form := l.Full(d.Type)
	switch {
	case f.Packed != 0:
		access := clif.U8
		if f.Packed == 16 {
			access = clif.U16
		}
		if signed {
			access++ // S8 and S16 follow U8 and U16
		}
		form = l.LoadForm(clif.I32, access)
	case d.Type == clif.Ref && size == 4:
		form = l.LoadForm(clif.I64, clif.U32)
	}
	l.Access(form.Op, form.Size, a, l.Def(d, 0))
}

// storeField appends a store of v, of type t, to a field or element of size bytes at a.
func storeField(l *Emit, t clif.Type, size uint32, a Address, v clif.Value) {
	if t.IsInt() && size < 8 {
		v = l.Narrow(v, int(size))
	}
	l.Target.Put(l, t, int(size), a, v)
}

// fieldOf returns the address and type of the field that d names.
func fieldOf(l *Emit, d *clif.InstData) (Address, *abi.FieldType) {
	f := &l.Mod.Types[d.Aux].Fields[d.Imm]
	a := l.Target.Field(l, baseOfHeap(l), l.Use(d.ArgA()), 0, int32(l.Layout.Object(d.Aux).Offsets[d.Imm]), uint8(f.ObjectBytes()))
	a.Faulting(NullStructureFaults)
	return a, f
}

func lowerStructGet(l *Emit, _ clif.Inst, d *clif.InstData) {
	a, f := fieldOf(l, d)
	loadField(l, d, f, f.ObjectBytes(), d.Op == clif.OpStructGetS, a)
}

func lowerStructSet(l *Emit, _ clif.Inst, d *clif.InstData) {
	a, f := fieldOf(l, d)
	storeField(l, d.Type, f.ObjectBytes(), a, d.ArgB())
}

func lowerArrayLen(l *Emit, _ clif.Inst, d *clif.InstData) {
	a := l.Target.Field(l, baseOfHeap(l), l.Use(d.ArgA()), 0, abi.ObjectLength, 4)
	a.Faulting(NullArrayFaults)
	f := l.Full(clif.I32)
	l.Access(f.Op, f.Size, a, l.Def(d, 0))
}

// elementSize returns how many bytes an element of an array takes, and the logarithm of that.
func elementSize(l *Emit, typ uint32) (size uint32, log uint8) {
	size = l.Layout.Object(typ).Elem
	return size, uint8(bits.Len32(size) - 1)
}

// elementOffset appends the offset of an element that is in bounds, or is the end. It has 32 bits, so that it stays in the heap whatever is read as a reference or length.
func elementOffset(l *Emit, typ uint32, array, index clif.Value) regalloc.VReg {
	_, log := elementSize(l, typ)
	return l.Target.Offset(l, 4, l.Use(array), l.Use(index), log, int32(l.Layout.Object(typ).Offsets[0]))
}

// elementOf returns the address of the element that d names.
func elementOf(l *Emit, d *clif.InstData) Address {
	return Indexed(baseOfHeap(l), elementOffset(l, d.Aux, d.ArgA(), d.ArgB()), 0)
}

func lowerArrayGet(l *Emit, _ clif.Inst, d *clif.InstData) {
	size, _ := elementSize(l, d.Aux)
	loadField(l, d, &l.Mod.Types[d.Aux].Fields[0], size, d.Op == clif.OpArrayGetS, elementOf(l, d))
}

func lowerArraySet(l *Emit, _ clif.Inst, d *clif.InstData) {
	size, _ := elementSize(l, d.Aux)
	storeField(l, d.Type, size, elementOf(l, d), d.ArgC())
}

// elementsFrom appends the address of elements from an index on.
func elementsFrom(l *Emit, typ uint32, array, index clif.Value) regalloc.VReg {
	return l.Target.Offset(l, 8, baseOfHeap(l), elementOffset(l, typ, array, index), 0, 0)
}

// shiftedBy appends the register with v<<log.
func shiftedBy(l *Emit, v clif.Value, log uint8) regalloc.VReg {
	if log == 0 {
		return l.Use(v)
	}
	r := l.NewVReg(clif.I64)
	l.Emit(Inst{Op: l.Target.Common.ShlImm, Size: 8, Imm: int64(log)}, l.Use(v), r)
	return r
}

func lowerArrayFill(l *Emit, _ clif.Inst, d *clif.InstData) {
	args := l.F.ListOperands(d)
	array, at, x, n := clif.Value(args[0]), clif.Value(args[1]), clif.Value(args[2]), clif.Value(args[3])
	size, _ := elementSize(l, d.Aux)
	value := InstanceAt(l.Layout.Heap() + uint32(abi.HeapValue))
	UsesHeap(l)
	storeField(l, l.F.TypeOf(x), size, value, x)
	from := l.NewVReg(clif.I64)
	l.Access(l.Target.Common.Lea, 8, value, from)
	l.HelperCall(abi.HelperHeapFill, regalloc.NoVReg, elementsFrom(l, d.Aux, array, at), from, l.Use(n), l.Temp(int64(size)))
}

// copyElements appends the copy of n elements of the given size to an array, from where they take 1<<log bytes each.
func copyElements(l *Emit, typ uint32, to, from regalloc.VReg, log uint8, n clif.Value) {
	_, toLog := elementSize(l, typ)
	switch {
	case toLog == log:
		l.HelperCall(abi.HelperMemmove, regalloc.NoVReg, to, from, shiftedBy(l, n, log))
	case toLog > log:
		l.HelperCall(abi.HelperHeapWiden, regalloc.NoVReg, to, from, l.Use(n))
	default:
		l.HelperCall(abi.HelperHeapNarrow, regalloc.NoVReg, to, from, l.Use(n))
	}
}

func lowerArrayCopy(l *Emit, _ clif.Inst, d *clif.InstData) {
	args := l.F.ListOperands(d)
	to := elementsFrom(l, d.Aux, clif.Value(args[0]), clif.Value(args[1]))
	source := uint32(d.Imm)
	from := elementsFrom(l, source, clif.Value(args[2]), clif.Value(args[3]))
	_, log := elementSize(l, source)
	copyElements(l, d.Aux, to, from, log, clif.Value(args[4]))
}

func lowerArrayInitData(l *Emit, _ clif.Inst, d *clif.InstData) {
	args := l.F.ListOperands(d)
	to := elementsFrom(l, d.Aux, clif.Value(args[0]), clif.Value(args[1]))
	from := plus(l, l.ReadWord(l.Layout.Data(uint32(d.Imm))), clif.Value(args[2]), 0)
	_, log := elementSize(l, d.Aux)
	copyElements(l, d.Aux, to, from, log, clif.Value(args[3]))
}

// lowerArrayInitElem: the elements of segments are words.
func lowerArrayInitElem(l *Emit, _ clif.Inst, d *clif.InstData) {
	args := l.F.ListOperands(d)
	to := elementsFrom(l, d.Aux, clif.Value(args[0]), clif.Value(args[1]))
	from := plus(l, l.ReadWord(l.Layout.Elem(uint32(d.Imm))), clif.Value(args[2]), 3)
	copyElements(l, d.Aux, to, from, 3, clif.Value(args[3]))
}

// RefTest is what ref_test of a reference to anything but functions compares: its result is 1 if X and Y, of Size bytes, are equal, or, if Bits is not 0, if one of these bits of X is set.
type RefTest struct {
	X, Y regalloc.VReg
	Size uint8
	Bits uint8
	// Null, unless it is NoVReg, is 0 if the reference is null, and then the result is 1, too.
	Null regalloc.VReg
}

// RefTestOf appends what d compares. That type and row of an object never change, so it does not matter where that is.
func RefTestOf(l *Emit, d *clif.InstData) RefTest {
	UsesHeap(l)
	from, want := d.RefTestTypes()
	ref := l.Use(d.ArgA())
	switch want.OrNull() {
	case abi.I31Ref:
		return RefTest{X: ref, Bits: abi.RefTagInt, Size: 4, Null: regalloc.NoVReg}
	case abi.EqRef:
		return belowHandles(l, ref)
	}
	if !from.IsObject() {
		ref = l.Target.ObjectOrNull(l, ref)
	}
	have := l.NewVReg(clif.I32)
	word := l.Full(clif.I32)
	l.Access(word.Op, word.Size, l.Target.Field(l, baseOfHeap(l), ref, 0, abi.ObjectType, 4), have)
	null := regalloc.NoVReg
	if !want.IsNotNull() {
		null = have
	}
	typ, ok := want.TypeIndex()
	if ok && !l.Mod.Types[typ].Open {
		return RefTest{X: have, Y: typeNumber(l, typ), Size: 4, Null: null}
	}
	depth, number := int32(0), regalloc.NoVReg
	switch {
	case ok:
		depth, number = int32(l.Mod.Types[typ].Depth)+1, typeNumber(l, typ)
	case want.OrNull() == abi.StructRef:
		number = l.Temp(abi.TypeOfStructs)
	case want.OrNull() == abi.ArrayRef:
		number = l.Temp(abi.TypeOfArrays)
	default:
		panic("ref_test of a type that the front end decides: " + want.String())
	}
	entry := l.NewVReg(clif.I32)
	rows := l.base(len(l.bases) - rowsBase)
	UsesHeap(l)
	l.Access(word.Op, word.Size, l.Target.Field(l, rows, have, 2, 4*depth, 4), entry)
	return RefTest{X: entry, Y: number, Size: 4, Null: null}
}

// belowHandles compares for eqref: not null, and below all handles. What is one less then has nothing in its upper half, unlike what is one less than null.
func belowHandles(l *Emit, ref regalloc.VReg) RefTest {
	less, low := l.NewVReg(clif.I64), l.NewVReg(clif.I64)
	l.Target.Sum(l, ref, SumTerm{V: clif.NoValue, K: -1}, less)
	l.Emit(Inst{Op: l.Target.Common.Copy, Size: 4}, less, low)
	return RefTest{X: less, Y: low, Size: 8, Null: regalloc.NoVReg}
}

// lowerRefTest appends the result as other comparisons have theirs, or, of a reference to a function, which may be null, what the host says.
func lowerRefTest(l *Emit, i clif.Inst, d *clif.InstData) {
	if d.Type == clif.Ref {
		l.Target.Lower[clif.OpRefEq](l, i, d)
		return
	}
	_, want := d.RefTestTypes()
	typ, ok := want.TypeIndex()
	if !ok {
		panic("ref_test of a type that the front end decides: " + want.String())
	}
	UsesHeap(l)
	l.HelperCall(abi.HelperFuncTest, l.Def(d, 0), l.Use(d.ArgA()), l.ReadWord(l.Layout.Type(clif.SigIndex(typ))))
}
