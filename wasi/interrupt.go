//go:build linux

package wasi

import (
	"syscall"
	"time"
	"unsafe"
)

// Error is a constant error of this package.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }

// ErrInterrupted is the error of a call that had to wait when the channel given
// to [Context.SetInterrupt] was closed, or was closed before. What the call did
// until then is done; the guest is to be unwound.
const ErrInterrupted = Error("wasi: interrupted while waiting")

// SetInterrupt makes calls that have to wait end with [ErrInterrupted] once done
// is closed, in less than a millisecond on an idle machine; nil, the default,
// lets them wait. It only stores the channel and may precede every call, but not
// be called during one.
//
// Interrupted are poll_oneoff and the reading, writing, receiving, sending and
// accepting on pipes, terminals, sockets and other devices; opening a FIFO; and
// random_get between pieces of 64 KiB. Not interrupted are transfers from and to
// files, a Reader or Writer that is no *os.File, and [Options.Nanosleep]; of these
// the last three are not called any more once done is closed. A listening socket
// is best non-blocking: if another process takes the connection that woke this
// one, accepting waits on.
//
// While a channel is set, a FIFO opened for reading opens at once, and reading
// from it waits for the first writer's data; one opened for writing looks for a
// reader every few milliseconds; and a message received with both RECV_PEEK and
// RECV_WAITALL may be as short as without RECV_WAITALL.
func (c *Context) SetInterrupt(done <-chan struct{}) { c.done = done }

// interrupted reports whether the channel has been closed.
func (c *Context) interrupted() bool {
	if c.done == nil {
		return false
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// interrupt ends the call with ErrInterrupted.
func (c *Context) interrupt() Errno {
	c.err = ErrInterrupted
	return ErrnoIntr
}

// waker is what ends the waiting in the kernel. The zero value has no eventfd
// yet.
type waker struct {
	fd   int // of an eventfd, when stop is not nil
	stop chan struct{}
}

func (k *waker) open() syscall.Errno {
	if k.stop != nil {
		return 0
	}
	const flags = syscall.O_CLOEXEC | syscall.O_NONBLOCK // as EFD_CLOEXEC, EFD_NONBLOCK
	fd, _, e := syscall.Syscall(syscall.SYS_EVENTFD2, 0, flags, 0)
	if e != 0 {
		return e
	}
	n, e := aboveStreams(int(fd))
	if e == 0 {
		k.fd, k.stop = n, make(chan struct{})
	}
	return e
}

func (k *waker) close() {
	if k.stop != nil {
		syscall.Close(k.fd)
		*k = waker{}
	}
}

// watch makes the eventfd readable when done is closed. It ends with a receive
// from stop, after which it does nothing.
func watch(done <-chan struct{}, fd int, stop chan struct{}) {
	select {
	case <-stop:
	case <-done:
		one := uint64(1)
		syscall.Syscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&one)), 8)
		<-stop
	}
}

// wait blocks until one of fds is ready, or for ns nanoseconds if that is not
// negative. The last of fds is not the caller's: it is room for the eventfd.
func (c *Context) wait(fds []pollFd, ns int64) Errno {
	last := len(fds) - 1
	if c.done == nil || ns == 0 {
		_, e := ppollFully(fds[:last], ns)
		return hostErrno(e)
	}
	if c.interrupted() {
		return c.interrupt()
	}
	if e := c.waker.open(); e != 0 {
		return hostErrno(e)
	}
	fds[last] = pollFd{fd: int32(c.waker.fd), events: pollIn}
	go watch(c.done, c.waker.fd, c.waker.stop)
	n, e := ppollFully(fds, ns)
	c.waker.stop <- struct{}{}
	if e != 0 || !c.interrupted() {
		return hostErrno(e)
	}
	// The count of the eventfd is reset, be it written or not.
	var count uint64
	syscall.Syscall(syscall.SYS_READ, uintptr(c.waker.fd), uintptr(unsafe.Pointer(&count)), 8)
	if fds[last].revents != 0 {
		n--
	}
	if n <= 0 {
		return c.interrupt()
	}
	return ErrnoSuccess
}

// waitReady blocks until fd is ready for events.
func (c *Context) waitReady(fd int, events int16) Errno {
	p := [2]pollFd{{fd: int32(fd), events: events}}
	return c.wait(p[:], -1)
}

// sleep waits for ns nanoseconds.
func (c *Context) sleep(ns int64) Errno {
	switch {
	case c.interrupted():
		return c.interrupt()
	case c.nanosleep != nil:
		c.nanosleep(time.Duration(ns))
		if c.interrupted() {
			return c.interrupt()
		}
	case c.done == nil:
		time.Sleep(time.Duration(ns))
	default:
		return c.pause(time.Duration(ns))
	}
	return ErrnoSuccess
}

// pause waits for d or until it is interrupted. A channel is set.
func (c *Context) pause(d time.Duration) Errno {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	select {
	case <-c.timer.C:
		return ErrnoSuccess
	case <-c.done:
		if c.timer.Stop(); len(c.timer.C) != 0 {
			<-c.timer.C // only with the old channels of GODEBUG=asynctimerchan=1
		}
		return c.interrupt()
	}
}

