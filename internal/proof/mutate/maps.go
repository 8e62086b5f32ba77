package main

import (
	"slices"

	"github.com/waot-project/waot/regalloc"
)

// stackMap returns a random stack map that ok accepts, or -1.
func (m *mutant) stackMap(ok func(k int, slots []uint32) bool) int {
	k := m.pick(len(m.out.StackMaps), func(k int) bool { return ok(k, m.slotsOf(k)) })
	if k >= 0 {
		m.at = m.out.StackMaps[k].Inst
	}
	return k
}

func (m *mutant) slotsOf(k int) []uint32 {
	r := m.out.StackMaps[k].Slots
	return m.out.StackMapSlots[r.Start:r.End]
}

// setSlots makes slots those of map k.
func (m *mutant) setSlots(k int, slots []uint32) {
	slices.Sort(slots)
	start := uint32(len(m.out.StackMapSlots))
	m.out.StackMapSlots = append(m.out.StackMapSlots, slots...)
	m.out.StackMaps[k].Slots = regalloc.Range{Start: start, End: start + uint32(len(slots))}
}

func nonempty(_ int, slots []uint32) bool { return len(slots) > 0 }

func missingEntry(m *mutant) bool {
	k := m.stackMap(nonempty)
	if k < 0 {
		return false
	}
	slots := slices.Clone(m.slotsOf(k))
	j := m.IntN(len(slots))
	m.setSlots(k, slices.Delete(slots, j, j+1))
	return true
}

func extraEntry(m *mutant) bool {
	k := m.stackMap(func(_ int, slots []uint32) bool { return len(slots) < m.out.SlotWords })
	if k < 0 {
		return false
	}
	slots := slices.Clone(m.slotsOf(k))
	s := m.pick(m.out.SlotWords, func(s int) bool { return !slices.Contains(slots, uint32(s)) })
	m.setSlots(k, append(slots, uint32(s)))
	return true
}

func wrongEntry(m *mutant) bool {
	k := m.stackMap(func(_ int, slots []uint32) bool { return len(slots) > 0 && len(slots) < m.out.SlotWords })
	if k < 0 {
		return false
	}
	slots := slices.Clone(m.slotsOf(k))
	slots[m.IntN(len(slots))] = uint32(m.pick(m.out.SlotWords, func(s int) bool { return !slices.Contains(slots, uint32(s)) }))
	m.setSlots(k, slots)
	return true
}

func missingMap(m *mutant) bool {
	k := m.stackMap(func(int, []uint32) bool { return true })
	if k >= 0 {
		m.out.StackMaps = slices.Delete(m.out.StackMaps, k, k+1)
	}
	return k >= 0
}

// mapsBefore gives a safepoint the map of the safepoint before it, as a look-up of the
// nearest lower address would if its own map were missing.
func mapsBefore(m *mutant) bool {
	k := m.stackMap(func(k int, slots []uint32) bool { return k > 0 && !slices.Equal(slots, m.slotsOf(k-1)) })
	if k >= 0 {
		m.out.StackMaps[k].Slots = m.out.StackMaps[k-1].Slots
	}
	return k >= 0
}

func exchangeMaps(m *mutant) bool {
	j := m.stackMap(func(int, []uint32) bool { return true })
	k := m.stackMap(func(k int, slots []uint32) bool { return k != j && !slices.Equal(slots, m.slotsOf(j)) })
	if k < 0 {
		return false
	}
	s := m.out.StackMaps
	s[j].Slots, s[k].Slots = s[k].Slots, s[j].Slots
	return true
}

// emptyMaps empties all maps of a block.
func emptyMaps(m *mutant) bool {
	k := m.stackMap(nonempty)
	if k < 0 {
		return false
	}
	b := blockOf(m.in, m.at)
	for j := range m.out.StackMaps {
		if blockOf(m.in, m.out.StackMaps[j].Inst) == b {
			m.out.StackMaps[j].Slots = regalloc.Range{}
		}
	}
	return true
}

// mergeReferences puts two references that are live at once into one slot.
func mergeReferences(m *mutant) bool {
	k := m.stackMap(func(_ int, slots []uint32) bool { return len(slots) > 1 })
	if k < 0 {
		return false
	}
	slots := m.slotsOf(k)
	x, y := int(slots[0]), int(slots[1+m.IntN(len(slots)-1)])
	m.renumberSlots(func(n int) int {
		if n == x {
			return y
		}
		return n
	})
	return true
}
