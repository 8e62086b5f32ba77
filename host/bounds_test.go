//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// checkedText is text with explicit bounds checks.
func checkedText(t testing.TB, wat string) *host.Module {
	t.Helper()
	o := &waot.CompileOptions{ExplicitBounds: true}
	object := must[[]byte](t)(waot.CompileObject(must[[]byte](t)(waot.ParseText([]byte(wat))), o))
	m := must[*host.Module](t)(host.Load(object, nil))
	t.Cleanup(func() { m.Close() })
	return m
}

// wanderer is an allocator whose memories move whenever they grow. What they leave behind is full of 0xee.
type wanderer struct {
	allocated [][2]uint64
	sizes     []uint64
	freed     int
	most      uint64 // more is refused, if it is not 0
}

func (w *wanderer) Allocate(capacity, max uint64) host.LinearMemory {
	w.allocated = append(w.allocated, [2]uint64{capacity, max})
	return &wandering{of: w}
}

type wandering struct {
	of *wanderer
	b  []byte
}

func (m *wandering) Reallocate(size uint64) []byte {
	m.of.sizes = append(m.of.sizes, size)
	if m.of.most != 0 && size > m.of.most {
		return nil
	}
	b := make([]byte, size)
	copy(b, m.b)
	for i := range m.b {
		m.b[i] = 0xee
	}
	m.b = b
	return b
}

func (m *wandering) Free() { m.of.freed++ }

// The memory grows in loops, by a function of the host, by one of another instance, and by a call through a table.
const (
	growing = `(module (import "env" "grow" (func $hostgrow (param i32) (result i32)))
	(memory (export "memory") 1 64) (table (export "table") 2 funcref) (type $v (func (param i32) (result i32)))
	(data (i32.const 8) "\01\02\03\04\05\06\07\08")
	(global $kept (mut i32) (i32.const 0))
	(func $selfgrow (export "selfgrow") (param i32) (result i32) (memory.grow (local.get 0)))
	(elem (i32.const 0) $selfgrow)
	;; Stores and loads around growth of each kind: $how is 0 for none.
	(func (export "walk") (param $how i32) (param $n i32) (result i64) (local $i i32) (local $sum i64) (local $at i32)
		(loop $next
			(local.set $at (i32.mul (local.get $i) (i32.const 1000)))
			(i32.store (local.get $at) (i32.add (local.get $i) (i32.const 77)))
			(local.set $sum (i64.add (i64.mul (local.get $sum) (i64.const 31)) (i64.load offset=4 (local.get $at))))
			(if (i32.eqz (i32.rem_u (local.get $i) (i32.const 5))) (then
				(if (i32.eq (local.get $how) (i32.const 1)) (then (global.set $kept (memory.grow (i32.const 1)))))
				(if (i32.eq (local.get $how) (i32.const 2)) (then (global.set $kept (call $hostgrow (i32.const 1)))))
				(if (i32.eq (local.get $how) (i32.const 3)) (then (global.set $kept (call_indirect (type $v) (i32.const 1) (i32.const 1)))))
				(if (i32.eq (local.get $how) (i32.const 4)) (then (global.set $kept (call $selfgrow (i32.const 1)))))))
			(local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (i32.add (i32.load (local.get $at)) (i32.load8_u offset=1 (local.get $at))))))
			(local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (memory.size))))
			(i64.store offset=16 (local.get $at) (local.get $sum))
			(local.set $i (i32.add (local.get $i) (i32.const 1)))
			(br_if $next (i32.lt_u (local.get $i) (local.get $n))))
		(memory.copy (i32.const 3) (i32.const 1003) (local.get $n))
		(memory.fill (i32.const 50) (i32.const 0xa5) (local.get $n))
		(i64.xor (local.get $sum) (i64.load (i32.const 8))))
	;; What the growth in front of it made is used right behind it.
	(func (export "fresh") (result i32) (local $at i32)
		(local.set $at (i32.mul (memory.grow (i32.const 1)) (i32.const 65536)))
		(i32.store offset=65532 (local.get $at) (i32.const 5))
		(drop (memory.grow (i32.const 1)))
		(i32.load offset=131068 (local.get $at))))`
	importing = `(module (import "a" "memory" (memory 1)) (import "a" "table" (table 2 funcref)) (type $v (func (param i32) (result i32)))
	(import "a" "selfgrow" (func $other (param i32) (result i32)))
	(func $grow (type $v) (i32.store (i32.const 40) (memory.size)) (memory.grow (local.get 0)))
	(elem (i32.const 1) $grow)
	(func (export "through") (param i32) (result i32)
		(i32.store (i32.const 44) (local.get 0))
		(drop (call $other (i32.const 2)))
		(i32.add (i32.load (i32.const 44)) (i32.load offset=65536 (i32.const 44)))))`
)

