//go:build linux

package wasi

import (
	"io"
	"syscall"
)

// rights is a set of preview 1 rights.
type rights uint64

const (
	rightFdDatasync rights = 1 << iota
	rightFdRead
	rightFdSeek
	rightFdFdstatSetFlags
	rightFdSync
	rightFdTell
	rightFdWrite
	rightFdAdvise
	rightFdAllocate
	rightPathCreateDirectory
	rightPathCreateFile
	rightPathLinkSource
	rightPathLinkTarget
	rightPathOpen
	rightFdReaddir
	rightPathReadlink
	rightPathRenameSource
	rightPathRenameTarget
	rightPathFilestatGet
	rightPathFilestatSetSize
	rightPathFilestatSetTimes
	rightFdFilestatGet
	rightFdFilestatSetSize
	rightFdFilestatSetTimes
	rightPathSymlink
	rightPathRemoveDirectory
	rightPathUnlinkFile
	rightPollFdReadwrite
	rightSockShutdown
	rightSockAccept
)

const (
	rightsAll = rightSockAccept<<1 - 1

	// rightsFile can be held by what is not a directory.
	rightsFile = rightFdDatasync | rightFdRead | rightFdSeek | rightFdFdstatSetFlags |
		rightFdSync | rightFdTell | rightFdWrite | rightFdAdvise | rightFdAllocate |
		rightFdFilestatGet | rightFdFilestatSetSize | rightFdFilestatSetTimes |
		rightPollFdReadwrite

	// rightsDir can be held by a directory.
	rightsDir = rightFdDatasync | rightFdFdstatSetFlags | rightFdSync |
		rightPathCreateDirectory | rightPathCreateFile | rightPathLinkSource |
		rightPathLinkTarget | rightPathOpen | rightFdReaddir | rightPathReadlink |
		rightPathRenameSource | rightPathRenameTarget | rightPathFilestatGet |
		rightPathFilestatSetSize | rightPathFilestatSetTimes | rightFdFilestatGet |
		rightFdFilestatSetTimes | rightPathSymlink | rightPathRemoveDirectory |
		rightPathUnlinkFile

	// rightsSock can be held by a socket.
	rightsSock = rightFdRead | rightFdWrite | rightFdFdstatSetFlags | rightFdFilestatGet |
		rightPollFdReadwrite | rightSockShutdown | rightSockAccept

	// rightsMutate are those a read-only preopen lacks.
	rightsMutate = rightFdWrite | rightFdAllocate | rightPathCreateDirectory |
		rightPathCreateFile | rightPathLinkSource | rightPathLinkTarget |
		rightPathRenameSource | rightPathRenameTarget | rightPathFilestatSetSize |
		rightPathFilestatSetTimes | rightFdFilestatSetSize | rightFdFilestatSetTimes |
		rightPathSymlink | rightPathRemoveDirectory | rightPathUnlinkFile
)

// fileType is a preview 1 file type.
type fileType uint8

const (
	typeUnknown fileType = iota
	typeBlockDevice
	typeCharacterDevice
	typeDirectory
	typeRegular
	typeSocketDgram
	typeSocketStream
	typeSymlink
)

// fdFlags is a set of descriptor flags.
type fdFlags uint16

const (
	flagAppend fdFlags = 1 << iota
	flagDsync
	flagNonblock
	flagRsync
	flagSync

	flagsSync = flagDsync | flagRsync | flagSync
	flagsAll  = flagAppend | flagNonblock | flagsSync
)

