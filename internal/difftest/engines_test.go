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
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/wasmgen"
	"github.com/waot-project/waot/spectest"
)

// outcome is what an engine did with a program.
type outcome struct {
	start   string // why instantiation failed
	calls   []string
	host    []uint64 // arguments of the calls of the host
	again   []string // calls that the host made meanwhile
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
	if !slices.Equal(o.again, want.again) {
		return fmt.Sprintf("calls by the host: %q, want %q", o.again, want.again)
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

// guest is what the host can do with a program while the program calls it.
type guest struct {
	depth  int // of the host within itself
	call   func(*wasmgen.Call) string
	memory func() []byte
	global func(name string, bits uint64)
}

// react is the host function: it notes the call, and may change memory and globals behind
// the back of the code, or call into it again. It gives the result.
func (g *guest) react(p *program, o *outcome, x uint64) uint64 {
	o.host = append(o.host, x)
	a := x*0x9e3779b97f4a7c15 ^ x>>7
	if g.call == nil {
		return a
	}
	switch pick := a >> 20; a >> 60 {
	case 0, 1, 2:
		if m := g.memory(); len(m) > 0 {
			m[x%uint64(min(len(m), 512))] ^= byte(pick)
		}
	case 3, 4, 5:
		if n := uint64(len(p.Globals)); n > 0 {
			g.global(p.Globals[pick%n], a)
		}
	case 6, 7, 8:
		if g.depth < 2 {
			g.depth++
			o.again = append(o.again, g.call(&p.Calls[pick%uint64(len(p.Calls))]))
			g.depth--
		}
	}
	return a
}

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
	o, g := &outcome{}, &guest{}
	note, err := s.NewFunc(clif.Signature{Params: []clif.Type{clif.I64}, Results: []clif.Type{clif.I64}},
		func(args, results []uint64) { results[0] = g.react(p, o, args[0]) })
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
	var failed error
	g.memory = func() []byte { return memoryOf(inst) }
	g.global = func(name string, bits uint64) { setGlobal(inst, name, bits) }
	g.call = func(c *wasmgen.Call) string {
		values, err := inst.Invoke(c.Export, c.Args)
		if err != nil {
			text, err := trapOf(err)
			failed = errors.Join(failed, err)
			return text
		}
		bits := make([]uint64, len(values))
		for n := range values {
			bits[n] = values[n].Bits
		}
		return callText(c, bits, false)
	}
	for i := range p.Calls {
		if _, err := inst.Invoke("reset", nil); err != nil {
			return nil, err
		}
		o.calls = append(o.calls, g.call(&p.Calls[i]))
		if failed != nil {
			return nil, fmt.Errorf("%s: %w", p.Calls[i].Export, failed)
		}
	}
	for _, g := range p.Globals {
		v, err := inst.Get(g)
		if err != nil {
			return nil, err
		}
		t := map[clif.Type]byte{clif.F32: 'f', clif.F64: 'd'}[v.Type]
		o.globals = append(o.globals, anyNaN(t, v.Bits))
	}
	o.memory = bytes.Clone(memoryOf(inst))
	return o, nil
}

func memoryOf(inst spectest.Instance) []byte {
	m, _ := inst.Export("memory")
	switch m := m.(type) {
	case *inproc.Memory:
		return m.Bytes()
	case *interp.Memory:
		return m.Data
	}
	return nil
}

func setGlobal(inst spectest.Instance, name string, bits uint64) {
	x, _ := inst.Export(name)
	switch x := x.(type) {
	case *inproc.Global:
		if t := x.Type(); t == meta.I32 || t == meta.F32 {
			bits = uint64(uint32(bits))
		}
		if err := x.Set(bits); err != nil {
			panic(err)
		}
	case *interp.Global:
		if x.Type == clif.I32 || x.Type == clif.F32 {
			bits = uint64(uint32(bits))
		}
		x.Bits = bits
	}
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
	o, g := &outcome{}, &guest{}
	note := api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = g.react(p, o, stack[0]) })
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
	var failed error
	g.memory = func() []byte {
		m, _ := mod.Memory().Read(0, mod.Memory().Size())
		return m
	}
	g.global = func(name string, bits uint64) {
		x := mod.ExportedGlobal(name).(api.MutableGlobal)
		if t := x.Type(); t == api.ValueTypeI32 || t == api.ValueTypeF32 {
			bits = uint64(uint32(bits))
		}
		x.Set(bits)
	}
	g.call = func(c *wasmgen.Call) string {
		results, err := mod.ExportedFunction(c.Export).Call(ctx, c.Args...)
		if err != nil {
			text, err := wazeroTrap(err)
			failed = errors.Join(failed, err)
			return text
		}
		return callText(c, results, true)
	}
	reset := mod.ExportedFunction("reset")
	for i := range p.Calls {
		if _, err := reset.Call(ctx); err != nil {
			return nil, err
		}
		o.calls = append(o.calls, g.call(&p.Calls[i]))
		if failed != nil {
			return nil, fmt.Errorf("%s: %w", p.Calls[i].Export, failed)
		}
	}
	for _, g := range p.Globals {
		global := mod.ExportedGlobal(g)
		v := global.Get()
		switch global.Type() {
		case api.ValueTypeI32:
			v = uint64(uint32(v))
		case api.ValueTypeF32:
			v = anyNaN('f', uint64(uint32(v)))
		case api.ValueTypeF64:
			v = anyNaN('d', v)
		}
		o.globals = append(o.globals, v)
	}
	o.memory = bytes.Clone(g.memory())
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
		s += fmt.Sprintf(" %c:%x", c.Results[i], anyNaN(c.Results[i], r))
	}
	return c.Export + s
}

// anyNaN makes one NaN of all: generated programs do not depend on which it is.
func anyNaN(t byte, bits uint64) uint64 {
	switch {
	case t == 'f' && bits&0x7FFFFFFF > 0x7F800000 && bits>>32 == 0:
		return 0x7FC00000
	case t == 'd' && bits&(1<<63-1) > 0x7FF<<52:
		return 0x7FF8 << 48
	}
	return bits
}
