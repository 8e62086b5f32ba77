package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// vectorLowerings are the functions for opcodes of vectors.
var vectorLowerings = [clif.NumOpcodes]backend.LowerFunc{
	clif.OpVconst: lowerVconst,
}

func lowerVconst(l *lower, _ clif.Inst, d *clif.InstData) {
	low, high := d.V128()
	vectorConst(l, low, high, l.Def(d, 0))
}

// vectorConst appends dst = the vector with the given halves, rematerialisable.
func vectorConst(l *lower, low, high uint64, dst vreg) {
	if low|high == 0 {
		l.EmitRemat(backend.Inst{Op: asm.Fzero, Size: 8}, dst)
		return
	}
	in := backend.Inst{Op: asm.Fldr, Size: 16}
	a := l.Pool(low, high, 16)
	a.Set(&in)
	l.EmitRemat(in, dst)
}
