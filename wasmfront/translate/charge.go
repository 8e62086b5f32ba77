package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/fuel"
)

// This file charges fuel (docs/fuel.md). Each basic block of the function begins with one charge of what all of its operators cost. A basic block is what the operators say,
// not what the mid-end makes of them: it begins at the start of the function, of a loop, of either part of an if, of a catch, behind a br_if, and at the end of a block that a branch which
// can be reached leads to, or a clause by which something may be caught.
//
// If a block has an effect, or begins a loop, its charge traps unless all is paid. Others do not compare: what they owe is noticed before anything else has an effect.

// charge is the charge of the block being translated.
type charge struct {
	inst   clif.Inst // NoInst before the first one
	cost   uint64    // of the operators so far
	locals uint64    // cost of the function's locals, in its first block
	trap   bool      // the block has an effect, or begins a loop
}

// leader begins a basic block, which may be that of a loop.
func (t *Translator) leader(loop bool) {
	if t.Fuel == nil {
		return
	}
	t.closeCharge()
	t.charge = charge{inst: t.b.Charge(0, abi.TrapNone), trap: loop}
}

// closeCharge lets the charge of the block consume what its operators cost. One of nothing goes.
func (t *Translator) closeCharge() {
	c := &t.charge
	if c.inst == clif.NoInst {
		return
	}
	c.cost += c.locals
	if c.cost == 0 && !c.trap {
		t.f.Insts[c.inst] = clif.InstData{Result: clif.NoValue}
		c.inst = clif.NoInst
		return
	}
	t.f.Insts[c.inst].Imm = c.cost
	if c.trap {
		t.f.Insts[c.inst].Cond = uint8(t.OutOfFuel)
	}
	c.inst = clif.NoInst
}

// count adds an operator to the charge of its block. One that would be too large is continued by another one: that is a block of its own.
func (t *Translator) count(op *wasmfront.Operator) {
	cost := uint64(t.Fuel.Of(op.Op)) + t.carried(op)>>fuel.ValuesShift
	if t.charge.cost+t.charge.locals+cost > clif.MaxCharge {
		t.leader(false)
	}
	if t.charge.cost == 0 {
		t.f.Srcs[t.charge.inst] = uint32(op.Offset)
	}
	t.charge.cost += cost
	t.charge.trap = t.charge.trap || op.Op.Info().Effects.Has(effect.Writes|effect.Calls)
}

// carried returns how many values a branch, a return or a new exception takes along.
func (t *Translator) carried(op *wasmfront.Operator) uint64 {
	switch op.Op {
	case wasmfront.OpBr, wasmfront.OpBrIf, wasmfront.OpBrTable, wasmfront.OpBrOnNull, wasmfront.OpBrOnNonNull:
		return uint64(len(t.frameAt(op.Index).types))
	case wasmfront.OpReturn:
		return uint64(len(t.frames[0].types))
	case wasmfront.OpThrow:
		return uint64(len(op.Params))
	}
	return 0
}

// chargeBytes charges an operator for the n bytes of memory that it works on, chargeElements for n elements of a table: n is an i64.
func (t *Translator) chargeBytes(n clif.Value)    { t.chargeSize(n, fuel.BytesShift) }
func (t *Translator) chargeElements(n clif.Value) { t.chargeSize(n, fuel.ElementsShift) }

func (t *Translator) chargeSize(n clif.Value, shift uint64) {
	if t.Fuel != nil {
		t.b.ChargeBy(t.b.Binary(clif.OpUshr, clif.I64, n, t.b.Iconst(clif.I64, shift)), t.OutOfFuel)
	}
}
