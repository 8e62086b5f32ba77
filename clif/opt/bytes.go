package opt

import "github.com/waot-project/waot/clif"

// This file widens loops that copy, fill or compare one byte at a time. In front of such a loop it inserts blocks
// that process 16 bytes at a time, or 8 when comparing, and leave the last byte to the original loop:
//
//	guard(p...)  more than 8 bytes, all of them in memory, of a copy at least 16 from each other?
//	             if not, loop(p...)
//	chunks       16 bytes at a time, until no more than 16 are left in front of the last one
//	tail         the 16 bytes in front of the last one
//	resume       loop(p advanced to the last byte)
//	loop(p...)   as before
//
// So the guard decides how it is done, and the loop what happens in the end: the values that leave it, and each trap, with
// the bytes written before it, are its own. Nothing in front of it traps. Memories only grow, and only by calls, which such a
// loop does not have. A comparison that finds a difference resumes the loop at that byte.
//
// A chunk of a copy reads what its bytes would have read one by one, as what they write is at least a chunk away. The
// tail overlaps the last chunk. What it reads again there has not changed since, for the same reason.
//
// With shared memories other threads could see the bytes of a chunk in any order, which the specification allows for accesses
// that are not atomic.

const (
	// word and vector are the sizes of chunks.
	word, vector = 8, 16
	// maxByteInsts is how many instructions, and maxByteParams how many parameters such a loop has.
	maxByteInsts, maxByteParams = 24, 12
)

// byteKind is the operation of a byte loop.
type byteKind uint8

const (
	byteCopy byteKind = iota
	byteFill
	byteCompare
)

// byteRules are the rules, by kind.
var byteRules = [...]Rule{byteCopy: RuleByteCopy, byteFill: RuleByteFill, byteCompare: RuleByteCompare}

// byteLoop is a loop of one block, or of two if it compares. It is used for one loop after the other.
type byteLoop struct {
	o    *Optimizer
	f    *clif.Func
	b    clif.Builder
	kind byteKind
	// header has the accesses; last, perhaps the same block, goes back to it.
	header, last clif.Block
	back         clif.Target
	// access are the load and the store, the store, or two loads.
	access [2]clif.InstData
	// step is the increment of addresses in each iteration: 1 or -1.
	step int64
	// count is compared with limit at the end of each iteration, and changes by countStep. NoValue is 0.
	count, limit clif.Value
	countStep    int64
	// outer are the parameters of guard.
	outer []clif.Value
	// fresh are blocks to be put in front of loops.
	fresh []freshBlocks
}

// freshBlocks are blocks at the end of the layout, up to end, which belong in front of header.
type freshBlocks struct {
	header clif.Block
	end    int
}

// widenBytes looks for byte loops in f.
func widenBytes(o *Optimizer, f *clif.Func) {
	l := &o.bytes
	l.o, l.f, l.fresh = o, f, l.fresh[:0]
	old := len(f.Layout)
	for i := 1; i < old; i++ {
		f.Stop.PollAt(i)
		h := f.Layout[i]
		if !l.find(h) {
			continue
		}
		o.flow(f)
		if !o.may(byteRules[l.kind]) {
			continue
		}
		l.widen()
		o.note(f.Offset(f.Srcs[f.Blocks[h].Start]), "loop "+h.String(), "a wide loop, then "+h.String())
		l.fresh = append(l.fresh, freshBlocks{h, len(f.Layout)})
	}
	if len(l.fresh) == 0 {
		return
	}
	o.cfgValid = false
	layout := make([]clif.Block, 0, len(f.Layout))
	next, from := 0, old
	for _, b := range f.Layout[:old] {
		if next < len(l.fresh) && l.fresh[next].header == b {
			layout = append(layout, f.Layout[from:l.fresh[next].end]...)
			from = l.fresh[next].end
			next++
		}
		layout = append(layout, b)
	}
	f.Layout = layout
}

// find reports whether a byte loop begins at h, and describes it.
func (l *byteLoop) find(h clif.Block) bool {
	f := l.f
	end := f.Terminator(h)
	d := &f.Insts[end]
	if d.Op != clif.OpBranch || int(end-f.Blocks[h].Start) > maxByteInsts || int(f.Blocks[h].Params.Len) > maxByteParams {
		return false
	}
	l.header, l.last = h, h
	if !l.loops(d) {
		return l.findCompare(d)
	}
	return l.findAccesses() && l.findCount(d)
}

