package bugcases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// addressForms are i32 expressions of the parameters x and y that machines could compute
// in an address, if it were not for the 32 bits that they wrap to.
func addressForms() (out []string) {
	x, y := wat.Get(0), wat.Get(1)
	add := func(list ...string) { out = append(out, list...) }
	for _, c := range []uint64{1, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF} {
		k := wat.Const('i', c)
		add("(i32.add "+x+k+")", "(i32.sub "+x+k+")", "(i32.sub "+k+x+")", "(i32.mul "+x+k+")",
			"(i32.add (i32.add "+x+y+")"+k+")", "(i32.add (i32.add "+x+k+")"+y+")", "(i32.add (i32.sub "+x+k+")"+k+")")
	}
	for k := range 33 {
		shift := wat.Const('i', uint64(k))
		add("(i32.shl "+x+shift+")", "(i32.add "+y+"(i32.shl "+x+shift+"))",
			"(i32.add (i32.shl "+x+shift+")"+y+")", "(i32.add (i32.add (i32.shl "+x+shift+")"+y+") (i32.const -16))")
	}
	for k := range 65 {
		shift := wat.Const('l', uint64(k))
		add("(i32.wrap_i64 (i64.shl (i64.extend_i32_u "+x+")"+shift+"))",
			"(i32.wrap_i64 (i64.add (i64.extend_i32_s "+y+")(i64.shl (i64.extend_i32_u "+x+")"+shift+")))",
			"(i32.wrap_i64 (i64.shr_u (i64.extend_i32_s "+x+")"+shift+"))")
	}
	// Shifts of numbers that are known to be small enough, or just not: they lose no bits, or one.
	for k := range 32 {
		shift := wat.Const('i', uint64(k))
		for _, few := range []int{k - 1, k, k + 1} {
			if few >= 0 {
				add("(i32.shl (i32.shr_u "+x+wat.Const('i', uint64(few))+")"+shift+")", "(i32.shl (i32.and "+x+wat.Const('i', 0xFFFFFFFF>>few)+")"+shift+")")
			}
		}
		if k == 1 || k >= 14 && k < 18 || k >= 22 && k < 26 {
			for _, load := range []string{"i32.load8_u", "i32.load8_s", "i32.load16_u", "i32.load16_s"} {
				add("(i32.shl ("+load+" (i32.and "+x+" (i32.const 63)))"+shift+")", "(i32.add "+y+"(i32.shl ("+load+" (i32.and "+x+" (i32.const 63)))"+shift+"))")
			}
		}
		add("(i32.shl (i32.lt_u " + x + y + ")" + shift + ")")
	}
	for _, k := range []int{1, 3, 5, 9, 8, 24} {
		add(fmt.Sprintf("(i32.add %s (i32.mul %s (i32.const %d)))", y, x, k))
	}
	add("(i32.add "+x+y+")", "(i32.sub "+x+y+")", "(i32.mul "+x+y+")", "(i32.add "+x+x+")", "(i32.shl "+x+y+")",
		"(i32.wrap_i64 (i64.mul (i64.extend_i32_u "+x+")(i64.extend_i32_u "+y+")))")
	return out
}

// WrappedAddresses computes addresses that wrap around 32 bits, and shifts by amounts that fit the width of the access or
// do not, and adds a constant offset.
func WrappedAddresses(choice Choice) (out []Case) {
	loads, stores := wat.Accesses()
	store16 := stores[slices.IndexFunc(stores, func(o wat.Operator) bool { return o.Name == "i32.store16" })]
	list := compare.Product([]uint64{0, 1, 8, 0xFFF8, 0x10000, 0x7FFFFFFF, 0x80000001, 0xFFFFFFF0, 0xFFFFFFFF}, []uint64{0, 16, 0x80000000, 0xFFFFFFF8})
	for part := range 4 {
		out = append(out, Case{fmt.Sprint(part), func() *compare.Case {
			var b compare.Builder
			for i, a := range addressForms() {
				if i%4 != part || !choice.Has(i/4, 3) {
					continue
				}
				for n, op := range loads {
					// A sample has each form with some of the loads.
					if !choice.Sample() || (i/4+n)%3 == 0 {
						b.Add("ii", op.Result, fmt.Sprintf("(%s %s)", op.Name, a), list...)
					}
				}
				b.Add("ii", "l", fmt.Sprintf("(i64.load offset=0x7FFFFFF0 %s)", a), list...)
				for _, st := range []wat.Operator{stores[i/4%len(stores)], store16} {
					b.Add("ii", "", fmt.Sprintf("(%s offset=4 %s %s)", st.Name, a, wat.Const(st.Params[1], StoredBits)), list...)
				}
			}
			return compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 200)+wat.Filled(65536-100, 100)+b.String()+")", b.Calls...)
		}})
	}
	return out
}

