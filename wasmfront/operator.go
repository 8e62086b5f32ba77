package wasmfront

import "fmt"

// Operator is a decoded operator with its immediates and, where they depend on
// the context, its types. A decoder fills in only the fields that the operator
// has; the others keep what was in them before. The slices belong to the
// module or to the decoder, and Targets is only valid until its next operator.
//
//	form            fields
//	ImmBlock        Params, Results: of the block
//	else, end       Block: the kind that ends; Params, Results: its type
//	ImmLabel        Index: label; Params: types of the label
//	ImmBrTable      Targets; Index: default label; Params: types of that label
//	return          Params: results of the function
//	ImmFunc         Index; Params, Results: of the function
//	ImmCallIndirect Index: type; Index2: table; Params, Results: of the type
//	ImmLocal        Index; Type: of the local
//	ImmGlobal       Index; Type: of the global
//	ImmTable        Index; Type: of the elements
//	ImmTable2       Index: destination; Index2: source; Type: of the elements
//	ImmElem         Index
//	ImmElemTable    Index: segment; Index2: table; Type: of the elements
//	ImmData         Index
//	ImmDataMem      Index: segment; Index2: memory
//	ImmMem          Index
//	ImmMem2         Index: destination; Index2: source
//	ImmMemArg       Index: memory; Align; I64: offset
//	ImmMemArgLane   as ImmMemArg; Lane
//	ImmI32          I64: the bits, in the low half
//	ImmI64          I64
//	ImmF32, ImmF64  I64: the bits
//	ImmV128         I64: the low half; High: the high half
//	ImmShuffle      I64, High: the 16 lanes, the first in the lowest byte
//	ImmLane         Lane
//	ImmRefType      Type
//	ImmSelect       Type: as written
//	drop, select, ref.is_null
//	                Type: of the operand or operands; TypeUnknown if the code
//	                is unreachable and does not say
type Operator struct {
	Op      Opcode
	Block   BlockKind
	Type    ValType
	Align   uint8 // log2 of the alignment
	Lane    uint8
	Offset  int // of the operator in the module
	Index   uint32
	Index2  uint32
	I64     uint64
	High    uint64
	Params  []ValType
	Results []ValType
	Targets []uint32
}

// BlockKind is the kind of a structured control operator.
type BlockKind uint8

// The kinds of blocks. The body of a function is a block, too.
const (
	BlockFunc BlockKind = iota
	BlockBlock
	BlockLoop
	BlockIf
	BlockElse
)

// String returns the keyword that starts the block.
func (k BlockKind) String() string {
	if names := [...]string{"func", "block", "loop", "if", "else"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("block(%d)", uint8(k))
}

// hex returns the encoding of op, for messages.
func (op Opcode) hex() string {
	prefix, n := op.Encoding()
	if prefix == 0 {
		return fmt.Sprintf("%02x", n)
	}
	return fmt.Sprintf("%02x %02x", prefix, n)
}
