package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/wasmfront"
)

// This file finds functions whose result, an i32, is never 0. Compilers that unwind by results, as Go's does, have such functions: those that never
// return to what follows the call. It is enough to read their operators: Go's functions return a constant, or what a call has given.
//
// What is said holds whenever a call returns: the calls that the callee returns the results of have returned before.

const (
	// maxPassedOn is how many functions that pass a result on are followed.
	maxPassedOn = 4
	// maxNonzero is how many bytes a body may have: functions that never return are small.
	maxNonzero = 1 << 10
	// fewCalls is how many calls of a function make it worth reading once more.
	fewCalls = 8
)

// answer is what is known of a function.
type answer uint8

const (
	unasked answer = iota
	mayBeZero
	neverZero
)

// declareNonzero tells cm which functions with many calls never return 0.
func (s *Survey) declareNonzero(cm *clif.Module) {
	s.results = make([]answer, len(s.writes))
	for i := range s.results {
		s.stop.Poll()
		if s.Calls[i].All >= fewCalls && s.ask(cm, uint32(i), maxPassedOn) {
			cm.Funcs[i].Nonzero, cm.HasNonzero = true, true
		}
	}
}

// ask reports whether function i never returns 0, as far as that shows if depth functions that it calls are read. While it is read, and if it is no function,
// it may.
func (s *Survey) ask(cm *clif.Module, i uint32, depth int) bool {
	if int64(i) >= int64(len(s.results)) {
		return false
	}
	if s.results[i] == unasked {
		s.results[i] = mayBeZero
		if r := cm.FuncSig(clif.FuncIndex(i)).Results; cm.Funcs[i].Import == nil && len(r) == 1 && r[0] == clif.I32 &&
			endsNonzero(s.m.Body(i).Bytes) && s.returnsNonzero(cm, i, depth) {
			s.results[i] = neverZero
		}
	}
	return s.results[i] == neverZero
}

// endsNonzero reports whether a body ends like one that returns a small constant other than 0, or before its end: nearly all others need not be read again.
func endsNonzero(body []byte) bool {
	if len(body) < 3 || len(body) > maxNonzero {
		return false
	}
	b := body[len(body)-3:]
	switch wasmfront.Opcode(b[1]) {
	case wasmfront.OpUnreachable, wasmfront.OpReturn:
		return wasmfront.Opcode(b[0]) != wasmfront.OpI32Const
	}
	return wasmfront.Opcode(b[0]) == wasmfront.OpI32Const
}

// top is what is known of a value on the operand stack.
type top struct {
	nonzero bool // it is not 0, or the code is unreachable
	called  bool // callee has returned it
	callee  uint32
	above   uint32 // how many values lie above it
}

// returnsNonzero reads the body of function i.
func (s *Survey) returnsNonzero(cm *clif.Module, i uint32, depth int) bool {
	b, nesting, t := s.ops.bodyOf(s.m, i), uint32(0), top{}
	for b.More() {
		s.stop.Poll()
		at := b.Reader
		op, index, ok := b.operator()
		if !ok {
			return false
		}
		at.Byte() // what follows are the immediates
		switch op {
		case wasmfront.OpNop:
		case wasmfront.OpI32Const:
			t = top{nonzero: at.S32() != 0}
		case wasmfront.OpCall:
			t = top{called: true, callee: index}
		case wasmfront.OpLocalGet, wasmfront.OpGlobalGet:
			t.above++
		case wasmfront.OpLocalSet, wasmfront.OpGlobalSet, wasmfront.OpDrop:
			if t.above == 0 {
				t = top{}
			} else {
				t.above--
			}
		case wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpIf:
			nesting, t = nesting+1, top{}
		case wasmfront.OpElse:
			t = top{}
		case wasmfront.OpEnd:
			if nesting == 0 {
				return s.isNonzero(cm, t, depth)
			}
			nesting, t = nesting-1, top{}
		case wasmfront.OpUnreachable:
			t = top{nonzero: true}
		case wasmfront.OpReturn:
			if !s.isNonzero(cm, t, depth) {
				return false
			}
			t = top{nonzero: true}
		case wasmfront.OpBr, wasmfront.OpBrIf, wasmfront.OpBrTable:
			if leaves(&at, op, nesting) {
				return false
			}
			t = top{nonzero: op != wasmfront.OpBrIf}
		default:
			if b.ops.of(op).Has(effect.Control) {
				return false
			}
			t = top{}
		}
	}
	return false
}

// isNonzero reports whether t is on top of the stack, and not 0.
func (s *Survey) isNonzero(cm *clif.Module, t top, depth int) bool {
	return t.above == 0 && (t.nonzero || t.called && depth > 0 && s.ask(cm, t.callee, depth-1))
}

// leaves reports whether a branch op within a number of blocks may leave the function. Its immediates are at r.
func leaves(r *wasmfront.Reader, op wasmfront.Opcode, nesting uint32) bool {
	labels := uint32(1)
	if op == wasmfront.OpBrTable {
		labels = r.U32() + 1
	}
	for ; labels > 0 && r.Err == nil; labels-- {
		if r.U32() >= nesting {
			return true
		}
	}
	return r.Err != nil
}
