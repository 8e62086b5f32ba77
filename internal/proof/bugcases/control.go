package bugcases

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

var typeMixes = []string{"i", "l", "f", "d", "il", "ilfd", "fidl", "ddf", "liif"}

// MultiValue passes 0 to 20 values out of functions and blocks: in order, rotated, and reversed.
func MultiValue(choice Choice) (out []Case) {
	for _, mix := range Part(choice, typeMixes, 2) {
		out = append(out, Case{mix, func() *compare.Case {
			var b compare.Builder
			args := compare.Each(0, 1, 0xFFFFFFFFFFFFFFFF, 0x123456789)
			for n := range 21 {
				ts := wat.Cycle(n, mix)
				locals, set := wat.Types("local", ts), wat.SetLocals(n, 1)
				fmt.Fprintf(&b, "(func $make%d (param i64) %s %s %s)\n", n, wat.Types("result", ts), wat.NotInlined, wat.Distinct(ts))
				fmt.Fprintf(&b, "(func $pass%d %s %s %s", n, wat.Types("param", ts), wat.Types("result", ts), wat.NotInlined)
				for i := range n {
					b.WriteString(wat.Get(i))
				}
				b.WriteString(")\n")
				call := fmt.Sprintf("(call $make%d (local.get 0))", n)
				b.Add("l", ts, call, args...)
				b.Add("l", ts, fmt.Sprintf("%s (call $pass%d)", call, n), args...)
				b.Add("l", "l", locals+call+set+wat.Hash(ts, 1), args...)
				b.Add("l", "l", fmt.Sprintf("%s %s (block %s %s) %s", locals, call, wat.Types("param", ts)+wat.Types("result", ts),
					"(br_if 0 (i64.eqz (local.get 0)))", set)+wat.Hash(ts, 1), args...)
				b.Add("l", "l", fmt.Sprintf("%s (if %s (i64.eqz (local.get 0)) (then %s) (else %s)) %s", locals, wat.Types("result", ts), call,
					strings.ReplaceAll(call, "(local.get 0)", "(i64.const 99)"), set)+wat.Hash(ts, 1), args...)
				if n == 0 {
					continue
				}
				rotated, order := ts[1:]+ts[:1], ""
				for i := range n {
					order += wat.Get(1 + (i+1)%n)
				}
				b.Add("l", rotated, locals+call+set+order, args...)
				reversed, order := "", ""
				for i := range n {
					reversed += string(ts[n-1-i])
					order += wat.Get(n - i)
				}
				b.Add("l", reversed, locals+call+set+order, args...)
				// A loop that rotates its parameters: types repeat, so rotate by the length of the mix.
				if k := len(mix); n%k == 0 {
					rot := ""
					for i := range n {
						rot += wat.Get(1 + (i+k)%n)
					}
					b.Add("l", "l", fmt.Sprintf("%s (local $n i32) (local.set $n (i32.const 5)) %s (loop %s%s %s %s (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) %s",
						locals, call, wat.Types("param", ts), wat.Types("result", ts), set, rot, set)+wat.Hash(ts, 1), args...)
				}
			}
			return compare.Single("(module "+b.String()+")", b.Calls...)
		}})
	}
	return out
}

// ManyResults calls functions with up to 200 results, and up to 200 parameters, directly and through tables.
func ManyResults() (out []Case) {
	for _, mix := range []string{"i", "d", "lfid"} {
		out = append(out, Case{mix, func() *compare.Case {
			var b compare.Builder
			for n := 0; n <= 200; n += 1 + n/6 {
				ts := wat.Cycle(n, mix)
				locals, set := wat.Types("local", ts), wat.SetLocals(n, 1)
				fmt.Fprintf(&b, "(type $t%d (func (param i64) %s)) (type $u%[1]d (func %[3]s (result i64)))\n", n, wat.Types("result", ts), wat.Types("param", ts))
				fmt.Fprintf(&b, "(func $make%d (type $t%[1]d) %[2]s %[3]s)\n(func $hash%[1]d (type $u%[1]d) %[2]s %[4]s)\n", n, wat.NotInlined, wat.Distinct(ts), wat.Hash(ts, 0))
				fmt.Fprintf(&b, "(table $table%d 2 funcref) (elem (table $table%[1]d) (i32.const 0) func $make%[1]d $hash%[1]d)\n", n)
				args := compare.Each(0, 3, 0xFFFFFFFFFFFFFFFF)
				b.Add("l", "l", fmt.Sprintf("%s (call $make%d (local.get 0)) %s", locals, n, set)+wat.Hash(ts, 1), args...)
				b.Add("l", "l", fmt.Sprintf("(call $hash%d (call $make%[1]d (local.get 0)))", n), args...)
				b.Add("l", "l", fmt.Sprintf("(i64.add (local.get 0) (call $hash%d (call_indirect $table%[1]d (type $t%[1]d) (local.get 0) (i32.const 0))))", n), args...)
				b.Add("l", "l", fmt.Sprintf("(i64.add (call_indirect $table%d (type $u%[1]d) (call $make%[1]d (local.get 0)) (i32.const 1)) (local.get 0))", n), args...)
				b.Add("l", "l", fmt.Sprintf("(call_indirect $table%d (type $u%[1]d) (call $make%[1]d (local.get 0)) (i32.const 0))", n), args...)
				if n <= 40 {
					b.Add("l", ts, fmt.Sprintf("(call $make%d (local.get 0))", n), args...)
				}
			}
			return compare.Single("(module "+b.String()+")", b.Calls...)
		}})
	}
	return out
}

// Arguments passes up to thirty arguments to functions of the module and of the host, in an order that exchanges
// registers. Each i32 must arrive with a clean upper half.
func Arguments() *compare.Case {
	r := rand.New(rand.NewPCG(1, 2))
	var b, imports compare.Builder
	for n := range 60 {
		ts := ""
		for range n % 30 {
			ts += string("ilfd"[r.IntN(4)])
		}
		locals, set := wat.Types("local", ts), wat.SetLocals(len(ts), 1)
		fmt.Fprintf(&imports, "(import \"host\" \"%s_l\" (func $host%d %s (result i64)))", ts, n, wat.Types("param", ts))
		fmt.Fprintf(&b, "(func $make%d (param i64) %s %s %s) (func $hash%[1]d %[5]s (result i64) %[3]s %[6]s)\n", n, wat.Types("result", ts), wat.NotInlined, wat.Distinct(ts),
			wat.Types("param", ts), wat.Hash(ts, 0))
		// Arguments in another order, of equal types.
		perm := ""
		for i := range ts {
			same := []int{}
			for k := range ts {
				if ts[k] == ts[i] {
					same = append(same, k)
				}
			}
			perm += wat.Get(1 + same[r.IntN(len(same))])
		}
		args := compare.Each(1, 0xFFFFFFFF80000000)
		head := fmt.Sprintf("%s (call $make%d (local.get 0)) %s", locals, n, set)
		b.Add("l", "l", head+fmt.Sprintf("(call $hash%d %s)", n, perm), args...)
		b.Add("l", "ll", head+fmt.Sprintf("(call $host%d %s) ", n, perm)+wat.Hash(ts, 1), args...)
	}
	return compare.Single("(module "+imports.String()+b.String()+")", b.Calls...)
}
