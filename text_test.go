package waot_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot"
)

// TestParseText: texts that are refused say where and why; others give modules.
func TestParseText(t *testing.T) {
	for _, c := range []struct {
		text string
		want waot.TextError
	}{
		{"(module", waot.TextError{Line: 1, Column: 8, Msg: "unexpected token end of text, expected )"}},
		{"(module\n\t(é))", waot.TextError{Line: 2, Column: 3, Msg: "illegal character"}},
		{"(module (memory i64 1))", waot.TextError{Line: 1, Column: 17, Msg: "unsupported i64 (needs the feature memory64, which is not supported)", Feature: "memory64"}},
	} {
		wasm, err := waot.ParseText([]byte(c.text))
		var e *waot.TextError
		if !errors.As(err, &e) || wasm != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if d := cmp.Diff(c.want, *e); d != "" {
			t.Errorf("%s: %s", c.text, d)
		}
	}
	for _, text := range []string{"", "(module)", "(module $m binary \"\\00asm\\01\\00\\00\\00\")"} {
		wasm, err := waot.ParseText([]byte(text))
		if err != nil || len(wasm) < 8 {
			t.Errorf("%q: %q, %v", text, wasm, err)
		}
	}
	// It does not validate.
	wasm, err := waot.ParseText([]byte("(func (result i32))"))
	if err != nil {
		t.Fatal(err)
	}
	var invalid *waot.ModuleError
	if _, err := waot.CompileObject(wasm, nil); !errors.As(err, &invalid) {
		t.Error(err)
	}
}

// TestTextPlace: an error of Compile has a place in the text; what is not in the module has none.
func TestTextPlace(t *testing.T) {
	const invalid = "(module\n  (func (result i32)\n    i64.const 5))"
	wasm, err := waot.ParseText([]byte(invalid))
	if err != nil {
		t.Fatal(err)
	}
	var e *waot.ModuleError
	if _, err := waot.CompileObject(wasm, nil); !errors.As(err, &e) {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text                 string
		offset, line, column int
		ok                   bool
	}{
		{invalid, e.Offset, 3, 16, true}, // the end of the function, where the type is wrong
		{invalid, 0, 0, 0, false},
		{"(module", 20, 0, 0, false},
	} {
		line, column, ok := waot.TextPlace([]byte(c.text), c.offset)
		if line != c.line || column != c.column || ok != c.ok {
			t.Errorf("offset %d of %q: %d:%d, %v; want %d:%d, %v", c.offset, c.text, line, column, ok, c.line, c.column, c.ok)
		}
	}
}
