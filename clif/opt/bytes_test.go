package opt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// byteForm is a way to write a loop over bytes.
type byteForm struct {
	name string
	kind byteKind
	down bool
	// offset is that of each access.
	offset [2]uint64
	count  byteCount
	// wide says that a filled byte is part of an i64, signed that compared bytes have signs.
	wide, signed bool
}

// byteCount is a way to count iterations.
type byteCount int

const (
	countLeft     byteCount = iota // what is left, until it is 0
	countIndex                     // an index is added to both addresses
	countWide                      // so is the low half of a wide one
	countBefore                    // the index is compared before it changes
	countEqual                     // the loop ends if the index is equal
	countPointer                   // the first pointer
	countSwapped                   // the limit stands on the left
	countDistance                  // the difference to the limit
	numByteCounts
)

// byteForms are all that are wide afterwards.
func byteForms() (forms []byteForm) {
	for kind := byteCopy; kind <= byteCompare; kind++ {
		for count := range numByteCounts {
			for _, down := range []bool{false, true} {
				f := byteForm{kind: kind, count: count, down: down, wide: count%2 == 1, signed: count%3 == 0}
				if count == countEqual {
					f.offset = [2]uint64{5, 0}
				} else if count == countSwapped {
					f.offset = [2]uint64{3, 9}
				}
				f.name = fmt.Sprintf("kind %d, count %d, down %v", kind, count, down)
				forms = append(forms, f)
			}
		}
	}
	return forms
}

// byteWriter writes one loop: from two addresses, a number of bytes and a byte it makes the addresses, the number and the byte
// that are left.
type byteWriter struct {
	*clif.Builder
	*byteForm
	// other is a parameter of the loop that changes by 5 each time.
	other val
}

// function is f(to, from, n, byte), which does nothing if n is 0. Its last result is what the loop adds to 7.
func (form *byteForm) function() *clif.Func {
	m := testModule([]clif.Type{i32, i32, i32, i64}, []clif.Type{i32, i32, i32, i32, i32})
	f, b := newFunc(m)
	w := byteWriter{Builder: b, byteForm: form}
	to, from, n, value := val(0), val(1), val(2), val(3)
	before, done := b.NewBlock(), b.NewBlock()
	results := make([]val, 5)
	for i := range results {
		results[i] = b.AddParam(done, i32)
	}
	b.Branch(n, b.Target(before, nil), b.Target(done, []val{to, from, n, n, n}))
	b.SwitchTo(before)
	if form.down && form.count != countIndex && form.count != countWide {
		to, from = w.Binary(clif.OpIadd, i32, to, n), w.Binary(clif.OpIadd, i32, from, n)
	}
	w.loop(to, from, n, value, done)
	b.SwitchTo(done)
	b.Return(results)
	return f
}

// loop is a loop of n > 0 iterations that ends in done.
func (w *byteWriter) loop(to, from, n, value val, done clif.Block) {
	t := i32
	if w.count == countWide {
		t = i64
		n = wideU(w.Builder, n)
	}
	one := uint64(1)
	if w.down {
		one = ^uint64(0)
	}
	start, limit := w.limits(t, to, n)
	header := w.NewBlock()
	w.Jump(w.Target(header, []val{to, from, start, w.Iconst(i32, 7)}))
	p, q, i := w.AddParam(header, i32), w.AddParam(header, i32), w.AddParam(header, t)
	w.other = w.AddParam(header, i32)
	w.SwitchTo(header)
	step := w.Iconst(i32, one)
	p2, q2 := w.Binary(clif.OpIadd, i32, p, step), w.Binary(clif.OpIadd, i32, q, step)
	i2 := w.Binary(clif.OpIadd, t, i, w.Iconst(t, w.counts()))
	x, y := p, q
	switch {
	case w.count == countIndex || w.count == countWide:
		p2, q2 = p, q
		at := i
		if w.down {
			at = i2
		}
		if t == i64 {
			at = low(w.Builder, at)
		}
		x, y = w.Binary(clif.OpIadd, i32, p, at), w.Binary(clif.OpIadd, i32, at, q)
	case w.down:
		x, y = p2, q2
	}
	other2 := w.Binary(clif.OpIadd, i32, w.other, w.Iconst(i32, 5))
	again := []val{p2, q2, i2, other2}
	last := w.access(x, y, value, []val{p, q}, done)
	iEnd := i2
	if t == i64 {
		iEnd = low(w.Builder, i2)
	}
	end := w.Target(done, []val{p2, q2, iEnd, last, other2})
	cond := w.ends(t, p, p2, i, i2, limit)
	if w.count == countEqual {
		w.Branch(cond, end, w.Target(header, again))
	} else {
		w.Branch(cond, w.Target(header, again), end)
	}
}

