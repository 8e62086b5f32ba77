package wat

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
	"github.com/waot-project/waot/wasmfront/validate"
)

// withoutNames returns a module without its name section.
func withoutNames(t *testing.T, b []byte) []byte {
	t.Helper()
	m, err := wasmfront.Decode(b, wasmfront.DecodableFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Customs); n > 0 && m.Customs[n-1].Name == "name" {
		s := m.Sections[len(m.Sections)-1]
		size := len(encode.Index(nil, uint32(s.Size)))
		return b[:s.Offset-1-size]
	}
	return b
}

// TestShort: each short way to write something gives the module of the long way.
func TestShort(t *testing.T) {
	for _, row := range []struct{ short, long string }{
		{``, `(module)`},
		{`(func) (memory 1)`, `(module (func) (memory 1))`},
		{`(module quote "(func" ")")`, `(func)`},
		{`(module binary "\00asm" "\01\00\00\00")`, ``},

		// Types and their uses.
		{`(func (param i32 i64) (result f32 f64) unreachable)`, `(type (func (param i32) (param i64) (result f32) (result f64))) (func (type 0) unreachable)`},
		{`(func (param $a i32) (param i64))`, `(type (func (param i32 i64))) (func (type 0) (param $a i32) (param i64))`},
		{`(type (func (param $x i32))) (func (type 0))`, `(type (func (param i32))) (func (type 0) (param i32))`},
		{`(func (type $t)) (type $t (func))`, `(type (func)) (func (type 0))`},
		{`(func (result i32) (call_indirect (param i64) (i64.const 0) (i32.const 0)) (i32.const 1)) (table 0 funcref) (type (func (param f32))) (func (param i64))`,
			`(type (func (param f32))) (type (func (result i32))) (type (func (param i64)))
			(table 0 funcref) (func (type 1) i64.const 0 i32.const 0 call_indirect 0 (type 2) i32.const 1) (func (type 2))`},
		{`(type (func)) (type (func)) (func)`, `(type (func)) (type (func)) (func (type 0))`},
		{`(func (block (param i32) (drop)) (block (result i32 i32) unreachable) unreachable)`,
			`(type (func)) (type (func (param i32))) (type (func (result i32 i32))) (func (block (type 1) (drop)) (block (type 2) unreachable) unreachable)`},
		{`(func (local i32 i64) (local) (local f32))`, `(func (local i32) (local i64) (local f32))`},
		{`(func $f) (table 1 funcref ref.func $f)`, `(func) (table 1 funcref (ref.func 0))`},
		{`(table 1 (ref null func)) (global (ref null extern) (ref.null extern))`, `(table 1 funcref) (global externref (ref.null extern))`},

		// Inline exports and imports.
		{`(func (export "a") (export "b"))`, `(func) (export "a" (func 0)) (export "b" (func 0))`},
		{`(table (export "a") 1 2 funcref) (memory (export "b") 1) (global (export "c") i32 (i32.const 0))`,
			`(table 1 2 funcref) (memory 1) (global i32 (i32.const 0)) (export "a" (table 0)) (export "b" (memory 0)) (export "c" (global 0))`},
		{`(func (import "a" "b") (param i32)) (table (import "c" "d") 1 funcref) (memory (import "e" "f") 1 2) (global (import "g" "h") (mut i32))`,
			`(import "a" "b" (func (param i32))) (import "c" "d" (table 1 funcref)) (import "e" "f" (memory 1 2)) (import "g" "h" (global (mut i32)))`},
		{`(func $f (export "e") (import "a" "b") (type $t)) (type $t (func))`, `(type (func)) (import "a" "b" (func (type 0))) (export "e" (func 0))`},

		// Segments.
		{`(memory (data "abc" "d\00"))`, `(memory 1 1) (data (i32.const 0) "abcd\00")`},
		{`(memory (data "` + strings.Repeat("a", 1<<16) + `"))`, `(memory 1 1) (data (i32.const 0) "` + strings.Repeat("a", 1<<16) + `")`},
		{`(memory (data "` + strings.Repeat("a", 1<<16+1) + `"))`, `(memory 2 2) (data (i32.const 0) "` + strings.Repeat("a", 1<<16+1) + `")`},
		{`(memory (data))`, `(memory 0 0) (data (i32.const 0))`},
		{`(data (i32.const 1) "a") (memory 1)`, `(memory 1) (data (offset i32.const 1) "a")`},
		{`(memory 1) (data $d 0 (i32.const 0))`, `(memory 1) (data (memory 0) (offset (i32.const 0)))`},
		{`(table funcref (elem 0 0)) (func)`, `(table 2 2 funcref) (elem (i32.const 0) func 0 0) (func)`},
		{`(table externref (elem (ref.null extern)))`, `(table 1 1 externref) (elem (table 0) (offset (i32.const 0)) externref (item ref.null extern))`},
		{`(table externref (elem))`, `(table 0 0 externref) (elem (table 0) (offset (i32.const 0)) externref)`},
		{`(table funcref (elem)) (table funcref (elem $f)) (elem $e func $f) (func $f (elem.drop $e))`,
			`(table 0 0 funcref) (table 1 1 funcref) (elem (i32.const 0) func) (elem (table 1) (i32.const 0) func 0) (elem func 0) (func (elem.drop 2))`},
		{`(table 1 funcref) (elem (i32.const 0) 0) (func)`, `(table 1 funcref) (elem (offset i32.const 0) func 0) (func)`},
		{`(table 1 funcref) (elem $e 0 (i32.const 0) func 0) (func)`, `(table 1 funcref) (elem (table 0) (offset (i32.const 0)) func 0) (func)`},
		{`(elem funcref (ref.null func) (item (ref.func 0))) (func)`, `(elem (ref null func) (item ref.null func) (item ref.func 0)) (func)`},

		// Operators.
		{`(func (result i32) (i32.add (i32.const 1) (i32.mul (i32.const 2) (i32.const 3))))`, `(func (result i32) i32.const 1 i32.const 2 i32.const 3 i32.mul i32.add)`},
		{`(func (result i32) (i32.add (i32.const 1) i32.const 2))`, `error: unexpected token`},
		{`(func (block $a (loop $b (br $a) (br $b) (br 2))))`, `(func block $a loop $b br 1 br 0 br 2 end $b end $a)`},
		{`(func (block $a (block $a (br $a)) (br $a)))`, `(func block block br 0 end br 0 end)`},
		{`(func (if $l (i32.const 1) (then (br $l)) (else nop (br $l))))`, `(func i32.const 1 if $l br 0 else $l nop br 0 end $l)`},
		{`(func (if (i32.const 1) (then)) (if (i32.const 1) (i32.const 2) (then)))`, `(func i32.const 1 if end i32.const 1 i32.const 2 if end)`},
		{`(func (block $l (if $l (br $l) (then))))`, `(func block br 0 if end end)`},
		{`(func block (drop (i32.const 1)) end)`, `(func (block i32.const 1 drop))`},
		{`(func (param i32) (select (result i32) (local.get 0) (local.get 0) (local.get 0)) drop)`, `(func (param i32) local.get 0 local.get 0 local.get 0 select (result) (result i32) drop)`},
		{`(memory 1) (func (i32.load (i32.const 0)) (v128.load8_lane 3 (i32.const 0) (v128.const i64x2 0 0)) memory.size memory.grow memory.fill)`,
			`(memory 1) (func (i32.load 0 offset=0 align=4 (i32.const 0)) (v128.load8_lane 0 offset=0 align=1 3 (i32.const 0) (v128.const i64x2 0 0)) memory.size 0 memory.grow 0 memory.fill 0)`},
		{`(memory 1) (func v128.load8_lane 0 1 v128.load8_lane offset=1 2)`, `(memory 1) (func v128.load8_lane 1 v128.load8_lane 0 offset=1 2)`},
		{`(memory 1) (data $d) (func memory.init $d memory.copy data.drop $d)`, `(memory 1) (data) (func memory.init 0 0 memory.copy 0 0 data.drop 0)`},
		{`(table 1 funcref) (elem $e func) (func table.init $e table.copy table.size table.get table.set table.grow table.fill)`,
			`(table 1 funcref) (elem func) (func table.init 0 0 table.copy 0 0 table.size 0 table.get 0 table.set 0 table.grow 0 table.fill 0)`},
		{`(table $a 1 funcref) (table $b 1 funcref) (elem $e func) (func table.init $b $e table.copy $b $a call_indirect $b)`,
			`(table 1 funcref) (table 1 funcref) (elem func) (func table.init 1 0 table.copy 1 0 call_indirect 1 (type 0))`},
		{`(func v128.const i8x16 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 0xff v128.const i32x4 -1 0 1 0x80000000)`,
			`(func v128.const i64x2 0x0706050403020100 0xff0e0d0c0b0a0908 v128.const i16x8 0xffff -1 0 0 1 0 0 -0x8000)`},
		{`(func v128.const f32x4 1 -0 inf nan v128.const f64x2 0x1p-1074 nan:0x1)`,
			`(func v128.const i32x4 0x3f800000 0x80000000 0x7f800000 0x7fc00000 v128.const i64x2 1 0x7ff0000000000001)`},
		{`(func i32.const 0xffff_ffff i64.const -0x8000_0000_0000_0000 f32.const 0x1p0 f64.const -nan)`,
			`(func i32.const -1 i64.const 9223372036854775808 f32.const 1.0e0 f64.const -nan:0x8000000000000)`},

		// Exceptions.
		{`(tag $e (export "a") (export "b") (param i32)) (tag (import "c" "d"))`, `error: import after tag`},
		{`(tag $i (export "x") (import "c" "d") (param i64)) (tag $e (export "a") (export "b") (param $p i32)) (tag (type $t)) (type $t (func))`,
			`(type (func)) (type (func (param i64))) (type (func (param i32))) (import "c" "d" (tag (type 1))) (tag (type 2)) (tag (type 0)) (export "x" (tag 0)) (export "a" (tag 1)) (export "b" (tag 1))`},
		{`(table exnref (elem (ref.null exn) (ref.null noexn))) (global (ref null exn) (ref.null noexn)) (global (ref null noexn) (ref.null noexn)) (func (param (ref exn) (ref noexn)))`,
			`(table 2 2 exnref) (elem (table 0) (i32.const 0) exnref (item ref.null exn) (item ref.null noexn)) (global exnref (ref.null noexn)) (global nullexnref (ref.null noexn)) (func (param (ref exn)) (param (ref noexn)))`},
		{`(tag $e) (tag $f) (func (block $a (loop $b (try_table $c (catch $e $a) (catch_ref $f $b) (catch_all $a) (catch_all_ref $b) (throw $f) (br $c) (throw_ref (ref.null exn))))))`,
			`(tag) (tag) (func block loop try_table (catch 0 1) (catch_ref 1 0) (catch_all 1) (catch_all_ref 0) throw 1 br 0 ref.null exn throw_ref end end end)`},
		{`(func (block $a (try_table $a (catch_all $a) (br $a))))`, `(func block try_table (catch_all 0) br 0 end end)`},
		{`(func (result i32) (try_table (result i32) (i32.const 1)))`, `(func (result i32) try_table (result i32) i32.const 1 end)`},
		{`(tag $e) (tag $f) (func (block $a (try $t (do (br $t) nop) (catch $e (rethrow $t)) (catch $f) (catch_all (br $a) (rethrow $t)))))`,
			`(tag) (tag) (func block try br 0 nop catch 0 rethrow 0 catch 1 catch_all br 1 rethrow 0 end end)`},
		{`(func (block $a (try $t (result i32) (do (try $t (do) (delegate $t)) (i32.const 1)) (delegate $a)) drop))`,
			`(func block try (result i32) try delegate 0 i32.const 1 delegate 0 drop end)`},
		{`(func (try $t (do (try $t (do (try (do)))))) try $t try $t delegate $t $t end $t try $t catch $t 0 catch_all $t end $t) (tag)`,
			`(tag) (func try try try end end end try try delegate 0 end try catch 0 catch_all end)`},

		// Garbage collection.
		{`(rec) (rec (type $t (func))) (rec (type (struct)) (type (func (param (ref $t))))) (rec)`, `(type (func)) (rec (type (struct)) (type (func (param (ref 0)))))`},
		{`(type (sub final (func))) (type (sub final (struct))) (type (sub final (array i8)))`, `(type (func)) (type (struct)) (type (array i8))`},
		{`(type $s (struct (field) (field i32 (mut i8)) (field $x (ref null $s)))) (type (array (ref any)))`,
			`(type (struct (field i32) (field (mut i8)) (field (ref null 0)))) (type (array (ref any)))`},
		{`(func (param (ref null any) (ref null eq) (ref null i31) (ref null struct) (ref null array) (ref null none) (ref null nofunc) (ref null noextern)))`,
			`(func (param anyref eqref i31ref structref arrayref nullref nullfuncref nullexternref))`},
		{`(type $s (struct (field $x i32) (field $y i64))) (type $t (struct (field $y i32) (field $x i64))) (func struct.get $s $y struct.set $t $y struct.get_s 0 $x struct.get_u 1 $x)`,
			`(type (struct (field i32 i64))) (type (struct (field i32 i64))) (func struct.get 0 1 struct.set 1 0 struct.get_s 0 0 struct.get_u 1 1)`},
		{`(func (param anyref) (result i32) (block $l (result (ref i31)) (br_on_cast $l anyref (ref i31) (local.get 0)) (return (ref.test eqref (drop)))) (drop) (i32.const 0))`,
			`(func (param anyref) (result i32) block (result (ref i31)) local.get 0 br_on_cast 0 (ref null any) (ref i31) drop ref.test (ref null eq) return end drop i32.const 0)`},
		{`(type $a (array i32)) (global (ref $a) (array.new_fixed $a 2 (i32.const 1) (i32.const 2))) (global i31ref (ref.i31 (i32.const 3)))`,
			`(type (array i32)) (global (ref 0) i32.const 1 i32.const 2 array.new_fixed 0 2) (global (ref null i31) i32.const 3 ref.i31)`},
		{`(type $a (array i32)) (table (ref null $a) (elem (ref.null $a))) (elem (ref $a) (array.new $a (i32.const 1) (i32.const 2)))`,
			`(type (array i32)) (table 1 1 (ref null 0)) (elem (table 0) (offset (i32.const 0)) (ref null 0) (item ref.null 0)) (elem (ref 0) (item i32.const 1 i32.const 2 array.new 0))`},

		// A function without a type gets a final one without supertype, in a group of its own.
		{`(type (sub (func))) (type (sub 0 (func))) (type (sub final 0 (func))) (rec (type (func)) (type (func))) (rec (type (func))) (func)`,
			`(type (sub (func))) (type (sub 0 (func))) (type (sub final 0 (func))) (rec (type (func)) (type (func))) (type (func)) (func (type 5))`},
		{`(rec (type (func)) (type (struct))) (func)`, `(rec (type (func)) (type (struct))) (type (func)) (func (type 2))`},
		{`(func (param (ref $s))) (rec (type (array i8)) (type $s (struct))) (type $f (func (param (ref $s))))`,
			`(rec (type (array i8)) (type (struct))) (type (func (param (ref 1)))) (func (type 2))`},

		// Identifiers and space.
		{`(func $a)(;c;)(func(call $a)(call $"a")(call $"\61"));; comment`, `(func) (func call 0 call 0 call 0)`},
		{`(@a b)(func(@"a" (b) "c)") (local(@a) i32 (@b)))`, `(func (local i32))`},
		{`(@custom "x" "y" "z") (func)`, `(func) (@custom "x" (after last) "yz")`},
		{`(func) (@custom "a" (before code) "1") (@custom "b" (after import)) (@custom "c" (before first)) (@custom "d" (after func) "2")`,
			`(@custom "c" (before first)) (func) (@custom "b" (after import)) (@custom "d" (after func) "2") (@custom "a" (before code) "1")`},
	} {
		short, err := Assemble([]byte(row.short))
		if want, ok := strings.CutPrefix(row.long, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", row.short, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.short, err)
			continue
		}
		long, err := Assemble([]byte(row.long))
		if err != nil {
			t.Errorf("%s: %v", row.long, err)
			continue
		}
		if got, want := withoutNames(t, short.Wasm), withoutNames(t, long.Wasm); !bytes.Equal(got, want) {
			t.Errorf("%s\n%s:\n%x\n%x", row.short, row.long, got, want)
		}
	}
}

