//go:build linux

package wasi

import (
	"encoding/binary"
	"math"
	"syscall"
)

// Sizes in guest memory, and the most subscriptions of one call.
const (
	subscriptionSize = 48
	eventSize        = 32
	maxSubscriptions = 16384
)

// Event types.
const (
	eventClock = iota
	eventFdRead
	eventFdWrite
)

const (
	subclockAbstime = 1 // the one bit of subclockflags
	eventHangup     = 1 // the one bit of eventrwflags
)

// event is what poll_oneoff reports for one subscription.
type event struct {
	userdata uint64
	errno    Errno
	typ      uint8
	nbytes   uint64
	hangup   bool
}

// poller is the work of one poll_oneoff. Its space is used again.
type poller struct {
	c      *Context
	events []event // ready without waiting
	// fds is what to ask the kernel, which takes no more entries than the process may
	// have files open: each file has one. fdSubs is for whom.
	fds    []pollFd
	fdSubs []fdSub
	clocks []clockSub
	least  int64 // shortest wait of clocks in nanoseconds
}

type fdSub struct {
	userdata uint64
	d        *descriptor
	typ      uint8
}

type clockSub struct {
	userdata uint64
	wait     int64 // nanoseconds
}

func pollOneoff(c *Context, m memory, p []uint64) Errno {
	n := uint32(p[2])
	if n == 0 || n > maxSubscriptions {
		return ErrnoInval
	}
	in, ok := m.bytes(uint32(p[0]), n*subscriptionSize)
	out, ok2 := m.bytes(uint32(p[1]), n*eventSize)
	_, ok3 := m.bytes(uint32(p[3]), 4)
	if !ok || !ok2 || !ok3 {
		return ErrnoFault
	}
	w := c.takePoller()
	defer c.givePoller(w)
	for ; len(in) != 0; in = in[subscriptionSize:] {
		if e := w.subscribe(in[:subscriptionSize]); e != 0 {
			return e
		}
	}
	if e := w.wait(); e != 0 {
		return e
	}
	for i := range w.events {
		w.events[i].put(out[i*eventSize:])
	}
	return m.putU32(uint32(p[3]), uint32(len(w.events)))
}

// takePoller returns an empty poller. It is the context's until givePoller, so that Options.Nanosleep may call the guest, and that this context,
// meanwhile.
func (c *Context) takePoller() *poller {
	w := c.poller
	if c.poller = nil; w == nil {
		w = &poller{}
	}
	*w = poller{c: c, events: w.events[:0], fds: w.fds[:0], fdSubs: w.fdSubs[:0], clocks: w.clocks[:0], least: math.MaxInt64}
	return w
}

// givePoller ends the use of a poller. It forgets descriptors, and all space of an unusually large call.
func (c *Context) givePoller(w *poller) {
	const keep = 64
	clear(w.fdSubs)
	if cap(w.events)+cap(w.fdSubs)+cap(w.clocks) <= 3*keep {
		c.poller = w
	}
}

func (ev *event) put(b []byte) {
	b = b[:eventSize]
	clear(b)
	le := binary.LittleEndian
	le.PutUint64(b[0:], ev.userdata)
	le.PutUint16(b[8:], uint16(ev.errno))
	b[10] = ev.typ
	le.PutUint64(b[16:], ev.nbytes)
	if ev.hangup {
		le.PutUint16(b[24:], eventHangup)
	}
}

func (w *poller) subscribe(b []byte) Errno {
	le := binary.LittleEndian
	userdata, typ := le.Uint64(b), b[8]
	switch typ {
	case eventClock:
		wait, e := w.c.clockWait(le.Uint32(b[16:]), le.Uint64(b[24:]), le.Uint16(b[40:]))
		if e != 0 {
			w.events = append(w.events, event{userdata: userdata, errno: e, typ: typ})
			return ErrnoSuccess
		}
		w.clocks = append(w.clocks, clockSub{userdata, wait})
		w.least = min(w.least, wait)
	case eventFdRead, eventFdWrite:
		w.subscribeFd(userdata, typ, le.Uint32(b[16:]))
	default:
		return ErrnoInval
	}
	return ErrnoSuccess
}

