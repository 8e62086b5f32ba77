package wasmgen

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/waot-project/waot/internal/proof/entropy"
)

// Config says what to generate. The zero value is a small module.
type Config struct {
	// Funcs is the number of functions; 0 means a random one up to 6.
	Funcs int
	// Size is about how many operators a function has; 0 means 120.
	Size int
	// RawNaNs leaves NaNs as arithmetic makes them. Otherwise each operation
	// that may choose the bits of a NaN is followed by code that makes it the
	// canonical one, so that all engines must agree on all bits.
	RawNaNs bool
	// LateNaNs does that only in front of operations that would show the bits to
	// integers. Results of type f32 and f64, and such globals, may then be any NaN.
	LateNaNs bool
	// NoTraps avoids most traps (not stack exhaustion of engines with tiny
	// stacks), so that more of the code is executed.
	NoTraps bool
	// Small makes small functions that call each other, too, and calls of them.
	Small bool
	// Vectors makes vectors too, Relaxed also operators that may have one of several results.
	Vectors, Relaxed bool
	// TypedRefs makes typed function references too, TypedAll also what wazero refuses or misreads: indirect calls through tables of them, and selects of them.
	TypedRefs, TypedAll bool
	// Exceptions makes tags, throws and try_tables, Legacy the tries of legacy exceptions with the same tags. Some engines take a module with one of the two only. Exceptions may
	// leave exported functions, also where nothing traps.
	Exceptions, Legacy bool
	// OwnTags leaves out imports and exports of tags, and the environment's function that throws.
	OwnTags bool
	// Wide makes numbers of 128 bits too.
	Wide bool
	// Tails makes tail calls too.
	Tails bool
	// GC makes structures, arrays and small integers too. Programs make at most a few MB of them at a time.
	GC bool
	// Classes makes classes with tables of methods, in modules with GC.
	Classes bool
	// Closed lets no reference enter or leave the module: it imports no tables, and neither imports nor exports tags and functions that have to do with references. Instead
	// of all functions it exports those of numbers.
	Closed bool
	// Counts makes modules with GC count how often they execute what Program.Counters names.
	Counts bool
	// TornStores lets stores of vectors cross the end of memory. AArch64 may then write what is in front of it.
	TornStores bool
}

// Program is a generated module with everything needed to run it.
type Program struct {
	Wasm []byte
	// Env is a module to instantiate first, under the name "env".
	Env []byte
	// Calls are to be made in this order, on one instance, each whatever the ones
	// before it did. Before each, the export "reset" (no parameters, no
	// results) must be called: it refills what bounds loops and recursion.
	Calls []Call
	// Globals are the exported mutable globals of numeric type.
	Globals []string
	// AnyNaN says that results and globals that are NaNs may be any.
	AnyNaN bool
	// Tags says that the module imports what EnvExceptions adds.
	Tags bool
	// Counters are the exported globals, of type i64, that count.
	Counters []string
}

// Call is a call of an exported function. Arguments and results are raw bits,
// i32 and f32 in the low half, v128 in two words.
type Call struct {
	Export  string
	Params  string // one letter a type: i, l, f, d, v for i32, i64, f32, f64, v128
	Results string
	Args    []uint64
}

// sig is a function type, a letter a value: i, l, f, d, v, r (funcref) and x (externref), and those of heapGen.
type sig struct{ params, results string }

// returns reports whether t is among the results.
func (s sig) returns(t byte) bool { return strings.IndexByte(s.results, t) >= 0 }

// choices are what decisions are made with: a *rand.Rand, or an *entropy.Source.
type choices interface {
	IntN(n int) int
	Uint32() uint32
	Uint64() uint64
	NormFloat64() float64
}

