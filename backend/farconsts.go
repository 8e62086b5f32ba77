package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// A function of a megabyte has thousands of constants, each defined once, and thousands of blocks. The product would be too large for the allocator, but
// only when it has counted the pairs, and to lower such a function twice takes a third of its time. So the pairs are estimated before.
const (
	farBlocks   = 4096    // functions with fewer blocks are not looked at
	farPairs    = 1 << 21 // that many pairs of a constant and a block where it may live are too many,
	farPerValue = 16      // or that many more for each value of the function
)

// farConsts estimates how far constants are from their uses.
type farConsts struct {
	last  []uint32 // by value: the block of the last use so far, or of the definition, plus 1; 0 if it is no constant
	pairs int
}

// tooMany reports whether constants of f would live in so many blocks that each block should make those that it uses.
func (fc *farConsts) tooMany(f *clif.Func, o *BlockOrder) bool {
	if len(o.Blocks) < farBlocks {
		return false
	}
	fc.last, fc.pairs = stop.Zeroed(f.Stop, fc.last, len(f.Values)), 0
	limit := farPairs + farPerValue*len(f.Values)
	for bi := range o.Blocks {
		b := o.Blocks[bi].Orig
		if b == clif.NoBlock {
			continue
		}
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i]
			if d.Op == clif.OpIconst || d.Op == clif.OpFconst || d.Op == clif.OpVconst {
				fc.last[d.Result] = uint32(bi) + 1
				continue
			}
			fc.uses(d.Operands(), bi)
			fc.uses(f.ListOperands(d), bi)
			for _, t := range f.TargetsOf(d) {
				fc.uses(f.TargetArgs(clif.Target(t)), bi)
			}
			if fc.pairs > limit {
				return true
			}
		}
	}
	return false
}

func (fc *farConsts) uses(values []uint32, block int) {
	for _, v := range values {
		fc.use(v, block)
	}
}

// use notes a use of v in a block. Of aliases nothing is known.
func (fc *farConsts) use(v uint32, block int) {
	if last := fc.last[v]; last != 0 && int(last) <= block {
		fc.pairs += block + 1 - int(last)
		fc.last[v] = uint32(block) + 1
	}
}
