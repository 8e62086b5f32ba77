//go:build linux && (amd64 || arm64)

package wasirun_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
)

// TestSystemReset: after a reset a program finds what it found at first, and what it has opened is closed.
func TestSystemReset(t *testing.T) {
	var out bytes.Buffer
	system, inst := start(t, "cat", wasirun.Options{Stdin: strings.NewReader("some text"), Stdout: &out, Dirs: []wasirun.Dir{{Host: t.TempDir(), Guest: "/"}}})
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := inst.Store().Reset(context.Background()); err != nil { // which opens what the process keeps
		t.Fatal(err)
	}
	before := files()
	for n, text := range []string{"some text", "other text", "", "more"} {
		if n > 0 {
			if err := inst.Store().Reset(context.Background()); err != nil {
				t.Fatal(err)
			}
			err := system.Reset()
			if text != "" {
				err = system.Reopen(&wasirun.Options{Stdin: strings.NewReader(text), Stdout: &out, Dirs: []wasirun.Dir{{Host: t.TempDir(), Guest: "/"}}})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		out.Reset()
		status, err := system.Start(context.Background(), inst)
		if status != uint32(len(text)) || err != nil || out.String() != text {
			t.Errorf("status %d, error %v, output %q, want %q", status, err, out.String(), text)
		}
		if n := files(); n != before {
			t.Errorf("%d open files, %d at first", n, before)
		}
	}
	if err := system.Reopen(&wasirun.Options{Args: []string{"a\x00b"}}); err == nil {
		t.Error("an argument with NUL")
	}
	if err := system.Reset(); !errors.Is(err, host.ErrClosed) {
		t.Error(err)
	}
	if n := files(); n >= before {
		t.Errorf("%d open files, %d at first", n, before)
	}
}
