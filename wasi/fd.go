//go:build linux

package wasi

import (
	"encoding/binary"
	"math"
	"syscall"
)

func fdClose(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookup(uint32(p[0]))
	if e != 0 {
		return e
	}
	c.remove(uint32(p[0]))
	return d.close()
}

// lastStandard is the number of standard error.
const lastStandard = 2

// fdRenumber moves a descriptor over another open one, which is closed. A standard stream
// may be closed already: programs that exchange one move it away, and something else to its number.
func fdRenumber(c *Context, _ memory, p []uint64) Errno {
	from, to := uint32(p[0]), uint32(p[1])
	d, e := c.lookup(from)
	if e != 0 {
		return e
	}
	switch {
	case from == to:
		return ErrnoSuccess
	case uint64(to) >= uint64(len(c.fds)):
		return ErrnoBadf
	}
	old := c.fds[to]
	if old == nil && to > lastStandard {
		return ErrnoBadf
	}
	c.fds[to] = d
	c.remove(from)
	if old == nil {
		c.open++ // remove counted one less
		return ErrnoSuccess
	}
	// An error from closing the old descriptor is lost, as with dup2.
	old.close()
	return ErrnoSuccess
}

func fdAdvise(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookup(uint32(p[0]))
	if e != 0 {
		return e
	}
	if d.typ == typeDirectory {
		return ErrnoBadf
	}
	if e := d.need(rightFdAdvise); e != 0 {
		return e
	}
	off, n, advice := p[1], p[2], uint32(p[3])
	// Numbered as on Linux, except that these two are exchanged.
	advices := [...]uint8{0 /* normal */, 2 /* sequential */, 1 /* random */, 3 /* will need */, 4 /* don't need */, 5 /* no reuse */}
	if uint64(advice) >= uint64(len(advices)) || off > math.MaxInt64 || n > math.MaxInt64 {
		return ErrnoInval
	}
	if d.node != nil {
		return ErrnoSuccess
	}
	if d.fd < 0 {
		return ErrnoSpipe
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, uintptr(d.fd), uintptr(off), uintptr(n), uintptr(advices[advice]), 0, 0)
	return hostErrno(errno)
}

func fdAllocate(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookupFile(uint32(p[0]), rightFdAllocate)
	if e != 0 {
		return e
	}
	if p[1] > math.MaxInt64 || p[2] > math.MaxInt64 || p[2] == 0 {
		return ErrnoInval
	}
	if d.fd < 0 {
		return ErrnoSpipe
	}
	for {
		err := syscall.Fallocate(d.fd, 0, int64(p[1]), int64(p[2]))
		if err != syscall.EINTR {
			return errnoOf(err)
		}
	}
}

func fdSync(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookupFor(uint32(p[0]), rightFdSync)
	if e != 0 || d.fd < 0 {
		return e
	}
	return untilDone(d.fd, syscall.Fsync)
}

func fdDatasync(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookupFor(uint32(p[0]), rightFdDatasync)
	if e != 0 || d.fd < 0 {
		return e
	}
	return untilDone(d.fd, syscall.Fdatasync)
}

// untilDone makes a call again when a signal has cut it short.
func untilDone(fd int, call func(int) error) Errno {
	for {
		if err := call(fd); err != syscall.EINTR {
			return errnoOf(err)
		}
	}
}

func fdFdstatGet(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookup(uint32(p[0]))
	if e != 0 {
		return e
	}
	b, ok := m.bytes(uint32(p[1]), 24)
	if !ok {
		return ErrnoFault
	}
	clear(b[:8])
	b[0] = byte(d.typ)
	binary.LittleEndian.PutUint16(b[2:], uint16(d.flags))
	binary.LittleEndian.PutUint64(b[8:], uint64(d.base))
	binary.LittleEndian.PutUint64(b[16:], uint64(d.inheriting))
	return ErrnoSuccess
}

// fdFdstatSetFlags changes APPEND and NONBLOCK; the synchronous flags are fixed
// when a file is opened. NONBLOCK is kept by the descriptor alone, see readInto.
func fdFdstatSetFlags(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookupFor(uint32(p[0]), rightFdFdstatSetFlags)
	if e != 0 {
		return e
	}
	if uint32(p[1])&^uint32(flagsAll) != 0 {
		return ErrnoInval
	}
	flags := fdFlags(p[1])
	if (flags^d.flags)&flagsSync != 0 {
		return ErrnoNotSup
	}
	if (flags^d.flags)&flagAppend != 0 && d.fd >= 0 && !d.shared && d.typ == typeRegular {
		set := uintptr(0)
		if flags&flagAppend != 0 {
			set = syscall.O_APPEND
		}
		if e := setStatusFlags(d.fd, syscall.O_APPEND, set); e != 0 {
			return hostErrno(e)
		}
	}
	d.flags = flags
	return ErrnoSuccess
}

