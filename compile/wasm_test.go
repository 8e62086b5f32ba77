package compile_test

import "slices"

// A tiny builder of Wasm modules: sections are lists of encoded entries.

const (
	i32, i64, f32, f64, v128, funcref = 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70
)

type wasmModule struct {
	types, imports, funcs, tables, memories, globals, exports, elems, codes, datas [][]byte
	start                                                                          []byte
	names                                                                          map[int]string
	pending                                                                        []func() // functions to add behind all imports
}

func leb(n int) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// sleb is the signed form.
func sleb(n int64) []byte {
	var b []byte
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }
func str(s string) []byte        { return append(leb(len(s)), s...) }
func vec(b []byte) []byte        { return append(leb(len(b)), b...) }

func (m *wasmModule) typ(params, results []byte) int {
	t := cat([]byte{0x60}, vec(params), vec(results))
	for i, u := range m.types {
		if string(u) == string(t) {
			return i
		}
	}
	m.types = append(m.types, t)
	return len(m.types) - 1
}

func (m *wasmModule) importFunc(mod, name string, params, results []byte) int {
	m.imports = append(m.imports, cat(str(mod), str(name), []byte{0}, leb(m.typ(params, results))))
	return len(m.imports) - 1
}

// fn adds a function; locals are types, body goes without the final end.
func (m *wasmModule) fn(params, results, locals []byte, body ...byte) int {
	m.funcs = append(m.funcs, leb(m.typ(params, results)))
	b := leb(len(locals))
	for _, l := range locals {
		b = append(b, 1, l)
	}
	m.codes = append(m.codes, vec(cat(b, body, []byte{0x0b})))
	return len(m.imports) + len(m.funcs) - 1
}

func (m *wasmModule) export(name string, kind byte, index int) {
	m.exports = append(m.exports, cat(str(name), []byte{kind}, leb(index)))
}

func (m *wasmModule) exportFn(name string, params, results, locals []byte, body ...byte) int {
	i := m.fn(params, results, locals, body...)
	m.export(name, 0, i)
	return i
}

func (m *wasmModule) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, entries [][]byte) {
		if len(entries) > 0 {
			out = cat(out, []byte{id}, vec(cat(leb(len(entries)), slices.Concat(entries...))))
		}
	}
	section(1, m.types)
	section(2, m.imports)
	section(3, m.funcs)
	section(4, m.tables)
	section(5, m.memories)
	section(6, m.globals)
	section(7, m.exports)
	if m.start != nil {
		out = cat(out, []byte{8}, vec(m.start))
	}
	section(9, m.elems)
	section(10, m.codes)
	section(11, m.datas)
	if len(m.names) > 0 {
		var assoc [][]byte
		for i := range len(m.imports) + len(m.funcs) {
			if n, ok := m.names[i]; ok {
				assoc = append(assoc, cat(leb(i), str(n)))
			}
		}
		sub := cat([]byte{1}, vec(cat(leb(len(assoc)), slices.Concat(assoc...))))
		out = cat(out, []byte{0}, vec(cat(str("name"), sub)))
	}
	return out
}

func types(ts ...byte) []byte { return ts }

