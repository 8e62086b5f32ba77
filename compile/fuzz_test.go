package compile_test

import (
	"bytes"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/internal/proof/wasmgen"
)

// maxFuzzed bounds the modules of FuzzModule, in bytes.
const maxFuzzed = 64 << 10

// FuzzModule: any bytes are, for each target, a module that is compiled to an object that can be read, or refused for
// a reason that is the module's; now and then again, with the same result.
func FuzzModule(f *testing.F) {
	f.Add(sampleModule().bytes())
	f.Add(userModule().bytes())
	for seed := range uint64(6) {
		f.Add(wasmgen.Generate(seed, wasmgen.Config{Funcs: 2, Size: 40, NoTraps: seed%2 == 0}).Wasm)
	}
	files, _ := filepath.Glob("../testdata/wasm/*.wasm")
	for _, name := range append(files, "testdata/bound.wasm") {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 4<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if len(wasm) > maxFuzzed {
			t.Skip("too large")
		}
		h := fnv.New32a()
		h.Write(wasm)
		pick := h.Sum32()
		for _, target := range compile.Targets() {
			o := compile.Options{Target: target, OptLevel: opt.Level(pick % 2), Regalloc: compile.Allocators()[int(pick>>4)%len(compile.Allocators())], Fixpoint: pick%5 == 0, Verify: true, Jobs: 1}
			if target == compile.TargetX64 && pick&8 != 0 {
				o.CPU = "v3"
			}
			object, err := hostile.Compile(wasm, o)
			if errors.Is(err, backend.ErrUnsupported) {
				continue
			}
			if err != nil {
				t.Fatalf("%s -O%d, %s: %v", target, o.OptLevel, o.Regalloc, err)
			}
			if object == nil || pick%16 != 0 {
				continue
			}
			o.Jobs = 3
			again, err := hostile.Compile(wasm, o)
			if err != nil || !bytes.Equal(again, object) {
				t.Fatalf("%s -O%d, %s: compiled again, it is another object (%v)", target, o.OptLevel, o.Regalloc, err)
			}
		}
	})
}
