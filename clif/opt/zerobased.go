package opt

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/internal/stop"
)

// This file changes loops that count from -n up to 0 so that they count from 0. Compilers count from -n to save a
// comparison, but then addresses are sums x+k with x >= 2^32-n and k >= n, which wrap. The parameter v of the header becomes
// v+n, with what it is used for:
//
//	v+k               => v+(k-n)
//	v == k, next == k => v == k+n, next == k+n, and the same for !=
//	br v, br next     => br v != n, br next != n
//
// where next = v+step goes back to the header. All of these are equal modulo 2^32, whatever v is. A variable
// with other uses stays, and one that would not make an address simpler.

// zeroBased is the state of countFromZero.
type zeroBased struct {
	found []counter
	// of, by value, is the number of the counter that has it as v or next, plus 1.
	of    []uint32
	users []counterUse
	insertions
}

// counter is a parameter of a loop's header that begins with a negative constant.
type counter struct {
	v, next     clif.Value
	enter, back analysis.Edge
	num         int    // of the parameter
	n           uint64 // what is added
	last        uint64 // the largest number that v+n will be
	other       bool   // it has uses that are not listed above
	gains       bool   // an address gets simpler
}

// counterUse is an instruction that uses a counter.
type counterUse struct {
	counter uint32
	inst    clif.Inst
}

// countFromZero changes the counters of f.
func (p *addressPass) countFromZero() {
	z := &p.zero
	z.found = z.found[:0]
	for _, b := range p.o.cfg.Order() {
		p.f.Stop.Poll()
		p.findCounters(b)
	}
	if len(z.found) == 0 {
		return
	}
	z.of = stop.Zeroed(p.f.Stop, z.of, len(p.f.Values))
	for i := range z.found {
		z.of[z.found[i].v], z.of[z.found[i].next] = uint32(i+1), uint32(i+1)
	}
	if !p.findGains() {
		return
	}
	p.findUses()
	p.changeCounters()
	if len(z.fresh) > 0 {
		z.insert(p.f)
		p.reset(p.widths, p.f)
	}
}

// findCounters appends the counters of the loop with header b, if it has one edge in and one back, and runs for a known time.
func (p *addressPass) findCounters(b clif.Block) {
	f, preds := p.f, p.o.cfg.Preds(b)
	if len(preds) != 2 || b == f.Entry() || p.o.dom.Dominates(b, preds[0].From) || !p.o.dom.Dominates(b, preds[1].From) {
		return
	}
	enter, back := preds[0], preds[1]
	p.starts = p.starts[:0]
	for n, a := range f.TargetArgs(enter.Target) {
		f.Stop.PollAt(n)
		k, exact := p.constant(clif.Value(a))
		if !exact {
			k = p.ones(clif.Value(a))
		}
		p.starts = stop.Append(f.Stop, p.starts, start{upper: k, exact: exact})
	}
	l := countedLoop{header: b, back: back.Target, guard: p.guardOn(back)}
	if l.count(&p.upperBounds, p.starts); !l.counted {
		return
	}
	for n, a := range f.TargetArgs(back.Target) {
		f.Stop.PollAt(n)
		v, next, s := clif.Value(f.Params(b)[n]), clif.Value(a), p.starts[n]
		step, ok := p.stepOf(v, next)
		if !ok || f.TypeOf(v) != clif.I32 || !s.exact || s.upper <= p.positive(v) || step > p.positive(v) {
			continue
		}
		p.zero.found = stop.Append(f.Stop, p.zero.found, counter{
			v: v, next: next, enter: enter, back: back, num: n,
			n: p.trunc(clif.I32, -s.upper), last: mulUp(step, l.most),
		})
	}
}

// findGains finds the counters that would make an address simpler, and reports whether there is one. Few functions have one, so the uses of counters are looked at
// only then.
func (p *addressPass) findGains() (any bool) {
	f, z := p.f, &p.zero
	for i := range f.Insts {
		f.Stop.PollAt(i)
		d := &f.Insts[i]
		if d.Op != clif.OpLoad && d.Op != clif.OpStore {
			continue
		}
		if x, k, ok := p.sum(d.ArgA()); ok && z.of[x] != 0 {
			c := &z.found[z.of[x]-1]
			if rest := k - c.n; x == c.v && k >= c.n && d.Imm <= maxOffset && rest <= maxOffset-d.Imm && c.last <= p.ones(x)-rest {
				c.gains, any = true, true
			}
		}
	}
	return any
}

