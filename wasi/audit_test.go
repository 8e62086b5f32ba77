//go:build linux

package wasi

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// eachPathOperation calls every function that takes a path with path in every
// place of one, and reports those that succeed. self is whether operations are
// meant too that act on the last component's name, a link as it may be.
func (g *guest) eachPathOperation(path string, self bool, succeeded func(string)) {
	try := func(what string, e Errno) {
		if e == 0 {
			succeeded(what)
		}
	}
	for lookup := range 2 {
		if lookup == 0 && !self {
			continue
		}
		for oflags := range 16 {
			for _, r := range []rights{0, rightFdRead, rightFdWrite, rightsRW} {
				e := g.call("path_open", 3, lookup, path, oflags, r, rightsAll, 0, result)
				if e == 0 {
					g.must("fd_close", g.u32(result))
				}
				try(fmt.Sprintf("path_open lookup %d oflags %d rights %x", lookup, oflags, r), e)
			}
		}
		try("path_filestat_get", g.call("path_filestat_get", 3, lookup, path, result))
		try("path_filestat_set_times", g.call("path_filestat_set_times", 3, lookup, path, 0, 0, 4))
	}
	try("path_create_directory", g.call("path_create_directory", 3, path))
	try("path_link to", g.call("path_link", 3, 0, "file", 3, path))
	try("path_symlink at", g.call("path_symlink", "x", 3, path))
	try("path_remove_directory", g.call("path_remove_directory", 3, path))
	try("path_rename directory to", g.call("path_rename", 3, "a", 3, path))
	if !self {
		return
	}
	try("path_link from", g.call("path_link", 3, 0, path, 3, "made"))
	try("path_readlink", g.call("path_readlink", 3, path, buffer, 4096, result))
	try("path_unlink_file", g.call("path_unlink_file", 3, path))
	try("path_rename from", g.call("path_rename", 3, path, 3, "made"))
	try("path_rename to", g.call("path_rename", 3, "file", 3, path))
}

// TestEscapeSymlinksOfTheGuest has the guest make links that climb out, also
// through each other, with slashes and dots behind, and not yet existing targets,
// and use each in every operation.
func TestEscapeSymlinksOfTheGuest(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		box, out := escapeTree(t)
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: box}}})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		before, fds := snapshot(t, out), hostFds(t)
		n := 0
		var targets []string
		for _, head := range []string{"..", "../..", "../../../../..", "a/../..", "./..", "a//../.."} {
			for _, tail := range []string{"", "/", "/.", "//.", "/out", "/out/", "/out/canary", "/out/canary/", "/out/created", "/out/sub/.."} {
				targets = append(targets, head+tail)
			}
		}
		for i, target := range targets {
			direct, chained, slashed := fmt.Sprintf("t%d", i), fmt.Sprintf("u%d", i), fmt.Sprintf("v%d", i)
			g.must("path_symlink", target, 3, direct)
			g.must("path_symlink", "a/../"+direct, 3, chained)
			g.must("path_symlink", chained+"/", 3, slashed)
			for _, link := range []string{direct, chained, slashed} {
				for _, tail := range []string{"", "/", "//", "/.", "/..", "/../out/canary", "/canary"} {
					n++
					g.eachPathOperation(link+tail, tail != "", func(what string) {
						t.Errorf("%s %q succeeded, with a link to %q", what, link+tail, target)
					})
				}
			}
		}
		t.Logf("%d paths", n)
		if d := cmp.Diff(before, snapshot(t, out)); d != "" {
			t.Errorf("the outside changed:\n%s", d)
		}
		if n := hostFds(t); n != fds {
			t.Errorf("%d host descriptors, before %d", n, fds)
		}
	})
}

