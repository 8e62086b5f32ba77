package snapshot

import (
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
	siteAt           map[Place]int      // by place
	calls            map[uint32]callsIn // of functions of Module that have been asked for: where their calls are
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
	ofRecords = "records"    // the memory
	ofRefs    = "references" // the table of the records
	ofEnd     = "end"        // the global that has the end of the records
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

// RecordsName, RefsName and EndName are the names of the memory, the table and the global of Spill.
func (r *Running) RecordsName() string { return r.name(ofRecords, 0) }
func (r *Running) RefsName() string    { return r.name(ofRefs, 0) }
func (r *Running) EndName() string     { return r.name(ofEnd, 0) }

// unfrozen are the features of what has no snapshot, the first of those that a module has being what it is told for: exceptions with their tags, try blocks and references; objects and references to them; and typed
// references to functions, as what is added refers to functions by funcref.
var unfrozen = [...]struct {
	features wasmfront.Features
	has      string
}{
	{wasmfront.FeatureExceptions | wasmfront.FeatureLegacyExceptions, "exceptions"},
	{wasmfront.FeatureGC, "garbage collection"},
	{wasmfront.FeatureFunctionReferences, "typed function references"},
}

// validated returns the module, if it has nothing of what has no snapshot.
func validated(wasm []byte, features wasmfront.Features) (*wasmfront.Module, error) {
	frozen := features
	for _, u := range unfrozen {
		frozen &^= u.features
	}
	m, err := validate.All(wasm, validate.Config{Features: frozen})
	if err == nil {
		return m, nil
	}
	for _, u := range unfrozen {
		var invalid *wasmfront.Error
		if _, err := validate.All(wasm, validate.Config{Features: features &^ u.features}); errors.As(err, &invalid) && invalid.Feature != "" && u.features.Has(wasmfront.FeatureByName(invalid.Feature)) {
			return nil, Errorf("the module has %s (offset 0x%x)", u.has, invalid.Offset)
		}
	}
	return nil, err
}

// Instrument returns the module to run for the initialisation of wasm. The errors are those of validation, and an *Error.
func Instrument(wasm []byte, features wasmfront.Features) (*Running, error) {
	m, err := validated(wasm, features)
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
	s := &Running{Original: r.Original, Marker: r.Marker, prefix: r.prefix, siteAt: map[Place]int{}}
	for _, p := range places {
		if _, ok := s.siteAt[p]; !ok {
			s.siteAt[p] = len(s.sites)
			s.sites = append(s.sites, site{Place: p})
		}
	}
	if len(r.Original.Memories) == wasmfront.MaxMemories {
		return nil, Errorf("the module has %d memories; there must be room for one more while it runs", wasmfront.MaxMemories)
	}
	return s, s.build()
}

// Spills reports whether it is a module of Spill.
func (r *Running) Spills() bool { return r.siteAt != nil }

// instrumenter makes the module of a Running.
type instrumenter struct {
	*Running
	m *wasmfront.Module
	s *sections
	// Globals, their exports and all other exports, in addition.
	globals, exports       []byte
	numGlobals, numExports int
	data, elems            []uint32        // the globals that say whether segments are dropped; none for segments that are not passive
	end                    uint32          // the global that has the end of the records
	hasSites               map[uint32]bool // functions
	err                    error
}

func (r *Running) build() (err error) {
	m := r.Original
	z := &instrumenter{Running: r, m: m, s: sectionsOf(m), hasSites: map[uint32]bool{}}
	for i := range r.sites {
		z.hasSites[r.sites[i].Func] = true
	}
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
		z.data[i] = none
		if m.Data[i].Mode == wasmfront.SegmentPassive {
			z.data[i] = z.global(r.DroppedDataName(i))
		}
	}
	for i := range m.Elems {
		z.elems[i] = none
		if m.Elems[i].Mode == wasmfront.SegmentPassive {
			z.elems[i] = z.global(r.DroppedElemName(i))
		}
	}
	if len(r.sites) > 0 {
		z.end = z.global(r.EndName())
		z.export(r.RecordsName(), abi.ExternMemory, len(m.Memories))
		z.export(r.RefsName(), abi.ExternTable, len(m.Tables))
		z.s.add(sectionMemory, 1, encode.Limits(nil, wasmfront.Limits{Min: 1}))
		z.s.add(sectionTable, 1, encode.Limits([]byte{wasmfront.FuncRef.Code()}, wasmfront.Limits{}))
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
		if passive || z.hasSites[f] {
			body = z.body(f)
		}
		code = encode.Sized(code, body)
	}
	z.s.set(sectionCode, len(z.m.Code), code)
}

func isThere(global uint32) bool { return global != none }

// body returns the body of a function, changed.
func (z *instrumenter) body(f uint32) []byte {
	e := editOf(z.m, f)
	v := new(validate.Func)
	v.Begin(z.m, f)
	first := v.Pos
	p := z.spillerOf(f, v.Locals())
	var op wasmfront.Operator
	for v.Next(&op) {
		switch op.Op {
		case wasmfront.OpDataDrop:
			z.insert(e, v.Pos, z.note(z.data[op.Index]))
		case wasmfront.OpElemDrop:
			z.insert(e, v.Pos, z.note(z.elems[op.Index]))
		}
		if p != nil {
			p.operator(e, v, &op)
		}
	}
	z.err = errors.Join(z.err, v.Err())
	if p != nil {
		if n := len(p.locals); n > wasmfront.MaxLocals {
			z.err = errors.Join(z.err, Errorf("function %d has so many locals and operands where a call is under way that they cannot be written down: %d, at most %d", f, n, wasmfront.MaxLocals))
		}
		return append(appendLocals(nil, p.locals[v.NumParams():]), e.bytes()[first-e.body.Offset:]...)
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
	if global == none {
		return nil
	}
	return index(i32(nil, 1), wasmfront.OpGlobalSet, global)
}

// callsIn are the offsets of the calls of a function, and of its tail calls, which are no places to go on from.
type callsIn struct{ calls, tails []int }

// PlaceOf returns the place of the call at an offset of Module. A function that is in a tail call, of a function of the host, is not active: active is false.
func (r *Running) PlaceOf(f uint32, offset int) (p Place, active bool, err error) {
	if f < r.Module.NumImportedFuncs || int64(f) >= int64(len(r.Module.Funcs)) {
		return Place{}, false, Errorf("function %d is not of the module", f)
	}
	at, ok := r.calls[f]
	if !ok {
		v := new(validate.Func)
		v.Begin(r.Module, f)
		var op wasmfront.Operator
		for v.Next(&op) {
			switch op.Op {
			case wasmfront.OpCall, wasmfront.OpCallIndirect:
				at.calls = append(at.calls, op.Offset)
			case wasmfront.OpReturnCall, wasmfront.OpReturnCallIndirect:
				at.tails = append(at.tails, op.Offset)
			}
		}
		if r.calls == nil {
			r.calls = map[uint32]callsIn{}
		}
		r.calls[f] = at
	}
	n, ok := slices.BinarySearch(at.calls, offset)
	if ok {
		return Place{f, n}, true, nil
	}
	if _, ok = slices.BinarySearch(at.tails, offset); ok {
		return Place{}, false, nil
	}
	return Place{}, false, Errorf("function %d has no call at byte %d", f, offset)
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
