package oracle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// TestOperators runs every operator on all pairs of corners: on parameters, on
// one parameter used twice, and with operands that are used again afterwards.
func TestOperators(t *testing.T) {
	var b compare.Builder
	for _, op := range wat.Numeric(2) {
		p := op.Params
		sets := compare.Product(corners(p[0]), corners(p[1]))
		b.AddNamed(op.Name, p, op.Result, "("+op.Name+wat.Get(0)+wat.Get(1)+")", sets...)
		few := compare.Product(corners(p[0])[2:8], corners(p[1])[2:8])
		b.Add(p, op.Result+p, "("+op.Name+wat.Get(0)+wat.Get(1)+")"+wat.Get(0)+wat.Get(1), few...)
		b.Add(p, p+op.Result, wat.Get(1)+wat.Get(0)+"("+op.Name+wat.Get(0)+wat.Get(1)+")", few...)
		if op.Result == p[:1] {
			b.Add(p, op.Result, "(local.set 0 ("+op.Name+wat.Get(1)+wat.Get(0)+"))"+wat.Get(0), few...)
		}
		b.Add(p[:1], op.Result, "("+op.Name+wat.Get(0)+wat.Get(0)+")", compare.Each(corners(p[0])...)...)
		b.Add(p[:1], op.Result+p[:1], "("+op.Name+wat.Get(0)+wat.Get(0)+")"+wat.Get(0), compare.Each(corners(p[0])[:5]...)...)
		if op.Result == "i" && p != "ii" || strings.HasPrefix(op.Name, "i32.") && op.Result == "i" {
			// As a condition, in all ways, and negated.
			e := "(" + op.Name + wat.Get(0) + wat.Get(1) + ")"
			b.Add(p, "i", "(if (result i32) "+e+"(then (i32.const 5)) (else (i32.const 6)))", sets...)
			b.Add(p, "i", "(block (br_if 0 "+e+") (return (i32.const 1))) (i32.const 2)", few...)
			b.Add(p, "i", "(block (br_if 0 (i32.eqz "+e+")) (return (i32.const 1))) (i32.const 2)", sets...)
			b.Add(p, "l", "(select (i64.const 3) (i64.const -4) "+e+")", sets...)
			b.Add(p, p[:1], "(select "+wat.Get(0)+wat.Get(1)+e+")", few...)
			b.Add(p, "d", "(select (f64.const 3) (f64.const -4) (i32.eqz "+e+"))", sets...)
			b.Add(p, "i", "(i32.add "+e+"(i32.eqz (i32.eqz "+e+")))", few...)
			b.Add(p, "i", "(i32.and (i32.const 1) (i32.eq (i32.const 0) "+e+"))", few...)
			b.Add(p, "i", "(i32.ne (i32.const 0) (i32.eq (i32.const 1) "+e+"))", few...)
		}
	}
	for _, op := range wat.Numeric(1) {
		sets := compare.Each(corners(op.Params[0])...)
		b.AddNamed(op.Name, op.Params, op.Result, "("+op.Name+wat.Get(0)+")", sets...)
		b.Add(op.Params, op.Result+op.Params, "("+op.Name+wat.Get(0)+")"+wat.Get(0), sets...)
		for _, outer := range wat.Numeric(1) {
			if outer.Params == op.Result {
				b.Add(op.Params, outer.Result, "("+outer.Name+"("+op.Name+wat.Get(0)+"))", sets...)
			}
		}
	}
	checkNative(t, compare.Single("(module "+b.String()+")", b.Calls...))
}

