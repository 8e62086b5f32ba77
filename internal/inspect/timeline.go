package inspect

import (
	"slices"

	"github.com/waot-project/waot/regalloc"
)

// maxLive bounds what a timeline holds of one function: pairs of a block and a value that lives at its start, or at its end.
const maxLive = 4 << 20

// A timeline follows the allocated code row by row and notes where values are, by the rules of package checker: an operand's
// definition puts a value into a place, a move copies what is there, claims say what is there where blocks begin. It believes the allocation, which has
// been checked. Positions are half rows: 2*row is where the row reads, 2*row+1 where it has written.
type timeline struct {
	in  *regalloc.Input
	out *regalloc.Output

	liveIn [][]regalloc.VReg // by block
	total  int               // of what liveIn and exits hold
	exits  []state           // by block, where a successor needs it
	now    state
	deaths [][]regalloc.VReg // by instruction of the block

	// stamp, by VReg, is the newest scan that has met it.
	stamp []int
	scan  int

	open    map[held]int // where segments begin
	done    []segment
	omitted string // why there are no segments
}

// held is a value in a place.
type held struct {
	vreg regalloc.VReg
	at   regalloc.Allocation
}

// segment is held from one position to another, both included.
type segment struct {
	held
	from, to int
}

// state is what places hold.
type state map[regalloc.Allocation][]regalloc.VReg

func newTimeline(in *regalloc.Input, out *regalloc.Output) *timeline {
	t := &timeline{in: in, out: out, now: state{}, open: map[held]int{}, stamp: make([]int, len(in.VRegs)), exits: make([]state, len(in.Blocks))}
	t.findLive()
	return t
}

// findLive fills liveIn: it goes back from each use to the definition.
func (t *timeline) findLive() {
	in := t.in
	t.liveIn = make([][]regalloc.VReg, len(in.Blocks))
	def, uses := make([]regalloc.Block, len(in.VRegs)), make([][]regalloc.Block, len(in.VRegs))
	use := func(v regalloc.VReg, b regalloc.Block) {
		if n := len(uses[v]); n == 0 || uses[v][n-1] != b {
			uses[v] = append(uses[v], b)
		}
	}
	for n := range in.Blocks {
		b := regalloc.Block(n)
		for _, p := range in.ParamsOf(b) {
			def[p] = b
		}
		for i := regalloc.Inst(in.Blocks[b].Insts.Start); i < regalloc.Inst(in.Blocks[b].Insts.End); i++ {
			for _, o := range in.OperandsOf(i) {
				if o.Access.Defines() {
					def[o.VReg] = b
				} else {
					use(o.VReg, b)
				}
			}
		}
		for _, e := range in.SuccsOf(b) {
			for _, v := range in.ArgsOf(e) {
				use(v, b)
			}
		}
	}
	seen := make([]regalloc.VReg, len(in.Blocks)) // by block: the last that was found to live at its start, plus 1
	var work []regalloc.Block
	for n := range in.VRegs {
		v := regalloc.VReg(n)
		work = append(work[:0], uses[v]...)
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if b == def[v] || seen[b] == v+1 {
				continue
			}
			seen[b] = v + 1
			t.liveIn[b] = append(t.liveIn[b], v)
			if !t.room(1) {
				return
			}
			work = append(work, in.PredsOf(b)...)
		}
	}
}

// room takes room for n pairs, and reports whether there is any left.
func (t *timeline) room(n int) bool {
	if t.total += n; t.total > maxLive {
		t.omitted = "too many values live in too many blocks"
		t.done, t.open, t.now = nil, nil, nil
	}
	return t.omitted == ""
}

