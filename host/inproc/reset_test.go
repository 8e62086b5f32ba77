//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestResetWithoutEmptying: a reset is whole also where the system does not take pages away, or nothing is cleared by writing: with images of
// memories as files, and as bytes, small and large.
func TestResetWithoutEmptying(t *testing.T) {
	data, tables := bytes.Repeat([]byte("abcdefgh"), 20_000), 20_000 // more than is cleared by writing
	text := func(pages, size int) string {
		return fmt.Sprintf(`(module (memory (export "memory") %d) (table $t %d funcref) (global $n (mut i64) (i64.const 3))
			(data (i32.const 16) "%s") (elem (table $t) (i32.const 1) func $f)
			(func $f (export "f") (result i64) (i64.add (global.get $n) (i64.extend_i32_u (ref.is_null (table.get $t (i32.const 0))))))
			(func (export "disturb") (global.set $n (i64.const 77)) (table.fill $t (i32.const 0) (ref.func $f) (table.size $t))
				(memory.fill (i32.const 0) (i32.const 1) (i32.shl (memory.size) (i32.const 16)))))`, pages, tables, data[:size])
	}
	for _, c := range []struct{ pages, size int }{{1, 8}, {4, 160_000}, {40, 100}} {
		for _, way := range []string{"emptied", "written"} {
			inst := resettable(t, inproc.Config{}, text(c.pages, c.size))
			f, _ := inst.Func("f")
			disturb, _ := inst.Func("disturb")
			want := slices.Clone(inst.MainMemory().Bytes())
			end := func() {}
			if way == "written" {
				end = inproc.KeepNothing()
			}
			for range 3 {
				if err := disturb.Call(nil, nil); err != nil {
					t.Fatal(err)
				}
				if err := inst.Reset(nil); err != nil {
					t.Fatal(err)
				}
				var got [1]uint64
				if err := f.Call(nil, got[:]); err != nil || got[0] != 4 || !bytes.Equal(inst.MainMemory().Bytes(), want) {
					t.Errorf("%d pages, %s: f gives %d, %v; the memory is as it was: %v", c.pages, way, got[0], err, bytes.Equal(inst.MainMemory().Bytes(), want))
				}
			}
			end()
		}
	}
}

// resettable makes an instance of a text in a store of its own.
func resettable(t *testing.T, c inproc.Config, text string) *inproc.Instance {
	t.Helper()
	m, err := wat.Assemble([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image(m.Wasm, opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := inproc.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	mod, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(mod, nil)
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

// TestResetBesideViews: a slice of a memory that is reset between the look-up of the place and the making of the slice is none of a shorter file.
func TestResetBesideViews(t *testing.T) {
	inst := resettable(t, inproc.Config{KeepViews: true}, `(module (memory (export "memory") 1 200))`)
	mem := inst.MainMemory()
	mem.Grow(100)
	l := mem.Use()
	p := l.At(50<<16, 8)
	if err := inst.Reset(nil); err != nil {
		t.Fatal(err)
	}
	if b := l.Kept(p, 50<<16, 8); b != nil && b[0] != 0 {
		t.Error(b)
	}
}

// TestResetAfterFailure: a reset that fails for want of the image is made good by the next one.
func TestResetAfterFailure(t *testing.T) {
	data := bytes.Repeat([]byte("abcdefgh"), 20_000) // so much is an image
	inst := resettable(t, inproc.Config{}, fmt.Sprintf(`(module (memory (export "memory") 4) (data (i32.const 16) "%s"))`, data))
	mem := inst.MainMemory()
	mem.Grow(1)
	mem.Use() // so that the memory gets another place, where the image has to be mapped
	back := inst.Module().LoseImages()
	if err := inst.Reset(nil); err == nil {
		t.Fatal("the image is not asked for")
	}
	back()
	if err := inst.Reset(nil); err != nil || !bytes.Equal(mem.Bytes()[16:16+len(data)], data) {
		t.Errorf("%v: %q", err, mem.Bytes()[:32])
	}
}
