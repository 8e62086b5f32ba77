package wasmfront

import "fmt"

// Error says why a module is refused. At most one of Feature and Limit is set;
// if neither is, the module is malformed or invalid.
type Error struct {
	Offset  int    // of the byte in the module
	Func    int    // index of the function whose body it is in, or -1
	Msg     string // begins with the specification's wording, if that has one
	Feature string // the feature that the module needs and that is not accepted
	Limit   string // the implementation limit that the module exceeds
	// Want and Most are what the module has of Limit, and the most that it may have.
	Want, Most uint64
}

// SetLimit makes e an error about a limit.
func (e *Error) SetLimit(l LimitError) { e.Limit, e.Want, e.Most = l.What, l.Want, l.Limit }

// Unwrap returns a *LimitError if Limit is set, else nil.
func (e *Error) Unwrap() error {
	if e.Limit == "" {
		return nil
	}
	return &LimitError{What: e.Limit, Want: e.Want, Limit: e.Most}
}

// LimitError is a limit that a module exceeds.
type LimitError struct {
	What string // what is limited, such as "functions"
	// Want is how much of it the module has, or 0 if counting stopped at the limit; Limit is the limit.
	Want, Limit uint64
}

// Error returns one line.
func (e *LimitError) Error() string {
	if e.Want == 0 {
		return fmt.Sprintf("more than %d %s, which is the limit", e.Limit, e.What)
	}
	return fmt.Sprintf("%d %s, the limit is %d", e.Want, e.What, e.Limit)
}

// Error returns one line: the place, the message, and the feature or limit.
func (e *Error) Error() string {
	s := fmt.Sprintf("offset 0x%x", e.Offset)
	if e.Func >= 0 {
		s = fmt.Sprintf("%s (function %d)", s, e.Func)
	}
	s += ": " + e.Msg
	switch {
	case e.Feature != "":
		s += " (needs the feature " + e.Feature + ", which is not supported)"
	case e.Limit != "":
		s += " (implementation limit: " + e.Limit + ")"
	}
	return s
}

// Limits of this implementation. They follow the embedding of WebAssembly in
// JavaScript, so that what runs in a browser is accepted.
const (
	MaxTypes         = 1_000_000
	MaxFuncs         = 1_000_000
	MaxParams        = 1_000
	MaxFields        = 10_000 // of a structure
	MaxResults       = 1_000
	MaxFixedElements = 10_000 // of array.new_fixed
	MaxLocals        = 50_000 // parameters included
	MaxMemories      = 100    // imports included
	MaxTags          = 1_000_000
	MaxBodySize      = 7_654_321
	MaxBrTable       = 65_520
	MaxCatches       = 65_520  // of a try_table
	MaxOperands      = 1 << 20 // height of a function's operand stack
)
