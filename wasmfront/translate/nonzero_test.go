package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/wat"
)

// manyCalls is how many calls of a function are enough.
const manyCalls = 8

// often calls functions often.
func often(funcs ...int) (s string) {
	for _, i := range funcs {
		s += strings.Repeat(fmt.Sprintf("(drop (call %d))", i), manyCalls)
	}
	return s
}

// TestSurveyNonzero: whether function 0, which function 1 calls, never returns 0.
func TestSurveyNonzero(t *testing.T) {
	const (
		others = ` (func $one (result i32) (i32.const 1)) (func $zero (result i32) (i32.const 0)) (func $v) (global $g (mut i32) (i32.const 0)) (memory 1)
			(type $t (func (result i32))) (table 1 funcref)`
		passes = `(call $one) (local.get 1) (global.set $g) (global.get $g) (local.set 0)`
	)
	for _, c := range []struct {
		body string
		want bool
	}{
		{`(i32.const 1)`, true},
		{`(i32.const -64)`, true},
		{`(i32.const 0)`, false},
		{`(i32.const 0) return unreachable`, false},
		{`(i32.const 5) return unreachable`, true},
		{`unreachable`, true},
		{`(i32.const 0) unreachable`, true},
		{`(i32.const 0) return (i32.const 1)`, false},
		{`(if (local.get 0) (then (return (i32.const 0)))) (i32.const 1)`, false},
		{`(if (local.get 0) (then (return (i32.const 2)))) (i32.const 1)`, true},
		{`(if (local.get 0) (then (return (local.get 0)))) (i32.const 1)`, false},
		{`(if (local.get 0) (then unreachable) (else (return (i32.const 0)))) (i32.const 1)`, false},
		{`(if (local.get 0) (then unreachable) (else nop)) (i32.const 1)`, true},
		{`(i32.const 7) drop (local.get 0) return (i32.const 1)`, false},
		{`(i32.const 7) (local.set 0) (local.get 0) return unreachable`, false},
		{`(i32.add (i32.const 1) (i32.const -1)) return (i32.const 1)`, false},
		{`(i32.eqz (i32.const 1)) return (i32.const 1)`, false},
		{`(i32.const 3) (local.tee 0) return (i32.const 1)`, false}, // not looked at
		// Branches that leave the function.
		{`(br 0 (i32.const 0)) (i32.const 1)`, false},
		{`(br_if 0 (i32.const 0) (local.get 0)) drop (i32.const 1)`, false},
		{`(block (br_if 0 (local.get 0))) (i32.const 1)`, true},
		{`(block (br 0)) (i32.const 1)`, true},
		{`(block (i32.const 0) (br_if 0 (local.get 0)) return) (i32.const 1)`, false},
		{`(block (i32.const 0) (br 0)) (i32.const 1)`, true},
		{`(loop (br_if 0 (local.get 0))) (i32.const 1)`, true},
		{`(loop (br 0)) unreachable`, true},
		{`(block (block (br_table 0 1 (local.get 0)))) (i32.const 1)`, true},
		{`(block (br_table 0 0 0 (local.get 0))) (i32.const 1)`, true},
		{`(block (result i32) (i32.const 0) (br_table 0 1 (local.get 0))) drop (i32.const 1)`, false},
		{`(block (result i32) (i32.const 0) (br_table 1 0 (local.get 0))) drop (i32.const 1)`, false},
		{`(block (block (br 1)) unreachable) (i32.const 1)`, true},
		{`(block (result i32) (br 0 (i32.const 0))) return unreachable`, false},
		{`(block (result i32) (br_if 0 (i32.const 0) (local.get 0)) drop unreachable) return (i32.const 1)`, false},
		{`(block (result i32) (i32.const 0) (br_if 0 (i32.const 1)) drop (i32.const 1)) return (i32.const 1)`, false},
		// Results that are passed on.
		{`(call $one) return unreachable`, true},
		{`(call $zero) return unreachable`, false},
		{passes + ` return unreachable`, true},
		{`(call $zero) (global.get $g) (local.set 0) return unreachable`, false},
		{`(call $one) (global.get $g) return unreachable`, false},
		{`(call $one) drop (global.get $g) return unreachable`, false},
		{`(call $v) (global.get $g) return unreachable`, false},
		{`(call_indirect (type $t) (i32.const 0)) return unreachable`, false},
		{`(call_indirect (type $t) (i32.const 0)) drop (i32.const 1)`, true},
		{`(call 0 (i32.const 0)) return unreachable`, false}, // it does not return at all
		{`(call $one) (i32.load) return unreachable`, false},
	} {
		cm := surveyed(t, `(func (param i32) (result i32) (local i32) `+c.body+`) (func (i32.const 0) `+strings.Repeat("(call 0)", manyCalls)+` drop)`+others)
		if got := cm.Funcs[0].Nonzero; got != c.want {
			t.Errorf("%s: %v", c.body, got)
		}
	}
}

