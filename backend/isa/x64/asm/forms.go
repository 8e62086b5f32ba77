package asm

import ra "github.com/waot-project/waot/regalloc"

// Form is a row's operand form: an index of forms.
type Form uint8

// The forms. G is an integer register, X a vector register, rm a register or memory.
const (
	FNone         Form = iota
	FMove              // G <- G/rm
	FLea               // G <- address
	FStore             // [mem] op= G
	FStoreImm          // [mem] op= imm
	FAlu               // G op= G/rm
	FAluImm            // G op= imm
	FCmp               // G op G/rm
	FTest              // G/rm op G
	FCmpImm            // G/rm op imm
	FMulImm            // G <- G/rm op imm
	FMul               // rdx:rax <- rax op G/rm
	FDiv               // rax, rdx <- rdx:rax op G/rm
	FSignRax           // rdx <- rax
	FUnary             // op G
	FShift             // G op= cl
	FVShift            // G <- G/rm op G
	FVAlu              // G <- G op G/rm
	FCmov              // G <- flags ? G/rm : G
	FSet               // G <- flags
	FZero              // G <- constant
	FConst             // G <- imm, in the opcode
	FPush              // push G
	FPop               // G <- pop
	FJump              // branch distance
	FJumpInd           // jump to G/rm
	FMem               // [mem]
	FImm               // imm only
	FXchg              // G <-> G
	FFMove             // X <- X/rm
	FFLoad             // X <- [mem]
	FFStore            // [mem] <- X
	FFAlu              // X op= X/rm
	FFAluImm           // X op= imm
	FFAluMask          // X op= X/rm by imm
	FFCmp              // X op X/rm
	FFMoveImm          // X <- X/rm by imm
	FFZero             // X <- constant
	FIntToF            // X <- G/rm
	FFToInt            // G <- X/rm
	FFBits             // G <- X, the result in rm
	FFMask             // G <- X
	FFVAlu             // X <- X op X/rm
	FFVAluMask         // X <- X op X/rm by imm
	FFVAluImm          // X <- X op imm
	FFPart             // X <- low part of X, or rm
	FFInsert           // X op= G/rm by imm
	FFVInsert          // X <- X op G/rm by imm
	FFMerge            // X op= low part of X, or rm
	FFVMerge           // X <- X op low part of X, or rm
	FFMergeBy          // X op= low part of X, or rm, by imm
	FFVMergeBy         // X <- X op low part of X, or rm, by imm
	FFLoadInto         // X op= [mem]
	FFVLoadInto        // X <- X op [mem]
	FFLoadIntoBy       // X op= [mem] by imm
	FFVLoadIntoBy      // X <- X op [mem] by imm
	FFExtract          // G <- X by imm, the result in rm
	FFMaskBy           // G <- X by imm
	FFStoreBy          // [mem] <- X by imm
	FFBlend            // X op= X/rm by xmm0
	FFVBlend           // X <- X op X/rm by X, whose number is an immediate
	FFMA               // X <- X op X op X/rm, the first of them the result
	numForms
)

// The roles: G or X, where Any: rm; again is the def in the place of role 0, again1 of role 1.
var (
	use     = Role{Access: ra.Use, Class: ra.Int, Constraint: ra.Reg}
	useAny  = Role{Access: ra.Use, Class: ra.Int, Constraint: ra.Any}
	def     = Role{Access: ra.Def, Class: ra.Int, Constraint: ra.Reg}
	mod     = Role{Access: ra.Use, Class: ra.Int, Constraint: ra.Reg, InPlace: true}
	again   = Role{Access: ra.Def, Class: ra.Int, Constraint: ra.Reuse}
	again1  = Role{Access: ra.Def, Class: ra.Int, Constraint: ra.Reuse, Arg: 1}
	early   = Role{Access: ra.EarlyDef, Class: ra.Int, Constraint: ra.Reg}
	fuse    = Role{Access: ra.Use, Class: ra.Float, Constraint: ra.Reg}
	fuseAny = Role{Access: ra.Use, Class: ra.Float, Constraint: ra.Any}
	fdef    = Role{Access: ra.Def, Class: ra.Float, Constraint: ra.Reg}
	fagain  = Role{Access: ra.Def, Class: ra.Float, Constraint: ra.Reuse}
	fuse0   = Role{Access: ra.Use, Class: ra.Float, Constraint: ra.Fixed, Arg: uint8(XMM0)}
)

