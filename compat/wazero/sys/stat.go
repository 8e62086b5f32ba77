package sys

import (
	"io/fs"
	"syscall"
)

// Inode is the number of a file on its device.
type Inode = uint64

// EpochNanos is nanoseconds since 1970.
type EpochNanos = int64

// Stat_t is the status of a file.
type Stat_t struct {
	Dev   uint64
	Ino   Inode
	Mode  fs.FileMode
	Nlink uint64
	Size  int64
	Atim  EpochNanos // last access
	Mtim  EpochNanos // last change of the contents
	Ctim  EpochNanos // last change of the status
}

// NewStat_t returns what info knows: its Sys if that is a *Stat_t or the system's, otherwise its methods' results, without device and inode.
func NewStat_t(info fs.FileInfo) Stat_t {
	mtime := info.ModTime().UnixNano()
	st := Stat_t{Mode: info.Mode(), Nlink: 1, Size: info.Size(), Atim: mtime, Mtim: mtime, Ctim: mtime}
	switch s := info.Sys().(type) {
	case *Stat_t:
		return *s
	case *syscall.Stat_t:
		st.fromSystem(s)
	}
	return st
}
