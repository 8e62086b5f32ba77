//go:build linux

package wasi

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"unsafe"
)

// Sizes of the host's buffer of directory entries. The smallest holds the
// longest entry (19 bytes and a name of up to 255 bytes, with padding).
const (
	minDirBuf = 1024
	maxDirBuf = 32 << 10
)

// direntSize is the size of a guest's entry without its name.
const direntSize = 24

// fdReaddir fills the guest's buffer with entries, the last one cut off where
// the buffer ends; a buffer not full says that the directory has ended.
// Cookies are the kernel's own positions, so they stay good while entries come
// and go, and no list is kept here.
func fdReaddir(c *Context, m memory, p []uint64) Errno {
	d, e := c.lookupDir(uint32(p[0]), rightFdReaddir)
	if e != 0 {
		return e
	}
	out, ok := m.bytes(uint32(p[1]), uint32(p[2]))
	_, ok2 := m.bytes(uint32(p[4]), 4)
	if !ok || !ok2 {
		return ErrnoFault
	}
	read := c.readEntries
	if d.node != nil {
		read = c.readNodeEntries
	}
	used, e := read(d, out, p[3])
	if e != 0 {
		return e
	}
	return m.putU32(uint32(p[4]), uint32(used))
}

func (c *Context) readEntries(d *descriptor, out []byte, cookie uint64) (int, Errno) {
	size := min(max(len(out), minDirBuf), maxDirBuf)
	if len(c.dirBuf) < size {
		c.dirBuf = make([]byte, size)
	}
	buf := c.dirBuf[:size]
	used := 0
	for used < len(out) {
		if d.dirPos != cookie {
			if _, err := syscall.Seek(d.fd, int64(cookie), 0); err != nil {
				return 0, errnoOf(err)
			}
		}
		d.dirPos = dirPosUnknown
		n, e := getdents(d.fd, buf)
		if e != 0 {
			return 0, hostErrno(e)
		}
		if n == 0 {
			break
		}
		ents := buf[:n]
		for len(ents) >= 19 && used < len(out) {
			reclen := int(binary.LittleEndian.Uint16(ents[16:]))
			if reclen < 19 || reclen > len(ents) {
				return 0, ErrnoIo
			}
			used += putDirent(d.fd, out[used:], ents[:reclen])
			cookie = binary.LittleEndian.Uint64(ents[8:])
			ents = ents[reclen:]
		}
		if len(ents) == 0 {
			d.dirPos = cookie
		}
	}
	return used, ErrnoSuccess
}

func getdents(fd int, buf []byte) (int, syscall.Errno) {
	for {
		n, _, e := syscall.Syscall(syscall.SYS_GETDENTS64, uintptr(fd), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
		if e != syscall.EINTR {
			return int(n), e
		}
	}
}

// putDirent writes one of Linux's entries (inode, next position, length, type,
// name) as the guest's, as far as it fits, and gives the bytes written.
func putDirent(dir int, out, ent []byte) int {
	name := ent[19:]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	le := binary.LittleEndian
	ino, typ := le.Uint64(ent), typeOf(uint32(ent[18])<<12)
	var st syscall.Stat_t
	switch {
	case string(name) == "..":
		// The parent may lie outside. Zero would not do: the scandir of wasi-libc asks
		// for the filestat of such an entry, and fails if it gets none.
		if fstat(dir, &st) == 0 {
			ino = st.Ino
		}
	case ent[18] == 0 || ino == 0: // the file system does not say
		if lstatAt(dir, string(name), &st) == 0 {
			ino, typ = st.Ino, typeOf(st.Mode)
		}
	}
	return putEntry(out, le.Uint64(ent[8:]), ino, typ, string(name))
}

// putEntry writes an entry as far as it fits, and gives the bytes written. next
// is the cookie of the entry behind it.
func putEntry(out []byte, next, ino uint64, typ fileType, name string) int {
	le := binary.LittleEndian
	var h [direntSize]byte
	le.PutUint64(h[0:], next)
	le.PutUint64(h[8:], ino)
	le.PutUint32(h[16:], uint32(len(name)))
	h[20] = byte(typ)
	n := copy(out, h[:])
	return n + copy(out[n:], name)
}
