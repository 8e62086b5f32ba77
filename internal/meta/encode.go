package meta

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/waot-project/waot/internal/abi"
)

// The sections that hold metadata.
const (
	SectionMeta      = ".waot.meta"
	SectionTraps     = ".waot.traps"
	SectionStackMaps = ".waot.stackmaps"
	SectionCalls     = ".waot.calls"
)

// FormatVersion is the version of the encoding of all four sections.
const FormatVersion = 11

// Every section begins with a header: magic, kind, version, two zero bytes,
// the size of the payload (4 bytes) and the first bytes of its SHA-256.
const (
	magic      = "WAOT"
	headerSize = 4 + 1 + 1 + 2 + 4 + hashSize
	hashSize   = 8
)

// The kinds of section.
const (
	kindMeta = 1 + iota
	kindTraps
	kindStackMaps
	kindCalls
)

// DigestSize is the size of a digest of a section.
const DigestSize = 16

// SectionDigest is the digest of a section of the object; what it covers is up to the
// object format.
type SectionDigest struct {
	Section string
	Digest  [DigestSize]byte
}

// Sections are the encoded sections.
type Sections struct{ Meta, Traps, StackMaps, Calls []byte }

// encoder appends to b.
type encoder struct{ b []byte }

// newEncoder returns an encoder of a section of the given kind, with room for about that many bytes.
func newEncoder(kind byte, room int) *encoder {
	e := &encoder{b: make([]byte, headerSize, headerSize+room)}
	copy(e.b, magic)
	e.b[4], e.b[5] = kind, FormatVersion
	return e
}

// finish completes the header.
func (e *encoder) finish() []byte {
	Seal(e.b)
	return e.b
}

// Seal makes size and hash in the header of a section those of its payload. What is too short for a header stays as it is.
func Seal(section []byte) {
	if len(section) < headerSize {
		return
	}
	payload := section[headerSize:]
	binary.LittleEndian.PutUint32(section[8:], uint32(len(payload)))
	sum := sha256.Sum256(payload)
	copy(section[12:headerSize], sum[:])
}

func (e *encoder) num(x uint64)   { e.b = binary.AppendUvarint(e.b, x) }
func (e *encoder) num32(x uint32) { e.num(uint64(x)) }
func (e *encoder) signed(x int64) { e.b = binary.AppendVarint(e.b, x) }
func (e *encoder) count(n int)    { e.num(uint64(n)) }
func (e *encoder) byte(x byte)    { e.b = append(e.b, x) }

func (e *encoder) bool(x bool) {
	if x {
		e.byte(1)
	} else {
		e.byte(0)
	}
}

func (e *encoder) str(s string) {
	e.count(len(s))
	e.b = append(e.b, s...)
}

func (e *encoder) imp(n *ImportName) {
	e.bool(n != nil)
	if n != nil {
		e.str(n.Module)
		e.str(n.Name)
	}
}

func (e *encoder) limits(min, max uint64, hasMax bool) {
	e.num(min)
	e.bool(hasMax)
	e.num(max)
}

// The flags of a memory in the metadata.
const (
	memoryHasMax  = 1
	memoryChecked = 2
)

// memoryLimits is limits of a memory, whose flag has one more bit.
func (e *encoder) memoryLimits(x *Memory) {
	flags := byte(0)
	if x.HasMax {
		flags |= memoryHasMax
	}
	if x.Checked {
		flags |= memoryChecked
	}
	e.num(x.Min)
	e.byte(flags)
	e.num(x.Max)
}

func (e *encoder) types(ts []ValType) {
	e.count(len(ts))
	for _, t := range ts {
		e.valType(t)
	}
}

// valType writes the class of a type, as the binary format has it; typed writes what it says beyond.
func (e *encoder) valType(t ValType) { e.byte(t.Base().Code()) }

