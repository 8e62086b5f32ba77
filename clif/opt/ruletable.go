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
	RuleVconstRight
	RuleVneutral
	RuleVabsorbing
	RuleVzeroing
	RuleVsameFirst
	RuleVsameZero
	RuleVassociate
	RuleVpair
	RuleVnotCompare
	RuleVandNot
	RuleVxorOnes
	RuleVandnotOnes
	RuleVandnotNot
	RuleVandnotConst
	RuleVaddNeg
	RuleVsubNeg
	RuleVsubFromZero
	RuleVsubExtreme
	RuleVmulExtends
	RuleVextmulBytes
	RuleVmulMinusOne
	RuleVmulPow2
	RuleVmaxNeg
	RuleVshiftZero
	RuleVshiftFar
	RuleVshiftMask
	RuleVicmpSame
	RuleVicmpConstRight
	RuleVicmpNever
	RuleVicmpZero
	RuleVchoiceSame
	RuleVchoiceTop
	RuleVchoiceNot
	RuleVchoiceConst
	RuleVchoiceZero
	RuleVchoiceOnes
	RuleVchoiceExtreme
	RuleVchoiceDistance
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
	RuleEntryFixed
	RuleBoundConst
	RuleNullConst
	RuleSigConst
	RuleSigOne
	RuleCallKnown
	RuleEqual
	RuleEqualCheck
	RuleLoadKnown
	RuleLoadLow
	RuleAddressSum
	RuleStoreSame
	RuleStoreOver
	RuleCopySmall
	RuleFillSmall
	RuleTrapIfStrip
	RuleTrapIfNever
	RuleTrapIfAlways
	RuleBranchStrip
	RuleBranchDecided
	RuleBranchAgree
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
	RuleCopyResumed
	RuleAddressBounded
	RuleDead
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

// ruleDef is a row of the table of rules. Where several rows of rules fit an instruction, the first one is applied, in the order of the table.
type ruleDef struct {
	Name string
	Pass string
	// Row is what the rule does: see rows.go. It is what is executed.
	Row string
	// Last: where the left of the rule's row fits, no later row is tried, though a condition does not hold or the rule is off.
	Last bool
	// What says in words what a rule does that is Go code.
	What string
	// Types are the types of the instructions to which it applies, 0 where they have none.
	Types clif.TypeSet
}

