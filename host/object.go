package host

import (
	"fmt"
	"math"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
)

// Object is a reference to a structure or array of WebAssembly. It keeps the object as long as the program has it. Two of them may be references to the same object: see Same. When its store
// has been closed, it means nothing. Methods but Store are for the goroutine that is inside the store; those that return an error can also fail with ErrBusy and ErrClosed.
type Object inproc.Object

func (o *Object) inproc() *inproc.Object { return (*inproc.Object)(o) }

// I31 is a small integer as a reference, the value of an i31ref: one of 31 bits.
type I31 int32

// ObjectKind is what an Object is.
type ObjectKind uint8

// The kinds of objects.
const (
	ObjectUnknown = ObjectKind(abi.KindFunc)
	ObjectStruct  = ObjectKind(abi.KindStruct)
	ObjectArray   = ObjectKind(abi.KindArray)
)

// String returns "struct", "array" or "unknown".
func (k ObjectKind) String() string {
	if k != ObjectStruct && k != ObjectArray {
		return "unknown"
	}
	return abi.TypeKind(k).String()
}

// Store returns the store of the object.
func (o *Object) Store() *Store { return (*Store)(o.inproc().Store()) }

// Kind returns what the object is; ObjectUnknown if the store has been closed or another goroutine is inside it.
func (o *Object) Kind() (kind ObjectKind) {
	o.Store().do(func(*inproc.Store) error {
		kind = ObjectKind(o.inproc().Kind())
		return nil
	})
	return kind
}

// Same reports whether both are references to one object; false if another goroutine is inside the store.
func (o *Object) Same(x *Object) (same bool) {
	o.Store().do(func(*inproc.Store) error {
		same = x != nil && o.inproc().Same(x.inproc())
		return nil
	})
	return same
}

// Type returns the type of the object; nil if the store has been closed or another goroutine is inside it.
func (o *Object) Type() (t *ObjectType) {
	o.Store().do(func(*inproc.Store) error {
		t = (*ObjectType)(o.inproc().Type())
		return nil
	})
	return t
}

// Len returns the number of elements of an array, or of fields of a structure; 0 if the store has been closed or another goroutine is inside it.
func (o *Object) Len() (n uint32) {
	o.Store().do(func(*inproc.Store) error {
		n = o.inproc().Len()
		return nil
	})
	return n
}

// Get returns field i of a structure, or element i of an array, as Func.Call returns results. One of 8 or 16 bits is an int32 without sign, as struct.get_u gives it: int8 and int16 convert
// it to one with sign. The error is ErrBounds.
func (o *Object) Get(i uint32) (v any, err error) {
	err = o.Store().do(func(s *inproc.Store) (err error) {
		v, err = getField(s, o.inproc(), i)
		return err
	})
	return v, err
}

// Set makes v field i of a structure, or element i of an array. v is what Func.Call takes for the type. Of one of 8 or 16 bits the bits above do not count, as in struct.set, and v may be of a Go
// type of as many bits, too. The errors are ErrBounds, and ErrType if v does not fit or the field is immutable.
func (o *Object) Set(i uint32, v any) error {
	return o.Store().do(func(s *inproc.Store) error {
		if f, err := o.inproc().Field(i); err == nil && !f.Mutable {
			return detail(ErrType, "%s %d is immutable", o.part(), i)
		}
		return putField(s, o.inproc(), i, v)
	})
}

// Read copies the elements of an array from index first on to a slice, all of it: to one of type []byte, []int8, []uint16, []int16, []uint32, []int32, []uint64, []int64, []float32, []float64 or
// [][16]byte, of which the elements are stored in the same way, or, as Get returns each, to one of type []any. The errors are ErrBounds, and ErrType if o is no array or has elements of another type.
func (o *Object) Read(first uint32, to any) error {
	return o.Store().do(func(s *inproc.Store) error {
		e, err := o.elements(first, to)
		if err != nil {
			return err
		}
		return e.read(s, o.inproc(), first)
	})
}

// Write is Read in the other direction. If an element of a slice of type []any is refused, those in front of it have been copied. The errors are those of Read, and ErrType if the elements
// of the array are immutable.
func (o *Object) Write(first uint32, from any) error {
	return o.Store().do(func(s *inproc.Store) error {
		e, err := o.elements(first, from)
		if err != nil {
			return err
		}
		if !o.inproc().Type().Def().Fields[0].Mutable {
			return detail(ErrType, "the elements are immutable")
		}
		return e.write(s, o.inproc(), first)
	})
}

// elements returns a slice for elements of the array, of which there are as many.
func (o *Object) elements(first uint32, slice any) (elements, error) {
	e, err := elementsFor(o.inproc().Type(), slice)
	if err != nil {
		return nil, err
	}
	if n := o.inproc().Len(); uint64(first)+uint64(e.len()) > uint64(n) {
		return nil, detail(ErrBounds, "%d elements from %d of %d", e.len(), first, n)
	}
	return e, nil
}

// elementsFor returns a slice as elements of arrays of type t.
func elementsFor(t *inproc.ObjectType, slice any) (elements, error) {
	if t.Def().Kind != abi.KindArray {
		return nil, detail(ErrType, "a structure has no elements")
	}
	f := t.Def().Fields[0]
	e, ok := elementsOf(slice)
	if !ok || !e.fits(f) {
		return nil, detail(ErrType, "wanted elements %v, got %T", f, slice)
	}
	return e, nil
}

// part says what the object is made of.
func (o *Object) part() string {
	if o.inproc().Kind() == abi.KindStruct {
		return "field"
	}
	return "element"
}

