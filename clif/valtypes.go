package clif

import "github.com/waot-project/waot/internal/abi"

// ValType is t as a value type of WebAssembly: of references the nullable one to anything of the class.
func (t Type) ValType() abi.ValType { return abi.ValType(t) }

// TypeOf returns the class of the values of a type of WebAssembly.
func TypeOf(v abi.ValType) Type { return Type(v.Class()) }

// TypesOf is TypeOf for a list.
func TypesOf(types []abi.ValType) []Type {
	if len(types) == 0 {
		return nil
	}
	out := make([]Type, len(types))
	for i, v := range types {
		out[i] = TypeOf(v)
	}
	return out
}

// FuncType is s as a function type of WebAssembly.
func (s *Signature) FuncType() abi.FuncType {
	if s.Typed != nil {
		return s.Typed.FuncType
	}
	return abi.FuncType{Params: ValTypesOf(s.Params), Results: ValTypesOf(s.Results)}
}

// ValTypesOf is ValType for a list.
func ValTypesOf(types []Type) []abi.ValType {
	if len(types) == 0 {
		return nil
	}
	out := make([]abi.ValType, len(types))
	for i, t := range types {
		out[i] = t.ValType()
	}
	return out
}