// TestSymlinkTargetIsValidated is about the first path of path_symlink.
func TestSymlinkTargetIsValidated(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		g, dir := dirGuest(t, walk)
		for target, want := range map[string]Errno{
			"": ErrnoNoent, "/": ErrnoPerm, "//": ErrnoPerm, "/etc/passwd": ErrnoPerm, "a\x00b": ErrnoInval,
			strings.Repeat("n", maxPath+1): ErrnoNameTooLong,
		} {
			g.want(want, "path_symlink", target, 3, "link")
		}
		p, k := g.str("link")
		for _, r := range [][2]int{{guestMem - 1, 2}, {guestMem, 1}, {math.MaxUint32, 1}, {1, math.MaxUint32}, {0, math.MaxUint32}} {
			g.want(ErrnoFault, "path_symlink", r[0], r[1], 3, p, k)
		}
		if ents, err := os.ReadDir(dir); err != nil || len(ents) != 0 {
			t.Errorf("%v, %v", ents, err)
		}
	})
}

// TestLongAndNulNames gives names that no file can have to each operation.
func TestLongAndNulNames(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		g, dir := dirGuest(t, walk)
		writeFile(t, dir+"/file", "x")
		for path, want := range map[string]Errno{
			"a\x00b": ErrnoInval, "\x00": ErrnoInval, "file\x00": ErrnoInval,
			strings.Repeat("n", 256): ErrnoNameTooLong, strings.Repeat("n", maxPath+1): ErrnoNameTooLong,
			strings.Repeat("n/", maxPath/2+1): ErrnoNameTooLong, "": ErrnoNoent,
		} {
			for _, e := range []Errno{
				g.call("path_open", 3, 1, path, oCreat, rightsRW, 0, 0, result),
				g.call("path_filestat_get", 3, 1, path, result),
				g.call("path_filestat_set_times", 3, 1, path, 0, 0, 4),
				g.call("path_create_directory", 3, path),
				g.call("path_remove_directory", 3, path),
				g.call("path_unlink_file", 3, path),
				g.call("path_readlink", 3, path, buffer, 10, result),
				g.call("path_link", 3, 0, path, 3, "x"),
				g.call("path_link", 3, 0, "file", 3, path),
				g.call("path_rename", 3, path, 3, "x"),
				g.call("path_rename", 3, "file", 3, path),
				g.call("path_symlink", "x", 3, path),
			} {
				if e != want {
					t.Errorf("%.10q of %d bytes: %v, want %v", path, len(path), e, want)
				}
			}
		}
	})
}

// TestTruncateNeedsWriteRight checks that no file shrinks through path_open where
// the guest may not write.
func TestTruncateNeedsWriteRight(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		g, dir := dirGuest(t, walk)
		writeFile(t, dir+"/file", "keep")
		before := snapshot(t, dir)
		for _, drop := range []rights{rightFdWrite, rightFdWrite | rightFdFilestatSetSize} {
			sub := g.open(3, ".", oDirectory, rightsDir)
			g.must("fd_fdstat_set_rights", sub, rightsDir, rightsAll&^drop)
			for oflags := range 16 {
				for fdflags := range 32 {
					for _, r := range []rights{0, rightFdRead, rightFdWrite, rightsAll} {
						e := g.call("path_open", sub, 1, "file", oflags|oTrunc, r, rightsAll, fdflags, result)
						if e == 0 {
							t.Fatalf("oflags %d, fdflags %d, rights %x succeeded", oflags|oTrunc, fdflags, r)
						}
					}
				}
			}
			g.must("fd_close", sub)
		}
		if d := cmp.Diff(before, snapshot(t, dir)); d != "" {
			t.Errorf("the file changed:\n%s", d)
		}
		g.must("fd_close", g.open(3, "file", oTrunc, rightFdWrite))
	})
}

