package wasmgen

import "github.com/waot-project/waot/wasmfront"

// statement emits code that leaves the stack as it was.
func (f *fgen) statement() {
	if f.budget <= 0 {
		return
	}
	if f.typed >= 0 && f.chance(5) {
		f.typedStatement()
		return
	}
	if len(f.family.classes) > 0 && f.smallAt == 0 && f.chance(8) {
		f.methodCall()
		return
	}
	if f.cfg.GC && f.chance(3) {
		f.heapStatement()
		return
	}
	if len(f.tags) > 0 && f.chance(4) && (!f.cfg.GC || f.chance(2)) {
		f.exceptionStatement()
		return
	}
	if len(f.closed) > 0 {
		switch f.r.IntN(12) {
		case 0:
			f.closedCall()
			return
		case 1, 2:
			f.readAgain()
			return
		}
	}
	n := f.r.IntN(100)
	if f.cfg.GC && n >= 76 && n < 86 && len(f.labels) <= 2 && !f.chance(8) {
		f.heapStatement() // few leave, so that most functions come to their end
		return
	}
	switch {
	case n < 22:
		t := f.typeList(1, "iillfdrx")
		f.produceAll(t)
		f.opIndex(wasmfront.OpLocalSet, f.local(t[0]))
	case n < 34:
		f.store()
	case n < 40:
		t := f.typeList(1, "illlfdr")
		f.produceAll(t)
		if g := f.global(t[0], true); g >= 0 {
			f.opIndex(wasmfront.OpGlobalSet, g)
		} else {
			f.op(wasmfront.OpDrop)
		}
	case n < 44:
		t := f.typeList(1+f.r.IntN(3), "ilfdrx")
		f.produceAll(t)
		f.consume(t)
	case n < 46:
		f.flags()
	case n < 54:
		f.ifElse()
	case n < 60:
		t := f.typeList(f.r.IntN(3), "ilfdr")
		f.block(t)
		f.consume(t)
	case n < 66:
		f.countedLoop()
	case n < 67:
		switch {
		case f.cfg.Small && f.chance(2):
			f.resumedLoop()
		case f.chance(3):
			f.strideLoop()
		default:
			f.byteLoop()
		}
	case n < 71:
		if f.chance(8) {
			f.dispatcher()
		} else {
			f.fueledLoop()
		}
	case n < 76:
		f.switchOf()
	case n < 83:
		f.branchIf()
	case n < 86:
		f.leave()
	case n < 91:
		i := f.r.IntN(len(f.funcs))
		f.call(i)
		f.consume(f.funcs[i].results)
	case n < 96:
		f.bulk()
	default:
		f.tableOp()
	}
}

func (f *fgen) statements(n int) {
	for range n {
		f.statement()
	}
}

func (f *fgen) store() {
	t := f.typeList(1, "illfd")
	if t == "v" {
		f.vectorStore()
		return
	}
	f.address()
	f.produceAll(t)
	if f.cfg.LateNaNs && (t == "f" || t == "d") {
		f.canonical(t[0])
	}
	f.memory(stores[t[0]][f.r.IntN(len(stores[t[0]]))])
}

// open starts a block of a type; types are the label's.
func (f *fgen) open(op wasmfront.Opcode, params, results, types string) {
	f.op(op)
	f.blockType(params, results)
	f.labels = append(f.labels, label{types: types})
}

// blockType emits the type of a block.
func (f *fgen) blockType(params, results string) {
	switch {
	case params == "" && results == "":
		f.b = append(f.b, 0x40)
	case params == "" && len(results) == 1 && f.chance(2):
		f.b = append(f.b, f.valType(results[0])...)
	default:
		f.b = append(f.b, sleb(int64(f.typeIndex(sig{params, results})))...)
	}
}

func (f *fgen) close() {
	f.op(wasmfront.OpEnd)
	f.labels = f.labels[:len(f.labels)-1]
}

// prefix returns a random prefix of s.
func (f *fgen) prefix(s string) string { return s[:f.r.IntN(len(s)+1)] }

// finishBlock is the inside of a block with the parameters and results: the
// parameters stay below as the first results, or go.
func (f *fgen) finishBlock(params, results string) {
	stays := len(params) <= len(results) && params == results[:len(params)] && f.chance(2)
	if !stays {
		f.consume(params)
	}
	f.statements(f.r.IntN(4))
	if stays {
		results = results[len(params):]
	}
	f.produceAll(results)
}

