package machbuffer

import "fmt"

// CheckInvariants verifies all invariants of the package comment and names the first that fails. It takes time in
// the size of the whole function: for tests, after each Bind for instance.
func (b *Buffer) CheckInvariants() error {
	if b.err != nil {
		return nil
	}
	for _, check := range []func(*Buffer) error{
		(*Buffer).checkUses, (*Buffer).checkTail, (*Buffer).checkLabels, (*Buffer).checkRecords,
	} {
		if err := check(b); err != nil {
			return err
		}
	}
	return nil
}

// checkUses checks I1 (its static part), I6 for pending uses, I8 and I9.
func (b *Buffer) checkUses() error {
	var cost uint64
	for class := range b.queues {
		for i := range b.target.kinds {
			kd := &b.target.kinds[i]
			q := &b.queues[class][i]
			for j := q.head; j < len(q.uses); j++ {
				u := q.uses[j]
				if j > q.head && q.uses[j-1].off >= u.off {
					return fmt.Errorf("I1: %s uses at %d and %d out of order", kd.Name, q.uses[j-1].off, u.off)
				}
				if u.off+uint32(kd.PatchSize) > b.Offset() {
					return fmt.Errorf("I1: %s use at %d outside the code", kd.Name, u.off)
				}
				if at := b.landing(u.label); kd.narrow && b.narrow[at] == 0 {
					return fmt.Errorf("I6: narrow use at %d not counted at label %d", u.off, at)
				}
				if due := b.due(UseKind(i), class, u.off); due < b.deadline {
					return fmt.Errorf("I8: use at %d due at %d, deadline %d", u.off, due, b.deadline)
				}
				cost += uint64(kd.chainCost)
			}
		}
	}
	if cost != b.veneerCost {
		return fmt.Errorf("I9: veneer cost %d, want %d", b.veneerCost, cost)
	}
	return nil
}

// tailGroup returns where the labels before branch i of the tail start and end in the stack.
func (b *Buffer) tailGroup(i int) (from, to uint32) {
	if i+1 < len(b.branches) {
		return b.branches[i].labels, b.branches[i+1].labels
	}
	return b.branches[i].labels, b.curStart
}

// checkTail checks I2, I3 and I5 for the tail. What is before the tail does not change.
func (b *Buffer) checkTail() error {
	if b.tailOff != b.Offset() {
		return nil // stale: discarded at the next use
	}
	count := 0
	for i := range b.branches {
		br := &b.branches[i]
		end := b.tailOff
		if i+1 < len(b.branches) {
			end = b.branches[i+1].start
		}
		if br.start >= br.end || br.end != end {
			return fmt.Errorf("I2: branch [%d,%d) does not end at %d", br.start, br.end, end)
		}
		if !b.isPending(br) {
			return fmt.Errorf("I2: use of the branch at %d is not pending", br.start)
		}
		from, to := b.tailGroup(i)
		for _, l := range b.stack[from:to] {
			if b.pos[l] != br.start {
				return fmt.Errorf("I3: label %d at %d, its group at %d", l, b.pos[l], br.start)
			}
			if a := b.alias[l]; a == NoLabel || b.pos[b.landing(a)] == br.start || b.pos[b.root(a)] == br.start {
				continue // no alias, or beside it
			} else if br.cond || b.root(a) != b.root(br.target) {
				return fmt.Errorf("I5: label %d at %d has no landing for its alias %d", l, br.start, a)
			}
		}
		count += int(to - from)
	}
	for _, l := range b.stack[b.curStart:] {
		if b.pos[l] != b.tailOff {
			return fmt.Errorf("I3: label %d at %d, tail at %d", l, b.pos[l], b.tailOff)
		}
		count++
	}
	base := b.base()
	for l, p := range b.pos {
		if p != unbound && p >= base {
			count--
		}
		if p != unbound && p > b.tailOff {
			return fmt.Errorf("I3: label %d at %d, beyond the code", l, p)
		}
	}
	if count != 0 {
		return fmt.Errorf("I3: label stack is off by %d", count)
	}
	return nil
}

func (b *Buffer) isPending(br *branch) bool {
	for class := range b.queues {
		q := &b.queues[class][br.kind]
		for j := len(q.uses) - 1; j >= q.head && q.uses[j].off >= br.use; j-- {
			if q.uses[j] == (pending{br.use, br.target}) {
				return true
			}
		}
	}
	return false
}

// checkLabels checks I4 and I6.
func (b *Buffer) checkLabels() error {
	for i := range b.pos {
		l := Label(i)
		end, steps := l, 0
		for ; b.alias[end] != NoLabel && steps <= len(b.pos); steps++ {
			end = b.alias[end]
		}
		if steps > len(b.pos) {
			return fmt.Errorf("I4: label %d is on an alias cycle", l)
		}
		if end != b.root(l) {
			return fmt.Errorf("I4: label %d leads to %d, its root is %d", l, end, b.root(l))
		}
		if b.pos[l] == unbound && b.flags[l]&flagBound != 0 && (b.alias[l] == NoLabel || b.narrow[l] != 0) {
			return fmt.Errorf("I6: label %d should not be detached", l)
		}
	}
	return nil
}

// checkRecords checks I10.
func (b *Buffer) checkRecords() error {
	end := b.Offset()
	bad := false
	var last uint32
	step := func(off uint32) {
		bad = bad || off < last || off > end
		last = off
	}
	for _, r := range b.relocs {
		step(r.Offset)
	}
	last = 0
	for _, r := range b.traps {
		step(r.Offset)
	}
	last = 0
	for _, r := range b.stackMaps {
		step(r.Return)
	}
	last = 0
	for _, r := range b.calls {
		step(r.Return)
	}
	if bad {
		return fmt.Errorf("I10: records out of order or outside the code (%d bytes)", end)
	}
	return nil
}
