package opt

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/clif/resumable"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// This file copies the code of functions that can be resumed (package resumable) inside of a loop. The rare entries of the function's table
// lead to a copy, and only the usual start leads to the original. So loops of the original have one entry, and facts that
// hold in front of a block hold in it. A resumed function runs the copy, which is the unchanged code, until it returns.
//
// This pays for loops without calls, where programs spend time. Elsewhere the gain does not outweigh the larger code.

// maxResumed is the most instructions that are copied.
const maxResumed = 2000

// resumePass is the state of copyResumed.
type resumePass struct {
	f       *clif.Func
	loops   analysis.Loops
	calls   []bool   // by header: blocks of the loop, but not of loops in it, have calls
	copyOf  []uint32 // by block: 1 plus its copy, 0 if it has none
	region  []clif.Block
	size    int          // instructions of region
	valueOf []clif.Value // by value: what it is in the copy
	targets []uint32     // by target: 1 plus its copy, 0 if it has none yet; many entries of a table may share one
	values  []uint32     // scratch
	usual   clif.Block   // where the function usually begins
	table   clif.Inst    // which has the rare entries
	block   clif.Block   // of table
}

func copyResumed(o *Optimizer, f *clif.Func) {
	p := &o.resumed
	p.f = f
	o.flow(f)
	if p.block = resumable.Table(f, &o.cfg); p.block == clif.NoBlock {
		return
	}
	p.table = f.Terminator(p.block)
	p.usual = f.Targets[p.entries()[0]].Block
	if !p.entersLoop(o) || !p.collect(o) || !o.may(RuleCopyResumed) {
		return
	}
	blocks := len(f.Blocks)
	p.copyBlocks()
	p.enterCopy()
	if o.tracing() {
		o.note(0, fmt.Sprintf("%d blocks after a resumption", len(p.region)), fmt.Sprintf("copies of them, from %v on", clif.Block(blocks)))
	}
	o.cfgValid = false
}

// entries returns the targets of the table.
func (p *resumePass) entries() []uint32 { return p.f.TargetsOf(&p.f.Insts[p.table]) }

// entersLoop reports whether a rare entry leads into the middle of a loop without calls.
func (p *resumePass) entersLoop(o *Optimizer) bool {
	f := p.f
	p.loops.Compute(f, &o.cfg)
	p.calls = stop.Zeroed(f.Stop, p.calls, len(f.Blocks))
	for _, b := range o.cfg.Order() {
		h := p.loops.Innermost(b)
		if h == clif.NoBlock {
			continue
		}
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			p.calls[h] = p.calls[h] || f.Insts[i].Op.Has(effect.Calls)
		}
	}
	for _, t := range p.entries()[1:] {
		f.Stop.Poll()
		b := f.Targets[t].Block
		if h := p.loops.Innermost(b); b != p.usual && h != clif.NoBlock && h != b && !p.calls[h] {
			return true
		}
	}
	return false
}

// collect fills region with the blocks that rare entries lead to, and reports whether they may be copied. No way leads from them back to
// the table of a function that can be resumed. One does if such a function is inlined in a loop: what the region computes is used behind a later
// pass through the table then, and the copy would not have it.
func (p *resumePass) collect(o *Optimizer) bool {
	f := p.f
	p.copyOf = stop.Zeroed(f.Stop, p.copyOf, len(f.Blocks))
	p.region, p.size = p.region[:0], 0
	for _, t := range p.entries()[1:] {
		f.Stop.Poll()
		if b := f.Targets[t].Block; b != p.usual {
			p.add(b)
		}
	}
	for k := 0; k < len(p.region); k++ {
		for _, t := range o.cfg.Succs(p.region[k]) {
			f.Stop.Poll()
			p.add(f.Targets[t].Block)
		}
	}
	return p.size <= maxResumed && p.copyOf[p.block] == 0
}

