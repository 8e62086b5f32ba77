package opt

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// TestSums is exhaustive: for all pairs of accesses through x + k and x + m, with k and m from -9 to 9, each with an offset
// of 0 or 8, at places near 0 and near both ends of what a memory of a page and 32 bits can address. The first access loads a
// byte or 8, the second loads 8 bytes for their low half, or stores; then both places are loaded again. Or 8 bytes, and one, are stored through the
// first, and a byte through the second, before all three are loaded through the second; or 8 bytes are stored through the first and loaded through the second.
func TestSums(t *testing.T) {
	places := []uint64{0, 1, 5, 8, 9, 20, abi.PageSize - 17, abi.PageSize - 16, abi.PageSize - 9, abi.PageSize - 8, abi.PageSize - 7, abi.PageSize - 1, abi.PageSize,
		1<<32 - 16, 1<<32 - 9, 1<<32 - 8, 1<<32 - 2, 1<<32 - 1}
	var n fired
	calls, trapped := 0, 0
	for k := -9; k <= 9; k++ {
		for m := -9; m <= 9; m++ {
			for kind := range uint64(20) {
				f := sumsFunc(uint64(uint32(k)), uint64(uint32(m)), kind)
				ctl := &Control{Limit: -1}
				g := optimized(t, &Optimizer{Control: ctl}, f)
				n.add(ctl.Log)
				before, after := newWorld(t, f), newWorld(t, g)
				for _, x := range places {
					a, b := before.call(t, []uint64{x}), after.call(t, []uint64{x})
					if a != b || string(before.inst.Memory(0).Data) != string(after.inst.Memory(0).Data) {
						t.Fatalf("f(%#x): %s before, %s after\n%v%v", x, a, b, f, g)
					}
					if calls++; a[0] == 't' {
						trapped++
					}
				}
			}
		}
	}
	low, sums, known := n[RuleLoadLow][i64], n[RuleAddressSum][i64], n[RuleLoadKnown][i64]
	t.Logf("%d calls, %d trapped; %d loads narrowed, %d addresses replaced, %d loads known", calls, trapped, low, sums, known)
	if low == 0 || sums == 0 || known == 0 || trapped == 0 {
		t.Error("some of what is to be tested did not happen")
	}
}

// TestUpperHalves: what an instruction reads whole is not loaded by halves, also where its own type is i32 or its operand an address.
func TestUpperHalves(t *testing.T) {
	for _, c := range []struct {
		use    string
		narrow bool
	}{
		{"v4 = ireduce.i32 v3", true},
		{"v4 = load.i32 mem0 v3", false},
		{"store.i32 mem0 v3, v0\nv4 = iconst.i32 0", false},
		{"v5 = iconst.i64 7\nv4 = icmp.i64 eq, v3, v5", false},
	} {
		f := addressFunc(t, "1 1", "\nv2 = load.i32 mem0 v0+12\nv3 = load.i64 mem0 v0+8\n"+c.use+"\nreturn v4")
		if g := optimized(t, new(Optimizer), f).String(); strings.Contains(g, "load.i64") == c.narrow {
			t.Errorf("%s: narrow is to be %v\n%s", c.use, c.narrow, g)
		}
	}
}

// sumsFunc is a function for TestSums. The bits of kind are: how wide the first access is, what the second does, both offsets.
func sumsFunc(k, m, kind uint64) *clif.Func {
	f, b := newFunc(testModule(one32, []clif.Type{i64, i32, i64, i64}))
	first := b.Binary(clif.OpIadd, i32, 0, b.Iconst(i32, k))
	second := b.Binary(clif.OpIadd, i32, 0, b.Iconst(i32, m))
	at, then := kind>>2&1*8, kind>>3&1*8
	if kind >= 16 {
		at = kind & 1 * 8
		b.Store(i64, clif.Full, 0, first, b.Iconst(i64, 0x8182838485868788), at)
		if kind >= 18 {
			x := b.Load(i64, clif.Full, 0, second, 8)
			b.Return([]clif.Value{x, b.Iconst(i32, 1), x, x})
			return f
		}
		b.Store(i64, clif.U8, 0, first, b.Iconst(i64, 0x1234), at+3)
		b.Store(i32, clif.U8, 0, second, b.Iconst(i32, 0xABCD), 8-at)
		b.Return([]clif.Value{b.Load(i64, clif.Full, 0, second, 8), b.Load(i32, clif.U8, 0, second, 8-at), b.Load(i64, clif.U8, 0, second, 11), b.Load(i64, clif.Full, 0, second, 0)})
		return f
	}
	x := b.Load(i64, [...]clif.Access{clif.U8, clif.Full}[kind&1], 0, first, at)
	y := b.Iconst(i32, 0x81828384)
	if kind>>1&1 == 0 {
		y = low(b, b.Load(i64, clif.Full, 0, second, then))
	} else {
		b.Store(i32, clif.Full, 0, second, y, then)
	}
	b.Return([]clif.Value{x, y, b.Load(i64, clif.Full, 0, first, at), b.Load(i64, clif.U8, 0, second, then)})
	return f
}
