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
		m, err := wat.Assemble([]byte(text(c.pages, c.size)))
		if err != nil {
			t.Fatal(err)
		}
		img, err := image(m.Wasm, opt.O1)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"emptied", "written"} {
			s, err := inproc.NewStore(inproc.Config{})
			if err != nil {
				t.Fatal(err)
			}
			mod, err := s.Load(img)
			if err != nil {
				t.Fatal(err)
			}
			inst, err := s.Instantiate(mod, nil)
			if err != nil {
				t.Fatal(err)
			}
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
			s.Close()
		}
	}
}

// TestResetBesideViews: a slice of a memory that is reset between the look-up of the place and the making of the slice is none of a shorter file.
func TestResetBesideViews(t *testing.T) {
	m, err := wat.Assemble([]byte(`(module (memory (export "memory") 1 200))`))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image(m.Wasm, opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := inproc.NewStore(inproc.Config{KeepViews: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mod, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(mod, nil)
	if err != nil {
		t.Fatal(err)
	}
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
	m, err := wat.Assemble([]byte(`(module (memory (export "memory") 4) (data (i32.const 100000) "abcdefgh"))`))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image(m.Wasm, opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mod, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(mod, nil)
	if err != nil {
		t.Fatal(err)
	}
	mem := inst.MainMemory()
	mem.Grow(1)
	mem.Use()
	back := mod.LoseImages()
	if err := inst.Reset(nil); err == nil {
		t.Skip("no image of the memory is a file here")
	}
	back()
	if err := inst.Reset(nil); err != nil || string(mem.Bytes()[100_000:100_008]) != "abcdefgh" {
		t.Errorf("%v: %q", err, mem.Bytes()[100_000:100_008])
	}
}
