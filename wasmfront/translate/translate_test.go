package translate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

func TestBig(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(testenv.Material(t, testenv.EnvBench), "*", "*.wasm"))
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
		n, n2 := 0, 0
		var o opt.Optimizer
		o.After = func(p *opt.Pass, f *clif.Func) error {
			if err := verify.Func(f); err != nil {
				return fmt.Errorf("after %s: %w", p.Name, err)
			}
			return nil
		}
		for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
			if err := tr.Func(&f, i); err != nil {
				t.Log(name, err)
				break
			}
			if err := verify.Func(&f); err != nil {
				t.Fatal(name, err)
			}
			n += len(f.Insts)
			if err := o.Run(&f, opt.O1); err != nil {
				t.Fatal(name, err)
			}
			for _, b := range f.Layout {
				for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
					if f.Insts[i].Op != clif.OpNop {
						n2++
					}
				}
			}
		}
		t.Log(name, n, n2)
	}
}
