package isatest

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

var (
	memIndexes = []uint64{0, 1, 200, 65527, 65528, 65532, 65533, 65535, 65536, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffff0, 0xffffffff}
	memOffsets = []uint64{0, 1, 8, 127, 128, 65530, 65536, 0x7ffffff0, 0x7fffffff, 0x80000000, 0x80000008, 0xfffffff0, 0xffffffff}
)

// accesses returns the accesses of loads, or of stores, of type t.
func accesses(t clif.Type, store bool) []clif.Access {
	switch {
	case t.IsFloat():
		return []clif.Access{clif.Full}
	case store && t == clif.I32:
		return []clif.Access{clif.Full, clif.U8, clif.U16}
	case store:
		return []clif.Access{clif.Full, clif.U8, clif.U16, clif.U32}
	case t == clif.I32:
		return []clif.Access{clif.Full, clif.U8, clif.S8, clif.U16, clif.S16}
	}
	return []clif.Access{clif.Full, clif.U8, clif.S8, clif.U16, clif.S16, clif.U32, clif.S32}
}

// indexes are the ways to make an address: each must keep its 32 bits.
var indexes = []struct {
	name string
	make func(b *builder, p clif.Value, k uint64) clif.Value
}{
	{"param", func(b *builder, p clif.Value, k uint64) clif.Value { return p }},
	{"const", func(b *builder, p clif.Value, k uint64) clif.Value { return b.Iconst(clif.I32, k) }},
	{"add const", func(b *builder, p clif.Value, k uint64) clif.Value {
		return b.Binary(clif.OpIadd, clif.I32, p, b.Iconst(clif.I32, 0x10))
	}},
	{"sub const", func(b *builder, p clif.Value, k uint64) clif.Value {
		return b.Binary(clif.OpIadd, clif.I32, p, b.Iconst(clif.I32, 0xfffffff0))
	}},
	{"add shl", func(b *builder, p clif.Value, k uint64) clif.Value {
		return b.Binary(clif.OpIadd, clif.I32, p, b.Binary(clif.OpIshl, clif.I32, p, b.Iconst(clif.I32, 3)))
	}},
	{"shl", func(b *builder, p clif.Value, k uint64) clif.Value {
		return b.Binary(clif.OpIshl, clif.I32, p, b.Iconst(clif.I32, 2))
	}},
	{"ireduce", func(b *builder, p clif.Value, k uint64) clif.Value {
		x := b.Binary(clif.OpIadd, clif.I64, b.Unary(clif.OpSextend, clif.I64, p), b.Iconst(clif.I64, 1<<40))
		return b.Unary(clif.OpIreduce, clif.I32, x)
	}},
	{"sext8", func(b *builder, p clif.Value, k uint64) clif.Value { return b.Unary(clif.OpSext8, clif.I32, p) }},
	{"select", func(b *builder, p clif.Value, k uint64) clif.Value {
		return b.Select(clif.I32, p, p, b.Iconst(clif.I32, 0xffffffff))
	}},
	{"load", func(b *builder, p clif.Value, k uint64) clif.Value {
		b.Store(clif.I32, clif.Full, 0, b.Iconst(clif.I32, 64), p, 0)
		return b.Load(clif.I32, clif.Full, 0, b.Iconst(clif.I32, 64), 0)
	}},
}

