package knownbugs

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

var exhaustive = flag.Bool("exhaustive", false, "round all 2^32 numbers of type f32, not a sample")

// TestDivisors divides by every constant whose division has a special form, or nearly.
func TestDivisors(t *testing.T) { bugcases.Run(t, bugcases.Divisors(cases), check) }

// TestShiftPairs combines two shifts by constants.
func TestShiftPairs(t *testing.T) { bugcases.Run(t, bugcases.ShiftPairs(cases), check) }

// TestOperandPositions runs every operator on corner values: of parameters, of a constant
// and a parameter either way round, of two constants, of one parameter twice, of numbers
// that were loaded, of numbers that were spilled. Folding, special forms and execution agree.
func TestOperandPositions(t *testing.T) {
	all := append(wat.Numeric(2), wat.Numeric(1)...)
	for n, op := range all {
		if !cases.Has(n, 4) {
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			p := op.Params[0]
			x, y := wat.Get(0), wat.Get(1)
			first, second := compare.Corners(p), []uint64{0}
			if len(op.Params) == 2 {
				second = compare.Corners(op.Params[1])
			}
			text := func(operands ...string) string {
				return "(" + op.Name + " " + strings.Join(operands[:len(op.Params)], " ") + ")"
			}
			var pairs [][]uint64
			for _, a := range compare.Product(first, second) {
				pairs = append(pairs, a[:len(op.Params)])
			}
			b.Add(op.Params, op.Result, text(x, y), pairs...)
			// In memory, and on the stack behind a call.
			some := sampled(pairs, 3)
			store := "(" + wat.TypeName(p) + ".store (i32.const 8) " + x + ")"
			load := "(" + wat.TypeName(p) + ".load (i32.const 8))"
			b.Add(op.Params, op.Result, store+text(load, y), some...)
			if len(op.Params) == 2 {
				store2 := "(" + wat.TypeName(op.Params[1]) + ".store (i32.const 27) " + y + ")"
				load2 := "(" + wat.TypeName(op.Params[1]) + ".load offset=20 (i32.const 7))"
				b.Add(op.Params, op.Result, store2+text(x, load2), some...)
				b.Add(op.Params, op.Result, store+store2+text(load, load2), some...)
				b.Add(op.Params, op.Result, "(call $clobber)"+text(x, y), some...)
				if op.Params[0] == op.Params[1] {
					b.Add(string(p), op.Result, text(x, x), compare.Each(first...)...)
				}
			} else {
				b.Add(op.Params, op.Result, "(call $clobber)"+text(x), some...)
			}
			if op.Result == "i" {
				b.Add(op.Params, "i", "(if (result i32) "+text(x, y)+"(then (i32.const 5)) (else (i32.const 6)))", some...)
				b.Add(op.Params, "i", "(block (br_if 0 (i32.eqz "+text(x, y)+")) (return (i32.const 1))) (i32.const 2)", some...)
				b.Add(op.Params, "l", "(select (i64.const 3) (i64.const -4) "+text(x, y)+")", some...)
			}
			for i, k := range sampled(first, 6) {
				c := wat.Const(p, k)
				if len(op.Params) == 1 {
					b.Add("", op.Result, text(c), nil)
					continue
				}
				b.Add(op.Params[1:], op.Result, text(c, x), compare.Each(second...)...)
				for _, k2 := range second {
					if op.Traps() || i%4 == 0 {
						b.Add("", op.Result, text(c, wat.Const(op.Params[1], k2)), nil)
					}
				}
			}
			if len(op.Params) == 2 {
				for i, k := range sampled(second, 6) {
					c := wat.Const(op.Params[1], k)
					b.Add(op.Params[:1], op.Result, text(x, c), compare.Each(first...)...)
					if op.Result == "i" && i%3 == 0 {
						b.Add(op.Params[:1], "d", "(select (f64.const 3) (f64.const -4) (i32.eqz "+text(x, c)+"))", compare.Each(first...)...)
					}
				}
			}
			check(t, compare.Single(`(module (memory 1) (global $g (mut i64) (i64.const 0))
				(func $clobber `+wat.NotInlined+`(global.set $g (i64.add (global.get $g) (i64.const 1))))`+b.String()+")", b.Calls...))
		})
	}
}

