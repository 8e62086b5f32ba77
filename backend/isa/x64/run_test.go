//go:build linux && amd64

package x64_test

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/backend/isa/x64/x64test"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc/linear"
)

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

// fired collects the names of rules that fired in any test.
var fired = map[string]int{}

// features are the processor levels that tests run on.
func features() map[string]asm.Feature {
	return map[string]asm.Feature{"v2": x64.V2, "v3": x64.V3}
}

// compile makes an image of m for the given features.
func (m *module) compile(t testing.TB, f asm.Feature) *x64test.Image {
	t.Helper()
	im := x64test.New(&m.Module)
	opt := backend.Options{Allocator: linear.New(), Fixpoint: true, Verify: true}
	opt.Trace = &backend.Trace{Rule: func(n string) { fired[n]++ }}
	layout := instance.New(&m.Module)
	c := backend.New(x64.New(f), layout, &m.Module, opt)
	for _, fn := range m.funcs {
		code, err := c.Compile(fn)
		if err != nil {
			opt.Trace.Allocated = func(_ *clif.Func, s string) { t.Log(s) }
			opt.Trace.VCode = opt.Trace.Allocated
			_, _ = backend.New(x64.New(f), layout, &m.Module, opt).Compile(fn)
			t.Fatal(err)
		}
		im.Add(fn.Index, code)
	}
	im.Link()
	return im
}

// stackMaps compiles all and returns the stack maps of function fn.
func (m *module) stackMaps(t testing.TB, fn clif.FuncIndex) (maps []backend.CodeStackMap) {
	t.Helper()
	c := backend.New(x64.New(x64.V2), instance.New(&m.Module), &m.Module, backend.Options{Allocator: linear.New()})
	code, err := c.Compile(m.funcs[int(fn)-m.base])
	if err != nil {
		t.Fatal(err)
	}
	return code.StackMaps
}

// outcome is the text of a call's outcome.
func outcome(im *x64test.Image, fn clif.FuncIndex, args ...uint64) string {
	res, trap, err := im.Call(fn, args...)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case trap != nil:
		return "trap " + trap.Code.String()
	}
	return fmt.Sprintf("%#x", res)
}

var (
	i32 = []clif.Type{clif.I32}
	i64 = []clif.Type{clif.I64}
)

func TestSmoke(t *testing.T) {
	m := &module{}
	add := m.fn([]clif.Type{clif.I32, clif.I32}, i32, func(b *clif.Builder, p []clif.Value) {
		b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I32, p[0], p[1])})
	})
	sum := m.fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		// for (s = 0; n != 0; n--) s += n
		head, exit := b.NewBlock(), b.NewBlock()
		zero := b.Iconst(clif.I32, 0)
		b.Jump(b.Target(head, []clif.Value{p[0], zero}))
		b.SwitchTo(head)
		n, s := b.AddParam(head, clif.I32), b.AddParam(head, clif.I32)
		s2 := b.Binary(clif.OpIadd, clif.I32, s, n)
		n2 := b.Binary(clif.OpIsub, clif.I32, n, b.Iconst(clif.I32, 1))
		b.Branch(n2, b.Target(head, []clif.Value{n2, s2}), b.Target(exit, []clif.Value{s2}))
		b.SwitchTo(exit)
		b.Return([]clif.Value{b.AddParam(exit, clif.I32)})
	})
	fib := clif.FuncIndex(len(m.funcs))
	m.fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		rec, base := b.NewBlock(), b.NewBlock()
		b.Branch(b.Icmp(clif.Ult, clif.I32, p[0], b.Iconst(clif.I32, 2)), b.Target(base, nil), b.Target(rec, nil))
		b.SwitchTo(rec)
		x := b.Call(fib, []clif.Value{b.Binary(clif.OpIsub, clif.I32, p[0], b.Iconst(clif.I32, 1))})
		y := b.Call(fib, []clif.Value{b.Binary(clif.OpIsub, clif.I32, p[0], b.Iconst(clif.I32, 2))})
		b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I32, x, y)})
		b.SwitchTo(base)
		b.Return([]clif.Value{p[0]})
	})
	trap := m.fn(i32, nil, func(b *clif.Builder, p []clif.Value) {
		b.TrapIf(p[0], abi.TrapUnreachable)
		b.Return(nil)
	})
	for name, f := range features() {
		im := m.compile(t, f)
		for _, c := range []struct {
			fn   clif.FuncIndex
			args []uint64
			want string
		}{
			{add, []uint64{3, 4}, "[0x7]"},
			{add, []uint64{0xffffffff, 2}, "[0x1]"},
			{sum, []uint64{100}, "[0x13ba]"},
			{fib, []uint64{20}, "[0x1a6d]"},
			{trap, []uint64{0}, "[]"},
			{trap, []uint64{1}, "trap unreachable"},
		} {
			if got := outcome(im, c.fn, c.args...); got != c.want {
				t.Errorf("%s: function %d%v = %s, want %s", name, c.fn, c.args, got, c.want)
			}
		}
		im.Close()
	}
}
