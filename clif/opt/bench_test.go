package opt

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
)

// benchFunc is a random function of many reachable blocks.
func benchFunc() *clif.Func {
	var ops []pureOp
	for _, p := range pureOps() {
		if p.result.IsInt() && !p.args[0].IsFloat() {
			ops = append(ops, p)
		}
	}
	for seed := uint64(1); ; seed++ {
		m := randomModule([]clif.Type{clif.I32, clif.I64})
		m.Sigs[0].Results = []clif.Type{clif.I32, clif.I64}
		m.Globals = append(m.Globals, clif.GlobalDecl{Type: clif.I32, Mutable: true}, clif.GlobalDecl{Type: clif.I64, Mutable: true})
		f := &clif.Func{Name: "f", Mod: m}
		g := &graph{r: rand.New(rand.NewPCG(seed, 1)), f: f, b: &clif.Builder{F: f}, ops: ops}
		g.shape(200)
		h := clone(f)
		var o Optimizer
		if o.Run(h, O1) == nil && len(h.Layout) > 100 {
			return f
		}
	}
}

// copyFunc makes dst a copy of src in its own memory.
func copyFunc(dst, src *clif.Func) {
	dst.Name, dst.Index, dst.Sig, dst.Mod = src.Name, src.Index, src.Sig, src.Mod
	dst.Insts = append(dst.Insts[:0], src.Insts...)
	dst.Srcs = append(dst.Srcs[:0], src.Srcs...)
	dst.Values = append(dst.Values[:0], src.Values...)
	dst.Blocks = append(dst.Blocks[:0], src.Blocks...)
	dst.Targets = append(dst.Targets[:0], src.Targets...)
	dst.Layout = append(dst.Layout[:0], src.Layout...)
	dst.Pool = append(dst.Pool[:0], src.Pool...)
}

// TestAllocations checks that the passes allocate nothing once their buffers
// have grown.
func TestAllocations(t *testing.T) {
	src := benchFunc()
	var f clif.Func
	var o Optimizer
	run := func() {
		copyFunc(&f, src)
		if err := o.Run(&f, O1); err != nil {
			t.Fatal(err)
		}
	}
	run()
	run() // Insts changes places with the buffer of fold
	if n := testing.AllocsPerRun(5, run); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRun(b *testing.B) {
	src := benchFunc()
	var f clif.Func
	var o Optimizer
	b.ReportAllocs()
	for b.Loop() {
		copyFunc(&f, src)
		if err := o.Run(&f, O1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(src.Insts)), "ns/inst")
}
