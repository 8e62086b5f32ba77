package wasmgen

import "github.com/waot-project/waot/wasmfront"

// This file makes the functions that show what objects there are: a hash of all that can be reached from a reference, up to a depth, one that makes trees, one that
// measures them, and one that hashes what globals and tables refer to.

const (
	helperHash = iota
	helperGrow
	helperMeasure
	helperRoots
)

// declareHelpers declares them behind all other functions.
func (g *gen) declareHelpers() {
	g.firstHelper = len(g.funcs)
	if g.cfg.GC {
		node := string([]byte{g.letter(nodeType, true)})
		any := string([]byte{g.letter(heapAny, true)})
		g.funcs = append(g.funcs, sig{any + "i", "l"}, sig{"i", node}, sig{node + "i", "l"}, sig{"", "l"})
	}
}

func (g *gen) rootsHelper() int { return g.firstHelper + helperRoots }

// helper returns the body of function i.
func (g *gen) helper(i int) []byte {
	f := &fgen{gen: g, sig: g.funcs[i], smallAt: g.firstSmall, locals: []byte(g.funcs[i].params)}
	f.busy = make([]bool, len(f.locals))
	switch i - g.firstHelper {
	case helperHash:
		f.hash()
	case helperGrow:
		f.grow()
	case helperMeasure:
		f.measure()
	case helperRoots:
		f.roots()
	}
	f.op(wasmfront.OpEnd)
	return append(f.localTypes(), f.b...)
}

// under does what then does where the condition on the stack holds.
func (f *fgen) under(then func()) {
	f.open(wasmfront.OpIf, "", "", "")
	then()
	f.close()
}

// spend returns a constant if there is nothing left in a global, or local depth is 0 in its lowest bits.
func (f *fgen) spend(fuel, depth int, result func()) {
	f.opIndex(wasmfront.OpGlobalGet, fuel)
	f.konst('i', 1)
	f.op(wasmfront.OpI32Sub)
	f.opIndex(wasmfront.OpGlobalSet, fuel)
	f.opIndex(wasmfront.OpGlobalGet, fuel)
	f.konst('i', 0)
	f.op(wasmfront.OpI32LtS)
	f.opIndex(wasmfront.OpLocalGet, depth)
	f.konst('i', 7)
	f.op(wasmfront.OpI32And)
	f.opIndex(wasmfront.OpLocalTee, depth)
	f.op(wasmfront.OpI32Eqz)
	f.op(wasmfront.OpI32Or)
	f.under(func() {
		result()
		f.op(wasmfront.OpReturn)
	})
}

// mix makes local sum that times 31, plus what push pushes.
func (f *fgen) mix(sum int, push func()) {
	f.opIndex(wasmfront.OpLocalGet, sum)
	f.konst('l', 31)
	f.op(wasmfront.OpI64Mul)
	push()
	f.op(wasmfront.OpI64Add)
	f.opIndex(wasmfront.OpLocalSet, sum)
}

// Parameters of hash.
const (
	hashOf = iota
	hashDepth
)

func (f *fgen) less(depth int) {
	f.opIndex(wasmfront.OpLocalGet, depth)
	f.konst('i', 1)
	f.op(wasmfront.OpI32Sub)
}

// hash is the body of the hash of a reference: a number for its type, and hashes of fields and elements.
func (f *fgen) hash() {
	sum := f.newLocal('l')
	f.spend(globalWalkFuel, hashDepth, func() {
		f.opIndex(wasmfront.OpLocalGet, hashOf)
		f.op(wasmfront.OpRefIsNull)
		f.op(wasmfront.OpI64ExtendI32U)
	})
	i31 := f.letter(heapI31, false)
	f.opIndex(wasmfront.OpLocalGet, hashOf)
	f.castOp(wasmfront.OpRefTest, wasmfront.OpRefTestNull, i31)
	f.under(func() {
		f.opIndex(wasmfront.OpLocalGet, hashOf)
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, i31)
		f.gc(wasmfront.OpI31GetS)
		f.op(wasmfront.OpI64ExtendI32S)
		f.op(wasmfront.OpReturn)
	})
	from := f.letter(heapAny, true)
	for i := len(f.defined) - 1; i >= 0; i-- {
		d := &f.defined[i]
		if d.kind == funcKind || d.same != i {
			continue
		}
		to := f.letter(i, false)
		f.open(wasmfront.OpBlock, "", string([]byte{from}), "")
		f.opIndex(wasmfront.OpLocalGet, hashOf)
		f.branchOnCast(wasmfront.OpBrOnCastFail, 0, from, to)
		object := f.newLocal(f.letter(i, true))
		f.opIndex(wasmfront.OpLocalSet, object)
		f.konst('l', uint64(1000+i))
		f.opIndex(wasmfront.OpLocalSet, sum)
		if d.kind == structKind {
			for k := range d.fields {
				f.mixField(sum, object, i, k)
			}
		} else {
			f.mixElements(sum, object, i)
		}
		f.opIndex(wasmfront.OpLocalGet, sum)
		f.op(wasmfront.OpReturn)
		f.close()
		f.op(wasmfront.OpDrop)
	}
	f.opIndex(wasmfront.OpLocalGet, hashOf)
	f.op(wasmfront.OpRefIsNull)
	f.op(wasmfront.OpI64ExtendI32U)
	f.konst('l', 70)
	f.op(wasmfront.OpI64Add)
}

