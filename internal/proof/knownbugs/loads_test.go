package knownbugs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// aValue is an ordinary value of a type, as a constant operator.
func aValue(t byte) string {
	return wat.Const(t, map[byte]uint64{'i': 77, 'l': 0x4000000000000009, 'f': 0xC0490FDB, 'd': 0xC00921FB54442D18}[t])
}

// TestLastBytes feeds every operator, in each operand, from loads in the last bytes of
// memory, at all alignments: an instruction that takes its operand from memory reads no
// more than the load does, and takes it unaligned.
func TestLastBytes(t *testing.T) {
	loads, _ := wat.Accesses()
	var b compare.Builder
	feed := func(op *wat.Operator, text func(pos int, load string) string) {
		for pos := range op.Params {
			for _, l := range loads {
				if l.Result != op.Params[pos:pos+1] {
					continue
				}
				var args [][]uint64
				for _, x := range sampled([]uint64{0, 1, 2, 3, 4, 5, 7, 8, 11, 16}, 2) {
					args = append(args, []uint64{65536 - l.Width - x})
				}
				args = append(args, compare.Each(65536-l.Width+1, 65535, 65536)...)
				b.Add("i", op.Result, text(pos, "("+l.Name+" (local.get 0))"), args...)
				b.Add("i", op.Result, text(pos, "("+l.Name+" offset=13 (i32.sub (local.get 0) (i32.const 13)))"), args[:4]...)
			}
		}
	}
	for i, op := range append(wat.Numeric(1), wat.Numeric(2)...) {
		if !cases.Has(i, 1) {
			continue
		}
		feed(&op, func(pos int, load string) string {
			operands := ""
			for n := range op.Params {
				if n == pos {
					operands += load
				} else {
					operands += aValue(op.Params[n])
				}
			}
			return "(" + op.Name + " " + operands + ")"
		})
	}
	// Both operands of a select, a condition, an argument, a result, a global.
	for _, l := range []byte("ilfd") {
		ts := string(l)
		op := wat.Operator{Params: ts + ts, Result: ts}
		feed(&op, func(pos int, load string) string {
			pair := [2]string{aValue(l), aValue(l)}
			pair[pos] = load
			return "(select " + pair[0] + pair[1] + "(i32.and (local.get 0) (i32.const 1)))"
		})
		feed(&wat.Operator{Params: ts, Result: ts}, func(_ int, load string) string { return "(call $id_" + ts + " " + load + ")" })
		feed(&wat.Operator{Params: ts, Result: ts}, func(_ int, load string) string {
			return "(global.set $" + ts + " " + load + ") (global.get $" + ts + ")"
		})
		fmt.Fprintf(&b, "(func $id_%[1]s (param %[2]s) (result %[2]s) (local.get 0)) (global $%[1]s (mut %[2]s) %[3]s)\n", ts, wat.TypeName(l), aValue(l))
	}
	check(t, compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(65536-64, 64)+b.String()+")", b.Calls...))
}

