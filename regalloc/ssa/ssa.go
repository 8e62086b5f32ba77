// Package ssa is the optimising register allocator: it decides first, for the whole
// function, which values are in registers at each point, and then which registers these are. It is decoupled, as in
// Hack's thesis (2006): a function in SSA form whose register pressure is nowhere higher than
// the number of registers can be coloured in the order of dominance without another spill.
//
// # Files
//
// It uses package flow, which defines positions, parts and homes, and adds one step:
//
//	order.go         input                     -> blocks in reverse postorder
//	distance.go      order, liveness           -> distances to next uses; pressure of loops
//	demand.go        one instruction           -> what it asks of registers
//	entry.go         distances                 -> values in registers at block entries
//	spill.go         distances, demands        -> values in registers elsewhere, as events
//	colour.go        events, demands           -> segments: where values are, block by block
//	valid.go         events                    -> slots that hold what is in registers
//	parts.go         segments, valid slots     -> parts of intervals
//
// # Spilling
//
// Where more values would be in registers than an instruction leaves, the one whose next use is farthest loses its register
// (Braun and Hack 2009). Distances to uses behind the end of a loop are very long, so that values
// that the loop uses win. An instruction that clobbers registers, or names them, leaves fewer of them to the
// values that outlive it. At the header of a loop, values that it uses have registers, and others as far as the pressure in
// the loop allows. Callee-saved registers are only counted once the uses of a value have paid for saving one.
// Reloads stand before the use that needs them, and nothing else: where two ways meet that disagree, moves on
// the edges make good the difference.
//
// # Colouring
//
// Blocks are visited in an order in which dominators come first. At any point the values in registers fit, so that a free register is
// always found; preferences say which: that of a fixed operand to come, that of the tied operand, that of the parameter or argument
// at the other end of an edge (Braun, Mallon and Hack 2010). An instruction that takes a register away from a value that outlives it moves that value, and perhaps another out of
// its way: with the copies for fixed and tied operands, that is one parallel move.
//
// Place in the pipeline: between lowering and the checker, as an alternative to regalloc/linear.
//
// Input: regalloc.Input with its invariants I1 to I6, and a
// regalloc.MachineEnv whose float scratch register exists.
// Output: regalloc.Output.
package ssa

import (
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// Allocator is a reusable context for Run; only one goroutine at a time may use it. It holds
// the memory of the steps.
type Allocator struct {
	steps  flow.Steps
	placer placer
}

// New returns an empty context.
func New() *Allocator { return new(Allocator) }

// Run allocates registers for in and puts the result in out. The error, if
// any, is a *flow.Error; out is then of no use.
func (a *Allocator) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	return a.steps.Run(in, env, out, &a.placer)
}

// placer is the step that says where values are.
type placer struct {
	order     order
	distances distances
	spilling  spilling
	colouring colouring
	validity  validity
	parts     parts
}

// Place implements flow.Placer.
func (p *placer) Place(iv *flow.Intervals, live *flow.Liveness, reserved *flow.Reservations, classes *flow.Classes) ([]flow.Part, error) {
	p.order.find(iv.In)
	p.distances.find(iv, live, &p.order)
	if err := p.spilling.spill(iv, live, reserved, classes, &p.order, &p.distances); err != nil {
		return nil, err
	}
	if err := p.colouring.colour(iv, classes, &p.spilling); err != nil {
		return nil, err
	}
	p.validity.find(iv, &p.spilling)
	return p.parts.make(iv, live, &p.spilling, &p.colouring, &p.validity), nil
}

// Forget implements flow.Placer.
func (p *placer) Forget() {
	p.distances.Forget()
	p.spilling.Forget()
	p.colouring.Forget()
	p.parts.Forget()
}
