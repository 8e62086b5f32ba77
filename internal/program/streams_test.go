//go:build linux

package program_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// streamsModule opens four files, says in its status what it finds wrong with its streams, and traps if all is well. Its output is four bytes on either stream; what it reads must be as
// its file "closed" says for standard input: that is there if the stream is closed.
const streamsModule = `(module
  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "\08\00\00\00\04\00\00\00fileclosed")
  (func $check (param $bad i32) (param $status i32) (if (local.get $bad) (then (call $exit (local.get $status)))))
  (func $open_file (result i32) (call $open (i32.const 3) (i32.const 0) (i32.const 8) (i32.const 4) (i32.const 1) (i64.const 66) (i64.const 0) (i32.const 0) (i32.const 24)))
  (func (export "_start")
    (call $check (call $open_file) (i32.const 1)) (call $check (call $open_file) (i32.const 1)) (call $check (call $open_file) (i32.const 1)) (call $check (call $open_file) (i32.const 1))
    (call $check (i32.ne (i32.load (i32.const 24)) (i32.const 7)) (i32.const 2))
    (call $check (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 28)) (i32.const 3))
    (call $check (i32.ne (i32.load (i32.const 28)) (i32.const 4)) (i32.const 4))
    (call $check (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 28)) (i32.const 5))
    (call $check (i32.ne (i32.load (i32.const 28)) (i32.const 4)) (i32.const 6))
    (i32.store (i32.const 0) (i32.const 1024))
    (call $check (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 28)) (i32.const 7))
    (call $check (i32.ne (i32.load (i32.const 28))
      (select (i32.const 4) (i32.const 0) (call $open (i32.const 3) (i32.const 0) (i32.const 12) (i32.const 6) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 24)))) (i32.const 8))
    unreachable))`

// closedStreams runs a program in a shell once for each set of closed streams. Those that are open are a file each, open for reading and writing: none may get what is not written to it.
func closedStreams(t *testing.T, dir string, command func(script string) *exec.Cmd) {
	t.Helper()
	for closed := range 8 {
		script, want := "exec \"$@\"", [3]string{"data", "", ""}
		os.Remove(filepath.Join(dir, "closed"))
		for i := range 3 {
			file := filepath.Join(dir, fmt.Sprint("stream", i))
			if err := os.WriteFile(file, []byte(want[i]), 0o666); err != nil {
				t.Fatal(err)
			}
			if closed>>i&1 == 0 {
				script += fmt.Sprintf(" %d<>%s", i, file)
				continue
			}
			script += fmt.Sprintf(" %d>&-", i)
			if i == 0 {
				if err := os.WriteFile(filepath.Join(dir, "closed"), nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		if closed&2 == 0 {
			want[1] = "file"
		}
		if closed&4 == 0 {
			want[2] = `file.*: wasm trap: unreachable\n.*\n`
		}
		cmd := command(script)
		if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 134 {
			t.Errorf("%s: %v", script, err)
		}
		for i, w := range want {
			if b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("stream", i))); err != nil || !regexp.MustCompile("^"+w+"$").Match(b) {
				t.Errorf("%s: stream %d has %q, want %s (%v)", script, i, b, w, err)
			}
		}
		if b, err := os.ReadFile(filepath.Join(dir, "file")); len(b) > 0 || err != nil {
			t.Errorf("%s: the file has %q (%v)", script, b, err)
		}
	}
}

// TestClosedStreams checks that no file of a program gets the number of a standard stream that was closed, and that such a stream is empty and takes everything.
func TestClosedStreams(t *testing.T) {
	module := wasm(t, streamsModule)
	for _, target := range compile.Targets() {
		dir := t.TempDir()
		m, o := machine(t, target), program.Options{Grants: program.Grants{Dirs: []program.Dir{{Host: dir, Guest: "/"}}}}
		file := build(t, target, module, &o)
		closedStreams(t, dir, func(script string) *exec.Cmd {
			return exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "sh"}, m.Command(t.Context(), file).Args...)...)
		})
	}
}

// TestClosedStreamsAlone is TestClosedStreams where there are no other files than the program's: no /dev/null.
func TestClosedStreamsAlone(t *testing.T) {
	dir := t.TempDir()
	o := program.Options{Grants: program.Grants{Dirs: []program.Dir{{Host: "/", Guest: "/"}}}}
	b, err := os.ReadFile(build(t, compile.HostTarget(), wasm(t, streamsModule), &o))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "program"), b, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	chroot := []string{"chroot", dir}
	if os.Geteuid() != 0 {
		chroot = []string{"unshare", "--map-root-user", "--root=" + dir}
		if err := exec.Command("unshare", "--map-root-user", "true").Run(); err != nil {
			testenv.Missing(t, "unshare: "+err.Error())
		}
	}
	closedStreams(t, dir, func(script string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "sh", slices.Concat([]string{"-c", script, "sh"}, chroot, []string{"/program"})...)
	})
}

