// Package parmove turns a parallel move, a set of moves that all read before
// any writes, into a sequence of moves with the same effect.
//
// The method counts in-degrees: a destination that no pending move reads
// may be written. When no such destination is left, the remaining moves form
// disjoint cycles, and saving one element opens each cycle
// (Boissinot et al. 2009 describe the same graph).
//
// Place in the pipeline: register allocators use it where values change
// places: on edges, before instructions with constrained operands, after calls.
//
// A move of 16 bytes may read half of what another one writes, or write half of what another one reads, in argument words only: in front of a tail
// call these are places of two kinds of arguments, which begin at different words. Such a source is copied to a place of its own first, so that all else is
// between locations that are the same or have nothing in common.
//
// Input: moves between locations, of which no two destinations have a word in common, and no two slots a part.
// Output: moves and swaps to be done in order, no move from memory to memory.
package parmove

import "github.com/waot-project/waot/regalloc"

// Move copies Bytes bytes (4, 8 or 16) from From to To. In what Resolve returns it may be a swap, which exchanges two registers of Env.Swaps.
type Move struct {
	From, To regalloc.Allocation
	Bytes    uint8
	Swap     bool
}

// Env says what a Resolver may use besides the locations of the moves.
type Env struct {
	// Scratch registers; the one of class Float must exist and takes part in no
	// move. Scratch[Int] may be NoPReg.
	Scratch [regalloc.NumClasses]regalloc.PReg
	// Swaps are registers of which one instruction exchanges any two; no move of more than 8 bytes has one of them at an end.
	Swaps regalloc.PRegSet
	// Temp is a register that holds nothing of value and takes part in no move,
	// or NoAllocation.
	Temp regalloc.Allocation
	// Extra is a spill slot of 16 bytes that holds nothing of value. It is used
	// only for cycles with two or more moves from memory to memory, when neither
	// Temp nor Scratch[Int] will do, and for the first of the sources that SetAside counts; those that follow have the slots of 16 bytes behind it.
	Extra regalloc.Allocation
}

// none marks the absence of a move or location in the tables.
const none = ^uint32(0)

// node is what is known of one location that takes part in the moves.
type node struct {
	loc regalloc.Allocation
	// copy is a register outside every cycle that already has the value that loc
	// had at first, or NoAllocation; copyBytes of it.
	copy      regalloc.Allocation
	writer    uint32 // the pending move that writes loc, or none
	readers   uint32 // the pending moves that read loc
	copyBytes uint8
}

// index finds the node of a location; entries of older generations are void.
type index struct {
	gen, node []uint32
}

// Resolver is a reusable context; the zero value is ready. Its memory is
// proportional to the highest slot and argument index it has seen.
type Resolver struct {
	// UsedExtra is how many words from Env.Extra on have been used at most since it was last cleared.
	UsedExtra int

	env    Env
	out    []Move
	gen    uint32
	kinds  [4]index // by kind of location: none, register, slot, argument
	begins index    // by argument word that is written: the first word of the move that does so
	nodes  []node
	apart  []Move   // what setAside returns
	from   []uint32 // node of moves[i].From
	ready  []uint32
	cycle  []uint32 // nodes; cycle[i] receives the value of cycle[i+1]
}

// Resolve appends to dst moves that have, one after the other, the effect of
// the given moves at once, and returns the extended slice. A move onto itself
// is dropped and an exact duplicate is allowed. Two moves with one destination
// but different sources are a bug of the caller, and panic.
func (r *Resolver) Resolve(dst, moves []Move, env Env) []Move {
	r.env, r.out = env, dst
	if len(moves) == 1 {
		if m := moves[0]; m.From != m.To {
			r.emit(m.From, m.To, m.Bytes)
		}
		return r.take()
	}
	if independent(moves) {
		for i := len(moves) - 1; i >= 0; i-- { // as trees does it
			r.emit(moves[i].From, moves[i].To, moves[i].Bytes)
		}
		return r.take()
	}
	if r.SetAside(moves) > 0 {
		moves = r.setAside(moves)
	}
	r.graph(moves)
	r.trees(moves)
	for i := range r.nodes {
		if r.nodes[i].writer != none {
			r.breakCycle(moves, uint32(i))
		}
	}
	return r.take()
}

// independent reports whether no location that is written is read as well or written twice, as far as that is seen at a glance.
func independent(moves []Move) bool {
	var read, written regalloc.PRegSet
	loads, stores := 0, 0
	for i := range moves {
		m := &moves[i]
		if m.From.IsReg() {
			read = read.Add(m.From.Reg())
		} else {
			loads++
		}
		switch {
		case !m.To.IsReg():
			stores++
		case written.Has(m.To.Reg()):
			return false
		default:
			written = written.Add(m.To.Reg())
		}
	}
	return read&written == 0 && (stores == 0 || stores == 1 && loads == 0)
}

