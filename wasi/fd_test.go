//go:build linux

package wasi

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const rightsRW = rightFdRead | rightFdWrite

func socketPair(t *testing.T) (a, b *os.File) {
	t.Helper()
	p, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b = os.NewFile(uintptr(p[0]), "a"), os.NewFile(uintptr(p[1]), "b")
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// dirGuest has a writable directory as descriptor 3.
func dirGuest(t *testing.T, walk bool) (*guest, string) {
	dir := t.TempDir()
	g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: dir}}})
	g.c.noOpenat2 = g.c.noOpenat2 || walk
	return g, dir
}

func TestFiles(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		g, dir := dirGuest(t, walk)
		fd := g.open(3, "f", oCreat|oExcl, rightsRW)
		g.write(fd, "hello, world")
		g.want(ErrnoExist, "path_open", 3, 1, "f", oCreat|oExcl, rightsRW, 0, 0, result)
		g.want(ErrnoInval, "path_open", 3, 1, "f", oCreat|oDirectory, 0, 0, 0, result)
		g.must("fd_seek", fd, ^uint64(0)-4, io.SeekEnd, result)
		if s := g.read(fd, 100); s != "world" {
			t.Errorf("read %q", s)
		}
		g.must("fd_tell", fd, result)
		if n := g.u64(result); n != 12 {
			t.Errorf("at %d", n)
		}
		g.want(ErrnoInval, "fd_seek", fd, ^uint64(99), io.SeekCurrent, result)
		g.want(ErrnoInval, "fd_seek", fd, 0, 3, result)

		copy(g.mem[buffer:], "HELLO")
		p, n := g.iov(2, 0, 3)
		g.must("fd_pwrite", fd, p, n, 0, result)
		p, n = g.iov(1, 4, 100)
		g.must("fd_pread", fd, p, n, 0, result)
		if s := string(g.mem[buffer : buffer+g.u32(result)]); s != "HELLO, world" {
			t.Errorf("read %q", s)
		}
		g.want(ErrnoInval, "fd_pread", fd, p, n, uint64(1)<<63, result)
		g.want(ErrnoInval, "fd_pwrite", fd, p, n, uint64(1)<<63, result)

		g.must("fd_filestat_set_size", fd, 5)
		g.want(ErrnoInval, "fd_filestat_set_size", fd, uint64(1)<<63)
		g.must("fd_allocate", fd, 3, 7)
		g.want(ErrnoInval, "fd_allocate", fd, 3, 0)
		g.must("fd_advise", fd, 0, 5, 4)
		g.want(ErrnoInval, "fd_advise", fd, 0, 5, 6)
		g.must("fd_sync", fd)
		g.must("fd_datasync", fd)
		g.must("fd_sync", 3)
		g.must("fd_filestat_set_times", fd, 1_000_000_007, 2_000_000_009, 1|4)
		g.want(ErrnoInval, "fd_filestat_set_times", fd, 0, 0, 3)
		g.want(ErrnoInval, "fd_filestat_set_times", fd, 0, 0, 16)
		g.must("path_link", 3, 0, "f", 3, "g")
		g.must("fd_filestat_get", fd, result)
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join(dir, "f"), &st); err != nil {
			t.Fatal(err)
		}
		want := []uint64{uint64(st.Dev), st.Ino, uint64(typeRegular), 2, 10, 1_000_000_007, 2_000_000_009, uint64(st.Ctim.Nano())}
		var got []uint64
		for i := range uint32(8) {
			got = append(got, g.u64(result+8*i))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("filestat (-want +got):\n%s", d)
		}
		g.must("fd_close", fd)
		g.want(ErrnoBadf, "fd_close", fd)

		g.must("path_open", 3, 0, "f", 0, rightFdWrite, 0, int(flagAppend), result)
		fd = int(g.u32(result))
		g.write(fd, "!")
		g.must("fd_fdstat_get", fd, result)
		if g.mem[result] != byte(typeRegular) || g.u16(result+2) != uint16(flagAppend) {
			t.Errorf("fdstat % x", g.mem[result:result+24])
		}
		g.must("fd_fdstat_set_flags", fd, int(flagNonblock))
		g.want(ErrnoNotSup, "fd_fdstat_set_flags", fd, int(flagSync))
		g.want(ErrnoInval, "fd_fdstat_set_flags", fd, 1<<5)
		p, n = g.iov(1)
		g.want(ErrnoBadf, "fd_read", fd, p, n, result)
		b, err := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || string(b) != "HELLO\x00\x00\x00\x00\x00!" {
			t.Errorf("host reads %q, %v", b, err)
		}
	})
}

