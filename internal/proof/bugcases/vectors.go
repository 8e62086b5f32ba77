package bugcases

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// Functions of the cases here take and return vectors as two halves, so that each judge can call them. The letters of two vectors are "llll".

// cornerVectors have lanes of each width that operators treat differently: integers at their limits, fractions, infinities, zeros, NaNs.
var cornerVectors = []wat.Vector{
	{0x8182838485868788, 0x0102030405060708}, {0x7F80FF0001FE7E81, 0x80007FFFFFFF0001}, {0x7FFFFFFF80000000, 0x8000000000000000},
	{0xC02000003F800000, 0x3FF8000000000000}, {0, ^uint64(0)}, {^uint64(0), 0}, {0x7F800001FFC12345, 0x7FF0000000000001},
	{0x7F80000080000000, 0xFFF0000000000000}, {0x4F0000015F000000, 0x43E0000000000001}, {0x0001000200030004, 0x0000000100000000},
}

// vectorPairs are the halves of two vectors, as arguments.
func vectorPairs() (out [][]uint64) {
	for i, a := range cornerVectors {
		b := cornerVectors[(i*3+1)%len(cornerVectors)]
		out = append(out, []uint64{a[0], a[1], b[0], b[1]})
	}
	return out
}

// single are the first halves of each list: one vector.
func single(pairs [][]uint64) (out [][]uint64) {
	for _, p := range pairs {
		out = append(out, p[:2])
	}
	return out
}

// canonicalFunctions make all NaNs of a vector one, since an operator may give any.
const canonicalFunctions = `(func $f32x4 (param v128) (result v128) (v128.bitselect (local.get 0) (v128.const f32x4 nan nan nan nan) (f32x4.eq (local.get 0) (local.get 0))))
	(func $f64x2 (param v128) (result v128) (v128.bitselect (local.get 0) (v128.const f64x2 nan nan) (f64x2.eq (local.get 0) (local.get 0))))
`

// vectorModule is a module with a page of memory, of which the first 64 and the last 64 bytes are not zero.
func vectorModule(b *compare.Builder) *compare.Case {
	c := compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 64)+wat.Filled(65536-64, 64)+wat.VectorFunctions+canonicalFunctions+b.String()+")", b.Calls...)
	c.ExactNaNs = true
	return c
}

// computes are the operators of float lanes that compute: their NaNs may have any bits.
var computes = []string{"add", "sub", "mul", "div", "sqrt", "min", "max", "ceil", "floor", "trunc", "nearest", "promote_low_f32x4", "demote_f64x2_zero"}

// comparable returns e, a use of an operator, so that its result is one that a function returns and that is the same on all engines.
func comparable(op *wat.Operator, e string) (results, text string) {
	if op.Result != "v" {
		return op.Result, e
	}
	return "ll", wat.Halves(canonical(op, e))
}

// canonical returns e, a use of an operator, with one bit pattern for all NaNs that it computes.
func canonical(op *wat.Operator, e string) string {
	if shape, name, _ := strings.Cut(op.Name, "."); shape[0] == 'f' && slices.Contains(computes, name) {
		return "(call $" + shape + " " + e + ")"
	}
	return e
}

// apply returns the use of an operator on operands.
func apply(op *wat.Operator, lane int, operands ...string) string {
	immediate := ""
	if op.Lanes > 0 {
		immediate = fmt.Sprintf(" %d", lane%op.Lanes)
	}
	return "(" + op.Name + immediate + " " + strings.Join(operands, " ") + ")"
}

// vectorsOf returns the operators on vectors with those operands.
func vectorsOf(params string) []wat.Operator {
	return slices.DeleteFunc(wat.Vectors(), func(o wat.Operator) bool { return o.Params != params })
}

