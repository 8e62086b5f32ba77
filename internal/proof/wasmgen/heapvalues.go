package wasmgen

import (
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// This file makes values of garbage collection: references, and numbers out of objects.

// Two globals bound what loops make, and what walks visit. Every call from outside begins with so much again.
const (
	globalHeapFuel = globalFuel + 1
	globalWalkFuel = globalFuel + 2
	walkFuel       = 1200
)

// heapDataLen is the length of the data segment for arrays, which only modules with traps drop.
const heapDataLen = 160

func (g *gen) declareHeapFuel() {
	if g.cfg.GC {
		fuel := global{typ: 'i', mutable: true, constant: true, init: constant('i', 0)}
		g.globals = append(g.globals, fuel, fuel)
	}
}

func (g *gen) resetHeapFuel() []byte {
	if !g.cfg.GC {
		return nil
	}
	return cat(constant('i', uint64(g.heapGen.fuel)), []byte{0x24, globalHeapFuel}, constant('i', walkFuel), []byte{0x24, globalWalkFuel})
}

// heapDatas is how many data segments there are for arrays.
func (g *gen) heapDatas() int {
	if g.cfg.GC {
		return 1
	}
	return 0
}

// globalRef is the initial value of global i.
func (g *gen) globalRef(i int) []byte {
	for k := range g.globals[:i] {
		if gl := &g.globals[k]; !gl.mutable && gl.typ >= firstRef && g.matches(gl.typ, g.globals[i].typ) && g.r.IntN(3) == 0 {
			return append([]byte{0x23}, leb(uint64(k))...)
		}
	}
	return g.constRef(g.globals[i].typ, 3)
}

// nullLocals makes locals that are no parameters nullable.
func (f *fgen) nullLocals() {
	if f.cfg.GC {
		for i := len(f.sig.params); i < len(f.locals); i++ {
			f.locals[i] = f.orNull(f.locals[i])
		}
	}
}

// neverNullLocals makes locals whose type excludes null, and sets them, where the function begins.
func (f *fgen) neverNullLocals() {
	if !f.cfg.GC {
		return
	}
	for range f.r.IntN(4) {
		if t := f.anyRef(); f.notNull(t) {
			f.produce(t)
			f.opIndex(wasmfront.OpLocalSet, f.newLocal(t))
		}
	}
}

// localRef returns a local that may be written with values of type t, new if need be.
func (f *fgen) localRef(t byte) int {
	pick, n := -1, 0
	for i, lt := range f.locals {
		if !f.busy[i] && f.matches(t, lt) {
			if n++; f.r.IntN(n) == 0 {
				pick = i
			}
		}
	}
	if pick < 0 || f.chance(6) && len(f.locals) < 60 {
		return f.newLocal(f.orNull(t))
	}
	return pick
}

// localFor returns a local to keep a value of type t in, as get gives it back.
func (f *fgen) localFor(t byte) int {
	if t >= firstRef {
		return f.newLocal(f.orNull(t))
	}
	return f.local(t)
}

// get pushes a local in which there is a value of type t.
func (f *fgen) get(local int, t byte) {
	f.opIndex(wasmfront.OpLocalGet, local)
	if f.notNull(t) && !f.notNull(f.locals[local]) {
		f.op(wasmfront.OpRefAsNonNull)
	}
}

// keep pops a value of type t into a local of its own, which nothing else writes until free is called.
func (f *fgen) keep(t byte) (local int, free func()) {
	l := f.newLocal(f.orNull(t))
	f.busy[l] = true
	f.opIndex(wasmfront.OpLocalSet, l)
	return l, func() { f.busy[l] = false }
}

// gc emits an operator with indices.
func (f *fgen) gc(op wasmfront.Opcode, index ...int) { f.opIndex(op, index...) }

// cast emits a test or cast.
func (f *fgen) castOp(op, opNull wasmfront.Opcode, t byte) {
	r, _ := f.ref(t)
	if r.null {
		op = opNull
	}
	f.op(op)
	f.b = append(f.b, heapCode(r.heap)...)
}

// branchOnCast emits br_on_cast or br_on_cast_fail.
func (f *fgen) branchOnCast(op wasmfront.Opcode, depth int, from, to byte) {
	a, _ := f.ref(from)
	b, _ := f.ref(to)
	flags := byte(0)
	if a.null {
		flags |= 1
	}
	if b.null {
		flags |= 2
	}
	f.op(op)
	f.b = cat(f.b, []byte{flags}, leb(uint64(depth)), heapCode(a.heap), heapCode(b.heap))
}

// pick returns one of a list.
func pick[T any](f *fgen, list []T) T { return list[f.r.IntN(len(list))] }

// simple pushes a value of type t without more ado.
func (f *fgen) simple(t byte) {
	if t >= firstRef {
		f.simpleRef(t)
		return
	}
	f.konst(t, 1)
}

// simpleRef pushes null, or the least object there is.
func (f *fgen) simpleRef(t byte) {
	r, _ := f.ref(t)
	f.budget--
	if r.null {
		f.op(wasmfront.OpRefNull)
		f.b = append(f.b, heapCode(r.heap)...)
		return
	}
	heap := r.heap
	switch heap {
	case heapAny, heapEq, heapI31:
		f.konst('i', uint64(f.r.IntN(99)))
		f.gc(wasmfront.OpRefI31)
		return
	case heapExtern:
		f.simpleRef(f.letter(heapI31, false))
		f.gc(wasmfront.OpExternConvertAny)
		return
	case heapFunc:
		f.opIndex(wasmfront.OpRefFunc, f.r.IntN(f.firstHelper))
		return
	case heapStruct:
		heap = nodeType
	case heapArray:
		heap = bytesType
	}
	d := &f.defined[heap]
	switch {
	case d.kind == funcKind:
		f.opIndex(wasmfront.OpRefFunc, pick(f, f.within(heap)))
	case d.kind == arrayKind:
		f.gc(wasmfront.OpArrayNewFixed, heap, 0)
	case d.sealed:
		f.sealedObject(heap)
	case f.defaultable(heap):
		f.gc(wasmfront.OpStructNewDefault, heap)
	default:
		for _, x := range d.fields {
			f.simpleField(x.typ)
		}
		f.gc(wasmfront.OpStructNew, heap)
	}
}

func (f *fgen) simpleField(t byte) {
	switch {
	case t == 'v':
		f.vectorConst(f.vectorBits())
	case t >= firstRef:
		f.simpleRef(t)
	default:
		f.konst(t, f.bits(t))
	}
}

// object pushes a reference of type t.
func (f *fgen) object(t byte) {
	r, _ := f.ref(t)
	if f.budget <= 0 || f.depth > maxDepth {
		f.simpleRef(t)
		return
	}
	n := f.r.IntN(100)
	switch {
	case n < 28 && f.readLocal(t), n < 38 && f.readGlobal(t), n < 44 && f.readTable(t), n < 58 && f.loadRef(t), n < 62 && f.callObject(t):
	case n < 70:
		f.downcast(t)
	case n < 73:
		f.blockFor(t)
	case n < 75:
		f.produce(t)
		f.produce(t)
		f.condition()
		f.op(wasmfront.OpSelectT)
		f.b = cat(f.b, []byte{1}, f.valType(t))
	case n < 78 && !r.null && f.smallAt == 0:
		f.orElse(t)
	case n < 80 && !r.null && !f.cfg.NoTraps && f.chance(3):
		f.produce(f.orNull(t))
		f.op(wasmfront.OpRefAsNonNull)
	case n < 83 && r.null:
		f.simpleRef(t)
	case n < 85:
		f.produce(t)
		if l := f.localRef(t); f.matches(f.locals[l], t) {
			f.opIndex(wasmfront.OpLocalTee, l)
		}
	default:
		f.makeObject(r)
	}
}

// readLocal pushes a local of type t, if there is one.
func (f *fgen) readLocal(t byte) bool {
	pick, n := -1, 0
	for i, lt := range f.locals {
		if (lt >= firstRef || lt == 'r' || lt == 'x') && f.matches(lt, t) {
			if n++; f.r.IntN(n) == 0 {
				pick = i
			}
		}
	}
	if pick < 0 {
		return false
	}
	f.opIndex(wasmfront.OpLocalGet, pick)
	return true
}

func (f *fgen) readGlobal(t byte) bool {
	pick, n := -1, 0
	for i := range f.globals {
		if f.globals[i].typ != exnRef && f.matches(f.globals[i].typ, t) {
			if n++; f.r.IntN(n) == 0 {
				pick = i
			}
		}
	}
	if pick < 0 {
		return false
	}
	f.opIndex(wasmfront.OpGlobalGet, pick)
	return true
}

func (f *fgen) readTable(t byte) bool {
	i := f.r.IntN(len(f.tables))
	if !f.matches(f.tables[i], t) {
		return false
	}
	f.small(tableLen)
	f.opIndex(wasmfront.OpTableGet, f.firstHeapTable()+i)
	return true
}

// callObject calls a function that returns such a reference.
func (f *fgen) callObject(t byte) bool {
	if len(f.callable(t)) == 0 {
		return false
	}
	f.callFor(t)
	return true
}

// place is a field, or the elements of an array.
type place struct{ typ, field int }

// places returns the fields and elements for which a condition holds.
func (g *gen) places(ok func(i int, x *field) bool) (list []place) {
	for i := range g.defined {
		for k := range g.defined[i].fields {
			if ok(i, &g.defined[i].fields[k]) {
				list = append(list, place{i, k})
			}
		}
	}
	return list
}

// loadRef pushes a reference out of an object.
func (f *fgen) loadRef(t byte) bool {
	list := f.places(func(_ int, x *field) bool { _, ok := f.ref(x.typ); return ok && f.matches(x.typ, t) })
	if len(list) == 0 {
		return false
	}
	p := pick(f, list)
	f.load(p, f.defined[p.typ].fields[p.field].typ)
	return true
}

// operandObject pushes a reference to an object of type i, which is null now and then, if there are traps.
func (f *fgen) operandObject(i int) { f.produce(f.letter(i, !f.cfg.NoTraps && f.chance(12))) }

// load pushes what is in a place, of which t is the type.
func (f *fgen) load(p place, t byte) {
	d := &f.defined[p.typ]
	packed := d.fields[p.field].packed > 0
	if d.kind == structKind {
		f.operandObject(p.typ)
		f.gc(getter(packed, f.chance(2), wasmfront.OpStructGet), p.typ, p.field)
		return
	}
	f.element(p.typ, t, func() { f.gc(getter(packed, f.chance(2), wasmfront.OpArrayGet), p.typ) })
}

// getter returns the operator that reads a field: plain, or one of the two behind it.
func getter(packed, signed bool, plain wasmfront.Opcode) wasmfront.Opcode {
	switch {
	case !packed:
		return plain
	case signed:
		return plain + 1
	}
	return plain + 2
}

// element pushes an array and an index, and then what get makes of it. Mostly it looks first whether the array has elements, and where not, pushes something else.
func (f *fgen) element(i int, t byte, get func()) {
	if !f.cfg.NoTraps && f.chance(10) {
		f.operandObject(i)
		f.small(8)
		get()
		return
	}
	f.operandObject(i)
	a, free := f.keep(f.letter(i, true))
	f.opIndex(wasmfront.OpLocalGet, a)
	f.gc(wasmfront.OpArrayLen)
	results := string([]byte{t})
	if t == 0 {
		results = ""
	}
	f.open(wasmfront.OpIf, "", results, results)
	f.opIndex(wasmfront.OpLocalGet, a)
	if f.chance(3) {
		f.konst('i', 0)
	} else {
		f.produce('i')
		f.opIndex(wasmfront.OpLocalGet, a)
		f.gc(wasmfront.OpArrayLen)
		f.op(wasmfront.OpI32RemU)
	}
	get()
	if t != 0 {
		f.op(wasmfront.OpElse)
		f.simpleAny(t)
	}
	f.close()
	free()
}

// simpleAny is simple for all types.
func (f *fgen) simpleAny(t byte) {
	if t == 'v' {
		f.vectorConst(f.vectorBits())
		return
	}
	f.simple(t)
}

// wider returns a type of the same hierarchy that t is within.
func (f *fgen) wider(t byte) byte {
	r, _ := f.ref(t)
	list := []int{r.heap, f.top(r.heap)}
	if f.top(r.heap) == heapAny {
		for _, h := range []int{heapEq, heapStruct, heapArray} {
			if f.heapSub(r.heap, h) {
				list = append(list, h)
			}
		}
	}
	if r.heap >= 0 {
		for s := f.defined[r.heap].super; s >= 0; s = f.defined[s].super {
			list = append(list, s)
		}
	}
	return f.letter(pick(f, list), r.null || f.chance(2))
}

// sideways returns a type of the same hierarchy.
func (f *fgen) sideways(t byte) byte {
	r, _ := f.ref(t)
	for range 10 {
		s := f.anyRef()
		if other, _ := f.ref(s); f.top(other.heap) == f.top(r.heap) {
			return s
		}
	}
	return f.wider(t)
}

// downcast pushes a reference of type t out of one of a wider type: with a cast that may trap, or a branch.
func (f *fgen) downcast(t byte) {
	from := f.wider(t)
	r, _ := f.ref(t)
	other, _ := f.ref(from)
	results := string([]byte{t})
	switch n := f.r.IntN(8); {
	case n == 0 && !f.cfg.NoTraps && f.chance(2):
		f.produce(f.sideways(t))
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, t)
	case n == 1: // up
		f.produce(t)
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, t)
	case n < 4:
		f.open(wasmfront.OpBlock, "", results, results)
		f.produce(from)
		f.branchOnCast(wasmfront.OpBrOnCast, 0, from, t)
		f.op(wasmfront.OpDrop)
		f.produce(t)
		f.close()
	case n < 6:
		rest := string([]byte{f.letter(other.heap, other.null && !r.null)})
		f.open(wasmfront.OpBlock, "", results, results)
		f.open(wasmfront.OpBlock, "", rest, rest)
		f.labels[len(f.labels)-1].reserved = true // there may be no value of such a type
		f.produce(from)
		f.branchOnCast(wasmfront.OpBrOnCastFail, 0, from, t)
		f.opIndex(wasmfront.OpBr, 1)
		f.close()
		f.consume(rest)
		f.produce(t)
		f.close()
	default:
		f.produce(from)
		l, free := f.keep(from)
		f.opIndex(wasmfront.OpLocalGet, l)
		f.castOp(wasmfront.OpRefTest, wasmfront.OpRefTestNull, t)
		f.open(wasmfront.OpIf, "", results, results)
		f.opIndex(wasmfront.OpLocalGet, l)
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, t)
		f.op(wasmfront.OpElse)
		f.produce(t)
		f.close()
		free()
	}
}

