package host

import (
	"context"
	"math"
	"reflect"

	"github.com/waot-project/waot/host/inproc"
)

// The types with a meaning of their own.
var (
	typeContext = reflect.TypeFor[context.Context]()
	typeCaller  = reflect.TypeFor[*Caller]()
	typeError   = reflect.TypeFor[error]()
	typeAny     = reflect.TypeFor[any]()
	typeExn     = reflect.TypeFor[*Exception]()
	typeFunc    = reflect.TypeFor[*Func]()
	typeVector  = reflect.TypeFor[[16]byte]()
)

// shape is the type of a Go function.
type shape struct {
	context, caller, err bool // leading and trailing extras
	typ                  FuncType
}

// leading returns the number of parameters that are not WebAssembly's.
func (s *shape) leading() (n int) {
	if s.context {
		n++
	}
	if s.caller {
		n++
	}
	return n
}

// shapeOf checks the type of a Go function.
func shapeOf(t reflect.Type) (s shape, err error) {
	if t.IsVariadic() {
		return s, detail(ErrType, "%v is variadic", t)
	}
	n := 0
	if n < t.NumIn() && t.In(n) == typeContext {
		s.context = true
		n++
	}
	if n < t.NumIn() && t.In(n) == typeCaller {
		s.caller = true
		n++
	}
	for ; n < t.NumIn(); n++ {
		v := valTypeOf(t.In(n))
		if v == 0 {
			return s, detail(ErrType, "%v: a parameter cannot be %v", t, t.In(n))
		}
		s.typ.Params = append(s.typ.Params, v)
	}
	results := t.NumOut()
	if results > 0 && t.Out(results-1) == typeError {
		s.err = true
		results--
	}
	for n := range results {
		v := valTypeOf(t.Out(n))
		if v == 0 {
			return s, detail(ErrType, "%v: a result cannot be %v", t, t.Out(n))
		}
		s.typ.Results = append(s.typ.Results, v)
	}
	return s, nil
}

// valTypeOf returns the type that a Go type stands for, 0 if there is none.
func valTypeOf(t reflect.Type) ValType {
	switch t.Kind() {
	case reflect.Int32, reflect.Uint32:
		return TypeI32
	case reflect.Int64, reflect.Uint64:
		return TypeI64
	case reflect.Float32:
		return TypeF32
	case reflect.Float64:
		return TypeF64
	case reflect.Array:
		if t.ConvertibleTo(typeVector) {
			return TypeV128
		}
	}
	switch t {
	case typeAny:
		return TypeExternRef
	case typeFunc:
		return TypeFuncRef
	case typeExn:
		return TypeExnRef
	}
	return 0
}

// reflectFunc makes a function of any Go function.
func reflectFunc(fn any) (goFunc, error) {
	v := reflect.ValueOf(fn)
	switch {
	case v.Kind() != reflect.Func:
		return goFunc{}, detail(ErrType, "%T is no function", fn)
	case v.IsNil():
		return goFunc{}, detail(ErrType, "a nil %T", fn)
	}
	s, err := shapeOf(v.Type())
	if err != nil {
		return goFunc{}, err
	}
	adapter := direct(fn)
	if adapter == nil {
		adapter = newReflected(v, s).call
	}
	return goFunc{s.typ, adapter}, nil
}

// reflected calls a Go function by reflection.
type reflected struct {
	shape
	fn reflect.Value
	// in is the parameters, variables that are set before each call. The store has one
	// goroutine at a time, and reflection copies them before it calls: nested calls of the
	// same function do not disturb.
	in []reflect.Value
}

func newReflected(fn reflect.Value, s shape) *reflected {
	r := &reflected{shape: s, fn: fn, in: make([]reflect.Value, fn.Type().NumIn())}
	for i := range r.in {
		r.in[i] = reflect.New(fn.Type().In(i)).Elem()
	}
	return r
}

func (r *reflected) call(c *inproc.Caller, args, results []uint64) error {
	s := c.Store()
	n := 0
	if r.context {
		r.in[n].Set(reflect.ValueOf(c.Context()))
		n++
	}
	if r.caller {
		r.in[n].Set(reflect.ValueOf((*Caller)(c)))
	}
	params := r.in[r.leading():]
	for i, t := range r.typ.Params {
		args = setVariable(s, params[i], t, args)
	}
	out := r.fn.Call(r.in)
	for i, t := range r.typ.Params {
		if t.isRef() {
			params[i].SetZero() // keep nothing alive
		}
	}
	if r.context {
		r.in[0].SetZero()
	}
	if r.err {
		if err, _ := out[len(out)-1].Interface().(error); err != nil {
			return err
		}
	}
	for i := range r.typ.Results {
		var err error
		if results, err = putResult(s, out[i], results); err != nil {
			return err
		}
	}
	return nil
}

// setVariable gives a parameter the value at the beginning of words, and returns the words behind it.
func setVariable(s *inproc.Store, p reflect.Value, t ValType, words []uint64) (rest []uint64) {
	w := words[0]
	switch p.Kind() {
	case reflect.Int32:
		p.SetInt(int64(int32(w)))
	case reflect.Int64:
		p.SetInt(int64(w))
	case reflect.Uint32, reflect.Uint64:
		p.SetUint(w)
	case reflect.Float32:
		p.SetFloat(float64(math.Float32frombits(uint32(w))))
	case reflect.Float64:
		p.SetFloat(math.Float64frombits(w))
	case reflect.Array:
		v, n := takeNumber(TypeV128, words)
		p.Set(reflect.ValueOf(v.V128()).Convert(p.Type()))
		return words[n:]
	default:
		if t == TypeFuncRef {
			p.Set(reflect.ValueOf((*Func)(s.FuncOf(w))))
		} else if v := goValue(s.Extern(w)); v != nil {
			p.Set(reflect.ValueOf(v))
		} else {
			p.SetZero()
		}
	}
	return words[1:]
}

// putResult puts a result at the beginning of words, and returns the words behind it.
func putResult(s *inproc.Store, v reflect.Value, words []uint64) (rest []uint64, err error) {
	switch v.Kind() {
	case reflect.Int32, reflect.Int64:
		words[0] = uint64(v.Int())
	case reflect.Uint32, reflect.Uint64:
		words[0] = v.Uint()
	case reflect.Float32:
		words[0] = uint64(math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		words[0] = math.Float64bits(v.Float())
	case reflect.Array:
		x := V128(v.Convert(typeVector).Interface().([16]byte))
		return words[putNumber(words, x):], nil
	default:
		switch x := v.Interface(); v.Type() {
		case typeFunc:
			words[0], err = funcWord(s, x.(*Func))
		case typeExn:
			words[0], err = exceptionWord(s, x.(*Exception))
		default:
			words[0], err = storeWord(s, x)
		}
	}
	return words[1:], err
}
