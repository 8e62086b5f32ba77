package isatest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc/linear"
)

// long appends n instructions to x that depend on each other.
func long(b *clif.Builder, x, y clif.Value, n int) clif.Value {
	for k := range n {
		op := clif.OpIadd
		if k%2 == 1 {
			op = clif.OpBxor
		}
		x, y = b.Binary(op, clif.I32, x, y), x
	}
	return x
}

// The reach of branches: the number of instructions to cross that of tbz, and that of b.cond, cbz and literals.
const (
	overTest = 9_000
	overCond = 270_000
)

// testFar has branches, traps, jump tables and constants out of reach of the instructions that refer to them.
func testFar(t *testing.T, on *Machine) {
	type vs = []clif.Value
	s := newSuite(on)
	s.anyLevel = true
	two := []clif.Type{clif.I32, clif.I32}
	over := func(name string, n int, cond func(b *clif.Builder, p vs) clif.Value) {
		fn := s.Fn(two, i32, func(b *clif.Builder, p vs) {
			then, els, join := b.NewBlock(), b.NewBlock(), b.NewBlock()
			x := b.AddParam(join, clif.I32)
			b.Branch(cond(b, p), b.Target(then, nil), b.Target(els, nil))
			b.SwitchTo(then)
			b.Jump(b.Target(join, vs{long(b, p[0], p[1], n)}))
			b.SwitchTo(els)
			b.Jump(b.Target(join, vs{long(b, p[1], p[0], 3)}))
			b.SwitchTo(join)
			b.Return(vs{x})
		})
		for _, x := range []uint64{0, 1, 7, 8, 0x7fffffff, 0xffffffff} {
			s.call(fn, name, x, 5)
		}
	}
	bit := func(b *clif.Builder, p vs) clif.Value {
		return b.Binary(clif.OpBand, clif.I32, p[0], b.Iconst(clif.I32, 8))
	}
	over("tbz", overTest, bit)
	over("tbz, far", overCond, bit)
	over("tbnz of the sign", overTest, func(b *clif.Builder, p vs) clif.Value {
		return b.Icmp(clif.Sge, clif.I32, p[0], b.Iconst(clif.I32, 0))
	})
	over("cbz", overCond, func(_ *clif.Builder, p vs) clif.Value { return p[0] })
	over("b.cond", overCond, func(b *clif.Builder, p vs) clif.Value { return b.Icmp(clif.Ult, clif.I32, p[0], p[1]) })
	s.run(t)
}

// testFarBack has loops longer than their branches reach.
func testFarBack(t *testing.T, on *Machine) {
	type vs = []clif.Value
	s := newSuite(on)
	s.anyLevel = true
	for _, n := range []int{overTest, overCond} {
		for _, byBit := range []bool{false, true} {
			fn := s.Fn([]clif.Type{clif.I32, clif.I32}, i32, func(b *clif.Builder, p vs) {
				head, exit := b.NewBlock(), b.NewBlock()
				k, x := b.AddParam(head, clif.I32), b.AddParam(head, clif.I32)
				b.Jump(b.Target(head, p))
				b.SwitchTo(head)
				x2 := long(b, x, k, n)
				k2 := b.Binary(clif.OpIsub, clif.I32, k, b.Iconst(clif.I32, 1))
				c := k2
				if byBit {
					c = b.Binary(clif.OpBand, clif.I32, k2, b.Iconst(clif.I32, 4))
				}
				b.Branch(c, b.Target(head, vs{k2, x2}), b.Target(exit, nil))
				b.SwitchTo(exit)
				b.Return(vs{x2})
			})
			s.call(fn, "loop", 1, 3)
			s.call(fn, "loop", 7, 3)
		}
	}
	s.run(t)
}

