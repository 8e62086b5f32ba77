package meta

import (
	"slices"

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

// What follows in the record of an object with exceptions; of one with a heap the first four are 0 if it has none. The slots of tags stand behind those of tables.
const (
	RecordException      = recordWords + iota // the exception under way
	RecordExceptionWords                      // for how many words of arguments it has room
	RecordTags
	RecordNumTags
	RecordStubs // the module's own stubs, one for each imported function, in front of the record
	RecordNumStubs
	recordWordsExceptions
)

// An entry of the table of stubs, in words: the slot of the imported function, and what would be in it if no other module imported the function: the stub and its descriptor, or 0.
const (
	StubSlot = iota
	StubCode
	StubDesc
	StubWords
)

// HasStubs reports whether the record has the table of stubs.
func (m *Module) HasStubs() bool { return m.Exceptions != nil || m.Heap != nil }

// What follows in the record of an object with a heap: the part of the instance data for the heap, and HeapTypes.
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
	SlotPrivate  = 32 // a tag of PrivateTags
)

// PrivateTags says of each tag whether what its exceptions refer to is the module's own: the module neither imports nor exports it, and there are references to objects, functions or exceptions. Compiled
// code relies on it that hosts do not get at these.
func (m *Module) PrivateTags() []bool {
	if m.Exceptions == nil {
		return nil
	}
	inside := func(t ValType) bool { return t.IsRef() && t.Top() != abi.ExternRef }
	private := make([]bool, len(m.Exceptions.Tags))
	for i := range private {
		t := &m.Exceptions.Tags[i]
		private[i] = t.Import == nil && slices.ContainsFunc(m.Types[t.Type].Params, inside)
	}
	for i := range m.Exports {
		if e := &m.Exports[i]; e.Kind == abi.ExternTag {
			private[e.Index] = false
		}
	}
	return private
}

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

// heapWords is how many words of a description are in front of the key.
const heapWords = 7

// HeapTypes returns what hosts in C know of the types that the module defines (struct heap_type of the runtime, in words of 32 bits): the size of the description in bytes, the kind, how many bytes in front of it the
// description of the supertype is, or 0; the layout, as a collector has it; the key, what the record of the type has behind its kind, or of a plain type where the instance data has its record; where the references are, those
// of 4 bytes first; and the fields (heapField). It calls poll for each type, which may be nil.
func (m *Module) HeapTypes(poll func()) []byte {
	if poll == nil {
		poll = func() {}
	}
	defs, records := m.Heap.Defs, m.Records(poll)
	types := make([]heapType, len(defs))
	end := 0
	for i := range types {
		poll()
		t := &types[i]
		t.begin = end
		if d := &defs[i]; d.Kind != abi.KindFunc {
			var above *abi.ObjectLayout
			if d.HasSuper {
				above = types[d.Super].layout
			}
			t.layout = d.ObjectLayout(above)
			t.refs, t.words = d.References(t.layout)
		}
		end += 4*(heapWords+len(t.refs)+len(t.words)+2*len(defs[i].Fields)) + recordKey
	}
	slots := make(map[string]uint32, len(m.SlotTypes))
	for i, t := range m.SlotTypes {
		poll()
		slots[string(records.Of(t))] = m.TypeSlots + 8*uint32(i)
	}
	b := make([]byte, 0, end)
	for i := range types {
		poll()
		t, d := &types[i], &defs[i]
		next := end
		if i+1 < len(types) {
			next = types[i+1].begin
		}
		w := [heapWords]uint32{uint32(next - t.begin), heapKind(d)}
		if d.HasSuper {
			w[2] = uint32(t.begin - types[d.Super].begin)
		}
		if t.layout != nil {
			w[3], w[4] = t.layout.Fixed, t.layout.Elem
		}
		w[5], w[6] = uint32(len(t.refs)), uint32(len(t.words))
		key := make([]byte, recordKey)
		if record := records.Of(uint32(i)); w[1] != heapPlain {
			copy(key, record[recordKind:])
		} else {
			binary.LittleEndian.PutUint32(key, slots[string(record)])
		}
		b = append(appendWords(b, w[:]), key...)
		b = appendWords(appendWords(b, t.refs), t.words)
		for k, f := range d.Fields {
			to := 0
			if index, ok := f.Type.TypeIndex(); ok {
				to = types[index].begin - t.begin
			}
			b = appendWords(b, []uint32{heapField(f, t.layout.Offsets[k]), uint32(to)})
		}
	}
	return b
}

// heapType is a type in HeapTypes: where its description begins there, its layout, and where its references are.
type heapType struct {
	begin       int
	layout      *abi.ObjectLayout
	refs, words []uint32
}

// The first word of a field in HeapTypes: a code, whether the field may change, whether it is never null, and its offset. How far behind the description that of the type is that a reference is to follows in a word of its own.
const (
	fieldMutable = 1 << 8
	fieldNotNull = 1 << 9
	fieldOffset  = 10
)

// The codes of what is stored: those that modules have, where one byte says it.
const (
	codeI8       = 0x78
	codeI16      = 0x77
	codeObject   = 0x64 // a structure or array of a type
	codeFunction = 0x63 // a function of a type
)

// heapField returns the first word of a field at an offset.
func heapField(f abi.FieldType, offset uint32) uint32 {
	w := offset << fieldOffset
	if f.Mutable {
		w |= fieldMutable
	}
	t := f.Type
	if t.IsRef() {
		if t.IsNotNull() {
			w |= fieldNotNull
		}
		t = t.OrNull()
	}
	_, indexed := t.TypeIndex()
	switch {
	case f.Packed == 8:
		return w | codeI8
	case f.Packed == 16:
		return w | codeI16
	case indexed && t.Base() == abi.FuncRef:
		return w | codeFunction
	case indexed:
		return w | codeObject
	}
	return w | uint32(t.Code())
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
