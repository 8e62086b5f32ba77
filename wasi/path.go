//go:build linux

package wasi

import (
	"syscall"
)

const lookupFollow = 1 // the one bit of lookupflags

// The bits of oflags.
const (
	oCreat = 1 << iota
	oDirectory
	oExcl
	oTrunc
)

// dirAndPath fetches the two arguments that most path functions begin with: a
// directory that must hold right r, and a path.
func (c *Context) dirAndPath(m memory, fd, ptr, n uint32, r rights) (*descriptor, string, Errno) {
	d, e := c.lookupDir(fd, r)
	if e != 0 {
		return nil, "", e
	}
	path, e := m.path(ptr, n)
	return d, path, e
}

func pathOpen(c *Context, m memory, p []uint64) Errno {
	d, path, e := c.dirAndPath(m, uint32(p[0]), uint32(p[2]), uint32(p[3]), rightPathOpen)
	if e != 0 {
		return e
	}
	lookup, oflags, fdflags := uint32(p[1]), uint32(p[4]), uint32(p[7])
	if lookup > lookupFollow || oflags > 15 || fdflags&^uint32(flagsAll) != 0 {
		return ErrnoInval
	}
	if _, ok := m.bytes(uint32(p[8]), 4); !ok {
		return ErrnoFault
	}
	base := rights(p[5]) & rightsAll
	flags, e := openFlags(d, base, lookup, oflags, fdFlags(fdflags))
	if e != 0 {
		return e
	}
	if c.full() {
		return ErrnoMfile
	}
	n := &descriptor{
		fd: -1, flags: fdFlags(fdflags), readOnly: d.readOnly, devices: d.devices, dirPos: dirPosUnknown,
		base: base &^ d.deniedBelow, inheriting: rights(p[6]) & rightsAll &^ d.deniedBelow,
		denied: d.deniedBelow, deniedBelow: d.deniedBelow,
	}
	if d.node != nil {
		n.node, n.typ, e = c.openNode(d, path, lookup, oflags)
	} else {
		e = c.openHost(n, d, path, flags)
	}
	if e != 0 {
		return e
	}
	if n.typ == typeDirectory {
		n.base &= rightsDir
	} else {
		n.base &= rightsFile
		n.inheriting = 0
	}
	return m.putU32(uint32(p[8]), c.insert(n))
}

// openFlags checks what path_open is asked for, and gives Linux's flags.
func openFlags(d *descriptor, base rights, lookup, oflags uint32, fdflags fdFlags) (int, Errno) {
	if oflags&oDirectory != 0 && base&rightFdWrite != 0 {
		return 0, ErrnoIsdir
	}
	if oflags&oCreat == 0 {
		oflags &^= oExcl // without meaning
	} else if oflags&oDirectory != 0 {
		return 0, ErrnoInval
	}
	if d.readOnly && (base&rightFdWrite != 0 || oflags&(oCreat|oTrunc) != 0) {
		return 0, ErrnoRofs
	}
	// Linux truncates what is opened for reading too.
	if base&(rightFdRead|rightFdWrite)&d.deniedBelow != 0 ||
		oflags&oTrunc != 0 && d.deniedBelow&rightFdWrite != 0 {
		return 0, ErrnoNotCapable
	}
	flags := syscall.O_NOCTTY
	switch {
	case base&rightFdWrite == 0:
		flags |= syscall.O_RDONLY
	case base&rightFdRead == 0:
		flags |= syscall.O_WRONLY
	default:
		flags |= syscall.O_RDWR
	}
	if lookup&lookupFollow == 0 {
		flags |= syscall.O_NOFOLLOW
	}
	for _, o := range [...]struct {
		bit   uint32
		right rights
		flag  int
	}{
		{oCreat, rightPathCreateFile, syscall.O_CREAT},
		{oDirectory, 0, syscall.O_DIRECTORY},
		{oExcl, 0, syscall.O_EXCL},
		{oTrunc, rightPathFilestatSetSize, syscall.O_TRUNC},
	} {
		if oflags&o.bit == 0 {
			continue
		}
		if o.right != 0 && !d.can(o.right) {
			return 0, ErrnoNotCapable
		}
		flags |= o.flag
	}
	for _, f := range [...]struct {
		bit  fdFlags
		flag int
	}{
		{flagAppend, syscall.O_APPEND},
		{flagDsync, syscall.O_DSYNC},
		{flagNonblock, syscall.O_NONBLOCK},
		{flagRsync, syscall.O_RSYNC},
		{flagSync, syscall.O_SYNC},
	} {
		if fdflags&f.bit != 0 {
			flags |= f.flag
		}
	}
	return flags, ErrnoSuccess
}

