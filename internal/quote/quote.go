// Package quote writes names that others have given, so that they can be a part of a line of text: the names and paths of modules, of programs and of
// objects may have anything in them, and what is printed must neither steer a terminal, nor break the line, nor show another order than it has.
//
// Place in the pipeline: beside it. The command, the errors of the compiler and those of hosts use it; the runtime for C has the same rule in C.
//
// Input: names. Output: text.
package quote

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// hidden are the characters from U+0080 on that steer a terminal or an editor, or cannot be seen.
var hidden = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x80, Hi: 0x9f, Stride: 1}, {Lo: 0x61c, Hi: 0x61c, Stride: 1}, {Lo: 0x200b, Hi: 0x200f, Stride: 1}, {Lo: 0x2028, Hi: 0x202e, Stride: 1},
		{Lo: 0x2060, Hi: 0x206f, Stride: 1}, {Lo: 0xd800, Hi: 0xdfff, Stride: 1}, {Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
		{Lo: 0xfff9, Hi: 0xfffb, Stride: 1}, {Lo: 0xfffe, Hi: 0xffff, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// control reports whether a character is one of ASCII that is not printed.
func control(r rune) bool { return r < ' ' || r == 0x7f }

// Hides reports whether a character cannot be a part of a line as it is.
func Hides(r rune) bool { return control(r) || unicode.Is(hidden, r) }

// Name returns a name for a line of text. Control characters of ASCII and bytes that are no UTF-8 become \xNN, other characters that steer or do not
// show become \u{N...}, and all else stays as it is, backslashes too: it is for people, and not to be read back. Name(Name(s)) is Name(s).
func Name(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, Hides) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		switch {
		case r == utf8.RuneError && n == 1, control(r):
			fmt.Fprintf(&b, `\x%02x`, name[0])
		case unicode.Is(hidden, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}

// JSON escapes what Name would in the strings of a JSON text. Line feeds stay, as they are between values.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r == '\n' || !Hides(r):
			out = utf8.AppendRune(out, r)
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
	}
	return out
}
