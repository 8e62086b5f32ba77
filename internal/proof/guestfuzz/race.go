//go:build race

package guestfuzz

// raceDetector reports whether the race detector runs. It keeps data about each address that was ever in use.
const raceDetector = true
