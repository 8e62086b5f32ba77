package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
)

// wasiModule is the name of WASI as a module; package wasi, which is for Linux, says so too.
const wasiModule = "wasi_snapshot_preview1"

// guest is a program that waot run runs.
type guest struct {
	system *wasirun.System
	store  *host.Store
	inst   *host.Instance
	counts bool // fuel
}

// guestOptions say what a guest has for imports.
type guestOptions struct {
	stub     bool      // functions that are missing trap when they are called
	answers  *answers  // if not nil, stand in for what is missing
	standIns io.Writer // gets a line for each call of a function that has a stand-in, or nil
	trace    io.Writer // gets a line for each call of the host, or nil
	strings  string    // module whose globals are constant strings of JavaScript, or "" for the default
	stack    uint64    // bytes of stack, or 0 for the default
	fuel     uint64    // units, for code that counts them
}

// newGuest instantiates a module.
func newGuest(ctx context.Context, mod *host.Module, cfg *wasirun.Options, o guestOptions) (*guest, error) {
	g := &guest{counts: mod.CountsFuel()}
	if err := g.setUp(ctx, mod, cfg, o); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *guest) setUp(ctx context.Context, mod *host.Module, cfg *wasirun.Options, o guestOptions) (err error) {
	if g.system, err = wasirun.NewSystem(cfg); err != nil {
		return err
	}
	if g.store, err = host.NewStore(&host.StoreOptions{MaxStack: o.stack, Fuel: o.fuel}); err != nil {
		return err
	}
	imports := g.system.Imports()
	if o.answers != nil {
		others := host.Imports{}
		if err := o.answers.imports(others, g.store, mod); err != nil {
			return err
		}
		if o.standIns != nil {
			traced(others, o.standIns)
		}
		merge(imports, others)
	} else if err := addStrings(imports, g.store, mod, o.strings); err != nil {
		return err
	}
	if err := complete(imports, mod, o.stub); err != nil {
		return err
	}
	if o.trace != nil {
		traced(imports, o.trace)
	}
	if g.inst, err = g.store.Instantiate(ctx, mod, imports); err != nil {
		return err
	}
	return g.system.Initialize(ctx, g.inst)
}

// merge adds imports, in the place of those of the same names.
func merge(imports, others host.Imports) {
	for module, list := range others {
		if imports[module] == nil {
			imports[module] = list
		}
		maps.Copy(imports[module], list)
	}
}

func (g *guest) close() {
	if g.store != nil {
		g.store.Close()
	}
	if g.system != nil {
		g.system.Close()
	}
}

// start runs _start, and returns the exit status.
func (g *guest) start(ctx context.Context) (uint32, error) {
	f, err := g.inst.Func("_start")
	if err == nil {
		if t := f.Type(); len(t.Params)+len(t.Results) > 0 {
			return 0, fmt.Errorf("_start is %v; a program's has neither parameters nor results: call it with --invoke _start", t)
		}
	}
	return g.system.Start(ctx, g.inst)
}

// complete adds functions for what is missing, or returns a *missingError.
func complete(imports host.Imports, mod *host.Module, stub bool) error {
	var missing []host.ImportType
	for _, d := range mod.Imports() {
		if imports[d.Module][d.Name] != nil {
			continue
		}
		if !stub || d.Type.Kind != host.KindFunc {
			missing = append(missing, d)
			continue
		}
		if imports[d.Module] == nil {
			imports[d.Module] = map[string]any{}
		}
		imports[d.Module][d.Name] = host.RawFunc{Params: classes(d.Type.Func.Params), Results: classes(d.Type.Func.Results), Func: func(c *host.Caller, _, _ []uint64) error {
			return &stubError{d.Module, d.Name, framesOf(c.Backtrace())}
		}}
	}
	if missing != nil {
		return &missingError{missing}
	}
	return nil
}

// classes returns types as a RawFunc has them, whatever an import's say beyond.
func classes(types []host.ValType) []host.ValType {
	out := make([]host.ValType, len(types))
	for i, t := range types {
		out[i] = t.Base()
	}
	return out
}

// traced makes each function tell of its calls.
func traced(imports host.Imports, w io.Writer) {
	for module, functions := range imports {
		for name, x := range functions {
			f, ok := x.(host.RawFunc)
			if !ok {
				continue
			}
			call := f.Func
			what := quote.Name(module) + "." + quote.Name(name)
			if module == wasiModule {
				what = quote.Name(name)
			}
			f.Func = func(c *host.Caller, args, results []uint64) error {
				text := what + "(" + strings.Join(formatWords(c.Store(), f.Params, args), ", ") + ")"
				err := call(c, args, results)
				if err != nil {
					fmt.Fprintf(w, "waot: %s: %v\n", text, err)
				} else {
					fmt.Fprintf(w, "waot: %s = %s\n", text, strings.Join(formatWords(c.Store(), f.Results, results), ", "))
				}
				return err
			}
			functions[name] = f
		}
	}
}

// formatWords writes values without their types.
func formatWords(s *host.Store, types []host.ValType, words []uint64) []string {
	list := make([]meta.ValType, len(types))
	for i, t := range types {
		list[i] = meta.ValType(t)
	}
	texts := formatValuesOf(s, list, words)
	for i := range texts {
		_, texts[i], _ = strings.Cut(texts[i], ":")
	}
	return texts
}
