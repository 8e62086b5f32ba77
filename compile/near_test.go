package compile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
)

// instantiated is an instance of a module that imports nothing, in a store that the test closes.
func instantiated(t *testing.T, r *compile.Result) *inproc.Instance {
	t.Helper()
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		t.Fatal(err)
	}
	store, err := inproc.NewStore(inproc.Config{})
	if errors.Is(err, inproc.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	m, err := store.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := store.Instantiate(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

// TestNearBranches: branches forwards and back over code of each length around the reach of the short forms of x86-64, planned as they are
// emitted. Both forms are there on either side of the limit, and arrive where they should.
func TestNearBranches(t *testing.T) {
	const i32 = 0x7f
	m := &wasmModule{}
	type function struct {
		name string
		f    func(n uint32) uint32
	}
	var funcs []function
	for _, xors := range []int{0, 1, 2} {
		for negs := 25; negs < 75; negs++ {
			// Of x, which is local 1: it is negated (2 bytes), or its lowest bits change (3 bytes).
			ops := slices.Concat(bytes.Repeat([]byte{0x41, 0, 0x20, 1, 0x6b, 0x21, 1}, negs), bytes.Repeat([]byte{0x20, 1, 0x41, 5, 0x73, 0x21, 1}, xors))
			apply := func(x uint32) uint32 {
				for range negs {
					x = -x
				}
				for range xors {
					x ^= 5
				}
				return x
			}
			// do ops while n -= 1 is not 0
			name := fmt.Sprintf("back_%d_%d", negs, xors)
			m.exportFn(name, []byte{i32}, []byte{i32}, []byte{i32}, slices.Concat([]byte{0x41, 3, 0x21, 1, 0x03, 0x40}, ops,
				[]byte{0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1})...)
			funcs = append(funcs, function{name, func(n uint32) uint32 {
				x := uint32(3)
				for ; n > 0; n-- {
					x = apply(x)
				}
				return x
			}})
			// if n != 1 do ops
			name = fmt.Sprintf("forward_%d_%d", negs, xors)
			m.exportFn(name, []byte{i32}, []byte{i32}, []byte{i32}, slices.Concat([]byte{0x41, 3, 0x21, 1, 0x02, 0x40, 0x20, 0, 0x41, 1, 0x46, 0x0d, 0}, ops,
				[]byte{0x0b, 0x20, 1})...)
			funcs = append(funcs, function{name, func(n uint32) uint32 {
				if n == 1 {
					return 3
				}
				return apply(3)
			}})
			// if n is neither 0 nor 2 do ops, by a chain of comparisons
			name = fmt.Sprintf("chain_%d_%d", negs, xors)
			m.exportFn(name, []byte{i32}, []byte{i32}, []byte{i32}, slices.Concat([]byte{0x41, 3, 0x21, 1, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 3, 1, 0, 1, 0, 0x0b}, ops,
				[]byte{0x0b, 0x20, 1})...)
			funcs = append(funcs, function{name, func(n uint32) uint32 {
				if n == 0 || n == 2 {
					return 3
				}
				return apply(3)
			}})
		}
	}
	r := build(t, m.bytes(), compile.Options{OptLevel: opt.O0, Target: compile.TargetX64, Regalloc: "linear"})
	text := r.Object.Section(".text").Data
	for what, code := range map[string]string{"back, short": "\x75\x80", "back, long": "\x0f\x85\x7a\xff\xff\xff", "forwards, short": "\x74\x7f", "forwards, long": "\x0f\x84\x80\x00\x00\x00"} {
		if !bytes.Contains(text, []byte(code)) {
			t.Errorf("no branch %s at the limit: % x", what, code)
		}
	}
	runes := make([]rune, len(text)) // a regular expression is of these
	for i, b := range text {
		runes[i] = rune(b)
	}
	latin1 := string(runes)
	for _, form := range []string{`\x02\x74[\x70-\x7f]`, `\x02\x0f\x84[\x80-\x90]\x00\x00\x00`} { // behind the comparison with 2
		if !regexp.MustCompile(`\x83[\xf8-\xff]` + form).MatchString(latin1) {
			t.Errorf("no chain has the form %s", form)
		}
	}
	r = build(t, m.bytes(), compile.Options{OptLevel: opt.O0, Regalloc: "linear"})
	inst := instantiated(t, r)
	for _, f := range funcs {
		fn, err := inst.Func(f.name)
		if err != nil {
			t.Fatal(err)
		}
		for n := uint32(1); n < 4; n++ {
			got := []uint64{0}
			if err := fn.Call([]uint64{uint64(n)}, got); err != nil || uint32(got[0]) != f.f(n) {
				t.Errorf("%s(%d): %d, %v, want %d", f.name, n, got[0], err, f.f(n))
			}
		}
	}
}

// TestThreeBranches: a block whose end takes the most bytes that branches can take, those of a comparison of floats to two places that are far and
// not next, is within the machine's bound, and goes where it should.
func TestThreeBranches(t *testing.T) {
	const i32, f64 = 0x7f, 0x7c
	m := &wasmModule{}
	ops := bytes.Repeat([]byte{0x41, 0, 0x20, 3, 0x6b, 0x21, 3}, 100)
	add := func(n byte) []byte { return []byte{0x20, 3, 0x41, n, 0x6a, 0x21, 3} }
	// z = c (block $a (block $b (block $c (br_if $c c) (br_if $a (f64.eq x y)) (br $b)) ops z+=1) ops z+=2) ops z+=4, where z is local 3
	m.exportFn("f", []byte{i32, f64, f64}, []byte{i32}, []byte{i32}, slices.Concat([]byte{0x20, 0, 0x21, 3, 0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0d, 0,
		0x20, 1, 0x20, 2, 0x61, 0x0d, 2, 0x0c, 1, 0x0b}, ops, add(1), []byte{0x0b}, ops, add(2), []byte{0x0b}, ops, add(4), []byte{0x20, 3})...)
	text := build(t, m.bytes(), compile.Options{OptLevel: opt.O0, Target: compile.TargetX64}).Object.Section(".text").Data
	// jp, jne and jmp, or jne, jp and jmp, all of them long.
	at := bytes.Index(text, []byte{0x0f, 0x8a})
	if at > 6 && text[at-6] == 0x0f && text[at-5] == 0x85 {
		at -= 6
	}
	const most = 2*6 + 5
	if at < 0 || text[at+6] != 0x0f || text[at+12] != 0xe9 {
		t.Errorf("no block ends in three long branches: % x", text)
	}
	for _, machine := range codeTargets(t)[:2] {
		if machine.MaxBranches != most {
			t.Errorf("branches take at most %d bytes, want %d", machine.MaxBranches, most)
		}
	}
	fn, err := instantiated(t, build(t, m.bytes(), compile.Options{OptLevel: opt.O0})).Func("f")
	if err != nil {
		t.Fatal(err)
	}
	one, two, nan := math.Float64bits(1), math.Float64bits(2), math.Float64bits(math.NaN())
	for _, c := range []struct{ c, x, y, want uint64 }{{1, one, one, 8}, {0, one, one, 4}, {0, one, two, 6}, {0, nan, nan, 6}, {0, one, nan, 6}} {
		got := []uint64{0}
		if err := fn.Call([]uint64{c.c, c.x, c.y}, got); err != nil || got[0] != c.want {
			t.Errorf("f(%d, %#x, %#x): %d, %v, want %d", c.c, c.x, c.y, got[0], err, c.want)
		}
	}
}

// TestFunctionsRotated: on AArch64 the block that ends a loop stands in front of it, so that a branch on a bit leads back over the whole loop. Loops of
// lengths around the reach of such branches, 32 KiB, do what they should, planned as they are emitted.
func TestFunctionsRotated(t *testing.T) {
	const i32, first, last = 0x7f, 4075, 4100
	m := &wasmModule{}
	for units := first; units <= last; units++ {
		// do { x = (x ^ n) * 3, units times; if x & 1<<20, end; n -= 1 } forever, where x is local 1
		m.exportFn(fmt.Sprint("f", units), []byte{i32}, []byte{i32}, []byte{i32}, slices.Concat([]byte{0x20, 0, 0x21, 1, 0x02, 0x40, 0x03, 0x40},
			bytes.Repeat([]byte{0x20, 1, 0x20, 0, 0x73, 0x41, 3, 0x6c, 0x21, 1}, units),
			[]byte{0x20, 1, 0x41, 0x80, 0x80, 0xc0, 0, 0x71, 0x0d, 1, 0x20, 0, 0x41, 1, 0x6b, 0x21, 0, 0x0c, 0, 0x0b, 0x0b, 0x20, 1})...)
	}
	r := build(t, m.bytes(), compile.Options{OptLevel: opt.O1, Target: compile.TargetA64})
	text := r.Object.Section(".text").Data
	short := 0
	for ; len(text) >= 4; text = text[4:] {
		// tbz or tbnz, far back
		if w := binary.LittleEndian.Uint32(text); w&0x7e000000 == 0x36000000 && int32(w<<13)>>18 < -8000 {
			short++
		}
	}
	if all := last - first + 1; short < 3 || short > all-3 {
		t.Errorf("of %d loops %d end in a branch that leads back by itself", all, short)
	}
	inst := instantiated(t, build(t, m.bytes(), compile.Options{OptLevel: opt.O1}))
	for units := first; units <= last; units++ {
		fn, err := inst.Func(fmt.Sprint("f", units))
		if err != nil {
			t.Fatal(err)
		}
		for n := uint32(1); n < 4; n++ {
			x, left := n, n
			for {
				for range units {
					x = (x ^ left) * 3
				}
				if x&(1<<20) != 0 {
					break
				}
				left--
			}
			got := []uint64{0}
			if err := fn.Call([]uint64{uint64(n)}, got); err != nil || uint32(got[0]) != x {
				t.Errorf("f%d(%d): %d, %v, want %d", units, n, got[0], err, x)
			}
		}
	}
}
