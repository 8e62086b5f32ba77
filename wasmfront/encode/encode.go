// Package encode appends what modules in the binary format consist of.
//
// Place in the pipeline: none; for what writes modules: the text format, snapshots and tools.
//
// Input: a slice to append to, and a number, type, operator or section.
// Output: the slice with its encoding.
package encode

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// Header is how modules begin.
const Header = "\x00asm\x01\x00\x00\x00"

// Unsigned appends the LEB128 form of x.
func Unsigned(b []byte, x uint64) []byte { return binary.AppendUvarint(b, x) }

// Index appends the LEB128 form of an index or a count.
func Index(b []byte, x uint32) []byte { return binary.AppendUvarint(b, uint64(x)) }

// Signed appends the signed LEB128 form of x.
func Signed(b []byte, x int64) []byte {
	for {
		c := byte(x & 0x7F)
		x >>= 7
		if x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// Sized appends a number of bytes, and the bytes.
func Sized[T string | []byte](b []byte, s T) []byte {
	return append(Index(b, uint32(len(s))), s...)
}

// Section appends a section.
func Section(b []byte, id byte, content []byte) []byte { return Sized(append(b, id), content) }

// Types appends a number of types, and the types.
func Types(b []byte, types []wasmfront.ValType) []byte {
	b = Index(b, uint32(len(types)))
	for _, t := range types {
		b = ValType(b, t)
	}
	return b
}

// ValType appends a value type.
func ValType(b []byte, t wasmfront.ValType) []byte {
	code := t.Code()
	switch {
	case code != 0:
		return append(b, code)
	case t.IsNotNull():
		return HeapType(append(b, abi.CodeRef), t)
	}
	return HeapType(append(b, abi.CodeRefNull), t)
}

// HeapType appends what a reference type refers to.
func HeapType(b []byte, t wasmfront.ValType) []byte {
	if i, ok := t.TypeIndex(); ok {
		return Signed(b, int64(i))
	}
	return append(b, t.OrNull().Code())
}

// FuncType appends the type of a function.
func FuncType(b []byte, t *wasmfront.FuncType) []byte {
	return Types(Types(append(b, wasmfront.FormFunc), t.Params), t.Results)
}

// FieldType appends the type of a field.
func FieldType(b []byte, f wasmfront.FieldType) []byte {
	switch f.Packed {
	case 8:
		b = append(b, wasmfront.StorageI8)
	case 16:
		b = append(b, wasmfront.StorageI16)
	default:
		b = ValType(b, f.Type)
	}
	return mutability(b, f.Mutable)
}

func mutability(b []byte, mutable bool) []byte {
	if mutable {
		return append(b, 1)
	}
	return append(b, 0)
}

// Opcode appends the code of an operator.
func Opcode(b []byte, op wasmfront.Opcode) []byte {
	prefix, n := op.Encoding()
	if prefix == 0 {
		return append(b, byte(n))
	}
	return Index(append(b, prefix), n)
}

// Limits appends limits.
func Limits(b []byte, l wasmfront.Limits) []byte {
	if !l.HasMax {
		return Unsigned(append(b, 0), l.Min)
	}
	return Unsigned(Unsigned(append(b, 1), l.Min), l.Max)
}

// GlobalType appends the type of a global.
func GlobalType(b []byte, t wasmfront.GlobalType) []byte {
	return mutability(ValType(b, t.Type), t.Mutable)
}

// Const appends an operator of constant expressions.
func Const(b []byte, op *wasmfront.ConstOp) []byte {
	b = Opcode(b, op.Op)
	switch op.Op.Info().Imm {
	case wasmfront.ImmI32:
		b = Signed(b, int64(int32(op.Bits)))
	case wasmfront.ImmI64:
		b = Signed(b, int64(op.Bits))
	case wasmfront.ImmF32:
		b = binary.LittleEndian.AppendUint32(b, uint32(op.Bits))
	case wasmfront.ImmF64:
		b = binary.LittleEndian.AppendUint64(b, op.Bits)
	case wasmfront.ImmV128:
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, op.Bits), op.High)
	case wasmfront.ImmRefType:
		b = HeapType(b, op.Type)
	case wasmfront.ImmGlobal, wasmfront.ImmFunc, wasmfront.ImmType:
		b = Index(b, op.Index)
	case wasmfront.ImmTypeCount:
		b = Index(Index(b, op.Index), uint32(op.Bits))
	}
	return b
}

// Expr appends a constant expression with its end.
func Expr(b []byte, ops []wasmfront.ConstOp) []byte {
	for i := range ops {
		b = Const(b, &ops[i])
	}
	return append(b, byte(wasmfront.OpEnd))
}
