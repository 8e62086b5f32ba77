// Package metaedit lets tests change stack maps, which package meta keeps coded by differences.
//
// Place in the pipeline: none; tests of hosts use it.
//
// Input: metadata of a module. Output: its stack maps as lists, and metadata with other ones.
package metaedit

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// StackMaps returns the maps of m that have slots: those of its calls, each with slots of its own.
func StackMaps(m *meta.Module) []abi.StackMap {
	var out []abi.StackMap
	for i := range m.Calls {
		at := m.Calls[i].Offset
		if slots := m.StackMaps.At(at, nil); len(slots) > 0 {
			out = append(out, abi.StackMap{Offset: at, Slots: slots})
		}
	}
	return out
}

// Coded returns maps, which must be sorted by offset, as metadata has them. Maps share nothing that the validator would take for slots of another one.
func Coded(maps []abi.StackMap) meta.StackMaps {
	var b meta.StackMapBuilder
	for _, m := range maps {
		b.Function()
		b.Add(m.Offset, m.Slots)
	}
	return b.Maps
}
