package abi

// ArgKind is what the calling convention distinguishes of a value.
type ArgKind uint8

// The kinds of argument.
const (
	ArgInt    ArgKind = iota // i32 (zero-extended), i64, references, addresses
	ArgFloat                 // f32 (upper bits unspecified), f64
	ArgVector                // v128, in the registers of ArgFloat, or two words, the first of which is even
)

// Words returns how many 8-byte words a value takes in memory.
func (k ArgKind) Words() int { return 1 + int(k>>1) }

// CallConv is the waot calling convention of one machine. Registers are
// hardware numbers.
type CallConv struct {
	// IntArgs and FloatArgs pass arguments, in this order; what does not fit goes
	// on the stack, one 8-byte word each, in order; a vector takes two, aligned to 16 bytes.
	IntArgs, FloatArgs []uint8
	// IntResults and FloatResults return results; what does not fit is stored,
	// in words likewise, through a hidden pointer, aligned to 16 bytes, that is then the first
	// integer argument.
	IntResults, FloatResults []uint8
	// CalleeSavedInt and CalleeSavedFloat survive a call, as do the frame pointer
	// and, once the callee has popped the stack arguments, the stack pointer.
	CalleeSavedInt, CalleeSavedFloat []uint8
	// StackAlign is the alignment of the stack pointer at a call, in bytes; the
	// stack argument area is padded to it, and popped by the callee.
	StackAlign int
}

// Hardware numbers of the x86-64 integer registers.
const (
	RAX = iota
	RCX
	RDX
	RBX
	RSP
	RBP
	RSI
	RDI
	R8
	R9
	R10
	R11
	R12
	R13
	R14
	R15
)

// X64 is the convention on x86-64. Up to six integer and eight float
// arguments, the first integer result and the first float result are where the
// System V convention has them, and the same integer registers are callee-saved, so that
// helpers can be C functions. r11 may be changed between a call and the
// callee's first instruction. xmm15 is the move scratch.
var X64 = CallConv{
	IntArgs:        []uint8{RDI, RSI, RDX, RCX, R8, R9, RAX, R10},
	FloatArgs:      []uint8{0, 1, 2, 3, 4, 5, 6, 7},
	IntResults:     []uint8{RAX, RDX, RCX, RSI},
	FloatResults:   []uint8{0, 1, 2, 3},
	CalleeSavedInt: []uint8{RBX, R12, R13, R14, R15},
	StackAlign:     16,
}

// A64 is the convention on AArch64. Up to eight integer and eight float
// arguments, the first integer result and the first float result are where the
// AAPCS64 has them. Its callee-saved registers are so here, but for x28, which is
// never touched (a Go process keeps its g there), as is x18, the platform's.
// x29 and x30 are frame pointer and link register. x16 and x17 may be changed
// between a call and the callee's first instruction. Of v8 to v15 the low 64 bits
// are callee-saved. The number of each register is that in its name.
var A64 = CallConv{
	IntArgs:          []uint8{0, 1, 2, 3, 4, 5, 6, 7},
	FloatArgs:        []uint8{0, 1, 2, 3, 4, 5, 6, 7},
	IntResults:       []uint8{0, 1, 2, 3},
	FloatResults:     []uint8{0, 1, 2, 3},
	CalleeSavedInt:   []uint8{19, 20, 21, 22, 23, 24, 25, 26, 27},
	CalleeSavedFloat: []uint8{8, 9, 10, 11, 12, 13, 14, 15},
	StackAlign:       16,
}

// Loc is where one argument or result is.
type Loc struct {
	Kind ArgKind
	// InReg tells whether Reg (a hardware number of the bank of Kind) or Word (an
	// index of 8-byte words of the stack argument area or of the hidden result area) counts.
	InReg bool
	Reg   uint8
	Word  uint16
}

// assign gives each kind a register while there are any, then words.
func assign(locs []Loc, kinds []ArgKind, ints, floats []uint8) ([]Loc, int) {
	word := 0
	for _, k := range kinds {
		regs := &ints
		if k != ArgInt {
			regs = &floats
		}
		l := Loc{Kind: k}
		if len(*regs) > 0 {
			l.InReg, l.Reg = true, (*regs)[0]
			*regs = (*regs)[1:]
		} else {
			if k == ArgVector {
				word += word & 1
			}
			l.Word = uint16(word)
			word += k.Words()
		}
		locs = append(locs, l)
	}
	return locs, word
}

// Sig is where a signature's values are.
type Sig struct {
	Args, Results []Loc
	// ArgWords is the size of the stack argument area before padding;
	// ResultWords that of the hidden result area, 0 if there is none. With a hidden
	// area its address is passed as a first integer argument (HiddenReg) that Args does
	// not list.
	ArgWords, ResultWords int
	HiddenReg             uint8
}

// HasHidden reports whether results overflow into a hidden area.
func (s *Sig) HasHidden() bool { return s.ResultWords > 0 }

// ArgBytes returns the padded size of the stack argument area: what the callee pops.
func (s *Sig) ArgBytes(c *CallConv) int {
	return (s.ArgWords*8 + c.StackAlign - 1) &^ (c.StackAlign - 1)
}

// Assign lays out a signature; s is overwritten, its slices reused.
func (c *CallConv) Assign(s *Sig, args, results []ArgKind) {
	s.Results, s.ResultWords = assign(s.Results[:0], results, c.IntResults, c.FloatResults)
	ints := c.IntArgs
	if s.HasHidden() {
		s.HiddenReg = ints[0]
		ints = ints[1:]
	}
	s.Args, s.ArgWords = assign(s.Args[:0], args, ints, c.FloatArgs)
}
