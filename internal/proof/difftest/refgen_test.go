package difftest

import (
	"bytes"
	"math/rand/v2"
	"slices"
)

// refGen generates modules that are full of references to host objects:
// parameters (some of them on the stack), locals, loops, branches, calls, growth, tables,
// globals, and exceptions that have one. The imports, module "host", are
//
//	0 point    ()                        the place where references are compared
//	1 take     (ref, ref) -> ref         the same, gives the first that is not null
//	2 again    (i32, ref)                calls an exported function from the host
//	3 measure  (ref) -> (f32, ref)       the same as point, gives its argument
//
// The functions have one type, (ref × refParams, i32) -> one of refResults, so that all can call
// all, directly or through a table, and are exported as "a", "b"...
type refGen struct {
	r      *rand.Rand
	b      []byte
	funcs  int
	params int // of type ref; the i32 follows
	// results are the functions' results: valtypes, of which at least one is a reference.
	results []byte
	refs    int // locals of type ref, parameters included
	depth   int
	kinds   int // of statements: the last ones throw and catch
	budget  int
}

// refResults are the lists of results: floats first, on both sides, more than registers hold.
var refResults = []string{"\x6F", "\x7C\x6F", "\x6F\x7D", "\x7D\x7C\x7F\x6F", "\x7C\x6F\x6F\x6F\x6F\x6F\x6F",
	"\x7D\x7D\x7D\x7D\x7D\x7D\x6F\x7C"}

const (
	refImports = 4
	refFuel    = 60
	refTable   = 6
	refLocals  = 5
)

func uleb(x int) (b []byte) {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

func sleb(x int) (b []byte) {
	for x < -64 || x > 63 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x)&0x7F)
}

