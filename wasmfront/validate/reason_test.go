package validate_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestReason: the lack of a feature counts, unless the module is wrong with the feature, too.
func TestReason(t *testing.T) {
	v128 := []wasmfront.ValType{wasmfront.V128}
	i32 := []wasmfront.ValType{wasmfront.I32}
	const threads = "\x00\x41\x00\x41\x00\xfe\x00\x02\x00\x1a\x0b" // an operator that nobody decodes
	for _, c := range []struct {
		name       string
		wasm       []byte
		msg        string // of the reason; empty if it is the error as it was
		withoutAny bool   // the error has no feature
	}{
		{"valid with it", oneFunc(v128, nil, "\x00\x0b"), "", false},
		{"a result is missing", oneFunc(v128, i32, "\x00\x0b"), "type mismatch", false},
		{"not even decodable", oneFunc(v128, nil, threads), "", false},
		{"no feature", oneFunc(nil, i32, "\x00\x0b"), "", true},
	} {
		_, err := validate.All(c.wasm, validate.Config{Features: withoutSIMD})
		var e *wasmfront.Error
		if !errors.As(err, &e) || (e.Feature == "") != c.withoutAny {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := validate.Reason(c.wasm, err)
		if c.msg == "" {
			if got != err {
				t.Errorf("%s: %v, want %v", c.name, got, err)
			}
			continue
		}
		wantError(t, got, c.msg, "")
	}
	if err := errors.New("another"); validate.Reason(nil, err) != err || validate.Reason(nil, nil) != nil {
		t.Error("what is no error of a module")
	}
}