// valTypes visits all value types, in the order of the encoding.
func (m *Module) valTypes(visit func(*ValType)) {
	for i := range m.Types {
		for _, types := range [2][]ValType{m.Types[i].Params, m.Types[i].Results} {
			for k := range types {
				visit(&types[k])
			}
		}
	}
	for i := range m.Tables {
		visit(&m.Tables[i].Elem)
	}
	for i := range m.Globals {
		visit(&m.Globals[i].Type)
	}
	if m.Heap == nil {
		return
	}
	for i := range m.Heap.Defs {
		for k := range m.Heap.Defs[i].Fields {
			visit(&m.Heap.Defs[i].Fields[k].Type)
		}
	}
}

// typed writes, if there are value types that say more than their class, how many, and for each how many others lie between it and the one before, and what it says: whether it
// is not null, in the lowest bit, and above it the heap type: 0, one more than the index of the type of a function, or the number of a hierarchy of its own. It stands at the end, so that who needs only classes has nothing to know
// of it.
func (e *encoder) typed(m *Module) {
	var list encoder
	n, between := 0, 0
	m.valTypes(func(t *ValType) {
		if between++; !t.IsTyped() {
			return
		}
		list.count(between - 1)
		list.num(t.Says())
		n, between = n+1, 0
	})
	if n > 0 {
		e.count(n)
		e.b = append(e.b, list.b...)
	}
}

// EncodeMeta returns the section .waot.meta: everything but the tables of traps, calls
// and stack maps.
func EncodeMeta(m *Module) []byte {
	e := newEncoder(kindMeta, 256+24*len(m.Funcs))
	e.num32(m.ABI)
	e.str(m.Arch)
	e.str(m.CPU)
	e.str(m.Name)
	e.num32(m.InstanceSize)
	e.num32(m.Helpers)
	e.num32(m.TypeSlots)
	e.count(len(m.SlotTypes))
	for _, t := range m.SlotTypes {
		e.num32(t)
	}
	e.count(len(m.Types))
	for i := range m.Types {
		e.types(m.Types[i].Params)
		e.types(m.Types[i].Results)
	}
	e.count(len(m.Memories))
	for i := range m.Memories {
		x := &m.Memories[i]
		e.num32(x.Slot)
		e.memoryLimits(x)
		e.imp(x.Import)
	}
	e.count(len(m.Tables))
	for i := range m.Tables {
		x := &m.Tables[i]
		e.num32(x.Slot)
		e.valType(x.Elem)
		e.limits(x.Min, x.Max, x.HasMax)
		e.imp(x.Import)
	}
	e.count(len(m.Globals))
	for i := range m.Globals {
		x := &m.Globals[i]
		e.num32(x.Offset)
		e.valType(x.Type)
		e.bool(x.Mutable)
		e.imp(x.Import)
	}
	e.count(len(m.Elems))
	for i := range m.Elems {
		e.num32(m.Elems[i].Pair)
		e.num32(m.Elems[i].Array)
		e.num32(m.Elems[i].Len)
	}
	e.count(len(m.Datas))
	for i := range m.Datas {
		x := &m.Datas[i]
		e.num32(x.Pair)
		e.num32(x.Memory)
		e.num32(x.Offset)
		e.num32(x.Rodata)
		e.num32(x.Len)
	}
	e.funcs(m)
	e.count(len(m.Exports))
	for i := range m.Exports {
		x := &m.Exports[i]
		e.str(x.Name)
		e.byte(byte(x.Kind))
		e.num32(x.Index)
	}
	e.count(len(m.Digests))
	for i := range m.Digests {
		e.str(m.Digests[i].Section)
		e.b = append(e.b, m.Digests[i].Digest[:]...)
	}
	if m.Heap != nil {
		e.bool(m.Exceptions != nil)
	}
	if m.Exceptions != nil || m.Heap != nil {
		e.bool(m.Fuel != nil)
	}
	if m.Fuel != nil {
		e.bool(m.Fuel.Slack)
		e.str(m.Fuel.Costs)
	}
	if m.Exceptions != nil {
		e.exceptions(m.Exceptions)
	}
	if m.Heap != nil {
		e.heap(m.Heap)
	}
	e.typed(m)
	return e.finish()
}

// The flags of a type definition; the lowest bits are its kind.
const (
	defKind     = 3
	defOpen     = 4
	defHasSuper = 8
	defInGroup  = 16 // it is not the first of its recursion group
)

