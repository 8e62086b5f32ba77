package clif

// Opcode is the operation of an instruction.
type Opcode uint8

// Format says which fields of InstData an opcode uses, and how its text looks.
type Format uint8

// The formats. A, B, C, Aux, Cond, Imm are fields of InstData.
const (
	FormatNop      Format = iota
	FormatConst           // Imm: bits of the constant
	FormatUnary           // A
	FormatBinary          // A, B
	FormatTernary         // A, B, C
	FormatIntCmp          // Cond IntCC, A, B
	FormatFloatCmp        // Cond FloatCC, A, B
	FormatLoad            // Cond Access, Aux memory, A address, Imm offset
	FormatStore           // Cond Access, Aux memory, A address, B value, Imm offset
	FormatEntity          // Aux index (OpInfo.Entity), then A, B, C as the signature has
	FormatEntity2         // Aux and Imm: two indices (Entity, Entity2), then A, B, C
	FormatTrap            // Cond abi.TrapCode
	FormatTrapIf          // A, Cond abi.TrapCode
	FormatBound           // A, B, Cond abi.TrapCode
	FormatJump            // B Target
	FormatBranch          // A condition, B Target if not zero, C Target if zero
	FormatBrTable         // A index (i32), pool list (B offset, C length) of Targets; the last is the default
	FormatReturn          // pool list (B offset, C length) of Values
	FormatCall            // Aux FuncIndex, pool list
	FormatCallRef         // Aux SigIndex, A callee, pool list
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
)

var entityNames = [...]string{"", "global", "mem", "table", "data", "elem", "fn", "sig"}

func (e Entity) String() string { return entityNames[e] }

// Effects is a set of what an instruction does besides computing its results.
type Effects uint8

// The effects. An instruction without any is pure: it may be removed, merged
// with an equal one, and repeated.
const (
	CanTrap    Effects = 1 << iota
	Reads              // reads memory, a table, a global or a size
	Writes             // writes one of them
	Calls              // runs other code: may do anything to what is reachable from outside
	Terminates         // ends its block
)

// OpInfo describes an opcode.
type OpInfo struct {
	Name    string
	Format  Format
	Effects Effects
	// Sig is the types of A, B, C and, after the colon, of the result. C is
	// InstData.Type, i I32, l I64, f any float type, n any integer type, b the type
	// of the other bank with the width of C, s the other float type, p an address (I32, or I64 for 64-bit
	// memories), F FuncRef, t the element type of the table, g the type of the
	// global, and a dot nothing. Empty where calls and branches have lists.
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
	tScalar         = tInt | tFloat | tRefs
	tNone   TypeSet = 1 << Invalid
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
	// Choice.
	OpSelect
	OpRefIsNull
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
	OpCall
	OpCallRef
	OpJump
	OpBranch
	OpBrTable
	OpReturn
	NumOpcodes
)

func bin(name, types string) OpInfo {
	return OpInfo{Name: name, Format: FormatBinary, Sig: "CC:C", Types: typeSetOf(types)}
}

func comm(name, types string) OpInfo {
	o := bin(name, types)
	o.Commutative = true
	return o
}

func un(name, sig, types string) OpInfo {
	return OpInfo{Name: name, Format: FormatUnary, Sig: sig, Types: typeSetOf(types)}
}

func with(o OpInfo, e Effects) OpInfo {
	o.Effects = e
	return o
}

func ent(name string, e Entity, sig string, types TypeSet, eff Effects) OpInfo {
	return OpInfo{Name: name, Format: FormatEntity, Entity: e, Sig: sig, Types: types, Effects: eff}
}

func ent2(name string, e, e2 Entity, sig string, eff Effects) OpInfo {
	return OpInfo{Name: name, Format: FormatEntity2, Entity: e, Entity2: e2, Sig: sig, Types: tNone, Effects: eff}
}

func typeSetOf(s string) TypeSet {
	return map[string]TypeSet{"int": tInt, "float": tFloat, "i32": tI32, "i64": tI64,
		"f32": setOf(F32), "f64": setOf(F64), "num": tInt | tFloat, "scalar": tScalar, "refs": tRefs}[s]
}

