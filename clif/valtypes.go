package clif

import "github.com/waot-project/waot/internal/abi"

// valTypes are the types of the binary interface, by type.
var valTypes = [NumTypes]abi.ValType{I32: abi.I32, I64: abi.I64, F32: abi.F32, F64: abi.F64,
	V128: abi.V128, FuncRef: abi.FuncRef, Ref: abi.ExternRef}

// ValType is t as the binary interface numbers it; 0 if t is Invalid.
func (t Type) ValType() abi.ValType { return valTypes[t] }

// TypeOf returns the type with the number v, or Invalid.
func TypeOf(v abi.ValType) Type {
	for t := I32; t < NumTypes; t++ {
		if valTypes[t] == v {
			return t
		}
	}
	return Invalid
}

// FuncType is s as the binary interface has it.
func (s *Signature) FuncType() abi.FuncType {
	return abi.FuncType{Params: valTypesOf(s.Params), Results: valTypesOf(s.Results)}
}

func valTypesOf(types []Type) []abi.ValType {
	if len(types) == 0 {
		return nil
	}
	out := make([]abi.ValType, len(types))
	for i, t := range types {
		out[i] = t.ValType()
	}
	return out
}
