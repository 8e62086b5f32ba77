package abi

import "encoding/binary"

// ValType is a Wasm value type, numbered as in the binary format.
type ValType uint8

// The value types.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f
)

// Words returns how many 8-byte words a value takes among raw words: two for a v128, the low half first.
func (t ValType) Words() int {
	if t == V128 {
		return 2
	}
	return 1
}

// IsRef reports whether values of the type are references.
func (t ValType) IsRef() bool { return t == FuncRef || t == ExternRef }

// FuncType is a function type.
type FuncType struct{ Params, Results []ValType }

// Record returns the canonical encoding of a function type, the content of its type record: a version byte, a kind byte
// (function), the numbers of parameters and results in 16 bits each, little-endian, their types, a byte each, and a zero
// supertype depth. Two types are equal if their records are.
func (t *FuncType) Record() []byte {
	b := make([]byte, 0, 7+len(t.Params)+len(t.Results))
	b = append(b, 1, 0x60)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Params)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Results)))
	for _, types := range [2][]ValType{t.Params, t.Results} {
		for _, v := range types {
			b = append(b, byte(v))
		}
	}
	return append(b, 0)
}
