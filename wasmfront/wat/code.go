package wat

import (
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// frameKind is what is being read in a body. Operators are read with a stack
// of frames, so that a text may nest them as deep as it likes.
type frameKind uint8

const (
	frameBody      frameKind = iota // a body or an expression, up to the parenthesis behind it
	frameBlock                      // block or loop, up to end
	frameIf                         // if, up to else or end
	frameElse                       // else, up to end
	frameOperands                   // (operator, up to ): operands of the operator, which comes behind them
	frameList                       // (block or (loop, up to )
	frameCondition                  // (if, up to (then: the operands of the if
	frameThen                       // (then, up to )
	frameThenDone                   // behind (then ...): (else or )
	frameElseList                   // (else, up to )
	frameElseDone                   // behind (else ...): )
)

// frameInfo is what is known of a kind of frames.
type frameInfo struct {
	flat     bool   // operators need no parentheses
	folded   bool   // operators in parentheses may come
	expected string // what may come, for messages
}

var frameInfos = [...]frameInfo{
	frameBody:      {true, true, "an operator or )"},
	frameBlock:     {true, true, "an operator or end"},
	frameIf:        {true, true, "an operator, else or end"},
	frameElse:      {true, true, "an operator or end"},
	frameOperands:  {false, true, "an operator in parentheses, or )"},
	frameList:      {true, true, "an operator or )"},
	frameCondition: {false, true, "an operator in parentheses, or (then"},
	frameThen:      {true, true, "an operator or )"},
	frameThenDone:  {false, false, "(else or )"},
	frameElseList:  {true, true, "an operator or )"},
	frameElseDone:  {false, false, ")"},
}

// frame is an operator that has begun and not ended.
type frame struct {
	kind    frameKind
	pending int   // frameOperands, frameCondition: where the operator begins in assembler.pending
	text    int   // frameOperands, frameCondition: offset of the operator in the text
	label   label // frameBlock and on: its label
}

// label is what a block is called.
type label struct {
	id    string
	hasID bool
	outer int // the number of the label of the same name that it hides, -1 if there is none
}

// labels are the labels of the blocks around.
type labels struct {
	depth  int            // how many there are
	byName map[string]int // the number, from the outermost, of the innermost one of that name
	begun  uint32         // how many blocks the function has so far
	names  []wasmfront.NameAssoc
}

// body takes operators up to the parenthesis behind them. The result is valid
// until the next body.
func (a *assembler) body() *section {
	a.beginCode()
	a.push(frame{kind: frameBody})
	for len(a.frames) > 0 {
		a.step()
	}
	return a.endCode()
}

// folded is body for one operator in parentheses.
func (a *assembler) folded() *section {
	a.beginCode()
	if a.Token().Kind != Open {
		a.Unexpected("an operator in parentheses")
	}
	a.open()
	for len(a.frames) > 0 {
		a.step()
	}
	return a.endCode()
}

func (a *assembler) beginCode() {
	a.code = section{stop: a.code.stop, bytes: a.code.bytes[:0], places: a.code.places[:0]}
	a.pending = a.pending[:0]
	a.frames = a.frames[:0]
	clear(a.labels.byName)
	a.labels = labels{depth: 1, byName: a.labels.byName} // the body itself has a label
}

func (a *assembler) endCode() *section {
	a.code.mark(a.Token().Offset)
	a.code.bytes = appendOne(a.code.stop, a.code.bytes, byte(wasmfront.OpEnd))
	return &a.code
}

func (a *assembler) push(f frame) { a.frames = append(grown(a.scan.stop, a.frames, 1), f) }

func (a *assembler) pop() { a.frames = a.frames[:len(a.frames)-1] }

// top returns the innermost frame.
func (a *assembler) top() *frame { return &a.frames[len(a.frames)-1] }

// step takes the next part of a body. After a failure it leaves no frame.
func (a *assembler) step() {
	f := a.top()
	info := &frameInfos[f.kind]
	switch t := a.Token(); {
	case t.Kind == Close && a.closeFrame(f):
	case t.Kind == Open && f.kind == frameCondition && a.At("then"):
		a.then(f)
	case t.Kind == Open && f.kind == frameThenDone && a.At("else"):
		a.elseList(f)
	case t.Kind == Open && info.folded:
		a.open()
	case t.Kind == Keyword && info.flat:
		a.plain(t)
	default:
		a.unexpectedList(info.expected)
	}
	if a.Err != nil {
		a.frames = a.frames[:0]
	}
}

// closeFrame ends a frame at a parenthesis. It is false if that cannot end it.
func (a *assembler) closeFrame(f *frame) bool {
	switch f.kind {
	case frameBody: // the parenthesis is not part of it
		a.pop()
		return true
	case frameOperands:
		a.emitPending(f)
	case frameList, frameThenDone, frameElseDone:
		a.endBlock(f, a.Token().Offset)
	case frameThen:
		f.kind = frameThenDone
		a.Next()
		return true
	case frameElseList:
		f.kind = frameElseDone
		a.Next()
		return true
	default:
		return false
	}
	a.Next()
	a.pop()
	return true
}

// emitPending moves the operator of a frame behind its operands.
func (a *assembler) emitPending(f *frame) {
	a.code.mark(f.text)
	a.code.bytes = appendAll(a.code.stop, a.code.bytes, a.pending[f.pending:])
	a.pending = a.pending[:f.pending]
}

// emit appends the operator in op, which is written at an offset in the text.
func (a *assembler) emit(text int) {
	a.code.mark(text)
	a.code.bytes = appendAll(a.code.stop, a.code.bytes, a.op)
}

// postpone keeps the operator in op for a frame of that kind.
func (a *assembler) postpone(kind frameKind, text int, l label) {
	a.push(frame{kind: kind, pending: len(a.pending), text: text, label: l})
	a.pending = appendAll(a.scan.stop, a.pending, a.op)
}

// then takes (then of an if whose condition has been taken.
func (a *assembler) then(f *frame) {
	a.Open("then")
	a.emitPending(f)
	f.kind = frameThen
	a.beginBlock(f)
}

func (a *assembler) elseList(f *frame) {
	a.code.mark(a.Token().Offset)
	a.code.bytes = append(a.code.bytes, byte(wasmfront.OpElse))
	a.Open("else")
	f.kind = frameElseList
}

// beginBlock makes the label of a frame one that branches can use.
func (a *assembler) beginBlock(f *frame) {
	if l := &f.label; l.hasID {
		if a.labels.byName == nil {
			a.labels.byName = map[string]int{}
		}
		outer, hides := a.labels.byName[l.id]
		if l.outer = outer; !hides {
			l.outer = -1
		}
		a.labels.byName[l.id] = a.labels.depth
		a.nameLabel(l.id)
	}
	a.labels.depth++
	a.labels.begun++
}

// endBlock ends a block with an operator written at an offset in the text.
func (a *assembler) endBlock(f *frame, text int) {
	a.code.mark(text)
	a.code.bytes = append(a.code.bytes, byte(wasmfront.OpEnd))
	a.labels.depth--
	switch l := &f.label; {
	case !l.hasID:
	case l.outer < 0:
		delete(a.labels.byName, l.id)
	default:
		a.labels.byName[l.id] = l.outer
	}
}

// takeLabel takes the label of a block.
func (a *assembler) takeLabel() label {
	id, ok := a.ID()
	return label{id: id, hasID: ok}
}

// open takes the start of an operator in parentheses.
func (a *assembler) open() {
	a.Next()
	t := a.Token()
	switch op, ok := a.operator(t, "an operator"); {
	case !ok:
	case op == wasmfront.OpBlock || op == wasmfront.OpLoop:
		l := a.takeLabel()
		a.immediates(op)
		a.emit(t.Offset)
		a.push(frame{kind: frameList, label: l})
		a.beginBlock(a.top())
	case op == wasmfront.OpIf:
		l := a.takeLabel()
		a.immediates(op)
		a.postpone(frameCondition, t.Offset, l)
	case op == wasmfront.OpElse || op == wasmfront.OpEnd:
		a.unexpected(t, "an operator in parentheses")
	default:
		a.immediates(op)
		a.postpone(frameOperands, t.Offset, label{})
	}
}

// plain takes an operator without parentheses.
func (a *assembler) plain(t Token) {
	switch op, ok := a.operator(t, frameInfos[a.top().kind].expected); {
	case !ok:
	case op == wasmfront.OpBlock || op == wasmfront.OpLoop || op == wasmfront.OpIf:
		l := a.takeLabel()
		a.immediates(op)
		a.emit(t.Offset)
		kind := frameBlock
		if op == wasmfront.OpIf {
			kind = frameIf
		}
		a.push(frame{kind: kind, label: l})
		a.beginBlock(a.top())
	case op == wasmfront.OpElse:
		a.plainElse(t)
	case op == wasmfront.OpEnd:
		a.plainEnd(t)
	default:
		a.immediates(op)
		a.emit(t.Offset)
	}
}

func (a *assembler) plainElse(t Token) {
	f := a.top()
	if f.kind != frameIf {
		a.unexpected(t, frameInfos[f.kind].expected)
		return
	}
	a.matchLabel(f)
	f.kind = frameElse
	a.emit(t.Offset)
}

func (a *assembler) plainEnd(t Token) {
	f := a.top()
	if f.kind != frameBlock && f.kind != frameIf && f.kind != frameElse {
		a.unexpected(t, frameInfos[f.kind].expected)
		return
	}
	a.matchLabel(f)
	a.endBlock(f, t.Offset)
	a.pop()
}

// matchLabel takes the label that may be repeated behind else and end.
func (a *assembler) matchLabel(f *frame) {
	t := a.Token()
	if l := a.takeLabel(); l.hasID && (l.id != f.label.id || !f.label.hasID) {
		a.FailError(&Error{Offset: t.Offset, Msg: "mismatching label", Found: found(t)})
	}
}

// operator takes the name of an operator and begins to encode it. It is false if that fails.
func (a *assembler) operator(t Token, expected string) (wasmfront.Opcode, bool) {
	w := words()[string(t.Text)]
	if t.Kind != Keyword || !w.isOp || w.feature&^wasmfront.DecodableFeatures != 0 {
		a.unsupported(t, expected)
		return 0, false
	}
	a.Next()
	if w.op == wasmfront.OpSelect && a.At("result") {
		w.op = wasmfront.OpSelectT
	}
	a.op = encode.Opcode(a.op[:0], w.op)
	return w.op, true
}