// producer makes an i32 from an i64 parameter (local 0), such that the upper half of the register is likely to be dirty.
// It may use the locals $i and $j, of type i32.
type producer struct{ name, text string }

// producers are all operators that give an i32, and all other sources of one.
func producers() (out []producer) {
	add := func(name, text string) { out = append(out, producer{name, text}) }
	const wrapped, wide = "(i32.wrap_i64 (local.get 0))", "(local.get 0)"
	add("wrap", wrapped)
	for _, op := range []string{"add", "sub", "mul", "and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"} {
		add("wrap "+op, fmt.Sprintf("(i32.wrap_i64 (i64.%s %s (i64.const 0xfffffff300000021)))", op, wide))
	}
	operand := map[byte]string{'i': wrapped, 'l': wide, 'f': "(f32.convert_i64_s (local.get 0))", 'd': "(f64.convert_i64_s (local.get 0))"}
	small := map[byte]string{'f': "(f32.convert_i32_s (i32.shr_s " + wrapped + " (i32.const 1)))", 'd': "(f64.convert_i32_s " + wrapped + ")"}
	for _, op := range wat.Numeric(1) {
		if op.Result == "i" {
			e := operand[op.Params[0]]
			if op.Traps() && !strings.Contains(op.Name, "sat") {
				e = small[op.Params[0]]
			}
			add(op.Name, fmt.Sprintf("(%s %s)", op.Name, e))
		}
	}
	for _, op := range wat.Numeric(2) {
		if op.Result != "i" {
			continue
		}
		second := map[byte]string{'i': "(i32.const 0xfffffff9)", 'l': "(i64.const -8)", 'f': "(f32.const 3)", 'd': "(f64.const 3)"}[op.Params[1]]
		add(op.Name, fmt.Sprintf("(%s %s %s)", op.Name, operand[op.Params[0]], second))
		if op.Params == "ii" && !op.Traps() {
			add(op.Name+" high", fmt.Sprintf("(%s %s (i32.wrap_i64 (i64.shr_u (local.get 0) (i64.const 31))))", op.Name, wrapped))
		}
	}
	for _, op := range []string{"div_s", "div_u", "rem_s", "rem_u"} {
		add(op+" by -3", fmt.Sprintf("(i32.%s %s (i32.const -3))", op, wrapped))
		add(op+" by -8", fmt.Sprintf("(i32.%s %s (i32.const -8))", op, wrapped))
	}
	loads, _ := wat.Accesses()
	for _, l := range loads {
		address := "(i32.and " + wrapped + " (i32.const 127))"
		switch l.Result {
		case "i":
			add(l.Name, fmt.Sprintf("(%s %s)", l.Name, address))
		case "l":
			add("wrapped "+l.Name, fmt.Sprintf("(i32.wrap_i64 (%s %s))", l.Name, address))
		}
	}
	add("constant", "(i32.const -8)")
	add("select", "(select "+wrapped+" (i32.wrap_i64 (i64.shr_u (local.get 0) (i64.const 32))) (i64.lt_s (local.get 0) (i64.const 0)))")
	add("block", "(block (result i32) (drop (br_if 0 "+wrapped+" (i64.eqz (local.get 0)))) (i32.wrap_i64 (i64.shr_s (local.get 0) (i64.const 32))))")
	add("if", "(if (result i32) (i64.lt_s (local.get 0) (i64.const 0)) (then "+wrapped+") (else (i32.wrap_i64 (i64.xor (local.get 0) (i64.const -1)))))")
	add("loop", "(local.set $i "+wrapped+") (loop (result i32) (local.set $i (i32.add (local.get $i) (i32.const -3))) (br_if 0 (i32.and (local.get $i) (i32.const 8))) (local.get $i))")
	add("loaded select", "(select "+wrapped+" (i32.load8_s (i32.const 3)) (i64.eqz (i64.and (local.get 0) (i64.const 1))))")
	add("loaded if", "(if (result i32) (i64.eqz (i64.and (local.get 0) (i64.const 1))) (then "+wrapped+") (else (i32.load16_s (i32.const 3))))")
	add("loaded block", "(block (result i32) (drop (br_if 0 (i32.load8_s (i32.const 3)) (i64.eqz (local.get 0)))) "+wrapped+")")
	add("loop parameter", "(local.set $i (i32.const 3)) "+wrapped+" (loop (param i32) (result i32) (i32.mul (i32.const 5)) (br_if 0 (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))")
	add("local", "(local.set $i "+wrapped+") (local.set $j (i32.add (local.get $i) (local.get $i))) (i32.sub (local.get $j) (local.get $i))")
	add("global", "(global.set $g "+wrapped+") (global.get $g)")
	add("call", "(call $wrap (local.get 0))")
	add("call_indirect", "(call_indirect (param i64) (result i32) (local.get 0) (i32.const 0))")
	add("host", "(call $host_i (local.get 0))")
	add("host of many", "(call $host_many"+strings.Repeat(" (local.get 0)", 8)+")")
	add("memory.size", "(memory.size)")
	add("memory.grow fails", "(memory.grow (i32.or "+wrapped+" (i32.const 0x10000)))")
	add("memory.grow of a constant fails", "(memory.grow (i32.const 70000))")
	add("memory.grow of dirt fails", "(memory.grow (i32.or "+wrapped+" (i32.const 0x100000)))")
	add("memory.grow 0", "(memory.grow (i32.const 0))")
	add("table.size", "(table.size)")
	add("table.grow fails", "(table.grow (ref.null func) (i32.or "+wrapped+" (i32.const 0x10000)))")
	add("table.grow of a constant fails", "(table.grow (ref.null func) (i32.const -1))")
	add("table.grow of dirt fails", "(table.grow (ref.null func) (i32.or "+wrapped+" (i32.const 0x100000)))")
	add("table.grow 0", "(table.grow (ref.null func) (i32.const 0))")
	add("is_null", "(ref.is_null (table.get (i32.and "+wrapped+" (i32.const 1))))")
	for n := range 20 {
		var list strings.Builder
		for k := range 20 {
			if k == n {
				list.WriteString(wrapped)
			} else {
				fmt.Fprintf(&list, "(i32.xor %s (i32.const %d))", wrapped, -200-k)
			}
		}
		add(fmt.Sprintf("argument %d", n), fmt.Sprintf("(call $nth%d %s)", n, list.String()))
		add(fmt.Sprintf("result %d", n), fmt.Sprintf("(call $results (local.get 0)) %s (local.set $i) %s (local.get $i)",
			strings.Repeat("(drop)", n), strings.Repeat("(drop)", 19-n)))
	}
	return out
}

