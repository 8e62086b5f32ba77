package text_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
)

const everything = `module "m \"x\""
sig0 = (i32, i64) -> (i32)
sig1 = () -> (f32, ref)
sig2 = () -> ()
import fn0 "env" "f" sig0
import fn1 "env" "\x00g" "g" sig1 addressed
fn2 "name" sig0 addressed
fn3 sig1
fn4 "init" sig2
import mem0 "env" "memory" 1 2
mem1 1
import global0 "env" "i" i32 mut
global1 i32 mut = -5
global2 i64 = -9223372036854775808
global3 f32 = 0x7fc00000
global4 ref mut
import table0 "env" "t" funcref 10 20
table1 ref 3
data0 "a\x00\xff\u00e9\""
data1 ""
elem0 funcref [fn2, null, computed]
elem1 ref []
export "a\nb" fn2
export "" mem1
export "g" global1
export "t" table1
start fn2

function fn2 "name" (i32, i64) -> (i32) {
block0(v0: i32, v9: i64):
    v2 = ireduce.i32 v9
    v3 = iconst.i32 -1                             ; @0021
    v4 = iconst.i64 9223372036854775807
    v5 = fconst.f64 0x7ff8000000000001
    v6 = icmp.i32 ult, v0, v2
    v7 = fcmp.f64 ge, v5, v5
    br v6, block7(v2, v3), block2
block7(v10: i32, v11: i32):
    v12, v13 = call fn3()
    v14 = func_addr.funcref fn2
    sig_check sig0, v14
    v15 = call_ref sig0, v14(v10, v4)
    trapif v15, integer_overflow
    v16 = load.i64 s16 mem1 v10+18446744073709551615
    store.i64 u32 mem0 v10+0, v16
    v17 = memory_size mem0
    memory_copy mem0, mem1, v17, v17, v17
    br_table v15, [block2, block7(v10, v10), block2]
block4:
    br_table v0, [block2, block3] rare
block2:
    return v0
block3:
    trap unreachable
}

function fn3 "" () -> (f32, ref) {
block0:
    v0 = fconst.f32 0x1
    v1 = ref_null.ref
    return v0, v1
}
`

func TestRoundTrip(t *testing.T) {
	f, err := text.Parse(everything)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everything, f.String()); diff != "" {
		t.Error(diff)
	}
	for i := range f.Funcs {
		if err := verify.Func(f.Funcs[i].Func); err != nil {
			t.Error(err)
		}
	}
	if d := f.Funcs[0]; len(d.Targets) != 6 {
		t.Errorf("%d targets: equal ones of a br_table are one", len(d.Targets))
	}
}

// TestShort: what may be left out.
func TestShort(t *testing.T) {
	f, err := text.Parse("function \"f\" (f32) -> (f32) {\nblock0(v5: f32):\nv1 = fconst.f32 -1.5 ; text\nv2 = fconst.f32 -nan:0x1\n  v3 = fconst.f32 inf\nreturn v1\n}")
	if err != nil {
		t.Fatal(err)
	}
	want := `sig0 = (f32) -> (f32)
sig1 = () -> ()
fn0 "f" sig0
fn1 "init" sig1

function fn0 "f" (f32) -> (f32) {
block0(v5: f32):
    v1 = fconst.f32 0xbfc00000
    v2 = fconst.f32 0xff800001
    v3 = fconst.f32 0x7f800000
    return v1
}
`
	if diff := cmp.Diff(want, f.String()); diff != "" {
		t.Error(diff)
	}
	if _, err := f.Body(1); err != nil {
		t.Error(err)
	}
	// Lines may end as on Windows.
	if f, err := text.Parse(strings.ReplaceAll(want, "\n", "\r\n")); err != nil || f.String() != want {
		t.Errorf("%v: %v", err, f)
	}
}

