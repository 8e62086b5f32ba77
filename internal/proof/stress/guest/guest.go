// Package guest makes small Wasm modules for the tests of package stress and for the
// measurements of bench/costs, with the same calculations in Go to compare with.
//
// Place in the pipeline: before it, as a source of inputs; it knows the operator table of
// wasmfront and nothing else.
//
// Input: functions, as operators in the notation of the text format.
// Output: the bytes of modules.
package guest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/waot-project/waot/wasmfront"
)

// Module collects the parts of a module. Signatures are written as parameters, a
// colon and results, a letter each: i, l, f, d, v, r, x for i32, i64, f32, f64, v128, funcref, externref.
// Imports must come before functions. Mistakes are bugs of the caller and panic.
type Module struct {
	types   []string
	imports []function
	funcs   []function
	memory  []byte
	table   []byte
	elems   [][]byte
	globals [][]byte
	datas   [][]byte
	start   string
}

type function struct {
	module, name string
	sig, locals  string
	code         string
}

// Import adds an imported function.
func (m *Module) Import(module, name, sig string) {
	m.imports = append(m.imports, function{module: module, name: name, sig: sig})
}

// Func adds a function, exported under its name, with further locals of the given types.
// Code has operators with their immediates, separated by white space: labels and locals
// are numbers, functions are names, call_indirect has a signature, a block may have one
// result type, a memory access may have a byte offset as offset=N.
func (m *Module) Func(name, sig, locals, code string) {
	m.funcs = append(m.funcs, function{name: name, sig: sig, locals: locals, code: code})
}

// Memory gives the module a memory, exported as "memory", of pages of 64 KiB.
func (m *Module) Memory(min, max uint64) {
	m.memory = append(append([]byte{1}, uleb(min)...), uleb(max)...)
}

// Table gives the module a table of function references, exported as "table".
func (m *Module) Table(n uint64) {
	m.table = append(append([]byte{0x70, 1}, uleb(n)...), uleb(n)...)
}

// Elem puts functions into the table.
func (m *Module) Elem(offset int64, funcs ...string) {
	b := append([]byte{0, 0x41}, sleb(offset)...)
	b = append(append(b, 0x0b), uleb(uint64(len(funcs)))...)
	for _, f := range funcs {
		b = append(b, uleb(uint64(m.index(f)))...)
	}
	m.elems = append(m.elems, b)
}

// Global adds a mutable i64, exported as "globalN".
func (m *Module) Global(init int64) {
	m.globals = append(m.globals, append(append([]byte{0x7e, 1, 0x42}, sleb(init)...), 0x0b))
}

// Data puts bytes into the memory.
func (m *Module) Data(offset int64, data []byte) {
	b := append(append([]byte{0, 0x41}, sleb(offset)...), 0x0b)
	m.datas = append(m.datas, append(append(b, uleb(uint64(len(data)))...), data...))
}

// Start makes a function, () -> (), part of instantiation.
func (m *Module) Start(name string) { m.start = name }

