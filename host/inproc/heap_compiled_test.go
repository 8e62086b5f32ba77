//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/hosterr"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/wat"
)

// heapText has a way to keep a list of two nodes, of which the first has a number and the second its negative, in each place where there are references.
const heapText = `(module $heap
  (rec (type $node (sub (struct (field $v i32) (field $next (mut (ref null $node)))))))
  (type $named (sub final $node (struct (field i32) (field (mut (ref null $node))) (field (mut externref)))))
  (type $nodes (array (mut (ref null $node))))
  (type $bytes (array (mut i8)))
  (import "env" "collect" (func $collect))
  (import "env" "pass" (func $pass (param anyref externref (ref null $node)) (result (ref $node))))
  (tag $e (param (ref $node)))
  (table $t (export "table") 4 (ref null $node))
  (global $last (mut (ref null $node)) (ref.null $node)) ;; what is put there is made, also if nothing reads it
  (global $kept (mut (ref null $node)) (ref.null $node))
  (global $g (export "global") (mut (ref null $node)) (ref.null $node))
  (global (export "any") (mut anyref) (ref.null any))
  (global (export "full") (mut (ref $node)) (struct.new $node (i32.const 1) (ref.null $node)))
  (elem $el (ref null $node) (item (struct.new $node (i32.const 90) (struct.new $node (i32.const -90) (ref.null $node)))))
  (func $new (export "new") (param $v i32) (result (ref $node))
    (struct.new $node (local.get $v) (struct.new $node (i32.sub (i32.const 0) (local.get $v)) (ref.null $node))))
  (func $check (export "check") (param $n (ref null $node)) (result i32) ;; the number if all is right
    (if (result i32) (i32.eqz (i32.add (struct.get $node $v (local.get $n)) (struct.get $node $v (struct.get $node $next (local.get $n)))))
      (then (struct.get $node $v (local.get $n)))
      (else (i32.const -1))))
  (func (export "frame") (param $v i32) (result i32) (local $n (ref null $node))
    (global.set $kept (call $new (local.get $v))) ;; so that it is made, and seen
    (call $collect)
    (local.set $n (global.get $kept))
    (global.set $kept (ref.null $node))
    (call $collect)
    (call $check (local.get $n)))
  (func (export "set table") (param $v i32) (table.set $t (i32.const 2) (call $new (local.get $v))))
  (func (export "get table") (result i32) (call $check (table.get $t (i32.const 2))))
  (func (export "set global") (param $v i32) (global.set $g (call $new (local.get $v))))
  (func (export "get global") (result i32) (call $check (global.get $g)))
  (func (export "get elem") (result i32)
    (call $check (array.get $nodes (array.new_elem $nodes $el (i32.const 0) (i32.const 1)) (i32.const 0))))
  (func (export "thrown") (param $v i32) (result i32)
    (call $check (block $h (result (ref $node))
      (try_table (catch $e $h) (throw $e (call $new (local.get $v))))
      (unreachable))))
  (func $through (param $v i32) (throw $e (call $new (local.get $v))))
  (func (export "thrown and held") (param $v i32) (result i32) (local $x exnref)
    (block $h (result (ref $node) exnref)
      (try_table (catch_ref $e $h) (call $through (local.get $v)))
      (unreachable))
    (local.set $x)
    (drop)
    (call $collect)
    (call $check (block $again (result (ref $node))
      (try_table (catch $e $again) (throw_ref (local.get $x)))
      (unreachable))))
  (func (export "throw") (param $v i32) (throw $e (call $new (local.get $v))))
  (func (export "pass") (param $v i32) (result i32) (local $n (ref null $node)) (local $m (ref null $node))
    (local.set $n (call $new (local.get $v)))
    (local.set $m (call $pass (local.get $n) (extern.convert_any (local.get $n)) (struct.get $node $next (local.get $n))))
    (if (ref.eq (local.get $m) (local.get $n)) (then (return (call $check (local.get $m)))))
    (i32.const -2))
  (func (export "same") (param $n (ref null $node)) (result (ref null $node)) (local.get $n))
  (func (export "any of") (param anyref) (result anyref) (local.get 0))
  (func (export "eq of") (param eqref) (result eqref) (local.get 0))
  (func (export "struct of") (param (ref struct)) (result (ref struct)) (local.get 0))
  (func (export "i31 of") (param (ref i31)) (result i32) (i31.get_s (local.get 0)))
  (func (export "array of") (param (ref null $nodes)) (result (ref null array)) (local.get 0))
  (func (export "extern of") (param anyref) (result externref) (extern.convert_any (local.get 0)))
  (func (export "intern") (param externref) (result anyref) (any.convert_extern (local.get 0)))
  (func (export "none of") (param nullref) (result nullref) (local.get 0))
  (func (export "nodes") (result (ref $nodes)) (array.new_default $nodes (i32.const 3)))
  (func (export "named") (param i32 externref) (result (ref $named))
    (struct.new $named (local.get 0) (struct.new $node (i32.sub (i32.const 0) (local.get 0)) (ref.null $node)) (local.get 1)))
  (func (export "name") (param (ref null $node)) (result externref) (struct.get $named 2 (ref.cast (ref $named) (local.get 0))))
  (func (export "check later") (param $n (ref null $node)) (result i32) (call $garbage (i32.const 500)) (call $check (local.get $n)))
  (func $garbage (export "garbage") (param $n i32)
    (loop $l
      (global.set $last (call $new (local.get $n)))
      (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func (export "fill") (param $n i32) (local $r (ref null $node))
    (loop $l
      (local.set $r (struct.new $node (local.get $n) (local.get $r)))
      (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (global.set $g (local.get $r)))
  (func (export "length") (result i32) (local $r (ref null $node)) (local $n i32)
    (local.set $r (global.get $g))
    (block $end
      (loop $l
        (br_if $end (ref.is_null (local.get $r)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (local.set $r (struct.get $node $next (local.get $r)))
        (br $l)))
    (local.get $n))
  (func (export "bytes") (param $n i32) (result i32) (array.len (array.new $bytes (i32.const 7) (local.get $n))))
  (func (export "null") (result i32) (struct.get $node $v (ref.null $node)))
  (func (export "null length") (result i32) (array.len (ref.null $nodes)))
  (func (export "is node") (param anyref) (result i32) (ref.test (ref $node) (local.get 0))))`

