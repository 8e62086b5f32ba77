package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/regalloc"
)

// Distribution counts properties of functions and their allocations.
type Distribution struct {
	sizes  []int
	blocks int
	// functions[k] have feature k, instances[k] times in all.
	functions, instances [len(features)]int
}

// feature is something that a function may have a number of.
type feature struct {
	name string
	// basic features are those that Least looks at.
	basic bool
	of    func(in *regalloc.Input, out *regalloc.Output) int
}

var features = [...]feature{
	{"loops", true, inBlocks(func(in *regalloc.Input, b regalloc.Block) bool { return in.Blocks[b].LoopDepth > 0 })},
	{"loops of depth 8 and more", false, inBlocks(func(in *regalloc.Input, b regalloc.Block) bool { return in.Blocks[b].LoopDepth >= 8 })},
	{"entries into the middle of loops", false, sideEntries},
	{"split critical edges", false, inBlocks(splitsEdge)},
	{"blocks not after any predecessor", false, inBlocks(misplaced)},
	{"block parameters", false, inBlocks(func(in *regalloc.Input, b regalloc.Block) bool { return in.Blocks[b].Params.Len() > 0 })},
	{"blocks of 100 parameters and more", false, inBlocks(func(in *regalloc.Input, b regalloc.Block) bool { return in.Blocks[b].Params.Len() >= 100 })},
	{"calls", true, inInsts(isCall)},
	{"clobbers of upper halves only", false, inInsts(func(in *regalloc.Input, i regalloc.Inst) bool {
		c := in.ClobbersOf(i)
		return c.High&^c.Low != 0
	})},
	{"calls with uses, definitions anywhere and fixed", false, inInsts(callShaped)},
	{"tied operands", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool { return o.Constraint == regalloc.Reuse })},
	{"fixed uses", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool {
		return o.Constraint == regalloc.Fixed && o.Access.Reads()
	})},
	{"fixed definitions", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool {
		return o.Constraint == regalloc.Fixed && o.Access.Defines()
	})},
	{"late uses", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool { return o.Access == regalloc.LateUse })},
	{"early definitions", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool { return o.Access == regalloc.EarlyDef })},
	{"arguments in memory", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool {
		return o.Constraint == regalloc.FixedArg && o.Access.Defines()
	})},
	{"tail calls", false, inInsts(func(in *regalloc.Input, i regalloc.Inst) bool { return in.Insts[i].Flags&regalloc.IsTailCall != 0 })},
	{"arguments of tail calls in memory", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool {
		return o.Constraint == regalloc.FixedArg && o.Access.Reads()
	})},
	{"arguments that a tail call passes in other words", false, inInsts(turned)},
	{"arguments that a tail call overwrites in part", false, inInsts(cut)},
	{"calls that may throw", false, inInsts(throws)},
	{"calls that may throw and define values", false, inInsts(func(in *regalloc.Input, i regalloc.Inst) bool {
		return throws(in, i) && slices.ContainsFunc(in.OperandsOf(i), func(o regalloc.Operand) bool { return o.Access.Defines() })
	})},
	{"calls that may throw in loops", false, inBlocks(func(in *regalloc.Input, b regalloc.Block) bool {
		return in.Blocks[b].LoopDepth > 0 && throws(in, regalloc.Inst(in.Blocks[b].Insts.End-1))
	})},
	{"handlers of several calls", false, inBlocks(handlesMany)},
	{"operands of 16 bytes", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool { return in.VRegs[o.VReg].Bytes == 16 })},
	{"operands of 4 bytes", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool { return in.VRegs[o.VReg].Bytes == 4 })},
	{"references", false, inOperands(func(in *regalloc.Input, o regalloc.Operand) bool { return in.VRegs[o.VReg].Ref })},
	{"uses after definitions", false, inInsts(func(in *regalloc.Input, i regalloc.Inst) bool {
		ops := in.OperandsOf(i)
		k := slices.IndexFunc(ops, func(o regalloc.Operand) bool { return o.Access.Defines() })
		return k >= 0 && slices.ContainsFunc(ops[k:], func(o regalloc.Operand) bool { return o.Access.Reads() })
	})},
	{"branches with operands", false, inInsts(func(in *regalloc.Input, i regalloc.Inst) bool {
		return in.Insts[i].Flags&(regalloc.IsTerminator|regalloc.IsReturn) == regalloc.IsTerminator && len(in.OperandsOf(i)) > 0
	})},
	{"terminators that define values", false, inInsts(func(in *regalloc.Input, i regalloc.Inst) bool {
		return in.Insts[i].Flags&regalloc.IsTerminator != 0 && slices.ContainsFunc(in.OperandsOf(i), func(o regalloc.Operand) bool { return o.Access.Defines() })
	})},
	{"safepoints", true, inInsts(func(in *regalloc.Input, i regalloc.Inst) bool { return in.Insts[i].Flags&regalloc.Safepoint != 0 })},
	{"references in stack maps", false, func(_ *regalloc.Input, out *regalloc.Output) int { return len(out.StackMapSlots) }},
	{"spills", true, func(_ *regalloc.Input, out *regalloc.Output) int { return out.Stats.Spills }},
	{"reloads", false, func(_ *regalloc.Input, out *regalloc.Output) int { return out.Stats.Reloads }},
	{"splits", false, func(_ *regalloc.Input, out *regalloc.Output) int { return out.Stats.Splits }},
	{"swaps", false, func(_ *regalloc.Input, out *regalloc.Output) int { return out.Stats.Swaps }},
	{"constants stored", false, func(_ *regalloc.Input, out *regalloc.Output) int { return out.Stats.StoredConsts }},
	{"remats", false, func(_ *regalloc.Input, out *regalloc.Output) int { return out.Stats.Remats }},
	{"blocks where registers are not saved", false, func(_ *regalloc.Input, out *regalloc.Output) (n int) {
		for _, unsaved := range out.Unsaved {
			if unsaved {
				n++
			}
		}
		return n
	}},
	{"definitions left out", false, func(_ *regalloc.Input, out *regalloc.Output) int { return out.Stats.LeftOut }},
}

