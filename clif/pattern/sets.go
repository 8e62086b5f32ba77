package pattern

import (
	"math/bits"

	"github.com/waot-project/waot/clif"
)

// OpSet is a set of opcodes. NumOpcodes stands for values that no instruction with one result defines.
type OpSet [clif.NumOpcodes/64 + 1]uint64

// Has reports whether op is in the set.
func (s *OpSet) Has(op clif.Opcode) bool { return s[op>>6]>>(op&63)&1 != 0 }

// Add adds opcodes.
func (s *OpSet) Add(ops ...clif.Opcode) {
	for _, op := range ops {
		s[op>>6] |= 1 << (op & 63)
	}
}

// All calls yield for the opcodes, the first first.
func (s *OpSet) All(yield func(clif.Opcode) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !yield(clif.Opcode(i<<6 | bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

// IsEmpty reports whether there is none.
func (s *OpSet) IsEmpty() bool { return *s == OpSet{} }

// AnyCond is the set of all conditions, a bit for each.
const AnyCond = ^uint16(0)

// CondSet returns the set of conditions; nil is all.
func CondSet(conds []uint8) (s uint16) {
	if conds == nil {
		return AnyCond
	}
	for _, cc := range conds {
		s |= 1 << cc
	}
	return s
}