// TestDeadLoads has loads whose value nobody needs, or that feed either side of a select or
// what a rule could fold away: each traps all the same.
func TestDeadLoads(t *testing.T) {
	loads, _ := wat.Accesses()
	var b compare.Builder
	args := compare.Each(0, 65528, 65529, 65532, 65533, 65534, 65535, 65536, 0xFFFFFFFF)
	two := sampled(compare.Product([]uint64{0, 65528, 65535, 65536}, []uint64{0, 65529, 65536}, []uint64{0, 1}), 3)
	for i, l := range loads {
		if !cases.Has(i, 1) {
			continue
		}
		ty := l.Result[0]
		load, other, value := "("+l.Name+" (local.get 0))", "("+l.Name+" (local.get 1))", aValue(ty)
		bits := "(i32.wrap_i64 " + wat.ToI64(ty, load) + ")"
		b.Add("i", "", "(drop "+load+")", args...)
		b.Add("i", "i", "(drop "+load+") (i32.const 7)", args...)
		b.Add("i", "", "(local "+wat.TypeName(ty)+") (local.set 1 "+load+")", args...)
		b.Add("i", "i", "(local "+wat.TypeName(ty)+") (local.set 1 "+load+") (local.set 1 "+value+") (i32.wrap_i64 "+wat.ToI64(ty, wat.Get(1))+")", args...)
		b.Add("i", "i", "(if (i32.const 0) (then (drop "+load+"))) (i32.const 7)", args...)
		b.Add("i", "i", "(drop "+load+") (drop (i32.load8_u (i32.const 65536))) (i32.const 7)", args...)
		b.Add("i", "i", "(drop "+load+") (drop "+load+") "+load+" (drop) (i32.const 7)", args...)
		b.Add("iii", l.Result, "(select "+load+other+"(local.get 2))", two...)
		b.Add("iii", l.Result, "(select "+load+value+"(local.get 2))", two...)
		b.Add("iii", l.Result, "(select "+value+load+"(local.get 2))", two...)
		b.Add("iii", l.Result, "(select "+value+load+"(f64.lt (f64.load (local.get 1)) (f64.const 0)))", two...)
		b.Add("iii", l.Result, "(select "+load+value+"(i32.lt_u (local.get 2) (i32.load (local.get 1))))", two...)
		b.Add("iii", l.Result, "(select "+load+load+"(local.get 2))", two...)
		b.Add("iii", "", "(drop (select "+load+other+"(local.get 2)))", two...)
		b.Add("iii", "i", "(select (i32.const 3) (i32.const 3) (i32.and (i32.const 0) "+bits+"))", two...)
		b.Add("iii", "i", "(i32.mul (i32.const 0) "+bits+")", two...)
		b.Add("iii", "i", "(i32.and (i32.const 0) "+bits+")", two...)
		b.Add("iii", "i", "(i32.sub "+bits+bits+")", two...)
		b.Add("iii", "i", "(i32.shl (i32.const 0) "+bits+")", two...)
		b.Add("iii", "i", "(if (result i32) (local.get 2) (then (drop "+load+") (i32.const 1)) (else (drop "+other+") (i32.const 2)))", two...)
		b.Add("iii", "i", "(loop (drop "+load+") (br_if 0 (i32.eqz (local.tee 2 (i32.eqz (local.get 2)))))) (i32.const 1)", two...)
	}
	check(t, compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 32)+wat.Filled(65536-32, 32)+b.String()+")", b.Calls...))
}

