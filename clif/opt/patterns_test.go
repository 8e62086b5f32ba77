package opt

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// family is a family of functions that rules may match: an expression of
// parameters and constants. Params and consts are their types, a letter each: n for
// i32, w for i64, f for f32, d for f64, v for v128, e for a scalar that becomes a lane.
type family struct {
	name           string
	params, consts string
	build          func(b bld, p []val, k []val) val
	shape          clif.Type // of the vectors, Invalid if there are none
	lanewise       bool      // a lane of the result depends on the lanes in the same place
}

func letterType(c byte) clif.Type {
	return map[byte]clif.Type{'n': clif.I32, 'w': clif.I64, 'f': clif.F32, 'd': clif.F64, 'v': clif.V128}[c]
}

func (p *family) typeOf(c byte) clif.Type {
	if c == 'e' {
		return p.shape.LaneType()
	}
	return letterType(c)
}

func (p *family) types(letters string) (ts []clif.Type) {
	for i := range len(letters) {
		ts = append(ts, p.typeOf(letters[i]))
	}
	return ts
}

var (
	commutative = []clif.Opcode{clif.OpIadd, clif.OpImul, clif.OpBand, clif.OpBor, clif.OpBxor}
	divisions   = []clif.Opcode{clif.OpUdiv, clif.OpSdiv, clif.OpUrem, clif.OpSrem}
	shifts      = []clif.Opcode{clif.OpIshl, clif.OpUshr, clif.OpSshr, clif.OpRotl, clif.OpRotr}
	extensions  = []clif.Opcode{clif.OpUextend, clif.OpSextend}
)

// intOps are the integer operations on two operands of type l.
func intOps(l string) []clif.Opcode {
	ops := append([]clif.Opcode{clif.OpIsub}, commutative...)
	ops = append(append(ops, divisions...), shifts...)
	if l == "w" {
		ops = append(ops, clif.OpUmulhi, clif.OpSmulhi)
	}
	return ops
}

// signExtensions are those within a number of type l.
func signExtensions(l string) []clif.Opcode {
	if l == "w" {
		return []clif.Opcode{clif.OpSext8, clif.OpSext16, clif.OpSext32}
	}
	return []clif.Opcode{clif.OpSext8, clif.OpSext16}
}

