package guestfuzz

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/waot-project/waot/host"
)

// deed is something that the host does, inside a call or outside all calls.
type deed struct {
	name   string
	weight int
	do     func(*world)
}

func deeds() []deed {
	return []deed{
		{"calls by the host", 30, (*world).call},
		{"instantiations", 6, (*world).instantiate},
		{"accesses to tables", 8, (*world).useTable},
		{"accesses to memories", 6, (*world).useMemory},
		{"accesses to globals", 6, (*world).useGlobal},
		{"references thrown away", 6, (*world).throwAway},
		{"references retained", 3, (*world).retain},
		{"references released", 4, (*world).release},
		{"callers asked", 4, (*world).useCaller},
		{"old words", 4, (*world).useOldWord},
		{"words of other stores", 3, (*world).useForeignWord},
		{"collections of references", 4, func(w *world) { w.must(w.inproc().CollectRefs(), "CollectRefs") }},
		{"refusals as busy", 3, (*world).busy},
		{"ends of contexts", 2, func(w *world) {
			if w.inside() {
				w.cancelActive()
			}
		}},
		{"growths of Go's stack", 3, func(w *world) { growStack(1 << w.r.IntN(6)) }},
		{"pauses", 2, (*world).pause},
		{"other stores", 2, (*world).other},
		{"WASI programs", 1, (*world).useWASI},
		{"functions made", 2, (*world).newFunc},
		{"exceptions made", 2, func(w *world) { w.newException() }},
		{"exceptions forgotten", 3, (*world).forgetException},
		{"closings of instances", 1, (*world).closeInstance},
		{"resets", 1, (*world).reset},
		{"comparisons", 2, func(w *world) { w.compare() }},
	}
}

// act does a random deed.
func (w *world) act() {
	list := w.runner.deeds
	pick := w.r.IntN(w.runner.weight)
	i := 0
	for ; pick >= list[i].weight; i++ {
		pick -= list[i].weight
	}
	w.count(list[i].name)
	w.runner.trace(w, list[i].name)
	list[i].do(w)
}

// live returns a random one of those that Go can see, nil if there is none.
func live[T any](w *world, all []*T, seen func(*T) bool) *T {
	if len(all) == 0 {
		return nil
	}
	first := w.r.IntN(len(all))
	for n := range all {
		if x := all[(first+n)%len(all)]; seen(x) {
			return x
		}
	}
	return nil
}

func (w *world) useTable() {
	t := live(w, w.tables, func(t *tableItem) bool { return t.real != nil })
	if t == nil {
		return
	}
	x := w.argument(t.elem, false)
	v := x.value.Any()
	n := uint32(w.r.IntN(len(t.elems) + 2))
	switch w.r.IntN(4) {
	case 0:
		n = uint32(w.r.IntN(1 << w.r.IntN(6)))
		if w.r.IntN(10) == 0 {
			n = math.MaxUint32
		}
		have, err := t.real.Grow(n, v)
		if errors.Is(err, host.ErrCancelled) {
			w.checkCancelled(err)
			return
		}
		want := w.growTable(t, uint64(n), x.model)
		var limit *host.LimitError
		if want == growthFailed && !errors.As(err, &limit) || want != growthFailed && (err != nil || uint64(have) != want) {
			w.fail("Table.Grow(%d) = %d, %v, want %d", n, have, err, int32(want))
		}
	case 1, 2:
		err := t.real.Set(n, v)
		if inside := int(n) < len(t.elems); inside {
			w.must(err, "Table.Set")
			t.elems[n] = x.model
		} else if !errors.Is(err, host.ErrBounds) {
			w.fail("Table.Set beyond the end: %v", err)
		}
	default:
		have, err := t.real.Get(n)
		if int(n) >= len(t.elems) {
			if !errors.Is(err, host.ErrBounds) || have != nil {
				w.fail("Table.Get beyond the end: %v, %v", have, err)
			}
			return
		}
		w.must(err, "Table.Get")
		w.checkValue("Table.Get", t.elem, valueOf(t.elem, have), t.elems[n])
	}
}

