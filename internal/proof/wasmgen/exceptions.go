package wasmgen

import "github.com/waot-project/waot/wasmfront"

// This file makes exceptions: throws, mostly under a condition, try_tables whose clauses lead to blocks around them or to any label that takes what they bring, and tries of
// legacy exceptions with rethrow and delegate. References to exceptions are kept in locals of the type e, which nothing else uses, and thrown again.

// envTag are the values of the tag that is imported.
const envTag = "l"

// throws reports whether modules have tags.
func (c Config) throws() bool { return c.Exceptions || c.Legacy }

// declareTags chooses the tags.
func (g *gen) declareTags() {
	if !g.cfg.throws() {
		return
	}
	g.tags = []string{envTag}
	g.importTag = g.r.IntN(2) == 0
	for range g.r.IntN(4) {
		g.tags = append(g.tags, g.typeList(g.length(4), "illfdrx"))
	}
	for i := range g.tags {
		g.tag(i)
	}
}

// tag encodes the type of a tag.
func (g *gen) tag(i int) []byte {
	const exception = 0
	return append([]byte{exception}, leb(uint64(g.typeIndex(sig{g.tags[i], ""})))...)
}

// ownTags encodes the tags that are not imported.
func (g *gen) ownTags() (tags [][]byte) {
	for i := range g.tags {
		if i > 0 || !g.importTag {
			tags = append(tags, g.tag(i))
		}
	}
	return tags
}

// tagSection returns the section of tags, which modules without tags do not have.
func tagSection(tags [][]byte) []byte {
	if len(tags) == 0 {
		return nil
	}
	return section(13, vec(tags...))
}

func (f *fgen) exceptionStatement() {
	if f.smallAt > 0 {
		return
	}
	switch n := f.r.IntN(5); {
	case n < 2 && f.mayThrow():
		f.throw()
	case f.cfg.Exceptions && (n < 4 || !f.cfg.Legacy):
		f.tryTable()
	case f.cfg.Legacy:
		f.legacyTry()
	}
}

// mayThrow reports whether an exception may be thrown here.
func (f *fgen) mayThrow() bool { return f.caught > 0 || !f.cfg.NoTraps }

// guarded emits code after which nothing is reached under a condition, and now and then without.
func (f *fgen) guarded(code func()) {
	if f.chance(8) {
		f.open(wasmfront.OpBlock, "", "", "")
	} else {
		f.condition()
		f.open(wasmfront.OpIf, "", "", "")
	}
	code()
	f.deadCode()
	f.close()
}

// throw throws a new exception, or one that was caught.
func (f *fgen) throw() {
	f.guarded(func() {
		if depth := f.catching(); depth >= 0 && f.chance(2) {
			f.opIndex(wasmfront.OpRethrow, depth)
			return
		}
		if f.cfg.Exceptions && f.chance(3) {
			f.throwAgain(f.local('e'))
		}
		i := f.r.IntN(len(f.tags))
		f.produceAll(f.tags[i])
		f.opIndex(wasmfront.OpThrow, i)
	})
}

// throwAgain throws what a local has, unless that is null: then it mostly does nothing.
func (f *fgen) throwAgain(local int) {
	guarded := f.cfg.NoTraps || !f.chance(6)
	if guarded {
		f.opIndex(wasmfront.OpLocalGet, local)
		f.op(wasmfront.OpRefIsNull)
		f.op(wasmfront.OpI32Eqz)
		f.open(wasmfront.OpIf, "", "", "")
	}
	f.opIndex(wasmfront.OpLocalGet, local)
	f.op(wasmfront.OpThrowRef)
	if guarded {
		f.close()
	}
}

// catching returns the depth of a random part of a legacy try that has caught an exception, or -1.
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

// within emits code in which exceptions do not leave the function, if all says so.
func (f *fgen) within(all bool, code func()) {
	if all {
		f.caught++
	}
	code()
	if all {
		f.caught--
	}
}

// clause is a clause of a try_table that leads to a block of its own.
type clause struct {
	kind  wasmfront.CatchKind
	tag   int
	takes string // what its label takes
}

