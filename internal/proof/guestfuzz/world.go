package guestfuzz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"weak"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
)

// token is a Go value that externrefs refer to. Only stores keep tokens alive.
type token struct{ n, check uint64 }

func (t *token) sound() bool { return t.check == t.n*0x9e3779b97f4a7c15 }

// knownWord is the word of an externref that Go code has had.
type knownWord struct {
	word uint64
	ref  *handle
}

// world is a store with its model.
type world struct {
	r      *rand.Rand
	runner *runner
	level  int // how many worlds it is nested in
	budget int // what the host may still do in calls
	limits limits
	store  *host.Store
	nop    *host.Func // does nothing
	closed bool
	acts   []*activation // innermost last
	scopes []*scope      // of the functions of the host that are active
	stop   bool          // no more calls: the model cannot predict them

	stepGlobal, fuelGlobal, seedGlobal *globalItem

	memories  []*memoryItem
	tables    []*tableItem
	globals   []*globalItem
	tags      []*tagItem
	instances []*instance // also those whose instantiation has failed
	counted   int         // instances that count for the limit
	funcs     []*funcItem // that can be called from Go
	byReal    map[*host.Func]*funcItem

	exns    []*exception // that Go code has
	tokens  []weak.Pointer[token]
	claims  []knownWord // retained words, once for each Retain
	words   []knownWord // some that have been seen
	unsure  bool        // of which functions of instances that cannot be asked are in the places that have some
	inexact bool        // the model does not know exactly which handles are in places that Go cannot see
}

// scope is a call of a function of the host.
type scope struct {
	words  []knownWord  // that are valid in it
	caller *host.Caller // nil if the function does not get one
	depth  int          // how many calls are active
}

// callContext is the context of a call.
type callContext struct {
	ctx    context.Context
	cancel context.CancelCauseFunc // nil if only time ends it, or nothing
	always func()                  // to be called in the end
}

// ended reports whether the context has ended.
func (c *callContext) ended() bool { return c != nil && c.ctx != nil && c.ctx.Err() != nil }

// callState is what the world knows of the real call of an activation.
type callState struct {
	ctx     *callContext
	hostErr error // what a function of the host has ended it by
	panics  any   // or what it has panicked with
	refused bool  // or a word that it has returned
	mustEnd bool  // the context has ended before a function of the host returned
}

// newWorld makes a store with random limits.
func newWorld(run *runner, seed uint64, level int) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 0x5eed)), runner: run, level: level, byReal: map[*host.Func]*funcItem{}}
	w.budget = 20 + w.r.IntN(200)>>(2*level)
	w.limits = randomLimits(w.r, run.NoCollectAlways)
	p, err := inproc.NewStore(w.limits.config())
	if err != nil {
		w.fail("NewStore: %v", err)
	}
	w.store = (*host.Store)(p)
	w.nop, err = w.store.NewFunc(func() {})
	w.must(err, "NewFunc")
	w.seedGlobal = w.newGlobal('x', false, w.newToken())
	w.stepGlobal = w.newGlobal('l', true, nil)
	w.fuelGlobal = w.newGlobal('l', true, nil)
	return w
}

// failure is a finding, which ends the episode.
type failure struct{ text string }

// fail ends the episode.
func (w *world) fail(format string, args ...any) {
	panic(w.runner.failed(fmt.Sprintf(format, args...), w))
}

// must fails if there is an error.
func (w *world) must(err error, what string) {
	if err != nil {
		w.fail("%s: %v", what, err)
	}
}

// count counts something that was done.
func (w *world) count(what string) { w.runner.counts[what]++ }

// inside reports whether a call is active.
func (w *world) inside() bool { return len(w.acts) > 0 }

// newToken returns a new Go value.
func (w *world) newToken() *token {
	n := w.runner.nextToken()
	t := &token{n, n * 0x9e3779b97f4a7c15}
	w.tokens = append(w.tokens, weak.Make(t))
	return t
}

// checkRef compares what an externref refers to with the model.
func (w *world) checkRef(what string, v any, want *handle) {
	if want == nil {
		if v != nil {
			w.fail("%s: %v, want null", what, v)
		}
		return
	}
	if t, ok := v.(*token); !ok || t.n != want.tok || !t.sound() {
		w.fail("%s: %v, want token %d", what, v, want.tok)
	}
}

// checkHandle is checkRef for a handle of either kind, which is not null.
func (w *world) checkHandle(what string, v any, want *handle) {
	if want.exn == nil {
		w.checkRef(what, v, want)
		return
	}
	x, _ := v.(*host.Exception)
	w.checkException(what, x, want.exn)
}

