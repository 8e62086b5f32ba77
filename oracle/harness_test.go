package oracle

import (
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/bytecodealliance/wasmtime-go/v39"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront/validate"
)

var dumpFlag = flag.String("dump", "", "write the modules of failing cases to this directory")

// module is a module of a case, as text or bytes; others import from it by its name.
type module struct {
	name string
	wat  string
	wasm []byte
}

// call is a call of an export of the case's module number mod, with raw bits.
type call struct {
	mod  int
	fn   string
	args []uint64
}

// testCase is modules, instantiated in their order, and calls made in theirs. A
// module that traps when instantiated has no exports.
type testCase struct {
	mods  []module
	calls []call
	// exactNaN demands equal bits of NaNs; otherwise all NaNs are equal.
	exactNaN bool
	// anyTrap makes all traps equal.
	anyTrap bool
}

// single is a case of one module.
func single(wat string, calls ...call) *testCase {
	return &testCase{mods: []module{{wat: wat}}, calls: calls}
}

// event is what one instantiation or call did.
type event struct {
	trap   string
	values []spectest.Value
	memory uint32 // checksum afterwards
}

// history is all that an engine did with a case.
type history struct {
	events  []event // modules, then calls
	globals []string
}

// level is an engine under test with its own name.
type level struct {
	*nativeengine.Engine
	name string
}

func (l level) Name() string { return l.name }

// levels are the ways to compile that are tested.
var levels = sync.OnceValue(func() []spectest.Engine {
	engine := func(name string, l opt.Level, cpu string) spectest.Engine {
		return level{&nativeengine.Engine{Options: compile.Options{OptLevel: l, Verify: true, Jobs: 1, CPU: cpu}}, name}
	}
	out := []spectest.Engine{engine("O0", opt.O0, ""), engine("O1", opt.O1, "")}
	v3 := engine("O1-v3", opt.O1, "v3")
	if _, err := play(v3, single(`(module)`)); err == nil {
		out = append(out, v3)
	}
	return out
})

var judge = sync.OnceValue(New)

// check runs a case everywhere and reports the differences.
func check(t *testing.T, c *testCase) {
	t.Helper()
	want, err := play(judge(), c)
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n\nStack backtrace")
		t.Errorf("wasmtime: %s", text)
		return
	}
	for _, e := range levels() {
		got, err := play(e, c)
		if err != nil {
			t.Errorf("%s: %v", e.Name(), err)
			continue
		}
		if d := c.diff(got, want); d != "" {
			t.Errorf("%s: %s", e.Name(), d)
			c.dump(t)
		}
	}
	traps := 0
	for i := range want.events {
		if want.events[i].trap != "" {
			traps++
		}
	}
	t.Logf("%d bytes of modules, %d calls, %d of them trap", c.size(), len(c.calls), traps)
}

func (c *testCase) size() (n int) {
	for i := range c.mods {
		n += len(c.mods[i].wasm)
	}
	return n
}

func (c *testCase) dump(t *testing.T) {
	if *dumpFlag == "" {
		return
	}
	for i := range c.mods {
		name := fmt.Sprintf("%s/%s.%d.wasm", *dumpFlag, strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()), i)
		if err := os.WriteFile(name, c.mods[i].wasm, 0o666); err != nil {
			t.Error(err)
		}
	}
}

// assemble translates the text of the modules, once.
func (c *testCase) assemble() error {
	for i := range c.mods {
		m := &c.mods[i]
		if m.wasm != nil {
			continue
		}
		wasm, err := wasmtime.Wat2Wasm(m.wat)
		if err != nil {
			return fmt.Errorf("module %d: %w", i, err)
		}
		m.wasm = wasm
	}
	return nil
}

// player runs a case on one engine.
type player struct {
	store     spectest.Store
	instances map[string]spectest.Instance
	memories  []interface{ Bytes() []byte }
	h         *history
}

func play(e spectest.Engine, c *testCase) (*history, error) {
	if err := c.assemble(); err != nil {
		return nil, err
	}
	s, err := e.NewStore()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p := &player{store: s, instances: map[string]spectest.Instance{}, h: &history{}}
	insts := make([]spectest.Instance, len(c.mods))
	for i := range c.mods {
		if insts[i], err = p.instantiate(&c.mods[i]); err != nil {
			return nil, fmt.Errorf("module %d: %w", i, err)
		}
	}
	for i := range c.calls {
		k := &c.calls[i]
		if insts[k.mod] == nil {
			p.h.events = append(p.h.events, event{trap: "no instance"})
			continue
		}
		values, err := insts[k.mod].Invoke(k.fn, k.args)
		if err := p.record(values, err); err != nil {
			return nil, fmt.Errorf("%v: %w", k, err)
		}
	}
	for i, inst := range insts {
		if inst != nil {
			if err := p.globals(c.mods[i].wasm, inst); err != nil {
				return nil, err
			}
		}
	}
	return p.h, nil
}

// instantiate gives no instance if the module traps.
func (p *player) instantiate(m *module) (spectest.Instance, error) {
	mod, err := p.store.Compile(m.wasm)
	if err != nil {
		return nil, err
	}
	var missing error
	inst, err := p.store.Instantiate(mod, func(module, name string) (spectest.Extern, bool) {
		if from := p.instances[module]; from != nil {
			return from.Export(name)
		}
		x, err := p.host(name)
		missing = errors.Join(missing, err)
		return x, err == nil
	})
	if missing != nil {
		return nil, missing
	}
	if err := p.record(nil, err); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	if x, ok := inst.Export("memory"); ok {
		p.memories = append(p.memories, x.(interface{ Bytes() []byte }))
		p.h.events[len(p.h.events)-1].memory = p.sum()
	}
	p.instances[m.name] = inst
	return inst, nil
}

