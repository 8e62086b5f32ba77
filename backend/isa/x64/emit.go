package x64

import (
	"encoding/binary"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// put emits one row with its allocations: bytes, relocation or label use, and trap site.
func put(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	b := e.Buf
	start := b.Offset()
	if f := in.Fault(); f != backend.NoFault && asm.RowOf(in.Op).MayFault() {
		e.MemoryTrap(start, f, src)
	}
	if in.Trap != 0 && (in.Op == asm.Div || in.Op == asm.Idiv) {
		e.Trap(start, abi.TrapCode(in.Trap), abi.FaultDivide, 0, src)
	}
	out, patch := asm.Append(b.Reserve(backend.Room)[:0], in, allocs, &e.Frame)
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
		b.UseLabel(at, rel32, e.Constant(in.Const()))
		return
	case asm.PatchSym:
		binary.LittleEndian.PutUint32(out[patch.Off:], 0)
		b.AddReloc(at, reloc.PC32, uint32(in.Symbol()), int64(addend))
	case asm.PatchRel32: // of a call, to a function of the module
		binary.LittleEndian.PutUint32(out[patch.Off:], 0)
		kind := reloc.Call32
		if in.Op == asm.Jmp { // of a tail call: it needs no stack map
			kind = reloc.PC32
		}
		b.AddReloc(at, kind, uint32(in.Symbol()), int64(addend))
	}
	b.Advance(len(out))
}

// op emits an instruction on physical registers.
func op(e *backend.Emitter, in backend.Inst, regs ...regalloc.PReg) {
	allocs := backend.InRegs(regs...)
	put(e, &in, allocs[:], 0)
}

// leaLabel emits r = address of l.
func leaLabel(e *backend.Emitter, r regalloc.PReg, l machbuffer.Label) {
	b, allocs := e.Buf, backend.InRegs(r)
	at := b.Offset()
	out, patch := asm.Append(b.Reserve(backend.Room)[:0], &backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeConst, Disp: -4}, allocs[:], nil)
	b.Advance(len(out))
	b.UseLabel(at+uint32(patch.Off), rel32, l)
}

// emitInst implements backend.Target.Emit.
func emitInst(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	switch {
	case in.Op >= backend.OpArgs:
		emitCommon(e, in, allocs, src)
		return
	case in.Op >= asm.NumOps:
		pseudos[in.Op-asm.NumOps].emit(&seq{e: e, in: in, src: src, regs: allocs})
		return
	case in.Op == asm.Ret:
		emitEpilogue(e)
		return
	case in.Op == asm.Jmp || in.Op == asm.JmpInd:
		emitTailCall(e, in, allocs)
		return
	}
	row := asm.RowOf(in.Op)
	if row.Flags&asm.FalseDep != 0 {
		breakDependency(e, in, allocs)
	}
	cleared := in.Tail == backend.TailSet && clearFirst(e, in, allocs)
	put(e, in, allocs, src)
	if in.Op == asm.Call || in.Op == asm.CallInd {
		e.Called()
		if n := in.Popped(); n > 0 { // the callee has popped its arguments
			op(e, backend.Inst{Op: asm.SubImm, Size: 8, Imm: int64(n)}, asm.RSP)
		}
		if e.Catches() {
			branches(e, in).emit(e)
		}
		return
	}
	if in.Tail != backend.TailNone {
		emitTail(e, in, allocs[e.Target.Shapes.NumOwn(in):], src)
		if in.Tail == backend.TailSet && !cleared {
			d := allocs[e.Target.Shapes.NumOperands(in)-1].Reg()
			op(e, backend.Inst{Op: asm.Movzx8, Size: 4}, d, d)
		}
	}
}

// clearFirst clears the result of a set before the comparison, if the comparison does not read the register. This is
// shorter than zero-extending the result, and off the critical path from the comparison.
func clearFirst(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation) bool {
	n := e.Target.Shapes.NumOperands(in) - 1
	for _, a := range allocs[:n] {
		if a == allocs[n] {
			return false
		}
	}
	op(e, backend.Inst{Op: asm.Zero, Size: 4}, allocs[n].Reg())
	return true
}

