//go:build linux

package gcheap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// newMemory returns a reservation, whose parts are accessible as long as they are committed.
func newMemory(t *testing.T) Memory {
	b, err := syscall.Mmap(-1, 0, Size, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return Memory{
		Bytes:  b,
		Commit: func(from, to uint64) error { return syscall.Mprotect(b[from:to], syscall.PROT_READ|syscall.PROT_WRITE) },
		Release: func(from, to uint64) error {
			return errors.Join(syscall.Madvise(b[from:to], syscall.MADV_DONTNEED), syscall.Mprotect(b[from:to], syscall.PROT_NONE))
		},
		Clear: func(from, to uint64) error { return syscall.Madvise(b[from:to], syscall.MADV_DONTNEED) },
	}
}

// The types of the tests: a pair of references and a number, a structure with a word of the host, arrays of bytes, of references and of words.
const (
	pair = iota + 1
	holder
	bytesType
	refsType
	wordsType
	empty
)

func testTypes() Types {
	mut := func(t abi.ValType) abi.FieldType { return abi.FieldType{Type: t, Mutable: true} }
	list, index := make([]Type, 1), make([]uint32, 1)
	for _, c := range []struct {
		kind   abi.TypeKind
		fields []abi.FieldType
	}{
		{abi.KindStruct, []abi.FieldType{mut(abi.EqRef), mut(abi.I64), mut(abi.StructRef)}},
		{abi.KindStruct, []abi.FieldType{mut(abi.ExternRef), mut(abi.AnyRef)}},
		{abi.KindArray, []abi.FieldType{{Type: abi.I32, Packed: 8}}},
		{abi.KindArray, []abi.FieldType{mut(abi.EqRef)}},
		{abi.KindArray, []abi.FieldType{mut(abi.AnyRef)}},
		{abi.KindStruct, nil},
	} {
		def := &abi.TypeDef{Kind: c.kind, Fields: c.fields}
		index = append(index, uint32(len(list)))
		list = append(list, TypeOf(def, def.ObjectLayout(nil)))
	}
	return Types{index, list}
}

// TestLayout: fields are aligned and do not overlap, a subtype has those of its supertype in the same places, and what may hold a handle has 8 bytes.
func TestLayout(t *testing.T) {
	f := func(t abi.ValType) abi.FieldType { return abi.FieldType{Type: t} }
	super := &abi.TypeDef{Kind: abi.KindStruct, Fields: []abi.FieldType{{Type: abi.I32, Packed: 8}, f(abi.EqRef), f(abi.AnyRef)}}
	sub := &abi.TypeDef{Kind: abi.KindStruct, Fields: append(slices.Clone(super.Fields), f(abi.V128), f(abi.FuncRef), abi.FieldType{Type: abi.I32, Packed: 16}, f(abi.ExternRef), f(abi.RefToKind(abi.KindArray, 4)), f(abi.F32), f(abi.ExnRef))}
	above := super.ObjectLayout(nil)
	l := sub.ObjectLayout(above)
	if !slices.Equal(l.Offsets[:3], above.Offsets) || above.Fixed != 24 || l.Fixed != 72 {
		t.Errorf("a supertype of %d bytes has fields at %v, its subtype of %d at %v", above.Fixed, above.Offsets, l.Fixed, l.Offsets)
	}
	seen := map[uint32]bool{}
	for i, size := range []uint32{1, 4, 8, 16, 8, 2, 8, 4, 4, 8} {
		at := l.Offsets[i]
		if at%min(size, Align) != 0 || at+size > l.Fixed-4 || sub.Fields[i].ObjectBytes() != size {
			t.Errorf("field %d of %d bytes is at %d of %d", i, size, at, l.Fixed)
		}
		for k := range size {
			if seen[at+k] {
				t.Errorf("field %d overlaps another one", i)
			}
			seen[at+k] = true
		}
	}
	at := l.Offsets
	if typ := TypeOf(sub, l); !slices.Equal(typ.Refs, []uint32{at[1], at[7]}) || !slices.Equal(typ.Words, []uint32{at[2], at[6], at[9]}) {
		t.Errorf("references at %v, words at %v", typ.Refs, typ.Words)
	}
}

// idAt is where a pair has its number.
const idAt = 0

// shadow is what an object should be.
type shadow struct {
	typ   uint32
	id    uint64
	refs  []*shadow // nil is null
	small []uint32  // in place of a reference that is nil: a small integer, or 0
	host  uint64
	bytes []byte
}

func (h *Heap) put64(at, x uint64) { *(*uint64)(h.at(at)) = x }

// mutator makes random objects in a heap, and knows what they should be.
type mutator struct {
	*testing.T
	*rand.Rand
	h     *Heap
	roots []uint64
	are   []*shadow
	ids   uint64
}

func (m *mutator) visit() Roots {
	return Roots{Each: func(visit func(*uint64)) int {
		for i := range m.roots {
			visit(&m.roots[i])
		}
		return len(m.roots)
	}}
}

// slots returns where the references in an object are, and whether they are words.
func (m *mutator) slots(at uint64, s *shadow) (list []uint64, wide bool) {
	t := m.h.types.of(s.typ)
	switch s.typ {
	case pair:
		return []uint64{at + uint64(t.Refs[0]), at + uint64(t.Refs[1])}, false
	case holder:
		return []uint64{at + uint64(t.Words[1])}, true
	case refsType, wordsType:
		for i := range s.refs {
			list = append(list, at+uint64(t.Fixed)+typeAt+uint64(i)*uint64(t.Elem))
		}
		return list, s.typ == wordsType
	}
	return nil, false
}

func (m *mutator) put(p uint64, wide bool, x uint64) {
	if wide {
		m.h.put64(p, x)
	} else {
		m.h.put32(p, uint32(x))
	}
}

func (m *mutator) alloc(typ uint32, n int) error {
	r, err := m.h.Alloc(typ, uint32(n), m.visit())
	if err != nil {
		return err
	}
	m.ids++
	s := &shadow{typ: typ, id: m.ids}
	at := uint64(r)
	t := m.h.types.of(typ)
	for k := uint64(4); k < t.sizeOf(uint32(n))-4; k++ {
		if m.h.mem.Bytes[at+k] != 0 {
			m.Fatalf("an object at 0x%x is not zero at %d", at, k)
		}
	}
	switch typ {
	case pair:
		s.refs, s.small = make([]*shadow, 2), make([]uint32, 2)
		m.h.put64(at+idAt, s.id)
	case holder:
		s.refs, s.small, s.host = make([]*shadow, 1), make([]uint32, 1), 1<<32+s.id*8+2
		m.h.put64(at+uint64(t.Words[0]), s.host)
	case bytesType:
		s.bytes = make([]byte, n)
		for i := range s.bytes {
			s.bytes[i] = byte(m.Uint32())
		}
		copy(m.h.mem.Bytes[at+uint64(t.Fixed)+typeAt:], s.bytes)
	case refsType, wordsType:
		s.refs, s.small = make([]*shadow, n), make([]uint32, n)
	}
	m.roots, m.are = append(m.roots, at), append(m.are, s)
	return nil
}

// link sets a random reference in a random object.
func (m *mutator) link() {
	i := m.IntN(len(m.roots))
	list, wide := m.slots(m.roots[i], m.are[i])
	if len(list) == 0 {
		return
	}
	k, to := m.IntN(len(list)), m.IntN(len(m.roots)+2)
	switch {
	case to < len(m.roots):
		m.are[i].refs[k], m.are[i].small[k] = m.are[to], 0
		m.put(list[k], wide, m.roots[to])
	case to == len(m.roots):
		m.are[i].refs[k], m.are[i].small[k] = nil, uint32(m.roots[m.IntN(len(m.roots))])|m.Uint32()>>m.IntN(32)|1
		m.put(list[k], wide, uint64(m.are[i].small[k]))
	default:
		m.are[i].refs[k], m.are[i].small[k] = nil, 0
		m.put(list[k], wide, 0)
	}
}

// follow adds as a root what a random reference is to.
func (m *mutator) follow() {
	i := m.IntN(len(m.roots))
	list, wide := m.slots(m.roots[i], m.are[i])
	if len(list) == 0 {
		return
	}
	k := m.IntN(len(list))
	if s := m.are[i].refs[k]; s != nil {
		x := uint64(m.h.u32(list[k]))
		if wide {
			x = m.h.u64(list[k])
		}
		m.roots, m.are = append(m.roots, x), append(m.are, s)
	}
}

// check compares all that the roots reach with what it should be.
func (m *mutator) check() {
	seen := map[*shadow]uint64{}
	var work []*shadow
	reach := func(s *shadow, at uint64) {
		if was, ok := seen[s]; ok {
			if was != at {
				m.Fatalf("object %d is at 0x%x and at 0x%x", s.id, was, at)
			}
			return
		}
		seen[s] = at
		work = append(work, s)
	}
	for i, at := range m.roots {
		reach(m.are[i], at)
	}
	places := map[uint64]bool{}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		at := seen[s]
		if places[at] {
			m.Fatalf("two objects at 0x%x", at)
		}
		places[at] = true
		t := m.h.types.of(s.typ)
		if m.h.TypeOf(uint32(at)) != s.typ {
			m.Fatalf("object %d of type %d has the type %d", s.id, s.typ, m.h.TypeOf(uint32(at)))
		}
		switch s.typ {
		case pair:
			if m.h.u64(at+idAt) != s.id {
				m.Fatalf("object %d has the number %d", s.id, m.h.u64(at+idAt))
			}
		case holder:
			if m.h.u64(at+uint64(t.Words[0])) != s.host {
				m.Fatalf("object %d has another handle", s.id)
			}
		case bytesType:
			if !slices.Equal(m.h.mem.Bytes[at+uint64(t.Fixed)+typeAt:][:len(s.bytes)], s.bytes) {
				m.Fatalf("object %d has other bytes", s.id)
			}
		}
		list, wide := m.slots(at, s)
		for k, p := range list {
			x := uint64(m.h.u32(p))
			if wide {
				x = m.h.u64(p)
			}
			switch {
			case s.refs[k] != nil:
				reach(s.refs[k], x)
			case x != uint64(s.small[k]):
				m.Fatalf("object %d has 0x%x in place of 0x%x", s.id, x, s.small[k])
			}
		}
	}
	if err := m.h.Verify(); err != nil {
		m.Fatal(err)
	}
}

