package ssa

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// validity says of what is in registers whether its slot holds it as well: it has come from there on all ways. A value in SSA form never changes, so
// that each is stored at most once on any way.
type validity struct {
	// entries and exits belong to the lists of spilling.
	entries, exits []bool
	here           []uint32 // by value: the latest block plus 1 in which its slot is known to be valid
	lacking        []uint32 // by value: the latest block plus 1 that a way leads to on which its slot is not valid
}

// find fills the lists. An edge that closes a cycle brings back what the block began with, if the block dominates it. So at first all such edges
// are taken to do so; if one does not, none is.
func (va *validity) find(iv *flow.Intervals, sp *spilling) {
	in := iv.In
	f := in.Stop
	va.entries = stop.Resize(f, va.entries, len(sp.entries.words))
	va.exits = stop.Resize(f, va.exits, len(sp.exits.words))
	if !sp.spills {
		clear(va.entries)
		clear(va.exits)
		return
	}
	for _, trusting := range [2]bool{true, false} {
		va.here, va.lacking = stop.Zeroed(f, va.here, len(iv.Values)), stop.Zeroed(f, va.lacking, len(iv.Values))
		for _, b := range sp.order.blocks {
			f.Poll()
			va.block(in, sp, b, trusting)
		}
		if !trusting || va.holds(in, sp) {
			return
		}
	}
}

// block finds what is valid in block b.
func (va *validity) block(in *regalloc.Input, sp *spilling, b uint32, trusting bool) {
	o := sp.order
	for _, p := range in.PredsOf(regalloc.Block(b)) {
		in.Stop.Poll()
		if o.number[p] < o.number[b] {
			va.lack(sp, uint32(p), b)
		} else if !trusting {
			va.lackAll(sp, b)
		}
	}
	r := sp.entries.ranges[b]
	for k := r.Start; k < r.End; k++ {
		v := sp.entries.words[k]
		if v == flow.None {
			continue
		}
		va.entries[k] = va.lacking[v] != b+1 && sp.Values[v].DefBlock != b
		if va.entries[k] {
			va.here[v] = b + 1
		}
	}
	events := sp.events.of(b)
	for k := 0; k < len(events); k += 2 {
		if events[k]&3 == flow.AtUse && events[k+1]&isIn != 0 {
			va.here[events[k+1]>>1] = b + 1
		}
	}
	r = sp.exits.ranges[b]
	for k := r.Start; k < r.End; k++ {
		va.exits[k] = va.here[sp.exits.words[k]] == b+1
	}
}

// lack notes what the predecessor p of b has in registers without a valid slot.
func (va *validity) lack(sp *spilling, p, b uint32) {
	r := sp.exits.ranges[p]
	for k := r.Start; k < r.End; k++ {
		if !va.exits[k] {
			va.lacking[sp.exits.words[k]] = b + 1
		}
	}
}

// lackAll notes that nothing is known of what b begins with.
func (va *validity) lackAll(sp *spilling, b uint32) {
	for _, v := range sp.entries.of(b) {
		if v != flow.None {
			va.lacking[v] = b + 1
		}
	}
}

// holds reports whether the edges that close cycles bring back what they were taken to.
func (va *validity) holds(in *regalloc.Input, sp *spilling) bool {
	clear(va.lacking)
	for b := range uint32(len(in.Blocks)) {
		back := false
		for _, p := range in.PredsOf(regalloc.Block(b)) {
			in.Stop.Poll()
			if sp.order.number[p] >= sp.order.number[b] {
				back = true
				va.lack(sp, uint32(p), b)
			}
		}
		r := sp.entries.ranges[b]
		for k := r.Start; back && k < r.End; k++ {
			if v := sp.entries.words[k]; v != flow.None && va.entries[k] && va.lacking[v] == b+1 {
				return false
			}
		}
	}
	return true
}