// heapHost is a store with an instance of heapText.
type heapHost struct {
	testing.TB
	s    *inproc.Store
	inst *inproc.Instance
	pass func(args []uint64) (uint64, error)
	// away says that another goroutine collects, on a stack of its own.
	away bool
	// level is that of further modules.
	level opt.Level
}

func newHeapHost(t testing.TB, c inproc.Config) *heapHost {
	t.Helper()
	s, err := inproc.NewStore(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	h := &heapHost{TB: t, s: s, level: opt.O1}
	h.inst = h.instantiate(heapText)
	return h
}

func (h *heapHost) instantiate(text string) *inproc.Instance {
	h.Helper()
	inst, err := h.link(text, nil)
	if err != nil {
		h.Fatal(err)
	}
	return inst
}

// link makes an instance that imports from another one, or from the host.
func (h *heapHost) link(text string, from *inproc.Instance) (*inproc.Instance, error) {
	h.Helper()
	m, err := wat.Assemble(text)
	if err != nil {
		h.Fatal(err)
	}
	img, err := image(m, h.level)
	if err != nil {
		h.Fatal(err)
	}
	mod, err := h.s.Load(img)
	if err != nil {
		h.Fatal(err)
	}
	return h.s.Instantiate(mod, func(_, name string) inproc.Extern {
		if from != nil {
			e, err := from.Export(name)
			if err != nil {
				h.Fatal(err)
			}
			return e
		}
		n := uint32(slices.IndexFunc(mod.Meta().Funcs, func(f meta.Func) bool { return f.Import.Name == name }))
		f, err := h.s.NewHostFuncOf(mod, mod.Meta().Funcs[n].Type, func(c *inproc.Caller, args, results []uint64) error {
			if name == "collect" {
				if _, err := h.inst.Func("garbage"); err != nil {
					return h.s.CollectRefs()
				}
				if h.away {
					h.beside(c)
				} else {
					h.collect()
				}
				return nil
			}
			var err error
			results[0], err = h.pass(args)
			return err
		})
		if err != nil {
			h.Fatal(err)
		}
		return f
	})
}

// call calls an export, which has one result or none.
func (h *heapHost) call(name string, args ...uint64) (uint64, error) {
	h.Helper()
	f, err := h.inst.Func(name)
	if err != nil {
		h.Fatal(err)
	}
	results := make([]uint64, len(f.Type().Results))
	err = f.Call(args, results)
	return append(results, 0)[0], err
}

// must is call that does not fail.
func (h *heapHost) must(name string, args ...uint64) uint64 {
	h.Helper()
	r, err := h.call(name, args...)
	if err != nil {
		h.Fatalf("%s%v: %v", name, args, err)
	}
	return r
}

// collect collects, and overwrites what objects have left.
func (h *heapHost) collect() {
	if err := errors.Join(h.s.CollectRefs(), h.s.CollectRefs()); err != nil {
		h.Fatal(err)
	}
	h.must("garbage", 500)
}

// beside collects in a goroutine that the caller lets in.
func (h *heapHost) beside(c *inproc.Caller) {
	c.Leave()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.collect()
	}()
	<-done
	c.Enter()
}

