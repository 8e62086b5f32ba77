package knownbugs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// TestTypesAcrossModules calls through tables shared by modules that were compiled apart:
// each call is made if the types are equal and traps if not.
func TestTypesAcrossModules(t *testing.T) { check(t, bugcases.TypePair(0)) }

// TestTypesAfterRelease does so again and again in new stores, while the garbage collector
// frees what former ones had registered: a number of a type that came free does not pass for
// another type's.
func TestTypesAfterRelease(t *testing.T) {
	for shift := range 12 {
		if !cases.Has(shift, 4) {
			continue
		}
		c := bugcases.TypePair(shift)
		c.Calls = c.Calls[:len(c.Calls)/4]
		for _, e := range compare.Natives()[:2] {
			h, err := compare.Play(e, c)
			if err != nil {
				t.Fatal(err)
			}
			for i, k := range c.Calls {
				name, _, _ := strings.Cut(k.Func, " ")
				at := int(k.Args[0])
				if strings.HasSuffix(k.Func, "$ours") {
					at--
				}
				right := at >= 0 && at < len(bugcases.FuncTypes) && bugcases.FuncTypes[at] == name || at == len(bugcases.FuncTypes) && name == "_i" || at == len(bugcases.FuncTypes)+1 && name == "i_i"
				got := h.Events[len(c.Modules)+i]
				if got.Trapped() == right || at >= 0 && at < len(bugcases.FuncTypes) && !right && got.Trap != abi.TrapBadSignature {
					t.Fatalf("round %d, %s: %s of element %d: %v", shift, e.Name(), k.Func, k.Args[0], &got)
				}
			}
		}
		runtime.GC()
	}
}

// TestFourTables calls through each of four tables, some of them imported, functions that are
// the module's own, imported from another, exported by it and the host's; null, out of
// bounds and of the wrong type.
func TestFourTables(t *testing.T) {
	var b compare.Builder
	for table := range 4 {
		for _, ty := range []string{"_i", "i_i", "i_l"} {
			params, results, _ := strings.Cut(ty, "_")
			body := strings.Repeat("(i32.const 5)", len(params))
			b.Add("i", results, fmt.Sprintf("(call_indirect %d %s %s %s (local.get 0))", table, wat.Types("param", params), wat.Types("result", results), body),
				compare.Each(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0xFFFFFFFF, 0x80000000, 0x40000000)...)
		}
		b.Add("ii", "i", fmt.Sprintf("(table.set %d (local.get 0) (table.get %d (local.get 1))) (call_indirect %[1]d (result i32) (local.get 0))", table, (table+1)%4),
			compare.Product([]uint64{2, 7, 100}, []uint64{1, 3, 9, 200})...)
		b.Add("ii", "ii", fmt.Sprintf("(table.grow %d (table.get %d (local.get 0)) (local.get 1)) (table.size %[1]d)", table, (table+2)%4), compare.Product([]uint64{1, 50}, []uint64{0, 1, 99})...)
	}
	for i := range b.Calls {
		b.Calls[i].Module = 1
	}
	check(t, &compare.Case{Calls: b.Calls, Modules: []compare.Module{
		{Name: "a", Text: `(module (table (export "t") 6 8 funcref) (table (export "u") 4 funcref) (global $g (mut i32) (i32.const 77))
			(func $a (export "a") (result i32) (global.get $g)) (func $b (param i32) (result i32) (global.set $g (i32.add (global.get $g) (i32.const 1))) (i32.add (local.get 0) (global.get $g)))
			(elem (i32.const 1) func $a $b) (elem (table 1) (i32.const 0) func $b $a))`},
		{Name: "b", Text: `(module (import "a" "t" (table 6 8 funcref)) (import "a" "u" (table 4 funcref)) (import "a" "a" (func $a (result i32))) (import "host" "i_i" (func $h (param i32) (result i32)))
			(table 5 9 funcref) (table 10 funcref) (func $own (export "own") (param i32) (result i64) (i64.const 9)) (func $one (result i32) (i32.const 1))
			(elem (i32.const 3) func $own $h) (elem (table 2) (i32.const 0) func $a $h $own $one) (elem (table 3) (i32.const 5) func $one $own $a $h)` + b.String() + ")"},
		{Name: "c", Text: `(module (import "b" "own" (func $f (param i32) (result i64))) (import "a" "t" (table 4 funcref)) (elem (i32.const 0) func $f))`},
	}})
}

