package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Running is a module to run: it does what the original one does, and can be looked into. It exports, under names of its own, its memories, tables, mutable globals and imported
// functions, and a global for each passive segment that says whether it has been dropped.
type Running struct {
	Wasm []byte
	// Original is the module that Running is made from, Module what is to run.
	Original, Module *wasmfront.Module
	Marker           bool // the module imports the marker
	sites            []site
	inserted         []insertion
	prefix           string // of the names of what is exported in addition
}

// Place is a call in a function: the number of calls in front of it. Neither Instrument nor Spill adds calls.
type Place struct {
	Func uint32
	Call int
}

// insertion is code that a body has behind a place of the original module.
type insertion struct{ at, bytes int }

// site is a call that writes down what its function has.
type site struct {
	Place
	locals, operands []wasmfront.ValType
}

// Kinds of what is exported in addition, in names.
const (
	ofMemory  = "memory"
	ofTable   = "table"
	ofGlobal  = "global"
	ofFunc    = "function"
	ofData    = "dropped data"
	ofElem    = "dropped elements"
	ofRecords = "records" // the memory
	ofEnd     = "end"     // the global that has the end of the records
)

// name returns the name of what is exported in addition.
func (r *Running) name(kind string, i int) string { return fmt.Sprintf("%s%s %d", r.prefix, kind, i) }

// MemoryName and its like return the names by which what has these indices is exported.
func (r *Running) MemoryName(i int) string      { return r.name(ofMemory, i) }
func (r *Running) TableName(i int) string       { return r.name(ofTable, i) }
func (r *Running) GlobalName(i int) string      { return r.name(ofGlobal, i) }
func (r *Running) FuncName(i int) string        { return r.name(ofFunc, i) }
func (r *Running) DroppedDataName(i int) string { return r.name(ofData, i) }
func (r *Running) DroppedElemName(i int) string { return r.name(ofElem, i) }

// RecordsName and EndName are the names of the memory and the global of Spill.
func (r *Running) RecordsName() string { return r.name(ofRecords, 0) }
func (r *Running) EndName() string     { return r.name(ofEnd, 0) }

// Instrument returns the module to run for the initialisation of wasm. The errors are those of validation, and an *Error.
func Instrument(wasm []byte, features wasmfront.Features) (*Running, error) {
	m, err := validate.All(wasm, validate.Config{Features: features})
	if err != nil {
		return nil, err
	}
	if err := checkOwn(m); err != nil {
		return nil, err
	}
	marker, err := markerOf(m)
	if err != nil {
		return nil, err
	}
	r := &Running{Original: m, Marker: marker != none, prefix: "waot.snapshot "}
	for slices.ContainsFunc(m.Exports, func(e wasmfront.Export) bool { return strings.HasPrefix(e.Name, r.prefix) }) {
		r.prefix += "'"
	}
	return r, r.build()
}

// Spill returns a module whose calls at these places write down what their functions have, for ReadFrames.
func (r *Running) Spill(places []Place) (*Running, error) {
	s := &Running{Original: r.Original, Marker: r.Marker, prefix: r.prefix}
	for _, p := range places {
		if !slices.ContainsFunc(s.sites, func(x site) bool { return x.Place == p }) {
			s.sites = append(s.sites, site{Place: p})
		}
	}
	if len(r.Original.Memories) == wasmfront.MaxMemories {
		return nil, Errorf("the module has %d memories; there must be room for one more while it runs", wasmfront.MaxMemories)
	}
	return s, s.build()
}

// instrumenter makes the module of a Running.
type instrumenter struct {
	*Running
	m *wasmfront.Module
	s *sections
	// Globals, their exports and all other exports, in addition.
	globals, exports       []byte
	numGlobals, numExports int
	data, elems            []uint32 // the globals that say whether segments are dropped; 0 for segments that are not passive
	end                    uint32   // the global that has the end of the records
	err                    error
}

func (r *Running) build() (err error) {
	m := r.Original
	z := &instrumenter{Running: r, m: m, s: sectionsOf(m)}
	for i := range m.Memories {
		z.export(r.MemoryName(i), abi.ExternMemory, i)
	}
	for i := range m.Tables {
		z.export(r.TableName(i), abi.ExternTable, i)
	}
	for i := range m.Globals {
		if m.Globals[i].Mutable {
			z.export(r.GlobalName(i), abi.ExternGlobal, i)
		}
	}
	for i := range m.NumImportedFuncs {
		z.export(r.FuncName(int(i)), abi.ExternFunc, int(i))
	}
	z.data, z.elems = make([]uint32, len(m.Data)), make([]uint32, len(m.Elems))
	for i := range m.Data {
		if m.Data[i].Mode == wasmfront.SegmentPassive {
			z.data[i] = z.global(r.DroppedDataName(i))
		}
	}
	for i := range m.Elems {
		if m.Elems[i].Mode == wasmfront.SegmentPassive {
			z.elems[i] = z.global(r.DroppedElemName(i))
		}
	}
	if len(r.sites) > 0 {
		z.end = z.global(r.EndName())
		z.export(r.RecordsName(), abi.ExternMemory, len(m.Memories))
		z.s.add(sectionMemory, 1, encode.Limits(nil, wasmfront.Limits{Min: 1}))
	}
	z.code()
	z.s.add(sectionGlobal, z.numGlobals, z.globals)
	z.s.add(sectionExport, z.numExports, z.exports)
	if z.err != nil {
		return z.err
	}
	r.Wasm = z.s.module()
	r.Module, err = wasmfront.Decode(r.Wasm, m.Features|wasmfront.FeatureMultiMemory)
	return err
}

