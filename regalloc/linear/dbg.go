package linear

import "github.com/waot-project/waot/regalloc"

var DbgCount [16][3]int
var DbgWeight [16][3]uint64

func (a *Allocator) dbg(cat int, i uint32, from, to regalloc.Allocation) {
	k := 0
	if from == to || to == regalloc.NoAllocation || to.IsArg() {
		return
	}
	if from == regalloc.NoAllocation {
		return
	}
	if to.IsMem() {
		k = 1
	} else if from.IsMem() {
		k = 2
	}
	DbgCount[cat][k]++
	bl := &a.in.Blocks[a.instBlock[i]]
	f := uint64(8)
	for range min(bl.LoopDepth, 6) {
		f *= 8
	}
	if bl.Cold {
		f = 0
	}
	DbgWeight[cat][k] += f
}
