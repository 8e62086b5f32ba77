package knownbugs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront"
)

// function is a module with one function of type (i32) -> i32 whose body, locals included, is
// given.
func function(body ...[]byte) []byte {
	code := bytes.Join(body, nil)
	code = append(binary.AppendUvarint(nil, uint64(len(code))), code...)
	section := append([]byte{1}, code...)
	return bytes.Join([][]byte{{0, 'a', 's', 'm', 1, 0, 0, 0, 1, 6, 1, 0x60, 1, 0x7F, 1, 0x7F, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 'f', 0, 0, 10},
		binary.AppendUvarint(nil, uint64(len(section))), section}, nil)
}

// locals declares locals in groups of i32 of those counts.
func locals(counts ...uint64) []byte {
	b := binary.AppendUvarint(nil, uint64(len(counts)))
	for i, n := range counts {
		b = append(binary.AppendUvarint(b, n), []byte{0x7F, 0x7E}[i%2])
	}
	return b
}

// compileCost is the processor time of a compilation at -O1, as measured, and the bytes that it allocates.
func compileCost(t *testing.T, name string, wasm []byte, measured func(func()) time.Duration) (took time.Duration, allocated uint64) {
	took = measured(func() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		allocated = after.TotalAlloc - before.TotalAlloc
	})
	return took, allocated
}

// TestLocalCounts declares locals whose counts add up to the limit, to more, and to more
// than fits in 32 and 64 bits: refused without memory being taken for them.
func TestLocalCounts(t *testing.T) {
	const limit = wasmfront.MaxLocals - 1 // beside the parameter
	many := make([]uint64, 70000)
	for i := range many {
		many[i] = 0xFFFFFFFF
	}
	for _, c := range []struct {
		counts []uint64
		ok     bool
	}{
		{[]uint64{limit}, true}, {[]uint64{limit - 1, 1}, true}, {[]uint64{limit, 1}, false}, {[]uint64{limit + 1}, false}, {[]uint64{0, limit, 0}, true},
		{[]uint64{0x7FFFFFFF, 0x7FFFFFFF, 2}, false}, {[]uint64{0xFFFFFFFF, 1}, false}, {[]uint64{0xFFFFFFFF, 2, limit}, false}, {[]uint64{0x80000000, 0x80000000}, false},
		{[]uint64{0x80000000, 0x80000001}, false}, {many, false},
	} {
		wasm := function(locals(c.counts...), []byte{0x20, 0, 0x0B})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1})
		runtime.ReadMemStats(&after)
		if (err == nil) != c.ok {
			t.Errorf("%d groups, the first of %d locals: %v", len(c.counts), c.counts[0], err)
		}
		if d := after.TotalAlloc - before.TotalAlloc; d > 64<<20 {
			t.Errorf("%d groups, the first of %d locals: %d MiB allocated", len(c.counts), c.counts[0], d>>20)
		}
	}
}

// TestBodyLimit compiles bodies of exactly the largest size, and refuses those that are a byte
// longer, and those whose values would be too many, with errors that name the limit.
func TestBodyLimit(t *testing.T) {
	if emulated() {
		t.Skip("seconds of compile time: not in an emulator")
	}
	fill := func(size int, op ...byte) []byte {
		head, tail := []byte{0}, []byte{0x20, 0, 0x0B}
		room := size - len(head) - len(tail)
		return bytes.Join([][]byte{head, bytes.Repeat(op, room/len(op)), bytes.Repeat([]byte{0x01}, room%len(op)), tail}, nil)
	}
	for _, c := range []struct {
		name string
		op   []byte
	}{
		{"nothing", []byte{0x01}}, {"sums", []byte{0x20, 0, 0x41, 0xED, 0, 0x6A, 0x21, 0}}, {"loads and stores", []byte{0x20, 0, 0x20, 0, 0x28, 2, 4, 0x36, 2, 8}},
		{"branches", []byte{0x02, 0x40, 0x20, 0, 0x0D, 0, 0x0B}},
	} {
		for size, ok := range map[int]bool{wasmfront.MaxBodySize: true, wasmfront.MaxBodySize + 1: false} {
			if ok && c.name == "branches" {
				size -= size - 1<<20 // a MiB of it: blocks are dear
			}
			start := time.Now()
			_, err := compile.Module(function(fill(size, c.op...)), compile.Options{OptLevel: opt.O0, Jobs: 1})
			t.Logf("%s: %d bytes, %v, %v", c.name, size, time.Since(start), err)
			var e *wasmfront.Error
			switch {
			case ok && err != nil && !(errors.As(err, &e) && e.Limit != ""):
				t.Errorf("%s: %v", c.name, err)
			case !ok && !(errors.As(err, &e) && e.Limit != ""):
				t.Errorf("%s, a byte too long: %v", c.name, err)
			}
		}
	}
}

