//go:build linux

package wasi

import (
	"io"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

func argsGet(c *Context, m memory, p []uint64) Errno {
	return m.putStrings(c.args, uint32(p[0]), uint32(p[1]))
}

func argsSizesGet(c *Context, m memory, p []uint64) Errno {
	return m.putSizes(c.args, uint32(p[0]), uint32(p[1]))
}

func environGet(c *Context, m memory, p []uint64) Errno {
	return m.putStrings(c.env, uint32(p[0]), uint32(p[1]))
}

func environSizesGet(c *Context, m memory, p []uint64) Errno {
	return m.putSizes(c.env, uint32(p[0]), uint32(p[1]))
}

func totalLen(list [][]byte) uint32 {
	n := 0
	for _, s := range list {
		n += len(s)
	}
	return uint32(n) // New keeps the sum below 2^31
}

// putStrings writes the strings at buf and their addresses at ptrs.
func (m memory) putStrings(list [][]byte, ptrs, buf uint32) Errno {
	_, ok := m.bytes(ptrs, uint32(len(list))*4)
	dst, ok2 := m.bytes(buf, totalLen(list))
	if !ok || !ok2 {
		return ErrnoFault
	}
	for _, s := range list {
		m.putU32(ptrs, buf)
		n := copy(dst, s)
		dst = dst[n:]
		ptrs += 4
		buf += uint32(n)
	}
	return ErrnoSuccess
}

// putSizes writes the number of strings and their size in bytes.
func (m memory) putSizes(list [][]byte, count, size uint32) Errno {
	if _, ok := m.bytes(size, 4); !ok {
		return ErrnoFault
	}
	if e := m.putU32(count, uint32(len(list))); e != 0 {
		return e
	}
	return m.putU32(size, totalLen(list))
}

// The clocks of preview 1.
const (
	clockRealtime = iota
	clockMonotonic
	clockProcessCPU
	clockThreadCPU
	numClocks
)

// now reads a clock in nanoseconds.
func (c *Context) now(clock uint32) uint64 {
	switch {
	case clock == clockRealtime && c.walltime != nil:
		return uint64(c.walltime())
	case clock == clockRealtime:
		return uint64(time.Now().UnixNano())
	case c.monotonic != nil:
		return uint64(c.monotonic())
	case clock == clockMonotonic:
		// Counted from the Context's start, which tells nothing of the host;
		// never zero, which some guests take for a failure.
		return uint64(time.Since(c.start)) + 1
	}
	// An instance may run on many threads, so a thread's time means nothing:
	// both clocks give the process's.
	var ts syscall.Timespec
	const clockProcessCputimeID = 2
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockProcessCputimeID, uintptr(unsafe.Pointer(&ts)), 0)
	return uint64(ts.Nano())
}

func clockResGet(_ *Context, m memory, p []uint64) Errno {
	if uint32(p[0]) >= numClocks {
		return ErrnoInval
	}
	return m.putU64(uint32(p[1]), 1)
}

func clockTimeGet(c *Context, m memory, p []uint64) Errno {
	if uint32(p[0]) >= numClocks {
		return ErrnoInval
	}
	return m.putU64(uint32(p[2]), c.now(uint32(p[0])))
}

func randomGet(c *Context, m memory, p []uint64) Errno {
	b, ok := m.bytes(uint32(p[0]), uint32(p[1]))
	if !ok {
		return ErrnoFault
	}
	for len(b) != 0 {
		if c.interrupted() {
			return c.interrupt()
		}
		n := min(len(b), 64<<10)
		if _, err := io.ReadFull(c.rand, b[:n]); err != nil {
			return ErrnoIo
		}
		b = b[n:]
	}
	return ErrnoSuccess
}

func schedYield(*Context, memory, []uint64) Errno {
	runtime.Gosched()
	return ErrnoSuccess
}

func procExit(c *Context, _ memory, p []uint64) Errno {
	c.err = &ExitError{Code: uint32(p[0])}
	return ErrnoSuccess
}

// What a signal does by default.
const (
	sigEnds = iota
	sigIgnored
	sigStops
)

// signalActions has the 31 signals of preview 1, numbered from zero ("none")
// as on Linux.
var signalActions = [31]uint8{
	0: sigIgnored, 16: sigIgnored /* child */, 17: sigIgnored, /* continue */
	18: sigStops, 19: sigStops, 20: sigStops, 21: sigStops,
	22: sigIgnored /* urgent */, 27: sigIgnored, /* window size */
}

// procRaise does what the signal does by default: the guest ends with 128 and
// the signal's number, as shells report it, or nothing happens. Stopping is
// not supported.
func procRaise(c *Context, _ memory, p []uint64) Errno {
	sig := uint32(p[0])
	if sig >= uint32(len(signalActions)) {
		return ErrnoInval
	}
	switch signalActions[sig] {
	case sigIgnored:
		return ErrnoSuccess
	case sigStops:
		return ErrnoNotSup
	}
	c.err = &ExitError{Code: 128 + linuxSignal(sig)}
	return ErrnoSuccess
}

// linuxSignal gives Linux's number, which counts one more (STKFLT, 16) from
// there on.
func linuxSignal(sig uint32) uint32 {
	if sig >= 16 {
		return sig + 1
	}
	return sig
}
