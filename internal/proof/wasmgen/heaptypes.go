package wasmgen

import (
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// This file chooses the structures, arrays and functions that a module with garbage collection defines: recursion groups, groups that are the same again, or nearly,
// and chains of subtypes. A letter from firstRef on stands for a type of references.

// firstRef is the letter of the first type of references that has none of its own.
const firstRef = 0x80

// What references are to: the index of a type, or one of these.
const (
	heapAny = -1 - iota
	heapEq
	heapI31
	heapStruct
	heapArray
	heapNone
	heapExtern
	heapNoExtern
	heapFunc
	heapNoFunc
)

// abstract has the codes of abstract heap types, and how often fields have them: those that nothing but null has are rare.
var abstract = []struct {
	heap  int
	code  byte
	often int
}{
	{heapAny, 0x6E, 4}, {heapEq, 0x6D, 4}, {heapI31, 0x6C, 3}, {heapStruct, 0x6B, 2}, {heapArray, 0x6A, 2}, {heapNone, 0x71, 1},
	{heapExtern, 0x6F, 2}, {heapNoExtern, 0x72, 1}, {heapFunc, 0x70, 2}, {heapNoFunc, 0x73, 1},
}

// refType is a type of references.
type refType struct {
	heap int
	null bool
}

// What a module defines.
const (
	structKind = 's'
	arrayKind  = 'a'
	funcKind   = 'f'
)

// heapType is a type that the module defines. An array has one field.
type heapType struct {
	kind   byte
	super  int // or -1
	depth  int // how many supertypes it has
	final  bool
	fields []field
	sig    sig
	// same is the first type that is the same.
	same int
	// cost is about how many objects the least object of the type consists of.
	cost int
	// group is the number of its recursion group.
	group int
	// method says that it is the type of methods of classes, preset that it has its fields or signature from the start, and sealed that only constant expressions make such
	// structures.
	method, preset, sealed bool
	long                   bool // it is written in full where a short form would do
}

// field is a field. packed is 8 or 16, or 0.
type field struct {
	typ     byte
	packed  int
	mutable bool
}

// Limits of what modules define.
const (
	maxHeapTypes  = 24
	maxTypeDepth  = 6
	maxObjectCost = 6
	nodeType      = 0 // of lists and trees
	bytesType     = 1 // an array of bytes
	refsType      = 2 // an array of anyref
)

// heapGen is the part of gen for garbage collection.
type heapGen struct {
	defined []heapType
	refs    []refType // by letter
	// declared are the types of functions that have one of defined.
	declared map[int]int
	// tables are the types of the tables of references, segments those of the element segments.
	tables, segments []byte
	// firstHelper is the number of the first helper.
	firstHelper int
	family      family
	// noGlobals says that constant expressions are made in which globals cannot be read.
	noGlobals bool
	// fuel is how many objects the loops of one call from outside make.
	fuel int
}

// letter returns the letter of a type of references.
func (g *gen) letter(heap int, null bool) byte {
	switch {
	case heap == heapFunc && null:
		return 'r'
	case heap == heapExtern && null:
		return 'x'
	}
	r := refType{heap, null}
	i := slices.Index(g.refs, r)
	if i < 0 {
		i = len(g.refs)
		g.refs = append(g.refs, r)
	}
	return byte(firstRef + i)
}

// ref returns the type of references that t stands for, if it is one that this file knows.
func (g *gen) ref(t byte) (refType, bool) {
	switch {
	case t >= firstRef:
		return g.refs[t-firstRef], true
	case t == 'r':
		return refType{heapFunc, true}, true
	case t == 'x':
		return refType{heapExtern, true}, true
	}
	return refType{}, false
}

// orNull returns t with null, if it is a type of references.
func (g *gen) orNull(t byte) byte {
	if t < firstRef {
		return t
	}
	return g.letter(g.refs[t-firstRef].heap, true)
}

// notNull reports whether t is a type of references that are never null.
func (g *gen) notNull(t byte) bool { return t >= firstRef && !g.refs[t-firstRef].null }

// heapCode is the encoding of what references are to.
func heapCode(heap int) []byte {
	if heap >= 0 {
		return sleb(int64(heap))
	}
	return []byte{abstract[-1-heap].code}
}

// valType is the encoding of a type.
func (g *gen) valType(t byte) []byte {
	if t < firstRef {
		return []byte{valTypes[t]}
	}
	r := g.refs[t-firstRef]
	if r.null {
		return append([]byte{abi.CodeRefNull}, heapCode(r.heap)...)
	}
	return append([]byte{abi.CodeRef}, heapCode(r.heap)...)
}

// top returns the hierarchy of a heap type.
func (g *gen) top(heap int) int {
	switch {
	case heap >= 0 && g.defined[heap].kind == funcKind, heap == heapFunc, heap == heapNoFunc:
		return heapFunc
	case heap == heapExtern, heap == heapNoExtern:
		return heapExtern
	}
	return heapAny
}

// heapSub reports whether a is b or a subtype.
func (g *gen) heapSub(a, b int) bool {
	if a == b {
		return true
	}
	if g.top(a) != g.top(b) {
		return false
	}
	switch {
	case a == heapNone || a == heapNoExtern || a == heapNoFunc, b == heapAny || b == heapExtern || b == heapFunc:
		return true
	case b == heapEq:
		return a != heapAny
	case b == heapStruct:
		return a >= 0 && g.defined[a].kind == structKind
	case b == heapArray:
		return a >= 0 && g.defined[a].kind == arrayKind
	case a < 0 || b < 0:
		return false
	}
	for ; a >= 0; a = g.defined[a].super {
		if g.defined[a].same == g.defined[b].same {
			return true
		}
	}
	return false
}

// matches reports whether values of type a are of type b.
func (g *gen) matches(a, b byte) bool {
	if a == b {
		return true
	}
	ra, ok := g.ref(a)
	rb, ok2 := g.ref(b)
	return ok && ok2 && (rb.null || !ra.null) && g.heapSub(ra.heap, rb.heap)
}

// declareHeapTypes chooses the types. The first group has a node, an array of bytes and one of references.
func (g *gen) declareHeapTypes() {
	if !g.cfg.GC {
		return
	}
	g.declared = map[int]int{}
	g.fuel = []int{100, 300, 300, 1000, 1000, 3000, 3000, 10000}[g.r.IntN(8)]
	g.group([]heapType{{kind: structKind, super: -1}, {kind: arrayKind, super: -1}, {kind: arrayKind, super: -1}})
	groups := 3 + g.r.IntN(5)
	if g.declareClasses(); g.cfg.Classes {
		groups = 1 + g.r.IntN(3)
	}
	for ; groups > 0 && len(g.defined) < maxHeapTypes; groups-- {
		if g.r.IntN(4) == 0 {
			g.groupAgain()
		} else {
			g.randomGroup()
		}
	}
}

// randomGroup adds a group of types.
func (g *gen) randomGroup() {
	first := len(g.defined)
	var types []heapType
	for range 1 + g.r.IntN(4) {
		t := heapType{super: -1, kind: "ssssaaaff"[g.r.IntN(9)], final: g.r.IntN(3) == 0, long: g.r.IntN(2) == 0}
		if s := g.openType(types); s >= 0 && g.r.IntN(3) > 0 {
			of := g.typeAt(types, s)
			t.super, t.kind, t.depth = s, of.kind, of.depth+1
		}
		t.same, t.group = first+len(types), 0
		types = append(types, t)
	}
	g.group(types)
}

// typeAt returns a type, of those that there are or of those that come next.
func (g *gen) typeAt(next []heapType, i int) *heapType {
	if i < len(g.defined) {
		return &g.defined[i]
	}
	return &next[i-len(g.defined)]
}

// openType returns a type that may have subtypes, often the last one, or -1.
func (g *gen) openType(next []heapType) int {
	pick, n := -1, 0
	for i := range len(g.defined) + len(next) {
		if t := g.typeAt(next, i); !t.final && !t.sealed && t.depth < maxTypeDepth {
			if n++; g.r.IntN(n) == 0 || g.r.IntN(3) == 0 {
				pick = i
			}
		}
	}
	return pick
}

// group adds a group of types whose kinds and supertypes are known.
func (g *gen) group(types []heapType) {
	first := len(g.defined)
	number := 0
	if first > 0 {
		number = g.defined[first-1].group + 1
	}
	for i := range types {
		types[i].same, types[i].group = first+i, number
	}
	g.defined = append(g.defined, types...)
	for i := first; i < len(g.defined); i++ {
		t := &g.defined[i]
		switch {
		case t.preset:
		case i == nodeType:
			g.node(t)
		case i == bytesType:
			t.fields = []field{{typ: 'i', packed: 8, mutable: true}}
		case i == refsType:
			t.fields = []field{{typ: g.letter(heapAny, true), mutable: true}}
		case t.kind == funcKind:
			g.signature(t)
		default:
			g.chooseFields(i, t)
		}
		t.cost = 1
		for _, f := range t.fields {
			if r, ok := g.ref(f.typ); ok && !r.null && r.heap >= 0 && t.kind == structKind {
				t.cost += g.defined[r.heap].cost
			}
		}
	}
}

// node chooses the fields of nodes: a number, two references to more of them, and others.
func (g *gen) node(t *heapType) {
	self := g.letter(nodeType, true)
	second := []byte{self, self, g.letter(heapEq, true), g.letter(heapAny, true), g.letter(heapStruct, true)}[g.r.IntN(5)]
	t.fields = []field{{typ: "il"[g.r.IntN(2)], mutable: true}, {typ: self, mutable: true}, {typ: second, mutable: g.r.IntN(2) == 0}}
	for range g.r.IntN(3) {
		t.fields = append(t.fields, g.field(nodeType))
	}
}

// chooseFields chooses the fields of type i.
func (g *gen) chooseFields(i int, t *heapType) {
	if t.super >= 0 {
		t.fields = slices.Clone(g.defined[t.super].fields)
		for k := range t.fields {
			if f := &t.fields[k]; !f.mutable && f.typ >= firstRef && g.r.IntN(2) == 0 {
				f.typ = g.subtype(i, f.typ)
			}
		}
	}
	n := g.r.IntN(4)
	if t.kind == arrayKind {
		n = 1 - len(t.fields)
	}
	for range n {
		f := g.field(i)
		if t.kind == arrayKind && g.r.IntN(4) > 0 {
			f.mutable = true
		}
		t.fields = append(t.fields, f)
	}
	if len(t.fields) > 0 || t.kind == arrayKind {
		return
	}
	if g.r.IntN(3) > 0 { // few are empty
		t.fields = append(t.fields, g.field(i))
	}
}

// field chooses a field for type i.
func (g *gen) field(i int) field {
	f := field{mutable: g.r.IntN(3) > 0}
	numbers := "iillfd"
	if g.cfg.Vectors {
		numbers += "v"
	}
	if g.cfg.Exceptions {
		numbers += string(rune(exnRef))
	}
	switch n := g.r.IntN(10); {
	case n == 0:
		f.typ, f.packed = 'i', 8
	case n == 1:
		f.typ, f.packed = 'i', 16
	case n < 5:
		f.typ = numbers[g.r.IntN(len(numbers))]
	default:
		f.typ = g.fieldRef(i)
	}
	return f
}

// fieldRef chooses the type of a field that is a reference. Null is excluded only where objects can be made: those of the types before it, and what is small.
func (g *gen) fieldRef(i int) byte {
	heap := g.abstractHeap()
	if g.r.IntN(2) == 0 {
		heap = g.r.IntN(len(g.defined))
	}
	return g.letter(heap, g.r.IntN(3) > 0 || !g.plain(i, heap))
}

// plain reports whether a field of type i can have a reference to heap that is not null.
func (g *gen) plain(i, heap int) bool {
	switch heap {
	case heapNone, heapNoExtern, heapNoFunc:
		return false
	case heapStruct:
		return i != nodeType // which is the least structure
	}
	return heap < 0 || heap < i && !g.defined[heap].sealed && g.defined[heap].cost < maxObjectCost
}

// abstractHeap chooses an abstract heap type.
func (g *gen) abstractHeap() int {
	sum := 0
	for _, a := range abstract {
		sum += a.often
	}
	n := g.r.IntN(sum)
	for _, a := range abstract {
		if n -= a.often; n < 0 {
			return a.heap
		}
	}
	return heapAny
}

// subtype chooses a type of references within t, for a field of type i.
func (g *gen) subtype(i int, t byte) byte {
	r, _ := g.ref(t)
	var list []byte
	for heap := range i {
		if g.heapSub(heap, r.heap) {
			list = append(list, g.letter(heap, r.null || !g.plain(i, heap)))
		}
	}
	list = slices.DeleteFunc(append(list, t), func(x byte) bool { return !g.matches(x, t) })
	return list[g.r.IntN(len(list))]
}

// supertype chooses a type of references that t is within.
func (g *gen) supertype(t byte) byte {
	r, ok := g.ref(t)
	if !ok || g.r.IntN(2) == 0 {
		return t
	}
	if g.r.IntN(3) == 0 {
		return g.letter(r.heap, true)
	}
	if r.heap >= 0 && g.defined[r.heap].super >= 0 {
		return g.letter(g.defined[r.heap].super, r.null)
	}
	return g.letter(g.top(r.heap), r.null)
}

// signature chooses parameters and results of a type of functions.
func (g *gen) signature(t *heapType) {
	if t.super < 0 {
		t.sig = sig{g.typeList(1+g.r.IntN(3), "illfdr"), g.typeList(g.r.IntN(3), "illfdr")}
		return
	}
	of := g.defined[t.super].sig
	params, results := []byte(of.params), []byte(of.results)
	for i := range params {
		params[i] = g.supertype(params[i])
	}
	for i := range results {
		if results[i] >= firstRef {
			results[i] = g.subtype(nodeType+1, results[i])
		}
	}
	t.sig = sig{string(params), string(results)}
}

// groupAgain adds a group that is like one before. It is the same, unless one of its types has one more field.
func (g *gen) groupAgain() {
	g.repeatGroup(g.r.IntN(g.defined[len(g.defined)-1].group+1), g.r.IntN(2) == 0)
}

// repeatGroup adds a group that is like one before. change says to make it another one, if its last type is a structure.
func (g *gen) repeatGroup(number int, change bool) {
	from := slices.IndexFunc(g.defined, func(t heapType) bool { return t.group == number })
	end := from
	for end < len(g.defined) && g.defined[end].group == number {
		end++
	}
	shift := len(g.defined) - from
	moved := func(heap int) int {
		if heap >= from && heap < end {
			return heap + shift
		}
		return heap
	}
	move := func(t byte) byte {
		if t < firstRef {
			return t
		}
		r := g.refs[t-firstRef]
		return g.letter(moved(r.heap), r.null)
	}
	last := g.defined[len(g.defined)-1].group + 1
	for i := from; i < end; i++ {
		t := g.defined[i]
		t.super, t.group = moved(t.super), last
		t.fields = slices.Clone(t.fields)
		for k := range t.fields {
			t.fields[k].typ = move(t.fields[k].typ)
		}
		t.sig = sig{mapTypes(t.sig.params, move), mapTypes(t.sig.results, move)}
		g.defined = append(g.defined, t)
	}
	last = len(g.defined) - 1
	if t := &g.defined[last]; change && t.kind == structKind {
		t.fields = append(t.fields, field{typ: 'l'})
		for i := from; i < end; i++ {
			g.defined[i+shift].same, g.defined[i+shift].sealed = i+shift, false
		}
	}
}

func mapTypes(s string, by func(byte) byte) string {
	b := []byte(s)
	for i := range b {
		b[i] = by(b[i])
	}
	return string(b)
}

// heapTypeSection encodes the groups.
func (g *gen) heapTypeSection() (groups [][]byte) {
	for i := 0; i < len(g.defined); {
		var types [][]byte
		first := i
		for ; i < len(g.defined) && g.defined[i].group == g.defined[first].group; i++ {
			types = append(types, g.encodeHeapType(&g.defined[i]))
		}
		if len(types) == 1 && !g.defined[first].long {
			groups = append(groups, types[0])
		} else {
			groups = append(groups, append([]byte{wasmfront.FormRec}, vec(types...)...))
		}
	}
	return groups
}

func (g *gen) encodeHeapType(t *heapType) []byte {
	var head []byte
	form := byte(wasmfront.FormSub)
	if t.final {
		form = wasmfront.FormSubFinal
	}
	switch {
	case t.super >= 0:
		head = cat([]byte{form}, vec(leb(uint64(t.super))))
	case !t.final || t.long:
		head = []byte{form, 0}
	}
	var fields [][]byte
	for _, f := range t.fields {
		b := g.valType(f.typ)
		switch f.packed {
		case 8:
			b = []byte{wasmfront.StorageI8}
		case 16:
			b = []byte{wasmfront.StorageI16}
		}
		fields = append(fields, append(slices.Clone(b), map[bool]byte{true: 1}[f.mutable]))
	}
	switch t.kind {
	case structKind:
		return cat(head, []byte{wasmfront.FormStruct}, vec(fields...))
	case arrayKind:
		return cat(head, []byte{wasmfront.FormArray}, fields[0])
	}
	return cat(head, g.encodeSig(t.sig))
}

// anyRef chooses a type of references, mostly of those that the module defines.
func (g *gen) anyRef() byte {
	heap := g.r.IntN(len(g.defined))
	if g.r.IntN(3) == 0 {
		heap = g.abstractHeap()
	}
	empty := heap == heapNone || heap == heapNoExtern || heap == heapNoFunc
	return g.letter(heap, empty || g.r.IntN(3) > 0)
}

// withRefs adds types of references to those to choose from.
func (g *gen) withRefs(from string) string {
	b := []byte(from)
	for range 1 + len(from)/2 {
		b = append(b, g.anyRef())
	}
	return string(b)
}

// concrete returns the structures, arrays or functions that are within a heap type.
func (g *gen) concrete(heap int) (list []int) {
	for i := range g.defined {
		if g.heapSub(i, heap) {
			list = append(list, i)
		}
	}
	return list
}

// defaultable reports whether the fields of type i can all be zero or null.
func (g *gen) defaultable(i int) bool {
	return !slices.ContainsFunc(g.defined[i].fields, func(f field) bool { return g.notNull(f.typ) })
}

// funcType is the type of function i.
func (g *gen) funcType(i int) int {
	if t, ok := g.declared[i]; ok {
		return t
	}
	return g.typeIndex(g.funcs[i])
}

// sameFuncType reports whether two functions are of one type.
func (g *gen) sameFuncType(i, k int) bool {
	a, ok := g.declared[i]
	b, ok2 := g.declared[k]
	if ok || ok2 {
		return ok && ok2 && a == b
	}
	return g.funcs[i] == g.funcs[k]
}

// heapSignature returns the type of the next function, of which every other one takes and returns numbers only, so that it can be called from outside.
func (g *gen) heapSignature(s sig) sig {
	switch {
	case !g.cfg.GC:
		return s
	case (len(g.funcs)-g.imported)%2 == 0:
		number := func(t byte) byte {
			if t == 'v' {
				return 'l'
			}
			return t
		}
		return sig{mapTypes(s.params, number), mapTypes(s.results, number)}
	}
	return sig{g.typeList(g.length(10), "illfdr"), g.typeList(g.length(5), "illfdr")} // more than registers are for, too
}

// declareHeapFuncs declares functions of each type of functions that the module defines.
func (g *gen) declareHeapFuncs() {
	for i := range g.defined {
		if t := &g.defined[i]; t.kind == funcKind {
			n := 1
			if t.method && t.same == i {
				n += g.r.IntN(4) / 2
			}
			for range n {
				g.declared[len(g.funcs)] = i
				g.funcs = append(g.funcs, t.sig)
			}
		}
	}
}

// sizeOf returns about how many operators function i has: methods are short.
func (g *gen) sizeOf(i int) int {
	if t, ok := g.declared[i]; ok && g.defined[t].method {
		return max(g.cfg.Size/5, 10)
	}
	return g.cfg.Size
}

// numbersOnly reports whether function i is called from outside: no references go there, and no vectors.
func (g *gen) numbersOnly(i int) bool {
	s := g.funcs[i]
	return strings.Trim(s.params+s.results, "ilfd") == ""
}

// within returns the functions whose type is that or a subtype of a type of functions.
func (g *gen) within(heap int) (list []int) {
	for i := range g.funcs {
		if t, ok := g.declared[i]; ok && g.heapSub(t, heap) {
			list = append(list, i)
		}
	}
	return list
}

// heapSegments is how many element segments have references to objects.
const heapSegments = 3

// heapTables is how many tables of references there are; the last one has no nulls.
const heapTables = 3

// declareHeapPlaces chooses globals, tables and segments for references.
func (g *gen) declareHeapPlaces() {
	if !g.cfg.GC {
		return
	}
	node := g.letter(nodeType, true)
	types := []byte{node, g.letter(heapAny, true), g.anyRef(), g.anyRef(), g.anyRef(), g.anyRef()}
	for _, t := range types {
		g.globals = append(g.globals, global{typ: g.orNull(t), mutable: true}, global{typ: t, mutable: g.r.IntN(2) == 0})
	}
	g.tables = []byte{g.letter(heapAny, true), g.orNull(g.anyRef()), g.letter(g.r.IntN(2), false)}
	for range heapSegments - 1 {
		g.segments = append(g.segments, g.anyRef())
	}
	g.segments = append(g.segments, g.letter([]int{heapEq, heapAny, heapI31}[g.r.IntN(3)], false))
}

// firstHeapTable is the number of the first of these tables, behind all others.
func (g *gen) firstHeapTable() int {
	n := g.exnTable()
	if g.cfg.Exceptions {
		n++
	}
	return n
}

// heapTableTypes encodes the tables.
func (g *gen) heapTableTypes() (tables [][]byte) {
	g.noGlobals = true
	defer func() { g.noGlobals = false }()
	for _, t := range g.tables {
		size := limits(tableLen, 2*tableLen)
		if g.notNull(t) || g.r.IntN(2) == 0 {
			tables = append(tables, cat([]byte{0x40, 0}, g.valType(t), size, g.constRef(t, 2), []byte{0x0B}))
		} else {
			tables = append(tables, cat(g.valType(t), size))
		}
	}
	return tables
}

// heapElems encodes the segments: passive ones, but for the first, which has half of the table of anyref.
func (g *gen) heapElems() (segments [][]byte) {
	for i, t := range g.segments {
		var items [][]byte
		for range tableLen / 2 {
			items = append(items, append(g.constRef(t, 2), 0x0B))
		}
		head := []byte{5}
		if i == 0 && g.matches(t, g.tables[0]) {
			head = cat([]byte{6}, leb(uint64(g.firstHeapTable())), constant('i', uint64(g.r.IntN(tableLen/2))), []byte{0x0B})
		}
		segments = append(segments, cat(head, g.valType(t), vec(items...)))
	}
	return segments
}

// constValue is a constant expression for a field.
func (g *gen) constValue(t byte, depth int) []byte {
	if _, ok := g.ref(t); ok {
		return g.constRef(t, depth)
	}
	if t == 'v' {
		return vectorConstant(g.vectorBits())
	}
	return constant(t, g.bits(t))
}

// gcOp is an operator of garbage collection with its immediates.
func gcOp(op wasmfront.Opcode, immediates ...int) []byte {
	_, n := op.Encoding()
	b := append([]byte{0xFB}, leb(uint64(n))...)
	for _, i := range immediates {
		b = append(b, leb(uint64(i))...)
	}
	return b
}

// constRef is a constant expression of a type of references, which often makes objects.
func (g *gen) constRef(t byte, depth int) []byte {
	r, _ := g.ref(t)
	if r.null && (depth <= 0 || g.r.IntN(4) == 0) {
		return append([]byte{0xD0}, heapCode(r.heap)...)
	}
	heap := r.heap
	list := slices.DeleteFunc(g.concrete(heap), func(i int) bool { return g.noGlobals && g.needsGlobal(i) })
	if len(list) > 0 && g.r.IntN(4) > 0 && depth > 0 {
		heap = list[g.r.IntN(len(list))]
	}
	gc := gcOp
	switch {
	case heap >= 0 && r.null && g.noGlobals && g.needsGlobal(heap):
		return append([]byte{0xD0}, heapCode(r.heap)...)
	case heap >= 0 && g.defined[heap].sealed:
		return g.constGlobal(g.letter(heap, false))
	}
	switch heap {
	case heapAny:
		if depth > 0 && g.r.IntN(3) == 0 {
			return cat(g.constRef(g.letter(heapExtern, false), depth-1), gc(wasmfront.OpAnyConvertExtern))
		}
		return cat(constant('i', g.bits('i')), gc(wasmfront.OpRefI31))
	case heapEq, heapI31:
		return cat(constant('i', g.bits('i')), gc(wasmfront.OpRefI31))
	case heapStruct:
		heap = nodeType
	case heapArray:
		heap = bytesType
	case heapExtern:
		return cat(g.constRef(g.letter(heapAny, false), depth-1), gc(wasmfront.OpExternConvertAny))
	case heapFunc:
		return append([]byte{0xD2}, leb(uint64(g.r.IntN(g.firstHelper)))...)
	case heapNone, heapNoExtern, heapNoFunc:
		return append([]byte{0xD0}, heapCode(heap)...)
	}
	d := &g.defined[heap]
	switch {
	case d.kind == funcKind:
		list := g.within(heap)
		return append([]byte{0xD2}, leb(uint64(list[g.r.IntN(len(list))]))...)
	case d.kind == structKind && g.defaultable(heap) && (depth <= 0 || g.r.IntN(4) == 0):
		return gc(wasmfront.OpStructNewDefault, heap)
	case d.kind == structKind:
		var b []byte
		for _, f := range d.fields {
			b = append(b, g.constValue(f.typ, depth-1)...)
		}
		return append(b, gc(wasmfront.OpStructNew, heap)...)
	case depth <= 0:
		return gc(wasmfront.OpArrayNewFixed, heap, 0)
	case g.r.IntN(3) == 0:
		return cat(g.constValue(d.fields[0].typ, depth-1), constant('i', uint64(g.r.IntN(12))), gc(wasmfront.OpArrayNew, heap))
	case g.r.IntN(3) == 0 && g.defaultable(heap):
		return cat(constant('i', uint64(g.r.IntN(12))), gc(wasmfront.OpArrayNewDefault, heap))
	}
	n := g.r.IntN(3)
	var b []byte
	for range n {
		b = append(b, g.constValue(d.fields[0].typ, depth-1)...)
	}
	return append(b, gc(wasmfront.OpArrayNewFixed, heap, n)...)
}