// TestBulkTables runs all bulk operators on own and imported tables and memories, with
// segments of every kind, dropped and not, with lengths from 0.
func TestBulkTables(t *testing.T) {
	var b compare.Builder
	at := []uint64{0, 1, 4, 6, 7, 0x7FFFFFFF, 0xFFFFFFFF}
	lengths := []uint64{0, 1, 2, 3, 0x80000000, 0xFFFFFFFF}
	args := part(compare.Product(at, []uint64{0, 1, 2, 3, 0xFFFFFFFE}, lengths), 3)
	three := "(local.get 0) (local.get 1) (local.get 2)"
	for table := range 3 {
		for _, segment := range []string{"$active", "$passive", "$exprs", "$declared"} {
			b.Add("iii", "", fmt.Sprintf("(table.init %d %s %s)", table, segment, three), args...)
		}
		for from := range 3 {
			b.Add("iii", "", fmt.Sprintf("(table.copy %d %d %s)", table, from, three), args...)
		}
		b.Add("iii", "", fmt.Sprintf("(table.fill %d (local.get 0) (table.get 0 (i32.and (local.get 1) (i32.const 3))) (local.get 2))", table), args...)
	}
	for _, segment := range []string{"$pdata", "$empty"} {
		b.Add("iii", "", "(memory.init "+segment+" "+three+")", append(sampled(args, 2), compare.Product([]uint64{65535, 65536, 65537}, []uint64{0, 1, 3}, []uint64{0, 1, 3})...)...)
	}
	b.Add("iii", "", "(memory.copy "+three+")", compare.Product([]uint64{0, 65535, 65536, 65537, 0xFFFFFFFF}, []uint64{0, 3, 65536, 65537, 0xFFFFFFFF}, lengths)...)
	b.Add("iii", "", "(memory.fill "+three+")", compare.Product([]uint64{0, 65535, 65536, 65537, 0xFFFFFFFF}, []uint64{0x1FF}, lengths)...)
	look := len(b.Calls)
	for table := range 3 {
		for i := range 8 {
			b.Add("", "i", fmt.Sprintf("(ref.is_null (table.get %d (i32.const %d)))", table, i), nil)
			b.Add("", "i", fmt.Sprintf("(call_indirect %d (result i32) (i32.const %d))", table, i), nil)
		}
	}
	state := b.Calls[look:]
	ops := b.Calls[:look]
	drops := []string{"(elem.drop $passive) (elem.drop $active)", "(data.drop $pdata) (data.drop $active_data) (data.drop $empty)", "(elem.drop $exprs) (elem.drop $declared) (elem.drop $passive)"}
	for _, d := range drops {
		b.Add("", "", d, nil)
	}
	all := append(append([]compare.Call{}, ops...), state...)
	for i := range drops {
		all = append(all, b.Calls[len(b.Calls)-len(drops)+i])
		all = append(append(all, sampled(ops, 3)...), state...)
	}
	for i := range all {
		all[i].Module = 1
	}
	check(t, &compare.Case{Calls: all, Modules: []compare.Module{
		{Name: "o", Text: `(module (memory (export "memory") 1 1) (table (export "t") 7 7 funcref) (func $f (result i32) (i32.const 3)) (elem (i32.const 2) func $f $f))`},
		{Text: `(module (import "o" "memory" (memory 1 1)) (import "o" "t" (table 7 7 funcref)) (table 7 funcref) (table 4 20 funcref)
			(func $a (result i32) (i32.const 10)) (func $b (result i32) (i32.const 11)) (func $c (result i32) (i32.const 12))
			(elem $active (i32.const 4) func $a $b) (elem $passive func $b $c $a) (elem $exprs funcref (ref.func $c) (ref.null func) (ref.func $a)) (elem $declared declare func $c)
			(data $active_data (i32.const 9) "abc") (data $pdata "defg") (data $empty "")` + b.String() + ")"},
	}})
}

