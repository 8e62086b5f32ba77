package opt

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// ruleCase is a pattern that a rule rewrites: the function returns what build
// makes of its parameters p and the constant k.
type ruleCase struct {
	name   string
	params []clif.Type
	build  func(b *clif.Builder, p []clif.Value, k uint64) clif.Value
	k      uint64
	want   string // the instructions afterwards, for k
}

const (
	i32 = clif.I32
	i64 = clif.I64
	f32 = clif.F32
	f64 = clif.F64
)

type (
	bld = *clif.Builder
	val = clif.Value
)

func bin2(op clif.Opcode, t clif.Type) func(bld, []val, uint64) val {
	return func(b bld, p []val, k uint64) val { return b.Binary(op, t, p[0], b.Iconst(t, k)) }
}

// twice is (x op k) op 3.
func twice(op clif.Opcode, t clif.Type) func(bld, []val, uint64) val {
	return func(b bld, p []val, k uint64) val {
		return b.Binary(op, t, b.Binary(op, t, p[0], b.Iconst(t, k)), b.Iconst(t, 3))
	}
}

func same(op clif.Opcode, t clif.Type) func(bld, []val, uint64) val {
	return func(b bld, p []val, _ uint64) val { return b.Binary(op, t, p[0], p[0]) }
}

func un2(outer clif.Opcode, ot clif.Type, inner clif.Opcode, it clif.Type) func(bld, []val, uint64) val {
	return func(b bld, p []val, _ uint64) val { return b.Unary(outer, ot, b.Unary(inner, it, p[0])) }
}

// onConst is op of the constant k.
func onConst(op clif.Opcode, t, from clif.Type) func(bld, []val, uint64) val {
	return func(b bld, _ []val, k uint64) val { return b.Unary(op, t, emitConst(b, from, k)) }
}

// icmpK compares f of the parameter with k.
func icmpK(cc clif.IntCC, t clif.Type, f func(b bld, x val) val) func(bld, []val, uint64) val {
	return func(b bld, p []val, k uint64) val { return b.Icmp(cc, t, f(b, p[0]), b.Iconst(t, k)) }
}

func self(_ bld, x val) val { return x }

func wideU(b bld, x val) val { return b.Unary(clif.OpUextend, i64, x) }
func wideS(b bld, x val) val { return b.Unary(clif.OpSextend, i64, x) }
func low(b bld, x val) val   { return b.Unary(clif.OpIreduce, i32, x) }

var (
	one32 = []clif.Type{i32}
	one64 = []clif.Type{i64}
	two32 = []clif.Type{i32, i32}
)

func setGlobal(b bld, g uint32, t clif.Type, x val) { b.EntityEffect(clif.OpGlobalSet, t, g, 0, x) }