func (f *fgen) clauses() (list []clause, all bool) {
	for range f.r.IntN(4) {
		c := clause{kind: wasmfront.CatchKind(f.r.IntN(4)), tag: f.r.IntN(len(f.tags))}
		if c.kind.HasTag() {
			c.takes = f.tags[c.tag]
		} else {
			all = true
		}
		if c.kind.HasRef() {
			c.takes += "e"
		}
		list = append(list, c)
	}
	return list, all
}

// tryTable makes a try_table in a block for each clause, and those in one for the results.
func (f *fgen) tryTable() {
	results := f.typeList(f.r.IntN(3), "ilfdr")
	params := f.typeList(f.r.IntN(3), "ilfd")
	clauses, all := f.clauses()
	f.open(wasmfront.OpBlock, "", results, results)
	out := len(f.labels)
	for _, c := range clauses {
		f.open(wasmfront.OpBlock, "", c.takes, c.takes)
		f.labels[len(f.labels)-1].reserved = c.kind.HasRef() // a branch would have to bring a reference
	}
	f.produceAll(params)
	f.open(wasmfront.OpTryTable, params, results, results)
	f.clauseVector(clauses)
	f.within(all, func() { f.finishBlock(params, results) })
	f.close()
	f.opIndex(wasmfront.OpBr, len(f.labels)-out)
	for i := len(clauses) - 1; i >= 0; i-- {
		f.close()
		f.caughtBy(clauses[i])
		f.produceAll(results)
		if i > 0 {
			f.opIndex(wasmfront.OpBr, len(f.labels)-out)
		}
	}
	f.close()
	f.consume(results)
}

// clauseVector encodes clauses, the label of the try_table being the innermost, and perhaps one more that leads to any label that takes what it brings.
func (f *fgen) clauseVector(clauses []clause) {
	var list [][]byte
	inside := len(f.labels) - 1 // the number of the label of the try_table
	add := func(kind wasmfront.CatchKind, tag, depth int) {
		b := []byte{byte(kind)}
		if kind.HasTag() {
			b = append(b, leb(uint64(tag))...)
		}
		list = append(list, append(b, leb(uint64(depth))...))
	}
	for i, c := range clauses {
		add(c.kind, c.tag, len(clauses)-1-i)
		if tag := f.r.IntN(len(f.tags)); f.chance(4) {
			for at := inside - 1; at >= 0; at-- {
				if l := &f.labels[at]; !l.reserved && l.types == f.tags[tag] && f.chance(2) {
					add(wasmfront.CatchTag, tag, inside-1-at)
					break
				}
			}
		}
	}
	f.b = append(f.b, vec(list...)...)
}

// caughtBy is what stands where a clause leads: it consumes what the exception brings.
func (f *fgen) caughtBy(c clause) {
	values := c.takes
	if c.kind.HasRef() {
		local := f.local('e')
		f.opIndex(wasmfront.OpLocalSet, local)
		values = values[:len(values)-1]
		if f.mayThrow() && f.chance(3) {
			f.condition()
			f.open(wasmfront.OpIf, "", "", "")
			f.throwAgain(local)
			f.close()
		}
	}
	f.consume(values)
	f.statements(f.r.IntN(3))
}

// legacyTry makes a try with parts that catch, or one that ends with delegate.
func (f *fgen) legacyTry() {
	results := f.typeList(f.r.IntN(3), "ilfdr")
	params := f.typeList(f.r.IntN(3), "ilfd")
	all := f.chance(2)
	delegates := !all && f.chance(3)
	f.produceAll(params)
	f.open(wasmfront.OpTry, params, results, results)
	f.within(all, func() { f.finishBlock(params, results) })
	if delegates {
		f.labels = f.labels[:len(f.labels)-1]
		depth := 0 // as if the try were not there
		if !f.cfg.NoTraps {
			depth = f.r.IntN(len(f.labels))
		}
		f.opIndex(wasmfront.OpDelegate, depth)
		f.consume(results)
		return
	}
	part := &f.labels[len(f.labels)-1]
	part.catches = true
	for range f.r.IntN(3) {
		tag := f.r.IntN(len(f.tags))
		f.opIndex(wasmfront.OpCatch, tag)
		f.consume(f.tags[tag])
		f.statements(f.r.IntN(3))
		f.produceAll(results)
	}
	if all {
		f.op(wasmfront.OpCatchAll)
		f.statements(f.r.IntN(3))
		f.produceAll(results)
	}
	f.close()
	f.consume(results)
}