// orElse pushes the first of two references that is not null.
func (f *fgen) orElse(t byte) {
	results := string([]byte{t})
	f.open(wasmfront.OpBlock, "", results, results)
	if f.chance(2) {
		f.produce(f.orNull(t))
		f.opIndex(wasmfront.OpBrOnNonNull, 0)
	} else {
		f.open(wasmfront.OpBlock, "", "", "")
		f.produce(f.orNull(t))
		f.opIndex(wasmfront.OpBrOnNull, 0)
		f.opIndex(wasmfront.OpBr, 1)
		f.close()
	}
	f.produce(t)
	f.close()
}

// makeObject pushes a new object, small integer or reference to a function of a type.
func (f *fgen) makeObject(r refType) {
	list := f.concrete(r.heap)
	switch {
	case r.heap == heapNone || r.heap == heapNoExtern || r.heap == heapNoFunc:
		f.simpleRef(f.letter(r.heap, true))
	case r.heap == heapI31, (r.heap == heapAny || r.heap == heapEq) && f.chance(4):
		f.produce('i')
		f.gc(wasmfront.OpRefI31)
	case r.heap == heapExtern:
		f.produce(f.letter(heapAny, r.null))
		f.gc(wasmfront.OpExternConvertAny)
	case r.heap == heapAny && f.chance(5):
		f.produce(f.letter(heapExtern, r.null))
		f.gc(wasmfront.OpAnyConvertExtern)
	case r.heap == heapFunc || len(list) == 0:
		f.simpleRef(f.letter(r.heap, false))
	default:
		f.newObject(pick(f, list))
	}
}

