// Package sys has the interfaces of file systems that modules can be given. This version mounts those of package sysfs only: a file system
// of a program's own makes the instantiation fail.
package sys

import (
	"fmt"
	"io/fs"
	"math"

	"github.com/tetratelabs/wazero/sys"
)

// UTIME_OMIT leaves a time as it is.
const UTIME_OMIT int64 = math.MinInt64

// Oflag says how to open a file.
type Oflag uint32

// The flags of FS.OpenFile: one of the first three, and any of the others.
const (
	O_RDONLY Oflag = iota
	O_RDWR
	O_WRONLY
	O_APPEND Oflag = 1 << iota
	O_CREAT
	O_DIRECTORY
	O_DSYNC
	O_EXCL
	O_NOFOLLOW
	O_NONBLOCK
	O_RSYNC
	O_SYNC
	O_TRUNC
)

// Pflag is what to wait for.
type Pflag uint32

// The flags of Pollable.Poll.
const (
	POLLIN Pflag = 1 << iota
	POLLOUT
)

// Pollable can be waited for.
type Pollable interface {
	Poll(flag Pflag, timeoutMillis int32) (ready bool, errno Errno)
}

// FileType is the type of a file, without permissions.
type FileType = fs.FileMode

// Dirent is an entry of a directory.
type Dirent struct {
	Ino  sys.Inode
	Name string
	Type fs.FileMode
}

// String implements fmt.Stringer.
func (d *Dirent) String() string {
	return fmt.Sprintf("name=%s, type=%v, ino=%d", d.Name, d.Type, d.Ino)
}

// IsDir reports whether the entry is a directory.
func (d *Dirent) IsDir() bool { return d.Type == fs.ModeDir }

// FS is a file system. Paths are relative to its root.
type FS interface {
	OpenFile(path string, flag Oflag, perm fs.FileMode) (File, Errno)
	Lstat(path string) (sys.Stat_t, Errno)
	Stat(path string) (sys.Stat_t, Errno)
	Mkdir(path string, perm fs.FileMode) Errno
	Chmod(path string, perm fs.FileMode) Errno
	Rename(from, to string) Errno
	Rmdir(path string) Errno
	Unlink(path string) Errno
	Link(oldPath, newPath string) Errno
	Symlink(oldPath, linkName string) Errno
	Readlink(path string) (string, Errno)
	Utimens(path string, atim, mtim int64) Errno
}

// File is an open file or directory.
type File interface {
	Dev() (uint64, Errno)
	Ino() (sys.Inode, Errno)
	IsDir() (bool, Errno)
	IsAppend() bool
	SetAppend(enable bool) Errno
	Stat() (sys.Stat_t, Errno)
	Read(buf []byte) (n int, errno Errno)
	Pread(buf []byte, off int64) (n int, errno Errno)
	Seek(offset int64, whence int) (newOffset int64, errno Errno)
	Readdir(n int) (dirents []Dirent, errno Errno)
	Write(buf []byte) (n int, errno Errno)
	Pwrite(buf []byte, off int64) (n int, errno Errno)
	Truncate(size int64) Errno
	Sync() Errno
	Datasync() Errno
	Utimens(atim, mtim int64) Errno
	Close() Errno
}

// PollableFile is a file that can be waited for.
type PollableFile interface {
	File
	Pollable
	IsNonblock() bool
	SetNonblock(enable bool) Errno
}
