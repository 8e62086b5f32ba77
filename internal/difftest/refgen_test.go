package difftest

import (
	"math/rand/v2"
)

// refProgram generates modules that are full of references to host objects:
// parameters (some of them on the stack), locals, loops, branches, calls, tables
// and globals. The imports, module "host", are
//
//	0 point    ()                        the place where references are compared
//	1 take     (ref, ref) -> ref         the same, gives the first that is not null
//	2 again    (i32, ref)                calls an exported function from the host
//
// The functions have one type, (ref × refParams, i32) -> ref, so that all can call
// all, and are exported as "a", "b"...
type refGen struct {
	r      *rand.Rand
	b      []byte
	funcs  int
	params int // of type ref; the i32 follows
	refs   int // locals of type ref, parameters included
	depth  int
	budget int
}

const (
	refImports = 3
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

// refModule is the module of a seed, and its numbers of functions and of parameters.
func refModule(seed uint64) (wasm []byte, funcs, params int) {
	g := &refGen{r: rand.New(rand.NewPCG(seed, 99))}
	g.funcs = 1 + g.r.IntN(4)
	g.params = []int{1, 2, 3, 7, 9, 12}[g.r.IntN(6)]
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
	body := cat(uleb(g.params+1), bytesOf(0x6F, g.params), []byte{0x7F, 1, 0x6F})
	types := cat([]byte{4, 0x60, 0, 0, 0x60, 2, 0x6F, 0x6F, 1, 0x6F, 0x60, 2, 0x7F, 0x6F, 0, 0x60}, body)
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	imports := cat([]byte{refImports}, name("host"), name("point"), []byte{0, 0}, name("host"), name("take"), []byte{0, 1},
		name("host"), name("again"), []byte{0, 2})
	funcSec, exports, codes := uleb(g.funcs), uleb(g.funcs), uleb(g.funcs)
	for i := range g.funcs {
		funcSec = append(funcSec, 3)
		exports = append(exports, 1, byte('a'+i), 0, byte(refImports+i))
		code := g.function()
		codes = cat(codes, uleb(len(code)), code)
	}
	wasm = cat([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, section(1, types), section(2, imports), section(3, funcSec),
		section(4, []byte{1, 0x6F, 0, refTable}),
		section(6, []byte{3}, []byte{0x7F, 1, 0x41}, sleb(refFuel), []byte{0x0B}, []byte{0x6F, 1, 0xD0, 0x6F, 0x0B}, []byte{0x6F, 1, 0xD0, 0x6F, 0x0B}),
		section(7, exports), section(10, codes))
	return wasm, g.funcs, g.params
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
	g.ref(2)
	g.emit(0x0B)
	return g.b
}

// spend returns null from the function when there is no fuel left.
func (g *refGen) spend() {
	g.emit(0x23, 0, 0x45, 0x04, 0x40, 0xD0, 0x6F, 0x0F, 0x0B) // global 0; eqz; if; null; return; end
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
	switch g.r.IntN(12) {
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
	n := 9
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
		g.emit(0x10, byte(refImports+g.r.IntN(g.funcs)))
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
