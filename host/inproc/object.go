package inproc

import (
	"errors"
	"runtime"
	"unsafe"
	"weak"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/gcheap"
	"github.com/waot-project/waot/internal/meta"
)

// Object is an object of a store's heap that Go code holds: a structure or an array. It keeps the object as long as the program has it, and means nothing when the store has been closed.
// Whoever calls its methods but Store is inside the store, which is not closed.
type Object struct {
	store *Store
	// word is what compiled code has for it now: collections change it.
	word    uint64
	escaped bool        // it is among heap.objects
	typ     *ObjectType // once somebody has asked
}

// I31 is a small integer, of 31 bits, as a reference: the value of an i31ref.
type I31 int32

// Store returns the store that the object is of.
func (o *Object) Store() *Store { return o.store }

// number returns the number of the object's type.
func (o *Object) number() uint32 { return o.store.heap.TypeOf(uint32(o.word)) }

// Kind returns what it is: a structure or an array.
func (o *Object) Kind() abi.TypeKind { return process.rows.kindOf(o.number()) }

// Type returns its type.
func (o *Object) Type() *ObjectType {
	if o.typ == nil {
		o.typ = process.rows.of(o.number())
	}
	return o.typ
}

// Is reports whether the object is of exactly the type t.
func (o *Object) Is(t *ObjectType) bool { return o.number() == t.number.number }

// Same reports whether both are references to one object.
func (o *Object) Same(x *Object) bool { return o.store == x.store && o.word == x.word }

// escape notes that Go code holds an object apart from handles.
func (o *Object) escape() {
	if !o.escaped {
		o.escaped = true
		h := o.store.heap
		h.objects = append(h.objects, weak.Make(o))
	}
}

// NewObject makes an object of zeros and nulls, also where its type has no defaults: then the caller puts something there before anyone else gets it. length is that of an array, and 0 for a
// structure. The errors are *LimitError and *SystemError.
func (s *Store) NewObject(t *ObjectType, length uint32) (*Object, error) {
	if err := s.makeHeap(); err != nil {
		return nil, err
	}
	s.useType(t)
	ref, err := s.allocObject(t.number.number, length)
	if errors.Is(err, gcheap.ErrFull) {
		limit := s.config.MaxHeapMemory
		return nil, &LimitError{What: "bytes of objects", Want: max(s.heap.Used()+t.size(length), limit+1), Limit: limit}
	}
	if err != nil {
		return nil, err
	}
	o := &Object{store: s, word: uint64(ref), typ: t}
	o.escape()
	return o, nil
}

// Len returns the number of elements of an array, and of fields of a structure.
func (o *Object) Len() uint32 {
	if t := o.Type(); t.Def().Kind == abi.KindStruct {
		return uint32(len(t.Def().Fields))
	}
	return *(*uint32)(ptr(o.at(abi.ObjectLength)))
}

// at returns the address of what is at an offset. It is that as long as nothing collects.
func (o *Object) at(offset uint32) uintptr {
	return o.store.heap.base + uintptr(o.word) + uintptr(offset)
}

// place returns where field or element i is, and what type it has. The error is ErrBounds.
func (o *Object) place(t *ObjectType, i uint32) (uintptr, abi.FieldType, error) {
	if i >= o.Len() {
		return 0, abi.FieldType{}, ErrBounds
	}
	if def := t.Def(); def.Kind == abi.KindStruct {
		return o.at(t.layout.Offsets[i]), def.Fields[i], nil
	}
	return o.element(t, i), t.Def().Fields[0], nil
}

// element returns where element i of an array is.
func (o *Object) element(t *ObjectType, i uint32) uintptr {
	return o.at(t.layout.Offsets[0]) + uintptr(t.layout.Elem)*uintptr(i)
}

// Field returns the type of field or element i. The error is ErrBounds.
func (o *Object) Field(i uint32) (abi.FieldType, error) {
	_, f, err := o.place(o.Type(), i)
	return f, err
}

// Get returns field or element i in the words of Go code: a number without sign if it is packed, and the second word of a vector. A reference is kept as one from Table.Get is. The error
// is ErrBounds.
func (o *Object) Get(i uint32) (words [2]uint64, err error) {
	at, f, err := o.place(o.Type(), i)
	if err != nil {
		return words, err
	}
	n := f.ObjectBytes()
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&words)), len(words)*8), bytesAt(at, uintptr(n)))
	if f.Type.IsRef() {
		words[0] = o.store.fromNative(f.Type, words[0])
	}
	return words, nil
}

