package wat

import (
	"bytes"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/stop"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	EOF        Kind = iota // the end of the text
	Open                   // (
	Close                  // )
	Keyword                // a word that begins with a letter in lower case
	Nat                    // an integer without a sign
	Int                    // an integer with a sign
	Float                  // a number that is no integer, inf and nan included
	ID                     // $name or $"name"
	String                 // "bytes"
	Annotation             // (@name or (@"name", of those that Cursor does not skip
	Reserved               // anything else that looks like a word
)

// Token is a token of a text.
type Token struct {
	Kind   Kind
	Offset int    // in the text, in bytes
	Text   []byte // as written, a slice of the text
}

// Is reports whether t is that keyword.
func (t *Token) Is(keyword string) bool { return t.Kind == Keyword && string(t.Text) == keyword }

// IsNumber reports whether t is an integer or a float.
func (t *Token) IsNumber() bool { return t.Kind == Nat || t.Kind == Int || t.Kind == Float }

// Name returns the name of an identifier, without the dollar, or of an
// annotation. Quoted names are the same as those written without quotes.
func (t *Token) Name() string { return t.name(nil) }

// name is Name that polls a flag.
func (t *Token) name(f *stop.Flag) string {
	name := t.Text[bytes.IndexAny(t.Text, "$@")+1:]
	if len(name) > 0 && name[0] == '"' {
		name = appendUnquoted(f, nil, name)
	}
	return string(name)
}

// The classes of characters.
const (
	classID      = 1 << iota // part of identifiers, keywords and numbers
	classSpace               // white space
	classBracket             // reserved, each by itself
	classDigit               // 0 to 9
	classHex                 // and a to f, A to F
)

var classes = func() (t [256]uint8) {
	for _, row := range []struct {
		chars string
		class uint8
	}{
		{"0123456789", classID | classDigit | classHex},
		{"abcdefABCDEF", classID | classHex},
		{"ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ!#$%&'*+-./:<=>?@\\^_`|~", classID},
		{" \t\n\r", classSpace},
		{",;[]{}", classBracket},
	} {
		for _, c := range []byte(row.chars) {
			t[c] = row.class
		}
	}
	return t
}()

// scanner splits a text into tokens. The first failure is kept and ends the text.
type scanner struct {
	text     []byte
	stop     *stop.Flag // polled once for each token, and within long ones
	pos      int
	failure  string // empty if there is none
	failedAt int
}

func (s *scanner) fail(offset int, msg string) Token {
	if s.failure == "" {
		s.failure, s.failedAt = msg, offset
	}
	s.pos = len(s.text)
	return Token{Kind: EOF, Offset: s.pos}
}

// at returns the byte at an offset, 0 behind the end.
func (s *scanner) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return 0
}

// next returns the next token.
func (s *scanner) next() Token {
	s.space()
	at := s.pos
	if at >= len(s.text) {
		return Token{Kind: EOF, Offset: at}
	}
	switch c := s.text[at]; {
	case classes[c]&classID != 0 || c == '"':
		return s.word()
	case c == '(' && s.at(at+1) == '@':
		return s.annotation()
	case c == '(':
		return s.single(Open)
	case c == ')':
		return s.single(Close)
	case classes[c]&classBracket != 0:
		return s.single(Reserved)
	}
	return s.illegal()
}

// single returns the token of the character here.
func (s *scanner) single(k Kind) Token {
	s.pos++
	return Token{Kind: k, Offset: s.pos - 1, Text: s.text[s.pos-1 : s.pos]}
}

// illegal fails for the character here, which starts no token.
func (s *scanner) illegal() Token {
	if r, n := utf8.DecodeRune(s.text[s.pos:]); r == utf8.RuneError && n == 1 {
		return s.fail(s.pos, "malformed UTF-8 encoding")
	}
	return s.fail(s.pos, "illegal character")
}

// space skips white space and comments.
func (s *scanner) space() {
	for i := 1; s.pos < len(s.text); i++ {
		s.stop.PollAt(i)
		switch c := s.text[s.pos]; {
		case classes[c]&classSpace != 0:
			s.pos++
		case c == ';' && s.at(s.pos+1) == ';':
			s.lineComment()
		case c == '(' && s.at(s.pos+1) == ';':
			s.blockComment()
		default:
			return
		}
	}
}

func (s *scanner) lineComment() {
	from := s.pos
	for n := -1; n < 0 && s.pos < len(s.text); {
		part := s.part(s.pos)
		if n = bytes.IndexAny(part, "\n\r"); n < 0 {
			s.pos += len(part)
		} else {
			s.pos += n
		}
	}
	s.checkUTF8(from)
}

// blockComment skips a comment and those nested in it.
func (s *scanner) blockComment() {
	from := s.pos
	s.pos += 2
	for depth := 1; depth > 0; {
		part := s.part(s.pos)
		if len(part) == 0 {
			s.fail(from, "unclosed comment")
			return
		}
		n := bytes.IndexAny(part, ";(")
		if n < 0 {
			s.pos += len(part)
			continue
		}
		s.pos += n
		switch {
		case s.text[s.pos] == '(' && s.at(s.pos+1) == ';':
			depth++
			s.pos += 2
		case s.text[s.pos] == ';' && s.at(s.pos+1) == ')':
			depth--
			s.pos += 2
		default:
			s.pos++
		}
	}
	s.checkUTF8(from)
}