var ruleDefs = [NumRules]ruleDef{
	RuleFoldInt:         {Name: "fold-int", Pass: "fold", Row: "(iadd|isub|imul|umulhi|smulhi|udiv|sdiv|urem|srem|band|bor|bxor|ishl|ushr|sshr|rotl|rotr k j) when no-trap => k:computed", Last: true, Types: onInt},
	RuleConstRight:      {Name: "const-right", Pass: "fold", Row: "(iadd|imul|umulhi|smulhi|band|bor|bxor! k x) => (op x k)", Types: onInt},
	RuleAddZero:         {Name: "add-zero", Pass: "fold", Row: "(iadd x 0) => x", Types: onInt},
	RuleSubConst:        {Name: "sub-const", Pass: "fold", Row: "(isub x k) => (iadd x k:neg)", Types: onInt},
	RuleMulZero:         {Name: "mul-zero", Pass: "fold", Row: "(imul x k:zero) => k", Types: onInt},
	RuleMulOne:          {Name: "mul-one", Pass: "fold", Row: "(imul x 1) => x", Types: onInt},
	RuleMulMinusOne:     {Name: "mul-minus-one", Pass: "fold", Row: "(imul x -1) => (isub 0 x)", Types: onInt},
	RuleMulPow2:         {Name: "mul-pow2", Pass: "fold", Row: "(imul x k:pow2) => (ishl x k:log2)", Types: onInt},
	RuleMulHigh:         {Name: "mul-high", Pass: "fold", What: "the high word of x * y from products of halves => umulhi x, y", Types: onWide},
	RuleMulLow:          {Name: "mul-low", Pass: "fold", What: "the low word of x * y from products of halves => x * y", Types: onWide},
	RuleCarryBits:       {Name: "carry-bits", Pass: "fold", What: "the carry of x + y, the borrow of x - y from their bits => x + y <u x, x <u y", Types: onWide},
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
	RuleIcmpConstRight:  {Name: "icmp-const-right", Pass: "fold", Row: "(icmp! k x:var) => (icmp:swapped x k)", Types: onInt},
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
	RuleFoldBitcast:     {Name: "fold-bitcast", Pass: "fold", What: "bitcast k => constant", Types: onNumber},
	RuleFoldFloat:       {Name: "fold-float", Pass: "fold", What: "k op m => constant, not a NaN", Types: onFloat},
	RuleFoldFcvt:        {Name: "fold-fcvt", Pass: "fold", What: "fpromote k, fdemote k => constant, not a NaN", Types: onFloat},
	RuleFoldVector:      {Name: "fold-vector", Pass: "fold", What: "op of constants => constant, no NaN that is computed", Types: onVector},
	RuleVconstRight:     {Name: "vconst-right", Pass: "fold", What: "k op x => x op k, op commutative", Types: onV128 | onIntShapes},
	RuleVneutral:        {Name: "vneutral", Pass: "fold", What: "x op k => x, k neutral", Types: onV128 | onIntShapes},
	RuleVabsorbing:      {Name: "vabsorbing", Pass: "fold", What: "x op k, k op x => k, k absorbing", Types: onV128 | onIntShapes},
	RuleVzeroing:        {Name: "vzeroing", Pass: "fold", What: "x &^ ones, x -sat_u ones => 0", Types: onV128 | onSmallShapes},
	RuleVsameFirst:      {Name: "vsame-first", Pass: "fold", What: "x op x => x", Types: onV128 | onNarrowShapes},
	RuleVsameZero:       {Name: "vsame-zero", Pass: "fold", What: "x op x => 0", Types: onV128 | onIntShapes},
	RuleVassociate:      {Name: "vassociate", Pass: "fold", What: "(x op k) op m => x op (k op m)", Types: onV128 | onIntShapes},
	RuleVpair:           {Name: "vpair", Pass: "fold", What: "not not x, neg neg x => x; abs neg x, abs abs x => abs x", Types: onV128 | onShapes},
	RuleVnotCompare:     {Name: "vnot-compare", Pass: "fold", What: "not (x cmp y) => x inverse-cmp y", Types: onV128},
	RuleVandNot:         {Name: "vand-not", Pass: "fold", What: "x & not y => x &^ y", Types: onV128},
	RuleVxorOnes:        {Name: "vxor-ones", Pass: "fold", What: "x ^ ones => not x", Types: onV128},
	RuleVandnotOnes:     {Name: "vandnot-ones", Pass: "fold", What: "ones &^ x => not x", Types: onV128},
	RuleVandnotNot:      {Name: "vandnot-not", Pass: "fold", What: "x &^ not y => x & y", Types: onV128},
	RuleVandnotConst:    {Name: "vandnot-const", Pass: "fold", What: "x &^ k => x & not k", Types: onV128},
	RuleVaddNeg:         {Name: "vadd-neg", Pass: "fold", What: "x + -y, -y + x => x - y", Types: onIntShapes},
	RuleVsubNeg:         {Name: "vsub-neg", Pass: "fold", What: "x - -y => x + y", Types: onIntShapes},
	RuleVsubFromZero:    {Name: "vsub-from-zero", Pass: "fold", What: "0 - x => -x", Types: onIntShapes},
	RuleVsubExtreme:     {Name: "vsub-extreme", Pass: "fold", What: "max_u x y - y, x - min_u x y => x -sat_u y", Types: onSmallShapes},
	RuleVmulExtends:     {Name: "vmul-extends", Pass: "fold", What: "extend x * extend y => extmul x y", Types: 1<<clif.I32x4 | 1<<clif.I64x2},
	RuleVextmulBytes:    {Name: "vextmul-bytes", Pass: "fold", What: "extmul x y => extend x * extend y, if neither is constant", Types: 1 << clif.I16x8},
	RuleVmulMinusOne:    {Name: "vmul-minus-one", Pass: "fold", What: "x * -1 => -x", Types: onWideShapes},
	RuleVmulPow2:        {Name: "vmul-pow2", Pass: "fold", What: "x * 2^k => x << k", Types: onWideShapes},
	RuleVmaxNeg:         {Name: "vmax-neg", Pass: "fold", What: "max_s x -x => abs x", Types: onNarrowShapes},
	RuleVshiftZero:      {Name: "vshift-zero", Pass: "fold", What: "x shift k => x, k a multiple of the width", Types: onIntShapes},
	RuleVshiftFar:       {Name: "vshift-far", Pass: "fold", What: "x shift k => x shift (k mod width)", Types: onIntShapes},
	RuleVshiftMask:      {Name: "vshift-mask", Pass: "fold", What: "x shift (y & k) => x shift y, k has the ones of width-1", Types: onIntShapes},
	RuleVicmpSame:       {Name: "vicmp-same", Pass: "fold", What: "x cmp x => constant", Types: onIntShapes},
	RuleVicmpConstRight: {Name: "vicmp-const-right", Pass: "fold", What: "k cmp x => x swapped-cmp k", Types: onIntShapes},
	RuleVicmpNever:      {Name: "vicmp-never", Pass: "fold", What: "x <u 0 => 0, x >=u 0 => ones", Types: onIntShapes},
	RuleVicmpZero:       {Name: "vicmp-zero", Pass: "fold", What: "x >u 0 => x != 0, x <=u 0 => x == 0", Types: onIntShapes},
	RuleVchoiceSame:     {Name: "vchoice-same", Pass: "fold", What: "c ? x : x => x", Types: onV128 | onIntShapes},
	RuleVchoiceTop:      {Name: "vchoice-top", Pass: "fold", What: "select_top by a constant => bitselect", Types: onIntShapes},
	RuleVchoiceNot:      {Name: "vchoice-not", Pass: "fold", What: "not c ? x : y => c ? y : x", Types: onV128 | onIntShapes},
	RuleVchoiceConst:    {Name: "vchoice-const", Pass: "fold", What: "ones ? x : y => x, 0 ? x : y => y", Types: onV128},
	RuleVchoiceZero:     {Name: "vchoice-zero", Pass: "fold", What: "c ? x : 0 => x & c, c ? 0 : y => y &^ c", Types: onV128},
	RuleVchoiceOnes:     {Name: "vchoice-ones", Pass: "fold", What: "c ? ones : y => y | c", Types: onV128},
	RuleVchoiceExtreme:  {Name: "vchoice-extreme", Pass: "fold", What: "x cmp y ? x : y => min or max", Types: onV128 | onNarrowShapes},
	RuleVchoiceDistance: {Name: "vchoice-distance", Pass: "fold", What: "x cmp y ? x - y : y - x => max - min or min - max", Types: onV128 | onNarrowShapes},
	RuleVtrueNonzero:    {Name: "vtrue-nonzero", Pass: "fold", What: "any_true, all_true (x != 0) => any_true, all_true x", Types: onV128 | onIntShapes},
	RuleVtrueZero:       {Name: "vtrue-zero", Pass: "fold", What: "any_true (x == 0) => not all_true x; all_true (x == 0) => not any_true x", Types: onV128 | onIntShapes},
	RuleVbitmaskTop:     {Name: "vbitmask-top", Pass: "fold", What: "bitmask (x < 0) => bitmask x", Types: onIntShapes},
	RuleLaneMask:        {Name: "lane-mask", Pass: "fold", What: "splat or insert of x & k, of sext x => of x, if the lane has no more bits", Types: onSmallShapes},
	RuleSplatExtract:    {Name: "splat-extract", Pass: "fold", What: "splat (extract x i) => shuffle x", Types: onShapes},
	RuleExtractSplat:    {Name: "extract-splat", Pass: "fold", What: "extract (splat x) => x, its low bits", Types: onShapes},
	RuleExtractInserted: {Name: "extract-inserted", Pass: "fold", What: "extract (insert x y i) i => y, its low bits", Types: onShapes},
	RuleExtractOther:    {Name: "extract-other", Pass: "fold", What: "extract (insert x y i) j => extract x j", Types: onShapes},
	RuleExtractShuffle:  {Name: "extract-shuffle", Pass: "fold", What: "extract (shuffle x y) i => extract x j, extract y j", Types: onShapes},
	RuleInsertExtracted: {Name: "insert-extracted", Pass: "fold", What: "insert x (extract x i) i => x", Types: onShapes},
	RuleInsertTwice:     {Name: "insert-twice", Pass: "fold", What: "insert (insert x y i) z i => insert x z i", Types: onShapes},
	RuleShuffleOne:      {Name: "shuffle-one", Pass: "fold", What: "shuffle of lanes of one of two operands, or of twice the same => of that", Types: onBytes},
	RuleShuffleStays:    {Name: "shuffle-stays", Pass: "fold", What: "a shuffle that moves nothing => its operand", Types: onBytes},
	RuleShuffleTwice:    {Name: "shuffle-twice", Pass: "fold", What: "a shuffle of a shuffle, lanes of one operand => one shuffle", Types: onBytes},
	RuleSwizzleConst:    {Name: "swizzle-const", Pass: "fold", What: "swizzle x k => shuffle x, all of k below 16", Types: onBytes},
	RuleSizeFixed:       {Name: "size-fixed", Pass: "fold", What: "size of a memory or table that cannot grow => constant"},
	RuleGlobalFixed:     {Name: "global-fixed", Pass: "fold", What: "a global that nothing changes => constant", Types: onNumber | onRef},
	RuleEntryFixed:      {Name: "entry-fixed", Pass: "fold", What: "an entry, at a constant index, of a table that nobody writes => constant", Types: 1 << clif.FuncRef},
	RuleBoundConst:      {Name: "bound-const", Pass: "fold", What: "bound k, m => k, k <u m", Types: onWide},
	RuleNullConst:       {Name: "null-const", Pass: "fold", What: "ref_is_null of a constant => constant", Types: onRef},
	RuleSigConst:        {Name: "sig-const", Pass: "fold", What: "sig_check of a constant => nothing, or a trap"},
	RuleSigOne:          {Name: "sig-one", Pass: "fold", What: "sig_check of an entry of a table that nobody writes, all of the right type => trapif null"},
	RuleCallKnown:       {Name: "call-known", Pass: "fold", What: "call_ref of func_addr f => call f"},
	RuleEqual:           {Name: "equal", Pass: "fold", What: "an instruction equal to one that dominates it => that", Types: onAny | onShapes},
	RuleEqualCheck:      {Name: "equal-check", Pass: "fold", What: "sig_check equal to one that dominates it => nothing"},
	RuleLoadKnown:       {Name: "load-known", Pass: "fold", What: "a read of what was read or written before => that", Types: onAny},
	RuleLoadLow:         {Name: "load-low", Pass: "fold", What: "load.i64 => uextend load.i32, no use needs the upper half, and it is in memory", Types: onWide},
	RuleAddressSum:      {Name: "address-sum", Pass: "fold", What: "an access at x + k => at x, with k in the offset; an access has shown that x + k does not wrap", Types: onNumber | onV128},
	RuleStoreSame:       {Name: "store-same", Pass: "fold", What: "a write of what is there => nothing", Types: onAny},
	RuleStoreOver:       {Name: "store-over", Pass: "fold", What: "global_set in front of another of the same global, nothing between sees it => nothing", Types: onAny},
	RuleCopySmall:       {Name: "copy-small", Pass: "fold", What: "a copy of k bytes, k <= 64 => loads, then stores"},
	RuleFillSmall:       {Name: "fill-small", Pass: "fold", What: "a fill of k bytes, k <= 64 => stores"},
	RuleTrapIfStrip:     {Name: "trapif-strip", Pass: "fold", What: "trapif c != 0 => trapif c"},
	RuleTrapIfNever:     {Name: "trapif-never", Pass: "fold", What: "trapif of what is known to be 0 => nothing"},
	RuleTrapIfAlways:    {Name: "trapif-always", Pass: "fold", What: "trapif of what is known not to be 0 => trap"},
	RuleBranchStrip:     {Name: "branch-strip", Pass: "fold", What: "br c != 0 => br c, br c == 0 => br c the other way"},
	RuleBranchDecided:   {Name: "branch-decided", Pass: "fold", What: "br of a known condition => jump"},
	RuleBranchAgree:     {Name: "branch-agree", Pass: "fold", What: "br with equal edges => jump"},
	RuleNonzeroResult:   {Name: "nonzero-result", Pass: "returns", What: "br of the result of a call of a function that never returns 0 => jump"},
	RuleTableConst:      {Name: "table-const", Pass: "fold", What: "br_table of a constant => jump"},
	RuleTableOne:        {Name: "table-one", Pass: "fold", What: "br_table with one target => jump"},
	RuleConditionKnown:  {Name: "condition-known", Pass: "fold", What: "a comparison that a branch or a trap has decided, as an argument => 0 or 1"},
	RuleMergeBlock:      {Name: "merge-block", Pass: "fold", What: "a jump to a block without other predecessors => that block"},
	RuleThreadEdge:      {Name: "thread-edge", Pass: "branches", What: "an edge to a block that only jumps => an edge past it"},
	RuleEdgesAgree:      {Name: "edges-agree", Pass: "branches", What: "br with equal edges => jump"},
	RuleThreadTable:     {Name: "thread-table", Pass: "dispatch", What: "an edge with a constant index to a block that is only a br_table => an edge to that entry"},
	RuleThreadBranch:    {Name: "thread-branch", Pass: "dispatch", What: "an edge with constants to a block that is only a branch on these => an edge past it"},
	RuleParamSame:       {Name: "param-same", Pass: "params", What: "a parameter with one value => that"},
	RuleBranchSelect:    {Name: "branch-select", Pass: "selects", What: "a br both of whose edges lead to one block, on a comparison of what was just loaded => selects"},
	RuleCopyResumed:     {Name: "copy-resumed", Pass: "resume", What: "rare entries of a br_table that lead into a loop => copies of all that they lead to"},
	RuleExitValue:       {Name: "exit-value", Pass: "exits", What: "behind a loop, x, whose next value in the loop is x + k => next - k"},
	RuleCountFromZero:   {Name: "count-from-zero", Pass: "addresses", What: "a variable of a loop that begins with -n => that variable + n"},
	RuleAddressBounded:  {Name: "address-bounded", Pass: "addresses", What: "an access at x + k => at x, with k in the offset; a bound of x shows that x + k does not wrap"},
	RuleDead:            {Name: "dead", Pass: "dce", What: "whatever nothing needs => nothing, all at once"},
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

// rows are the rows of the rules, compiled when the first function is.
var rows = sync.OnceValue(func() *rowTable { return newRowTable(ruleDefs[:]) })

// Info describes r.
func (r Rule) Info() *rewrite.Info { return &ruleInfos[r] }
