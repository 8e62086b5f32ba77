package isatest

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// testCalls passes and returns many values of all types, permuted.
func testCalls(t *testing.T, on *Machine) {
	all := []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64}
	rng := rand.New(rand.NewSource(1))
	s := newSuite(on)
	for n := 0; n <= 24; n += 1 + n/8 {
		for variant := range 6 {
			var ts, rs []clif.Type
			for k := range n {
				ty := all[rng.Intn(4)]
				if variant < 4 {
					ty = all[variant]
				}
				ts = append(ts, ty)
				_ = k
			}
			perm := rng.Perm(n)
			for _, k := range perm {
				rs = append(rs, ts[k])
			}
			back := make([]int, n)
			for i, k := range perm {
				back[k] = i
			}
			callee := s.Fn(ts, rs, func(b *clif.Builder, p []clif.Value) {
				var out []clif.Value
				for _, k := range perm {
					out = append(out, p[k])
				}
				b.Return(out)
			})
			direct := s.Fn(ts, rs, func(b *clif.Builder, p []clif.Value) {
				first := b.Call(callee, p)
				var out []clif.Value
				for i := range perm {
					out = append(out, first+clif.Value(i))
				}
				b.Return(out)
			})
			twice := s.Fn(ts, ts, func(b *clif.Builder, p []clif.Value) {
				var out []clif.Value
				first := b.Call(callee, p)
				for k := range perm {
					v := first + clif.Value(back[k])
					if ts[k].IsInt() { // the argument too lives across the call
						v = b.Binary(clif.OpIadd, ts[k], v, p[k])
					}
					out = append(out, v)
				}
				b.Return(out)
			})
			ref := s.Fn(ts, rs, func(b *clif.Builder, p []clif.Value) {
				f := b.FuncAddr(callee)
				b.SigCheck(s.Funcs[callee].Sig, f)
				first := b.CallRef(s.Funcs[callee].Sig, f, p)
				var out []clif.Value
				for i := range perm {
					out = append(out, first+clif.Value(i))
				}
				b.Return(out)
			})
			for range 3 {
				var args []uint64
				for _, ty := range ts {
					cs := corners[ty]
					args = append(args, cs[rng.Intn(len(cs))])
				}
				for _, fn := range []clif.FuncIndex{callee, direct, twice, ref} {
					s.call(fn, fmt.Sprintf("%v", ts), args...)
				}
			}
		}
	}
	s.run(t)
}

// testManyResults returns results in memory that is too far from its start for the displacement of a store.
func testManyResults(t *testing.T, on *Machine) {
	const n = 4500
	s := newSuite(on)
	for _, ty := range []clif.Type{clif.I64, clif.F64} {
		rs := make([]clif.Type, n)
		for k := range rs {
			rs[k] = ty
		}
		callee := s.Fn([]clif.Type{ty}, rs, func(cb *clif.Builder, p []clif.Value) {
			b := &builder{cb}
			out := make([]clif.Value, n)
			for k := range out {
				out[k] = p[0]
				if k%500 == 499 || k > 4080 && k < 4120 {
					out[k] = b.konst(ty, uint64(k))
				}
			}
			b.Return(out)
		})
		for _, k := range []int{0, 499, 3999, 4085, 4094, 4095, 4096, 4097, 4103, 4104, 4105, 4110, 4200, 4499} {
			fn := s.Fn([]clif.Type{ty}, []clif.Type{ty}, func(b *clif.Builder, p []clif.Value) {
				b.Return([]clif.Value{b.Call(callee, p) + clif.Value(k)})
			})
			s.call(fn, fmt.Sprintf("result %d", k), 1<<40+5)
		}
	}
	s.run(t)
}

