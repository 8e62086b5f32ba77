//go:build linux

package wasi

import (
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// This file has the system calls that package syscall lacks. All are the same
// on amd64 and arm64, and none is retried by the kernel, so each loops on EINTR
// where a signal may cut it short.

const (
	sysOpenat2 = 437

	oPath = 0x200000

	atEmptyPath = 0x1000
	atRemovedir = 0x200

	resolveNoMagiclinks = 0x02
	resolveBeneath      = 0x08

	utimeNow  = 0x3fffffff
	utimeOmit = 0x3ffffffe

	pollIn   = 0x1
	pollOut  = 0x4
	pollHup  = 0x10
	pollNval = 0x20

	ioctlFionread = 0x541b
	ioctlTcgets   = 0x5401

	fDupfdCloexec = 1030
)

type openHow struct{ flags, mode, resolve uint64 }

type pollFd struct {
	fd              int32
	events, revents int16
}

// errnoOf translates an error of package syscall.
func errnoOf(err error) Errno {
	if err == nil {
		return ErrnoSuccess
	}
	if e, ok := err.(syscall.Errno); ok {
		return hostErrno(e)
	}
	return ErrnoIo
}

func cstring(s string) *byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

func openat2(dir int, path string, flags int, mode uint32) (int, syscall.Errno) {
	how := openHow{uint64(flags | syscall.O_CLOEXEC), uint64(mode), resolveBeneath | resolveNoMagiclinks}
	p := cstring(path)
	for {
		fd, _, e := syscall.Syscall6(sysOpenat2, uintptr(dir), uintptr(unsafe.Pointer(p)),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		if e == 0 {
			return aboveStreams(int(fd))
		}
		if e != syscall.EINTR {
			return -1, e
		}
	}
}

// probeOpenat2 reports how openat2 fares on a directory that is open.
func probeOpenat2(dir int) syscall.Errno {
	fd, e := openat2(dir, ".", oPath|syscall.O_DIRECTORY, 0)
	if e == 0 {
		syscall.Close(fd)
	}
	return e
}

func openat(dir int, name string, flags int, mode uint32) (int, syscall.Errno) {
	for {
		fd, err := syscall.Openat(dir, name, flags|syscall.O_CLOEXEC, mode)
		if err == nil {
			return aboveStreams(fd)
		}
		if err != syscall.EINTR {
			return -1, rawErrno(err)
		}
	}
}

// aboveStreams is for a descriptor that has just been opened. In a program that has closed a
// standard stream it has the stream's number, to which Go's runtime writes what it
// says of a crash without asking what is there, and so it gets another one.
func aboveStreams(fd int) (int, syscall.Errno) {
	if fd > lastStandard {
		return fd, 0
	}
	n, e := dupCloexec(fd)
	syscall.Close(fd)
	return n, e
}

func rawErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if e, ok := err.(syscall.Errno); ok {
		return e
	}
	return syscall.EIO
}

// dupCloexec duplicates a descriptor, to a number behind those of the standard streams.
func dupCloexec(fd int) (int, syscall.Errno) {
	n, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), fDupfdCloexec, lastStandard+1)
	switch e {
	case 0:
		return int(n), 0
	case syscall.EINVAL: // the limit for open files is not higher than that number
		e = syscall.EMFILE
	}
	return -1, e
}

func fstat(fd int, st *syscall.Stat_t) syscall.Errno {
	for {
		if e := rawErrno(syscall.Fstat(fd, st)); e != syscall.EINTR {
			return e
		}
	}
}

// lstatAt describes name in dir without following it. name is one component.
func lstatAt(dir int, name string, st *syscall.Stat_t) syscall.Errno {
	fd, e := openat(dir, name, oPath|syscall.O_NOFOLLOW, 0)
	if e != 0 {
		return e
	}
	defer syscall.Close(fd)
	return fstat(fd, st)
}

