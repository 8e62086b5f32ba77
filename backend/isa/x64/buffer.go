package x64

import (
	"encoding/binary"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/machbuffer"
)

// The kinds of label use. Fields hold an addend in place, to which the distance from
// the field to the label is added: minus what is between the field and the end
// of the instruction.
const (
	rel8  machbuffer.UseKind = iota // of a short branch
	rel32                           // of a branch or an address
	tab32                           // of an entry of a jump table; the addend is the entry's offset in it
)

const farthest = 1<<31 - 1<<20

// bufferTarget describes the machine to the machine buffer; resumes says that hosts may resume code behind traps.
func bufferTarget(resumes bool) *machbuffer.Target {
	t, err := machbuffer.NewTarget(machbuffer.TargetDesc{
		Resumes: resumes,
		Kinds: []machbuffer.KindDesc{
			rel8:  {Name: "rel8", MaxPos: 128, MaxNeg: 127, PatchSize: 1, Align: 1, Patch: patch8},
			rel32: {Name: "rel32", MaxPos: farthest, MaxNeg: farthest, PatchSize: 4, Align: 1, Patch: patch32},
			tab32: {Name: "tab32", MaxPos: farthest, MaxNeg: farthest, PatchSize: 4, Align: 1, Patch: patch32},
		},
		Jump: jumpForms[1],
		Trap: encode(backend.Inst{Op: asm.Ud2}),
		Fill: 0xcc, // int3
		Nop: func(dst []byte) {
			asm.AppendNops(dst[:0], len(dst))
		},
		CodeAlign: 1, MinUseInst: 2,
	})
	if err != nil {
		panic(err)
	}
	return t
}

func patch8(p []byte, use, label uint32) { p[0] += uint8(label - use) }

func patch32(p []byte, use, label uint32) {
	binary.LittleEndian.PutUint32(p, binary.LittleEndian.Uint32(p)+label-use)
}

// encode returns the bytes of an instruction without registers.
func encode(in backend.Inst) []byte {
	code, _ := asm.Append(nil, &in, nil, nil)
	return code
}

// branchForm returns a branch of the given row and condition for the machine buffer. Its field comes last and holds the
// addend.
func branchForm(op backend.Op, c uint8) machbuffer.Form {
	kind, width := rel8, 1
	if asm.RowOf(op).Imm == asm.IRel32 {
		kind, width = rel32, 4
	}
	code := encode(backend.Inst{Op: op, Cond: c, Disp: int32(-width)})
	return machbuffer.MakeForm(kind, uint8(len(code)-width), code)
}

// jumpForms are the unconditional branches, condForms the conditional ones by condition, short and long.
var (
	jumpForms = [2]machbuffer.Form{branchForm(asm.JmpShort, 0), branchForm(asm.Jmp, 0)}
	condForms = makeCondForms()
)

func makeCondForms() (all [16]machbuffer.CondForms) {
	forms := func(c int) [2]machbuffer.Form {
		return [2]machbuffer.Form{branchForm(asm.JccShort, uint8(c)), branchForm(asm.Jcc, uint8(c))}
	}
	for c := range all {
		all[c] = machbuffer.CondForms{Same: forms(c), Inverted: forms(c ^ 1), N: 2}
	}
	return all
}

// putBranch emits a branch to a label that is set later, and returns the place of its field.
func putBranch(b *machbuffer.Buffer, f *machbuffer.Form) (use uint32) {
	use = b.Offset() + uint32(f.Use)
	b.PutBytes(f.Bytes[:f.Len])
	return use
}

// branchTo emits a branch that the buffer does not edit.
func branchTo(b *machbuffer.Buffer, f *machbuffer.Form, l machbuffer.Label) {
	b.UseLabel(putBranch(b, f), f.Kind, l)
}