func testBrTable(t *testing.T, on *Machine) {
	s := newSuite(on)
	for _, n := range []int{1, 2, 3, 4, 5, 6, 17, 10_000} {
		for _, variant := range []string{"distinct", "args", "shared", "same", "loop", "rare", "rare run"} {
			fn := s.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
				var targets []clif.Target
				join := b.NewBlock()
				x := b.AddParam(join, clif.I32)
				var blocks []clif.Block
				k := func(i int) clif.Value { return b.Iconst(clif.I32, uint64(i)) }
				ks := []clif.Value{k(1), k(2), k(3)}
				head := b.NewBlock()
				idx := b.AddParam(head, clif.I32)
				b.Jump(b.Target(head, p))
				b.SwitchTo(head)
				dec := b.Binary(clif.OpIsub, clif.I32, idx, k(3))
				for i := range n {
					switch {
					case variant == "args" || variant == "loop" && i == 0:
						targets = append(targets, b.Target(join, []clif.Value{ks[i%3]}))
					case variant == "loop" && i%2 == 1 && i < n-1:
						targets = append(targets, b.Target(head, []clif.Value{dec}))
					case variant == "same":
						targets = append(targets, b.Target(join, []clif.Value{ks[0]}))
					case variant == "rare run" && i > 0 && i <= n/2: // with n of 10,000, more than a comparison can name on AArch64
						targets = append(targets, targets[0])
					case variant == "shared" && len(blocks) > 0 && i%2 == 1:
						targets = append(targets, b.Target(blocks[0], nil))
					default:
						blk := b.NewBlock()
						blocks = append(blocks, blk)
						targets = append(targets, b.Target(blk, nil))
					}
				}
				b.BrTable(idx, targets)
				if strings.HasPrefix(variant, "rare") {
					b.F.Insts[len(b.F.Insts)-1].Cond = clif.TableRare
				}
				for i, blk := range blocks {
					b.SwitchTo(blk)
					b.Jump(b.Target(join, []clif.Value{k(100 + i)}))
				}
				b.SwitchTo(join)
				b.Return([]clif.Value{x})
			})
			for i := 0; i < n+3; i += 1 + i/20 {
				s.call(fn, variant, uint64(i))
			}
			for _, i := range []uint64{0x7fffffff, 0x80000000, 0xffffffff} {
				if variant != "loop" {
					s.call(fn, variant, i)
				}
			}
		}
	}
	s.run(t)
}

// testEntryLoop has an entry block that is a branch target, which clif/verify does not
// allow but the block order copes with.
func testEntryLoop(t *testing.T, on *Machine) {
	s := newSuite(on)
	s.noVerify = true
	fn := s.Fn([]clif.Type{clif.I32, clif.I64}, i64, func(b *clif.Builder, p []clif.Value) {
		exit := b.NewBlock()
		head := b.Current()
		n := b.Binary(clif.OpIsub, clif.I32, p[0], b.Iconst(clif.I32, 1))
		x := b.Binary(clif.OpImul, clif.I64, p[1], b.Iconst(clif.I64, 3))
		b.Branch(n, b.Target(head, []clif.Value{n, x}), b.Target(exit, nil))
		b.SwitchTo(exit)
		b.Return([]clif.Value{x})
	})
	s.call(fn, "entry loop", 5, 7)
	same := s.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		join := b.NewBlock()
		x := b.AddParam(join, clif.I32)
		b.Branch(p[0], b.Target(join, p), b.Target(join, p))
		b.SwitchTo(join)
		b.Return([]clif.Value{x})
	})
	s.call(same, "same target", 5)
	s.run(t)
}

