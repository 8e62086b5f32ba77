//go:build linux

package wasi

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
)

// fsNode is what a descriptor below a preopened [fs.FS] stands for: a directory,
// known by its name alone, or an open file.
type fsNode struct {
	fsys fs.FS
	dev  uint64 // tells the preopens apart
	host *fsHost
	name string // as package io/fs has it: "." or "a/b"
	file fs.File
	pos  int64 // where the next read is
}

// fsListing is the directory of an [fs.FS] that was listed last.
type fsListing struct {
	of      *fsNode
	entries []fs.DirEntry
}

func fsPreopen(p Preopen, index int) (*descriptor, error) {
	if p.Host != "" || p.Root != nil {
		return nil, errors.New("more than one of Host, Root and FS")
	}
	info, err := fs.Stat(p.FS, ".")
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, err
	}
	host, err := hostOf(p.FS)
	if err != nil {
		return nil, err
	}
	return &descriptor{
		fd: -1, typ: typeDirectory, preopen: true, name: p.Guest, readOnly: true, devices: p.Devices, dirPos: dirPosUnknown,
		base: rightsDir &^ rightsMutate, inheriting: (rightsDir | rightsFile) &^ rightsMutate,
		denied: rightsMutate, deniedBelow: rightsMutate,
		// No device of the host has such a number.
		node: &fsNode{fsys: p.FS, dev: 1<<63 | uint64(index), host: host, name: "."},
	}, nil
}

// fsErrno translates an error of an FS.
func fsErrno(err error) Errno {
	var e syscall.Errno
	switch {
	case err == nil:
		return ErrnoSuccess
	case errors.As(err, &e):
		return hostErrno(e)
	case errors.Is(err, fs.ErrNotExist):
		return ErrnoNoent
	case errors.Is(err, fs.ErrPermission):
		return ErrnoAcces
	case errors.Is(err, fs.ErrInvalid):
		return ErrnoInval
	case errors.Is(err, errors.ErrUnsupported):
		return ErrnoNotSup
	}
	return ErrnoIo
}

// locate returns the name in the FS of a guest's path, which may not leave the
// directory n by "..", and whether the path can only be a directory's. What the
// FS makes of a symbolic link on the way is its own affair.
func (n *fsNode) locate(path string) (name string, dir bool, e Errno) {
	if path[0] == '/' {
		return "", false, ErrnoPerm
	}
	if !utf8.ValidString(path) {
		return "", false, ErrnoIlseq
	}
	var below []string
	for part := range strings.SplitSeq(path, "/") {
		switch dir = part == "" || part == "." || part == ".."; {
		case part == ".." && len(below) == 0:
			return "", false, ErrnoPerm
		case part == "..":
			if e := n.isDir(n.join(below)); e != 0 {
				return "", false, e
			}
			below = below[:len(below)-1]
		case !dir:
			below = append(below, part)
		}
	}
	return n.join(below), dir, ErrnoSuccess
}

func (n *fsNode) join(below []string) string {
	switch {
	case len(below) == 0:
		return n.name
	case n.name == ".":
		return strings.Join(below, "/")
	}
	return n.name + "/" + strings.Join(below, "/")
}

func (n *fsNode) isDir(name string) Errno {
	info, err := fs.Stat(n.fsys, name)
	if err == nil && !info.IsDir() {
		return ErrnoNotdir
	}
	return fsErrno(err)
}