// TestBytes: modules as bytes, written down by hand.
func TestBytes(t *testing.T) {
	const header = "\x00asm\x01\x00\x00\x00"
	for _, row := range []struct{ text, want string }{
		{``, header},
		{`(module $m)`, header + "\x00\x09\x04name\x00\x02\x01m"},
		{`(func $f (param $p i32) (local $l i64) (block $b))`, header + "\x01\x05\x01\x60\x01\x7F\x00" + "\x03\x02\x01\x00" + "\x0A\x09\x01\x07\x01\x01\x7E\x02\x40\x0B\x0B" +
			"\x00\x1E\x04name" + "\x01\x04\x01\x00\x01f" + "\x02\x09\x01\x00\x02\x00\x01p\x01\x01l" + "\x03\x06\x01\x00\x01\x00\x01b"},
		{`(type $t (func)) (memory $m 1) (table $s 1 funcref) (global $g i32 (i32.const -1)) (data $d) (elem $e func)`, header +
			"\x01\x04\x01\x60\x00\x00" + "\x04\x04\x01\x70\x00\x01" + "\x05\x03\x01\x00\x01" + "\x06\x06\x01\x7F\x00\x41\x7F\x0B" + "\x09\x04\x01\x01\x00\x00" + "\x0B\x03\x01\x01\x00" +
			"\x00\x29\x04name" + "\x04\x04\x01\x00\x01t" + "\x05\x04\x01\x00\x01s" + "\x06\x04\x01\x00\x01m" + "\x07\x04\x01\x00\x01g" + "\x08\x04\x01\x00\x01e" + "\x09\x04\x01\x00\x01d"},
		{`(module $m (@name "n") (func $f (@name "g") (param (@name "p") i32)) (func (@name "g")))`, header + "\x01\x08\x02\x60\x01\x7F\x00\x60\x00\x00" + "\x03\x03\x02\x00\x01" + "\x0A\x07\x02\x02\x00\x0B\x02\x00\x0B" +
			"\x00\x1A\x04name" + "\x00\x02\x01n" + "\x01\x07\x02\x00\x01g\x01\x01g" + "\x02\x06\x01\x00\x01\x00\x01p"},
		{`(import "m" "n" (tag $e (param i32))) (memory 0) (tag (@name "f") (type 0)) (export "e" (tag 1)) (func try_table (catch 0 0) (catch_all_ref 0) throw 1 end)`, header +
			"\x01\x08\x02\x60\x01\x7F\x00\x60\x00\x00" + "\x02\x08\x01\x01m\x01n\x04\x00\x00" + "\x03\x02\x01\x01" + "\x05\x03\x01\x00\x00" + "\x0D\x03\x01\x00\x00" + "\x07\x05\x01\x01e\x04\x01" +
			"\x0A\x0F\x01\x0D\x00\x1F\x40\x02\x00\x00\x00\x03\x00\x08\x01\x0B\x0B" + "\x00\x0E\x04name" + "\x0B\x07\x02\x00\x01e\x01\x01f"},
		{`(func try try delegate 0 catch 3 rethrow 0 catch_all end)`, header + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x0A\x10\x01\x0E\x00" + "\x06\x40\x06\x40\x18\x00\x07\x03\x09\x00\x19\x0B" + "\x0B"},
		{`(tag $e (param exnref (ref exn) nullexnref (ref noexn)))`, header + "\x01\x0A\x01\x60\x04\x69\x64\x69\x74\x64\x74\x00" + "\x0D\x03\x01\x00\x00" + "\x00\x0B\x04name" + "\x0B\x04\x01\x00\x01e"},
		{`(type $a (array (mut i16))) (rec (type $s (sub (struct (field $x i8) (field (mut i32) (ref $t)) (field (@name "y") (ref null $a))))) (type $t (sub final $s (struct))))`, header +
			"\x01\x19\x02" + "\x5E\x77\x01" + "\x4E\x02" + "\x50\x00\x5F\x04\x78\x00\x7F\x01\x64\x02\x00\x63\x00\x00" + "\x4F\x01\x01\x5F\x00" +
			"\x00\x1C\x04name" + "\x04\x0A\x03\x00\x01a\x01\x01s\x02\x01t" + "\x0A\x09\x01\x01\x02\x00\x01x\x03\x01y"},
		{`(type (sub 0 1 (func)))`, header + "\x01\x08\x01\x50\x02\x00\x01\x60\x00\x00"},
		{`(type (array i8)) (data) (func array.new_data 0 0)`, header + "\x01\x07\x02\x5E\x78\x00\x60\x00\x00" + "\x03\x02\x01\x01" + "\x0C\x01\x01" + "\x0A\x08\x01\x06\x00\xFB\x09\x00\x00\x0B" + "\x0B\x03\x01\x01\x00"},
		{`(func array.init_data 0 0)`, header + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x0C\x01\x00" + "\x0A\x08\x01\x06\x00\xFB\x12\x00\x00\x0B"},
		{`(start 0) (func) (data) (func (data.drop 0))`, header + "\x01\x04\x01\x60\x00\x00" + "\x03\x03\x02\x00\x00" + "\x08\x01\x00" + "\x0C\x01\x01" + "\x0A\x0A\x02\x02\x00\x0B\x05\x00\xFC\x09\x00\x0B" + "\x0B\x03\x01\x01\x00"},
		{`(memory 1) (memory 1) (func i32.load 1 offset=300 align=1)`, header + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x05\x02\x00\x01\x00\x01" + "\x0A\x09\x01\x07\x00\x28\x40\x01\xAC\x02\x0B"},
		{`(func i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 31 i8x16.relaxed_swizzle i16x8.extract_lane_s 7 br_table 1 0 2)`, header + "\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" +
			"\x0A\x21\x01\x1F\x00\xFD\x0D\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x1F" + "\xFD\x80\x02" + "\xFD\x18\x07" + "\x0E\x02\x01\x00\x02" + "\x0B"},
	} {
		m, err := Assemble([]byte(row.text))
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
		} else if string(m.Wasm) != row.want {
			t.Errorf("%s:\n%x\n%x", row.text, m.Wasm, row.want)
		}
	}
}

// TestErrors: each error with its place, what was found and what was expected.
func TestErrors(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`(module`, `1:8: unexpected token end of text, expected )`},
		{`(module))`, `1:9: unexpected token ")", expected the end of the text`},
		{`(module) (module)`, `1:10: unexpected token "(", expected the end of the text`},
		{`(func`, `1:6: unexpected token end of text, expected )`},
		{`(func (nop)`, `1:12: unexpected token end of text, expected )`},
		{`(func (nop`, `1:11: unexpected token end of text, expected the end of the list that begins at 1:7`},
		{`(module instance)`, `1:9: unexpected token instance, expected a field of a module`},
		{`(module definition)`, `1:9: unexpected token definition, expected a field of a module`},
		{`(module definition binary "")`, `1:9: unexpected token definition, expected a field of a module`},
		{`(module binary x)`, `1:16: unknown operator x, expected )`},
		{"\n (what)", `2:3: unknown operator what, expected a field of a module`},
		{`x`, `1:1: unknown operator x, expected a field of a module`},
		{`"x"`, `1:1: unexpected token "x", expected a field of a module`},
		{`(then)`, `1:2: unexpected token then, expected a field of a module`},
		{`()`, `1:2: unexpected token ")", expected a field of a module`},
		{`(func $f) (func $f)`, `1:17: duplicate function $f`},
		{`(table funcref (elem)) (elem $e func) (elem $e func)`, `1:45: duplicate elem segment $e`},
		{`(func (param $x i32) (local $"x" i32))`, `1:29: duplicate local $"x"`},
		{`(func (call $f))`, `1:13: unknown function $f`},
		{`(func (local.get $f))`, `1:18: unknown local $f`},
		{`(func (type $t))`, `1:13: unknown type $t`},
		{`(func (br $l))`, `1:11: unknown label $l`},
		{`(func (block $l) (br $l))`, `1:22: unknown label $l`},
		{`(func (global.get 4294967296))`, `1:19: i32 constant out of range 4294967296`},
		{`(func (call))`, `1:12: unexpected token ")", expected the index of a function`},
		{`(func (br -1))`, `1:11: unexpected token -1, expected a label`},
		{`(func (type 0) (param i32)) (type (func))`, `1:7: inline function type does not match explicit type`},
		{`(func (type 1) (param i32)) (type (func))`, `1:7: unknown type`},
		{`(func (type 1) (local $x i32) (local.get $x)) (type (func))`, `1:42: unknown type of the function, whose parameters come before $x`},
		{`(func (result i32) (param i32))`, `1:21: unexpected token param, expected parameters before results`},
		{`(type (func (result $x i32)))`, `1:21: unexpected token $x, expected a type`},
		{`(func (param i33))`, `1:14: unknown operator i33, expected a type`},
		{`(table 1 i32)`, `1:10: unexpected token i32, expected a reference type`},
		{`(global i32)`, ``},
		{`(memory)`, `1:8: unexpected token ")", expected a minimum`},
		{`(memory 1 2 3)`, `1:13: unexpected token 3, expected )`},
		{`(memory -1)`, `1:9: unexpected token -1, expected a minimum`},
		{`(memory 18446744073709551616)`, `1:9: i64 constant out of range 18446744073709551616`},
		{`(import "a" (func))`, `1:13: unexpected token "(", expected the name of an import`},
		{`(import "a" "\ff" (func))`, `1:13: malformed UTF-8 encoding`},
		{`(import "a" "b")`, `1:16: unexpected token ")", expected the kind of an import`},
		{`(import "a" "b" (type))`, `1:18: unexpected token type, expected the kind of an import`},
		{`(memory 1) (import "a" "b" (func))`, `1:12: import after memory`},
		{`(func) (func (import "a" "b"))`, `1:8: import after function`},
		{`(export "a" (func $f))`, `1:19: unknown function $f`},
		{`(export "a" func)`, `1:13: unexpected token func, expected the kind of an export`},
		{`(func (@name "x") (@name "y"))`, `1:19: misplaced @name annotation`},
		{`(start 0) (start 0)`, `1:11: multiple start sections`},
		{`(elem 0)`, `1:8: unexpected token ")", expected an operator in parentheses`},
		{`(elem $e $f)`, `1:10: unknown table $f`},
		{`(elem)`, `1:6: unexpected token ")", expected func or a reference type`},
		{`(elem funcref 0)`, `1:15: unexpected token 0, expected an operator in parentheses`},
		{`(elem func (ref.func 0))`, `1:12: unexpected token "(", expected the index of a function`},
		{`(data x)`, `1:7: unknown operator x, expected )`},
		{`(func what)`, `1:7: unknown operator what, expected an operator or )`},
		{`(func (what))`, `1:8: unknown operator what, expected an operator`},
		{`(func end)`, `1:7: unexpected token end, expected an operator or )`},
		{`(func else)`, `1:7: unexpected token else, expected an operator or )`},
		{`(func (end))`, `1:8: unexpected token end, expected an operator in parentheses`},
		{`(func block)`, `1:12: unexpected token ")", expected an operator or end`},
		{`(func block else end)`, `1:13: unexpected token else, expected an operator or end`},
		{`(func if else else end)`, `1:15: unexpected token else, expected an operator or end`},
		{`(func block $a end $b)`, `1:20: mismatching label $b`},
		{`(func if $a else $b end)`, `1:18: mismatching label $b`},
		{`(func (block end))`, `1:14: unexpected token end, expected an operator or )`},
		{`(func (if (i32.const 1)))`, `1:24: unexpected token ")", expected an operator in parentheses, or (then`},
		{`(func (if (then) (then)))`, `1:19: unexpected token then, expected (else or )`},
		{`(func (if (then) (else) (else)))`, `1:26: unexpected token else, expected )`},
		{`(func (if (then) nop))`, `1:18: unexpected token nop, expected (else or )`},
		{`(func (drop nop))`, `1:13: unexpected token nop, expected an operator in parentheses, or )`},
		{`(func (nop) (local i32))`, `1:14: unexpected token local, expected an operator`},
		{`(func "x")`, `1:7: unexpected token "x", expected an operator or )`},
		{"(func \"\u009b\u202e\")", `1:7: unexpected token "\"\u009b\u202e\"", expected an operator or )`},
		{`(func 5)`, `1:7: unexpected token 5, expected an operator or )`},
		{`(func (block (param $x i32)))`, `1:21: unexpected token $x, expected a type`},
		{`(func (i32.const 1x))`, `1:18: unknown operator 1x, expected an integer of 32 bits`},
		{`(func (i32.const 1.5))`, `1:18: unexpected token 1.5, expected an integer of 32 bits`},
		{`(func (i32.const 0x100000000))`, `1:18: constant out of range 0x100000000`},
		{`(func (f64.const 1e999))`, `1:18: constant out of range 1e999`},
		{`(func (i32.load align=3))`, `1:17: alignment must be a power of two align=3`},
		{`(func (i32.load align=0))`, `1:17: alignment must be a power of two align=0`},
		{`(func (i32.load align=1 offset=1))`, `1:25: unexpected token offset=1, expected an operator in parentheses, or )`},
		{`(func (i32.load by=1))`, `1:17: unknown operator by=1, expected an operator in parentheses, or )`},
		{`(func (i32.load offset=0x1_0000_0000_0000_0000))`, `1:17: i64 constant out of range offset=0x1_0000_0000_0000_0000`},
		{`(func (v128.const i8x16 1))`, `1:26: wrong number of lane literals, expected 16 instead of 1`},
		{`(func (v128.const i64x2 1 2 3))`, `1:30: wrong number of lane literals, expected 2 instead of 3`},
		{`(func (v128.const i64x2 1 2.0))`, `1:27: unexpected token 2.0, expected an integer`},
		{`(func (v128.const i8x16 256 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0))`, `1:25: constant out of range 256`},
		{`(func (i8x16.shuffle 0 1))`, `1:25: invalid lane length, expected 16 instead of 2`},
		{`(func (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 256))`, `1:57: i8 constant out of range 256`},
		{`(func (i8x16.extract_lane_s -1))`, `1:29: unexpected token -1, expected the number of a lane`},
		{`(func (ref.null i32))`, `1:17: unexpected token i32, expected func, extern, any and so on, or the index of a type`},
		{`(tag $e) (import "a" "b" (tag))`, `1:10: import after tag`},
		{`(tag $e) (tag $e)`, `1:15: duplicate tag $e`},
		{`(tag $e (param $x i32) (result))`, ``},
		{`(tag i32)`, `1:6: unexpected token i32, expected )`},
		{`(tag (type $t))`, `1:12: unknown type $t`},
		{`(export "a" (tag $e))`, `1:18: unknown tag $e`},
		{`(func (throw))`, `1:13: unexpected token ")", expected the index of a tag`},
		{`(func (throw $e))`, `1:14: unknown tag $e`},
		{`(func (try_table $l (catch_all $l)))`, `1:32: unknown label $l`},
		{`(func (try_table (catch 0)))`, `1:26: unexpected token ")", expected a label`},
		{`(func (try_table (catch_all 0 1)))`, `1:31: unexpected token 1, expected )`},
		{`(func (try_table (catch_all 0) (nop) (catch_all 0)))`, `1:39: unexpected token catch_all, expected an operator in parentheses`},
		{`(func (try_table (catch_none 0)))`, `1:19: unknown operator catch_none, expected an operator`},
		{`(func (try_table (do)))`, `1:19: unexpected token do, expected an operator`},
		{`(func try_table catch_all end)`, `1:17: unexpected token catch_all, expected an operator or end`},
		{`(func catch 0)`, `1:7: unexpected token catch, expected an operator or )`},
		{`(func (catch 0))`, `1:8: unexpected token catch, expected an operator in parentheses`},
		{`(func (delegate 0))`, `1:8: unexpected token delegate, expected an operator in parentheses`},
		{`(func try catch_all catch_all end)`, `1:21: unexpected token catch_all, expected an operator or end`},
		{`(func try catch_all catch 0 end)`, `1:21: unexpected token catch, expected an operator or end`},
		{`(func try catch 0 delegate 0 end)`, `1:19: unexpected token delegate, expected an operator, catch, catch_all or end`},
		{`(func try else end)`, `1:11: unexpected token else, expected an operator, catch, catch_all, delegate or end`},
		{`(func try $a catch_all $b end)`, `1:24: mismatching label $b`},
		{`(func try $a delegate $a)`, `1:23: unknown label $a`},
		{`(func (try))`, `1:11: unexpected token ")", expected (do`},
		{`(func (try (nop)))`, `1:13: unexpected token nop, expected (do`},
		{`(func (try (do) (do)))`, `1:18: unexpected token do, expected (catch, (catch_all, (delegate or )`},
		{`(func (try (do) (nop)))`, `1:18: unexpected token nop, expected (catch, (catch_all, (delegate or )`},
		{`(func (try (do) (catch 0) (delegate 0)))`, `1:28: unexpected token delegate, expected (catch, (catch_all or )`},
		{`(func (try (do) (catch_all) (catch 0)))`, `1:30: unexpected token catch, expected )`},
		{`(func (try (do) (delegate 0) (catch_all)))`, `1:31: unexpected token catch_all, expected )`},
		{`(func (try (do) (delegate)))`, `1:26: unexpected token ")", expected a label`},
		{`(func (br_table))`, `1:16: unexpected token ")", expected a label`},
		{`(func (table.copy 0))`, `1:20: unexpected token ")", expected the index of a table`},
		{`(func (nop (@custom "x")))`, `1:12: misplaced @custom annotation`},
		{`(@custom "x" (after what))`, `1:21: @custom annotation: malformed section kind`},
		{`(@custom "x" (after first))`, `1:21: @custom annotation: malformed section kind`},
		{`(@custom "x" "y" z)`, `1:18: @custom annotation: unexpected token z, expected )`},
		{`(func $` + strings.Repeat("é", 30) + `)`, `1:7: empty identifier`},
		{`(call ` + strings.Repeat("x", 100) + `)`, `1:2: unexpected token call, expected a field of a module`},
		{`(func ` + strings.Repeat("x", 100) + `)`, `1:7: unknown operator ` + strings.Repeat("x", 40) + `..., expected an operator or )`},

		// Garbage collection.
		{`(type)`, `1:6: unexpected token ")", expected (func, (struct, (array or (sub`},
		{`(type $t i32)`, `1:10: unexpected token i32, expected (func, (struct, (array or (sub`},
		{`(type (mut i32))`, `1:8: unexpected token mut, expected (func, (struct, (array or (sub`},
		{`(type (sub))`, `1:11: unexpected token ")", expected (func, (struct, (array or (sub`},
		{`(type (sub open (func)))`, `1:12: unknown operator open, expected (func, (struct, (array or (sub`},
		{`(type (sub 0 final (func)))`, `1:14: unexpected token final, expected (func, (struct, (array or (sub`},
		{`(type (sub (sub (func))))`, `1:13: unexpected token sub, expected (func, (struct, (array or (sub`},
		{`(type (sub (func) (func)))`, `1:19: unexpected token "(", expected )`},
		{`(type (sub $t (func)))`, `1:12: unknown type $t`},
		{`(type (func) (func))`, `1:14: unexpected token "(", expected )`},
		{`(rec (type (sub (func))) (type))`, `1:31: unexpected token ")", expected (func, (struct, (array or (sub`},
		{`(rec (rec))`, `1:7: unexpected token rec, expected (type`},
		{`(rec $r (type (func)))`, `1:6: unexpected token $r, expected (type`},
		{`(rec (type $t (func)) (type $t (func)))`, `1:29: duplicate type $t`},
		{`(type (struct (field $x i32) (field $y i32) (field $x i64)))`, `1:52: duplicate field $x`},
		{`(type (struct (field $x i32) (field i32 $x i64)))`, `1:41: unexpected token $x, expected a type`},
		{`(type (struct (field $x)))`, `1:24: unexpected token ")", expected a type`},
		{`(type (struct (field $x i32 i32)))`, `1:29: unexpected token i32, expected )`},
		{`(type (struct i32))`, `1:15: unexpected token i32, expected )`},
		{`(type (struct (field (mut))))`, `1:26: unexpected token ")", expected a type`},
		{`(type (struct (field (mut i8 i8))))`, `1:30: unexpected token i8, expected )`},
		{`(type (struct (field (mut (mut i8)))))`, `1:27: unexpected token "(", expected a type`},
		{`(type (array))`, `1:13: unexpected token ")", expected a type`},
		{`(type (array i8 i8))`, `1:17: unexpected token i8, expected )`},
		{`(type (array (field i8)))`, `1:14: unexpected token "(", expected a type`},
		{`(func (param i8))`, `1:14: unexpected token i8, expected a type`},
		{`(global (mut i16) (i32.const 0))`, `1:14: unexpected token i16, expected a type`},
		{`(table 1 i31)`, `1:10: unexpected token i31, expected a type`},
		{`(global (ref struct) (struct.new $t))`, `1:34: unknown type $t`},
		{`(type $s (struct (field $x i32))) (type $t (struct (field $y i32))) (func struct.get $s $x struct.get $t $y struct.get $t $x)`, `1:123: unknown field $x`},
		{`(type $s (struct (field $x i32))) (func struct.get 1 $x)`, `1:54: unknown field $x`},
		{`(type $s (struct (field $x i32))) (func struct.get $s)`, `1:54: unexpected token ")", expected the index of a field`},
		{`(type $a (array i32)) (func array.new_fixed $a)`, `1:47: unexpected token ")", expected a number of elements`},
		{`(type $a (array i32)) (func array.new_fixed $a 4294967296)`, `1:48: i32 constant out of range 4294967296`},
		{`(func array.copy 0)`, `1:19: unexpected token ")", expected the index of a type`},
		{`(func array.new_data 0 $d)`, `1:24: unknown data segment $d`},
		{`(func array.init_elem 0 $e)`, `1:25: unknown elem segment $e`},
		{`(func ref.test 0)`, `1:16: unexpected token 0, expected a type`},
		{`(func ref.cast i32)`, `1:16: unexpected token i32, expected a reference type`},
		{`(func br_on_cast 0 anyref)`, `1:26: unexpected token ")", expected a type`},
		{`(func br_on_cast $l anyref anyref)`, `1:18: unknown label $l`},
		{`(type $s (struct)) (func (type $s) (param i32))`, `1:26: inline function type does not match explicit type`},

		// What proposals have.
		{`(type (cont 0))`, `1:8: unsupported cont (needs the feature stack-switching, which is not supported)`},
		{`(rec (type (func)) (type (sub (cont 0))))`, `1:32: unsupported cont (needs the feature stack-switching, which is not supported)`},
		{`(type (descriptor 0 (struct)))`, `1:8: unsupported descriptor (needs the feature custom-descriptors, which is not supported)`},
		{`(type (shared (struct)))`, `1:8: unsupported shared (needs the feature threads, which is not supported)`},
		{`(func (param contref))`, `1:14: unsupported contref (needs the feature stack-switching, which is not supported)`},
		{`(type (struct (field stringref)))`, `1:22: unsupported stringref (needs the feature stringref, which is not supported)`},
		{`(func (param (ref null $t)))`, `1:24: unknown type $t`},
		{`(func (param (ref 4000000000)))`, `1:19: unknown type`},
		{`(rec (func))`, `1:7: unexpected token func, expected (type`},
		{`(func (ref.null cont))`, `1:17: unsupported cont (needs the feature stack-switching, which is not supported)`},
		{`(memory i64 1)`, `1:9: unsupported i64 (needs the feature memory64, which is not supported)`},
		{`(memory 1 1 shared)`, `1:13: unsupported shared (needs the feature threads, which is not supported)`},
		{`(memory 1 (pagesize 1))`, `1:12: unsupported pagesize (needs the feature custom-page-sizes, which is not supported)`},
		{`(func (i32.atomic.load (i32.const 0)))`, `1:8: unsupported i32.atomic.load (needs the feature threads, which is not supported)`},
	} {
		_, err := Assemble([]byte(row.text))
		if got := ""; err != nil {
			if got = err.Error(); got != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.text, got, row.want)
			}
		} else if row.want != "" {
			t.Errorf("%s: no error, want %s", row.text, row.want)
		}
	}
}

