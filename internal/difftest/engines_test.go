package difftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/wasmgen"
	"github.com/waot-project/waot/spectest"
)

// outcome is what an engine did with a program.
type outcome struct {
	start   string // why instantiation failed
	calls   []string
	host    []uint64 // arguments of the calls of the host
	globals []uint64
	memory  []byte
}

// diff describes the first difference between two outcomes; it is empty if there is
// none.
func (o *outcome) diff(want *outcome) string {
	if o.start != want.start {
		return fmt.Sprintf("instantiation: %q, want %q", o.start, want.start)
	}
	for i := range want.calls {
		if o.calls[i] != want.calls[i] {
			return fmt.Sprintf("call %d: %s, want %s", i, o.calls[i], want.calls[i])
		}
	}
	if !slices.Equal(o.host, want.host) {
		return fmt.Sprintf("calls of the host: %x, want %x", o.host, want.host)
	}
	if !slices.Equal(o.globals, want.globals) {
		return fmt.Sprintf("globals: %x, want %x", o.globals, want.globals)
	}
	if !bytes.Equal(o.memory, want.memory) {
		if len(o.memory) != len(want.memory) {
			return fmt.Sprintf("memory of %d bytes, want %d", len(o.memory), len(want.memory))
		}
		for i := range o.memory {
			if o.memory[i] != want.memory[i] {
				return fmt.Sprintf("memory at %#x: %#x, want %#x", i, o.memory[i], want.memory[i])
			}
		}
	}
	return ""
}

// answer is what the host function returns.
func answer(x uint64) uint64 { return x*0x9e3779b97f4a7c15 ^ x>>7 }

// trapWords are a trap's words, as far as wazero tells them apart.
func trapWords(code abi.TrapCode) string {
	switch code {
	case abi.TrapTableOutOfBounds, abi.TrapUndefinedElement, abi.TrapUninitializedElement:
		return "invalid table access"
	case abi.TrapStackOverflow:
		return "stack overflow"
	}
	return code.Message()
}

// runEngine runs a program under one of our engines. Errors but traps are failures
// of the engine.
func runEngine(e spectest.Engine, p *program) (*outcome, error) {
	s, err := e.NewStore()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	o := &outcome{}
	note, err := s.NewFunc(clif.Signature{Params: []clif.Type{clif.I64}, Results: []clif.Type{clif.I64}},
		func(args, results []uint64) {
			o.host = append(o.host, args[0])
			results[0] = answer(args[0])
		})
	if err != nil {
		return nil, err
	}
	env, err := s.Compile(p.env)
	if err != nil {
		return nil, fmt.Errorf("env: %w", err)
	}
	mod, err := s.Compile(p.Wasm)
	if err != nil {
		return nil, err
	}
	host, err := s.Instantiate(env, func(string, string) (spectest.Extern, bool) { return note, true })
	if err != nil {
		return nil, fmt.Errorf("env: %w", err)
	}
	inst, err := s.Instantiate(mod, func(_, name string) (spectest.Extern, bool) { return host.Export(name) })
	if err != nil {
		o.start, err = trapOf(err)
		return o, err
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		if _, err := inst.Invoke("reset", nil); err != nil {
			return nil, err
		}
		values, err := inst.Invoke(c.Export, c.Args)
		var text string
		if err != nil {
			if text, err = trapOf(err); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Export, err)
			}
		} else {
			bits := make([]uint64, len(values))
			for n := range values {
				bits[n] = values[n].Bits
			}
			text = callText(c, bits, false)
		}
		o.calls = append(o.calls, text)
	}
	for _, g := range p.Globals {
		v, err := inst.Get(g)
		if err != nil {
			return nil, err
		}
		o.globals = append(o.globals, v.Bits)
	}
	m, _ := inst.Export("memory")
	switch m := m.(type) {
	case *inproc.Memory:
		o.memory = bytes.Clone(m.Bytes())
	case *interp.Memory:
		o.memory = m.Data
	}
	return o, nil
}

// trapOf is the words of a trap, or else err itself.
func trapOf(err error) (string, error) {
	var t interface{ TrapCode() abi.TrapCode }
	if errors.As(err, &t) {
		return "trap: " + trapWords(t.TrapCode()), nil
	}
	return "", err
}

// program is a generated program, perhaps with an environment of the host.
type program struct {
	*wasmgen.Program
	env []byte
}

// runWazero runs a program under wazero's interpreter, the judge.
func runWazero(ctx context.Context, p *program) (*outcome, error) {
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(ctx)
	o := &outcome{}
	note := api.GoFunc(func(_ context.Context, stack []uint64) {
		o.host = append(o.host, stack[0])
		stack[0] = answer(stack[0])
	})
	i64 := []api.ValueType{api.ValueTypeI64}
	b := rt.NewHostModuleBuilder("host")
	b.NewFunctionBuilder().WithGoFunction(note, i64, i64).Export("note")
	if _, err := b.Instantiate(ctx); err != nil {
		return nil, err
	}
	if _, err := rt.InstantiateWithConfig(ctx, p.env, wazero.NewModuleConfig().WithName("env")); err != nil {
		return nil, fmt.Errorf("env: %w", err)
	}
	mod, err := rt.InstantiateWithConfig(ctx, p.Wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		o.start, err = wazeroTrap(err)
		return o, err
	}
	reset := mod.ExportedFunction("reset")
	for i := range p.Calls {
		c := &p.Calls[i]
		if _, err := reset.Call(ctx); err != nil {
			return nil, err
		}
		results, err := mod.ExportedFunction(c.Export).Call(ctx, c.Args...)
		var text string
		if err != nil {
			if text, err = wazeroTrap(err); err != nil {
				return nil, fmt.Errorf("%s: %w", c.Export, err)
			}
		} else {
			text = callText(c, results, true)
		}
		o.calls = append(o.calls, text)
	}
	for _, g := range p.Globals {
		global := mod.ExportedGlobal(g)
		v := global.Get()
		if t := global.Type(); t == api.ValueTypeI32 || t == api.ValueTypeF32 {
			v = uint64(uint32(v))
		}
		o.globals = append(o.globals, v)
	}
	if m := mod.Memory(); m != nil {
		view, _ := m.Read(0, m.Size())
		o.memory = bytes.Clone(view)
	}
	return o, nil
}

func wazeroTrap(err error) (string, error) {
	_, msg, ok := strings.Cut(err.Error(), "wasm error: ")
	if !ok {
		return "", err
	}
	line, _, _ := strings.Cut(msg, "\n")
	return "trap: " + line, nil
}

// callText is the results of a call; the upper half of 32-bit ones does not count
// for wazero, and for us must be zero.
func callText(c *wasmgen.Call, results []uint64, clean bool) string {
	s := ""
	for i, r := range results {
		if clean && (c.Results[i] == 'i' || c.Results[i] == 'f') {
			r = uint64(uint32(r))
		}
		s += fmt.Sprintf(" %c:%x", c.Results[i], r)
	}
	return c.Export + s
}
