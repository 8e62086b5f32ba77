package translate

import (
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/wasmfront"
)

// This file reads bodies without checking or translating them: for the survey of a module, the growth of its tables, results that are never 0, and the writes in
// loops. All of them know an operator by its effects in wasmfront's table, and refuse one whose effects are unknown.

// bodyReader reads the operators of a body, which need not be valid.
type bodyReader struct {
	wasmfront.Reader
	ops  *operators
	seen effect.Set // of the operators that next has passed without returning them
	// refused is set at an operator that is malformed, or whose effects are unknown. What follows it is not read: the body may do anything.
	refused bool
}

// bodyOf returns a reader of the body of function i, behind the locals.
func (o *operators) bodyOf(m *wasmfront.Module, i uint32) bodyReader {
	body := m.Body(i)
	b := bodyReader{Reader: wasmfront.Reader{Buf: body.Bytes, End: len(body.Bytes)}, ops: o}
	for n := b.U32(); n > 0 && b.More(); n-- {
		b.U32()
		b.SkipValType()
	}
	b.refused = b.Err != nil
	return b
}

// endOfBody stands for the end of a body, or the place where it is refused.
const endOfBody = ^wasmfront.Opcode(0)

// operator reads an operator. If its first immediate is a local, a global, a table, a function or a type, it returns that. It reports false if it refuses the operator.
func (b *bodyReader) operator() (op wasmfront.Opcode, index uint32, ok bool) {
	op, ok = wasmfront.Opcode(b.Byte()), true
	if wasmfront.IsPrefix(byte(op)) {
		op, ok = wasmfront.PrefixedOpcode(byte(op), b.U32())
	}
	ok = ok && b.ops.of(op) != effect.Unknown
	imm := op.Info().Imm
	if imm == wasmfront.ImmLocal || imm == wasmfront.ImmFunc || imm == wasmfront.ImmGlobal || imm == wasmfront.ImmTable || imm == wasmfront.ImmType {
		index = b.U32()
	} else if skip := skips[imm]; skip != nil {
		skip(&b.Reader)
	} else {
		ok = false
	}
	ok = ok && b.Err == nil
	b.refused = b.refused || !ok
	return op, index, ok
}

// next reads up to the next operator that is worth a look: those that write tables or globals, calls of functions that are known, and all that have a prefix or
// immediates of a rare form. It passes most operators without a look at what their immediates mean, since all bodies of a module are read so.
func (b *bodyReader) next() (op wasmfront.Opcode, index uint32) {
	buf, at, seen := b.Buf[:b.End], b.Pos, trait(0)
	for at < len(buf) {
		t := b.ops.short[buf[at]]
		n := t & numbers
		if n == many {
			b.pass(seen, at)
			if op, index, ok := b.operator(); ok {
				return op, index
			}
			return endOfBody, 0
		}
		seen |= t
		if at++; t&(accesses|opens) != 0 && at < len(buf) && hasOneMore(t, buf[at]) {
			n++
		}
		for ; n > 0; n-- {
			for at < len(buf) && buf[at] >= 0x80 {
				at++
			}
			at++
		}
	}
	b.pass(seen, len(buf))
	return endOfBody, 0
}

// hasOneMore reports whether immediates that begin with b have a number more than the operator's trait t says: the index of the memory, or what the type of the
// block's result refers to.
func hasOneMore(t trait, b byte) bool {
	if t&opens != 0 {
		return wasmfront.BeginsRef(b)
	}
	return b&wasmfront.WithMemory != 0
}

// pass notes that operators of the traits seen are in front of at.
func (b *bodyReader) pass(seen trait, at int) {
	b.seen |= effect.Set(seen >> traitBits)
	b.Pos = at
}

// operators is what readers of bodies know of the operators.
type operators struct {
	effects [wasmfront.NumOpPages][256]effect.Set
	short   [256]trait // by the first byte
}

// allOperators are those of wasmfront's table.
var allOperators = operatorsWith(func(op wasmfront.Opcode) effect.Set { return op.Info().Effects })

// operatorsWith returns the operators of wasmfront's table, with effects that effects gives.
func operatorsWith(effects func(wasmfront.Opcode) effect.Set) (o operators) {
	for b := range o.short {
		o.short[b] = many
	}
	for _, op := range wasmfront.Opcodes() {
		e := effects(op)
		o.effects[op.Page()][op&0xFF] = e
		if op < wasmfront.Opcode(len(o.short)) && e != effect.Unknown && !isNoted(op, e) {
			o.short[op] = shortImms[op.Info().Imm] | trait(e)<<traitBits
		}
	}
	return o
}

// of returns the effects of op.
func (o *operators) of(op wasmfront.Opcode) effect.Set { return o.effects[op.Page()][op&0xFF] }

// isNoted reports whether the index of an operator with the effects e matters to the survey.
func isNoted(op wasmfront.Opcode, e effect.Set) bool {
	return e.Has(effect.WriteGlobal|effect.WriteTable|effect.WriteTableSize) || isDirectCall(op, e)
}

// isDirectCall reports whether an operator with the effects e calls the function that its index is.
func isDirectCall(op wasmfront.Opcode, e effect.Set) bool {
	return e.Has(effect.Calls) && op.Info().Imm == wasmfront.ImmFunc
}

