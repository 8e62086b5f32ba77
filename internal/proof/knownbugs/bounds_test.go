package knownbugs

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/figures"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest"
)

// gridMemory is a memory whose edges are tried.
type gridMemory struct {
	name  string
	pages uint64
	decl  string
	large bool // too large for the interpreter
}

var gridMemories = []gridMemory{
	{"none", 0, `(memory (export "memory") 0 0)`, false},
	{"empty", 0, `(memory (export "memory") 0 1)`, false},
	{"fixed", 1, `(memory (export "memory") 1 1)`, false},
	{"growable", 3, `(memory (export "memory") 3)`, false},
	{"grown", 2, `(memory (export "memory") 1 5) (func $g (drop (memory.grow (i32.const 1)))) (start $g)`, false},
	{"2 GiB", 32769, `(memory (export "memory") 32769 32769)`, true},
	{"4 GiB", 65536, `(memory (export "memory") 65536)`, true},
}

// offsets are immediate offsets near what matters for a memory of size bytes. Those from
// 0x7FFFFFF0 to 0x7FFFFFFF are where a displacement of 32 bits with a sign ends.
func offsets(size uint64) []uint64 {
	out := []uint64{0, 1, 8, 255, 0x7FFFFFF0, 0x7FFFFFF7, 0x7FFFFFF8, 0x7FFFFFFC, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x80000100, 0xFFFEFFFF, 0xFFFFFFF8, 0xFFFFFFFF}
	if size > 8 && size < 1<<32 {
		out = append(out, size-8, size-1, size)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// indexes are indexes of accesses of width bytes at an offset.
func indexes(size, width, offset uint64) (out []uint64) {
	end := size - width - offset // wraps if the offset is too large: then it is no index
	for _, x := range []uint64{0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFF8, end - 1, end, end + 1, size - offset, size - offset - 1, -offset, 1 - offset,
		-offset - width, (1<<32 - offset) & 0xFFFFFFFF} {
		if x < 1<<32 {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// cell is one access of the grid.
type cell struct {
	op            *wat.Operator
	fn            string
	index, offset uint64
	constant      bool // the index is one
}

func (c *cell) String() string {
	return fmt.Sprintf("%s offset=%#x at %#x (constant: %v)", c.op.Name, c.offset, c.index, c.constant)
}

// gridCells is a module of accesses, and the cells.
func gridCells(m *gridMemory) (string, []cell) {
	size := m.pages << 16
	loads, stores := wat.Accesses()
	var b compare.Builder
	var cells []cell
	all := append(slices.Clone(loads), stores...)
	for i := range all {
		op := &all[i]
		access := func(offset uint64, address string) string {
			if op.Store() {
				return fmt.Sprintf("(%s offset=%d %s %s)", op.Name, offset, address, wat.Const(op.Params[1], storedBits))
			}
			return fmt.Sprintf("(%s offset=%d %s)", op.Name, offset, address)
		}
		for _, offset := range offsets(size) {
			list := indexes(size, op.Width, offset)
			fn := b.Add("i", op.Result, access(offset, wat.Get(0)))
			for _, x := range list {
				cells = append(cells, cell{op, fn, x, offset, false})
			}
			if offset != 0 && offset != size && offset != 0x7FFFFFFF && offset < 0xFFFFFFF8 && m.name != "fixed" {
				continue
			}
			for _, x := range list {
				cells = append(cells, cell{op, b.Add("", op.Result, access(offset, wat.Const('i', x))), x, offset, true})
			}
		}
	}
	return "(module " + m.decl + b.String() + ")", cells
}

const (
	storedBits = 0x4182838485868788 // as a float, too
	patternLen = 256
)

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
	for i := range gridMemories {
		m := &gridMemories[i]
		t.Run(m.name, func(t *testing.T) {
			text, cells := gridCells(m)
			wasm, err := wat.Assemble(text)
			if err != nil {
				t.Fatal(err)
			}
			engines := compare.Natives()
			if !m.large {
				engines = append(engines, compare.Interpreters()[0])
			}
			n := 0
			for _, e := range engines {
				n = runGrid(t, e, m, wasm, cells)
			}
			accesses, traps = accesses+len(cells), traps+n
		})
	}
	if cases == whole {
		figures.Check(t, "bounds.accesses", accesses)
		figures.Check(t, "bounds.traps", traps)
	}
}

// runGrid makes the accesses on an engine, and returns how many must trap.
func runGrid(t *testing.T, e spectest.Engine, m *gridMemory, wasm []byte, cells []cell) (traps int) {
	s, err := e.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mod, err := s.Compile(wasm)
	if err != nil {
		t.Fatalf("%s: %v", e.Name(), err)
	}
	inst, err := s.Instantiate(mod, nil)
	if err != nil {
		t.Fatalf("%s: %v", e.Name(), err)
	}
	memory := memoryOf(t, inst)
	size := m.pages << 16
	if uint64(len(memory)) != size {
		t.Fatalf("%s: memory of %d bytes", e.Name(), len(memory))
	}
	for _, at := range patternAt(size) {
		for a := at; a < at+patternLen; a++ {
			memory[a] = wat.Pattern(a)
		}
	}
	partial, failed := 0, 0
	for i := range cells {
		c := &cells[i]
		var args []uint64
		if !c.constant {
			args = []uint64{c.index}
		}
		values, err := inst.Invoke(c.fn, args)
		at := c.index + c.offset // up to 2^33: nothing wraps
		outside := at+c.op.Width > size
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
		case !c.op.Store():
			want := make([]byte, c.op.Width)
			for i := range want {
				want[i] = gridByte(size, at+uint64(i))
			}
			if w := loaded(c.op, want); len(values) != 1 || values[0].Bits != w {
				problem = fmt.Sprintf("loaded %#x, want %#x", values, w)
			}
		}
		if problem == "" && c.op.Store() {
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
	t.Logf("%s: %d accesses, %d of them trap, %d wrong, %d stores done in part", e.Name(), len(cells), traps, failed, partial)
	return traps
}

// storeEffect checks what a store changed around its address and at the end of memory, and
// puts back what was there. Stores that straddle the end may be done in part on AArch64:
// then only what lies before them is checked, and part is true if it happened.
func storeEffect(memory []byte, c *cell, at uint64, outside bool) (problem string, part bool) {
	size := uint64(len(memory))
	mayPart := runtime.GOARCH == "arm64" && at < size
	look := func(from, to uint64) {
		for a := from; a < to && a < size; a++ {
			want := gridByte(size, a)
			written := a-at < c.op.Width
			if written && !outside {
				want = byte(uint64(storedBits) >> (8 * (a - at)))
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
		look(max(at, 16)-16, at+c.op.Width+16)
	}
	if outside {
		look(max(size, 32)-32, size)
		look(0, 32)
		look(at&0xFFFFFFFF, at&0xFFFFFFFF+16) // where it would be with 32 bits
	}
	return problem, part
}

// loaded is what a load gives for the bytes at its address.
func loaded(o *wat.Operator, b []byte) uint64 {
	var x uint64
	for i := range b {
		x |= uint64(b[i]) << (8 * i)
	}
	if strings.HasSuffix(o.Name, "_s") {
		x = uint64(int64(x) << (64 - 8*len(b)) >> (64 - 8*len(b)))
	}
	if o.Result == "i" || o.Result == "f" {
		x = uint64(uint32(x))
	}
	return x
}
