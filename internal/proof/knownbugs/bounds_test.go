package knownbugs

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest"
)

// patternLen is the length in bytes of each place that the pattern fills.
const patternLen = 256

// patternAt says where memory of that size is filled with the pattern.
func patternAt(size uint64) (out []uint64) {
	for _, at := range []uint64{0, 1<<31 - 64, size - patternLen} {
		if size >= patternLen && at <= size-patternLen {
			out = append(out, at)
		}
	}
	return out
}

// gridByte is what a fresh memory of that size holds at an address.
func gridByte(size, at uint64) byte {
	for _, p := range patternAt(size) {
		if at-p < patternLen {
			return wat.Pattern(at)
		}
	}
	return 0
}

// TestBoundsGrid accesses memories of several sizes around all edges, with every operator:
// each access traps if the sum of index, offset and width, computed without wrapping, is
// beyond the size, and changes or reads exactly its bytes if not.
func TestBoundsGrid(t *testing.T) {
	accesses, traps := 0, 0
	for _, g := range bugcases.Grids() {
		t.Run(g.Name, func(t *testing.T) {
			wasm := assemble(t, g.Text)
			engines := compare.Natives()
			if !g.Large() {
				engines = append(engines, compare.Interpreters()[0])
			}
			n := 0
			for _, e := range engines {
				n = runGrid(t, e, g, wasm)
			}
			accesses, traps = accesses+len(g.Cells), traps+n
		})
	}
	if cases == bugcases.All() && (accesses < 70000 || traps < 60000) {
		t.Errorf("only %d accesses, of which %d trap", accesses, traps)
	}
}

// runGrid makes the accesses on an engine, and returns how many must trap.
func runGrid(t *testing.T, e spectest.Engine, g *bugcases.Grid, wasm []byte) (traps int) {
	inst := start(t, e, wasm)
	memory := memoryOf(t, inst)
	size := g.Pages << 16
	if uint64(len(memory)) != size {
		t.Fatalf("%s: memory of %d bytes", e.Name(), len(memory))
	}
	for _, at := range patternAt(size) {
		for a := at; a < at+patternLen; a++ {
			memory[a] = wat.Pattern(a)
		}
	}
	partial, failed := 0, 0
	for i := range g.Cells {
		c := &g.Cells[i]
		values, err := inst.Invoke(c.Func, c.Args())
		at := c.Index + c.Offset // up to 2^33: nothing wraps
		outside := at+c.Op.Width > size
		if outside {
			traps++
		}
		problem := ""
		var trap spectest.Trapper
		switch {
		case outside && err == nil:
			problem = "no trap"
		case !outside && err != nil:
			problem = err.Error()
		case outside:
			if trap, _ = err.(spectest.Trapper); trap == nil || trap.TrapCode() != abi.TrapMemoryOutOfBounds {
				problem = err.Error()
			}
		case !c.Op.Store():
			want := make([]byte, c.Op.Width)
			for i := range want {
				want[i] = gridByte(size, at+uint64(i))
			}
			if w := loaded(c, want); !slices.EqualFunc(values, w, func(v spectest.Value, w uint64) bool { return v.Bits == w }) {
				problem = fmt.Sprintf("loaded %#x, want %#x", values, w)
			}
		}
		if problem == "" && c.Op.Store() {
			var p bool
			if problem, p = storeEffect(memory, c, at, outside); p {
				partial++
			}
		}
		if problem != "" {
			if failed++; failed < 10 {
				t.Errorf("%s: %v: %s", e.Name(), c, problem)
			}
		}
	}
	t.Logf("%s: %d accesses, %d of them trap, %d wrong, %d stores done in part", e.Name(), len(g.Cells), traps, failed, partial)
	return traps
}

// storeEffect checks what a store changed around its address and at the end of memory, and
// puts back what was there. Stores that straddle the end may be done in part on AArch64:
// then only what lies before them is checked, and part is true if it happened.
func storeEffect(memory []byte, c *bugcases.Cell, at uint64, outside bool) (problem string, part bool) {
	size := uint64(len(memory))
	mayPart := runtime.GOARCH == "arm64" && at < size
	look := func(from, to uint64) {
		for a := from; a < to && a < size; a++ {
			want := gridByte(size, a)
			written := a-at < c.Op.Width
			if written && !outside {
				want = stored(c, a-at)
			}
			if memory[a] != want {
				if written && outside && mayPart {
					part = true
				} else if problem == "" {
					problem = fmt.Sprintf("memory at %#x: %#x, want %#x", a, memory[a], want)
				}
			}
			memory[a] = gridByte(size, a)
		}
	}
	if at < size {
		look(max(at, 16)-16, at+c.Op.Width+16)
	}
	if outside {
		look(max(size, 32)-32, size)
		look(0, 32)
		look(at&0xFFFFFFFF, at&0xFFFFFFFF+16) // where it would be with 32 bits
	}
	return problem, part
}

// stored is the byte that a store writes i bytes above its address.
func stored(c *bugcases.Cell, i uint64) byte {
	return bugcases.StoredVector.Byte(c.Lane()*c.Op.Width + i)
}

// loaded is what a load gives for the bytes at its address: one word, or two for a vector.
func loaded(c *bugcases.Cell, b []byte) []uint64 {
	name := c.Op.Name
	switch {
	case c.Op.Result != "v":
		return []uint64{loadedNumber(c.Op, b)}
	case c.Op.Lanes > 0:
		v := bugcases.StoredVector
		word, shift := c.Lane()*c.Op.Width/8, c.Lane()*c.Op.Width%8*8
		ones := ^uint64(0) >> (64 - 8*c.Op.Width) << shift
		v[word] = v[word]&^ones | little(b, false)<<shift
		return v[:]
	case strings.HasSuffix(name, "_splat"):
		b = bytes.Repeat(b, 16/len(b))
	case strings.Contains(name, "load8x8"):
		b = widened(b, 1, strings.HasSuffix(name, "_s"))
	case strings.Contains(name, "load16x4"):
		b = widened(b, 2, strings.HasSuffix(name, "_s"))
	case strings.Contains(name, "load32x2"):
		b = widened(b, 4, strings.HasSuffix(name, "_s"))
	default: // all of it, or the lower part with zeros above
		b = append(b, make([]byte, 16-len(b))...)
	}
	return []uint64{little(b[:8], false), little(b[8:], false)}
}

// loadedNumber is loaded for an operator that loads a number.
func loadedNumber(o *wat.Operator, b []byte) uint64 {
	x := little(b, strings.HasSuffix(o.Name, "_s"))
	if o.Result == "i" || o.Result == "f" {
		x = uint64(uint32(x))
	}
	return x
}

// little is the number that up to eight bytes are, the lowest first.
func little(b []byte, signed bool) (x uint64) {
	for i := range b {
		x |= uint64(b[i]) << (8 * i)
	}
	if signed {
		return uint64(int64(x) << (64 - 8*len(b)) >> (64 - 8*len(b)))
	}
	return x
}

// widened makes numbers of width bytes twice as wide.
func widened(b []byte, width int, signed bool) (out []byte) {
	for lane := range slices.Chunk(b, width) {
		x := little(lane, signed)
		for i := range 2 * width {
			out = append(out, byte(x>>(8*i)))
		}
	}
	return out
}