// host makes a function of the host: its name says its type, such as "ild_l", and it
// returns numbers made of all arguments.
func (p *player) host(name string) (spectest.Extern, error) {
	params, results, ok := strings.Cut(name, "_")
	if !ok {
		return nil, fmt.Errorf("no host function %q", name)
	}
	types := func(s string) (out []clif.Type) {
		for _, c := range s {
			out = append(out, map[rune]clif.Type{'i': clif.I32, 'l': clif.I64, 'f': clif.F32, 'd': clif.F64}[c])
		}
		return out
	}
	sig := clif.Signature{Params: types(params), Results: types(results)}
	return p.store.NewFunc(sig, func(args, out []uint64) {
		h := uint64(0x9e3779b97f4a7c15)
		for _, a := range args {
			h = h*31 + a
		}
		for i, t := range sig.Results {
			switch out[i] = h ^ uint64(i)<<40 ^ h>>29; t {
			case clif.I32:
				out[i] = uint64(uint32(out[i]))
			case clif.F32:
				out[i] = uint64(math.Float32bits(float32(int32(out[i]))))
			case clif.F64:
				out[i] = math.Float64bits(float64(int64(out[i])))
			}
		}
	})
}

// record notes what a call did. An error that is no trap is given back.
func (p *player) record(values []spectest.Value, err error) error {
	v := event{values: values, memory: p.sum()}
	if err != nil {
		var t spectest.Trapper
		if !errors.As(err, &t) {
			return err
		}
		v.trap = trapClass(t.TrapCode())
	}
	p.h.events = append(p.h.events, v)
	return nil
}

// sum is a checksum of the memories; of large ones, of their beginning and end.
func (p *player) sum() (s uint32) {
	const most = 128 << 10
	for _, m := range p.memories {
		b := m.Bytes()
		if len(b) > most {
			s = crc32.Update(s, crc32.IEEETable, b[:most/2])
			b = b[len(b)-most/2:]
		}
		s = crc32.Update(s, crc32.IEEETable, b) + uint32(len(b))
	}
	return s
}

func (p *player) globals(wasm []byte, inst spectest.Instance) error {
	m, err := validate.Module(wasm, validate.Config{})
	if err != nil {
		return err
	}
	for i := range m.Exports {
		e := &m.Exports[i]
		if e.Kind != abi.ExternGlobal {
			continue
		}
		v, err := inst.Get(e.Name)
		if err != nil {
			return err
		}
		if v.Type == clif.FuncRef && v.Bits != 0 {
			v.Bits = 1
		}
		p.h.globals = append(p.h.globals, fmt.Sprintf("%s=%s", e.Name, valueText(v)))
	}
	return nil
}

// trapClass is a trap as far as both sides tell kinds apart.
func trapClass(c abi.TrapCode) string {
	if c == abi.TrapUndefinedElement {
		c = abi.TrapTableOutOfBounds
	}
	return c.Message()
}

func valueText(v spectest.Value) string { return fmt.Sprintf("%v:%#x", v.Type, v.Bits) }

func (v *event) String() string {
	if v.trap != "" {
		return fmt.Sprintf("trap %q, memory %08x", v.trap, v.memory)
	}
	s := "("
	for _, x := range v.values {
		s += " " + valueText(x)
	}
	return fmt.Sprintf("%s ), memory %08x", s, v.memory)
}

func (c *testCase) equal(got, want *event) bool {
	if (got.trap != want.trap && (!c.anyTrap || got.trap == "" || want.trap == "")) || got.memory != want.memory ||
		len(got.values) != len(want.values) {
		return false
	}
	for i := range got.values {
		g, w := got.values[i], want.values[i]
		switch {
		case g.Type != w.Type:
			return false
		case g.Type == clif.FuncRef:
			if (g.Bits == 0) != (w.Bits == 0) {
				return false
			}
		case g.Bits != w.Bits && (c.exactNaN || !isNaN(g) || !isNaN(w)):
			return false
		}
	}
	return true
}

func isNaN(v spectest.Value) bool {
	return v.Type == clif.F32 && v.Bits<<33>>33 > 0x7f800000 || v.Type == clif.F64 && v.Bits<<1>>1 > 0x7ff<<52
}

// diff describes the first differences; it is empty if there are none.
func (c *testCase) diff(got, want *history) string {
	s, n := "", 0
	for i := range want.events {
		if c.equal(&got.events[i], &want.events[i]) {
			continue
		}
		what := fmt.Sprintf("module %d", i)
		if i >= len(c.mods) {
			k := &c.calls[i-len(c.mods)]
			what = fmt.Sprintf("%d.%s(%#x)", k.mod, k.fn, k.args)
		}
		if n++; n <= 8 {
			s += fmt.Sprintf("\n%s: %v\n\twant %v", what, &got.events[i], &want.events[i])
		}
	}
	if g, w := strings.Join(got.globals, " "), strings.Join(want.globals, " "); g != w && n == 0 {
		s, n = fmt.Sprintf("\nglobals %s\n\twant %s", g, w), 1
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d differences:%s", n, s)
}

var _ interface{ Bytes() []byte } = (*inproc.Memory)(nil)
