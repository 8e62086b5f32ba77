package guestfuzz

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/abi"
)

// wasmPage is the size of a page of memory.
const wasmPage = 65536

// encoder writes the binary format.
type encoder struct {
	p     *program
	types []signature
	b     []byte // bytes of the present item
}

// encode returns a program in the binary format. Its imports are of module "env": functions h0, h1 and so on,
// "memory", tables t0, tags e0 and globals g0 by their numbers. Everything is exported: the
// functions, imports first, as f0, f1 and so on, the rest under the names of imports.
func (p *program) encode() []byte {
	e := &encoder{p: p}
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, items [][]byte) {
		if len(items) == 0 {
			return
		}
		b := uleb(uint64(len(items)))
		if id == secStart || id == secDataCount { // one number, not counted
			b = nil
		}
		for _, i := range items {
			b = append(b, i...)
		}
		out = append(append(append(out, id), uleb(uint64(len(b)))...), b...)
	}
	imports, exports := e.imports(), e.exports()
	var funcs, codes, start [][]byte
	for n := range p.funcs {
		funcs = append(funcs, uleb(e.typeIndex(p.funcs[n].signature)))
		codes = append(codes, e.body(&p.funcs[n]))
	}
	if p.start >= 0 {
		start = [][]byte{uleb(uint64(len(p.imports) + p.start))}
	}
	var tables, memories, tags, globals [][]byte
	for _, t := range p.tables {
		if !t.imported {
			tables = append(tables, append([]byte{valType(t.elem)}, limitBytes(t.min, t.max, t.hasMax)...))
		}
	}
	if !p.memory.imported {
		memories = [][]byte{limitBytes(p.memory.min, p.memory.max, p.memory.hasMax)}
	}
	for _, t := range p.tags {
		if !t.imported {
			tags = append(tags, e.tagType(t))
		}
	}
	var types [][]byte // made last, when all are known
	for _, s := range e.types {
		types = append(types, append(append([]byte{0x60}, valTypes(s.params)...), valTypes(s.results)...))
	}
	for _, g := range p.globals {
		if !g.imported {
			globals = append(globals, append(globalType(g), e.initial(g)...))
		}
	}
	section(1, types)
	section(2, imports)
	section(3, funcs)
	section(4, tables)
	section(5, memories)
	section(secTag, tags)
	section(6, globals)
	section(7, exports)
	section(secStart, start)
	section(9, e.elems())
	section(secDataCount, [][]byte{uleb(uint64(len(p.datas)))})
	section(10, codes)
	section(11, e.datas())
	return out
}

const (
	secStart     = 8
	secDataCount = 12
	secTag       = 13
)

func (e *encoder) typeIndex(s signature) uint64 {
	for i, t := range e.types {
		if s == t {
			return uint64(i)
		}
	}
	e.types = append(e.types, s)
	return uint64(len(e.types) - 1)
}

func (e *encoder) imports() (out [][]byte) {
	add := func(name string, kind byte, desc []byte) {
		out = append(out, append(append(append(str("env"), str(name)...), kind), desc...))
	}
	p := e.p
	for n, s := range p.imports {
		add(fmt.Sprintf("h%d", n), 0, uleb(e.typeIndex(s)))
	}
	for n, t := range p.tables {
		if t.imported {
			add(fmt.Sprintf("t%d", n), 1, append([]byte{valType(t.elem)}, limitBytes(t.min, t.max, t.hasMax)...))
		}
	}
	if p.memory.imported {
		add("memory", 2, limitBytes(p.memory.min, p.memory.max, p.memory.hasMax))
	}
	for n, g := range p.globals {
		if g.imported {
			add(fmt.Sprintf("g%d", n), 3, globalType(g))
		}
	}
	for n, t := range p.tags {
		if t.imported {
			add(fmt.Sprintf("e%d", n), 4, e.tagType(t))
		}
	}
	return out
}