// TestPlaces: the decoder's and the validator's errors have a place in the text.
func TestPlaces(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"(module\n (func\n  (i32.add\n   (i32.const 1)\n   (i64.const 2))))", "3:4"},
		{"(func\n i32.const 1\n  (if (then) (else (nop)\n   drop)))", "4:4"},
		{"(func (result i32)\n (block (result i64)\n  (i64.const 1))\n)", "4:1"},
		{"(func (result i32)\n block\n  end  )", "3:8"},
		{"(func (block (result i32)\n  (nop)\n    ))", "3:5"},
		{"(func)\n\n(func (type 3))", "3:1"},
		{"(func (local i32)\n  (block\n (call 7)))", "3:3"},
		{"(func\n\n (local.get 1))", "3:3"},
		{"(memory 1)\n\n   (memory 70000)", "3:4"},
		{"(global i32\n  (i64.const 1))", "2:16"},
		{"(global i32 (i32.const 0))\n (global i32\n  (i32.add (i32.const 1)\n   (i32.eqz (i32.const 1))))", "4:5"},
		{"(export \"a\" (func 0))\n (func)\n (export \"a\" (func 0))", "3:2"},
		{"(func (export \"a\")\n (export \"b\")\n (export \"a\"))", "3:2"},
		{"(import \"a\" \"b\" (func))\n (import \"a\" \"b\" (func (type 9)))", "2:2"},
		{"(table 1 funcref)\n (elem (i32.const 0) func 0)", "2:27"},
		{"(table 1 funcref) (func)\n (elem (i32.const 0) funcref\n  (ref.func 0) (ref.func 5))", "3:17"},
		{"(data (i32.const 0)\n \"x\")", "1:1"},
		{"(memory 1) (data\n (i64.const 0))", "2:15"},
		{"(func)\n(start\n 4)", "2:1"},
		{"(func (memory.init 0 (i32.const 0)\n (i32.const 0) (i32.const 0)))", "1:8"},
		{"(module $m (func $f\n (if\n (then))))", "2:3"},
		{"(tag)\n (tag\n (result i32))", "2:2"},
		{"(type (struct))\n(rec (type (func))\n (type\n (sub 0 (struct))))", "3:2"},
		{"(type (struct (field\n (ref 7))))", "1:1"},
		{"(rec\n (type (func)) (type (sub\n 2 (func))))", "2:16"},
		{"(rec (type (func)) (type (func)))\n (func (drop\n  (struct.new 2)))", "3:4"},
		{"(rec (type (func)) (type (func)))\n (type (sub final 1 (func)))", "2:2"},
		{"(func\n (try (do)\n  (catch_all\n   (i32.const 1))))", "4:18"},
		{"(func (try (do (i32.const 1))\n (catch_all)))", "2:3"},
		{"(func (try (do)\n (delegate 5)))", "2:3"},
		{"(func try\n  delegate 5)", "2:3"},
		{"(tag (param i32)) (func\n (try_table\n (catch 0 0)))", "2:3"},
	} {
		m, err := Assemble([]byte(row.text))
		if err != nil {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		_, err = validate.All(m.Wasm, validate.Config{Features: wasmfront.DecodableFeatures})
		e, ok := err.(*wasmfront.Error)
		if !ok {
			t.Errorf("%s: %v", row.text, err)
			continue
		}
		if p, ok := m.Place(e.Offset); !ok || p.String() != row.want {
			t.Errorf("%s: %v is at %s, want %s", row.text, err, p, row.want)
		}
	}
	m, err := Assemble([]byte(`(module binary "\00asm\01\00\00\00\ff")`))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := m.Place(8); ok {
		t.Errorf("a module in its binary form has the place %s", p)
	}
}

