package guestfuzz

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Types are letters: i, l, f, d, r, x, e for i32, i64, f32, f64, funcref, externref, exnref.
const valueTypes = "ilfdrxe"

// references are those that are words of a store.
const references = "rxe"

// signature is the type of a function.
type signature struct{ params, results string }

// program is a module that can be encoded and interpreted.
type program struct {
	name    string
	imports []signature // of Go functions; import 0 is cancelImport
	funcs   []function
	memory  memoryDef
	tables  []tableDef
	globals []globalDef
	tags    []tagDef // imported ones first
	elems   []elemDef
	datas   []dataDef
	start   int // of funcs; -1 is none
}

// The first globals of all programs are imported.
const (
	globalStep  = iota // i64, counts actions
	globalFuel         // i64, the functions that may still be entered
	globalSeed         // externref, immutable: what segments and globals begin with
	firstGlobal        // the others, in any order
)

// cancelImport is the number of an import with which a guest asks the host to end a context. It gives 1, or 0 if no context can
// end.
const cancelImport = 0

// function is a function of a program.
type function struct {
	signature
	locals   string // types of all, parameters first
	body     []action
	returned []int // locals that it gives as results
}

type memoryDef struct {
	min, max uint64 // in pages
	hasMax   bool
	imported bool
}

type tableDef struct {
	elem     byte // r, x or e
	min, max uint64
	hasMax   bool
	imported bool
}

type globalDef struct {
	typ               byte
	mutable, imported bool
	init              uint64 // of a number; an externref begins as globalSeed if it is 1
}

// tagDef is a tag. The first parameter is an i64, which tells exceptions from each other.
type tagDef struct {
	params   string
	imported bool
}

// tagParams are what programs choose from. Some are more than other programs have room for.
var tagParams = [...]string{"l", "lx", "lid", "lxre", "le", "lllllllllllxl"}

// elemDef is an element segment. Function references are numbers of functions, host references are
// globalSeed; -1 is null, as all references to exceptions are.
type elemDef struct {
	elem   byte
	items  []int
	active bool
	table  int
	offset uint32
}

type dataDef struct {
	bytes  []byte
	active bool
	offset uint32
}

// op is what an action does. Operands are locals of the type in brackets; d is the destination.
type op uint8

const (
	opEnter        op = iota // count, and return zeros if there is no fuel, else take some
	opEnterFree              // count
	opConst                  // d[l] = k
	opArith                  // d[l] = a[l] (arithmetic k) b[l]
	opConvert                // d[i, f, d] = lower half of a[l], of which k bits
	opExtend                 // d[l] = a[i], as an unsigned number
	opLoad                   // d[l] = memory[a[l] & k]
	opStore                  // memory[a[l] & k] = b[l]
	opMemorySize             // d[i]
	opMemoryGrow             // d[i] = by a[l] & k
	opMemoryFill             // from a[l] & k, c[l] & 255 bytes, of b[l]
	opMemoryCopy             // to a[l] & k, from b[l] & k, c[l] & 255 bytes
	opMemoryInit             // to a[l] & k, from b[l] & 15, c[l] & 15 bytes of segment t
	opDataDrop               // t
	opGlobalGet              // d = global t
	opGlobalSet              // global t = a
	opTableGet               // d = table t [a[l] & k]
	opTableSet               // table t [a[l] & k] = b
	opTableSize              // d[i] of table t
	opTableGrow              // d[i] = table t by a[l] & k, of b
	opTableFill              // table t from a[l] & k, c[l] & 3 elements, of b
	opTableCopy              // table t to a[l] & k, from u at b[l] & k, c[l] & 3 elements
	opTableInit              // table t to a[l] & k, from b[l] & 1 of segment u, c[l] & 3 elements
	opElemDrop               // t
	opNull                   // d[r, x] = null
	opIsNull                 // d[i] = a[r, x] is null
	opRefFunc                // d[r] = function t
	opMove                   // d = a, of one type
	opCall                   // dests = function t (args)
	opIndirect               // dests = table 0 [a[l] & k] (args), of signature t of the program
	opTrap                   // trap k, by a[l] if it is an access
	opSpin                   // call cancelImport, and if that gives 1, go around for ever in manner k
	opReturn                 // return the results
	opLoop                   // go k times around the actions up to the next opEnd; d[i] counts
	opEnd                    // of the opLoop at t, which d[i] counts down
	opSpread                 // k locals from d on = a[l] times odd numbers
	opGather                 // d[l] = that of k locals from a on
	opTry                    // catch by clauses what calls up to the next opTryEnd throw
	opTryEnd                 // of the opTry at t
	opThrow                  // throw an exception of tag t (the number of the action, and args)
	opThrowRef               // throw a[e]
	opTail                   // return what function t (args) returns, by a tail call
	opTailIndirect           // likewise table 0 [a[l] & k] (args), of signature t of the program
	numOps
)

