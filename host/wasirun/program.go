package wasirun

import (
	"context"
	"errors"
	"maps"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
)

// Program is an instantiated program with a store and a system of its own. It is
// for one goroutine at a time.
type Program struct {
	system *System
	store  *host.Store
	inst   *host.Instance
}

// New loads an image and instantiates it: its start function, and _initialize if
// exported, have run. more is what it imports beside WASI. Close must follow unless
// there is an error. When ctx ends, so do these functions; it may be nil. Errors are
// those of packages host and wasi; a program may also exit
// already, which is an *ExitError.
func New(ctx context.Context, img *inproc.Image, cfg Config, more ...host.Imports) (*Program, error) {
	p := &Program{}
	if err := p.setUp(ctx, img, cfg, more); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Program) setUp(ctx context.Context, img *inproc.Image, cfg Config, more []host.Imports) (err error) {
	if p.system, err = NewSystem(cfg); err != nil {
		return err
	}
	if p.store, err = host.NewStore(host.Config{}); err != nil {
		return err
	}
	mod, err := host.LoadImage(img)
	if err != nil {
		return err
	}
	defer mod.Close()
	imports := p.system.Imports()
	for _, m := range more {
		maps.Copy(imports, m)
	}
	if p.inst, err = p.store.Instantiate(ctx, mod, imports); err != nil {
		return err
	}
	return p.system.Initialize(ctx, p.inst)
}

// Instance is the program's instance.
func (p *Program) Instance() *inproc.Instance { return (*inproc.Instance)(p.inst) }

// Run runs the program's _start until it ends or ctx does, and gives its exit status; see
// System.Start. ctx may be nil.
func (p *Program) Run(ctx context.Context) (status uint32, err error) {
	return p.system.Start(ctx, p.inst)
}

// Call calls a function of the program. If the program exits, the error is an
// *ExitError.
func (p *Program) Call(ctx context.Context, f *inproc.Func, args, results []uint64) error {
	return f.CallContext(ctx, args, results)
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

// Run runs a program from load to exit and gives its exit status. See New and
// Program.Run for errors; ctx may be nil.
func Run(ctx context.Context, img *inproc.Image, cfg Config, more ...host.Imports) (status uint32, err error) {
	p, err := New(ctx, img, cfg, more...)
	if err != nil {
		return exitStatus(err)
	}
	status, err = p.Run(ctx)
	return status, errors.Join(err, p.Close())
}
