package load

import (
	"bytes"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// sectionRelro is where the record is.
const sectionRelro = ".data.rel.ro"

// record compares the metadata with the object's record, which says the same to hosts in C. Limits matter to compiled code,
// too: it has the size of a table that cannot grow, and looks no further.
func (w *words) record() {
	m := w.m
	things := uint64(len(m.Memories)) + uint64(len(m.Tables))
	if m.Exceptions != nil {
		things += uint64(len(m.Exceptions.Tags))
	}
	size := 8 * (uint64(m.RecordWords()) + meta.SlotWords*things)
	if uint64(len(w.relro.Data)) < size || len(w.relro.Data)%8 != 0 {
		w.require(false, "no record")
		return
	}
	at := uint32(uint64(len(w.relro.Data)) - size)
	slots := at + 8*uint32(m.RecordWords())
	word := func(n uint32) uint64 { return w.relro.word(at + 8*n) }
	points := func(n uint32, section string, place uint32) bool {
		return w.isAddress(w.relro.reloc(at+8*n), section, place)
	}
	w.require(word(meta.RecordABI) == m.RecordVersion() && word(meta.RecordTextSize) == uint64(len(w.o.Section(".text").Data)) &&
		word(meta.RecordInstanceSize) == uint64(m.InstanceSize) && points(meta.RecordText, ".text", 0) && points(meta.RecordInstance, ".data", 0) &&
		points(meta.RecordInit, ".text", m.Funcs[len(m.Funcs)-1].Text), "the record is of another module than the metadata")
	for i, section := range []string{meta.SectionMeta, meta.SectionTraps, meta.SectionStackMaps, meta.SectionCalls} {
		w.require(points(meta.RecordMeta+uint32(i), section, 0), "the record does not have section %q", section)
	}
	w.require(word(meta.RecordNumMemories) == uint64(len(m.Memories)) && points(meta.RecordMemories, sectionRelro, slots),
		"the record does not have %d memories", len(m.Memories))
	main := m.MainMemory()
	for i := range m.Memories {
		x := &m.Memories[i]
		w.slot(slots, x.Slot, x.Min, x.Max, flags(x.Import, x.HasMax, false)|m.MemoryFlags(i, main), "memory", i)
		slots += 8 * meta.SlotWords
	}
	w.require(word(meta.RecordNumTables) == uint64(len(m.Tables)) && points(meta.RecordTables, sectionRelro, slots),
		"the record does not have %d tables", len(m.Tables))
	for i := range m.Tables {
		x := &m.Tables[i]
		w.slot(slots, x.Slot, x.Min, x.Max, flags(x.Import, x.HasMax, x.Elem.Base() == meta.ExternRef), "table", i)
		slots += 8 * meta.SlotWords
	}
	w.tagSlots(at, slots)
	w.stubs(at)
	w.heapTypes(at)
	adapters := uint64(0)
	if s := w.o.Section(".text.waot"); s != nil {
		adapters = uint64(len(s.Data))
	}
	w.require(word(meta.RecordAdaptersSize) == adapters && points(meta.RecordAdapters, ".text.waot", 0), "the record does not have the adapters")
}

// flags are those of the slot of a memory or table.
func flags(imported *meta.ImportName, hasMax, refs bool) (f uint64) {
	if imported != nil {
		f |= meta.SlotImported
	}
	if hasMax {
		f |= meta.SlotHasMax
	}
	if refs {
		f |= meta.SlotRefs
	}
	return f
}

// slot compares the slot at off of the record's section.
func (w *words) slot(off, base uint32, lo, hi, flags uint64, what string, i int) {
	r := w.relro
	w.require(w.isAddress(r.reloc(off+8*meta.SlotBase), ".data", base) && r.word(off+8*meta.SlotMin) == lo &&
		r.word(off+8*meta.SlotMax) == hi && r.word(off+8*meta.SlotFlags) == flags, "%s %d differs from the record", what, i)
}

// tagSlots compares what the record, which is at the given offset, says of exceptions. The slots of tags begin at slots.
func (w *words) tagSlots(at, slots uint32) {
	x := w.m.Exceptions
	if x == nil {
		return
	}
	r := w.relro
	w.require(w.isAddress(r.reloc(at+8*meta.RecordException), ".data", x.Current) && r.word(at+8*meta.RecordExceptionWords) == uint64(x.Words) &&
		r.word(at+8*meta.RecordNumTags) == uint64(len(x.Tags)) && w.isAddress(r.reloc(at+8*meta.RecordTags), sectionRelro, slots),
		"the record does not have %d tags", len(x.Tags))
	private := w.m.PrivateTags()
	for i := range x.Tags {
		want := flags(x.Tags[i].Import, false, false)
		if private[i] {
			want |= meta.SlotPrivate
		}
		t, args := &x.Tags[i], w.m.Types[x.Tags[i].Type].Params
		w.require(w.isAddress(r.reloc(slots+8*meta.TagWord), ".data", x.TagSlots+8*uint32(i)) && w.isType(r.reloc(slots+8*meta.TagType), t.Type) &&
			r.word(slots+8*meta.TagFlags) == want && r.word(slots+8*meta.TagArgs) == uint64(abi.ExceptionWord(args, len(args))),
			"tag %d differs from the record", i)
		slots += 8 * meta.SlotWords
	}
}

// stubs compares the table of stubs, which is in front of the record, with the imported functions. Only hosts in C use it.
func (w *words) stubs(record uint32) {
	if !w.m.HasStubs() {
		return
	}
	r, n := w.relro, uint32(0)
	for n < uint32(len(w.m.Funcs)) && w.m.Funcs[n].Import != nil {
		n++
	}
	size := 8 * meta.StubWords * uint64(n)
	if uint64(record) < size || r.word(record+8*meta.RecordNumStubs) != uint64(n) {
		w.require(false, "the record does not have %d stubs", n)
		return
	}
	at := record - uint32(size)
	w.require(w.isAddress(r.reloc(record+8*meta.RecordStubs), sectionRelro, at), "the record does not have %d stubs", n)
	for i := range n {
		w.require(w.isAddress(r.reloc(at+8*meta.StubSlot), ".data", w.m.Funcs[i].Slot), "stub %d is of another function", i)
		at += 8 * meta.StubWords
	}
}

// heapTypes compares what the record, which is at the given offset, says of the heap.
func (w *words) heapTypes(at uint32) {
	h := w.m.Heap
	if h == nil {
		return
	}
	r, types := w.relro, w.o.Section(meta.SectionHeapTypes)
	for n := uint32(meta.RecordException); n < meta.RecordStubs && w.m.Exceptions == nil; n++ {
		w.require(r.reloc(at+8*n) == nil && r.word(at+8*n) == 0, "the record has exceptions")
	}
	w.require(types != nil && w.isAddress(r.reloc(at+8*meta.RecordHeap), ".data", h.Part) && w.isAddress(r.reloc(at+8*meta.RecordHeapTypes), meta.SectionHeapTypes, 0) &&
		r.word(at+8*meta.RecordHeapTypesSize) == uint64(len(types.Data)) && bytes.Equal(types.Data, w.m.HeapTypes(nil)), "the record does not have the types of objects")
}