func testLoadStore(t *testing.T, on *Machine) {
	for xi, ix := range indexes {
		s := newSuite(on)
		s.wholeMemory = true
		fill := s.Fn([]clif.Type{clif.I32, clif.I64}, nil, func(b *clif.Builder, p []clif.Value) {
			b.Store(clif.I64, clif.Full, 0, p[0], p[1], 0)
			b.Return(nil)
		})
		for _, a := range []uint64{0, 1, 200, 65528, 65520} {
			s.call(fill, "fill", a, 0x8192a3b4c5d6e7f8+a)
		}
		for ty := clif.I32; ty <= clif.F64; ty++ {
			for ai, acc := range accesses(ty, false) {
				for oi, off := range memOffsets {
					if !sampled(xi + ai + oi) {
						continue
					}
					for k, ki := range memIndexes {
						if ix.name != "const" && k > 0 {
							break
						}
						fn := s.Fn(i32, []clif.Type{ty}, func(cb *clif.Builder, p []clif.Value) {
							b := &builder{cb}
							b.Return([]clif.Value{b.Load(ty, acc, 0, ix.make(b, p[0], ki), off)})
						})
						dead := s.Fn(i32, nil, func(cb *clif.Builder, p []clif.Value) {
							b := &builder{cb}
							b.Load(ty, acc, 0, ix.make(b, p[0], ki), off)
							b.Return(nil)
						})
						for _, x := range memIndexes {
							if ix.name == "const" && x != ki {
								continue
							}
							what := fmt.Sprintf("%s: load %v.%v +%#x", ix.name, ty, acc, off)
							s.call(fn, what, x)
							s.call(dead, what+" dropped", x)
						}
					}
				}
			}
			for ai, acc := range accesses(ty, true) {
				for oi, off := range memOffsets {
					if !sampled(xi + ai + oi) {
						continue
					}
					fn := s.Fn([]clif.Type{clif.I32, ty}, nil, func(cb *clif.Builder, p []clif.Value) {
						b := &builder{cb}
						b.Store(ty, acc, 0, ix.make(b, p[0], 100), p[1], off)
						b.Return(nil)
					})
					for _, x := range memIndexes {
						s.call(fn, fmt.Sprintf("%s: store %v.%v +%#x", ix.name, ty, acc, off), x, 0x1122334455667788&(1<<ty.Bits()-1)|0x80)
					}
				}
			}
		}
		s.run(t)
	}
}

// testModify covers operations on memory: of all widths, with all operands.
func testModify(t *testing.T, on *Machine) {
	s := newSuite(on)
	s.ends = 4
	ops := []clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpBand, clif.OpBor, clif.OpBxor, clif.OpIshl, clif.OpImul}
	for ty := clif.I32; ty <= clif.I64; ty++ {
		for _, acc := range accesses(ty, true) {
			for _, op := range ops {
				for _, swap := range []bool{false, true} {
					for _, k := range append(pick(corners[ty], 3), 1<<20) {
						for _, konst := range []bool{false, true} {
							if !konst && k != 0 {
								continue
							}
							fn := s.Fn([]clif.Type{clif.I32, ty}, nil, func(b *clif.Builder, p []clif.Value) {
								x := b.Load(ty, acc, 0, p[0], 8)
								y := p[1]
								if konst {
									y = b.Iconst(ty, k)
								}
								if swap {
									x, y = y, x
								}
								b.Store(ty, acc, 0, p[0], b.Binary(op, ty, x, y), 8)
								b.Return(nil)
							})
							for _, y := range pick(corners[ty], 4) {
								s.call(fn, fmt.Sprintf("modify %v.%v %v swap %v const %v", op, ty, acc, swap, konst), 16, y)
								if konst {
									break
								}
							}
							s.call(fn, "modify out of bounds", 65536-9, 1)
						}
					}
				}
			}
		}
	}
	s.run(t)
}

// testSinking puts instructions between a load and its user, or gives the load another user.
func testSinking(t *testing.T, on *Machine) {
	s := newSuite(on)
	type vs = []clif.Value
	two := []clif.Type{clif.I32, clif.I32}
	add := func(name string, build sinkCase) {
		fn := s.Fn(two, i32, func(cb *clif.Builder, p []clif.Value) {
			b := &builder{cb}
			b.Return(vs{build(b, p)})
		})
		for _, a := range []uint64{0, 4, 8, 65532, 65533, 0x80000000} {
			for _, x := range []uint64{0, 1, 5, 0xffffffff} {
				s.call(fn, name, a, x)
			}
		}
	}
	sinkLoads(add)
	sinkModifies(add)
	sinkWidths(add)
	sinkExtensions(add)
	s.run(t)
}

// sinkCase makes a value of an address and an i32.
type sinkCase = func(b *builder, p []clif.Value) clif.Value

func load(b *builder, a clif.Value) clif.Value { return b.Load(clif.I32, clif.Full, 0, a, 0) }

func bin(b *builder, op clif.Opcode, x, y clif.Value) clif.Value { return b.Binary(op, clif.I32, x, y) }

