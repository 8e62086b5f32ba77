//go:build race

package stress

// raceDetector: it reserves terabytes of addresses.
const raceDetector = true