// TestReadOnlyRightsCannotBeRegained checks that neither rights nor renumbering
// make a descriptor below a read-only preopen writable.
func TestReadOnlyRightsCannotBeRegained(t *testing.T) {
	ro, rw := t.TempDir(), t.TempDir()
	writeFile(t, ro+"/file", "keep")
	if err := os.Mkdir(ro+"/dir", 0o777); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, ro)
	g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/ro", Host: ro, ReadOnly: true}, {Guest: "/rw", Host: rw}}})
	g.want(ErrnoNotCapable, "fd_fdstat_set_rights", 3, rightsAll, rightsAll)
	sub := g.open(3, "dir", oDirectory, 0)
	g.want(ErrnoNotCapable, "fd_fdstat_set_rights", sub, rightsAll, rightsAll)
	rwFd := g.open(4, "mine", oCreat, rightsRW)
	g.must("fd_renumber", sub, rwFd) // over a writable file
	g.must("fd_renumber", 3, 4)      // over the writable preopen
	for _, dir := range []int{4, rwFd} {
		g.want(ErrnoRofs, "path_create_directory", dir, "x")
		g.want(ErrnoRofs, "path_open", dir, 1, "x", oCreat, rightsRW, rightsAll, 0, result)
		g.want(ErrnoRofs, "path_symlink", "x", dir, "x")
		p, n := g.iov(1)
		g.want(ErrnoIsdir, "fd_write", dir, p, n, result)
	}
	if d := cmp.Diff(before, snapshot(t, ro)); d != "" {
		t.Errorf("the read-only tree changed:\n%s", d)
	}
}

// exchange swaps two names in one step.
func exchange(a, b string) error {
	const renameat2, cwd, exchange = 316, ^uintptr(99), 2
	pa, pb := cstring(a), cstring(b)
	if _, _, e := syscall.Syscall6(renameat2, cwd, uintptr(unsafe.Pointer(pa)), cwd, uintptr(unsafe.Pointer(pb)), exchange, 0); e != 0 {
		return e
	}
	return nil
}

