//go:build linux

package cruntime_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasisuite"
	"github.com/waot-project/waot/wasi"
)

// Rights and flags that scripts name.
const (
	rightRead, rightWrite = 1 << 1, 1 << 6
	rightsAll             = 1<<30 - 1
	oCreat, oDirectory    = 1, 2
	oExcl, oTrunc         = 4, 8
	follow                = 1
	firstFree             = 6 // the first descriptor that a script opens: 3 is "/", 4 "/ro", 5 the socket
)

// iovec puts an array of buffers into the memory, and gives its address and length.
func (s *script) iovec(pairs ...uint32) (at, n int) {
	var b []byte
	for _, p := range pairs {
		b = binary.LittleEndian.AppendUint32(b, p)
	}
	s.write(iovecsAt, b)
	return iovecsAt, len(pairs) / 2
}

// open opens a path, which must give the descriptor firstFree or what a script knows.
func (s *script) open(want wasi.Errno, dir int, path string, oflags, rights int) {
	s.t.Helper()
	s.call(want, "path_open", dir, follow, path, oflags, rights, rightsAll, 0, resultAt)
}

// wasiScripts are calls with what they must give. The same calls are made in Go.
var wasiScripts = map[string]func(s *script){
	"arguments": func(s *script) {
		s.call(0, "args_sizes_get", resultAt, resultAt+4)
		s.call(0, "args_get", bufferAt, bufferAt+64)
		s.call(0, "environ_sizes_get", resultAt, resultAt+4)
		s.call(0, "environ_get", bufferAt, bufferAt+64)
		s.call(wasi.ErrnoFault, "args_get", callsMemory-11, bufferAt)
		s.call(0, "args_get", callsMemory-12, bufferAt)
		s.call(wasi.ErrnoFault, "args_get", bufferAt, callsMemory-15)
		s.call(0, "args_get", bufferAt, callsMemory-16)
	},
	"preopens": func(s *script) {
		for fd := range 8 {
			s.callTo(anyErrno, "fd_prestat_get", fd, resultAt)
			s.callTo(anyErrno, "fd_prestat_dir_name", fd, bufferAt, 3)
			s.callTo(anyErrno, "fd_prestat_dir_name", fd, bufferAt, 2)
			s.callTo(anyErrno, "fd_fdstat_get", fd, bufferAt)
			s.callTo(anyErrno, "fd_filestat_get", fd, bufferAt)
		}
	},
	"ends of the memory": func(s *script) {
		s.open(0, 3, "file", 0, rightRead|rightWrite)
		for _, end := range []int{0, 1, 8, 64, 1 << 16, 1<<31 - callsMemory, 1<<32 - callsMemory - 1, 1<<32 - callsMemory} {
			for size := range 65 {
				s.callTo(anyErrno, "fd_filestat_get", firstFree, uint64(uint32(callsMemory+end-size)))
			}
		}
		for _, p := range []uint64{callsMemory - 4, callsMemory - 3, 1<<32 - 4, 1<<32 - 1, callsMemory} {
			s.callTo(anyErrno, "fd_read", firstFree, iovecsAt, 0, p)
			s.callTo(anyErrno, "fd_read", firstFree, p, 1, resultAt)
			s.callTo(anyErrno, "fd_write", firstFree, p, 0, resultAt)
			s.callTo(anyErrno, "random_get", p, 4)
			s.callTo(anyErrno, "random_get", 16, p)
			s.callTo(anyErrno, "fd_readdir", 3, p, 64, 0, resultAt)
			s.callTo(anyErrno, "poll_oneoff", p, 0, 1, resultAt)
			s.callTo(anyErrno, "poll_oneoff", 0, p, 1, resultAt)
			s.callTo(anyErrno, "path_unlink_file", 3, p, 4)
			s.callTo(anyErrno, "path_unlink_file", 3, 0, p)
			s.callTo(anyErrno, "path_symlink", p, 4, 3, 0, 4)
			s.callTo(anyErrno, "sock_recv", 5, iovecsAt, 0, 0, p, resultAt)
			s.callTo(anyErrno, "sock_recv", 5, iovecsAt, 0, 0, resultAt, p)
		}
		s.call(wasi.ErrnoFault, "fd_filestat_get", firstFree, 1<<32-1)
		s.call(wasi.ErrnoFault, "random_get", 1<<32-1, 1<<32-1)
		at, n := s.iovec(bufferAt, 4, 1<<32-1, 1<<32-1)
		s.call(wasi.ErrnoFault, "fd_read", firstFree, at, n, resultAt)
		s.call(wasi.ErrnoFault, "fd_write", firstFree, at, n, resultAt)
		at, n = s.iovec(callsMemory, 0, callsMemory-1, 1, bufferAt, 0)
		s.call(0, "fd_read", firstFree, at, n, resultAt)
	},
	"many iovecs": func(s *script) {
		s.open(0, 3, "many", oCreat, rightRead|rightWrite)
		var v []uint32
		for i := range 1024 {
			v = append(v, bufferAt+uint32(i)%64*8, uint32(i)%9)
		}
		at, _ := s.iovec(v...)
		for _, n := range []int{0, 1, 1023, 1024} {
			s.call(0, "fd_write", firstFree, at, n, resultAt)
			s.call(0, "fd_pread", firstFree, at, n, 1, resultAt)
			s.call(0, "fd_pwrite", firstFree, at, n, 7, resultAt)
		}
		for _, n := range []uint64{1025, 1 << 20, 1 << 31, 1<<32 - 1} {
			s.call(wasi.ErrnoInval, "fd_write", firstFree, at, n, resultAt)
			s.call(wasi.ErrnoInval, "fd_read", firstFree, at, n, resultAt)
		}
		s.call(wasi.ErrnoInval, "fd_pread", firstFree, at, 1, uint64(1)<<63, resultAt)
	},
	"reading and writing": func(s *script) {
		at, n := s.iovec(bufferAt, 3, bufferAt+100, 40)
		s.call(0, "fd_read", 0, at, n, resultAt)
		s.call(0, "fd_read", 0, at, n, resultAt)
		s.write(bufferAt, []byte("text and more of it"))
		s.call(0, "fd_write", 1, at, n, resultAt)
		s.call(wasi.ErrnoBadf, "fd_write", 0, at, n, resultAt)
		s.call(wasi.ErrnoBadf, "fd_read", 1, at, n, resultAt)
		s.call(wasi.ErrnoIsdir, "fd_read", 3, at, n, resultAt)
		s.open(0, 3, "made", oCreat|oExcl, rightRead|rightWrite)
		s.open(wasi.ErrnoExist, 3, "made", oCreat|oExcl, rightRead|rightWrite)
	},
	"files": func(s *script) {
		const fd = firstFree
		s.open(0, 3, "made", oCreat|oExcl, rightRead|rightWrite)
		at, n := s.iovec(bufferAt, 10, bufferAt, 5)
		s.write(bufferAt, []byte("0123456789"))
		s.call(0, "fd_write", fd, at, n, resultAt)
		for _, w := range []struct {
			off    int64
			whence int
		}{{-2, 1}, {3, 0}, {-1, 2}, {-100, 2}, {1 << 62, 0}, {0, 3}, {0, 1}} {
			s.callTo(anyErrno, "fd_seek", fd, uint64(w.off), w.whence, resultAt)
			s.callTo(anyErrno, "fd_tell", fd, resultAt)
		}
		s.call(0, "fd_filestat_set_size", fd, 3)
		s.call(wasi.ErrnoInval, "fd_filestat_set_size", fd, uint64(1)<<63)
		s.callTo(anyErrno, "fd_allocate", fd, 10, 10)
		s.call(wasi.ErrnoInval, "fd_allocate", fd, 0, 0)
		s.call(0, "fd_filestat_get", fd, bufferAt)
		for advice := range 8 {
			s.callTo(anyErrno, "fd_advise", fd, 0, 10, advice)
		}
		s.call(0, "fd_fdstat_set_flags", fd, 1)
		s.call(0, "fd_seek", fd, 0, 0, resultAt)
		s.call(0, "fd_write", fd, at, n, resultAt)
		s.call(wasi.ErrnoNotSup, "fd_fdstat_set_flags", fd, 2)
		s.call(wasi.ErrnoInval, "fd_fdstat_set_flags", fd, 32)
		s.call(0, "fd_fdstat_set_flags", fd, 4)
		s.call(0, "fd_fdstat_get", fd, bufferAt)
		s.call(0, "fd_seek", fd, 0, 0, resultAt)
		s.call(0, "fd_write", fd, at, n, resultAt)
		s.call(0, "fd_sync", fd)
		s.call(0, "fd_datasync", fd)
		s.call(0, "fd_fdstat_set_rights", fd, rightRead, 0)
		s.call(wasi.ErrnoNotCapable, "fd_fdstat_set_rights", fd, rightRead|rightWrite, 0)
		s.call(0, "fd_seek", fd, 0, 0, resultAt) // which the guest had not asked for, and so has not dropped
		s.call(wasi.ErrnoBadf, "fd_write", fd, at, n, resultAt)
		s.call(0, "fd_close", fd)
		s.call(wasi.ErrnoBadf, "fd_close", fd)
	},
	"times": func(s *script) {
		s.open(0, 3, "file", 0, rightRead|rightWrite)
		for flags := range 18 {
			s.callTo(anyErrno, "fd_filestat_set_times", firstFree, 1234567890123456789, uint64(1)<<63, flags)
			s.callTo(anyErrno, "path_filestat_set_times", 3, flags&1, "link", 5, 6, flags)
		}
		s.call(wasi.ErrnoRofs, "path_filestat_set_times", 4, 0, "file", 5, 6, 5)
	},
	"many descriptors": func(s *script) {
		for i := range 4096 - firstFree {
			s.open(0, 3, "file", 0, 0)
			_ = i
		}
		s.open(wasi.ErrnoMfile, 3, "file", 0, 0)
		s.call(0, "fd_close", 2000)
		s.call(0, "fd_close", 1000)
		s.open(0, 3, "file", 0, 0)
		s.open(0, 3, "file", 0, 0)
		s.open(wasi.ErrnoMfile, 3, "file", 0, 0)
		s.call(0, "fd_close", 4095)
		s.call(wasi.ErrnoBadf, "fd_close", 4096)
		s.call(wasi.ErrnoBadf, "fd_close", 1<<31)
		s.call(wasi.ErrnoBadf, "fd_close", 1<<32-1)
	},
	"descriptors after closing": func(s *script) {
		s.open(0, 3, "file", 0, 0)
		s.call(0, "fd_close", 0)
		s.call(0, "fd_renumber", firstFree, 0)
		for range 4096 - firstFree {
			s.open(0, 3, "file", 0, 0)
		}
		s.open(wasi.ErrnoMfile, 3, "file", 0, 0)
	},
	"rights": func(s *script) {
		const sub, file, below = firstFree, firstFree + 1, firstFree + 2
		const seek, tell, pathOpen, unlink, setSize = 1 << 2, 1 << 5, 1 << 13, 1 << 26, 1 << 22
		s.call(0, "path_open", 3, 0, "a", oDirectory, rightsAll&^rightWrite, rightsAll, 0, resultAt)
		s.call(0, "fd_fdstat_get", sub, bufferAt)
		s.call(0, "path_open", sub, 0, "x", 0, rightRead|rightWrite|seek|tell, 0, 0, resultAt)
		at, n := s.iovec(bufferAt, 4)
		s.call(0, "fd_fdstat_set_rights", file, rightRead|rightWrite|tell, 0)
		s.call(wasi.ErrnoNotCapable, "fd_seek", file, 0, 0, resultAt)
		s.call(0, "fd_tell", file, resultAt)
		s.call(0, "fd_filestat_set_size", file, 0)
		// What is below has no right to write, seek and set sizes, whatever it asks for.
		s.call(0, "fd_fdstat_set_rights", sub, pathOpen, (1<<28-1)&^(rightWrite|seek|setSize))
		s.call(wasi.ErrnoNotCapable, "path_unlink_file", sub, "x")
		s.call(wasi.ErrnoNotCapable, "path_create_directory", sub, "n")
		s.open(wasi.ErrnoNotCapable, sub, "x", 0, rightWrite)
		s.open(wasi.ErrnoNotCapable, sub, "x", oTrunc, rightRead)
		s.open(0, sub, "x", 0, rightRead|seek)
		s.call(0, "fd_fdstat_get", below, bufferAt)
		s.call(wasi.ErrnoNotCapable, "fd_seek", below, 0, 0, resultAt)
		s.call(wasi.ErrnoNotCapable, "fd_filestat_set_size", below, 0)
		s.call(0, "fd_read", below, at, n, resultAt)
		s.open(0, sub, "b", oDirectory, unlink|pathOpen)
		s.open(wasi.ErrnoNotCapable, below+1, "deep", 0, rightWrite)
		s.call(0, "path_unlink_file", below+1, "deep")
	},
	"renumber": func(s *script) {
		s.open(0, 3, "file", 0, rightRead)
		s.open(0, 3, "a", oDirectory, 0)
		s.call(0, "fd_renumber", firstFree, firstFree)
		s.call(wasi.ErrnoBadf, "fd_renumber", firstFree, 100)
		s.call(wasi.ErrnoBadf, "fd_renumber", 100, firstFree)
		s.call(0, "fd_renumber", firstFree, firstFree+1)
		s.call(wasi.ErrnoBadf, "fd_close", firstFree)
		s.call(0, "fd_close", 0)
		s.call(0, "fd_renumber", firstFree+1, 0)
		at, n := s.iovec(bufferAt, 100)
		s.call(0, "fd_read", 0, at, n, resultAt)
		s.call(0, "fd_renumber", 0, 3)
		s.open(wasi.ErrnoNotdir, 3, "file", 0, 0)
		s.open(0, 4, "file", 0, 0)
	},
	"read-only": func(s *script) {
		s.open(0, 4, "file", 0, rightRead)
		s.open(wasi.ErrnoRofs, 4, "file", 0, rightWrite)
		s.open(wasi.ErrnoRofs, 4, "file", oTrunc, rightRead)
		s.open(wasi.ErrnoRofs, 4, "x", oCreat, rightRead)
		s.open(0, 4, "a", oDirectory, 0)
		for _, dir := range []int{4, firstFree + 1} {
			s.open(wasi.ErrnoRofs, dir, "x", oCreat, rightWrite)
			s.call(wasi.ErrnoRofs, "path_create_directory", dir, "n")
			s.call(wasi.ErrnoRofs, "path_remove_directory", dir, "b")
			s.call(wasi.ErrnoRofs, "path_unlink_file", dir, "x")
			s.call(wasi.ErrnoRofs, "path_symlink", "x", dir, "n")
			s.call(wasi.ErrnoRofs, "path_rename", dir, "x", 3, "n")
			s.call(wasi.ErrnoRofs, "path_rename", 3, "file", dir, "n")
			s.call(wasi.ErrnoRofs, "path_link", dir, 0, "x", 3, "n")
			s.call(wasi.ErrnoRofs, "path_link", 3, 0, "file", dir, "n")
			s.call(wasi.ErrnoRofs, "path_filestat_set_times", dir, 0, "x", 1, 1, 5)
			s.call(wasi.ErrnoRofs, "fd_filestat_set_times", dir, 1, 1, 5)
		}
		s.call(wasi.ErrnoRofs, "fd_filestat_set_size", firstFree, 0)
		s.call(wasi.ErrnoRofs, "fd_filestat_set_times", firstFree, 1, 1, 5)
		s.call(wasi.ErrnoRofs, "fd_allocate", firstFree, 0, 1)
	},
	"escapes": func(s *script) {
		for _, p := range escapePaths() {
			for lookup := range 2 {
				for _, oflags := range []int{0, oCreat, oDirectory, oTrunc, oCreat | oExcl, oCreat | oTrunc} {
					s.callTo(anyErrno, "path_open", 3, lookup, p, oflags, rightRead, rightsAll, 0, resultAt)
					s.callTo(anyErrno, "path_open", 3, lookup, p, oflags, rightWrite, rightsAll, 0, resultAt)
				}
				s.callTo(anyErrno, "path_filestat_get", 3, lookup, p, bufferAt)
				s.callTo(anyErrno, "path_filestat_set_times", 3, lookup, p, 5, 5, 5)
			}
			s.callTo(anyErrno, "path_readlink", 3, p, bufferAt, 100, resultAt)
			s.callTo(anyErrno, "path_create_directory", 3, p)
			s.callTo(anyErrno, "path_link", 3, 0, p, 3, "linked")
			s.callTo(anyErrno, "path_link", 3, 0, "file", 3, p)
			s.callTo(anyErrno, "path_symlink", "file", 3, p)
		}
		for _, p := range escapePaths() {
			s.callTo(anyErrno, "path_remove_directory", 3, p)
			s.callTo(anyErrno, "path_rename", 3, p, 3, "renamed")
			s.callTo(anyErrno, "path_rename", 3, "renamed", 3, p)
			s.callTo(anyErrno, "path_unlink_file", 3, p)
		}
	},
	"escapes must fail": func(s *script) {
		for _, p := range []string{"..", "../out/canary", "up/out/canary", "rel/canary", "relfile", "abs/canary", "root/etc", "chain/canary",
			"/etc/passwd", "a/../../out/canary", "mixed/canary", "a/far/file", "slash/canary", "dir/far/file", "a/b/../../../out/canary"} {
			want := wasi.ErrnoPerm
			s.call(want, "path_open", 3, follow, p, 0, rightRead, rightsAll, 0, resultAt)
			s.call(want, "path_filestat_get", 3, follow, p, bufferAt)
		}
		s.call(wasi.ErrnoPerm, "path_symlink", "/etc/passwd", 3, "absolute")
		s.call(wasi.ErrnoPerm, "path_readlink", 3, "abs", bufferAt, 100, resultAt)
		s.call(wasi.ErrnoPerm, "path_open", 3, follow, "new", oCreat, rightWrite, rightsAll, 0, resultAt)
		s.call(wasi.ErrnoPerm, "path_rename", 3, "file", 3, "../out/file")
		s.call(wasi.ErrnoPerm, "path_link", 3, 0, "../out/canary", 3, "stolen")
		s.call(wasi.ErrnoPerm, "path_unlink_file", 3, "rel/canary")
		s.call(wasi.ErrnoLoop, "path_open", 3, follow, "loop", 0, rightRead, rightsAll, 0, resultAt)
		s.call(wasi.ErrnoLoop, "path_open", 3, 0, "link", 0, rightRead, rightsAll, 0, resultAt)
	},
	"odd paths": func(s *script) {
		for _, p := range []string{"", ".", "./", "a/.", "a//b///deep", "./a/./b/../b/deep", "file/", "file/.", "file/..", "link/", "dir/", "dir/b/deep", "a/round/deep",
			"todangling", "dangling/", "a\x00b", strings.Repeat("a/../", 800) + "file", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("x", 4095), strings.Repeat("a/../", 900),
			strings.Repeat("./", 2000), strings.Repeat("/", 10) + "file", "dot/dot/file", "dirslash/x", "empty/../file", "a/b/", "a/b//"} {
			for lookup := range 2 {
				s.callTo(anyErrno, "path_filestat_get", 3, lookup, p, bufferAt)
				for _, oflags := range []int{0, oDirectory, oCreat, oCreat | oExcl} {
					s.callTo(anyErrno, "path_open", 3, lookup, p, oflags, rightRead, rightsAll, 0, resultAt)
				}
			}
			s.callTo(anyErrno, "path_readlink", 3, p, bufferAt, 3, resultAt)
			s.callTo(anyErrno, "path_create_directory", 3, p)
			s.callTo(anyErrno, "path_rename", 3, p, 3, p)
			s.callTo(anyErrno, "path_link", 3, 0, p, 3, "other/")
			s.callTo(anyErrno, "path_remove_directory", 3, p)
			s.callTo(anyErrno, "path_unlink_file", 3, p)
		}
		s.call(wasi.ErrnoNameTooLong, "path_unlink_file", 3, strings.Repeat("x", 4096))
	},
	"rename": func(s *script) {
		s.call(0, "path_create_directory", 3, "d1")
		s.call(0, "path_create_directory", 3, "d2/")
		s.call(0, "path_rename", 3, "file", 3, "d1/moved")
		s.call(wasi.ErrnoNotdir, "path_rename", 3, "d1/moved/", 3, "d2/x")
		s.call(0, "path_rename", 3, "d1/", 3, "d2/")
		s.call(wasi.ErrnoInval, "path_rename", 3, "d2", 3, "d2/below")
		s.call(wasi.ErrnoBusy, "path_rename", 3, "d2/.", 3, "d3")
		s.call(wasi.ErrnoBusy, "path_rename", 3, "d2", 3, "a/b/..")
		s.call(wasi.ErrnoBusy, "path_rename", 3, "d2", 3, ".")
		s.call(wasi.ErrnoNotEmpty, "path_remove_directory", 3, "d2")
		s.call(wasi.ErrnoIsdir, "path_unlink_file", 3, "d2")
		s.call(wasi.ErrnoNotdir, "path_remove_directory", 3, "d2/moved")
		s.call(0, "path_link", 3, 0, "d2/moved", 3, "again")
		s.call(wasi.ErrnoExist, "path_link", 3, 0, "d2/moved", 3, "again")
		s.call(wasi.ErrnoInval, "path_link", 3, 1, "d2/moved", 3, "more")
		s.call(wasi.ErrnoPerm, "path_link", 3, 0, "d2", 3, "more")
		s.call(0, "path_filestat_get", 3, 0, "again", bufferAt)
	},
	"readdir": func(s *script) {
		for i := range 40 {
			s.call(0, "path_create_directory", 3, fmt.Sprintf("empty/%s%d", strings.Repeat("n", i*5), i))
		}
		s.open(0, 3, "empty", oDirectory, 1<<14)
		for _, size := range []int{bufferSize, 0, 1, 23, 24, 25, 100, 1024, 1500, 8191} {
			s.callTo(anyErrno, "fd_readdir", firstFree, bufferAt, size, 0, resultAt)
		}
		s.callTo(anyErrno, "fd_readdir", firstFree, bufferAt, 100, uint64(1)<<63, resultAt)
		s.call(wasi.ErrnoNotdir, "fd_readdir", 0, bufferAt, 100, 0, resultAt)
	},
	"poll": func(s *script) {
		sub := func(userdata uint64, typ byte, word uint32, timeout uint64, flags uint16) []byte {
			b := make([]byte, 48)
			le := binary.LittleEndian
			le.PutUint64(b, userdata)
			b[8] = typ
			le.PutUint32(b[16:], word)
			le.PutUint64(b[24:], timeout)
			le.PutUint16(b[40:], flags)
			return b
		}
		poll := func(want wasi.Errno, subs ...[]byte) {
			s.write(iovecsAt, slices.Concat(subs...))
			s.call(want, "poll_oneoff", iovecsAt, bufferAt, len(subs), resultAt)
		}
		s.open(0, 3, "file", 0, rightRead)
		const never = 1<<64 - 1
		poll(0, sub(1, 0, 1, 1000, 0))
		poll(0, sub(1, 0, 1, never, 0), sub(2, 0, 0, 1000, 0), sub(3, 0, 1, never, 1))
		poll(0, sub(1, 0, 1, 0, 1), sub(2, 0, 0, 5, 1), sub(3, 0, 1, never, 0))
		poll(0, sub(1, 0, 4, 0, 0), sub(2, 0, 2, 0, 0), sub(3, 0, 1, 0, 2), sub(4, 0, 1, never, 0))
		poll(0, sub(1, 1, 0, 0, 0), sub(2, 2, 1, 0, 0), sub(3, 1, 5, 0, 0), sub(4, 2, 5, 0, 0), sub(5, 1, firstFree, 0, 0), sub(6, 2, firstFree, 0, 0))
		poll(0, sub(1, 1, 77, 0, 0), sub(2, 1, 3, 0, 0), sub(3, 0, 1, never, 0))
		poll(0, sub(1, 1, 5, 0, 0), sub(2, 0, 1, 0, 0), sub(3, 0, 1, never, 0))
		poll(wasi.ErrnoInval, sub(1, 3, 0, 0, 0))
		poll(wasi.ErrnoInval)
		s.call(wasi.ErrnoInval, "poll_oneoff", iovecsAt, bufferAt, 16385, resultAt)
		s.call(wasi.ErrnoFault, "poll_oneoff", iovecsAt, bufferAt, 16384, resultAt)
		many := make([][]byte, 170) // more than fit without a mapping
		for i := range many {
			many[i] = sub(uint64(i), byte(i%3), uint32(i%7), uint64(i%2), 0)
		}
		poll(0, many...)
		s.write(iovecsAt, slices.Concat(many...)) // events over subscriptions
		s.call(0, "poll_oneoff", iovecsAt, iovecsAt, 170, resultAt)
	},
	"sockets": func(s *script) {
		at, n := s.iovec(bufferAt, 4, bufferAt+100, 6)
		s.call(0, "sock_recv", 5, at, n, 1, resultAt, resultAt+8)
		s.call(0, "sock_recv", 5, at, n, 2, resultAt, resultAt+8)
		s.call(0, "fd_read", 5, at, n, resultAt)
		s.call(wasi.ErrnoInval, "sock_recv", 5, at, n, 4, resultAt, resultAt+8)
		s.call(0, "sock_send", 5, at, n, 0, resultAt)
		s.call(wasi.ErrnoInval, "sock_send", 5, at, n, 1, resultAt)
		s.call(0, "fd_write", 5, at, n, resultAt)
		s.call(wasi.ErrnoNotSock, "sock_recv", 0, at, n, 0, resultAt, resultAt+8)
		s.call(wasi.ErrnoNotSock, "sock_shutdown", 3, 1)
		s.call(wasi.ErrnoInval, "sock_accept", 5, 0, resultAt)
		s.call(wasi.ErrnoInval, "sock_accept", 5, 1, resultAt)
		s.call(wasi.ErrnoInval, "sock_shutdown", 5, 0)
		s.call(wasi.ErrnoInval, "sock_shutdown", 5, 4)
		s.call(0, "sock_shutdown", 5, 2)
		s.call(wasi.ErrnoPipe, "sock_send", 5, at, n, 0, resultAt)
		s.call(wasi.ErrnoPipe, "fd_write", 5, at, n, resultAt)
		s.call(0, "sock_shutdown", 5, 3)
		s.call(0, "fd_fdstat_set_flags", 5, 4)
		s.callTo(anyErrno, "sock_recv", 5, at, n, 0, resultAt, resultAt+8)
		s.callTo(anyErrno, "sock_accept", 5, 0, resultAt)
	},
	"FIFOs": func(s *script) {
		at, n := s.iovec(bufferAt, 4, bufferAt+100, 6)
		const nonblock = 4
		s.call(wasi.ErrnoNxio, "path_open", 3, 0, "fifo", 0, rightWrite, 0, nonblock, resultAt)
		s.call(0, "path_open", 3, 0, "fifo", 0, rightRead, 0, nonblock, resultAt)
		s.call(wasi.ErrnoAgain, "fd_read", firstFree, at, n, resultAt) // nobody has written yet
		s.call(0, "path_open", 3, 0, "fifo", 0, rightWrite, 0, nonblock, resultAt)
		s.call(wasi.ErrnoAgain, "fd_read", firstFree, at, n, resultAt)
		s.call(0, "fd_write", firstFree+1, at, n, resultAt)
		s.call(0, "fd_read", firstFree, at, 1, resultAt)
		for range 3 {
			s.callTo(anyErrno, "fd_read", firstFree, at, n, resultAt)
		}
		s.call(wasi.ErrnoSpipe, "fd_pread", firstFree, at, n, 0, resultAt)
		s.call(wasi.ErrnoSpipe, "fd_seek", firstFree, 0, 0, resultAt)
		s.call(0, "fd_filestat_get", firstFree, bufferAt)
		for range 20 { // until it is full
			at, _ := s.iovec(0, 8000)
			s.callTo(anyErrno, "fd_write", firstFree+1, at, 1, resultAt)
		}
		s.call(0, "fd_close", firstFree)
		s.call(wasi.ErrnoPipe, "fd_write", firstFree+1, at, n, resultAt)
	},
	"numbers": func(s *script) { // of descriptors: renumbering over preopened directories, streams, what is closed, and out of range
		at, n := s.iovec(bufferAt, 2)
		rng := rand.New(rand.NewPCG(7, 8))
		number := func() int {
			if rng.IntN(12) == 0 {
				return []int{15, 16, 17, 4095, 4096, 1<<31 - 1, 1 << 31, 1<<32 - 1}[rng.IntN(8)]
			}
			return rng.IntN(11)
		}
		for range 1000 {
			fd := number()
			switch rng.IntN(10) {
			case 0, 1:
				s.callTo(anyErrno, "path_open", []int{3, 4, fd}[rng.IntN(3)], 0, []string{"file", "a/b/deep", "a"}[rng.IntN(3)], 0, rightRead, rightsAll, 0, resultAt)
			case 2:
				s.callTo(anyErrno, "fd_close", fd)
			case 3, 4, 5, 6:
				s.callTo(anyErrno, "fd_renumber", fd, []int{fd, number()}[min(1, rng.IntN(5))])
			case 7:
				s.callTo(anyErrno, "fd_prestat_get", fd, resultAt)
				s.callTo(anyErrno, "fd_prestat_dir_name", fd, bufferAt, 3)
			case 8:
				s.callTo(anyErrno, "fd_fdstat_get", fd, bufferAt)
				s.callTo(anyErrno, "fd_filestat_get", fd, bufferAt)
			case 9:
				s.callTo(anyErrno, "fd_read", fd, at, n, resultAt)
			}
		}
	},
	"streams of nothing": func(s *script) {
		s.world = func(w *world) { w.null = true }
		at, n := s.iovec(bufferAt, 4, bufferAt+100, 6)
		for fd := range 3 {
			for _, name := range []string{"fd_read", "fd_write"} {
				s.callTo(anyErrno, name, fd, at, n, resultAt)
				s.callTo(anyErrno, name, fd, at, 0, resultAt)
				s.callTo(anyErrno, name, fd, at, n, callsMemory)
				for _, off := range []uint64{0, 7, 1 << 63} {
					s.callTo(anyErrno, strings.Replace(name, "_", "_p", 1), fd, at, n, off, resultAt)
				}
			}
			for _, flags := range []int{4, 1, 5, 0, 2} {
				s.callTo(anyErrno, "fd_fdstat_set_flags", fd, flags)
				s.callTo(anyErrno, "fd_read", fd, at, n, resultAt)
				s.callTo(anyErrno, "fd_write", fd, at, n, resultAt)
				s.callTo(anyErrno, "fd_fdstat_get", fd, bufferAt)
			}
			for whence := range 4 {
				s.callTo(anyErrno, "fd_seek", fd, 1, whence, resultAt)
				s.callTo(anyErrno, "fd_seek", fd, 1, whence, callsMemory)
			}
			s.callTo(anyErrno, "fd_tell", fd, resultAt)
			s.callTo(anyErrno, "fd_advise", fd, 0, 1, 0)
			s.callTo(anyErrno, "fd_advise", fd, 0, 1, 9)
			s.callTo(anyErrno, "fd_allocate", fd, 0, 1)
			s.call(0, "fd_sync", fd)
			s.call(0, "fd_datasync", fd)
			s.call(0, "fd_filestat_get", fd, bufferAt)
			s.callTo(anyErrno, "fd_filestat_get", fd, callsMemory)
			s.callTo(anyErrno, "fd_filestat_set_size", fd, 1)
			s.callTo(anyErrno, "fd_filestat_set_times", fd, 1, 2, 5)
			s.callTo(anyErrno, "fd_readdir", fd, bufferAt, 100, 0, resultAt)
			s.callTo(anyErrno, "fd_prestat_get", fd, resultAt)
			s.callTo(anyErrno, "path_open", fd, 0, "file", 0, rightRead, 0, 0, resultAt)
			s.callTo(anyErrno, "sock_recv", fd, at, n, 0, resultAt, resultAt+8)
			s.callTo(anyErrno, "sock_send", fd, at, n, 0, resultAt)
			s.callTo(anyErrno, "sock_accept", fd, 0, resultAt)
			s.callTo(anyErrno, "sock_shutdown", fd, 1)
		}
		var subs []byte
		for i := range 9 { // of each stream, and a clock that is never due
			sub := make([]byte, 48)
			sub[0], sub[8], sub[16] = byte(i), byte(i%3), byte(i/3)
			copy(sub[24:32], "\xff\xff\xff\xff\xff\xff\xff\x7f")
			subs = append(subs, sub...)
		}
		s.write(bufferAt, subs)
		s.call(0, "poll_oneoff", bufferAt, bufferAt+1000, 9, resultAt)
		s.call(0, "fd_renumber", 2, 0)
		s.callTo(anyErrno, "fd_write", 0, at, n, resultAt)
		s.call(0, "path_open", 3, 0, "file", 0, rightRead, 0, 0, resultAt)
		s.call(0, "fd_renumber", 2, 1)
		s.callTo(anyErrno, "fd_read", 1, at, n, resultAt)
		s.call(0, "fd_close", 0)
		s.call(wasi.ErrnoBadf, "fd_close", 0)
		s.call(0, "fd_renumber", 1, 0)
		s.callTo(anyErrno, "fd_seek", 0, 0, 1, resultAt)
	},
	"output without a reader": func(s *script) {
		s.world = func(w *world) {
			r, out, err := os.Pipe()
			if err != nil {
				s.t.Fatal(err)
			}
			r.Close()
			w.output = out
		}
		at, n := s.iovec(bufferAt, 4, bufferAt+100, 6)
		s.call(wasi.ErrnoPipe, "fd_write", 1, at, n, resultAt)
		s.call(wasi.ErrnoPipe, "fd_write", 2, at, 1, resultAt)
	},
	"kernel files": func(s *script) {
		s.world, s.magic = func(w *world) { w.dirs[0].Host = "/" }, true
		for _, p := range []string{"proc", "proc/", "sys", "proc/self/mem", "proc/self/environ", "proc/self/fd/0", "proc/self/fd", "proc/self/exe",
			"proc/self/cwd", "proc/self/root" + "/etc/passwd", "proc/thread-self/mem", "proc/1/environ", "proc/sys/kernel/core_pattern",
			"proc/../proc/self/mem", "sys/kernel", "sys/kernel/uevent_seqnum", "proc/new", "dev/stdin", "dev/fd/0"} {
			for lookup := range 2 {
				s.callTo(anyErrno, "path_filestat_get", 3, lookup, p, bufferAt)
				for _, oflags := range []int{0, oDirectory, oCreat, oCreat | oExcl} {
					s.callTo(anyErrno, "path_open", 3, lookup, p, oflags, rightRead, rightsAll, 0, resultAt)
				}
			}
			s.callTo(anyErrno, "path_readlink", 3, p, bufferAt, 3, resultAt)
		}
		s.call(wasi.ErrnoAcces, "path_open", 3, 1, "proc/self/mem", 0, rightRead|rightWrite, 0, 0, resultAt)
		s.call(wasi.ErrnoAcces, "path_open", 3, 1, "proc/self/environ", 0, rightRead, 0, 0, resultAt)
		s.call(wasi.ErrnoAcces, "path_create_directory", 3, "proc/new")
		s.call(wasi.ErrnoAcces, "path_unlink_file", 3, "proc/self/environ")
		s.call(0, "path_open", 3, 1, "dev/null", 0, rightRead|rightWrite, 0, 0, resultAt)
		s.call(0, "path_open", 3, 1, "dev/zero", 0, rightRead, 0, 0, resultAt)
		for _, p := range []string{"dev/tty", "dev/ptmx", "dev/mem", "dev/kmsg", "dev/console"} {
			s.callTo(anyErrno, "path_open", 3, 1, p, 0, rightRead, 0, 0, resultAt)
		}
		s.call(wasi.ErrnoAcces, "path_open", 3, 1, "dev/ptmx", 0, rightRead, 0, 0, resultAt)
	},
	"clocks": func(s *script) {
		for clock := range 6 {
			s.callTo(anyErrno, "clock_res_get", clock, resultAt)
			s.callTo(anyErrno, "clock_time_get", clock, uint64(1)<<63, resultAt)
		}
		s.call(0, "sched_yield")
		s.call(0, "random_get", bufferAt, 1000)
	},
	"ending": func(s *script) {
		for sig := range 33 {
			s.callTo(anyErrno, "proc_raise", sig)
		}
		for _, status := range []uint64{0, 1, 255, 256, 1<<32 - 1} {
			s.callTo(65536+int64(status), "proc_exit", status)
		}
	},
}

