package translate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

// outcome is what one call did: results or a trap, and the state it left.
type outcome struct {
	results []uint64
	trap    string
	memory  []byte
	globals []uint64
}

func (o *outcome) String() string {
	return fmt.Sprintf("results %#x, trap %q, globals %#x, memory of %d bytes", o.results, o.trap, o.globals, len(o.memory))
}

func (o *outcome) equal(p *outcome) bool {
	return fmt.Sprint(o.results) == fmt.Sprint(p.results) && o.trap == p.trap &&
		fmt.Sprint(o.globals) == fmt.Sprint(p.globals) && bytes.Equal(o.memory, p.memory)
}

// messages maps the words of wazero's errors to those of interp.
var messages = map[string]string{
	"unreachable": "unreachable", "out of bounds memory access": "out of bounds memory access",
	"integer overflow": "integer overflow", "integer divide by zero": "integer divide by zero",
	"invalid conversion to integer": "invalid conversion to integer", "indirect call type mismatch": "indirect call type mismatch",
	"invalid table access": "table", "out of bounds table access": "table", "undefined element": "table",
	"uninitialized element": "table", "stack overflow": "call stack exhausted", "call stack exhausted": "call stack exhausted",
}

func trapOf(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for from, to := range messages {
		if strings.Contains(text, from) {
			return to
		}
	}
	return text
}

// runWazero runs p on wazero's interpreter.
func runWazero(t testing.TB, p *wasmgen.Program) []outcome {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(ctx)
	if _, err := rt.InstantiateWithConfig(ctx, p.Env, wazero.NewModuleConfig().WithName("env")); err != nil {
		t.Fatal(err)
	}
	mod, err := rt.InstantiateWithConfig(ctx, p.Wasm, wazero.NewModuleConfig().WithName("main"))
	if err != nil {
		t.Fatal(err)
	}
	var out []outcome
	for _, c := range p.Calls {
		if _, err := mod.ExportedFunction("reset").Call(ctx); err != nil {
			t.Fatal(err)
		}
		results, err := mod.ExportedFunction(c.Export).Call(ctx, c.Args...)
		o := outcome{results: results, trap: trapOf(err)}
		mem := mod.Memory()
		data, _ := mem.Read(0, mem.Size())
		o.memory = append(o.memory, data...)
		for _, g := range p.Globals {
			o.globals = append(o.globals, mod.ExportedGlobal(g).Get())
		}
		for i, r := range c.Results {
			if err == nil && (r == 'i' || r == 'f') {
				o.results[i] = uint64(uint32(o.results[i]))
			}
		}
		out = append(out, o)
	}
	return out
}

// compiled is a module with its functions.
type compiled struct {
	decl  *clif.Module
	funcs []*clif.Func
}

func (c *compiled) body(i clif.FuncIndex) (*clif.Func, error) { return c.funcs[i], nil }

// compile translates and, at O1, optimises, with the verifier after each step.
func compile(t testing.TB, wasm []byte, o *opt.Optimizer) *compiled {
	m, err := validate.Module(wasm, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cm := translate.Module(m, m.DecodeNames())
	tr := translate.New(m, cm)
	c := &compiled{cm, make([]*clif.Func, len(cm.Funcs))}
	for i := int(m.NumImportedFuncs); i < len(cm.Funcs); i++ {
		f := new(clif.Func)
		if clif.FuncIndex(i) == cm.InitFunc() {
			tr.Init(f)
		} else if err := tr.Func(f, uint32(i)); err != nil {
			t.Fatal(err)
		}
		if err := verify.Func(f); err != nil {
			t.Fatalf("%v\n%v", err, f)
		}
		if o != nil {
			o.After = func(p *opt.Pass, f *clif.Func) error {
				if err := verify.Func(f); err != nil {
					return fmt.Errorf("after %s: %w\n%v", p.Name, err, f)
				}
				return nil
			}
			if err := o.Run(f, opt.O1); err != nil {
				t.Fatal(err)
			}
		}
		c.funcs[i] = f
	}
	return c
}

// runInterp runs p on the CLIF interpreter.
func runInterp(t testing.TB, p *wasmgen.Program, o *opt.Optimizer) []outcome {
	env, c := compile(t, p.Env, o), compile(t, p.Wasm, o)
	s := interp.NewStore(interp.Options{MaxSteps: 1 << 32})
	ei, err := s.Instantiate(env.decl, env.body, nil)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(c.decl, c.body, func(_, name string) (interp.Extern, bool) { return ei.Export(name) })
	if err != nil {
		t.Fatal(err)
	}
	export := func(name string) interp.Extern {
		e, ok := inst.Export(name)
		if !ok {
			t.Fatal("no export", name)
		}
		return e
	}
	var out []outcome
	for _, call := range p.Calls {
		if _, err := export("reset").(*interp.Function).Call(nil); err != nil {
			t.Fatal(err)
		}
		results, err := export(call.Export).(*interp.Function).Call(call.Args)
		var undefined *interp.UndefinedError
		if errors.As(err, &undefined) {
			t.Fatal(err)
		}
		o := outcome{results: results, trap: trapOf(err)}
		o.memory = append(o.memory, export("memory").(*interp.Memory).Data...)
		for _, g := range p.Globals {
			o.globals = append(o.globals, export(g).(*interp.Global).Bits)
		}
		out = append(out, o)
	}
	return out
}

func compareOutcomes(t *testing.T, what string, seed uint64, p *wasmgen.Program, got, want []outcome) {
	for i := range want {
		if !got[i].equal(&want[i]) {
			for k := range min(len(want[i].memory), len(got[i].memory)) {
				if want[i].memory[k] != got[i].memory[k] {
					t.Logf("first difference in memory: at %#x", k)
					break
				}
			}
			t.Fatalf("%s: seed %d, call %d %s(%#x):\ngot  %v\nwant %v", what, seed, i, p.Calls[i].Export, p.Calls[i].Args, &got[i], &want[i])
		}
	}
}

// TestDifferential compares random modules, translated and interpreted, with
// wazero's interpreter. WAOT_SEEDS=from-to replaces the seeds.
func TestDifferential(t *testing.T) {
	from, to := uint64(0), uint64(400)
	if a, b, ok := strings.Cut(os.Getenv("WAOT_SEEDS"), "-"); ok {
		from, _ = strconv.ParseUint(a, 10, 64)
		to, _ = strconv.ParseUint(b, 10, 64)
	}
	var o opt.Optimizer
	calls, traps := 0, 0
	for seed := from; seed < to; seed++ {
		cfg := wasmgen.Config{NoTraps: seed%2 == 0}
		if seed%8 == 0 {
			cfg.Size = 600
		}
		p := wasmgen.Generate(seed, cfg)
		want := runWazero(t, p)
		compareOutcomes(t, "O0", seed, p, runInterp(t, p, nil), want)
		compareOutcomes(t, "O1", seed, p, runInterp(t, p, &o), want)
		for i := range want {
			calls++
			if want[i].trap != "" {
				traps++
			}
		}
	}
	t.Logf("%d calls, %d traps", calls, traps)
	if traps*2 > calls {
		t.Error("most calls trap")
	}
}