// refModule is the module of a seed, with exceptions if throws is set, and its numbers of functions and parameters, and the types of results.
func refModule(seed uint64, throws bool) (wasm []byte, funcs, params int, results []byte) {
	g := &refGen{r: rand.New(rand.NewPCG(seed, 99)), kinds: 15}
	if throws {
		g.kinds = 19
	}
	g.funcs = 1 + g.r.IntN(4)
	g.params = []int{1, 2, 3, 7, 9, 12}[g.r.IntN(6)]
	g.results = []byte(refResults[g.r.IntN(len(refResults))])
	cat := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	section := func(id byte, parts ...[]byte) []byte {
		b := cat(parts...)
		return cat([]byte{id}, uleb(len(b)), b)
	}
	body := cat(uleb(g.params+1), bytesOf(0x6F, g.params), []byte{0x7F}, uleb(len(g.results)), g.results)
	types := cat([]byte{6, 0x60, 0, 0, 0x60, 2, 0x6F, 0x6F, 1, 0x6F, 0x60, 2, 0x7F, 0x6F, 0, 0x60}, body,
		[]byte{0x60, 1, 0x6F, 2, 0x7D, 0x6F, 0x60, 1, 0x6F, 0})
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	imports := cat([]byte{refImports}, name("host"), name("point"), []byte{0, 0}, name("host"), name("take"), []byte{0, 1},
		name("host"), name("again"), []byte{0, 2}, name("host"), name("measure"), []byte{0, 4})
	funcSec, exports, codes, elems := uleb(g.funcs), uleb(g.funcs), uleb(g.funcs), uleb(g.funcs)
	for i := range g.funcs {
		funcSec = append(funcSec, 3)
		exports = append(exports, 1, byte('a'+i), 0, byte(refImports+i))
		elems = append(elems, byte(refImports+i))
		code := g.function()
		codes = cat(codes, uleb(len(code)), code)
	}
	wasm = cat([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, section(1, types), section(2, imports), section(3, funcSec),
		section(4, []byte{2, 0x6F, 1, refTable, refTable + 6, 0x70, 0, byte(g.funcs)}), section(5, []byte{1, 1, 0, 3}), section(13, []byte{1, 0, 5}),
		section(6, []byte{3}, []byte{0x7F, 1, 0x41}, sleb(refFuel), []byte{0x0B}, []byte{0x6F, 1, 0xD0, 0x6F, 0x0B}, []byte{0x6F, 1, 0xD0, 0x6F, 0x0B}),
		section(7, exports), section(9, []byte{1, 2, 1, 0x41, 0, 0x0B, 0}, elems), section(10, codes))
	return wasm, g.funcs, g.params, g.results
}

func bytesOf(b byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}

func (g *refGen) emit(b ...byte) { g.b = append(g.b, b...) }

func (g *refGen) function() []byte {
	g.b, g.depth, g.budget = nil, 0, 30+g.r.IntN(60)
	g.refs = g.params + refLocals
	// Locals: refs behind the i32 parameter, then an i64 and an f64.
	g.emit(3, refLocals, 0x6F, 1, 0x7E, 1, 0x7C)
	g.spend()
	g.stmts(4 + g.r.IntN(8))
	g.values(func() { g.ref(2) })
	g.emit(0x0B)
	return g.b
}

// values pushes results of the function, the references by ref.
func (g *refGen) values(ref func()) {
	for _, t := range g.results {
		switch t {
		case 0x6F:
			ref()
		case 0x7F:
			g.emit(0x41, 7)
		case 0x7D:
			g.emit(0x43, 0, 0, 0x80, 0x3F)
		case 0x7C:
			g.emit(0x44, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F)
		}
	}
}

// one leaves one of the references among the function's results on the stack, and puts others into locals.
func (g *refGen) one() {
	left := bytes.Count(g.results, []byte{0x6F})
	kept := g.local()
	for _, t := range slices.Backward(g.results) {
		switch {
		case t != 0x6F:
			g.emit(0x1A)
		case left == 1:
			g.emit(0x21, kept)
			left--
		default:
			g.emit(0x21, g.local())
			left--
		}
	}
	g.emit(0x20, kept)
}

// spend returns null from the function when there is no fuel left.
func (g *refGen) spend() {
	g.emit(0x23, 0, 0x45, 0x04, 0x40) // global 0; eqz; if
	g.values(func() { g.emit(0xD0, 0x6F) })
	g.emit(0x0F, 0x0B) // return; end
	g.emit(0x23, 0, 0x41, 1, 0x6B, 0x24, 0)
}

// local is a random local of type ref.
func (g *refGen) local() byte {
	n := g.r.IntN(g.refs)
	if n >= g.params {
		n++ // the i32
	}
	return byte(n)
}

func (g *refGen) stmts(n int) {
	for range n {
		if g.budget--; g.budget < 0 {
			return
		}
		g.stmt()
	}
}

func (g *refGen) stmt() {
	switch g.r.IntN(g.kinds) {
	case 15:
		g.cond()
		g.emit(0x04, 0x40)
		g.ref(1)
		g.emit(0x08, 0, 0x0B) // throw
	case 16, 17:
		g.try()
	case 18:
		g.tryTable()
	case 12, 13:
		g.emit(0x41, byte(g.r.IntN(2)), 0x40, 0, 0x1A) // memory.grow
	case 14:
		g.ref(2)
		g.emit(0x41, byte(g.r.IntN(2)), 0xFC, 15, 0, 0x1A) // table.grow
	case 0, 1, 2:
		g.ref(3)
		g.emit(0x21, g.local())
	case 3:
		g.ref(2)
		g.emit(0x24, byte(1+g.r.IntN(2)))
	case 4:
		g.emit(0x41, byte(g.r.IntN(refTable)))
		g.ref(2)
		g.emit(0x26, 0)
	case 5, 6:
		g.emit(0x10, 0)
	case 7:
		g.cond()
		g.ref(1)
		g.emit(0x10, 2)
	case 8, 9:
		g.cond()
		g.emit(0x04, 0x40)
		g.depth++
		g.stmts(1 + g.r.IntN(4))
		if g.r.IntN(2) == 0 {
			g.emit(0x05)
			g.stmts(1 + g.r.IntN(4))
		}
		g.depth--
		g.emit(0x0B)
	case 10:
		g.emit(0x03, 0x40)
		g.depth++
		g.spend()
		g.stmts(1 + g.r.IntN(5))
		g.cond()
		g.emit(0x0D, byte(g.r.IntN(g.depth)))
		g.depth--
		g.emit(0x0B)
	default:
		g.emit(0x02, 0x40)
		g.depth++
		g.stmts(1 + g.r.IntN(3))
		g.cond()
		g.emit(0x0D, 0)
		g.stmts(1 + g.r.IntN(3))
		g.depth--
		g.emit(0x0B)
	}
}

// try is a try with a catch or a catch_all, of which one may throw the same exception again.
func (g *refGen) try() {
	rethrow := func() {
		if g.r.IntN(4) == 0 {
			g.cond()
			g.emit(0x04, 0x40, 0x09, 1, 0x0B)
		}
	}
	g.emit(0x06, 0x40)
	g.depth++
	g.stmts(1 + g.r.IntN(4))
	kinds := 1 + g.r.IntN(3)
	if kinds&1 != 0 {
		g.emit(0x07, 0, 0x21, g.local())
		g.stmts(g.r.IntN(4))
		rethrow()
	}
	if kinds&2 != 0 {
		g.emit(0x19)
		g.stmts(g.r.IntN(4))
		rethrow()
	}
	g.depth--
	g.emit(0x0B)
}

// tryTable is a try_table that catches all.
func (g *refGen) tryTable() {
	g.emit(0x02, 0x40, 0x1F, 0x40, 1, 2, 0)
	g.depth += 2
	g.stmts(1 + g.r.IntN(4))
	g.depth -= 2
	g.emit(0x0B, 0x0B)
}

// cond pushes an i32.
func (g *refGen) cond() {
	switch g.r.IntN(4) {
	case 0:
		g.emit(0x20, byte(g.params))
	case 1:
		g.emit(0x23, 0, 0x41, byte(g.r.IntN(8)), 0x71)
	case 2:
		g.emit(0x20, byte(g.params), 0x41, 3, 0x6C, 0x23, 0, 0x6A, 0x41, 1, 0x71)
	default:
		g.emit(0x20, g.local(), 0xD1)
	}
}

// ref pushes a reference.
func (g *refGen) ref(depth int) {
	n := 10
	if depth == 0 || g.budget < 0 {
		n = 4
	}
	g.budget--
	switch g.r.IntN(n) {
	case 0, 1:
		g.emit(0x20, g.local())
	case 2:
		g.emit(0x23, byte(1+g.r.IntN(2)))
	case 3:
		g.emit(0x41, byte(g.r.IntN(refTable)), 0x25, 0)
	case 4:
		g.ref(depth - 1)
		g.ref(depth - 1)
		g.emit(0x10, 1)
	case 5, 6:
		for range g.params {
			g.ref(min(depth-1, 1))
		}
		g.cond()
		if f := g.r.IntN(g.funcs); g.r.IntN(3) == 0 {
			g.emit(0x41, byte(f), 0x11, 3, 1) // call_indirect
		} else {
			g.emit(0x10, byte(refImports+f))
		}
		g.one()
	case 9:
		g.ref(depth - 1)
		kept := g.local()
		g.emit(0x10, 3, 0x21, kept, 0x1A, 0x20, kept) // measure
	case 7:
		g.ref(depth - 1)
		g.ref(depth - 1)
		g.cond()
		g.emit(0x1C, 1, 0x6F)
	default:
		g.cond()
		g.emit(0x04, 0x6F)
		g.depth++
		g.ref(depth - 1)
		g.emit(0x05)
		g.ref(depth - 1)
		g.depth--
		g.emit(0x0B)
	}
}
