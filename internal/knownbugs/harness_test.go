package knownbugs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// call is a call of an export of the case's module number mod, with raw bits.
type call struct {
	mod  int
	fn   string
	args []uint64
}

// module is a module of a case; others import from it by its name.
type module struct {
	name string
	wat  string
	wasm []byte
}

// testCase is modules, instantiated in their order, and calls made in theirs. A module that
// traps when instantiated has no exports.
type testCase struct {
	mods  []module
	calls []call
	// watch compares the memories after each call, not only at the end.
	watch bool
	// noWazero leaves out wazero's interpreter, for the reason given.
	noWazero string
	// exact demands that NaNs have equal bits among our engines.
	exact bool
}

// single is a case of one module.
func single(wat string, calls ...call) *testCase {
	return &testCase{mods: []module{{wat: wat}}, calls: calls}
}

// event is what one instantiation or call did.
type event struct {
	trap   string
	place  *spectest.Place // of the trap
	values []uint64
	types  []byte // of the values
	memory uint32 // checksum afterwards
}

// history is all that an engine did with a case.
type history struct {
	events   []event // modules, then calls
	host     []uint64
	memories uint32
}

func nativeLevel(name string, l opt.Level, cpu string) spectest.Engine {
	return named{&nativeengine.Engine{Options: compile.Options{OptLevel: l, Verify: true, Jobs: 1, CPU: cpu}}, name}
}

// named is a native engine with its own name.
type named struct {
	*nativeengine.Engine
	name string
}

func (n named) Name() string { return n.name }

// natives are the ways to compile that this machine can run.
var natives = sync.OnceValue(func() []spectest.Engine {
	list := []spectest.Engine{nativeLevel("native-O0", opt.O0, ""), nativeLevel("native-O1", opt.O1, "")}
	if runtime.GOARCH == "amd64" {
		v3 := nativeLevel("native-O1-v3", opt.O1, "v3")
		var cpu *inproc.CPUError
		s, err := v3.NewStore()
		if err != nil {
			return list
		}
		defer s.Close()
		if _, err := s.Compile([]byte("\x00asm\x01\x00\x00\x00")); !errors.As(err, &cpu) {
			list = append(list, v3)
		}
	}
	return list
})

// interpreters are the CLIF interpreter on what translation and on what the mid-end give.
func interpreters() []spectest.Engine {
	return []spectest.Engine{&interpengine.Engine{}, &interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error {
		return new(opt.Optimizer).Run(f, opt.O1)
	}}}
}

// check runs a case on all engines and reports where they differ from the first, wazero's
// interpreter, and from each other, and where traps arise for others than for the CLIF interpreter.
func check(t *testing.T, c *testCase) *history {
	t.Helper()
	if err := c.assemble(); err != nil {
		t.Fatal(err)
	}
	engines := append(interpreters(), natives()...)
	if emulated() {
		engines = append(interpreters()[:1], natives()...)
	}
	var want *history
	judge, places := "", 0
	if c.noWazero == "" {
		var err error
		if want, err = playWazero(c); err != nil {
			t.Fatalf("wazero: %v", err)
		}
		judge = "wazero"
	}
	for _, e := range engines {
		got, err := play(e, c)
		switch {
		case err != nil:
			t.Errorf("%s: %v", e.Name(), err)
		case want == nil:
			want, judge = got, e.Name()
		default:
			if d := c.diff(got, want); d != "" {
				t.Errorf("%s against %s: %s", e.Name(), judge, d)
			} else if e == engines[0] {
				want.placed(got)
			}
			places += got.places(want)
		}
	}
	if want == nil {
		return nil
	}
	traps := 0
	for i := range want.events {
		if want.events[i].trap != "" {
			traps++
		}
	}
	t.Logf("%d calls, %d of them trap, %d places of traps compared", len(c.calls), traps, places)
	return want
}

