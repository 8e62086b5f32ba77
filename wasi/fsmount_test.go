//go:build linux

package wasi

import (
	"archive/zip"
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/fs
var embedded embed.FS

// sampleFiles is what every FS of sampleFSs holds.
var sampleFiles = map[string]string{"hello.txt": "hello, world\n", "sub/x": "x in sub", "sub/deeper/file": "deep"}

// sampleFSs gives file systems of several makes, with the same files.
func sampleFSs(t *testing.T) map[string]fs.FS {
	t.Helper()
	m, dir := fstest.MapFS{}, t.TempDir()
	var archive bytes.Buffer
	zw := zip.NewWriter(&archive)
	for name, content := range sampleFiles {
		m[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o444, ModTime: time.Unix(1234, 5678)}
		if err := os.MkdirAll(dir+"/"+name[:max(0, strings.LastIndexByte(name, '/'))], 0o777); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir+"/"+name, content)
		w, err := zw.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, content)
	}
	zw.Close()
	zr, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		t.Fatal(err)
	}
	emb, err := fs.Sub(embedded, "testdata/fs")
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return map[string]fs.FS{"MapFS": m, "embed": emb, "DirFS": os.DirFS(dir), "Root": root.FS(), "zip": zr}
}

func TestFSPreopen(t *testing.T) {
	for name, fsys := range sampleFSs(t) {
		t.Run(name, func(t *testing.T) {
			fds := hostFds(t)
			g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/data", FS: fsys}}})
			g.must("fd_prestat_dir_name", 3, buffer, 5)
			if s := string(g.mem[buffer : buffer+5]); s != "/data" {
				t.Errorf("name %q", s)
			}
			seekable := name != "zip"
			for name, content := range sampleFiles {
				fd := g.open(3, name, 0, rightFdRead|rightFdSeek)
				var got strings.Builder
				for i := 1; ; i++ { // in ever larger pieces
					s := g.read(fd, i)
					if s == "" {
						break
					}
					got.WriteString(s)
				}
				if got.String() != content {
					t.Errorf("%s: read %q", name, got.String())
				}
				g.must("fd_tell", fd, result)
				if n := g.u64(result); n != uint64(len(content)) {
					t.Errorf("%s: at %d at the end", name, n)
				}
				g.must("fd_filestat_get", fd, result)
				byFd := bytes.Clone(g.mem[result : result+64])
				g.must("path_filestat_get", 3, 0, "sub/../"+name, result)
				if d := cmp.Diff(byFd, g.mem[result:result+64]); d != "" {
					t.Errorf("%s: filestat by descriptor and path:\n%s", name, d)
				}
				if g.mem[result+16] != byte(typeRegular) || g.u64(result+32) != uint64(len(content)) || g.u64(result+8) == 0 {
					t.Errorf("%s: filestat % x", name, byFd)
				}
				g.must("fd_advise", fd, 0, 1, 0)
				p, n := g.iov(2, 3, 100)
				if !seekable {
					g.want(ErrnoSpipe, "fd_seek", fd, 0, io.SeekStart, result)
					g.want(ErrnoSpipe, "fd_pread", fd, p, n, 1, result)
					g.must("fd_close", fd)
					continue
				}
				g.must("fd_seek", fd, ^uint64(1), io.SeekEnd, result)
				g.must("fd_pread", fd, p, n, 1, result)
				if s := string(g.mem[buffer : buffer+g.u32(result)]); s != content[1:] {
					t.Errorf("%s: read %q at 1", name, s)
				}
				if s := g.read(fd, 100); s != content[len(content)-2:] {
					t.Errorf("%s: read %q near the end", name, s)
				}
				g.want(ErrnoInval, "fd_seek", fd, ^uint64(0), io.SeekStart, result)
				g.want(ErrnoInval, "fd_seek", fd, uint64(1<<63-1), io.SeekCurrent, result)
				g.want(ErrnoInval, "fd_seek", fd, 0, 3, result)
				g.must("fd_seek", fd, 1<<40, io.SeekStart, result)
				if s := g.read(fd, 100); s != "" {
					t.Errorf("%s: read %q beyond the end", name, s)
				}
				g.must("fd_close", fd)
			}
			for _, tt := range []struct {
				dir  string
				want []string
			}{{".", []string{".", "..", "hello.txt", "sub"}}, {"sub", []string{".", "..", "deeper", "x"}}} {
				d := g.open(3, tt.dir, oDirectory, 0)
				for size := 60; size < 300; size += 40 {
					if diff := cmp.Diff(tt.want, g.names(d, size)); diff != "" {
						t.Errorf("%s in pieces of %d (-want +got):\n%s", tt.dir, size, diff)
					}
				}
				g.must("fd_readdir", d, buffer, 4096, 2, result)
				ino := binary.LittleEndian.Uint64(g.mem[buffer+8:])
				g.must("path_filestat_get", d, 1, tt.want[2], result)
				if ino != g.u64(result+8) {
					t.Errorf("%s: inode %x listed, %x in filestat", tt.want[2], ino, g.u64(result+8))
				}
				g.must("fd_readdir", d, buffer, 4096, uint64(1<<64-1), result)
				if n := g.u32(result); n != 0 {
					t.Errorf("%d bytes behind the end", n)
				}
				g.must("fd_close", d)
			}
			sub := g.open(3, "sub", oDirectory, 0)
			if s := g.read(g.open(sub, "./deeper/../deeper//file", 0, rightFdRead), 100); s != "deep" {
				t.Errorf("read %q", s)
			}
			g.c.Close()
			if n := hostFds(t); n != fds {
				t.Errorf("%d host descriptors, before %d", n, fds)
			}
		})
	}
}