// loops reports whether the branch d goes back to the header, and keeps the edge.
func (l *byteLoop) loops(d *clif.InstData) bool {
	then, els := l.f.Targets[d.Args[1]].Block, l.f.Targets[d.Args[2]].Block
	if (then == l.header) == (els == l.header) {
		return false
	}
	l.back = clif.Target(d.Args[1])
	if els == l.header {
		l.back = clif.Target(d.Args[2])
	}
	return true
}

// findCompare finds a loop whose header goes on, in a second block, where two bytes are equal.
func (l *byteLoop) findCompare(d *clif.InstData) bool {
	f := l.f
	cond := l.inside(d.ArgA())
	if cond == nil || cond.Op != clif.OpIcmp || cond.IntCC() > clif.Ne {
		return false
	}
	equal := clif.Target(d.Args[1])
	if cond.IntCC() == clif.Ne {
		equal = clif.Target(d.Args[2])
	}
	x, y := l.inside(cond.ArgA()), l.inside(cond.ArgB())
	next := f.Targets[equal].Block
	if x == nil || y == nil || x.Op != clif.OpLoad || y.Op != clif.OpLoad || x.Cond != y.Cond || next == l.header {
		return false
	}
	l.last, l.kind = next, byteCompare
	end := f.Terminator(next)
	if f.Insts[end].Op != clif.OpBranch || f.Blocks[next].Params.Len > 0 || int(end-f.Blocks[next].Start) > maxByteInsts || !l.loops(&f.Insts[end]) {
		return false
	}
	l.o.flow(f)
	return len(l.o.cfg.Preds(next)) == 1 && l.effects(next) == 0 && l.effects(l.header) == 2 &&
		l.addressed(x, y) && l.findCount(&f.Insts[end])
}

// findAccesses finds what a loop of one block does with memory.
func (l *byteLoop) findAccesses() bool {
	f := l.f
	var load, store *clif.InstData
	for i := f.Blocks[l.header].Start; i < f.Terminator(l.header); i++ {
		switch d := &f.Insts[i]; d.Op {
		case clif.OpLoad:
			load = d
		case clif.OpStore:
			store = d
		}
	}
	switch n := l.effects(l.header); {
	case store == nil:
		return false
	case n == 1:
		l.kind = byteFill
		s, ok := l.stepOf(store.ArgB(), 0)
		return ok && s == 0 && l.simple(store.ArgB()) && l.addressed(store, store)
	case n == 2 && load != nil && store.ArgB() == load.Result:
		l.kind = byteCopy
		return l.addressed(load, store)
	}
	return false
}

// simple reports whether v is outside the loop, or a constant.
func (l *byteLoop) simple(v clif.Value) bool {
	d := l.inside(v)
	return (d == nil || d.Op == clif.OpIconst) && !l.isParam(v)
}

// effects counts instructions of b, other than the last, that do more than compute.
func (l *byteLoop) effects(b clif.Block) (n int) {
	for i := l.f.Blocks[b].Start; i < l.f.Terminator(b); i++ {
		if !l.f.Insts[i].Op.IsPure() {
			n++
		}
	}
	return n
}

// addressed keeps x and y as the accesses if they are of bytes of one memory at addresses that change alike by one.
func (l *byteLoop) addressed(x, y *clif.InstData) bool {
	l.access = [2]clif.InstData{*x, *y}
	for i := range l.access {
		d := &l.access[i]
		if d.Access() != clif.U8 && d.Access() != clif.S8 || d.Aux != x.Aux || l.f.TypeOf(d.ArgA()) != clif.I32 {
			return false
		}
		s, ok := l.stepOf(d.ArgA(), 0)
		if !ok || s != 1 && s != -1 || i > 0 && s != l.step {
			return false
		}
		l.step = s
	}
	return true
}

