package cost

import (
	"syscall"
	"time"
	"unsafe"
)

// threadTime returns the processor time of this thread.
func threadTime() time.Duration {
	const clockThreadCPU = 3
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

// Read returns what this process has taken.
func Read() Process {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return Process{}
	}
	return Process{time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10, u.Minflt + u.Majflt}
}
