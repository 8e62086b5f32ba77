package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
)

// Rule names a rewrite: whatever the mid-end changes is an application of one.
type Rule uint8

// The rules, in the order of the table.
const (
	RuleFoldInt Rule = iota
	RuleConstRight
	RuleReassociate
	RuleSameZero
	RuleSameFirst
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

var ruleInfos = [NumRules]rewrite.Info{
	RuleFoldInt:         {Name: "fold-int", Pass: "fold", What: "k op m => constant", Types: onInt},
	RuleConstRight:      {Name: "const-right", Pass: "fold", What: "k op x => x op k, op commutative", Types: onInt},
	RuleReassociate:     {Name: "reassociate", Pass: "fold", What: "(x op k) op m => x op (k op m)", Types: onInt},
	RuleSameZero:        {Name: "same-zero", Pass: "fold", What: "x - x, x ^ x => 0", Types: onInt},
	RuleSameFirst:       {Name: "same-first", Pass: "fold", What: "x & x, x | x => x", Types: onInt},
	RuleAddZero:         {Name: "add-zero", Pass: "fold", What: "x + 0 => x", Types: onInt},
	RuleSubConst:        {Name: "sub-const", Pass: "fold", What: "x - k => x + -k", Types: onInt},
	RuleMulZero:         {Name: "mul-zero", Pass: "fold", What: "x * 0 => 0", Types: onInt},
	RuleMulOne:          {Name: "mul-one", Pass: "fold", What: "x * 1 => x", Types: onInt},
	RuleMulMinusOne:     {Name: "mul-minus-one", Pass: "fold", What: "x * -1 => 0 - x", Types: onInt},
	RuleMulPow2:         {Name: "mul-pow2", Pass: "fold", What: "x * 2^k => x << k", Types: onInt},
	RuleMulHigh:         {Name: "mul-high", Pass: "fold", What: "the high word of x * y from products of halves => umulhi x, y", Types: onWide},
	RuleMulLow:          {Name: "mul-low", Pass: "fold", What: "the low word of x * y from products of halves => x * y", Types: onWide},
	RuleCarryBits:       {Name: "carry-bits", Pass: "fold", What: "the carry of x + y, the borrow of x - y from their bits => x + y <u x, x <u y", Types: onWide},
	RuleUdivOne:         {Name: "udiv-one", Pass: "fold", What: "x /u 1 => x", Types: onInt},
	RuleUdivPow2:        {Name: "udiv-pow2", Pass: "fold", What: "x /u 2^k => x >>u k", Types: onInt},
	RuleUdivConst:       {Name: "udiv-const", Pass: "fold", What: "x /u k => multiplication and shifts", Types: onInt},
	RuleSdivOne:         {Name: "sdiv-one", Pass: "fold", What: "x /s 1 => x", Types: onInt},
	RuleSdivPow2:        {Name: "sdiv-pow2", Pass: "fold", What: "x /s ±2^k => addition and shifts", Types: onInt},
	RuleSdivConst:       {Name: "sdiv-const", Pass: "fold", What: "x /s k => multiplication and shifts", Types: onInt},
	RuleUremPow2:        {Name: "urem-pow2", Pass: "fold", What: "x %u 2^k => x & 2^k-1", Types: onInt},
	RuleUremConst:       {Name: "urem-const", Pass: "fold", What: "x %u k => x - x/k*k", Types: onInt},
	RuleSremConst:       {Name: "srem-const", Pass: "fold", What: "x %s k => x - x/k*k", Types: onInt},
	RuleAndZero:         {Name: "and-zero", Pass: "fold", What: "x & 0 => 0", Types: onInt},
	RuleAndOnes:         {Name: "and-ones", Pass: "fold", What: "x & -1 => x", Types: onInt},
	RuleAndKnown:        {Name: "and-known", Pass: "fold", What: "x & k => x, x zero outside k", Types: onInt},
	RuleAndLowHalf:      {Name: "and-low-half", Pass: "fold", What: "x & 2^32-1 => uextend ireduce x", Types: onWide},
	RuleOrZero:          {Name: "or-zero", Pass: "fold", What: "x | 0 => x", Types: onInt},
	RuleOrOnes:          {Name: "or-ones", Pass: "fold", What: "x | -1 => -1", Types: onInt},
	RuleXorZero:         {Name: "xor-zero", Pass: "fold", What: "x ^ 0 => x", Types: onInt},
	RuleNotSub:          {Name: "not-sub", Pass: "fold", What: "(k - x) ^ -1 => x + ^k", Types: onInt},
	RuleNotAdd:          {Name: "not-add", Pass: "fold", What: "((x ^ k) + m) ^ -1 => (x ^ ^k) - m", Types: onInt},
	RuleShiftZero:       {Name: "shift-zero", Pass: "fold", What: "x shift 0 => x", Types: onInt},
	RuleShiftFar:        {Name: "shift-far", Pass: "fold", What: "x shift k => x shift (k mod width)", Types: onInt},
	RuleShiftMask:       {Name: "shift-mask", Pass: "fold", What: "x shift (y & k) => x shift y, k has the low bits", Types: onInt},
	RuleShiftExtend:     {Name: "shift-extend", Pass: "fold", What: "x << k >>s k => sext x", Types: onInt},
	RuleFoldCount:       {Name: "fold-count", Pass: "fold", What: "clz, ctz, popcnt of k => constant", Types: onInt},
	RuleFoldExtend:      {Name: "fold-extend", Pass: "fold", What: "sext, sextend, uextend of k => constant", Types: onInt},
	RuleSextendReduce:   {Name: "sextend-reduce", Pass: "fold", What: "sextend ireduce x => sext32 x", Types: onWide},
	RuleUextendReduce:   {Name: "uextend-reduce", Pass: "fold", What: "uextend ireduce x => x, upper half of x zero", Types: onWide},
	RuleSext32Uextend:   {Name: "sext32-uextend", Pass: "fold", What: "sext32 uextend x => sextend x", Types: onWide},
	RuleSextTwice:       {Name: "sext-twice", Pass: "fold", What: "sext of the same sext, sext32 sextend x => without the outer", Types: onInt},
	RuleSextPositive:    {Name: "sext-positive", Pass: "fold", What: "sext x => x, sign bit of x zero", Types: onInt},
	RuleSextendPositive: {Name: "sextend-positive", Pass: "fold", What: "sextend x => uextend x, sign bit of x zero", Types: onWide},
	RuleFoldReduce:      {Name: "fold-reduce", Pass: "fold", What: "ireduce k => constant", Types: onNarrow},
	RuleReduceExtend:    {Name: "reduce-extend", Pass: "fold", What: "ireduce uextend x, ireduce sextend x => x", Types: onNarrow},
	RuleReduceSext32:    {Name: "reduce-sext32", Pass: "fold", What: "ireduce sext32 x => ireduce x", Types: onNarrow},
	RuleReduceMask:      {Name: "reduce-mask", Pass: "fold", What: "ireduce (x & k) => ireduce x, low half of k ones", Types: onNarrow},
	RuleReduceAnd:       {Name: "reduce-and", Pass: "fold", What: "ireduce (extend x & k) => x & k", Types: onNarrow},
	RuleReduceShl:       {Name: "reduce-shl", Pass: "fold", What: "ireduce (extend x << k) => x << k, k < 32", Types: onNarrow},
	RuleReduceArith:     {Name: "reduce-arith", Pass: "fold", What: "ireduce (extend x op extend y) => x op y", Types: onNarrow},
	RuleReduceOnly:      {Name: "reduce-only", Pass: "fold", What: "ireduce (x op y) => ireduce x op ireduce y, no use needs the upper half", Types: onNarrow},
	RuleFoldIcmp:        {Name: "fold-icmp", Pass: "fold", What: "k cmp m => constant", Types: onInt},
	RuleIcmpSame:        {Name: "icmp-same", Pass: "fold", What: "x cmp x => constant", Types: onInt},
	RuleIcmpConstRight:  {Name: "icmp-const-right", Pass: "fold", What: "k cmp x => x swapped-cmp k", Types: onInt},
	RuleIcmpNever:       {Name: "icmp-never", Pass: "fold", What: "x <u 0 => 0, x >=u 0 => 1", Types: onInt},
	RuleIcmpZero:        {Name: "icmp-zero", Pass: "fold", What: "x >u 0 => x != 0, x <=u 0 => x == 0", Types: onInt},
	RuleIcmpDecided:     {Name: "icmp-decided", Pass: "fold", What: "x == 0, x != 0 => constant, decided on the way", Types: onNarrow},
	RuleIcmpBool:        {Name: "icmp-bool", Pass: "fold", What: "(cmp) != 0 => cmp", Types: onNarrow},
	RuleIcmpInvert:      {Name: "icmp-invert", Pass: "fold", What: "(icmp) == 0 => inverse icmp", Types: onNarrow},
	RuleIcmpExtendZero:  {Name: "icmp-extend-zero", Pass: "fold", What: "extend x == 0, != 0 => x == 0, != 0", Types: onWide},
	RuleIcmpExtends:     {Name: "icmp-extends", Pass: "fold", What: "extend x cmp extend y => x cmp y", Types: onWide},
	RuleIcmpExtendConst: {Name: "icmp-extend-const", Pass: "fold", What: "extend x cmp k => x cmp k", Types: onWide},
	RuleIcmpExtendFar:   {Name: "icmp-extend-far", Pass: "fold", What: "uextend x cmp k => constant, k >= 2^32", Types: onWide},
	RuleSelectSame:      {Name: "select-same", Pass: "fold", What: "c ? x : x => x", Types: onAny},
	RuleSelectDecided:   {Name: "select-decided", Pass: "fold", What: "c ? x : y => x or y, c known", Types: onAny},
	RuleSelectStrip:     {Name: "select-strip", Pass: "fold", What: "c != 0 ? x : y => c ? x : y; c == 0 ? x : y => c ? y : x", Types: onAny},
	RuleSelectBool:      {Name: "select-bool", Pass: "fold", What: "c ? 1 : 0 => c != 0, c ? 0 : 1 => c == 0", Types: onInt},
	RuleBitcastBack:     {Name: "bitcast-back", Pass: "fold", What: "bitcast bitcast x => x", Types: onNumber},
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

// Info describes r.
func (r Rule) Info() *rewrite.Info { return &ruleInfos[r] }