// block pushes results from a block, an if, or a loop.
func (f *fgen) block(results string) {
	if f.cfg.throws() && f.smallAt == 0 && f.chance(3) {
		f.try(results)
		return
	}
	params := f.typeList(f.r.IntN(3), "ilfd")
	if f.chance(2) {
		params = f.prefix(results)
	}
	f.produceAll(params)
	switch f.r.IntN(3) {
	case 0:
		f.open(wasmfront.OpBlock, params, results, results)
		f.finishBlock(params, results)
		f.close()
	case 1:
		f.condition()
		f.open(wasmfront.OpIf, params, results, results)
		f.finishBlock(params, results)
		if params != results || f.chance(2) {
			f.op(wasmfront.OpElse)
			f.finishBlock(params, results)
		} else {
			// Without else the parameters are the results.
			f.budget--
		}
		f.close()
	case 2:
		f.open(wasmfront.OpLoop, params, results, params)
		f.labels[len(f.labels)-1].reserved = true // nothing bounds it
		f.finishBlock(params, results)
		f.close()
	}
}

// blockFor pushes a value of type t from a block, perhaps one of several.
func (f *fgen) blockFor(t byte) {
	results := f.typeList(f.r.IntN(2), "ilfd") + string([]byte{t}) + f.typeList(f.r.IntN(2), "ilfd")
	f.block(results)
	f.keepOne(results, t)
}

func (f *fgen) ifElse() {
	f.condition()
	f.open(wasmfront.OpIf, "", "", "")
	f.statements(1 + f.r.IntN(3))
	if f.chance(2) {
		f.op(wasmfront.OpElse)
		f.statements(1 + f.r.IntN(3))
	}
	f.close()
}

const maxLoops = 3

// countedLoop runs its body a few times; only its end branches back.
func (f *fgen) countedLoop() {
	if f.loops >= maxLoops {
		return
	}
	f.loops++
	c := f.newLocal('i')
	f.busy[c] = true
	carried := f.typeList(f.r.IntN(3), "ilfd")
	f.konst('i', uint64(1+f.r.IntN(5)))
	f.opIndex(wasmfront.OpLocalSet, c)
	f.produceAll(carried)
	f.open(wasmfront.OpLoop, carried, carried, carried)
	f.labels[len(f.labels)-1].reserved = true
	f.consume(carried)
	f.statements(1 + f.r.IntN(4))
	f.produceAll(carried)
	f.opIndex(wasmfront.OpLocalGet, c)
	f.konst('i', 1)
	f.op(wasmfront.OpI32Sub)
	f.opIndex(wasmfront.OpLocalTee, c)
	f.opIndex(wasmfront.OpBrIf, 0)
	f.close()
	f.consume(carried)
	f.busy[c] = f.chance(2)
	f.loops--
}

// burnFuel returns from the function when the fuel is used up.
func (f *fgen) burnFuel() {
	f.budget += 8 + 2*len(f.sig.results)
	f.opIndex(wasmfront.OpGlobalGet, globalFuel)
	f.konst('i', 1)
	f.op(wasmfront.OpI32Sub)
	f.opIndex(wasmfront.OpGlobalSet, globalFuel)
	f.opIndex(wasmfront.OpGlobalGet, globalFuel)
	f.konst('i', 0)
	f.op(wasmfront.OpI32LtS)
	f.op(wasmfront.OpIf)
	f.b = append(f.b, 0x40)
	for _, t := range []byte(f.sig.results) {
		f.simple(t)
	}
	f.op(wasmfront.OpReturn)
	f.op(wasmfront.OpEnd)
}

// fueledLoop may be branched to from anywhere inside; fuel bounds it.
func (f *fgen) fueledLoop() {
	if f.loops >= maxLoops {
		return
	}
	f.loops++
	params := f.typeList(f.r.IntN(3), "ilfd")
	results := f.typeList(f.r.IntN(3), "ilfd")
	f.produceAll(params)
	f.open(wasmfront.OpLoop, params, results, params)
	f.consume(params)
	f.burnFuel()
	f.statements(1 + f.r.IntN(4))
	f.produceAll(params)
	f.condition()
	f.opIndex(wasmfront.OpBrIf, 0)
	f.consume(params)
	f.produceAll(results)
	f.close()
	f.consume(results)
	f.loops--
}