func (e *encoder) exports() (out [][]byte) {
	add := func(name string, kind byte, n int) {
		out = append(out, append(append(str(name), kind), uleb(uint64(n))...))
	}
	for n := range e.p.numFuncs() {
		add(fmt.Sprintf("f%d", n), 0, n)
	}
	for n := range e.p.tables {
		add(fmt.Sprintf("t%d", n), 1, e.p.tableIndex(n))
	}
	add("memory", 2, 0)
	for n := range e.p.globals {
		add(fmt.Sprintf("g%d", n), 3, n)
	}
	for n := range e.p.tags {
		add(fmt.Sprintf("e%d", n), 4, n)
	}
	return out
}

// tagType is a tag as declared: the attribute of exceptions and the type.
func (e *encoder) tagType(t tagDef) []byte {
	return append([]byte{0}, uleb(e.typeIndex(signature{params: t.params}))...)
}

// tableIndex returns the number of table n in the module, where imported ones come first. Globals are in this order anyway.
func (p *program) tableIndex(n int) int {
	at := 0
	for m, t := range p.tables {
		if t.imported && (m < n || !p.tables[n].imported) || t.imported == p.tables[n].imported && m < n {
			at++
		}
	}
	return at
}

func (e *encoder) initial(g globalDef) []byte {
	switch g.typ {
	case 'i':
		return append(append([]byte{0x41}, sleb(int64(int32(g.init)))...), 0x0b)
	case 'l':
		return append(append([]byte{0x42}, sleb(int64(g.init))...), 0x0b)
	case 'f':
		return append(binary.LittleEndian.AppendUint32([]byte{0x43}, uint32(g.init)), 0x0b)
	case 'd':
		return append(binary.LittleEndian.AppendUint64([]byte{0x44}, g.init), 0x0b)
	case 'x':
		if g.init == 1 {
			return []byte{0x23, globalSeed, 0x0b}
		}
	}
	return []byte{0xd0, valType(g.typ), 0x0b}
}

func (e *encoder) elems() (out [][]byte) {
	for _, s := range e.p.elems {
		var b []byte
		if s.active {
			b = append(append([]byte{6}, uleb(uint64(e.p.tableIndex(s.table)))...), constI32(s.offset)...)
			b = append(b, valType(s.elem))
		} else {
			b = []byte{5, valType(s.elem)}
		}
		b = append(b, uleb(uint64(len(s.items)))...)
		for _, n := range s.items {
			switch {
			case n < 0:
				b = append(b, 0xd0, valType(s.elem))
			case s.elem == 'r':
				b = append(append(b, 0xd2), uleb(uint64(n))...)
			default:
				b = append(b, 0x23, globalSeed)
			}
			b = append(b, 0x0b)
		}
		out = append(out, b)
	}
	return out
}

func (e *encoder) datas() (out [][]byte) {
	for _, s := range e.p.datas {
		b := []byte{1}
		if s.active {
			b = append([]byte{0}, constI32(s.offset)...)
		}
		out = append(out, append(append(b, uleb(uint64(len(s.bytes)))...), s.bytes...))
	}
	return out
}

