package knownbugs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront"
)

// TestMultiValue passes up to 20 values out of functions and blocks.
func TestMultiValue(t *testing.T) { bugcases.Run(t, bugcases.MultiValue(cases), check) }

// TestManyResults calls functions with up to 200 results and parameters.
func TestManyResults(t *testing.T) { bugcases.Run(t, bugcases.ManyResults(), check) }

// TestArguments passes up to thirty arguments to functions of the module and of the host.
func TestArguments(t *testing.T) { check(t, bugcases.Arguments()) }

// TestBrTable jumps over tables of 0 to 65,519 labels to blocks, and to loops with parameters,
// with values, some of which are constants.
func TestBrTable(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5, 17, 300, 65519} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			var args [][]uint64
			for _, x := range []uint64{0, 1, 2, 3, 4, 5, 16, 17, 18, 299, 300, 301, 65518, 65519, 65520, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF} {
				args = append(args, []uint64{x}, []uint64{x + 1<<32})
			}
			var list strings.Builder
			for i := range n {
				fmt.Fprintf(&list, " %d", (i*7+i/5)%4)
			}
			fmt.Fprintf(&list, " %d", n%4)
			const index = "(i32.wrap_i64 (local.get 0))"
			mixes := []string{"", "i", "ll", "ilfd", "dfdfdfdfdf", "iiiiiiiiiiiiiiiiii"}
			if n > 1000 && cases.Sample() {
				mixes = mixes[:1]
			} else if n > 1000 {
				mixes = mixes[:3]
			}
			for _, mix := range mixes {
				for _, constants := range []bool{false, true} {
					values := wat.Distinct(mix)
					if constants {
						values = strings.ReplaceAll(values, "(local.get 0)", "(i64.const 3)")
					}
					body := values + "(br_table" + list.String() + index + ")"
					for k := range 4 {
						body = fmt.Sprintf("(block %s %s) %s (local.set $h (i64.add (i64.mul (local.get $h) (i64.const 31)) (i64.add (i64.const %d) (call $id %s))))",
							wat.Types("result", mix), body, wat.SetLocals(len(mix), 1), k+1, wat.Hash(mix, 1))
						if k < 3 {
							body += values
						}
					}
					b.Add("l", "l", wat.Types("local", mix)+"(local $h i64)"+body+"(local.get $h)", args...)
				}
			}
			// Targets that are a loop with parameters, the default among them.
			b.Add("l", "ii", "(local $i i32) (local.set $i "+index+") (i32.const 1) (i32.const 2) (block $out (param i32 i32) (result i32 i32) (loop $l (param i32 i32) (result i32 i32) (local.set $i (i32.add (local.get $i) (i32.const 1))) (i32.mul (i32.const 5)) (i32.const 9) (i32.add)"+
				"(br_if $out (i32.gt_u (local.get $i) (i32.const 70000))) (br_table"+strings.Repeat(" 1 0", n/2)+" 0 (local.get $i))))", sampled(args[:min(len(args), 24)], 4)...)
			c := compare.Single("(module (func $id (param i64) (result i64) "+wat.NotInlined+"(local.get 0))"+b.String()+")", b.Calls...)
			check(t, c)
		})
	}
}

// TestBrTableLimit has one label more than the limit, and far more labels than bytes.
func TestBrTableLimit(t *testing.T) {
	for n, ok := range map[int]bool{wasmfront.MaxBrTable: true, wasmfront.MaxBrTable + 1: false} {
		wasm := assemble(t, "(module (func (param i32) (block (br_table"+strings.Repeat(" 0", n+1)+" (local.get 0)))))")
		if _, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1}); (err == nil) != ok {
			t.Errorf("%d labels: %v", n, err)
		}
	}
	// 2^32-1 labels that are not there.
	body := []byte{0, 0x20, 0, 0x0E, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0, 0x0B}
	code := append([]byte{1, byte(len(body))}, body...)
	wasm := append([]byte{0, 'a', 's', 'm', 1, 0, 0, 0, 1, 5, 1, 0x60, 1, 0x7F, 0, 3, 2, 1, 0, 10, byte(len(code))}, code...)
	if _, err := compile.Module(wasm, compile.Options{}); err == nil {
		t.Error("2^32-1 labels in 11 bytes")
	}
}

// TestLargeFrames has frames of 1 KiB to 4 MiB, every argument in a register alive over the
// beginning of the function, and recursion: each call returns or traps with a stack
// overflow, at a depth that the frame explains, and the store works on.
func TestLargeFrames(t *testing.T) {
	sizes := []int{100, 1000, 8200, 65000, 530000}
	switch {
	case emulated():
		sizes = []int{100, 1000, 8200, 20000}
	case !testenv.Full():
		sizes = sizes[:4]
	}
	for _, n := range sizes {
		for i, e := range compare.Natives() {
			if i > 0 && n > 10000 {
				continue // seconds of compile time
			}
			t.Run(fmt.Sprintf("%d %s", n, e.Name()), func(t *testing.T) {
				// n words live over the call: loaded from memory, so that nothing makes them again.
				var b strings.Builder
				b.WriteString(`(module (memory 16) (global $depth (export "depth") (mut i32) (i32.const 0))
					(func $f (param $n i32) (param i64 i64 i64 i64 i64 i64 i64) (param f64 f64 f64 f64 f64 f64 f64 f64) (result i64)
					(local $h i64) (local $k i32)
					(local.set $k (i32.and (local.get $n) (i32.const 255)))
					(global.set $depth (i32.add (global.get $depth) (i32.const 1)))
					(if (i32.eqz (local.get $n)) (then (return ` + wat.Hash("lllllll", 1) + wat.Hash("dddddddd", 8) + ` (i64.xor))))`)
				for i := range n {
					fmt.Fprintf(&b, "(i64.load8_u offset=%d (local.get $k))", i)
				}
				b.WriteString("(local.set $h (call $f (i32.sub (local.get $n) (i32.const 1))")
				for i := range 15 {
					b.WriteString(wat.Get(1 + i))
				}
				b.WriteString("))")
				for range n {
					b.WriteString("(local.set $h (i64.add (local.get $h)))")
				}
				b.WriteString(`(local.get $h))
					(func (export "run") (param i32) (result i64) (global.set $depth (i32.const 0)) (call $f (local.get 0) (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7)
					(f64.const 1) (f64.const 2) (f64.const 3) (f64.const 4) (f64.const 5) (f64.const 6) (f64.const 7) (f64.const 8))))`)
				wasm := assemble(t, b.String())
				inst := start(t, e, wasm)
				first, err := inst.Invoke("run", []uint64{0})
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					_, err := inst.Invoke("run", []uint64{0xFFFF0})
					depth, _ := inst.Get("depth")
					if text := trapOf(err); text != "call stack exhausted" {
						t.Fatalf("at depth %d: %v", depth.Bits, err)
					}
					// The default of a store's stack is 8 MiB.
					if most := 8<<20/(8*uint64(n)) + 2; depth.Bits > most || depth.Bits < most/4 {
						t.Errorf("frames of %d words overflowed at depth %d, which should be about %d", n, depth.Bits, most)
					}
					again, err := inst.Invoke("run", []uint64{0})
					if err != nil || again[0] != first[0] {
						t.Errorf("afterwards: %v, %v, want %v", again, err, first)
					}
					// Memory is zero: so is what the frames hold.
					if one, err := inst.Invoke("run", []uint64{1}); n < 500000 && (err != nil || one[0] != first[0]) {
						t.Errorf("one deep: %v, %v, want %v", one, err, first)
					}
				}
			})
		}
	}
}
