package run

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waot-project/waot/host"
)

// group is a store with its instances. Several goroutines may call into it, but they wait for each other: one is inside at a time.
type group struct {
	store *host.Store
	mu    sync.Mutex
	// all are the instances, in the order of their instantiation. The slice is replaced, never changed.
	all atomic.Pointer[[]*Instance]
	// only is the instance if there is one, and it has been made.
	only atomic.Pointer[Instance]
	// pending: what closed instances hold waits for whoever is inside the store.
	pending atomic.Bool
	closed  bool // the store; under mu
	// failed are instances whose instantiation has failed after it had made them: tables may have their functions. Under mu.
	failed []*Instance
	// away is the number of calls whose Go functions let other goroutines in. It is for the goroutine inside the store.
	away int
}

// newGroup makes a group. Slices of its memories stay valid as long as the program has them, as in Go's heap; those of an allocator's memories as long as the
// allocator says.
func (r *Runtime) newGroup() (*group, error) {
	s, err := host.NewStore(&host.StoreOptions{
		KeepViews:      true,
		MaxMemoryPages: uint64(max(r.config.MemoryLimitPages, 1)), MaxStack: maxStack, MaxHostStack: maxHostStack, MaxHostDepth: maxHostDepth,
	})
	if err != nil {
		return nil, err
	}
	g := &group{store: s}
	g.all.Store(new([]*Instance))
	return g, nil
}

// The most that a store may have, since programs are used to stacks of 400 MB.
const (
	maxStack     = 63 << 20
	maxHostStack = 128 << 20
	maxHostDepth = 1 << 20
)

// instances are the instances of the group.
func (g *group) instances() []*Instance {
	if g == nil {
		return nil
	}
	return *g.all.Load()
}

// add puts an instance into the group. It fails if the store has been closed meanwhile.
func (g *group) add(m *Instance) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errors.New("the module that is imported has been closed")
	}
	all := append(slices.Clone(g.instances()), m)
	g.only.Store(nil)
	g.all.Store(&all)
	return nil
}

// remove takes an instance out whose instantiation failed. The store stays until the others are closed.
func (g *group) remove(m *Instance) {
	g.mu.Lock()
	all := slices.DeleteFunc(slices.Clone(g.instances()), func(x *Instance) bool { return x == m })
	g.all.Store(&all)
	if m.inst.Load() != nil {
		g.failed = append(g.failed, m)
	}
	g.mu.Unlock()
	g.findOnly()
	g.release()
}

// findOnly sets only.
func (g *group) findOnly() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if all := g.instances(); len(all) == 1 && len(g.failed) == 0 && all[0].inst.Load() != nil {
		g.only.Store(all[0])
	}
}

// instanceOf is the instance whose code a store has as inst; nil if there is none.
func (g *group) instanceOf(inst *host.Instance) *Instance {
	for _, x := range g.instances() {
		if x.inst.Load() == inst {
			return x
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, x := range g.failed {
		if x.inst.Load() == inst {
			return x
		}
	}
	return nil
}

// release frees what closed instances hold; if a goroutine is inside the store, that one does it when it leaves.
func (g *group) release() {
	g.pending.Store(true)
	for g.pending.Load() {
		if !g.tryEnter() {
			return // the one inside looks at pending after it has left; a closed store has nothing to free
		}
		if g.away > 0 {
			g.store.Leave()
			return // it is in a call, and does the same when that has ended
		}
		g.pending.Store(false)
		last := true
		for _, m := range g.instances() {
			if m.exitError() == nil {
				last = false
			} else {
				m.sys.close()
			}
		}
		g.store.Leave()
		if last && g.close() == host.ErrBusy {
			g.pending.Store(true) // a goroutine has come in meanwhile
		}
	}
}

// tryEnter enters the store if nobody is inside. Who leaves it does so by a store that others may see later than it looks at pending, so this looks twice.
func (g *group) tryEnter() bool {
	err := g.store.Enter()
	if err == host.ErrBusy {
		time.Sleep(time.Microsecond)
		err = g.store.Enter()
	}
	return err == nil
}

// close closes the store if all instances are closed. An allocator of the program is called, so the mutex is free meanwhile.
func (g *group) close() error {
	g.mu.Lock()
	if g.closed || slices.ContainsFunc(g.instances(), func(m *Instance) bool { return m.exitError() == nil }) {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	g.mu.Unlock()
	err := g.store.Close()
	if err == host.ErrBusy {
		g.mu.Lock()
		g.closed = false
		g.mu.Unlock()
	}
	return err
}

// leave is for a goroutine that has been inside the store.
func (g *group) leave() {
	if g.pending.Load() {
		g.release()
	}
}

// afterwards is leave for a call whose goroutine ends in a Go function (runtime.Goexit), when it has ended.
func (g *group) afterwards() {
	g.enter(func() error {
		err := g.store.Enter()
		g.store.Leave() // nothing after an error
		return err
	})
}

// enter calls f until no other goroutine is inside the store.
func (g *group) enter(f func() error) error {
	for wait := time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		if err := f(); err != host.ErrBusy {
			g.leave()
			return err
		}
		time.Sleep(wait)
	}
}

// outside calls f, of the program, for the Go function that c serves, while other goroutines get into the store: f may wait for them.
func (g *group) outside(c *host.Caller, f func()) {
	g.away++
	c.Leave()
	defer func() {
		c.Enter()
		g.away--
	}()
	f()
}

// visible are the frames of functions that the modules had before they were compiled: what calls start functions and fills memories is not, nor what calls listeners.
func (g *group) visible(list []host.Frame) []host.Frame {
	return slices.DeleteFunc(slices.Clone(list), func(f host.Frame) bool {
		for _, m := range g.instances() {
			if cmp.Or(m.mod.name, unnamed) == f.Module {
				return int64(f.Func) >= int64(len(m.mod.funcs))
			}
		}
		return false
	})
}

// listened reports whether a module of the group has listeners.
func (g *group) listened() bool {
	return slices.ContainsFunc(g.instances(), func(m *Instance) bool { return len(m.mod.hooks) > 0 })
}

// unnamed is the name in frames of modules without one.
const unnamed = "module"

// definitionOf describes the function of a frame.
func (g *group) definitionOf(f *host.Frame) *FuncDef {
	for _, m := range g.instances() {
		if cmp.Or(m.mod.name, unnamed) == f.Module && int64(f.Func) < int64(len(m.mod.funcs)) {
			return m.mod.funcs[f.Func]
		}
	}
	module := f.Module
	if module == unnamed {
		module = ""
	}
	return &FuncDef{definition: definition{module: module, index: f.Func}, name: f.Name}
}

// placeOf is the instance whose function it is, and what describes it there; nil if that is not known.
func (g *group) placeOf(f *host.Func) (*Instance, *FuncDef) {
	inst, index := f.Place()
	for _, m := range g.instances() {
		if inst != nil && m.inst.Load() == inst && int64(index) < int64(len(m.mod.funcs)) {
			return m, m.mod.funcs[index]
		}
	}
	return nil, nil
}
