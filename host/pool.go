package host

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waot-project/waot/host/inproc"
)

// Pool hands out instances of one module, each in a store of its own, and takes them back: reset, so that nothing of one use is to be seen in the next. It is
// for programs that run untrusted or stateful code for each request. What Go functions remember is the program's affair (PoolOptions.Prepare). Its methods may be called from any goroutine.
type Pool struct {
	module  *Module
	options PoolOptions
	slots   chan struct{} // one for each instance that is handed out; nil without Max
	closing chan struct{} // closed by Close

	mu     sync.Mutex
	idle   []*pooled // those that came back last at the end
	closed bool
}

// PoolOptions say how a Pool makes instances, and how many. A field that is zero means its default, as does a nil pointer for all.
type PoolOptions struct {
	// Store is for the store of each instance.
	Store *StoreOptions
	// Imports returns what an instance imports, beside what System gives. It is called once for each store. Memories, tables and globals that it makes are not
	// reset: Prepare must do that. The default is nothing.
	Imports func(*Store) (Imports, error)
	// System makes what each instance has of the system, such as waot.NewWASI, which is reset with the instance. The default is nothing.
	System func() (System, error)
	// Prepare is called when an instance is new and whenever it has been reset, by the goroutine that needs it, or gives it back: for what an instance needs before it is
	// used, such as waot.WASI.Initialize, or what Go functions remember of it. If it fails, the instance is closed. The context is that of Get, or one that does not end.
	Prepare func(ctx context.Context, inst *Instance) error
	// Max bounds the instances that exist at one time, those included that were given back while they ran. Get waits for one if there are so many. The default is no bound.
	Max int
	// Idle bounds the instances that are kept while nobody has them. The default is Max, or without Max the number of processors that Go uses.
	Idle int
}

// System is what an instance of a pool has of the system.
type System interface {
	Imports() Imports
	// Reset makes it what it was when it was new.
	Reset() error
	Close() error
}

// PoolInstance is an instance that a pool has handed out.
type PoolInstance struct {
	*Instance
	// System is what PoolOptions.System has made for the instance; nil without that.
	System System
	of     atomic.Pointer[pooled]
}

// pooled is an instance and what belongs to it alone.
type pooled struct {
	pool  *Pool
	store *Store
	inst  *Instance
	sys   System
	first inproc.Holdings // of the store, when the instance was new
}

// NewPool returns a pool of instances of m, which must stay open as long as the pool is. o may be nil. The pool has no instances yet.
func NewPool(m *Module, o *PoolOptions) *Pool {
	p := &Pool{module: m, options: *cmp.Or(o, new(PoolOptions)), closing: make(chan struct{})}
	if n := p.options.Max; n > 0 {
		p.slots = make(chan struct{}, n)
	}
	if p.options.Idle == 0 {
		p.options.Idle = cmp.Or(max(p.options.Max, 0), runtime.GOMAXPROCS(0))
	}
	return p
}

// Get hands out an instance: one that was given back, or a new one. It is the caller's until Release or Discard. If as many are in use as there may be, it waits until
// one is given back, or ctx ends; ctx also ends the start function of a new one. The errors are those of NewStore, Store.Instantiate and the functions of PoolOptions, the cause of ctx, and ErrClosed.
func (p *Pool) Get(ctx context.Context) (*PoolInstance, error) {
	if p.slots != nil {
		var ended <-chan struct{}
		if ctx != nil {
			ended = ctx.Done()
		}
		select {
		case p.slots <- struct{}{}:
		case <-ended:
			return nil, context.Cause(ctx)
		case <-p.closing:
			return nil, ErrClosed
		}
	}
	done := false
	defer func() { // the program's functions may panic
		if !done {
			p.free()
		}
	}()
	if ctx == nil {
		ctx = context.Background()
	}
	x, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	done = true
	out := &PoolInstance{Instance: x.inst, System: x.sys}
	out.of.Store(x)
	return out, nil
}

// take takes an instance that is idle, or makes one.
func (p *Pool) take(ctx context.Context) (*pooled, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if n := len(p.idle); n > 0 {
		x := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return x, nil
	}
	p.mu.Unlock()
	x := &pooled{pool: p}
	made := false
	defer func() {
		if !made {
			x.close(func() {})
		}
	}()
	if err := x.make(ctx); err != nil {
		return nil, err
	}
	made = true
	return x, nil
}

