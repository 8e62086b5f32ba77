//go:build linux

package wasi

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"
	"time"
)

// Options say everything a guest can reach. The zero value is a guest without
// arguments, environment, files or sockets, whose standard input is empty and
// whose output is discarded.
type Options struct {
	// Args are the program's arguments, its name first. Env has entries
	// "KEY=VALUE". Neither may contain NUL.
	Args, Env []string

	// Stdin, Stdout and Stderr are descriptors 0 to 2. An *os.File is used
	// directly, through a duplicate of its descriptor, and can then be polled;
	// anything else always counts as ready. A Reader or Writer must not keep
	// the slices that it is given: they are the guest's memory.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Preopens are the directories given to the guest, from descriptor 3 on.
	Preopens []Preopen
	// Sockets are connected or listening sockets given to the guest; they
	// follow the directories. Their descriptors are duplicated.
	Sockets []*os.File

	// Walltime gives nanoseconds since 1970, Monotonic nanoseconds since any
	// moment; nil means the real clocks. With Monotonic set, the processor time
	// clocks give it too.
	Walltime, Monotonic func() int64
	// Nanosleep waits where poll_oneoff waits for clocks alone; nil means
	// [time.Sleep].
	Nanosleep func(time.Duration)
	// Rand is the source of random_get; nil means [crypto/rand.Reader].
	Rand io.Reader

	// MaxOpen limits the open descriptors; 0 means 4,096. What Options itself
	// opens is always allowed.
	MaxOpen int
}

// Preopen is one directory given to the guest.
type Preopen struct {
	// Guest is the guest's name of it, such as "/" or "/data".
	Guest string
	// Host is the directory's path. Root, when not nil, is used instead; it
	// stays the caller's to close.
	Host string
	Root *os.Root
	// FS, when not nil, is used instead of both, and is always read-only. An FS
	// that knows symbolic links decides itself where they lead: [os.DirFS] follows
	// them out of its directory, [os.Root.FS] does not. Its files can be seeked
	// when they are an io.ReaderAt or io.Seeker. They must not keep the slices that
	// they are given.
	FS fs.FS
	// ReadOnly refuses every change below, with EROFS.
	ReadOnly bool
	// Devices lets the guest open device files below; otherwise they are refused with
	// EACCES, but for null, zero, full, random and urandom.
	Devices bool
}

const defaultMaxOpen = 4096

// Context is the state of one instance: its descriptors, arguments and clocks. New makes it; functions that are called with nil or the zero
// Context return ErrnoInval.
// It is not safe for use by several goroutines at once.
type Context struct {
	args, env [][]byte

	fds     []*descriptor
	open    int // descriptors in use
	lowFree int // no slot below is free
	maxOpen int

	walltime, monotonic func() int64
	start               time.Time
	nanosleep           func(time.Duration)
	rand                io.Reader

	// procFds is a directory of the open files of this process, or -1; see reopen.
	procFds int
	// noOpenat2 is whether paths must be walked in this process.
	noOpenat2 bool
	// err is the error that the call under way ends with.
	err error

	done  <-chan struct{} // see SetInterrupt
	waker waker

	// Scratch space, reused from call to call.
	bufs   [][]byte
	iov    []syscall.Iovec
	dirBuf []byte
	poller *poller
	timer  *time.Timer // stopped, or nil

	listing fsListing
}

// New makes a Context; nil stands for the zero Options. It fails when an argument contains NUL, when the
// arguments do not fit a 32-bit memory, or when a preopen or a standard stream
// cannot be opened; then nothing stays open.
func New(o *Options) (*Context, error) {
	o = cmp.Or(o, new(Options))
	c := &Context{
		maxOpen: o.MaxOpen, walltime: o.Walltime, monotonic: o.Monotonic,
		start: time.Now(), nanosleep: o.Nanosleep, rand: o.Rand, procFds: -1,
	}
	if c.maxOpen == 0 {
		c.maxOpen = defaultMaxOpen
	}
	if c.rand == nil {
		c.rand = rand.Reader
	}
	var err error
	if c.args, err = packStrings("argument", o.Args); err == nil {
		c.env, err = packStrings("environment entry", o.Env)
	}
	if err == nil {
		err = c.openAll(o)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// made reports whether New has made the Context: a zero one has no source of random bytes, and its procFds is not its own.
func (c *Context) made() bool { return c != nil && c.rand != nil }

// Close closes all descriptors of the guest. Further calls find none. It may
// be called more than once.
func (c *Context) Close() error {
	if !c.made() {
		return nil
	}
	var first error
	for _, d := range c.fds {
		if d == nil {
			continue
		}
		if e := d.close(); e != 0 && first == nil {
			first = e
		}
	}
	c.waker.close()
	if c.procFds >= 0 {
		syscall.Close(c.procFds)
		c.procFds = -1
	}
	c.fds, c.open, c.lowFree, c.listing = nil, 0, 0, fsListing{}
	// A closed Context must not come to own descriptors again.
	c.maxOpen = 0
	return first
}

// Closed reports whether the Context has been closed.
func (c *Context) Closed() bool { return c.fds == nil }

// packStrings appends to each string the NUL that guests expect.
func packStrings(what string, list []string) ([][]byte, error) {
	total := uint64(0)
	out := make([][]byte, len(list))
	for i, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return nil, fmt.Errorf("wasi: %s %d contains NUL", what, i)
		}
		out[i] = append([]byte(s), 0)
		total += uint64(len(s)) + 5
	}
	if total > math.MaxInt32 {
		return nil, fmt.Errorf("wasi: %ss are too large", what)
	}
	return out, nil
}

