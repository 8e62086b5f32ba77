package interp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
)

const vectors = `sig0 = (i32, v128, i64) -> (v128, i32, v128)
import fn0 "env" "host" sig0
import global0 "env" "g" v128 mut
export "direct" fn1
export "ref" fn2
export "loop" fn3
export "choose" fn4
export "globals" fn5
export "memory" fn6
mem0 1
global1 v128 mut

function fn1 "direct" (i32, v128, i64) -> (v128, i32, v128) {
block0(v0: i32, v1: v128, v2: i64):
    v3, v4, v5 = call fn0(v0, v1, v2)
    v6 = vnot.v128 v5
    return v3, v4, v6
}

function fn2 "ref" (i32, v128, i64) -> (v128, i32, v128) {
block0(v0: i32, v1: v128, v2: i64):
    v3 = func_addr.funcref fn1
    v4, v5, v6 = call_ref sig0, v3(v0, v1, v2)
    v7 = vnot.v128 v6
    return v4, v5, v7
}

function fn3 "loop" (i32, v128, v128) -> (v128, v128) {
block0(v0: i32, v1: v128, v2: v128):
    jump block1(v0, v1, v2)
block1(v3: i32, v4: v128, v5: v128):
    v6 = iconst.i32 1
    v7 = isub.i32 v3, v6
    br v7, block1(v7, v5, v4), block2(v4)
block2(v8: v128):
    return v8, v5
}

function fn4 "choose" (i32, v128, v128) -> (v128) {
block0(v0: i32, v1: v128, v2: v128):
    v3 = select.v128 v0, v1, v2
    return v3
}

function fn5 "globals" (v128) -> (v128, v128) {
block0(v0: v128):
    v1 = global_get.v128 global0
    v2 = global_get.v128 global1
    global_set.v128 global0, v0
    global_set.v128 global1, v1
    return v1, v2
}

function fn6 "memory" (i32, v128) -> (v128, v128, v128) {
block0(v0: i32, v1: v128):
    store.v128 mem0 v0+1, v1
    v2 = load.v128 mem0 v0+1
    v3 = load.v128 u32 mem0 v0+1
    v4 = load.v128 u64 mem0 v0+1
    return v2, v3, v4
}
`

// TestVectors: both halves go wherever a value can be; of raw words a vector has two.
func TestVectors(t *testing.T) {
	s := interp.NewStore(interp.Options{})
	sig := clif.Signature{Params: []clif.Type{clif.I32, clif.V128, clif.I64}, Results: []clif.Type{clif.V128, clif.I32, clif.V128}}
	var inst *interp.Instance
	host := s.NewHostFunc("host", sig, func(c *interp.HostCall, in, out []uint64) error {
		if in[0] > 0 { // through compiled code that has no vectors on the stack yet, or has
			r, err := c.Call(function(t, inst, "direct"), []uint64{in[0] - 1, in[1], in[2], in[3] + 1})
			copy(out, r)
			return err
		}
		copy(out, []uint64{in[2], in[1], uint64(uint32(in[3])), in[1] + in[3], in[2] + in[3]})
		return nil
	})
	g := &interp.Global{Type: clif.V128, Mutable: true, Bits: 5, High: 6}
	inst = start(t, s, vectors, imports(map[string]interp.Extern{"host": host, "g": g}))
	for _, c := range []struct {
		name     string
		in, want []uint64
	}{
		{"direct", []uint64{0, 1, 2, 3}, []uint64{2, 1, 3, ^uint64(4), ^uint64(5)}},
		{"direct", []uint64{1, 1, 2, 3}, []uint64{2, 1, 4, 5, 6}},
		{"ref", []uint64{2, 1, 2, 3}, []uint64{2, 1, 5, 6, 7}},
		{"loop", []uint64{3, 1, 2, 3, 4}, []uint64{1, 2, 3, 4}},
		{"loop", []uint64{4, 1, 2, 3, 4}, []uint64{3, 4, 1, 2}},
		{"choose", []uint64{0, 1, 2, 3, 4}, []uint64{3, 4}},
		{"choose", []uint64{9, 1, 2, 3, 4}, []uint64{1, 2}},
		{"globals", []uint64{7, 8}, []uint64{5, 6, 0, 0}},
		{"globals", []uint64{9, 10}, []uint64{7, 8, 5, 6}},
		{"memory", []uint64{65519, 0x0102030405060708, 0x090a0b0c0d0e0f10}, []uint64{0x0102030405060708, 0x090a0b0c0d0e0f10,
			0x05060708, 0, 0x0102030405060708, 0}},
	} {
		got, err := function(t, inst, c.name).Call(c.in)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s %d: %v\n%s", c.name, c.in, err, diff)
		}
	}
	if g.Bits != 9 || g.High != 10 || inst.Global(1).Bits != 7 || inst.Global(1).High != 8 {
		t.Errorf("globals: %+v %+v", g, inst.Global(1))
	}
	if _, err := function(t, inst, "choose").Call([]uint64{0, 1, 2, 3}); err == nil {
		t.Error("a word too few")
	}
	// No part of a store that traps is done.
	if _, err := function(t, inst, "memory").Call([]uint64{65520, 1, 1}); err == nil || inst.Memory(0).Data[65535] != 0x09 {
		t.Error("a store past the end:", err)
	}
}