// testInstance covers globals, tables, segments, growth and bulk operations.
func testInstance(t *testing.T, on *Machine) {
	s := newSuite(on)
	s.wholeMemory = true
	s.noVerify = true // elem_set is for init functions only
	type vs = []clif.Value
	types := []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64}
	for i, ty := range types {
		s.Globals = append(s.Globals, clif.GlobalDecl{Type: ty, Mutable: true, Init: uint64(100 + i)})
	}
	s.Memories = append(s.Memories, clif.MemoryDecl{Min: 0, Max: 3, HasMax: true})
	s.Tables = []clif.TableDecl{{Elem: clif.FuncRef, Min: 10, Max: 4096, HasMax: true}, {Elem: clif.Ref, Min: 4, Max: 4096, HasMax: true}}
	s.Datas = []clif.DataDecl{{Bytes: []byte("hello, memory")}, {}}
	s.Elems = []clif.ElemDecl{{Type: clif.FuncRef, Funcs: []clif.FuncIndex{clif.ElemNull, clif.ElemNull, clif.ElemNull}}}
	for i, ty := range types {
		get := s.Fn(nil, []clif.Type{ty}, func(b *clif.Builder, p []clif.Value) {
			b.Return(vs{b.Entity(clif.OpGlobalGet, ty, uint32(i))})
		})
		set := s.Fn([]clif.Type{ty}, nil, func(b *clif.Builder, p []clif.Value) {
			b.EntityEffect(clif.OpGlobalSet, ty, uint32(i), 0, p[0])
			b.Return(nil)
		})
		konst := s.Fn(nil, nil, func(cb *clif.Builder, p []clif.Value) {
			b := &builder{cb}
			b.EntityEffect(clif.OpGlobalSet, ty, uint32(i), 0, b.konst(ty, 0x80000000))
			b.Return(nil)
		})
		add := s.Fn([]clif.Type{ty}, []clif.Type{ty}, func(b *clif.Builder, p []clif.Value) {
			op := clif.OpIadd
			if ty.IsFloat() {
				op = clif.OpFadd
			}
			x := b.Binary(op, ty, p[0], b.Entity(clif.OpGlobalGet, ty, uint32(i)))
			b.EntityEffect(clif.OpGlobalSet, ty, uint32(i), 0, x)
			b.Return(vs{x})
		})
		for _, x := range corners[ty] {
			s.call(set, "global.set", x)
			s.call(get, "global.get")
			s.call(add, "global add", corners[ty][3])
			s.call(get, "global.get")
		}
		s.call(konst, "global.set const")
		s.call(get, "global.get")
	}
	simple := func(name string, params, results []clif.Type, build func(b *clif.Builder, p vs), args ...[]uint64) clif.FuncIndex {
		fn := s.Fn(params, results, build)
		for _, a := range args {
			s.call(fn, name, a...)
		}
		return fn
	}
	l3 := []clif.Type{clif.I64, clif.I64, clif.I64}
	for m := uint32(0); m < 2; m++ {
		size := simple("memory.size", nil, i64, func(b *clif.Builder, p vs) {
			b.Return(vs{b.Entity(clif.OpMemorySize, clif.Invalid, m)})
		}, nil)
		simple("memory.grow", i32, i32, func(b *clif.Builder, p vs) {
			b.Return(vs{b.Entity(clif.OpMemoryGrow, clif.Invalid, m, p[0])})
		}, []uint64{0}, []uint64{0xffffffff}, []uint64{5})
		simple("memory.grow as address", i32, i32, func(b *clif.Builder, p vs) {
			g := b.Entity(clif.OpMemoryGrow, clif.Invalid, m, p[0])
			b.Return(vs{b.Load(clif.I32, clif.Full, clif.MemoryIndex(m), g, 0)})
		}, []uint64{0xffff}, []uint64{100})
		s.call(size, "memory.size")
	}
	simple("memory.fill", []clif.Type{clif.I64, clif.I32, clif.I64}, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpMemoryFill, clif.Invalid, 0, 0, p...)
		b.Return(nil)
	}, []uint64{10, 0x1ab, 100}, []uint64{0, 7, 0}, []uint64{65530, 0xff, 6})
	simple("memory.init", l3, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpMemoryInit, clif.Invalid, 0, 0, p...)
		b.Return(nil)
	}, []uint64{20, 0, 13}, []uint64{65534, 5, 2}, []uint64{50, 13, 0})
	simple("memory.copy", l3, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpMemoryCopy, clif.Invalid, 0, 0, p...)
		b.Return(nil)
	}, []uint64{22, 20, 13}, []uint64{18, 20, 13}, []uint64{100, 0, 60}, []uint64{100, 0, 0})
	simple("memory.copy const", nil, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpMemoryCopy, clif.Invalid, 0, 0, b.Iconst(clif.I64, 200), b.Iconst(clif.I64, 20), b.Iconst(clif.I64, 9))
		b.Return(nil)
	}, nil)
	dataLen := simple("data.len", nil, i64, func(b *clif.Builder, p vs) {
		b.Return(vs{b.Entity(clif.OpDataLen, clif.Invalid, 0)})
	}, nil)
	simple("data.drop", nil, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpDataDrop, clif.Invalid, 0, 0)
		b.Return(nil)
	}, nil)
	s.call(dataLen, "data.len")
	s.tables(simple)
	s.run(t)
}

