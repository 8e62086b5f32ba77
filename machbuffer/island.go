package machbuffer

import "bytes"

// constant is a pool entry not yet placed.
type constant struct {
	off, size uint32 // in constData
	align     uint32
	label     Label
}

// deferredTrap is a trap stub not yet placed.
type deferredTrap struct {
	label Label
	site  TrapSite
	code  uint8
	back  uint32 // where a jump behind it leads, 0 if it has none
}

// Constant returns the label of a constant with these bytes, at a multiple of align (a power of two), which an
// island or Finish will place. Equal constants still to be placed share a label. Refer to it with UseLabel.
func (b *Buffer) Constant(data []byte, align uint32) Label {
	if !powerOfTwo(align) {
		panic("machbuffer: alignment of a constant is not a power of two")
	}
	if 2*(len(b.consts)+1) > len(b.constTable) {
		b.rehash()
	}
	slot := b.constSlot(data)
	if i := b.constTable[slot]; i != 0 {
		c := &b.consts[i-1]
		if align > c.align {
			b.constCost += uint64(align - c.align)
			c.align = align
		}
		return c.label
	}
	l := b.NewLabel()
	b.flags[l] |= flagIsland
	b.consts = append(b.consts, constant{uint32(len(b.constData)), uint32(len(data)), align, l})
	b.constData = append(b.constData, data...)
	b.constTable[slot] = uint32(len(b.consts))
	b.constCost += uint64(len(data)) + uint64(align-1) // I9
	return l
}

func (b *Buffer) constBytes(c *constant) []byte { return b.constData[c.off : c.off+c.size] }

// constSlot returns the place in the hash table where data is or belongs. The table is at most half full.
func (b *Buffer) constSlot(data []byte) uint32 {
	h := uint32(2166136261) // FNV-1a
	for _, v := range data {
		h = (h ^ uint32(v)) * 16777619
	}
	mask := uint32(len(b.constTable) - 1)
	for {
		h &= mask
		i := b.constTable[h]
		if i == 0 || bytes.Equal(b.constBytes(&b.consts[i-1]), data) {
			return h
		}
		h++
	}
}

func (b *Buffer) rehash() {
	b.constTable = make([]uint32, max(16, 2*len(b.constTable)))
	for i := range b.consts {
		b.constTable[b.constSlot(b.constBytes(&b.consts[i]))] = uint32(i + 1)
	}
}

// clearConstants empties the pool. The table is cut back so that clearing it costs no more than filling it did.
func (b *Buffer) clearConstants() {
	if len(b.consts) > 0 {
		clear(b.constTable)
		b.constTable = b.constTable[:min(16, len(b.constTable))]
	}
	b.consts, b.constData, b.constCost = b.consts[:0], b.constData[:0], 0
}

// DeferTrap returns the label of a stub that traps with code, which an island or Finish will place out of line, with
// its trap record. Branch to it with UseLabel, or CondBranch, by a kind that is not narrow.
func (b *Buffer) DeferTrap(code uint8, site TrapSite) Label {
	l := b.NewLabel()
	b.flags[l] |= flagIsland
	b.deferred = append(b.deferred, deferredTrap{label: l, site: site, code: code})
	return l
}

// Resume makes the stub of the trap deferred last one that a host may resume: behind its instruction a jump leads to the current offset, which is
// where the code goes on that branches to the stub. The target must be one that Resumes.
func (b *Buffer) Resume() {
	if !b.target.resumes {
		panic("machbuffer: a trap is resumed on a target without such traps")
	}
	b.deferred[len(b.deferred)-1].back = b.Offset()
}

// islandCost bounds the bytes of an island that places everything pending.
func (b *Buffer) islandCost() uint64 {
	stub := uint64(b.target.stubBytes) + uint64(b.target.codeAlign-1)
	return b.veneerCost + b.constCost + uint64(len(b.deferred))*stub + uint64(b.target.jumpCost)
}

