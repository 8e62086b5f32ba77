//go:build linux

package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// ends is a program that ends at once.
var ends = module(section(1, "\x60\x00\x00"), section(3, "\x00"), section(5, "\x00\x01"),
	section(7, name("memory")+"\x02\x00", name("_start")+"\x00\x00"), section(10, name("\x00\x0b")))

// running counts the processes that have been started as program, directly or by a wrapper.
func running(t *testing.T, program string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), program) {
			n++
		}
	}
	return n
}

// alive reports whether there is a process of that number that has not ended. One that nobody has waited for has ended.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return state[0] != 'Z'
}

// eventually waits for what need not hold at once. If it never does, go test's own limit ends the wait.
func eventually(holds func() bool) {
	for !holds() {
		time.Sleep(5 * time.Millisecond)
	}
}

// TestNoOrphans kills waot at any time while another process runs the code for it: that one ends,
// too, as a child and as a wrapper's child, and the next run removes the folder. Folders that are in
// use, and what only has such a name, stay.
func TestNoOrphans(t *testing.T) {
	program, _ := buildProgram(t)
	dir, tmp := t.TempDir(), t.TempDir()
	file, short, wrapper := filepath.Join(dir, "endless.wasm"), filepath.Join(dir, "short.wasm"), filepath.Join(dir, "wrapper")
	kept := filepath.Join(tmp, "waot-runner-link")
	for _, err := range []error{
		os.WriteFile(file, []byte(endless), 0o666), os.WriteFile(short, []byte(ends), 0o666), os.WriteFile(wrapper, []byte("#!/bin/sh\n\"$@\"\nexit $?\n"), 0o777),
		os.WriteFile(filepath.Join(dir, "mine"), nil, 0o666), os.Symlink(dir, kept), os.WriteFile(filepath.Join(tmp, "waot-runner-file"), nil, 0o666),
		os.Mkdir(filepath.Join(tmp, "waot-runner-old"), 0o777), os.WriteFile(filepath.Join(tmp, "waot-runner-old", "module.o"), nil, 0o666),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	folders := func() []string {
		var out []string
		found, err := filepath.Glob(filepath.Join(tmp, "waot-runner-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if st, err := os.Lstat(f); err == nil && st.IsDir() {
				out = append(out, f)
			}
		}
		return out
	}
	start := func(file, emulator string) *exec.Cmd {
		cmd := exec.Command(program, "run", file, "--emulator="+emulator)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	r := rand.New(rand.NewPCG(3, 4))
	reached := 0
	tries := testenv.Cases(8, 12, 24)
	for i := range tries {
		cmd := start(file, []string{"env", wrapper}[i%2])
		if i%4 < 2 { // until the code runs, then at any time
			eventually(func() bool { return running(t, program) >= 2+i%2 })
		}
		time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		if running(t, program) > 1 {
			reached++
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		eventually(func() bool { return running(t, program) == 0 })
		if n := len(folders()); n > 1 {
			t.Errorf("%d folders", n)
		}
	}
	if reached < tries/2 {
		t.Errorf("only %d runs had another process", reached)
	}
	// Two at once leave each other's folder alone; a run that ends leaves nothing but those in use.
	one := start(file, "env")
	eventually(func() bool { return running(t, program) == 2 && len(folders()) == 1 })
	used := folders()[0]
	if err := start(short, "env").Wait(); err != nil {
		t.Error(err)
	}
	if f := folders(); len(f) != 1 || f[0] != used {
		t.Errorf("folders %v, want %s", f, used)
	}
	one.Process.Kill()
	one.Wait()
	if err := start(short, "env").Wait(); err != nil {
		t.Error(err)
	}
	if f := folders(); len(f) != 0 {
		t.Errorf("folders %v", f)
	}
	for _, f := range []string{kept, filepath.Join(dir, "mine"), filepath.Join(tmp, "waot-runner-file")} {
		if _, err := os.Lstat(f); err != nil {
			t.Error(err)
		}
	}
}

// TestBisectEndsChildren: what a check has started ends with it.
func TestBisectEndsChildren(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		testenv.Missing(t, "no shell")
	}
	setUp(t)
	if err := os.WriteFile("m.wasm", []byte(bisected()), 0o666); err != nil {
		t.Fatal(err)
	}
	execute("bisect", "m.wasm", "--timeout=2s", "--check", "sleep 9999 & echo $! > pid; wait")
	pid, err := os.ReadFile("pid")
	if err != nil {
		t.Fatal(err)
	}
	eventually(func() bool { return !alive(t, strings.TrimSpace(string(pid))) })
}