// latches are loops whose last block is n instructions long and does nothing but lead back to the header, which decides
// whether it comes next; a machine may put it in front of the header (backend.Branching.Rotate). Each gets how often it goes round.
var latches = []struct {
	name  string
	also  []uint64 // rounds beside few
	build func(b *clif.Builder, rounds, x clif.Value, n int)
}{
	{"cbz", nil, func(b *clif.Builder, rounds, x clif.Value, n int) {
		b.Return([]clif.Value{latch(b, rounds, x, n, func(k clif.Value) clif.Value { return k }, nil)})
	}},
	{"tbz", []uint64{4}, func(b *clif.Builder, rounds, x clif.Value, n int) {
		b.Return([]clif.Value{latch(b, rounds, x, n, func(k clif.Value) clif.Value {
			return b.Binary(clif.OpBand, clif.I32, k, b.Iconst(clif.I32, 4))
		}, nil)})
	}},
	{"b.cond, traps", []uint64{64, 1000}, func(b *clif.Builder, rounds, x clif.Value, n int) {
		b.Return([]clif.Value{latch(b, rounds, x, n, func(k clif.Value) clif.Value {
			b.TrapIf(b.Icmp(clif.Eq, clif.I32, k, b.Iconst(clif.I32, 1000)), abi.TrapUnreachable)
			return b.Icmp(clif.Sgt, clif.I32, k, b.Iconst(clif.I32, 0))
		}, func(k clif.Value) {
			b.TrapIf(b.Binary(clif.OpBand, clif.I32, k, b.Iconst(clif.I32, 64)), abi.TrapIntegerOverflow)
		})})
	}},
	{"nested, with a branch over both", []uint64{32}, func(b *clif.Builder, rounds, x clif.Value, n int) {
		over, into := b.NewBlock(), b.NewBlock()
		b.Branch(b.Binary(clif.OpBand, clif.I32, rounds, b.Iconst(clif.I32, 32)), b.Target(over, nil), b.Target(into, nil))
		b.SwitchTo(into)
		b.Return([]clif.Value{latch(b, rounds, x, n, func(k clif.Value) clif.Value {
			y := latch(b, k, x, n, func(k clif.Value) clif.Value { return k }, nil)
			b.TrapIf(b.Icmp(clif.Eq, clif.I32, y, b.Iconst(clif.I32, 12345)), abi.TrapUnreachable)
			return k
		}, nil)})
		b.SwitchTo(over)
		b.Return([]clif.Value{x})
	}},
	{"small, with a branch over it and many small blocks", []uint64{32}, func(b *clif.Builder, rounds, x clif.Value, n int) {
		const size = 20
		over, into := b.NewBlock(), b.NewBlock()
		b.Branch(b.Binary(clif.OpBand, clif.I32, rounds, b.Iconst(clif.I32, 32)), b.Target(over, nil), b.Target(into, nil))
		b.SwitchTo(into)
		y := latch(b, rounds, x, 1, func(k clif.Value) clif.Value { return k }, nil)
		for range n / size {
			more, join := b.NewBlock(), b.NewBlock()
			b.Branch(y, b.Target(more, nil), b.Target(join, []clif.Value{x}))
			b.SwitchTo(more)
			b.Jump(b.Target(join, []clif.Value{long(b, y, x, size)}))
			b.SwitchTo(join)
			y = b.AddParam(join, clif.I32)
		}
		b.Return([]clif.Value{y})
		b.SwitchTo(over)
		b.Return([]clif.Value{x})
	}},
}

// latch appends such a loop, and gives what it has made of x. The header goes on while more of the rounds left is not 0; the last block
// begins with what inside appends, if it is not nil.
func latch(b *clif.Builder, rounds, x clif.Value, n int, more func(k clif.Value) clif.Value, inside func(k clif.Value)) clif.Value {
	head, last, exit := b.NewBlock(), b.NewBlock(), b.NewBlock()
	k, y := b.AddParam(head, clif.I32), b.AddParam(head, clif.I32)
	b.Jump(b.Target(head, []clif.Value{rounds, x}))
	b.SwitchTo(head)
	b.Branch(more(k), b.Target(last, nil), b.Target(exit, nil))
	b.SwitchTo(last)
	if inside != nil {
		inside(k)
	}
	z := long(b, y, k, n)
	b.Jump(b.Target(head, []clif.Value{b.Binary(clif.OpIsub, clif.I32, k, b.Iconst(clif.I32, 1)), z}))
	b.SwitchTo(exit)
	return y
}

// testFarLatch has loops whose branches do not reach over their last block, wherever that stands.
func testFarLatch(t *testing.T, on *Machine) {
	s := newSuite(on)
	s.anyLevel = true
	for _, n := range []int{3, overTest, overCond} {
		for k := range latches {
			if n == overCond && k > 0 && !testenv.Full() {
				continue
			}
			l := &latches[k]
			fn := s.Fn([]clif.Type{clif.I32, clif.I32}, i32, func(b *clif.Builder, p []clif.Value) { l.build(b, p[0], p[1], n) })
			for _, rounds := range append([]uint64{0, 1, 5}, l.also...) {
				s.call(fn, fmt.Sprintf("%s, %d instructions", l.name, n), rounds, 7)
			}
			if n != overCond {
				s.stands(t, s.Defined[fn])
			}
		}
	}
	s.run(t)
}

// stands fails if a machine that moves blocks in front of loops moves none in f.
func (s *suite) stands(t *testing.T, f *clif.Func) {
	t.Helper()
	target, err := s.on.Target(s.on.Levels[0])
	if err != nil || !target.Rotate {
		return
	}
	fixed := *target
	fixed.Rotate = false
	var code [2][]byte
	for k, target := range []*backend.Target{target, &fixed} {
		c, err := backend.New(target, instance.New(&s.Module.Module), &s.Module.Module, backend.Options{Allocator: linear.New()}).Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		code[k] = bytes.Clone(c.Bytes)
	}
	if bytes.Equal(code[0], code[1]) {
		t.Errorf("no block stands in front of a loop of\n%v", f)
	}
}

