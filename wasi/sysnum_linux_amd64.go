package wasi

import "syscall"

// The numbers of system calls that not all processors have alike.
const (
	sysPreadv2    = 327
	sysPwritev2   = 328
	sysNewfstatat = syscall.SYS_NEWFSTATAT
)
