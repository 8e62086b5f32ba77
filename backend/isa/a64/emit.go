package a64

import (
	endian "encoding/binary"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// put emits one row with its allocations: words, relocation or label use, and trap site.
func put(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	b := e.Buf
	start := b.Offset()
	if f := in.Fault(); f != backend.NoFault && asm.RowOf(in.Op).MayFault() {
		e.MemoryTrap(start, f, src)
	}
	out, patch := asm.Append(b.Reserve(backend.Room)[:0], in, allocs, &e.Frame)
	b.Advance(len(out))
	at := start + uint32(patch.Off)
	switch patch.Kind {
	case asm.PatchConst:
		b.UseLabel(at, lit19, e.Constant(in.Const()))
	case asm.PatchSym: // the page, then the place in it
		kind := reloc.Ldst8Lo12 + reloc.Kind(patch.Scale)
		if patch.Add {
			kind = reloc.AddLo12
		}
		b.AddReloc(at, reloc.Page21, uint32(in.Symbol()), int64(in.Disp))
		b.AddReloc(at+asm.WordBytes, kind, uint32(in.Symbol()), int64(in.Disp))
	case asm.PatchPage:
		b.AddReloc(at, reloc.Page21, uint32(in.Symbol()), int64(in.Disp))
	case asm.PatchBranch26: // of a call
		kind := reloc.Call26
		if in.Op == asm.B {
			kind = reloc.Jump26
		}
		b.AddReloc(at, kind, uint32(in.Symbol()), int64(in.Disp))
	}
}

// op emits an instruction on physical registers.
func op(e *backend.Emitter, in backend.Inst, regs ...regalloc.PReg) {
	allocs := backend.InRegs(regs...)
	put(e, &in, allocs[:], 0)
}

// emitInst implements backend.Target.Emit.
func emitInst(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	switch {
	case in.Op >= backend.OpArgs:
		emitCommon(e, in, allocs, src)
		return
	case in.Op == opCallInd:
		emitCallInd(e, in, allocs, src)
	case isTailCall(in.Op):
		emitTailCall(e, in, allocs)
		return
	case in.Op >= asm.NumOps:
		pseudos[in.Op-asm.NumOps].emit(&seq{e: e, in: in, src: src, regs: allocs})
		return
	case in.Op == asm.Ret:
		emitEpilogue(e)
		return
	case !isTest(in.Op):
		put(e, in, allocs, src)
	}
	if in.Op == asm.Bl || in.Op == opCallInd {
		e.Called()
		moveSP(e, asm.SubImm, in.Popped()) // the callee has popped its arguments
		if e.Catches() {
			branches(e, in).emit(e, always)
		}
		return
	}
	if in.Tail != backend.TailNone {
		emitTail(e, in, allocs, allocs[e.Target.Shapes.NumOwn(in):], src)
	}
}

// emitCallInd emits a call of the address in memory.
func emitCallInd(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	load := *in
	load.Op = asm.Ldr
	load.SetPopped(0)
	to := [2]regalloc.Allocation{regalloc.InReg(scratch)}
	if in.Mode == backend.ModeBase {
		to = [2]regalloc.Allocation{allocs[0], regalloc.InReg(scratch)}
	}
	put(e, &load, to[:], src)
	op(e, backend.Inst{Op: asm.Blr, Size: 8}, scratch)
}

// isTailCall reports whether op, of VCode, is a tail call.
func isTailCall(op backend.Op) bool { return op == asm.B || op == opTailCallInd || op == opTailCallReg }

// emitTailCall leaves the frame, raises the stack pointer to the callee's arguments, and jumps. Indirect jumps go through x16, for the callee's landing pad.
func emitTailCall(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation) {
	leave(e, e.Frame.Pop-in.Popped())
	jump := *in
	jump.SetPopped(0)
	switch in.Op {
	case opTailCallInd:
		jump.Op = asm.Ldr
		put(e, &jump, []regalloc.Allocation{regalloc.InReg(scratch)}, 0)
		op(e, backend.Inst{Op: asm.Br, Size: 8}, scratch)
	case opTailCallReg:
		op(e, backend.Inst{Op: asm.Mov, Size: 8}, allocs[0].Reg(), scratch)
		op(e, backend.Inst{Op: asm.Br, Size: 8}, scratch)
	default:
		put(e, &jump, nil, 0)
	}
	e.Returned()
}

// emitCommon emits what all machines have.
func emitCommon(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation, src uint32) {
	switch in.Op {
	case backend.OpMove:
		e.Buf.Advance(len(asm.AppendMove(e.Buf.Reserve(backend.Room)[:0], allocs[0], allocs[1], in.Size, &e.Frame)))
	case backend.OpJump:
		branches(e, in).emit(e, always)
	case backend.OpTrap:
		e.Trap(e.Buf.Offset(), abi.TrapCode(in.Trap), abi.FaultUndefined, 0, src)
		op(e, backend.Inst{Op: asm.Udf, Imm: int64(in.Trap)})
		e.Buf.NoFallThrough()
	}
}

// emitTail emits what consumes the flags, or the register of a test; own are the tail's operands.
func emitTail(e *backend.Emitter, in *backend.Inst, allocs, own []regalloc.Allocation, src uint32) {
	switch in.Tail {
	case backend.TailJump:
		branches(e, in).emit(e, testOf(in, allocs))
	case backend.TailSet, backend.TailSelect, backend.TailSelectZero:
		emitChoice(e, in, own)
	case backend.TailTrap:
		emitBranch(e, testOf(in, allocs), e.TrapLabel(abi.TrapCode(in.Trap), src))
	case backend.TailBound:
		emitBranch(e, testOf(in, allocs), e.TrapLabel(abi.TrapCode(in.Trap), src))
		put(e, &backend.Inst{Op: asm.Csel, Size: 8, Cond: in.Cond}, []regalloc.Allocation{regalloc.InReg(asm.ZR), own[0], own[1]}, 0)
		op(e, backend.Inst{Op: asm.Csdb})
	}
}

// emitChoice emits the instruction that makes the result of a tail.
func emitChoice(e *backend.Emitter, in *backend.Inst, own []regalloc.Allocation) {
	n := len(e.Target.Shapes.Tails[in.Tail])
	op, size := asm.Chooses(in, own[n-1].Reg().Class())
	if in.Tail == backend.TailSelectZero {
		own = []regalloc.Allocation{own[0], regalloc.InReg(asm.ZR), own[1]}
	}
	put(e, &backend.Inst{Op: op, Size: size, Cond: in.Cond}, own, 0)
}

// isTest reports whether op is cbz, cbnz, tbz or tbnz: comparison and branch in one.
func isTest(op backend.Op) bool { return op >= asm.Cbz && op <= asm.Tbnz }

// test is a branch without its target: its word, the word of the branch on the opposite condition, and the kind of label
// use of both.
type test struct {
	word, opposite uint32
	kind           machbuffer.UseKind
}

// always is the test of a jump, which has no opposite.
var always = test{word: word(backend.Inst{Op: asm.B}), kind: branch26}

// onConds are the tests of conditions.
var onConds = makeOnConds()

func makeOnConds() (all [asm.NumConds]test) {
	for c := range all {
		on := func(c int) uint32 { return word(backend.Inst{Op: asm.Bcond, Cond: uint8(c)}) }
		all[c] = test{on(c), on(c ^ 1), cond19}
	}
	return all
}

// registerTests has, by row less Cbz, the row of the opposite test and the kind of label use.
var registerTests = [...]struct {
	opposite backend.Op
	kind     machbuffer.UseKind
}{
	asm.Cbz - asm.Cbz: {asm.Cbnz, cond19}, asm.Cbnz - asm.Cbz: {asm.Cbz, cond19},
	asm.Tbz - asm.Cbz: {asm.Tbnz, test14}, asm.Tbnz - asm.Cbz: {asm.Tbz, test14},
}

// testOf returns the test of the comparison in.
func testOf(in *backend.Inst, allocs []regalloc.Allocation) test {
	if !isTest(in.Op) {
		return onConds[in.Cond]
	}
	row := &registerTests[in.Op-asm.Cbz]
	same := backend.Inst{Op: in.Op, Size: in.Size, Imm: in.Imm}
	opposite := same
	opposite.Op = row.opposite
	return test{word(same, allocs[0]), word(opposite, allocs[0]), row.kind}
}

// invert returns the test that holds if t, which is not always, does not.
func (t test) invert() test { return test{t.opposite, t.word, t.kind} }

// emitBranch emits a branch that the buffer does not edit.
func emitBranch(e *backend.Emitter, t test, l machbuffer.Label) {
	at := e.Buf.Offset()
	e.Buf.PutU32(t.word)
	e.Buf.UseLabel(at, t.kind, l)
}

// maxBranches is the most that the branches at the end of a block take.
const maxBranches = 2 * 4

// sense is when a branch at the end of a block is taken.
type sense uint8

const (
	anyway sense = iota
	ifHolds
	ifNot
)

// jumps are the branches at the end of a block, in order.
type jumps struct {
	n    int
	list [2]struct {
		when sense
		to   int
	}
}

func (j *jumps) add(when sense, to int) {
	j.list[j.n].when, j.list[j.n].to = when, to
	j.n++
}

// branches returns how the terminator in of the current block branches; what leads to the next block falls through.
func branches(e *backend.Emitter, in *backend.Inst) (j jumps) {
	next, then := e.Next(), e.Succ(0)
	els := then
	if in.Tail == backend.TailJump {
		els = e.Succ(1)
	}
	if then != els {
		when := ifHolds
		if then == next {
			j.add(ifNot, els)
			return j
		}
		if els != next && e.Back(els) { // jump back to els, since then leaves the loop
			then, els, when = els, then, ifNot
		}
		j.add(when, then)
	}
	if els != next {
		j.add(anyway, els)
	}
	return j
}

// branchBytes implements backend.Target.BranchBytes.
func branchBytes(e *backend.Emitter) uint32 {
	in := &e.VC.Insts[e.VC.In.Blocks[e.Block].Insts.End-1]
	if !e.EndsInBranches() {
		return 0
	}
	return uint32(4 * branches(e, in).n)
}

// emit emits the branches, those on a condition with test t.
func (j jumps) emit(e *backend.Emitter, t test) {
	b := e.Buf
	for k := range j.n {
		l, at := e.Label(j.list[k].to), b.Offset()
		if j.list[k].when == anyway {
			b.PutU32(always.word)
			b.UncondBranch(at, at, always.kind, l)
			continue
		}
		t := t
		if j.list[k].when == ifNot {
			t = t.invert()
		}
		b.PutU32(t.word)
		var f machbuffer.CondForms
		f.N = 1
		f.Same[0], f.Inverted[0] = t.form(), t.invert().form()
		b.CondBranch(at, at, t.kind, l, &f)
	}
}

// form returns the test as the machine buffer wants it.
func (t test) form() machbuffer.Form {
	f := machbuffer.Form{Kind: t.kind, Len: 4}
	endian.LittleEndian.PutUint32(f.Bytes[:], t.word)
	return f
}

// jumpTo emits a branch to block to, the last of the block's code.
func jumpTo(e *backend.Emitter, to int) {
	var j jumps
	if to != e.Next() {
		j.add(anyway, to)
	}
	j.emit(e, always)
}

// constBytes bounds what in adds to the pool.
func constBytes(e *backend.Emitter, in *backend.Inst) uint32 {
	if in.Mode == backend.ModeConst {
		return 2*uint32(e.VC.Consts[in.Const()].Bytes) - 1
	}
	return 0
}

// maxBytes implements backend.Target.MaxBytes.
func maxBytes(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation) uint32 {
	switch {
	case in.Op == backend.OpMove:
		return asm.MoveBound(allocs[0], allocs[1], in.Size, &e.Frame)
	case in.Op == backend.OpArgs || in.Op == backend.OpJump:
		return 0
	case in.Op == backend.OpTrap:
		return 4
	case in.Op == opJumpTable || in.Op == opJumpTableBare:
		return pseudos[in.Op-asm.NumOps].max + 4*uint32(in.Entries())
	case in.Op == opCallInd || in.Op == asm.Bl:
		return pseudos[opCallInd-asm.NumOps].max
	case in.Op == asm.B:
		return e.Target.SavesBytes(&e.Frame) + epilogueBytes
	case isTailCall(in.Op):
		return e.Target.SavesBytes(&e.Frame) + epilogueBytes + pseudos[in.Op-asm.NumOps].max
	case in.Op >= asm.NumOps:
		return pseudos[in.Op-asm.NumOps].max + tailBytes[in.Tail]
	case in.Op == asm.Ret:
		return e.Target.SavesBytes(&e.Frame) + epilogueBytes
	}
	n := constBytes(e, in)
	if !isTest(in.Op) {
		n += asm.Bound(in, allocs, &e.Frame)
	}
	return n + tailBytes[in.Tail]
}

// tailBytes are the sizes of the tails, without branches to blocks.
var tailBytes = [...]uint32{backend.TailNone: 0, backend.TailJump: 0, backend.TailSet: 4, backend.TailSelect: 4, backend.TailSelectZero: 4,
	backend.TailTrap: 4, backend.TailBound: 12}
