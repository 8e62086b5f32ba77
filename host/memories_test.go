//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/waot-project/waot/host"
)

// several has a memory that moves bytes to and from two others, one of which it imports twice.
const several = `(module
	(import "env" "shared" (memory $shared 1 2))
	(import "env" "shared" (memory $again 1 2))
	(memory $own (export "own") 1 4)
	(memory $text (export "memory") 1 1)
	(data (memory $text) (i32.const 65530) "static")
	(func (export "load") (param i32 i32) (result i32)
		(if (i32.eq (local.get 0) (i32.const 0)) (then (return (i32.load8_u $shared (local.get 1)))))
		(if (i32.eq (local.get 0) (i32.const 1)) (then (return (i32.load8_u $again (local.get 1)))))
		(if (i32.eq (local.get 0) (i32.const 2)) (then (return (i32.load8_u $own (local.get 1)))))
		(i32.load8_u $text (local.get 1)))
	;; What is stored by one name is seen by the other at once.
	(func (export "alias") (param i32 i32) (result i32)
		(i32.store8 $shared (local.get 0) (i32.const 1))
		(i32.store8 $again (local.get 0) (local.get 1))
		(i32.load8_u $shared (local.get 0)))
	;; So is the size.
	(func (export "grow") (result i32 i32)
		(drop (memory.size $shared))
		(drop (memory.grow $again (i32.const 1)))
		(memory.size $shared) (memory.size $own))
	(func (export "copy") (param i32 i32 i32) (memory.copy $own $text (local.get 0) (local.get 1) (local.get 2)))
	(func (export "share") (param i32 i32 i32) (memory.copy $again $own (local.get 0) (local.get 1) (local.get 2))))`

// TestSeveralMemories: each memory of an instance has its own bytes and bounds, unless two are the same.
func TestSeveralMemories(t *testing.T) {
	for name, m := range map[string]*host.Module{"": text(t, several), "explicit bounds": checkedText(t, several)} {
		for _, moving := range []bool{false, name != ""} {
			var o host.StoreOptions
			if moving {
				o.Allocator = &wanderer{}
			}
			s := must[*host.Store](t)(host.NewStore(&o))
			defer s.Close()
			shared := must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1, Max: 2, HasMax: true}))
			inst := must[*host.Instance](t)(s.Instantiate(bg, m, host.Imports{"env": {"shared": shared}}))
			call := func(name string, args ...any) []any {
				t.Helper()
				return must[[]any](t)(function(t, inst, name).Call(bg, args...))
			}
			own, static := must[*host.Memory](t)(inst.Memory("own")), must[*host.Memory](t)(inst.Memory("memory"))
			call("copy", int32(100), int32(65530), int32(6))
			call("share", int32(65000), int32(99), int32(8))
			for _, b := range [][]byte{static.Bytes()[65530:], own.Bytes()[100:106], shared.Bytes()[65001:65007]} {
				if string(b) != "static" {
					t.Errorf("%s: %q", name, b)
				}
			}
			if got := call("alias", int32(5), int32(77))[0]; got != int32(77) {
				t.Errorf("%s: what is stored by another name is %v", name, got)
			}
			trapsAt := func(memory, at int32) bool {
				var trap *host.Trap
				_, err := function(t, inst, "load").Call(bg, memory, at)
				return errors.As(err, &trap) && trap.Code == host.TrapMemoryOutOfBounds
			}
			if got := call("grow"); got[0] != int32(2) || got[1] != int32(1) {
				t.Errorf("%s: sizes after growth are %v", name, got)
			}
			for k, size := range []int32{2 << 16, 2 << 16, 1 << 16, 1 << 16} {
				if trapsAt(int32(k), size-1) || !trapsAt(int32(k), size) {
					t.Errorf("%s: the end of memory %d is not at %d", name, k, size)
				}
			}
			if !bytes.Equal(shared.Bytes()[5:6], []byte{77}) {
				t.Errorf("%s: growth changed the memory", name)
			}
		}
	}
	// Limits count each.
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{MaxMemories: 2}))
	defer s.Close()
	shared := must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1, Max: 2, HasMax: true}))
	var limit *host.LimitError
	if _, err := s.Instantiate(bg, text(t, several), host.Imports{"env": {"shared": shared}}); !errors.As(err, &limit) || limit.What != "memories" {
		t.Errorf("three memories of two: %v", err)
	}
}
