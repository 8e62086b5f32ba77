package wat

import (
	"bytes"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/stop"
)

// escapes are the characters that stand for others behind a backslash.
var escapes = [256]byte{'n': '\n', 't': '\t', 'r': '\r', '"': '"', '\'': '\'', '\\': '\\'}

// skipQuoted returns the length of the string at the start of b. If it is
// malformed, the result is why, and the offset of what is wrong.
func skipQuoted(f *stop.Flag, b []byte) (n int, msg string) {
	for i, k := 1, 1; i < len(b); k++ {
		f.PollAt(k)
		switch c := b[i]; {
		case c == '"':
			return i + 1, ""
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, "illegal escape"
			}
			i += n
		case c == '\n' || c == '\r':
			return 0, "unclosed string"
		case c < ' ' || c == 0x7F:
			return i, "illegal control character in string literal"
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return i, "malformed UTF-8 encoding"
			}
			i += n
		}
	}
	return 0, "unclosed string"
}

// escapeLen returns the length of the escape at the start of b, 0 if it is malformed.
func escapeLen(b []byte) int {
	switch {
	case len(b) < 2:
		return 0
	case escapes[b[1]] != 0:
		return 2
	case b[1] == 'u':
		_, n := codePoint(b)
		return n
	case len(b) >= 3 && classes[b[1]]&classes[b[2]]&classHex != 0:
		return 3
	}
	return 0
}

// codePoint reads an escape \u{hexadecimal number}. Its length is 0 if it is malformed.
func codePoint(b []byte) (r rune, n int) {
	if len(b) < 3 || b[2] != '{' {
		return 0, 0
	}
	i := 3
	for i < min(len(b), maxWord) && (classes[b[i]]&classHex != 0 || b[i] == '_') {
		i++
	}
	number := append([]byte("0x"), b[3:i]...)
	if i == len(b) || b[i] != '}' || numberKind(number) != Nat {
		return 0, 0
	}
	x, ok := natural(number)
	if !ok || x > utf8.MaxRune || !utf8.ValidRune(rune(x)) {
		return 0, 0
	}
	return rune(x), i + 1
}

// appendUnquoted appends the bytes that a string stands for, which is well formed.
func appendUnquoted(f *stop.Flag, out, b []byte) []byte {
	out = grown(f, out, len(b)) // what is written is never shorter than what it stands for
	b = b[1 : len(b)-1]
	for k := 1; len(b) > 0; k++ {
		f.PollAt(k)
		i := bytes.IndexByte(b[:min(len(b), partSize)], '\\')
		if i < 0 {
			i = min(len(b), partSize)
			f.Poll()
		}
		out = append(out, b[:i]...)
		if b = b[i:]; len(b) == 0 {
			break
		}
		if b[0] != '\\' {
			continue
		}
		switch c := b[1]; {
		case escapes[c] != 0:
			out = append(out, escapes[c])
		case c == 'u':
			r, _ := codePoint(b)
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, hexValue(c)<<4|hexValue(b[2]))
		}
		b = b[escapeLen(b):]
	}
	return out
}
