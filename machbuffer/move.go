package machbuffer

import "github.com/waot-project/waot/internal/stop"

// Place says that the code of an aligned label begins at bytes behind the start of a line.
type Place struct {
	Label Label
	At    uint32
}

// aligned is a label of BindAligned or its like: no-ops fill [from, to), and the label was bound at to.
type aligned struct {
	label    Label
	from, to uint32
	spot     spot
}

// Moves are where code has moved to, by the padding in front of it, which rises.
type Moves []move

// move says that what was padding from from to to ends at end now. What was behind it has moved as far as its end.
type move struct{ from, to, start, end uint32 }

// Begin returns where code is now that began at off. What begins behind padding is behind it still.
func (m Moves) Begin(off uint32) uint32 { return m.offset(m.before(off), off) }

// End returns where code ends now that ended at off. What ends in front of padding does so still.
func (m Moves) End(off uint32) uint32 {
	n := m.before(off)
	for n > 0 && m[n-1].from == off {
		n--
	}
	return m.offset(n, off)
}

// before returns how many paddings end at or before off.
func (m Moves) before(off uint32) int {
	low, high := 0, len(m)
	for low < high {
		if half := (low + high) / 2; m[half].to <= off {
			low = half + 1
		} else {
			high = half
		}
	}
	return low
}

// offset returns where off is now that is behind the first n paddings. What was in padding, since code was cut there, is in front of it.
func (m Moves) offset(n int, off uint32) uint32 {
	if n < len(m) && m[n].from < off {
		return m[n].start
	}
	if n == 0 {
		return off
	}
	return off + m[n-1].end - m[n-1].to
}

// Move moves code, so that each label of places, which BindAligned or its like has bound and which are in the order of the code, is at its place. Other labels of
// BindAligned are aligned as before. It reports false, and has moved nothing, if some use would not reach its label then, if a use is patched already, or if the
// tail was cut where a label was aligned. All code so far becomes final. What Offset has said before is void: Moves says where code is now.
func (b *Buffer) Move(places []Place) (moves Moves, ok bool) {
	if b.err != nil || b.patched {
		return nil, false
	}
	if b.tailOff == b.Offset() {
		b.optimise()
	}
	b.seal()
	if !b.planMoves(places) || !b.reachAll() {
		return nil, false
	}
	b.moveBytes()
	b.moveLabels()
	b.moveRecords()
	return b.moves, true
}

// planMoves fills b.moves. It reports false if a label is not where it was bound.
func (b *Buffer) planMoves(places []Place) bool {
	b.moves, b.moveStarts = b.moves[:0], AnyStart
	shift := uint32(0) // may have wrapped below 0
	for i := range b.aligned {
		b.Stop.PollAt(i)
		a := &b.aligned[i]
		if p, _ := b.LabelOffset(a.label); p != a.to || i > 0 && a.from < b.aligned[i-1].to {
			return false
		}
		m := move{from: a.from, to: a.to, start: a.from + shift}
		w := a.spot
		if len(places) > 0 && places[0].Label == a.label {
			w = spot{placed: true, place: places[0].At}
			places = places[1:]
		}
		var n uint32
		n, b.moveStarts = w.padding(m.start, b.moveStarts)
		m.end = m.start + n
		shift = m.end - m.to
		b.moves = append(b.moves, m)
	}
	most := uint64(len(b.moves)) * CacheLine
	return len(places) == 0 && uint64(len(b.buf))+most <= uint64(b.limit) && b.horizon(0)+2*most <= uint64(b.deadline) // uses may move forward, and the end back
}

// reachAll reports whether all uses will reach their labels. Uses of labels that are not bound yet, of constants and traps aside, reach far.
func (b *Buffer) reachAll() bool {
	for class := range b.queues {
		for k := range b.target.kinds {
			kd, q := &b.target.kinds[k], &b.queues[class][k]
			for i, u := range q.uses[q.head:] {
				b.Stop.PollAt(i)
				if use := b.moves.Begin(u.off); !b.willReach(kd, use, b.root(u.label)) && !b.willReach(kd, use, b.landing(u.label)) {
					return false
				}
			}
		}
	}
	return true
}

// willReach reports whether a use, at an offset behind the moves, reaches l, which may not be bound yet if the use reaches far.
func (b *Buffer) willReach(kd *kind, use uint32, l Label) bool {
	if b.pos[l] == unbound {
		return !kd.narrow
	}
	return kd.reaches(use, b.moves.Begin(b.pos[l]))
}

// moveBytes moves the code, by way of another array.
func (b *Buffer) moveBytes() {
	from := uint32(0)
	code := stop.Grow(b.Stop, b.spare[:0], len(b.buf)+len(b.moves)*CacheLine)
	for i := range b.moves {
		b.Stop.Poll()
		m := &b.moves[i]
		code = append(code, b.buf[from:m.from]...)[:m.end]
		b.target.nop(code[m.start:])
		from = m.to
	}
	old := b.Offset()
	b.spare, b.buf = b.buf, append(code, b.buf[from:]...)
	if b.deadAt == old {
		b.deadAt = b.Offset()
	}
	b.starts = b.moveStarts
	b.seal()
}

// moveLabels moves labels and their uses.
func (b *Buffer) moveLabels() {
	for l, p := range b.pos {
		b.Stop.PollAt(l)
		if p != unbound {
			b.pos[l] = b.moves.Begin(p)
		}
	}
	b.deadline = noDeadline
	for class := range b.queues {
		for k := range b.target.kinds {
			q := &b.queues[class][k]
			for i := q.head; i < len(q.uses); i++ {
				b.Stop.PollAt(i)
				q.uses[i].off = b.moves.Begin(q.uses[i].off)
			}
			if q.head < len(q.uses) {
				b.deadline = min(b.deadline, b.due(UseKind(k), class, q.uses[q.head].off)) // I8
			}
		}
	}
}

// moveRecords moves what is recorded of code (I10).
func (b *Buffer) moveRecords() {
	for i := range b.relocs {
		b.Stop.PollAt(i)
		b.relocs[i].Offset = b.moves.Begin(b.relocs[i].Offset)
	}
	for i := range b.traps {
		b.Stop.PollAt(i)
		b.traps[i].Offset = b.moves.Begin(b.traps[i].Offset)
	}
	for i := range b.deferred {
		b.Stop.PollAt(i)
		if back := &b.deferred[i].back; *back != 0 {
			*back = b.moves.Begin(*back)
		}
	}
	for i := range b.stackMaps {
		b.Stop.PollAt(i)
		b.stackMaps[i].Return = b.moves.End(b.stackMaps[i].Return)
	}
	for i := range b.calls {
		b.Stop.PollAt(i)
		b.calls[i].Return = b.moves.End(b.calls[i].Return)
	}
}