// limits returns where the index begins, and what it is compared with.
func (w *byteWriter) limits(t clif.Type, to, n val) (start, limit val) {
	zero := w.Iconst(t, 0)
	switch w.count {
	case countPointer:
		op := clif.OpIadd
		if w.down {
			op = clif.OpIsub
		}
		return n, w.Binary(op, t, to, n)
	case countLeft:
		return n, zero
	case countBefore:
		if w.down {
			return n, w.Iconst(t, 1)
		}
		return zero, w.Binary(clif.OpIsub, t, n, w.Iconst(t, 1))
	}
	if w.down {
		return n, zero
	}
	return zero, n
}

// counts is by how much the index changes.
func (w *byteWriter) counts() uint64 {
	if w.down || w.count == countLeft {
		return ^uint64(0)
	}
	return 1
}

// ends is the condition of the branch.
func (w *byteWriter) ends(t clif.Type, p, p2, i, i2, limit val) val {
	switch w.count {
	case countLeft:
		return i2
	case countBefore:
		return w.Icmp(clif.Ne, t, i, limit)
	case countEqual:
		return w.Icmp(clif.Eq, t, i2, limit)
	case countPointer:
		return w.Icmp(clif.Ne, t, p2, limit)
	case countSwapped:
		return w.Icmp(clif.Ne, t, limit, i2)
	case countDistance:
		return w.Binary(clif.OpIsub, t, limit, i2)
	}
	return w.Icmp(clif.Ne, t, i2, limit)
}

// access does what is done with a byte, and returns one of 32 bits. A comparison goes on in a block of its own.
func (w *byteWriter) access(x, y, value val, pointers []val, done clif.Block) val {
	w.Src = 77 // where each trap must come from
	defer func() { w.Src = 1 }()
	how := clif.U8
	if w.signed {
		how = clif.S8
	}
	switch {
	case w.kind == byteCopy:
		v := w.Load(i32, how, 0, y, w.offset[1])
		w.Store(i32, clif.U8, 0, x, v, w.offset[0])
		return v
	case w.kind == byteFill && w.wide:
		w.Store(i64, clif.U8, 0, x, value, w.offset[0])
		return x
	case w.kind == byteFill:
		w.Store(i32, clif.U8, 0, x, w.Iconst(i32, 0x1A5), w.offset[0])
		return x
	}
	a, b := w.Load(i32, how, 0, x, w.offset[0]), w.Load(i32, how, 0, y, w.offset[1])
	next, differ := w.NewBlock(), w.NewBlock()
	if w.wide {
		w.Branch(w.Icmp(clif.Ne, i32, a, b), w.Target(differ, nil), w.Target(next, nil))
	} else {
		w.Branch(w.Icmp(clif.Eq, i32, a, b), w.Target(next, nil), w.Target(differ, nil))
	}
	w.SwitchTo(differ)
	w.Jump(w.Target(done, []val{pointers[0], pointers[1], b, w.Binary(clif.OpIsub, i32, a, b), w.other}))
	w.SwitchTo(next)
	return a
}

