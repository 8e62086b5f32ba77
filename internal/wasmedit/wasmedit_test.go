package wasmedit_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestRoundTrip: a module that was taken apart and put together is the same, apart from how it is
// written, which then stays as it is.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(60) {
		p := wasmgen.Generate(seed, wasmgen.Config{NoTraps: seed%2 == 0, RawNaNs: seed%3 == 0, Vectors: seed%4 == 1, Relaxed: seed%4 == 1, Tails: seed%5 == 1,
			Exceptions: seed%5 > 2, Legacy: seed%5 == 4, GC: seed%6 == 2, TypedRefs: seed%7 == 2, TypedAll: true})
		for _, b := range [][]byte{p.Wasm, p.Env} {
			m, err := wasmedit.Decode(b, wasmfront.DecodableFeatures)
			if err != nil {
				t.Fatal(err)
			}
			once, err := m.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := wasmedit.Decode(once, wasmfront.DecodableFeatures)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if d := cmp.Diff(m, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(wasmedit.Module{})); d != "" {
				t.Fatalf("seed %d: -before +after\n%s", seed, d)
			}
			if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("seed %d: written differently, or %v", seed, err)
			}
		}
	}
}

// TestExceptions: modules with exceptions of both kinds stay what they are, but for a tag that is dead.
func TestExceptions(t *testing.T) {
	const dead, rest = `(import "a" "b" (tag (param f32)))`, `(import "a" "c" (tag $i (param i32 exnref))) (memory 0) (tag $e (param i64)) (global exnref (ref.null noexn)) (export "e" (tag $e))
		(func (param exnref) (result i64)
			(block $out (result i64)
				(block $ref (result i64 exnref)
					(try_table (catch_ref $e $ref) (catch $e $out) (throw $i (i32.const 1) (local.get 0)))
					(throw_ref (local.get 0)))
				(drop) (br $out))
			(try $t (param i64) (result i64)
				(do (try (param i64) (do drop) (delegate $t)) (i64.const 1))
				(catch $i (drop) (drop) (rethrow $t))
				(catch $e)
				(catch_all (rethrow 0))))`
	all, want := decoded(t, dead+rest), printed(t, decoded(t, rest))
	for range 2 {
		if len(all.Tags) != 3 || !strings.Contains(printed(t, all), `(tag (;2;) `) {
			t.Errorf("%d tags", len(all.Tags))
		}
		all = again(t, all)
	}
	all.Tags[0].Dead = true
	if got := printed(t, again(t, all)); got != want {
		t.Errorf("without a tag: %s", cmp.Diff(want, got))
	}
	all.Tags[1].Dead = true
	if _, err := all.Encode(); err == nil {
		t.Error("a tag that is thrown is not there, and nothing is said")
	}
}

func decoded(t *testing.T, text string) *wasmedit.Module {
	t.Helper()
	b, err := wat.Assemble([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmedit.Decode(b.Wasm, wasmfront.DecodableFeatures)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func encoded(t *testing.T, m *wasmedit.Module) []byte {
	t.Helper()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// again decodes what m is encoded as.
func again(t *testing.T, m *wasmedit.Module) *wasmedit.Module {
	t.Helper()
	m, err := wasmedit.Decode(encoded(t, m), wasmfront.DecodableFeatures)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func printed(t *testing.T, m *wasmedit.Module) string {
	t.Helper()
	text, err := printer.String(encoded(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDead: what is dead is left out and the rest is renumbered; what uses it is an error.
func TestDead(t *testing.T) {
	p := wasmgen.Generate(1, wasmgen.Config{Funcs: 4})
	m, err := wasmedit.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	m.Funcs[1].Dead = true
	if _, err := m.Encode(); err == nil {
		t.Error("an exported function is not there, and nothing is said")
	}
	for i := range m.Exports {
		m.Exports[i].Dead = m.Exports[i].Name != "reset"
	}
	for i := range m.Elems {
		m.Elems[i].Dead = true
	}
	for i := range m.Data {
		m.Data[i].Dead = true
	}
	last := len(m.Funcs) - 1
	for i := range m.Funcs {
		m.Funcs[i].Dead = i != last
	}
	for i := range m.Globals {
		m.Globals[i].Dead = i != 2 // the fuel, which reset refills
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	small, err := wasmedit.Decode(b, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if len(small.Funcs) != 1 || len(small.Globals) != 1 || len(small.Exports) != 1 || small.Exports[0].Index != 0 {
		t.Errorf("left: %d functions, %d globals, %d exports", len(small.Funcs), len(small.Globals), len(small.Exports))
	}
}

// TestCollected: modules with structures and arrays stay what they are, but for segments and a function that are dead: what names those behind them follows. Types that are written the same keep apart.
func TestCollected(t *testing.T) {
	const rest = `(type $f (sub (func (result i32)))) (type $g (sub (func (result i32)))) (type $h (sub $f (func (result i32))))
		(rec (type $s (sub (struct (field (ref null $a)) (field (mut i8))))) (type $a (array (mut (ref null $s)))))
		(type $b (sub final $s (struct (field (ref null $a)) (field (mut i8)) (field v128)))) (type $w (array (mut i16)))
		(table $t 2 (ref null $f)) (global (ref $s) (struct.new $s (array.new_fixed $a 2 (ref.null $s) (ref.null none)) (i32.const 7))) (global i31ref (ref.i31 (i32.const 3)))
		(elem $e (ref null $s) (item (struct.new_default $b))) (elem declare func $i) (data $d "abcd")
		(func $i (type $g) (i32.const 1)) (func $j (type $h) (call_indirect $t (type $h) (i32.const 0)))
		(func (param anyref) (result (ref null $s))
			(drop (array.new_data $w $d (i32.const 0) (i32.const 2))) (drop (array.new_elem $a $e (i32.const 0) (i32.const 1)))
			(array.init_data $w $d (array.new_default $w (i32.const 9)) (i32.const 0) (i32.const 0) (i32.const 2))
			(array.init_elem $a $e (array.new_default $a (i32.const 9)) (i32.const 0) (i32.const 0) (i32.const 1))
			(drop (call_ref $g (ref.func $i)))
			(drop (block $l (result anyref) (drop (br_on_cast $l anyref (ref null $b) (local.get 0))) (drop (br_on_cast_fail $l anyref (ref $b) (local.get 0))) (ref.null any)))
			(drop (ref.eq (ref.cast eqref (local.get 0)) (ref.null eq)))
			(ref.cast (ref null $s) (local.get 0)))`
	all := decoded(t, `(module (func (param anyref) (result (ref null $s)) (ref.null $s)) (elem anyref (item (ref.null any))) (data "dead")`+rest+")")
	alone, err := wat.Assemble([]byte("(module " + rest + ")"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := printer.String(withoutNames(alone.Wasm))
	if err != nil {
		t.Fatal(err)
	}
	all = again(t, all)
	all.Elems[0].Dead, all.Data[0].Dead, all.Funcs[0].Dead = true, true, true
	if got := printed(t, again(t, all)); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// withoutNames returns a module without its custom sections.
func withoutNames(b []byte) (out []byte) {
	for out, b = append(out, b[:8]...), b[8:]; len(b) > 0; {
		size, n := binary.Uvarint(b[1:])
		end := 1 + n + int(size)
		if b[0] != 0 {
			out = append(out, b[:end]...)
		}
		b = b[end:]
	}
	return out
}
