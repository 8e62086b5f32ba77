package abi

import "testing"

// TestTrapCodes: each code has a name of its own, by which it is found, and a message; what is no code has neither.
func TestTrapCodes(t *testing.T) {
	seen := map[string]bool{}
	for c := range NumTrapCodes {
		name := c.String()
		if got, ok := TrapByName(name); got != c || !ok || name == "" || seen[name] {
			t.Errorf("code %d is %q, which is code %d", c, name, got)
		}
		if seen[name] = true; c.Message() == "" || c.Message() == "unknown trap" {
			t.Errorf("code %d has the message %q", c, c.Message())
		}
	}
	for _, c := range []TrapCode{NumTrapCodes, NumTrapCodes + 1, ^TrapCode(0)} {
		if c.String() != "unknown" || c.Message() != "unknown trap" {
			t.Errorf("code %d is %q, %q", c, c, c.Message())
		}
	}
	if c, ok := TrapByName("unknown"); c != TrapNone || ok {
		t.Errorf("%d, %v", c, ok)
	}
}