// TestRandom: whatever objects there are and however they refer to each other, all that roots reach stays as it is.
func TestRandom(t *testing.T) {
	steps := 800
	if testenv.Full() {
		steps = 5000
	}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var state State
			m := &mutator{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), h: New(newMemory(t), &state, 64<<20)}
			m.h.SetTypes(testTypes())
			m.h.Torture = seed%3 == 0
			for step := range steps {
				n := 0
				typ := uint32(pair + m.IntN(6))
				if typ == bytesType || typ == refsType || typ == wordsType {
					if n = m.IntN(20); m.IntN(50) == 0 {
						n = m.IntN(200_000)
					}
				}
				if err := m.alloc(typ, n); err != nil {
					t.Fatal(err)
				}
				m.link()
				m.link()
				m.follow()
				for len(m.roots) > 60 {
					i := m.IntN(len(m.roots))
					m.roots, m.are = slices.Delete(m.roots, i, i+1), slices.Delete(m.are, i, i+1)
				}
				if m.IntN(100) == 0 {
					if err := m.h.Collect(m.visit()); err != nil {
						t.Fatal(err)
					}
				}
				if step%100 == 0 {
					m.check()
				}
			}
			m.check()
		})
	}
}

// TestLimit: what is alive counts, and nothing else; a heap that is full stays usable.
func TestLimit(t *testing.T) {
	var state State
	m := &mutator{T: t, Rand: rand.New(rand.NewPCG(1, 1)), h: New(newMemory(t), &state, 1<<20)}
	m.h.SetTypes(testTypes())
	for range 1000 {
		if err := m.alloc(bytesType, 10_000); err != nil {
			t.Fatal(err)
		}
		m.roots, m.are = m.roots[:0], m.are[:0]
	}
	var err error
	for err == nil {
		err = m.alloc(bytesType, 10_000)
	}
	if !errors.Is(err, ErrFull) || len(m.roots) != 104 {
		t.Errorf("%v with %d arrays of 10,000 bytes", err, len(m.roots))
	}
	m.check()
	if err := m.alloc(bytesType, 2<<20); !errors.Is(err, ErrFull) {
		t.Errorf("an array above the limit: %v", err)
	}
	m.roots, m.are = m.roots[:50], m.are[:50]
	if err := m.alloc(bytesType, 500_000); err != nil {
		t.Error(err)
	}
	m.check()
}