// checkFunc compares a function.
func (w *world) checkFunc(what string, f *host.Func, want *funcItem) {
	switch {
	case want == nil && f == nil:
	case want == nil || f == nil:
		w.fail("%s: function %p, want %v", what, f, want)
	case want.real == nil && w.unsure:
	case want.real == nil: // its instance cannot be asked
		if w.byReal[f] != nil {
			w.fail("%s: another function", what)
		}
		want.real, w.byReal[f] = f, want
	case want.real != f:
		w.fail("%s: another function", what)
	}
}

// checkValue compares a value as package host gives it.
func (w *world) checkValue(what string, t byte, v host.Value, want value) {
	switch t {
	case 'x':
		w.checkRef(what, v.Ref(), want.ref)
	case 'r':
		w.checkFunc(what, v.Func(), want.fn)
	case 'e':
		switch {
		case want.ref != nil:
			w.checkException(what, v.Exception(), want.ref.exn)
		case v.Exception() != nil:
			w.fail("%s: exception %v, want null", what, v.Exception().Args())
		}
	default:
		if have := numberBits(v); have != want.bits {
			w.fail("%s: %c %#x, want %#x", what, t, have, want.bits)
		}
	}
}

// checkWord compares a word.
func (w *world) checkWord(what string, t byte, word uint64, want value) {
	switch t {
	case 'x', 'e':
		if v := w.store.Extern(word); want.ref != nil {
			w.checkHandle(what, v, want.ref)
		} else if v != nil {
			w.fail("%s: %v, want null", what, v)
		}
		if (word == 0) != (want.ref == nil) {
			w.fail("%s: word %#x", what, word)
		}
		w.see(word, want.ref)
	case 'r':
		w.checkFunc(what, w.store.FuncOf(word), want.fn)
	default:
		if word != want.bits {
			w.fail("%s: %c %#x, want %#x", what, t, word, want.bits)
		}
	}
}

// see remembers a word.
func (w *world) see(word uint64, h *handle) {
	if h == nil {
		return
	}
	k := knownWord{word, h}
	if len(w.words) < 64 {
		w.words = append(w.words, k)
	} else {
		w.words[w.r.IntN(len(w.words))] = k
	}
	if n := len(w.scopes); n > 0 {
		w.scopes[n-1].words = append(w.scopes[n-1].words, k)
	}
}

// numberBits returns a number as a word; 0 for references.
func numberBits(v host.Value) uint64 {
	switch v.Type() {
	case host.TypeI32:
		return uint64(uint32(v.I32()))
	case host.TypeI64:
		return uint64(v.I64())
	case host.TypeF32:
		return uint64(math.Float32bits(v.F32()))
	case host.TypeF64:
		return math.Float64bits(v.F64())
	}
	return 0
}

// numberValue returns a number for package host.
func numberValue(t byte, bits uint64) host.Value {
	switch t {
	case 'i':
		return host.I32(int32(bits))
	case 'l':
		return host.I64(int64(bits))
	case 'f':
		return host.F32(math.Float32frombits(uint32(bits)))
	}
	return host.F64(math.Float64frombits(bits))
}

// snapshot is a copy of all that the host can see.
type snapshot struct {
	memories [][]byte
	tables   [][]value
	globals  []value
}

func (w *world) snapshot() *snapshot {
	s := &snapshot{}
	for _, m := range w.memories {
		s.memories = append(s.memories, bytes.Clone(m.data))
	}
	for _, t := range w.tables {
		s.tables = append(s.tables, append([]value(nil), t.elems...))
	}
	for _, g := range w.globals {
		s.globals = append(s.globals, g.v)
	}
	return s
}

// compare compares everything that the host can see with the model. Values may also be as they were in one of the
// snapshots; the model adopts these.
func (w *world) compare(before ...*snapshot) {
	w.count("comparisons of all state")
	for n, m := range w.memories {
		if m.real != nil {
			old := make([][]byte, len(before))
			for k, s := range before {
				old[k] = s.memories[n]
			}
			w.compareMemory(m, old)
		}
	}
	for n, t := range w.tables {
		if t.real != nil {
			old := make([][]value, len(before))
			for k, s := range before {
				old[k] = s.tables[n]
			}
			w.compareTable(t, old)
		}
	}
	for n, g := range w.globals {
		if g.real == nil {
			continue
		}
		v, err := g.real.Get()
		w.must(err, "Global.Get")
		old := make([]value, len(before))
		for k, s := range before {
			old[k] = s.globals[n]
		}
		w.adoptOne(g.typ, v, &g.v, old)
		w.checkValue(fmt.Sprintf("global %d", n), g.typ, v, g.v)
	}
}

