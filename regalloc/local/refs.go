package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// references say which references are live where, block by block, so that stack maps list what lives across a safepoint and nothing else. They are found like
// the values live into roots, from each use up to the definition, and only in the few functions that have any.
type references struct {
	refDef   []uint32 // by value: the block that defines it
	refUses  []refUse // block after block, one for each reference that a block uses
	usesEnd  []uint32 // by block
	latest   []uint32 // by value: its last entry of refUses, or none
	refPairs []livePair
	refIn    []uint32 // references live into blocks, parameters excepted, block after block
	refInEnd []uint32 // by block
	refEnd   []uint32 // by value, while the walk is in a block: the position from which it is dead
}

// refUse is the last use of v in a block. next is one in a block in front of that, or none.
type refUse struct{ v, block, end, next uint32 }

// findRefs finds where references are live.
func (a *Allocator) findRefs() error {
	in := a.in
	a.refUses, a.refPairs = a.refUses[:0], a.refPairs[:0]
	if !a.hasRefs {
		return nil
	}
	a.refDef, a.refEnd = stop.Resize(in.Stop, a.refDef, len(in.VRegs)), stop.Resize(in.Stop, a.refEnd, len(in.VRegs))
	a.latest = stop.Resize(in.Stop, a.latest, len(in.VRegs))
	for v := range a.latest {
		in.Stop.PollAt(v)
		a.latest[v] = none
	}
	a.usesEnd = stop.Resize(in.Stop, a.usesEnd, len(in.Blocks))
	for b := range uint32(len(in.Blocks)) {
		a.scanRefs(b)
		a.usesEnd[b] = uint32(len(a.refUses))
	}
	a.clearSeen()
	a.refInEnd = stop.Zeroed(in.Stop, a.refInEnd, len(in.Blocks))
	for v := range a.latest {
		in.Stop.PollAt(v)
		if err := a.climbRef(uint32(v)); err != nil {
			return err
		}
	}
	a.refIn = sortPairs(in.Stop, a.refIn, a.refInEnd, a.refPairs)
	return nil
}

// scanRefs notes definitions and uses of references in block b. What an edge passes is used behind the terminator.
func (a *Allocator) scanRefs(b uint32) {
	in := a.in
	info := &in.Blocks[b]
	for _, p := range in.ParamsOf(regalloc.Block(b)) {
		in.Stop.Poll()
		a.refDef[p] = b
	}
	pos := a.starts[b]
	for i := info.Insts.Start; i < info.Insts.End; i++ {
		in.Stop.PollAt(int(i))
		pos++
		ops := in.OperandsOf(regalloc.Inst(i))
		for k := range ops {
			if v := uint32(ops[k].VReg); ops[k].Access.Defines() {
				a.refDef[v] = b
			} else {
				a.useRef(v, b, pos)
			}
		}
	}
	for _, e := range in.SuccsOf(regalloc.Block(b)) {
		for _, v := range in.ArgsOf(e) {
			in.Stop.Poll()
			a.useRef(uint32(v), b, pos+1)
		}
	}
}

// useRef notes a use of v, if that is a reference, at pos in block b. One that can be made again is in no slot.
func (a *Allocator) useRef(v, b, pos uint32) {
	if a.values[v].flags&(isRef|isRemat) != isRef {
		return
	}
	n := a.latest[v]
	if n != none && a.refUses[n].block == b {
		a.refUses[n].end = pos
		return
	}
	a.latest[v] = uint32(len(a.refUses))
	a.refUses = append(stop.Room(a.in.Stop, a.refUses), refUse{v, b, pos, n})
}

// climbRef finds the blocks that v is live into.
func (a *Allocator) climbRef(v uint32) error {
	in := a.in
	work := a.climbing[:0]
	enter := func(b uint32) {
		if b != a.refDef[v] && a.seen[b] != v {
			a.seen[b] = v
			work = append(work, b)
		}
	}
	for u := a.latest[v]; u != none; u = a.refUses[u].next {
		enter(a.refUses[u].block)
	}
	for len(work) > 0 {
		in.Stop.Poll()
		b := work[len(work)-1]
		work = work[:len(work)-1]
		a.refPairs = append(stop.Room(in.Stop, a.refPairs), livePair{v, b})
		a.refInEnd[b]++
		preds := in.PredsOf(regalloc.Block(b))
		if len(preds) == 0 { // b is the entry
			return flow.Fail(flow.Undefined, none, v)
		}
		for _, p := range preds {
			enter(uint32(p))
		}
	}
	a.climbing = work
	return flow.LimitLive(in, len(a.refPairs), v)
}

// refsInto returns the references live into b, parameters excepted.
func (r *references) refsInto(b uint32) []uint32 { return ofBlock(r.refIn, r.refInEnd, b) }

// enterRefs begins block b with the references live into it, parameters excepted.
func (a *Allocator) enterRefs(b uint32) {
	a.refs = a.refs[:0]
	if !a.hasRefs {
		return
	}
	a.refs = append(a.refs, a.refsInto(b)...)
	for _, u := range ofBlock(a.refUses, a.usesEnd, b) {
		a.in.Stop.Poll()
		a.refEnd[u.v] = u.end
	}
	for _, e := range a.in.SuccsOf(regalloc.Block(b)) {
		into := a.refsInto(uint32(e.To))
		a.countRefs(&a.refEdges, into)
		for _, v := range into {
			a.in.Stop.Poll()
			a.refEnd[v] = none
		}
	}
}

// countRefs counts references that are looked at, and reports whether there have been too many. Edges and safepoints have a limit each, as for the other allocators.
func (a *Allocator) countRefs(pairs *int, refs []uint32) bool {
	*pairs += len(refs)
	if a.err == nil && len(refs) > 0 {
		a.err = flow.LimitLive(a.in, *pairs, refs[0])
	}
	return a.err != nil
}