// dispatcher is a loop that only switches on a state, as compilers make it for goto. Its states mostly set the next one to a constant. Sometimes the
// first state, or another, is computed.
func (f *fgen) dispatcher() {
	if f.loops >= maxLoops {
		return
	}
	f.loops++
	n := 2 + f.length(4)
	state := f.newLocal('i')
	f.busy[state] = true
	f.enterState(state, n, 2)
	f.open(wasmfront.OpLoop, "", "", "")
	loop := len(f.labels) - 1
	f.labels[loop].reserved = true // only states that burn fuel go there
	for range n {
		f.open(wasmfront.OpBlock, "", "", "")
	}
	f.opIndex(wasmfront.OpLocalGet, state)
	if f.chance(3) {
		f.konst('i', uint64(f.r.IntN(3)))
		f.op([]wasmfront.Opcode{wasmfront.OpI32Sub, wasmfront.OpI32Xor, wasmfront.OpI32And}[f.r.IntN(3)])
	}
	f.opIndex(wasmfront.OpBrTable, n-1)
	for i := range n {
		f.b = append(f.b, leb(uint64(i))...)
	}
	for range n {
		f.close()
		f.statements(f.r.IntN(3))
		if f.cfg.Small && f.chance(3) {
			f.resumedLoop()
		}
		f.burnFuel()
		if f.chance(2) {
			f.condition()
			f.open(wasmfront.OpIf, "", "", "")
			f.enterState(state, n, 12)
			f.opIndex(wasmfront.OpBr, len(f.labels)-1-loop)
			f.close()
		}
		if !f.chance(4) {
			f.enterState(state, n, 12)
			f.opIndex(wasmfront.OpBr, len(f.labels)-1-loop)
		}
	}
	f.close()
	f.busy[state] = f.chance(2)
	f.loops--
}

// enterState sets the local of a dispatcher of n states: one time in once to anything, else to a constant.
func (f *fgen) enterState(local, n, once int) {
	if f.chance(once) {
		f.produce('i')
	} else {
		f.konst('i', uint64(f.r.IntN(n+1)))
	}
	f.opIndex(wasmfront.OpLocalSet, local)
}

// target returns the depth of a random label that may be branched to, or -1.
func (f *fgen) target() int {
	pick, n := -1, 0
	for i := range f.labels {
		if !f.labels[i].reserved {
			if n++; f.r.IntN(n) == 0 {
				pick = len(f.labels) - 1 - i
			}
		}
	}
	return pick
}

func (f *fgen) labelTypes(depth int) string { return f.labels[len(f.labels)-1-depth].types }

func (f *fgen) branchIf() {
	depth := f.target()
	types := f.labelTypes(depth)
	f.produceAll(types)
	f.condition()
	f.opIndex(wasmfront.OpBrIf, depth)
	f.consume(types)
}

// leave emits a branch that is always taken, mostly under a condition; dead
// code follows.
func (f *fgen) leave() {
	guarded := !f.chance(6)
	if guarded {
		f.condition()
		f.open(wasmfront.OpIf, "", "", "")
	}
	switch n := f.r.IntN(10); {
	case n < 4:
		depth := f.target()
		f.produceAll(f.labelTypes(depth))
		f.opIndex(wasmfront.OpBr, depth)
	case n < 6:
		if !f.tailCall() {
			f.produceAll(f.sig.results)
			f.op(wasmfront.OpReturn)
		}
	case n < 7 && !f.cfg.NoTraps:
		f.op(wasmfront.OpUnreachable)
	default:
		f.branchTable()
	}
	f.deadCode()
	if guarded {
		f.close()
	}
}

// branchTable branches to some of the labels that have the types of one.
func (f *fgen) branchTable() {
	types := f.labelTypes(f.target())
	var depths []int
	for i := range f.labels {
		if !f.labels[i].reserved && f.labels[i].types == types {
			depths = append(depths, len(f.labels)-1-i)
		}
	}
	f.produceAll(types)
	f.produce('i')
	n := f.r.IntN(6)
	f.opIndex(wasmfront.OpBrTable, n)
	for range n + 1 {
		f.b = append(f.b, leb(uint64(depths[f.r.IntN(len(depths))]))...)
	}
}

