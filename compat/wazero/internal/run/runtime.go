package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/internal/expctxkeys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// Config is the settings of a runtime.
type Config struct {
	Features           api.CoreFeatures
	MemoryLimitPages   uint32
	CapacityFromMax    bool // of memories, for allocators
	CustomSections     bool
	CloseOnContextDone bool
	Codes              *Codes // nil for code that lives as long as its modules
}

// Runtime has the instances that guests can import from, by name.
type Runtime struct {
	config Config
	codes  *Codes

	closed atomic.Uint64 // 0, or 1 and the exit code in the upper half

	mu    sync.Mutex
	named map[string]*Instance
	all   map[*Instance]struct{}
}

// NewRuntime returns a runtime.
func NewRuntime(c Config) *Runtime {
	r := &Runtime{config: c, codes: c.Codes, named: map[string]*Instance{}, all: map[*Instance]struct{}{}}
	if r.codes == nil {
		r.codes = new(Codes)
	}
	return r
}

func (r *Runtime) failIfClosed() error {
	if c := r.closed.Load(); c != 0 {
		return fmt.Errorf("runtime closed with exit_code(%d)", uint32(c>>32))
	}
	return nil
}

// Module returns the instance of that name; nil if there is none.
func (r *Runtime) Module(name string) *Instance {
	r.mu.Lock()
	defer r.mu.Unlock()
	if name == "" {
		return nil
	}
	return r.named[name]
}

// register makes an instance known under its name.
func (r *Runtime) register(m *Instance) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed.Load() != 0 {
		return errors.New("already closed")
	}
	if m.name != "" {
		if r.named[m.name] != nil {
			return fmt.Errorf("module[%s] has already been instantiated", m.name)
		}
		r.named[m.name] = m
	}
	r.all[m] = struct{}{}
	return nil
}

// forget is the reverse of register.
func (r *Runtime) forget(m *Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, m)
	if r.named[m.name] == m {
		delete(r.named, m.name)
	}
}

// CloseWithExitCode closes all instances.
func (r *Runtime) CloseWithExitCode(ctx context.Context, exitCode uint32) error {
	if !r.closed.CompareAndSwap(0, 1|uint64(exitCode)<<32) {
		return nil
	}
	r.mu.Lock()
	var all []*Instance
	for m := range r.all {
		all = append(all, m)
	}
	r.mu.Unlock()
	var errs []error
	for _, m := range all {
		errs = append(errs, m.CloseWithExitCode(ctx, exitCode))
	}
	if r.config.Codes == nil {
		r.codes.Close()
	}
	return errors.Join(errs...)
}

// InstanceConfig is the settings of an instance.
type InstanceConfig struct {
	Name    string // its name, if NameSet; otherwise the module's
	NameSet bool
	Start   []string // functions to call if they are exported
	System  *SystemConfig
}

// Instantiate makes an instance, and calls its start functions.
func (r *Runtime) Instantiate(ctx context.Context, mod *Module, c InstanceConfig) (*Instance, error) {
	if err := r.failIfClosed(); err != nil {
		return nil, err
	}
	m := &Instance{rt: r, mod: mod, name: mod.name}
	if c.NameSet {
		m.name = c.Name
	}
	m.notifier, _ = ctx.Value(expctxkeys.CloseNotifierKey{}).(experimental.CloseNotifier)
	if err := r.instantiate(ctx, m, c.System); err != nil {
		if mod.CloseWithInstance {
			mod.Close(ctx)
		}
		return nil, err
	}
	for _, name := range c.Start {
		f := m.ExportedFunction(name)
		if f == nil {
			continue
		}
		if _, err := f.Call(ctx); err != nil {
			m.Close(ctx)
			if exit, ok := asExit(err); ok {
				if exit.ExitCode() == 0 {
					return m, nil
				}
				return m, exit
			}
			return m, fmt.Errorf("module[%s] function[%s] failed: %w", m.name, name, err)
		}
	}
	return m, nil
}

// errNotCompiled is for modules that have been closed.
var errNotCompiled = errors.New("source module must be compiled before instantiation")

// instantiate links the instance and registers it. After an error nothing is left of it.
func (r *Runtime) instantiate(ctx context.Context, m *Instance, c *SystemConfig) (err error) {
	if m.mod.closed.Load() {
		return errNotCompiled
	}
	if m.mod.host != nil {
		return r.register(m)
	}
	if m.sys, err = newSystem(ctx, c); err != nil {
		return err
	}
	if err := r.link(ctx, m); err != nil {
		m.sys.close()
		return err
	}
	if err := r.register(m); err != nil {
		m.notifier = nil
		m.Close(ctx)
		return err
	}
	return nil
}

