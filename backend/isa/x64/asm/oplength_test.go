package asm

import "testing"

// TestOpLength: of each sample of a row, whose bytes are those of llvm-mc (TestGolden), the lengths of its instructions add up to the length
// of the whole, and what is cut off is too short.
func TestOpLength(t *testing.T) {
	n := 0
	for _, s := range goldenSamples() {
		n++
		code, _ := Append(nil, &s.inst, s.allocs, &testFrame)
		if got := OpLength(append(code, 0x90, 0x90, 0x90)); got != len(code) {
			t.Errorf("% x, %s: %d bytes, want %d", code, s.text(), got, len(code))
		}
		for cut := range code {
			if got := OpLength(code[:cut:cut]); got != 0 && got != cut {
				t.Errorf("% x: %d bytes, though it is cut off", code[:cut], got)
			}
		}
	}
	if n < 10000 {
		t.Errorf("only %d samples", n)
	}
}

// TestBranches: which instructions are branches, and which are one operation with a conditional branch behind them.
func TestBranches(t *testing.T) {
	for _, c := range []struct {
		code         string
		branch, fuse bool
	}{
		{"\x75\x00", true, false},                 // jne
		{"\x0f\x85\x00\x00\x00\x00", true, false}, // jne
		{"\xeb\x00", true, false},                 // jmp
		{"\xe9\x00\x00\x00\x00", true, false},     // jmp
		{"\xe8\x00\x00\x00\x00", false, false},    // call
		{"\x39\xc8", false, true},                 // cmp eax, ecx
		{"\x48\x3b\x08", false, true},             // cmp rcx, [rax]
		{"\x81\xfe\x00\x10\x00\x00", false, true}, // cmp esi, 4096
		{"\x83\x3e\x04", false, false},            // cmp dword [rsi], 4
		{"\x45\x85\xc0", false, true},             // test r8d, r8d
		{"\xf6\xc1\x01", false, true},             // test cl, 1
		{"\xff\xc9", false, true},                 // dec ecx
		{"\xff\xd0", false, false},                // call rax
		{"\x8d\x76\x04", false, false},            // lea
		{"\x0f\x2e\xc8", false, false},            // ucomiss
		{"\x44\x0f\xaf\xc8", false, false},        // imul
	} {
		if got := IsBranch([]byte(c.code)); got != c.branch {
			t.Errorf("% x: a branch %v", c.code, got)
		}
		if got := FusesWithBranch([]byte(c.code)); got != c.fuse {
			t.Errorf("% x: fuses %v", c.code, got)
		}
	}
}
