package wasmgen

import (
	"slices"

	"github.com/waot-project/waot/wasmfront"
)

// This file makes statements of garbage collection: writes to objects, loops that make many, calls through references in them.

// heapStatement is one of them.
func (f *fgen) heapStatement() {
	if f.smallAt > 0 {
		return
	}
	if len(f.family.classes) > 0 && f.chance(3) {
		f.methodCall()
		return
	}
	if f.chance(6) {
		f.localObject()
		return
	}
	switch n := f.r.IntN(50); {
	case n < 8, n >= 46:
		f.setField()
	case n < 13, n >= 40:
		f.bulkArray()
	case n < 17:
		t := f.anyRef()
		f.produce(t)
		f.opIndex(wasmfront.OpLocalSet, f.localRef(t))
	case n < 21:
		f.setGlobalRef()
	case n < 25:
		f.heapTableOp()
	case n < 28:
		f.makeMany()
	case n < 29:
		f.walk()
	case n < 30:
		f.growTree()
	case n < 31:
		f.bigArray()
	case n < 35:
		f.castStatement()
	case n < 38:
		f.callDeclared()
	default:
		f.noteHash()
	}
}

// setField writes to a field or element.
func (f *fgen) setField() {
	list := f.places(func(i int, x *field) bool { return x.mutable && x.typ != exnRef })
	p := pick(f, list)
	d := &f.defined[p.typ]
	t := d.fields[p.field].typ
	if d.kind == structKind {
		f.operandObject(p.typ)
		f.fieldValue(t)
		f.gc(wasmfront.OpStructSet, p.typ, p.field)
		return
	}
	f.element(p.typ, 0, func() {
		f.fieldValue(t)
		f.gc(wasmfront.OpArraySet, p.typ)
	})
}

// arrays returns the types of arrays whose elements can be written and are as ok says.
func (g *gen) arrays(ok func(i int, x *field) bool) (list []int) {
	for _, p := range g.places(func(i int, x *field) bool {
		return g.defined[i].kind == arrayKind && x.mutable && x.typ != exnRef && ok(i, x)
	}) {
		list = append(list, p.typ)
	}
	return list
}

// bulkArray writes to many elements of an array.
func (f *fgen) bulkArray() {
	any := func(int, *field) bool { return true }
	switch f.r.IntN(4) {
	case 0:
		i := pick(f, f.arrays(any))
		f.part(i, func(push func()) {
			f.fieldValue(f.defined[i].fields[0].typ)
			push()
			f.gc(wasmfront.OpArrayFill, i)
		})
	case 1:
		f.copyArray(pick(f, f.arrays(any)))
	case 2:
		i := pick(f, f.arrays(func(i int, x *field) bool { return f.elementBytes(i) > 0 }))
		f.part(i, func(push func()) {
			f.produce('i')
			f.konst('i', 8)
			f.op(wasmfront.OpI32RemU)
			push()
			f.gc(wasmfront.OpArrayInitData, i, numDatas)
		})
	default:
		list := f.arrays(func(i int, x *field) bool { return f.segmentFor(i) >= 0 })
		if len(list) == 0 {
			return
		}
		i := pick(f, list)
		segment := f.segmentFor(i)
		if segment < 0 {
			segment = 1
		}
		f.part(i, func(push func()) {
			f.konst('i', uint64(f.r.IntN(2)))
			push()
			f.gc(wasmfront.OpArrayInitElem, i, segment)
		})
	}
}