// TestOpen: code that makes objects by itself stays below the limit and the next collection, and makes none if there is one for each object.
func TestOpen(t *testing.T) {
	var state State
	m := &mutator{T: t, Rand: rand.New(rand.NewPCG(1, 1)), h: New(newMemory(t), &state, 2<<20)}
	m.h.SetTypes(testTypes())
	for range 50 {
		if err := errors.Join(m.alloc(bytesType, 300_000), m.alloc(pair, 0), m.alloc(bytesType, 100_000)); err != nil {
			t.Fatal(err)
		}
		if state.End < state.Next {
			t.Fatalf("objects from 0x%x up to 0x%x", state.Next, state.End)
		}
		free := uint64(state.End - state.Next)
		clear := m.h.mem.Bytes[state.Next:state.End]
		if used := m.h.Used() + free; used > 2<<20 || used > max(m.h.target, m.h.Used()) || slices.ContainsFunc(clear[:max(len(clear), 4)-4], func(b byte) bool { return b != 0 }) {
			t.Fatalf("%d bytes are taken, and %d may be, with a collection at %d", m.h.Used(), free, m.h.target)
		}
		m.roots, m.are = m.roots[len(m.roots)-2:], m.are[len(m.are)-2:]
	}
	m.h.Torture = true
	if err := errors.Join(m.alloc(pair, 0), m.h.Collect(m.visit())); err != nil || state.End != 0 {
		t.Errorf("objects up to 0x%x, %v", state.End, err)
	}
}

