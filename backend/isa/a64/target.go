package a64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/abi"
)

const (
	// loopAlign is the alignment of hot loops.
	loopAlign = 16
	// maxPiece is far below the shortest range of a branch, that of tbz.
	maxPiece = 2048
)

// New is the Target for all processors from ARMv8.0-A on.
func New() *backend.Target {
	t := &backend.Target{
		Name: "aarch64", Env: env(), Conv: &abi.A64, Buffer: bufferTarget(),
		LoopAlign: loopAlign, MaxPiece: maxPiece,
		Lower:    &lowerings,
		LoadBase: loadBase, StoreOutArg: storeOutArg, LocalAddr: localAddr, LoadResult: loadResult,
		EmitPrologue: emitPrologue, EmitInst: emitInst, EmitEdit: emitEdit, EmitLanding: emitLanding, LandingBytes: 4,
		MaxBytes: maxBytes, MaxEdit: maxEdit, BranchBytes: branchBytes, MaxBranches: maxBranches, AppendInst: appendInst, Verify: verify,
	}
	t.CallClobbers = t.Env.Allocatable &^ t.Env.CalleeSaved
	return t
}
