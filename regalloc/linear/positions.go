package linear

const (
	atUse = 2 // offset of the position where an instruction reads
	atDef = 3 // offset of the position where an instruction writes
)

// instOf returns the instruction that the position is of.
func instOf(pos uint32) uint32 { return pos >> 2 }

// sameInst reports whether two positions are of one instruction.
func sameInst(p, q uint32) bool { return p>>2 == q>>2 }

// gapOf returns the gap before the instruction of pos, readOf is where the instruction reads.
func gapOf(pos uint32) uint32  { return pos &^ 3 }
func readOf(pos uint32) uint32 { return pos&^3 | atUse }

// isRead and isWrite report whether pos is where an instruction reads, or writes.
func isRead(pos uint32) bool  { return pos&3 == atUse }
func isWrite(pos uint32) bool { return pos&3 == atDef }
