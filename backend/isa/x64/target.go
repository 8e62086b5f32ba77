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
	Copy: asm.Mov, Sext8: asm.Movsx8, Sext16: asm.Movsx16, Sext32: asm.Movsx32, ShlImm: asm.ShlImm, Lea: asm.Lea,
	Store: [regalloc.NumClasses]backend.Op{regalloc.Int: asm.MovStore, regalloc.Float: asm.MovfStore},
	Call:  asm.Call, CallInd: asm.CallInd, Ret: asm.Ret, JumpTable: opJumpTable, JumpTableBare: opJumpTableBare, JumpChain: opJumpChain,
}

// New returns the Target for processors with the given features, which include V2.
func New(features asm.Feature) *backend.Target {
	t := &backend.Target{
		Name: "x86-64", Env: env(), Conv: &abi.X64, Buffer: bufferTarget(), Shapes: asm.Shapes(), Features: uint32(features | V2),
		Lowering: backend.Lowering{
			Rules: machineRules(), Lower: lowerings.Table(), Common: common, Loads: &loads, MaxDisp: math.MaxInt32,
			Heap: heap, IntConst: intConst, VectorConst: vectorConst, Put: putFull, PutZero: putZero, Plus: plus, Below: below,
			Compare: compare, CompareZero: compareZero, Branch: branch, Hoist: hoist,
		},
		Placement: backend.Placement{LoopAlign: loopAlign, Operations: operations, ShortFrame: 128},
		Emission: backend.Emission{
			EmitPrologue: emitPrologue, EmitSaves: emitSaves, EmitRestores: emitRestores, SavesBytes: savesBytes, EmitInst: emitInst, EmitRow: put, AppendMove: asm.AppendMove,
			EmitSwap: emitSwap, EmitStoreConst: emitStoreConst, EmitTable: emitTable,
		},
		Bounds:   backend.Bounds{MaxBytes: maxBytes, MaxEdit: maxEdit, BranchBytes: branchBytes, MaxBranches: maxBranches},
		Printing: backend.Printing{PrintVCode: asm.PrintVCode, PrintAsm: asm.PrintAsm, PseudoName: pseudoName, RegName: func(p regalloc.PReg) string { return asm.RegName(p, 8) }},
	}
	t.CallClobbers = regalloc.WholeRegs(t.Env.Allocatable &^ t.Env.CalleeSaved)
	return t
}

// has reports whether the target has feature f.
func has(q *query, f asm.Feature) bool { return asm.Feature(q.Target.Features).Has(f) }

// machineRules is the table of rules, which is made once.
var machineRules = sync.OnceValue(func() *backend.Rules { return backend.NewRules(rows[:], &words) })