// TestDroppedData reads segments that were active, and others after they were dropped: they have
// the length 0. wazero's interpreter keeps the active ones, so arithmetic is the judge.
func TestDroppedData(t *testing.T) {
	wasm, err := wat.Assemble(`(module (memory 1) (data $active (i32.const 9) "abc") (data $passive "defg") (func (export "drop") (data.drop $passive) (data.drop $active))
		(func (export "active") (param i32 i32 i32) (memory.init $active (local.get 0) (local.get 1) (local.get 2)))
		(func (export "passive") (param i32 i32 i32) (memory.init $passive (local.get 0) (local.get 1) (local.get 2))))`)
	if err != nil {
		t.Fatal(err)
	}
	args := compare.Product([]uint64{0, 65535, 65536, 65537, 0xFFFFFFFF}, []uint64{0, 1, 3, 4, 5, 0xFFFFFFFF}, []uint64{0, 1, 4, 5, 0xFFFFFFFF})
	c := &compare.Case{Modules: []compare.Module{{Wasm: wasm}}}
	var want []bool
	for round := range 2 {
		for _, name := range []string{"active", "passive"} {
			length := uint64(0)
			if round == 0 && name == "passive" {
				length = 4
			}
			for _, a := range args {
				c.Calls = append(c.Calls, compare.Call{Func: name, Args: a})
				want = append(want, a[0]+a[2] <= 65536 && a[1]+a[2] <= length)
			}
		}
		c.Calls, want = append(c.Calls, compare.Call{Func: "drop"}), append(want, true)
	}
	for _, e := range append(compare.Natives(), compare.Interpreters()...) {
		h, err := compare.Play(e, c)
		if err != nil {
			t.Fatal(err)
		}
		for i, ok := range want {
			if got := &h.Events[1+i]; got.Trapped() == ok || !ok && got.Trap != abi.TrapMemoryOutOfBounds {
				t.Errorf("%s: call %d, %s(%#x): %v, fine: %v", e.Name(), i, c.Calls[i].Func, c.Calls[i].Args, got, ok)
			}
		}
	}
}

// TestPartialInit: what happens before a trap of an instantiation stays, and nothing happens after it.
func TestPartialInit(t *testing.T) {
	for i, c := range bugcases.Starts() {
		for _, e := range append(compare.Natives(), compare.Interpreters()...) {
			h, err := compare.Play(e, &c.Case)
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			memory, table := "", ""
			for n, v := range h.Events[2:] {
				switch {
				case n < 18 && v.Values[0].Bits == 0:
					memory += "."
				case n < 18:
					memory += string(rune(v.Values[0].Bits))
				case v.Trapped():
					table += "-"
				default:
					table += fmt.Sprint(v.Values[0].Bits)
				}
			}
			if h.Events[1].Trap != c.Trap || memory != c.Memory || table != c.Table {
				t.Errorf("%d, %s: trap %v, memory %s, table %s; want %v, %s, %s", i, e.Name(), h.Events[1].Trap, memory, table, c.Trap, c.Memory, c.Table)
			}
		}
	}
}

// TestGrowInCallee grows memories and tables in callees, and then uses the old and the new range.
func TestGrowInCallee(t *testing.T) { bugcases.Run(t, bugcases.GrowInCallee(), check) }