// byteRun runs a function as it was and as it is wide, side by side.
type byteRun struct {
	form          *byteForm
	before, after *world
	calls, traps  int
}

func newByteRun(t *testing.T, form *byteForm) *byteRun {
	f := form.function()
	o := &Optimizer{Control: &Control{Limit: -1}}
	g := optimized(t, o, f)
	fired := 0
	for i := range o.Control.Log {
		if o.Control.Log[i].Rule == byteRules[form.kind].Info() {
			fired++
		}
	}
	if fired != 1 {
		t.Fatalf("%s: %d wide loops\n%v\n%v", form.name, fired, f, g)
	}
	return &byteRun{form: form, before: newWorld(t, f), after: newWorld(t, g)}
}

// same calls both with the same memory, and compares results, traps and memories.
func (b *byteRun) same(t *testing.T, memory []byte, to, from, n uint32, value uint64) {
	var ends [2]string
	var left [2][]byte
	for i, w := range [...]*world{b.before, b.after} {
		copy(w.inst.Memory(0).Data, memory)
		results, err := w.inst.Func(0).Call([]uint64{uint64(to), uint64(from), uint64(n), value})
		var trap *interp.Trap
		if errors.As(err, &trap) {
			ends[i] = trap.Error() // with the place
			b.traps++
		} else if err != nil {
			t.Fatal(err)
		}
		ends[i] += fmt.Sprint(results)
		left[i] = w.inst.Memory(0).Data
	}
	b.calls++
	if ends[0] != ends[1] || !bytes.Equal(left[0], left[1]) {
		at := 0
		for at < len(left[0])-1 && left[0][at] == left[1][at] {
			at++
		}
		t.Fatalf("%s: f(%#x, %#x, %d, %#x): %s before, %s after; memory at %#x: %#x before, %#x after", b.form.name, to, from, n, value,
			ends[0], ends[1], at, left[0][at], left[1][at])
	}
}

// TestByteLoops: loops of all forms do the same as before for all lengths up to 40: at all distances between both places up to 40,
// in both directions; at both ends of memory and of the addresses.
func TestByteLoops(t *testing.T) {
	const pageSize, longest = 1 << 16, 40
	r := rand.New(rand.NewPCG(41, 1))
	memory := make([]byte, pageSize)
	for i := range memory {
		memory[i] = byte(r.Uint32())
	}
	equal := bytes.Clone(memory) // around the place of comparisons
	for i := range 200 {
		equal[1000+i] = byte(i % 3 / 2)
	}
	share := testenv.Cases(30, 8, 1)
	calls, traps := 0, 0
	forms := byteForms()
	for i := range forms {
		b := newByteRun(t, &forms[i])
		for n := range uint32(longest + 1) {
			for d := -longest; d <= longest; d++ {
				if r.IntN(share) > 0 {
					continue
				}
				b.same(t, memory, uint32(2000+d), 2000, n, r.Uint64())
				// Equal bytes as far as one that differs, which may be behind the end.
				copy(equal[3000+d:], equal[1000:1060])
				equal[3000+d+r.IntN(longest+2)] ^= 0x80
				b.same(t, equal, uint32(3000+d), 1000, n, r.Uint64())
			}
			for k := range uint32(longest + 4) {
				if r.IntN(share) > 0 {
					continue
				}
				for _, at := range [...]uint32{pageSize - k, -k, k} {
					b.same(t, memory, at, 500, n, r.Uint64())
					b.same(t, memory, 500, at, n, r.Uint64())
					b.same(t, memory, at, at, n, r.Uint64())
				}
			}
		}
		for _, n := range [...]uint32{41, 64, 100, 1000, 4099, 1<<31 + 3, 1<<32 - 1, 1<<32 - 9} {
			b.same(t, memory, 10, 20000, n, r.Uint64())
			b.same(t, memory, 60000, 50000, n, r.Uint64())
			b.same(t, memory, 20010, 20000, n, r.Uint64())
			b.same(t, memory, 20000, 20020, n, r.Uint64())
		}
		calls, traps = calls+b.calls, traps+b.traps
	}
	t.Logf("%d forms, %d calls, %d traps", len(forms), calls, traps/2)
	if traps == 0 {
		t.Error("nothing trapped")
	}
}