// VectorShifts shifts lanes by every constant from 0 to 255, and by the same amounts in a variable.
func VectorShifts(choice Choice) (out []Case) {
	for _, op := range vectorsOf("vi") {
		if op.Lanes > 0 {
			continue // a lane replaced
		}
		out = append(out, Case{op.Name, func() *compare.Case {
			var b compare.Builder
			args := single(vectorPairs())[:4]
			for k := range 256 {
				if choice.Has(k, 5) {
					b.Add("ll", "ll", wat.Halves(apply(&op, 0, wat.GetVector(0), wat.Const('i', uint64(k)))), args...)
				}
			}
			var variable [][]uint64
			for k := range uint64(256) {
				variable = append(variable, append(slices.Clone(args[k%4]), k))
			}
			b.Add("lli", "ll", wat.Halves(apply(&op, 0, wat.GetVector(0), wat.Get(2))), variable...)
			return vectorModule(&b)
		}})
	}
	return out
}

// shuffleMasks are the masks by groups: each lane from anywhere, all lanes from one, and the patterns for which machines have instructions,
// exact and wrong by one.
func shuffleMasks() map[string][][16]int {
	groups := map[string][][16]int{}
	each := func(group string, f func(i int) int) {
		var m [16]int
		for i := range m {
			m[i] = f(i) & 31
		}
		groups[group] = append(groups[group], m)
	}
	for lane := range 16 {
		for from := range 32 {
			each("one lane", func(i int) int {
				if i == lane {
					return from
				}
				return i
			})
		}
	}
	for k := range 32 {
		each("broadcast", func(int) int { return k })
		each("bytes shifted", func(i int) int { return i + k })
		each("bytes shifted", func(i int) int { return (i+k)&15 | k&16 })
	}
	for _, width := range []int{1, 2, 4, 8} {
		for k := range 32 / width {
			each("broadcast", func(i int) int { return k*width + i%width })
		}
		for _, first := range []int{0, 16 - 8, 16} {
			each("interleaved", func(i int) int { return first + i/width/2*width + i%width + i/width%2*16 })
			each("interleaved", func(i int) int { return first + i/width/2*width + i%width + (1-i/width%2)*16 })
			each("interleaved", func(i int) int { return first + i/width/2*width + i%width })
		}
		for _, odd := range []int{0, 1} {
			each("every second", func(i int) int { return (2*(i/width)+odd)*width + i%width })
			each("transposed", func(i int) int { return (i/width/2*2+odd)*width + i%width + i/width%2*16 })
		}
		for _, group := range []int{2, 4, 8, 16} {
			each("reversed", func(i int) int { return i ^ (group - 1) })
			each("reversed", func(i int) int { return i ^ (group-1)&^(width-1) })
		}
		for k := range 1 << (16 / max(width, 2)) {
			each("blended", func(i int) int { return i + k>>(i/max(width, 2))&1*16 })
		}
		for k := range 16 / width {
			each("rotated", func(i int) int { return (i + k*width) & 15 })
		}
	}
	for k := range 256 {
		each("words", func(i int) int { return k>>(i/4*2)&3*4 + i%4 })
		each("words", func(i int) int { return k>>(i/4*2)&3*4 + i%4 + i/8*16 })
		each("half words", func(i int) int { return k>>(i/2%4*2)&3*2 + i%2 + i/8*8 })
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		each("random", func(int) int { return r.IntN(32) })
		each("random", func(int) int { return r.IntN(16) })
	}
	return groups
}

// Shuffles shuffles two vectors, a vector with itself, and a vector with constants.
func Shuffles(choice Choice) (out []Case) {
	masks := shuffleMasks()
	names := make([]string, 0, len(masks))
	for name := range masks {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, Case{name, func() *compare.Case {
			var b compare.Builder
			args := vectorPairs()[:2]
			for _, mask := range Part(choice, masks[name], 4) {
				shuffle := "(i8x16.shuffle " + strings.Trim(fmt.Sprint(mask), "[]") + " "
				x, y := wat.GetVector(0), wat.GetVector(2)
				b.Add("llll", "ll", wat.Halves(shuffle+x+y+")"), args...)
				b.Add("llll", "ll", "(local v128) (local.set 4 "+x+")"+wat.Halves(shuffle+"(local.get 4) (local.get 4))"), args[0])
				b.Add("llll", "ll", wat.Halves(shuffle+x+wat.Vector{}.String()+")"), args[0])
				b.Add("llll", "ll", wat.Halves(shuffle+cornerVectors[0].String()+y+")"), args[0])
			}
			return vectorModule(&b)
		}})
	}
	return out
}

