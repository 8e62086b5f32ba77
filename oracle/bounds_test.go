package oracle

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// value is a constant to store, of any type.
func value(t byte) string { return reinterpreted(t, 0x8182838485868788) }

// TestBoundsGrid accesses memories of several sizes around all edges, with every operator.
func TestBoundsGrid(t *testing.T) {
	for _, g := range bugcases.Grids() {
		t.Run(g.Name, func(t *testing.T) {
			if g.Large() {
				checkNative(t, g.Case())
			} else {
				check(t, g.Case())
			}
		})
	}
}

// narrowed are operators that use only the lower half of a vector. wasmtime 39 loads no more of it from memory, and does not trap where only the
// upper half is out of bounds.
var narrowed = []string{"i16x8.extend_low_i8x16_s", "i16x8.extend_low_i8x16_u", "i16x8.extmul_low_i8x16_s", "i16x8.extmul_low_i8x16_u"}

// TestVectors has the published bugs with vectors.
func TestVectors(t *testing.T) {
	all := bugcases.All()
	operands := slices.DeleteFunc(bugcases.VectorOperands(all), func(c bugcases.Case) bool { return slices.Contains(narrowed, c.Name) })
	single := []bugcases.Case{{Name: "swizzle", Make: func() *compare.Case { return bugcases.Swizzles(all) }}, {Name: "select", Make: bugcases.VectorSelects}}
	bugcases.Run(t, slices.Concat(bugcases.VectorShifts(all), bugcases.Shuffles(all), bugcases.VectorIdentities(all), operands, bugcases.VectorSpills(), single), check)
}

// TestDirtyUpperHalf uses every producer of an i32 as address, index, length and number, at once and after a call.
func TestDirtyUpperHalf(t *testing.T) {
	bugcases.Run(t, bugcases.DirtyUpperHalf(bugcases.All()), check)
}

// TestSpilledAddresses uses numbers as addresses that were spilled across a call.
func TestSpilledAddresses(t *testing.T) { check(t, bugcases.SpilledAddresses(bugcases.All())) }

// TestWrappedAddresses computes addresses that wrap around 32 bits.
func TestWrappedAddresses(t *testing.T) {
	bugcases.Run(t, bugcases.WrappedAddresses(bugcases.All()), check)
}

// TestAccessSequences has sequences of accesses around the end of memory, which share addresses.
func TestAccessSequences(t *testing.T) {
	bugcases.Run(t, bugcases.AccessSequences(bugcases.All()), check)
}

// TestLargeBulk runs bulk operations whose operands are above 2 GiB.
func TestLargeBulk(t *testing.T) {
	const pages = 49152 // 3 GiB
	var b compare.Builder
	edge := []uint64{0, 1, 5, 0x7FFFFFFF, 0x80000000, 0xBFFFFFFF, 0xC0000000, 0xC0000001, 0xFFFFFFFF}
	lengths := []uint64{0, 1, 9, 0x40000001, 0x80000000, 0xC0000001, 0xFFFFFFFF}
	for _, op := range []string{"memory.fill", "memory.copy", "memory.init 0"} {
		params := compare.Product(edge, []uint64{3, 0x80000005, 0xBFFFFFFF, 0xFFFFFFFF}, lengths)
		var small [][]uint64
		for _, p := range params {
			// Not those that would touch gigabytes.
			if p[2] < 100 || p[0]+p[2] > 3<<30 || op != "memory.fill" && p[1]+p[2] > 3<<30 {
				small = append(small, p)
			}
		}
		b.Add("iii", "", fmt.Sprintf("(%s (local.get 0) (local.get 1) (local.get 2))", op), small...)
		for _, p := range small {
			if p[0] >= 0x80000000 && p[0]%4 != 3 {
				b.Add("", "", fmt.Sprintf("(%s %s %s %s)", op, wat.Const('i', p[0]), wat.Const('i', p[1]), wat.Const('i', p[2])), nil)
			}
		}
	}
	checkNative(t, compare.Single(fmt.Sprintf(`(module (memory (export "memory") %d) (data "0123456789abcdef") %s)`, pages, b.String()), b.Calls...))
}

