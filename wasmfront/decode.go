package wasmfront

import (
	"sync"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// decoder is the state of Decode.
type decoder struct {
	Reader
	m       *Module
	stop    *stop.Flag
	accept  Features
	price   *Price
	scratch []ConstOp // the expression being decoded
	pool    []ConstOp // where finished expressions are stored
	values  []ValType // of parameters and results of all types
}

// sectionKind is what is known of a section id. The rank orders the sections,
// for the ids are not in the order required.
type sectionKind struct {
	name   string
	rank   uint8
	decode func(*decoder)
}

var sectionKinds = [...]sectionKind{
	0:  {"custom", 0, (*decoder).customSection},
	1:  {"type", 1, (*decoder).typeSection},
	2:  {"import", 2, (*decoder).importSection},
	3:  {"function", 3, (*decoder).functionSection},
	4:  {"table", 4, (*decoder).tableSection},
	5:  {"memory", 5, (*decoder).memorySection},
	6:  {"global", 7, (*decoder).globalSection},
	7:  {"export", 8, (*decoder).exportSection},
	8:  {"start", 9, (*decoder).startSection},
	9:  {"element", 10, (*decoder).elementSection},
	10: {"code", 12, (*decoder).codeSection},
	11: {"data", 13, (*decoder).dataSection},
	12: {"data count", 11, (*decoder).dataCountSection},
	13: {"tag", 6, (*decoder).tagSection},
}

const headerSize = 8

// Decode decodes the module in b, accepting the given features as far as they
// are decodable. It returns what it decoded, never nil, also together with an
// error, which is an *Error: then everything before the error's offset is
// there. Memory used is proportional to len(b), whatever counts b declares.
func Decode(b []byte, accept Features) (*Module, error) { return DecodeWithin(b, accept, nil, nil) }

// DecodeWithin is Decode that charges a price, and polls a flag. Both may be nil.
func DecodeWithin(b []byte, accept Features, price *Price, end *stop.Flag) (*Module, error) {
	accept &= DecodableFeatures
	m := &Module{Bytes: b, Features: accept}
	m.sameAs = sync.OnceValue(func() []uint32 { return firstEqual(m.Types, end) })
	d := &decoder{Reader: Reader{Buf: b, End: len(b), Func: -1}, m: m, stop: end, accept: accept, price: price}
	d.header()
	rank := uint8(0)
	for d.More() {
		d.section(&rank)
	}
	d.finish()
	if d.Err != nil {
		return m, d.Err
	}
	return m, nil
}

func (d *decoder) header() {
	switch {
	case len(d.Buf) < 4:
		d.Fail(len(d.Buf), "unexpected end")
	case string(d.Buf[:4]) != "\x00asm":
		d.Fail(0, "magic header not detected")
	case len(d.Buf) < headerSize:
		d.Fail(len(d.Buf), "unexpected end")
	case string(d.Buf[4:headerSize]) == "\x0d\x00\x01\x00":
		d.Fail(4, "unknown binary version: this is a component, not a module")
	case string(d.Buf[4:headerSize]) != "\x01\x00\x00\x00":
		d.Fail(4, "unknown binary version")
	default:
		d.Pos = headerSize
	}
}

// section decodes a section. It must be of a higher rank than those before,
// unless it is a custom section.
func (d *decoder) section(rank *uint8) {
	d.stop.Poll()
	at := d.Pos
	id := d.Byte()
	if int(id) >= len(sectionKinds) {
		d.Fail(at, "malformed section id %d", id)
		return
	}
	kind := &sectionKinds[id]
	if id != 0 {
		if kind.rank <= *rank {
			d.Fail(at, "unexpected content after last section: %s section out of order or repeated", kind.name)
			return
		}
		*rank = kind.rank
	}
	sizeAt := d.Pos
	size := d.U32()
	if d.Err != nil {
		return
	}
	if int64(size) > int64(len(d.Buf)-d.Pos) {
		d.Fail(sizeAt, "length out of bounds: unexpected end in the %s section", kind.name)
		return
	}
	end := d.Pos + int(size)
	if d.charge(at, ItemSection, 1); d.Err != nil {
		return
	}
	d.m.Sections = append(d.m.Sections, Section{ID: id, Offset: d.Pos, Size: int(size)})
	d.End = end
	kind.decode(d)
	if d.Err == nil && d.Pos != end {
		d.Fail(d.Pos, "section size mismatch: contents left over in the %s section", kind.name)
	}
	d.End = len(d.Buf)
}

// finish checks what only the end of the module shows.
func (d *decoder) finish() {
	m := d.m
	if d.Err != nil {
		return
	}
	if n := len(m.Funcs) - int(m.NumImportedFuncs); n != len(m.Code) {
		d.Fail(len(d.Buf), "function and code section have inconsistent lengths: %d functions, %d bodies", n, len(m.Code))
	}
	if m.HasDataCount && int64(m.DataCount) != int64(len(m.Data)) {
		d.Fail(len(d.Buf), "data count and data section have inconsistent lengths: %d declared, %d segments", m.DataCount, len(m.Data))
	}
}

// makeVec returns s with room for n more items, which were declared and take
// size bytes each at least: not for more of them than the input can have, nor
// for very many, since an item takes more memory than it takes bytes.
func makeVec[T any](d *decoder, s []T, n uint32, size int) []T {
	const many = 1 << 14
	room := min(int64(n), int64(d.End-d.Pos)/int64(size), many)
	if int64(cap(s)-len(s)) >= room {
		return s
	}
	return append(make([]T, 0, int64(len(s))+room), s...)
}

func (d *decoder) customSection() {
	name := d.Name()
	if name == "name" {
		d.charge(d.Pos, ItemDebugByte, d.End-d.Pos)
	}
	if d.Err == nil {
		d.m.Customs = append(d.m.Customs, CustomSection{Name: name, Offset: d.Pos, Bytes: d.Bytes(d.End - d.Pos)})
	}
}

func (d *decoder) importSection() {
	n := d.U32()
	d.m.Imports = makeVec(d, d.m.Imports, n, 4)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		imp := Import{Offset: d.Pos, Module: d.Name(), Name: d.Name()}
		at := d.Pos
		d.charge(imp.Offset, ItemImport, 1)
		d.charge(imp.Offset, ItemNameByte, len(imp.Module)+len(imp.Name))
		imp.Kind = abi.ExternKind(d.Byte())
		m := d.m
		switch imp.Kind {
		case abi.ExternFunc:
			imp.Index = uint32(len(m.Funcs))
			d.addFunc()
			m.NumImportedFuncs++
		case abi.ExternTable:
			imp.Index = uint32(len(m.Tables))
			d.addTable()
			m.NumImportedTables++
		case abi.ExternMemory:
			imp.Index = uint32(len(m.Memories))
			d.addMemory()
			m.NumImportedMemories++
		case abi.ExternTag:
			d.needTags(at, "import of a tag")
			imp.Index = uint32(len(m.Tags))
			d.addTag()
			m.NumImportedTags++
		case abi.ExternGlobal:
			imp.Index = uint32(len(m.Globals))
			m.Globals = append(m.Globals, Global{Offset: d.Pos, GlobalType: d.globalType()})
			m.NumImportedGlobals++
		default:
			if f := importKinds[imp.Kind]; f != 0 && (f != FeatureCompactImports || imp.Name == "") {
				d.FailFeature(at, f, "unsupported kind of import 0x%02x", uint8(imp.Kind))
			}
			d.Fail(at, "malformed import kind 0x%02x", uint8(imp.Kind))
		}
		if d.Err == nil {
			m.Imports = append(m.Imports, imp)
		}
	}
}

