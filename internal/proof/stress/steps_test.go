//go:build linux && (amd64 || arm64)

package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// step is one thing a worker does. It gives an error for whatever is not as it should be.
type step struct {
	name   string
	weight int
	run    func(*worker) error
}

func steps() []step {
	return []step{
		{"compute", 12, (*worker).compute},
		{"trap", 8, (*worker).trap},
		{"cancel", 8, (*worker).cancel},
		{"late cancel", 4, (*worker).cancelLate},
		{"cancelled in the host", 3, (*worker).cancelInHost},
		{"cancelled further out", 3, (*worker).cancelNested},
		{"cancelled while instantiating", 2, (*worker).cancelInstantiation},
		{"instances", 3, (*worker).instances},
		{"instantiation in the host", 2, (*worker).instantiateInHost},
		{"busy", 2, (*worker).busy},
		{"reentry", 5, (*worker).reenter},
		{"panic", 4, (*worker).panics},
		{"goexit", 3, (*worker).goexit},
		{"host error", 3, (*worker).hostError},
		{"nil dereference", 3, (*worker).nilDereference},
		{"references", 4, (*worker).references},
		{"Go stack growth", 4, (*worker).growStack},
	}
}

// counts is what the workers and what runs beside them have done.
type counts struct {
	mu sync.Mutex
	n  map[string]int
	// collections is the number of collections of garbage that have ended.
	collections atomic.Int64
}

func (c *counts) add(what string, n int) {
	c.mu.Lock()
	c.n[what] += n
	c.mu.Unlock()
}

// expectation is a computation with its result.
type expectation struct {
	name          string
	n, seed, want uint64
}

// worker is one of the goroutines. It has a store that it replaces now and then.
type worker struct {
	rng      *rand.Rand
	counts   *counts
	expected []expectation
	endless  *inproc.Module // does not end to be instantiated
	w        *world
	doing    atomic.Pointer[string]
}

// renew gives the worker a store.
func (k *worker) renew() (err error) {
	if err := k.close(); err != nil {
		return err
	}
	cfg := inproc.Config{MaxMemoryPages: 64}
	if k.rng.IntN(2) == 0 {
		cfg.MaxStack = 256 << 10 << k.rng.IntN(8)
	}
	if k.rng.IntN(8) == 0 {
		// Each call of the host walks the stack, so that must not be deep.
		cfg.CollectAlways, cfg.MaxStack = true, 64<<10
	}
	k.w, err = newWorld(cfg, 1+k.rng.IntN(3))
	k.counts.add("stores", 1)
	return err
}

func (k *worker) close() error {
	if k.w == nil {
		return nil
	}
	w := k.w
	k.w = nil
	return w.store.Close()
}

// inst is the number of an instance of the worker's.
func (k *worker) inst() int { return k.rng.IntN(len(k.w.insts)) }

func (k *worker) compute() error {
	x := k.expected[k.rng.IntN(len(k.expected))]
	var ctx context.Context
	if k.rng.IntN(2) == 0 {
		c, cancel := context.WithCancel(context.Background())
		defer cancel()
		ctx = c
	}
	before := k.counts.collections.Load()
	if err := k.w.expect(ctx, k.inst(), x.name, x.want, x.n, x.seed); err != nil {
		return err
	}
	k.counts.add("computations", 1)
	// The end of one collection may be seen late; a second one has stopped this very call.
	if k.counts.collections.Load()-before >= 2 {
		k.counts.add("computations stopped by a collection", 1)
	}
	return nil
}

func (k *worker) trap() error {
	cases := guest.Traps()
	for range 1 + k.rng.IntN(20) {
		c := cases[k.rng.IntN(len(cases))]
		if strings.HasPrefix(c.Export, "deep") && k.rng.IntN(4) != 0 {
			continue // takes long
		}
		_, err := k.w.call(nil, k.inst(), c.Export)
		if err := isTrap(err, c); err != nil {
			return err
		}
		k.counts.add("trap "+c.Code.String(), 1)
	}
	return k.w.sound(k.inst())
}

