package backend

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// This file records unwind information about the frame while code is emitted.

// change notes that other rules hold from here on. Branches that the buffer has dropped since may have ended here.
func (e *Emitter) change(kind abi.CFIChangeKind, popped int) {
	at := e.Buf.Offset()
	e.clampChanges(at)
	e.unwind = append(e.unwind, abi.CFIChange{Offset: at, Kind: kind, Popped: int32(popped)})
}

// clampChanges moves changes behind the end of the code, from which branches have been dropped, to there.
func (e *Emitter) clampChanges(end uint32) {
	for i := len(e.unwind) - 1; i >= 0 && e.unwind[i].Offset > end; i-- {
		e.unwind[i].Offset = end
	}
}

// setSaved notes whether the code from here on has its caller's callee-saved registers in the frame.
func (e *Emitter) setSaved(saved bool) {
	e.clampChanges(e.Buf.Offset())
	if saved == e.saved || e.Frame.Saved == 0 {
		return
	}
	e.saved = saved
	e.change(changeTo(saved), 0)
}

// changeTo returns the change to where registers are saved, or not.
func changeTo(saved bool) abi.CFIChangeKind {
	if saved {
		return abi.RegistersSaved
	}
	return abi.RegistersKept
}

// LeftFrame notes that the instruction just emitted has restored frame pointer and stack pointer, or popped arguments, popped bytes
// in all since then. The function returns before it does anything else.
func (e *Emitter) LeftFrame(popped int) { e.change(abi.FrameLeft, popped) }

// Lowered notes that the instruction just emitted, in front of the frame's setup, has put the stack pointer n bytes below the return address.
func (e *Emitter) Lowered(n int) { e.change(abi.StackLowered, -n) }

// ReturnMoved notes that the instruction just emitted, behind the frame, has put the return address n bytes above the stack pointer.
func (e *Emitter) ReturnMoved(n int) { e.change(abi.ReturnMoved, -n) }

// Returned notes that the function has returned with the instruction just emitted.
func (e *Emitter) Returned() {
	e.change(abi.FrameBack, 0)
	e.Buf.NoFallThrough()
}

// sideTrap is a trap aside of the code that leads there, and whether the registers are saved there.
type sideTrap struct {
	site    machbuffer.TrapSite
	label   machbuffer.Label
	saved   bool
	resumed bool
}

// noteSideTrap notes the trap aside that the code being emitted leads to.
func (e *Emitter) noteSideTrap(site machbuffer.TrapSite, label machbuffer.Label) {
	if len(e.Out.Unsaved) > 0 {
		e.sideTraps = append(e.sideTraps, sideTrap{site: site, label: label, saved: e.saved})
	}
}

// resumeSideTrap notes that the trap aside noted last, that of site, is resumed.
func (e *Emitter) resumeSideTrap(site machbuffer.TrapSite) {
	if n := len(e.sideTraps); n > 0 && e.sideTraps[n-1].site == site {
		e.sideTraps[n-1].resumed = true
	}
}

// changes returns the changes of the whole code. Traps and veneers that stand aside have the registers where the code has them that
// leads there, not where that around them has them.
func (e *Emitter) changes(res *machbuffer.Result) []abi.CFIChange {
	e.clampChanges(uint32(len(res.Code)))
	if len(e.Out.Unsaved) == 0 || e.Frame.Saved == 0 {
		return e.unwind
	}
	m := changeMerger{from: e.unwind, to: e.merged[:0]}
	traps, veneers := e.sideTraps, res.Veneers
	for i := range res.Traps {
		e.VC.In.Stop.PollAt(i)
		if t := &res.Traps[i]; len(traps) > 0 && traps[0].site == t.Site {
			veneers = e.mergeVeneers(&m, veneers, t.Offset)
			m.aside(t.Offset, e.Target.Buffer.TrapBytes(traps[0].resumed), traps[0].saved)
			traps = traps[1:]
		}
	}
	e.mergeVeneers(&m, veneers, uint32(len(res.Code)))
	e.merged = append(m.to, m.from...)
	return e.merged
}

// mergeVeneers adds the changes at the veneers before offset end, and returns the others.
func (e *Emitter) mergeVeneers(m *changeMerger, veneers []machbuffer.Veneer, end uint32) []machbuffer.Veneer {
	for len(veneers) > 0 && veneers[0].Start < end {
		v := &veneers[0]
		m.aside(v.Start, v.Size, e.savedAt(v.Label))
		veneers = veneers[1:]
	}
	return veneers
}

// savedAt reports whether the registers are saved where code comes to a label.
func (e *Emitter) savedAt(l machbuffer.Label) bool {
	if b := int(l); b < len(e.VC.In.Blocks) {
		return !e.Out.UnsavedIn(regalloc.Block(b)) && !e.Out.SavesAt(&e.VC.In, regalloc.Block(b))
	}
	for i := range e.sideTraps {
		if e.sideTraps[i].label == l {
			return e.sideTraps[i].saved
		}
	}
	return false
}

// changeMerger adds changes to a list of them.
type changeMerger struct {
	from, to []abi.CFIChange
	saved    bool // at the end of to
}

// aside adds that registers are saved, or not, in size bytes from offset at on.
func (m *changeMerger) aside(at, size uint32, saved bool) {
	for len(m.from) > 0 && m.from[0].Offset <= at {
		switch m.from[0].Kind {
		case abi.RegistersSaved:
			m.saved = true
		case abi.RegistersKept:
			m.saved = false
		}
		m.to, m.from = append(m.to, m.from[0]), m.from[1:]
	}
	if saved != m.saved {
		m.to = append(m.to, abi.CFIChange{Offset: at, Kind: changeTo(saved)}, abi.CFIChange{Offset: at + size, Kind: changeTo(m.saved)})
	}
}
