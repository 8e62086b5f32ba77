package input

import (
	"math"
	"syscall"
)

// reserve returns a place of n bytes, which take memory only where they are used, nil if the system has none.
func reserve(n uint64) []byte {
	if n > math.MaxInt {
		return nil
	}
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	return b
}
