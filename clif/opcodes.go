package clif

import "github.com/waot-project/waot/internal/effect"

// Opcode is the operation of an instruction.
type Opcode uint8

// Format says which fields of InstData an opcode uses, and how its text looks.
type Format uint8

// The formats. A, B, C are InstData.Args; Aux, Cond, Imm are fields of InstData.
const (
	FormatNop      Format = iota // nothing
	FormatConst                  // Imm: bits of the constant
	FormatUnary                  // A
	FormatBinary                 // A, B
	FormatTernary                // A, B, C
	FormatIntCmp                 // Cond IntCC, A, B
	FormatFloatCmp               // Cond FloatCC, A, B
	FormatVconst                 // InstData.V128
	FormatExtract                // A, Imm lane
	FormatInsert                 // A, B, Imm lane
	FormatShuffle                // A, B, InstData.Lanes
	FormatLoad                   // Cond Access, Aux memory, A address, Imm offset
	FormatStore                  // Cond Access, Aux memory, A address, B value, Imm offset
	FormatEntity                 // Aux index (OpInfo.Entity), then A, B, C as the signature has
	FormatEntity2                // Aux and Imm: two indices (Entity, Entity2), then A, B, C
	FormatTrap                   // Cond abi.TrapCode
	FormatTrapIf                 // A, Cond abi.TrapCode
	FormatBound                  // A, B, Cond abi.TrapCode
	FormatCharge                 // Imm, Cond abi.TrapCode, which may be none
	FormatChargeBy               // A, Cond abi.TrapCode, which may be none
	FormatList                   // Aux and, with Entity2, Imm: indices; pool list (B offset, C length) of Values
	FormatRefTest                // A, Aux and Imm: abi.ValTypes
	FormatJump                   // B Target
	FormatBranch                 // A condition, B Target if not zero, C Target if zero
	FormatCatch                  // B Target if nothing was thrown, C Target of the handler
	FormatBrTable                // A index (i32), pool list (B offset, C length) of Targets; the last is the default; Cond 0 or TableRare
	FormatReturn                 // pool list (B offset, C length) of Values
	FormatRaise                  // nothing
	FormatCall                   // Aux FuncIndex, pool list
	FormatCallRef                // Aux SigIndex, A callee, pool list
)

// Entity is a kind of module entity that Aux or Imm may name.
type Entity uint8

// The kinds.
const (
	EntNone   Entity = iota
	EntGlobal        // global
	EntMemory        // mem
	EntTable         // table
	EntData          // data
	EntElem          // elem
	EntFunc          // fn
	EntSig           // sig
	EntTag           // tag
	EntType          // type
	EntField         // field: of the type that Aux is
)

var entityNames = [...]string{"", "global", "mem", "table", "data", "elem", "fn", "sig", "tag", "type", "field"}

func (e Entity) String() string { return entityNames[e] }

// OpInfo describes an opcode.
type OpInfo struct {
	Name    string
	Format  Format
	Effects effect.Set // none is Unknown
	// Sig is the types of A, B, C and, after the colon, of the result. C is
	// InstData.Type, i I32, l I64, f any float type, n any integer type, V V128, e the lane type of
	// the shape C, b the type of the other bank with the width of C, s the other float type, p an
	// address (I32, or I64 for 64-bit memories), F FuncRef, R Ref, and a dot nothing. Empty where calls and branches have lists.
	Sig string
	// Types are the types that InstData.Type may have.
	Types TypeSet
	// Entity and Entity2 are what Aux and Imm index.
	Entity, Entity2 Entity
	// Commutative operations may swap A and B.
	Commutative bool
}

// TypeSet is a set of types.
type TypeSet uint16

func setOf(ts ...Type) TypeSet {
	var s TypeSet
	for _, t := range ts {
		s |= 1 << t
	}
	return s
}

// Has reports whether t is in s.
func (s TypeSet) Has(t Type) bool { return s>>t&1 != 0 }

const (
	tI32    TypeSet = 1 << I32
	tI64    TypeSet = 1 << I64
	tInt            = tI32 | tI64
	tFloat  TypeSet = 1<<F32 | 1<<F64
	tRefs   TypeSet = 1<<Ref | 1<<FuncRef
	tFunc   TypeSet = 1 << FuncRef
	tRef    TypeSet = 1 << Ref
	tScalar         = tInt | tFloat | tRefs
	tNone   TypeSet = 1 << Invalid
	tV128   TypeSet = 1 << V128

	tSmallShapes  TypeSet = 1<<I8x16 | 1<<I16x8
	tNarrowShapes         = tSmallShapes | 1<<I32x4
	tWideShapes   TypeSet = 1<<I16x8 | 1<<I32x4 | 1<<I64x2
	tIntShapes            = tNarrowShapes | tWideShapes
	tFloatShapes  TypeSet = 1<<F32x4 | 1<<F64x2
)