// placed notes places of traps of a history that is the same otherwise.
func (h *history) placed(same *history) {
	for i := range h.events {
		h.events[i].place = same.events[i].place
	}
}

// places is how many places of traps both histories know.
func (h *history) places(other *history) (n int) {
	for i := range h.events {
		if h.events[i].place != nil && other.events[i].place != nil {
			n++
		}
	}
	return n
}

func (c *testCase) assemble() error {
	for i := range c.mods {
		m := &c.mods[i]
		if m.wasm != nil {
			continue
		}
		wasm, err := assemble(m.wat)
		if err != nil {
			return fmt.Errorf("module %d: %w", i, err)
		}
		m.wasm = wasm
	}
	return nil
}

// player runs a case on one of our engines.
type player struct {
	store     spectest.Store
	instances map[string]spectest.Instance
	memories  []func() []byte
	c         *testCase
	h         *history
}

// play gives what the engine did; an error is a failure of the engine.
func play(e spectest.Engine, c *testCase) (*history, error) {
	if err := c.assemble(); err != nil {
		return nil, err
	}
	s, err := e.NewStore()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p := &player{store: s, instances: map[string]spectest.Instance{}, c: c, h: &history{}}
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
			return nil, fmt.Errorf("%s%#x: %w", k.fn, k.args, err)
		}
	}
	p.h.memories = p.sum()
	return p.h, nil
}

func (p *player) instantiate(m *module) (spectest.Instance, error) {
	mod, err := p.store.Compile(m.wasm)
	if err != nil {
		return nil, err
	}
	var failed error
	inst, err := p.store.Instantiate(mod, func(from, name string) (spectest.Extern, bool) {
		if other := p.instances[from]; other != nil {
			return other.Export(name)
		}
		params, results, _ := strings.Cut(name, "_")
		sig := clif.Signature{Params: clifTypes(params), Results: clifTypes(results)}
		x, err := p.store.NewFunc(sig, func(args, out []uint64) { p.h.host = append(p.h.host, hostFunc(params, results, args, out)...) })
		failed = errors.Join(failed, err)
		return x, err == nil
	})
	if failed != nil {
		return nil, failed
	}
	if err := p.record(nil, err); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	if x, ok := inst.Export("memory"); ok {
		content, err := bytesOf(x)
		if err != nil {
			return nil, err
		}
		p.memories = append(p.memories, content)
	}
	p.instances[m.name] = inst
	return inst, nil
}

// bytesOf gives the content of a memory of one of our engines. What it does not know is an error: its memory would not be compared.
func bytesOf(x spectest.Extern) (func() []byte, error) {
	switch m := x.(type) {
	case *inproc.Memory:
		return m.Bytes, nil
	case *interp.Memory:
		return func() []byte { return m.Data }, nil
	}
	return nil, fmt.Errorf("the content of a %T is not known", x)
}

// memoryOf gives the memory that an instance exports.
func memoryOf(t testing.TB, inst spectest.Instance) []byte {
	t.Helper()
	x, ok := inst.Export("memory")
	if !ok {
		t.Fatal("no memory is exported")
	}
	content, err := bytesOf(x)
	if err != nil {
		t.Fatal(err)
	}
	return content()
}

// hostFunc is the function of the host whose name says its type, such as "ild_l": its
// results are numbers made of all arguments. It gives what to note of the call.
func hostFunc(params, results string, args, out []uint64) []uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	note := []uint64{uint64(len(args))}
	for i := range params {
		a := args[i]
		if params[i] == 'f' || params[i] == 'd' {
			a = anyNaN(params[i], a)
		}
		h = h*31 + a
		note = append(note, a)
	}
	for i := range results {
		switch out[i] = h ^ uint64(i)<<40 ^ h>>29; results[i] {
		case 'i':
			out[i] = uint64(uint32(out[i]))
		case 'f':
			out[i] = uint64(math.Float32bits(float32(int32(out[i]))))
		case 'd':
			out[i] = math.Float64bits(float64(int64(out[i])))
		}
	}
	return note
}