// statAt is lstatAt by one call, or ENOSYS.
func statAt(dir int, name string, st *syscall.Stat_t) syscall.Errno {
	if sysNewfstatat == 0 {
		return syscall.ENOSYS
	}
	const nofollow = 0x100 // AT_SYMLINK_NOFOLLOW
	p := unsafe.Pointer(cstring(name))
	for {
		_, _, e := syscall.Syscall6(sysNewfstatat, uintptr(dir), uintptr(p), uintptr(unsafe.Pointer(st)), nofollow, 0, 0)
		if e != syscall.EINTR {
			return e
		}
	}
}

func readlinkat(dir int, name string, buf []byte) (int, syscall.Errno) {
	p := unsafe.Pointer(cstring(name))
	for {
		n, _, e := syscall.Syscall6(syscall.SYS_READLINKAT, uintptr(dir), uintptr(p), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
		if e != syscall.EINTR {
			return int(n), e
		}
	}
}

func mkdirat(dir int, name string, mode uint32) syscall.Errno {
	for {
		if e := rawErrno(syscall.Mkdirat(dir, name, mode)); e != syscall.EINTR {
			return e
		}
	}
}

func unlinkat(dir int, name string, flags int) syscall.Errno {
	p := unsafe.Pointer(cstring(name))
	for {
		_, _, e := syscall.Syscall(syscall.SYS_UNLINKAT, uintptr(dir), uintptr(p), uintptr(flags))
		if e != syscall.EINTR {
			return e
		}
	}
}

func renameat(dir int, name string, dir2 int, name2 string) syscall.Errno {
	for {
		if e := rawErrno(syscall.Renameat(dir, name, dir2, name2)); e != syscall.EINTR {
			return e
		}
	}
}

func linkat(dir int, name string, dir2 int, name2 string) syscall.Errno {
	p, p2 := unsafe.Pointer(cstring(name)), unsafe.Pointer(cstring(name2))
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_LINKAT, uintptr(dir), uintptr(p), uintptr(dir2), uintptr(p2), 0, 0)
		if e != syscall.EINTR {
			return e
		}
	}
}

func symlinkat(target string, dir int, name string) syscall.Errno {
	p, p2 := unsafe.Pointer(cstring(target)), unsafe.Pointer(cstring(name))
	for {
		_, _, e := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(p), uintptr(dir), uintptr(p2))
		if e != syscall.EINTR {
			return e
		}
	}
}

// setTimes sets the times of what fd denotes, be it opened with O_PATH or not.
func setTimes(fd int, ts *[2]syscall.Timespec) syscall.Errno {
	var empty [1]byte
	_, _, e := syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(ts)), atEmptyPath, 0, 0)
	if e != syscall.EINVAL && e != syscall.ENOENT {
		return e
	}
	// Kernels before 5.8 know no empty path here. The link in /proc leads to
	// the open file itself, not along a path.
	p := cstring(procFd(fd))
	const cwd = ^uintptr(99) // AT_FDCWD, not used with an absolute path
	_, _, e = syscall.Syscall6(syscall.SYS_UTIMENSAT, cwd, uintptr(unsafe.Pointer(p)),
		uintptr(unsafe.Pointer(ts)), 0, 0, 0)
	return e
}

// procFd names the open file behind fd.
func procFd(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// ppoll waits until a descriptor is ready or d nanoseconds have passed;
// negative means without end. EINTR is the caller's to handle.
func ppoll(fds []pollFd, d int64) (int, syscall.Errno) {
	var p unsafe.Pointer
	if len(fds) != 0 {
		p = unsafe.Pointer(&fds[0])
	}
	var ts *syscall.Timespec
	if d >= 0 {
		t := syscall.NsecToTimespec(d)
		ts = &t
	}
	n, _, e := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(p), uintptr(len(fds)), uintptr(unsafe.Pointer(ts)), 0, 0, 0)
	return int(n), e
}

// ready reports whether fd would not block for events now.
func ready(fd int, events int16) bool {
	p := [1]pollFd{{fd: int32(fd), events: events}}
	n, e := ppollFully(p[:], 0)
	return e != 0 || n > 0
}

