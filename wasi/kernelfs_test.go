//go:build linux

package wasi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// everyWay runs f with a guest for each way of resolving paths, of opening what was
// found, and with calls that can be interrupted.
func everyWay(t *testing.T, preopen Preopen, f func(t *testing.T, g *guest)) {
	for _, walk := range []bool{false, true} {
		for _, proc := range []bool{true, false} {
			for _, waiting := range []bool{false, true} {
				t.Run(fmt.Sprintf("walk=%v,procfs=%v,waiting=%v", walk, proc, waiting), func(t *testing.T) {
					g := newGuest(t, Options{Preopens: []Preopen{preopen}})
					g.c.noOpenat2 = g.c.noOpenat2 || walk
					if !proc {
						syscall.Close(g.c.procFds)
						g.c.procFds = -1
					}
					if waiting {
						g.c.SetInterrupt(make(chan struct{}))
					}
					f(t, g)
				})
			}
		}
	}
}

// kernelPaths are files, directories and links of the kernel's, seen from "/".
var kernelPaths = []string{
	"proc/self/mem", "proc/self/environ", "proc/self/maps", "proc/self/fd/0", "proc/self/fd", "proc/self/exe",
	"proc/self/cwd", "proc/self/root/etc/passwd", "proc/self/task", "proc/self", "proc/thread-self/mem", "proc/1/environ",
	"proc/1/mem", "proc/sys/kernel/core_pattern", "proc/../proc/self/mem", "proc/./self/../self/mem", "proc/kcore", "proc/new",
	"sys/kernel", "sys/kernel/uevent_seqnum", "sys/new",
	"sys/kernel/debug", "sys/kernel/tracing/trace", "dev/stdin", "dev/fd/0",
}

// TestKernelFiles gives the guest "/", and tries every operation on files of the
// kernel's. None may succeed, and what is there is refused with EACCES.
func TestKernelFiles(t *testing.T) {
	everyWay(t, Preopen{Guest: "/", Host: "/"}, func(t *testing.T, g *guest) {
		for _, p := range kernelPaths {
			g.eachPathOperation(p, !strings.HasPrefix(p, "dev/"), func(what string) { t.Errorf("%s %q succeeded", what, p) })
		}
		for _, p := range []string{"proc", "proc/", "sys", "proc/self", "proc/self/mem", "proc/self/environ", "proc/self/task", "sys/kernel"} {
			g.want(ErrnoAcces, "path_open", 3, lookupFollow, p, 0, rightFdRead, rightsAll, 0, result)
			g.want(ErrnoAcces, "path_filestat_get", 3, lookupFollow, p, result)
			g.want(ErrnoAcces, "path_filestat_set_times", 3, lookupFollow, p, 0, 0, 4)
		}
		g.want(ErrnoAcces, "path_filestat_get", 3, 0, "proc", result)
		for _, p := range []string{"proc/new", "sys/kernel/new"} {
			g.want(ErrnoAcces, "path_open", 3, lookupFollow, p, oCreat, rightFdWrite, rightsAll, 0, result)
			g.want(ErrnoAcces, "path_create_directory", 3, p)
			g.want(ErrnoAcces, "path_symlink", "x", 3, p)
			g.want(ErrnoAcces, "path_unlink_file", 3, p)
			g.want(ErrnoAcces, "path_rename", 3, p, 3, "x")
		}
		g.want(ErrnoAcces, "path_readlink", 3, "proc/self", buffer, 100, result)
	})
}

// TestKernelFilesByLinks leads there by links that the host and the guest have made.
func TestKernelFilesByLinks(t *testing.T) {
	box := t.TempDir()
	up := strings.Repeat("../", strings.Count(box, "/"))
	within := strings.TrimPrefix(box, "/") + "/"
	for name, to := range map[string]string{"env": up + "proc/self/environ", "dir": up + "proc/self", "chain": "env"} {
		if err := os.Symlink(to, filepath.Join(box, name)); err != nil {
			t.Fatal(err)
		}
	}
	everyWay(t, Preopen{Guest: "/", Host: "/"}, func(t *testing.T, g *guest) {
		g.must("path_symlink", up+"proc/self/mem", 3, within+"own")
		g.must("path_symlink", up+"proc/made", 3, within+"dangling")
		for _, p := range []string{"env", "chain", "own", "dir/environ", "dir", "dir/", "dangling"} {
			for _, oflags := range []int{0, oCreat, oTrunc, oCreat | oTrunc} {
				want := ErrnoAcces
				if p == "dangling" && oflags&oCreat == 0 {
					want = ErrnoNoent
				}
				g.want(want, "path_open", 3, lookupFollow, within+p, oflags, rightFdRead|rightFdWrite, rightsAll, 0, result)
			}
			if p != "dangling" {
				g.want(ErrnoAcces, "path_filestat_get", 3, lookupFollow, within+p, result)
			}
		}
		g.must("path_unlink_file", 3, within+"own")
		g.must("path_unlink_file", 3, within+"dangling")
	})
}