// Swizzles swizzles with each index in each lane, constant and variable.
func Swizzles(choice Choice) *compare.Case {
	var b compare.Builder
	var variable [][]uint64
	table := cornerVectors[0]
	for k := range uint64(256) {
		var index wat.Vector
		for i := range uint64(16) {
			index[i/8] |= (k + i*17) & 0xFF << (i % 8 * 8)
		}
		variable = append(variable, []uint64{table[0], table[1], index[0], index[1]})
		if choice.Has(int(k), 5) {
			b.Add("ll", "ll", wat.Halves("(i8x16.swizzle "+wat.GetVector(0)+index.String()+")"), table[:])
			b.Add("", "ll", wat.Halves("(i8x16.swizzle "+table.String()+index.String()+")"), nil)
		}
	}
	b.Add("llll", "ll", wat.Halves("(i8x16.swizzle "+wat.GetVector(0)+wat.GetVector(2)+")"), variable...)
	b.Add("llll", "ll", wat.Halves("(i8x16.swizzle "+table.String()+wat.GetVector(2)+")"), variable...)
	b.Add("ll", "ll", "(local v128) (local.set 2 "+wat.GetVector(0)+")"+wat.Halves("(i8x16.swizzle (local.get 2) (local.get 2))"), single(variable)[0], table[:])
	return vectorModule(&b)
}

// VectorSelects chooses between vectors by each form of condition, and bits of them by masks.
func VectorSelects() *compare.Case {
	var b compare.Builder
	x, y := wat.GetVector(0), wat.GetVector(2)
	var args [][]uint64
	for i, p := range vectorPairs() {
		for k := range uint64(3) {
			args = append(args, append(slices.Clone(p), []uint64{0, 1, 4, 0x80000000, 65536}[(uint64(i)+k)%5]))
		}
	}
	conditions := []string{"(local.get 4)", "(i32.eqz (local.get 4))", "(i32.lt_s (local.get 4) (i32.const 1))", "(i32.and (local.get 4) (i32.const 5))",
		"(i64.gt_u (local.get 0) (local.get 3))", "(i64.eqz (local.get 1))", "(f64.lt (f64.reinterpret_i64 (local.get 1)) (f64.const 1))",
		"(f64.ne (f64.reinterpret_i64 (local.get 1)) (f64.reinterpret_i64 (local.get 1)))", "(f32.eq (f32.reinterpret_i32 (local.get 4)) (f32.const 0))",
		"(i32.load8_u (i32.and (local.get 4) (i32.const 63)))", "(i32.load (local.get 4))", "(i32.const 1)", "(i32.const 0)", "(v128.any_true " + x + ")",
		"(i8x16.bitmask " + y + ")", "(i64x2.bitmask " + y + ")", "(i32.eqz (v128.any_true " + y + "))"}
	for _, shape := range []string{"i8x16", "i16x8", "i32x4", "i64x2"} {
		conditions = append(conditions, "("+shape+".all_true "+x+")", "("+shape+".all_true ("+shape+".eq "+x+y+"))", "(v128.any_true ("+shape+".ne "+x+y+"))")
	}
	for _, c := range conditions {
		for _, pair := range []string{x + y, y + x, x + x, x + cornerVectors[1].String(), cornerVectors[2].String() + wat.Vector{}.String(), x + "(v128.load (local.get 4))",
			"(v128.load64_zero (local.get 4))" + y} {
			b.Add("lllli", "ll", wat.Halves("(select "+pair+c+")"), args...)
			b.Add("lllli", "ll", wat.Halves("(if (result v128) "+c+" (then "+x+") (else "+y+"))"), args...)
		}
	}
	masks := []string{y, cornerVectors[1].String(), wat.Vector{^uint64(0), ^uint64(0)}.String(), wat.Vector{}.String(), "(v128.not " + y + ")"}
	for _, shape := range []string{"i8x16", "i16x8", "i32x4", "i64x2", "f32x4", "f64x2"} {
		greater := shape + ".gt"
		if shape[0] == 'i' {
			greater += "_s"
		}
		masks = append(masks, "("+greater+x+y+")", "("+shape+".eq "+x+y+")", "(v128.not ("+shape+".ne "+x+y+"))")
	}
	for _, m := range masks {
		for _, pair := range []string{x + y, y + x, x + wat.Vector{}.String(), wat.Vector{}.String() + y, "(v128.not " + x + ")" + y} {
			b.Add("llll", "ll", wat.Halves("(v128.bitselect "+pair+m+")"), vectorPairs()...)
		}
	}
	return vectorModule(&b)
}