func (d *decoder) addFunc() {
	if len(d.m.Funcs) >= MaxFuncs {
		d.FailLimit(d.Pos, LimitError{"functions", uint64(len(d.m.Funcs)) + 1, MaxFuncs}, "too many functions")
	}
	d.m.Funcs = append(d.m.Funcs, Func{Offset: d.Pos, Type: d.U32()})
}

func (d *decoder) functionSection() {
	at := d.Pos
	n := d.U32()
	if n > MaxFuncs {
		d.FailLimit(at, LimitError{"functions", uint64(n), MaxFuncs}, "too many functions: %d", n)
	}
	d.charge(at, ItemFunc, min(int(n), d.End-d.Pos))
	d.m.Funcs = makeVec(d, d.m.Funcs, n, 1)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		d.addFunc()
	}
}

func (d *decoder) tableSection() {
	for n := d.U32(); n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		if !d.More() || d.Buf[d.Pos] != withInit {
			d.addTable()
			continue
		}
		at := d.Pos
		if !d.accept.Has(FeatureFunctionReferences) {
			d.FailFeature(at, FeatureFunctionReferences, "unsupported table with an initial value")
		}
		d.Pos++
		if zero := d.Byte(); d.Err == nil && zero != 0 {
			d.Fail(at, "malformed table")
		}
		if d.addTable(); d.Err == nil {
			t := &d.m.Tables[len(d.m.Tables)-1]
			t.Init, t.HasInit = d.constExpr(), true
		}
	}
}