// TestWrappedOperands gives every operator, and select in all its forms, numbers of 32 bits that are the lower half of numbers of 64,
// and uses all 64 bits of what comes out: what reads the whole register of an operand, or makes one of a result, must clear its
// upper half.
func TestWrappedOperands(t *testing.T) {
	dirt := []uint64{0xFFFFFFFF_00000000, 0x00000001_00000000, 0x89ABCDEF_00000000}
	// wide is arguments as numbers of 64 bits, those of i32 with something in the upper half.
	wide := func(params string, args [][]uint64) (string, [][]uint64) {
		for n, a := range args {
			for i := range a {
				if params[i] == 'i' {
					a[i] |= dirt[(n+i)%len(dirt)]
				}
			}
		}
		return strings.ReplaceAll(params, "i", "l"), args
	}
	// Ways to come to the lower half: the parameter itself, and operations whose upper half is not clear.
	wraps := []string{"(i32.wrap_i64 (local.get %d))", "(i32.wrap_i64 (i64.add (local.get %d) (i64.const 0x7FFFFFFF00000000)))",
		"(i32.wrap_i64 (i64.mul (local.get %d) (i64.const 0x100000001)))", "(i32.wrap_i64 (i64.xor (local.get %d) (local.get 0)))",
		"(i32.wrap_i64 (i64.shl (local.get %d) (i64.const 16)))", "(i32.wrap_i64 (i64.shr_u (local.get %d) (i64.const 9)))"}
	operand := func(params string, i, way int) string {
		if params[i] != 'i' {
			return wat.Get(i)
		}
		return fmt.Sprintf(wraps[way], i)
	}
	var b compare.Builder
	add := func(params, result, text string, args [][]uint64) {
		params, args = wide(params, args)
		b.Add(params, result, text, args...)
		if result == "i" {
			b.Add(params, "l", wat.ToI64('i', text), args...)
		}
	}
	for n, op := range append(wat.Numeric(2), wat.Numeric(1)...) {
		if !strings.Contains(op.Params, "i") || !cases.Has(n, 3) {
			continue
		}
		for way := range wraps {
			sets := [][]uint64{compare.Corners(op.Params[0])}
			operands := []string{operand(op.Params, 0, way)}
			if len(op.Params) == 2 {
				sets = append(sets, compare.Corners(op.Params[1])[1:9])
				operands = append(operands, operand(op.Params, 1, way))
			}
			add(op.Params, op.Result, "("+op.Name+" "+strings.Join(operands, " ")+")", compare.Product(sets...))
			if op.Params == "ii" {
				add("i", op.Result, "("+op.Name+" "+operands[0]+" (i32.const 3))", compare.Product(sets[0]))
				add("i", op.Result, "("+op.Name+" (i32.const 0x7FFF0000) "+operands[0]+")", compare.Product(sets[0][1:])) // 0 divides nothing
			}
		}
	}
	arms := []string{"%s", "(i32.const 0)", "(i32.const 1)", "(i32.const -1)", "(i32.const 77)", "(i32.add %s (i32.const 1))", "(i32.sub (i32.const 0) %s)",
		"(i32.xor %s (i32.const -1))"}
	args := compare.Product([]uint64{0, 1, 0x80, 0x80000000, 0xFFFFFFFF}, []uint64{0, 7, 0xFFFFFFFF}, []uint64{0, 1})
	for way := range wraps {
		for _, first := range arms {
			for _, second := range arms {
				if !cases.Has(way, 2) {
					continue
				}
				fill := func(arm string, i int) string { return strings.ReplaceAll(arm, "%s", operand("iii", i, way)) }
				clone := make([][]uint64, len(args))
				for i := range args {
					clone[i] = slices.Clone(args[i])
				}
				add("iii", "i", "(select "+fill(first, 0)+" "+fill(second, 1)+" (i32.wrap_i64 (local.get 2)))", clone)
			}
		}
	}
	check(t, compare.Single("(module "+b.String()+")", b.Calls...))
}

