package meta

import (
	"math"
	"slices"
	"sort"
)

// StackMaps say where references are in frames while calls are in progress. Many calls have the same slots, or a few less or more than a call before. So
// the slots of a call are one of a list of sets, and a set is told by what it has or lacks beside an earlier one: a function that holds a thousand
// references over a thousand calls has maps of a few bytes each. Memory is proportional to the encoding. The zero value has no maps.
type StackMaps struct {
	Sites   []MapSite // rising
	Sets    []SlotSet
	Changes []int32 // of all sets
}

// MapSite says that the call that returns to Offset, in the code, has the slots of a set.
type MapSite struct{ Offset, Set uint32 }

// noBase is the base of a set that is told by itself.
const noBase = math.MaxUint32

// SlotSet is the slots that either its base, an earlier set, or its own changes have, but not both.
type SlotSet struct {
	Base     uint32
	From, To uint32 // in StackMaps.Changes: displacements from the frame pointer, in bytes, rising
	Depth    uint8  // how many bases stand one behind the other
	// All displacements of changes, bases' included, are from Lo up to Hi, and multiples of 8 if Words is true.
	Lo, Hi int32
	Words  bool
}

// Bounds of what a set is told by, and of where sets are looked for. A chain of bases is walked whenever a collection meets the call.
const (
	maxDepth   = 16
	recentSets = 8
)

// Len returns the number of maps.
func (m *StackMaps) Len() int { return len(m.Sites) }

// At returns the slots of the call that returns to offset, as displacements from the frame pointer in bytes, rising. They are in the memory of buf, if it has
// room for them.
func (m *StackMaps) At(offset uint32, buf []int32) []int32 {
	i := sort.Search(len(m.Sites), func(i int) bool { return m.Sites[i].Offset >= offset })
	if i == len(m.Sites) || m.Sites[i].Offset != offset {
		return buf[:0]
	}
	return m.slots(m.Sites[i].Set, buf)
}

// slots returns the slots of a set, in the memory of buf if it has room.
func (m *StackMaps) slots(set uint32, buf []int32) []int32 {
	var chain [maxDepth + 1]uint32
	n := 0
	for s := set; s != noBase; s = m.Sets[s].Base {
		chain[n] = s
		n++
	}
	out, spare := buf[:0], []int32(nil)
	for _, s := range slices.Backward(chain[:n]) {
		if own := m.own(s); len(out) == 0 {
			out = append(out, own...)
		} else if len(own) > 0 {
			out, spare = differing(spare[:0], out, own), out
		}
	}
	return out
}

// own returns the changes of a set.
func (m *StackMaps) own(set uint32) []int32 { return m.Changes[m.Sets[set].From:m.Sets[set].To] }

// differing appends to dst the numbers that one of two rising lists has.
func differing(dst, a, b []int32) []int32 {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			dst, a = append(dst, a[0]), a[1:]
		case a[0] > b[0]:
			dst, b = append(dst, b[0]), b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return append(append(dst, a...), b...)
}

// difference returns how many numbers one of two rising lists has, or most if they are no fewer.
func difference(a, b []int32, most int) int {
	n := 0
	for len(a) > 0 && len(b) > 0 && n < most {
		switch {
		case a[0] < b[0]:
			n, a = n+1, a[1:]
		case a[0] > b[0]:
			n, b = n+1, b[1:]
		default:
			a, b = a[1:], b[1:]
		}
	}
	return min(n+len(a)+len(b), most)
}

// add appends a set with the given base whose own changes are all from the given index on.
func (m *StackMaps) add(base uint32, from int) uint32 {
	own := m.Changes[from:]
	s := SlotSet{Base: base, From: uint32(from), To: uint32(len(m.Changes)), Lo: math.MaxInt32, Hi: math.MinInt32, Words: true}
	if base != noBase {
		b := &m.Sets[base]
		s.Depth, s.Lo, s.Hi, s.Words = b.Depth+1, b.Lo, b.Hi, b.Words
	}
	if len(own) > 0 {
		s.Lo, s.Hi = min(s.Lo, own[0]), max(s.Hi, own[len(own)-1])
	}
	for _, d := range own {
		s.Words = s.Words && d%8 == 0
	}
	m.Sets = append(m.Sets, s)
	return uint32(len(m.Sets) - 1)
}

// recent are the sets that were used last, each once, the last one first.
type recent struct {
	sets [recentSets]uint32
	n    int
}

// use makes the set at position k the first one. If k is their number, or one less where there is no room for more, that is another set.
func (r *recent) use(k int, set uint32) {
	copy(r.sets[1:k+1], r.sets[:k])
	r.sets[0], r.n = set, max(r.n, k+1)
}

// place returns the position that a new set takes the place of.
func (r *recent) place() int { return min(r.n, recentSets-1) }

// find returns the position of a set, or -1.
func (r *recent) find(set uint32) int { return slices.Index(r.sets[:r.n], set) }

// StackMapBuilder makes StackMaps, call by call.
type StackMapBuilder struct {
	Maps StackMaps
	recent
	slots    [][]int32 // of the recent sets, at the same positions
	first    uint32    // set of the function
	last     []int32   // what Add was given last for the function
	changing []int32
}

// Function begins another function: its frame has other bounds, so no set of it is told by one of another function.
func (b *StackMapBuilder) Function() { b.first, b.last = uint32(len(b.Maps.Sets)), nil }

// Grow makes room for n more maps.
func (b *StackMapBuilder) Grow(n int) { b.Maps.Sites = slices.Grow(b.Maps.Sites, n) }

