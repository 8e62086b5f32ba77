package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

const (
	// pageSize is the distance at which large frames are touched.
	pageSize = 4096
	// maxProbes is the most pages touched without a loop.
	maxProbes = 4
	// maxPostIndex is the most that a load of a pair adds to its base.
	maxPostIndex = 504
)

// DWARF's numbers of registers.
const (
	dwarfFP = 29
	dwarfLR = 30
	dwarfSP = 31
	dwarfV0 = 64
)

// FrameSetup is how frames begin, in functions and adapters.
var FrameSetup = [...]backend.FrameStep{
	{Inst: backend.Inst{Op: asm.StpPre, Size: 8, Mode: backend.ModeBase, Disp: -16}, Regs: []regalloc.PReg{asm.SP, asm.FP, asm.LR},
		Rules: []abi.CFIRule{{Kind: abi.CFAOffset, Offset: 16}, {Kind: abi.SavedAt, Reg: dwarfFP, Offset: -16}, {Kind: abi.SavedAt, Reg: dwarfLR, Offset: -8}}},
	{Inst: backend.Inst{Op: asm.AddImm, Size: 8}, Regs: []regalloc.PReg{asm.SP, asm.FP},
		Rules: []abi.CFIRule{{Kind: abi.CFARegister, Reg: dwarfFP}}},
}

// CFI returns the call frame information of the machine.
func CFI() *abi.CFI {
	c := &abi.CFI{CodeAlign: asm.WordBytes, ReturnAddress: dwarfLR,
		Entry: []abi.CFIRule{{Kind: abi.CFAIs, Reg: dwarfSP}},
		Steps: backend.CFISteps(FrameSetup[:], func(in *backend.Inst, allocs []regalloc.Allocation) []byte {
			b, _ := asm.Append(nil, in, allocs, nil)
			return b
		}),
		Stack: dwarfSP,
	}
	for n := range uint8(32) {
		c.Registers[regalloc.IntReg(int(n))], c.Registers[regalloc.FloatReg(int(n))] = n, dwarfV0+n
	}
	return c
}

// lowerStack implements backend.Target.LowerStack.
func lowerStack(e *backend.Emitter, part backend.FramePart) {
	if part == backend.GrownArgs {
		growArgs(e)
		return
	}
	emitLower(e, e.Frame.Size)
	if part == backend.SavingBody {
		e.Save()
	}
}

// emitLower lowers the stack pointer by n bytes. Each page is touched before the stack pointer moves
// further, so that a frame cannot step over the guard page. x17 is free at the entry.
func emitLower(e *backend.Emitter, n int) {
	if n > maxProbes*pageSize {
		op(e, backend.Inst{Op: asm.MovImm, Size: 8, Imm: int64(n &^ (pageSize - 1))}, scratch1)
		op(e, backend.Inst{Op: asm.SubExt, Size: 8, Imm: asm.Extended(asm.UXTX, 0)}, asm.SP, scratch1, scratch1)
		loop := e.Buf.NewLabel()
		e.Buf.Bind(loop)
		probe(e)
		op(e, backend.Inst{Op: asm.CmpExt, Size: 8, Imm: asm.Extended(asm.UXTX, 0)}, asm.SP, scratch1)
		s := seq{e: e}
		s.j(asm.NE, loop)
		n %= pageSize
	}
	for ; n >= pageSize; n -= pageSize { // the rest, and the 16 bytes that a callee saves below it, are at most a page
		probe(e)
	}
	moveSP(e, asm.SubImm, n)
}

// probe lowers the stack pointer by a page and touches it.
func probe(e *backend.Emitter) {
	op(e, backend.Inst{Op: asm.SubImm, Size: 8, Imm: pageSize}, asm.SP, asm.SP)
	op(e, backend.Inst{Op: asm.Ldr, Size: 8, Mode: backend.ModeBase}, asm.SP, asm.ZR)
}

// spParts are what instructions can add to the stack pointer to add n, which is below 2^24.
func spParts(n int) [2]int { return [2]int{n &^ 0xfff, n & 0xfff} }

// moveSP adds n to the stack pointer or subtracts it, by row.
func moveSP(e *backend.Emitter, row backend.Op, n int) {
	for _, part := range spParts(n) {
		if part > 0 {
			op(e, backend.Inst{Op: row, Size: 8, Imm: int64(part)}, asm.SP, asm.SP)
		}
	}
}

// saves and restores are the rows that save and restore registers.
var (
	saves    = backend.SavedRows{regalloc.Int: {Pair: asm.Stp, One: asm.Str}, regalloc.Float: {Pair: asm.Fstp, One: asm.Fstr}}
	restores = backend.SavedRows{regalloc.Int: {Pair: asm.Ldp, One: asm.Ldr}, regalloc.Float: {Pair: asm.Fldp, One: asm.Fldr}}
)

// growArgs makes the argument area longer. The return address is in the link register. What has been touched last may be nearly a page above the stack pointer.
func growArgs(e *backend.Emitter) {
	touchBelow(e, 16)
	n := e.Frame.Grow
	for ; n >= pageSize; n -= pageSize {
		op(e, backend.Inst{Op: asm.SubImm, Size: 8, Imm: pageSize}, asm.SP, asm.SP)
		touchBelow(e, 0)
	}
	moveSP(e, asm.SubImm, n)
}

// touchBelow reads the stack n bytes below the stack pointer, by another instruction than probe does: hosts know by it that the frame pointer is the caller's.
func touchBelow(e *backend.Emitter, n int) {
	op(e, backend.Inst{Op: asm.Ldr, Size: 4, Mode: backend.ModeBase, Disp: -int32(n)}, asm.SP, asm.ZR)
}

// emitEpilogue restores registers and returns, popping stack arguments.
func emitEpilogue(e *backend.Emitter) {
	leave(e, e.Frame.Pop)
	op(e, backend.Inst{Op: asm.Ret})
	e.Returned()
}

// leave restores registers, the frame pointer and the link register, and raises the stack pointer by n bytes above the frame.
func leave(e *backend.Emitter, n int) {
	if !e.Out.UnsavedIn(regalloc.Block(e.Block)) {
		e.Restore()
	}
	if e.Frame.Size > 0 {
		op(e, backend.Inst{Op: asm.AddImm, Size: 8}, asm.FP, asm.SP)
	}
	up, rest := 16, n
	if up+rest <= maxPostIndex {
		up, rest = up+rest, 0
	}
	op(e, backend.Inst{Op: asm.LdpPost, Size: 8, Mode: backend.ModeBase, Disp: int32(up)}, asm.SP, asm.FP, asm.LR)
	popped := up - 16
	e.LeftFrame(popped)
	for _, part := range spParts(rest) {
		if part > 0 {
			moveSP(e, asm.AddImm, part)
			popped += part
			e.LeftFrame(popped)
		}
	}
}

// epilogueBytes bounds the size of the code that emitEpilogue emits, without that of restores.
const epilogueBytes = 5 * 4