func TestPaths(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		g, _ := dirGuest(t, walk)
		g.must("path_create_directory", 3, "d/")
		g.must("path_create_directory", 3, "d/e")
		g.must("fd_close", g.open(3, "d/e/../f", oCreat, 0))
		g.must("path_symlink", "../d/./f", 3, "d/l")
		g.must("path_symlink", "d", 3, "dl")
		g.must("path_symlink", "d/new", 3, "dangling")
		stat := func(lookup int, path string) fileType {
			t.Helper()
			g.must("path_filestat_get", 3, lookup, path, result)
			return fileType(g.mem[result+16])
		}
		for _, tt := range []struct {
			lookup int
			path   string
			typ    fileType
		}{
			{0, ".", typeDirectory}, {0, "d/..", typeDirectory}, {1, "d/l", typeRegular}, {0, "d/l", typeSymlink},
			{0, "dl", typeSymlink}, {0, "dl/", typeDirectory}, {1, "dl//", typeDirectory}, {0, "dl/l", typeSymlink},
			{1, "dl/e/../l", typeRegular}, {0, "./d//./e/", typeDirectory},
		} {
			if got := stat(tt.lookup, tt.path); got != tt.typ {
				t.Errorf("%q (lookup %d) has type %d, want %d", tt.path, tt.lookup, got, tt.typ)
			}
		}
		g.must("fd_close", g.open(3, "dangling", oCreat, 0)) // makes d/new
		g.must("path_unlink_file", 3, "d/new")
		for _, tt := range []struct {
			e    Errno
			name string
			args []any
		}{
			{ErrnoNotdir, "path_filestat_get", []any{3, 1, "d/l/", result}},
			{ErrnoNotdir, "path_filestat_get", []any{3, 1, "d/f/x", result}},
			{ErrnoNoent, "path_filestat_get", []any{3, 1, "", result}},
			{ErrnoNoent, "path_filestat_get", []any{3, 1, "dangling", result}},
			{ErrnoInval, "path_filestat_get", []any{3, 1, "a\x00b", result}},
			{ErrnoInval, "path_filestat_get", []any{3, 2, "d", result}},
			{ErrnoNameTooLong, "path_filestat_get", []any{3, 1, strings.Repeat("d/../", 819) + "d", result}},
			{ErrnoNameTooLong, "path_filestat_get", []any{3, 1, strings.Repeat("n", 256), result}},
			{ErrnoExist, "path_create_directory", []any{3, "."}},
			{ErrnoExist, "path_create_directory", []any{3, "d/.."}},
			{ErrnoExist, "path_create_directory", []any{3, "dl/"}},
			{ErrnoInval, "path_remove_directory", []any{3, "d/e/."}},
			{ErrnoNotEmpty, "path_remove_directory", []any{3, "d/e/.."}},
			{ErrnoNotdir, "path_remove_directory", []any{3, "dl/"}},
			{ErrnoNotdir, "path_remove_directory", []any{3, "d/f"}},
			{ErrnoIsdir, "path_unlink_file", []any{3, "d/e/."}},
			{ErrnoNotdir, "path_unlink_file", []any{3, "d/f/"}},
			{ErrnoNotdir, "path_unlink_file", []any{3, "dl/"}},
			{ErrnoBusy, "path_rename", []any{3, "d/..", 3, "x"}},
			{ErrnoBusy, "path_rename", []any{3, "d/f", 3, "."}},
			{ErrnoNotdir, "path_rename", []any{3, "d/f", 3, "x/"}},
			{ErrnoNotdir, "path_rename", []any{3, "d/f/", 3, "x"}},
			{ErrnoInval, "path_rename", []any{3, "d", 3, "d/e/x"}},
			{ErrnoPerm, "path_link", []any{3, 0, "d", 3, "x"}},
			{ErrnoPerm, "path_link", []any{3, 0, ".", 3, "x"}},
			{ErrnoPerm, "path_link", []any{3, 0, "d/", 3, "x"}},
			{ErrnoNotdir, "path_link", []any{3, 0, "d/f/", 3, "x"}},
			{ErrnoNoent, "path_link", []any{3, 0, "d/f", 3, "x/"}},
			{ErrnoExist, "path_link", []any{3, 0, "d/f", 3, "d/."}},
			{ErrnoInval, "path_link", []any{3, 1, "d/l", 3, "x"}},
			{ErrnoPerm, "path_symlink", []any{"/etc", 3, "x"}},
			{ErrnoNoent, "path_symlink", []any{"", 3, "x"}},
			{ErrnoExist, "path_symlink", []any{"x", 3, "."}},
			{ErrnoInval, "path_readlink", []any{3, "d/f", buffer, 10, result}},
			{ErrnoNotdir, "path_readlink", []any{3, "dl/", buffer, 10, result}},
			{ErrnoInval, "path_readlink", []any{3, ".", buffer, 10, result}},
			{ErrnoLoop, "path_open", []any{3, 0, "dl", 0, 0, 0, 0, result}},
			{ErrnoIsdir, "path_open", []any{3, 0, "d", 0, rightFdWrite, 0, 0, result}},
			{ErrnoIsdir, "path_open", []any{3, 0, "d/x/", oCreat, 0, 0, 0, result}},
			{ErrnoNotdir, "path_open", []any{3, 0, "d/f", oDirectory, 0, 0, 0, result}},
			{ErrnoInval, "path_open", []any{3, 0, "d/f", 16, 0, 0, 0, result}},
			{ErrnoInval, "path_open", []any{3, 0, "d/f", 0, 0, 0, 32, result}},
			{ErrnoInval, "path_open", []any{3, 2, "d/f", 0, 0, 0, 0, result}},
			{ErrnoNotdir, "path_open", []any{1, 0, "d/f", 0, 0, 0, 0, result}},
			{ErrnoBadf, "path_open", []any{99, 0, "d/f", 0, 0, 0, 0, result}},
		} {
			g.want(tt.e, tt.name, tt.args...)
		}
		g.must("path_readlink", 3, "d/l", buffer, 4, result)
		if s := string(g.mem[buffer : buffer+g.u32(result)]); s != "../d" {
			t.Errorf("link %q", s)
		}
		g.must("path_filestat_set_times", 3, 0, "dl", 0, 77, 4)
		g.must("path_filestat_set_times", 3, 1, "d/l", 0, 88, 4)
		for path, want := range map[string]uint64{"dl": 77, "d/f": 88} {
			g.must("path_filestat_get", 3, 0, path, result)
			if got := g.u64(result + 48); got != want {
				t.Errorf("%s was modified at %d, want %d", path, got, want)
			}
		}
		g.must("path_rename", 3, "d/e", 3, "e/")
		g.must("path_remove_directory", 3, "e/")
	})
}

