//go:build linux

package wasi

import (
	"strconv"
	"syscall"
	"time"
)

// openHost opens a path for the new descriptor n. Opening a device or a file of the
// kernel's may already do something, so what the path names is looked at first, by
// a descriptor that does not open it, and then that very file is opened.
func (c *Context) openHost(n, d *descriptor, path string, flags int) Errno {
	const creating = syscall.O_CREAT | syscall.O_EXCL
	for range 16 { // other files may come and go under that name
		e := c.openThere(n, d, path, flags)
		if e == ErrnoAgain {
			continue
		}
		if e != ErrnoNoent || flags&syscall.O_CREAT == 0 {
			return e
		}
		fd, e := createBeneath(d.fd, path, flags, 0o666)
		if e == 0 {
			return n.opened(c, fd)
		}
		if e != ErrnoExist || flags&creating == creating {
			return e
		}
	}
	return ErrnoAgain
}

// openThere opens what is there already.
func (c *Context) openThere(n, d *descriptor, path string, flags int) Errno {
	const kept = syscall.O_NOFOLLOW | syscall.O_DIRECTORY
	fd, e := c.openBeneath(d.fd, path, oPath|flags&kept)
	if e != 0 {
		return e
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if e := fstat(fd, &st); e != 0 {
		return hostErrno(e)
	}
	const exclusive = syscall.O_CREAT | syscall.O_EXCL
	switch e := openable(st.Mode, st.Rdev, d.devices); {
	case flags&exclusive == exclusive:
		return ErrnoExist
	case e != 0:
		return e
	case flags&syscall.O_CREAT != 0 && st.Mode&syscall.S_IFMT == syscall.S_IFDIR:
		return ErrnoIsdir
	}
	flags &^= exclusive | syscall.O_NOFOLLOW
	fifo := st.Mode&syscall.S_IFMT == syscall.S_IFIFO
	if c.done == nil {
		fd, e = c.reopen(fd, d, path, &st, flags)
	} else {
		fd, e = c.reopenWaiting(fd, d, path, &st, flags, fifo)
	}
	if e != 0 {
		return e
	}
	return n.opened(c, fd)
}

// opened makes n own the open file fd.
func (n *descriptor) opened(c *Context, fd int) Errno {
	n.fd = fd
	var st syscall.Stat_t
	if e := fstat(fd, &st); e != 0 {
		n.close()
		return hostErrno(e)
	}
	n.typ, n.dev = typeOf(st.Mode), st.Dev
	n.waits = n.typ == typeUnknown || n.typ == typeCharacterDevice
	if c.done != nil && n.waits { // then it has been opened non-blocking
		n.attempt = attemptPlain
		if n.typ == typeUnknown {
			n.attempt = attemptReady // a FIFO without a writer would look like the end of the file
		}
	}
	return ErrnoSuccess
}

// reopen opens for reading or writing the file that is open as fd with O_PATH,
// which st describes, and which path named below d.
func (c *Context) reopen(fd int, d *descriptor, path string, st *syscall.Stat_t, flags int) (int, Errno) {
	if c.procFds >= 0 {
		n, e := openat(c.procFds, strconv.Itoa(fd), flags, 0)
		return n, hostErrno(e)
	}
	// Without procfs there is only the path again. What is there now may be something
	// else, which then has been opened, but is not given to the guest.
	n, e := c.openBeneath(d.fd, path, flags)
	if e != 0 {
		return -1, e
	}
	var now syscall.Stat_t
	if e := fstat(n, &now); e != 0 || now.Dev != st.Dev || now.Ino != st.Ino {
		syscall.Close(n)
		return -1, ErrnoAgain
	}
	return n, ErrnoSuccess
}

// reopenWaiting is reopen that can be interrupted where a FIFO has no other end.
// It opens non-blocking, which files and directories do not care about.
func (c *Context) reopenWaiting(fd int, d *descriptor, path string, st *syscall.Stat_t, flags int, fifo bool) (int, Errno) {
	for {
		n, e := c.reopen(fd, d, path, st, flags|syscall.O_NONBLOCK)
		if e != ErrnoNxio || flags&syscall.O_NONBLOCK != 0 || !fifo {
			return n, e
		}
		const pause = 2 * time.Millisecond // nothing tells when a reader comes
		if e := c.pause(pause); e != 0 {
			return -1, e
		}
	}
}

// openProcFds opens the directory of procfs that has this process's descriptors, or
// gives -1 where it cannot. It is held open, and known to be the kernel's, so that
// a guest that may write to "/" cannot put another in its place.
func openProcFds() int {
	fd, e := openat(-1, "/proc/self/fd", oPath|syscall.O_DIRECTORY, 0)
	if e != 0 {
		return -1
	}
	var st syscall.Statfs_t
	err := syscall.Fstatfs(fd, &st)
	if err == nil && st.Type == procfsMagic {
		// A process that is not dumpable has no access.
		if self, e := openat(fd, strconv.Itoa(fd), oPath, 0); e == 0 {
			syscall.Close(self)
			return fd
		}
	}
	syscall.Close(fd)
	return -1
}
