package backend

// Op is a machine instruction or pseudo-instruction: a row of the ISA's table.
type Op uint16

// Mode is the form of an instruction's memory operand, if it has one.
type Mode uint8

// The addressing modes. An instruction's registers are not in Inst but in its
// Operands, in the order that its row documents; the operands of the address
// (base, then index) take the place of the register operand they stand for.
const (
	// ModeNone: no address; the operand is a register, or, where its constraint
	// is Any, a spill slot or incoming argument chosen by the allocator.
	ModeNone Mode = iota
	// ModeBase: [base + Disp].
	ModeBase
	// ModeBaseIndex: [base + index<<Scale + Disp].
	ModeBaseIndex
	// ModeSym: [symbol Ref + Disp], relative to the program counter.
	ModeSym
	// ModeConst: the constant number Ref of the function's pool, relative to the
	// program counter.
	ModeConst
	// ModeOutArg: [stack pointer + Disp], the outgoing argument area.
	ModeOutArg
	// ModeLocal: [frame's local area + Disp], addresses for hidden results.
	ModeLocal
	// ModeIndex: [index<<Scale + Disp] without a base.
	ModeIndex
	NumModes
)

// Tail says what consumes the flags that a comparing instruction sets. Flags
// never live from one instruction to the next: comparison and consumer are one
// Inst, so that no edit can come between them.
type Tail uint8

// The tails. Their operands follow those of the comparison.
const (
	TailNone Tail = iota
	// TailJump: a terminator; edge 0 of the block if Cond holds, else edge 1.
	TailJump
	// TailSet: a Def gets 0 or 1.
	TailSet
	// TailSelect: operands Use a, Use b, Def d: d = Cond ? a : b, d reusing b.
	TailSelect
	// TailSelectZero: operands Use a, Def d: d = Cond ? a : 0.
	TailSelectZero
	// TailTrap: trap with code Trap if Cond holds.
	TailTrap
	// TailBound: operands Use a, Def d: trap with code Trap if Cond holds, else d = a. If the trap has been passed by
	// misspeculation, d is 0: it depends on the flags, not on the branch.
	TailBound
	NumTails
)

// Inst is a machine instruction of VCode before and after allocation; it is
// flat, fixed in size, and holds no registers (the Operands do).
type Inst struct {
	Op Op
	// Size is the operand size in bytes: 1, 2, 4, 8 (16 for vectors).
	Size uint8
	// Cond is the ISA's condition code. Cond^1 is the code of the opposite.
	Cond  uint8
	Tail  Tail
	Mode  Mode
	Scale uint8 // 0 to 3
	// Trap is the code (abi.TrapCode) if the instruction may trap.
	Trap uint8
	Disp int32
	// Ref is a SymRef, constant number, jump table number, call number or memory
	// index, as Op and Mode say.
	Ref uint32
	Imm int64
}

// SymRef names what code may refer to outside its function.
type SymRef uint32

// The symbols: the instance data of the module, and its defined functions.
const (
	SymInstance SymRef = 0
	symFunc     SymRef = 1
)

// SymFunc returns the code of the function with module-wide index i, which must be
// defined (not imported).
func SymFunc(i uint32) SymRef { return symFunc + SymRef(i) }

// Func returns the function index; s must not be SymInstance.
func (s SymRef) Func() uint32 { return uint32(s - symFunc) }