// SetAside returns how many of the moves read argument words of which another one writes a part, or more.
func (r *Resolver) SetAside(moves []Move) (n int) {
	r.gen++
	writes := false
	for i := range moves {
		if m := &moves[i]; m.To.IsArg() {
			writes = true
			for w := m.To.Index(); w < m.To.Index()+words(m.Bytes); w++ {
				r.begins.set(w, r.gen, uint32(m.To.Index()))
			}
		}
	}
	for i := 0; writes && i < len(moves); i++ {
		if r.isCut(&moves[i]) {
			n++
		}
	}
	return n
}

// isCut reports whether m reads a word of which SetAside has seen that it is written, by a move that begins at another word than m's source.
func (r *Resolver) isCut(m *Move) bool {
	if !m.From.IsArg() {
		return false
	}
	for w := m.From.Index(); w < m.From.Index()+words(m.Bytes); w++ {
		if first, ok := r.begins.get(w, r.gen); ok && first != uint32(m.From.Index()) {
			return true
		}
	}
	return false
}

// words returns how many words of memory a move of the given bytes copies.
func words(bytes uint8) int { return int(bytes+7) / 8 }

// setAside copies the sources that SetAside has counted to places of their own, and returns the moves that are left to do. No cycle leads
// through such a place, as nothing else writes it; so all of them have been read when cycles are broken.
func (r *Resolver) setAside(moves []Move) []Move {
	r.apart = append(r.apart[:0], moves...)
	next := r.env.Extra.Index()
	for i := range r.apart {
		m := &r.apart[i]
		if !r.isCut(m) {
			continue
		}
		own := regalloc.InSlot(next)
		r.emit(m.From, own, m.Bytes)
		m.From = own
		next += 2
	}
	r.UsedExtra = max(r.UsedExtra, next-r.env.Extra.Index())
	return r.apart
}

func (r *Resolver) take() []Move {
	out := r.out
	r.out = nil
	return out
}

// graph makes a node of each location and counts readers.
func (r *Resolver) graph(moves []Move) {
	r.gen++
	r.nodes, r.from, r.ready = r.nodes[:0], r.from[:0], r.ready[:0]
	for i, m := range moves {
		if m.From == m.To {
			r.from = append(r.from, none)
			continue
		}
		f, t := r.nodeOf(m.From), r.nodeOf(m.To)
		r.from = append(r.from, f)
		if w := r.nodes[t].writer; w != none {
			if moves[w].From != m.From {
				panic("parmove: two moves to one destination")
			}
			r.from[i] = none
			continue
		}
		r.nodes[t].writer = uint32(i)
		r.nodes[f].readers++
	}
}

// nodeOf returns the node of a, made when a is new to this set of moves.
func (r *Resolver) nodeOf(a regalloc.Allocation) uint32 {
	var k, n int
	switch {
	case a.IsReg():
		k, n = 1, int(a.Reg())
	case a.IsSlot():
		k, n = 2, a.Index()
	default:
		k, n = 3, a.Index()
	}
	x := &r.kinds[k]
	if at, ok := x.get(n, r.gen); ok {
		return at
	}
	at := uint32(len(r.nodes))
	x.set(n, r.gen, at)
	r.nodes = append(r.nodes, node{loc: a, writer: none})
	return at
}

// set makes node the entry of n, of generation gen.
func (x *index) set(n int, gen, node uint32) {
	if n >= len(x.gen) {
		grown := max(n+1, 2*len(x.gen), 64)
		x.gen = append(x.gen, make([]uint32, grown-len(x.gen))...)
		x.node = append(x.node, make([]uint32, grown-len(x.node))...)
	}
	x.gen[n], x.node[n] = gen, node
}

// get returns the entry of n, if it is of generation gen.
func (x *index) get(n int, gen uint32) (node uint32, ok bool) {
	if n >= len(x.gen) || x.gen[n] != gen {
		return 0, false
	}
	return x.node[n], true
}

// trees emits all moves outside cycles: afterwards each pending move's
// destination has exactly one pending reader, so what is left is cycles.
func (r *Resolver) trees(moves []Move) {
	for i := range r.nodes {
		if r.nodes[i].writer != none && r.nodes[i].readers == 0 {
			r.ready = append(r.ready, uint32(i))
		}
	}
	for len(r.ready) > 0 {
		t := r.ready[len(r.ready)-1]
		r.ready = r.ready[:len(r.ready)-1]
		i := r.nodes[t].writer
		m, f := moves[i], r.from[i]
		r.emit(m.From, m.To, m.Bytes)
		r.nodes[t].writer = none
		src := &r.nodes[f]
		if m.To.IsReg() && m.Bytes >= src.copyBytes {
			src.copy, src.copyBytes = m.To, m.Bytes
		}
		if src.readers--; src.readers == 0 && src.writer != none {
			r.ready = append(r.ready, f)
		}
	}
}

