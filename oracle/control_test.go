package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// TestMultiValue passes up to 20 values out of functions and blocks.
func TestMultiValue(t *testing.T) { bugcases.Run(t, bugcases.MultiValue(bugcases.All()), check) }

// TestManyResults calls functions with up to 200 results and parameters.
func TestManyResults(t *testing.T) { bugcases.Run(t, bugcases.ManyResults(), check) }

// TestArguments passes up to thirty arguments to functions of the module and of the host.
func TestArguments(t *testing.T) { check(t, bugcases.Arguments()) }

// TestBrTable jumps over tables of many lengths to blocks and loops, with values.
func TestBrTable(t *testing.T) {
	var b compare.Builder
	for _, n := range []int{0, 1, 2, 3, 4, 5, 8, 17, 64, 300, 3000} {
		var args [][]uint64
		for _, x := range []uint64{0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 18, 63, 64, 299, 300, 2999, 3000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF} {
			args = append(args, []uint64{x}, []uint64{x + 1<<32})
		}
		targets := func(m int) (s string) {
			for i := range n {
				s += fmt.Sprintf(" %d", (i*7+i/5)%m)
			}
			return s + fmt.Sprintf(" %d", n%m)
		}
		index := "(i32.wrap_i64 (local.get 0))"
		for _, mix := range []string{"", "i", "ll", "ilfd", "dfdfdfdfdf", "iiiiiiiiiiiiiiiiii"} {
			locals := wat.Types("local", mix)
			set := ""
			for i := range mix {
				set += fmt.Sprintf("(local.set %d)", len(mix)-i)
			}
			bt := wat.Types("result", mix)
			inner := wat.Distinct(mix) + "(br_table" + targets(4) + index + ")"
			body := inner
			for k := range 4 {
				body = fmt.Sprintf("(block %s %s) %s (local.set $h (i64.add (i64.mul (local.get $h) (i64.const 31)) (i64.add (i64.const %d) (call $id %s))))",
					bt, body, set, k+1, wat.Hash(mix, 1))
				if k < 3 {
					body += wat.Distinct(mix)
				}
			}
			b.Add("l", "l", locals+"(local $h i64)"+body+"(local.get $h)", args...)
		}
		// Targets that are a loop, with a parameter: out at 0, round from every other number.
		b.Add("l", "i", "(local $i i32) (local.set $i "+index+") (i32.const 1) (block $out (param i32) (result i32) (loop $l (param i32) (result i32) (i32.add (i32.const 3)) (i32.mul (i32.const 5))"+
			"(local.set $i (i32.shr_u (local.get $i) (i32.const 1))) (br_table 1"+strings.Repeat(" 0", n)+" 0 (local.get $i))))", args...)
	}
	check(t, compare.Single("(module (func $id (param i64) (result i64) (local.get 0))"+b.String()+")", b.Calls...))
}

// TestFirstTrapWins has all pairs of two traps in one function: the first one counts.
func TestFirstTrapWins(t *testing.T) { check(t, bugcases.FirstTrap(bugcases.All())) }

// TestGrow grows memories and tables in callees, and then uses the old and the new range.
func TestGrow(t *testing.T) { bugcases.Run(t, bugcases.GrowInCallee(), check) }

// TestStart: what happens before a trap of an instantiation stays, and nothing happens after it.
func TestStart(t *testing.T) {
	for i, c := range bugcases.Starts() {
		t.Run(fmt.Sprint(i), func(t *testing.T) { check(t, &c.Case) })
	}
}

// TestTypesAcrossModules calls through tables shared by modules that were compiled apart:
// each call is made if the types are equal and traps if not.
func TestTypesAcrossModules(t *testing.T) { check(t, bugcases.TypePair(0)) }

