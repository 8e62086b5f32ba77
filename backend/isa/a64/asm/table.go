package asm

// Bits that distinguish sizes.
const (
	sf   = 1 << 31 // integers: x, not w
	n22  = 1 << 22 // N of bit fields; of floats: d, not s
	q30  = 1 << 30 // vectors: 16 bytes; loads and stores: 8
	vecQ = 1<<31 | 1<<23
)

// rows is the table of instructions; words are those of the Arm Architecture Reference Manual (DDI 0487), C4.1.
var rows = [NumOps]Row{
	// Moves.
	Mov:    {Name: "mov", Form: FUnaryM, Sizes: S48, Word: 0x2a0003e0, Wide: sf, Imm: INone},
	Movz:   {Name: "movz", Form: FConst, Sizes: S48, Word: 0x52800000, Wide: sf, Imm: IMove},
	Movn:   {Name: "movn", Form: FConst, Sizes: S48, Word: 0x12800000, Wide: sf, Imm: IMove},
	Movk:   {Name: "movk", Form: FKeep, Sizes: S48, Word: 0x72800000, Wide: sf, Imm: IMove},
	MovImm: {Name: "mov", Form: FConst, Sizes: S48, Imm: IAny, Flags: Expands},

	// Shifted registers.
	Add: {Name: "add", Form: FAluShift, Sizes: S48, Word: 0x0b000000, Wide: sf, Imm: IShift, Flags: Commutes},
	Sub: {Name: "sub", Form: FAluShift, Sizes: S48, Word: 0x4b000000, Wide: sf, Imm: IShift},
	And: {Name: "and", Form: FAluShift, Sizes: S48, Word: 0x0a000000, Wide: sf, Imm: IShiftRor, Flags: Commutes},
	Bic: {Name: "bic", Form: FAluShift, Sizes: S48, Word: 0x0a200000, Wide: sf, Imm: IShiftRor},
	Orr: {Name: "orr", Form: FAluShift, Sizes: S48, Word: 0x2a000000, Wide: sf, Imm: IShiftRor, Flags: Commutes},
	Orn: {Name: "orn", Form: FAluShift, Sizes: S48, Word: 0x2a200000, Wide: sf, Imm: IShiftRor},
	Eor: {Name: "eor", Form: FAluShift, Sizes: S48, Word: 0x4a000000, Wide: sf, Imm: IShiftRor, Flags: Commutes},
	Eon: {Name: "eon", Form: FAluShift, Sizes: S48, Word: 0x4a200000, Wide: sf, Imm: IShiftRor, Flags: Commutes},
	Cmp: {Name: "cmp", Form: FCmp, Sizes: S48, Word: 0x6b00001f, Wide: sf, Imm: IShift, Flags: SetsFlags},
	Tst: {Name: "tst", Form: FCmp, Sizes: S48, Word: 0x6a00001f, Wide: sf, Imm: IShiftRor, Flags: Commutes | SetsFlags},
	Neg: {Name: "neg", Form: FUnaryM, Sizes: S48, Word: 0x4b0003e0, Wide: sf, Imm: IShift},
	Mvn: {Name: "mvn", Form: FUnaryM, Sizes: S48, Word: 0x2a2003e0, Wide: sf, Imm: IShiftRor},

	// Extended registers.
	AddExt: {Name: "add", Form: FAluShift, Sizes: S48, Word: 0x0b200000, Wide: sf, Imm: IExtend, W: [4]uint8{1: wExtend}, SP: 0b101},
	SubExt: {Name: "sub", Form: FAluShift, Sizes: S48, Word: 0x4b200000, Wide: sf, Imm: IExtend, W: [4]uint8{1: wExtend}, SP: 0b101},
	CmpExt: {Name: "cmp", Form: FCmp, Sizes: S48, Word: 0x6b20001f, Wide: sf, Imm: IExtend, W: [4]uint8{1: wExtend}, SP: 0b001, Flags: SetsFlags},

	// Immediates.
	AddImm: {Name: "add", Form: FUnaryImm, Sizes: S48, Word: 0x11000000, Wide: sf, Imm: IArith, SP: 0b11},
	SubImm: {Name: "sub", Form: FUnaryImm, Sizes: S48, Word: 0x51000000, Wide: sf, Imm: IArith, SP: 0b11},
	CmpImm: {Name: "cmp", Form: FCmpImm, Sizes: S48, Word: 0x7100001f, Wide: sf, Imm: IArith, SP: 0b01, Flags: SetsFlags},
	CmnImm: {Name: "cmn", Form: FCmpImm, Sizes: S48, Word: 0x3100001f, Wide: sf, Imm: IArith, SP: 0b01, Flags: SetsFlags},
	AndImm: {Name: "and", Form: FUnaryImm, Sizes: S48, Word: 0x12000000, Wide: sf, Imm: IBits, SP: 0b10},
	OrrImm: {Name: "orr", Form: FUnaryImm, Sizes: S48, Word: 0x32000000, Wide: sf, Imm: IBits, SP: 0b10},
	EorImm: {Name: "eor", Form: FUnaryImm, Sizes: S48, Word: 0x52000000, Wide: sf, Imm: IBits, SP: 0b10},
	TstImm: {Name: "tst", Form: FCmpImm, Sizes: S48, Word: 0x7200001f, Wide: sf, Imm: IBits, Flags: SetsFlags},

	// Readers of flags.
	Ccmp:    {Name: "ccmp", Form: FCondCmp, Sizes: S48, Word: 0x7a400000, Wide: sf, Imm: IFlags, Flags: HasCond | ReadsFlags | SetsFlags},
	CcmpImm: {Name: "ccmp", Form: FCondImm, Sizes: S48, Word: 0x7a400800, Wide: sf, Imm: IValueFlags, Flags: HasCond | ReadsFlags | SetsFlags},
	CcmnImm: {Name: "ccmn", Form: FCondImm, Sizes: S48, Word: 0x3a400800, Wide: sf, Imm: IValueFlags, Flags: HasCond | ReadsFlags | SetsFlags},
	Csel:    {Name: "csel", Form: FSelect, Sizes: S48, Word: 0x1a800000, Wide: sf, Flags: HasCond | ReadsFlags},
	Csinc:   {Name: "csinc", Form: FSelect, Sizes: S48, Word: 0x1a800400, Wide: sf, Flags: HasCond | ReadsFlags},
	Csinv:   {Name: "csinv", Form: FSelect, Sizes: S48, Word: 0x5a800000, Wide: sf, Flags: HasCond | ReadsFlags},
	Csneg:   {Name: "csneg", Form: FSelect, Sizes: S48, Word: 0x5a800400, Wide: sf, Flags: HasCond | ReadsFlags},
	Cset:    {Name: "cset", Form: FSet, Sizes: S48, Word: 0x1a9f07e0, Wide: sf, Flags: HasCond | CondInv | ReadsFlags},
	Csetm:   {Name: "csetm", Form: FSet, Sizes: S48, Word: 0x5a9f03e0, Wide: sf, Flags: HasCond | CondInv | ReadsFlags},

	// Multiplication and division.
	Mul:    {Name: "mul", Form: FAlu, Sizes: S48, Word: 0x1b007c00, Wide: sf, Flags: Commutes},
	Mneg:   {Name: "mneg", Form: FAlu, Sizes: S48, Word: 0x1b00fc00, Wide: sf, Flags: Commutes},
	Madd:   {Name: "madd", Form: FMulAdd, Sizes: S48, Word: 0x1b000000, Wide: sf, Flags: Commutes},
	Msub:   {Name: "msub", Form: FMulAdd, Sizes: S48, Word: 0x1b008000, Wide: sf, Flags: Commutes},
	Smull:  {Name: "smull", Form: FAlu, Sizes: S8, Word: 0x9b207c00, W: [4]uint8{4, 4, 8}, Flags: Commutes},
	Umull:  {Name: "umull", Form: FAlu, Sizes: S8, Word: 0x9ba07c00, W: [4]uint8{4, 4, 8}, Flags: Commutes},
	Smaddl: {Name: "smaddl", Form: FMulAdd, Sizes: S8, Word: 0x9b200000, W: [4]uint8{4, 4, 8, 8}, Flags: Commutes},
	Umaddl: {Name: "umaddl", Form: FMulAdd, Sizes: S8, Word: 0x9ba00000, W: [4]uint8{4, 4, 8, 8}, Flags: Commutes},
	Smulh:  {Name: "smulh", Form: FAlu, Sizes: S8, Word: 0x9b407c00, Flags: Commutes},
	Umulh:  {Name: "umulh", Form: FAlu, Sizes: S8, Word: 0x9bc07c00, Flags: Commutes},
	Sdiv:   {Name: "sdiv", Form: FAlu, Sizes: S48, Word: 0x1ac00c00, Wide: sf},
	Udiv:   {Name: "udiv", Form: FAlu, Sizes: S48, Word: 0x1ac00800, Wide: sf},

	// Shifts and bit fields (ubfm, sbfm, bfm, extr).
	Lsl:    {Name: "lsl", Form: FAlu, Sizes: S48, Word: 0x1ac02000, Wide: sf},
	Lsr:    {Name: "lsr", Form: FAlu, Sizes: S48, Word: 0x1ac02400, Wide: sf},
	Asr:    {Name: "asr", Form: FAlu, Sizes: S48, Word: 0x1ac02800, Wide: sf},
	Ror:    {Name: "ror", Form: FAlu, Sizes: S48, Word: 0x1ac02c00, Wide: sf},
	LslImm: {Name: "lsl", Form: FUnaryImm, Sizes: S48, Word: 0x53000000, Wide: sf | n22, Imm: ILeft},
	LsrImm: {Name: "lsr", Form: FUnaryImm, Sizes: S48, Word: 0x53000000, Wide: sf | n22, Imm: IRight},
	AsrImm: {Name: "asr", Form: FUnaryImm, Sizes: S48, Word: 0x13000000, Wide: sf | n22, Imm: IRight},
	RorImm: {Name: "ror", Form: FRotate, Sizes: S48, Word: 0x13800000, Wide: sf | n22, Imm: IRotate},
	Extr:   {Name: "extr", Form: FAluShift, Sizes: S48, Word: 0x13800000, Wide: sf | n22, Imm: IRotate},
	Ubfx:   {Name: "ubfx", Form: FUnaryImm, Sizes: S48, Word: 0x53000000, Wide: sf | n22, Imm: IFieldFrom},
	Sbfx:   {Name: "sbfx", Form: FUnaryImm, Sizes: S48, Word: 0x13000000, Wide: sf | n22, Imm: IFieldFrom},
	Ubfiz:  {Name: "ubfiz", Form: FUnaryImm, Sizes: S48, Word: 0x53000000, Wide: sf | n22, Imm: IFieldTo},
	Sbfiz:  {Name: "sbfiz", Form: FUnaryImm, Sizes: S48, Word: 0x13000000, Wide: sf | n22, Imm: IFieldTo},
	Bfi:    {Name: "bfi", Form: FInsert, Sizes: S48, Word: 0x33000000, Wide: sf | n22, Imm: IFieldTo},
	Bfxil:  {Name: "bfxil", Form: FInsert, Sizes: S48, Word: 0x33000000, Wide: sf | n22, Imm: IFieldFrom},
	Sxtb:   {Name: "sxtb", Form: FUnary, Sizes: S48, Word: 0x13001c00, Wide: sf | n22, W: [4]uint8{4}},
	Sxth:   {Name: "sxth", Form: FUnary, Sizes: S48, Word: 0x13003c00, Wide: sf | n22, W: [4]uint8{4}},
	Sxtw:   {Name: "sxtw", Form: FUnary, Sizes: S8, Word: 0x93407c00, W: [4]uint8{4}},
	Clz:    {Name: "clz", Form: FUnary, Sizes: S48, Word: 0x5ac01000, Wide: sf},
	Rbit:   {Name: "rbit", Form: FUnary, Sizes: S48, Word: 0x5ac00000, Wide: sf},

	// Branches and system.
	B:     {Name: "b", Form: FBranch, Word: 0x14000000, Imm: IBranch26, Flags: Variadic},
	Bcond: {Name: "b.", Form: FBranch, Word: 0x54000000, Imm: IBranch19, Flags: HasCond | CondLow | ReadsFlags},
	Cbz:   {Name: "cbz", Form: FBranchReg, Sizes: S48, Word: 0x34000000, Wide: sf, Imm: IBranch19, Flags: SelfTail},
	Cbnz:  {Name: "cbnz", Form: FBranchReg, Sizes: S48, Word: 0x35000000, Wide: sf, Imm: IBranch19, Flags: SelfTail},
	Tbz:   {Name: "tbz", Form: FBranchBit, Sizes: S48, Word: 0x36000000, Imm: IBranch14, Flags: SelfTail},
	Tbnz:  {Name: "tbnz", Form: FBranchBit, Sizes: S48, Word: 0x37000000, Imm: IBranch14, Flags: SelfTail},
	Bl:    {Name: "bl", Form: FBranch, Word: 0x94000000, Imm: IBranch26, Flags: Variadic},
	Blr:   {Name: "blr", Form: FJumpReg, Word: 0xd63f0000, Flags: Variadic},
	Br:    {Name: "br", Form: FJumpReg, Word: 0xd61f0000, Flags: Variadic},
	Ret:   {Name: "ret", Form: FNone, Word: 0xd65f03c0, Flags: Variadic},
	Adr:   {Name: "adr", Form: FAdr, Word: 0x10000000, Imm: IAdr},
	Adrp:  {Name: "adrp", Form: FAdr, Word: 0x90000000, Imm: IPage},
	Udf:   {Name: "udf", Form: FImm, Imm: IUdf},
	Nop:   {Name: "nop", Form: FNone, Word: 0xd503201f},
	Bti:   {Name: "bti", Form: FImm, Word: 0xd503241f, Imm: IBti},
	Csdb:  {Name: "csdb", Form: FNone, Word: 0xd503229f},

	// Loads and stores of integers.
	Lea:      {Name: "lea", Form: FLoad, Sizes: S8, Addr: AddrLea, Flags: NoFault | Expands},
	Ldr:      {Name: "ldr", Form: FLoad, Sizes: S48, Word: 0xb8400000, Wide: q30, Lit: 0x18000000, Addr: AddrMem},
	Ldrb:     {Name: "ldrb", Form: FLoad, Sizes: S4, Word: 0x38400000, Mem: 1, Addr: AddrMem},
	Ldrh:     {Name: "ldrh", Form: FLoad, Sizes: S4, Word: 0x78400000, Mem: 2, Addr: AddrMem},
	Ldrsb:    {Name: "ldrsb", Form: FLoad, Sizes: S48, Word: 0x38c00000, Wide: n22, Mem: 1, Addr: AddrMem},
	Ldrsh:    {Name: "ldrsh", Form: FLoad, Sizes: S48, Word: 0x78c00000, Wide: n22, Mem: 2, Addr: AddrMem},
	Ldrsw:    {Name: "ldrsw", Form: FLoad, Sizes: S8, Word: 0xb8800000, Lit: 0x98000000, Mem: 4, Addr: AddrMem},
	Str:      {Name: "str", Form: FStore, Sizes: S48, Word: 0xb8000000, Wide: q30, Addr: AddrMem},
	Strb:     {Name: "strb", Form: FStore, Sizes: S4, Word: 0x38000000, Mem: 1, Addr: AddrMem},
	Strh:     {Name: "strh", Form: FStore, Sizes: S4, Word: 0x78000000, Mem: 2, Addr: AddrMem},
	StrZero:  {Name: "str", Form: FStoreZero, Sizes: S48, Word: 0xb800001f, Wide: q30, Addr: AddrMem},
	StrbZero: {Name: "strb", Form: FStoreZero, Sizes: S4, Word: 0x3800001f, Mem: 1, Addr: AddrMem},
	StrhZero: {Name: "strh", Form: FStoreZero, Sizes: S4, Word: 0x7800001f, Mem: 2, Addr: AddrMem},
	Ldp:      {Name: "ldp", Form: FLoad2, Sizes: S48, Word: 0x29400000, Wide: sf, Addr: AddrPair},
	Stp:      {Name: "stp", Form: FStore2, Sizes: S48, Word: 0x29000000, Wide: sf, Addr: AddrPair},
	LdpPost:  {Name: "ldp", Form: FLoad2W, Sizes: S48, Word: 0x28c00000, Wide: sf, Addr: AddrPairPost},
	StpPre:   {Name: "stp", Form: FStore2W, Sizes: S48, Word: 0x29800000, Wide: sf, Addr: AddrPairPre},

	// Loads and stores of vector registers.
	Fldr: {Name: "ldr", Form: FFLoad, Sizes: S4816, Word: 0xbc400000, Wide: q30, Quad: vecQ, Lit: 0x1c000000, Addr: AddrMem},
	Fstr: {Name: "str", Form: FFStore, Sizes: S4816, Word: 0xbc000000, Wide: q30, Quad: vecQ, Addr: AddrMem},
	Fldp: {Name: "ldp", Form: FFLoad2, Sizes: S4816, Word: 0x2d400000, Wide: q30, Quad: sf, Addr: AddrPair},
	Fstp: {Name: "stp", Form: FFStore2, Sizes: S4816, Word: 0x2d000000, Wide: q30, Quad: sf, Addr: AddrPair},

	FldrB: {Name: "ldr", Form: FFLoad, Sizes: S1, Word: 0x3c400000, Addr: AddrMem},
	FldrH: {Name: "ldr", Form: FFLoad, Sizes: S2, Word: 0x7c400000, Addr: AddrMem},
	FstrB: {Name: "str", Form: FFStore, Sizes: S1, Word: 0x3c000000, Addr: AddrMem},
	FstrH: {Name: "str", Form: FFStore, Sizes: S2, Word: 0x7c000000, Addr: AddrMem},

	// Scalar floats.
	Fmov:      {Name: "fmov", Form: FFUnary, Sizes: S48, Word: 0x1e204000, Wide: n22},
	FmovToF:   {Name: "fmov", Form: FIntToF, Sizes: S48, Word: 0x1e270000, Wide: sf | n22},
	FmovFromF: {Name: "fmov", Form: FFToInt, Sizes: S48, Word: 0x1e260000, Wide: sf | n22},
	FmovImm:   {Name: "fmov", Form: FFConst, Sizes: S48, Word: 0x1e201000, Wide: n22, Imm: IFloat},
	Fzero:     {Name: "movi", Form: FFZero, Word: 0x2f00e400},
	Fadd:      {Name: "fadd", Form: FFAlu, Sizes: S48, Word: 0x1e202800, Wide: n22, Flags: Commutes},
	Fsub:      {Name: "fsub", Form: FFAlu, Sizes: S48, Word: 0x1e203800, Wide: n22},
	Fmul:      {Name: "fmul", Form: FFAlu, Sizes: S48, Word: 0x1e200800, Wide: n22, Flags: Commutes},
	Fdiv:      {Name: "fdiv", Form: FFAlu, Sizes: S48, Word: 0x1e201800, Wide: n22},
	Fnmul:     {Name: "fnmul", Form: FFAlu, Sizes: S48, Word: 0x1e208800, Wide: n22, Flags: Commutes},
	Fmin:      {Name: "fmin", Form: FFAlu, Sizes: S48, Word: 0x1e205800, Wide: n22, Flags: Commutes},
	Fmax:      {Name: "fmax", Form: FFAlu, Sizes: S48, Word: 0x1e204800, Wide: n22, Flags: Commutes},
	Fsqrt:     {Name: "fsqrt", Form: FFUnary, Sizes: S48, Word: 0x1e21c000, Wide: n22},
	Fabs:      {Name: "fabs", Form: FFUnary, Sizes: S48, Word: 0x1e20c000, Wide: n22},
	Fneg:      {Name: "fneg", Form: FFUnary, Sizes: S48, Word: 0x1e214000, Wide: n22},
	Frintn:    {Name: "frintn", Form: FFUnary, Sizes: S48, Word: 0x1e244000, Wide: n22},
	Frintp:    {Name: "frintp", Form: FFUnary, Sizes: S48, Word: 0x1e24c000, Wide: n22},
	Frintm:    {Name: "frintm", Form: FFUnary, Sizes: S48, Word: 0x1e254000, Wide: n22},
	Frintz:    {Name: "frintz", Form: FFUnary, Sizes: S48, Word: 0x1e25c000, Wide: n22},
	Fcmp:      {Name: "fcmp", Form: FFCmp, Sizes: S48, Word: 0x1e202000, Wide: n22, Flags: SetsFlags},
	FcmpZero:  {Name: "fcmp", Form: FFCmpZero, Sizes: S48, Word: 0x1e202008, Wide: n22, Flags: SetsFlags},
	Fccmp:     {Name: "fccmp", Form: FFCondCmp, Sizes: S48, Word: 0x1e200400, Wide: n22, Imm: IFlags, Flags: HasCond | ReadsFlags | SetsFlags},
	Fcsel:     {Name: "fcsel", Form: FFSelect, Sizes: S48, Word: 0x1e200c00, Wide: n22, Flags: HasCond | ReadsFlags},

	// Conversions.
	CvtF32ToF64:  {Name: "fcvt", Form: FFUnary, Sizes: S4, Word: 0x1e22c000, W: [4]uint8{4, 8}},
	CvtF64ToF32:  {Name: "fcvt", Form: FFUnary, Sizes: S8, Word: 0x1e624000, W: [4]uint8{8, 4}},
	ScvtfToF32:   {Name: "scvtf", Form: FIntToF, Sizes: S48, Word: 0x1e220000, Wide: sf, W: [4]uint8{1: 4}},
	ScvtfToF64:   {Name: "scvtf", Form: FIntToF, Sizes: S48, Word: 0x1e620000, Wide: sf, W: [4]uint8{1: 8}},
	UcvtfToF32:   {Name: "ucvtf", Form: FIntToF, Sizes: S48, Word: 0x1e230000, Wide: sf, W: [4]uint8{1: 4}},
	UcvtfToF64:   {Name: "ucvtf", Form: FIntToF, Sizes: S48, Word: 0x1e630000, Wide: sf, W: [4]uint8{1: 8}},
	FcvtzsFrom32: {Name: "fcvtzs", Form: FFToInt, Sizes: S48, Word: 0x1e380000, Wide: sf, W: [4]uint8{4}},
	FcvtzsFrom64: {Name: "fcvtzs", Form: FFToInt, Sizes: S48, Word: 0x1e780000, Wide: sf, W: [4]uint8{8}},
	FcvtzuFrom32: {Name: "fcvtzu", Form: FFToInt, Sizes: S48, Word: 0x1e390000, Wide: sf, W: [4]uint8{4}},
	FcvtzuFrom64: {Name: "fcvtzu", Form: FFToInt, Sizes: S48, Word: 0x1e790000, Wide: sf, W: [4]uint8{8}},

	// Vectors: bits and bytes.
	Vmov:   {Name: "mov", Form: FFMove2, Sizes: S816, Word: 0x0ea01c00, Quad: q30, W: vectors},
	Vand:   {Name: "and", Form: FFAlu, Sizes: S816, Word: 0x0e201c00, Quad: q30, W: vectors, Flags: Commutes},
	Vbic:   {Name: "bic", Form: FFAlu, Sizes: S816, Word: 0x0e601c00, Quad: q30, W: vectors},
	Vorr:   {Name: "orr", Form: FFAlu, Sizes: S816, Word: 0x0ea01c00, Quad: q30, W: vectors, Flags: Commutes},
	Vorn:   {Name: "orn", Form: FFAlu, Sizes: S816, Word: 0x0ee01c00, Quad: q30, W: vectors},
	Veor:   {Name: "eor", Form: FFAlu, Sizes: S816, Word: 0x2e201c00, Quad: q30, W: vectors, Flags: Commutes},
	Vnot:   vector("not", FFUnary, 0x6e205800, lanesB),
	Vbsl:   {Name: "bsl", Form: FFInsert, Sizes: S816, Word: 0x2e601c00, Quad: q30, W: vectors},
	Vbit:   {Name: "bit", Form: FFInsert, Sizes: S816, Word: 0x2ea01c00, Quad: q30, W: vectors},
	Vbif:   {Name: "bif", Form: FFInsert, Sizes: S816, Word: 0x2ee01c00, Quad: q30, W: vectors},
	Vcnt:   {Name: "cnt", Form: FFUnary, Sizes: S816, Word: 0x0e205800, Quad: q30, W: vectors},
	Vaddv:  {Name: "addv", Form: FFUnary, Sizes: S816, Word: 0x0e31b800, Quad: q30, Lanes: lanesBHS, W: [4]uint8{wVector, wLane}},
	Vuminv: {Name: "uminv", Form: FFUnary, Sizes: S16, Word: 0x6e31a800, Lanes: lanesBHS, W: [4]uint8{wVector, wLane}},
	VaddpD: {Name: "addp", Form: FFUnary, Sizes: S16, Word: 0x5ef1b800, Lanes: lanesD, W: [4]uint8{wVector, wLane}},

	// Vectors of integers.
	Vadd:      commuting("add", FFAlu, 0x4e208400, lanesBHSD),
	Vsub:      vector("sub", FFAlu, 0x6e208400, lanesBHSD),
	Vmul:      commuting("mul", FFAlu, 0x4e209c00, lanesBHS),
	Vmla:      vector("mla", FFInsert, 0x4e209400, lanesBHS),
	Vmls:      vector("mls", FFInsert, 0x6e209400, lanesBHS),
	Vsqadd:    commuting("sqadd", FFAlu, 0x4e200c00, lanesBHSD),
	Vuqadd:    commuting("uqadd", FFAlu, 0x6e200c00, lanesBHSD),
	Vsqsub:    vector("sqsub", FFAlu, 0x4e202c00, lanesBHSD),
	Vuqsub:    vector("uqsub", FFAlu, 0x6e202c00, lanesBHSD),
	Vsmax:     commuting("smax", FFAlu, 0x4e206400, lanesBHS),
	Vumax:     commuting("umax", FFAlu, 0x6e206400, lanesBHS),
	Vsmin:     commuting("smin", FFAlu, 0x4e206c00, lanesBHS),
	Vumin:     commuting("umin", FFAlu, 0x6e206c00, lanesBHS),
	Vurhadd:   commuting("urhadd", FFAlu, 0x6e201400, lanesBHS),
	Vsabd:     commuting("sabd", FFAlu, 0x4e207400, lanesBHS),
	Vuabd:     commuting("uabd", FFAlu, 0x6e207400, lanesBHS),
	Vsqrdmulh: commuting("sqrdmulh", FFAlu, 0x6e20b400, lanesHS),
	Vsshl:     vector("sshl", FFAlu, 0x4e204400, lanesBHSD),
	Vushl:     vector("ushl", FFAlu, 0x6e204400, lanesBHSD),
	Vcmeq:     commuting("cmeq", FFAlu, 0x6e208c00, lanesBHSD),
	Vcmgt:     vector("cmgt", FFAlu, 0x4e203400, lanesBHSD),
	Vcmge:     vector("cmge", FFAlu, 0x4e203c00, lanesBHSD),
	Vcmhi:     vector("cmhi", FFAlu, 0x6e203400, lanesBHSD),
	Vcmhs:     vector("cmhs", FFAlu, 0x6e203c00, lanesBHSD),
	Vcmtst:    commuting("cmtst", FFAlu, 0x4e208c00, lanesBHSD),
	Vaddp:     vector("addp", FFAlu, 0x4e20bc00, lanesBHSD),
	Vumaxp:    vector("umaxp", FFAlu, 0x6e20a400, lanesBHS),
	Vabs:      vector("abs", FFUnary, 0x4e20b800, lanesBHSD),
	Vneg:      vector("neg", FFUnary, 0x6e20b800, lanesBHSD),
	VcmeqZero: vector("cmeq", FFUnaryZero, 0x4e209800, lanesBHSD),
	VcmgtZero: vector("cmgt", FFUnaryZero, 0x4e208800, lanesBHSD),
	VcmgeZero: vector("cmge", FFUnaryZero, 0x6e208800, lanesBHSD),
	VcmleZero: vector("cmle", FFUnaryZero, 0x6e209800, lanesBHSD),
	VcmltZero: vector("cmlt", FFUnaryZero, 0x4e20a800, lanesBHSD),
	VshlImm:   withImm("shl", FFUnaryImm, 0x4f005400, lanesBHSD, ILaneLeft),
	VsshrImm:  withImm("sshr", FFUnaryImm, 0x4f000400, lanesBHSD, ILaneRight),
	VushrImm:  withImm("ushr", FFUnaryImm, 0x6f000400, lanesBHSD, ILaneRight),
	Vssra:     withImm("ssra", FFKeepImm, 0x4f001400, lanesBHSD, ILaneRight),
	Vusra:     withImm("usra", FFKeepImm, 0x6f001400, lanesBHSD, ILaneRight),

	// Vectors whose lanes change their width.
	Vsshll:   withImm("sshll", FFUnaryImm, 0x0f00a400, lanesBHS, ILaneLeft).of(wHalf, wWide),
	Vsshll2:  withImm("sshll2", FFUnaryImm, 0x4f00a400, lanesBHS, ILaneLeft).of(wVector, wWide),
	Vushll:   withImm("ushll", FFUnaryImm, 0x2f00a400, lanesBHS, ILaneLeft).of(wHalf, wWide),
	Vushll2:  withImm("ushll2", FFUnaryImm, 0x6f00a400, lanesBHS, ILaneLeft).of(wVector, wWide),
	Vsmull:   commuting("smull", FFAlu, 0x0e20c000, lanesBHS).of(wHalf, wHalf, wWide),
	Vsmull2:  commuting("smull2", FFAlu, 0x4e20c000, lanesBHS).of(wVector, wVector, wWide),
	Vumull:   commuting("umull", FFAlu, 0x2e20c000, lanesBHS).of(wHalf, wHalf, wWide),
	Vumull2:  commuting("umull2", FFAlu, 0x6e20c000, lanesBHS).of(wVector, wVector, wWide),
	Vsmlal:   vector("smlal", FFInsert, 0x0e208000, lanesBHS).of(wWide, wHalf, wHalf, wWide),
	Vsmlal2:  vector("smlal2", FFInsert, 0x4e208000, lanesBHS).of(wWide, wVector, wVector, wWide),
	Vumlal:   vector("umlal", FFInsert, 0x2e208000, lanesBHS).of(wWide, wHalf, wHalf, wWide),
	Vumlal2:  vector("umlal2", FFInsert, 0x6e208000, lanesBHS).of(wWide, wVector, wVector, wWide),
	Vsmlsl:   vector("smlsl", FFInsert, 0x0e20a000, lanesBHS).of(wWide, wHalf, wHalf, wWide),
	Vsmlsl2:  vector("smlsl2", FFInsert, 0x4e20a000, lanesBHS).of(wWide, wVector, wVector, wWide),
	Vumlsl:   vector("umlsl", FFInsert, 0x2e20a000, lanesBHS).of(wWide, wHalf, wHalf, wWide),
	Vumlsl2:  vector("umlsl2", FFInsert, 0x6e20a000, lanesBHS).of(wWide, wVector, wVector, wWide),
	Vsabdl:   commuting("sabdl", FFAlu, 0x0e207000, lanesBHS).of(wHalf, wHalf, wWide),
	Vsabdl2:  commuting("sabdl2", FFAlu, 0x4e207000, lanesBHS).of(wVector, wVector, wWide),
	Vuabdl:   commuting("uabdl", FFAlu, 0x2e207000, lanesBHS).of(wHalf, wHalf, wWide),
	Vuabdl2:  commuting("uabdl2", FFAlu, 0x6e207000, lanesBHS).of(wVector, wVector, wWide),
	Vsabal:   vector("sabal", FFInsert, 0x0e205000, lanesBHS).of(wWide, wHalf, wHalf, wWide),
	Vsabal2:  vector("sabal2", FFInsert, 0x4e205000, lanesBHS).of(wWide, wVector, wVector, wWide),
	Vuabal:   vector("uabal", FFInsert, 0x2e205000, lanesBHS).of(wWide, wHalf, wHalf, wWide),
	Vuabal2:  vector("uabal2", FFInsert, 0x6e205000, lanesBHS).of(wWide, wVector, wVector, wWide),
	Vsaddw:   vector("saddw", FFAlu, 0x0e201000, lanesBHS).of(wWide, wHalf, wWide),
	Vsaddw2:  vector("saddw2", FFAlu, 0x4e201000, lanesBHS).of(wWide, wVector, wWide),
	Vuaddw:   vector("uaddw", FFAlu, 0x2e201000, lanesBHS).of(wWide, wHalf, wWide),
	Vuaddw2:  vector("uaddw2", FFAlu, 0x6e201000, lanesBHS).of(wWide, wVector, wWide),
	Vssubw:   vector("ssubw", FFAlu, 0x0e203000, lanesBHS).of(wWide, wHalf, wWide),
	Vssubw2:  vector("ssubw2", FFAlu, 0x4e203000, lanesBHS).of(wWide, wVector, wWide),
	Vusubw:   vector("usubw", FFAlu, 0x2e203000, lanesBHS).of(wWide, wHalf, wWide),
	Vusubw2:  vector("usubw2", FFAlu, 0x6e203000, lanesBHS).of(wWide, wVector, wWide),
	Vsaddlp:  vector("saddlp", FFUnary, 0x4e202800, lanesBHS).of(wVector, wWide),
	Vuaddlp:  vector("uaddlp", FFUnary, 0x6e202800, lanesBHS).of(wVector, wWide),
	Vsadalp:  vector("sadalp", FFKeep, 0x4e206800, lanesBHS).of(wWide, wVector, wWide),
	Vuadalp:  vector("uadalp", FFKeep, 0x6e206800, lanesBHS).of(wWide, wVector, wWide),
	Vfcvtl:   vector("fcvtl", FFUnary, 0x0e217800, lanesConvert).of(wHalf, wWide),
	Vxtn:     vector("xtn", FFUnary, 0x0e212800, lanesBHS).of(wWide, wHalf),
	Vsqxtn:   vector("sqxtn", FFUnary, 0x0e214800, lanesBHS).of(wWide, wHalf),
	Vsqxtn2:  vector("sqxtn2", FFKeep, 0x4e214800, lanesBHS).of(wVector, wWide, wVector),
	Vsqxtun:  vector("sqxtun", FFUnary, 0x2e212800, lanesBHS).of(wWide, wHalf),
	Vsqxtun2: vector("sqxtun2", FFKeep, 0x6e212800, lanesBHS).of(wVector, wWide, wVector),
	Vuqxtn:   vector("uqxtn", FFUnary, 0x2e214800, lanesBHS).of(wWide, wHalf),
	Vshrn:    withImm("shrn", FFUnaryImm, 0x0f008400, lanesBHS, ILaneRight).of(wWide, wHalf),
	Vrshrn:   withImm("rshrn", FFUnaryImm, 0x0f008c00, lanesBHS, ILaneRight).of(wWide, wHalf),
	Vrshrn2:  withImm("rshrn2", FFKeepImm, 0x4f008c00, lanesBHS, ILaneRight).of(wVector, wWide, wVector),
	Vfcvtn:   vector("fcvtn", FFUnary, 0x0e216800, lanesConvert).of(wWide, wHalf),

	// Moves of lanes.
	Vzip1:    vector("zip1", FFAlu, 0x4e003800, lanesBHSD),
	Vzip2:    vector("zip2", FFAlu, 0x4e007800, lanesBHSD),
	Vuzp1:    vector("uzp1", FFAlu, 0x4e001800, lanesBHSD),
	Vuzp2:    vector("uzp2", FFAlu, 0x4e005800, lanesBHSD),
	Vtrn1:    vector("trn1", FFAlu, 0x4e002800, lanesBHSD),
	Vtrn2:    vector("trn2", FFAlu, 0x4e006800, lanesBHSD),
	Vrev16:   vector("rev16", FFUnary, 0x4e201800, lanesB),
	Vrev32:   vector("rev32", FFUnary, 0x6e200800, lanesBH),
	Vrev64:   vector("rev64", FFUnary, 0x4e200800, lanesBHS),
	Vext:     {Name: "ext", Form: FFAluImm, Sizes: S16, Word: 0x6e000000, Imm: IExtract, W: vectors},
	Vtbl:     vector("tbl", FFAlu, 0x4e000000, lanesB).of(wList, wVector, wVector),
	Vtbx:     vector("tbx", FFInsert, 0x4e001000, lanesB).of(wVector, wList, wVector, wVector),
	Vdup:     withImm("dup", FIntToF, 0x4e000c00, lanesBHSD, IFirstLane).of(wGeneral, wVector),
	VdupLane: withImm("dup", FFFromLane, 0x4e000400, lanesBHSD, ILane).of(wElement, wVector),
	VmovLane: withImm("mov", FFFromLane, 0x5e000400, lanesBHSD, ILane).of(wElement, wLane),
	Vins:     withImm("mov", FIntToLane, 0x4e001c00, lanesBHSD, ILane).of(wElement, wGeneral, wElement),
	VinsLane: withImm("mov", FFLaneToLane, 0x6e000400, lanesBHSD, ITwoLanes).of(wElement, wElement, wElement),
	Vumov:    withImm("umov", FLaneToInt, 0x0e003c00, lanesBHSD, ILaneOut).of(wElement, wGeneral),
	Vsmov:    {Name: "smov", Form: FLaneToInt, Sizes: S48, Word: 0x0e002c00, Wide: q30, Lanes: Lanes{Set: lanesBH.Set, At: elsewhere}, Imm: ILane, W: [4]uint8{wElement}},
	Vmovi:    withImm("movi", FFConst, 0x4f000400, lanesBHSD, IMovi).of(wVector),
	Vmvni:    withImm("mvni", FFConst, 0x6f000400, lanesHS, IMvni).of(wVector),
	VfmovImm: withImm("fmov", FFConst, 0x4f00f400, lanesSD, IFloatLanes).of(wVector),
	Vld1r:    {Name: "ld1r", Form: FFLoad, Sizes: S16, Word: 0x4d40c000, Lanes: Lanes{Set: lanesBHSD.Set, At: 10}, W: [4]uint8{1: wList}, Addr: AddrBase},
	Vld1Lane: {Name: "ld1", Form: FFLoadLane, Sizes: S16, Word: 0x0d400000, Lanes: Lanes{Set: lanesBHSD.Set, At: elsewhere}, Imm: ILaneAccess, W: [4]uint8{1: wListElement, 2: wListElement}, Addr: AddrBase},
	Vst1Lane: {Name: "st1", Form: FFStoreLane, Sizes: S16, Word: 0x0d000000, Lanes: Lanes{Set: lanesBHSD.Set, At: elsewhere}, Imm: ILaneAccess, W: [4]uint8{1: wListElement}, Addr: AddrBase},

	// Vectors of floats.
	Vfadd:      commuting("fadd", FFAlu, 0x4e20d400, lanesFloat),
	Vfsub:      vector("fsub", FFAlu, 0x4ea0d400, lanesFloat),
	Vfmul:      commuting("fmul", FFAlu, 0x6e20dc00, lanesFloat),
	Vfdiv:      vector("fdiv", FFAlu, 0x6e20fc00, lanesFloat),
	Vfmin:      commuting("fmin", FFAlu, 0x4ea0f400, lanesFloat),
	Vfmax:      commuting("fmax", FFAlu, 0x4e20f400, lanesFloat),
	Vfmla:      vector("fmla", FFInsert, 0x4e20cc00, lanesFloat),
	Vfmls:      vector("fmls", FFInsert, 0x4ea0cc00, lanesFloat),
	Vfcmeq:     commuting("fcmeq", FFAlu, 0x4e20e400, lanesFloat),
	Vfcmge:     vector("fcmge", FFAlu, 0x6e20e400, lanesFloat),
	Vfcmgt:     vector("fcmgt", FFAlu, 0x6ea0e400, lanesFloat),
	VfcmeqZero: vector("fcmeq", FFUnaryFloatZero, 0x4ea0d800, lanesFloat),
	VfcmgtZero: vector("fcmgt", FFUnaryFloatZero, 0x4ea0c800, lanesFloat),
	VfcmgeZero: vector("fcmge", FFUnaryFloatZero, 0x6ea0c800, lanesFloat),
	VfcmleZero: vector("fcmle", FFUnaryFloatZero, 0x6ea0d800, lanesFloat),
	VfcmltZero: vector("fcmlt", FFUnaryFloatZero, 0x4ea0e800, lanesFloat),
	Vfabs:      vector("fabs", FFUnary, 0x4ea0f800, lanesFloat),
	Vfneg:      vector("fneg", FFUnary, 0x6ea0f800, lanesFloat),
	Vfsqrt:     vector("fsqrt", FFUnary, 0x6ea1f800, lanesFloat),
	Vfrintn:    vector("frintn", FFUnary, 0x4e218800, lanesFloat),
	Vfrintp:    vector("frintp", FFUnary, 0x4ea18800, lanesFloat),
	Vfrintm:    vector("frintm", FFUnary, 0x4e219800, lanesFloat),
	Vfrintz:    vector("frintz", FFUnary, 0x4ea19800, lanesFloat),
	Vscvtf:     vector("scvtf", FFUnary, 0x4e21d800, lanesFloat),
	Vucvtf:     vector("ucvtf", FFUnary, 0x6e21d800, lanesFloat),
	Vfcvtzs:    vector("fcvtzs", FFUnary, 0x4ea1b800, lanesFloat),
	Vfcvtzu:    vector("fcvtzu", FFUnary, 0x6ea1b800, lanesFloat),
	VfmulLane:  withImm("fmul", FFByLane, 0x4f809000, lanesFloat, IByLane).of(wVector, wElement, wVector),
	VfmlaLane:  withImm("fmla", FFInsertByLane, 0x4f801000, lanesFloat, IByLane).of(wVector, wVector, wElement, wVector),
	VfmlsLane:  withImm("fmls", FFInsertByLane, 0x4f805000, lanesFloat, IByLane).of(wVector, wVector, wElement, wVector),
	VmulLane:   withImm("mul", FFByLane, 0x4f808000, lanesS, IByLane).of(wVector, wElement, wVector),
	VmlaLane:   withImm("mla", FFInsertByLane, 0x6f800000, lanesS, IByLane).of(wVector, wVector, wElement, wVector),
	VmlsLane:   withImm("mls", FFInsertByLane, 0x6f804000, lanesS, IByLane).of(wVector, wVector, wElement, wVector),
	Vsdot:      {Name: "sdot", Form: FFInsert, Sizes: S16, Word: 0x4e809400, Lanes: lanesS, W: [4]uint8{wVector, wBytes, wBytes, wVector}, Feature: DotProduct},

	SubsImm: {Name: "subs", Form: FUnaryImm, Sizes: S48, Word: 0x71000000, Wide: sf, Imm: IArith, SP: 0b01, Flags: SetsFlags},
}

