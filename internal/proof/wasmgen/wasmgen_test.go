package wasmgen_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestValid checks that all modules are valid, the same for the same seed, and
// that together they use every operator of the accepted features.
func TestValid(t *testing.T) {
	used := map[wasmfront.Opcode]bool{}
	for seed := range uint64(600) {
		cfg := wasmgen.Config{NoTraps: seed%2 == 0, RawNaNs: seed%3 == 0, Vectors: seed%5 > 1, Relaxed: seed%5 > 2, Small: seed%7 > 3, TypedRefs: seed%11 > 7, TypedAll: seed%11 > 8, Exceptions: seed%13 > 8, Legacy: seed%13 > 6 && seed%13 != 10}
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
