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
	// One lane: Size 1 (B) and 2 (H).
	FldrB // addr, D
	FldrH // addr, D
	FstrB // addr, X
	FstrH // addr, X

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

	// Vectors: Size is 16, or 8 for the low half. The lanes have 1<<Scale bytes; where lanes become twice as wide, or half, Scale
	// is of the narrow ones. The narrow lanes of Size 16 that do not fill a vector are those of the low half; the suffix 2
	// says that they are of the high one. By bits and bytes:
	Vmov   // X, D
	Vand   // X, Y, D
	Vbic   // X, Y, D: X &^ Y
	Vorr   // X, Y, D
	Vorn   // X, Y, D
	Veor   // X, Y, D
	Vnot   // X, D
	Vbsl   // M, X, Y, D=M: M ? X : Y, bit by bit
	Vbit   // X, Y, M, D=X: M ? Y : X
	Vbif   // X, Y, M, D=X: M ? X : Y
	Vcnt   // X, D: ones in each byte
	Vaddv  // X, D: sum of the lanes, modulo their width
	Vuminv // X, D: the least lane
	VaddpD // X, D: sum of both lanes of 8 bytes

	// Lanes of integers.
	Vadd      // X, Y, D
	Vsub      // X, Y, D
	Vmul      // X, Y, D
	Vmla      // X, Y, Z, D=X: X + Y*Z
	Vmls      // X, Y, Z, D=X: X - Y*Z
	Vsqadd    // X, Y, D: saturating
	Vuqadd    // X, Y, D
	Vsqsub    // X, Y, D
	Vuqsub    // X, Y, D
	Vsmax     // X, Y, D
	Vumax     // X, Y, D
	Vsmin     // X, Y, D
	Vumin     // X, Y, D
	Vurhadd   // X, Y, D: (X+Y+1)/2
	Vsabd     // X, Y, D: absolute difference
	Vuabd     // X, Y, D
	Vsqrdmulh // X, Y, D: the upper half of 2*X*Y, rounded, saturating
	Vsshl     // X, Y, D: by the low byte of Y, with sign; right if it is negative
	Vushl     // X, Y, D
	Vcmeq     // X, Y, D: ones or zeros
	Vcmgt     // X, Y, D
	Vcmge     // X, Y, D
	Vcmhi     // X, Y, D: unsigned
	Vcmhs     // X, Y, D
	Vcmtst    // X, Y, D: X & Y != 0
	Vaddp     // X, Y, D: sums of two adjacent lanes of X, then of Y
	Vumaxp    // X, Y, D: the greater of two adjacent lanes
	Vabs      // X, D
	Vneg      // X, D
	VcmeqZero // X, D: compared with 0
	VcmgtZero // X, D
	VcmgeZero // X, D
	VcmleZero // X, D
	VcmltZero // X, D
	// Imm: 0 to the width - 1 to the left, 1 to the width to the right.
	VshlImm  // X, D
	VsshrImm // X, D
	VushrImm // X, D
	Vssra    // X, Y, D=X: X + Y>>Imm
	Vusra    // X, Y, D=X

	// From narrow lanes to wide ones.
	Vsshll  // X, D; Imm: X<<Imm
	Vsshll2 // X, D
	Vushll  // X, D
	Vushll2 // X, D
	Vsmull  // X, Y, D
	Vsmull2 // X, Y, D
	Vumull  // X, Y, D
	Vumull2 // X, Y, D
	Vsmlal  // X, Y, Z, D=X: X + Y*Z
	Vsmlal2 // X, Y, Z, D=X
	Vumlal  // X, Y, Z, D=X
	Vumlal2 // X, Y, Z, D=X
	Vsmlsl  // X, Y, Z, D=X: X - Y*Z
	Vsmlsl2 // X, Y, Z, D=X
	Vumlsl  // X, Y, Z, D=X
	Vumlsl2 // X, Y, Z, D=X
	Vsabdl  // X, Y, D: absolute difference
	Vsabdl2 // X, Y, D
	Vuabdl  // X, Y, D
	Vuabdl2 // X, Y, D
	Vsabal  // X, Y, Z, D=X: X and the absolute difference of Y and Z
	Vsabal2 // X, Y, Z, D=X
	Vuabal  // X, Y, Z, D=X
	Vuabal2 // X, Y, Z, D=X
	Vsaddw  // X, Y, D: X is wide
	Vsaddw2 // X, Y, D
	Vuaddw  // X, Y, D
	Vuaddw2 // X, Y, D
	Vssubw  // X, Y, D
	Vssubw2 // X, Y, D
	Vusubw  // X, Y, D
	Vusubw2 // X, Y, D
	Vsaddlp // X, D: sums of two adjacent lanes
	Vuaddlp // X, D
	Vsadalp // X, Y, D=X: X and sums of two adjacent lanes of Y
	Vuadalp // X, Y, D=X
	Vfcvtl  // X, D: floats
	// From wide lanes to the low half of D, whose other half is 0. With 2 to the high half; the low one is X's.
	Vxtn     // X, D: modulo
	Vsqxtn   // X, D: from signed to signed, saturating
	Vsqxtn2  // X, Y, D=X
	Vsqxtun  // X, D: from signed to unsigned
	Vsqxtun2 // X, Y, D=X
	Vuqxtn   // X, D: from unsigned to unsigned
	Vshrn    // X, D: X>>Imm
	Vrshrn   // X, D: rounded
	Vrshrn2  // X, Y, D=X
	Vfcvtn   // X, D: floats

	// Moves of lanes.
	Vzip1    // X, Y, D: the low halves, lanes alternating
	Vzip2    // X, Y, D: the high halves
	Vuzp1    // X, Y, D: the even lanes of X, then of Y
	Vuzp2    // X, Y, D: the odd lanes
	Vtrn1    // X, Y, D: the even lanes, alternating
	Vtrn2    // X, Y, D: the odd lanes
	Vrev16   // X, D: the bytes in each 2 bytes, reversed
	Vrev32   // X, D: the lanes in each 4 bytes, reversed
	Vrev64   // X, D: the lanes in each 8 bytes, reversed
	Vext     // X, Y, D; Imm 0 to 15: X without its first Imm bytes, then Y
	Vtbl     // X, Y, D: the bytes of X that Y names; 0 from 16 on
	Vtbx     // X, Y, Z, D=X: the bytes of Y that Z names; X from 16 on
	Vdup     // x, D: to all lanes
	VdupLane // X, D; Imm: a lane to all lanes
	VmovLane // X, D; Imm: a lane to the lowest, the others 0
	Vins     // X, y, D=X; Imm: the lane that y replaces
	VinsLane // X, Y, D=X; Imm: Lanes(to, from)
	Vumov    // X, d; Imm: the lane
	Vsmov    // X, d; Imm: the lane, sign-extended to Size 4 or 8
	Vmovi    // D; Imm: the value of each lane, without sign, FitsMovi
	Vmvni    // D; Imm: the complement of each lane, FitsMvni
	VfmovImm // D; Imm: the bits of each lane, FitsFloat
	Vld1r    // addr, D: a lane in memory to all lanes; no displacement or index
	Vld1Lane // addr, X, D=X; Imm: the lane that memory replaces; no displacement or index
	Vst1Lane // addr, X; Imm: the lane; no displacement or index

	// Lanes of floats.
	Vfadd      // X, Y, D
	Vfsub      // X, Y, D
	Vfmul      // X, Y, D
	Vfdiv      // X, Y, D
	Vfmin      // X, Y, D
	Vfmax      // X, Y, D
	Vfmla      // X, Y, Z, D=X: X + Y*Z
	Vfmls      // X, Y, Z, D=X: X - Y*Z
	Vfcmeq     // X, Y, D
	Vfcmge     // X, Y, D
	Vfcmgt     // X, Y, D
	VfcmeqZero // X, D: compared with 0
	VfcmgtZero // X, D
	VfcmgeZero // X, D
	VfcmleZero // X, D
	VfcmltZero // X, D
	Vfabs      // X, D
	Vfneg      // X, D
	Vfsqrt     // X, D
	Vfrintn    // X, D
	Vfrintp    // X, D
	Vfrintm    // X, D
	Vfrintz    // X, D
	Vscvtf     // X, D: from integers of the same width
	Vucvtf     // X, D
	Vfcvtzs    // X, D: to integers of the same width, saturating
	Vfcvtzu    // X, D

	// By one lane of the last source: Imm.
	VfmulLane // X, Y, D
	VfmlaLane // X, Y, Z, D=X
	VfmlsLane // X, Y, Z, D=X
	VmulLane  // X, Y, D
	VmlaLane  // X, Y, Z, D=X
	VmlsLane  // X, Y, Z, D=X

	Vsdot // X, Y, Z, D=X: X and sums of four adjacent products of bytes

	SubsImm // x, d: as SubImm, register 31 is zr for d

	// NumOps is the number of rows; pseudo-instructions of the ISA number from here.
	NumOps
)
