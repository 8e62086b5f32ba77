package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/regalloc"
)

// This file lets the accesses of a block share parts of their addresses: bases of tables, and sums on machines whose addresses cannot
// hold base, index and displacement at once.

// sharedTable is the base of a table that was used, and will be loaded in front of the instructions lowered so far.
type sharedTable struct {
	table uint32
	reg   regalloc.VReg
}

// maxSharedTables is how many bases of tables are shared at a time.
const maxSharedTables = 2

// TableBase returns a register that holds the base of table t. All accesses between two calls of a block share it.
func (l *Emit) TableBase(t uint32) regalloc.VReg {
	for i := range l.tables {
		if l.tables[i].table == t {
			return l.tables[i].reg
		}
	}
	if len(l.tables) == maxSharedTables {
		return l.ReadWord(l.Layout.Table(clif.TableIndex(t)))
	}
	reg := l.NewVReg(clif.I64)
	l.tables = append(l.tables, sharedTable{t, reg})
	return reg
}

// loadTables loads the bases that the instructions lowered so far share.
func (l *Emit) loadTables() {
	for i := range l.tables {
		l.loadWord(InstanceAt(l.Layout.Table(clif.TableIndex(l.tables[i].table))), l.tables[i].reg)
	}
	l.tables = l.tables[:0]
}

// SumKey is a sum that addresses may share: the base of memory Mem, plus Index unless that is clif.NoValue, plus
// Offset.
type SumKey struct {
	Mem    clif.MemoryIndex
	Index  clif.Value // resolved
	Offset uint32
}

// sharedSum is a sum that was used, and will be defined by an instruction in front that is not yet lowered.
type sharedSum struct {
	key SumKey
	reg regalloc.VReg
}

// maxShare is the largest number of instructions that a sum is kept across.
const maxShare = 32

// NewSum returns the register of a sum that an access in front of the one being lowered will define.
func (l *Place) NewSum(key SumKey) regalloc.VReg {
	reg := l.NewVReg(clif.I64)
	l.sums = append(l.sums, sharedSum{key, reg})
	return reg
}

// TakeSum makes the access being lowered define the sum, which is pending.
func (l *Place) TakeSum(key SumKey) {
	n := l.pending(key)
	l.sums[n] = l.sums[len(l.sums)-1]
	l.sums = l.sums[:len(l.sums)-1]
}

// PendingSum returns the register of the sum, if an access in front of the instruction being lowered will
// define it.
func (l *Query) PendingSum(key SumKey) (regalloc.VReg, bool) {
	if n := l.pending(key); n >= 0 {
		return l.sums[n].reg, true
	}
	return regalloc.NoVReg, false
}

// pending returns the position of key in l.sums, or -1. The list is short: each sum is defined at most maxShare
// instructions in front.
func (l *Query) pending(key SumKey) int {
	for n := range l.sums {
		if l.sums[n].key == key {
			return n
		}
	}
	return -1
}

// AskedBefore reports whether an access in front of i, in the same block and with no call between, will ask for the
// sum. keyOf returns the sum that an access asks for when it is lowered, if any; the access must then use that sum if it is
// pending. An access that was already lowered, out of order with another instruction, has defined its own sum.
func (l *Query) AskedBefore(i clif.Inst, key SumKey, keyOf func(*Query, *clif.InstData) (SumKey, bool)) bool {
	start := l.F.Blocks[l.Order.Blocks[l.block].Orig].Start
	for n := 0; i > start && n < maxShare; n++ {
		i--
		d := &l.F.Insts[i]
		switch {
		case d.Op.Has(effect.Calls):
			return false
		case d.Op != clif.OpLoad && d.Op != clif.OpStore || l.sunk[i] || d.Aux != uint32(key.Mem):
			continue
		}
		if k, ok := keyOf(l, d); ok && k == key {
			return true
		}
	}
	return false
}
