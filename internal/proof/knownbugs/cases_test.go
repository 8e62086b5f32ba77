package knownbugs

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// emulated says that everything is slower by a factor of about twenty.
func emulated() bool { return os.Getenv("WAOT_EMULATOR") != "" }

// EnvShard names the variable that says which cases of each test run: "k/n" is the kth part of n, k from 1, such that the
// parts together are all; "all" is all. Without it, a test runs all at the full level, otherwise, and in an emulator, a sample,
// always the same.
const EnvShard = "WAOT_SHARD"

// shard is a choice of cases; the zero value is the sample of each test.
type shard struct{ k, n int }

// whole are all cases.
var whole = shard{1, 1}

// parseShard reads what the variable says.
func parseShard(s string) (c shard, err error) {
	switch s {
	case "":
		return c, nil
	case "all":
		return whole, nil
	}
	if _, err := fmt.Sscanf(s, "%d/%d", &c.k, &c.n); err != nil || c.k < 1 || c.k > c.n || s != fmt.Sprintf("%d/%d", c.k, c.n) {
		return shard{}, fmt.Errorf("%s=%s: must be K/N with K from 1 to N, or all", EnvShard, s)
	}
	return c, nil
}

// Sample reports whether each test takes its sample.
func (c shard) Sample() bool { return c.n == 0 }

// Has reports whether case i runs of a test whose sample is one in so many.
func (c shard) Has(i, every int) bool {
	if c.Sample() {
		return i%every == 0
	}
	return i%c.n == c.k-1
}

func (c shard) String() string {
	switch {
	case c.Sample():
		return "a sample"
	case c == whole:
		return "all"
	}
	return fmt.Sprintf("part %d of %d", c.k, c.n)
}

// cases are those of each test that run.
var cases shard

// chosen is what the variable and the level say. A mistake in the variable ends the process.
func chosen() shard {
	c, err := parseShard(os.Getenv(EnvShard))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if c.Sample() && testenv.Full() && !emulated() {
		return whole
	}
	return c
}

// TestMain says which cases run.
func TestMain(m *testing.M) {
	flag.Parse()
	cases = chosen()
	fmt.Printf("cases: %v (%s)\n", cases, EnvShard)
	os.Exit(m.Run())
}

// part is the cases of a list that run, where a sample is every nth of it.
func part[T any](list []T, n int) (out []T) {
	for i := range list {
		if cases.Has(i, n) {
			out = append(out, list[i])
		}
	}
	return out
}

// sampled is list, or where tests take samples every nth of it. It is for what a case consists of: with part or cases.Has
// around it, the parts of all cases are everything.
func sampled[T any](list []T, n int) (out []T) {
	if !cases.Sample() {
		return list
	}
	for i := 0; i < len(list); i += n {
		out = append(out, list[i])
	}
	return out
}

// TestShards: the parts together are all cases, each once.
func TestShards(t *testing.T) {
	for _, parts := range [][]string{{"all"}, {"1/1"}, {"1/4", "2/4", "3/4", "4/4"}, {"3/3", "1/3", "2/3"}} {
		var seen [50]int
		for _, s := range parts {
			c, err := parseShard(s)
			if err != nil || c.Sample() {
				t.Fatal(s, err)
			}
			for i := range seen {
				if c.Has(i, 7) {
					seen[i]++
				}
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Errorf("%v: case %d runs %d times", parts, i, n)
			}
		}
	}
	sample, err := parseShard("")
	if err != nil || !sample.Sample() || !sample.Has(14, 7) || sample.Has(13, 7) {
		t.Error(sample, err)
	}
	for s, want := range map[string]string{"": "a sample", "all": "all", "2/4": "part 2 of 4"} {
		if c, _ := parseShard(s); c.String() != want {
			t.Errorf("%q is %v", s, c)
		}
	}
	for _, s := range []string{"0/4", "5/4", "1", "1/", "/4", "1/0", "-1/4", "1/4 ", " 1/4", "1/4x", "01/4", "everything", "1/4/4"} {
		if c, err := parseShard(s); err == nil {
			t.Errorf("%q is %v", s, c)
		}
	}
}