// TestUnusedLoads checks that a load whose value is not needed traps all the same, and so
// do loads that feed a select.
func TestUnusedLoads(t *testing.T) {
	var b compare.Builder
	args := compare.Each(0, 65528, 65529, 65532, 65533, 65534, 65535, 65536, 0xFFFFFFFF)
	for _, l := range loads() {
		load := "(" + l.Name + " (local.get 0))"
		b.Add("i", "", "(drop "+load+")", args...)
		b.Add("i", "i", "(drop "+load+") (i32.const 7)", args...)
		b.Add("i", "", "(local "+wat.TypeName(l.Type())+") (local.set 1 "+load+")", args...)
		b.Add("i", "i", "(if (i32.const 0) (then (drop "+load+"))) (i32.const 7)", args...)
		b.Add("i", "i", "(drop "+load+") (drop (i32.load8_u (i32.const 65536))) (i32.const 7)", args...)
		two := compare.Product([]uint64{0, 65528, 65535, 65536}, []uint64{0, 65529, 65536}, []uint64{0, 1})
		other := "(" + l.Name + " (local.get 1))"
		b.Add("iii", string(l.Type()), "(select "+load+other+"(local.get 2))", two...)
		b.Add("iii", string(l.Type()), "(select "+load+value(l.Type())+"(local.get 2))", two...)
		b.Add("iii", string(l.Type()), "(select "+value(l.Type())+load+"(local.get 2))", two...)
		b.Add("iii", string(l.Type()), "(select "+value(l.Type())+load+"(f64.lt (f64.load (local.get 1)) (f64.const 0)))", two...)
		b.Add("iii", string(l.Type()), "(select "+load+value(l.Type())+"(i32.lt_u (local.get 2) (i32.load (local.get 1))))", two...)
		b.Add("iii", "", "(drop (select "+load+other+"(local.get 2)))", two...)
		b.Add("iii", "i", "(select (i32.const 3) (i32.const 3) (i32.and (i32.const 0) "+toI32(l.Type(), load)+"))", two...)
		b.Add("iii", "i", "(i32.mul (i32.const 0) "+toI32(l.Type(), load)+")", two...)
		b.Add("iii", "i", "(i32.sub "+toI32(l.Type(), load)+toI32(l.Type(), load)+")", two...)
	}
	check(t, compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 32)+wat.Filled(65536-32, 32)+b.String()+")", b.Calls...))
}

func toI32(t byte, e string) string {
	if t == 'i' {
		return e
	}
	return "(i32.wrap_i64 " + wat.ToI64(t, e) + ")"
}

// TestLastBytes feeds every operator from loads at the end of memory, at all
// alignments: an instruction that takes its operand from memory must read no more than the load
// does.
func TestLastBytes(t *testing.T) {
	var ops []wat.Operator
	ops = append(append(ops, wat.Numeric(2)...), wat.Numeric(1)...)
	byType := map[byte][]wat.Operator{}
	for _, l := range loads() {
		byType[l.Type()] = append(byType[l.Type()], l)
	}
	var b compare.Builder
	for _, op := range ops {
		for pos := range op.Params {
			for _, l := range byType[op.Params[pos]] {
				operands := ""
				for n := range op.Params {
					if n == pos {
						operands += "(" + l.Name + " (local.get 0))"
					} else {
						operands += wat.Const(op.Params[n], firstOperand(op.Params[n]))
					}
				}
				var args [][]uint64
				for _, x := range []uint64{0, 1, 2, 3, 4, 5, 8, 11, 16} {
					args = append(args, []uint64{65536 - l.Width - x})
				}
				args = append(args, compare.Each(65536-l.Width+1, 65536, 0xFFFFFFFF)...)
				b.Add("i", op.Result, "("+op.Name+" "+operands+")", args...)
			}
		}
	}
	check(t, compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(65536-64, 64)+b.String()+")", b.Calls...))
}

