package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasi"
	"github.com/waot-project/waot/wasmfront"
)

// runInterpreter runs the calls on the CLIF interpreter, on what translation gives, with waot's WASI. Instantiation and calls together may take
// no longer than limit; the error is then context.DeadlineExceeded.
func runInterpreter(limit time.Duration, bin []byte, cfg wasirun.Options, calls []call, at observed) (*execution, error) {
	o := &execution{Engine: "CLIF interpreter"}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	imported := &answers{}
	defer func() {
		o.Stdout, o.Stderr = hashOf(stdout.Bytes()), hashOf(stderr.Bytes())
		imported.note(o)
	}()
	w, err := wasi.New(wasiOptions(fixed(cfg, &stdout, &stderr)))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	mod, err := (&interpengine.Engine{}).Translate(bin)
	if err != nil {
		return nil, err
	}
	store := interp.NewStore(interp.Options{Context: ctx})
	imports, memory, globals, err := imported.underInterpreter(store, bin)
	if err != nil {
		return nil, err
	}
	for _, f := range wasi.Functions() {
		imports[[2]string{wasi.ModuleName, f.Name}] = wasiUnderInterpreter(store, w, &f)
	}
	inst, err := store.Instantiate(mod.Decl, mod.Body, func(module, name string) (interp.Extern, bool) {
		x, ok := imports[[2]string{module, name}]
		return x, ok
	})
	if err == nil {
		if f, ok := inst.Export("_initialize"); ok {
			_, err = f.(*interp.Function).Call(nil)
		}
	}
	if err != nil {
		one, err := interpreted(inst, err)
		o.Start, o.StartPlace = one.String(), one.Place
		return o, err
	}
	for i := range calls {
		f, ok := inst.Export(calls[i].name)
		if !ok {
			return nil, fmt.Errorf("the CLIF interpreter: no exported function %q", calls[i].name)
		}
		var one callOutcome
		sig := f.(*interp.Function).Signature()
		t := meta.FuncType{Params: clif.ValTypesOf(sig.Params), Results: clif.ValTypesOf(sig.Results)}
		if results, err := f.(*interp.Function).Call(calls[i].args); err == nil {
			one.Results = formatValues(t.Results, results)
		} else if one, err = interpreted(inst, err); err != nil {
			return nil, err
		}
		one.Call = calls[i].describe(&t)
		o.Calls = append(o.Calls, one)
	}
	if x, ok := inst.Export(at.memory); ok {
		memory = x.(*interp.Memory)
	}
	if memory != nil {
		o.Memory = hashOf(memory.Data)
	}
	note := func(name string, g *interp.Global) {
		o.Globals = append(o.Globals, globalOutcome{name, formatValue(clif.ValTypesOf([]clif.Type{g.Type})[0], []uint64{g.Bits, g.High})})
	}
	for _, name := range at.globals {
		if x, ok := inst.Export(name); ok {
			note(name, x.(*interp.Global))
		}
	}
	for _, name := range globals {
		note(lentName(name[0], name[1]), imports[name].(*interp.Global))
	}
	return o, nil
}

// wasiUnderInterpreter returns a function of WASI as one of the interpreter's.
func wasiUnderInterpreter(store *interp.Store, w *wasi.Context, f *wasi.Func) *interp.Function {
	params, results := wasi.Types(f, clif.I32, clif.I64)
	return store.NewHostFunc(f.Name, clif.Signature{Params: params, Results: results},
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

// underInterpreter returns the stand-ins for a module in the interpreter, by module and name, and which of them to look at at the end.
func (a *answers) underInterpreter(store *interp.Store, bin []byte) (imports map[[2]string]interp.Extern, memory *interp.Memory, globals [][2]string, err error) {
	list, err := standInsOf(bin)
	if err != nil {
		return nil, nil, nil, err
	}
	imports = map[[2]string]interp.Extern{}
	for i := range list {
		s := &list[i]
		var sig clif.Signature
		for _, t := range s.params {
			sig.Params = append(sig.Params, clif.TypeOf(t))
		}
		for _, t := range s.results {
			sig.Results = append(sig.Results, clif.TypeOf(t))
		}
		imports[[2]string{s.module, s.name}] = store.NewHostFunc(s.name, sig, func(_ *interp.HostCall, args, results []uint64) error {
			a.answer(s, args, results)
			return nil
		})
	}
	m, err := wasmfront.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil {
		return nil, nil, nil, err
	}
	count := 0
	for i := range m.Imports {
		imp := &m.Imports[i]
		name := [2]string{imp.Module, imp.Name}
		switch imp.Kind {
		case abi.ExternMemory:
			t := &m.Memories[imp.Index]
			memory = interp.NewMemory(t.Min, t.Max, t.HasMax)
			imports[name] = memory
		case abi.ExternTable:
			t := &m.Tables[imp.Index]
			imports[name] = interp.NewTable(clif.TypeOf(t.Elem), t.Min, t.Max, t.HasMax)
		case abi.ExternGlobal:
			t := &m.Globals[imp.Index]
			low, high := lentValue(t.Type, count)
			imports[name] = &interp.Global{Type: clif.TypeOf(t.Type), Mutable: t.Mutable, Bits: low, High: high}
			if !t.Type.IsRef() {
				globals = append(globals, name)
			}
			count++
		}
	}
	return imports, memory, globals, nil
}

// interpreted returns a trap, an exception of an instance, which may be nil, or an exit on the CLIF interpreter; the error is one that is neither.
func interpreted(inst *interp.Instance, err error) (one callOutcome, _ error) {
	var trap *interp.Trap
	var exit *wasi.ExitError
	var thrown *interp.Exception
	switch {
	case errors.As(err, &trap):
		return callOutcome{Trap: trapClass(trap.Code), Place: spectest.PlaceOf(trap)}, nil
	case errors.As(err, &thrown):
		if inst == nil {
			return callOutcome{Exception: unknownException}, nil
		}
		tag := slices.Index(inst.Tags(), thrown.Tag())
		return callOutcome{Exception: exceptionText(tag, clif.ValTypesOf(thrown.Tag().Signature().Params), thrown.Args())}, nil
	case errors.As(err, &exit):
		return callOutcome{Exit: &exit.Code}, nil
	}
	return one, fmt.Errorf("the CLIF interpreter: %w", err)
}
