//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/meta"
)

// dataModule has a memory, active segments (overlapping, too; the last but one at the place that
// the imported global says), a passive one, and get() with memory.init of segment 0.
func dataModule(segments ...[]byte) []byte {
	return wasmModule(
		section(1, 1, 0x60, 0, 0),
		section(2, 1, 3, 'e', 'n', 'v', 1, 'g', 3, 0x7f, 0),
		section(3, 1, 0),
		section(5, 1, 0, 4),
		section(7, 2, 3, 'm', 'e', 'm', 2, 0, 3, 'g', 'e', 't', 0, 0),
		section(12, byte(len(segments))),
		section(10, append([]byte{1}, body(0, 0x41, 0, 0x41, 0, 0x41, 1, 0xfc, 8, 0, 0, 0x0b)...)...),
		bigSection(11, append([]byte{byte(len(segments))}, bytes.Join(segments, nil)...)))
}

func bigSection(id byte, b []byte) []byte {
	return append([]byte{id, byte(len(b) | 0x80), byte(len(b)>>7 | 0x80), byte(len(b) >> 14)}, b...)
}

// activeAt is a data segment at a place given by an expression.
func activeAt(expr []byte, content []byte) []byte {
	n := len(content)
	b := append(append([]byte{0}, expr...), 0x0b, byte(n|0x80), byte(n>>7|0x80), byte(n>>14))
	return append(b, content...)
}

func constant(at int) []byte {
	return []byte{0x41, byte(at | 0x80), byte(at>>7 | 0x80), byte(at >> 14 & 0x7f)}
}

// Static segments are mapped, the others copied, and instances do not see each other.
func TestMemoryImage(t *testing.T) {
	testMemoryImage(t, 90_000, 0)  // one run of pages, with many zeros
	testMemoryImage(t, 230_000, 0) // two runs
	testMemoryImage(t, 90_000, 25) // nothing is mapped: most of the pages would be zeros
}

func testMemoryImage(t *testing.T, far, scattered int) {
	long := bytes.Repeat([]byte("0123456789abcdef"), 2000)
	var more [][]byte
	for i := range scattered {
		more = append(more, activeAt(constant(100_000+i*5000), []byte("scattered")))
	}
	wasm := dataModule(append(more,
		activeAt(constant(100), long),
		activeAt(constant(40), []byte("before and over the first of it, which begins at one hundred")),
		activeAt(constant(4096), []byte("over")),
		activeAt(constant(far), []byte("far away")),
		activeAt([]byte{0x23, 0}, []byte("dynamic")), // global.get 0: 4098
		activeAt(constant(4100), []byte("last")))...)
	want := make([]byte, 4<<16)
	copy(want[100:], long)
	copy(want[40:], "before and over the first of it, which begins at one hundred")
	copy(want[4096:], "over")
	copy(want[far:], "far away")
	copy(want[4098:], "dynamic")
	copy(want[4100:], "last")
	for i := range scattered {
		copy(want[100_000+i*5000:], "scattered")
	}
	r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Meta.Datas); n != 2+scattered { // three of the four before the dynamic one overlap
		t.Fatalf("%d static segments, want %d", n, 2+scattered)
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		t.Fatal(err)
	}
	for name, load := range loaders {
		t.Run(fmt.Sprint(name, far, scattered), func(t *testing.T) { checkMemoryImage(t, load(t, img), want) })
	}
	if mapped := scattered == 0; mapped != (img.Memories != nil) || mapped != (len(img.Rodata) < 100) || mapped != (img.Meta.Datas == nil) {
		t.Errorf("%d bytes of constants are left, and %d static segments", len(img.Rodata), len(img.Meta.Datas))
	}
	// A damaged list is refused.
	bad := *r.Meta
	bad.Datas = append([]meta.Data(nil), bad.Datas...)
	bad.Datas[0].Rodata = 1 << 30
	broken, err := link.Image(r.Object, &bad, link.Host{})
	if err == nil {
		_, err = inproc.Load(broken)
	}
	if err == nil {
		t.Error("segment outside of the constants accepted")
	}
}

// checkMemoryImage makes instances of TestMemoryImage's module.
func checkMemoryImage(t *testing.T, m *inproc.Module, want []byte) {
	defer m.Close()
	for range 3 {
		s, err := inproc.NewStore(inproc.Config{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.NewGlobal(meta.I32, false, 4098, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			i, err := s.Instantiate(m, func(string, string) inproc.Extern { return g })
			if err != nil {
				t.Fatal(err)
			}
			mem, err := i.Memory("mem")
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(mem.Bytes(), want) {
				t.Error("memory differs")
			}
			clear(mem.Bytes())
			// Segment 0 has been dropped: nothing is left to copy.
			if err := export(t, i, "get").Call(nil, nil); err == nil {
				t.Error("the active segment is still there")
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
