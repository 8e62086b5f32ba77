//go:build linux

package wasi

import (
	"encoding/binary"
	"syscall"
)

// The bits of riflags, roflags and sdflags.
const (
	recvPeek      = 1
	recvWaitall   = 2
	recvTruncated = 1
	shutRead      = 1
	shutWrite     = 2
)

// lookupSock finds a socket that holds right r.
func (c *Context) lookupSock(fd uint32, r rights) (*descriptor, Errno) {
	d, e := c.lookup(fd)
	if e != 0 {
		return nil, e
	}
	if d.fd < 0 || d.typ != typeSocketStream && d.typ != typeSocketDgram {
		return nil, ErrnoNotSock
	}
	return d, d.need(r)
}

func sockAccept(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookupSock(uint32(p[0]), rightSockAccept)
	if e != 0 {
		return e
	}
	flags := uint32(p[1])
	if flags&^uint32(flagNonblock) != 0 {
		return ErrnoInval
	}
	if _, ok := m.bytes(uint32(p[2]), 4); !ok {
		return ErrnoFault
	}
	if c.full() {
		return ErrnoMfile
	}
	nonblock := d.flags&flagNonblock != 0
	for {
		fd, err := -1, error(syscall.EAGAIN)
		if !nonblock && c.done == nil || ready(d.fd, pollIn) {
			fd, _, err = syscall.Accept4(d.fd, syscall.SOCK_CLOEXEC)
		}
		if err == nil {
			if n, e := aboveStreams(fd); e != 0 {
				err = e
			} else {
				fd = n
			}
		}
		switch {
		case err == nil:
			n := &descriptor{
				fd: fd, typ: d.typ, flags: fdFlags(flags), waits: true, dirPos: dirPosUnknown,
				base: rightsSock &^ d.deniedBelow, inheriting: d.inheriting,
				denied: rightsAll&^rightsSock | d.deniedBelow, deniedBelow: d.deniedBelow,
			}
			return m.putU32(uint32(p[2]), c.insert(n))
		case err == syscall.EINTR || err == syscall.ECONNABORTED:
		case err == syscall.EAGAIN && !nonblock:
			if e := c.waitReady(d.fd, pollIn); e != 0 {
				return e
			}
		default:
			return errnoOf(err)
		}
	}
}

func sockRecv(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookupSock(uint32(p[0]), rightFdRead)
	if e != 0 {
		return e
	}
	riflags := uint32(p[3])
	if riflags&^(recvPeek|recvWaitall) != 0 {
		return ErrnoInval
	}
	_, ok := m.bytes(uint32(p[4]), 4)
	roflags, ok2 := m.bytes(uint32(p[5]), 2)
	if !ok || !ok2 {
		return ErrnoFault
	}
	bufs, e := c.iovecs(m, uint32(p[1]), uint32(p[2]))
	if e != 0 {
		return e
	}
	defer c.giveBack(bufs)
	flags := 0
	if riflags&recvPeek != 0 {
		flags |= syscall.MSG_PEEK
	}
	if riflags&recvWaitall != 0 {
		flags |= syscall.MSG_WAITALL
	}
	// The kernel does not wait for all where it is told not to wait; datagrams
	// have no more to come.
	all := c.done != nil && riflags == recvWaitall && isStream(d.fd)
	n, got, e := c.messages(d, syscall.SYS_RECVMSG, bufs, flags, all)
	if e != 0 {
		return e
	}
	out := uint16(0)
	if got&syscall.MSG_TRUNC != 0 {
		out = recvTruncated
	}
	binary.LittleEndian.PutUint16(roflags, out)
	return m.putU32(uint32(p[4]), uint32(n))
}

// messages makes one recvmsg or sendmsg call (number trap) that waits, if it
// has to, where it can be interrupted. With all it makes more calls, until bufs
// are done, an error or the end; it consumes bufs.
func (c *Context) messages(d *descriptor, trap uintptr, bufs [][]byte, flags int, all bool) (total, got int, e Errno) {
	nonblock, events := d.flags&flagNonblock != 0, int16(pollIn)
	if trap == syscall.SYS_SENDMSG {
		events = pollOut
	}
	if nonblock || c.done != nil {
		flags |= syscall.MSG_DONTWAIT
	}
	for {
		n, got, errno := c.message(trap, d.fd, bufs, flags)
		if errno == syscall.EAGAIN && !nonblock {
			if e := c.waitReady(d.fd, events); e != 0 {
				return total, 0, e
			}
			continue
		}
		if errno != 0 {
			if total != 0 {
				return total, 0, ErrnoSuccess
			}
			return 0, 0, hostErrno(errno)
		}
		total += n
		if all {
			bufs = advance(bufs, n)
		}
		if !all || n == 0 || len(bufs) == 0 || nonblock {
			return total, got, ErrnoSuccess
		}
	}
}

func sockSend(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookupSock(uint32(p[0]), rightFdWrite)
	if e != 0 {
		return e
	}
	if uint32(p[3]) != 0 {
		return ErrnoInval
	}
	if _, ok := m.bytes(uint32(p[4]), 4); !ok {
		return ErrnoFault
	}
	bufs, e := c.iovecs(m, uint32(p[1]), uint32(p[2]))
	if e != 0 {
		return e
	}
	defer c.giveBack(bufs)
	const flags = syscall.MSG_NOSIGNAL
	// Only a stream takes a part, so only there is anything left to send.
	n, _, e := c.messages(d, syscall.SYS_SENDMSG, bufs, flags, c.done != nil)
	if e != 0 {
		return e
	}
	return m.putU32(uint32(p[4]), uint32(n))
}

func sockShutdown(c *Context, _ memory, p []uint64) Errno {
	d, e := c.lookupSock(uint32(p[0]), rightSockShutdown)
	if e != 0 {
		return e
	}
	how := 0
	switch uint32(p[1]) {
	case shutRead:
		how = syscall.SHUT_RD
	case shutWrite:
		how = syscall.SHUT_WR
	case shutRead | shutWrite:
		how = syscall.SHUT_RDWR
	default:
		return ErrnoInval
	}
	return errnoOf(syscall.Shutdown(d.fd, how))
}