// neutral are constants that rules for numbers know: 0, all ones, one, two and the least number in lanes of each width, and floats.
var neutral = []wat.Vector{
	{}, {^uint64(0), ^uint64(0)}, splat(0x0101010101010101), splat(0x0001000100010001), splat(0x0000000100000001), splat(1), splat(0x0202020202020202), splat(2),
	splat(0x8080808080808080), splat(0x8000800080008000), splat(0x8000000080000000), splat(1 << 63), splat(0x00FF00FF00FF00FF), splat(0x3F8000003F800000),
	splat(0x3FF0000000000000), splat(0xBFF0000000000000), splat(0x7FC000007FC00000), {1, 0},
}

func splat(half uint64) wat.Vector { return wat.Vector{half, half} }

// VectorIdentities has operators on what rules of the mid-end match: equal operands, constants on either side, twice the same operator, constants
// only, negations of negations, lanes of vectors whose lane was replaced.
func VectorIdentities(choice Choice) (out []Case) {
	x, y := wat.GetVector(0), wat.GetVector(2)
	twice := "(local v128) (local.set 4 " + x + ")"
	for i, op := range append(vectorsOf("vv"), vectorsOf("v")...) {
		if !choice.Has(i, 3) {
			continue
		}
		out = append(out, Case{op.Name, func() *compare.Case {
			var b compare.Builder
			add := func(before, e string) {
				results, text := comparable(&op, e)
				b.Add("llll", results, before+text, vectorPairs()...)
			}
			if op.Params == "v" {
				for lane := range max(1, op.Lanes) {
					unaryIdentities(&op, lane, x, y, func(e string) { add("", e) })
				}
				return vectorModule(&b)
			}
			add("", apply(&op, 0, x, y))
			add(twice, apply(&op, 0, "(local.get 4)", "(local.get 4)"))
			add("", apply(&op, 0, apply(&op, 0, x, y), y))
			for k, c := range neutral {
				d := neutral[(k*5+2)%len(neutral)].String()
				add("", apply(&op, 0, x, c.String()))
				add("", apply(&op, 0, c.String(), x))
				add("", apply(&op, 0, c.String(), d))
				add("", apply(&op, 0, apply(&op, 0, x, c.String()), d))
				add("", apply(&op, 0, d, apply(&op, 0, c.String(), x)))
			}
			return vectorModule(&b)
		}})
	}
	return out
}