// TestRefused: if the system refuses memory for a collection or an object, nothing has changed.
func TestRefused(t *testing.T) {
	refused := errors.New("no memory")
	var refuse error
	mem := newMemory(t)
	commit := mem.Commit
	mem.Commit = func(from, to uint64) error {
		if refuse != nil {
			return refuse
		}
		return commit(from, to)
	}
	var state State
	m := &mutator{T: t, Rand: rand.New(rand.NewPCG(1, 1)), h: New(mem, &state, 64<<20)}
	m.h.SetTypes(testTypes())
	for range 200 {
		if err := errors.Join(m.alloc(refsType, 1000), m.alloc(pair, 0)); err != nil {
			t.Fatal(err)
		}
		m.link()
	}
	refuse = refused
	if err := m.h.Collect(m.visit()); !errors.Is(err, refused) {
		t.Errorf("a collection: %v", err)
	}
	m.check()
	var err error
	for n := 0; err == nil; n++ {
		err = m.alloc(refsType, 1000)
	}
	if !errors.Is(err, refused) {
		t.Errorf("an object: %v", err)
	}
	m.check()
	refuse = nil
	if err := errors.Join(m.h.Collect(m.visit()), m.alloc(refsType, 1000)); err != nil {
		t.Error(err)
	}
	m.check()
}

// TestHost: handles in what lives are told, and those in what does not are not.
func TestHost(t *testing.T) {
	var state State
	m := &mutator{T: t, Rand: rand.New(rand.NewPCG(1, 1)), h: New(newMemory(t), &state, 1<<20)}
	m.h.SetTypes(testTypes())
	for range 3 {
		if err := m.alloc(holder, 0); err != nil {
			t.Fatal(err)
		}
	}
	m.roots[1] = 0
	var told []uint64
	roots := m.visit()
	roots.Host = func(w uint64) { told = append(told, w) }
	if err := m.h.Collect(roots); err != nil || !slices.Equal(told, []uint64{m.are[0].host, m.are[2].host}) {
		t.Errorf("%x, %v", told, err)
	}
}

// TestRoomForRoots: the more there is to look at for roots, the more room there is before the next collection.
func TestRoomForRoots(t *testing.T) {
	for _, c := range []struct {
		looked int
		room   uint64
	}{{0, leastFree}, {1 << 10, leastFree}, {1 << 20, rootShare << 20}} {
		var state State
		h := New(newMemory(t), &state, 512<<20)
		h.SetTypes(testTypes())
		if err := h.Collect(Roots{Each: func(func(*uint64)) int { return c.looked }}); err != nil {
			t.Fatal(err)
		}
		if h.target != c.room {
			t.Errorf("%d roots: room for %d bytes, want %d", c.looked, h.target, c.room)
		}
	}
}