// TestLarge: texts that nest or repeat something take time in proportion to their length, and no stack. Eight times the text may take 16
// times as long, and 10 ms.
func TestLarge(t *testing.T) {
	repeat := func(s string, n int) string { return strings.Repeat(s, n/len(s)+1) }
	nested := func(before, open, inside, closing, after string) func(int) string {
		return func(size int) string {
			n := size/(len(open)+len(closing)) + 1
			return before + strings.Repeat(open, n) + inside + strings.Repeat(closing, n) + after
		}
	}
	for _, row := range []struct {
		name string
		ok   bool
		text func(size int) string
	}{
		{"parentheses", false, func(n int) string { return repeat("(", n) }},
		{"forms", false, func(n int) string { return repeat("(module ", n) }},
		{"fields", true, func(n int) string { return repeat("(func)", n) }},
		{"types", true, func(n int) string { return repeat("(type (func (param i32)))", n) }},
		{"a group", true, func(n int) string {
			return "(rec " + numbered(n/8, "(type $t%[1]d (sub (struct (field $x (ref $t0)))))") + ")"
		}},
		{"groups", true, func(n int) string {
			return numbered(n/8, "(rec (type $t%[1]d (struct)) (type $u%[1]d (array (ref $t%[1]d))))")
		}},
		{"later types", true, func(n int) string {
			return "(rec (type (struct " + numbered(n/8, "(field (ref $t%d))") + "))" + numbered(n/8, "(type $t%d (array i8))") + ")"
		}},
		{"fields", true, func(n int) string { return "(type (struct (field " + repeat("(mut i8)", n) + ")))" }},
		{"names of fields", true, func(n int) string {
			return "(type $s (struct " + numbered(n/8, "(field $x%d i32)") + ")) (func " + numbered(n/8, "struct.get $s $x%d ") + ")"
		}},
		{"supertypes", true, func(n int) string { return "(type (sub " + repeat("0 ", n) + "(func)))" }},
		{"implicit types", true, func(n int) string { return "(rec (type (func)) (type (func)))" + repeat("(func)", n) }},
		{"open blocks", false, func(n int) string { return "(func " + repeat("(block ", n) }},
		{"lists", true, nested("(func ", "(block ", "", ")", ")")},
		{"labels", true, nested("(func ", "(block $x (br $x)", "", ")", ")")},
		{"outermost label", true, nested("(func (block $y ", "(block $x (br $y)", "", ")", "))")},
		{"ends", true, nested("(func ", "block $l ", "nop ", "end $l ", ")")},
		{"operands", true, nested("(func ", "(i32.eqz ", "", ")", ")")},
		{"conditions", true, nested("(func ", "(if ", "", "(then))", ")")},
		{"thens", true, nested("(func ", "(if (then ", "", "))", ")")},
		{"trys", true, nested("(func ", "(try $x (do (rethrow $x)", "", ") (catch_all))", ")")},
		{"delegates", true, nested("(func ", "try $x ", "", "delegate 0 ", ")")},
		{"catches", true, func(n int) string { return "(tag $e) (func try " + repeat("catch $e ", n) + "end)" }},
		{"clauses", true, func(n int) string { return "(tag $e) (func (try_table " + repeat("(catch $e 0)", n) + "))" }},
		{"tags", true, func(n int) string { return repeat("(tag)", n) }},
		{"offset", true, nested("(data ", "(i32.add ", "", ")", ")")},
		{"items", false, func(n int) string { return "(elem funcref " + repeat("(item ", n) }},
		{"comments", true, nested("", "(;", "", ";)", "")},
		{"annotations", true, nested("", "(@a ", "", ")", "")},
		{"locals", true, func(n int) string { return "(func " + repeat("(local i32 i64)", n) + ")" }},
		{"string", true, func(n int) string { return `(data "` + repeat(`\00a\u{e9}`, n) + `")` }},
		{"strings", true, func(n int) string { return `(data ` + repeat(`"a" `, n) + `)` }},
		{"targets", true, func(n int) string { return "(func br_table " + repeat("0 ", n) + ")" }},
		{"lanes", false, func(n int) string { return "(func v128.const i8x16 " + repeat("0 ", n) + ")" }},
		{"digits", false, func(n int) string { return "(func i32.const " + repeat("1", n) + ")" }},
		{"decimals", true, func(n int) string { return "(func f64.const 0." + repeat("1", n) + ")" }},
		{"quotes", false, func(n int) string { return `(module quote ` + repeat(`"(module quote " `, n) + `)` }},
	} {
		took := func(size int, enough time.Duration) time.Duration {
			text := []byte(row.text(size))
			return cputime.LeastShort(enough, func() {
				if _, err := Assemble(text); (err == nil) != row.ok {
					t.Fatalf("%s: %v", row.name, err)
				}
			})
		}
		const size, times = 1 << 15, 8
		small := took(size, time.Hour)
		limit := 2*times*small + 10*time.Millisecond
		if large := took(times*size, limit); large > limit {
			t.Errorf("%s: %s, and %s for a text %d times as long", row.name, small, large, times)
		}
	}
}

