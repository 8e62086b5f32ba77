package meta

import "testing"

// TestPrintable keeps names that show, in any script, and quotes those that would break a line or steer a terminal.
func TestPrintable(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "_start": "_start", "<a::B as C>::d {shim:0}": "<a::B as C>::d {shim:0}", "größe": "größe", "関数": "関数",
		"a\nb": `"a\nb"`, "a\r": `"a\r"`, "\x1b[31mred": `"\x1b[31mred"`, "a\xffb": `"a\xffb"`, "a\u2028b": `"a\u2028b"`, "a\u202eb": `"a\u202eb"`,
	} {
		if got := Printable(name); got != want {
			t.Errorf("%q is printed as %s, want %s", name, got, want)
		}
	}
}
