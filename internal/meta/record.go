package meta

import "github.com/waot-project/waot/internal/abi"

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

// RecordWords returns how many words the record has.
func (m *Module) RecordWords() int {
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
