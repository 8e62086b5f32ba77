//go:build linux && (amd64 || arm64)

package inproc

import (
	"testing"

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

// TestStacksGivenBack: what deep calls took of a native stack is given back when its store is closed, and what all calls take stays.
func TestStacksGivenBack(t *testing.T) {
	s := newStore(t)
	if !process.canSee {
		testenv.Missing(t, "nothing says which pages are in memory")
	}
	const page = 4096
	end := s.stack + stackSize
	for _, deep := range []uintptr{page, keptStack, keptStack + 8, keptStack + page, 40 * page} {
		for at := end - 8; at >= end-deep; at -= page {
			store64(at, 1)
		}
		process.giveStack(s.stack)
		for k := range uintptr(50) {
			if in := inMemoryBelow(end - k*page); in && k >= keptStack/page {
				t.Errorf("after %d bytes: page %d from the end is still there", deep, k)
			} else if !in && k == 0 {
				t.Error("the last page is not there: nothing is seen")
			}
		}
		if at, err := process.takeStack(); err != nil || at != s.stack {
			t.Fatalf("another stack: %#x, %v", at, err)
		}
	}
}
