//go:build linux

package wasi

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// This file keeps files of the kernel and devices from a guest whose [fs.FS] opens
// files of the host, as those of os.DirFS and os.Root do.

// fsHost is what is known of the host's directory behind an FS.
type fsHost struct {
	dev uint64 // device number of its file system, which is none of the kernel's own
}

// hostOf looks at the directory behind an FS. It is nil if that is none of the host's.
func hostOf(fsys fs.FS) (*fsHost, error) {
	f, err := fsys.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := &fsHost{}
	is, err := withDescriptor(f, func(fd int) error {
		var st syscall.Stat_t
		if kernelFiles(fd) {
			return ErrKernelFiles
		}
		if e := fstat(fd, &st); e != 0 {
			return e
		}
		h.dev = st.Dev
		return nil
	})
	if !is {
		h = nil
	}
	return h, err
}

// withDescriptor calls look with the host's descriptor of f, and reports whether it
// has one.
func withDescriptor(f fs.File, look func(fd int) error) (bool, error) {
	conn, ok := f.(syscall.Conn)
	if !ok {
		return false, nil
	}
	rc, err := conn.SyscallConn()
	if err != nil {
		return true, err
	}
	if e := rc.Control(func(fd uintptr) { err = look(int(fd)) }); e != nil {
		err = e
	}
	return true, err
}

// mayOpen returns the error for opening name as far as it can be told before.
func (n *fsNode) mayOpen(name string, devices bool) Errno {
	if n.host == nil {
		return ErrnoSuccess
	}
	if e := n.reachable(name); e != 0 {
		return e
	}
	info, err := fs.Stat(n.fsys, name)
	if err != nil {
		return fsErrno(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return openable(st.Mode, st.Rdev, devices)
	}
	return ErrnoSuccess
}

// open opens name and looks at what was opened.
func (n *fsNode) open(name string, devices bool) (fs.File, error) {
	f, err := n.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	_, err = withDescriptor(f, func(fd int) error {
		var st syscall.Stat_t
		if kernelFiles(fd) {
			return syscall.EACCES
		}
		if e := fstat(fd, &st); e != 0 {
			return e
		}
		if openable(st.Mode, st.Rdev, devices) != 0 {
			return syscall.EACCES
		}
		return nil
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// reachable gives EACCES if name or a directory on the way to it is the kernel's: its
// links lead to open files, whatever they say. That something is not there is left to
// who asks for it.
func (n *fsNode) reachable(name string) Errno {
	if n.host == nil {
		return ErrnoSuccess
	}
	for end := 0; end < len(name); end++ {
		if i := strings.IndexByte(name[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(name)
		}
		info, err := fs.Stat(n.fsys, name[:end])
		if err != nil {
			return ErrnoSuccess
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Dev == n.host.dev || !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		f, err := n.open(name[:end], false)
		if err != nil {
			return fsErrno(err)
		}
		f.Close()
	}
	return ErrnoSuccess
}

// list lists the directory n, ordered by name.
func (n *fsNode) list() ([]fs.DirEntry, error) {
	if n.host == nil {
		return fs.ReadDir(n.fsys, n.name)
	}
	f, err := n.open(n.name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, syscall.ENOTDIR
	}
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