// walkAll gives what the functions of growing and importing return, and what the memory is then.
func walkAll(t *testing.T, compile func(testing.TB, string) *host.Module, o *host.StoreOptions, how int32) (results []any, memory []byte) {
	t.Helper()
	s := must[*host.Store](t)(host.NewStore(o))
	defer s.Close()
	var mem *host.Memory
	a := must[*host.Instance](t)(s.Instantiate(bg, compile(t, growing), host.Imports{"env": {
		"grow": func(n uint32) uint32 {
			old, _ := mem.Grow(n)
			return old
		},
	}}))
	mem = must[*host.Memory](t)(a.Memory("memory"))
	b := must[*host.Instance](t)(s.Instantiate(bg, compile(t, importing), host.Imports{"a": {
		"memory": mem, "table": must[*host.Table](t)(a.Table("table")), "selfgrow": function(t, a, "selfgrow"),
	}}))
	call := func(i *host.Instance, name string, args ...any) {
		got, err := function(t, i, name).Call(bg, args...)
		results = append(results, got, fmt.Sprint(err))
	}
	call(a, "walk", how, int32(60))
	call(b, "through", int32(9))
	call(a, "fresh")
	call(a, "walk", how, int32(5000)) // traps
	return results, bytes.Clone(mem.Bytes())
}

// TestMovingMemory: code finds memories that move, however they grow, in all instances that have them.
func TestMovingMemory(t *testing.T) {
	for how := range int32(5) {
		want, memory := walkAll(t, text, nil, how)
		for _, c := range []struct {
			name    string
			options *host.StoreOptions
		}{
			{"moving", &host.StoreOptions{Allocator: &wanderer{}}},
			{"mapped", nil},
			{"kept", &host.StoreOptions{KeepViews: true}},
		} {
			got, gotMemory := walkAll(t, checkedText, c.options, how)
			if d := cmp.Diff(want, got); d != "" || !bytes.Equal(memory, gotMemory) {
				t.Errorf("%s, growth %d: memories are equal: %t\n%s", c.name, how, bytes.Equal(memory, gotMemory), d)
			}
		}
	}
}

// TestAllocator: what an allocator is asked for, and what its answers do.
func TestAllocator(t *testing.T) {
	w := &wanderer{most: 3 << 16}
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{Allocator: w, MaxMemoryPages: 100}))
	m := checkedText(t, writes)
	inst := must[*host.Instance](t)(s.Instantiate(bg, m, nil))
	mem := must[*host.Memory](t)(inst.Memory("memory"))
	grow := func(n int32) any { return must[[]any](t)(function(t, inst, "grow").Call(bg, n))[0] }
	if b := mem.Bytes(); len(b) != 2<<16 || string(b[100_000:][:4]) != "data" || string(b[70_000:][:4]) != "more" {
		t.Errorf("%d bytes", len(b))
	}
	got := []any{grow(0), grow(1), grow(1), grow(100)}
	if want := []any{int32(2), int32(2), int32(-1), int32(-1)}; !slices.Equal(got, want) {
		t.Errorf("growth gave %v, want %v", got, want)
	}
	if b := mem.Bytes(); len(b) != 3<<16 || string(b[100_000:][:4]) != "data" {
		t.Errorf("%d bytes", len(b))
	}
	// A memory of the host; one that is empty; one without a maximum.
	must[*host.Memory](t)(s.NewMemory(host.Limits{}))
	if _, err := s.NewMemory(host.Limits{Min: 4}); !errors.Is(err, host.ErrNoSpace) {
		t.Errorf("a memory that the allocator refuses: %v", err)
	}
	if d := cmp.Diff([][2]uint64{{2 << 16, 10 << 16}, {0, 100 << 16}, {4 << 16, 100 << 16}}, w.allocated); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]uint64{2 << 16, 3 << 16, 4 << 16, 0, 4 << 16}, w.sizes); d != "" {
		t.Error(d)
	}
	if w.freed != 1 { // the one that was refused
		t.Errorf("%d freed before the end", w.freed)
	}
	if err := s.Close(); err != nil || w.freed != 3 {
		t.Errorf("%v, %d freed", err, w.freed)
	}
}

