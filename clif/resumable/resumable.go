// Package resumable knows functions that can be resumed: those of Go's compiler, whose goroutines leave and enter functions in the middle, and
// those that asyncify has transformed.
//
// Place in the pipeline: below the mid-end, the inliner and block order, which take what it says as input.
//
// Input: functions whose blocks a CFG describes. Output: answers about them, and one mark.
//
// The property. A function is resumable if it has a resumption table: a br_table with clif.TableRare as Cond. Its first entry is where a call
// begins. Control takes the others only to go on in the middle of an activation that has unwound before; calls that are not under way when a
// program switches or stops never do. So they are rare, and what is true on all other ways is worth having.
//
// Each call in such a function may unwind, and says so by its result. A branch to a return follows, so the code of checks that
// hardly ever fail does not end in a trap, as it does in other programs, and looks like a choice. RareSide and ReturnsNonzero see through that.
//
// The mark is made by the mid-end (Mark), once edges with a known index have been sent past the table; what is left is the resumption. It changes
// nothing that a function computes: who reads it may be wrong about what is rare, and emits slower code then.
package resumable

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
)

// IsTable reports whether d is a resumption table.
func IsTable(d *clif.InstData) bool { return d.Op == clif.OpBrTable && d.Cond == clif.TableRare }

// Table returns the block of f that ends in its first resumption table, in the order of the CFG; NoBlock if f is not resumable.
func Table(f *clif.Func, cfg *analysis.CFG) clif.Block {
	for _, b := range cfg.Order() {
		f.Stop.Poll()
		if IsTable(&f.Insts[f.Terminator(b)]) {
			return b
		}
	}
	return clif.NoBlock
}

// FromEntry reports whether f begins with a table of where to go on, marked or not, as bodies do that are about to be inlined: all entries but the first are rare,
// or lead to the same place, or trap.
func FromEntry(f *clif.Func) bool {
	t := f.Terminator(f.Layout[0])
	if t == clif.NoInst || f.Insts[t].Op != clif.OpBrTable {
		return false
	}
	d := &f.Insts[t]
	edges := f.TargetsOf(d)
	start := f.Targets[edges[0]].Block
	for _, e := range edges {
		to := f.Targets[e].Block
		if end := f.Terminator(to); !IsTable(d) && to != start && (end == clif.NoInst || f.Insts[end].Op != clif.OpTrap) {
			return false
		}
	}
	return true
}

// Mark makes the br_table that ends block b a resumption table if it is one: the one way to the block comes from the entry block with a
// parameter of the function, the caller's choice where to resume, and most entries are reached without the table, too. Of an ordinary switch on a parameter they are not.
func Mark(f *clif.Func, cfg *analysis.CFG, b clif.Block) {
	preds := cfg.Preds(b)
	if len(preds) != 1 || preds[0].From != f.Entry() {
		return
	}
	d := &f.Insts[f.Terminator(b)]
	x := &f.Values[d.ArgA()]
	if x.Kind == clif.ValueParam && clif.Block(x.Def) == b {
		x = &f.Values[f.TargetArgs(preds[0].Target)[x.Num]]
	}
	if x.Kind == clif.ValueParam && clif.Block(x.Def) == f.Entry() && mostlyShared(f, cfg, b) {
		d.Cond = clif.TableRare
	}
}

// mostlyShared reports whether most targets of the table of block b, without the first, have other predecessors.
func mostlyShared(f *clif.Func, cfg *analysis.CFG, b clif.Block) bool {
	others, targets := 0, cfg.Succs(b)[1:]
	for _, t := range targets {
		f.Stop.Poll()
		preds := cfg.Preds(f.Targets[t].Block) // those from b are in a row
		if preds[0].From != b || preds[len(preds)-1].From != b {
			others++
		}
	}
	return 2*others > len(targets)
}

// maxPassed is how many parameters a result is followed through: those that inlined functions return to.
const maxPassed = 4

// ReturnsNonzero reports whether v is the result of a call of a function that never returns 0 (clif.FuncDecl.Nonzero): one that always unwinds.
func ReturnsNonzero(f *clif.Func, cfg *analysis.CFG, v clif.Value) bool {
	for n := 0; f.Values[v].Kind == clif.ValueParam; n++ {
		b := clif.Block(f.Values[v].Def)
		preds := cfg.Preds(b)
		if n == maxPassed || len(preds) != 1 || b == f.Entry() {
			return false
		}
		v = clif.Value(f.TargetArgs(preds[0].Target)[f.Values[v].Num])
	}
	i := f.DefInst(v)
	return i != clif.NoInst && alwaysUnwinds(f, &f.Insts[i])
}

// alwaysUnwinds reports whether d calls a function that never returns 0.
func alwaysUnwinds(f *clif.Func, d *clif.InstData) bool {
	return d.Op == clif.OpCall && f.Mod.Funcs[d.Aux].Nonzero
}