// escapePaths lead out of the guest's directory, but for a few.
func escapePaths() []string {
	heads := []string{"..", "a/../..", "./..", "up", "upup", "rel", "abs", "root", "slash", "relfile", "chain", "mixed", "loop", "loop2", "proc",
		"a/far", "new", "dangling", "todangling", "../out", "/", "//", "/proc/self/root", "a/b/../../..", "dir/far", "dot/..", "file/..", "dir"}
	var paths []string
	for _, h := range heads {
		for _, tail := range []string{"", "/", "/.", "/..", "/canary", "/out/canary", "/file", "/created"} {
			paths = append(paths, h+tail)
		}
	}
	return paths
}

// TestWASICalls makes the calls of each script.
func TestWASICalls(t *testing.T) {
	eachCalls(t, func(t *testing.T, w *wasiTarget, exe string, more []string) {
		for name, f := range wasiScripts {
			t.Run(name, func(t *testing.T) {
				s := &script{t: t}
				f(s)
				s.both(w, exe, more...)
			})
		}
	})
}

// TestWASISanitized makes the calls with a runtime that checks itself for undefined behaviour and wrong addresses.
func TestWASISanitized(t *testing.T) {
	testenv.OnlyFull(t, "slow code")
	w := &wasiTargets()[0]
	w.missing(t)
	flags := []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"}
	exe := w.link(t, callsModule(), w.wasiRuntime(t, "calls.c", flags...), flags[0])
	for name, f := range wasiScripts {
		t.Run(name, func(t *testing.T) {
			s := &script{t: t}
			f(s)
			s.both(w, exe)
		})
	}
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range 10 {
		t.Run(fmt.Sprint(i), func(t *testing.T) { randomScript(t, w, rng, 200).both(w, exe, []string{"--no-openat2"}[i%2:]...) })
	}
}