// part pushes an array of type i and a place in it, and calls do, which is to push more, with what pushes a length: 1 if the array has elements. Traps have other lengths.
func (f *fgen) part(i int, do func(push func())) {
	if !f.cfg.NoTraps && f.chance(8) {
		f.operandObject(i)
		f.small(4)
		do(func() { f.small(4) })
		return
	}
	f.operandObject(i)
	a, free := f.keep(f.letter(i, true))
	f.opIndex(wasmfront.OpLocalGet, a)
	f.produce('i')
	f.konst('i', uint64(1+f.r.IntN(4)))
	f.op(wasmfront.OpI32RemU)
	at := f.newLocal('i')
	f.busy[at] = true
	f.opIndex(wasmfront.OpLocalTee, at)
	f.lowerLength(a, at)
	f.opIndex(wasmfront.OpLocalGet, at)
	do(func() { // what is left behind the place, up to 3
		f.opIndex(wasmfront.OpLocalGet, a)
		f.gc(wasmfront.OpArrayLen)
		f.opIndex(wasmfront.OpLocalGet, at)
		f.op(wasmfront.OpI32Sub)
		f.konst('i', 3)
		f.least()
	})
	free()
	f.busy[at] = false
}

// lowerLength pops what is in local at, and makes that local at most the length of the array in local a.
func (f *fgen) lowerLength(a, at int) {
	f.opIndex(wasmfront.OpLocalGet, a)
	f.gc(wasmfront.OpArrayLen)
	f.least()
	f.opIndex(wasmfront.OpLocalSet, at)
}

// least makes the lesser of two small i32.
func (f *fgen) least() {
	x, y := f.newLocal('i'), f.newLocal('i')
	f.opIndex(wasmfront.OpLocalSet, y)
	f.opIndex(wasmfront.OpLocalTee, x)
	f.opIndex(wasmfront.OpLocalGet, y)
	f.opIndex(wasmfront.OpLocalGet, x)
	f.opIndex(wasmfront.OpLocalGet, y)
	f.op(wasmfront.OpI32LtU)
	f.op(wasmfront.OpSelect)
}

// copyArray copies elements, often within one array.
func (f *fgen) copyArray(to int) {
	t := f.defined[to].fields[0]
	var from []int
	for i := range f.defined {
		if d := &f.defined[i]; d.kind == arrayKind && d.fields[0].packed == t.packed && (f.matches(d.fields[0].typ, t.typ)) {
			from = append(from, i)
		}
	}
	i := pick(f, from)
	f.part(to, func(push func()) {
		f.operandObject(i)
		a, free := f.keep(f.letter(i, true))
		at := f.newLocal('i')
		f.busy[at] = true
		f.opIndex(wasmfront.OpLocalGet, a)
		if f.cfg.NoTraps || !f.chance(8) {
			f.konst('i', uint64(f.r.IntN(3)))
			f.lowerLength(a, at)
		} else {
			f.small(4)
			f.opIndex(wasmfront.OpLocalSet, at)
		}
		f.opIndex(wasmfront.OpLocalGet, at)
		push()
		f.opIndex(wasmfront.OpLocalGet, a)
		f.gc(wasmfront.OpArrayLen)
		f.opIndex(wasmfront.OpLocalGet, at)
		f.op(wasmfront.OpI32Sub)
		f.least()
		f.gc(wasmfront.OpArrayCopy, to, i)
		free()
		f.busy[at] = false
	})
}

// setGlobalRef keeps a reference in a global.
func (f *fgen) setGlobalRef() {
	var list []int
	for i := range f.globals {
		if g := &f.globals[i]; g.typ >= firstRef && g.mutable {
			list = append(list, i)
		}
	}
	i := pick(f, list)
	f.produce(f.globals[i].typ)
	f.opIndex(wasmfront.OpGlobalSet, i)
}

