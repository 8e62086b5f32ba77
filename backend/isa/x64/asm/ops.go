package asm

import "github.com/waot-project/waot/backend"

// The instructions, rows of the table in table.go. Names are the manual's
// except that f stands for a scalar float (ss or sd by Size), p at the end
// for a packed one (ps or pd by Size). With the suffix Imm the last source is Inst.Imm; Store
// and Mem are forms whose destination or first operand is memory. The other forms take
// memory instead of one register by Inst.Mode.
const (
	Invalid backend.Op = iota
	Mov
	MovStore
	MovStoreImm
	MovImm
	Movzx8
	Movzx16
	Movsx8
	Movsx16
	Movsx32
	Lea
	Zero

	Add
	AddImm
	AddStore
	AddStoreImm
	Or
	OrImm
	OrStore
	OrStoreImm
	Sbb
	AdcImm
	SbbImm
	And
	AndImm
	AndStore
	AndStoreImm
	Sub
	SubImm
	SubStore
	SubStoreImm
	Xor
	XorImm
	XorStore
	XorStoreImm
	Cmp
	CmpImm
	CmpMem
	Test
	TestImm

	Imul
	ImulImm
	MulWide
	ImulWide
	Div
	Idiv
	Cdq
	Neg
	Not

	Rol
	RolImm
	Ror
	RorImm
	Shl
	ShlImm
	Shr
	ShrImm
	Sar
	SarImm
	Shlx
	Shrx
	Sarx
	Rorx
	Andn

	Bsf
	Bsr
	Tzcnt
	Lzcnt
	Popcnt

	Cmov
	Setcc
	Jcc
	JccShort
	Jmp
	JmpShort
	JmpInd
	Call
	CallInd
	Ret
	RetImm
	Push
	Pop
	PushMem
	PopMem
	Leave
	Xchg
	Ud2
	Nop

	Movf
	MovfLoad
	MovfStore
	MovdToF
	MovdLoad
	MovdFromF

	Addf
	Mulf
	Subf
	Minf
	Divf
	Maxf
	Sqrtf
	Roundf
	Ucomif
	Cmpf
	CvtIntToF32
	CvtIntToF64
	CvtF32ToInt
	CvtF64ToInt
	CvtF32ToF64
	CvtF64ToF32

	Vaddf
	Vmulf
	Vsubf
	Vdivf
	Zerof
	Onesf

	// Instructions of vectors. All rows from Andp to MovhpsStore have a VEX form, see Vex.
	Andp
	Andnp
	Orp
	Xorp
	Addp
	Mulp
	Subp
	Minp
	Divp
	Maxp
	Sqrtp
	Roundp
	Shufp
	Cmpp
	Movmsk
	Movddup
	CvtF32ToF64p
	CvtF64ToF32p
	CvtI32ToF32p
	CvtI32ToF64p
	CvtF32ToI32p
	CvtF64ToI32p

	Pand
	Pandn
	Por
	Pxor

	Paddb
	Paddw
	Paddd
	Paddq
	Psubb
	Psubw
	Psubd
	Psubq
	Paddsb
	Paddsw
	Paddusb
	Paddusw
	Psubsb
	Psubsw
	Psubusb
	Psubusw

	Pminsb
	Pminsw
	Pminsd
	Pminub
	Pminuw
	Pminud
	Pmaxsb
	Pmaxsw
	Pmaxsd
	Pmaxub
	Pmaxuw
	Pmaxud
	Pavgb
	Pavgw
	Pabsb
	Pabsw
	Pabsd

	Pmullw
	Pmulhw
	Pmulhuw
	Pmulhrsw
	Pmulld
	Pmuldq
	Pmuludq
	Pmaddwd
	Pmaddubsw
	Phaddd

	Pcmpeqb
	Pcmpeqw
	Pcmpeqd
	Pcmpeqq
	Pcmpgtb
	Pcmpgtw
	Pcmpgtd
	Pcmpgtq
	Ptest
	Pmovmskb

	Psllw
	Pslld
	Psllq
	Psrlw
	Psrld
	Psrlq
	Psraw
	Psrad

	PsllwImm
	PslldImm
	PsllqImm
	PsrlwImm
	PsrldImm
	PsrlqImm
	PsrawImm
	PsradImm
	PslldqImm
	PsrldqImm

	Punpcklbw
	Punpcklwd
	Punpckldq
	Punpcklqdq
	Punpckhbw
	Punpckhwd
	Punpckhdq
	Punpckhqdq

	Packsswb
	Packssdw
	Packuswb
	Packusdw
	Pshufb
	Pshufd
	Pshuflw
	Pshufhw
	Palignr
	Pblendw

	Pmovsxbw
	Pmovsxwd
	Pmovsxdq
	Pmovzxbw
	Pmovzxwd
	Pmovzxdq

	Pinsrb
	PinsrbMem
	Pinsrw
	PinsrwMem
	Pinsrd
	Insertps
	MergeLow
	MergeLowMem
	MergeHigh
	MergeHighMem

	Pextrb
	Pextrw
	Pextrd
	PextrbStore
	PextrwStore
	PextrdStore
	MovhpsStore

	// Instructions of vectors that have one form.
	Pblendvb
	Blendvps
	Blendvpd
	Vpblendvb
	Vblendvps
	Vblendvpd
	Vpblendd
	Vbroadcastss
	Vpbroadcastb
	Vpbroadcastw
	Vfmadd213p
	Vfmadd231p
	Vfnmadd213p
	Vfnmadd231p

	// firstVex is the VEX form of Andp; those of the next rows follow.
	firstVex
)

// NumOps is the number of rows; pseudo-instructions of the ISA number from here.
const NumOps = firstVex + MovhpsStore + 1 - Andp

// Vex returns the VEX form of a row from Andp to MovhpsStore. It takes the same operands, but leaves those that it reads as they are.
func Vex(op backend.Op) backend.Op { return op - Andp + firstVex }
