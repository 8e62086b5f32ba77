//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
)

// marked is a module with a number of types, a multiple of 5, that no module with another mark has: structures, of which each five are subtypes of each other. "check" makes
// objects of the last type and says with a bit for each of the last four types whether the last object is of it.
func marked(mark, types int) string {
	var b strings.Builder
	b.WriteString("(module ")
	for i := range types {
		super := ""
		if i%5 != 0 {
			super = fmt.Sprintf("$t%d", i-1)
		}
		fmt.Fprintf(&b, "(type $t%d (sub %s (struct ", i, super)
		for k := range 20 {
			fmt.Fprintf(&b, "(field i%d)", 32+32*((mark*1000+i/5)>>k&1))
		}
		b.WriteString(strings.Repeat("(field i32)", i%5) + ")))\n")
	}
	last := types - 1
	fmt.Fprintf(&b, `(func (export "check") (result i32) (local $o (ref null struct)) (local $n i32)
		(loop $l
			(local.set $o (struct.new_default $t%d))
			(br_if $l (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 20))))
		(i32.const 0)`, last)
	for k := range 4 {
		fmt.Fprintf(&b, "(i32.or (i32.shl (ref.test (ref $t%d) (local.get $o)) (i32.const %d)))", last-k, k)
	}
	b.WriteString("))")
	return b.String()
}