// heapTableOp works on a table of references.
func (f *fgen) heapTableOp() {
	i := f.r.IntN(len(f.tables))
	t, table := f.tables[i], f.firstHeapTable()+i
	switch f.r.IntN(6) {
	case 0:
		f.small(tableLen / 2)
		f.produce(t)
		f.small(tableLen / 2)
		f.opIndex(wasmfront.OpTableFill, table)
	case 1:
		f.produce(t)
		f.konst('i', uint64(f.r.IntN(3)))
		f.opIndex(wasmfront.OpTableGrow, table)
		f.opIndex(wasmfront.OpLocalSet, f.local('i'))
	case 2:
		var from []int
		for k, x := range f.tables {
			if f.matches(x, t) {
				from = append(from, k)
			}
		}
		for range 3 {
			f.small(tableLen / 2)
		}
		f.opIndex(wasmfront.OpTableCopy, table, f.firstHeapTable()+pick(f, from))
	case 3:
		k := f.r.IntN(len(f.segments))
		if !f.matches(f.segments[k], t) || k == 0 && f.cfg.NoTraps { // the first may be active
			return
		}
		f.small(tableLen / 2)
		f.small(2)
		f.small(3)
		f.opIndex(wasmfront.OpTableInit, numElems+k, table)
	default:
		f.small(tableLen)
		f.produce(t)
		f.opIndex(wasmfront.OpTableSet, table)
	}
	if !f.cfg.NoTraps && f.chance(30) {
		f.opIndex(wasmfront.OpElemDrop, numElems+f.r.IntN(len(f.segments)))
	}
}

// bigArray makes an array that collectors do not copy, changes some of it, and keeps it.
func (f *fgen) bigArray() {
	i := pick(f, f.arrays(func(_ int, x *field) bool { return !f.notNull(x.typ) }))
	f.open(wasmfront.OpBlock, "", "", "")
	f.spendHeapFuel(0, 100)
	length := 500 + f.r.IntN(4000)
	if f.chance(2) {
		f.konst('i', uint64(length))
		f.gc(wasmfront.OpArrayNewDefault, i)
	} else {
		f.fieldOrExtra(f.defined[i].fields[0].typ)
		f.konst('i', uint64(length))
		f.gc(wasmfront.OpArrayNew, i)
	}
	a, free := f.keep(f.letter(i, false))
	for range 1 + f.r.IntN(3) {
		f.opIndex(wasmfront.OpLocalGet, a)
		f.konst('i', uint64(f.r.IntN(length)))
		f.fieldValue(f.defined[i].fields[0].typ)
		f.gc(wasmfront.OpArraySet, i)
	}
	f.opIndex(wasmfront.OpLocalGet, a)
	f.opIndex(wasmfront.OpLocalSet, f.localRef(f.letter(i, true)))
	f.small(tableLen)
	f.opIndex(wasmfront.OpLocalGet, a)
	f.opIndex(wasmfront.OpTableSet, f.firstHeapTable())
	free()
	f.close()
}

// spendHeapFuel takes of what loops may make, and leaves the block at a depth if there is no more.
func (f *fgen) spendHeapFuel(depth, cost int) {
	f.opIndex(wasmfront.OpGlobalGet, globalHeapFuel)
	f.konst('i', uint64(cost))
	f.op(wasmfront.OpI32Sub)
	f.opIndex(wasmfront.OpGlobalSet, globalHeapFuel)
	f.opIndex(wasmfront.OpGlobalGet, globalHeapFuel)
	f.konst('i', 0)
	f.op(wasmfront.OpI32LtS)
	f.opIndex(wasmfront.OpBrIf, depth)
}