// breakDependency clears the result's register where the instruction keeps part of it
// and the source is not that register.
func breakDependency(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation) {
	n := in.Mode.NumRegs()
	dst := allocs[n]
	if in.Mode == backend.ModeNone && allocs[0].IsReg() && allocs[0].Reg().Class() == regalloc.Float {
		return
	}
	op(e, backend.Inst{Op: asm.Zerof}, dst.Reg())
}

// emitCommon emits what all machines have.
func emitCommon(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	switch in.Op {
	case backend.OpMove:
		e.Buf.Advance(len(asm.AppendMove(e.Buf.Reserve(backend.Room)[:0], allocs[0], allocs[1], in.Size, &e.Frame)))
	case backend.OpJump:
		branches(e, in).emit(e)
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
		branches(e, in).emit(e)
	case backend.TailSet:
		d := allocs[0].Reg()
		if !c.IsHardware() {
			panic("x64: set of a double condition")
		}
		op(e, backend.Inst{Op: asm.Setcc, Size: 1, Cond: uint8(c)}, d)
	case backend.TailSelect:
		emitSelect(e, c, allocs, e.Bytes(e.Target.Shapes.NumOperands(in)-1))
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
	case backend.TailAdd, backend.TailSub:
		in := carryRows[in.Tail-backend.TailAdd][c-asm.B]
		put(e, &in, allocs, 0)
	case backend.TailBound:
		jccFar(e, c, e.TrapLabel(abi.TrapCode(in.Trap), src))
		s := seq{e: e}
		s.mask(min(e.Bytes(e.Target.Shapes.NumOwn(in)), 8), allocs[0].Reg(), allocs[1].Reg())
	}
}

// carryRows add and subtract a carry, and its absence.
var carryRows = [2][2]backend.Inst{
	{{Op: asm.AdcImm, Size: 8}, {Op: asm.SbbImm, Size: 8, Imm: -1}},
	{{Op: asm.SbbImm, Size: 8}, {Op: asm.AdcImm, Size: 8, Imm: -1}},
}

