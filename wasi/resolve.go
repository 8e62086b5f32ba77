//go:build linux

package wasi

import (
	"strings"
	"syscall"
)

// Limits of a path walked in this process: links followed, as Linux has it, and
// directories held open at once.
const (
	maxLinks = 40
	maxDepth = 256
)

// openBeneath opens path, which must stay beneath the directory dir at every
// step of its resolution; where it would leave, the error is EPERM, and where it
// ends in the kernel's own files, EACCES. flags are Linux's, without O_CREAT, for
// which see createBeneath; with O_NOFOLLOW the last component is not followed if
// it is a symbolic link without trailing slash.
func (c *Context) openBeneath(dir int, path string, flags int) (int, Errno) {
	fd, e := -1, syscall.EAGAIN
	if !c.noOpenat2 {
		// The kernel gives EAGAIN when something was renamed while it went
		// through "..".
		for try := 0; e == syscall.EAGAIN && try < 16; try++ {
			fd, e = openat2(dir, path, flags, 0)
		}
	}
	if e == syscall.EAGAIN {
		fd, e = walkBeneath(dir, path, flags, 0)
	}
	if e != 0 {
		return -1, resolveErrno(e)
	}
	if kernelFiles(fd) {
		syscall.Close(fd)
		return -1, ErrnoAcces
	}
	return fd, ErrnoSuccess
}

// createBeneath makes the file that path names and opens it. It never opens one
// that is there, nor what a link that has appeared meanwhile leads to: then the
// error is EEXIST.
func createBeneath(dir int, path string, flags int, mode uint32) (int, Errno) {
	fd, e := walkBeneath(dir, path, flags|syscall.O_CREAT, mode)
	if e != 0 {
		return -1, resolveErrno(e)
	}
	return fd, ErrnoSuccess
}

// resolveErrno translates an error of resolving a path.
func resolveErrno(e syscall.Errno) Errno {
	if e == syscall.EXDEV {
		return ErrnoPerm
	}
	return hostErrno(e)
}

// walker resolves a path component by component. Each component it opens is a
// single name, not followed, in a directory that was reached in the same way,
// and ".." goes back to the directory it came from: so it cannot leave base,
// whatever happens to the tree in the meantime.
type walker struct {
	base  int
	stack []int
	rest  string // still to resolve
	links int
}

func (w *walker) cur() int {
	if len(w.stack) == 0 {
		return w.base
	}
	return w.stack[len(w.stack)-1]
}

func (w *walker) pop() {
	syscall.Close(w.stack[len(w.stack)-1])
	w.stack = w.stack[:len(w.stack)-1]
}

// follow puts the target of the link name before the rest. It gives EINVAL when
// name is not a symbolic link.
func (w *walker) follow(name string) syscall.Errno {
	var buf [maxPath + 1]byte
	n, e := readlinkat(w.cur(), name, buf[:])
	switch {
	case e != 0:
		return e
	case n == 0:
		return syscall.ENOENT
	case n > maxPath || n+len(w.rest) > 2*maxPath:
		return syscall.ENAMETOOLONG
	case buf[0] == '/':
		return syscall.EXDEV
	}
	if w.links++; w.links > maxLinks {
		return syscall.ELOOP
	}
	w.rest = string(buf[:n]) + w.rest
	return 0
}

