//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/metaedit"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// Encoding of test modules.

type code = []byte

func leb(x int) (b []byte) {
	for ; x >= 0x80; x >>= 7 {
		b = append(b, byte(x)|0x80)
	}
	return append(b, byte(x))
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func vec(items ...[]byte) []byte { return append(leb(len(items)), cat(items...)...) }

func sectionOf(id byte, items ...[]byte) []byte {
	b := vec(items...)
	return cat([]byte{id}, leb(len(b)), b)
}

func name(s string) []byte { return append(leb(len(s)), s...) }

func module(sections ...[]byte) []byte {
	return append([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, cat(sections...)...)
}

func valTypes(ts []meta.ValType) []byte {
	b := leb(len(ts))
	for _, t := range ts {
		b = append(b, t.Code())
	}
	return b
}

func typeOf(t meta.FuncType) []byte {
	return cat([]byte{0x60}, valTypes(t.Params), valTypes(t.Results))
}

func bodyOf(locals []byte, parts ...code) []byte {
	b := cat(locals, cat(parts...), code{0x0B})
	return append(leb(len(b)), b...)
}

func exportOf(s string, kind byte, n int) []byte { return cat(name(s), []byte{kind}, leb(n)) }

// Instructions.

func op(b byte, n int) code { return append(code{b}, leb(n)...) }
func get(n int) code        { return op(0x20, n) }
func set(n int) code        { return op(0x21, n) }
func calls(n int) code      { return op(0x10, n) }
func globalGet(n int) code  { return op(0x23, n) }
func globalSet(n int) code  { return op(0x24, n) }
func tableGet() code        { return code{0x25, 0} }
func tableSet() code        { return code{0x26, 0} }

func num(x int) code { // i32.const
	b := code{0x41}
	for x < -64 || x > 63 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x)&0x7F)
}

var (
	add, sub, and, shr = code{0x6A}, code{0x6B}, code{0x71}, code{0x76}
	isNull             = code{0xD1}
	null               = code{0xD0, 0x6F}
	end                = code{0x0B}
	drop               = code{0x1A}
	memoryGrow         = cat(num(0), code{0x40, 0}, drop)
	tableGrow          = cat(null, num(0), code{0xFC, 15, 0}, drop)
)

func repeat(n int, f func(int) code) (b code) {
	for i := range n {
		b = append(b, f(i)...)
	}
	return b
}

const (
	i32  = meta.I32
	xref = meta.ExternRef
	many = 32 // references passed at once; most are on the stack
	back = 8  // references returned at once; half of them by way of memory
	span = 64 // elements of the table
)

type vt = []meta.ValType

func refs(n int, more ...meta.ValType) vt {
	return append(slices.Repeat(vt{xref}, n), more...)
}

// Functions of the torture module, by index.
const (
	fnMake = iota
	fnCheck
	fnChurn
	fnReenter
	fnMany
	fnPass
	fnRun
	fnNested
	fnElems
	fnDrop
)

var tortureTypes = []meta.FuncType{
	{Params: vt{i32}, Results: vt{xref}}, // make
	{Params: vt{xref, i32}},              // check
	{},                                   // churn, drop
	{Params: vt{xref, i32}, Results: vt{xref}},     // reenter, nested
	{Params: refs(many, i32), Results: refs(back)}, // many, pass
	{Params: vt{i32, i32, i32}, Results: vt{xref}}, // run
	{Params: vt{i32}}, // elems
}

