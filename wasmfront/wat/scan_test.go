package wat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scanAll writes the tokens of a text as kind:text, or the error.
func scanAll(text string) []string {
	kinds := [...]string{Open: "(", Close: ")", Keyword: "word", Nat: "nat", Int: "int", Float: "float", ID: "id", String: "string", Annotation: "@", Reserved: "reserved"}
	c := NewCursor([]byte(text))
	var out []string
	for c.Token().Kind != EOF {
		t := c.Next()
		switch t.Kind {
		case Open, Close:
			out = append(out, kinds[t.Kind])
		case ID:
			out = append(out, "id:"+t.Name())
		case String:
			out = append(out, fmt.Sprintf("string:%q", appendUnquoted(nil, nil, t.Text)))
		default:
			out = append(out, kinds[t.Kind]+":"+string(t.Text))
		}
	}
	if c.Err != nil {
		out = append(out, c.Err.Error())
	}
	return out
}

func TestTokens(t *testing.T) {
	for _, row := range []struct {
		text string
		want string // separated by spaces
	}{
		{"", ""},
		{"(a)(b c)", "( word:a ) ( word:b word:c )"},
		{"i32.const offset=0x4 a;;comment\nb", "word:i32.const word:offset=0x4 word:a word:b"},
		{"a(;b;)c(; d (; e ;) ;; ;)f", "word:a word:c word:f"},
		{"a;; to a carriage return\rb", "word:a word:b"},
		{"0 007 0x1F 1_000 0xa_b", "nat:0 nat:007 nat:0x1F nat:1_000 nat:0xa_b"},
		{"+1 -0x1 -1_0", "int:+1 int:-0x1 int:-1_0"},
		{"1. 1.5 -1.5e3 1e+3 1E-3 0x1. 0x1.8p-1 0x1P5 +0x.8p1", "float:1. float:1.5 float:-1.5e3 float:1e+3 float:1E-3 float:0x1. float:0x1.8p-1 float:0x1P5 reserved:+0x.8p1"},
		{"inf -inf nan +nan nan:0x7f_f nan:canonical nanx", "float:inf float:-inf float:nan float:+nan float:nan:0x7f_f word:nan:canonical word:nanx"},
		{"1x 1__0 1_ _1 0x 0xg .5 1e 1e+ 0x1p A @a", "reserved:1x reserved:1__0 reserved:1_ reserved:_1 reserved:0x reserved:0xg reserved:.5 reserved:1e reserved:1e+ reserved:0x1p reserved:A reserved:@a"},
		{`$x $"x" $"\78" $x$y $!?@#`, "id:x id:x id:x id:x$y id:!?@#"},
		{`"a""b"`, `reserved:"a""b"`},
		{`"a"x 0$l $l"a" $"l"$m , ] ;`, `reserved:"a"x reserved:0$l reserved:$l"a" reserved:$"l"$m reserved:, reserved:] reserved:;`},
		{`"" "\00\ff" "\t\n\r\"\'\\" "\u{1F600}\u{4_1}"`, `string:"" string:"\x00\xff" string:"\t\n\r\"'\\" string:"😀A"`},
		{"(@a) x (@a (@b) \")\" ( , ;) ) y (@\"q r\" ()) z (@a (@)(@ x))", "word:x word:y word:z"},
		{`(@name "x") (@"custom" "y")`, `@:(@name string:"x" ) @:(@"custom" string:"y" )`},
		{"a \x00", "word:a 1:3: illegal character"},
		{"(a\n é)", "( word:a 2:2: illegal character"},
		{"a \xff", "word:a 1:3: malformed UTF-8 encoding"},
		{";; é\n;; \xff", "2:4: malformed UTF-8 encoding"},
		{"(; \xff ;)", "1:4: malformed UTF-8 encoding"},
		{"é (; ;", "1:1: illegal character"},
		{"a (; ;", "word:a 1:3: unclosed comment"},
		{"a (@x (;)", "word:a 1:7: unclosed comment"},
		{`"a`, "1:1: unclosed string"},
		{"\"a\nb\"", "1:1: unclosed string"},
		{"\"a\tb\"", "1:3: illegal control character in string literal"},
		{`"a\q"`, "1:3: illegal escape"},
		{`"\0"`, "1:2: illegal escape"},
		{`"\u{110000}"`, "1:2: illegal escape"},
		{`"\u{d800}"`, "1:2: illegal escape"},
		{`"\u{1__0}"`, "1:2: illegal escape"},
		{`"\u{}"`, "1:2: illegal escape"},
		{`"\`, "1:2: illegal escape"},
		{"\"\xff\"", "1:2: malformed UTF-8 encoding"},
		{"$", "1:1: empty identifier"},
		{`$""`, "1:1: empty identifier"},
		{`$ "a"`, "1:1: empty identifier"},
		{"$\"a\tb\"", "1:1: empty identifier"},
		{`$"\ef"`, "1:1: malformed UTF-8 encoding"},
		{`(@"\ef")`, "1:1: malformed UTF-8 encoding"},
		{`(@)`, "1:1: empty annotation id"},
		{`(@"")`, "1:1: empty annotation id"},
		{"(@\"\n\")", "1:1: empty annotation id"},
		{`(@x (y)`, "1:1: unclosed annotation"},
		{`(@x "`, "1:5: unclosed string"},
		{"(@x \x01)", "1:5: illegal character"},
	} {
		got := strings.Join(scanAll(row.text), " ")
		if got != row.want {
			t.Errorf("%q:\n got %s\nwant %s", row.text, got, row.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	const text = `(i32.const -1) (i64.const 0x8000_0000_0000_0000) (f32.const nan:canonical) (f64.const -0x1p-1074)
(v128.const i16x8 0 1 2 3 4 5 6 -7) (v128.const f32x4 1 nan:arithmetic inf -nan:0x1)
(ref.null func) (ref.null) (ref.extern 7) (ref.func) (either (i32.const 1) (ref.null $t))`
	want := []Pattern{
		{Op: "i32.const", Lanes: []Lane{{Bits: 1<<32 - 1}}},
		{Op: "i64.const", Lanes: []Lane{{Bits: 1 << 63}}},
		{Op: "f32.const", Lanes: []Lane{{NaN: NaNCanonical}}},
		{Op: "f64.const", Lanes: []Lane{{Bits: 1<<63 | 1}}},
		{Op: "v128.const", Shape: "i16x8", Lanes: []Lane{{}, {Bits: 1}, {Bits: 2}, {Bits: 3}, {Bits: 4}, {Bits: 5}, {Bits: 6}, {Bits: 0xFFF9}}},
		{Op: "v128.const", Shape: "f32x4", Lanes: []Lane{{Bits: 0x3F800000}, {NaN: NaNArithmetic}, {Bits: 0x7F800000}, {Bits: 0xFF800001}}},
		{Op: "ref.null", Heap: "func"},
		{Op: "ref.null"},
		{Op: "ref.extern", HasRef: true, Ref: 7},
		{Op: "ref.func"},
		{Op: "either", Either: []Pattern{{Op: "i32.const", Lanes: []Lane{{Bits: 1}}}, {Op: "ref.null", Heap: "$t"}}},
	}
	c := NewCursor([]byte(text))
	for i := range want {
		got := c.Pattern()
		got.Offset = 0
		for j := range got.Either {
			got.Either[j].Offset = 0
		}
		if d := cmp.Diff(want[i], got); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
	if c.Err != nil || c.Token().Kind != EOF {
		t.Error(c.Err)
	}
	for text, want := range map[string]string{
		"(i32.const)":                         "1:11: unexpected token \")\", expected an integer of 32 bits",
		"(i32.const 1.5)":                     "1:12: unexpected token 1.5, expected an integer of 32 bits",
		"(i32.const 4294967296)":              "1:12: constant out of range 4294967296",
		"(i32.const nan:canonical)":           "1:12: unexpected token nan:canonical, expected an integer of 32 bits",
		"(f32.const 1e39)":                    "1:12: constant out of range 1e39",
		"(v128.const i8x15 0)":                "1:13: unknown operator i8x15, expected the shape of a vector",
		"(v128.const i64x2 0)":                "1:20: unexpected token \")\", expected an integer of 64 bits",
		"(i32.add)":                           "1:2: unexpected token i32.add, expected a constant",
		"(either (either (i32.const 1)))":     "1:10: unexpected token either, expected a constant",
		"(either (i32.const 1)":               "1:22: unexpected token end of text, expected )",
		"i32.const 1":                         "1:1: unexpected token i32.const, expected a constant",
		"(ref.extern 4294967296)":             "1:13: i32 constant out of range 4294967296",
		"(v128.const f32x4 0 0 0 nan:0x0)":    "1:25: constant out of range nan:0x0",
		"(f64.const nan:0x10_0000_0000_0000)": "1:12: constant out of range nan:0x10_0000_0000_0000",
	} {
		c := NewCursor([]byte(text))
		c.Pattern()
		if c.Err == nil || c.Err.Error() != want {
			t.Errorf("%s: %v, want %s", text, c.Err, want)
		}
	}
}

func TestForms(t *testing.T) {
	const text = `(module) (module $m (func "()" (; ) ;))) (module definition $d binary "\00a" "sm")
(module quote "(func" ")") (module definition (memory 1)) (module instance $i $d) (module instance)`
	want := []Form{
		{text: []byte("(module)")},
		{ID: "m", text: []byte(`(module $m (func "()" (; ) ;)))`)},
		{Kind: FormBinary, Definition: true, ID: "d", Bytes: []byte("\x00asm")},
		{Kind: FormQuote, Bytes: []byte("(func)")},
		{Definition: true, text: []byte("(module definition (memory 1))")},
		{Kind: FormInstance, ID: "i", Of: "d"},
		{Kind: FormInstance},
	}
	c := NewCursor([]byte(text))
	for i := range want {
		got := c.Form()
		if got.text != nil {
			got.text = got.text[got.Offset:]
		}
		got.Offset, got.head, got.place, got.lines = 0, 0, Place{}, lines{}
		if d := cmp.Diff(&want[i], got, cmp.AllowUnexported(Form{}, lines{})); d != "" {
			t.Errorf("%d: %s", i, d)
		}
	}
	if c.Err != nil || c.Token().Kind != EOF {
		t.Error(c.Err)
	}
	_, err := NewCursor([]byte("\n (module instance)")).Form().Assemble()
	if err == nil || err.Error() != "2:2: an instance is no module" {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"(func)":          "1:1: unexpected token \"(\", expected (module",
		"(module (func)":  "1:15: unexpected token end of text, expected the end of the list that begins at 1:1",
		"(module $a $b":   "1:14: unexpected token end of text, expected the end of the list that begins at 1:1",
		"(module quote a": "1:15: unknown operator a, expected )",
	} {
		c := NewCursor([]byte(text))
		c.Form()
		if c.Err == nil || c.Err.Error() != want {
			t.Errorf("%s: %v, want %s", text, c.Err, want)
		}
	}
}

// TestNumbers: values at the ends of ranges, and floats that a rounding in two steps gets wrong.
func TestNumbers(t *testing.T) {
	for _, row := range []struct {
		text string
		bits int
		want uint64
		ok   bool
	}{
		{"255", 8, 255, true}, {"256", 8, 0, false}, {"-128", 8, 128, true}, {"-129", 8, 0, false}, {"+0xff", 8, 255, true},
		{"4294967295", 32, 1<<32 - 1, true}, {"-0x8000_0000", 32, 1 << 31, true}, {"-2147483649", 32, 0, false}, {"-0", 32, 0, true},
		{"18446744073709551615", 64, 1<<64 - 1, true}, {"18446744073709551616", 64, 0, false}, {"-9223372036854775808", 64, 1 << 63, true},
		{"-9223372036854775809", 64, 0, false}, {"0xffff_ffff_ffff_ffff", 64, 1<<64 - 1, true}, {"0x1_0000_0000_0000_0000", 64, 0, false},
		{"000000000000000000000000000000000001", 8, 1, true},
	} {
		got, ok := integer([]byte(row.text), row.bits)
		if ok != row.ok || ok && got != row.want {
			t.Errorf("%s of %d bits: %#x, %v", row.text, row.bits, got, ok)
		}
	}
	for _, row := range []struct {
		text string
		bits int
		want uint64
		ok   bool
	}{
		{"0", 32, 0, true}, {"-0", 32, 1 << 31, true}, {"-0x0p0", 64, 1 << 63, true}, {"1_0.2_5e0_0", 32, 0x41240000, true},
		{"0x1.000001p0", 32, 0x3F800000, true},                    // a tie: to even
		{"0x1.00000100000000001p0", 32, 0x3F800001, true},         // above it, seen by no double
		{"1.00000005960464477539062500001", 32, 0x3F800001, true}, // the same in decimal
		{"0x1.fffffep127", 32, 0x7F7FFFFF, true}, {"0x1.ffffffp127", 32, 0, false}, {"0x1.fffffeffp127", 32, 0x7F7FFFFF, true},
		{"0x1p-149", 32, 1, true}, {"0x1p-150", 32, 0, true}, {"0x1.8p-150", 32, 1, true}, {"0xffffffffffffff", 64, 0x4370000000000000, true},
		{"1e309", 64, 0, false}, {"4.9406564584124654e-324", 64, 1, true}, {"1e-400", 64, 0, true},
		{"inf", 32, 0x7F800000, true}, {"-inf", 64, 0xFFF << 52, true}, {"nan", 32, 0x7FC00000, true}, {"-nan:0x1", 64, 0xFFF<<52 | 1, true},
		{"nan:0x7fffff", 32, 0x7FFFFFFF, true}, {"nan:0x800000", 32, 0, false}, {"nan:0x0", 64, 0, false},
	} {
		got, ok := float([]byte(row.text), row.bits)
		if ok != row.ok || ok && got != row.want {
			t.Errorf("%s of %d bits: %#x, %v", row.text, row.bits, got, ok)
		}
	}
}
