package host

import (
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// RefType is a type of references by itself, which no module has to explain: that of a table or global that Go code makes. The types of a module's own references are such a ValType and, if that has an index,
// what ObjectType of a Module, Func, Table or Global says of it.
type RefType struct {
	// Type is what references are to, such as TypeFuncRef or TypeEqRef. If Object is not nil, it may be 0, and only whether it excludes null counts.
	Type ValType
	// Object, if not nil, is the type of the structures or arrays that references are to, which may be of its subtypes.
	Object *ObjectType
	// NotNull excludes null, as does a Type that excludes it.
	NotNull bool
}

func (t RefType) inproc() inproc.RefType {
	r := inproc.RefType{Type: meta.ValType(t.Type), Object: t.Object.inproc()}
	if t.NotNull {
		r.Type = r.Type.NotNull()
	}
	return r
}

// String returns the type as the text format has it, such as "eqref" or "(ref i31)", with the definition in place of the index of a type: "(ref null (array (mut i8)))".
func (t RefType) String() string {
	switch r := t.inproc(); {
	case t.Object == nil && (t.Type.isRef() || !t.NotNull):
		return r.Type.String()
	case t.Object == nil:
		return "(ref " + t.Type.String() + ")" // there is none
	case abi.ValType(r.Type).IsNotNull():
		return "(ref " + t.Object.String() + ")"
	}
	return "(ref null " + t.Object.String() + ")"
}
