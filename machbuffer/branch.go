package machbuffer

// UncondBranch declares the bytes from start to the current offset, just emitted, as an unconditional branch to
// target with one label use of kind k at offset use. It replaces UseLabel for that use.
//
// If k is narrow the caller has proved that target, as the caller sees the code, ends up in range; for a bound
// target ask CanReach.
func (b *Buffer) UncondBranch(start, use uint32, k UseKind, target Label) {
	b.pushBranch(start, use, k, target, nil)
}

// CondBranch declares the bytes from start to the current offset, just emitted, as a conditional branch to target,
// as UncondBranch does for an unconditional one; forms is copied, and nil if there are none. When R4 gives the inverted branch the target of an
// unconditional one behind it, the first form is taken that is no longer than the two branches together and surely
// reaches: it has a veneer, or reaches all that the unconditional branch could reach, or the target is bound and in
// range. With none, R4 is not done.
func (b *Buffer) CondBranch(start, use uint32, k UseKind, target Label, forms *CondForms) {
	if forms == nil {
		forms = &CondForms{}
	}
	b.pushBranch(start, use, k, target, forms)
}

func (b *Buffer) pushBranch(start, use uint32, k UseKind, target Label, forms *CondForms) {
	if b.err != nil {
		return
	}
	off := b.Offset()
	if use < start || use+uint32(b.target.kinds[k].PatchSize) > off {
		panic("machbuffer: branch declared with a wrong extent")
	}
	if b.tailOff != start {
		b.branches, b.stack, b.curStart = b.branches[:0], b.stack[:0], 0
	}
	// I2: adjacent to the last branch, which ended at tailOff, or the first. I3: labels at start become its group;
	// its own end is past all labels bound so far, so the group there is empty.
	b.branches = append(b.branches, branch{
		start: start, end: off, use: use, target: target, kind: k, cond: forms != nil, labels: b.curStart,
	})
	if forms != nil {
		b.branches[len(b.branches)-1].forms = *forms
	}
	b.curStart, b.tailOff = uint32(len(b.stack)), off
	b.UseLabel(use, k, target)
}

// atTail reports whether l's code is what will be emitted next. A label attached at the tail that has an alias has a
// root there too (I5), so the root says it all.
func (b *Buffer) atTail(l Label) bool { return b.pos[b.root(l)] == b.Offset() }

// same reports whether two labels stand, now and for good, for the same code: attached labels at one place in the
// tail move together and get the same aliases.
func (b *Buffer) same(l, m Label) bool {
	l, m = b.root(l), b.root(m)
	return l == m || b.pos[l] != unbound && b.pos[l] == b.pos[m]
}

// optimise edits the tail until no rule applies. Each round but the last drops a branch.
func (b *Buffer) optimise() {
	for len(b.branches) > 0 && len(b.stack)-int(b.curStart) <= maxTailLabels {
		n := len(b.branches)
		br := &b.branches[n-1]
		if b.atTail(br.target) {
			b.dropToNext(br) // R1
			continue
		}
		if br.cond || b.curStart-br.labels > maxTailLabels {
			return
		}
		b.thread(br) // R2
		if n > 1 && !b.branches[n-2].cond || n == 1 && b.deadAt == br.start {
			if b.detachable(br) {
				b.dropUnreachable(br) // R3
				continue
			}
			return
		}
		if n == 1 {
			return
		}
		prev := &b.branches[n-2]
		if b.same(prev.target, br.target) {
			b.dropCond(prev, br) // R5
			continue
		}
		if !b.atTail(prev.target) || !b.detachable(br) {
			return
		}
		form := b.inversion(prev, br)
		if form == nil {
			return
		}
		b.invert(prev, br, form) // R4
	}
}

// cut ends the code at newTail, after which b.branches must be what is left of the tail. Labels at the tail move
// there with it (I3). No distance grows (I7): a label moves only to a smaller offset, together with all code not
// yet emitted, and uses that stay do not move.
func (b *Buffer) cut(keep, newTail uint32) {
	oldTail := b.Offset()
	b.cutRecords(keep, oldTail, newTail)
	b.buf = b.buf[:newTail]
	b.tailOff = newTail
	if b.deadAt > newTail {
		b.deadAt = unbound
	}
}

func (b *Buffer) moveTailLabels() {
	for _, l := range b.stack[b.curStart:] {
		b.pos[l] = b.tailOff
	}
}

// dropToNext is R1: br leads to its own end. Running on has the same effect.
// The groups before and behind br become one (I3). A label before br may have br's target as alias: both now stand
// at the same place (I5).
func (b *Buffer) dropToNext(br *branch) {
	start, labels := br.start, br.labels
	b.unuse(br.kind, br.target, br.use) // I1, I9; I8 holds as the cached deadline may be too early
	b.branches = b.branches[:len(b.branches)-1]
	b.cut(start, start)
	b.moveTailLabels()
	b.curStart = labels
}