// TestLoadUses loads a value that is used twice, or whose memory, global or length of
// memory changes between load and use: a load that becomes the operand of another
// instruction is done once, and where it stands.
func TestLoadUses(t *testing.T) {
	loads, _ := wat.Accesses()
	between := []string{"", "(i64.store (local.get 0) (i64.const 0x1122334455667788))", "(i32.store8 offset=1 (local.get 0) (i32.const 99))",
		"(call $store (local.get 0))", "(drop (memory.grow (i32.const 1)))", "(memory.fill (local.get 0) (i32.const 3) (i32.const 4))",
		"(global.set $g (local.get 0))", "(if (local.get 1) (then (i64.store (local.get 0) (i64.const -5))))", "(drop (i32.div_u (i32.const 5) (i32.xor (local.get 1) (i32.const 1))))"}
	for i, mid := range between {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			for n, op := range append(wat.Numeric(2), wat.Numeric(1)...) {
				for _, l := range loads {
					if l.Result[0] != op.Params[len(op.Params)-1] || !cases.Has(n+i, 8) {
						continue
					}
					rest := ""
					if len(op.Params) == 2 {
						rest = aValue(op.Params[0])
					}
					load := "(" + l.Name + " (local.get 0))"
					def := fmt.Sprintf("(local $v %s) (local.set $v %s)", wat.TypeName(l.Result[0]), load)
					args := compare.Product([]uint64{32, 65536 - l.Width, 65536}, []uint64{0, 1})
					if i == 4 {
						args = args[:1]
					}
					b.Add("ii", op.Result, fmt.Sprintf("%s %s (%s %s (local.get $v))", def, mid, op.Name, rest), args...)
					b.Add("ii", op.Result+l.Result, fmt.Sprintf("%s %s (%s %s (local.get $v)) (local.get $v)", def, mid, op.Name, rest), args...)
					b.Add("ii", l.Result+op.Result, fmt.Sprintf("%s (local.get $v) %s (%s %s (local.get $v))", def, mid, op.Name, rest), args...)
					if len(op.Params) == 2 {
						b.Add("ii", op.Result+op.Result, fmt.Sprintf("%s %s (%s %s (local.get $v)) (%[3]s %[5]s %[4]s)", def, mid, op.Name, rest, load), args...)
						b.Add("ii", op.Result, fmt.Sprintf("%s %s (%s (local.get $v) (local.get $v))", def, mid, op.Name), args...)
						b.Add("ii", op.Result, fmt.Sprintf("%s %s (%s %s (local.get $v))", def, mid, op.Name, load), args...)
					}
				}
			}
			check(t, compare.Single(`(module (memory (export "memory") 1 4)`+wat.Filled(0, 64)+wat.Filled(65536-32, 32)+`
				(global $g (mut i32) (i32.const 0))
				(func $store (param i32) (i64.store (local.get 0) (i64.const 0x99aabbccddeeff00)))`+b.String()+")", b.Calls...))
		})
	}
}

// trapping are operators that trap, each another way, or do not, by local 0.
var trapping = []struct{ name, text string }{
	{"load", "(drop (i32.load (i32.mul (local.get 0) (i32.const 65535))))"},
	{"f64 load", "(drop (f64.load (i32.mul (local.get 0) (i32.const 65535))))"},
	{"store", "(i64.store (i32.mul (local.get 0) (i32.const 65535)) (i64.const -2))"},
	{"divide", "(drop (i32.div_u (i32.const 5) (i32.eqz (local.get 0))))"},
	{"divide 64", "(drop (i64.rem_s (i64.const 5) (i64.extend_i32_u (i32.eqz (local.get 0)))))"},
	{"overflow", "(drop (i32.div_s (i32.shl (i32.const 1) (i32.mul (local.get 0) (i32.const 31))) (i32.const -1)))"},
	{"overflow 64", "(drop (i64.div_s (i64.shl (i64.const 1) (i64.mul (i64.extend_i32_u (local.get 0)) (i64.const 63))) (i64.const -1)))"},
	{"trunc", "(drop (i32.trunc_f64_s (f64.mul (f64.convert_i32_u (local.get 0)) (f64.const 1e10))))"},
	{"trunc NaN", "(drop (i64.trunc_f32_u (f32.div (f32.const 1) (f32.sub (f32.const 1) (f32.convert_i32_u (local.get 0))))))"},
	{"unreachable", "(if (local.get 0) (then (unreachable)))"},
	{"null", "(call_indirect (i32.add (i32.const 0) (local.get 0)))"},
	{"type", "(call_indirect (i32.shl (local.get 0) (i32.const 1)))"},
	{"element", "(call_indirect (i32.mul (local.get 0) (i32.const 10)))"},
	{"table.get", "(drop (table.get (i32.mul (local.get 0) (i32.const 10))))"},
	{"table.set", "(table.set (i32.mul (local.get 0) (i32.const 10)) (ref.null func)) (table.set (i32.const 0) (ref.func $nothing))"},
	{"fill", "(memory.fill (i32.const 65500) (i32.const 5) (i32.mul (local.get 0) (i32.const 37)))"},
	{"copy", "(memory.copy (i32.const 65500) (i32.const 0) (i32.mul (local.get 0) (i32.const 37)))"},
	{"init", "(memory.init 0 (i32.const 8) (i32.mul (local.get 0) (i32.const 6)) (i32.const 2))"},
	{"table.init", "(table.init 1 (i32.const 4) (local.get 0) (i32.const 1))"},
	{"table.copy", "(table.copy (i32.const 0) (i32.mul (local.get 0) (i32.const 10)) (i32.const 1))"},
	{"effect", "(i32.store8 offset=20 (local.get 0) (i32.add (i32.const 1) (i32.load8_u offset=20 (local.get 0))))"},
	{"global", "(global.set $g (i32.add (global.get $g) (i32.const 1)))"},
	{"host", "(global.set $g (call $host (global.get $g)))"},
}

