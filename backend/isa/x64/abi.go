package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

const (
	// pageSize is the distance at which large frames are touched.
	pageSize = 4096
	// maxProbes is the most pages touched without a loop.
	maxProbes = 4
)

// DWARF's numbers of registers.
const (
	dwarfRBP = 6
	dwarfRSP = 7
	dwarfRIP = 16
)

// FrameSetup is how frames begin, in functions and adapters.
var FrameSetup = [...]backend.FrameStep{
	{Inst: backend.Inst{Op: asm.Push}, Regs: []regalloc.PReg{asm.RBP},
		Rules: []abi.CFIRule{{Kind: abi.CFAOffset, Offset: 16}, {Kind: abi.SavedAt, Reg: dwarfRBP, Offset: -16}}},
	{Inst: backend.Inst{Op: asm.Mov, Size: 8}, Regs: []regalloc.PReg{asm.RSP, asm.RBP},
		Rules: []abi.CFIRule{{Kind: abi.CFARegister, Reg: dwarfRBP}}},
}

// CFI returns the call frame information of the machine.
func CFI() *abi.CFI {
	return &abi.CFI{CodeAlign: 1, ReturnAddress: dwarfRIP,
		Entry: []abi.CFIRule{{Kind: abi.CFAIs, Reg: dwarfRSP, Offset: 8}, {Kind: abi.SavedAt, Reg: dwarfRIP, Offset: -8}},
		Steps: backend.CFISteps(FrameSetup[:], func(in *backend.Inst, allocs []regalloc.Allocation) []byte {
			b, _ := asm.Append(nil, in, allocs, nil)
			return b
		}),
		Stack: dwarfRSP, RedZone: true,
		Registers: [...]uint8{asm.RBX: 3, asm.R12: 12, asm.R13: 13, asm.R14: 14, asm.R15: 15, 63: 0}, // that are callee-saved
	}
}

// lowerStack implements backend.Target.LowerStack. Pushes are half as long as stores, and put registers where Frame.SavedOffset says.
func lowerStack(e *backend.Emitter, part backend.FramePart) {
	if part == backend.GrownArgs {
		growArgs(e)
		return
	}
	n := e.Frame.Size
	if part == backend.SavingBody {
		for s := e.Frame.Saved; s != 0; n -= 8 {
			r := s.First()
			s = s.Remove(r)
			op(e, backend.Inst{Op: asm.Push}, r)
		}
		if n%16 != 0 && (n == 8 || n > pageSize-16) { // it is shorter than a subtraction, and emitLower needs what is left to be aligned if that is a page
			op(e, backend.Inst{Op: asm.Push}, asm.RAX)
			n -= 8
		}
	}
	emitLower(e, n)
}

// emitLower lowers the stack pointer by n bytes. Each page is touched before the stack pointer moves
// further, so that a frame cannot step over the guard page. r11 is free at the entry.
func emitLower(e *backend.Emitter, n int) {
	if n > maxProbes*pageSize {
		op(e, backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeBase, Disp: -int32(n &^ (pageSize - 1))}, asm.RSP, asm.R11)
		loop := e.Buf.NewLabel()
		e.Buf.Bind(loop)
		probe(e)
		op(e, backend.Inst{Op: asm.Cmp, Size: 8}, asm.RSP, asm.R11)
		s := seq{e: e}
		s.j(asm.NE, loop)
		n %= pageSize
	}
	for ; n >= pageSize; n -= pageSize { // the rest, and the 16 bytes that a callee saves below it, are at most a page
		probe(e)
	}
	if n > 0 {
		op(e, backend.Inst{Op: asm.SubImm, Size: 8, Imm: int64(n)}, asm.RSP)
	}
}

// probe lowers the stack pointer by a page and touches it.
func probe(e *backend.Emitter) {
	op(e, backend.Inst{Op: asm.SubImm, Size: 8, Imm: pageSize}, asm.RSP)
	op(e, backend.Inst{Op: asm.CmpMem, Size: 8, Mode: backend.ModeBase}, asm.RSP, asm.RSP)
}

