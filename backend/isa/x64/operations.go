package x64

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
)

// operations implements backend.Target.Operations.
func operations(code []byte, ops []backend.Operation) []backend.Operation {
	fuses := false
	for at := 0; at < len(code); {
		n := asm.OpLength(code[at:])
		if n == 0 {
			break
		}
		op := backend.Operation{From: uint32(at), At: uint32(at), End: uint32(at + n), Branch: asm.IsBranch(code[at:])}
		if op.Branch && fuses && !asm.IsJump(code[at:]) {
			last := &ops[len(ops)-1]
			last.At, last.End, last.Branch = op.At, op.End, true
		} else {
			ops = append(ops, op)
		}
		fuses = asm.FusesWithBranch(code[at:])
		at += n
	}
	return ops
}
