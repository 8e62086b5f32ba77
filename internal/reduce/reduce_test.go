package reduce_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/reduce"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// uses reports whether a module has an operator.
func uses(t *testing.T, b []byte, want wasmfront.Opcode) bool {
	t.Helper()
	m, err := validate.All(b, validate.Config{})
	if err != nil {
		t.Fatalf("the predicate gets what is not valid: %v", err)
	}
	var v validate.Func
	var op wasmfront.Operator
	for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
		for v.Begin(m, i); v.Next(&op); {
			if op.Op == want {
				return true
			}
		}
	}
	return false
}

// TestOperator reduces modules to those that have an operator: little more than that is left.
func TestOperator(t *testing.T) {
	tries, n := 0, 0
	for i, op := range []wasmfront.Opcode{wasmfront.OpI32DivS, wasmfront.OpBrTable, wasmfront.OpCallIndirect, wasmfront.OpMemoryInit, wasmfront.OpTableInit,
		wasmfront.OpF64Sqrt, wasmfront.OpI64Store32, wasmfront.OpRefFunc, wasmfront.OpLoop, wasmfront.OpMemoryGrow, wasmfront.OpReturnCall, wasmfront.OpReturnCallIndirect,
		wasmfront.OpStructGet, wasmfront.OpStructSet, wasmfront.OpArrayNewFixed, wasmfront.OpArrayCopy, wasmfront.OpArrayNewData, wasmfront.OpRefCast, wasmfront.OpBrOnCast, wasmfront.OpExternConvertAny} {
		p := programWith(t, op, uint64(i))
		n++
		small, stats, err := reduce.Module(p.Wasm, reduce.Options{}, func(b []byte) bool { return uses(t, b, op) })
		if err != nil {
			t.Fatal(err)
		}
		tries += stats.Tries
		text, err := printer.String(small)
		if err != nil {
			t.Fatal(err)
		}
		if !uses(t, small, op) || !strings.Contains(text, op.String()) {
			t.Errorf("%v is lost:\n%s", op, text)
		}
		if strings.Contains(text, "(import ") {
			t.Errorf("%v: it still imports:\n%s", op, text)
		}
		most := 100
		if op.Info().Feature.Has(wasmfront.FeatureGC) {
			most = 250 // with types that are used, and those before them of their recursion groups
		}
		if len(small) > most || stats.Exhausted {
			t.Errorf("%v: %d bytes of %d are left after %d tries:\n%s", op, len(small), len(p.Wasm), stats.Tries, text)
		}
	}
	t.Logf("%d modules, %d tries each", n, tries/n)
}

// programWith returns the first program from a seed on that uses an operator.
func programWith(t *testing.T, op wasmfront.Opcode, seed uint64) *wasmgen.Program {
	t.Helper()
	for k := range uint64(50) {
		if p := wasmgen.Generate(seed+k, wasmgen.Config{Funcs: 4, Size: 150, Tails: op.Info().Feature.Has(wasmfront.FeatureTailCall), GC: op.Info().Feature.Has(wasmfront.FeatureGC)}); uses(t, p.Wasm, op) {
			return p
		}
	}
	t.Fatalf("no program has %v", op)
	return nil
}

// divides runs the calls of a program, and reports whether one traps for a division by zero. Modules that do not end are not
// what is looked for.
func divides(t *testing.T, p *wasmgen.Program, b []byte) bool {
	t.Helper()
	if _, err := validate.All(b, validate.Config{}); err != nil {
		t.Fatalf("the predicate gets what is not valid: %v", err)
	}
	s, err := (&interpengine.Engine{Options: interp.Options{MaxSteps: 100_000, MaxDepth: 200}}).NewStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	instance := func(b []byte, imports func(string, string) (spectest.Extern, bool)) spectest.Instance {
		m, err := s.Compile(b)
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Instantiate(m, imports)
		if err != nil {
			return nil
		}
		return i
	}
	env := instance(p.Env, nil)
	i := instance(b, func(_, name string) (spectest.Extern, bool) { return env.Export(name) })
	if i == nil {
		return false
	}
	found := false
	for k := range p.Calls {
		for _, c := range []wasmgen.Call{{Export: "reset"}, p.Calls[k]} {
			if sig, ok := i.FuncType(c.Export); !ok || len(sig.Params) != len(c.Args) {
				continue
			}
			var trap spectest.Trapper
			_, err := i.Invoke(c.Export, c.Args)
			switch {
			case errors.As(err, &trap):
				found = found || trap.TrapCode() == abi.TrapIntegerDivideByZero
			case err != nil:
				return false
			}
		}
	}
	return found
}