// TestHeapTypesForgotten: a process that makes ever new types in stores that it closes does not run out of numbers for them, also where another store keeps some, whose objects stay what they are.
func TestHeapTypesForgotten(t *testing.T) {
	const types = 500
	keeper := newHeapHost(t, inproc.Config{})
	keeper.must("set global", 7)
	defer inproc.LimitTypes(8 * types)()
	most := uint32(0)
	modules := testenv.Cases(20, 20, 200) // 100,000 types
	if os.Getenv("WAOT_EMULATOR") != "" {
		modules = 10
	}
	for mark := range modules {
		h := &heapHost{TB: t, level: opt.O0}
		var err error
		if h.s, err = inproc.NewStore(inproc.Config{CollectAlways: mark%2 == 1}); err != nil {
			t.Fatal(err)
		}
		if h.inst, err = h.link(marked(mark, types), nil); err != nil {
			t.Fatalf("module %d: %v", mark, err)
		}
		if r := h.must("check"); r != 0b1111 {
			t.Errorf("module %d: %b", mark, r)
		}
		if mark == 0 {
			_, err := h.link(marked(999, 4*types), nil)
			var limit *inproc.LimitError
			if !errors.As(err, &limit) || limit.What != "words of types in the process" {
				t.Errorf("too many types: %v", err)
			}
			most = inproc.TypeWords()
		} else if n := inproc.TypeWords(); n > most {
			t.Errorf("module %d: rows end at word %d, not at %d", mark, n, most)
		}
		if err := h.s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r := keeper.must("get global"); r != 7 {
		t.Errorf("an object that was kept: %d", r)
	}
}

// TestHeapTypesAgain: a module whose types were forgotten has them again, with other numbers, also those of its functions.
func TestHeapTypesAgain(t *testing.T) {
	load := func(text string) *inproc.Module {
		m, err := wat.Assemble(text)
		if err != nil {
			t.Fatal(err)
		}
		img, err := image(m, opt.O0) // which asks for types that are known
		if err != nil {
			t.Fatal(err)
		}
		mod, err := inproc.Load(img)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(mod.Close)
		return mod
	}
	m := load(`(module (type $f (sub (func (param i64 i64) (result i32)))) (type $g (sub $f (func (param i64 i64) (result i32)))) (type $h (sub $f (func (param i64 i64) (result i32))))
		(type $s (sub (struct (field i64 f32 i64)))) (type $r (sub $s (struct (field i64 f32 i64 f64)))) (elem declare func $g)
		(func $g (type $g) (i32.const 1))
		(func (export "check") (param $x funcref) (result i32) (local $o anyref)
			(local.set $x (ref.func $g))
			(local.set $o (struct.new_default $r))
			(i32.or (i32.or (ref.test (ref $f) (local.get $x)) (i32.shl (ref.test (ref $g) (local.get $x)) (i32.const 1)))
				(i32.or (i32.shl (ref.test (ref $s) (local.get $o)) (i32.const 2)) (i32.shl (ref.test (ref $r) (local.get $o)) (i32.const 3))))))`)
	others := []*inproc.Module{load(marked(50, 5)), load(marked(51, 10)), load(marked(52, 20))}
	for n, between := range append(others, nil) {
		var stores []*inproc.Store
		for _, mod := range []*inproc.Module{between, m} {
			s, err := inproc.NewStore(inproc.Config{})
			if err != nil {
				t.Fatal(err)
			}
			stores = append(stores, s)
			if mod == nil {
				continue
			}
			inst, err := s.Instantiate(mod, nil)
			if err != nil {
				t.Fatal(err)
			}
			if f, err := inst.Func("check"); mod == m {
				var r [1]uint64
				if err := errors.Join(err, f.Call([]uint64{0}, r[:])); err != nil || r[0] != 0b1111 {
					t.Errorf("turn %d: %b, %v", n, r[0], err)
				}
			}
		}
		for _, s := range stores {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestHeapTypesConcurrent: goroutines make and close instances of modules, which they share in part, with types that others have, too.
func TestHeapTypesConcurrent(t *testing.T) {
	const types, distinct = 40, 6
	var modules []*inproc.Module
	for mark := range distinct {
		for _, level := range []opt.Level{opt.O0, opt.O1} { // two modules with the same types
			m, err := wat.Assemble(marked(mark, types))
			if err != nil {
				t.Fatal(err)
			}
			img, err := image(m, level)
			if err != nil {
				t.Fatal(err)
			}
			mod, err := inproc.Load(img)
			if err != nil {
				t.Fatal(err)
			}
			modules = append(modules, mod)
		}
	}
	defer inproc.LimitTypes(distinct * types * 5)()
	before := inproc.TypeWords()
	check := func(s *inproc.Store, m *inproc.Module) error {
		inst, err := s.Instantiate(m, nil)
		if err != nil {
			return err
		}
		f, err := inst.Func("check")
		if err != nil {
			return err
		}
		var r [1]uint64
		if err := f.Call(nil, r[:]); err != nil || r[0] != 0b1111 {
			return fmt.Errorf("%b, %w", r[0], err)
		}
		return nil
	}
	turns := testenv.Cases(20, 40, 300)
	if os.Getenv("WAOT_EMULATOR") != "" {
		turns = 10
	}
	var work sync.WaitGroup
	for g := range 8 {
		work.Go(func() {
			for n := range turns {
				s, err := inproc.NewStore(inproc.Config{CollectAlways: (g+n)%2 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				for k := range 1 + n%3 {
					if err := check(s, modules[(g*7+n*5+k)%len(modules)]); err != nil {
						t.Errorf("goroutine %d, turn %d: %v", g, n, err)
					}
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if after := inproc.TypeWords(); after > before+distinct*types*5 {
		t.Errorf("rows end at word %d, and at %d afterwards", before, after)
	}
}

// BenchmarkHeapInstantiate measures a store with an instance of a module with types, of which it has them alone, or another store, too.
func BenchmarkHeapInstantiate(b *testing.B) {
	m, err := wat.Assemble(marked(1, 40))
	if err != nil {
		b.Fatal(err)
	}
	img, err := image(m, opt.O1)
	if err != nil {
		b.Fatal(err)
	}
	mod, err := inproc.Load(img)
	if err != nil {
		b.Fatal(err)
	}
	defer mod.Close()
	instantiate := func() (s *inproc.Store) {
		s, err := inproc.NewStore(inproc.Config{})
		if err == nil {
			_, err = s.Instantiate(mod, nil)
		}
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	for _, name := range []string{"alone", "shared"} {
		b.Run(name, func(b *testing.B) {
			if name == "shared" {
				defer instantiate().Close()
			}
			for b.Loop() {
				instantiate().Close()
			}
		})
	}
}

// TestObjectTypesHeld: a type that Go code has stays in use, with all that it refers to, though no store has it; so does that of an object, until its store is closed. Then it is forgotten.
func TestObjectTypesHeld(t *testing.T) {
	m, err := wat.Assemble(marked(7777, 5))
	if err != nil {
		t.Fatal(err)
	}
	img, err := image(m, opt.O1)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := inproc.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	collected := func() bool {
		for range 200 {
			runtime.GC()
			if !inproc.HasType(mod, 4) {
				return true
			}
			time.Sleep(time.Millisecond)
		}
		return false
	}
	typ, err := mod.ObjectType(4)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := mod.ObjectType(4); again != typ || err != nil {
		t.Errorf("the type is another one the second time, %v", err)
	}
	if super := typ.At(3); !typ.IsWithin(super) || super.IsWithin(typ) || super.Def() == nil {
		t.Error("the supertype is none")
	}
	if collected() {
		t.Fatal("a type that Go code has is forgotten")
	}
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.NewObject(typ, 0)
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(typ)
	typ = nil
	if collected() {
		t.Fatal("the type of an object is forgotten")
	}
	if err := s.CollectRefs(); err != nil || o.Type().Def().Kind != abi.KindStruct {
		t.Errorf("the object has no type, %v", err)
	}
	s.Close()
	o = nil
	if !collected() {
		t.Error("a type that nobody has is not forgotten")
	}
}

// TestObjectTypeOfFullTable: the type of an object is known though the table of types is full, and the module that was the first to define it, with many others, is closed.
func TestObjectTypeOfFullTable(t *testing.T) {
	const shared = "(type $t (struct (field (mut i32)) (field (mut i64)) (field (mut f32)) (field (mut f64)) (field (mut f32))))"
	first, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	many := &heapHost{TB: t, s: first, level: opt.O0}
	many.instantiate("(module " + shared + strings.TrimPrefix(marked(8888, 50), "(module "))
	h := newHeapHost(t, inproc.Config{})
	inst := h.instantiate("(module " + shared + `(func (export "make") (result externref) (extern.convert_any (struct.new_default $t))))`)
	first.Close()
	defer inproc.LimitTypes(0)()
	f, err := inst.Func("make")
	if err != nil {
		t.Fatal(err)
	}
	r := make([]uint64, 1)
	if err := f.Call(nil, r); err != nil {
		t.Fatal(err)
	}
	o := h.s.Extern(r[0]).(*inproc.Object)
	if typ := o.Type(); typ.Def() == nil || len(typ.Def().Fields) != 5 {
		t.Fatal("the object has no type")
	}
	if w, err := o.Get(1); err != nil || w[0] != 0 {
		t.Errorf("%v, %v", w, err)
	}
}