// tables adds calls that use tables; references are seen only as null or not.
func (s *suite) tables(simple func(string, []clif.Type, []clif.Type, func(*clif.Builder, []clif.Value), ...[]uint64) clif.FuncIndex) {
	type vs = []clif.Value
	sig := s.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		b.Return(vs{b.Binary(clif.OpIadd, clif.I32, p[0], b.Iconst(clif.I32, 1000))})
	})
	l3 := []clif.Type{clif.I64, clif.I64, clif.I64}
	size := simple("table.size", nil, i64, func(b *clif.Builder, p vs) {
		b.Return(vs{b.Entity(clif.OpTableSize, clif.Invalid, 0)})
	}, nil)
	isNull := simple("table.get null", i64, i32, func(b *clif.Builder, p vs) {
		b.Return(vs{b.Unary(clif.OpRefIsNull, clif.FuncRef, b.Entity(clif.OpTableGet, clif.FuncRef, 0, p[0]))})
	}, []uint64{0}, []uint64{9})
	nulls := func(what string) {
		for i := range uint64(10) {
			s.call(isNull, what, i)
		}
	}
	simple("table.set", i64, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, p[0], b.FuncAddr(sig))
		b.Return(nil)
	}, []uint64{3}, []uint64{0})
	nulls("after set")
	simple("table.copy", l3, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpTableCopy, clif.Invalid, 0, 0, p...)
		b.Return(nil)
	}, []uint64{2, 1, 4}, []uint64{5, 0, 0})
	nulls("after copy")
	simple("table.set const", nil, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, b.Iconst(clif.I64, 4), b.RefNull(clif.FuncRef))
		b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, b.Iconst(clif.I64, 5), b.FuncAddr(sig))
		b.Return(nil)
	}, nil)
	nulls("after set const")
	grow := simple("table.grow", i32, i32, func(b *clif.Builder, p vs) {
		b.Return(vs{b.Entity(clif.OpTableGrow, clif.FuncRef, 0, p[0], b.FuncAddr(sig))})
	}, []uint64{2}, []uint64{0xffffffff}, []uint64{0})
	_ = grow
	s.call(size, "table.size")
	s.call(isNull, "grown", 11)
	simple("elem.set", i64, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpElemSet, clif.FuncRef, 0, 0, p[0], b.FuncAddr(sig))
		b.Return(nil)
	}, []uint64{1})
	simple("table.init", l3, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpTableInit, clif.Invalid, 0, 0, p...)
		b.Return(nil)
	}, []uint64{6, 0, 3})
	nulls("after init")
	simple("table.fill", []clif.Type{clif.I64, clif.I64}, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpTableFill, clif.FuncRef, 0, 0, p[0], b.FuncAddr(sig), p[1])
		b.Return(nil)
	}, []uint64{7, 3}, []uint64{0, 0})
	nulls("after fill")
	elemLen := simple("elem.len", nil, i64, func(b *clif.Builder, p vs) {
		b.Return(vs{b.Entity(clif.OpElemLen, clif.Invalid, 0)})
	}, nil)
	simple("elem.drop", nil, nil, func(b *clif.Builder, p vs) {
		b.EntityEffect(clif.OpElemDrop, clif.Invalid, 0, 0)
		b.Return(nil)
	}, nil)
	s.call(elemLen, "elem.len")
	for _, f := range []clif.FuncIndex{sig, size} { // the right type and another
		simple("call_indirect", []clif.Type{clif.I64, clif.I32}, i32, func(b *clif.Builder, p vs) {
			f := b.Entity(clif.OpTableGet, clif.FuncRef, 0, p[0])
			b.SigCheck(s.Funcs[sig].Sig, f)
			b.Return(vs{b.CallRef(s.Funcs[sig].Sig, f, vs{p[1]})})
		}, []uint64{3, 5}, []uint64{4, 5}, []uint64{1, 5})
		simple("set another", nil, nil, func(b *clif.Builder, p vs) {
			b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, b.Iconst(clif.I64, 3), b.FuncAddr(f))
			b.EntityEffect(clif.OpTableSet, clif.FuncRef, 0, 0, b.Iconst(clif.I64, 1), b.FuncAddr(size))
			b.Return(nil)
		}, nil)
	}
}

// testReferences keeps references across calls, so that they are in stack maps.
func testReferences(t *testing.T, on *Machine) {
	m := &module{on: on}
	type vs = []clif.Value
	refs := []clif.Type{clif.Ref, clif.Ref, clif.I64}
	nop := m.Fn(nil, nil, func(b *clif.Builder, p []clif.Value) { b.Return(nil) })
	f := m.Fn(refs, refs[:2], func(b *clif.Builder, p []clif.Value) {
		b.Call(nop, nil)
		b.Return(vs{p[1], p[0]})
	})
	null := m.Fn(refs[:1], refs[:2], func(b *clif.Builder, p []clif.Value) {
		n := b.RefNull(clif.Ref)
		b.Call(nop, nil)
		b.Return(vs{n, p[0]})
	})
	code, err := m.compiler(t).Compile(m.Defined[f])
	if err != nil {
		t.Fatal(err)
	}
	maps := code.StackMaps
	if len(maps) != 1 || len(maps[0].Slots) != 2 {
		t.Fatalf("stack maps %v, want one of two slots", maps)
	}
	for _, s := range maps[0].Slots {
		if s >= 0 || s%8 != 0 {
			t.Errorf("slot %d is not in the frame", s)
		}
	}
	m.each(t, func(t *testing.T, level string, in Instance) {
		x, y := in.Extern(), in.Extern()
		if got := outcome(in, f, x, y, 5); x == y || got != fmt.Sprintf("[%#x %#x]", y, x) {
			t.Errorf("%s: %s", level, got)
		}
		if got := outcome(in, null, x); got != fmt.Sprintf("[0x0 %#x]", x) {
			t.Errorf("%s: %s", level, got)
		}
	})
}

