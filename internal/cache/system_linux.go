package cache

import (
	"encoding/binary"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// othersWrite are the permissions by which others than the owner may write.
const othersWrite = 0o022

// notOurs says why a file or folder is not to be trusted, empty if it is: it belongs to this user, and nobody else may write to it. Access
// control lists show in the group's permissions.
func notOurs(st os.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "its owner is unknown"
	case int(sys.Uid) != os.Geteuid():
		return "it belongs to another user"
	case st.Mode().Perm()&othersWrite != 0:
		return "others may write to it"
	}
	return ""
}

func inodeOf(st os.FileInfo) uint64 { return st.Sys().(*syscall.Stat_t).Ino }

// appendState appends what tells a file from others, and from itself with another content, and returns when it changed last. Programs
// cannot set that time.
func appendState(b []byte, st os.FileInfo) (_ []byte, changed time.Time, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return b, changed, false
	}
	for _, n := range [...]int64{int64(sys.Dev), int64(sys.Ino), sys.Size, sys.Mtim.Sec, sys.Mtim.Nsec, sys.Ctim.Sec, sys.Ctim.Nsec} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b, time.Unix(sys.Ctim.Unix()), true
}

// The file systems, by what statfs calls them, that change a file's times when a page of a mapping is first written to after it was written to the disk: ext4 and
// its predecessors, XFS, Btrfs, F2FS.
var tellingSystems = [...]uint32{0xEF53, 0x58465342, 0x9123683E, 0xF2F52010}

// tellsChanges reports whether the file is on such a file system.
func tellsChanges(f *os.File) bool {
	var st syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &st) == nil && slices.Contains(tellingSystems[:], uint32(st.Type))
}

// writePages writes the pages of a file to the disk that have changed, and waits for it. Then none can be written to unnoticed.
func writePages(f *os.File) bool {
	const waitBefore, write, waitAfter = 1, 2, 4
	return syscall.SyncFileRange(int(f.Fd()), 0, 0, waitBefore|write|waitAfter) == nil
}

// openRead opens a file for reading, which leaves the time of access as it is. It does not wait for what writes to a pipe.
func openRead(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NOATIME|syscall.O_NONBLOCK, 0)
}

// usedAt returns the time of access, by which this package notes the use of entries: see openRead.
func usedAt(st os.FileInfo) time.Time {
	sys := st.Sys().(*syscall.Stat_t)
	return time.Unix(sys.Atim.Unix())
}

// lock locks a file, unless another process has done so.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// bootID names the run of the system, a random number; it is zero where the system has no name for it.
var bootID = sync.OnceValue(func() (id [16]byte) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return id
	}
	n := 0
	for _, c := range b { // hexadecimal digits, and dashes between
		if c == '-' || n == 2*len(id) {
			continue
		}
		digit := c & 15
		if c >= 'a' {
			digit += 9
		}
		id[n/2] = id[n/2]<<4 | digit
		n++
	}
	return id
})
