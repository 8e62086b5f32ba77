//go:build race

package inproc

// raceDetector: what orders memory must be operations that it knows.
const raceDetector = true