func (c *Context) openAll(cfg *Options) error {
	streams := [3]struct {
		name string
		r    io.Reader
		w    io.Writer
	}{{"stdin", cfg.Stdin, nil}, {"stdout", nil, cfg.Stdout}, {"stderr", nil, cfg.Stderr}}
	var standard [len(streams)]descriptor
	c.fds = make([]*descriptor, 0, len(streams)+len(cfg.Preopens)+len(cfg.Sockets))
	for i, s := range streams {
		d := &standard[i]
		if err := d.stream(s.r, s.w, i == 0); err != nil {
			return fmt.Errorf("wasi: %s: %w", s.name, err)
		}
		c.insert(d)
	}
	for i, p := range cfg.Preopens {
		d, err := preopenDescriptor(p, i)
		if err != nil {
			return fmt.Errorf("wasi: preopen %q: %w", p.Guest, err)
		}
		c.insert(d)
		if d.node != nil {
			continue
		}
		if e := probeOpenat2(d.fd); e == syscall.ENOSYS || e == syscall.EPERM {
			c.noOpenat2 = true
		}
		if c.procFds < 0 {
			c.procFds = openProcFds()
		}
	}
	for _, f := range cfg.Sockets {
		d, err := socketDescriptor(f)
		if err != nil {
			return fmt.Errorf("wasi: socket: %w", err)
		}
		c.insert(d)
	}
	return nil
}

// stream makes d one of the descriptors 0 to 2.
func (d *descriptor) stream(r io.Reader, w io.Writer, input bool) error {
	*d = descriptor{fd: -1, r: r, w: w, shared: true, dirPos: dirPosUnknown}
	d.base = rightFdFdstatSetFlags | rightFdFilestatGet | rightPollFdReadwrite | rightFdWrite
	if input {
		d.base ^= rightFdRead | rightFdWrite
	}
	f, ok := w.(*os.File)
	if input {
		f, ok = r.(*os.File)
	}
	// Seeking and the like are left to the kernel to refuse, whose errors
	// programs know.
	const harmless = rightFdSeek | rightFdTell | rightFdSync | rightFdDatasync | rightFdAdvise
	defer func() { d.denied = rightsAll &^ (d.base | harmless) }()
	if !ok || f == nil {
		if ok {
			d.r, d.w = nil, nil // a nil *os.File in the interface
		}
		return nil
	}
	d.r, d.w = nil, nil
	if err := d.dup(f); err != nil {
		return err
	}
	var st syscall.Stat_t
	if e := fstat(d.fd, &st); e != 0 {
		d.close()
		return e
	}
	d.typ = typeOf(st.Mode)
	if d.typ == typeSocketStream {
		d.typ, d.base = socketType(d.fd), d.base|rightSockShutdown
	}
	d.waits = d.typ != typeRegular && d.typ != typeBlockDevice && d.typ != typeDirectory
	// Guests take a character device that cannot seek for a terminal.
	if d.typ == typeRegular || d.typ == typeBlockDevice || d.typ == typeCharacterDevice && !isTerminal(d.fd) {
		d.base |= rightFdSeek | rightFdTell
	}
	if d.typ == typeRegular {
		d.base |= rightFdAdvise | rightFdSync | rightFdDatasync
		if !input {
			d.base |= rightFdAllocate | rightFdFilestatSetSize | rightFdFilestatSetTimes
		}
	}
	return nil
}

// dup makes d own a duplicate of f's descriptor.
func (d *descriptor) dup(f *os.File) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var e syscall.Errno
	err = rc.Control(func(fd uintptr) { d.fd, e = dupCloexec(int(fd)) })
	if err == nil && e != 0 {
		err = e
	}
	return err
}

// preopenDescriptor makes the descriptor of the preopen numbered index.
func preopenDescriptor(p Preopen, index int) (*descriptor, error) {
	if p.Guest == "" || strings.IndexByte(p.Guest, 0) >= 0 {
		return nil, errors.New("the guest's name is empty or contains NUL")
	}
	if p.FS != nil {
		return fsPreopen(p, index)
	}
	d := &descriptor{
		fd: -1, typ: typeDirectory, preopen: true, name: p.Guest, readOnly: p.ReadOnly, devices: p.Devices,
		base: rightsDir, inheriting: rightsDir | rightsFile, dirPos: dirPosUnknown,
	}
	if p.ReadOnly {
		d.base &^= rightsMutate
		d.inheriting &^= rightsMutate
		d.denied, d.deniedBelow = rightsMutate, rightsMutate
	}
	if err := d.openPreopen(p); err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	if e := fstat(d.fd, &st); e != 0 {
		d.close()
		return nil, e
	}
	d.dev = st.Dev
	if kernelFiles(d.fd) {
		d.close()
		return nil, ErrKernelFiles
	}
	return d, nil
}

// openPreopen opens the directory that p names for d.
func (d *descriptor) openPreopen(p Preopen) error {
	const flags = syscall.O_RDONLY | syscall.O_DIRECTORY
	if p.Root != nil {
		f, err := p.Root.OpenFile(".", flags, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return d.dup(f)
	}
	const cwd = -100 // AT_FDCWD
	fd, e := openat(cwd, p.Host, flags, 0)
	if e != 0 {
		return &os.PathError{Op: "open", Path: p.Host, Err: e}
	}
	d.fd = fd
	return nil
}

func socketDescriptor(f *os.File) (*descriptor, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	d := &descriptor{
		fd: -1, base: rightsSock, inheriting: rightsSock, denied: rightsAll &^ rightsSock,
		waits: true, shared: true, dirPos: dirPosUnknown,
	}
	if err := d.dup(f); err != nil {
		return nil, err
	}
	if d.typ = socketType(d.fd); d.typ == typeUnknown {
		d.close()
		return nil, syscall.ENOTSOCK
	}
	return d, nil
}
