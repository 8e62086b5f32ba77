package meta

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/waot-project/waot/internal/abi"
)

// DecodeError is damaged or malformed metadata.
type DecodeError struct {
	Section string
	Offset  int // in the section
	Reason  string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("metadata: %s+%#x: %s", e.Section, e.Offset, e.Reason)
}

// VersionError is metadata in another version of the format or of the binary
// interface.
type VersionError struct {
	What       string // "format" or "binary interface"
	Have, Want uint32
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("metadata: %s version %d, want %d", e.What, e.Have, e.Want)
}

// decoder reads one section. After the first error, err is set and all numbers are 0.
type decoder struct {
	section string
	b       []byte
	at      int
	err     error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = &DecodeError{d.section, d.at, fmt.Sprintf(format, args...)}
	}
}

// newDecoder checks the header, and the hash if hashed.
func newDecoder(section string, kind byte, b []byte, hashed bool) *decoder {
	d := &decoder{section: section, b: b}
	switch {
	case len(b) < headerSize || string(b[:4]) != magic:
		d.fail("no header")
	case b[4] != kind:
		d.fail("kind %d", b[4])
	case b[5] != FormatVersion:
		d.err = &VersionError{"format", uint32(b[5]), FormatVersion}
	case b[6]|b[7] != 0:
		d.fail("reserved bytes")
	case uint64(binary.LittleEndian.Uint32(b[8:])) != uint64(len(b)-headerSize):
		d.fail("size")
	case hashed:
		sum := sha256.Sum256(b[headerSize:])
		if string(sum[:hashSize]) != string(b[12:headerSize]) {
			d.fail("damaged: hash differs")
		}
	}
	d.at = headerSize
	return d
}

// end checks that nothing is left.
func (d *decoder) end() error {
	if d.err == nil && d.at != len(d.b) {
		d.fail("bytes after the end")
	}
	return d.err
}

func (d *decoder) num(max uint64, what string) uint64 {
	if d.err != nil {
		return 0
	}
	x, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 || x > max {
		d.fail("%s", what)
		return 0
	}
	d.at += n
	return x
}

func (d *decoder) num32(what string) uint32 { return uint32(d.num(math.MaxUint32, what)) }

// count returns a number of things of at least size bytes each.
func (d *decoder) count(size int, what string) int {
	return int(d.num(uint64((len(d.b)-min(d.at, len(d.b)))/size), what))
}

// list is n zero values, nil if n is 0.
func list[T any](n int) []T {
	if n == 0 {
		return nil
	}
	return make([]T, n)
}