// ruleCases are by rule, in the order of the rule tables.
func ruleCases() []ruleCase {
	return []ruleCase{
		{"add 0", one32, bin2(clif.OpIadd, i32), 0, "return v0"},
		{"add const", one32, twice(clif.OpIadd, i32), 5, "v5 = iconst.i32 8; v4 = iadd.i32 v0, v5; return v4"},
		{"add wraps", one32, twice(clif.OpIadd, i32), 0xFFFFFFFF, "v5 = iconst.i32 2; v4 = iadd.i32 v0, v5; return v4"},
		{"add const left", one64, func(b bld, p []val, k uint64) val { return b.Binary(clif.OpIadd, i64, b.Iconst(i64, k), p[0]) }, 5, "v1 = iconst.i64 5; v2 = iadd.i64 v0, v1; return v2"},
		{"sub const", one64, bin2(clif.OpIsub, i64), 5, "v3 = iconst.i64 -5; v2 = iadd.i64 v0, v3; return v2"},
		{"sub same", one32, same(clif.OpIsub, i32), 0, "v2 = iconst.i32 0; return v2"},
		{"mul 0", one32, bin2(clif.OpImul, i32), 0, "v1 = iconst.i32 0; return v1"},
		{"mul 1", one64, bin2(clif.OpImul, i64), 1, "return v0"},
		{"mul -1", one32, bin2(clif.OpImul, i32), 0xFFFFFFFF, "v3 = iconst.i32 0; v2 = isub.i32 v3, v0; return v2"},
		{"mul power of two", one64, bin2(clif.OpImul, i64), 1 << 40, "v3 = iconst.i64 40; v2 = ishl.i64 v0, v3; return v2"},
		{"mul const", one32, twice(clif.OpImul, i32), 5, "v5 = iconst.i32 15; v4 = imul.i32 v0, v5; return v4"},
		{"udiv 1", one32, bin2(clif.OpUdiv, i32), 1, "return v0"},
		{"udiv power of two", one64, bin2(clif.OpUdiv, i64), 16, "v3 = iconst.i64 4; v2 = ushr.i64 v0, v3; return v2"},
		{"udiv 0 traps", one32, bin2(clif.OpUdiv, i32), 0, "v1 = iconst.i32 0; v2 = udiv.i32 v0, v1; return v2"},
		{"sdiv 1", one32, bin2(clif.OpSdiv, i32), 1, "return v0"},
		{"sdiv -1 may trap", one32, bin2(clif.OpSdiv, i32), 0xFFFFFFFF, "v1 = iconst.i32 -1; v2 = sdiv.i32 v0, v1; return v2"},
		{"urem power of two", one32, bin2(clif.OpUrem, i32), 8, "v3 = iconst.i32 7; v2 = band.i32 v0, v3; return v2"},
		{"and 0", one32, bin2(clif.OpBand, i32), 0, "v1 = iconst.i32 0; return v1"},
		{"and all", one64, bin2(clif.OpBand, i64), ^uint64(0), "return v0"},
		{"and const", one32, twice(clif.OpBand, i32), 6, "v5 = iconst.i32 2; v4 = band.i32 v0, v5; return v4"},
		{"and same", one32, same(clif.OpBand, i32), 0, "return v0"},
		{"and of what is narrow", one32, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpBand, i32, b.Binary(clif.OpUshr, i32, p[0], b.Iconst(i32, 24)), b.Iconst(i32, k))
		}, 0xFF, "v1 = iconst.i32 24; v2 = ushr.i32 v0, v1; return v2"},
		{"and low half", one64, bin2(clif.OpBand, i64), 0xFFFFFFFF, "v3 = ireduce.i32 v0; v2 = uextend.i64 v3; return v2"},
		{"and low half of extended", one32, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpBand, i64, wideU(b, p[0]), b.Iconst(i64, k))
		}, 0xFFFFFFFF, "v1 = uextend.i64 v0; return v1"},
		{"and of a condition", two32, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpBand, i32, b.Icmp(clif.Slt, i32, p[0], p[1]), b.Iconst(i32, k))
		}, 1, "v2 = icmp.i32 slt, v0, v1; return v2"},
		{"and of shl", one64, func(b bld, p []val, k uint64) val {
			x := b.Binary(clif.OpIshl, i64, b.Unary(clif.OpUextend, i64, low(b, p[0])), b.Iconst(i64, 8))
			return b.Binary(clif.OpBand, i64, x, b.Iconst(i64, k))
		}, 0xFFFFFFFF00, "v1 = ireduce.i32 v0; v2 = uextend.i64 v1; v3 = iconst.i64 8; v4 = ishl.i64 v2, v3; return v4"},
		{"and of select", two32, func(b bld, p []val, k uint64) val {
			x := b.Select(i32, p[0], b.Unary(clif.OpClz, i32, p[1]), b.Iconst(i32, 5))
			return b.Binary(clif.OpBand, i32, x, b.Iconst(i32, k))
		}, 0x7F, "v2 = clz.i32 v1; v3 = iconst.i32 5; v4 = select.i32 v0, v2, v3; return v4"},
		{"or 0", one32, bin2(clif.OpBor, i32), 0, "return v0"},
		{"or all", one32, bin2(clif.OpBor, i32), 0xFFFFFFFF, "v1 = iconst.i32 -1; return v1"},
		{"or const", one64, twice(clif.OpBor, i64), 4, "v5 = iconst.i64 7; v4 = bor.i64 v0, v5; return v4"},
		{"or same", one64, same(clif.OpBor, i64), 0, "return v0"},
		{"xor 0", one32, bin2(clif.OpBxor, i32), 0, "return v0"},
		{"xor const", one64, twice(clif.OpBxor, i64), 1 << 60, "v5 = iconst.i64 1152921504606846979; v4 = bxor.i64 v0, v5; return v4"},
		{"xor same", one64, same(clif.OpBxor, i64), 0, "v2 = iconst.i64 0; return v2"},
		{"not of k - x", one32, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpBxor, i32, b.Binary(clif.OpIsub, i32, b.Iconst(i32, k), p[0]), b.Iconst(i32, ^uint64(0)))
		}, 0x7a, "v5 = iconst.i32 -123; v4 = iadd.i32 v0, v5; return v4"},
		{"not of xor and sum", one64, func(b bld, p []val, k uint64) val {
			sum := b.Binary(clif.OpIadd, i64, b.Binary(clif.OpBxor, i64, p[0], b.Iconst(i64, k)), b.Iconst(i64, 1))
			return b.Binary(clif.OpBxor, i64, sum, b.Iconst(i64, ^uint64(0)))
		}, 0x3fd0, "v5 = iconst.i64 -1; v7 = iconst.i64 -16337; v8 = bxor.i64 v0, v7; v6 = iadd.i64 v8, v5; return v6"},
		{"shl 0", one32, bin2(clif.OpIshl, i32), 32, "return v0"},
		{"shr too far", one64, bin2(clif.OpUshr, i64), 65, "v3 = iconst.i64 1; v2 = ushr.i64 v0, v3; return v2"},
		{"rotl too far", one32, bin2(clif.OpRotl, i32), 33, "v3 = iconst.i32 1; v2 = rotl.i32 v0, v3; return v2"},
		{"shl masked amount", two32, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpIshl, i32, p[0], b.Binary(clif.OpBand, i32, p[1], b.Iconst(i32, k)))
		}, 31, "v4 = ishl.i32 v0, v1; return v4"},
		{"sext8 by shifts", one32, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpSshr, i32, b.Binary(clif.OpIshl, i32, p[0], b.Iconst(i32, k)), b.Iconst(i32, k))
		}, 24, "v4 = sext8.i32 v0; return v4"},
		{"shifts by nothing", one32, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpSshr, i32, b.Binary(clif.OpIshl, i32, p[0], b.Iconst(i32, k)), b.Iconst(i32, k))
		}, 0, "return v0"},
		{"sext32 by shifts", one64, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpSshr, i64, b.Binary(clif.OpIshl, i64, p[0], b.Iconst(i64, k)), b.Iconst(i64, k))
		}, 32, "v4 = sext32.i64 v0; return v4"},
		{"clz const", nil, onConst(clif.OpClz, i32, i32), 0, "v2 = iconst.i32 32; return v2"},
		{"ctz const", nil, onConst(clif.OpCtz, i64, i64), 0, "v2 = iconst.i64 64; return v2"},
		{"popcnt const", nil, onConst(clif.OpPopcnt, i32, i32), 0xFF, "v2 = iconst.i32 8; return v2"},
		{"sext8 const", nil, onConst(clif.OpSext8, i32, i32), 0x80, "v2 = iconst.i32 -128; return v2"},
		{"sext32 const", nil, onConst(clif.OpSext32, i64, i64), 0x80000000, "v2 = iconst.i64 -2147483648; return v2"},
		{"sextend const", nil, onConst(clif.OpSextend, i64, i32), 0x80000000, "v2 = iconst.i64 -2147483648; return v2"},
		{"sext8 twice", one32, un2(clif.OpSext8, i32, clif.OpSext8, i32), 0, "v1 = sext8.i32 v0; return v1"},
		{"sext32 of sextend", one32, un2(clif.OpSext32, i64, clif.OpSextend, i64), 0, "v1 = sextend.i64 v0; return v1"},
		{"sext32 of uextend", one32, un2(clif.OpSext32, i64, clif.OpUextend, i64), 0, "v2 = sextend.i64 v0; return v2"},
		{"sextend of ireduce", one64, un2(clif.OpSextend, i64, clif.OpIreduce, i32), 0, "v2 = sext32.i64 v0; return v2"},
		{"uextend of ireduce of extended", one32, func(b bld, p []val, _ uint64) val { return wideU(b, low(b, wideU(b, p[0]))) }, 0, "v1 = uextend.i64 v0; return v1"},
		{"uextend of ireduce of more stays", one64, func(b bld, p []val, k uint64) val {
			x := b.Binary(clif.OpBand, i64, p[0], b.Iconst(i64, k))
			return b.Binary(clif.OpIadd, i64, wideU(b, low(b, x)), x)
		}, 0x1FFFFFFFE, "v1 = iconst.i64 8589934590; v2 = band.i64 v0, v1; v3 = ireduce.i32 v2; v4 = uextend.i64 v3; v5 = iadd.i64 v4, v2; return v5"},
		{"reduce of what nothing else needs", []clif.Type{i64, i64}, func(b bld, p []val, k uint64) val {
			x := b.Binary(clif.OpIadd, i64, p[0], b.Binary(clif.OpIshl, i64, p[1], b.Iconst(i64, k)))
			return b.Binary(clif.OpIadd, i32, low(b, x), low(b, b.Binary(clif.OpImul, i64, x, x)))
		}, 3, "v9 = ireduce.i32 v0; v10 = ireduce.i32 v1; v11 = iconst.i32 3; v12 = ishl.i32 v10, v11; v5 = iadd.i32 v9, v12; v7 = imul.i32 v5, v5; v8 = iadd.i32 v5, v7; return v8"},
		{"reduce of a shift by more stays", []clif.Type{i64, i64}, func(b bld, p []val, k uint64) val {
			return low(b, b.Binary(clif.OpIadd, i64, p[0], b.Binary(clif.OpIshl, i64, p[1], b.Iconst(i64, k))))
		}, 32, "v2 = iconst.i64 32; v3 = ishl.i64 v1, v2; v6 = ireduce.i32 v0; v7 = ireduce.i32 v3; v5 = iadd.i32 v6, v7; return v5"},
		{"sextend of what is not negative", two32, func(b bld, p []val, _ uint64) val {
			return wideS(b, b.Icmp(clif.Slt, i32, p[0], p[1]))
		}, 0, "v2 = icmp.i32 slt, v0, v1; v3 = uextend.i64 v2; return v3"},
		{"sext16 of what is small", one32, func(b bld, p []val, k uint64) val {
			return b.Unary(clif.OpSext16, i32, b.Binary(clif.OpBand, i32, p[0], b.Iconst(i32, k)))
		}, 0x7FFF, "v1 = iconst.i32 32767; v2 = band.i32 v0, v1; return v2"},
		{"ireduce const", nil, onConst(clif.OpIreduce, i32, i64), 0x1234567890, "v2 = iconst.i32 878082192; return v2"},
		{"ireduce of uextend", one32, un2(clif.OpIreduce, i32, clif.OpUextend, i64), 0, "return v0"},
		{"ireduce of sextend", one32, un2(clif.OpIreduce, i32, clif.OpSextend, i64), 0, "return v0"},
		{"ireduce of sext32", one64, un2(clif.OpIreduce, i32, clif.OpSext32, i64), 0, "v2 = ireduce.i32 v0; return v2"},
		{"ireduce of and", one64, func(b bld, p []val, k uint64) val {
			return low(b, b.Binary(clif.OpBand, i64, p[0], b.Iconst(i64, k)))
		}, 0x1FFFFFFFF, "v3 = ireduce.i32 v0; return v3"},
		{"ireduce of and of extended", one32, func(b bld, p []val, k uint64) val {
			return low(b, b.Binary(clif.OpBand, i64, wideS(b, p[0]), b.Iconst(i64, k)))
		}, 0xFF0, "v5 = iconst.i32 4080; v4 = band.i32 v0, v5; return v4"},
		{"ireduce of add of extended", one32, func(b bld, p []val, k uint64) val {
			return low(b, b.Binary(clif.OpIadd, i64, wideU(b, p[0]), b.Iconst(i64, k)))
		}, 8, "v5 = iconst.i32 8; v4 = iadd.i32 v0, v5; return v4"},
		{"ireduce of shl of extended", one32, func(b bld, p []val, k uint64) val {
			return low(b, b.Binary(clif.OpIshl, i64, wideU(b, p[0]), b.Iconst(i64, k)))
		}, 3, "v5 = iconst.i32 3; v4 = ishl.i32 v0, v5; return v4"},
		{"ireduce of shl far", one32, func(b bld, p []val, k uint64) val {
			return low(b, b.Binary(clif.OpIshl, i64, wideU(b, p[0]), b.Iconst(i64, k)))
		}, 33, "v1 = uextend.i64 v0; v2 = iconst.i64 33; v3 = ishl.i64 v1, v2; v4 = ireduce.i32 v3; return v4"},
		{"icmp const", nil, func(b bld, _ []val, k uint64) val { return b.Icmp(clif.Slt, i32, b.Iconst(i32, k), b.Iconst(i32, 0)) }, 0xFFFFFFFF, "v3 = iconst.i32 1; return v3"},
		{"icmp same", one64, func(b bld, p []val, _ uint64) val { return b.Icmp(clif.Sle, i64, p[0], p[0]) }, 0, "v2 = iconst.i32 1; return v2"},
		{"icmp const left", one32, func(b bld, p []val, k uint64) val { return b.Icmp(clif.Slt, i32, b.Iconst(i32, k), p[0]) }, 5, "v1 = iconst.i32 5; v2 = icmp.i32 sgt, v0, v1; return v2"},
		{"icmp ult 0", one32, icmpK(clif.Ult, i32, self), 0, "v1 = iconst.i32 0; return v1"},
		{"icmp uge 0", one64, icmpK(clif.Uge, i64, self), 0, "v3 = iconst.i32 1; return v3"},
		{"icmp ugt 0", one64, icmpK(clif.Ugt, i64, self), 0, "v1 = iconst.i64 0; v2 = icmp.i64 ne, v0, v1; return v2"},
		{"icmp ule 0", one32, icmpK(clif.Ule, i32, self), 0, "v1 = iconst.i32 0; v2 = icmp.i32 eq, v0, v1; return v2"},
		{"icmp of icmp ne 0", two32, func(b bld, p []val, k uint64) val {
			return b.Icmp(clif.Ne, i32, b.Icmp(clif.Ult, i32, p[0], p[1]), b.Iconst(i32, k))
		}, 0, "v2 = icmp.i32 ult, v0, v1; return v2"},
		{"icmp of icmp eq 0", two32, func(b bld, p []val, k uint64) val {
			return b.Icmp(clif.Eq, i32, b.Icmp(clif.Ult, i32, p[0], p[1]), b.Iconst(i32, k))
		}, 0, "v4 = icmp.i32 uge, v0, v1; return v4"},
		{"icmp of fcmp ne 0", []clif.Type{f64, f64}, func(b bld, p []val, k uint64) val {
			return b.Icmp(clif.Ne, i32, b.Fcmp(clif.FLt, f64, p[0], p[1]), b.Iconst(i32, k))
		}, 0, "v2 = fcmp.f64 lt, v0, v1; return v2"},
		{"icmp of fcmp eq 0 stays", []clif.Type{f64, f64}, func(b bld, p []val, k uint64) val {
			return b.Icmp(clif.Eq, i32, b.Fcmp(clif.FLt, f64, p[0], p[1]), b.Iconst(i32, k))
		}, 0, "v2 = fcmp.f64 lt, v0, v1; v3 = iconst.i32 0; v4 = icmp.i32 eq, v2, v3; return v4"},
		{"icmp of uextend eq 0", one32, icmpK(clif.Eq, i64, wideU), 0, "v4 = iconst.i32 0; v3 = icmp.i32 eq, v0, v4; return v3"},
		{"icmp of sextend ne 0", one32, icmpK(clif.Ne, i64, wideS), 0, "v4 = iconst.i32 0; v3 = icmp.i32 ne, v0, v4; return v3"},
		{"icmp of uextends", two32, func(b bld, p []val, _ uint64) val { return b.Icmp(clif.Slt, i64, wideU(b, p[0]), wideU(b, p[1])) }, 0, "v4 = icmp.i32 ult, v0, v1; return v4"},
		{"icmp of sextends", two32, func(b bld, p []val, _ uint64) val { return b.Icmp(clif.Ugt, i64, wideS(b, p[0]), wideS(b, p[1])) }, 0, "v4 = icmp.i32 ugt, v0, v1; return v4"},
		{"icmp of uextend and sextend stays", two32, func(b bld, p []val, _ uint64) val {
			return b.Icmp(clif.Ugt, i64, wideU(b, p[0]), wideS(b, p[1]))
		}, 0, "v2 = uextend.i64 v0; v3 = sextend.i64 v1; v4 = icmp.i64 ugt, v2, v3; return v4"},
		{"icmp of uextend uge const", one32, icmpK(clif.Uge, i64, wideU), 100, "v4 = iconst.i32 100; v3 = icmp.i32 uge, v0, v4; return v3"},
		{"icmp of uextend sge const", one32, icmpK(clif.Sge, i64, wideU), 0x80000000, "v4 = iconst.i32 -2147483648; v3 = icmp.i32 uge, v0, v4; return v3"},
		{"icmp of uextend slt negative", one32, icmpK(clif.Slt, i64, wideU), ^uint64(0), "v4 = iconst.i32 0; return v4"},
		{"icmp of uextend ult large", one32, icmpK(clif.Ult, i64, wideU), 1 << 32, "v4 = iconst.i32 1; return v4"},
		{"icmp of uextend eq large", one32, icmpK(clif.Eq, i64, wideU), 1 << 32, "v4 = iconst.i32 0; return v4"},
		{"icmp of sextend sle const", one32, icmpK(clif.Sle, i64, wideS), ^uint64(4), "v4 = iconst.i32 -5; v3 = icmp.i32 sle, v0, v4; return v3"},
		{"icmp of sextend ult large stays", one32, icmpK(clif.Ult, i64, wideS), 1 << 32, "v1 = sextend.i64 v0; v2 = iconst.i64 4294967296; v3 = icmp.i64 ult, v1, v2; return v3"},
		{"select same", two32, func(b bld, p []val, _ uint64) val { return b.Select(i32, p[0], p[1], p[1]) }, 0, "return v1"},
		{"select same constants", one32, func(b bld, p []val, k uint64) val { return b.Select(i32, p[0], b.Iconst(i32, k), b.Iconst(i32, k)) }, 1, "v1 = iconst.i32 1; return v1"},
		{"select const", two32, func(b bld, p []val, k uint64) val { return b.Select(i32, b.Iconst(i32, k), p[0], p[1]) }, 2, "return v0"},
		{"select of eqz", []clif.Type{i32, i64, i64}, func(b bld, p []val, k uint64) val {
			return b.Select(i64, b.Icmp(clif.Eq, i32, p[0], b.Iconst(i32, k)), p[1], p[2])
		}, 0, "v5 = select.i64 v0, v2, v1; return v5"},
		{"select 1 0", one32, func(b bld, p []val, k uint64) val { return b.Select(i32, p[0], b.Iconst(i32, k), b.Iconst(i32, 0)) }, 1, "v2 = iconst.i32 0; v4 = icmp.i32 ne, v0, v2; return v4"},
		{"select 0 1", one32, func(b bld, p []val, k uint64) val { return b.Select(i64, p[0], b.Iconst(i64, k), b.Iconst(i64, 1)) }, 0, "v4 = iconst.i32 0; v5 = icmp.i32 eq, v0, v4; v6 = uextend.i64 v5; return v6"},
		{"select 1 0 of a condition", two32, func(b bld, p []val, k uint64) val {
			return b.Select(i64, b.Icmp(clif.Slt, i32, p[0], p[1]), b.Iconst(i64, k), b.Iconst(i64, 0))
		}, 1, "v2 = icmp.i32 slt, v0, v1; v6 = uextend.i64 v2; return v6"},
		{"bitcast back", []clif.Type{f64}, un2(clif.OpBitcast, f64, clif.OpBitcast, i64), 0, "return v0"},
		{"bitcast of const", nil, onConst(clif.OpBitcast, f32, i32), 0x7FC12345, "v2 = fconst.f32 0x7fc12345; return v2"},
		{"bitcast of float", nil, onConst(clif.OpBitcast, i64, f64), 0x7FF0000000000001, "v2 = iconst.i64 9218868437227405313; return v2"},
		{"fpromote const", nil, onConst(clif.OpFpromote, f64, f32), 0x3F800000, "v2 = fconst.f64 0x3ff0000000000000; return v2"},
		{"fpromote NaN stays", nil, onConst(clif.OpFpromote, f64, f32), 0x7FC12345, "v0 = fconst.f32 0x7fc12345; v1 = fpromote.f64 v0; return v1"},
		{"fdemote const", nil, onConst(clif.OpFdemote, f32, f64), 0x3FF0000000000000, "v2 = fconst.f32 0x3f800000; return v2"},
		{"fadd const", nil, func(b bld, _ []val, k uint64) val {
			return b.Binary(clif.OpFadd, f64, b.Fconst(f64, k), b.Fconst(f64, 0x3FF0000000000000))
		}, 0x3FF0000000000000, "v3 = fconst.f64 0x4000000000000000; return v3"},
		{"fadd of -0 stays", []clif.Type{f64}, func(b bld, p []val, k uint64) val { return b.Binary(clif.OpFadd, f64, p[0], b.Fconst(f64, k)) }, 1 << 63, "v1 = fconst.f64 0x8000000000000000; v2 = fadd.f64 v0, v1; return v2"},
		{"fmul by 1 stays", []clif.Type{f32}, func(b bld, p []val, k uint64) val {
			return b.Binary(clif.OpFmul, f32, p[0], b.Fconst(f32, k&0xFFFFFFFF))
		}, 0x3F800000, "v1 = fconst.f32 0x3f800000; v2 = fmul.f32 v0, v1; return v2"},
		{"size of a memory that cannot grow", nil, func(b bld, _ []val, _ uint64) val {
			b.F.Mod.Memories[0].Max = b.F.Mod.Memories[0].Min
			return b.Entity(clif.OpMemorySize, clif.Invalid, 0)
		}, 0, "v1 = iconst.i64 65536; return v1"},
		{"size of a memory that can grow", nil, func(b bld, _ []val, _ uint64) val {
			return b.Entity(clif.OpMemorySize, clif.Invalid, 0)
		}, 0, "v0 = memory_size mem0; return v0"},
		{"size of a table that cannot grow", nil, func(b bld, _ []val, _ uint64) val { return b.Entity(clif.OpTableSize, clif.Invalid, 1) }, 0, "v1 = iconst.i64 4; return v1"},
		{"size of a table that can grow", nil, func(b bld, _ []val, _ uint64) val { return b.Entity(clif.OpTableSize, clif.Invalid, 0) }, 0, "v0 = table_size table0; return v0"},
		{"equal values", two32, func(b bld, p []val, _ uint64) val {
			return b.Binary(clif.OpImul, i32, b.Binary(clif.OpIadd, i32, p[0], p[1]), b.Binary(clif.OpIadd, i32, p[0], p[1]))
		}, 0, "v2 = iadd.i32 v0, v1; v4 = imul.i32 v2, v2; return v4"},
		{"equal divisions", two32, func(b bld, p []val, _ uint64) val {
			return b.Binary(clif.OpIadd, i32, b.Binary(clif.OpSdiv, i32, p[0], p[1]), b.Binary(clif.OpSdiv, i32, p[0], p[1]))
		}, 0, "v2 = sdiv.i32 v0, v1; v4 = iadd.i32 v2, v2; return v4"},
		{"dead division stays", two32, func(b bld, p []val, _ uint64) val { b.Binary(clif.OpSdiv, i32, p[0], p[1]); return p[0] }, 0, "v2 = sdiv.i32 v0, v1; return v0"},
		{"dead division by const", one32, func(b bld, p []val, k uint64) val {
			b.Binary(clif.OpSrem, i64, wideU(b, p[0]), b.Iconst(i64, k))
			return p[0]
		}, 7, "return v0"},
		{"dead division by -1 stays", one32, func(b bld, p []val, k uint64) val {
			b.Binary(clif.OpSdiv, i32, p[0], b.Iconst(i32, k))
			return p[0]
		}, 0xFFFFFFFF, "v1 = iconst.i32 -1; v2 = sdiv.i32 v0, v1; return v0"},
		{"dead load stays", one32, func(b bld, p []val, _ uint64) val { b.Load(i64, clif.U8, 0, p[0], 9); return p[0] }, 0, "v1 = load.i64 u8 mem0 v0+9; return v0"},
		{"dead truncation stays", []clif.Type{f64}, func(b bld, p []val, _ uint64) val { b.Unary(clif.OpFcvtToSint, i32, p[0]); return b.Iconst(i32, 1) }, 0, "v1 = fcvt_to_sint.i32 v0; v2 = iconst.i32 1; return v2"},
		{"equal load", one32, func(b bld, p []val, _ uint64) val {
			return b.Binary(clif.OpIadd, i32, b.Load(i32, clif.U8, 0, p[0], 9), b.Load(i32, clif.U8, 0, p[0], 9))
		}, 0, "v1 = load.i32 u8 mem0 v0+9; v3 = iadd.i32 v1, v1; return v3"},
		{"load of what was stored", two32, func(b bld, p []val, _ uint64) val {
			b.Store(i32, clif.Full, 0, p[0], p[1], 4)
			b.Store(i32, clif.Full, 0, p[0], p[0], 8)
			return b.Load(i32, clif.Full, 0, p[0], 4)
		}, 0, "store.i32 mem0 v0+4, v1; store.i32 mem0 v0+8, v0; return v1"},
		{"load after an overlapping store stays", two32, func(b bld, p []val, _ uint64) val {
			b.Store(i32, clif.Full, 0, p[0], p[1], 4)
			b.Store(i32, clif.Full, 0, p[0], p[0], 7)
			return b.Load(i32, clif.Full, 0, p[0], 4)
		}, 0, "store.i32 mem0 v0+4, v1; store.i32 mem0 v0+7, v0; v2 = load.i32 mem0 v0+4; return v2"},
		{"load after a store elsewhere stays", two32, func(b bld, p []val, _ uint64) val {
			b.Store(i32, clif.Full, 0, p[0], p[1], 4)
			b.Store(i32, clif.Full, 0, p[1], p[0], 8)
			return b.Load(i32, clif.Full, 0, p[0], 4)
		}, 0, "store.i32 mem0 v0+4, v1; store.i32 mem0 v1+8, v0; v2 = load.i32 mem0 v0+4; return v2"},
		{"store of what is there", one32, func(b bld, p []val, _ uint64) val {
			x := b.Load(i32, clif.Full, 0, p[0], 4)
			b.Store(i32, clif.Full, 0, p[0], x, 4)
			return x
		}, 0, "v1 = load.i32 mem0 v0+4; return v1"},
		{"load of four bytes for eight", one32, func(b bld, p []val, _ uint64) val {
			b.Store(i32, clif.U8, 0, p[0], p[0], 19)
			return low(b, b.Load(i64, clif.Full, 0, p[0], 12))
		}, 0, "store.i32 u8 mem0 v0+19, v0; v3 = load.i32 mem0 v0+12; return v3"},
		{"load of four bytes that are known", one32, func(b bld, p []val, _ uint64) val {
			b.Store(i64, clif.Full, 0, p[0], b.Iconst(i64, 7), 16)
			b.Store(i32, clif.Full, 0, p[0], p[0], 8)
			return low(b, b.Load(i64, clif.Full, 0, p[0], 8))
		}, 0, "v1 = iconst.i64 7; store.i64 mem0 v0+16, v1; store.i32 mem0 v0+8, v0; return v0"},
		{"load that may trap stays", one32, func(b bld, p []val, _ uint64) val {
			b.Store(i32, clif.U8, 0, p[0], p[0], 18)
			return low(b, b.Load(i64, clif.Full, 0, p[0], 12))
		}, 0, "store.i32 u8 mem0 v0+18, v0; v1 = load.i64 mem0 v0+12; v2 = ireduce.i32 v1; return v2"},
		{"load with a use of the upper half stays", one32, func(b bld, p []val, _ uint64) val {
			b.Store(i32, clif.U8, 0, p[0], p[0], 19)
			x := b.Load(i64, clif.Full, 0, p[0], 12)
			return b.Select(i32, b.Icmp(clif.Eq, i64, x, b.Iconst(i64, 1)), low(b, x), p[0])
		}, 0, "store.i32 u8 mem0 v0+19, v0; v1 = load.i64 mem0 v0+12; v2 = iconst.i64 1; v3 = icmp.i64 eq, v1, v2; v4 = ireduce.i32 v1; v5 = select.i32 v3, v4, v0; return v5"},
		{"address in front of one that was accessed", one32, func(b bld, p []val, k uint64) val {
			x := b.Load(i32, clif.U8, 0, p[0], 5)
			b.Store(i32, clif.Full, 0, b.Binary(clif.OpIadd, i32, p[0], b.Iconst(i32, k)), x, 100)
			return x
		}, 5, "v1 = load.i32 u8 mem0 v0+5; store.i32 mem0 v0+105, v1; return v1"},
		{"address behind one that was accessed, in a small memory", one32, func(b bld, p []val, k uint64) val {
			x := b.Load(i32, clif.U8, 0, p[0], 5)
			b.Store(i32, clif.Full, 0, b.Binary(clif.OpIadd, i32, p[0], b.Iconst(i32, k)), x, 100)
			return x
		}, 6, "v1 = load.i32 u8 mem0 v0+5; store.i32 mem0 v0+106, v1; return v1"},
		{"address with a difference to one that was accessed", one32, func(b bld, p []val, k uint64) val {
			x := b.Load(i32, clif.Full, 0, b.Binary(clif.OpIsub, i32, p[0], b.Iconst(i32, 96)), 40)
			b.Store(i32, clif.Full, 0, b.Binary(clif.OpIadd, i32, p[0], b.Iconst(i32, k)), x, 1)
			return x
		}, 0xFFFFFFFF - 63, "v6 = iconst.i32 -96; v2 = iadd.i32 v0, v6; v3 = load.i32 mem0 v2+40; store.i32 mem0 v2+33, v3; return v3"},
		{"addresses of all types", one32, func(b bld, p []val, _ uint64) val {
			b.Store(i64, clif.Full, 0, p[0], b.Load(i64, clif.Full, 0, p[0], 16), 0)
			for n, t := range []clif.Type{i32, i64, f32, f64, clif.V128} {
				addr := b.Binary(clif.OpIadd, i32, p[0], b.Iconst(i32, uint64(n)))
				b.Store(t, clif.Full, 0, addr, b.Load(t, clif.Full, 0, addr, 40), 0)
			}
			return p[0]
		}, 0, "v1 = load.i64 mem0 v0+16; store.i64 mem0 v0+0, v1; v4 = load.i32 mem0 v0+40; store.i32 mem0 v0+0, v4; v7 = load.i64 mem0 v0+41; store.i64 mem0 v0+1, v7; " +
			"v10 = load.f32 mem0 v0+42; store.f32 mem0 v0+2, v10; v13 = load.f64 mem0 v0+43; store.f64 mem0 v0+3, v13; v16 = load.v128 mem0 v0+44; store.v128 mem0 v0+4, v16; return v0"},
		{"load behind a store at the same sum", two32, func(b bld, p []val, k uint64) val {
			b.Store(i32, clif.Full, 0, p[0], p[1], 4)
			b.Store(i32, clif.Full, 0, b.Binary(clif.OpIadd, i32, p[0], b.Iconst(i32, k)), p[0], 0)
			return b.Load(i32, clif.Full, 0, p[0], 4)
		}, 8, "store.i32 mem0 v0+4, v1; store.i32 mem0 v0+8, v0; return v1"},
		{"load behind a store at an overlapping sum stays", two32, func(b bld, p []val, k uint64) val {
			b.Store(i32, clif.Full, 0, p[0], p[1], 4)
			b.Store(i32, clif.Full, 0, b.Binary(clif.OpIadd, i32, p[0], b.Iconst(i32, k)), p[0], 0)
			return b.Load(i32, clif.Full, 0, p[0], 4)
		}, 1, "store.i32 mem0 v0+4, v1; store.i32 mem0 v0+1, v0; v4 = load.i32 mem0 v0+4; return v4"},
		{"write in front of another", two32, func(b bld, p []val, k uint64) val {
			setGlobal(b, 0, i32, p[0])
			x := b.Binary(clif.OpBxor, i32, p[0], p[1])
			setGlobal(b, 1, i64, b.Iconst(i64, k))
			setGlobal(b, 0, i32, x)
			return x
		}, 3, "v2 = bxor.i32 v0, v1; v3 = iconst.i64 3; global_set.i64 global1, v3; global_set.i32 global0, v2; return v2"},
		{"write in front of an access stays", two32, func(b bld, p []val, _ uint64) val {
			setGlobal(b, 0, i32, p[0])
			x := b.Load(i32, clif.Full, 0, p[1], 0)
			setGlobal(b, 0, i32, x)
			return x
		}, 0, "global_set.i32 global0, v0; v2 = load.i32 mem0 v1+0; global_set.i32 global0, v2; return v2"},
		{"write in front of a trap stays", two32, func(b bld, p []val, _ uint64) val {
			setGlobal(b, 0, i32, p[0])
			b.TrapIf(p[1], abi.TrapUnreachable)
			setGlobal(b, 0, i32, p[1])
			return p[0]
		}, 0, "global_set.i32 global0, v0; trapif v1, unreachable; global_set.i32 global0, v1; return v0"},
		{"write of another global stays", two32, func(b bld, p []val, k uint64) val {
			setGlobal(b, 0, i32, p[0])
			setGlobal(b, 1, i64, b.Iconst(i64, k))
			return p[0]
		}, 3, "global_set.i32 global0, v0; v2 = iconst.i64 3; global_set.i64 global1, v2; return v0"},
		{"trapif twice", one32, func(b bld, p []val, _ uint64) val {
			b.TrapIf(p[0], abi.TrapUnreachable)
			b.TrapIf(p[0], abi.TrapIntegerOverflow)
			return p[0]
		}, 0, "trapif v0, unreachable; return v0"},
		{"trapif of eqz", one32, func(b bld, p []val, k uint64) val {
			b.TrapIf(b.Icmp(clif.Eq, i32, p[0], b.Iconst(i32, k)), abi.TrapUnreachable)
			b.TrapIf(b.Icmp(clif.Eq, i32, p[0], b.Iconst(i32, k)), abi.TrapIntegerOverflow)
			return b.Select(i32, p[0], p[0], b.Iconst(i32, 9))
		}, 0, "v1 = iconst.i32 0; v2 = icmp.i32 eq, v0, v1; trapif v2, unreachable; return v0"},
		{"trapif of nez", one32, func(b bld, p []val, k uint64) val {
			b.TrapIf(b.Icmp(clif.Ne, i32, p[0], b.Iconst(i32, k)), abi.TrapUnreachable)
			return p[0]
		}, 0, "trapif v0, unreachable; return v0"},
		{"trapif of the opposite", two32, func(b bld, p []val, _ uint64) val {
			b.TrapIf(b.Icmp(clif.Slt, i32, p[0], p[1]), abi.TrapUnreachable)
			b.TrapIf(b.Icmp(clif.Sge, i32, p[0], p[1]), abi.TrapIntegerOverflow)
			return p[0]
		}, 0, "v2 = icmp.i32 slt, v0, v1; trapif v2, unreachable; trap integer_overflow"},
		{"trapif never", one32, func(b bld, p []val, k uint64) val { b.TrapIf(b.Iconst(i32, k), abi.TrapUnreachable); return p[0] }, 0, "return v0"},
		{"trapif always", one32, func(b bld, p []val, k uint64) val { b.TrapIf(b.Iconst(i32, k), abi.TrapUnreachable); return p[0] }, 3, "trap unreachable"},
	}
}

