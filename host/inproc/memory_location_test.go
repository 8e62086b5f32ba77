//go:build linux && (amd64 || arm64)

package inproc

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// TestRetired: what an access is in the middle of when the store is closed, or the memory moves, is mapped until it is over, and nobody else's.
func TestRetired(t *testing.T) {
	const pages = 3
	for _, c := range []struct {
		name    string
		keep    bool
		movable bool
		viewed  bool
		grow    bool
		within  bool // the mapping has room for growth
	}{
		{name: "reserved"}, {name: "reserved, views", keep: true}, {name: "reserved, slices", viewed: true},
		{name: "movable", movable: true}, {name: "movable, views", movable: true, keep: true}, {name: "movable, slices", movable: true, viewed: true},
		{name: "movable, grown in place", movable: true, within: true}, {name: "movable, grown", movable: true, grow: true}, {name: "movable, views, grown", movable: true, keep: true, grow: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			awaitRetired()
			process.dropSpares()
			newStore(t).Close() // the native stack stays
			mappings := process.mappings
			make := func() (*Store, *Memory) {
				s := newStore(t)
				s.config.KeepViews = c.keep
				m, err := s.newMemory(Limits{Min: pages}, c.movable, nil)
				if err != nil {
					t.Fatal(err)
				}
				return s, m
			}
			s, m := make()
			if c.within {
				m.Use()
				m.Grow(1)
			}
			l := m.Use()
			p := l.At(100, 8)
			word := (*uint64)(p)
			*word = 77
			if c.viewed {
				l.Lend()
			}
			if c.grow {
				m.Grow(100)
				if got := *(*uint64)(unsafe.Pointer(&m.Bytes()[100])); got != 77 {
					t.Errorf("%d after growth", got)
				}
			}
			if c.within {
				m.Grow(1)
			}
			s.Close()
			if m.Use() != nil || m.CurrentSize() != 0 {
				t.Error("a closed store has a memory")
			}
			_ = *word // no fault
			*word = 78
			addresses := map[uintptr]bool{}
			for range 3 {
				s, m := make()
				at := m.base + 100
				if load64(at) != 0 || at == uintptr(p) || addresses[at] {
					t.Errorf("another store has %d at %#x; the closed one has %#x", load64(at), at, uintptr(p))
				}
				if c.viewed {
					m.Use().Lend()
					addresses[at] = true
				}
				s.Close()
				*word = 79
			}
			runtime.KeepAlive(l)
			awaitRetired()
			graves, most := uint64(len(process.graves.list)), uint64(1)
			if c.movable && c.viewed {
				most = 4 // the system says where each mapping is, which may be apart from the others
			}
			if n := process.mappings; n != mappings+graves || graves > most || c.viewed && graves == 0 {
				t.Errorf("%d mappings, %d of them graves, and %d before", n, graves, mappings)
			}
			if c.viewed {
				*word = 80 // what must not be done, and harms nobody
			}
			process.reclaim()
			if process.mappings != mappings || process.graves.size != 0 {
				t.Errorf("%d mappings and %d bytes of graves are left", process.mappings-mappings, process.graves.size)
			}
		})
	}
}

// TestUnused: the addresses of a memory that Go code has not used from outside serve the next store at once.
func TestUnused(t *testing.T) {
	awaitRetired()
	base := uintptr(0)
	for i := range 3 {
		s := newStore(t)
		m, err := s.NewMemory(Limits{Min: 1})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && m.base != base {
			t.Errorf("at %#x, and before at %#x", m.base, base)
		}
		base = m.base
		m.Bytes()[1] = 1
		s.Close()
	}
	if n := process.retired.Load(); n != 0 {
		t.Errorf("%d retired", n)
	}
}

