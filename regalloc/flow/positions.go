package flow

const (
	AtUse = 2 // offset of the position where an instruction reads
	AtDef = 3 // offset of the position where an instruction writes
)

// InstOf returns the instruction that the position is of.
func InstOf(pos uint32) uint32 { return pos >> 2 }

// SameInst reports whether two positions are of one instruction.
func SameInst(p, q uint32) bool { return p>>2 == q>>2 }

// GapOf returns the gap before the instruction of pos, readOf is where the instruction reads.
func GapOf(pos uint32) uint32  { return pos &^ 3 }
func ReadOf(pos uint32) uint32 { return pos&^3 | AtUse }

// IsRead and isWrite report whether pos is where an instruction reads, or writes.
func IsRead(pos uint32) bool  { return pos&3 == AtUse }
func IsWrite(pos uint32) bool { return pos&3 == AtDef }
