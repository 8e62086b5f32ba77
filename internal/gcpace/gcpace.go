// Package gcpace lets a process that lives for one compilation collect garbage seldom: memory is worth less than time there.
//
// Place in the pipeline: beside it; commands call it when they start.
//
// Input: none, or how much memory counts.
// Output: the pace of Go's collector.
package gcpace

import (
	"math"
	"runtime"
	"runtime/debug"
)

// How far the heap may grow beyond what is live before it is collected, in percent: before the first collection, and from then on. The first one comes
// when the heap has first * 4 MiB / 100, and 8 MiB more for each of up to three further processors, as each worker has tables of its own: with many workers memory counts again. Most modules are compiled by then, and
// tables that are still in use would be most of what it found.
const first, perProcessor, maxFurther, later = 1000, 200, 3, 400

// sentinel is what the first collection finds. It has a pointer, as what has none may share its memory with others.
type sentinel struct{ _ *sentinel }

// beginning returns the percentage up to the first collection.
func beginning(processors int) int { return first + perProcessor*min(processors-1, maxFurther) }

// Set sets the pace.
func Set() {
	debug.SetGCPercent(beginning(runtime.GOMAXPROCS(0)))
	runtime.SetFinalizer(new(sentinel), func(*sentinel) { debug.SetGCPercent(later) })
}

// Within makes the collector work more often rather than let the process take more than the given number of bytes, as far as it can.
func Within(bytes uint64) { debug.SetMemoryLimit(int64(min(bytes, math.MaxInt64))) }
