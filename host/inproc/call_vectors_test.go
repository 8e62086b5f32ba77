//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// The functions of a passing module, by index. All have the type that it is made for, but for the last, which returns its parameters.
const (
	fnImport = iota
	fnDirect
	fnIndirect
	fnKept
)

// passing is a module that passes values of a type t on: to and from its import directly and through a table, and over a call of
// it. Its global, which it imports, takes the last parameter of type v128 before each direct call.
func passing(t meta.FuncType) []byte {
	params := repeat(len(t.Params), get)
	var toGlobal code
	for i, p := range t.Params {
		if p == meta.V128 {
			toGlobal = cat(get(i), globalSet(0))
		}
	}
	body := func(parts ...code) []byte { return bodyOf([]byte{0}, parts...) }
	return module(
		sectionOf(1, typeOf(t), typeOf(meta.FuncType{Params: t.Params, Results: t.Params})),
		sectionOf(2, cat(name("host"), name("f"), []byte{0, 0}), cat(name("host"), name("g"), []byte{3, meta.V128.Code(), 1})),
		sectionOf(3, []byte{0}, []byte{0}, []byte{1}),
		sectionOf(4, []byte{0x70, 0, 1}),
		sectionOf(7, exportOf("direct", 0, fnDirect), exportOf("indirect", 0, fnIndirect), exportOf("kept", 0, fnKept), exportOf("g", 3, 0)),
		sectionOf(9, cat([]byte{0}, num(0), end, leb(1), leb(fnImport))),
		sectionOf(10,
			body(toGlobal, params, calls(fnImport)),
			body(params, num(0), code{0x11, 0, 0}),
			body(params, calls(fnImport), repeat(len(t.Results), func(int) code { return drop }), params)))
}

// numWords is the words that values of the types take.
func numWords(ts vt) (n int) {
	for _, t := range ts {
		n += t.Words()
	}
	return n
}

// randomWords makes values of the types.
func randomWords(r *rand.Rand, ts vt) (words []uint64) {
	for _, t := range ts {
		for range t.Words() {
			w := r.Uint64()
			if t == meta.I32 || t == meta.F32 {
				w = uint64(uint32(w))
			}
			words = append(words, w)
		}
	}
	return words
}

// TestVectors passes vectors among other values between Go, compiled code and host functions, and from one instance to
// another: in registers, on the stack and in hidden areas of results.
func TestVectors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	choose := func(most int) (ts vt) {
		for range r.IntN(most + 1) {
			ts = append(ts, []meta.ValType{meta.I32, meta.I64, meta.F32, meta.F64, meta.V128, meta.V128, meta.V128}[r.IntN(7)])
		}
		return ts
	}
	types := []meta.FuncType{{Params: vt{meta.V128}, Results: vt{meta.V128}}, {Params: slices.Repeat(vt{meta.V128}, 20), Results: slices.Repeat(vt{meta.V128}, 9)},
		{Params: slices.Concat(slices.Repeat(vt{meta.F64}, 9), vt{meta.V128}), Results: slices.Concat(slices.Repeat(vt{meta.F32}, 5), vt{meta.V128})}}
	for range 30 {
		types = append(types, meta.FuncType{Params: choose(24), Results: choose(12)})
	}
	for _, typ := range types {
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			t.Run(fmt.Sprint(level, typ), func(t *testing.T) { testVectors(t, r, typ, level) })
		}
	}
}

