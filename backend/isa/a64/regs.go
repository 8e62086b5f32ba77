package a64

import (
	"slices"

	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// intOrder and floatOrder are the allocatable registers, those that calls
// clobber first. x16, x17 and v31 are scratch, x18 is the platform's, x28 a host's, x29 and x30 are the frame's.
var (
	intOrder = []regalloc.PReg{asm.X0, asm.X1, asm.X2, asm.X3, asm.X4, asm.X5, asm.X6, asm.X7,
		asm.X8, asm.X9, asm.X10, asm.X11, asm.X12, asm.X13, asm.X14, asm.X15,
		asm.X19, asm.X20, asm.X21, asm.X22, asm.X23, asm.X24, asm.X25, asm.X26, asm.X27}
	floatOrder = []regalloc.PReg{asm.V0, asm.V1, asm.V2, asm.V3, asm.V4, asm.V5, asm.V6, asm.V7,
		asm.V16, asm.V17, asm.V18, asm.V19, asm.V20, asm.V21, asm.V22, asm.V23, asm.V24, asm.V25, asm.V26, asm.V27,
		asm.V28, asm.V29, asm.V30,
		asm.V8, asm.V9, asm.V10, asm.V11, asm.V12, asm.V13, asm.V14, asm.V15}
)

// scratch and scratch1 may be used inside one instruction, scratch1 and, between memories, scratchFloat inside
// one edit.
const (
	scratch      = asm.X16
	scratch1     = asm.AddrScratch
	scratchFloat = asm.V31
)

// fuelReg has the count of fuel in code that counts it. No allocator knows it there, so only charges change it, and each call passes it on.
const fuelReg = asm.X27

// env returns what allocators know of the machine, without the registers of without.
func env(without regalloc.PRegSet) regalloc.MachineEnv {
	intOrder := slices.DeleteFunc(slices.Clone(intOrder), without.Has)
	e := regalloc.MachineEnv{Scratch: [regalloc.NumClasses]regalloc.PReg{scratch, scratchFloat}}
	e.Order[regalloc.Int], e.Order[regalloc.Float] = intOrder, floatOrder
	e.Allocatable = regalloc.SetOf(intOrder...) | regalloc.SetOf(floatOrder...)
	for _, r := range abi.A64.CalleeSavedInt {
		e.CalleeSaved = e.CalleeSaved.Add(regalloc.IntReg(int(r)))
	}
	for _, r := range abi.A64.CalleeSavedFloat {
		e.CalleeSaved = e.CalleeSaved.Add(regalloc.FloatReg(int(r)))
	}
	e.CalleeSaved &^= without
	return e
}