// TestSurveyNonzeroKinds: functions of other types, and such as nobody calls: only function 4 is said never to return 0.
func TestSurveyNonzeroKinds(t *testing.T) {
	cm := surveyed(t, `(import "m" "f" (func (result i32))) (func (result i64) (i64.const 1)) (func (result i32 i32) (i32.const 1) (i32.const 1)) (func unreachable)
		(func (result i32) (i32.const 1)) (func (result i32) (i32.const 1)) (func `+
		often(0, 1, 4)+strings.Repeat("(drop (drop (call 2))) (call 3)", manyCalls)+`)`)
	for i := range cm.Funcs {
		if got := cm.Funcs[i].Nonzero; got != (i == 4) {
			t.Errorf("function %d: %v", i, got)
		}
	}
}

// TestSurveyNonzeroChain: results that are passed on from function to function, as far as they are followed, and in circles.
func TestSurveyNonzeroChain(t *testing.T) {
	fields := `(func (result i32) (i32.const 1))`
	for i := range 8 {
		fields = fmt.Sprintf(`(func (result i32) (call %d) return unreachable)`, 7-i+1) + fields
	}
	cm := surveyed(t, fields+`(func (result i32) (call 10) return unreachable) (func (result i32) (call 9) return unreachable) (func `+often(0, 7, 8, 9, 10)+`)`)
	for i := range cm.Funcs {
		t.Logf("function %d: %v", i, cm.Funcs[i].Nonzero)
	}
	if cm.Funcs[0].Nonzero || !cm.Funcs[8].Nonzero || !cm.Funcs[7].Nonzero || cm.Funcs[9].Nonzero || cm.Funcs[10].Nonzero {
		t.Error("wrong")
	}
}

// TestSurveyNonzeroOften: functions with few calls do not count.
func TestSurveyNonzeroOften(t *testing.T) {
	cm := surveyed(t, `(func (result i32) (i32.const 1)) (func (result i32) unreachable) (func (result i32) (i32.const 0)) (func `+
		often(0)+`) (func `+strings.Repeat(often(2), 9)+strings.Repeat("(drop (call 1))", manyCalls-1)+`)`)
	if !cm.HasNonzero || !cm.Funcs[0].Nonzero || cm.Funcs[1].Nonzero || cm.Funcs[2].Nonzero {
		t.Error(cm.HasNonzero, cm.Funcs)
	}
	if cm := surveyed(t, `(func (result i32) (i32.const 1)) (func (drop (call 0)))`); cm.HasNonzero {
		t.Error("one call is many")
	}
}

// nonzeroGen makes random functions that return constants, arguments and what calls give, from all places.
type nonzeroGen struct {
	r     *rand.Rand
	funcs int // how many there are
}