// fieldValue pushes a value for a field.
func (f *fgen) fieldValue(t byte) {
	switch {
	case t < firstRef && f.chance(2):
		f.leaf(t)
	case t >= firstRef && f.chance(3) && f.readLocal(t):
	case t >= firstRef && f.chance(4):
		f.simpleRef(t)
	default:
		f.produce(t)
	}
}

// newObject pushes a new object of type i.
func (f *fgen) newObject(i int) {
	d := &f.defined[i]
	switch {
	case d.kind == funcKind:
		f.opIndex(wasmfront.OpRefFunc, pick(f, f.within(i)))
	case d.kind == arrayKind:
		f.newArray(i)
	case d.sealed:
		f.sealedObject(i)
	case f.defaultable(i) && f.chance(4):
		f.gc(wasmfront.OpStructNewDefault, i)
	default:
		for k, x := range d.fields {
			if k > 0 || !f.ownTable(i) {
				f.fieldOrExtra(x.typ)
			}
		}
		f.gc(wasmfront.OpStructNew, i)
	}
}

// fieldOrExtra is fieldValue of all types that fields have.
func (f *fgen) fieldOrExtra(t byte) {
	if t == exnRef {
		f.konst(t, 0)
		return
	}
	f.fieldValue(t)
}

// arrayLength pushes the length of an array, which is small, but for one that no engine has room for.
func (f *fgen) arrayLength() {
	switch {
	case !f.cfg.NoTraps && f.chance(80):
		f.konst('i', 0xFFFFFFFF)
	case f.chance(2):
		f.konst('i', uint64(f.length(12)))
	default:
		f.produce('i')
		f.konst('i', []uint64{3, 15, 15, 63}[f.r.IntN(4)])
		f.op(wasmfront.OpI32And)
	}
}

