//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
)

// trapOf returns the code of the trap that an error is, and 0 for others.
func trapOf(err error) abi.TrapCode {
	var trap *inproc.Trap
	if errors.As(err, &trap) {
		return trap.Code
	}
	return 0
}

// hugeArrays are arrays of each size of elements, functions that make one of some length in each way, and functions that work on some elements of one of 1000.
func hugeArrays() string {
	var b strings.Builder
	b.WriteString(`(module (data $d "0123456789abcdef0123456789abcdef") (elem $e anyref (item (ref.null any)) (item (ref.null any)))`)
	for _, elem := range []string{"i8", "i16", "i32", "i64", "v128", "eqref", "anyref", "funcref"} {
		zero := "(ref.null any)"
		switch {
		case elem == "i8", elem == "i16":
			zero = "(i32.const 0)"
		case elem == "v128":
			zero = "(v128.const i64x2 0 0)"
		case elem == "eqref":
			zero = "(ref.null eq)"
		case elem == "funcref":
			zero = "(ref.null func)"
		case elem[0] == 'i':
			zero = "(" + elem + ".const 0)"
		}
		fmt.Fprintf(&b, "(type $%s (array (mut %[1]s)))", elem)
		fmt.Fprintf(&b, `(func (export "new %[1]s") (param i32) (result i32) (array.len (array.new $%[1]s %[2]s (local.get 0))))`, elem, zero)
		fmt.Fprintf(&b, `(func (export "default %s") (param i32) (result i32) (array.len (array.new_default $%[1]s (local.get 0))))`, elem)
		of := fmt.Sprintf("(array.new_default $%s (i32.const 1000))", elem)
		at := "(param $at i32) (param $n i32)"
		fmt.Fprintf(&b, `(func (export "fill %[1]s") %[2]s (array.fill $%[1]s %[3]s (local.get $at) %[4]s (local.get $n)))`, elem, at, of, zero)
		fmt.Fprintf(&b, `(func (export "copy %[1]s") %[2]s (array.copy $%[1]s $%[1]s %[3]s (local.get $at) %[3]s (i32.const 1) (local.get $n)))`, elem, at, of)
		fmt.Fprintf(&b, `(func (export "from %[1]s") %[2]s (array.copy $%[1]s $%[1]s %[3]s (i32.const 1) %[3]s (local.get $at) (local.get $n)))`, elem, at, of)
		switch elem {
		case "anyref":
			fmt.Fprintf(&b, `(func (export "segment %[1]s") %[2]s (drop (array.new_elem $%[1]s $e (local.get $at) (local.get $n))))`, elem, at)
			fmt.Fprintf(&b, `(func (export "init %[1]s") %[2]s (array.init_elem $%[1]s $e %[3]s (local.get $at) (i32.const 0) (local.get $n)))`, elem, at, of)
		case "i8", "i16", "i32", "i64", "v128":
			fmt.Fprintf(&b, `(func (export "segment %[1]s") %[2]s (drop (array.new_data $%[1]s $d (local.get $at) (local.get $n))))`, elem, at)
			fmt.Fprintf(&b, `(func (export "init %[1]s") %[2]s (array.init_data $%[1]s $d %[3]s (local.get $at) (i32.const 0) (local.get $n)))`, elem, at, of)
		}
	}
	b.WriteString(")")
	return b.String()
}