// makeMany makes objects in a loop: a chain or a net of nodes, what they refer to, and garbage. Some of it is kept.
func (f *fgen) makeMany() {
	if f.loops >= maxLoops {
		return
	}
	f.loops++
	i := pick(f, slices.DeleteFunc(f.concrete(nodeType), func(i int) bool { return f.defined[i].kind != structKind }))
	node := f.letter(nodeType, true)
	head, other, count := f.newLocal(node), f.newLocal(node), f.newLocal('i')
	f.busy[head], f.busy[other], f.busy[count] = true, true, true
	if f.chance(2) {
		f.produce(node)
		f.opIndex(wasmfront.OpLocalSet, head)
	}
	f.konst('i', uint64([]int{3, 20, 200, 2000, 30000}[f.r.IntN(5)]))
	f.opIndex(wasmfront.OpLocalSet, count)
	f.open(wasmfront.OpBlock, "", "", "")
	f.open(wasmfront.OpLoop, "", "", "")
	f.labels[len(f.labels)-1].reserved = true
	f.spendHeapFuel(1, 1)
	if f.chance(2) { // garbage
		f.newObject(f.r.IntN(len(f.defined)))
		f.op(wasmfront.OpDrop)
	}
	links := []int{head, other}
	for k, x := range f.defined[i].fields {
		switch {
		case k == 0:
			f.opIndex(wasmfront.OpLocalGet, count)
			if x.typ == 'l' {
				f.op(wasmfront.OpI64ExtendI32U)
			}
		case k == 1 || k == 2 && f.matches(node, x.typ):
			if !f.matches(node, x.typ) { // it is narrower in this subtype
				f.simpleField(x.typ)
				continue
			}
			f.opIndex(wasmfront.OpLocalGet, links[(k+1)%2])
			f.swap(&links)
		case f.chance(3):
			f.fieldOrExtra(x.typ)
		default:
			f.simpleField(x.typ)
		}
	}
	f.gc(wasmfront.OpStructNew, i)
	f.opIndex(wasmfront.OpLocalSet, head)
	switch f.r.IntN(4) {
	case 0:
		f.opIndex(wasmfront.OpLocalGet, head)
		f.opIndex(wasmfront.OpLocalSet, other)
	case 1: // few are kept
		f.opIndex(wasmfront.OpLocalGet, count)
		f.konst('i', 7)
		f.op(wasmfront.OpI32And)
		f.open(wasmfront.OpIf, "", "", "")
		f.op(wasmfront.OpRefNull)
		f.b = append(f.b, heapCode(nodeType)...)
		f.opIndex(wasmfront.OpLocalSet, head)
		f.op(wasmfront.OpElse)
		f.opIndex(wasmfront.OpLocalGet, head)
		f.opIndex(wasmfront.OpLocalSet, other)
		f.close()
	}
	f.opIndex(wasmfront.OpLocalGet, count)
	f.konst('i', 1)
	f.op(wasmfront.OpI32Sub)
	f.opIndex(wasmfront.OpLocalTee, count)
	f.opIndex(wasmfront.OpBrIf, 0)
	f.close()
	f.close()
	if f.chance(3) { // a cycle
		f.closeCycle(head, other)
	}
	f.keepNode(head)
	f.busy[head], f.busy[other], f.busy[count] = false, false, f.chance(2)
	f.loops--
}

// swap changes the order of two, now and then.
func (f *fgen) swap(links *[]int) {
	if f.chance(6) {
		slices.Reverse(*links)
	}
}

// closeCycle makes what a node refers to refer back to it, if it is not null.
func (f *fgen) closeCycle(a, b int) {
	f.opIndex(wasmfront.OpLocalGet, a)
	f.op(wasmfront.OpRefIsNull)
	f.op(wasmfront.OpI32Eqz)
	f.open(wasmfront.OpIf, "", "", "")
	f.opIndex(wasmfront.OpLocalGet, a)
	f.opIndex(wasmfront.OpLocalGet, pick(f, []int{a, b}))
	f.gc(wasmfront.OpStructSet, nodeType, 1)
	f.close()
}

// keepNode keeps a node where calls that come later find it.
func (f *fgen) keepNode(local int) {
	node := f.letter(nodeType, true)
	switch f.r.IntN(4) {
	case 0:
		var list []int
		for i := range f.globals {
			if g := &f.globals[i]; g.mutable && g.typ != exnRef && f.matches(node, g.typ) {
				list = append(list, i)
			}
		}
		f.opIndex(wasmfront.OpLocalGet, local)
		f.opIndex(wasmfront.OpGlobalSet, pick(f, list))
	case 1:
		f.small(tableLen)
		f.opIndex(wasmfront.OpLocalGet, local)
		f.opIndex(wasmfront.OpTableSet, f.firstHeapTable())
	case 2:
		f.opIndex(wasmfront.OpLocalGet, local)
		f.konst('i', uint64(1+f.r.IntN(4)))
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperHash)
		f.opIndex(wasmfront.OpLocalSet, f.local('l'))
	}
}

