package stop

import "testing"

// TestPollAt: one poll for each pollEvery items, the first item included.
func TestPollAt(t *testing.T) {
	for items, want := range map[int]int{0: 0, 1: 1, 2: 1, pollEvery: 1, pollEvery + 1: 2, 4*pollEvery - 1: 4, 4 * pollEvery: 4} {
		polls := 0
		var f Flag
		f.Observe(func() { polls++ })
		for i := range items {
			f.PollAt(i)
		}
		if polls != want {
			t.Errorf("%d items: %d polls, want %d", items, polls, want)
		}
	}
	(*Flag)(nil).PollAt(0)
}
