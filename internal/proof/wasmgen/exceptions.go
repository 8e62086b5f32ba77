package wasmgen

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// This file makes exceptions, of the new proposal and of the legacy one: tags, throws, and blocks that catch, in expressions and as statements. What is thrown goes through
// several functions, also those of the environment, and what catches it joins the normal way.

// The letter of references to exceptions.
const exnRef = 'e'

// tag is a tag of exceptions.
type tag struct {
	params   string
	imported string
	exported string
}

// The environment has a function that throws, of the type of its other one, and tags: the first two are one.
const funcThrows = 1

var envTags = []tag{{params: "l", imported: "t0"}, {params: "l", imported: "t1"}, {params: "il", imported: "t2"}}

// throws reports whether modules have tags.
func (c *Config) throws() bool { return c.Exceptions || c.Legacy }

// importsTags reports whether modules import tags, and what throws.
func (c *Config) importsTags() bool { return c.throws() && !c.OwnTags }

// declareTags chooses the tags: those of the environment first.
func (g *gen) declareTags() {
	if !g.cfg.throws() {
		return
	}
	for _, t := range envTags {
		if g.cfg.OwnTags {
			t.imported = ""
		}
		g.tags = append(g.tags, t)
	}
	from := "illfdrx"
	if g.cfg.Exceptions {
		from += string(rune(exnRef))
		g.globals = append(g.globals, global{typ: exnRef, mutable: true, constant: true, init: constant(exnRef, 0)})
		g.exnGlobal = len(g.globals) - 1
	}
	for i := range 1 + g.r.IntN(4) {
		t := tag{params: g.typeList(g.r.IntN(9), from)}
		if g.r.IntN(3) == 0 && !g.cfg.OwnTags {
			t.exported = fmt.Sprintf("tag%d", i)
		}
		g.tags = append(g.tags, t)
	}
}

// wideResults returns types of more results than registers are for, if there are exceptions, now and then.
func (g *gen) wideResults() (string, bool) {
	if !g.cfg.throws() || g.r.IntN(4) > 0 {
		return "", false
	}
	return g.typeList(5+g.r.IntN(6), "illfd"), true
}

// tagImports, tagTypes and tagExports encode the tags.
func (g *gen) tagImports() (imports [][]byte) {
	for i := range g.tags {
		if t := &g.tags[i]; t.imported != "" {
			imports = append(imports, cat(name("env"), name(t.imported), []byte{byte(abi.ExternTag)}, g.tagType(t)))
		}
	}
	return imports
}

func (g *gen) tagSection() []byte {
	var tags [][]byte
	for i := range g.tags {
		if t := &g.tags[i]; t.imported == "" {
			tags = append(tags, g.tagType(t))
		}
	}
	if len(tags) == 0 {
		return nil
	}
	return section(13, vec(tags...))
}

func (g *gen) tagType(t *tag) []byte {
	return append([]byte{0}, leb(uint64(g.typeIndex(sig{params: t.params})))...)
}

func (g *gen) tagExports() (exports [][]byte) {
	for i := range g.tags {
		if t := &g.tags[i]; t.exported != "" {
			exports = append(exports, cat(name(t.exported), []byte{byte(abi.ExternTag)}, leb(uint64(i))))
		}
	}
	return exports
}

// exnTable is the number of the table of references to exceptions, behind all others.
func (g *gen) exnTable() int {
	n := g.nullTable()
	if g.typed >= 0 {
		n += typedTables
	}
	return n
}

// exnTables encodes it.
func (g *gen) exnTables() [][]byte {
	if !g.cfg.Exceptions {
		return nil
	}
	return [][]byte{cat([]byte{valTypes[exnRef]}, limits(tableLen, tableLen))}
}

// exception pushes a reference to an exception, or null.
func (f *fgen) exception() {
	switch n := f.r.IntN(8); {
	case n < 3 && f.budget > 0 && f.depth <= maxDepth:
		f.tryTable("", string(rune(exnRef)))
	case n < 4:
		f.opIndex(wasmfront.OpGlobalGet, f.exnGlobal)
	case n < 5:
		f.small(tableLen)
		f.opIndex(wasmfront.OpTableGet, f.exnTable())
	case n < 7:
		f.opIndex(wasmfront.OpLocalGet, f.anyLocal(exnRef))
	default:
		f.konst(exnRef, 0)
	}
}

// exceptionStatement throws, catches, or keeps references to exceptions.
func (f *fgen) exceptionStatement() {
	switch n := f.r.IntN(16); {
	case n < 4 && (f.tries > 0 || f.chance(4)):
		f.guarded(f.throw)
	case n < 5 && f.cfg.Exceptions && (f.tries > 0 || f.chance(4)):
		f.guarded(f.throwRef)
	case n < 7 && f.cfg.Exceptions:
		f.keepException()
	case n < 9 && f.cfg.Legacy:
		if depth := f.catching(); depth >= 0 {
			f.guarded(func() { f.opIndex(wasmfront.OpRethrow, f.catching()) })
		} else {
			f.guarded(f.throw)
		}
	case n < 11 && (f.tries > 0 || f.chance(4)):
		f.opIndex(wasmfront.OpCall, f.throwing())
		f.consume("l")
	default:
		results := f.typeList(f.length(3), "ilfdrx")
		f.try(results)
		f.consume(results)
	}
}