// heapPlaces are what keeps an object, each with the roots without which it does not.
var heapPlaces = []struct {
	name string
	root string
	keep func(h *heapHost) (uint64, error) // the number of the list after a collection
}{
	{"frame", "frames", func(h *heapHost) (uint64, error) { return h.call("frame", 90) }},
	{"frame on another stack", "frames", func(h *heapHost) (uint64, error) {
		h.away = true
		return h.call("frame", 90)
	}},
	{"table", "tables", func(h *heapHost) (uint64, error) {
		h.must("set table", 90)
		h.collect()
		return h.call("get table")
	}},
	{"global", "globals", func(h *heapHost) (uint64, error) {
		h.must("set global", 90)
		h.collect()
		return h.call("get global")
	}},
	{"element segment", "elements", func(h *heapHost) (uint64, error) {
		h.collect()
		return h.call("get elem")
	}},
	{"exception", "objects", func(h *heapHost) (uint64, error) { return h.call("thrown and held", 90) }},
	{"exception in Go", "objects", func(h *heapHost) (uint64, error) {
		_, err := h.call("throw", 90)
		var x *inproc.Exception
		if !errors.As(err, &x) {
			return 0, err
		}
		h.collect()
		h.pass = func([]uint64) (uint64, error) { return h.s.ExternRef(x.Refs()[0]), nil }
		return h.call("check", h.s.ExternRef(x.Refs()[0]))
	}},
	{"result", "objects", func(h *heapHost) (uint64, error) {
		r := h.must("new", 90)
		if err := errors.Join(h.s.CollectRefs(), h.s.CollectRefs()); err != nil {
			return 0, err
		}
		return h.call("check later", r) // the next call ends what keeps it
	}},
	{"claim", "objects", func(h *heapHost) (uint64, error) {
		r := h.must("new", 90)
		h.s.Retain(r)
		h.must("garbage", 10)
		h.collect()
		return h.call("check", r)
	}},
	{"value", "objects", func(h *heapHost) (uint64, error) {
		o := h.s.Extern(h.must("new", 90))
		h.must("garbage", 10)
		h.collect()
		return h.call("check", h.s.ExternRef(o))
	}},
	{"argument of a host function", "objects", func(h *heapHost) (uint64, error) {
		h.pass = func(args []uint64) (uint64, error) {
			h.collect()
			return args[0], nil
		}
		return h.call("pass", 90)
	}},
	{"global read in a host function", "objects", func(h *heapHost) (uint64, error) {
		h.pass = func([]uint64) (uint64, error) {
			g, err := h.inst.Global("global")
			if err != nil {
				return 0, err
			}
			r := g.Get()
			h.collect()
			return r, nil
		}
		h.must("set global", 90)
		r, err := h.call("pass", 90)
		if r == 1<<32-2 { // another object
			return 90, err
		}
		return r, err
	}},
}

