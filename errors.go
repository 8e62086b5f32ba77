package waot

import (
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/wasmfront"
)

// ModuleError means that a module is malformed, invalid, needs a feature that is not supported, or exceeds a limit that
// has a place in the module.
type ModuleError struct {
	Offset  int    // of the byte in the module
	Func    int    // index of the function whose body the byte is in, or -1
	Msg     string // begins with the specification's wording, if the specification has one
	Feature string // the feature that the module needs and that is not supported, or empty
	// Limit is the limit that the module exceeds, or nil.
	Limit *CompileLimitError
}

// Error returns one line: the place, the message, and the feature or limit.
func (e *ModuleError) Error() string {
	inner := wasmfront.Error{Offset: e.Offset, Func: e.Func, Msg: e.Msg, Feature: e.Feature}
	if e.Limit != nil {
		inner.Limit = e.Limit.What
	}
	return inner.Error()
}

// Unwrap returns Limit, or nil if there is none.
func (e *ModuleError) Unwrap() error {
	if e.Limit == nil {
		return nil
	}
	return e.Limit
}

// FuncError is a valid function that cannot be compiled: it needs something that is not
// supported, or a check of the compiler's own results has failed.
type FuncError struct {
	Func  uint32 // index in the module; the number of functions stands for the function that instantiates the module
	Name  string // may be empty
	Stage string // of the compiler, such as "translate"
	// Offset is that of the function's body in the module, in bytes; 0 for the function that instantiates the module.
	Offset int
	// Err is the reason. Its type may change in any release, unless it is a *CompileLimitError.
	Err error
}

// Error returns the function, the stage and the reason. It may have several lines if the compiler has a bug.
func (e *FuncError) Error() string { return (*compile.FuncError)(e).Error() }

// Unwrap returns Err.
func (e *FuncError) Unwrap() error { return e.Err }

// CompileLimitError means that a module exceeds a limit: one of CompileOptions, or one of the compiler's own. If the limit
// has a place in the module, it is inside a *ModuleError.
type CompileLimitError struct {
	What string // what is limited, such as "functions" or "bytes of code"
	// Want is how much of it the module has, or 0 if the compiler stopped counting at the limit. Limit is the limit.
	Want, Limit uint64
}

// Error returns one line.
func (e *CompileLimitError) Error() string { return (*wasmfront.LimitError)(e).Error() }

// compileError converts an error of the compiler.
func compileError(err error) error {
	switch e := err.(type) {
	case *wasmfront.Error:
		m := &ModuleError{Offset: e.Offset, Func: e.Func, Msg: e.Msg, Feature: e.Feature}
		if e.Limit != "" {
			m.Limit = &CompileLimitError{What: e.Limit, Want: e.Want, Limit: e.Most}
		}
		return m
	case *compile.FuncError:
		return &FuncError{Func: e.Func, Name: e.Name, Stage: e.Stage, Offset: e.Offset, Err: compileError(e.Err)}
	case *compile.LimitError:
		return (*CompileLimitError)(e)
	case *compile.CancelError:
		return &CancelError{Cause: e.Cause, Err: e.Err}
	}
	return err
}