func (w *world) useMemory() {
	m := live(w, w.memories, func(m *memoryItem) bool { return m.real != nil })
	if m == nil {
		return
	}
	at := uint32(w.r.IntN(4096))
	if w.r.IntN(4) == 0 {
		at = uint32(len(m.data)) - uint32(w.r.IntN(12))
	}
	inside := uint64(at)+8 <= uint64(len(m.data))
	switch w.r.IntN(3) {
	case 0:
		n := uint32(w.r.IntN(3))
		if w.r.IntN(10) == 0 {
			n = math.MaxUint32
		}
		old, ok := m.real.Grow(n)
		if want := w.growMemory(m, uint64(n)); ok != (want != growthFailed) || ok && uint64(old) != want {
			w.fail("Memory.Grow(%d) = %d, %v, want %d", n, old, ok, int32(want))
		}
	case 1:
		x := w.r.Uint64()
		if ok := m.real.WriteUint64(at, x); ok != inside {
			w.fail("Memory.WriteUint64(%#x): %v", at, ok)
		}
		for i := 0; inside && i < 8; i++ {
			m.data[int(at)+i] = byte(x >> (8 * i))
		}
	default:
		b, ok := m.real.Read(at, 8)
		if ok != inside || inside && string(b) != string(m.data[at:at+8]) {
			w.fail("Memory.Read(%#x) = %x, %v", at, b, ok)
		}
	}
}

func (w *world) useGlobal() {
	g := live(w, w.globals, func(g *globalItem) bool { return g.real != nil && g != w.stepGlobal && g != w.fuelGlobal })
	if g == nil || w.r.IntN(2) == 0 {
		return
	}
	x := w.argument(g.typ, false)
	err := g.real.Set(x.value)
	if !g.mutable {
		if !errors.Is(err, host.ErrType) {
			w.fail("Global.Set of an immutable one: %v", err)
		}
		return
	}
	w.must(err, "Global.Set")
	g.v = x.model
}

// throwAway makes references that nothing keeps.
func (w *world) throwAway() {
	n := 1 + w.r.IntN(20)
	if w.r.IntN(10) == 0 {
		n = 1500 // enough for a collection
	}
	for range n {
		ref, err := w.store.ExternRef(w.newToken())
		w.must(err, "ExternRef")
		w.store.Release(ref)
	}
}

// retain keeps a word that is valid.
func (w *world) retain() {
	n := len(w.scopes)
	if n == 0 || len(w.scopes[n-1].words) == 0 {
		return
	}
	k := w.scopes[n-1].words[w.r.IntN(len(w.scopes[n-1].words))]
	if !w.store.Retain(k.word) {
		w.fail("Retain: a word of this call is not valid")
	}
	w.claims = append(w.claims, k)
}

// release gives up a claim.
func (w *world) release() {
	if len(w.claims) == 0 {
		return
	}
	n := w.r.IntN(len(w.claims))
	w.checkHandle("a word that is claimed", w.store.Extern(w.claims[n].word), w.claims[n].ref)
	w.store.Release(w.claims[n].word)
	w.claims[n] = w.claims[len(w.claims)-1]
	w.claims = w.claims[:len(w.claims)-1]
}

// useOldWord looks at a word that may be stale: it stands for what it has stood for, or nothing.
func (w *world) useOldWord() {
	if len(w.words) == 0 {
		return
	}
	k := w.words[w.r.IntN(len(w.words))]
	if v := w.store.Extern(k.word); v != nil {
		w.checkHandle("an old word", v, k.ref)
	}
}

// useForeignWord looks at a word of another store.
func (w *world) useForeignWord() {
	words := w.runner.foreign
	if len(words) == 0 || w.runner.NoForeignWords {
		return
	}
	x := words[w.r.IntN(len(words))]
	if v := w.store.Extern(x); v != nil {
		w.fail("a word of another store stands for %v", v)
	}
	if w.store.Retain(x) {
		w.fail("a word of another store can be retained")
	}
	w.store.Release(x)
	if f := w.store.FuncOf(x); f != nil {
		w.fail("a word of another store stands for function %v", f.Type())
	}
	f := live(w, w.funcs, func(f *funcItem) bool { return strings.ContainsAny(f.signature().params, references) })
	if f == nil {
		return
	}
	s := f.signature()
	stack := make([]uint64, max(len(s.params), len(s.results)))
	for i := range s.params {
		stack[i] = w.argument(s.params[i], true).word
	}
	stack[w.refAmong(s.params)] = x
	w.checkRefused(f.real.CallRaw(nil, stack))
}