// opInfos is the one table of opcodes: parser, printer, verifier, interpreter,
// optimiser and lowering read it.
//
// The instructions that move bytes or elements in bulk and those that read or
// write tables check nothing: the front end puts explicit size comparisons and
// trapifs before them. Loads and stores to linear memory check themselves.
var opInfos = [NumOpcodes]OpInfo{
	OpNop:      {Name: "nop", Format: FormatNop, Types: tNone},
	OpIconst:   {Name: "iconst", Format: FormatConst, Sig: ":C", Types: tInt},
	OpFconst:   {Name: "fconst", Format: FormatConst, Sig: ":C", Types: tFloat}, // Imm: IEEE bits
	OpRefNull:  {Name: "ref_null", Format: FormatConst, Sig: ":C", Types: tRefs},
	OpFuncAddr: ent("func_addr", EntFunc, ":C", tFunc, 0), // the reference to a function (ref.func)

	OpIadd: comm("iadd", "int"),
	OpIsub: bin("isub", "int"),
	OpImul: comm("imul", "int"),
	// The high half of the product of 64-bit numbers without and with sign.
	OpUmulhi: comm("umulhi", "i64"),
	OpSmulhi: comm("smulhi", "i64"),
	OpUdiv:   with(bin("udiv", "int"), CanTrap), // traps integer_divide_by_zero
	OpSdiv:   with(bin("sdiv", "int"), CanTrap), // and integer_overflow
	OpUrem:   with(bin("urem", "int"), CanTrap),
	OpSrem:   with(bin("srem", "int"), CanTrap), // smallest % -1 is 0
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
	OpIcmp:    {Name: "icmp", Format: FormatIntCmp, Sig: "CC:i", Types: tInt}, // Type is that of the operands
	OpSext8:   un("sext8", "C:C", "int"),                                      // sign-extends the low 8 bits
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
	OpFcmp:      {Name: "fcmp", Format: FormatFloatCmp, Sig: "CC:i", Types: tFloat},
	OpFpromote:  un("fpromote", "s:C", "f64"), // from f32
	OpFdemote:   un("fdemote", "s:C", "f32"),  // from f64

	// Conversions between banks; Type is the result's.
	OpFcvtFromSint:  un("fcvt_from_sint", "n:C", "float"),
	OpFcvtFromUint:  un("fcvt_from_uint", "n:C", "float"),
	OpFcvtToSint:    with(un("fcvt_to_sint", "f:C", "int"), CanTrap), // bad_conversion for NaN, else integer_overflow
	OpFcvtToUint:    with(un("fcvt_to_uint", "f:C", "int"), CanTrap),
	OpFcvtToSintSat: un("fcvt_to_sint_sat", "f:C", "int"),
	OpFcvtToUintSat: un("fcvt_to_uint_sat", "f:C", "int"),
	OpBitcast:       un("bitcast", "b:C", "num"),

	OpSelect:    {Name: "select", Format: FormatTernary, Sig: "iCC:C", Types: tScalar | 1<<V128}, // A != 0 ? B : C
	OpRefIsNull: un("ref_is_null", "C:i", "refs"),                                                // Type is the operand's

	OpLoad:       {Name: "load", Format: FormatLoad, Sig: "p:C", Types: tInt | tFloat | 1<<V128, Effects: CanTrap | Reads, Entity: EntMemory},
	OpStore:      {Name: "store", Format: FormatStore, Sig: "pC:.", Types: tInt | tFloat | 1<<V128, Effects: CanTrap | Writes, Entity: EntMemory},
	OpMemorySize: ent("memory_size", EntMemory, ":l", tNone, Reads),                // current size in bytes
	OpMemoryGrow: ent("memory_grow", EntMemory, "i:i", tNone, Reads|Writes),        // pages; old pages or -1
	OpMemoryCopy: ent2("memory_copy", EntMemory, EntMemory, "lll:.", Reads|Writes), // to Aux at A, from Imm at B, C bytes
	OpMemoryFill: ent("memory_fill", EntMemory, "lil:.", tNone, Writes),            // at A, byte B, C bytes
	OpMemoryInit: ent2("memory_init", EntMemory, EntData, "lll:.", Reads|Writes),   // to Aux at A, from segment Imm at B, C bytes
	OpDataLen:    ent("data_len", EntData, ":l", tNone, Reads),                     // bytes, 0 once dropped
	OpDataDrop:   ent("data_drop", EntData, ":.", tNone, Writes),
	OpGlobalGet:  ent("global_get", EntGlobal, ":C", tScalar|1<<V128, Reads),
	OpGlobalSet:  ent("global_set", EntGlobal, "C:.", tScalar|1<<V128, Writes),
	OpTableSize:  ent("table_size", EntTable, ":l", tNone, Reads),               // current length
	OpTableGet:   ent("table_get", EntTable, "l:C", tRefs, Reads),               // index in bounds
	OpTableSet:   ent("table_set", EntTable, "lC:.", tRefs, Writes),             // index in bounds
	OpTableGrow:  ent("table_grow", EntTable, "iC:i", tRefs, Reads|Writes),      // A elements, B initial; old length or -1
	OpTableCopy:  ent2("table_copy", EntTable, EntTable, "lll:.", Reads|Writes), // to Aux at A, from Imm at B, C elements
	OpTableFill:  ent("table_fill", EntTable, "lCl:.", tRefs, Writes),           // at A, value B, C elements
	OpTableInit:  ent2("table_init", EntTable, EntElem, "lll:.", Reads|Writes),  // to Aux at A, from segment Imm at B, C elements
	OpElemLen:    ent("elem_len", EntElem, ":l", tNone, Reads),                  // elements, 0 once dropped
	OpElemDrop:   ent("elem_drop", EntElem, ":.", tNone, Writes),
	OpElemSet:    ent("elem_set", EntElem, "lC:.", tRefs, Writes), // element A of a segment; only in the init function

	OpTrap:   {Name: "trap", Format: FormatTrap, Effects: CanTrap | Terminates, Types: tNone},
	OpTrapIf: {Name: "trapif", Format: FormatTrapIf, Sig: "i:.", Effects: CanTrap, Types: tNone}, // if A != 0
	// A if A < B, both unsigned, else a trap. If the processor misspeculates past the trap, the result is 0, so an address
	// made from it stays in bounds. Only if A and B are constants may A replace it.
	OpBound:    {Name: "bound", Format: FormatBound, Sig: "CC:C", Effects: CanTrap, Types: tI64},
	OpSigCheck: ent("sig_check", EntSig, "F:.", tNone, CanTrap), // uninitialized_element if null, bad_signature if the type differs
	OpCall:     {Name: "call", Format: FormatCall, Effects: CanTrap | Reads | Writes | Calls, Types: tNone, Entity: EntFunc},
	OpCallRef:  {Name: "call_ref", Format: FormatCallRef, Effects: CanTrap | Reads | Writes | Calls, Types: tNone, Entity: EntSig}, // A, of the right type, not null
	OpJump:     {Name: "jump", Format: FormatJump, Effects: Terminates, Types: tNone},
	OpBranch:   {Name: "br", Format: FormatBranch, Sig: "i:.", Effects: Terminates, Types: tNone},
	OpBrTable:  {Name: "br_table", Format: FormatBrTable, Sig: "i:.", Effects: Terminates, Types: tNone},
	OpReturn:   {Name: "return", Format: FormatReturn, Effects: Terminates, Types: tNone},
}

// Info describes op.
func (op Opcode) Info() *OpInfo { return &opInfos[op] }

func (op Opcode) String() string { return opInfos[op].Name }

// Has reports whether op has one of the effects e.
func (op Opcode) Has(e Effects) bool { return opInfos[op].Effects&e != 0 }

// IsPure reports whether op has no effects at all.
func (op Opcode) IsPure() bool { return opInfos[op].Effects == 0 }

// IsTerminator reports whether op ends its block.
func (op Opcode) IsTerminator() bool { return opInfos[op].Effects&Terminates != 0 }