// TestPlainNames checks that names with a meaning elsewhere have none here.
func TestPlainNames(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		g, dir := dirGuest(t, walk)
		names := []string{
			`a\b`, `C:`, `C:\x`, `..\up`, "con", "COM¹", "\xff\xfe", "new\nline", " ", "...", "~", "*", "-", strings.Repeat("n", 255),
		}
		for _, n := range names {
			fd := g.open(3, n, oCreat|oExcl, rightFdWrite)
			g.write(fd, n)
			g.must("fd_close", fd)
			if b, err := os.ReadFile(filepath.Join(dir, n)); err != nil || string(b) != n {
				t.Errorf("host reads %q: %q, %v", n, b, err)
			}
		}
		want := append([]string{".", ".."}, names...)
		got := g.names(g.open(3, ".", oDirectory, 0), 512)
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("names (-want +got):\n%s", d)
		}
	})
}

// TestWalkLimits checks that long ways are ended, not followed without bound.
func TestWalkLimits(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		g, _ := dirGuest(t, walk)
		g.must("path_create_directory", 3, "d")
		g.must("path_symlink", "d", 3, "l0")
		for i := 1; i <= 45; i++ {
			g.must("path_symlink", fmt.Sprintf("l%d", i-1), 3, fmt.Sprintf("l%d", i))
		}
		g.must("path_filestat_get", 3, 1, "l39", result)
		g.want(ErrnoLoop, "path_filestat_get", 3, 1, "l40", result)
		g.must("path_symlink", strings.Repeat("x/", 20)+"x", 3, "x")
		g.want(ErrnoLoop, "path_filestat_get", 3, 1, "x", result)
		g.must("path_filestat_get", 3, 1, strings.Repeat("d/../", 800)+"d", result)
		if walk {
			deep := 3
			for range 30 { // 300 levels
				p := strings.Repeat("e/", 10)
				for i := 2; i <= len(p); i += 2 {
					g.must("path_create_directory", deep, p[:i])
				}
				deep = g.open(deep, p, oDirectory, 0)
			}
			g.want(ErrnoNameTooLong, "path_filestat_get", 3, 1, strings.Repeat("e/", 299), result)
			g.must("path_filestat_get", 3, 1, strings.Repeat("e/", 250), result)
		}
	})
}