// refAmong returns the number of one of the references among types, which has some.
func (w *world) refAmong(types string) int {
	for {
		if i := w.r.IntN(len(types)); strings.ContainsRune(references, rune(types[i])) {
			return i
		}
	}
}

// checkRefused fails unless the error says that a word does not belong to the store, or that the call could not begin or
// continue for another reason.
func (w *world) checkRefused(err error) {
	var trap *host.Trap
	switch {
	case errors.Is(err, host.ErrType):
	case errors.Is(err, host.ErrCancelled):
		w.checkCancelled(err)
	case errors.As(err, &trap) && trap.Code == host.TrapStackOverflow:
	default:
		w.fail("a word of another store goes in: %v", err)
	}
	w.count("words of other stores refused")
}

// busy tries operations that only work from outside, from inside and from other goroutines.
func (w *world) busy() {
	if !w.inside() {
		return
	}
	for _, err := range []error{w.store.Close(), w.store.Enter()} {
		if !errors.Is(err, host.ErrBusy) {
			w.fail("Close or Enter from inside: %v", err)
		}
	}
	var f *host.Func
	if len(w.funcs) > 0 {
		f = w.funcs[w.r.IntN(len(w.funcs))].real
	}
	done := make(chan error, 3)
	go func() {
		done <- w.store.Close()
		_, err := w.store.NewMemory(host.Limits{})
		done <- err
		err = host.ErrBusy
		if f != nil {
			err = f.CallRaw(nil, make([]uint64, 64))
		}
		done <- err
	}()
	for range 3 {
		if err := <-done; !errors.Is(err, host.ErrBusy) {
			w.fail("another goroutine gets %v", err)
		}
	}
}

func (w *world) pause() {
	switch w.r.IntN(4) {
	case 0:
		time.Sleep(time.Duration(w.r.IntN(50_000)))
	case 1:
		if w.r.IntN(20) == 0 {
			runtime.GC()
		}
	default:
		runtime.Gosched()
	}
}

// other makes another store, and uses it from inside this one.
func (w *world) other() {
	if w.level < 2 {
		w.runner.live(w.r.Uint64(), w.level+1)
	}
}

// newFunc makes a function of the host for a signature that some function has.
func (w *world) newFunc() {
	if len(w.funcs) == 0 || len(w.funcs) > 200 {
		return
	}
	w.makeHostFunc(w.funcs[w.r.IntN(len(w.funcs))].signature())
}

// makeHostFunc makes one by Store.NewFunc.
func (w *world) makeHostFunc(s signature) *funcItem {
	h := &hostFunc{signature: s, w: w}
	f := h.item()
	var err error
	f.real, err = w.store.NewFunc(h.makeFunc())
	w.must(err, "NewFunc")
	w.know(f)
	return f
}

// know adds a function to those that can be called.
func (w *world) know(f *funcItem) {
	if w.byReal[f.real] == nil {
		w.byReal[f.real] = f
	}
	w.funcs = append(w.funcs, f)
}

func (w *world) closeInstance() {
	i := live(w, w.instances, func(i *instance) bool { return i.real != nil })
	if i == nil || w.r.IntN(4) != 0 {
		return
	}
	i.real.Close()
	i.closed = true
	if _, err := i.real.Func("f0"); !errors.Is(err, host.ErrClosed) {
		w.fail("an export of a closed instance: %v", err)
	}
}

// newGlobal returns nil if a limit does not allow it.
func (w *world) newGlobal(t byte, mutable bool, v *token) *globalItem {
	x := argument{value: value0(t)}
	if v != nil {
		x = argument{model: value{ref: &handle{tok: v.n}}, value: host.Ref(v)}
	}
	g := &globalItem{typ: t, mutable: mutable, v: x.model}
	over := w.exceeded(usage{globals: 1})
	var err error
	if g.real, err = w.store.NewGlobal(mutable, x.value); !w.granted("NewGlobal", err, over) {
		return nil
	}
	w.globals = append(w.globals, g)
	return g
}

// value0 returns the zero of a type.
func value0(t byte) host.Value {
	switch t {
	case 'x':
		return host.Ref(nil)
	case 'r':
		return host.FuncRef(nil)
	case 'e':
		return host.ExnRef(nil)
	}
	return numberValue(t, 0)
}

// exportName returns the name of export n of a kind.
func exportName(kind byte, n int) string { return fmt.Sprintf("%c%d", kind, n) }
