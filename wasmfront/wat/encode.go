package wat

import (
	"encoding/binary"

	"github.com/waot-project/waot/wasmfront"
)

// appendUnsigned appends the LEB128 form of x.
func appendUnsigned(b []byte, x uint64) []byte { return binary.AppendUvarint(b, x) }

// appendIndex appends the LEB128 form of an index or a count.
func appendIndex(b []byte, x uint32) []byte { return binary.AppendUvarint(b, uint64(x)) }

// appendSigned appends the signed LEB128 form of x.
func appendSigned(b []byte, x int64) []byte {
	for {
		c := byte(x & 0x7F)
		x >>= 7
		if x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// appendSized appends a number of bytes, and the bytes.
func appendSized[T string | []byte](b []byte, s T) []byte {
	return append(appendIndex(b, uint32(len(s))), s...)
}

// appendTypes appends a number of types, and the types.
func appendTypes(b []byte, types []wasmfront.ValType) []byte {
	b = appendIndex(b, uint32(len(types)))
	for _, t := range types {
		b = append(b, t.Code())
	}
	return b
}

// appendFuncType appends the type of a function.
func appendFuncType(b []byte, t *wasmfront.FuncType) []byte {
	const form = 0x60
	return appendTypes(appendTypes(append(b, form), t.Params), t.Results)
}

// appendOpcode appends the code of an operator.
func appendOpcode(b []byte, op wasmfront.Opcode) []byte {
	prefix, n := op.Encoding()
	if prefix == 0 {
		return append(b, byte(n))
	}
	return appendIndex(append(b, prefix), n)
}