// withInit begins a table that has an initial value behind its type.
const withInit = 0x40

func (d *decoder) addTable() {
	t := Table{Offset: d.Pos}
	d.charge(d.Pos, ItemTable, 1)
	if len(d.m.Tables) > 0 && !d.accept.Has(FeatureReferenceTypes) {
		d.FailFeature(d.Pos, FeatureReferenceTypes, "multiple tables")
	}
	t.Elem = d.RefType(d.accept)
	t.Limits = d.limits(&tableFlags)
	if d.Err == nil {
		d.m.Tables = append(d.m.Tables, t)
	}
}

func (d *decoder) memorySection() {
	for n := d.U32(); n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		d.addMemory()
	}
}

func (d *decoder) addMemory() {
	mem := Memory{Offset: d.Pos}
	d.charge(d.Pos, ItemMemory, 1)
	if len(d.m.Memories) > 0 && !d.accept.Has(FeatureMultiMemory) {
		d.FailFeature(d.Pos, FeatureMultiMemory, "multiple memories")
	}
	if n := len(d.m.Memories) + 1; n > MaxMemories {
		d.FailLimit(d.Pos, LimitError{"memories", uint64(n), MaxMemories}, "too many memories")
	}
	mem.Limits = d.limits(&memoryFlags)
	if d.Err == nil {
		d.m.Memories = append(d.m.Memories, mem)
	}
}

// limitFlags are the features for each of the flags that limits can have
// besides the first, which says that there is a maximum; 0 if it is malformed.
type limitFlags [8]Features

var (
	tableFlags  = limitFlags{1: FeatureSharedEverything, 2: FeatureMemory64}
	memoryFlags = limitFlags{1: FeatureThreads, 2: FeatureMemory64, 3: FeatureCustomPageSizes}
)

func (d *decoder) limits(known *limitFlags) Limits {
	at := d.Pos
	flags := d.Byte()
	for i := 1; i < len(known); i++ {
		if flags>>i&1 == 0 {
			continue
		}
		if f := known[i]; f == 0 {
			d.Fail(at, "malformed limits flags 0x%02x", flags)
		} else if !d.accept.Has(f) {
			d.FailFeature(at, f, "malformed limits flags 0x%02x", flags)
		}
	}
	l := Limits{Min: d.U64(), HasMax: flags&1 != 0}
	if l.HasMax {
		l.Max = d.U64()
	}
	return l
}

func (d *decoder) globalType() GlobalType {
	t := GlobalType{Type: d.ValType(d.accept)}
	at := d.Pos
	mut := d.Byte()
	switch {
	case mut >= 2*sharedGlobal:
		d.Fail(at, "malformed mutability 0x%02x", mut)
	case mut >= sharedGlobal:
		d.FailFeature(at, FeatureSharedEverything, "unsupported mutability 0x%02x", mut)
	}
	t.Mutable = mut == 1
	return t
}

func (d *decoder) globalSection() {
	n := d.U32()
	d.m.Globals = makeVec(d, d.m.Globals, n, 4)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		g := Global{Offset: d.Pos, GlobalType: d.globalType()}
		if d.charge(g.Offset, ItemGlobal, 1); d.Err != nil {
			return
		}
		g.Init = d.constExpr()
		// A global whose expression is refused is there for the validator,
		// which may find an earlier error in the expression.
		d.m.Globals = append(d.m.Globals, g)
	}
}

func (d *decoder) exportSection() {
	n := d.U32()
	d.m.Exports = makeVec(d, d.m.Exports, n, 3)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		e := Export{Offset: d.Pos, Name: d.Name()}
		d.charge(e.Offset, ItemExport, 1)
		d.charge(e.Offset, ItemNameByte, len(e.Name))
		at := d.Pos
		e.Kind = abi.ExternKind(d.Byte())
		switch {
		case e.Kind == abi.ExternTag:
			d.needTags(at, "export of a tag")
		case e.Kind > abi.ExternTag:
			d.Fail(at, "malformed export kind 0x%02x", uint8(e.Kind))
		}
		e.Index = d.U32()
		if d.Err != nil {
			return
		}
		if e.Kind == abi.ExternFunc {
			d.m.declare(e.Index)
		}
		d.m.Exports = append(d.m.Exports, e)
	}
}

