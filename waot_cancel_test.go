package waot_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/waot-project/waot"
)

// TestCompileContext: a context ends both ways to compile with the error of calls, and limits have their own.
func TestCompileContext(t *testing.T) {
	wasm, err := os.ReadFile("testdata/wasm/many.wasm")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	if m, err := waot.CompileContext(ctx, wasm, nil); err != nil {
		t.Error(err)
	} else if err := m.Close(); err != nil {
		t.Error(err)
	}
	cause := errors.New("enough")
	cancel(cause)
	late, cancel2 := context.WithTimeoutCause(context.Background(), -time.Second, cause)
	defer cancel2()
	for _, c := range []struct {
		ctx context.Context
		is  error
	}{{ctx, context.Canceled}, {late, context.DeadlineExceeded}} {
		_, err1 := waot.CompileContext(c.ctx, wasm, nil)
		_, err2 := waot.CompileObjectContext(c.ctx, wasm, nil)
		for _, err := range []error{err1, err2} {
			var ended *waot.CancelError
			if !errors.As(err, &ended) || !errors.Is(err, waot.ErrCancelled) || !errors.Is(err, c.is) || !errors.Is(err, cause) {
				t.Errorf("error %v", err)
			}
		}
	}
	for _, o := range []*waot.CompileOptions{
		{MaxModuleBytes: 10}, {MaxFunctions: 1}, {MaxFunctionBytes: 1}, {MaxCodeBytes: 10}, {MaxMemory: 10},
	} {
		var limit *waot.CompileLimitError
		if _, err := waot.CompileObject(wasm, o); !errors.As(err, &limit) {
			t.Errorf("%+v: %v", *o, err)
		}
	}
}
