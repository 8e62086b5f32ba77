//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time that the process has taken so far, in its own code and the kernel's: their sum is exact, while
// the kernel may guess how it divides.
func Used() time.Duration {
	own, kernel := used()
	return own + kernel
}

// usedOwn is the part of Used that the process has taken in its own code.
func usedOwn() time.Duration {
	own, _ := used()
	return own
}

func used() (own, kernel time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}