// body is the instructions of f in one line.
func body(f *clif.Func) string {
	var lines []string
	p := clif.Printer{F: f}
	for _, b := range f.Layout {
		if b != f.Entry() {
			lines = append(lines, b.String()+":")
		}
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			if f.Insts[i].Op != clif.OpNop {
				lines = append(lines, p.Inst(i))
			}
		}
	}
	return strings.Join(lines, "; ")
}

func (c *ruleCase) function(k uint64) *clif.Func {
	m := testModule(c.params, nil)
	f, b := newFunc(m)
	p := make([]clif.Value, len(c.params))
	for i := range p {
		p[i] = clif.Value(i)
	}
	v := c.build(b, p, k)
	m.Sigs[0].Results = []clif.Type{f.TypeOf(v)}
	b.Return([]clif.Value{v})
	return f
}

// TestRules checks that each rule fires, by what is left afterwards, and that
// the result is the same for all corner values of parameters and constant.
func TestRules(t *testing.T) {
	var o Optimizer
	for _, c := range ruleCases() {
		got := body(optimized(t, &o, c.function(c.k)))
		if os.Getenv("SHOW") != "" {
			fmt.Printf("%s\t%s\n", c.name, got)
		} else if d := cmp.Diff(strings.Split(c.want, "; "), strings.Split(got, "; ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		for _, k := range corner64 {
			f := c.function(k)
			g := optimized(t, &o, f)
			before, after := newWorld(t, f), newWorld(t, g)
			for i := range 40 {
				var in []uint64
				for n, ty := range c.params {
					xs := corners(ty)
					in = append(in, xs[(i+n*i/7)%len(xs)])
				}
				if a, b := before.call(t, in), after.call(t, in); a != b {
					t.Fatalf("%s: k = %#x, f(%#x): %s before, %s after\n%v\n%v", c.name, k, in, a, b, f, g)
				}
				if len(in) == 0 {
					break
				}
			}
		}
	}
}