// TestHeapRoots: objects stay what they are wherever references to them are, and are lost if that place is left out, which says that these tests would notice.
func TestHeapRoots(t *testing.T) {
	for _, p := range heapPlaces {
		for _, always := range []bool{false, true} {
			h := newHeapHost(t, inproc.Config{CollectAlways: always})
			if r, err := p.keep(h); err != nil || r != 90 {
				t.Errorf("%s, collections always %v: %d, %v", p.name, always, int32(r), err)
			}
		}
		if p.name == "global read in a host function" {
			continue // the object is in the global, too
		}
		h := newHeapHost(t, inproc.Config{})
		root := slices.Index(inproc.RootKinds, p.root)
		if p.root == "objects" {
			root = inproc.RootObjects
		}
		h.s.SkipRoot(root)
		r, err := p.keep(h)
		h.s.SkipRoot(-1)
		if err == nil && r == 90 {
			t.Errorf("%s: nothing is lost without %s", p.name, p.root)
		}
	}
}

// TestHeapTypes: what Go code passes is checked by the types of parameters and results, globals and tables, and what is right comes back as it is.
func TestHeapTypes(t *testing.T) {
	h := newHeapHost(t, inproc.Config{CollectAlways: true})
	other := newHeapHost(t, inproc.Config{})
	keep := func(r uint64) uint64 {
		h.s.Retain(r)
		return r
	}
	words := map[string]uint64{
		"null": 0, "i31": h.s.ExternRef(inproc.I31(-5)), "value": h.s.ExternRef("a Go value"),
		"node": keep(h.must("new", 3)), "nodes": keep(h.must("nodes")),
		"named": keep(h.must("named", 4, h.s.ExternRef("a name"))),
		"other": other.must("new", 4), "stale": h.must("new", 5), "raw": abi.HeapFirst + 8, "function": 0,
	}
	f, err := h.inst.Func("new")
	if err != nil {
		t.Fatal(err)
	}
	words["function"], words["foreign"] = f.Ref(), h.s.ExternRef(other.s.Extern(words["other"]))
	h.must("garbage", 1)
	for _, c := range []struct {
		name string
		ok   string
	}{
		{"same", "null node named"},
		{"any of", "null i31 value node nodes named"},
		{"eq of", "null i31 node nodes named"},
		{"struct of", "node named"},
		{"i31 of", "i31"},
		{"array of", "null nodes"},
		{"extern of", "null i31 value node nodes named"},
		{"intern", "null i31 value node nodes named"},
		{"none of", "null"},
	} {
		for what, w := range words {
			r, err := h.call(c.name, w)
			var refused *inproc.ReferenceError
			want := slices.Contains(split(c.ok), what)
			switch {
			case want != (err == nil) || err != nil && !errors.As(err, &refused):
				t.Errorf("%s of %s: %v", c.name, what, err)
			case want && c.name == "i31 of":
				if int32(r) != -5 {
					t.Errorf("i31 is %d", int32(r))
				}
			case want && !same(h.s.Extern(r), h.s.Extern(w)):
				t.Errorf("%s of %s is %v, not %v", c.name, what, h.s.Extern(r), h.s.Extern(w))
			}
		}
	}
	g, err := h.inst.Global("global")
	if err != nil {
		t.Fatal(err)
	}
	table, err := h.inst.Table("table")
	if err != nil {
		t.Fatal(err)
	}
	for what, w := range words {
		want := slices.Contains(split("null node named"), what)
		if err := g.Set(w); (err == nil) != want {
			t.Errorf("global set to %s: %v", what, err)
		} else if want && !same(h.s.Extern(g.Get()), h.s.Extern(w)) {
			t.Errorf("global set to %s is %v", what, h.s.Extern(g.Get()))
		}
		if err := table.Set(1, w); (err == nil) != want {
			t.Errorf("element set to %s: %v", what, err)
		} else if r, err := table.Get(1); want && (err != nil || !same(h.s.Extern(r), h.s.Extern(w))) {
			t.Errorf("element set to %s is %v, %v", what, r, err)
		}
		h.pass = func([]uint64) (uint64, error) { return w, nil }
		_, err := h.call("pass", 3)
		if want = want && what != "null"; (err == nil) != want {
			t.Errorf("%s as a result: %v", what, err)
		}
	}
	if v := h.s.Extern(h.must("name", words["named"])); v != "a name" {
		t.Errorf("a handle in an object is %v", v)
	}
	for what, kind := range map[string]abi.TypeKind{"node": abi.KindStruct, "nodes": abi.KindArray} {
		if o, ok := h.s.Extern(words[what]).(*inproc.Object); !ok || o.Kind() != kind || o.Store() != h.s {
			t.Errorf("%s is %v", what, o)
		}
	}
}