// Add appends the map of a call, which returns to offset, behind all others. The slots are displacements, each once, in any order. Neither their order nor their memory
// is changed, and they must stay as they are until the next function begins.
func (b *StackMapBuilder) Add(offset uint32, slots []int32) {
	m := &b.Maps
	if same := len(slots) > 0 && len(b.last) == len(slots) && &b.last[0] == &slots[0]; !same {
		b.last = slots
		b.changing = append(b.changing[:0], slots...)
		slices.Sort(b.changing)
		b.choose()
	}
	m.Sites = append(m.Sites, MapSite{offset, b.sets[0]})
}

// choose makes the set with the slots in changing the first of the recent ones.
func (b *StackMapBuilder) choose() {
	m := &b.Maps
	for k, s := range b.sets[:b.n] {
		if (s >= b.first || m.Sets[s].Base == noBase) && slices.Equal(b.slots[k], b.changing) {
			b.move(k, s)
			return
		}
	}
	// A base is good if it has nearly all. Then the others, which may have more, are not tried.
	base, best, good := -1, len(b.changing), 2+len(b.changing)/16
	for k, s := range b.sets[:b.n] {
		if s < b.first || m.Sets[s].Depth == maxDepth {
			continue
		}
		if n := difference(b.slots[k], b.changing, best); n < best {
			if base, best = k, n; n <= good {
				break
			}
		}
	}
	from, of := len(m.Changes), uint32(noBase)
	if base < 0 {
		m.Changes = append(m.Changes, b.changing...)
	} else {
		of = b.sets[base]
		m.Changes = differing(m.Changes, b.slots[base], b.changing)
	}
	set, k := m.add(of, from), b.place()
	if k == len(b.slots) {
		b.slots = append(b.slots, nil)
	}
	b.slots[k] = append(b.slots[k][:0], b.changing...)
	b.move(k, set)
}

// move is use, and moves the slots alike.
func (b *StackMapBuilder) move(k int, set uint32) {
	slots := b.slots[k]
	copy(b.slots[1:k+1], b.slots[:k])
	b.slots[0] = slots
	b.use(k, set)
}

// stackMaps writes maps. A set that is one of the recent ones is told by its position among them. What is a new set is told by the position of its base, and its
// changes, each but the first by its distance from the one before.
func (e *encoder) stackMaps(m *StackMaps) {
	e.count(len(m.Sites))
	var r recent
	last := uint32(0)
	for _, s := range m.Sites {
		e.num32(s.Offset - last)
		last = s.Offset
		k := r.find(s.Set)
		if k >= 0 {
			e.count(k)
			r.use(k, s.Set)
			continue
		}
		base := -1
		if b := m.Sets[s.Set].Base; b != noBase {
			base = r.find(b)
		}
		e.count(recentSets + 1 + base)
		own := m.own(s.Set)
		e.count(len(own))
		for i, d := range own {
			if i == 0 {
				e.signed(int64(d))
			} else {
				e.num32(uint32(d - own[i-1]))
			}
		}
		r.use(r.place(), s.Set)
	}
}

func (d *decoder) stackMaps(to *tables) {
	m := &to.StackMaps
	m.Sites = list[MapSite](d.count(2, "number of stack maps"))
	var r recent
	last := uint32(0)
	for i := range m.Sites {
		last = d.offset(last)
		k := int(d.num(uint64(recentSets+r.n), "set of a stack map"))
		switch {
		case d.err != nil:
			return
		case k >= recentSets:
			d.newSet(m, &r, k-recentSets-1)
		case k >= r.n:
			d.fail("set of a stack map")
			return
		default:
			r.use(k, r.sets[k])
		}
		m.Sites[i] = MapSite{last, r.sets[0]}
	}
}

// newSet reads a set whose base is at a position of the recent ones, or none below 0.
func (d *decoder) newSet(m *StackMaps, r *recent, position int) {
	base := uint32(noBase)
	if position >= 0 {
		base = r.sets[position]
		if m.Sets[base].Depth == maxDepth {
			d.fail("set of slots told by too many others")
			return
		}
	}
	n, from := d.count(1, "number of slots"), len(m.Changes)
	m.Changes = slices.Grow(m.Changes, n)
	for i := range n {
		if i == 0 {
			m.Changes = append(m.Changes, d.signed32("slot of a stack map"))
			continue
		}
		before := m.Changes[len(m.Changes)-1]
		step := d.num(uint64(int64(math.MaxInt32)-int64(before)), "slot of a stack map")
		if step == 0 {
			d.fail("slot of a stack map")
			return
		}
		m.Changes = append(m.Changes, before+int32(uint32(step)))
	}
	r.use(r.place(), m.add(base, from))
}

// stackMaps checks that all slots are words of the frames of their functions.
func (v *validator) stackMaps() {
	m := &v.m.StackMaps
	v.returns("stack map", len(m.Sites), func(i int) uint32 { return m.Sites[i].Offset }, func(i int, f *Func) {
		s := &m.Sets[m.Sites[i].Set]
		if s.Lo > s.Hi || s.Words && s.Hi < 0 && -int64(s.Lo) <= int64(f.Frame) {
			return
		}
		v.require(false, "slots %v of stack map %d are outside of the frame of %d bytes", outside(m, m.Sites[i].Set, f.Frame), i, f.Frame)
	})
}

// outside returns the slots of a set, or of what tells it, that are no words of a frame of so many bytes; some of them if they are many.
func outside(m *StackMaps, set uint32, frame uint32) (slots []int32) {
	for s := set; s != noBase; s = m.Sets[s].Base {
		for _, d := range m.own(s) {
			if (d%8 != 0 || d >= 0 || -int64(d) > int64(frame)) && len(slots) < 4 {
				slots = append(slots, d)
			}
		}
	}
	return slots
}