// findCount finds what the branch d counts.
func (l *byteLoop) findCount(d *clif.InstData) bool {
	l.count, l.limit = d.ArgA(), clif.NoValue
	stays := clif.Ne // if not, this holds where the loop goes on
	if clif.Target(d.Args[2]) == l.back {
		stays = clif.Eq
	}
	if c := l.inside(l.count); c != nil && c.Op == clif.OpIcmp {
		if c.IntCC() != stays {
			return false
		}
		l.count, l.limit = c.ArgA(), c.ArgB()
		if s, ok := l.stepOf(l.count, 0); ok && s == 0 {
			l.count, l.limit = l.limit, l.count
		}
		if !l.simple(l.limit) {
			return false
		}
	} else if stays != clif.Ne {
		return false
	}
	for _, v := range l.f.Params(l.header) {
		if _, ok := l.stepOf(clif.Value(v), 0); !ok {
			return false
		}
	}
	var ok bool
	l.countStep, ok = l.stepOf(l.count, 0)
	return ok && (l.countStep == 1 || l.countStep == -1)
}

// inside returns the instruction of the loop that defines v, or nil.
func (l *byteLoop) inside(v clif.Value) *clif.InstData {
	i := l.f.DefInst(v)
	if i == clif.NoInst {
		return nil
	}
	for _, b := range [...]clif.Block{l.header, l.last} {
		if bd := &l.f.Blocks[b]; i >= bd.Start && i < bd.End {
			return &l.f.Insts[i]
		}
	}
	return nil
}

func (l *byteLoop) isParam(v clif.Value) bool {
	d := &l.f.Values[v]
	return d.Kind == clif.ValueParam && clif.Block(d.Def) == l.header
}

// maxByteDepth bounds how deep sums are looked into.
const maxByteDepth = 4

// stepOf returns by how much v, an integer, changes in each iteration.
func (l *byteLoop) stepOf(v clif.Value, depth int) (step int64, ok bool) {
	if l.isParam(v) {
		return l.paramStep(v)
	}
	d := l.inside(v)
	switch {
	case d == nil || d.Op == clif.OpIconst:
		return 0, true
	case depth == maxByteDepth:
		return 0, false
	}
	switch d.Op {
	case clif.OpIreduce:
		return l.stepOf(d.ArgA(), depth+1)
	case clif.OpIadd, clif.OpIsub:
		x, okX := l.stepOf(d.ArgA(), depth+1)
		y, okY := l.stepOf(d.ArgB(), depth+1)
		if d.Op == clif.OpIsub {
			y = -y
		}
		return x + y, okX && okY
	}
	return 0, false
}

// paramStep is stepOf for a parameter, which is itself plus a constant the next time.
func (l *byteLoop) paramStep(v clif.Value) (step int64, ok bool) {
	next := clif.Value(l.f.TargetArgs(l.back)[l.f.Values[v].Num])
	for range maxByteDepth {
		if next == v {
			return step, true
		}
		d := l.inside(next)
		if d == nil || d.Op != clif.OpIadd {
			return 0, false
		}
		k, ok := l.constant(d.ArgB())
		if !ok {
			return 0, false
		}
		step, next = step+k, d.ArgA()
	}
	return 0, false
}

// constant returns the number that v is, with its sign, if it is a small one.
func (l *byteLoop) constant(v clif.Value) (int64, bool) {
	i := l.f.DefInst(v)
	if i == clif.NoInst || l.f.Insts[i].Op != clif.OpIconst {
		return 0, false
	}
	d := &l.f.Insts[i]
	k := int64(d.Imm)
	if d.Type == clif.I32 {
		k = int64(int32(k))
	}
	return k, k == int64(int32(k))
}

// widen puts the blocks in front of the loop.
func (l *byteLoop) widen() {
	f := l.f
	l.b = clif.Builder{F: f, Src: f.Srcs[f.Terminator(l.header)]}
	guard := l.b.NewBlock()
	l.outer = l.outer[:0]
	for n := range f.Blocks[l.header].Params.Len {
		l.outer = append(l.outer, l.b.AddParam(guard, f.TypeOf(clif.Value(f.Params(l.header)[n]))))
	}
	for _, e := range l.o.cfg.Preds(l.header) {
		f.Stop.Poll()
		if e.Target != l.back {
			f.Targets[e.Target].Block = guard
		}
	}
	l.b.SwitchTo(guard)
	count := l.guardCount()
	first := l.each(func(i int) clif.Value { return l.whole(clif.I32, l.access[i].ArgA()) })
	l.guardMemory(first, count)
	w := wideLoop{byteLoop: l, first: first, last: l.add(clif.I64, count, -1), resume: l.b.NewBlock()}
	l.b.AddParam(w.resume, clif.I64)
	w.emit()
	l.resumeAt(w.resume)
}

