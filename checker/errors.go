package checker

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/regalloc"
)

// Rule says which of the package's rules an output breaks.
type Rule uint8

// The rules.
const (
	// RuleInput: the Input itself breaks an invariant the checker relies on.
	RuleInput Rule = iota
	// RuleShape: lengths or sizes of the Output do not fit the Input.
	RuleShape
	// RuleUse: an operand reads a location not known to hold its value.
	RuleUse
	// RuleConstraint: an operand's location does not meet its constraint.
	RuleConstraint
	// RuleConflict: two operands, or an operand and a clobber, collide.
	RuleConflict
	// RuleEdit: an edit that cannot be done, or not at its point.
	RuleEdit
	// RuleClaim: a claim is malformed, or does not hold on an edge.
	RuleClaim
	// RuleStackMap: a stack map is missing, malformed, or lists a non-reference.
	RuleStackMap
	// RuleUsed: a register is written that is not in Output.Used.
	RuleUsed
	// RuleSafepoint: an instruction that may run the collector is no safepoint, or a safepoint cannot run it.
	RuleSafepoint
	// RuleSaved: a callee-saved register is written where it is not saved, or cannot be saved and restored as Output.Unsaved says.
	RuleSaved
	// RuleCall: a call does not clobber what calls may change.
	RuleCall
)

var ruleNames = [...]string{"input", "shape", "use", "constraint", "conflict", "edit", "claim", "stack map", "used", "safepoint", "saved", "call"}

func (r Rule) String() string { return ruleNames[r] }

// Error is the first fault found. Fields that do not apply hold NoInst,
// NoBlock, -1, NoAllocation, NoVReg.
type Error struct {
	Rule    Rule
	Inst    regalloc.Inst
	Block   regalloc.Block
	Operand int // index among the instruction's operands
	Loc     regalloc.Allocation
	VReg    regalloc.VReg
	Msg     string
}

// NoBlock is no block.
const NoBlock = ^regalloc.Block(0)

// Error returns one line naming instruction, value and location.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "checker: %v:", e.Rule)
	if e.Block != NoBlock {
		fmt.Fprintf(&b, " block%d", e.Block)
	}
	if e.Inst != regalloc.NoInst {
		fmt.Fprintf(&b, " inst%d", e.Inst)
	}
	if e.Operand >= 0 {
		fmt.Fprintf(&b, " operand %d", e.Operand)
	}
	if e.VReg != regalloc.NoVReg {
		fmt.Fprintf(&b, " %v", e.VReg)
	}
	if !e.Loc.IsNone() {
		fmt.Fprintf(&b, " in %s", locString(e.Loc))
	}
	b.WriteString(": ")
	b.WriteString(e.Msg)
	return b.String()
}

// locString names a location even when it is a register that does not exist.
func locString(a regalloc.Allocation) string {
	if a.IsReg() && a.Index() >= numRegs {
		return fmt.Sprintf("p?%d", a.Index())
	}
	return a.String()
}

// fault returns an Error with only the rule and the message set.
func fault(rule Rule, format string, args ...any) *Error {
	return &Error{
		Rule: rule, Inst: regalloc.NoInst, Block: NoBlock, Operand: -1,
		VReg: regalloc.NoVReg, Msg: fmt.Sprintf(format, args...),
	}
}

// at sets the place of e: instruction i of the current block.
func (c *Checker) at(i regalloc.Inst, e *Error) *Error {
	e.Inst, e.Block = i, c.block
	return e
}

// operandFault returns a fault of operand k (at allocation a) of instruction i.
func (c *Checker) operandFault(rule Rule, i regalloc.Inst, k int, format string, args ...any) *Error {
	e := c.at(i, fault(rule, format, args...))
	s, _ := c.in.OperandRange(i)
	e.Operand = k
	e.VReg = c.in.Operands[int(s)+k].VReg
	e.Loc = c.out.Allocs[int(s)+k]
	return e
}

// describe says what a location is known to hold.
func (c *Checker) describe(loc uint32) string {
	f := c.locs[loc]
	if f.time < c.start {
		return "nothing known"
	}
	if f.name&tailBit != 0 {
		return "the upper half of " + regalloc.VReg(f.name&indexMask).String()
	}
	var names []string
	for _, n := range c.namesOf(f.name) {
		s := regalloc.VReg(n & indexMask).String()
		switch {
		case n&refBit != 0 && f.time < c.oldest[1]:
			s += ", a reference not in the stack map of a safepoint before"
		case !c.holds(loc, n):
			s = "only the lower half of " + s
		}
		names = append(names, s)
	}
	return strings.Join(names, " and ")
}
