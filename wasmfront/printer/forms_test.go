package printer

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/wat"
)

var update = flag.Bool("update", false, "rewrite testdata/forms.golden")

// TestForms: the text of each form, and of each kind of name.
func TestForms(t *testing.T) {
	const golden = "testdata/forms.golden"
	b := assembleFile(t, "testdata/forms.wat")
	text, err := String(b)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), text); d != "" {
		t.Errorf("%s (rewrite with: go test ./wasmfront/printer -update):\n%s", golden, d)
	}
	if d := difference(b, assembleFile(t, golden), exact); d != "" {
		t.Error(d)
	}
}

func assembleFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wat.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	return m.Wasm
}

// TestDifference: what the other tests compare modules with sees differences.
func TestDifference(t *testing.T) {
	const text = `(module $m (type $t (func (result i32))) (import "a" "b" (func $f (type $t)))
		(table 1 funcref) (elem (i32.const 0) func $f) (global i32 (i32.const 1)) (data "x")
		(tag $x (param i32)) (tag (param i64)) (func try_table (catch $x 1) (catch_all 0) throw 1 end try catch $x end try delegate 0)
		(rec (type (sub (func))) (type (sub (func)))) (type (sub final 2 (func))) (type $s (struct (field $a i8) (field (mut i32)))) (type (array i64))
		(global (ref array) (array.new_fixed 6 0)) (func (drop (ref.cast (ref null 5) (ref.null none))) (block (result anyref) (br_on_cast 0 anyref eqref (ref.null any))) (struct.set $s 0) (array.copy 6 6))
		(func $g (param $p i32) (local i32 f32) (local $l i64) block $b (type $t) i32.const 1 end drop) (@custom "c" (after type) "d"))`
	for _, c := range []struct {
		old, new string
		names    bool // only what exact compares
	}{
		{"result i32", "result f32", false},
		{`"b"`, `"c"`, false},
		{"table 1", "table 2", false},
		{"(i32.const 0) func $f", "(i32.const 0) func $g", false},
		{"(i32.const 0) func $f", "(i32.const 0) funcref (ref.func $f)", true},
		{"global i32", "global (mut i32)", false},
		{"(i32.const 1)", "(i32.const 2)", false},
		{`"x"`, `"y"`, false},
		{"i32 f32", "f32 i32", false},
		{"i32.const 1 end", "i32.const 2 end", false},
		{"i32.const 1 end", "i32.const 1 nop end", false},
		{"block $b (type $t)", "block $b (result i32)", true},
		{"$x (param i32)", "$x (param i64)", false}, {"tag (param i64)", "tag", false}, {"(catch $x 1)", "(catch 1 1)", false}, {"(catch $x 1)", "(catch $x 0)", false},
		{"(catch $x 1)", "(catch_ref $x 1)", false}, {"(catch_all 0)", "", false}, {"throw 1", "throw 0", false}, {"try catch $x", "try catch 1", false}, {"delegate 0", "delegate 1", false},
		{"(rec (type (sub (func))) (type (sub (func))))", "(type (sub (func))) (type (sub (func)))", false}, {"sub final", "sub", false}, {"final 2", "final 3", false},
		{"sub final 2 (func)", "func", false}, {"(rec (type (sub (func)))", "(rec (type (func))", false}, {"i8", "i16", false}, {"i8", "i32", false}, {"(mut i32)", "i32", false}, {"array i64", "array (mut i64)", false},
		{"fixed 6 0", "fixed 6 1", false}, {"ref null 5", "ref 5", false}, {"0 anyref", "0 (ref any)", false}, {"anyref eqref", "anyref (ref eq)", false}, {"set $s 0", "set $s 1", false}, {"copy 6 6", "copy 6 5", false},
		{"field $a", "field $b", true}, {"field $a", "field", true},
		{"$m ", "", true}, {"$g", "$h", true}, {"$p", "", true}, {"$l", "$k", true}, {"block $b", "block", true},
		{`"d"`, `"e"`, true}, {"after type", "after func", true}, {`"c"`, `"cc"`, true},
	} {
		a, err := wat.Assemble([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		b, err := wat.Assemble([]byte(strings.Replace(text, c.old, c.new, 1)))
		if err != nil {
			t.Fatal(c.new, err)
		}
		if difference(a.Wasm, b.Wasm, exact) == "" || (difference(a.Wasm, b.Wasm, !exact) == "") != c.names {
			t.Errorf("%s instead of %s: not seen, or too much", c.new, c.old)
		}
	}
}

// module returns a module with one function of no parameters and results, which has this body, locals included.
func module(body string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a" +
		string(rune(len(body)+2)) + "\x01" + string(rune(len(body))) + body)
}

// TestRefused: what is malformed in a body gives an error with its place, and never a panic.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ body, msg string }{
		{"\x00\x0b", ""},
		{"\x00", "offset 0x17 (function 0): unexpected end of section or function"},
		{"\x00\x05\x0b", "offset 0x17 (function 0): unexpected else"},
		{"\x00\x04\x40\x05\x05\x0b\x0b", "offset 0x1a (function 0): unexpected else"},
		{"\x00\x0b\x0b", "offset 0x18 (function 0): operators after the end of the function"},
		{"\x00\xff\x0b", "offset 0x17 (function 0): illegal opcode ff"},
		{"\x00\xfc\x80\x80\x01\x0b", "offset 0x17 (function 0): illegal opcode fc 4000"},
		{"\x00\x1c\x02\x7f\x7f\x0b", "offset 0x18 (function 0): invalid result arity: select of 2 types"},
		{"\x00\x28\x80\x01\x00\x0b", "offset 0x18 (function 0): malformed memop flags 0x80"},
		{"\x00\x06\x40\x07\x00\x19\x0b\x0b", ""},
		{"\x00\x07\x00\x0b", "offset 0x17 (function 0): unexpected catch"},
		{"\x00\x18\x00\x0b", "offset 0x17 (function 0): unexpected delegate"},
		{"\x00\x06\x40\x19\x19\x0b\x0b", "offset 0x1a (function 0): unexpected catch_all"},
		{"\x00\x06\x40\x19\x07\x00\x0b\x0b", "offset 0x1a (function 0): unexpected catch"},
		{"\x00\x06\x40\x19\x18\x00\x0b", "offset 0x1a (function 0): unexpected delegate"},
		{"\x00\x06\x40\x07\x00\x18\x00\x0b", "offset 0x1b (function 0): unexpected delegate"},
		{"\x00\x06\x40\x05\x0b\x0b", "offset 0x19 (function 0): unexpected else"},
		{"\x00\x1f\x40\x00\x19\x0b\x0b", "offset 0x1a (function 0): unexpected catch_all"},
		{"\x00\x1f\x40\x01\x04\x00\x0b\x0b", "offset 0x1a (function 0): malformed catch clause 0x04"},
		{"\x00\x1f\x40\x01\x00\x00", "offset 0x1c (function 0): unexpected end of section or function"},
		{"\x00\x1f\x40\xff\xff\xff\x0f\x0b", "offset 0x19 (function 0): try_table of 33554431 catch clauses (implementation limit: catch clauses)"},
		{"\x00\x12\x00\xd5\x00\xe0\x0b", "offset 0x1b (function 0): unsupported operator e0 (needs the feature stack-switching, which is not supported)"},
		{"\x01\xd1\x86\x03\x7f\x0b", "offset 0x17 (function 0): too many locals (implementation limit: locals)"},
	} {
		text, err := String(module(c.body))
		var e *wasmfront.Error
		switch {
		case c.msg == "" && err != nil || c.msg != "" && !errors.As(err, &e):
			t.Errorf("%q: %v", c.body, err)
		case c.msg != "" && (e.Error() != c.msg || !strings.HasPrefix(text, "(module\n  (type")):
			t.Errorf("%q: %v, want %s\n%s", c.body, err, c.msg, text)
		}
	}
	for _, b := range []string{"", "\x00asm", "\x00asm\x01\x00\x00\x00\x01"} {
		if text, err := String([]byte(b)); err == nil || text != "" {
			t.Errorf("%q: %v %q", b, err, text)
		}
	}
}