// TestOperandAliases has results that go to the place of either operand, operands that are
// needed again after the operator, and operands exchanged around it: no sequence of
// instructions may change what it only reads.
func TestOperandAliases(t *testing.T) {
	var b compare.Builder
	for n, op := range append(wat.Numeric(2), wat.Numeric(1)...) {
		if !cases.Has(n, 3) {
			continue
		}
		x, y := wat.Get(0), wat.Get(1)
		p := op.Params
		second := []uint64{0}
		if len(p) == 2 {
			second = compare.Corners(p[1])[3:9]
		}
		var args [][]uint64
		for _, a := range compare.Product(compare.Corners(p[0])[2:8], second) {
			args = append(args, a[:len(p)])
		}
		e := "(" + op.Name + " " + strings.Join([]string{x, y}[:len(p)], " ") + ")"
		params := strings.Join([]string{x, y}[:len(p)], " ")
		b.Add(p, op.Result+p, e+params, args...)
		b.Add(p, p+op.Result, params+e, args...)
		b.Add(p, op.Result+p+op.Result, e+params+e, args...)
		if op.Result == p[:1] {
			b.Add(p, op.Result+p, "(local.set 0 "+e+")"+x+params, args...)
			b.Add(p, p, "(local.set 0 "+e+") (local.set 0 "+e+")"+params, args...)
		}
		if len(p) == 2 && p[0] == p[1] {
			swapped := "(" + op.Name + " " + y + " " + x + ")"
			b.Add(p, op.Result+op.Result+p, e+swapped+params, args...)
			b.Add(p, op.Result+p, "(local $z "+wat.TypeName(p[0])+") (local.set $z "+x+") (local.set 0 "+y+") (local.set 1 (local.get $z))"+e+params, args...)
			if op.Result == p[:1] {
				b.Add(p, op.Result+p, "(local.set 1 "+e+")"+y+params, args...)
				b.Add(p, op.Result+p, "(local.set 1 "+swapped+")"+y+params, args...)
				b.Add(p, p, "(local $z "+wat.TypeName(p[0])+") (local.set $z "+e+") (local.set 0 "+swapped+") (local.set 1 (local.get $z))"+params, args...)
				// A loop whose parameter is both.
				b.Add(p, p, "(local $n i32) (local.set $n (i32.const 3)) (loop (local.set 0 "+e+") (local.set 1 "+swapped+
					") (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))"+params, args...)
			}
		}
	}
	check(t, compare.Single("(module "+b.String()+")", b.Calls...))
}

