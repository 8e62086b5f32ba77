package wat

import (
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// frameKind is what is being read in a body. Operators are read with a stack
// of frames, so that a text may nest them as deep as it likes.
type frameKind uint8

const (
	frameBody         frameKind = iota // a body or an expression, up to the parenthesis behind it
	frameBlock                         // block or loop, up to end
	frameIf                            // if, up to else or end
	frameElse                          // else, up to end
	frameOperands                      // (operator, up to ): operands of the operator, which comes behind them
	frameList                          // (block or (loop, up to )
	frameCondition                     // (if, up to (then: the operands of the if
	frameThen                          // (then, up to )
	frameThenDone                      // behind (then ...): (else or )
	frameElseList                      // (else, up to )
	frameElseDone                      // behind (else ...): )
	frameTry                           // try, up to catch, catch_all, delegate or end
	frameCatch                         // catch, up to catch, catch_all or end
	frameCatchAll                      // catch_all, up to end
	frameTryList                       // (try, up to (do
	frameDo                            // (do, up to )
	frameDoDone                        // behind (do ...): (catch, (catch_all, (delegate or )
	frameCatchList                     // (catch, up to )
	frameCatchDone                     // behind (catch ...): (catch, (catch_all or )
	frameCatchAllList                  // (catch_all, up to )
	frameCatchAllDone                  // behind (catch_all ...): )
	frameDelegateDone                  // behind (delegate ...): )
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

	frameTry:          {true, true, "an operator, catch, catch_all, delegate or end"},
	frameCatch:        {true, true, "an operator, catch, catch_all or end"},
	frameCatchAll:     {true, true, "an operator or end"},
	frameTryList:      {false, false, "(do"},
	frameDo:           {true, true, "an operator or )"},
	frameDoDone:       {false, false, "(catch, (catch_all, (delegate or )"},
	frameCatchList:    {true, true, "an operator or )"},
	frameCatchDone:    {false, false, "(catch, (catch_all or )"},
	frameCatchAllList: {true, true, "an operator or )"},
	frameCatchAllDone: {false, false, ")"},
	frameDelegateDone: {false, false, ")"},
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
	case t.Kind == Open && a.tryPart(f):
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
	case frameList, frameThenDone, frameElseDone, frameDoDone, frameCatchDone, frameCatchAllDone:
		a.endBlock(f, a.Token().Offset)
	case frameDelegateDone: // delegate has ended the block
	case frameDo, frameCatchList, frameCatchAllList:
		f.kind++ // to the one behind it
		a.Next()
		return true
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
	a.endLabel(f)
}

// endLabel makes the label of a frame one that branches can no longer use.
func (a *assembler) endLabel(f *frame) {
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

// blockFrames returns the frames of an operator that opens a block, without parentheses and with them; they are frameBody for others.
func blockFrames(op wasmfront.Opcode) (flat, list frameKind) {
	switch op {
	case wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpTryTable:
		return frameBlock, frameList
	case wasmfront.OpIf:
		return frameIf, frameCondition
	case wasmfront.OpTry:
		return frameTry, frameTryList
	}
	return frameBody, frameBody
}

// begin takes the rest of an operator that opens a block.
func (a *assembler) begin(kind frameKind, op wasmfront.Opcode, t Token) {
	l := a.takeLabel()
	a.immediates(op)
	a.emit(t.Offset)
	a.push(frame{kind: kind, label: l})
	a.beginBlock(a.top())
}

// open takes the start of an operator in parentheses.
func (a *assembler) open() {
	a.Next()
	t := a.Token()
	op, ok := a.operator(t, "an operator")
	if !ok {
		return
	}
	switch _, list := blockFrames(op); list {
	case frameBody:
		a.openPlain(op, t)
	case frameCondition: // whose operands come first
		l := a.takeLabel()
		a.immediates(op)
		a.postpone(list, t.Offset, l)
	default:
		a.begin(list, op, t)
	}
}

// openPlain is open for an operator that opens no block.
func (a *assembler) openPlain(op wasmfront.Opcode, t Token) {
	switch op {
	case wasmfront.OpElse, wasmfront.OpEnd, wasmfront.OpCatch, wasmfront.OpCatchAll, wasmfront.OpDelegate:
		a.unexpected(t, "an operator in parentheses")
	default:
		a.immediates(op)
		a.postpone(frameOperands, t.Offset, label{})
	}
}

// plain takes an operator without parentheses.
func (a *assembler) plain(t Token) {
	op, ok := a.operator(t, frameInfos[a.top().kind].expected)
	if !ok {
		return
	}
	if flat, _ := blockFrames(op); flat != frameBody {
		a.begin(flat, op, t)
		return
	}
	switch op {
	case wasmfront.OpElse:
		a.plainElse(t)
	case wasmfront.OpEnd:
		a.plainEnd(t)
	case wasmfront.OpCatch, wasmfront.OpCatchAll:
		a.plainCatch(op, t)
	case wasmfront.OpDelegate:
		a.plainDelegate(t)
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
	switch f.kind {
	case frameBlock, frameIf, frameElse, frameTry, frameCatch, frameCatchAll:
	default:
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
