package translate_test

import (
	"bytes"
	"testing"

	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestTableGrowth: a table that nobody can make grow has its size as its maximum, and no other.
func TestTableGrowth(t *testing.T) {
	const grow = `(func (drop (table.grow $t (ref.null func) (i32.const 1))))`
	for _, c := range []struct {
		name, fields string
		limited      bool
	}{
		{"own", `(table $t 3 funcref)`, true},
		{"own with a maximum", `(table $t 3 9 funcref)`, true},
		{"written", `(table $t 3 funcref) (func (table.set $t (i32.const 0) (ref.null func)))`, true},
		{"bytes that look like growth", `(table $t 3 funcref) (func (drop (i32.const 2044)))`, true},
		{"exported", `(table $t (export "t") 3 funcref)`, false},
		{"imported", `(import "m" "t" (table $t 3 funcref))`, false},
		{"grows", `(table $t 3 funcref)` + grow, false},
		{"another grows", `(table 3 funcref) (table $t 1 funcref)` + grow, false},
		{"grows behind other operators", `(table $t 3 9 funcref) (func (result i32) (local i64 i64) (block (loop (br_if 0 (i32.const 2044))))
			(i32.load offset=8 (i32.const 1))) (memory 1)` + grow, false},
	} {
		parsed, err := wat.Assemble([]byte("(module " + c.fields + ")"))
		if err != nil {
			t.Fatal(c.name, err)
		}
		if got := limited(t, c.name, parsed.Wasm); got != c.limited {
			t.Errorf("%s: limited is %v", c.name, got)
		}
	}
	parsed, err := wat.Assemble([]byte("(module (table $t 3 funcref)" + grow + ")"))
	if err != nil {
		t.Fatal(err)
	}
	if limited(t, "a long opcode", longGrowth(t, parsed.Wasm)) {
		t.Error("limited though an opcode of three bytes lets the table grow")
	}
}

// limited reports whether the maximum of table 0 of a module, which has the size 3, is its size.
func limited(t *testing.T, name string, code []byte) bool {
	m, err := validate.Module(code, validate.Config{})
	if err != nil {
		t.Fatal(name, err)
	}
	d := &translate.Module(m, m.DecodeNames()).Tables[0]
	if d.Min != 3 {
		t.Errorf("%s: size %d", name, d.Min)
	}
	return d.HasMax && d.Max == d.Min
}

// longGrowth writes the opcode of table.grow in one byte more. It is in the only body: its section has its size and a number of bodies, the
// body its size, no locals and two operands.
func longGrowth(t *testing.T, code []byte) []byte {
	at := bytes.Index(code, []byte{10, 12, 1, 10, 0, 0xD0, 0x70, 0x41, 1, 0xFC, 0x0F, 0})
	if at < 0 {
		t.Fatalf("the code section is not as expected: %x", code)
	}
	long := append(bytes.Clone(code[:at]), 10, 13, 1, 11, 0, 0xD0, 0x70, 0x41, 1, 0xFC, 0x8F, 0, 0)
	return append(long, code[at+12:]...)
}
