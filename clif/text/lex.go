package text

import (
	"fmt"
	"strings"
)

// Error is an error of the text.
type Error struct {
	Line, Col int // from 1; columns in bytes
	Msg       string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// kind is a kind of token.
type kind uint8

const (
	tokEOF     kind = iota
	tokNewline      // text is the comment before it, without the semicolon
	tokIdent        // letters, digits, _ and . after a letter
	tokNumber       // a digit or a minus sign, and what belongs to it
	tokString       // with its quotes
	tokPunct        // one of , : = ( ) [ ] { } + and ->
)

var kindNames = [...]string{"end of file", "end of line", "a name", "a number", "a string", "punctuation"}

type token struct {
	kind      kind
	text      string
	line, col int
}

func (t token) describe() string {
	if t.kind == tokEOF || t.kind == tokNewline {
		return kindNames[t.kind]
	}
	return fmt.Sprintf("%q", t.text)
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// scan returns the length of the longest prefix of s whose bytes are all ok.
func scan(s string, ok func(i int) bool) int {
	n := 0
	for n < len(s) && ok(n) {
		n++
	}
	return n
}

// lex splits the text. Each line ends with a tokNewline.
func lex(src string) ([]token, error) {
	var toks []token
	for i, line := range strings.Split(src, "\n") {
		line = strings.TrimSuffix(line, "\r")
		for pos := 0; ; {
			for pos < len(line) && (line[pos] == ' ' || line[pos] == '\t') {
				pos++
			}
			t := token{line: i + 1, col: pos + 1}
			if pos == len(line) || line[pos] == ';' {
				t.kind = tokNewline
				t.text = strings.TrimPrefix(line[pos:], ";")
				toks = append(toks, t)
				break
			}
			n, k := next(line[pos:])
			if n == 0 {
				return nil, &Error{t.line, t.col, fmt.Sprintf("unexpected character %q", line[pos])}
			}
			t.kind, t.text = k, line[pos:pos+n]
			toks = append(toks, t)
			pos += n
		}
	}
	last := toks[len(toks)-1]
	return append(toks, token{kind: tokEOF, line: last.line, col: last.col}), nil
}

// next returns the token at the start of s.
func next(s string) (int, kind) {
	c := s[0]
	switch {
	case isLetter(c):
		return scan(s, func(i int) bool { return isLetter(s[i]) || isDigit(s[i]) || s[i] == '.' }), tokIdent
	case strings.HasPrefix(s, "->"):
		return 2, tokPunct
	case isDigit(c) || c == '-':
		hex := strings.HasPrefix(strings.TrimPrefix(s, "-"), "0x")
		return scan(s, func(i int) bool {
			exp := !hex && i > 0 && (s[i-1] == 'e' || s[i-1] == 'E') && (s[i] == '+' || s[i] == '-')
			return i == 0 || isLetter(s[i]) || isDigit(s[i]) || s[i] == '.' || exp
		}), tokNumber
	case strings.IndexByte(",:=()[]{}+", c) >= 0:
		return 1, tokPunct
	case c == '"':
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '"':
				return i + 1, tokString
			}
		}
	}
	return 0, 0
}