// TestEscapeRace swaps a directory for a link that leads out, and moves another
// one upwards, while the guest goes through them with each operation.
func TestEscapeRace(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("exchanging names needs the number of renameat2")
	}
	modes(t, func(t *testing.T, walk bool) {
		box, out := escapeTree(t)
		for _, d := range []string{"swap", "deep/er/est", "deep/out"} {
			if err := os.MkdirAll(filepath.Join(box, d), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		// What the guest may reach has the same names.
		writeFile(t, box+"/swap/canary", "inside")
		writeFile(t, box+"/deep/out/canary", "inside")
		if err := os.Symlink("../out", box+"/leadsout"); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, out)
		var stop atomic.Bool
		var wg sync.WaitGroup
		defer func() { stop.Store(true); wg.Wait() }()
		var swaps atomic.Int64
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(3, 4))
			for up := false; !stop.Load(); swaps.Add(1) {
				var err error
				if rng.IntN(2) == 0 {
					err = exchange(box+"/swap", box+"/leadsout")
				} else {
					from, to := box+"/deep/er/est", box+"/est"
					if up {
						from, to = to, from
					}
					up = !up
					err = os.Rename(from, to)
				}
				if err != nil {
					t.Error(err)
					return
				}
				// Not in step with the guest, and no longer in one state than in another.
				for until := time.Now().Add(time.Duration(rng.IntN(60)) * time.Microsecond); time.Now().Before(until); {
				}
			}
		})
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: box}}})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		const rounds = 12000
		most := testenv.Cases(200*time.Millisecond, 300*time.Millisecond, time.Second)
		start := time.Now()
		in, refused := 0, 0
		count := func(e Errno) {
			if e == 0 {
				in++
			} else {
				refused++
			}
		}
		for i := 0; i < rounds && (i < rounds/6 || time.Since(start) < most); i++ {
			path := "swap/canary"
			if i%2 == 1 {
				path = "deep/er/est/../../out/canary" // from est moved up, one ".." too many
			}
			// The locks of directories are not fair: see that both get on.
			for last := swaps.Load(); i%16 == 0 && swaps.Load() == last && !t.Failed(); {
				runtime.Gosched()
			}
			switch i / 2 % 7 {
			case 0:
				e := g.call("path_open", 3, 1, path, 0, rightsRW, 0, 0, result)
				count(e)
				if e == 0 {
					fd := int(g.u32(result))
					if s := g.read(fd, 100); strings.Contains(s, "secret") {
						t.Fatalf("read %q", s)
					}
					g.must("fd_seek", fd, 0, io.SeekStart, result)
					g.write(fd, "inside")
					g.must("fd_close", fd)
				}
			case 1:
				e := g.call("path_open", 3, 1, path, oCreat|oTrunc, rightsRW, 0, 0, result)
				count(e)
				if e == 0 {
					fd := int(g.u32(result))
					g.write(fd, "inside")
					g.must("fd_close", fd)
				}
			case 2:
				count(g.call("path_filestat_set_times", 3, 1, path, 0, 0, 4))
			case 3:
				dir := strings.TrimSuffix(path, "canary")
				count(g.call("path_create_directory", 3, dir+"made"))
				g.call("path_remove_directory", 3, dir+"made")
			case 4:
				count(g.call("path_rename", 3, "file", 3, path))
				count(g.call("path_rename", 3, path, 3, "file"))
				if e := g.call("path_filestat_get", 3, 0, "file", result); e != 0 { // lost to the other directory
					g.must("fd_close", g.open(3, "file", oCreat, rightsRW))
				}
				for _, p := range []string{"swap/canary", "deep/out/canary"} {
					if e := g.call("path_open", 3, 1, p, oCreat, rightsRW, 0, 0, result); e == 0 {
						g.must("fd_close", g.u32(result))
					}
				}
			case 5:
				e := g.call("path_link", 3, 0, path, 3, "linked")
				count(e)
				if e == 0 {
					fd := g.open(3, "linked", 0, rightFdRead)
					if s := g.read(fd, 100); strings.Contains(s, "secret") {
						t.Fatalf("linked %q", s)
					}
					g.must("fd_close", fd)
					g.must("path_unlink_file", 3, "linked")
				}
			case 6:
				link := strings.TrimSuffix(path, "canary") + "link"
				e := g.call("path_symlink", "target", 3, link)
				count(e)
				if e := g.call("path_readlink", 3, link, buffer, 100, result); e == 0 && string(g.mem[buffer:][:g.u32(result)]) != "target" {
					t.Fatalf("the link leads to %q", g.mem[buffer:][:g.u32(result)])
				}
				g.call("path_unlink_file", 3, link)
				g.call("path_rename", 3, link, 3, "link")
				g.call("path_unlink_file", 3, "link")
			}
		}
		stop.Store(true)
		wg.Wait()
		t.Logf("%d went inside, %d were refused, %d swaps", in, refused, swaps.Load())
		if in == 0 || refused == 0 || swaps.Load() == 0 {
			t.Error("there was no race")
		}
		if d := cmp.Diff(before, snapshot(t, out)); d != "" {
			t.Errorf("the outside changed:\n%s", d)
		}
	})
}

// TestEscapeDirectoryMovedOut has the host move a directory out of the tree that
// the guest has open: the directory itself stays the guest's, nothing around it
// becomes so.
func TestEscapeDirectoryMovedOut(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		box, out := escapeTree(t)
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: box}}})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		if err := os.MkdirAll(box+"/a/b/c", 0o777); err != nil {
			t.Fatal(err)
		}
		sub := g.open(3, "a/b", oDirectory, 0)
		if err := os.Rename(box+"/a/b", out+"/b"); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, out)
		for _, p := range []string{"..", "../canary", "c/../..", "c/../../canary", "../sub/file", "../b/../canary", "c/../../b"} {
			g.want(ErrnoPerm, "path_open", sub, 1, p, 0, rightFdRead, 0, 0, result)
			g.want(ErrnoPerm, "path_open", sub, 1, p, oCreat|oTrunc, rightsRW, 0, 0, result)
			g.want(ErrnoPerm, "path_filestat_get", sub, 1, p, result)
			if e := g.call("path_unlink_file", sub, p); e == 0 {
				t.Errorf("removed %s", p)
			}
		}
		g.must("path_filestat_get", sub, 1, "c/..", result)
		if d := cmp.Diff(before, snapshot(t, out)); d != "" {
			t.Errorf("the outside changed:\n%s", d)
		}
	})
}

