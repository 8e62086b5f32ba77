//go:build linux

package wasi

import (
	"io"
	"math"
	"syscall"
	"unsafe"
)

// noOffset asks for the descriptor's own position instead of a given one.
const noOffset = -1

func fdRead(c *Context, m memory, p []uint64) Errno {
	return c.read(m, p, noOffset, uint32(p[3]))
}

func fdPread(c *Context, m memory, p []uint64) Errno {
	if p[3] > math.MaxInt64 {
		return ErrnoInval
	}
	return c.read(m, p, int64(p[3]), uint32(p[4]))
}

func fdWrite(c *Context, m memory, p []uint64) Errno {
	return c.write(m, p, noOffset, uint32(p[3]))
}

func fdPwrite(c *Context, m memory, p []uint64) Errno {
	if p[3] > math.MaxInt64 {
		return ErrnoInval
	}
	return c.write(m, p, int64(p[3]), uint32(p[4]))
}

// transferable finds a descriptor to read (right FD_READ) or write. A missing
// right is EBADF, as for a POSIX descriptor opened the other way.
func (c *Context) transferable(fd uint32, right rights) (*descriptor, Errno) {
	d, e := c.lookup(fd)
	switch {
	case e != 0:
		return nil, e
	case d.typ == typeDirectory:
		return nil, ErrnoIsdir
	case !d.can(right):
		return nil, ErrnoBadf
	}
	return d, ErrnoSuccess
}

func (c *Context) read(m memory, p []uint64, off int64, result uint32) Errno {
	d, e := c.transferable(uint32(p[0]), rightFdRead)
	if e != 0 {
		return e
	}
	if _, ok := m.bytes(result, 4); !ok {
		return ErrnoFault
	}
	bufs, e := c.iovecs(m, uint32(p[1]), uint32(p[2]))
	if e != 0 {
		return e
	}
	defer c.giveBack(bufs)
	n, e := c.readInto(d, bufs, off)
	if e != 0 {
		return e
	}
	return m.putU32(result, uint32(n))
}

// iovecs returns n buffers of the guest that are described at address at. They are the context's until giveBack, so that a stream of the program may
// call the guest, and that this context, meanwhile.
func (c *Context) iovecs(m memory, at, n uint32) ([][]byte, Errno) {
	bufs := c.bufs
	c.bufs = nil
	return m.iovecs(bufs[:0], at, n)
}

// giveBack ends the use of buffers.
func (c *Context) giveBack(bufs [][]byte) {
	clear(bufs)
	c.bufs = bufs[:0]
}

// readInto reads once into bufs. Zero bytes are the end, or no room given.
func (c *Context) readInto(d *descriptor, bufs [][]byte, off int64) (int, Errno) {
	if d.fd < 0 {
		if (d.r != nil || d.node != nil) && c.interrupted() {
			return 0, c.interrupt()
		}
		if d.node != nil {
			return d.node.read(bufs, off)
		}
		return readStream(d.r, bufs, off)
	}
	if len(bufs) == 0 {
		return 0, ErrnoSuccess
	}
	if d.waits && off == noOffset && c.done != nil {
		return c.transferWaiting(d, bufs, pollIn)
	}
	if d.waits && off == noOffset && d.flags&flagNonblock != 0 && !ready(d.fd, pollIn) {
		return 0, ErrnoAgain
	}
	for {
		n, e := c.readOnce(d.fd, bufs, off)
		// The host may have made the open file non-blocking; for the guest it is
		// what the guest asked for.
		if e == syscall.EAGAIN && d.flags&flagNonblock == 0 {
			if e := c.waitReady(d.fd, pollIn); e != 0 {
				return 0, e
			}
			continue
		}
		return n, hostErrno(e)
	}
}

func (c *Context) readOnce(fd int, bufs [][]byte, off int64) (int, syscall.Errno) {
	if len(bufs) > 1 {
		if off == noOffset {
			return c.vectored(syscall.SYS_READV, fd, bufs, 0, 0)
		}
		return c.vectored(syscall.SYS_PREADV, fd, bufs, off, 0)
	}
	return single(syscall.SYS_READ, syscall.SYS_PREAD64, fd, bufs[0], off)
}