// Put stores the words of a value in field or element i, also if that is immutable: before anyone else has the object. The error is ErrBounds, or ErrType for what is no reference of the
// type in this store.
func (o *Object) Put(i uint32, words [2]uint64) error {
	t := o.Type()
	at, f, err := o.place(t, i)
	if err != nil {
		return err
	}
	if words[0], err = o.native(t, f, words[0]); err != nil {
		return err
	}
	putWords(at, f, words)
	return nil
}

// Fill is Put for all elements of an array.
func (o *Object) Fill(words [2]uint64) (err error) {
	t := o.Type()
	f := t.Def().Fields[0]
	if words[0], err = o.native(t, f, words[0]); err != nil {
		return err
	}
	for i := range o.Len() {
		putWords(o.element(t, i), f, words)
	}
	return nil
}

// native returns the first word of a value as compiled code has it.
func (o *Object) native(t *ObjectType, f abi.FieldType, word uint64) (uint64, error) {
	if !f.Type.IsRef() {
		return word, nil
	}
	w, ok := o.store.toNative(t.types.records.Own(f.Type), word)
	if !ok {
		return 0, ErrType
	}
	return w, nil
}

// putWords stores as many bytes of words as a field has.
func putWords(at uintptr, f abi.FieldType, words [2]uint64) {
	n := f.ObjectBytes()
	copy(bytesAt(at, uintptr(n)), unsafe.Slice((*byte)(unsafe.Pointer(&words)), len(words)*8))
}

// Elements returns n elements of an array of numbers from the first on, which has so many, and of which T is a type of the same size. They are the array's as long as nothing collects.
func Elements[T any](o *Object, first, n uint32) []T {
	return unsafe.Slice((*T)(ptr(o.element(o.Type(), first))), n)
}

// ObjectType is a type of structures or arrays, of which the process has one for all modules that define it, as long as Go code has it.
type ObjectType struct {
	// types are those of a module that defines it, as type index.
	types  *moduleTypes
	index  uint32
	number typeNumber
	layout *abi.ObjectLayout
}

// ObjectType returns the type with an index in a module: nil if it is one of functions. The errors are ErrBounds, *LimitError and *SystemError.
func (m *Module) ObjectType(index uint32) (*ObjectType, error) {
	types := len(m.meta.Types)
	if m.meta.Heap != nil {
		types = len(m.meta.Heap.Defs) // the module's own
	}
	switch {
	case uint64(index) >= uint64(types):
		return nil, ErrBounds
	case m.meta.TypeKind(index) == abi.KindFunc:
		return nil, nil
	}
	return process.rows.ofDefined(definedType{m.objectTypes, index})
}

// ObjectType returns the type that has an index in the type of the function, nil if there is none.
func (f *Func) ObjectType(index uint32) *ObjectType {
	typed := f.typ.typed.Load()
	if typed == nil {
		return nil
	}
	for _, side := range []struct {
		types []meta.ValType
		typed []typedValue
	}{{f.typ.Params, typed.params}, {f.typ.Results, typed.results}} {
		for i := range side.typed {
			v := &side.typed[i]
			if n, ok := side.types[v.index].TypeIndex(); ok && n == index {
				return process.rows.ofDigest(v.typ.To)
			}
		}
	}
	return nil
}

// IsType reports whether type n of the module is the last one of types, which are those of another module.
func (m *Module) IsType(n uint32, types []abi.TypeDef) bool {
	return m.records.Digest(n) == abi.RecordsOf(types, nil).Digest(uint32(len(types)-1))
}

// Def returns the definition, in which indices are those of one of the modules that have it; nil for a type that is nil or zero.
func (t *ObjectType) Def() *abi.TypeDef {
	if t == nil || t.types == nil {
		return nil
	}
	return &t.types.defs[t.index]
}

// At returns the type that has an index in the definition of t, nil if that is one of functions. One that no store uses is nil, too, if the process has no room for it; supertypes of t are in use.
func (t *ObjectType) At(index uint32) *ObjectType {
	x, _ := process.rows.ofDefined(definedType{t.types, index})
	return x
}

// IsWithin reports whether t is u or a subtype of it.
func (t *ObjectType) IsWithin(u *ObjectType) bool {
	is := process.rows.isWithin(t.number.number, u.number)
	runtime.KeepAlive(t) // the numbers are theirs as long
	runtime.KeepAlive(u)
	return is
}

// size returns how many bytes an object takes.
func (t *ObjectType) size(length uint32) uint64 {
	return uint64(t.layout.Fixed) + uint64(t.layout.Elem)*uint64(length)
}