// TestDescriptorChurn opens, closes and renumbers at random, 10^5 times, and
// compares with a model.
func TestDescriptorChurn(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/f", "x")
	const limit = 40
	g := newGuest(t, Options{MaxOpen: limit, Preopens: []Preopen{{Guest: "/", Host: dir}}})
	base := hostFds(t)
	rng := rand.New(rand.NewPCG(1, 2))
	open := map[uint64]bool{0: true, 1: true, 2: true, 3: true}
	host := map[uint64]bool{3: true} // with a descriptor of the host behind
	copy(g.mem, "f")
	call := func(name string, p ...uint64) Errno {
		e, err := g.fns[name].Call(g.c, g.mem, p)
		if err != nil {
			t.Fatal(err)
		}
		return Errno(e)
	}
	for i := range 100_000 {
		a, b := uint64(rng.IntN(limit+8)), uint64(rng.IntN(limit+8))
		if rng.IntN(20) == 0 {
			b = []uint64{1 << 31, math.MaxUint32, uint64(len(open)), 1 << 20}[rng.IntN(4)]
		}
		switch rng.IntN(3) {
		case 0:
			e := call("path_open", 3, 1, 0, 1, 0, uint64(rightFdRead), 0, 0, result)
			switch {
			case !host[3] || !open[3] || g.c.fds[3].typ != typeDirectory:
				if e == 0 {
					t.Fatal("opened without directory")
				}
				e = call("fd_close", 3)
				delete(open, 3)
				delete(host, 3)
				d, err := preopenDescriptor(Preopen{Guest: "/", Host: dir}, 0)
				if err != nil || len(open) >= limit {
					t.Fatal(err, len(open))
				}
				fd := uint64(g.c.insert(d))
				open[fd], host[fd] = true, true
				if fd != 3 && call("fd_renumber", fd, 3) == 0 {
					delete(open, fd)
					delete(host, fd)
					open[3], host[3] = true, true
				}
			case len(open) >= limit:
				if e != ErrnoMfile {
					t.Fatalf("%v with %d open", e, len(open))
				}
			default:
				fd := uint64(g.u32(result))
				if e != 0 || open[fd] {
					t.Fatalf("opened %d, %v", fd, e)
				}
				open[fd], host[fd] = true, true
			}
		case 1:
			if e := call("fd_close", a); (e == 0) != open[a] {
				t.Fatalf("closed %d: %v", a, e)
			}
			delete(open, a)
			delete(host, a)
		case 2:
			e := call("fd_renumber", a, b)
			if (e == 0) != (open[a] && (open[b] || b <= lastStandard)) {
				t.Fatalf("renumbered %d to %d: %v", a, b, e)
			}
			if e == 0 && a != b {
				open[b] = true
				host[b] = host[a]
				delete(open, a)
				delete(host, a)
			}
		}
		if i%10_000 == 9_999 {
			n := base - 1
			for _, h := range host {
				if h {
					n++
				}
			}
			if got := hostFds(t); got != n || g.c.open != len(open) {
				t.Fatalf("%d host descriptors, want %d; %d open, want %d", got, n, g.c.open, len(open))
			}
		}
	}
}

