package compile_test

import (
	"sync"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/wasmgen"
)

// TestBoundsStay: what tables are indexed with is the result of a bound, before and behind each pass of the mid-end: a
// rewrite that takes the index itself instead computes the same, so that no execution shows it. Constants are not speculated, if they are in bounds.
// With NoSpectre there are no bounds.
func TestBoundsStay(t *testing.T) {
	var mu sync.Mutex
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		for _, noSpectre := range []bool{false, true} {
			indexed := 0
			for seed := range uint64(30) {
				look := func(pass string, f *clif.Func) {
					mu.Lock()
					defer mu.Unlock()
					for _, b := range f.Layout {
						for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
							d := &f.Insts[i]
							if d.Op != clif.OpTableGet && d.Op != clif.OpTableSet {
								continue
							}
							by := f.DefInst(f.Resolve(d.ArgA()))
							if by != clif.NoInst && f.Insts[by].Op == clif.OpIconst && f.Insts[by].Imm < f.Mod.Tables[d.Aux].Min {
								continue
							}
							indexed++
							if bound := by != clif.NoInst && f.Insts[by].Op == clif.OpBound; bound == noSpectre {
								t.Errorf("seed %d, -O%d, without masks: %t, behind %q: %v by a bound: %t\n%v", seed, level, noSpectre, pass, d.Op, bound, f)
							}
						}
					}
				}
				p := wasmgen.Generate(seed, wasmgen.Config{Size: 200})
				if _, err := compile.Module(p.Wasm, compile.Options{OptLevel: level, NoSpectre: noSpectre, Jobs: 1, AfterPass: look}); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("-O%d, without masks: %t: %d accesses", level, noSpectre, indexed)
			if indexed < 100 {
				t.Error("too few")
			}
		}
	}
}