func pathCreateDirectory(c *Context, m memory, p []uint64) Errno {
	pl, e := c.placeArg(m, uint32(p[0]), uint32(p[1]), uint32(p[2]), rightPathCreateDirectory)
	if e != 0 {
		return e
	}
	defer pl.close()
	if pl.dots {
		return ErrnoExist
	}
	return hostErrno(mkdirat(pl.dir, pl.name, 0o777))
}

// placeArg fetches a directory and a path as dirAndPath does, and locates it.
func (c *Context) placeArg(m memory, fd, ptr, n uint32, r rights) (place, Errno) {
	d, path, e := c.dirAndPath(m, fd, ptr, n, r)
	if e != 0 {
		return place{}, e
	}
	return c.locate(d, path)
}

func pathRemoveDirectory(c *Context, m memory, p []uint64) Errno {
	pl, e := c.placeArg(m, uint32(p[0]), uint32(p[1]), uint32(p[2]), rightPathRemoveDirectory)
	if e != 0 {
		return e
	}
	defer pl.close()
	if pl.dots {
		if pl.name == "." {
			return ErrnoInval
		}
		return ErrnoNotEmpty
	}
	return hostErrno(unlinkat(pl.dir, pl.name, atRemovedir))
}

func pathUnlinkFile(c *Context, m memory, p []uint64) Errno {
	pl, e := c.placeArg(m, uint32(p[0]), uint32(p[1]), uint32(p[2]), rightPathUnlinkFile)
	if e != 0 {
		return e
	}
	defer pl.close()
	if pl.dots {
		return ErrnoIsdir
	}
	if pl.slash {
		if e := pl.isDir(); e != 0 {
			return e
		}
		return ErrnoIsdir
	}
	return hostErrno(unlinkat(pl.dir, pl.name, 0))
}

// openPath opens the thing itself that a path names, without rights to its
// contents, following a last link when lookup says so.
func (c *Context) openPath(d *descriptor, path string, lookup uint32) (int, Errno) {
	if lookup > lookupFollow {
		return -1, ErrnoInval
	}
	flags := oPath
	if lookup&lookupFollow == 0 {
		flags |= syscall.O_NOFOLLOW
	}
	return c.openBeneath(d.fd, path, flags)
}

func pathFilestatGet(c *Context, m memory, p []uint64) Errno {
	d, path, e := c.dirAndPath(m, uint32(p[0]), uint32(p[2]), uint32(p[3]), rightPathFilestatGet)
	if e != 0 {
		return e
	}
	if uint32(p[1]) > lookupFollow {
		return ErrnoInval
	}
	if d.node != nil {
		return m.statNode(uint32(p[4]), d, path, uint32(p[1]))
	}
	if isName(path) {
		// A single name, not followed, cannot lead outside, and is the usual case. On
		// another device it may be the kernel's own file.
		var st syscall.Stat_t
		errno := statAt(d.fd, path, &st)
		switch mode := st.Mode & syscall.S_IFMT; {
		case errno == syscall.ENOSYS:
		case errno != 0:
			return hostErrno(errno)
		case st.Dev != d.dev || mode == syscall.S_IFLNK && uint32(p[1]) == lookupFollow:
		default:
			return m.putFilestat(uint32(p[4]), &st, typeOf(st.Mode))
		}
	}
	fd, e := c.openPath(d, path, uint32(p[1]))
	if e != 0 {
		return e
	}
	defer syscall.Close(fd)
	return m.statFd(uint32(p[4]), fd)
}

func pathFilestatSetTimes(c *Context, m memory, p []uint64) Errno {
	d, path, e := c.dirAndPath(m, uint32(p[0]), uint32(p[2]), uint32(p[3]), rightPathFilestatSetTimes)
	if e != 0 {
		return e
	}
	ts, e := fileTimes(p[4], p[5], uint32(p[6]))
	if e != 0 {
		return e
	}
	fd, e := c.openPath(d, path, uint32(p[1]))
	if e != 0 {
		return e
	}
	defer syscall.Close(fd)
	return hostErrno(setTimes(fd, &ts))
}

// twoPlaces locates the source and the target of a link or rename. Both must
// hold their right before either path is looked at.
func (c *Context) twoPlaces(m memory, src, dst [3]uint32, rs, rd rights) (from, to place, e Errno) {
	sd, spath, e := c.dirAndPath(m, src[0], src[1], src[2], rs)
	if e != 0 {
		return
	}
	dd, dpath, e := c.dirAndPath(m, dst[0], dst[1], dst[2], rd)
	if e != 0 {
		return
	}
	if from, e = c.locate(sd, spath); e != 0 {
		return
	}
	if to, e = c.locate(dd, dpath); e != 0 {
		from.close()
	}
	return
}