// patterns lists those that the rules are made for, at every type, and more
// of the kind that they must leave alone.
func patterns() (all []family) {
	add := func(name, params, consts string, build func(b bld, p, k []val) val) {
		all = append(all, family{name: name, params: params, consts: consts, build: build})
	}
	for _, l := range []string{"n", "w"} {
		t := letterType(l[0])
		for _, op := range intOps(l) {
			name := fmt.Sprintf("%v.%v ", op, t)
			add(name+"x y", l+l, "", func(b bld, p, k []val) val { return b.Binary(op, t, p[0], p[1]) })
			add(name+"x x", l, "", func(b bld, p, k []val) val { return b.Binary(op, t, p[0], p[0]) })
			add(name+"x k", l, l, func(b bld, p, k []val) val { return b.Binary(op, t, p[0], k[0]) })
			add(name+"k x", l, l, func(b bld, p, k []val) val { return b.Binary(op, t, k[0], p[0]) })
			add(name+"k m", "", l+l, func(b bld, p, k []val) val { return b.Binary(op, t, k[0], k[1]) })
			add(name+"twice", l+l, "", func(b bld, p, k []val) val {
				return b.Binary(clif.OpBxor, t, b.Binary(op, t, p[0], p[1]), b.Binary(clif.OpIadd, t, b.Binary(op, t, p[0], p[1]), p[0]))
			})
		}
		for _, op := range append([]clif.Opcode{clif.OpClz, clif.OpCtz, clif.OpPopcnt}, signExtensions(l)...) {
			name := fmt.Sprintf("%v.%v ", op, t)
			add(name+"x", l, "", func(b bld, p, k []val) val { return b.Unary(op, t, p[0]) })
			add(name+"k", "", l, func(b bld, p, k []val) val { return b.Unary(op, t, k[0]) })
			add("and k "+name+"x", l, l, func(b bld, p, k []val) val { return b.Binary(clif.OpBand, t, b.Unary(op, t, p[0]), k[0]) })
		}
		for _, op := range commutative {
			add(fmt.Sprintf("%v.%v (x k) m", op, t), l, l+l, func(b bld, p, k []val) val { return b.Binary(op, t, b.Binary(op, t, p[0], k[0]), k[1]) })
		}
		add(fmt.Sprintf("bxor.%v (k - x) m", t), l, l+l, func(b bld, p, k []val) val {
			return b.Binary(clif.OpBxor, t, b.Binary(clif.OpIsub, t, k[0], p[0]), k[1])
		})
		add(fmt.Sprintf("bxor.%v ((x ^ k) + m) n", t), l, l+l+l, func(b bld, p, k []val) val {
			return b.Binary(clif.OpBxor, t, b.Binary(clif.OpIadd, t, b.Binary(clif.OpBxor, t, p[0], k[0]), k[1]), k[2])
		})
		for _, op := range shifts {
			add(fmt.Sprintf("%v.%v x (y & k)", op, t), l+l, l, func(b bld, p, k []val) val {
				return b.Binary(op, t, p[0], b.Binary(clif.OpBand, t, p[1], k[0]))
			})
			for _, op2 := range append([]clif.Opcode{clif.OpBand}, shifts...) {
				add(fmt.Sprintf("%v.%v (%v x k) m", op2, t, op), l, l+l, func(b bld, p, k []val) val { return b.Binary(op2, t, b.Binary(op, t, p[0], k[0]), k[1]) })
			}
		}
		for _, op := range []clif.Opcode{clif.OpBand, clif.OpBor, clif.OpBxor} {
			add(fmt.Sprintf("and.%v k (%v (x >> 1) (y & m))", t, op), l+l, l+l, func(b bld, p, k []val) val {
				x := b.Binary(op, t, b.Binary(clif.OpUshr, t, p[0], b.Iconst(t, 1)), b.Binary(clif.OpBand, t, p[1], k[1]))
				return b.Binary(clif.OpBand, t, x, k[0])
			})
		}
		for _, a := range []clif.Access{clif.Full, clif.U8, clif.S8, clif.U16, clif.S16, clif.U32, clif.S32} {
			if a >= clif.U32 && l == "n" {
				continue
			}
			add(fmt.Sprintf("and.%v k (load %v)", t, a), "n", l, func(b bld, p, k []val) val {
				return b.Binary(clif.OpBand, t, b.Load(t, a, 0, p[0], 0), k[0])
			})
			add(fmt.Sprintf("load.%v %v twice", t, a), "n", "", func(b bld, p, k []val) val {
				return b.Binary(clif.OpIadd, t, b.Load(t, a, 0, p[0], 8), b.Load(t, a, 0, p[0], 8))
			})
			for _, op := range signExtensions(l) {
				add(fmt.Sprintf("%v.%v (load %v)", op, t, a), "n", "", func(b bld, p, k []val) val {
					return b.Unary(op, t, b.Load(t, a, 0, p[0], 0))
				})
			}
		}
		for _, op := range signExtensions(l) {
			for _, op2 := range signExtensions(l) {
				add(fmt.Sprintf("%v.%v (%v x)", op, t, op2), l, "", func(b bld, p, k []val) val { return b.Unary(op, t, b.Unary(op2, t, p[0])) })
			}
			for _, op2 := range []clif.Opcode{clif.OpBand, clif.OpUshr, clif.OpIshl} {
				add(fmt.Sprintf("%v.%v (%v x k)", op, t, op2), l, l, func(b bld, p, k []val) val { return b.Unary(op, t, b.Binary(op2, t, p[0], k[0])) })
			}
		}
		for _, op := range divisions {
			add(fmt.Sprintf("%v.%v x k, dead", op, t), l, l, func(b bld, p, k []val) val {
				b.Binary(op, t, p[0], k[0])
				return p[0]
			})
		}
		all = append(all, selectPatterns(l)...)
		all = append(all, comparePatterns(l)...)
	}
	return append(append(append(append(append(all, widthPatterns()...), trapPatterns()...), vectorPatterns()...), widePatterns()...), addressPatterns()...)
}

