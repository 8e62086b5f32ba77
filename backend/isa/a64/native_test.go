package a64_test

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// options are those of tests of the back end alone.
var options = compile.Options{Target: compile.TargetA64, OptLevel: opt.O0, Fixpoint: true, Verify: true, Jobs: 1}

// compileCLIF compiles a module; imported functions do as host says.
func compileCLIF(m *clif.Module, body compile.Bodies, o compile.Options, host hosted) (*image, error) {
	r, err := compile.CLIF(m, body, o)
	if err != nil {
		return nil, err
	}
	return newImage(m, r, host)
}

// Code is the words of function i.
func (im *image) Code(i clif.FuncIndex) string {
	o, f := im.result.Object, &im.result.Meta.Funcs[i]
	b := o.Sections[o.SectionIndex(".text")].Data[f.Text : f.Text+f.Size]
	var s []byte
	for ; len(b) >= 4; b = b[4:] {
		s = fmt.Appendf(s, "0x%02x 0x%02x 0x%02x 0x%02x\n", b[0], b[1], b[2], b[3])
	}
	return string(s)
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

// compile makes an instance of m, whose last function is its init function, without changing the
// functions. Imported functions return three times their argument.
func (m *module) compile(t testing.TB, verify bool) *image {
	t.Helper()
	needEmulator(t)
	o := options
	o.Verify = verify
	im, err := compileCLIF(&m.Module, m.body, o, triple)
	if err == nil {
		err = im.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return im
}
