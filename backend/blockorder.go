package backend

import (
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/clif/resumable"
	"github.com/waot-project/waot/internal/stop"
)

// LoweredBlock is one block of the final layout: a CLIF block, an edge block, the top of a loop,
// or the synthetic entry before an entry block that is a branch target.
type LoweredBlock struct {
	// Orig is the CLIF block, NoBlock for the other kinds.
	Orig clif.Block
	// TopOf is the CLIF block that follows the top of a loop, its header; NoBlock for the other kinds. All edges to the header
	// lead to the top, which has the header's parameters (see tops.go).
	TopOf clif.Block
	// Via is the CLIF target whose arguments an edge block passes; NoTarget for
	// the other kinds.
	Via clif.Target
	// Results is the call, of the block in front of an edge block, whose results in memory this one loads; else NoInst.
	Results clif.Inst
	// SuccStart, SuccEnd is the range of the block's edges in BlockOrder.Succs.
	SuccStart, SuccEnd uint32
	// LoopDepth is 0 outside loops.
	LoopDepth uint16
	// Cold blocks surely end in a trap, or are reached along rare edges only.
	Cold bool
	// Header: the target of a back edge. If the loop has a top, that is it.
	Header bool
}

// Succ is one edge of the final layout.
type Succ struct {
	// To is an index into BlockOrder.Blocks.
	To uint32
	// Via is the CLIF target whose arguments the edge passes, NoTarget if it
	// passes none (the edge block does).
	Via clif.Target
}

// edge is one edge between CLIF blocks. Equal edges of a block are merged.
type edge struct {
	via  clif.Target
	to   clif.Block
	crit bool   // has an edge block
	rare bool   // of a resumption table, and not its first; or as resumable.RareSide guesses; or to a handler; or where the heap is full
	at   uint32 // the lowered edge block, once placed
}

// BlockOrder is the order in which blocks are emitted, with critical edges
// split. The split graph is not built; edge blocks appear in the order only.
//
// A block that dominates another comes before it: lowering, which goes through
// the order backwards, sees uses before definitions. Loops are contiguous
// except for their cold blocks, which are last. A loop that rare edges enter elsewhere than at its header is one
// loop nevertheless, since the search follows them last; their edge blocks come behind everything else.
type BlockOrder struct {
	Blocks []LoweredBlock
	Succs  []Succ
	// tableEdges maps the entries of all br_tables to edge numbers; tableStart,
	// by CLIF block, is where a block's entries begin.
	tableEdges []uint32
	// tops are the tops of loops, indices of Blocks.
	tops []uint32

	f      *clif.Func
	info   []blockInfo // by CLIF block
	nest   analysis.Loops
	edges  []edge
	rpo    []clif.Block
	order  []clif.Block
	stack  []frameOfDFS
	before []pendingEdge
	rare   bool // there are rare edges
}

// blockInfo holds the facts of a CLIF block.
type blockInfo struct {
	edgeStart, edgeEnd uint32 // in BlockOrder.edges
	tableStart         uint32
	preds              uint32
	layout             uint32     // position in Func.Layout
	child, sibling     clif.Block // loop tree: first member, next in the same loop
	pos                uint32     // position in order, then in Blocks
	beforeHead         uint32     // edge blocks to be placed in front, plus 1
	stamp              uint32     // newest edge to this block plus 1, while edges are collected
	results            clif.Inst  // the call that its catch belongs to, if results of it may be in memory; else NoInst
	depth              uint16
	seen, cold, warm   bool // warm: reached along edges that are not rare
}

type frameOfDFS struct {
	block clif.Block
	next  uint32
}

// maxDepth is the greatest loop depth: loops nested deeper have this depth too.
const maxDepth = 1 << 15

type pendingEdge struct{ edge, from, next uint32 }

// NumBlocks returns the number of blocks in the final layout.
func (o *BlockOrder) NumBlocks() int { return len(o.Blocks) }

// SuccsOf returns the edges out of block b.
func (o *BlockOrder) SuccsOf(b int) []Succ {
	lb := &o.Blocks[b]
	return o.Succs[lb.SuccStart:lb.SuccEnd]
}

// TableEdges returns, for each entry of the br_table that ends CLIF block b, the
// number of its edge.
func (o *BlockOrder) TableEdges(b clif.Block, n int) []uint32 {
	s := o.info[b].tableStart
	return o.tableEdges[s : s+uint32(n)]
}

