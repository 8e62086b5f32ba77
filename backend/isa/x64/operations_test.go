package x64

import "testing"

// TestOperations: a comparison and a conditional branch behind it are one operation, an addition and a jump behind it are two.
func TestOperations(t *testing.T) {
	for _, c := range []struct {
		what, code string
		want       int
	}{
		{"cmp eax, ecx; jne", "\x39\xc8\x75\x00", 1},
		{"add eax, ecx; jmp", "\x01\xc8\xeb\x00", 2},
		{"cmp eax, ecx; lea; jne", "\x39\xc8\x8d\x76\x04\x75\x00", 3},
	} {
		if got := len(operations([]byte(c.code), nil)); got != c.want {
			t.Errorf("%s: %d operations, want %d", c.what, got, c.want)
		}
	}
}
