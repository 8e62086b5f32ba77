package knownbugs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront"
)

var typeMixes = []string{"i", "l", "f", "d", "il", "ilfd", "fidl", "ddf", "liif"}

// TestMultiValue passes 0 to 20 values out of functions and blocks, in their order, rotated,
// reversed and exchanged.
func TestMultiValue(t *testing.T) {
	for _, mix := range part(typeMixes, 2) {
		t.Run(mix, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			args := compare.Each(0, 1, 0xFFFFFFFFFFFFFFFF, 0x123456789)
			for n := range 21 {
				ts := wat.Cycle(n, mix)
				locals, set := wat.Types("local", ts), wat.SetLocals(n, 1)
				fmt.Fprintf(&b, "(func $make%d (param i64) %s %s)\n", n, wat.Types("result", ts), wat.Distinct(ts))
				fmt.Fprintf(&b, "(func $pass%d %s %s", n, wat.Types("param", ts), wat.Types("result", ts))
				for i := range n {
					b.WriteString(wat.Get(i))
				}
				b.WriteString(")\n")
				call := fmt.Sprintf("(call $make%d (local.get 0))", n)
				b.Add("l", ts, call, args...)
				b.Add("l", ts, fmt.Sprintf("%s (call $pass%d)", call, n), args...)
				b.Add("l", "l", locals+call+set+wat.Hash(ts, 1), args...)
				b.Add("l", "l", fmt.Sprintf("%s %s (block %s %s) %s", locals, call, wat.Types("param", ts)+wat.Types("result", ts),
					"(br_if 0 (i64.eqz (local.get 0)))", set)+wat.Hash(ts, 1), args...)
				b.Add("l", "l", fmt.Sprintf("%s (if %s (i64.eqz (local.get 0)) (then %s) (else %s)) %s", locals, wat.Types("result", ts), call,
					strings.ReplaceAll(call, "(local.get 0)", "(i64.const 99)"), set)+wat.Hash(ts, 1), args...)
				if n == 0 {
					continue
				}
				rotated, order := ts[1:]+ts[:1], ""
				for i := range n {
					order += wat.Get(1 + (i+1)%n)
				}
				b.Add("l", rotated, locals+call+set+order, args...)
				reversed, order := "", ""
				for i := range n {
					reversed += string(ts[n-1-i])
					order += wat.Get(n - i)
				}
				b.Add("l", reversed, locals+call+set+order, args...)
				// A loop that rotates its parameters: types repeat, so rotate by the length of the mix.
				if k := len(mix); n%k == 0 {
					rot := ""
					for i := range n {
						rot += wat.Get(1 + (i+k)%n)
					}
					b.Add("l", "l", fmt.Sprintf("%s (local $n i32) (local.set $n (i32.const 5)) %s (loop %s%s %s %s (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) %s",
						locals, call, wat.Types("param", ts), wat.Types("result", ts), set, rot, set)+wat.Hash(ts, 1), args...)
				}
			}
			check(t, compare.Single("(module "+b.String()+")", b.Calls...))
		})
	}
}