// TestKernelFilesPreopen gives a directory of the kernel's itself.
func TestKernelFilesPreopen(t *testing.T) {
	fds := hostFds(t)
	root, err := os.OpenRoot("/proc/self")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Preopen{{Host: "/proc"}, {Host: "/proc/self/task"}, {Host: "/sys/kernel"}, {Root: root}, {FS: root.FS()}, {FS: os.DirFS("/proc")}} {
		p.Guest = "/"
		if c, err := New(&Options{Preopens: []Preopen{p}}); !errors.Is(err, ErrKernelFiles) {
			t.Errorf("%+v: %v", p, err)
			c.Close()
		}
	}
	root.Close()
	if n := hostFds(t); n != fds {
		t.Errorf("%d host descriptors, before %d", n, fds)
	}
}

// TestKernelFilesOfFS reaches for them by an FS that opens files of the host.
func TestKernelFilesOfFS(t *testing.T) {
	box := t.TempDir()
	for name, to := range map[string]string{"env": "/proc/self/environ", "dir": "/proc/self", "tty": "/dev/ptmx", "null": "/dev/null"} {
		if err := os.Symlink(to, filepath.Join(box, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	fsys, err := fs.Sub(os.DirFS("/"), ".")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		fsys   fs.FS
		prefix string
		paths  []string
	}{
		"links": {os.DirFS(box), "", []string{"env", "dir", "dir/environ", "dir/mem", "dir/task"}},
		"DirFS": {os.DirFS("/"), "dev/", kernelPaths},
		"Sub":   {fsys, "dev/", kernelPaths},
		"Root":  {root.FS(), "dev/", kernelPaths},
	} {
		t.Run(name, func(t *testing.T) {
			fds := hostFds(t)
			g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", FS: test.fsys}}})
			for _, p := range test.paths {
				if strings.HasPrefix(p, "dev/") {
					continue // links to descriptors of this process, of which some are not the kernel's
				}
				for lookup := range 2 {
					if e := g.call("path_open", 3, lookup, p, 0, rightFdRead, rightsAll, 0, result); e == 0 {
						t.Errorf("opened %s", p)
					}
				}
				if e := g.call("path_filestat_get", 3, 1, p, result); e == 0 {
					t.Errorf("described %s", p)
				}
				if e := g.call("path_readlink", 3, p, buffer, 100, result); e == 0 {
					t.Errorf("read the link %s", p)
				}
			}
			tty := map[bool]string{true: "tty", false: "dev/ptmx"}[name == "links"]
			g.want(ErrnoAcces, "path_open", 3, lookupFollow, tty, 0, rightFdRead, rightsAll, 0, result)
			g.must("fd_close", g.open(3, map[bool]string{true: "null", false: "dev/null"}[name == "links"], 0, rightFdRead))
			if n := hostFds(t); n != fds {
				t.Errorf("%d host descriptors, before %d", n, fds)
			}
		})
	}
	t.Run("directory that becomes a link", func(t *testing.T) {
		dir := filepath.Join(box, "listed")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", FS: os.DirFS(box)}}})
		fd := g.open(3, "listed", oDirectory, 0)
		if err := errors.Join(os.Remove(dir), os.Symlink("/proc", dir)); err != nil {
			t.Fatal(err)
		}
		g.want(ErrnoAcces, "fd_readdir", fd, buffer, 1000, 0, result)
	})
}

// TestDevices opens devices with and without leave.
func TestDevices(t *testing.T) {
	for _, leave := range []bool{false, true} {
		everyWay(t, Preopen{Guest: "/dev", Host: "/dev", Devices: leave}, func(t *testing.T, g *guest) {
			for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
				g.must("fd_close", g.open(3, name, 0, rightFdRead))
			}
			fd := g.open(3, "null", oCreat|oTrunc, rightFdRead|rightFdWrite)
			g.write(fd, "vanishes")
			if s := g.read(fd, 10); s != "" {
				t.Errorf("read %q", s)
			}
			want := ErrnoAcces
			if leave {
				want = ErrnoSuccess
			}
			g.want(want, "path_open", 3, lookupFollow, "ptmx", 0, rightFdRead|rightFdWrite, rightsAll, 0, result)
			g.want(want, "path_open", 3, 0, "ptmx", oTrunc, rightFdRead|rightFdWrite, rightsAll, 0, result)
			g.must("path_filestat_get", 3, 0, "ptmx", result)
		})
	}
}

// TestOpenable decides about numbers that no machine needs to have.
func TestOpenable(t *testing.T) {
	for _, tt := range []struct {
		mode    uint32
		rdev    uint64
		refused bool
	}{
		{syscall.S_IFREG, 0, false}, {syscall.S_IFDIR, 0, false}, {syscall.S_IFIFO, 0, false},
		{syscall.S_IFCHR, 1<<8 | 1, true}, {syscall.S_IFCHR, 1<<8 | 2, true}, {syscall.S_IFCHR, 1<<8 | 4, true}, {syscall.S_IFCHR, 1<<8 | 11, true},
		{syscall.S_IFCHR, 1<<8 | 3, false}, {syscall.S_IFCHR, 1<<8 | 9, false}, {syscall.S_IFCHR, 1<<20 | 1<<8 | 3, true},
		{syscall.S_IFCHR, 5 << 8, true}, {syscall.S_IFBLK, 1<<8 | 3, true}, {syscall.S_IFBLK, 8 << 8, true},
	} {
		if e := openable(tt.mode|0o666, tt.rdev, false); (e == ErrnoAcces) != tt.refused || e != 0 && !tt.refused {
			t.Errorf("%o %x: %v", tt.mode, tt.rdev, e)
		}
		if e := openable(tt.mode|0o666, tt.rdev, true); e != 0 {
			t.Errorf("%o %x, devices allowed: %v", tt.mode, tt.rdev, e)
		}
	}
}

// TestKernelFilesMounted hides files of the kernel's and devices behind ordinary
// names: by mounts, by nodes that were made, by links and names of the guest's own.
func TestKernelFilesMounted(t *testing.T) {
	runtime.LockOSThread() // for good: the mounts are this thread's, which ends with the test
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		t.Skip("no mounts of one's own: ", err)
	}
	box := t.TempDir()
	writeFile(t, filepath.Join(box, "file"), "")
	if err := os.Mkdir(filepath.Join(box, "dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		if err != nil {
			t.Skip(err)
		}
	}
	try(syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
	try(syscall.Mount("/proc/self/environ", filepath.Join(box, "file"), "", syscall.MS_BIND, ""))
	try(syscall.Mount("/proc", filepath.Join(box, "dir"), "", syscall.MS_BIND, ""))
	defer func() { // or the folder cannot be removed
		syscall.Unmount(filepath.Join(box, "file"), 0)
		syscall.Unmount(filepath.Join(box, "dir"), 0)
	}()
	try(syscall.Mknod(filepath.Join(box, "mem"), syscall.S_IFCHR|0o666, 1<<8|1))
	try(syscall.Mknod(filepath.Join(box, "disk"), syscall.S_IFBLK|0o666, 253<<8))
	for _, way := range []struct{ walk, proc, waiting bool }{{false, true, false}, {true, true, true}, {false, false, true}, {true, false, false}} {
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: box}, {Guest: "/fs", FS: os.DirFS(box)}}})
		g.c.noOpenat2 = g.c.noOpenat2 || way.walk
		if !way.proc {
			syscall.Close(g.c.procFds)
			g.c.procFds = -1
		}
		if way.waiting {
			g.c.SetInterrupt(make(chan struct{}))
		}
		g.must("path_link", 3, 0, "mem", 3, "hard")
		g.must("path_rename", 3, "disk", 3, "moved")
		g.must("path_symlink", "hard", 3, "soft")
		for _, dir := range []int{3, 4} {
			for _, p := range []string{"file", "dir", "dir/self/environ", "mem", "hard", "moved", "soft"} {
				for _, oflags := range []int{0, oCreat, oTrunc} {
					want, rights := ErrnoAcces, rightFdRead|rightFdWrite
					if dir == 4 {
						if oflags != 0 {
							continue
						}
						rights = rightFdRead
					}
					g.want(want, "path_open", dir, lookupFollow, p, oflags, rights, rightsAll, 0, result)
				}
			}
			for _, p := range []string{"file", "dir", "dir/self/environ"} {
				g.want(ErrnoAcces, "path_filestat_get", dir, 1, p, result)
			}
		}
		g.must("path_rename", 3, "moved", 3, "disk")
		g.must("path_unlink_file", 3, "hard")
		g.must("path_unlink_file", 3, "soft")
	}
}

