//go:build !race

package guestfuzz

const raceDetector = false
