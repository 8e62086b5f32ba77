//go:build !linux

package input

// reserve returns nil: nothing is reserved on other systems.
func reserve(uint64) []byte { return nil }