// walk adds up what is in a chain of nodes.
func (f *fgen) walk() {
	if f.loops >= maxLoops {
		return
	}
	f.loops++
	node := f.letter(nodeType, true)
	at, count, sum := f.newLocal(node), f.newLocal('i'), f.local('l')
	f.produce(node)
	f.opIndex(wasmfront.OpLocalSet, at)
	f.konst('i', uint64(1+f.r.IntN(300)))
	f.opIndex(wasmfront.OpLocalSet, count)
	f.busy[at], f.busy[count], f.busy[sum] = true, true, true
	f.open(wasmfront.OpBlock, "", "", "")
	f.open(wasmfront.OpLoop, "", "", "")
	f.labels[len(f.labels)-1].reserved = true
	f.spendHeapFuel(1, 1)
	f.opIndex(wasmfront.OpLocalGet, sum)
	f.konst('l', 31)
	f.op(wasmfront.OpI64Mul)
	f.opIndex(wasmfront.OpLocalGet, at)
	f.opIndex(wasmfront.OpBrOnNull, 1)
	f.gc(wasmfront.OpStructGet, nodeType, 0)
	if f.defined[nodeType].fields[0].typ == 'i' {
		f.op(wasmfront.OpI64ExtendI32S)
	}
	f.op(wasmfront.OpI64Add)
	f.opIndex(wasmfront.OpLocalSet, sum)
	if f.chance(4) {
		f.statement()
	}
	f.opIndex(wasmfront.OpLocalGet, at)
	f.op(wasmfront.OpRefAsNonNull)
	f.gc(wasmfront.OpStructGet, nodeType, 1)
	f.opIndex(wasmfront.OpLocalSet, at)
	f.opIndex(wasmfront.OpLocalGet, count)
	f.konst('i', 1)
	f.op(wasmfront.OpI32Sub)
	f.opIndex(wasmfront.OpLocalTee, count)
	f.opIndex(wasmfront.OpBrIf, 0)
	f.close()
	f.close()
	f.busy[at], f.busy[count], f.busy[sum] = false, f.chance(2), false
	f.loops--
}

// growTree makes a tree by a function that calls itself, and perhaps measures it.
func (f *fgen) growTree() {
	node := f.letter(nodeType, true)
	f.konst('i', uint64(1+f.r.IntN(6)))
	f.opIndex(wasmfront.OpCall, f.firstHelper+helperGrow)
	l, free := f.keep(node)
	if f.chance(2) {
		f.statements(1 + f.r.IntN(2)) // it lives meanwhile
	}
	if f.chance(2) {
		f.opIndex(wasmfront.OpLocalGet, l)
		f.konst('i', uint64(1+f.r.IntN(7)))
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperMeasure)
		f.opIndex(wasmfront.OpLocalSet, f.local('l'))
	}
	f.keepNode(l)
	free()
}

// castStatement branches on what a reference is to, to a label that there is.
func (f *fgen) castStatement() {
	t := f.anyRef()
	from := f.wider(t)
	types := f.typeList(f.r.IntN(2), "ilfd")
	results := types + string([]byte{t})
	f.open(wasmfront.OpBlock, "", results, results)
	f.produceAll(types)
	f.produce(from)
	a, _ := f.ref(from)
	b, _ := f.ref(t)
	if f.chance(2) {
		f.branchOnCast(wasmfront.OpBrOnCast, 0, from, t)
		rest := f.letter(a.heap, a.null && !b.null)
		f.opIndex(wasmfront.OpLocalSet, f.localAny(rest))
		f.produce(t)
	} else { // where it is not, it leaves with what it has
		l, free := f.keep(from)
		f.opIndex(wasmfront.OpLocalGet, l)
		f.castOp(wasmfront.OpRefTest, wasmfront.OpRefTestNull, t)
		f.op(wasmfront.OpI32Eqz)
		f.open(wasmfront.OpIf, "", "", "")
		f.statements(f.r.IntN(2))
		f.produceAll(types)
		f.produce(t)
		f.opIndex(wasmfront.OpBr, 1)
		f.close()
		f.opIndex(wasmfront.OpLocalGet, l)
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, t)
		free()
	}
	f.close()
	f.consume(results)
}

