package difftest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront"
)

// inlinable returns a random program with small functions. In half of the programs, those of odd number are not exported, nor declared
// unless ref.func names them: so some of them have one use.
func inlinable(t *testing.T, seed uint64) *randprog.Program {
	t.Helper()
	p := randprog.Generate(5*seed + 2)
	if seed%2 == 0 {
		return p
	}
	m, err := wasmedit.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	used := map[uint32]bool{}
	for i := range m.Funcs {
		for k := range m.Funcs[i].Code {
			if in := &m.Funcs[i].Code[k]; in.Op == wasmfront.OpRefFunc {
				used[in.Index] = true
			}
		}
	}
	for i := range m.Exports {
		if x := &m.Exports[i]; x.Kind == abi.ExternFunc && x.Index%2 == 1 && x.Name != "reset" {
			x.Dead = true
		}
	}
	for i := range m.Elems {
		if e := &m.Elems[i]; e.Mode == wasmfront.SegmentDeclarative {
			e.Items = slices.DeleteFunc(e.Items, func(item []wasmfront.ConstOp) bool {
				return item[0].Op == wasmfront.OpRefFunc && item[0].Index%2 == 1 && !used[item[0].Index]
			})
		}
	}
	wasm, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return p.With(wasm)
}

// inlinedEngine is the interpreter on what the compiler's mid-end has made of whole modules.
type inlinedEngine struct {
	*interpengine.Engine
	options compile.Options
	inlined int // functions in which others were inlined
}

func (e *inlinedEngine) Name() string { return "interp-inlined" }

func (e *inlinedEngine) NewStore() (spectest.Store, error) {
	s, err := e.Engine.NewStore()
	return inlinedStore{s, e}, err
}

type inlinedStore struct {
	spectest.Store
	e *inlinedEngine
}

func (s inlinedStore) Compile(wasm []byte) (spectest.Module, error) {
	m := &interpengine.Module{}
	options := s.e.options
	options.AfterPass = func(pass string, f *clif.Func) {
		if m.Decl == nil {
			m.Decl, m.Funcs = f.Mod, make([]*clif.Func, len(f.Mod.Funcs))
		}
		m.Funcs[f.Index] = copyOf(f) // after the last pass
		if pass == inline.Pass {
			s.e.inlined++
		}
	}
	_, err := compile.Module(wasm, options)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// copyOf returns a copy of f that shares nothing with it but the module.
func copyOf(f *clif.Func) *clif.Func {
	g := *f
	g.Stop = nil
	g.Insts, g.Srcs, g.Values, g.Blocks = slices.Clone(f.Insts), slices.Clone(f.Srcs), slices.Clone(f.Values), slices.Clone(f.Blocks)
	g.Targets, g.Layout, g.Pool, g.Inlined = slices.Clone(f.Targets), slices.Clone(f.Layout), slices.Clone(f.Pool), slices.Clone(f.Inlined)
	return &g
}

// TestInlinedInterpreted: random modules do the same on the interpreter, places of traps included, after functions were inlined.
func TestInlinedInterpreted(t *testing.T) {
	options := interp.Options{MaxSteps: 300_000, MaxDepth: 500}
	plain := &interpengine.Engine{Options: options}
	for _, eager := range []bool{false, true} {
		compareInlined(t, plain, &inlinedEngine{Engine: plain, options: compile.Options{OptLevel: opt.O1, Jobs: 1, Verify: true, EagerInlining: eager}})
	}
}

func compareInlined(t *testing.T, plain *interpengine.Engine, inlined *inlinedEngine) {
	t.Helper()
	compared := 0
	for seed := range testenv.Cases[uint64](60, 80, 2000) {
		p := inlinable(t, seed)
		want := randprog.Run(plain, p)
		got := randprog.Run(inlined, p)
		if want.TooLong() || got.TooLong() {
			continue
		}
		compared++
		if d := got.Diff(want); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
	}
	t.Logf("%d programs, %d functions in which others were inlined", compared, inlined.inlined)
	if inlined.inlined < compared/2 {
		t.Error("too little is inlined")
	}
}

// tracing is an engine whose calls' backtraces are noted.
type tracing struct {
	spectest.Engine
	traces []string
}

func (e *tracing) NewStore() (spectest.Store, error) {
	s, err := e.Engine.NewStore()
	return tracingStore{s, e}, err
}

type tracingStore struct {
	spectest.Store
	e *tracing
}

func (s tracingStore) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	i, err := s.Store.Instantiate(m, imports)
	return tracingInstance{i, s.e}, err
}

type tracingInstance struct {
	spectest.Instance
	e *tracing
}

func (i tracingInstance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	v, err := i.Instance.Invoke(name, args)
	var trap *inproc.Trap
	if errors.As(err, &trap) {
		text := fmt.Sprint(name, " ", trap.Code)
		if trap.Code != abi.TrapStackOverflow { // whose depth depends on the frames
			text += fmt.Sprint(trap.Backtrace)
		}
		i.e.traces = append(i.e.traces, text)
	}
	return v, err
}

// TestRandomBacktraces: whole backtraces of traps in random modules are those without the mid-end.
func TestRandomBacktraces(t *testing.T) {
	notEmulated(t)
	frames := 0
	for seed := range testenv.Cases[uint64](100, 150, 2000) {
		p := inlinable(t, seed)
		plain := &tracing{Engine: nativeengine.New(opt.O0)}
		want := randprog.Run(plain, p)
		for _, eager := range []bool{false, true} {
			e := nativeengine.New(opt.O1)
			e.Options.EagerInlining = eager
			optimised := &tracing{Engine: e}
			if d := randprog.Run(optimised, p).Diff(want); d != "" {
				t.Errorf("seed %d, eager %v: %s", seed, eager, d)
			}
			if !slices.Equal(plain.traces, optimised.traces) {
				t.Errorf("seed %d, eager %v:\n%q\nwant\n%q", seed, eager, optimised.traces, plain.traces)
			}
		}
		frames += len(plain.traces)
	}
	t.Logf("%d backtraces", frames)
	if frames == 0 {
		t.Error("none")
	}
}

// TestInlinedDeterministic: objects do not depend on the number of workers, whatever they wait for and whichever functions are left out.
func TestInlinedDeterministic(t *testing.T) {
	without := 0
	for seed := range testenv.Cases[uint64](20, 40, 400) {
		p := inlinable(t, seed)
		var first []byte
		for _, jobs := range []int{1, 2, 7} {
			r, err := compile.Module(p.Wasm, compile.Options{OptLevel: opt.O1, Jobs: jobs})
			if err != nil {
				t.Fatal(err)
			}
			for i := range r.Meta.Funcs {
				if f := &r.Meta.Funcs[i]; f.Import == nil && f.Size == 0 {
					without++
				}
			}
			var b bytes.Buffer
			if err := r.WriteELF(&b); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b.Bytes()
			} else if !bytes.Equal(first, b.Bytes()) {
				t.Errorf("seed %d: %d workers give another object", seed, jobs)
			}
		}
	}
	t.Logf("%d functions without code", without)
	if without == 0 {
		t.Error("none is without code")
	}
}