// TestExactBits runs operators that must keep the bits of NaNs.
func TestExactBits(t *testing.T) {
	var b compare.Builder
	b.WriteString(`(memory 1) (global $f (mut f32) (f32.const 0)) (global $d (mut f64) (f64.const 0))
		(func $id_f (param f32) (result f32) (local.get 0)) (func $id_d (param f64) (result f64) (local.get 0))`)
	for _, t := range []byte("fd") {
		n := wat.TypeName(t)
		signs := map[byte][]uint64{'f': {0x7F800001, 0x80000000, 0xFFC12345, 0}, 'd': {0x7FF0000000000001, 1 << 63, 0xFFF8123456789ABC, 0x36A0000000000000}}
		sets := compare.Product(corners(t), signs[t])
		x, y := wat.Get(0), wat.Get(1)
		two := string([]byte{t, t})
		for _, e := range []string{"(T.neg " + x + ")", "(T.abs " + x + ")", "(T.copysign " + x + y + ")", "(T.neg (T.abs " + x + "))",
			"(T.copysign " + x + "(T.neg " + y + "))", "(T.neg (T.neg " + x + "))", "(T.abs (T.copysign " + x + y + "))",
			"(T.store (i32.const 3) " + x + ") (T.load (i32.const 3))", "(select " + x + y + "(T.eq " + x + x + "))",
			"(global.set $C " + x + ") (global.get $C)", "(call $id_C " + x + ")",
			"(block (result T) " + x + "(br_if 0 (T.lt " + x + y + ")) drop " + y + ")"} {
			b.Add(two, string(t), strings.NewReplacer("T.", n+".", " T)", " "+n+")", "$C", "$"+string(t), "$id_C", "$id_"+string(t)).Replace(e), sets...)
		}
		for _, c := range corners(t) {
			b.Add("", string(t), wat.Const(t, c), nil)
			b.Add("", string(t), reinterpreted(t, c), nil)
			b.Add("", string(t), fmt.Sprintf("(%s.copysign %s %s)", n, wat.Const(t, c), wat.Const(t, c^1<<31^1<<63)), nil)
			b.Add("", string(t), fmt.Sprintf("(%s.neg %s)", n, wat.Const(t, c)), nil)
			b.Add(string(t), string(t), fmt.Sprintf("(%s.copysign %s (local.get 0))", n, wat.Const(t, c)), compare.Each(corners(t)...)...)
			b.Add(string(t), string(t), fmt.Sprintf("(%s.copysign (local.get 0) %s)", n, wat.Const(t, c)), compare.Each(corners(t)...)...)
		}
	}
	c := compare.Single("(module "+b.String()+")", b.Calls...)
	c.ExactNaNs = true
	check(t, c)
}

// TestConstants evaluates operators on constants, and on a constant and a
// parameter either way round: folding and special cases give what execution gives.
func TestConstants(t *testing.T) {
	for _, op := range wat.Numeric(2) {
		t.Run(op.Name, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			b.WriteString(oneNaNFuncs)
			p := op.Params[:1]
			divides := op.Params[0] != 'f' && op.Params[0] != 'd' && (strings.Contains(op.Name, "div") || strings.Contains(op.Name, "rem"))
			args := compare.Each(corners(p[0])...)
			for i, k := range corners(p[0]) {
				c := wat.Const(p[0], k)
				b.Add(p, op.Result, "("+op.Name+wat.Get(0)+c+")", args...)
				b.Add(p, op.Result, "("+op.Name+c+wat.Get(0)+")", args...)
				if op.Result == "i" {
					b.Add(p, "i", "(if (result i32) ("+op.Name+wat.Get(0)+c+") (then (i32.const 1)) (else (i32.const 2)))", args...)
					b.Add(p, "i", "(select (i32.const 1) (i32.const 2) ("+op.Name+c+wat.Get(0)+"))", args[:8]...)
				}
				// Nested: with two constants.
				if op.Result == p[:1] && !divides {
					c2 := wat.Const(p[0], corners(p[0])[(i*7+3)%len(corners(p[0]))])
					b.Add(p, op.Result, "("+op.Name+"("+op.Name+wat.Get(0)+c+")"+c2+")", args...)
					b.Add(p, op.Result, "("+op.Name+c2+"("+op.Name+c+wat.Get(0)+"))", args...)
				}
				if divides {
					for _, k2 := range corners(p[0]) {
						b.Add("", op.Result, "("+op.Name+c+wat.Const(p[0], k2)+")", nil)
					}
					continue
				}
				hash := "(i64.const 1)"
				for _, k2 := range corners(p[0]) {
					e := oneNaN(op.Result[0], "("+op.Name+c+wat.Const(p[0], k2)+")")
					hash = "(i64.xor (i64.rotl (i64.mul " + hash + "(i64.const 31)) (i64.const 5)) " + e + ")"
				}
				b.AddNamed(fmt.Sprintf("constants %#x", k), "", "l", hash, nil)
			}
			check(t, compare.Single("(module "+b.String()+")", b.Calls...))
		})
	}
	t.Run("unary", func(t *testing.T) {
		var b compare.Builder
		for _, op := range wat.Numeric(1) {
			for _, k := range corners(op.Params[0]) {
				b.Add("", op.Result, "("+op.Name+wat.Const(op.Params[0], k)+")", nil)
				b.Add("", op.Result, "("+op.Name+reinterpreted(op.Params[0], k)+")", nil)
			}
		}
		check(t, compare.Single("(module "+b.String()+")", b.Calls...))
	})
}

