package wasmgen

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// This file makes typed function references: calls of them, branches on null, and two tables of functions of one type, of which one has nulls and the other
// none. The references have the type of one function, typed, and are made by ref.func, ref.null, select, tables and blocks.

// typedTables is how many tables of typed references there are.
const typedTables = 2

// declareTyped chooses the function whose type the tables have.
func (g *gen) declareTyped() {
	if g.typed = -1; g.cfg.TypedRefs {
		g.typed = g.r.IntN(len(g.funcs))
	}
}

// nullTable is the number of the typed table that has nulls; the one behind it has none.
func (g *gen) nullTable() int {
	if len(g.closed) > 0 {
		return closedTable + 1
	}
	return closedTable
}

// refTo is the encoding of references to functions of the type of function i; code says whether they may be null.
func (g *gen) refTo(code byte, i int) []byte {
	return append([]byte{code}, g.heap(i)...)
}

func (g *gen) heap(i int) []byte { return sleb(int64(g.funcType(i))) }

// typedTypes encodes the tables.
func (g *gen) typedTypes() [][]byte {
	if g.typed < 0 {
		return nil
	}
	size := limits(tableLen, 2*tableLen)
	return [][]byte{cat(g.refTo(abi.CodeRefNull, g.typed), size),
		cat([]byte{0x40, 0}, g.refTo(abi.CodeRef, g.typed), size, []byte{0xD2}, leb(uint64(g.typed)), []byte{0x0B})}
}

// typedElems fills part of the table that has nulls.
func (g *gen) typedElems() [][]byte {
	if g.typed < 0 {
		return nil
	}
	var items [][]byte
	for range 1 + g.r.IntN(tableLen-1) {
		item := append([]byte{0xD0}, g.heap(g.typed)...)
		if g.r.IntN(4) > 0 {
			item = append([]byte{0xD2}, leb(uint64(g.sameType(g.typed)))...)
		}
		items = append(items, append(item, 0x0B))
	}
	return [][]byte{cat([]byte{6}, leb(uint64(g.nullTable())), []byte{0x41, 0, 0x0B}, g.refTo(abi.CodeRefNull, g.typed), vec(items...))}
}

// sameType returns a function of the type of function i.
func (g *gen) sameType(i int) int {
	at := g.r.IntN(len(g.funcs))
	for !g.sameFuncType(at, i) {
		at = (at + 1) % len(g.funcs)
	}
	return at
}

// typedStatement makes a reference and does something with it.
func (f *fgen) typedStatement() {
	if f.smallAt > 0 {
		return
	}
	i := f.typed
	if f.chance(3) {
		i = f.r.IntN(len(f.funcs))
	}
	kinds := 7
	if !f.cfg.TypedAll {
		kinds--
	}
	switch f.r.IntN(kinds) {
	case 0, 1:
		f.produceAll(f.funcs[i].params)
		f.typedRef(i, f.nullable())
		f.callRef(i)
	case 2:
		f.produceAll(f.funcs[i].params)
		f.typedRef(i, f.nullable())
		f.op(wasmfront.OpRefAsNonNull)
		f.callRef(i)
	case 3: // where the reference is null, the operands below it go along
		types := f.typeList(f.r.IntN(3), "ilfd")
		f.open(wasmfront.OpBlock, "", types, types)
		f.produceAll(types)
		f.typedRef(i, true)
		f.opIndex(wasmfront.OpBrOnNull, 0)
		f.op(wasmfront.OpDrop)
		f.close()
		f.consume(types)
	case 4:
		f.typedRef(i, true)
		f.op(wasmfront.OpRefIsNull)
		f.consume("i")
	case 6:
		f.produceAll(f.funcs[f.typed].params)
		table := f.nullTable() + 1
		if f.nullable() {
			table--
		}
		f.small(tableLen)
		f.opIndex(wasmfront.OpCallIndirect, f.funcType(f.typed), table)
		f.consume(f.funcs[f.typed].results)
	default:
		table := f.nullTable()
		f.small(tableLen)
		null := f.chance(2)
		f.typedRef(f.typed, null)
		if !null {
			f.op(wasmfront.OpRefAsNonNull)
			table++
		}
		f.opIndex(wasmfront.OpTableSet, table)
	}
}

// nullable reports whether a reference that is to be called may be null.
func (f *fgen) nullable() bool { return !f.cfg.NoTraps && f.chance(2) }

func (f *fgen) callRef(i int) {
	f.opIndex(wasmfront.OpCallRef, f.funcType(i))
	f.consume(f.funcs[i].results)
}

// typedRef pushes a reference to a function of the type of function i. If null is not set, it is not null, whatever its type says.
func (f *fgen) typedRef(i int, null bool) {
	f.budget -= 2
	switch n := f.r.IntN(6); {
	case n == 0 && null:
		f.op(wasmfront.OpRefNull)
		f.b = append(f.b, f.heap(i)...)
	case n == 1 && f.budget > 0 && f.cfg.TypedAll:
		f.typedRef(i, null)
		f.typedRef(i, null)
		f.condition()
		f.op(wasmfront.OpSelectT)
		f.b = append(append(f.b, 1), f.refTo(abi.CodeRefNull, i)...)
	case n == 2 && i == f.typed:
		table := f.nullTable() + 1
		if null {
			table--
		}
		f.small(tableLen)
		f.opIndex(wasmfront.OpTableGet, table)
	case n == 3 && f.budget > 0: // the first that is not null, or the last
		f.op(wasmfront.OpBlock)
		f.b = append(f.b, f.refTo(abi.CodeRefNull, i)...)
		f.labels = append(f.labels, label{reserved: true})
		f.typedRef(i, true)
		f.opIndex(wasmfront.OpBrOnNonNull, 0)
		f.statements(f.r.IntN(2))
		f.typedRef(i, null)
		f.close()
	default:
		f.opIndex(wasmfront.OpRefFunc, f.sameType(i))
	}
}