// ppollFully is ppoll that goes on when a signal cuts it short.
func ppollFully(fds []pollFd, d int64) (int, syscall.Errno) {
	n, e := ppoll(fds, d)
	if e != syscall.EINTR {
		return n, e
	}
	start := time.Now()
	for {
		left := d
		if d > 0 {
			left = max(0, d-int64(time.Since(start)))
		}
		if n, e = ppoll(fds, left); e != syscall.EINTR {
			return n, e
		}
	}
}

// available returns the bytes that can be read from a pipe, terminal or socket.
func available(fd int) uint64 {
	var n int32
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), ioctlFionread, uintptr(unsafe.Pointer(&n)))
	if e != 0 || n < 0 {
		return 0
	}
	return uint64(n)
}

func isTerminal(fd int) bool {
	var t [64]byte // larger than any termios
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), ioctlTcgets, uintptr(unsafe.Pointer(&t[0])))
	return e == 0
}

// socketType returns the type of a socket, or typeUnknown for what is none.
func socketType(fd int) fileType {
	n, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
	switch {
	case err != nil:
		return typeUnknown
	case n == syscall.SOCK_STREAM || n == syscall.SOCK_SEQPACKET:
		return typeSocketStream
	}
	return typeSocketDgram
}

func isStream(fd int) bool {
	n, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
	return err == nil && n == syscall.SOCK_STREAM
}

// typeOf returns the file type of a mode. A pipe has none in preview 1.
func typeOf(mode uint32) fileType {
	switch mode & syscall.S_IFMT {
	case syscall.S_IFBLK:
		return typeBlockDevice
	case syscall.S_IFCHR:
		return typeCharacterDevice
	case syscall.S_IFDIR:
		return typeDirectory
	case syscall.S_IFREG:
		return typeRegular
	case syscall.S_IFSOCK:
		return typeSocketStream
	case syscall.S_IFLNK:
		return typeSymlink
	}
	return typeUnknown
}

// setStatusFlags switches O_APPEND and O_NONBLOCK of an open file.
func setStatusFlags(fd int, clear, set uintptr) syscall.Errno {
	fl, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0)
	if e != 0 {
		return e
	}
	_, _, e = syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFL, fl&^clear|set)
	return e
}

// vectored makes one readv-like call (number trap) over bufs, with the offset
// pos for the positional ones, and the flags for those that have flags. It keeps
// no pointer to the buffers.
func (c *Context) vectored(trap uintptr, fd int, bufs [][]byte, pos int64, flags uintptr) (int, syscall.Errno) {
	c.iov = c.iov[:0]
	for _, b := range bufs {
		v := syscall.Iovec{Base: &b[0]}
		v.SetLen(len(b))
		c.iov = append(c.iov, v)
	}
	defer clear(c.iov)
	for {
		n, _, e := syscall.Syscall6(trap, uintptr(fd), uintptr(unsafe.Pointer(&c.iov[0])),
			uintptr(len(c.iov)), uintptr(pos), 0, flags)
		if e != syscall.EINTR {
			return int(n), e
		}
	}
}

// message makes one recvmsg or sendmsg call (number trap) over bufs, and gives
// the flags that recvmsg reports.
func (c *Context) message(trap uintptr, fd int, bufs [][]byte, flags int) (int, int, syscall.Errno) {
	c.iov = c.iov[:0]
	for _, b := range bufs {
		v := syscall.Iovec{Base: &b[0]}
		v.SetLen(len(b))
		c.iov = append(c.iov, v)
	}
	defer clear(c.iov)
	var msg syscall.Msghdr
	if len(c.iov) != 0 {
		msg.Iov = &c.iov[0]
		msg.Iovlen = uint64(len(c.iov))
	}
	for {
		n, _, e := syscall.Syscall(trap, uintptr(fd), uintptr(unsafe.Pointer(&msg)), uintptr(flags))
		if e != syscall.EINTR {
			return int(n), int(msg.Flags), e
		}
	}
}

// trimSlashes cuts trailing slashes and reports whether there were any.
func trimSlashes(s string) (string, bool) {
	t := strings.TrimRight(s, "/")
	return t, len(t) != len(s)
}