func inBlocks(has func(in *regalloc.Input, b regalloc.Block) bool) func(*regalloc.Input, *regalloc.Output) int {
	return func(in *regalloc.Input, _ *regalloc.Output) (n int) {
		for b := range in.Blocks {
			if has(in, regalloc.Block(b)) {
				n++
			}
		}
		return n
	}
}

func inInsts(has func(in *regalloc.Input, i regalloc.Inst) bool) func(*regalloc.Input, *regalloc.Output) int {
	return func(in *regalloc.Input, _ *regalloc.Output) (n int) {
		for i := range in.Insts {
			if has(in, regalloc.Inst(i)) {
				n++
			}
		}
		return n
	}
}

func inOperands(has func(in *regalloc.Input, o regalloc.Operand) bool) func(*regalloc.Input, *regalloc.Output) int {
	return func(in *regalloc.Input, _ *regalloc.Output) (n int) {
		for _, o := range in.Operands {
			if has(in, o) {
				n++
			}
		}
		return n
	}
}

func isCall(in *regalloc.Input, i regalloc.Inst) bool { return in.ClobbersOf(i).Low.Len() > 4 }

// callShaped: fixed uses, fixed definitions, clobbers, uses and definitions anywhere.
func callShaped(in *regalloc.Input, i regalloc.Inst) bool {
	seen := 0
	for _, o := range in.OperandsOf(i) {
		switch {
		case o.Constraint == regalloc.Fixed && o.Access.Reads():
			seen |= 1
		case o.Constraint == regalloc.Fixed:
			seen |= 2
		case o.Constraint == regalloc.Any && o.Access.Reads():
			seen |= 4
		case o.Constraint == regalloc.Any:
			seen |= 8
		}
	}
	return seen == 15 && isCall(in, i)
}

func throws(in *regalloc.Input, i regalloc.Inst) bool {
	return in.Insts[i].Flags&regalloc.MayThrow != 0
}

// passesIn reports whether i, a tail call, passes in argument words an argument of the function that has come in words, where ok accepts the two operands.
func passesIn(in *regalloc.Input, i regalloc.Inst, ok func(from, to regalloc.Operand) bool) bool {
	for _, to := range in.OperandsOf(i) {
		if in.Insts[i].Flags&regalloc.IsTailCall == 0 || to.Constraint != regalloc.FixedArg {
			continue
		}
		for _, from := range in.OperandsOf(0) {
			if from.Constraint == regalloc.FixedArg && ok(from, to) {
				return true
			}
		}
	}
	return false
}

// turned: an argument goes to another word than it has come in.
func turned(in *regalloc.Input, i regalloc.Inst) bool {
	return passesIn(in, i, func(from, to regalloc.Operand) bool { return from.VReg == to.VReg && from.Arg != to.Arg })
}

// cut: half of a word or of two that an operand reads is written by another one, or two by halves.
func cut(in *regalloc.Input, i regalloc.Inst) bool {
	reads := func(v regalloc.VReg) bool {
		return slices.ContainsFunc(in.OperandsOf(i), func(o regalloc.Operand) bool { return o.VReg == v })
	}
	return passesIn(in, i, func(from, to regalloc.Operand) bool {
		first, last := int(from.Arg), int(from.Arg)+in.VRegs[from.VReg].Words()
		return reads(from.VReg) && from.Arg != to.Arg && int(to.Arg) < last && first < int(to.Arg)+in.VRegs[to.VReg].Words()
	})
}

