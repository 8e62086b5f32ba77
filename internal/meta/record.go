package meta

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/abi"
)

// The record of an object (docs/object.md, struct waot_object), in words: hosts written in C find everything there. The slots
// of the memories, then those of the tables and of the tags, stand behind it, and nothing else.
const (
	RecordABI = iota
	RecordText
	RecordTextSize
	RecordInstance
	RecordInstanceSize
	RecordInit
	RecordMeta // the first of the four sections of metadata
	RecordTraps
	RecordStackMaps
	RecordCalls
	RecordMemories
	RecordNumMemories
	RecordTables
	RecordNumTables
	RecordAdapters
	RecordAdaptersSize
	recordWords
)

// What follows in the record of an object with exceptions. The slots of tags stand behind those of tables.
const (
	RecordException      = recordWords + iota // the exception under way
	RecordExceptionWords                      // for how many words of arguments it has room
	RecordTags
	RecordNumTags
	recordWordsExceptions
)

// What follows in the record of an object with a heap, which has the words for exceptions in any case: the part of the instance data for the heap, and HeapTypes.
const (
	RecordHeap = recordWordsExceptions + iota
	RecordHeapTypes
	RecordHeapTypesSize
	recordWordsHeap
)

// RecordWords returns how many words the record has.
func (m *Module) RecordWords() int {
	if m.Heap != nil {
		return recordWordsHeap
	}
	if m.Exceptions != nil {
		return recordWordsExceptions
	}
	return recordWords
}

// A slot of a tag (struct waot_tag_slot), in words, as many as other slots have: the word that the tag's address is in, the record of its type, whether it is imported, and how many
// words its arguments take.
const (
	TagWord = iota
	TagType
	TagFlags
	TagArgs
)

// A slot (struct waot_slot), in words.
const (
	SlotBase = iota
	SlotMin
	SlotMax
	SlotFlags
	SlotWords
)

// Flags of a slot.
const (
	SlotImported = 1
	SlotHasMax   = 2
	SlotRefs     = 4  // a table of references to host objects, not of function references
	SlotChecked  = 8  // a memory whose bounds code checks: the word gets the address of its descriptor
	SlotMain     = 16 // the memory that is exported as "memory", if it is not the first
)

// MainMemory returns the index of the memory that is exported as "memory", which WASI uses; 0 if there is none.
func (m *Module) MainMemory() int {
	for i := range m.Exports {
		if x := &m.Exports[i]; x.Kind == abi.ExternMemory && x.Name == "memory" {
			return int(x.Index)
		}
	}
	return 0
}

// MemoryFlags returns the flags that only slots of memories have, of memory i; main is MainMemory.
func (m *Module) MemoryFlags(i, main int) (flags uint64) {
	if m.Memories[i].Checked {
		flags = SlotChecked
	}
	if i > 0 && i == main {
		flags |= SlotMain
	}
	return flags
}

// RecordVersion is the first word of the record. An object whose code checks bounds, counts fuel or has exceptions has another one, so that hosts that know nothing of this
// refuse it. One with exceptions whose code counts fuel has that of fuel, as no host that reads records counts it; one that checks bounds says so in its slots.
func (m *Module) RecordVersion() uint64 {
	if m.Fuel != nil {
		return abi.FuelVersion
	}
	if m.Heap != nil {
		return abi.HeapVersion
	}
	if m.Exceptions != nil {
		return abi.ExceptionsVersion
	}
	for i := range m.Memories {
		if m.Memories[i].Checked {
			return abi.CheckedVersion
		}
	}
	return abi.Version
}

// SectionHeapTypes is the section that has HeapTypes, which only hosts in C read.
const SectionHeapTypes = ".rodata.waot.types"

// The kinds of types in HeapTypes: functions of types that have neither supertypes nor subtypes, and those that may.
const (
	heapPlain = iota
	heapStructure
	heapArray
	heapFunction
)

// HeapTypes returns what hosts in C know of the types that the module defines (struct heap_type of the runtime, in words of 32 bits): the size of the description in bytes, the kind, how many bytes in front of it the
// description of the supertype is, or 0; the layout, as a collector has it; the key, what the record of the type has behind its kind; and where the references are, those of 4 bytes first. It calls poll for each type, which may be nil.
func (m *Module) HeapTypes(poll func()) []byte {
	defs, records := m.Heap.Defs, m.Records(poll)
	var b []byte
	begins, layouts := make([]int, len(defs)), make([]*abi.ObjectLayout, len(defs))
	for i := range defs {
		if poll != nil {
			poll()
		}
		begins[i] = len(b)
		w := make([]uint32, 7, 7+8+len(defs[i].Fields))
		w[1] = heapKind(&defs[i])
		if defs[i].HasSuper {
			w[2] = uint32(len(b) - begins[defs[i].Super])
		}
		var refs, words []uint32
		if defs[i].Kind != abi.KindFunc {
			var above *abi.ObjectLayout
			if defs[i].HasSuper {
				above = layouts[defs[i].Super]
			}
			layouts[i] = defs[i].ObjectLayout(above)
			refs, words = defs[i].References(layouts[i])
			w[3], w[4] = layouts[i].Fixed, layouts[i].Elem
		}
		w[5], w[6] = uint32(len(refs)), uint32(len(words))
		key := make([]byte, recordKey)
		if w[1] != heapPlain {
			copy(key, records.Of(uint32(i))[recordKind:])
		}
		w[0] = uint32(4*len(w) + len(key) + 4*len(refs) + 4*len(words))
		b = append(appendWords(b, w), key...)
		b = appendWords(appendWords(b, refs), words)
	}
	return b
}

// A record has a version and a kind in front of the key.
const (
	recordKind = 2
	recordKey  = 32
)

func appendWords(b []byte, words []uint32) []byte {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// heapKind returns the kind of a type in HeapTypes.
func heapKind(t *abi.TypeDef) uint32 {
	switch {
	case t.Kind == abi.KindStruct:
		return heapStructure
	case t.Kind == abi.KindArray:
		return heapArray
	case t.Open || t.HasSuper:
		return heapFunction
	}
	return heapPlain
}
