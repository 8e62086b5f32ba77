package waot_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

// TestNoOptimize: the mid-end is left out when asked for.
func TestNoOptimize(t *testing.T) {
	// (func (export "f") (param i32) (result i32) (i32.mul (local.get 0) (i32.add (i32.const 3) (i32.const 4))))
	wasm := "\x00asm\x01\x00\x00\x00\x01\x06\x01\x60\x01\x7f\x01\x7f\x03\x02\x01\x00\x07\x05\x01\x01f\x00\x00\x0a\x0c\x01\x0a\x00\x20\x00\x41\x03\x41\x04\x6a\x6c\x0b"
	var objects [2][]byte
	for i := range objects {
		var err error
		if objects[i], err = waot.CompileObject([]byte(wasm), &waot.CompileOptions{NoOptimize: i == 1}); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Equal(objects[0], objects[1]) {
		t.Error("the object is the same without optimization")
	}
}

// TestSameSymbol: where two names of a module would be one symbol there is an error, and no object.
func TestSameSymbol(t *testing.T) {
	// (import "lib" "f" (func)) (func (export "f")), compiled under the name lib
	wasm := "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x02\x09\x01\x03lib\x01f\x00\x00\x03\x02\x01\x00\x07\x05\x01\x01f\x00\x01\x0a\x04\x01\x02\x00\x0b"
	object, err := waot.CompileObject([]byte(wasm), &waot.CompileOptions{Name: "lib"})
	if err == nil || object != nil || !strings.Contains(err.Error(), "lib..f") {
		t.Errorf("%d bytes, error %v", len(object), err)
	}
	if _, err := waot.CompileObject([]byte(wasm), &waot.CompileOptions{Name: "other"}); err != nil {
		t.Error(err)
	}
}
