//go:build linux && (amd64 || arm64)

package inproc

import (
	"os"
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestSparesKept: what closed stores leave is limited, and ends with the module, or when it is asked for.
func TestSparesKept(t *testing.T) {
	p := &process
	p.dropSpares()
	// Without room for graves: an emulator needs memory and time for the addresses of so many stores.
	defer p.more.Store(p.more.Swap(false))
	b := newBuilder().memory(meta.Memory{Min: 2}).table(meta.Table{Elem: fref, Min: 10}).def("count", fn(nil, vt{i64})).parts("init")
	m, err := b.load()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	use := func(n int) {
		var stores []*Store
		for range n {
			s := newStore(t)
			if _, err := s.Instantiate(m, nil); err != nil {
				t.Fatal(err)
			}
			stores = append(stores, s)
		}
		for _, s := range stores {
			s.Close()
		}
	}
	kept := func() [3]int { return [3]int{len(p.spares.images), len(p.spares.memories), len(p.spares.regions)} }
	use(3)
	if got := kept(); got != [3]int{3, 3, 6} {
		t.Errorf("images, memories, regions of 3 stores: %v", got)
	}
	mappings, free := p.mappings, len(p.free)
	use(3)
	if got := kept(); got != [3]int{3, 3, 6} || p.mappings != mappings || len(p.free) != free {
		t.Errorf("again: %v, %d mappings and before %d", got, p.mappings, mappings)
	}
	use(maxSpares + 5)
	if got := kept(); got != [3]int{maxSpares, maxSpares, maxSpares} {
		t.Errorf("of many stores: %v", got)
	}
	m.Close()
	if got := kept(); got != [3]int{0, maxSpares, maxSpares} {
		t.Errorf("without the module: %v", got)
	}
	// Reservations are kept where the accessible bytes of all would be too many.
	p.dropSpares()
	var stores []*Store
	for range 6 {
		s := newStore(t)
		if _, err := s.NewMemory(Limits{Min: 15 << 4}); err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
	}
	for _, s := range stores {
		s.Close()
	}
	open := 0
	for _, x := range p.spares.memories {
		if x.open > 0 {
			open++
		}
	}
	if len(p.spares.memories) != 6 || open != 4 || p.spares.bytes > maxSpareBytes {
		t.Errorf("of 6 memories of 15 MiB: %d, %d of them accessible, in all %d bytes", len(p.spares.memories), open, p.spares.bytes)
	}
	if !p.dropSpares() || kept() != [3]int{} || p.dropSpares() {
		t.Errorf("dropped: %v", kept())
	}
}

// TestSparesWarm: the pages of a memory that has grown stay for the next one that does, zero, and within the bounds, whoever has them.
func TestSparesWarm(t *testing.T) {
	p := &process
	p.dropSpares()
	defer p.dropSpares()
	const pages = 200
	grow := func(m *Memory, by uint64) {
		t.Helper()
		if m.Grow(by) == growFailed {
			t.Fatal("no growth")
		}
		for n, b := range m.Bytes() {
			if b != 0 {
				t.Fatalf("byte %d is %#x", n, b)
			}
		}
	}
	memory := func(min uint64) (*Store, *Memory) {
		t.Helper()
		s := newStore(t)
		m, err := s.NewMemory(Limits{Min: min})
		if err != nil {
			t.Fatal(err)
		}
		return s, m
	}
	bounded := func() {
		t.Helper()
		warm := uintptr(0)
		for _, x := range p.spares.memories {
			if warm += x.warm; x.open > x.warm {
				t.Error(x)
			}
		}
		if p.spares.bytes < warm || p.spares.bytes+p.spares.lent > maxSpareBytes {
			t.Errorf("%d bytes of spares, %d lent, and warm %d", p.spares.bytes, p.spares.lent, warm)
		}
	}
	for _, step := range []int{1, pageSize, 3 * pageSize} { // all pages, and some, in few rows and in many
		for range 2 {
			s, m := memory(1)
			grow(m, pages-1)
			for b := m.Bytes(); len(b) > 0; b = b[min(step, len(b)):] {
				b[0] = 1
			}
			s.Close()
			bounded()
		}
	}
	if !p.empties() || p.scanner.file < 0 {
		if os.Getenv("WAOT_EMULATOR") != "" {
			t.Skip("the emulator does not say which pages were written")
		}
		testenv.Missing(t, "nothing says which pages were written")
	}

	// A memory that stays small has borrowed the rest meanwhile.
	p.dropSpares()
	for range 3 {
		s, m := memory(1)
		grow(m, pages-1)
		clear(m.Bytes())
		m.Bytes()[pages*wasmPage-1] = 1
		base := m.base
		s.Close()
		if x := p.spares.memories; len(x) != 1 || x[0].open != pageSize+wasmPage || x[0].warm != pageSize+pages*wasmPage || p.spares.lent != 0 {
			t.Fatalf("%+v, %d lent", x, p.spares.lent)
		}
		if !inMemoryBelow(base + pages*wasmPage) {
			t.Error("the last page is gone")
		}
		s, m = memory(1)
		if m.base != base || p.spares.lent != (pages-1)*wasmPage {
			t.Errorf("%#x and not %#x, %d lent", m.base, base, p.spares.lent)
		}
		bounded()
		p.dropSpares()
		s.Close()
		if x := p.spares.memories; len(x) != 1 || x[0].warm != pageSize+pages*wasmPage || p.spares.lent != 0 {
			t.Errorf("%+v, %d lent", x, p.spares.lent)
		}
	}
	// Of a memory with data the pages stay that it has grown by.
	mod := &Module{}
	mod.makeMemoryImages([]image.Memory{{{Offset: 100, Data: []byte("data")}, {Offset: 9000, Data: []byte("more")}}}, true)
	defer closeImages(mod.images)
	p.dropSpares()
	for round := range 4 {
		s, m := memory(1)
		grow(m, 0)
		if err := mod.images[0].into(m); err != nil {
			t.Fatal(err)
		}
		if b := m.Bytes(); string(b[100:104]) != "data" || string(b[9000:9004]) != "more" {
			t.Error("no data")
		}
		if round == 2 { // one that does not grow
			s.Close()
			continue
		}
		m.Grow(pages - 1)
		for n, b := range m.Bytes()[wasmPage:] {
			if b != 0 {
				t.Fatalf("byte %d is %#x", n, b)
			}
		}
		for n := range m.Bytes() {
			m.Bytes()[n] = 1
		}
		base := m.base
		s.Close()
		if x := p.spares.memories; len(x) != 1 || x[0].open != pageSize+wasmPage || x[0].warm != pageSize+pages*wasmPage || !inMemoryBelow(base+pages*wasmPage) {
			t.Fatalf("%+v", x)
		}
	}

	p.dropSpares()
	var small []*Store
	for range 8 {
		var grown []*Store
		for range 8 {
			s, m := memory(1)
			grow(m, pages-1)
			grown = append(grown, s)
		}
		for _, s := range grown {
			s.Close()
			bounded()
		}
		s, _ := memory(1)
		small = append(small, s)
		bounded()
	}
	for _, s := range small {
		s.Close()
		bounded()
	}
	if p.spares.lent != 0 {
		t.Error(p.spares.lent)
	}
}

// TestRegionsZero: what a store had of its own memory is zero for the next one.
func TestRegionsZero(t *testing.T) {
	s := newStore(t)
	var at uintptr
	for range 3 {
		var err error
		if at, err = s.alloc(slabSize/2 + 16); err != nil {
			t.Fatal(err)
		}
		for k := range uintptr(slabSize/2 + 16) {
			bytesAt(at, slabSize/2+16)[k] = 0xff
		}
	}
	slabs := s.slabs
	s.Close()
	for _, e := range slabs {
		for k, b := range bytesAt(e.low, e.size) {
			if b != 0 {
				t.Fatalf("byte %d of %d is %#x", k, e.size, b)
			}
		}
	}
}

// writtenBelow reports whether the page of 4 KiB below an address takes memory: one that was only read does not. Where the kernel does not tell, as in an emulator, it reports whether the page
// has something that is not zero: one that was given back has nothing.
func writtenBelow(end uintptr) (written bool) {
	if process.scanner.file < 0 {
		return slices.ContainsFunc(bytesAt(end-leastPage, leastPage), func(b byte) bool { return b != 0 })
	}
	process.scanner.written(end-leastPage, leastPage, false, 2, func(extent) { written = true })
	return written
}

// needSight skips a test where nothing tells which pages of a stack take memory: the kernel has to, but in an emulator, which must empty them.
func needSight(t *testing.T) {
	t.Helper()
	if !process.empties() || process.scanner.file < 0 && os.Getenv("WAOT_EMULATOR") == "" {
		testenv.Missing(t, "nothing says which pages are in memory")
	}
}

// TestStacksGivenBack: what deep calls took of a native stack is given back when its store is closed, and what all calls take stays.
func TestStacksGivenBack(t *testing.T) {
	s := newStore(t)
	needSight(t)
	const page = leastPage
	end := s.top
	for _, large := range []bool{false, true} {
		value := uint64(1)
		if large && process.scanner.file >= 0 {
			value = 0
		}
		for first := uintptr(8); first <= page; first += page / 4 { // the place of the first write, from which each is a page further
			for _, deep := range []uintptr{page, keptStack, keptStack + 8, keptStack + page, 40 * page} {
				for at := end - first; at >= end-deep; at -= page {
					store64(at, value)
				}
				process.giveStack(s.stack, s.top, large)
				for k := range uintptr(50) {
					if written := writtenBelow(end - k*page); written && k >= keptStack/page {
						t.Errorf("large frames %v, %d bytes deep, from %d on: page %d from the end is still there", large, deep, first, k)
					} else if !written && k == 0 {
						t.Error("the last page is not there: nothing is seen")
					}
				}
				if at, err := process.takeStack(s.top - s.stack); err != nil || at != s.stack {
					t.Fatalf("another stack: %#x, %v", at, err)
				}
			}
		}
	}
}

// TestFreeOSMemory: nothing that a closed store has left is in memory then, and the next store finds all it needs.
func TestFreeOSMemory(t *testing.T) {
	p := &process
	p.dropSpares()
	defer p.dropSpares()
	run := func() (top uintptr) {
		s := newStore(t)
		defer s.Close()
		m, err := s.NewMemory(Limits{Min: 4})
		if err != nil {
			t.Fatal(err)
		}
		clear(m.Bytes())
		store64(s.top-8, 1)
		return s.top
	}
	needSight(t)
	top := run()
	if !writtenBelow(top) {
		t.Error("a stack does not keep its pages")
	}
	FreeOSMemory()
	if writtenBelow(top) || p.spares.bytes != 0 || len(p.spares.memories) != 1 {
		t.Errorf("a stack keeps its pages: %v; %d bytes are left", writtenBelow(top), p.spares.bytes)
	}
	run()
}
