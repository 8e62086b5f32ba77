package x64

import "github.com/waot-project/waot/backend"

// emitMem appends an instruction with an address; pre are the registers before the
// address in the row's order, up to one, post those behind.
func emitMem(l *lower, in backend.Inst, a amode, pre, post []vreg) {
	var buf [6]vreg
	regs := append(buf[:0], pre...)
	regs = append(regs, a.Regs[:a.N]...)
	regs = append(regs, post...)
	a.Set(&in)
	l.Emit(in, regs...)
}

// storeImm appends op [a], imm.
func storeImm(l *lower, op backend.Op, size uint8, a amode, imm int64) {
	in := backend.Inst{Op: op, Size: size, Imm: imm}
	a.Set(&in)
	l.Emit(in, a.Regs[:a.N]...)
}

// fits reports whether x is a sign-extended 32-bit immediate.
func fits(x int64) bool { return x == int64(int32(x)) }
