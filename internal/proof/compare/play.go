package compare

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Event is what one instantiation or call did.
type Event struct {
	Trap   abi.TrapCode    // TrapNone if it did not trap
	Place  *spectest.Place // of the trap, nil if it is not known
	Values []spectest.Value
	// NoInstance: the call was not made, as its module trapped when it was instantiated.
	NoInstance bool
	Memories   uint32 // checksum afterwards, if the case is watched
}

// Trapped reports whether the event has no values: it trapped, or its module did.
func (v *Event) Trapped() bool { return v.Trap != abi.TrapNone || v.NoInstance }

// Result returns the values of an event, or its trap.
func (v *Event) Result() string {
	switch {
	case v.NoInstance:
		return "no instance"
	case v.Trap != abi.TrapNone:
		return fmt.Sprintf("trap %q", v.Trap.Message())
	}
	return valuesText(v.Values)
}

func (v *Event) String() string {
	s := v.Result()
	if v.Trap != abi.TrapNone {
		s += fmt.Sprintf(" in %v", v.Place)
	}
	return s + fmt.Sprintf(", memories %08x", v.Memories)
}

func valuesText(values []spectest.Value) string {
	s := ""
	for _, v := range values {
		if s += fmt.Sprintf(" %v:%#x", v.Type, v.Bits); v.Type == clif.V128 {
			s += fmt.Sprintf(",%#x", v.High)
		}
	}
	return "(" + strings.TrimPrefix(s, " ") + ")"
}

// History is all that an engine did with a case.
type History struct {
	Events   []Event          // modules, then calls
	Host     []uint64         // of each call of the host: the number of arguments, and the arguments
	Globals  []spectest.Value // exported, at the end
	Memories uint32           // checksum of the memories at the end
}

// traps returns how many events are traps.
func (h *History) traps() (n int) {
	for i := range h.Events {
		if h.Events[i].Trapped() {
			n++
		}
	}
	return n
}

// player runs a case on one engine.
type player struct {
	*Case
	store     spectest.Store
	instances map[string]spectest.Instance
	memories  []func() []byte
	globals   []func() (spectest.Value, error)
	h         *History
}

// Play runs a case on an engine. An error is a failure of the engine, or a mistake in the case.
func Play(e spectest.Engine, c *Case) (*History, error) {
	c, err := c.assembled()
	if err != nil {
		return nil, err
	}
	s, err := e.NewStore()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p := &player{Case: c, store: s, instances: map[string]spectest.Instance{}, h: &History{Events: make([]Event, 0, len(c.Modules)+len(c.Calls))}}
	insts := make([]spectest.Instance, len(c.Modules))
	for i := range c.Modules {
		if insts[i], err = p.instantiate(&c.Modules[i]); err != nil {
			return nil, fmt.Errorf("module %d: %w", i, err)
		}
	}
	for i := range c.Calls {
		k := &c.Calls[i]
		if insts[k.Module] == nil {
			p.h.Events = append(p.h.Events, Event{NoInstance: true})
			continue
		}
		values, err := insts[k.Module].Invoke(k.Func, k.Args)
		if err := p.record(values, err); err != nil {
			return nil, fmt.Errorf("%v: %w", k, err)
		}
	}
	for _, get := range p.globals {
		v, err := get()
		if err != nil {
			return nil, err
		}
		p.h.Globals = append(p.h.Globals, v)
	}
	p.h.Memories = p.checksum(math.MaxInt)
	return p.h, nil
}

// instantiate gives no instance if the module traps.
func (p *player) instantiate(m *Module) (spectest.Instance, error) {
	mod, err := p.store.Compile(m.Wasm)
	if err != nil {
		return nil, err
	}
	var failed error
	inst, err := p.store.Instantiate(mod, func(from, name string) (spectest.Extern, bool) {
		if other := p.instances[from]; other != nil {
			return other.Export(name)
		}
		x, err := p.hostFunc(name)
		failed = errors.Join(failed, err)
		return x, err == nil
	})
	if failed != nil {
		return nil, failed
	}
	trapped := err != nil
	if !trapped {
		if err := p.watchExports(m.Wasm, inst); err != nil {
			return nil, err
		}
	}
	if err := p.record(nil, err); err != nil || trapped {
		return nil, err
	}
	p.instances[m.Name] = inst
	return inst, nil
}

