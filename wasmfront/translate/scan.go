package translate

import (
	"github.com/waot-project/waot/internal/stop"
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

// scanOperator reads an operator. If its first immediate is a local or a function, it returns that. It reports false if the
// operator does not exist or its immediates are malformed.
func scanOperator(r *wasmfront.Reader) (op wasmfront.Opcode, index uint32, ok bool) {
	op, ok = wasmfront.Opcode(r.Byte()), true
	if wasmfront.IsPrefix(byte(op)) {
		op, ok = wasmfront.PrefixedOpcode(byte(op), r.U32())
	}
	imm := op.Info().Imm
	if imm == wasmfront.ImmLocal || imm == wasmfront.ImmFunc {
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
	r := operatorsOf(m, i)
	for {
		callee, ok := nextCall(&r)
		if !ok {
			return dst
		}
		dst = append(dst, callee)
	}
}

// CallsOf says who calls a function by call.
type CallsOf struct {
	All, Cold uint32 // how many calls there are, and how many of them are followed by unreachable
	Caller    uint32 // of the last one
}

// CountCalls returns the calls of each function. As for AppendCalls, bodies need not be valid.
func CountCalls(m *wasmfront.Module, end *stop.Flag) []CallsOf {
	calls := make([]CallsOf, len(m.Funcs))
	var r wasmfront.Reader
	for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
		end.Poll()
		r = operatorsOf(m, i)
		countCalls(calls, &r, i)
	}
	return calls
}

// countCalls adds the calls that r reads, of function i.
func countCalls(calls []CallsOf, r *wasmfront.Reader, i uint32) {
	for {
		callee, ok := nextCall(r)
		if !ok {
			return
		}
		if int64(callee) >= int64(len(calls)) {
			continue
		}
		c := &calls[callee]
		c.All++
		c.Caller = i
		if r.More() && wasmfront.Opcode(r.Buf[r.Pos]) == wasmfront.OpUnreachable {
			c.Cold++
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

// nextCall reads up to the next call and returns the function that is called; ok is false at the end, or at anything that is
// malformed. It passes most operators without a look at what their immediates mean, since all bodies of a module are read so.
func nextCall(r *wasmfront.Reader) (callee uint32, ok bool) {
	b, at := r.Buf[:r.End], r.Pos
	for at < len(b) {
		n := numbers[b[at]]
		if n == many {
			r.Pos = at
			op, index, ok := scanOperator(r)
			if !ok || op == wasmfront.OpCall {
				return index, ok
			}
			at = r.Pos
			continue
		}
		for at++; n > 0; n-- {
			for at < len(b) && b[at] >= 0x80 {
				at++
			}
			at++
		}
	}
	return 0, false
}

// numbers is, by the first byte of an operator, how many numbers in LEB128 follow and nothing else, or many if nextCall has to look.
var numbers = func() (n [256]uint8) {
	for b := range n {
		n[b] = many
		op := wasmfront.Opcode(b)
		if wasmfront.IsPrefix(byte(b)) || op == wasmfront.OpCall {
			continue
		}
		switch op.Info().Imm {
		case wasmfront.ImmNone:
			n[b] = 0
		case wasmfront.ImmBlock, wasmfront.ImmLabel, wasmfront.ImmLocal, wasmfront.ImmGlobal, wasmfront.ImmI32, wasmfront.ImmI64:
			n[b] = 1
		case wasmfront.ImmMemArg, wasmfront.ImmCallIndirect:
			n[b] = 2
		}
	}
	return n
}()

const many = 0xff

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
	wasmfront.ImmMemArg:       func(r *wasmfront.Reader) { r.U32(); r.U64() },
	wasmfront.ImmMemArgLane:   func(r *wasmfront.Reader) { r.U32(); r.U64(); r.Byte() },
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

func skipBrTable(r *wasmfront.Reader) {
	for n := uint64(r.U32()) + 1; n > 0 && r.Err == nil; n-- {
		r.U32()
	}
}

func skipTypes(r *wasmfront.Reader) { r.Bytes(int(r.U32())) }
