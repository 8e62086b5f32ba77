package opt

import (
	"sync"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
)

// Rule names a rewrite: whatever the mid-end changes is an application of one.
type Rule uint8

// The rules, in the order of the table.
const (
	RuleFoldInt Rule = iota
	RuleConstRight
	RuleAddZero
	RuleSubConst
	RuleMulZero
	RuleMulOne
	RuleMulMinusOne
	RuleMulPow2
	RuleMulHigh
	RuleMulLow
	RuleCarryBits
	RuleUdivOne
	RuleUdivPow2
	RuleUdivConst
	RuleSdivOne
	RuleSdivPow2
	RuleSdivConst
	RuleUremPow2
	RuleUremConst
	RuleSremConst
	RuleAndZero
	RuleAndOnes
	RuleAndKnown
	RuleAndLowHalf
	RuleOrZero
	RuleOrOnes
	RuleXorZero
	RuleNotSub
	RuleNotAdd
	RuleReassociate
	RuleSameZero
	RuleSameFirst
	RuleShiftZero
	RuleShiftFar
	RuleShiftMask
	RuleShiftExtend
	RuleFoldCount
	RuleFoldExtend
	RuleSextendReduce
	RuleUextendReduce
	RuleSext32Uextend
	RuleSextTwice
	RuleSextPositive
	RuleSextendPositive
	RuleFoldReduce
	RuleReduceExtend
	RuleReduceSext32
	RuleReduceMask
	RuleReduceAnd
	RuleReduceShl
	RuleReduceArith
	RuleReduceOnly
	RuleFoldIcmp
	RuleIcmpSame
	RuleIcmpConstRight
	RuleIcmpNever
	RuleIcmpZero
	RuleIcmpDecided
	RuleIcmpBool
	RuleIcmpInvert
	RuleIcmpExtendZero
	RuleIcmpExtends
	RuleIcmpExtendConst
	RuleIcmpExtendFar
	RuleSelectSame
	RuleSelectDecided
	RuleSelectStrip
	RuleSelectBool
	RuleBitcastBack
	RuleFoldBitcast
	RuleFoldFloat
	RuleFoldFcvt
	RuleFoldVector
	RuleVnotCompare
	RuleVandNot
	RuleVxorOnes
	RuleVandnotOnes
	RuleVandnotNot
	RuleVaddNeg
	RuleVsubNeg
	RuleVsubFromZero
	RuleVsubExtreme
	RuleVmulExtends
	RuleVmaxNeg
	RuleVshiftZero
	RuleVshiftFar
	RuleVshiftMask
	RuleVconstRight
	RuleVneutral
	RuleVabsorbing
	RuleVzeroing
	RuleVsameFirst
	RuleVsameZero
	RuleVassociate
	RuleVpair
	RuleVandnotConst
	RuleVmulMinusOne
	RuleVmulPow2
	RuleVextmulBytes
	RuleVicmpSame
	RuleVicmpConstRight
	RuleVicmpNever
	RuleVicmpZero
	RuleVchoiceSame
	RuleVchoiceTop
	RuleVchoiceNot
	RuleVchoiceExtreme
	RuleVchoiceDistance
	RuleVchoiceConst
	RuleVchoiceZero
	RuleVchoiceOnes
	RuleVtrueNonzero
	RuleVtrueZero
	RuleVbitmaskTop
	RuleLaneMask
	RuleSplatExtract
	RuleExtractSplat
	RuleExtractInserted
	RuleExtractOther
	RuleExtractShuffle
	RuleInsertExtracted
	RuleInsertTwice
	RuleShuffleOne
	RuleShuffleStays
	RuleShuffleTwice
	RuleSwizzleConst
	RuleSizeFixed
	RuleGlobalFixed
	RuleFieldFixed
	RuleEntryFixed
	RuleBoundConst
	RuleNullConst
	RuleNullMade
	RuleTestMade
	RuleTestHeld
	RuleLenMade
	RuleSigConst
	RuleSigOne
	RuleCallKnown
	RuleCallHeld
	RuleEqual
	RuleEqualCheck
	RuleLoadKnown
	RuleLoadLow
	RuleAddressSum
	RuleStoreSame
	RuleStoreOver
	RuleStoreBorn
	RuleCopySmall
	RuleFillSmall
	RuleTrapIfStrip
	RuleTrapIfNever
	RuleTrapIfAlways
	RuleBranchStrip
	RuleBranchDecided
	RuleBranchAgree
	RuleTailSelf
	RuleNonzeroResult
	RuleTableConst
	RuleTableOne
	RuleConditionKnown
	RuleMergeBlock
	RuleThreadEdge
	RuleEdgesAgree
	RuleThreadTable
	RuleThreadBranch
	RuleParamSame
	RuleBranchSelect
	RuleCountFromZero
	RuleExitValue
	RuleObjectUnseen
	RuleCopyResumed
	RuleAddressBounded
	RuleDead
	RuleAllocateInLine
	RuleByteCopy
	RuleByteFill
	RuleByteCompare
	NumRules
)

const (
	onNarrow clif.TypeSet = 1 << clif.I32
	onWide   clif.TypeSet = 1 << clif.I64
	onInt                 = onNarrow | onWide
	onFloat  clif.TypeSet = 1<<clif.F32 | 1<<clif.F64
	onNumber              = onInt | onFloat
	onRef    clif.TypeSet = 1<<clif.Ref | 1<<clif.FuncRef
	onAny                 = onNumber | onRef | onV128

	onV128         clif.TypeSet = 1 << clif.V128
	onBytes        clif.TypeSet = 1 << clif.I8x16
	onSmallShapes               = onBytes | 1<<clif.I16x8
	onNarrowShapes              = onSmallShapes | 1<<clif.I32x4
	onWideShapes   clif.TypeSet = 1<<clif.I16x8 | 1<<clif.I32x4 | 1<<clif.I64x2
	onIntShapes                 = onBytes | onWideShapes
	onShapes                    = onIntShapes | 1<<clif.F32x4 | 1<<clif.F64x2
	onVector                    = onV128 | onShapes
)

