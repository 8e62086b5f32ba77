package zzbe

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

func TestDis(t *testing.T) {
	b, _ := os.ReadFile(os.Getenv("SMOKE"))
	m, err := validate.Module(b, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	feat, _ := x64.Level("v2")
	cm := translate.Module(m, m.DecodeNames())
	tr := translate.New(m, cm)
	layout := instance.New(cm)
	want, _ := strconv.Atoi(os.Getenv("FN"))
	bc := backend.New(x64.New(feat), layout, cm, backend.Options{Allocator: linear.New(), SkipChecker: true})
	var o opt.Optimizer
	big, bigN := uint32(0), 0
	errs := 0
	for i := m.NumImportedFuncs; i < uint32(len(cm.Funcs)-1); i++ {
		f := new(clif.Func)
		if err := tr.Func(f, i); err != nil {
			errs++
			continue
		}
		o.Run(f, opt.O1)
		if len(f.Insts) > bigN {
			big, bigN = i, len(f.Insts)
		}
		c, err := bc.Compile(f)
		if err != nil {
			errs++
			continue
		}
		if int(i) == want {
			os.WriteFile("/tmp/w/fn.bin", c.Bytes, 0o644)
			fmt.Println(f)
		}
	}
	fmt.Println("funcs", len(cm.Funcs), "errs", errs, "biggest", big, bigN)
}
