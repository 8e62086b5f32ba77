package asm

import (
	"github.com/waot-project/waot/backend"
	ra "github.com/waot-project/waot/regalloc"
)

// Form is a row's operand form: an index of forms.
type Form uint8

// The forms. G is an integer register, X a vector register, rm a register or memory.
const (
	FNone     Form = iota
	FMove          // G <- G/rm
	FLea           // G <- address
	FStore         // [mem] op= G
	FStoreImm      // [mem] op= imm
	FAlu           // G op= G/rm
	FAluImm        // G op= imm
	FCmp           // G op G/rm
	FTest          // G/rm op G
	FCmpImm        // G/rm op imm
	FMulImm        // G <- G/rm op imm
	FMul           // rdx:rax <- rax op G/rm
	FDiv           // rax, rdx <- rdx:rax op G/rm
	FSignRax       // rdx <- rax
	FUnary         // op G
	FShift         // G op= cl
	FVShift        // G <- G/rm op G
	FVAlu          // G <- G op G/rm
	FVUnary        // G <- G/rm, the result in VEX.vvvv
	FBswap         // op G, in the opcode
	FBitTest       // G op G
	FCmov          // G <- flags ? G/rm : G
	FSet           // G <- flags
	FZero          // G <- constant
	FConst         // G <- imm, in the opcode
	FPush          // push G
	FPop           // G <- pop
	FJump          // branch distance
	FJumpInd       // jump to G/rm
	FImm           // imm only
	FXchg          // G <-> G
	FXchgMem       // G <-> [mem]
	FRepMovs       // [rdi] <- [rsi], rcx times
	FRepStos       // [rdi] <- rax, rcx times
	FFMove         // X <- X/rm
	FFLoad         // X <- [mem]
	FFStore        // [mem] <- X
	FFAlu          // X op= X/rm
	FFAluImm       // X op= imm
	FFAluMask      // X op= X/rm by imm
	FFCmp          // X op X/rm
	FFMoveImm      // X <- X/rm by imm
	FFZero         // X <- constant
	FIntToF        // X <- G/rm
	FFToInt        // G <- X/rm
	FFBits         // G <- X, the result in rm
	FFMask         // G <- X
	FFVAlu         // X <- X op X/rm
	FFVIntToF      // X <- X, G/rm
	FFma           // X <- X op X op X/rm
	numForms
)

const (
	rax = uint8(RAX)
	rcx = uint8(RCX)
	rdx = uint8(RDX)
	rsi = uint8(RSI)
	rdi = uint8(RDI)
)

