package opt

import (
	"strings"

	"github.com/waot-project/waot/clif"
)

// Control says, for debugging, which rewrites of a function happen, and keeps
// a log of those that do. The rewrites of a function have an order that depends
// on nothing but the function, so a limit means the same on every machine and for
// any number of workers. It serves one function at a time; Reset makes it ready
// for the next.
type Control struct {
	// Limit is how many rewrites may happen; with a negative one, all.
	Limit int
	// Off are the rules that do not apply.
	Off [NumRules]bool
	// Trace makes the log say what instructions were and became.
	Trace bool
	// Log is the rewrites that happened, in order.
	Log []Rewrite
	// Plant, if not nil, may spoil a rewrite of the pass fold, in tests of tools
	// that look for wrong ones: the rule r has changed d, of f, in place, or says that
	// it equals v. The result takes the place of v.
	Plant func(r Rule, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value
}

// Rewrite is one application of a rule.
type Rewrite struct {
	Rule Rule
	// Type is that of the instruction, Invalid where it has none.
	Type clif.Type
	// Src is the offset of the instruction in the Wasm module, 0 if unknown.
	Src uint32
	// Before is the instruction, After what stands in its place, a line each. Only
	// where Trace is set.
	Before string
	After  []string
}

// Reset empties the log, keeping its memory.
func (c *Control) Reset() { c.Log = c.Log[:0] }

// spend reports whether r may happen, which it then does.
func (c *Control) spend(r Rule) bool {
	if c.Off[r] || c.Limit >= 0 && len(c.Log) >= c.Limit {
		return false
	}
	c.Log = append(c.Log, Rewrite{Rule: r})
	return true
}

// may reports whether the rewrite r may happen. Whoever asks does it then, so
// a rule asks when it has found that it fits, before it makes anything.
func (o *Optimizer) may(r Rule) bool { return o.Control == nil || o.Control.spend(r) }

// describe completes the entries of the log from n on that are not complete.
func (c *Control) describe(n int, src uint32, before string, after ...string) {
	for i := n; i < len(c.Log); i++ {
		if e := &c.Log[i]; e.Before == "" {
			e.Src, e.Before, e.After = src, before, after
		}
	}
}

// instText is the text of an instruction that f need not hold.
func instText(f *clif.Func, d *clif.InstData) string {
	g := *f
	g.Insts = []clif.InstData{*d}
	p := clif.Printer{F: &g}
	return p.Inst(0)
}

// apply applies a rule to d.
func (c *folder) apply(r rule, d *clif.InstData) (clif.Value, bool) {
	if c.o.Control == nil {
		return r(c, d)
	}
	return c.observed(r, d)
}

// observed is apply under the eyes of Control.
func (c *folder) observed(r rule, d *clif.InstData) (clif.Value, bool) {
	ctl, n, start := c.o.Control, len(c.o.Control.Log), len(c.out)
	before, typ := "", d.Type
	if ctl.Trace {
		before = instText(c.f, d)
	}
	v, again := r(c, d)
	if len(ctl.Log) == n {
		return v, again
	}
	for i := n; i < len(ctl.Log) && ctl.Log[i].Type == clif.Invalid; i++ {
		ctl.Log[i].Type = typ // rules that made operands have set theirs
	}
	if ctl.Plant != nil && (v != clif.NoValue || again) {
		v = ctl.Plant(ctl.Log[n].Rule, c.f, d, v)
	}
	if ctl.Trace {
		var after []string
		for i := start; i < len(c.out); i++ {
			after = append(after, instText(c.f, &c.out[i]))
		}
		switch name, _, _ := strings.Cut(before, " ="); {
		case v == clif.NoValue:
			after = append(after, instText(c.f, d))
		case d.Result != clif.NoValue && d.NumResults > 0:
			after = append(after, name+" is "+v.String())
		default:
			after = append(after, v.String())
		}
		ctl.describe(n, c.src, before, after...)
	}
	return v, again
}

// effect is simplifyEffect, under the eyes of Control if there is one.
func (c *folder) effect(d *clif.InstData) (dropped bool) {
	ctl := c.o.Control
	if ctl == nil {
		return c.simplifyEffect(d)
	}
	n, typ, before := len(ctl.Log), d.Type, ""
	if ctl.Trace {
		before = instText(c.f, d)
	}
	dropped = c.simplifyEffect(d)
	for i := n; i < len(ctl.Log); i++ {
		ctl.Log[i].Type = typ
	}
	switch {
	case !ctl.Trace:
	case dropped:
		ctl.describe(n, c.src, before)
	default:
		ctl.describe(n, c.src, before, instText(c.f, d))
	}
	return dropped
}

// end is terminator, under the eyes of Control if there is one.
func (c *folder) end(d *clif.InstData) {
	ctl := c.o.Control
	if ctl == nil || !ctl.Trace {
		c.terminator(d)
		return
	}
	n, before := len(ctl.Log), instText(c.f, d)
	c.terminator(d)
	ctl.describe(n, c.src, before, instText(c.f, d))
}

// tracing reports whether note has a use for descriptions.
func (o *Optimizer) tracing() bool { return o.Control != nil && o.Control.Trace }

// note describes a rewrite that is not of one instruction: the last of the log.
func (o *Optimizer) note(src uint32, before string, after ...string) {
	if o.tracing() {
		o.Control.describe(len(o.Control.Log)-1, src, before, after...)
	}
}