// link resolves the imports, and makes the instance of the store.
func (r *Runtime) link(ctx context.Context, m *Instance) error {
	imports, err := r.resolve(ctx, m)
	if err != nil {
		return err
	}
	if m.grp == nil {
		if m.grp, err = r.newGroup(); err != nil {
			return err
		}
	}
	g := m.grp
	if err := g.add(m); err != nil {
		return err
	}
	m.explicit = m.mod.explicitFor(ctx, imports)
	compiled, err := m.mod.compiled(ctx, m.explicit)
	var values host.Imports
	if err == nil {
		values, err = m.values(imports)
	}
	if ended := ctx.Err(); err == nil && ended != nil && r.config.CloseOnContextDone && m.mod.start >= 0 {
		err = sys.NewExitError(exitCode(ended)) // the start function must not be called
	}
	if err == nil {
		inner := ctx
		if r.config.CloseOnContextDone {
			e := m.watch(ctx)
			defer m.unwatch(e)
			inner = e
		} else if ctx.Done() != nil {
			inner = &endless{ctx}
		}
		var inst *host.Instance
		if err = g.enter(func() (err error) {
			inst, err = g.store.InstantiateWith(inner, compiled, values, m.instanceOptions(ctx))
			return err
		}); err == nil {
			if len(m.mod.hooks) > 0 {
				err = m.startListened(inner, inst)
			}
			g.leave()
			if exit := m.exitError(); exit != nil {
				err = exit
			}
			if err == nil {
				return nil
			}
		} else {
			err = m.instantiateError(err)
		}
	}
	m.closed.CompareAndSwap(0, 1)
	g.remove(m)
	return err
}

// startListened fills the table of an instrumented module, and calls the start function.
func (m *Instance) startListened(ctx context.Context, inst *host.Instance) error {
	if err := m.grp.enter(func() error { return m.install(inst) }); err != nil {
		return err
	}
	if m.mod.start < 0 {
		return nil
	}
	var fn *host.Func
	if err := m.grp.enter(func() (err error) { fn, err = inst.Func(m.mod.hookName(hookStart)); return err }); err != nil {
		return err
	}
	f := newFunction(m, m.mod.funcs[m.mod.start], fn, nil)
	if err := f.callListened(ctx, nil, new(told)); err != nil {
		return m.instantiateError(err)
	}
	return nil
}

// instantiateError converts an error of Store.Instantiate.
func (m *Instance) instantiateError(err error) error {
	passOn(err)
	var trap *host.Trap
	if errors.As(err, &trap) && (len(trap.Backtrace) == 0 || int(trap.Backtrace[len(trap.Backtrace)-1].Func) >= len(m.mod.funcs)) && len(trap.Backtrace) <= 1 {
		return fmt.Errorf("section data or element: %w", traps[trap.Code])
	}
	var link *host.LinkError
	if errors.As(err, &link) {
		return fmt.Errorf("import [%s.%s]: %s: %s", link.Module, link.Name, link.Reason, link.Detail)
	}
	if errors.Is(err, waot.ErrClosed) {
		return errNotCompiled
	}
	err = m.callError(err)
	if exit, ok := asExit(err); ok {
		return exit
	}
	if _, ok := err.(*hostError); ok && m.mod.start >= 0 {
		return fmt.Errorf("start function[%d] failed: %w", m.mod.start, err)
	}
	return err
}

// source is what an import stands for.
type source struct {
	imported
	from  *Instance
	index uint32 // in from
}

// resolve finds the imports, and the group that the instance has to be in.
func (r *Runtime) resolve(ctx context.Context, m *Instance) ([]source, error) {
	resolver, _ := ctx.Value(expctxkeys.ImportResolverKey{}).(experimental.ImportResolver)
	found := map[string]*Instance{}
	list := make([]source, 0, len(m.mod.imports))
	for _, i := range m.mod.imports {
		from := found[i.module]
		if from == nil {
			var err error
			if from, err = r.find(resolver, i.module); err != nil {
				return nil, err
			}
			found[i.module] = from
		}
		e, ok := from.mod.exports[i.name]
		if !ok {
			return nil, fmt.Errorf("%q is not exported in module %q", i.name, from.name)
		}
		if e.kind != i.kind {
			return nil, fmt.Errorf("export %q in module %q is a %s, not a %s", i.name, from.name, api.ExternTypeName(e.kind), api.ExternTypeName(i.kind))
		}
		s := source{i, from, e.index}
		if err := m.mod.compatible(&s); err != nil {
			return nil, fmt.Errorf("import %s[%s.%s]: %w", api.ExternTypeName(i.kind), i.module, i.name, err)
		}
		list = append(list, s)
	}
	// What is not a function must be of the same store, and comes first.
	slices.SortStableFunc(list, func(a, b source) int { return min(int(b.kind), 1) - min(int(a.kind), 1) })
	for i := range list {
		s := &list[i]
		switch {
		case s.from.grp == nil || s.from.grp == m.grp:
		case m.grp == nil:
			m.grp = s.from.grp
		case s.kind != api.ExternTypeFunc:
			return nil, fmt.Errorf("import %s[%s.%s]: waot cannot link what two modules have made that know nothing of each other; instantiate one of them so that it imports something of the other",
				api.ExternTypeName(s.kind), s.module, s.name)
		}
	}
	return list, nil
}

