package opt

import (
	"math/rand/v2"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// scopedTable is a hash table of instructions (open addressing) with an undo
// log: what a block enters is forgotten when the walk leaves its subtree.
type scopedTable struct {
	slots []uint32 // output index + 1 of an instruction, 0 if free; 0 up to the capacity, too
	log   []uint32 // slots filled, in order
	// seed keeps the author of a module from choosing constants that collide.
	// It does not show in the result.
	seed uint64
}

// fewSlots is how many slots a function begins with, however many one before it had: few stay in the processor's cache.
const fewSlots = 1 << 10

func (t *scopedTable) reset() {
	if cap(t.slots) == 0 || cap(t.slots) > 1<<18 {
		t.slots = make([]uint32, fewSlots)
		t.seed = rand.Uint64() | 1
		t.log = t.log[:0]
	}
	t.undo(0)
	t.slots = t.slots[:fewSlots]
}

func (t *scopedTable) mark() int { return len(t.log) }

// undo forgets everything after mark. Slots are freed in the reverse order of
// filling, so probe sequences stay intact.
func (t *scopedTable) undo(mark int) {
	for i := len(t.log) - 1; i >= mark; i-- {
		t.slots[t.log[i]] = 0
	}
	t.log = t.log[:mark]
}

func (t *scopedTable) hash(d *clif.InstData) uint64 {
	const m = 0x9e3779b97f4a7c15
	h := (uint64(d.Op)<<16 | uint64(d.Type)<<8 | uint64(d.Cond)) ^ t.seed
	h = (h ^ uint64(d.Args[0])<<32 ^ uint64(d.Args[1])) * m
	aux := d.Aux
	if d.Op == clif.OpRefTest {
		aux = 0
	}
	h = (h ^ h>>32 ^ uint64(d.Args[2])<<32 ^ uint64(aux)) * t.seed
	h = (h ^ h>>32 ^ d.Imm) * t.seed
	return h ^ h>>32
}

// equalInst reports whether two instructions do the same. The result of a ref_test does not depend on what is known of the reference before.
func equalInst(a, b *clif.InstData) bool {
	return a.Op == b.Op && a.Type == b.Type && a.Cond == b.Cond && a.Args[0] == b.Args[0] && a.Args[1] == b.Args[1] &&
		a.Args[2] == b.Args[2] && (a.Aux == b.Aux || a.Op == clif.OpRefTest) && a.Imm == b.Imm
}

// lookup returns the result of an instruction equal to d, or NoValue and the
// free slot for d.
func (t *scopedTable) lookup(c *folder, d *clif.InstData) (v clif.Value, slot uint64) {
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(d) & mask; ; i = (i + 1) & mask {
		n := t.slots[i]
		if n == 0 {
			return clif.NoValue, i
		}
		if e := &c.out[n-1]; equalInst(e, d) {
			if e.NumResults == 0 {
				return 0, i // an equal check has no result: any value but NoValue will do
			}
			return e.Result, i
		}
	}
}

// find returns the result of an instruction equal to d, or NoValue after
// entering d, which the caller places next.
func (t *scopedTable) find(c *folder, d *clif.InstData) clif.Value {
	if 2*len(t.log) >= len(t.slots) {
		t.grow(c)
	}
	v, i := t.lookup(c, d)
	if v == clif.NoValue {
		t.slots[i] = uint32(len(c.out)) + 1
		t.log = stop.Append(c.f.Stop, t.log, uint32(i))
	}
	return v
}

// grow doubles the table, entering everything again in the order of the log.
func (t *scopedTable) grow(c *folder) {
	f := c.f.Stop
	for k, s := range t.log {
		f.PollAt(k)
		t.log[k], t.slots[s] = t.slots[s], 0
	}
	if n := 2 * len(t.slots); n <= cap(t.slots) {
		t.slots = t.slots[:n]
	} else {
		t.slots = stop.Zeroed(f, []uint32(nil), n)
	}
	mask := uint64(len(t.slots) - 1)
	for k, n := range t.log {
		f.PollAt(k)
		i := t.hash(&c.out[n-1]) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = n
		t.log[k] = uint32(i)
	}
}

// truths are the conditions that the walk knows: on the way to this point they were
// decided by a branch or a trapif.
type truths struct {
	byValue []uint8 // unknown, isZero or isNonzero
	log     []clif.Value
}

const (
	unknown uint8 = iota
	isZero
	isNonzero
)

func (t *truths) reset(values int) {
	t.undo(0)
	if n := values + values/4 - len(t.byValue); n > 0 {
		t.byValue = append(t.byValue, make([]uint8, n)...)
	}
}

func (t *truths) mark() int { return len(t.log) }

func (t *truths) undo(mark int) {
	for _, v := range t.log[mark:] {
		t.byValue[v] = unknown
	}
	t.log = t.log[:mark]
}

// set notes x for v, unless v is decided already.
func (t *truths) set(v clif.Value, x uint8) {
	if n := int(v) + 1 - len(t.byValue); n > 0 {
		t.byValue = append(t.byValue, make([]uint8, n+int(v)/4)...)
	}
	if t.byValue[v] == unknown {
		t.byValue[v] = x
		t.log = append(t.log, v)
	}
}

func (t *truths) get(v clif.Value) uint8 {
	if int(v) < len(t.byValue) {
		return t.byValue[v]
	}
	return unknown
}

// decided reports whether v, an i32, is known to be zero, or not zero, here.
func (c *folder) decided(v clif.Value) uint8 {
	if x, ok := c.constant(v); ok {
		if x == 0 {
			return isZero
		}
		return isNonzero
	}
	if x := c.truth.get(v); x != unknown || len(c.truth.log) == 0 {
		return x
	}
	if y, neg, changed := c.strip(v); changed {
		if x := c.truth.get(y); x != unknown {
			if neg {
				x = isZero + isNonzero - x
			}
			return x
		}
	}
	// The opposite comparison may have been decided.
	in := c.defOp(v, clif.OpIcmp)
	if in == nil {
		return unknown
	}
	inverse := *in
	inverse.Cond = uint8(in.IntCC().Invert())
	if w, _ := c.table.lookup(c, &inverse); w != clif.NoValue {
		if x := c.truth.get(w); x != unknown {
			return isZero + isNonzero - x
		}
	}
	return unknown
}
