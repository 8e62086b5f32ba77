package abi

// CFI is the call frame information that the functions of a machine have in common: how unwinders find the caller's frame, by
// DWARF 5, section 6.4. Its canonical frame address (CFA) is what the stack pointer was before the call.
type CFI struct {
	// CodeAlign divides the length of each instruction, in bytes. ReturnAddress is the number of the column of the return address.
	CodeAlign, ReturnAddress uint8
	// Entry holds at the entry of a function.
	Entry []CFIRule
	// Steps are the instructions that set up the frame, without gaps.
	Steps []CFIStep
	// Stack is the number of the stack pointer.
	Stack uint8
	// Registers are the numbers of registers, by those that register allocation has.
	Registers [64]uint8
	// RedZone: what a frame holds stays when it has been left, until the function returns, as signals spare it.
	RedZone bool
}

// CFIChange is a place in a function's code, behind the steps, from which on other rules hold.
type CFIChange struct {
	Offset uint32
	Kind   CFIChangeKind
	// Popped is how much higher the stack pointer is, or, if it is negative, how much lower, than it would be if it were as at the entry, right at
	// the return address or, on a machine with a link register, at the arguments.
	Popped int32
}

// CFIChangeKind is what changes.
type CFIChangeKind uint8

// The kinds of change.
const (
	RegistersSaved CFIChangeKind = iota // the caller's values of callee-saved registers are in the frame
	RegistersKept                       // they are in the registers
	FrameLeft                           // they and the frame pointer are in the registers; arguments may have been popped
	ReturnMoved                         // behind FrameLeft: what has been left is no longer at the same distance from the CFA, as the return address has moved
	StackLowered                        // only the stack pointer, as Popped says; in front of the steps
	FrameBack                           // what follows has the frame, and them where they were before FrameLeft
)

// CFIStep is an instruction that changes rules.
type CFIStep struct {
	Bytes uint8 // its length
	Rules []CFIRule
}

// CFIRule is one rule. Reg is DWARF's number of a register; Offset is in bytes.
type CFIRule struct {
	Kind   CFIKind
	Reg    uint8
	Offset int16
}

// CFIKind is what a rule says.
type CFIKind uint8

// The kinds of rule.
const (
	CFAIs       CFIKind = iota // the CFA is Reg and Offset
	CFAOffset                  // the CFA is Offset from the same register as before
	CFARegister                // the CFA is the same offset from Reg
	SavedAt                    // what the caller has in Reg is at the CFA and Offset, a negative multiple of 8
)