// TestKernelFilesRaced changes what a name leads to while guests open it: a file, a
// link to one of the kernel's, a link to a device, nothing.
func TestKernelFilesRaced(t *testing.T) {
	box := t.TempDir()
	up := strings.Repeat("../", strings.Count(box, "/"))
	within := strings.TrimPrefix(box, "/") + "/"
	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		name := filepath.Join(box, "x")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			switch next := name + "new"; i % 4 {
			case 0:
				os.WriteFile(next, []byte("fine"), 0o666)
				os.Rename(next, name)
			case 1:
				os.Symlink(up+"proc/self/cmdline", next)
				os.Rename(next, name)
			case 2:
				os.Symlink(up+"dev/ptmx", next)
				os.Rename(next, name)
			case 3:
				os.Remove(name)
			}
		}
	})
	opened := 0
	everyWay(t, Preopen{Guest: "/", Host: "/"}, func(t *testing.T, g *guest) {
		for i := range 2000 {
			oflags := i % 2 * oCreat
			if g.call("path_open", 3, lookupFollow, within+"x", oflags, rightFdRead|rightFdWrite, rightsAll, 0, result) != 0 {
				continue
			}
			opened++
			fd := int(g.u32(result))
			if s := g.read(fd, 100); s != "" && s != "fine" {
				t.Fatalf("read %q", s)
			}
			g.must("fd_filestat_get", fd, result)
			if g.mem[result+16] != byte(typeRegular) {
				t.Fatalf("opened a file of type %d", g.mem[result+16])
			}
			g.must("fd_close", fd)
		}
	})
	if opened == 0 {
		t.Error("nothing was ever opened")
	}
	close(stop)
	changing.Wait()
}

