package cruntime_test

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront/wat"
)

// layouts are modules with and without each part of the instance data, and with values that look like addresses.
var layouts = []string{
	`(module)`,
	`(module (global i64 (i64.const ADDRESS)) (global (mut v128) (v128.const i64x2 ADDRESS ADDRESS)) (global i32 (i32.const ADDRESS))
	   (table 4 funcref) (elem func $f) (func $f))`,
	`(module (memory 1) (data "abc") (data (i32.const 1) "d") (data ""))`,
	`(module (import "a" "f" (func $f)) (import "a" "g" (func $g)) (table 4 funcref) (elem (i32.const 0) $f $g) (elem func $g) (elem func))`,
	`(module (import "a" "f" (func $f)) (memory 1) (table 4 funcref) (data "x") (elem func $f $h) (elem func $h) (func $h (export "h")) (func $i) (elem func $i $f))`,
	`(module (import "a" "g" (global $g i32)) (table 4 funcref) (elem funcref (ref.null func) (ref.func $h)) (elem externref (ref.null extern))
	   (global $m (mut i32) (global.get $g)) (func $h (export "h") (data.drop 0) (elem.drop 0)) (memory 1) (data "x") (data "y"))`,
	`(module (table 4 funcref) (elem (i32.const 0) $h $h) (func $h))`,
}

// relocated returns the offsets of the words of the instance data that hold addresses of the module's own text and data.
func relocated(o *objfile.Object) (offsets []uint64) {
	for i := range o.Sections {
		if o.Sections[i].Name != ".data" {
			continue
		}
		for _, r := range o.Sections[i].Relocs {
			s := &o.Symbols[r.Symbol]
			if s.Section == objfile.Undefined {
				continue
			}
			if in := o.Sections[s.Section].Name; in == ".text" || in == ".data" {
				offsets = append(offsets, r.Offset)
			}
		}
	}
	slices.Sort(offsets)
	return offsets
}

// TestMovedWords: of the data of a further instance, exactly the words that lead into the module itself are moved. Globals that have the
// instance's own address as their value stay: the program is not position-independent, and is linked twice to know it.
func TestMovedWords(t *testing.T) {
	needCC(t)
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("testdata/moved.c")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "program.c", program)
	tool(t, dir, "gcc", "-O1", "-fno-pie", "-Wall", "-Wextra", "-Werror", "-c", "waot_runtime.c")
	var first, again uint64
	linkMoved(t, dir, 0x400000)
	first = addressOf(t, filepath.Join(dir, "program"), "mod1.instance")
	want := linkMoved(t, dir, first)
	again = addressOf(t, filepath.Join(dir, "program"), "mod1.instance")
	if first != again || first == 0 {
		t.Fatalf("the instance is at %#x and then at %#x", first, again)
	}
	got, _, end := new(toolchain).exec(t, filepath.Join(dir, "program"))
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" || end != "exit status 0" {
		t.Errorf("%s: offsets of words (-want +got)\n%s", end, diff)
	}
}

// linkMoved links the program with all modules, in which the word ADDRESS is an address, and returns what it should print.
func linkMoved(t *testing.T, dir string, address uint64) (want string) {
	t.Helper()
	var modules [][]byte
	for _, text := range layouts {
		m, err := wat.Assemble([]byte(strings.ReplaceAll(text, "ADDRESS", fmt.Sprint(address))))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		modules = append(modules, m.Wasm)
	}
	for seed := range uint64(testenv.Cases(0, 4, 100)) {
		modules = append(modules, wasmgen.Generate(seed, wasmgen.Config{Funcs: 1 + int(seed%9)}).Wasm)
	}
	link := []string{"gcc", "-fno-pie", "-no-pie", "-static", "-Wl,--unresolved-symbols=ignore-all", "program.c", "waot_runtime.o", "-o", "program"}
	list := ""
	for i, m := range modules {
		name := fmt.Sprintf("mod%d", i)
		r, err := compile.Module(m, compile.Options{Name: name, Target: compile.TargetX64, OptLevel: opt.Level(1)})
		if err != nil {
			t.Fatalf("module %d: %v", i, err)
		}
		object, err := r.ELF(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, name+".o", object)
		link = append(link, name+".o")
		list += fmt.Sprintf("OBJECT(%d)\n", i)
		want += fmt.Sprintf("%d:", i)
		for _, at := range relocated(r.Object) {
			want += fmt.Sprintf(" %d", at)
		}
		want += "\n"
	}
	write(t, dir, "objects.h", []byte(list))
	tool(t, dir, link...)
	return want
}

// addressOf returns the value of a symbol.
func addressOf(t *testing.T, file, name string) uint64 {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == name {
			return s.Value
		}
	}
	return 0
}

func needCC(t *testing.T) {
	t.Helper()
	if missing := toolchains[0].missing(); missing != "" {
		testenv.Missing(t, "no "+missing)
	}
}
