package knownbugs

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/wat"
)

// refWorld is a store whose references are collected at every exit from compiled code, with
// functions of the host that make references and look at them.
type refWorld struct {
	s     *inproc.Store
	calls int
	// alive is called by the function "alive" with the number of references.
	alive func(n int) error
}

func newRefWorld(t *testing.T) *refWorld {
	return &refWorld{s: newStore(t, inproc.Config{CollectAlways: true})}
}

// imports are the functions of the host: make (i32) -> externref makes a reference to that
// number, check (externref, i32) demands that it is one, alive (i32) says how many there are.
func (w *refWorld) imports(t *testing.T) func(module, name string) inproc.Extern {
	host := func(params, results []meta.ValType, f inproc.HostFunc) inproc.Extern {
		h, err := w.s.NewHostFunc(meta.FuncType{Params: params, Results: results}, f)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	i32, ref := meta.I32, meta.ExternRef
	funcs := map[string]inproc.Extern{
		"make": host([]meta.ValType{i32}, []meta.ValType{ref}, func(_ *inproc.Caller, args, results []uint64) error {
			results[0] = w.s.ExternRef(int(args[0]))
			return nil
		}),
		"check": host([]meta.ValType{ref, i32}, nil, func(_ *inproc.Caller, args, _ []uint64) error {
			w.calls++
			if got := w.s.Extern(args[0]); got != int(args[1]) {
				return fmt.Errorf("check %d: the reference %#x is to %v, want %d", w.calls, args[0], got, args[1])
			}
			return nil
		}),
		"alive": host([]meta.ValType{i32}, nil, func(_ *inproc.Caller, args, _ []uint64) error {
			w.calls++
			w.s.CollectRefs()
			if n := w.s.NumRefs(); n != int(args[0]) {
				return fmt.Errorf("look %d: %d references, want %d", w.calls, n, args[0])
			}
			return nil
		}),
	}
	return func(_, name string) inproc.Extern { return funcs[name] }
}

const refImports = `(import "h" "make" (func $make (param i32) (result externref))) (import "h" "check" (func $check (param externref i32))) (import "h" "alive" (func $alive (param i32)))
	(func $nothing ` + wat.NotInlined + `)`

// runRefs runs the export "f" of a module at both levels, with each number as the argument.
func runRefs(t *testing.T, body string, args ...uint64) {
	t.Helper()
	wasm := assemble(t, "(module "+refImports+body+")")
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		w := newRefWorld(t)
		r, err := compile.Module(wasm, compile.Options{OptLevel: level, Verify: true, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		img, err := load.Image(r.Object, r.Meta)
		if err != nil {
			t.Fatal(err)
		}
		m, err := w.s.Load(img)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := w.s.Instantiate(m, w.imports(t))
		if err != nil {
			t.Fatal(err)
		}
		f, err := inst.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range args {
			if err := f.Call([]uint64{a}, nil); err != nil {
				t.Errorf("O%d, argument %d: %v", level, a, err)
			}
		}
		w.s.CollectRefs()
		if n := w.s.NumRefs(); n != 0 || w.calls == 0 {
			t.Errorf("O%d: %d references left, %d calls", level, n, w.calls)
		}
	}
}

// TestCallsWithoutRefs has calls during which no reference is live right behind, in front of
// and between calls with live ones: a map is that of its own call or none, so that nothing is
// kept by another's and nothing lost.
func TestCallsWithoutRefs(t *testing.T) {
	runRefs(t, `(func (export "f") (param $i i32) (local $a externref) (local $b externref)
		(call $alive (i32.const 0)) (local.set $a (call $make (local.get $i))) (call $alive (i32.const 1)) (call $check (local.get $a) (local.get $i))
		(call $alive (i32.const 0)) (call $nothing) (call $alive (i32.const 0))
		(local.set $a (call $make (i32.const 5))) (local.set $b (call $make (i32.const 6))) (call $alive (i32.const 2)) (call $check (local.get $a) (i32.const 5))
		(call $alive (i32.const 1)) (call $check (local.get $b) (i32.const 6)) (call $alive (i32.const 0)))`, 1, 2, 3)
	// The frame of a caller stands at a call without references, behind one with some.
	runRefs(t, `(func $inner (param i32) `+wat.NotInlined+`(call $alive (local.get 0)))
		(func (export "f") (param $i i32) (local $a externref)
		(local.set $a (call $make (local.get $i))) (call $inner (i32.const 1)) (call $check (local.get $a) (local.get $i)) (call $inner (i32.const 0))
		(if (local.get $i) (then (local.set $a (call $make (i32.const 9))) (call $inner (i32.const 1)) (call $check (local.get $a) (i32.const 9)))) (call $inner (i32.const 0)))`, 0, 1)
}

// TestRefsInColdBlocks has references live over calls in blocks that the layout moves behind
// the others, since they end in a trap, and in ordinary blocks around them.
func TestRefsInColdBlocks(t *testing.T) {
	body := `(func (export "f") (param $i i32)`
	for k := range 12 {
		body += fmt.Sprintf("(local $r%d externref)", k)
	}
	for k := range 12 {
		body += fmt.Sprintf(`(local.set $r%[1]d (call $make (i32.const %[2]d)))
			(if (i32.eq (local.get $i) (i32.const %[3]d)) (then
				(call $nothing) (call $check (local.get $r%[1]d) (i32.const %[2]d)) (call $check (local.get $r0) (i32.const 100)) (call $check (local.get $r%[4]d) (i32.const %[5]d)) (unreachable)))
			(call $check (local.get $r%[1]d) (i32.const %[2]d))`, k, 100+k, 1000+k, k/2, 100+k/2)
	}
	for k := range 12 {
		body += fmt.Sprintf("(call $check (local.get $r%d) (i32.const %d))", k, 100+k)
	}
	wasm := assemble(t, "(module "+refImports+body+"))")
	r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(14) {
		w := newRefWorld(t)
		m, err := w.s.Load(img)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := w.s.Instantiate(m, w.imports(t))
		if err != nil {
			t.Fatal(err)
		}
		f, err := inst.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		err = f.Call([]uint64{999 + i}, nil)
		if text := trapOf(wasmError(err)); i >= 1 && i <= 12 && text != "unreachable" || (i < 1 || i > 12) && err != nil {
			t.Errorf("%d: %v", i, err)
		}
		w.s.CollectRefs()
		if n := w.s.NumRefs(); n != 0 {
			t.Errorf("%d: %d references left", i, n)
		}
	}
}

// TestRefsInLoops has references that nested loops leave alone, carry, exchange and replace, with
// calls in all of them: each has its own place, and all of them are found.
func TestRefsInLoops(t *testing.T) {
	runRefs(t, `(func (export "f") (param $n i32) (local $inv externref) (local $a externref) (local $b externref) (local $c externref) (local $t externref) (local $i i32) (local $j i32) (local $x i32) (local $y i32)
		(local.set $inv (call $make (i32.const 1))) (local.set $a (call $make (i32.const 2))) (local.set $b (call $make (i32.const 3))) (local.set $x (i32.const 2)) (local.set $y (i32.const 3))
		(loop $outer
			(local.set $c (call $make (i32.add (i32.const 50) (local.get $i))))
			(local.set $j (i32.const 0))
			(loop $inner
				(call $nothing)
				(local.set $t (local.get $a)) (local.set $a (local.get $b)) (local.set $b (local.get $t))
				(local.set $x (i32.xor (local.get $x) (local.get $y))) (local.set $y (i32.xor (local.get $x) (local.get $y))) (local.set $x (i32.xor (local.get $x) (local.get $y)))
				(call $check (local.get $a) (local.get $x)) (call $check (local.get $b) (local.get $y)) (call $check (local.get $inv) (i32.const 1))
				(if (i32.eq (local.get $j) (i32.const 2)) (then (local.set $b (call $make (i32.add (i32.const 70) (local.get $i)))) (local.set $y (i32.add (i32.const 70) (local.get $i)))))
				(call $check (local.get $c) (i32.add (i32.const 50) (local.get $i)))
				(br_if $inner (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 4))))
			(call $alive (i32.const 4))
			(local.set $t (select (result externref) (local.get $a) (local.get $c) (i32.and (local.get $i) (i32.const 1))))
			(call $check (local.get $t) (select (local.get $x) (i32.add (i32.const 50) (local.get $i)) (i32.and (local.get $i) (i32.const 1))))
			(br_if $outer (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
		(call $check (local.get $inv) (i32.const 1)) (call $alive (i32.const 0)))`, 1, 2, 5, 40)
}