// Compute fills o for f.
func (o *BlockOrder) Compute(f *clif.Func) {
	o.f = f
	o.Blocks, o.Succs, o.tableEdges = o.Blocks[:0], o.Succs[:0], o.tableEdges[:0]
	o.tops = o.tops[:0]
	o.edges, o.before = stop.Grow(f.Stop, o.edges[:0], len(f.Targets)), o.before[:0]
	o.rpo, o.order = stop.Grow(f.Stop, o.rpo[:0], len(f.Layout)), stop.Grow(f.Stop, o.order[:0], len(f.Layout))
	o.info, o.rare = stop.Resize(f.Stop, o.info, len(f.Blocks)), false
	for i := range o.info {
		f.Stop.PollAt(i)
		o.info[i] = blockInfo{child: clif.NoBlock, sibling: clif.NoBlock, results: clif.NoInst}
	}
	for i, b := range f.Layout {
		f.Stop.PollAt(i)
		o.info[b].layout = uint32(i)
	}
	o.search()
	o.findWarm()
	o.loops()
	o.place()
	o.split()
	o.f = nil
}

// collectEdges appends the merged edges out of b, sets preds of the targets.
func (o *BlockOrder) collectEdges(b clif.Block) {
	f, bi := o.f, &o.info[b]
	bi.edgeStart = uint32(len(o.edges))
	bi.tableStart = uint32(len(o.tableEdges))
	t := f.Terminator(b)
	if t != clif.NoInst {
		d := &f.Insts[t]
		for _, via := range f.TargetsOf(d) {
			n := o.addEdge(bi.edgeStart, clif.Target(via), d.Op != clif.OpCatch)
			if d.Op == clif.OpBrTable {
				o.tableEdges = stop.Append(f.Stop, o.tableEdges, n-bi.edgeStart)
			}
		}
	}
	bi.edgeEnd = uint32(len(o.edges))
	switch {
	case t == clif.NoInst:
	case f.Insts[t].Op == clif.OpCatch:
		o.edges[bi.edgeEnd-1].rare, o.rare = true, true
		if call := f.CaughtCall(b); f.Insts[call].NumResults > minMemoryResults {
			bi.results = call
		}
	case f.Insts[t].Op == clif.OpBranch && isHeapFull(f, f.Insts[t].ArgA()):
		o.edges[bi.edgeStart].rare, o.rare = true, true
	case resumable.IsTable(&f.Insts[t]):
		for e := bi.edgeStart + 1; e < bi.edgeEnd; e++ {
			o.edges[e].rare, o.rare = true, true
		}
	case o.rare && bi.edgeEnd-bi.edgeStart == 2 && f.Insts[t].Op == clif.OpBranch: // the entries of a table may be as few
		if k := resumable.RareSide(f, &f.Insts[t]); k >= 0 {
			o.edges[bi.edgeStart+uint32(k)].rare = true
		}
	}
}

// isHeapFull reports whether a condition is that there is no room at once for an object.
func isHeapFull(f *clif.Func, v clif.Value) bool {
	i := f.DefInst(v)
	return i != clif.NoInst && f.Insts[i].Op == clif.OpHeapFull
}

// addEdge returns the edge of the block whose edges begin at start that leads
// where via leads, perhaps a new one; always a new one if equal edges are not to be merged.
func (o *BlockOrder) addEdge(start uint32, via clif.Target, merge bool) uint32 {
	f := o.f
	to := f.Targets[via].Block
	ti := &o.info[to]
	if s := ti.stamp; merge && s > start && slices.Equal(f.TargetArgs(o.edges[s-1].via), f.TargetArgs(via)) {
		return s - 1
	}
	o.edges = append(stop.Room(o.f.Stop, o.edges), edge{via: via, to: to})
	ti.stamp = uint32(len(o.edges))
	ti.preds++
	return ti.stamp - 1
}

