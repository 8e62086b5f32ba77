package oracle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// value is a constant to store, of any type.
func value(t byte) string { return reinterpreted(t, 0x8182838485868788) }

// accessText is a load, or a store of a constant.
func accessText(a wat.Operator, offset uint64, address string) string {
	if a.Store() {
		return fmt.Sprintf("(%s offset=%d %s %s)", a.Name, offset, address, value(a.Type()))
	}
	return fmt.Sprintf("(%s offset=%d %s)", a.Name, offset, address)
}

// offsets are offsets of accesses near what matters for a memory of size bytes.
func offsets(size uint64) []uint64 {
	out := []uint64{0, 1, 8, 255, 0x7FFFFFF8, 0x7FFFFFFF, 0x80000000, 0x80000100, 0xFFFEFFFF, 0xFFFFFFF8, 0xFFFFFFFF}
	if size > 8 && size < 1<<32 {
		out = append(out, size-8, size-1, size)
	}
	return out
}

// indexes are indexes of accesses of width bytes at an offset.
func indexes(size, width, offset uint64) (out []uint64) {
	seen := map[uint64]bool{}
	add := func(x uint64) {
		if x < 1<<32 && !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	for _, x := range []uint64{0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF8} {
		add(x)
	}
	end := size - width - offset // wraps if the offset is too large: then nothing is added
	for _, x := range []uint64{end - 1, end, end + 1, size - offset, size - offset - 1, -offset, 1 - offset, -offset - width} {
		add(x)
	}
	add((1<<32 - offset) & 0xFFFFFFFF)
	return out
}

// TestBoundsGrid accesses memories of several sizes around all edges, with every operator.
func TestBoundsGrid(t *testing.T) {
	for _, m := range []struct {
		name  string
		pages uint64
		decl  string
	}{
		{"none", 0, `(memory (export "memory") 0 0)`}, {"empty", 0, `(memory (export "memory") 0 1)`},
		{"fixed", 1, `(memory (export "memory") 1 1)`}, {"growable", 3, `(memory (export "memory") 3)`},
		{"grown", 2, `(memory (export "memory") 1 5) (func $g (drop (memory.grow (i32.const 1)))) (start $g)`},
		{"4GiB", 65536, `(memory (export "memory") 65536)`},
	} {
		t.Run(m.name, func(t *testing.T) {
			size := m.pages << 16
			var b compare.Builder
			grid := func(a wat.Operator) {
				for _, offset := range offsets(size) {
					list := indexes(size, a.Width, offset)
					b.Add("i", a.Result, accessText(a, offset, wat.Get(0)), compare.Each(list...)...)
					if offset != 0 && offset != size && m.name != "fixed" && offset < 0xFFFFFFF8 {
						continue
					}
					// With constant indexes.
					for _, x := range list {
						b.Add("", a.Result, accessText(a, offset, wat.Const('i', x)), nil)
					}
				}
			}
			for _, a := range loads() {
				grid(a)
			}
			for _, a := range stores() {
				grid(a)
			}
			c := compare.Single("(module "+m.decl+b.String()+")", b.Calls...)
			c.ExactNaNs = true
			if m.pages > 1000 {
				checkNative(t, c)
			} else {
				check(t, c)
			}
		})
	}
}

// producer makes an i32 of an i64 parameter (local 0), with much chance that a
// register has dirt in its upper half.
type producer struct{ name, text string }

func producers() (out []producer) {
	add := func(name, text string) { out = append(out, producer{name, text}) }
	wrapped := "(i32.wrap_i64 (local.get 0))"
	add("wrap", wrapped)
	for _, op := range []string{"add", "sub", "mul", "and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"} {
		add("wrap "+op, fmt.Sprintf("(i32.wrap_i64 (i64.%s (local.get 0) (i64.const 0xfffffff300000021)))", op))
	}
	for _, op := range wat.Numeric(2) {
		if op.Params != "ii" || strings.Contains(op.Name, "div") || strings.Contains(op.Name, "rem") {
			continue
		}
		add(op.Name, fmt.Sprintf("(%s %s (i32.const 0xfffffff9))", op.Name, wrapped))
		add(op.Name+" high", fmt.Sprintf("(%s %s (i32.wrap_i64 (i64.shr_u (local.get 0) (i64.const 31))))", op.Name, wrapped))
	}
	for _, op := range []string{"div_s", "div_u", "rem_s", "rem_u"} {
		add(op, fmt.Sprintf("(i32.%s %s (i32.const -3))", op, wrapped))
		add(op+" power", fmt.Sprintf("(i32.%s %s (i32.const -8))", op, wrapped))
	}
	for _, op := range wat.Numeric(1) {
		switch {
		case op.Result != "i":
		case op.Params == "i":
			add(op.Name, fmt.Sprintf("(%s %s)", op.Name, wrapped))
		case op.Params == "l":
			add(op.Name, fmt.Sprintf("(%s (local.get 0))", op.Name))
		case op.Name == "i32.reinterpret_f32":
			add(op.Name, "(i32.reinterpret_f32 (f32.convert_i64_s (local.get 0)))")
		case op.Params == "f" && strings.Contains(op.Name, "sat"):
			add(op.Name, fmt.Sprintf("(%s (f32.convert_i64_s (local.get 0)))", op.Name))
		case op.Params == "d" && strings.Contains(op.Name, "sat"):
			add(op.Name, fmt.Sprintf("(%s (f64.convert_i64_s (local.get 0)))", op.Name))
		case op.Params == "f":
			add(op.Name, fmt.Sprintf("(%s (f32.convert_i32_s (i32.shr_s %s (i32.const 1))))", op.Name, wrapped))
		case op.Params == "d":
			add(op.Name, fmt.Sprintf("(%s (f64.convert_i32_s %s))", op.Name, wrapped))
		}
	}
	// Loads: the bytes at 128 and before have their sign set.
	for _, l := range loads() {
		if l.Result == "i" {
			add(l.Name, fmt.Sprintf("(%s (i32.and %s (i32.const 127)))", l.Name, wrapped))
		} else if l.Result == "l" {
			add(l.Name, fmt.Sprintf("(i32.wrap_i64 (%s (i32.and %s (i32.const 127))))", l.Name, wrapped))
		}
	}
	add("select", fmt.Sprintf("(select %s (i32.load8_s (i32.const 3)) (i64.eqz (i64.and (local.get 0) (i64.const 1))))", wrapped))
	add("if", fmt.Sprintf("(if (result i32) (i64.eqz (i64.and (local.get 0) (i64.const 1))) (then %s) (else (i32.load16_s (i32.const 3))))", wrapped))
	add("block", fmt.Sprintf("(block (result i32) (drop (br_if 0 (i32.load8_s (i32.const 3)) (i64.eqz (local.get 0)))) %s)", wrapped))
	add("loop", fmt.Sprintf("(local.set $i (i32.const 3)) %s (loop (param i32) (result i32) (i32.mul (i32.const 5)) (br_if 0 (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))", wrapped))
	add("local", fmt.Sprintf("(local.set $i %s) (local.set $j (i32.add (local.get $i) (local.get $i))) (i32.sub (local.get $j) (local.get $i))", wrapped))
	add("global", fmt.Sprintf("(global.set $g %s) (global.get $g)", wrapped))
	add("memory.size", "(memory.size)")
	add("memory.grow fails", "(memory.grow (i32.const 70000))")
	add("memory.grow dirty", fmt.Sprintf("(memory.grow (i32.or %s (i32.const 0x100000)))", wrapped))
	add("table.size", "(table.size)")
	add("table.grow fails", "(table.grow (ref.null func) (i32.const -1))")
	add("table.grow dirty", fmt.Sprintf("(table.grow (ref.null func) (i32.or %s (i32.const 0x100000)))", wrapped))
	add("host", "(call $host_i (local.get 0))")
	add("host stack", "(call $host_many (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0) (local.get 0))")
	add("call", "(call $wrap (local.get 0))")
	add("indirect", "(call_indirect (param i64) (result i32) (local.get 0) (i32.const 0))")
	for n := range 20 {
		list := ""
		for k := range 20 {
			if k == n {
				list += wrapped
			} else {
				list += fmt.Sprintf("(i32.xor %s (i32.const %d))", wrapped, -200-k)
			}
		}
		add(fmt.Sprintf("argument %d", n), fmt.Sprintf("(call $nth%d %s)", n, list))
		add(fmt.Sprintf("result %d", n), fmt.Sprintf("(call $results (local.get 0)) %s (local.set $i) %s (local.get $i)",
			strings.Repeat("(drop)", n), strings.Repeat("(drop)", 19-n)))
	}
	return out
}

// consumers use $p, an i32, in ways that see dirt.
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

// TestDirtyUpperHalf uses every producer of an i32 as address, index, length and number.
func TestDirtyUpperHalf(t *testing.T) {
	args := compare.Each(0, 1, 64, 0xFFFFFFFF00000000, 0xFFFFFFFF00000040, 0x80000000, 0x180000010, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF,
		0x123456780000FFFC, 0x7FFFFFFF0000FFFF)
	var prelude strings.Builder
	many := strings.Repeat("i32 ", 20)
	for n := range 20 {
		fmt.Fprintf(&prelude, "(func $nth%d (param %s) (result i32) (local.get %d))\n", n, many, n)
	}
	fmt.Fprintf(&prelude, "(func $results (param i64) (result %s)", many)
	for n := range 20 {
		fmt.Fprintf(&prelude, " (i32.rotl (i32.wrap_i64 (local.get 0)) (i32.const %d))", 32-n)
	}
	prelude.WriteString(")\n")
	for _, p := range producers() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			var b compare.Builder
			for _, c := range consumers {
				for spilled := range 2 {
					between := ""
					if spilled == 1 {
						between = "(global.set $g (call $clobber (i64.const 9)))"
					}
					fmt.Fprintf(&b, "(func (export \"%s %d\") (param i64) %s (local $p i32) (local $i i32) (local $j i32) %s (local.set $p) %s %s)\n",
						c.name, spilled, wat.Types("result", c.result), p.text, between, c.text)
					for _, a := range args {
						b.Calls = append(b.Calls, compare.Call{Func: fmt.Sprintf("%s %d", c.name, spilled), Args: a})
					}
				}
			}
			check(t, compare.Single(`(module
				(import "host" "l_i" (func $host_i (param i64) (result i32)))
				(import "host" "ii_l" (func $host_l (param i32 i32) (result i64)))
				(import "host" "llllllll_i" (func $host_many (param i64 i64 i64 i64 i64 i64 i64 i64) (result i32)))
				(memory (export "memory") 1 3) `+wat.Filled(0, 300)+`
				(table 10 20 funcref) (elem (i32.const 0) $wrap)
				(global $g (export "g") (mut i32) (i32.const 0)) (global $l (export "l") (mut i64) (i64.const 0))
				(func $wrap (param i64) (result i32) (i32.wrap_i64 (local.get 0)))
				(func $clobber (param i64) (result i32) (i32.wrap_i64 (local.get 0)))
				`+prelude.String()+b.String()+")", b.Calls...))
		})
	}
}

