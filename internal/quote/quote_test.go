package quote

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestName has each rule once, and names that stay as they are, in any script.
func TestName(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "_start": "_start", "<a::B as C>::d {shim:0}": "<a::B as C>::d {shim:0}", "größe": "größe", "関数": "関数", "👨": "👨", `a\b"c'`: `a\b"c'`,
		"\u00a0": "\u00a0", "\ufffd": "\ufffd", "a\nb": `a\x0ab`, "a\r": `a\x0d`, "\x00": `\x00`, "\x7f": `\x7f`, "\x1b[31mred": `\x1b[31mred`,
		"a\xffb": `a\xffb`, "\xe2\x80": `\xe2\x80`, "\xed\xa0\x80": `\xed\xa0\x80`, "\u009b2J": `\u{9b}2J`, "\u061c": `\u{61c}`, "a\u2028b": `a\u{2028}b`,
		"a\u202eb": `a\u{202e}b`, "\ufeff": `\u{feff}`, "\uffff": `\u{ffff}`, "\U000e0041": `\u{e0041}`,
	} {
		if got := Name(name); got != want {
			t.Errorf("%q is printed as %q, want %q", name, got, want)
		}
	}
}

// TestEveryRune compares with the rule in other words, for every character and byte, and reads the JSON text of each back.
func TestEveryRune(t *testing.T) {
	within := func(r rune, bounds ...rune) bool {
		for i := 0; i < len(bounds); i += 2 {
			if r >= bounds[i] && r <= bounds[i+1] {
				return true
			}
		}
		return false
	}
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		name := string(r)
		want := name
		switch {
		case within(r, 0, 0x1f, 0x7f, 0x7f):
			want = fmt.Sprintf(`\x%02x`, r)
		case within(r, 0x80, 0x9f, 0x61c, 0x61c, 0x200b, 0x200f, 0x2028, 0x202e, 0x2060, 0x206f, 0xfeff, 0xfeff, 0xfff9, 0xfffb, 0xfffe, 0xffff, 0xe0000, 0xe0fff):
			want = fmt.Sprintf(`\u{%x}`, r)
		}
		if got := Name(name); got != want || Name(got) != got {
			t.Fatalf("%U is printed as %q, want %q", r, got, want)
		}
		if want == name && r >= ' ' {
			continue // JSON does not change it
		}
		plain, err := json.Marshal([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		text := JSON(append(plain, '\n'))
		var back []string
		if err := json.Unmarshal(text, &back); err != nil || len(back) != 1 || back[0] != name {
			t.Fatalf("%U in JSON is %q, read as %q, %v", r, text, back, err)
		}
		if s := strings.TrimSuffix(string(text), "\n"); Name(s) != s {
			t.Fatalf("%U in JSON is %q", r, s)
		}
	}
	for b := 0x80; b < 0x100; b++ {
		if got, want := Name("a"+string([]byte{byte(b)})+"b"), fmt.Sprintf(`a\x%02xb`, b); got != want {
			t.Errorf("byte %#x is printed as %q, want %q", b, got, want)
		}
	}
}
