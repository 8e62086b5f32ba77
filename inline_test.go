//go:build linux && (amd64 || arm64)

package waot_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// inlined has functions that are inlined in each other. Parameter n says where the outermost one fails; step shows the host the stack.
const inlined = `(module
  (import "host" "look" (func $look (param externref)))
  (memory 1) (table 1 funcref) (type $t (func))
  (func $load (param i32) (result i32) (i32.load (local.get 0)))
  (func $div (param i32) (result i32) (i32.div_u (i32.const 7) (local.get 0)))
  (func $stop (unreachable))
  (func $show (param externref) (call $look (local.get 0)))
  (func $null (call_indirect (type $t) (i32.const 0)))
  (func $middle (param i32) (result i32) (call $load (local.get 0)))
  (func $upper (param i32) (result i32) (call $middle (i32.shl (local.get 0) (i32.const 16))))
  (func $fact (param i32) (result i32)
    (if (result i32) (local.get 0)
      (then (i32.add (i32.const 1) (call $fact (i32.sub (local.get 0) (i32.const 1)))))
      (else (unreachable))))
  (func $down (param i32) (result i32) (local i32 i32)
    (if (i32.eqz (local.get 0)) (then (unreachable)))
    (loop
      (local.set 1 (i32.add (local.get 1) (call $around (i32.sub (local.get 0) (i32.const 1)))))
      (br_if 0 (i32.lt_u (local.tee 2 (i32.add (local.get 2) (i32.const 1))) (local.get 0))))
    (local.get 1))
  (func $around (param i32) (result i32) (i32.add (call $down (local.get 0)) (i32.const 1)))
  (func $twice (param externref) (call $show (local.get 0)) (call $show (local.get 0)))
LOOPS)`

// inLoops is a function that runs code in two loops, each twice.
const inLoops = `(func (export "%s") (param externref) (local $m i32) (local $n i32)
  (loop (local.set $n (i32.const 0))
    (loop %s
      (br_if 0 (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 2))))
    (br_if 0 (i32.lt_u (local.tee $m (i32.add (local.get $m) (i32.const 1))) (i32.const 2)))))
`

// loops are the exported functions, and what their loops do.
var loops = [][2]string{
	{"load", "(drop (call $upper (i32.const 0))) (drop (call $upper (local.get $n)))"},
	{"div", "(drop (call $div (i32.sub (i32.const 1) (local.get $n))))"},
	{"stop", "(call $stop)"},
	{"null", "(call $null)"},
	{"fact", "(drop (call $fact (i32.const 12)))"},
	{"down", "(drop (call $down (i32.const 23)))"},
	{"look", "(call $show (local.get 0)) (call $twice (local.get 0))"},
	{"grow", "(call $show (local.get 0)) (drop (memory.grow (i32.const 1))) (call $twice (local.get 0))"},
}

// seen is what can be seen of the stack of a run.
type seen struct {
	traps, looks []string
}

func lookAt(t *testing.T, wasm []byte, noOptimize bool) (out seen) {
	t.Helper()
	ctx := context.Background()
	m, err := waot.Compile(wasm, &waot.CompileOptions{NoOptimize: noOptimize})
	if err != nil {
		t.Fatal(err)
	}
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	token := "a token"
	i, err := s.Instantiate(ctx, m, waot.Imports{"host": {"look": func(c *waot.Caller, ref any) {
		out.looks = append(out.looks, fmt.Sprint(ref, c.Backtrace()))
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range loops {
		_, err := function(i, l[0]).Call(ctx, token)
		var trap *waot.Trap
		if errors.As(err, &trap) {
			out.traps = append(out.traps, fmt.Sprint(l[0], trap.Code, trap.Backtrace))
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestInlinedBacktraces: backtraces name the same functions at the same offsets with and without inlining: at traps of all kinds
// in inlined code, in recursions, in the host called from inlined code, where references are alive.
func TestInlinedBacktraces(t *testing.T) {
	text := ""
	for _, l := range loops {
		text += fmt.Sprintf(inLoops, l[0], l[1])
	}
	wasm, err := waot.ParseText([]byte(strings.Replace(inlined, "LOOPS", text, 1)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, in := range r.Meta.Inlined {
		names = append(names, r.Meta.Funcs[in.Func].Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if want := []string{"around", "div", "down", "fact", "load", "middle", "null", "show", "stop", "twice", "upper"}; !slices.Equal(names, want) {
		t.Errorf("%v are inlined, want %v", names, want)
	}
	plain, optimised := lookAt(t, wasm, true), lookAt(t, wasm, false)
	if len(plain.traps) != 6 || len(plain.looks) != 24 {
		t.Fatalf("%d traps, %d looks", len(plain.traps), len(plain.looks))
	}
	if !slices.Equal(plain.traps, optimised.traps) || !slices.Equal(plain.looks, optimised.looks) {
		t.Errorf("optimised\n%q\n%q\nplain\n%q\n%q", optimised.traps, optimised.looks, plain.traps, plain.looks)
	}
}
