package translate_test

import "testing"

// TestParams: a block has a parameter for a local only where different values meet.
func TestParams(t *testing.T) {
	const (
		block, loop, ifElse = 0x02, 0x03, 0x04
		void                = 0x40
	)
	constant := func(n byte) []byte { return []byte{0x41, n} }
	orElse, end, brIf := []byte{0x05}, []byte{0x0b}, []byte{0x0d, 0}
	choice := func(then, other []byte) []byte {
		return join(get(0), []byte{ifElse, void}, then, orElse, other, end)
	}
	repeat := func(body []byte) []byte { return join([]byte{loop, void}, body, get(0), brIf, end) }
	for _, c := range []struct {
		name string
		body []byte
		want int // besides the function's own
	}{
		{"straight", nil, 0},
		{"equal in both arms", choice(join(get(0), set(1)), join(get(0), set(1))), 0},
		{"different in both arms", choice(join(constant(1), set(1)), join(get(0), set(1))), 1},
		{"set in one arm", choice(join(get(0), set(1)), nil), 1},
		{"read in a loop", repeat(join(get(1), set(2))), 0},
		{"set to itself in a loop", join(get(0), set(1), repeat(join(get(1), set(1)))), 0},
		{"set to what it was before the loop", join(get(0), set(1), repeat(join(get(1), set(2), get(0), set(1)))), 0},
		{"itself by one way, and unchanged by the other", join(get(0), set(1), repeat(choice(join(get(1), set(1)), nil))), 0},
		{"changed in a loop", repeat(join(get(1), constant(1), []byte{0x6a}, set(1))), 1},
		{"in a block that is left", join([]byte{block, void}, get(0), set(1), get(0), brIf, get(0), set(1), end), 0},
		{"exchanged in a loop", join(get(0), set(2), repeat(join(get(1), get(2), set(1), set(2)))), 2},
	} {
		body := join(c.body, get(1), get(2), []byte{0x6a})
		if got := numParams(compile(t, wasmOf(2, body), nil)) - 1; got != c.want {
			t.Errorf("%s: %d parameters, want %d", c.name, got, c.want)
		}
	}
}
