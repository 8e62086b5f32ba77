package waot_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update makes TestModules write the modules of testdata/wasm.
var update = flag.Bool("update", false, "write testdata/wasm")

// leb is n in LEB128.
func leb(n int) string {
	if n < 0x80 {
		return string([]byte{byte(n)})
	}
	return string([]byte{byte(n) | 0x80}) + leb(n>>7)
}

// sized is s behind its length.
func sized(s string) string { return leb(len(s)) + s }

// section is a section with a vector of items.
func section(id byte, items ...string) string {
	b := leb(len(items))
	for _, s := range items {
		b += s
	}
	return string([]byte{id}) + sized(b)
}

// Value types.
const (
	i32, i64, f32, f64, v128, funcref, externref = "\x7f", "\x7e", "\x7d", "\x7c", "\x7b", "\x70", "\x6f"
)

// types is a function type.
func types(params, results string) string { return "\x60" + sized(params) + sized(results) }

// imported is an imported function.
func imported(module, name string, typ int) string {
	return sized(module) + sized(name) + "\x00" + leb(typ)
}

// Kinds of exports.
const (
	isFunc = iota
	isTable
	isMemory
	isGlobal
)

func exported(name string, kind, index int) string {
	return sized(name) + string([]byte{byte(kind)}) + leb(index)
}

// code is a body without local variables.
func code(instructions string) string { return sized("\x00" + instructions + "\x0b") }

// data is a segment of memory 0 at offset, below 64.
func data(offset byte, s string) string {
	return "\x00\x41" + string([]byte{offset}) + "\x0b" + sized(s)
}

func module(sections ...string) (b []byte) {
	b = []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		b = append(b, s...)
	}
	return b
}

const wasiModule = "wasi_snapshot_preview1"

// modules are those of testdata/wasm.
func modules() map[string][]byte {
	return map[string][]byte{
		"add": module(
			section(1, types(i32+i32, i32)),
			section(3, "\x00"),
			section(7, exported("add", isFunc, 0)),
			section(10, code("\x20\x00\x20\x01\x6a")),
		),
		"div": module(
			section(1, types(i32+i32, i32)),
			section(3, "\x00"),
			section(7, exported("div", isFunc, 0)),
			section(10, code("\x20\x00\x20\x01\x6d")),
		),
		"greet": module(
			section(1, types(i32+i32, ""), types("", "")),
			section(2, imported("env", "log", 0)),
			section(3, "\x01"),
			section(5, "\x01\x01\x03"),
			section(7, exported("memory", isMemory, 0), exported("greet", isFunc, 1)),
			section(10, code("\x41\x10\x41\x0c\x10\x00")), // log(16, 12)
			section(11, data(16, "hello, world")),
		),
		"loop": module(
			section(1, types("", "")),
			section(3, "\x00"),
			section(7, exported("forever", isFunc, 0)),
			section(10, code("\x03\x40\x0c\x00\x0b")),
		),
		"hello": module(
			section(1, types(i32+i32+i32+i32, i32), types("", "")),
			section(2, imported(wasiModule, "fd_write", 0)),
			section(3, "\x01"),
			section(5, "\x00\x01"),
			section(7, exported("memory", isMemory, 0), exported("_start", isFunc, 1)),
			section(10, code("\x41\x01\x41\x00\x41\x01\x41\x08\x10\x00\x1a")), // fd_write(1, 0, 1, 8)
			section(11, data(0, "\x10\x00\x00\x00\x0c\x00\x00\x00"), data(16, "hello, WASI\n")),
		),
		"cat": module(
			section(1, types(i32+i32+i32+i32, i32), types(i32, ""), types("", "")),
			section(2, imported(wasiModule, "fd_read", 0), imported(wasiModule, "fd_write", 0), imported(wasiModule, "proc_exit", 1)),
			section(3, "\x02"),
			section(5, "\x00\x01"),
			section(7, exported("memory", isMemory, 0), exported("_start", isFunc, 3)),
			section(10, code(
				"\x41\x00\x41\x00\x41\x01\x41\x04\x10\x00\x1a"+ // fd_read(0, 0, 1, 4): the count becomes the length
					"\x41\x01\x41\x00\x41\x01\x41\x08\x10\x01\x1a"+ // fd_write(1, 0, 1, 8)
					"\x41\x00\x28\x02\x04\x10\x02")), // proc_exit(the i32 at 4)
			section(11, data(0, "\x10\x00\x00\x00\x00\x04\x00\x00")), // 16, 1024
		),
		"vector": module(
			section(1, types(v128+v128, v128), types(v128+i32+v128, i32+v128)),
			section(2, imported("env", "mix", 1)),
			section(3, "\x00", "\x01"),
			section(6,
				v128+"\x00\xfd\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x0b",
				v128+"\x01\xfd\x0c"+strings.Repeat("\x00", 16)+"\x0b"),
			section(7, exported("constant", isGlobal, 0), exported("last", isGlobal, 1), exported("add", isFunc, 1), exported("mix", isFunc, 2)),
			section(10,
				code("\x20\x00\x20\x01\xfd\xae\x01"),                      // i32x4.add
				code("\x20\x00\x24\x01\x20\x00\x20\x01\x20\x02\x10\x00")), // last = $0
		),
		"keep": module(
			section(1, types(externref, ""), types(i32+externref, ""), types(i32, externref), types(i32, "")),
			section(2, imported("env", "show", 0)),
			section(3, "\x01", "\x02", "\x03"),
			section(4, externref+"\x00\x04"),
			section(6, externref+"\x01\xd0\x6f\x0b"),
			section(7, exported("slots", isTable, 0), exported("last", isGlobal, 0),
				exported("put", isFunc, 1), exported("get", isFunc, 2), exported("show", isFunc, 3)),
			section(10,
				code("\x20\x00\x20\x01\x26\x00\x20\x01\x24\x00"), // slots[$0] = $1; last = $1
				code("\x20\x00\x25\x00"),
				code("\x20\x00\x25\x00\x10\x00")),
		),
		"many": many(),
	}
}

