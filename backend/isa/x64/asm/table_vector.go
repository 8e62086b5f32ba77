package asm

import "strings"

// The rows of vectors are 16 bytes wide, whatever their lanes are. A memory operand must be aligned, except in VEX forms and
// where it is narrower. Scalars take the SSE forms of andps, orps, xorps and shufps too, so that these are not Whole.

// int66 is X op= X/rm, 66 0F op /r.
func int66(name string, op uint8, flags Flags) Row {
	return Row{Name: name, Form: FFAlu, Sizes: S16, Prefix: P66, Map: M0F, Opcode: op, RM: 16, Flags: flags | Whole}
}

// int38 is X op= X/rm, 66 0F38 op /r.
func int38(name string, op uint8, flags Flags) Row {
	r := int66(name, op, flags)
	r.Map, r.Feature = M0F38, SSE41
	return r
}

// by3A is an operation with an immediate, 66 0F3A op /r ib.
func by3A(name string, form Form, op uint8) Row {
	return Row{Name: name, Form: form, Sizes: S16, Prefix: P66, Map: M0F3A, Opcode: op, Imm: IByte, RM: 16, Feature: SSE41, Flags: Whole}
}

// unary38 is X <- X/rm, 66 0F38 op /r, with a memory operand of the given width.
func unary38(name string, form Form, op, width uint8) Row {
	return Row{Name: name, Form: form, Sizes: S16, Prefix: P66, Map: M0F38, Opcode: op, RM: width, Feature: SSE41, Flags: Whole}
}

// shift is X op= imm, 66 0F op /digit ib.
func shift(name string, op, digit uint8) Row {
	return Row{Name: name, Form: FFAluImm, Sizes: S16, Prefix: P66, Map: M0F, Opcode: op, Digit: digit, Imm: IByte}
}

// float is X op= X/rm, no prefix/66 0F op /r, of lanes of 4 or 8 bytes, by Size.
func float(name string, op uint8, flags Flags) Row {
	return Row{Name: name + "s|" + name + "d", Form: FFAlu, Sizes: S48, Prefix: PPacked, Map: M0F, Opcode: op, RM: 16, Flags: flags}
}

// fused is an FMA instruction, VEX.128.66.0F38.W0/W1 op /r, of lanes of 4 or 8 bytes, by Size.
func fused(name string, op uint8) Row {
	return Row{Name: name + "s|" + name + "d", Form: FFMA, Sizes: S48, Prefix: P66, Map: V0F38, Opcode: op, RM: 16, Feature: FMA, Flags: Unaligned | Whole}
}

// withForm returns r with another form.
func (r Row) withForm(f Form) Row {
	r.Form = f
	return r
}

// needs returns r with another feature.
func (r Row) needs(f Feature) Row {
	r.Feature = f
	return r
}

// blend is SSE4.1's selection of lanes by the top bits of those of xmm0.
func blend(name string, op uint8) Row { return int38(name, op, 0).withForm(FFBlend) }

// vblend is AVX's blend, by any register.
func vblend(name string, op uint8) Row {
	r := by3A(name, FFVBlend, op)
	r.Map, r.Imm, r.Feature, r.Flags = V0F3A, IReg, AVX, Unaligned|Whole
	return r
}

// broadcast is X <- the low lane of X/rm in all lanes, VEX.128.66.0F38.W0 op /r.
func broadcast(name string, op, width uint8) Row {
	r := unary38(name, FFPart, op, width)
	r.Map, r.Feature = V0F38, AVX2
	return r
}