// breakCycle emits the moves of the cycle that t is on, or swaps.
func (r *Resolver) breakCycle(moves []Move, t uint32) {
	r.cycle = r.cycle[:0]
	for n := t; len(r.cycle) == 0 || n != t; n = r.from[r.nodes[n].writer] {
		r.cycle = append(r.cycle, n)
	}
	first, saved := r.opening(moves)
	n := len(r.cycle)
	if r.swappable(saved) {
		r.swap(first)
		return
	}
	last := r.cycle[(first+n-1)%n]
	bytes := moves[r.nodes[last].writer].Bytes
	head := &r.nodes[r.cycle[first]]
	if saved != head.copy {
		r.emit(head.loc, saved, bytes)
	}
	for i := range n - 1 {
		m := moves[r.nodes[r.cycle[(first+i)%n]].writer]
		r.emit(m.From, m.To, m.Bytes)
	}
	r.emit(saved, r.nodes[last].loc, bytes)
	for _, c := range r.cycle {
		r.nodes[c].writer = none
	}
}

// swappable reports whether swaps do for r.cycle what moves through the scratch register saved would do. A register outside that has the saved element
// already is better: with it the moves are as many as the swaps and one more, and each of them is shorter.
func (r *Resolver) swappable(saved regalloc.Allocation) bool {
	if r.env.Swaps == 0 || saved != regalloc.InReg(r.env.Scratch[regalloc.Float]) {
		return false
	}
	for _, c := range r.cycle {
		if a := r.nodes[c].loc; !a.IsReg() || !r.env.Swaps.Has(a.Reg()) {
			return false
		}
	}
	return true
}

// swap emits r.cycle as swaps of neighbours: after each, the first of the two has what it receives, and the second what the element in front of them had.
func (r *Resolver) swap(first int) {
	n := len(r.cycle)
	for i := range n - 1 {
		to, from := &r.nodes[r.cycle[(first+i)%n]], &r.nodes[r.cycle[(first+i+1)%n]]
		r.out = append(r.out, Move{From: from.loc, To: to.loc, Bytes: 8, Swap: true})
	}
	for _, c := range r.cycle {
		r.nodes[c].writer = none
	}
}

// opening chooses where to open r.cycle: the index of the element to save, and
// where to save it. Moves between memories inside the cycle need the float
// scratch, so that it may hold the saved element only if there are none, or if
// the one there is disappears because its source is the saved element.
func (r *Resolver) opening(moves []Move) (first int, saved regalloc.Allocation) {
	n := len(r.cycle)
	memMoves, memSource, reg := 0, 0, -1
	for i, c := range r.cycle {
		m := moves[r.nodes[c].writer]
		next := (i + 1) % n // the element that m reads
		src := &r.nodes[r.cycle[next]]
		if src.copy != regalloc.NoAllocation && src.copyBytes >= m.Bytes {
			return next, src.copy
		}
		if m.From.IsMem() && m.To.IsMem() {
			memMoves++
			memSource = next
		}
		if m.From.IsReg() && (reg < 0 || m.Bytes <= 8) {
			reg = next
		}
	}
	float := regalloc.InReg(r.env.Scratch[regalloc.Float])
	first = max(reg, 0)
	bytes := moves[r.nodes[r.cycle[(first+n-1)%n]].writer].Bytes
	intScratch := r.env.Scratch[regalloc.Int]
	switch {
	case memMoves == 1:
		return memSource, float
	case memMoves == 0:
		if r.nodes[r.cycle[first]].loc.Reg().Class() == regalloc.Int && intScratch != regalloc.NoPReg {
			return first, regalloc.InReg(intScratch)
		}
		return first, float
	case r.env.Temp.IsReg() && (bytes <= 8 || r.env.Temp.Reg().Class() == regalloc.Float):
		return first, r.env.Temp
	case intScratch != regalloc.NoPReg && bytes <= 8:
		return first, regalloc.InReg(intScratch)
	}
	r.UsedExtra = max(r.UsedExtra, 2)
	return first, r.env.Extra
}

// emit appends one move, through the float scratch if both ends are memory.
func (r *Resolver) emit(from, to regalloc.Allocation, bytes uint8) {
	if from.IsMem() && to.IsMem() {
		s := regalloc.InReg(r.env.Scratch[regalloc.Float])
		r.out = append(r.out, Move{From: from, To: s, Bytes: bytes}, Move{From: s, To: to, Bytes: bytes})
		return
	}
	r.out = append(r.out, Move{From: from, To: to, Bytes: bytes})
}