// each returns what f returns for each access. In a fill there is one.
func (l *byteLoop) each(f func(i int) clif.Value) (v [2]clif.Value) {
	v = [2]clif.Value{f(0), none}
	if l.kind != byteFill {
		v[1] = f(1)
	}
	return v
}

// check goes on in a new block if cond holds, else in the loop as it was.
func (l *byteLoop) check(cond clif.Value) {
	next := l.b.NewBlock()
	l.b.Branch(cond, l.b.Target(next, nil), l.b.Target(l.header, l.outer))
	l.b.SwitchTo(next)
}

// guardCount checks that the loop has more than a chunk of iterations, and returns their number as an i64.
func (l *byteLoop) guardCount() clif.Value {
	t := l.f.TypeOf(l.count)
	// The count meets the limit after (limit - count) * countStep further iterations.
	x, off := l.split(l.count)
	limit, k := none, int64(0)
	if l.limit != none {
		limit, k = l.split(l.limit)
	}
	n := x
	switch {
	case limit != none && l.countStep > 0:
		n = l.b.Binary(clif.OpIsub, t, limit, x)
	case limit != none:
		n = l.b.Binary(clif.OpIsub, t, x, limit)
	case l.countStep > 0:
		n = l.b.Binary(clif.OpIsub, t, l.b.Iconst(t, 0), x)
	}
	n = l.add(t, n, (k-off)*l.countStep+1)
	if t == clif.I32 {
		l.check(l.b.Icmp(clif.Ugt, t, n, l.b.Iconst(t, word)))
		return l.b.Unary(clif.OpUextend, clif.I64, n)
	}
	l.check(l.b.Icmp(clif.Ult, t, l.add(t, n, -word-1), l.b.Iconst(t, 1<<32)))
	return n
}

// split returns a value and a constant whose sum is v in the first iteration; NoValue is 0.
func (l *byteLoop) split(v clif.Value) (base clif.Value, off int64) {
	if k, ok := l.constant(v); ok {
		return none, k
	}
	if l.isParam(v) {
		return l.outer[l.f.Values[v].Num], 0
	}
	d := l.inside(v)
	if d == nil {
		return v, 0
	}
	t, op, x := d.Type, d.Op, d.ArgA()
	switch op {
	case clif.OpIconst:
		return l.b.Iconst(t, d.Imm), 0
	case clif.OpIreduce:
		if base, off = l.split(x); base != none {
			base = l.b.Unary(op, t, base)
		}
		return base, off
	}
	y := d.ArgB()
	base, off = l.split(x)
	z, k := l.split(y)
	if op == clif.OpIsub {
		k = -k
	}
	switch {
	case z == none:
	case base == none && op == clif.OpIadd:
		base = z
	case base == none:
		base = l.b.Binary(op, t, l.b.Iconst(t, 0), z)
	default:
		base = l.b.Binary(op, t, base, z)
	}
	return base, off + k
}

// whole returns what v, of type t, is in the first iteration.
func (l *byteLoop) whole(t clif.Type, v clif.Value) clif.Value {
	base, off := l.split(v)
	if base == none {
		return l.b.Iconst(t, uint64(off))
	}
	return l.add(t, base, off)
}

func (l *byteLoop) add(t clif.Type, v clif.Value, k int64) clif.Value {
	if k == 0 {
		return v
	}
	return l.b.Binary(clif.OpIadd, t, v, l.b.Iconst(t, uint64(k)))
}

// forward is x + y if addresses rise, else x - y.
func (l *byteLoop) forward(t clif.Type, x, y clif.Value) clif.Value {
	if l.step > 0 {
		return l.b.Binary(clif.OpIadd, t, x, y)
	}
	return l.b.Binary(clif.OpIsub, t, x, y)
}