// TestManyLocals has functions with very many locals, parameters and live values.
func TestManyLocals(t *testing.T) {
	var b compare.Builder
	b.WriteString("(func $nothing)")
	for _, n := range []int{100, 999} {
		ts := wat.Cycle(n, "ilfd")
		fmt.Fprintf(&b, "(func $params%d %s (result i64) (call $nothing) %s)\n", n, wat.Types("param", ts), wat.Hash(ts, 0))
		b.Add("l", "l", fmt.Sprintf("(call $params%d %s)", n, wat.Distinct(ts)), compare.Each(0, 5)...)
	}
	for _, n := range []int{200, 3000, 49000} {
		ts := wat.Cycle(n, "lidf")
		var body strings.Builder
		body.WriteString(wat.Types("local", ts))
		for i := 0; i < n; i += 1 + n/300 {
			fmt.Fprintf(&body, "(local.set %d %s)", i+1, wat.Distinct(ts[i:i+1]))
		}
		body.WriteString("(call $nothing) (i64.const 0)")
		for i := 0; i < n; i += 1 + n/300 {
			body.WriteString(wat.ToI64(ts[i], wat.Get(i+1)) + "(i64.xor) (i64.const 7) (i64.rotl)")
		}
		// One that was never set.
		b.Add("l", "l", body.String()+wat.ToI64(ts[n-1], wat.Get(n))+"(i64.xor)", compare.Each(0, 5, 0xFFFFFFFFFFFFFFFF)...)
	}
	// Values on the operand stack over a call.
	for _, n := range []int{30, 500} {
		ts := wat.Cycle(n, "lfid")
		body := wat.Distinct(ts) + "(call $nothing)"
		for i := n - 1; i >= 0; i-- {
			body += map[byte]string{'l': "", 'i': "(i64.extend_i32_u)", 'f': "(i32.reinterpret_f32) (i64.extend_i32_u)", 'd': "(i64.reinterpret_f64)"}[ts[i]] +
				"(local.get 1) (i64.const 5) (i64.rotl) (i64.add) (local.set 1)"
		}
		b.Add("l", "l", "(local i64)"+body+"(local.get 1)", compare.Each(1, 77)...)
	}
	check(t, compare.Single("(module "+b.String()+")", b.Calls...))
}

// TestStackExhaustion recurses without end with small, large and huge frames, and frames with
// many arguments on the stack: always the same trap.
func TestStackExhaustion(t *testing.T) {
	var b compare.Builder
	b.WriteString(`(memory (export "memory") 1) (func $nothing)`)
	for _, n := range []int{0, 10, 1000, 4000} {
		locals, live, use := "", "", "(i64.const 0)"
		for i := range n {
			locals += " i64"
			live += fmt.Sprintf("(local.set %d (i64.add (local.get 0) (i64.const %d)))", i+1, i)
		}
		var uses strings.Builder
		for i := range n {
			fmt.Fprintf(&uses, "%s (i64.xor)", wat.Get(i+1))
		}
		fmt.Fprintf(&b, "(func $f%d (param i64) (result i64) (local %s) %s %s (call $f%[1]d (local.get 0)) (i64.add) %[5]s)\n", n, locals, live, use, uses.String())
		b.Add("l", "l", fmt.Sprintf("(call $f%d (local.get 0))", n), compare.Each(3)...)
		ts := wat.Cycle(n/5, "ilfd")
		fmt.Fprintf(&b, "(func $g%d %s (result i64) (i64.add (i64.const 1) (call $g%[1]d", n, wat.Types("param", ts))
		for i := range ts {
			b.WriteString(wat.Get(i))
		}
		b.WriteString(")))\n")
		b.Add("l", "l", fmt.Sprintf("(call $g%d %s)", n, wat.Distinct(ts)), compare.Each(3)...)
	}
	b.Add("", "i", "(i32.const 5)", nil)
	check(t, compare.Single("(module "+b.String()+")", b.Calls...))
}

// TestDeep nests blocks, expressions and selects deeply.
func TestDeep(t *testing.T) {
	var b compare.Builder
	const n = 2000
	b.Add("i", "i", strings.Repeat("(block ", n)+"(br_table 0 1 2 500 1999 (local.get 0))"+strings.Repeat(")", n)+"(i32.const 3)", compare.Each(0, 1, 3, 4, 9)...)
	b.Add("i", "i", strings.Repeat("(loop (result i32) ", n)+"(i32.popcnt (local.get 0))"+strings.Repeat(")", n), compare.Each(7)...)
	b.Add("i", "i", strings.Repeat("(i32.add (i32.const 3) (i32.mul (local.get 0) ", n)+"(local.get 0)"+strings.Repeat("))", n), compare.Each(1, 3)...)
	var s strings.Builder
	s.WriteString("(local.get 0)")
	for i := range n {
		fmt.Fprintf(&s, "(local.get 0) (i32.const %d) (i32.add) (local.get 0) (i32.const %d) (i32.and) (select)", i, 1<<(i%8))
	}
	b.Add("i", "i", s.String(), compare.Each(0, 0x55, 0xFF)...)
	s.Reset()
	for i := range n {
		fmt.Fprintf(&s, "(if (i32.eq (local.get 0) (i32.const %d)) (then (return (i32.const %d))))", i, i*3)
	}
	b.Add("i", "i", s.String()+"(i32.const -1)", compare.Each(0, 1, 1000, 1999, 2000)...)
	s.Reset()
	for range 300 {
		s.WriteString("(if (result i32) (i32.and (local.get 0) (i32.const 1)) (then (local.set 0 (i32.shr_u (local.get 0) (i32.const 1))) ")
	}
	s.WriteString("(i32.const 1000)")
	for i := range 300 {
		fmt.Fprintf(&s, ") (else (i32.const %d)))", i)
	}
	b.Add("i", "i", s.String(), compare.Each(0, 1, 0xFF, 0xFFFFFFFF)...)
	check(t, compare.Single("(module "+b.String()+")", b.Calls...))
}

