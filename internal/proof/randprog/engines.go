package randprog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
)

// Bounded returns the CLIF interpreter for programs that may not end, which are TooLong for it.
func Bounded() *interpengine.Engine {
	return &interpengine.Engine{Options: interp.Options{MaxSteps: 300_000, MaxDepth: 500}}
}

// TooLong reports whether the program was stopped by a bound of its steps.
func (o *Outcome) TooLong() bool { return strings.Contains(o.Failed, interp.ErrSteps.Error()) }

// Reference returns the outcome that others are compared with. It is the CLIF interpreter's if that agrees with the judge's, since
// it has the places of traps; otherwise it is the judge's. Engines that do not optimise say best where the first trap is.
func Reference(judge, interpreter *Outcome) *Outcome {
	if interpreter.Diff(judge) == "" {
		return interpreter
	}
	return judge
}

// Run runs a program under an engine whose stores take p.Wasm and p.Env as modules. Failures are in
// the outcome.
func Run(e spectest.Engine, p *Program) *Outcome {
	o := &Outcome{}
	if err := runIn(e, p, o); err != nil {
		return &Outcome{Failed: FirstLine(err)}
	}
	return o
}

// FirstLine returns the first line of an error.
func FirstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

func runIn(e spectest.Engine, p *Program, o *Outcome) error {
	s, err := e.NewStore()
	if err != nil {
		return err
	}
	defer s.Close()
	g := &guest{}
	note, err := s.NewFunc(clif.Signature{Params: []clif.Type{clif.I64}, Results: []clif.Type{clif.I64}},
		func(args, results []uint64) { results[0] = g.react(p, o, args[0]) })
	if err != nil {
		return err
	}
	env, err := s.Compile(p.Env)
	if err != nil {
		return fmt.Errorf("env: %w", err)
	}
	mod, err := s.Compile(p.Wasm)
	if err != nil {
		return err
	}
	host, err := s.Instantiate(env, func(string, string) (spectest.Extern, bool) { return note, true })
	if err != nil {
		return fmt.Errorf("env: %w", err)
	}
	lib := host
	if p.Lib != nil {
		if lib, err = libOf(s, p, host); err != nil {
			return fmt.Errorf("lib: %w", err)
		}
	}
	inst, err := s.Instantiate(mod, func(module, name string) (spectest.Extern, bool) {
		if module == LibName {
			return lib.Export(name)
		}
		return host.Export(name)
	})
	if err != nil {
		o.Start, err = trapOf(err)
		o.Fuel = fuelLeft(s)
		return err
	}
	var failed error
	g.memory = func() []byte { return memoryOf(inst) }
	g.global = func(name string, bits uint64) { failed = errors.Join(failed, setGlobal(inst, name, bits)) }
	g.call = func(c *wasmgen.Call) Result {
		values, err := inst.Invoke(c.Export, c.Args)
		if err != nil {
			r, err := trapOf(err)
			failed = errors.Join(failed, err)
			return r
		}
		var words []uint64
		for _, v := range values {
			if words = append(words, v.Bits); v.Type == clif.V128 {
				words = append(words, v.High)
			}
		}
		return Result{Text: p.callText(c, words, false)}
	}
	for i := range p.Calls {
		if p.Reset {
			if _, err := inst.Invoke("reset", nil); err != nil {
				return err
			}
		}
		o.Calls = append(o.Calls, o.noted(g.call(&p.Calls[i])))
		if failed != nil {
			return failed
		}
	}
	for _, g := range p.Globals {
		v, err := inst.Get(g)
		if err != nil {
			return err
		}
		t := map[clif.Type]byte{clif.F32: 'f', clif.F64: 'd'}[v.Type]
		o.Globals = append(o.Globals, p.anyNaN(t, v.Bits))
	}
	for _, c := range p.Counters {
		v, err := inst.Get(c)
		if err != nil {
			return err
		}
		o.Counts = append(o.Counts, v.Bits)
	}
	o.Memory = bytes.Clone(memoryOf(inst))
	o.Fuel = fuelLeft(s)
	if p.Counter != "" {
		v, err := inst.Get(p.Counter)
		o.Fuel = int64(v.Bits)
		return err
	}
	return nil
}

// libOf instantiates the part of a program that the other one imports.
func libOf(s spectest.Store, p *Program, host spectest.Instance) (spectest.Instance, error) {
	m, err := s.Compile(p.Lib)
	if err != nil {
		return nil, err
	}
	return s.Instantiate(m, func(_, name string) (spectest.Extern, bool) { return host.Export(name) })
}

// fuelLeft returns how much fuel a store has left; 0 if it knows of none.
func fuelLeft(s spectest.Store) int64 {
	if f, ok := s.(interface{ FuelLeft() int64 }); ok {
		return f.FuelLeft()
	}
	return 0
}