// code is why a rule of the pass fold is code and no row. The rules of other passes are what their pass does.
type code uint8

const (
	noCode      code = iota
	codeSearch       // it searches sums and products of any size, and counts its work
	codeEval         // it computes whatever opcode of vectors there is, with one to three operands
	codeModule       // it asks what the module declares, or for functions
	codeRef          // it asks what a reference is, and rows know numbers only
	codeEqual        // it asks for what was computed before
	codeMemory       // it asks what was read and written before, or makes accesses
	codeEffect       // the instruction has no result that a row could give
	codeControl      // it changes edges
)

// ruleDef is a row of the table of rules: what it does is text that is executed, or code. Where several rows of rules fit an instruction, the first one is applied, in the order of the table.
type ruleDef struct {
	Name string
	Pass string
	// Row is what the rule does: see rows.go. It is what is executed.
	Row string
	// Last: where the left of the rule's row fits, no later row is tried, though a condition does not hold or the rule is off.
	Last bool
	// Code is why a rule of the pass fold is Go code, and What says in words what it does.
	Code code
	What string
	// Types are the types of the instructions to which it applies, 0 where they have none. A row asks for them.
	Types clif.TypeSet
}

var ruleDefs = [NumRules]ruleDef{
	RuleFoldInt:         {Name: "fold-int", Pass: "fold", Row: "(iadd|isub|imul|umulhi|smulhi|udiv|sdiv|urem|srem|band|bor|bxor|ishl|ushr|sshr|rotl|rotr k j) when computable => k:computed", Last: true, Types: onInt},
	RuleConstRight:      {Name: "const-right", Pass: "fold", Row: "(iadd|imul|umulhi|smulhi|band|bor|bxor k x) => (op x k)", Types: onInt},
	RuleAddZero:         {Name: "add-zero", Pass: "fold", Row: "(iadd x 0) => x", Types: onInt},
	RuleSubConst:        {Name: "sub-const", Pass: "fold", Row: "(isub x k) => (iadd x k:neg)", Types: onInt},
	RuleMulZero:         {Name: "mul-zero", Pass: "fold", Row: "(imul x k:zero) => k", Types: onInt},
	RuleMulOne:          {Name: "mul-one", Pass: "fold", Row: "(imul x 1) => x", Types: onInt},
	RuleMulMinusOne:     {Name: "mul-minus-one", Pass: "fold", Row: "(imul x -1) => (isub 0 x)", Types: onInt},
	RuleMulPow2:         {Name: "mul-pow2", Pass: "fold", Row: "(imul x k:pow2) => (ishl x k:log2)", Types: onInt},
	RuleMulHigh:         {Name: "mul-high", Pass: "fold", Code: codeSearch, What: "the high word of x * y from products of halves => umulhi x, y", Types: onWide},
	RuleMulLow:          {Name: "mul-low", Pass: "fold", Code: codeSearch, What: "the low word of x * y from products of halves => x * y", Types: onWide},
	RuleCarryBits:       {Name: "carry-bits", Pass: "fold", Code: codeSearch, What: "the carry of x + y, the borrow of x - y from their bits => x + y <u x, x <u y", Types: onWide},
	RuleUdivOne:         {Name: "udiv-one", Pass: "fold", Row: "(udiv x 1) => x", Types: onInt},
	RuleUdivPow2:        {Name: "udiv-pow2", Pass: "fold", Row: "(udiv x k:pow2) => (ushr x k:log2)", Types: onInt},
	RuleUdivConst:       {Name: "udiv-const", Pass: "fold", Row: "(udiv x k:uneven) => udiv-multiply", Types: onInt},
	RuleSdivOne:         {Name: "sdiv-one", Pass: "fold", Row: "(sdiv x 1) => x", Types: onInt},
	RuleSdivPow2:        {Name: "sdiv-pow2", Pass: "fold", Row: "(sdiv x k:signed-pow2) => sdiv-multiply", Types: onInt},
	RuleSdivConst:       {Name: "sdiv-const", Pass: "fold", Row: "(sdiv x k:signed-uneven) => sdiv-multiply", Types: onInt},
	RuleUremPow2:        {Name: "urem-pow2", Pass: "fold", Row: "(urem x k:pow2) => (band x k:dec)", Types: onInt},
	RuleUremConst:       {Name: "urem-const", Pass: "fold", Row: "(urem x k:uneven) => urem-multiply", Types: onInt},
	RuleSremConst:       {Name: "srem-const", Pass: "fold", Row: "(srem x k:beyond-one) => srem-multiply", Types: onInt},
	RuleAndZero:         {Name: "and-zero", Pass: "fold", Row: "(band x k:zero) => k", Types: onInt},
	RuleAndOnes:         {Name: "and-ones", Pass: "fold", Row: "(band x -1) => x", Types: onInt},
	RuleAndKnown:        {Name: "and-known", Pass: "fold", Row: "(band x k) when zero-outside => x", Types: onInt},
	RuleAndLowHalf:      {Name: "and-low-half", Pass: "fold", Row: "(band.i64 x k:low-half) => (uextend (ireduce.i32 x))", Types: onWide},
	RuleOrZero:          {Name: "or-zero", Pass: "fold", Row: "(bor x 0) => x", Types: onInt},
	RuleOrOnes:          {Name: "or-ones", Pass: "fold", Row: "(bor x k:ones) => k", Types: onInt},
	RuleXorZero:         {Name: "xor-zero", Pass: "fold", Row: "(bxor x 0) => x", Types: onInt},
	RuleNotSub:          {Name: "not-sub", Pass: "fold", Row: "(bxor (isub k x) -1) => (iadd x k:not)", Types: onInt},
	RuleNotAdd:          {Name: "not-add", Pass: "fold", Row: "(bxor (iadd (bxor x k) j) -1) => (iadd (bxor x k:not) j:neg)", Types: onInt},
	RuleReassociate:     {Name: "reassociate", Pass: "fold", Row: "(iadd|imul|band|bor|bxor (op x k) j) => (op x k:computed)", Types: onInt},
	RuleSameZero:        {Name: "same-zero", Pass: "fold", Row: "(isub|bxor x x) => 0", Types: onInt},
	RuleSameFirst:       {Name: "same-first", Pass: "fold", Row: "(band|bor x x) => x", Types: onInt},
	RuleShiftZero:       {Name: "shift-zero", Pass: "fold", Row: "(ishl|ushr|sshr|rotl|rotr x k:turns) => x", Types: onInt},
	RuleShiftFar:        {Name: "shift-far", Pass: "fold", Row: "(ishl|ushr|sshr|rotl|rotr x k:far) => (op x k:mod-width)", Types: onInt},
	RuleShiftMask:       {Name: "shift-mask", Pass: "fold", Row: "(ishl|ushr|sshr|rotl|rotr x (band y k:amount)) => (op x y)", Types: onInt},
	RuleShiftExtend:     {Name: "shift-extend", Pass: "fold", Row: "(sshr (ishl x k:above-byte) k) => (sext8 x); (sshr (ishl x k:above-two) k) => (sext16 x); (sshr.i64 (ishl x k:above-four) k) => (sext32 x)", Types: onInt},
	RuleFoldCount:       {Name: "fold-count", Pass: "fold", Row: "(clz|ctz|popcnt k) => k:counted", Types: onInt},
	RuleFoldExtend:      {Name: "fold-extend", Pass: "fold", Row: "(sext8|sext16|sext32|uextend|sextend k) => k:extended", Types: onInt},
	RuleSextendReduce:   {Name: "sextend-reduce", Pass: "fold", Row: "(sextend (ireduce.i32 x)) => (sext32 x)", Types: onWide},
	RuleUextendReduce:   {Name: "uextend-reduce", Pass: "fold", Row: "(uextend (ireduce.i32 x)) when upper-zero => x", Types: onWide},
	RuleSext32Uextend:   {Name: "sext32-uextend", Pass: "fold", Row: "(sext32 (uextend x)) => (sextend x)", Types: onWide},
	RuleSextTwice:       {Name: "sext-twice", Pass: "fold", Row: "(sext32 x=(sextend y)) => x; (sext8|sext16|sext32 x=(op y)) => x", Types: onInt},
	RuleSextPositive:    {Name: "sext-positive", Pass: "fold", Row: "(sext8|sext16|sext32 x) when positive => x", Types: onInt},
	RuleSextendPositive: {Name: "sextend-positive", Pass: "fold", Row: "(sextend x) when positive => (uextend x)", Types: onWide},
	RuleFoldReduce:      {Name: "fold-reduce", Pass: "fold", Row: "(ireduce k) => k:low", Types: onNarrow},
	RuleReduceExtend:    {Name: "reduce-extend", Pass: "fold", Row: "(ireduce (uextend|sextend.i64 x)) => x", Types: onNarrow},
	RuleReduceSext32:    {Name: "reduce-sext32", Pass: "fold", Row: "(ireduce (sext32.i64 x)) => (ireduce x)", Types: onNarrow},
	RuleReduceMask:      {Name: "reduce-mask", Pass: "fold", Row: "(ireduce (band.i64 x k:low-ones)) => (ireduce x)", Types: onNarrow},
	RuleReduceAnd:       {Name: "reduce-and", Pass: "fold", Row: "(ireduce (band.i64 x:extended k)) => (band x:low k:low)", Types: onNarrow},
	RuleReduceShl:       {Name: "reduce-shl", Pass: "fold", Row: "(ireduce (ishl.i64 x:extended k:stays-low)) => (ishl x:low k:mod64)", Types: onNarrow},
	RuleReduceArith:     {Name: "reduce-arith", Pass: "fold", Row: "(ireduce (iadd|isub|imul|bor|bxor.i64 x:extended y:extended)) => (in x:low y:low)", Types: onNarrow},
	RuleReduceOnly:      {Name: "reduce-only", Pass: "fold", Row: "(ireduce (ishl.i64 x k:below32)) when only-low => (ishl (ireduce x) k:low); (ireduce (iadd|isub|imul|band|bor|bxor.i64 x y)) when only-low => (in (ireduce x) (ireduce y))", Types: onNarrow},
	RuleFoldIcmp:        {Name: "fold-icmp", Pass: "fold", Row: "(icmp k j) => k:compared", Types: onInt},
	RuleIcmpSame:        {Name: "icmp-same", Pass: "fold", Row: "(icmp:eq|sle|sge|ule|uge x x) => 1; (icmp:ne|slt|sgt|ult|ugt x x) => 0", Types: onInt},
	RuleIcmpConstRight:  {Name: "icmp-const-right", Pass: "fold", Row: "(icmp k x:var) => (icmp:swapped x k)", Types: onInt},
	RuleIcmpNever:       {Name: "icmp-never", Pass: "fold", Row: "(icmp:ult x 0) => 0; (icmp:uge x 0) => 1", Types: onInt},
	RuleIcmpZero:        {Name: "icmp-zero", Pass: "fold", Row: "(icmp:ugt x k:zero) => (icmp:ne x k); (icmp:ule x k:zero) => (icmp:eq x k)", Types: onInt},
	RuleIcmpDecided:     {Name: "icmp-decided", Pass: "fold", Row: "(icmp:eq|ne.i32 x 0) when decided-before => decided-equal", Types: onNarrow},
	RuleIcmpBool:        {Name: "icmp-bool", Pass: "fold", Row: "(icmp:ne x=(icmp|fcmp|ref_is_null|vany_true|vall_true.any) 0) => x", Types: onNarrow},
	RuleIcmpInvert:      {Name: "icmp-invert", Pass: "fold", Row: "(icmp:eq (icmp.any x y) 0) => (icmp:inverse.any x y)", Types: onNarrow},
	RuleIcmpExtendZero:  {Name: "icmp-extend-zero", Pass: "fold", Row: "(icmp:eq|ne.i64 (uextend|sextend x) 0) => (icmp:cc.i32 x 0)", Types: onWide},
	RuleIcmpExtends:     {Name: "icmp-extends", Pass: "fold", Row: "(icmp.i64 (uextend x) (uextend y)) => (icmp:unsigned.i32 x y); (icmp.i64 (sextend x) (sextend y)) => (icmp:cc.i32 x y)", Types: onWide},
	RuleIcmpExtendConst: {Name: "icmp-extend-const", Pass: "fold", Row: "(icmp.i64 (uextend x) k:below-half) => (icmp:unsigned.i32 x k:low); (icmp.i64 (sextend x) k:signed-half) => (icmp:cc.i32 x k:low)", Types: onWide},
	RuleIcmpExtendFar:   {Name: "icmp-extend-far", Pass: "fold", Row: "(icmp.i64 (uextend x) k:beyond-half) => k:compared-far", Types: onWide},
	RuleSelectSame:      {Name: "select-same", Pass: "fold", Row: "(select x y y) => y", Types: onAny},
	RuleSelectDecided:   {Name: "select-decided", Pass: "fold", Row: "(select x y z) when decided => chosen", Types: onAny},
	RuleSelectStrip:     {Name: "select-strip", Pass: "fold", Row: "(select x y z) when stripped => strip", Types: onAny},
	RuleSelectBool:      {Name: "select-bool", Pass: "fold", Row: "(select x k j) when booleans => as-condition", Types: onInt},
	RuleBitcastBack:     {Name: "bitcast-back", Pass: "fold", Row: "(bitcast (bitcast.any x)) => x", Types: onNumber},
	RuleFoldBitcast:     {Name: "fold-bitcast", Pass: "fold", Row: "(bitcast k) => k:bits", Types: onNumber},
	RuleFoldFloat:       {Name: "fold-float", Pass: "fold", Row: "(fadd|fsub|fmul|fdiv k j) when computable => k:computed", Types: onFloat},
	RuleFoldFcvt:        {Name: "fold-fcvt", Pass: "fold", Row: "(fpromote|fdemote k) when computable => k:computed", Types: onFloat},
	RuleFoldVector:      {Name: "fold-vector", Pass: "fold", Code: codeEval, What: "op of constants => constant, no NaN that is computed", Types: onVector},
	RuleVnotCompare:     {Name: "vnot-compare", Pass: "fold", Row: "(vnot (vicmp.any x y)) => (vicmp:inverse.any x y); (vnot (vfcmp:eq.any x y)) => (vfcmp:ne.any x y); (vnot (vfcmp:ne.any x y)) => (vfcmp:eq.any x y)", Types: onV128},
	RuleVandNot:         {Name: "vand-not", Pass: "fold", Row: "(vand~ x (vnot y)) => (vandnot x y)", Types: onV128},
	RuleVxorOnes:        {Name: "vxor-ones", Pass: "fold", Row: "(vxor x -1) => (vnot x)", Types: onV128},
	RuleVandnotOnes:     {Name: "vandnot-ones", Pass: "fold", Row: "(vandnot -1 x) => (vnot x)", Types: onV128},
	RuleVandnotNot:      {Name: "vandnot-not", Pass: "fold", Row: "(vandnot x (vnot y)) => (vand x y)", Types: onV128},
	RuleVaddNeg:         {Name: "vadd-neg", Pass: "fold", Row: "(vadd~ x (vneg y)) => (vsub x y)", Types: onIntShapes},
	RuleVsubNeg:         {Name: "vsub-neg", Pass: "fold", Row: "(vsub x (vneg y)) => (vadd x y)", Types: onIntShapes},
	RuleVsubFromZero:    {Name: "vsub-from-zero", Pass: "fold", Row: "(vsub 0 x) => (vneg x)", Types: onIntShapes},
	RuleVsubExtreme:     {Name: "vsub-extreme", Pass: "fold", Row: "(vsub (vmax_u~ x y) y) => (vsub_sat_u x y); (vsub x (vmin_u~ x y)) => (vsub_sat_u x y)", Types: onSmallShapes},
	RuleVmulExtends: {Name: "vmul-extends", Pass: "fold", Row: "(vmul (vextend_low_s x) (vextend_low_s y)) => (vextmul_low_s x y); " +
		"(vmul (vextend_low_u x) (vextend_low_u y)) => (vextmul_low_u x y); " +
		"(vmul (vextend_high_s x) (vextend_high_s y)) => (vextmul_high_s x y); " +
		"(vmul (vextend_high_u x) (vextend_high_u y)) => (vextmul_high_u x y)", Types: 1<<clif.I32x4 | 1<<clif.I64x2},
	RuleVmaxNeg:     {Name: "vmax-neg", Pass: "fold", Row: "(vmax_s~ x (vneg x)) => (vabs x)", Types: onNarrowShapes},
	RuleVshiftZero:  {Name: "vshift-zero", Pass: "fold", Row: "(vshl|vshr_s|vshr_u x k:turns) => x", Types: onIntShapes},
	RuleVshiftFar:   {Name: "vshift-far", Pass: "fold", Row: "(vshl|vshr_s|vshr_u x k:far) => (op x k:mod-width)", Types: onIntShapes},
	RuleVshiftMask:  {Name: "vshift-mask", Pass: "fold", Row: "(vshl|vshr_s|vshr_u x (band.i32 y k:amount)) => (op x y)", Types: onIntShapes},
	RuleVconstRight: {Name: "vconst-right", Pass: "fold", Row: "(vand|vor|vxor|vadd|vmul|vadd_sat_s|vadd_sat_u|vmin_s|vmin_u|vmax_s|vmax_u|vavgr_u|vq15mulr|vq15mulr_sat|vdot|vextmul_low_s|vextmul_low_u|vextmul_high_s|vextmul_high_u k x:var) => (op x k)", Types: onV128 | onIntShapes},
	RuleVneutral:    {Name: "vneutral", Pass: "fold", Row: "(vand|vmin_u x -1) => x; (vor|vxor|vandnot|vadd|vsub|vadd_sat_s|vadd_sat_u|vsub_sat_s|vsub_sat_u|vmax_u x 0) => x; (vmul x 1) => x; (vmin_s x k:greatest) => x; (vmax_s x k:least) => x", Types: onV128 | onIntShapes},
	RuleVabsorbing: {Name: "vabsorbing", Pass: "fold", Row: "(vand|vmin_u|vmul|vq15mulr|vq15mulr_sat|vdot|vdot_us|vextmul_low_s|vextmul_low_u|vextmul_high_s|vextmul_high_u x k:zero) => k; " +
		"(vor|vadd_sat_u|vmax_u x k:ones) => k; " +
		"(vmin_s x k:least) => k; " +
		"(vmax_s x k:greatest) => k; " +
		"(vandnot|vsub_sat_u|vdot_us|vshl|vshr_s|vshr_u|vswizzle|vswizzle_mod k:zero x) => k", Types: onV128 | onIntShapes},
	RuleVzeroing:     {Name: "vzeroing", Pass: "fold", Row: "(vandnot|vsub_sat_u x -1) => 0", Types: onV128 | onSmallShapes},
	RuleVsameFirst:   {Name: "vsame-first", Pass: "fold", Row: "(vand|vor|vmin_s|vmin_u|vmax_s|vmax_u|vavgr_u x x) => x", Types: onV128 | onNarrowShapes},
	RuleVsameZero:    {Name: "vsame-zero", Pass: "fold", Row: "(vxor|vandnot|vsub|vsub_sat_s|vsub_sat_u x x) => 0", Types: onV128 | onIntShapes},
	RuleVassociate:   {Name: "vassociate", Pass: "fold", Row: "(vand|vor|vxor|vadd|vmul (op x k) j) => (op x (op k j))", Types: onV128 | onIntShapes},
	RuleVpair:        {Name: "vpair", Pass: "fold", Row: "(vnot|vneg|vfneg (op x)) => x; (vabs|vfabs x=(op y)) => x; (vabs (vneg x)) => (op x); (vfabs (vfneg x)) => (op x)", Types: onV128 | onShapes},
	RuleVandnotConst: {Name: "vandnot-const", Pass: "fold", Row: "(vandnot x k) => (vand x (vnot k))", Types: onV128},
	RuleVmulMinusOne: {Name: "vmul-minus-one", Pass: "fold", Row: "(vmul x -1) => (vneg x)", Types: onWideShapes},
	RuleVmulPow2:     {Name: "vmul-pow2", Pass: "fold", Row: "(vmul x k:pow2) => (vshl x k:log2)", Types: onWideShapes},
	RuleVextmulBytes: {Name: "vextmul-bytes", Pass: "fold", Row: "(vextmul_low_s x:var y:var) => (vmul (vextend_low_s x) (vextend_low_s y)); " +
		"(vextmul_low_u x:var y:var) => (vmul (vextend_low_u x) (vextend_low_u y)); " +
		"(vextmul_high_s x:var y:var) => (vmul (vextend_high_s x) (vextend_high_s y)); " +
		"(vextmul_high_u x:var y:var) => (vmul (vextend_high_u x) (vextend_high_u y))", Types: 1 << clif.I16x8},
	RuleVicmpSame:       {Name: "vicmp-same", Pass: "fold", Row: "(vicmp:eq|sle|sge|ule|uge x x) => -1; (vicmp:ne|slt|sgt|ult|ugt x x) => 0", Types: onIntShapes},
	RuleVicmpConstRight: {Name: "vicmp-const-right", Pass: "fold", Row: "(vicmp k x:var) => (vicmp:swapped x k)", Types: onIntShapes},
	RuleVicmpNever:      {Name: "vicmp-never", Pass: "fold", Row: "(vicmp:ult x 0) => 0; (vicmp:uge x 0) => -1", Types: onIntShapes},
	RuleVicmpZero:       {Name: "vicmp-zero", Pass: "fold", Row: "(vicmp:ugt x k:zero) => (vicmp:ne x k); (vicmp:ule x k:zero) => (vicmp:eq x k)", Types: onIntShapes},
	RuleVchoiceSame:     {Name: "vchoice-same", Pass: "fold", Row: "(vbitselect|vselect_top x x y) => x", Types: onV128 | onIntShapes},
	RuleVchoiceTop:      {Name: "vchoice-top", Pass: "fold", Row: "(vselect_top x y k) => (vbitselect.v128 x y (vicmp:slt k 0))", Types: onIntShapes},
	RuleVchoiceNot:      {Name: "vchoice-not", Pass: "fold", Row: "(vbitselect|vselect_top x y (vnot.v128 z)) => (op y x z)", Types: onV128 | onIntShapes},
	RuleVchoiceExtreme: {Name: "vchoice-extreme", Pass: "fold", Row: "(vbitselect|vselect_top x y (vicmp:slt|sle.any x y)) when same-lanes => (vmin_s.any x y); " +
		"(vbitselect|vselect_top y x (vicmp:slt|sle.any x y)) when same-lanes => (vmax_s.any x y); " +
		"(vbitselect|vselect_top x y (vicmp:sgt|sge.any x y)) when same-lanes => (vmax_s.any x y); " +
		"(vbitselect|vselect_top y x (vicmp:sgt|sge.any x y)) when same-lanes => (vmin_s.any x y); " +
		"(vbitselect|vselect_top x y (vicmp:ult|ule.any x y)) when same-lanes => (vmin_u.any x y); " +
		"(vbitselect|vselect_top y x (vicmp:ult|ule.any x y)) when same-lanes => (vmax_u.any x y); " +
		"(vbitselect|vselect_top x y (vicmp:ugt|uge.any x y)) when same-lanes => (vmax_u.any x y); " +
		"(vbitselect|vselect_top y x (vicmp:ugt|uge.any x y)) when same-lanes => (vmin_u.any x y); " +
		"(vbitselect x y (vfcmp:lt.any x y)) => (vfpmin.any y x); " +
		"(vbitselect y x (vfcmp:lt.any x y)) => (vfpmax.any x y); " +
		"(vbitselect x y (vfcmp:gt.any x y)) => (vfpmax.any y x); " +
		"(vbitselect y x (vfcmp:gt.any x y)) => (vfpmin.any x y)", Types: onV128 | onNarrowShapes},
	RuleVchoiceDistance: {Name: "vchoice-distance", Pass: "fold", Row: "(vbitselect|vselect_top (vsub.any x y) (vsub.same y x) (vicmp:slt|sle.same x y)) when same-lanes => (vsub.any (vmin_s.any x y) (vmax_s.any x y)); " +
		"(vbitselect|vselect_top (vsub.any y x) (vsub.same x y) (vicmp:slt|sle.same x y)) when same-lanes => (vsub.any (vmax_s.any x y) (vmin_s.any x y)); " +
		"(vbitselect|vselect_top (vsub.any x y) (vsub.same y x) (vicmp:sgt|sge.same x y)) when same-lanes => (vsub.any (vmax_s.any x y) (vmin_s.any x y)); " +
		"(vbitselect|vselect_top (vsub.any y x) (vsub.same x y) (vicmp:sgt|sge.same x y)) when same-lanes => (vsub.any (vmin_s.any x y) (vmax_s.any x y)); " +
		"(vbitselect|vselect_top (vsub.any x y) (vsub.same y x) (vicmp:ult|ule.same x y)) when same-lanes => (vsub.any (vmin_u.any x y) (vmax_u.any x y)); " +
		"(vbitselect|vselect_top (vsub.any y x) (vsub.same x y) (vicmp:ult|ule.same x y)) when same-lanes => (vsub.any (vmax_u.any x y) (vmin_u.any x y)); " +
		"(vbitselect|vselect_top (vsub.any x y) (vsub.same y x) (vicmp:ugt|uge.same x y)) when same-lanes => (vsub.any (vmax_u.any x y) (vmin_u.any x y)); " +
		"(vbitselect|vselect_top (vsub.any y x) (vsub.same x y) (vicmp:ugt|uge.same x y)) when same-lanes => (vsub.any (vmin_u.any x y) (vmax_u.any x y))", Types: onV128 | onNarrowShapes},
	RuleVchoiceConst: {Name: "vchoice-const", Pass: "fold", Row: "(vbitselect x y -1) => x; (vbitselect x y 0) => y", Types: onV128},
	RuleVchoiceZero:  {Name: "vchoice-zero", Pass: "fold", Row: "(vbitselect x 0 y) => (vand x y); (vbitselect 0 x y) => (vandnot x y)", Types: onV128},
	RuleVchoiceOnes:  {Name: "vchoice-ones", Pass: "fold", Row: "(vbitselect -1 x y) => (vor x y)", Types: onV128},
	RuleVtrueNonzero: {Name: "vtrue-nonzero", Pass: "fold", Row: "(vany_true (vicmp:ne.any x 0)) => (vany_true x); (vall_true (vicmp:ne x 0)) => (vall_true x)", Types: onV128 | onIntShapes},
	RuleVtrueZero:    {Name: "vtrue-zero", Pass: "fold", Row: "(vany_true (vicmp:eq.any x 0)) => (icmp:eq.i32 (vall_true.any x) 0); (vall_true (vicmp:eq x 0)) => (icmp:eq.i32 (vany_true.v128 x) 0)", Types: onV128 | onIntShapes},
	RuleVbitmaskTop:  {Name: "vbitmask-top", Pass: "fold", Row: "(vbitmask (vicmp:slt x 0)) => (vbitmask x)", Types: onIntShapes},
	RuleLaneMask: {Name: "lane-mask", Pass: "fold", Row: "(vsplat (band.i32 x k:lane-mask)) => (op x); " +
		"(vsplat (sext16.i32 x)) => (op x); " +
		"(vsplat.i8x16 (sext8.i32 x)) => (op x); " +
		"(vinsert x (band.i32 y k:lane-mask)) => (op x y); " +
		"(vinsert x (sext16.i32 y)) => (op x y); " +
		"(vinsert.i8x16 x (sext8.i32 y)) => (op x y)", Types: onSmallShapes},
	RuleSplatExtract:    {Name: "splat-extract", Pass: "fold", Row: "(vsplat (vextract|vextract_s x)) => one-for-all", Types: onShapes},
	RuleExtractSplat:    {Name: "extract-splat", Pass: "fold", Row: "(vextract|vextract_s (vsplat x)) => x:lane", Types: onShapes},
	RuleExtractInserted: {Name: "extract-inserted", Pass: "fold", Row: "(vextract|vextract_s (vinsert x y)) when same-lane => y:lane", Types: onShapes},
	RuleExtractOther:    {Name: "extract-other", Pass: "fold", Row: "(vextract|vextract_s (vinsert x y)) when other-lane => (op x)", Types: onShapes},
	RuleExtractShuffle:  {Name: "extract-shuffle", Pass: "fold", Row: "(vextract|vextract_s (vshuffle.i8x16 x y)) when one-lane => lane-of", Types: onShapes},
	RuleInsertExtracted: {Name: "insert-extracted", Pass: "fold", Row: "(vinsert x (vextract|vextract_s x)) when same-lane => x", Types: onShapes},
	RuleInsertTwice:     {Name: "insert-twice", Pass: "fold", Row: "(vinsert (vinsert x y) z) when same-lane => (op x z)", Types: onShapes},
	RuleShuffleOne:      {Name: "shuffle-one", Pass: "fold", Row: "(vshuffle x y) when of-one => shuffled", Types: onBytes},
	RuleShuffleStays:    {Name: "shuffle-stays", Pass: "fold", Row: "(vshuffle x x) when in-place => x", Types: onBytes},
	RuleShuffleTwice:    {Name: "shuffle-twice", Pass: "fold", Row: "(vshuffle x=(vshuffle y z) x) when of-one-inside => shuffled", Types: onBytes},
	RuleSwizzleConst:    {Name: "swizzle-const", Pass: "fold", Row: "(vswizzle|vswizzle_mod x k) when all-lanes => shuffled", Types: onBytes},
	RuleSizeFixed:       {Name: "size-fixed", Pass: "fold", Code: codeModule, What: "size of a memory or table that cannot grow => constant"},
	RuleGlobalFixed:     {Name: "global-fixed", Pass: "fold", Code: codeModule, What: "a global that nothing changes => constant", Types: onNumber | onRef},
	RuleFieldFixed:      {Name: "field-fixed", Pass: "fold", Code: codeModule, What: "a field that never changes, of a structure in a global that nothing changes => constant", Types: onNumber | onRef},
	RuleEntryFixed:      {Name: "entry-fixed", Pass: "fold", Code: codeModule, What: "an entry, at a constant index, of a table that nobody writes => constant", Types: 1 << clif.FuncRef},
	RuleBoundConst:      {Name: "bound-const", Pass: "fold", Row: "(bound k j) when below => k", Types: onWide},
	RuleNullConst:       {Name: "null-const", Pass: "fold", Code: codeRef, What: "ref_is_null of a constant => constant", Types: onRef},
	RuleNullMade:        {Name: "null-made", Pass: "fold", Code: codeRef, What: "ref_is_null of what was made here => 0", Types: 1 << clif.Ref},
	RuleTestMade:        {Name: "test-made", Pass: "fold", Code: codeRef, What: "ref_test of what was made here, or null => constant", Types: onRef},
	RuleTestHeld:        {Name: "test-held", Pass: "fold", Code: codeRef, What: "ref_test of a field in which only structures of one type are => constant, or whether it is null", Types: 1 << clif.Ref},
	RuleLenMade:         {Name: "len-made", Pass: "fold", Code: codeRef, What: "array_len of array_new of n elements => n", Types: 1 << clif.I32},
	RuleSigConst:        {Name: "sig-const", Pass: "fold", Code: codeModule, What: "sig_check of a constant => nothing, or a trap"},
	RuleSigOne:          {Name: "sig-one", Pass: "fold", Code: codeModule, What: "sig_check of an entry of a table that nobody writes, all of the right type => trapif null"},
	RuleCallKnown:       {Name: "call-known", Pass: "fold", Code: codeModule, What: "call_ref of func_addr f => call f"},
	RuleCallHeld:        {Name: "call-held", Pass: "callees", What: "call_ref of a field in which only f is => call f"},
	RuleEqual:           {Name: "equal", Pass: "fold", Code: codeEqual, What: "an instruction equal to one that dominates it => that", Types: onAny | onShapes},
	RuleEqualCheck:      {Name: "equal-check", Pass: "fold", Code: codeEqual, What: "sig_check equal to one that dominates it => nothing"},
	RuleLoadKnown:       {Name: "load-known", Pass: "fold", Code: codeMemory, What: "a read of what was read or written before => that", Types: onAny},
	RuleLoadLow:         {Name: "load-low", Pass: "fold", Code: codeMemory, What: "load.i64 => uextend load.i32, no use needs the upper half, and it is in memory", Types: onWide},
	RuleAddressSum:      {Name: "address-sum", Pass: "fold", Code: codeMemory, What: "an access at x + k => at x, with k in the offset; an access has shown that x + k does not wrap", Types: onNumber | onV128},
	RuleStoreSame:       {Name: "store-same", Pass: "fold", Code: codeMemory, What: "a write of what is there => nothing", Types: onAny},
	RuleStoreOver:       {Name: "store-over", Pass: "fold", Code: codeMemory, What: "global_set in front of another of the same global, nothing between sees it => nothing", Types: onAny},
	RuleStoreBorn:       {Name: "store-born", Pass: "fold", Code: codeMemory, What: "struct_set of 0 or null behind the struct_new => nothing", Types: onAny},
	RuleCopySmall:       {Name: "copy-small", Pass: "fold", Code: codeMemory, What: "a copy of k bytes, k <= 64 => loads, then stores"},
	RuleFillSmall:       {Name: "fill-small", Pass: "fold", Code: codeMemory, What: "a fill of k bytes, k <= 64 => stores"},
	RuleTrapIfStrip:     {Name: "trapif-strip", Pass: "fold", Code: codeEffect, What: "trapif c != 0 => trapif c"},
	RuleTrapIfNever:     {Name: "trapif-never", Pass: "fold", Code: codeEffect, What: "trapif of what is known to be 0 => nothing"},
	RuleTrapIfAlways:    {Name: "trapif-always", Pass: "fold", Code: codeEffect, What: "trapif of what is known not to be 0 => trap"},
	RuleBranchStrip:     {Name: "branch-strip", Pass: "fold", Code: codeControl, What: "br c != 0 => br c, br c == 0 => br c the other way"},
	RuleBranchDecided:   {Name: "branch-decided", Pass: "fold", Code: codeControl, What: "br of a known condition => jump"},
	RuleBranchAgree:     {Name: "branch-agree", Pass: "fold", Code: codeControl, What: "br with equal edges => jump"},
	RuleTailSelf:        {Name: "tail-self", Pass: "tails", What: "return_call of the function itself => jump to its first block"},
	RuleNonzeroResult:   {Name: "nonzero-result", Pass: "returns", What: "br of the result of a call of a function that never returns 0 => jump"},
	RuleTableConst:      {Name: "table-const", Pass: "fold", Code: codeControl, What: "br_table of a constant => jump"},
	RuleTableOne:        {Name: "table-one", Pass: "fold", Code: codeControl, What: "br_table with one target => jump"},
	RuleConditionKnown:  {Name: "condition-known", Pass: "fold", Code: codeControl, What: "a comparison that a branch or a trap has decided, as an argument => 0 or 1"},
	RuleMergeBlock:      {Name: "merge-block", Pass: "fold", Code: codeControl, What: "a jump to a block without other predecessors => that block"},
	RuleThreadEdge:      {Name: "thread-edge", Pass: "branches", What: "an edge to a block that only jumps => an edge past it"},
	RuleEdgesAgree:      {Name: "edges-agree", Pass: "branches", What: "br with equal edges => jump"},
	RuleThreadTable:     {Name: "thread-table", Pass: "dispatch", What: "an edge with a constant index to a block that is only a br_table => an edge to that entry"},
	RuleThreadBranch:    {Name: "thread-branch", Pass: "dispatch", What: "an edge with constants to a block that is only a branch on these => an edge past it"},
	RuleParamSame:       {Name: "param-same", Pass: "params", What: "a parameter with one value => that"},
	RuleBranchSelect:    {Name: "branch-select", Pass: "selects", What: "a br both of whose edges lead to one block, on a comparison of what was just loaded => selects"},
	RuleObjectUnseen:    {Name: "object-unseen", Pass: "objects", What: "a structure, or a short array, that nothing sees but accesses to its fields => its fields, as values"},
	RuleCopyResumed:     {Name: "copy-resumed", Pass: "resume", What: "rare entries of a br_table that lead into a loop => copies of all that they lead to"},
	RuleExitValue:       {Name: "exit-value", Pass: "exits", What: "behind a loop, x, whose next value in the loop is x + k => next - k"},
	RuleCountFromZero:   {Name: "count-from-zero", Pass: "addresses", What: "a variable of a loop that begins with -n => that variable + n"},
	RuleAddressBounded:  {Name: "address-bounded", Pass: "addresses", What: "an access at x + k => at x, with k in the offset; a bound of x shows that x + k does not wrap"},
	RuleDead:            {Name: "dead", Pass: "dce", What: "whatever nothing needs => nothing, all at once"},
	RuleAllocateInLine:  {Name: "allocate-in-line", Pass: "allocate", What: "struct_new => heap_next and heap_claim; struct_new where there is no room"},
	RuleByteCopy:        {Name: "byte-copy", Pass: "bytes", What: "a loop that copies bytes => 16 bytes at a time, then the last"},
	RuleByteFill:        {Name: "byte-fill", Pass: "bytes", What: "a loop that stores one byte over and over => 16 bytes at a time, then the last"},
	RuleByteCompare:     {Name: "byte-compare", Pass: "bytes", What: "a loop that compares bytes => 8 bytes at a time, then the last, or those that differ"},
}

// ruleInfos are what describes the rules to Control.
var ruleInfos = func() (infos [NumRules]rewrite.Info) {
	for r := range ruleDefs {
		def := &ruleDefs[r]
		infos[r] = rewrite.Info{Name: def.Name, Pass: def.Pass, What: def.What + def.Row, Types: def.Types}
	}
	return infos
}()

// rows are the rows of the rules, listed when the first function is compiled.
var rows = sync.OnceValue(func() *rowTable { return newRowTable(ruleDefs[:]) })

// Info describes r.
func (r Rule) Info() *rewrite.Info { return &ruleInfos[r] }
