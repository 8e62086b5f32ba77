package wasmgen_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

func gcConfig(seed uint64) wasmgen.Config {
	return wasmgen.Config{GC: true, NoTraps: seed%3 > 0, Vectors: seed%4 == 1, Exceptions: seed%5 > 2, Tails: seed%7 > 4, TypedRefs: seed%7 == 2, TypedAll: true, Small: seed%2 > 0, Size: []int{20, 60, 120, 250}[seed%4]}
}

func TestGC(t *testing.T) {
	used := map[wasmfront.Opcode]bool{}
	size := 0
	for seed := range uint64(300) {
		p := wasmgen.Generate(seed, gcConfig(seed))
		size += len(p.Wasm)
		m, err := validate.Module(p.Wasm, validate.Config{Features: wasmfront.DefaultFeatures | wasmfront.FeatureGC})
		if err != nil {
			os.WriteFile("/work/ci/gcgen/bad.wasm", p.Wasm, 0o666)
			t.Fatalf("seed %d: %v", seed, err)
		}
		var v validate.Func
		var op wasmfront.Operator
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			for v.Begin(m, i); v.Next(&op); {
				used[op.Op] = true
			}
			if err := v.Err(); err != nil {
				os.WriteFile("/work/ci/gcgen/bad.wasm", p.Wasm, 0o666)
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		text, err := printer.String(p.Wasm)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again, err := wat.Assemble([]byte(text))
		if err != nil {
			os.WriteFile("/work/ci/gcgen/bad.wat", []byte(text), 0o666)
			t.Fatalf("seed %d: %v", seed, err)
		}
		if second, err := printer.String(again.Wasm); err != nil || second != text {
			t.Fatalf("seed %d: another text, %v", seed, err)
		}
	}
	for _, op := range wasmfront.Opcodes() {
		if op.Info().Feature == wasmfront.FeatureGC && !used[op] {
			t.Errorf("%v is never generated", op)
		}
	}
	fmt.Println(size / 300)
}
