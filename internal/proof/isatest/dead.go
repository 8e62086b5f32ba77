package isatest

import (
	"fmt"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
)

// testDeadParams has block parameters that only feed each other, and that nothing reads: the mid-end removes them, and
// their remains must not disturb the back end, which looks through aliases.
func testDeadParams(t *testing.T, on *Machine) {
	const dead = 4
	m := &module{on: on}
	f := m.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		// for (s = 0; n != 0; n--) s += n, while x and y change places and z counts; w is one of two values that nothing reads
		head, early, exit := b.NewBlock(), b.NewBlock(), b.NewBlock()
		zero, one := b.Iconst(clif.I32, 0), b.Iconst(clif.I32, 1)
		n, s := b.AddParam(head, clif.I32), b.AddParam(head, clif.I32)
		x, y, z := b.AddParam(head, clif.I32), b.AddParam(head, clif.I32), b.AddParam(head, clif.I32)
		sum, _ := b.AddParam(exit, clif.I32), b.AddParam(exit, clif.I32)
		b.Branch(p[0], b.Target(head, []clif.Value{p[0], zero, p[0], one, zero}), b.Target(early, nil))
		b.SwitchTo(head)
		s2 := b.Binary(clif.OpIadd, clif.I32, s, n)
		n2 := b.Binary(clif.OpIsub, clif.I32, n, one)
		z2 := b.Binary(clif.OpIadd, clif.I32, z, x)
		b.Branch(n2, b.Target(head, []clif.Value{n2, s2, y, x, z2}), b.Target(exit, []clif.Value{s2, z2}))
		b.SwitchTo(early)
		b.Jump(b.Target(exit, []clif.Value{zero, one}))
		b.SwitchTo(exit)
		b.Return([]clif.Value{sum})
	})
	body := m.Defined[f]
	params := func() (n int) {
		for _, b := range body.Layout {
			n += len(body.Params(b))
		}
		return n
	}
	before := params()
	if err := new(opt.Optimizer).Run(body, opt.O1); err != nil {
		t.Fatal(err)
	}
	if gone := before - params(); gone != dead {
		t.Fatalf("%d parameters have been removed, want %d\n%v", gone, dead, body)
	}
	compiler, done := m.compiler(t), make(chan error, 1)
	go func() {
		_, err := compiler.Compile(body)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the back end does not end\n%v", body)
	}
	m.each(t, func(t *testing.T, level string, in Instance) {
		for n := range uint64(6) {
			if got, want := outcome(in, f, n), fmt.Sprintf("[%#x]", n*(n+1)/2); got != want {
				t.Errorf("%s: the sum to %d = %s, want %s\n%v", level, n, got, want, body)
			}
		}
	})
}
