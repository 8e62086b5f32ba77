package translate

import (
	"sort"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// This file translates exceptions, of both proposals, to the same CLIF. A try block has a pad: a block to which all calls in it go that throw, and throws whose clause is not
// known. It compares the tag of the exception under way with those of the clauses, in order, and goes on to the pad of the try block around it, or raises. So what unwinds needs to
// know no tags: it enters the pad of the innermost frame that has one.

// try is what an open try block has beside other blocks.
type try struct {
	pad     clif.Block        // NoBlock until something leads to it
	catches []wasmfront.Catch // of a try_table
	tag     clif.Value        // of the exception that has come to the pad; NoValue until a clause asks for it
	caught  clif.Value        // of a catch or catch_all that a rethrow may name: a reference to the exception
	next    clif.Block        // of a try whose exceptions a catch compares: where those go that it does not catch, or NoBlock
}

// tryAround returns the innermost of the first n open blocks to whose pad goes what is thrown in it, or nil.
func (t *Translator) tryAround(n int) *frame {
	k := len(t.tries)
	if k > 0 && t.tries[k-1] >= n {
		k = sort.SearchInts(t.tries, n)
	}
	if k == 0 {
		return nil
	}
	return &t.frames[t.tries[k-1]]
}

// leaveTry: what comes from here on is not in the innermost try block, or not in a part of it whose exceptions come to its pad.
func (t *Translator) leaveTry() { t.tries = t.tries[:len(t.tries)-1] }

// padOf makes an edge from the current point to the pad of fr.
func (t *Translator) padOf(fr *frame) clif.Target {
	if fr.try.pad == clif.NoBlock {
		fr.try.pad = t.ssa.newBlock(fr.from, fr.start, fr.loop)
	}
	return t.ssa.edgeTo(fr.try.pad, nil)
}

// pushCalled pushes the results of the call that was emitted last. In a try block it ends the basic block of CLIF, but not the one that is charged for.
func (t *Translator) pushCalled(first clif.Value, n int) {
	if fr := t.tryAround(len(t.frames)); fr != nil {
		next := t.ssa.newSingle()
		t.b.Catch(t.ssa.edgeTo(next, nil), t.padOf(fr))
		t.ssa.endBlock()
		t.ssa.enter(next, true)
	}
	t.pushResults(first, n)
}

// propagate ends the block with the exception under way going to the pad of fr, or out of the function if there is none.
func (t *Translator) propagate(fr *frame) {
	if fr == nil {
		t.b.Raise()
	} else {
		t.b.Jump(t.padOf(fr))
	}
	t.ssa.endBlock()
}

// openTry opens a try block or a try_table.
func (t *Translator) openTry(op *wasmfront.Operator, kind wasmfront.BlockKind) *frame {
	if !t.live {
		t.pushDead(kind)
		return nil
	}
	fr := t.pushFrame(kind, op.Results, len(t.stack)-len(op.Params))
	fr.try = &try{pad: clif.NoBlock, tag: clif.NoValue, caught: clif.NoValue, next: clif.NoBlock}
	t.tries = stop.Append(t.f.Stop, t.tries, len(t.frames)-1)
	return fr
}

func (t *Translator) tryTable(op *wasmfront.Operator, _ *handler) {
	if fr := t.openTry(op, wasmfront.BlockTryTable); fr != nil {
		fr.try.catches = append(stop.Grow(t.f.Stop, fr.try.catches, len(op.Catches)), op.Catches...)
	}
}

func (t *Translator) tryOp(op *wasmfront.Operator, _ *handler) { t.openTry(op, wasmfront.BlockTry) }

// endTryTable translates what the pad of the innermost block does, a try_table, whose end this is.
func (t *Translator) endTryTable(fr *frame) {
	t.leaveTry()
	if fr.try.pad == clif.NoBlock {
		return
	}
	t.leavePart(fr)
	t.enterPad(fr)
	n := len(t.frames) - 1
	for i := range fr.try.catches {
		t.f.Stop.PollAt(i)
		c := &fr.try.catches[i]
		next := clif.NoBlock
		var args []clif.Value
		if c.Kind.HasTag() {
			next = t.ifTag(fr, c.Tag)
			args = t.exnArgs(c.Tag)
		}
		t.giveTo(&t.frames[n-1-int(c.Label)], c, args)
		if next == clif.NoBlock {
			t.live = false
			return
		}
		t.stack = t.stack[:fr.height]
		t.ssa.enter(next, false)
	}
	t.propagate(t.tryAround(n))
	t.live = false
}

// leavePart ends the part of a try block in front of its pad or of the next catch: control goes to its end.
func (t *Translator) leavePart(fr *frame) {
	if t.live {
		t.jump(fr)
	}
}

// enterPad begins the pad of fr, to which there are no further edges.
func (t *Translator) enterPad(fr *frame) {
	t.ssa.seal(fr.try.pad)
	t.ssa.enter(fr.try.pad, false)
	t.stack = t.stack[:fr.height]
	t.live = true
}

// jumpTo ends the block with a branch to the label of fr, or a return.
func (t *Translator) jumpTo(fr *frame) {
	if fr.kind == wasmfront.BlockFunc {
		t.doReturn(len(fr.types))
	} else {
		t.jump(fr)
	}
}

// ifTag compares the tag of the exception that has come to the pad of fr with one, and goes on where they are equal. It returns the block where they are not.
func (t *Translator) ifTag(fr *frame, tag uint32) clif.Block {
	if fr.try.tag == clif.NoValue {
		fr.try.tag = t.b.ExnTag() // in the pad, from which the others are reached
	}
	is := t.b.Icmp(clif.Eq, clif.I64, fr.try.tag, t.b.TagAddr(tag))
	then, els := t.ssa.newSingle(), t.ssa.newSingle()
	t.branch(is, t.ssa.edgeTo(then, nil), t.ssa.edgeTo(els, nil))
	t.ssa.enter(then, true)
	return els
}

// exnArgs returns the arguments of the exception under way, which has the tag.
func (t *Translator) exnArgs(tag uint32) []clif.Value {
	first := t.b.ExnArgs(tag)
	t.args = t.args[:0]
	for i := range t.cm.TagSig(tag).Params {
		t.args = append(t.args, first+clif.Value(i))
	}
	return t.args
}

// catch begins the part of a try for the exceptions of a tag, or, if it is a catch_all, for all others.
func (t *Translator) catch(op *wasmfront.Operator, _ *handler) {
	fr := &t.frames[len(t.frames)-1]
	first := fr.kind == wasmfront.BlockTry
	if fr.kind = wasmfront.BlockCatch; op.Op == wasmfront.OpCatchAll {
		fr.kind = wasmfront.BlockCatchAll
	}
	if !fr.live {
		return
	}
	t.leavePart(fr)
	switch {
	case first:
		t.leaveTry()
		if fr.try.pad == clif.NoBlock { // nothing throws
			t.dead()
			return
		}
		t.enterPad(fr)
	case fr.try.next == clif.NoBlock:
		t.dead()
		return
	default:
		t.ssa.enter(fr.try.next, false)
		t.stack, t.live = t.stack[:fr.height], true
		fr.try.next = clif.NoBlock
	}
	if fr.kind == wasmfront.BlockCatch {
		fr.try.next = t.ifTag(fr, op.Index)
		t.stack = append(t.stack, t.exnArgs(op.Index)...)
	}
	if t.mayRethrow() {
		fr.try.caught = t.b.ExnRef()
	}
	t.leader(false)
}

// mayRethrow reports whether a rethrow may come in the rest of the function. The rest is read once.
func (t *Translator) mayRethrow() bool {
	if t.rethrows == unknownRethrows {
		t.rethrows = noRethrows
		b := bodyReader{Reader: t.check.Reader, ops: &allOperators}
		for t.rethrows == noRethrows && b.More() {
			t.f.Stop.Poll()
			if op, _, ok := b.operator(); !ok || op == wasmfront.OpRethrow {
				t.rethrows = someRethrows
			}
		}
	}
	return t.rethrows == someRethrows
}

// rethrows is what is known of rethrows in the rest of a function.
type rethrows uint8

const (
	unknownRethrows rethrows = iota
	noRethrows
	someRethrows
)

// endCatches ends a try with catches: what none of them catches goes on.
func (t *Translator) endCatches(fr *frame) {
	if fr.try.next == clif.NoBlock {
		return
	}
	t.leavePart(fr)
	t.ssa.enter(fr.try.next, false)
	t.propagate(t.tryAround(len(t.frames) - 1))
	t.live = false
}

// endTry ends a try that catches nothing, or gives what is thrown in it to the pad of to.
func (t *Translator) endTry(fr, to *frame) {
	t.leaveTry()
	if fr.try.pad == clif.NoBlock {
		return
	}
	t.leavePart(fr)
	t.enterPad(fr)
	t.propagate(to)
	t.live = false
}

// delegate ends a try: what is thrown in it is as if it were thrown in the block of the label.
func (t *Translator) delegate(op *wasmfront.Operator, _ *handler) {
	n := len(t.frames) - 1
	fr := &t.frames[n]
	if fr.live {
		t.endTry(fr, t.tryAround(n-int(op.Index)))
		t.join(fr)
	}
	t.popFrame()
}

// maxKnownTries and maxKnownClauses bound the search for the clause that catches what is thrown.
const maxKnownTries, maxKnownClauses = 16, 64

// throw: if the clause that catches the exception is known, it is a branch. Where fuel is counted it is not, as blocks are what operators say.
func (t *Translator) throw(op *wasmfront.Operator, _ *handler) {
	args := t.popN(len(op.Params))
	for k := len(t.tries) - 1; t.Fuel == nil && k >= max(0, len(t.tries)-maxKnownTries); k-- {
		n := t.tries[k]
		c, known := t.clauseOf(&t.frames[n], op.Index)
		if !known {
			break
		}
		if c != nil {
			t.throwTo(&t.frames[n-1-int(c.Label)], c, op.Index, args)
			return
		}
	}
	t.b.ExnSet(op.Index, args)
	t.propagate(t.tryAround(len(t.frames)))
	t.dead()
}

// clauseOf returns the clause of a try_table that catches exceptions of a tag, or nil. It is not known if the block is of the other proposal, or if a clause names a tag that may be the same
// under another index, as two imports may be.
func (t *Translator) clauseOf(fr *frame, tag uint32) (c *wasmfront.Catch, known bool) {
	if fr.kind != wasmfront.BlockTryTable || len(fr.try.catches) > maxKnownClauses {
		return nil, false
	}
	for i := range fr.try.catches {
		c := &fr.try.catches[i]
		if !c.Kind.HasTag() || c.Tag == tag {
			return c, true
		}
		if t.cm.Tags[c.Tag].Import != nil && t.cm.Tags[tag].Import != nil {
			return nil, false
		}
	}
	return nil, true
}

// throwTo throws to the clause c, which branches to the label of to.
func (t *Translator) throwTo(to *frame, c *wasmfront.Catch, tag uint32, args []clif.Value) {
	if c.Kind.HasRef() {
		t.b.ExnSet(tag, args)
	}
	t.giveTo(to, c, args)
	t.dead()
}

// giveTo branches to the label of to with what the clause c gives it of the exception under way, whose arguments are args.
func (t *Translator) giveTo(to *frame, c *wasmfront.Catch, args []clif.Value) {
	if c.Kind.HasTag() {
		t.stack = append(t.stack, args...)
	}
	if c.Kind.HasRef() {
		t.push(t.b.ExnRef())
	}
	t.jumpTo(to)
}

func (t *Translator) throwRef(*wasmfront.Operator, *handler) {
	x := t.pop()
	t.b.TrapIf(t.isNull(x), abi.TrapNullReference)
	t.b.ExnOpen(x)
	t.propagate(t.tryAround(len(t.frames)))
	t.dead()
}

func (t *Translator) rethrow(op *wasmfront.Operator, _ *handler) {
	t.b.ExnOpen(t.frameAt(op.Index).try.caught)
	t.propagate(t.tryAround(len(t.frames)))
	t.dead()
}
