package knownbugs

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
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
		fmt.Fprintf(&b, "(func $id_%[1]s (param %[2]s) (result %[2]s) %[4]s (local.get 0)) (global $%[1]s (mut %[2]s) %[3]s)\n", ts, wat.TypeName(l), aValue(l), wat.NotInlined)
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
				(func $store (param i32) `+wat.NotInlined+`(i64.store (local.get 0) (i64.const 0x99aabbccddeeff00)))`+b.String()+")", b.Calls...))
		})
	}
}

// TestFirstTrapWins has all pairs of two traps in one function: the first one counts.
func TestFirstTrapWins(t *testing.T) { check(t, bugcases.FirstTrap(cases)) }
