package randprog

import (
	"fmt"
	"slices"
	"strings"
)

// Counts are what programs have counted (Program.Counters), added up.
type Counts struct {
	Names []string
	Sums  []uint64
	// Programs is how many there are, In how many of them have counted each thing at all.
	Programs int
	In       []int
}

// Add adds what a program has counted: all programs count the same, or nothing.
func (c *Counts) Add(names []string, counts []uint64) {
	if len(names) == 0 {
		return
	}
	in := make([]int, len(names))
	for i, n := range counts {
		in[i] = int(min(n, 1))
	}
	c.Merge(&Counts{names, counts, 1, in})
}

// Merge adds what other programs have counted.
func (c *Counts) Merge(d *Counts) {
	if len(d.Names) == 0 {
		return
	}
	if c.Names == nil {
		c.Names, c.Sums, c.In = d.Names, make([]uint64, len(d.Names)), make([]int, len(d.Names))
	}
	c.Programs += d.Programs
	for i := range d.Names {
		c.Sums[i] += d.Sums[i]
		c.In[i] += d.In[i]
	}
}

// Of returns how often a thing was counted.
func (c *Counts) Of(name string) uint64 {
	if i := slices.Index(c.Names, name); i >= 0 {
		return c.Sums[i]
	}
	return 0
}

// The counts of functions, beside which operators are counted.
const (
	FunctionsEntered = "functions entered"
	FunctionsEnded   = "functions ended"
)

// String returns the counts as text: the share of functions that come to their end, and how often each operator was executed, and in what share of the programs.
func (c *Counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d modules: %.1f %% of %d functions entered come to their end; executed:", c.Programs, 100*float64(c.Of(FunctionsEnded))/float64(max(c.Of(FunctionsEntered), 1)), c.Of(FunctionsEntered))
	for i, name := range c.Names {
		if name != FunctionsEntered && name != FunctionsEnded {
			fmt.Fprintf(&b, " %s %d (%d %%),", name, c.Sums[i], 100*c.In[i]/max(c.Programs, 1))
		}
	}
	return strings.TrimSuffix(b.String(), ",")
}
