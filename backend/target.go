package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// Target is a machine: tables, and a few functions that know its instructions, grouped by the step that asks. What machines do alike is in this package,
// by their tables. It is immutable and shared by any number of Compilers.
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
	// CountsFuel: a register that allocators do not know has the count of fuel, and code may have charges.
	CountsFuel bool
	// Common are the rows that all machines have.
	Common CommonRows

	Selection
	Heap
	Emission
	Framing
	Branching
	Printing
}

// Selection turns CLIF into VCode. Its functions append to the code of l.
type Selection struct {
	// Rules are the lowering rules, tried first.
	Rules *Rules
	// Lower has, by CLIF opcode, the function that appends the instruction's VCode where no rule of TermInst applies; nil
	// for those that are never lowered. See Lowerings.
	Lower *[clif.NumOpcodes]LowerFunc
	// Loads are the forms of loads by type and access. Full loads use the machine's rows that load a whole value.
	Loads *[clif.NumTypes][clif.NumAccesses]Form
	// MaxDisp is the largest displacement from a base of loads and stores of words.
	MaxDisp int32
	// HoistAll: all constants of a loop are better defined in front of it, not only integers that are no immediate of 32 bits.
	HoistAll bool
	// Memory is the address of the load or store i.
	Memory func(l *Emit, i clif.Inst, d *clif.InstData) Address
	// VectorConst appends dst = the vector low, high, rematerialisable.
	VectorConst func(l *Emit, low, high uint64, dst regalloc.VReg)
	// Put appends a store of the given number of low bytes of v, of type t, at a.
	Put func(l *Emit, t clif.Type, bytes int, a Address, v clif.Value)
	// Sum appends dst = base + t, which does not overflow.
	Sum func(l *Emit, base regalloc.VReg, t SumTerm, dst regalloc.VReg)
	// Compare is the comparison that d, of Query.isComparison, stands for. If d is nil, it is that the i32 v is not 0.
	Compare func(l *Emit, d *clif.InstData, v clif.Value) Comparison
}

// SumTerm is what is added to an address: V<<Scale, Scale being 0 or 3, or, if V is NoValue, K, which has at most 24 bits, or 12 bits if it is negative.
type SumTerm struct {
	V     clif.Value
	Scale uint8
	K     int64
}

// Emission turns VCode with its allocation into bytes.
type Emission struct {
	// Emit emits the instruction in with its allocations, and source src: bytes, relocation or label use, and trap site. Of the operands' registers,
	// those of in come first.
	Emit func(e *Emitter, in *Inst, allocs []regalloc.Allocation, src uint32)
	// Landing is what stands in front of blocks to which indirect jumps lead (see VCode.Indirect).
	Landing []byte
	// EntryUse is the kind of label use of an entry of a jump table: the distance from the table's start. TablesBehind: tables stand behind the code,
	// aligned, not in the instructions that use them.
	EntryUse     machbuffer.UseKind
	TablesBehind bool
}

// Framing sets up frames.
type Framing struct {
	// Entry is the code at the entry of functions to which indirect calls lead, SetUp what follows it in all functions.
	Entry []byte
	SetUp []FrameStep
	// LowerStack emits what lowers the stack pointer at the entry, for a part of the frame. Each page is touched before the stack pointer moves further.
	LowerStack func(e *Emitter, part FramePart)
	// Saves and Restores are the rows that save callee-saved registers and restore them, SaveBytes how long they are for each register. FramePointer
	// is their base.
	Saves, Restores SavedRows
	SaveBytes       uint32
	FramePointer    regalloc.PReg
	// TailCallee has the address that a tail call jumps to: it is neither an argument nor callee-saved.
	TailCallee regalloc.PReg
	// ShortFrame is how many bytes below the frame pointer, and above the stack pointer, short displacements reach. The slots that are
	// used most are put there. 0: it does not matter.
	ShortFrame int
}

// FramePart is a part of a frame that the prologue makes.
type FramePart uint8

// The parts.
const (
	// GrownArgs, in front of SetUp, makes the argument area longer by Frame.Grow, at its lower end. Down to where SetUp stores, all of it is touched by instructions that
	// hosts know, since the frame pointer is still the caller's if one faults.
	GrownArgs FramePart = iota
	// Body and SavingBody, behind SetUp, are Frame.Size bytes. SavingBody also saves the callee-saved registers of the frame, in at most Target.SavesBytes more.
	Body
	SavingBody
)