// elementBytes is the size of an element in a data segment, 0 if it cannot come from one.
func (g *gen) elementBytes(i int) int {
	x := g.defined[i].fields[0]
	if x.packed > 0 {
		return x.packed / 8
	}
	return map[byte]int{'i': 4, 'f': 4, 'l': 8, 'd': 8, 'v': 16}[x.typ]
}

// segmentFor returns an element segment for array type i, or -1.
func (f *fgen) segmentFor(i int) int {
	t := f.defined[i].fields[0].typ
	pick, n := -1, 0
	for k, s := range f.segments {
		if f.matches(s, t) {
			if n++; f.r.IntN(n) == 0 {
				pick = numElems + k
			}
		}
	}
	if t == 'r' && f.chance(2) {
		return 1
	}
	return pick
}

// fromSegment pushes an offset into a segment, and how many elements come from there, mostly such that they are there.
func (f *fgen) fromSegment(limit int) {
	if !f.cfg.NoTraps && f.chance(12) {
		f.small(limit)
		f.small(limit)
		return
	}
	for _, n := range []int{limit / 2, max(limit/8, 1)} {
		if f.chance(2) {
			f.konst('i', uint64(f.r.IntN(n)))
		} else {
			f.produce('i')
			f.konst('i', uint64(n))
			f.op(wasmfront.OpI32RemU)
		}
	}
}