// heap writes what the heap needs. Types of functions have their signatures elsewhere.
func (e *encoder) heap(h *Heap) {
	e.num32(h.Part)
	e.count(len(h.Defs))
	for i := range h.Defs {
		t := &h.Defs[i]
		flags := byte(t.Kind)
		if t.Open {
			flags |= defOpen
		}
		if t.HasSuper {
			flags |= defHasSuper
		}
		if t.Place != 0 {
			flags |= defInGroup
		}
		e.byte(flags)
		if t.HasSuper {
			e.num32(t.Super)
		}
		if t.Kind == abi.KindFunc {
			continue
		}
		e.count(len(t.Fields))
		for _, f := range t.Fields {
			e.bool(f.Mutable)
			e.byte(f.Packed)
			e.valType(f.Type)
		}
	}
}

func (e *encoder) exceptions(x *Exceptions) {
	e.num32(x.Helpers)
	e.num32(x.Current)
	e.num32(x.Words)
	e.num32(x.TagSlots)
	e.count(len(x.Tags))
	for i := range x.Tags {
		e.num32(x.Tags[i].Type)
		e.imp(x.Tags[i].Import)
	}
}

func (e *encoder) funcs(m *Module) {
	e.count(len(m.Funcs))
	var next funcPlaces
	for i := range m.Funcs {
		f := &m.Funcs[i]
		e.num32(f.Type)
		e.imp(f.Import)
		if f.Import != nil {
			e.num32(f.Slot)
			continue
		}
		e.signed(int64(int32(f.Text - next.text)))
		e.num32(f.Size)
		e.num32(f.Frame)
		e.bool(f.HasDesc)
		if f.HasDesc {
			e.signed(int64(int32(f.Desc - next.desc)))
		}
		next.behind(f)
	}
}

// funcPlaces is where code and descriptor of the next function may be: behind those of the function before.
type funcPlaces struct{ text, desc uint32 }

func (p *funcPlaces) behind(f *Func) {
	p.text = f.Text + f.Size
	if f.HasDesc {
		p.desc = f.Desc + abi.DescSize
	}
}

// EncodeTables encodes the tables of traps, stack maps and calls, which must be
// sorted by offset, and the names of functions, which stand behind the calls, as only backtraces need either; Meta of the result is nil.
func EncodeTables(m *Module) (s Sections) {
	e := newTable(kindTraps, 3*len(m.Traps))
	landmarks := e.traps(m.Traps)
	s.Traps = e.finish()

	e = newTable(kindStackMaps, 2*m.StackMaps.Len()+2*len(m.StackMaps.Changes))
	e.stackMaps(&m.StackMaps)
	s.StackMaps = e.finish()

	e = newTable(kindCalls, 4*len(m.Calls)+8*len(m.Inlined)+24*len(m.Funcs))
	e.calls(m.Calls, m.Traps, landmarks)
	e.inlined(m.Inlined)
	e.count(len(m.Funcs))
	for i := range m.Funcs {
		e.str(m.Funcs[i].Name)
	}
	e.handlers(m.Handlers)
	e.saves(m.Saves)
	s.Calls = e.finish()
	return s
}

// lastSite is the site that the next one is written, or read, as a difference to: a call or an access of memory is seldom far from the one before, in the
// code and in the module, so most take two bytes.
type lastSite struct {
	offset uint32
	places lastPlaces
}

func (e *encoder) site(last *lastSite, offset, src uint32) {
	e.num32(offset - last.offset)
	last.offset = offset
	e.place(&last.places, src)
}

// pass makes t the last site.
func (last *lastSite) pass(t *abi.TrapSite) {
	last.offset = t.Offset
	last.places[t.Src>>inlinedBit] = t.Src
}