// Branching decides where blocks are and what is between them, by how long code can become.
type Branching struct {
	// MaxBytes bounds the size in bytes of the emitted instruction in without the branches of a
	// terminator, with the constants it adds where MaxPiece is not 0; allocs are those of its operands.
	MaxBytes func(e *Emitter, in *Inst, allocs []regalloc.Allocation) uint32
	// BranchBytes bounds the size in bytes of the branches at the end of the current block, by
	// Emitter.Distance and Emitter.DistanceBack; it is at most MaxBranches.
	BranchBytes func(e *Emitter) uint32
	MaxBranches uint32
	// Operations appends the operations of code to ops; nil if it does not matter where in a line of the cache a loop begins.
	Operations func(code []byte, ops []Operation) []Operation
	// LoopAlign is the alignment in bytes of the headers of hot loops that are longer than a line of the cache, 1 for none.
	LoopAlign uint32
	// Rotate: a block that ends a loop stands in front of it if that saves the jump back.
	Rotate bool
	// MaxPiece is the most bytes of code between places where the machine buffer may put an island: larger
	// blocks have such places between instructions. 0 is no limit.
	MaxPiece uint32
}

// Printing writes instructions as text, for dumps and tests.
type Printing struct {
	// PrintVCode appends the text of an instruction of a row on virtual registers, PrintAsm on allocations.
	PrintVCode func(dst []byte, inst *Inst, ops []regalloc.Operand) []byte
	PrintAsm   func(dst []byte, inst *Inst, allocs []regalloc.Allocation, fr *Frame) []byte
	// Pseudos are the names of the pseudo-instructions, which follow the rows. Regs are the names of whole registers.
	Pseudos []string
	Regs    []string
}

// NamesOf returns n names.
func NamesOf(n int, name func(k int) string) []string {
	names := make([]string, n)
	for k := range names {
		names[k] = name(k)
	}
	return names
}

// CommonRows are the rows and pseudo-instructions that all machines have, with operands in the order that is
// given here.
type CommonRows struct {
	// Copy: use, def; of Size 4 it clears the upper half. Sext8, Sext16 and Sext32 sign-extend that many
	// bits: use, def. ShlImm and AndImm: use, def. Lea: address, def.
	Copy, Sext8, Sext16, Sext32, ShlImm, AndImm, Lea Op
	// Store stores the whole of a register, by class: address, use.
	Store [regalloc.NumClasses]Op
	// IntConst defines the integer Inst.Imm, Zero 0, if that is another row: def. Instance defines the address of the instance data: def; it is 0 if
	// instructions address the instance data directly.
	IntConst, Zero, Instance Op
	// StoreZero stores a word that is zero: address. StoreImm stores Inst.Imm, sign-extended from 32 bits, to a slot: use; 0 if no instruction can.
	StoreZero, StoreImm Op
	// Swap exchanges two integer registers, those of Env.Swaps: use, use; 0 if no instruction can.
	Swap Op
	// Call calls function Inst.Symbol, CallInd what the word at an address points to.
	Call, CallInd Op
	// Ret restores and returns.
	Ret Op
	// TailCall jumps to function Inst.Symbol, TailCallInd to what the word at an address without registers points to, TailCallReg to an address in Framing.TailCallee: use. They
	// restore first, as Ret does.
	TailCall, TailCallInd, TailCallReg Op
	// JumpTable compares the index with Inst.First, unless that is 0, and jumps to the first entry if it is below, else
	// by jump table Inst.Table with Inst.Entries entries and the default: use, early temporary, def of a
	// temporary. If the check is misspeculated, the index is 0, except in JumpTableBare. JumpChain does the same
	// by comparisons: use.
	JumpTable, JumpTableBare, JumpChain Op
	// Charge subtracts Inst.Imm from the count of fuel, and ChargeBy a register: use. If the count is below zero then, they trap with Inst.Trap, unless that is
	// none. The register of the count is no operand.
	Charge, ChargeBy Op
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
	// OpMove copies a value of Inst.Size bytes, 8 or 16, from the first allocation to the second, in at most Room bytes. It is not in VCode: edits become
	// such instructions.
	OpMove
)

// SavesBytes bounds the size of what saves the callee-saved registers of a frame, or restores them.
func (t *Target) SavesBytes(fr *Frame) uint32 { return t.SaveBytes * uint32(fr.Saved.Len()) }

// StoreOf returns the instruction that stores the given number of bytes of the constant that inst defines in a slot; ok is false if there is none.
func (c *CommonRows) StoreOf(inst *Inst, bytes uint8) (store Inst, ok bool) {
	imm := inst.Imm
	switch {
	case c.StoreImm == 0:
		return store, false
	case inst.Op == c.Zero:
		imm = 0
	case inst.Op != c.IntConst || inst.Size != 8 || bytes == 8 && imm != int64(int32(imm)):
		return store, false
	}
	return Inst{Op: c.StoreImm, Size: bytes, Imm: imm}, true
}
