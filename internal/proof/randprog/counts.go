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
}

// Add adds what others have counted: all programs count the same, or nothing.
func (c *Counts) Add(names []string, counts []uint64) {
	if len(names) == 0 {
		return
	}
	if c.Names == nil {
		c.Names, c.Sums = names, make([]uint64, len(names))
	}
	for i, n := range counts {
		c.Sums[i] += n
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

// String returns the counts as text: the share of functions that come to their end, and how often each operator was executed.
func (c *Counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.1f %% of %d functions entered come to their end; executed:", 100*float64(c.Of(FunctionsEnded))/float64(max(c.Of(FunctionsEntered), 1)), c.Of(FunctionsEntered))
	for i, name := range c.Names {
		if name != FunctionsEntered && name != FunctionsEnded {
			fmt.Fprintf(&b, " %s %d,", name, c.Sums[i])
		}
	}
	return strings.TrimSuffix(b.String(), ",")
}
