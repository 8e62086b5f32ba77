package wasmgen

import (
	"slices"

	"github.com/waot-project/waot/wasmfront"
)

// This file makes classes as compilers of languages with objects do: structures whose first field is a table of methods, a structure of references to functions that the
// constant expression of a global makes. Subclasses have tables that are subtypes, with some methods of their own, and those of some are null. A table may have another one,
// of an interface, whose type only a cast tells. Calls go through all of these.

// family is the classes of a module, the first of which is the superclass of all.
type family struct {
	classes    []class
	interfaces []int // types of their tables
}

// class is a class.
type class struct {
	typ, table int // types of the objects and of the table
	super      int // of classes, or -1
	abstract   bool
	id         int
	global     int   // that has the table, unless the class is abstract
	methods    []int // functions by fields of the table, -1 for null
}

// declareClasses adds a group of types: methods, tables of interfaces, tables of methods and classes. Mostly nothing but constant expressions makes tables.
func (g *gen) declareClasses() {
	if !g.cfg.Classes {
		return
	}
	number := len(g.defined)
	methods, interfaces, classes := 1+g.r.IntN(3), (1+g.r.IntN(5))/2, 2+g.r.IntN(3)
	firstInterface := number + methods
	firstTable := firstInterface + interfaces
	firstClass := firstTable + classes
	sealed := g.r.IntN(5) > 0
	var types []heapType
	for range methods {
		s := sig{string([]byte{g.letter(firstClass, true)}) + g.typeList(g.r.IntN(3), "il"), g.typeList(1, "il")}
		types = append(types, heapType{kind: funcKind, super: -1, preset: true, method: true, final: g.r.IntN(2) == 0, sig: s})
	}
	method := func() field { return field{typ: g.letter(number+g.r.IntN(methods), g.r.IntN(2) == 0)} }
	for i := range interfaces {
		g.family.interfaces = append(g.family.interfaces, firstInterface+i)
		types = append(types, heapType{kind: structKind, super: -1, preset: true, sealed: sealed, final: g.r.IntN(2) == 0, fields: []field{{typ: 'i'}, method()}})
	}
	classTypes := make([]heapType, classes)
	for i := range classes {
		c := class{typ: firstClass + i, table: firstTable + i, super: -1, id: i + 1}
		table := heapType{kind: structKind, super: -1, preset: true, sealed: sealed, fields: []field{{typ: 'i'}, method()}}
		object := heapType{kind: structKind, super: -1, preset: true}
		if interfaces > 0 {
			table.fields = append(table.fields, field{typ: g.letter([]int{heapAny, heapEq, heapStruct, firstInterface}[g.r.IntN(4)], true)})
		}
		if i > 0 {
			c.super = g.r.IntN(i)
			super := &g.family.classes[c.super]
			super.abstract = g.r.IntN(2) == 0
			of, ofObject := &types[super.table-number], &classTypes[c.super]
			table.super, table.depth, table.fields = super.table, of.depth+1, append([]field{}, of.fields...)
			object.super, object.depth, object.fields = super.typ, ofObject.depth+1, append([]field{}, ofObject.fields...)
			object.fields[0].typ = g.letter(c.table, false)
		} else {
			object.fields = []field{{typ: g.letter(c.table, false)}}
		}
		for range g.r.IntN(3) {
			table.fields = append(table.fields, method())
		}
		for range g.r.IntN(2) {
			object.fields = append(object.fields, field{typ: "il"[g.r.IntN(2)], mutable: g.r.IntN(4) > 0})
		}
		g.family.classes = append(g.family.classes, c)
		types = append(types, table)
		classTypes[i] = object
	}
	g.group(append(types, classTypes...))
	if g.r.IntN(3) == 0 {
		g.repeatGroup(g.defined[number].group, false)
	}
}

