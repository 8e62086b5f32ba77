package printer

import "github.com/waot-project/waot/wasmfront"

// body is what is known of the function whose body is being written.
type body struct {
	wasmfront.Reader
	op     wasmfront.Operator
	types  []wasmfront.ValType // of locals
	blocks []block             // that are open, that of the function first
	names  []symbol            // of labels, by the order in which blocks are opened
	opened uint32              // how many blocks have been
	inner  map[string]int      // by name, the innermost open block that has it
}

// block is an open block.
type block struct {
	kind  wasmfront.BlockKind
	label symbol
	outer int // the next block outwards that has the same label, or -1
}

// functions writes the functions that are not imported.
func (p *printer) functions() error {
	b := &p.body
	for i := p.m.NumImportedFuncs; int64(i) < int64(len(p.m.Funcs)); i++ {
		b.begin(p.m, i)
		b.names = labelSymbols(p.labels.next(i), b.End-b.Pos)
		locals := b.locals(p.m.Features, len(p.params(i)))
		if b.Err != nil {
			return b.Err
		}
		p.newline(1)
		p.function(i, locals)
		for len(b.blocks) > 0 && b.Err == nil {
			p.operator()
		}
		if b.Err == nil && b.Pos != b.End {
			b.Fail(b.Pos, "operators after the end of the function")
		}
		if b.Err != nil {
			return b.Err
		}
		p.text(")")
		if p.err != nil {
			return p.err
		}
	}
	return nil
}

func (b *body) begin(m *wasmfront.Module, i uint32) {
	in := m.Body(i)
	b.Reader = wasmfront.Reader{Buf: m.Bytes, Pos: in.Offset, End: in.Offset + len(in.Bytes), Func: int(i), Types: m.Types}
	b.blocks, b.opened = append(b.blocks[:0], block{outer: -1}), 0
	clear(b.inner)
}

// locals reads the types of locals, which come after params parameters.
func (b *body) locals(accept wasmfront.Features, params int) []wasmfront.ValType {
	b.types = b.types[:0]
	for n := b.U32(); n > 0 && b.Err == nil; n-- {
		at := b.Pos
		count := b.U32()
		t := b.ValType(accept)
		if have := uint64(count) + uint64(len(b.types)+params); have > wasmfront.MaxLocals {
			b.FailLimit(at, wasmfront.LimitError{What: "locals", Want: have, Limit: wasmfront.MaxLocals}, "too many locals")
		}
		for ; count > 0 && b.Err == nil; count-- {
			b.types = append(b.types, t)
		}
	}
	return b.types
}

// operator writes an operator in a line of its own, but not the last end.
func (p *printer) operator() {
	b := &p.body
	b.Operator(&b.op, p.m.Features)
	if b.Err != nil {
		return
	}
	depth := len(b.blocks)
	if kind, opens := b.op.Op.Opens(); opens {
		p.newline(1 + depth)
		p.blockStart(kind, depth)
		return
	}
	switch b.op.Op {
	case wasmfront.OpElse, wasmfront.OpCatch, wasmfront.OpCatchAll:
		b.nextPart()
		depth--
	case wasmfront.OpDelegate: // its label is one of those around the block
		if b.blocks[depth-1].kind != wasmfront.BlockTry {
			b.unexpected()
			return
		}
		b.close()
		depth--
	case wasmfront.OpEnd:
		if b.close(); depth == 1 {
			return
		}
		depth--
	}
	if b.op.Op.Info().Imm == wasmfront.ImmField {
		p.spaces[wasmfront.SpaceField] = p.fields[b.op.Index]
	}
	p.newline(1 + depth)
	p.buf = b.op.AppendText(p.buf, p.index)
}

// parts says of which kind the part of a block may be that an operator ends, and of which kind the next one is.
var parts = [...]struct {
	op         wasmfront.Opcode
	ends, next wasmfront.BlockKind
}{
	{wasmfront.OpElse, wasmfront.BlockIf, wasmfront.BlockElse},
	{wasmfront.OpCatch, wasmfront.BlockTry, wasmfront.BlockCatch},
	{wasmfront.OpCatch, wasmfront.BlockCatch, wasmfront.BlockCatch},
	{wasmfront.OpCatchAll, wasmfront.BlockTry, wasmfront.BlockCatchAll},
	{wasmfront.OpCatchAll, wasmfront.BlockCatch, wasmfront.BlockCatchAll},
}

// nextPart begins the next part of the innermost block.
func (b *body) nextPart() {
	top := &b.blocks[len(b.blocks)-1]
	for i := range parts {
		if part := &parts[i]; part.op == b.op.Op && part.ends == top.kind {
			top.kind = part.next
			return
		}
	}
	b.unexpected()
}

// unexpected refuses an operator that no text can have here.
func (b *body) unexpected() { b.Fail(b.op.Offset, "unexpected %s", b.op.Op) }

// blockStart writes an operator that opens a block of a kind, of which depth enclose it, that of the function included.
func (p *printer) blockStart(kind wasmfront.BlockKind, depth int) {
	b := &p.body
	label := symbolAt(b.names, b.opened)
	b.opened++
	p.text(kind.String())
	if label.name != "" {
		p.buf = appendLabelName(append(p.buf, ' '), label)
	}
	if t := b.op.Index; t != wasmfront.NoIndex {
		p.typeUse(t, nil)
	} else {
		p.buf = wasmfront.AppendTypes(p.buf, "result", b.op.Results, p.index)
	}
	if kind == wasmfront.BlockTryTable { // whose labels are those around the block
		p.buf = wasmfront.AppendCatches(p.buf, b.op.Catches, p.index)
	}
	b.open(kind, label)
	p.text("  ;; label = @")
	p.number(uint32(depth))
}

func (b *body) open(kind wasmfront.BlockKind, label symbol) {
	outer := -1
	if label.name != "" {
		if k, ok := b.inner[label.name]; ok {
			outer = k
		}
		if b.inner == nil {
			b.inner = map[string]int{}
		}
		b.inner[label.name] = len(b.blocks)
	}
	b.blocks = append(b.blocks, block{kind, label, outer})
}

func (b *body) close() {
	last := len(b.blocks) - 1
	switch in := &b.blocks[last]; {
	case in.label.name == "":
	case in.outer < 0:
		delete(b.inner, in.label.name)
	default:
		b.inner[in.label.name] = in.outer
	}
	b.blocks = b.blocks[:last]
}

// appendLabel appends the label of an open block: its name, unless a block further
// in has the same, or its number, and how many blocks enclose that block.
func (b *body) appendLabel(text []byte, label uint32) []byte {
	if int64(label) >= int64(len(b.blocks)) {
		return wasmfront.AppendNumber(text, wasmfront.SpaceLabel, label)
	}
	at := len(b.blocks) - 1 - int(label)
	if s := b.blocks[at].label; s.name != "" && b.inner[s.name] == at {
		return appendLabelName(text, s)
	}
	text = append(wasmfront.AppendNumber(text, wasmfront.SpaceLabel, label), " (;@"...)
	return append(wasmfront.AppendNumber(text, wasmfront.SpaceLabel, uint32(at)), ";)"...)
}

// appendLabelName appends a name in the place of a label, where no annotation can be: in
// quotes if it is no plain identifier.
func appendLabelName(text []byte, s symbol) []byte {
	text = append(text, '$')
	if s.id {
		return append(text, s.name...)
	}
	return appendQuoted(text, s.name)
}
