//go:build race

package inproc

// raceDetector: it cannot see what orders a grant, so there are none.
const raceDetector = true