// torture is a module whose function run(n, base, invariant) makes 32 references n
// times, with numbers from base on, and moves them through everything that can
// hold one. After each step the host is called, and helpers that may collect as it may.
func torture() []byte {
	imp := func(s string, t byte) []byte { return cat(name("host"), name(s), []byte{0, t}) }
	types := make([][]byte, len(tortureTypes))
	for i, t := range tortureTypes {
		types[i] = typeOf(t)
	}
	check := func(ref, number code) code { return cat(ref, number, calls(fnCheck)) }
	// All that may collect, one after the other, with the same references alive.
	churn := cat(calls(fnChurn), memoryGrow, tableGrow)
	place := func(base int) code { return cat(get(base), num(5), shr, num(span-1), and) }

	pass := bodyOf([]byte{0}, churn,
		place(many), get(1), tableSet(),
		get(many-1), globalSet(1),
		repeat(many+1, get), calls(fnMany),
		churn) // with the results on the operand stack

	const (
		base, invariant        = 1, 2
		result, prev, constant = 3, 3 + back, 4 + back
		prevNumber             = 5 + back
	)
	run := bodyOf([]byte{2, back + 2, 0x6F, 1, 0x7F},
		get(invariant), calls(fnMake), set(constant),
		code{0x03, 0x40}, // loop
		repeat(many, func(k int) code { return cat(get(base), num(k), add, calls(fnMake)) }),
		get(base), calls(fnPass),
		repeat(back, func(k int) code { return set(result + back - 1 - k) }),
		get(prev), isNull, code{0x45, 0x04, 0x40}, check(get(prev), get(prevNumber)),
		// What only the table holds since the last round.
		check(cat(get(prevNumber), num(5), shr, num(span-1), and, tableGet()), cat(get(prevNumber), num(3), sub)), end,
		churn,
		repeat(back, func(k int) code { return check(get(result+k), cat(get(base), num(4*k), add)) }),
		check(cat(place(base), tableGet()), cat(get(base), num(1), add)),
		check(globalGet(1), cat(get(base), num(many-1), add)),
		check(cat(get(result), get(base), calls(fnReenter)), get(base)),
		check(get(constant), get(invariant)),
		get(result+1), set(prev), get(base), num(4), add, set(prevNumber),
		get(base), num(many), add, set(base),
		get(0), num(1), sub, op(0x22, 0), code{0x0D, 0}, // n--; br_if
		end,
		get(prev))
	nested := bodyOf([]byte{0}, check(get(0), get(1)), churn, get(0))
	elems := bodyOf([]byte{0},
		churn,
		num(1), num(0), num(2), code{0xFC, 12, 0, 0}, // table.init
		check(cat(num(2), tableGet()), get(0)),
		num(1), null, num(2), code{0xFC, 17, 0}) // table.fill
	dropElem := bodyOf([]byte{0}, code{0xFC, 13, 0})
	return module(
		sectionOf(1, types...),
		sectionOf(2, imp("make", 0), imp("check", 1), imp("churn", 2), imp("reenter", 3), imp("many", 4),
			cat(name("host"), name("seed"), []byte{3, 0x6F, 0})),
		sectionOf(3, []byte{4}, []byte{5}, []byte{3}, []byte{6}, []byte{2}),
		sectionOf(4, cat([]byte{0x6F, 0}, leb(span))),
		sectionOf(5, []byte{0, 1}),
		sectionOf(6, cat([]byte{0x6F, 1}, null, end)),
		sectionOf(7, exportOf("run", 0, fnRun), exportOf("nested", 0, fnNested), exportOf("elems", 0, fnElems),
			exportOf("drop", 0, fnDrop), exportOf("table", 1, 0), exportOf("global", 3, 1)),
		sectionOf(9, cat([]byte{5, 0x6F}, vec(cat(null, end), cat(globalGet(0), end)))),
		sectionOf(10, pass, run, nested, elems, dropElem))
}

// object is a host value; number says which.
type object struct {
	number uint32
	pad    [6]int
}

// refHost is the host of the torture module.
type refHost struct {
	t     testing.TB
	s     *inproc.Store
	inst  *inproc.Instance
	run   *inproc.Func
	imps  map[string]inproc.Extern
	depth int // of run in itself
	next  uint32
	seed  uint64
	made  int
	moved int // of those, by compiled code
	most  int // handles in use
	first error

	watched int // objects whose death is counted
	died    atomic.Int64
}

var errEarly = errors.New("a reference was collected too early")

func (h *refHost) newRef(number uint32) uint64 {
	o := &object{number: number}
	if h.made++; h.made%8 == 0 {
		h.watched++
		runtime.AddCleanup(o, func(died *atomic.Int64) { died.Add(1) }, &h.died)
	}
	return h.s.ExternRef(o)
}

func (h *refHost) check(ref uint64, number uint64) error {
	if o, ok := h.s.Extern(ref).(*object); !ok || uint64(o.number) != number {
		return fmt.Errorf("%w: %#x is %v, not number %d", errEarly, ref, h.s.Extern(ref), number)
	}
	return nil
}

// churn makes garbage, and takes the free slots.
func (h *refHost) churn(*inproc.Caller, []uint64, []uint64) error {
	for range 2 {
		h.newRef(1 << 31)
	}
	h.most = max(h.most, h.s.NumRefs())
	return nil
}

