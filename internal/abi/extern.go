package abi

import "fmt"

// ExternKind is what an import or export is, numbered as in the binary format.
type ExternKind uint8

// The kinds. Tags are those of exceptions.
const (
	ExternFunc ExternKind = iota
	ExternTable
	ExternMemory
	ExternGlobal
	ExternTag
)

var externNames = [...]string{"func", "table", "memory", "global", "tag"}

// String returns the keyword of the text format.
func (k ExternKind) String() string {
	if int(k) < len(externNames) {
		return externNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}