var vectors = [4]uint8{wVector, wVector, wVector, wVector}

// Widths of lanes, and where the word has them.
var (
	lanesB    = Lanes{Set: 0b0001, At: 22}
	lanesBH   = Lanes{Set: 0b0011, At: 22}
	lanesBHS  = Lanes{Set: 0b0111, At: 22}
	lanesBHSD = Lanes{Set: 0b1111, At: 22}
	lanesHS   = Lanes{Set: 0b0110, At: 22}
	lanesSD   = Lanes{Set: 0b1100, At: 22}
	// lanesS and lanesD are single ones, which the words have.
	lanesS = Lanes{Set: 0b0100, At: elsewhere}
	lanesD = Lanes{Set: 0b1000, At: elsewhere}
	// lanesFloat are 0 and 1 in the word.
	lanesFloat = Lanes{Set: 0b1100, At: 22, Least: 2}
	// lanesConvert are from or to floats of 8 bytes.
	lanesConvert = Lanes{Set: 0b0100, At: 22, Least: 1}
)

// vector returns a row of whole vectors.
func vector(name string, f Form, word uint32, l Lanes) Row {
	return Row{Name: name, Form: f, Sizes: S16, Word: word, Lanes: l, W: vectors}
}

// commuting returns a row of vectors whose first two uses may change places.
func commuting(name string, f Form, word uint32, l Lanes) Row {
	r := vector(name, f, word, l)
	r.Flags = Commutes
	return r
}

// withImm returns a row of vectors with an immediate, which has the width of the lanes unless it is a lane of an operand
// that the word has.
func withImm(name string, f Form, word uint32, l Lanes, imm ImmKind) Row {
	r := vector(name, f, word, l)
	if r.Imm = imm; imm != IByLane {
		r.Lanes.At = elsewhere
	}
	return r
}

// of returns r with other widths of its operands.
func (r Row) of(widths ...uint8) Row {
	r.W = [4]uint8{}
	copy(r.W[:], widths)
	return r
}