// soon is a context that ends before long, in one way or another, and its error.
func (k *worker) soon() (context.Context, context.CancelFunc, error) {
	d := time.Duration(k.rng.IntN(20_000)) * time.Microsecond
	switch k.rng.IntN(4) {
	case 0:
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(d, cancel)
		return ctx, cancel, context.Canceled
	case 1:
		parent, stop := context.WithCancel(context.Background())
		ctx, cancel := context.WithTimeout(parent, time.Hour)
		time.AfterFunc(d, stop)
		return ctx, cancel, context.Canceled
	case 2:
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		return ctx, cancel, context.Canceled
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	return ctx, cancel, context.DeadlineExceeded
}

// ended counts a cancellation and checks the error and the store.
func (k *worker) ended(err, cause error) error {
	if err := isCancelled(err, cause); err != nil {
		return err
	}
	k.counts.add("cancellations", 1)
	return k.w.sound(k.inst())
}

func (k *worker) cancel() error {
	ctx, cancel, cause := k.soon()
	defer cancel()
	names := guest.Endless()
	name := names[k.rng.IntN(len(names))]
	_, err := k.w.call(ctx, k.inst(), name)
	if err := k.ended(err, cause); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// cancelLate ends a context at about the time the call returns by itself.
func (k *worker) cancelLate() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d := time.Duration(k.rng.IntN(100)) * time.Microsecond
	if k.rng.IntN(2) == 0 {
		time.AfterFunc(d, cancel)
	} else {
		go func() {
			for end := time.Now().Add(d); time.Now().Before(end); {
			}
			cancel()
		}()
	}
	n := uint64(1 + k.rng.IntN(2000))
	got, err := k.w.call(ctx, k.inst(), "hosts", n, 7)
	if err != nil {
		return k.ended(err, context.Canceled)
	}
	if want := guest.Hosts(n, 7); got != want {
		return fmt.Errorf("hosts = %#x, want %#x", got, want)
	}
	k.counts.add("calls that were faster than their cancellation", 1)
	cancel()
	return k.w.sound(k.inst())
}

// withHook makes hook what the module's import does, for one call of callhook.
func (k *worker) withHook(ctx context.Context, hook func(c *inproc.Caller, arg uint64) (uint64, error)) (uint64, error) {
	k.w.hook = hook
	defer func() { k.w.hook = nil }()
	return k.w.call(ctx, k.inst(), "callhook", 5)
}

// cancelInHost ends a context during a host function, which does not look at it or
// even hides the end: the code that called must not go on.
func (k *worker) cancelInHost() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wait := k.rng.IntN(2) == 0
	_, err := k.withHook(ctx, func(c *inproc.Caller, arg uint64) (uint64, error) {
		if c.Context() != ctx {
			return 0, errors.New("Caller.Context is not the one of the call")
		}
		if wait {
			time.AfterFunc(time.Duration(k.rng.IntN(300))*time.Microsecond, cancel)
			<-c.Context().Done()
		} else {
			cancel()
		}
		if wait { // for the end to get about
			time.Sleep(time.Duration(k.rng.IntN(2000)) * time.Microsecond)
		}
		return arg, nil
	})
	if err == nil { // the code was faster
		k.counts.add("calls that were faster than their cancellation", 1)
		return k.w.sound(k.inst())
	}
	return k.ended(err, context.Canceled)
}

// cancelNested ends a context of a call that has led to another one, with a context
// of its own or none, that does not end.
func (k *worker) cancelNested() error {
	ctx, cancel, cause := k.soon()
	defer cancel()
	swallow := k.rng.IntN(2) == 0
	var inner context.Context
	if k.rng.IntN(2) == 0 {
		c, stop := context.WithCancel(context.Background())
		defer stop()
		inner = c
	}
	var innerErr error
	_, err := k.withHook(ctx, func(c *inproc.Caller, arg uint64) (uint64, error) {
		_, innerErr = k.w.call(inner, k.inst(), "spin")
		if swallow {
			return arg, nil
		}
		return arg, innerErr
	})
	if innerErr != nil { // it is nil if the context ended before the host was called
		if err := isCancelled(innerErr, cause); err != nil {
			return fmt.Errorf("inner call: %w", err)
		}
	}
	return k.ended(err, cause)
}

// loadEndless loads the module of Worker.endless.
func loadEndless() (*inproc.Module, error) {
	r, err := compile.Module(guest.Endlessly(), compile.Options{OptLevel: opt.O1})
	if err != nil {
		return nil, err
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return nil, err
	}
	return inproc.Load(img)
}

func (k *worker) cancelInstantiation() error {
	ctx, cancel, cause := k.soon()
	defer cancel()
	_, err := k.w.store.InstantiateContext(ctx, k.endless, nil)
	if err := k.ended(err, cause); err != nil {
		return err
	}
	// What such an instance takes is freed with its store.
	return k.renew()
}