// sinkLoads adds loads that may or may not pass what lies between.
func sinkLoads(add func(name string, build sinkCase)) {
	type vs = []clif.Value
	const I32 = clif.I32
	add("store between", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		b.Store(I32, clif.Full, 0, p[0], p[1], 0)
		return bin(b, clif.OpIadd, p[1], x)
	})
	add("other trap between", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		b.TrapIf(p[1], abi.TrapUnreachable)
		return bin(b, clif.OpIadd, p[1], x)
	})
	add("trap before", func(b *builder, p vs) clif.Value {
		b.TrapIf(p[1], abi.TrapUnreachable)
		return bin(b, clif.OpIadd, p[1], load(b, p[0]))
	})
	add("division between", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		y := bin(b, clif.OpSdiv, b.Iconst(I32, 7), p[1])
		return bin(b, clif.OpIadd, y, x)
	})
	add("two loads", func(b *builder, p vs) clif.Value {
		x, y := load(b, p[0]), load(b, p[1])
		return bin(b, clif.OpIsub, x, y)
	})
	add("two uses", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		return bin(b, clif.OpBxor, bin(b, clif.OpIadd, p[1], x), x)
	})
	add("same operand twice", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		return bin(b, clif.OpIadd, x, x)
	})
	add("user dead", func(b *builder, p vs) clif.Value {
		bin(b, clif.OpIadd, p[1], load(b, p[0]))
		return p[1]
	})
	add("user dead comparison", func(b *builder, p vs) clif.Value {
		b.Icmp(clif.Eq, I32, p[1], load(b, p[0]))
		return p[1]
	})
	add("comparison used twice", func(b *builder, p vs) clif.Value {
		c := b.Icmp(clif.Slt, I32, load(b, p[0]), p[1])
		x := b.Select(I32, c, p[1], b.Iconst(I32, 3))
		return bin(b, clif.OpIadd, x, b.Select(I32, c, b.Iconst(I32, 4), x))
	})
	add("comparison in two conditions and a value", func(b *builder, p vs) clif.Value {
		c := b.Icmp(clif.Slt, I32, p[1], load(b, p[0]))
		b.Store(I32, clif.Full, 0, b.Iconst(I32, 8), c, 0)
		x := b.Select(I32, b.Icmp(clif.Eq, I32, c, b.Iconst(I32, 0)), p[1], b.Iconst(I32, 3))
		return bin(b, clif.OpIadd, x, b.Select(I32, c, b.Iconst(I32, 4), x))
	})
	add("select of loads", func(b *builder, p vs) clif.Value {
		x, y := load(b, p[0]), load(b, b.Iconst(I32, 4))
		return b.Select(I32, p[1], x, y)
	})
	add("other block", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		next, other := b.NewBlock(), b.NewBlock()
		b.Branch(p[1], b.Target(next, nil), b.Target(other, nil))
		b.SwitchTo(next)
		b.Store(I32, clif.Full, 0, p[0], p[1], 0)
		b.Return(vs{bin(b, clif.OpIadd, p[1], x)})
		b.SwitchTo(other)
		return p[1]
	})
}

// sinkModifies adds changes of memory that may or may not be one instruction.
func sinkModifies(add func(name string, build sinkCase)) {
	type vs = []clif.Value
	const I32 = clif.I32
	add("modify with a store between", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		b.Store(I32, clif.Full, 0, b.Iconst(I32, 4), p[1], 0)
		b.Store(I32, clif.Full, 0, p[0], bin(b, clif.OpIadd, x, p[1]), 0)
		return p[1]
	})
	add("modify, loaded value kept", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		b.Store(I32, clif.Full, 0, p[0], bin(b, clif.OpIadd, x, p[1]), 0)
		return x
	})
	add("modify, result kept", func(b *builder, p vs) clif.Value {
		x := bin(b, clif.OpIadd, load(b, p[0]), p[1])
		b.Store(I32, clif.Full, 0, p[0], x, 0)
		return x
	})
	add("modify with the load of the same place", func(b *builder, p vs) clif.Value {
		b.Store(I32, clif.Full, 0, p[0], bin(b, clif.OpIadd, load(b, p[0]), load(b, p[0])), 0)
		return p[1]
	})
	add("modify another place", func(b *builder, p vs) clif.Value {
		x := b.Load(I32, clif.Full, 0, p[0], 4)
		b.Store(I32, clif.Full, 0, p[0], bin(b, clif.OpIadd, x, p[1]), 0)
		return p[1]
	})
}