// TestFSPreopenNeverChanges tries each change, and each path that leads out.
func TestFSPreopenNeverChanges(t *testing.T) {
	for name, fsys := range sampleFSs(t) {
		t.Run(name, func(t *testing.T) {
			rw := t.TempDir()
			writeFile(t, rw+"/mine", "")
			g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/fs", FS: fsys}, {Guest: "/rw", Host: rw}}})
			sub := g.open(3, "sub", oDirectory, 0)
			for _, dir := range []int{3, sub} {
				file := map[int]string{3: "hello.txt", sub: "x"}[dir]
				for oflags := range 16 {
					for _, r := range []rights{0, rightFdRead, rightFdWrite, rightsAll} {
						for _, path := range []string{file, "missing"} {
							e := g.call("path_open", dir, 1, path, oflags, r, rightsAll, 0, result)
							if e == 0 && (r&rightFdWrite != 0 || oflags&(oCreat|oTrunc) != 0 || path != file) {
								t.Errorf("opened %s, oflags %d, rights %x", path, oflags, r)
							}
							if e == 0 {
								g.must("fd_close", g.u32(result))
							}
						}
					}
				}
				g.want(ErrnoRofs, "path_create_directory", dir, "x")
				g.want(ErrnoRofs, "path_remove_directory", dir, "x")
				g.want(ErrnoRofs, "path_unlink_file", dir, file)
				g.want(ErrnoRofs, "path_symlink", "y", dir, "x")
				g.want(ErrnoRofs, "path_filestat_set_times", dir, 0, file, 0, 0, 4)
				g.want(ErrnoRofs, "path_rename", dir, file, 4, "stolen")
				g.want(ErrnoRofs, "path_rename", 4, "mine", dir, "x")
				g.want(ErrnoRofs, "path_link", dir, 0, file, 4, "stolen")
				g.want(ErrnoRofs, "path_link", 4, 0, "mine", dir, "x")
				g.want(ErrnoRofs, "fd_filestat_set_times", dir, 0, 0, 4)
				g.want(ErrnoInval, "path_readlink", dir, file, buffer, 100, result)
				for path, want := range map[string]Errno{
					"..": ErrnoPerm, "../x": ErrnoPerm, "./../hello.txt": ErrnoPerm, "/": ErrnoPerm, "/etc/passwd": ErrnoPerm,
					file + "/": ErrnoNotdir, file + "/.": ErrnoNotdir, file + "/..": ErrnoNotdir, "missing/..": ErrnoNoent,
					"missing": ErrnoNoent, "\xff": ErrnoIlseq, "nul\x00": ErrnoInval,
				} {
					g.want(want, "path_open", dir, 1, path, 0, rightFdRead, 0, 0, result)
					g.want(want, "path_filestat_get", dir, 1, path, result)
					g.want(want, "path_readlink", dir, path, buffer, 100, result)
				}
			}
			fd := g.open(3, "hello.txt", 0, rightsAll&^rightFdWrite)
			p, n := g.iov(4)
			g.want(ErrnoBadf, "fd_write", fd, p, n, result)
			g.want(ErrnoBadf, "fd_pwrite", fd, p, n, 0, result)
			g.want(ErrnoRofs, "fd_allocate", fd, 0, 100)
			g.want(ErrnoRofs, "fd_filestat_set_size", fd, 0)
			g.want(ErrnoRofs, "fd_filestat_set_times", fd, 0, 0, 4)
			g.must("fd_sync", fd)
			g.must("fd_datasync", 3)
			g.want(ErrnoNotSock, "sock_shutdown", fd, 1)
			g.want(ErrnoNotdir, "fd_readdir", fd, buffer, 100, 0, result)
			g.want(ErrnoIsdir, "fd_read", sub, p, n, result)
			g.want(ErrnoNotdir, "path_open", 3, 1, "hello.txt", oDirectory, 0, 0, 0, result)
			g.must("fd_renumber", fd, sub)
			for name, content := range sampleFiles {
				if b, err := fs.ReadFile(fsys, name); err != nil || string(b) != content {
					t.Errorf("%s is %q, %v", name, b, err)
				}
			}
		})
	}
}

