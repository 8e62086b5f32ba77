//go:build unix && !linux

package sys

import "syscall"

// fromSystem leaves the status as fs.FileInfo has it: compiled code runs on Linux only.
func (st *Stat_t) fromSystem(*syscall.Stat_t) {}
