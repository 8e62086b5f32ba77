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
	Leave
	Xchg
	Ud2
	Nop

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
	Vdivf
	Vandp
	Vandnp
	Vorp
	Vxorp
	// NumOps is the number of rows; pseudo-instructions of the ISA number from here.
	NumOps
)