// trait is what next needs to know of an operator of one byte: how many numbers in LEB128 follow and nothing else, or many if next has to look; whether
// it accesses memory, or opens a block; and above that its effects.
type trait uint32

const (
	numbers   trait = 3
	many            = numbers
	accesses  trait = 4
	opens     trait = 8
	traitBits       = 4
)

// shortImms is what the traits of an operator say of its immediates.
var shortImms = func() (t [wasmfront.NumImmKinds]trait) {
	for imm := range t {
		t[imm] = many
	}
	t[wasmfront.ImmNone] = 0
	for _, imm := range []wasmfront.ImmKind{wasmfront.ImmLabel, wasmfront.ImmType, wasmfront.ImmTag, wasmfront.ImmLocal, wasmfront.ImmGlobal, wasmfront.ImmI32, wasmfront.ImmI64} {
		t[imm] = 1
	}
	t[wasmfront.ImmBlock], t[wasmfront.ImmCallIndirect], t[wasmfront.ImmMemArg] = 1|opens, 2, 2|accesses
	return t
}()

// AppendCalls appends the functions that the body of function i calls by their index, in order, up to the first operator that is malformed or unknown.
// The body need not be valid: what is returned may be anything then, numbers of no functions, too.
func AppendCalls(dst []uint32, m *wasmfront.Module, i uint32) []uint32 {
	b := allOperators.bodyOf(m, i)
	for {
		op, callee := b.next()
		switch {
		case op == endOfBody:
			return dst
		case isDirectCall(op, b.ops.of(op)):
			dst = append(dst, callee)
		}
	}
}

// skips read immediates and forget them. ImmLocal has an entry for
// completeness; a form that no operator of decodable features has is nil.
var skips = [wasmfront.NumImmKinds]func(r *wasmfront.Reader){
	wasmfront.ImmNone:         func(*wasmfront.Reader) {},
	wasmfront.ImmBlock:        (*wasmfront.Reader).SkipBlockType,
	wasmfront.ImmTryTable:     func(r *wasmfront.Reader) { r.SkipBlockType(); r.Catches(nil) },
	wasmfront.ImmLabel:        skipIndex,
	wasmfront.ImmBrTable:      skipBrTable,
	wasmfront.ImmFunc:         skipIndex,
	wasmfront.ImmType:         skipIndex,
	wasmfront.ImmTag:          skipIndex,
	wasmfront.ImmCallIndirect: skipTwo,
	wasmfront.ImmLocal:        skipIndex,
	wasmfront.ImmGlobal:       skipIndex,
	wasmfront.ImmTable:        skipIndex,
	wasmfront.ImmTable2:       skipTwo,
	wasmfront.ImmElem:         skipIndex,
	wasmfront.ImmElemTable:    skipTwo,
	wasmfront.ImmData:         skipIndex,
	wasmfront.ImmDataMem:      skipTwo,
	wasmfront.ImmMem:          skipIndex,
	wasmfront.ImmMem2:         skipTwo,
	wasmfront.ImmMemArg:       skipMemArg,
	wasmfront.ImmMemArgLane:   func(r *wasmfront.Reader) { skipMemArg(r); r.Byte() },
	wasmfront.ImmLane:         func(r *wasmfront.Reader) { r.Byte() },
	wasmfront.ImmV128:         func(r *wasmfront.Reader) { r.Bytes(16) },
	wasmfront.ImmShuffle:      func(r *wasmfront.Reader) { r.Bytes(16) },
	wasmfront.ImmI32:          func(r *wasmfront.Reader) { r.S32() },
	wasmfront.ImmI64:          func(r *wasmfront.Reader) { r.S64() },
	wasmfront.ImmF32:          func(r *wasmfront.Reader) { r.Bytes(4) },
	wasmfront.ImmF64:          func(r *wasmfront.Reader) { r.Bytes(8) },
	wasmfront.ImmRefType:      func(r *wasmfront.Reader) { r.S33() },
	wasmfront.ImmCast:         func(r *wasmfront.Reader) { r.S33() },
	wasmfront.ImmBrOnCast:     func(r *wasmfront.Reader) { r.Byte(); r.U32(); r.S33(); r.S33() },
	wasmfront.ImmField:        skipTwo,
	wasmfront.ImmTypeCount:    skipTwo,
	wasmfront.ImmType2:        skipTwo,
	wasmfront.ImmTypeData:     skipTwo,
	wasmfront.ImmTypeElem:     skipTwo,
	wasmfront.ImmSelect:       skipTypes,
}

func skipIndex(r *wasmfront.Reader) { r.U32() }

func skipTwo(r *wasmfront.Reader) { r.U32(); r.U32() }

func skipMemArg(r *wasmfront.Reader) {
	if r.U32()&wasmfront.WithMemory != 0 {
		r.U32()
	}
	r.U64()
}

func skipBrTable(r *wasmfront.Reader) {
	for n := uint64(r.U32()) + 1; n > 0 && r.Err == nil; n-- {
		r.U32()
	}
}

func skipTypes(r *wasmfront.Reader) {
	for n := r.U32(); n > 0 && r.Err == nil; n-- {
		r.SkipValType()
	}
}
