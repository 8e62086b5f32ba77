package translate

import (
	"cmp"
	"math"
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// ssa builds SSA form on the fly after Braun et al., "Simple and Efficient
// Construction of Static Single Assignment Form" (CC 2013), with these changes.
//
// What a merge needs from its predecessors is looked up from a worklist, not
// by recursion, so that deep control flow costs no stack. A merge is a phi
// in a side table until the function is complete; only those that turn out
// not to be trivial become block parameters.
//
// Structured control says more than the edges do: a local that is not written
// inside a block, if or loop has behind it, or in the loop, the value that it
// had before. So each block has a parent, the block where its construct began,
// and each local a list of the positions where it is written. It is looked up by
// going from parent to parent, past everything that began after the last
// write before the end of the block where the search is, and past the headers of loops
// that it is not written in. Jump pointers and binary search make that
// logarithmic, and a merge is made only of a local that is written in the construct.
//
// Whether a loop that is still open writes a local is not known, unless
// many loops are open: then the rest of the body is scanned for writes (scan.go).
//
// Variables are the locals of the function. The operands that branches carry to
// a label are phis too.
type ssa struct {
	f *clif.Func
	b *clif.Builder

	blocks []blockInfo // parallel to f.Blocks
	edges  []edgeInfo  // parallel to f.Targets
	phis   []phi
	pool   []uint32
	loops  []loopInfo   // 0 is the function: it has no end
	extra  defTable     // definitions that are not in blockInfo.defs
	work   []uint32     // phis whose operands must be looked up
	trail  []clif.Block // of find
	zero   [clif.NumTypes]clif.Value
	zeros  clif.Inst // the first of the reserved instructions, one a type

	body body
	// cur is what is known of the locals at the current point.
	cur     []local
	chain   chain      // that of the current block
	head    clif.Block // the first block of the chain
	written []uint32   // locals written in the current block
	entered position   // where the current block began
	scanned position   // the writes up to here are noted already, if it is not never
	spans   []span     // of the loops in the part that is scanned, in order
	loop    uint32     // the innermost that is open

	entryParams clif.Value // values below are parameters of the entry
	room        int        // how long the pool may become
	full        bool       // there was no room: some phis are not filled
	aliases     int        // how many values have become aliases
	steps       int        // from block to block and loop to loop: a measure of the time spent
	watch       watches
	scratch     []clif.Value
}

// blockInfo is what construction knows of a block. Sealed blocks have all
// their edges.
type blockInfo struct {
	edges list // of Targets; empty if a branch made the block
	phis  list // of phis; before sealing, those of locals lack operands
	// defs is the part of the pool with what the block wrote: pairs of local
	// and value.
	defs, numDefs uint32
	// parent is the block where the construct began whose header or end this is,
	// or the only predecessor of a block that a branch made.
	parent, jump clif.Block
	depth        uint32 // in the tree of parents
	// start is where the block, or the construct, began: a local not written
	// behind it has here the value that it has at the end of the parent.
	start  position
	end    position // where the block ended, or later
	loop   uint32   // the innermost loop around it
	sealed bool
	single bool // there is one predecessor: of the only edge, or else the parent
	inHash bool // extra has something about the block
}

// loopInfo is a loop that was entered. Loops are a tree, like blocks.
type loopInfo struct {
	header             clif.Block
	outer, jump, depth uint32
	end                position // where it ends, or later if that is not known
}

// edgeInfo is the source of an edge and the operands it carries: part of the
// pool.
type edgeInfo struct {
	from clif.Block
	ops  uint32
}

// local is what is known of a local at the current point.
type local struct {
	value   clif.Value // valid in the chain knownIn
	knownIn chain
	last    position // of the first write in the block that wrote it last
	// writes are the positions of the first writes in all blocks, or, in the part of
	// the body that is scanned, of all writes. They are of the body that starts at
	// writesOf: there are none in any other.
	writesOf position
	writes   list
}

// phi is a merge of one value per edge of its block.
type phi struct {
	value clif.Value
	block clif.Block
	// local is the variable, or which operand of the label.
	local   uint32
	operand bool
	filled  bool   // has args; always so for operands
	args    uint32 // part of the pool, parallel to the block's edges, if not operand
	// Of the search for trivial phis: all args before at are same or the phi.
	same clif.Value
	at   uint32
}

// list is a growing list of numbers in a pool.
type list struct{ off, len, cap uint32 }

func (s *ssa) push(l *list, x uint32) {
	if l.len == l.cap {
		n := max(2*l.cap, 2)
		off := uint32(len(s.pool))
		s.pool = stop.Grow(s.f.Stop, s.pool, int(n))
		s.pool = append(s.pool, s.pool[l.off:l.off+l.len]...)
		for i := l.len; i < n; i++ {
			s.pool = append(s.pool, 0)
		}
		l.off, l.cap = off, n
	}
	s.pool[l.off+l.len] = x
	l.len++
}

func (s *ssa) at(l list) []uint32 { return s.pool[l.off : l.off+l.len] }

// reset starts a function whose body has that many bytes from offset on.
func (s *ssa) reset(f *clif.Func, b *clif.Builder, offset, size uint32) {
	s.f, s.b = f, b
	// There is room for about what comes, so that large tables are not copied while they grow.
	n := int(size)
	s.blocks, s.edges = stop.Grow(f.Stop, s.blocks[:0], n/16), stop.Grow(f.Stop, s.edges[:0], n/12)
	s.phis, s.pool = stop.Grow(f.Stop, s.phis[:0], n/8), stop.Grow(f.Stop, s.pool[:0], n)
	f.Blocks, f.Targets = stop.Grow(f.Stop, f.Blocks, n/16), stop.Grow(f.Stop, f.Targets, n/12)
	s.work, s.written, s.spans = s.work[:0], s.written[:0], s.spans[:0]
	s.loops = append(s.loops[:0], loopInfo{end: later})
	s.extra.reset()
	s.aliases, s.steps, s.loop, s.scanned, s.full = 0, 0, 0, never, false
	s.room = math.MaxInt
	for i := range s.zero {
		s.zero[i] = clif.NoValue
	}
	if !s.body.reset(offset, size) || s.chain > 1<<31 {
		clear(s.cur[:cap(s.cur)])
		s.chain = 0
	}
	b.Src = offset
}

// now returns the position of the operator that is translated.
func (s *ssa) now() position { return s.body.at(s.b.Src) }

// setLocals makes room for n locals.
func (s *ssa) setLocals(n int) {
	if n > len(s.cur) {
		s.cur = append(s.cur, make([]local, n-len(s.cur))...)
	}
}

// reserveZeros makes room in the current block, the entry, for a zero of each
// type. Few functions read a local that they have not written.
func (s *ssa) reserveZeros() {
	f := s.f
	s.zeros = clif.Inst(len(f.Insts))
	for range clif.NumTypes {
		f.Insts, f.Srcs = append(f.Insts, clif.InstData{Result: clif.NoValue}), append(f.Srcs, 0)
	}
	f.Blocks[s.b.Current()].End = clif.Inst(len(f.Insts))
}

// zeroOf returns the initial value of locals of type t.
func (s *ssa) zeroOf(t clif.Type) clif.Value {
	if s.zero[t] != clif.NoValue {
		return s.zero[t]
	}
	d := clif.InstData{Op: clif.OpFconst, Type: t, Result: clif.Value(len(s.f.Values)), NumResults: 1}
	switch {
	case t.IsInt():
		d.Op = clif.OpIconst
	case t.IsRef():
		d.Op = clif.OpRefNull
	case t == clif.V128:
		d.Op = clif.OpVconst
	}
	i := s.zeros + clif.Inst(t)
	s.f.Insts[i] = d
	s.f.Values = stop.Append(s.f.Stop, s.f.Values, clif.ValueData{Type: t, Def: uint32(i)})
	s.zero[t] = d.Result
	return d.Result
}

// enter makes blk the current block. What is known of locals stays known if its
// only predecessor is the block that just ended.
func (s *ssa) enter(blk clif.Block, follows bool) {
	s.b.SwitchTo(blk)
	s.entered = s.now()
	if !follows {
		s.chain++
		s.head = blk
	}
}

// enterEntry creates the entry block and makes it the current block.
func (s *ssa) enterEntry() clif.Block {
	entry := s.newBlock(clif.NoBlock, s.now(), 0)
	s.blocks[entry].sealed = true
	s.enter(entry, false)
	s.entered = s.body.start
	return entry
}

// newBlock creates a block that is not sealed, with a parent, whose construct
// began at start in that loop.
func (s *ssa) newBlock(parent clif.Block, start position, loop uint32) clif.Block {
	b := s.b.NewBlock()
	s.blocks = append(stop.Room(s.f.Stop, s.blocks), blockInfo{parent: parent, jump: parent, start: start, end: later, loop: loop})
	if parent == clif.NoBlock {
		s.blocks[b].jump = b
		return b
	}
	bi, p := &s.blocks[b], &s.blocks[parent]
	bi.depth = p.depth + 1
	j := &s.blocks[p.jump]
	if p.depth-j.depth == j.depth-s.blocks[j.jump].depth {
		bi.jump = j.jump
	}
	return b
}

// newSingle creates a sealed block whose only predecessor is the current block.
func (s *ssa) newSingle() clif.Block {
	b := s.newBlock(s.b.Current(), s.now(), s.loop)
	s.blocks[b].sealed, s.blocks[b].single = true, true
	return b
}

// openLoop says that blk is the header of a loop that begins.
func (s *ssa) openLoop(blk clif.Block) {
	outer := s.loop
	s.loop = uint32(len(s.loops))
	o := &s.loops[outer]
	l := loopInfo{header: blk, outer: outer, jump: outer, depth: o.depth + 1, end: s.endOfLoopAt(s.now())}
	if j := &s.loops[o.jump]; o.depth-j.depth == j.depth-s.loops[j.jump].depth {
		l.jump = j.jump
	}
	s.loops = append(s.loops, l)
	s.blocks[blk].loop = s.loop
}

// endOfLoopAt returns where the loop that starts at a position ends, if that is known.
func (s *ssa) endOfLoopAt(start position) position {
	k, ok := slices.BinarySearchFunc(s.spans, start, func(l span, p position) int { return cmp.Compare(l.start, p) })
	if !ok {
		return later
	}
	return s.spans[k].end
}

// closeLoop ends the innermost loop.
func (s *ssa) closeLoop() {
	l := &s.loops[s.loop]
	l.end = s.now()
	s.loop = l.outer
}

// writingLoopDepth returns the depth, in the tree of parents, of the header of the innermost loop
// that may write a local, among the given loop and those around it, where next is the next
// write of the local: 0, that of the entry, if there is none.
func (s *ssa) writingLoopDepth(loop uint32, next position) uint32 {
	for {
		l := &s.loops[loop]
		switch {
		case l.end >= next:
			return s.blocks[l.header].depth
		case s.loops[l.jump].end < next:
			loop = l.jump
		default:
			loop = l.outer
		}
		s.steps++
	}
}

// edgeTo makes a target for a branch from the current block to blk, with
// the operands ops.
func (s *ssa) edgeTo(blk clif.Block, ops []clif.Value) clif.Target {
	t := s.b.Target(blk, nil)
	s.edges = stop.Append(s.f.Stop, s.edges, edgeInfo{s.b.Current(), uint32(len(s.pool))})
	s.pool = stop.Grow(s.f.Stop, s.pool, len(ops))
	for _, v := range ops {
		s.pool = append(s.pool, uint32(v))
	}
	if !s.blocks[blk].single {
		s.push(&s.blocks[blk].edges, uint32(t))
	}
	return t
}

// newPhi adds a phi to blk.
func (s *ssa) newPhi(blk clif.Block, variable uint32, operand bool, t clif.Type) uint32 {
	n := uint32(len(s.phis))
	v := clif.Value(len(s.f.Values))
	// Until finish, Def of a parameter is the number of the phi.
	s.f.Values = stop.Append(s.f.Stop, s.f.Values, clif.ValueData{Type: t, Kind: clif.ValueParam, Def: n})
	s.phis = stop.Append(s.f.Stop, s.phis, phi{value: v, block: blk, local: variable, operand: operand, filled: operand, same: clif.NoValue})
	s.push(&s.blocks[blk].phis, n)
	return n
}

// phiOf returns the phi whose value is v; ok is false if v is something else.
func (s *ssa) phiOf(v clif.Value) (n uint32, ok bool) {
	d := &s.f.Values[v]
	return d.Def, d.Kind == clif.ValueParam && v >= s.entryParams
}

// arg returns the operand of phi n for the edge number i of its block.
func (s *ssa) arg(p *phi, edges list, i uint32) clif.Value {
	if p.operand {
		return clif.Value(s.pool[s.edges[s.pool[edges.off+i]].ops+p.local])
	}
	return clif.Value(s.pool[p.args+i])
}

// write makes v the value of a local.
func (s *ssa) write(n uint32, v clif.Value) {
	l := &s.cur[n]
	if l.last <= s.entered {
		s.writeFirst(n)
	}
	l.value, l.knownIn = v, s.chain
}

// writeFirst notes the first write of a local in the current block.
func (s *ssa) writeFirst(n uint32) {
	s.written = append(s.written, n)
	l := &s.cur[n]
	if l.last = s.now(); l.last > s.scanned {
		s.noteWrite(n, l.last)
	}
}

// noteWrite notes that a local is written at p, behind all writes noted before.
func (s *ssa) noteWrite(n uint32, p position) {
	l := &s.cur[n]
	if l.writesOf != s.body.start {
		l.writesOf, l.writes = s.body.start, list{}
	}
	s.push(&l.writes, uint32(p))
}

// writesAround are the positions of the last write of a local up to p, or never,
// and of the first behind it, or later.
func (s *ssa) writesAround(n uint32, p position) (last, next position) {
	l := &s.cur[n]
	switch {
	case l.writesOf != s.body.start:
		return never, later
	case s.scanned == never && l.last <= p:
		return l.last, later
	}
	writes := s.at(l.writes)
	k, found := slices.BinarySearch(writes, uint32(p))
	if found {
		k++
	}
	last, next = never, later
	if k > 0 {
		last = position(writes[k-1])
	}
	if k < len(writes) {
		next = position(writes[k])
	}
	return last, next
}

// endBlock notes what the current block wrote. It comes before the edges that
// leave the block are used.
func (s *ssa) endBlock() {
	b := s.b.Current()
	bi := &s.blocks[b]
	bi.end = s.now()
	if len(s.written) == 0 {
		return
	}
	if len(s.written) > maxDefs {
		for _, n := range s.written {
			s.put(b, n, s.cur[n].value)
		}
		s.written = s.written[:0]
		return
	}
	bi.defs = uint32(len(s.pool))
	s.pool = stop.Grow(s.f.Stop, s.pool, 2*len(s.written))
	for _, n := range s.written {
		s.pool = append(s.pool, n, uint32(s.cur[n].value))
	}
	bi.numDefs = uint32(len(s.written))
	s.written = s.written[:0]
}

// maxDefs is the most definitions that blockInfo.defs holds: it is searched
// from end to end.
const maxDefs = 8

func (s *ssa) put(b clif.Block, n uint32, v clif.Value) {
	s.extra.put(uint32(b), n, uint32(v))
	s.blocks[b].inHash = true
}

// read returns the value of a local of type t.
func (s *ssa) read(n uint32, t clif.Type) clif.Value {
	l := &s.cur[n]
	if l.knownIn == s.chain {
		l.value = s.f.Resolve(l.value)
		return l.value
	}
	phis := len(s.phis)
	v := s.find(s.head, n, t)
	s.drain(phis)
	v = s.f.Resolve(v)
	s.cur[n].value, s.cur[n].knownIn = v, s.chain
	return v
}

// find returns the value of a local at the end of blk, or now if blk is the head of the
// current chain. Operands of new phis are left to the worklist.
func (s *ssa) find(blk clif.Block, n uint32, t clif.Type) clif.Value {
	s.trail = append(s.trail[:0], blk)
	hops := 0
	var v clif.Value
	for found := false; !found; hops++ {
		bi := &s.blocks[blk]
		if v, found = s.defined(bi, blk, n); found {
			break
		}
		if bi.parent == clif.NoBlock { // the entry: a local never written
			v, found = s.zeroOf(t), true
			continue
		}
		last, next := s.writesAround(n, min(bi.end, s.now()))
		limit := s.writingLoopDepth(bi.loop, next)
		switch {
		case bi.start >= last && bi.depth != limit:
			blk = s.ancestor(blk, last, limit)
		case bi.single:
			blk = s.pred(bi)
		default:
			v, found = s.mergeAt(blk, n, t), true
			continue
		}
		if hops%trailEvery == trailEvery-1 {
			s.trail = append(s.trail, blk)
		}
	}
	if hops >= trailEvery {
		for _, b := range s.trail {
			s.put(b, n, v)
		}
	}
	s.steps += hops
	return v
}

// pred returns the only predecessor of a block.
func (s *ssa) pred(bi *blockInfo) clif.Block {
	if bi.edges.len == 0 {
		return bi.parent
	}
	return s.edges[s.pool[bi.edges.off]].from
}

// trailEvery is how many blocks a search passes before it leaves the value
// behind for the next.
const trailEvery = 8

// mergeAt makes a phi for a local in blk.
func (s *ssa) mergeAt(blk clif.Block, n uint32, t clif.Type) clif.Value {
	p := s.newPhi(blk, n, false, t)
	if s.blocks[blk].sealed {
		s.work = append(s.work, p)
	}
	v := s.phis[p].value
	s.put(blk, n, v)
	return v
}

// defined looks for a definition of a local in blk itself.
func (s *ssa) defined(bi *blockInfo, blk clif.Block, n uint32) (clif.Value, bool) {
	for i := bi.defs; i < bi.defs+2*bi.numDefs; i += 2 {
		if s.pool[i] == n {
			return clif.Value(s.pool[i+1]), true
		}
	}
	if bi.inHash {
		if v, ok := s.extra.get(uint32(blk), n); ok {
			return clif.Value(v), true
		}
	}
	return 0, false
}

// ancestor returns an ancestor of blk at whose end a local has the value that it has at
// the end of blk: the one at that depth, or a deeper one if something above it
// began before last, the local's last write. Blk began behind that and is deeper.
func (s *ssa) ancestor(blk clif.Block, last position, depth uint32) clif.Block {
	for {
		bi := &s.blocks[blk]
		if j := &s.blocks[bi.jump]; j.start >= last && j.depth >= depth {
			blk = bi.jump
		} else {
			blk = bi.parent
		}
		if b := &s.blocks[blk]; b.start < last || b.depth == depth {
			return blk
		}
		s.steps++
	}
}

// drain looks up the operands of the phis on the worklist, and then removes
// the trivial ones among those made since there were from of them.
func (s *ssa) drain(from int) {
	for len(s.work) > 0 {
		n := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		s.f.Stop.Poll()
		s.fill(n)
	}
	for n := len(s.phis) - 1; n >= from; n-- {
		s.f.Stop.Poll()
		s.simplify(uint32(n))
	}
}

// fill looks up the operands of a phi of a sealed block.
func (s *ssa) fill(n uint32) {
	p := s.phis[n]
	t := s.f.Values[p.value].Type
	edges := s.blocks[p.block].edges
	if len(s.pool)+int(edges.len) > s.room {
		s.full = true
		return
	}
	args := uint32(len(s.pool))
	s.phis[n].args, s.phis[n].filled = args, true
	s.pool = stop.Grow(s.f.Stop, s.pool, int(edges.len))
	for range edges.len {
		s.pool = append(s.pool, 0)
	}
	s.steps += int(edges.len)
	for i := range edges.len {
		s.f.Stop.Poll()
		v := s.find(s.edges[s.pool[edges.off+i]].from, p.local, t)
		s.pool[args+i] = uint32(v)
	}
}

// simplify makes the phi an alias if it merges only one value besides itself.
func (s *ssa) simplify(n uint32) {
	p := &s.phis[n]
	if !p.filled || s.f.Values[p.value].Kind == clif.ValueAlias {
		return
	}
	same := clif.NoValue
	edges := s.blocks[p.block].edges
	for i := range edges.len {
		v := s.f.Resolve(s.arg(p, edges, i))
		if v == p.value || v == same {
			continue
		}
		if same != clif.NoValue {
			return
		}
		same = v
	}
	if same != clif.NoValue {
		s.alias(p, same)
	}
}

func (s *ssa) alias(p *phi, v clif.Value) {
	s.f.MakeAlias(p.value, v)
	s.aliases++
}

// seal says that blk has all its edges.
func (s *ssa) seal(blk clif.Block) {
	bi := &s.blocks[blk]
	bi.sealed = true
	if bi.edges.len == 1 {
		s.sealSingle(blk)
		return
	}
	from := len(s.phis)
	phis := bi.phis // nothing adds phis to blk itself: it defines these
	for _, n := range s.at(phis) {
		p := s.phis[n]
		switch b := &s.blocks[blk]; {
		case p.operand:
		case s.cur[p.local].last <= b.start: // not written since the loop began
			s.phis[n].filled = true
			s.alias(&p, s.find(b.parent, p.local, s.f.Values[p.value].Type))
		default:
			s.fill(n)
		}
	}
	s.drain(from)
	for i := range phis.len {
		s.f.Stop.Poll()
		s.simplify(s.pool[phis.off+i])
	}
}

// sealSingle is seal for a block with one edge: its phis merge nothing.
func (s *ssa) sealSingle(blk clif.Block) {
	bi := &s.blocks[blk]
	phis, e := bi.phis, s.edges[s.pool[bi.edges.off]]
	bi.single = true
	from := len(s.phis)
	for _, n := range s.at(phis) {
		p := s.phis[n]
		s.phis[n].filled = true
		if p.operand {
			s.alias(&p, clif.Value(s.pool[e.ops+p.local]))
		} else {
			s.alias(&p, s.find(e.from, p.local, s.f.Values[p.value].Type))
		}
	}
	s.drain(from)
}