// deadCode uses the stack as only unreachable code may.
func (f *fgen) deadCode() {
	switch f.r.IntN(6) {
	case 0:
		f.op(wasmfront.OpI32Add)
		f.op(wasmfront.OpDrop)
	case 1:
		f.op(wasmfront.OpSelect)
		f.op(wasmfront.OpDrop)
	case 2:
		f.opIndex(wasmfront.OpLocalSet, f.local('l'))
		f.op(wasmfront.OpF64Add)
		f.opIndex(wasmfront.OpLocalTee, f.local('d'))
		f.op(wasmfront.OpDrop)
	case 3:
		f.statement()
	}
}

// switchOf is a br_table over nested blocks, whose cases fall through or leave.
func (f *fgen) switchOf() {
	n := 1 + f.length(6)
	types := f.typeList(f.r.IntN(3)*f.r.IntN(2), "ilfd")
	f.open(wasmfront.OpBlock, "", "", "")
	for range n {
		f.open(wasmfront.OpBlock, "", types, types)
	}
	f.produceAll(types)
	f.produce('i')
	if f.chance(2) {
		f.konst('i', uint64(n+1))
		f.op(wasmfront.OpI32RemU)
	}
	count := f.r.IntN(2 * n)
	f.opIndex(wasmfront.OpBrTable, count)
	for range count + 1 {
		f.b = append(f.b, leb(uint64(f.r.IntN(n)))...)
	}
	for i := range n {
		f.close()
		f.consume(types)
		f.statements(f.r.IntN(3))
		if f.chance(2) {
			f.opIndex(wasmfront.OpBr, len(f.labels)-1-f.switchEnd(n, i))
		}
		if i+1 < n {
			f.produceAll(types)
		}
	}
	f.close()
}

// switchEnd returns the position among the labels of the outermost block of a switch of n
// cases, after case i.
func (f *fgen) switchEnd(n, i int) int { return len(f.labels) - (n - i) }

// bulk works on memory as a whole.
func (f *fgen) bulk() {
	switch f.r.IntN(8) {
	case 0, 6, 7:
		f.konst('i', []uint64{0, 1, 1, 2, 0xFFFFFFFF}[f.r.IntN(5)])
		f.opIndex(wasmfront.OpMemoryGrow, 0)
		f.opIndex(wasmfront.OpLocalSet, f.local('i'))
	case 1:
		f.address()
		f.produce('i')
		f.small(100)
		f.opIndex(wasmfront.OpMemoryFill, 0)
	case 2:
		f.address()
		f.address()
		f.small(100)
		f.opIndex(wasmfront.OpMemoryCopy, 0, 0)
	case 3:
		// Only the passive segment: not all engines drop active ones once they are copied.
		f.address()
		f.small(20)
		f.small(20)
		f.opIndex(wasmfront.OpMemoryInit, 1, 0)
	case 4:
		f.opIndex(wasmfront.OpDataDrop, []int{0, 2, f.r.IntN(numDatas)}[f.r.IntN(3)])
	case 5:
		f.store()
	}
}

// tableOp works on a table.
func (f *fgen) tableOp() {
	table := f.r.IntN(numTables)
	t := byte('r')
	if table == 2 {
		t = 'x'
	}
	switch f.r.IntN(6) {
	case 0:
		f.small(tableLen)
		f.produce(t)
		f.opIndex(wasmfront.OpTableSet, table)
	case 1:
		f.produce(t)
		f.konst('i', uint64(f.r.IntN(3)))
		f.opIndex(wasmfront.OpTableGrow, table)
		f.opIndex(wasmfront.OpLocalSet, f.local('i'))
	case 2:
		f.small(tableLen / 2)
		f.produce(t)
		f.small(tableLen / 2)
		f.opIndex(wasmfront.OpTableFill, table)
	case 3:
		f.small(tableLen / 2)
		f.small(tableLen / 2)
		f.small(tableLen / 2)
		f.opIndex(wasmfront.OpTableCopy, f.r.IntN(2), f.r.IntN(2))
	case 4:
		f.small(tableLen / 2)
		f.small(2)
		f.small(3)
		f.opIndex(wasmfront.OpTableInit, 1, f.r.IntN(2))
	case 5:
		if !f.cfg.NoTraps {
			f.opIndex(wasmfront.OpElemDrop, f.r.IntN(numElems))
		}
	}
}
