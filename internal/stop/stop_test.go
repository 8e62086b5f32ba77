package stop

import (
	"errors"
	"testing"
)

// count polls n times and returns how many polls came to an end.
func count(f *Flag, n int) (done int, err error) {
	defer Recover(&err)
	for range n {
		f.Poll()
		done++
	}
	return done, nil
}

func TestPoll(t *testing.T) {
	if n, err := count(nil, 3); n != 3 || err != nil {
		t.Error(n, err)
	}
	var f Flag
	if n, err := count(&f, 3); n != 3 || err != nil || f.IsSet() {
		t.Error(n, err)
	}
	polls := 0
	f.Observe(func() {
		if polls++; polls == 5 {
			f.Set()
		}
	})
	if n, err := count(&f, 3); n != 3 || err != nil {
		t.Error(n, err)
	}
	if n, err := count(&f, 3); n != 1 || !errors.Is(err, Stopped{}) || polls != 5 {
		t.Error(n, err, polls)
	}
	if n, err := count(&f, 3); n != 0 || !errors.Is(err, Stopped{}) || !f.IsSet() {
		t.Error(n, err)
	}
}

// TestOtherPanics: Recover is for polls only.
func TestOtherPanics(t *testing.T) {
	defer func() {
		if r := recover(); r != "another" {
			t.Error(r)
		}
	}()
	func() (err error) {
		defer Recover(&err)
		panic("another")
	}()
}

// BenchmarkPoll is what a poll costs.
func BenchmarkPoll(b *testing.B) {
	f := new(Flag)
	for b.Loop() {
		f.Poll()
	}
}