func TestReaddir(t *testing.T) {
	g, _ := dirGuest(t, false)
	want := []string{".", ".."}
	for i := range 300 {
		n := fmt.Sprintf("file-%d-%s", i, strings.Repeat("x", i%40))
		want = append(want, n)
		g.must("fd_close", g.open(3, n, oCreat, 0))
	}
	slices.Sort(want)
	for _, size := range []int{direntSize + 60, 300, 4096, 16384} {
		for range 2 {
			got := g.names(3, size)
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("buffer of %d (-want +got):\n%s", size, d)
			}
		}
	}
	// Cut anywhere, never more than asked for; a cookie gives the same entry.
	for size := range 200 {
		g.must("fd_readdir", 3, buffer, size, 0, result)
		if n := g.u32(result); int(n) != size {
			t.Fatalf("%d bytes, want %d", n, size)
		}
	}
	g.must("fd_readdir", 3, buffer, 100, 0, result)
	cookie := g.u64(buffer)
	g.must("fd_readdir", 3, buffer, 100, cookie, result)
	first := bytes.Clone(g.mem[buffer : buffer+100])
	g.names(3, 1000)
	g.must("fd_readdir", 3, buffer, 100, cookie, result)
	if !bytes.Equal(first, g.mem[buffer:buffer+100]) {
		t.Error("a cookie gave another entry")
	}
	// Removing while reading leaves out nothing.
	seen := map[string]bool{}
	for cookie := uint64(0); ; {
		g.must("fd_readdir", 3, buffer, 512, cookie, result)
		used := g.u32(result)
		b := bytes.Clone(g.mem[buffer : buffer+used])
		for len(b) >= direntSize {
			n := direntSize + int(binary.LittleEndian.Uint32(b[16:]))
			if len(b) < n {
				break
			}
			name := string(b[direntSize:n])
			cookie, b = binary.LittleEndian.Uint64(b), b[n:]
			if seen[name] {
				t.Errorf("%q twice", name)
			}
			if seen[name] = true; name[0] != '.' {
				g.must("path_unlink_file", 3, name)
			}
		}
		if used < 512 {
			break
		}
	}
	if len(seen) != len(want) {
		t.Errorf("%d entries seen, want %d", len(seen), len(want))
	}
	g.want(ErrnoNotdir, "fd_readdir", 0, buffer, 100, 0, result)
}