// chains are steps that, repeated, feed each result into the next one: operators with
// rules in the mid-end, each in its own pattern. X stands for the value so far.
func chains() (out []string) {
	out = append(out, "(select X X (local.get 0))", "(select X X X)", "(select (local.get 0) X X)", "(select X (local.get 0) (i32.eqz X))",
		"(if (result i32) X (then X) (else X))", "(i32.wrap_i64 (i64.extend_i32_u X))", "(i32.wrap_i64 (i64.add (i64.extend_i32_s X) (i64.extend_i32_u X)))",
		"(i32.eqz (i32.eqz X))", "(i32.and (i32.or X (local.get 0)) X)", "(i32.sub (i32.add X (local.get 0)) (local.get 0))", "(i32.xor (i32.xor X (local.get 0)) X)",
		"(i32.or (i32.shl X (i32.const 8)) (i32.shr_u X (i32.const 24)))", "(i32.load (i32.and X (i32.const 255)))", "(i32.reinterpret_f32 (f32.neg (f32.reinterpret_i32 X)))")
	for _, op := range wat.Numeric(2) {
		if op.Params == "ii" && op.Result == "i" {
			out = append(out, "("+op.Name+" X X)", "("+op.Name+" X (local.get 0))", "("+op.Name+" (i32.const 3) X)")
			for _, k := range []string{"0", "1", "-1", "7", "8", "0x80000000"} {
				if !op.Traps() || k != "0" {
					out = append(out, "("+op.Name+" X (i32.const "+k+"))")
				}
			}
		}
	}
	for _, op := range wat.Numeric(1) {
		if op.Params == "i" && op.Result == "i" {
			out = append(out, "("+op.Name+" X)")
		}
	}
	return out
}

// TestChains compiles long chains of every pattern that rules look for: time and memory grow
// with the length, not with a power of it.
func TestChains(t *testing.T) {
	const short, long = 200, 1600
	for _, step := range part(chains(), 8) {
		cost := func(n int, enough time.Duration) (time.Duration, uint64) {
			text := "(module (memory 1) (func (export \"f\") (param i32) (result i32) (local i32) (local.set 1 (local.get 0))" +
				strings.Repeat("(local.set 1 "+strings.ReplaceAll(step, "X", "(local.get 1)")+")", n) + "(local.get 1)))"
			wasm := assemble(t, text)
			return compileCost(t, step, wasm, func(f func()) time.Duration { return cputime.Least(2, enough, f) })
		}
		const ratio = long / short
		t1, m1 := cost(short, time.Hour)
		most := 4*ratio*t1 + 50*time.Millisecond
		t2, m2 := cost(long, most)
		if t2 > most || m2 > 3*ratio*m1+1<<20 {
			t.Errorf("%s: %v and %d KiB for %d of them, %v and %d KiB for %d", step, t1, m1>>10, short, t2, m2>>10, long)
		}
	}
}