// memoryOf returns the exported memory: of the interpreter, or of an engine whose memories have bytes; nil if there is none.
func memoryOf(inst spectest.Instance) []byte {
	m, _ := inst.Export("memory")
	switch m := m.(type) {
	case *interp.Memory:
		return m.Data
	case interface{ Bytes() []byte }:
		return m.Bytes()
	}
	return nil
}

// setGlobal writes to an exported global: of the interpreter, or of an engine whose globals can be set.
func setGlobal(inst spectest.Instance, name string, bits uint64) error {
	v, err := inst.Get(name)
	if err != nil {
		return err
	}
	if v.Type == clif.I32 || v.Type == clif.F32 {
		bits = uint64(uint32(bits))
	}
	x, _ := inst.Export(name)
	switch x := x.(type) {
	case *interp.Global:
		x.Bits = bits
	case interface{ Set(bits uint64) error }:
		return x.Set(bits)
	default:
		return fmt.Errorf("global %q of type %T cannot be set", name, x)
	}
	return nil
}

// trapOf returns a trap with its place, or an exception that nothing has caught, or else err itself.
func trapOf(err error) (r Result, _ error) {
	var t spectest.Trapper
	switch x := spectest.Thrower(nil); {
	case errors.As(err, &x):
		return Result{Text: TrapPrefix + Uncaught}, nil
	case !errors.As(err, &t):
		return r, err
	}
	return Result{TrapPrefix + TrapWords(t.TrapCode()), spectest.PlaceOf(t)}, nil
}

// Judge runs a program under wazero's interpreter. The globals named in counters, of type i64, are read at the end.
func Judge(ctx context.Context, p *Program, counters ...string) (*Outcome, []uint64, error) {
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesTypedFunctionReferences|experimental.CoreFeaturesTailCall|experimental.CoreFeaturesExceptionHandling).WithCloseOnContextDone(true))
	defer rt.Close(context.Background())
	o, g := &Outcome{}, &guest{}
	note := api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = g.react(p, o, stack[0]) })
	i64 := []api.ValueType{api.ValueTypeI64}
	b := rt.NewHostModuleBuilder("host")
	b.NewFunctionBuilder().WithGoFunction(note, i64, i64).Export("note")
	if _, err := b.Instantiate(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := rt.InstantiateWithConfig(ctx, p.Env, wazero.NewModuleConfig().WithName("env")); err != nil {
		return nil, nil, fmt.Errorf("env: %w", err)
	}
	mod, err := rt.InstantiateWithConfig(ctx, p.Wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		o.Start.Text, err = WazeroTrap(err)
		return o, make([]uint64, len(counters)), err
	}
	var failed error
	g.memory = func() []byte {
		if m := mod.ExportedMemory("memory"); m != nil {
			b, _ := m.Read(0, m.Size())
			return b
		}
		return nil
	}
	g.global = func(name string, bits uint64) {
		x := mod.ExportedGlobal(name).(api.MutableGlobal)
		if t := x.Type(); t == api.ValueTypeI32 || t == api.ValueTypeF32 {
			bits = uint64(uint32(bits))
		}
		x.Set(bits)
	}
	g.call = func(c *wasmgen.Call) Result {
		results, err := mod.ExportedFunction(c.Export).Call(ctx, c.Args...)
		if err != nil {
			text, err := WazeroTrap(err)
			failed = errors.Join(failed, err)
			return Result{Text: text}
		}
		return Result{Text: p.callText(c, results, true)}
	}
	for i := range p.Calls {
		if p.Reset {
			if _, err := mod.ExportedFunction("reset").Call(ctx); err != nil {
				return nil, nil, err
			}
		}
		o.Calls = append(o.Calls, o.noted(g.call(&p.Calls[i])))
		if failed != nil {
			return nil, nil, failed
		}
	}
	for _, g := range p.Globals {
		global := mod.ExportedGlobal(g)
		v := global.Get()
		switch global.Type() {
		case api.ValueTypeI32:
			v = uint64(uint32(v))
		case api.ValueTypeF32:
			v = p.anyNaN('f', uint64(uint32(v)))
		case api.ValueTypeF64:
			v = p.anyNaN('d', v)
		}
		o.Globals = append(o.Globals, v)
	}
	o.Memory = bytes.Clone(g.memory())
	var counts []uint64
	for _, c := range counters {
		counts = append(counts, mod.ExportedGlobal(c).Get())
	}
	return o, counts, nil
}

// JudgePanics reports whether an error of Judge is a panic of wazero's own, not what the program does.
func JudgePanics(err error) bool {
	return err != nil && strings.Contains(err.Error(), "recovered by wazero")
}

// WazeroTrap returns the words of a trap of wazero, behind TrapPrefix, or else err itself.
func WazeroTrap(err error) (string, error) {
	_, msg, ok := strings.Cut(err.Error(), "wasm error: ")
	if !ok {
		return "", err
	}
	line, _, _ := strings.Cut(msg, "\n")
	return TrapPrefix + line, nil
}