func fdFdstatSetRights(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookup(uint32(p[0]))
	if e != 0 {
		return e
	}
	base, inheriting := rights(p[1]), rights(p[2])
	if base&^d.base != 0 || inheriting&^d.inheriting != 0 {
		return ErrnoNotCapable
	}
	d.denied |= d.base &^ base
	d.deniedBelow |= d.inheriting &^ inheriting
	d.base, d.inheriting = base, inheriting
	return ErrnoSuccess
}

func fdFilestatGet(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookupFor(uint32(p[0]), rightFdFilestatGet)
	if e != 0 {
		return e
	}
	if d.node != nil {
		return m.statOpenNode(uint32(p[1]), d)
	}
	if d.fd < 0 {
		return m.putFilestat(uint32(p[1]), &syscall.Stat_t{}, d.typ)
	}
	return m.statFd(uint32(p[1]), d.fd)
}

// statFd writes what fd is at ptr.
func (m memory) statFd(ptr uint32, fd int) Errno {
	var st syscall.Stat_t
	if e := fstat(fd, &st); e != 0 {
		return hostErrno(e)
	}
	typ := typeOf(st.Mode)
	if typ == typeSocketStream {
		// The type of a socket that is merely named cannot be asked for.
		if t := socketType(fd); t != typeUnknown {
			typ = t
		}
	}
	return m.putFilestat(ptr, &st, typ)
}

func (m memory) putFilestat(ptr uint32, st *syscall.Stat_t, typ fileType) Errno {
	b, ok := m.bytes(ptr, 64)
	if !ok {
		return ErrnoFault
	}
	clear(b[16:24])
	b[16] = byte(typ)
	le := binary.LittleEndian
	le.PutUint64(b[0:], uint64(st.Dev))
	le.PutUint64(b[8:], uint64(st.Ino))
	le.PutUint64(b[24:], uint64(st.Nlink))
	le.PutUint64(b[32:], uint64(st.Size))
	le.PutUint64(b[40:], uint64(st.Atim.Nano()))
	le.PutUint64(b[48:], uint64(st.Mtim.Nano()))
	le.PutUint64(b[56:], uint64(st.Ctim.Nano()))
	return ErrnoSuccess
}

func fdFilestatSetSize(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookupFile(uint32(p[0]), rightFdFilestatSetSize)
	if e != 0 {
		return e
	}
	if p[1] > math.MaxInt64 || d.fd < 0 {
		return ErrnoInval
	}
	for {
		err := syscall.Ftruncate(d.fd, int64(p[1]))
		if err != syscall.EINTR {
			return errnoOf(err)
		}
	}
}

func fdFilestatSetTimes(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookupFor(uint32(p[0]), rightFdFilestatSetTimes)
	if e != 0 {
		return e
	}
	ts, e := fileTimes(p[1], p[2], uint32(p[3]))
	if e != 0 {
		return e
	}
	if d.fd < 0 {
		return ErrnoInval
	}
	return hostErrno(setTimes(d.fd, &ts))
}

// fileTimes turns times and fstflags into what utimensat takes.
func fileTimes(atim, mtim uint64, flags uint32) (ts [2]syscall.Timespec, e Errno) {
	if flags > 15 {
		return ts, ErrnoInval
	}
	for i, t := range [2]uint64{atim, mtim} {
		set, now := flags>>(2*i)&1 != 0, flags>>(2*i+1)&1 != 0
		switch {
		case set && now:
			return ts, ErrnoInval
		case set:
			ts[i] = syscall.Timespec{Sec: int64(t / 1e9), Nsec: int64(t % 1e9)}
		case now:
			ts[i].Nsec = utimeNow
		default:
			ts[i].Nsec = utimeOmit
		}
	}
	return ts, ErrnoSuccess
}

func fdPrestatGet(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookup(uint32(p[0]))
	if e != 0 {
		return e
	}
	if !d.preopen {
		return ErrnoBadf
	}
	b, ok := m.bytes(uint32(p[1]), 8)
	if !ok {
		return ErrnoFault
	}
	clear(b[:4]) // tag 0, a directory, and padding
	binary.LittleEndian.PutUint32(b[4:], uint32(len(d.name)))
	return ErrnoSuccess
}

func fdPrestatDirName(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookup(uint32(p[0]))
	if e != 0 {
		return e
	}
	if !d.preopen {
		return ErrnoBadf
	}
	b, ok := m.bytes(uint32(p[1]), uint32(p[2]))
	if !ok {
		return ErrnoFault
	}
	if len(b) < len(d.name) {
		return ErrnoNameTooLong
	}
	copy(b, d.name)
	return ErrnoSuccess
}