// selectPatterns are choices between numbers of type l.
func selectPatterns(l string) (all []family) {
	t := letterType(l[0])
	add := func(name, params, consts string, build func(b bld, p, k []val) val) {
		all = append(all, family{name: fmt.Sprintf("select.%v %s", t, name), params: params, consts: consts, build: build})
	}
	add("c x x", "n"+l, "", func(b bld, p, k []val) val { return b.Select(t, p[0], p[1], p[1]) })
	add("k x y", l+l, "n", func(b bld, p, k []val) val { return b.Select(t, k[0], p[0], p[1]) })
	add("c k m", "n", l+l, func(b bld, p, k []val) val { return b.Select(t, p[0], k[0], k[1]) })
	add("(x < y) k m", l+l, l+l, func(b bld, p, k []val) val { return b.Select(t, b.Icmp(clif.Slt, t, p[0], p[1]), k[0], k[1]) })
	add("c (x & k) (x >> m) & 15", "n"+l, l+l, func(b bld, p, k []val) val {
		x := b.Select(t, p[0], b.Binary(clif.OpBand, t, p[1], k[0]), b.Binary(clif.OpUshr, t, p[1], k[1]))
		return b.Binary(clif.OpBand, t, x, b.Iconst(t, 15))
	})
	for _, cc := range []clif.IntCC{clif.Eq, clif.Ne, clif.Ugt, clif.Ule} {
		add(fmt.Sprintf("(c %v k) x y", cc), "n"+l, "n", func(b bld, p, k []val) val {
			return b.Select(t, b.Icmp(cc, i32, p[0], k[0]), p[1], b.Iconst(t, 9))
		})
	}
	return all
}

// comparePatterns are comparisons of numbers of type l.
func comparePatterns(l string) (all []family) {
	t := letterType(l[0])
	for cc := range clif.NumIntCCs {
		name := fmt.Sprintf("icmp.%v %v ", t, cc)
		add := func(rest, params, consts string, build func(b bld, p, k []val) val) {
			all = append(all, family{name: name + rest, params: params, consts: consts, build: build})
		}
		add("x y", l+l, "", func(b bld, p, k []val) val { return b.Icmp(cc, t, p[0], p[1]) })
		add("x x", l, "", func(b bld, p, k []val) val { return b.Icmp(cc, t, p[0], p[0]) })
		add("x k", l, l, func(b bld, p, k []val) val { return b.Icmp(cc, t, p[0], k[0]) })
		add("k x", l, l, func(b bld, p, k []val) val { return b.Icmp(cc, t, k[0], p[0]) })
		add("k m", "", l+l, func(b bld, p, k []val) val { return b.Icmp(cc, t, k[0], k[1]) })
		for _, other := range []clif.IntCC{clif.Ne, clif.Sle, clif.Ugt} {
			add(fmt.Sprintf("x y, and %v x y", other), l+l, "", func(b bld, p, k []val) val {
				return b.Binary(clif.OpIsub, i32, b.Icmp(cc, t, p[0], p[1]), b.Icmp(other, t, p[0], p[1]))
			})
		}
		for _, outer := range []clif.IntCC{clif.Eq, clif.Ne, clif.Slt, clif.Ult} {
			add(fmt.Sprintf("x y, then %v k", outer), l+l, "n", func(b bld, p, k []val) val {
				return b.Icmp(outer, i32, b.Icmp(cc, t, p[0], p[1]), k[0])
			})
		}
		if l == "n" {
			continue
		}
		for _, x := range extensions {
			add(fmt.Sprintf("(%v x) k", x), "n", "w", func(b bld, p, k []val) val { return b.Icmp(cc, t, b.Unary(x, t, p[0]), k[0]) })
			for _, y := range extensions {
				add(fmt.Sprintf("(%v x) (%v y)", x, y), "nn", "", func(b bld, p, k []val) val {
					return b.Icmp(cc, t, b.Unary(x, t, p[0]), b.Unary(y, t, p[1]))
				})
			}
		}
	}
	return all
}

