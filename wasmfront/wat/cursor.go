package wat

import (
	"bytes"
	"fmt"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/internal/stop"
)

// MaxLength is the limit on the length of a text, in bytes.
const MaxLength = math.MaxInt32

// Cursor walks over the tokens of a text. Annotations are skipped, except
// (@name and (@custom, which are tokens.
//
// The first failure is kept in Err and ends the text: from then on every token
// is EOF and every string is empty, so that callers need to look at Err only
// at the end, and need only end their loops at EOF.
type Cursor struct {
	Err *Error

	scan  scanner
	lines lines
	tok   Token // the next token
	ahead Token // the one after it, if looks is set
	looks bool
	end   int // where the last token taken ends
}

// NewCursor returns a cursor at the start of a text.
func NewCursor(text []byte) *Cursor {
	return newCursor(text, nil)
}

// newCursor is NewCursor whose cursor polls a flag.
func newCursor(text []byte, f *stop.Flag) *Cursor {
	c := &Cursor{scan: scanner{text: text, stop: f}, lines: lines{text: text, stop: f}}
	if len(text) > MaxLength {
		c.Fail(0, "text too long")
	}
	c.tok = c.read()
	return c
}

// read scans the next token that is not an annotation to be skipped.
func (c *Cursor) read() Token {
	for {
		c.scan.stop.Poll()
		t := c.scan.next()
		if c.scan.failure != "" {
			c.Fail(c.scan.failedAt, c.scan.failure)
		}
		if t.Kind != Annotation {
			return t
		}
		if name := t.Name(); name == "name" || name == "custom" {
			return t
		}
		c.scan.skipAnnotation(t.Offset)
	}
}

// Place returns the place of an offset in the text.
func (c *Cursor) Place(offset int) Place { return c.lines.place(offset) }

// Fail records an error at an offset, unless there is one already, and ends the text.
func (c *Cursor) Fail(offset int, msg string) {
	c.FailError(&Error{Offset: offset, Msg: msg})
}

// FailError records an error, whose Place is that of its Offset, unless there
// is one already, and ends the text.
func (c *Cursor) FailError(e *Error) {
	if c.Err != nil {
		return
	}
	e.Place = c.Place(e.Offset)
	c.Err = e
	c.scan.pos = len(c.scan.text)
	c.tok = Token{Kind: EOF, Offset: c.scan.pos}
	c.looks = false
}

// Unexpected fails for the next token, which is not what is expected.
func (c *Cursor) Unexpected(expected string) { c.unexpected(c.tok, expected) }

func (c *Cursor) unexpected(t Token, expected string) {
	e := &Error{Offset: t.Offset, Msg: "unexpected token", Found: found(t), Expected: expected}
	switch {
	case t.Kind == Annotation:
		e.Msg, e.Found, e.Expected = "misplaced @"+quote.Name(t.Name())+" annotation", "", ""
	case t.Kind == Reserved, t.Kind == Keyword && !isWord(t.Text):
		e.Msg = "unknown operator"
	}
	c.FailError(e)
}

// found describes a token in a message: as it is written, if that is short and printable.
func found(t Token) string {
	const most = 40 // bytes of a token
	if t.Kind == EOF {
		return "end of text"
	}
	text, more := t.Text, ""
	if len(text) > most {
		text, more = text[:most], "..."
		for !utf8.Valid(text) {
			text = text[:len(text)-1]
		}
	}
	hidden := bytes.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
	if hidden || t.Kind == Open || t.Kind == Close {
		return fmt.Sprintf("%q", text) + more
	}
	return string(text) + more
}

// Token returns the next token without taking it.
func (c *Cursor) Token() Token { return c.tok }

// Next takes the next token.
func (c *Cursor) Next() Token {
	t := c.tok
	c.end = t.Offset + len(t.Text)
	if c.looks {
		c.tok, c.looks = c.ahead, false
	} else {
		c.tok = c.read()
	}
	return t
}

// Ahead returns the token after the next one, without taking it.
func (c *Cursor) Ahead() Token {
	if !c.looks && c.tok.Kind != EOF {
		c.ahead = c.read()
		c.looks = c.Err == nil
	}
	if !c.looks {
		return c.tok // the end
	}
	return c.ahead
}