// Opcodes that functions use, in the notation of the specification without dots.
const (
	wUnreachable, wBlock, wLoop, wIf, wEnd, wBr, wBrIf, wReturn, wCall, wCallIndirect = 0x00, 0x02, 0x03, 0x04, 0x0b, 0x0c, 0x0d, 0x0f, 0x10, 0x11
	wDrop, wLocalGet, wLocalSet, wLocalTee, wGlobalGet, wGlobalSet                    = 0x1a, 0x20, 0x21, 0x22, 0x23, 0x24
	wTableGet, wTableSet, wI64Load, wI64Store, wMemorySize, wMemoryGrow               = 0x25, 0x26, 0x29, 0x37, 0x3f, 0x40
	wI32Const, wI64Const, wF32Const, wF64Const, wI32Eqz, wI64Eqz, wI64Eq              = 0x41, 0x42, 0x43, 0x44, 0x45, 0x50, 0x51
	wI32Sub, wI32And, wI64Add, wI64Sub, wI64Mul, wI64DivS, wI64And, wI64Xor, wI64Rotl = 0x6b, 0x71, 0x7c, 0x7d, 0x7e, 0x7f, 0x83, 0x85, 0x89
	wF64Add, wI32WrapI64, wI32TruncF64S, wF32ConvertI32U, wF64ConvertI32U             = 0xa0, 0xa7, 0xaa, 0xb3, 0xb8
	wTry, wCatch, wThrow, wThrowRef, wReturnCall, wReturnCallIndirect                 = 0x06, 0x07, 0x08, 0x0a, 0x12, 0x13
	wCatchAll, wTryTable                                                              = 0x19, 0x1f
	wI64ExtendI32U, wRefNull, wRefIsNull, wRefFunc, wPrefix, wVoid                    = 0xad, 0xd0, 0xd1, 0xd2, 0xfc, 0x40
	// Behind wPrefix.
	wMemoryInit, wDataDrop, wMemoryCopy, wMemoryFill, wTableInit, wElemDrop, wTableCopy, wTableGrow, wTableSize, wTableFill = 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
)

// op appends an operator with immediates that are unsigned numbers.
func (e *encoder) op(code byte, immediates ...int) {
	e.b = append(e.b, code)
	for _, n := range immediates {
		e.b = append(e.b, uleb(uint64(n))...)
	}
}

func (e *encoder) i32(v int32) { e.b = append(append(e.b, wI32Const), sleb(int64(v))...) }
func (e *encoder) i64(v int64) { e.b = append(append(e.b, wI64Const), sleb(v)...) }

// get pushes a local.
func (e *encoder) get(n int) { e.op(wLocalGet, n) }

func (e *encoder) getAll(locals []int) {
	for _, n := range locals {
		e.get(n)
	}
}

// setAll takes values off, the last first.
func (e *encoder) setAll(locals []int) {
	for n := len(locals) - 1; n >= 0; n-- {
		e.op(wLocalSet, locals[n])
	}
}

// masked pushes the lower half of an i64 local & mask.
func (e *encoder) masked(local int, mask int64) {
	e.get(local)
	e.op(wI32WrapI64)
	e.i32(int32(mask))
	e.op(wI32And)
}

// body returns the code of a function.
func (e *encoder) body(f *function) []byte {
	declared := f.locals[len(f.params):]
	var groups [][]byte
	for len(declared) > 0 {
		n := len(declared) - len(strings.TrimLeft(declared, declared[:1]))
		groups = append(groups, append(uleb(uint64(n)), valType(declared[0])))
		declared = declared[n:]
	}
	e.b = uleb(uint64(len(groups)))
	for _, g := range groups {
		e.b = append(e.b, g...)
	}
	for n := range f.body {
		a := &f.body[n]
		if !a.isBracket() {
			e.op(wGlobalGet, globalStep)
			e.i64(1)
			e.op(wI64Add)
			e.op(wGlobalSet, globalStep)
		}
		if a.guarded {
			e.get(a.guard)
			e.i64(a.mask)
			e.op(wI64And)
			e.i64(a.want)
			e.op(wI64Eq)
			e.op(wIf, wVoid)
		}
		e.action(f, a)
		if a.guarded {
			e.op(wEnd)
		}
	}
	for _, n := range f.returned {
		e.get(n)
	}
	e.op(wEnd)
	return append(uleb(uint64(len(e.b))), e.b...)
}