// TestHeapHugeArrays: arrays of lengths up to 2^32 - 1 are made, or there is a trap: soon, without memory for them, and the store stays usable. Operators on many elements trap where any of them is outside.
func TestHeapHugeArrays(t *testing.T) {
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		const limit = 8 << 20
		s, err := inproc.NewStore(inproc.Config{MaxHeapMemory: limit})
		if err != nil {
			t.Fatal(err)
		}
		h := &heapHost{TB: t, s: s, level: level}
		h.inst = h.instantiate(hugeArrays())
		before := resident(t)
		made, refused := 0, 0
		for elem, size := range map[string]uint64{"i8": 1, "i16": 2, "i32": 4, "i64": 8, "v128": 16, "eqref": 4, "anyref": 8, "funcref": 8} {
			lengths := []uint64{0, 1, 1000, limit / size / 2, limit / size, limit/size + 1}
			for k := range 33 {
				for _, d := range []int64{-1, 0, 1} {
					if n := 1<<k + d; n < 1<<32 {
						lengths = append(lengths, uint64(n))
					}
				}
			}
			for _, n := range lengths {
				for _, how := range []string{"new ", "default "} {
					r, err := h.call(how+elem, n)
					switch fits, over := n*size <= limit-(64<<10), n*size >= limit; {
					case err == nil && r == n && !over:
						made++
					case trapOf(err) == abi.TrapHeapExhausted && !fits:
						refused++
					default:
						t.Errorf("-O%d: %s%s of %d elements: %d, %v", level, how, elem, n, r, err)
					}
				}
			}
			for _, c := range [][2]uint64{{0, 1000}, {1000, 0}, {999, 1}, {1000, 1}, {1001, 0}, {math.MaxUint32, 0}, {0, math.MaxUint32}, {1, math.MaxUint32}, {math.MaxUint32, 1}, {math.MaxUint32, math.MaxUint32}, {1 << 31, 1 << 31}, {1 << 30, 1 << 30}} {
				for _, how := range []string{"fill ", "copy ", "from "} {
					in := c[0]+c[1] <= 1000
					if how != "fill " {
						in = in && c[1]+1 <= 1000
					}
					if _, err := h.call(how+elem, c[0], c[1]); in != (err == nil) || err != nil && trapOf(err) != abi.TrapArrayOutOfBounds {
						t.Errorf("-O%d: %s%s from %d on, %d elements: %v", level, how, elem, c[0], c[1], err)
					}
				}
				_, err := h.inst.Func("segment " + elem)
				if err != nil {
					continue
				}
				data, outside := uint64(32), abi.TrapMemoryOutOfBounds
				if elem == "anyref" {
					data, outside = 2*size, abi.TrapTableOutOfBounds
				}
				in := c[0]+c[1]*size <= data
				if elem == "anyref" {
					in = c[0]+c[1] <= 2
				}
				if _, err := h.call("segment "+elem, c[0], c[1]); in != (err == nil) || err != nil && trapOf(err) != outside {
					t.Errorf("-O%d: an array of %s of a segment from %d on, %d elements: %v", level, elem, c[0], c[1], err)
				}
				in = c[0]+c[1] <= 1000 && c[1]*size <= data
				if _, err := h.call("init "+elem, c[0], c[1]); in != (err == nil) || err != nil && trapOf(err) != outside && trapOf(err) != abi.TrapArrayOutOfBounds {
					t.Errorf("-O%d: elements of %s of a segment from %d on, %d elements: %v", level, elem, c[0], c[1], err)
				}
			}
		}
		if made < 300 || refused < 100 {
			t.Errorf("%d arrays made, %d refused", made, refused)
		}
		if took := resident(t) - before; took > 3*limit {
			t.Errorf("-O%d: %d MiB are resident for a heap of %d", level, took>>20, limit>>20)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fillers fill the heap: with what is kept in a list, with arrays of several sizes in each other, in a start function, in values of globals and in element segments.
const fillers = `
  (rec (type $node (sub (struct (field (mut (ref null $node))) (field (mut anyref))))))
  (type $bytes (array (mut i8)))
  (type $refs (array (mut anyref)))
  (global $keep (mut anyref) (ref.null any))
  (func $list (export "list") (local $r (ref null $node))
    (loop $l
      (local.set $r (struct.new $node (local.get $r) (ref.i31 (i32.const 1))))
      (br $l)))
  (func $kept (export "kept") (local $r (ref null $node))
    (loop $l
      (local.set $r (struct.new $node (local.get $r) (array.new $bytes (i32.const 1) (i32.const 100))))
      (global.set $keep (local.get $r))
      (br $l)))
  (func (export "large") (local $r (ref null $node))
    (loop $l
      (local.set $r (struct.new $node (local.get $r) (array.new $refs (local.get $r) (i32.const 40000))))
      (br $l)))
  (func (export "mixed") (local $r (ref null $node)) (local $n i32)
    (loop $l
      (local.set $n (i32.mul (i32.add (local.get $n) (i32.const 77)) (i32.const 1103515245)))
      (local.set $r (struct.new $node (local.get $r) (array.new $refs (local.get $r) (i32.shr_u (local.get $n) (i32.and (i32.const 31) (i32.add (i32.const 14) (i32.rem_u (local.get $n) (i32.const 18))))))))
      (br $l)))
  (func $deep (export "deep") (param $r anyref) (result anyref)
    (call $deep (struct.new $node (ref.null $node) (local.get $r))))
  (func (export "forget") (global.set $keep (ref.null any)))
  (func (export "fits") (param $n i32) (result i32) (array.len (array.new $bytes (i32.const 1) (local.get $n))))`

// TestHeapFull: code that makes objects for ever traps when the heap is full, wherever it runs. The process takes about twice the limit at most, what had been made before is there, and when that is forgotten the
// heap is as usable as a new one.
func TestHeapFull(t *testing.T) {
	if underRace {
		t.Skip("the race detector takes memory")
	}
	const limit, most = 16 << 20, 2*16<<20 + 16<<20
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		s, err := inproc.NewStore(inproc.Config{MaxHeapMemory: limit})
		if err != nil {
			t.Fatal(err)
		}
		h := &heapHost{TB: t, s: s, level: level}
		h.inst = h.instantiate("(module" + fillers + ")")
		debug.FreeOSMemory()
		before := resident(t)
		for range 2 {
			for _, name := range []string{"list", "kept", "large", "mixed", "deep"} {
				args := []uint64{0}[:0]
				if name == "deep" {
					args = []uint64{0}
				}
				_, err := h.call(name, args...)
				if code := trapOf(err); code != abi.TrapHeapExhausted && !(name == "deep" && code == abi.TrapStackOverflow) {
					t.Errorf("-O%d: %s: %v", level, name, err)
				}
				if took := resident(t) - before; took > most {
					t.Errorf("-O%d: %s: %d MiB are resident for a heap of %d", level, name, took>>20, limit>>20)
				}
				h.must("forget")
				if n := h.must("fits", limit-(512<<10)); n != limit-(512<<10) {
					t.Errorf("-O%d: an array of %d bytes after %s", level, n, name)
				}
			}
		}
		for name, module := range map[string]string{
			"start":   fillers + `(start $kept)`,
			"global":  `(type $a (array (mut i64))) (global (ref $a) (array.new $a (i64.const 1) (i32.const -1)))`,
			"globals": `(type $a (array (mut i64)))` + strings.Repeat(`(global (ref $a) (array.new_default $a (i32.const 300000)))`, 20),
			"elements": `(type $a (array (mut i64))) (table 20 anyref) (elem (i32.const 0) anyref ` +
				strings.Repeat(`(item (array.new_default $a (i32.const 300000)))`, 20) + ")",
			"passive": `(type $a (array (mut i64))) (elem anyref ` + strings.Repeat(`(item (array.new_default $a (i32.const 300000)))`, 20) + ")",
			"table":   `(type $a (array (mut i64))) (table 1 (ref $a) (array.new_default $a (i32.const -1)))`,
		} {
			if _, err := h.link("(module "+module+")", nil); trapOf(err) != abi.TrapHeapExhausted {
				t.Errorf("-O%d: %s: %v", level, name, err)
			}
			if took := resident(t) - before; took > most {
				t.Errorf("-O%d: %s: %d MiB are resident for a heap of %d", level, name, took>>20, limit>>20)
			}
			h.must("forget")
			// What is kept by an instance that was not made to the end counts until the store is closed: functions of it may be in tables of others.
			if _, err := h.call("fits", 100); err != nil && trapOf(err) != abi.TrapHeapExhausted {
				t.Errorf("-O%d: after %s: %v", level, name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHeapDeepTypes: of a chain of 63 supertypes each object is of all types above its own and of none below, nor of another chain.
func TestHeapDeepTypes(t *testing.T) {
	const depth = abi.MaxTypeDepth
	var b strings.Builder
	b.WriteString("(module ")
	for _, chain := range []string{"a", "b"} {
		for i := range depth {
			super := ""
			if i > 0 {
				super = fmt.Sprintf("$%s%d", chain, i-1)
			}
			field := map[string]string{"a": "i32", "b": "i64"}[chain]
			fmt.Fprintf(&b, "(type $%s%d (sub %s (struct (field %s))))\n", chain, i, super, field)
		}
	}
	b.WriteString(`(func $make (param $n i32) (result (ref struct))`)
	for range depth {
		b.WriteString("(block ")
	}
	b.WriteString("(local.get $n) (br_table")
	for i := range depth {
		fmt.Fprintf(&b, " %d", i)
	}
	b.WriteString(")")
	for i := range depth {
		fmt.Fprintf(&b, ") (return (struct.new_default $a%d))\n", i)
	}
	b.WriteString("(unreachable))")
	for _, chain := range []string{"a", "b"} {
		fmt.Fprintf(&b, `(func (export "%s") (param $n i32) (result i64) (local $o (ref null struct)) (local $r i64)
			(local.set $o (call $make (local.get $n)))`, chain)
		for i := range depth {
			fmt.Fprintf(&b, "(local.set $r (i64.or (local.get $r) (i64.shl (i64.extend_i32_u (ref.test (ref $%s%d) (local.get $o))) (i64.const %d))))\n", chain, i, i)
		}
		b.WriteString("(local.get $r))\n")
	}
	b.WriteString(")")
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		s, err := inproc.NewStore(inproc.Config{})
		if err != nil {
			t.Fatal(err)
		}
		h := &heapHost{TB: t, s: s, level: level}
		h.inst = h.instantiate(b.String())
		for n := range uint64(depth) {
			if r, want := h.must("a", n), uint64(1)<<n|(1<<n-1); r != want {
				t.Errorf("-O%d: an object of depth %d is of the types %b, want %b", level, n+1, r, want)
			}
			if r := h.must("b", n); r != 0 {
				t.Errorf("-O%d: an object of depth %d is of the types %b of another chain", level, n+1, r)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// manyTypes are modules with n types of structures.
var manyTypes = []struct {
	name string
	make func(b *strings.Builder, n int)
}{
	{"types", func(b *strings.Builder, n int) {
		for i := range n {
			b.WriteString("(type (struct")
			for k := range 20 {
				fmt.Fprintf(b, " (field i%d)", 32+32*(i>>k&1))
			}
			b.WriteString("))\n")
		}
	}},
	{"a recursion group", func(b *strings.Builder, n int) {
		b.WriteString("(rec")
		for i := range n {
			fmt.Fprintf(b, "(type (struct (field (ref null %d)) (field (mut (ref null %d)))))\n", (i+1)%n, i*7%n)
		}
		b.WriteString(")")
	}},
	{"chains", func(b *strings.Builder, n int) {
		for i := range n {
			if i%64 == 0 {
				fmt.Fprintf(b, "(type (sub (struct (field i32) (field (ref null %d)))))\n", max(i-1, 0))
			} else {
				fmt.Fprintf(b, "(type (sub %d (struct (field i32) (field (ref null %d)))))\n", i-1, max(i&^63-1, 0))
			}
		}
	}},
	{"types that each have two of the one before", func(b *strings.Builder, n int) {
		b.WriteString("(type (struct))")
		for i := range n - 1 {
			fmt.Fprintf(b, "(type (struct (field (ref null %d)) (field (ref null %[1]d))))\n", i)
		}
	}},
}

// TestHeapManyTypes: to make an instance of a module with many types, and to close it, takes time in proportion, and the table holds them all until then.
func TestHeapManyTypes(t *testing.T) {
	if underRace || os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("time of Go code, which the race detector makes longer: not in an emulator")
	}
	for _, f := range manyTypes {
		n := testenv.Cases(8_000, 20_000, 80_000)
		var per [2]time.Duration
		for k, n := range []int{n / 4, n} {
			var b strings.Builder
			b.WriteString("(module ")
			f.make(&b, n)
			b.WriteString(`(func (export "check") (result i32) (ref.test (ref 2) (struct.new_default 2))))`)
			m, err := wat.Assemble(b.String())
			if err != nil {
				t.Fatal(err)
			}
			img, err := image(m, opt.O0)
			if err != nil {
				t.Fatal(err)
			}
			mod, err := inproc.Load(img)
			if err != nil {
				t.Fatal(err)
			}
			took := cputime.Least(3, 0, func() {
				s, err := inproc.NewStore(inproc.Config{})
				if err != nil {
					t.Fatal(err)
				}
				h := &heapHost{TB: t, s: s}
				if h.inst, err = s.Instantiate(mod, nil); err != nil {
					t.Fatal(err)
				}
				if r := h.must("check"); r != 1 {
					t.Errorf("%s: %d", f.name, r)
				}
				if words := inproc.TypeWords(); int(words) < 2*n {
					t.Errorf("%s: %d words for %d types", f.name, words, n)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			})
			mod.Close()
			per[k] = took / time.Duration(n)
		}
		t.Logf("%s: %v for each of %d, %v of %d", f.name, per[0], n/4, per[1], n)
		if most := testenv.Slow(5 * time.Microsecond); per[1] > most || per[1] > 3*per[0]+testenv.Slow(2*time.Microsecond) {
			t.Errorf("%s: %v for each of %d types, %v of %d", f.name, per[0], n/4, per[1], n)
		}
	}
}