// guardMemory checks that all bytes are in memory, and that a copy's addresses are far enough from each other. The sums, of
// 64 bits, do not overflow: addresses and offsets are below 2^32, and count is below 2^33.
func (l *byteLoop) guardMemory(first [2]clif.Value, count clif.Value) {
	size := l.b.Entity(clif.OpMemorySize, clif.Invalid, l.access[0].Aux)
	wide := l.each(func(i int) clif.Value { return l.b.Unary(clif.OpUextend, clif.I64, first[i]) })
	offset := func(i int) int64 { return int64(l.access[i].Imm) }
	for i, a := range wide {
		switch {
		case a == none:
		case l.step > 0:
			end := l.add(clif.I64, l.b.Binary(clif.OpIadd, clif.I64, a, count), offset(i))
			l.check(l.b.Icmp(clif.Ule, clif.I64, end, size))
		default:
			l.check(l.b.Icmp(clif.Ule, clif.I64, l.add(clif.I64, a, offset(i)+1), size))
			l.check(l.b.Icmp(clif.Ule, clif.I64, count, l.add(clif.I64, a, 1)))
		}
	}
	if l.kind == byteCopy {
		apart := l.b.Binary(clif.OpIsub, clif.I64, wide[1], wide[0])
		apart = l.add(clif.I64, apart, offset(1)-offset(0)+vector-1)
		l.check(l.b.Icmp(clif.Ugt, clif.I64, apart, l.b.Iconst(clif.I64, 2*vector-2)))
	}
}

// resumeAt fills the block that continues with the loop after as many iterations as its parameter says.
func (l *byteLoop) resumeAt(resume clif.Block) {
	l.b.SwitchTo(resume)
	done := clif.Value(l.f.Params(resume)[0])
	low := l.b.Unary(clif.OpIreduce, clif.I32, done)
	args := make([]clif.Value, len(l.outer))
	for i, v := range l.outer {
		args[i] = v
		step, _ := l.paramStep(clif.Value(l.f.Params(l.header)[i]))
		t, by := l.f.TypeOf(v), done
		if t == clif.I32 {
			by = low
		}
		switch step {
		case 0:
		case 1:
			args[i] = l.b.Binary(clif.OpIadd, t, v, by)
		case -1:
			args[i] = l.b.Binary(clif.OpIsub, t, v, by)
		default:
			args[i] = l.b.Binary(clif.OpIadd, t, v, l.b.Binary(clif.OpImul, t, by, l.b.Iconst(t, uint64(step))))
		}
	}
	l.b.Jump(l.b.Target(l.header, args))
}

// wideLoop makes what does the bytes in front of the last one.
type wideLoop struct {
	*byteLoop
	first  [2]clif.Value // where the accesses begin
	last   clif.Value    // iterations in front of the last one
	resume clif.Block
	// Of a fill: the byte eight times, and sixteen times.
	word, vector clif.Value
}

// emit appends the blocks: of a comparison, a loop over words; else a loop over vectors, or two words if there are no more
// than a vector has.
func (w *wideLoop) emit() {
	b := &w.b
	if w.kind == byteCompare {
		w.chunks(word)
		return
	}
	if w.kind == byteFill {
		w.word = w.pattern()
		w.vector = b.Unary(clif.OpVsplat, clif.I64x2, w.word)
	}
	many, few := b.NewBlock(), b.NewBlock()
	b.Branch(b.Icmp(clif.Ugt, clif.I64, w.last, b.Iconst(clif.I64, vector)), b.Target(many, nil), b.Target(few, nil))
	b.SwitchTo(few)
	begin, tail := w.places(word)
	w.once(word, begin)
	w.once(word, tail)
	b.Jump(b.Target(w.resume, []clif.Value{w.last}))
	b.SwitchTo(many)
	w.chunks(vector)
}