func (f *fgen) newArray(i int) {
	x := f.defined[i].fields[0]
	size, segment := f.elementBytes(i), f.segmentFor(i)
	switch n := f.r.IntN(8); {
	case n < 2 && size > 0:
		f.fromSegment(min(heapDataLen/size, 30))
		f.gc(wasmfront.OpArrayNewData, i, numDatas)
	case n < 4 && segment >= 0:
		f.fromSegment(tableLen / 2)
		f.gc(wasmfront.OpArrayNewElem, i, segment)
	case n < 5 && f.defaultable(i):
		f.arrayLength()
		f.gc(wasmfront.OpArrayNewDefault, i)
	case n < 7:
		count := f.r.IntN(5)
		for range count {
			f.fieldOrExtra(x.typ)
		}
		f.gc(wasmfront.OpArrayNewFixed, i, count)
	default:
		f.fieldOrExtra(x.typ)
		f.arrayLength()
		f.gc(wasmfront.OpArrayNew, i)
	}
}

// heapNumber pushes a number that has to do with objects, and reports whether there is one.
func (f *fgen) heapNumber(t byte) bool {
	if t == 'i' && f.chance(2) {
		f.askObject()
		return true
	}
	if t == 'l' && f.smallAt == 0 && f.chance(12) {
		f.produce(f.letter(heapAny, true))
		f.konst('i', uint64(1+f.r.IntN(3)))
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperHash)
		return true
	}
	list := f.places(func(_ int, x *field) bool { return x.typ == t })
	if len(list) == 0 || strings.IndexByte("ilfdv", t) < 0 {
		return false
	}
	f.load(pick(f, list), t)
	return true
}

// askObject pushes an i32 that says something of an object.
func (f *fgen) askObject() {
	switch f.r.IntN(6) {
	case 0:
		var list []int
		for i := range f.defined {
			if f.defined[i].kind == arrayKind {
				list = append(list, i)
			}
		}
		f.operandObject(pick(f, list))
		f.gc(wasmfront.OpArrayLen)
	case 1:
		for range 2 {
			f.produce(f.letter([]int{heapEq, heapEq, heapStruct, heapI31, f.r.IntN(2)}[f.r.IntN(5)], f.chance(2)))
		}
		f.gc(wasmfront.OpRefEq)
	case 2:
		f.produce(f.anyRef())
		f.op(wasmfront.OpRefIsNull)
	case 3:
		f.produce(f.letter(heapI31, !f.cfg.NoTraps && f.chance(12)))
		f.gc([]wasmfront.Opcode{wasmfront.OpI31GetS, wasmfront.OpI31GetU}[f.r.IntN(2)])
	default:
		t := f.anyRef()
		if f.chance(2) {
			f.produce(f.wider(t))
		} else {
			f.produce(f.sideways(t))
		}
		f.castOp(wasmfront.OpRefTest, wasmfront.OpRefTestNull, t)
	}
}