// testFarPool has one block with traps and constants all over it, and a jump table that leads over it.
func testFarPool(t *testing.T, on *Machine) {
	type vs = []clif.Value
	s := newSuite(on)
	s.anyLevel = true
	fn := s.Fn([]clif.Type{clif.I32, clif.I32, clif.F64}, []clif.Type{clif.I32, clif.F64}, func(b *clif.Builder, p vs) {
		var blocks []clif.Block
		var targets []clif.Target
		for range 9 {
			blk := b.NewBlock()
			blocks, targets = append(blocks, blk), append(targets, b.Target(blk, nil))
		}
		b.BrTable(p[0], targets)
		for k, blk := range blocks {
			b.SwitchTo(blk)
			x, f := b.Binary(clif.OpIadd, clif.I32, p[0], b.Iconst(clif.I32, uint64(k))), p[2]
			n := 20
			if k == 2 {
				n = 600
			}
			for m := range n {
				x = long(b, x, p[1], overCond/400)
				c := b.Fconst(clif.F64, 0x3ff1_2345_6789_0000+uint64(m%97)<<8+uint64(k))
				f = b.Binary(clif.OpFadd, clif.F64, f, c)
				b.TrapIf(b.Icmp(clif.Eq, clif.I32, p[1], b.Iconst(clif.I32, uint64(1000*k+m))), abi.TrapCode(1+m%7))
				if m%3 == 0 {
					b.TrapIf(b.Binary(clif.OpBand, clif.I32, p[1], b.Iconst(clif.I32, 1<<31)), abi.TrapUnreachable)
				}
			}
			b.Return(vs{x, f})
		}
	})
	for k := range uint64(11) {
		for _, y := range []uint64{1, 19, 1000, 2000, 2001, 2599, 2600, 8019, 1 << 20, 1 << 31} {
			s.call(fn, "pool", k, y, 0x3ff8000000000000)
		}
	}
	s.run(t)
}

// testFarInstance has more globals and elements of a table than one displacement reaches, several of them in each function.
func testFarInstance(t *testing.T, on *Machine) {
	type vs = []clif.Value
	s := newSuite(on)
	const globals, elements = 6000, 5000
	types := []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64}
	typeOf := func(g int) clif.Type { return types[g%len(types)] }
	for g := range globals {
		s.Globals = append(s.Globals, clif.GlobalDecl{Type: typeOf(g), Mutable: true, Init: uint64(g)})
	}
	s.Tables = []clif.TableDecl{{Elem: clif.FuncRef, Min: elements, Max: elements, HasMax: true}}
	get := func(b *clif.Builder, g int) clif.Value { return b.Entity(clif.OpGlobalGet, typeOf(g), uint32(g)) }
	for g := 0; g+8 <= globals; g += 41 {
		params := []clif.Type{typeOf(g), typeOf(g + 3)}
		results := []clif.Type{typeOf(g), typeOf(g + 1), typeOf(g + 3), typeOf(g + 7)}
		fn := s.Fn(params, results, func(b *clif.Builder, p []clif.Value) {
			x := get(b, g+1)
			b.EntityEffect(clif.OpGlobalSet, params[0], uint32(g), 0, p[0])
			b.EntityEffect(clif.OpGlobalSet, params[1], uint32(g+3), 0, p[1])
			b.Return(vs{get(b, g), x, get(b, g+3), get(b, g+7)})
		})
		one := s.Fn(nil, results[:1], func(b *clif.Builder, _ []clif.Value) { b.Return(vs{get(b, g)}) })
		s.call(fn, fmt.Sprint("globals from ", g), uint64(g)|0x5a000000, uint64(g)|0x35000000)
		s.call(one, fmt.Sprint("global ", g))
	}
	self := clif.FuncIndex(0)
	for _, k := range []uint64{0, 4094, 4095, 4096, 4097, elements - 1} {
		put := s.Fn(nil, i32, func(b *clif.Builder, _ []clif.Value) {
			at := b.Iconst(clif.I64, k)
			b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, at, b.FuncAddr(self))
			b.Return(vs{b.Unary(clif.OpRefIsNull, clif.FuncRef, b.Entity(clif.OpTableGet, clif.FuncRef, 0, at))})
		})
		isNull := s.Fn(i64, i32, func(b *clif.Builder, p []clif.Value) {
			b.Return(vs{b.Unary(clif.OpRefIsNull, clif.FuncRef, b.Entity(clif.OpTableGet, clif.FuncRef, 0, p[0]))})
		})
		s.call(put, fmt.Sprint("element ", k))
		for i := range uint64(elements) {
			if i%8 == k%8 && (i > 4080 && i < 4112 || i+8 >= elements || i < 16) {
				s.call(isNull, fmt.Sprintf("element %d after %d", i, k), i)
			}
		}
	}
	s.run(t)
}