// testSizesSunk compares the sizes of memories and tables in memory.
func testSizesSunk(t *testing.T, on *Machine) {
	s := newSuite(on)
	s.Tables = []clif.TableDecl{{Elem: clif.FuncRef, Min: 10, Max: 4096, HasMax: true}}
	for _, op := range []clif.Opcode{clif.OpMemorySize, clif.OpTableSize} {
		for _, between := range []bool{false, true} {
			fn := s.Fn([]clif.Type{clif.I64, clif.I32}, i32, func(b *clif.Builder, p []clif.Value) {
				n := b.Entity(op, clif.Invalid, 0)
				if between {
					g := b.Entity(clif.OpMemoryGrow, clif.Invalid, 0, p[1])
					h := b.Entity(clif.OpTableGrow, clif.FuncRef, 0, p[1], b.RefNull(clif.FuncRef))
					b.Store(clif.I32, clif.Full, 0, b.Iconst(clif.I32, 0), g, 0)
					b.Store(clif.I32, clif.Full, 0, b.Iconst(clif.I32, 0), h, 4)
				}
				b.TrapIf(b.Icmp(clif.Ugt, clif.I64, p[0], n), abi.TrapMemoryOutOfBounds)
				b.Return([]clif.Value{b.Iconst(clif.I32, 1)})
			})
			for _, x := range []uint64{0, 9, 10, 11, 65535, 65536, 65537} {
				s.call(fn, "size", x, 0)
			}
		}
	}
	s.run(t)
}

// testBounds traps where an index is not less than a bound, in a register, in memory and constant.
func testBounds(t *testing.T, on *Machine) {
	s := newSuite(on)
	s.Tables = []clif.TableDecl{{Elem: clif.FuncRef, Min: 10, Max: 4096, HasMax: true}}
	type vs = []clif.Value
	two := []clif.Type{clif.I64, clif.I64}
	corners := []uint64{0, 1, 9, 10, 11, 4095, 4096, 4097, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	check := func(name string, bound func(b *clif.Builder, p vs) clif.Value) {
		fn := s.Fn(two, two, func(b *clif.Builder, p vs) {
			b.Return(vs{b.Bound(p[0], bound(b, p), abi.TrapTableOutOfBounds), p[0]})
		})
		for _, x := range corners {
			for _, y := range corners {
				s.call(fn, name, x, y)
			}
		}
	}
	check("bound", func(_ *clif.Builder, p vs) clif.Value { return p[1] })
	check("bound by itself", func(_ *clif.Builder, p vs) clif.Value { return p[0] })
	check("bound by a size", func(b *clif.Builder, _ vs) clif.Value { return b.Entity(clif.OpTableSize, clif.Invalid, 0) })
	for _, k := range corners {
		check("bound by a constant", func(b *clif.Builder, _ vs) clif.Value { return b.Iconst(clif.I64, k) })
	}
	constant := s.Fn(i64, i64, func(b *clif.Builder, p vs) {
		b.Return(vs{b.Bound(b.Iconst(clif.I64, 9), p[0], abi.TrapUndefinedElement)})
	})
	load := s.Fn([]clif.Type{clif.I32, clif.I64}, two, func(b *clif.Builder, p vs) {
		x := b.Load(clif.I64, clif.Full, 0, p[0], 0)
		b.Return(vs{b.Bound(x, p[1], abi.TrapUndefinedElement), p[1]})
	})
	for _, x := range corners {
		s.call(constant, "a constant in bounds", x)
		s.call(load, "a loaded index", 0, x)
	}
	s.run(t)
}

// testFrames has frames of all sizes: few pages, many, with a deep recursion that must touch each page.
func testFrames(t *testing.T, on *Machine) {
	s := newSuite(on)
	for _, n := range []int{1, 100, 600, 1100, 2100, 5000} {
		var rs []clif.Type
		for range n {
			rs = append(rs, clif.I64)
		}
		callee := s.Fn(i64, rs, func(b *clif.Builder, p []clif.Value) {
			var out []clif.Value
			for k := range n {
				out = append(out, b.Binary(clif.OpIadd, clif.I64, p[0], b.Iconst(clif.I64, uint64(k))))
			}
			b.Return(out)
		})
		caller := s.Fn(i64, i64, func(b *clif.Builder, p []clif.Value) {
			first := b.Call(callee, p)
			sum := first
			for k := 1; k < n; k++ {
				sum = b.Binary(clif.OpIadd, clif.I64, sum, first+clif.Value(k))
			}
			b.Return([]clif.Value{sum})
		})
		s.call(caller, "frame", 3)
	}
	s.run(t)
}

// testImports calls an import and reads an imported global.
func testImports(t *testing.T, on *Machine) {
	m := &module{on: on}
	m.Sigs = []clif.Signature{{Params: i32, Results: i32}}
	m.Funcs = []clif.FuncDecl{{Import: &clif.ImportName{Module: "m", Name: "f"}, Addressed: true}}
	m.NumImportedFuncs = 1
	m.Globals = []clif.GlobalDecl{{Type: clif.I32, Mutable: true, Import: &clif.ImportName{Module: "m", Name: "g"}}}
	type vs = []clif.Value
	caller := m.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		b.EntityEffect(clif.OpGlobalSet, clif.I32, 0, 0, b.Binary(clif.OpIadd, clif.I32, p[0], b.Entity(clif.OpGlobalGet, clif.I32, 0)))
		b.Return(vs{b.Call(0, p)})
	})
	ref := m.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
		f := b.FuncAddr(0)
		b.SigCheck(0, f)
		b.Return(vs{b.CallRef(0, f, p)})
	})
	global := m.Fn(nil, i32, func(b *clif.Builder, _ []clif.Value) { b.Return(vs{b.Entity(clif.OpGlobalGet, clif.I32, 0)}) })
	m.each(t, func(t *testing.T, level string, in Instance) {
		for _, c := range []struct {
			fn   clif.FuncIndex
			args []uint64
			want string
		}{{caller, []uint64{5}, "[0xf]"}, {ref, []uint64{6}, "[0x12]"}, {global, nil, "[0x5]"}} {
			if got := outcome(in, c.fn, c.args...); got != c.want {
				t.Errorf("%s: function %d%v = %s, want %s", level, c.fn, c.args, got, c.want)
			}
		}
		if g, ok := in.ImportedGlobal(0); ok && g != 5 {
			t.Errorf("%s: global is %d", level, g)
		}
	})
}