// clifLetters are the types that letters stand for.
var clifLetters = map[clif.Type]byte{clif.I32: 'i', clif.I64: 'l', clif.F32: 'f', clif.F64: 'd', clif.FuncRef: 'r', clif.Ref: 'x'}

func clifTypes(letters string) (out []clif.Type) {
	for _, c := range []byte(letters) {
		for t, l := range clifLetters {
			if l == c {
				out = append(out, t)
			}
		}
	}
	return out
}

// record notes what a call did. An error that is no trap is given back.
func (p *player) record(values []spectest.Value, err error) error {
	v := event{}
	if err != nil {
		var t spectest.Trapper
		if !errors.As(err, &t) {
			return err
		}
		v.trap, v.place = trapWords(t.TrapCode()), spectest.PlaceOf(t)
	}
	for _, x := range values {
		v.values = append(v.values, x.Bits)
		v.types = append(v.types, clifLetters[x.Type])
	}
	if p.c.watch {
		v.memory = p.sum()
	}
	p.h.events = append(p.h.events, v)
	return nil
}

func (p *player) sum() (s uint32) {
	for _, m := range p.memories {
		s = checksum(s, m())
	}
	return s
}

// checksum adds memory, all of it, to s.
func checksum(s uint32, b []byte) uint32 {
	return crc32.Update(s+uint32(len(b)), crc32.IEEETable, b)
}

// inprocTrap gives a trap of package inproc the method that spectest asks for.
type inprocTrap struct{ *inproc.Trap }

func (t inprocTrap) TrapCode() abi.TrapCode { return t.Code }

// trapOf is the words of the trap that err is, or err's text.
func trapOf(err error) string {
	var t spectest.Trapper
	switch {
	case err == nil:
		return ""
	case errors.As(err, &t):
		return trapWords(t.TrapCode())
	}
	return err.Error()
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

// anyNaN makes one NaN of all.
func anyNaN(t byte, bits uint64) uint64 {
	switch {
	case t == 'f' && bits&0x7FFFFFFF > 0x7F800000 && bits>>32 == 0:
		return 0x7FC00000
	case t == 'd' && bits&(1<<63-1) > 0x7FF<<52:
		return 0x7FF8 << 48
	}
	return bits
}

// playWazero runs a case on wazero's interpreter.
func playWazero(c *testCase) (*history, error) {
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(ctx)
	h := &history{}
	if err := wazeroHost(ctx, rt, c, h); err != nil {
		return nil, err
	}
	var memories []api.Memory
	sum := func() (s uint32) {
		for _, m := range memories {
			b, _ := m.Read(0, m.Size())
			s = checksum(s, b)
		}
		return s
	}
	record := func(values []uint64, types []api.ValueType, err error) error {
		v := event{values: slices.Clone(values)}
		if err != nil {
			_, msg, ok := strings.Cut(err.Error(), "wasm error: ")
			if !ok {
				return err
			}
			v.trap, _, _ = strings.Cut(msg, "\n")
		}
		for i := range values {
			t := map[api.ValueType]byte{0x7F: 'i', 0x7E: 'l', 0x7D: 'f', 0x7C: 'd', 0x70: 'r', 0x6F: 'x'}[types[i]]
			if t == 'i' || t == 'f' {
				v.values[i] = uint64(uint32(v.values[i]))
			}
			v.types = append(v.types, t)
		}
		if c.watch {
			v.memory = sum()
		}
		h.events = append(h.events, v)
		return nil
	}
	mods := make([]api.Module, len(c.mods))
	for i := range c.mods {
		m, err := rt.InstantiateWithConfig(ctx, c.mods[i].wasm, wazero.NewModuleConfig().WithName(c.mods[i].name).WithStartFunctions())
		if err := record(nil, nil, err); err != nil {
			return nil, fmt.Errorf("module %d: %w", i, err)
		}
		if err != nil {
			continue
		}
		mods[i] = m
		if x := m.ExportedMemory("memory"); x != nil {
			memories = append(memories, x)
		}
	}
	for i := range c.calls {
		k := &c.calls[i]
		if mods[k.mod] == nil {
			h.events = append(h.events, event{trap: "no instance"})
			continue
		}
		f := mods[k.mod].ExportedFunction(k.fn)
		values, err := f.Call(ctx, k.args...)
		if err := record(values, f.Definition().ResultTypes(), err); err != nil {
			return nil, fmt.Errorf("%s%#x: %w", k.fn, k.args, err)
		}
	}
	h.memories = sum()
	return h, nil
}

// wazeroHost defines the functions that the modules of a case import from "host".
func wazeroHost(ctx context.Context, rt wazero.Runtime, c *testCase, h *history) error {
	b := rt.NewHostModuleBuilder("host")
	seen := map[string]bool{}
	for i := range c.mods {
		text := c.mods[i].wat
		for {
			_, after, ok := strings.Cut(text, `(import "host" "`)
			if !ok {
				break
			}
			name, rest, _ := strings.Cut(after, `"`)
			if text = rest; seen[name] {
				continue
			}
			seen[name] = true
			params, results, _ := strings.Cut(name, "_")
			types := func(s string) (out []api.ValueType) {
				for _, l := range []byte(s) {
					out = append(out, map[byte]api.ValueType{'i': 0x7F, 'l': 0x7E, 'f': 0x7D, 'd': 0x7C}[l])
				}
				return out
			}
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
				args := slices.Clone(stack[:len(params)])
				for i := range params {
					if params[i] == 'i' || params[i] == 'f' {
						args[i] = uint64(uint32(args[i]))
					}
				}
				h.host = append(h.host, hostFunc(params, results, args, stack[:len(results)])...)
			}), types(params), types(results)).Export(name)
		}
	}
	_, err := b.Instantiate(ctx)
	return err
}