// mixField mixes what is in a field into the sum.
func (f *fgen) mixField(sum, object, i, k int) {
	x := &f.defined[i].fields[k]
	get := func() {
		f.opIndex(wasmfront.OpLocalGet, object)
		f.gc(getter(x.packed > 0, k%2 > 0, wasmfront.OpStructGet), i, k)
	}
	f.mix(sum, func() { get(); f.asNumber(x.typ) })
	if r, ok := f.ref(x.typ); ok && f.heapSub(r.heap, heapEq) {
		f.mix(sum, func() {
			get()
			f.opIndex(wasmfront.OpLocalGet, object)
			f.gc(wasmfront.OpRefEq)
			f.op(wasmfront.OpI64ExtendI32U)
		})
	}
}

// mixElements mixes the length of an array and its first elements into the sum.
func (f *fgen) mixElements(sum, object, i int) {
	x := &f.defined[i].fields[0]
	at := f.newLocal('i')
	length := func() {
		f.opIndex(wasmfront.OpLocalGet, object)
		f.gc(wasmfront.OpArrayLen)
	}
	f.mix(sum, func() { length(); f.op(wasmfront.OpI64ExtendI32U) })
	f.konst('i', 0)
	f.opIndex(wasmfront.OpLocalSet, at)
	f.open(wasmfront.OpBlock, "", "", "")
	f.open(wasmfront.OpLoop, "", "", "")
	f.opIndex(wasmfront.OpLocalGet, at)
	length()
	f.op(wasmfront.OpI32GeU)
	f.opIndex(wasmfront.OpLocalGet, at)
	f.konst('i', 10)
	f.op(wasmfront.OpI32GtU)
	f.op(wasmfront.OpI32Or)
	f.opIndex(wasmfront.OpBrIf, 1)
	f.mix(sum, func() {
		f.opIndex(wasmfront.OpLocalGet, object)
		f.opIndex(wasmfront.OpLocalGet, at)
		f.gc(getter(x.packed > 0, i%2 > 0, wasmfront.OpArrayGet), i)
		f.asNumber(x.typ)
	})
	f.opIndex(wasmfront.OpLocalGet, at)
	f.konst('i', 1)
	f.op(wasmfront.OpI32Add)
	f.opIndex(wasmfront.OpLocalSet, at)
	f.opIndex(wasmfront.OpBr, 0)
	f.close()
	f.close()
}

// asNumber makes an i64 of a value of type t. References to objects are hashed, to less depth.
func (f *fgen) asNumber(t byte) {
	switch t {
	case 'i':
		f.op(wasmfront.OpI64ExtendI32S)
		return
	case 'l':
		return
	case 'f':
		f.op(wasmfront.OpI32ReinterpretF32)
		f.op(wasmfront.OpI64ExtendI32U)
		return
	case 'd':
		f.op(wasmfront.OpI64ReinterpretF64)
		return
	case 'v':
		v := f.newLocal('v')
		f.opIndex(wasmfront.OpLocalTee, v)
		f.opIndex(wasmfront.OpI64x2ExtractLane, 0)
		f.opIndex(wasmfront.OpLocalGet, v)
		f.opIndex(wasmfront.OpI64x2ExtractLane, 1)
		f.op(wasmfront.OpI64Sub)
		return
	case exnRef:
		f.op(wasmfront.OpRefIsNull)
		f.op(wasmfront.OpI64ExtendI32U)
		return
	}
	switch r, _ := f.ref(t); f.top(r.heap) {
	case heapFunc:
		f.whichFunction(t)
	case heapExtern:
		f.gc(wasmfront.OpAnyConvertExtern)
		fallthrough
	default:
		f.less(hashDepth)
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperHash)
	}
}

// whichFunction makes a number of a reference to a function: which of the types it has.
func (f *fgen) whichFunction(t byte) {
	l := f.newLocal(f.orNull(t))
	f.opIndex(wasmfront.OpLocalTee, l)
	f.op(wasmfront.OpRefIsNull)
	f.op(wasmfront.OpI64ExtendI32U)
	tested := 0
	for i := range f.defined {
		if d := &f.defined[i]; d.kind == funcKind && d.same == i && tested < 4 {
			tested++
			f.konst('l', 2)
			f.op(wasmfront.OpI64Mul)
			f.opIndex(wasmfront.OpLocalGet, l)
			f.castOp(wasmfront.OpRefTest, wasmfront.OpRefTestNull, f.letter(i, false))
			f.op(wasmfront.OpI64ExtendI32U)
			f.op(wasmfront.OpI64Add)
		}
	}
}