// declareClassGlobals adds the globals that have tables, objects and methods.
func (g *gen) declareClassGlobals() {
	add := func(heap int, null bool, init func() []byte) {
		g.globals = append(g.globals, global{typ: g.letter(heap, null), late: init})
	}
	for _, i := range g.family.interfaces {
		add(i, false, func() []byte { return g.interfaceTable(i) })
	}
	for i := range g.family.classes {
		c := &g.family.classes[i]
		if c.abstract {
			continue
		}
		c.global = len(g.globals)
		add(c.table, false, func() []byte { return g.methodTable(c) })
		if g.r.IntN(4) == 0 { // another one, perhaps with other methods
			add(c.table, true, func() []byte { return g.methodTable(c) })
		}
	}
	for i := range g.family.classes {
		c := &g.family.classes[i]
		if g.r.IntN(2) == 0 {
			add(c.typ, false, func() []byte { return g.constRef(g.letter(c.typ, false), 2) })
		}
		for _, x := range g.defined[c.table].fields {
			if r, ok := g.ref(x.typ); ok && g.isMethod(r.heap) && g.r.IntN(3) == 0 {
				add(r.heap, false, func() []byte { return refFunc(g.oneOf(g.within(r.heap))) })
			}
		}
	}
}

func (g *gen) oneOf(list []int) int { return list[g.r.IntN(len(list))] }

// isMethod reports whether a heap type is that of methods.
func (g *gen) isMethod(heap int) bool { return heap >= 0 && g.defined[heap].method }

func refFunc(i int) []byte { return append([]byte{0xD2}, leb(uint64(i))...) }

// chooseMethods chooses the methods of all classes.
func (g *gen) chooseMethods() {
	for i := range g.family.classes {
		g.methodsOf(&g.family.classes[i])
	}
}

// methodsOf chooses those of a class: those of its superclass, or others, or null.
func (g *gen) methodsOf(c *class) {
	c.methods = nil
	for k, x := range g.defined[c.table].fields {
		m := -1
		r, ok := g.ref(x.typ)
		switch {
		case !ok || !g.isMethod(r.heap):
		case c.super >= 0 && k < len(g.family.classes[c.super].methods) && g.r.IntN(2) == 0:
			m = g.family.classes[c.super].methods[k]
		case r.null && g.r.IntN(3) == 0:
		default:
			m = g.oneOf(g.within(r.heap))
		}
		c.methods = append(c.methods, m)
	}
}

// methodTable makes the table of a class.
func (g *gen) methodTable(c *class) (b []byte) {
	if c.methods == nil || g.r.IntN(8) == 0 {
		g.chooseMethods()
	}
	for k, x := range g.defined[c.table].fields {
		r, ok := g.ref(x.typ)
		switch {
		case !ok:
			b = append(b, constant(x.typ, uint64(c.id))...)
		case g.isMethod(r.heap) && c.methods[k] < 0:
			b = append(append(b, 0xD0), heapCode(r.heap)...)
		case g.isMethod(r.heap):
			b = append(b, refFunc(c.methods[k])...)
		default:
			b = append(b, g.someInterface(r)...)
		}
	}
	return append(b, gcOp(wasmfront.OpStructNew, g.twin(c.table))...)
}

// someInterface makes the table of an interface within a type, or null.
func (g *gen) someInterface(r refType) []byte {
	var list []int
	for _, i := range g.family.interfaces {
		if g.heapSub(i, r.heap) {
			list = append(list, i)
		}
	}
	if len(list) == 0 || g.r.IntN(4) == 0 {
		return append([]byte{0xD0}, heapCode(r.heap)...)
	}
	i := g.oneOf(list)
	if b := g.constGlobal(g.letter(i, false)); b != nil && g.r.IntN(2) == 0 {
		return b
	}
	return g.interfaceTable(i)
}