// TestOperandsUnderPressure runs every operator while enough other numbers are alive, one more
// each time, that its operands, result and temporaries get the last registers there are: operands
// that are needed no more, and ones that are.
func TestOperandsUnderPressure(t *testing.T) {
	from, to := 6, 18
	if runtime.GOARCH == "arm64" {
		from, to = 18, 34
	}
	for part := range 4 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			for n, op := range append(wat.Numeric(2), wat.Numeric(1)...) {
				if n%4 != part || !cases.Has(n/4, 4) {
					continue
				}
				p := op.Params
				operands := strings.Join([]string{wat.Get(0), wat.Get(1)}[:len(p)], " ")
				e := "(" + op.Name + " " + operands + ")"
				store, made := "", ""
				for i, ty := range []byte(p) {
					n := wat.TypeName(ty)
					neutral, at := "xor", 720
					if ty == 'f' || ty == 'd' { // with the sign of a copy of itself
						neutral, at = "copysign", 728+8*i
						store += fmt.Sprintf("(%s.store offset=%d (i32.const 0) %s)", n, at, wat.Get(i))
					}
					store += fmt.Sprintf("(%s.store offset=%d (i32.const 0) %s)", n, 704+8*i, wat.Get(i))
					made += fmt.Sprintf("(%[1]s.%[2]s (%[1]s.load offset=%[3]d (i32.const 0)) (%[1]s.load offset=%[4]d (i32.const 0)))", n, neutral, 704+8*i, at)
				}
				var args [][]uint64
				for _, k := range []int{1, 5, 12, 15, 17, 19} {
					c := compare.Corners(p[0])
					a := []uint64{c[k%len(c)], 0}
					if len(p) == 2 {
						a[1] = compare.Corners(p[1])[(3*k+1)%len(compare.Corners(p[1]))]
					}
					args = append(args, a[:len(p)])
				}
				for live := from; live <= to; live++ {
					ts := strings.Repeat("ld", live)
					load, first := "", len(p)
					for i := range ts {
						load += fmt.Sprintf("(local.set %d (%s.load offset=%d (i32.const 0)))", first+i, wat.TypeName(ts[i]), 8*i)
					}
					body := wat.Types("local", ts+op.Result) + load + fmt.Sprintf("(local.set %d %s)", first+len(ts), e)
					// Operands that are made last, in whatever registers are left, and needed no more.
					late := wat.Types("local", ts+op.Result) + store + load + fmt.Sprintf("(local.set %d (%s %s))", first+len(ts), op.Name, made)
					b.Add(p, "l"+op.Result, late+wat.Hash(ts, first)+wat.Get(first+len(ts)), args...)
					b.Add(p, "l"+op.Result, body+wat.Hash(ts, first)+wat.Get(first+len(ts)), args...)
					if live%3 == 0 {
						b.Add(p, "l"+op.Result+p, body+wat.Hash(ts, first)+wat.Get(first+len(ts))+operands, args...)
					}
				}
			}
			check(t, compare.Single("(module (memory 1)"+wat.Filled(0, 8*2*40)+b.String()+")", b.Calls...))
		})
	}
}

// TestConstantsThroughBranches has variables that hold constants on some paths of loops and
// branches, in random programs: a value is a constant only if it is on all paths.
func TestConstantsThroughBranches(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 1))
	var b compare.Builder
	const vars = 5
	var block func(depth int) string
	block = func(depth int) string {
		var s strings.Builder
		for range 1 + r.IntN(4) {
			v, w := 2+r.IntN(vars), 2+r.IntN(vars)
			switch n := r.IntN(10); {
			case n < 3:
				fmt.Fprintf(&s, "(local.set %d (i32.const %d))", v, r.IntN(3)-1)
			case n < 4:
				fmt.Fprintf(&s, "(local.set %d (local.get %d))", v, w)
			case n < 6:
				fmt.Fprintf(&s, "(local.set %d (i32.%s (local.get %d) (i32.const %d)))", v, []string{"add", "mul", "and", "xor", "shl"}[r.IntN(5)], w, r.IntN(3))
			case n < 8 && depth > 0:
				fmt.Fprintf(&s, "(if (i32.%s (local.get %d) (i32.const %d)) (then %s) (else %s))", []string{"eq", "lt_s", "and"}[r.IntN(3)], r.IntN(2+vars), r.IntN(3), block(depth-1), block(depth-1))
			case depth > 0:
				// Bounded by the second parameter.
				fmt.Fprintf(&s, "(block (loop (br_if 1 (i32.eqz (local.get 1))) (local.set 1 (i32.sub (local.get 1) (i32.const 1))) %s (br_if 1 (i32.eq (local.get %d) (i32.const 1))) %s (br_if 0 (local.get %d))))",
					block(depth-1), w, block(depth-1), v)
			}
		}
		return s.String()
	}
	for i := range 400 {
		body := "(local i32 i32 i32 i32 i32)"
		for v := range vars {
			if r.IntN(3) > 0 {
				body += fmt.Sprintf("(local.set %d (i32.const %d))", 2+v, r.IntN(3))
			}
		}
		body += block(3)
		if !cases.Has(i, 5) {
			continue
		}
		b.Add("ii", "iiiiii", body+wat.Get(1)+wat.Get(2)+wat.Get(3)+wat.Get(4)+wat.Get(5)+wat.Get(6), compare.Product([]uint64{0, 1, 2}, []uint64{0, 1, 2, 9})...)
	}
	check(t, compare.Single("(module "+b.String()+")", b.Calls...))
}