// clause is one of an opTry. Caught exceptions leave a number in a local, so that it is known which clause it was.
type clause struct {
	tag   int // -1 is all
	dests []int
	ref   bool // whether exn is the exception
	exn   int
	mark  int
	k     int64
}

// traps are the ways of opTrap.
const (
	trapUnreachable = iota
	trapDivide
	trapOverflow
	trapConversion
	trapConversionRange
	trapMemory
	trapTable
	numTraps
)

// numSpins is the number of manners of opSpin.
const numSpins = 4

// numArith is the number of kinds of opArith.
const numArith = 6

// action is one step of a function. If it is guarded it happens only if local & mask is want.
type action struct {
	op          op
	guarded     bool
	guard       int
	mask, want  int64
	d, a, b, c  int
	t, u        int
	k           int64
	args, dests []int
	clauses     []clause
	legacy      bool // of an opTry: in the form of the legacy proposal, whose clauses bring no reference, and that for all is the last
}

// isBracket reports whether the action is none that is counted, but a place in the code.
func (a *action) isBracket() bool {
	return a.op == opLoop || a.op == opEnd || a.op == opTry || a.op == opTryEnd
}

// isTail reports whether the action is a tail call.
func (a *action) isTail() bool { return a.op == opTail || a.op == opTailIndirect }

// sigOf returns the signature of function n, imports first.
func (p *program) sigOf(n int) signature {
	if n < len(p.imports) {
		return p.imports[n]
	}
	return p.funcs[n-len(p.imports)].signature
}

func (p *program) numFuncs() int { return len(p.imports) + len(p.funcs) }

// The last functions of all programs.
const (
	endNop       = 1 + iota // does nothing at all, and does not count
	endRecursive            // calls itself as often as its argument says
)

// nop returns the number of the function that does nothing.
func (p *program) nop() int { return p.numFuncs() - endNop }

// generator makes a program.
type generator struct {
	r      *rand.Rand
	p      *program
	f      *function // that is being made
	n      int       // its number
	throws bool      // whether there are actions with exceptions
	// favourite is the function in most elements of table 0, so that most indirect calls find a function of the right type.
	favourite int
	open      []int // the opLoops and opTries around
}

// newProgram makes the program of a seed.
func newProgram(seed uint64, name string) *program {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x9e57)), p: &program{name: name, start: -1}}
	p, r := g.p, g.r
	all := signatures()
	pool := all[:7:7] // half of all have these, so that programs fit each other, and tail calls have more arguments or less
	for range 7 {
		pool = append(pool, all[r.IntN(len(all))])
	}
	p.imports = []signature{{"", "i"}}
	for range 2 + r.IntN(4) {
		p.imports = append(p.imports, pool[r.IntN(len(pool))])
	}
	g.surroundings()
	g.tags()
	for range 2 + r.IntN(5) {
		p.funcs = append(p.funcs, function{signature: pool[r.IntN(len(pool))]})
	}
	if r.IntN(4) == 0 {
		p.start = len(p.funcs)
		p.funcs = append(p.funcs, function{})
	}
	p.funcs = append(p.funcs, function{signature: signature{"lx", "lx"}}, function{})
	g.favourite = r.IntN(p.numFuncs())
	for n := range len(p.funcs) - endRecursive {
		g.function(n)
	}
	g.recursive(len(p.funcs) - endRecursive)
	g.segments()
	return p
}

// numSignatures is how many signatures there are. The number is bounded because package reflect never frees a function type that
// it has made.
const numSignatures = 40

