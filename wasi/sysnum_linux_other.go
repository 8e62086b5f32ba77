//go:build linux && !amd64

package wasi

// Zero stands for system calls that are not used here; there is another way.
const (
	sysPreadv2    = 0
	sysPwritev2   = 0
	sysNewfstatat = 0
)
