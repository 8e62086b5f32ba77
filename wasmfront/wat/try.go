package wat

import "github.com/waot-project/waot/wasmfront"

// The parts of the try of legacy exceptions, which have no parentheses, or are lists that follow one another.

// plainCatch takes catch or catch_all without parentheses, behind its name. The label of the try may be repeated in front of the tag.
func (a *assembler) plainCatch(op wasmfront.Opcode, t Token) {
	f := a.top()
	if f.kind != frameTry && f.kind != frameCatch {
		a.unexpected(t, frameInfos[f.kind].expected)
		return
	}
	f.kind = frameCatchAll
	if op == wasmfront.OpCatch {
		f.kind = frameCatch
	}
	if next := a.Ahead(); op == wasmfront.OpCatchAll || next.Kind == ID || next.Kind == Nat {
		a.matchLabel(f)
	}
	a.immediates(op)
	a.emit(t.Offset)
}

// plainDelegate takes delegate without parentheses, behind its name: it ends the try, whose label may be repeated.
func (a *assembler) plainDelegate(t Token) {
	f := a.top()
	if f.kind != frameTry {
		a.unexpected(t, frameInfos[f.kind].expected)
		return
	}
	if next := a.Ahead(); next.Kind == ID || next.Kind == Nat {
		a.matchLabel(f)
	}
	a.delegate(f, t)
	a.pop()
}

// delegate takes the label of a delegate, which is one of those around the try, and ends the try.
func (a *assembler) delegate(f *frame, t Token) {
	a.endLabel(f)
	a.immediates(wasmfront.OpDelegate)
	a.emit(t.Offset)
}

// tryPart takes the start of a list that is a part of a (try, if one comes next that may.
func (a *assembler) tryPart(f *frame) bool {
	if f.kind == frameTryList {
		if !a.Open("do") {
			return false
		}
		f.kind = frameDo
		return true
	}
	catches := f.kind == frameDoDone || f.kind == frameCatchDone
	t := a.Ahead()
	switch {
	case catches && t.Is("catch"):
		f.kind = frameCatchList
	case catches && t.Is("catch_all"):
		f.kind = frameCatchAllList
	case f.kind == frameDoDone && t.Is("delegate"):
		f.kind = frameDelegateDone
	default:
		return false
	}
	a.Next()
	op, _ := a.operator(t, "")
	if f.kind == frameDelegateDone {
		a.delegate(f, t)
		a.Close()
		return true
	}
	a.immediates(op)
	a.emit(t.Offset)
	return true
}