// search is a depth-first search from the entry. It fills rpo and nest. Among the successors the one that is first in
// the layout is searched last, so that it comes right after the block.
func (o *BlockOrder) search() {
	o.nest.Begin(o.f)
	o.enter(o.f.Layout[0])
	for len(o.stack) > 0 {
		o.f.Stop.Poll()
		fr := &o.stack[len(o.stack)-1]
		bi := &o.info[fr.block]
		if bi.edgeStart+fr.next < bi.edgeEnd {
			fr.next++
			from, to := fr.block, o.edges[bi.edgeStart+o.nextEdge(bi, fr.next-1)].to
			if o.info[to].seen {
				o.nest.Edge(from, to)
			} else {
				o.enter(to)
			}
			continue
		}
		b := fr.block
		o.stack = o.stack[:len(o.stack)-1]
		o.rpo = stop.Append(o.f.Stop, o.rpo, b)
		if n := len(o.stack); n > 0 {
			o.nest.Leave(b, o.stack[n-1].block)
		}
	}
	for i, j := 0, len(o.rpo)-1; i < j; i, j = i+1, j-1 {
		o.f.Stop.PollAt(i)
		o.rpo[i], o.rpo[j] = o.rpo[j], o.rpo[i]
	}
}

// nextEdge returns the k-th edge in search order. If there are two edges, the one to the block
// later in the layout is first; more than two are in reverse order. Rare edges are last.
func (o *BlockOrder) nextEdge(bi *blockInfo, k uint32) uint32 {
	n := bi.edgeEnd - bi.edgeStart
	if n > 1 && o.edges[bi.edgeEnd-1].rare {
		return k
	}
	if n == 2 && o.edges[bi.edgeStart].rare {
		return 1 - k
	}
	if n == 2 {
		x, y := o.edges[bi.edgeStart].to, o.edges[bi.edgeStart+1].to
		if o.info[x].layout < o.info[y].layout {
			return 1 - k
		}
		return k
	}
	return n - 1 - k
}

// enter puts b on the search path.
func (o *BlockOrder) enter(b clif.Block) {
	o.collectEdges(b)
	o.stack = stop.Append(o.f.Stop, o.stack, frameOfDFS{block: b})
	o.info[b].seen = true
	o.nest.Enter(b)
}

// findWarm finds the blocks that are reached along edges that are not rare. None of the others dominates one of them.
func (o *BlockOrder) findWarm() {
	if !o.rare {
		return
	}
	o.stack = append(o.stack[:0], frameOfDFS{block: o.rpo[0]})
	o.info[o.rpo[0]].warm = true
	for len(o.stack) > 0 {
		o.f.Stop.Poll()
		bi := &o.info[o.stack[len(o.stack)-1].block]
		o.stack = o.stack[:len(o.stack)-1]
		for _, e := range o.edges[bi.edgeStart:bi.edgeEnd] {
			if !e.rare && !o.info[e.to].warm {
				o.info[e.to].warm = true
				o.stack = append(o.stack, frameOfDFS{block: e.to})
			}
		}
	}
}

// loops computes depths and cold blocks, and builds the loop tree: members of a
// loop in reverse postorder.
func (o *BlockOrder) loops() {
	for _, b := range o.rpo {
		bi := &o.info[b]
		if p := o.nest.Around(b); p != clif.NoBlock {
			bi.depth = o.info[p].depth
		}
		if o.nest.IsHeader(b) && bi.depth < maxDepth {
			bi.depth++
		}
	}
	for i := len(o.rpo) - 1; i >= 0; i-- {
		o.f.Stop.PollAt(i)
		b := o.rpo[i]
		bi := &o.info[b]
		t := o.f.Terminator(b)
		bi.cold = t != clif.NoInst && (o.f.Insts[t].Op == clif.OpTrap || o.f.Insts[t].Op == clif.OpRaise)
		if n := bi.edgeEnd - bi.edgeStart; n > 0 {
			bi.cold = true
			for _, e := range o.edges[bi.edgeStart:bi.edgeEnd] {
				bi.cold = bi.cold && o.info[e.to].cold
			}
		}
		bi.cold = bi.cold || o.rare && !bi.warm
		if p := o.nest.Around(b); p != clif.NoBlock { // backwards: pushing to the front keeps the order
			bi.sibling, o.info[p].child = o.info[p].child, b
		}
	}
}

// place fills order: loops contiguous, cold blocks last.
func (o *BlockOrder) place() {
	for i, b := range o.rpo {
		o.f.Stop.PollAt(i)
		if o.nest.Around(b) == clif.NoBlock {
			o.placeLoop(b)
		}
	}
	// A stable partition; rpo is not needed any more and takes the cold ones.
	o.rpo = o.rpo[:0]
	hot := o.order[:1]
	for i, b := range o.order[1:] {
		o.f.Stop.PollAt(i)
		if o.info[b].cold {
			o.rpo = stop.Append(o.f.Stop, o.rpo, b)
		} else {
			hot = append(hot, b)
		}
	}
	o.order = append(hot, o.rpo...)
	for i, b := range o.order {
		o.f.Stop.PollAt(i)
		o.info[b].pos = uint32(i)
	}
}

