package isatest

import (
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

var (
	i32 = []clif.Type{clif.I32}
	i64 = []clif.Type{clif.I64}
)

func testSmoke(t *testing.T, on *Machine) {
	m := &module{on: on}
	add := m.Fn([]clif.Type{clif.I32, clif.I32}, i32, func(b *clif.Builder, p []clif.Value) {
		b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I32, p[0], p[1])})
	})
	sum := m.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
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
	fib := clif.FuncIndex(len(m.Defined))
	m.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		rec, base := b.NewBlock(), b.NewBlock()
		b.Branch(b.Icmp(clif.Ult, clif.I32, p[0], b.Iconst(clif.I32, 2)), b.Target(base, nil), b.Target(rec, nil))
		b.SwitchTo(rec)
		x := b.Call(fib, []clif.Value{b.Binary(clif.OpIsub, clif.I32, p[0], b.Iconst(clif.I32, 1))})
		y := b.Call(fib, []clif.Value{b.Binary(clif.OpIsub, clif.I32, p[0], b.Iconst(clif.I32, 2))})
		b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I32, x, y)})
		b.SwitchTo(base)
		b.Return([]clif.Value{p[0]})
	})
	trap := m.Fn(i32, nil, func(b *clif.Builder, p []clif.Value) {
		b.TrapIf(p[0], abi.TrapUnreachable)
		b.Return(nil)
	})
	m.each(t, func(t *testing.T, level string, in Instance) {
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
			if got := outcome(in, c.fn, c.args...); got != c.want {
				t.Errorf("%s: function %d%v = %s, want %s", level, c.fn, c.args, got, c.want)
			}
		}
	})
}
