package meta

// The record of an object (docs/object.md, struct waot_object), in words: hosts written in C find everything there. The slots
// of the memories, then those of the tables, stand behind it, and nothing else.
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
	RecordWords
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
	SlotRefs     = 4 // a table of references to host objects, not of function references
)