func (e *encoder) action(f *function, a *action) {
	switch a.op {
	case opEnterFree:
	case opEnter:
		e.op(wGlobalGet, globalFuel)
		e.op(wI64Eqz)
		e.op(wIf, wVoid)
		for _, t := range []byte(f.results) {
			e.zero(t)
		}
		e.op(wReturn)
		e.op(wEnd)
		e.op(wGlobalGet, globalFuel)
		e.i64(1)
		e.op(wI64Sub)
		e.op(wGlobalSet, globalFuel)
	case opConst:
		e.i64(a.k)
		e.op(wLocalSet, a.d)
	case opArith:
		e.get(a.a)
		e.get(a.b)
		e.op([numArith]byte{wI64Add, wI64Sub, wI64Mul, wI64Xor, wI64And, wI64Rotl}[a.k])
		e.op(wLocalSet, a.d)
	case opConvert:
		e.masked(a.a, 1<<a.k-1)
		switch a.t {
		case 'f':
			e.op(wF32ConvertI32U)
		case 'd':
			e.op(wF64ConvertI32U)
		}
		e.op(wLocalSet, a.d)
	case opExtend:
		e.get(a.a)
		e.op(wI64ExtendI32U)
		e.op(wLocalSet, a.d)
	case opGlobalGet:
		e.op(wGlobalGet, a.t)
		e.op(wLocalSet, a.d)
	case opGlobalSet:
		e.get(a.a)
		e.op(wGlobalSet, a.t)
	case opNull:
		e.b = append(e.b, wRefNull, valType(byte(a.t)))
		e.op(wLocalSet, a.d)
	case opIsNull:
		e.get(a.a)
		e.op(wRefIsNull)
		e.op(wLocalSet, a.d)
	case opRefFunc:
		e.op(wRefFunc, a.t)
		e.op(wLocalSet, a.d)
	case opMove:
		e.get(a.a)
		e.op(wLocalSet, a.d)
	case opReturn:
		for _, n := range f.returned {
			e.get(n)
		}
		e.op(wReturn)
	case opLoop:
		e.i32(int32(a.k))
		e.op(wLocalSet, a.d)
		e.op(wLoop, wVoid)
	case opEnd:
		e.get(a.d)
		e.i32(1)
		e.op(wI32Sub)
		e.op(wLocalTee, a.d)
		e.op(wBrIf, 0)
		e.op(wEnd)
	case opSpread:
		for n := range int(a.k) {
			e.get(a.a)
			e.i64(int64(2*n + 1))
			e.op(wI64Mul)
			e.op(wLocalSet, a.d+n)
		}
	case opGather:
		e.i64(0)
		for n := range int(a.k) {
			e.get(a.a + n)
			e.op(wI64Xor)
		}
		e.op(wLocalSet, a.d)
	case opTry:
		e.try(a)
	case opTryEnd:
		e.catch(&f.body[a.t])
	case opCall, opIndirect, opTail, opTailIndirect, opTrap, opSpin, opThrow, opThrowRef:
		e.leave(a)
	default:
		e.access(a)
	}
}

// try begins a block that catches: around it is a block for each clause, with what the clause brings, the first one innermost, and one whose end is where the code goes on.
func (e *encoder) try(a *action) {
	if a.legacy {
		e.op(wTry, wVoid)
		return
	}
	e.op(wBlock, wVoid)
	for n := len(a.clauses) - 1; n >= 0; n-- {
		e.b = append(append(e.b, wBlock), sleb(int64(e.typeIndex(signature{results: e.brings(&a.clauses[n])})))...)
	}
	e.op(wTryTable, wVoid, len(a.clauses))
	for n := range a.clauses {
		c := &a.clauses[n]
		kind := b2i(c.ref)
		if c.tag < 0 {
			e.op(byte(2+kind), n)
		} else {
			e.op(byte(kind), c.tag, n)
		}
	}
}

// brings are the types of what a clause leaves.
func (e *encoder) brings(c *clause) (types string) {
	if c.tag >= 0 {
		types = e.p.tags[c.tag].params
	}
	if c.ref {
		types += "e"
	}
	return types
}