// TestRounding rounds numbers of type f32 and f64 by every operator that does: the result is
// exactly the number that Go's package math gives. With -exhaustive, it is all of f32.
func TestRounding(t *testing.T) {
	var b compare.Builder
	rules := map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor, "trunc": math.Trunc, "nearest": math.RoundToEven, "sqrt": math.Sqrt}
	names := []string{"ceil", "floor", "trunc", "nearest", "sqrt"}
	for _, op := range names {
		// In place, for n bytes of memory.
		for _, ty := range []struct {
			name string
			size int
		}{{"f32", 4}, {"f64", 8}} {
			fmt.Fprintf(&b, `(func (export "%[1]s.%[2]s") (param $n i32) (loop (local.set $n (i32.sub (local.get $n) (i32.const %[3]d)))
				(%[1]s.store (local.get $n) (%[1]s.%[2]s (%[1]s.load (local.get $n)))) (br_if 0 (local.get $n))))`, ty.name, op, ty.size)
		}
	}
	wasm := assemble(t, `(module (memory (export "memory") 16)`+b.String()+")")
	for _, e := range compare.Natives() {
		inst := start(t, e, wasm)
		mem := memoryOf(t, inst)
		const n = 1 << 18
		low, chunk := uint64(1<<16/8-1), uint64(8)
		switch {
		case *exhaustive:
			low, chunk = 1, 1<<16
		case cases.Sample():
			low, chunk = 1<<16-1, 1
		}
		tried := 0
		for base := uint64(0); base < 1<<16*chunk; base += n {
			if !cases.Has(int(base/n), 1) {
				continue
			}
			bits := func(i uint64) uint32 { // every upper half with chunk different lower halves
				k := base + i
				return uint32(k/chunk)<<16 | uint32(k%chunk*low+k%chunk/7)&0xFFFF
			}
			for _, op := range names {
				for i := range uint64(n) {
					binary.LittleEndian.PutUint32(mem[4*i:], bits(i))
				}
				if _, err := inst.Invoke("f32."+op, []uint64{4 * n}); err != nil {
					t.Fatal(err)
				}
				for i := range uint64(n) {
					in, out := math.Float32frombits(bits(i)), binary.LittleEndian.Uint32(mem[4*i:])
					want := math.Float32bits(float32(rules[op](float64(in))))
					if compare.AnyNaN(clif.F32, uint64(out)) != compare.AnyNaN(clif.F32, uint64(want)) {
						t.Fatalf("%s: f32.%s of %#x is %#x, want %#x", e.Name(), op, bits(i), out, want)
					}
				}
				tried += n
			}
		}
		r := rand.New(rand.NewPCG(48, 2))
		for _, op := range names {
			in := make([]uint64, n/8)
			for i := range in {
				in[i] = r.Uint64()
				if i%2 == 0 { // near where rounding happens
					in[i] = in[i]&^(0x7FF<<52) | uint64(1020+r.IntN(56))<<52
				}
				binary.LittleEndian.PutUint64(mem[8*i:], in[i])
			}
			if _, err := inst.Invoke("f64."+op, []uint64{n}); err != nil {
				t.Fatal(err)
			}
			for i, x := range in {
				out, want := binary.LittleEndian.Uint64(mem[8*i:]), math.Float64bits(rules[op](math.Float64frombits(x)))
				if compare.AnyNaN(clif.F64, out) != compare.AnyNaN(clif.F64, want) {
					t.Fatalf("%s: f64.%s of %#x is %#x, want %#x", e.Name(), op, x, out, want)
				}
			}
			tried += len(in)
		}
		t.Logf("%s: %d numbers", e.Name(), tried)
	}
}