// TestInstanceAllocator: one instance of a store has an allocator, and one that imports its memory.
func TestInstanceAllocator(t *testing.T) {
	w := &wanderer{}
	s := must[*host.Store](t)(host.NewStore(nil))
	with := &host.InstanceOptions{Allocator: w}
	if _, err := s.InstantiateWith(bg, text(t, writes), nil, with); !errors.Is(err, host.ErrGuardPages) {
		t.Errorf("guard pages: %v", err)
	}
	must[*host.Instance](t)(s.Instantiate(bg, text(t, writes), nil))
	inst := must[*host.Instance](t)(s.InstantiateWith(bg, checkedText(t, writes), nil, with))
	other := must[*host.Instance](t)(s.Instantiate(bg, checkedText(t, `(module (import "m" "memory" (memory 1))
		(func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0))))`), host.Imports{"m": {"memory": must[*host.Memory](t)(inst.Memory("memory"))}}))
	must[[]any](t)(function(t, inst, "grow").Call(bg, int32(1)))
	must[[]any](t)(function(t, inst, "set").Call(bg, int32(2<<16), int32(7)))
	if got := must[[]any](t)(function(t, other, "get").Call(bg, int32(2<<16))); got[0] != int32(7) || len(w.allocated) != 1 {
		t.Errorf("%v, %d allocated", got, len(w.allocated))
	}
	if err := s.Close(); err != nil || w.freed != 1 {
		t.Errorf("%v, %d freed", err, w.freed)
	}
}

// TestBoundsForms: code that relies on guard pages gets no memory that moves; the other way round is fine.
func TestBoundsForms(t *testing.T) {
	const imports = `(module (import "m" "m" (memory 1)) (func (export "f") (param i32) (result i32)
		(i32.store (local.get 0) (i32.const 5)) (drop (memory.grow (i32.const 1))) (i32.load offset=2 (local.get 0))))`
	withAllocator := func() *host.Store {
		s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{Allocator: &wanderer{}}))
		t.Cleanup(func() { s.Close() })
		return s
	}
	s := withAllocator()
	if _, err := s.Instantiate(bg, text(t, writes), nil); !errors.Is(err, host.ErrGuardPages) {
		t.Errorf("a memory of its own: %v", err)
	}
	given := host.Imports{"m": {"m": must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1}))}}
	var link *host.LinkError
	if _, err := s.Instantiate(bg, text(t, imports), given); !errors.As(err, &link) || !strings.Contains(err.Error(), "may move") {
		t.Errorf("an import that moves: %v", err)
	}
	own := must[*host.Store](t)(host.NewStore(nil))
	t.Cleanup(func() { own.Close() })
	from := must[*host.Instance](t)(own.Instantiate(bg, checkedText(t, writes), nil))
	given = host.Imports{"m": {"m": must[*host.Memory](t)(from.Memory("memory"))}}
	if _, err := own.Instantiate(bg, text(t, imports), given); !errors.As(err, &link) || !strings.Contains(err.Error(), "may move") {
		t.Errorf("an import that moves: %v", err)
	}
	given = host.Imports{"m": {"m": must[*host.Memory](t)(own.NewMemory(host.Limits{Min: 1}))}}
	inst := must[*host.Instance](t)(own.Instantiate(bg, checkedText(t, imports), given))
	if got, err := function(t, inst, "f").Call(bg, int32(65530)); err != nil || got[0] != int32(0) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := function(t, inst, "f").Call(bg, int32(2<<16-3)); err == nil {
		t.Error("no trap")
	}
}

