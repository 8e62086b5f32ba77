package main

import (
	"slices"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
)

// nativeCPU returns the highest level of this processor, the lowest that can be named if it is unknown.
func nativeCPU() string {
	names := cpuNames[compile.HostTarget()]
	if have := inproc.CPU(); slices.Contains(names, have) {
		return have
	}
	return names[0]
}
