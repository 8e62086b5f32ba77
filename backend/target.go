package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// Target is a machine: data, and the functions that know its instructions. It
// is immutable and shared by any number of Compilers.
type Target struct {
	Name string
	// Env is what allocators know of the machine.
	Env regalloc.MachineEnv
	// Conv is the calling convention.
	Conv *abi.CallConv
	// Buffer describes the machine to the machine buffer.
	Buffer *machbuffer.Target
	// Features is the ISA's set of processor features beyond its floor.
	Features uint32
	// LoopAlign is the alignment in bytes of the headers of hot loops.
	LoopAlign uint32
	// MaxPiece is the most bytes of code between places where the machine buffer may put an island: larger
	// blocks have such places between instructions. 0 is no limit.
	MaxPiece uint32
	// CallClobbers are the registers that a call in the waot convention, or of a
	// helper, may change.
	CallClobbers regalloc.PRegSet

	// Lower has, by CLIF opcode, the function that appends the instruction's
	// VCode; nil for those that are never lowered.
	Lower *[clif.NumOpcodes]LowerFunc
	// LoadBase appends a rematerialisable instruction that defines dst as the
	// base of memory m.
	LoadBase func(l *Lower, dst regalloc.VReg, m clif.MemoryIndex)
	// StoreOutArg appends a store of v to the outgoing argument word.
	StoreOutArg func(l *Lower, v regalloc.VReg, word int)
	// LocalAddr appends the address of the local area of hidden results.
	LocalAddr func(l *Lower, dst regalloc.VReg)
	// LoadResult appends a load of the hidden result word into dst.
	LoadResult func(l *Lower, dst regalloc.VReg, word int)

	// EmitPrologue emits the function's entry.
	EmitPrologue func(e *Emitter)
	// EmitInst emits instruction i with its allocations.
	EmitInst func(e *Emitter, i regalloc.Inst)
	// EmitEdit emits an edit.
	EmitEdit func(e *Emitter, ed *regalloc.Edit)
	// EmitSwap exchanges two integer registers, in no more bytes than a move between such; nil if the
	// machine has no such instruction.
	EmitSwap func(e *Emitter, a, b regalloc.PReg)
	// EmitTable emits jump table n, behind the code; nil if tables are part of the instructions that use them.
	EmitTable func(e *Emitter, n uint32)
	// EmitLanding emits what blocks begin with to which indirect jumps lead, LandingBytes long (see
	// Lower.JumpsThrough); nil if nothing.
	EmitLanding  func(e *Emitter)
	LandingBytes uint32
	// MaxBytes bounds the size in bytes of the emitted instruction i without the branches of a
	// terminator, with the constants it adds where MaxPiece is not 0; allocs are those of its operands.
	MaxBytes func(e *Emitter, i regalloc.Inst, allocs []regalloc.Allocation) uint32
	// MaxEdit bounds the size of an edit, in bytes.
	MaxEdit func(e *Emitter, ed *regalloc.Edit) uint32
	// BranchBytes bounds the size in bytes of the branches at the end of the current block, by
	// Emitter.Distance and Emitter.DistanceBack; it is at most MaxBranches.
	BranchBytes func(e *Emitter) uint32
	MaxBranches uint32
	// AppendInst appends the text of an instruction for dumps; operands are
	// virtual registers, or, where allocs is not empty, allocations.
	AppendInst func(dst []byte, inst *Inst, ops []regalloc.Operand, allocs []regalloc.Allocation) []byte
	// Verify checks an instruction of VCode; used with Options.Verify.
	Verify func(inst *Inst, ops []regalloc.Operand, vregs []regalloc.VRegInfo) error
}

// LowerFunc appends the VCode of one CLIF instruction.
type LowerFunc func(l *Lower, i clif.Inst, d *clif.InstData)

// Instructions that all machines have. Their operands follow no row.
const (
	// OpArgs, the first instruction, defines the incoming arguments.
	OpArgs Op = 0xff00 + iota
	// OpJump goes to the only successor of the block.
	OpJump
	// OpTrap traps with code Inst.Trap; a terminator without successors.
	OpTrap
)

// What Inst.Ref says of an address that is not relative to the program counter:
// an index of a linear memory, or one of these.
const (
	// NoFault: the access cannot fault.
	NoFault = ^uint32(0)
	// NullFaults: the access faults on page zero if a function reference is null.
	NullFaults = ^uint32(1)
)