// TestPressure keeps numbers with the upper bit set across calls while registers
// are short, and then uses them as addresses.
func TestPressure(t *testing.T) {
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
		uses := ""
		for k := range n {
			uses = fmt.Sprintf("(i32.or %s (i32.lt_u (local.get $v%d) (i32.const 100)))", uses, k)
			if k == 0 {
				uses = "(i32.eqz (local.get $v0))"
			}
		}
		b.Add("i", "ii", fmt.Sprintf("%s (i32.load8_u offset=300 (local.get $v%d)) %s", body, i, uses),
			compare.Each(0, 1, 0x80, 0xFF, 0x80000000, 0xFFFFFFFF, 0xFF00)...)
	}
	check(t, compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 400)+`(func $clobber)`+b.String()+")", b.Calls...))
}

// TestWrap computes addresses that wrap around 32 bits.
func TestWrap(t *testing.T) {
	var b compare.Builder
	x, y := wat.Get(0), wat.Get(1)
	var addresses []string
	for _, c := range []uint64{1, 8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF8, 0xFFFFFFFF} {
		k := wat.Const('i', c)
		addresses = append(addresses, "(i32.add "+x+k+")", "(i32.sub "+x+k+")", "(i32.sub "+k+x+")", "(i32.mul "+x+k+")",
			"(i32.add (i32.add "+x+y+")"+k+")", "(i32.add (i32.add "+x+k+")"+y+")", "(i32.add (i32.sub "+x+k+")"+k+")")
	}
	for k := range 33 {
		shift := wat.Const('i', uint64(k))
		addresses = append(addresses, "(i32.shl "+x+shift+")", "(i32.add "+y+"(i32.shl "+x+shift+"))",
			"(i32.add (i32.shl "+x+shift+")"+y+")", "(i32.add (i32.add (i32.shl "+x+shift+")"+y+") (i32.const -16))")
	}
	for k := range 65 {
		shift := wat.Const('l', uint64(k))
		addresses = append(addresses, "(i32.wrap_i64 (i64.shl (i64.extend_i32_u "+x+")"+shift+"))",
			"(i32.wrap_i64 (i64.add (i64.extend_i32_s "+y+")(i64.shl (i64.extend_i32_u "+x+")"+shift+")))")
	}
	for _, k := range []int{1, 3, 5, 9, 8, 24} {
		addresses = append(addresses, fmt.Sprintf("(i32.add %s (i32.mul %s (i32.const %d)))", y, x, k))
	}
	addresses = append(addresses, "(i32.add "+x+y+")", "(i32.sub "+x+y+")", "(i32.mul "+x+y+")", "(i32.add "+x+x+")",
		"(i32.wrap_i64 (i64.mul (i64.extend_i32_u "+x+")(i64.extend_i32_u "+y+")))")
	list := compare.Product([]uint64{0, 1, 8, 0xFFF8, 0x10000, 0x7FFFFFFF, 0x80000001, 0xFFFFFFF0, 0xFFFFFFFF}, []uint64{0, 16, 0x80000000, 0xFFFFFFF8})
	for i, a := range addresses {
		for n, op := range loads() {
			// Each address with some of the widths, each width with the usual one and a large offset.
			if (i+n)%3 != 0 {
				continue
			}
			b.Add("ii", string(op.Type()), accessText(op, 0, a), list...)
		}
		b.Add("ii", "l", accessText(wat.Operator{Name: "i64.load", Result: "l", Width: 8}, 0x7FFFFFF0, a), list...)
		b.Add("ii", "", accessText(wat.Operator{Name: "i32.store16", Params: "ii", Width: 2}, 4, a), list...)
	}
	check(t, compare.Single(`(module (memory (export "memory") 1)`+wat.Filled(0, 200)+wat.Filled(65536-100, 100)+b.String()+")", b.Calls...))
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