// enter goes down into the directory name, or follows the link name.
func (w *walker) enter(name string) syscall.Errno {
	if len(w.stack) >= maxDepth {
		return syscall.ENAMETOOLONG
	}
	fd, e := openat(w.cur(), name, oPath|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if e == 0 {
		w.stack = append(w.stack, fd)
		return 0
	}
	if e == syscall.ENOTDIR || e == syscall.ELOOP {
		if le := w.follow(name); le != syscall.EINVAL && le != syscall.ENOENT {
			return le
		}
	}
	return e
}

// walkBeneath is openBeneath without openat2 and without a look at what was
// opened. With O_CREAT the file must not be there yet, though links to where it is
// to be are followed unless O_EXCL is given.
func walkBeneath(base int, path string, flags int, mode uint32) (int, syscall.Errno) {
	if path == "" {
		return -1, syscall.ENOENT
	}
	if path[0] == '/' {
		return -1, syscall.EXDEV
	}
	w := walker{base: base, rest: path}
	defer func() {
		for len(w.stack) != 0 {
			w.pop()
		}
	}()
	for {
		w.rest = strings.TrimLeft(w.rest, "/")
		name, rest := w.rest, ""
		if i := strings.IndexByte(name, '/'); i >= 0 {
			name, rest = name[:i], name[i:]
		}
		w.rest = rest
		last := strings.Trim(rest, "/") == ""
		var e syscall.Errno
		switch {
		case name == "" || name == "." && last:
			return openat(w.cur(), ".", flags|syscall.O_NOFOLLOW, mode)
		case name == ".":
		case name == ".." && len(w.stack) == 0:
			return -1, syscall.EXDEV
		case name == "..":
			w.pop()
		case last && rest == "":
			fd, e, again := w.openLast(name, flags, mode)
			if !again {
				return fd, e
			}
		case last && flags&syscall.O_CREAT != 0:
			return -1, syscall.EISDIR
		default:
			e = w.enter(name)
		}
		if e != 0 {
			return -1, e
		}
	}
}

// openLast opens the final component, or follows it and reports again.
func (w *walker) openLast(name string, flags int, mode uint32) (fd int, e syscall.Errno, again bool) {
	if flags&syscall.O_NOFOLLOW == 0 && flags&syscall.O_EXCL == 0 {
		switch e := w.follow(name); e {
		case 0:
			return -1, 0, true
		case syscall.EINVAL, syscall.ENOENT:
			// Not a link, or not there.
		default:
			return -1, e, false
		}
	}
	if flags&syscall.O_CREAT != 0 {
		if kernelFiles(w.cur()) {
			return -1, syscall.EACCES, false
		}
		flags |= syscall.O_EXCL
	}
	// A link that has appeared meanwhile is refused, not followed.
	fd, e = openat(w.cur(), name, flags|syscall.O_NOFOLLOW, mode)
	return fd, e, false
}

// place is a name in a directory: what an operation on a path's last component
// acts on.
type place struct {
	dir   int
	owned bool // dir was opened for this place
	// name is the last component, never empty, without slash.
	name string
	// slash is whether slashes followed it. dots is whether it is "." or "..";
	// then the path resolves to a directory beneath, and name must not be used.
	slash, dots bool
}

func (p *place) close() {
	if p.owned {
		syscall.Close(p.dir)
	}
}

// locate resolves the parent of path. The caller closes the place.
func (c *Context) locate(d *descriptor, path string) (place, Errno) {
	if path[0] == '/' {
		return place{}, ErrnoPerm
	}
	trimmed, slash := trimSlashes(path)
	i := strings.LastIndexByte(trimmed, '/')
	p := place{dir: d.fd, name: trimmed[i+1:], slash: slash}
	const flags = oPath | syscall.O_DIRECTORY
	if p.name == "." || p.name == ".." {
		p.dots = true
		fd, e := c.openBeneath(d.fd, path, flags)
		if e == 0 {
			syscall.Close(fd)
		}
		return p, e
	}
	if i < 0 {
		return p, ErrnoSuccess
	}
	fd, e := c.openBeneath(d.fd, trimmed[:i+1], flags)
	if e != 0 {
		return p, e
	}
	p.dir, p.owned = fd, true
	return p, ErrnoSuccess
}

// isName reports whether path is one component that is a name.
func isName(path string) bool {
	return path != "." && path != ".." && strings.IndexByte(path, '/') < 0
}

// isDir gives ENOTDIR unless the place is a directory, not following links.
func (p *place) isDir() Errno {
	var st syscall.Stat_t
	if e := lstatAt(p.dir, p.name, &st); e != 0 {
		return hostErrno(e)
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return ErrnoNotdir
	}
	return ErrnoSuccess
}
