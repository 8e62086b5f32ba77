package resumable

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
)

// This file guesses which way branches of resumable functions rarely go.

// maxGuess is how many instructions of a block are looked at.
const maxGuess = 16

// RareSide returns the target, 0 or 1, that the branch d of a resumable function rarely takes, or -1 if there is no reason to think so. A guess, it may be wrong.
func RareSide(f *clif.Func, d *clif.InstData) int {
	for k, t := range [...]clif.Target{clif.Target(d.Args[1]), clif.Target(d.Args[2])} {
		a, other := f.Targets[t].Block, f.Targets[[...]uint32{d.Args[2], d.Args[1]}[k]].Block
		end, calls := f.Terminator(a), false
		if unwinds(f, a) {
			return k
		}
		if end == clif.NoInst || f.Insts[end].Op != clif.OpBranch {
			continue
		}
		for i := max(f.Blocks[a].Start, end-min(end, maxGuess)); i < end; i++ {
			calls = calls || f.Insts[i].Op.Has(effect.Calls)
		}
		x, y := f.Targets[f.Insts[end].Args[1]].Block, f.Targets[f.Insts[end].Args[2]].Block
		switch {
		case !calls:
		case atOnce(f, x, clif.OpReturn) && atOnce(f, y, clif.OpTrap):
			return k // the call does not return, but by unwinding
		case y == other && atOnce(f, x, clif.OpReturn) && unlikely(f, d, k == 0):
			return k
		}
	}
	return -1
}

// unwinds reports whether block b calls a function that never returns 0, and then returns.
func unwinds(f *clif.Func, b clif.Block) bool {
	end := f.Terminator(b)
	if end == clif.NoInst || f.Insts[end].Op != clif.OpReturn && (f.Insts[end].Op != clif.OpJump || !atOnce(f, f.Targets[f.Insts[end].Args[1]].Block, clif.OpReturn)) {
		return false
	}
	for i := end; i > max(f.Blocks[b].Start, end-min(end, maxGuess)); {
		i--
		if d := &f.Insts[i]; d.Op.Has(effect.Calls) {
			return alwaysUnwinds(f, d)
		}
	}
	return false
}

// atOnce reports whether block b has few instructions, of which the last one is op.
func atOnce(f *clif.Func, b clif.Block, op clif.Opcode) bool {
	end := f.Terminator(b)
	return end != clif.NoInst && f.Insts[end].Op == op && end-f.Blocks[b].Start < maxGuess
}

// unlikely reports whether the condition of branch d rarely is as holds says: a number of 64 bits, most often a pointer, is 0; or a
// global, the stack pointer, is beyond a limit that lies in memory.
func unlikely(f *clif.Func, d *clif.InstData, holds bool) bool {
	i := f.DefInst(d.ArgA())
	if i == clif.NoInst || f.Insts[i].Op != clif.OpIcmp {
		return false
	}
	c := &f.Insts[i]
	x, y := f.DefInst(c.ArgA()), f.DefInst(c.ArgB())
	switch {
	case y == clif.NoInst:
		return false
	case f.Insts[y].Op == clif.OpIconst:
		want := clif.Ne
		if holds {
			want = clif.Eq
		}
		return c.Type == clif.I64 && f.Insts[y].Imm == 0 && c.IntCC() == want
	}
	return x != clif.NoInst && f.Insts[x].Op == clif.OpGlobalGet && f.Insts[y].Op == clif.OpLoad
}
