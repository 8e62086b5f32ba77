package x64

import (
	"encoding/binary"
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// room is how much space an encoded instruction is given in the buffer.
const room = 48

// put emits one row with its allocations: bytes, relocation or label use, and trap site.
func put(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	b := e.Buf
	start := b.Offset()
	switch in.Mode {
	case backend.ModeBase, backend.ModeBaseIndex, backend.ModeIndex:
		if in.Ref != backend.NoFault {
			memoryTrap(e, in, start, src)
		}
	}
	if in.Trap != 0 && (in.Op == asm.Div || in.Op == asm.Idiv) {
		e.Trap(start, abi.TrapCode(in.Trap), abi.FaultDivide, 0, src)
	}
	fr := asm.Frame{Slots: e.Frame.Slots, Args: e.Frame.Args, Locals: e.Frame.Locals}
	out, patch := asm.Append(b.Reserve(room)[:0], in, allocs, &fr)
	if patch.Kind == asm.PatchNone {
		b.Advance(len(out))
		return
	}
	at := start + uint32(patch.Off)
	addend := in.Disp - 4 - int32(patch.After)
	binary.LittleEndian.PutUint32(out[patch.Off:], uint32(addend))
	switch patch.Kind {
	case asm.PatchConst:
		b.Advance(len(out))
		b.UseLabel(at, rel32, e.Constant(in.Ref))
		return
	case asm.PatchSym:
		binary.LittleEndian.PutUint32(out[patch.Off:], 0)
		b.AddReloc(at, uint8(backend.RelocPC32), in.Ref, int64(addend))
	case asm.PatchRel32: // of a call
		binary.LittleEndian.PutUint32(out[patch.Off:], 0)
		b.AddReloc(at, uint8(backend.RelocCall32), in.Ref, int64(addend))
	}
	b.Advance(len(out))
}

// memoryTrap records that the access of in may fault.
func memoryTrap(e *backend.Emitter, in *backend.Inst, start, src uint32) {
	if !asm.RowOf(in.Op).MayFault() {
		return
	}
	if in.Ref == backend.NullFaults {
		e.Trap(start, abi.TrapUninitializedElement, abi.FaultNull, 0, src)
		return
	}
	e.Trap(start, abi.TrapMemoryOutOfBounds, abi.FaultMemory, in.Ref, src)
}

// op emits an instruction on physical registers.
func op(e *backend.Emitter, in backend.Inst, regs ...regalloc.PReg) {
	var allocs [4]regalloc.Allocation
	for i, r := range regs {
		allocs[i] = regalloc.InReg(r)
	}
	put(e, &in, allocs[:], 0)
}

// leaLabel emits r = address of l.
func leaLabel(e *backend.Emitter, r regalloc.PReg, l machbuffer.Label) {
	b := e.Buf
	at := b.Offset()
	enc := r.Enc()
	b.PutU8(0x48 | enc>>3<<2)
	b.PutU8(0x8d)
	b.PutU8(enc&7<<3 | 5)
	b.PutU32(^uint32(3))
	b.UseLabel(at+3, rel32, l)
}

// emitInst is backend.Target.EmitInst.
func emitInst(e *backend.Emitter, i regalloc.Inst) {
	in := &e.VC.Insts[i]
	src := e.VC.Srcs[i]
	allocs := e.Allocs()
	switch {
	case in.Op >= backend.OpArgs:
		emitCommon(e, in, src)
		return
	case in.Op >= asm.NumOps:
		pseudos[in.Op-asm.NumOps].emit(&seq{e: e, in: in, src: src, regs: allocs})
		return
	case in.Op == asm.Ret:
		emitEpilogue(e)
		return
	}
	row := asm.RowOf(in.Op)
	if row.Flags&asm.FalseDep != 0 {
		breakDependency(e, in, allocs)
	}
	put(e, in, allocs, src)
	if in.Op == asm.Call || in.Op == asm.CallInd {
		e.Called(i)
		if in.Imm > 0 { // the callee has popped its arguments
			op(e, backend.Inst{Op: asm.SubImm, Size: 8, Imm: in.Imm}, asm.RSP)
		}
		return
	}
	if in.Tail != backend.TailNone {
		emitTail(e, in, allocs[asm.NumOperands(in)-tailOperands[in.Tail]:], src)
	}
}

// tailOperands is the number of a tail's operands.
var tailOperands = [...]int{backend.TailNone: 0, backend.TailJump: 0, backend.TailSet: 1, backend.TailSelect: 3, backend.TailTrap: 0}

// breakDependency clears the result's register where the instruction keeps part of it
// and the source is not that register.
func breakDependency(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation) {
	n := asm.NumAddr(in.Mode)
	dst := allocs[n]
	if in.Mode == backend.ModeNone && allocs[0].IsReg() && allocs[0].Reg().Class() == regalloc.Float {
		return
	}
	op(e, backend.Inst{Op: asm.Zerof}, dst.Reg())
}

// emitCommon emits what all machines have.
func emitCommon(e *backend.Emitter, in *backend.Inst, src uint32) {
	switch in.Op {
	case backend.OpJump:
		jumpTo(e, e.Succ(0))
	case backend.OpTrap:
		e.Trap(e.Buf.Offset(), abi.TrapCode(in.Trap), abi.FaultUndefined, 0, src)
		op(e, backend.Inst{Op: asm.Ud2})
		e.Buf.NoFallThrough()
	}
}

// emitTail emits what consumes the flags.
func emitTail(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	c := asm.Cond(in.Cond)
	switch in.Tail {
	case backend.TailJump:
		branch(e, c, e.Succ(0), e.Succ(1))
	case backend.TailSet:
		d := allocs[0].Reg()
		if !c.IsHardware() {
			panic("x64: set of a double condition")
		}
		op(e, backend.Inst{Op: asm.Setcc, Size: 1, Cond: uint8(c)}, d)
		op(e, backend.Inst{Op: asm.Movzx8, Size: 4}, d, d)
	case backend.TailSelect:
		emitSelect(e, c, allocs)
	case backend.TailTrap:
		l := e.TrapLabel(abi.TrapCode(in.Trap), src)
		switch c {
		case asm.FEq:
			skip := e.Buf.NewLabel()
			s := seq{e: e}
			s.j(asm.P, skip)
			jccFar(e, asm.E, l)
			s.bind(skip)
		case asm.FNe:
			jccFar(e, asm.P, l)
			jccFar(e, asm.NE, l)
		default:
			jccFar(e, c, l)
		}
	}
}

// emitSelect emits d = c ? a : b, d being in b's register. Of the double conditions
// lowering leaves FNe only.
func emitSelect(e *backend.Emitter, c asm.Cond, allocs []regalloc.Allocation) {
	a, d := allocs[0], allocs[2]
	first, second, _ := c.Parts()
	if d.Reg().Class() == regalloc.Int {
		move := [3]regalloc.Allocation{a, d, d}
		put(e, &backend.Inst{Op: asm.Cmov, Size: 8, Cond: uint8(first)}, move[:], 0)
		if second != first {
			put(e, &backend.Inst{Op: asm.Cmov, Size: 8, Cond: uint8(second)}, move[:], 0)
		}
		return
	}
	s := seq{e: e}
	skip := s.label()
	if second == first {
		s.j(c.Invert(), skip)
	} else {
		take := s.label()
		s.j(first, take)
		s.j(second.Invert(), skip)
		s.bind(take)
	}
	move := [2]regalloc.Allocation{a, d}
	put(e, &backend.Inst{Op: asm.Movf, Size: 8}, move[:], 0)
	s.bind(skip)
}

// jccFar emits a long conditional branch that the buffer does not edit.
func jccFar(e *backend.Emitter, c asm.Cond, l machbuffer.Label) {
	b := e.Buf
	at := b.Offset()
	b.PutU8(0x0f)
	b.PutU8(0x80 | uint8(c))
	b.PutU32(^uint32(3))
	b.UseLabel(at+2, rel32, l)
}

// near reports whether a short branch whose displacement byte will be at offset use surely
// reaches block to; behind is the most bytes that follow the byte in this block.
func near(e *backend.Emitter, use uint32, to int, behind uint32) bool {
	if to <= e.Block {
		return e.Buf.CanReach(rel8, use, e.Label(to))
	}
	return uint64(e.Distance(to))+uint64(behind)+1 <= 128
}

// jumpTo emits a branch to block to, the last of the block's code.
func jumpTo(e *backend.Emitter, to int) {
	b, l := e.Buf, e.Label(to)
	at := b.Offset()
	if near(e, at+1, to, 0) {
		b.PutU8(0xeb)
		b.PutU8(0xff)
		b.UncondBranch(at, at+1, rel8, l)
		return
	}
	b.PutU8(0xe9)
	b.PutU32(^uint32(3))
	b.UncondBranch(at, at+1, rel32, l)
}

// jmpLen and jccLen are the lengths of long branches.
const (
	jmpLen = 5
	jccLen = 6
)

// branch emits a two-way branch: to then if c holds, else to els.
func branch(e *backend.Emitter, c asm.Cond, then, els int) {
	b := e.Buf
	if c == asm.FEq {
		c, then, els = asm.FNe, els, then
	}
	if c == asm.FNe { // either of two conditions
		at, l := b.Offset(), e.Label(then)
		if near(e, at+1, then, jccLen+jmpLen) {
			b.PutU8(0x70 | uint8(asm.NE))
			b.PutU8(0xff)
			b.UseLabel(at+1, rel8, l)
		} else {
			jccFar(e, asm.NE, l)
		}
		c = asm.P
	}
	at, l := b.Offset(), e.Label(then)
	if near(e, at+1, then, jmpLen) {
		b.PutU8(0x70 | uint8(c))
		b.PutU8(0xff)
		b.CondBranch(at, at+1, rel8, l, &condForms[c])
	} else {
		b.PutU8(0x0f)
		b.PutU8(0x80 | uint8(c))
		b.PutU32(^uint32(3))
		b.CondBranch(at, at+2, rel32, l, &condForms[c])
	}
	jumpTo(e, els)
}

// emitEdit is backend.Target.EmitEdit.
func emitEdit(e *backend.Emitter, ed *regalloc.Edit) {
	if ed.Kind == regalloc.Remat {
		to := [1]regalloc.Allocation{ed.To}
		put(e, &e.VC.Insts[ed.Inst], to[:], e.VC.Srcs[ed.Inst])
		return
	}
	fr := asm.Frame{Slots: e.Frame.Slots, Args: e.Frame.Args, Locals: e.Frame.Locals}
	out := asm.AppendMove(e.Buf.Reserve(room)[:0], ed.From, ed.To, ed.Bytes, &fr)
	e.Buf.Advance(len(out))
}

// emitSwap is backend.Target.EmitSwap.
func emitSwap(e *backend.Emitter, a, b regalloc.PReg) {
	op(e, backend.Inst{Op: asm.Xchg, Size: 8}, a, b)
}

// maxEdit bounds an edit: a move with a 32-bit displacement, or a constant.
const maxEdit = 10

// maxBytes is backend.Target.MaxBytes.
func maxBytes(e *backend.Emitter, i regalloc.Inst) uint32 {
	in := &e.VC.Insts[i]
	switch {
	case in.Op == backend.OpArgs:
		return 0
	case in.Op == backend.OpJump:
		return jmpLen
	case in.Op == backend.OpTrap:
		return 2
	case in.Op == asm.Ret:
		return uint32(8*e.Frame.Saved.Len() + 4)
	case in.Op >= asm.NumOps:
		n := pseudos[in.Op-asm.NumOps].max
		return n
	}
	n := uint32(rowBytes[in.Op]) + tailBytes[in.Tail]
	row := asm.RowOf(in.Op)
	if row.Flags&asm.FalseDep != 0 {
		n += 4
	}
	if in.Op == asm.Call || in.Op == asm.CallInd {
		n += 7
	}
	if in.Mode == backend.ModeNone && asm.RowOf(in.Op).Info().Mem != asm.NoMem {
		_, end := e.VC.In.OperandRange(i)
		for _, a := range e.Out.Allocs[e.OpStart:end] {
			if a.IsMem() {
				return n
			}
		}
		n -= 5
	}
	return n
}

// tailBytes bounds the sizes of the tails.
var tailBytes = [...]uint32{backend.TailNone: 0, backend.TailJump: 2*jccLen + jmpLen, backend.TailSet: 8, backend.TailSelect: 20,
	backend.TailTrap: 2*jccLen + 2}

// rowBytes is the largest length of each row's instruction.
var rowBytes = makeRowBytes()

func makeRowBytes() (t [asm.NumOps]uint8) {
	for i := range t {
		if i != int(asm.Invalid) {
			t[i] = uint8(asm.RowOf(backend.Op(i)).MaxBytes())
		}
	}
	return t
}

// appendInst is backend.Target.AppendInst.
func appendInst(dst []byte, in *backend.Inst, ops []regalloc.Operand, allocs []regalloc.Allocation) []byte {
	if in.Op < asm.NumOps {
		if len(allocs) > 0 && in.Op != asm.Call && in.Op != asm.CallInd && in.Op != asm.Ret {
			return asm.PrintAsm(dst, in, allocs, &asm.Frame{})
		}
		dst = asm.PrintVCode(dst, in, ops)
	} else {
		dst = fmt.Appendf(dst, "%s.%d", pseudos[in.Op-asm.NumOps].name, 8*int(in.Size))
		for _, o := range ops {
			dst = fmt.Appendf(dst, " %v:%v", o.Access, o.VReg)
		}
	}
	for _, a := range allocs {
		dst = fmt.Appendf(dst, " %v", a)
	}
	return dst
}

// verify is backend.Target.Verify.
func verify(in *backend.Inst, ops []regalloc.Operand, vregs []regalloc.VRegInfo) error {
	if in.Op >= asm.NumOps {
		return nil
	}
	return asm.Verify(in, ops, vregs)
}