// places returns where the first chunk of that many bytes is, and the last one, which ends in front of iteration last.
func (w *wideLoop) places(size int64) (begin, tail [2]clif.Value) {
	before := w.add(clif.I32, w.b.Unary(clif.OpIreduce, clif.I32, w.last), -size)
	begin = w.each(func(i int) clif.Value {
		if w.step > 0 {
			return w.first[i]
		}
		return w.add(clif.I32, w.first[i], 1-size) // the chunk goes down from there
	})
	return begin, w.each(func(i int) clif.Value { return w.forward(clif.I32, begin[i], before) })
}

// chunks appends the loop over chunks, and the tail.
func (w *wideLoop) chunks(size int64) {
	b := &w.b
	begin, tail := w.places(size)
	loop, after := b.NewBlock(), b.NewBlock()
	b.Jump(b.Target(loop, w.args(w.last, begin)))
	left := b.AddParam(loop, clif.I64) // iterations in front of the last one that are still to be done
	at := w.each(func(int) clif.Value { return b.AddParam(loop, clif.I32) })
	b.SwitchTo(loop)
	w.unlike(w.once(size, at), left)
	at = w.each(func(i int) clif.Value { return w.add(clif.I32, at[i], w.step*size) })
	left = w.add(clif.I64, left, -size)
	more := b.Icmp(clif.Ugt, clif.I64, left, b.Iconst(clif.I64, uint64(size)))
	b.Branch(more, b.Target(loop, w.args(left, at)), b.Target(after, nil))
	b.SwitchTo(after)
	w.unlike(w.once(size, tail), b.Iconst(clif.I64, uint64(size)))
	b.Jump(b.Target(w.resume, []clif.Value{w.last}))
}

// args are the arguments of the loop over chunks.
func (w *wideLoop) args(left clif.Value, at [2]clif.Value) []clif.Value {
	if w.kind == byteFill {
		return []clif.Value{left, at[0]}
	}
	return []clif.Value{left, at[0], at[1]}
}

// once appends what is done with one chunk. Of a comparison it returns the exclusive or of both sides.
func (w *wideLoop) once(size int64, at [2]clif.Value) clif.Value {
	t, fill := clif.I64, w.word
	if size == vector {
		t, fill = clif.V128, w.vector
	}
	load := func(i int) clif.Value {
		return w.b.Load(t, clif.Full, clif.MemoryIndex(w.access[i].Aux), at[i], w.access[i].Imm)
	}
	store := func(i int, x clif.Value) {
		w.b.Store(t, clif.Full, clif.MemoryIndex(w.access[i].Aux), at[i], x, w.access[i].Imm)
	}
	switch w.kind {
	case byteCopy:
		store(1, load(0))
	case byteFill:
		store(0, fill)
	case byteCompare:
		return w.b.Binary(clif.OpBxor, clif.I64, load(0), load(1))
	}
	return none
}

// unlike continues with the loop at the first byte that differs, if there is one in x; the chunk begins where left iterations are
// to be done.
func (w *wideLoop) unlike(x, left clif.Value) {
	if x == none {
		return
	}
	b := &w.b
	next, differ := b.NewBlock(), b.NewBlock()
	b.Branch(b.Icmp(clif.Eq, clif.I64, x, b.Iconst(clif.I64, 0)), b.Target(next, nil), b.Target(differ, nil))
	b.SwitchTo(differ)
	count := clif.OpCtz // memory is little-endian
	if w.step < 0 {
		count = clif.OpClz
	}
	same := b.Binary(clif.OpUshr, clif.I64, b.Unary(count, clif.I64, x), b.Iconst(clif.I64, 3))
	done := b.Binary(clif.OpIadd, clif.I64, b.Binary(clif.OpIsub, clif.I64, w.last, left), same)
	b.Jump(b.Target(w.resume, []clif.Value{done}))
	b.SwitchTo(next)
}

// pattern returns the byte of a fill eight times.
func (w *wideLoop) pattern() clif.Value {
	v := w.access[0].ArgB()
	t := w.f.TypeOf(v)
	x := w.whole(t, v)
	if t == clif.I32 {
		x = w.b.Unary(clif.OpUextend, clif.I64, x)
	}
	x = w.b.Binary(clif.OpBand, clif.I64, x, w.b.Iconst(clif.I64, 0xff))
	return w.b.Binary(clif.OpImul, clif.I64, x, w.b.Iconst(clif.I64, 0x0101010101010101))
}