// getField returns a field or element. The caller is inside the store.
func getField(s *inproc.Store, o *inproc.Object, i uint32) (any, error) {
	f, err := o.Field(i)
	if err != nil {
		return nil, detail(ErrBounds, "index %d of %d", i, o.Len())
	}
	words, err := o.Get(i)
	v, _ := takeValue(s, f.Type, words[:])
	return v.Any(), err
}

// putField sets a field or element, mutable or not. The caller is inside the store.
func putField(s *inproc.Store, o *inproc.Object, i uint32, v any) error {
	f, err := o.Field(i)
	if err != nil {
		return detail(ErrBounds, "index %d of %d", i, o.Len())
	}
	x, err := fieldValue(f, v)
	if err == nil {
		err = x.with(s, func(w uint64) error { return o.Put(i, [2]uint64{w, x.high}) })
	}
	return unfit(f.Type, v, err)
}

// unfit says which value it was that is no reference of a type.
func unfit(t abi.ValType, v any, err error) error {
	if err == ErrType {
		return detail(ErrType, "%T is no %v", v, t)
	}
	return err
}

// fieldValue is valueOf for a field.
func fieldValue(f abi.FieldType, v any) (Value, error) {
	switch x := v.(type) {
	case int8:
		if f.Packed == 8 {
			return I32(int32(x)), nil
		}
	case uint8:
		if f.Packed == 8 {
			return I32(int32(x)), nil
		}
	case int16:
		if f.Packed == 16 {
			return I32(int32(x)), nil
		}
	case uint16:
		if f.Packed == 16 {
			return I32(int32(x)), nil
		}
	}
	return valueOf(ValType(f.Type), v)
}

// NewStruct makes a structure. fields are all of its fields, as Object.Set takes them, or none: then all are zero or null. The types of modules come from Module.ObjectType and Func.ObjectType.
// The object is collected when neither the program nor compiled code can reach it. The errors are ErrType, *LimitError if StoreOptions.MaxHeapMemory leaves no room, *SystemError, ErrBusy and ErrClosed.
func (s *Store) NewStruct(t *ObjectType, fields ...any) (o *Object, err error) {
	if t.Kind() != ObjectStruct {
		return nil, detail(ErrType, "a structure of type %v", t)
	}
	def := t.inproc().Def()
	if len(fields) == 0 {
		if err := hasDefault(def); err != nil {
			return nil, err
		}
	} else if err := checkCount("fields", len(fields), len(def.Fields)); err != nil {
		return nil, err
	}
	err = s.do(func(p *inproc.Store) error {
		x, err := p.NewObject(t.inproc(), 0)
		if err != nil {
			return err
		}
		for i, v := range fields {
			if err := putField(p, x, uint32(i), v); err != nil {
				return fmt.Errorf("field %d: %w", i, err)
			}
		}
		o = (*Object)(x)
		return nil
	})
	return o, err
}

// hasDefault returns ErrType if there are no objects of defaults.
func hasDefault(def *abi.TypeDef) error {
	if n := def.NoDefault; n != 0 {
		return detail(ErrType, "%v has no default", def.Fields[n-1].Type)
	}
	return nil
}

// NewArray makes an array of n elements v, as Object.Set takes it; nil stands for zero or null. See NewStruct, which has the same errors.
func (s *Store) NewArray(t *ObjectType, n uint32, v any) (o *Object, err error) {
	if t.Kind() != ObjectArray {
		return nil, detail(ErrType, "an array of type %v", t)
	}
	def := t.inproc().Def()
	if v == nil {
		if err := hasDefault(def); err != nil {
			return nil, err
		}
	}
	err = s.do(func(p *inproc.Store) error {
		if v == nil {
			x, err := p.NewObject(t.inproc(), n)
			o = (*Object)(x)
			return err
		}
		f := def.Fields[0]
		value, err := fieldValue(f, v)
		if err != nil {
			return err
		}
		return unfit(f.Type, v, value.with(p, func(w uint64) error {
			x, err := p.NewObject(t.inproc(), n)
			if err != nil {
				return err
			}
			o = (*Object)(x)
			return x.Fill([2]uint64{w, value.high})
		}))
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// NewArrayFrom makes an array of the elements of a slice, of a type that Object.Read takes. See NewStruct, which has the same errors.
func (s *Store) NewArrayFrom(t *ObjectType, slice any) (o *Object, err error) {
	if t.Kind() != ObjectArray {
		return nil, detail(ErrType, "an array of type %v", t)
	}
	e, err := elementsFor(t.inproc(), slice)
	if err != nil {
		return nil, err
	}
	if uint64(e.len()) > math.MaxUint32 {
		return nil, &LimitError{What: "elements of an array", Want: uint64(e.len()), Limit: math.MaxUint32}
	}
	err = s.do(func(p *inproc.Store) error {
		x, err := p.NewObject(t.inproc(), uint32(e.len()))
		if err != nil {
			return err
		}
		o = (*Object)(x)
		return e.write(p, x, 0)
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// goValue returns what Go code has for the value of a reference.
func goValue(v any) any {
	switch x := v.(type) {
	case *inproc.Exception:
		return (*Exception)(x)
	case *inproc.Object:
		return (*Object)(x)
	case inproc.I31:
		return I31(x)
	}
	return v
}

// storeWord returns a reference to what Go code has for one that is no exception: the reverse of goValue. An object must be of the store.
func storeWord(s *inproc.Store, v any) (uint64, error) {
	switch x := v.(type) {
	case *Object:
		switch {
		case x == nil:
			return 0, nil
		case x.inproc().Store() != s:
			return 0, detail(ErrType, "the object belongs to another store")
		}
		v = x.inproc()
	case I31:
		v = inproc.I31(x)
	}
	return s.ExternRef(v), nil
}