func (g *gen) interfaceTable(i int) (b []byte) {
	for _, x := range g.defined[i].fields {
		r, ok := g.ref(x.typ)
		switch {
		case !ok:
			b = append(b, constant(x.typ, uint64(i))...)
		case r.null && g.r.IntN(3) == 0:
			b = append(append(b, 0xD0), heapCode(r.heap)...)
		default:
			b = append(b, refFunc(g.oneOf(g.within(r.heap)))...)
		}
	}
	return append(b, gcOp(wasmfront.OpStructNew, g.twin(i))...)
}

// twin is a type that is the same as type i.
func (g *gen) twin(i int) int {
	var list []int
	for k := range g.defined {
		if g.defined[k].same == g.defined[i].same {
			list = append(list, k)
		}
	}
	return g.oneOf(list)
}

// constants are the immutable globals of this file of a type.
func (g *gen) constants(t byte) (list []int) {
	for i := range g.globals {
		if gl := &g.globals[i]; gl.late != nil && gl.typ >= firstRef && g.matches(gl.typ, t) {
			list = append(list, i)
		}
	}
	return list
}

// constGlobal reads one of them in a constant expression, where there is one.
func (g *gen) constGlobal(t byte) []byte {
	if list := g.constants(t); len(list) > 0 {
		return append([]byte{0x23}, leb(uint64(g.oneOf(list)))...)
	}
	return nil
}

// sealedObject pushes an object of a type that constant expressions make only. Such a type has a global, or a subtype has.
func (f *fgen) sealedObject(i int) {
	t := f.letter(i, false)
	if list := f.constants(t); len(list) > 0 {
		f.opIndex(wasmfront.OpGlobalGet, pick(f, list))
		return
	}
	f.opIndex(wasmfront.OpGlobalGet, pick(f, f.constants(f.orNull(t))))
	f.op(wasmfront.OpRefAsNonNull)
}

// needsGlobal reports whether an object of type i may read a global with a sealed one.
func (g *gen) needsGlobal(i int) bool {
	d := &g.defined[i]
	return d.sealed || slices.ContainsFunc(d.fields, func(x field) bool {
		r, _ := g.ref(x.typ)
		return g.notNull(x.typ) && r.heap >= 0 && g.needsGlobal(r.heap)
	})
}

// ownTable pushes the table of the class whose objects are of type i, as constructors do, mostly.
func (f *fgen) ownTable(i int) bool {
	for k := range f.family.classes {
		if c := &f.family.classes[k]; c.typ == f.defined[i].same && !c.abstract && !f.chance(5) {
			f.opIndex(wasmfront.OpGlobalGet, c.global)
			return true
		}
	}
	return false
}

// methodCall calls a method of an object.
func (f *fgen) methodCall() {
	c := &f.family.classes[f.r.IntN(len(f.family.classes))]
	f.operandObject(c.typ)
	object, free := f.keep(f.letter(c.typ, true))
	defer free()
	call := callOf{receiver: func() { f.opIndex(wasmfront.OpLocalGet, object) }}
	table := func() {
		f.opIndex(wasmfront.OpLocalGet, object)
		f.gc(wasmfront.OpStructGet, c.typ, 0)
	}
	switch n := f.r.IntN(8); {
	case n == 0 && f.globalMethod(call):
	case n == 1: // the table that a global has
		if list := f.constants(f.letter(c.table, true)); len(list) > 0 {
			g := pick(f, list)
			f.countEvent(countConstantCalls)
			f.callField(call, c.table, func() { f.opIndex(wasmfront.OpGlobalGet, g) })
		}
	case n == 2: // a method of a subclass
		sub := &f.family.classes[f.r.IntN(len(f.family.classes))]
		f.afterTest(f.letter(c.table, true), sub.table, table, func(push func()) {
			f.countEvent(countMethodCalls)
			f.callField(call, sub.table, push)
		})
	case n < 5 && len(f.family.interfaces) > 0:
		if k := f.interfaceField(c.table); k >= 0 {
			i := pick(f, f.family.interfaces)
			f.afterTest(f.defined[c.table].fields[k].typ, i, func() { table(); f.gc(wasmfront.OpStructGet, c.table, k) },
				func(push func()) { f.countEvent(countInterfaceCalls); f.callField(call, i, push) })
		}
	default:
		f.countEvent(countMethodCalls)
		f.callField(call, c.table, table)
	}
}