// horizon bounds the end of an island that would be emitted after size more bytes, those bytes' own uses included.
func (b *Buffer) horizon(size uint32) uint64 {
	uses := uint64(size/b.target.minUseInst) + 1
	return uint64(b.Offset()) + uint64(size) + uses*uint64(b.target.perUse) + b.islandCost()
}

// IslandNeeded reports whether an island must come before the next size bytes of code.
func (b *Buffer) IslandNeeded(size uint32) bool {
	if b.horizon(size) <= uint64(b.deadline) {
		return false
	}
	b.refresh()
	return b.horizon(size) > uint64(b.deadline)
}

// EmitIslandMaybe must be called before each piece of code that must not be split, with a bound of its size in
// bytes, constants it adds counted. It emits an island if IslandNeeded. It must not be called where the flags or
// the adjacency of the code around matter, between the branches of a two-way branch for instance.
//
// Why no deadline is missed: let the call find D >= offset + size + island, with D the earliest deadline and island
// the bound of all pending things' bytes and of those that size bytes can add. After these bytes, offset has grown
// by at most size and what is pending is at most island, so an island can still begin and end before D. If the call
// does not find that, it emits the island now, by the same argument for the call before in time; and that places
// all whose deadline lies before its own bound, so that the inequality holds for what remains. A new use's own
// deadline is at least its kind's range away, which must exceed one piece of code with its island.
func (b *Buffer) EmitIslandMaybe(size uint32) {
	if b.IslandNeeded(size) {
		b.EmitIsland(size)
	}
}

// EmitIsland emits an island: constants, deferred traps, and a veneer for each use that might otherwise miss its
// deadline in the next size bytes. It leads control around if need be, and emits nothing if nothing is pending.
// The code before becomes final.
func (b *Buffer) EmitIsland(size uint32) {
	if b.err != nil {
		return
	}
	b.refresh()
	// The next island's own jump comes on top of what horizon counts.
	horizon := b.horizon(size) + uint64(b.target.jumpCost)
	if len(b.deferred) == 0 && len(b.consts) == 0 && horizon <= uint64(b.deadline) {
		return
	}
	reachable := b.tailReachable()
	jump := &b.target.jump
	b.seal()
	use := b.Offset() + uint32(jump.Use)
	if reachable {
		b.PutBytes(jump.Bytes[:jump.Len])
	}
	// Veneers come before the pool, as they may have the shorter deadlines, and in ascending order of range: a
	// veneer's own use enters a queue that is still to come.
	for _, k := range b.target.order {
		b.drain(k, 0, horizon)
	}
	b.placePool()
	for _, k := range b.target.order {
		b.drain(k, 1, horizon)
	}
	b.pad(b.target.codeAlign)
	if b.err != nil {
		return
	}
	b.seal()
	if reachable {
		b.patch(jump.Kind, use, b.Offset(), NoLabel)
	} else {
		b.deadAt = b.Offset()
	}
	b.refresh()
}

// tailReachable reports whether control can come to the current offset from the code so far.
func (b *Buffer) tailReachable() bool {
	off := b.Offset()
	if b.tailOff != off {
		return b.deadAt != off
	}
	n := len(b.branches)
	return len(b.stack) > int(b.curStart) || b.deadAt != off && (n == 0 || b.branches[n-1].cond)
}

// refresh patches the uses at the queues' heads that are settled and recomputes the deadline (I8). Settled means that
// both use and label are before the tail's base: no edit moves them, and a label there gets no alias any more.
func (b *Buffer) refresh() {
	base := b.base()
	b.deadline = noDeadline
	for class := range b.queues {
		for i := range b.target.kinds {
			k := UseKind(i)
			q := &b.queues[class][k]
			for q.head < len(q.uses) {
				u := q.uses[q.head]
				p := b.pos[b.root(u.label)]
				if u.off >= base || p == unbound || p >= base || !b.target.kinds[k].reaches(u.off, p) {
					b.deadline = min(b.deadline, b.due(k, class, u.off))
					break
				}
				b.pop(q, k)
				b.patch(k, u.off, p, u.label)
			}
		}
	}
}