// openNode is path_open below an FS, after all arguments have been checked.
func (c *Context) openNode(d *descriptor, path string, lookup, oflags uint32) (*fsNode, fileType, Errno) {
	name, dir, e := d.node.locate(path)
	if e != 0 {
		return nil, 0, e
	}
	if lookup&lookupFollow == 0 && !dir {
		if info, err := fs.Lstat(d.node.fsys, name); err == nil && info.Mode().Type() == fs.ModeSymlink {
			return nil, 0, ErrnoLoop
		}
	}
	if e := d.node.mayOpen(name, d.devices); e != 0 {
		return nil, 0, e
	}
	f, err := d.node.open(name, d.devices)
	if err != nil {
		return nil, 0, fsErrno(err)
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() && (dir || oflags&oDirectory != 0) {
		err = syscall.ENOTDIR
	}
	if err != nil || info.IsDir() {
		// A directory is listed by its name.
		if e := f.Close(); err == nil {
			err = e
		}
		f = nil
	}
	if err != nil {
		return nil, 0, fsErrno(err)
	}
	return &fsNode{fsys: d.node.fsys, dev: d.node.dev, host: d.node.host, name: name, file: f}, goType(info.Mode()), ErrnoSuccess
}

// statNode writes the filestat of what a path names, or of d itself if it is ".".
func (m memory) statNode(ptr uint32, d *descriptor, path string, lookup uint32) Errno {
	name, dir, e := d.node.locate(path)
	if e != 0 {
		return e
	}
	stat := fs.Stat
	if lookup&lookupFollow == 0 && !dir {
		stat = fs.Lstat
	}
	info, err := stat(d.node.fsys, name)
	if err == nil && dir && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return fsErrno(err)
	}
	if e := d.node.reachable(name); e != 0 {
		return e
	}
	return m.putInfo(ptr, d.node, name, info)
}

// putInfo writes a filestat. There is one time, and one link.
func (m memory) putInfo(ptr uint32, n *fsNode, name string, info fs.FileInfo) Errno {
	st := syscall.Stat_t{Dev: n.dev, Ino: inode(name), Nlink: 1, Size: max(0, info.Size())}
	if t := info.ModTime(); t.After(time.Unix(0, 0)) {
		st.Mtim = syscall.NsecToTimespec(t.UnixNano())
		st.Atim, st.Ctim = st.Mtim, st.Mtim
	}
	return m.putFilestat(ptr, &st, goType(info.Mode()))
}

// inode makes up a number for a name, which an FS has none for; never zero.
func inode(name string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, name)
	return h.Sum64() | 1
}

// goType returns the file type of a mode of package io/fs.
func goType(mode fs.FileMode) fileType {
	switch mode.Type() {
	case 0:
		return typeRegular
	case fs.ModeDir:
		return typeDirectory
	case fs.ModeSymlink:
		return typeSymlink
	case fs.ModeDevice:
		return typeBlockDevice
	case fs.ModeDevice | fs.ModeCharDevice:
		return typeCharacterDevice
	case fs.ModeSocket:
		return typeSocketStream
	}
	return typeUnknown
}

func (m memory) statOpenNode(ptr uint32, d *descriptor) Errno {
	if d.node.file == nil {
		return m.statNode(ptr, d, ".", 0)
	}
	info, err := d.node.file.Stat()
	if err != nil {
		return fsErrno(err)
	}
	return m.putInfo(ptr, d.node, d.node.name, info)
}

// readlinkNode is path_readlink. An FS without symbolic links has none here.
func (d *descriptor) readlinkNode(path string) (string, Errno) {
	name, dir, e := d.node.locate(path)
	if e != 0 {
		return "", e
	}
	if dir {
		if e := d.node.isDir(name); e != 0 {
			return "", e
		}
		return "", ErrnoInval
	}
	info, err := fs.Lstat(d.node.fsys, name)
	if err != nil {
		return "", fsErrno(err)
	}
	if info.Mode().Type() != fs.ModeSymlink {
		return "", ErrnoInval
	}
	if e := d.node.reachable(name); e != 0 {
		return "", e
	}
	to, err := fs.ReadLink(d.node.fsys, name)
	return to, fsErrno(err)
}