// add appends b to region, if it is not there.
func (p *resumePass) add(b clif.Block) {
	if p.copyOf[b] == 0 {
		p.region = append(stop.Room(p.f.Stop, p.region), b)
		p.copyOf[b] = uint32(len(p.f.Blocks) + len(p.region))
		p.size += int(p.f.Blocks[b].End - p.f.Blocks[b].Start)
	}
}

// copyBlocks appends the copies of region. A value that is used there is defined there, or in front of the table.
func (p *resumePass) copyBlocks() {
	f := p.f
	p.valueOf = stop.Resize(f.Stop, p.valueOf, len(f.Values))
	for v := range p.valueOf {
		f.Stop.PollAt(v)
		p.valueOf[v] = clif.Value(v)
	}
	p.targets = stop.Zeroed(f.Stop, p.targets, len(f.Targets))
	first := len(f.Blocks)
	for _, b := range p.region {
		p.define(b)
	}
	for c := first; c < len(f.Blocks); c++ {
		for i := f.Blocks[c].Start; i < f.Blocks[c].End; i++ {
			f.Stop.PollAt(int(i))
			p.operands(&f.Insts[i])
		}
	}
}

// define appends a copy of b whose parameters and results are new, and whose operands are still those of b.
func (p *resumePass) define(b clif.Block) {
	f, c := p.f, clif.Block(len(p.f.Blocks))
	p.values = append(p.values[:0], f.Params(b)...)
	for k, v := range p.values {
		f.Stop.PollAt(k)
		p.values[k] = uint32(p.newValue(clif.Value(v), uint32(c)))
	}
	start := clif.Inst(len(f.Insts))
	for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
		f.Stop.PollAt(int(i))
		d := f.Insts[i]
		for n := range clif.Value(d.NumResults) {
			if v := p.newValue(f.Insts[i].Result+n, uint32(len(f.Insts))); n == 0 {
				d.Result = v
			}
		}
		f.Insts = append(stop.Room(f.Stop, f.Insts), d)
		f.Srcs = stop.Append(f.Stop, f.Srcs, f.Srcs[i])
	}
	f.Blocks = append(stop.Room(f.Stop, f.Blocks), clif.BlockData{Params: clif.MakeList(f, p.values), Start: start, End: clif.Inst(len(f.Insts))})
	f.Layout = append(stop.Room(f.Stop, f.Layout), c)
}

// newValue returns the copy of v, which def defines: a block or an instruction.
func (p *resumePass) newValue(v clif.Value, def uint32) clif.Value {
	f := p.f
	d := f.Values[v]
	d.Def = def
	p.valueOf[v] = clif.Value(len(f.Values))
	f.Values = append(stop.Room(f.Stop, f.Values), d)
	return p.valueOf[v]
}

// operands makes those of d, and its targets, the copy's.
func (p *resumePass) operands(d *clif.InstData) {
	p.f.CopyOperands(d, p.f, p.copied, p.target)
}

func (p *resumePass) copied(v uint32) uint32 { return uint32(p.valueOf[p.f.Resolve(clif.Value(v))]) }

// target returns a target like t, in the copy.
func (p *resumePass) target(t uint32) uint32 {
	if c := p.targets[t]; c != 0 {
		return c - 1
	}
	f := p.f
	to := clif.TargetData{Block: clif.Block(p.copyOf[f.Targets[t].Block] - 1), Args: f.CopyList(f.Targets[t].Args)}
	for k, v := range f.ListAt(to.Args) {
		f.Stop.PollAt(k)
		f.ListAt(to.Args)[k] = p.copied(v)
	}
	f.Targets = append(stop.Room(f.Stop, f.Targets), to)
	p.targets[t] = uint32(len(f.Targets))
	return p.targets[t] - 1
}

// enterCopy lets the rare entries lead to the copy.
func (p *resumePass) enterCopy() {
	f := p.f
	for k, t := range p.entries() {
		f.Stop.PollAt(k)
		if f.Targets[t].Block != p.usual {
			t = p.target(t)
			p.entries()[k] = t
		}
	}
}