// unaryIdentities gives uses of an operator on one vector.
func unaryIdentities(op *wat.Operator, lane int, x, y string, add func(e string)) {
	add(apply(op, lane, x))
	for _, c := range neutral {
		add(apply(op, lane, c.String()))
	}
	if op.Result == "v" {
		inner := apply(op, lane, x)
		if strings.Contains(op.Name, "_f") { // lanes of another shape, in which a NaN's bits may be a number
			inner = canonical(op, inner)
		}
		add(apply(op, lane, inner))
	}
	for _, inner := range vectorsOf("v") {
		if inner.Result == "v" {
			add(apply(op, lane, canonical(&inner, apply(&inner, 0, x))))
		}
	}
	for _, inner := range []string{"i8x16", "i16x8", "i32x4"} {
		add(apply(op, lane, "("+inner+".splat (i32.wrap_i64 (local.get 0)))"))
		add(apply(op, lane, "("+inner+".replace_lane 1 "+x+" (i32.wrap_i64 (local.get 2)))"))
	}
	for _, join := range []string{"v128.and", "v128.andnot", "v128.xor", "i8x16.eq", "i16x8.lt_s", "i32x4.gt_u", "f32x4.lt", "f64x2.ne"} {
		add(apply(op, lane, "("+join+" "+x+" "+y+")"))
	}
}

// VectorOperands takes each operand of each operator on vectors from each load that gives its type, in the last bytes of memory, at all
// alignments: an instruction with an operand in memory reads what the load reads, and no more.
func VectorOperands(choice Choice) (out []Case) {
	loads, _ := wat.Accesses()
	for _, o := range wat.VectorAccesses() {
		if !o.Store() && o.Lanes == 0 {
			loads = append(loads, o)
		}
	}
	for i, op := range append(wat.Vectors(), wat.Operator{Name: "i8x16.shuffle 0 16 1 17 2 18 3 19 4 20 5 21 6 22 7 23", Params: "vv", Result: "v"},
		wat.Operator{Name: "i8x16.shuffle 4 5 6 7 4 5 6 7 4 5 6 7 4 5 6 7", Params: "vv", Result: "v"}) {
		if !choice.Has(i, 4) {
			continue
		}
		out = append(out, Case{op.Name, func() *compare.Case {
			var b compare.Builder
			for pos := range op.Params {
				for n, l := range loads {
					if l.Result != op.Params[pos:pos+1] {
						continue
					}
					var args [][]uint64
					for _, k := range Sampled(choice, []uint64{0, 1, 2, 3, 4, 5, 7, 8, 11, 15, 16}, 2) {
						args = append(args, []uint64{65536 - l.Width - k})
					}
					args = append(args, compare.Each(65536-l.Width+1, 65535, 65536)...)
					operands := make([]string, len(op.Params))
					for p := range operands {
						operands[p] = constant(op.Params[p])
					}
					operands[pos] = "(" + l.Name + " (local.get 0))"
					results, text := comparable(&op, apply(&op, n, operands...))
					b.Add("i", results, text, args...)
					operands[pos] = "(" + l.Name + " offset=13 (i32.sub (local.get 0) (i32.const 13)))"
					results, text = comparable(&op, apply(&op, n+1, operands...))
					b.Add("i", results, text, args[:3]...)
				}
			}
			return vectorModule(&b)
		}})
	}
	return out
}

// VectorSpills has numbers and vectors that live across calls, more than there are registers: all 16 bytes of a vector come back, and its
// slot does not reach into its neighbour's.
func VectorSpills() (out []Case) {
	for _, letters := range []string{"v", "vf", "vd", "fvdv", "vvvl", "dfvi"} {
		out = append(out, Case{letters, func() *compare.Case {
			var b compare.Builder
			b.WriteString(clobberFunction)
			for _, n := range []int{4, 12, 20, 40, 70} {
				all := wat.Cycle(n, letters)
				b.Add("ll", "l", spilled(all, "(call $clobber)"), single(vectorPairs())...)
				b.Add("ll", "l", spilled(all, "(if (i64.gt_s (local.get 0) (i64.const 0)) (then (call $clobber)))"), single(vectorPairs())...)
				b.Add("ll", "l", spilled(all, "(loop (call $clobber) (br_if 0 (i64.ne (i64.const 0) (local.tee 0 (i64.shr_u (local.get 0) (i64.const 9))))))"), single(vectorPairs())...)
				passed(&b, all)
			}
			return vectorModule(&b)
		}})
	}
	return out
}

