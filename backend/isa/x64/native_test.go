//go:build linux && amd64

package x64_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
)

// valTypes are the types of values as hosts name them.
var valTypes = [clif.NumTypes]meta.ValType{clif.I32: meta.I32, clif.I64: meta.I64, clif.F32: meta.F32,
	clif.F64: meta.F64, clif.V128: meta.V128, clif.FuncRef: meta.FuncRef, clif.Ref: meta.ExternRef}

func valTypesOf(ts []clif.Type) (out []meta.ValType) {
	for _, t := range ts {
		out = append(out, valTypes[t])
	}
	return out
}

// image is a compiled module, with an instance of it once start is called. Everything is exported
// under its entity's name.
type image struct {
	mod    *clif.Module
	result *compile.Result
	loaded *inproc.Module
	store  *inproc.Store
	inst   *inproc.Instance
}

// exportAll makes all of m's entities visible to the host.
func exportAll(m *clif.Module) {
	m.Exports = nil
	add := func(kind clif.ExportKind, prefix string, n int) {
		for i := range n {
			m.Exports = append(m.Exports, clif.Export{Name: fmt.Sprint(prefix, i), Kind: kind, Index: uint32(i)})
		}
	}
	add(clif.ExportFunc, "fn", len(m.Funcs))
	add(clif.ExportMemory, "mem", len(m.Memories))
	add(clif.ExportTable, "table", len(m.Tables))
	add(clif.ExportGlobal, "global", len(m.Globals))
}

// compileCLIF compiles a module for level cpu of the processor.
func compileCLIF(m *clif.Module, body compile.Bodies, o compile.Options) (*image, error) {
	exportAll(m)
	r, err := compile.CLIF(m, body, o)
	if err != nil {
		return nil, err
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return nil, err
	}
	mod, err := inproc.Load(img)
	if err != nil {
		return nil, err
	}
	return &image{mod: m, result: r, loaded: mod}, nil
}

// start makes an instance; functions are what imported functions do, all other imports are
// fresh.
func (im *image) start(fn func(sig *clif.Signature, args, results []uint64)) error {
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		return err
	}
	im.store = s
	m := im.mod
	externs := map[clif.ImportName]inproc.Extern{}
	put := func(n *clif.ImportName, make func() (inproc.Extern, error)) {
		if n != nil && err == nil {
			externs[*n], err = make()
		}
	}
	for i := range m.Funcs {
		put(m.Funcs[i].Import, func() (inproc.Extern, error) {
			sig := m.FuncSig(clif.FuncIndex(i))
			t := meta.FuncType{Params: valTypesOf(sig.Params), Results: valTypesOf(sig.Results)}
			return s.NewHostFunc(t, func(_ *inproc.Caller, args, results []uint64) error {
				fn(sig, args, results)
				return nil
			})
		})
	}
	for i := range m.Memories {
		d := &m.Memories[i]
		put(d.Import, func() (inproc.Extern, error) {
			return s.NewMemory(inproc.Limits{Min: d.Min, Max: d.Max, HasMax: d.HasMax})
		})
	}
	for i := range m.Tables {
		d := &m.Tables[i]
		put(d.Import, func() (inproc.Extern, error) {
			return s.NewTable(valTypes[d.Elem], inproc.Limits{Min: d.Min, Max: d.Max, HasMax: d.HasMax})
		})
	}
	for i := range m.Globals {
		d := &m.Globals[i]
		put(d.Import, func() (inproc.Extern, error) { return s.NewGlobal(valTypes[d.Type], d.Mutable, 0) })
	}
	if err == nil {
		im.inst, err = s.Instantiate(im.loaded, func(module, name string) inproc.Extern {
			return externs[clif.ImportName{Module: module, Name: name}]
		})
	}
	return err
}

// Call calls function i with the bits of its arguments.
func (im *image) Call(i clif.FuncIndex, args ...uint64) (results []uint64, trap *inproc.Trap, err error) {
	f, err := im.inst.Func(fmt.Sprint("fn", uint32(i)))
	if err != nil {
		return nil, nil, err
	}
	results = make([]uint64, len(im.mod.FuncSig(i).Results))
	err = f.Call(args, results)
	if errors.As(err, &trap) {
		return nil, trap, nil
	}
	return results, nil, err
}

// Memory is the first n bytes of memory i.
func (im *image) Memory(i, n int) []byte {
	m, err := im.inst.Memory(fmt.Sprint("mem", i))
	if err != nil {
		panic(err)
	}
	return m.Bytes()[:n]
}

// Global is the bits of global i.
func (im *image) Global(i int) uint64 {
	g, err := im.inst.Global(fmt.Sprint("global", i))
	if err != nil {
		panic(err)
	}
	return g.Get()
}

// Code is the bytes of function i.
func (im *image) Code(i clif.FuncIndex) []byte {
	o, f := im.result.Object, &im.result.Meta.Funcs[i]
	return o.Sections[o.SectionIndex(".text")].Data[f.Text : f.Text+f.Size]
}

func (im *image) stop() {
	if im.store != nil {
		im.store.Close()
		im.store, im.inst = nil, nil
	}
}

// Close ends the instance and unmaps the module.
func (im *image) Close() {
	im.stop()
	im.loaded.Close()
}

// module builds functions for a test.
type module struct {
	clif.Module
	funcs []*clif.Func // from function base on
	base  int
}

// fn adds a function; build fills it and gets its parameters.
func (m *module) fn(params, results []clif.Type, build func(b *clif.Builder, p []clif.Value)) clif.FuncIndex {
	m.Sigs = append(m.Sigs, clif.Signature{Params: params, Results: results})
	sig := clif.SigIndex(len(m.Sigs) - 1)
	m.Funcs = append(m.Funcs, clif.FuncDecl{Sig: sig, Addressed: true})
	f := &clif.Func{Mod: &m.Module, Sig: sig, Index: clif.FuncIndex(len(m.Funcs) - 1)}
	m.funcs = append(m.funcs, f)
	b := &clif.Builder{F: f}
	blk := b.NewBlock()
	b.SwitchTo(blk)
	var vs []clif.Value
	for _, t := range params {
		vs = append(vs, b.AddParam(blk, t))
	}
	build(b, vs)
	return f.Index
}

// body is a compile.Bodies.
func (m *module) body(i clif.FuncIndex) (*clif.Func, error) { return m.funcs[int(i)-m.base], nil }

// addInit adds the init function, which does nothing. No function can be added then.
func (m *module) addInit() {
	m.fn(nil, nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) })
	m.Funcs[len(m.Funcs)-1].Addressed = false
}

// cpus are the levels of the processor that tests run on.
var cpus = []string{"v2", "v3"}

// compile makes an instance of m, whose last function is its init function, without changing the
// functions; nil if this processor cannot run it. Imported functions return three times their argument.
func (m *module) compile(t testing.TB, cpu string, verify bool) *image {
	t.Helper()
	im, err := compileCLIF(&m.Module, m.body, compile.Options{CPU: cpu, OptLevel: opt.O0, Fixpoint: true, Verify: verify, Jobs: 1})
	if err == nil {
		err = im.start(func(_ *clif.Signature, args, results []uint64) { results[0] = 3 * args[0] })
	}
	var c *inproc.CPUError
	if errors.As(err, &c) {
		t.Log(err)
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return im
}

// outcome is the text of a call's outcome.
func outcome(im *image, fn clif.FuncIndex, args ...uint64) string {
	res, trap, err := im.Call(fn, args...)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case trap != nil:
		return "trap " + trap.Code.String()
	}
	return fmt.Sprintf("%#x", res)
}
