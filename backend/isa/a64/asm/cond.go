package asm

// Cond is a condition on the flags, for backend.Inst.Cond: the hardware's codes.
type Cond uint8

// The conditions. HS, LO, HI, LS compare unsigned integers; GE, LT, GT, LE signed
// ones. After Fcmp the floats are: EQ equal, MI less, LS less or equal, GT greater, GE
// greater or equal, VC ordered; and their inverses NE, PL, HI, LE, LT, VS, which are true
// if unordered.
const (
	EQ Cond = iota // Z
	NE             // not Z
	HS             // C
	LO             // not C
	MI             // N
	PL             // not N
	VS             // V
	VC             // not V
	HI             // C and not Z
	LS             // not C or Z
	GE             // N = V
	LT             // N != V
	GT             // not Z and N = V
	LE             // Z or N != V
	// NumConds is the number of conditions that may fail.
	NumConds
	// AL is always; no row takes it.
	AL = NumConds
)

var condNames = [AL + 1]string{"eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"}

// String returns the name, as in "b.hs".
func (c Cond) String() string {
	if c > AL {
		return "cond?"
	}
	return condNames[c]
}

// Invert returns the condition that holds exactly if c does not, unordered floats
// included. c must be below NumConds.
func (c Cond) Invert() Cond { return c ^ 1 }

// Flags returns flags (N 8, Z 4, C 2, V 1) under which c holds.
func (c Cond) Flags() int64 { return int64(holding[c]) }

var holding = [NumConds]uint8{EQ: 4, HS: 2, MI: 8, VS: 1, HI: 2, LT: 8, LE: 4}

var swapped = [NumConds]Cond{EQ: EQ, NE: NE, HS: LS, LO: HI, MI: MI, PL: PL, VS: VS, VC: VC, HI: LO, LS: HS,
	GE: LE, LT: GT, GT: LT, LE: GE}

// Swap returns the condition that holds of a comparison of integers b with a if c
// holds of one of a with b. MI, PL, VS and VC, which have no such condition, stay as they
// are.
func (c Cond) Swap() Cond { return swapped[c] }

var swappedFloat = [NumConds]Cond{EQ: EQ, NE: NE, HS: LE, LO: GT, MI: GT, PL: LE, VS: VS, VC: VC, HI: LT, LS: GE,
	GE: LS, LT: HI, GT: MI, LE: PL}

// SwapFloat is Swap for comparisons of floats, unordered ones included.
func (c Cond) SwapFloat() Cond { return swappedFloat[c] }