// enter goes to the start of block n, which row shows.
func (t *timeline) enter(n, row int) {
	if t.omitted != "" {
		return
	}
	t.scan++
	for _, v := range t.liveIn[n] {
		t.stamp[v] = t.scan
	}
	for _, p := range t.in.ParamsOf(regalloc.Block(n)) {
		t.stamp[p] = t.scan
	}
	next := t.entry(n)
	for l, vs := range next {
		vs = slices.DeleteFunc(vs, func(v regalloc.VReg) bool { return t.stamp[v] != t.scan })
		if next[l] = vs; len(vs) == 0 {
			delete(next, l)
		}
	}
	for h := range t.open {
		if !slices.Contains(next[h.at], h.vreg) {
			t.close(h, 2*row-1)
		}
	}
	t.now = next
	for l, vs := range next {
		for _, v := range vs {
			t.begin(held{v, l}, 2*row)
		}
	}
	t.findDeaths(n)
}

// entry returns what is known at the start of block n.
func (t *timeline) entry(n int) state {
	s := state{}
	start := uint32(0)
	if n > 0 && n-1 < len(t.out.ClaimEnd) {
		start = t.out.ClaimEnd[n-1]
	}
	if n < len(t.out.ClaimEnd) && t.out.ClaimEnd[n] > start {
		for _, c := range t.out.Claims[start:t.out.ClaimEnd[n]] {
			s[c.Loc] = append(s[c.Loc], c.VReg)
		}
		return s
	}
	preds := t.in.PredsOf(regalloc.Block(n))
	if len(preds) != 1 {
		return s
	}
	params := t.in.ParamsOf(regalloc.Block(n))
	var args []regalloc.VReg
	for _, e := range t.in.SuccsOf(preds[0]) {
		if e.To == regalloc.Block(n) {
			args = t.in.ArgsOf(e)
		}
	}
	for l, vs := range t.exits[preds[0]] {
		s[l] = slices.Clone(vs)
		for k, a := range args { // the parameter is another name of the argument
			if slices.Contains(vs, a) {
				s[l] = append(s[l], params[k])
			}
		}
	}
	return s
}

// findDeaths fills deaths of block n.
func (t *timeline) findDeaths(n int) {
	in := t.in
	t.scan++
	for _, e := range in.SuccsOf(regalloc.Block(n)) {
		for _, v := range in.ArgsOf(e) {
			t.stamp[v] = t.scan
		}
		for _, v := range t.liveIn[e.To] {
			t.stamp[v] = t.scan
		}
	}
	r := in.Blocks[n].Insts
	t.deaths = slices.Grow(t.deaths[:0], r.Len())[:r.Len()]
	for i := r.End; i > r.Start; i-- {
		t.deaths[i-1-r.Start] = nil
		for _, o := range in.OperandsOf(regalloc.Inst(i - 1)) {
			if t.stamp[o.VReg] != t.scan {
				t.stamp[o.VReg] = t.scan
				t.deaths[i-1-r.Start] = append(t.deaths[i-1-r.Start], o.VReg)
			}
		}
	}
}

// leave keeps what is known at the end of block n for a successor that it alone leads to.
func (t *timeline) leave(n int) {
	if t.omitted != "" {
		return
	}
	for _, e := range t.in.SuccsOf(regalloc.Block(n)) {
		if len(t.in.PredsOf(e.To)) == 1 && t.exits[n] == nil && t.room(len(t.open)) {
			t.exits[n] = t.now
		}
	}
}

// edit does edit n, which row shows, and returns the values that it moves, and where they are then.
func (t *timeline) edit(n, row int) (moved []held) {
	if t.omitted != "" {
		return nil
	}
	e := &t.out.Edits[n]
	arrive := func(vs []regalloc.VReg, l regalloc.Allocation) {
		t.put(l, vs, int(e.Bytes), 2*row+1)
		for _, v := range vs {
			moved = append(moved, held{v, l})
		}
	}
	from, to := slices.Clone(t.now[e.From]), slices.Clone(t.now[e.To])
	switch e.Kind {
	case regalloc.Remat, regalloc.StoreConst:
		arrive([]regalloc.VReg{t.in.OperandsOf(e.Inst)[0].VReg}, e.To)
	case regalloc.Swap:
		arrive(from, e.To)
		arrive(to, e.From)
	default:
		arrive(from, e.To)
	}
	return moved
}