// widthPatterns go from one width to the other.
func widthPatterns() (all []family) {
	add := func(name, params, consts string, build func(b bld, p, k []val) val) {
		all = append(all, family{name: name, params: params, consts: consts, build: build})
	}
	low := func(b bld, x val) val { return b.Unary(clif.OpIreduce, i32, x) }
	add("ireduce x", "w", "", func(b bld, p, k []val) val { return low(b, p[0]) })
	add("ireduce k", "", "w", func(b bld, p, k []val) val { return low(b, k[0]) })
	add("ireduce (x & k)", "w", "w", func(b bld, p, k []val) val { return low(b, b.Binary(clif.OpBand, i64, p[0], k[0])) })
	add("ireduce (sext32 x)", "w", "", func(b bld, p, k []val) val { return low(b, b.Unary(clif.OpSext32, i64, p[0])) })
	for _, op := range []clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpImul, clif.OpBand, clif.OpBor, clif.OpBxor, clif.OpIshl} {
		add(fmt.Sprintf("ireduce (%v x y)", op), "ww", "", func(b bld, p, k []val) val { return low(b, b.Binary(op, i64, p[0], p[1])) })
		add(fmt.Sprintf("ireduce (%v x k)", op), "w", "w", func(b bld, p, k []val) val { return low(b, b.Binary(op, i64, p[0], k[0])) })
		add(fmt.Sprintf("ireduce (%v x k + y)", op), "ww", "w", func(b bld, p, k []val) val {
			return low(b, b.Binary(clif.OpIadd, i64, b.Binary(op, i64, p[0], k[0]), p[1]))
		})
		add(fmt.Sprintf("ireduce (%v x y), and its upper half", op), "ww", "", func(b bld, p, k []val) val {
			z := b.Binary(op, i64, p[0], p[1])
			return b.Binary(clif.OpBxor, i64, b.Unary(clif.OpUextend, i64, low(b, z)), z)
		})
	}
	for _, x := range extensions {
		ext := func(b bld, v val) val { return b.Unary(x, i64, v) }
		add(x.String()+" k", "", "n", func(b bld, p, k []val) val { return ext(b, k[0]) })
		add(x.String()+" x", "n", "", func(b bld, p, k []val) val { return ext(b, p[0]) })
		add(fmt.Sprintf("ireduce (%v x)", x), "n", "", func(b bld, p, k []val) val { return low(b, ext(b, p[0])) })
		add(fmt.Sprintf("%v (ireduce x)", x), "w", "", func(b bld, p, k []val) val { return ext(b, low(b, p[0])) })
		add(fmt.Sprintf("sext32 (%v x)", x), "n", "", func(b bld, p, k []val) val { return b.Unary(clif.OpSext32, i64, ext(b, p[0])) })
		add(fmt.Sprintf("and k (%v x)", x), "n", "w", func(b bld, p, k []val) val { return b.Binary(clif.OpBand, i64, ext(b, p[0]), k[0]) })
		for _, op := range []clif.Opcode{clif.OpBand, clif.OpUshr} {
			add(fmt.Sprintf("%v (ireduce (%v x k))", x, op), "w", "w", func(b bld, p, k []val) val {
				return ext(b, low(b, b.Binary(op, i64, p[0], k[0])))
			})
			add(fmt.Sprintf("%v (%v x k)", x, op), "n", "n", func(b bld, p, k []val) val { return ext(b, b.Binary(op, i32, p[0], k[0])) })
		}
		add(fmt.Sprintf("%v (x < y)", x), "nn", "", func(b bld, p, k []val) val { return ext(b, b.Icmp(clif.Slt, i32, p[0], p[1])) })
		add(fmt.Sprintf("%v (clz x)", x), "n", "", func(b bld, p, k []val) val { return ext(b, b.Unary(clif.OpClz, i32, p[0])) })
		for _, op := range intOps("w") {
			if op == clif.OpUmulhi || op == clif.OpSmulhi {
				continue
			}
			add(fmt.Sprintf("ireduce (%v (%v x) k)", op, x), "n", "w", func(b bld, p, k []val) val { return low(b, b.Binary(op, i64, ext(b, p[0]), k[0])) })
			add(fmt.Sprintf("ireduce (%v k (%v x))", op, x), "n", "w", func(b bld, p, k []val) val { return low(b, b.Binary(op, i64, k[0], ext(b, p[0]))) })
			for _, y := range extensions {
				add(fmt.Sprintf("ireduce (%v (%v x) (%v y))", op, x, y), "nn", "", func(b bld, p, k []val) val {
					return low(b, b.Binary(op, i64, ext(b, p[0]), b.Unary(y, i64, p[1])))
				})
			}
		}
	}
	return all
}

