//go:build linux

package program_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// heaping is a module that keeps a list of two nodes, of which the first has a number and the second its negative, in each place where there are references, makes garbage, and looks at them. It leaves with status 7 if all is well, and
// traps in one of several ways if it has arguments: as many as its number says.
const heaping = `(module
	(rec (type $node (sub (struct (field $v i32) (field $next (mut (ref null $node)))))))
	(type $named (sub final $node (struct (field i32) (field (mut (ref null $node))) (field (mut externref)) (field i8))))
	(type $nodes (array (mut (ref null $node))))
	(type $anys (array (mut anyref)))
	(type $bytes (array (mut i8)))
	(type $unary (sub (func (param i32) (result i32))))
	(type $binary (sub final $unary (func (param i32) (result i32))))
	(import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	(import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
	(memory (export "memory") 1)
	(tag $e (param i64 (ref $node) v128 (ref null $named)))
	(table $t 4 (ref null $node)) (table $x 1 exnref) (table $f 2 (ref null $unary))
	(global $g (mut (ref null $node)) (ref.null $node))
	(global $garbage (mut (ref null $node)) (ref.null $node))
	(global $any (mut anyref) (ref.null any))
	(global $full (mut (ref $node)) (struct.new $node (i32.const 1) (struct.new $node (i32.const -1) (ref.null $node))))
	(global $array (mut (ref null $nodes)) (ref.null $nodes))
	(elem $el (ref null $node) (item (struct.new $node (i32.const 90) (struct.new $node (i32.const -90) (ref.null $node)))))
	(elem (table $f) (i32.const 0) (ref null $unary) (item (ref.func $plus)) (item (ref.func $binary)))
	(func $plus (type $unary) (i32.add (local.get 0) (i32.const 1)))
	(func $binary (type $binary) (i32.mul (local.get 0) (i32.const 2)))
	(func $new (param $v i32) (result (ref $node)) ;; which something else sees, or it would not be made
		(global.set $garbage (struct.new $node (local.get $v) (struct.new $node (i32.sub (i32.const 0) (local.get $v)) (ref.null $node))))
		(ref.as_non_null (global.get $garbage)))
	(func $must (param i32) (if (i32.eqz (local.get 0)) (then unreachable)))
	(func $check (param $n (ref null $node)) (param $v i32)
		(call $must (i32.eq (struct.get $node $v (local.get $n)) (local.get $v)))
		(call $must (i32.eqz (i32.add (struct.get $node $v (local.get $n)) (struct.get $node $v (struct.get $node $next (local.get $n)))))))
	(func $garbage (param $n i32)
		(loop $l
			(drop (call $new (local.get $n)))
			(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
	(func $down (param $n i32) (result i32) (local $own (ref null $node)) ;; a node in each of many frames
		(if (i32.eqz (local.get $n)) (then (call $garbage (i32.const %[1]d)) (return (i32.const 0))))
		(local.set $own (call $new (local.get $n)))
		(drop (call $down (i32.sub (local.get $n) (i32.const 1))))
		(call $check (local.get $own) (local.get $n))
		(local.get $n))
	(func $throw (param $v i32)
		(throw $e (i64.const 1) (call $new (local.get $v)) (v128.const i64x2 2 3) (struct.new $named (i32.add (local.get $v) (i32.const 1)) (struct.new $node (i32.sub (i32.const -1) (local.get $v)) (ref.null $node)) (ref.null extern) (i32.const -1))))
	(func $catch (param i32) (result exnref)
		(block $h (result exnref) (try_table (catch_all_ref $h) (call $throw (local.get 0))) (unreachable)))
	(func $thrown (param $x exnref) (param $v i32) (local $a (ref null $node)) (local $b (ref null $named))
		(block $h (result i64 (ref $node) v128 (ref null $named))
			(try_table (catch $e $h) (throw_ref (local.get $x))) (unreachable))
		(local.set $b) (drop) (local.set $a) (drop)
		(call $garbage (i32.const 10))
		(call $check (local.get $a) (local.get $v)) (call $check (local.get $b) (i32.add (local.get $v) (i32.const 1))))
	(func $fill (local $r (ref null $node))
		(loop $l (local.set $r (struct.new $node (i32.const 1) (local.get $r))) (br $l)))
	(func $number (result i32) (drop (call $args (i32.const 0) (i32.const 4))) (i32.load (i32.const 0)))
	(func (export "_start") (local $n i32) (local $a (ref null $node)) (local $anys (ref null $anys))
		(if (i32.eq (call $number) (i32.const 2)) (then (drop (struct.get $node $v (struct.get $node $next (struct.get $node $next (call $new (i32.const 1))))))))
		(if (i32.eq (call $number) (i32.const 3)) (then (drop (array.len (global.get $array)))))
		(if (i32.eq (call $number) (i32.const 4)) (then (drop (ref.cast (ref $named) (call $new (i32.const 1))))))
		(if (i32.eq (call $number) (i32.const 5)) (then (drop (array.get $nodes (array.new_default $nodes (i32.const 3)) (i32.const 3)))))
		(if (i32.eq (call $number) (i32.const 6)) (then (call $fill)))
		(if (i32.eq (call $number) (i32.const 7)) (then (drop (array.new_default $bytes (i32.const -1)))))
		(local.set $a (call $new (i32.const 10)))
		(table.set $t (i32.const 3) (call $new (i32.const 11)))
		(global.set $g (call $new (i32.const 12)))
		(global.set $any (call $new (i32.const 13)))
		(global.set $array (array.new_default $nodes (i32.const 100000))) ;; large
		(array.set $nodes (global.get $array) (i32.const 99999) (call $new (i32.const 14)))
		(local.set $anys (array.new_default $anys (i32.const 3)))
		(array.set $anys (local.get $anys) (i32.const 0) (call $new (i32.const 15)))
		(array.set $anys (local.get $anys) (i32.const 1) (ref.i31 (i32.const -5)))
		(table.set $x (i32.const 0) (call $catch (i32.const 16)))
		(call $garbage (i32.const %[1]d))
		(drop (call $down (i32.const 100)))
		(call $check (local.get $a) (i32.const 10))
		(call $check (table.get $t (i32.const 3)) (i32.const 11))
		(call $check (global.get $g) (i32.const 12))
		(call $check (ref.cast (ref $node) (global.get $any)) (i32.const 13))
		(call $check (array.get $nodes (global.get $array) (i32.const 99999)) (i32.const 14))
		(call $check (ref.cast (ref null $node) (array.get $anys (local.get $anys) (i32.const 0))) (i32.const 15))
		(call $must (i32.eq (i31.get_s (ref.cast (ref i31) (array.get $anys (local.get $anys) (i32.const 1)))) (i32.const -5)))
		(call $thrown (table.get $x (i32.const 0)) (i32.const 16))
		(call $check (global.get $full) (i32.const 1))
		(call $check (array.get $nodes (array.new_elem $nodes $el (i32.const 0) (i32.const 1)) (i32.const 0)) (i32.const 90))
		(call $must (i32.eqz (ref.test (ref $named) (local.get $a))))
		(call $must (i32.eq (call_indirect $f (type $unary) (i32.const 9) (i32.const 0)) (i32.const 10)))
		(call $must (i32.eq (call_indirect $f (type $unary) (i32.const 9) (i32.const 1)) (i32.const 18))) ;; of a subtype
		(call $must (ref.test (ref $binary) (table.get $f (i32.const 1))))
		(call $must (i32.eqz (ref.test (ref $binary) (table.get $f (i32.const 0)))))
		(call $exit (i32.const 7))))`

