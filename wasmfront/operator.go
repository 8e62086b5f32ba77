package wasmfront

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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

// String writes the operator as in the text format, with numbers for indices.
func (o *Operator) String() string {
	info := o.Op.Info()
	var b strings.Builder
	b.WriteString(o.Op.String())
	if o.Op == OpSelectT {
		b.Reset()
		b.WriteString("select")
	}
	if p := immPrinters[info.Imm]; p != nil {
		p(&b, o)
	}
	return b.String()
}

// immPrinters append the immediates of each form.
var immPrinters = [NumImmKinds]func(*strings.Builder, *Operator){
	ImmBlock:        printBlockType,
	ImmLabel:        printIndex,
	ImmFunc:         printIndex,
	ImmType:         printIndex,
	ImmTag:          printIndex,
	ImmLocal:        printIndex,
	ImmGlobal:       printIndex,
	ImmTable:        printNonzero,
	ImmElem:         printIndex,
	ImmData:         printIndex,
	ImmMem:          printNonzero,
	ImmTable2:       printTwo,
	ImmMem2:         printTwo,
	ImmElemTable:    printSegment,
	ImmDataMem:      printSegment,
	ImmBrTable:      printTargets,
	ImmCallIndirect: printCallIndirect,
	ImmMemArg:       printMemArg,
	ImmMemArgLane:   func(b *strings.Builder, o *Operator) { printMemArg(b, o); printLane(b, o) },
	ImmLane:         printLane,
	ImmI32:          func(b *strings.Builder, o *Operator) { fmt.Fprintf(b, " %d", int32(o.I64)) },
	ImmI64:          func(b *strings.Builder, o *Operator) { fmt.Fprintf(b, " %d", int64(o.I64)) },
	ImmF32:          func(b *strings.Builder, o *Operator) { b.WriteString(" " + f32Text(uint32(o.I64))) },
	ImmF64:          func(b *strings.Builder, o *Operator) { b.WriteString(" " + f64Text(o.I64)) },
	ImmV128:         func(b *strings.Builder, o *Operator) { fmt.Fprintf(b, " i64x2 0x%016x 0x%016x", o.I64, o.High) },
	ImmShuffle:      printShuffle,
	ImmRefType:      printHeapType,
	ImmSelect:       func(b *strings.Builder, o *Operator) { fmt.Fprintf(b, " (result %s)", o.Type) },
}

func printIndex(b *strings.Builder, o *Operator) { fmt.Fprintf(b, " %d", o.Index) }

func printNonzero(b *strings.Builder, o *Operator) {
	if o.Index != 0 || o.Op.Info().Imm == ImmTable {
		printIndex(b, o)
	}
}

func printTwo(b *strings.Builder, o *Operator) {
	if o.Index != 0 || o.Index2 != 0 {
		fmt.Fprintf(b, " %d %d", o.Index, o.Index2)
	}
}

func printSegment(b *strings.Builder, o *Operator) {
	if o.Index2 != 0 {
		fmt.Fprintf(b, " %d", o.Index2)
	}
	printIndex(b, o)
}

func printTargets(b *strings.Builder, o *Operator) {
	for _, t := range o.Targets {
		fmt.Fprintf(b, " %d", t)
	}
	printIndex(b, o)
}

func printCallIndirect(b *strings.Builder, o *Operator) {
	if o.Index2 != 0 {
		fmt.Fprintf(b, " %d", o.Index2)
	}
	fmt.Fprintf(b, " (type %d)", o.Index)
}

func printBlockType(b *strings.Builder, o *Operator) {
	if len(o.Params) > 0 {
		b.WriteString(" (param" + typeWords(o.Params) + ")")
	}
	if len(o.Results) > 0 {
		b.WriteString(" (result" + typeWords(o.Results) + ")")
	}
}

func typeWords(ts []ValType) string {
	var s string
	for _, t := range ts {
		s += " " + t.String()
	}
	return s
}

func printMemArg(b *strings.Builder, o *Operator) {
	if o.Index != 0 {
		printIndex(b, o)
	}
	if o.I64 != 0 {
		fmt.Fprintf(b, " offset=%d", o.I64)
	}
	if o.Align != o.Op.Info().Align {
		fmt.Fprintf(b, " align=%d", uint64(1)<<o.Align)
	}
}

func printLane(b *strings.Builder, o *Operator) { fmt.Fprintf(b, " %d", o.Lane) }

func printShuffle(b *strings.Builder, o *Operator) {
	for _, half := range [...]uint64{o.I64, o.High} {
		for i := 0; i < 64; i += 8 {
			fmt.Fprintf(b, " %d", uint8(half>>i))
		}
	}
}

func printHeapType(b *strings.Builder, o *Operator) {
	b.WriteString(" " + strings.TrimSuffix(o.Type.String(), "ref"))
}

func f32Text(bits uint32) string {
	return floatText(float64(math.Float32frombits(bits)), bits>>31 != 0, uint64(bits&(1<<23-1)), 1<<22, 32)
}

func f64Text(bits uint64) string {
	return floatText(math.Float64frombits(bits), bits>>63 != 0, bits&(1<<52-1), 1<<51, 64)
}

// floatText writes a float so that the text format reads back the same bits.
func floatText(f float64, negative bool, payload, canonical uint64, size int) string {
	if !math.IsNaN(f) {
		return strings.Replace(strings.ToLower(strconv.FormatFloat(f, 'g', -1, size)), "+inf", "inf", 1)
	}
	s := "nan"
	if payload != canonical {
		s = fmt.Sprintf("nan:0x%x", payload)
	}
	if negative {
		s = "-" + s
	}
	return s
}

// hex returns the encoding of op, for messages.
func (op Opcode) hex() string {
	prefix, n := op.Encoding()
	if prefix == 0 {
		return fmt.Sprintf("%02x", n)
	}
	return fmt.Sprintf("%02x %02x", prefix, n)
}
