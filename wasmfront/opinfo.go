package wasmfront

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
)

// Opcode is the code of an operator: the byte, or for operators with a prefix
// byte P and number n, P<<8|n. The relaxed SIMD operators, whose numbers do
// not fit in a byte (prefix 0xFD, n = 0x100+m), are 0xFF00|m.
type Opcode uint16

// ImmKind is the form of an operator's immediates, in the order of encoding.
type ImmKind uint8

// The forms of immediates.
const (
	ImmNone         ImmKind = iota
	ImmBlock                // block type
	ImmTryTable             // block type, catch clauses
	ImmLabel                // label
	ImmBrTable              // labels, default label
	ImmFunc                 // function
	ImmType                 // type
	ImmTag                  // tag
	ImmCallIndirect         // type, table
	ImmLocal                // local
	ImmGlobal               // global
	ImmTable                // table
	ImmTable2               // destination table, source table
	ImmElem                 // element segment
	ImmElemTable            // element segment, table
	ImmData                 // data segment
	ImmDataMem              // data segment, memory
	ImmMem                  // memory
	ImmMem2                 // destination memory, source memory
	ImmMemArg               // alignment, offset
	ImmMemArgLane           // alignment, offset, lane
	ImmI32                  // signed 32-bit number
	ImmI64                  // signed 64-bit number
	ImmF32                  // 4 bytes
	ImmF64                  // 8 bytes
	ImmV128                 // 16 bytes
	ImmShuffle              // 16 lanes
	ImmLane                 // lane
	ImmRefType              // heap type
	ImmCast                 // heap type of a cast
	ImmBrOnCast             // flags, label, heap type before, heap type after
	ImmField                // type, field
	ImmTypeCount            // type, number of elements
	ImmType2                // destination type, source type
	ImmTypeData             // type, data segment
	ImmTypeElem             // type, element segment
	ImmSelect               // list of value types
	ImmOther                // a form of a feature that is not decodable
	NumImmKinds     = iota
)

// OpInfo describes an operator.
type OpInfo struct {
	op Opcode
	// Name is that of the text format, the encoding for an operator of proposedOps, or
	// empty if there is no such operator.
	Name string
	Imm  ImmKind
	// Sig has the types popped, a colon and the types pushed, if they are
	// always the same: i, l, f, d, v, r, x for i32, i64, f32, f64, v128,
	// funcref, externref. It is empty if the types depend on the context.
	Sig string
	// Align is the log2 of the number of bytes accessed, for ImmMemArg and
	// ImmMemArgLane.
	Align uint8
	// Effects are Unknown for operators that nothing translates. Whoever summarises bodies refuses those.
	Effects effect.Set
	Feature Features // what the operator needs; 0 for WebAssembly 1.0
}

// NumOpPages is the number of pages of 256 operators, see Opcode.Page.
const NumOpPages = 1 + relaxedPage - firstPrefix + 1

const (
	firstPrefix  = 0xFB
	relaxedPage  = 0xFF
	prefixSIMD   = 0xFD
	numPerPage   = 256
	firstPageOff = firstPrefix - 1
)

// opIndex has an operator's place in opRows plus one, 0 if it is not there: page 0 for the operators of one byte, then one
// page for each prefix from 0xFB on.
var opIndex = indexOps()

func indexOps() (pages [NumOpPages][numPerPage]uint16) {
	for i := range opRows {
		op := opRows[i].op
		pages[op.Page()][op&0xFF] = uint16(i + 1)
	}
	return pages
}

// Page returns the place of op's page in a table that is made dense by pages, each
// indexed by op&0xFF: 0 for operators of one byte, then one for each prefix.
func (op Opcode) Page() int {
	if op < numPerPage {
		return 0
	}
	return int(op>>8) - firstPageOff
}

// Info returns the description of op. Its name is empty if there is no such
// operator.
func (op Opcode) Info() *OpInfo {
	if op < numPerPage || op>>8 >= firstPrefix {
		if i := opIndex[op.Page()][op&0xFF]; i != 0 {
			return &opRows[i-1]
		}
	}
	return op.proposed()
}

// proposed returns what is known of an operator that is not in opRows.
func (op Opcode) proposed() *OpInfo {
	for _, p := range proposedOps {
		if p.first <= op && op <= p.last {
			return &OpInfo{op: op, Name: op.hex(), Feature: p.feature, Imm: ImmOther}
		}
	}
	return &OpInfo{op: op}
}

// String returns the name of the operator in the text format.
func (op Opcode) String() string {
	if n := op.Info().Name; n != "" {
		return n
	}
	return fmt.Sprintf("opcode(0x%02x)", uint16(op))
}

// IsPrefix reports whether the byte b starts an operator of several bytes.
func IsPrefix(b byte) bool { return b >= firstPrefix && b < relaxedPage }

// PrefixedOpcode returns the code of the operator with the prefix byte and the
// number n. It is false if no operator can have that number.
func PrefixedOpcode(prefix byte, n uint32) (Opcode, bool) {
	switch {
	case n < numPerPage:
		return Opcode(prefix)<<8 | Opcode(n), true
	case prefix == prefixSIMD && n < 2*numPerPage:
		return relaxedPage<<8 | Opcode(n&0xFF), true
	}
	return 0, false
}

// Encoding is the inverse of PrefixedOpcode: the prefix byte and the number
// that encode op, which is the byte itself if the prefix is 0.
func (op Opcode) Encoding() (prefix byte, n uint32) {
	switch {
	case op < numPerPage:
		return 0, uint32(op)
	case op>>8 == relaxedPage:
		return prefixSIMD, numPerPage + uint32(op&0xFF)
	}
	return byte(op >> 8), uint32(op & 0xFF)
}

// Opcodes returns all operators of the table in the order of their codes.
func Opcodes() []Opcode {
	ops := make([]Opcode, len(opRows))
	for i := range opRows {
		ops[i] = opRows[i].op
	}
	return ops
}

// SigType returns the type that a letter of OpInfo.Sig stands for.
func SigType(letter byte) ValType { return abi.ValTypeByLetter(letter) }