// signatures are the signatures that programs choose from.
func signatures() []signature {
	r := rand.New(rand.NewPCG(1, 2))
	types := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "llxxrifde"[r.IntN(9)]
		}
		return string(b)
	}
	all := []signature{{"l", "l"}, {"x", "x"}, {"e", "e"}, {"", ""}, {"ii", "i"}, {"lllllllllll", "l"}, {"xllllilllllllx", "l"}, {"ll", ""}, {"d", "d"}, {"", "i"}, {"i", ""}, {"", "l"}, {"lll", "l"},
		{"dd", "d"}, {"ll", "l"}}
	for len(all) < numSignatures {
		params, results := r.IntN(5), r.IntN(4)
		if len(all)%8 == 0 {
			params, results = 16+r.IntN(14), r.IntN(9)
		}
		all = append(all, signature{types(params), types(results)})
	}
	return all
}

// surroundings makes memory, tables and globals.
func (g *generator) surroundings() {
	p, r := g.p, g.r
	p.memory = memoryDef{min: uint64(1 + r.IntN(2)), hasMax: r.IntN(2) == 0, imported: r.IntN(4) == 0}
	if r.IntN(12) == 0 {
		p.memory.min = 0
	}
	p.memory.max = p.memory.min + uint64(r.IntN(4))
	for _, elem := range []byte([]string{"rx", "rxx", "rxe", "rexe"}[r.IntN(4)]) {
		t := tableDef{elem: elem, min: 4 << r.IntN(2), hasMax: r.IntN(2) == 0, imported: r.IntN(4) == 0}
		if r.IntN(12) == 0 {
			t.min = 0
		}
		t.max = t.min + uint64(r.IntN(12))
		p.tables = append(p.tables, t)
	}
	p.globals = []globalDef{{typ: 'l', mutable: true, imported: true}, {typ: 'l', mutable: true, imported: true}, {typ: 'x', imported: true}}
	for range r.IntN(3) {
		p.globals = append(p.globals, globalDef{typ: "lxrie"[r.IntN(5)], mutable: true, imported: true})
	}
	for _, t := range []byte("llxxrifdee") {
		p.globals = append(p.globals, globalDef{typ: t, mutable: r.IntN(8) != 0, init: uint64(r.IntN(2))})
	}
}

// segments makes segments, once the number of functions is known.
func (g *generator) segments() {
	p, r := g.p, g.r
	if r.IntN(8) != 0 {
		e := elemDef{elem: 'r', active: true}
		for range p.tables[0].min {
			e.items = append(e.items, g.favourite)
			if r.IntN(8) == 0 {
				e.items[len(e.items)-1] = r.IntN(p.numFuncs()+1) - 1
			}
		}
		p.elems = append(p.elems, e)
	}
	for range 1 + r.IntN(3) {
		e := elemDef{elem: "rrxxe"[r.IntN(5)], active: r.IntN(2) == 0}
		for range r.IntN(5) {
			item := r.IntN(p.numFuncs()+1) - 1
			if e.elem == 'e' {
				item = -1
			}
			e.items = append(e.items, item)
		}
		if e.elem == 'e' && !slices.ContainsFunc(p.tables, func(t tableDef) bool { return t.elem == 'e' }) {
			e.elem = 'x'
		}
		for t := range p.tables {
			if p.tables[t].elem == e.elem {
				e.table = t
			}
		}
		if room := int(p.tables[e.table].min) - len(e.items); room > 0 {
			e.offset = uint32(r.IntN(room + 1))
		} else if e.active && r.IntN(8) != 0 {
			e.active = false
		}
		p.elems = append(p.elems, e)
	}
	for range 1 + r.IntN(2) {
		d := dataDef{active: r.IntN(2) == 0 && p.memory.min > 0, offset: uint32(r.IntN(3000))}
		if r.IntN(40) == 0 {
			d.offset = uint32(p.memory.min*wasmPage) - 3
		}
		size := r.IntN(20)
		if d.active && r.IntN(4) == 0 {
			size = 15000 + r.IntN(12000) // enough for a file that instances map
		}
		for range size {
			d.bytes = append(d.bytes, byte(r.Uint32()))
		}
		p.datas = append(p.datas, d)
	}
}

// local returns a random local of a type.
func (g *generator) local(t byte) int {
	n := strings.Count(g.f.locals, string(t))
	at := -1
	for range 1 + g.r.IntN(n) {
		at += 1 + strings.IndexByte(g.f.locals[at+1:], t)
	}
	return at
}

// localsOf returns a random local for each of some types.
func (g *generator) localsOf(types string) (out []int) {
	for _, t := range []byte(types) {
		out = append(out, g.local(t))
	}
	return out
}