// TestBoundsEdges: accesses of all widths and offsets, around the end of the memory and of what 32 bits have, trap at the same places, and
// give and leave the same, whether guard pages or comparisons find them.
func TestBoundsEdges(t *testing.T) {
	var b strings.Builder
	b.WriteString("(module (memory (export \"memory\") 1 2)\n")
	var names []string
	for _, offset := range []uint64{0, 1, 7, 4095, 65520, 65535, 65536, 70000, math.MaxInt32, 1 << 31, math.MaxUint32} {
		for _, a := range []string{"i32.load8_u", "i32.load16_s", "i32.load", "i64.load", "f64.load", "v128.load", "v128.load32_zero"} {
			typ, _, _ := strings.Cut(a, ".")
			name := fmt.Sprintf("%s %d", a, offset)
			names = append(names, name)
			// The second access needs no check of its own, the third one does.
			fmt.Fprintf(&b, `(func (export %q) (param i32) (local %s) (local.set 1 (%s offset=%d (local.get 0)))
				(i32.store8 offset=%d (local.get 0) (i32.const 1))
				(drop (%s offset=%d (local.get 0))))`+"\n", name, typ, a, offset, offset, a, min(offset+3, math.MaxUint32))
		}
		for _, a := range []string{"i32.store8", "i64.store16", "i32.store", "i64.store", "v128.store"} {
			typ, _, _ := strings.Cut(a, ".")
			name := fmt.Sprintf("%s %d", a, offset)
			names = append(names, name)
			fmt.Fprintf(&b, "(func (export %q) (param i32) (local %s) (%s offset=%d (local.get 0) (local.get 1)))\n", name, typ, a, offset)
		}
	}
	b.WriteString("(func (export \"grow\") (result i32) (memory.grow (i32.const 1))))")
	outcomes := func(m *host.Module, o *host.StoreOptions) (all []string) {
		s := must[*host.Store](t)(host.NewStore(o))
		defer s.Close()
		inst := must[*host.Instance](t)(s.Instantiate(bg, m, nil))
		for grown := range 2 {
			for _, name := range names {
				f := function(t, inst, name)
				for _, at := range []uint32{0, 1, 8, 65519, 65520, 65521, 65528, 65529, 65532, 65533, 65535, 65536, 131068, 131071, 1 << 31, math.MaxUint32 - 15, math.MaxUint32} {
					err := f.CallRaw(bg, []uint64{uint64(at)})
					var trap *host.Trap
					place := uint32(0)
					if errors.As(err, &trap) {
						place = trap.Backtrace[0].Offset
					}
					all = append(all, fmt.Sprint(grown, name, at, err, place))
				}
			}
			must[[]any](t)(function(t, inst, "grow").Call(bg))
		}
		return append(all, string(must[*host.Memory](t)(inst.Memory("memory")).Bytes()))
	}
	want := outcomes(text(t, b.String()), nil)
	if d := cmp.Diff(want, outcomes(checkedText(t, b.String()), nil)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, outcomes(checkedText(t, b.String()), &host.StoreOptions{Allocator: &wanderer{}})); d != "" {
		t.Error(d)
	}
}

// TestKeptMoves: slices of a memory that moves stay what the memory is.
func TestKeptMoves(t *testing.T) {
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{KeepViews: true}))
	inst := must[*host.Instance](t)(s.Instantiate(bg, checkedText(t, writes), nil))
	mem := must[*host.Memory](t)(inst.Memory("memory"))
	view, _ := mem.Read(100_000, 4)
	must[[]any](t)(function(t, inst, "grow").Call(bg, int32(8)))
	must[[]any](t)(function(t, inst, "set").Call(bg, int32(100_001), int32('A')))
	all, ok := mem.Read(0, 10<<16)
	if !ok || string(view) != "dAta" || string(all[100_000:][:4]) != "dAta" {
		t.Errorf("%q", view)
	}
	s.Close()
	if view[0]++; string(view) != "eAta" || string(all[100_000:][:4]) != "eAta" {
		t.Errorf("%q after the end", view)
	}
}

// TestAllocatorPanics: the panic arrives at the program, and the store is usable.
func TestAllocatorPanics(t *testing.T) {
	w := &wanderer{}
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{Allocator: allocatorFunc(func(capacity, max uint64) host.LinearMemory {
		return &panicking{wandering{of: w}}
	})}))
	defer s.Close()
	inst := must[*host.Instance](t)(s.Instantiate(bg, checkedText(t, writes), nil))
	func() {
		defer func() {
			if r := recover(); r != "no" {
				t.Errorf("recovered %v", r)
			}
		}()
		function(t, inst, "grow").Call(bg, int32(1))
	}()
	if got := must[[]any](t)(function(t, inst, "get").Call(bg, int32(100_000))); got[0] != int32('d') {
		t.Errorf("%v", got)
	}
}