// TestManyResults calls functions with up to 200 results, and up to 200 parameters, directly
// and through tables.
func TestManyResults(t *testing.T) {
	for _, mix := range []string{"i", "d", "lfid"} {
		t.Run(mix, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			for n := 0; n <= 200; n += 1 + n/6 {
				ts := wat.Cycle(n, mix)
				locals, set := wat.Types("local", ts), wat.SetLocals(n, 1)
				fmt.Fprintf(&b, "(type $t%d (func (param i64) %s)) (type $u%[1]d (func %[3]s (result i64)))\n", n, wat.Types("result", ts), wat.Types("param", ts))
				fmt.Fprintf(&b, "(func $make%d (type $t%[1]d) %s)\n(func $hash%[1]d (type $u%[1]d) %[3]s)\n", n, wat.Distinct(ts), wat.Hash(ts, 0))
				fmt.Fprintf(&b, "(table $table%d 2 funcref) (elem (table $table%[1]d) (i32.const 0) func $make%[1]d $hash%[1]d)\n", n)
				args := compare.Each(0, 3, 0xFFFFFFFFFFFFFFFF)
				b.Add("l", "l", fmt.Sprintf("%s (call $make%d (local.get 0)) %s", locals, n, set)+wat.Hash(ts, 1), args...)
				b.Add("l", "l", fmt.Sprintf("(call $hash%d (call $make%[1]d (local.get 0)))", n), args...)
				b.Add("l", "l", fmt.Sprintf("(i64.add (local.get 0) (call $hash%d (call_indirect $table%[1]d (type $t%[1]d) (local.get 0) (i32.const 0))))", n), args...)
				b.Add("l", "l", fmt.Sprintf("(i64.add (call_indirect $table%d (type $u%[1]d) (call $make%[1]d (local.get 0)) (i32.const 1)) (local.get 0))", n), args...)
				b.Add("l", "l", fmt.Sprintf("(call_indirect $table%d (type $u%[1]d) (call $make%[1]d (local.get 0)) (i32.const 0))", n), args...)
				if n <= 40 {
					b.Add("l", ts, fmt.Sprintf("(call $make%d (local.get 0))", n), args...)
				}
			}
			check(t, compare.Single("(module "+b.String()+")", b.Calls...))
		})
	}
}

// TestArguments gives functions, of the module and of the host, up to thirty arguments,
// among which everything in registers has to be exchanged; each i32 arrives clean wherever it
// travels.
func TestArguments(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b, imports compare.Builder
	for n := range 60 {
		ts := ""
		for range n % 30 {
			ts += string("ilfd"[r.IntN(4)])
		}
		locals, set := wat.Types("local", ts), wat.SetLocals(len(ts), 1)
		fmt.Fprintf(&imports, "(import \"host\" \"%s_l\" (func $host%d %s (result i64)))", ts, n, wat.Types("param", ts))
		fmt.Fprintf(&b, "(func $make%d (param i64) %s %s) (func $hash%[1]d %[4]s (result i64) %[5]s)\n", n, wat.Types("result", ts), wat.Distinct(ts),
			wat.Types("param", ts), wat.Hash(ts, 0))
		// Arguments in another order, of equal types.
		perm := ""
		for i := range ts {
			same := []int{}
			for k := range ts {
				if ts[k] == ts[i] {
					same = append(same, k)
				}
			}
			perm += wat.Get(1 + same[r.IntN(len(same))])
		}
		args := compare.Each(1, 0xFFFFFFFF80000000)
		head := fmt.Sprintf("%s (call $make%d (local.get 0)) %s", locals, n, set)
		b.Add("l", "l", head+fmt.Sprintf("(call $hash%d %s)", n, perm), args...)
		b.Add("l", "ll", head+fmt.Sprintf("(call $host%d %s) ", n, perm)+wat.Hash(ts, 1), args...)
	}
	check(t, compare.Single("(module "+imports.String()+b.String()+")", b.Calls...))
}

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
			c := compare.Single("(module (func $id (param i64) (result i64) (local.get 0))"+b.String()+")", b.Calls...)
			check(t, c)
		})
	}
}

// TestBrTableLimit has one label more than the limit, and far more labels than bytes.
func TestBrTableLimit(t *testing.T) {
	for n, ok := range map[int]bool{wasmfront.MaxBrTable: true, wasmfront.MaxBrTable + 1: false} {
		wasm, err := wat.Assemble("(module (func (param i32) (block (br_table" + strings.Repeat(" 0", n+1) + " (local.get 0)))))")
		if err != nil {
			t.Fatal(err)
		}
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
				wasm, err := wat.Assemble(b.String())
				if err != nil {
					t.Fatal(err)
				}
				s, err := e.NewStore()
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				mod, err := s.Compile(wasm)
				if err != nil {
					t.Fatal(err)
				}
				inst, err := s.Instantiate(mod, nil)
				if err != nil {
					t.Fatal(err)
				}
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
