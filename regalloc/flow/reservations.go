package flow

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Reservations are the registers that instructions reserve. All lists hold
// falling positions, since they are built backward; the walk removes passed positions
// from their ends.
type Reservations struct {
	function

	Spans [64][]Span // by register: reservations by operands
	// SetPos are the positions where instructions clobber each of sets, NextSet the first one of all.
	SetPos  [MaxSets][]uint32
	NextSet uint32
	NumSets int
	sets    [MaxSets]regalloc.Clobbers
	setOf   []uint8 // by index of Input.ClobberSets: the number in sets plus 1, or 0
	// RegSets are, by width of a value in words less 1 and by register, the numbers
	// of the sets that lose the value there.
	RegSets [2][64]uint32
	// Safepoints are positions that no reference passes in a register.
	Safepoints []uint32
	// Unsaved is where callee-saved registers are the caller's; savePrice is what it costs to save and restore one, in units of frequency.
	Unsaved   []Span
	SavePrice uint32
}

type Span struct{ Start, End uint32 }

// MaxSets bounds the number of sets that have lists of their own.
const MaxSets = 16

// reset empties rv and binds it to fn.
func (rv *Reservations) reset(fn function) {
	rv.function = fn
	for r := range rv.Spans {
		rv.Spans[r] = rv.Spans[r][:0]
	}
	clear(rv.RegSets[:])
	for k := range rv.SetPos {
		rv.SetPos[k] = rv.SetPos[k][:0]
	}
	rv.NumSets, rv.NextSet = 0, 0
	rv.setOf = stop.Resize(rv.In.Stop, rv.setOf, len(rv.In.ClobberSets))
	clear(rv.setOf)
	rv.Safepoints = rv.Safepoints[:0]
	rv.Unsaved, rv.SavePrice = rv.Unsaved[:0], 2*EntryFreq
}

// clobber reserves the clobber set with the given index at pos.
func (rv *Reservations) clobber(index uint16, pos uint32) {
	set := rv.In.ClobberSets[index]
	rv.Out.Used |= set.Low & rv.Env.Allocatable
	if rv.setOf[index] == 0 && rv.NumSets < MaxSets {
		rv.addSet(index, set)
	}
	if k := rv.setOf[index]; k != 0 {
		rv.SetPos[k-1] = append(rv.SetPos[k-1], pos)
		return
	}
	// Too many sets: reserve whole registers, even if one half is preserved.
	for s := set.Lost(16); s != 0; s &= s - 1 {
		rv.reserve(s.First(), pos, pos+1)
	}
}

// addSet gives the clobber set with the given index a list of its own.
func (rv *Reservations) addSet(index uint16, set regalloc.Clobbers) {
	bit := uint32(1) << rv.NumSets
	rv.sets[rv.NumSets] = set
	rv.NumSets++
	rv.setOf[index] = uint8(rv.NumSets)
	for k := range rv.RegSets {
		for s := set.Lost(8 << k); s != 0; s &= s - 1 {
			rv.RegSets[k][s.First()] |= bit
		}
	}
}

// Lost are the registers in which a value with these flags does not survive what clobbers set number k.
func (rv *Reservations) Lost(k int, flags uint16) regalloc.PRegSet {
	return rv.sets[k].Lost(8 + uint8(flags&IsWide)<<2)
}

// reserve keeps r for the instruction at start from start to end.
func (rv *Reservations) reserve(r regalloc.PReg, start, end uint32) {
	rv.Out.Used = rv.Out.Used.Add(r)
	l := rv.Spans[r]
	if n := len(l); n > 0 && SameInst(l[n-1].Start, start) {
		l[n-1] = Span{min(l[n-1].Start, start), max(l[n-1].End, end)}
		return
	}
	rv.Spans[r] = append(l, Span{start, end})
}

// Pass drops the reservations before pos.
func (rv *Reservations) Pass(pos uint32) {
	if rv.NextSet >= pos {
		return
	}
	rv.NextSet = Inf
	for k := range rv.SetPos[:rv.NumSets] {
		l := rv.SetPos[k]
		for len(l) > 0 && l[len(l)-1] < pos {
			l = l[:len(l)-1]
		}
		if rv.SetPos[k] = l; len(l) > 0 {
			rv.NextSet = min(rv.NextSet, l[len(l)-1])
		}
	}
}