// isValue reports whether checkValue would pass.
func (w *world) isValue(t byte, v host.Value, want value) bool {
	switch t {
	case 'x':
		x, ok := v.Ref().(*token)
		return want.ref == nil && v.Ref() == nil || want.ref != nil && ok && x.n == want.ref.tok
	case 'e':
		if want.ref == nil {
			return v.Exception() == nil
		}
		return isException(v.Exception(), want.ref.exn)
	case 'r':
		if want.fn == nil {
			return v.Func() == nil
		}
		return v.Func() != nil && (want.fn.real == v.Func() || want.fn.real == nil && (w.unsure || w.byReal[v.Func()] == nil))
	}
	return numberBits(v) == want.bits
}

// adoptOne makes a value in the model one of those before if the real value may be that.
func (w *world) adoptOne(t byte, real host.Value, v *value, before []value) {
	unknown := map[*funcItem]bool{}
	for _, old := range append([]value{*v}, before...) {
		if old.fn != nil && old.fn.real == nil && w.isValue(t, real, old) {
			unknown[old.fn] = true
		}
	}
	if len(unknown) > 1 { // functions of instances that cannot be asked, and it is not to be seen which
		w.unsure, w.stop = true, true
	}
	for _, old := range before {
		if w.isValue(t, real, old) {
			w.adopt(v, old)
		}
	}
}

// adopt makes a value in the model what it was before.
func (w *world) adopt(v *value, old value) {
	if v.ref != nil && old.ref != nil && v.ref != old.ref && v.ref.same(old.ref) {
		w.inexact = true // one of two, and it is unknown which
	}
	*v = old
}

// compareMemory compares a memory, whose bytes may also be old ones.
func (w *world) compareMemory(m *memoryItem, before [][]byte) {
	real := m.real.Bytes()
	for _, old := range before {
		if len(real) == len(old) {
			m.data = m.data[:len(old)]
		}
		if len(real) != len(m.data) {
			continue
		}
		for i, b := range real {
			if i < len(old) && b == old[i] {
				m.data[i] = b
			}
		}
	}
	if bytes.Equal(real, m.data) {
		return
	}
	if len(real) != len(m.data) {
		w.fail("a memory of %d bytes, want %d", len(real), len(m.data))
	}
	for i := range real {
		if real[i] != m.data[i] {
			w.fail("byte %#x of a memory: %#x, want %#x", i, real[i], m.data[i])
		}
	}
}

// compareTable compares a table, whose elements may also be old ones.
func (w *world) compareTable(t *tableItem, before [][]value) {
	n := int(t.real.Len())
	for _, old := range before {
		if n == len(old) {
			t.elems = t.elems[:n]
		}
	}
	if len(before) > 0 && n < len(t.elems) {
		// The end of a context may keep tables from growing, which the code may see before it ends.
		t.elems, w.inexact, w.stop = t.elems[:n], true, true
	}
	if n != len(t.elems) {
		w.fail("a table of %d elements, want %d", n, len(t.elems))
	}
	for i := range t.elems {
		x, err := t.real.Get(uint32(i))
		w.must(err, "Table.Get")
		v := valueOf(t.elem, x)
		var old []value
		for _, elems := range before {
			if i < len(elems) {
				old = append(old, elems[i])
			}
		}
		w.adoptOne(t.elem, v, &t.elems[i], old)
		w.checkValue(fmt.Sprintf("element %d", i), t.elem, v, t.elems[i])
	}
}

// settle runs the model as far as the code has come in a call that ended somewhere inside.
func (w *world) settle(a *activation) {
	defer func() {
		if a.ended != nil && a.ended.kind == eventThrow {
			a.ended.thrown.exn.lost = true
		}
	}()
	v, err := w.stepGlobal.real.Get()
	w.must(err, "Global.Get")
	have := uint64(v.I64())
	if have < w.step() {
		w.fail("the code has done %d actions, the model %d", have, w.step())
	}
	if have == w.step() && (a.init == nil || a.begun) {
		w.compare()
		return
	}
	if have > w.step() {
		if e := w.run(a, have); e.kind != eventStep {
			w.fail("the code has done %d actions, the model came to %v after %d", have, e.kind, w.step())
		}
	}
	before := []*snapshot{w.snapshot()}
	// A call may be cancelled between two segments, of which the second writes over the first.
	a.segment = func() { before = append(before, w.snapshot()) }
	w.run(a, have+1)
	a.segment = nil
	if have != w.step() {
		w.fail("the code has done %d actions, the model %d", have, w.step())
	}
	w.compare(before...)
	for _, i := range w.instances {
		if i.real == nil {
			w.blur(i)
		}
	}
}

