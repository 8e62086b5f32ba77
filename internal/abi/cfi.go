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
}

// CFIStep is an instruction that changes rules.
type CFIStep struct {
	Bytes uint8 // its length
	Rules []CFIRule
}

// CFIRule is one rule. Reg is DWARF's number of a register, below 64; Offset is in bytes.
type CFIRule struct {
	Kind   CFIKind
	Reg    uint8
	Offset int8
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