// pop removes a queue's head, which is about to be patched (I1, I9).
func (b *Buffer) pop(q *queue, k UseKind) {
	q.head++
	b.veneerCost -= uint64(b.target.kinds[k].chainCost)
	if q.head == len(q.uses) {
		q.uses, q.head = q.uses[:0], 0
	}
}

// placePool emits all deferred traps and constants. The code before must be sealed.
func (b *Buffer) placePool() {
	for _, d := range b.deferred {
		b.pad(b.target.codeAlign)
		b.place(d.label)
		b.AddTrap(b.Offset(), d.code, d.site)
		b.PutBytes(b.target.trap)
		if b.target.trapCode != nil {
			b.target.trapCode(b.buf[len(b.buf)-len(b.target.trap):], d.code)
		}
		if d.back != 0 { // no edit of the tail has moved what begins there, and none will
			jump := &b.target.jump
			use := b.Offset() + uint32(jump.Use)
			b.PutBytes(jump.Bytes[:jump.Len])
			b.patch(jump.Kind, use, d.back, d.label)
		}
	}
	b.deferred = b.deferred[:0]
	var most uint32
	for i := range b.consts {
		most = max(most, b.consts[i].align)
	}
	b.align = max(b.align, most)
	// By descending alignment, so that only the first needs much padding.
	for align := most; align > 0; align >>= 1 {
		for i := range b.consts {
			if c := &b.consts[i]; c.align == align {
				b.pad(align)
				b.place(c.label)
				b.PutBytes(b.constBytes(c))
			}
		}
	}
	b.clearConstants()
}

// place binds an island label at the current offset, which is sealed. Its group of the tail is never consulted: bytes
// follow before the next seal (I3).
func (b *Buffer) place(l Label) { b.pos[l] = b.Offset() }

// drain patches or gives a veneer to uses of kind k that are due before horizon. The code before is sealed.
func (b *Buffer) drain(k UseKind, class int, horizon uint64) {
	kd := &b.target.kinds[k]
	q := &b.queues[class][k]
	for q.head < len(q.uses) {
		u := q.uses[q.head]
		if p := b.pos[b.root(u.label)]; p != unbound && kd.reaches(u.off, p) {
			b.pop(q, k)
			b.patch(k, u.off, p, u.label)
			continue
		}
		if uint64(b.due(k, class, u.off)) >= horizon || kd.VeneerSize == 0 {
			return
		}
		b.pop(q, k)
		// The landing's branch leads on to the root. It serves as a veneer and is already there (I5).
		if p := b.pos[b.landing(u.label)]; p != unbound && kd.reaches(u.off, p) {
			b.patch(k, u.off, p, u.label)
			continue
		}
		b.veneer(k, u)
	}
}

// veneer emits a veneer at the current offset and leads use u of kind k, already popped, there. The veneer's use
// takes its place among the pending ones (I1: no offset is greater; I9: chainCost of u included that of it).
func (b *Buffer) veneer(k UseKind, u pending) {
	kd := &b.target.kinds[k]
	b.pad(b.target.codeAlign)
	at := b.Offset()
	kd.EmitVeneer(b.Reserve(int(kd.VeneerSize)))
	b.Advance(int(kd.VeneerSize))
	b.veneers = append(b.veneers, Veneer{Start: at, Size: kd.VeneerSize, Label: u.label})
	b.patch(k, u.off, at, u.label)
	b.UseLabel(at+kd.VeneerUse, kd.Veneer, u.label)
}

// patch resolves the use of kind k at offset use, for good, or records that it cannot reach.
func (b *Buffer) patch(k UseKind, use, label uint32, l Label) {
	kd := &b.target.kinds[k]
	b.patched = true
	if b.err != nil && b.err.(*Error).Err == ErrTooLarge {
		return
	}
	if !kd.reaches(use, label) {
		b.fail(&Error{Err: ErrOutOfRange, Use: use, Target: label, Label: l, Kind: kd.Name})
		return
	}
	kd.Patch(b.buf[use:use+uint32(kd.PatchSize)], use, label)
}