func split(s string) (words []string) {
	for len(s) > 0 {
		var w string
		if n, _ := fmt.Sscan(s, &w); n == 0 {
			break
		}
		words = append(words, w)
		s = s[min(len(w)+1, len(s)):]
	}
	return words
}

// same compares values of references.
func same(a, b any) bool {
	x, ok := a.(*inproc.Object)
	y, also := b.(*inproc.Object)
	if ok && also {
		return x.Same(y)
	}
	return a == b
}

// TestHeapLimit: code makes garbage without end, and what lives may take so much and no more; a trap has a place, and the store stays usable.
func TestHeapLimit(t *testing.T) {
	h := newHeapHost(t, inproc.Config{MaxHeapMemory: 4 << 20})
	h.must("garbage", 1_000_000)
	for range 3 {
		_, err := h.call("fill", 1_000_000)
		var trap *inproc.Trap
		if !errors.As(err, &trap) || trap.Code != abi.TrapHeapExhausted || trap.Name != "fill" || trap.Offset == 0 || trap.Inner != 1 {
			t.Fatalf("a list of 16 MB: %v", err)
		}
		h.must("set global", 1) // the list before is garbage now
		h.must("fill", 200_000)
		if n := h.must("length"); n != 200_000 {
			t.Errorf("%d nodes", n)
		}
		if n := h.must("bytes", 600_000); n != 600_000 {
			t.Errorf("%d bytes", n)
		}
		if _, err := h.call("bytes", 5<<20); !errors.As(err, &trap) || trap.Code != abi.TrapHeapExhausted {
			t.Errorf("an array of 5 MiB: %v", err)
		}
	}
	for name, code := range map[string]abi.TrapCode{"null": abi.TrapNullStructure, "null length": abi.TrapNullArray} {
		var trap *inproc.Trap
		if _, err := h.call(name); !errors.As(err, &trap) || trap.Code != code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHeapForgotten: what Go code does not hold any more does not fill the heap, though Go's collector has not run.
func TestHeapForgotten(t *testing.T) {
	h := newHeapHost(t, inproc.Config{MaxHeapMemory: 2 << 20})
	g, err := h.inst.Global("global")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		h.must("fill", 20_000)
		if _, ok := h.s.Extern(g.Get()).(*inproc.Object); !ok {
			t.Fatal("no object")
		}
	}
	h.must("set global", 1)
	h.collect() // handles
	runtime.GC()
	h.collect()
	if n := h.s.NumObjects(); n != 0 {
		t.Errorf("%d objects are held", n)
	}
}

// TestHeapReset: a reset instance is what it was, also where a table or global holds objects, and snapshots are refused by name.
func TestHeapReset(t *testing.T) {
	h := newHeapHost(t, inproc.Config{})
	second := h.instantiate(heapText)
	for range 3 {
		h.must("set global", 7)
		h.must("set table", 8)
		if err := h.s.Reset(nil); err != nil {
			t.Fatal(err)
		}
		var trap *inproc.Trap
		for _, name := range []string{"get global", "get table"} {
			if _, err := h.call(name); !errors.As(err, &trap) || trap.Code != abi.TrapNullStructure {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := h.must("get elem"); n != 90 {
			t.Errorf("the element segment: %d", n)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	full, err := h.inst.Global("full")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.inst.Reset(ended); err == nil || full.Get() == 0 {
		t.Errorf("a global that is never null is %#x after a reset that did not set it (%v)", full.Get(), err)
	}
	if err := h.inst.Reset(nil); err != nil {
		t.Fatal(err)
	}
	// The types of two modules are the same.
	f, err := second.Func("check")
	if err != nil {
		t.Fatal(err)
	}
	res := []uint64{0}
	if err := f.Call([]uint64{h.must("new", 9)}, res); err != nil || res[0] != 9 {
		t.Errorf("an object of another module: %d, %v", res[0], err)
	}
	// Types that come later are known.
	was := h.inst
	h.inst = h.instantiate(`(module (type $late (struct (field i64 i64 f32 (mut i8))))
		(func (export "late") (result (ref $late)) (struct.new $late (i64.const 1) (i64.const 2) (f32.const 3) (i32.const 4)))
		(func (export "of late") (param (ref $late)) (result i32) (struct.get_u $late 3 (local.get 0))))`)
	late := h.must("late")
	if err := h.s.CollectRefs(); err != nil {
		t.Fatal(err)
	}
	if n := h.must("of late", late); n != 4 {
		t.Errorf("an object of a type that came later: %d", n)
	}
	h.inst = was
	var none *hosterr.SnapshotError
	if err := h.inst.Snapshot(func(*inproc.Image) error { return nil }); !errors.As(err, &none) {
		t.Errorf("a snapshot of the instance: %v", err)
	}
	h.pass = func(args []uint64) (uint64, error) {
		if _, err := h.s.Snapshot(); !errors.As(err, &none) {
			t.Errorf("a snapshot of the stack: %v", err)
		}
		return args[0], nil
	}
	h.must("pass", 3)
}

// TestHeapManyValues: references that are passed and returned in memory are right after everything has moved.
func TestHeapManyValues(t *testing.T) {
	const n = 24
	many := strings.Repeat("(ref null $node) ", n)
	var make, sum, gets, back strings.Builder
	for i := range n {
		fmt.Fprintf(&make, "(struct.new $node (i32.const %d))", i+1)
		fmt.Fprintf(&sum, "(i32.mul (struct.get $node 0 (local.get %d)) (i32.const %d)) (i32.add)", i, i*i+1)
		fmt.Fprintf(&gets, "(local.get %d)", n-1-i)
		fmt.Fprintf(&back, "(local.set %d)", i) // the last result comes first
	}
	text := `(module (type $node (struct (field i32)))
		(import "env" "collect" (func $collect))
		(func $sum (param ` + many + `) (result i32) (call $collect) (drop (struct.new $node (i32.const 0))) (i32.const 0) ` + sum.String() + `)
		(func $turn (param ` + many + `) (result ` + many + `) (call $collect) ` + gets.String() + `)
		(func (export "many") (result i32) ` + strings.ReplaceAll(many, "(ref", "(local (ref") + `
			(call $turn ` + make.String() + `)
			` + back.String() + `
			(call $collect)
			(call $sum ` + func() (s string) {
		for i := range n {
			s += fmt.Sprintf("(local.get %d)", i)
		}
		return s
	}() + `)))`
	text = strings.ReplaceAll(text, "(local (ref null $node) ", "(local (ref null $node)) ")
	want := uint64(0)
	for i := range uint64(n) {
		want += (i + 1) * (i*i + 1)
	}
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		h := newHeapHost(t, inproc.Config{CollectAlways: true})
		h.level = level
		h.inst = h.instantiate(text)
		if r := h.must("many"); r != want {
			t.Errorf("-O%d: %d, want %d", level, r, want)
		}
	}
}

// TestHeapLinking: what is imported may be of a subtype, as far as it cannot change, and so may functions that Go code passes.
func TestHeapLinking(t *testing.T) {
	const types = `(type $f (sub (func (result i32)))) (type $g (sub $f (func (result i32)))) (type $s (sub (struct))) (type $r (sub $s (struct (field i32))))`
	h := newHeapHost(t, inproc.Config{})
	from := h.instantiate(`(module ` + types + `
		(func $f (export "f") (type $f) (i32.const 1)) (func $g (export "g") (type $g) (i32.const 2))
		(global (export "gs") (ref null $s) (struct.new $s)) (global (export "gr") (ref null $r) (struct.new $r (i32.const 3)))
		(global (export "gf") (ref null $f) (ref.func $f)) (global (export "gg") (ref null $g) (ref.func $g))
		(global (export "mr") (mut (ref null $r)) (ref.null $r)))`)
	for text, ok := range map[string]bool{
		`(import "m" "g" (func (type $f)))`:                           true,
		`(import "m" "f" (func (type $g)))`:                           false,
		`(import "m" "gr" (global (ref null $s)))`:                    true,
		`(import "m" "gr" (global anyref))`:                           true,
		`(import "m" "gs" (global (ref null $r)))`:                    false,
		`(import "m" "gg" (global (ref null $f)))`:                    true,
		`(import "m" "gg" (global funcref))`:                          true,
		`(import "m" "gf" (global (ref null $g)))`:                    false,
		`(import "m" "mr" (global (mut (ref null $r))))`:              true,
		`(import "m" "mr" (global (mut (ref null $s))))`:              false,
		`(import "m" "gr" (global (mut (ref null $r))))`:              false,
		`(import "m" "f" (func (type 4))) (type (func (result i32)))`: false,
	} {
		_, err := h.link(`(module `+types+text+`)`, from)
		var no *inproc.LinkError
		if ok != (err == nil) || err != nil && !errors.As(err, &no) {
			t.Errorf("%s: %v", text, err)
		}
	}
	was := h.inst
	h.inst = h.instantiate(`(module ` + types + `
		(func (export "call f") (param (ref $f)) (result i32) (call_ref $f (local.get 0)))
		(func (export "call g") (param (ref $g)) (result i32) (call_ref $g (local.get 0)))
		(func (export "is f") (param funcref) (result i32) (ref.test (ref $f) (local.get 0)))
		(func (export "is g") (param funcref) (result i32) (ref.test (ref $g) (local.get 0))))`)
	refs := map[string]uint64{}
	for _, name := range []string{"f", "g"} {
		f, err := from.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		refs[name] = f.Ref()
	}
	for _, c := range []struct {
		name, arg string
		want      uint64
		refused   bool
	}{
		{"call f", "f", 1, false}, {"call f", "g", 2, false}, {"call g", "g", 2, false}, {"call g", "f", 0, true},
		{"is f", "f", 1, false}, {"is f", "g", 1, false}, {"is g", "f", 0, false}, {"is g", "g", 1, false}, {"is g", "null", 0, false},
	} {
		r, err := h.call(c.name, refs[c.arg])
		if r != c.want || (err != nil) != c.refused {
			t.Errorf("%s of %s: %d, %v", c.name, c.arg, r, err)
		}
	}
	h.inst = was
}

// TestHeapClosed: closed stores leave no mapping of a heap.
func TestHeapClosed(t *testing.T) {
	before := uint64(0)
	for n := range 20 {
		h := newHeapHost(t, inproc.Config{})
		h.must("fill", 1000)
		o := h.s.Extern(h.must("new", 9))
		if err := h.s.Close(); err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(o)
		if n == 0 {
			before = inproc.Mappings()
		}
	}
	if after := inproc.Mappings(); after > before {
		t.Errorf("%d mappings, and %d after more stores", before, after)
	}
}

// BenchmarkHeap measures what an object costs that nothing keeps, and one of a list that is kept until the next one.
func BenchmarkHeap(b *testing.B) {
	for _, name := range []string{"garbage", "fill"} {
		b.Run(name, func(b *testing.B) {
			h := newHeapHost(b, inproc.Config{})
			f, err := h.inst.Func(name)
			if err != nil {
				b.Fatal(err)
			}
			const n = 100_000
			for range b.N {
				if err := f.Call([]uint64{n}, nil); err != nil {
					b.Fatal(err)
				}
			}
			objects := n
			if name == "garbage" {
				objects = 2 * n
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(objects), "ns/object")
		})
	}
}
