package asm

import "github.com/waot-project/waot/backend"

// The instructions, rows of the table in table.go. Names are the manual's
// except that f stands for a scalar float (ss or sd by Size), p at the end
// for a packed one (ps or pd by Size). With the suffix Imm the last source is Inst.Imm; Store
// and Mem are forms whose destination or first operand is memory. The other forms take
// memory in place of one register by Inst.Mode.
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
	Adc
	AdcImm
	Sbb
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
	Blsr
	Blsmsk
	Blsi

	Bsf
	Bsr
	Tzcnt
	Lzcnt
	Popcnt
	Bswap
	Bt
	BtImm

	Cmov
	Setcc
	Jcc
	JccShort
	Jmp
	JmpShort
	JmpInd
	JmpIndNotrack
	Call
	CallInd
	Ret
	RetImm
	Push
	PushImm
	Pop
	Xchg
	XchgMem
	Ud2
	Int3
	Endbr64
	Mfence
	Lfence
	Pause
	Nop
	RepMovs
	RepStos

	Movf
	MovfLoad
	MovfStore
	Movaps
	MovapsStore
	Movdqa
	MovdqaStore
	Movdqu
	MovdquStore
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
	Comif
	Cmpf
	CvtIntToF32
	CvtIntToF64
	CvtF32ToInt
	CvtF64ToInt
	CvtF32ToF64
	CvtF64ToF32

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
	Unpcklp
	Unpckhp
	Shufp
	Cmpp
	Movmsk
	Zerof
	Onesf

	Pand
	Pandn
	Por
	Pxor
	Paddd
	Paddq
	Psubd
	Psubq
	Pcmpeqd
	Punpckldq
	Pshufd
	Pshufb
	PsrldImm
	PsradImm
	PslldImm
	PsrlqImm
	PsllqImm

	Vaddf
	Vmulf
	Vsubf
	Vminf
	Vdivf
	Vmaxf
	Vsqrtf
	VcvtIntToF32
	VcvtIntToF64
	Vandp
	Vandnp
	Vorp
	Vxorp
	Vfmadd213f
	Vfmadd231f
	Vfnmadd213f
	Vfnmadd231f
	Vfmsub213f
	Vfmsub231f
	// NumOps is the number of rows; pseudo-instructions of the ISA number from here.
	NumOps
)