// placeLoop appends b and, if it is a header, all of its loop.
func (o *BlockOrder) placeLoop(b clif.Block) {
	o.order = stop.Append(o.f.Stop, o.order, b)
	for at := o.info[b].child; at != clif.NoBlock; {
		o.f.Stop.PollAt(len(o.order))
		o.order = stop.Append(o.f.Stop, o.order, at)
		if c := o.info[at].child; c != clif.NoBlock {
			at = c
			continue
		}
		for at != b && o.info[at].sibling == clif.NoBlock {
			at = o.nest.Around(at)
		}
		if at == b {
			return
		}
		at = o.info[at].sibling
	}
}

// split fills Blocks and Succs from order, with edge blocks.
func (o *BlockOrder) split() {
	if o.info[o.order[0]].preds > 0 {
		o.Blocks = append(stop.Room(o.f.Stop, o.Blocks), LoweredBlock{Orig: clif.NoBlock, TopOf: clif.NoBlock, Via: clif.NoTarget, Results: clif.NoInst})
	}
	for i, b := range o.order {
		o.f.Stop.PollAt(i)
		o.markCritical(i, b)
	}
	o.Blocks = stop.Grow(o.f.Stop, o.Blocks, len(o.order)+len(o.edges)/2)
	for i, b := range o.order {
		o.f.Stop.PollAt(i)
		bi := &o.info[b]
		for p := bi.beforeHead; p != 0; p = o.before[p-1].next {
			o.appendEdgeBlock(clif.Block(o.before[p-1].from), o.before[p-1].edge)
		}
		bi.pos = uint32(len(o.Blocks))
		lb := LoweredBlock{Orig: b, TopOf: clif.NoBlock, Via: clif.NoTarget, Results: clif.NoInst, LoopDepth: bi.depth, Cold: bi.cold, Header: o.nest.IsHeader(b)}
		if lb.Header && o.wantsTop(b) {
			top := lb
			top.Orig, top.TopOf, lb.Header = clif.NoBlock, b, false
			o.tops = append(o.tops, bi.pos)
			o.Blocks = append(stop.Room(o.f.Stop, o.Blocks), top)
		}
		o.Blocks = append(stop.Room(o.f.Stop, o.Blocks), lb)
		for e := bi.edgeStart; e < bi.edgeEnd; e++ {
			if o.edges[e].crit && o.edges[e].at == 0 {
				o.appendEdgeBlock(b, e)
			}
		}
	}
	o.appendRare()
	o.connect()
}

// markCritical finds the critical edges out of b, the i-th in order. It also finds the edge blocks that are
// best placed in front of their target: where another successor follows b directly and nothing falls
// through to the target.
func (o *BlockOrder) markCritical(i int, b clif.Block) {
	bi := &o.info[b]
	if bi.edgeEnd-bi.edgeStart < 2 {
		return
	}
	// Backwards, as the list in front of a block is built from its end.
	for e := bi.edgeEnd; e > bi.edgeStart; e-- {
		ed := &o.edges[e-1]
		ti := &o.info[ed.to]
		if bi.results != clif.NoInst && e-1 == bi.edgeStart {
			ed.crit = true // the block loads the results
		}
		preds := ti.preds
		if ti.pos == 0 {
			preds++ // the way into the function
		}
		if preds < 2 && !ed.crit {
			continue
		}
		ed.crit = true
		if ed.rare && ti.warm {
			ed.at = ^uint32(0)
			continue
		}
		if int(ti.pos) <= i+1 {
			continue
		}
		if ti.cold && !bi.cold || !o.fallsTo(o.order[ti.pos-1], ed.to) {
			o.before = append(o.before, pendingEdge{edge: e - 1, from: uint32(b), next: ti.beforeHead})
			ti.beforeHead = uint32(len(o.before))
			ed.at = ^uint32(0)
		}
	}
}

// minMemoryResults is how many results are in registers on every machine, whatever their types are.
const minMemoryResults = 4

