package compile_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// TestLoopPlaces: of loops of all lengths behind code of all lengths, none begins with more than two entries of decoded operations in its first
// line, if it is longer than that, and no branch at its end stands on the border of two lines. They do what they should.
func TestLoopPlaces(t *testing.T) {
	const i32 = 0x7f
	const units, heads = 24, 12
	m := &wasmModule{}
	name := func(head, n int) string { return fmt.Sprint("f", head, "_", n) }
	for head := range heads {
		for n := 1; n <= units; n++ {
			// x = n rotated, head times; do { x = (x ^ n) rotated by n, n times; n -= 1 } while n, where x is local 1
			m.exportFn(name(head, n), []byte{i32}, []byte{i32}, []byte{i32}, slices.Concat(
				[]byte{0x20, 0, 0x21, 1}, bytes.Repeat([]byte{0x20, 1, 0x41, 3, 0x77, 0x20, 0, 0x6a, 0x21, 1}, head),
				[]byte{0x03, 0x40}, bytes.Repeat([]byte{0x20, 1, 0x20, 0, 0x73, 0x41, 5, 0x77, 0x21, 1}, n),
				[]byte{0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1})...)
		}
	}
	r := build(t, m.bytes(), compile.Options{OptLevel: opt.O1, Target: compile.TargetX64})
	text := r.Object.Section(".text").Data
	loops, long := 0, 0
	var starts []int
	for at := 0; at < len(text); {
		n := asm.OpLength(text[at:])
		if n == 0 {
			t.Fatalf("no instruction at %#x: % x", at, text[at:min(at+16, len(text))])
		}
		starts = append(starts, at)
		back := 0
		switch {
		case n == 2 && text[at]>>4 == 7:
			back = int(int8(text[at+1]))
		case n == 6 && text[at] == 0x0f && text[at+1]>>4 == 8:
			back = int(int32(uint32(text[at+2]) | uint32(text[at+3])<<8 | uint32(text[at+4])<<16 | uint32(text[at+5])<<24))
		}
		if back < 0 {
			top := at + n + back
			body := starts[slices.Index(starts, top):]
			loops++
			ops, first := 0, 0
			for _, s := range body[:len(body)-1] { // the last two are one operation
				ops++
				if s/64 == top/64 {
					first++
				}
			}
			if ops > 12 {
				long++
			}
			if first > 12 && ops <= 22 { // longer ones of such short operations are limited otherwise
				t.Errorf("the loop at %#x has %d operations, of which %d begin in its first line", top, ops, first)
			}
			if before := body[len(body)-2]; before/64 != (at+n-1)/64 && ops < 40 {
				t.Errorf("the branch at the end of the loop at %#x stands at %#x to %#x", top, before, at+n)
			}
		}
		at += n
	}
	if loops < heads*units || long < loops/2 {
		t.Errorf("%d loops, of which %d are long", loops, long)
	}
	if compile.HostTarget() != compile.TargetX64 {
		return
	}
	inst := instantiated(t, r)
	for head := range heads {
		for n := 1; n <= units; n++ {
			x := uint32(5)
			for range head {
				x = x<<3 | x>>29
				x += 5
			}
			for left := uint32(5); left > 0; left-- {
				for range n {
					x ^= left
					x = x<<5 | x>>27
				}
			}
			fn, err := inst.Func(name(head, n))
			if err != nil {
				t.Fatal(err)
			}
			got := []uint64{5}
			if err := fn.Call(got, got); err != nil || uint32(got[0]) != x {
				t.Errorf("%s: %d, %v, want %d", name(head, n), got[0], err, x)
			}
		}
	}
}
