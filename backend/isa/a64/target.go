package a64

import (
	endian "encoding/binary"
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// The levels of processor that code can be made for, and their features.
const (
	// Baseline is ARMv8.0-A, the floor.
	Baseline     = "armv8.0-a"
	baseFeatures = asm.Feature(0)
	// DotProduct is ARMv8.2-A with FEAT_DotProd.
	DotProduct         = "armv8.2-a+dotprod"
	dotProductFeatures = asm.DotProduct
)

// Level returns the features of a named level; an error for other names.
func Level(name string) (asm.Feature, error) {
	switch name {
	case Baseline:
		return baseFeatures, nil
	case DotProduct:
		return dotProductFeatures, nil
	}
	return 0, fmt.Errorf("a64: unknown processor level %q of AArch64 (want %s or %s)", name, Baseline, DotProduct)
}

// InstanceAlign is the alignment of the instance data: a page, as adrp forms the address of a page.
const InstanceAlign = 1 << 12

const (
	// loopAlign is 1: loops are not aligned, as control that falls into a loop would execute the padding.
	loopAlign = 1
	// maxPiece is far below the shortest range of a branch, the range of tbz.
	maxPiece = 2048
)

// common are the rows that backend uses.
var common = backend.CommonRows{
	Copy: asm.Mov, Sext8: asm.Sxtb, Sext16: asm.Sxth, Sext32: asm.Sxtw, ShlImm: asm.LslImm, AndImm: asm.AndImm, Lea: asm.Lea,
	Store:    [regalloc.NumClasses]backend.Op{regalloc.Int: asm.Str, regalloc.Float: asm.Fstr},
	IntConst: asm.MovImm, Instance: asm.Adrp, StoreZero: asm.StrZero,
	Charge: opCharge, ChargeBy: opChargeBy,
	TailCall: asm.B, TailCallInd: opTailCallInd, TailCallReg: opTailCallReg,
	Call: asm.Bl, CallInd: opCallInd, Ret: asm.Ret, JumpTable: opJumpTable, JumpTableBare: opJumpTableBare, JumpChain: opJumpChain,
}

// pseudoNames and regNames are the machine's.
var (
	pseudoNames = backend.NamesOf(len(pseudos), func(k int) string { return pseudos[k].name })
	regNames    = backend.NamesOf(regalloc.NumPRegs, func(k int) string { return asm.RegName(regalloc.PReg(k)) })
)

// New returns the Target for processors from ARMv8.0-A on that have the given features.
func New(features asm.Feature) *backend.Target { return newTarget(features, 0, false) }

// NewFuelled returns the Target for code that counts fuel.
func NewFuelled(features asm.Feature) *backend.Target {
	return newTarget(features, regalloc.SetOf(fuelReg), true)
}

// newTarget returns a Target whose allocators do not know the registers reserved; resumes is as of bufferTarget.
func newTarget(features asm.Feature, reserved regalloc.PRegSet, resumes bool) *backend.Target {
	t := &backend.Target{
		Name: "aarch64", Env: env(reserved), Conv: &abi.A64, Buffer: bufferTarget(resumes), Shapes: asm.Shapes(), Common: common, Features: uint32(features),
		Selection: backend.Selection{
			Rules: machineRules(), Lower: backend.Lowerings(&lowerings, &vectorLowerings), Loads: &loads, MaxDisp: 4095 * 8, HoistAll: true,
			Memory: heap, VectorConst: vectorConst, Put: storeLow, Sum: sum, Compare: compare,
		},
		Heap:     objects,
		Emission: backend.Emission{Emit: emitInst, Landing: landing(asm.BtiJ), EntryUse: tab32},
		Framing: backend.Framing{
			Entry: landing(asm.BtiC), SetUp: FrameSetup[:], LowerStack: lowerStack, TailCallee: asm.X9,
			Saves: saves, Restores: restores, SaveBytes: 4, FramePointer: asm.FP,
		},
		Branching: backend.Branching{MaxBytes: maxBytes, BranchBytes: branchBytes, MaxBranches: maxBranches, LoopAlign: loopAlign, Rotate: true, MaxPiece: maxPiece},
		Printing:  backend.Printing{PrintVCode: asm.PrintVCode, PrintAsm: asm.PrintAsm, Pseudos: pseudoNames, Regs: regNames},
	}
	t.CountsFuel = resumes
	// Of v8 to v15 a call keeps only the low half.
	t.CallClobbers = regalloc.Clobbers{Low: t.Env.Allocatable &^ t.Env.CalleeSaved, High: t.Env.Allocatable.OfClass(regalloc.Float)}
	return t
}

// landing returns a landing pad of indirect branches of a kind.
func landing(kind int64) []byte {
	return endian.LittleEndian.AppendUint32(nil, word(backend.Inst{Op: asm.Bti, Imm: kind}))
}

// has reports whether the target has feature f.
func has(l *lower, f asm.Feature) bool { return asm.Feature(l.Target.Features)&f != 0 }
