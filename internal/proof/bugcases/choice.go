package bugcases

import (
	"fmt"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
)

// Case is a named case. Make builds its modules when the case is about to run.
type Case struct {
	Name string
	Make func() *compare.Case
}

// Run checks each case in a parallel subtest.
func Run(t *testing.T, list []Case, check func(*testing.T, *compare.Case) *compare.History) {
	for _, c := range list {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			check(t, c.Make())
		})
	}
}

// Choice says which cases of each list run: a part of them, all of them, or a sample, always the same. The zero value is
// the sample.
type Choice struct{ k, n int }

// All chooses all cases.
func All() Choice { return Choice{1, 1} }

// ParseChoice reads a choice: "K/N" is part K of N, with K from 1 to N; the N parts together are all cases, each once.
// "all" is All, and "" is the sample.
func ParseChoice(s string) (c Choice, err error) {
	switch s {
	case "":
		return c, nil
	case "all":
		return All(), nil
	}
	if _, err := fmt.Sscanf(s, "%d/%d", &c.k, &c.n); err != nil || c.k < 1 || c.k > c.n || s != fmt.Sprintf("%d/%d", c.k, c.n) {
		return Choice{}, fmt.Errorf("%s: must be K/N with K from 1 to N, or all", s)
	}
	return c, nil
}

// Sample reports whether each test takes its sample.
func (c Choice) Sample() bool { return c.n == 0 }

// Has reports whether case i of a list runs. A sample has every nth case of the list, where n is every.
func (c Choice) Has(i, every int) bool {
	if c.Sample() {
		return i%every == 0
	}
	return i%c.n == c.k-1
}

func (c Choice) String() string {
	switch {
	case c.Sample():
		return "a sample"
	case c == All():
		return "all"
	}
	return fmt.Sprintf("part %d of %d", c.k, c.n)
}

// Part returns the cases of a list that run. A sample has every nth of them.
func Part[T any](c Choice, list []T, n int) (out []T) {
	for i := range list {
		if c.Has(i, n) {
			out = append(out, list[i])
		}
	}
	return out
}

// Sampled returns every nth element of a list if the choice is a sample, and the whole list otherwise. It is for the
// elements that one case consists of. Part or Choice.Has chooses between cases.
func Sampled[T any](c Choice, list []T, n int) (out []T) {
	if !c.Sample() {
		return list
	}
	for i := 0; i < len(list); i += n {
		out = append(out, list[i])
	}
	return out
}
