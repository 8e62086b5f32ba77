//go:build linux

package wasi

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// snapshot describes everything below dir: names, types, modes, owners, link
// counts, contents, and times of changes of any kind.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st syscall.Stat_t
		if err := syscall.Lstat(p, &st); err != nil {
			return err
		}
		s := fmt.Sprint(st.Mode, st.Nlink, st.Uid, st.Gid, st.Size, st.Mtim, st.Ctim, st.Ino)
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			s += to
		}
		if d.Type().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			s += string(b)
		}
		out[p] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// escapeTree makes box/, which the guest gets, next to out/, which it must not
// reach; box has links that lead out, put there by the host.
func escapeTree(t *testing.T) (box, out string) {
	t.Helper()
	base := t.TempDir()
	box, out = filepath.Join(base, "box"), filepath.Join(base, "out")
	for _, d := range []string{"box/a/b", "out/sub"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(out, "canary"), "secret")
	writeFile(t, filepath.Join(out, "sub", "file"), "secret too")
	writeFile(t, filepath.Join(box, "file"), "inside")
	for name, to := range map[string]string{
		"up": "..", "upup": "../..", "rel": "../out", "abs": out, "root": "/",
		"canary": "../out/canary", "abscanary": out + "/canary", "slash": "../out/",
		"chain1": "chain2", "chain2": "a/chain3", "a/chain3": "../../out", "new": "../out/created",
		"a/deep": "../../out/canary", "loop": "loop", "loopdir": "loopdir/x", "proc": "/proc/self/cwd",
		"mixed": "a/../../out", "dot": "./a/./../../out/.", "slashes": "..//out//", "backdots": "../box/../out/..",
		"loopslash": "loopslash/", "tochain": "chain1/", "a/b/far": "../../../out/sub/",
	} {
		if err := os.Symlink(to, filepath.Join(box, name)); err != nil {
			t.Fatal(err)
		}
	}
	return box, out
}

// escapePaths are all paths that lead from box to something outside, or to
// nothing at all.
func escapePaths(out string) []string {
	heads := []string{
		"..", "a/../..", "a/b/../../..", "./..", "up", "upup", "rel", "abs", "root", "slash", "chain1",
		"a/../up", "a/b/../../rel", "mixed", "dot", "loop", "loopdir", "proc", "up/out", "../out", "a/../../out",
		"slashes", "backdots", "loopslash", "tochain", "a/b/far", "./..//.", "a//..//..", ".//../box/..", "file/..", "file/../..",
		"a/chain3", "canary", "abscanary", "a/deep", "new", "upup/..", "rel/sub", "/", "//", out, "///" + out, "/proc/self/root" + out,
	}
	tails := []string{"", "/", "//", "/.", "/..", "/canary", "/canary/", "/out/canary", "/sub/file", "/created", "/sub", "/./sub/../canary"}
	var paths []string
	for _, h := range heads {
		for _, t := range tails {
			paths = append(paths, h+t)
		}
	}
	return paths
}

// leadsInside reports whether a path's last component, not followed, is in
// box: then an operation on the name itself may succeed.
func leadsInside(path string) bool {
	return path == "a/b/far" || !strings.Contains(path, "/") || path == "a/chain3" || path == "a/deep" || path == "a/../up" || path == "a/b/../../rel"
}

// TestEscapeEachPathOperation tries each operation on each path. The target tree must stay as
// it is, nothing may be read from it, and no operation may succeed but those on
// a link itself.
func TestEscapeEachPathOperation(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		box, out := escapeTree(t)
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: box}}})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		before, fds := snapshot(t, out), hostFds(t)
		attempts := 0
		try := func(path, what string, e Errno) {
			t.Helper()
			if attempts++; e == 0 {
				t.Errorf("%s %q succeeded", what, path)
			}
		}
		for _, path := range escapePaths(out) {
			for lookup := range 2 {
				for oflags := range 16 {
					for _, r := range []rights{0, rightFdRead, rightFdWrite, rightFdRead | rightFdWrite} {
						try(path, "path_open", g.call("path_open", 3, lookup, path, oflags, r, rightsAll, 0, result))
					}
				}
			}
			try(path, "path_filestat_get", g.call("path_filestat_get", 3, 1, path, result))
			try(path, "path_filestat_set_times", g.call("path_filestat_set_times", 3, 1, path, 0, 0, 4))
			try(path, "path_create_directory", g.call("path_create_directory", 3, path))
			try(path, "path_link to", g.call("path_link", 3, 0, "file", 3, path))
			try(path, "path_symlink", g.call("path_symlink", "x", 3, path))
			try(path, "path_symlink (absolute)", g.call("path_symlink", out, 3, "made"))
			try(path, "path_remove_directory", g.call("path_remove_directory", 3, path))
			try(path, "path_rename a to", g.call("path_rename", 3, "a", 3, path))
			if leadsInside(path) && path != ".." {
				continue
			}
			try(path, "path_filestat_get of link", g.call("path_filestat_get", 3, 0, path, result))
			try(path, "path_filestat_set_times of link", g.call("path_filestat_set_times", 3, 0, path, 0, 0, 4))
			try(path, "path_link from", g.call("path_link", 3, 0, path, 3, "made"))
			try(path, "path_readlink", g.call("path_readlink", 3, path, buffer, 4096, result))
			try(path, "path_unlink_file", g.call("path_unlink_file", 3, path))
			try(path, "path_rename from", g.call("path_rename", 3, path, 3, "made"))
			try(path, "path_rename to", g.call("path_rename", 3, "file", 3, path))
		}
		if attempts < 70000 {
			t.Errorf("only %d attempts", attempts)
		}
		if d := cmp.Diff(before, snapshot(t, out)); d != "" {
			t.Errorf("the outside changed:\n%s", d)
		}
		if n := hostFds(t); n != fds {
			t.Errorf("%d host descriptors, before %d", n, fds)
		}
	})
}

