package backend

import "github.com/waot-project/waot/regalloc"

// VCode is a function in machine instructions over virtual registers, in final
// block order. It is not changed after lowering.
type VCode struct {
	// In is the input of the allocator. Block numbers are those of the BlockOrder.
	In regalloc.Input
	// Insts and Srcs (offsets in the Wasm module) are parallel to In.Insts.
	Insts []Inst
	Srcs  []uint32
	// Headers says which blocks are targets of back edges.
	Headers []bool
	// Tops are the tops of loops, rising.
	Tops []uint32
	// Consts is the pool of ModeConst.
	Consts []PoolConst
	// Tables are the jump tables, ranges of TableBlocks.
	Tables      []regalloc.Range
	TableBlocks []regalloc.Block
	// Chained says of each whether it is a chain of comparisons, which needs no table.
	Chained []bool
	// Indirect are the jump tables that indirect jumps use: these jumps lead to the blocks of all entries but the default.
	Indirect []uint32
	// Calls are all calls, in rising order, and
	// Safepoints are the calls that may run the collector, in rising order. They follow from what the instructions call.
	Calls, Safepoints []regalloc.Inst
	// LocalBytes and OutArgBytes are the sizes of the frame's area of hidden results and of
	// the outgoing argument area.
	LocalBytes, OutArgBytes int
	// PopBytes is how many bytes the argument area has, which the function pops on return. GrowBytes is how much longer it is than what the caller has pushed.
	PopBytes, GrowBytes int
	// HasCalls says that the function calls functions or helpers.
	HasCalls bool
	// HasExceptions says that the function uses the part of the instance data for exceptions, or catches.
	HasExceptions bool
	// HasHeap says that the function uses the part of the instance data for the heap.
	HasHeap bool
	// HasVectors says that some registers are of 16 bytes: areas of the frame are aligned to as much.
	HasVectors bool
}

// PoolConst is a constant in the code. Bytes (4, 8 or 16) is its length and its alignment.
type PoolConst struct {
	Lo, Hi uint64
	Bytes  uint8
}

func (vc *VCode) reset() {
	in := &vc.In
	*in = regalloc.Input{
		VRegs: in.VRegs[:0], Insts: in.Insts[:0], Operands: in.Operands[:0], ClobberSets: append(in.ClobberSets[:0], regalloc.Clobbers{}),
		Blocks: in.Blocks[:0], Edges: in.Edges[:0], BlockLists: in.BlockLists[:0], VRegLists: in.VRegLists[:0],
	}
	*vc = VCode{
		In: *in, Insts: vc.Insts[:0], Srcs: vc.Srcs[:0], Headers: vc.Headers[:0], Tops: vc.Tops[:0], Consts: vc.Consts[:0],
		Tables: vc.Tables[:0], Chained: vc.Chained[:0], Calls: vc.Calls[:0], Safepoints: vc.Safepoints[:0], TableBlocks: vc.TableBlocks[:0], Indirect: vc.Indirect[:0],
	}
}