// failing is a writer that takes left bytes, then fails.
type failing struct{ left int }

func (f *failing) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("full")
	}
	return len(b), nil
}

// TestWriter: what the writer says comes back, also from the first of many pieces.
func TestWriter(t *testing.T) {
	m, err := wat.Assemble([]byte(`(data "` + strings.Repeat("x", 10*flushAt) + `")`))
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{0, flushAt, 5 * flushAt} {
		if err := Module(&failing{left}, m.Wasm); err == nil || err.Error() != "full" {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
	if err := Module(&failing{20 * flushAt}, m.Wasm); err != nil {
		t.Error(err)
	}
}

// TestNames: names that cannot be identifiers, or that are malformed, are not lost.
func TestNames(t *testing.T) {
	const empty = "\x00asm\x01\x00\x00\x00"
	for _, c := range []struct{ names, want string }{
		{"\x00\x02\x01m", "(module $m)\n"},
		{"\x00\x03\x02a ", "(module (@name \"a \"))\n"},
		{"\x00\x01\x00", "(module (@name \"\"))\n"},
		{"", "(module\n  (@custom \"name\" (before first) \"\"))\n"},
		{"\x00\x02\x02m", "(module\n  (@custom \"name\" (before first) \"\\00\\02\\02m\"))\n"},
		{"\x00\x02\x01m\x00\x02\x01m", "(module\n  (@custom \"name\" (before first) \"\\00\\02\\01m\\00\\02\\01m\"))\n"},
		{"\x00\x03\x01m\x00", "(module\n  (@custom \"name\" (before first) \"\\00\\03\\01m\\00\"))\n"},
		{"\x0b\x01\x00", "(module\n  (@custom \"name\" (before first) \"\\0b\\01\\00\"))\n"},
		{"\x0a\x06\x01\x00\x01\x00\x01f", "(module\n  (@custom \"name\" (before first) \"\\0a\\06\\01\\00\\01\\00\\01f\"))\n"}, // there is no structure
		{"\x01\x04\x01\x00\x01f", "(module\n  (@custom \"name\" (before first) \"\\01\\04\\01\\00\\01f\"))\n"},                 // there is no function
	} {
		b := []byte(empty + "\x00" + string(rune(len(c.names)+5)) + "\x04name" + c.names)
		text, err := String(b)
		if err != nil || text != c.want {
			t.Errorf("%q: %v, %s", c.names, err, text)
			continue
		}
		m, err := wat.Assemble([]byte(text))
		if err != nil || difference(b, m.Wasm, exact) != "" {
			t.Errorf("%q: %v", c.names, err)
		}
	}
}

// TestSeveralNameSections: the text has the names in the first one, and the same text is printed for the module that is made of it.
func TestSeveralNameSections(t *testing.T) {
	const header, function = "\x00asm\x01\x00\x00\x00", "\x01\x08\x02\x60\x00\x00\x5f\x01\x7f\x00\x03\x02\x01\x00\x0a\x04\x01\x02\x00\x0b"
	sections := []string{
		"\x00\x02\x01m", "\x00\x02\x01n", "\x01\x04\x01\x00\x01f", "\x01\x04\x01\x00\x01g", "", "\x00\x02\x02m", // malformed
		"\x02\x06\x01\x00\x01\x09\x01x", "\x03\x06\x01\x00\x01\x09\x01x", // of a local and of a label that do not exist
		"\x04\x04\x01\x00\x01t", "\x01\x01\x00", "\x0a\x06\x01\x01\x01\x00\x01d",
	}
	custom := func(name, s string) string {
		return "\x00" + string(rune(len(s)+1+len(name))) + string(rune(len(name))) + name + s
	}
	for _, x := range sections {
		for _, y := range sections {
			first, second := custom("name", x), custom("name", y)
			for _, b := range []string{
				header + function + first + second, header + first + function + second, header + first + second + function,
				header + function + custom("other", "") + first + second + first, header + function + first,
			} {
				text, err := String([]byte(b))
				if err != nil {
					t.Fatalf("%q: %v", b, err)
				}
				m, err := wat.Assemble([]byte(text))
				if err != nil {
					t.Errorf("%q: %v\n%s", b, err, text)
					continue
				}
				if again, err := String(m.Wasm); err != nil || again != text {
					t.Errorf("%q: %v: first\n%sthen\n%s", b, err, text, again)
				}
				if named := strings.Contains(text, "$f") || strings.Contains(text, "$g") || strings.Contains(text, "$t") || strings.Contains(text, "$d"); !named && (x == sections[2] || x == sections[8] || x == sections[10]) {
					t.Errorf("%q: no names in\n%s", b, text)
				}
			}
		}
	}
}

// TestIdentifiers: names are identifiers that the reader takes as they are.
func TestIdentifiers(t *testing.T) {
	if isIdentifier("") || !isIdentifier("ab") || isIdentifier("a b") || isIdentifier("é") {
		t.Error("isIdentifier")
	}
	for c := range 256 {
		name := string([]byte{byte(c)})
		cursor := wat.NewCursor([]byte("$" + name))
		token := cursor.Token()
		if is := token.Kind == wat.ID && len(token.Text) == 2 && cursor.Err == nil; is != isIdentifier(name) {
			t.Errorf("%q: %v", name, !is)
		}
	}
}
