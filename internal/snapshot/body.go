package snapshot

import (
	"slices"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
	"github.com/waot-project/waot/wasmfront/validate"
)

// edit changes the operators of a body, which is copied otherwise.
type edit struct {
	m      *wasmfront.Module
	body   *wasmfront.FuncBody
	out    []byte // the body as it is so far; nil if nothing has been changed
	copied int    // up to where in the module it has been
}

// editOf returns the body of function f, to be changed.
func editOf(m *wasmfront.Module, f uint32) *edit {
	b := m.Body(f)
	return &edit{m: m, body: b, copied: b.Offset}
}

// replace puts code in the place of what is between two offsets of the module.
func (e *edit) replace(from, to int, code []byte) {
	e.out = append(append(e.out, e.m.Bytes[e.copied:from]...), code...)
	e.copied = to
}

// bytes returns the body.
func (e *edit) bytes() []byte {
	if e.copied == e.body.Offset {
		return e.body.Bytes
	}
	return append(e.out, e.m.Bytes[e.copied:e.body.Offset+len(e.body.Bytes)]...)
}

// appendLocals appends declarations of locals.
func appendLocals(b []byte, locals []wasmfront.ValType) []byte {
	var groups []byte
	n := uint32(0)
	for len(locals) > 0 {
		t := locals[0]
		same := slices.IndexFunc(locals, func(u wasmfront.ValType) bool { return u != t })
		if same < 0 {
			same = len(locals)
		}
		groups = append(encode.Index(groups, uint32(same)), t.Code())
		locals = locals[same:]
		n++
	}
	return append(encode.Index(b, n), groups...)
}

// noType is the type of a block without parameters and results.
const noType = 0x40

// index appends an operator with an index.
func index(b []byte, op wasmfront.Opcode, i uint32) []byte {
	return encode.Index(encode.Opcode(b, op), i)
}

// plain appends operators without immediates.
func plain(b []byte, ops ...wasmfront.Opcode) []byte {
	for _, op := range ops {
		b = encode.Opcode(b, op)
	}
	return b
}

// i32 appends a constant.
func i32(b []byte, x uint32) []byte {
	return encode.Const(b, &wasmfront.ConstOp{Op: wasmfront.OpI32Const, Bits: uint64(x)})
}

// constant returns the operator that pushes a value.
func constant(t wasmfront.ValType, v Value) wasmfront.ConstOp {
	if t.IsRef() && v.Ref != Null {
		return wasmfront.ConstOp{Op: wasmfront.OpRefFunc, Index: uint32(v.Ref)}
	}
	return wasmfront.ConstOp{Op: wasmfront.ConstOpcode(t), Type: t, Bits: v.Bits, High: v.High}
}

// below returns the types of all operands but the last n, the lowest first.
func below(v *validate.Func, n int) (types []wasmfront.ValType) {
	for i := v.NumOperands() - 1; i >= n; i-- {
		types = append(types, v.OperandType(i))
	}
	return types
}
