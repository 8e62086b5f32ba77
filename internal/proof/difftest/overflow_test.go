package difftest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// recursiveModule exports f: (i32) -> i32, which calls itself, or the imported host if
// its argument is odd, n/2 times deep, with live values of type i64 in the frame
// meanwhile, and gives the depth.
func recursiveModule(live int) []byte {
	section := func(id byte, parts ...[]byte) []byte {
		b := join(parts...)
		return join([]byte{id}, uleb(len(b)), b)
	}
	code := join([]byte{0},
		[]byte{0x20, 0, 0x41, 2, 0x49, 0x04, 0x40, 0x41, 0, 0x0F, 0x0B},
		numbered(live, func(i int) []byte { return join([]byte{0x41, 0, 0x29, 3}, uleb(8*i)) }), // values to keep
		[]byte{0x20, 0, 0x41, 2, 0x6B, 0x20, 0, 0x41, 1, 0x71, 0x04, 0, 0x10, 0, 0x05, 0x10, 1, 0x0B, 0x21, 0},
		repeat(live, 0xA7, 0x20, 0, 0x6A, 0x21, 0), // added to the result, zeros
		[]byte{0x20, 0, 0x41, 1, 0x6A, 0x0B})
	return join([]byte{0, 'a', 's', 'm', 1, 0, 0, 0},
		section(1, []byte{1, 0x60, 1, 0x7F, 1, 0x7F}),
		section(2, []byte{1, 1, 'm', 1, 'h', 0, 0}),
		section(3, []byte{1, 0}), section(5, []byte{1, 0, 1}),
		section(7, []byte{1, 1, 'f', 0, 1}),
		section(10, []byte{1}, uleb(len(code)), code))
}

// TestStackOverflow uses up the native stack with frames of different sizes, with and
// without activations of the host in between: always a trap, and the store works on.
func TestStackOverflow(t *testing.T) {
	for _, live := range []int{0, 1, 40, 510, 520, 3000} {
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			t.Run(fmt.Sprintf("%d live O%d", live, level), func(t *testing.T) {
				r, err := compile.Module(recursiveModule(live), compile.Options{OptLevel: level, Verify: true})
				if err != nil {
					t.Fatal(err)
				}
				img, err := load.Image(r.Object, r.Meta)
				if err != nil {
					t.Fatal(err)
				}
				s, err := inproc.NewStore(inproc.Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				overflow(t, s, img)
			})
		}
	}
}

func overflow(t *testing.T, s *inproc.Store, img *inproc.Image) {
	typ := meta.FuncType{Params: []meta.ValType{meta.I32}, Results: []meta.ValType{meta.I32}}
	m, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	var f *inproc.Func
	h, err := s.NewHostFunc(typ, func(_ *inproc.Caller, args, results []uint64) error { return f.Call(args, results) })
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(m, func(string, string) inproc.Extern { return h })
	if err != nil {
		t.Fatal(err)
	}
	if f, err = inst.Func("f"); err != nil {
		t.Fatal(err)
	}
	for _, odd := range []uint64{0, 1} {
		for range 3 {
			out := []uint64{40 + odd}
			if err := f.Call(out, out); err != nil || out[0] != 20 {
				t.Fatalf("depth 20: %d, %v", out[0], err)
			}
			out[0] = 1<<32 - 2 + odd
			err := f.Call(out, out)
			var trap *inproc.Trap
			if !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow {
				t.Fatalf("%v, want a stack overflow", err)
			}
		}
	}
}