// thread is R2: labels before the unconditional branch br get its target as alias, unless the target's chain ends
// in that very label, which would close a cycle (I4). They stay attached with br as landing (I5).
func (b *Buffer) thread(br *branch) {
	for _, l := range b.stack[br.labels:b.curStart] {
		if b.alias[l] == NoLabel && b.root(br.target) != l {
			b.alias[l], b.parent[l] = br.target, br.target
		}
	}
}

// detachable reports whether all labels before br can do without their position (I6): they have an alias, which
// means the same code (I5), and no narrow use.
func (b *Buffer) detachable(br *branch) bool {
	for _, l := range b.stack[br.labels:b.curStart] {
		if b.alias[l] == NoLabel || b.narrow[l] != 0 {
			return false
		}
	}
	return true
}

// detach takes the position from all labels before br and closes the gap in the stack. By I5 uses of these labels
// mean the same when resolved through the alias. It ends with the tail's labels as br's group.
func (b *Buffer) detach(br *branch) {
	for _, l := range b.stack[br.labels:b.curStart] {
		b.pos[l] = unbound
	}
	b.stack = append(b.stack[:br.labels], b.stack[b.curStart:]...)
	b.curStart = br.labels
}

// dropUnreachable is R3: control never falls to br, and no label that stays attached stands there.
func (b *Buffer) dropUnreachable(br *branch) {
	start := br.start
	b.detach(br) // I3
	b.unuse(br.kind, br.target, br.use)
	b.branches = b.branches[:len(b.branches)-1]
	b.cut(start, start)
	b.moveTailLabels()
}

// dropCond is R5: taken or not, prev leads to br's target. br moves to where prev was. So do labels between them,
// to in front of br as before (I3: two groups become one; I5 holds with br as landing). Its target, if ahead,
// moves by as much as br does; if behind, it comes nearer (I7).
func (b *Buffer) dropCond(prev, br *branch) {
	keep, size := prev.start, br.end-br.start
	b.unuse(br.kind, br.target, br.use)
	b.unuse(prev.kind, prev.target, prev.use)
	copy(b.buf[keep:], b.buf[br.start:br.end]) // unpatched bytes (I2), so an addend in place is intact
	for _, l := range b.stack[br.labels:b.curStart] {
		b.pos[l] = keep
	}
	moved := branch{
		start: keep, end: keep + size, use: keep + br.use - br.start,
		target: br.target, kind: br.kind, labels: prev.labels,
	}
	b.branches = append(b.branches[:len(b.branches)-2], moved)
	b.cut(keep, moved.end)
	b.moveTailLabels()
	b.UseLabel(moved.use, moved.kind, moved.target)
}

// inversion returns the form of prev, inverted, that can take over br's target, or nil. See CondBranch.
//
// A target that is bound keeps its place: its landing because UseLabel counts the use and it stays attached, its root
// because it is before the tail, where no label gets an alias any more.
//
// For a target ahead, let d be the bytes the tail loses. Wherever the target would have come to be, p, it now comes
// to p-d, and p <= br.use + br's reach: br's caller proved it if br is narrow, and if br has the machine's full reach
// then so has any form that passes. So the new use reaches it if br.use + br's reach - d <= new use + its reach
// (I7). If br only has a veneer, nothing is known about p, and a narrow form will not do.
func (b *Buffer) inversion(prev, br *branch) *Form {
	landing, root := b.pos[b.landing(br.target)], b.pos[b.root(br.target)]
	if root >= b.branches[0].start {
		root = unbound
	}
	brk := &b.target.kinds[br.kind]
	limit := int64(br.use) + int64(brk.MaxPos)
	forms := &prev.forms.Inverted
	if prev.flipped {
		forms = &prev.forms.Same
	}
	for i := range forms[:prev.forms.N] {
		f := &forms[i]
		k := &b.target.kinds[f.Kind]
		use, tail := prev.start+uint32(f.Use), prev.start+uint32(f.Len)
		if tail > br.end {
			continue
		}
		if k.VeneerSize != 0 ||
			landing != unbound && k.reaches(use, landing) ||
			root != unbound && k.reaches(use, root) ||
			landing == unbound && (!k.narrow || brk.VeneerSize == 0) &&
				limit-int64(br.end-tail) <= int64(use)+int64(k.MaxPos) {
			return f
		}
	}
	return nil
}

// invert is R4: prev leads over br to br's end. Inverted and with br's target it does what both did.
func (b *Buffer) invert(prev, br *branch, form *Form) {
	f, keep, target := *form, prev.start, br.target
	b.detach(br) // I3; leaves the tail's labels as the only group behind prev's
	b.unuse(br.kind, br.target, br.use)
	b.unuse(prev.kind, prev.target, prev.use)
	tail := keep + uint32(f.Len)
	copy(b.buf[keep:tail], f.Bytes[:f.Len])
	// I2: what prev becomes ends at the new tail, and its use is pending.
	prev.end, prev.use, prev.target, prev.kind = tail, keep+uint32(f.Use), target, f.Kind
	prev.flipped = !prev.flipped
	b.branches = b.branches[:len(b.branches)-1]
	b.cut(keep, tail)
	b.moveTailLabels()
	b.UseLabel(prev.use, prev.kind, target)
}