// handlesMany: b has several predecessors, of which two at least are the handlers of calls that do nothing but go there.
func handlesMany(in *regalloc.Input, b regalloc.Block) bool {
	n := 0
	for _, p := range in.PredsOf(b) {
		if up := in.PredsOf(p); len(up) == 1 && throws(in, regalloc.Inst(in.Blocks[up[0]].Insts.End-1)) && in.SuccsOf(up[0])[1].To == p {
			n++
		}
	}
	return n > 1
}

// splitsEdge reports whether b stands on an edge that would be critical.
func splitsEdge(in *regalloc.Input, b regalloc.Block) bool {
	preds, succs := in.PredsOf(b), in.SuccsOf(b)
	return len(preds) == 1 && len(succs) == 1 && in.Blocks[preds[0]].Succs.Len() > 1 && in.Blocks[succs[0].To].Preds.Len() > 1
}

// misplaced reports whether all predecessors of b come later in order.
func misplaced(in *regalloc.Input, b regalloc.Block) bool {
	preds := in.PredsOf(b)
	return len(preds) > 0 && slices.Min(preds) > b
}

// sideEntries counts the retreating edges of a walk in depth whose targets do not
// dominate their sources: there are some exactly if control flow is irreducible.
func sideEntries(in *regalloc.Input, _ *regalloc.Output) (n int) {
	const (
		open = 1 + iota
		closed
	)
	state := make([]uint8, len(in.Blocks))
	type frame struct {
		b regalloc.Block
		k int
	}
	stack := []frame{{}}
	state[0] = open
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		succs := in.SuccsOf(f.b)
		if f.k == len(succs) {
			state[f.b] = closed
			stack = stack[:len(stack)-1]
			continue
		}
		to := succs[f.k].To
		f.k++
		switch state[to] {
		case 0:
			state[to] = open
			stack = append(stack, frame{b: to})
		case open:
			if f.b != to && reaches(in, f.b, to) {
				n++
			}
		}
	}
	return n
}

// reaches reports whether a path from the entry leads to b without passing not.
func reaches(in *regalloc.Input, b, not regalloc.Block) bool {
	seen := make([]bool, len(in.Blocks))
	work := []regalloc.Block{0}
	seen[0], seen[not] = true, true
	if not == 0 {
		return false
	}
	for len(work) > 0 {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		for _, e := range in.SuccsOf(x) {
			if !seen[e.To] {
				seen[e.To] = true
				work = append(work, e.To)
			}
		}
	}
	return seen[b] && b != not
}

// Add counts one function and its allocation.
func (d *Distribution) Add(in *regalloc.Input, out *regalloc.Output) {
	d.sizes = append(d.sizes, len(in.Insts))
	d.blocks += len(in.Blocks)
	for k := range features {
		if n := features[k].of(in, out); n > 0 {
			d.functions[k]++
			d.instances[k] += n
		}
	}
}

// Merge adds what other has counted.
func (d *Distribution) Merge(other *Distribution) {
	d.sizes = append(d.sizes, other.sizes...)
	d.blocks += other.blocks
	for k := range features {
		d.functions[k] += other.functions[k]
		d.instances[k] += other.instances[k]
	}
}

// Median returns the median number of instructions.
func (d *Distribution) Median() int {
	if len(d.sizes) == 0 {
		return 0
	}
	slices.Sort(d.sizes)
	return d.sizes[len(d.sizes)/2]
}

// Least returns the smallest of the shares, in per cent, of functions with loops,
// calls, spills and safepoints.
func (d *Distribution) Least() int {
	least := len(d.sizes)
	for k, f := range features {
		if f.basic {
			least = min(least, d.functions[k])
		}
	}
	return 100 * least / max(len(d.sizes), 1)
}

// Missing are the names of the features that no function has.
func (d *Distribution) Missing() (names []string) {
	for k, f := range features {
		if d.functions[k] == 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// String returns a table for the log.
func (d *Distribution) String() string {
	n := max(len(d.sizes), 1)
	insts := 0
	for _, s := range d.sizes {
		insts += s
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d functions, %d instructions (median %d, most %d), %d blocks\n", len(d.sizes), insts, d.Median(),
		slices.Max(append(d.sizes, 0)), d.blocks)
	for k, f := range features {
		fmt.Fprintf(&b, "%-48s %6.2f %% of functions %12d in all\n", f.name, 100*float64(d.functions[k])/float64(n), d.instances[k])
	}
	return b.String()
}