// newLocal adds a local that nothing else uses, once function has made all others.
func (g *generator) newLocal(t byte) int {
	g.f.locals += string(t)
	return len(g.f.locals) - 1
}

// function makes the body of function n.
func (g *generator) function(n int) {
	g.f, g.n = &g.p.funcs[n], n
	f, r := g.f, g.r
	f.locals = f.params + "lllxxrifde"
	f.body = []action{{op: opEnter}}
	if g.throws && r.IntN(3) == 0 {
		g.openBracket(g.try())
	}
	for range 3 + r.IntN(14) {
		if g.bracket() {
			continue
		}
		a := g.action()
		leaves := a.op == opThrow || a.op == opThrowRef || a.isTail()
		if leaves || a.op == opTrap || a.op == opSpin || r.IntN(6) == 0 {
			a.guarded, a.guard, a.mask = true, g.local('l'), int64(1)<<(1+r.IntN(3))-1
			if leaves {
				a.mask = 1
			}
			a.want = r.Int64N(a.mask + 1)
		}
		tries := g.throws && a.op == opCall && a.t < len(g.p.imports) && r.IntN(2) == 0
		if tries {
			g.openBracket(g.try())
		}
		f.body = append(f.body, a)
		if tries {
			g.closeBracket()
		}
		if i := slices.IndexFunc(a.dests, func(d int) bool { return f.locals[d] == 'i' }); i >= 0 && r.IntN(2) == 0 {
			f.body = append(f.body, action{op: opExtend, d: g.local('l'), a: a.dests[i]}) // all its bits matter
		}
	}
	for len(g.open) > 0 {
		g.closeBracket()
	}
	if r.IntN(4) == 0 {
		f.body = append(f.body, g.tail())
	}
	f.returned = g.localsOf(f.results)
	for at := range f.body {
		if a := &f.body[at]; a.op == opLoop {
			a.d = g.newLocal('i')
			f.body[a.t].d = a.d
		}
	}
}

// maxOpen is how many loops and tries may be open. Of loops it may be one, so that they end soon.
const maxOpen = 3

// bracket opens or closes a loop or a try, or does not.
func (g *generator) bracket() bool {
	f, r := g.f, g.r
	loop := slices.ContainsFunc(g.open, func(at int) bool { return f.body[at].op == opLoop })
	switch {
	case len(g.open) > 0 && r.IntN(4) == 0:
		g.closeBracket()
		return true
	case len(g.open) == maxOpen || r.IntN(7) != 0:
		return false
	case !loop && r.IntN(2) == 0:
		g.openBracket(action{op: opLoop, k: int64(1 + r.IntN(5))})
		return true
	case g.throws:
		g.openBracket(g.try())
		return true
	}
	return false
}

func (g *generator) openBracket(a action) {
	g.f.body = append(g.f.body, a)
	g.open = append(g.open, len(g.f.body)-1)
}

// closeBracket closes the innermost one.
func (g *generator) closeBracket() {
	f, last := g.f, len(g.open)-1
	at := g.open[last]
	g.open = g.open[:last]
	end := opEnd
	if f.body[at].op == opTry {
		end = opTryEnd
	}
	f.body[at].t = len(f.body)
	f.body = append(f.body, action{op: end, t: at})
}

// recursive makes the function that calls itself, with frames of any size.
func (g *generator) recursive(n int) {
	g.f, g.n = &g.p.funcs[n], n
	f, r := g.f, g.r
	spread := 1 << r.IntN(7)
	if r.IntN(12) == 0 {
		spread = 1000 + r.IntN(2000)
	}
	f.locals = f.params + "lllxxrifde" + strings.Repeat("l", spread)
	first := len(f.locals) - spread
	const depth, ref, next, sum = 0, 1, 2, 3
	self := len(g.p.imports) + n
	f.returned = []int{depth, ref}
	f.body = []action{{op: opEnterFree}}
	levels := []int64{15, 15, 63, 255, 4095, -1}[r.IntN(6)]
	if r.IntN(2) == 0 {
		leaf := g.call(r.IntN(len(g.p.imports)))
		leaf.guarded, leaf.guard, leaf.mask = true, depth, levels&255
		f.body = append(f.body, leaf)
	}
	f.body = append(f.body,
		action{op: opReturn, guarded: true, guard: depth, mask: levels},
		action{op: opSpread, d: first, a: depth, k: int64(spread)},
		action{op: opConst, d: next, k: -1},
		action{op: opArith, d: next, a: depth, b: next})
	if try := g.try(); g.throws && r.IntN(4) == 0 {
		try.t = len(f.body) + 2
		f.body = append(f.body, try, action{op: opCall, t: self, args: []int{next, ref}, dests: []int{next, ref}}, action{op: opTryEnd, t: len(f.body)})
	} else {
		f.body = append(f.body, action{op: opCall, t: self, args: []int{next, ref}, dests: []int{next, ref}})
	}
	f.body = append(f.body,
		action{op: opGather, d: sum, a: first, k: int64(spread)},
		action{op: opArith, d: depth, a: sum, b: next, k: 3})
}