// beginWithObjects calls methods and makes local objects where many functions begin, since what comes later is often not reached.
func (f *fgen) beginWithObjects() {
	if len(f.family.classes) > 0 && f.chance(2) {
		f.methodCall()
	}
	if f.cfg.GC && f.chance(5) {
		f.localObject()
	}
}

// callOf is a call of a method.
type callOf struct{ receiver func() }

// interfaceField returns the field of a table that has the tables of interfaces, or -1.
func (g *gen) interfaceField(table int) int {
	for k, x := range g.defined[table].fields {
		if r, ok := g.ref(x.typ); ok && !g.isMethod(r.heap) {
			return k
		}
	}
	return -1
}

// globalMethod calls a method that a global has.
func (f *fgen) globalMethod(call callOf) bool {
	var list []int
	for i := range f.globals {
		if gl := &f.globals[i]; gl.late != nil && gl.typ >= firstRef && f.isMethod(f.refs[gl.typ-firstRef].heap) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return false
	}
	g := pick(f, list)
	f.countEvent(countConstantCalls)
	f.callMethod(call, f.refs[f.globals[g].typ-firstRef], func() { f.opIndex(wasmfront.OpGlobalGet, g) })
	return true
}

// afterTest does what then does where a reference, of type from, is to an object of type i.
func (f *fgen) afterTest(from byte, i int, push func(), then func(push func())) {
	to := f.letter(i, false)
	r, ok := f.ref(from)
	if !ok || f.top(r.heap) != heapAny {
		return
	}
	push()
	l, free := f.keep(from)
	defer free()
	f.opIndex(wasmfront.OpLocalGet, l)
	f.castOp(wasmfront.OpRefTest, wasmfront.OpRefTestNull, to)
	f.open(wasmfront.OpIf, "", "", "")
	then(func() {
		f.opIndex(wasmfront.OpLocalGet, l)
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, to)
	})
	f.close()
}

// callField calls a method in a table of type i that push pushes.
func (f *fgen) callField(call callOf, i int, push func()) {
	var list []int
	for k, x := range f.defined[i].fields {
		if r, ok := f.ref(x.typ); ok && f.isMethod(r.heap) {
			list = append(list, k)
		}
	}
	k := pick(f, list)
	r, _ := f.ref(f.defined[i].fields[k].typ)
	f.callMethod(call, r, func() { push(); f.gc(wasmfront.OpStructGet, f.twin(i), k) })
}

// callMethod calls the method that push pushes. If that may be null, it looks first, unless it may trap.
func (f *fgen) callMethod(call callOf, r refType, push func()) {
	s := f.defined[r.heap].sig
	operands := func() {
		call.receiver()
		f.produceAll(s.params[1:])
	}
	if !r.null || !f.cfg.NoTraps && f.chance(2) {
		operands()
		push()
		f.opIndex(wasmfront.OpCallRef, r.heap)
		f.consume(s.results)
		return
	}
	push()
	l, free := f.keep(f.letter(r.heap, true))
	f.opIndex(wasmfront.OpLocalGet, l)
	f.op(wasmfront.OpRefIsNull)
	f.open(wasmfront.OpIf, "", s.results, s.results)
	f.simpleAny(s.results[0])
	f.op(wasmfront.OpElse)
	operands()
	f.opIndex(wasmfront.OpLocalGet, l)
	f.opIndex(wasmfront.OpCallRef, r.heap)
	f.close()
	f.consume(s.results)
	free()
}

