package host

import (
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Tag is a tag of exceptions: what a handler compares. It lives as long as its store. Its methods may be called from any goroutine.
type Tag inproc.Tag

func (t *Tag) inproc() *inproc.Tag { return (*inproc.Tag)(t) }

// Params returns the types of the arguments that exceptions with the tag have. The index of a type is one of the module that defines the tag.
func (t *Tag) Params() []ValType { return valTypes(t.inproc().Type().Params) }

// Store returns the store of the tag.
func (t *Tag) Store() *Store { return (*Store)(t.inproc().Store()) }

// NewTag makes a tag whose exceptions have arguments of the given types. Each tag is another one, also if the types are the same. It lives as long as the store. The errors are ErrType,
// *SystemError, ErrBusy and ErrClosed.
func (s *Store) NewTag(params ...ValType) (*Tag, error) {
	for _, p := range params {
		if !abi.ValType(p).NeedsNoModule() {
			return nil, detail(ErrType, "a tag with %v", p)
		}
	}
	t, err := s.inproc().NewTag(metaTypes(params))
	return (*Tag)(t), err
}

// Exception is an exception of WebAssembly. As the error of a call it is one that no compiled code has caught. A Go function that compiled code has called throws it by returning it, or an
// error that wraps it: errors.As finds it, and so does compiled code. If no compiled code catches it, the call returns that error unchanged. An exception of another
// store is an error like any other, and no compiled code catches it.
//
// An exception keeps its arguments as long as the program has it, also when its store has been closed. Its methods may be called from any goroutine while none throws it.
type Exception inproc.Exception

// NewException makes an exception. Arguments are what Func.Call takes. The errors are ErrType, ErrBusy and ErrClosed.
func NewException(tag *Tag, args ...any) (x *Exception, err error) {
	if tag == nil || tag.Store() == nil {
		return nil, detail(ErrType, "an exception without a tag")
	}
	params := tag.inproc().Type().Params
	if err := checkCount("arguments", len(args), len(params)); err != nil {
		return nil, err
	}
	err = tag.Store().do(func(s *inproc.Store) error {
		var words []uint64
		for i, p := range params {
			v, err := valueOf(ValType(p), args[i])
			if err != nil {
				return detailAt(i, err)
			}
			w, err := v.word(s)
			if err != nil {
				return detailAt(i, err)
			}
			if v.isHandle() {
				defer s.Unmake(w)
			}
			if words = append(words, w); v.Type() == TypeV128 {
				words = append(words, v.high)
			}
		}
		made, err := inproc.NewException(tag.inproc(), words)
		x = (*Exception)(made)
		return err
	})
	return x, err
}

func (x *Exception) inproc() *inproc.Exception { return (*inproc.Exception)(x) }

// Tag returns the tag; nil for a nil or zero Exception, and for one whose arguments nobody gets at: those of a tag that its module neither imports nor exports, with references other than
// externrefs. JavaScript does not get at them either, and compiled code may rely on it that its objects are its own.
func (x *Exception) Tag() *Tag {
	if x == nil {
		return nil
	}
	tag := x.inproc().Tag()
	if tag == nil || tag.IsPrivate() {
		return nil
	}
	return (*Tag)(tag)
}

// Args returns the arguments, of the types of Tag().Params(); none if there is no tag.
func (x *Exception) Args() []Value {
	if x.Tag() == nil {
		return nil
	}
	params, words, refs, funcs := x.Tag().inproc().Type().Params, x.inproc().Words(), x.inproc().Refs(), x.inproc().Funcs()
	args := make([]Value, len(params))
	for i, p := range params {
		n := 1
		switch ValType(p).Base() {
		case TypeFuncRef:
			args[i], funcs = FuncRef((*Func)(funcs[0])), funcs[1:]
		case TypeExternRef, TypeExnRef, TypeAnyRef:
			args[i], refs = refValue(ValType(p), refs[0]), refs[1:]
		default:
			args[i], n = takeNumber(ValType(p), words)
		}
		words = words[n:]
	}
	return args
}

// Backtrace returns the innermost frames of compiled code, at most 64, across nested calls through Go functions, where the exception left compiled code for the first time without being
// caught; nil if it has not.
func (x *Exception) Backtrace() []Frame {
	if x == nil {
		return nil
	}
	frames, _ := x.inproc().Backtrace()
	return frames
}

// InnerFrames returns how many of the first frames of Backtrace are of the innermost call. Calls around it, with Go functions in between, have the others.
func (x *Exception) InnerFrames() int {
	if x == nil {
		return 0
	}
	_, n := x.inproc().Backtrace()
	return n
}

// Error returns one line: the types of the arguments and, if there is a backtrace, its first function.
func (x *Exception) Error() string { return x.inproc().Error() }

// As lets errors.As of other packages of this module find the exception. Programs have no use for it.
func (x *Exception) As(target any) bool {
	p, ok := target.(**inproc.Exception)
	if ok {
		*p = x.inproc()
	}
	return ok
}

// refValue returns a reference of type t, of class externref, to what a store has for it.
func refValue(t ValType, v any) Value {
	if x, ok := v.(*inproc.Exception); ok {
		return ExnRef((*Exception)(x))
	}
	switch t.Base() {
	case TypeExnRef:
		return ExnRef(nil)
	case TypeAnyRef:
		return AnyRef(goValue(v))
	}
	return Ref(goValue(v))
}

// ExceptionRef returns a word that stands for an exception of the store, as compiled code has an exnref; 0 for nil. It is valid as long as one of ExternRef is. Store.Extern returns
// the *Exception of such a word. The errors are ErrType, ErrBusy and ErrClosed.
func (s *Store) ExceptionRef(x *Exception) (ref uint64, err error) {
	err = s.do(func(p *inproc.Store) error {
		ref, err = ExnRef(x).word(p)
		return err
	})
	return ref, err
}

// exceptionWord returns a reference to an exception, which must be of the store.
func exceptionWord(s *inproc.Store, x *Exception) (uint64, error) {
	switch {
	case x == nil:
		return 0, nil
	case x.inproc().Tag() == nil || x.inproc().Tag().Store() != s:
		return 0, detail(ErrType, "the exception belongs to another store")
	}
	return s.ExternRef(x.inproc()), nil
}

func typeOfTag(m *meta.Module, d *meta.Tag) ExternType {
	return ExternType{Kind: KindTag, Func: funcTypeOf(&m.Types[d.Type])}
}