// localAny is local of any type of references.
func (f *fgen) localAny(t byte) int {
	if t >= firstRef {
		return f.localRef(t)
	}
	return f.local(t)
}

// callDeclared calls a function of a type that the module defines, through a reference or a table, as a function of that type or of a supertype. With traps, now and then of
// another type.
func (f *fgen) callDeclared() {
	var list []int
	for i := range f.declared {
		list = append(list, i)
	}
	if len(list) == 0 {
		return
	}
	slices.Sort(list)
	i := pick(f, list)
	as := f.declared[i]
	for f.defined[as].super >= 0 && f.chance(2) {
		as = f.defined[as].super
	}
	if !f.cfg.NoTraps && f.chance(10) {
		as = f.declared[pick(f, list)]
	}
	s := f.defined[as].sig
	f.produceAll(s.params)
	switch f.r.IntN(3) {
	case 0:
		f.produce(f.letter(as, !f.cfg.NoTraps && f.chance(12)))
		f.opIndex(wasmfront.OpCallRef, as)
	case 1:
		f.opIndex(wasmfront.OpRefFunc, i)
		if f.heapSub(f.declared[i], as) {
			f.opIndex(wasmfront.OpCallRef, as)
			break
		}
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, f.letter(as, false))
		f.opIndex(wasmfront.OpCallRef, as)
	default:
		f.opIndex(wasmfront.OpCallIndirect, as, f.tableWith(i))
	}
	f.consume(s.results)
}

// noteHash tells the environment what can be reached from a reference.
func (f *fgen) noteHash() {
	f.produce(f.letter(heapAny, true))
	f.konst('i', uint64(1+f.r.IntN(4)))
	f.opIndex(wasmfront.OpCall, f.firstHelper+helperHash)
	f.opIndex(wasmfront.OpCall, funcNote)
	f.opIndex(wasmfront.OpLocalSet, f.local('l'))
}

// What modules with Counts count besides operators.
const (
	countEntered = iota
	countEnded
	countMethodCalls    // through the table of an object
	countInterfaceCalls // through another table in it
	countConstantCalls  // through a table or function that an immutable global has
	countLocalObjects   // objects that stay in a function, at first
	countLocalEscapes   // those that leave it after all
	numEvents
)

// counted are the operators that they count.
func counted() (list []wasmfront.Opcode) {
	for _, op := range wasmfront.Opcodes() {
		if op.Info().Feature == wasmfront.FeatureGC {
			list = append(list, op)
		}
	}
	return append(list, wasmfront.OpRefAsNonNull, wasmfront.OpBrOnNull, wasmfront.OpBrOnNonNull, wasmfront.OpCallRef, wasmfront.OpCallIndirect, wasmfront.OpThrow)
}

// counters are the names of what modules count.
func (g *gen) counters() (names []string) {
	if !g.cfg.GC || !g.cfg.Counts {
		return nil
	}
	names = []string{"functions entered", "functions ended", // randprog.Counts knows these
		"calls of methods", "calls of methods of interfaces", "calls through immutable globals", "local objects", "local objects that escape"}
	for _, op := range counted() {
		names = append(names, op.Info().Name)
	}
	return names
}

// count counts the operator that comes next.
func (f *fgen) count(op wasmfront.Opcode) {
	if f.cfg.GC && f.cfg.Counts {
		if i := slices.Index(counted(), op); i >= 0 {
			f.countEvent(numEvents + i)
		}
	}
}

func (f *fgen) countEvent(i int) {
	if f.cfg.GC && f.cfg.Counts {
		counter := leb(uint64(len(f.globals) + i))
		f.b = cat(f.b, []byte{0x23}, counter, constant('l', 1), []byte{0x7C, 0x24}, counter)
	}
}
