// Package rewrite controls and records, for debugging, what the compiler's rules do to a function: first the rules of the
// mid-end (clif/opt), then the rules of lowering (backend).
//
// Place in the pipeline: beside the mid-end and the back end, which ask it before each rewrite if there is a Control. Its
// interface may change.
//
// Input: which rewrites may happen.
// Output: a log of those that did.
package rewrite

import "github.com/waot-project/waot/clif"

// LowerPass is the pass of all lowering rules.
const LowerPass = "lower"

// Info describes a rule.
type Info struct {
	// Name is unique among the rules of the mid-end and of a machine.
	Name string
	Pass string
	// What is the pattern and what becomes of it: k, m are constants, the rest values.
	What string
	// Types are the types of the instructions to which a rule of the mid-end applies, 0 where they have none.
	Types clif.TypeSet
}

// String returns the name.
func (i *Info) String() string { return i.Name }

// Control says which rewrites of a function happen, and keeps a log of those that do. The rewrites of a function have an
// order that depends on nothing but the function and the machine: those of the mid-end in the order in which they happen,
// then those of lowering, from the function's end to its start. So a limit means the same for any number of workers. A
// Control serves one function at a time; Reset makes it ready for the next.
type Control struct {
	// Limit is how many rewrites may happen; with a negative one, all.
	Limit int
	// Off has the names of the rules, and of the passes whose rules, do not apply.
	Off map[string]bool
	// Trace makes the log say what instructions were and became.
	Trace bool
	// Log is the rewrites that happened, in order.
	Log []Rewrite
}

// Rewrite is one application of a rule.
type Rewrite struct {
	Rule *Info
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

// Spend reports whether a rewrite by the rule may happen. If so, it counts and logs the rewrite, and the caller must do it.
func (c *Control) Spend(rule *Info) bool {
	if c.Off[rule.Name] || c.Off[rule.Pass] || c.Limit >= 0 && len(c.Log) >= c.Limit {
		return false
	}
	c.Log = append(c.Log, Rewrite{Rule: rule})
	return true
}

// Text returns the text of d, which need not be an instruction of f.
func Text(f *clif.Func, d *clif.InstData) string {
	g := *f
	g.Insts = []clif.InstData{*d}
	p := clif.Printer{F: &g}
	return p.Inst(0)
}