// findUses collects the uses of counters.
func (p *addressPass) findUses() {
	f, z := p.f, &p.zero
	z.users = z.users[:0]
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			p.uses(i, &f.Insts[i])
		}
		for _, t := range p.o.cfg.Succs(b) {
			for n, a := range f.TargetArgs(t) {
				f.Stop.PollAt(n)
				if c := z.of[a]; c != 0 && (z.found[c-1].next != clif.Value(a) || z.found[c-1].back.Target != t || z.found[c-1].num != n) {
					z.found[c-1].other = true
				}
			}
		}
	}
}

// uses collects the uses of counters by d.
func (p *addressPass) uses(i clif.Inst, d *clif.InstData) {
	z := &p.zero
	for n, a := range d.Operands() {
		c := z.of[a]
		if c == 0 {
			continue
		}
		if n > 0 || !p.changes(d, &z.found[c-1]) {
			z.found[c-1].other = true
			continue
		}
		z.users = stop.Append(p.f.Stop, z.users, counterUse{c - 1, i})
	}
	for n, a := range p.f.ListOperands(d) {
		p.f.Stop.PollAt(n)
		if c := z.of[a]; c != 0 {
			z.found[c-1].other = true
		}
	}
}

// changes reports whether the use of c as the first operand of d can be changed.
func (p *addressPass) changes(d *clif.InstData, c *counter) bool {
	switch d.Op {
	case clif.OpIadd:
		_, ok := p.constant(d.ArgB())
		return ok && d.ArgA() == c.v
	case clif.OpIcmp:
		_, ok := p.constant(d.ArgB())
		return ok && d.IntCC() <= clif.Ne
	}
	return d.Op == clif.OpBranch
}

// changeCounters changes the counters that have no other uses and make addresses simpler.
func (p *addressPass) changeCounters() {
	f, z := p.f, &p.zero
	z.fresh = z.fresh[:0]
	for i := range z.found {
		c := &z.found[i]
		if c.other || !c.gains || !p.o.may(RuleCountFromZero) {
			c.n = 0
			continue
		}
		at := f.Terminator(c.enter.From)
		if p.o.tracing() {
			k := -int64(c.n)
			p.o.note(f.Offset(f.Srcs[at]), fmt.Sprintf("%v counts from %d", c.v, k), fmt.Sprintf("%v counts from 0", c.v))
		}
		f.TargetArgs(c.enter.Target)[c.num] = uint32(p.iconst(at, 0))
	}
	for _, u := range z.users {
		f.Stop.Poll()
		if c := &z.found[u.counter]; c.n != 0 {
			p.change(u.inst, &f.Insts[u.inst], c)
		}
	}
}

// change changes d, which uses c.
func (p *addressPass) change(i clif.Inst, d *clif.InstData, c *counter) {
	if d.Op == clif.OpBranch {
		n := p.iconst(i, c.n)
		d.Args[0] = uint32(p.fresh(i, clif.InstData{Op: clif.OpIcmp, Type: clif.I32, Cond: uint8(clif.Ne), Args: [3]uint32{d.Args[0], uint32(n)}}))
		return
	}
	k, _ := p.constant(d.ArgB())
	switch {
	case d.Op == clif.OpIcmp:
		d.Args[1] = uint32(p.iconst(i, k+c.n))
	case d.Result != c.next:
		d.Args[1] = uint32(p.iconst(i, k-c.n))
	}
}

func (p *addressPass) iconst(at clif.Inst, x uint64) clif.Value {
	return p.fresh(at, clif.InstData{Op: clif.OpIconst, Type: clif.I32, Imm: p.trunc(clif.I32, x)})
}

// fresh returns the result, an i32, of an instruction in front of at. It is not there before the insertions are.
func (p *addressPass) fresh(at clif.Inst, d clif.InstData) clif.Value {
	return p.zero.add(p.f, at, clif.I32, d)
}
