package asm

import (
	"github.com/waot-project/waot/backend"
	ra "github.com/waot-project/waot/regalloc"
)

// Form is a row's operand form: an index of forms.
type Form uint8

// The forms. G is an integer register, X a vector register.
const (
	FNone      Form = iota
	FUnary          // G <- op G, in bits 5 to 9
	FUnaryM         // G <- op G, in bits 16 to 20, perhaps shifted
	FUnaryImm       // G <- G op imm
	FRotate         // G <- G op imm, the use in two places
	FAlu            // G <- G op G
	FAluShift       // G <- G op G, by imm
	FCmp            // G op G, by imm
	FCmpImm         // G op imm
	FConst          // G <- imm
	FKeep           // G op= imm
	FMulAdd         // G <- G op G op G
	FInsert         // G op= G, by imm
	FSelect         // G <- flags ? G : G
	FSet            // G <- flags
	FCondCmp        // G op G, by imm and flags
	FCondImm        // G op imm, by flags
	FBranch         // distance
	FBranchReg      // G, distance
	FBranchBit      // G, imm, distance
	FJumpReg        // to G
	FAdr            // G <- distance
	FImm            // imm only
	FLoad           // G <- [addr]
	FStore          // [addr] <- G
	FStoreZero      // [addr] <- zero
	FLoad2          // G, G <- [addr]
	FStore2         // [addr] <- G, G
	FLoad2W         // G, G <- [G] with write-back
	FStore2W        // [G] <- G, G with write-back
	FFLoad          // as those, of X
	FFStore
	FFLoad2
	FFStore2
	FFUnary          // X <- op X
	FFMove2          // X <- X, the use in two places
	FFConst          // X <- imm
	FFZero           // X <- 0
	FFAlu            // X <- X op X
	FFCmp            // X op X
	FFCmpZero        // X op 0
	FFCondCmp        // X op X, by imm and flags
	FFSelect         // X <- flags ? X : X
	FFInsert         // X op= X op X
	FFUnaryImm       // X <- X op imm
	FFUnaryZero      // X <- X op 0
	FFUnaryFloatZero // X <- X op 0.0
	FFAluImm         // X <- X op X op imm
	FFKeep           // X op= X
	FFKeepImm        // X op= X op imm
	FFByLane         // X <- X op lane of X
	FFInsertByLane   // X op= X op lane of X
	FFFromLane       // X <- lane of X
	FLaneToInt       // G <- lane of X
	FIntToLane       // lane of X <- G
	FFLaneToLane     // lane of X <- lane of X
	FFLoadLane       // lane of X <- [addr]
	FFStoreLane      // [addr] <- lane of X
	FIntToF          // X <- G
	FFToInt          // G <- X
	numForms
)

// The roles: G or X; again is the def in the place of role 0, fagain1 of role 1.
var (
	use     = Role{Access: ra.Use, Class: ra.Int, Constraint: ra.Reg}
	def     = Role{Access: ra.Def, Class: ra.Int, Constraint: ra.Reg}
	mod     = Role{Access: ra.Use, Class: ra.Int, Constraint: ra.Reg, InPlace: true}
	again   = Role{Access: ra.Def, Class: ra.Int, Constraint: ra.Reuse}
	fuse    = Role{Access: ra.Use, Class: ra.Float, Constraint: ra.Reg}
	fagain  = Role{Access: ra.Def, Class: ra.Float, Constraint: ra.Reuse}
	fagain1 = Role{Access: ra.Def, Class: ra.Float, Constraint: ra.Reuse, Arg: 1}
	fdef    = Role{Access: ra.Def, Class: ra.Float, Constraint: ra.Reg}
)

