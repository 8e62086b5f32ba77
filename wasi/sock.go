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
	if d.flags&flagNonblock != 0 && !ready(d.fd, pollIn) {
		return ErrnoAgain
	}
	for {
		fd, _, err := syscall.Accept4(d.fd, syscall.SOCK_CLOEXEC)
		switch {
		case err == nil:
			n := &descriptor{
				fd: fd, typ: d.typ, flags: fdFlags(flags), waits: true, dirPos: dirPosUnknown,
				base: rightsSock &^ d.deniedBelow, inheriting: d.inheriting,
				denied: rightsAll&^rightsSock | d.deniedBelow, deniedBelow: d.deniedBelow,
			}
			return m.putU32(uint32(p[2]), c.insert(n))
		case err == syscall.EINTR || err == syscall.ECONNABORTED:
		case err == syscall.EAGAIN && d.flags&flagNonblock == 0:
			waitReady(d.fd, pollIn)
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
	if c.bufs, e = m.iovecs(c.bufs[:0], uint32(p[1]), uint32(p[2])); e != 0 {
		return e
	}
	defer clear(c.bufs)
	flags := 0
	if riflags&recvPeek != 0 {
		flags |= syscall.MSG_PEEK
	}
	if riflags&recvWaitall != 0 {
		flags |= syscall.MSG_WAITALL
	}
	if d.flags&flagNonblock != 0 {
		flags |= syscall.MSG_DONTWAIT
	}
	for {
		n, got, errno := c.message(syscall.SYS_RECVMSG, d.fd, c.bufs, flags)
		if errno == syscall.EAGAIN && d.flags&flagNonblock == 0 {
			waitReady(d.fd, pollIn)
			continue
		}
		if errno != 0 {
			return hostErrno(errno)
		}
		out := uint16(0)
		if got&syscall.MSG_TRUNC != 0 {
			out = recvTruncated
		}
		binary.LittleEndian.PutUint16(roflags, out)
		return m.putU32(uint32(p[4]), uint32(n))
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
	if c.bufs, e = m.iovecs(c.bufs[:0], uint32(p[1]), uint32(p[2])); e != 0 {
		return e
	}
	defer clear(c.bufs)
	flags := syscall.MSG_NOSIGNAL
	if d.flags&flagNonblock != 0 {
		flags |= syscall.MSG_DONTWAIT
	}
	for {
		n, _, errno := c.message(syscall.SYS_SENDMSG, d.fd, c.bufs, flags)
		if errno == syscall.EAGAIN && d.flags&flagNonblock == 0 {
			waitReady(d.fd, pollOut)
			continue
		}
		if errno != 0 {
			return hostErrno(errno)
		}
		return m.putU32(uint32(p[4]), uint32(n))
	}
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
