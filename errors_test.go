package waot

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/wasmfront"
)

// TestCompileError: errors of the compiler become errors of this package, with the same text and all that they say, also
// inside each other.
func TestCompileError(t *testing.T) {
	limit := &wasmfront.LimitError{What: "functions", Want: 7, Limit: 5}
	placed := &wasmfront.Error{Offset: 3, Func: 2, Msg: "too many"}
	placed.SetLimit(*limit)
	const reason, cause = Error("reason"), Error("cause")
	ourLimit := &CompileLimitError{What: "functions", Want: 7, Limit: 5}
	for _, x := range []struct{ inner, want error }{
		{&wasmfront.Error{Offset: 3, Func: -1, Msg: "unexpected end", Feature: "simd"}, &ModuleError{Offset: 3, Func: -1, Msg: "unexpected end", Feature: "simd"}},
		{placed, &ModuleError{Offset: 3, Func: 2, Msg: "too many", Limit: ourLimit}},
		{limit, ourLimit},
		{&wasmfront.LimitError{What: "bytes of code", Limit: 5}, &CompileLimitError{What: "bytes of code", Limit: 5}},
		{&compile.FuncError{Func: 1, Name: "f\n", Stage: "opt", Err: reason}, &FuncError{Func: 1, Name: "f\n", Stage: "opt", Err: reason}},
		{&compile.FuncError{Func: 1, Stage: "emit", Offset: 99, Err: limit}, &FuncError{Func: 1, Stage: "emit", Offset: 99, Err: ourLimit}},
		{reason, reason},
	} {
		got := compileError(x.inner)
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%v: %s", x.inner, d)
		}
		if got.Error() != x.inner.Error() {
			t.Errorf("%q became %q", x.inner, got)
		}
		var inner *wasmfront.LimitError
		var ours *CompileLimitError
		if errors.As(x.inner, &inner) != errors.As(got, &ours) || errors.As(got, &inner) {
			t.Errorf("%v: limit %v, inner limit %v", got, ours, inner)
		}
		if errors.Is(x.inner, reason) != errors.Is(got, reason) {
			t.Errorf("%v: the reason is lost", got)
		}
	}
	cancelled := compileError(&compile.CancelError{Cause: cause, Err: context.Canceled})
	var c *CancelError
	if !errors.As(cancelled, &c) || !errors.Is(cancelled, ErrCancelled) || !errors.Is(cancelled, cause) || !errors.Is(cancelled, context.Canceled) {
		t.Errorf("%v", cancelled)
	}
	if compileError(nil) != nil {
		t.Error("no error became one")
	}
}