// free says that one instance less is handed out.
func (p *Pool) free() {
	if p.slots != nil {
		<-p.slots
	}
}

// make makes the instance.
func (x *pooled) make(ctx context.Context) (err error) {
	o := &x.pool.options
	if x.store, err = NewStore(o.Store); err != nil {
		return err
	}
	imports := Imports{}
	if o.System != nil {
		sys, err := o.System()
		if err != nil {
			return err
		}
		x.sys = sys
		maps.Copy(imports, x.sys.Imports())
	}
	if o.Imports != nil {
		more, err := o.Imports(x.store)
		if err != nil {
			return err
		}
		maps.Copy(imports, more)
	}
	if x.inst, err = x.store.Instantiate(ctx, x.pool.module, imports); err != nil {
		return err
	}
	if err := x.prepare(ctx); err != nil {
		return err
	}
	x.first, err = x.store.inproc().Holdings()
	return err
}

func (x *pooled) prepare(ctx context.Context) error {
	if prepare := x.pool.options.Prepare; prepare != nil {
		return prepare(ctx, x.inst)
	}
	return nil
}

// close closes what there is of it, and then calls closed.
func (x *pooled) close(closed func()) {
	if x.store != nil && errors.Is(x.store.Close(), ErrBusy) {
		// Code runs, on another goroutine: whoever gave the instance back did not wait for it.
		go func() {
			for wait := time.Millisecond; errors.Is(x.store.Close(), ErrBusy); wait = min(2*wait, time.Second) {
				time.Sleep(wait)
			}
			x.closeSystem()
			closed()
		}()
		return
	}
	x.closeSystem()
	closed()
}

func (x *pooled) closeSystem() {
	if x.sys != nil {
		x.sys.Close()
	}
}

// reset makes all of it new: the system first, since the start function may use it.
func (x *pooled) reset() error {
	ctx := context.Background()
	err := x.store.do(func(p *inproc.Store) error {
		if p.Running() {
			return ErrBusy
		}
		if x.sys != nil {
			if err := x.sys.Reset(); err != nil {
				return err
			}
		}
		// All of the store: Imports may have made other instances in it.
		return hostError(p.Reset(ctx))
	})
	if err != nil {
		return err
	}
	if err := x.prepare(ctx); err != nil {
		return err
	}
	if now, err := x.store.inproc().Holdings(); err != nil || now != x.first {
		return errors.Join(err, ErrBusy) // the last user has made something that stays
	}
	return nil
}

// Release gives the instance back. It is reset before anybody else gets it. It is closed if that fails, if there are enough, or if something was made in its store that a
// reset does not take away. No code of it should run any more: it would be closed when that ends. What was looked up in
// the instance must not be used. A second call does nothing.
func (x *PoolInstance) Release() {
	at := x.end()
	if at == nil {
		return
	}
	kept := false
	defer func() { // Prepare may panic
		if !kept {
			at.close(at.pool.free)
		}
	}()
	kept = at.reset() == nil && at.pool.keep(at)
}

// Discard closes the instance instead of giving it back.
func (x *PoolInstance) Discard() {
	if at := x.end(); at != nil {
		at.close(at.pool.free)
	}
}

// end takes the instance away from the caller; it returns nil if that has happened before.
func (x *PoolInstance) end() *pooled {
	at := x.of.Swap(nil)
	if at != nil {
		x.Instance, x.System = nil, nil
	}
	return at
}

// keep keeps an instance for the next Get, which may be waiting for it. It reports false if it must be closed.
func (p *Pool) keep(x *pooled) bool {
	p.mu.Lock()
	ok := !p.closed && len(p.idle) < p.options.Idle
	if ok {
		p.idle = append(p.idle, x)
	}
	p.mu.Unlock()
	if ok {
		p.free()
	}
	return ok
}

// Close closes the instances that nobody has. Those that are handed out are closed when they are given back. Get fails with ErrClosed from now on. The error is
// ErrClosed if the pool has been closed.
func (p *Pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	close(p.closing)
	for _, x := range idle {
		x.close(func() {})
	}
	return nil
}
