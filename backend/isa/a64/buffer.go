package a64

import (
	endian "encoding/binary"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// The kinds of label use. All are of a whole word.
const (
	branch26 machbuffer.UseKind = iota // of b
	cond19                             // of b.cond, cbz and cbnz
	test14                             // of tbz and tbnz
	lit19                              // of a load from the pool: as cond19, but no branch can extend its range
	adr21                              // of adr
	tab32                              // of an entry of a jump table; the addend in place is the entry's offset in it
)

// farthest is the range of b. Nothing needs to reach further, since no function is larger.
const farthest = 1 << 27

// bufferTarget describes the machine to the machine buffer; resumes says that hosts may resume code behind traps.
func bufferTarget(resumes bool) *machbuffer.Target {
	jump, nop := always.form(), word(backend.Inst{Op: asm.Nop})
	short := func(name string, bits int, patch func(p []byte, use, label uint32), veneer bool) machbuffer.KindDesc {
		reach := uint32(1) << (bits + 1)
		k := machbuffer.KindDesc{Name: name, MaxPos: reach - 4, MaxNeg: reach, PatchSize: 4, Align: 4, Patch: patch}
		if veneer {
			k.VeneerSize, k.Veneer = 4, branch26
			k.EmitVeneer = func(dst []byte) { copy(dst, jump.Bytes[:jump.Len]) }
		}
		return k
	}
	t, err := machbuffer.NewTarget(machbuffer.TargetDesc{
		Resumes: resumes,
		Kinds: []machbuffer.KindDesc{
			branch26: short("branch26", 26, patch26, false),
			cond19:   short("cond19", 19, patch19, true),
			test14:   short("test14", 14, patch14, true),
			lit19:    short("lit19", 19, patch19, false),
			adr21:    {Name: "adr21", MaxPos: 1<<20 - 1, MaxNeg: 1 << 20, PatchSize: 4, Align: 1, Patch: patchAdr},
			tab32:    {Name: "tab32", MaxPos: farthest - 4, MaxNeg: farthest, PatchSize: 4, Align: 4, Patch: patch32},
		},
		Jump:     jump,
		Trap:     endian.LittleEndian.AppendUint32(nil, word(backend.Inst{Op: asm.Udf})),
		TrapCode: func(p []byte, code uint8) { p[0] = code }, // the immediate of udf
		Nop: func(dst []byte) {
			for ; len(dst) >= 4; dst = dst[4:] {
				endian.LittleEndian.PutUint32(dst, nop)
			}
		},
		CodeAlign: 4, MinUseInst: 4,
	})
	if err != nil {
		panic(err)
	}
	return t
}

// word encodes a one-word instruction on the given registers.
func word(in backend.Inst, regs ...regalloc.Allocation) uint32 {
	var buf [asm.MaxLen]byte
	out, _ := asm.Append(buf[:0], &in, regs, nil)
	return endian.LittleEndian.Uint32(out)
}

// setBits puts the low bits of x into the word at p from bit at on, where it has zeros.
func setBits(p []byte, x uint32, bits, at uint) {
	endian.LittleEndian.PutUint32(p, endian.LittleEndian.Uint32(p)|x&(1<<bits-1)<<at)
}

func patch26(p []byte, use, label uint32) { setBits(p, (label-use)>>2, 26, 0) }
func patch19(p []byte, use, label uint32) { setBits(p, (label-use)>>2, 19, 5) }
func patch14(p []byte, use, label uint32) { setBits(p, (label-use)>>2, 14, 5) }

func patchAdr(p []byte, use, label uint32) {
	d := label - use
	setBits(p, d, 2, 29)
	setBits(p, d>>2, 19, 5)
}

func patch32(p []byte, use, label uint32) {
	endian.LittleEndian.PutUint32(p, endian.LittleEndian.Uint32(p)+label-use)
}
