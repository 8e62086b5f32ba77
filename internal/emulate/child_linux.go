package emulate

import (
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"
)

// Start starts a command that is killed when this process ends, however it does. Wait must
// follow, as after the command's own Start.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	go func() {
		// The signal comes when the thread ends that has started the child, so that one is
		// kept until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		var pid int
		if err == nil {
			pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			outlive(pid)
		}
	}()
	return <-started
}

// Together makes the end of a command's context kill all processes that the command has started, unless they have left its group. Without it,
// only the command is killed.
func Together(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// outlive returns when the child pid has ended, and leaves it to be waited for.
func outlive(pid int) {
	const process, exited, leave = 1, 0x4, 0x01000000 // P_PID, WEXITED, WNOWAIT
	for {
		var info [128]byte
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, process, uintptr(pid), uintptr(unsafe.Pointer(&info[0])), exited|leave, 0, 0)
		if e != syscall.EINTR {
			return // it has ended, or was waited for already
		}
	}
}