func (h *refHost) reenter(_ *inproc.Caller, args, results []uint64) error {
	local := h.newRef(7)
	f, err := h.inst.Func("nested")
	if err != nil {
		return err
	}
	var res [1]uint64
	nested := []uint64{args[0], args[1]}
	args[0] = 0 // from here on only the frame of the function keeps it
	if err := f.Call(nested, res[:]); err != nil {
		return err
	}
	if h.depth < 2 {
		h.depth++
		defer func() { h.depth-- }()
		base := h.take()
		var last [1]uint64
		if err := h.run.Call([]uint64{1, uint64(base), uint64(base) + 1e9}, last[:]); err != nil {
			return err
		}
		if err := h.check(last[0], uint64(base)+4); err != nil {
			return err
		}
	}
	h.churn(nil, nil, nil)
	if err := h.check(local, 7); err != nil {
		return err
	}
	results[0] = res[0]
	return h.check(res[0], args[1])
}

// take gives the first of 32 numbers.
func (h *refHost) take() uint32 {
	h.next += many
	return h.next
}

func (h *refHost) many(_ *inproc.Caller, args, results []uint64) error {
	h.churn(nil, nil, nil)
	for k, r := range args[:many] {
		if err := h.check(r, args[many]+uint64(k)); err != nil {
			return err
		}
	}
	for k := range results {
		results[k] = args[4*k]
	}
	return nil
}

func newRefHost(t testing.TB, c inproc.Config, wasm []byte, level opt.Level) *refHost {
	t.Helper()
	img, err := image(wasm, level)
	if err != nil {
		t.Fatal(err)
	}
	return newImageHost(t, c, img)
}

func newImageHost(t testing.TB, c inproc.Config, img *inproc.Image) *refHost {
	t.Helper()
	s, err := inproc.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	h := &refHost{t: t, s: s}
	t.Cleanup(func() { s.Close() })
	h.imps = map[string]inproc.Extern{}
	for i, f := range []struct {
		name string
		fn   inproc.HostFunc
	}{
		{"make", func(_ *inproc.Caller, args, results []uint64) error {
			h.moved++
			results[0] = h.newRef(uint32(args[0]))
			return nil
		}},
		{"check", func(_ *inproc.Caller, args, _ []uint64) error { return h.check(args[0], args[1]) }},
		{"churn", h.churn}, {"reenter", h.reenter}, {"many", h.many},
	} {
		x, err := s.NewHostFunc(tortureTypes[i], f.fn)
		if err != nil {
			t.Fatal(err)
		}
		h.imps[f.name] = x
	}
	h.seed = h.newRef(99)
	g, err := s.NewGlobal(xref, false, h.seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.Release(h.seed)
	h.imps["seed"] = g
	m, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	h.inst, err = s.Instantiate(m, h.resolve)
	if err != nil {
		t.Fatal(err)
	}
	g.Forget() // from here on only the element segment holds the seed
	if h.run, err = h.inst.Func("run"); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *refHost) resolve(_, name string) inproc.Extern { return h.imps[name] }

func (h *refHost) instantiate(wasm []byte, level opt.Level) (*inproc.Instance, error) {
	img, err := image(wasm, level)
	if err != nil {
		return nil, err
	}
	m, err := h.s.Load(img)
	if err != nil {
		return nil, err
	}
	return h.s.Instantiate(m, h.resolve)
}

func image(wasm []byte, level opt.Level) (*inproc.Image, error) {
	r, err := compile.Module(wasm, compile.Options{OptLevel: level, Verify: true, Jobs: 1})
	if err != nil {
		return nil, err
	}
	return load.Image(r.Object, r.Meta)
}

// some runs the torture function until n references have gone through it.
func (h *refHost) some(n int) error {
	for h.moved < n {
		base, res := h.take(), []uint64{0}
		h.next += 3 * many
		if err := h.run.Call([]uint64{4, uint64(base), uint64(base) + 1e9}, res); err != nil {
			return err
		}
		if err := h.check(res[0], uint64(base)+3*many+4); err != nil {
			return err
		}
	}
	return nil
}

// empty drops what is still referred to; nothing may be left.
func (h *refHost) empty() {
	h.t.Helper()
	table, err := h.inst.Table("table")
	if err != nil {
		h.t.Fatal(err)
	}
	for i := range table.Len() {
		table.Set(i, 0)
	}
	global, err := h.inst.Global("global")
	if err != nil {
		h.t.Fatal(err)
	}
	global.Set(0)
	f, err := h.inst.Func("nested") // forgets the results of the call before
	if err != nil {
		h.t.Fatal(err)
	}
	f.Call([]uint64{0, 0}, []uint64{0})
	if err := h.s.CollectRefs(); err != nil {
		h.t.Fatal(err)
	}
	if n, l := h.s.NumRefs(), h.s.NumLocals(); n != 1 || l != 0 { // the seed
		h.t.Errorf("%d handles and %d locals are left", n, l)
	}
	for n := 0; n < 1000 && h.died.Load() < int64(h.watched); n++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if n := h.died.Load(); n != int64(h.watched) {
		h.t.Errorf("%d of %d values died", n, h.watched)
	}
}

// TestRefsThroughEverything moves 10^6 distinct references through compiled code, 10^5 where that takes minutes:
// nothing is collected early, nothing stays.
func TestRefsThroughEverything(t *testing.T) {
	for _, c := range []struct {
		name   string
		always bool
		level  opt.Level
		n      int
		most   int  // handles in use at once
		beside bool // Go's collector runs beside, and interrupts native code
	}{
		{"always", true, opt.O1, 1_000_000, 400, false},
		{"always O0", true, opt.O0, 50_000, 400, false},
		{"sometimes", false, opt.O1, 1_000_000, 2000, false},
		{"beside Go's collector", true, opt.O1, 100_000, 400, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := c.n / testenv.Cases(1, 4, 1)
			if testing.Short() || underRace || os.Getenv("WAOT_EMULATOR") != "" {
				n /= 10
			}
			h := newRefHost(t, inproc.Config{CollectAlways: c.always}, torture(), c.level)
			start := time.Now()
			if c.beside {
				stop := make(chan bool)
				defer close(stop)
				go func() {
					for {
						select {
						case <-stop:
							return
						default:
							runtime.GC()
						}
					}
				}()
			}
			if err := h.some(n); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d references and %d of the host's own in %v, at most %d in use", h.moved, h.made-h.moved, time.Since(start), h.most)
			if h.most > c.most {
				t.Errorf("%d handles in use at once", h.most)
			}
			h.empty()
		})
	}
}

