package wasmfront

import "fmt"

// Operator is a decoded operator with its immediates and, where they depend on
// the context, its types. A decoder fills in only the fields that the operator
// has; the others keep what was in them before. The slices belong to the
// module or to the decoder, and Targets and Catches are only valid until its next operator.
//
//	form            fields
//	ImmBlock        Params, Results: of the block
//	ImmTryTable     as ImmBlock; Catches
//	else, end       Block: the kind that ends; Params, Results: its type, where the
//	                parameters of a catch are the values of its exceptions
//	catch           Block: the kind that ends; Index: tag; Params: of the tag;
//	                Results: of the block
//	catch_all       Block: the kind that ends; Params: none; Results: of the block
//	delegate        Block: the kind that ends; Index: label, counted from outside
//	                of that; Params, Results: of the block
//	throw           Index: tag; Params: of the tag
//	rethrow         Index: label of a catch or catch_all
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
//	ImmCast         Type: what is asked for; From: of the operand, as far as a validator knows
//	ImmBrOnCast     Index: label; Params: types of the label; From: before the cast; Type: what is asked for
//	ImmField        Index: type; Index2: field
//	ImmTypeCount    Index: type; Index2: how many elements
//	ImmType2        Index: destination; Index2: source
//	ImmTypeData     Index: type; Index2: segment
//	ImmTypeElem     Index: type; Index2: segment
//	ImmSelect       Type: as written
//	drop, select, ref.is_null, ref.as_non_null, i31.get
//	                Type: of the operand or operands; TypeUnknown if the code
//	                is unreachable and does not say
type Operator struct {
	Op      Opcode
	Block   BlockKind
	Type    ValType
	From    ValType
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
	Catches []Catch
}

// Catch is a clause of a try_table: where exceptions go, with which operands.
type Catch struct {
	Kind  CatchKind
	Tag   uint32 // 0 for those of all tags
	Label uint32 // counted from outside of the try_table
}

// CatchKind is a kind of clauses, numbered as in the binary format.
type CatchKind uint8

// The kinds of clauses.
const (
	CatchTag      CatchKind = iota // of one tag: the operands are its values
	CatchTagRef                    // the same, and a reference to the exception
	CatchAll                       // of all tags: no operands
	CatchAllRef                    // a reference to the exception
	numCatchKinds = iota
)

// String returns the keyword of the text format.
func (k CatchKind) String() string {
	if k < numCatchKinds {
		return [numCatchKinds]string{"catch", "catch_ref", "catch_all", "catch_all_ref"}[k]
	}
	return fmt.Sprintf("catch(%d)", uint8(k))
}

// HasTag reports whether a clause is for one tag.
func (k CatchKind) HasTag() bool { return k < CatchAll }

// HasRef reports whether the label gets a reference to the exception.
func (k CatchKind) HasRef() bool { return k == CatchTagRef || k == CatchAllRef }

// CatchKindByName returns the kind that a keyword names.
func CatchKindByName(word string) (CatchKind, bool) {
	for k := range CatchKind(numCatchKinds) {
		if k.String() == word {
			return k, true
		}
	}
	return 0, false
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
	BlockTryTable
	BlockTry
	BlockCatch
	BlockCatchAll
	numBlockKinds = iota
)

var blockNames = [numBlockKinds]string{"func", "block", "loop", "if", "else", "try_table", "try", "catch", "catch_all"}

// String returns the keyword that starts the block.
func (k BlockKind) String() string {
	if k < numBlockKinds {
		return blockNames[k]
	}
	return fmt.Sprintf("block(%d)", uint8(k))
}

// Opens returns the kind of the block that op opens, which a later end closes; it is false if op opens none.
func (op Opcode) Opens() (BlockKind, bool) {
	switch op {
	case OpBlock:
		return BlockBlock, true
	case OpLoop:
		return BlockLoop, true
	case OpIf:
		return BlockIf, true
	case OpTryTable:
		return BlockTryTable, true
	case OpTry:
		return BlockTry, true
	}
	return BlockFunc, false
}

// hex returns the encoding of op, for messages.
func (op Opcode) hex() string {
	prefix, n := op.Encoding()
	if prefix == 0 {
		return fmt.Sprintf("%02x", n)
	}
	return fmt.Sprintf("%02x %02x", prefix, n)
}
