package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// Target is a machine: data, and the functions that know its instructions, grouped by the step
// that asks for them. It is immutable and shared by any number of Compilers.
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
	// CallClobbers is what a call in the waot convention, or of a helper, may change.
	CallClobbers regalloc.Clobbers
	// Shapes are the operands of the instructions, by Op.
	Shapes *Shapes

	Lowering
	Placement
	Emission
	Bounds
	Printing
}

// Lowering turns CLIF into VCode. Its functions append to the code of l.
type Lowering struct {
	// Rules are the lowering rules, tried first.
	Rules *Rules
	// Lower has, by CLIF opcode, the function that appends the instruction's VCode where no rule of TermInst applies; nil
	// for those that are never lowered.
	Lower *[clif.NumOpcodes]LowerFunc
	// Common are the rows that all machines have.
	Common CommonRows
	// Loads are the forms of loads by type and access. Full loads use the machine's rows that load a whole value.
	Loads *[clif.NumTypes][clif.NumAccesses]Form
	// MaxDisp is the largest displacement from a base of loads and stores of words.
	MaxDisp int32
	// Heap is the address of the load or store i.
	Heap func(l *Emit, i clif.Inst, d *clif.InstData) Address
	// IntConst appends dst = x, rematerialisable; VectorConst does so for a vector.
	IntConst    func(l *Emit, x int64, dst regalloc.VReg)
	VectorConst func(l *Emit, low, high uint64, dst regalloc.VReg)
	// Put appends a store of v, of type t, at a, which does not fault; PutZero of a word that is zero.
	Put     func(l *Emit, t clif.Type, a Address, v clif.Value)
	PutZero func(l *Emit, a Address)
	// Plus appends dst = base + v<<scale, which does not overflow; scale is 0 or 3.
	Plus func(l *Emit, base regalloc.VReg, v clif.Value, scale uint8, dst regalloc.VReg)
	// Place appends dst = base + offset; only for those who ask for PlaceInFront.
	Place func(l *Emit, base regalloc.VReg, offset uint64, dst regalloc.VReg)
	// Below appends dst = x - k, which is not negative; k is less than 4096.
	Below func(l *Emit, x regalloc.VReg, k uint64, dst regalloc.VReg)
	// Compare is the comparison that d, an icmp, fcmp or ref_is_null, stands for; CompareZero one of x, of
	// type t, with zero.
	Compare     func(l *Emit, d *clif.InstData) Comparison
	CompareZero func(l *Emit, t clif.Type, x clif.Value, cc clif.IntCC) Comparison
	// Branch appends the end of a block that goes to edge 0 if v is not zero, else to edge 1.
	Branch func(l *Emit, v clif.Value)
	// LoadInstance appends a rematerialisable instruction that defines dst as the address of the instance data. It is nil
	// if instructions address the instance data directly.
	LoadInstance func(l *Emit, dst regalloc.VReg)
	// Hoist reports whether d, a constant of a loop, is better defined in front of it.
	Hoist func(d *clif.InstData) bool
}

// Placement decides where blocks are and what is between them.
type Placement struct {
	// LoopAlign is the alignment in bytes of the headers of hot loops that are longer than a line of the cache, 1 for none.
	LoopAlign uint32
	// Operations appends the operations of code to ops; nil if it does not matter where in a line of the cache a loop begins.
	Operations func(code []byte, ops []Operation) []Operation
	// Rotate: a block that ends a loop stands in front of it if that saves the jump back.
	Rotate bool
	// MaxPiece is the most bytes of code between places where the machine buffer may put an island: larger
	// blocks have such places between instructions. 0 is no limit.
	MaxPiece uint32
	// ShortFrame is how many bytes below the frame pointer, and above the stack pointer, short displacements reach. The slots that are
	// used most are put there. 0: it does not matter.
	ShortFrame int
}