// testTrapSites checks source offsets.
func testTrapSites(t *testing.T, on *Machine) {
	m := &module{on: on}
	m.Memories = []clif.MemoryDecl{{Min: 1}, {Min: 1}}
	type vs = []clif.Value
	f := m.Fn([]clif.Type{clif.I32, clif.I32}, i32, func(b *clif.Builder, p []clif.Value) {
		b.Src = 11
		b.TrapIf(p[1], abi.TrapTableOutOfBounds)
		b.Src = 22
		x := b.Load(clif.I32, clif.Full, 1, p[0], 0)
		b.Src = 33
		y := b.Binary(clif.OpUdiv, clif.I32, x, p[1])
		b.Src = 44
		b.Store(clif.I32, clif.Full, 0, p[0], y, 0)
		b.Return(vs{y})
	})
	folded := m.Fn([]clif.Type{clif.I32, clif.I32}, []clif.Type{clif.I32, clif.I32, clif.I32}, func(b *clif.Builder, p []clif.Value) {
		b.Src = 11
		x := b.Load(clif.I32, clif.U8, 1, p[0], 0)
		b.Src = 22
		y := b.Load(clif.I32, clif.Full, 1, p[0], 0)
		b.Src = 33
		z := b.Load(clif.I32, clif.Full, 1, p[0], 4)
		b.Src = 44
		x = b.Unary(clif.OpSext8, clif.I32, x)
		y = b.Binary(clif.OpIadd, clif.I32, p[1], y)
		z = b.Select(clif.I32, b.Icmp(clif.Slt, clif.I32, z, p[1]), x, y)
		b.Return(vs{x, y, z})
	})
	// Of two loads the first must trap first, although it could be folded into the instruction after the second.
	loads2 := m.Fn([]clif.Type{clif.I32, clif.I32}, []clif.Type{clif.I32, clif.I32}, func(b *clif.Builder, p []clif.Value) {
		b.Src = 11
		x := b.Load(clif.I32, clif.Full, 1, p[0], 0)
		b.Src = 22
		y := b.Load(clif.I32, clif.Full, 1, p[1], 0)
		b.Src = 33
		b.Return(vs{y, b.Binary(clif.OpIsub, clif.I32, y, x)})
	})
	narrow2 := m.Fn([]clif.Type{clif.I32, clif.I32}, []clif.Type{clif.I32, clif.I32}, func(b *clif.Builder, p []clif.Value) {
		b.Src = 11
		x := b.Load(clif.I32, clif.U8, 1, p[0], 0)
		b.Src = 22
		y := b.Load(clif.I32, clif.Full, 1, p[1], 0)
		b.Src = 33
		b.Return(vs{y, b.Unary(clif.OpSext8, clif.I32, x)})
	})
	modify2 := m.Fn([]clif.Type{clif.I32, clif.I32}, nil, func(b *clif.Builder, p []clif.Value) {
		b.Src = 11
		x := b.Load(clif.I32, clif.Full, 1, p[0], 0)
		b.Src = 22
		y := b.Load(clif.I32, clif.Full, 1, p[1], 0)
		b.Src = 33
		b.Store(clif.I32, clif.Full, 1, p[0], b.Binary(clif.OpIadd, clif.I32, x, y), 0)
		b.Return(nil)
	})
	// A load that only a trapif looks at.
	checked := m.Fn([]clif.Type{clif.I32, clif.I32}, nil, func(b *clif.Builder, p []clif.Value) {
		b.Src = 11
		x := b.Load(clif.I32, clif.Full, 1, p[0], 0)
		b.Src = 22
		b.TrapIf(b.Icmp(clif.Eq, clif.I32, p[1], x), abi.TrapTableOutOfBounds)
		b.Return(nil)
	})
	code, err := m.compiler(t).Compile(m.Defined[f])
	if err != nil {
		t.Fatal(err)
	}
	got := map[uint32]abi.TrapCode{}
	for _, s := range code.Traps {
		got[s.Src] = s.Code
	}
	want := map[uint32]abi.TrapCode{11: abi.TrapTableOutOfBounds, 22: abi.TrapMemoryOutOfBounds, 33: abi.TrapIntegerDivideByZero, 44: abi.TrapMemoryOutOfBounds}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traps by source (-want +got):\n%s", diff)
	}
	// An instruction that a load is folded into traps as the load does.
	if code, err = m.compiler(t).Compile(m.Defined[folded]); err != nil {
		t.Fatal(err)
	}
	clear(got)
	for _, s := range code.Traps {
		got[s.Src] = s.Code
	}
	loads := map[uint32]abi.TrapCode{11: abi.TrapMemoryOutOfBounds, 22: abi.TrapMemoryOutOfBounds, 33: abi.TrapMemoryOutOfBounds}
	if diff := cmp.Diff(loads, got); diff != "" {
		t.Errorf("folded loads' traps by source (-want +got):\n%s", diff)
	}
	m.each(t, func(t *testing.T, level string, in Instance) {
		const out = 65536 // of memory
		for _, c := range []struct {
			fn   clif.FuncIndex
			args []uint64
			code abi.TrapCode
			src  uint32
		}{
			{f, []uint64{0, 1}, want[11], 11}, {f, []uint64{out, 0}, want[22], 22}, {f, []uint64{0, 0}, want[33], 33},
			{folded, []uint64{out, 0}, abi.TrapMemoryOutOfBounds, 11}, {folded, []uint64{out - 1, 0}, abi.TrapMemoryOutOfBounds, 22},
			{loads2, []uint64{out, out}, abi.TrapMemoryOutOfBounds, 11}, {loads2, []uint64{0, out}, abi.TrapMemoryOutOfBounds, 22},
			{narrow2, []uint64{out, out}, abi.TrapMemoryOutOfBounds, 11}, {narrow2, []uint64{0, out}, abi.TrapMemoryOutOfBounds, 22},
			{modify2, []uint64{out, out}, abi.TrapMemoryOutOfBounds, 11}, {modify2, []uint64{0, out}, abi.TrapMemoryOutOfBounds, 22},
			{checked, []uint64{out, 0}, abi.TrapMemoryOutOfBounds, 11}, {checked, []uint64{0, 0}, abi.TrapTableOutOfBounds, 22},
		} {
			_, trap, err := in.Call(c.fn, c.args...)
			if err != nil || trap == nil || trap.Code != c.code || trap.HasSrc && trap.Src != c.src {
				t.Errorf("%s: function %d%v: %+v, %v; want %v at %d", level, c.fn, c.args, trap, err, c.code, c.src)
			}
		}
	})
}