// TestHeap: executables keep what is referred to, whether a collection comes now and then or for each object, and report traps of structures and arrays.
func TestHeap(t *testing.T) {
	for _, target := range compile.Targets() {
		m := machine(t, target)
		often := wasm(t, fmt.Sprintf(heaping, 100))
		if got := run(t, m, "", build(t, target, often, &program.Options{CollectAlways: true})); got != (result{status: 7}) {
			t.Errorf("%s, with collections for each object: %+v", target, got)
		}
		file := build(t, target, wasm(t, fmt.Sprintf(heaping, 300_000)), &program.Options{MaxHeap: 4 << 20})
		for n, stderr := range []string{
			0: `^$`,
			1: `function \d+ \(_start\): wasm trap: null structure reference\n   0: function \d+ \(_start\) at offset 0x[0-9a-f]+\n$`,
			2: `function \d+ \(_start\): wasm trap: null array reference\n`,
			3: `function \d+ \(_start\): wasm trap: cast failure\n`,
			4: `function \d+ \(_start\): wasm trap: out of bounds array access\n`,
			5: `^\S+: offset 0x[0-9a-f]+: function \d+ \(fill\): wasm trap: heap exhausted\n   0: function \d+ \(fill\) at offset 0x[0-9a-f]+\n   1: function \d+ \(_start\) at offset 0x[0-9a-f]+\n$`,
			6: `function \d+ \(_start\): wasm trap: heap exhausted\n`,
		} {
			status := 134
			if n == 0 {
				status = 7
			}
			got := run(t, m, "", file, slices.Repeat([]string{"x"}, n)...)
			if got.status != status || got.stdout != "" || !regexp.MustCompile(stderr).MatchString(got.stderr) {
				t.Errorf("%s, %d arguments: %+v", target, n, got)
			}
		}
	}
}