// forms is the table of forms: places in bits 0, 5, 16, 10; whether role 0 is an address; text; roles.
var forms = [numForms]FormInfo{
	FNone:            {-1, -1, -1, -1, false, "", nil},
	FUnary:           {1, 0, -1, -1, false, "10", []Role{use, def}},
	FUnaryM:          {1, -1, 0, -1, false, "10i", []Role{use, def}},
	FUnaryImm:        {1, 0, -1, -1, false, "10i", []Role{use, def}},
	FRotate:          {1, 0, 0, -1, false, "10i", []Role{use, def}},
	FAlu:             {2, 0, 1, -1, false, "201", []Role{use, use, def}},
	FAluShift:        {2, 0, 1, -1, false, "201i", []Role{use, use, def}},
	FCmp:             {-1, 0, 1, -1, false, "01i", []Role{use, use}},
	FCmpImm:          {-1, 0, -1, -1, false, "0i", []Role{use}},
	FConst:           {0, -1, -1, -1, false, "0i", []Role{def}},
	FKeep:            {0, -1, -1, -1, false, "0i", []Role{use, again}},
	FMulAdd:          {3, 0, 1, 2, false, "3012", []Role{use, use, use, def}},
	FInsert:          {0, 1, -1, -1, false, "01i", []Role{use, use, again}},
	FSelect:          {2, 0, 1, -1, false, "201c", []Role{use, use, def}},
	FSet:             {0, -1, -1, -1, false, "0c", []Role{def}},
	FCondCmp:         {-1, 0, 1, -1, false, "01ic", []Role{use, use}},
	FCondImm:         {-1, 0, -1, -1, false, "0ic", []Role{use}},
	FBranch:          {-1, -1, -1, -1, false, "t", nil},
	FBranchReg:       {0, -1, -1, -1, false, "0t", []Role{use}},
	FBranchBit:       {0, -1, -1, -1, false, "0it", []Role{use}},
	FJumpReg:         {-1, 0, -1, -1, false, "0", []Role{use}},
	FAdr:             {0, -1, -1, -1, false, "0t", []Role{def}},
	FImm:             {-1, -1, -1, -1, false, "i", nil},
	FLoad:            {1, 0, -1, -1, true, "10", []Role{use, def}},
	FStore:           {1, 0, -1, -1, true, "10", []Role{use, use}},
	FStoreZero:       {-1, 0, -1, -1, true, "r0", []Role{use}},
	FLoad2:           {1, 0, -1, 2, true, "120", []Role{use, def, def}},
	FStore2:          {1, 0, -1, 2, true, "120", []Role{use, use, use}},
	FLoad2W:          {1, 0, -1, 2, true, "120", []Role{mod, def, def}},
	FStore2W:         {1, 0, -1, 2, true, "120", []Role{mod, use, use}},
	FFLoad:           {1, 0, -1, -1, true, "10", []Role{use, fdef}},
	FFStore:          {1, 0, -1, -1, true, "10", []Role{use, fuse}},
	FFLoad2:          {1, 0, -1, 2, true, "120", []Role{use, fdef, fdef}},
	FFStore2:         {1, 0, -1, 2, true, "120", []Role{use, fuse, fuse}},
	FFUnary:          {1, 0, -1, -1, false, "10", []Role{fuse, fdef}},
	FFMove2:          {1, 0, 0, -1, false, "10", []Role{fuse, fdef}},
	FFConst:          {0, -1, -1, -1, false, "0i", []Role{fdef}},
	FFZero:           {0, -1, -1, -1, false, "0z", []Role{fdef}},
	FFAlu:            {2, 0, 1, -1, false, "201", []Role{fuse, fuse, fdef}},
	FFCmp:            {-1, 0, 1, -1, false, "01", []Role{fuse, fuse}},
	FFCmpZero:        {-1, 0, -1, -1, false, "0f", []Role{fuse}},
	FFCondCmp:        {-1, 0, 1, -1, false, "01ic", []Role{fuse, fuse}},
	FFSelect:         {2, 0, 1, -1, false, "201c", []Role{fuse, fuse, fdef}},
	FFInsert:         {0, 1, 2, -1, false, "012", []Role{fuse, fuse, fuse, fagain}},
	FFUnaryImm:       {1, 0, -1, -1, false, "10i", []Role{fuse, fdef}},
	FFUnaryZero:      {1, 0, -1, -1, false, "10z", []Role{fuse, fdef}},
	FFUnaryFloatZero: {1, 0, -1, -1, false, "10f", []Role{fuse, fdef}},
	FFAluImm:         {2, 0, 1, -1, false, "201i", []Role{fuse, fuse, fdef}},
	FFKeep:           {0, 1, -1, -1, false, "01", []Role{fuse, fuse, fagain}},
	FFKeepImm:        {0, 1, -1, -1, false, "01i", []Role{fuse, fuse, fagain}},
	FFByLane:         {2, 0, 1, -1, false, "201l", []Role{fuse, fuse, fdef}},
	FFInsertByLane:   {0, 1, 2, -1, false, "012l", []Role{fuse, fuse, fuse, fagain}},
	FFFromLane:       {1, 0, -1, -1, false, "10l", []Role{fuse, fdef}},
	FLaneToInt:       {1, 0, -1, -1, false, "10l", []Role{fuse, def}},
	FIntToLane:       {0, 1, -1, -1, false, "0l1", []Role{fuse, use, fagain}},
	FFLaneToLane:     {0, 1, -1, -1, false, "0l1m", []Role{fuse, fuse, fagain}},
	FFLoadLane:       {1, 0, -1, -1, true, "1l0", []Role{use, fuse, fagain1}},
	FFStoreLane:      {1, 0, -1, -1, true, "1l0", []Role{use, fuse}},
	FIntToF:          {1, 0, -1, -1, false, "10", []Role{use, fdef}},
	FFToInt:          {1, 0, -1, -1, false, "10", []Role{fuse, def}},
}

// numAddr returns the number of operands (base, then index) that stand in the place
// of an address in mode m: 0 to 2; 1 for ModeNone.
func numAddr(m backend.Mode) int {
	if m == modeLow12 {
		return 1
	}
	return m.NumRegs()
}

// place returns the number of role i's first operand.
func (f *FormInfo) place(i int, m backend.Mode) int {
	if f.Addr && i > 0 {
		return i + numAddr(m) - 1
	}
	return i
}
