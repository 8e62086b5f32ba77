package wasmgen

import (
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// numeric, loads and stores are the operators of the accepted features whose
// types are fixed, by the letter of the result, or of the stored value.
var numeric, loads, stores = operators()

func operators() (num, ld, st map[byte][]wasmfront.Opcode) {
	num, ld, st = map[byte][]wasmfront.Opcode{}, map[byte][]wasmfront.Opcode{}, map[byte][]wasmfront.Opcode{}
	for _, op := range wasmfront.Opcodes() {
		info := op.Info()
		in, out, ok := strings.Cut(info.Sig, ":")
		if !ok || info.Feature&^wasmfront.DefaultFeatures != 0 || strings.Trim(in+out, "ilfd") != "" {
			continue
		}
		switch {
		case info.Imm == wasmfront.ImmNone && len(out) == 1:
			num[out[0]] = append(num[out[0]], op)
		case info.Imm == wasmfront.ImmMemArg && len(out) == 1:
			ld[out[0]] = append(ld[out[0]], op)
		case info.Imm == wasmfront.ImmMemArg:
			st[in[1]] = append(st[in[1]], op)
		}
	}
	return num, ld, st
}

// label is an open block.
type label struct {
	types    string // of the operands of a branch to it
	reserved bool   // only its own code branches to it: a counted loop
	catches  bool   // it is that of a part that has caught an exception, for rethrow
}

// fgen generates one function body.
type fgen struct {
	*gen
	sig    sig
	b      []byte
	locals []byte // types, parameters included
	busy   []bool // locals that only the code that took them may write
	nan    [3]int // the locals of canonical, for f32, f64 and vectors, 0 if none yet
	labels []label
	// pointer is a local that only address writes, 0 if none yet.
	pointer int
	budget  int
	depth   int // of expressions
	loops   int // open loops
	smallAt int // the number of a small function, else 0
	reads   []reading
	tries   int // open bodies of blocks that catch
}

func (g *gen) function(s sig, size int) []byte {
	f := &fgen{gen: g, sig: s, budget: size/2 + g.r.IntN(size), locals: []byte(s.params)}
	f.locals = append(f.locals, g.typeList(1+g.length(10), "iillfdrx")...)
	if g.cfg.throws() { // enough that some are in registers which calls keep, and some are not
		f.locals = append(f.locals, g.typeList(g.length(20), "iillfdrx")...)
	}
	f.nullLocals()
	f.busy = make([]bool, len(f.locals))
	f.labels = []label{{types: s.results}}
	f.burnFuel()
	f.countEvent(countEntered)
	f.neverNullLocals()
	f.beginWithObjects()
	for f.budget > 0 {
		f.statement()
	}
	f.countEvent(countEnded)
	if !f.tailCall() {
		f.produceAll(s.results)
	}
	f.op(wasmfront.OpEnd)
	return append(f.localTypes(), f.b...)
}

// localTypes encodes the declarations of locals that are no parameters.
func (f *fgen) localTypes() []byte {
	var decl [][]byte
	for _, t := range f.locals[len(f.sig.params):] {
		decl = append(decl, append([]byte{1}, f.valType(t)...))
	}
	return vec(decl...)
}

func (f *fgen) op(op wasmfront.Opcode) {
	f.budget--
	f.count(op)
	prefix, n := op.Encoding()
	if prefix == 0 {
		f.b = append(f.b, byte(n))
		return
	}
	f.b = append(append(f.b, prefix), leb(uint64(n))...)
}

// opIndex emits an operator with indices.
func (f *fgen) opIndex(op wasmfront.Opcode, index ...int) {
	f.op(op)
	for _, i := range index {
		f.b = append(f.b, leb(uint64(i))...)
	}
}

func (f *fgen) konst(t byte, bits uint64) {
	f.budget--
	f.b = append(f.b, constant(t, bits)...)
}

// chance returns true once in n times.
func (f *fgen) chance(n int) bool { return f.r.IntN(n) == 0 }

// local returns a local of type t that may be written, new if need be.
func (f *fgen) local(t byte) int {
	if t >= firstRef {
		return f.localRef(t)
	}
	n := 0
	pick := -1
	for i, lt := range f.locals {
		if lt == t && !f.busy[i] {
			if n++; f.r.IntN(n) == 0 {
				pick = i
			}
		}
	}
	if pick < 0 {
		return f.newLocal(t)
	}
	return pick
}

func (f *fgen) newLocal(t byte) int {
	f.locals, f.busy = append(f.locals, t), append(f.busy, false)
	return len(f.locals) - 1
}

// anyLocal returns a local of type t to read.
func (f *fgen) anyLocal(t byte) int {
	if f.chance(3) {
		for i, lt := range f.locals {
			if lt == t && i != f.nan[0] && i != f.nan[1] && (i != f.nan[2] || f.nan[2] == 0) && f.chance(2) {
				return i
			}
		}
	}
	return f.local(t)
}

func (f *fgen) produceAll(types string) {
	for _, t := range []byte(types) {
		f.produce(t)
	}
}

// consume pops values, the last first.
func (f *fgen) consume(types string) {
	for i := len(types) - 1; i >= 0; i-- {
		if f.chance(3) {
			f.op(wasmfront.OpDrop)
		} else {
			f.opIndex(wasmfront.OpLocalSet, f.local(types[i]))
		}
	}
}

// keepOne pops values and pushes one of type t from among them.
func (f *fgen) keepOne(types string, t byte) {
	at := strings.LastIndexByte(types, t)
	f.consume(types[at+1:])
	if at == 0 {
		return
	}
	l := f.localFor(t)
	f.opIndex(wasmfront.OpLocalSet, l)
	busy := f.busy[l]
	f.busy[l] = true
	f.consume(types[:at])
	f.busy[l] = busy
	f.get(l, t)
}

const maxDepth = 6

// produce pushes a value of type t.
func (f *fgen) produce(t byte) {
	f.depth++
	defer func() { f.depth-- }()
	if t >= firstRef || f.cfg.GC && (t == 'r' || t == 'x') && f.chance(2) {
		f.object(t)
		return
	}
	if t == 'r' || t == 'x' {
		f.reference(t)
		return
	}
	if t == exnRef {
		f.exception()
		return
	}
	if f.budget <= 0 || f.depth > maxDepth {
		f.leaf(t)
		return
	}
	n := f.r.IntN(100)
	if f.cfg.Vectors && t != 'v' && n >= 88 && f.chance(2) {
		f.vector(t)
		return
	}
	if f.cfg.GC && f.chance(4) && f.heapNumber(t) {
		return
	}
	switch {
	case n < 28:
		f.leaf(t)
	case n < 74 && t == 'v':
		f.vector(t)
	case n < 54:
		f.numeric(t)
	case n < 66:
		f.idiom(t)
	case n < 74:
		f.address()
		f.memory(loads[t][f.r.IntN(len(loads[t]))])
	case n < 78:
		f.operand(t)
		f.operand(t)
		f.condition()
		if f.chance(2) {
			f.op(wasmfront.OpSelect)
		} else {
			f.opIndex(wasmfront.OpSelectT, 1, int(valTypes[t]))
		}
	case n < 83:
		f.callFor(t)
	case n < 88:
		f.opIndex(wasmfront.OpGlobalGet, f.global(t, false))
	case n < 90:
		f.produce(t)
		f.opIndex(wasmfront.OpLocalTee, f.local(t))
	case n < 91 && t == 'i':
		f.query()
	case n < 94 && t == 'i':
		f.half()
	default:
		f.blockFor(t)
	}
}

func (f *fgen) leaf(t byte) {
	if t >= firstRef {
		f.simpleRef(t)
		return
	}
	if f.chance(2) {
		if t == 'v' {
			f.vectorConst(f.vectorBits())
			return
		}
		f.konst(t, f.bits(t))
		return
	}
	f.opIndex(wasmfront.OpLocalGet, f.anyLocal(t))
}

// global returns a random global of type t, or -1.
func (f *fgen) global(t byte, write bool) int {
	pick, n := -1, 0
	for i := range f.globals {
		g := &f.globals[i]
		if g.typ == t && i != globalFuel && (g.mutable && !g.constant || !write) {
			if n++; f.r.IntN(n) == 0 {
				pick = i
			}
		}
	}
	return pick
}

// query pushes an i32 that says something about the instance.
func (f *fgen) query() {
	switch f.r.IntN(4) {
	case 0:
		f.opIndex(wasmfront.OpMemorySize, 0)
	case 1:
		f.opIndex(wasmfront.OpTableSize, f.r.IntN(numTables))
	case 2:
		f.produce('r')
		f.op(wasmfront.OpRefIsNull)
	case 3:
		f.produce('x')
		f.op(wasmfront.OpRefIsNull)
	}
}

func (f *fgen) reference(t byte) {
	switch n := f.r.IntN(10); {
	case n < 3 && t == 'r':
		f.opIndex(wasmfront.OpRefFunc, f.r.IntN(len(f.funcs)))
	case n < 4 && t == 'r':
		f.opIndex(wasmfront.OpGlobalGet, f.global(t, false))
	case n < 7 && f.budget > 0 && f.depth <= maxDepth:
		table := 2
		if t == 'r' {
			table = f.r.IntN(2)
		}
		f.small(tableLen)
		f.opIndex(wasmfront.OpTableGet, table)
	case n < 9:
		f.opIndex(wasmfront.OpLocalGet, f.anyLocal(t))
	default:
		f.konst(t, 0)
	}
}

// small pushes an i32 that is below n, at times not.
func (f *fgen) small(n int) {
	switch {
	case !f.cfg.NoTraps && f.chance(20):
		f.produce('i')
	case f.chance(2):
		f.konst('i', uint64(f.r.IntN(n)))
	default:
		f.produce('i')
		f.konst('i', uint64(n))
		f.op(wasmfront.OpI32RemU)
	}
}

// divides reports whether op traps for a zero divisor; the second type is that
// of the divisor.
func divides(op wasmfront.Opcode) bool {
	return op >= wasmfront.OpI32DivS && op <= wasmfront.OpI32RemU || op >= wasmfront.OpI64DivS && op <= wasmfront.OpI64RemU
}

// truncates reports whether op traps for numbers that do not fit.
func truncates(op wasmfront.Opcode) bool {
	return op >= wasmfront.OpI32TruncF32S && op <= wasmfront.OpI32TruncF64U ||
		op >= wasmfront.OpI64TruncF32S && op <= wasmfront.OpI64TruncF64U
}

// choosesNaN reports whether the bits of a NaN result are for the engine to choose.
func choosesNaN(op wasmfront.Opcode) bool {
	switch op {
	case wasmfront.OpF32Abs, wasmfront.OpF32Neg, wasmfront.OpF32Copysign, wasmfront.OpF64Abs, wasmfront.OpF64Neg,
		wasmfront.OpF64Copysign, wasmfront.OpF32ReinterpretI32, wasmfront.OpF64ReinterpretI64:
		return false
	}
	_, out, _ := strings.Cut(op.Info().Sig, ":")
	return out == "f" || out == "d"
}

// showsNaN reports whether the result of op, unless it is a NaN, depends on the bits
// of a NaN on top of the stack.
func showsNaN(op wasmfront.Opcode) bool {
	switch op {
	case wasmfront.OpF32Copysign, wasmfront.OpF64Copysign, wasmfront.OpI32ReinterpretF32, wasmfront.OpI64ReinterpretF64:
		return true
	}
	return false
}

func (f *fgen) numeric(t byte) {
	if t == 'l' && f.cfg.Wide && f.chance(5) {
		f.wide()
		return
	}
	op := numeric[t][f.r.IntN(len(numeric[t]))]
	in, _, _ := strings.Cut(op.Info().Sig, ":")
	if truncates(op) && (f.cfg.NoTraps || !f.chance(8)) {
		f.leaf(t)
		return
	}
	if divides(op) && f.chance(3) {
		f.produce(in[0])
		f.konst(in[1], f.constantDivisor(in[1]))
		f.op(op)
		return
	}
	f.produceAll(in)
	if divides(op) && (f.cfg.NoTraps || !f.chance(8)) {
		f.safeDivisor(in[1])
	}
	f.apply(op)
}

// wideOps are the operators that give numbers of 128 bits.
var wideOps = []wasmfront.Opcode{wasmfront.OpI64Add128, wasmfront.OpI64Sub128, wasmfront.OpI64MulWideS, wasmfront.OpI64MulWideU}

// wide produces a half of a number of 128 bits, or what depends on both.
func (f *fgen) wide() {
	op := wideOps[f.r.IntN(len(wideOps))]
	in, _, _ := strings.Cut(op.Info().Sig, ":")
	f.produceAll(in)
	f.op(op)
	f.op([]wasmfront.Opcode{wasmfront.OpDrop, wasmfront.OpI64Xor, wasmfront.OpI64Sub, wasmfront.OpI64And}[f.r.IntN(4)])
}

// apply emits a numeric operator, and what makes NaNs the canonical ones where that is wanted.
func (f *fgen) apply(op wasmfront.Opcode) {
	in, out, _ := strings.Cut(op.Info().Sig, ":")
	if f.cfg.LateNaNs && showsNaN(op) {
		f.canonical(in[len(in)-1])
	}
	f.op(op)
	if !f.cfg.RawNaNs && !f.cfg.LateNaNs && choosesNaN(op) {
		f.canonical(out[0])
	}
}

// constantDivisor returns a constant of type t to divide by, often a power of two or near one. It is not 0, nor -1 where nothing
// may trap.
func (f *fgen) constantDivisor(t byte) uint64 {
	bits := 32
	if t == 'l' {
		bits = 64
	}
	var k uint64
	switch f.r.IntN(4) {
	case 0:
		k = 1 << f.r.IntN(bits)
	case 1:
		k = -(1 << f.r.IntN(bits))
	case 2:
		k = 1<<f.r.IntN(bits) + uint64(f.r.IntN(3)) - 1
	default:
		k = f.bits(t)
	}
	mask := ^uint64(0) >> (64 - bits)
	if k &= mask; k == 0 || k == mask && f.cfg.NoTraps {
		return 10
	}
	return k
}

// safeDivisor makes the divisor on top of the stack neither 0 nor -1.
func (f *fgen) safeDivisor(t byte) {
	if t == 'i' {
		f.konst('i', 0x7FFFFFFE)
		f.op(wasmfront.OpI32And)
		f.konst('i', 1)
		f.op(wasmfront.OpI32Or)
		return
	}
	f.konst('l', 0x7FFFFFFFFFFFFFFE)
	f.op(wasmfront.OpI64And)
	f.konst('l', 1)
	f.op(wasmfront.OpI64Or)
}

// canonical replaces a NaN on top of the stack by the canonical one.
func (f *fgen) canonical(t byte) {
	which, eq, nan := 0, wasmfront.OpF32Eq, uint64(0x7FC00000)
	if t == 'd' {
		which, eq, nan = 1, wasmfront.OpF64Eq, 0x7FF8000000000000
	}
	if f.nan[which] == 0 {
		// Nobody else reads it, as it may hold any NaN. Locals were declared before, so it is not 0.
		f.nan[which] = f.newLocal(t)
		f.busy[f.nan[which]] = true
	}
	l := f.nan[which]
	f.budget += 6
	f.opIndex(wasmfront.OpLocalTee, l)
	f.konst(t, nan)
	f.opIndex(wasmfront.OpLocalGet, l)
	f.opIndex(wasmfront.OpLocalGet, l)
	f.op(eq)
	f.op(wasmfront.OpSelect)
}

// address pushes an i32 that is mostly in memory. Some come back, so that
// accesses overlap.
func (f *fgen) address() {
	switch n := f.r.IntN(24); {
	case n >= 20:
		if f.pointer == 0 {
			f.pointer = f.newLocal('i')
			f.busy[f.pointer] = true
		}
		if f.chance(4) {
			f.konst('i', uint64(f.r.IntN(300)))
			f.opIndex(wasmfront.OpLocalTee, f.pointer)
		} else {
			f.opIndex(wasmfront.OpLocalGet, f.pointer)
		}
	case n < 7:
		f.konst('i', uint64(f.r.IntN(300)))
	case n < 8 && !f.cfg.NoTraps:
		f.konst('i', uint64(uint32(65536*f.r.IntN(3)-f.r.IntN(17))))
	case n < 9 && !f.cfg.NoTraps:
		f.produce('i')
	default:
		f.produce('i')
		f.konst('i', []uint64{0xFF, 0xFFF, 0xFFF8, 0x7FFF}[f.r.IntN(4)])
		f.op(wasmfront.OpI32And)
	}
}

var offsets = [...]int{1, 4, 8, 15, 255, 65528, 65535, 65536, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF}

// memory emits a load or store with random alignment and offset.
func (f *fgen) memory(op wasmfront.Opcode) {
	offset := 0
	switch n := f.r.IntN(16); {
	case n < 6:
		offset = f.r.IntN(16)
	case n < 7 && !f.cfg.NoTraps:
		offset = offsets[f.r.IntN(len(offsets))]
	}
	f.opIndex(op, f.r.IntN(int(op.Info().Align)+1), offset)
}

// callFor calls a function that has a result of type t.
func (f *fgen) callFor(t byte) {
	with := f.callable(t)
	if len(with) == 0 {
		f.leaf(t)
		return
	}
	i := with[f.r.IntN(len(with))]
	f.call(i)
	f.keepOne(f.funcs[i].results, t)
}

// call calls function i, at times through a table.
func (f *fgen) call(i int) {
	s := f.funcs[i]
	if f.smallAt == 0 && f.chance(3) {
		f.produceAll(s.params)
		table := f.tableWith(i)
		f.opIndex(wasmfront.OpCallIndirect, f.funcType(i), table)
		return
	}
	f.produceAll(s.params)
	f.opIndex(wasmfront.OpCall, i)
}

// tableWith pushes an index, and returns a table that most often has function i there.
func (f *fgen) tableWith(i int) (table int) {
	slot, table := f.r.IntN(tableLen), f.r.IntN(2)
	if f.cfg.NoTraps || !f.chance(4) { // make sure that the function is there
		f.konst('i', uint64(slot))
		f.opIndex(wasmfront.OpRefFunc, i)
		f.opIndex(wasmfront.OpTableSet, table)
		f.konst('i', uint64(slot))
	} else {
		f.small(tableLen)
	}
	return table
}
