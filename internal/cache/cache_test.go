//go:build linux && (amd64 || arm64)

package cache

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/loaded"
)

// source is a module of testdata/wasm, which counts how often it is compiled.
func source(t testing.TB, name string, compiled *int) *Source {
	t.Helper()
	wasm, err := os.ReadFile(filepath.Join("..", "..", "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	o := compile.Options{Name: name}
	return &Source{Wasm: wasm, Name: name, Fingerprint: o.Fingerprint(), Image: func() (*inproc.Image, error) {
		*compiled++
		r, err := compile.Module(wasm, o)
		if err != nil {
			return nil, err
		}
		return load.Image(r.Object, r.Meta)
	}}
}

// open opens a cache in a new folder.
func open(t testing.TB, maxBytes int64) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "a", "cache"), maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustLoad loads a module, which must or must not be there, and divides 7 by 2 and by 0.
func mustLoad(t *testing.T, c *Cache, s *Source, want bool) {
	t.Helper()
	m, hit, err := c.Load(s)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if hit != want {
		t.Errorf("in the cache: %t, want %t", hit, want)
	}
	if s.Name == "div" {
		divide(t, m)
	}
}

func divide(t *testing.T, m *loaded.Module) {
	t.Helper()
	s, err := inproc.NewStore(inproc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	i, err := s.Instantiate(m.Inproc(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := i.Func("div")
	if err != nil {
		t.Fatal(err)
	}
	var results [1]uint64
	if err := f.Call([]uint64{7, 2}, results[:]); err != nil || results[0] != 3 {
		t.Errorf("7/2 is %d, error %v", results[0], err)
	}
	// The table of traps is read only now.
	var trap *inproc.Trap
	if err := f.Call([]uint64{7, 0}, results[:]); !errors.As(err, &trap) || len(trap.Backtrace) != 1 || trap.Offset == 0 {
		t.Errorf("7/0: %v", err)
	}
}

// entryFile is the file of the only entry.
func entryFile(t *testing.T, c *Cache) string {
	t.Helper()
	infos, err := c.List()
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	return filepath.Join(c.Dir(), infos[0].Key)
}

func TestLoad(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	mustLoad(t, c, s, false)
	mustLoad(t, c, s, true)
	mustLoad(t, c, s, true)
	if compiled != 1 {
		t.Errorf("compiled %d times", compiled)
	}
	other := *s
	other.Fingerprint = compile.Options{Name: "div", NoSpectre: true}.Fingerprint()
	mustLoad(t, c, &other, false)
	mustLoad(t, c, &other, true)
	changed := *s
	changed.Wasm = append(bytes.Clone(s.Wasm), 0, 1, 0) // a custom section
	mustLoad(t, c, &changed, false)
	mustLoad(t, c, s, true)
	never := *s
	never.Fingerprint = ""
	mustLoad(t, c, &never, false)
	mustLoad(t, c, &never, false)
	mustLoad(t, nil, s, false)

	infos, err := c.List()
	if err != nil || len(infos) != 3 || infos[0].Name != "div" || infos[0].Wasm == 0 || infos[0].Bytes < entryHeaderSize || time.Since(infos[0].Used) > time.Minute {
		t.Errorf("%+v, %v", infos, err)
	}
	if n, size, err := c.Clear(); n != 3 || size < 3*entryHeaderSize || err != nil {
		t.Errorf("cleared %d, %d bytes, %v", n, size, err)
	}
	mustLoad(t, c, s, false)
	broken := *s
	broken.Fingerprint += "broken"
	broken.Image = func() (*inproc.Image, error) { return nil, errors.New("no image") }
	if _, _, err := c.Load(&broken); err == nil || err.Error() != "no image" {
		t.Error(err)
	}
}

// TestDamage damages entries in all places: the module is compiled again, and the entry replaced.
func TestDamage(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	mustLoad(t, c, s, false)
	file := entryFile(t, c)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var h header
	type damage struct {
		name string
		do   func() error
	}
	flip := func(at int) damage {
		return damage{fmt.Sprintf("byte %#x", at), func() error {
			f, err := os.OpenFile(file, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			var b [1]byte
			f.ReadAt(b[:], int64(at))
			b[0] ^= 4
			_, err = f.WriteAt(b[:], int64(at))
			return err
		}}
	}
	truncate := func(size int) damage {
		return damage{fmt.Sprintf("%d bytes", size), func() error { return os.Truncate(file, int64(size)) }}
	}
	damages := []damage{flip(0), flip(len(h.Magic)), flip(len(h.Magic) + len(h.Key) + 8), // magic, key, hash
		flip(entryHeaderSize), flip(entryHeaderSize + 8), flip((entryHeaderSize + len(good)) / 2), flip(len(good) - 1),
		truncate(0), truncate(100), truncate(entryHeaderSize), truncate(entryHeaderSize + 100), truncate(len(good) - 1), truncate(len(good) + 1)}
	for at := entryHeaderSize; at < len(good); at += 997 {
		damages = append(damages, flip(at))
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			if err := d.do(); err != nil {
				t.Fatal(err)
			}
			mustLoad(t, c, s, false)
			mustLoad(t, c, s, true)
		})
	}
	// A folder with the entry's name cannot be used, and cannot be replaced.
	if err := errors.Join(os.Remove(file), os.MkdirAll(filepath.Join(file, "in it"), 0o700)); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, c, s, false)
}

// TestStamp: an entry that was touched, or comes from another run of the system, is compared with its hash, and then has a stamp
// again. While the stamp fits, the hash is not computed.
func TestStamp(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	mustLoad(t, c, s, false)
	file := entryFile(t, c)
	read := func() header {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		h, ok := readHeader(f)
		st, err := f.Stat()
		if !ok || err != nil || !h.Stamp.untouched(st) {
			t.Errorf("stamp %+v, file %+v, %v", h.Stamp, stampOf(st), err)
		}
		return h
	}
	read()
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, c, s, true)
	h := read()

	rewrite := func(h header, modified time.Time) {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := errors.Join(h.write(f), os.Chtimes(file, time.Time{}, modified)); err != nil {
			t.Fatal(err)
		}
	}
	modified := time.Unix(0, h.Stamp.Modified)
	h.Stamp.Boot[3]++ // of another run
	rewrite(h, modified)
	mustLoad(t, c, s, true)
	h = read()
	h.Hash[0]++ // not noticed, since nobody has written to the file
	rewrite(h, modified.Truncate(time.Second))
	mustLoad(t, c, s, true)
	h.Stamp.Boot = [16]byte{} // of a system that does not say which run it is
	rewrite(h, modified)
	mustLoad(t, c, s, false)
	if compiled != 2 {
		t.Errorf("compiled %d times", compiled)
	}
}

// TestForeign: what others can write, or have written, is not used.
func TestForeign(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	mustLoad(t, c, s, false)
	file := entryFile(t, c)
	changes := []func(name string) error{
		func(name string) error { return os.Chmod(name, 0o620) },
		func(name string) error { return os.Chmod(name, 0o602) },
	}
	if os.Geteuid() == 0 {
		changes = append(changes, func(name string) error { return os.Chown(name, 4711, -1) })
	}
	for n, change := range changes {
		if err := change(file); err != nil {
			t.Fatal(err)
		}
		mustLoad(t, c, s, false)
		mustLoad(t, c, s, true)
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
			t.Error(n, st.Mode(), err)
		}
	}
	for n, change := range append(changes, func(name string) error { return os.Chmod(name, 0o777) }) {
		if err := change(c.Dir()); err != nil {
			t.Fatal(err)
		}
		mustLoad(t, c, s, false)
		var unsafe *UnsafeError
		if _, err := Open(c.Dir(), 0); !errors.As(err, &unsafe) {
			t.Error(n, err)
		}
		if _, err := c.List(); !errors.As(err, &unsafe) {
			t.Error(n, err)
		}
		if _, _, err := c.Clear(); !errors.As(err, &unsafe) {
			t.Error(n, err)
		}
		if err := errors.Join(os.Chown(c.Dir(), os.Geteuid(), -1), os.Chmod(c.Dir(), 0o700)); err != nil {
			t.Fatal(err)
		}
		mustLoad(t, c, s, true)
	}
}