// TestTrap reduces modules that trap for a division by zero, and does so alike each time.
func TestTrap(t *testing.T) {
	n, before, after, tries := 0, 0, 0, 0
	for seed := uint64(0); n < 4; seed++ {
		p := wasmgen.Generate(seed, wasmgen.Config{Funcs: 6, Size: 300})
		if len(p.Wasm) < 5000 || !divides(t, p, p.Wasm) {
			continue
		}
		n++
		shows := func(b []byte) bool { return divides(t, p, b) }
		small, stats, err := reduce.Module(p.Wasm, reduce.Options{}, shows)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := printer.String(small)
		if !divides(t, p, small) || len(small) > 120 || stats.Exhausted {
			t.Errorf("seed %d: %d bytes of %d, %d tries:\n%s", seed, len(small), len(p.Wasm), stats.Tries, text)
		}
		before, after, tries = before+len(p.Wasm), after+len(small), tries+stats.Tries
		if n > 1 {
			continue
		}
		t.Logf("from %d bytes:\n%s", len(p.Wasm), text)
		if again, stats2, err := reduce.Module(p.Wasm, reduce.Options{}, shows); err != nil || !bytes.Equal(small, again) || stats != stats2 {
			t.Errorf("seed %d: another time %d bytes after %d tries, %v", seed, len(again), stats2.Tries, err)
		}
		if _, few, err := reduce.Module(p.Wasm, reduce.Options{MaxTries: 10}, shows); err != nil || few.Tries != 10 || !few.Exhausted {
			t.Errorf("a bound of 10 tries: %+v, %v", few, err)
		}
	}
	t.Logf("%d modules: %d bytes before, %d after, %d tries each", n, before/n, after/n, tries/n)
}