// blur notes that an instance, which cannot be inspected, is as in the model or one action behind.
func (w *world) blur(i *instance) {
	w.inexact = true
	var reaches func(v value) bool
	reaches = func(v value) bool {
		return v.fn != nil && v.fn.inst == i || v.ref != nil && v.ref.exn != nil && slices.ContainsFunc(v.ref.exn.args, reaches)
	}
	for _, t := range w.tables {
		w.stop = w.stop || slices.ContainsFunc(t.elems, reaches)
	}
	for _, g := range w.globals {
		w.stop = w.stop || reaches(g.v)
	}
}

// checkOverflow fails if neither the active frames nor the depth of calls can have exceeded a limit.
func (w *world) checkOverflow() {
	if len(w.acts) > w.limits.hostDepth || w.limits.hostStackFull && len(w.acts) > 1 {
		return
	}
	sum, most := uint64(0), uint64(64<<10)
	for _, a := range w.acts {
		sum += 4096
		for i := range a.frames {
			sum += a.frames[i].sized
			most = max(most, a.frames[i].sized)
		}
	}
	if limit := w.limits.stack; limit != 0 && sum+2*most < limit {
		w.fail("a stack overflow of %d bytes in frames of less than %d", limit, sum)
	}
}

// active are the frames of the outermost depth calls, innermost first.
func (w *world) active(depth int) (list []*frame) {
	for n := depth - 1; n >= 0; n-- {
		a := w.acts[n]
		for k := len(a.frames) - 1; k >= 0; k-- {
			list = append(list, &a.frames[k])
		}
		if a.init != nil {
			list = append(list, &frame{inst: a.init, n: a.init.prog.numFuncs()})
		}
	}
	return list
}

// checkBacktrace compares a backtrace with the frames of the outermost depth calls, by functions and names of modules.
func (w *world) checkBacktrace(what string, have []host.Frame, depth int) {
	want := w.active(depth)
	want = want[:min(len(want), 64)]
	if len(have) != len(want) {
		w.fail("%s: a backtrace of %d frames, want %d: %v", what, len(have), len(want), have)
	}
	for i, f := range want {
		if have[i].Func != uint32(f.n) || have[i].Module != f.inst.prog.name {
			w.fail("%s: frame %d is %v, want function %d of %s", what, i, have[i], f.n, f.inst.prog.name)
		}
	}
}

// handles returns the least and the largest number of handles that something keeps: some may be the same.
func (w *world) handles() (least, most int) {
	reached, origins := map[*handle]bool{}, map[*handle]bool{}
	mark := func(v value) {
		if v.ref != nil {
			reached[v.ref], origins[v.ref.origin()] = true, true
		}
	}
	for _, t := range w.tables {
		for _, v := range t.elems {
			mark(v)
		}
	}
	for _, g := range w.globals {
		mark(g.v)
	}
	for _, i := range w.instances {
		for _, s := range i.elems {
			for _, v := range s {
				mark(v)
			}
		}
	}
	for _, k := range w.claims {
		mark(value{ref: k.ref})
	}
	return len(origins), len(reached)
}

// checkHandles collects and compares the number of handles. Nobody may be inside.
func (w *world) checkHandles() {
	w.must(w.nop.CallRaw(nil, nil), "a function that does nothing") // what the last call gave is kept until the next
	w.must(w.inproc().CollectRefs(), "CollectRefs")
	have := w.inproc().NumRefs()
	least, most := w.handles()
	w.count("collections whose handles were counted")
	if least != most {
		w.count("counts of handles some of which may be the same")
	}
	if !w.inexact && (have < least || have > most) {
		w.fail("%d handles, want %d to %d", have, least, most)
	}
}

func (w *world) inproc() *inproc.Store { return (*inproc.Store)(w.store) }

// close closes the store and looks at what is left.
func (w *world) close() {
	if w.closed {
		return
	}
	w.closed = true
	w.must(w.store.Close(), "Close")
	if err := w.store.Close(); !errors.Is(err, host.ErrClosed) {
		w.fail("Close once more: %v", err)
	}
	if len(w.words) > 0 {
		if v := w.store.Extern(w.words[0].word); v != nil {
			w.fail("a word of a closed store gives %v", v)
		}
	}
	for _, m := range w.memories {
		if m.real.Size() != 0 {
			w.fail("a memory of a closed store has bytes")
		}
	}
	for _, f := range w.funcs[:min(len(w.funcs), 3)] {
		if err := f.real.CallRaw(nil, make([]uint64, 64)); !errors.Is(err, host.ErrClosed) {
			w.fail("a call in a closed store: %v", err)
		}
	}
	w.runner.leave(w)
}