// TestAliasedImports imports the same global, table and memory by several names, and has the owner
// change them, too: what is written by one name is read by the others.
func TestAliasedImports(t *testing.T) {
	const owner = `(module (memory (export "memory") 1) (table (export "t") 4 funcref) (global (export "g") (mut i32) (i32.const 1)) (global (export "k") (mut i32) (i32.const 2)) (global (export "l") (mut i64) (i64.const 3))
		(func $f (export "f") (result i32) (i32.const 6)) (elem (i32.const 0) func $f)
		(func (export "change") (global.set 0 (i32.add (global.get 0) (i32.const 10))) (table.set (i32.const 1) (ref.null func)) (i32.store (i32.const 4) (global.get 0))))`
	const user = `(module (import "o" "g" (global $a (mut i32))) (import "o" "g" (global $b (mut i32))) (import "o" "k" (global $c (mut i32))) (import "o" "l" (global $d (mut i64))) (import "o" "l" (global $e (mut i64)))
		(import "o" "t" (table $t 4 funcref)) (import "o" "t" (table $u 4 funcref)) (import "o" "memory" (memory 1)) (import "o" "f" (func $f (result i32))) (import "o" "change" (func $change)) (global $own (mut i32) (i32.const 100))
		(func (export "globals") (param i32) (result i32 i32 i32 i32 i32)
			(global.get $a) (global.set $b (local.get 0)) (global.get $a) (global.set $a (i32.add (global.get $a) (i32.const 5))) (global.get $b) (global.set $own (i32.const 8)) (global.set $c (i32.const 9)) (global.get $a) (global.get $own))
		(func (export "wide") (param i64) (result i64 i64 i64) (global.set $d (local.get 0)) (global.get $e) (global.set $e (i64.const 77)) (global.get $d) (global.set $d (i64.const 78)) (global.get $e))
		(func (export "tables") (result i32 i32 i32) (table.set $t (i32.const 1) (ref.func $f)) (ref.is_null (table.get $u (i32.const 1))) (table.set $u (i32.const 1) (ref.null func)) (ref.is_null (table.get $t (i32.const 1)))
			(table.fill $u (i32.const 1) (ref.func $f) (i32.const 2)) (ref.is_null (table.get $t (i32.const 1))))
		(func (export "grow") (result i32 i32 i32) (table.size $t) (drop (table.grow $u (ref.null func) (i32.const 3))) (table.size $t) (table.size $u))
		(func (export "change") (result i32 i32 i32 i32) (global.get $a) (table.set $t (i32.const 1) (ref.func $f)) (i32.store (i32.const 4) (i32.const 3)) (call $change)
			(global.get $b) (ref.is_null (table.get $u (i32.const 1))) (i32.load (i32.const 4)))
		(elem declare func $f))`
	c := &compare.Case{Modules: []compare.Module{{Name: "o", Text: owner}, {Text: user}}, Watch: true}
	for range 2 {
		c.Calls = append(c.Calls, compare.Call{Module: 1, Func: "globals", Args: []uint64{40}}, compare.Call{Module: 1, Func: "wide", Args: []uint64{1 << 40}}, compare.Call{Module: 1, Func: "tables"}, compare.Call{Module: 1, Func: "grow"}, compare.Call{Module: 1, Func: "change"}, compare.Call{Module: 0, Func: "change"}, compare.Call{Module: 1, Func: "globals", Args: []uint64{50}})
	}
	check(t, c)
}