func (w *poller) subscribeFd(userdata uint64, typ uint8, fd uint32) {
	d, e := w.c.lookupFor(fd, rightPollFdReadwrite)
	right := rightFdRead
	if typ == eventFdWrite {
		right = rightFdWrite
	}
	if e == 0 && !d.can(right) && !d.can(rightSockAccept) {
		e = ErrnoBadf
	}
	if e != 0 || d.fd < 0 {
		w.events = append(w.events, event{userdata: userdata, errno: e, typ: typ})
		return
	}
	w.fdSubs = append(w.fdSubs, fdSub{userdata, d, typ})
}

// gather makes the list for the kernel, when all clocks have been read: those of the program may call the guest, which may poll the same descriptors meanwhile,
// or close them.
func (w *poller) gather() {
	open := w.fdSubs[:0]
	for _, s := range w.fdSubs {
		d := s.d
		if d.fd < 0 {
			w.events = append(w.events, event{userdata: s.userdata, errno: ErrnoBadf, typ: s.typ})
			continue
		}
		if d.slot >= len(w.fds) || w.fds[d.slot].fd != int32(d.fd) {
			d.slot = len(w.fds)
			w.fds = append(w.fds, pollFd{fd: int32(d.fd)})
		}
		if s.typ == eventFdWrite {
			w.fds[d.slot].events |= pollOut
		} else {
			w.fds[d.slot].events |= pollIn
		}
		open = append(open, s)
	}
	clear(w.fdSubs[len(open):])
	w.fdSubs = open
}

// clockWait returns the nanoseconds until a clock subscription is due.
func (c *Context) clockWait(clock uint32, timeout uint64, flags uint16) (int64, Errno) {
	if clock > clockMonotonic || flags > subclockAbstime {
		return 0, ErrnoInval
	}
	if flags == subclockAbstime {
		now := c.now(clock)
		timeout -= min(now, timeout)
	}
	return int64(min(timeout, math.MaxInt64)), ErrnoSuccess
}

// wait blocks until something is due and completes events, which is then not
// empty.
func (w *poller) wait() Errno {
	w.gather()
	limit := int64(-1)
	if len(w.clocks) != 0 {
		limit = w.least
	}
	if len(w.events) != 0 {
		limit = 0
	}
	if len(w.fds) == 0 {
		if limit > 0 {
			if e := w.c.sleep(limit); e != 0 {
				return e
			}
		}
	} else {
		w.fds = append(w.fds, pollFd{}) // room for wait
		e := w.c.wait(w.fds, limit)
		w.fds = w.fds[:len(w.fds)-1]
		if e != 0 {
			return e
		}
	}
	before := len(w.events)
	w.collect()
	// Without any descriptor ready, the shortest clocks are due. With one, only
	// those that need no waiting are known to be.
	due := w.least
	if limit == 0 || len(w.events) != before {
		due = 0
	}
	for _, s := range w.clocks {
		if s.wait <= due {
			w.events = append(w.events, event{userdata: s.userdata, typ: eventClock})
		}
	}
	return ErrnoSuccess
}

// collect adds an event for each subscription whose descriptor is ready.
func (w *poller) collect() {
	for i := range w.fdSubs {
		s := &w.fdSubs[i]
		other := int16(pollIn) // what another subscription may have asked for
		if s.typ == eventFdRead {
			other = pollOut
		}
		got := w.fds[s.d.slot].revents &^ other
		if got == 0 {
			continue
		}
		ev := event{userdata: s.userdata, typ: s.typ, hangup: got&pollHup != 0}
		switch {
		case got&pollNval != 0:
			ev.errno = ErrnoBadf
		case s.typ == eventFdRead:
			ev.nbytes = readable(s.d)
		}
		w.events = append(w.events, ev)
	}
}

// readable returns the bytes that a read would find now.
func readable(d *descriptor) uint64 {
	if d.typ != typeRegular {
		return available(d.fd)
	}
	var st syscall.Stat_t
	pos, err := syscall.Seek(d.fd, 0, 1)
	if err != nil || fstat(d.fd, &st) != 0 || st.Size < pos {
		return 0
	}
	return uint64(st.Size - pos)
}