// useIn and defIn are operands in a fixed register.
func useIn(r ra.PReg) Role {
	return Role{Access: ra.Use, Class: ra.Int, Constraint: ra.Fixed, Arg: uint8(r)}
}
func defIn(r ra.PReg) Role {
	return Role{Access: ra.Def, Class: ra.Int, Constraint: ra.Fixed, Arg: uint8(r)}
}

// forms is the table of forms: places, whether rm may be memory, text, roles.
var forms = [numForms]FormInfo{
	FNone:     {-1, -1, -1, -1, NoMem, "", nil},
	FMove:     {1, 0, -1, -1, MayMem, "10", []Role{useAny, def}},
	FLea:      {1, 0, -1, -1, MustMem, "10", []Role{use, def}},
	FStore:    {1, 0, -1, -1, MustMem, "01", []Role{use, use}},
	FStoreImm: {-1, 0, -1, -1, MustMem, "0i", []Role{use}},
	FAlu:      {0, 1, -1, -1, MayMem, "01", []Role{use, useAny, again}},
	FAluImm:   {-1, 0, -1, -1, NoMem, "0i", []Role{use, again}},
	FCmp:      {0, 1, -1, -1, MayMem, "01", []Role{use, useAny}},
	FTest:     {1, 0, -1, -1, MayMem, "01", []Role{useAny, use}},
	FCmpImm:   {-1, 0, -1, -1, MayMem, "0i", []Role{useAny}},
	FMulImm:   {1, 0, -1, -1, MayMem, "10i", []Role{useAny, def}},
	FMul:      {-1, 1, -1, -1, MayMem, "1", []Role{useIn(RAX), useAny, defIn(RAX), defIn(RDX)}},
	FDiv:      {-1, 2, -1, -1, MayMem, "2", []Role{useIn(RAX), useIn(RDX), useAny, defIn(RAX), defIn(RDX)}},
	FSignRax:  {-1, -1, -1, -1, NoMem, "", []Role{useIn(RAX), defIn(RDX)}},
	FUnary:    {-1, 0, -1, -1, NoMem, "0", []Role{use, again}},
	FShift:    {-1, 0, -1, -1, NoMem, "0c", []Role{use, useIn(RCX), again}},
	FVShift:   {2, 0, 1, -1, MayMem, "201", []Role{useAny, use, def}},
	FVAlu:     {2, 1, 0, -1, MayMem, "201", []Role{use, useAny, def}},
	FCmov:     {1, 0, -1, -1, MayMem, "10", []Role{useAny, use, again1}},
	FSet:      {-1, 0, -1, -1, NoMem, "0", []Role{def}},
	FZero:     {0, 0, -1, -1, NoMem, "00", []Role{def}},
	FConst:    {-1, -1, -1, 0, NoMem, "0i", []Role{def}},
	FPush:     {-1, -1, -1, 0, NoMem, "0", []Role{use}},
	FPop:      {-1, -1, -1, 0, NoMem, "0", []Role{def}},
	FJump:     {-1, -1, -1, -1, NoMem, "t", nil},
	FJumpInd:  {-1, 0, -1, -1, MayMem, "0", []Role{useAny}},
	FMem:      {-1, 0, -1, -1, MustMem, "0", []Role{use}},
	FImm:      {-1, -1, -1, -1, NoMem, "i", nil},
	FXchg:     {0, 1, -1, -1, NoMem, "01", []Role{mod, mod}},

	FFMove:    {1, 0, -1, -1, MayMem, "10", []Role{fuseAny, fdef}},
	FFLoad:    {1, 0, -1, -1, MustMem, "10", []Role{fuse, fdef}},
	FFStore:   {1, 0, -1, -1, MustMem, "01", []Role{fuse, fuse}},
	FFAlu:     {0, 1, -1, -1, MayMem, "01", []Role{fuse, fuseAny, fagain}},
	FFAluImm:  {-1, 0, -1, -1, NoMem, "0i", []Role{fuse, fagain}},
	FFAluMask: {0, 1, -1, -1, MayMem, "01i", []Role{fuse, fuseAny, fagain}},
	FFCmp:     {0, 1, -1, -1, MayMem, "01", []Role{fuse, fuseAny}},
	FFMoveImm: {1, 0, -1, -1, MayMem, "10i", []Role{fuseAny, fdef}},
	FFZero:    {0, 0, -1, -1, NoMem, "00", []Role{fdef}},
	FIntToF:   {1, 0, -1, -1, MayMem, "10", []Role{useAny, fdef}},
	FFToInt:   {1, 0, -1, -1, MayMem, "10", []Role{fuseAny, def}},
	FFBits:    {0, 1, -1, -1, NoMem, "10", []Role{fuse, def}},
	FFMask:    {1, 0, -1, -1, NoMem, "10", []Role{fuse, def}},
	FFVAlu:    {2, 1, 0, -1, MayMem, "201", []Role{fuse, fuseAny, fdef}},

	FFVAluMask:    {2, 1, 0, -1, MayMem, "201i", []Role{fuse, fuseAny, fdef}},
	FFVAluImm:     {-1, 0, 1, -1, NoMem, "10i", []Role{fuse, fdef}},
	FFPart:        {1, 0, -1, -1, MayMem, "10", []Role{fuse, fdef}},
	FFInsert:      {0, 1, -1, -1, MayMem, "01i", []Role{fuse, useAny, fagain}},
	FFVInsert:     {2, 1, 0, -1, MayMem, "201i", []Role{fuse, useAny, fdef}},
	FFMerge:       {0, 1, -1, -1, MayMem, "01", []Role{fuse, fuse, fagain}},
	FFVMerge:      {2, 1, 0, -1, MayMem, "201", []Role{fuse, fuse, fdef}},
	FFMergeBy:     {0, 1, -1, -1, MayMem, "01i", []Role{fuse, fuse, fagain}},
	FFVMergeBy:    {2, 1, 0, -1, MayMem, "201i", []Role{fuse, fuse, fdef}},
	FFLoadInto:    {0, 1, -1, -1, MustMem, "01", []Role{fuse, use, fagain}},
	FFVLoadInto:   {2, 1, 0, -1, MustMem, "201", []Role{fuse, use, fdef}},
	FFLoadIntoBy:  {0, 1, -1, -1, MustMem, "01i", []Role{fuse, use, fagain}},
	FFVLoadIntoBy: {2, 1, 0, -1, MustMem, "201i", []Role{fuse, use, fdef}},
	FFExtract:     {0, 1, -1, -1, NoMem, "10i", []Role{fuse, def}},
	FFMaskBy:      {1, 0, -1, -1, NoMem, "10i", []Role{fuse, def}},
	FFStoreBy:     {1, 0, -1, -1, MustMem, "01i", []Role{fuse, fuse}},
	FFBlend:       {0, 1, -1, -1, MayMem, "012", []Role{fuse, fuseAny, fuse0, fagain}},
	FFVBlend:      {3, 1, 0, -1, MayMem, "3012", []Role{fuse, fuseAny, fuse, fdef}},
	FFMA:          {0, 2, 1, -1, MayMem, "012", []Role{fuse, fuse, fuseAny, fagain}},
}