// gen generates one module.
type gen struct {
	heapGen
	r      choices
	cfg    Config
	types  []sig
	typeOf map[sig]int
	funcs  []sig // imported ones first, small ones last
	// firstSmall is the number of the first small function.
	firstSmall int
	globals    []global
	// Index spaces: table 0 and 1 are of funcref, 2 of externref.
	importMemory, importTable bool
	bodies                    [][]byte
	// closed is the functions of the table that nobody writes, -1 for null; none if there is no such table.
	closed []int
	// typed is the function whose type the typed tables have, or -1.
	typed int
	// tags are those of the environment first; none without exceptions.
	tags []tag
	// exnGlobal is the global for references to exceptions, if there is one.
	exnGlobal int
	// imported is how many functions are imported.
	imported int
}

type global struct {
	typ      byte
	mutable  bool
	imported string
	init     []byte
	exported string
	constant bool // nothing writes it, though it is mutable
	// late, if not nil, makes the initial value of an immutable one once functions are known. Only earlier ones have such values.
	late func() []byte
}

// The fixed entities.
const (
	globalFuel  = 2 // after the two imported ones
	funcNote    = 0 // the imported function (i64) -> i64
	numTables   = 3
	tableLen    = 10
	numDatas    = 3
	numElems    = 3
	resetFuel   = 60
	memoryPages = 1
	memoryMax   = 4
)

var valTypes = map[byte]byte{'i': 0x7F, 'l': 0x7E, 'f': 0x7D, 'd': 0x7C, 'v': 0x7B, 'r': 0x70, 'x': 0x6F, exnRef: 0x69}

// Generate makes the program of a seed.
func Generate(seed uint64, cfg Config) *Program {
	return generate(rand.New(rand.NewPCG(seed, 0x5eed)), cfg)
}

// Steered makes a program whose decisions are the bytes of a string, in order: a small change of the string is a small
// change of the program, mostly of what comes behind. All strings will do.
func Steered(by []byte, cfg Config) *Program { return generate(entropy.New(by), cfg) }

func generate(r choices, cfg Config) *Program {
	g := &gen{r: r, cfg: cfg, typeOf: map[sig]int{}}
	if g.cfg.Funcs == 0 {
		g.cfg.Funcs = 1 + g.r.IntN(6)
	}
	if g.cfg.Size == 0 {
		g.cfg.Size = 120
	}
	g.importMemory, g.importTable = g.r.IntN(4) == 0, g.r.IntN(4) == 0 && !cfg.Closed
	if cfg.Closed {
		g.cfg.OwnTags = true
		cfg = g.cfg
	}
	g.declareHeapTypes()
	g.declare()
	p := &Program{Env: envModule(cfg.importsTags()), AnyNaN: cfg.RawNaNs || cfg.LateNaNs, Tags: cfg.importsTags()}
	for i := g.imported; i < len(g.funcs); i++ {
		if i >= g.firstHelper {
			g.bodies = append(g.bodies, g.helper(i))
			continue
		}
		if i >= g.firstSmall {
			g.bodies = append(g.bodies, g.smallFunction(i))
			continue
		}
		g.bodies = append(g.bodies, g.function(g.funcs[i], g.sizeOf(i)))
	}
	for i := g.imported; i < len(g.funcs); i++ {
		if g.cfg.GC && (!g.numbersOnly(i) || i == g.rootsHelper()) {
			continue
		}
		for range 3 {
			p.Calls = append(p.Calls, g.call(i))
		}
		if g.cfg.GC {
			p.Calls = append(p.Calls, g.call(g.rootsHelper()))
		}
	}
	p.Counters = g.counters()
	for i := range g.globals {
		if gl := &g.globals[i]; gl.exported != "" {
			p.Globals = append(p.Globals, gl.exported)
		}
	}
	p.Wasm = g.module()
	return p
}

func (g *gen) call(i int) Call {
	s := g.funcs[i]
	c := Call{Export: exportName(i), Params: s.params, Results: s.results}
	for _, t := range []byte(s.params) {
		if t == 'v' {
			v := g.vectorBits()
			c.Args = append(c.Args, v[:]...)
			continue
		}
		c.Args = append(c.Args, g.bits(t))
	}
	return c
}

