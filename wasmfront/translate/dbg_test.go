package translate_test

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/wasmgen"
)

func TestDbg(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	p := wasmgen.Generate(seed, wasmgen.Config{NoTraps: seed%2 == 0})
	os.WriteFile("/tmp/w/dbg.wasm", p.Wasm, 0o644)
	env, c := compile(t, p.Env, nil), compile(t, p.Wasm, nil)
	s := interp.NewStore(interp.Options{MaxSteps: 1 << 32})
	ei, _ := s.Instantiate(env.decl, env.body, nil)
	inst, _ := s.Instantiate(c.decl, c.body, func(_, name string) (interp.Extern, bool) { return ei.Export(name) })
	for i, call := range p.Calls {
		e, _ := inst.Export("reset")
		e.(*interp.Function).Call(nil)
		e, _ = inst.Export(call.Export)
		_, err := e.(*interp.Function).Call(call.Args)
		var tr *interp.Trap
		if errors.As(err, &tr) {
			t.Log(i, tr, tr.Func, tr.Inst)
			f := c.funcs[tr.Func]
			for _, b := range f.Layout {
				bd := f.Blocks[b]
				if tr.Inst >= bd.Start && tr.Inst < bd.End {
					t.Log(f.String())
				}
			}
			break
		}
	}
}
