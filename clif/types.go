package clif

import "fmt"

// Type is the type of a Value.
type Type uint8

// The types. Narrow integers exist only in memory operations (Access).
const (
	Invalid Type = iota
	I32
	I64
	F32
	F64
	V128
	Ref     // a reference to a host or collected object (externref)
	FuncRef // a function reference: not collected
	NumTypes
)

var typeNames = [NumTypes]string{"invalid", "i32", "i64", "f32", "f64", "v128", "ref", "funcref"}

func (t Type) String() string {
	if t < NumTypes {
		return typeNames[t]
	}
	return fmt.Sprintf("type%d", uint8(t))
}

// TypeByName returns the type whose String is name, or Invalid.
func TypeByName(name string) Type {
	for t := I32; t < NumTypes; t++ {
		if typeNames[t] == name {
			return t
		}
	}
	return Invalid
}

// IsInt reports whether t is i32 or i64.
func (t Type) IsInt() bool { return t == I32 || t == I64 }

// IsFloat reports whether t is f32 or f64.
func (t Type) IsFloat() bool { return t == F32 || t == F64 }

// IsRef reports whether t is a reference of either kind.
func (t Type) IsRef() bool { return t == Ref || t == FuncRef }

// Bits returns the width of t.
func (t Type) Bits() int {
	switch t {
	case I32, F32:
		return 32
	case V128:
		return 128
	}
	return 64
}

// Entities: indices into the tables of a Func or Module. The zero value is the
// first entity; No… is none.
type (
	// Value is an SSA value: an index into Func.Values.
	Value uint32
	// Inst is an instruction: an index into Func.Insts.
	Inst uint32
	// Block is a basic block: an index into Func.Blocks.
	Block uint32
	// Target is a branch target with arguments: an index into Func.Targets.
	Target uint32
	// FuncIndex, SigIndex and so on are indices into the tables of a Module.
	FuncIndex   uint32
	SigIndex    uint32
	GlobalIndex uint32
	MemoryIndex uint32
	TableIndex  uint32
)

// The missing entities.
const (
	NoValue  = ^Value(0)
	NoInst   = ^Inst(0)
	NoBlock  = ^Block(0)
	NoTarget = ^Target(0)
)

func (v Value) String() string { return fmt.Sprintf("v%d", uint32(v)) }
func (i Inst) String() string  { return fmt.Sprintf("inst%d", uint32(i)) }
func (b Block) String() string { return fmt.Sprintf("block%d", uint32(b)) }

// IntCC is the condition of an icmp.
type IntCC uint8

// The integer conditions. The low bit negates.
const (
	Eq IntCC = iota
	Ne
	Slt
	Sge
	Sgt
	Sle
	Ult
	Uge
	Ugt
	Ule
	NumIntCCs
)

var intCCNames = [NumIntCCs]string{"eq", "ne", "slt", "sge", "sgt", "sle", "ult", "uge", "ugt", "ule"}

func (c IntCC) String() string { return intCCNames[c] }

// Invert returns the condition that holds when c does not.
func (c IntCC) Invert() IntCC { return c ^ 1 }

var intCCSwapped = [NumIntCCs]IntCC{Eq, Ne, Sgt, Sle, Slt, Sge, Ugt, Ule, Ult, Uge}

// Swap returns the condition that holds of (b, a) when c holds of (a, b).
func (c IntCC) Swap() IntCC { return intCCSwapped[c] }

// FloatCC is the condition of an fcmp. All but FNe are false if an operand is a
// NaN; FNe is true then.
type FloatCC uint8

// The float conditions.
const (
	FEq FloatCC = iota
	FNe
	FLt
	FGt
	FLe
	FGe
	NumFloatCCs
)

var floatCCNames = [NumFloatCCs]string{"eq", "ne", "lt", "gt", "le", "ge"}

func (c FloatCC) String() string { return floatCCNames[c] }

// Access is how much of memory a load or store touches and how a load widens it.
type Access uint8

// The accesses. Full is the width of the value's type. Stores use Full, U8, U16
// and U32.
const (
	Full Access = iota
	U8
	S8
	U16
	S16
	U32
	S32
	NumAccesses
)

var accessNames = [NumAccesses]string{"", "u8", "s8", "u16", "s16", "u32", "s32"}

func (a Access) String() string { return accessNames[a] }

// Bytes returns the width of the access for a value of type t.
func (a Access) Bytes(t Type) int {
	switch a {
	case U8, S8:
		return 1
	case U16, S16:
		return 2
	case U32, S32:
		return 4
	}
	return t.Bits() / 8
}

// Signed reports whether a load sign-extends.
func (a Access) Signed() bool { return a == S8 || a == S16 || a == S32 }
