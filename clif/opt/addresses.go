package opt

import (
	"math"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// This file moves constants into accesses: the access at x+k with the offset n becomes one at x with the offset n+k. The sum
// wraps at 32 bits and the offset of an access does not, so x+k must be known not to wrap. The access need not be in bounds: it
// traps afterwards if and only if it trapped before.
//
// One walk over the dominator tree collects upper bounds of the values in addresses (upperbounds.go), from instructions,
// from conditions on the path, from trip counts of loops (induction.go), and from accesses that did not trap. An
// access of s bytes at x with the offset n that did not trap leaves x <= m-n-s, where m is the largest size of the memory.

// addressPass is the state of foldAddresses.
type addressPass struct {
	upperBounds
	o *Optimizer
	// arrived, by block, counts the edges from blocks that the walk has done, without those that go back.
	arrived []uint32
	starts  []start
	walk    []addressStep
	zero    zeroBased
}

// addressStep is a block that the walk is in, and what to go back to when it leaves.
type addressStep struct {
	block clif.Block
	mark  int
}

// maxOffset is the largest offset that sums become part of: machines have no larger ones.
const maxOffset = math.MaxInt32

// maxChain is how many sums in a row become part of one access. Others folded sums of sums already.
const maxChain = 4

func foldAddresses(o *Optimizer, f *clif.Func) {
	p := &o.addresses
	p.o, p.f = o, f
	if !p.needed() {
		return
	}
	o.dominators(f)
	p.reset(o.widths, f)
	p.countFromZero()
	p.visit()
}

// visit walks over the dominator tree.
func (p *addressPass) visit() {
	o, f := p.o, p.f
	p.arrived = stop.Zeroed(f.Stop, p.arrived, len(f.Blocks))
	p.walk = p.walk[:0]
	for b := f.Entry(); ; {
		f.Stop.Poll()
		p.walk = stop.Append(f.Stop, p.walk, addressStep{b, len(p.log)})
		p.enter(b)
		if b = o.dom.FirstChild(b); b != clif.NoBlock {
			continue
		}
		if b = p.leave(); b == clif.NoBlock {
			return
		}
	}
}

// leave leaves blocks until one has a sibling, which it returns, or NoBlock. So siblings come in reverse
// postorder, and the sources of all edges into a block but those back come before it, if control flow is reducible.
func (p *addressPass) leave() clif.Block {
	for len(p.walk) > 0 {
		s := p.walk[len(p.walk)-1]
		p.walk = p.walk[:len(p.walk)-1]
		p.f.Stop.Poll()
		p.undo(s.mark)
		if next := p.o.dom.NextSibling(s.block); next != clif.NoBlock {
			return next
		}
	}
	return clif.NoBlock
}

// needed reports whether an access is at a sum with a constant that can be an offset.
func (p *addressPass) needed() bool {
	f := p.f
	for i := range f.Insts {
		f.Stop.PollAt(i)
		if d := &f.Insts[i]; d.Op == clif.OpLoad || d.Op == clif.OpStore {
			if _, k, ok := p.sum(d.ArgA()); ok && k <= maxOffset {
				return true
			}
		}
	}
	return false
}

// sum returns what v, an i32, is the sum of, if one is a constant.
func (b *upperBounds) sum(v clif.Value) (x clif.Value, k uint64, ok bool) {
	i := b.f.DefInst(v)
	if i == clif.NoInst || b.f.Insts[i].Op != clif.OpIadd || b.f.Insts[i].Type != clif.I32 {
		return v, 0, false
	}
	x = b.f.Insts[i].ArgA()
	k, ok = b.constant(b.f.Insts[i].ArgB())
	return x, k, ok
}

// fits reports whether k can be added to x without wrapping.
func (b *upperBounds) fits(x clif.Value, k uint64) bool { return b.upper(x) <= b.ones(x)-k }

// enter does the instructions of b, whose dominators were done.
func (p *addressPass) enter(b clif.Block) {
	f := p.f
	switch preds := p.o.cfg.Preds(b); {
	case b == f.Entry():
	case len(preds) == 1:
		p.assumeGuard(p.guardOn(preds[0]))
	default:
		p.meet(b)
	}
	for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
		f.Stop.PollAt(int(i))
		d := &f.Insts[i]
		switch d.Op {
		case clif.OpLoad, clif.OpStore:
			p.access(i, d)
		case clif.OpTrapIf:
			p.assumeGuard(p.guardOf(d.ArgA(), false))
		}
		p.compute(d)
	}
	for _, t := range p.o.cfg.Succs(b) {
		p.arrive(b, t)
	}
}

