package translate

import (
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/wasmfront"
)

// encoded returns op with immediates of zeros.
func encoded(op wasmfront.Opcode) []byte {
	var b []byte
	if prefix, n := op.Encoding(); prefix == 0 {
		b = append(b, byte(n))
	} else {
		b = append(b, prefix, byte(n&0x7F)|0x80, byte(n>>7))
	}
	r := wasmfront.Reader{Buf: make([]byte, 32), End: 32}
	skips[op.Info().Imm](&r)
	return append(b, r.Buf[:r.Pos]...)
}

// oneBody is a module with a function of these operators, which need not be valid, two globals, two tables and a type.
func oneBody(operators ...byte) (*wasmfront.Module, *clif.Module) {
	wasm := []byte{0, 'a', 's', 'm', 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7F, 3, 2, 1, 0, 4, 7, 2, 0x70, 0, 1, 0x70, 0, 1,
		6, 11, 2, 0x7F, 1, 0x41, 0, 0x0B, 0x7F, 1, 0x41, 0, 0x0B}
	body := append(append([]byte{0}, operators...), 0x0B)
	wasm = append(wasm, 10, byte(len(body)+2), 1, byte(len(body)))
	m, err := wasmfront.Decode(append(wasm, body...), wasmfront.DefaultFeatures)
	if err != nil {
		panic(err)
	}
	return m, Module(m, m.DecodeNames())
}

// TestUnknownOperators: each operator is read as long as its effects are known. Where they are not, every reader of bodies refuses it: the function may write everything,
// tables may grow, and results may be 0.
func TestUnknownOperators(t *testing.T) {
	read := 0
	for _, op := range wasmfront.Opcodes() {
		if op.Info().Effects == effect.Unknown {
			if b := (bodyReader{Reader: wasmfront.Reader{Buf: []byte{byte(op), 0, 0, 0}, End: 4}, ops: &allOperators}); op < 0x100 && !refuses(&b) {
				t.Errorf("%v is not refused", op)
			}
			continue
		}
		read++
		if info := op.Info(); info.Effects.Has(effect.Control) && info.Imm != wasmfront.ImmBlock && info.Imm != wasmfront.ImmTryTable && !keepsNesting(info.Imm) {
			t.Errorf("%v: the scan of loops ends there", op)
		}
		without := operatorsWith(func(o wasmfront.Opcode) effect.Set {
			if o == op {
				return effect.Unknown
			}
			return o.Info().Effects
		})
		// The function returns what an operator behind op says is not 0.
		m, cm := oneBody(slices.Concat(encoded(op), []byte{0x41, 1})...)
		for _, ops := range []*operators{&allOperators, &without} {
			unknown := ops == &without
			b := ops.bodyOf(m, 0)
			if got := refuses(&b); got != unknown {
				t.Fatalf("%v: refused %v, want %v", op, got, unknown)
			}
			if got := bodyGrowsTables(cm, m, ops, 0); got != (unknown || op == wasmfront.OpTableGrow) {
				t.Errorf("%v: tables grow: %v", op, got)
			}
			s := takeSurvey(m, cm, ops, 1, nil)
			if s.refused != unknown || unknown && s.writes[0] != clif.AllState {
				t.Errorf("%v: refused %v, want %v; writes %b", op, s.refused, unknown, s.writes[0])
			}
			s.results = make([]answer, 1)
			if unknown && s.returnsNonzero(cm, 0, maxPassedOn) {
				t.Errorf("%v: the result is not 0", op)
			}
			cm.Globals[1].Fixed, cm.Tables[1].Entries = false, nil
			s.Declare(cm)
			fixed := cm.Globals[1].Fixed && cm.Tables[1].Entries != nil && cm.Funcs[0].Keeps != 0
			if fixed && unknown || !fixed && !unknown && op == wasmfront.OpNop {
				t.Errorf("%v: a global and a table are fixed: %v", op, fixed)
			}
		}
	}
	if read < 400 {
		t.Errorf("only %d operators are known", read)
	}
}

// refuses reports whether b refuses an operator, both when it passes those that do not matter and when it reads all.
func refuses(b *bodyReader) bool {
	all := *b
	for op, _ := b.next(); op != endOfBody; op, _ = b.next() {
	}
	for all.More() {
		if _, _, ok := all.operator(); !ok {
			break
		}
	}
	if b.refused != all.refused {
		panic("next and operator refuse different operators")
	}
	return b.refused
}

// TestSeen: the effects of a body are those of its operators, whether next returns or passes them.
func TestSeen(t *testing.T) {
	for _, op := range wasmfront.Opcodes() {
		e := op.Info().Effects
		if e == effect.Unknown || op == wasmfront.OpEnd {
			continue
		}
		m, _ := oneBody(encoded(op)...)
		b := allOperators.bodyOf(m, 0)
		seen := effect.Set(0)
		for op, _ := b.next(); op != endOfBody; op, _ = b.next() {
			seen |= b.ops.of(op)
		}
		if seen |= b.seen; seen&^effect.Control != e&^effect.Control || b.refused { // end is one of control
			t.Errorf("%v: the effects are %b, want %b", op, seen, e)
		}
	}
}

// TestOtherImmediates: a body is refused if an operator writes a global, or a local, that its immediates do not begin with.
func TestOtherImmediates(t *testing.T) {
	for _, e := range []effect.Set{effect.WriteGlobal, effect.WriteGlobal | effect.WriteTable} {
		ops := operatorsWith(func(o wasmfront.Opcode) effect.Set {
			if o == wasmfront.OpMemoryFill {
				return e
			}
			return o.Info().Effects
		})
		m, cm := oneBody(encoded(wasmfront.OpMemoryFill)...)
		s := takeSurvey(m, cm, &ops, 1, nil)
		s.Declare(cm)
		if !s.refused || s.writes[0] != clif.AllState || cm.Globals[0].Fixed || cm.Globals[1].Fixed {
			t.Errorf("effects %b: refused %v, writes %b", e, s.refused, s.writes[0])
		}
	}
}

// TestConstOps: what is decoded as an operator of a constant expression without immediates is translated.
func TestConstOps(t *testing.T) {
	decoded, gc := 0, 0
	for _, op := range wasmfront.Opcodes() {
		if op.Info().Imm != wasmfront.ImmNone || op == wasmfront.OpEnd {
			continue
		}
		code := encoded(op)
		section := slices.Concat([]byte{1, 0x7F, 0, 0x41, 1, 0x41, 1}, code, []byte{0x0B})
		wasm := slices.Concat([]byte{0, 'a', 's', 'm', 1, 0, 0, 0, 6, byte(len(section))}, section)
		if _, err := wasmfront.Decode(wasm, wasmfront.DecodableFeatures); err != nil {
			continue
		}
		if isOfGC(op) {
			gc++
			continue
		}
		decoded++
		if _, ok := constOps[op]; !ok {
			t.Errorf("%v is not translated", op)
		}
	}
	if decoded != len(constOps) || gc != 3 {
		t.Errorf("%d operators are decoded and %d of garbage collection, %d translated", decoded, gc, len(constOps))
	}
}