// TestByteLoopsAreFast: loops of all forms take few steps for many bytes, at the beginning, in the middle and at the end of memory.
func TestByteLoopsAreFast(t *testing.T) {
	const pageSize, n, enough = 1 << 16, 1000, 2500 // a byte at a time takes more than 5 steps for each
	forms := byteForms()
	for i := range forms {
		form := &forms[i]
		f := form.function()
		for _, to := range [...]uint64{0, 20000, pageSize - n - form.offset[0]} {
			w := newShortWorld(t, enough, optimized(t, &Optimizer{}, f))
			if _, err := w.inst.Func(0).Call([]uint64{to, 40000, n, 0}); err != nil {
				t.Errorf("%s, to %d: %v", form.name, to, err)
			}
		}
	}
}

// byteMiss is a loop that copies, or what becomes of one if the text FROM is replaced.
const byteMiss = `
mem0 1
mem1 1
function "other" () -> () {
block0:
    return
}
function "miss" (i32, i32, i32, i32) -> (i32) {
block0(v0: i32, v1: i32, v2: i32, v3: i32):
    v4 = iconst.i32 1
    v5 = iconst.i32 -1
    jump block1(v0, v1, v2, v3)
block1(v6: i32, v7: i32, v8: i32, v14: i32):
    v9 = load.i32 u8 mem0 v7+0
    store.i32 u8 mem0 v6+0, v9
    v10 = iadd.i32 v6, v4
    v11 = iadd.i32 v7, v4
    v12 = iadd.i32 v8, v5
    v15 = iadd.i32 v14, v4
    br v12, block1(v10, v11, v12, v15), block2
block2:
    v16 = iadd.i32 v6, v14
    return v16
}
`