// TestBrokenPipe checks that a reader who leaves is an error of the call, whatever has been written by then, and does not end a program; nor does it end its report of a trap.
func TestBrokenPipe(t *testing.T) {
	const module = `(module
	  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	  (memory (export "memory") 40)
	  (data (i32.const 0) "\40\00\00\00\00\00\10\00\40\00\00\00\00\00\10\00")
	  (func (export "_start")
	    ;; the first call writes a part, the second nothing
	    (if (call $write (i32.const %[1]d) (i32.const 0) (i32.const %[2]d) (i32.const 32)) (then (call $exit (i32.const 1))))
	    (if (i32.ge_u (i32.sub (i32.load (i32.const 32)) (i32.const 1)) (i32.const 0xfffff)) (then (call $exit (i32.const 2))))
	    (if (i32.ne (call $write (i32.const %[1]d) (i32.const 0) (i32.const %[2]d) (i32.const 32)) (i32.const 64)) (then (call $exit (i32.const 3))))
	    unreachable))`
	for _, target := range compile.Targets() {
		m := machine(t, target)
		for _, c := range [][2]int{{1, 1}, {1, 2}, {2, 1}, {2, 2}} { // the stream, and how many buffers
			file := build(t, target, wasm(t, fmt.Sprintf(module, c[0], c[1])), new(program.Options))
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := m.Command(t.Context(), file)
			if cmd.Stdout = w; c[0] == 2 {
				cmd.Stdout, cmd.Stderr = nil, w
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			// When a byte is there, the call has begun, and it cannot end: a pipe has room for less.
			if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
				t.Error(err)
			}
			r.Close()
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 134 {
				t.Errorf("%s: stream %d, buffers: %d: %v", target, c[0], c[1], err)
			}
		}
	}
}

// TestPipeSignalOfOthers: what another process sends is not taken for the signal of a write.
func TestPipeSignalOfOthers(t *testing.T) {
	file := build(t, compile.HostTarget(), wasm(t, `(module
	  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	  (memory (export "memory") 40)
	  (data (i32.const 0) "\40\00\00\00\00\00\10\00")
	  (func (export "_start") (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 32)))))`), new(program.Options))
	cmd := exec.Command(file)
	r, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGPIPE); err != nil {
		t.Error(err)
	}
	io.Copy(io.Discard, r)
	cmd.Wait()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGPIPE {
		t.Error(cmd.ProcessState)
	}
}

// TestFewFilesPoll checks that poll_oneoff takes many subscriptions where few files may be open.
func TestFewFilesPoll(t *testing.T) {
	module := wasm(t, `(module
	  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
	  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
	  (memory (export "memory") 1000)
	  ;; subscribe fills n subscriptions, to standard input's being readable and standard output's being writable
	  (func $subscribe (param $n i32) (local $p i32)
	    (loop $next
	      (i32.store8 offset=8 (local.get $p) (i32.add (i32.const 1) (i32.and (local.get $n) (i32.const 1))))
	      (i32.store offset=16 (local.get $p) (i32.and (local.get $n) (i32.const 1)))
	      (local.set $p (i32.add (local.get $p) (i32.const 48)))
	      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
	  (func $events (param $n i32) (result i32)
	    (i32.store (i32.const 65000000) (i32.const 0))
	    (call $subscribe (local.get $n))
	    (if (call $poll (i32.const 0) (i32.const 0) (local.get $n) (i32.const 65000000)) (then (return (i32.const -1))))
	    (i32.load (i32.const 65000000)))
	  (func (export "_start")
	    (if (i32.ne (call $events (i32.const 2000)) (i32.const 2000)) (then (call $exit (i32.const 1))))
	    (if (i32.ne (call $events (i32.const 16384)) (i32.const 16384)) (then (call $exit (i32.const 2))))
	    (if (i32.ne (call $events (i32.const 16385)) (i32.const -1)) (then (call $exit (i32.const 3))))
	    (if (i32.ne (call $events (i32.const 1000000)) (i32.const -1)) (then (call $exit (i32.const 4))))))`)
	for _, target := range compile.Targets() {
		m := machine(t, target)
		cmd := m.Command(t.Context(), build(t, target, module, new(program.Options)))
		cmd = exec.CommandContext(t.Context(), "sh", append([]string{"-c", `ulimit -n 100 && exec "$@"`, "sh"}, cmd.Args...)...)
		r, w, err := os.Pipe() // what is in it can be read from the start
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		w.WriteString("input")
		cmd.Stdin, cmd.Stdout = r, new(bytes.Buffer)
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
}