// throwing pushes the argument of the environment's function that throws, and returns it, or its other one if that is not imported.
func (f *fgen) throwing() int {
	f.produce('l')
	return f.imported - 1
}

// guarded makes a branch that is always taken, mostly under a condition; dead code follows.
func (f *fgen) guarded(leave func()) {
	under := !f.chance(10)
	if under {
		f.condition()
		f.open(wasmfront.OpIf, "", "", "")
	}
	leave()
	f.deadCode()
	if under {
		f.close()
	}
}

func (f *fgen) throw() {
	i := f.r.IntN(len(f.tags))
	f.produceAll(f.tags[i].params)
	f.opIndex(wasmfront.OpThrow, i)
}

func (f *fgen) throwRef() {
	l := f.local(exnRef)
	f.produce(exnRef)
	f.opIndex(wasmfront.OpLocalSet, l)
	if f.cfg.NoTraps || !f.chance(8) {
		f.opIndex(wasmfront.OpLocalGet, l)
		f.op(wasmfront.OpRefIsNull)
		f.open(wasmfront.OpIf, "", "", "")
		f.throw()
		f.close()
	}
	f.opIndex(wasmfront.OpLocalGet, l)
	f.op(wasmfront.OpThrowRef)
}

func (f *fgen) keepException() {
	switch f.r.IntN(4) {
	case 0:
		f.produce(exnRef)
		f.opIndex(wasmfront.OpGlobalSet, f.exnGlobal)
	case 1:
		f.small(tableLen)
		f.produce(exnRef)
		f.opIndex(wasmfront.OpTableSet, f.exnTable())
	case 2:
		f.produce(exnRef)
		f.opIndex(wasmfront.OpLocalSet, f.local(exnRef))
	case 3:
		f.produce(exnRef)
		f.op(wasmfront.OpRefIsNull)
		f.consume("i")
	}
}

// try pushes results from a block that catches.
func (f *fgen) try(results string) {
	params := f.typeList(f.r.IntN(3), "ilfd")
	if f.chance(2) {
		params = f.prefix(results)
	}
	if f.cfg.Exceptions && (!f.cfg.Legacy || f.chance(2)) {
		f.tryTable(params, results)
	} else {
		f.legacyTry(params, results)
	}
}

// tryBody is the inside of a block that catches, which mostly calls.
func (f *fgen) tryBody(params, results string) {
	f.tries++
	defer func() { f.tries-- }()
	if f.chance(2) {
		f.consume(params)
		params = ""
	}
	for range 1 + f.r.IntN(3) {
		switch f.r.IntN(4) {
		case 0:
			f.statement()
		case 1:
			f.opIndex(wasmfront.OpCall, f.throwing())
			f.consume("l")
		case 2:
			f.guarded(f.throw)
		default:
			i := f.r.IntN(len(f.funcs))
			if f.smallAt > 0 {
				if i = f.firstSmall + f.r.IntN(f.smallAt-f.firstSmall+1); i == f.smallAt {
					i = funcNote
				}
			}
			f.call(i)
			f.consume(f.funcs[i].results)
		}
	}
	if len(params) <= len(results) && params == results[:len(params)] {
		f.produceAll(results[len(params):])
	} else {
		f.consume(params)
		f.produceAll(results)
	}
}

// clause is a clause of a try_table. Its label is at, from the outermost one on.
type clause struct {
	kind   wasmfront.CatchKind
	tag    int
	brings string
	at     int
}

// tryTable is a try_table in blocks, one for each clause that has its own, around which is a block with the results.
func (f *fgen) tryTable(params, results string) {
	clauses := make([]clause, f.length(4))
	var own []string
	f.open(wasmfront.OpBlock, "", results, results)
	for i := range clauses {
		c := &clauses[i]
		c.kind = wasmfront.CatchKind(f.r.IntN(4))
		if c.kind.HasTag() {
			c.tag = f.r.IntN(len(f.tags))
			c.brings = f.tags[c.tag].params
		}
		if c.kind.HasRef() {
			c.brings += string(rune(exnRef))
		}
		if c.at = f.labelFor(c.brings); c.at < 0 || f.chance(2) {
			f.open(wasmfront.OpBlock, "", c.brings, c.brings)
			c.at = len(f.labels) - 1
			own = append(own, c.brings)
		}
	}
	f.produceAll(params)
	f.op(wasmfront.OpTryTable)
	f.blockType(params, results)
	f.b = append(f.b, leb(uint64(len(clauses)))...)
	for i := range clauses {
		c := &clauses[i]
		f.b = append(f.b, byte(c.kind))
		if c.kind.HasTag() {
			f.b = append(f.b, leb(uint64(c.tag))...)
		}
		f.b = append(f.b, leb(uint64(len(f.labels)-1-c.at))...)
	}
	f.labels = append(f.labels, label{types: results})
	f.tryBody(params, results)
	f.close()
	for i := len(own) - 1; i >= 0; i-- {
		f.opIndex(wasmfront.OpBr, i+1)
		f.close()
		f.consume(own[i])
		f.statements(f.r.IntN(3))
		f.produceAll(results)
	}
	f.close()
}

