package opt

import "github.com/waot-project/waot/clif"

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
	RuleSizeFixed
	RuleEqual
	RuleEqualCheck
	RuleLoadKnown
	RuleStoreSame
	RuleTrapIfStrip
	RuleTrapIfNever
	RuleTrapIfAlways
	RuleBranchStrip
	RuleBranchDecided
	RuleBranchAgree
	RuleTableConst
	RuleTableOne
	RuleMergeBlock
	RuleThreadEdge
	RuleEdgesAgree
	RuleParamSame
	RuleDead
	NumRules
)

// RuleInfo describes a rule.
type RuleInfo struct {
	Name string
	Pass string
	// What is the pattern and what becomes of it: k, m are constants, the rest values.
	What string
	// Types are the types of the instructions to which it applies, 0 where they have none.
	Types clif.TypeSet
}

const (
	onNarrow clif.TypeSet = 1 << clif.I32
	onWide   clif.TypeSet = 1 << clif.I64
	onInt                 = onNarrow | onWide
	onFloat  clif.TypeSet = 1<<clif.F32 | 1<<clif.F64
	onNumber              = onInt | onFloat
	onRef    clif.TypeSet = 1<<clif.Ref | 1<<clif.FuncRef
	onAny                 = onNumber | onRef
)

var ruleInfos = [NumRules]RuleInfo{
	RuleFoldInt:         {"fold-int", "fold", "k op m => constant", onInt},
	RuleConstRight:      {"const-right", "fold", "k op x => x op k, op commutative", onInt},
	RuleReassociate:     {"reassociate", "fold", "(x op k) op m => x op (k op m)", onInt},
	RuleSameZero:        {"same-zero", "fold", "x - x, x ^ x => 0", onInt},
	RuleSameFirst:       {"same-first", "fold", "x & x, x | x => x", onInt},
	RuleAddZero:         {"add-zero", "fold", "x + 0 => x", onInt},
	RuleSubConst:        {"sub-const", "fold", "x - k => x + -k", onInt},
	RuleMulZero:         {"mul-zero", "fold", "x * 0 => 0", onInt},
	RuleMulOne:          {"mul-one", "fold", "x * 1 => x", onInt},
	RuleMulMinusOne:     {"mul-minus-one", "fold", "x * -1 => 0 - x", onInt},
	RuleMulPow2:         {"mul-pow2", "fold", "x * 2^k => x << k", onInt},
	RuleUdivOne:         {"udiv-one", "fold", "x /u 1 => x", onInt},
	RuleUdivPow2:        {"udiv-pow2", "fold", "x /u 2^k => x >>u k", onInt},
	RuleUdivConst:       {"udiv-const", "fold", "x /u k => multiplication and shifts", onInt},
	RuleSdivOne:         {"sdiv-one", "fold", "x /s 1 => x", onInt},
	RuleSdivPow2:        {"sdiv-pow2", "fold", "x /s ±2^k => addition and shifts", onInt},
	RuleSdivConst:       {"sdiv-const", "fold", "x /s k => multiplication and shifts", onInt},
	RuleUremPow2:        {"urem-pow2", "fold", "x %u 2^k => x & 2^k-1", onInt},
	RuleUremConst:       {"urem-const", "fold", "x %u k => x - x/k*k", onInt},
	RuleSremConst:       {"srem-const", "fold", "x %s k => x - x/k*k", onInt},
	RuleAndZero:         {"and-zero", "fold", "x & 0 => 0", onInt},
	RuleAndOnes:         {"and-ones", "fold", "x & -1 => x", onInt},
	RuleAndKnown:        {"and-known", "fold", "x & k => x, x zero outside k", onInt},
	RuleAndLowHalf:      {"and-low-half", "fold", "x & 2^32-1 => uextend ireduce x", onWide},
	RuleOrZero:          {"or-zero", "fold", "x | 0 => x", onInt},
	RuleOrOnes:          {"or-ones", "fold", "x | -1 => -1", onInt},
	RuleXorZero:         {"xor-zero", "fold", "x ^ 0 => x", onInt},
	RuleShiftZero:       {"shift-zero", "fold", "x shift 0 => x", onInt},
	RuleShiftFar:        {"shift-far", "fold", "x shift k => x shift (k mod width)", onInt},
	RuleShiftMask:       {"shift-mask", "fold", "x shift (y & k) => x shift y, k has the low bits", onInt},
	RuleShiftExtend:     {"shift-extend", "fold", "x << k >>s k => sext x", onInt},
	RuleFoldCount:       {"fold-count", "fold", "clz, ctz, popcnt of k => constant", onInt},
	RuleFoldExtend:      {"fold-extend", "fold", "sext, sextend, uextend of k => constant", onInt},
	RuleSextendReduce:   {"sextend-reduce", "fold", "sextend ireduce x => sext32 x", onWide},
	RuleUextendReduce:   {"uextend-reduce", "fold", "uextend ireduce x => x, upper half of x zero", onWide},
	RuleSext32Uextend:   {"sext32-uextend", "fold", "sext32 uextend x => sextend x", onWide},
	RuleSextTwice:       {"sext-twice", "fold", "sext of the same sext, sext32 sextend x => without the outer", onInt},
	RuleSextPositive:    {"sext-positive", "fold", "sext x => x, sign bit of x zero", onInt},
	RuleSextendPositive: {"sextend-positive", "fold", "sextend x => uextend x, sign bit of x zero", onWide},
	RuleFoldReduce:      {"fold-reduce", "fold", "ireduce k => constant", onNarrow},
	RuleReduceExtend:    {"reduce-extend", "fold", "ireduce uextend x, ireduce sextend x => x", onNarrow},
	RuleReduceSext32:    {"reduce-sext32", "fold", "ireduce sext32 x => ireduce x", onNarrow},
	RuleReduceMask:      {"reduce-mask", "fold", "ireduce (x & k) => ireduce x, low half of k ones", onNarrow},
	RuleReduceAnd:       {"reduce-and", "fold", "ireduce (extend x & k) => x & k", onNarrow},
	RuleReduceShl:       {"reduce-shl", "fold", "ireduce (extend x << k) => x << k, k < 32", onNarrow},
	RuleReduceArith:     {"reduce-arith", "fold", "ireduce (extend x op extend y) => x op y", onNarrow},
	RuleFoldIcmp:        {"fold-icmp", "fold", "k cmp m => constant", onInt},
	RuleIcmpSame:        {"icmp-same", "fold", "x cmp x => constant", onInt},
	RuleIcmpConstRight:  {"icmp-const-right", "fold", "k cmp x => x swapped-cmp k", onInt},
	RuleIcmpNever:       {"icmp-never", "fold", "x <u 0 => 0, x >=u 0 => 1", onInt},
	RuleIcmpZero:        {"icmp-zero", "fold", "x >u 0 => x != 0, x <=u 0 => x == 0", onInt},
	RuleIcmpDecided:     {"icmp-decided", "fold", "x == 0, x != 0 => constant, decided on the way", onNarrow},
	RuleIcmpBool:        {"icmp-bool", "fold", "(cmp) != 0 => cmp", onNarrow},
	RuleIcmpInvert:      {"icmp-invert", "fold", "(icmp) == 0 => inverse icmp", onNarrow},
	RuleIcmpExtendZero:  {"icmp-extend-zero", "fold", "extend x == 0, != 0 => x == 0, != 0", onWide},
	RuleIcmpExtends:     {"icmp-extends", "fold", "extend x cmp extend y => x cmp y", onWide},
	RuleIcmpExtendConst: {"icmp-extend-const", "fold", "extend x cmp k => x cmp k", onWide},
	RuleIcmpExtendFar:   {"icmp-extend-far", "fold", "uextend x cmp k => constant, k >= 2^32", onWide},
	RuleSelectSame:      {"select-same", "fold", "c ? x : x => x", onAny},
	RuleSelectDecided:   {"select-decided", "fold", "c ? x : y => x or y, c known", onAny},
	RuleSelectStrip:     {"select-strip", "fold", "c != 0 ? x : y => c ? x : y; c == 0 ? x : y => c ? y : x", onAny},
	RuleSelectBool:      {"select-bool", "fold", "c ? 1 : 0 => c != 0, c ? 0 : 1 => c == 0", onInt},
	RuleBitcastBack:     {"bitcast-back", "fold", "bitcast bitcast x => x", onNumber},
	RuleFoldBitcast:     {"fold-bitcast", "fold", "bitcast k => constant", onNumber},
	RuleFoldFloat:       {"fold-float", "fold", "k op m => constant, not a NaN", onFloat},
	RuleFoldFcvt:        {"fold-fcvt", "fold", "fpromote k, fdemote k => constant, not a NaN", onFloat},
	RuleSizeFixed:       {"size-fixed", "fold", "size of a memory or table that cannot grow => constant", 0},
	RuleEqual:           {"equal", "fold", "an instruction equal to one that dominates it => that", onAny},
	RuleEqualCheck:      {"equal-check", "fold", "sig_check equal to one that dominates it => nothing", 0},
	RuleLoadKnown:       {"load-known", "fold", "a read of what was read or written before => that", onAny},
	RuleStoreSame:       {"store-same", "fold", "a write of what is there => nothing", onAny},
	RuleTrapIfStrip:     {"trapif-strip", "fold", "trapif c != 0 => trapif c", 0},
	RuleTrapIfNever:     {"trapif-never", "fold", "trapif of what is known to be 0 => nothing", 0},
	RuleTrapIfAlways:    {"trapif-always", "fold", "trapif of what is known not to be 0 => trap", 0},
	RuleBranchStrip:     {"branch-strip", "fold", "br c != 0 => br c, br c == 0 => br c the other way", 0},
	RuleBranchDecided:   {"branch-decided", "fold", "br of a known condition => jump", 0},
	RuleBranchAgree:     {"branch-agree", "fold", "br with equal edges => jump", 0},
	RuleTableConst:      {"table-const", "fold", "br_table of a constant => jump", 0},
	RuleTableOne:        {"table-one", "fold", "br_table with one target => jump", 0},
	RuleMergeBlock:      {"merge-block", "fold", "a jump to a block without other predecessors => that block", 0},
	RuleThreadEdge:      {"thread-edge", "branches", "an edge to a block that only jumps => an edge past it", 0},
	RuleEdgesAgree:      {"edges-agree", "branches", "br with equal edges => jump", 0},
	RuleParamSame:       {"param-same", "params", "a parameter with one value => that", 0},
	RuleDead:            {"dead", "dce", "whatever nothing needs => nothing, all at once", 0},
}

// Info describes r.
func (r Rule) Info() *RuleInfo { return &ruleInfos[r] }

func (r Rule) String() string { return ruleInfos[r].Name }