// localObject makes a structure or an array of a few elements, reads and writes it, and perhaps lets others see it where a condition holds.
func (f *fgen) localObject() {
	list := f.arrays(func(int, *field) bool { return true })
	i := pick(f, list)
	n := 1 + f.r.IntN(4)
	if f.chance(3) {
		i = pick(f, f.concrete(heapStruct))
		f.newObject(i)
	} else {
		f.shortArray(i, n)
	}
	l, free := f.keep(f.letter(i, true))
	defer free()
	access := func() {
		if f.defined[i].kind == structKind {
			f.accessField(l, i)
		} else {
			f.accessElement(l, i, n)
		}
	}
	f.countEvent(countLocalObjects)
	for range 1 + f.r.IntN(4) {
		access()
	}
	if f.chance(2) {
		return
	}
	f.condition()
	f.open(wasmfront.OpIf, "", "", "")
	f.countEvent(countLocalEscapes)
	switch f.r.IntN(3) {
	case 0:
		f.small(tableLen)
		f.opIndex(wasmfront.OpLocalGet, l)
		f.opIndex(wasmfront.OpTableSet, f.firstHeapTable())
	case 1:
		f.opIndex(wasmfront.OpLocalGet, l)
		f.konst('i', 3)
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperHash)
		f.opIndex(wasmfront.OpLocalSet, f.local('l'))
	default:
		f.opIndex(wasmfront.OpLocalGet, l)
		f.opIndex(wasmfront.OpLocalSet, f.localRef(f.letter(i, true)))
		access()
	}
	f.close()
	for range f.r.IntN(3) {
		access()
	}
}

// shortArray pushes an array of n elements.
func (f *fgen) shortArray(i, n int) {
	t := f.defined[i].fields[0].typ
	switch {
	case f.chance(3) && f.defaultable(i):
		f.konst('i', uint64(n))
		f.gc(wasmfront.OpArrayNewDefault, i)
	case f.chance(3):
		f.fieldOrExtra(t)
		f.konst('i', uint64(n))
		f.gc(wasmfront.OpArrayNew, i)
	default:
		for range n {
			f.fieldOrExtra(t)
		}
		f.gc(wasmfront.OpArrayNewFixed, i, n)
	}
}

// accessField reads or writes a field of the object in a local.
func (f *fgen) accessField(l, i int) {
	fields := f.defined[i].fields
	if len(fields) == 0 {
		return
	}
	k := f.r.IntN(len(fields))
	x := fields[k]
	f.opIndex(wasmfront.OpLocalGet, l)
	if x.mutable && x.typ != exnRef && f.chance(2) {
		f.fieldValue(x.typ)
		f.gc(wasmfront.OpStructSet, i, k)
		return
	}
	f.gc(getter(x.packed > 0, f.chance(2), wasmfront.OpStructGet), i, k)
	f.dropOrKeep(x.typ)
}

// accessElement reads or writes an element of the array in a local, or reads its length.
func (f *fgen) accessElement(l, i, n int) {
	x := f.defined[i].fields[0]
	f.opIndex(wasmfront.OpLocalGet, l)
	if f.chance(6) {
		f.gc(wasmfront.OpArrayLen)
		f.consume("i")
		return
	}
	switch {
	case !f.cfg.NoTraps && f.chance(16):
		f.konst('i', uint64(n))
	case f.chance(4):
		f.produce('i')
		f.konst('i', uint64(n))
		f.op(wasmfront.OpI32RemU)
	default:
		f.konst('i', uint64(f.r.IntN(n)))
	}
	if f.chance(2) {
		f.fieldValue(x.typ)
		f.gc(wasmfront.OpArraySet, i)
		return
	}
	f.gc(getter(x.packed > 0, f.chance(2), wasmfront.OpArrayGet), i)
	f.dropOrKeep(x.typ)
}

// dropOrKeep pops a value of any type that fields have.
func (f *fgen) dropOrKeep(t byte) {
	if t == exnRef {
		f.op(wasmfront.OpDrop)
		return
	}
	f.consume(string([]byte{t}))
}
