package opt

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// bulkFunc copies n bytes, or fills them, at the addresses that it gets; the byte is a constant if known.
func bulkFunc(op clif.Opcode, n uint64, known bool) *clif.Func {
	f, b := newFunc(testModule([]clif.Type{i32, i32}, []clif.Type{i64}))
	to, from := wideU(b, 0), val(1)
	if op == clif.OpMemoryCopy {
		from = wideU(b, from)
	} else if known {
		from = b.Iconst(i32, 0xFFFFFF9C)
	}
	// What a load in front of it has read, and one behind it reads, is known to the optimiser only if it may be.
	x := b.Load(i64, clif.Full, 0, 0, 4)
	b.EntityEffect(op, clif.Invalid, 0, 0, to, from, b.Iconst(i64, n))
	b.Return([]val{b.Binary(clif.OpIsub, i64, x, b.Load(i64, clif.Full, 0, 0, 4))})
	return f
}

// TestBulk: copies and fills of all sizes up to the limit and a little more, at all distances at which both places overlap.
func TestBulk(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 1))
	memory := make([]byte, 1<<16)
	for i := range memory {
		memory[i] = byte(r.Uint32())
	}
	share := testenv.Cases(20, 8, 1)
	for n := range uint64(maxInlineBytes + 3) {
		for _, op := range []clif.Opcode{clif.OpMemoryCopy, clif.OpMemoryFill} {
			for _, known := range []bool{false, true} {
				f := bulkFunc(op, n, known)
				g := optimized(t, &Optimizer{}, f)
				if left := bytes.Contains([]byte(g.String()), []byte("memory_")); left != (n > maxInlineBytes) {
					t.Fatalf("%d bytes: a call is left: %v\n%v", n, left, g)
				}
				before, after := newWorld(t, f), newWorld(t, g)
				for d := -int(n) - 2; d <= int(n)+2; d++ {
					if r.IntN(share) > 0 {
						continue
					}
					in := []uint64{uint64(1000 + d), 1000}
					if d&1 != 0 { // at the end of memory
						in = []uint64{1<<16 - max(n, 12), uint64(1<<16 - int(max(n, 12)) + min(d, 0))}
					}
					copy(before.inst.Memory(0).Data, memory)
					copy(after.inst.Memory(0).Data, memory)
					x, y := before.call(t, in), after.call(t, in)
					if x != y || !bytes.Equal(before.inst.Memory(0).Data, after.inst.Memory(0).Data) {
						t.Fatalf("%v of %d bytes at %#x: %s before, %s after\n%v", op, n, in, x, y, g)
					}
				}
			}
		}
	}
}