// value is operators that leave an i32. Label 0 of depth is the block around.
func (g *nonzeroGen) value(nesting, left int) string {
	switch n := g.r.IntN(12); {
	case n < 5:
		return fmt.Sprintf(" (i32.const %d)", []int{0, 1, 1, 2, -1, 64, 1 << 20}[g.r.IntN(7)])
	case n < 6:
		return fmt.Sprintf(" (local.get %d)", g.r.IntN(2))
	case n < 8 && left > 0:
		return fmt.Sprintf(" (call %d (local.get 0))", g.r.IntN(g.funcs)) + g.glue()
	case n < 9:
		return g.value(nesting, left-1) + g.glue()
	case n < 10 && left > 0:
		return " (block (result i32)" + g.code(nesting+1, left-1) + g.value(nesting+1, left-1) + ")"
	case n < 11 && left > 0:
		return " (if (result i32) (local.get 0) (then" + g.code(nesting+1, left-1) + g.value(nesting+1, left-1) + ") (else" + g.value(nesting+1, left-1) + "))"
	}
	return " (i32.const 3)"
}

// glue leaves the stack as it is, and what is above.
func (g *nonzeroGen) glue() string {
	return []string{"", " (global.get $g) (local.set 1)", " nop", " (local.get 0) (local.get 1) drop (global.set $g)", " (local.get 0) i32.mul", " i32.eqz"}[g.r.IntN(6)]
}

// code is operators that leave nothing.
func (g *nonzeroGen) code(nesting, left int) (s string) {
	for range g.r.IntN(3) {
		switch n := g.r.IntN(11); {
		case n == 10:
			s += " (block" + g.value(nesting+1, left-1) + " (br_if 0 (local.get 0)) return)"
		case n < 2:
			s += g.value(nesting, left-1) + " (local.set 1)"
		case n < 4 && left > 0:
			s += " (if (local.get 0) (then" + g.code(nesting+1, left-1) + ") (else" + g.code(nesting+1, left-1) + "))"
		case n < 5 && left > 0:
			s += " (block" + g.code(nesting+1, left-1) + ")"
		case n < 6:
			s += fmt.Sprintf(" %s (br_if %d (local.get 0)) drop", g.value(nesting, left-1), nesting)
		case n < 7:
			s += fmt.Sprintf(" %s (br %d)", g.value(nesting, left-1), nesting)
		case n < 9:
			s += " (if (local.get 0) (then" + g.value(nesting+1, left-1) + " return))"
		default:
			s += g.value(nesting, left-1) + " return"
		}
	}
	return s
}

// TestSurveyNonzeroRandom: no function that is said never to return 0 does.
func TestSurveyNonzeroRandom(t *testing.T) {
	nonzero, results := 0, 0
	for seed := range testenv.Cases[uint64](400, 2000, 20000) {
		g := nonzeroGen{r: rand.New(rand.NewPCG(seed, 5)), funcs: 8}
		fields := "(global $g (mut i32) (i32.const 0))"
		for i := range g.funcs {
			fields += fmt.Sprintf("(func (export \"f%d\") (param i32) (result i32) (local i32)%s%s)", i, g.code(0, 3), g.value(0, 3))
		}
		fields += "(func (i32.const 0) " + strings.Repeat("(call 0) (call 1) (call 2) (call 3) (call 4) (call 5) (call 6) (call 7)", manyCalls) + " drop)"
		cm := surveyed(t, fields)
		wasm, err := wat.Assemble([]byte("(module " + fields + ")"))
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		inst, err := runtime.Instantiate(ctx, wasm.Wasm)
		if err != nil {
			t.Fatal(fields, err)
		}
		for i := range g.funcs {
			if !cm.Funcs[i].Nonzero {
				continue
			}
			nonzero++
			for x := range uint64(3) {
				r, err := inst.ExportedFunction(fmt.Sprintf("f%d", i)).Call(ctx, x)
				if err != nil {
					continue // the stack is full
				}
				if results++; r[0] == 0 {
					t.Fatalf("seed %d: f%d(%d) is 0\n%s", seed, i, x, strings.ReplaceAll(fields, "(func", "\n(func"))
				}
			}
		}
		if err := runtime.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d functions never return 0, by %d results", nonzero, results)
	if nonzero == 0 || results == 0 {
		t.Error("none is said not to return 0")
	}
}