// The opcodes. The order is that of the table opInfos.
const (
	OpNop Opcode = iota
	// Constants.
	OpIconst
	OpFconst
	OpRefNull
	OpFuncAddr
	// Integers.
	OpIadd
	OpIsub
	OpImul
	OpUmulhi
	OpSmulhi
	OpUdiv
	OpSdiv
	OpUrem
	OpSrem
	OpBand
	OpBor
	OpBxor
	OpIshl
	OpUshr
	OpSshr
	OpRotl
	OpRotr
	OpClz
	OpCtz
	OpPopcnt
	OpIcmp
	OpSext8
	OpSext16
	OpSext32
	OpUextend
	OpSextend
	OpIreduce
	// Floats.
	OpFadd
	OpFsub
	OpFmul
	OpFdiv
	OpFmin
	OpFmax
	OpFcopysign
	OpFabs
	OpFneg
	OpFsqrt
	OpFceil
	OpFfloor
	OpFtrunc
	OpFnearest
	OpFcmp
	OpFpromote
	OpFdemote
	// Conversions.
	OpFcvtFromSint
	OpFcvtFromUint
	OpFcvtToSint
	OpFcvtToUint
	OpFcvtToSintSat
	OpFcvtToUintSat
	OpBitcast
	// Vectors. The type of an instruction is the shape, or v128 where lanes do not matter.
	OpVconst
	OpVsplat
	OpVextract
	OpVextractS
	OpVinsert
	OpVshuffle
	OpVswizzle
	OpVswizzleMod
	OpVnot
	OpVand
	OpVor
	OpVxor
	OpVandnot
	OpVbitselect
	OpVselectTop
	OpVanyTrue
	OpVallTrue
	OpVbitmask
	// Vectors of integers.
	OpVadd
	OpVsub
	OpVmul
	OpVneg
	OpVabs
	OpVaddSatS
	OpVaddSatU
	OpVsubSatS
	OpVsubSatU
	OpVminS
	OpVminU
	OpVmaxS
	OpVmaxU
	OpVavgrU
	OpVpopcnt
	OpVshl
	OpVshrS
	OpVshrU
	OpVq15mulr
	OpVq15mulrSat
	OpVdot
	OpVdotUS
	OpVdotAdd
	OpVicmp
	// Vectors whose lanes change their width; the type is the result's shape.
	OpVextendLowS
	OpVextendLowU
	OpVextendHighS
	OpVextendHighU
	OpVnarrowS
	OpVnarrowU
	OpVextaddPairS
	OpVextaddPairU
	OpVextmulLowS
	OpVextmulLowU
	OpVextmulHighS
	OpVextmulHighU
	// Vectors of floats.
	OpVfadd
	OpVfsub
	OpVfmul
	OpVfdiv
	OpVfmin
	OpVfmax
	OpVfpmin
	OpVfpmax
	OpVfma
	OpVfnma
	OpVfabs
	OpVfneg
	OpVfsqrt
	OpVfceil
	OpVffloor
	OpVftrunc
	OpVfnearest
	OpVfcmp
	// Conversions of vectors. Two lanes become the low two of four, whose others are 0.
	OpVcvtFromSint
	OpVcvtFromUint
	OpVcvtToSintSat
	OpVcvtToUintSat
	OpVcvtToSintInd
	OpVpromote
	OpVdemote
	// Choice.
	OpSelect
	OpRefIsNull
	OpFuncBits
	// Memory.
	OpLoad
	OpStore
	OpMemorySize
	OpMemoryGrow
	OpMemoryCopy
	OpMemoryFill
	OpMemoryInit
	OpDataLen
	OpDataDrop
	// Globals.
	OpGlobalGet
	OpGlobalSet
	// Tables.
	OpTableSize
	OpTableGet
	OpTableSet
	OpTableGrow
	OpTableCopy
	OpTableFill
	OpTableInit
	OpElemLen
	OpElemDrop
	OpElemSet
	// Traps and control.
	OpTrap
	OpTrapIf
	OpBound
	OpSigCheck
	OpCharge
	OpChargeBy
	// Exceptions: see the comment of the table.
	OpExnSet
	OpExnOpen
	OpExnTag
	OpTagAddr
	OpExnArgs
	OpExnRef
	// Objects of the collected heap: see the comment of the table.
	OpRefEq
	OpRefTest
	OpRefI31
	OpI31GetS
	OpI31GetU
	OpStructNew
	OpHeapNext
	OpHeapFull
	OpHeapClaim
	OpStructGet
	OpStructGetS
	OpStructGetU
	OpStructSet
	OpArrayNew
	OpArrayLen
	OpArrayGet
	OpArrayGetS
	OpArrayGetU
	OpArraySet
	OpArrayFill
	OpArrayCopy
	OpArrayInitData
	OpArrayInitElem
	OpCall
	OpCallRef
	OpJump
	OpBranch
	OpBrTable
	OpReturn
	OpCatch
	OpRaise
	OpReturnCall
	OpReturnCallRef
	NumOpcodes
)

// MaxCharge is the most units of one OpCharge.
const MaxCharge = 1<<24 - 1

// Operations on numbers and vectors are pure, but for those that traps marks.

func bin(name, types string) OpInfo {
	return OpInfo{Name: name, Format: FormatBinary, Effects: effect.Pure, Sig: "CC:C", Types: typeSets[types]}
}

func comm(name, types string) OpInfo { return swaps(bin(name, types)) }

