// Package stress contains only tests. They run host/inproc while a Go process does everything
// that it can do to its threads: garbage collections, profiles, signals, starting
// processes, moving goroutine stacks, panics, cancellations.
//
// Place in the pipeline: beside it; it compiles the modules of internal/proof/stress/guest and runs them.
// TestStress runs for as long as the environment variable WAOT_STRESS says, such as
// "30m"; the other tests measure delays and print them.
//
// Input: nothing but the modules.
// Output: failures, and counts of what was done.
package stress