var vectorRows = [firstVex]Row{
	// Packed floating point, 16 bytes wide whatever the element. Min and max give the second operand if either is NaN or
	// both are zero.
	Andp:  float("andp", 0x54, Commutes),
	Andnp: float("andnp", 0x55, Whole),
	Orp:   float("orp", 0x56, Commutes),
	Xorp:  float("xorp", 0x57, Commutes),
	Addp:  float("addp", 0x58, Commutes|Whole),
	Mulp:  float("mulp", 0x59, Commutes|Whole),
	Subp:  float("subp", 0x5c, Whole),
	Minp:  float("minp", 0x5d, Whole),
	Divp:  float("divp", 0x5e, Whole),
	Maxp:  float("maxp", 0x5f, Whole),
	Sqrtp: float("sqrtp", 0x51, Whole).withForm(FFMove),
	// 66 0F3A 08, 09 /r ib ROUNDPS, ROUNDPD, as Roundf.
	Roundp: {Name: "roundps|roundpd", Form: FFMoveImm, Sizes: S48, Prefix: P66, Map: M0F3A, Opcode: 0x08, Imm: IByte, RM: 16,
		Feature: SSE41, Flags: Odd8 | NoW | Whole},
	// 0F C6 /r ib SHUF; 0F C2 /r ib CMP, as Cmpf; 0F 50 /r MOVMSK; F2 0F 12 /r MOVDDUP.
	Shufp:   {Name: "shufps|shufpd", Form: FFAluMask, Sizes: S48, Prefix: PPacked, Map: M0F, Opcode: 0xc6, Imm: IByte, RM: 16},
	Cmpp:    {Name: "cmpps|cmppd", Form: FFAluMask, Sizes: S48, Prefix: PPacked, Map: M0F, Opcode: 0xc2, Imm: IByte, RM: 16, Flags: Whole},
	Movmsk:  {Name: "movmskps|movmskpd", Form: FFMask, Sizes: S48, Prefix: PPacked, Map: M0F, Opcode: 0x50},
	Movddup: {Name: "movddup", Form: FFPart, Sizes: S16, Prefix: PF2, Map: M0F, Opcode: 0x12, RM: 8, Feature: SSE3},
	// 0F 5A /r CVTPS2PD, CVTPD2PS; 0F 5B CVTDQ2PS; F3 0F E6 CVTDQ2PD; F3 0F 5B CVTTPS2DQ; 66 0F E6 CVTTPD2DQ (0x80000000 if out of
	// range). Where one side is wider, the other is in the low half; a result there clears the high half.
	CvtF32ToF64p: {Name: "cvtps2pd", Form: FFPart, Sizes: S16, Map: M0F, Opcode: 0x5a, RM: 8},
	CvtF64ToF32p: {Name: "cvtpd2ps", Form: FFMove, Sizes: S16, Prefix: P66, Map: M0F, Opcode: 0x5a, RM: 16, Flags: Whole},
	CvtI32ToF32p: {Name: "cvtdq2ps", Form: FFMove, Sizes: S16, Map: M0F, Opcode: 0x5b, RM: 16, Flags: Whole},
	CvtI32ToF64p: {Name: "cvtdq2pd", Form: FFPart, Sizes: S16, Prefix: PF3, Map: M0F, Opcode: 0xe6, RM: 8},
	CvtF32ToI32p: {Name: "cvttps2dq", Form: FFMove, Sizes: S16, Prefix: PF3, Map: M0F, Opcode: 0x5b, RM: 16, Flags: Whole},
	CvtF64ToI32p: {Name: "cvttpd2dq", Form: FFMove, Sizes: S16, Prefix: P66, Map: M0F, Opcode: 0xe6, RM: 16, Flags: Whole},

	// Integers. The first operand of Pandn is the one that is inverted; the first of Pmaddubsw has no signs.
	Pand:      int66("pand", 0xdb, Commutes),
	Pandn:     int66("pandn", 0xdf, 0),
	Por:       int66("por", 0xeb, Commutes),
	Pxor:      int66("pxor", 0xef, Commutes),
	Paddb:     int66("paddb", 0xfc, Commutes),
	Paddw:     int66("paddw", 0xfd, Commutes),
	Paddd:     int66("paddd", 0xfe, Commutes),
	Paddq:     int66("paddq", 0xd4, Commutes),
	Psubb:     int66("psubb", 0xf8, 0),
	Psubw:     int66("psubw", 0xf9, 0),
	Psubd:     int66("psubd", 0xfa, 0),
	Psubq:     int66("psubq", 0xfb, 0),
	Paddsb:    int66("paddsb", 0xec, Commutes),
	Paddsw:    int66("paddsw", 0xed, Commutes),
	Paddusb:   int66("paddusb", 0xdc, Commutes),
	Paddusw:   int66("paddusw", 0xdd, Commutes),
	Psubsb:    int66("psubsb", 0xe8, 0),
	Psubsw:    int66("psubsw", 0xe9, 0),
	Psubusb:   int66("psubusb", 0xd8, 0),
	Psubusw:   int66("psubusw", 0xd9, 0),
	Pminsb:    int38("pminsb", 0x38, Commutes),
	Pminsw:    int66("pminsw", 0xea, Commutes),
	Pminsd:    int38("pminsd", 0x39, Commutes),
	Pminub:    int66("pminub", 0xda, Commutes),
	Pminuw:    int38("pminuw", 0x3a, Commutes),
	Pminud:    int38("pminud", 0x3b, Commutes),
	Pmaxsb:    int38("pmaxsb", 0x3c, Commutes),
	Pmaxsw:    int66("pmaxsw", 0xee, Commutes),
	Pmaxsd:    int38("pmaxsd", 0x3d, Commutes),
	Pmaxub:    int66("pmaxub", 0xde, Commutes),
	Pmaxuw:    int38("pmaxuw", 0x3e, Commutes),
	Pmaxud:    int38("pmaxud", 0x3f, Commutes),
	Pavgb:     int66("pavgb", 0xe0, Commutes),
	Pavgw:     int66("pavgw", 0xe3, Commutes),
	Pabsb:     unary38("pabsb", FFMove, 0x1c, 16).needs(SSSE3),
	Pabsw:     unary38("pabsw", FFMove, 0x1d, 16).needs(SSSE3),
	Pabsd:     unary38("pabsd", FFMove, 0x1e, 16).needs(SSSE3),
	Pmullw:    int66("pmullw", 0xd5, Commutes),
	Pmulhw:    int66("pmulhw", 0xe5, Commutes),
	Pmulhuw:   int66("pmulhuw", 0xe4, Commutes),
	Pmulhrsw:  int38("pmulhrsw", 0x0b, Commutes).needs(SSSE3),
	Pmulld:    int38("pmulld", 0x40, Commutes),
	Pmuldq:    int38("pmuldq", 0x28, Commutes),
	Pmuludq:   int66("pmuludq", 0xf4, Commutes),
	Pmaddwd:   int66("pmaddwd", 0xf5, Commutes),
	Pmaddubsw: int38("pmaddubsw", 0x04, 0).needs(SSSE3),
	Phaddd:    int38("phaddd", 0x02, 0).needs(SSSE3),
	Pcmpeqb:   int66("pcmpeqb", 0x74, Commutes),
	Pcmpeqw:   int66("pcmpeqw", 0x75, Commutes),
	Pcmpeqd:   int66("pcmpeqd", 0x76, Commutes),
	Pcmpeqq:   int38("pcmpeqq", 0x29, Commutes),
	Pcmpgtb:   int66("pcmpgtb", 0x64, 0),
	Pcmpgtw:   int66("pcmpgtw", 0x65, 0),
	Pcmpgtd:   int66("pcmpgtd", 0x66, 0),
	Pcmpgtq:   int38("pcmpgtq", 0x37, 0).needs(SSE42),
	Ptest:     int38("ptest", 0x17, SetsFlags).withForm(FFCmp),
	Pmovmskb:  {Name: "pmovmskb", Form: FFMask, Sizes: S4, Prefix: P66, Map: M0F, Opcode: 0xd7},
	// Shifts by the low 64 bits of the second operand. What is as great as the lanes are wide shifts all bits out.
	Psllw: int66("psllw", 0xf1, 0),
	Pslld: int66("pslld", 0xf2, 0),
	Psllq: int66("psllq", 0xf3, 0),
	Psrlw: int66("psrlw", 0xd1, 0),
	Psrld: int66("psrld", 0xd2, 0),
	Psrlq: int66("psrlq", 0xd3, 0),
	Psraw: int66("psraw", 0xe1, 0),
	Psrad: int66("psrad", 0xe2, 0),
	// 66 0F 71, 72, 73 /2, /3, /4, /6, /7 ib; the last two shift the whole by bytes.
	PsllwImm:  shift("psllw", 0x71, 6),
	PslldImm:  shift("pslld", 0x72, 6),
	PsllqImm:  shift("psllq", 0x73, 6),
	PsrlwImm:  shift("psrlw", 0x71, 2),
	PsrldImm:  shift("psrld", 0x72, 2),
	PsrlqImm:  shift("psrlq", 0x73, 2),
	PsrawImm:  shift("psraw", 0x71, 4),
	PsradImm:  shift("psrad", 0x72, 4),
	PslldqImm: shift("pslldq", 0x73, 7),
	PsrldqImm: shift("psrldq", 0x73, 3),

	Punpcklbw:  int66("punpcklbw", 0x60, 0),
	Punpcklwd:  int66("punpcklwd", 0x61, 0),
	Punpckldq:  int66("punpckldq", 0x62, 0),
	Punpcklqdq: int66("punpcklqdq", 0x6c, 0),
	Punpckhbw:  int66("punpckhbw", 0x68, 0),
	Punpckhwd:  int66("punpckhwd", 0x69, 0),
	Punpckhdq:  int66("punpckhdq", 0x6a, 0),
	Punpckhqdq: int66("punpckhqdq", 0x6d, 0),
	Packsswb:   int66("packsswb", 0x63, 0),
	Packssdw:   int66("packssdw", 0x6b, 0),
	Packuswb:   int66("packuswb", 0x67, 0),
	Packusdw:   int38("packusdw", 0x2b, 0),
	Pshufb:     int38("pshufb", 0x00, 0).needs(SSSE3),
	Pshufd:     {Name: "pshufd", Form: FFMoveImm, Sizes: S16, Prefix: P66, Map: M0F, Opcode: 0x70, Imm: IByte, RM: 16, Flags: Whole},
	Pshuflw:    {Name: "pshuflw", Form: FFMoveImm, Sizes: S16, Prefix: PF2, Map: M0F, Opcode: 0x70, Imm: IByte, RM: 16, Flags: Whole},
	Pshufhw:    {Name: "pshufhw", Form: FFMoveImm, Sizes: S16, Prefix: PF3, Map: M0F, Opcode: 0x70, Imm: IByte, RM: 16, Flags: Whole},
	Palignr:    by3A("palignr", FFAluMask, 0x0f).needs(SSSE3),
	Pblendw:    by3A("pblendw", FFAluMask, 0x0e),
	Pmovsxbw:   unary38("pmovsxbw", FFPart, 0x20, 8),
	Pmovsxwd:   unary38("pmovsxwd", FFPart, 0x23, 8),
	Pmovsxdq:   unary38("pmovsxdq", FFPart, 0x25, 8),
	Pmovzxbw:   unary38("pmovzxbw", FFPart, 0x30, 8),
	Pmovzxwd:   unary38("pmovzxwd", FFPart, 0x33, 8),
	Pmovzxdq:   unary38("pmovzxdq", FFPart, 0x35, 8),

	// Lanes. 66 0F3A 20 PINSRB, 66 0F C4 PINSRW, 66 (REX.W) 0F3A 22 PINSRD, PINSRQ: of a register the low bits.
	Pinsrb:    {Name: "pinsrb", Form: FFInsert, Sizes: S16, Prefix: P66, Map: M0F3A, Opcode: 0x20, Imm: IByte, RM: 4, MemOp: PinsrbMem, Feature: SSE41},
	PinsrbMem: {Name: "pinsrb", Form: FFLoadIntoBy, Sizes: S16, Prefix: P66, Map: M0F3A, Opcode: 0x20, Imm: IByte, RM: 1, Feature: SSE41},
	Pinsrw:    {Name: "pinsrw", Form: FFInsert, Sizes: S16, Prefix: P66, Map: M0F, Opcode: 0xc4, Imm: IByte, RM: 4, MemOp: PinsrwMem},
	PinsrwMem: {Name: "pinsrw", Form: FFLoadIntoBy, Sizes: S16, Prefix: P66, Map: M0F, Opcode: 0xc4, Imm: IByte, RM: 2},
	Pinsrd:    {Name: "pinsrd|pinsrq", Form: FFInsert, Sizes: S48, Prefix: P66, Map: M0F3A, Opcode: 0x22, Imm: IByte, Feature: SSE41},
	// 66 0F3A 21 INSERTPS, bits 4 and 5 of the immediate being the lane. F2 0F 10 MOVSD of two registers, from memory MOVLPD, 66 0F 12:
	// the low half. 0F 16 MOVLHPS, from memory MOVHPS: the high half becomes the low one of the second operand.
	Insertps:     {Name: "insertps", Form: FFMergeBy, Sizes: S16, Prefix: P66, Map: M0F3A, Opcode: 0x21, Imm: IByte, RM: 4, Feature: SSE41},
	MergeLow:     {Name: "movsd", Form: FFMerge, Sizes: S16, Prefix: PF2, Map: M0F, Opcode: 0x10, RM: 8, MemOp: MergeLowMem},
	MergeLowMem:  {Name: "movlpd", Form: FFLoadInto, Sizes: S16, Prefix: P66, Map: M0F, Opcode: 0x12, RM: 8},
	MergeHigh:    {Name: "movlhps", Form: FFMerge, Sizes: S16, Map: M0F, Opcode: 0x16, RM: 8, MemOp: MergeHighMem},
	MergeHighMem: {Name: "movhps", Form: FFLoadInto, Sizes: S16, Map: M0F, Opcode: 0x16, RM: 8},
	// 66 0F3A 14 PEXTRB, 66 0F C5 PEXTRW (to memory 66 0F3A 15), 66 (REX.W) 0F3A 16 PEXTRD, PEXTRQ; 0F 17 MOVHPS to memory.
	Pextrb:      {Name: "pextrb", Form: FFExtract, Sizes: S4, Prefix: P66, Map: M0F3A, Opcode: 0x14, Imm: IByte, Feature: SSE41},
	Pextrw:      {Name: "pextrw", Form: FFMaskBy, Sizes: S4, Prefix: P66, Map: M0F, Opcode: 0xc5, Imm: IByte},
	Pextrd:      {Name: "pextrd|pextrq", Form: FFExtract, Sizes: S48, Prefix: P66, Map: M0F3A, Opcode: 0x16, Imm: IByte, Feature: SSE41},
	PextrbStore: {Name: "pextrb", Form: FFStoreBy, Sizes: S16, Prefix: P66, Map: M0F3A, Opcode: 0x14, Imm: IByte, RM: 1, Feature: SSE41},
	PextrwStore: {Name: "pextrw", Form: FFStoreBy, Sizes: S16, Prefix: P66, Map: M0F3A, Opcode: 0x15, Imm: IByte, RM: 2, Feature: SSE41},
	PextrdStore: {Name: "pextrd", Form: FFStoreBy, Sizes: S4, Prefix: P66, Map: M0F3A, Opcode: 0x16, Imm: IByte, Feature: SSE41},
	MovhpsStore: {Name: "movhps", Form: FFStore, Sizes: S16, Map: M0F, Opcode: 0x17, RM: 8},

	// 66 0F38 10, 14, 15 /r; VEX.128.66.0F3A.W0 4C, 4A, 4B /r /is4.
	Pblendvb:  blend("pblendvb", 0x10),
	Blendvps:  blend("blendvps", 0x14),
	Blendvpd:  blend("blendvpd", 0x15),
	Vpblendvb: vblend("vpblendvb", 0x4c),
	Vblendvps: vblend("vblendvps", 0x4a),
	Vblendvpd: vblend("vblendvpd", 0x4b),

	// VEX.128.66.0F3A.W0 02 /r ib.
	Vpblendd: {Name: "vpblendd", Form: FFVAluMask, Sizes: S16, Prefix: P66, Map: V0F3A, Opcode: 0x02, Imm: IByte, RM: 16, Feature: AVX2, Flags: Unaligned | Whole},

	Vbroadcastss: broadcast("vbroadcastss", 0x18, 4),
	Vpbroadcastb: broadcast("vpbroadcastb", 0x78, 1),
	Vpbroadcastw: broadcast("vpbroadcastw", 0x79, 2),
	// 213: the first operand times the second, plus the third; 231: the second times the third, plus the first. The n negates the
	// product.
	Vfmadd213p:  fused("vfmadd213p", 0xa8),
	Vfmadd231p:  fused("vfmadd231p", 0xb8),
	Vfnmadd213p: fused("vfnmadd213p", 0xac),
	Vfnmadd231p: fused("vfnmadd231p", 0xbc),
}

// vexForms are the forms of VEX by those of SSE, where they differ: there the result has a place of its own.
var vexForms = [numForms]Form{
	FFAlu: FFVAlu, FFAluMask: FFVAluMask, FFAluImm: FFVAluImm, FFInsert: FFVInsert, FFMerge: FFVMerge, FFMergeBy: FFVMergeBy,
	FFLoadInto: FFVLoadInto, FFLoadIntoBy: FFVLoadIntoBy,
}

// vex returns the VEX form of an SSE row.
func vex(r *Row) Row {
	v := *r
	v.Name = "v" + strings.ReplaceAll(r.Name, "|", "|v")
	v.Map, v.Feature, v.Flags = r.Map+mapVEX, AVX, r.Flags|Unaligned
	if r.RM == 16 {
		v.Flags |= Whole
	}
	if f := vexForms[r.Form]; f != FNone {
		v.Form = f
	}
	if r.MemOp != Invalid {
		v.MemOp = Vex(r.MemOp)
	}
	return v
}