func un(name, sig, types string) OpInfo {
	return OpInfo{Name: name, Format: FormatUnary, Effects: effect.Pure, Sig: sig, Types: typeSets[types]}
}

// traps makes a pure operation one that may trap.
func traps(o OpInfo) OpInfo {
	o.Effects = effect.Traps
	return o
}

func ent(name string, e Entity, sig string, types TypeSet, eff effect.Set) OpInfo {
	return OpInfo{Name: name, Format: FormatEntity, Entity: e, Sig: sig, Types: types, Effects: eff}
}

func ent2(name string, e, e2 Entity, sig string, eff effect.Set) OpInfo {
	return OpInfo{Name: name, Format: FormatEntity2, Entity: e, Entity2: e2, Sig: sig, Types: tNone, Effects: eff}
}

// field is for operations on a field of a structure.
func field(name, sig string, types TypeSet, eff effect.Set) OpInfo {
	return OpInfo{Name: name, Format: FormatEntity2, Entity: EntType, Entity2: EntField, Sig: sig, Types: types, Effects: eff}
}

// bulk is for operations on many elements of an array.
func bulk(name string, e2 Entity, eff effect.Set) OpInfo {
	return OpInfo{Name: name, Format: FormatList, Entity: EntType, Entity2: e2, Types: tNone, Effects: eff}
}

func vec(name string, f Format, sig string, types TypeSet) OpInfo {
	return OpInfo{Name: name, Format: f, Effects: effect.Pure, Sig: sig, Types: types}
}

func swaps(o OpInfo) OpInfo {
	o.Commutative = true
	return o
}

// typeSets are by the names that rows give them.
var typeSets = map[string]TypeSet{"int": tInt, "float": tFloat, "i32": tI32, "i64": tI64,
	"f32": setOf(F32), "f64": setOf(F64), "num": tInt | tFloat, "scalar": tScalar, "refs": tRefs, "funcref": tFunc}