// Emission turns VCode with its allocation into bytes.
type Emission struct {
	// EmitPrologue emits the function's entry, which saves the frame pointer, and, if saves is set, the callee-saved registers of Emitter.Frame.
	EmitPrologue func(e *Emitter, saves bool)
	// EmitSaves saves the callee-saved registers later; EmitRestores restores them. Each is, as what EmitPrologue adds,
	// at most SavesBytes long.
	EmitSaves, EmitRestores func(e *Emitter)
	SavesBytes              func(fr *Frame) uint32
	// EmitInst emits instruction i with its allocations.
	EmitInst func(e *Emitter, i regalloc.Inst)
	// EmitRow emits an instruction of a row, with source src: bytes, relocation or label use, and trap site.
	EmitRow func(e *Emitter, in *Inst, allocs []regalloc.Allocation, src uint32)
	// AppendMove encodes the copy of a value of 8 or 16 bytes, in at most Room bytes.
	AppendMove func(buf []byte, from, to regalloc.Allocation, bytes uint8, fr *Frame) []byte
	// EmitSwap exchanges two integer registers, in no more bytes than a move between two of them; nil if the
	// machine has no such instruction.
	EmitSwap func(e *Emitter, a, b regalloc.PReg)
	// EmitStoreConst emits, the store of bytes of what inst defines to a slot, in no more bytes than a move to it, a restore and inst, or reports false: inst is none of those whose
	// result an instruction can store. It is nil if no instruction can.
	EmitStoreConst func(e *Emitter, inst *Inst, slot regalloc.Allocation, bytes uint8) bool
	// EmitTable emits jump table n, behind the code; nil if tables are part of the instructions that use them.
	EmitTable func(e *Emitter, n uint32)
	// EmitLanding emits what stands in front of blocks to which indirect jumps lead, LandingBytes long (see
	// VCode.Indirect); nil if nothing.
	EmitLanding  func(e *Emitter)
	LandingBytes uint32
}

// Bounds say how long code can become, before it is emitted.
type Bounds struct {
	// MaxBytes bounds the size in bytes of the emitted instruction i without the branches of a
	// terminator, with the constants it adds where MaxPiece is not 0; allocs are those of its operands.
	MaxBytes func(e *Emitter, i regalloc.Inst, allocs []regalloc.Allocation) uint32
	// MaxEdit bounds the size of an edit, in bytes.
	MaxEdit func(e *Emitter, ed *regalloc.Edit) uint32
	// BranchBytes bounds the size in bytes of the branches at the end of the current block, by
	// Emitter.Distance and Emitter.DistanceBack; it is at most MaxBranches.
	BranchBytes func(e *Emitter) uint32
	MaxBranches uint32
}

// Printing writes instructions as text, for dumps and tests.
type Printing struct {
	// PrintVCode appends the text of an instruction of a row on virtual registers, PrintAsm on allocations;
	// PseudoName is the name of a pseudo-instruction.
	PrintVCode func(dst []byte, inst *Inst, ops []regalloc.Operand) []byte
	PrintAsm   func(dst []byte, inst *Inst, allocs []regalloc.Allocation, fr *Frame) []byte
	PseudoName func(op Op) string
	// RegName is the name of the whole of a register.
	RegName func(p regalloc.PReg) string
}

// CommonRows are the rows and pseudo-instructions that all machines have, with operands in the order that is
// given here.
type CommonRows struct {
	// Copy: use, def; of Size 4 it clears the upper half. Sext8, Sext16 and Sext32 sign-extend that many
	// bits: use, def. ShlImm: use, def. Lea: address, def.
	Copy, Sext8, Sext16, Sext32, ShlImm, Lea Op
	// Store stores the whole of a register, by class: address, use.
	Store [regalloc.NumClasses]Op
	// Call calls function Inst.Symbol, CallInd what the word at an address points to.
	Call, CallInd Op
	// Ret restores and returns.
	Ret Op
	// JumpTable compares the index with Inst.First, unless that is 0, and jumps to the first entry if it is below, else
	// by jump table Inst.Table with Inst.Entries entries and the default: use, early temporary, def of a
	// temporary. If the check is misspeculated, the index is 0, except in JumpTableBare. JumpChain does the same
	// by comparisons: use.
	JumpTable, JumpTableBare, JumpChain Op
}

// LowerFunc appends the VCode of one CLIF instruction.
type LowerFunc func(l *Emit, i clif.Inst, d *clif.InstData)

// Instructions that all machines have. Their operands follow no row.
const (
	// OpArgs, the first instruction, defines the incoming arguments.
	OpArgs Op = 0xff00 + iota
	// OpJump goes to the only successor of the block.
	OpJump
	// OpTrap traps with code Inst.Trap; a terminator without successors.
	OpTrap
)
