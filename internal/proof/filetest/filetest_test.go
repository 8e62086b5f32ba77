package filetest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/internal/proof/filetest"
)

// TestOpcodes: each opcode occurs in a file whose functions run.
func TestOpcodes(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/clif/*.clif")
	if err != nil {
		t.Fatal(err)
	}
	var seen [clif.NumOpcodes]bool
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		src := string(b)
		if !strings.Contains(src, "test run\n") {
			continue
		}
		for strings.HasPrefix(src, "test ") {
			_, src, _ = strings.Cut(src, "\n")
		}
		f, err := text.Parse(src)
		if err != nil {
			t.Fatal(name, err)
		}
		for i := range f.Funcs {
			fn := &f.Funcs[i]
			if !strings.Contains(src, "%"+fn.Name+"(") && !strings.Contains(src, fmt.Sprintf("fn%d(", fn.Index)) &&
				!strings.Contains(src, "%\""+fn.Name+"\"(") && fn.Index != f.Mod.InitFunc() {
				t.Errorf("%s: %q is not run", name, fn.Name)
			}
			for k := range fn.Insts {
				seen[fn.Insts[k].Op] = true
			}
		}
	}
	for op, ok := range seen {
		if !ok && clif.Opcode(op) != clif.OpNop {
			t.Errorf("no file runs %v", clif.Opcode(op))
		}
	}
}

const sample = `test verify
test run
test size big
;; text

function fn0 "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = iadd.i32 v0, v0 ; comment
    return v1
}
; old
;; stays
; run: %f(1) == 2

function fn1 "g" () -> () {
block0:
    trap unreachable
}
; trap: %g() == unreachable`

func sizeCommand(_ *text.File, f *clif.Func, options []string) (string, error) {
	return fmt.Sprintf("%s has %d\n\ninstructions %v\n", f.Name, len(f.Insts), options), nil
}

// TestFailures: each kind of wrong statement is found.
func TestFailures(t *testing.T) {
	r := runner()
	r.Commands = map[string]filetest.Command{"size": sizeCommand}
	good := strings.Replace(strings.Replace(sample, "; old", "; f has 2\n;\n; instructions [big]", 1), "}\n; trap:", "}\n; g has 1\n;\n; instructions [big]\n; trap:", 1)
	if out := r.Run([]byte(good)); len(out.Failures) > 0 || out.Runs != 2 || out.Calls != 2 || out.Called["interp"] != 2 || out.Updated != nil {
		t.Fatal(out.Failures, out.Runs, out.Calls, out.Called)
	}
	for _, c := range []struct{ old, new, want string }{
		{"== 2", "== 3", "interp: run: %f(1) == 3: got 2"},
		{"run: %f(1) == 2", "trap: %f(1) == unreachable", "no trap, results 2"},
		{"trap: %g() == unreachable", "trap: %g() == integer_overflow", "trap unreachable"},
		{"trap: %g() == unreachable", "run: %g()", "trap: unreachable"},
		{"%f(1)", "%h(1)", `no function "h"`},
		{"%f(1)", "%f(1, 2)", "2 arguments for a function of type (i32) -> (i32)"},
		{"%f(1) == 2", "%f(1)", "0 results"},
		{"%f(1) == 2", "%f(1) == x", `"x" is not a number of type i32`},
		{"== unreachable", "== foo", `"foo" is not a trap code`},
		{"; comment", "; error: foo", `no error, want "foo"`},
		{"v0, v0 ;", "v0, v9 ;", "v9 is not defined"},
		{"return v1", "return v1, ", "want v and a number"},
		{"instructions [big]", "instructions", "size of \"f\" is different (+):\n  ; f has 2\n  ;\n- ; instructions\n+ ; instructions [big]\n"},
		{"test size big", "test opt dce", `no pass "dce"`},
		{"test verify", "test domtree", "one command only, which is domtree"},
		{"test verify", "test", "which test?"},
		{"test run\n", "", "a call in a file without test run"},
		{"v1 = iadd", " v1   = iadd", ""},
	} {
		src := strings.Replace(good, c.old, c.new, 1)
		if src == good {
			t.Fatal(c.old)
		}
		out := r.Run([]byte(src))
		if c.want == "" {
			if len(out.Failures) > 0 {
				t.Errorf("%q: %v", c.new, out.Failures)
			}
			continue
		}
		found := false
		for _, f := range out.Failures {
			found = found || strings.Contains(f.Msg, c.want)
		}
		if !found {
			t.Errorf("%q: %v, want %q", c.new, out.Failures, c.want)
		}
	}
	if out := r.Run([]byte("test unknown\n" + sample)); len(out.Skipped) != 1 {
		t.Error("an unknown command must be skipped, not fail:", out.Skipped)
	}
}

// TestUpdate: only the comments of the text change.
func TestUpdate(t *testing.T) {
	r := &filetest.Runner{Update: true, Commands: map[string]filetest.Command{"size": sizeCommand}}
	out := r.Run([]byte(sample))
	want := strings.Replace(sample, "; old", "; f has 2\n;\n; instructions [big]", 1)
	want = strings.Replace(want, "    trap unreachable\n}\n", "    trap unreachable\n}\n; g has 1\n;\n; instructions [big]\n", 1)
	if diff := cmp.Diff(want, string(out.Updated)); diff != "" {
		t.Error(diff)
	}
	if again := r.Run(out.Updated); again.Updated != nil || len(again.Failures) > 0 {
		t.Error("not stable")
	}
}

// TestOpt: passes run, are verified, and their result runs too.
func TestOpt(t *testing.T) {
	r := runner()
	r.Passes = map[string]filetest.Pass{
		"double": func(f *clif.Func) error {
			for i := range f.Insts {
				if f.Insts[i].Op == clif.OpIadd {
					f.Insts[i].Op = clif.OpImul
				}
			}
			return nil
		},
		"break": func(f *clif.Func) error { f.Insts[0].Type = clif.F32; return nil },
	}
	src := strings.Replace(sample, "test size big", "test opt double", 1)
	out := r.Run([]byte(src))
	text := fmt.Sprint(out.Failures)
	if !strings.Contains(text, "interp after opt: run: %f(1) == 2: got 1") || !strings.Contains(text, "v1 = imul.i32 v0, v0") {
		t.Error(text)
	}
	out = r.Run([]byte(strings.Replace(src, "double", "break", 1)))
	if text := fmt.Sprint(out.Failures); !strings.Contains(text, "after break: verify") {
		t.Error(text)
	}
}

func TestCat(t *testing.T) {
	r := runner()
	src := "test cat\nfunction fn0 \"f\" () -> () {\n  block0:\n\treturn ; text\n\n}"
	if out := r.Run([]byte(src)); len(out.Failures) > 0 {
		t.Error(out.Failures)
	}
	src = strings.Replace(src, "fn0 \"f\"", "\"f\"", 1)
	if out := r.Run([]byte(src)); len(out.Failures) != 1 || !strings.Contains(out.Failures[0].Msg, "+ function fn0") {
		t.Error(out.Failures)
	}
}

func TestDiff(t *testing.T) {
	a := strings.Split("1 2 3 4 5 6 7 8 9 10 11 12", " ")
	b := strings.Split("1 2 3 4 x 6 7 8 9 10 11 12 13", " ")
	want := "  2\n  3\n  4\n- 5\n+ x\n  6\n  7\n  8\n  ...\n  10\n  11\n  12\n+ 13\n"
	if diff := cmp.Diff(want, filetest.Diff(a, b)); diff != "" {
		t.Error(diff)
	}
	if filetest.Diff(a, a) != "" {
		t.Error("equal")
	}
}