func exportName(i int) string { return fmt.Sprintf("f%d", i) }

// declare chooses the entities of the module.
func (g *gen) declare() {
	g.globals = []global{
		{typ: 'l', mutable: true, imported: "g0"}, {typ: 'l', mutable: true, imported: "g1"},
		{typ: 'i', mutable: true},
	}
	g.declareHeapFuel()
	g.declareClassGlobals()
	types := "illfdr"
	if g.cfg.Vectors {
		types += "v"
	}
	for _, t := range []byte(types) {
		for _, mutable := range []bool{true, false} {
			gl := global{typ: t, mutable: mutable || g.r.IntN(2) == 0}
			if gl.mutable && t != 'r' && t != 'v' && g.r.IntN(2) == 0 {
				gl.exported = fmt.Sprintf("global%d", len(g.globals))
			}
			g.globals = append(g.globals, gl)
		}
	}
	g.funcs = []sig{{"l", "l"}}
	if g.cfg.importsTags() {
		g.funcs = append(g.funcs, g.funcs[funcNote])
	}
	g.imported = len(g.funcs)
	for range g.cfg.Funcs {
		s := sig{g.typeList(g.length(8), "illfd"), g.typeList(g.length(4), "illfd")}
		if wide, ok := g.wideResults(); ok {
			s.results = wide
		}
		s = g.heapSignature(s)
		s.results = g.tailResults(s.results)
		g.funcs = append(g.funcs, s)
	}
	g.declareHeapFuncs()
	g.declareSmall()
	g.declareHelpers()
	g.declareClosed()
	g.declareTyped()
	g.declareTags()
	g.declareHeapPlaces()
	for i := range g.globals {
		gl := &g.globals[i]
		switch {
		case gl.late != nil:
			gl.init = gl.late()
		case gl.typ >= firstRef:
			gl.init = g.globalRef(i)
		case gl.typ == 'r' && !gl.constant:
			gl.init = append([]byte{0xD2}, leb(uint64(g.r.IntN(len(g.funcs))))...)
		case gl.typ == 'v':
			gl.init = vectorConstant(g.vectorBits())
		case gl.imported == "" && !gl.constant:
			gl.init = constant(gl.typ, g.bits(gl.typ))
		}
	}
	for _, s := range g.funcs {
		g.typeIndex(s)
	}
}

// length returns a small number, now and then a large one.
func (g *gen) length(n int) int {
	if g.r.IntN(20) == 0 {
		return g.r.IntN(4 * n)
	}
	return g.r.IntN(n)
}

// typeList returns n types of those in from, and vectors where there may be numbers of all types.
func (g *gen) typeList(n int, from string) string {
	if g.cfg.Vectors && strings.Contains(from, "d") {
		from += "vvvv"
	}
	if g.cfg.GC && strings.Contains(from, "r") {
		from = g.withRefs(from)
	}
	s := make([]byte, n)
	for i := range s {
		s[i] = from[g.r.IntN(len(from))]
	}
	return string(s)
}

func (g *gen) typeIndex(s sig) int {
	i, ok := g.typeOf[s]
	if !ok {
		i = len(g.defined) + len(g.types)
		g.typeOf[s] = i
		g.types = append(g.types, s)
	}
	return i
}

func leb(x uint64) (b []byte) {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

func sleb(x int64) (b []byte) {
	for x < -64 || x > 63 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x)&0x7F)
}

// constant returns the operator that pushes a constant.
func constant(t byte, bits uint64) []byte {
	switch t {
	case 'i':
		return append([]byte{0x41}, sleb(int64(int32(bits)))...)
	case 'l':
		return append([]byte{0x42}, sleb(int64(bits))...)
	case 'f':
		return []byte{0x43, byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)}
	case 'd':
		b := []byte{0x44}
		for i := 0; i < 64; i += 8 {
			b = append(b, byte(bits>>i))
		}
		return b
	case 'v':
		return vectorConstant([2]uint64{bits, ^bits})
	}
	return []byte{0xD0, valTypes[t]}
}

