package load

import (
	"encoding/binary"
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// words compares what the metadata says of the instance data with what linkers will put there: both describe
// the same module, and nothing else would find a difference until compiled code meets it.
type words struct {
	o     *objfile.Object
	m     *meta.Module
	data  *relocated
	relro *relocated
	// canonical is, by type, the first that is equal to it.
	canonical []uint32
	// filled tells, by word, what the host fills for each instance.
	filled []bool
	// types and imports are the types and imported functions whose records and descriptors symbols are.
	types, imports map[objfile.SymbolIndex]uint32
	err            error
}

func (w *words) require(ok bool, format string, args ...any) {
	if !ok && w.err == nil {
		w.err = &Error{fmt.Sprintf(format, args...)}
	}
}

// relocated is a section of words, some of which become addresses.
type relocated struct {
	*objfile.Section
	// at is, by word, 1 + the number of the relocation of that word, or 0.
	at []int32
}

func newRelocated(s *objfile.Section) (*relocated, error) {
	out := &relocated{s, make([]int32, len(s.Data)/8)}
	for i := range s.Relocs {
		r := &s.Relocs[i]
		if r.Kind != reloc.Abs64 || r.Offset%8 != 0 || r.Offset/8 >= uint64(len(out.at)) || out.at[r.Offset/8] != 0 {
			return nil, &Error{fmt.Sprintf("relocation at %s+%#x: not of a whole word, or its second", quote.Name(s.Name), r.Offset)}
		}
		out.at[r.Offset/8] = int32(i + 1)
	}
	return out, nil
}

// reloc returns the relocation of the word at off, which is inside, or nil.
func (s *relocated) reloc(off uint32) *objfile.Reloc {
	if n := s.at[off/8]; n != 0 {
		return &s.Relocs[n-1]
	}
	return nil
}

// word returns the word at off, which is inside.
func (s *relocated) word(off uint32) uint64 { return binary.LittleEndian.Uint64(s.Data[off:]) }

// compareWords checks that relocations put into the instance data what the metadata says is there, and finds out which
// symbols are those of imported functions.
func compareWords(o *objfile.Object, m *meta.Module, data, relro *objfile.Section) (*words, error) {
	w := &words{o: o, m: m, types: make(map[objfile.SymbolIndex]uint32), imports: make(map[objfile.SymbolIndex]uint32)}
	var err error
	if w.data, err = newRelocated(data); err != nil {
		return nil, err
	}
	if w.relro, err = newRelocated(relro); err != nil {
		return nil, err
	}
	w.filled = make([]bool, len(w.data.at))
	for h := range abi.NumHelpers {
		at, ok := m.HelperSlot(h)
		if !ok {
			continue
		}
		r := w.named(at, "helper slot")
		w.require(r == nil || w.o.Symbols[r.Symbol].Name == abi.Helpers[h].Symbol, "helper slot %d is for another one", h)
	}
	w.typeSlots()
	for i := range m.Funcs {
		if f := &m.Funcs[i]; f.Import != nil {
			w.imported(uint32(i), f)
		}
	}
	w.descriptors()
	for i := range m.Datas {
		d := &m.Datas[i]
		w.address(d.Pair+abi.SegmentAddress, ".rodata", d.Rodata, "data segment", i)
		w.require(w.data.word(d.Pair+abi.SegmentLength) == uint64(d.Len), "length of data segment %d", i)
	}
	for i := range m.Elems {
		e := &m.Elems[i]
		w.address(e.Pair+abi.SegmentAddress, ".data", e.Array, "element segment", i)
		w.require(w.data.word(e.Pair+abi.SegmentLength) == uint64(e.Len), "length of element segment %d", i)
	}
	w.values()
	w.record()
	return w, w.err
}

// descriptors checks that the descriptors of the metadata are those of the object, all of them: without its descriptor a
// function could have any type.
func (w *words) descriptors() {
	named, code := 0, 0
	for i := range w.m.Funcs {
		if f := &w.m.Funcs[i]; f.HasDesc {
			w.address(f.Desc+abi.DescCode, ".text", f.Text, "descriptor of function", i)
			w.typeWord(f.Desc+abi.DescType, f.Type, "descriptor of function", i)
			w.filled[(f.Desc+abi.DescCode)/8], w.filled[(f.Desc+abi.DescType)/8] = true, true
			named++
		}
	}
	for i := range w.data.Relocs { // nothing else in the instance data has the address of code of the object
		s := w.o.Symbols[w.data.Relocs[i].Symbol].Section
		if s != objfile.Undefined && w.o.Sections[s].Name == ".text" {
			code++
		}
	}
	for i := range w.m.Exports {
		if x := &w.m.Exports[i]; x.Kind == abi.ExternFunc {
			f := &w.m.Funcs[x.Index]
			w.require(f.Import != nil || f.HasDesc, "function %d is exported without a descriptor", x.Index)
		}
	}
	w.require(named == code, "%d descriptors of functions, and %d in the metadata", code, named)
}

// values checks that words that are no addresses of parts of the object are not made ones.
func (w *words) values() {
	m := w.m
	plain := func(off uint32, what string, i int) {
		w.require(w.data.reloc(off) == nil, "%s %d is relocated", what, i)
	}
	for i := range m.Memories {
		plain(m.Memories[i].Slot, "memory slot", i)
	}
	for i := range m.Tables {
		plain(m.Tables[i].Slot, "table slot", i)
	}
	for i := range m.Globals {
		plain(m.Globals[i].Offset, "global", i)
	}
	for i := range m.Datas {
		plain(m.Datas[i].Pair+abi.SegmentLength, "length of data segment", i)
	}
	for i := range m.Elems {
		plain(m.Elems[i].Pair+abi.SegmentLength, "length of element segment", i)
	}
}

// named returns the relocation of a word that becomes the address of a symbol that is not local, and that the host fills; nil if it
// is none.
func (w *words) named(off uint32, what string) *objfile.Reloc {
	r := w.data.reloc(off)
	w.filled[off/8] = true
	if r == nil || r.Addend != 0 || w.o.Symbols[r.Symbol].Binding == objfile.Local {
		w.require(false, "%s at %d of the instance data is for no symbol", what, off)
		return nil
	}
	return r
}

// address checks that the word at off of the instance data becomes the address of a place in a section.
func (w *words) address(off uint32, section string, place uint32, what string, i int) {
	w.require(w.isAddress(w.data.reloc(off), section, place), "%s %d is not at %s+%#x", what, i, section, place)
}

// isAddress reports whether a relocation, or nil, is of the address of a place in a section.
func (w *words) isAddress(r *objfile.Reloc, section string, place uint32) bool {
	if r == nil {
		return false
	}
	s := &w.o.Symbols[r.Symbol]
	return s.Section != objfile.Undefined && w.o.Sections[s.Section].Name == section && int64(s.Value)+r.Addend == int64(place)
}

// typeSlots checks that each type slot has the record of its type, and each type a slot.
func (w *words) typeSlots() {
	m := w.m
	w.canonical = make([]uint32, len(m.Types))
	seen := make(map[string]uint32, len(m.Types)) // once for a module
	records := m.Records(nil)
	for i := range m.Types {
		record := string(records.Of(uint32(i)))
		if first, ok := seen[record]; ok {
			w.canonical[i] = first
			continue
		}
		seen[record], w.canonical[i] = uint32(i), uint32(i)
	}
	slotted := make([]bool, len(m.Types))
	for i, t := range m.SlotTypes {
		if slotted[w.canonical[t]] { // once per type, since records are long: the work must be proportional to the file
			w.require(false, "type slot %d is the second one of type %d", i, t)
			return
		}
		r := w.named(m.TypeSlots+8*uint32(i), "type slot")
		w.require(r == nil || w.isRecord(&w.o.Symbols[r.Symbol], records.Of(t)), "type slot %d is not for the record of type %d", i, t)
		if r != nil {
			w.types[r.Symbol] = t
		}
		slotted[w.canonical[t]] = true
	}
	for i, t := range w.canonical {
		w.require(slotted[t] || m.TypeKind(uint32(i)) != abi.KindFunc, "type %d has no type slot", i)
	}
}

// isRecord reports whether a symbol is that of a type record with these bytes, by content and by name.
func (w *words) isRecord(s *objfile.Symbol, record []byte) bool {
	if s.Section == objfile.Undefined || s.Name != objfile.TypeRecordName(record) {
		return false
	}
	data := w.o.Sections[s.Section].Data
	return s.Value <= uint64(len(data)) && string(data[s.Value:]) == string(record)
}

// isType reports whether a relocation, or nil, is of the record of type t.
func (w *words) isType(r *objfile.Reloc, t uint32) bool {
	if r == nil || r.Addend != 0 {
		return false
	}
	is, known := w.types[r.Symbol]
	return known && w.canonical[is] == w.canonical[t]
}

// typeWord checks that the word at off becomes the address of the record of type t.
func (w *words) typeWord(off, t uint32, what string, i int) {
	w.require(w.isType(w.data.reloc(off), t), "%s %d has another type than the metadata says", what, i)
}

// imported checks the slot of an imported function, whose type is in the descriptor that the object has for C functions.
func (w *words) imported(n uint32, f *meta.Func) {
	code, r := w.named(f.Slot+abi.ImportCode, "slot of a function"), w.named(f.Slot+abi.ImportDesc, "slot of a function")
	if code == nil || r == nil {
		return
	}
	w.imports[r.Symbol] = n
	name := objfile.MangleIn(f.Import.Module, f.Import.Name)
	ofCode, ofDesc := objfile.ImportSuffixes(w.m.Heap != nil)
	w.require(w.o.Symbols[code.Symbol].Name == name+ofCode && w.o.Symbols[r.Symbol].Name == name+ofDesc,
		"imported function %d has another name than the metadata says", n)
	s := &w.o.Symbols[r.Symbol]
	w.require(s.Section != objfile.Undefined, "imported function %d has no descriptor for C functions", n)
	if s.Section == objfile.Undefined {
		return
	}
	var of *objfile.Reloc
	if n := uint64(len(w.relro.Data)); w.o.Sections[s.Section].Name == sectionRelro && s.Value%8 == 0 && s.Value <= n && n-s.Value >= abi.DescSize {
		of = w.relro.reloc(uint32(s.Value) + abi.DescType)
	}
	w.require(w.isType(of, f.Type), "imported function %d has another type than the metadata says", n)
}
