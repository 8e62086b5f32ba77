package main

import (
	"context"
	"errors"
	"os"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/bench/costs/edges"
)

// waotEngine is waot.
type waotEngine struct{}

func rawSame(_ *waot.Caller, args, results []uint64) error { results[0] = args[0]; return nil }

// Guest makes an instance whose calls end with their context in any case.
func (waotEngine) Guest(wasm []byte, _ bool) (edges.Guest, error) {
	mod, err := waot.Compile(wasm, nil)
	if err != nil {
		return nil, err
	}
	i := &waotInstance{}
	if i.store, err = waot.NewStore(nil); err != nil {
		return nil, err
	}
	long := []waot.ValType{waot.TypeI64, waot.TypeI64}
	i.inst, err = i.store.Instantiate(nil, mod, waot.Imports{"env": {
		"raw": waot.RawFunc{Params: long, Results: long[:1], Func: func(_ *waot.Caller, args, results []uint64) error {
			results[0] = args[0] + args[1]
			return nil
		}},
		"module": waot.RawFunc{Params: long, Results: long[:1], Func: func(c *waot.Caller, args, results []uint64) error {
			results[0] = args[0] + args[1] + c.Memory().Size()
			return nil
		}},
		"typed":  edges.Typed,
		"mixed":  edges.Mixed,
		"extern": waot.RawFunc{Params: []waot.ValType{waot.TypeExternRef}, Results: []waot.ValType{waot.TypeExternRef}, Func: rawSame},
		"func":   waot.RawFunc{Params: []waot.ValType{waot.TypeFuncRef}, Results: []waot.ValType{waot.TypeFuncRef}, Func: rawSame},
	}})
	return i, err
}

// waotInstance is an instance with what it needs.
type waotInstance struct {
	store *waot.Store
	sys   *waot.WASI
	inst  *waot.Instance
}

func (i *waotInstance) Func(name string) (edges.Func, error) {
	f, err := i.inst.Func(name)
	if err != nil {
		return edges.Func{}, err
	}
	return edges.Func{Raw: f.CallRaw, Call: func(ctx context.Context) error {
		_, err := f.Call(ctx, int64(1), int64(2))
		return err
	}}, nil
}

func (i *waotInstance) Ref(kind string) (uint64, error) {
	if kind == "extern" {
		return i.store.ExternRef("a value")
	}
	f, err := i.inst.Func("add")
	if err != nil {
		return 0, err
	}
	return f.Ref(), nil
}

func (i *waotInstance) Reset() error {
	if memory, err := i.inst.Memory("memory"); err == nil {
		for page := uint64(0); page < 20 && page*40_000 < memory.Size(); page++ {
			memory.WriteUint8(uint32(page*40_000), 1)
		}
	}
	if err := i.store.Reset(nil); err != nil || i.sys == nil {
		return err
	}
	return i.sys.Reset()
}

func (i *waotInstance) Close() error {
	if i.sys != nil {
		if err := i.sys.Close(); err != nil {
			return err
		}
	}
	return i.store.Close()
}

// waotProgram is a compiled module.
type waotProgram struct {
	mod   *waot.Module
	wasm  []byte
	cache string
}

func (waotEngine) Program(wasm []byte) (edges.Program, error) {
	p := &waotProgram{wasm: wasm}
	var err error
	if p.mod, err = waot.Compile(wasm, nil); err != nil {
		return nil, err
	}
	if p.cache, err = os.MkdirTemp("", "waot-costs"); err != nil {
		return nil, err
	}
	return p, p.Load()
}

// Instantiate makes an instance in a store of its own, the way to have one that can be dropped.
func (p *waotProgram) Instantiate(wasi bool, stdout *os.File) (edges.Instance, error) {
	i := &waotInstance{}
	var err error
	if i.store, err = waot.NewStore(nil); err != nil {
		return nil, err
	}
	var imports waot.Imports
	if wasi {
		c := &waot.WASIOptions{Args: []string{"program"}}
		if stdout != nil {
			c.Stdout = stdout
		}
		if i.sys, err = waot.NewWASI(c); err != nil {
			return nil, err
		}
		imports = i.sys.ImportsOf(p.mod)
		imports["bench"] = map[string]any{"start": func() {}, "end": func() {}} // for modules of the suite
	}
	i.inst, err = i.store.Instantiate(nil, p.mod, imports)
	return i, err
}

// Load compiles the module out of the cache.
func (p *waotProgram) Load() error {
	cache, err := waot.OpenCache(&waot.CacheOptions{Dir: p.cache})
	if err != nil {
		return err
	}
	m, err := waot.Compile(p.wasm, &waot.CompileOptions{Cache: cache})
	if err != nil {
		return err
	}
	return m.Close()
}

func (p *waotProgram) Close() error { return errors.Join(p.mod.Close(), os.RemoveAll(p.cache)) }