// TestByteMisses: loops that differ from one that is made wide in one place stay as they are.
func TestByteMisses(t *testing.T) {
	byteMisses(t, byteMiss, []byteEdit{
		{"", ""},
		{"load.i32 u8 mem0", "load.i32 u8 mem1"},
		{"load.i32 u8", "load.i32 u16"},
		{"store.i32 u8", "store.i32 u16"},
		{"mem0 v6+0, v9", "mem0 v6+0, v8"},
		{"mem0 v6+0, v9", "mem0 v6+0, v7"},
		{"v11 = iadd.i32 v7, v4", "v11 = iadd.i32 v7, v5"},
		{"v11 = iadd.i32 v7, v4", "v11 = iadd.i32 v7, v3"},
		{"v11 = iadd.i32 v7, v4", "v11 = iadd.i32 v7, v9"},
		{"v11 = iadd.i32 v7, v4", "v11 = bxor.i32 v7, v4"},
		{"v4 = iconst.i32 1", "v4 = iconst.i32 2"},
		{"v5 = iconst.i32 -1", "v5 = iconst.i32 -2"},
		{"v12 = iadd.i32 v8, v5", "v12 = iadd.i32 v9, v5"},
		{"v10 = iadd", "v13 = load.i32 mem0 v3+0\n    v10 = iadd"},
		{"v10 = iadd", "store.i32 u8 mem0 v3+0, v9\n    v10 = iadd"},
		{"v10 = iadd", "call fn0()\n    v10 = iadd"},
		{"v10 = iadd", "v13 = memory_grow mem0, v8\n    v10 = iadd"},
		{"br v12, block1(v10, v11, v12, v15), block2", "br v12, block2, block1(v10, v11, v12, v15)"},
		{"br v12, block1", "v13 = icmp.i32 ult, v12, v3\n    br v13, block1"},
		{"br v12, block1(v10, v11, v12, v15), block2", "br v12, block1(v10, v11, v12, v15), block1(v11, v10, v12, v15)"},
		{"br v12, block1(v10, v11, v12, v15), block2", "v13 = icmp.i32 eq, v12, v3\n    br v13, block1(v11, v10, v12, v15), block1(v10, v11, v12, v15)"},
		// A limit that moves towards the count, and one that a load gives.
		{"br v12, block1", "v13 = icmp.i32 ne, v12, v10\n    br v13, block1"},
		{"br v12, block1", "v13 = icmp.i32 ne, v12, v9\n    br v13, block1"},
		{"br v12, block1", "v13 = icmp.i32 eq, v12, v3\n    br v13, block1"},
		// A parameter that does not change by a constant.
		{"v15 = iadd.i32 v14, v4", "v15 = bxor.i32 v14, v4"},
		{"v15 = iadd.i32 v14, v4", "v15 = iadd.i32 v14, v9"},
		{"v15 = iadd.i32 v14, v4", "v15 = iadd.i32 v6, v4"},
	})
	byteMisses(t, byteCompareMiss, []byteEdit{
		{"", ""},
		{"icmp.i32 eq", "icmp.i32 ule"},
		{"load.i32 u8 mem0 v7", "load.i32 s8 mem0 v7"},
		{"load.i32 u8 mem0 v7", "load.i32 u8 mem1 v7"},
		{"v11 = icmp", "v15 = load.i32 mem0 v3+0\n    v11 = icmp"},
		{"v12 = iadd", "store.i32 u8 mem0 v3+0, v9\n    v12 = iadd"},
		{"v12 = iadd", "call fn0()\n    v12 = iadd"},
		{"br v11, block2, block3", "br v11, block3, block2"},
		{"block3:\n    return v6", "block3:\n    br v3, block2, block4\nblock4:\n    return v6"},
		{"v13 = iadd.i32 v7, v4", "v13 = iadd.i32 v7, v5"},
		{"br v14, block1(v12, v13, v14), block3", "br v14, block3, block1(v12, v13, v14)"},
	})
}

// byteEdit replaces one text by another.
type byteEdit struct{ from, to string }

// byteCompareMiss is a loop that compares.
const byteCompareMiss = `
mem0 1
mem1 1
function "other" () -> () {
block0:
    return
}
function "miss" (i32, i32, i32, i32) -> (i32) {
block0(v0: i32, v1: i32, v2: i32, v3: i32):
    v4 = iconst.i32 1
    v5 = iconst.i32 -1
    jump block1(v0, v1, v2)
block1(v6: i32, v7: i32, v8: i32):
    v9 = load.i32 u8 mem0 v6+0
    v10 = load.i32 u8 mem0 v7+0
    v11 = icmp.i32 eq, v9, v10
    br v11, block2, block3
block2:
    v12 = iadd.i32 v6, v4
    v13 = iadd.i32 v7, v4
    v14 = iadd.i32 v8, v5
    br v14, block1(v12, v13, v14), block3
block3:
    return v6
}
`

// byteMisses checks that the loop of a source is made wide as it is, but not with one of the edits.
func byteMisses(t *testing.T, source string, edits []byteEdit) {
	t.Helper()
	for _, c := range edits {
		src := strings.Replace(source, c.from, c.to, 1)
		file, err := text.Parse(src)
		if err != nil {
			t.Fatalf("%q: %v", c.to, err)
		}
		o := &Optimizer{Control: &Control{Limit: -1}}
		optimized(t, o, file.Funcs[len(file.Funcs)-1].Func)
		wide := false
		for i := range o.Control.Log {
			wide = wide || o.Control.Log[i].Rule.Pass == "bytes"
		}
		if wide != (c.from == "") {
			t.Errorf("with %q instead of %q: made wide: %v", c.to, c.from, wide)
		}
	}
}