// eachCalls runs a test for each target and each way of resolving paths.
func eachCalls(t *testing.T, f func(t *testing.T, w *wasiTarget, exe string, more []string)) {
	for _, w := range wasiTargets() {
		t.Run(w.name, func(t *testing.T) {
			if w.prefix != "" {
				testenv.OnlyFull(t, "programs of another machine")
			}
			w.missing(t)
			exe := w.calls(t)
			t.Run("openat2", func(t *testing.T) { f(t, &w, exe, nil) })
			if w.prefix == "" {
				t.Run("walk", func(t *testing.T) { f(t, &w, exe, []string{"--no-openat2"}) })
			}
		})
	}
}

// randomPaths are paths of random calls.
var randomPaths = []string{
	"file", "a", "a/b", "..", "../out", "../out/canary", "canary", "chain", "slash/", "up/", ".", "made", "a/../..", "link", "dir/b",
	"x", "y/", "a/b/../../file", "../..", "/", "loop", "a/x", "a/b/deep", "todangling", "dangling", "new", "empty", "a/y", "empty/z",
}

// randomScript is n random calls for a target.
func randomScript(t *testing.T, target *wasiTarget, rng *rand.Rand, n int) *script {
	s := &script{t: t}
	le := binary.LittleEndian
	fns := wasi.Functions()
	var iovecs, subs []byte
	for i := range 16 {
		iovecs = le.AppendUint32(le.AppendUint32(iovecs, uint32(0x7000+100*i)), uint32(i*3))
	}
	for i := range 40 {
		b := make([]byte, 48)
		b[0], b[8], b[16], b[24], b[40] = byte(i), byte(i%3), byte(i%8), byte(i), byte(i/3%2)
		subs = append(subs, b...)
	}
	const subsAt, pathsAt = 0x5000, 0x1000
	text := make([]byte, 1600)
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	s.write(0x7000, text)
	extremes := []uint64{callsMemory - 1, callsMemory, callsMemory - 8, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<32 - 8, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for range n {
		// What calls may have overwritten.
		s.write(iovecsAt, iovecs)
		s.write(subsAt, subs)
		st := scriptStep{fn: rng.IntN(len(fns)), want: anyErrno}
		if rng.IntN(4) == 0 {
			st.fn = slices.IndexFunc(fns, func(f wasi.Func) bool { return f.Name == "path_open" })
		}
		name := fns[st.fn].Name
		at := 0
		put := func(v uint64) { st.args[at] = v; at++ }
		for _, kind := range wasisuite.Arguments()[name] {
			first := at
			k := uint64(rng.IntN(256))
			switch kind {
			case 'd':
				if k%3 == 0 {
					put(3 + k/4%3)
				} else {
					put(k % 16)
				}
			case 'v':
				put(iovecsAt + k%8*8)
			case 'n':
				put(k % 8)
			case 'r':
				put(resultAt + k*8)
			case 'p':
				p := randomPaths[rng.IntN(len(randomPaths))]
				where := uint64(pathsAt)
				if at > 2 {
					where += 0x100
				}
				s.write(uint32(where), []byte(p))
				put(where)
				put(uint64(len(p)))
			case 'b':
				put(bufferAt + k*64)
			case 'z':
				put(k * 8)
			case 'o':
				put(k % 16 * (k >> 4 % 2))
			case 'w':
				put(k)
			case 'R':
				put([]uint64{rightsAll, rightRead, rightRead | rightWrite, uint64(rng.Uint32()) & rightsAll}[k%4])
			case 's':
				put(subsAt + k%32*48)
			}
			if rng.IntN(24) == 0 {
				st.args[first] = extremes[rng.IntN(len(extremes))]
			}
		}
		if (name == "fd_close" || name == "fd_renumber") && rng.IntN(8) != 0 { // mostly not what the guest began with
			st.args[0], st.args[1] = 6+uint64(rng.IntN(12)), 6+uint64(rng.IntN(12))
		}
		if strings.HasPrefix(name, "sock_") && len(target.run) != 0 && st.args[2] < 2 {
			st.args[2] = 2 // qemu gives success for messages without any buffer, whatever the socket's state
		}
		if name == "fd_allocate" { // which would fill the memory
			st.args[1] &= 1<<16 - 1
			st.args[2] &= 1<<16 - 1
		}
		if name == "fd_filestat_set_size" && st.args[1] > 1<<16 { // what is written behind would be in the test's memory
			st.args[1] |= 1 << 63
		}
		s.steps = append(s.steps, st)
	}
	return s
}

// TestWASIRandom makes random calls.
func TestWASIRandom(t *testing.T) {
	rounds := testenv.Cases(8, 15, 60)
	eachCalls(t, func(t *testing.T, w *wasiTarget, exe string, more []string) {
		rng := rand.New(rand.NewPCG(11, 12))
		for i := range rounds {
			if !t.Run(fmt.Sprint(i), func(t *testing.T) {
				s := randomScript(t, w, rng, 200)
				if i%4 == 3 {
					s.world = func(w *world) { w.null = true }
				}
				s.both(w, exe, more...)
			}) {
				return
			}
		}
	})
}

// TestWASIExchanged opens names while somebody else exchanges what they name for links out of the directory.
func TestWASIExchanged(t *testing.T) {
	rounds := testenv.Cases(200, 500, 3000)
	eachCalls(t, func(t *testing.T, target *wasiTarget, exe string, more []string) {
		w := newWorld(t)
		box := w.dir + "/box"
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.Mkdir(w.dir+"/out/empty", 0o777))
		var outside [3]os.FileInfo // the times of what is not the guest's
		names := [len(outside)]string{w.dir + "/out", w.dir + "/out/canary", w.dir + "/out/sub"}
		for i, name := range names {
			st, err := os.Lstat(name)
			must(err)
			outside[i] = st
		}
		must(os.Mkdir(box+"/spare", 0o777))
		must(os.WriteFile(box+"/spare/canary", []byte("inside"), 0o666))
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { // some of its steps fail because of what the guest does
			defer close(stopped)
			next, name, dir, spare := box+"/next", box+"/name", box+"/dir2", box+"/spare"
			for {
				os.WriteFile(next, []byte("inside"), 0o666)
				os.Rename(next, name)
				os.Rename(spare, dir)
				os.Symlink("../out/canary", next)
				os.Rename(next, name)
				os.Rename(dir, spare)
				os.Symlink("../out", dir)
				os.Symlink("file", next)
				os.Rename(next, name)
				os.Remove(dir)
				os.Remove(name)
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		s := &script{t: t}
		at, n := s.iovec(bufferAt, 100)
		s.write(resultAt, []byte{0xff, 0xff, 0xff, 0xff})
		for i := range rounds {
			path := []string{"name", "dir2/canary", "a/../dir2/canary", "dir2/created", "a/../name"}[i%5]
			oflags := []int{0, oCreat, oTrunc, oCreat | oTrunc, oCreat | oExcl, 0, 0}[i%7]
			s.callTo(anyErrno, "path_open", 3, i/5%2, path, oflags, rightRead|rightWrite, 0, 0, resultAt)
			s.callTo(anyErrno, "fd_read", firstFree, at, n, resultAt)
			s.callTo(anyErrno, "fd_write", firstFree, at, n, resultAt)
			s.callTo(anyErrno, "fd_close", firstFree)
			s.callTo(anyErrno, "path_rename", 3, path, 3, "a/x")
			s.callTo(anyErrno, "path_unlink_file", 3, "dir2/sub/file")
			switch i % 6 {
			case 0:
				s.callTo(anyErrno, "path_symlink", "file", 3, "dir2/symlink")
				s.callTo(anyErrno, "path_readlink", 3, "dir2/symlink", bufferAt, 100, resultAt)
			case 1:
				s.callTo(anyErrno, "path_create_directory", 3, "dir2/made")
				s.callTo(anyErrno, "path_remove_directory", 3, "dir2/empty")
			case 2:
				s.callTo(anyErrno, "path_link", 3, 0, path, 3, "linked")
				s.callTo(anyErrno, "path_open", 3, 0, "linked", 0, rightRead|rightWrite, 0, 0, resultAt)
				s.callTo(anyErrno, "fd_write", firstFree, at, n, resultAt)
				s.callTo(anyErrno, "fd_close", firstFree)
				s.callTo(anyErrno, "path_unlink_file", 3, "linked")
			case 3:
				s.callTo(anyErrno, "path_filestat_set_times", 3, i/6%2, path, 1, 1, 5)
			case 4:
				s.callTo(anyErrno, "path_rename", 3, "dir2/sub", 3, "stolen")
				s.callTo(anyErrno, "path_rename", 3, "a/b/deep", 3, path)
			case 5:
				s.callTo(anyErrno, "path_link", 3, 0, "file", 3, "dir2/canary2")
			}
		}
		s.settle = func() { close(stop); <-stopped }
		o := s.runC(target, exe, w, more...)
		for i, name := range names {
			if st, err := os.Lstat(name); err != nil || !st.ModTime().Equal(outside[i].ModTime()) {
				t.Errorf("%s has changed: %v, before %v (%v)", name, st, outside[i], err)
			}
		}
		opened, refused := 0, 0
		for i := range o.errnos {
			switch e := o.errnos[i]; {
			case i%6 == 0 && e == 0:
				opened++
			case i%6 == 0:
				refused++
			case i%6 == 1 && strings.Contains(string(o.mems[i]), "secret"):
				t.Fatalf("call %d has read what is outside", i)
			}
		}
		for name, want := range map[string]string{"canary": "secret", "sub/file": "y", "created": ""} {
			b, err := os.ReadFile(filepath.Join(w.dir, "out", name))
			if string(b) != want || (err == nil) != (want != "") {
				t.Errorf("%s outside is %q, %v", name, b, err)
			}
		}
		if opened == 0 || refused == 0 {
			t.Errorf("%d times opened, %d refused: nothing was exchanged meanwhile", opened, refused)
		}
	})
}