// scandir does what scandirat of wasi-libc does, as it is in wasi-sdk 17 to 28: of an
// entry without an inode it asks for the filestat, and fails if it gets none.
func (g *guest) scandir(fd int) map[string]uint64 {
	g.t.Helper()
	inodes := map[string]uint64{}
	g.must("fd_readdir", fd, buffer, 1<<14, 0, result)
	b := bytes.Clone(g.mem[buffer : buffer+g.u32(result)])
	for len(b) > 0 {
		n := direntSize + int(binary.LittleEndian.Uint32(b[16:]))
		name, inode := string(b[direntSize:n]), binary.LittleEndian.Uint64(b[8:])
		if inode == 0 {
			if e := g.call("path_filestat_get", fd, 0, name, result); e != 0 {
				g.t.Errorf("scandir gives up at %q: %v", name, e)
			}
			inode = g.u64(result + 8)
		}
		inodes[name] = inode
		b = b[n:]
	}
	return inodes
}

// TestScandir lists directories as C programs do. Every entry has the inode of its
// filestat, ".." that of the directory itself.
func TestScandir(t *testing.T) {
	preopens := map[string]Preopen{}
	for name, fsys := range sampleFSs(t) {
		preopens[name] = Preopen{Guest: "/", FS: fsys}
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sub", "deeper"), 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "hello.txt"), "")
	writeFile(t, filepath.Join(dir, "sub", "x"), "")
	preopens["host"] = Preopen{Guest: "/", Host: dir}
	for name, p := range preopens {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, Options{Preopens: []Preopen{p}})
			for fd, names := range map[int][]string{3: {"hello.txt", "sub"}, g.open(3, "sub", oDirectory, 0): {"x", "deeper"}} {
				inodes := g.scandir(fd)
				if len(inodes) != len(names)+2 {
					t.Errorf("%d entries: %v", len(inodes), inodes)
				}
				for _, name := range append(names, ".") {
					g.must("path_filestat_get", fd, 0, name, result)
					if got, want := inodes[name], g.u64(result+8); got != want || got == 0 {
						t.Errorf("%s: inode %d, want %d", name, got, want)
					}
				}
				if inodes[".."] != inodes["."] {
					t.Errorf("..: inode %d, want %d", inodes[".."], inodes["."])
				}
			}
		})
	}
}
