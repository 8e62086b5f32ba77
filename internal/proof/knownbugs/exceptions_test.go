package knownbugs

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// TestThrowsBehindTails: what is thrown behind tail calls of all arities, in the last function or in one that it calls, is caught with variables and stack as they were: frames
// whose argument area has grown are unwound.
func TestThrowsBehindTails(t *testing.T) {
	for end, last := range map[string]string{
		"thrown": "(throw $e (local.get $h))",
		"called": "(drop (call $throw (local.get $h)" + strings.Repeat(" (local.get $n)", 9) + "))",
	} {
		t.Run(end, func(t *testing.T) {
			text, calls := tailChain(chainEnds{
				fields: "(tag $e (param i64)) (func $throw (param i64" + strings.Repeat(" i64", 9) + ") (result i64) " + wat.NotInlined + " (throw $e (local.get 0)))",
				last:   last,
				first:  "(block $caught (result i64) (try_table (catch $e $caught) (drop %s)) (unreachable))",
			})
			check(t, compare.Single(text, calls...))
		})
	}
}

// throwWorld is a refWorld whose functions of the host throw.
type throwWorld struct {
	*refWorld
	tag    *inproc.Tag
	thrown []weak.Pointer[number] // arguments of what the host has thrown
}

// number is a value of which the end can be seen.
type number struct{ n, check int }

func newThrowWorld(t *testing.T, c inproc.Config) *throwWorld {
	t.Helper()
	w := &throwWorld{refWorld: &refWorld{s: newStore(t, c)}}
	var err error
	if w.tag, err = w.s.NewTag([]meta.ValType{meta.ExternRef}); err != nil {
		t.Fatal(err)
	}
	return w
}

