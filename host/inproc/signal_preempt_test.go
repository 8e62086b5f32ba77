//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// loops is a module with
//
//	spin() loops for ever,
//	sum(n) adds the numbers from n down to 1 with a carry through several locals,
//	call() calls the import env.h for ever,
//	once() calls it once and gives its result,
//	deep(n) calls itself n times.
var loops = wasmModule(
	section(1, 3, 0x60, 0, 0, 0x60, 1, 0x7e, 1, 0x7e, 0x60, 0, 1, 0x7e), // ()->() ; (i64)->i64 ; ()->i64
	section(2, 1, 3, 'e', 'n', 'v', 1, 'h', 0, 2),
	section(3, 5, 0, 1, 0, 2, 1),
	section(7, 5, 4, 's', 'p', 'i', 'n', 0, 1, 3, 's', 'u', 'm', 0, 2, 4, 'c', 'a', 'l', 'l', 0, 3,
		4, 'o', 'n', 'c', 'e', 0, 4, 4, 'd', 'e', 'e', 'p', 0, 5),
	section(10, bytes.Join([][]byte{{5},
		body(0, 0x03, 0x40, 0x0c, 0, 0x0b, 0x0b),
		// acc = rotl(acc + n, 7) ^ n; n--
		body(1, 1, 0x7e, 0x03, 0x40, 0x20, 1, 0x20, 0, 0x7c, 0x42, 7, 0x89, 0x20, 0, 0x85, 0x21, 1,
			0x20, 0, 0x42, 1, 0x7d, 0x22, 0, 0x50, 0x45, 0x0d, 0, 0x0b, 0x20, 1, 0x0b),
		body(0, 0x03, 0x40, 0x10, 0, 0x1a, 0x0c, 0, 0x0b, 0x0b),
		body(0, 0x10, 0, 0x0b),
		body(0, 0x20, 0, 0x50, 0x04, 0x7e, 0x42, 0, 0x05, 0x20, 0, 0x42, 1, 0x7d, 0x10, 5, 0x42, 1, 0x7c, 0x0b, 0x0b),
	}, nil)...))

func wasmModule(sections ...[]byte) []byte {
	return append([]byte{0, 'a', 's', 'm', 1, 0, 0, 0}, bytes.Join(sections, nil)...)
}

// section and body are short enough for one byte of length.
func section(id byte, b ...byte) []byte {
	return append([]byte{id, byte(len(b) | 0x80), byte(len(b) >> 7)}, b...)
}
func body(b ...byte) []byte { return append([]byte{byte(len(b))}, b...) }

func sum(n uint64) (acc uint64) {
	for ; n != 0; n-- {
		x := acc + n
		acc = (x<<7 | x>>57) ^ n
	}
	return acc
}

func compileLoops(t testing.TB) *inproc.Image {
	t.Helper()
	img, err := image(loops, opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func newLoops(t testing.TB, h inproc.HostFunc) (*inproc.Store, *inproc.Instance) {
	t.Helper()
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := s.Load(compileLoops(t))
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.NewHostFunc(meta.FuncType{Results: []meta.ValType{meta.I64}}, h)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Instantiate(m, func(string, string) inproc.Extern { return f })
	if err != nil {
		t.Fatal(err)
	}
	return s, i
}

func export(t testing.TB, i *inproc.Instance, name string) *inproc.Func {
	t.Helper()
	f, err := i.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// needPreemption skips a test where native code is not preempted, which is a failure in CI.
func needPreemption(t *testing.T) {
	t.Helper()
	if err := inproc.Preemption(); err != nil {
		testenv.Missing(t, err.Error())
	}
}

// checkUsable calls a function that must work.
func checkUsable(t *testing.T, i *inproc.Instance) {
	t.Helper()
	r := make([]uint64, 1)
	if err := export(t, i, "sum").Call([]uint64{1000}, r); err != nil || r[0] != sum(1000) {
		t.Error(r[0], err)
	}
}

func TestCancelLoop(t *testing.T) {
	_, i := newLoops(t, nil)
	spin := export(t, i, "spin")
	const want = 18
	inCode := 0 // calls that the code had begun; on a busy machine a short context ends before
	for n := 0; n < 20 || inCode < want && n < 300; n++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n)*time.Millisecond)
		err := spin.CallContext(ctx, nil, nil)
		cancel()
		var c *inproc.CancelError
		if !errors.As(err, &c) || !errors.Is(err, inproc.ErrCancelled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if len(c.Backtrace) > 0 {
			inCode++
			if len(c.Backtrace) != 1 || c.Backtrace[0].Func != 1 {
				t.Errorf("backtrace %v", c.Backtrace)
			}
		}
		checkUsable(t, i)
	}
	if inCode < want {
		t.Errorf("%d of the calls have a backtrace", inCode)
	}
}

// A collection waits for native code no longer than for Go code.
func TestCollectionDuringLoop(t *testing.T) {
	needPreemption(t)
	_, i := newLoops(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- export(t, i, "spin").CallContext(ctx, nil, nil) }()
	time.Sleep(time.Millisecond)
	start := time.Now()
	for range 10 {
		runtime.GC()
	}
	t.Log("ten collections", time.Since(start))
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	checkUsable(t, i)
}

// Preempted code continues with all its registers.
func TestPreemptedLoopResult(t *testing.T) {
	_, i := newLoops(t, nil)
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				close(stopped)
				return
			default:
				runtime.GC()
			}
		}
	}()
	const n = 100_000_000
	r := make([]uint64, 1)
	f := export(t, i, "sum")
	for range 3 {
		if err := f.Call([]uint64{n}, r); err != nil || r[0] != sum(n) {
			t.Error(r[0], err)
		}
	}
	close(stop)
	<-stopped
}

