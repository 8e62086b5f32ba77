//go:build !race

package inproc

const raceDetector = false
