package knownbugs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// mixer is the body of a function that runs through many expressions: $h depends on the value of each.
type mixer struct {
	strings.Builder
	n int
}

// mix lets e, of type t, count.
func (m *mixer) mix(t byte, e string) {
	m.n++
	fmt.Fprintf(m, "(local.set $h (i64.xor (i64.rotl (i64.mul (local.get $h) (i64.const 31)) (i64.const 5)) %s))\n", wat.ToI64(t, e))
}

// mixerLocals are those of every mixer: $h, and two for values.
const mixerLocals = "(local $h i64) (local $i i32) (local $l i64)"

// conditions are those of comparisons of integers.
var conditions = []string{"eq", "ne", "lt_s", "lt_u", "gt_s", "gt_u", "le_s", "le_u", "ge_s", "ge_u"}

// boundaries are numbers at the ends of the ranges of immediates and of parts of registers.
func boundaries(t byte) []uint64 {
	out := []uint64{0, 1, 0xFFFFFFFF, 0x10, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000}
	if t == 'i' {
		return append(out, 0xFFFFFF80, 0xFFFF8000, 0xFFFFFF7F, 0xFFFF0000, 0xFFFFFF00)
	}
	return append(out, 0x100000000, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF80, 0xFFFFFFFFFFFF8000, 0xFFFFFFFFFFFFFF00, 0xFFFFFFFF80000000,
		0xFFFFFFFF7FFFFFFF, 0xFFFFFFFF00000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000)
}

// foldArgs are an address, the number there, and two more operands.
func foldArgs() (out [][]uint64) {
	stored := append(compare.Corners('l'), 0x7F7F7F7F7F7F7F7F, 0x8080808080808080, 0xFFFFFFFFFFFFFF7F, 0x7FFF7FFF7FFF7FFF, 0xC8, 0x1234567890ABCDEF, 0xFFFF0000FFFF0000)
	for n, x := range stored {
		y, z := compare.Corners('i')[n%20], compare.Corners('l')[(7*n+3)%20]
		out = append(out, []uint64{8, x, y, z}, []uint64{65528, x, z & 0xFFFFFFFF, x})
	}
	return out
}

// integerLoads are the loads of an integer.
func integerLoads() (out []wat.Operator) {
	loads, _ := wat.Accesses()
	for _, l := range loads {
		if l.Result == "i" || l.Result == "l" {
			out = append(out, l)
		}
	}
	return out
}

// foldModule runs functions of a memory.
func foldModule(t *testing.T, b *compare.Builder) {
	t.Helper()
	c := compare.Single(`(module (memory (export "memory") 1)`+b.String()+")", b.Calls...)
	check(t, c)
}

// TestFoldedComparisons compares what was just loaded, or a part of its bits, with constants at the ends of the ranges of
// immediates and of narrow numbers, under all conditions, for a value, a choice and a branch.
func TestFoldedComparisons(t *testing.T) {
	args := foldArgs()
	for n, l := range integerLoads() {
		t.Run(l.Name, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			ty := l.Result[0]
			for i, cc := range conditions {
				if !cases.Has(n+i, 4) {
					continue
				}
				var m mixer
				m.WriteString(mixerLocals + "(i64.store (local.get 0) (local.get 1))")
				use := func(c string) {
					m.mix('i', c)
					m.mix('i', "(i32.eqz "+c+")")
					m.mix('l', "(select (i64.const 3) (local.get 3) "+c+")")
					m.mix('l', "(if (result i64) "+c+" (then (i64.const 3)) (else (local.get 3)))")
					m.mix('l', "(if (result i64) (i32.eqz "+c+") (then (i64.const 3)) (else (i64.const 5)))")
				}
				load := "(" + l.Name + " (local.get 0))"
				for _, k := range boundaries(ty) {
					c := wat.Const(ty, k)
					op := "(" + wat.TypeName(ty) + "." + cc + " "
					use(op + load + c + ")")
					m.mix('i', op+c+load+")")
					use(op + "(" + wat.TypeName(ty) + ".and " + load + c + ")" + wat.Const(ty, 0) + ")")
				}
				other := map[byte]string{'i': wat.Get(2), 'l': wat.Get(3)}[ty]
				use("(" + wat.TypeName(ty) + "." + cc + load + other + ")")
				use("(" + wat.TypeName(ty) + "." + cc + other + load + ")")
				use("(" + wat.TypeName(ty) + "." + cc + "(" + wat.TypeName(ty) + ".and " + load + other + ")" + wat.Const(ty, 0) + ")")
				b.AddNamed(l.Name+" "+cc, "ilil", "l", m.String()+"(local.get $h)", sampled(args, 3)...)
			}
			foldModule(t, &b)
		})
	}
}

