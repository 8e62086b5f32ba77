//go:build race

package guestfuzz

// raceDetector: it keeps what it knows of each address that was ever in use.
const raceDetector = true
