// Package linear is the fast register allocator: linear scan on SSA form
// (Wimmer and Franz 2010) with lifetime holes, optimised interval splitting
// (Wimmer and Mössenböck 2005) and register hints.
//
// # Files
//
// It uses package flow, which defines positions, parts and homes, and adds one step: a walk over the positions, which visits
// the parts of intervals by rising start, and gives each a register or leaves it in memory.
//
//	walk.go          the walk
//	meets.go         where a part meets reservations of instructions
//	regs.go          what registers are given away for
//	split.go         cuts and evicts parts
//	vote.go          finds where a parameter comes from
//
// # Rare code
//
// No profile says how often blocks run, so frequency.go lets control divide equally where it branches. Values live across
// calls in rare code without a callee-saved register: they are stored there. A part that begins in rare code of a loop ends
// where control joins the usual way through the loop. There its value returns to the place that it has at the loop's header, so
// that the usual way needs no moves, whatever the rare code does to registers.
//
// Place in the pipeline: between lowering and the checker. It is the default
// allocator.
//
// Input: regalloc.Input with its invariants I1 to I6, and a
// regalloc.MachineEnv whose float scratch register exists.
// Output: regalloc.Output.
package linear

import (
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// Allocator is a reusable context for Run; only one goroutine at a time may use it. It holds
// the memory of the steps.
type Allocator struct {
	steps  flow.Steps
	walker walker
}

// New returns an empty context.
func New() *Allocator { return new(Allocator) }

// Run allocates registers for in and puts the result in out. The error, if
// any, is a *flow.Error; out is then of no use.
func (a *Allocator) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	return a.steps.Run(in, env, out, &a.walker)
}
