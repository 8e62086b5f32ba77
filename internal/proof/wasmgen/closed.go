package wasmgen

import "github.com/waot-project/waot/wasmfront"

// This file makes what nobody outside of the module sees and nobody in it writes: a table of functions and mutable globals. And it makes
// functions read the same things again and again, also where paths have met.

// closedTable is the number of the table, if there is one.
const closedTable = numTables

// maxReads is how many things a function reads again.
const maxReads = 3

// declareClosed declares the table and the globals, in half of all modules.
func (g *gen) declareClosed() {
	if g.r.IntN(2) > 0 {
		return
	}
	for _, t := range []byte("ilfdr") {
		gl := global{typ: t, mutable: true, constant: true, init: []byte{0xD0, valTypes['r']}}
		if t != 'r' {
			gl.init = constant(t, g.bits(t))
		}
		g.globals = append(g.globals, gl)
	}
	one := g.r.IntN(len(g.funcs)) // of whose type all functions of the table are, perhaps
	if g.r.IntN(2) > 0 {
		one = -1
	}
	nulls := g.r.IntN(3)
	for range tableLen {
		i := g.r.IntN(len(g.funcs))
		for one >= 0 && !g.sameFuncType(i, one) {
			i = (i + 1) % len(g.funcs)
		}
		if g.r.IntN(4) < nulls {
			i = -1
		}
		g.closed = append(g.closed, i)
	}
}

// closedElems are the segments that fill the table: one for each run of functions, the first of which another one repeats in front of it, with
// another function, so that the later one counts.
func (g *gen) closedElems() (segments [][]byte) {
	for at := 0; at < len(g.closed); at++ {
		var funcs [][]byte
		start := at
		for ; at < len(g.closed) && g.closed[at] >= 0; at++ {
			funcs = append(funcs, leb(uint64(g.closed[at])))
		}
		if len(funcs) == 0 {
			continue
		}
		head := cat([]byte{2, closedTable}, constant('i', uint64(start)), []byte{0x0B, 0})
		if len(segments) == 0 {
			segments = append(segments, cat(head, vec(leb(uint64(g.closed[start])))))
		}
		segments = append(segments, cat(head, vec(funcs...)))
	}
	return segments
}

// closedCall calls through the table, mostly a function that is there.
func (f *fgen) closedCall() {
	slot := f.r.IntN(tableLen)
	i := f.closed[slot]
	if f.smallAt > 0 || i < 0 && f.cfg.NoTraps {
		return
	}
	if i < 0 || !f.cfg.NoTraps && f.chance(20) {
		i = f.r.IntN(len(f.funcs))
	}
	f.produceAll(f.funcs[i].params)
	switch {
	case f.cfg.NoTraps || !f.chance(3):
		f.konst('i', uint64(slot))
	case f.chance(10):
		f.konst('i', tableLen)
	default:
		f.small(tableLen)
	}
	f.opIndex(wasmfront.OpCallIndirect, f.funcType(i), closedTable)
	f.consume(f.funcs[i].results)
}

// reading is something that a function reads again: at, a local with an address, or an index.
type reading struct {
	typ byte
	op  wasmfront.Opcode
	at  int
	b   []byte // immediates of a load
}

// readAgain reads what the function has read before, at times something new.
func (f *fgen) readAgain() {
	if len(f.reads) < maxReads && (len(f.reads) == 0 || f.chance(4)) {
		f.reads = append(f.reads, f.newReading())
	}
	switch r := &f.reads[f.r.IntN(len(f.reads))]; r.op {
	case wasmfront.OpGlobalGet, wasmfront.OpTableSize, wasmfront.OpMemorySize:
		f.opIndex(r.op, r.at)
		f.consume(string([]byte{r.typ}))
	case wasmfront.OpTableGet:
		f.konst('i', uint64(r.at))
		f.opIndex(r.op, 1)
		f.consume(string([]byte{r.typ}))
	default:
		f.opIndex(wasmfront.OpLocalGet, r.at)
		f.op(r.op)
		f.b = append(f.b, r.b...)
		f.consume(string([]byte{r.typ}))
	}
}

func (f *fgen) newReading() reading {
	switch f.r.IntN(8) {
	case 0:
		return reading{typ: 'i', op: wasmfront.OpMemorySize}
	case 1:
		return reading{typ: 'i', op: wasmfront.OpTableSize, at: f.r.IntN(numTables)}
	case 2:
		return reading{typ: 'r', op: wasmfront.OpTableGet, at: f.r.IntN(tableLen)}
	case 3, 4:
		t := f.typeList(1, "ilfdr")[0]
		if g := f.global(t, false); g >= 0 {
			return reading{typ: t, op: wasmfront.OpGlobalGet, at: g}
		}
	}
	t := f.typeList(1, "il")[0]
	l := f.newLocal('i')
	f.busy[l] = true
	f.konst('i', uint64(f.r.IntN(300)))
	f.opIndex(wasmfront.OpLocalSet, l)
	return reading{typ: t, op: loads[t][f.r.IntN(len(loads[t]))], at: l, b: []byte{0, byte(f.r.IntN(64))}}
}
