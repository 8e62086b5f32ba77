package asm

import "testing"

// TestDecodeVex: of each sample of a VEX row, whose bytes are those of llvm-mc (TestGolden), decoding gives the text and the
// length. What is cut off is no instruction.
func TestDecodeVex(t *testing.T) {
	n := 0
	for _, s := range goldenSamples() {
		if RowOf(s.inst.Op).Map < mapVEX {
			continue
		}
		n++
		code, _ := Append(nil, &s.inst, s.allocs, &testFrame)
		if text, length := DecodeVex(append(code, 0x90)); text != s.text() || length != len(code) {
			t.Errorf("% x: %q of %d bytes, want %q", code, text, length, s.text())
		}
		for cut := range code {
			if text, length := DecodeVex(code[:cut:cut]); length != 0 {
				t.Errorf("% x: %q of %d bytes, though it is cut off", code[:cut], text, length)
			}
		}
	}
	if n < 3000 {
		t.Errorf("only %d samples", n)
	}
}

// TestDecodeNoVex: what Append does not write is not decoded.
func TestDecodeNoVex(t *testing.T) {
	for what, code := range map[string]string{
		"256 bits":          "\xc5\xfc\x58\xc1",
		"no such opcode":    "\xc5\xf8\xff\xff\xff",
		"another map":       "\xc4\xe9\x79\x58\xc1",
		"another prefix":    "\xc5\xfb\xfe\xc1\x00",
		"absolute":          "\xc5\xf9\xfe\x04\x25\x00\x00\x00\x00",
		"not VEX":           "\x0f\x58\xc1\x90\x90",
		"a source too much": "\xc5\xf1\x6f\xc1\x00",
	} {
		if text, n := DecodeVex([]byte(code)); n != 0 {
			t.Errorf("%s: %q of %d bytes", what, text, n)
		}
	}
}