// forms is the table of forms. Roles: access, class, constraint, argument.
var forms = [numForms]FormInfo{
	FNone: {-1, -1, -1, -1, NoMem, "", nil},
	FMove: {1, 0, -1, -1, MayMem, "10", []Role{
		{ra.Use, ra.Int, ra.Any, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FLea: {1, 0, -1, -1, MustMem, "10", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FStore: {1, 0, -1, -1, MustMem, "01", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Use, ra.Int, ra.Reg, 0}}},
	FStoreImm: {-1, 0, -1, -1, MustMem, "0i", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}}},
	FAlu: {0, 1, -1, -1, MayMem, "01", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Use, ra.Int, ra.Any, 0}, {ra.Def, ra.Int, ra.Reuse, 0}}},
	FAluImm: {-1, 0, -1, -1, NoMem, "0i", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reuse, 0}}},
	FCmp: {0, 1, -1, -1, MayMem, "01", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Use, ra.Int, ra.Any, 0}}},
	FTest: {1, 0, -1, -1, MayMem, "01", []Role{
		{ra.Use, ra.Int, ra.Any, 0}, {ra.Use, ra.Int, ra.Reg, 0}}},
	FCmpImm: {-1, 0, -1, -1, MayMem, "0i", []Role{
		{ra.Use, ra.Int, ra.Any, 0}}},
	FMulImm: {1, 0, -1, -1, MayMem, "10i", []Role{
		{ra.Use, ra.Int, ra.Any, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FMul: {-1, 1, -1, -1, MayMem, "1", []Role{
		{ra.Use, ra.Int, ra.Fixed, rax}, {ra.Use, ra.Int, ra.Any, 0},
		{ra.Def, ra.Int, ra.Fixed, rax}, {ra.Def, ra.Int, ra.Fixed, rdx}}},
	FDiv: {-1, 2, -1, -1, MayMem, "2", []Role{
		{ra.Use, ra.Int, ra.Fixed, rax}, {ra.Use, ra.Int, ra.Fixed, rdx}, {ra.Use, ra.Int, ra.Any, 0},
		{ra.Def, ra.Int, ra.Fixed, rax}, {ra.Def, ra.Int, ra.Fixed, rdx}}},
	FSignRax: {-1, -1, -1, -1, NoMem, "", []Role{
		{ra.Use, ra.Int, ra.Fixed, rax}, {ra.Def, ra.Int, ra.Fixed, rdx}}},
	FUnary: {-1, 0, -1, -1, NoMem, "0", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reuse, 0}}},
	FShift: {-1, 0, -1, -1, NoMem, "0c", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Use, ra.Int, ra.Fixed, rcx}, {ra.Def, ra.Int, ra.Reuse, 0}}},
	FVShift: {2, 0, 1, -1, MayMem, "201", []Role{
		{ra.Use, ra.Int, ra.Any, 0}, {ra.Use, ra.Int, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FVAlu: {2, 1, 0, -1, MayMem, "201", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Use, ra.Int, ra.Any, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FVUnary: {-1, 0, 1, -1, MayMem, "10", []Role{
		{ra.Use, ra.Int, ra.Any, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FBswap: {-1, -1, -1, 0, NoMem, "0", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reuse, 0}}},
	FBitTest: {1, 0, -1, -1, NoMem, "01", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Use, ra.Int, ra.Reg, 0}}},
	FCmov: {1, 0, -1, -1, MayMem, "10", []Role{
		{ra.Use, ra.Int, ra.Any, 0}, {ra.Use, ra.Int, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reuse, 1}}},
	FSet: {-1, 0, -1, -1, NoMem, "0", []Role{
		{ra.Def, ra.Int, ra.Reg, 0}}},
	FZero: {0, 0, -1, -1, NoMem, "00", []Role{
		{ra.Def, ra.Int, ra.Reg, 0}}},
	FConst: {-1, -1, -1, 0, NoMem, "0i", []Role{
		{ra.Def, ra.Int, ra.Reg, 0}}},
	FPush: {-1, -1, -1, 0, NoMem, "0", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}}},
	FPop: {-1, -1, -1, 0, NoMem, "0", []Role{
		{ra.Def, ra.Int, ra.Reg, 0}}},
	FJump: {-1, -1, -1, -1, NoMem, "t", nil},
	FJumpInd: {-1, 0, -1, -1, MayMem, "0", []Role{
		{ra.Use, ra.Int, ra.Any, 0}}},
	FImm: {-1, -1, -1, -1, NoMem, "i", nil},
	FXchg: {0, 1, -1, -1, NoMem, "01", []Role{
		{ra.Mod, ra.Int, ra.Reg, 0}, {ra.Mod, ra.Int, ra.Reg, 0}}},
	FXchgMem: {1, 0, -1, -1, MustMem, "01", []Role{
		{ra.Use, ra.Int, ra.Reg, 0}, {ra.Use, ra.Int, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reuse, 1}}},
	FRepMovs: {-1, -1, -1, -1, NoMem, "", []Role{
		{ra.Mod, ra.Int, ra.Fixed, rdi}, {ra.Mod, ra.Int, ra.Fixed, rsi}, {ra.Mod, ra.Int, ra.Fixed, rcx}}},
	FRepStos: {-1, -1, -1, -1, NoMem, "", []Role{
		{ra.Mod, ra.Int, ra.Fixed, rdi}, {ra.Use, ra.Int, ra.Fixed, rax}, {ra.Mod, ra.Int, ra.Fixed, rcx}}},

	FFMove: {1, 0, -1, -1, MayMem, "10", []Role{
		{ra.Use, ra.Float, ra.Any, 0}, {ra.Def, ra.Float, ra.Reg, 0}}},
	FFLoad: {1, 0, -1, -1, MustMem, "10", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Def, ra.Float, ra.Reg, 0}}},
	FFStore: {1, 0, -1, -1, MustMem, "01", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Float, ra.Reg, 0}}},
	FFAlu: {0, 1, -1, -1, MayMem, "01", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Float, ra.Any, 0}, {ra.Def, ra.Float, ra.Reuse, 0}}},
	FFAluImm: {-1, 0, -1, -1, NoMem, "0i", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Def, ra.Float, ra.Reuse, 0}}},
	FFAluMask: {0, 1, -1, -1, MayMem, "01i", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Float, ra.Any, 0}, {ra.Def, ra.Float, ra.Reuse, 0}}},
	FFCmp: {0, 1, -1, -1, MayMem, "01", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Float, ra.Any, 0}}},
	FFMoveImm: {1, 0, -1, -1, MayMem, "10i", []Role{
		{ra.Use, ra.Float, ra.Any, 0}, {ra.Def, ra.Float, ra.Reg, 0}}},
	FFZero: {0, 0, -1, -1, NoMem, "00", []Role{
		{ra.Def, ra.Float, ra.Reg, 0}}},
	FIntToF: {1, 0, -1, -1, MayMem, "10", []Role{
		{ra.Use, ra.Int, ra.Any, 0}, {ra.Def, ra.Float, ra.Reg, 0}}},
	FFToInt: {1, 0, -1, -1, MayMem, "10", []Role{
		{ra.Use, ra.Float, ra.Any, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FFBits: {0, 1, -1, -1, NoMem, "10", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FFMask: {1, 0, -1, -1, NoMem, "10", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Def, ra.Int, ra.Reg, 0}}},
	FFVAlu: {2, 1, 0, -1, MayMem, "201", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Float, ra.Any, 0}, {ra.Def, ra.Float, ra.Reg, 0}}},
	FFVIntToF: {2, 1, 0, -1, MayMem, "201", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Int, ra.Any, 0}, {ra.Def, ra.Float, ra.Reg, 0}}},
	FFma: {0, 2, 1, -1, MayMem, "012", []Role{
		{ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Float, ra.Reg, 0}, {ra.Use, ra.Float, ra.Any, 0},
		{ra.Def, ra.Float, ra.Reuse, 0}}},
}

// addrOperands is the number of operands of an address by backend.Mode; 1 for ModeNone,
// the operand itself.
var addrOperands = [...]int8{
	backend.ModeNone: 1, backend.ModeBase: 1, backend.ModeBaseIndex: 2, backend.ModeSym: 0, backend.ModeConst: 0,
	backend.ModeOutArg: 0, backend.ModeLocal: 0, backend.ModeIndex: 1,
}

// NumAddr is the number of operands (base, then index) that stand in the place
// of the rm operand in mode m: 0 to 2; 1 for ModeNone.
func NumAddr(m backend.Mode) int { return int(addrOperands[m]) }

// NumOperands is the number of operands of an instruction, its tail's included;
// of a Variadic row those that its form names.
func NumOperands(inst *backend.Inst) int {
	return numOwn(&forms[rows[inst.Op].Form], inst.Mode) + len(tailRoles[inst.Tail])
}

// numOwn is the number of operands without the tail's.
func numOwn(f *FormInfo, m backend.Mode) int {
	n := len(f.Roles)
	if f.RM >= 0 {
		n += NumAddr(m) - 1
	}
	return n
}