// clobberFunction writes all registers of vectors, and has slots of its own.
var clobberFunction = func() string {
	var s strings.Builder
	s.WriteString("(global $sum (mut v128) (v128.const i64x2 1 2)) (func $clobber (local" + strings.Repeat(" v128", 40) + ")")
	for i := range 40 {
		fmt.Fprintf(&s, "(local.set %d (i64x2.add (global.get $sum) (v128.const i64x2 %d -%d)))", i, i+1, i+1)
	}
	s.WriteString("(global.set $sum (i8x16.add (global.get $sum) (v128.const i64x2 -1 1)))")
	for i := range 40 {
		fmt.Fprintf(&s, "(global.set $sum (i64x2.add (local.get %d) (i64x2.mul (global.get $sum) (v128.const i64x2 31 33))))", i)
	}
	return s.String() + ")\n"
}()

// distinct returns value i of a type, as an expression of the locals 0 and 1.
func distinct(letter byte, i int) string {
	low, high := fmt.Sprintf("(i64.add (local.get 0) (i64.const %d))", 1000*i+7), fmt.Sprintf("(i64.mul (local.get 1) (i64.const %d))", 2*i+1)
	switch letter {
	case 'v':
		return "(i8x16.add (call $vector " + low + high + ") (global.get $sum))" // which nobody sees through
	case 'i':
		return "(i32.wrap_i64 " + low + ")"
	case 'f':
		return "(f32.convert_i64_s " + low + ")"
	case 'd':
		return "(f64.convert_i64_s " + high + ")"
	}
	return low
}

// mixed returns operators that mix local n into the i64 on the stack.
func mixed(letter byte, n int) string {
	e := wat.ToI64(letter, wat.Get(n))
	if letter == 'v' {
		e = fmt.Sprintf("(i64.xor (i64x2.extract_lane 0 %[1]s) (i64.rotl (i64x2.extract_lane 1 %[1]s) (i64.const 29)))", wat.Get(n))
	}
	return e + "(i64.xor) (i64.const 13) (i64.rotl)"
}

// spilled returns a body that makes values, does something, and hashes the values.
func spilled(letters, between string) string {
	var s strings.Builder
	s.WriteString(wat.Types("local", letters))
	for i := range letters {
		fmt.Fprintf(&s, "(local.set %d %s)", 2+i, distinct(letters[i], i))
	}
	s.WriteString(between + "(i64.const 17)")
	for i := range letters {
		s.WriteString(mixed(letters[i], 2+i))
	}
	return s.String()
}

// passed adds a function that passes values of the types to one that returns them in reverse, after a call, and hashes what comes back.
func passed(b *compare.Builder, letters string) {
	name := fmt.Sprintf("$back%d", b.NumFuncs())
	reverse := []byte(letters)
	slices.Reverse(reverse)
	fmt.Fprintf(b, "(func %s %s %s %s (call $clobber)", name, wat.Types("param", letters), wat.Types("result", string(reverse)), wat.NotInlined)
	for i := range letters {
		b.WriteString(wat.Get(len(letters) - 1 - i))
	}
	b.WriteString(")\n")
	var s strings.Builder
	s.WriteString(wat.Types("local", string(reverse)) + "(call " + name)
	for i := range letters {
		s.WriteString(distinct(letters[i], i))
	}
	s.WriteString(")" + wat.SetLocals(len(letters), 2) + "(i64.const 17)")
	for i := range reverse {
		s.WriteString(mixed(reverse[i], 2+i))
	}
	b.Add("ll", "l", s.String(), single(vectorPairs())...)
}