// calls writes the sites of calls. In front of most stand accesses of memory, such as stores of arguments, from where it is not far to the call, and about as far each
// time. So the traps of one kind are landmarks: with a call stands how many of them lie between it and the call before, and the last of these two is what it is written as
// a difference to. Packed, that takes 0.4 of the bytes that differences to calls take.
func (e *encoder) calls(calls []abi.CallSite, traps []abi.TrapSite, landmarks trapKind) {
	e.count(len(calls))
	var last lastSite
	for i := range calls {
		passed := 0
		for ; len(traps) > 0 && traps[0].Offset < calls[i].Offset; traps = traps[1:] {
			if kindOf(&traps[0]) == landmarks {
				last.pass(&traps[0])
				passed++
			}
		}
		e.count(passed)
		e.site(&last, calls[i].Offset, calls[i].Src)
	}
}

// lastPlaces are the last places: an offset in the module, and an entry of the table of inlined places.
type lastPlaces [2]uint32

// inlinedBit is the bit of a place that says which of the two it is.
const inlinedBit = 31

// steps is how many small steps forwards in the module have a number of their own as places: four of five places are such, and so take one byte.
const steps = 112

// place writes the difference of a place to the last one of its kind, and the kind.
func (e *encoder) place(last *lastPlaces, p uint32) {
	kind := p >> inlinedBit
	d := int32((p-last[kind])<<1) >> 1 // without the kind
	last[kind] = p
	if kind == 0 && 0 <= d && d < steps {
		e.num(uint64(d))
		return
	}
	e.num(steps + (uint64(uint32(d<<1^d>>31))<<1 | uint64(kind))) // signed as zigzag
}

// trapKind is what sites of traps have in common; nearly all sites of a module are accesses of its memory.
type trapKind struct {
	code   abi.TrapCode
	fault  abi.FaultKind
	memory uint8
}

func kindOf(t *abi.TrapSite) trapKind { return trapKind{t.Code, t.Fault, t.Memory} }

// traps writes the sites of each kind, and returns the first kind, which has most: those are the landmarks of calls.
func (e *encoder) traps(sites []abi.TrapSite) (landmarks trapKind) {
	type list struct {
		kind  trapKind
		sites int
	}
	var lists []list
	for i := range sites {
		k := kindOf(&sites[i])
		n := slices.IndexFunc(lists, func(x list) bool { return x.kind == k })
		if n < 0 {
			n = len(lists)
			lists = append(lists, list{kind: k})
		}
		lists[n].sites++
	}
	slices.SortStableFunc(lists, func(a, b list) int { return b.sites - a.sites })
	e.count(len(lists))
	for _, l := range lists {
		e.byte(byte(l.kind.code))
		e.byte(byte(l.kind.fault))
		e.byte(l.kind.memory)
		e.count(l.sites)
		var last lastSite
		for i := range sites {
			if kindOf(&sites[i]) == l.kind {
				e.site(&last, sites[i].Offset, sites[i].Src)
			}
		}
	}
	if len(lists) > 0 {
		landmarks = lists[0].kind
	}
	return landmarks
}

// inlined writes the table of places: differences to the entry before, but the caller, which is a place of any kind.
func (e *encoder) inlined(table []abi.Inlined) {
	e.count(len(table))
	var last abi.Inlined
	var callers lastPlaces
	for i := range table {
		p := &table[i]
		e.signed(int64(int32(p.Func - last.Func)))
		e.signed(int64(int32(p.Src - last.Src)))
		e.place(&callers, p.Caller)
		last = *p
	}
}

// handlers writes distances: of each return address to the one before, of each landing to its return address.
func (e *encoder) handlers(handlers []abi.Handler) {
	e.count(len(handlers))
	last := uint32(0)
	for _, h := range handlers {
		e.num32(h.Return - last)
		e.signed(int64(int32(h.Landing - h.Return)))
		last = h.Return
	}
}

// saves writes for each function its registers, and, if there are any, the distances of the changes.
func (e *encoder) saves(saves []abi.Saves) {
	e.count(len(saves))
	for i := range saves {
		s := &saves[i]
		e.num32(s.Registers)
		if s.Registers == 0 {
			continue
		}
		e.count(len(s.Changes))
		last := uint32(0)
		for _, c := range s.Changes {
			e.num32(c - last)
			last = c
		}
	}
}

// Encode encodes all four sections.
func Encode(m *Module) Sections {
	s := EncodeTables(m)
	s.Meta = EncodeMeta(m)
	return s
}