// vec returns a vector of encoded items.
func vec(items ...[]byte) []byte {
	b := leb(uint64(len(items)))
	for _, i := range items {
		b = append(b, i...)
	}
	return b
}

func name(s string) []byte { return append(leb(uint64(len(s))), s...) }

func cat(parts ...[]byte) (b []byte) {
	for _, p := range parts {
		b = append(b, p...)
	}
	return b
}

func section(id byte, content []byte) []byte {
	return cat([]byte{id}, leb(uint64(len(content))), content)
}

func (s sig) encode() []byte { return new(gen).encodeSig(s) }

func (g *gen) encodeSig(s sig) []byte {
	return cat([]byte{0x60}, g.typeVec(s.params), g.typeVec(s.results))
}

func (g *gen) typeVec(ts string) []byte {
	b := leb(uint64(len(ts)))
	for _, t := range []byte(ts) {
		b = append(b, g.valType(t)...)
	}
	return b
}

var header = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}

func limits(min, max uint64) []byte { return cat([]byte{1}, leb(min), leb(max)) }

// sized returns a function body with its length.
func sized(body []byte) []byte { return append(leb(uint64(len(body))), body...) }

// resetBody sets the fuel.
func (g *gen) resetBody() []byte {
	return cat([]byte{0}, constant('i', resetFuel), []byte{0x24, globalFuel}, g.resetHeapFuel(), []byte{0x0B})
}

// module encodes the module.
func (g *gen) module() []byte {
	reset := g.typeIndex(sig{})
	imports := [][]byte{cat(name("env"), name("note"), []byte{0}, leb(uint64(g.typeIndex(g.funcs[0]))))}
	if g.cfg.importsTags() {
		imports = append(imports, cat(name("env"), name("throws"), []byte{0}, leb(uint64(g.typeIndex(g.funcs[funcThrows])))))
	}
	imports = append(imports, g.tagImports()...)
	var tables, memories, globals [][]byte
	exports := g.tagExports()
	for i := range g.globals {
		gl := &g.globals[i]
		kind := append(g.valType(gl.typ), 0)
		if gl.mutable {
			kind[len(kind)-1] = 1
		}
		if gl.imported != "" {
			imports = append(imports, cat(name("env"), name(gl.imported), []byte{3}, kind))
			continue
		}
		globals = append(globals, cat(kind, gl.init, []byte{0x0B}))
		if gl.exported != "" {
			exports = append(exports, cat(name(gl.exported), []byte{3}, leb(uint64(i))))
		}
	}
	for i, c := range g.counters() {
		globals = append(globals, cat([]byte{valTypes['l'], 1}, constant('l', 0), []byte{0x0B}))
		exports = append(exports, cat(name(c), []byte{3}, leb(uint64(len(g.globals)+i))))
	}
	table := cat([]byte{0x70}, limits(tableLen, 2*tableLen))
	if g.importTable {
		imports = append(imports, cat(name("env"), name("table"), []byte{1}, table))
	} else {
		tables = append(tables, table)
	}
	tables = append(tables, table, cat([]byte{0x6F}, limits(tableLen, 2*tableLen)))
	if len(g.closed) > 0 {
		tables = append(tables, table)
	}
	tables = append(tables, g.typedTypes()...)
	tables = append(tables, g.exnTables()...)
	tables = append(tables, g.heapTableTypes()...)
	tags := g.tagSection()
	if g.importMemory {
		imports = append(imports, cat(name("env"), name("memory"), []byte{2}, limits(memoryPages, memoryMax)))
	} else {
		memories = append(memories, limits(memoryPages, memoryMax))
	}
	var funcs, codes [][]byte
	for i := g.imported; i < len(g.funcs); i++ {
		funcs = append(funcs, leb(uint64(g.funcType(i))))
		codes = append(codes, sized(g.bodies[i-g.imported]))
		if !g.cfg.Closed || g.numbersOnly(i) {
			exports = append(exports, cat(name(exportName(i)), []byte{0}, leb(uint64(i))))
		}
	}
	funcs, codes = append(funcs, leb(uint64(reset))), append(codes, sized(g.resetBody()))
	exports = append(exports, cat(name("reset"), []byte{0}, leb(uint64(len(g.funcs)))),
		cat(name("memory"), []byte{2, 0}))
	elems := g.elems()
	types := g.heapTypeSection()
	for _, s := range g.types {
		types = append(types, g.encodeSig(s))
	}
	return cat(header,
		section(1, vec(types...)), section(2, vec(imports...)), section(3, vec(funcs...)), section(4, vec(tables...)),
		section(5, vec(memories...)), tags, section(6, vec(globals...)), section(7, vec(exports...)), section(9, elems),
		section(12, leb(uint64(numDatas+g.heapDatas()))), section(10, vec(codes...)), section(11, g.datas()))
}

