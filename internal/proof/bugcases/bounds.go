package bugcases

import (
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// Grid is a module with one memory and accesses around all of its edges.
type Grid struct {
	Name  string
	Pages uint64
	Text  string
	Cells []Cell
}

// Cell is one access of a grid: a call of Func, with the index as argument unless the module has it as a constant.
type Cell struct {
	Op            *wat.Operator
	Func          string
	Index, Offset uint64
	Constant      bool // the index is a constant
}

func (c *Cell) String() string {
	return fmt.Sprintf("%s offset=%#x at %#x (constant: %v)", c.Op.Name, c.Offset, c.Index, c.Constant)
}

// Args returns the arguments of the call.
func (c *Cell) Args() []uint64 {
	if c.Constant {
		return nil
	}
	return []uint64{c.Index}
}

// StoredBits is what stores of constants store: its lower part for narrow ones, its bits for floats.
const StoredBits = 0x4182838485868788

// gridMemories are the memories of the grids.
var gridMemories = []struct {
	name  string
	pages uint64
	decl  string
}{
	{"none", 0, `(memory (export "memory") 0 0)`},
	{"empty", 0, `(memory (export "memory") 0 1)`},
	{"fixed", 1, `(memory (export "memory") 1 1)`},
	{"growable", 3, `(memory (export "memory") 3)`},
	{"grown", 2, `(memory (export "memory") 1 5) (func $g (drop (memory.grow (i32.const 1)))) (start $g)`},
	{"2 GiB", 32769, `(memory (export "memory") 32769 32769)`},
	{"4 GiB", 65536, `(memory (export "memory") 65536)`},
}

// Grids returns a grid for each kind of memory.
func Grids() (out []*Grid) {
	for _, m := range gridMemories {
		out = append(out, newGrid(m.name, m.pages, m.decl))
	}
	return out
}

// Large reports whether the memory has gigabytes, which is too large for interpreters.
func (g *Grid) Large() bool { return g.Pages > 1000 }

// Case returns the grid as a case for a judge. Floats are loaded with all their bits.
func (g *Grid) Case() *compare.Case {
	c := compare.Single(g.Text)
	c.ExactNaNs = true
	for i := range g.Cells {
		c.Calls = append(c.Calls, compare.Call{Func: g.Cells[i].Func, Args: g.Cells[i].Args()})
	}
	return c
}

// newGrid makes the accesses to a memory: each operator, offset and index, and for some offsets also constant indexes.
func newGrid(name string, pages uint64, decl string) *Grid {
	g := &Grid{Name: name, Pages: pages}
	size := pages << 16
	var b compare.Builder
	loads, stores := wat.Accesses()
	all := append(slices.Clone(loads), stores...)
	for i := range all {
		op := &all[i]
		access := func(offset uint64, address string) string {
			if op.Store() {
				return fmt.Sprintf("(%s offset=%d %s %s)", op.Name, offset, address, wat.Const(op.Params[1], StoredBits))
			}
			return fmt.Sprintf("(%s offset=%d %s)", op.Name, offset, address)
		}
		for _, offset := range offsets(size) {
			list := indexes(size, op.Width, offset)
			fn := b.Add("i", op.Result, access(offset, wat.Get(0)))
			for _, x := range list {
				g.Cells = append(g.Cells, Cell{op, fn, x, offset, false})
			}
			if offset != 0 && offset != size && offset != 0x7FFFFFFF && offset < 0xFFFFFFF8 && name != "fixed" {
				continue
			}
			for _, x := range list {
				fn := b.Add("", op.Result, access(offset, wat.Const('i', x)))
				g.Cells = append(g.Cells, Cell{op, fn, x, offset, true})
			}
		}
	}
	g.Text = "(module " + decl + b.String() + ")"
	return g
}

// offsets are immediate offsets near the values that matter for a memory of size bytes. Displacements of 32 bits with a
// sign end between 0x7FFFFFF0 and 0x7FFFFFFF.
func offsets(size uint64) []uint64 {
	out := []uint64{0, 1, 8, 255, 0x7FFFFFF0, 0x7FFFFFF7, 0x7FFFFFF8, 0x7FFFFFFC, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x80000100, 0xFFFEFFFF, 0xFFFFFFF8, 0xFFFFFFFF}
	if size > 8 && size < 1<<32 {
		out = append(out, size-8, size-1, size)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// indexes are indexes for accesses of width bytes at an offset.
func indexes(size, width, offset uint64) (out []uint64) {
	end := size - width - offset // wraps if the offset is too large, and then is no index
	for _, x := range []uint64{0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFF8, end - 1, end, end + 1, size - offset, size - offset - 1, -offset, 1 - offset,
		-offset - width, (1<<32 - offset) & 0xFFFFFFFF} {
		if x < 1<<32 {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
