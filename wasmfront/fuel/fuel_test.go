package fuel

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront"
)

func costsOf(t *testing.T, text string) *Costs {
	t.Helper()
	c, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDefault: an operator costs one unit, but for those that a table lists.
func TestDefault(t *testing.T) {
	want := map[string]uint32{"block": 0, "loop": 0, "else": 0, "end": 0, "nop": 0, "drop": 0,
		"try_table": 0, "try": 0, "catch": 0, "catch_all": 0, "delegate": 0, "throw": 100, "throw_ref": 100, "rethrow": 100,
		"call": 5, "call_indirect": 5, "call_ref": 5, "return_call": 5, "return_call_indirect": 5, "return_call_ref": 5,
		"memory.copy": 5, "memory.fill": 5, "memory.init": 5, "table.copy": 5, "table.fill": 5, "table.init": 5,
		"memory.grow": 1000, "table.grow": 1000}
	c := Default()
	for _, op := range wasmfront.Opcodes() {
		cost, listed := want[op.String()]
		if !listed {
			cost = 1
		}
		delete(want, op.String())
		if got := c.Of(op); got != cost {
			t.Errorf("%v costs %d, want %d", op, got, cost)
		}
	}
	if len(want) != 0 {
		t.Errorf("not in the table of operators: %v", want)
	}
	if c.String() != "" {
		t.Errorf("other costs than the default ones: %q", c)
	}
}

// TestParse: what a text says counts, and the text of the costs reads back to the same ones.
func TestParse(t *testing.T) {
	c := costsOf(t, "\n  i64.div_s 20 ;; slow\nselect t   7\r\n;; only a comment\ni32.add 1\ni32x4.add 0\ncall 1000")
	for op, want := range map[wasmfront.Opcode]uint32{wasmfront.OpI64DivS: 20, wasmfront.OpSelectT: 7, wasmfront.OpI32Add: 1, wasmfront.OpCall: 1000, wasmfront.OpNop: 0} {
		if got := c.Of(op); got != want {
			t.Errorf("%v costs %d, want %d", op, got, want)
		}
	}
	const text = "call 1000\nselect t 7\ni64.div_s 20\ni32x4.add 0\n"
	if c.String() != text {
		t.Errorf("%q, want %q", c, text)
	}
	again := costsOf(t, text)
	for _, op := range wasmfront.Opcodes() {
		if again.Of(op) != c.Of(op) {
			t.Errorf("%v costs %d, then %d", op, c.Of(op), again.Of(op))
		}
	}
}

// TestErrors: each error names its line.
func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"i32.add":                      `line 1: "i32.add" is no name and cost`,
		"\n\ni32.addd 3":               `line 3: "i32.addd" is no operator`,
		"i32.add -1":                   `line 1: "-1" is no cost`,
		"i32.add 1001":                 `line 1: "1001" is no cost`,
		"i32.add 99999999999999999999": `line 1: "99999999999999999999" is no cost`,
		"i32.add 1\ni32.add 2":         "line 2: i32.add has a cost already",
		"i32.add 1\ni32.add 1":         "line 2: i32.add has a cost already",
		"end 1":                        "line 1: end only marks a place",
		"try_table 1":                  "line 1: try_table only marks a place",
		"throw 0":                      "line 1: throw must cost something",
		"throw_ref 0":                  "line 1: throw_ref must cost something",
		"rethrow 0":                    "line 1: rethrow must cost something",
		"br 0":                         "line 1: br must cost something",
		"call_indirect 0":              "line 1: call_indirect must cost something",
		"br_on_null 0":                 "line 1: br_on_null must cost something",
		"br_on_non_null 0":             "line 1: br_on_non_null must cost something",
	} {
		if _, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