// consumers use $p, an i32, in ways that show a dirty upper half.
var consumers = []struct{ name, result, text string }{
	{"load", "i", "(i32.load8_u (local.get $p))"},
	{"load offset", "i", "(i32.load8_u offset=0x80000000 (local.get $p))"},
	{"load end", "l", "(i64.load offset=65000 (local.get $p))"},
	{"load scaled", "i", "(i32.load (i32.add (i32.const 64) (i32.shl (local.get $p) (i32.const 3))))"},
	{"store", "", "(i32.store offset=64 (local.get $p) (i32.const 77))"},
	{"extend", "l", "(i64.extend_i32_u (local.get $p))"},
	{"extend add", "l", "(i64.add (i64.extend_i32_u (local.get $p)) (i64.extend_i32_u (local.get $p)))"},
	{"convert", "d", "(f64.convert_i32_u (local.get $p))"},
	{"convert f32", "f", "(f32.convert_i32_u (local.get $p))"},
	{"shift", "l", "(i64.shl (i64.const 3) (i64.extend_i32_u (local.get $p)))"},
	{"divide", "l", "(i64.div_u (i64.const -1) (i64.or (i64.const 1) (i64.extend_i32_u (local.get $p))))"},
	{"br_table", "i", "(block (block (block (br_table 0 1 2 (local.get $p))) (return (i32.const 10))) (return (i32.const 11))) (i32.const 12)"},
	{"table.get", "i", "(ref.is_null (table.get (local.get $p)))"},
	{"call_indirect", "i", "(call_indirect (param i64) (result i32) (i64.const 5) (local.get $p))"},
	{"fill", "", "(memory.fill (local.get $p) (local.get $p) (i32.const 3))"},
	{"fill length", "", "(memory.fill (i32.const 0) (i32.const 7) (local.get $p))"},
	{"copy", "", "(memory.copy (i32.const 0) (local.get $p) (i32.const 9))"},
	{"host", "l", "(call $host_l (local.get $p) (local.get $p))"},
	{"store i64", "", "(i64.store (i32.const 200) (i64.extend_i32_u (local.get $p)))"},
	{"global", "", "(global.set $l (i64.extend_i32_u (local.get $p)))"},
}