// TestFoldedMasks compares parts of a parameter's bits with zero, as TestFoldedComparisons does of what was loaded; the parameter of 32
// bits is the lower half of one of 64.
func TestFoldedMasks(t *testing.T) {
	args := foldArgs()
	var b compare.Builder
	for _, ty := range []byte("il") {
		for i, cc := range conditions {
			if !cases.Has(i, 3) {
				continue
			}
			var m mixer
			m.WriteString(mixerLocals)
			n := wat.TypeName(ty)
			for _, x := range map[byte][]string{'i': {wat.Get(2), "(i32.wrap_i64 (local.get 1))"}, 'l': {wat.Get(1), "(i64.extend_i32_u (local.get 2))", "(i64.extend_i32_s (local.get 2))"}}[ty] {
				for _, k := range boundaries(ty) {
					c := fmt.Sprintf("(%[1]s.%[2]s (%[1]s.and %[3]s %[4]s) (%[1]s.const 0))", n, cc, x, wat.Const(ty, k))
					m.mix('i', c)
					m.mix('l', "(select (local.get 1) (i64.const 7) "+c+")")
					m.mix('l', "(if (result i64) "+c+" (then (i64.const 3)) (else (i64.const 5)))")
					m.mix('i', fmt.Sprintf("(%s.%s %s %s)", n, cc, x, wat.Const(ty, k)))
					m.mix('i', fmt.Sprintf("(%s.%s %s %s)", n, cc, wat.Const(ty, k), x))
				}
			}
			b.AddNamed(n+" "+cc, "ilil", "l", m.String()+"(local.get $h)", args...)
		}
	}
	foldModule(t, &b)
}

// TestFoldedStores changes numbers in memory in place: by all operators, with constants and other operands, with what may be folded and with
// what lies between load and store.
func TestFoldedStores(t *testing.T) {
	_, stores := wat.Accesses()
	args := foldArgs()
	for n, s := range stores {
		ty := s.Params[1]
		if ty != 'i' && ty != 'l' {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			other := map[byte]string{'i': wat.Get(2), 'l': wat.Get(3)}[ty]
			local := map[byte]string{'i': "$i", 'l': "$l"}[ty]
			for i, l := range integerLoads() {
				if l.Result[0] != ty || l.Width != s.Width || !cases.Has(n+i, 3) {
					continue
				}
				for _, op := range []string{"add", "sub", "and", "or", "xor", "mul", "shl", "shr_u", "rotl"} {
					var m mixer
					m.WriteString(mixerLocals)
					o := "(" + wat.TypeName(ty) + "." + op + " "
					load := "(" + l.Name + " offset=2 (local.get 0))"
					put := "(" + s.Name + " offset=2 (local.get 0) "
					change := func(text string) {
						m.WriteString("(i64.store (local.get 0) (local.get 1))" + text)
						m.mix('l', "(i64.load (local.get 0))")
						m.mix('l', "(i64.load offset=8 (local.get 0))")
					}
					for _, k := range boundaries(ty) {
						c := wat.Const(ty, k)
						change(put + o + load + c + "))")
						if k%3 == 0 {
							change(put + o + c + load + "))")
						}
					}
					change(put + o + load + other + "))")
					change(put + o + other + load + "))")
					change(put + o + load + load + "))")
					change(put + o + load + "(" + l.Name + " offset=1 (local.get 0))))")
					change(put + o + "(" + l.Name + " offset=1 (local.get 0))" + load + "))")
					change(put + o + load + "(" + wat.TypeName(ty) + ".load8_s offset=3 (local.get 0))))")
					change("(" + s.Name + " offset=1 (local.get 0) " + o + load + other + "))")
					set := "(local.set " + local + " "
					value := "(local.get " + local + ")"
					for _, between := range []string{"(i32.store8 offset=3 (local.get 0) (i32.const 77))", "(i64.store offset=6 (local.get 0) (local.get 3))",
						"(memory.fill (local.get 0) (i32.const 3) (i32.const 4))", "(drop (memory.grow (i32.const 0)))", "(drop (i32.load8_u offset=1 (local.get 0)))"} {
						change(set + load + ")" + between + put + o + value + other + "))")
						change(set + o + load + other + "))" + between + put + value + ")")
					}
					change(set + o + load + other + "))" + put + value + ")" + "(" + s.Name + " offset=8 (local.get 0)" + value + ")")
					change(set + load + ")" + put + o + value + other + "))" + "(" + s.Name + " offset=8 (local.get 0)" + value + ")")
					b.AddNamed(s.Name+" "+l.Name+" "+op, "ilil", "l", m.String()+"(local.get $h)", [][]uint64{{8, 0x8899AABBCCDDEEFF, 3, 5}}...)
					for _, a := range sampled(args, 4) {
						b.Calls = append(b.Calls, compare.Call{Func: s.Name + " " + l.Name + " " + op, Args: []uint64{a[0] % 65500, a[1], a[2], a[3]}})
					}
				}
			}
			foldModule(t, &b)
		})
	}
}

