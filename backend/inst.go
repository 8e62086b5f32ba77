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
	// ModeSym: [symbol + Disp], relative to the program counter.
	ModeSym
	// ModeConst: a constant of the function's pool, relative to the
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
	// TailAdd, TailSub: operands Use a, Def d of 64 bits: d = a + Cond, d = a - Cond, d reusing a. Cond is a carry or its absence.
	TailAdd
	TailSub
	NumTails
)

// Inst is a machine instruction of VCode before and after allocation; it is
// flat, fixed in size, and holds no registers (the Operands do).
//
// Some fields mean different things in different instructions. Disp and Imm are read as they are where they are a displacement
// or an immediate, and everything else by name:
//
//	instruction                          Disp              Imm                  reference: set by, read by
//	address in ModeBase, ModeBaseIndex,
//	  ModeIndex                          displacement      immediate            Faulting, Fault
//	address in ModeSym                   displacement      immediate            OfSymbol, Symbol
//	address in ModeConst                 displacement      immediate            OfConst, Const
//	address in other modes               displacement      immediate            -
//	direct call                          addend            SetPopped, Popped    OfSymbol, Symbol
//	indirect call                        displacement      SetPopped, Popped    as its address
//	jump table or chain                  SetFirst, First   OfTable, Entries     OfTable, Table
//	page of a symbol (AArch64)           addend            -                    OfSymbol, Symbol
//	branch                               distance, bytes   bit number           -
//	conversion with two constants (x64)  -                 -                    OfConst, Const: the first
//	comparison with a tail (AArch64)     -                 immediate            SetChoice, Choice
//	two comparisons (AArch64)            SetSecond, Second immediate of 1st     SetChoice, Choice
//	any other                            -                 immediate            -
type Inst struct {
	Op Op
	// Size is the operand size in bytes: 1, 2, 4, 8 (16 for vectors).
	Size uint8
	// Cond is the ISA's condition code. Cond^1 is the code of the opposite.
	Cond uint8
	Tail Tail
	Mode Mode
	// Scale, 0 to 3, is the logarithm of the factor of an index; in rows of AArch64 with lanes, of the bytes of a lane.
	Scale uint8
	// Trap is the code (abi.TrapCode) if the instruction may trap.
	Trap uint8
	Disp int32
	// ref is a reference, of a kind that the instruction decides.
	ref uint32
	Imm int64
}

// refer returns in with another ref.
func (in Inst) refer(ref uint32) Inst {
	in.ref = ref
	return in
}

// OfSymbol returns in with symbol s: of an address in ModeSym, of a direct call, of a page.
func (in Inst) OfSymbol(s SymRef) Inst { return in.refer(uint32(s)) }

// Symbol returns the symbol of OfSymbol.
func (in *Inst) Symbol() SymRef { return SymRef(in.ref) }

// OfConst returns in with constant n of the function's pool.
func (in Inst) OfConst(n uint32) Inst { return in.refer(n) }

// Const returns the number of the constant of OfConst.
func (in *Inst) Const() uint32 { return in.ref }

// Faulting returns in with fault f. Its address must have registers. By default an access cannot fault.
func (in Inst) Faulting(f Fault) Inst { return in.refer(uint32(f)) }

// mayFault is the set of modes with registers. Addresses in other modes are in memory that is always mapped.
const mayFault = 1<<ModeBase | 1<<ModeBaseIndex | 1<<ModeIndex

// Fault returns how the memory access of in may fault.
func (in *Inst) Fault() Fault {
	if mayFault>>in.Mode&1 == 0 {
		return NoFault
	}
	return Fault(in.ref)
}

// OfTable returns in with jump table n. entries does not count the default.
func (in Inst) OfTable(n uint32, entries int) Inst {
	in.Imm = int64(entries)
	return in.refer(n)
}

// Table returns the number of the jump table of OfTable.
func (in *Inst) Table() uint32 { return in.ref }

// Entries returns the number of entries of OfTable.
func (in *Inst) Entries() int { return int(in.Imm) }

// SetFirst records in in, a jump table, that a comparison in front of it decides the first n entries, which lead to one block.
func (in *Inst) SetFirst(n int) { in.Disp = int32(n) }

// First returns the number of entries of SetFirst; 0 if nothing is in front of the table.
func (in *Inst) First() int { return int(in.Disp) }

// SetPopped records in in, a call, that the callee pops n bytes of arguments.
func (in *Inst) SetPopped(n int) { in.Imm = int64(n) }

// Popped returns the number of bytes of SetPopped.
func (in *Inst) Popped() int { return int(in.Imm) }

// SetChoice makes f the row and size that make the result of in's tail; its zero value stands for the tail's own.
func (in *Inst) SetChoice(f Form) { in.ref = uint32(f.Op)<<8 | uint32(f.Size) }

// Choice returns the form of SetChoice.
func (in *Inst) Choice() Form { return Form{Op(in.ref >> 8), uint8(in.ref)} }

// SetSecond stores the second instruction of in, a pseudo-instruction of two. The machine has packed it.
func (in *Inst) SetSecond(packed int32) { in.Disp = packed }

// Second returns the instruction that SetSecond packed.
func (in *Inst) Second() int32 { return in.Disp }

// Fault is how an access at an address with registers may fault.
type Fault uint32

// The faults. Values from memoryFaults on number the linear memories: an access out of the memory's bounds.
const (
	// NoFault: the access cannot fault.
	NoFault Fault = iota
	// NullFaults: the access faults on page zero if a function reference is null.
	NullFaults
	// NullStructureFaults and NullArrayFaults: the access faults in front of all objects of the heap if the reference is null.
	NullStructureFaults
	NullArrayFaults
	memoryFaults
)

// MemoryFaults: the access is one of linear memory m, and faults out of bounds.
func MemoryFaults(m uint32) Fault { return memoryFaults + Fault(m) }

// Memory returns the linear memory whose access faults, if f is such a fault.
func (f Fault) Memory() (m uint32, ok bool) { return uint32(f - memoryFaults), f >= memoryFaults }

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
