package compile_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront/wat"
)

// droppedModule has functions whose names say what becomes of them: those that begin with "gone" are left out. AGAIN is replaced by
// calls of $keptBudget, of which not all fit into the budget of the function. The functions $keptCold and $keptColder are called where
// nothing is inlined, which is known only after their bodies are kept.
const droppedModule = `(module
  (memory 1) (table 1 funcref) (elem (i32.const 0) func $keptElement)
  (global $g (mut i32) (i32.const 0))
  (func $goneSmall (param i32) (result i32) (i32.add (local.get 0) (i32.const 5)))
  (func $goneChain (param i32) (result i32) (call $goneSmall (call $goneSmall (local.get 0))))
  (func $goneDead (result i32) (call $goneDead))
  (func $goneDeadSmall (result i32) (i32.const 3))
  (func $goneDeadCaller (drop (call $keptTwice (i32.const 1))) (drop (call $goneDeadSmall)))
  (func $goneOnce (param i32) (result i32) LARGE (local.get 0))
  (func $keptTwice (param i32) (result i32) LARGE (local.get 0))
  (func $keptElement (param i32) (result i32) (local.get 0))
  (func $keptExport (export "small") (param i32) (result i32) (i32.sub (local.get 0) (i32.const 5)))
  (func $keptStart (global.set $g (call $goneInStart)))
  (func $goneInStart (result i32) (i32.const 7))
  (func $keptBudget (param i32) (result i32) (i32.load8_u (i32.and (local.get 0) (i32.const 255))))
  (func $keptCold (param i32)
    (if (i32.eqz (local.get 0)) (then (call $keptColder (local.get 0)) (unreachable)))
    COLD)
  (func $keptColder (param i32) COLD)
  (func $many (export "many") (param i32) (result i32) AGAIN)
  (func (export "all") (param i32) (result i32)
    (local.set 0 (call $goneChain (call $goneOnce (local.get 0))))
    (local.set 0 (call $keptElement (call $keptTwice (call $keptTwice (local.get 0)))))
    (if (i32.eq (local.get 0) (i32.const 4)) (then (call $keptCold (local.get 0)) (unreachable)))
    (i32.add (call $keptExport (local.get 0)) (global.get $g)))
  (start $keptStart))`

func droppedWasm(t *testing.T) []byte {
	t.Helper()
	large := strings.Repeat("(local.set 0 (i32.xor (i32.mul (local.get 0) (i32.const 77)) (local.get 0)))", 20)
	cold := strings.Repeat("(global.set $g (i32.mul (i32.xor (global.get $g) (local.get 0)) (local.get 0)))", 6)
	again := "(local.get 0)"
	for range 200 {
		again = "(call $keptBudget " + again + ")"
	}
	m, err := wat.Assemble([]byte(strings.NewReplacer("LARGE", large, "AGAIN", again, "COLD", cold).Replace(droppedModule)))
	if err != nil {
		t.Fatal(err)
	}
	return m.Wasm
}

// TestDropped: functions that nothing refers to any more have no code, and no others; they do what they did, and stay in the metadata.
// The object is the same for any number of workers.
func TestDropped(t *testing.T) {
	wasm := droppedWasm(t)
	for _, target := range compile.Targets() {
		var first []byte
		for _, jobs := range []int{1, 2, 5} {
			total := 0
			r := build(t, wasm, compile.Options{OptLevel: opt.O1, Target: target, Jobs: jobs, Progress: func(done, all int) {
				if total++; done != total || all != 17 {
					t.Errorf("%d of %d functions are done, want %d of 17", done, all, total)
				}
			}})
			if r.Stats.Funcs != total {
				t.Errorf("%d functions, of which %d were compiled", r.Stats.Funcs, total)
			}
			checkDropped(t, r)
			file := elf(t, r)
			if first == nil {
				first = file
			} else if !bytes.Equal(file, first) {
				t.Errorf("%s: %d workers give another object", target, jobs)
			}
		}
		if img, err := load.ELF(first); target != compile.HostTarget() {
		} else if err != nil || img.Meta.Funcs[0].Size != 0 {
			t.Error(target, err)
		}
	}
	control := func(limit int) compile.Options {
		return compile.Options{OptLevel: opt.O1, Control: func(clif.FuncIndex) *opt.Control { return &opt.Control{Limit: limit} }}
	}
	checkDropped(t, build(t, wasm, control(-1)))
	for _, o := range []compile.Options{{OptLevel: opt.O0}, control(0)} {
		for i, f := range build(t, wasm, o).Meta.Funcs {
			if f.Size == 0 && (o.OptLevel == opt.O0 || !strings.HasPrefix(f.Name, "goneDead")) {
				t.Errorf("level %v: function %d %s has no code", o.OptLevel, i, f.Name)
			}
		}
	}
}

func checkDropped(t *testing.T, r *compile.Result) {
	t.Helper()
	var symbols []string
	for _, s := range r.Object.Symbols {
		symbols = append(symbols, s.Name)
	}
	for i := range r.Meta.Funcs {
		f := &r.Meta.Funcs[i]
		gone := strings.HasPrefix(f.Name, "gone")
		if gone != (f.Size == 0) {
			t.Errorf("function %d %s has %d bytes", i, f.Name, f.Size)
		}
		if i < len(r.Meta.Funcs)-1 && gone == slices.Contains(symbols, fmt.Sprintf("fn%d.%s", i, f.Name)) {
			t.Errorf("symbol of function %d %s: %v", i, f.Name, !gone)
		}
	}
	if !slices.ContainsFunc(r.Meta.Inlined, func(p abi.Inlined) bool { return r.Meta.Funcs[p.Func].Name == "keptBudget" }) {
		t.Error("places do not name what was inlined")
	}
}

// TestDroppedRuns: what is left does what the module does without the mid-end.
func TestDroppedRuns(t *testing.T) {
	wasm := droppedWasm(t)
	plain, optimised := instantiated(t, build(t, wasm, compile.Options{})), instantiated(t, build(t, wasm, compile.Options{OptLevel: opt.O1}))
	for _, name := range []string{"all", "many", "small"} {
		for x := range uint64(5) {
			got, want := []uint64{x}, []uint64{x}
			if err := call(plain, name, want); err != nil {
				t.Fatal(err)
			}
			if err := call(optimised, name, got); err != nil || got[0] != want[0] {
				t.Errorf("%s(%d) = %d, %v; want %d", name, x, got, err, want)
			}
		}
	}
}

// call calls an exported function with its arguments, and puts the results in their place.
func call(i *inproc.Instance, name string, words []uint64) error {
	f, err := i.Func(name)
	if err != nil {
		return err
	}
	return f.Call(slices.Clone(words), words)
}