// instances makes instances of the one module, whose data must not mix.
func (k *worker) instances() error {
	if err := k.renew(); err != nil {
		return err
	}
	n := 1 + k.rng.IntN(8)
	w, err := newWorld(inproc.Config{}, n)
	if err != nil {
		return err
	}
	for round := range uint64(3) {
		for i := range n {
			at := uint64(8 * k.rng.IntN(100))
			if err := w.expect(nil, i, "count", round+1); err != nil {
				return err
			}
			if round == 0 {
				at = 4096
			}
			if _, err := w.call(nil, i, "poke", at, uint64(i)<<32|at); err != nil {
				return err
			}
			if err := w.expect(nil, i, "peek", uint64(i)<<32|4096, 4096); err != nil {
				return err
			}
		}
	}
	k.counts.add("instances", n)
	w.insts[0].Close()
	return w.store.Close()
}

// instantiateInHost makes an instance while its store is inside a call that may be ended.
func (k *worker) instantiateInHost() error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	end := k.rng.IntN(2) == 0
	if end {
		time.AfterFunc(time.Duration(k.rng.IntN(400))*time.Microsecond, cancel)
	}
	m, err := loadWork()
	if err != nil {
		return err
	}
	_, err = k.withHook(ctx, func(c *inproc.Caller, arg uint64) (uint64, error) {
		imports, err := k.w.imports()
		if err != nil {
			return 0, err
		}
		i, err := c.Store().InstantiateContext(c.Context(), m, imports)
		if err != nil {
			return 0, err
		}
		k.w.insts = append(k.w.insts, i)
		return k.w.call(nil, len(k.w.insts)-1, "count")
	})
	k.counts.add("instances", 1)
	if err != nil || end && ctx.Err() != nil && err != nil {
		err = k.ended(err, context.Canceled)
	}
	if err == nil {
		err = k.w.sound(len(k.w.insts) - 1)
	}
	return errors.Join(err, k.renew())
}

// busy has two goroutines use one store. They must not meet in it.
func (k *worker) busy() error {
	var refused atomic.Int64
	f, err := k.w.insts[0].Func("fib") // looking it up is for one goroutine at a time
	if err != nil {
		return err
	}
	other := func() error {
		for range 200 {
			var r [1]uint64
			err := f.CallContext(nil, []uint64{12}, r[:])
			switch {
			case err == nil && r[0] != guest.Fib(12):
				return fmt.Errorf("fib = %d", r[0])
			case err == nil:
			case errors.Is(err, inproc.ErrBusy):
				refused.Add(1)
				runtime.Gosched()
			default:
				return err
			}
		}
		return nil
	}
	failed := make(chan error, 2)
	for range 2 {
		go func() { failed <- other() }()
	}
	err = errors.Join(<-failed, <-failed)
	// Once for certain: from another goroutine while a host function runs.
	_, hostErr := k.withHook(nil, func(c *inproc.Caller, arg uint64) (uint64, error) {
		go func() {
			failed <- f.CallContext(nil, []uint64{12}, []uint64{0})
		}()
		if err := <-failed; !errors.Is(err, inproc.ErrBusy) {
			return 0, fmt.Errorf("second goroutine: %v, want ErrBusy", err)
		}
		refused.Add(1)
		return 0, nil
	})
	k.counts.add("refusals as busy", int(refused.Load()))
	return errors.Join(err, hostErr, k.w.sound(0))
}

// reenter calls native code from host functions from native code, and so on.
func (k *worker) reenter() error {
	x := k.expected[k.rng.IntN(len(k.expected))]
	depth, i := 1+k.rng.IntN(30), k.inst()
	var hook func(c *inproc.Caller, arg uint64) (uint64, error)
	hook = func(c *inproc.Caller, arg uint64) (uint64, error) {
		if arg == 0 {
			return 0, k.w.expect(nil, i, x.name, x.want, x.n, x.seed)
		}
		growStack(k.rng.IntN(8))
		if k.rng.IntN(8) == 0 {
			_, err := k.w.call(nil, i, "load")
			if err := isTrap(err, guest.TrapCase{Export: "load", Code: 2}); err != nil {
				return 0, err
			}
		}
		return k.w.call(nil, i, "callhook", arg-1)
	}
	k.w.hook = hook
	defer func() { k.w.hook = nil }()
	want := uint64(0)
	for n := range uint64(depth + 1) {
		want += 3 * n
	}
	k.counts.add("re-entrant calls", depth)
	return k.w.expect(nil, i, "callhook", want, uint64(depth))
}

