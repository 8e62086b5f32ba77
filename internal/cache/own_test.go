package cache

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// foreign are names that look like those of caches, and are not.
var foreign = []string{"note-shopping.txt", "new-year-plan.md", "new-", "note-", "notes", "new-0123456789ABCDEF01234567", "note-" + strings.Repeat("a", 63),
	"note-" + strings.Repeat("A", 64), strings.Repeat("F", 64), strings.Repeat("0", 62), "new-0123456789abcdef0123456", ".hidden"}

// TestForeignFiles: a folder with files of others is no cache, and nothing is removed from it. One that has become a cache before keeps them.
func TestForeignFiles(t *testing.T) {
	for _, name := range append(foreign, strings.Repeat("0", 64), "note-"+strings.Repeat("0", 64)) { // the last two by what they have
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("mine ", 20)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, 0); err == nil {
			t.Errorf("%s: the folder is taken for a cache", name)
		}
		for _, act := range []func(*Cache) error{
			func(c *Cache) error { _, _, err := c.Clear(); return err },
			func(c *Cache) error { _, err := c.List(); return err },
		} {
			c, err := Find(dir, 0)
			if err != nil || act(c) == nil {
				t.Errorf("%s: %v, or no error", name, err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != name {
			t.Errorf("%s: %v, %v", name, left, err)
		}
	}
	c, compiled := open(t, 0), 0
	mustLoad(t, c, source(t, "div", &compiled), false)
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(c.Dir(), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	small, err := Open(c.Dir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	mustLoad(t, small, source(t, "add", &compiled), false)
	if n, _, err := small.Clear(); err != nil || n == 0 {
		t.Error(n, err)
	}
	left := content(t, c.Dir())
	slices.Sort(left)
	if want := slices.Sorted(slices.Values(foreign)); !slices.Equal(left, want) {
		t.Errorf("left are %q", left)
	}
}

// TestTags: a folder of the time before there were tags gets one, that of another program is left alone, and what is not a file is no tag.
func TestTags(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	mustLoad(t, c, s, false)
	file := filepath.Join(c.Dir(), tagName)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, c, s, true)
	if b, err := os.ReadFile(file); err != nil || string(b) != tag {
		t.Errorf("%q, %v", b, err)
	}
	for _, write := range []func() error{
		func() error {
			return os.WriteFile(file, []byte(tagSignature+"# This file is of another program.\n"), 0o600)
		},
		func() error { return os.WriteFile(file, nil, 0o600) },
		func() error { return os.Mkdir(file, 0o700) },
		func() error { return syscall.Mkfifo(file, 0o600) },
		func() error { return os.Symlink("nothing", file) },
		func() error { return os.Symlink("/dev/null", file) },
	} {
		os.Remove(file)
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(c.Dir(), 0); err == nil {
			t.Error("opened")
		}
		if _, err := os.Lstat(file); err != nil {
			t.Error(err)
		}
		if n, _, err := c.Clear(); n != 0 || err == nil {
			t.Error(n, err)
		}
	}
}

// TestMappedFile: a file that is written to by way of a mapping whose page has not been written to the disk keeps its times. It is not taken for what it was.
func TestMappedFile(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	file := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, s.Wasm, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, len(s.Wasm), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(m)
	copy(m, s.Wasm) // the page is dirty now
	time.Sleep(settled + 100*time.Millisecond)
	s.File = Settle(file)
	mustLoad(t, c, s, false)
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if found := c.FindFile(before, s.Fingerprint); found != nil {
		found.Close()
	} else if s.File != nil && time.Since(before.ModTime()) > settled {
		t.Error("no note of a file that has not changed")
	}
	m[len(m)-1] ^= 1
	after, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if found := c.FindFile(after, s.Fingerprint); found != nil {
		t.Error("a file is run that is not there")
		found.Close()
	}
	if s.File == nil {
		t.Log("the file system does not tell of changes: there are no notes")
	}
}