// TestExceptions: of a module with exceptions of both kinds, little is left but an operator that is looked for, and what it needs.
func TestExceptions(t *testing.T) {
	const text = `(import "a" "b" (tag $i (param i32))) (tag $e) (tag $never (param i64)) (global $g (mut exnref) (ref.null exn))
		(func $f (param i32) (result i32)
			(block $out (result i32)
				(block $ref (result i32 exnref)
					(try_table (result i32) (catch_ref $i $ref) (catch $i $out)
						(if (local.get 0) (then (throw $i (i32.add (local.get 0) (i32.const 1)))))
						(i32.mul (local.get 0) (i32.const 3)))
					(return))
				(global.set $g)
				(drop (i32.add (i32.const 1)))
				(throw_ref (global.get $g))))
		(func (export "g") (param i32) (result i32)
			(try $t (result i32)
				(do (try (do (drop (call $f (local.get 0)))) (delegate $t)) (i32.const 2))
				(catch $i (drop (i32.add (local.get 0))) (rethrow $t))
				(catch $e (block (try (do) (catch_all (rethrow 2)))) (i32.const 5))
				(catch_all (drop (i32.const 1)) (rethrow 0))))`
	m, err := wat.Assemble([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range []wasmfront.Opcode{wasmfront.OpThrow, wasmfront.OpThrowRef, wasmfront.OpTryTable, wasmfront.OpTry, wasmfront.OpCatch, wasmfront.OpCatchAll,
		wasmfront.OpRethrow, wasmfront.OpDelegate, wasmfront.OpI32Add, wasmfront.OpI32Mul} {
		shows := func(b []byte) bool {
			if _, err := validate.All(b, validate.Config{Features: wasmfront.DecodableFeatures}); err != nil {
				t.Fatalf("the predicate gets what is not valid: %v", err)
			}
			text, err := printer.String(b)
			return err == nil && strings.Contains(text, " "+op.String()+" ") || strings.Contains(text, " "+op.String()+"\n") || strings.Contains(text, " "+op.String()+")")
		}
		small, stats, err := reduce.Module(m.Wasm, reduce.Options{Features: wasmfront.DecodableFeatures}, shows)
		if err != nil {
			t.Fatal(err)
		}
		text, err := printer.String(small)
		if err != nil {
			t.Fatal(err)
		}
		if len(small) > 56 || stats.Exhausted || strings.Contains(text, "(import ") {
			t.Errorf("%v: %d bytes of %d are left after %d tries:\n%s", op, len(small), len(m.Wasm), stats.Tries, text)
		}
	}
}

// TestUnwrapped: without a block, a delegate inside of it has the label that it had.
func TestUnwrapped(t *testing.T) {
	m, err := wat.Assemble([]byte(`(func (try $t (do (block (block (try (do) (delegate $t))))) (catch_all)))`))
	if err != nil {
		t.Fatal(err)
	}
	delegatesToTry := func(b []byte) bool {
		m, err := validate.All(b, validate.Config{Features: wasmfront.DecodableFeatures})
		if err != nil || len(m.Funcs) == 0 {
			return false
		}
		var v validate.Func
		var op wasmfront.Operator
		for v.Begin(m, 0); v.Next(&op); {
			if op.Op == wasmfront.OpDelegate && v.Frame(op.Index).Kind == wasmfront.BlockTry {
				return true
			}
		}
		return false
	}
	small, _, err := reduce.Module(m.Wasm, reduce.Options{Features: wasmfront.DecodableFeatures}, delegatesToTry)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := printer.String(small); err != nil || strings.Contains(text, "block") || strings.Contains(text, "catch_all") || !delegatesToTry(small) {
		t.Errorf("%v:\n%s", err, text)
	}
}

// TestContents: of a segment, the byte that matters is left, where it was.
func TestContents(t *testing.T) {
	// (memory 1) (data (i32.const 0x7ffc) "abc...")
	wasm := "\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01\x0b\x6c\x01\x00\x41\xfc\xff\x01\x0b\x64" + strings.Repeat("abcdefghij", 10)
	small, _, err := reduce.Module([]byte(wasm), reduce.Options{}, func(b []byte) bool {
		m, err := wasmfront.Decode(b, wasmfront.DefaultFeatures)
		if err != nil || len(m.Data) != 1 {
			return false
		}
		d := &m.Data[0]
		at := 0x7ffc + 71 - int(d.OffExpr.Ops[0].Bits)
		return at >= 0 && at < len(d.Bytes) && d.Bytes[at] == 'b'
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := wasmfront.Decode(small, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if d := &m.Data[0]; string(d.Bytes) != "b" || d.OffExpr.Ops[0].Bits != 0x7ffc+71 {
		t.Errorf("%q at %#x", d.Bytes, d.OffExpr.Ops[0].Bits)
	}
}

// TestNothing: a module that does not show it is an error, and so is one that is not valid.
func TestNothing(t *testing.T) {
	p := wasmgen.Generate(1, wasmgen.Config{})
	if _, stats, err := reduce.Module(p.Wasm, reduce.Options{}, func([]byte) bool { return false }); err == nil || stats.Tries != 1 {
		t.Error(stats, err)
	}
	if _, _, err := reduce.Module([]byte("no module"), reduce.Options{}, func([]byte) bool { return true }); err == nil {
		t.Error("no error")
	}
	small, _, err := reduce.Module(p.Wasm, reduce.Options{}, func([]byte) bool { return true })
	if err != nil || len(small) != 8 {
		t.Errorf("%d bytes of what need not have anything: %v", len(small), err)
	}
}

// TestBranchOnCast: a block between a branch on a cast and where it goes is taken away.
func TestBranchOnCast(t *testing.T) {
	m, err := wat.Assemble([]byte(`(module (func (export "f") (result i32)
		(i31.get_u (block $out (result (ref i31))
			(block $between (drop (br_on_cast $out anyref (ref i31) (ref.i31 (i32.const 7)))))
			(unreachable)))))`))
	if err != nil {
		t.Fatal(err)
	}
	small, _, err := reduce.Module(m.Wasm, reduce.Options{}, func(b []byte) bool {
		s, err := (&interpengine.Engine{}).NewStore()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		mod, err := s.Compile(b)
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Instantiate(mod, nil)
		if err != nil {
			return false
		}
		r, err := i.Invoke("f", nil)
		return err == nil && r[0].Bits == 7 && uses(t, b, wasmfront.OpBrOnCast)
	})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := printer.String(small); err != nil || strings.Count(text, "block") != 1 {
		t.Errorf("%v: %s", err, text)
	}
}