// inst does instruction i of block n, which row shows.
func (t *timeline) inst(i regalloc.Inst, n, row int) {
	if t.omitted != "" {
		return
	}
	in := t.in
	start, end := in.OperandRange(i)
	died := t.deaths[uint32(i)-in.Blocks[n].Insts.Start]
	for k := start; k < end; k++ {
		if o := &in.Operands[k]; o.Access.Reads() && slices.Contains(died, o.VReg) {
			t.kill(o.VReg, 2*row+b2i(o.Access == regalloc.LateUse))
		}
	}
	clobbers := in.ClobbersOf(i)
	for lost := clobbers.Low | clobbers.High; lost != 0; lost = lost.Remove(lost.First()) {
		l := regalloc.InReg(lost.First())
		for _, v := range slices.Clone(t.now[l]) {
			if clobbers.Lost(in.VRegs[v].Bytes).Has(l.Reg()) {
				t.drop(held{v, l}, 2*row)
			}
		}
	}
	for k := start; k < end; k++ {
		o := &in.Operands[k]
		if !o.Access.Defines() || t.out.Allocs[k].IsNone() {
			continue
		}
		t.put(t.out.Allocs[k], []regalloc.VReg{o.VReg}, int(in.VRegs[o.VReg].Bytes), 2*row+b2i(o.Access == regalloc.Def))
		if slices.Contains(died, o.VReg) { // nothing uses it
			t.kill(o.VReg, 2*row+1)
		}
	}
}

// put makes l, of the given number of bytes, hold vs from pos on, and nothing else.
func (t *timeline) put(l regalloc.Allocation, vs []regalloc.VReg, bytes, pos int) {
	gone := []regalloc.Allocation{l}
	if l.IsSlot() {
		if bytes > 8 {
			gone = append(gone, l+1)
		}
		if l.Index() > 0 && slices.ContainsFunc(t.now[l-1], func(v regalloc.VReg) bool { return t.in.VRegs[v].Bytes > 8 }) {
			gone = append(gone, l-1)
		}
	}
	for _, g := range gone {
		for _, v := range slices.Clone(t.now[g]) {
			t.drop(held{v, g}, pos-1)
		}
	}
	for _, v := range vs {
		t.now[l] = append(t.now[l], v)
		t.begin(held{v, l}, pos)
	}
}

// kill ends v everywhere, at pos.
func (t *timeline) kill(v regalloc.VReg, pos int) {
	for l, vs := range t.now {
		if slices.Contains(vs, v) {
			t.drop(held{v, l}, pos)
		}
	}
}

// drop ends a segment at pos.
func (t *timeline) drop(h held, pos int) {
	t.now[h.at] = slices.DeleteFunc(t.now[h.at], func(v regalloc.VReg) bool { return v == h.vreg })
	if len(t.now[h.at]) == 0 {
		delete(t.now, h.at)
	}
	t.close(h, pos)
}

// begin opens a segment at pos, unless it is open.
func (t *timeline) begin(h held, pos int) {
	if _, ok := t.open[h]; !ok {
		t.open[h] = pos
	}
}

// close ends a segment that is open.
func (t *timeline) close(h held, pos int) {
	if from, ok := t.open[h]; ok && from <= pos {
		t.done = append(t.done, segment{h, from, pos})
	}
	delete(t.open, h)
}

// finish ends all segments in front of row rows, and sorts them.
func (t *timeline) finish(rows int) {
	for h := range t.open {
		t.close(h, 2*rows-1)
	}
	slices.SortFunc(t.done, func(a, b segment) int {
		for _, d := range [...]int{a.from - b.from, int(a.vreg) - int(b.vreg), int(a.at) - int(b.at)} {
			if d != 0 {
				return d
			}
		}
		return 0
	})
}