// grow is the body of what makes a tree of a depth: two trees, which live while the other one and the node above are made.
func (f *fgen) grow() {
	const depth = 0
	node := f.letter(nodeType, true)
	left, right := f.newLocal(node), f.newLocal(node)
	f.spend(globalHeapFuel, depth, func() { f.simpleRef(node) })
	for _, l := range []int{left, right} {
		f.less(depth)
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperGrow)
		f.opIndex(wasmfront.OpLocalSet, l)
	}
	var list []int
	for _, i := range f.concrete(nodeType) {
		if f.matches(node, f.defined[i].fields[1].typ) {
			list = append(list, i)
		}
	}
	i := pick(f, list)
	for k, x := range f.defined[i].fields {
		switch {
		case k == 0:
			f.opIndex(wasmfront.OpLocalGet, depth)
			if x.typ == 'l' {
				f.op(wasmfront.OpI64ExtendI32U)
			}
		case k == 1:
			f.opIndex(wasmfront.OpLocalGet, left)
		case k == 2 && f.matches(node, x.typ):
			f.opIndex(wasmfront.OpLocalGet, right)
		default:
			f.simpleField(x.typ)
		}
	}
	f.gc(wasmfront.OpStructNew, i)
}

// measure is the body of what adds up the numbers in a tree.
func (f *fgen) measure() {
	const tree, depth = 0, 1
	sum := f.newLocal('l')
	node, object := f.letter(nodeType, true), f.letter(nodeType, false)
	f.spend(globalWalkFuel, depth, func() { f.konst('l', 5) })
	f.opIndex(wasmfront.OpLocalGet, tree)
	f.op(wasmfront.OpRefIsNull)
	f.under(func() {
		f.konst('l', 3)
		f.op(wasmfront.OpReturn)
	})
	fields := f.defined[nodeType].fields
	f.mix(sum, func() {
		f.opIndex(wasmfront.OpLocalGet, tree)
		f.gc(wasmfront.OpStructGet, nodeType, 0)
		f.asNumber(fields[0].typ)
	})
	f.mix(sum, func() {
		f.opIndex(wasmfront.OpLocalGet, tree)
		f.gc(wasmfront.OpStructGet, nodeType, 1)
		f.less(depth)
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperMeasure)
	})
	f.mix(sum, func() {
		second := f.newLocal(fields[2].typ)
		f.opIndex(wasmfront.OpLocalGet, tree)
		f.gc(wasmfront.OpStructGet, nodeType, 2)
		f.opIndex(wasmfront.OpLocalTee, second)
		f.castOp(wasmfront.OpRefTest, wasmfront.OpRefTestNull, object)
		f.open(wasmfront.OpIf, "", string([]byte{node}), "")
		f.opIndex(wasmfront.OpLocalGet, second)
		f.castOp(wasmfront.OpRefCast, wasmfront.OpRefCastNull, node)
		f.op(wasmfront.OpElse)
		f.simpleRef(node)
		f.close()
		f.less(depth)
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperMeasure)
	})
	f.opIndex(wasmfront.OpLocalGet, sum)
}

// roots is the body of the hash of all that globals and tables refer to.
func (f *fgen) roots() {
	sum, at := f.newLocal('l'), f.newLocal('i')
	hash := func(t byte) {
		if r, _ := f.ref(t); f.top(r.heap) == heapFunc {
			f.whichFunction(t)
			return
		} else if f.top(r.heap) == heapExtern {
			f.gc(wasmfront.OpAnyConvertExtern)
		}
		f.konst('i', 4)
		f.opIndex(wasmfront.OpCall, f.firstHelper+helperHash)
	}
	for i := range f.globals {
		if t := f.globals[i].typ; t >= firstRef {
			f.mix(sum, func() { f.opIndex(wasmfront.OpGlobalGet, i); hash(t) })
		}
	}
	tables := map[int]byte{2: 'x'}
	for i, t := range f.tables {
		tables[f.firstHeapTable()+i] = t
	}
	for i := range f.firstHeapTable() + len(f.tables) {
		t, ok := tables[i]
		if !ok {
			continue
		}
		f.konst('i', 0)
		f.opIndex(wasmfront.OpLocalSet, at)
		f.open(wasmfront.OpLoop, "", "", "")
		f.mix(sum, func() {
			f.opIndex(wasmfront.OpLocalGet, at)
			f.opIndex(wasmfront.OpTableGet, i)
			hash(t)
		})
		f.opIndex(wasmfront.OpLocalGet, at)
		f.konst('i', 1)
		f.op(wasmfront.OpI32Add)
		f.opIndex(wasmfront.OpLocalTee, at)
		f.konst('i', tableLen)
		f.op(wasmfront.OpI32LtU)
		f.opIndex(wasmfront.OpBrIf, 0)
		f.close()
	}
	f.opIndex(wasmfront.OpLocalGet, sum)
}
