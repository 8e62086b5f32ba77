//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
)

const (
	fref = meta.FuncRef
	i64  = meta.I64
	f64  = meta.F64
)

// The types of the functions that words go through. Most words of a wide type are on the stack or in
// memory, between others.
var (
	typeFunc   = meta.FuncType{Params: vt{fref}, Results: vt{fref}}
	typeExtern = meta.FuncType{Params: vt{xref}, Results: vt{xref}}
	typeNumber = meta.FuncType{Results: vt{i32}}
	typeWide   = meta.FuncType{
		Params:  append(slices.Repeat(vt{i64}, 9), f64, fref, xref, i64, fref, xref),
		Results: append(slices.Repeat(vt{i64}, 9), f64, fref, xref, i64, fref, xref),
	}
)

// Where typeWide has the words that tests pass.
const wideFunc, wideExtern = 13, 14

// wordModule gets references in every way, and gives them back.
func wordModule() []byte {
	imp := func(s string, t byte) []byte { return cat(name("host"), name(s), []byte{0, t}) }
	body := func(parts ...code) []byte { return bodyOf([]byte{0}, parts...) }
	wide := repeat(len(typeWide.Params), get)
	return module(
		sectionOf(1, typeOf(typeFunc), typeOf(typeExtern), typeOf(typeNumber), typeOf(typeWide),
			typeOf(meta.FuncType{Params: vt{i32, fref}}), typeOf(meta.FuncType{Params: vt{i32, xref}}),
			typeOf(meta.FuncType{Params: vt{i32}, Results: vt{i32}}), typeOf(meta.FuncType{})),
		sectionOf(2, imp("func", 0), imp("extern", 1), imp("wide", 3)),
		sectionOf(3, []byte{0}, []byte{1}, []byte{3}, []byte{0}, []byte{1}, []byte{3}, []byte{4}, []byte{5}, []byte{6}, []byte{7}, []byte{2}),
		sectionOf(4, []byte{0x70, 0, 2}, []byte{0x6F, 0, 2}),
		sectionOf(6, cat([]byte{0x70, 1, 0xD0, 0x70}, end), cat([]byte{0x6F, 1}, null, end)),
		sectionOf(7, exportOf("func", 0, 3), exportOf("extern", 0, 4), exportOf("wide", 0, 5),
			exportOf("hostFunc", 0, 6), exportOf("hostExtern", 0, 7), exportOf("hostWide", 0, 8),
			exportOf("putFunc", 0, 9), exportOf("putExtern", 0, 10), exportOf("call", 0, 11), exportOf("leaf", 0, 12), exportOf("answer", 0, 13),
			exportOf("funcs", 1, 0), exportOf("externs", 1, 1), exportOf("aFunc", 3, 0), exportOf("anExtern", 3, 1)),
		sectionOf(10, body(get(0)), body(get(0)), body(wide),
			body(get(0), calls(0)), body(get(0), calls(1)), body(wide, calls(2)),
			body(get(0), get(1), code{0x26, 0}), body(get(0), get(1), code{0x26, 1}),
			body(get(0), code{0x11, 2, 0}), body(), body(num(-1))))
}

// wordStore is a store, and what its words stand for.
type wordStore struct {
	t    testing.TB
	s    *inproc.Store
	inst *inproc.Instance
	host map[string]*inproc.Func // the imports

	// answer is what the imports give as their results; 0 for their arguments.
	answer uint64
	// inner runs in an import when it is set.
	inner func() error
	ran   int // imports

	funcs   map[uint64]uint64 // by word: the function's number
	others  map[uint64]bool   // words of functions without a number
	made    []uint64          // words that have been in funcs or externs
	externs map[uint64]int    // by word: the value, which a claim keeps
}

