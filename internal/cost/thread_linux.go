package cost

import (
	"os"
	"strconv"
	"strings"
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
	return Process{time.Duration(u.Utime.Nano() + u.Stime.Nano()), peak(), u.Minflt + u.Majflt}
}

// peak returns the most memory that this program has had, or 0 where the system does not tell. Rusage does not tell it: its
// maximum is that of the process, which was a copy of the parent, or had its memory, until it executed this program.
func peak() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, _, _ := strings.Cut(rest, "kB")
	n, _ := strconv.ParseInt(strings.TrimSpace(kib), 10, 64)
	return n << 10
}