func TestErrors(t *testing.T) {
	head := "function fn0 \"f\" (i32) -> (i32) {\nblock0(v0: i32):\n"
	for _, c := range []struct{ text, err string }{
		{"sig0 = (i32) - (i32)", `1:14: want "->", not "-"`},
		{"sig1 = () -> ()", "1:1: want sig0, not sig1"},
		{"sig0 = (int) -> ()", `1:9: "int" is not a type`},
		{"fn0 sig0", "1:5: sig0 is not declared"},
		{"sig0 = () -> ()\nfn0 sig0\nimport fn1 \"a\" \"b\" sig0", "3:8: imported functions come first"},
		{"import data0 \"a\" \"b\"", `1:8: "data0" cannot be imported`},
		{"table0 i32 1", "1:8: i32 is not a reference type"},
		{"data0 \"a", `1:7: unexpected character '"'`},
		{"data0 \"\\q\"", `1:7: bad string "\q"`},
		{"global0 i32 = 4294967296", `1:15: "4294967296" is not a constant of type i32`},
		{"mem0 1 2 3", `1:10: want end of line, not "3"`},
		{"export \"x\" fn9", "1:12: fn9 is not declared"},
		{"hello", `1:1: want a declaration or function, not "hello"`},
		{"function fn1 () -> () {\n}", "1:10: want fn0, not fn1"},
		{"function fn0 () -> () {\n}\nfunction fn0 () -> () {\n}", "3:10: fn0 is imported, or has a body already"},
		{"sig0 = () -> ()\nfn0 sig0\nfunction fn0 (i32) -> () {\n}", "3:10: fn0 is declared with the type () -> ()"},
		{"function fn0 () -> () {\n", `2:1: want "}", not end of file`},
		{"function fn0 () -> () {\n return\n}", "2:2: an instruction before the first block"},
		{head + " v1 = foo.i32 v0", `3:17: want "}", not end of file`},
		{head + " v1 = foo.i32 v0\n}", `3:7: unknown instruction "foo.i32"`},
		{head + " v1 = iadd.int v0, v0\n}", `3:7: "int" is not a type`},
		{head + " v0 = iadd.i32 v0, v0\n}", "3:2: v0 is defined twice"},
		{head + " v1 = iadd.i32 v0 v0\n}", `3:19: want ",", not "v0"`},
		{head + " iadd.i32 v0, v0\n}", "3:2: iadd has 1 results, not 0"},
		{head + " v1 = icmp.i32 xx, v0, v0\n}", `3:16: "xx" is not a condition`},
		{head + " v1 = load.i32 u128 mem0 v0+0\n}", `3:16: "u128" is not a width`},
		{head + " trap foo\n}", `3:7: "foo" is not a trap code`},
		{head + " v1 = call fn9()\n}", "3:12: fn9 is not declared"},
		{head + " v1, v3 = call fn0(v0)\n}", "3:2: the results of an instruction must be numbered one after the other"},
		{head + " jump block4000000000\n}", "3:7: the number of block4000000000 is too large"},
		{head + "block0:\n}", "3:1: block0 is there twice"},
		{head + " v1 = iconst.ref 0\n}", `3:18: "0" is not a constant of type ref`},
		{"#", "1:1: unexpected character '#'"},
	} {
		_, err := text.Parse(c.text)
		if err == nil || err.Error() != c.err {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.err)
		}
	}
}

// checkRoundTrip parses what was printed, and prints it again.
func checkRoundTrip(t *testing.T, printed string) *text.File {
	t.Helper()
	f, err := text.Parse(printed)
	if err != nil {
		e := err.(*text.Error)
		t.Fatalf("%v: %s", err, strings.Split(printed, "\n")[e.Line-1])
	}
	if again := f.String(); again != printed {
		t.Fatal(cmp.Diff(printed, again))
	}
	return f
}

// verdicts are what the verifier says of the functions of a file, by function; "" if it accepts one.
func verdicts(f *text.File) (list []string) {
	for i := range f.Funcs {
		verdict := ""
		if err := verify.Func(f.Funcs[i].Func); err != nil {
			verdict = err.Error()
		}
		list = append(list, verdict)
	}
	return list
}

// FuzzParse: any text gives a file that prints and parses again, or an error. The verifier says the same of both, and
// accepts those of our own files that are executed.
func FuzzParse(f *testing.F) {
	ours := map[string]bool{everything: true} // by text: whether the verifier must accept it
	files, _ := filepath.Glob("../../testdata/clif/*.clif")
	if len(files) < 10 {
		f.Fatalf("%d files", len(files))
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		tests, module, _ := strings.Cut(string(b), "\n\n")
		ours[module] = strings.Contains(tests, "test run")
	}
	for src := range ours {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := text.Parse(src)
		if err != nil {
			if ours[src] {
				t.Fatal(err)
			}
			return
		}
		again := checkRoundTrip(t, file.String())
		first, second := verdicts(file), verdicts(again)
		if diff := cmp.Diff(first, second); diff != "" {
			t.Error("printed and parsed, it is judged otherwise:", diff)
		}
		for i, verdict := range first {
			if ours[src] && verdict != "" {
				t.Errorf("function %d: %s", i, verdict)
			}
		}
	})
}
