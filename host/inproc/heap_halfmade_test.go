//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// halfMade makes a tree of structures, arrays and closures by recursion, and keeps each object in a list, too. Something happens in the place of object number $n: what has been made by then, operands of operators that
// make objects and elements of arrays included, is garbage, or is kept by the list.
const halfMade = `(module
  (rec
    (type $node (sub (struct (field $n i32) (field $left (mut (ref null $node))) (field $right (mut (ref null $nodes))) (field $what (mut anyref)))))
    (type $nodes (array (mut (ref null $node)))))
  (type $leaf (sub final $node (struct (field i32) (field (mut (ref null $node))) (field (mut (ref null $nodes))) (field (mut anyref)) (field f64) (field externref))))
  (type $link (struct (field $of (ref $node)) (field $n i32) (field $next (ref null $link))))
  (import "env" "pass" (func $pass (param anyref externref (ref null $node)) (result (ref $node))))
  (tag $e (param (ref $node) i32))
  (global $links (mut (ref null $link)) (ref.null $link))
  (global $made (mut i32) (i32.const 0))
  (global $n (mut i32) (i32.const 0))
  (global $how (mut i32) (i32.const 0))
  (func $happen (result (ref $node)) (local $a (ref $nodes))
    (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $5 $6 $7 (global.get $how)))
      (unreachable))
      (throw $e (struct.new $node (i32.const 7) (ref.null $node) (ref.null $nodes) (ref.null any)) (i32.const 9)))
      (return (call $pass (ref.null any) (ref.null extern) (ref.null $node))))
      (drop (call $pass (ref.null any) (ref.null extern) (struct.new $node (i32.const 7) (ref.null $node) (ref.null $nodes) (ref.null any))))
      (loop $l (drop (array.new_default $nodes (i32.const 100))) (br $l)))
      (drop (array.new_default $nodes (i32.const -1))) (unreachable))
      (drop (struct.get $node $left (ref.null $node))) (unreachable))
      (local.set $a (array.new_default $nodes (i32.const 10)))
      (array.copy $nodes $nodes (local.get $a) (i32.const 5) (local.get $a) (i32.const 1) (i32.const 6)) (unreachable))
    (drop (ref.cast (ref $leaf) (struct.new $node (i32.const 7) (ref.null $node) (ref.null $nodes) (ref.null any))))
    (unreachable))
  (func $keep (param $o (ref $node)) (result (ref $node))
    (global.set $made (i32.add (global.get $made) (i32.const 1)))
    (if (i32.eq (global.get $made) (global.get $n)) (then (local.set $o (call $happen))))
    (global.set $links (struct.new $link (local.get $o) (global.get $made) (global.get $links)))
    (local.get $o))
  (func $build (param $d i32) (result (ref $node))
    (if (i32.eqz (local.get $d))
      (then (return (call $keep (struct.new $leaf (i32.const 5) (ref.null $node) (ref.null $nodes) (ref.i31 (i32.const 5)) (f64.const 5) (ref.null extern))))))
    (local.set $d (i32.sub (local.get $d) (i32.const 1)))
    (call $keep (struct.new $node
      (i32.const 5)
      (call $build (local.get $d))
      (array.new_fixed $nodes 3 (call $build (local.get $d)) (ref.null $node) (call $build (local.get $d)))
      (struct.get $node $left (struct.new $node (i32.const 5) (call $build (local.get $d)) (ref.null $nodes) (ref.i31 (i32.const 5)))))))
  (func (export "build") (param $n i32) (param $how i32) (result i32)
    (global.set $links (ref.null $link)) (global.set $made (i32.const 0))
    (global.set $n (local.get $n)) (global.set $how (local.get $how))
    (drop (call $build (i32.const 3)))
    (global.get $made))
  (func (export "caught") (param $n i32) (result i32) (local $r i32) (local $o (ref null $node))
    (global.set $links (ref.null $link)) (global.set $made (i32.const 0))
    (global.set $n (local.get $n)) (global.set $how (i32.const 1))
    (block $h (result (ref $node) i32)
      (try_table (catch $e $h) (drop (call $build (i32.const 3))))
      (return (global.get $made)))
    (local.set $r)
    (local.set $o)
    (drop (call $build (i32.const 1)))
    (i32.add (local.get $r) (struct.get $node $n (local.get $o))))
  (func $count (param $o (ref null $node)) (result i32) (local $i i32) (local $s i32) (local $a (ref null $nodes))
    (if (ref.is_null (local.get $o)) (then (return (i32.const 0))))
    (if (i32.ne (struct.get $node $n (local.get $o)) (i32.const 5)) (then (unreachable)))
    (local.set $s (i32.add (i32.const 1) (call $count (struct.get $node $left (local.get $o)))))
    (local.set $a (struct.get $node $right (local.get $o)))
    (if (ref.is_null (local.get $a)) (then (return (local.get $s))))
    (loop $l
      (local.set $s (i32.add (local.get $s) (call $count (array.get $nodes (local.get $a) (local.get $i)))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (array.len (local.get $a)))))
    (i32.add (local.get $s) (call $count (ref.cast (ref $node) (struct.get $node $what (local.get $o))))))
  ;; a number that says how many objects the list has, and how many are in their trees
  (func (export "kept") (result i64) (local $l (ref null $link)) (local $n i32) (local $all i64)
    (local.set $l (global.get $links))
    (block $end
      (loop $next
        (br_if $end (ref.is_null (local.get $l)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (local.set $all (i64.add (local.get $all) (i64.extend_i32_u (call $count (struct.get $link $of (local.get $l))))))
        (local.set $l (struct.get $link $next (local.get $l)))
        (br $next)))
    (i64.or (i64.shl (i64.extend_i32_u (local.get $n)) (i64.const 32)) (local.get $all))))`

