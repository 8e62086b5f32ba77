package printer

import (
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// table writes a table but for the last parenthesis, as memory and global do.
func (p *printer) table(i uint32) {
	t := p.m.TableType(i)
	p.open("table", wasmfront.SpaceTable, i)
	p.limits(t.Limits)
	p.text(" ")
	p.valType(t.Elem)
	if x := &p.m.Tables[i]; x.HasInit {
		p.constants(&x.Init)
	}
}

func (p *printer) memory(i uint32) {
	p.open("memory", wasmfront.SpaceMemory, i)
	p.limits(p.m.MemoryType(i).Limits)
}

func (p *printer) tag(i uint32) {
	p.open("tag", wasmfront.SpaceTag, i)
	p.typeUse(p.m.Tags[i].Type, nil)
}

func (p *printer) limits(l wasmfront.Limits) { p.text(" " + l.String()) }

func (p *printer) global(i uint32) {
	t := p.m.GlobalType(i)
	p.open("global", wasmfront.SpaceGlobal, i)
	if t.Mutable {
		p.text(" (mut ")
		p.valType(t.Type)
		p.text(")")
	} else {
		p.text(" ")
		p.valType(t.Type)
	}
}

// constants writes a constant expression, each operator in parentheses.
func (p *printer) constants(e *wasmfront.ConstExpr) {
	for i := range e.Ops {
		c := &e.Ops[i]
		op := wasmfront.Operator{Op: c.Op, Type: c.Type, Index: c.Index, I64: c.Bits, High: c.High}
		if c.Op == wasmfront.OpArrayNewFixed {
			op.Index2 = uint32(c.Bits)
		}
		p.text(" (")
		p.buf = op.AppendText(p.buf, p.index)
		p.text(")")
	}
}

// constantsOf writes a constant expression that stands for the only operand of a
// keyword, which the text leaves out before a single operator.
func (p *printer) constantsOf(keyword string, e *wasmfront.ConstExpr) {
	if len(e.Ops) == 1 {
		p.constants(e)
		return
	}
	p.text(" (" + keyword)
	p.constants(e)
	p.text(")")
}

var exportSpaces = [...]wasmfront.IndexSpace{
	abi.ExternFunc: wasmfront.SpaceFunc, abi.ExternTable: wasmfront.SpaceTable,
	abi.ExternMemory: wasmfront.SpaceMemory, abi.ExternGlobal: wasmfront.SpaceGlobal, abi.ExternTag: wasmfront.SpaceTag,
}

// exports writes the exports, and the start function.
func (p *printer) exports() {
	for i := range p.m.Exports {
		e := &p.m.Exports[i]
		p.newline(1)
		p.text("(export ")
		p.quoteName(e.Name)
		p.text(" (" + e.Kind.String() + " ")
		p.ref(exportSpaces[e.Kind], e.Index)
		p.text("))")
	}
	if p.m.HasStart {
		p.newline(1)
		p.text("(start ")
		p.ref(wasmfront.SpaceFunc, p.m.Start)
		p.text(")")
	}
}

// elem writes an element segment.
func (p *printer) elem(i uint32) {
	s := &p.m.Elems[i]
	p.newline(1)
	p.open("elem", wasmfront.SpaceElem, i)
	switch s.Mode {
	case wasmfront.SegmentActive:
		p.target("table", wasmfront.SpaceTable, s.Table, &s.OffExpr)
	case wasmfront.SegmentDeclarative:
		p.text(" declare")
	}
	if s.Exprs == nil {
		p.text(" func")
	} else {
		p.text(" ")
		p.valType(s.Type)
	}
	for k, f := range s.Funcs {
		p.listed(k)
		p.text(" ")
		p.ref(wasmfront.SpaceFunc, f)
	}
	for k := range s.Exprs {
		p.listed(k)
		p.constantsOf("item", &s.Exprs[k])
	}
	p.text(")")
}

// target writes where an active segment goes: what it fills unless that is the first,
// and the offset.
func (p *printer) target(keyword string, space wasmfront.IndexSpace, i uint32, offset *wasmfront.ConstExpr) {
	if i != 0 {
		p.text(" (" + keyword + " ")
		p.ref(space, i)
		p.text(")")
	}
	p.constantsOf("offset", offset)
}

// listed starts a new line after every 16 elements of a list; k were written.
func (p *printer) listed(k int) {
	if k > 0 && k%16 == 0 {
		p.newline(2)
	}
}

// data writes a data segment.
func (p *printer) data(i uint32) {
	s := &p.m.Data[i]
	p.newline(1)
	p.open("data", wasmfront.SpaceData, i)
	if s.Mode == wasmfront.SegmentActive {
		p.target("memory", wasmfront.SpaceMemory, s.Memory, &s.OffExpr)
	}
	p.quoteBytes(s.Bytes)
	p.text(")")
}

// customPlaces are the words for the places of custom sections, by the ids of the
// sections before them.
var customPlaces = [...]string{
	1: "type", 2: "import", 3: "func", 4: "table", 5: "memory", 6: "global", 7: "export",
	8: "start", 9: "elem", 10: "code", 11: "data", 12: "datacount", 13: "tag",
}

// customs writes the custom sections, without the first name section if the names in
// the text stand for it.
func (p *printer) customs(withoutNames bool) {
	place, k := "before first", 0
	for _, s := range p.m.Sections {
		if s.ID != 0 {
			if p.isEmpty(s) {
				continue // the text has no such sections
			}
			place = "after " + customPlaces[s.ID]
			continue
		}
		c := &p.m.Customs[k]
		k++
		if c.Name == "name" && withoutNames {
			withoutNames = false
			continue
		}
		p.newline(1)
		p.text("(@custom ")
		p.quoteName(c.Name)
		p.text(" (" + place + ")")
		p.quoteBytes(c.Bytes)
		p.text(")")
	}
}

// isEmpty reports whether a section is a list of nothing.
func (p *printer) isEmpty(s wasmfront.Section) bool {
	const start, dataCount = 8, 12
	return s.ID != start && s.ID != dataCount && s.Size > 0 && p.m.Bytes[s.Offset] == 0
}

const hexDigits = "0123456789abcdef"

// quoteBytes writes bytes after a space, or in lines of their own if they are many.
func (p *printer) quoteBytes(b []byte) {
	const inLine = 64
	if len(b) <= inLine {
		p.text(" ")
		p.quoteLine(b)
		return
	}
	for len(b) > 0 {
		n := min(len(b), inLine)
		p.newline(2)
		p.quoteLine(b[:n])
		b = b[n:]
	}
}

func (p *printer) quoteLine(b []byte) {
	p.text(`"`)
	for _, c := range b {
		switch {
		case c == '"' || c == '\\':
			p.buf = append(p.buf, '\\', c)
		case c >= ' ' && c <= '~':
			p.buf = append(p.buf, c)
		default:
			p.buf = append(p.buf, '\\', hexDigits[c>>4], hexDigits[c&0xF])
		}
	}
	p.text(`"`)
}

func (p *printer) quoteName(name string) { p.buf = appendQuoted(p.buf, name) }

// appendQuoted appends a name, which is UTF-8, in quotes.
func appendQuoted(b []byte, name string) []byte {
	b = append(b, '"')
	for _, c := range name {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case unicode.IsPrint(c):
			b = utf8.AppendRune(b, c)
		default:
			b = append(strconv.AppendUint(append(b, `\u{`...), uint64(c), 16), '}')
		}
	}
	return append(b, '"')
}