// TestEscapeGuestLinksAndMovedDirectory lets the guest itself make the links and move
// directories, so that ".." leads elsewhere than when a path was made.
func TestEscapeGuestLinksAndMovedDirectory(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		box, out := escapeTree(t)
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: box}}})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		before := snapshot(t, out)
		g.must("path_symlink", "../../..", 3, "climb")
		g.must("path_symlink", "../../../out/canary", 3, "a/b/l1")
		g.must("path_symlink", "b/l1", 3, "a/l2")
		g.must("path_symlink", "a/l2", 3, "l3")
		for _, p := range []string{"climb", "climb/", "climb/etc/passwd", "l3", "l3/", "a/l2", "a/b/l1"} {
			for _, oflags := range []int{0, oCreat, oDirectory, oTrunc} {
				if e := g.call("path_open", 3, lookupFollow, p, oflags, rightFdRead, rightsAll, 0, result); e == 0 {
					t.Errorf("%q opened", p)
				}
			}
		}
		// A directory moved upwards while open: ".." still ends at the base that
		// the path is resolved from.
		sub := g.open(3, "a/b", oDirectory, 0)
		g.must("path_rename", 3, "a/b", 3, "b")
		g.want(ErrnoPerm, "path_open", sub, lookupFollow, "../file", 0, rightFdRead, rightsAll, 0, result)
		g.want(ErrnoPerm, "path_filestat_get", sub, 0, "..", result)
		g.must("path_filestat_get", sub, 0, ".", result)
		if d := cmp.Diff(before, snapshot(t, out)); d != "" {
			t.Errorf("the outside changed:\n%s", d)
		}
	})
}

// TestReadOnlyPreopenNeverChanges tries every change below a read-only preopen,
// every combination of oflags, fdflags and rights, and renaming and linking to and
// from a writable preopen beside it.
func TestReadOnlyPreopenNeverChanges(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		ro, rw := t.TempDir(), t.TempDir()
		writeFile(t, filepath.Join(ro, "file"), "keep")
		writeFile(t, filepath.Join(rw, "file"), "mine")
		if err := os.Mkdir(filepath.Join(ro, "dir"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("file", filepath.Join(ro, "link")); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(ro, "dir", "file"), "keep")
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/ro", Host: ro, ReadOnly: true}, {Guest: "/rw", Host: rw}}})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		before := snapshot(t, ro)
		sub := g.open(3, "dir", oDirectory, 0)
		for _, dir := range []int{3, sub} {
			for _, path := range []string{"file", "link", "missing"} {
				for oflags := range 16 {
					for fdflags := range 32 {
						for _, r := range []rights{0, rightFdRead, rightFdWrite, rightFdRead | rightFdWrite, rightsAll} {
							e := g.call("path_open", dir, 1, path, oflags, r, rightsAll, fdflags, result)
							if e != 0 {
								continue
							}
							if r&rightFdWrite != 0 || oflags&(oCreat|oTrunc) != 0 {
								t.Fatalf("path_open %s oflags %d fdflags %d rights %x succeeded", path, oflags, fdflags, r)
							}
							g.must("fd_close", g.u32(result))
						}
					}
				}
			}
			g.want(ErrnoRofs, "path_create_directory", dir, "x")
			g.want(ErrnoRofs, "path_remove_directory", dir, "dir")
			g.want(ErrnoRofs, "path_unlink_file", dir, "file")
			g.want(ErrnoRofs, "path_symlink", "file", dir, "x")
			g.want(ErrnoRofs, "path_filestat_set_times", dir, 0, "file", 0, 0, 4)
			g.want(ErrnoRofs, "path_rename", dir, "file", 4, "stolen")
			g.want(ErrnoRofs, "path_rename", 4, "file", dir, "file")
			g.want(ErrnoRofs, "path_link", dir, 0, "file", 4, "stolen")
			g.want(ErrnoRofs, "path_link", 4, 0, "file", dir, "x")
			g.want(ErrnoRofs, "fd_filestat_set_times", dir, 0, 0, 4)
		}
		fd := g.open(3, "file", 0, rightsAll&^rightFdWrite)
		p, n := g.iov(4)
		g.want(ErrnoBadf, "fd_write", fd, p, n, result)
		g.want(ErrnoBadf, "fd_pwrite", fd, p, n, 0, result)
		g.want(ErrnoRofs, "fd_allocate", fd, 0, 100)
		g.want(ErrnoRofs, "fd_filestat_set_size", fd, 0)
		g.want(ErrnoRofs, "fd_filestat_set_times", fd, 0, 0, 4)
		if got := g.read(fd, 100); got != "keep" {
			t.Errorf("read %q", got)
		}
		if d := cmp.Diff(before, snapshot(t, ro)); d != "" {
			t.Errorf("the read-only tree changed:\n%s", d)
		}
	})
}