// TestHeapHalfMade: whatever ends code that is about to make objects, what it has made before stays whole through collections, and the heap with it.
func TestHeapHalfMade(t *testing.T) {
	ends := []struct {
		name string
		is   func(err error) bool
	}{
		{"unreachable", func(err error) bool { return trapOf(err) == abi.TrapUnreachable }},
		{"exception", func(err error) bool { var x *inproc.Exception; return errors.As(err, &x) }},
		{"host", func(err error) bool { return errors.Is(err, errHalfMade) }},
		{"cancelled", func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"too large", func(err error) bool { return trapOf(err) == abi.TrapHeapExhausted }},
		{"null", func(err error) bool { return trapOf(err) == abi.TrapNullStructure }},
		{"copy", func(err error) bool { return trapOf(err) == abi.TrapArrayOutOfBounds }},
		{"cast", func(err error) bool { return trapOf(err) == abi.TrapCastFailure }},
	}
	const all = 1 + 4 + 16 + 64 // objects of the tree
	want := map[int]uint64{}    // by the number of the object
	step := testenv.Cases(17, 7, 1)
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		for _, always := range []bool{false, true} {
			s, err := inproc.NewStore(inproc.Config{CollectAlways: always})
			if err != nil {
				t.Fatal(err)
			}
			h := &heapHost{TB: t, s: s, level: level}
			cancel := func() {}
			h.pass = func(args []uint64) (uint64, error) {
				if args[2] == 0 {
					return 0, errHalfMade
				}
				time.AfterFunc(500*time.Microsecond, cancel)
				return args[2], nil
			}
			h.inst = h.instantiate(halfMade)
			build, err := h.inst.Func("build")
			if err != nil {
				t.Fatal(err)
			}
			check := func(what string, n int) {
				t.Helper()
				for range 2 { // each collection leaves a space
					if err := errors.Join(s.CollectRefs(), s.VerifyHeap()); err != nil {
						t.Fatalf("-O%d, collecting always %v: %s at object %d: %v", level, always, what, n, err)
					}
				}
				kept := h.must("kept")
				if want[n] == 0 {
					want[n] = kept
				}
				if kept>>32 != uint64(n-1) || kept != want[n] {
					t.Errorf("-O%d, collecting always %v: %s at object %d: %d objects with %d in their trees, want %d", level, always, what, n, kept>>32, uint32(kept), uint32(want[n]))
				}
			}
			for n := 1; n <= all; n += step {
				for how, end := range ends {
					if end.name == "cancelled" && n%3 != 0 {
						continue // they take time
					}
					var ctx context.Context
					ctx, cancel = context.WithCancel(context.Background())
					var r [1]uint64
					err := build.CallContext(ctx, []uint64{uint64(n), uint64(how)}, r[:])
					cancel()
					if !end.is(err) {
						t.Fatalf("-O%d, collecting always %v: %s at object %d: %v", level, always, end.name, n, err)
					}
					check(end.name, n)
				}
				if r := h.must("caught", uint64(n)); r != 16 {
					t.Errorf("-O%d, collecting always %v: caught at object %d: %d", level, always, n, r)
				}
				if err := errors.Join(s.CollectRefs(), s.VerifyHeap()); err != nil {
					t.Fatal(err)
				}
				if kept := h.must("kept"); kept>>32 != uint64(n-1+5) {
					t.Errorf("-O%d, collecting always %v: %d objects after an exception at object %d", level, always, kept>>32, n)
				}
			}
			if r := h.must("build", 0, 0); r != all {
				t.Errorf("-O%d: %d objects", level, r)
			}
			check("nothing", all+1)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

var errHalfMade = fmt.Errorf("an error of the host")

// TestHeapCancelled: the end of a context ends code that is in collections nearly all the time, where it is hardly ever taken off the processor.
func TestHeapCancelled(t *testing.T) {
	s, err := inproc.NewStore(inproc.Config{CollectAlways: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := &heapHost{TB: t, s: s, level: opt.O1}
	h.inst = h.instantiate(`(module
		(type $node (struct (field (ref null $node))))
		(import "env" "pass" (func $pass (param anyref externref (ref null $node)) (result (ref $node))))
		(global $keep (mut (ref null $node)) (ref.null $node))
		(func $add (param $n i32)
			(loop $l
				(global.set $keep (struct.new $node (global.get $keep)))
				(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
		(func (export "garbage") (param $n i32)
			(call $add (i32.const 300))
			(drop (call $pass (ref.null any) (ref.null extern) (global.get $keep)))
			(call $add (local.get $n))))`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h.pass = func(args []uint64) (uint64, error) {
		time.AfterFunc(time.Millisecond, cancel)
		return args[2], nil
	}
	f, err := h.inst.Func("garbage")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CallContext(ctx, []uint64{10_000}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("code that was cancelled came to its end: %v", err)
	}
}