// TestExceptionsBeforeObjects: exceptions are collected before there is an object, in a program that can make some.
func TestExceptionsBeforeObjects(t *testing.T) {
	module := wasm(t, `(module (type $s (struct (field i32))) (tag $t) (global $g (mut anyref) (ref.null any))
		(func (export "_start") (local $n i32) (local $x exnref)
			(loop $l
				(block $h (result exnref) (try_table (catch_all_ref $h) (throw $t)) (unreachable))
				(local.set $x)
				(br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 20000))))
			(global.set $g (struct.new $s (i32.const 1)))))`)
	for _, target := range compile.Targets() {
		if got := run(t, machine(t, target), "", build(t, target, module, new(program.Options))); got != (result{}) {
			t.Errorf("%s: %+v", target, got)
		}
	}
}

// TestHeapAddresses: with too few addresses for a heap an executable says so.
func TestHeapAddresses(t *testing.T) {
	file := build(t, compile.HostTarget(), wasm(t, `(module (type $s (struct (field i32))) (func (export "_start") (drop (struct.new_default $s))))`), new(program.Options))
	for limit, want := range map[string]string{"4000000": "exit status 1", "4600000": "<nil>"} {
		out, err := exec.Command("/bin/sh", "-c", "ulimit -v "+limit+" && exec "+file).CombinedOutput()
		if fmt.Sprint(err) != want || strings.HasSuffix(string(out), ": no room for objects: 4 GiB of addresses are needed (ulimit -v)\n") != (err != nil) {
			t.Errorf("with %s KiB: %v: %s", limit, err, out)
		}
	}
}

// TestNoCollector: an executable that has nothing to do with objects has no collector.
func TestNoCollector(t *testing.T) {
	for text, want := range map[string]bool{
		`(module (func (export "_start")))`:                                           false,
		`(module (type $s (struct)) (func (export "_start") (drop (struct.new $s))))`: true,
	} {
		f, err := elf.Open(build(t, compile.HostTarget(), wasm(t, text), new(program.Options)))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.Symbols()
		f.Close()
		if has := slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "waot_core_new" }); err != nil || has != want {
			t.Errorf("%s: collector: %v, %v", text, has, err)
		}
	}
}

// TestHeapPrograms: real programs of languages with a collected heap.
func TestHeapPrograms(t *testing.T) {
	kotlin := testenv.Material(t, testenv.EnvWasm3)
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	splay := filepath.Join(testenv.Material(t, testenv.EnvBench), "splay")
	measured := read(filepath.Join(splay, "splay.wasm"))
	for _, target := range compile.Targets() {
		m := machine(t, target)
		hello, want := read(filepath.Join(kotlin, "kotlin-hello.wasm")), string(read(filepath.Join(kotlin, "kotlin-hello.expected")))
		if got := run(t, m, "", build(t, target, hello, new(program.Options))); got.stdout != want || got.status != 0 {
			t.Errorf("hello on %s: %+v", target, got)
		}
		if target != compile.HostTarget() && !testenv.Full() {
			continue
		}
		if got := run(t, m, "", build(t, target, withMarkers(t, measured), &program.Options{Grants: program.Grants{Dirs: []program.Dir{{Host: splay, Guest: ".", ReadOnly: true}}}})); got.stdout != string(read(filepath.Join(splay, "splay.stdout.expected"))) || got.status != 0 {
			t.Errorf("splay on %s: %+v", target, got)
		}
		if !testenv.Full() || target != compile.HostTarget() { // minutes in an emulator
			continue
		}
		got := run(t, m, "", build(t, target, read(filepath.Join(kotlin, "kotlin-awfy.wasm")), new(program.Options)))
		if n := strings.Count(got.stdout, " ok=true "); n != 12 || strings.Count(got.stdout, "\n") != n {
			t.Errorf("are-we-fast-yet on %s: %+v", target, got)
		}
	}
}

// withMarkers returns a module that imports bench.start and bench.end with markers (abi.MarkerName) in their places.
func withMarkers(t *testing.T, module []byte) []byte {
	const id, header = 2, 8
	out := slices.Clone(module[:header])
	for at := header; at < len(module); {
		kind, size := module[at], 0
		begin := at + 1
		for shift := 0; ; shift += 7 {
			b := module[begin]
			begin++
			if size |= int(b&0x7f) << shift; b < 0x80 {
				break
			}
		}
		section := module[begin : begin+size]
		at = begin + size
		if kind == id {
			marker := []byte("\x04waot\x08snapshot")
			changed := bytes.Replace(bytes.Replace(section, []byte("\x05bench\x05start"), marker, 1), []byte("\x05bench\x03end"), marker, 1)
			if len(changed) != len(section)+6 {
				t.Fatal("no functions that measure")
			}
			section = changed
		}
		out = append(out, kind)
		n := len(section)
		for ; n >= 0x80; n >>= 7 {
			out = append(out, byte(n)|0x80)
		}
		out = append(append(out, byte(n)), section...)
	}
	return out
}