// opInfos is the one table of opcodes: parser, printer, verifier, interpreter,
// optimiser and lowering read it.
//
// The instructions that move bytes or elements in bulk and those that read or
// write tables check nothing: the front end puts explicit size comparisons and
// trapifs before them. Loads and stores to linear memory check themselves.
var opInfos = [NumOpcodes]OpInfo{
	OpNop:      {Name: "nop", Format: FormatNop, Effects: effect.Pure, Types: tNone},
	OpIconst:   {Name: "iconst", Format: FormatConst, Effects: effect.Pure, Sig: ":C", Types: tInt},
	OpFconst:   {Name: "fconst", Format: FormatConst, Effects: effect.Pure, Sig: ":C", Types: tFloat}, // Imm: IEEE bits
	OpRefNull:  {Name: "ref_null", Format: FormatConst, Effects: effect.Pure, Sig: ":C", Types: tRefs},
	OpFuncAddr: ent("func_addr", EntFunc, ":C", tFunc, effect.Pure), // the reference to a function (ref.func)

	OpIadd: comm("iadd", "int"),
	OpIsub: bin("isub", "int"),
	OpImul: comm("imul", "int"),
	// The high half of the product of 64-bit numbers without and with sign.
	OpUmulhi: comm("umulhi", "i64"),
	OpSmulhi: comm("smulhi", "i64"),
	OpUdiv:   traps(bin("udiv", "int")), // traps integer_divide_by_zero
	OpSdiv:   traps(bin("sdiv", "int")), // and integer_overflow
	OpUrem:   traps(bin("urem", "int")),
	OpSrem:   traps(bin("srem", "int")), // smallest % -1 is 0
	OpBand:   comm("band", "int"),
	OpBor:    comm("bor", "int"),
	OpBxor:   comm("bxor", "int"),
	// Shifts and rotations take the amount, of the same type, modulo the width.
	OpIshl:    bin("ishl", "int"),
	OpUshr:    bin("ushr", "int"),
	OpSshr:    bin("sshr", "int"),
	OpRotl:    bin("rotl", "int"),
	OpRotr:    bin("rotr", "int"),
	OpClz:     un("clz", "C:C", "int"),
	OpCtz:     un("ctz", "C:C", "int"),
	OpPopcnt:  un("popcnt", "C:C", "int"),
	OpIcmp:    {Name: "icmp", Format: FormatIntCmp, Effects: effect.Pure, Sig: "CC:i", Types: tInt}, // Type is that of the operands
	OpSext8:   un("sext8", "C:C", "int"),                                                            // sign-extends the low 8 bits
	OpSext16:  un("sext16", "C:C", "int"),
	OpSext32:  un("sext32", "C:C", "i64"),
	OpUextend: un("uextend", "i:C", "i64"),
	OpSextend: un("sextend", "i:C", "i64"),
	OpIreduce: un("ireduce", "l:C", "i32"),

	OpFadd:      comm("fadd", "float"),
	OpFsub:      bin("fsub", "float"),
	OpFmul:      comm("fmul", "float"),
	OpFdiv:      bin("fdiv", "float"),
	OpFmin:      bin("fmin", "float"), // WebAssembly's: a NaN if an operand is one, -0 < +0
	OpFmax:      bin("fmax", "float"),
	OpFcopysign: bin("fcopysign", "float"),
	OpFabs:      un("fabs", "C:C", "float"),
	OpFneg:      un("fneg", "C:C", "float"),
	OpFsqrt:     un("fsqrt", "C:C", "float"),
	OpFceil:     un("fceil", "C:C", "float"),
	OpFfloor:    un("ffloor", "C:C", "float"),
	OpFtrunc:    un("ftrunc", "C:C", "float"),
	OpFnearest:  un("fnearest", "C:C", "float"), // ties to even
	OpFcmp:      {Name: "fcmp", Format: FormatFloatCmp, Effects: effect.Pure, Sig: "CC:i", Types: tFloat},
	OpFpromote:  un("fpromote", "s:C", "f64"), // from f32
	OpFdemote:   un("fdemote", "s:C", "f32"),  // from f64

	// Conversions between banks; Type is the result's.
	OpFcvtFromSint:  un("fcvt_from_sint", "n:C", "float"),
	OpFcvtFromUint:  un("fcvt_from_uint", "n:C", "float"),
	OpFcvtToSint:    traps(un("fcvt_to_sint", "f:C", "int")), // bad_conversion for NaN, else integer_overflow
	OpFcvtToUint:    traps(un("fcvt_to_uint", "f:C", "int")),
	OpFcvtToSintSat: un("fcvt_to_sint_sat", "f:C", "int"),
	OpFcvtToUintSat: un("fcvt_to_uint_sat", "f:C", "int"),
	OpBitcast:       un("bitcast", "b:C", "num"),

	// Vectors. The type of an instruction is the shape, or v128 where lanes do not matter.
	OpVconst:      vec("vconst", FormatVconst, ":V", tV128),
	OpVsplat:      vec("vsplat", FormatUnary, "e:V", tIntShapes|tFloatShapes),     // every lane is A, or its low bits
	OpVextract:    vec("vextract", FormatExtract, "V:e", tIntShapes|tFloatShapes), // lane Imm of A, zero-extended
	OpVextractS:   vec("vextract_s", FormatExtract, "V:e", tSmallShapes),          // sign-extended
	OpVinsert:     vec("vinsert", FormatInsert, "Ve:V", tIntShapes|tFloatShapes),  // A with lane Imm replaced by B, or its low bits
	OpVshuffle:    vec("vshuffle", FormatShuffle, "VV:V", setOf(I8x16)),           // lanes of A (0 to 15) and B (16 to 31)
	OpVswizzle:    vec("vswizzle", FormatBinary, "VV:V", setOf(I8x16)),            // lanes of A that B names; 0 for 16 and above
	OpVswizzleMod: vec("vswizzle_mod", FormatBinary, "VV:V", setOf(I8x16)),        // 0 for 128 and above, else modulo 16: pshufb
	OpVnot:        vec("vnot", FormatUnary, "V:V", tV128),
	OpVand:        swaps(vec("vand", FormatBinary, "VV:V", tV128)),
	OpVor:         swaps(vec("vor", FormatBinary, "VV:V", tV128)),
	OpVxor:        swaps(vec("vxor", FormatBinary, "VV:V", tV128)),
	OpVandnot:     vec("vandnot", FormatBinary, "VV:V", tV128),            // A and not B
	OpVbitselect:  vec("vbitselect", FormatTernary, "VVV:V", tV128),       // the bits of A where C has ones, of B where it has zeros
	OpVselectTop:  vec("vselect_top", FormatTernary, "VVV:V", tIntShapes), // the lanes of A where the top bit of C's lane is set, else of B
	OpVanyTrue:    vec("vany_true", FormatUnary, "V:i", tV128),
	OpVallTrue:    vec("vall_true", FormatUnary, "V:i", tIntShapes),
	OpVbitmask:    vec("vbitmask", FormatUnary, "V:i", tIntShapes), // the top bits of the lanes

	// Vectors of integers.
	OpVadd:        swaps(vec("vadd", FormatBinary, "VV:V", tIntShapes)),
	OpVsub:        vec("vsub", FormatBinary, "VV:V", tIntShapes),
	OpVmul:        swaps(vec("vmul", FormatBinary, "VV:V", tWideShapes)),
	OpVneg:        vec("vneg", FormatUnary, "V:V", tIntShapes),
	OpVabs:        vec("vabs", FormatUnary, "V:V", tIntShapes), // the smallest number stays
	OpVaddSatS:    swaps(vec("vadd_sat_s", FormatBinary, "VV:V", tSmallShapes)),
	OpVaddSatU:    swaps(vec("vadd_sat_u", FormatBinary, "VV:V", tSmallShapes)),
	OpVsubSatS:    vec("vsub_sat_s", FormatBinary, "VV:V", tSmallShapes),
	OpVsubSatU:    vec("vsub_sat_u", FormatBinary, "VV:V", tSmallShapes),
	OpVminS:       swaps(vec("vmin_s", FormatBinary, "VV:V", tNarrowShapes)),
	OpVminU:       swaps(vec("vmin_u", FormatBinary, "VV:V", tNarrowShapes)),
	OpVmaxS:       swaps(vec("vmax_s", FormatBinary, "VV:V", tNarrowShapes)),
	OpVmaxU:       swaps(vec("vmax_u", FormatBinary, "VV:V", tNarrowShapes)),
	OpVavgrU:      swaps(vec("vavgr_u", FormatBinary, "VV:V", tSmallShapes)), // (A+B+1)/2
	OpVpopcnt:     vec("vpopcnt", FormatUnary, "V:V", setOf(I8x16)),
	OpVshl:        vec("vshl", FormatBinary, "Vi:V", tIntShapes), // all lanes by B modulo the width
	OpVshrS:       vec("vshr_s", FormatBinary, "Vi:V", tIntShapes),
	OpVshrU:       vec("vshr_u", FormatBinary, "Vi:V", tIntShapes),
	OpVq15mulr:    swaps(vec("vq15mulr", FormatBinary, "VV:V", setOf(I16x8))),     // (A*B+0x4000)>>15, wrapping
	OpVq15mulrSat: swaps(vec("vq15mulr_sat", FormatBinary, "VV:V", setOf(I16x8))), // saturating
	OpVdot:        swaps(vec("vdot", FormatBinary, "VV:V", setOf(I16x8, I32x4))),  // sums of two adjacent products of signed lanes of half the width, wrapping
	OpVdotUS:      vec("vdot_us", FormatBinary, "VV:V", setOf(I16x8)),             // as Vdot, A's lanes without sign, saturating: pmaddubsw
	OpVdotAdd:     vec("vdot_add", FormatTernary, "VVV:V", setOf(I32x4)),          // C plus sums of four adjacent products of signed bytes: sdot
	OpVicmp:       vec("vicmp", FormatIntCmp, "VV:V", tIntShapes),                 // lanes of ones where it holds, else of zeros

	// Vectors whose lanes change their width; the type is the result's shape.
	OpVextendLowS:  vec("vextend_low_s", FormatUnary, "V:V", tWideShapes),
	OpVextendLowU:  vec("vextend_low_u", FormatUnary, "V:V", tWideShapes),
	OpVextendHighS: vec("vextend_high_s", FormatUnary, "V:V", tWideShapes),
	OpVextendHighU: vec("vextend_high_u", FormatUnary, "V:V", tWideShapes),
	OpVnarrowS:     vec("vnarrow_s", FormatBinary, "VV:V", tSmallShapes),           // signed lanes of A, then of B, saturated
	OpVnarrowU:     vec("vnarrow_u", FormatBinary, "VV:V", tSmallShapes),           // the same saturated to unsigned lanes
	OpVextaddPairS: vec("vextadd_pair_s", FormatUnary, "V:V", setOf(I16x8, I32x4)), // sums of two adjacent lanes
	OpVextaddPairU: vec("vextadd_pair_u", FormatUnary, "V:V", setOf(I16x8, I32x4)),
	OpVextmulLowS:  swaps(vec("vextmul_low_s", FormatBinary, "VV:V", tWideShapes)), // whole products
	OpVextmulLowU:  swaps(vec("vextmul_low_u", FormatBinary, "VV:V", tWideShapes)),
	OpVextmulHighS: swaps(vec("vextmul_high_s", FormatBinary, "VV:V", tWideShapes)),
	OpVextmulHighU: swaps(vec("vextmul_high_u", FormatBinary, "VV:V", tWideShapes)),

	// Vectors of floats.
	OpVfadd:     swaps(vec("vfadd", FormatBinary, "VV:V", tFloatShapes)),
	OpVfsub:     vec("vfsub", FormatBinary, "VV:V", tFloatShapes),
	OpVfmul:     swaps(vec("vfmul", FormatBinary, "VV:V", tFloatShapes)),
	OpVfdiv:     vec("vfdiv", FormatBinary, "VV:V", tFloatShapes),
	OpVfmin:     vec("vfmin", FormatBinary, "VV:V", tFloatShapes), // as fmin
	OpVfmax:     vec("vfmax", FormatBinary, "VV:V", tFloatShapes),
	OpVfpmin:    vec("vfpmin", FormatBinary, "VV:V", tFloatShapes),  // B < A ? B : A
	OpVfpmax:    vec("vfpmax", FormatBinary, "VV:V", tFloatShapes),  // A < B ? B : A
	OpVfma:      vec("vfma", FormatTernary, "VVV:V", tFloatShapes),  // A*B+C, rounded once
	OpVfnma:     vec("vfnma", FormatTernary, "VVV:V", tFloatShapes), // -(A*B)+C, rounded once
	OpVfabs:     vec("vfabs", FormatUnary, "V:V", tFloatShapes),
	OpVfneg:     vec("vfneg", FormatUnary, "V:V", tFloatShapes),
	OpVfsqrt:    vec("vfsqrt", FormatUnary, "V:V", tFloatShapes),
	OpVfceil:    vec("vfceil", FormatUnary, "V:V", tFloatShapes),
	OpVffloor:   vec("vffloor", FormatUnary, "V:V", tFloatShapes),
	OpVftrunc:   vec("vftrunc", FormatUnary, "V:V", tFloatShapes),
	OpVfnearest: vec("vfnearest", FormatUnary, "V:V", tFloatShapes),
	OpVfcmp:     vec("vfcmp", FormatFloatCmp, "VV:V", tFloatShapes),

	// Conversions of vectors. Two lanes become the low two of four, whose others are 0.
	OpVcvtFromSint:  vec("vcvt_from_sint", FormatUnary, "V:V", tFloatShapes), // from i32x4 or its low half; the type is the result's
	OpVcvtFromUint:  vec("vcvt_from_uint", FormatUnary, "V:V", tFloatShapes),
	OpVcvtToSintSat: vec("vcvt_to_sint_sat", FormatUnary, "V:V", tFloatShapes), // to i32x4; the type is the operand's
	OpVcvtToUintSat: vec("vcvt_to_uint_sat", FormatUnary, "V:V", tFloatShapes),
	OpVcvtToSintInd: vec("vcvt_to_sint_ind", FormatUnary, "V:V", tFloatShapes), // 0x80000000 for NaNs and what does not fit: cvttps2dq
	OpVpromote:      vec("vpromote", FormatUnary, "V:V", setOf(F64x2)),         // the low half of f32x4
	OpVdemote:       vec("vdemote", FormatUnary, "V:V", setOf(F32x4)),          // f64x2

	OpSelect:    {Name: "select", Format: FormatTernary, Effects: effect.Pure, Sig: "iCC:C", Types: tScalar | tV128}, // A != 0 ? B : C
	OpRefIsNull: un("ref_is_null", "C:i", "refs"),                                                                    // Type is the operand's
	OpFuncBits:  un("func_bits", "C:l", "funcref"),                                                                   // abi.DescHost if A is, or may be, a function of the host; of the other bits nothing is known

	OpLoad:       {Name: "load", Format: FormatLoad, Sig: "p:C", Types: tInt | tFloat | tV128, Effects: effect.Traps | effect.ReadMemory, Entity: EntMemory},
	OpStore:      {Name: "store", Format: FormatStore, Sig: "pC:.", Types: tInt | tFloat | tV128, Effects: effect.Traps | effect.WriteMemory, Entity: EntMemory},
	OpMemorySize: ent("memory_size", EntMemory, ":l", tNone, effect.ReadMemorySize),                         // current size in bytes
	OpMemoryGrow: ent("memory_grow", EntMemory, "i:i", tNone, effect.ReadMemorySize|effect.WriteMemorySize), // pages; old pages or -1
	OpMemoryCopy: ent2("memory_copy", EntMemory, EntMemory, "lll:.", effect.ReadMemory|effect.WriteMemory),  // to Aux at A, from Imm at B, C bytes
	OpMemoryFill: ent("memory_fill", EntMemory, "lil:.", tNone, effect.WriteMemory),                         // at A, byte B, C bytes
	OpMemoryInit: ent2("memory_init", EntMemory, EntData, "lll:.", effect.ReadSegments|effect.WriteMemory),  // to Aux at A, from segment Imm at B, C bytes
	OpDataLen:    ent("data_len", EntData, ":l", tNone, effect.ReadSegments),                                // bytes, 0 once dropped
	OpDataDrop:   ent("data_drop", EntData, ":.", tNone, effect.WriteSegments),
	OpGlobalGet:  ent("global_get", EntGlobal, ":C", tScalar|tV128, effect.ReadGlobal),
	OpGlobalSet:  ent("global_set", EntGlobal, "C:.", tScalar|tV128, effect.WriteGlobal),
	OpTableSize:  ent("table_size", EntTable, ":l", tNone, effect.ReadTableSize),                         // current length
	OpTableGet:   ent("table_get", EntTable, "l:C", tRefs, effect.ReadTable),                             // index in bounds
	OpTableSet:   ent("table_set", EntTable, "lC:.", tRefs, effect.WriteTable),                           // index in bounds
	OpTableGrow:  ent("table_grow", EntTable, "iC:i", tRefs, effect.ReadTableSize|effect.WriteTableSize), // A elements, B initial; old length or -1
	OpTableCopy:  ent2("table_copy", EntTable, EntTable, "lll:.", effect.ReadTable|effect.WriteTable),    // to Aux at A, from Imm at B, C elements
	OpTableFill:  ent("table_fill", EntTable, "lCl:.", tRefs, effect.WriteTable),                         // at A, value B, C elements
	OpTableInit:  ent2("table_init", EntTable, EntElem, "lll:.", effect.ReadSegments|effect.WriteTable),  // to Aux at A, from segment Imm at B, C elements
	OpElemLen:    ent("elem_len", EntElem, ":l", tNone, effect.ReadSegments),                             // elements, 0 once dropped
	OpElemDrop:   ent("elem_drop", EntElem, ":.", tNone, effect.WriteSegments),
	OpElemSet:    ent("elem_set", EntElem, "lC:.", tRefs, effect.WriteSegments), // element A of a segment; only in the init function

	OpTrap:   {Name: "trap", Format: FormatTrap, Effects: effect.Traps | effect.Control, Types: tNone},
	OpTrapIf: {Name: "trapif", Format: FormatTrapIf, Sig: "i:.", Effects: effect.Traps, Types: tNone}, // if A != 0
	// A if A < B, both unsigned, else a trap. If the processor misspeculates past the trap, the result is 0, so an address
	// made from it stays in bounds. Only if A and B are constants may A replace it.
	OpBound:    {Name: "bound", Format: FormatBound, Sig: "CC:C", Effects: effect.Traps, Types: tI64},
	OpSigCheck: ent("sig_check", EntSig, "F:.", tNone, effect.Traps), // uninitialized_element if null, bad_signature if the type differs
	// Imm or A units of fuel, without sign, are consumed. If that is more than there are, it traps, or, with the code none, does not: the host looks.
	// There is no call in between, and what was known of the instance holds behind it, also if the host lets the code go on.
	OpCharge:   {Name: "charge", Format: FormatCharge, Sig: ":.", Effects: effect.Traps | effect.ReadFuel | effect.WriteFuel, Types: tNone},
	OpChargeBy: {Name: "charge_by", Format: FormatChargeBy, Sig: "l:.", Effects: effect.Traps | effect.ReadFuel | effect.WriteFuel, Types: tNone},
	// Exceptions. While one is under way, it is in a place that the instance has for it: between exn_set or exn_open and raise, or a jump to a handler,
	// and from the start of a handler to the next call. So what a handler wants of it, it reads first.
	OpExnSet:  {Name: "exn_set", Format: FormatList, Effects: effect.WriteException, Types: tNone, Entity: EntTag},                     // a new exception with a tag and arguments is under way
	OpExnOpen: {Name: "exn_open", Format: FormatUnary, Sig: "C:.", Effects: effect.ReadException | effect.WriteException, Types: tRef}, // the one that A, not null, refers to is
	OpExnTag:  {Name: "exn_tag", Format: FormatNop, Sig: ":l", Effects: effect.ReadException, Types: tNone},                            // what stands for its tag, not 0
	OpTagAddr: {Name: "tag_addr", Format: FormatEntity, Sig: ":l", Effects: effect.Pure, Types: tNone, Entity: EntTag},                 // what stands for a tag
	OpExnArgs: {Name: "exn_args", Format: FormatEntity, Effects: effect.ReadException, Types: tNone, Entity: EntTag},                   // its arguments, if it has the tag
	OpExnRef:  {Name: "exn_ref", Format: FormatNop, Sig: ":C", Effects: effect.ReadException | effect.WriteException, Types: tRef},     // a reference to it
	// Objects of the collected heap. What is of a module's own structure or array has its type; each operation of one traps null_structure or null_array if A is null, or, of the list, the
	// first. Elements are in bounds. What makes an object may run the collector, and fills it with zeros and nulls; it traps heap_exhausted.
	// References within any and those to host objects are words of one kind, so that conversions between the two change nothing (docs/gc.md).
	OpRefEq:     {Name: "ref_eq", Format: FormatBinary, Effects: effect.Pure, Sig: "CC:i", Types: tRef, Commutative: true},
	OpRefTest:   {Name: "ref_test", Format: FormatRefTest, Effects: effect.Pure, Sig: "C:i", Types: tRefs}, // 1 if A, which is of the type Aux, is of the type Imm, which is neither the top nor the bottom of its hierarchy, and never null unless Aux is of objects; else 0
	OpRefI31:    {Name: "ref_i31", Format: FormatUnary, Effects: effect.Pure, Sig: "i:C", Types: tRef},
	OpI31GetS:   {Name: "i31_get_s", Format: FormatUnary, Effects: effect.Pure, Sig: "R:C", Types: tI32}, // of a small integer, not null
	OpI31GetU:   {Name: "i31_get_u", Format: FormatUnary, Effects: effect.Pure, Sig: "R:C", Types: tI32},
	OpStructNew: ent("struct_new", EntType, ":C", tRef, effect.Traps|effect.WriteHeap),
	// What struct_new does where there is room, in parts, which stand together: nothing between them may make an object, or collect.
	OpHeapNext:      ent("heap_next", EntType, ":C", tRef, effect.ReadHeap),    // where the next structure will be
	OpHeapFull:      ent("heap_full", EntType, "C:i", tRef, effect.Pure),       // 1 if there is no room at once for a structure at A, as heap_next gave it: that does not change before the claim
	OpHeapClaim:     ent("heap_claim", EntType, "C:.", tRef, effect.WriteHeap), // A, where there is room, refers to a structure of zeros and nulls
	OpStructGet:     field("struct_get", "R:C", tScalar|tV128, effect.Traps|effect.ReadHeap),
	OpStructGetS:    field("struct_get_s", "R:C", tI32, effect.Traps|effect.ReadHeap), // of a packed field
	OpStructGetU:    field("struct_get_u", "R:C", tI32, effect.Traps|effect.ReadHeap),
	OpStructSet:     field("struct_set", "RC:.", tScalar|tV128, effect.Traps|effect.WriteHeap), // A.field = B
	OpArrayNew:      ent("array_new", EntType, "i:C", tRef, effect.Traps|effect.WriteHeap),     // of A elements
	OpArrayLen:      {Name: "array_len", Format: FormatUnary, Effects: effect.Traps, Sig: "R:C", Types: tI32},
	OpArrayGet:      ent("array_get", EntType, "Rl:C", tScalar|tV128, effect.Traps|effect.ReadHeap), // A[B]
	OpArrayGetS:     ent("array_get_s", EntType, "Rl:C", tI32, effect.Traps|effect.ReadHeap),
	OpArrayGetU:     ent("array_get_u", EntType, "Rl:C", tI32, effect.Traps|effect.ReadHeap),
	OpArraySet:      ent("array_set", EntType, "RlC:.", tScalar|tV128, effect.Traps|effect.WriteHeap),    // A[B] = C
	OpArrayFill:     bulk("array_fill", EntNone, effect.Traps|effect.WriteHeap),                          // array, place, value, elements
	OpArrayCopy:     bulk("array_copy", EntType, effect.Traps|effect.ReadHeap|effect.WriteHeap),          // array, place, source, place in it, elements; of the types Aux and Imm
	OpArrayInitData: bulk("array_init_data", EntData, effect.Traps|effect.ReadSegments|effect.WriteHeap), // array, place, place in the segment in bytes, elements
	OpArrayInitElem: bulk("array_init_elem", EntElem, effect.Traps|effect.ReadSegments|effect.WriteHeap), // array, place, place in the segment, elements
	OpCall:          {Name: "call", Format: FormatCall, Effects: effect.Traps | effect.Calls | effect.All, Types: tNone, Entity: EntFunc},
	OpCallRef:       {Name: "call_ref", Format: FormatCallRef, Effects: effect.Traps | effect.Calls | effect.All, Types: tNone, Entity: EntSig}, // A, of the right type, not null
	OpJump:          {Name: "jump", Format: FormatJump, Effects: effect.Control, Types: tNone},
	OpBranch:        {Name: "br", Format: FormatBranch, Sig: "i:.", Effects: effect.Control, Types: tNone},
	OpBrTable:       {Name: "br_table", Format: FormatBrTable, Sig: "i:.", Effects: effect.Control, Types: tNone},
	// The end of a block whose last call may throw: only instructions without effects that do not use its results stand between. They exist only where the first target leads.
	OpCatch: {Name: "catch", Format: FormatCatch, Effects: effect.Control, Types: tNone},
	// Unwinds to the caller, with the exception that is under way.
	OpRaise:  {Name: "raise", Format: FormatRaise, Effects: effect.Traps | effect.Control | effect.ReadException, Types: tNone},
	OpReturn: {Name: "return", Format: FormatReturn, Effects: effect.Control, Types: tNone},
	// Tail calls return what the callee returns, whose results have the types of the function's. The function's frame is gone while the callee runs.
	OpReturnCall:    {Name: "return_call", Format: FormatCall, Effects: tailCall, Types: tNone, Entity: EntFunc},
	OpReturnCallRef: {Name: "return_call_ref", Format: FormatCallRef, Effects: tailCall, Types: tNone, Entity: EntSig}, // as call_ref
}