// Bytes returns the module in binary form.
func (m *Module) Bytes() []byte {
	var imports, funcs, exports, codes [][]byte
	for _, f := range m.imports {
		b := append(str(f.module), str(f.name)...)
		imports = append(imports, append(append(b, 0), uleb(m.typeIndex(f.sig))...))
	}
	export := func(name string, kind byte, index int) {
		exports = append(exports, append(append(str(name), kind), uleb(uint64(index))...))
	}
	for i, f := range m.funcs {
		funcs = append(funcs, uleb(m.typeIndex(f.sig)))
		export(f.name, 0, len(m.imports)+i)
		codes = append(codes, m.body(&f))
	}
	var tables, memories [][]byte
	if m.table != nil {
		tables = [][]byte{m.table}
		export("table", 1, 0)
	}
	if m.memory != nil {
		memories = [][]byte{m.memory}
		export("memory", 2, 0)
	}
	for i := range m.globals {
		export(fmt.Sprintf("global%d", i), 3, i)
	}
	var types [][]byte // last: bodies may add to them
	for _, s := range m.types {
		params, results, _ := strings.Cut(s, ":")
		types = append(types, append(append([]byte{0x60}, valTypes(params)...), valTypes(results)...))
	}
	var start [][]byte
	if m.start != "" {
		start = [][]byte{uleb(uint64(m.index(m.start)))}
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []struct {
		id    byte
		items [][]byte
	}{{1, types}, {2, imports}, {3, funcs}, {4, tables}, {5, memories}, {6, m.globals}, {7, exports},
		{8, start}, {9, m.elems}, {10, codes}, {11, m.datas}} {
		if len(s.items) == 0 {
			continue
		}
		b := uleb(uint64(len(s.items)))
		if s.id == 8 {
			b = nil // one index, not counted
		}
		for _, i := range s.items {
			b = append(b, i...)
		}
		out = append(append(append(out, s.id), uleb(uint64(len(b)))...), b...)
	}
	return out
}

func (m *Module) typeIndex(sig string) uint64 {
	for i, s := range m.types {
		if s == sig {
			return uint64(i)
		}
	}
	m.types = append(m.types, sig)
	return uint64(len(m.types) - 1)
}

func (m *Module) index(name string) int {
	for i, f := range m.imports {
		if f.name == name {
			return i
		}
	}
	for i, f := range m.funcs {
		if f.name == name {
			return len(m.imports) + i
		}
	}
	panic("guest: no function " + name)
}

func (m *Module) body(f *function) []byte {
	b := uleb(uint64(len(f.locals)))
	for _, t := range []byte(f.locals) {
		b = append(b, 1, valType(t))
	}
	b = append(m.assemble(b, f), 0x0b)
	return append(uleb(uint64(len(b))), b...)
}

func (m *Module) assemble(b []byte, f *function) []byte {
	words := strings.Fields(f.code)
	next := func() string {
		if len(words) == 0 {
			panic("guest: code of " + f.name + " ends in an operator")
		}
		w := words[0]
		words = words[1:]
		return w
	}
	for len(words) > 0 {
		w := next()
		op, info := operator(w)
		if prefix, n := op.Encoding(); prefix != 0 {
			b = append(append(b, prefix), uleb(uint64(n))...)
		} else {
			b = append(b, byte(n))
		}
		switch info.Imm {
		case wasmfront.ImmNone:
		case wasmfront.ImmBlock:
			t := byte(0x40)
			if len(words) > 0 && blockTypes[words[0]] != 0 {
				t = blockTypes[next()]
			}
			b = append(b, t)
		case wasmfront.ImmLabel, wasmfront.ImmLocal, wasmfront.ImmGlobal, wasmfront.ImmTable:
			b = append(b, uleb(number(next()))...)
		case wasmfront.ImmTable2:
			b = append(append(b, uleb(number(next()))...), uleb(number(next()))...)
		case wasmfront.ImmFunc:
			b = append(b, uleb(uint64(m.index(next())))...)
		case wasmfront.ImmCallIndirect:
			b = append(append(b, uleb(m.typeIndex(next()))...), 0)
		case wasmfront.ImmMem:
			b = append(b, 0)
		case wasmfront.ImmMem2:
			b = append(b, 0, 0)
		case wasmfront.ImmMemArg:
			offset := uint64(0)
			if len(words) > 0 && strings.HasPrefix(words[0], "offset=") {
				offset = number(strings.TrimPrefix(next(), "offset="))
			}
			b = append(append(b, info.Align), uleb(offset)...)
		case wasmfront.ImmLane:
			b = append(b, byte(number(next())))
		case wasmfront.ImmI32:
			b = append(b, sleb(int64(int32(number(next()))))...)
		case wasmfront.ImmI64:
			b = append(b, sleb(int64(number(next())))...)
		case wasmfront.ImmF64:
			v, err := strconv.ParseFloat(next(), 64)
			if err != nil {
				panic(err)
			}
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case wasmfront.ImmRefType:
			b = append(b, valType(next()[0]))
		default:
			panic("guest: immediates of " + w)
		}
	}
	return b
}

// operator finds an operator by its name.
func operator(name string) (wasmfront.Opcode, *wasmfront.OpInfo) {
	for _, op := range wasmfront.Opcodes() {
		if info := op.Info(); info.Name == name {
			return op, info
		}
	}
	panic("guest: no operator " + name)
}

var blockTypes = map[string]byte{"i32": 0x7f, "i64": 0x7e, "f32": 0x7d, "f64": 0x7c}

// number reads a signed or unsigned number.
func number(s string) uint64 {
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v)
	}
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		panic(err)
	}
	return v
}

func valType(letter byte) byte {
	i := strings.IndexByte("ilfdvrx", letter)
	if i < 0 {
		panic("guest: type " + string(letter))
	}
	return "\x7f\x7e\x7d\x7c\x7b\x70\x6f"[i]
}

func valTypes(letters string) []byte {
	b := uleb(uint64(len(letters)))
	for _, t := range []byte(letters) {
		b = append(b, valType(t))
	}
	return b
}

func str(s string) []byte { return append(uleb(uint64(len(s))), s...) }

func uleb(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func sleb(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
