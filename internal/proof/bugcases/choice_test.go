package bugcases

import (
	"slices"
	"testing"
)

// TestChoices: the parts together are all cases, each once.
func TestChoices(t *testing.T) {
	for _, parts := range [][]string{{"all"}, {"1/1"}, {"1/4", "2/4", "3/4", "4/4"}, {"3/3", "1/3", "2/3"}} {
		var seen [50]int
		for _, s := range parts {
			c, err := ParseChoice(s)
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
	sample, err := ParseChoice("")
	if err != nil || !sample.Sample() || !sample.Has(14, 7) || sample.Has(13, 7) {
		t.Error(sample, err)
	}
	for s, want := range map[string]string{"": "a sample", "all": "all", "2/4": "part 2 of 4"} {
		if c, _ := ParseChoice(s); c.String() != want {
			t.Errorf("%q is %v", s, c)
		}
	}
	for _, s := range []string{"0/4", "5/4", "1", "1/", "/4", "1/0", "-1/4", "1/4 ", " 1/4", "1/4x", "01/4", "everything", "1/4/4"} {
		if c, err := ParseChoice(s); err == nil {
			t.Errorf("%q is %v", s, c)
		}
	}
}

// TestLists: Part chooses cases by any choice, Sampled takes elements away for a sample only.
func TestLists(t *testing.T) {
	list := []int{0, 1, 2, 3, 4, 5, 6}
	for s, want := range map[string][2][]int{"": {{0, 3, 6}, {0, 3, 6}}, "all": {list, list}, "2/4": {{1, 5}, list}} {
		c, err := ParseChoice(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2][]int{Part(c, list, 3), Sampled(c, list, 3)}; !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
			t.Errorf("%v: %v, want %v", c, got, want)
		}
	}
}