// TestCorrupt: what is no object, or no reference to one, is told, and does not panic.
func TestCorrupt(t *testing.T) {
	for name, spoil := range map[string]func(m *mutator){
		"a root into the guard":      func(m *mutator) { m.roots[0] = 16 },
		"a root that is not aligned": func(m *mutator) { m.roots[0] += 4 },
		"a root behind all objects":  func(m *mutator) { m.roots[0] = uint64(m.h.Next) },
		"a root to the other space":  func(m *mutator) { m.roots[0] = spaceSize },
		"a root to no large object":  func(m *mutator) { m.roots[0] = largeStart },
		"a field":                    func(m *mutator) { m.h.put32(m.roots[0]+uint64(m.h.types.of(pair).Refs[0]), 8) },
		"a type":                     func(m *mutator) { m.h.put32(m.roots[0]+typeAt, 77) },
		"the length of an array":     func(m *mutator) { m.h.put32(m.roots[1], 1<<30) },
		"no type":                    func(m *mutator) { m.h.put32(m.roots[0]+typeAt, 0) },
		"the length of a large array": func(m *mutator) {
			if err := m.alloc(refsType, 2*LargeSize/4); err != nil {
				panic(err)
			}
			m.h.put32(m.roots[2], 1<<29)
		},
	} {
		var state State
		m := &mutator{T: t, Rand: rand.New(rand.NewPCG(1, 1)), h: New(newMemory(t), &state, 1<<20)}
		m.h.SetTypes(testTypes())
		if err := errors.Join(m.alloc(pair, 0), m.alloc(bytesType, 5)); err != nil {
			t.Fatal(err)
		}
		spoil(m)
		var corrupt *CorruptError
		if err := m.h.Collect(m.visit()); !errors.As(err, &corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	const n = 1 << 20 // of pairs: 24 MiB
	for _, c := range []struct {
		name string
		make func(m *mutator, cons func(left, right uint32) uint32) uint64
	}{
		{"list", func(_ *mutator, cons func(left, right uint32) uint32) (list uint64) {
			for range n {
				list = uint64(cons(uint32(list), 0))
			}
			return list
		}},
		{"tree", func(_ *mutator, cons func(left, right uint32) uint32) uint64 {
			var tree func(n int) uint32
			tree = func(n int) uint32 {
				if n == 0 {
					return 0
				}
				left := tree((n - 1) / 2)
				return cons(left, tree(n-1-(n-1)/2))
			}
			return uint64(tree(n))
		}},
		{"shuffled", func(m *mutator, cons func(left, right uint32) uint32) (list uint64) {
			all := make([]uint32, n)
			for i := range all {
				all[i] = cons(0, 0)
			}
			m.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
			for i, r := range all[1:] {
				m.h.put32(uint64(all[i/2])+uint64(m.h.types.of(pair).Refs[i%2]), r)
			}
			return uint64(all[0])
		}},
		{"arrays", func(m *mutator, cons func(left, right uint32) uint32) uint64 {
			const length = 1024
			rows, err := m.h.Alloc(refsType, n/length, Roots{Each: func(func(*uint64)) int { return 0 }})
			if err != nil {
				b.Fatal(err)
			}
			for i := range uint64(n / length) {
				row, err := m.h.Alloc(refsType, length, Roots{Each: func(func(*uint64)) int { return 0 }})
				if err != nil {
					b.Fatal(err)
				}
				elems := uint64(m.h.types.of(refsType).Fixed) - lead/2
				m.h.put32(uint64(rows)+elems+4*i, row)
				for k := range uint64(length) {
					m.h.put32(uint64(row)+elems+4*k, cons(0, 0))
				}
			}
			return uint64(rows)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			t := &testing.T{}
			var state State
			m := &mutator{T: t, Rand: rand.New(rand.NewPCG(1, 1)), h: New(newMemory(t), &state, 512<<20)}
			m.h.SetTypes(testTypes())
			refs, none := m.h.types.of(pair).Refs, Roots{Each: func(func(*uint64)) int { return 0 }}
			for range b.N {
				b.StopTimer()
				m.h.target = 512 << 20 // nothing is collected before all is there
				root := c.make(m, func(left, right uint32) uint32 {
					r, err := m.h.Alloc(pair, 0, none)
					if err != nil {
						b.Fatal(err)
					}
					m.h.put32(uint64(r)+uint64(refs[0]), left)
					m.h.put32(uint64(r)+uint64(refs[1]), right)
					return r
				})
				b.StartTimer()
				for range 2 { // as the program has ordered the objects, and as the collector has
					if err := m.h.Collect(Roots{Each: func(visit func(*uint64)) int { visit(&root); return 1 }}); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/2/float64(m.h.Used())*(1<<20), "us/MiB")
		})
	}
}