// TestCostPerByte compiles functions of shapes that were slow or large in other compilers, at
// two sizes: memory and time for a byte of Wasm stay below a bound and do not grow.
func TestCostPerByte(t *testing.T) {
	if emulated() {
		t.Skip("seconds of compile time: not in an emulator")
	}
	rep := strings.Repeat
	for _, f := range []struct {
		name string
		n    int
		text func(n int) string
	}{
		{"nested loops", 3000, func(n int) string {
			return rep("(loop (result i32) ", n) + "(local.get 0)" + rep(" (local.tee 0 (i32.sub (local.get 0) (i32.const 1))) br_if 0)", n)
		}},
		{"blocks", 12000, func(n int) string {
			var s strings.Builder
			for i := range n {
				fmt.Fprintf(&s, "(if (i32.eq (local.get 0) (i32.const %d)) (then (local.set 0 (i32.const %d))))", i, 2*i)
			}
			return s.String() + "(local.get 0)"
		}},
		{"locals", 12000, func(n int) string {
			var s strings.Builder
			s.WriteString("(local" + rep(" i32", n) + ")")
			for i := range n {
				fmt.Fprintf(&s, "(local.set %d (i32.mul (local.get 0) (i32.const %d)))", i+1, i)
			}
			s.WriteString("(loop (br_if 0 (i32.eqz (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))")
			for i := range n {
				fmt.Fprintf(&s, "(local.set 0 (i32.xor (local.get 0) (local.get %d)))", i+1)
			}
			return s.String() + "(local.get 0)"
		}},
		{"straight code", 60000, func(n int) string {
			return rep("(local.set 0 (i32.add (i32.mul (local.get 0) (local.get 0)) (i32.const 7)))", n) + "(local.get 0)"
		}},
		{"calls", 12000, func(n int) string {
			return rep("(local.set 0 (i32.add (call 0 (local.get 0)) (local.get 0)))", n) + "(local.get 0)"
		}},
		{"merges of 200 locals", 3000, func(n int) string {
			var s strings.Builder
			s.WriteString("(local" + rep(" i32", 200) + ")")
			for i := range n {
				fmt.Fprintf(&s, "(if (local.get 0) (then (local.set %d (local.get 0))) (else (local.set %d (i32.const %d))))", i%200+1, i%200+1, i)
			}
			s.WriteString("(loop ")
			for i := range 200 {
				fmt.Fprintf(&s, "(local.set %d (i32.add (local.get %d) (local.get %d)))", i+1, i+1, (i+7)%200)
			}
			return s.String() + "(br_if 0 (local.get 3))) (local.get 5)"
		}},
		{"switch", 16000, func(n int) string { return "(block (br_table" + rep(" 0", n+1) + " (local.get 0))) (local.get 0)" }},
	} {
		cost := func(n int, enough float64) (perByte float64, bytes float64) {
			wasm := assemble(t, "(module (func (export \"f\") (param i32) (result i32)"+f.text(n)+"))")
			took, m := compileCost(t, f.name, wasm, func(f func()) time.Duration { return cputime.LeastShort(time.Duration(enough*float64(len(wasm))), f) })
			return float64(took.Nanoseconds()) / float64(len(wasm)), float64(m) / float64(len(wasm))
		}
		const mostTime = 50000 // nanoseconds for a byte
		n := f.n / testenv.Cases(4, 4, 1)
		t1, m1 := cost(n, mostTime)
		t2, m2 := cost(4*n, min(4*t1+500, mostTime))
		t.Logf("%s: %.0f and %.0f ns, %.0f and %.0f bytes allocated for each byte", f.name, t1, t2, m1, m2)
		if m2 > 2*m1+100 || m2 > 4000 || t2 > min(4*t1+500, mostTime) {
			t.Errorf("%s: too much, or growing", f.name)
		}
	}
}

// TestCallsOnce has calls of the host whose results are used often, late, on one path only or
// not at all, under pressure: each is made once, in its place.
func TestCallsOnce(t *testing.T) {
	var b compare.Builder
	use := "(i32.add (local.get 1) (i32.mul (local.get 1) (local.get 1)))"
	pressure := "(local i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)"
	set, sum := "", "(local.get 1)"
	for i := range 17 {
		set += fmt.Sprintf("(local.set %d (call $h (i32.add (local.get 0) (i32.const %d))))", 2+i, i)
		sum = fmt.Sprintf("(i32.xor (i32.rotl %s (i32.const 3)) (local.get %d))", sum, 2+i)
	}
	for _, body := range []string{
		"(local i32) (local.set 1 (call $h (local.get 0))) (drop (call $h " + use + "))" + use,
		"(local i32) (local.set 1 (call $h (local.get 0))) (if (local.get 0) (then (drop (call $h " + use + "))))" + use,
		"(drop (call $h (local.get 0))) (i32.const 3)",
		"(local i32) (local.set 1 (call $h (local.get 0))) (local.set 1 (call $h (local.get 0)))" + use,
		"(i32.sub (call $h (local.get 0)) (call $h (local.get 0)))", "(i32.mul (i32.const 0) (call $h (local.get 0)))",
		"(select (call $h (i32.const 1)) (call $h (i32.const 2)) (call $h (local.get 0)))",
		"(if (result i32) (local.get 0) (then (call $h (i32.const 1))) (else (call $h (i32.const 1))))",
		"(local i32) (loop (local.set 1 (call $h (local.get 1))) (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 5)))) " + use,
		"(local i32) (loop (drop (call $h (i32.const 7))) (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 5)))) (i32.const 1)",
		pressure + set + "(local.set 1 (call $h (local.get 0)))" + sum,
		pressure + "(local.set 1 (call $h (local.get 0)))" + set + sum + use + "i32.add",
		pressure + set + "(if (local.get 0) (then " + set + "))" + sum,
		pressure + "(loop " + set + "(br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 4))))" + sum,
	} {
		b.Add("i", "i", body, compare.Each(0, 1, 2, 0xFFFFFFFF)...)
	}
	h := check(t, compare.Single(`(module (import "host" "i_i" (func $h (param i32) (result i32)))`+b.String()+")", b.Calls...))
	if h != nil && len(h.Host) < 400 {
		t.Errorf("%d words of calls of the host", len(h.Host))
	}
}

