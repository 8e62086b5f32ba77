package translate_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

func TestBig(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("WAOT_BENCH_DIR"), "*", "*.wasm"))
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := validate.Module(b, validate.Config{})
		if err != nil {
			t.Log(name, err)
			continue
		}
		cm := translate.Module(m, m.DecodeNames())
		tr := translate.New(m, cm)
		var f clif.Func
		n := 0
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			if err := tr.Func(&f, i); err != nil {
				t.Log(name, err)
				break
			}
			if err := verify.Func(&f); err != nil {
				t.Fatal(name, err)
			}
			n += len(f.Insts)
		}
		t.Log(name, n)
	}
}