// TestVectorRecursion ends the stack in functions whose frames hold vectors, of less than a page and of several; the store stays
// usable, and frames of the backtrace are those of the function.
func TestVectorRecursion(t *testing.T) {
	for _, n := range []int{9, 40, 700} {
		typ := meta.FuncType{Params: slices.Repeat(vt{meta.V128}, n), Results: slices.Repeat(vt{meta.V128}, 5)}
		// Calls itself with its parameters as long as the first one, which each call halves, is not zero.
		less := cat(get(0), num(1), code{0xFD}, leb(0xCD)) // i64x2.shr_u
		wasm := module(sectionOf(1, typeOf(typ)), sectionOf(3, []byte{0}, []byte{0}), sectionOf(7, exportOf("f", 0, 0), exportOf("endless", 0, 1)),
			sectionOf(10, bodyOf([]byte{0}, get(0), code{0xFD, 0x53, 0x04, 0x40}, // v128.any_true, if
				less, repeat(n-1, func(i int) code { return get(i + 1) }), calls(0), code{0x0F, 0x0B}, // return, end
				repeat(5, func(i int) code { return get(n - 5 + i) })),
				bodyOf([]byte{0}, repeat(n, get), calls(1))))
		img, err := image(wasm, opt.O1)
		if err != nil {
			t.Fatal(err)
		}
		s, err := inproc.NewStore(inproc.Config{MaxStack: 64<<10 + 130*uint64(n)*16*3})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		m, err := s.Load(img)
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Instantiate(m, func(string, string) inproc.Extern { return nil })
		if err != nil {
			t.Fatal(err)
		}
		args := randomWords(rand.New(rand.NewPCG(1, 3)), typ.Params)
		results := make([]uint64, 10)
		f := export(t, i, "f")
		for range 2 {
			args[0], args[1] = 0, 1<<63 // 65 calls
			if err := f.Call(args, results); err != nil || !slices.Equal(results, args[2*n-10:]) {
				t.Errorf("%d vectors: %#x, %v, want %#x", n, results, err, args[2*n-10:])
			}
			var trap *inproc.Trap
			if err := export(t, i, "endless").Call(args, results); !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow || len(trap.Backtrace) != 64 {
				t.Fatalf("%d vectors: %v", n, err)
			}
			for _, frame := range trap.Backtrace {
				if frame.Func != 1 {
					t.Errorf("%d vectors: backtrace %v", n, trap.Backtrace)
				}
			}
		}
	}
}

func testVectors(t *testing.T, r *rand.Rand, typ meta.FuncType, level opt.Level) {
	img, err := image(passing(typ), level)
	if err != nil {
		t.Fatal(err)
	}
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	var args, given []uint64
	called, instances := 0, 0
	f, err := s.NewHostFunc(typ, func(c *inproc.Caller, got, results []uint64) error {
		called++
		if frames := c.Backtrace(); len(frames) != instances {
			t.Errorf("%d frames, want one in each of %d instances: %v", len(frames), instances, frames)
		}
		if !slices.Equal(got, args) {
			t.Errorf("the import got %#x, not %#x", got, args)
		}
		copy(results, given)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.NewGlobal(meta.V128, true, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	// Three instances: the first imports the host's function, the others what the one before exports.
	link := map[string]inproc.Extern{"f": f, "g": g}
	for _, export := range []string{"direct", "indirect", "direct"} {
		i, err := s.Instantiate(m, func(_, name string) inproc.Extern { return link[name] })
		if err != nil {
			t.Fatal(err)
		}
		instances++
		for _, called := range []string{"direct", "indirect", "kept"} {
			f, err := i.Func(called)
			if err != nil {
				t.Fatal(err)
			}
			args, given = randomWords(r, typ.Params), randomWords(r, typ.Results)
			want := given
			if called == "kept" {
				want = args
			}
			results := make([]uint64, len(want))
			if err := f.Call(args, results); err != nil || !slices.Equal(results, want) {
				t.Errorf("%s gave %#x, %v, not %#x", called, results, err, want)
			}
			stack := make([]uint64, max(len(args), len(want)))
			copy(stack, args)
			if err := f.CallStack(nil, stack); err != nil || !slices.Equal(stack[:len(want)], want) {
				t.Errorf("%s left %#x, %v, not %#x", called, stack, err, want)
			}
		}
		for n, p := range slices.Backward(typ.Params) {
			if p != meta.V128 {
				continue
			}
			last := args[numWords(typ.Params[:n]):][:2]
			f, _ := i.Func("direct")
			if err := f.Call(args, make([]uint64, len(given))); err != nil || g.GetWords() != [2]uint64(last) {
				t.Errorf("the global is %#x, %v, not %#x", g.GetWords(), err, last)
			}
			break
		}
		x, err := i.Export(export)
		if err != nil {
			t.Fatal(err)
		}
		link["f"] = x
		if link["g"], err = i.Export("g"); err != nil {
			t.Fatal(err)
		}
	}
	if called == 0 {
		t.Error("the import was never called")
	}
}
