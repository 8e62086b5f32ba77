package stop

import (
	"errors"
	"slices"
	"testing"
)

// numbers is 1 to n: none is zero.
func numbers(n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i + 1)
	}
	return s
}

// polls is how often f polls while it runs, and ends at the poll before the last.
func polls(t *testing.T, work func(f *Flag)) (n int) {
	t.Helper()
	var count, end Flag
	count.Observe(func() { n++ })
	work(&count)
	left := n - 1
	end.Observe(func() {
		if left--; left == 0 {
			end.Set()
		}
	})
	err := func() (err error) {
		defer Recover(&err)
		work(&end)
		return nil
	}()
	if stopped := errors.Is(err, Stopped{}); stopped != (n > 1) {
		t.Errorf("%d polls, and then %v", n, err)
	}
	return n
}

// TestTables: tables keep what is in them, and what takes long polls in each piece.
func TestTables(t *testing.T) {
	const n, pieces = 1000_000, 7 // 8 MB
	for _, f := range []*Flag{nil, new(Flag)} {
		for _, n := range []int{0, 1, 5, n} {
			want := numbers(n + 1)
			s := Append(f, slices.Clip(want[:n:n]), uint64(n+1))
			if !slices.Equal(s, want) || cap(s) < n+1 || n > 0 && &s[0] == &want[0] {
				t.Errorf("Append to %d", n)
			}
			if r := append(Room(f, slices.Clip(want[:n:n])), uint64(n+1)); !slices.Equal(r, want) || n > 0 && &r[0] == &want[0] {
				t.Errorf("Room for one more than %d", n)
			}
			if r := Room(f, want[:n]); cap(r) != cap(want) || n > 0 && &r[0] != &want[0] {
				t.Errorf("Room where there is some")
			}
			if r := Grow(f, want[:n:n], 3); !slices.Equal(r, want[:n]) || cap(r) < n+3 {
				t.Errorf("Grow of %d", n)
			}
			if r := Grow(f, want, 0); &r[0] != &want[0] {
				t.Errorf("Grow by nothing")
			}
			if r := Resize(f, want, n/2); len(r) != n/2 || n > 1 && &r[0] != &want[0] {
				t.Errorf("Resize to less than %d", n)
			}
			if r := Resize(f, want[:0:0], n); len(r) != n {
				t.Errorf("Resize to %d", n)
			}
			for _, old := range [][]uint64{want, nil} {
				if r := Zeroed(f, old, n); len(r) != n || slices.ContainsFunc(r, func(x uint64) bool { return x != 0 }) {
					t.Errorf("Zeroed %d", n)
				}
			}
		}
	}
	s := numbers(n)
	for what, work := range map[string]func(f *Flag){
		"Append": func(f *Flag) { Append(f, s[:n:n], 1) },
		"Grow":   func(f *Flag) { Grow(f, s[:n:n], n) },
		"Zeroed": func(f *Flag) { Zeroed(f, s, n) },
	} {
		if got := polls(t, work); got < pieces {
			t.Errorf("%s: %d polls", what, got)
		}
	}
}

// TestGrowth: all tables before the last one take less room than it does.
func TestGrowth(t *testing.T) {
	for what, next := range map[string]func(s []uint64, n int) []uint64{
		"Append":           func(s []uint64, n int) []uint64 { return Append(nil, s, 1) },
		"Resize by one":    func(s []uint64, n int) []uint64 { return Resize(nil, s, n) },
		"Zeroed by a half": func(s []uint64, n int) []uint64 { return Zeroed(nil, s, max(n, len(s)+len(s)/2)) },
	} {
		var s []uint64
		before, tables := 0, 0
		for n := 1; len(s) < 300_000; n++ {
			old := cap(s)
			if s = next(s, n); cap(s) != old {
				before += old
				tables++
			}
		}
		if before >= cap(s) || cap(s) > 4*len(s) || tables > 12 {
			t.Errorf("%s: %d elements before %d, for %d; %d tables", what, before, cap(s), len(s), tables)
		}
	}
}