func (z *instrumenter) export(name string, kind abi.ExternKind, i int) {
	z.exports = encode.Index(append(encode.Sized(z.exports, name), byte(kind)), uint32(i))
	z.numExports++
}

// global adds an i32 that is 0 at first, and exports it.
func (z *instrumenter) global(name string) uint32 {
	z.globals = append(encode.GlobalType(z.globals, wasmfront.GlobalType{Type: wasmfront.I32, Mutable: true}), byte(wasmfront.OpI32Const), 0, byte(wasmfront.OpEnd))
	i := len(z.m.Globals) + z.numGlobals
	z.numGlobals++
	z.export(name, abi.ExternGlobal, i)
	return uint32(i)
}

// code changes the bodies that drop segments or have sites.
func (z *instrumenter) code() {
	passive := slices.ContainsFunc(z.data, isThere) || slices.ContainsFunc(z.elems, isThere)
	if !passive && len(z.sites) == 0 {
		return
	}
	var code []byte
	for i := range z.m.Code {
		f := z.m.NumImportedFuncs + uint32(i)
		body := z.m.Code[i].Bytes
		if passive || slices.ContainsFunc(z.sites, func(s site) bool { return s.Func == f }) {
			body = z.body(f)
		}
		code = encode.Sized(code, body)
	}
	z.s.set(sectionCode, len(z.m.Code), code)
}

func isThere(global uint32) bool { return global != 0 }

// body returns the body of a function, changed.
func (z *instrumenter) body(f uint32) []byte {
	e := editOf(z.m, f)
	v := new(validate.Func)
	v.Begin(z.m, f)
	locals := slices.Clone(v.Locals())
	first := v.Pos
	var op wasmfront.Operator
	calls := 0
	for v.Next(&op) {
		switch op.Op {
		case wasmfront.OpDataDrop:
			z.insert(e, v.Pos, z.note(z.data[op.Index]))
		case wasmfront.OpElemDrop:
			z.insert(e, v.Pos, z.note(z.elems[op.Index]))
		case wasmfront.OpCall, wasmfront.OpCallIndirect:
			n := slices.IndexFunc(z.sites, func(s site) bool { return s.Func == f && s.Call == calls })
			calls++
			if n < 0 {
				continue
			}
			var code []byte
			code, locals = z.spill(n, v, &op, locals)
			e.replace(op.Offset, v.Pos, code)
		}
	}
	z.err = errors.Join(z.err, v.Err())
	if have := len(v.Locals()); len(locals) > have {
		return append(appendLocals(nil, locals[v.NumParams():]), e.bytes()[first-e.body.Offset:]...)
	}
	return e.bytes()
}

// insert puts code into a body.
func (z *instrumenter) insert(e *edit, at int, code []byte) {
	e.replace(at, at, code)
	z.inserted = append(z.inserted, insertion{at, len(code)})
}

// note returns code that makes a global 1; none if there is no such global.
func (z *instrumenter) note(global uint32) []byte {
	if global == 0 {
		return nil
	}
	return index(i32(nil, 1), wasmfront.OpGlobalSet, global)
}

// Records lie one behind the other, in units of 16 bytes: the number of the site, the locals, and the operands below the arguments of the call. Each record is there as long as its call.
const recordUnit = 16

// spill returns a call with its record, and the locals with those that it takes in addition.
func (z *instrumenter) spill(n int, v *validate.Func, op *wasmfront.Operator, locals []wasmfront.ValType) ([]byte, []wasmfront.ValType) {
	s := &z.sites[n]
	s.locals = slices.Clone(v.Locals())
	for i := range v.NumOperands() - len(op.Results) {
		s.operands = append(s.operands, v.OperandType(i))
	}
	stack := slices.Concat(s.operands, op.Params)
	if op.Op == wasmfront.OpCallIndirect {
		stack = append(stack, wasmfront.I32)
	}
	free := uint32(len(locals))
	locals = append(locals, stack...)
	var code []byte
	for i := len(stack) - 1; i >= 0; i-- {
		code = index(code, wasmfront.OpLocalSet, free+uint32(i))
	}
	size := uint32(recordUnit * (1 + len(s.locals) + len(s.operands)))
	code = z.reserve(code, size)
	memory := uint32(len(z.m.Memories))
	for i, t := range slices.Concat(s.locals, s.operands) {
		at := uint32(i)
		if i >= len(s.locals) {
			at = free + uint32(i-len(s.locals))
		}
		code = index(index(code, wasmfront.OpGlobalGet, z.end), wasmfront.OpLocalGet, at)
		store := storeOf[t.Class()]
		if t.IsRef() {
			code = plain(plain(code, wasmfront.OpRefIsNull), wasmfront.OpI32Eqz)
			store = wasmfront.OpI32Store
		}
		code = storeTo(code, store, memory, uint32(recordUnit*(1+i)))
	}
	code = storeTo(i32(index(code, wasmfront.OpGlobalGet, z.end), uint32(n)), wasmfront.OpI32Store, memory, 0)
	code = z.move(code, wasmfront.OpI32Add, size)
	for i := range stack {
		code = index(code, wasmfront.OpLocalGet, free+uint32(i))
	}
	code = append(code, z.m.Bytes[op.Offset:v.Pos]...)
	return z.move(code, wasmfront.OpI32Sub, size), locals
}

