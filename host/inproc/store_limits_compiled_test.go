//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
)

// TestManyTables: a small module with many tables, all of which it makes long, commits no more than the store
// allows; elements that have always been null next to nothing, also when they have been looked at, and
// made null.
func TestManyTables(t *testing.T) {
	const tables, elements = 100, 3_000_000
	grow := func(n int, value code) code { // table.grow n value elements; drop
		return cat(value, num(elements), code{0xFC, 0x0F}, leb(n), code{0x1A})
	}
	wasm := module(
		sectionOf(1, typeOf(meta.FuncType{Params: vt{xref}})),
		sectionOf(3, []byte{0}, []byte{0}, []byte{0}),
		sectionOf(4, repeated(tables, []byte{0x6F, 0, 0})...),
		sectionOf(7, exportOf("nulls", 0, 0), exportOf("values", 0, 1), exportOf("fills", 0, 2), exportOf("t99", 1, 99)),
		sectionOf(10,
			bodyOf([]byte{0}, repeat(tables, func(n int) code { return grow(n, null) })),
			bodyOf([]byte{0}, repeat(tables, func(n int) code { return grow(n, get(0)) })),
			bodyOf([]byte{0}, repeat(5, func(n int) code { // table.fill n 0 null elements
				return cat(grow(n, null), num(0), null, num(elements), code{0xFC, 0x11}, leb(n))
			}))))
	const limit = 128 << 20
	if len(wasm) > 3000 {
		t.Errorf("%d bytes", len(wasm))
	}
	img, err := image(wasm, opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	untouched := int64(limit / 8)
	if readingAllocates(t) {
		t.Log("this system gives pages that are only read memory of their own: so do null elements take it")
		untouched = limit + limit/8
	}
	for _, c := range []struct {
		export string
		most   int64 // bytes
	}{{"nulls", untouched}, {"fills", untouched}, {"values", limit + limit/8}} {
		s, err := inproc.NewStore(inproc.Config{MaxMemoryPages: 16})
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Load(img)
		if err != nil {
			t.Fatal(err)
		}
		i, err := s.Instantiate(m, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := resident(t)
		if err := export(t, i, c.export).Call([]uint64{s.ExternRef("x")}, nil); err != nil {
			t.Error(err)
		}
		if err := s.CollectRefs(); err != nil {
			t.Error(err)
		}
		if n := resident(t) - before; n > c.most {
			t.Errorf("%s: %d bytes", c.export, n)
		}
		if last, err := i.Table("t99"); err != nil || last.Len() != 0 {
			t.Error(last.Len(), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if n := resident(t) - before; n > limit/8 {
			t.Errorf("%s: %d bytes stay", c.export, n)
		}
	}
}

// readingAllocates reports whether a page of anonymous memory that is only read takes memory. On most systems such pages share one with zeros.
func readingAllocates(t *testing.T) bool {
	t.Helper()
	const size = 32 << 20
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	before, sum := resident(t), byte(0)
	for i := 0; i < size; i += os.Getpagesize() {
		sum |= b[i]
	}
	return sum != 0 || resident(t)-before > size/2
}

func repeated(n int, b []byte) (all [][]byte) {
	for range n {
		all = append(all, b)
	}
	return all
}

// resident is the bytes of memory that the process has.
func resident(t *testing.T) int64 {
	t.Helper()
	var all, pages int64
	b, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscan(string(b), &all, &pages)
	}
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