// elems are: table 0 with some functions, a passive one, and one that declares
// all.
func (g *gen) elems() []byte {
	some := func(n int) []byte {
		items := make([][]byte, n)
		for i := range items {
			items[i] = leb(uint64(g.r.IntN(len(g.funcs))))
		}
		return vec(items...)
	}
	all := make([][]byte, len(g.funcs))
	for i := range all {
		all[i] = leb(uint64(i))
	}
	segments := [][]byte{cat([]byte{0, 0x41, 1, 0x0B}, some(tableLen-2)), cat([]byte{1, 0}, some(5)), cat([]byte{3, 0}, vec(all...))}
	segments = append(segments, g.heapElems()...)
	return vec(append(append(segments, g.closedElems()...), g.typedElems()...)...)
}

func (g *gen) datas() []byte {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(g.r.Uint32())
		}
		return append(leb(uint64(n)), b...)
	}
	datas := [][]byte{cat([]byte{0, 0x41, 8, 0x0B}, random(200)), cat([]byte{1}, random(40)),
		cat([]byte{0}, constant('i', 65536-64), []byte{0x0B}, random(64))}
	for range g.heapDatas() {
		datas = append(datas, cat([]byte{1}, random(heapDataLen)))
	}
	return vec(datas...)
}

// envModule returns the provider of imports: one global under two names, a function
// that changes it, a memory and a table, and what throws.
func envModule(throws bool) []byte {
	// note(x) = g = g*31 + x
	note := cat([]byte{0, 0x23, 0}, constant('l', 31), []byte{0x7E, 0x20, 0, 0x7C, 0x24, 0, 0x23, 0, 0x0B})
	types, funcs, codes := [][]byte{sig{"l", "l"}.encode()}, [][]byte{{0}}, [][]byte{sized(note)}
	exports := [][]byte{cat(name("note"), []byte{0, 0}), cat(name("g0"), []byte{3, 0}), cat(name("g1"), []byte{3, 0}),
		cat(name("memory"), []byte{2, 0}), cat(name("table"), []byte{1, 0})}
	var tags []byte
	if throws {
		e := EnvExceptions(len(types), len(funcs))
		types, funcs, codes, exports = append(types, e.Types...), append(funcs, []byte{0}), append(codes, e.Code), append(exports, e.Exports...)
		tags = e.Section
	}
	return cat(header,
		section(1, vec(types...)), section(3, vec(funcs...)),
		section(4, vec(cat([]byte{0x70}, limits(tableLen, 2*tableLen)))),
		section(5, vec(limits(memoryPages, memoryMax))), tags,
		section(6, vec(cat([]byte{0x7E, 1}, constant('l', 7), []byte{0x0B}))),
		section(7, vec(exports...)),
		section(10, vec(codes...)))
}