// tailCall are the effects of a call that ends its block.
const tailCall = effect.Traps | effect.Calls | effect.Control | effect.All

// Info describes op.
func (op Opcode) Info() *OpInfo { return &opInfos[op] }

func (op Opcode) String() string { return opInfos[op].Name }

// OpcodesByName returns the opcodes by what String gives.
func OpcodesByName() map[string]Opcode {
	ops := make(map[string]Opcode, NumOpcodes)
	for op := range NumOpcodes {
		ops[op.String()] = op
	}
	return ops
}

// Has reports whether op has one of the effects e.
func (op Opcode) Has(e effect.Set) bool { return opInfos[op].Effects.Has(e) }

// IsPure reports whether op has no effects at all.
func (op Opcode) IsPure() bool { return opInfos[op].Effects == effect.Pure }

// IsTerminator reports whether op ends its block.
func (op Opcode) IsTerminator() bool { return opInfos[op].Effects.Has(effect.Control) }

// IsOfHeap reports whether op is an operation on what may be in the collected heap, of types that a module defines.
func (op Opcode) IsOfHeap() bool { return op >= OpRefEq && op <= OpArrayInitElem }

// IsTailCall reports whether op calls a function in place of the one that it is in.
func (op Opcode) IsTailCall() bool {
	return opInfos[op].Effects.Has(effect.Control) && opInfos[op].Effects.Has(effect.Calls)
}

// HasResult reports whether op has one result, of the type ResultType. Calls have as many as their signature.
func (op Opcode) HasResult() bool {
	s := opInfos[op].Sig
	return s != "" && s[len(s)-1] != '.'
}

// ResultType returns the type of the result of op with the controlling type t; Invalid if HasResult does not
// hold.
func (op Opcode) ResultType(t Type) Type {
	s := opInfos[op].Sig
	if s == "" {
		return Invalid
	}
	switch s[len(s)-1] {
	case 'i':
		return I32
	case 'l':
		return I64
	case 'V':
		return V128
	case 'e':
		if t.IsShape() {
			return t.LaneType()
		}
	case 'C':
		return t
	}
	return Invalid
}