// catch ends what try has begun.
func (e *encoder) catch(try *action) {
	last := len(try.clauses) - 1
	if !try.legacy {
		e.op(wEnd)
		e.op(wBr, last+1)
	}
	for n := range try.clauses {
		c := &try.clauses[n]
		switch {
		case !try.legacy:
			e.op(wEnd)
		case c.tag < 0:
			e.op(wCatchAll)
		default:
			e.op(wCatch, c.tag)
		}
		if c.ref {
			e.op(wLocalSet, c.exn)
		}
		e.setAll(c.dests)
		e.i64(c.k)
		e.op(wLocalSet, c.mark)
		if !try.legacy {
			e.op(wBr, last-n)
		}
	}
	e.op(wEnd)
}

// zero pushes the zero of a type.
func (e *encoder) zero(t byte) {
	switch t {
	case 'i':
		e.i32(0)
	case 'l':
		e.i64(0)
	case 'f':
		e.b = append(e.b, wF32Const, 0, 0, 0, 0)
	case 'd':
		e.b = append(e.b, wF64Const, 0, 0, 0, 0, 0, 0, 0, 0)
	default:
		e.b = append(e.b, wRefNull, valType(t))
	}
}

// leave encodes actions that call functions or end this one.
func (e *encoder) leave(a *action) {
	switch a.op {
	case opCall, opIndirect, opTail, opTailIndirect:
		e.getAll(a.args)
		direct, indirect := byte(wCall), byte(wCallIndirect)
		if a.isTail() {
			direct, indirect = wReturnCall, wReturnCallIndirect
		}
		if a.op == opCall || a.op == opTail {
			e.op(direct, a.t)
		} else {
			e.masked(a.a, a.k)
			e.op(indirect, int(e.typeIndex(e.p.sigOf(a.t))), e.p.tableIndex(0))
		}
		e.setAll(a.dests)
	case opThrow:
		e.op(wGlobalGet, globalStep)
		e.getAll(a.args)
		e.op(wThrow, a.t)
	case opThrowRef:
		e.get(a.a)
		e.op(wThrowRef)
	case opSpin:
		e.op(wCall, cancelImport)
		e.op(wIf, wVoid)
		e.op(wLoop, wVoid)
		switch a.k {
		case 1:
			e.op(wCall, e.p.nop())
		case 2: // the same bytes over themselves
			for range 2 {
				e.i32(0)
			}
			e.op(wMemorySize, 0)
			e.i32(wasmPage)
			e.op(0x6c) // i32.mul
			e.op(wPrefix, wMemoryCopy, 0, 0)
		case 3:
			e.op(wMemorySize, 0)
			e.op(wDrop)
		}
		e.op(wBr, 0)
		e.op(wEnd)
		e.op(wEnd)
	case opTrap:
		e.trap(a)
	}
}

func (e *encoder) trap(a *action) {
	switch a.k {
	case trapUnreachable:
		e.op(wUnreachable)
		return
	case trapDivide:
		e.get(a.a)
		e.i64(0)
		e.op(wI64DivS)
	case trapOverflow:
		e.i64(-1 << 63)
		e.get(a.a)
		e.get(a.a)
		e.op(wI64Sub)
		e.i64(1)
		e.op(wI64Sub)
		e.op(wI64DivS)
	case trapConversion, trapConversionRange:
		bits := uint64(0x7ff8000000000000)
		if a.k == trapConversionRange {
			bits = 0x43e0000000000000
		}
		e.b = binary.LittleEndian.AppendUint64(append(e.b, wF64Const), bits)
		e.op(wI32TruncF64S)
	case trapMemory:
		e.get(a.a)
		e.op(wI32WrapI64)
		e.op(wI64Load, 3, 0xffffffff)
	case trapTable:
		e.i32(-1)
		e.op(wTableGet, 0)
	}
	e.op(wDrop)
}

