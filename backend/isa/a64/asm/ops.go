package asm

import "github.com/waot-project/waot/backend"

// The instructions, rows of the table in table.go. Names are the manual's; the
// suffix Imm says that the last source is Inst.Imm, Ext that it is an extended
// register, Pre and Post that the address is written back. Rows that would share a
// name with one of integers begin with F for floats, V for vectors.
//
// Comments give the operands in order: uses x, y, z, then defs d ("d=x": d
// reuses x), and what Inst.Imm is. "addr" is an address: as many operands as
// Inst.Mode has (see doc.go). Upper-case letters are floats.
const (
	Invalid backend.Op = iota

	Mov    // x, d. Size 4 zero-extends
	Movz   // d; Imm 0 to 65535, shifted left by 16*Scale
	Movn   // d; likewise, complemented
	Movk   // x, d=x; Imm replaces the 16 bits at 16*Scale
	MovImm // d; Imm: any constant, the shortest sequence of up to MaxConst words

	// Imm: Shifted(kind, amount) of y; 0 is y itself. Register 31 is zr.
	Add // x, y, d
	Sub // x, y, d
	And // x, y, d
	Bic // x, y, d: x &^ y
	Orr // x, y, d
	Orn // x, y, d
	Eor // x, y, d
	Eon // x, y, d
	Cmp // x, y
	Tst // x, y
	Neg // y, d
	Mvn // y, d

	// Imm: Extended(kind, amount 0 to 4) of y. Register 31 is sp for x and d.
	AddExt // x, y, d
	SubExt // x, y, d
	CmpExt // x, y

	// Imm: FitsArith: 0 to 4095, or a multiple of 4096 to 4095*4096. Register 31 is
	// sp for x and d.
	AddImm // x, d
	SubImm // x, d
	CmpImm // x
	CmnImm // x

	// Imm: FitsBits: a bitmask of the low Size bytes. Register 31 is sp for d, else zr.
	AndImm // x, d
	OrrImm // x, d
	EorImm // x, d
	TstImm // x

	// These read the flags; for pseudo-instructions.
	Ccmp    // x, y; Cond, Imm: the flags (N 8, Z 4, C 2, V 1) if it does not hold
	CcmpImm // x; Cond, Imm: CondImm(value 0 to 31, flags)
	CcmnImm // x; likewise
	Csel    // x, y, d: Cond ? x : y
	Csinc   // x, y, d: Cond ? x : y+1
	Csinv   // x, y, d: Cond ? x : ^y
	Csneg   // x, y, d: Cond ? x : -y
	Cset    // d; Cond
	Csetm   // d; Cond

	Mul    // x, y, d
	Mneg   // x, y, d
	Madd   // x, y, z, d: z + x*y
	Msub   // x, y, z, d: z - x*y
	Smull  // x, y, d: 64 bits of 32-bit operands
	Umull  // x, y, d
	Smaddl // x, y, z, d
	Umaddl // x, y, z, d
	Smulh  // x, y, d
	Umulh  // x, y, d
	Sdiv   // x, y, d
	Udiv   // x, y, d

	Lsl    // x, y, d
	Lsr    // x, y, d
	Asr    // x, y, d
	Ror    // x, y, d
	LslImm // x, d; Imm 0 to bits-1
	LsrImm // x, d; likewise
	AsrImm // x, d; likewise
	RorImm // x, d; likewise
	Extr   // x, y, d; Imm 0 to bits-1: low bits of x:y >> Imm

	// Imm: Field(lsb, width).
	Ubfx  // x, d: the field of x
	Sbfx  // x, d
	Ubfiz // x, d: low bits of x, put to the field
	Sbfiz // x, d
	Bfi   // x, y, d=x: x with y's low bits in the field
	Bfxil // x, y, d=x: x with the field of y in its low bits

	Sxtb // x, d
	Sxth // x, d
	Sxtw // x, d; Size 8
	Clz  // x, d
	Rbit // x, d

	// Branches. Disp is the distance in bytes from the instruction.
	B     // ; PatchBranch26
	Bcond // ; Cond, PatchBranch19
	Cbz   // x; PatchBranch19
	Cbnz  // x; PatchBranch19
	Tbz   // x; Imm: bit number, PatchBranch14
	Tbnz  // x; likewise
	Bl    // ; and any number of operands; PatchBranch26
	Blr   // x; and any number of operands
	Br    // x
	Ret   // ; and any number of operands. Returns to x30
	Adr   // d; Disp, PatchAdr
	Adrp  // d; Disp: the page of a symbol, PatchPage
	Udf   // ; Imm 0 to 65535
	Nop   //
	Bti   // ; Imm: BtiC, BtiJ or BtiJC
	Csdb  // keeps what follows from using predicted values

	// Loads and stores; Lea is the address itself. Size is that of the register; memory is as
	// wide, or as the name says (b, h, w).
	Lea   // addr, d; Size 8
	Ldr   // addr, d; also ModeConst
	Ldrb  // addr, d; Size 4
	Ldrh  // addr, d; Size 4
	Ldrsb // addr, d
	Ldrsh // addr, d
	Ldrsw // addr, d; Size 8; also ModeConst
	Str   // addr, x
	Strb  // addr, x; Size 4
	Strh  // addr, x; Size 4
	// Stores of the zero register.
	StrZero  // addr
	StrbZero // addr; Size 4
	StrhZero // addr; Size 4
	// Pairs: ModeBase, Disp a multiple of Size, -64*Size to 63*Size.
	Ldp     // addr, d, d2
	Stp     // addr, x, y
	LdpPost // base (in place), d, d2
	StpPre  // base (in place), x, y

	Fldr // addr, D; Size 4, 8, 16; also ModeConst
	Fstr // addr, X; Size 4, 8, 16
	Fldp // addr, D, D2
	Fstp // addr, X, Y

	// Floats: Size 4 is s, 8 is d.
	Fmov      // X, D
	FmovToF   // x, D: the bits
	FmovFromF // X, d: the bits
	FmovImm   // D; Imm: the bits of the constant, FitsFloat
	Fzero     // D; all bits of the vector register
	Fadd      // X, Y, D
	Fsub      // X, Y, D
	Fmul      // X, Y, D
	Fdiv      // X, Y, D
	Fnmul     // X, Y, D
	Fmin      // X, Y, D
	Fmax      // X, Y, D
	Fsqrt     // X, D
	Fabs      // X, D
	Fneg      // X, D
	Frintn    // X, D: to nearest even
	Frintp    // X, D: ceil
	Frintm    // X, D: floor
	Frintz    // X, D: trunc
	Fcmp      // X, Y
	FcmpZero  // X
	Fccmp     // X, Y; Cond, Imm: as of Ccmp
	Fcsel     // X, Y, D: Cond ? X : Y

	// Conversions: Size is the integer's, the name tells the float's.
	CvtF32ToF64  // X, D
	CvtF64ToF32  // X, D
	ScvtfToF32   // x, D
	ScvtfToF64   // x, D
	UcvtfToF32   // x, D
	UcvtfToF64   // x, D
	FcvtzsFrom32 // X, d
	FcvtzsFrom64 // X, d
	FcvtzuFrom32 // X, d
	FcvtzuFrom64 // X, d

	// Vectors: Size 8 is the low half, 16 all.
	Vmov    // X, D
	Vand    // X, Y, D
	Vbic    // X, Y, D: X &^ Y
	Vorr    // X, Y, D
	Vorn    // X, Y, D
	Veor    // X, Y, D
	Vbsl    // M, X, Y, D=M: M ? X : Y, bit by bit
	Vbit    // X, Y, M, D=X: M ? Y : X
	Vbif    // X, Y, M, D=X: M ? X : Y
	Vcnt    // X, D: ones in each byte
	Vaddv   // X, D: sum of bytes, modulo 256
	Vuaddlv // X, D: sum of bytes, 16 bits

	// NumOps is the number of rows; pseudo-instructions of the ISA number from here.
	NumOps
)
