//go:build unix

package linear_test

import (
	"syscall"
	"time"
)

// cpuTime is the processor time this process has used: on a busy machine a
// better measure than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
