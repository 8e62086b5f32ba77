//go:build linux && (amd64 || arm64)

package host_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/host"
)

// TestInnerFrames: frames of the innermost call can be told from those of calls around it, in traps and in Go functions; and functions have their places.
func TestInnerFrames(t *testing.T) {
	s := newStore(t)
	var inst *host.Instance
	inst = must[*host.Instance](t)(s.Instantiate(bg, text(t, `(module (import "env" "again" (func $again (param i32))) (table (export "t") 1 funcref) (elem (i32.const 0) $leaf)
		(func (export "f") (param i32) (call $mid (local.get 0)))
		(func $mid (param i32) (if (local.get 0) (then (call $again (local.get 0))) (else (call $leaf))) (drop (memory.grow (i32.const 0))))
		(func $leaf unreachable) (memory 1))`), host.Imports{"env": {
		"again": func(c *host.Caller, n int32) error {
			all, own := c.Backtrace(), c.Frames()
			if depth := int(3 - n); len(own) != 2 || len(all) != 2*depth+2 || own[0] != all[0] || own[1] != all[1] {
				t.Errorf("frames %v of %v", own, all)
			}
			_, err := function(t, inst, "f").Call(bg, n-1)
			return err
		},
	}}))
	_, err := function(t, inst, "f").Call(bg, int32(3))
	var trap *host.Trap
	if !errors.As(err, &trap) || trap.Inner != 3 || len(trap.Backtrace) != 3+3*2 {
		t.Errorf("%d of %v", trap.Inner, trap.Backtrace)
	}
	leaf := must[any](t)(must[*host.Table](t)(inst.Table("t")).Get(0)).(*host.Func)
	if at, index := leaf.Place(); at != inst || index != 3 {
		t.Errorf("the function is number %d", index)
	}
	if at, _ := must[*host.Func](t)(s.NewFunc(func() {})).Place(); at != nil {
		t.Error("a Go function in an instance")
	}
}
