package main

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/bench/suite"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestFindBase loads code whose second word relocation changes, and which begins twice alike.
func TestFindBase(t *testing.T) {
	var code []byte
	list := make([]uint32, 40)
	for i := range list {
		list[i] = uint32(i)
		if i >= 30 {
			list[i] = uint32(i - 30) // as at the begin
		}
		code = binary.LittleEndian.AppendUint32(code, list[i])
	}
	const base = 0x7000
	at := func(i, n int) translation {
		w := slices.Clone(list[i:][:n])
		if i <= 12 && 12 < i+n {
			w[12-i] = 99 // relocated
		}
		return translation{addr: base + 4*uint64(i), insts: words(w...)}
	}
	all := []translation{at(0, 8), at(30, 8), at(10, 8), at(14, 9), at(22, 8), {addr: 0x123400, insts: words(list[15:25]...)}}
	if got, err := findBase(code, 4, all); err != nil || got != base {
		t.Errorf("%#x, %v", got, err)
	}
	if got, err := findBase(code, 4, all[:3]); err == nil {
		t.Errorf("%#x is found without evidence", got)
	}
}

func TestSymbols(t *testing.T) {
	symbols := []symbol{{0x1000, 0x10, "f"}, {0x1010, 8, "g"}, {0x1040, 4, "h"}}
	for addr, want := range map[uint64]string{
		0xfff: "0xfff", 0x1000: "f+0x0", 0x100c: "f+0xc", 0x1014: "g+0x4", 0x1018: "0x1018", 0x1040: "h+0x0", 0x1044: "0x1044",
	} {
		if got := place(symbols, addr); got != want {
			t.Errorf("%#x is at %s, want %s", addr, got, want)
		}
	}
	all := []translation{
		{addr: 0x1000, runs: 2, insts: make([][]byte, 4)}, {addr: 0x1008, runs: 1, insts: make([][]byte, 2)},
		{addr: 0x1010, runs: 50, insts: make([][]byte, 2)}, {addr: 0x2000, runs: 3, insts: make([][]byte, 1)},
	}
	want := []executed{{"g", 100}, {"f", 10}}
	if d := cmp.Diff(want, hottestFunctions(symbols, all, 2), cmp.AllowUnexported(executed{})); d != "" {
		t.Error(d)
	}
}

// copies is a module that copies 64 KiB a thousand times.
const copies = `(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 3)
  (func (export "_start") (local $i i32)
    (loop $again
      (memory.copy (i32.const 65536) (local.get $i) (i32.const 65536))
      (memory.fill (local.get $i) (local.get $i) (i32.const 4096))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $i) (i32.const 1000))))
    (call $exit (i32.const 0))))`

// TestHelpers counts a module whose work the host does: what copies and fills memory is not the compiler's code, though it is in no
// executable file either.
func TestHelpers(t *testing.T) {
	testenv.OnlyFull(t, "builds the compiler")
	for i := range machines {
		t.Run(machines[i].name, func(t *testing.T) { testHelpers(t, &machines[i]) })
	}
}

func testHelpers(t *testing.T, on *machine) {
	need(t, strings.Fields(on.emulator)[0], "gcc")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{dir: t.TempDir(), root: root, machine: on, waot: root}
	plugin, err := b.plugin()
	if err != nil {
		t.Fatal(err)
	}
	run, err := prepareWaot(b)
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := waot.ParseText([]byte(copies))
	if err != nil {
		t.Fatal(err)
	}
	m := &suite.Module{Name: "copies", File: filepath.Join(b.dir, "modules", "copies.wasm")}
	if err := errors.Join(os.Mkdir(filepath.Dir(m.File), 0o777), os.WriteFile(m.File, wasm, 0o666)); err != nil {
		t.Fatal(err)
	}
	p, err := run(m)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{config: &config{emulator: on.emulator, timeout: 10 * time.Minute}, builder: b, plugin: plugin}
	all, err := s.execute(m, &p)
	if err != nil {
		t.Fatal(err)
	}
	// Between 10 and 100 instructions a round are the loop's; a copy takes 1,000 at least.
	if n := on.executedIn(all).Instructions; n < 10_000 || n > 100_000 {
		t.Errorf("%d instructions are counted for 1,000 rounds", n)
	}
}