// TestFSPreopenLinks shows that links are the FS's affair.
func TestFSPreopenLinks(t *testing.T) {
	box, _ := escapeTree(t)
	if err := os.Symlink("file", box+"/within"); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(box)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", FS: root.FS()}}})
	if s := g.read(g.open(3, "within", 0, rightFdRead), 100); s != "inside" {
		t.Errorf("read %q", s)
	}
	g.want(ErrnoLoop, "path_open", 3, 0, "within", 0, rightFdRead, 0, 0, result)
	g.must("path_filestat_get", 3, 0, "within", result)
	if typ := fileType(g.mem[result+16]); typ != typeSymlink {
		t.Errorf("type %d", typ)
	}
	g.must("path_readlink", 3, "within", buffer, 3, result)
	if s := string(g.mem[buffer : buffer+g.u32(result)]); s != "fil" {
		t.Errorf("link %q", s)
	}
	g.want(ErrnoPerm, "path_readlink", 3, "abs", buffer, 100, result)
	for _, p := range []string{"canary", "rel/canary", "slash/canary", "chain1/canary", "abscanary", "up/out/canary", "mixed/canary"} {
		if e := g.call("path_open", 3, 1, p, 0, rightFdRead, 0, 0, result); e == 0 {
			t.Errorf("opened %s", p)
		}
		if e := g.call("path_filestat_get", 3, 1, p, result); e == 0 {
			t.Errorf("described %s", p)
		}
	}
}

// seekFS is files that can seek, and cannot read at an offset.
type seekFS map[string]string

func (s seekFS) Open(name string) (fs.File, error) {
	m := fstest.MapFS{}
	for name, content := range s {
		m[name] = &fstest.MapFile{Data: []byte(content)}
	}
	f, err := m.Open(name)
	return seekFile{f, strings.NewReader(s[name])}, err
}

type seekFile struct {
	fs.File
	content *strings.Reader
}

func (f seekFile) Read(b []byte) (int, error)                { return f.content.Read(b) }
func (f seekFile) Seek(off int64, whence int) (int64, error) { return f.content.Seek(off, whence) }

// TestFSPreopenSeek: reading at an offset does not move a file that can only seek.
func TestFSPreopenSeek(t *testing.T) {
	g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", FS: seekFS{"file": "0123456789"}}}})
	fd := g.open(3, "file", 0, rightFdRead|rightFdSeek)
	pread := func(off int, want string) {
		t.Helper()
		p, n := g.iov(3)
		g.must("fd_pread", fd, p, n, off, result)
		if s := string(g.mem[buffer : buffer+g.u32(result)]); s != want {
			t.Errorf("read %q at %d, want %q", s, off, want)
		}
	}
	read := func(want string) {
		t.Helper()
		if s := g.read(fd, 2); s != want {
			t.Errorf("read %q, want %q", s, want)
		}
	}
	pread(4, "456")
	read("01")
	pread(0, "012")
	pread(8, "89")
	pread(10, "")
	read("23")
	g.must("fd_seek", fd, 1, io.SeekCurrent, result)
	pread(1, "123")
	read("56")
	g.must("fd_seek", fd, ^uint64(1), io.SeekEnd, result)
	pread(7, "789")
	read("89")
	pread(0, "012")
	read("")
	g.must("fd_tell", fd, result)
	if at := g.u64(result); at != 10 {
		t.Errorf("at %d in the end", at)
	}
}