// watchExports notes the memories and globals that an instance exports.
func (p *player) watchExports(wasm []byte, inst spectest.Instance) error {
	m, err := validate.Module(wasm, validate.Config{})
	if err != nil {
		return err
	}
	for i := range m.Exports {
		name := m.Exports[i].Name
		switch m.Exports[i].Kind {
		case abi.ExternMemory:
			x, ok := inst.Export(name)
			if !ok {
				return fmt.Errorf("no memory %q", name)
			}
			content, err := memoryContent(x)
			if err != nil {
				return err
			}
			p.memories = append(p.memories, content)
		case abi.ExternGlobal:
			p.globals = append(p.globals, func() (spectest.Value, error) { return inst.Get(name) })
		}
	}
	return nil
}

// memoryContent returns a function that gives the present content of a memory. An unknown type of memory is an error, since
// it could not be compared.
func memoryContent(x spectest.Extern) (func() []byte, error) {
	switch m := x.(type) {
	case interface{ Bytes() []byte }:
		return m.Bytes, nil
	case *interp.Memory:
		return func() []byte { return m.Data }, nil
	}
	return nil, fmt.Errorf("the content of a %T is not known", x)
}

// Memory returns the content of the memory that an instance exports as "memory", as it is now.
func Memory(inst spectest.Instance) ([]byte, error) {
	x, ok := inst.Export("memory")
	if !ok {
		return nil, errors.New("no memory is exported")
	}
	content, err := memoryContent(x)
	if err != nil {
		return nil, err
	}
	return content(), nil
}

// hostFunc returns the function of the host whose name says its type. Its results are numbers made of all arguments.
func (p *player) hostFunc(name string) (spectest.Extern, error) {
	params, results, ok := strings.Cut(name, "_")
	if !ok {
		return nil, fmt.Errorf("no function %q of the host", name)
	}
	types := func(s string) (out []clif.Type) {
		for _, l := range []byte(s) {
			t := clif.TypeOf(abi.ValTypeByLetter(l))
			ok = ok && (t.IsInt() || t.IsFloat())
			out = append(out, t)
		}
		return out
	}
	sig := clif.Signature{Params: types(params), Results: types(results)}
	if !ok {
		return nil, fmt.Errorf("no type for the function %q of the host", name)
	}
	return p.store.NewFunc(sig, func(args, out []uint64) {
		p.h.Host = append(p.h.Host, uint64(len(args)))
		sum := uint64(0x9e3779b97f4a7c15)
		for i, a := range args {
			a = AnyNaN(sig.Params[i], a)
			p.h.Host = append(p.h.Host, a)
			sum = sum*31 + a
		}
		for i, t := range sig.Results {
			out[i] = number(t, sum^uint64(i)<<40^sum>>29)
		}
	})
}

// number makes a number of a type, no NaN, from bits.
func number(t clif.Type, bits uint64) uint64 {
	switch t {
	case clif.I32:
		return uint64(uint32(bits))
	case clif.F32:
		return uint64(math.Float32bits(float32(int32(bits))))
	case clif.F64:
		return math.Float64bits(float64(int64(bits)))
	}
	return bits
}

// AnyNaN maps all NaNs of a type to one; other bits stay.
func AnyNaN(t clif.Type, bits uint64) uint64 {
	switch {
	case t == clif.F32 && bits&0x7FFFFFFF > 0x7F800000 && bits>>32 == 0:
		return 0x7FC00000
	case t == clif.F64 && bits&(1<<63-1) > 0x7FF<<52:
		return 0x7FF8 << 48
	}
	return bits
}

// record notes what an instantiation or a call did. An error that is no trap is returned.
func (p *player) record(values []spectest.Value, err error) error {
	v := Event{Values: values}
	if err != nil {
		var t spectest.Trapper
		if !errors.As(err, &t) {
			return err
		}
		v.Trap, v.Place = t.TrapCode(), spectest.PlaceOf(t)
	}
	if p.Watch {
		v.Memories = p.checksum(watchedBytes)
	}
	p.h.Events = append(p.h.Events, v)
	return nil
}

// watchedBytes is how many bytes of each memory are compared after each call, half of them at its end. At the end of a case
// all bytes are compared.
const watchedBytes = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // which processors compute

// checksum returns a checksum of the memories: of their sizes, and of up to most bytes of each, half of them at its end.
func (p *player) checksum(most int) (s uint32) {
	for _, m := range p.memories {
		b := m()
		s += uint32(len(b) >> 16) // pages
		if len(b) > most {
			s = crc32.Update(s, castagnoli, b[:most/2])
			b = b[len(b)-most/2:]
		}
		s = crc32.Update(s, castagnoli, b)
	}
	return s
}