// imports are those of refWorld and the tag "hosts" of the function "throw" (i32), which throws a reference; "again" (i32) calls the export "below" of the instance that
// calls, and throws what that throws. More has others by their names.
func (w *throwWorld) imports(t *testing.T, more map[string]inproc.Extern) func(module, name string) inproc.Extern {
	t.Helper()
	host := func(f inproc.HostFunc) inproc.Extern {
		h, err := w.s.NewHostFunc(meta.FuncType{Params: []meta.ValType{meta.I32}}, f)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	own := map[string]inproc.Extern{
		"hosts": w.tag,
		"throw": host(func(_ *inproc.Caller, args, _ []uint64) error {
			v := &number{int(args[0]), 1}
			w.thrown = append(w.thrown, weak.Make(v))
			x, err := inproc.NewException(w.tag, []uint64{w.s.ExternRef(v)})
			if err != nil {
				return err
			}
			return fmt.Errorf("wrapped: %w", x)
		}),
		"again": host(func(c *inproc.Caller, args, _ []uint64) error {
			f, err := c.Instance().Func("below")
			if err != nil {
				return err
			}
			return f.Call([]uint64{args[0]}, nil)
		}),
	}
	refs := w.refWorld.imports(t)
	return func(module, name string) inproc.Extern {
		for _, m := range []map[string]inproc.Extern{more, own} {
			if x := m[name]; x != nil {
				return x
			}
		}
		return refs(module, name)
	}
}

// exports are what an instance exports by some names.
func exports(t *testing.T, inst *inproc.Instance, names ...string) map[string]inproc.Extern {
	t.Helper()
	list := map[string]inproc.Extern{}
	for _, name := range names {
		x, err := inst.Export(name)
		if err != nil {
			t.Fatal(err)
		}
		list[name] = x
	}
	return list
}

// TestCaughtExceptions: exceptions that were caught, by reference or not, leave nothing behind, no handle and no value, and while they come and go few handles wait for a collection.
func TestCaughtExceptions(t *testing.T) {
	throws := []struct{ name, call, tag string }{
		{"here", "(throw $t (call $make (local.get $i)))", "$t"},
		{"callee", "(call $below (local.get $i))", "$t"},
		{"other module", "(call $theirs (local.get $i))", "$tt"},
		{"host", "(call $throw (local.get $i))", "$hosts"},
		{"host and callee", "(call $again (local.get $i))", "$t"},
	}
	catches := []struct{ name, text string }{
		{"catch", "(drop (block $h (result externref) (try_table (catch TAG $h) CALL) (ref.null extern)))"},
		{"catch_all", "(block $h (try_table (catch_all $h) CALL))"},
		{"other clause", "(block $h (try_table (catch_all $h) (drop (block $h (result externref) (try_table (catch $none $h) CALL) (ref.null extern)))))"},
		{"legacy catch", "(try (do CALL) (catch TAG (drop)))"},
		{"legacy catch_all", "(try (do CALL) (catch_all))"},
		{"delegate", "(try (do (try (do CALL) (delegate 0))) (catch_all))"},
		{"catch_ref", "(block $h (result externref exnref) (try_table (catch_ref TAG $h) CALL) (unreachable)) (drop) (drop)"},
		{"catch_all_ref", "(drop (block $h (result exnref) (try_table (catch_all_ref $h) CALL) (unreachable)))"},
		{"throw_ref", "(block $o (try_table (catch_all $o) (throw_ref (block $h (result exnref) (try_table (catch_all_ref $h) CALL) (unreachable)))))"},
		{"rethrow", "(block $o (try_table (catch_all $o) (try (do CALL) (catch_all (rethrow 0)))))"},
	}
	text := `(module (import "a" "theirs" (func $theirs (param i32))) (import "a" "t" (tag $tt (param externref)))
		(import "h" "throw" (func $throw (param i32))) (import "h" "again" (func $again (param i32))) (import "h" "hosts" (tag $hosts (param externref))) ` + refImports + `
		(tag $t (param externref)) (tag $none (param externref))
		(func $below (export "below") (param $i i32) ` + wat.NotInlined + ` (throw $t (call $make (local.get $i))))`
	var names []string
	for _, throw := range throws {
		for _, catch := range catches {
			names = append(names, throw.name+", "+catch.name)
			text += fmt.Sprintf("(func (export %q) (param $i i32) (loop $l %s (br_if $l (local.tee $i (i32.sub (local.get $i) (i32.const 1))))))\n",
				names[len(names)-1], strings.NewReplacer("CALL", throw.call, "TAG", throw.tag).Replace(catch.text))
		}
	}
	w := newThrowWorld(t, inproc.Config{})
	a := instantiate(t, w.s, `(module (import "h" "make" (func $make (param i32) (result externref))) (tag $t (export "t") (param externref))
		(func (export "theirs") (param $i i32) (throw $t (call $make (local.get $i)))))`, w.imports(t, nil))
	inst := instantiate(t, w.s, text+")", w.imports(t, exports(t, a, "theirs", "t")))
	const rounds, most = 4000, 2500
	for _, name := range names {
		f, err := inst.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Call([]uint64{rounds}, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := w.s.NumRefs(); n > most {
			t.Errorf("%s: %d handles wait for a collection", name, n)
		}
		w.s.CollectRefs()
		if n := w.s.NumRefs(); n != 0 {
			t.Fatalf("%s: %d handles are left", name, n)
		}
	}
	runtime.GC()
	alive := 0
	for _, v := range w.thrown {
		if v.Value() != nil {
			alive++
		}
	}
	if want := rounds * len(catches); len(w.thrown) != want || alive > 10 { // a register or frame of Go may have had one
		t.Errorf("%d of %d values are alive, want none of %d", alive, len(w.thrown), want)
	}
}

// TestPendingExceptions: what an exception refers to is there when it is caught, though all that nothing else refers to is collected at each call of the host, and others come and go
// meanwhile. On its way are modules without its tag and without room for its arguments, which catch it by reference and throw it again, and functions of the host.
func TestPendingExceptions(t *testing.T) {
	const (
		params = "externref i64 exnref v128 externref" // the number, 11, an exception of the number and 1, 12 and 13, the number and 2
		busy   = `(tag $mine) (func $busy (param $i i32) (local $x externref) ` + wat.NotInlined + ` (local.set $x (call $make (local.get $i)))
			(block $h (result exnref) (try_table (catch_all_ref $h) (throw $mine)) (unreachable)) (call $check (local.get $x) (local.get $i)) (drop))`
		bottom = `(module ` + refImports + ` (tag $t (export "t") (param ` + params + `)) (tag $in (export "in") (param externref))
			(func $nested (param $i i32) (result exnref)
				(block $h (result exnref) (try_table (catch_all_ref $h) (throw $in (call $make (i32.add (local.get $i) (i32.const 1))))) (unreachable)))
			(func (export "below") (param $i i32)
				(throw $t (call $make (local.get $i)) (i64.const 11) (call $nested (local.get $i)) (v128.const i64x2 12 13) (call $make (i32.add (local.get $i) (i32.const 2))))))`
		middle = `(module (import "a" "below" (func $below (param i32))) (import "h" "again" (func $again (param i32))) ` + refImports + busy + ` (export "below" (func $below))
			(func (export "passes") (param $i i32) %s))`
		top = `(module (import "a" "below" (func $below (param i32))) (import "a" "t" (tag $t (param ` + params + `))) (import "a" "in" (tag $in (param externref))) ` + refImports + busy + `
			(func $look (param $a externref) (param $b i64) (param $c exnref) (param $d v128) (param $e externref) (param $i i32)
				(call $busy (local.get $i))
				(call $check (local.get $a) (local.get $i))
				(if (i64.ne (i64.const 11) (local.get $b)) (then (unreachable)))
				(if (i64.ne (i64.const 13) (i64x2.extract_lane 1 (local.get $d))) (then (unreachable)))
				(call $check (local.get $e) (i32.add (local.get $i) (i32.const 2)))
				(call $check (block $h (result externref) (try_table (catch $in $h) (throw_ref (local.get $c))) (unreachable)) (i32.add (local.get $i) (i32.const 1))))
			(func $open (param $x exnref) (param $i i32)
				(block $h (result ` + params + `) (try_table (catch $t $h) (throw_ref (local.get $x))) (unreachable)) (local.get $i) (call $look))
			(func (export "tag") (param $i i32)
				(block $h (result ` + params + `) (try_table (catch $t $h) (call $below (local.get $i))) (unreachable)) (local.get $i) (call $look))
			(func (export "both") (param $i i32) (local $x exnref)
				(block $h (result ` + params + ` exnref) (try_table (catch_ref $t $h) (call $below (local.get $i))) (unreachable)) (local.set $x)
				(local.get $i) (call $look) (call $busy (local.get $i)) (call $open (local.get $x) (local.get $i)))
			(func (export "ref") (param $i i32) (local $x exnref)
				(local.set $x (block $h (result exnref) (try_table (catch_all_ref $h) (call $below (local.get $i))) (unreachable)))
				(call $busy (local.get $i)) (call $open (local.get $x) (local.get $i)) (call $open (local.get $x) (local.get $i)))
			(func (export "legacy") (param $i i32)
				(try (do (call $below (local.get $i))) (catch $t (local.get $i) (call $look)))))`
	)
	passes := []string{
		"(call $below (local.get $i))",
		"(throw_ref (block $h (result exnref) (try_table (catch_all_ref $h) (call $below (local.get $i))) (unreachable)))",
		"(local $x exnref) (local.set $x (block $h (result exnref) (try_table (catch_all_ref $h) (call $below (local.get $i))) (unreachable))) (call $busy (local.get $i)) (throw_ref (local.get $x))",
		"(try (do (call $below (local.get $i))) (catch_all (call $busy (local.get $i)) (rethrow 0)))",
		"(try (do (call $below (local.get $i))) (delegate 0))",
		"(block $h (try_table (catch $mine $h) (call $below (local.get $i))))",
		"(call $again (local.get $i))",
	}
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		w := newThrowWorld(t, inproc.Config{CollectAlways: true})
		make := func(text string, more map[string]inproc.Extern) *inproc.Instance {
			t.Helper()
			inst, err := instantiateAt(level, w.s, text, w.imports(t, more))
			if err != nil {
				t.Fatal(err)
			}
			return inst
		}
		below := exports(t, make(bottom, nil), "below", "t", "in")
		for k := range 2 * len(passes) { // each has each of them further in or out
			inst := make(top, below)
			for _, name := range []string{"tag", "both", "ref", "legacy"} {
				f, err := inst.Func(name)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Call([]uint64{uint64(100 + k)}, nil); err != nil {
					t.Errorf("O%d, through %d functions, %s: %v", level, k, name, err)
				}
			}
			pass := make(fmt.Sprintf(middle, passes[k%len(passes)]), below)
			below["below"] = exports(t, pass, "passes")["passes"]
		}
		w.s.CollectRefs()
		if n := w.s.NumRefs(); n != 0 || w.calls == 0 {
			t.Errorf("O%d: %d references are left, %d calls", level, n, w.calls)
		}
	}
}

// TestHostThrowsNothing: errors of functions of the host that are exceptions by their type only, of another store, or of one that is closed, are errors like any other, which no code
// catches. The store throws and catches afterwards.
func TestHostThrowsNothing(t *testing.T) {
	exception := func(s *inproc.Store) *inproc.Exception {
		tag, err := s.NewTag(nil)
		if err != nil {
			t.Fatal(err)
		}
		x, err := inproc.NewException(tag, nil)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	closed := newStore(t, inproc.Config{})
	ofClosed := exception(closed)
	closed.Close()
	s := newStore(t, inproc.Config{})
	var now error
	h, err := s.NewHostFunc(meta.FuncType{}, func(*inproc.Caller, []uint64, []uint64) error { return now })
	if err != nil {
		t.Fatal(err)
	}
	inst := instantiate(t, s, `(module (import "h" "h" (func $h))
		(func (export "all") (result i32) (block $h (try_table (catch_all $h) (call $h) (return (i32.const 1)))) (i32.const 2))
		(func (export "ref") (result i32) (block $h (result exnref) (try_table (catch_all_ref $h) (call $h) (return (i32.const 1))) (unreachable)) (throw_ref))
		(func (export "legacy") (result i32) (try (result i32) (do (call $h) (i32.const 1)) (catch_all (i32.const 2)))))`, func(string, string) inproc.Extern { return h })
	for what, nothing := range map[string]error{"nil": (*inproc.Exception)(nil), "zero": new(inproc.Exception), "another store's": exception(newStore(t, inproc.Config{})), "a closed store's": ofClosed} {
		for _, wrapped := range []bool{false, true} {
			for name, caught := range map[string]uint64{"all": 2, "ref": 0, "legacy": 2} {
				f, err := inst.Func(name)
				if err != nil {
					t.Fatal(err)
				}
				if now = nothing; wrapped {
					now = fmt.Errorf("wrapped: %w", nothing)
				}
				out := []uint64{0}
				if err := f.Call(nil, out); err != now {
					t.Errorf("%s, wrapped %t, %s: %v, %v", what, wrapped, name, out, err)
				}
				x := exception(s)
				now = x
				err = f.Call(nil, out)
				if caught == 0 && !errors.Is(err, x) || caught != 0 && (err != nil || out[0] != caught) {
					t.Errorf("%s, wrapped %t, %s, then an exception: %v, %v", what, wrapped, name, out, err)
				}
			}
		}
	}
}
