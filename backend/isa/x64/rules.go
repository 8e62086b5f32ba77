package x64

import (
	"math"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// The machine's lowering rules, in order of priority within a term.
const (
	// Integer arithmetic.
	RuleSumCarry backend.Rule = backend.FirstOwn + iota
	RuleSumCarryLeft
	RuleIsubCarry
	RuleIaddLea3Scaled
	RuleIaddLea3ScaledLeft
	RuleIaddLea3
	RuleIaddLeaImm
	RuleIaddLeaScaled
	RuleIaddLeaScaledLeft
	RuleIaddLea
	RuleIsubNeg
	RuleIsubLea
	RuleMulJoin
	RuleImulLea
	RuleImulShift
	RuleImulMemImm
	RuleBandZext
	RuleBandLow
	RuleBandAndn
	RuleBandAndnLeft
	RuleBxorNot
	RuleAluImm
	RuleAluMem
	RuleAluMemLeft
	// Shifts and bits.
	RuleIshlLea
	RuleRotRorx
	RuleShiftImm
	RuleShiftBMI2Mem
	RuleShiftBMI2
	RuleShiftMasked
	RuleClzLzcntMem
	RuleClzLzcnt
	RuleCtzTzcntMem
	RuleCtzTzcnt
	RulePopcntMem
	RuleSext8Mem
	RuleSext16Mem
	RuleSext32Mem
	RuleIreduceMem
	RuleSdivNonzero
	RuleSremDivisor
	// Floats and conversions.
	RuleFloatMem
	RuleFloatConst
	RuleFloatMemLeft
	RuleFloatConstLeft
	RuleFloatUnaryMem
	RuleCvtMem
	RuleBitcastMem
	RuleFcmpMask
	// Vectors.
	RuleVconstOperand
	RuleVloadOperand
	RuleVshiftImm
	RuleVrotate32
	RuleVrotate32Left
	RuleVrotate64
	RuleVrotate64Left
	RuleVselectInverse
	RuleVselectMask
	RuleVextaddQuads
	RuleVextaddProducts
	RuleVextaddProductsU
	RuleVextaddBytes
	RuleVextaddBytesU
	RuleVswizzleLow
	RuleVsplatMem
	RuleVsplatMem8
	RuleVsplatMem16
	RuleVextendMem
	RuleVinsertMem
	RuleVinsertMem8
	RuleVinsertMem16
	// Comparisons and their users.
	RuleTestVector
	RuleTestBitmask
	RuleTestMemNarrow
	RuleTestMemImm
	RuleTestImm
	RuleTestMem
	RuleTestBand
	RuleCmpMemNarrow
	RuleCmpMemImm
	RuleCmpMem
	RuleCmpMemLeft
	RuleCmpImm
	RuleFcmpMem
	RuleFcmpMemLeft // in front of RuleFcmpConst: a zero needs no memory
	RuleFcmpConst
	RuleBoundImm
	RuleBoundMem
	RuleBranchAlu
	// Memory.
	RuleHeapConst
	RuleHeapScaledSum
	RuleHeapSum
	RuleStoreModifyImm
	RuleStoreModify
	RuleStoreModifyLeft
	RuleStoreImm
	RuleStoreLane
	RulePlusImm
	RulePlusElements
	numRules
)

// The machine's own terms.
const (
	// termAlu: a two-address operation; the rule appends it.
	termAlu = backend.FirstOwnTerm + iota
	// termCompare: a comparison whose condition an instruction tests; the rule gives Match.Cmp.
	termCompare
	// termAddress: the address of a load or store; the rule gives Match.Addr.
	termAddress
)

const (
	alu = "iadd|isub|imul|band|bor|bxor"
	// carry is a comparison whose result is a carry or the absence of one, perhaps with the operands exchanged.
	carry = "(only (icmp:ult|uge|ugt|ule.any y z))"
)

var rows = [numRules]backend.RuleDef{
	RuleSumCarry: {Name: "sum-carry", Pattern: "(iadd.i64 x " + carry + ")", When: "carry-right", Lower: lowerCarry(backend.TailAdd, 1),
		Gives: "cmp; adc x, 0 or sbb x, -1", Why: "no 0 or 1 is made"},
	RuleSumCarryLeft: {Name: "sum-carry-left", Pattern: "(iadd.i64 " + carry + " x)", When: "carry-left", Lower: lowerCarry(backend.TailAdd, 0),
		Gives: "cmp; adc x, 0 or sbb x, -1", Why: "no 0 or 1 is made"},
	RuleIsubCarry: {Name: "isub-carry", Pattern: "(isub.i64 x " + carry + ")", When: "carry-right", Lower: lowerCarry(backend.TailSub, 1),
		Gives: "cmp; sbb x, 0 or adc x, -1", Why: "no 0 or 1 is made"},
	RuleIaddLea3Scaled: {Name: "iadd-lea3-scaled", Pattern: "(iadd (only (iadd x (only (ishl y j:scale)))) k:imm32)", Lower: lowerLea,
		Gives: "lea [x+y<<j+k]", Why: "one instruction for three"},
	RuleIaddLea3ScaledLeft: {Name: "iadd-lea3-scaled-left", Pattern: "(iadd (only (iadd (only (ishl y j:scale)) x:var)) k:imm32)", Lower: lowerLea,
		Gives: "lea [x+y<<j+k]", Why: "one instruction for three"},
	RuleIaddLea3: {Name: "iadd-lea3", Pattern: "(iadd (only (iadd y x:var)) k:imm32)", Lower: lowerLea,
		Gives: "lea [x+y+k]", Why: "one instruction for two"},
	RuleIaddLeaImm: {Name: "iadd-lea-imm", Pattern: "(iadd x:kept k:imm32)", Lower: lowerLeaImm,
		Gives: "lea [x+k]", Why: "x stays: no copy"},
	RuleIaddLeaScaled: {Name: "iadd-lea-scaled", Pattern: "(iadd x (only (ishl y j:scale)))", Lower: lowerLea,
		Gives: "lea [x+y<<j]", Why: "one instruction for two"},
	RuleIaddLeaScaledLeft: {Name: "iadd-lea-scaled-left", Pattern: "(iadd (only (ishl y j:scale)) x:var)", Lower: lowerLea,
		Gives: "lea [x+y<<j]", Why: "one instruction for two"},
	RuleIaddLea: {Name: "iadd-lea", Pattern: "(iadd y:kept x:kept)", When: "x-not-constant", Lower: lowerLea,
		Gives: "lea [x+y]", Why: "both stay: no copy"},
	RuleIsubNeg: {Name: "isub-neg", Pattern: "(isub 0 x)", Lower: lowerNeg,
		Gives: "neg x", Why: "no zero in a register"},
	RuleIsubLea: {Name: "isub-lea", Pattern: "(isub x:kept k:neg-imm32)", Lower: lowerLeaNegImm,
		Gives: "lea [x-k]", Why: "x stays: no copy"},
	RuleMulJoin: {Name: "mul-join", Pattern: "(imul|umulhi|smulhi.i64 x y)", When: "other-half", Lower: lowerMulJoin,
		Gives: "nothing: the other half, in front, becomes a mul of both", Why: "one multiplication instead of two"},
	RuleImulLea: {Name: "imul-lea", Pattern: "(imul x k:lea-factor)", Lower: lowerImulLea,
		Gives: "lea [x+x<<log2(k-1)]", Why: "one cycle instead of three"},
	RuleImulShift: {Name: "imul-shift", Pattern: "(imul x k:pow2-imm32)", Lower: lowerImulShift,
		Gives: "shl x, log2(k)", Why: "one cycle instead of three"},
	RuleImulMemImm: {Name: "imul-mem-imm", Pattern: "(imul [x] k:imm32)", Lower: lowerImulMemImm,
		Gives: "imul [x], k", Why: "the load is saved"},
	RuleBandZext: {Name: "band-zext", Pattern: "(band x k:low-mask)", Lower: lowerZext,
		Gives: "movzx x, or mov of 32 bits", Why: "no copy, no immediate"},
	RuleBandLow: {Name: "band-low", Pattern: "(band.i64 x k:imm31)", Lower: lowerBandLow,
		Gives: "and of 32 bits", Why: "shorter; the result has no upper half"},
	RuleBandAndn: {Name: "band-andn", Pattern: "(band x (only (bxor! y -1)))", When: "bmi1", Lower: lowerAndn,
		Gives: "andn y, x", Why: "one instruction for two"},
	RuleBandAndnLeft: {Name: "band-andn-left", Pattern: "(band (only (bxor! y -1)) x:var)", When: "bmi1", Lower: lowerAndn,
		Gives: "andn y, x", Why: "one instruction for two"},
	RuleBxorNot: {Name: "bxor-not", Pattern: "(bxor x -1)", Lower: lowerNot,
		Gives: "not x", Why: "shorter"},
	RuleAluImm: {Name: "alu-imm", Term: termAlu, Pattern: "(" + alu + " x k:imm32)", Lower: lowerAluImm,
		Gives: "op x, k", Why: "no constant in a register"},
	RuleAluMem: {Name: "alu-mem", Term: termAlu, Pattern: "(" + alu + " x [y])", Lower: lowerAluMem,
		Gives: "op x, [y]", Why: "the load is saved"},
	RuleAluMemLeft: {Name: "alu-mem-left", Term: termAlu, Pattern: "(iadd|imul|band|bor|bxor [y] x)", Lower: lowerAluMem,
		Gives: "op x, [y]", Why: "the load is saved"},

	RuleIshlLea: {Name: "ishl-lea", Pattern: "(ishl x:kept k:by-one)", Lower: lowerIshlLea,
		Gives: "lea [x+x]", Why: "x stays: no copy"},
	RuleRotRorx: {Name: "rot-rorx", Pattern: "(rotl|rotr x:kept k:amount)", When: "bmi2", Lower: lowerRorx,
		Gives: "rorx x, k", Why: "x stays: no copy"},
	RuleShiftImm: {Name: "shift-imm", Pattern: "(ishl|ushr|sshr|rotl|rotr x k)", Lower: lowerShiftImm,
		Gives: "shift x, k", Why: "the amount is not in cl"},
	RuleShiftBMI2Mem: {Name: "shift-bmi2-mem", Pattern: "(ishl|ushr|sshr [x] y)", When: "bmi2", Lower: lowerShiftBMI2Mem,
		Gives: "shlx [x], y", Why: "the load is saved"},
	RuleShiftBMI2: {Name: "shift-bmi2", Pattern: "(ishl|ushr|sshr x y)", When: "bmi2", Lower: lowerShiftBMI2,
		Gives: "shlx x, y", Why: "the amount is in any register"},
	RuleShiftMasked: {Name: "shift-masked", Term: backend.TermOperand, Pattern: "(band! x k:keeps-amount)",
		Gives: "x", Why: "the hardware takes the amount modulo the width"},
	RuleClzLzcntMem: {Name: "clz-lzcnt-mem", Pattern: "(clz [x])", When: "lzcnt", Lower: lowerUnaryMem(asm.Lzcnt),
		Gives: "lzcnt [x]", Why: "the load is saved"},
	RuleClzLzcnt: {Name: "clz-lzcnt", Pattern: "(clz x)", When: "lzcnt", Lower: lowerUnary(asm.Lzcnt),
		Gives: "lzcnt x", Why: "one instruction"},
	RuleCtzTzcntMem: {Name: "ctz-tzcnt-mem", Pattern: "(ctz [x])", When: "bmi1", Lower: lowerUnaryMem(asm.Tzcnt),
		Gives: "tzcnt [x]", Why: "the load is saved"},
	RuleCtzTzcnt: {Name: "ctz-tzcnt", Pattern: "(ctz x)", When: "bmi1", Lower: lowerUnary(asm.Tzcnt),
		Gives: "tzcnt x", Why: "one instruction"},
	RulePopcntMem: {Name: "popcnt-mem", Pattern: "(popcnt [x])", Lower: lowerUnaryMem(asm.Popcnt),
		Gives: "popcnt [x]", Why: "the load is saved"},
	RuleSext8Mem: {Name: "sext8-mem", Pattern: "(sext8 [x:1])", Lower: lowerUnaryMem(asm.Movsx8),
		Gives: "movsx [x]", Why: "the load is saved"},
	RuleSext16Mem: {Name: "sext16-mem", Pattern: "(sext16 [x:2])", Lower: lowerUnaryMem(asm.Movsx16),
		Gives: "movsx [x]", Why: "the load is saved"},
	RuleSext32Mem: {Name: "sext32-mem", Pattern: "(sext32|sextend [x:4])", Lower: lowerUnaryMem(asm.Movsx32),
		Gives: "movsxd [x]", Why: "the load is saved"},
	RuleIreduceMem: {Name: "ireduce-mem", Pattern: "(ireduce [x:8])", When: "always-mapped", Lower: lowerBitcastMem,
		Gives: "mov r32, [x]", Why: "the wrap is saved"},
	RuleSdivNonzero: {Name: "sdiv-nonzero", Pattern: "(sdiv x k:nonzero)", Lower: lowerSdivNonzero,
		Gives: "idiv", Why: "no test of the divisor"},
	RuleSremDivisor: {Name: "srem-divisor", Pattern: "(srem x k:divisor)", Lower: lowerSremDivisor,
		Gives: "idiv", Why: "no test of the divisor"},

	RuleFloatMem: {Name: "float-mem", Pattern: "(fadd|fsub|fmul|fdiv x [y])", Lower: lowerFloatMem,
		Gives: "op x, [y]", Why: "the load is saved"},
	RuleFloatConst: {Name: "float-const", Pattern: "(fadd|fsub|fmul|fdiv x y:float-const)", Lower: lowerFloatConst,
		Gives: "op x, [constant]", Why: "the load is saved"},
	RuleFloatMemLeft: {Name: "float-mem-left", Pattern: "(fadd|fmul [y] x)", Lower: lowerFloatMem,
		Gives: "op x, [y]", Why: "the load is saved"},
	RuleFloatConstLeft: {Name: "float-const-left", Pattern: "(fadd|fmul y:float-const x)", Lower: lowerFloatConst,
		Gives: "op x, [constant]", Why: "the load is saved"},
	RuleFloatUnaryMem: {Name: "float-unary-mem", Pattern: "(fsqrt|fceil|ffloor|ftrunc|fnearest|fpromote|fdemote [x])", Lower: lowerFloatUnaryMem,
		Gives: "op [x]", Why: "the load is saved"},
	RuleCvtMem: {Name: "cvt-mem", Pattern: "(fcvt_from_sint [x])", Lower: lowerCvtMem,
		Gives: "cvtsi2sd [x]", Why: "the load is saved"},
	RuleBitcastMem: {Name: "bitcast-mem", Pattern: "(bitcast [x])", Lower: lowerBitcastMem,
		Gives: "a load to the other bank", Why: "the move is saved"},
	RuleFcmpMask: {Name: "fcmp-mask", Pattern: "(fcmp:eq|ne x y)", Lower: lowerFcmpMask,
		Gives: "cmpsd; movd; and 1", Why: "no second condition for NaN"},

	RuleVconstOperand: {Name: "vconst-operand", Term: backend.TermOperand, Pattern: "x:vector-const",
		Gives: "op x, [constant]", Why: "the load is saved"},
	RuleVloadOperand: {Name: "vload-operand", Term: backend.TermOperand, Pattern: "[x:16]", When: "avx",
		Gives: "op x, [y]", Why: "the load is saved; before AVX its address would have to be aligned"},
	RuleVshiftImm: {Name: "vshift-imm", Pattern: "(vshl|vshr_s|vshr_u x k)", Lower: lowerVshiftImm,
		Gives: "shift x, k", Why: "the amount is not in a vector"},
	RuleVrotate32: {Name: "vrotate32", Pattern: "(vor (only (vshr_u.i32x4 x j)) (only (vshl.i32x4 y k)))", When: "rotates-bytes", Lower: lowerVrotate,
		Gives: "a shuffle of bytes", Why: "one instruction for three"},
	RuleVrotate32Left: {Name: "vrotate32-left", Pattern: "(vor (only (vshl.i32x4 x k)) (only (vshr_u.i32x4 y j)))", When: "rotates-bytes", Lower: lowerVrotate,
		Gives: "a shuffle of bytes", Why: "one instruction for three"},
	RuleVrotate64: {Name: "vrotate64", Pattern: "(vor (only (vshr_u.i64x2 x j)) (only (vshl.i64x2 y k)))", When: "rotates-bytes", Lower: lowerVrotate,
		Gives: "a shuffle of bytes", Why: "one instruction for three"},
	RuleVrotate64Left: {Name: "vrotate64-left", Pattern: "(vor (only (vshl.i64x2 x k)) (only (vshr_u.i64x2 y j)))", When: "rotates-bytes", Lower: lowerVrotate,
		Gives: "a shuffle of bytes", Why: "one instruction for three"},
	RuleVselectInverse: {Name: "vselect-inverse", Pattern: "(vbitselect x y (only (vicmp.any z w)))", When: "inverse-shorter", Lower: lowerVselectInverse,
		Gives: "the inverse comparison; pblendvb y, x", Why: "the comparison is an instruction longer than its inverse"},
	RuleVselectMask: {Name: "vselect-mask", Pattern: "(vbitselect x y z:lane-mask)", Lower: lowerVselectMask,
		Gives: "pblendvb x, y, z", Why: "one instruction for three"},
	RuleVextaddQuads: {Name: "vextadd-quads", Pattern: "(vextadd_pair_u.i32x4 (only (vextadd_pair_u.i16x8 x)))", Lower: lowerVextaddQuads,
		Gives: "pmaddubsw; pmaddwd", Why: "sums of two bytes have no sign, so that they are those of signed words"},
	RuleVextaddProducts: {Name: "vextadd-products", Pattern: "(vextadd_pair_s.i32x4 (only (vextmul_low_s|vextmul_high_s.i16x8 x y)))", Lower: lowerVextaddProducts,
		Gives: "pmovsxbw; pmovsxbw; pmaddwd", Why: "one instruction multiplies and adds"},
	RuleVextaddProductsU: {Name: "vextadd-products-u", Pattern: "(vextadd_pair_u.i32x4 (only (vextmul_low_u|vextmul_high_u.i16x8 x y)))", Lower: lowerVextaddProducts,
		Gives: "pmovzxbw; pmovzxbw; pmaddwd", Why: "one instruction multiplies and adds"},
	RuleVextaddBytes: {Name: "vextadd-bytes", Pattern: "(vextadd_pair_s.i32x4 (only (vmul.i16x8 x:signed-bytes y:signed-bytes)))", Lower: lowerVextaddBytes,
		Gives: "pmaddwd x, y", Why: "products of bytes fit, so that one instruction multiplies and adds"},
	RuleVextaddBytesU: {Name: "vextadd-bytes-u", Pattern: "(vextadd_pair_u.i32x4 (only (vmul.i16x8 x:unsigned-bytes y:unsigned-bytes)))", Lower: lowerVextaddBytes,
		Gives: "pmaddwd x, y", Why: "products of bytes fit, so that one instruction multiplies and adds"},
	RuleVswizzleLow: {Name: "vswizzle-low", Pattern: "(vswizzle x y:low-indices)", Lower: lowerVswizzleLow,
		Gives: "pshufb x, y", Why: "all indices are below 16"},
	RuleVsplatMem: {Name: "vsplat-mem", Pattern: "(vsplat [x])", When: "splat-load", Lower: lowerVsplatMem,
		Gives: "movddup or broadcast [x]", Why: "the load is saved"},
	RuleVsplatMem8: {Name: "vsplat-mem8", Pattern: "(vsplat.i8x16 [x:1])", Lower: lowerVsplatMemSmall,
		Gives: "vpbroadcastb [x], or pinsrb; pshufb", Why: "the load and the move are saved"},
	RuleVsplatMem16: {Name: "vsplat-mem16", Pattern: "(vsplat.i16x8 [x:2])", Lower: lowerVsplatMemSmall,
		Gives: "vpbroadcastw [x], or pinsrw; pshufb", Why: "the load and the move are saved"},
	RuleVextendMem: {Name: "vextend-mem", Pattern: "(vextend_low_s|vextend_low_u [x:8])", Lower: lowerVextendMem,
		Gives: "pmovsx or pmovzx [x]", Why: "the load is saved"},
	RuleVinsertMem: {Name: "vinsert-mem", Pattern: "(vinsert x [y])", When: "lane-load", Lower: lowerVinsertMem,
		Gives: "pinsr [y]", Why: "the load is saved"},
	RuleVinsertMem8: {Name: "vinsert-mem8", Pattern: "(vinsert.i8x16 x [y:1])", Lower: lowerVinsertMem,
		Gives: "pinsrb [y]", Why: "the load is saved"},
	RuleVinsertMem16: {Name: "vinsert-mem16", Pattern: "(vinsert.i16x8 x [y:2])", Lower: lowerVinsertMem,
		Gives: "pinsrw [y]", Why: "the load is saved"},

	RuleTestVector: {Name: "test-vector", Term: termCompare, Pattern: "(icmp:eq|ne.i32 x:vector-test 0)", Lower: compareVectorTest,
		Gives: "ptest x, x", Why: "no 0 or 1 is made"},
	RuleTestBitmask: {Name: "test-bitmask", Term: termCompare, Pattern: "(icmp:eq|ne.i32 (only (vbitmask.i16x8 x)) 0)", Lower: compareBitmask,
		Gives: "pmovmskb x; test 0xaaaa", Why: "words are not packed"},
	RuleTestMemNarrow: {Name: "test-mem-narrow", Term: termCompare, Pattern: "(icmp:eq|ne (only (band [x:narrow] k)) 0)", When: "in-load", Lower: compareTestMemNarrow,
		Gives: "test [x], k of one or two bytes", Why: "the load is saved"},
	RuleTestMemImm: {Name: "test-mem-imm", Term: termCompare, Pattern: "(icmp (only (band [x] k:imm32)) 0)", Lower: compareTestMemImm,
		Gives: "test [x], k", Why: "the load and the and are saved"},
	RuleTestImm: {Name: "test-imm", Term: termCompare, Pattern: "(icmp (only (band x k:imm32)) 0)", Lower: compareTestImm,
		Gives: "test x, k", Why: "the and is saved"},
	RuleTestMem: {Name: "test-mem", Term: termCompare, Pattern: "(icmp (only (band [x] y:var)) 0)", Lower: compareTestMem,
		Gives: "test [x], y", Why: "the load and the and are saved"},
	RuleTestBand: {Name: "test-band", Term: termCompare, Pattern: "(icmp (only (band x y)) 0)", Lower: compareTest,
		Gives: "test x, y", Why: "the and is saved"},
	RuleCmpMemNarrow: {Name: "cmp-mem-narrow", Term: termCompare, Pattern: "(icmp [x:narrow] k)", When: "in-load", Lower: compareMemNarrow,
		Gives: "cmp [x], k of one or two bytes, unsigned", Why: "the load is saved"},
	RuleCmpMemImm: {Name: "cmp-mem-imm", Term: termCompare, Pattern: "(icmp [x] k:imm32)", Lower: compareMemImm,
		Gives: "cmp [x], k", Why: "the load is saved"},
	RuleCmpMem: {Name: "cmp-mem", Term: termCompare, Pattern: "(icmp x [y])", Lower: compareMem,
		Gives: "cmp x, [y]", Why: "the load is saved"},
	RuleCmpMemLeft: {Name: "cmp-mem-left", Term: termCompare, Pattern: "(icmp [x] y)", Lower: compareMemLeft,
		Gives: "cmp [x], y", Why: "the load is saved"},
	RuleCmpImm: {Name: "cmp-imm", Term: termCompare, Pattern: "(icmp x k:nonzero-imm32)", Lower: compareImm,
		Gives: "cmp x, k", Why: "no constant in a register"},
	RuleFcmpMem: {Name: "fcmp-mem", Term: termCompare, Pattern: "(fcmp x [y])", Lower: compareFloatMem,
		Gives: "ucomisd x, [y]", Why: "the load is saved"},
	RuleFcmpMemLeft: {Name: "fcmp-mem-left", Term: termCompare, Pattern: "(fcmp:eq|ne [y] x)", Lower: compareFloatMem,
		Gives: "ucomisd x, [y]", Why: "the load is saved"},
	RuleFcmpConst: {Name: "fcmp-const", Term: termCompare, Pattern: "(fcmp x y:float-const)", Lower: compareFloatConst,
		Gives: "ucomisd x, [constant]", Why: "the load is saved"},
	RuleBoundImm: {Name: "bound-imm", Pattern: "(bound x k:imm32)", Lower: lowerBoundImm,
		Gives: "cmp x, k", Why: "no constant in a register"},
	RuleBoundMem: {Name: "bound-mem", Pattern: "(bound x [y])", Lower: lowerBoundMem,
		Gives: "cmp x, [y]", Why: "the load is saved"},
	RuleBranchAlu: {Name: "branch-alu", Pattern: "(br x)", When: "alu-decides", Lower: lowerBranchAlu,
		Gives: "op; jcc", Why: "the flags of the operation are those of a test of its result"},

	RuleHeapConst: {Name: "heap-const", Term: termAddress, Pattern: "(load|store k)", When: "displacement", Lower: addressConst,
		Gives: "[memory+k+offset]", Why: "no index"},
	RuleHeapScaledSum: {Name: "heap-scaled-sum", Term: termAddress, Pattern: "(load|store (only (iadd (only (ishl x j:scale)) k:imm31)))", When: "exact-sum", Lower: addressIndexed,
		Gives: "[memory+x<<j+k+offset]", Why: "the sum and the shift are the address's"},
	RuleHeapSum: {Name: "heap-sum", Term: termAddress, Pattern: "(load|store (only (iadd x k:imm31)))", When: "exact-sum", Lower: addressIndexed,
		Gives: "[memory+x+k+offset]", Why: "the sum is the address's"},
	RuleStoreModifyImm: {Name: "store-modify-imm", Pattern: "(store x (only (iadd|isub|band|bor|bxor y k)))", When: "stored-imm place-left", Lower: lowerModifyImm,
		Gives: "op [x], k", Why: "load and store are the operation's"},
	RuleStoreModify: {Name: "store-modify", Pattern: "(store x (only (iadd|isub|band|bor|bxor y z)))", When: "place-left", Lower: lowerModify,
		Gives: "op [x], z", Why: "load and store are the operation's"},
	RuleStoreModifyLeft: {Name: "store-modify-left", Pattern: "(store x (only (iadd|band|bor|bxor z y)))", When: "place-left", Lower: lowerModify,
		Gives: "op [x], z", Why: "load and store are the operation's"},
	RuleStoreImm: {Name: "store-imm", Term: backend.TermOperand, Pattern: "x", When: "store-imm",
		Gives: "mov [address], x", Why: "no constant in a register"},
	RuleStoreLane: {Name: "store-lane", Pattern: "(store x y:lane)", When: "lane-stored", Lower: lowerStoreLane,
		Gives: "pextr [x], y", Why: "the extraction is the store's"},
	RulePlusImm: {Name: "plus-imm", Term: backend.TermOperand, Pattern: "k:imm31",
		Gives: "lea [base+k]", Why: "no constant in a register"},
	RulePlusElements: {Name: "plus-elements", Term: backend.TermOperand, Pattern: "k:elements",
		Gives: "lea [base+8k]", Why: "no constant in a register"},
}

// words are what the patterns name.
var words = backend.Vocabulary{
	Consts: map[string]func(t clif.Type, k int64) bool{
		// divisor: neither 0 nor -1, which divide with a trap.
		"divisor":   func(_ clif.Type, k int64) bool { return k != 0 && k != -1 },
		"imm32":     func(_ clif.Type, k int64) bool { return fits(k) },
		"neg-imm32": func(_ clif.Type, k int64) bool { return fits(-k) },
		// nonzero-imm32: not 0 either, with which a test compares.
		"nonzero-imm32": func(_ clif.Type, k int64) bool { return k != 0 && fits(k) },
		"imm31":         func(_ clif.Type, k int64) bool { return k >= 0 && k <= math.MaxInt32 },
		// elements: words that a displacement can skip.
		"elements": func(_ clif.Type, k int64) bool { return k >= 0 && k <= math.MaxInt32>>3 },
		// scale: the amount of a shift that an address does.
		"scale": func(t clif.Type, k int64) bool { k = amount(t, k); return k >= 1 && k <= 3 },
		// lea-factor: a product with it is a sum of x and x scaled.
		"lea-factor":   func(_ clif.Type, k int64) bool { return k == 3 || k == 5 || k == 9 },
		"pow2-imm32":   func(_ clif.Type, k int64) bool { return k > 0 && k&(k-1) == 0 && fits(k) },
		"low-mask":     func(t clif.Type, k int64) bool { return zextRow(t, k) != 0 },
		"by-one":       func(t clif.Type, k int64) bool { return amount(t, k) == 1 },
		"amount":       func(t clif.Type, k int64) bool { return amount(t, k) != 0 },
		"keeps-amount": func(t clif.Type, k int64) bool { return amount(t, k) == amount(t, -1) },
	},
	Values: map[string]func(q *query, v clif.Value) bool{
		// var: not a constant.
		"var": func(q *query, v clif.Value) bool {
			_, ok := q.Iconst(v)
			return !ok
		},
		// kept: something else uses it too.
		"kept": func(q *query, v clif.Value) bool { return !q.SingleUse(v) },
		// float-const: a constant that nothing else uses.
		"float-const": func(q *query, v clif.Value) bool { return q.DefOp(v, clif.OpFconst) != nil && q.SingleUse(v) },
		// vector-const: the same of vectors, neither zeros nor ones, which registers get without a load.
		"vector-const": func(q *query, v clif.Value) bool {
			low, high, ok := q.Vconst(v)
			return ok && q.SingleUse(v) && (low != high || low+1 > 1)
		},
		// vector-test: a test of a vector, and nothing else uses it.
		"vector-test": func(q *query, v clif.Value) bool {
			_, d := q.DefInst(v)
			return d != nil && (d.Op == clif.OpVanyTrue || d.Op == clif.OpVallTrue) && q.OnlyUse(v)
		},
		// lane-mask: lanes of ones and zeros.
		"lane-mask": func(q *query, v clif.Value) bool {
			_, d := q.DefInst(v)
			return d != nil && (d.Op == clif.OpVicmp || d.Op == clif.OpVfcmp)
		},
		// low-indices: bytes below 16, which have been shifted or masked.
		"low-indices": hasLowIndices,
		// signed-bytes, unsigned-bytes: words that were bytes.
		"signed-bytes":   func(q *query, v clif.Value) bool { return isExtended(q, v, clif.OpVextendLowS, clif.OpVextendHighS) },
		"unsigned-bytes": func(q *query, v clif.Value) bool { return isExtended(q, v, clif.OpVextendLowU, clif.OpVextendHighU) },
		// lane: a lane of a vector, and nothing else uses it.
		"lane": func(q *query, v clif.Value) bool {
			_, d := q.DefInst(v)
			return d != nil && (d.Op == clif.OpVextract || d.Op == clif.OpVextractS) && q.OnlyUse(v)
		},
	},
	Guards: map[string]func(q *query, m *match) bool{
		"bmi1":  func(q *query, _ *match) bool { return has(q, asm.BMI1) },
		"bmi2":  func(q *query, _ *match) bool { return has(q, asm.BMI2) },
		"lzcnt": func(q *query, _ *match) bool { return has(q, asm.LZCNT) },
		"avx":   func(q *query, _ *match) bool { return has(q, asm.AVX) },
		// splat-load: an instruction loads lanes of this shape.
		"splat-load": func(q *query, m *match) bool {
			return m.T == clif.F64x2 || m.T == clif.I64x2 || has(q, asm.AVX2) && m.T.LaneBits() == 32
		},
		// rotates-bytes: x and y are one, k and j together the width of the lanes, and k whole bytes.
		"rotates-bytes": func(q *query, m *match) bool {
			if q.Resolve(m.X()) != q.Resolve(m.Y()) {
				return false
			}
			_, d := q.DefInst(m.D.ArgA())
			width := int64(d.Type.LaneBits())
			k, j := m.K&(width-1), m.J&(width-1)
			return k%8 == 0 && k > 0 && k+j == width
		},
		"inverse-shorter": func(q *query, m *match) bool {
			_, d := q.DefInst(m.Arg(2))
			return inverseShorter(d.Type, d.IntCC())
		},
		// carry-right, carry-left: the right or left operand is a carry, or the absence of one, of a comparison that needs no constant in front.
		"carry-right": func(q *query, m *match) bool { return isCarry(q, m, 1) },
		"carry-left":  func(q *query, m *match) bool { return isCarry(q, m, 0) },
		// other-half: an instruction in front computes the other half of the same product.
		"other-half": func(q *query, m *match) bool { return otherHalf(q, m) != clif.NoInst },
		// always-mapped: the load is of a global or a size, so that reading fewer bytes cannot save it from faulting.
		"always-mapped": func(q *query, m *match) bool { return q.F.Insts[m.Load].Op != clif.OpLoad },
		// lane-load: the load is of a lane.
		"lane-load": func(_ *query, m *match) bool { return m.T.LaneBits() >= 32 },
		// lane-stored: the store is of a lane as wide as those of y.
		"lane-stored": func(q *query, m *match) bool {
			_, d := q.DefInst(m.Y())
			return access(m.D) == d.Type.LaneBits()/8
		},
		"x-not-constant": func(q *query, m *match) bool { _, ok := q.Iconst(m.X()); return !ok },
		// in-load: k is in the range of the load.
		"in-load": func(q *query, m *match) bool { return m.K >= 0 && m.K < 1<<(8*access(&q.F.Insts[m.Load])) },
		// displacement: the address, a constant, and the offset are a displacement.
		"displacement": func(_ *query, m *match) bool { return uint64(uint32(m.K))+heapOffset(m.D) <= math.MaxInt32 },
		// exact-sum: the i32 x, shifted by j, plus k is the same in 64 bits, and k and the offset are a displacement.
		"exact-sum": func(q *query, m *match) bool {
			bits := q.MaxBits(m.X()) + int(amount(m.T, m.J))
			return bits <= 32 && 1<<bits-1+m.K <= math.MaxUint32 && uint64(m.K)+heapOffset(m.D) <= math.MaxInt32
		},
		// stored-imm: k is an immediate of a store of this width.
		"stored-imm": func(_ *query, m *match) bool { return access(m.D) < 8 || fits(m.K) },
		"store-imm": func(q *query, m *match) bool {
			_, ok := constBits(q, m.X(), m.Bytes)
			return ok
		},
		"place-left":  matchSamePlace,
		"alu-decides": matchBranchAlu,
	},
	Loads: []clif.Opcode{clif.OpLoad, clif.OpGlobalGet, clif.OpMemorySize, clif.OpTableSize},
}

// amount returns k as the amount of a shift of type t.
func amount(t clif.Type, k int64) int64 { return k & int64(t.Bits()-1) }

// access returns the width in bytes of a load or store.
func access(d *clif.InstData) int { return d.Access().Bytes(d.Type) }

// heapOffset returns the offset of a load or store.
func heapOffset(d *clif.InstData) uint64 { return min(d.Imm, 1<<32) }

// isExtended reports whether low or high have made words of bytes for v.
func isExtended(q *query, v clif.Value, low, high clif.Opcode) bool {
	_, d := q.DefInst(v)
	return d != nil && d.Type == clif.I16x8 && (d.Op == low || d.Op == high)
}

// hasLowIndices reports whether all bytes of v are surely below 16.
func hasLowIndices(q *query, v clif.Value) bool {
	_, d := q.DefInst(v)
	switch {
	case d == nil:
	case d.Op == clif.OpVshrU && d.Type == clif.I8x16:
		k, ok := q.Iconst(d.ArgB())
		return ok && k&7 >= 4
	case d.Op == clif.OpVand:
		for _, mask := range [...]clif.Value{d.ArgA(), d.ArgB()} {
			const above = 0xf0f0f0f0f0f0f0f0
			if low, high, ok := q.Vconst(mask); ok && (low|high)&above == 0 {
				return true
			}
		}
	}
	return false
}
