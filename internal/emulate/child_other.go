//go:build !linux

package emulate

import "os/exec"

// Start starts a command. Elsewhere than on Linux it may outlive this process.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

// Together does nothing elsewhere than on Linux: the end of a command's context kills the command only.
func Together(*exec.Cmd) {}
