package a64

import (
	"math/bits"
	"sync"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// The machine's lowering rules, in order of priority within a term.
const (
	// Sums and products.
	RuleExtr backend.Rule = backend.FirstOwn + iota
	RuleExtrLeft
	RuleSumCond
	RuleSumCondLeft
	RuleIsubCond
	RuleIsubNegShifted
	RuleIsubNeg
	RuleSumImm
	RuleSumImmTwice
	RuleProductUnsigned
	RuleProductSigned
	RuleProduct
	RuleImulShift
	RuleImulAdd
	RuleImulUnsigned
	RuleImulSigned
	RuleImulNeg
	// Operands.
	RuleShifted
	RuleExtended
	RuleExtendedMask
	RuleExtendedShifted
	RuleExtendedMaskShifted
	RuleComplement
	// Logic and fields.
	RuleCompareTwoValue
	RuleBandUbfx
	RuleBandUbfxSigned
	RuleBandUbfiz
	RuleBfxil
	RuleBfiLow
	RuleBfxilTop
	RuleBfiMasked
	RuleBfiTop
	RuleBfiPlaced
	RuleBfxilLeft
	RuleBfiLowLeft
	RuleBfxilTopLeft
	RuleBfiMaskedLeft
	RuleBfiTopLeft
	RuleBfiPlacedLeft
	RuleBxorNotShifted
	RuleBxorNot
	RuleLogicImm
	// Shifts and extensions.
	RuleIshlUbfiz
	RuleIshlSbfiz
	RuleUshrUbfx
	RuleUshrUbfiz
	RuleUshrMask
	RuleSshrSbfx
	RuleSshrSbfiz
	RuleShiftImm
	RuleRotlImm
	RuleShiftMasked
	RuleCtzBitmask
	RuleCtzNotBitmask
	RuleSext8Mem
	RuleSext16Mem
	RuleSext32Mem
	RuleSextSbfx
	RuleIreduceUbfx
	RuleDivNonzero
	RuleSdivNoOverflow
	// Floats.
	RuleFnegMul
	RuleBitcastMem
	RuleFcmpZero
	// Vectors.
	RuleVshiftImm
	RuleVmulExtended
	RuleVicmpTest
	RuleVicmpZero
	RuleVicmpZeroLeft
	RuleVfcmpZero
	RuleVfcmpZeroLeft
	RuleAbsDiffUnsigned
	RuleAbsDiffSigned
	RuleAbsDiffSaturated
	RuleAbsDiffWide
	RuleSplatLane
	RuleSplatMem
	RuleSplatMem8
	RuleSplatMem16
	RuleInsertLane
	RuleInsertMem
	RuleInsertMem8
	RuleInsertMem16
	RuleVectorProduct
	RuleVectorWideProduct
	RuleVectorWideFactors
	RuleVectorWideDiff
	RuleVectorPairs
	RuleVectorExtended
	RuleVectorShifted
	RuleVectorNot
	RuleByLane
	RuleLaneMask
	// Comparisons and their users.
	RuleCompareTwo
	RuleTestVector
	RuleTestBitmask
	RuleTestImm
	RuleTestBand
	RuleCmpImm
	RuleCcmpImm
	RuleIcmpSign
	RuleBranchZero
	RuleBranchSign
	RuleBranchBit
	RuleBranchKnown
	RuleSelectZero
	RuleSelectOne
	RuleSelectOnes
	RuleSelectNot
	RuleSelectInc
	RuleSelectNeg
	RuleBoundImm
	// Memory.
	RuleHeapConst
	RuleHeapScaledSum
	RuleHeapScaled
	RuleHeapScaledFar
	RuleHeapShare
	RuleHeapSum
	RuleHeapShareZero
	RuleHeapConstFar
	RuleIndexReduce
	RuleStoreZero
	RuleStoreFconst
	RuleStoreLane
	RulePlusImm
	RulePlusElements
	numRules
)

// The machine's own terms.
const (
	// termCompare: a comparison whose condition an instruction tests; the rule gives Match.Cmp.
	termCompare = backend.FirstOwnTerm + iota
	// termAddress: the address of a load or store; the rule gives Match.Addr.
	termAddress
)

const (
	extension = "sext8|sext16|sext32|sextend"
	operand   = backend.TermOperand

	extendedLanes = "vextend_low_s|vextend_low_u|vextend_high_s|vextend_high_u"

	savesShift = "the operand's shifter does it"
	twoInOne   = "one instruction for two"
)

// inserted returns a row of a rule that inserts a field: what clears it, and what fills it, in either order.
func inserted(name, field, when, gives string, left bool) backend.RuleDef {
	clear := "(only (band x k))"
	if left {
		name, clear, field = name+"-left", field, clear
	}
	return backend.RuleDef{Name: name, Pattern: "(bor " + clear + " " + field + ")", When: when, Lower: lowerInsert, Gives: gives,
		Why: "one instruction for three or four"}
}

var rows = [numRules]backend.RuleDef{
	RuleExtr: {Name: "extr", Pattern: "(iadd|bor (only (ishl x k:amount)) (only (ushr y j:amount)))", When: "whole-width", Lower: lowerExtr,
		Gives: "extr x, y, j", Why: "one instruction for three"},
	RuleExtrLeft: {Name: "extr-left", Pattern: "(iadd|bor (only (ushr y j:amount)) (only (ishl x k:amount)))", When: "whole-width", Lower: lowerExtr,
		Gives: "extr x, y, j", Why: "one instruction for three"},
	RuleSumCond: {Name: "sum-cond", Pattern: "(iadd x y:compared)", Lower: lowerSumCond,
		Gives: "csinc x, x", Why: "no 0 or 1 is made"},
	RuleSumCondLeft: {Name: "sum-cond-left", Pattern: "(iadd y:compared x)", Lower: lowerSumCond,
		Gives: "csinc x, x", Why: "no 0 or 1 is made"},
	RuleIsubCond: {Name: "isub-cond", Pattern: "(isub 0 y:compared)", Lower: lowerIsubCond,
		Gives: "csetm", Why: "no 0 or 1 is made"},
	RuleIsubNegShifted: {Name: "isub-neg-shifted", Pattern: "(isub 0 (only (ishl|ushr|sshr x k:amount)))", Lower: lowerNegateShifted(asm.Neg),
		Gives: "neg x, shifted", Why: savesShift},
	RuleIsubNeg: {Name: "isub-neg", Pattern: "(isub 0 x)", Lower: lowerNegate(asm.Neg),
		Gives: "neg x", Why: "no zero in a register"},
	RuleSumImm: {Name: "sum-imm", Pattern: "(iadd|isub x k:arith)", Lower: lowerSumImm,
		Gives: "add x, k or sub x, -k", Why: "no constant in a register"},
	RuleSumImmTwice: {Name: "sum-imm-twice", Pattern: "(iadd|isub x k:arith-twice)", When: "no-loop", Lower: lowerSumImmTwice,
		Gives: "two additions", Why: "not more than the constant, and no register"},
	RuleProductUnsigned: {Name: "product-unsigned", Term: operand, Pattern: "(only (imul.i64! x:u32 y:u32))",
		Gives: "umaddl x, y", Why: twoInOne},
	RuleProductSigned: {Name: "product-signed", Term: operand, Pattern: "(only (imul.i64! (only (sextend.i64 x)) (only (sextend.i64 y))))",
		Gives: "smaddl x, y", Why: "one instruction for four"},
	RuleProduct: {Name: "product", Term: operand, Pattern: "(only (imul! x y))",
		Gives: "madd or msub x, y", Why: twoInOne},
	RuleImulShift: {Name: "imul-shift", Pattern: "(imul x k:pow2)", Lower: lowerImulShift,
		Gives: "lsl x, log2(k)", Why: "one cycle, and no constant"},
	RuleImulAdd: {Name: "imul-add", Pattern: "(imul x k:pow2-plus-1)", Lower: lowerImulAdd,
		Gives: "add x, x, lsl log2(k-1)", Why: "no constant in a register"},
	RuleImulUnsigned: {Name: "imul-unsigned", Pattern: "(imul.i64 x:u32 y:u32)", Lower: lowerImulUnsigned,
		Gives: "umull x, y", Why: "the multiplication is shorter"},
	RuleImulSigned: {Name: "imul-signed", Pattern: "(imul.i64 (only (sextend x)) (only (sextend y)))", Lower: lowerImulSigned,
		Gives: "smull x, y", Why: "one instruction for three"},
	RuleImulNeg: {Name: "imul-neg", Pattern: "(imul x (only (isub 0 y)))", Lower: lowerImulNeg,
		Gives: "mneg x, y", Why: twoInOne},

	RuleShifted: {Name: "shifted-operand", Term: operand, Pattern: "(only (ishl|ushr|sshr x k:amount))",
		Gives: "x, shifted", Why: savesShift},
	RuleExtended: {Name: "extended-operand", Term: operand, Pattern: "(only (" + extension + " x))",
		Gives: "x, extended", Why: savesShift},
	RuleExtendedMask: {Name: "extended-mask", Term: operand, Pattern: "(only (band x k:extension))",
		Gives: "x, extended", Why: savesShift},
	RuleExtendedShifted: {Name: "extended-shifted", Term: operand, Pattern: "(only (ishl (only (" + extension + " x)) j:to4))",
		Gives: "x, extended and shifted", Why: savesShift},
	RuleExtendedMaskShifted: {Name: "extended-mask-shifted", Term: operand, Pattern: "(only (ishl (only (band x k:extension)) j:to4))",
		Gives: "x, extended and shifted", Why: savesShift},
	RuleComplement: {Name: "logic-not", Term: operand, Pattern: "(only (bxor x -1))",
		Gives: "bic, orn or eon x", Why: twoInOne},

	RuleCompareTwoValue: {Name: "compare-two-value", Pattern: "(band|bor x y)", When: "both-compare", Lower: lowerCompareTwo,
		Gives: "cmp; ccmp; cset", Why: "one 0 or 1 is made instead of two"},
	RuleBandUbfx: {Name: "band-ubfx", Pattern: "(band (only (ushr x k:amount)) j:ones)", Lower: lowerBandUbfx,
		Gives: "ubfx x, k", Why: twoInOne},
	RuleBandUbfxSigned: {Name: "band-ubfx-signed", Pattern: "(band (only (sshr x k:amount)) j:ones)", When: "ones-below-sign", Lower: lowerBandUbfx,
		Gives: "ubfx x, k", Why: twoInOne},
	RuleBandUbfiz: {Name: "band-ubfiz", Pattern: "(band (only (ishl x k:amount)) j)", When: "ones-from-k", Lower: lowerBandUbfiz,
		Gives: "ubfiz x, k", Why: twoInOne},
	RuleBfxil:         inserted("bfxil", "(only (band (only (ushr y j:amount)) i))", "takes-field", "bfxil x, y, j", false),
	RuleBfiLow:        inserted("bfi-low", "(only (band y i))", "low-field", "bfi x, y, 0", false),
	RuleBfxilTop:      inserted("bfxil-top", "(only (ushr y j:amount))", "takes-top", "bfxil x, y, j", false),
	RuleBfiMasked:     inserted("bfi-masked", "(only (ishl (only (band y i)) j:amount))", "masked-field", "bfi x, y, j", false),
	RuleBfiTop:        inserted("bfi-top", "(only (ishl y j:amount))", "top-field", "bfi x, y, j", false),
	RuleBfiPlaced:     inserted("bfi-placed", "(only (band (only (ishl y j:amount)) i))", "placed-field", "bfi x, y, j", false),
	RuleBfxilLeft:     inserted("bfxil", "(only (band (only (ushr y j:amount)) i))", "takes-field", "bfxil x, y, j", true),
	RuleBfiLowLeft:    inserted("bfi-low", "(only (band y i))", "low-field", "bfi x, y, 0", true),
	RuleBfxilTopLeft:  inserted("bfxil-top", "(only (ushr y j:amount))", "takes-top", "bfxil x, y, j", true),
	RuleBfiMaskedLeft: inserted("bfi-masked", "(only (ishl (only (band y i)) j:amount))", "masked-field", "bfi x, y, j", true),
	RuleBfiTopLeft:    inserted("bfi-top", "(only (ishl y j:amount))", "top-field", "bfi x, y, j", true),
	RuleBfiPlacedLeft: inserted("bfi-placed", "(only (band (only (ishl y j:amount)) i))", "placed-field", "bfi x, y, j", true),
	RuleBxorNotShifted: {Name: "bxor-not-shifted", Pattern: "(bxor (only (ishl|ushr|sshr x k:amount)) -1)", Lower: lowerNegateShifted(asm.Mvn),
		Gives: "mvn x, shifted", Why: savesShift},
	RuleBxorNot: {Name: "bxor-not", Pattern: "(bxor x -1)", Lower: lowerNegate(asm.Mvn),
		Gives: "mvn x", Why: "the constant is in the instruction's name"},
	RuleLogicImm: {Name: "logic-imm", Pattern: "(band|bor|bxor x k:bits)", Lower: lowerLogicImm,
		Gives: "op x, k", Why: "no constant in a register"},

	RuleIshlUbfiz: {Name: "ishl-ubfiz", Pattern: "(ishl (only (band x k:ones)) j:amount)", Lower: lowerIshlUbfiz,
		Gives: "ubfiz x, j", Why: twoInOne},
	RuleIshlSbfiz: {Name: "ishl-sbfiz", Pattern: "(ishl (only (" + extension + " x)) j:amount)", Lower: lowerIshlSbfiz,
		Gives: "sbfiz x, j", Why: twoInOne},
	RuleUshrUbfx: {Name: "ushr-ubfx", Pattern: "(ushr (only (ishl x j:amount)) k:amount)", When: "extracts", Lower: lowerTakeField(asm.Ubfx),
		Gives: "ubfx x, k-j", Why: twoInOne},
	RuleUshrUbfiz: {Name: "ushr-ubfiz", Pattern: "(ushr (only (ishl x j:amount)) k:amount)", When: "places", Lower: lowerPlaceField(asm.Ubfiz),
		Gives: "ubfiz x, j-k", Why: twoInOne},
	RuleUshrMask: {Name: "ushr-mask", Pattern: "(ushr (only (band x j)) k:amount)", When: "ones-above-k", Lower: lowerUshrMask,
		Gives: "ubfx x, k", Why: twoInOne},
	RuleSshrSbfx: {Name: "sshr-sbfx", Pattern: "(sshr (only (ishl x j:amount)) k:amount)", When: "extracts", Lower: lowerTakeField(asm.Sbfx),
		Gives: "sbfx x, k-j", Why: twoInOne},
	RuleSshrSbfiz: {Name: "sshr-sbfiz", Pattern: "(sshr (only (ishl x j:amount)) k:amount)", When: "places", Lower: lowerPlaceField(asm.Sbfiz),
		Gives: "sbfiz x, j-k", Why: twoInOne},
	RuleShiftImm: {Name: "shift-imm", Pattern: "(ishl|ushr|sshr|rotr x k)", Lower: lowerShiftImm,
		Gives: "shift x, k", Why: "no constant in a register"},
	RuleRotlImm: {Name: "rotl-imm", Pattern: "(rotl x k)", Lower: lowerRotlImm,
		Gives: "ror x, -k", Why: "one instruction"},
	RuleShiftMasked: {Name: "shift-masked", Term: operand, Pattern: "(band x k:keeps-amount)",
		Gives: "x", Why: "the hardware takes the amount modulo the width"},
	RuleCtzBitmask: {Name: "ctz-bitmask", Pattern: "(ctz.i32 (vbitmask.i8x16 x))", When: "mask-unused", Lower: lowerCtzBitmask,
		Gives: "shrn x, 4; fmov; rbit; clz; lsr 2; and 16; add", Why: "no mask is made: a branch on it may test the vector"},
	RuleCtzNotBitmask: {Name: "ctz-not-bitmask", Pattern: "(ctz.i32 (only (bxor (vbitmask.i8x16 x) -1)))", When: "mask-unused", Lower: lowerCtzNotBitmask,
		Gives: "shrn x, 4; fmov; mvn; rbit; clz; lsr 2", Why: "no mask is made: a branch on it may test the vector"},
	RuleSext8Mem: {Name: "sext8-mem", Pattern: "(sext8 [x:1])", Lower: lowerSextMem(clif.S8),
		Gives: "ldrsb [x]", Why: twoInOne},
	RuleSext16Mem: {Name: "sext16-mem", Pattern: "(sext16 [x:2])", Lower: lowerSextMem(clif.S16),
		Gives: "ldrsh [x]", Why: twoInOne},
	RuleSext32Mem: {Name: "sext32-mem", Pattern: "(sext32|sextend [x:4])", Lower: lowerSextMem(clif.S32),
		Gives: "ldrsw [x]", Why: twoInOne},
	RuleSextSbfx: {Name: "sext-sbfx", Pattern: "(sext8|sext16|sext32 (only (ushr|sshr x k:amount)))", When: "field-inside", Lower: lowerSextSbfx,
		Gives: "sbfx x, k", Why: twoInOne},
	RuleIreduceUbfx: {Name: "ireduce-ubfx", Pattern: "(ireduce (only (ushr|sshr.i64 x k:to32)))", Lower: lowerIreduceUbfx,
		Gives: "ubfx x, k, 32", Why: twoInOne},
	RuleDivNonzero: {Name: "div-nonzero", Term: operand, Pattern: "k:nonzero",
		Gives: "no test for zero", Why: "the constant is not zero"},
	RuleSdivNoOverflow: {Name: "sdiv-no-overflow", Term: operand, Pattern: "k:not-minus-one",
		Gives: "no test for overflow", Why: "only a division by -1 overflows"},

	RuleFnegMul: {Name: "fneg-mul", Pattern: "(fneg (only (fmul x y)))", Lower: lowerFnegMul,
		Gives: "fnmul x, y", Why: "one instruction for two, rounded once as fmul is"},
	RuleBitcastMem: {Name: "bitcast-mem", Pattern: "(bitcast [x])", Lower: lowerBitcastMem,
		Gives: "a load to the other bank", Why: "the move is saved"},
	RuleFcmpZero: {Name: "fcmp-zero", Term: termCompare, Pattern: "(fcmp x y:float-zero)", Lower: compareFloatZero,
		Gives: "fcmp x, 0", Why: "no zero in a register"},

	RuleVshiftImm: {Name: "vshift-imm", Pattern: "(vshl|vshr_s|vshr_u x k)", Lower: lowerVshiftImm,
		Gives: "shift x, k", Why: "no constant in a register, and no vector of it"},
	RuleVmulExtended: {Name: "vmul-extended", Pattern: "(vmul (" + extendedLanes + " x) (" + extendedLanes + " y))", When: "extended-alike", Lower: lowerVmulExtended,
		Gives: "smull or umull", Why: "what nothing else uses is not extended"},
	RuleVicmpTest: {Name: "vicmp-test", Pattern: "(vicmp:ne (only (vand.v128 x y)) z:vector-zero)", Lower: lowerVicmpTest,
		Gives: "cmtst x, y", Why: "one instruction for three, and no zero"},
	RuleVicmpZero: {Name: "vicmp-zero-right", Pattern: "(vicmp:eq|ne|slt|sge|sgt|sle|ugt|ule x y:vector-zero)", Lower: lowerVicmpZero(false),
		Gives: "compare x, 0", Why: "no zero in a register"},
	RuleVicmpZeroLeft: {Name: "vicmp-zero-left", Pattern: "(vicmp:eq|ne|slt|sge|sgt|sle|ult|uge y:vector-zero x)", Lower: lowerVicmpZero(true),
		Gives: "compare x, 0", Why: "no zero in a register"},
	RuleVfcmpZero: {Name: "vfcmp-zero", Pattern: "(vfcmp x y:vector-zero)", Lower: lowerVfcmpZero(false),
		Gives: "compare x, 0.0", Why: "no zero in a register"},
	RuleVfcmpZeroLeft: {Name: "vfcmp-zero-left", Pattern: "(vfcmp y:vector-zero x)", Lower: lowerVfcmpZero(true),
		Gives: "compare x, 0.0", Why: "no zero in a register"},
	RuleAbsDiffUnsigned: {Name: "abs-diff-unsigned", Pattern: "(vsub (only (vmax_u x y)) (only (vmin_u z w)))", When: "same-pair", Lower: lowerAbsDiff(asm.Vuabd),
		Gives: "uabd x, y", Why: "one instruction for three"},
	RuleAbsDiffSigned: {Name: "abs-diff-signed", Pattern: "(vsub (only (vmax_s x y)) (only (vmin_s z w)))", When: "same-pair", Lower: lowerAbsDiff(asm.Vsabd),
		Gives: "sabd x, y", Why: "one instruction for three"},
	RuleAbsDiffSaturated: {Name: "abs-diff-saturated", Pattern: "(vor (only (vsub_sat_u.any x y)) (only (vsub_sat_u.any z w)))", When: "one-shape crossed", Lower: lowerAbsDiffSaturated,
		Gives: "uabd", Why: "one of the differences is zero: one instruction for three"},
	RuleAbsDiffWide: {Name: "abs-diff-wide", Pattern: "(vabs (only (vsub (" + extendedLanes + " x) (" + extendedLanes + " y))))", When: "factors-alike", Lower: lowerAbsDiffWide,
		Gives: "sabdl or uabdl", Why: "what nothing else uses is not extended"},
	RuleSplatLane: {Name: "splat-lane", Pattern: "(vsplat (only (vextract x)))", Lower: lowerSplatLane,
		Gives: "dup x[lane]", Why: twoInOne},
	RuleSplatMem: {Name: "splat-mem", Pattern: "(vsplat [x])", When: "lanes-of-words", Lower: lowerSplatMem,
		Gives: "ld1r [x]", Why: "no move between the banks"},
	RuleSplatMem8: {Name: "splat-mem8", Pattern: "(vsplat.i8x16 [x:1])", Lower: lowerSplatMem,
		Gives: "ld1r [x]", Why: "no move between the banks"},
	RuleSplatMem16: {Name: "splat-mem16", Pattern: "(vsplat.i16x8 [x:2])", Lower: lowerSplatMem,
		Gives: "ld1r [x]", Why: "no move between the banks"},
	RuleInsertLane: {Name: "insert-lane", Pattern: "(vinsert x (only (vextract y)))", Lower: lowerInsertLane,
		Gives: "ins x[lane], y[lane]", Why: twoInOne},
	RuleInsertMem: {Name: "insert-mem", Pattern: "(vinsert x [y])", When: "lanes-of-words", Lower: lowerInsertMem,
		Gives: "ld1 x[lane], [y]", Why: "no move between the banks"},
	RuleInsertMem8: {Name: "insert-mem8", Pattern: "(vinsert.i8x16 x [y:1])", Lower: lowerInsertMem,
		Gives: "ld1 x[lane], [y]", Why: "no move between the banks"},
	RuleInsertMem16: {Name: "insert-mem16", Pattern: "(vinsert.i16x8 x [y:2])", Lower: lowerInsertMem,
		Gives: "ld1 x[lane], [y]", Why: "no move between the banks"},
	RuleVectorProduct: {Name: "vector-product", Term: operand, Pattern: "(only (vmul x y))", When: "not-i64x2",
		Gives: "mla or mls x, y", Why: twoInOne},
	RuleVectorWideProduct: {Name: "vector-wide-product", Term: operand, Pattern: "(only (vextmul_low_s|vextmul_low_u|vextmul_high_s|vextmul_high_u x y))",
		Gives: "smlal, umlal, smlsl or umlsl x, y", Why: twoInOne},
	RuleVectorWideFactors: {Name: "vector-wide-factors", Term: operand, Pattern: "(only (vmul (" + extendedLanes + " x) (" + extendedLanes + " y)))", When: "factors-alike",
		Gives: "smlal, umlal, smlsl or umlsl x, y", Why: "what nothing else uses is not extended"},
	RuleVectorWideDiff: {Name: "vector-wide-diff", Term: operand, Pattern: "(only (vabs (only (vsub (" + extendedLanes + " x) (" + extendedLanes + " y)))))", When: "terms-alike",
		Gives: "sabal or uabal x, y", Why: "what nothing else uses is not extended"},
	RuleVectorPairs: {Name: "vector-pairs", Term: operand, Pattern: "(only (vextadd_pair_s|vextadd_pair_u x))",
		Gives: "sadalp or uadalp x", Why: twoInOne},
	RuleVectorExtended: {Name: "vector-extended", Term: operand, Pattern: "(only (" + extendedLanes + " x))",
		Gives: "saddw, uaddw, ssubw or usubw x", Why: twoInOne},
	RuleVectorShifted: {Name: "vector-shifted", Term: operand, Pattern: "(only (vshr_s|vshr_u x k))", When: "shifts-lanes",
		Gives: "ssra or usra x, k", Why: twoInOne},
	RuleVectorNot: {Name: "vector-not", Term: operand, Pattern: "(only (vnot x))",
		Gives: "bic or orn x", Why: twoInOne},
	RuleByLane: {Name: "by-lane", Term: operand, Pattern: "(only (vsplat|vshuffle.any x))", When: "one-lane",
		Gives: "an operation by a lane of x", Why: "no copies of the lane"},
	RuleLaneMask: {Name: "lane-mask-known", Term: operand, Pattern: "(vicmp|vfcmp.any x y)", When: "lane-mask",
		Gives: "x", Why: "its lanes are ones or zeros"},

	RuleTestVector: {Name: "test-vector", Term: termCompare, Pattern: "(icmp:eq|ne.i32 (only (vany_true|vall_true|vbitmask.any x)) 0)", Lower: compareVectorTest,
		Gives: "cmp of the vector's half or least lane", Why: "no 0 or 1 is made, and no mask"},
	RuleTestBitmask: {Name: "test-bitmask", Term: termCompare, Pattern: "(icmp:eq|ne.i32 (only (vbitmask.any x)) k)", When: "all-lanes", Lower: compareBitmask,
		Gives: "cmp of the least lane", Why: "no mask is made"},
	RuleCompareTwo: {Name: "compare-two", Term: termCompare, Pattern: "(icmp:eq|ne.i32 (only (band|bor x y)) 0)", When: "both-compare", Lower: compareTwo,
		Gives: "cmp; ccmp", Why: "no 0 or 1 is made"},
	RuleTestImm: {Name: "test-imm", Term: termCompare, Pattern: "(icmp:eq|ne|slt|sge|sgt|sle (only (band x k:bits)) 0)", Lower: compareTestImm,
		Gives: "tst x, k", Why: "the and is saved"},
	RuleTestBand: {Name: "test-band", Term: termCompare, Pattern: "(icmp:eq|ne|slt|sge|sgt|sle (only (band x y)) 0)", Lower: compareTest,
		Gives: "tst x, y", Why: "the and is saved"},
	RuleCmpImm: {Name: "cmp-imm", Term: termCompare, Pattern: "(icmp x k:nonzero)", When: "compare-imm", Lower: compareImm,
		Gives: "cmp x, k or cmn x, -k, or its neighbour", Why: "no constant in a register"},
	RuleCcmpImm: {Name: "ccmp-imm", Term: operand, Pattern: "k:five-bits",
		Gives: "ccmp x, k or ccmn x, -k", Why: "no constant in a register"},
	RuleIcmpSign: {Name: "icmp-sign", Term: operand, Pattern: "x", When: "negative",
		Gives: "lsr x, width-1", Why: "one instruction for two"},
	RuleBranchZero: {Name: "branch-zero", Term: operand, Pattern: "x", When: "equals-zero",
		Gives: "cbz or cbnz x", Why: "one instruction for two"},
	RuleBranchSign: {Name: "branch-sign", Term: operand, Pattern: "x", When: "tests-sign",
		Gives: "tbz or tbnz x, width-1", Why: "one instruction for two"},
	RuleBranchBit: {Name: "branch-bit", Term: operand, Pattern: "x", When: "tests-bit",
		Gives: "tbz or tbnz x, bit", Why: "one instruction for two"},
	RuleBranchKnown: {Name: "branch-known", Pattern: "(br x)", When: "boolean-exists", Lower: lowerBranchKnown,
		Gives: "cbnz x", Why: "the 0 or 1 is there: it is not compared again"},
	RuleSelectZero: {Name: "select-zero", Term: operand, Pattern: "0",
		Gives: "csel zr", Why: "no zero in a register"},
	RuleSelectOne: {Name: "select-one", Term: operand, Pattern: "1",
		Gives: "csinc zr", Why: "no constant in a register"},
	RuleSelectOnes: {Name: "select-ones", Term: operand, Pattern: "-1",
		Gives: "csinv zr", Why: "no constant in a register"},
	RuleSelectNot: {Name: "select-not", Term: operand, Pattern: "(only (bxor x -1))",
		Gives: "csinv x", Why: twoInOne},
	RuleSelectInc: {Name: "select-inc", Term: operand, Pattern: "(only (iadd x 1))",
		Gives: "csinc x", Why: twoInOne},
	RuleSelectNeg: {Name: "select-neg", Term: operand, Pattern: "(only (isub 0 x))",
		Gives: "csneg x", Why: twoInOne},
	RuleBoundImm: {Name: "bound-imm", Pattern: "(bound x k:positive-arith)", Lower: lowerBoundImm,
		Gives: "cmp x, k", Why: "no constant in a register"},

	RuleHeapConst: {Name: "heap-const", Term: termAddress, Pattern: "(load|store k)", When: "displacement", Lower: addressConst,
		Gives: "[memory+k+offset]", Why: "no index"},
	RuleHeapScaledSum: {Name: "heap-scaled-sum", Term: termAddress, Pattern: "(load|store (only (ishl x k:amount)))", When: "near no-bits-lost sum-needed", Lower: addressScaledSum,
		Gives: "[(memory+x<<k)+offset]", Why: "the shift is the sum's"},
	RuleHeapScaled: {Name: "heap-scaled", Term: termAddress, Pattern: "(load|store (only (ishl x k:amount)))", When: "no-bits-lost access-scaled", Lower: addressScaled,
		Gives: "[memory+x<<k]", Why: "the shift is the address's"},
	RuleHeapScaledFar: {Name: "heap-scaled-far", Term: termAddress, Pattern: "(load|store (only (ishl x k:amount)))", When: "no-bits-lost", Lower: addressScaledFar,
		Gives: "[memory+(offset+x<<k)]", Why: "the shift is the sum's"},
	RuleHeapShare: {Name: "heap-share", Term: termAddress, Pattern: "(load|store x)", When: "wants-sum asked-before", Lower: addressShare,
		Gives: "[sum+offset], the sum that an access in front makes", Why: "the sum is made once"},
	RuleHeapSum: {Name: "heap-sum", Term: termAddress, Pattern: "(load|store x)", When: "wants-sum", Lower: addressSum,
		Gives: "[(memory+x)+offset]", Why: "no constant in a register"},
	RuleHeapShareZero: {Name: "heap-share-zero", Term: termAddress, Pattern: "(load|store x)", When: "no-offset sum-pending", Lower: addressPending,
		Gives: "[sum]", Why: "an access in front makes the sum anyhow"},
	RuleHeapConstFar: {Name: "heap-const-far", Term: termAddress, Pattern: "(load|store k)", Lower: addressConstFar,
		Gives: "[memory+(k+offset)]", Why: "one constant"},
	RuleIndexReduce: {Name: "index-ireduce", Term: operand, Pattern: "(ireduce.any x)",
		Gives: "[memory+x, uxtw], or the same in the sum", Why: "the address takes the low half"},
	RuleStoreZero: {Name: "store-zero", Term: operand, Pattern: "x", When: "all-zero",
		Gives: "str zr", Why: "no zero in a register"},
	RuleStoreLane: {Name: "store-lane", Term: operand, Pattern: "(only (vextract.any x))", When: "lane-stored",
		Gives: "st1 x[lane], or a store of the lowest lane", Why: "no move between the banks"},
	RuleStoreFconst: {Name: "store-fconst", Term: operand, Pattern: "x:float-const",
		Gives: "a store of its bits from an integer register", Why: "no load from the pool"},
	RulePlusImm: {Name: "plus-imm", Term: operand, Pattern: "k:offset",
		Gives: "add base, k", Why: "no constant in a register"},
	RulePlusElements: {Name: "plus-elements", Term: operand, Pattern: "k:elements",
		Gives: "add base, 8k", Why: "no constant in a register"},
}

// words are what the patterns name.
var words = backend.Vocabulary{
	Consts: map[string]func(t clif.Type, k int64) bool{
		"pow2": func(t clif.Type, k int64) bool { return k > 0 && k&(k-1) == 0 },
		// not-minus-one: a division by it does not overflow.
		"not-minus-one": func(_ clif.Type, k int64) bool { return k != -1 },
		// arith: an immediate of add or sub, or its negative that fits 32 bits.
		"arith": func(_ clif.Type, k int64) bool { return asm.FitsArith(magnitude(k)) },
		// arith-twice: the sum of two immediates, and not one movz.
		"arith-twice":    func(_ clif.Type, k int64) bool { k = magnitude(k); return k > 1<<16 && k < 1<<24 },
		"positive-arith": func(_ clif.Type, k int64) bool { return k > 0 && asm.FitsArith(k) },
		// five-bits: an immediate of ccmp, or its negative one of ccmn.
		"five-bits": func(_ clif.Type, k int64) bool { return k > -32 && k < 32 },
		// offset, elements: bytes and words that one addition can skip.
		"offset":       func(_ clif.Type, k int64) bool { return k >= 0 && asm.FitsArith(k) },
		"elements":     func(_ clif.Type, k int64) bool { return k >= 0 && k < 1<<24 && asm.FitsArith(k<<3) },
		"pow2-plus-1":  func(_ clif.Type, k int64) bool { return k > 2 && (k-1)&(k-2) == 0 },
		"amount":       func(t clif.Type, k int64) bool { return amount(t, k) != 0 },
		"to4":          func(t clif.Type, k int64) bool { return amount(t, k) >= 1 && amount(t, k) <= 4 },
		"to32":         func(_ clif.Type, k int64) bool { return amount(clif.I64, k) >= 1 && amount(clif.I64, k) <= 32 },
		"keeps-amount": func(t clif.Type, k int64) bool { return amount(t, k) == amount(t, -1) },
		// extension: the mask of a zero-extension that an operand can have.
		"extension": func(t clif.Type, k int64) bool { return k == 0xff || k == 0xffff || k == 0xffff_ffff && t == clif.I64 },
		// ones: ones from bit 0 on.
		"ones": func(t clif.Type, k int64) bool { return ones(unsigned(t, k)) != 0 },
		// bits: an immediate of a bitwise operation.
		"bits": func(t clif.Type, k int64) bool { return asm.FitsBits(backend.SizeOf(t), int64(unsigned(t, k))) },
	},
	Values: map[string]func(q *query, v clif.Value) bool{
		// u32: an i32 or its zero-extension.
		"u32": func(q *query, v clif.Value) bool { return q.F.TypeOf(q.Resolve(v)) == clif.I32 },
		// compared: the result of a comparison, and nothing else uses it.
		"compared":    func(q *query, v clif.Value) bool { return onlyComparison(q, v) != nil },
		"float-const": func(q *query, v clif.Value) bool { return q.DefOp(v, clif.OpFconst) != nil && q.OnlyUse(v) },
		"vector-zero": func(q *query, v clif.Value) bool { low, high, ok := q.Vconst(v); return ok && low|high == 0 },
		"float-zero":  func(q *query, v clif.Value) bool { return isFloatZero(q, q.F.TypeOf(v), v) },
	},
	Guards: map[string]func(q *query, m *match) bool{
		// lane-mask: the operand has ones or zeros in the lanes of the shape, or in wider ones.
		"lane-mask":      func(q *query, m *match) bool { return definition(q, m, 0).Type.LaneBits() >= m.T.LaneBits() },
		"extended-alike": func(q *query, m *match) bool { return definition(q, m, 0).Op == definition(q, m, 1).Op },
		"factors-alike":  func(q *query, m *match) bool { return operandsAlike(q, m.Arg(0)) },
		"terms-alike":    func(q *query, m *match) bool { return operandsAlike(q, definition(q, m, 0).ArgA()) },
		// same-pair: z and w are x and y, crossed: y and x.
		"same-pair":      func(q *query, m *match) bool { return same(q, m.X(), m.Z()) && same(q, m.Y(), m.W()) || crossed(q, m) },
		"crossed":        crossed,
		"one-shape":      func(q *query, m *match) bool { return definition(q, m, 0).Type == definition(q, m, 1).Type },
		"lanes-of-words": func(_ *query, m *match) bool { return m.T.LaneBits() >= 32 },
		"not-i64x2":      func(_ *query, m *match) bool { return m.T != clif.I64x2 },
		"shifts-lanes":   func(_ *query, m *match) bool { return m.K&int64(m.T.LaneBits()-1) != 0 },
		"one-lane":       func(q *query, m *match) bool { _, _, ok := copiedLane(q, m); return ok },
		"lane-stored":    func(q *query, m *match) bool { return definition(q, m, 0).Type.LaneBits() == 8*m.Bytes },
		// mask-unused: nothing behind the instruction uses the mask, and at most one in front of it does.
		"mask-unused": func(q *query, m *match) bool {
			mask := maskOf(q, m.Arg(0))
			return q.EndsHere(mask) && q.NumUses(mask) <= 2
		},
		// all-lanes: k has a bit for each lane.
		"all-lanes":   func(q *query, m *match) bool { return m.K == 1<<definition(q, m, 0).Type.Lanes()-1 },
		"whole-width": func(_ *query, m *match) bool { return amount(m.T, m.K)+amount(m.T, m.J) == m.T.Bits() },
		"no-loop":     func(q *query, _ *match) bool { return q.LoopDepth() == 0 },
		// ones-below-sign: the field j above k takes no copy of the sign.
		"ones-below-sign": func(_ *query, m *match) bool { return ones(unsigned(m.T, m.J))+amount(m.T, m.K) <= m.T.Bits() },
		"ones-from-k":     func(_ *query, m *match) bool { return ones(unsigned(m.T, m.J)>>amount(m.T, m.K)) != 0 },
		"ones-above-k":    func(_ *query, m *match) bool { return ones(unsigned(m.T, m.J)>>amount(m.T, m.K)) != 0 },
		"extracts":        func(_ *query, m *match) bool { return amount(m.T, m.K) >= amount(m.T, m.J) },
		"places":          func(_ *query, m *match) bool { return amount(m.T, m.K) < amount(m.T, m.J) },
		"field-inside":    func(_ *query, m *match) bool { return amount(m.T, m.K)+8*extended(m.D.Op) <= m.T.Bits() },
		// Of insertions: k clears width bits from bit at on.
		"takes-field": func(_ *query, m *match) bool {
			at, width, field := hole(m)
			return at == 0 && width != 0 && unsigned(m.T, m.I) == field && amount(m.T, m.J)+width <= m.T.Bits()
		},
		"low-field": func(_ *query, m *match) bool {
			at, width, field := hole(m)
			return at == 0 && width != 0 && unsigned(m.T, m.I) == field
		},
		"takes-top": func(_ *query, m *match) bool {
			at, width, _ := hole(m)
			return at == 0 && width != 0 && m.T.Bits()-amount(m.T, m.J) == width
		},
		"masked-field": func(_ *query, m *match) bool {
			at, width, field := hole(m)
			return at != 0 && width != 0 && amount(m.T, m.J) == at && unsigned(m.T, m.I) == field>>at
		},
		"top-field": func(_ *query, m *match) bool {
			at, width, _ := hole(m)
			return at != 0 && width != 0 && amount(m.T, m.J) == at && at+width == m.T.Bits()
		},
		"placed-field": func(_ *query, m *match) bool {
			at, width, field := hole(m)
			return at != 0 && width != 0 && amount(m.T, m.J) == at && unsigned(m.T, m.I) == field
		},
		"both-compare":   matchBoth,
		"compare-imm":    func(_ *query, m *match) bool { _, ok := immediateCompare(m); return ok },
		"boolean-exists": func(q *query, m *match) bool { return q.NumSuccs() != 1 && booleanExists(q, m.X()) },
		// Of comparisons that are made, in Match.Cmp.
		"negative":    func(_ *query, m *match) bool { return comparesZero(m) && asm.Cond(m.Cmp.In.Cond) == asm.LT },
		"equals-zero": func(_ *query, m *match) bool { return comparesZero(m) && asm.Cond(m.Cmp.In.Cond) <= asm.NE },
		"tests-sign": func(_ *query, m *match) bool {
			cond := asm.Cond(m.Cmp.In.Cond)
			return comparesZero(m) && (cond == asm.LT || cond == asm.GE)
		},
		"tests-bit": func(_ *query, m *match) bool {
			k := testedBits(&m.Cmp.In)
			return m.Cmp.In.Op == asm.TstImm && asm.Cond(m.Cmp.In.Cond) <= asm.NE && k&(k-1) == 0
		},
		// Of addresses.
		"near": func(q *query, m *match) bool { _, _, ok := sumOf(q, m.D); return ok },
		"displacement": func(q *query, m *match) bool {
			key, _, ok := sumOf(q, m.D)
			return ok && key.Offset == 0
		},
		// no-bits-lost: the i32 x, shifted by k, is the same in 64 bits.
		"no-bits-lost":  func(q *query, m *match) bool { return amount(clif.I32, m.K)+q.MaxBits(m.X()) <= 32 },
		"sum-needed":    func(_ *query, m *match) bool { return !accessScaled(m) },
		"access-scaled": func(_ *query, m *match) bool { return accessScaled(m) },
		"wants-sum":     func(q *query, m *match) bool { _, ok := wantsSum(q, m.D); return ok },
		"asked-before":  func(q *query, m *match) bool { key, _, _ := sumOf(q, m.D); return q.AskedBefore(m.Inst, key, wantsSum) },
		"no-offset":     func(_ *query, m *match) bool { return heapOffset(m.D) == 0 },
		"sum-pending":   func(q *query, m *match) bool { key, _, _ := sumOf(q, m.D); _, ok := q.PendingSum(key); return ok },
		"all-zero":      func(q *query, m *match) bool { return isZero(q, m.Bytes, m.X()) },
	},
	Loads: []clif.Opcode{clif.OpLoad},
}

// same reports whether two values are the same one.
func same(q *query, x, y clif.Value) bool { return q.Resolve(x) == q.Resolve(y) }

// crossed reports whether z is y, and w is x.
func crossed(q *query, m *match) bool { return same(q, m.X(), m.W()) && same(q, m.Y(), m.Z()) }

// operandsAlike reports whether the two operands of the instruction that defines v have the same opcode.
func operandsAlike(q *query, v clif.Value) bool {
	_, d := q.DefInst(v)
	_, x := q.DefInst(d.ArgA())
	_, y := q.DefInst(d.ArgB())
	return x.Op == y.Op
}

// maskOf returns the vbitmask that v is, or of which v is the complement.
func maskOf(q *query, v clif.Value) clif.Value {
	if _, d := q.DefInst(v); d.Op == clif.OpBxor {
		v, _ = q.ConstLast(d.ArgA(), d.ArgB())
	}
	return v
}

// definition returns what defines operand n of the instruction in question, which the pattern says is an instruction.
func definition(q *query, m *match, n int) *clif.InstData {
	_, d := q.DefInst(m.Arg(n))
	return d
}

// amount returns k as the amount of a shift of type t.
func amount(t clif.Type, k int64) int { return int(k) & (t.Bits() - 1) }

// unsigned returns the constant k of type t without sign.
func unsigned(t clif.Type, k int64) uint64 {
	if t == clif.I32 {
		return uint64(uint32(k))
	}
	return uint64(k)
}

// magnitude returns k, or -k where k is negative and fits 32 bits.
func magnitude(k int64) int64 {
	if k < 0 && k == int64(int32(k)) {
		return -k
	}
	return k
}

// ones returns the width of m if it is a row of ones from bit 0, else 0.
func ones(m uint64) int {
	if m&(m+1) != 0 {
		return 0
	}
	return bits.Len64(m)
}

// hole returns the bits that the mask k clears: the first one, their number, which is 0 if they are not contiguous, and their
// mask.
func hole(m *match) (at, width int, field uint64) {
	field = ^unsigned(m.T, m.K) & (1<<(m.T.Bits()-1)<<1 - 1)
	if field == 0 {
		return 0, 0, 0
	}
	at = bits.TrailingZeros64(field)
	return at, ones(field >> at), field
}

// machineRules is the table of rules, which is made once.
var machineRules = sync.OnceValue(func() *backend.Rules { return backend.NewRules(rows[:], &words) })
