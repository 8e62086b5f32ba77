package printer_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestBehindDataCount: a custom section behind the data count section is read back there.
func TestBehindDataCount(t *testing.T) {
	wasm, err := hex.DecodeString("0061736d01000000010401600000030201000c0101000201630a07010500fc09000b0b0401010178")
	if err != nil {
		t.Fatal(err)
	}
	text, err := printer.String(wasm)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wat.Assemble([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !bytes.Equal(m.Wasm, wasm) {
		t.Errorf("% x becomes % x", wasm, m.Wasm)
	}
}