func TestPreopens(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/f", "x")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/data", Root: root}, {Guest: ".", Host: dir, ReadOnly: true}}})
	g.must("fd_prestat_get", 3, result)
	if tag, n := g.u32(result), g.u32(result+4); tag != 0 || n != 5 {
		t.Errorf("prestat %d, %d", tag, n)
	}
	g.must("fd_prestat_dir_name", 3, buffer, 9)
	if s := string(g.mem[buffer : buffer+5]); s != "/data" {
		t.Errorf("name %q", s)
	}
	g.want(ErrnoNameTooLong, "fd_prestat_dir_name", 3, buffer, 4)
	g.must("fd_prestat_get", 4, result)
	g.want(ErrnoBadf, "fd_prestat_get", 5, result)
	g.want(ErrnoBadf, "fd_prestat_get", 1, result)
	if s := g.read(g.open(3, "f", 0, rightFdRead), 9); s != "x" {
		t.Errorf("read %q", s)
	}

	fds := hostFds(t)
	for _, cfg := range []Options{
		{Args: []string{"a\x00"}}, {Env: []string{"\x00"}}, {Preopens: []Preopen{{Guest: "", Host: dir}}},
		{Preopens: []Preopen{{Guest: "/", Host: dir}, {Guest: "/x", Host: dir + "/f"}}},
		{Stdin: os.Stdin, Preopens: []Preopen{{Guest: "/x", Host: dir + "/none"}}},
		{Preopens: []Preopen{{Guest: "/", Host: dir}}, Sockets: []*os.File{os.Stdin}}, {Sockets: []*os.File{nil}},
	} {
		if c, err := New(&cfg); err == nil {
			c.Close()
			t.Errorf("New(%+v) succeeded", cfg)
		}
	}
	if n := hostFds(t); n != fds {
		t.Errorf("%d host descriptors, before %d", n, fds)
	}
	// By default a guest has nothing.
	c, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.open != 3 {
		t.Errorf("without options: %d descriptors, want those of the standard streams", c.open)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	g = newGuest(t, Options{})
	g.want(ErrnoBadf, "fd_fdstat_get", 3, result)
	if s := g.read(0, 10); s != "" {
		t.Errorf("read %q", s)
	}
	g.write(1, "lost")
}

func TestRights(t *testing.T) {
	g, _ := dirGuest(t, false)
	fd := g.open(3, "f", oCreat, rightsRW|rightFdSeek)
	g.must("fd_tell", fd, result) // not asked for, there nonetheless
	g.want(ErrnoNotCapable, "fd_fdstat_set_rights", fd, rightsRW|rightFdSeek|rightFdTell, 0)
	g.must("fd_fdstat_set_rights", fd, rightsRW, 0)
	g.want(ErrnoNotCapable, "fd_seek", fd, 0, 0, result)
	g.must("fd_fdstat_set_rights", fd, rightFdRead, 0)
	p, n := g.iov(1)
	g.want(ErrnoBadf, "fd_write", fd, p, n, result)
	g.must("fd_fdstat_get", 3, result)
	base, inh := rights(g.u64(result+8)), rights(g.u64(result+16))
	sub := g.open(3, ".", oDirectory, base)
	g.must("fd_fdstat_set_rights", sub, base&^rightPathUnlinkFile, inh&^(rightFdWrite|rightFdAdvise))
	g.want(ErrnoNotCapable, "path_unlink_file", sub, "f")
	g.want(ErrnoNotCapable, "path_open", sub, 0, "f", 0, rightFdWrite, rightsAll, 0, result)
	sub2 := g.open(sub, ".", oDirectory, base)
	g.want(ErrnoNotCapable, "path_open", sub2, 0, "f", 0, rightFdWrite, rightsAll, 0, result)
	g.want(ErrnoNotCapable, "fd_advise", g.open(sub2, "f", 0, rightFdRead), 0, 0, 0)
}