// access encodes actions on memories and tables.
func (e *encoder) access(a *action) {
	table := func() int { return e.p.tableIndex(a.t) }
	switch a.op {
	case opLoad:
		e.masked(a.a, a.k)
		e.op(wI64Load, 0, 0)
		e.op(wLocalSet, a.d)
	case opStore:
		e.masked(a.a, a.k)
		e.get(a.b)
		e.op(wI64Store, 0, 0)
	case opMemorySize:
		e.op(wMemorySize, 0)
		e.op(wLocalSet, a.d)
	case opMemoryGrow:
		e.masked(a.a, a.k)
		e.op(wMemoryGrow, 0)
		e.op(wLocalSet, a.d)
	case opMemoryFill:
		e.masked(a.a, a.k)
		e.masked(a.b, 255)
		e.masked(a.c, 255)
		e.op(wPrefix, wMemoryFill, 0)
	case opMemoryCopy:
		e.masked(a.a, a.k)
		e.masked(a.b, a.k)
		e.masked(a.c, 255)
		e.op(wPrefix, wMemoryCopy, 0, 0)
	case opMemoryInit:
		e.masked(a.a, a.k)
		e.masked(a.b, 15)
		e.masked(a.c, 15)
		e.op(wPrefix, wMemoryInit, e.p.data(a.t), 0)
	case opDataDrop:
		e.op(wPrefix, wDataDrop, e.p.data(a.t))
	case opTableGet:
		e.masked(a.a, a.k)
		e.op(wTableGet, table())
		e.op(wLocalSet, a.d)
	case opTableSet:
		e.masked(a.a, a.k)
		e.get(a.b)
		e.op(wTableSet, table())
	case opTableSize:
		e.op(wPrefix, wTableSize, table())
		e.op(wLocalSet, a.d)
	case opTableGrow:
		e.get(a.b)
		e.masked(a.a, a.k)
		e.op(wPrefix, wTableGrow, table())
		e.op(wLocalSet, a.d)
	case opTableFill:
		e.masked(a.a, a.k)
		e.get(a.b)
		e.masked(a.c, 3)
		e.op(wPrefix, wTableFill, table())
	case opTableCopy:
		e.masked(a.a, a.k)
		e.masked(a.b, a.k)
		e.masked(a.c, 3)
		e.op(wPrefix, wTableCopy, table(), e.p.tableIndex(a.u))
	case opTableInit:
		s := e.p.elem(a)
		if s < 0 {
			return
		}
		e.masked(a.a, a.k)
		e.masked(a.b, 1)
		e.masked(a.c, 3)
		e.op(wPrefix, wTableInit, s, table())
	case opElemDrop:
		e.op(wPrefix, wElemDrop, a.t%len(e.p.elems))
	}
}

// data returns the data segment of an action, whose choice was made before the segments existed.
func (p *program) data(n int) int { return n % len(p.datas) }

// elem returns the element segment of opTableInit: one of the table's type, -1 if there is none.
func (p *program) elem(a *action) int {
	for k := range p.elems {
		if n := (a.u + k) % len(p.elems); p.elems[n].elem == p.tables[a.t].elem {
			return n
		}
	}
	return -1
}

func valType(letter byte) byte { return abiType(letter).Code() }

// abiType is the type of a letter.
func abiType(letter byte) abi.ValType {
	if letter == 'e' {
		return abi.ExnRef
	}
	return abi.ValTypeByLetter(letter)
}

func valTypes(letters string) []byte {
	b := uleb(uint64(len(letters)))
	for _, t := range []byte(letters) {
		b = append(b, valType(t))
	}
	return b
}

func globalType(g globalDef) []byte {
	if g.mutable {
		return []byte{valType(g.typ), 1}
	}
	return []byte{valType(g.typ), 0}
}

func limitBytes(min, max uint64, hasMax bool) []byte {
	if hasMax {
		return append(append([]byte{1}, uleb(min)...), uleb(max)...)
	}
	return append([]byte{0}, uleb(min)...)
}

func constI32(v uint32) []byte { return append(append([]byte{0x41}, sleb(int64(int32(v)))...), 0x0b) }

func str(s string) []byte { return append(uleb(uint64(len(s))), s...) }

func uleb(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func sleb(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