// steps are uses of each kind of root.
func (h *refHost) steps() error {
	if err := h.some(3000); err != nil {
		return err
	}
	elems, err := h.inst.Func("elems")
	if err != nil {
		return err
	}
	if err := elems.Call([]uint64{99}, nil); err != nil {
		return err
	}
	// A claim, and what the last call returned.
	ref, res := h.newRef(5), []uint64{0}
	h.churnOutside()
	if err := h.check(ref, 5); err != nil {
		return err
	}
	f, err := h.inst.Func("nested")
	if err != nil {
		return err
	}
	if err := f.Call([]uint64{ref, 5}, res); err != nil {
		return err
	}
	h.s.Release(ref)
	h.churnOutside()
	return h.check(res[0], 5)
}

func (h *refHost) churnOutside() {
	for range 10 {
		h.s.Release(h.newRef(1 << 31))
	}
}

// TestOmittedRoots leaves out each kind of root: that the checks of these tests
// notice it says that they would notice a mistake.
func TestOmittedRoots(t *testing.T) {
	for n := -1; n < len(inproc.RootKinds); n++ {
		h := newRefHost(t, inproc.Config{CollectAlways: true}, torture(), opt.O1)
		if n < 0 {
			if err := h.steps(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		// What instantiation needs is there.
		h.s.SkipRoot(n)
		err := h.steps()
		if !errors.Is(err, errEarly) {
			t.Errorf("without %s: %v", inproc.RootKinds[n], err)
		}
	}
}

// TestOmittedSlots leaves out single slots of stack maps: every one matters.
func TestOmittedSlots(t *testing.T) {
	img, err := image(torture(), opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	whole := img.Meta
	n := 0
	maps := metaedit.StackMaps(whole)
	for i, m := range maps {
		for k, d := range m.Slots {
			n++
			cut := *whole
			less := slices.Clone(maps)
			less[i].Slots = slices.Delete(slices.Clone(m.Slots), k, k+1)
			cut.StackMaps = metaedit.Coded(less)
			img.Meta = &cut
			h := newImageHost(t, inproc.Config{CollectAlways: true}, img)
			var refused *inproc.ReferenceError // it came back to Go before the check
			if err := h.some(1); !errors.Is(err, errEarly) && !errors.As(err, &refused) {
				t.Errorf("without slot %d at %#x: %v", d, m.Offset, err)
			}
			h.s.Close()
		}
	}
	t.Logf("%d slots", n)
}

// TestElementRoots: a reference that only an element segment holds, until it is
// dropped.
func TestElementRoots(t *testing.T) {
	h := newRefHost(t, inproc.Config{}, torture(), opt.O1)
	seed := h.seed
	run := func(name string, args ...uint64) {
		t.Helper()
		f, err := h.inst.Func(name)
		if err == nil {
			err = f.Call(args, nil)
		}
		if err != nil {
			t.Fatal(name, err)
		}
	}
	for range 2 {
		run("elems", 99)
		if h.s.CollectRefs(); h.s.NumRefs() != 1 || h.check(seed, 99) != nil {
			t.Error("lost")
		}
	}
	run("drop")
	if h.s.CollectRefs(); h.s.NumRefs() != 0 {
		t.Error("held by a dropped segment")
	}
}

// starter is a module with an element segment, a global and, in the imported table of
// functions, a getter of it; its start function fills the global and then ends as last says.
//
//	imports 0 make, 1 fail; functions 2 getter, 3 start
func starter(last code) []byte {
	return module(
		sectionOf(1, typeOf(tortureTypes[0]), typeOf(tortureTypes[2]), typeOf(meta.FuncType{Results: vt{xref}})),
		sectionOf(2, cat(name("host"), name("make"), []byte{0, 0}), cat(name("host"), name("fail"), []byte{0, 1}),
			cat(name("host"), name("funcs"), []byte{1, 0x70, 0, 1}), cat(name("host"), name("refs"), []byte{1, 0x6F, 0, 4})),
		sectionOf(3, []byte{2}, []byte{1}),
		sectionOf(6, cat([]byte{0x6F, 1}, null, end)),
		[]byte{8, 1, 3}, // start
		sectionOf(9, cat([]byte{0}, num(0), end, vec([]byte{2}))),
		sectionOf(10,
			bodyOf([]byte{0}, globalGet(0)),
			bodyOf([]byte{0}, num(11), calls(0), globalSet(0), num(2), num(12), calls(0), code{0x26, 1}, last)))
}

// TestRefsOfFailedInstances: what an instantiation wrote before it failed stays
// valid: in imported tables, and in globals that its functions in such tables read.
func TestRefsOfFailedInstances(t *testing.T) {
	stop := errors.New("stop")
	for _, c := range []struct {
		name string
		last code
		fail func() error
	}{
		{"trap", code{0x00}, nil},
		{"table out of bounds", cat(num(1000), null, code{0x26, 1}), nil},
		{"error of the host", calls(1), func() error { return stop }},
		{"panic of the host", calls(1), func() error { panic(stop) }},
	} {
		for _, always := range []bool{false, true} {
			h := newRefHost(t, inproc.Config{CollectAlways: always}, torture(), opt.O1)
			funcs, err := h.s.NewTable(meta.FuncRef, inproc.Limits{Min: 1})
			if err != nil {
				t.Fatal(err)
			}
			table, err := h.s.NewTable(xref, inproc.Limits{Min: 4})
			if err != nil {
				t.Fatal(err)
			}
			fail, err := h.s.NewHostFunc(tortureTypes[2], func(*inproc.Caller, []uint64, []uint64) error { return c.fail() })
			if err != nil {
				t.Fatal(err)
			}
			h.imps["funcs"], h.imps["refs"], h.imps["fail"] = funcs, table, fail
			func() {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				_, err = h.instantiate(starter(c.last), opt.O1)
			}()
			var trap *inproc.Trap
			if c.fail == nil && !errors.As(err, &trap) || c.fail != nil && !errors.Is(err, stop) {
				t.Fatalf("%s: %v", c.name, err)
			}
			h.churnOutside()
			h.s.CollectRefs()
			getter, _ := funcs.Get(0)
			f := h.s.FuncOf(getter)
			if f == nil {
				t.Fatalf("%s: no function", c.name)
			}
			res := []uint64{0}
			if err := f.Call(nil, res); err != nil {
				t.Fatal(err)
			}
			in, _ := table.Get(2)
			if err := errors.Join(h.check(res[0], 11), h.check(in, 12)); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if n := h.s.NumLocals(); n != 0 {
				t.Errorf("%s: %d locals", c.name, n)
			}
		}
	}
}

// TestLimitedInstances: an instantiation that a limit of the store refuses leaves nothing
// that a collection could stumble over.
func TestLimitedInstances(t *testing.T) {
	h := newRefHost(t, inproc.Config{CollectAlways: true, MaxTableElements: span}, torture(), opt.O1)
	big := module(
		sectionOf(1, typeOf(tortureTypes[2])),
		sectionOf(3, []byte{0}),
		sectionOf(4, []byte{0x6F, 0, 4}, cat([]byte{0x6F, 0}, leb(span+1))),
		sectionOf(6, cat([]byte{0x6F, 1}, null, end)),
		sectionOf(9, cat([]byte{5, 0x6F}, vec(cat(null, end)))),
		sectionOf(10, bodyOf([]byte{0})))
	var limit *inproc.LimitError
	if _, err := h.instantiate(big, opt.O1); !errors.As(err, &limit) {
		t.Fatal(err)
	}
	if err := h.some(500); err != nil {
		t.Fatal(err)
	}
	h.empty()
}