// TestDescriptors covers renumbering, the limit, and that nothing leaks.
func TestDescriptors(t *testing.T) {
	before := hostFds(t)
	dir := t.TempDir()
	g := newGuest(t, Options{MaxOpen: 20, Preopens: []Preopen{{Guest: "/", Host: dir}}})
	open := hostFds(t)
	a, b := g.open(3, "a", oCreat, rightsRW), g.open(3, "b", oCreat, rightsRW)
	g.write(a, "in a")
	g.must("fd_renumber", a, a)
	g.must("fd_renumber", a, b)
	g.want(ErrnoBadf, "fd_renumber", a, b)
	g.want(ErrnoBadf, "fd_renumber", b, a) // a number that is closed
	g.want(ErrnoBadf, "fd_renumber", b, 1<<31)
	g.want(ErrnoBadf, "fd_renumber", 1<<32-1, b)
	g.want(ErrnoBadf, "fd_renumber", 99, 99)
	g.must("fd_filestat_get", b, result)
	if n := g.u64(result + 32); n != 4 {
		t.Errorf("size %d after renumbering", n)
	}
	if n := hostFds(t); n != open+1 {
		t.Errorf("%d host descriptors, want %d", n, open+1)
	}
	for i := range 100_000 {
		x := g.open(3, "a", 0, rightFdRead)
		if x != a {
			t.Fatalf("round %d: descriptor %d, want %d", i, x, a)
		}
		g.must("fd_renumber", x, b)
	}
	for i := 5; i < 20; i++ {
		g.open(3, "a", 0, 0)
	}
	g.want(ErrnoMfile, "path_open", 3, 0, "a", 0, 0, 0, 0, result)
	g.want(ErrnoMfile, "path_open", 3, 0, "made", oCreat, 0, 0, 0, result)
	if _, err := os.Stat(dir + "/made"); err == nil {
		t.Error("a file was made although it could not be opened")
	}
	g.must("fd_close", 7)
	if x := g.open(3, "a", 0, 0); x != 7 {
		t.Errorf("descriptor %d, want the lowest free, 7", x)
	}
	g.must("fd_renumber", 8, 3) // over a preopen
	g.want(ErrnoBadf, "fd_prestat_get", 3, result)
	g.must("fd_renumber", 9, 0)
	g.c.Close()
	g.want(ErrnoBadf, "fd_close", 3)
	if n := hostFds(t); n != before {
		t.Errorf("%d host descriptors, before %d", n, before)
	}
}

func TestStdio(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var out bytes.Buffer
	g := newGuest(t, Options{Stdin: r, Stdout: w, Stderr: &out})
	p, n := g.iov(1<<10, 0, 1<<10)
	g.must("fd_fdstat_set_flags", 0, int(flagNonblock))
	g.want(ErrnoAgain, "fd_read", 0, p, n, result)
	g.write(1, "through a pipe")
	if s := g.read(0, 100); s != "through a pipe" {
		t.Errorf("read %q", s)
	}
	g.want(ErrnoBadf, "fd_read", 1, p, n, result)
	g.want(ErrnoBadf, "fd_write", 0, p, n, result)
	g.want(ErrnoSpipe, "fd_seek", 0, 0, 1, result)
	g.want(ErrnoSpipe, "fd_tell", 2, result)
	g.want(ErrnoSpipe, "fd_pread", 0, p, n, 0, result)
	g.want(ErrnoNotCapable, "fd_filestat_set_times", 0, 0, 0, 4)
	g.write(2, "to a Writer")
	if out.String() != "to a Writer" {
		t.Errorf("wrote %q", out.String())
	}
	// A write much larger than the pipe completes, though the host's pipe is
	// non-blocking; a non-blocking guest is told to wait.
	g.mem = make([]byte, 4<<20)
	done := make(chan int)
	go func() {
		b := make([]byte, 3<<20)
		k, _ := io.ReadFull(r, b)
		done <- k
	}()
	binary.LittleEndian.PutUint32(g.mem[4:], 3<<20)
	g.must("fd_write", 1, 0, 1, result)
	if k, m := <-done, g.u32(result); k != 3<<20 || m != 3<<20 {
		t.Errorf("wrote %d, arrived %d", m, k)
	}
	if err := syscall.SetNonblock(int(g.c.fds[1].fd), true); err != nil {
		t.Fatal(err)
	}
	g.must("fd_fdstat_set_flags", 1, int(flagNonblock))
	g.must("fd_write", 1, 0, 1, result)
	if m := g.u32(result); m == 0 || m == 3<<20 {
		t.Errorf("a non-blocking write took %d", m)
	}
	g.want(ErrnoAgain, "fd_write", 1, 0, 1, result)
	r.Close()
	g.must("fd_close", 0)
	g.want(ErrnoPipe, "fd_write", 1, 0, 1, result)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)    { return 0, f.err }
func (f failing) Write(b []byte) (int, error) { return len(b) / 2, f.err }