// samples are immediates of each form in the text, and their bytes.
var samples = map[wasmfront.ImmKind]struct{ text, bytes string }{
	wasmfront.ImmNone:         {"", ""},
	wasmfront.ImmBlock:        {"(result i32) end", "\x7F\x0B"},
	wasmfront.ImmTryTable:     {"(result i32) (catch 300 0) (catch_ref 1 0) (catch_all 0) (catch_all_ref 0) end", "\x7F\x04\x00\xAC\x02\x00\x01\x01\x00\x02\x00\x03\x00\x0B"},
	wasmfront.ImmTag:          {"300", "\xAC\x02"},
	wasmfront.ImmLabel:        {"0", "\x00"},
	wasmfront.ImmBrTable:      {"0 1 2", "\x02\x00\x01\x02"},
	wasmfront.ImmFunc:         {"300", "\xAC\x02"},
	wasmfront.ImmType:         {"300", "\xAC\x02"},
	wasmfront.ImmCallIndirect: {"3 (type 0)", "\x00\x03"},
	wasmfront.ImmLocal:        {"5", "\x05"},
	wasmfront.ImmGlobal:       {"5", "\x05"},
	wasmfront.ImmTable:        {"5", "\x05"},
	wasmfront.ImmTable2:       {"5 6", "\x05\x06"},
	wasmfront.ImmElem:         {"5", "\x05"},
	wasmfront.ImmElemTable:    {"5 6", "\x06\x05"},
	wasmfront.ImmData:         {"5", "\x05"},
	wasmfront.ImmDataMem:      {"5 6", "\x06\x05"},
	wasmfront.ImmMem:          {"5", "\x05"},
	wasmfront.ImmMem2:         {"5 6", "\x05\x06"},
	wasmfront.ImmMemArg:       {"offset=0x81 align=1", "\x00\x81\x01"},
	wasmfront.ImmMemArgLane:   {"7 offset=1 align=2 3", "\x41\x07\x01\x03"},
	wasmfront.ImmI32:          {"-1", "\x7F"},
	wasmfront.ImmI64:          {"-65", "\xBF\x7F"},
	wasmfront.ImmF32:          {"1", "\x00\x00\x80\x3F"},
	wasmfront.ImmF64:          {"-1", "\x00\x00\x00\x00\x00\x00\xF0\xBF"},
	wasmfront.ImmV128:         {"i64x2 1 -2", "\x01\x00\x00\x00\x00\x00\x00\x00\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"},
	wasmfront.ImmShuffle:      {"0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 31", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C\x0D\x0E\x1F"},
	wasmfront.ImmLane:         {"1", "\x01"},
	wasmfront.ImmRefType:      {"extern", "\x6F"},
	wasmfront.ImmCast:         {"(ref 300)", "\xAC\x02"},
	wasmfront.ImmBrOnCast:     {"3 (ref null 300) (ref i31)", "\x01\x03\xAC\x02\x6C"},
	wasmfront.ImmField:        {"300 2", "\xAC\x02\x02"},
	wasmfront.ImmTypeCount:    {"300 200", "\xAC\x02\xC8\x01"},
	wasmfront.ImmType2:        {"300 2", "\xAC\x02\x02"},
	wasmfront.ImmTypeData:     {"300 2", "\xAC\x02\x02"},
	wasmfront.ImmTypeElem:     {"300 2", "\xAC\x02\x02"},
	wasmfront.ImmSelect:       {"(result i64)", "\x01\x7E"},
}

// TestOperators: each operator of the table is read, or named with the feature that it needs.
func TestOperators(t *testing.T) {
	read := 0
	for _, op := range wasmfront.Opcodes() {
		info := op.Info()
		name, _, _ := strings.Cut(info.Name, " ") // the words behind it are immediates
		sample, ok := samples[info.Imm]
		if op == wasmfront.OpRefTestNull || op == wasmfront.OpRefCastNull {
			sample.text = "(ref null 300)"
		}
		text := "(func " + name + " " + sample.text + ")"
		m, err := Assemble([]byte(text))
		if unsupported := info.Feature &^ wasmfront.DecodableFeatures; unsupported != 0 {
			if e, ok := err.(*Error); !ok || e.Feature != unsupported.String() {
				t.Errorf("%s: %v, want an error that names %s", text, err, unsupported)
			}
			continue
		}
		switch op {
		case wasmfront.OpElse, wasmfront.OpEnd, wasmfront.OpCatch, wasmfront.OpCatchAll, wasmfront.OpDelegate:
			continue // of no block here
		}
		want := string(encode.Opcode(nil, op)) + sample.bytes + "\x0B"
		switch {
		case !ok:
			t.Errorf("%s has immediates of a form without a sample", name)
		case err != nil:
			t.Errorf("%s: %v", text, err)
		case !strings.HasSuffix(string(m.Wasm), "\x00"+want):
			t.Errorf("%s: %x does not end in %x", text, m.Wasm, want)
		}
		read++
	}
	if read < 480 {
		t.Errorf("%d operators", read)
	}
}