// testAccessesInBounds: accesses have no sites if their places are always in memory, or if those on each way to them went as far.
func testAccessesInBounds(t *testing.T, on *Machine) {
	m := &module{on: on}
	m.Memories = []clif.MemoryDecl{{Min: 1}, {Min: 1}}
	src := uint32(0)
	var b *clif.Builder
	// load and store note accesses with rising sources.
	load := func(typ clif.Type, memory clif.MemoryIndex, addr clif.Value, offset uint64) clif.Value {
		src++
		b.Src = src
		return b.Load(typ, clif.Full, memory, addr, offset)
	}
	store := func(addr, x clif.Value, offset uint64) {
		src++
		b.Src = src
		b.Store(clif.I32, clif.Full, 0, addr, x, offset)
	}
	f := m.Fn([]clif.Type{clif.I32, clif.I32}, i64, func(builder *clif.Builder, p []clif.Value) {
		b = builder
		constant := func(x uint64) clif.Value { return b.Iconst(clif.I32, x) }
		load(clif.I64, 0, p[0], 8)      // 1: up to 16
		store(p[0], p[1], 12)           // 2
		store(p[0], p[1], 0)            // 3
		load(clif.I32, 0, p[0], 13)     // 4: up to 17
		load(clif.I64, 1, p[0], 0)      // 5: another memory
		load(clif.I64, 0, p[1], 0)      // 6: another address
		store(constant(65532), p[1], 0) // 7: the last word
		store(constant(65532), p[1], 1) // 8: one byte more
		then, other, join, end := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
		b.Branch(p[1], b.Target(then, nil), b.Target(other, nil))
		b.SwitchTo(then)
		load(clif.I32, 0, p[0], 0)  // 9
		load(clif.I32, 0, p[0], 96) // 10: up to 100
		b.Jump(b.Target(join, nil))
		b.SwitchTo(other)
		load(clif.I32, 0, p[0], 76) // 11: up to 80
		b.Jump(b.Target(join, nil))
		b.SwitchTo(join)
		load(clif.I32, 0, p[0], 56)     // 12: the ways to it, not what dominates it, went as far
		x := load(clif.I64, 0, p[0], 8) // 13
		b.Src = 99
		b.Branch(p[1], b.Target(end, nil), b.Target(end, nil))
		b.SwitchTo(end)
		y := load(clif.I64, 0, p[0], 40)  // 14
		z := load(clif.I64, 0, p[0], 100) // 15
		b.Src = 98
		b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I64, z, b.Binary(clif.OpBxor, clif.I64, x, y))})
	})
	code, err := m.compiler(t).Compile(m.Defined[f])
	if err != nil {
		t.Fatal(err)
	}
	var got []uint32
	for _, s := range code.Traps {
		got = append(got, s.Src)
	}
	if want := []uint32{1, 4, 5, 6, 8, 10, 11, 12, 15}; !slices.Equal(got, want) {
		t.Errorf("accesses with sites: %d, want %d", got, want)
	}
}

