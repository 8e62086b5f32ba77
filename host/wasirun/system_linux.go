package wasirun

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasi"
)

// System is what a program can reach: arguments, descriptors, clocks. It serves the instances
// of one store at a time.
type System struct {
	wasi    *wasi.Context
	options Options // of NewSystem
}

// NewSystem opens what the options name; nil stands for the zero Options. The system must be closed. The errors are those of
// opening directories and streams, and of arguments that contain NUL; on other systems than Linux it is host.ErrUnsupported.
func NewSystem(o *Options) (*System, error) {
	s := &System{options: *cmp.Or(o, new(Options))}
	s.options.Args, s.options.Env = slices.Clone(s.options.Args), slices.Clone(s.options.Env)
	var err error
	if s.wasi, err = open(&s.options); err != nil {
		return nil, err
	}
	return s, nil
}

// open opens what the options name.
func open(o *Options) (*wasi.Context, error) {
	w := &wasi.Options{Args: o.Args, Env: o.Env, Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr,
		Sockets: o.Sockets, Walltime: o.Walltime, Monotonic: o.Monotonic, Nanosleep: o.Nanosleep,
		Rand: o.Rand, MaxOpen: o.MaxOpen}
	for _, d := range o.Dirs {
		w.Preopens = append(w.Preopens, wasi.Preopen{Guest: d.Guest, Host: d.Host, Root: d.Root, FS: d.FS, ReadOnly: d.ReadOnly, Devices: d.Devices})
	}
	return wasi.New(w)
}

// Reset makes the system what it was when it was new: descriptors that the program has opened are closed, and what the options of NewSystem name is opened again. What was
// read from a Reader or an *os.File is gone, and what was written stays written. The errors are those of NewSystem, after which the system is closed, and host.ErrClosed.
func (s *System) Reset() error { return s.Reopen(&s.options) }

// Reopen is Reset with other options, such as the arguments and streams of the next run; nil stands for the zero Options. The next Reset is back at those
// of NewSystem.
func (s *System) Reopen(o *Options) error {
	if s.wasi.Closed() {
		return host.ErrClosed
	}
	c, err := open(cmp.Or(o, new(Options)))
	s.wasi.Close()
	if err == nil {
		s.wasi = c
	}
	return err
}

// systemFunc is a function of WASI and its type.
type systemFunc struct {
	wasi.Func
	params, results []host.ValType
}

// systemFuncs are all functions of WASI by name, the same for all systems.
var systemFuncs = sync.OnceValue(func() map[string]*systemFunc {
	list := wasi.Functions()
	all := make(map[string]*systemFunc, len(list))
	for i := range list {
		params, results := wasi.Types(&list[i], host.TypeI32, host.TypeI64)
		all[list[i].Name] = &systemFunc{list[i], params, results}
	}
	return all
})

// Imports are the functions of WASI preview 1, and "waot" "snapshot", which does nothing: it says where a program is to be frozen. The maps are the caller's: more can be added.
func (s *System) Imports() host.Imports {
	all := systemFuncs()
	funcs := make(map[string]any, len(all))
	for name, f := range all {
		funcs[name] = s.importOf(f)
	}
	return host.Imports{wasi.ModuleName: funcs, abi.MarkerModule: {abi.MarkerName: nothing()}}
}

// ImportsOf is Imports without what the module does not import. Most programs import few of the functions, and to make all takes longer than the
// rest of an instance.
func (s *System) ImportsOf(m *host.Module) host.Imports {
	imports := host.Imports{}
	put := func(module, name string, v any) {
		if imports[module] == nil {
			imports[module] = map[string]any{}
		}
		imports[module][name] = v
	}
	all := systemFuncs()
	for _, d := range m.Imports() {
		if f := all[d.Name]; f != nil && d.Module == wasi.ModuleName {
			put(d.Module, d.Name, s.importOf(f))
		} else if d.Module == abi.MarkerModule && d.Name == abi.MarkerName {
			put(d.Module, d.Name, nothing())
		}
	}
	return imports
}

// importOf returns a function of WASI for this system.
func (s *System) importOf(f *systemFunc) host.RawFunc {
	return host.RawFunc{Params: f.params, Results: f.results, Func: s.function(&f.Func)}
}

// nothing returns a function that does nothing.
func nothing() host.RawFunc {
	return host.RawFunc{Func: func(*host.Caller, []uint64, []uint64) error { return nil }}
}

// function returns a function of WASI as one of the host. It ends a wait when the
// call's context ends.
func (s *System) function(w *wasi.Func) func(*host.Caller, []uint64, []uint64) error {
	return func(c *host.Caller, args, results []uint64) error {
		ctx := c.Context()
		s.wasi.SetInterrupt(ctx.Done())
		// WASI's memory is that which the caller exports as "memory"; without one all
		// addresses are faults.
		var errno uint32
		var err error
		c.Memory().Hold(func(mem []byte) { errno, err = w.Call(s.wasi, mem, args) })
		if err != nil {
			return callError(ctx, c, err)
		}
		if len(results) > 0 {
			results[0] = uint64(errno)
		}
		return nil
	}
}

func callError(ctx context.Context, c *host.Caller, err error) error {
	var exit *wasi.ExitError
	switch {
	case errors.As(err, &exit):
		return &ExitError{exit.Code}
	case errors.Is(err, wasi.ErrInterrupted):
		return &host.CancelError{Cause: context.Cause(ctx), Err: ctx.Err(), Backtrace: c.Backtrace()}
	}
	return err
}

// Close closes the descriptors. Functions that are called after that find none.
func (s *System) Close() error { return s.wasi.Close() }