// storeOf has the operators that store values of the types, by class.
var storeOf = [wasmfront.NumValTypes]wasmfront.Opcode{wasmfront.I32: wasmfront.OpI32Store, wasmfront.I64: wasmfront.OpI64Store, wasmfront.F32: wasmfront.OpF32Store,
	wasmfront.F64: wasmfront.OpF64Store, wasmfront.V128: wasmfront.OpV128Store}

func storeTo(b []byte, op wasmfront.Opcode, memory, offset uint32) []byte {
	return encode.Index(encode.Index(append(encode.Opcode(b, op), wasmfront.WithMemory), memory), offset)
}

// move appends code that moves the end of the records.
func (z *instrumenter) move(b []byte, op wasmfront.Opcode, size uint32) []byte {
	b = i32(index(b, wasmfront.OpGlobalGet, z.end), size)
	return index(plain(b, op), wasmfront.OpGlobalSet, z.end)
}

// reserve appends code that grows the memory of the records if a record of that size does not fit. If it cannot, the stores trap.
func (z *instrumenter) reserve(b []byte, size uint32) []byte {
	const pages = 1 + recordUnit*(wasmfront.MaxLocals+wasmfront.MaxOperands)/abi.PageSize // more than any record
	memory := uint32(len(z.m.Memories))
	b = plain(i32(index(b, wasmfront.OpGlobalGet, z.end), size), wasmfront.OpI32Add)
	b = plain(i32(index(b, wasmfront.OpMemorySize, memory), 16), wasmfront.OpI32Shl, wasmfront.OpI32GtU)
	const noType = 0x40
	b = append(plain(b, wasmfront.OpIf), noType)
	b = index(i32(b, pages), wasmfront.OpMemoryGrow, memory)
	return plain(b, wasmfront.OpDrop, wasmfront.OpEnd)
}

// ReadFrames returns the calls that are under way, the outermost first, from the records.
func (r *Running) ReadFrames(records []byte) ([]Frame, error) {
	var frames []Frame
	for len(records) > 0 {
		s := &r.sites[binary.LittleEndian.Uint32(records)]
		f := Frame{Func: s.Func, Call: s.Call}
		records = records[recordUnit:]
		for i, t := range slices.Concat(s.locals, s.operands) {
			v := Value{binary.LittleEndian.Uint64(records), binary.LittleEndian.Uint64(records[8:]), Null}
			records = records[recordUnit:]
			if t.Bits() < 128 {
				v.High = 0
			}
			if t.Bits() < 64 || t.IsRef() {
				v.Bits = uint64(uint32(v.Bits))
			}
			if t.IsRef() && v.Bits != 0 {
				return nil, Errorf("function %d has a reference in a local or an operand; a snapshot of a running program may have none there", s.Func)
			}
			if i < len(s.locals) {
				f.Locals = append(f.Locals, v)
			} else {
				f.Operands = append(f.Operands, v)
			}
		}
		frames = append(frames, f)
	}
	return frames, nil
}

// PlaceOf returns the place of the call at an offset of Module.
func (r *Running) PlaceOf(f uint32, offset int) (Place, error) {
	p := Place{Func: f}
	if f < r.Module.NumImportedFuncs || int64(f) >= int64(len(r.Module.Funcs)) {
		return p, Errorf("function %d is not of the module", f)
	}
	v := new(validate.Func)
	v.Begin(r.Module, f)
	var op wasmfront.Operator
	for v.Next(&op) {
		if op.Op != wasmfront.OpCall && op.Op != wasmfront.OpCallIndirect {
			continue
		}
		if op.Offset == offset {
			return p, nil
		}
		p.Call++
	}
	return p, Errorf("function %d has no call at byte %d", f, offset)
}

// OriginalOffset returns where in the original module a place in function f of Module is. It does not know what Spill has changed.
func (r *Running) OriginalOffset(f uint32, offset int) int {
	if f < r.Module.NumImportedFuncs || int64(f) >= int64(len(r.Module.Funcs)) || offset == 0 {
		return 0
	}
	body := r.Original.Body(f)
	at := offset - r.Module.Body(f).Offset + body.Offset
	for _, x := range r.inserted {
		if x.at >= body.Offset && x.at <= body.Offset+len(body.Bytes) && at > x.at {
			at -= x.bytes
		}
	}
	return at
}
