package compile_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
)

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
		}
	}
	r := build(t, m.bytes(), compile.Options{OptLevel: opt.O0, Verify: true, Target: "x86-64-linux"})
	text := r.Object.Section(".text").Data
	for what, code := range map[string]string{"back, short": "\x75\x80", "back, long": "\x0f\x85\x7a\xff\xff\xff", "forwards, short": "\x74\x7f", "forwards, long": "\x0f\x84\x80\x00\x00\x00"} {
		if !bytes.Contains(text, []byte(code)) {
			t.Errorf("no branch %s at the limit: % x", what, code)
		}
	}
	r = build(t, m.bytes(), compile.Options{OptLevel: opt.O0, Verify: true})
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
	defer store.Close()
	mod, err := store.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := store.Instantiate(mod, nil)
	if err != nil {
		t.Fatal(err)
	}
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
