package inline

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/resumable"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// scales weighs functions.
type scales struct {
	usual []bool // by block
	work  []clif.Block
}

// callWeight is the weight of a call in a body: with it the function is not a leaf, so that only one of two calls is saved.
const callWeight = 12

// raiseWeight is the weight of a block that throws an exception: it rarely runs, and is cold code.
const raiseWeight = 2

// weightless are the operations that become operands, or nothing.
var weightless = [clif.NumOpcodes]bool{clif.OpNop: true, clif.OpIconst: true, clif.OpUextend: true, clif.OpIreduce: true, clif.OpJump: true, clif.OpReturn: true, clif.OpCharge: true}

// weigh returns about how many instructions of a machine f needs, or, if it can be resumed, how many where it is called and no check fails. It stops
// counting once that is too much.
func (s *scales) weigh(f *clif.Func) (weight int) {
	resumed := resumable.FromEntry(f)
	if resumed {
		s.findUsual(f)
	}
	for _, b := range f.Layout {
		if resumed && !s.usual[b] {
			continue
		}
		if t := f.Terminator(b); t != clif.NoInst && f.Insts[t].Op == clif.OpRaise {
			weight += raiseWeight
			continue
		}
		for i := f.Blocks[b].Start; i < f.Blocks[b].End && weight <= maxEagerWeight; i++ {
			d := &f.Insts[i]
			switch {
			case d.Op == clif.OpBrTable && resumed && b == f.Layout[0]: // calls have a constant for it
			case d.Op == clif.OpBrTable:
				weight += int(d.Args[2])
			case d.Op.Has(effect.Calls):
				weight += callWeight
			case !weightless[d.Op]:
				weight++
			}
		}
	}
	return weight
}

// findUsual finds the blocks of f, which can be resumed, that run where it is called: those to which something else leads than resumption and checks that fail.
func (s *scales) findUsual(f *clif.Func) {
	s.usual = stop.Zeroed(f.Stop, s.usual, len(f.Blocks))
	s.usual[f.Layout[0]] = true
	s.work = append(s.work[:0], f.Layout[0])
	for len(s.work) > 0 {
		f.Stop.Poll()
		b := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		t := f.Terminator(b)
		if t == clif.NoInst {
			continue
		}
		edges, rare := f.TargetsOf(&f.Insts[t]), -1
		if b == f.Layout[0] {
			edges = edges[:1]
		} else if f.Insts[t].Op == clif.OpBranch {
			rare = resumable.RareSide(f, &f.Insts[t])
		}
		for k, e := range edges {
			if to := f.Targets[e].Block; k != rare && !s.usual[to] {
				s.usual[to] = true
				s.work = append(s.work, to)
			}
		}
	}
}
