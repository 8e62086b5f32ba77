package clif

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
)

// Type is the type of a Value.
type Type uint8

// The types are the classes of WebAssembly's value types. Narrow integers exist only in memory operations (Access).
const (
	Invalid  = Type(abi.ValTypeUnknown)
	I32      = Type(abi.I32)
	I64      = Type(abi.I64)
	F32      = Type(abi.F32)
	F64      = Type(abi.F64)
	V128     = Type(abi.V128)
	Ref      = Type(abi.ExternRef) // a reference to a host or collected object
	FuncRef  = Type(abi.FuncRef)   // a function reference: not collected
	NumTypes = Type(abi.NumValTypes)
)

// The shapes: how an instruction divides a v128 into lanes. They are controlling types
// only (InstData.Type); the values have the type V128. The first lane is in the lowest bytes.
const (
	I8x16 Type = NumTypes + iota
	I16x8
	I32x4
	I64x2
	F32x4
	F64x2
	NumControlTypes
)

var typeNames = [NumControlTypes]string{"invalid", "i32", "i64", "f32", "f64", "v128", "ref", "funcref",
	"i8x16", "i16x8", "i32x4", "i64x2", "f32x4", "f64x2"}

func (t Type) String() string {
	if t < NumControlTypes {
		return typeNames[t]
	}
	return fmt.Sprintf("type%d", uint8(t))
}

// TypeByName returns the type of values whose String is name, or Invalid.
func TypeByName(name string) Type {
	if t := ControlTypeByName(name); t < NumTypes {
		return t
	}
	return Invalid
}

// ControlTypeByName returns the type or shape whose String is name, or Invalid.
func ControlTypeByName(name string) Type {
	for t := I32; t < NumControlTypes; t++ {
		if typeNames[t] == name {
			return t
		}
	}
	return Invalid
}

// IsShape reports whether t is a shape of v128.
func (t Type) IsShape() bool { return t >= I8x16 }

// laneTypes are the types of scalars that become lanes, by shape.
var laneTypes = [...]Type{I32, I32, I32, I64, F32, F64}

// LaneType returns the type of a scalar that is put into a lane or taken out of it: I32 for
// lanes of 8 and 16 bits. The type must be a shape.
func (t Type) LaneType() Type { return laneTypes[t-I8x16] }

// laneBits are the widths of lanes, by shape.
var laneBits = [...]int{8, 16, 32, 64, 32, 64}

// LaneBits returns the width of a lane. The type must be a shape.
func (t Type) LaneBits() int { return laneBits[t-I8x16] }

// Lanes returns how many lanes there are. The type must be a shape.
func (t Type) Lanes() int { return 128 / t.LaneBits() }

// IsFloatShape reports whether the lanes of t are floats.
func (t Type) IsFloatShape() bool { return t >= F32x4 }

// IsInt reports whether t is i32 or i64.
func (t Type) IsInt() bool { return t == I32 || t == I64 }

// IsFloat reports whether t is f32 or f64.
func (t Type) IsFloat() bool { return t == F32 || t == F64 }

// IsRef reports whether t is a reference of either kind.
func (t Type) IsRef() bool { return t == Ref || t == FuncRef }

// Bits returns the width of t.
func (t Type) Bits() int {
	if t.IsShape() {
		return 128
	}
	return abi.ValType(t).Bits()
}

// Words returns how many words of 8 bytes the raw bits of values of the types take: two for a v128, the
// low half first, else one.
func Words(types []Type) int {
	n := len(types)
	for _, t := range types {
		if t == V128 {
			n++
		}
	}
	return n
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
// and U32. A load of a v128 with U32 or U64 fills the upper lanes with zeros.
const (
	Full Access = iota
	U8
	S8
	U16
	S16
	U32
	S32
	U64
	NumAccesses
)

var accessNames = [NumAccesses]string{"", "u8", "s8", "u16", "s16", "u32", "s32", "u64"}

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
	case U64:
		return 8
	}
	return t.Bits() / 8
}

// Signed reports whether a load sign-extends.
func (a Access) Signed() bool { return a == S8 || a == S16 || a == S32 }
