package host

import (
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
)

// elements is a slice of Go code whose elements are copied from or to those of an array.
type elements interface {
	len() int
	// fits reports whether the slice is one for elements of a type.
	fits(f abi.FieldType) bool
	// read and write copy all of them, from or to the elements of an array from the first on, which has so many and whose type fits. write does so for immutable ones, too.
	read(s *inproc.Store, o *inproc.Object, first uint32) error
	write(s *inproc.Store, o *inproc.Object, first uint32) error
}

// elementsOf returns what x is as elements; ok is false if it is none.
func elementsOf(x any) (e elements, ok bool) {
	switch x := x.(type) {
	case []uint8:
		return numbers[uint8]{x, abi.FieldType{Type: abi.I32, Packed: 8}}, true
	case []int8:
		return numbers[int8]{x, abi.FieldType{Type: abi.I32, Packed: 8}}, true
	case []uint16:
		return numbers[uint16]{x, abi.FieldType{Type: abi.I32, Packed: 16}}, true
	case []int16:
		return numbers[int16]{x, abi.FieldType{Type: abi.I32, Packed: 16}}, true
	case []uint32:
		return numbers[uint32]{x, abi.FieldType{Type: abi.I32}}, true
	case []int32:
		return numbers[int32]{x, abi.FieldType{Type: abi.I32}}, true
	case []uint64:
		return numbers[uint64]{x, abi.FieldType{Type: abi.I64}}, true
	case []int64:
		return numbers[int64]{x, abi.FieldType{Type: abi.I64}}, true
	case []float32:
		return numbers[float32]{x, abi.FieldType{Type: abi.F32}}, true
	case []float64:
		return numbers[float64]{x, abi.FieldType{Type: abi.F64}}, true
	case [][16]byte:
		return numbers[[16]byte]{x, abi.FieldType{Type: abi.V128}}, true
	case []any:
		return values(x), true
	}
	return nil, false
}

// numbers are elements that are numbers, of a type that is not mutable here.
type numbers[T any] struct {
	list []T
	typ  abi.FieldType
}

func (n numbers[T]) len() int { return len(n.list) }

func (n numbers[T]) fits(f abi.FieldType) bool {
	f.Mutable = false
	return f == n.typ
}

func (n numbers[T]) read(_ *inproc.Store, o *inproc.Object, first uint32) error {
	copy(n.list, inproc.Elements[T](o, first, uint32(len(n.list))))
	return nil
}

func (n numbers[T]) write(_ *inproc.Store, o *inproc.Object, first uint32) error {
	copy(inproc.Elements[T](o, first, uint32(len(n.list))), n.list)
	return nil
}

// values are elements of any type.
type values []any

func (v values) len() int                { return len(v) }
func (v values) fits(abi.FieldType) bool { return true }

func (v values) read(s *inproc.Store, o *inproc.Object, first uint32) (err error) {
	for i := range v {
		if v[i], err = getField(s, o, first+uint32(i)); err != nil {
			return err
		}
	}
	return nil
}

func (v values) write(s *inproc.Store, o *inproc.Object, first uint32) error {
	for i := range v {
		if err := putField(s, o, first+uint32(i), v[i]); err != nil {
			return err
		}
	}
	return nil
}