// emitSelect emits d = c ? a : b, of size bytes, d being in b's register. Of the double conditions
// lowering leaves FNe only.
func emitSelect(e *backend.Emitter, c asm.Cond, allocs []regalloc.Allocation, size uint8) {
	a, d := allocs[0], allocs[2]
	first, second, _ := c.Parts()
	if d.Reg().Class() == regalloc.Int {
		move := [3]regalloc.Allocation{a, d, d}
		put(e, &backend.Inst{Op: asm.Cmov, Size: size, Cond: uint8(first)}, move[:], 0)
		if second != first {
			put(e, &backend.Inst{Op: asm.Cmov, Size: size, Cond: uint8(second)}, move[:], 0)
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
	branchTo(e.Buf, &condForms[c].Same[1], l)
}

// jccWithin is jccFar to a block, and short if that surely reaches: behind bounds the bytes from the branch to the end of the current block.
func jccWithin(e *backend.Emitter, c asm.Cond, to int, behind uint32) {
	form, short, l := &condForms[c].Same[1], &condForms[c].Same[0], e.Label(to)
	if e.Back(to) && e.Buf.CanReach(rel8, e.Buf.Offset()+uint32(short.Use), l) || !e.Back(to) && e.Distance(to)+behind <= 127 {
		form = short
	}
	branchTo(e.Buf, form, l)
}

// The lengths of branches.
const (
	shortLen = 2
	jmpLen   = 5
	jccLen   = 6
	// maxBranches is the most that the branches at the end of a block take.
	maxBranches = 2*jccLen + jmpLen
)

// always is the condition of a jump.
const always = asm.NumConds

// jumps are the branches at the end of a block, in order.
type jumps struct {
	n    int
	list [3]struct {
		cond asm.Cond
		to   int
	}
}

func (j *jumps) add(c asm.Cond, to int) {
	j.list[j.n].cond, j.list[j.n].to = c, to
	j.n++
}

// branches returns how the terminator in of the current block branches; what leads to the next block falls through.
func branches(e *backend.Emitter, in *backend.Inst) (j jumps) {
	next, then := e.Next(), e.Succ(0)
	els := then
	if in.Tail == backend.TailJump {
		els = e.Succ(1)
	}
	c := asm.Cond(in.Cond)
	if then == els {
		c = always
	}
	if c == asm.FEq {
		c, then, els = asm.FNe, els, then
	}
	switch {
	case c == always:
	case c == asm.FNe: // either of two conditions
		j.add(asm.NE, then)
		if then == next {
			j.add(asm.NP, els)
			return j
		}
		j.add(asm.P, then)
	case then == next:
		j.add(c.Invert(), els)
		return j
	default:
		j.add(c, then)
	}
	if els != next {
		j.add(always, els)
	}
	return j
}

// long returns the length of the long form of branch k.
func (j *jumps) long(k int) uint32 {
	if j.list[k].cond == always {
		return jmpLen
	}
	return jccLen
}

// near reports which branches are surely short. Planning and emission must agree on it, or blocks get longer than planned.
func (j *jumps) near(e *backend.Emitter) (short [3]bool, bytes uint32) {
	for k := j.n - 1; k >= 0; k-- {
		if to := j.list[k].to; to > e.Block {
			short[k] = e.Distance(to)+bytes <= 127
		} else {
			short[k] = e.DistanceBack(to) <= 128
		}
		if short[k] {
			bytes += shortLen
		} else {
			bytes += j.long(k)
		}
	}
	return short, bytes
}

// branchBytes implements backend.Target.BranchBytes.
func branchBytes(e *backend.Emitter) uint32 {
	in := &e.VC.Insts[e.VC.In.Blocks[e.Block].Insts.End-1]
	if !e.EndsInBranches() {
		return 0
	}
	j := branches(e, in)
	_, n := j.near(e)
	return n
}

// emit emits the branches.
func (j jumps) emit(e *backend.Emitter) {
	b := e.Buf
	short, _ := j.near(e)
	for k := range j.n {
		c, l := j.list[k].cond, e.Label(j.list[k].to)
		at := b.Offset()
		forms := &jumpForms
		if c != always {
			forms = &condForms[c].Same
		}
		f := &forms[1]
		if short[k] || j.list[k].to <= e.Block && b.CanReach(rel8, at+uint32(forms[0].Use), l) {
			f = &forms[0]
		}
		use := putBranch(b, f)
		if c == always {
			b.UncondBranch(at, use, f.Kind, l)
		} else {
			b.CondBranch(at, use, f.Kind, l, &condForms[c])
		}
	}
}

// jumpTo emits a branch to block to, the last of the block's code.
func jumpTo(e *backend.Emitter, to int) {
	var j jumps
	if to != e.Next() {
		j.add(always, to)
	}
	j.emit(e)
}

// maxBytes implements backend.Target.MaxBytes.
func maxBytes(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation) uint32 {
	if in.Op >= asm.NumOps {
		switch in.Op {
		case backend.OpArgs, backend.OpJump:
			return 0
		case backend.OpMove:
			return asm.MoveBound(allocs[0], allocs[1], in.Size, &e.Frame)
		case backend.OpTrap:
			return 2
		}
		return pseudos[in.Op-asm.NumOps].max
	}
	n := asm.Bound(in, allocs, &e.Frame) + tailBytes[in.Tail] + extraBytes[in.Op]
	switch in.Op {
	case asm.Ret:
		n = e.Target.SavesBytes(&e.Frame) + 4
	case asm.Jmp, asm.JmpInd:
		n += e.Target.SavesBytes(&e.Frame) + 4 + 7 + 7
	case asm.Call, asm.CallInd:
		if in.Popped() > 0 {
			n += 7
		}
	}
	return n
}

// extraBytes is, by row, the clearing of the result's register in front of the instruction.
var extraBytes = makeExtraBytes()

func makeExtraBytes() (t [asm.NumOps]uint32) {
	for i := range t {
		if asm.RowOf(backend.Op(i)).Flags&asm.FalseDep != 0 {
			t[i] = 4
		}
	}
	return t
}

// tailBytes bounds the sizes of the tails, without branches to blocks.
var tailBytes = [...]uint32{backend.TailNone: 0, backend.TailJump: 0, backend.TailSet: 8, backend.TailSelect: 20,
	backend.TailTrap: 2*jccLen + 2, backend.TailBound: jccLen + 6, backend.TailAdd: 4, backend.TailSub: 4}