func pathLink(c *Context, m memory, p []uint64) Errno {
	// Hard links to what a symbolic link points to are not supported.
	if uint32(p[1]) != 0 {
		return ErrnoInval
	}
	from, to, e := c.twoPlaces(m, [3]uint32{uint32(p[0]), uint32(p[2]), uint32(p[3])},
		[3]uint32{uint32(p[4]), uint32(p[5]), uint32(p[6])}, rightPathLinkSource, rightPathLinkTarget)
	if e != 0 {
		return e
	}
	defer from.close()
	defer to.close()
	if from.dots {
		return ErrnoPerm
	}
	if from.slash {
		if e := from.isDir(); e != 0 {
			return e
		}
		return ErrnoPerm
	}
	if e := to.mustBeNew(); e != 0 {
		return e
	}
	return hostErrno(linkat(from.dir, from.name, to.dir, to.name))
}

// mustBeNew refuses a place that cannot become a file or link: one with dots
// exists, and one with a trailing slash does or can only be a directory.
func (p *place) mustBeNew() Errno {
	if p.dots {
		return ErrnoExist
	}
	if !p.slash {
		return ErrnoSuccess
	}
	var st syscall.Stat_t
	if e := lstatAt(p.dir, p.name, &st); e != 0 {
		return hostErrno(e)
	}
	return ErrnoExist
}

func pathRename(c *Context, m memory, p []uint64) Errno {
	from, to, e := c.twoPlaces(m, [3]uint32{uint32(p[0]), uint32(p[1]), uint32(p[2])},
		[3]uint32{uint32(p[3]), uint32(p[4]), uint32(p[5])}, rightPathRenameSource, rightPathRenameTarget)
	if e != 0 {
		return e
	}
	defer from.close()
	defer to.close()
	if from.dots || to.dots {
		return ErrnoBusy
	}
	if from.slash || to.slash {
		if e := from.isDir(); e != 0 {
			return e
		}
	}
	return hostErrno(renameat(from.dir, from.name, to.dir, to.name))
}

// pathSymlink refuses absolute targets: no guest could follow them, but a host
// program might.
func pathSymlink(c *Context, m memory, p []uint64) Errno {
	d, path, e := c.dirAndPath(m, uint32(p[2]), uint32(p[3]), uint32(p[4]), rightPathSymlink)
	if e != 0 {
		return e
	}
	target, e := m.path(uint32(p[0]), uint32(p[1]))
	if e != 0 {
		return e
	}
	if target[0] == '/' {
		return ErrnoPerm
	}
	pl, e := c.locate(d, path)
	if e != 0 {
		return e
	}
	defer pl.close()
	if e := pl.mustBeNew(); e != 0 {
		return e
	}
	return hostErrno(symlinkat(target, pl.dir, pl.name))
}

func pathReadlink(c *Context, m memory, p []uint64) Errno {
	d, path, e := c.dirAndPath(m, uint32(p[0]), uint32(p[1]), uint32(p[2]), rightPathReadlink)
	if e != 0 {
		return e
	}
	out, ok := m.bytes(uint32(p[3]), uint32(p[4]))
	_, ok2 := m.bytes(uint32(p[5]), 4)
	if !ok || !ok2 {
		return ErrnoFault
	}
	var buf [maxPath + 1]byte
	n := 0
	if d.node != nil {
		to, e := d.readlinkNode(path)
		if e != 0 {
			return e
		}
		n = copy(buf[:], to)
	} else if n, e = c.readlinkHost(d, path, buf[:]); e != 0 {
		return e
	}
	// An absolute target names something of the host.
	if n != 0 && buf[0] == '/' {
		return ErrnoPerm
	}
	return m.putU32(uint32(p[5]), uint32(copy(out, buf[:n])))
}

// readlinkHost reads a link's target into buf.
func (c *Context) readlinkHost(d *descriptor, path string, buf []byte) (int, Errno) {
	pl, e := c.locate(d, path)
	if e != 0 {
		return 0, e
	}
	defer pl.close()
	if pl.dots {
		return 0, ErrnoInval
	}
	if pl.slash {
		if e := pl.isDir(); e != 0 {
			return 0, e
		}
		return 0, ErrnoInval
	}
	n, errno := readlinkat(pl.dir, pl.name, buf)
	return n, hostErrno(errno)
}