// nesting is a memory whose allocator has it grow while it grows.
type nesting struct {
	wandering
	grow func()
}

func (n *nesting) Reallocate(size uint64) []byte {
	if n.grow != nil {
		n.grow()
	}
	return n.wandering.Reallocate(size)
}

// TestAllocatorGrows: an allocator may call what has the memory grow. It does not, or it would be smaller in the end than it was meanwhile.
func TestAllocatorGrows(t *testing.T) {
	n := &nesting{wandering: wandering{of: &wanderer{}}}
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{Allocator: allocatorFunc(func(uint64, uint64) host.LinearMemory { return n })}))
	defer s.Close()
	i := must[*host.Instance](t)(s.Instantiate(context.Background(), checkedText(t, `(module (memory (export "memory") 1 20)
		(func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`), nil))
	m := must[*host.Memory](t)(i.Memory("memory"))
	f := must[*host.Func](t)(i.Func("grow"))
	n.grow = func() {
		if old, ok := m.Grow(5); ok {
			t.Errorf("the memory of %d pages grows", old)
		}
		if got := must[[]any](t)(f.Call(context.Background(), int32(7))); got[0] != int32(-1) {
			t.Errorf("memory.grow gives %v", got)
		}
	}
	for want := range int32(2) {
		if got := must[[]any](t)(f.Call(context.Background(), int32(1))); got[0] != want+1 {
			t.Errorf("grown from %v", got)
		}
	}
	if old, ok := m.Grow(1); !ok || old != 3 || m.Size() != 4<<16 {
		t.Errorf("grown from %d to %d bytes", old, m.Size())
	}
}

type allocatorFunc func(capacity, max uint64) host.LinearMemory

func (f allocatorFunc) Allocate(capacity, max uint64) host.LinearMemory { return f(capacity, max) }

type panicking struct{ wandering }

func (p *panicking) Reallocate(size uint64) []byte {
	if size > 2<<16 {
		panic("no")
	}
	return p.wandering.Reallocate(size)
}

// growingStream is a stream of the program that grows the guest's memory, and calls the guest again, while a function of WASI uses its buffers.
type growingStream struct {
	bytes.Buffer
	within func()
}

func (g *growingStream) Write(b []byte) (int, error) {
	if f := g.within; f != nil {
		g.within = nil
		f()
	}
	return g.Buffer.Write(b)
}

// TestHeldMemory: a memory that may move stays where it is while a function of WASI has its bytes, and buffers of one call are not those of one within it.
func TestHeldMemory(t *testing.T) {
	const wat = `(module (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32))) (memory (export "memory") 1 100)
		(data (i32.const 16) "\40\00\00\00\06\00\00\00\46\00\00\00\06\00\00\00") (data (i32.const 64) "hello world\n")
		(func (export "print") (result i32) (drop (call $write (i32.const 1) (i32.const 16) (i32.const 2) (i32.const 8))) (i32.load (i32.const 8)))
		(func (export "grow") (result i32) (memory.grow (i32.const 1))))`
	for name, mod := range map[string]*host.Module{"explicit": checkedText(t, wat), "guard": text(t, wat)} {
		out := &growingStream{}
		w := must[*waot.WASI](t)(waot.NewWASI(&waot.WASIOptions{Stdout: out}))
		store := must[*host.Store](t)(host.NewStore(&host.StoreOptions{}))
		inst := must[*host.Instance](t)(store.Instantiate(context.Background(), mod, w.Imports()))
		call := func(name string) uint32 {
			t.Helper()
			r := must[[]any](t)(must[*host.Func](t)(inst.Func(name)).Call(context.Background()))
			return uint32(r[0].(int32))
		}
		var grown, inner uint32
		out.within = func() { grown, inner = call("grow"), call("print") }
		if n := call("print"); n != 12 || inner != 12 || out.String() != "hello world\nhello world\n" {
			t.Errorf("%s: %d and, within, %d bytes, %q", name, n, inner, out.String())
		}
		if moves := name == "explicit"; moves != (grown == math.MaxUint32) {
			t.Errorf("%s: growth within a function of WASI gives %d", name, int32(grown))
		}
		if old := call("grow"); old == math.MaxUint32 {
			t.Errorf("%s: no growth behind it", name)
		}
		store.Close()
		w.Close()
	}
}