// descriptor is one open thing of the guest. It either owns the host
// descriptor fd, or fd is -1 and node, r or w carries the data (all nil: reads
// end, writes vanish).
type descriptor struct {
	fd   int
	r    io.Reader
	w    io.Writer
	node *fsNode

	// base and inheriting are what the guest asked for, as it is told. Of these
	// only reading and writing must have been asked for; every other right is
	// there unless denied (for what is opened here, unless deniedBelow).
	base, inheriting    rights
	denied, deniedBelow rights

	typ   fileType
	flags fdFlags
	// waits is whether reading or writing may have to wait, so that the
	// non-blocking flag means something.
	waits   bool
	attempt attempt // how it is tried without waiting
	slot    int     // of fd in what poll_oneoff asks the kernel about, if fd is there
	// readOnly holds below a read-only preopen, whatever the rights say.
	readOnly bool
	// devices is whether device files may be opened below.
	devices bool
	dev     uint64 // device number of the file system, of what is opened by a path
	// shared is whether the host may hold the same open file description, whose
	// status flags are then not ours to change.
	shared bool
	// preopen is whether name is the guest's name of a preopened directory.
	preopen bool
	name    string

	// dirPos is the cookie at which the host directory stream stands, or
	// dirPosUnknown.
	dirPos uint64
}

const dirPosUnknown = ^uint64(0)

// can reports whether d holds right r.
func (d *descriptor) can(r rights) bool {
	if r&(rightFdRead|rightFdWrite) != 0 {
		return d.base&r != 0
	}
	return d.denied&r == 0
}

// need returns the error for right r: none, EROFS when only the preopen's being
// read-only stands against it, else ENOTCAPABLE.
func (d *descriptor) need(r rights) Errno {
	switch {
	case d.readOnly && rightsMutate&r != 0:
		return ErrnoRofs
	case !d.can(r):
		return ErrnoNotCapable
	}
	return ErrnoSuccess
}

func (d *descriptor) close() Errno {
	if d.node != nil && d.node.file != nil {
		return fsErrno(d.node.file.Close())
	}
	if d.fd < 0 {
		return ErrnoSuccess
	}
	fd := d.fd
	d.fd = -1
	// Linux frees the descriptor even when close fails, so never retry.
	if err := syscall.Close(fd); err != nil && err != syscall.EINTR {
		return errnoOf(err)
	}
	return ErrnoSuccess
}

// lookup finds an open descriptor.
func (c *Context) lookup(fd uint32) (*descriptor, Errno) {
	if uint64(fd) >= uint64(len(c.fds)) || c.fds[fd] == nil {
		return nil, ErrnoBadf
	}
	return c.fds[fd], ErrnoSuccess
}

// lookupFor finds an open descriptor that holds right r.
func (c *Context) lookupFor(fd uint32, r rights) (*descriptor, Errno) {
	d, e := c.lookup(fd)
	if e == 0 {
		e = d.need(r)
	}
	return d, e
}

// lookupDir finds an open directory that holds right r.
func (c *Context) lookupDir(fd uint32, r rights) (*descriptor, Errno) {
	d, e := c.lookup(fd)
	if e != 0 {
		return nil, e
	}
	if d.typ != typeDirectory {
		return nil, ErrnoNotdir
	}
	return d, d.need(r)
}

// lookupFile finds an open descriptor that holds right r and is no directory.
func (c *Context) lookupFile(fd uint32, r rights) (*descriptor, Errno) {
	d, e := c.lookup(fd)
	if e != 0 {
		return nil, e
	}
	if d.typ == typeDirectory {
		return nil, ErrnoIsdir
	}
	return d, d.need(r)
}

// full reports whether no descriptor can be added.
func (c *Context) full() bool { return c.open >= c.maxOpen }

// insert adds d at the lowest free number. The caller has checked full.
func (c *Context) insert(d *descriptor) uint32 {
	c.open++
	for i := c.lowFree; i < len(c.fds); i++ {
		if c.fds[i] == nil {
			c.fds[i] = d
			c.lowFree = i + 1
			return uint32(i)
		}
	}
	c.fds = append(c.fds, d)
	c.lowFree = len(c.fds)
	return uint32(len(c.fds) - 1)
}

// remove empties the slot fd, which is in use.
func (c *Context) remove(fd uint32) {
	c.fds[fd] = nil
	c.open--
	c.lowFree = min(c.lowFree, int(fd))
}
