package meta

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
)

// randomMaps makes maps of random functions: slots begin and end to be listed, as references live and die, and code goes between a few contexts.
func randomMaps(r *rand.Rand) (funcs [][]abi.StackMap) {
	at := uint32(0)
	for range 1 + r.IntN(6) {
		size := 1 + r.IntN(60)
		contexts := make([]map[int32]bool, 1+r.IntN(12))
		for k := range contexts {
			contexts[k] = map[int32]bool{}
		}
		var maps []abi.StackMap
		var last []int32
		for range r.IntN(200) {
			at += 1 + r.Uint32N(30)
			live := contexts[r.IntN(len(contexts))]
			for range r.IntN(3) {
				if d := -8 * int32(1+r.IntN(size)); live[d] {
					delete(live, d)
				} else {
					live[d] = true
				}
			}
			slots := last
			if r.IntN(3) > 0 { // or the same memory again, as allocators give it
				slots = nil
				for d := range live {
					slots = append(slots, d)
				}
			}
			maps = append(maps, abi.StackMap{Offset: at, Slots: slots})
			last = slots
		}
		funcs = append(funcs, maps)
	}
	return funcs
}

// build codes the maps of functions.
func build(funcs [][]abi.StackMap) StackMaps {
	var b StackMapBuilder
	for _, maps := range funcs {
		b.Function()
		for _, m := range maps {
			b.Add(m.Offset, m.Slots)
		}
	}
	return b.Maps
}

// section is a section with the maps, and what is read from it.
func section(t *testing.T, m StackMaps) ([]byte, StackMaps) {
	t.Helper()
	b := EncodeTables(&Module{StackMaps: m}).StackMaps
	d := newDecoder(SectionStackMaps, kindStackMaps, b, true)
	d.unpack()
	to := &tables{Module: new(Module)}
	d.stackMaps(to)
	if err := d.end(); err != nil {
		t.Fatal(err)
	}
	return b, to.StackMaps
}

// TestStackMapCoding: each call has the slots that it was given, before and after encoding, whatever the order of slots and however functions follow.
func TestStackMapCoding(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	deepest, shared := uint8(0), 0
	for range 300 {
		funcs := randomMaps(r)
		m := build(funcs)
		_, read := section(t, m)
		if d := cmp.Diff(m.Sites, read.Sites); d != "" || !slices.Equal(m.Sets, read.Sets) || !slices.Equal(m.Changes, read.Changes) {
			t.Fatalf("read: %s", d)
		}
		var buf []int32
		n := 0
		for _, maps := range funcs {
			for _, x := range maps {
				n++
				buf = read.At(x.Offset, buf)
				want := slices.Sorted(slices.Values(x.Slots))
				if !slices.Equal(buf, want) {
					t.Fatalf("at %d: %d, want %d", x.Offset, buf, want)
				}
				if buf = read.At(x.Offset+31, buf); len(buf) > 0 && !slices.ContainsFunc(read.Sites, func(s MapSite) bool { return s.Offset == x.Offset+31 }) {
					t.Fatalf("slots at %d, where no call returns to", x.Offset+31)
				}
			}
		}
		shared += n - len(m.Sets)
		for _, s := range m.Sets {
			deepest = max(deepest, s.Depth)
		}
	}
	if deepest != maxDepth || shared == 0 {
		t.Errorf("sets are told by at most %d others, %d calls share one", deepest, shared)
	}
}

// TestStackMapSize: nested maps, and maps of two kinds in turns, take bytes in proportion to calls and references, not to their product.
func TestStackMapSize(t *testing.T) {
	const n = 1000
	nested := make([]abi.StackMap, 0, 2*n)
	var slots []int32
	for i := range int32(n) {
		slots = append(slots, -8*(i+1))
		nested = append(nested, abi.StackMap{Offset: uint32(20 * i), Slots: slices.Clone(slots)})
	}
	for i := range int32(n) {
		nested = append(nested, abi.StackMap{Offset: uint32(20 * (n + i)), Slots: slices.Clone(slots[i:])})
	}
	turns := slices.Clone(nested)
	for i := range turns {
		if i%2 == 1 {
			turns[i].Slots = []int32{-8}
		}
	}
	for name, maps := range map[string][]abi.StackMap{"nested": nested, "in turns": turns} {
		b, _ := section(t, build([][]abi.StackMap{maps}))
		if most := 100 * len(maps); len(b) > most { // the numbers themselves take 1,000,000 and 500,000
			t.Errorf("%s: %d bytes, more than %d", name, len(b), most)
		}
	}
}

// TestStackMapLies: sets that refer to nothing, have a slot twice or too many bases, and frames that a base does not fit.
func TestStackMapLies(t *testing.T) {
	deep := []byte{maxDepth + 2, 8, recentSets, 1, 15} // one map with the slot -8, and then each time with one slot changed
	deep = append([]byte{}, deep...)
	for range maxDepth + 1 {
		deep = append(deep, 1, recentSets+1, 1, 17)
	}
	for what, table := range map[string][]byte{
		"a set that is not there":     {1, 8, 0},
		"no such position":            {2, 8, recentSets, 1, 15, 1, 1},
		"a base that is not there":    {1, 8, recentSets + 1, 1, 15},
		"a slot twice":                {1, 8, recentSets, 2, 15, 0},
		"slots beyond 32 bits":        {1, 8, recentSets, 2, 15, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F},
		"more slots than bytes":       {1, 8, recentSets, 100, 15},
		"a chain of bases":            deep,
		"fewer maps than were stated": {2, 8, recentSets, 1, 15},
	} {
		e := newTable(kindStackMaps, len(table))
		e.b = append(e.b, table...)
		d := newDecoder(SectionStackMaps, kindStackMaps, e.finish(), true)
		d.unpack()
		d.stackMaps(&tables{Module: new(Module)})
		if d.end() == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	m := sample()
	m.StackMaps = build([][]abi.StackMap{{{Offset: 100, Slots: []int32{-8, -16, -24, -56}}, {Offset: 116, Slots: []int32{-8, -16, -24}}}})
	if len(m.StackMaps.Sets) != 2 || m.StackMaps.Sets[1].Depth != 1 {
		t.Fatal("not told by the first")
	}
	m.StackMaps.Sites = m.StackMaps.Sites[1:] // -56 is not listed any more, but the set is told by it: that is no compiler's
	if err := m.Validate(sampleSizes); err == nil {
		t.Error("a base outside of the frame is accepted")
	}
}
