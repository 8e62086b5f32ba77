package host

import (
	"strings"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
)

// ObjectType is a type of structures or arrays. Equal types of all modules are one *ObjectType, so that == compares them. Its methods may be called from any goroutine at any time.
type ObjectType inproc.ObjectType

func (t *ObjectType) inproc() *inproc.ObjectType { return (*inproc.ObjectType)(t) }

// FieldType is the type of a field of a structure, or of the elements of an array.
type FieldType struct {
	Type    ValType     // of the value; TypeI32 if it is packed
	Packed  int         // how many bits of the value are kept: 8 or 16 if it is packed, and 0 for all
	Mutable bool        // it may change
	Object  *ObjectType // what a reference is to, if Type has the index of a type of structures or arrays; otherwise nil, and if no store uses that type and the process has no room for it
}

// String returns the type as the text format has it, such as "(mut i8)", with a number for the index of a type.
func (f FieldType) String() string {
	return abi.FieldType{Type: abi.ValType(f.Type), Packed: uint8(f.Packed), Mutable: f.Mutable}.String()
}

// Kind returns what objects of the type are.
func (t *ObjectType) Kind() ObjectKind {
	def := t.inproc().Def()
	if def == nil {
		return ObjectUnknown
	}
	return ObjectKind(def.Kind)
}

// Fields returns the types of the fields of a structure, or of the elements of an array, which has one. Indices of types are those of one of the modules that have the type; see FieldType.Object.
func (t *ObjectType) Fields() []FieldType {
	def := t.inproc().Def()
	if def == nil {
		return nil
	}
	fields := make([]FieldType, len(def.Fields))
	for i, f := range def.Fields {
		fields[i] = FieldType{Type: ValType(f.Type), Packed: int(f.Packed), Mutable: f.Mutable}
		if index, ok := f.Type.TypeIndex(); ok && f.Type.Kind() != abi.KindFunc {
			fields[i].Object = (*ObjectType)(t.inproc().At(index))
		}
	}
	return fields
}

// Super returns the type that t was declared a subtype of, or nil.
func (t *ObjectType) Super() *ObjectType {
	def := t.inproc().Def()
	if def == nil || !def.HasSuper {
		return nil
	}
	return (*ObjectType)(t.inproc().At(def.Super))
}

// Matches reports whether t is u or a subtype of it.
func (t *ObjectType) Matches(u *ObjectType) bool {
	return t.Kind() != ObjectUnknown && u.Kind() != ObjectUnknown && t.inproc().IsWithin(u.inproc())
}

// String returns the type as the text format has it, such as "(struct (field i32) (field (mut (ref null 3))))" or "(array (mut i8))", without its supertype.
func (t *ObjectType) String() string {
	fields := t.Fields()
	switch t.Kind() {
	case ObjectArray:
		return "(array " + fields[0].String() + ")"
	case ObjectUnknown:
		return "unknown"
	}
	var b strings.Builder
	b.WriteString("(struct")
	for _, f := range fields {
		b.WriteString(" (field " + f.String() + ")")
	}
	return b.String() + ")"
}

// ObjectType returns the type of structures or arrays that has an index in the module. The types of Imports and Exports tell indices (ValType.TypeIndex). The errors are ErrBounds, ErrType if it is a
// type of functions, *LimitError, *SystemError and ErrClosed.
func (m *Module) ObjectType(index uint32) (*ObjectType, error) {
	if m == nil || m.loaded().Inproc() == nil {
		return nil, ErrClosed
	}
	t, err := m.loaded().Inproc().ObjectType(index)
	if err == nil && t == nil {
		err = detail(ErrType, "type %d is one of functions", index)
	}
	return (*ObjectType)(t), err
}

// ObjectType returns the type of structures or arrays that has an index in the type of the function, as ValType.TypeIndex tells it. The error is ErrType if there is none.
func (f *Func) ObjectType(index uint32) (*ObjectType, error) {
	t := f.inproc().ObjectType(index)
	if t == nil {
		return nil, detail(ErrType, "no type of structures or arrays has index %d in %v", index, f.Type())
	}
	return (*ObjectType)(t), nil
}