// DirtyUpperHalf uses every producer of an i32 as address, index, length and number, at once and after a call.
func DirtyUpperHalf(choice Choice) (out []Case) {
	args := compare.Each(0, 1, 64, 0xFFFFFFFF00000000, 0xFFFFFFFF00000040, 0x80000000, 0x180000010, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF,
		0x123456780000FFFC, 0x7FFFFFFF0000FFFF)
	var prelude strings.Builder
	many := strings.Repeat("i32 ", 20)
	for n := range 20 {
		fmt.Fprintf(&prelude, "(func $nth%d (param %s) (result i32) %s (local.get %d))\n", n, many, wat.NotInlined, n)
	}
	fmt.Fprintf(&prelude, "(func $results (param i64) (result %s) %s", many, wat.NotInlined)
	for n := range 20 {
		fmt.Fprintf(&prelude, " (i32.rotl (i32.wrap_i64 (local.get 0)) (i32.const %d))", 32-n)
	}
	prelude.WriteString(")\n")
	for i, p := range producers() {
		out = append(out, Case{p.name, func() *compare.Case {
			var b compare.Builder
			for n, c := range consumers {
				if !choice.Has(i+n, 5) {
					continue
				}
				for spilled, between := range []string{"", "(global.set $g (call $clobber (i64.const 9)))"} {
					fmt.Fprintf(&b, "(func (export \"%s %d\") (param i64) %s (local $p i32) (local $i i32) (local $j i32) %s (local.set $p) %s %s)\n",
						c.name, spilled, wat.Types("result", c.result), p.text, between, c.text)
					for _, a := range args {
						b.Calls = append(b.Calls, compare.Call{Func: fmt.Sprintf("%s %d", c.name, spilled), Args: a})
					}
				}
			}
			return compare.Single(`(module
				(import "host" "l_i" (func $host_i (param i64) (result i32)))
				(import "host" "ii_l" (func $host_l (param i32 i32) (result i64)))
				(import "host" "llllllll_i" (func $host_many (param i64 i64 i64 i64 i64 i64 i64 i64) (result i32)))
				(memory (export "memory") 1 3) `+wat.Filled(0, 300)+`
				(table 10 20 funcref) (elem (i32.const 0) func $wrap)
				(global $g (export "g") (mut i32) (i32.const 0)) (global $l (export "l") (mut i64) (i64.const 0))
				(func $wrap (param i64) (result i32) `+wat.NotInlined+`(i32.wrap_i64 (local.get 0)))
				(func $clobber (param i64) (result i32) `+wat.NotInlined+`(i32.wrap_i64 (local.get 0)))
				`+prelude.String()+b.String()+")", b.Calls...)
		}})
	}
	return out
}

// SpilledAddresses keeps numbers with the upper bit set across calls under register pressure, beside floats of 4 bytes in
// the same frame, and then uses them as addresses. A reload must give all 64 bits that were stored.
func SpilledAddresses(choice Choice) *compare.Case {
	const n = 40
	var b compare.Builder
	body := ""
	for i := range n {
		body += fmt.Sprintf("(local $v%d i32) (local $w%d f32)", i, i)
	}
	for i := range n {
		body += fmt.Sprintf("(local.set $v%d (i32.add (i32.load8_s (i32.const %d)) (local.get 0)))", i, 100+i)
		body += fmt.Sprintf("(local.set $w%d (f32.convert_i32_u (local.get $v%d)))", i, i)
	}
	body += "(call $clobber)"
	sum := "(i64.const 0)"
	for i := range n {
		sum = fmt.Sprintf("(i64.add (i64.rotl %s (i64.const 3)) (i64.extend_i32_u (local.get $v%d)))", sum, i)
		sum = fmt.Sprintf("(i64.add %s (i64.extend_i32_u (i32.reinterpret_f32 (local.get $w%d))))", sum, i)
	}
	b.Add("i", "l", body+sum, compare.Each(0, 1, 0x80000000, 0xFFFFFFFF)...)
	for i := range n {
		if !choice.Has(i, 5) {
			continue
		}
		uses := "(i32.eqz (local.get $v0))"
		for k := 1; k < n; k++ {
			uses = fmt.Sprintf("(i32.or %s (i32.lt_u (local.get $v%d) (i32.const 100)))", uses, k)
		}
		b.Add("i", "ii", fmt.Sprintf("%s (i32.load8_u offset=300 (local.get $v%d)) %s", body, i, uses),
			compare.Each(0, 1, 0x80, 0xFF, 0x80000000, 0xFFFFFFFF, 0xFF00)...)
	}
	return compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 400)+`(func $clobber `+wat.NotInlined+`)`+b.String()+")", b.Calls...)
}