// sinkWidths adds loads and stores of other widths than their users, and addresses that wrap.
func sinkWidths(add func(name string, build sinkCase)) {
	type vs = []clif.Value
	const I32 = clif.I32
	add("narrow load, wide store", func(b *builder, p vs) clif.Value {
		x := b.Load(I32, clif.U8, 0, p[0], 0)
		b.Store(I32, clif.Full, 0, p[0], bin(b, clif.OpIadd, x, p[1]), 0)
		return p[1]
	})
	add("wide load, narrow store", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		b.Store(I32, clif.U8, 0, p[0], bin(b, clif.OpIadd, x, p[1]), 0)
		return p[1]
	})
	add("zero-extended load as i64", func(b *builder, p vs) clif.Value {
		x := b.Unary(clif.OpUextend, clif.I64, load(b, p[0]))
		y := b.Unary(clif.OpUextend, clif.I64, p[1])
		return b.Unary(clif.OpIreduce, I32, b.Binary(clif.OpIadd, clif.I64, y, x))
	})
	add("sign-extended load", func(b *builder, p vs) clif.Value {
		x := b.Unary(clif.OpSextend, clif.I64, load(b, p[0]))
		return b.Unary(clif.OpIreduce, I32, b.Binary(clif.OpUshr, clif.I64, x, b.Iconst(clif.I64, 20)))
	})
	add("reduced i64 load", func(b *builder, p vs) clif.Value {
		x := b.Load(clif.I64, clif.Full, 0, p[0], 0)
		return bin(b, clif.OpIadd, b.Unary(clif.OpIreduce, I32, x), p[1])
	})
	add("call between", func(b *builder, p vs) clif.Value {
		x := load(b, p[0])
		y := b.Call(0, vs{p[0], p[1]})
		return bin(b, clif.OpIadd, x, y)
	})
	add("wrapping sum as address", func(b *builder, p vs) clif.Value {
		a := bin(b, clif.OpIadd, p[0], bin(b, clif.OpIshl, p[1], b.Iconst(I32, 2)))
		return load(b, bin(b, clif.OpIadd, a, b.Iconst(I32, 4)))
	})
	add("wrapping sum zero-extended", func(b *builder, p vs) clif.Value {
		a := b.Unary(clif.OpUextend, clif.I64, bin(b, clif.OpIadd, p[0], p[1]))
		c := b.Binary(clif.OpIadd, clif.I64, a, b.Iconst(clif.I64, 1))
		return b.Unary(clif.OpIreduce, I32, b.Binary(clif.OpUshr, clif.I64, c, b.Iconst(clif.I64, 8)))
	})
	add("narrow stores", func(b *builder, p vs) clif.Value {
		b.Store(I32, clif.U8, 0, p[0], bin(b, clif.OpBand, p[1], b.Iconst(I32, 0xff)), 0)
		b.Store(I32, clif.U8, 0, p[0], bin(b, clif.OpBand, p[1], b.Iconst(I32, 0x7f)), 1)
		b.Store(I32, clif.U16, 0, p[0], b.Unary(clif.OpSext8, I32, p[1]), 2)
		b.Store(I32, clif.U8, 0, p[0], b.Unary(clif.OpSext16, I32, p[1]), 4)
		w := b.Unary(clif.OpSextend, clif.I64, p[1])
		b.Store(clif.I64, clif.U32, 0, p[0], w, 8)
		b.Store(clif.I64, clif.Full, 0, p[0], w, 16)
		return p[1]
	})
}