// partSize is how many bytes are looked at between two polls where a byte takes little.
const partSize = 256 << 10

// part polls, and returns the text from an offset on, or as much of it as may be looked at before the next poll.
func (s *scanner) part(from int) []byte {
	s.stop.Poll()
	return s.text[from:min(len(s.text), from+partSize)]
}

// checkUTF8 checks what has been read since an offset.
func (s *scanner) checkUTF8(from int) {
	if n := validUTF8(s.stop, s.text[from:s.pos]); from+n < s.pos {
		s.fail(from+n, "malformed UTF-8 encoding")
	}
}

// validUTF8 returns how many bytes at the start of b are UTF-8.
func validUTF8(f *stop.Flag, b []byte) int {
	done := 0
	for done < len(b) {
		f.Poll()
		part := b[done:min(len(b), done+partSize)]
		if utf8.Valid(part) {
			done += len(part)
			continue
		}
		// A character may go on behind the part.
		for end := done + len(part); done < end; {
			r, n := utf8.DecodeRune(b[done:])
			if r == utf8.RuneError && n == 1 {
				return done
			}
			done += n
		}
	}
	return done
}

// maxWord is the limit on the length of keywords and numbers, in characters.
const maxWord = 1 << 20

// word returns the token that begins here. It ends before the next white
// space, parenthesis or bracket: strings need space around them.
func (s *scanner) word() Token {
	from := s.pos
	strings := 0
	for i := 1; s.pos < len(s.text); i++ {
		s.stop.PollAt(i)
		if c := s.text[s.pos]; classes[c]&classID != 0 {
			s.pos++
		} else if c != '"' {
			break
		} else if msg, at := s.quoted(); msg != "" {
			if s.pos == from+1 && s.text[from] == '$' {
				return s.fail(from, "empty identifier") // as the official tests have it
			}
			return s.fail(at, msg)
		} else {
			strings++
		}
	}
	t := Token{Kind: Reserved, Offset: from, Text: s.text[from:s.pos]}
	switch c := t.Text[0]; {
	case c == '"':
		if strings == 1 && t.Text[len(t.Text)-1] == '"' {
			t.Kind = String
		}
	case c == '$':
		return s.identifier(t, strings)
	case len(t.Text) > maxWord:
		return s.fail(from, "word too long")
	case strings > 0:
	case 'a' <= c && c <= 'z':
		t.Kind = Keyword
		if isFloat(t.Text) {
			t.Kind = Float
		}
	default:
		t.Kind = numberKind(t.Text)
	}
	return t
}

// identifier classifies a word that begins with a dollar and has that many strings in it.
func (s *scanner) identifier(t Token, strings int) Token {
	switch name := t.Text[1:]; {
	case len(name) == 0 || string(name) == `""`:
		return s.fail(t.Offset, "empty identifier")
	case strings == 0:
		t.Kind = ID
	case name[0] != '"':
	default:
		if strings != 1 || name[len(name)-1] != '"' {
			break
		}
		if !s.isName(name) {
			return s.fail(t.Offset, "malformed UTF-8 encoding")
		}
		t.Kind = ID
	}
	return t
}

// isName reports whether what a string stands for is UTF-8.
func (s *scanner) isName(quoted []byte) bool {
	name := appendUnquoted(s.stop, nil, quoted)
	return validUTF8(s.stop, name) == len(name)
}

// annotation returns the token that starts an annotation: the parenthesis and the name.
func (s *scanner) annotation() Token {
	from := s.pos
	s.pos += 2
	name := s.pos
	if s.at(s.pos) == '"' {
		if msg, _ := s.quoted(); msg == "" {
			if !s.isName(s.text[name:s.pos]) {
				return s.fail(from, "malformed UTF-8 encoding")
			}
			name += len(`""`)
		}
	} else {
		for classes[s.at(s.pos)]&classID != 0 {
			s.stop.PollAt(s.pos)
			s.pos++
		}
	}
	if s.pos == name {
		return s.fail(from, "empty annotation id")
	}
	return Token{Kind: Annotation, Offset: from, Text: s.text[from:s.pos]}
}

// skipAnnotation skips the rest of an annotation that started at an offset. Inside, parentheses and
// strings must be closed, and other tokens need not be any.
func (s *scanner) skipAnnotation(from int) {
	for depth, i := 1, 0; depth > 0; i++ {
		s.stop.PollAt(i)
		s.space()
		if s.pos >= len(s.text) {
			s.fail(from, "unclosed annotation")
			return
		}
		switch c := s.text[s.pos]; {
		case c == '(':
			depth++
			s.pos++
		case c == ')':
			depth--
			s.pos++
		case c == '"':
			if msg, at := s.quoted(); msg != "" {
				s.fail(at, msg)
				return
			}
		case classes[c]&(classID|classBracket) != 0:
			s.pos++
		default:
			s.illegal()
			return
		}
	}
}

// quoted skips the string that begins here. If it is malformed, the position
// stays, and the result is why and where.
func (s *scanner) quoted() (msg string, at int) {
	n, msg := skipQuoted(s.stop, s.text[s.pos:])
	if msg != "" {
		return msg, s.pos + n
	}
	s.pos += n
	return "", 0
}