// many has all kinds of imports and exports.
func many() []byte {
	return module(
		section(1,
			types(i32+i32, i32),                             // 0
			types(i32+i64+f32+f64, f64+f32+i64+i32),         // 1
			types("", ""),                                   // 2
			types(funcref, funcref),                         // 3
			types(i32, i32),                                 // 4
			types(i32+i32+i32+i32+i32+i32+i32+i32+i32, i32), // 5
		),
		section(2,
			imported("env", "f", 0), imported("env", "nothing", 2),
			sized("env")+sized("table")+"\x01"+funcref+"\x01\x02\x08", // 2 to 8 elements
			sized("env")+sized("memory")+"\x02\x01\x01\x04",           // 1 to 4 pages
			sized("env")+sized("global")+"\x03"+i64+"\x01"),
		section(3, "\x00", "\x01", "\x02", "\x03", "\x04", "\x00", "\x02", "\x02", "\x05"),
		section(6, i32+"\x00\x41\x2a\x0b", f64+"\x01\x44\x00\x00\x00\x00\x00\x00\xf8\x3f\x0b"), // 42; 1.5
		section(7,
			exported("div", isFunc, 2), exported("turn", isFunc, 3), exported("call_nothing", isFunc, 4),
			exported("same", isFunc, 5), exported("indirect", isFunc, 6), exported("f", isFunc, 7),
			exported("deep", isFunc, 8), exported("unreachable", isFunc, 9), exported("ninth", isFunc, 10),
			exported("memory", isMemory, 0), exported("table", isTable, 0), exported("global", isGlobal, 0),
			exported("constant", isGlobal, 1), exported("variable", isGlobal, 2)),
		section(10,
			code("\x20\x00\x20\x01\x6d"),             // i32.div_s
			code("\x20\x03\x20\x02\x20\x01\x20\x00"), // the parameters backwards
			code("\x10\x01"),                         // nothing()
			code("\x20\x00"),                         // its parameter
			code("\x41\x07\x20\x00\x11\x04\x00"),     // table[$0](7)
			code("\x20\x00\x20\x01\x10\x00"),         // f($0, $1)
			code("\x10\x08"),                         // itself
			code("\x00"),                             // unreachable
			code("\x20\x08"),                         // the ninth parameter
		),
	)
}

func TestModules(t *testing.T) {
	for name, want := range modules() {
		file := filepath.Join("testdata", "wasm", name+".wasm")
		if *update {
			if err := os.WriteFile(file, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s differs from the generator's (rewrite with -update): %v", file, err)
		}
	}
}