func firstOperand(t byte) uint64 {
	switch t {
	case 'f':
		return 0xC0490FDB
	case 'd':
		return 0xC00921FB54442D18
	}
	return 77
}

// TestLoadUses loads a value that is used twice, or whose memory, global or
// length of memory changes between load and use.
func TestLoadUses(t *testing.T) {
	between := []string{"", "(i64.store (local.get 0) (i64.const 0x1122334455667788))", "(i32.store8 offset=1 (local.get 0) (i32.const 99))",
		"(call $store (local.get 0))", "(drop (memory.grow (i32.const 1)))", "(memory.fill (local.get 0) (i32.const 3) (i32.const 4))",
		"(global.set $g (local.get 0))", "(if (local.get 1) (then (i64.store (local.get 0) (i64.const -5))))"}
	for i, mid := range between {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			for _, op := range append(wat.Numeric(2), wat.Numeric(1)...) {
				for _, l := range loads() {
					if l.Type() != op.Params[len(op.Params)-1] {
						continue
					}
					last := "(local.get $v)"
					rest := ""
					if len(op.Params) == 2 {
						rest = wat.Const(l.Type(), firstOperand(l.Type()))
					}
					def := fmt.Sprintf("(local $v %s) (local.set $v (%s (local.get 0)))", wat.TypeName(l.Type()), l.Name)
					args := compare.Product([]uint64{32, 65536 - l.Width, 65536}, []uint64{0, 1})
					if i == 4 {
						args = args[:1]
					}
					r := op.Result
					b.Add("ii", r, fmt.Sprintf("%s %s (%s %s %s)", def, mid, op.Name, rest, last), args...)
					b.Add("ii", r+string(l.Type()), fmt.Sprintf("%s %s (%s %s %s) (local.get $v)", def, mid, op.Name, rest, last), args...)
					if len(op.Params) == 2 {
						b.Add("ii", r+r, fmt.Sprintf("%s %s (%s %s %s) (%[3]s %[5]s (%[6]s (local.get 0)))", def, mid, op.Name, rest, last, l.Name), args...)
					}
				}
			}
			check(t, compare.Single(`(module (memory (export "memory") 1 4)`+wat.Filled(0, 64)+wat.Filled(65536-32, 32)+`
				(global $g (mut i32) (i32.const 0))
				(func $store (param i32) (i64.store (local.get 0) (i64.const 0x99aabbccddeeff00)))`+b.String()+")", b.Calls...))
		})
	}
}

// TestStoredResults stores the results of operators where they came from: read, change
// and write of one place.
func TestStoredResults(t *testing.T) {
	var b compare.Builder
	for _, op := range wat.Numeric(2) {
		if op.Result != op.Params[:1] {
			continue
		}
		for _, l := range loads() {
			for _, s := range stores() {
				if string(l.Type()) != op.Result || string(s.Type()) != op.Result {
					continue
				}
				args := compare.Product([]uint64{16, 65536 - max(s.Width, l.Width), 65536 - min(s.Width, l.Width), 65536 - min(s.Width, l.Width) + 1}, []uint64{3, 0x81})
				if op.Result == "f" || op.Result == "d" {
					args = args[:2]
				}
				arg := "(local.get 1)"
				if op.Result != "i" {
					arg = "(" + map[string]string{"l": "i64.extend_i32_u", "f": "f32.convert_i32_u", "d": "f64.convert_i32_u"}[op.Result] + arg + ")"
				}
				b.Add("ii", "", fmt.Sprintf("(%s (local.get 0) (%s (%s (local.get 0)) %s))", s.Name, op.Name, l.Name, arg), args...)
				b.Add("ii", "", fmt.Sprintf("(%s (local.get 0) (%s %s (%s (local.get 0))))", s.Name, op.Name, arg, l.Name), args[:2]...)
			}
		}
	}
	// What the float operators leave may be a NaN of any bits: clear it with each call.
	c := compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 64)+wat.Filled(65536-32, 32)+b.String()+
		`(func (export "clear") (memory.fill (i32.const 0) (i32.const 0x40) (i32.const 64))))`, b.Calls...)
	check(t, c)
}
