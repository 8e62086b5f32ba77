package x64

import (
	"encoding/binary"

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

// bufferTarget describes the machine to the machine buffer.
func bufferTarget() *machbuffer.Target {
	t, err := machbuffer.NewTarget(machbuffer.TargetDesc{
		Kinds: []machbuffer.KindDesc{
			rel8:  {Name: "rel8", MaxPos: 128, MaxNeg: 127, PatchSize: 1, Align: 1, Patch: patch8},
			rel32: {Name: "rel32", MaxPos: farthest, MaxNeg: farthest, PatchSize: 4, Align: 1, Patch: patch32},
			tab32: {Name: "tab32", MaxPos: farthest, MaxNeg: farthest, PatchSize: 4, Align: 1, Patch: patch32},
		},
		Jump: machbuffer.MakeForm(rel32, 1, []byte{0xe9, 0xfc, 0xff, 0xff, 0xff}),
		Trap: []byte{0x0f, 0x0b},
		Fill: 0xcc,
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

// condForms are the encodings of the conditional branches, short and long, by condition.
var condForms = makeCondForms()

func makeCondForms() (all [16]machbuffer.CondForms) {
	for c := range all {
		f := &all[c]
		f.N = 2
		for k, forms := range []*[2]machbuffer.Form{&f.Same, &f.Inverted} {
			cc := byte(c ^ k)
			forms[0] = machbuffer.MakeForm(rel8, 1, []byte{0x70 | cc, 0xff})
			forms[1] = machbuffer.MakeForm(rel32, 2, []byte{0x0f, 0x80 | cc, 0xfc, 0xff, 0xff, 0xff})
		}
	}
	return all
}