// TestFirstTrapWins has two traps in a function, in all pairs: the first one counts, and
// nothing behind it happens.
func TestFirstTrapWins(t *testing.T) {
	var b compare.Builder
	for i, x := range trapping {
		for n, y := range trapping {
			if !cases.Has(i+n, 4) {
				continue
			}
			second := strings.ReplaceAll(y.text, "(local.get 0)", "(local.get 1)")
			bodies := []string{x.text + "(i32.store16 (i32.const 40) (i32.const 1))" + second + "(i32.store16 (i32.const 42) (i32.const 2))", x.text + second}
			for k, body := range bodies {
				name := fmt.Sprintf("%s, %s %d", x.name, y.name, k)
				fmt.Fprintf(&b, "(func (export %q) (param i32 i32) %s)\n", name, body)
				for _, a := range compare.Product([]uint64{0, 1}, []uint64{0, 1}) {
					b.Calls = append(b.Calls, compare.Call{Func: name, Args: a}, compare.Call{Func: "state"}, compare.Call{Func: "clear"})
				}
			}
		}
	}
	// Operands of one operator: the left one first.
	values := []string{"(i32.load (local.get 0))", "(i32.div_u (i32.const 1) (local.get 1))", "(i32.trunc_f32_s (f32.convert_i32_u (local.get 0)))", "(i32.load8_s offset=65535 (local.get 1))",
		"(i32.rem_s (local.get 0) (local.get 1))", "(call $pick (local.get 1))"}
	args := sampled(compare.Product([]uint64{0, 65533, 0xFFFFFFFF}, []uint64{0, 1, 2, 3}), 2)
	for i, x := range values {
		for n, y := range values {
			if !cases.Has(i+n, 1) {
				continue
			}
			for _, op := range []string{"add", "and", "shl", "lt_u", "div_s"} {
				b.Add("ii", "i", fmt.Sprintf("(i32.%s %s %s)", op, x, y), args...)
			}
			b.Add("ii", "", fmt.Sprintf("(i32.store %s %s)", x, y), args...)
			b.Add("ii", "i", fmt.Sprintf("(select %s %s (i32.load (i32.mul (local.get 1) (i32.const 30000))))", x, y), args...)
			b.Add("ii", "i", fmt.Sprintf("(call $pick (i32.add %s (call $pick %s)))", x, y), args...)
		}
	}
	c := compare.Single(`(module (import "host" "i_i" (func $host (param i32) (result i32)))
		(memory (export "memory") 1) (global $g (export "g") (mut i32) (i32.const 0)) (data "abcdefg") `+wat.Filled(0, 64)+`
		(table 6 funcref) (elem (i32.const 0) func $nothing) (elem func $nothing) (elem (i32.const 2) func $pick)
		(func $nothing) (func $pick (param i32) (result i32) (if (i32.eq (local.get 0) (i32.const 3)) (then unreachable)) (local.get 0))
		(func (export "state") (result i64 i32 i32) (i64.load (i32.const 0)) (i32.load (i32.const 40)) (global.get $g))
		(func (export "clear") (memory.fill (i32.const 0) (i32.const 1) (i32.const 64)) (memory.fill (i32.const 65400) (i32.const 1) (i32.const 136)))`+b.String()+")", b.Calls...)
	c.Watch = !cases.Sample()
	check(t, c)
}