// labelFor returns a label that takes such operands, from the outermost one on, or -1.
func (f *fgen) labelFor(types string) int {
	pick, n := -1, 0
	for i := range f.labels {
		if !f.labels[i].reserved && f.labels[i].types == types {
			if n++; f.r.IntN(n) == 0 {
				pick = i
			}
		}
	}
	return pick
}

// legacyTry is a try with catches, or one that delegates.
func (f *fgen) legacyTry(params, results string) {
	f.produceAll(params)
	f.open(wasmfront.OpTry, params, results, results)
	f.tryBody(params, results)
	if f.chance(4) {
		f.labels = f.labels[:len(f.labels)-1]
		f.opIndex(wasmfront.OpDelegate, f.r.IntN(len(f.labels)))
		return
	}
	catches := f.r.IntN(3)
	for range catches {
		i := f.r.IntN(len(f.tags))
		f.opIndex(wasmfront.OpCatch, i)
		f.catchBody(f.tags[i].params, results)
	}
	if catches == 0 && !f.chance(6) || f.chance(3) {
		f.op(wasmfront.OpCatchAll)
		f.catchBody("", results)
	}
	f.close()
}

// catchBody is the inside of a catch or catch_all.
func (f *fgen) catchBody(brings, results string) {
	at := len(f.labels) - 1
	f.labels[at].catches = true
	f.consume(brings)
	f.statements(f.r.IntN(3))
	if f.chance(5) {
		f.guarded(func() { f.opIndex(wasmfront.OpRethrow, f.catching()) })
	}
	f.produceAll(results)
}

// catching returns the depth of a label whose exception may be thrown again, or -1.
func (f *fgen) catching() int {
	pick, n := -1, 0
	for i := range f.labels {
		if f.labels[i].catches {
			if n++; f.r.IntN(n) == 0 {
				pick = len(f.labels) - 1 - i
			}
		}
	}
	return pick
}

// smallThrow makes a small function throw now and then, and catch. Without a budget there are no calls but of those before it.
func (f *fgen) smallThrow() {
	if !f.cfg.throws() || !f.chance(2) {
		return
	}
	f.budget = 0
	if f.chance(2) {
		f.guarded(f.throw)
	} else {
		results := f.typeList(f.length(3), "ilfdrx")
		f.try(results)
		f.consume(results)
	}
	f.budget = 1 + f.r.IntN(6)
}

// envThrows is the body of the environment's function that throws: by its argument, an exception of one of the tags, or of one that only the environment knows, or none. Its last tag is that one.
func envThrows() []byte {
	is := func(n byte, then ...[]byte) []byte {
		return cat([]byte{0x20, 0, 0x42, 7, 0x83, 0x42, n, 0x51, 0x04, 0x40}, cat(then...), []byte{0x0B})
	}
	arg := []byte{0x20, 0}
	private := byte(len(envTags) - 1)
	return cat([]byte{0}, is(1, arg, []byte{0x08, 0}), is(3, arg, []byte{0xA7}, arg, []byte{0x08, 1}),
		is(5, arg, arg, arg, arg, arg, arg, arg, arg, arg, []byte{0x08, private}),
		arg, constant('l', 3), []byte{0x7E, 0x0B})
}

// EnvTags are the parts of the environment of modules with exceptions: their types, which are the types from first on, the section of tags, what throws, and the exports. throws is its function's
// number.
type EnvTags struct {
	Types   [][]byte
	Section []byte
	Code    []byte
	Exports [][]byte
}

// EnvExceptions returns the parts of an environment that has exceptions. first is the number of the first of its types, throws the number of the function.
func EnvExceptions(first, throws int) *EnvTags {
	e := &EnvTags{Code: sized(envThrows())}
	var tags [][]byte
	for i, params := range []string{envTags[0].params, envTags[2].params, "lllllllll"} {
		e.Types = append(e.Types, sig{params: params}.encode())
		tags = append(tags, append([]byte{0}, leb(uint64(first+i))...))
	}
	e.Section = section(13, vec(tags...))
	e.Exports = append(e.Exports, cat(name("throws"), []byte{0}, leb(uint64(throws))))
	for i := range envTags {
		e.Exports = append(e.Exports, cat(name(envTags[i].imported), []byte{byte(abi.ExternTag), byte(max(i-1, 0))}))
	}
	return e
}
