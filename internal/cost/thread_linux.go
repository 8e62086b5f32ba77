package cost

import (
	"syscall"
	"time"
	"unsafe"
)

// thread returns what this thread has taken so far.
func thread() Use {
	const clockThreadCPU, rusageThread = 3, 1
	var t syscall.Timespec
	var u syscall.Rusage
	syscall.RawSyscall(syscall.SYS_GETRUSAGE, rusageThread, uintptr(unsafe.Pointer(&u)), 0)
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0)
	return Use{time.Duration(t.Nano()), u.Minflt + u.Majflt}
}

// Read returns what this process has taken.
func Read() Process {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return Process{}
	}
	return Process{time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss << 10, u.Minflt + u.Majflt}
}