// TestTwoDigits writes the minute of every second of a day as two digits, in the forms that
// compilers give divisions of small numbers: by division, by products of 32 and 64 bits and of
// numbers that were cut to 8 and 16 bits, and from a table in memory.
func TestTwoDigits(t *testing.T) {
	minutes := []string{
		"(i32.rem_u (i32.div_u (local.get $s) (i32.const 60)) (i32.const 60))",
		"(i32.div_u (i32.rem_u (local.get $s) (i32.const 3600)) (i32.const 60))",
		"(i32.wrap_i64 (i64.rem_u (i64.div_u (i64.extend_i32_u (local.get $s)) (i64.const 60)) (i64.const 60)))",
		"(i32.sub (i32.div_s (local.get $s) (i32.const 60)) (i32.mul (i32.const 60) (i32.div_s (local.get $s) (i32.const 3600))))",
		"(i32.wrap_i64 (i64.shr_u (i64.mul (i64.extend_i32_u (i32.rem_u (local.get $s) (i32.const 3600))) (i64.const 0x88888889)) (i64.const 37)))",
	}
	digits := []string{ // $m to two bytes at $p
		`(i32.store8 (local.get $p) (i32.or (i32.div_u (local.get $m) (i32.const 10)) (i32.const 48))) (i32.store8 offset=1 (local.get $p) (i32.or (i32.rem_u (local.get $m) (i32.const 10)) (i32.const 48)))`,
		`(local.set $q (i32.div_u (i32.and (local.get $m) (i32.const 255)) (i32.const 10))) (i32.store8 (local.get $p) (i32.add (local.get $q) (i32.const 48)))
			(i32.store8 offset=1 (local.get $p) (i32.or (i32.and (i32.sub (local.get $m) (i32.mul (local.get $q) (i32.const 10))) (i32.const 255)) (i32.const 48)))`,
		`(local.set $q (i32.shr_u (i32.mul (local.get $m) (i32.const 205)) (i32.const 11))) (i32.store16 (local.get $p) (i32.add (i32.const 0x3030)
			(i32.or (local.get $q) (i32.shl (i32.add (local.get $m) (i32.mul (local.get $q) (i32.const -10))) (i32.const 8)))))`,
		`(i32.store8 (local.get $p) (i32.add (i32.extend8_s (i32.div_s (i32.extend8_s (local.get $m)) (i32.const 10))) (i32.const 48)))
			(i32.store8 offset=1 (local.get $p) (i32.add (i32.extend16_s (i32.rem_s (i32.extend8_s (local.get $m)) (i32.const 10))) (i32.const 48)))`,
		`(i32.store16 align=1 (local.get $p) (i32.load16_u offset=0x40000 align=1 (i32.shl (local.get $m) (i32.const 1))))`,
	}
	const at, day = 0x50000, 86400
	var b compare.Builder
	table := ""
	for i := range 100 {
		table += fmt.Sprintf("%02d", i)
	}
	for _, m := range minutes {
		for _, d := range digits {
			b.Add("", "", fmt.Sprintf(`(local $s i32) (local $m i32) (local $q i32) (local $p i32) (local.set $p (i32.const %d))
				(loop (local.set $m %s) %s (local.set $p (i32.add (local.get $p) (i32.const 2))) (br_if 0 (i32.lt_u (local.tee $s (i32.add (local.get $s) (i32.const 1))) (i32.const %d))))`, at, m, d, day))
		}
	}
	wasm := assemble(t, fmt.Sprintf(`(module (memory (export "memory") 16) (data (i32.const 0x40000) %q) %s)`, table, b.String()))
	var want []byte
	for s := range day {
		want = fmt.Appendf(want, "%02d", s/60%60)
	}
	for _, e := range compare.Natives() {
		inst := start(t, e, wasm)
		mem := memoryOf(t, inst)[at : at+2*day]
		for i := range b.NumFuncs() {
			clear(mem)
			if _, err := inst.Invoke(fmt.Sprintf("f%d", i), nil); err != nil {
				t.Fatal(err)
			}
			for k := range want {
				if mem[k] != want[k] {
					t.Errorf("%s: form %d: second %d is %q, want %q", e.Name(), i, k/2, mem[k&^1:k&^1+2], want[k&^1:k&^1+2])
					break
				}
			}
		}
	}
}
