package host

import (
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
)

// Object is a reference to a structure or array of WebAssembly. It keeps the object as long as the program has it. Two of them may be references to the same object: see Same. When its store
// has been closed, it means nothing. Methods but Store are for the goroutine that is inside the store.
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