// TestTrapsUnderBranches has each trapping operator under branches: under one and again behind
// it, in both arms, before and in a loop, behind a loop that is left early. Where it is not
// reached, nothing traps; where it is, it traps once more.
func TestTrapsUnderBranches(t *testing.T) {
	var b compare.Builder
	args := compare.Product([]uint64{0, 1}, []uint64{0, 1, 2})
	for _, x := range bugcases.Trapping {
		if x.Name == "host" {
			continue
		}
		again := strings.ReplaceAll(x.Text, "(local.get 0)", "(i32.and (local.get 0) (i32.const 1))")
		for _, body := range []string{
			"(if (local.get 1) (then " + x.Text + "))",
			"(if (local.get 1) (then " + x.Text + "))" + x.Text,
			"(if (local.get 1) (then " + x.Text + ") (else " + x.Text + "))",
			"(if (local.get 1) (then " + x.Text + ") (else (i32.store (i32.const 4) (i32.const 9)) " + again + ")) (i32.store (i32.const 12) (i32.const 8))",
			"(block (br_if 0 (local.get 1)) " + x.Text + ") (i32.store (i32.const 12) (i32.const 8))",
			"(loop (if (i32.eq (local.get 1) (i32.const 1)) (then " + x.Text + ")) (i32.store8 offset=9 (local.get 1) (i32.const 7)) (br_if 0 (i32.gt_s (local.tee 1 (i32.sub (local.get 1) (i32.const 1))) (i32.const 0))))",
			"(block (loop (br_if 1 (i32.eqz (local.get 1))) (local.set 1 (i32.sub (local.get 1) (i32.const 1))) (br_if 0 (local.get 1)) " + x.Text + "))" + again,
			"(if (i32.eq (local.get 1) (i32.const 2)) (then (return))) " + x.Text + "(i32.store (i32.const 4) (i32.const 9))" + x.Text,
			"(if (i32.and (local.get 0) (i32.eq (local.get 1) (i32.const 2))) (then (return))) (if (local.get 1) (then (global.set $g (i32.const 5))))" + x.Text,
		} {
			name := fmt.Sprintf("f%d", b.NumFuncs())
			b.Add("ii", "", body)
			for _, a := range args {
				b.Calls = append(b.Calls, compare.Call{Func: name, Args: a}, compare.Call{Func: "state"}, compare.Call{Func: "clear"})
			}
		}
	}
	check(t, compare.Single(`(module (memory (export "memory") 1) (global $g (export "g") (mut i32) (i32.const 0)) (data "abcdefg") `+wat.Filled(0, 64)+`
		(table 6 funcref) (elem (i32.const 0) func $nothing) (elem func $nothing) (elem (i32.const 2) func $pick)
		(func $nothing) (func $pick (param i32) (result i32) (local.get 0))
		(func (export "state") (result i64 i64 i32) (i64.load (i32.const 0)) (i64.load (i32.const 8)) (global.get $g))
		(func (export "clear") (global.set $g (i32.const 0)) (memory.fill (i32.const 0) (i32.const 1) (i32.const 64)) (memory.fill (i32.const 65400) (i32.const 1) (i32.const 136)))`+b.String()+")", b.Calls...))
}