// arrive notes what the edge t from b brings in the bounds of the parameters of its target, which nothing reads
// before the walk is there.
func (p *addressPass) arrive(b clif.Block, t clif.Target) {
	to := p.f.Targets[t].Block
	if p.o.dom.Dominates(to, b) {
		return // the edge goes back: meet has seen it
	}
	first := p.arrived[to] == 0
	p.arrived[to]++
	params := p.f.Params(to)
	if len(params) == 0 {
		return
	}
	g := p.guardOn(analysis.Edge{From: b, Target: t})
	for n, a := range p.f.TargetArgs(t) {
		p.f.Stop.PollAt(n)
		v := clif.Value(params[n])
		room := p.ones(v) - min(p.ones(v), p.upper(clif.Value(a)), p.under(g, clif.Value(a)))
		if !first {
			room = min(room, p.room[v])
		}
		p.room[v] = room
	}
}

// meet bounds the parameters of b, whose predecessors are several: by what has arrived, and by what edges back can bring.
func (p *addressPass) meet(b clif.Block) {
	params, preds := p.f.Params(b), p.o.cfg.Preds(b)
	if len(params) == 0 {
		return
	}
	backs, forward := 0, clif.NoTarget
	for i, e := range preds {
		p.f.Stop.PollAt(i)
		if p.o.dom.Dominates(b, e.From) {
			backs++
		} else {
			forward = e.Target
		}
	}
	p.starts = p.starts[:0]
	for n, v := range params {
		p.f.Stop.PollAt(n)
		s := start{upper: p.ones(clif.Value(v))}
		if forwards := len(preds) - backs; int(p.arrived[b]) == forwards {
			s.upper -= p.room[v]
			if forwards == 1 {
				_, s.exact = p.constant(clif.Value(p.f.TargetArgs(forward)[n]))
			}
		}
		s.bound = s.upper
		p.starts = stop.Append(p.f.Stop, p.starts, s)
		p.room[v] = 0 // until the edges back were seen
	}
	for i, e := range preds {
		p.f.Stop.PollAt(i)
		if p.o.dom.Dominates(b, e.From) {
			p.turn(b, e, backs == 1)
		}
	}
	for n, v := range params {
		p.room[v] = p.ones(clif.Value(v)) - p.starts[n].bound
	}
}

// turn adds what the edge back e brings to the bounds of the parameters of b.
func (p *addressPass) turn(b clif.Block, e analysis.Edge, only bool) {
	l := countedLoop{header: b, back: e.Target, guard: p.guardOn(e)}
	if only {
		l.count(&p.upperBounds, p.starts)
	}
	for n := range p.starts {
		p.f.Stop.PollAt(n)
		s := &p.starts[n]
		s.bound = max(s.bound, l.param(&p.upperBounds, n, *s))
	}
}

// access makes constants part of d, a load or store, and notes what it says if it does not trap.
func (p *addressPass) access(i clif.Inst, d *clif.InstData) {
	for range maxChain {
		if !p.shorten(i, d) {
			break
		}
	}
	limit := mulUp(p.f.Mod.Memories[d.Aux].MaxPages(), abi.PageSize)
	if reach := addUp(d.Imm, uint64(d.Access().Bytes(d.Type))); reach <= limit {
		p.assume(d.ArgA(), limit-reach)
	}
}

// shorten makes a constant part of the offset of d, if its address is the sum of that constant and another
// value, to which it can be added without wrapping; it reports whether it did.
func (p *addressPass) shorten(i clif.Inst, d *clif.InstData) bool {
	x, k, ok := p.sum(d.ArgA())
	if !ok {
		return false
	}
	if !p.fits(x, k) || k > maxOffset || d.Imm > maxOffset-k || !p.o.may(RuleAddressBounded) {
		return false
	}
	before := ""
	if p.o.tracing() {
		before = rewrite.Text(p.f, d)
	}
	d.Args[0] = uint32(x)
	d.Imm += k
	if p.o.tracing() {
		p.o.note(p.f.Offset(p.f.Srcs[i]), before, rewrite.Text(p.f, d))
	}
	return true
}
