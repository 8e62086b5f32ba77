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

// Cell is one access of a grid: a call of Func, with the index as argument unless the module has it as a constant. Func returns vectors as
// two halves.
type Cell struct {
	Op            *wat.Operator
	Func          string
	Index, Offset uint64
	Constant      bool // the index is a constant
}

// Lane returns the lane that the access has, if its operator has one: all lanes take turns.
func (c *Cell) Lane() uint64 { return lane(c.Op, c.Offset) }

func lane(op *wat.Operator, offset uint64) uint64 {
	return (offset ^ offset>>8) % max(1, uint64(op.Lanes))
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

// StoredVector is what stores of vectors store, or a lane of it; loads of a lane put the others around it.
var StoredVector = wat.Vector{StoredBits, 0x9192939495969798}

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
	all := slices.Concat(loads, stores, wat.VectorAccesses())
	for i := range all {
		op := &all[i]
		result := op.Result
		if result == "v" {
			result = "ll"
		}
		access := func(offset uint64, address string) string { return accessText(op, offset, address) }
		for _, offset := range offsets(size) {
			list := indexes(size, op.Width, offset)
			fn := b.Add("i", result, access(offset, wat.Get(0)))
			for _, x := range sortedIndexes(slices.Concat(list, lastBytes(size, op.Width, offset))) {
				g.Cells = append(g.Cells, Cell{op, fn, x, offset, false})
			}
			if offset != 0 && offset != size && offset != 0x7FFFFFFF && offset < 0xFFFFFFF8 && name != "fixed" {
				continue
			}
			for _, x := range list {
				fn := b.Add("", result, access(offset, wat.Const('i', x)))
				g.Cells = append(g.Cells, Cell{op, fn, x, offset, true})
			}
		}
	}
	g.Text = "(module " + decl + wat.VectorFunctions + b.String() + ")"
	return g
}

// accessText returns an access to an address, with constants for the other operands.
func accessText(op *wat.Operator, offset uint64, address string) string {
	immediates := fmt.Sprintf("offset=%d", offset)
	if op.Lanes > 0 {
		immediates += fmt.Sprintf(" %d", lane(op, offset))
	}
	operands := address
	if len(op.Params) > 1 {
		operands += " " + constant(op.Params[1])
	}
	text := "(" + op.Name + " " + immediates + " " + operands + ")"
	if op.Result == "v" {
		return wat.Halves(text)
	}
	return text
}

// constant returns the operator for StoredBits or StoredVector.
func constant(letter byte) string {
	if letter == 'v' {
		return StoredVector.String()
	}
	return wat.Const(letter, StoredBits)
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

// lastBytes are indexes by which wide accesses at an offset reach each of the last 17 bytes first.
func lastBytes(size, width, offset uint64) (out []uint64) {
	if width < 16 {
		return nil
	}
	for k := range uint64(17) {
		out = append(out, size-offset-1-k)
	}
	return out
}

// indexes are indexes for accesses of width bytes at an offset.
func indexes(size, width, offset uint64) []uint64 {
	end := size - width - offset // wraps if the offset is too large, and then is no index
	return sortedIndexes([]uint64{0, 1, 2, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFFF8, end - 1, end, end + 1, size - offset, size - offset - 1,
		-offset, 1 - offset, -offset - width, (1<<32 - offset) & 0xFFFFFFFF})
}

// sortedIndexes returns those numbers of a list that fit 32 bits, sorted, each once.
func sortedIndexes(list []uint64) []uint64 {
	list = slices.DeleteFunc(list, func(x uint64) bool { return x >= 1<<32 })
	slices.Sort(list)
	return slices.Compact(list)
}