// trapPatterns trap, or know something because they did not.
func trapPatterns() (all []family) {
	conds := []struct {
		name           string
		params, consts string
		make           func(b bld, p, k []val) val
	}{
		{"k", "n", "n", func(b bld, p, k []val) val { return k[0] }},
		{"x", "n", "", func(b bld, p, k []val) val { return p[0] }},
		{"(x == k)", "n", "n", func(b bld, p, k []val) val { return b.Icmp(clif.Eq, i32, p[0], k[0]) }},
		{"(x != k)", "n", "n", func(b bld, p, k []val) val { return b.Icmp(clif.Ne, i32, p[0], k[0]) }},
		{"(x < y)", "nn", "", func(b bld, p, k []val) val { return b.Icmp(clif.Slt, i32, p[0], p[1]) }},
	}
	for _, c := range conds {
		for _, cc := range []clif.IntCC{clif.Eq, clif.Ne, clif.Ult} {
			for kind := range 3 {
				name := fmt.Sprintf("trapif %s, then %v and %d", c.name, cc, kind)
				all = append(all, family{name: name, params: c.params, consts: c.consts, build: func(b bld, p, k []val) val {
					b.TrapIf(c.make(b, p, k), abi.TrapUnreachable)
					again := b.Icmp(cc, i32, c.make(b, p, k), b.Iconst(i32, 0))
					switch kind {
					case 0:
						b.TrapIf(again, abi.TrapIntegerOverflow)
						return p[0]
					case 1:
						return b.Select(i32, again, p[0], b.Iconst(i32, 5))
					}
					return b.Binary(clif.OpIadd, i32, again, p[0])
				}})
			}
		}
		name := "trapif opposite of " + c.name
		if c.name == "(x < y)" {
			all = append(all, family{name: name, params: c.params, consts: c.consts, build: func(b bld, p, k []val) val {
				b.TrapIf(c.make(b, p, k), abi.TrapUnreachable)
				b.TrapIf(b.Icmp(clif.Sge, i32, p[0], p[1]), abi.TrapIntegerOverflow)
				return p[0]
			}})
		}
	}
	return all
}

// addressPatterns are accesses at sums of a bounded number and a constant, with values that show a carry out of the address.
func addressPatterns() (all []family) {
	load := func(b bld, x, k val, offset uint64) val {
		return b.Load(clif.I64, clif.Full, 0, b.Binary(clif.OpIadd, clif.I32, x, k), offset)
	}
	for _, op := range []clif.Opcode{clif.OpBand, clif.OpUshr, clif.OpUrem} {
		all = append(all, family{name: fmt.Sprintf("load.i64 ((%v x k) + m)", op), params: "n", consts: "nn", build: func(b bld, p, k []val) val {
			return load(b, b.Binary(op, clif.I32, p[0], k[0]), k[1], 3)
		}})
	}
	for _, a := range []clif.Access{clif.U8, clif.U16} {
		all = append(all, family{name: fmt.Sprintf("load.i64 ((load %v x) + m)", a), params: "n", consts: "n", build: func(b bld, p, k []val) val {
			return load(b, b.Load(clif.I32, a, 0, p[0], 0), k[0], 0)
		}})
	}
	all = append(all, family{name: "load.i64 ((x ? y & k : x & m) + 3)", params: "nn", consts: "nn", build: func(b bld, p, k []val) val {
		y, x := b.Binary(clif.OpBand, clif.I32, p[1], k[0]), b.Binary(clif.OpBand, clif.I32, p[0], k[1])
		return load(b, b.Select(clif.I32, p[0], y, x), b.Iconst(clif.I32, 3), 0)
	}})
	return append(all, family{name: "load.i64 (((x + k) >> 1) + m)", params: "n", consts: "nn", build: func(b bld, p, k []val) val {
		return load(b, b.Binary(clif.OpUshr, clif.I32, b.Binary(clif.OpIadd, clif.I32, p[0], k[0]), b.Iconst(clif.I32, 1)), k[1], 0)
	}})
}