// TestMemorySequences runs random straight and branching sequences of loads, stores,
// bulk operations, calls and growth that overlap in a few bytes: what a mid-end
// remembers of memory must be what is there.
func TestMemorySequences(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 77))
			var b compare.Builder
			for range 25 {
				b.Add("iil", "l", "(local $h i64)"+memorySequence(r, 2, 4+r.IntN(25))+"(local.get $h)",
					compare.Product([]uint64{0, 2, 8, 65530}, []uint64{0, 4, 65536}, []uint64{0x0123456789ABCDEF})...)
			}
			check(t, compare.Single(`(module (memory (export "memory") 1 2)`+wat.Filled(0, 64)+`
				(global $g (export "g") (mut i64) (i64.const 1)) (global $k (mut i32) (i32.const 6))
				(func $change (i64.store offset=3 (global.get $k) (global.get $g)) (global.set $g (i64.add (global.get $g) (i64.const 3))))
				`+b.String()+")", b.Calls...))
		})
	}
}

func memorySequence(r *rand.Rand, depth, n int) string {
	var s strings.Builder
	address := func() string {
		return []string{"(i32.const 8)", "(local.get 0)", "(local.get 1)", "(i32.add (local.get 0) (i32.const 4))", "(i32.and (local.get 1) (i32.const 15))", "(global.get $k)"}[r.IntN(6)]
	}
	for range n {
		all := loads()
		l := all[r.IntN(len(all)-2)] // integers
		st := stores()[r.IntN(7)]
		switch r.IntN(13) {
		case 0, 1, 2, 3:
			e := fmt.Sprintf("(%s offset=%d %s)", l.Name, r.IntN(9), address())
			if l.Result == "i" {
				e = "(i64.extend_i32_u " + e + ")"
			}
			fmt.Fprintf(&s, "(local.set $h (i64.xor (i64.rotl (local.get $h) (i64.const 9)) %s))", e)
		case 4, 5, 6, 7:
			v := []string{"(local.get 2)", "(local.get $h)", "(i64.const 0x1122334455667788)", "(i64.const 0)", "(i64.load (i32.const 8))", "(i64.load16_s (local.get 0))"}[r.IntN(6)]
			if st.Type() == 'i' {
				v = "(i32.wrap_i64 " + v + ")"
			}
			fmt.Fprintf(&s, "(%s offset=%d %s %s)", st.Name, r.IntN(9), address(), v)
		case 8:
			s.WriteString([]string{"(call $change)", "(memory.fill (local.get 0) (i32.const 3) (i32.const 5))", "(memory.copy (i32.const 10) (local.get 0) (i32.const 7))", "(drop (memory.grow (i32.const 1)))",
				"(global.set $k (i32.and (local.get 0) (i32.const 31)))"}[r.IntN(5)])
		case 9:
			fmt.Fprintf(&s, "(f64.store offset=%d %s (f64.reinterpret_i64 (local.get $h)))", r.IntN(5), address())
		case 10:
			fmt.Fprintf(&s, "(local.set $h (i64.add (local.get $h) (i64.extend_i32_s (i32.reinterpret_f32 (f32.load offset=%d %s)))))", r.IntN(5), address())
		case 11:
			if depth > 0 {
				fmt.Fprintf(&s, "(if (i64.eqz (i64.and (local.get $h) (i64.const %d))) (then %s) (else %s))", 1<<r.IntN(3), memorySequence(r, depth-1, n/3), memorySequence(r, depth-1, n/3))
			}
		case 12:
			if depth > 0 {
				fmt.Fprintf(&s, "(loop %s (local.set 1 (i32.add (local.get 1) (i32.const 9))) (br_if 0 (i32.and (local.get 1) (i32.const 4))))", memorySequence(r, 0, n/3))
			}
		}
	}
	return s.String()
}
