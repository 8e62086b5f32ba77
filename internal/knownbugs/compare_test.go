package knownbugs

import "testing"

// TestMemoryCompared: a byte that differs is noticed wherever it is in a memory, at the end of a case and, where each call is watched, after its call. What
// cannot be looked at is an error.
func TestMemoryCompared(t *testing.T) {
	const size = 16 << 16
	c := single(`(module (memory (export "memory") 16) (func (export "set") (param i32 i32) (i32.store8 (local.get 0) (local.get 1))))`)
	for _, e := range append(interpreters()[:1], natives()[0]) {
		for _, watch := range []bool{false, true} {
			c.watch = watch
			run := func(at, value uint64) *history {
				c.calls = []call{{0, "set", []uint64{at, value}}}
				h, err := play(e, c)
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			want := run(0, 0)
			for _, at := range []uint64{0, 1, 128<<10 - 1, 128 << 10, size / 2, size - 128<<10 - 1, size - 1} {
				if c.diff(run(at, 1), want) == "" {
					t.Errorf("%s: a byte at %#x makes no difference", e.Name(), at)
				}
				if d := c.diff(run(at, 0), want); d != "" {
					t.Errorf("%s: the same makes a difference: %s", e.Name(), d)
				}
			}
			if got := run(1, 1); watch && got.events[1].memory == want.events[1].memory {
				t.Errorf("%s: the memory is not compared after the call", e.Name())
			}
		}
	}
	if _, err := bytesOf("no memory"); err == nil {
		t.Error("a memory of an unknown type passes")
	}
}