// tags makes tags, in most programs.
func (g *generator) tags() {
	r := g.r
	g.throws = r.IntN(4) != 0
	if !g.throws {
		return
	}
	for n := range r.IntN(5) {
		t := tagDef{params: tagParams[r.IntN(len(tagParams))], imported: n < 2}
		g.p.tags = append(g.p.tags, t)
	}
}

// try makes an opTry with clauses.
func (g *generator) try() action {
	a := action{op: opTry, legacy: g.r.IntN(3) == 0}
	for range 1 + g.r.IntN(3) {
		c := clause{tag: g.r.IntN(len(g.p.tags)+1) - 1, ref: g.r.IntN(2) == 0 && !a.legacy, exn: g.local('e'), mark: g.local('l'), k: g.r.Int64()}
		if c.tag >= 0 {
			c.dests = g.localsOf(g.p.tags[c.tag].params)
		}
		a.clauses = append(a.clauses, c)
		if a.legacy && c.tag < 0 {
			break
		}
	}
	return a
}

// throw makes an action that throws, or another one if the program does not.
func (g *generator) throw() action {
	switch n := len(g.p.tags); {
	case !g.throws:
		return action{op: opMove, d: g.local('x'), a: g.local('x')}
	case n == 0 || g.r.IntN(4) == 0:
		return action{op: opThrowRef, a: g.local('e')}
	default:
		t := g.r.IntN(n)
		return action{op: opThrow, t: t, args: g.localsOf(g.p.tags[t].params[1:])}
	}
}

// tail makes a tail call, mostly of an import or a later function, with the results of this one.
func (g *generator) tail() action {
	p, r := g.p, g.r
	fits := func(t int) bool { return t != cancelImport && p.sigOf(t).results == g.f.results }
	if fits(g.favourite) && r.IntN(3) == 0 {
		return action{op: opTailIndirect, t: g.favourite, a: g.local('l'), k: g.mask(p.tables[0].min), args: g.localsOf(p.sigOf(g.favourite).params)}
	}
	var list []int
	for t := range p.numFuncs() {
		if fits(t) && (t < len(p.imports) || t > len(p.imports)+g.n || r.IntN(8) == 0) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return action{op: opReturn, guarded: true, guard: g.local('l'), mask: 3}
	}
	t := list[r.IntN(len(list))]
	return action{op: opTail, t: t, args: g.localsOf(p.sigOf(t).params)}
}

// call makes a call of function t.
func (g *generator) call(t int) action {
	if t == cancelImport {
		return action{op: opSpin, k: int64(g.r.IntN(numSpins))}
	}
	s := g.p.sigOf(t)
	return action{op: opCall, t: t, args: g.localsOf(s.params), dests: g.localsOf(s.results)}
}

// mask returns a mask for indices below n, most of which are in bounds.
func (g *generator) mask(n uint64) int64 {
	switch {
	case g.r.IntN(40) == 0:
		return 0xffffffff
	case n == 0:
		return 0
	}
	m := uint64(1)
	for m*2 <= n {
		m *= 2
	}
	if g.r.IntN(30) == 0 {
		m *= 2
	}
	return int64(m - 1)
}

// tableOf returns a table with elements of a type.
func (g *generator) tableOf(elem byte) int {
	for {
		if t := g.r.IntN(len(g.p.tables)); g.p.tables[t].elem == elem {
			return t
		}
	}
}

