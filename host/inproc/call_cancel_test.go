//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
)

// TestCancelYoung: the end of a context ends a call that has just begun, too, at the latest when the scheduler looks at it.
func TestCancelYoung(t *testing.T) {
	needPreemption(t)
	_, i := newLoops(t, nil)
	spin := export(t, i, "spin")
	least := time.Hour
	const want = 5
	inCode := 0 // calls that the code had begun; on a busy machine some contexts end before
	for n := 0; inCode < want && n < 100; n++ {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan time.Time, 1)
		go func() {
			time.Sleep(time.Millisecond)
			ended <- time.Now()
			cancel()
		}()
		err := spin.CallContext(ctx, nil, nil)
		took := time.Since(<-ended)
		var c *inproc.CancelError
		if !errors.As(err, &c) || !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if len(c.Backtrace) == 1 {
			inCode++
			least = min(least, took)
		}
		checkUsable(t, i)
	}
	if inCode < want {
		t.Errorf("%d calls were in their code", inCode)
	}
	if least > 100*time.Millisecond {
		t.Error(least)
	}
}

// TestCancelPrompt: a call that the scheduler has seen, or whose deadline is near, ends without it.
func TestCancelPrompt(t *testing.T) {
	needPreemption(t)
	most := 2 * time.Millisecond
	if runtime.GOMAXPROCS(0) == 1 { // nobody is free to notice
		most = 100 * time.Millisecond
	}
	_, i := newLoops(t, nil)
	spin := export(t, i, "spin")
	for _, after := range []time.Duration{3 * time.Millisecond, 70 * time.Millisecond} {
		least := time.Hour
		for n := 0; n < 50 && least > most; n++ {
			ctx, cancel := context.WithTimeout(context.Background(), after)
			if err := spin.CallContext(ctx, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			deadline, _ := ctx.Deadline()
			least = min(least, time.Since(deadline))
			cancel()
		}
		if least > most {
			t.Errorf("%v after a deadline of %v", least, after)
		}
	}
}

// TestCancelOuter: the end of an outer call's context ends an inner call with another one, whichever the inner one has.
func TestCancelOuter(t *testing.T) {
	for _, inner := range []context.Context{nil, context.Background(), t.Context()} {
		outer, cancel := context.WithCancelCause(context.Background())
		cause := errors.New("outer")
		var i *inproc.Instance
		_, i = newLoops(t, func(*inproc.Caller, []uint64, []uint64) error {
			time.AfterFunc(time.Millisecond, func() { cancel(cause) })
			return export(t, i, "spin").CallContext(inner, nil, nil)
		})
		if err := export(t, i, "once").CallContext(outer, nil, make([]uint64, 1)); !errors.Is(err, cause) {
			t.Error(err)
		}
		checkUsable(t, i)
	}
}

// registering is a context that does something when a call is registered with it.
type registering struct {
	context.Context
	do func()
}

// Value hides the context around, with which Go would register otherwise.
func (r registering) Value(any) any { return nil }

func (r registering) AfterFunc(func()) func() bool {
	r.do()
	return func() bool { return true }
}

// TestContextOfProgram: a context of the program's own may do what it likes when code that was stopped is registered with it, but not use the store.
func TestContextOfProgram(t *testing.T) {
	needPreemption(t)
	_, i := newLoops(t, nil)
	done, cancel := context.WithCancel(context.Background())
	ctx := registering{done, func() {
		if err := export(t, i, "sum").Call([]uint64{1}, make([]uint64, 1)); !errors.Is(err, inproc.ErrBusy) {
			t.Error(err)
		}
		cancel()
	}}
	if err := export(t, i, "spin").CallContext(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	checkUsable(t, i)

	ctx = registering{t.Context(), func() { panic("registered") }}
	func() {
		defer func() {
			if r := recover(); r != "registered" {
				t.Error(r)
			}
		}()
		export(t, i, "spin").CallContext(ctx, nil, nil)
	}()
	checkUsable(t, i)
}

// TestContextOfCall: a host function gets the context of the call around it, not of one before, however that has ended.
func TestContextOfCall(t *testing.T) {
	var want context.Context
	wrong := false
	fail := errors.New("fail")
	_, i := newLoops(t, func(c *inproc.Caller, _, _ []uint64) error {
		wrong = wrong || c.Context() != want
		if c.Context().Value("panics") != nil {
			panic(fail)
		}
		return fail
	})
	once, r := export(t, i, "once"), make([]uint64, 1)
	for range 2 {
		for _, ctx := range []context.Context{t.Context(), context.Background(), context.TODO(), nil,
			context.WithValue(t.Context(), "panics", true), nil} {
			if want = ctx; ctx == nil {
				want = context.Background()
			}
			func() {
				defer func() {
					if r := recover(); r != nil && r != fail {
						t.Error(r)
					}
				}()
				if err := once.CallContext(ctx, nil, r); err != fail {
					t.Error(err)
				}
			}()
			if wrong {
				t.Fatalf("not %v", want)
			}
		}
	}
}

// TestContextAllocations: a context costs a call no allocation.
func TestContextAllocations(t *testing.T) {
	needPreemption(t)
	_, i := newLoops(t, nil)
	sum, stack := export(t, i, "sum"), make([]uint64, 1)
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		stack[0] = 1
		if err := sum.CallStack(ctx, stack); err != nil {
			t.Error(err)
		}
	}); n > 0.5 {
		t.Error(n)
	}
}