func newWordStore(t testing.TB, img *inproc.Image, c inproc.Config) *wordStore {
	s, err := inproc.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &wordStore{t: t, s: s, host: map[string]*inproc.Func{}, funcs: map[uint64]uint64{}, others: map[uint64]bool{}, externs: map[uint64]int{}}
	for n, typ := range map[string]meta.FuncType{"func": typeFunc, "extern": typeExtern, "wide": typeWide} {
		at := map[string]int{"wide": wideFunc}[n]
		if w.host[n], err = s.NewHostFunc(typ, func(_ *inproc.Caller, args, results []uint64) error {
			w.ran++
			copy(results, args)
			if w.answer != 0 {
				results[at] = w.answer
			}
			if inner := w.inner; inner != nil {
				w.inner = nil
				return inner()
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	m, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	if w.inst, err = s.Instantiate(m, func(_, name string) inproc.Extern { return w.host[name] }); err != nil {
		t.Fatal(err)
	}
	f, err := w.inst.Func("answer")
	if err != nil {
		t.Fatal(err)
	}
	w.funcs[f.Ref()] = 1<<32 - 1
	for _, e := range m.Meta().Exports {
		w.inst.Export(e.Name)
	}
	for _, f := range s.Functions() {
		if _, ok := w.funcs[f.Ref()]; !ok {
			w.others[f.Ref()] = true
		}
	}
	return w
}

// newFunc makes a function of the host that gives its number.
func (w *wordStore) newFunc(number uint64) uint64 {
	f, err := w.s.NewHostFunc(typeNumber, func(_ *inproc.Caller, _, results []uint64) error {
		results[0] = number
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.funcs[f.Ref()] = number
	w.made = append(w.made, f.Ref())
	return f.Ref()
}

func (w *wordStore) newExtern(value int) uint64 {
	r := w.s.ExternRef(value)
	w.externs[r] = value
	w.made = append(w.made, r)
	return r
}

// drop makes a handle stale.
func (w *wordStore) drop(r uint64) {
	delete(w.externs, r)
	w.s.Release(r)
	if _, err := w.call("leaf"); err != nil { // results of calls before are not kept any more
		w.t.Fatal(err)
	}
	if err := w.s.CollectRefs(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wordStore) call(name string, args ...uint64) ([]uint64, error) {
	f, err := w.inst.Func(name)
	if err != nil {
		return nil, err
	}
	return w.callFunc(f, args)
}

func (w *wordStore) callFunc(f *inproc.Func, args []uint64) ([]uint64, error) {
	results, before := make([]uint64, len(f.Type().Results)), slices.Clone(args)
	err := f.Call(args, results)
	if !slices.Equal(args, before) {
		return nil, fmt.Errorf("the caller's arguments have changed: %x", args)
	}
	return results, err
}

// first is the first result of a call.
func first(results []uint64, err error) (uint64, error) {
	if err != nil || len(results) == 0 {
		return 0, err
	}
	return results[0], err
}

// wideArgs has one word that matters, and otherwise numbers to compare.
func wideArgs(at int, word uint64) []uint64 {
	args := make([]uint64, len(typeWide.Params))
	for i, t := range typeWide.Params {
		if t == i64 || t == f64 {
			args[i] = uint64(i) + 100
		}
	}
	args[at] = word
	return args
}

func (w *wordStore) wide(f *inproc.Func, at int, word, want uint64) (uint64, error) {
	results, err := w.callFunc(f, wideArgs(at, word))
	if err != nil {
		return 0, err
	}
	got := results[at]
	if results[at] = want; !slices.Equal(results, wideArgs(at, want)) {
		return 0, fmt.Errorf("other words have changed: %x", results)
	}
	return got, nil
}

// A way brings a word into a store and fetches it back. Where something refuses the word
// without an error the way gives ErrType.
type way struct {
	name string
	try  func(w *wordStore, word uint64) (uint64, error)
}

// ways are those of functions, or of host values.
func ways(funcs bool) []way {
	of := func(a, b string) string {
		if funcs {
			return a
		}
		return b
	}
	id, hostID, put := of("func", "extern"), of("hostFunc", "hostExtern"), of("putFunc", "putExtern")
	table, global, typ := of("funcs", "externs"), of("aFunc", "anExtern"), xref
	at := wideExtern
	if funcs {
		typ, at = fref, wideFunc
	}
	answer := func(w *wordStore, word uint64, f func() (uint64, error)) (uint64, error) {
		w.answer = word
		defer func() { w.answer = 0 }()
		return f()
	}
	setGet := func(w *wordStore, set func(t *inproc.Table) error, i uint64) (uint64, error) {
		t, err := w.inst.Table(table)
		if err == nil {
			err = set(t)
		}
		if err != nil {
			return 0, err
		}
		back, err := t.Get(i)
		return back, errors.Join(err, t.Set(i, 0))
	}
	all := []way{
		{"Call", func(w *wordStore, word uint64) (uint64, error) { return first(w.call(id, word)) }},
		{"CallStack", func(w *wordStore, word uint64) (uint64, error) {
			f, err := w.inst.Func(id)
			if err != nil {
				return 0, err
			}
			stack := []uint64{word, 99}
			err = f.CallStack(nil, stack)
			return stack[0], err
		}},
		{"CallContext", func(w *wordStore, word uint64) (uint64, error) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			f, err := w.inst.Func(id)
			if err != nil {
				return 0, err
			}
			stack := []uint64{word}
			err = f.CallContext(ctx, stack, stack)
			return stack[0], err
		}},
		{"on the stack", func(w *wordStore, word uint64) (uint64, error) {
			f, err := w.inst.Func("wide")
			if err != nil {
				return 0, err
			}
			return w.wide(f, at, word, word)
		}},
		{"through a function of the host", func(w *wordStore, word uint64) (uint64, error) { return first(w.call(hostID, word)) }},
		{"through one of many arguments", func(w *wordStore, word uint64) (uint64, error) {
			f, err := w.inst.Func("hostWide")
			if err != nil {
				return 0, err
			}
			return w.wide(f, at, word, word)
		}},
		{"Call of a function of the host", func(w *wordStore, word uint64) (uint64, error) {
			before := w.ran
			back, err := first(w.callFunc(w.host[id], []uint64{word}))
			if err != nil && w.ran != before {
				return 0, errors.New("the function ran")
			}
			return back, err
		}},
		{"result of a function of the host", func(w *wordStore, word uint64) (uint64, error) {
			return answer(w, word, func() (uint64, error) { return first(w.call(hostID, 0)) })
		}},
		{"result of one that Go calls", func(w *wordStore, word uint64) (uint64, error) {
			return answer(w, word, func() (uint64, error) { return first(w.callFunc(w.host[id], []uint64{0})) })
		}},
		{"Call inside a function of the host", func(w *wordStore, word uint64) (back uint64, err error) {
			w.inner = func() (err error) {
				back, err = first(w.call(id, word))
				return err
			}
			_, err = w.call(hostID, 0)
			return back, err
		}},
		{"table.set", func(w *wordStore, word uint64) (uint64, error) {
			return setGet(w, func(*inproc.Table) error { _, err := w.call(put, 0, word); return err }, 0)
		}},
		{"Table.Set", func(w *wordStore, word uint64) (uint64, error) {
			return setGet(w, func(t *inproc.Table) error { return t.Set(1, word) }, 1)
		}},
		{"Table.Grow", func(w *wordStore, word uint64) (uint64, error) {
			t, err := w.inst.Table(table)
			if err != nil {
				return 0, err
			}
			n := t.Len()
			return setGet(w, func(t *inproc.Table) error {
				if t.Grow(1, word) != n {
					return inproc.ErrType
				}
				return nil
			}, n)
		}},
		{"Global.Set", func(w *wordStore, word uint64) (uint64, error) {
			g, err := w.inst.Global(global)
			if err == nil {
				err = g.Set(word)
			}
			if err != nil {
				return 0, err
			}
			back := g.Get()
			return back, g.Set(0)
		}},
		{"NewGlobal", func(w *wordStore, word uint64) (uint64, error) {
			g, err := w.s.NewGlobal(typ, true, word, 0)
			if err != nil {
				return 0, err
			}
			back := g.Get()
			return back, g.Set(0)
		}},
	}
	if !funcs {
		return append(all, way{"Extern", func(w *wordStore, word uint64) (uint64, error) {
			if w.s.Extern(word) == nil {
				return 0, inproc.ErrType
			}
			return word, nil
		}}, way{"Retain", func(w *wordStore, word uint64) (uint64, error) {
			if !w.s.Retain(word) {
				return 0, inproc.ErrType
			}
			w.s.Release(word)
			return word, nil
		}})
	}
	return append(all, way{"FuncOf", func(w *wordStore, word uint64) (uint64, error) {
		if f := w.s.FuncOf(word); f != nil {
			return f.Ref(), nil
		}
		return 0, inproc.ErrType
	}}, way{"call_indirect", func(w *wordStore, word uint64) (uint64, error) {
		if _, err := w.call(put, 0, word); err != nil {
			return 0, err
		}
		number, err := first(w.call("call", 0))
		if err != nil || number != w.funcs[word] {
			return 0, fmt.Errorf("called number %d, not %d, %v", number, w.funcs[word], err)
		}
		_, err = w.call(put, 0, 0)
		return word, err
	}})
}

// try sends a word one way: either it is refused, or it stands for what the store knows of it.
func (w *wordStore) try(x way, funcs bool, word uint64) error {
	_, valid := w.externs[word]
	if funcs {
		_, valid = w.funcs[word]
	}
	back, err := x.try(w, word)
	switch {
	case !valid && !errors.Is(err, inproc.ErrType):
		return fmt.Errorf("%s: word %#x that is no reference gave %#x, %v", x.name, word, back, err)
	case valid && (err != nil || back != word):
		return fmt.Errorf("%s: word %#x gave %#x, %v", x.name, word, back, err)
	}
	if value, ok := w.externs[word]; ok && w.s.Extern(word) != value {
		return fmt.Errorf("%s: word %#x is %v, not %v", x.name, word, w.s.Extern(word), value)
	}
	if err := w.s.Enter(); err != nil {
		return fmt.Errorf("%s: word %#x: afterwards %v", x.name, word, err)
	}
	w.s.Leave()
	return nil
}

func wordImage(t testing.TB) *inproc.Image {
	t.Helper()
	img, err := image(wordModule(), opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestWords sends words of other stores, of closed ones, stale ones, and numbers that are none,
// every way into a store.
func TestWords(t *testing.T) {
	img := wordImage(t)
	for _, always := range []bool{false, true} {
		a, b, closed := newWordStore(t, img, inproc.Config{CollectAlways: always}), newWordStore(t, img, inproc.Config{}), newWordStore(t, img, inproc.Config{})
		f, x := a.newFunc(7), a.newExtern(7)
		stale := a.newExtern(8)
		a.drop(stale)
		own, err := a.inst.Func("answer")
		if err != nil {
			t.Fatal(err)
		}
		words := map[string]uint64{
			"a function": f, "a compiled function": own.Ref(), "a value": x, "a stale one": stale,
			"a descriptor": own.Descriptor(), "a descriptor of the host": a.s.FuncOf(f).Descriptor(),
			"of another store": b.newFunc(8), "value of another store": b.newExtern(8),
			"of a closed store": closed.newFunc(9), "value of a closed store": closed.newExtern(9),
			"zero and a tag": 2, "another tag": 6, "one": 1, "NaN": 0x7FF8 << 48, "all ones": ^uint64(0), "one i32": 1<<32 - 6,
		}
		for name, f := range b.host {
			words[name+" of another store"], words[name+"'s descriptor"] = f.Ref(), f.Descriptor()
		}
		if err := closed.s.Close(); err != nil {
			t.Fatal(err)
		}
		for name, word := range words {
			for _, d := range []uint64{0, 1, 2, 4, 8, 1 << 63} {
				for _, funcs := range []bool{false, true} {
					for _, x := range ways(funcs) {
						for _, word := range []uint64{word + d, word - d} {
							if word == 0 || a.others[word] {
								continue
							}
							if err := a.try(x, funcs, word); err != nil {
								t.Errorf("%s and %#x: %v", name, d, err)
							}
						}
					}
				}
			}
		}
		if a.s.NumRefs() != 1 {
			t.Errorf("%d handles", a.s.NumRefs())
		}
	}
}

// TestReferenceError: the error says which word it was.
func TestReferenceError(t *testing.T) {
	img := wordImage(t)
	a, b := newWordStore(t, img, inproc.Config{}), newWordStore(t, img, inproc.Config{})
	f, x := b.newFunc(1), b.newExtern(1)
	args := wideArgs(wideFunc, f)
	_, err := a.call("wide", args...)
	want := inproc.ReferenceError{What: "argument", Index: wideFunc, Type: "funcref", Word: f}
	var e *inproc.ReferenceError
	if !errors.As(err, &e) || *e != want || !strings.Contains(err.Error(), fmt.Sprintf("argument %d: %#x is no valid funcref", wideFunc, f)) {
		t.Error(err)
	}
	a.answer = x
	_, err = a.call("hostExtern", 0)
	want = inproc.ReferenceError{What: "result", Index: 0, Type: "externref", Word: x}
	if !errors.As(err, &e) || *e != want {
		t.Error(err)
	}
}

// pick gives one of the words, 0 if there is none.
func pick(rng *rand.Rand, words []uint64) uint64 {
	if len(words) == 0 {
		return 0
	}
	return words[rng.IntN(len(words))]
}

// TestWordsOfManyStores sends random words, and their neighbours, to stores that are opened and closed.
func TestWordsOfManyStores(t *testing.T) {
	img := wordImage(t)
	funcWays, externWays := ways(true), ways(false)
	steps := 30_000
	if testing.Short() || underRace {
		steps /= 10
	}
	rng := rand.New(rand.NewPCG(11, 5))
	var open []*wordStore
	var pool []uint64
	note := func(words ...uint64) { pool = append(pool, words...) }
	opened, sent, valid := 0, 0, 0
	for range steps {
		if len(open) == 0 || len(open) < 4 && rng.IntN(50) == 0 {
			open = append(open, newWordStore(t, img, inproc.Config{CollectAlways: rng.IntN(2) == 0}))
			opened++
		}
		k := rng.IntN(len(open))
		w := open[k]
		switch rng.IntN(12) {
		case 0:
			word := w.newFunc(rng.Uint64() >> 32)
			note(word, w.s.FuncOf(word).Descriptor())
		case 1, 2:
			note(w.newExtern(1 + rng.IntN(1<<30)))
		case 3:
			if r := pick(rng, w.made); w.externs[r] != 0 {
				w.drop(r)
			}
		case 4:
			if rng.IntN(10) == 0 {
				if err := w.s.Close(); err != nil {
					t.Fatal(err)
				}
				open = slices.Delete(open, k, k+1)
			}
		default:
			word := pick(rng, pool)
			if rng.IntN(2) == 0 {
				word = pick(rng, w.made)
			}
			switch d := uint64(1) << rng.IntN(64); rng.IntN(6) {
			case 0:
				word += d
			case 1:
				word -= d
			case 2:
				word ^= d
			}
			funcs := rng.IntN(2) == 0
			x := externWays[rng.IntN(len(externWays))]
			if funcs {
				x = funcWays[rng.IntN(len(funcWays))]
			}
			if word == 0 || w.others[word] {
				continue
			}
			if err := w.try(x, funcs, word); err != nil {
				t.Fatal(err)
			}
			sent++
			if _, ok := w.funcs[word]; ok && funcs {
				valid++
			} else if _, ok := w.externs[word]; ok && !funcs {
				valid++
			}
		}
	}
	t.Logf("%d stores, %d words, %d of them valid", opened, sent, valid)
	if valid < sent/20 || valid > sent/2 || opened < 10 {
		t.Error("one-sided")
	}
}

// TestFuncWords: a function has one word, and as many of them as there are can be told apart.
func TestFuncWords(t *testing.T) {
	w := newWordStore(t, wordImage(t), inproc.Config{})
	for n := range uint64(5000) {
		w.newFunc(n)
	}
	if len(w.funcs) != 5001 {
		t.Errorf("%d words", len(w.funcs))
	}
	before := w.s.NumRefs()
	for word, number := range w.funcs {
		if err := w.try(ways(true)[0], true, word); err != nil {
			t.Fatal(err)
		}
		if f := w.s.FuncOf(word); f.Ref() != word {
			t.Fatalf("%#x and %#x", f.Ref(), word)
		} else if got, err := first(w.callFunc(f, nil)); err != nil || got != number {
			t.Fatal(got, number, err)
		}
	}
	if w.s.NumRefs() != before {
		t.Error("calls have made handles")
	}
}