// maxTopLoop is the greatest number of CLIF instructions in a loop with a top: in a large one a jump counts for little.
const maxTopLoop = 40

// wantsTop reports whether the loop with header b is small and innermost, and the edge block of some edge back may be empty if no
// parameter interferes.
func (o *BlockOrder) wantsTop(b clif.Block) bool {
	if o.info[b].cold || len(o.f.Params(b)) == 0 {
		return false
	}
	size, back := clif.Inst(0), false
	for c := b; ; {
		ci := &o.info[c]
		size += o.f.Blocks[c].End - o.f.Blocks[c].Start
		if size > maxTopLoop || c != b && o.nest.IsHeader(c) {
			return false
		}
		for _, e := range o.edges[ci.edgeStart:ci.edgeEnd] {
			back = back || e.crit && !e.rare && e.to == b && o.changes(e.via)
		}
		if c == b {
			c = ci.child
		} else {
			c = ci.sibling
		}
		if c == clif.NoBlock {
			return back
		}
	}
}

// changes reports whether via passes a new value, and no constants.
func (o *BlockOrder) changes(via clif.Target) bool {
	f, changes := o.f, false
	params := f.Params(f.Targets[via].Block)
	for k, v := range f.TargetArgs(via) {
		f.Stop.PollAt(k)
		if d := &f.Values[v]; d.Kind == clif.ValueResult {
			if op := f.Insts[d.Def].Op; op == clif.OpIconst || op == clif.OpFconst || op == clif.OpVconst {
				return false
			}
		}
		changes = changes || v != params[k]
	}
	return changes
}

// fallsTo reports whether b has an edge to to.
func (o *BlockOrder) fallsTo(b, to clif.Block) bool {
	bi := &o.info[b]
	for _, e := range o.edges[bi.edgeStart:bi.edgeEnd] {
		if e.to == to {
			return true
		}
	}
	return false
}

// appendRare appends the edge blocks of rare edges to warm blocks, which they do not dominate.
func (o *BlockOrder) appendRare() {
	for i := 0; o.rare && i < len(o.order); i++ {
		bi := &o.info[o.order[i]]
		for e := bi.edgeStart; e < bi.edgeEnd; e++ {
			o.f.Stop.Poll()
			if ed := &o.edges[e]; ed.rare && ed.crit && o.info[ed.to].warm {
				o.appendEdgeBlock(o.order[i], e)
			}
		}
	}
}

func (o *BlockOrder) appendEdgeBlock(from clif.Block, e uint32) {
	ed := &o.edges[e]
	fi, ti := &o.info[from], &o.info[ed.to]
	ed.at = uint32(len(o.Blocks))
	results := clif.NoInst
	if e == fi.edgeStart {
		results = fi.results
	}
	o.Blocks = append(stop.Room(o.f.Stop, o.Blocks), LoweredBlock{
		Orig: clif.NoBlock, TopOf: clif.NoBlock, Via: ed.via, Results: results, LoopDepth: min(fi.depth, ti.depth), Cold: fi.cold || ti.cold || ed.rare,
	})
}

// connect fills Succs. The position of each block is known now.
func (o *BlockOrder) connect() {
	o.Succs = stop.Grow(o.f.Stop, o.Succs, len(o.edges)+len(o.Blocks))
	for i := range o.Blocks {
		o.f.Stop.PollAt(i)
		lb := &o.Blocks[i]
		lb.SuccStart = uint32(len(o.Succs))
		switch {
		case lb.Orig != clif.NoBlock:
			bi := &o.info[lb.Orig]
			for _, e := range o.edges[bi.edgeStart:bi.edgeEnd] {
				s := Succ{To: o.info[e.to].pos, Via: e.via}
				if e.crit {
					s = Succ{To: e.at, Via: clif.NoTarget}
				}
				o.Succs = append(stop.Room(o.f.Stop, o.Succs), s)
			}
		case lb.Via != clif.NoTarget:
			o.Succs = append(stop.Room(o.f.Stop, o.Succs), Succ{To: o.info[o.f.Targets[lb.Via].Block].pos, Via: lb.Via})
		default: // the synthetic entry, or a top
			o.Succs = append(stop.Room(o.f.Stop, o.Succs), Succ{To: uint32(i + 1), Via: clif.NoTarget})
		}
		lb.SuccEnd = uint32(len(o.Succs))
	}
}