// TestDefaultHasNoPreopens looks at every descriptor that a guest without
// configuration could have.
func TestDefaultHasNoPreopens(t *testing.T) {
	g := newGuest(t, Options{})
	for fd := range 1000 {
		g.want(ErrnoBadf, "fd_prestat_get", fd, result)
		g.want(ErrnoBadf, "fd_prestat_dir_name", fd, buffer, 100)
		if e := g.call("path_open", fd, 1, ".", 0, 0, 0, 0, result); e != ErrnoBadf && (fd > 2 || e != ErrnoNotdir) {
			t.Errorf("path_open at %d: %v", fd, e)
		}
		if e := g.call("path_filestat_get", fd, 1, ".", result); e == 0 {
			t.Errorf("descriptor %d is a directory", fd)
		}
	}
}

// lacking skips a test that cannot measure, which is a failure in CI.
func lacking(t *testing.T, err error) {
	t.Helper()
	testenv.Missing(t, err.Error())
}

// residentPeak gives the process's most resident memory since the last reset.
func residentPeak(t *testing.T, reset bool) int {
	t.Helper()
	if reset {
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			lacking(t, err)
		}
	}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		lacking(t, err)
	}
	_, s, _ := strings.Cut(string(b), "VmHWM:")
	n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(s, "kB", 2)[0]))
	if err != nil {
		lacking(t, err)
	}
	return n << 10
}

// TestHugeSizesBoundedMemory passes the largest sizes a guest can name, also
// with a memory of 4 GiB in which they are valid, and measures the process.
func TestHugeSizesBoundedMemory(t *testing.T) {
	const all = 1<<32 - 1
	mem, err := syscall.Mmap(-1, 0, 1<<32, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		lacking(t, err)
	}
	defer syscall.Munmap(mem)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dir := t.TempDir()
	writeFile(t, dir+"/f", "12345")
	sock, _ := socketPair(t)
	g := newGuest(t, Options{
		Args: []string{"a"}, Env: []string{"b=c"}, Rand: endless{}, Stdin: null, Stdout: null, Stderr: io.Discard,
		Preopens: []Preopen{{Guest: "/", Host: dir}}, Sockets: []*os.File{sock},
	})
	g.mem = mem
	file := g.open(3, "f", 0, rightsRW)
	const at, res = 4096, 1 << 20
	for i := range maxIovecs { // 1,024 times nearly 4 GiB
		binary.LittleEndian.PutUint32(mem[at+8*i+4:], all)
	}
	debug.FreeOSMemory()
	residentPeak(t, true)
	before := residentPeak(t, false)
	for _, tt := range []struct {
		want Errno
		name string
		args []any
	}{
		{0, "random_get", []any{0, all}},
		{ErrnoFault, "random_get", []any{2, all}},
		{0, "fd_write", []any{1, at, maxIovecs, res}},
		{0, "fd_write", []any{2, at, 1, res}},
		{0, "fd_read", []any{0, at, maxIovecs, res}},
		{0, "fd_read", []any{file, at, maxIovecs, res}},
		{0, "fd_pread", []any{file, at, maxIovecs, 0, res}},
		{ErrnoInval, "fd_write", []any{1, at, all, res}},
		{ErrnoInval, "fd_read", []any{0, at, maxIovecs + 1, res}},
		{ErrnoInval, "fd_pread", []any{file, at, 1 << 29, 0, res}},
		{ErrnoInval, "fd_pwrite", []any{file, at, all, 0, res}},
		{ErrnoInval, "sock_recv", []any{4, at, all, 0, res, res}},
		{ErrnoInval, "sock_send", []any{4, at, all, 0, res}},
		{ErrnoFault, "fd_write", []any{1, all - 6, 1, res}},
		{ErrnoFault, "fd_write", []any{1, all - 7, 1, all - 2}},
		{ErrnoInval, "poll_oneoff", []any{0, 0, all, res}},
		{ErrnoInval, "poll_oneoff", []any{0, 0, maxSubscriptions + 1, res}},
		{ErrnoInval, "poll_oneoff", []any{0, 0, 89478486, res}}, // times 48 is 32 in 32 bits
		{ErrnoInval, "poll_oneoff", []any{0, 0, 1 << 28, res}},
		{ErrnoNameTooLong, "path_open", []any{3, 1, 0, all, 0, 0, 0, 0, res}},
		{ErrnoNameTooLong, "path_symlink", []any{0, all, 3, 0, 1}},
		{ErrnoNameTooLong, "path_rename", []any{3, 0, all, 3, 0, all}},
		{0, "path_symlink", []any{"f", 3, "ln"}},
		{0, "path_readlink", []any{3, "ln", 0, all, res}},
		{0, "fd_readdir", []any{3, 1 << 24, all - 1<<24, 0, res}},
		{0, "fd_prestat_dir_name", []any{3, 1 << 24, all - 1<<24}},
	} {
		g.want(tt.want, tt.name, tt.args...)
	}
	const subs = 2 << 20 // as many as are allowed, all of them due
	for i := range maxSubscriptions {
		b := mem[subs+i*subscriptionSize:]
		b[8], b[16] = eventFdRead*byte(i%2), clockMonotonic*byte(1-i%2)
	}
	g.must("poll_oneoff", subs, 8<<20, maxSubscriptions, res)
	if n := binary.LittleEndian.Uint32(mem[res:]); n != maxSubscriptions {
		t.Errorf("%d events", n)
	}
	grown := residentPeak(t, false) - before
	t.Logf("%d KiB more at the peak", grown>>10)
	if grown > 32<<20 {
		t.Errorf("%d bytes more resident at the peak", grown)
	}
}

