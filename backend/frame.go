package backend

import (
	"cmp"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Frame is where a function's frame keeps things, in bytes from the frame
// pointer, which points at the caller's.
type Frame struct {
	// Saved are the callee-saved registers that the function changes; number i is
	// saved at SavedOffset(i).
	Saved regalloc.PRegSet
	// Slots is where the spill area begins; Locals where the area of hidden
	// results begins; Args where incoming argument word 0 is. With vectors each is a multiple of 16.
	Slots, Locals, Args int32
	// Size is how far the stack pointer drops below the frame pointer, a multiple of 16.
	Size int
	// Pop is how many bytes of arguments are popped on return, and Grow by how many of them the function makes the argument area longer at its entry, for those of its
	// tail calls. Both are multiples of 16.
	Pop, Grow int

	// at is, by word of the spill area, where it is, unless the words are in order.
	at []int32
}

// Offset returns where the operand a, a spill slot or an incoming stack argument, is.
func (fr *Frame) Offset(a regalloc.Allocation) int32 {
	if a.IsArg() {
		return fr.Args + 8*int32(a.Index())
	}
	if !a.IsSlot() {
		panic("operand without allocation")
	}
	return fr.slotOffset(uint32(a.Index()))
}

// slotOffset returns where a word of the spill area is.
func (fr *Frame) slotOffset(word uint32) int32 {
	if fr.at != nil {
		return fr.at[word]
	}
	return fr.Slots + 8*int32(word)
}

// SavedOffset returns where the i-th saved register is.
func (fr *Frame) SavedOffset(i int) int32 { return -8 * int32(i+1) }

// alignUp rounds n up to a multiple of align, a power of 2.
func alignUp(n, align int) int { return (n + align - 1) &^ (align - 1) }

// frameLayout lays out frames; it is reusable from function to function.
type frameLayout struct {
	uses []uint32 // by unit
	rank []uint32 // units, those with most uses first
	at   []int32  // see Frame
}

// layout computes the frame from the result of allocation.
func (l *frameLayout) layout(t *Target, vc *VCode, out *regalloc.Output) (fr Frame) {
	fr.Saved = out.Used & t.Env.CalleeSaved
	align := 8
	if vc.HasVectors {
		align = 16
	}
	n := alignUp(8*fr.Saved.Len()+alignUp(8*out.SlotWords, align), align)
	if n+vc.LocalBytes+vc.OutArgBytes > abi.MaxFrameBytes {
		panic(Unsupported("the frame is too large"))
	}
	fr.Slots = -int32(n)
	n = alignUp(n+vc.LocalBytes, align)
	fr.Locals = -int32(n)
	n += vc.OutArgBytes
	fr.Args = 16 // the caller's frame pointer, the return address
	fr.Size = alignUp(n, 16)
	fr.Pop, fr.Grow = vc.PopBytes, vc.GrowBytes
	if near := t.ShortFrame/8 - fr.Saved.Len(); t.ShortFrame > 0 && out.SlotWords > near {
		fr.at = l.orderSlots(out, slotArea{stop: vc.In.Stop, start: fr.Slots, unit: align / 8, near: max(near, 0)})
	}
	return fr
}

// slotArea is the spill area of a frame: it begins at an offset from the frame pointer. Its units, of one word, or with vectors of two, stay
// together. Of its words, near are in reach of short displacements from the frame pointer.
type slotArea struct {
	stop       *stop.Flag
	start      int32
	unit, near int
}

// orderSlots returns where the words of the area are. Those that most instructions and edits name are the last, near the frame pointer, and those
// that come next the first, near the stack pointer.
func (l *frameLayout) orderSlots(out *regalloc.Output, area slotArea) []int32 {
	end, unit := area.stop, area.unit
	units := (out.SlotWords + unit - 1) / unit
	l.countUses(end, out, units, unit)
	l.rank = stop.Resize(end, l.rank, units)
	for u := range l.rank {
		end.PollAt(u)
		l.rank[u] = uint32(u)
	}
	slices.SortStableFunc(l.rank, func(a, b uint32) int { return cmp.Compare(l.uses[b], l.uses[a]) })
	l.at = stop.Resize(end, l.at, units*unit)
	for k, u := range l.rank {
		end.PollAt(k)
		place := k - area.near/unit
		if place < 0 {
			place = units - 1 - k
		}
		for w := range unit {
			l.at[int(u)*unit+w] = area.start + 8*int32(place*unit+w)
		}
	}
	return l.at
}

// countUses counts how often operands and edits name each unit.
func (l *frameLayout) countUses(end *stop.Flag, out *regalloc.Output, units, unit int) {
	l.uses = stop.Zeroed(end, l.uses, units)
	for i, a := range out.Allocs {
		end.PollAt(i)
		if a.IsSlot() {
			l.uses[a.Index()/unit]++
		}
	}
	for i := range out.Edits {
		end.PollAt(i)
		for _, a := range [...]regalloc.Allocation{out.Edits[i].From, out.Edits[i].To} {
			if a.IsSlot() {
				l.uses[a.Index()/unit]++
			}
		}
	}
}
