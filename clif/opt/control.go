package opt

import (
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
)

// Control says which rewrites happen; see package rewrite.
type Control = rewrite.Control

// Rewrite is an entry of its log, RuleInfo the description of a rule.
type (
	Rewrite  = rewrite.Rewrite
	RuleInfo = rewrite.Info
)

// may reports whether the rewrite r may happen. If so, the caller must do it. So
// a rule asks once it knows that it fits, and before it makes instructions.
func (o *Optimizer) may(r Rule) bool { return o.Control == nil || o.Control.Spend(r.Info()) }

// describe completes the entries of the log from n on that are not complete.
func describe(c *Control, n int, src uint32, before string, after ...string) {
	for i := n; i < len(c.Log); i++ {
		if e := &c.Log[i]; e.Before == "" {
			e.Src, e.Before, e.After = src, before, after
		}
	}
}

// apply applies a rule to d.
func (c *folder) apply(r rule, d *clif.InstData) (clif.Value, bool) {
	if c.o.Control == nil {
		return r(c, d)
	}
	return c.observed(r, d)
}

// observed is apply with a Control, which records the rewrite.
func (c *folder) observed(r rule, d *clif.InstData) (clif.Value, bool) {
	ctl, n, start := c.o.Control, len(c.o.Control.Log), len(c.out)
	before, typ := "", d.Type
	if ctl.Trace {
		before = rewrite.Text(c.f, d)
	}
	v, again := r(c, d)
	if len(ctl.Log) == n {
		return v, again
	}
	for i := n; i < len(ctl.Log) && ctl.Log[i].Type == clif.Invalid; i++ {
		ctl.Log[i].Type = typ // rules that made operands have set theirs
	}
	if ctl.Trace {
		after := c.textsFrom(start)
		switch name, _, _ := strings.Cut(before, " ="); {
		case v == clif.NoValue:
			after = append(after, rewrite.Text(c.f, d))
		case d.Result != clif.NoValue && d.NumResults > 0:
			after = append(after, name+" is "+v.String())
		default:
			after = append(after, v.String())
		}
		describe(ctl, n, c.f.Offset(c.src), before, after...)
	}
	return v, again
}

// textsFrom returns the texts of the instructions that were appended from start on.
func (c *folder) textsFrom(start int) (texts []string) {
	for i := start; i < len(c.out); i++ {
		texts = append(texts, rewrite.Text(c.f, &c.out[i]))
	}
	return texts
}

// effect is simplifyEffect. A Control, if there is one, records the rewrite.
func (c *folder) effect(d *clif.InstData) (dropped bool) {
	ctl := c.o.Control
	if ctl == nil {
		return c.simplifyEffect(d)
	}
	n, start, typ, before := len(ctl.Log), len(c.out), d.Type, ""
	if ctl.Trace {
		before = rewrite.Text(c.f, d)
	}
	dropped = c.simplifyEffect(d)
	for i := n; i < len(ctl.Log) && ctl.Log[i].Type == clif.Invalid; i++ {
		ctl.Log[i].Type = typ // rules that made operands have set theirs
	}
	if ctl.Trace {
		after := c.textsFrom(start)
		if !dropped {
			after = append(after, rewrite.Text(c.f, d))
		}
		describe(ctl, n, c.f.Offset(c.src), before, after...)
	}
	return dropped
}

// end is terminator. A Control, if there is one, records the rewrite.
func (c *folder) end(d *clif.InstData) {
	ctl := c.o.Control
	if ctl == nil || !ctl.Trace {
		c.terminator(d)
		return
	}
	n, before := len(ctl.Log), rewrite.Text(c.f, d)
	c.terminator(d)
	describe(ctl, n, c.f.Offset(c.src), before, rewrite.Text(c.f, d))
}

// tracing reports whether note has a use for descriptions.
func (o *Optimizer) tracing() bool { return o.Control != nil && o.Control.Trace }

// note describes a rewrite that is not of one instruction: the last of the log.
func (o *Optimizer) note(src uint32, before string, after ...string) {
	if o.tracing() {
		describe(o.Control, len(o.Control.Log)-1, src, before, after...)
	}
}
