package wasirun

import (
	"context"
	"errors"
	"maps"

	"github.com/waot-project/waot/host"
)

// Program is an instantiated program with a store and a system of its own. It is
// for one goroutine at a time.
type Program struct {
	system *System
	store  *host.Store
	inst   *host.Instance
}

// New instantiates a module: its start function, and _initialize if
// exported, have run. o may be nil. more is what the module imports beside WASI. Close must follow unless
// there is an error. When ctx ends, so do these functions; it may be nil. The errors are
// those of NewSystem, host.NewStore and Store.Instantiate. A program may exit
// already, which is an *ExitError.
func New(ctx context.Context, mod *host.Module, o *Options, more ...host.Imports) (*Program, error) {
	p := &Program{}
	if err := p.setUp(ctx, mod, o, more); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Program) setUp(ctx context.Context, mod *host.Module, o *Options, more []host.Imports) (err error) {
	if p.system, err = NewSystem(o); err != nil {
		return err
	}
	var limits *host.StoreOptions
	if o != nil {
		limits = o.Store
	}
	if p.store, err = host.NewStore(limits); err != nil {
		return err
	}
	imports := p.system.ImportsOf(mod)
	for _, m := range more {
		maps.Copy(imports, m)
	}
	if p.inst, err = p.store.Instantiate(ctx, mod, imports); err != nil {
		return err
	}
	return p.system.Initialize(ctx, p.inst)
}

// Instance returns the program's instance.
func (p *Program) Instance() *host.Instance { return p.inst }

// Run runs the program's _start until it ends or ctx does, and returns its exit status; see
// System.Start. ctx may be nil.
func (p *Program) Run(ctx context.Context) (status uint32, err error) {
	return p.system.Start(ctx, p.inst)
}

// Close releases everything: instance, memory and descriptors.
func (p *Program) Close() error {
	var errs [2]error
	if p.store != nil {
		errs[0] = p.store.Close()
	}
	if p.system != nil {
		errs[1] = p.system.Close()
	}
	return errors.Join(errs[:]...)
}

// Run instantiates a program, runs it until it exits, and returns its exit status. See New and
// Program.Run for parameters and errors. Any number of goroutines may run one module at one time.
func Run(ctx context.Context, mod *host.Module, o *Options, more ...host.Imports) (status uint32, err error) {
	p, err := New(ctx, mod, o, more...)
	if err != nil {
		return exitStatus(err)
	}
	status, err = p.Run(ctx)
	return status, errors.Join(err, p.Close())
}
