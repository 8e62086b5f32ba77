package asm

// rows is the table of instructions.
var rows = makeRows()

func makeRows() (t [NumOps]Row) {
	copy(t[:], scalarRows[:])
	copy(t[Andp:], vectorRows[Andp:])
	for op := Andp; op <= MovhpsStore; op++ {
		t[Vex(op)] = vex(&t[op])
	}
	return t
}

// scalarRows are the rows of integers, of single floats, and of control; the comment of a group is the encoding as
// the manual (Intel SDM volume 2) writes it. Where it gives /r twice, for both
// directions, the row has the one with a register destination, and RegMR.
var scalarRows = [Andp]Row{
	// Moves. 8B /r MOV r, r/m; 89 /r MOV r/m, r; C7 /0 MOV r/m, imm; B8+r MOV r, imm.
	Mov:         {Name: "mov", Form: FMove, Sizes: S1248, Opcode: 0x8b, Flags: RegMR},
	MovStore:    {Name: "mov", Form: FStore, Sizes: S1248, Opcode: 0x89},
	MovStoreImm: {Name: "mov", Form: FStoreImm, Sizes: S1248, Opcode: 0xc7, Digit: 0, Imm: IFull},
	MovImm:      {Name: "mov", Form: FConst, Sizes: S48, Opcode: 0xb8, Imm: IMov},
	// 0F B6, B7 /r MOVZX r32, r/m8, r/m16; 0F BE, BF /r MOVSX; 63 /r MOVSXD.
	Movzx8:  {Name: "movzx", Form: FMove, Sizes: S48, Map: M0F, Opcode: 0xb6, RM: 1, Flags: As32},
	Movzx16: {Name: "movzx", Form: FMove, Sizes: S48, Map: M0F, Opcode: 0xb7, RM: 2, Flags: As32},
	Movsx8:  {Name: "movsx", Form: FMove, Sizes: S48, Map: M0F, Opcode: 0xbe, RM: 1},
	Movsx16: {Name: "movsx", Form: FMove, Sizes: S48, Map: M0F, Opcode: 0xbf, RM: 2},
	Movsx32: {Name: "movsxd", Form: FMove, Sizes: S8, Opcode: 0x63, RM: 4},
	// 8D /r LEA r, m.
	Lea: {Name: "lea", Form: FLea, Sizes: S48, Opcode: 0x8d, Flags: NoFault},
	// 31 /r XOR r32, r32 of one register: the idiom for zero.
	Zero: {Name: "xor", Form: FZero, Sizes: S48, Opcode: 0x31, Flags: As32 | SetsFlags},

	// 03 /r OP r, r/m; 81 /n id, 83 /n ib OP r/m, imm; 05 id OP eax, imm; 01 /r OP r/m, r.
	Add:         {Name: "add", Form: FAlu, Sizes: S1248, Opcode: 0x03, Flags: RegMR | Commutes | SetsFlags},
	AddImm:      {Name: "add", Form: FAluImm, Sizes: S1248, Opcode: 0x81, Digit: 0, Imm: IShort, Acc: 0x05, Flags: SetsFlags},
	AddStore:    {Name: "add", Form: FStore, Sizes: S1248, Opcode: 0x01, Flags: SetsFlags},
	AddStoreImm: {Name: "add", Form: FStoreImm, Sizes: S1248, Opcode: 0x81, Digit: 0, Imm: IShort, Flags: SetsFlags},
	Or:          {Name: "or", Form: FAlu, Sizes: S1248, Opcode: 0x0b, Flags: RegMR | Commutes | SetsFlags},
	OrImm:       {Name: "or", Form: FAluImm, Sizes: S1248, Opcode: 0x81, Digit: 1, Imm: IShort, Acc: 0x0d, Flags: SetsFlags},
	OrStore:     {Name: "or", Form: FStore, Sizes: S1248, Opcode: 0x09, Flags: SetsFlags},
	OrStoreImm:  {Name: "or", Form: FStoreImm, Sizes: S1248, Opcode: 0x81, Digit: 1, Imm: IShort, Flags: SetsFlags},
	Sbb:         {Name: "sbb", Form: FAlu, Sizes: S1248, Opcode: 0x1b, Flags: RegMR | SetsFlags | ReadsFlags},
	AdcImm:      {Name: "adc", Form: FAluImm, Sizes: S1248, Opcode: 0x81, Digit: 2, Imm: IShort, Acc: 0x15, Flags: SetsFlags | ReadsFlags},
	SbbImm:      {Name: "sbb", Form: FAluImm, Sizes: S1248, Opcode: 0x81, Digit: 3, Imm: IShort, Acc: 0x1d, Flags: SetsFlags | ReadsFlags},
	And:         {Name: "and", Form: FAlu, Sizes: S1248, Opcode: 0x23, Flags: RegMR | Commutes | SetsFlags},
	AndImm:      {Name: "and", Form: FAluImm, Sizes: S1248, Opcode: 0x81, Digit: 4, Imm: IShort, Acc: 0x25, Flags: SetsFlags},
	AndStore:    {Name: "and", Form: FStore, Sizes: S1248, Opcode: 0x21, Flags: SetsFlags},
	AndStoreImm: {Name: "and", Form: FStoreImm, Sizes: S1248, Opcode: 0x81, Digit: 4, Imm: IShort, Flags: SetsFlags},
	Sub:         {Name: "sub", Form: FAlu, Sizes: S1248, Opcode: 0x2b, Flags: RegMR | SetsFlags},
	SubImm:      {Name: "sub", Form: FAluImm, Sizes: S1248, Opcode: 0x81, Digit: 5, Imm: IShort, Acc: 0x2d, Flags: SetsFlags},
	SubStore:    {Name: "sub", Form: FStore, Sizes: S1248, Opcode: 0x29, Flags: SetsFlags},
	SubStoreImm: {Name: "sub", Form: FStoreImm, Sizes: S1248, Opcode: 0x81, Digit: 5, Imm: IShort, Flags: SetsFlags},
	Xor:         {Name: "xor", Form: FAlu, Sizes: S1248, Opcode: 0x33, Flags: RegMR | Commutes | SetsFlags},
	XorImm:      {Name: "xor", Form: FAluImm, Sizes: S1248, Opcode: 0x81, Digit: 6, Imm: IShort, Acc: 0x35, Flags: SetsFlags},
	XorStore:    {Name: "xor", Form: FStore, Sizes: S1248, Opcode: 0x31, Flags: SetsFlags},
	XorStoreImm: {Name: "xor", Form: FStoreImm, Sizes: S1248, Opcode: 0x81, Digit: 6, Imm: IShort, Flags: SetsFlags},
	Cmp:         {Name: "cmp", Form: FCmp, Sizes: S1248, Opcode: 0x3b, Flags: RegMR | SetsFlags},
	CmpImm:      {Name: "cmp", Form: FCmpImm, Sizes: S1248, Opcode: 0x81, Digit: 7, Imm: IShort, Acc: 0x3d, Flags: SetsFlags},
	CmpMem:      {Name: "cmp", Form: FStore, Sizes: S1248, Opcode: 0x39, Flags: SetsFlags},
	// 85 /r TEST r/m, r; F7 /0 TEST r/m, imm; A9 TEST eax, imm.
	Test:    {Name: "test", Form: FTest, Sizes: S1248, Opcode: 0x85, Flags: Commutes | SetsFlags},
	TestImm: {Name: "test", Form: FCmpImm, Sizes: S1248, Opcode: 0xf7, Digit: 0, Imm: IFull, Acc: 0xa9, Flags: SetsFlags},

	// 0F AF /r IMUL r, r/m; 69 /r id, 6B /r ib IMUL r, r/m, imm; F7 /4, /5, /6, /7
	// MUL, IMUL, DIV, IDIV r/m; 99 CDQ, CQO.
	Imul:     {Name: "imul", Form: FAlu, Sizes: S248, Map: M0F, Opcode: 0xaf, Flags: Commutes | SetsFlags},
	ImulImm:  {Name: "imul", Form: FMulImm, Sizes: S248, Opcode: 0x69, Imm: IShort, Flags: SetsFlags},
	MulWide:  {Name: "mul", Form: FMul, Sizes: S48, Opcode: 0xf7, Digit: 4, Flags: Commutes | SetsFlags},
	ImulWide: {Name: "imul", Form: FMul, Sizes: S48, Opcode: 0xf7, Digit: 5, Flags: Commutes | SetsFlags},
	Div:      {Name: "div", Form: FDiv, Sizes: S48, Opcode: 0xf7, Digit: 6, Flags: SetsFlags | Divides},
	Idiv:     {Name: "idiv", Form: FDiv, Sizes: S48, Opcode: 0xf7, Digit: 7, Flags: SetsFlags | Divides},
	Cdq:      {Name: "cdq|cqo", Form: FSignRax, Sizes: S48, Opcode: 0x99},
	// F7 /3 NEG, /2 NOT.
	Neg: {Name: "neg", Form: FUnary, Sizes: S1248, Opcode: 0xf7, Digit: 3, Flags: SetsFlags},
	Not: {Name: "not", Form: FUnary, Sizes: S1248, Opcode: 0xf7, Digit: 2},

	// D3 /n OP r/m, cl; C1 /n ib OP r/m, imm8; D1 /n OP r/m, 1.
	Rol:    {Name: "rol", Form: FShift, Sizes: S1248, Opcode: 0xd3, Digit: 0, Flags: SetsFlags},
	RolImm: {Name: "rol", Form: FAluImm, Sizes: S1248, Opcode: 0xc1, Digit: 0, Imm: IShift, Flags: SetsFlags},
	Ror:    {Name: "ror", Form: FShift, Sizes: S1248, Opcode: 0xd3, Digit: 1, Flags: SetsFlags},
	RorImm: {Name: "ror", Form: FAluImm, Sizes: S1248, Opcode: 0xc1, Digit: 1, Imm: IShift, Flags: SetsFlags},
	Shl:    {Name: "shl", Form: FShift, Sizes: S1248, Opcode: 0xd3, Digit: 4, Flags: SetsFlags},
	ShlImm: {Name: "shl", Form: FAluImm, Sizes: S1248, Opcode: 0xc1, Digit: 4, Imm: IShift, Flags: SetsFlags},
	Shr:    {Name: "shr", Form: FShift, Sizes: S1248, Opcode: 0xd3, Digit: 5, Flags: SetsFlags},
	ShrImm: {Name: "shr", Form: FAluImm, Sizes: S1248, Opcode: 0xc1, Digit: 5, Imm: IShift, Flags: SetsFlags},
	Sar:    {Name: "sar", Form: FShift, Sizes: S1248, Opcode: 0xd3, Digit: 7, Flags: SetsFlags},
	SarImm: {Name: "sar", Form: FAluImm, Sizes: S1248, Opcode: 0xc1, Digit: 7, Imm: IShift, Flags: SetsFlags},
	// VEX.LZ.66/F2/F3.0F38 F7 /r SHLX, SHRX, SARX r, r/m, r; VEX.LZ.F2.0F3A F0 /r ib RORX.
	Shlx: {Name: "shlx", Form: FVShift, Sizes: S48, Prefix: P66, Map: V0F38, Opcode: 0xf7, Feature: BMI2},
	Shrx: {Name: "shrx", Form: FVShift, Sizes: S48, Prefix: PF2, Map: V0F38, Opcode: 0xf7, Feature: BMI2},
	Sarx: {Name: "sarx", Form: FVShift, Sizes: S48, Prefix: PF3, Map: V0F38, Opcode: 0xf7, Feature: BMI2},
	Rorx: {Name: "rorx", Form: FMulImm, Sizes: S48, Prefix: PF2, Map: V0F3A, Opcode: 0xf0, Imm: IByte, Feature: BMI2},
	// VEX.LZ.0F38 F2 /r ANDN r, r, r/m (not a, and b).
	Andn: {Name: "andn", Form: FVAlu, Sizes: S48, Map: V0F38, Opcode: 0xf2, Feature: BMI1, Flags: SetsFlags},

	// 0F BC, BD /r BSF, BSR (undefined for 0); F3 0F BC, BD, B8 /r TZCNT, LZCNT, POPCNT.
	Bsf:    {Name: "bsf", Form: FMove, Sizes: S48, Map: M0F, Opcode: 0xbc, Flags: SetsFlags},
	Bsr:    {Name: "bsr", Form: FMove, Sizes: S48, Map: M0F, Opcode: 0xbd, Flags: SetsFlags},
	Tzcnt:  {Name: "tzcnt", Form: FMove, Sizes: S48, Prefix: PF3, Map: M0F, Opcode: 0xbc, Feature: BMI1, Flags: SetsFlags},
	Lzcnt:  {Name: "lzcnt", Form: FMove, Sizes: S48, Prefix: PF3, Map: M0F, Opcode: 0xbd, Feature: LZCNT, Flags: SetsFlags},
	Popcnt: {Name: "popcnt", Form: FMove, Sizes: S48, Prefix: PF3, Map: M0F, Opcode: 0xb8, Feature: POPCNT, Flags: SetsFlags},

	// 0F 40+cc /r CMOVcc r, r/m; 0F 90+cc SETcc r/m8; 70+cc cb, 0F 80+cc cd Jcc.
	Cmov:     {Name: "cmov", Form: FCmov, Sizes: S248, Map: M0F, Opcode: 0x40, Flags: HasCond | ReadsFlags},
	Setcc:    {Name: "set", Form: FSet, Sizes: S1, Map: M0F, Opcode: 0x90, Flags: HasCond | ReadsFlags},
	Jcc:      {Name: "j", Form: FJump, Map: M0F, Opcode: 0x80, Imm: IRel32, Flags: HasCond | ReadsFlags},
	JccShort: {Name: "j", Form: FJump, Opcode: 0x70, Imm: IRel8, Flags: HasCond | ReadsFlags},
	// E9 cd, EB cb JMP; FF /4 JMP r/m64; E8 cd CALL; FF /2 CALL r/m64; C3, C2 iw RET.
	Jmp:      {Name: "jmp", Form: FJump, Opcode: 0xe9, Imm: IRel32, Flags: Variadic},
	JmpShort: {Name: "jmp", Form: FJump, Opcode: 0xeb, Imm: IRel8},
	JmpInd:   {Name: "jmp", Form: FJumpInd, Opcode: 0xff, Digit: 4, RM: 8, Flags: NoW | Variadic},
	Call:     {Name: "call", Form: FJump, Opcode: 0xe8, Imm: IRel32, Flags: Variadic | SetsFlags},
	CallInd:  {Name: "call", Form: FJumpInd, Opcode: 0xff, Digit: 2, RM: 8, Flags: NoW | Variadic | SetsFlags},
	Ret:      {Name: "ret", Form: FNone, Opcode: 0xc3, Flags: Variadic},
	RetImm:   {Name: "ret", Form: FImm, Opcode: 0xc2, Imm: IWord, Flags: Variadic},
	// 50+r PUSH, 58+r POP.
	Push: {Name: "push", Form: FPush, Opcode: 0x50, Flags: NoW},
	Pop:  {Name: "pop", Form: FPop, Opcode: 0x58, Flags: NoW},
	// FF /6 PUSH m64, 8F /0 POP m64. An address from rsp is with rsp as it is before a push, and behind a pop.
	PushMem: {Name: "push", Form: FMem, Opcode: 0xff, Digit: 6, RM: 8, Flags: NoW},
	PopMem:  {Name: "pop", Form: FMem, Opcode: 0x8f, RM: 8, Flags: NoW},
	// C9 LEAVE: mov rsp, rbp; pop rbp.
	Leave: {Name: "leave", Form: FNone, Opcode: 0xc9},
	// 87 /r XCHG r, r.
	Xchg: {Name: "xchg", Form: FXchg, Sizes: S1248, Opcode: 0x87},
	// 0F 0B UD2.
	Ud2: {Name: "ud2", Form: FNone, Map: M0F, Opcode: 0x0b},
	// 90, 66 90, 0F 1F /0: one instruction of Imm bytes that does nothing.
	Nop: {Name: "nop", Form: FNone, Opcode: 0x90, Imm: INop},

	// 0F 28 /r MOVAPS between registers; from memory MovfLoad: F3, F2, no prefix 0F 10 /r,
	// to it 0F 11 /r. A MOVSS or MOVSD from memory clears the rest of the register.
	Movf:      {Name: "movaps", Form: FFMove, Sizes: S4816, Map: M0F, Opcode: 0x28, MemOp: MovfLoad, Flags: NoW},
	MovfLoad:  {Name: "movss|movsd|movups", Form: FFLoad, Sizes: S4816, Prefix: PScalar, Map: M0F, Opcode: 0x10, Flags: Unaligned},
	MovfStore: {Name: "movss|movsd|movups", Form: FFStore, Sizes: S4816, Prefix: PScalar, Map: M0F, Opcode: 0x11, Flags: Unaligned},
	// 66 (REX.W) 0F 6E /r MOVD, MOVQ xmm, r; 66 (REX.W) 0F 7E /r MOVD, MOVQ r, xmm. What is to
	// come from memory is loaded as a float.
	MovdToF:   {Name: "movd|movq", Form: FIntToF, Sizes: S48, Prefix: P66, Map: M0F, Opcode: 0x6e, MemOp: MovdLoad},
	MovdLoad:  {Name: "movss|movsd", Form: FFLoad, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x10},
	MovdFromF: {Name: "movd|movq", Form: FFBits, Sizes: S48, Prefix: P66, Map: M0F, Opcode: 0x7e},

	// F3/F2 0F 51, 58 to 5F /r: scalar arithmetic. Min and max give the second operand if
	// either is NaN or both are zero.
	Addf:  {Name: "addss|addsd", Form: FFAlu, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x58, Flags: Commutes},
	Mulf:  {Name: "mulss|mulsd", Form: FFAlu, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x59, Flags: Commutes},
	Subf:  {Name: "subss|subsd", Form: FFAlu, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x5c},
	Minf:  {Name: "minss|minsd", Form: FFAlu, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x5d},
	Divf:  {Name: "divss|divsd", Form: FFAlu, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x5e},
	Maxf:  {Name: "maxss|maxsd", Form: FFAlu, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x5f},
	Sqrtf: {Name: "sqrtss|sqrtsd", Form: FFMove, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0x51, Flags: FalseDep},
	// 66 0F3A 0A, 0B /r ib ROUNDSS, ROUNDSD. Imm: 8 nearest, 9 down, 10 up, 11 truncate (inexact
	// suppressed).
	Roundf: {Name: "roundss|roundsd", Form: FFMoveImm, Sizes: S48, Prefix: P66, Map: M0F3A, Opcode: 0x0a, Imm: IByte,
		Feature: SSE41, Flags: Odd8 | NoW | FalseDep},
	// no prefix/66 0F 2E /r UCOMISS, UCOMISD.
	Ucomif: {Name: "ucomiss|ucomisd", Form: FFCmp, Sizes: S48, Prefix: PPacked, Map: M0F, Opcode: 0x2e, Flags: SetsFlags},
	// F3/F2 0F C2 /r ib CMPSS, CMPSD: all ones or zero. Imm: 0 eq, 1 lt, 2 le, 3 unord, 4 to 7 their negations.
	Cmpf: {Name: "cmpss|cmpsd", Form: FFAluMask, Sizes: S48, Prefix: PScalar, Map: M0F, Opcode: 0xc2, Imm: IByte},
	// F3/F2 (REX.W) 0F 2A /r CVTSI2SS, CVTSI2SD; 2C /r CVTTSS2SI, CVTTSD2SI (0x80..0 if out of
	// range); F3 0F 5A /r CVTSS2SD; F2 0F 5A /r CVTSD2SS.
	CvtIntToF32: {Name: "cvtsi2ss", Form: FIntToF, Sizes: S48, Prefix: PF3, Map: M0F, Opcode: 0x2a, Flags: FalseDep},
	CvtIntToF64: {Name: "cvtsi2sd", Form: FIntToF, Sizes: S48, Prefix: PF2, Map: M0F, Opcode: 0x2a, Flags: FalseDep},
	CvtF32ToInt: {Name: "cvttss2si", Form: FFToInt, Sizes: S48, Prefix: PF3, Map: M0F, Opcode: 0x2c, RM: 4},
	CvtF64ToInt: {Name: "cvttsd2si", Form: FFToInt, Sizes: S48, Prefix: PF2, Map: M0F, Opcode: 0x2c, RM: 8},
	CvtF32ToF64: {Name: "cvtss2sd", Form: FFMove, Sizes: S4, Prefix: PScalar, Map: M0F, Opcode: 0x5a, Flags: FalseDep},
	CvtF64ToF32: {Name: "cvtsd2ss", Form: FFMove, Sizes: S8, Prefix: PScalar, Map: M0F, Opcode: 0x5a, Flags: FalseDep},

	// VEX.LIG.F3/F2.0F.WIG /r: scalar arithmetic with a separate destination.
	Vaddf: {Name: "vaddss|vaddsd", Form: FFVAlu, Sizes: S48, Prefix: PScalar, Map: V0F, Opcode: 0x58, Feature: AVX, Flags: Commutes},
	Vmulf: {Name: "vmulss|vmulsd", Form: FFVAlu, Sizes: S48, Prefix: PScalar, Map: V0F, Opcode: 0x59, Feature: AVX, Flags: Commutes},
	Vsubf: {Name: "vsubss|vsubsd", Form: FFVAlu, Sizes: S48, Prefix: PScalar, Map: V0F, Opcode: 0x5c, Feature: AVX},
	Vdivf: {Name: "vdivss|vdivsd", Form: FFVAlu, Sizes: S48, Prefix: PScalar, Map: V0F, Opcode: 0x5e, Feature: AVX},
	// 0F 57 /r XORPS, 66 0F 76 /r PCMPEQD of one register: all zeros, all ones.
	Zerof: {Name: "xorps", Form: FFZero, Map: M0F, Opcode: 0x57},
	Onesf: {Name: "pcmpeqd", Form: FFZero, Prefix: P66, Map: M0F, Opcode: 0x76},
}
