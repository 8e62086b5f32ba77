package wasmgen_test

import (
	"bytes"
	"testing"

	"github.com/waot-project/waot/internal/wasmgen"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestValid checks that all modules are valid, the same for the same seed, and
// that together they use every operator of the accepted features.
func TestValid(t *testing.T) {
	used := map[wasmfront.Opcode]bool{}
	for seed := range uint64(600) {
		cfg := wasmgen.Config{NoTraps: seed%2 == 0, RawNaNs: seed%3 == 0}
		p := wasmgen.Generate(seed, cfg)
		if again := wasmgen.Generate(seed, cfg); !bytes.Equal(p.Wasm, again.Wasm) {
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