func (d *decoder) byte(what string) byte {
	if d.err != nil {
		return 0
	}
	if d.at >= len(d.b) {
		d.fail("%s", what)
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *decoder) bool(what string) bool {
	x := d.byte(what)
	if x > 1 {
		d.fail("%s", what)
	}
	return x == 1
}

func (d *decoder) str(what string) string {
	n := d.count(1, what)
	if d.err == nil && n > len(d.b)-d.at { // count's bound includes the count itself
		d.fail("%s", what)
	}
	if d.err != nil {
		return ""
	}
	d.at += n
	return string(d.b[d.at-n : d.at])
}

func (d *decoder) imp() *ImportName {
	if !d.bool("import flag") {
		return nil
	}
	return &ImportName{Module: d.str("module of an import"), Name: d.str("name of an import")}
}

func (d *decoder) valType() ValType {
	code := d.byte("value type")
	t := abi.ValTypeByCode(code)
	if t == abi.ValTypeUnknown || t.IsTyped() {
		d.fail("value type %#x", code)
	}
	return t
}

// typed reads what value types say beyond their class, if there are such that do. Whether the types that they refer to exist is for Validate to say.
func (d *decoder) typed(m *Module) {
	if d.err != nil || d.at == len(d.b) || d.b[d.at] == 0 {
		return
	}
	left := d.count(2, "number of types that say more than their class")
	between := d.num(math.MaxUint32, "place of a type")
	m.valTypes(func(t *ValType) {
		switch {
		case d.err != nil || left == 0:
		case between > 0:
			between--
		default:
			*t = d.typedRef(*t, m.Heap != nil)
			if left--; left > 0 {
				between = d.num(math.MaxUint32, "place of a type")
			}
		}
	})
	if left > 0 {
		d.fail("place of a type")
	}
}

// typedRef reads what type t of that class says beyond; gc says that it may be one that garbage collection has brought.
func (d *decoder) typedRef(t ValType, gc bool) ValType {
	says := d.num(abi.MaxSays, "reference type")
	typed := t.Saying(says)
	if says == 0 || !t.IsRef() || !typed.IsValid() || typed.IsOfGC() && !gc {
		d.fail("reference type")
	}
	return typed
}

func (d *decoder) types() []ValType {
	n := d.count(1, "number of types")
	if n > math.MaxUint16 {
		d.fail("function type too long")
	}
	if n == 0 || d.err != nil {
		return nil
	}
	ts := make([]ValType, n)
	for i := range ts {
		ts[i] = d.valType()
	}
	return ts
}

// Sizes are the sizes of the sections that the metadata refers to, in bytes.
type Sizes struct{ Text, Rodata, Data uint64 }

// Decode decodes and validates the four sections. Errors are *DecodeError, *VersionError and
// *InvalidError. Memory used is proportional to the sections.
func Decode(s Sections, sizes Sizes) (*Module, error) {
	m := new(Module)
	if err := decodeMeta(m, s.Meta, true); err != nil {
		return nil, err
	}
	if err := decodeTables(m, s, true); err != nil {
		return nil, err
	}
	if err := m.Validate(sizes); err != nil {
		return nil, err
	}
	return m, nil
}

// DecodeUnhashed decodes and validates what is in the section .waot.meta, for callers that know the bytes to be
// undamaged: it does not compute their hash. The tables are empty, and functions have no names: ReadTables reads them when they are needed.
// Errors are those of Decode.
func DecodeUnhashed(section []byte, sizes Sizes) (*Module, error) {
	m := new(Module)
	if err := decodeMeta(m, section, false); err != nil {
		return nil, err
	}
	v := newValidator(m, sizes)
	v.declarations()
	if v.err != nil {
		return nil, v.err
	}
	return m, nil
}

// ReadTables returns a copy of m, which DecodeUnhashed has made, with the tables of traps, stack maps and calls, which it
// validates, and the names of functions. It does not compute their hashes. Errors are those of Decode.
func (m *Module) ReadTables(s Sections, sizes Sizes) (*Module, error) {
	full := *m
	full.Funcs = slices.Clone(m.Funcs)
	if err := decodeTables(&full, s, false); err != nil {
		return nil, err
	}
	v := newValidator(&full, sizes)
	v.sites()
	if v.err != nil {
		return nil, v.err
	}
	return &full, nil
}

func decodeMeta(m *Module, section []byte, hashed bool) error {
	d := newDecoder(SectionMeta, kindMeta, section, hashed)
	d.module(m)
	return d.end()
}

// tables is a module whose tables are being decoded, in this order: calls need the landmarks.
type tables struct {
	*Module
	landmarks []abi.TrapSite // not passed yet
}

func decodeTables(m *Module, s Sections, hashed bool) error {
	to := &tables{Module: m}
	for _, t := range []struct {
		name string
		kind byte
		b    []byte
		read func(*decoder, *tables)
	}{
		{SectionTraps, kindTraps, s.Traps, (*decoder).traps},
		{SectionStackMaps, kindStackMaps, s.StackMaps, (*decoder).stackMaps},
		{SectionCalls, kindCalls, s.Calls, (*decoder).calls},
	} {
		d := newDecoder(t.name, t.kind, t.b, hashed)
		d.unpack()
		t.read(d, to)
		if err := d.end(); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) module(m *Module) {
	m.ABI = d.num32("version of the binary interface")
	switch m.ABI {
	case abi.FuelVersion:
		m.Fuel = &Fuel{}
	case abi.ExceptionsVersion:
		m.Exceptions = &Exceptions{}
	case abi.HeapVersion:
		m.Heap = &Heap{}
	}
	if d.err == nil {
		d.err = m.CheckVersion()
	}
	m.Arch, m.CPU, m.Name = d.str("architecture"), d.str("processor"), d.str("name")
	m.InstanceSize = d.num32("size of the instance data")
	m.Helpers = d.num32("helper slots")
	m.TypeSlots = d.num32("type slots")
	m.SlotTypes = list[uint32](d.count(1, "number of type slots"))
	for i := range m.SlotTypes {
		m.SlotTypes[i] = d.num32("type of a slot")
	}
	m.Types = list[FuncType](d.count(2, "number of types"))
	for i := range m.Types {
		m.Types[i] = FuncType{Params: d.types(), Results: d.types()}
	}
	d.memories(m)
	d.globals(m)
	d.elems(m)
	d.datas(m)
	d.funcs(m)
	d.exports(m)
	m.Digests = list[SectionDigest](d.count(1+DigestSize, "number of digests"))
	for i := range m.Digests {
		m.Digests[i].Section = d.str("section of a digest")
		if d.err != nil || len(d.b)-d.at < DigestSize {
			d.fail("digest")
			return
		}
		d.at += copy(m.Digests[i].Digest[:], d.b[d.at:])
	}
	if m.Heap != nil && d.bool("exceptions") {
		m.Exceptions = &Exceptions{}
	}
	if (m.Exceptions != nil || m.Heap != nil) && d.bool("fuel") {
		m.Fuel = &Fuel{}
	}
	if m.Fuel != nil {
		m.Fuel.Slack, m.Fuel.Costs = d.bool("fuel"), d.str("costs of fuel")
	}
	if m.Exceptions != nil {
		d.exceptions(m.Exceptions)
	}
	if m.Heap != nil {
		d.heap(m)
	}
	d.typed(m)
	d.completeDefs(m)
}

func (d *decoder) limits() (lo, hi uint64, hasMax bool) {
	lo, hasMax = d.num(math.MaxUint64, "minimum"), d.bool("limit flag")
	hi = d.num(math.MaxUint64, "maximum")
	return lo, hi, hasMax
}

// memoryLimits is limits of a memory, whose flag has one more bit.
func (d *decoder) memoryLimits(x *Memory) {
	x.Min = d.num(math.MaxUint64, "minimum")
	flags := d.num(memoryHasMax|memoryChecked, "flags of a memory")
	x.HasMax, x.Checked = flags&memoryHasMax != 0, flags&memoryChecked != 0
	x.Max = d.num(math.MaxUint64, "maximum")
}

func (d *decoder) memories(m *Module) {
	m.Memories = list[Memory](d.count(5, "number of memories"))
	for i := range m.Memories {
		x := &m.Memories[i]
		x.Slot = d.num32("memory slot")
		d.memoryLimits(x)
		x.Import = d.imp()
	}
	m.Tables = list[Table](d.count(6, "number of tables"))
	for i := range m.Tables {
		x := &m.Tables[i]
		x.Slot = d.num32("table slot")
		x.Elem = d.valType()
		x.Min, x.Max, x.HasMax = d.limits()
		x.Import = d.imp()
	}
}

func (d *decoder) globals(m *Module) {
	m.Globals = list[Global](d.count(4, "number of globals"))
	for i := range m.Globals {
		x := &m.Globals[i]
		x.Offset = d.num32("global")
		x.Type = d.valType()
		x.Mutable = d.bool("mutability")
		x.Import = d.imp()
	}
}

func (d *decoder) elems(m *Module) {
	m.Elems = list[Elem](d.count(3, "number of element segments"))
	for i := range m.Elems {
		x := &m.Elems[i]
		x.Pair = d.num32("element segment")
		x.Array = d.num32("elements of a segment")
		x.Len = d.num32("length of an element segment")
	}
}

func (d *decoder) datas(m *Module) {
	m.Datas = list[Data](d.count(5, "number of data segments"))
	for i := range m.Datas {
		x := &m.Datas[i]
		x.Pair = d.num32("data segment")
		x.Memory = d.num32("memory of a data segment")
		x.Offset = d.num32("place of a data segment")
		x.Rodata = d.num32("bytes of a data segment")
		x.Len = d.num32("length of a data segment")
	}
}

func (d *decoder) funcs(m *Module) {
	m.Funcs = list[Func](d.count(3, "number of functions"))
	var next funcPlaces
	for i := range m.Funcs {
		f := &m.Funcs[i]
		f.Type = d.num32("type of a function")
		f.Import = d.imp()
		if f.Import != nil {
			f.Slot = d.num32("slot of a function")
			continue
		}
		f.Text, f.Size = next.text+uint32(d.signed32("code of a function")), d.num32("size of a function")
		f.Frame = d.num32("frame of a function")
		f.HasDesc = d.bool("descriptor flag")
		if f.HasDesc {
			f.Desc = next.desc + uint32(d.signed32("descriptor"))
		}
		next.behind(f)
	}
}

func (d *decoder) exports(m *Module) {
	m.Exports = list[Export](d.count(3, "number of exports"))
	for i := range m.Exports {
		x := &m.Exports[i]
		x.Name = d.str("name of an export")
		x.Kind = abi.ExternKind(d.byte("kind of an export"))
		x.Index = d.num32("index of an export")
	}
}

// offset returns the next offset of a table: last and a distance.
func (d *decoder) offset(last uint32) uint32 {
	return last + uint32(d.num(uint64(math.MaxUint32-last), "offset"))
}

// site returns the next site, and keeps it in last.
func (d *decoder) site(last *lastSite) (offset, src uint32) {
	last.offset = d.offset(last.offset)
	return last.offset, d.place(&last.places)
}

// place returns the next place, and keeps it in last.
func (d *decoder) place(last *lastPlaces) uint32 {
	x := d.num(steps+1<<(inlinedBit+2)-1, "place")
	if x < steps {
		last[0] = (last[0] + uint32(x)) & (1<<inlinedBit - 1)
		return last[0]
	}
	x -= steps
	kind := uint32(x & 1)
	x >>= 1
	p := (last[kind]+(uint32(x>>1)^-uint32(x&1)))&(1<<inlinedBit-1) | kind<<inlinedBit
	last[kind] = p
	return p
}

func (d *decoder) traps(m *tables) {
	kinds := d.count(4, "number of kinds of traps")
	var lists [][]abi.TrapSite
	for range kinds {
		t := abi.TrapSite{Code: abi.TrapCode(d.byte("trap code")), Fault: abi.FaultKind(d.byte("kind of fault")), Memory: d.byte("memory")}
		sites := list[abi.TrapSite](d.count(2, "number of traps"))
		var last lastSite
		for i := range sites {
			t.Offset, t.Src = d.site(&last)
			sites[i] = t
		}
		if d.err != nil {
			return
		}
		lists = append(lists, sites)
	}
	if kinds > 0 {
		m.landmarks = lists[0]
	}
	m.Traps = mergeSites(lists)
}

// mergeSites joins lists that are sorted by offset to one.
func mergeSites(lists [][]abi.TrapSite) []abi.TrapSite {
	switch len(lists) {
	case 0:
		return nil
	case 1:
		return lists[0]
	}
	half := len(lists) / 2
	a, b := mergeSites(lists[:half]), mergeSites(lists[half:])
	all := make([]abi.TrapSite, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].Offset <= b[0].Offset {
			n := 1
			for n < len(a) && a[n].Offset <= b[0].Offset {
				n++
			}
			all, a = append(all, a[:n]...), a[n:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

func (d *decoder) calls(m *tables) {
	m.Calls = list[abi.CallSite](d.count(3, "number of calls"))
	var last lastSite
	for i := range m.Calls {
		passed := d.num(uint64(len(m.landmarks)), "number of landmarks")
		for k := range m.landmarks[:passed] {
			last.pass(&m.landmarks[k])
		}
		m.landmarks = m.landmarks[passed:]
		m.Calls[i].Offset, m.Calls[i].Src = d.site(&last)
	}
	d.inlined(m.Module)
	if n := d.count(1, "number of names"); d.err == nil && n != len(m.Funcs) {
		d.fail("%d names of %d functions", n, len(m.Funcs))
	}
	for i := range m.Funcs {
		m.Funcs[i].Name = d.str("name of a function")
	}
	d.handlers(m.Module)
	d.saves(m.Module)
}

// heap reads what the heap needs.
func (d *decoder) heap(m *Module) {
	h := m.Heap
	h.Part = d.num32("part for the heap")
	h.Defs = list[abi.TypeDef](d.count(1, "number of type definitions"))
	if len(h.Defs) > len(m.Types) {
		d.fail("%d type definitions for %d types", len(h.Defs), len(m.Types))
		h.Defs = nil
	}
	for i := range h.Defs {
		d.definition(h.Defs, uint32(i))
	}
}

// completeDefs adds what follows from all value types, which say what they say by now.
func (d *decoder) completeDefs(m *Module) {
	if m.Heap == nil || d.err != nil {
		return
	}
	for i := range m.Heap.Defs {
		t := &m.Heap.Defs[i]
		t.FuncType = m.Types[i]
		if k := slices.IndexFunc(t.Fields, func(f abi.FieldType) bool { return f.Type.IsRef() && f.Type.IsNotNull() }); k >= 0 {
			t.NoDefault = uint32(k + 1)
		}
	}
}

// definition reads type definition i, behind those before it.
func (d *decoder) definition(defs []abi.TypeDef, i uint32) {
	t := &defs[i]
	flags := d.num(defKind|defOpen|defHasSuper|defInGroup, "flags of a type definition")
	t.Kind, t.Open, t.HasSuper = abi.TypeKind(flags&defKind), flags&defOpen != 0, flags&defHasSuper != 0
	if t.Kind > abi.KindArray || flags&defInGroup != 0 && i == 0 {
		d.fail("flags of a type definition")
		return
	}
	if flags&defInGroup != 0 {
		t.Place = defs[i-1].Place + 1
	}
	if t.HasSuper {
		if t.Super = d.num32("supertype"); t.Super >= i || defs[t.Super].Kind != t.Kind || !defs[t.Super].Open || defs[t.Super].Depth >= abi.MaxDepth {
			d.fail("supertype")
			return
		}
		t.Depth = defs[t.Super].Depth + 1
	}
	if t.Kind == abi.KindFunc {
		return
	}
	t.Fields = list[abi.FieldType](d.count(3, "number of fields"))
	for k := range t.Fields {
		f := &t.Fields[k]
		f.Mutable, f.Packed, f.Type = d.bool("mutability"), d.byte("packed"), d.valType()
		if f.Packed != 0 && (f.Packed != 8 && f.Packed != 16 || f.Type != I32) {
			d.fail("a packed field")
		}
	}
	if t.Kind == abi.KindArray && len(t.Fields) != 1 {
		d.fail("%d types of elements", len(t.Fields))
	}
}

func (d *decoder) exceptions(x *Exceptions) {
	x.Helpers, x.Current, x.Words = d.num32("helper slots for exceptions"), d.num32("exception"), d.num32("words of an exception")
	x.TagSlots = d.num32("slots of tags")
	x.Tags = list[Tag](d.count(2, "number of tags"))
	for i := range x.Tags {
		x.Tags[i] = Tag{Type: d.num32("type of a tag"), Import: d.imp()}
	}
}

func (d *decoder) handlers(m *Module) {
	m.Handlers = list[abi.Handler](d.count(2, "number of handlers"))
	last := uint32(0)
	for i := range m.Handlers {
		last = d.offset(last)
		m.Handlers[i] = abi.Handler{Return: last, Landing: last + uint32(d.signed32("landing"))}
	}
}

func (d *decoder) saves(m *Module) {
	m.Saves = list[abi.Saves](d.count(1, "number of functions"))
	for i := range m.Saves {
		s := &m.Saves[i]
		if s.Registers = d.num32("registers"); s.Registers == 0 {
			continue
		}
		s.Changes = list[uint32](d.count(1, "number of changes"))
		last := uint32(0)
		for k := range s.Changes {
			last = d.offset(last)
			s.Changes[k] = last
		}
	}
}

func (d *decoder) inlined(m *Module) {
	m.Inlined = list[abi.Inlined](d.count(3, "number of inlined places"))
	var last abi.Inlined
	var callers lastPlaces
	for i := range m.Inlined {
		p := &m.Inlined[i]
		p.Func, p.Src = last.Func+uint32(d.signed32("function of a place")), last.Src+uint32(d.signed32("offset of a place"))
		p.Caller = d.place(&callers)
		last = *p
	}
}

func (d *decoder) signed32(what string) int32 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Varint(d.b[d.at:])
	if n <= 0 || v != int64(int32(v)) {
		d.fail("%s", what)
		return 0
	}
	d.at += n
	return int32(v)
}
