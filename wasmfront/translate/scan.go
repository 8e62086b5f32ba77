package translate

import (
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/wasmfront"
)

// maxOpenLoops is how many loops may be open before the rest of the body is
// scanned. A local that is read in a loop has a merge in the headers of all open
// loops that may write it: without the scan that is all of them, to be
// removed when they end. The scan costs little, but most functions need none.
const maxOpenLoops = 8

// scan notes the writes of locals in the part of the body behind the operator that is
// translated, a loop, and where that loop and those behind it end. Code that turns out
// to be unreachable counts. At anything that its reader refuses the scan ends: what
// is noted until then is right, and the function will be refused, since it is malformed or has an operator without a handler.
func (t *Translator) scan() {
	s := &t.ssa
	b := bodyReader{Reader: t.check.Reader, ops: &allOperators}
	t.open = append(t.open[:0], 0)
	s.spans = append(s.spans[:0], span{s.now(), later})
	for b.More() {
		t.f.Stop.Poll()
		now := s.body.at(uint32(b.Pos))
		op, local, ok := b.operator()
		if !ok {
			return
		}
		s.scanned = now
		if b.ops.of(op).Has(effect.WriteLocal) {
			if op.Info().Imm != wasmfront.ImmLocal {
				return
			}
			if int64(local) < int64(len(t.locals)) {
				s.noteWrite(local, now)
			}
		}
		switch imm := op.Info().Imm; {
		case op == wasmfront.OpLoop:
			t.open = append(t.open, uint32(len(s.spans)))
			s.spans = append(s.spans, span{now, later})
		case imm == wasmfront.ImmBlock || imm == wasmfront.ImmTryTable:
			t.open = append(t.open, noLoop)
		case b.ops.of(op).Has(effect.Control) && !keepsNesting(imm):
			return // at an operator that opens blocks in another way
		case op == wasmfront.OpEnd || op == wasmfront.OpDelegate:
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

// keepsNesting reports whether operators of control with such immediates open no blocks.
func keepsNesting(imm wasmfront.ImmKind) bool {
	switch imm {
	case wasmfront.ImmNone, wasmfront.ImmLabel, wasmfront.ImmBrTable, wasmfront.ImmFunc, wasmfront.ImmCallIndirect, wasmfront.ImmType, wasmfront.ImmTag, wasmfront.ImmBrOnCast:
		return true
	}
	return false
}

// noLoop marks a block that is no loop.
const noLoop = ^uint32(0)
