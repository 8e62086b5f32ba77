package translate

import (
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// maxOpenLoops is how many loops may be open before the rest of the body is
// scanned. A local that is read in a loop has a merge in the headers of all open
// loops that may write it: without the scan that is all of them, to be
// removed when they end. The scan costs little, but most functions need none.
const maxOpenLoops = 8

// scan notes the writes of locals in the part of the body behind the operator that is
// translated, a loop, and where that loop and those behind it end. Code that turns out
// to be unreachable counts. At anything that is malformed the scan ends: what
// is noted until then is right, and the function will be refused.
func (t *Translator) scan() {
	s := &t.ssa
	r := t.check.Reader // a copy
	t.open = append(t.open[:0], 0)
	s.spans = append(s.spans[:0], span{s.now(), later})
	for r.More() {
		t.f.Stop.Poll()
		now := s.body.at(uint32(r.Pos))
		op, local, ok := scanOperator(&r)
		if !ok {
			return
		}
		s.scanned = now
		switch op {
		case wasmfront.OpLocalSet, wasmfront.OpLocalTee:
			if int64(local) < int64(len(t.locals)) {
				s.noteWrite(local, now)
			}
		case wasmfront.OpBlock, wasmfront.OpIf:
			t.open = append(t.open, noLoop)
		case wasmfront.OpLoop:
			t.open = append(t.open, uint32(len(s.spans)))
			s.spans = append(s.spans, span{now, later})
		case wasmfront.OpEnd:
			// Ends of blocks that began before the scan do not matter.
			if n := len(t.open); n > 0 {
				if k := t.open[n-1]; k != noLoop {
					s.spans[k].end = now
				}
				t.open = t.open[:n-1]
			}
		}
	}
}

// scanOperator reads an operator. If its first immediate is a local, a global, a table or a function, it returns that. It reports false if the
// operator does not exist or its immediates are malformed.
func scanOperator(r *wasmfront.Reader) (op wasmfront.Opcode, index uint32, ok bool) {
	op, ok = wasmfront.Opcode(r.Byte()), true
	if wasmfront.IsPrefix(byte(op)) {
		op, ok = wasmfront.PrefixedOpcode(byte(op), r.U32())
	}
	imm := op.Info().Imm
	if imm == wasmfront.ImmLocal || imm == wasmfront.ImmFunc || imm == wasmfront.ImmGlobal || imm == wasmfront.ImmTable {
		index = r.U32()
	} else if skip := skips[imm]; skip != nil {
		skip(r)
	} else {
		ok = false
	}
	return op, index, ok && r.Err == nil
}

// AppendCalls appends the functions that the body of function i calls by call, in order, until it comes to anything that is malformed.
// The body need not be valid: what is returned may be anything then, numbers of no functions, too.
func AppendCalls(dst []uint32, m *wasmfront.Module, i uint32) []uint32 {
	b := bodyScan{r: operatorsOf(m, i)}
	for {
		op, callee := b.next()
		switch op {
		case wasmfront.OpCall:
			dst = append(dst, callee)
		case endOfScan:
			return dst
		}
	}
}

// operatorsOf returns a reader of the body of function i behind the locals.
func operatorsOf(m *wasmfront.Module, i uint32) wasmfront.Reader {
	body := m.Body(i)
	r := wasmfront.Reader{Buf: body.Bytes, End: len(body.Bytes)}
	for n := r.U32(); n > 0 && r.More(); n-- {
		r.U32()
		r.ValType(m.Features)
	}
	return r
}

// bodyScan reads a body, which need not be valid.
type bodyScan struct {
	r    wasmfront.Reader
	seen uint8 // what the operators with short names have done: bits of traits
}

// endOfScan stands for the end of a body, or anything that is malformed.
const endOfScan = ^wasmfront.Opcode(0)

// next reads up to the next operator that may be one of those that matter: call, global.set, those with a prefix, and a few more; with the index
// that scanOperator returns. It passes most operators without a look at what their immediates mean, since all bodies of a module are read so.
func (s *bodyScan) next() (op wasmfront.Opcode, index uint32) {
	b, at, seen := s.r.Buf[:s.r.End], s.r.Pos, uint8(0)
	for at < len(b) {
		t := traits[b[at]]
		n := t & numbers
		if seen |= t; n == many {
			s.seen, s.r.Pos = s.seen|seen, at
			op, index, ok := scanOperator(&s.r)
			if !ok {
				break
			}
			return op, index
		}
		if at++; t&accesses != 0 && at < len(b) && b[at]&wasmfront.WithMemory != 0 {
			n++ // the index of the memory
		}
		for ; n > 0; n-- {
			for at < len(b) && b[at] >= 0x80 {
				at++
			}
			at++
		}
	}
	s.seen, s.r.Pos = s.seen|seen, len(b)
	return endOfScan, 0
}

// The traits of an operator, by its first byte: how many numbers in LEB128 follow and nothing else, or many if next has to look; and what it does.
const (
	numbers      = 3
	many         = numbers
	writesMemory = 4
	callsAny     = 8
	accesses     = 16
)

var traits = func() (t [256]uint8) {
	for b := range t {
		t[b] = traitsOf(byte(b))
	}
	return t
}()

func traitsOf(b byte) uint8 {
	op := wasmfront.Opcode(b)
	if wasmfront.IsPrefix(b) || op == wasmfront.OpCall || op == wasmfront.OpGlobalSet {
		return many
	}
	switch imm := op.Info().Imm; {
	case imm == wasmfront.ImmNone:
		return 0
	case imm == wasmfront.ImmMemArg && strings.Contains(op.Info().Name, "store"):
		return 2 | writesMemory | accesses
	case imm == wasmfront.ImmCallIndirect:
		return 2 | callsAny
	case imm == wasmfront.ImmMemArg:
		return 2 | accesses
	case imm == wasmfront.ImmBlock || imm == wasmfront.ImmLabel || imm == wasmfront.ImmLocal || imm == wasmfront.ImmGlobal || imm == wasmfront.ImmI32 || imm == wasmfront.ImmI64:
		return 1
	}
	return many
}

// noLoop marks a block that is no loop.
const noLoop = ^uint32(0)

// skips read immediates and forget them. ImmLocal has an entry for
// completeness; a form that no operator accepted has is nil.
var skips = [wasmfront.NumImmKinds]func(r *wasmfront.Reader){
	wasmfront.ImmNone:         func(*wasmfront.Reader) {},
	wasmfront.ImmBlock:        func(r *wasmfront.Reader) { r.S33() },
	wasmfront.ImmLabel:        skipIndex,
	wasmfront.ImmBrTable:      skipBrTable,
	wasmfront.ImmFunc:         skipIndex,
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
	wasmfront.ImmRefType:      func(r *wasmfront.Reader) { r.Byte() },
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

func skipTypes(r *wasmfront.Reader) { r.Bytes(int(r.U32())) }