// single makes one call over one buffer: plain, or positional with an offset.
func single(plain, positional uintptr, fd int, b []byte, off int64) (int, syscall.Errno) {
	for {
		var n uintptr
		var e syscall.Errno
		if off == noOffset {
			n, _, e = syscall.Syscall(plain, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		} else {
			n, _, e = syscall.Syscall6(positional, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(off), 0, 0)
		}
		if e != syscall.EINTR {
			return int(n), e
		}
	}
}

// readStream reads from a Reader, which may be nil. Only the first buffer is
// filled: a second read might block with data already here.
func readStream(r io.Reader, bufs [][]byte, off int64) (int, Errno) {
	if off != noOffset {
		return 0, ErrnoSpipe
	}
	if r == nil || len(bufs) == 0 {
		return 0, ErrnoSuccess
	}
	// A Reader may return no bytes and no error, but not for ever.
	for range 100 {
		n, err := r.Read(bufs[0])
		switch {
		case n < 0 || n > len(bufs[0]):
			return 0, ErrnoIo
		case n > 0 || err == io.EOF:
			return n, ErrnoSuccess
		case err != nil:
			return 0, streamErrno(err)
		}
	}
	return 0, ErrnoIo
}

// streamErrno keeps the number in a Reader's or Writer's error, if it has one.
func streamErrno(err error) Errno {
	for err != nil {
		switch e := err.(type) {
		case syscall.Errno:
			return hostErrno(e)
		case Errno:
			if e != 0 {
				return e
			}
			return ErrnoIo
		case interface{ Unwrap() error }:
			err = e.Unwrap()
		default:
			if err == io.ErrClosedPipe {
				return ErrnoPipe
			}
			return ErrnoIo
		}
	}
	return ErrnoIo
}

func (c *Context) write(m memory, p []uint64, off int64, result uint32) Errno {
	d, e := c.transferable(uint32(p[0]), rightFdWrite)
	if e != 0 {
		return e
	}
	if _, ok := m.bytes(result, 4); !ok {
		return ErrnoFault
	}
	bufs, e := c.iovecs(m, uint32(p[1]), uint32(p[2]))
	if e != 0 {
		return e
	}
	defer c.giveBack(bufs)
	n, e := c.writeFrom(d, bufs, off)
	if e != 0 && n == 0 {
		return e
	}
	return m.putU32(result, uint32(n))
}

// writeFrom writes all of bufs, or until an error; a non-blocking descriptor
// takes what it takes at once. It consumes bufs.
func (c *Context) writeFrom(d *descriptor, bufs [][]byte, off int64) (int, Errno) {
	if d.fd < 0 {
		if d.w != nil && c.interrupted() {
			return 0, c.interrupt()
		}
		return writeStream(d.w, bufs, off)
	}
	nonblock := d.flags&flagNonblock != 0
	interruptible := d.waits && off == noOffset && c.done != nil
	if d.waits && off == noOffset && nonblock && len(bufs) != 0 && !interruptible && !ready(d.fd, pollOut) {
		return 0, ErrnoAgain
	}
	total := 0
	for len(bufs) != 0 {
		var n int
		var errno Errno
		if interruptible {
			n, errno = c.transferWaiting(d, bufs, pollOut)
		} else {
			var e syscall.Errno
			n, e = c.writeOnce(d.fd, bufs, off)
			if errno = hostErrno(e); e == syscall.EAGAIN && !nonblock {
				if errno = c.waitReady(d.fd, pollOut); errno == 0 {
					continue
				}
			}
		}
		if errno != 0 {
			return total, errno
		}
		total += n
		if nonblock && d.waits {
			break
		}
		if off != noOffset {
			off += int64(n)
		}
		bufs = advance(bufs, n)
	}
	return total, ErrnoSuccess
}

func (c *Context) writeOnce(fd int, bufs [][]byte, off int64) (int, syscall.Errno) {
	if len(bufs) > 1 {
		if off == noOffset {
			return c.vectored(syscall.SYS_WRITEV, fd, bufs, 0, 0)
		}
		return c.vectored(syscall.SYS_PWRITEV, fd, bufs, off, 0)
	}
	return single(syscall.SYS_WRITE, syscall.SYS_PWRITE64, fd, bufs[0], off)
}

// advance takes n bytes off the front of bufs, in place.
func advance(bufs [][]byte, n int) [][]byte {
	for len(bufs) != 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n != 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}

func writeStream(w io.Writer, bufs [][]byte, off int64) (int, Errno) {
	if off != noOffset {
		return 0, ErrnoSpipe
	}
	total := 0
	for _, b := range bufs {
		if w == nil {
			total += len(b)
			continue
		}
		n, err := w.Write(b)
		if n < 0 || n > len(b) {
			return total, ErrnoIo
		}
		total += n
		if err != nil {
			return total, streamErrno(err)
		}
		if n < len(b) {
			return total, ErrnoIo
		}
	}
	return total, ErrnoSuccess
}

func fdSeek(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookupFile(uint32(p[0]), rightFdSeek)
	if e != 0 {
		return e
	}
	// Whence is numbered as on Linux: start, current, end.
	return seek(d, m, int64(p[1]), uint32(p[2]), uint32(p[3]))
}

func fdTell(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookupFile(uint32(p[0]), rightFdTell)
	if e != 0 {
		return e
	}
	return seek(d, m, 0, io.SeekCurrent, uint32(p[1]))
}

func seek(d *descriptor, m memory, off int64, whence, result uint32) Errno {
	if whence > io.SeekEnd {
		return ErrnoInval
	}
	if d.fd < 0 && d.node == nil {
		return ErrnoSpipe
	}
	if _, ok := m.bytes(result, 8); !ok {
		return ErrnoFault
	}
	if d.node != nil {
		pos, e := d.node.seek(off, whence)
		if e != 0 {
			return e
		}
		return m.putU64(result, uint64(pos))
	}
	pos, err := syscall.Seek(d.fd, off, int(whence))
	if err != nil {
		return errnoOf(err)
	}
	return m.putU64(result, uint64(pos))
}