// TestRetiredCycle: a location that the closed store itself leads to, as by a host function that looks at a memory, keeps neither.
func TestRetiredCycle(t *testing.T) {
	awaitRetired()
	for _, movable := range []bool{false, true} {
		for _, keep := range []bool{false, true} {
			func() {
				s, err := NewStore(Config{KeepViews: keep})
				if err != nil {
					t.Fatal(err)
				}
				m, err := s.newMemory(Limits{Min: 1}, movable, nil)
				if err != nil {
					t.Fatal(err)
				}
				l := m.Use()
				if movable && !keep {
					l.Lend()
				}
				_, err = s.NewHostFunc(meta.FuncType{}, func(*Caller, []uint64, []uint64) error {
					runtime.KeepAlive(l)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
			}()
			for range 200 {
				if process.retired.Load() == 0 {
					break
				}
				runtime.GC()
				time.Sleep(time.Millisecond) // the cleanup is a goroutine's
			}
			if n := process.retired.Load(); n != 0 {
				t.Fatalf("movable %v, views %v: %d are not gone", movable, keep, n)
			}
		}
	}
}

// TestGraves: graves touch, so that they are one mapping, also if no slices were taken of some memories, and are no more than a part of the addresses of a process.
func TestGraves(t *testing.T) {
	awaitRetired()
	process.dropSpares()
	process.reclaim()
	const n = 200
	for i := range n {
		s := newStore(t)
		m, err := s.NewMemory(Limits{Min: 1})
		if err != nil {
			t.Fatal(err)
		}
		if l := m.Use(); i%3 != 1 {
			l.Lend()
		}
		s.Close()
		if process.retired.Load() > 20 {
			awaitRetired()
		}
	}
	awaitRetired()
	process.mu.Lock()
	list, size := len(process.graves.list), process.graves.size
	process.mu.Unlock()
	if list > n/20 || size < n*abi.PageSize {
		t.Errorf("%d graves of %d bytes", list, size)
	}
	process.mu.Lock()
	for range 3 {
		process.graves.list = append(process.graves.list, extent{low: 16, size: maxGraves / 2}) // nothing is mapped there
		process.graves.size += maxGraves / 2
		process.mappings++
	}
	process.mu.Unlock()
	process.bury(extent{low: 32, size: 0})
	if process.graves.size > maxGraves {
		t.Errorf("%d bytes of graves", process.graves.size)
	}
	process.reclaim()
}

// TestGraveOfWhole: a grave that takes all of a reservation, wherever that begins, takes nothing of what is mapped behind it.
func TestGraveOfWhole(t *testing.T) {
	newStore(t).Close()
	for _, offset := range [...]uintptr{0, pageSize, memoryHeader - pageSize} {
		awaitRetired()
		process.reclaim()
		process.dropSpares()
		mappings := process.mappings
		const behind = 2 * memoryHeader
		at, err := reserve(bytes64(memorySize)+2*behind, protNone)
		if err != nil {
			t.Fatal(err)
		}
		low := alignUp(at, memoryHeader) + offset
		end := low + bytes64(memorySize)
		if err := place(end, pageSize, protRW); err != nil {
			t.Fatal(err)
		}
		store64(end, 77)
		if err := process.takeMappings(memoryMappings); err != nil {
			t.Fatal(err)
		}
		// This is how a memory ends that has asked for huge pages.
		l := newLocation(low+memoryHeader, pageSize, nil)
		l.viewed.Store(new(atomic.Bool))
		process.buryMemory(spareMemory{low: low, end: end, open: pageSize + bytes64(abi.MemoryReservation), warm: pageSize + bytes64(abi.MemoryReservation)}, l)
		runtime.KeepAlive(l)
		l = nil
		if got := load64(end); got != 77 {
			t.Errorf("offset %#x: %d behind the reservation", offset, got)
		}
		awaitRetired()
		if n := len(process.spares.memories); n != 0 || process.mappings != mappings {
			t.Errorf("offset %#x: %d spare memories, %d mappings and %d before", offset, n, process.mappings, mappings)
		}
		if got := load64(end); got != 77 { // a fault if it has been unmapped
			t.Errorf("offset %#x: %d behind the reservation", offset, got)
		}
		process.spares.memories = nil
		munmap(at, bytes64(memorySize)+2*behind)
	}
}
