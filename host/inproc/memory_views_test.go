//go:build linux && (amd64 || arm64)

package inproc

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// mappedBytes is how much of memories is mapped.
func mappedBytes(t *testing.T) (bytes uintptr) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		if !strings.Contains(line, "memfd:waot") {
			continue
		}
		var low, high uintptr
		if _, err := fmt.Sscanf(line, "%x-%x", &low, &high); err != nil {
			t.Fatal(err)
		}
		bytes += high - low
	}
	return bytes
}

// withoutMappings runs f while the process has no mappings left.
func withoutMappings(f func()) {
	p := &process
	p.mu.Lock()
	most := p.maxMappings
	p.maxMappings = p.mappings
	p.mu.Unlock()
	f()
	p.mu.Lock()
	p.maxMappings = most
	p.mu.Unlock()
}

// Slices that were taken where mappings had run out keep their pages mapped after the end of the store, and nothing else.
func TestViewsWithoutMappings(t *testing.T) {
	runtime.GC() // ends views of other tests
	s, err := NewStore(Config{KeepViews: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.NewMemory(Limits{Min: 64})
	if err != nil {
		t.Fatal(err)
	}
	process.viewsMade.Store(0)
	before := mappedBytes(t)
	mappings := process.mappings
	var first, second []byte
	withoutMappings(func() {
		first, second = m.slice(100_000, 10), m.slice(140_000, 5000)
	})
	first[1], second[4999] = 7, 8
	if b := m.Bytes(); b[100_001] != 7 || b[144_999] != 8 {
		t.Error("slices are not the memory")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if first[1] != 7 || second[4999] != 8 {
		t.Error("slices have changed")
	}
	awaitRetired()
	after := mappedBytes(t)
	if want := before - 64*wasmPage + alignUp(145_000, pageSize) - 100_000&^(pageSize-1); after > want {
		t.Errorf("%d bytes stay mapped, want %d at most", after, want)
	}
	if n := process.mappings; n >= mappings {
		t.Errorf("%d mappings are counted, %d before", n, mappings)
	}
}

// Where mappings run out, those of views that nobody has any more are found.
func TestViewsCollected(t *testing.T) {
	s, err := NewStore(Config{KeepViews: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 5 { // more views than memories remember
		m, err := s.NewMemory(Limits{Min: 256})
		if err != nil {
			t.Fatal(err)
		}
		for at := uint64(0); at < 256*uint64(wasmPage); at += 1 << minViewShift {
			m.slice(at, 1)[0] = 1
		}
		m.views.mu.Lock()
		m.views.all = nil
		m.views.mu.Unlock()
		m.views.last.Store(nil)
	}
	process.viewsMade.Store(viewsToCollect)
	withoutMappings(func() {
		m := s.memories[len(s.memories)-1]
		b := m.slice(7, 1)
		if at := uintptr(unsafe.Pointer(&b[0])); at-m.base < 256*wasmPage || m.views.pinned.size != 0 {
			t.Error("no view was made")
		}
		if b[0] != 0 || m.Bytes()[0] != 1 {
			t.Error("the view is of something else")
		}
	})
}

// awaitRetired waits until everything that has been retired, and that nobody uses, is gone.
func awaitRetired() {
	for process.retired.Load() > 0 {
		runtime.GC()
	}
}

// slice is a part of the memory as the program gets it.
func (m *Memory) slice(offset, n uint64) []byte {
	l := m.Use()
	p := l.At(offset, n)
	defer runtime.KeepAlive(l)
	return l.Kept(p, offset, n)
}
