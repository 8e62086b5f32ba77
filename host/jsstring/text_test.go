package jsstring_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host/jsstring"
)

// sumText adds the code units of a string, and of two strings by turns.
const sumText = `(module
	(import "wasm:js-string" "length" (func $length (param externref) (result i32)))
	(import "wasm:js-string" "charCodeAt" (func $at (param externref i32) (result i32)))
	(func (export "sum") (param $s externref) (param $t externref) (result i32) (local $i i32) (local $n i32)
		(loop $l
			(if (i32.lt_u (local.get $i) (call $length (local.get $s))) (then
				(local.set $n (i32.add (local.get $n) (i32.add (call $at (local.get $s) (local.get $i)) (call $at (local.get $t) (local.get $i)))))
				(local.set $i (i32.add (local.get $i) (i32.const 1)))
				(br $l))))
		(local.get $n)))`

// newSum makes an instance, and returns its function.
func newSum(t testing.TB) *waot.Func {
	t.Helper()
	wasm, err := waot.ParseText([]byte(sumText))
	if err != nil {
		t.Fatal(err)
	}
	m, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	imports, err := jsstring.Imports(s, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(context.Background(), m, imports)
	if err != nil {
		t.Fatal(err)
	}
	f, err := inst.Func("sum")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTextsOfGo: a loop over the code units of a string of Go converts it once, and of two by turns each.
func TestTextsOfGo(t *testing.T) {
	f := newSum(t)
	a, b := strings.Repeat("ab", 5000), strings.Repeat("cd", 5000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := f.Call(context.Background(), a, b)
	runtime.ReadMemStats(&after)
	if want := int32(5000 * ('a' + 'b' + 'c' + 'd')); err != nil || r[0] != want {
		t.Errorf("%v, %v, want %d", r, err, want)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 10<<20 { // the conversion of both takes 120 kB, and each call some bytes
		t.Errorf("30,000 calls allocate %d bytes", n)
	}
	// Strings that were equal, or in the place of others, are never taken for each other.
	for i := range 100 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("ü😀b", i%3)
		if r, err = f.Call(context.Background(), a, jsstring.New(b)); err != nil {
			t.Fatal(err)
		}
		want := int32(0)
		for k, u := range jsstring.New(a).UTF16() {
			want += int32(u) + int32(jsstring.New(b).UTF16()[k])
		}
		if r2, err := f.Call(context.Background(), jsstring.New(a), b); err != nil || r[0] != want || r2[0] != want {
			t.Errorf("%q and %q: %v and %v, %v, want %d", a, b, r, r2, err, want)
		}
	}
}

func BenchmarkCodeUnits(b *testing.B) {
	f := newSum(b)
	for _, n := range []int{1000, 10_000, 100_000} {
		text := strings.Repeat("x", n)
		for name, s := range map[string]any{"String": jsstring.New(text), "Go": text} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := f.Call(context.Background(), s, s); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/unit")
			})
		}
	}
}