// attempt is how a transfer on a descriptor that may have to wait is tried
// without waiting. The status flag O_NONBLOCK would do, but belongs to whoever
// else holds the open file too.
type attempt uint8

const (
	attemptUnknown attempt = iota
	// attemptPlain: nothing waits, or the open file is non-blocking and the
	// guest's alone.
	attemptPlain
	// attemptMessage: MSG_DONTWAIT, for sockets.
	attemptMessage
	// attemptNowait: RWF_NOWAIT, which kernels since 6.4 know for pipes.
	attemptNowait
	// attemptReady: ask first whether the descriptor is ready. Someone else who
	// takes the data in between makes the transfer wait.
	attemptReady
	// attemptChunk is attemptReady and writes little, because a pipe or terminal
	// that is ready does not take everything at once.
	attemptChunk
)

// readyChunk is what a pipe that is ready for writing always takes at once.
const readyChunk = 4096

// chooseAttempt decides how transfers on d are tried, when the answer is not
// RWF_NOWAIT (refused says so) first.
func (d *descriptor) chooseAttempt(refused bool) {
	var st syscall.Stat_t
	switch {
	case d.typ == typeSocketStream || d.typ == typeSocketDgram:
		d.attempt = attemptMessage
		return
	case fstat(d.fd, &st) != 0:
		d.attempt = attemptReady
		return
	case st.Mode&syscall.S_IFMT == syscall.S_IFCHR && st.Rdev>>8 == 1: // null, zero, random and the like
		d.attempt = attemptPlain
		return
	case !refused && sysPreadv2 != 0:
		d.attempt = attemptNowait
		return
	}
	const newTerminal = 5<<8 | 2 // /dev/ptmx, which opens another one each time
	pipe := st.Mode&syscall.S_IFMT == syscall.S_IFIFO
	terminal := st.Mode&syscall.S_IFMT == syscall.S_IFCHR && isTerminal(d.fd)
	d.attempt = attemptReady
	if pipe || terminal {
		d.attempt = attemptChunk
	}
	if pipe || terminal && st.Rdev != newTerminal {
		d.private()
	}
}

// private replaces the host descriptor by one of the same pipe or terminal whose
// open file is non-blocking and not shared. Without /proc or permission nothing
// changes.
func (d *descriptor) private() {
	mode, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(d.fd), syscall.F_GETFL, 0)
	if e != 0 {
		return
	}
	flags := int(mode)&syscall.O_ACCMODE | syscall.O_NONBLOCK | syscall.O_NOCTTY
	fd, e := openat(-1, procFd(d.fd), flags, 0)
	if e != 0 {
		return
	}
	syscall.Close(d.fd)
	d.fd, d.shared, d.attempt = fd, false, attemptPlain
}

// transferWaiting does one read or write (as events says) over bufs that waits
// where it can be interrupted; the descriptor's own position is meant. EAGAIN is
// given only where the guest asked for non-blocking.
func (c *Context) transferWaiting(d *descriptor, bufs [][]byte, events int16) (int, Errno) {
	for {
		n, e := c.try(d, bufs, events)
		if e != syscall.EAGAIN || d.flags&flagNonblock != 0 {
			return n, hostErrno(e)
		}
		if e := c.waitReady(d.fd, events); e != 0 {
			return 0, e
		}
	}
}

// try makes one transfer that does not wait.
func (c *Context) try(d *descriptor, bufs [][]byte, events int16) (int, syscall.Errno) {
	if d.attempt == attemptUnknown {
		d.chooseAttempt(false)
	}
	read := events == pollIn
	switch d.attempt {
	case attemptMessage:
		trap, flags := uintptr(syscall.SYS_SENDMSG), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL
		if read {
			trap, flags = syscall.SYS_RECVMSG, syscall.MSG_DONTWAIT
		}
		n, _, e := c.message(trap, d.fd, bufs, flags)
		return n, e
	case attemptNowait:
		trap := uintptr(sysPwritev2)
		if read {
			trap = sysPreadv2
		}
		const rwfNowait = 8
		n, e := c.vectored(trap, d.fd, bufs, noOffset, rwfNowait)
		if e != syscall.EOPNOTSUPP && e != syscall.ENOSYS && e != syscall.EINVAL {
			return n, e
		}
		d.chooseAttempt(true)
		return c.try(d, bufs, events)
	case attemptReady, attemptChunk:
		if !ready(d.fd, events) {
			return 0, syscall.EAGAIN
		}
		if !read && d.attempt == attemptChunk {
			first := bufs[0]
			return single(syscall.SYS_WRITE, 0, d.fd, first[:min(len(first), readyChunk)], noOffset)
		}
	}
	if read {
		return c.readOnce(d.fd, bufs, noOffset)
	}
	return c.writeOnce(d.fd, bufs, noOffset)
}