// TestReaddirOddCookies asks for positions that no directory gave.
func TestReaddirOddCookies(t *testing.T) {
	g, dir := dirGuest(t, false)
	for i := range 50 {
		writeFile(t, fmt.Sprintf("%s/f%d", dir, i), "")
	}
	for _, cookie := range []uint64{0, 1, 2, 3, 1000, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1} {
		for _, size := range []uint64{0, 1, 23, 24, 25, 100, 1 << 14} {
			e := g.call("fd_readdir", 3, buffer, size, cookie, result)
			if e != 0 && e != ErrnoInval && e != ErrnoOverflow {
				t.Errorf("cookie %#x, size %d: %v", cookie, size, e)
			}
			if n := uint64(g.u32(result)); e == 0 && n > size {
				t.Errorf("cookie %#x: %d bytes of %d", cookie, n, size)
			}
		}
		g.want(ErrnoFault, "fd_readdir", 3, buffer, uint64(1<<32-1), cookie, result)
		g.want(ErrnoFault, "fd_readdir", 3, uint64(1<<32-1), 1, cookie, result)
		g.want(ErrnoFault, "fd_readdir", 3, buffer, 100, cookie, guestMem-3)
	}
	if got := g.names(3, 4096); len(got) != 52 {
		t.Errorf("%d names afterwards", len(got))
	}
}

// TestEscapeMagicLinks reaches for links of /proc, which lead to open files whatever
// they say.
func TestEscapeMagicLinks(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		f, err := os.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: "/"}}})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		for _, link := range []string{"root", "cwd", "exe", fmt.Sprint("fd/", f.Fd()), fmt.Sprint("task/../fd/", f.Fd()), "ns/mnt"} {
			link = "proc/self/" + link
			for _, tail := range []string{"", "/", "/.", "/..", "/etc", "/etc/passwd"} {
				for _, oflags := range []int{0, oCreat, oDirectory} {
					if e := g.call("path_open", 3, 1, link+tail, oflags, rightFdRead, rightsAll, 0, result); e == 0 {
						t.Errorf("opened %s", link+tail)
					}
				}
				if e := g.call("path_filestat_get", 3, 1, link+tail, result); e == 0 {
					t.Errorf("described %s", link+tail)
				}
			}
		}
	})
}