// TestPipes: pipes in the folder keep nobody waiting.
func TestPipes(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	mustLoad(t, c, s, false)
	file := entryFile(t, c)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(c.Dir(), newName()), filepath.Join(c.Dir(), notePrefix+strings.Repeat("0", 64))} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if infos, err := c.List(); err != nil || len(infos) != 1 {
		t.Error(infos, err)
	}
	mustLoad(t, c, s, false)
	mustLoad(t, c, s, true)
	if left := content(t, c.Dir()); len(left) != 1 {
		t.Error(left)
	}
}

// content are the names in a cache's folder but for the tag.
func content(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Name() != tagName {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestBound: what was used longest ago is removed, and an entry that is too large is not kept.
func TestBound(t *testing.T) {
	compiled := 0
	probe := open(t, 0)
	names := []string{"div", "add", "many", "loop"}
	var sources []*Source
	total := int64(0)
	for _, name := range names {
		s := source(t, name, &compiled)
		sources = append(sources, s)
		mustLoad(t, probe, s, false)
	}
	infos, err := probe.List()
	if err != nil || len(infos) != len(names) {
		t.Fatal(infos, err)
	}
	largest := int64(0)
	for i := range infos {
		total += infos[i].Bytes
		largest = max(largest, infos[i].Bytes)
	}
	c := open(t, total-1)
	for i, s := range sources[:3] {
		mustLoad(t, c, s, false)
		age(t, c, s, time.Duration(10-i)*time.Hour)
	}
	mustLoad(t, c, sources[0], true) // used now: the second is now the oldest
	mustLoad(t, c, sources[3], false)
	for i, want := range []bool{true, false} {
		mustLoad(t, c, sources[i], want)
	}
	infos, err = c.List()
	if err != nil {
		t.Fatal(err)
	}
	kept := int64(0)
	for i := range infos {
		kept += infos[i].Bytes
	}
	if kept > total-1 {
		t.Errorf("%d bytes kept, at most %d may be", kept, total-1)
	}
	small := open(t, 1000)
	mustLoad(t, small, sources[0], false)
	mustLoad(t, small, sources[0], false)
	if left := content(t, small.Dir()); len(left) != 0 {
		t.Error(left)
	}
}

// age makes the entry of s look unused for a while.
func age(t *testing.T, c *Cache, s *Source, by time.Duration) {
	t.Helper()
	key, err := KeyOf(s.Wasm, s.Fingerprint)
	if err == nil {
		err = os.Chtimes(filepath.Join(c.Dir(), key.String()), time.Now().Add(-by), time.Time{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNotes: a file that has not changed is not read; one that has is another.
func TestNotes(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	file := filepath.Join(t.TempDir(), "m.wasm")
	state := func() os.FileInfo {
		st, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	found := func(want bool) {
		t.Helper()
		m := c.FindFile(state(), s.Fingerprint)
		if (m != nil) != want {
			t.Errorf("found: %t, want %t", m != nil, want)
		}
		if m != nil {
			divide(t, m)
			m.Close()
		}
	}
	write := func() {
		if err := os.WriteFile(file, s.Wasm, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write()
	found(false)
	s.File = Settle(file)
	mustLoad(t, c, s, false) // too new for a note
	found(false)
	time.Sleep(settled + 100*time.Millisecond)
	mustLoad(t, c, s, true)
	found(true)
	found(true)
	if c.FindFile(state(), s.Fingerprint+" other") != nil || c.FindFile(state(), "") != nil || (*Cache)(nil).FindFile(state(), s.Fingerprint) != nil {
		t.Error("found with other options")
	}
	// The same bytes, size and time of modification: but it was written.
	modified := state().ModTime()
	write()
	if err := os.Chtimes(file, modified, modified); err != nil {
		t.Fatal(err)
	}
	found(false)
	time.Sleep(settled + 100*time.Millisecond)
	found(false)
	s.File = Settle(file)
	mustLoad(t, c, s, true)
	found(true)
	notes, err := filepath.Glob(filepath.Join(c.Dir(), notePrefix+"*"))
	if err != nil || len(notes) != 2 {
		t.Fatal(notes, err)
	}
	for _, damage := range []func(string) error{
		func(name string) error { return os.Truncate(name, 31) },
		func(name string) error { return os.WriteFile(name, make([]byte, len(Key{})), 0o600) },
		func(name string) error { return os.Chmod(name, 0o666) },
	} {
		for _, n := range notes {
			if err := damage(n); err != nil {
				t.Fatal(err)
			}
		}
		found(false)
		mustLoad(t, c, s, true) // removes the note
		mustLoad(t, c, s, true) // and makes another
		found(true)
	}
	os.Remove(entryFile(t, c))
	found(false)
	s.File = nil
	mustLoad(t, c, s, false)
	found(true) // the entry of the same name is back
	c.Clear()
	if left := content(t, c.Dir()); len(left) != 0 {
		t.Error(left)
	}
	// Notes are bounded.
	root, err := c.root()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for i := range maxNotes + 1 {
		if err := root.WriteFile(fmt.Sprintf("%s%064x", notePrefix, i), make([]byte, len(Key{})), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustLoad(t, c, s, false)
	if left := content(t, c.Dir()); len(left) != 1 {
		t.Error(left)
	}
}

// The variables that make this program a child of a test: its task, and the folder.
const (
	childTask = "WAOT_CACHE_TEST"
	childDir  = "WAOT_CACHE_TEST_DIR"
	childFile = "WAOT_CACHE_TEST_FILE"
)

// unfinished is an entry that a process writes.
const unfinished = newPrefix + "0123456789abcdef01234567"

// foundNote is what a child prints that has found a note.
const foundNote = "found by the note"

func child(t *testing.T, task, dir string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childTask+"="+task, childDir+"="+dir)
	return cmd
}

// TestNoteHasBuildID: what notes know of the program has its build ID, so it differs where all files of an image have the same times.
func TestNoteHasBuildID(t *testing.T) {
	f, err := os.Open(thisProgram)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id, err := buildID(f)
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	if b, _, ok := appendProgram(nil); !ok || !bytes.Contains(b, []byte(id)) {
		t.Errorf("%t: no %s in %d bytes", ok, id, len(b))
	}
}

// TestNotesOfPrograms: a note is only for the program that made it, though it may be the same one in another file, which finds the entry.
func TestNotesOfPrograms(t *testing.T) {
	c, compiled := open(t, 0), 0
	s := source(t, "div", &compiled)
	file := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, s.Wasm, 0o666); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.test")
	if err := os.WriteFile(other, program, 0o777); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settled + 100*time.Millisecond)
	if s.File = Settle(file); s.File == nil {
		t.Skip("the file system of the folder for temporary files does not tell of changes")
	}
	mustLoad(t, c, s, false)
	for _, p := range []struct {
		name string
		want bool
	}{{os.Args[0], true}, {other, false}} {
		cmd := child(t, "find", c.Dir())
		cmd.Path, cmd.Env = p.name, append(cmd.Env, childFile+"="+file)
		out, err := cmd.CombinedOutput()
		if got := strings.Contains(string(out), foundNote); err != nil || got != p.want {
			t.Errorf("%s: %v, found %t, want %t\n%s", p.name, err, got, p.want, out)
		}
	}
}

// TestChild is what other tests start.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	switch os.Getenv(childTask) {
	case "load":
		c, err := Open(dir, 300<<10)
		if err != nil {
			t.Fatal(err)
		}
		compiled := 0
		for range 60 {
			for _, name := range []string{"div", "add", "many", "loop"} {
				m, _, err := c.Load(source(t, name, &compiled))
				if err != nil {
					t.Fatal(err)
				}
				if name == "div" {
					divide(t, m)
				}
				m.Close()
			}
		}
	case "find":
		c, err := Open(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		state, err := os.Stat(os.Getenv(childFile))
		if err != nil {
			t.Fatal(err)
		}
		compiled := 0
		s := source(t, "div", &compiled)
		mustLoad(t, c, s, true)
		if m := c.FindFile(state, s.Fingerprint); m != nil {
			t.Log(foundNote)
		}
	case "write":
		c, err := Open(dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		root, err := c.root()
		if err != nil {
			t.Fatal(err)
		}
		writeEntry(root, Key{}, &Source{}, &inproc.Image{}, 0) // an image that is refused: nothing is left
		f, err := root.Create(unfinished)
		if err != nil || lock(f) != nil {
			t.Fatal(err)
		}
		fmt.Println("ready")
		for {
			time.Sleep(time.Hour)
			runtime.KeepAlive(f) // or the collector closes it, which ends the lock
		}
	default:
		t.Skip("for processes that TestProcesses and TestKilled start")
	}
}

// TestProcesses has several processes load and evict the same entries, while this one removes them and damages some.
func TestProcesses(t *testing.T) {
	c := open(t, 300<<10)
	var children []*exec.Cmd
	var outputs [3]bytes.Buffer
	for i := range outputs {
		cmd := child(t, "load", c.Dir())
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	done := make(chan bool)
	go func() {
		defer close(done)
		for i, cmd := range children {
			if err := cmd.Wait(); err != nil || strings.Contains(outputs[i].String(), "SKIP") {
				t.Errorf("%v\n%s", err, outputs[i].String())
			}
		}
	}()
	compiled := 0
	s := source(t, "div", &compiled)
	for n := 0; ; n++ {
		select {
		case <-done:
			c.Clear()
			if left := content(t, c.Dir()); len(left) != 0 {
				t.Error(left)
			}
			return
		case <-time.After(time.Millisecond):
		}
		if m, _, err := c.Load(s); err != nil {
			t.Error(err)
		} else {
			divide(t, m)
			m.Close()
		}
		if n%10 == 0 {
			if _, _, err := c.Clear(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestKilled: what a process leaves that was killed while it wrote is removed, but not while it lives.
func TestKilled(t *testing.T) {
	c, compiled := open(t, 0), 0
	cmd := child(t, "write", c.Dir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for b := make([]byte, 1000); !bytes.Contains(text, []byte("ready")); {
		n, err := out.Read(b)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		text = append(text, b[:n]...)
	}
	mustLoad(t, c, source(t, "div", &compiled), false)
	left, err := filepath.Glob(filepath.Join(c.Dir(), newPrefix+"*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != unfinished {
		t.Error(left, err)
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	mustLoad(t, c, source(t, "add", &compiled), false)
	if left, err := filepath.Glob(filepath.Join(c.Dir(), newPrefix+"*")); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

// TestCompilerID: this program has an ID, and one without a build ID has another.
func TestCompilerID(t *testing.T) {
	id, err := compilerID()
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	again, err := programID()
	if err != nil || !strings.HasSuffix(id, again) {
		t.Errorf("%q, %q, %v", id, again, err)
	}
	if _, err := buildID(strings.NewReader("no program")); err == nil {
		t.Error("a text has a build ID")
	}
}
