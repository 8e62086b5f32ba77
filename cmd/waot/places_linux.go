package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasi"
)

// runInterpreter runs the calls on the CLIF interpreter, on what translation gives, with waot's WASI. Of the outcome there are traps with their
// places, and exits. Instantiation and calls together may take no longer than limit; the error is then context.DeadlineExceeded.
func runInterpreter(limit time.Duration, bin []byte, cfg wasirun.Options, calls []call) (*execution, error) {
	o := &execution{Engine: "CLIF interpreter"}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	w, err := wasi.New(wasiOptions(fixed(cfg, io.Discard, io.Discard)))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	mod, err := (&interpengine.Engine{}).Translate(bin)
	if err != nil {
		return nil, err
	}
	store := interp.NewStore(interp.Options{Context: ctx})
	funcs := map[string]*interp.Function{}
	for _, f := range wasi.Functions() {
		params, results := wasi.Types(&f, clif.I32, clif.I64)
		funcs[f.Name] = store.NewHostFunc(f.Name, clif.Signature{Params: params, Results: results},
			func(c *interp.HostCall, args, results []uint64) error {
				var mem []byte
				if x, _ := c.Caller().Export("memory"); x != nil {
					if m, ok := x.(*interp.Memory); ok {
						mem = m.Data
					}
				}
				errno, err := f.Call(w, mem, args)
				if len(results) > 0 {
					results[0] = uint64(errno)
				}
				return err
			})
	}
	inst, err := store.Instantiate(mod.Decl, mod.Body, func(module, name string) (interp.Extern, bool) {
		f, ok := funcs[name]
		return f, ok && module == wasi.ModuleName
	})
	if err == nil {
		if f, ok := inst.Export("_initialize"); ok {
			_, err = f.(*interp.Function).Call(nil)
		}
	}
	if err != nil {
		one, err := interpreted(err)
		o.Start, o.StartPlace = one.String(), one.Place
		return o, err
	}
	for i := range calls {
		f, ok := inst.Export(calls[i].name)
		if !ok {
			return nil, fmt.Errorf("the CLIF interpreter: no exported function %s", calls[i].name)
		}
		var one callOutcome
		if _, err := f.(*interp.Function).Call(calls[i].args); err != nil {
			if one, err = interpreted(err); err != nil {
				return nil, err
			}
		}
		o.Calls = append(o.Calls, one)
	}
	return o, nil
}

// interpreted returns a trap or exit on the CLIF interpreter; the error is one that is neither.
func interpreted(err error) (one callOutcome, _ error) {
	var trap *interp.Trap
	var exit *wasi.ExitError
	switch {
	case errors.As(err, &trap):
		return callOutcome{Trap: trapClass(trap.Code), Place: spectest.PlaceOf(trap)}, nil
	case errors.As(err, &exit):
		return callOutcome{Exit: &exit.Code}, nil
	}
	return one, fmt.Errorf("the CLIF interpreter: %w", err)
}
