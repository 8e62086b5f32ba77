package meta

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

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

// newDecoder checks the header and the hash.
func newDecoder(section string, kind byte, b []byte) *decoder {
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
	default:
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

// count is a number of things of at least size bytes each.
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

// index is a number below n.
func (d *decoder) index(n int, what string) uint32 {
	x := d.num32(what)
	if d.err == nil && int64(x) >= int64(n) {
		d.fail("%s %d of %d", what, x, n)
		return 0
	}
	return x
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
	t := ValType(d.byte("value type"))
	switch t {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
		return t
	}
	d.fail("value type %#x", byte(t))
	return 0
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

// slot is the offset of size bytes in the instance data, aligned to 8.
func (d *decoder) slot(m *Module, size uint64, what string) uint32 {
	x := d.num32(what)
	if d.err == nil && (x%8 != 0 || uint64(x)+size > uint64(m.InstanceSize)) {
		d.fail("%s is outside of the instance data", what)
	}
	return x
}

// Sizes are the sizes of the sections that the metadata refers to, in bytes.
type Sizes struct{ Text, Data uint64 }

// Decode decodes and validates the four sections. Errors are *DecodeError and *VersionError.
// Memory used is proportional to the sections.
func Decode(s Sections, sizes Sizes) (*Module, error) {
	m := new(Module)
	d := newDecoder(SectionMeta, kindMeta, s.Meta)
	d.module(m, sizes)
	if err := d.end(); err != nil {
		return nil, err
	}
	for _, t := range []struct {
		name string
		kind byte
		b    []byte
		read func(*decoder, *Module, uint64)
	}{
		{SectionTraps, kindTraps, s.Traps, (*decoder).traps},
		{SectionStackMaps, kindStackMaps, s.StackMaps, (*decoder).stackMaps},
		{SectionCalls, kindCalls, s.Calls, (*decoder).calls},
	} {
		d := newDecoder(t.name, t.kind, t.b)
		t.read(d, m, sizes.Text)
		if err := d.end(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (d *decoder) module(m *Module, sizes Sizes) {
	m.ABI = d.num32("version of the binary interface")
	if d.err == nil && m.ABI != abi.Version {
		d.err = &VersionError{"binary interface", m.ABI, abi.Version}
	}
	m.Arch, m.CPU, m.Name = d.str("architecture"), d.str("processor"), d.str("name")
	m.InstanceSize = d.num32("size of the instance data")
	if d.err == nil && uint64(m.InstanceSize) != sizes.Data {
		d.fail("the instance data has %d bytes, not %d", sizes.Data, m.InstanceSize)
	}
	m.Helpers = d.slot(m, 8*uint64(abi.NumHelpers), "helper slots")
	m.TypeSlots = d.num32("type slots")
	m.SlotTypes = list[uint32](d.count(1, "number of type slots"))
	if d.err == nil && (m.TypeSlots%8 != 0 || uint64(m.TypeSlots)+8*uint64(len(m.SlotTypes)) > uint64(m.InstanceSize)) {
		d.fail("type slots are outside of the instance data")
	}
	for i := range m.SlotTypes {
		m.SlotTypes[i] = d.num32("type of a slot")
	}
	m.Types = list[FuncType](d.count(2, "number of types"))
	for i := range m.Types {
		m.Types[i] = FuncType{Params: d.types(), Results: d.types()}
	}
	for _, t := range m.SlotTypes {
		if int64(t) >= int64(len(m.Types)) {
			d.fail("type %d of a slot", t)
		}
	}
	d.memories(m)
	d.globals(m)
	d.elems(m)
	d.datas(m)
	d.funcs(m, sizes.Text)
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
}

func (d *decoder) limits() (lo, hi uint64, hasMax bool) {
	lo, hasMax = d.num(math.MaxUint64, "minimum"), d.bool("limit flag")
	hi = d.num(math.MaxUint64, "maximum")
	if d.err == nil && hasMax && hi < lo {
		d.fail("maximum below minimum")
	}
	return lo, hi, hasMax
}

func (d *decoder) memories(m *Module) {
	m.Memories = list[Memory](d.count(5, "number of memories"))
	for i := range m.Memories {
		x := &m.Memories[i]
		x.Slot = d.slot(m, 8, "memory slot")
		x.Min, x.Max, x.HasMax = d.limits()
		x.Import = d.imp()
	}
	m.Tables = list[Table](d.count(6, "number of tables"))
	for i := range m.Tables {
		x := &m.Tables[i]
		x.Slot = d.slot(m, 8, "table slot")
		x.Elem = d.valType()
		if d.err == nil && x.Elem != FuncRef && x.Elem != ExternRef {
			d.fail("element type of a table")
		}
		x.Min, x.Max, x.HasMax = d.limits()
		x.Import = d.imp()
	}
}

func (d *decoder) globals(m *Module) {
	m.Globals = list[Global](d.count(4, "number of globals"))
	for i := range m.Globals {
		x := &m.Globals[i]
		x.Offset = d.slot(m, 8, "global")
		x.Type = d.valType()
		x.Mutable = d.bool("mutability")
		x.Import = d.imp()
		if d.err == nil && x.Type == V128 && x.Import == nil && uint64(x.Offset)+16 > uint64(m.InstanceSize) {
			d.fail("global is outside of the instance data")
		}
	}
}

func (d *decoder) elems(m *Module) {
	m.Elems = list[Elem](d.count(3, "number of element segments"))
	for i := range m.Elems {
		x := &m.Elems[i]
		x.Pair = d.slot(m, 16, "element segment")
		x.Array = d.num32("elements of a segment")
		x.Len = d.num32("length of an element segment")
		if d.err == nil && (x.Array%8 != 0 || uint64(x.Array)+8*uint64(x.Len) > uint64(m.InstanceSize)) {
			d.fail("elements of a segment are outside of the instance data")
		}
	}
}

// datas leaves it to the host to compare with the size of .rodata.
func (d *decoder) datas(m *Module) {
	m.Datas = list[Data](d.count(5, "number of data segments"))
	for i := range m.Datas {
		x := &m.Datas[i]
		x.Pair = d.slot(m, 16, "data segment")
		x.Memory = d.index(len(m.Memories), "memory of a data segment")
		x.Offset = d.num32("place of a data segment")
		x.Rodata = d.num32("bytes of a data segment")
		x.Len = d.num32("length of a data segment")
		if d.err != nil {
			return
		}
		if mem := &m.Memories[x.Memory]; mem.Import != nil || uint64(x.Offset)+uint64(x.Len) > mem.Min*abi.PageSize {
			d.fail("data segment is outside of its memory")
		}
	}
}

func (d *decoder) funcs(m *Module, text uint64) {
	m.Funcs = list[Func](d.count(4, "number of functions"))
	defined := false
	for i := range m.Funcs {
		f := &m.Funcs[i]
		f.Type = d.index(len(m.Types), "type of a function")
		f.Name = d.str("name of a function")
		f.Import = d.imp()
		if f.Import != nil {
			if defined {
				d.fail("imported function after defined ones")
			}
			f.Slot = d.slot(m, abi.DescSize, "slot of a function")
			continue
		}
		defined = true
		f.Text, f.Size = d.num32("code of a function"), d.num32("size of a function")
		if d.err == nil && (f.Size == 0 || uint64(f.Text)+uint64(f.Size) > text) {
			d.fail("code of function %d is outside of the text", i)
		}
		f.HasDesc = d.bool("descriptor flag")
		if f.HasDesc {
			f.Desc = d.slot(m, abi.DescSize, "descriptor")
		}
	}
	if d.err != nil {
		return
	}
	if !defined {
		d.fail("no init function")
		return
	}
	if t := &m.Types[m.Funcs[len(m.Funcs)-1].Type]; len(t.Params)+len(t.Results) != 0 {
		d.fail("type of the init function")
	}
}

func (d *decoder) exports(m *Module) {
	counts := [4]int{len(m.Funcs), len(m.Tables), len(m.Memories), len(m.Globals)}
	m.Exports = list[Export](d.count(3, "number of exports"))
	for i := range m.Exports {
		x := &m.Exports[i]
		x.Name = d.str("name of an export")
		x.Kind = d.byte("kind of an export")
		if int(x.Kind) >= len(counts) {
			d.fail("kind of an export")
			return
		}
		x.Index = d.index(counts[x.Kind], "index of an export")
	}
}

// offset is the next offset of a sorted table: above the last, at most end.
func (d *decoder) offset(last uint32, first bool, end uint64) uint32 {
	delta := d.num32("offset")
	x := uint64(last) + uint64(delta)
	if d.err == nil && (x > end || x > math.MaxUint32 || delta == 0 && !first) {
		d.fail("offset out of order or outside of the text")
	}
	return uint32(x)
}

func (d *decoder) traps(m *Module, text uint64) {
	m.Traps = list[Trap](d.count(5, "number of traps"))
	last := uint32(0)
	for i := range m.Traps {
		t := &m.Traps[i]
		t.Offset = d.offset(last, i == 0, text)
		t.Code, t.Fault, t.Memory = abi.TrapCode(d.byte("trap code")), abi.FaultKind(d.byte("kind of fault")), d.byte("memory")
		t.Src = d.num32("source")
		switch {
		case d.err != nil:
			return
		case uint64(t.Offset) >= text:
			d.fail("trap outside of the text")
		case t.Code == abi.TrapNone || t.Code >= abi.NumTrapCodes || t.Fault > abi.FaultDivide:
			d.fail("trap code or kind of fault")
		case t.Fault == abi.FaultMemory && int(t.Memory) >= len(m.Memories):
			d.fail("memory %d of a trap", t.Memory)
		}
		last = t.Offset
	}
}

func (d *decoder) stackMaps(m *Module, text uint64) {
	m.StackMaps = list[StackMap](d.count(2, "number of stack maps"))
	last := uint32(0)
	for i := range m.StackMaps {
		x := &m.StackMaps[i]
		x.Offset = d.offset(last, i == 0, text)
		last = x.Offset
		n := d.count(1, "number of slots")
		if d.err != nil {
			return
		}
		x.Slots = list[int32](n)
		for j := range x.Slots {
			v, n := binary.Varint(d.b[d.at:])
			if n <= 0 || v != int64(int32(v)) || v%8 != 0 {
				d.fail("slot of a stack map")
				return
			}
			d.at += n
			x.Slots[j] = int32(v)
		}
	}
}

func (d *decoder) calls(m *Module, text uint64) {
	m.Calls = list[Call](d.count(2, "number of calls"))
	last := uint32(0)
	for i := range m.Calls {
		m.Calls[i] = Call{Offset: d.offset(last, i == 0, text), Src: d.num32("source")}
		last = m.Calls[i].Offset
	}
}
