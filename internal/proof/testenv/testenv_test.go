package testenv

import (
	"flag"
	"testing"
	"time"
)

// TestCases: each level has its number, and -short wins.
func TestCases(t *testing.T) {
	was := flag.Lookup("test.short").Value.String()
	defer flag.Set("test.short", was)
	for _, c := range []struct {
		short, full string
		want        int
	}{{"true", "", 1}, {"true", "1", 1}, {"false", "", 2}, {"false", "1", 3}} {
		flag.Set("test.short", c.short)
		t.Setenv(EnvFull, c.full)
		if got := Cases(1, 2, 3); got != c.want || Full() != (c.want == 3) {
			t.Errorf("short %s, full %q: %d, %v", c.short, c.full, got, Full())
		}
	}
}

// TestSlow: a slow machine has longer limits, and nothing makes them shorter.
func TestSlow(t *testing.T) {
	for slow, want := range map[string]time.Duration{"": time.Second, "50": time.Second, "100": time.Second, "227": 2270 * time.Millisecond, "x": time.Second} {
		t.Setenv(EnvSlow, slow)
		if got := Slow(time.Second); got != want {
			t.Errorf("%q: %v, want %v", slow, got, want)
		}
	}
}

// outcome is whether a test skips or fails.
type outcome struct {
	testing.TB
	skipped, failed bool
}

func (o *outcome) Helper()      {}
func (o *outcome) Skip(...any)  { o.skipped = true }
func (o *outcome) Fatal(...any) { o.failed = true; panic(o) }

// TestMissing: what is missing skips a test, and fails it in CI, material only where nobody has said that there is none.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		ci, none, dir            string
		missing, needs, optional outcome
	}{
		{"", "", "", outcome{skipped: true}, outcome{skipped: true}, outcome{}},
		{"true", "", "", outcome{failed: true}, outcome{failed: true}, outcome{failed: true}},
		{"true", "1", "", outcome{failed: true}, outcome{skipped: true}, outcome{}},
		{"true", "", "x", outcome{failed: true}, outcome{}, outcome{}},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv(EnvNoMaterial, c.none)
		t.Setenv(EnvWASI, c.dir)
		try := func(what string, want outcome, f func(testing.TB)) {
			var o outcome
			func() {
				defer func() { _ = recover() }()
				f(&o)
			}()
			if o != want {
				t.Errorf("%s, CI=%s, no material=%s, folder %q: %+v, want %+v", what, c.ci, c.none, c.dir, o, want)
			}
		}
		try("a tool", c.missing, func(t testing.TB) { Missing(t, "no tool") })
		try("needs material", c.needs, func(t testing.TB) { Material(t, EnvWASI) })
		try("may use material", c.optional, func(t testing.TB) { OptionalMaterial(t, EnvWASI) })
	}
}