// action makes a random action.
func (g *generator) action() action {
	p, r := g.p, g.r
	l := func() int { return g.local('l') }
	table := r.IntN(len(p.tables))
	elem := p.tables[table].elem
	index := g.mask(p.tables[table].min)
	switch w := r.IntN(116) - 16; {
	case w < -6:
		return g.throw()
	case w < 0:
		return g.tail()
	case w < 22:
		return g.call(1 + r.IntN(len(p.imports)-1))
	case w < 32: // mostly a later function
		first := len(p.imports) + g.n + 1
		return g.call(first + r.IntN(p.numFuncs()-first))
	case w < 37:
		s := g.favourite
		if r.IntN(6) == 0 {
			s = r.IntN(p.numFuncs())
		}
		sig := p.sigOf(s)
		return action{op: opIndirect, t: s, a: l(), k: g.mask(p.tables[0].min), args: g.localsOf(sig.params), dests: g.localsOf(sig.results)}
	case w < 42:
		return action{op: opConst, d: l(), k: r.Int64() >> r.IntN(64)}
	case w < 48:
		return action{op: opArith, d: l(), a: l(), b: l(), k: int64(r.IntN(numArith))}
	case w < 51:
		t := "ifd"[r.IntN(3)]
		return action{op: opConvert, d: g.local(t), a: l(), k: int64(1 + r.IntN(16)), t: int(t)}
	case w < 52:
		return action{op: opExtend, d: l(), a: g.local('i')}
	case w < 56:
		return g.memoryAction()
	case w < 58:
		return action{op: opMemoryGrow, d: g.local('i'), a: l(), k: []int64{1, 1, 0, 0xffff}[r.IntN(4)]}
	case w < 68:
		return g.globalAction()
	case w < 73:
		return action{op: opTableGet, d: g.local(elem), t: table, a: l(), k: index}
	case w < 79:
		return action{op: opTableSet, t: table, a: l(), b: g.local(elem), k: index}
	case w < 82:
		return action{op: opTableGrow, d: g.local('i'), t: table, a: l(), b: g.local(elem), k: []int64{3, 3, 1, 0xffffffff}[r.IntN(4)]}
	case w < 84:
		return action{op: opTableFill, t: table, a: l(), b: g.local(elem), c: l(), k: index}
	case w < 86:
		return action{op: opTableCopy, t: table, u: g.tableOf(elem), a: l(), b: l(), c: l(), k: index &^ 2}
	case w < 88:
		return action{op: opTableInit, t: table, u: int(r.Uint32()), a: l(), b: l(), c: l(), k: index &^ 2}
	case w < 89:
		if r.IntN(4) == 0 {
			return action{op: opElemDrop, t: int(r.Uint32())}
		}
		return action{op: opTableSize, d: g.local('i'), t: table}
	case w < 91:
		t := "rxe"[r.IntN(3)]
		return action{op: opNull, d: g.local(t), t: int(t)}
	case w < 92:
		return action{op: opIsNull, d: g.local('i'), a: g.local("rxe"[r.IntN(3)])}
	case w < 94:
		return action{op: opRefFunc, d: g.local('r'), t: r.IntN(p.numFuncs())}
	case w < 97:
		t := valueTypes[r.IntN(len(valueTypes))]
		return action{op: opMove, d: g.local(t), a: g.local(t)}
	case w < 99:
		return action{op: opTrap, a: l(), k: int64(r.IntN(numTraps))}
	}
	return g.call(cancelImport)
}

func (g *generator) globalAction() action {
	p, r := g.p, g.r
	t := globalSeed + r.IntN(len(p.globals)-globalSeed)
	d := p.globals[t]
	if d.mutable && r.IntN(2) == 0 {
		return action{op: opGlobalSet, t: t, a: g.local(d.typ)}
	}
	return action{op: opGlobalGet, t: t, d: g.local(d.typ)}
}

func (g *generator) memoryAction() action {
	r := g.r
	l := func() int { return g.local('l') }
	mask := g.mask(min(g.p.memory.min, 1) * 4096)
	switch r.IntN(12) {
	case 0:
		return action{op: opMemorySize, d: g.local('i')}
	case 1:
		return action{op: opMemoryFill, a: l(), b: l(), c: l(), k: mask}
	case 2:
		return action{op: opMemoryCopy, a: l(), b: l(), c: l(), k: mask}
	case 3:
		return action{op: opMemoryInit, t: int(r.Uint32()), a: l(), b: l(), c: l(), k: mask}
	case 4:
		if r.IntN(3) == 0 {
			return action{op: opDataDrop, t: int(r.Uint32())}
		}
		fallthrough
	case 5, 6, 7:
		return action{op: opLoad, d: l(), a: l(), k: mask}
	}
	return action{op: opStore, a: l(), b: l(), k: mask}
}
