package wasmgen_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestValid checks that all modules are valid, the same for the same seed, and
// that together they use every operator of the accepted features.
func TestValid(t *testing.T) {
	used := map[wasmfront.Opcode]bool{}
	for seed := range uint64(600) {
		cfg := wasmgen.Config{NoTraps: seed%2 == 0, RawNaNs: seed%3 == 0, Vectors: seed%5 > 1, Relaxed: seed%5 > 2, Small: seed%7 > 3, TypedRefs: seed%11 > 7, TypedAll: seed%11 > 8, Tails: seed%13 > 8, Exceptions: seed%17 > 12, Legacy: seed%17 > 14, GC: seed%19 > 15, Wide: seed%23 > 18}
		generate := func() *wasmgen.Program { return wasmgen.Generate(seed, cfg) }
		if seed%4 == 3 {
			by := make([]byte, 8*(seed%100))
			rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(by)
			generate = func() *wasmgen.Program { return wasmgen.Steered(by, cfg) }
		}
		p := generate()
		if again := generate(); !bytes.Equal(p.Wasm, again.Wasm) {
			t.Fatalf("seed %d: not deterministic", seed)
		}
		if _, err := validate.Module(p.Env, validate.Config{}); err != nil {
			t.Fatal(err)
		}
		m, err := validate.Module(p.Wasm, validate.Config{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var v validate.Func
		var op wasmfront.Operator
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			v.Begin(m, i)
			for v.Next(&op) {
				used[op.Op] = true
			}
			if err := v.Err(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	for _, op := range wasmfront.Opcodes() {
		if op.Info().Feature&^wasmfront.DefaultFeatures == 0 && !used[op] && op != wasmfront.OpNop {
			t.Errorf("%v is never generated", op)
		}
	}
}

// TestExceptions: modules with exceptions of either kind, or both, are valid, have all their operators, and no others that need a feature. The text format has them as they are.
func TestExceptions(t *testing.T) {
	features := []wasmfront.Features{wasmfront.FeatureExceptions, wasmfront.FeatureExceptions | wasmfront.FeatureLegacyExceptions}
	used := map[wasmfront.Opcode]bool{}
	throws := 0
	for seed := range uint64(300) {
		cfg := wasmgen.Config{NoTraps: seed%2 == 0, Exceptions: seed%3 != 1, Legacy: seed%3 > 0, Vectors: seed%5 > 3, TypedRefs: seed%7 > 5}
		accept := wasmfront.DefaultFeatures | features[0]
		if cfg.Legacy {
			accept |= features[1]
		}
		p := wasmgen.Generate(seed, cfg)
		for _, b := range [][]byte{p.Env, p.Wasm} {
			m, err := validate.Module(b, validate.Config{Features: accept})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			var v validate.Func
			var op wasmfront.Operator
			for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
				for v.Begin(m, i); v.Next(&op); {
					if used[op.Op] = true; op.Op == wasmfront.OpThrow {
						throws++
					}
					if legacy, new := op.Op.Info().Feature == wasmfront.FeatureLegacyExceptions, op.Op == wasmfront.OpTryTable || op.Op == wasmfront.OpThrowRef; legacy && !cfg.Legacy || new && !cfg.Exceptions {
						t.Fatalf("seed %d: %v", seed, op.Op)
					}
				}
				if err := v.Err(); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			text, err := printer.String(b)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			again, err := wat.Assemble([]byte(text))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if second, err := printer.String(again.Wasm); err != nil || second != text {
				t.Fatalf("seed %d: another text, %v", seed, err)
			}
		}
	}
	for _, op := range wasmfront.Opcodes() {
		if info := op.Info(); info.Feature != 0 && features[1].Has(info.Feature) && !used[op] {
			t.Errorf("%v is never generated", op)
		}
	}
	if throws < 300 {
		t.Errorf("only %d throws", throws)
	}
}

// TestSteered: what comes in front of a change stays, as far as the module shows it: the types.
func TestSteered(t *testing.T) {
	by := bytes.Repeat([]byte{3, 141, 59, 26}, 20)
	cfg := wasmgen.Config{Funcs: 2, Size: 30}
	p := wasmgen.Steered(by, cfg)
	by[len(by)-1]++
	q := wasmgen.Steered(by, cfg)
	if bytes.Equal(p.Wasm, q.Wasm) || p.Calls[0].Params != q.Calls[0].Params || !bytes.Equal(p.Wasm[:100], q.Wasm[:100]) {
		t.Errorf("%x\n%x", p.Wasm, q.Wasm)
	}
}