func (d *decoder) startSection() {
	d.m.StartOffset = d.Pos
	d.m.Start = d.U32()
	d.m.HasStart = d.Err == nil
}

func (d *decoder) dataCountSection() {
	if !d.accept.Has(FeatureBulkMemory) {
		d.FailFeature(d.Pos, FeatureBulkMemory, "unsupported data count section")
	}
	d.m.DataCount = d.U32()
	d.m.HasDataCount = d.Err == nil
}

// needTags fails for what, at an offset, which only modules with exceptions have.
func (d *decoder) needTags(at int, what string) {
	if !d.accept.Has(FeatureExceptions) {
		d.FailFeature(at, FeatureExceptions, "unsupported %s", what)
	}
}

func (d *decoder) tagSection() {
	at := d.Pos
	d.needTags(at, "tag section")
	n := d.U32()
	if n > MaxTags {
		d.FailLimit(at, LimitError{"tags", uint64(n), MaxTags}, "too many tags: %d", n)
	}
	d.m.Tags = makeVec(d, d.m.Tags, n, 2)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		d.addTag()
	}
}

func (d *decoder) addTag() {
	at := d.Pos
	d.charge(at, ItemTag, 1)
	if n := len(d.m.Tags) + 1; n > MaxTags {
		d.FailLimit(at, LimitError{"tags", uint64(n), MaxTags}, "too many tags")
	}
	const exception = 0 // the only attribute that there is
	if attribute := d.Byte(); attribute != exception {
		d.Fail(at, "malformed tag attribute 0x%02x", attribute)
	}
	t := Tag{Offset: d.Pos, Type: d.U32()}
	if d.Err == nil {
		d.m.Tags = append(d.m.Tags, t)
	}
}

func (d *decoder) codeSection() {
	at := d.Pos
	n := d.U32()
	if have := len(d.m.Funcs) - int(d.m.NumImportedFuncs); d.Err == nil && int64(n) != int64(have) {
		d.Fail(at, "function and code section have inconsistent lengths: %d functions, %d bodies", have, n)
	}
	d.m.Code = makeVec(d, d.m.Code, n, 3)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		at := d.Pos
		size := d.U32()
		switch {
		case d.Err != nil:
			return
		case size > MaxBodySize:
			d.FailLimit(at, LimitError{"function body size", uint64(size), MaxBodySize}, "function body of %d bytes", size)
		default:
			offset := d.Pos
			if int64(size) > int64(d.End-d.Pos) {
				// The body may have errors before its missing end.
				size = uint32(d.End - d.Pos)
				d.failEndAfter()
			}
			d.m.Code = append(d.m.Code, FuncBody{Offset: offset, Bytes: d.Buf[offset : offset+int(size) : offset+int(size)]})
			d.Pos = offset + int(size)
		}
	}
}

// failEndAfter records that the section ends too early, at its end.
func (d *decoder) failEndAfter() {
	d.Pos = d.End
	d.failEnd()
}

func (d *decoder) dataSection() {
	at := d.Pos
	n := d.U32()
	if d.Err == nil && d.m.HasDataCount && n != d.m.DataCount {
		d.Fail(at, "data count and data section have inconsistent lengths: %d declared, %d segments", d.m.DataCount, n)
	}
	d.m.Data = makeVec(d, d.m.Data, n, 2)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		s := DataSegment{Offset: d.Pos}
		d.charge(d.Pos, ItemDataSegment, 1)
		flags := d.U32()
		switch {
		case flags&^sharedSegment > 2:
			d.Fail(s.Offset, "malformed data segment kind %d", flags)
		case flags&sharedSegment != 0:
			d.FailFeature(s.Offset, FeatureSharedEverything, "unsupported data segment kind %d", flags)
		}
		if flags == 1 {
			s.Mode = SegmentPassive
		} else {
			if flags == 2 {
				s.Memory = d.U32()
			}
			if d.Err != nil {
				return
			}
			s.OffExpr = d.constExpr()
		}
		if d.Err == nil {
			s.Bytes = d.sized()
			d.charge(s.Offset, ItemDataByte, len(s.Bytes))
		}
		// As with globals, an incomplete segment is left to the validator.
		if len(d.m.Data) == cap(d.m.Data) { // many are there already, so more can be believed
			d.m.Data = stop.Grow(d.stop, d.m.Data, int(min(n, 3*uint32(len(d.m.Data))+1)))
		}
		d.m.Data = append(d.m.Data, s)
	}
}