func TestCancelInHost(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	calls := 0
	var i *inproc.Instance
	_, i = newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
		if c.Context() != ctx {
			t.Error("another context")
		}
		if calls++; calls == 3 {
			cancel(cause)
			time.Sleep(5 * time.Millisecond)
			// Nothing runs on this store before the cancelled call is over.
			if err := export(t, i, "sum").Call([]uint64{1}, make([]uint64, 1)); !errors.Is(err, cause) {
				t.Error(err)
			}
		}
		return nil
	})
	err := export(t, i, "call").CallContext(ctx, nil, nil)
	if !errors.Is(err, inproc.ErrCancelled) || !errors.Is(err, cause) || calls != 3 {
		t.Error(err, calls)
	}
	if err := export(t, i, "spin").CallContext(ctx, nil, nil); !errors.Is(err, cause) {
		t.Error(err)
	}
	checkUsable(t, i)
}

// The end of an inner call's context does not end the outer call.
func TestCancelNested(t *testing.T) {
	var i *inproc.Instance
	outer, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, i = newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		defer cancel()
		err := export(t, i, "spin").CallContext(ctx, nil, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		results[0] = 7
		return nil
	})
	r := make([]uint64, 1)
	if err := export(t, i, "once").CallContext(outer, nil, r); err != nil || r[0] != 7 {
		t.Error(r, err)
	}
}

// TestCancelledCallsNothing: once its context has ended, a call begins no further ones, of functions of the host neither.
func TestCancelledCallsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var s *inproc.Store
	var i *inproc.Instance
	s, i = newLoops(t, func(c *inproc.Caller, args, results []uint64) error {
		nothing, err := s.NewHostFunc(meta.FuncType{}, func(*inproc.Caller, []uint64, []uint64) error { return nil })
		if err != nil {
			return err
		}
		cancel()
		for err == nil { // the end arrives at some time
			err = nothing.Call(nil, nil)
		}
		if !errors.Is(err, inproc.ErrCancelled) {
			t.Error(err)
		}
		return nil
	})
	if err := export(t, i, "once").CallContext(ctx, nil, make([]uint64, 1)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestHandlersSurvive(t *testing.T) {
	needPreemption(t)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"ignore", func() { signal.Ignore(syscall.SIGURG, syscall.SIGPROF) }},
		{"reset", func() { signal.Reset() }},
		{"ignore and reset", func() { signal.Ignore(syscall.SIGURG, syscall.SIGPROF); signal.Reset() }},
		{"notify", func() {
			all := make(chan os.Signal, 1)
			signal.Notify(all)
			t.Cleanup(func() { signal.Stop(all) })
		}},
	} {
		step.do()
		time.Sleep(2 * time.Millisecond) // stores look again after one
		_, i := newLoops(t, nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- export(t, i, "spin").CallContext(ctx, nil, nil) }()
		time.Sleep(time.Millisecond)
		for range 3 {
			runtime.GC() // does not wait for the loop
		}
		cancel()
		<-done
	}
}

func TestLimits(t *testing.T) {
	var l *inproc.LimitError
	if _, err := inproc.NewStore(inproc.Config{MaxStack: 1 << 30}); !errors.As(err, &l) || l.What != "stack bytes" {
		t.Error(err)
	}
	s, err := inproc.NewStore(inproc.Config{MaxInstances: 2, MaxStack: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Load(compileLoops(t))
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.NewHostFunc(meta.FuncType{Results: []meta.ValType{meta.I64}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var first *inproc.Instance
	for n := range 3 {
		i, err := s.Instantiate(m, func(string, string) inproc.Extern { return h })
		if n < 2 && err != nil || n == 2 && (!errors.As(err, &l) || l.What != "instances") {
			t.Error(n, err)
		}
		if n == 0 {
			first = i
		}
	}
	// Of 100,000 bytes of stack, of which some must stay free, calls use 1 to 64 each: a function that is inlined in itself needs
	// a frame for several.
	deep, r := export(t, first, "deep"), make([]uint64, 1)
	if err := deep.Call([]uint64{100_000 / 64 / 2}, r); err != nil || r[0] != 100_000/64/2 {
		t.Error(r, err)
	}
	var trap *inproc.Trap
	if err := deep.Call([]uint64{100_000}, r); !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow {
		t.Error(r, err)
	}
}