// instantiate compiles text for inproc at O1 and makes an instance in the store.
func instantiate(t *testing.T, s *inproc.Store, text string, imports func(module, name string) inproc.Extern) *inproc.Instance {
	t.Helper()
	inst, err := tryInstantiate(s, text, imports)
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

func tryInstantiate(s *inproc.Store, text string, imports func(module, name string) inproc.Extern) (*inproc.Instance, error) {
	return instantiateAt(opt.O1, s, text, imports)
}

func instantiateAt(level opt.Level, s *inproc.Store, text string, imports func(module, name string) inproc.Extern) (*inproc.Instance, error) {
	wasm, err := wat.Assemble(text)
	if err != nil {
		return nil, err
	}
	r, err := compile.Module(wasm, compile.Options{OptLevel: level, Verify: true, Jobs: 1})
	if err != nil {
		return nil, err
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return nil, err
	}
	m, err := s.Load(img)
	if err != nil {
		return nil, err
	}
	return s.Instantiate(m, imports)
}

func newStore(t *testing.T, c inproc.Config) *inproc.Store {
	t.Helper()
	s, err := inproc.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestHostGrows has the host grow memory and table, and write to both and to a global, while
// compiled code that has used them calls it: the code sees all of it afterwards, and the
// host sees what the code did, at every step of a loop.
func TestHostGrows(t *testing.T) {
	s := newStore(t, inproc.Config{})
	var inst *inproc.Instance
	var mem *inproc.Memory
	var g *inproc.Global
	steps := uint64(0)
	h, err := s.NewHostFunc(meta.FuncType{Params: []meta.ValType{meta.I32}, Results: []meta.ValType{meta.I32}}, func(_ *inproc.Caller, args, results []uint64) error {
		steps++
		// The code wrote its step to the last word of memory and to the global.
		b := mem.Bytes()
		if got := uint64(b[len(b)-4]) | uint64(b[len(b)-3])<<8; got != args[0] || g.Get() != args[0] {
			return fmt.Errorf("step %d: the host sees %d in memory and %d in the global", args[0], got, g.Get())
		}
		if args[0]%8 == 0 {
			if mem.Grow(1) == ^uint64(0) {
				return errors.New("memory does not grow")
			}
		}
		b = mem.Bytes()
		b[len(b)-8] = byte(args[0]) + 1
		results[0] = uint64(len(b))
		return g.Set(args[0] + 1000)
	})
	if err != nil {
		t.Fatal(err)
	}
	inst = instantiate(t, s, `(module (import "h" "h" (func $h (param i32) (result i32))) (memory (export "memory") 1) (global $g (export "g") (mut i32) (i32.const 0))
		(func (export "run") (param $n i32) (result i32) (local $i i32) (local $end i32)
			(local.set $end (i32.const 65536))
			(loop
				(local.set $i (i32.add (local.get $i) (i32.const 1)))
				(i32.store (i32.sub (local.get $end) (i32.const 4)) (local.get $i)) (global.set $g (local.get $i))
				(local.set $end (call $h (local.get $i)))
				(if (i32.ne (i32.load8_u (i32.sub (local.get $end) (i32.const 8))) (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 255))) (then (return (i32.const -1))))
				(if (i32.ne (global.get $g) (i32.add (local.get $i) (i32.const 1000))) (then (return (i32.const -2))))
				(if (i32.ne (i32.shl (memory.size) (i32.const 16)) (local.get $end)) (then (return (i32.const -3))))
				(br_if 0 (i32.lt_u (local.get $i) (local.get $n))))
			(local.get $i)))`, func(string, string) inproc.Extern { return h })
	if mem, err = inst.Memory("memory"); err != nil {
		t.Fatal(err)
	}
	if g, err = inst.Global("g"); err != nil {
		t.Fatal(err)
	}
	f, err := inst.Func("run")
	if err != nil {
		t.Fatal(err)
	}
	out := []uint64{800}
	if err := f.Call(out, out); err != nil || out[0] != 800 || steps != 800 {
		t.Errorf("%d after %d steps: %v", int32(out[0]), steps, err)
	}
}

// TestInterruptedBulk ends calls in the middle of bulk operations on a large memory and a large
// table: the call fails with the context's error, and memory and tables go on to work.
func TestInterruptedBulk(t *testing.T) {
	s := newStore(t, inproc.Config{})
	inst := instantiate(t, s, `(module (memory (export "memory") 4096) (table (export "t") 1000000 funcref) (func $f (result i32) (i32.const 6)) (elem (i32.const 5) func $f)
		(func (export "fill") (loop (memory.fill (i32.const 0) (i32.const 7) (i32.const 0x10000000)) (br 0)))
		(func (export "copy") (loop (memory.copy (i32.const 9) (i32.const 0) (i32.const 0xFFFFFF0)) (br 0)))
		(func (export "table") (loop (table.fill (i32.const 0) (ref.func $f) (i32.const 1000000)) (table.copy (i32.const 1) (i32.const 0) (i32.const 999999)) (br 0)))
		(func (export "check") (result i32) (memory.fill (i32.const 0xFFFFF00) (i32.const 3) (i32.const 16)) (table.fill (i32.const 9) (ref.func $f) (i32.const 1))
			(i32.add (i32.load8_u (i32.const 0xFFFFF0F)) (call_indirect (result i32) (i32.const 9)))))`, nil)
	check, err := inst.Func("check")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fill", "copy", "table"} {
		f, err := inst.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i*7+1)*time.Millisecond)
			err := f.CallContext(ctx, nil, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("%s: %v", name, err)
			}
			out := []uint64{0}
			if err := check.Call(nil, out); err != nil || out[0] != 9 {
				t.Fatalf("%s: afterwards %d, %v", name, out[0], err)
			}
		}
	}
}