// read reads once into bufs at off, or at the node's own position, which then
// moves on. All of bufs are filled where the file is a ReaderAt, else the first.
func (n *fsNode) read(bufs [][]byte, off int64) (int, Errno) {
	if len(bufs) == 0 {
		return 0, ErrnoSuccess
	}
	at := off
	if off == noOffset {
		at = n.pos
	}
	total := 0
	var err error
	if r, ok := n.file.(io.ReaderAt); ok {
		for _, b := range bufs {
			var k int
			k, err = readChecked(b, func(b []byte) (int, error) { return r.ReadAt(b, at+int64(total)) })
			total += k
			if err != nil || k < len(b) {
				break
			}
		}
	} else if s, ok := n.file.(io.Seeker); off != noOffset && ok {
		if _, err = s.Seek(off, io.SeekStart); err == nil {
			total, err = readChecked(bufs[0], n.file.Read)
			if _, e := s.Seek(n.pos, io.SeekStart); e != nil {
				return 0, fsErrno(e)
			}
		}
	} else if off != noOffset {
		return 0, ErrnoSpipe
	} else {
		for tries := 0; total == 0 && err == nil && tries < 100; tries++ {
			total, err = readChecked(bufs[0], n.file.Read)
		}
	}
	if err != nil && err != io.EOF && total == 0 && !n.ended(at, err) {
		return 0, fsErrno(err)
	}
	if off == noOffset {
		n.pos += int64(total)
	}
	return total, ErrnoSuccess
}

// ended reports whether err is only what embed and fstest say of reading behind
// the end.
func (n *fsNode) ended(at int64, err error) bool {
	if !errors.Is(err, fs.ErrInvalid) {
		return false
	}
	info, err := n.file.Stat()
	return err == nil && at >= info.Size()
}

// readChecked is read(b) that cannot claim to have read what is not there.
func readChecked(b []byte, read func([]byte) (int, error)) (int, error) {
	k, err := read(b)
	if k < 0 || k > len(b) {
		return 0, syscall.EIO
	}
	return k, err
}

// seek moves the node's position.
func (n *fsNode) seek(off int64, whence uint32) (int64, Errno) {
	s, seeker := n.file.(io.Seeker)
	_, readerAt := n.file.(io.ReaderAt)
	if whence == io.SeekCurrent && off == 0 {
		return n.pos, ErrnoSuccess
	}
	if !seeker && !readerAt {
		return 0, ErrnoSpipe
	}
	base := int64(0)
	switch whence {
	case io.SeekCurrent:
		base = n.pos
	case io.SeekEnd:
		info, err := n.file.Stat()
		if err != nil {
			return 0, fsErrno(err)
		}
		base = info.Size()
	}
	pos := base + off
	if pos < 0 { // or has wrapped
		return 0, ErrnoInval
	}
	if !readerAt {
		if _, err := s.Seek(pos, io.SeekStart); err != nil {
			return 0, fsErrno(err)
		}
	}
	n.pos = pos
	return pos, ErrnoSuccess
}

// readNodeEntries is readEntries for a directory of an FS. Cookies count entries;
// the listing is made anew at the start, and when another was made in between.
func (c *Context) readNodeEntries(d *descriptor, out []byte, cookie uint64) (int, Errno) {
	n := d.node
	if cookie == 0 || c.listing.of != n {
		entries, err := n.list()
		if err != nil {
			return 0, fsErrno(err)
		}
		c.listing = fsListing{n, entries}
	}
	used := 0
	for ; used < len(out) && cookie < uint64(len(c.listing.entries))+2; cookie++ {
		name, ino, typ := ".", inode(n.name), typeDirectory
		switch cookie {
		case 0:
		case 1:
			name = ".." // with the inode of ".", as in putDirent
		default:
			ent := c.listing.entries[cookie-2]
			name, typ = ent.Name(), goType(ent.Type())
			ino = inode(n.join([]string{name}))
		}
		used += putEntry(out[used:], cookie+1, ino, typ, name)
	}
	if used < len(out) {
		c.listing = fsListing{} // the end has been seen
	}
	return used, ErrnoSuccess
}