// At reports whether a list comes next that begins with the keyword.
func (c *Cursor) At(keyword string) bool {
	if c.tok.Kind != Open {
		return false
	}
	t := c.Ahead()
	return t.Is(keyword)
}

// Open takes the parenthesis and the keyword of a list that comes next, if it
// begins with that keyword.
func (c *Cursor) Open(keyword string) bool {
	if !c.At(keyword) {
		return false
	}
	c.Next()
	c.Next()
	return true
}

// Accept takes the next token if it is that keyword.
func (c *Cursor) Accept(keyword string) bool {
	if !c.tok.Is(keyword) {
		return false
	}
	c.Next()
	return true
}

// Close takes the parenthesis that ends a list, or fails.
func (c *Cursor) Close() { c.take(Close, ")") }

// take takes a token of that kind, or fails.
func (c *Cursor) take(k Kind, expected string) Token {
	if c.tok.Kind != k {
		c.Unexpected(expected)
	}
	return c.Next()
}

// finish fails unless the text ends here.
func (c *Cursor) finish() {
	if c.tok.Kind != EOF {
		c.Unexpected("the end of the text")
	}
}

// More reports whether the list goes on: neither its end nor that of the text comes next.
func (c *Cursor) More() bool { return c.tok.Kind != Close && c.tok.Kind != EOF }

// Skip takes the next token, or all of the list that begins here, however deep.
func (c *Cursor) Skip() {
	open := c.tok
	for depth := 0; ; {
		switch t := c.Next(); t.Kind {
		case Open, Annotation:
			depth++
		case Close:
			depth--
		case EOF:
			c.unexpected(t, "the end of the list that begins at "+c.Place(open.Offset).String())
			return
		}
		if depth <= 0 {
			return
		}
	}
}

// ID takes an identifier if one comes next, and returns its name without the dollar.
func (c *Cursor) ID() (name string, ok bool) {
	if c.tok.Kind != ID {
		return "", false
	}
	t := c.Next()
	return t.name(c.scan.stop), true
}

// Name takes a string that must be UTF-8; expected says what it is.
func (c *Cursor) Name(expected string) string {
	t := c.take(String, expected)
	if t.Kind != String {
		return ""
	}
	b := appendUnquoted(c.scan.stop, nil, t.Text)
	if validUTF8(c.scan.stop, b) < len(b) {
		c.Fail(t.Offset, "malformed UTF-8 encoding")
	}
	return string(b)
}

// AppendStrings takes all strings that come next and appends their bytes.
func (c *Cursor) AppendStrings(b []byte) []byte {
	for c.tok.Kind == String {
		t := c.Next()
		b = appendUnquoted(c.scan.stop, b, t.Text)
	}
	return b
}

// U32 takes a Nat of 32 bits.
func (c *Cursor) U32(expected string) uint32 { return uint32(c.nat(32, expected)) }

// nat takes a Nat of at most that many bits.
func (c *Cursor) nat(bits int, expected string) uint64 {
	t := c.take(Nat, expected)
	if t.Kind != Nat {
		return 0
	}
	x, ok := natural(t.Text)
	if !ok || x>>(bits-1)>>1 != 0 {
		c.FailError(&Error{Offset: t.Offset, Msg: fmt.Sprintf("i%d constant out of range", bits), Found: found(t)})
	}
	return x
}

// Integer takes an integer that fits in that many bits, signed or unsigned,
// and returns these bits.
func (c *Cursor) Integer(bits int) uint64 {
	if c.tok.Kind != Nat && c.tok.Kind != Int {
		c.Unexpected(fmt.Sprintf("an integer of %d bits", bits))
		return 0
	}
	t := c.Next()
	x, ok := integer(t.Text, bits)
	return c.inRange(t, x, ok)
}

// Float takes a number and returns the bits of the nearest float of 32 or 64 bits.
func (c *Cursor) Float(bits int) uint64 {
	if !c.tok.IsNumber() {
		c.Unexpected(fmt.Sprintf("a float of %d bits", bits))
		return 0
	}
	t := c.Next()
	x, ok := float(t.Text, bits)
	return c.inRange(t, x, ok)
}

func (c *Cursor) inRange(t Token, x uint64, ok bool) uint64 {
	if !ok {
		c.FailError(&Error{Offset: t.Offset, Msg: "constant out of range", Found: found(t)})
	}
	return x
}
