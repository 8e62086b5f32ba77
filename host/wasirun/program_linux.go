package wasirun

import (
	"errors"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/wasi"
)

// Program is an instantiated program with a store and a WASI context of its own.
// It is for one goroutine at a time.
type Program struct {
	store  *inproc.Store
	inst   *inproc.Instance
	others inproc.Resolver

	wasi  *wasi.Context
	funcs map[string]*wasi.Func
	made  map[string]*inproc.Func

	// caller is the instance that called WASI last, mem its exported memory or nil.
	caller *inproc.Instance
	mem    *inproc.Memory
	err    error // of making a host function
}

// New loads an image and instantiates it: its start function, and _initialize if
// exported, have run. Close must follow unless there is an error. Errors are those of
// inproc and wasi; a program may also exit already, which is an *ExitError.
func New(img *inproc.Image, cfg Config) (*Program, error) {
	p := &Program{funcs: map[string]*wasi.Func{}, made: map[string]*inproc.Func{}}
	if err := p.setUp(img, cfg); err != nil {
		p.Close()
		return nil, exitError(err)
	}
	return p, nil
}

func (p *Program) setUp(img *inproc.Image, cfg Config) (err error) {
	list := wasi.Functions()
	for i := range list {
		p.funcs[list[i].Name] = &list[i]
	}
	w := wasi.Config{Args: cfg.Args, Env: cfg.Env, Stdin: cfg.Stdin, Stdout: cfg.Stdout, Stderr: cfg.Stderr,
		Walltime: cfg.Walltime, Monotonic: cfg.Monotonic, Rand: cfg.Rand}
	for _, d := range cfg.Dirs {
		w.Preopens = append(w.Preopens, wasi.Preopen{Guest: d.Guest, Host: d.Host, ReadOnly: d.ReadOnly})
	}
	if p.wasi, err = wasi.New(w); err != nil {
		return err
	}
	if p.store, err = inproc.NewStore(cfg.Store); err != nil {
		return err
	}
	if cfg.Imports != nil {
		if p.others, err = cfg.Imports(p.store); err != nil {
			return err
		}
	}
	m, err := p.store.Load(img)
	if err != nil {
		return err
	}
	if p.inst, err = p.store.Instantiate(m, p.resolve); err != nil {
		return errors.Join(p.err, err)
	}
	if f, err := p.inst.Func("_initialize"); err == nil {
		return f.Call(nil, nil)
	}
	return nil
}

// Instance is the program's instance.
func (p *Program) Instance() *inproc.Instance { return p.inst }

// Run runs the program's _start and gives its exit status. A trap is an
// *inproc.Trap; a module without _start gives ErrNoStart.
func (p *Program) Run() (status uint32, err error) {
	f, err := p.inst.Func("_start")
	if err != nil {
		return 0, ErrNoStart
	}
	err = p.Call(f, nil, nil)
	var exit *ExitError
	if errors.As(err, &exit) {
		return exit.Status, nil
	}
	return 0, err
}

// Call calls a function of the program. If the program exits, the error is an
// *ExitError.
func (p *Program) Call(f *inproc.Func, args, results []uint64) error {
	return exitError(f.Call(args, results))
}

// Close releases everything: instance, memory and descriptors.
func (p *Program) Close() error {
	var errs [2]error
	if p.store != nil {
		errs[0] = p.store.Close()
	}
	if p.wasi != nil {
		errs[1] = p.wasi.Close()
	}
	return errors.Join(errs[:]...)
}

// exitError makes an *ExitError of the one of package wasi.
func exitError(err error) error {
	var exit *wasi.ExitError
	if errors.As(err, &exit) {
		return &ExitError{exit.Code}
	}
	return err
}

// resolve gives what an import names.
func (p *Program) resolve(module, name string) inproc.Extern {
	if module != wasi.ModuleName {
		if p.others == nil {
			return nil
		}
		return p.others(module, name)
	}
	if f := p.made[name]; f != nil {
		return f
	}
	w := p.funcs[name]
	if w == nil {
		return nil
	}
	f, err := p.store.NewHostFunc(funcType(w), p.hostFunc(w))
	if err != nil {
		p.err = errors.Join(p.err, err)
		return nil
	}
	p.made[name] = f
	return f
}

// hostFunc is a function of WASI as one of the host.
func (p *Program) hostFunc(w *wasi.Func) inproc.HostFunc {
	return func(c *inproc.Caller, args, results []uint64) error {
		errno, err := w.Call(p.wasi, p.memory(c.Instance()), args)
		if len(results) > 0 {
			results[0] = uint64(errno)
		}
		return err
	}
}

// memory is the memory that the calling instance exports under the name "memory", as
// WASI has it; without one, all addresses are faults.
func (p *Program) memory(caller *inproc.Instance) []byte {
	if caller == nil {
		return nil
	}
	if caller != p.caller {
		p.caller = caller
		p.mem, _ = caller.Memory("memory")
	}
	if p.mem == nil {
		return nil
	}
	return p.mem.Bytes()
}

func funcType(w *wasi.Func) meta.FuncType {
	return meta.FuncType{Params: valTypes(w.Params), Results: valTypes(w.Results)}
}

func valTypes(s string) []meta.ValType {
	var out []meta.ValType
	for _, c := range s {
		if c == 'I' {
			out = append(out, meta.I64)
		} else {
			out = append(out, meta.I32)
		}
	}
	return out
}
