package gen

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/regalloc"
)

// TestInvariants checks what can be checked without an allocator: I1, I2, I4, late uses at
// safepoints, single definitions, and that a definition's block dominates its uses.
func TestInvariants(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := Default()
		c.ThrowRate, c.TailCallRate = 0.3, 0.7
		c.IrreducibleRate, c.ShuffleRate, c.TerminatorDefRate, c.NestRate, c.ManyParamsRate = 0.1, 0.5, 0.2, 0.1, 0.1
		in := Func(r, c, Envs()[seed%3])
		if msg := invalid(in); msg != "" {
			t.Fatalf("seed %d: %s", seed, msg)
		}
	}
}

func invalid(in *regalloc.Input) string {
	if in.Blocks[0].Params.Len() > 0 || in.Blocks[0].Preds.Len() > 0 {
		return "I1"
	}
	defBlock := make([]int, len(in.VRegs))
	for v := range defBlock {
		defBlock[v] = -1
	}
	next := uint32(0)
	for b := range in.Blocks {
		info := &in.Blocks[b]
		if info.Insts.Start != next || info.Insts.Len() == 0 {
			return "I2"
		}
		next = info.Insts.End
		for _, p := range in.ParamsOf(regalloc.Block(b)) {
			if defBlock[p] >= 0 {
				return "two definitions"
			}
			defBlock[p] = b
		}
		for i := info.Insts.Start; i < info.Insts.End; i++ {
			if (in.Insts[i].Flags&regalloc.IsTerminator != 0) != (i == info.Insts.End-1) {
				return "terminator"
			}
			for _, o := range in.OperandsOf(regalloc.Inst(i)) {
				if o.Access == regalloc.LateUse && o.Constraint == regalloc.Reg && in.VRegs[o.VReg].Ref && in.Insts[i].Flags&regalloc.Safepoint != 0 {
					return "I5: a late use of a reference at a safepoint"
				}
				if msg := invalidWord(in, regalloc.Inst(i), o); msg != "" {
					return msg
				}
				if o.Access.Defines() {
					if defBlock[o.VReg] >= 0 {
						return "two definitions"
					}
					defBlock[o.VReg] = b
				}
			}
		}
		if end := regalloc.Inst(info.Insts.End - 1); info.Succs.Len() == 1 && (len(in.OperandsOf(end)) > 0 || in.Insts[end].Clobbers != 0) {
			return "I4: a jump with operands or clobbers"
		}
		if throws(in, regalloc.Inst(info.Insts.End-1)) {
			if info.Succs.Len() != 2 {
				return "I5: the successors of a call that may throw"
			}
			for _, o := range in.OperandsOf(regalloc.Inst(info.Insts.End - 1)) {
				if o.Access.Defines() && slices.Contains(in.ArgsOf(in.SuccsOf(regalloc.Block(b))[1]), o.VReg) {
					return "I3: a result passed to the handler"
				}
				if o.Access.Defines() && readsBehind(in, in.SuccsOf(regalloc.Block(b))[1].To, regalloc.Block(b), o.VReg) {
					return "I3: a result used behind the handler"
				}
			}
		}
		for _, e := range in.SuccsOf(regalloc.Block(b)) {
			if info.Succs.Len() > 1 && in.Blocks[e.To].Preds.Len() > 1 {
				return "I4"
			}
			if e.Args.Len() != in.Blocks[e.To].Params.Len() {
				return "arguments"
			}
		}
	}
	for b := range in.Blocks {
		reach := reachable(in, b)
		for c := range in.Blocks {
			for i := in.Blocks[c].Insts.Start; i < in.Blocks[c].Insts.End; i++ {
				for _, o := range in.OperandsOf(regalloc.Inst(i)) {
					if o.Access.Reads() && defBlock[o.VReg] == b && c != b && reach[c] {
						return "a use that its definition does not dominate"
					}
				}
			}
		}
	}
	return ""
}

// invalidWord says what is wrong with an operand of i that names a word of the arguments, or of a tail call.
func invalidWord(in *regalloc.Input, i regalloc.Inst, o regalloc.Operand) string {
	tail := in.Insts[i].Flags&regalloc.IsTailCall != 0
	switch {
	case tail && (o.Access != regalloc.Use || o.Constraint < regalloc.Fixed || in.Insts[i].Clobbers != 0 || in.Insts[i].Flags != regalloc.IsTerminator|regalloc.IsTailCall):
		return "I5: a tail call that does something else"
	case o.Constraint != regalloc.FixedArg:
		return ""
	case !tail && i != 0:
		return "words of the arguments in the middle"
	case tail && in.VRegs[o.VReg].Bytes == 4:
		return "a tail call passes 4 bytes"
	case in.VRegs[o.VReg].Bytes == 16 && o.Arg&1 != 0:
		return "a misaligned argument"
	case int(o.Arg)+in.VRegs[o.VReg].Words() > in.ArgWords:
		return "an argument behind the area"
	}
	return ""
}

// readsBehind reports whether a path from b that does not pass the block not leads to a use of v.
func readsBehind(in *regalloc.Input, b, not regalloc.Block, v regalloc.VReg) bool {
	seen := make([]bool, len(in.Blocks))
	seen[not] = true
	for work := []regalloc.Block{b}; len(work) > 0; {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[x] {
			continue
		}
		seen[x] = true
		for i := in.Blocks[x].Insts.Start; i < in.Blocks[x].Insts.End; i++ {
			for _, o := range in.OperandsOf(regalloc.Inst(i)) {
				if o.VReg == v && o.Access.Reads() {
					return true
				}
			}
		}
		for _, e := range in.SuccsOf(x) {
			if slices.Contains(in.ArgsOf(e), v) {
				return true
			}
			work = append(work, e.To)
		}
	}
	return false
}

// reachable is the set of blocks reachable from the entry without block b.
func reachable(in *regalloc.Input, b int) []bool {
	seen := make([]bool, len(in.Blocks))
	if b == 0 {
		return seen
	}
	work := []regalloc.Block{0}
	seen[0] = true
	for len(work) > 0 {
		x := work[len(work)-1]
		work = work[:len(work)-1]
		for _, e := range in.SuccsOf(x) {
			if int(e.To) != b && !seen[e.To] {
				seen[e.To] = true
				work = append(work, e.To)
			}
		}
	}
	return seen
}

func TestDeterminism(t *testing.T) {
	make := func() *regalloc.Input { return Func(rand.New(rand.NewPCG(9, 9)), Default(), X64()) }
	if d := cmp.Diff(make(), make()); d != "" {
		t.Error(d)
	}
}
