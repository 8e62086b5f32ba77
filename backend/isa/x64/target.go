package x64

import (
	"fmt"
	"math"
	"sync"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// The levels of processor that code can be made for.
const (
	// V2 is x86-64-v2: SSE4.2 and POPCNT. It is the floor.
	V2 = asm.SSE3 | asm.SSSE3 | asm.SSE41 | asm.SSE42 | asm.POPCNT
	// V3 is x86-64-v3, as far as used: BMI, LZCNT, AVX2 and FMA.
	V3 = V2 | asm.LZCNT | asm.BMI1 | asm.BMI2 | asm.AVX | asm.AVX2 | asm.FMA
)

// Level returns the features of a named level, "v2" or "v3", with or without
// "x86-64-" in front; an error for other names.
func Level(name string) (asm.Feature, error) {
	switch name {
	case "v2", "x86-64-v2":
		return V2, nil
	case "v3", "x86-64-v3":
		return V3, nil
	}
	return 0, fmt.Errorf("x64: unknown processor level %q (want v2 or v3)", name)
}

// loopAlign is the alignment of hot loops.
const loopAlign = 16

// common are the rows that backend uses.
var common = backend.CommonRows{
	Copy: asm.Mov, Sext8: asm.Movsx8, Sext16: asm.Movsx16, Sext32: asm.Movsx32, ShlImm: asm.ShlImm, AndImm: asm.AndImm, Lea: asm.Lea,
	Store:    [regalloc.NumClasses]backend.Op{regalloc.Int: asm.MovStore, regalloc.Float: asm.MovfStore},
	IntConst: asm.MovImm, Zero: asm.Zero, StoreZero: asm.MovStoreImm, StoreImm: asm.MovStoreImm, Swap: asm.Xchg,
	Charge: opCharge, ChargeBy: opChargeBy,
	TailCall: asm.Jmp, TailCallInd: asm.JmpInd, TailCallReg: asm.JmpInd,
	Call: asm.Call, CallInd: asm.CallInd, Ret: asm.Ret, JumpTable: opJumpTable, JumpTableBare: opJumpTableBare, JumpChain: opJumpChain,
}

// pseudoNames and regNames are the machine's.
var (
	pseudoNames = backend.NamesOf(len(pseudos), func(k int) string { return pseudos[k].name })
	regNames    = backend.NamesOf(regalloc.NumPRegs, func(k int) string { return asm.RegName(regalloc.PReg(k), 8) })
)

// New returns the Target for processors with the given features, which include V2.
func New(features asm.Feature) *backend.Target { return newTarget(features, 0, false) }

// NewFuelled returns the Target for code that counts fuel.
func NewFuelled(features asm.Feature) *backend.Target {
	return newTarget(features, regalloc.SetOf(fuelReg), true)
}

// newTarget returns a Target whose allocators do not know the registers reserved; resumes is as of bufferTarget.
func newTarget(features asm.Feature, reserved regalloc.PRegSet, resumes bool) *backend.Target {
	t := &backend.Target{
		Name: "x86-64", Env: env(reserved), Conv: &abi.X64, Buffer: bufferTarget(resumes), Shapes: asm.Shapes(), Common: common, Features: uint32(features | V2),
		Selection: backend.Selection{
			Rules: machineRules(), Lower: backend.Lowerings(&lowerings, &vectorLowerings), Loads: &loads, MaxDisp: math.MaxInt32,
			Memory: heap, VectorConst: vectorConst, Put: storeLow, Sum: sum, Compare: compare,
		},
		Heap:     objects,
		Emission: backend.Emission{Emit: emitInst, EntryUse: tab32, TablesBehind: true},
		Framing: backend.Framing{
			Entry: asm.Endbr64[:], SetUp: FrameSetup[:], LowerStack: lowerStack, TailCallee: asm.R11,
			Saves: saves, Restores: restores, SaveBytes: 8, FramePointer: asm.RBP, ShortFrame: 128,
		},
		Branching: backend.Branching{MaxBytes: maxBytes, BranchBytes: branchBytes, MaxBranches: maxBranches, Operations: operations, LoopAlign: loopAlign},
		Printing:  backend.Printing{PrintVCode: asm.PrintVCode, PrintAsm: asm.PrintAsm, Pseudos: pseudoNames, Regs: regNames},
	}
	t.CountsFuel = resumes
	t.CallClobbers = regalloc.WholeRegs(t.Env.Allocatable &^ t.Env.CalleeSaved)
	return t
}

// has reports whether the target has feature f.
func has(q *query, f asm.Feature) bool { return asm.Feature(q.Target.Features).Has(f) }

// machineRules is the table of rules, which is made once.
var machineRules = sync.OnceValue(func() *backend.Rules { return backend.NewRules(rows[:], &words) })
