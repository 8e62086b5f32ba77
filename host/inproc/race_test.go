//go:build race

package inproc_test

// underRace: the race detector makes native memory expensive to look at.
const underRace = true