// sampleModule is the module "lib" of the driver in C.
func sampleModule() *wasmModule {
	m := &wasmModule{names: map[int]string{}}
	log := m.importFunc("env", "log", types(i32), types(i32))
	mixed := m.importFunc("env", "many", types(i32, f64, i64, i32, i32, i32, i32, i64, f32, i32), types(f64))
	pair := m.importFunc("env", "pair", types(i32, i64), types(i64, i32, f64))
	m.memories = append(m.memories, cat([]byte{1}, leb(1), leb(16)))
	m.tables = append(m.tables, cat([]byte{funcref, 0}, leb(4)))
	m.globals = append(m.globals, cat([]byte{i32, 1, 0x41}, sleb(7), []byte{0x0b}))
	get := func(i byte) []byte { return []byte{0x20, i} }

	m.exportFn("add", types(i32, i32), types(i32), nil, 0x20, 0, 0x20, 1, 0x6a)
	m.exportFn("fadd", types(f64, f32), types(f64), nil, 0x20, 0, 0x20, 1, 0xbb, 0xa0)
	m.exportFn("load", types(i32), types(i32), nil, 0x20, 0, 0x28, 2, 0)
	m.exportFn("store", types(i32, i32), nil, nil, 0x20, 0, 0x20, 1, 0x36, 2, 0)
	m.exportFn("grow", types(i32), types(i32), nil, 0x20, 0, 0x40, 0)
	m.exportFn("size", nil, types(i32), nil, 0x3f, 0)
	m.exportFn("div", types(i32, i32), types(i32), nil, 0x20, 0, 0x20, 1, 0x6d)
	m.exportFn("unreachable!", nil, nil, nil, 0x00)
	m.exportFn("bump", nil, types(i32), nil, 0x23, 0, 0x41, 1, 0x6a, 0x24, 0, 0x23, 0)
	logFn := m.exportFn("log", types(i32), types(i32), nil, cat(get(0), []byte{0x10}, leb(log))...)
	// swap: (i32 i64 f64 f32 i32) -> (i32 f32 f64 i64 i32), reversed.
	m.exportFn("reverse", types(i32, i64, f64, f32, i32), types(i32, f32, f64, i64, i32), nil,
		0x20, 4, 0x20, 3, 0x20, 2, 0x20, 1, 0x20, 0)
	// results overflow into the hidden area: 7 of i64, from n.
	var seven []byte
	for i := range 7 {
		seven = cat(seven, get(0), []byte{0x42, byte(i)}, []byte{0x7c})
	}
	m.exportFn("seven", types(i64), types(i64, i64, i64, i64, i64, i64, i64), nil, seven...)
	// sum of 11 integers, each with a weight, as i64.
	var sum []byte
	sum = []byte{0x42, 0}
	params := []byte{}
	for i := range 11 {
		t := byte(i64)
		if i%2 == 1 {
			t = i32
		}
		params = append(params, t)
		sum = cat(sum, get(byte(i)))
		if t == i32 {
			sum = append(sum, 0xad)
		}
		sum = cat(sum, []byte{0x42, byte(i + 1), 0x7e, 0x7c})
	}
	m.exportFn("sum11", params, types(i64), nil, sum...)
	m.exportFn("callmany", types(i32, f64, i64, i32, i32, i32, i32, i64, f32, i32), types(f64), nil,
		cat(get(0), get(1), get(2), get(3), get(4), get(5), get(6), get(7), get(8), get(9), []byte{0x10}, leb(mixed))...)
	// pair returns three values: combine as f64: first + second + third.
	m.exportFn("callpair", types(i32, i64), types(i64, i32, f64), nil, cat(get(0), get(1), []byte{0x10}, leb(pair))...)
	m.exportFn("indirect", types(i32, i32), types(i32), nil,
		cat(get(1), get(0), []byte{0x11}, leb(m.typ(types(i32), types(i32))), []byte{0})...)
	// fib, recursive.
	fib := len(m.imports) + len(m.funcs)
	m.exportFn("fib", types(i32), types(i32), nil,
		cat(get(0), []byte{0x41, 2, 0x48, 0x04, i32}, get(0), []byte{0x05}, get(0), []byte{0x41, 1, 0x6b, 0x10}, leb(fib),
			get(0), []byte{0x41, 2, 0x6b, 0x10}, leb(fib), []byte{0x6a, 0x0b})...)
	m.export("log2", 0, log) // an import exported again
	m.export("mem", 2, 0)
	m.export("tab", 1, 0)
	m.export("counter", 3, 0)
	// table: fib, null, log (import), the log wrapper.
	m.elems = append(m.elems, cat([]byte{0, 0x41, 0, 0x0b}, leb(1), leb(fib)),
		cat([]byte{0, 0x41, 2, 0x0b}, leb(2), leb(log), leb(logFn)))
	m.datas = append(m.datas, cat([]byte{0, 0x41, 8, 0x0b}, vec([]byte("hello\x00"))))
	m.names[fib] = "fibonacci number"
	return m
}