// sinkExtensions adds extensions that every machine folds into a load, with instructions between, and with another user.
func sinkExtensions(add func(name string, build sinkCase)) {
	type vs = []clif.Value
	const I32 = clif.I32
	low := func(b *builder, x clif.Value) clif.Value {
		return b.Unary(clif.OpIreduce, I32, b.Binary(clif.OpRotl, clif.I64, x, b.Iconst(clif.I64, 40)))
	}
	plain := func(b *builder, x clif.Value) clif.Value { // no load can do this
		switch b.F.TypeOf(x) {
		case clif.F32:
			return b.Unary(clif.OpFcvtToSintSat, I32, x)
		case clif.I64:
			return low(b, x)
		}
		return bin(b, clif.OpRotl, x, b.Iconst(I32, 3))
	}
	forms := []struct {
		name string
		load func(b *builder, a clif.Value) clif.Value
		use  func(b *builder, x clif.Value) clif.Value
	}{
		{"sext8", func(b *builder, a clif.Value) clif.Value { return b.Load(I32, clif.U8, 0, a, 0) },
			func(b *builder, x clif.Value) clif.Value { return b.Unary(clif.OpSext8, I32, x) }},
		{"sext16", func(b *builder, a clif.Value) clif.Value { return b.Load(I32, clif.U16, 0, a, 0) },
			func(b *builder, x clif.Value) clif.Value { return b.Unary(clif.OpSext16, I32, x) }},
		{"sextend", load, func(b *builder, x clif.Value) clif.Value { return low(b, b.Unary(clif.OpSextend, clif.I64, x)) }},
		{"sext32", func(b *builder, a clif.Value) clif.Value { return b.Load(clif.I64, clif.U32, 0, a, 0) },
			func(b *builder, x clif.Value) clif.Value { return low(b, b.Unary(clif.OpSext32, clif.I64, x)) }},
		{"bitcast", func(b *builder, a clif.Value) clif.Value { return b.Load(clif.F32, clif.Full, 0, a, 0) },
			func(b *builder, x clif.Value) clif.Value { return b.Unary(clif.OpBitcast, I32, x) }},
	}
	between := []struct {
		name string
		do   func(b *builder, p vs, x clif.Value)
	}{
		{"nothing", func(*builder, vs, clif.Value) {}},
		{"a store", func(b *builder, p vs, _ clif.Value) {
			b.Store(I32, clif.Full, 0, b.Iconst(I32, 4), b.Iconst(I32, 0x8b8a8988), 0)
		}},
		{"a store at the place", func(b *builder, p vs, _ clif.Value) { b.Store(I32, clif.Full, 0, p[0], p[1], 0) }},
		{"a trap", func(b *builder, p vs, _ clif.Value) { b.TrapIf(p[1], abi.TrapUnreachable) }},
		{"a division", func(b *builder, p vs, _ clif.Value) { bin(b, clif.OpUdiv, p[0], p[1]) }},
		{"a call", func(b *builder, p vs, _ clif.Value) { b.Call(0, vs{p[0], p[1]}) }},
		{"a load", func(b *builder, p vs, _ clif.Value) { load(b, p[1]) }},
		{"a block", func(b *builder, p vs, _ clif.Value) {
			next, other := b.NewBlock(), b.NewBlock()
			b.Branch(p[1], b.Target(next, nil), b.Target(other, nil))
			b.SwitchTo(other)
			b.Return(vs{p[1]})
			b.SwitchTo(next)
			b.Store(I32, clif.Full, 0, p[0], p[1], 0)
		}},
		{"a store of it", func(b *builder, p vs, x clif.Value) { b.Store(I32, clif.Full, 0, p[0], plain(b, x), 0) }},
	}
	for _, f := range forms {
		add(f.name+" of a load and before that itself", func(b *builder, p vs) clif.Value {
			x := f.load(b, p[0])
			y := plain(b, x)
			return bin(b, clif.OpBxor, f.use(b, x), y)
		})
		add(f.name+" of a load and then itself", func(b *builder, p vs) clif.Value {
			x := f.load(b, p[0])
			y := f.use(b, x)
			return bin(b, clif.OpBxor, y, plain(b, x))
		})
		for _, g := range between {
			add(f.name+" of a load after "+g.name, func(b *builder, p vs) clif.Value {
				x := f.load(b, p[0])
				g.do(b, p, x)
				return bin(b, clif.OpBxor, f.use(b, x), p[1])
			})
		}
	}
}
