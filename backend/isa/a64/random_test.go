package a64_test

import (
	"errors"
	"flag"
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/filetest"
	"github.com/waot-project/waot/internal/proof/isatest"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest/interpengine"
)

var randomModules = flag.Uint64("modules", 20, "number of random modules")

// TestRandom compares random modules, compiled without and with the mid-end, with the interpreter.
func TestRandom(t *testing.T) {
	needEmulator(t)
	for seed := range *randomModules {
		cfg := wasmgen.Config{Size: []int{30, 120, 250}[seed%3], NoTraps: seed%4 != 0}
		level := opt.O1
		if seed%5 == 0 {
			level = opt.O0
		}
		if err := randomModule(wasmgen.Generate(seed, cfg), level); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// randomModule runs a program on the interpreter and compiled, and says what is different.
func randomModule(p *wasmgen.Program, level opt.Level) error {
	var e interpengine.Engine
	ref, err := e.Translate(p.Wasm)
	if err != nil {
		return err
	}
	inst, err := reference(ref)
	if err != nil {
		return err
	}
	mod, err := e.Translate(p.Wasm) // the mid-end changes it
	if err != nil {
		return err
	}
	o := options
	o.OptLevel = level
	r, err := compile.CLIF(mod.Decl, mod.Body, o)
	if err != nil {
		return err
	}
	im, err := newImage(mod.Decl, r, echo)
	if err != nil {
		return err
	}
	defer im.Close()
	if err := im.start(); err != nil {
		return err
	}
	for n, c := range p.Calls {
		for _, name := range []string{"reset", c.Export} {
			args := c.Args
			if name == "reset" {
				args = nil
			}
			fn, ok := exported(mod.Decl, abi.ExternFunc, name)
			if !ok {
				return fmt.Errorf("no export %s", name)
			}
			want, err := inst.Func(clif.FuncIndex(fn)).Call(append([]uint64(nil), args...))
			text := fmt.Sprintf("%#x", want)
			var tr *interp.Trap
			if errors.As(err, &tr) {
				text = "trap " + tr.Code.String()
			} else if err != nil {
				return err
			}
			if got := isatest.Describe(im.Call(clif.FuncIndex(fn), args...)); got != text {
				return fmt.Errorf("call %d: %s%#x = %s, want %s", n, c.Export, args, got, text)
			}
		}
	}
	for _, name := range p.Globals {
		g, _ := exported(mod.Decl, abi.ExternGlobal, name)
		if mod.Decl.Globals[g].Import != nil {
			continue
		}
		if got, want := im.Global(int(g)), inst.Global(clif.GlobalIndex(g)).Bits; got != want {
			return fmt.Errorf("global %s = %#x, want %#x", name, got, want)
		}
	}
	im.sendDigest(0, 0)
	im.proc.flush()
	size, sum := im.proc.word(), im.proc.word()
	if w := inst.Memory(0).Data; uint64(len(w)) != size || digest(w) != sum {
		return errors.New("memory differs")
	}
	return nil
}

// exported returns the index of an export.
func exported(m *clif.Module, kind abi.ExternKind, name string) (uint32, bool) {
	for _, x := range m.Exports {
		if x.Kind == kind && x.Name == name {
			return x.Index, true
		}
	}
	return 0, false
}

// reference returns an instance on the interpreter, with imports like those of image.
func reference(m *interpengine.Module) (*interp.Instance, error) {
	s := interp.NewStore(interp.Options{})
	d := m.Decl
	externs := map[clif.ImportName]interp.Extern{}
	for i := range d.NumImportedFuncs {
		sig := *d.FuncSig(clif.FuncIndex(i))
		externs[*d.Funcs[i].Import] = s.NewHostFunc("", sig, func(_ *interp.HostCall, args, results []uint64) error {
			filetest.Echo(&sig, args, results)
			return nil
		})
	}
	for i := range d.Memories {
		if x := &d.Memories[i]; x.Import != nil {
			externs[*x.Import] = interp.NewMemory(x.Min, x.Max, x.HasMax)
		}
	}
	for i := range d.Tables {
		if x := &d.Tables[i]; x.Import != nil {
			externs[*x.Import] = interp.NewTable(x.Elem, x.Min, x.Max, x.HasMax)
		}
	}
	for i := range d.Globals {
		if x := &d.Globals[i]; x.Import != nil {
			externs[*x.Import] = &interp.Global{Type: x.Type, Mutable: x.Mutable}
		}
	}
	return s.Instantiate(d, m.Body, func(module, name string) (interp.Extern, bool) {
		e, ok := externs[clif.ImportName{Module: module, Name: name}]
		return e, ok
	})
}