// strangeFS breaks the rules of package io/fs.
type strangeFS struct{ n int }

func (s strangeFS) Open(name string) (fs.File, error) {
	switch name {
	case ".", "file":
		return strangeFile{s, name}, nil
	}
	return nil, errors.New("strange")
}

type strangeFile struct {
	strangeFS
	name string
}

func (f strangeFile) Read(b []byte) (int, error) {
	if f.n == 0 {
		return 0, nil // for ever
	}
	return len(b) + f.n, nil
}
func (f strangeFile) Close() error                         { return nil }
func (f strangeFile) Stat() (fs.FileInfo, error)           { return f, nil }
func (f strangeFile) ReadDir(n int) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }
func (f strangeFile) Name() string                         { return strings.Repeat("../", 100) }
func (f strangeFile) Size() int64                          { return -1 }
func (f strangeFile) ModTime() time.Time                   { return time.Time{} }
func (f strangeFile) IsDir() bool                          { return f.name == "." }
func (f strangeFile) Sys() any                             { return nil }
func (f strangeFile) Mode() fs.FileMode {
	if f.name == "." {
		return fs.ModeDir
	}
	return 0
}

func TestFSPreopenStrange(t *testing.T) {
	for _, n := range []int{0, 1, -1 << 20} {
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", FS: strangeFS{n}}}})
		g.want(ErrnoIo, "path_open", 3, 1, "other", 0, rightFdRead, 0, 0, result)
		g.want(ErrnoAcces, "fd_readdir", 3, buffer, 100, 0, result)
		fd := g.open(3, "file", 0, rightFdRead)
		p, k := g.iov(10, 20)
		if e := g.call("fd_read", fd, p, k, result); n != 0 && e != ErrnoIo || n == 0 && e != 0 {
			t.Errorf("%d: %v", n, e)
		}
		g.must("fd_filestat_get", fd, result)
		if size, mtim := g.u64(result+32), g.u64(result+48); size != 0 || mtim != 0 {
			t.Errorf("size %d, modified at %d", size, mtim)
		}
	}
	for _, p := range []Preopen{
		{Guest: "/", FS: fstest.MapFS{".": &fstest.MapFile{}}}, {Guest: "/", FS: os.DirFS("/none")}, {Guest: "", FS: fstest.MapFS{}},
		{Guest: "/", FS: fstest.MapFS{}, Host: "/"},
	} {
		if c, err := New(&Options{Preopens: []Preopen{p}}); err == nil {
			c.Close()
			t.Errorf("New(%+v) succeeded", p)
		}
	}
}

// TestFSPreopenListings alternates between directories, and limits what is kept.
func TestFSPreopenListings(t *testing.T) {
	m := fstest.MapFS{}
	var want []string
	for i := range 200 {
		name := fmt.Sprintf("f%03d", i)
		want = append(want, name)
		m["a/"+name], m["b/"+name] = &fstest.MapFile{}, &fstest.MapFile{}
	}
	g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", FS: m}}})
	fds := [2]int{g.open(3, "a", oDirectory, 0), g.open(3, "b", oDirectory, 0)}
	var got [2][]string
	var cookies [2]uint64
	for range 202 {
		for i, fd := range fds {
			g.must("fd_readdir", fd, buffer, direntSize+4, cookies[i], result)
			n := binary.LittleEndian.Uint32(g.mem[buffer+16:])
			got[i] = append(got[i], string(g.mem[buffer+direntSize:buffer+direntSize+n]))
			cookies[i] = g.u64(buffer)
		}
	}
	want = append([]string{".", ".."}, want...)
	for i := range got {
		if !slices.Equal(want, got[i]) {
			t.Errorf("listed %q", got[i])
		}
	}
}
