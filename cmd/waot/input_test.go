//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestLargeInput: every command that reads a module refuses one that is larger than the limit by its size, in one line that names the limit. The file is empty but for
// its size, so that reading it would take long.
func TestLargeInput(t *testing.T) {
	setUp(t)
	for name, head := range map[string]string{"large.wasm": "\x00asm\x01\x00\x00\x00", "large.wat": "(module", "large.o": "\x7fELF"} {
		if err := os.WriteFile(name, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, 1<<42); err != nil {
			testenv.Missing(t, "no sparse files: "+err.Error())
		}
		for _, args := range [][]string{{"validate"}, {"print"}, {"inspect"}, {"build", "-o", "out.o"}, {"run"}, {"run", "--cache=off"}, {"diff"}, {"bisect"}} {
			var status int
			var stdout, stderr string
			took := cputime.Least(1, 0, func() { status, stdout, stderr = execute(append(args, name)...) })
			if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "4398046511104 bytes of ") {
				t.Errorf("%v %s: %d, %s%s", args, name, status, stdout, stderr)
			}
			if took.Seconds() > 1 {
				t.Errorf("%v %s: %v", args, name, took)
			}
		}
	}
	if _, err := os.Stat("out.o"); err == nil {
		t.Error("a file is left")
	}
}

// zeros is a stream without an end.
type zeros struct{ n int }

func (z *zeros) Read(b []byte) (int, error) {
	clear(b)
	z.n += len(b)
	return len(b), nil
}

// TestEndlessInput: of a stream without an end no more is read than --max-module-bytes, and somewhat more.
func TestEndlessInput(t *testing.T) {
	setUp(t)
	for _, args := range [][]string{{"build", "-", "-o", "out.o"}, {"run", "-"}, {"inspect", "-"}, {"diff", "-"}} {
		var out, errs bytes.Buffer
		in := new(zeros)
		status := run(append(args, "--max-module-bytes=1000000"), in, &out, &errs)
		if got := errs.String(); status != 1 || got != "waot: -: more than 1000000 bytes of module, which is the limit\n" {
			t.Errorf("%v: %d, %s", args, status, got)
		}
		if in.n > 4<<20 {
			t.Errorf("%v: %d bytes read", args, in.n)
		}
	}
}

// TestTimeouts: --timeout ends the wait for a pipe that nobody opens or writes to, as a file and as standard input, reading a text, validating, and writing to
// a pipe that nobody reads.
func TestTimeouts(t *testing.T) {
	setUp(t)
	for _, name := range []string{"pipe", "pipe.o"} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	text.WriteString("(module ")
	for range 300_000 {
		text.WriteString("(func (result f64) (f64.const 1e-308))")
	}
	if err := os.WriteFile("long.wat", text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	defer writer.Close()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"validate", "pipe"}, "pipe: reading cancelled: timed out after 10ms"},
		{[]string{"build", "pipe", "-o", "out.o"}, "pipe: reading cancelled: timed out after 10ms"},
		{[]string{"run", "pipe"}, "pipe: reading cancelled: timed out after 10ms"},
		{[]string{"validate", "-"}, "-: reading cancelled: timed out after 10ms"},
		{[]string{"run", "-"}, "-: reading cancelled: timed out after 10ms"},
		{[]string{"build", "long.wat", "-o", "out.o"}, "long.wat: reading the text cancelled: timed out after 10ms"},
		{[]string{"validate", "long.wat"}, "long.wat: reading the text cancelled: timed out after 10ms"},
		{[]string{"run", "long.wat"}, "long.wat: reading the text cancelled: timed out after 10ms"},
		{[]string{"build", "lib.wasm", "-o", "pipe.o", "--timeout=500ms"}, "timed out after 500ms"}, // nobody reads
	} {
		var out, errs bytes.Buffer
		args := c.args
		if !strings.Contains(strings.Join(args, " "), "--timeout") {
			args = append(args, "--timeout=10ms")
		}
		status := run(args, reader, &out, &errs)
		// On a busy machine less may be done in the time.
		if got := errs.String(); status != 1 || !strings.HasPrefix(got, "waot: ") || !strings.Contains(got, c.want) && !strings.Contains(got, "reading cancelled: timed out") {
			t.Errorf("%v: %d, %s, want %s", args, status, got, c.want)
		}
	}
	left, err := filepath.Glob("*out.o*")
	if err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