// diff describes the first differences; it is empty if there are none.
func (c *testCase) diff(got, want *history) string {
	var b bytes.Buffer
	n := 0
	for i := range want.events {
		g, w := &got.events[i], &want.events[i]
		if c.same(g, w) {
			continue
		}
		what := fmt.Sprintf("module %d", i)
		if i >= len(c.mods) {
			k := &c.calls[i-len(c.mods)]
			what = fmt.Sprintf("%d.%s(%#x)", k.mod, k.fn, k.args)
		}
		if n++; n <= 6 {
			fmt.Fprintf(&b, "\n%s: %v\n\twant %v", what, g, w)
		}
	}
	switch {
	case n > 0:
		return fmt.Sprintf("%d differences:%s", n, b.String())
	case !slices.Equal(got.host, want.host):
		return fmt.Sprintf("calls of the host: %#x, want %#x", got.host, want.host)
	case got.memories != want.memories:
		return fmt.Sprintf("memory afterwards: %08x, want %08x", got.memories, want.memories)
	}
	return ""
}

func (v *event) String() string {
	if v.trap != "" {
		return fmt.Sprintf("trap %q, memory %08x, in %v", v.trap, v.memory, v.place)
	}
	return fmt.Sprintf("%s %#x, memory %08x", v.types, v.values, v.memory)
}

func (c *testCase) same(g, w *event) bool {
	if g.trap != w.trap || g.place.Differs(w.place) || g.memory != w.memory || !bytes.Equal(g.types, w.types) {
		return false
	}
	for i := range g.values {
		t := g.types[i]
		switch x, y := g.values[i], w.values[i]; {
		case t == 'r':
			if (x == 0) != (y == 0) {
				return false
			}
		case x != y && (c.exact || anyNaN(t, x) != anyNaN(t, y)):
			return false
		}
	}
	return true
}