// TestDivisors divides by every constant whose division has a special form, or nearly.
func TestDivisors(t *testing.T) { bugcases.Run(t, bugcases.Divisors(bugcases.All()), check) }

// TestShiftPairs combines two shifts by constants.
func TestShiftPairs(t *testing.T) { bugcases.Run(t, bugcases.ShiftPairs(bugcases.All()), check) }

// TestIdentities evaluates expressions that mid-ends and lowering have rules for.
func TestIdentities(t *testing.T) {
	var b compare.Builder
	for _, p := range []byte("il") {
		n, two := wat.TypeName(p), string([]byte{p, p})
		sets := compare.Product(corners(p), corners(p)[:12])
		for _, e := range []string{
			"(T.sub (T.add x y) y)", "(T.add (T.sub x y) y)", "(T.sub x x)", "(T.xor x x)", "(T.and x (T.xor x (T.const -1)))", "(T.or x (T.xor x (T.const -1)))",
			"(T.xor (T.xor x y) y)", "(T.sub (T.const 0) (T.sub x y))", "(T.sub (T.const 0) x)", "(T.add x (T.sub (T.const 0) y))", "(T.and (T.or x y) x)",
			"(T.or (T.and x y) x)", "(T.and x (T.sub (T.const 0) x))", "(T.and x (T.sub x (T.const 1)))", "(T.xor x (T.sub x (T.const 1)))",
			"(T.and (T.xor x (T.const -1)) y)", "(T.and (T.xor y (T.const -1)) x)", "(T.mul x (T.const -1))", "(T.mul (T.const 3) x)", "(T.mul x (T.const 5))",
			"(T.mul x (T.const 9))", "(T.mul (T.mul x (T.const 3)) (T.const 7))", "(T.add (T.mul x (T.const 4)) y)", "(T.add (T.shl x (T.const 3)) (T.add y (T.const 100)))",
			"(T.shl (T.shl x (T.const 31)) (T.const 31))", "(T.shr_u (T.shl x (T.const 8)) (T.const 8))", "(T.shr_s (T.shl x (T.const 24)) (T.const 24))",
			"(T.shr_s (T.shl x (T.const 16)) (T.const 16))", "(T.and (T.shr_u x (T.const 8)) (T.const 255))", "(T.and x (T.const 0xffff))", "(T.and (T.and x (T.const 0xff)) (T.const 0xfff0))",
			"(T.shl (T.const 1) y)", "(T.and x (T.shl (T.const 1) y))", "(T.or x (T.shl (T.const 1) y))", "(T.xor x (T.shl (T.const 1) y))", "(T.and x (T.rotl (T.const -2) y))",
			"(T.shl x (T.and y (T.const 31)))", "(T.shr_u x (T.sub (T.const 0) y))", "(T.shl x (T.sub (T.const 64) y))", "(T.or (T.shl x y) (T.shr_u x (T.sub (T.const 32) y)))",
			"(T.or (T.shl x y) (T.shr_u x (T.sub (T.const 64) y)))", "(T.or (T.shl x y) (T.shr_u x (T.sub (T.const 0) y)))", "(T.rotl (T.rotr x y) y)", "(T.rotl (T.rotl x (T.const 3)) (T.const 63))",
			"(T.ctz (T.or x (T.const 256)))", "(T.clz (T.or x (T.const 1)))", "(T.popcnt (T.and x (T.const 1)))", "(T.extend8_s (T.and x (T.const 0xff)))", "(T.and (T.extend8_s x) (T.const 0xff))",
			"(T.extend16_s (T.extend8_s x))", "(T.extend8_s (T.extend16_s x))", "(T.sub (T.xor x (T.shr_s x (T.const 31))) (T.shr_s x (T.const 31)))",
			"(select x y (T.lt_s x y))", "(select x y (T.gt_u x y))", "(select x (T.sub (T.const 0) x) (T.ge_s x (T.const 0)))", "(select x y (T.eqz (T.and x y)))", "(select x x (T.eqz y))",
			"(select x y (T.eq (T.and x (T.const 8)) (T.const 8)))", "(select x y (T.ne (T.and x (T.shl (T.const 1) y)) (T.const 0)))",
			"(T.div_u x (T.or y (T.const 1)))", "(T.sub x (T.mul (T.div_u x (T.or y (T.const 1))) (T.or y (T.const 1))))", "(T.rem_s x (T.or y (T.const 2)))", "(T.div_s (T.sub (T.const 0) x) (T.const 5))",
			"(T.rem_u (T.and x (T.const 0xff)) (T.const 16))", "(T.div_u (T.shr_u x (T.const 1)) (T.const 2))", "(T.shr_u (T.div_u x (T.const 4)) (T.const 4))",
		} {
			b.AddNamed(n+" "+e, two, string(p), strings.NewReplacer("T", n, "x y", wat.Get(0)+wat.Get(1), " x", " "+wat.Get(0), " y", " "+wat.Get(1)).Replace(e), sets...)
		}
		for _, e := range []string{"(T.eqz (T.sub x y))", "(T.eqz (T.xor x y))", "(T.eqz (T.and x y))", "(T.lt_u (T.sub x (T.const 10)) (T.const 5))", "(T.lt_s (T.add x (T.const 10)) (T.const 5))",
			"(i32.eqz (T.lt_s x y))", "(i32.and (T.ge_s x (T.const 3)) (T.lt_s x y))", "(i32.or (T.lt_u x y) (T.eq x y))", "(T.lt_u x (T.const 1))", "(T.ge_u x (T.const 1))", "(T.lt_s x (T.const 0))",
			"(T.gt_s x (T.const -1))", "(T.le_u x (T.const 0))", "(T.lt_u (T.add x y) x)", "(T.eq (T.and x (T.const 1)) (T.const 1))", "(T.gt_u (T.const 5) x)", "(T.eq (T.extend8_s x) (T.const -1))",
			"(T.ne (T.and x (T.const 0x80)) (T.const 0))", "(T.eq (T.shr_u x (T.const 31)) (T.const 1))", "(T.eq (T.sub x y) (T.const 0))", "(T.lt_s (T.sub x y) (T.const 0))", "(T.ge_s (T.and x y) (T.const 0))",
			"(T.gt_s (T.and x y) (T.const 0))", "(T.lt_u (T.and x y) (T.const 1))", "(T.le_s (T.or x y) (T.const 0))", "(T.lt_s (T.add x y) (T.const 0))"} {
			w := strings.NewReplacer("T", n, "x y", wat.Get(0)+wat.Get(1), " x", " "+wat.Get(0), " y", " "+wat.Get(1)).Replace(e)
			b.AddNamed(n+" "+e, two, "i", w, sets...)
			b.AddNamed(n+" if "+e, two, "i", "(if (result i32) "+w+"(then (i32.const 1)) (else (i32.const 2)))", sets...)
			b.AddNamed(n+" select "+e, two, "l", "(select (i64.const 1) (i64.const 2) "+w+")", sets...)
		}
	}
	for _, e := range []string{"(i64.extend_i32_u (i32.wrap_i64 x))", "(i64.extend_i32_s (i32.wrap_i64 x))", "(i64.and x (i64.const 0xffffffff))", "(i64.shr_u (i64.shl x (i64.const 32)) (i64.const 32))",
		"(i64.shr_s (i64.shl x (i64.const 32)) (i64.const 32))", "(i64.extend_i32_u (i32.shr_u (i32.wrap_i64 x) (i32.const 1)))", "(i64.extend_i32_s (i32.extend8_s (i32.wrap_i64 x)))",
		"(i64.extend_i32_u (i32.extend16_s (i32.wrap_i64 x)))", "(i64.add (i64.extend_i32_u (i32.wrap_i64 x)) y)", "(i64.add (i64.extend_i32_u (i32.add (i32.wrap_i64 x) (i32.wrap_i64 y))) y)",
		"(i64.mul (i64.extend_i32_u (i32.wrap_i64 x)) (i64.extend_i32_u (i32.wrap_i64 y)))", "(i64.mul (i64.extend_i32_s (i32.wrap_i64 x)) (i64.extend_i32_s (i32.wrap_i64 y)))",
		"(i64.extend_i32_u (i32.wrap_i64 (i64.shr_u x (i64.const 32))))", "(i64.extend_i32_u (i32.wrap_i64 (i64.add x y)))", "(i64.extend_i32_u (i32.mul (i32.wrap_i64 x) (i32.wrap_i64 y)))",
		"(i64.extend_i32_u (i64.eqz (i64.and x (i64.const 0xffffffff))))", "(i64.extend_i32_u (i32.eqz (i32.wrap_i64 x)))", "(i64.shl (i64.extend_i32_u (i32.wrap_i64 x)) (i64.const 33))"} {
		b.AddNamed(e, "ll", "l", strings.NewReplacer("x y", wat.Get(0)+wat.Get(1), " x", " "+wat.Get(0), " y", " "+wat.Get(1)).Replace(strings.ReplaceAll(e, "0xffffffff", "4294967295")),
			compare.Product(corners('l'), corners('l')[:8])...)
	}
	for _, p := range []byte("fd") {
		n, two := wat.TypeName(p), string([]byte{p, p})
		for _, e := range []string{"(T.add x (T.const 0))", "(T.add x (T.const -0))", "(T.sub x (T.const 0))", "(T.sub x (T.const -0))", "(T.sub (T.const 0) x)", "(T.sub (T.const -0) x)", "(T.mul x (T.const 1))", "(T.mul x (T.const -1))",
			"(T.div x (T.const 1))", "(T.mul x (T.const 0))", "(T.mul x (T.const 2))", "(T.div x (T.const 2))", "(T.sub x x)", "(T.div x x)", "(T.neg (T.sub x y))", "(T.sub x (T.neg y))", "(T.mul (T.neg x) (T.neg y))",
			"(T.min x x)", "(T.max (T.min x y) y)", "(T.sqrt (T.mul x x))", "(T.abs (T.neg x))", "(T.trunc (T.floor x))", "(T.add (T.add x y) (T.neg y))", "(select x y (T.lt x y))", "(select y x (T.lt x y))",
			"(select x y (T.gt x y))", "(select x y (T.le y x))", "(select x y (T.ne x x))", "(select (T.neg x) x (T.lt x (T.const 0)))"} {
			b.AddNamed(n+" "+e, two, string(p), strings.NewReplacer("T", n, "x y", wat.Get(0)+wat.Get(1), " x", " "+wat.Get(0), " y", " "+wat.Get(1)).Replace(e), compare.Product(corners(p), corners(p))...)
		}
		for _, e := range []string{"(i32.eqz (T.lt x y))", "(i32.eqz (T.ge x y))", "(i32.and (T.eq x x) (T.eq y y))", "(i32.or (T.lt x y) (T.gt x y))", "(i32.eqz (i32.or (T.ne x x) (T.ne x y)))", "(i32.eqz (i32.eqz (T.le x y)))"} {
			w := strings.NewReplacer("T", n, "x y", wat.Get(0)+wat.Get(1), " x", " "+wat.Get(0), " y", " "+wat.Get(1)).Replace(e)
			b.AddNamed(n+" "+e, two, "i", w, compare.Product(corners(p), corners(p))...)
			b.AddNamed(n+" if "+e, two, "i", "(if (result i32) "+w+"(then (i32.const 1)) (else (i32.const 2)))", compare.Product(corners(p), corners(p))...)
		}
	}
	check(t, compare.Single("(module "+b.String()+")", b.Calls...))
}