// growStack makes the goroutine's stack move, and so all that points to it.
//
//go:noinline
func growStack(kib int) int {
	var pad [1024]byte
	if kib == 0 {
		return int(pad[0])
	}
	return growStack(kib-1) + int(pad[kib%1024])
}

func (k *worker) growStack() error {
	kib := 1 << k.rng.IntN(12)
	result := make(chan error)
	go func() { // with a stack that is small
		_, err := k.withHook(nil, func(c *inproc.Caller, arg uint64) (uint64, error) {
			growStack(kib)
			if k.rng.IntN(2) == 0 {
				runtime.GC()
			}
			return 0, k.w.sound(k.inst())
		})
		result <- err
	}()
	k.counts.add("grown stacks", 1)
	return <-result
}

// references has collections of both kinds, Go's and the store's, while only native frames keep
// references to Go values.
func (k *worker) references() error {
	depth := uint64(1 + k.rng.IntN(60))
	k.w.hook = func(c *inproc.Caller, arg uint64) (uint64, error) {
		if k.rng.IntN(8) != 0 {
			return 0, nil
		}
		if k.rng.IntN(8) == 0 {
			growStack(16)
			runtime.GC()
		}
		return 0, c.Store().CollectRefs()
	}
	defer func() { k.w.hook = nil }()
	ref, err := k.w.call(nil, k.inst(), "keep", depth)
	if err == nil {
		err = k.w.isToken(ref, depth)
	}
	k.counts.add("references", int(depth))
	return err
}

var errPanic = errors.New("a panic")

// panics has a host function panic, below some calls of native code, and someone recover.
func (k *worker) panics() (err error) {
	depth := k.rng.IntN(4)
	caught := func() (r any) {
		defer func() { r = recover() }()
		hook := func(c *inproc.Caller, arg uint64) (uint64, error) {
			if arg == 0 {
				panic(errPanic)
			}
			return k.w.call(nil, 0, "callhook", arg-1)
		}
		k.w.hook = hook
		defer func() { k.w.hook = nil }()
		_, err = k.w.call(nil, 0, "callhook", uint64(depth))
		return nil
	}()
	if caught != errPanic {
		return fmt.Errorf("recovered %v, error %w", caught, err)
	}
	k.counts.add("panics", 1)
	return k.w.sound(k.inst())
}

func (k *worker) goexit() error {
	done := make(chan struct{})
	returned := false
	go func() {
		defer close(done)
		k.withHook(nil, func(*inproc.Caller, uint64) (uint64, error) {
			runtime.Goexit()
			return 0, nil
		})
		returned = true
	}()
	<-done
	if returned {
		return errors.New("the call returned after Goexit")
	}
	k.counts.add("exits of goroutines", 1)
	return k.w.sound(k.inst())
}

func (k *worker) hostError() error {
	want := errors.New("of the host")
	if _, err := k.withHook(nil, func(*inproc.Caller, uint64) (uint64, error) { return 0, want }); err != want {
		return fmt.Errorf("%v, want the error of the host function", err)
	}
	k.counts.add("errors of the host", 1)
	return k.w.sound(k.inst())
}

// dereference dereferences nil, and reports whether that panicked as it does in any Go program.
func dereference() (ok bool) {
	defer func() {
		_, ok = recover().(runtime.Error)
	}()
	var p *[4]int
	return p[2] == 1
}

func (k *worker) nilDereference() error {
	inside := false
	before := dereference()
	_, err := k.withHook(nil, func(*inproc.Caller, uint64) (uint64, error) {
		inside = dereference()
		return 0, nil
	})
	if after := dereference(); err != nil || !before || !inside || !after {
		return fmt.Errorf("recovered %v %v %v, error %v", before, inside, after, err)
	}
	// And one that unwinds native code.
	caught := func() (r any) {
		defer func() { r = recover() }()
		k.withHook(nil, func(*inproc.Caller, uint64) (uint64, error) {
			var p *uint64
			return *p, nil
		})
		return nil
	}()
	if _, ok := caught.(runtime.Error); !ok {
		return fmt.Errorf("recovered %v from a nil dereference", caught)
	}
	k.counts.add("nil dereferences", 1)
	return k.w.sound(k.inst())
}
