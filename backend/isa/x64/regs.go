package x64

import (
	"slices"

	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// intOrder and floatOrder are the allocatable registers, those that calls
// clobber first; among them those without REX prefix first. rsp and rbp are the frame's,
// xmm15 is scratch.
var (
	intOrder = []regalloc.PReg{asm.RAX, asm.RCX, asm.RDX, asm.RSI, asm.RDI, asm.R8, asm.R9, asm.R10, asm.R11,
		asm.RBX, asm.R12, asm.R13, asm.R14, asm.R15}
	floatOrder = []regalloc.PReg{asm.XMM0, asm.XMM1, asm.XMM2, asm.XMM3, asm.XMM4, asm.XMM5, asm.XMM6, asm.XMM7,
		asm.XMM8, asm.XMM9, asm.XMM10, asm.XMM11, asm.XMM12, asm.XMM13, asm.XMM14}
)

// scratch may be used inside one instruction.
const scratch = asm.XMM15

// fuelReg has the count of fuel in code that counts it. No allocator knows it there, so only charges change it, and each call passes it on.
const fuelReg = asm.R15

// env returns what allocators know of the machine, without the registers of without.
func env(without regalloc.PRegSet) regalloc.MachineEnv {
	intOrder := slices.DeleteFunc(slices.Clone(intOrder), without.Has)
	e := regalloc.MachineEnv{Scratch: [regalloc.NumClasses]regalloc.PReg{regalloc.NoPReg, scratch}}
	e.Order[regalloc.Int], e.Order[regalloc.Float] = intOrder, floatOrder
	e.Allocatable = regalloc.SetOf(intOrder...) | regalloc.SetOf(floatOrder...)
	e.Swaps = regalloc.SetOf(intOrder...) // CommonRows.Swap
	for _, r := range abi.X64.CalleeSavedInt {
		e.CalleeSaved = e.CalleeSaved.Add(regalloc.IntReg(int(r)))
	}
	e.CalleeSaved &^= without
	return e
}
