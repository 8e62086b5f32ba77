package zzbe

import (
	"fmt"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

func TestProf(t *testing.T) {
	b, _ := os.ReadFile(os.Getenv("SMOKE"))
	m, err := validate.Module(b, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	feat, _ := x64.Level("v2")
	cm := translate.Module(m, m.DecodeNames())
	tr := translate.New(m, cm)
	layout := instance.New(cm)
	rules := map[string]int{}
	o0 := backend.Options{Allocator: linear.New(), SkipChecker: true}
	if os.Getenv("RULES") != "" {
		o0.Trace = &backend.Trace{Rule: func(s string) { rules[s]++ }}
	}
	bc := backend.New(x64.New(feat), layout, cm, o0)
	var fs []*clif.Func
	var o opt.Optimizer
	insts, bytes := 0, 0
	for i := m.NumImportedFuncs; i < uint32(len(cm.Funcs)-1); i++ {
		f := new(clif.Func)
		if err := tr.Func(f, i); err != nil {
			continue
		}
		o.Run(f, opt.O1)
		for _, blk := range f.Layout {
			for j := f.Blocks[blk].Start; j < f.Blocks[blk].End; j++ {
				if f.Insts[j].Op != clif.OpNop {
					insts++
				}
			}
		}
		fs = append(fs, f)
	}
	if p := os.Getenv("CPUPROF"); p != "" {
		w, _ := os.Create(p)
		pprof.StartCPUProfile(w)
		defer pprof.StopCPUProfile()
	}
	for r := 0; r < 5; r++ {
		t0 := time.Now()
		bytes = 0
		for _, f := range fs {
			c, err := bc.Compile(f)
			if err != nil {
				continue
			}
			bytes += len(c.Bytes)
		}
		d := time.Since(t0)
		fmt.Println("insts", insts, "bytes", bytes, d, "ns/inst", d.Nanoseconds()/int64(insts))
	}
	for k, v := range rules {
		fmt.Println(k, v)
	}
}