// saves and restores are the rows that save and restore registers.
var (
	saves    = backend.SavedRows{regalloc.Int: {One: asm.MovStore}}
	restores = backend.SavedRows{regalloc.Int: {One: asm.Mov}}
)

// growArgs makes the argument area longer. The return address moves down with the stack pointer.
func growArgs(e *backend.Emitter) {
	n := e.Frame.Grow
	below := n + 8 // where SetUp stores the frame pointer
	for at := pageSize; at < below; at += pageSize {
		touchBelow(e, at)
	}
	touchBelow(e, below)
	op(e, backend.Inst{Op: asm.SubImm, Size: 8, Imm: int64(n - 8)}, asm.RSP)
	e.Lowered(n - 8)
	op(e, backend.Inst{Op: asm.PushMem, Size: 8, Mode: backend.ModeBase, Disp: int32(n - 8)}, asm.RSP)
	e.Lowered(0)
}

// touchBelow reads the stack n bytes below the stack pointer. Hosts know this instruction, as the return address is at the stack pointer if it faults.
func touchBelow(e *backend.Emitter, n int) {
	op(e, backend.Inst{Op: asm.CmpMem, Size: 8, Mode: backend.ModeBase, Disp: -int32(n)}, asm.RSP, asm.RSP)
}

// emitTailCall leaves the frame and jumps to the callee. If the callee has fewer arguments than there is room for, the return address moves up to them. At no instruction
// is anything below the stack pointer that is still needed.
func emitTailCall(e *backend.Emitter, in *backend.Inst, allocs []regalloc.Allocation) {
	leave(e)
	if up := e.Frame.Pop - in.Popped(); up > 0 {
		op(e, backend.Inst{Op: asm.PopMem, Size: 8, Mode: backend.ModeBase, Disp: int32(up - 8)}, asm.RSP)
		e.ReturnMoved(up - 8)
		op(e, backend.Inst{Op: asm.AddImm, Size: 8, Imm: int64(up - 8)}, asm.RSP)
		e.LeftFrame(0)
	}
	put(e, in, allocs, 0)
	e.Returned()
}

// emitEpilogue restores registers and returns, popping stack arguments.
func emitEpilogue(e *backend.Emitter) {
	leave(e)
	if n := e.Frame.Pop; n > 0 {
		op(e, backend.Inst{Op: asm.RetImm, Imm: int64(n)})
	} else {
		op(e, backend.Inst{Op: asm.Ret})
	}
	e.Returned()
}

// leave restores registers, stack pointer and frame pointer.
func leave(e *backend.Emitter) {
	saved := 0 // registers to be restored
	if !e.Out.UnsavedIn(regalloc.Block(e.Block)) {
		saved = e.Frame.Saved.Len()
	}
	switch {
	case saved >= leastPops || 8*saved == e.Frame.Size:
		popSaved(e)
	default:
		if saved > 0 {
			e.Restore()
		}
		op(e, backend.Inst{Op: asm.Leave})
	}
	e.LeftFrame(0)
}

// leastPops is from how many registers on pops are shorter than loads and leave, if the stack pointer must first come to the registers.
const leastPops = 3

// popSaved restores the callee-saved registers, stack pointer and frame pointer.
func popSaved(e *backend.Emitter) {
	saved := e.Frame.Saved
	if top := 8 * saved.Len(); top != e.Frame.Size {
		op(e, backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeBase, Disp: -int32(top)}, asm.RBP, asm.RSP)
	}
	for saved != 0 { // the last one was pushed last
		r := saved.Last()
		saved = saved.Remove(r)
		op(e, backend.Inst{Op: asm.Pop}, r)
	}
	op(e, backend.Inst{Op: asm.Pop}, asm.RBP)
}