func TestStreams(t *testing.T) {
	var null *os.File
	g := newGuest(t, Options{Stdin: failing{&os.PathError{Err: syscall.ENOSPC}}, Stdout: failing{nil}, Stderr: null})
	p, n := g.iov(8)
	g.want(ErrnoNoSpc, "fd_read", 0, p, n, result)
	g.must("fd_write", 1, p, n, result)
	if k := g.u32(result); k != 4 {
		t.Errorf("wrote %d", k)
	}
	g.write(2, "nothing")
	g = newGuest(t, Options{Stdin: failing{nil}, Stdout: failing{io.ErrClosedPipe}})
	p, n = g.iov(8)
	g.want(ErrnoIo, "fd_read", 0, p, n, result)
	g.must("fd_read", 0, p, 0, result) // no buffers: nothing is read
}

func TestListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := newGuest(t, Options{Sockets: []*os.File{f}})
	g.must("fd_fdstat_set_flags", 3, int(flagNonblock))
	g.want(ErrnoAgain, "sock_accept", 3, 0, result)
	g.must("fd_fdstat_set_flags", 3, 0)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Minute))
	g.must("sock_accept", 3, int(flagNonblock), result)
	fd := int(g.u32(result))
	g.must("fd_fdstat_get", fd, result)
	if g.mem[result] != byte(typeSocketStream) || g.u16(result+2) != uint16(flagNonblock) {
		t.Errorf("fdstat % x", g.mem[result:result+8])
	}
	p, n := g.iov(3, 10)
	g.want(ErrnoAgain, "sock_recv", fd, p, n, 0, result, result+4)
	g.must("fd_fdstat_set_flags", fd, 0)
	if _, err := conn.Write([]byte("ping")); err != nil {
		t.Fatal(err)
	}
	for _, peek := range []int{recvPeek, 0} {
		g.must("sock_recv", fd, p, n, peek, result, result+4)
		if s := string(g.mem[buffer : buffer+g.u32(result)]); s != "ping" {
			t.Errorf("received %q", s)
		}
	}
	g.want(ErrnoInval, "sock_recv", fd, p, n, 4, result, result+4)
	copy(g.mem[buffer:], "pong")
	p, n = g.iov(1, 3)
	g.must("sock_send", fd, p, n, 0, result)
	g.want(ErrnoInval, "sock_send", fd, p, n, 1, result)
	b := make([]byte, 4)
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != "pong" {
		t.Errorf("got %q, %v", b, err)
	}
	g.want(ErrnoInval, "sock_shutdown", fd, 0)
	g.must("sock_shutdown", fd, shutRead|shutWrite)
	g.want(ErrnoPipe, "sock_send", fd, p, n, 0, result)
	g.want(ErrnoNotSock, "sock_shutdown", 1, 1)
	g.want(ErrnoNotSock, "sock_accept", 0, 0, result)
	g.want(ErrnoBadf, "sock_accept", 99, 0, result)
}

// TestRenumberStreams moves standard output away, a file to its place, and the stream
// back, as yosys does around ABC.
func TestRenumberStreams(t *testing.T) {
	var stdout strings.Builder
	dir := t.TempDir()
	g := newGuest(t, Options{Stdout: &stdout, MaxOpen: 6, Preopens: []Preopen{{Guest: "/", Host: dir}}})
	spare := g.open(3, "spare", oCreat, rightFdWrite)
	file := g.open(3, "file", oCreat, rightFdWrite)
	g.must("fd_renumber", 1, spare)
	g.want(ErrnoBadf, "fd_fdstat_get", 1, result)
	g.must("fd_renumber", file, 1)
	g.write(1, "to the file")
	g.must("fd_renumber", spare, 1)
	g.write(1, "to the stream")
	for _, fd := range []int{spare, file} {
		g.want(ErrnoBadf, "fd_fdstat_get", fd, result)
		g.want(ErrnoBadf, "fd_renumber", fd, 1)
	}
	g.want(ErrnoBadf, "fd_renumber", 1, 1000)
	// The count of open descriptors and the lowest free numbers are right.
	if fd := g.open(3, "spare", 0, 0); fd != spare {
		t.Errorf("descriptor %d, want %d", fd, spare)
	}
	g.open(3, "spare", 0, 0)
	g.want(ErrnoMfile, "path_open", 3, 0, "spare", 0, 0, rightsAll, 0, result)
	b, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil || string(b) != "to the file" || stdout.String() != "to the stream" {
		t.Errorf("the file has %q (%v), the stream %q", b, err, stdout.String())
	}
}