// find is the instance that a module name stands for.
func (r *Runtime) find(resolver experimental.ImportResolver, name string) (*Instance, error) {
	if resolver != nil {
		if x := resolver(name); x != nil {
			if m := Of(x); m != nil {
				return m, nil
			}
			return nil, fmt.Errorf("module[%s] is not of waot", name)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.named[name]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("module[%s] not instantiated", name)
}

// Of returns the instance behind an api.Module; nil if there is none.
func Of(m api.Module) *Instance {
	if x, ok := m.(interface{ itself() *Instance }); ok {
		return x.itself()
	}
	return nil
}

// compatible compares the type of an import with that of what it stands for.
func (mod *Module) compatible(s *source) error {
	sizes := func(min, max uint64, hasMax bool, least, most uint64, hasMost bool) error {
		switch {
		case least > min:
			return fmt.Errorf("minimum size mismatch: %d > %d", least, min)
		case hasMost && !hasMax:
			return fmt.Errorf("maximum size mismatch: %d, but actual has no max", most)
		case hasMost && most < max:
			return fmt.Errorf("maximum size mismatch: %d < %d", most, max)
		}
		return nil
	}
	switch from := s.from.mod; s.kind {
	case api.ExternTypeFunc:
		if want, have := mod.funcs[s.imported.index].typeName(), from.funcs[s.index].typeName(); want != have {
			return fmt.Errorf("signature mismatch: %s != %s", want, have)
		}
		if want := mod.funcs[s.imported.index]; want.objects && (from.host != nil || s.from.grp == nil) {
			return want.objectsError()
		}
	case api.ExternTypeMemory:
		want, have := mod.mems[s.imported.index], from.mems[s.index]
		size := uint64(have.min)
		if mem := s.from.mem.Load(); mem != nil {
			size = mem.mem.Size() >> 16
		}
		return sizes(size, uint64(have.max), true, uint64(want.min), uint64(want.max), true)
	case api.ExternTypeTable:
		want, have := mod.tables[s.imported.index], from.tables[s.index]
		if valueType(want.Elem) != valueType(have.Elem) { // the store compares what they say beyond
			return fmt.Errorf("table type mismatch: %s != %s", want.Elem, have.Elem)
		}
		size := have.Min
		if x, err := s.from.at(host.KindTable, s.index); err == nil {
			size = max(size, uint64(x.(*host.Table).Len()))
			s.from.grp.leave()
		}
		return sizes(size, have.Max, have.HasMax, want.Min, want.Max, want.HasMax)
	case api.ExternTypeGlobal:
		want, have := mod.globals[s.imported.index], from.globals[s.index]
		if want.Mutable != have.Mutable {
			return fmt.Errorf("mutability mismatch: %t != %t", want.Mutable, have.Mutable)
		}
		if valueType(want.Type) != valueType(have.Type) {
			return fmt.Errorf("value type mismatch: %s != %s", want.Type, have.Type)
		}
	}
	return nil
}

// values are the imports as the store takes them.
func (m *Instance) values(list []source) (host.Imports, error) {
	imports := host.Imports{}
	for i := range list {
		s := &list[i]
		if imports[s.module] == nil {
			imports[s.module] = map[string]any{}
		}
		if imports[s.module][s.name] != nil {
			continue
		}
		v, err := m.value(s)
		if err != nil {
			return nil, err
		}
		imports[s.module][s.name] = v
	}
	return imports, nil
}

func (m *Instance) value(s *source) (v any, err error) {
	if h := s.from.mod.host; h != nil {
		return h[s.index].raw(m), nil
	}
	inst := s.from.inst.Load()
	if inst == nil {
		return nil, fmt.Errorf("module[%s] not instantiated", s.module)
	}
	if s.from.grp != m.grp {
		if def := s.from.mod.funcs[s.index]; def.objects {
			return nil, fmt.Errorf("import func[%s.%s]: %w, as between modules that know nothing of each other; instantiate one of them so that it imports something of the other", s.module, s.name, def.objectsError())
		}
		return bridge(s.from, s.name).raw(m), nil
	}
	err = m.grp.enter(func() (err error) { v, err = inst.Export(s.name); return err })
	return v, err
}

// bridge is a function of another store as a Go function.
func bridge(from *Instance, name string) *HostFunc {
	def := from.mod.funcs[from.mod.exports[name].index]
	return &HostFunc{ExportName: name, Params: def.params, Results: def.results, def: def, call: func(ctx context.Context, _ api.Module, stack []uint64) {
		if err := from.ExportedFunction(name).CallWithStack(ctx, stack); err != nil {
			panic(err)
		}
	}}
}