// testErrors: what cannot be compiled is an error that names function and stage.
func testErrors(t *testing.T, on *Machine) {
	for _, c := range []struct {
		name  string
		build func(m *module) *clif.Func
	}{
		{"64-bit memory", func(m *module) *clif.Func {
			m.Fn(i64, i32, func(b *clif.Builder, p []clif.Value) {
				b.Return([]clif.Value{b.Load(clif.I32, clif.Full, 0, p[0], 0)})
			})
			return m.Defined[0]
		}},
	} {
		m := &module{on: on}
		m.Memories = []clif.MemoryDecl{{Min: 1}}
		f := c.build(m)
		f.Name = "f"
		comp := m.compiler(t)
		_, err := comp.Compile(f)
		var e *backend.Error
		if !errors.As(err, &e) || e.Func != "f" || e.Stage != "lower" || !errors.Is(err, backend.ErrUnsupported) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// testBits branches on each bit, and compares with numbers around the limits of immediates.
func testBits(t *testing.T, on *Machine) {
	s := newSuite(on)
	choose := func(ty clif.Type, what string, cond func(b *clif.Builder, x clif.Value) clif.Value, args ...uint64) {
		fn := s.Fn([]clif.Type{ty}, i32, func(b *clif.Builder, p []clif.Value) {
			then, els := b.NewBlock(), b.NewBlock()
			b.Branch(cond(b, p[0]), b.Target(then, nil), b.Target(els, nil))
			b.SwitchTo(then)
			b.Return([]clif.Value{b.Iconst(clif.I32, 1)})
			b.SwitchTo(els)
			b.Return([]clif.Value{b.Iconst(clif.I32, 2)})
		})
		set := s.Fn([]clif.Type{ty}, i32, func(b *clif.Builder, p []clif.Value) {
			c := cond(b, p[0])
			b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I32, c, c)})
		})
		for _, x := range args {
			if ty == clif.I32 {
				x = uint64(uint32(x))
			}
			s.call(fn, what, x)
			s.call(set, what, x)
		}
	}
	for _, ty := range []clif.Type{clif.I32, clif.I64} {
		for bit := range ty.Bits() {
			m := uint64(1) << bit
			for _, cc := range []clif.IntCC{clif.Eq, clif.Ne, clif.Slt, clif.Sge, clif.Sgt, clif.Ult, clif.Ugt, clif.Ule} {
				choose(ty, fmt.Sprint("bit ", bit, cc), func(b *clif.Builder, x clif.Value) clif.Value {
					return b.Icmp(cc, ty, b.Binary(clif.OpBand, ty, x, b.Iconst(ty, m)), b.Iconst(ty, 0))
				}, 0, m, ^m, m-1, ^uint64(0))
			}
		}
		for _, k := range []int64{1, 4094, 4095, 4096, 4097, 8191, 8192, 8193, 0xffefff, 0xfff000, 0xfff001, 0x1000000, 0x1000001, 1<<31 - 2, 1<<31 - 1, 1 << 31} {
			for _, k := range []int64{k, -k} {
				u := uint64(k)
				if ty == clif.I32 {
					u = uint64(uint32(k))
				}
				for cc := range clif.NumIntCCs {
					choose(ty, fmt.Sprint(cc, k), func(b *clif.Builder, x clif.Value) clif.Value {
						return b.Icmp(clif.IntCC(cc), ty, x, b.Iconst(ty, u))
					}, u-1, u, u+1, 0, ^uint64(0), 1<<31, 1<<63)
				}
			}
		}
	}
	s.run(t)
}