// TestFoldedBranches branches on what an operator has computed: on the number, and on its comparison with zero, where the number, its operands
// or neither are needed behind the branch.
func TestFoldedBranches(t *testing.T) {
	args := foldArgs()
	for _, ty := range []byte("il") {
		for _, op := range []string{"add", "sub", "and", "or", "xor", "mul", "shl", "shr_u", "shr_s"} {
			t.Run(wat.TypeName(ty)+" "+op, func(t *testing.T) {
				t.Parallel()
				var b compare.Builder
				n := wat.TypeName(ty)
				xs := map[byte][]string{'i': {wat.Get(2), "(i32.wrap_i64 (local.get 1))"}, 'l': {wat.Get(1), "(i64.extend_i32_u (local.get 2))"}}[ty]
				ys := map[byte][]string{'i': {wat.Get(2), "(i32.wrap_i64 (local.get 3))", "(i32.load (local.get 0))", "(i32.load16_s (local.get 0))"},
					'l': {wat.Get(3), "(i64.extend_i32_s (local.get 2))", "(i64.load (local.get 0))", "(i64.load32_u (local.get 0))"}}[ty]
				for _, k := range boundaries(ty) {
					ys = append(ys, wat.Const(ty, k))
				}
				local := map[byte]string{'i': "$i", 'l': "$l"}[ty]
				value := "(local.get " + local + ")"
				for i, cc := range []string{"", "eqz", "ne", "lt_s", "ge_s", "gt_s", "le_s", "gt_u", "le_u"} {
					if !cases.Has(i, 3) {
						continue
					}
					var m mixer
					m.WriteString(mixerLocals + "(i64.store (local.get 0) (local.get 1))")
					cond := "(" + n + "." + cc + value + wat.Const(ty, 0) + ")"
					switch {
					case cc == "eqz":
						cond = "(" + n + ".eqz" + value + ")"
					case cc == "" && ty == 'i':
						cond = value
					case cc == "":
						cond = "(i64.eqz " + value + ")"
					}
					for _, x := range xs {
						for _, y := range ys {
							for _, e := range []string{"(" + n + "." + op + x + y + ")", "(" + n + "." + op + y + x + ")"} {
								set := "(local.set " + local + e + ")"
								m.WriteString(set)
								m.mix('l', "(if (result i64) "+cond+" (then "+wat.ToI64(ty, value)+") (else (i64.const 5)))")
								m.WriteString(set)
								m.mix('l', "(if (result i64) "+cond+" (then "+wat.ToI64(ty, x)+") (else "+wat.ToI64(ty, y)+"))")
								m.mix(ty, value)
								m.mix('l', "(if (result i64) "+strings.ReplaceAll(cond, value, e)+" (then (i64.const 3)) (else "+wat.ToI64(ty, x)+"))")
							}
						}
					}
					b.AddNamed(n+" "+op+" "+cc, "ilil", "l", m.String()+"(local.get $h)", sampled(args, 4)...)
				}
				foldModule(t, &b)
			})
		}
	}
}

// TestFoldedConversions has chains of three operators with one operand, the first of them on a parameter or on what was loaded.
func TestFoldedConversions(t *testing.T) {
	var ops []wat.Operator
	for _, op := range wat.Numeric(1) {
		if !op.Traps() || strings.Contains(op.Name, "sat") {
			ops = append(ops, op)
		}
	}
	loads, _ := wat.Accesses()
	type source struct {
		t    byte
		text string
	}
	sources := []source{{'i', wat.Get(2)}, {'l', wat.Get(1)}}
	for _, l := range loads {
		sources = append(sources, source{l.Result[0], "(" + l.Name + " (local.get 0))"})
	}
	args := foldArgs()
	for i, s := range sources {
		if !cases.Has(i, 4) {
			continue
		}
		t.Run(s.text, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			for _, first := range ops {
				if first.Params[0] != s.t {
					continue
				}
				var m mixer
				m.WriteString(mixerLocals + "(i64.store (local.get 0) (local.get 1))")
				// A NaN may be any: it does not count.
				use := func(ty byte, e string) {
					switch ty {
					case 'f', 'd':
						n := wat.TypeName(ty)
						m.mix('i', fmt.Sprintf("(%[1]s.lt %[2]s (%[1]s.const 0x1p31))", n, e))
						m.mix('l', fmt.Sprintf("(i64.trunc_sat_%s_s %s)", n, e))
					default:
						m.mix(ty, e)
					}
				}
				// chain goes on with more operators behind e, of type ty.
				var chain func(ty byte, e string, more int)
				chain = func(ty byte, e string, more int) {
					use(ty, e)
					if more == 0 || ty == 'f' || ty == 'd' {
						return
					}
					for _, op := range ops {
						if op.Params[0] == ty {
							chain(op.Result[0], "("+op.Name+e+")", more-1)
						}
					}
				}
				chain(first.Result[0], "("+first.Name+s.text+")", 2)
				b.AddNamed(first.Name, "ilil", "l", m.String()+"(local.get $h)", sampled(args, 2)...)
			}
			foldModule(t, &b)
		})
	}
}
