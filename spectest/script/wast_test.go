package script

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestText: the scripts in text have the commands that they have in JSON.
func TestText(t *testing.T) {
	if testenv.OptionalMaterial(t, EnvDir) == "" {
		t.Skip("set " + EnvDir)
	}
	s, err := Locate()
	if err != nil {
		t.Fatal(err)
	}
	scripts, commands := 0, 0
	for _, name := range s.Groups() {
		g, err := s.Group(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Scripts {
			want, err := g.Script(n)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Text(n)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			scripts++
			commands += len(got.Commands)
			plain(want.Commands)
			if !reflect.DeepEqual(want.Commands, got.Commands) {
				t.Errorf("%s: %s: %s", name, n, cmp.Diff(want.Commands, got.Commands))
			}
		}
	}
	if scripts < 280 || commands < 66000 {
		t.Errorf("only %d scripts with %d commands", scripts, commands)
	}
}

// plain takes away what only scripts in JSON have, and makes lists that are empty nil.
func plain(commands []Command) {
	for i := range commands {
		c := &commands[i]
		c.Features = nil
		if len(c.Expected) == 0 {
			c.Expected = nil
		}
		if c.Action != nil && len(c.Action.Args) == 0 {
			c.Action.Args = nil
		}
		plain(c.Commands)
	}
}

// TestTextForms: each command, as it is written.
func TestTextForms(t *testing.T) {
	one := Value{Type: "i32", Bits: 1}
	call := &Action{Type: Invoke, Module: "$m", Field: "f", Args: []Value{one}}
	for _, c := range []struct {
		text string
		want Command
	}{
		{`(module $m)`, Command{Type: Module, Name: "$m", Filename: "x.0.wasm", ModuleType: "binary"}},
		{`(module definition $d (func))`, Command{Type: ModuleDefinition, Name: "$d", Filename: "x.0.wasm", ModuleType: "binary"}},
		{`(module instance $i $d)`, Command{Type: ModuleInstance, Instance: "$i", Of: "$d"}},
		{`(func) (memory 1)`, Command{Type: Module, Filename: "x.0.wasm", ModuleType: "binary"}},
		{`(register "a\u{e9}" $m)`, Command{Type: Register, As: "aé", Name: "$m"}},
		{`(invoke $m "f" (i32.const 1))`, Command{Type: ActionCommand, Action: call}},
		{`(get "g")`, Command{Type: ActionCommand, Action: &Action{Type: Get, Field: "g"}}},
		{`(assert_return (invoke $m "f" (i32.const 1)) (i32.const -1) (f32.const nan:canonical) (f64.const nan:arithmetic))`,
			Command{Type: AssertReturn, Action: call, Expected: []Value{{Type: "i32", Bits: 1<<32 - 1}, {Type: "f32", Match: MatchNaNCanonical}, {Type: "f64", Match: MatchNaNArithmetic}}}},
		{`(assert_return (invoke $m "f" (i32.const 1)) (v128.const f32x4 1 nan:canonical 0 nan:arithmetic) (either (i32.const 1) (ref.null func)))`,
			Command{Type: AssertReturn, Action: call, Expected: []Value{
				{Type: "v128", Match: MatchVector, Lane: "f32", Lanes: []Value{
					{Type: "f32", Bits: 0x3f800000}, {Type: "f32", Match: MatchNaNCanonical}, {Type: "f32"}, {Type: "f32", Match: MatchNaNArithmetic}}},
				{Type: "either", Match: MatchEither, Either: []Value{one, {Type: "funcref", Match: MatchNull}}}}}},
		{`(assert_return (invoke $m "f" (i32.const 1)) (ref.null) (ref.null extern) (ref.null none) (ref.extern 7) (ref.extern) (ref.func) (ref.func 2) (ref.host 3) (ref.i31))`,
			Command{Type: AssertReturn, Action: call, Expected: []Value{
				{Type: "refnull", Match: MatchNull}, {Type: "externref", Match: MatchNull}, {Type: "nullref", Match: MatchNull},
				{Type: "externref", Match: MatchHost, Bits: 7}, {Type: "externref", Match: MatchNonNull}, {Type: "funcref", Match: MatchNonNull}, {Type: "funcref", Match: MatchNonNull},
				{Type: "anyref", Match: MatchHost, Bits: 3}, {Type: "i31ref", Match: MatchNonNull}}}},
		{`(assert_trap (invoke $m "f" (i32.const 1)) "unreachable")`, Command{Type: AssertTrap, Action: call, Text: "unreachable"}},
		{`(assert_trap (module) "unreachable")`, Command{Type: AssertUninstantiable, Filename: "x.0.wasm", ModuleType: "binary", Text: "unreachable"}},
		{`(assert_exhaustion (invoke $m "f" (i32.const 1)) "call stack exhausted")`, Command{Type: AssertExhaustion, Action: call, Text: "call stack exhausted"}},
		{`(assert_exception (invoke $m "f" (i32.const 1)))`, Command{Type: AssertException, Action: call}},
		{`(assert_suspension (invoke $m "f" (i32.const 1)) "unhandled")`, Command{Type: AssertSuspension, Action: call, Text: "unhandled"}},
		{`(assert_malformed (module quote "(") "a")`, Command{Type: AssertMalformed, Filename: "x.0.wat", ModuleType: "text", Text: "a"}},
		{`(assert_malformed (module binary "") "a")`, Command{Type: AssertMalformed, Filename: "x.0.wasm", ModuleType: "binary", Text: "a"}},
		{`(assert_unlinkable (module) "a")`, Command{Type: AssertUnlinkable, Filename: "x.0.wasm", ModuleType: "binary", Text: "a"}},
		{`(thread $t (shared (module $m)) (wait $u))`, Command{Type: Thread, Name: "$t", SharedModule: "$m", Commands: []Command{{Type: Wait, Line: 1, Thread: "$u"}}}},
	} {
		s, err := parseText("x", []byte(c.text))
		if err != nil {
			t.Error(err)
			continue
		}
		c.want.Line = 1
		if d := cmp.Diff([]Command{c.want}, s.Commands); d != "" {
			t.Errorf("%s: %s", c.text, d)
		}
	}
}

// TestTextLines: commands have the lines of their modules and actions.
func TestTextLines(t *testing.T) {
	s, err := parseText("x", []byte("\n(module)\n(assert_return\n (invoke \"f\"))\n\n(assert_invalid\n\n (module) \"a\") (register\n \"a\")"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, c := range s.Commands {
		lines = append(lines, c.Line)
	}
	if d := cmp.Diff([]int{2, 4, 8, 8}, lines); d != "" {
		t.Error(d)
	}
}

// TestTextModules: modules are translated when asked for, and are refused with their places in the script.
func TestTextModules(t *testing.T) {
	s, err := parseText("x", []byte("(module (func))\n(module binary \"\\00asm\" \"x\")\n(module (func\n  i32.plus))\n(module quote \"\\n)\")"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "", "4:3: unknown operator i32.plus", "2:1: unexpected token"} {
		b, err := s.Module(s.Commands[i].Filename)
		if want == "" && (err != nil || !strings.HasPrefix(string(b), "\x00asm")) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("module %d: %q, %v", i, b, err)
		}
	}
}

// TestBrokenText: scripts that are malformed outside of modules are refused with the place.
func TestBrokenText(t *testing.T) {
	const call = `(invoke "f")`
	for text, want := range map[string]string{
		"(module":                   "x.wast:1:8: unexpected token end of text",
		"(module))":                 `x.wast:1:9: unexpected token ")", expected a command`,
		"(module) module":           "x.wast:1:10: unexpected token module, expected a command",
		"(module)\n(assert_retrun)": "x.wast:2:2: unknown operator assert_retrun, expected a command",
		"(assert_return)":           `x.wast:1:15: unexpected token ")", expected (invoke or (get`,
		"(assert_return " + call + " (i32.const))":          `x.wast:1:39: unexpected token ")", expected an integer of 32 bits`,
		"(assert_return " + call + " (i32.const nan))":      "x.wast:1:40: unexpected token nan, expected an integer of 32 bits",
		"(assert_return " + call + " (i32.const 1) 2)":      "x.wast:1:43: unexpected token 2, expected a constant",
		"(assert_return " + call + " (v128.const i8x16 1))": `x.wast:1:48: unexpected token ")", expected an integer of 8 bits`,
		"(assert_trap " + call + ")":                        `x.wast:1:26: unexpected token ")", expected the message`,
		`(register "\ff")`:                                  "x.wast:1:11: malformed UTF-8 encoding",
		"(assert_invalid (func) \"a\")":                     `x.wast:1:17: unexpected token "(", expected (module`,
		"(thread $t (shared $m))":                           "x.wast:1:20: unexpected token $m, expected )",
		`(invoke "f" (f32.const nan:canonical))`:            "script x: line 1: an argument is no value",
		strings.Repeat("(thread $t", 200):                   "x.wast:1:1011: too many threads in threads",
		strings.Repeat("(module (func", 1<<16):              "x.wast:1:851969: unexpected token end of text",
	} {
		_, err := parseText("x", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", text, err, want)
		}
	}
}

// TestGroups: a folder of scripts in text is a group; where there is JSON, too, that is read.
func TestGroups(t *testing.T) {
	dir := filepath.Join(writeSample(t), "group")
	for name, text := range map[string]string{"sample.wast": "(module)", "text.wast": "(module) (module)"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	g, err := OpenGroup(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"sample", "text"}, g.Scripts); d != "" {
		t.Fatal(d)
	}
	for _, c := range []struct {
		name     string
		open     func(string) (*Script, error)
		commands int
	}{{"sample", g.Script, 6}, {"sample", g.Text, 1}, {"text", g.Script, 2}, {"text", func(string) (*Script, error) { return Open(filepath.Join(dir, "text.wast")) }, 2}} {
		s, err := c.open(c.name)
		if err != nil || len(s.Commands) != c.commands {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := g.Script("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if !HasScripts(dir) || HasScripts(filepath.Dir(dir)) {
		t.Error("HasScripts")
	}
}
