package wat

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/internal/stop"
)

// Place is a place in a text.
type Place struct {
	Line   int // from 1; lines end with a line feed
	Column int // from 1, in characters
}

// String returns line:column.
func (p Place) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Error says why a text is refused.
type Error struct {
	File string // the name of the text; empty unless the caller sets it
	Place
	Offset   int    // in the text, in bytes
	Msg      string // begins with the wording of the official tests
	Found    string // the token at the place, or empty
	Expected string // what may be there instead, or empty
	Feature  string // the proposal that the text needs and that is not supported, or empty
}

// Error returns one line: the place, the message, what was found, what was
// expected, and the proposal.
func (e *Error) Error() string {
	s := e.Place.String() + ": " + e.Msg
	if e.File != "" {
		s = quote.Name(e.File) + ":" + s
	}
	if e.Found != "" {
		s += " " + e.Found
	}
	if e.Expected != "" {
		s += ", expected " + e.Expected
	}
	if e.Feature != "" {
		s += " (needs the feature " + e.Feature + ", which is not supported)"
	}
	return s
}

// lines finds the places of offsets in a text. It remembers the last one, so
// that asking for increasing offsets takes time linear in the text.
type lines struct {
	text        []byte
	stop        *stop.Flag
	line, start int // number of a line from 0, and its offset
}

// place returns the place of an offset from 0 to the length of the text.
func (l *lines) place(offset int) Place {
	if offset < l.start {
		l.line, l.start = 0, 0
	}
	for from := l.start; from < offset; from += partSize {
		l.stop.Poll()
		part := l.text[from:min(offset, from+partSize)]
		l.line += bytes.Count(part, []byte{'\n'})
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			l.start = from + i + 1
		}
	}
	column := 1
	for from := l.start; from < offset; {
		l.stop.Poll()
		end := min(offset, from+partSize)
		for k := 1; k < utf8.UTFMax && end < offset && !utf8.RuneStart(l.text[end]); k++ {
			end--
		}
		column += utf8.RuneCount(l.text[from:end])
		from = end
	}
	return Place{Line: l.line + 1, Column: column}
}
