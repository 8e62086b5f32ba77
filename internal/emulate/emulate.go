// Package emulate starts programs built for another machine: natively if this machine can run them, otherwise in
// qemu's user emulation. The programs end with this process. If this process cannot remove its temporary folders,
// the next one does. The package also builds programs of this module for the other machine.
//
// Place in the pipeline: none; for the command, which runs compiled code elsewhere, and for tests.
//
// Input: a GOARCH, the path of a program.
// Output: commands, which Start and Run start.
package emulate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// emulators are the command lines of the default emulators by GOARCH, with every feature of the
// processor, so that landing pads are checked, too, and variables that programs get in them.
var emulators = map[string]struct {
	command string
	env     []string
}{
	// In qemu 7.2 on x86-64, native code that was preempted does not resume: sigreturn refuses the copied frame.
	"amd64": {"qemu-x86_64 -cpu max", []string{"GODEBUG=asyncpreemptoff=1"}},
	"arm64": {"qemu-aarch64 -cpu max", nil},
}

// Machine is where programs of an architecture run.
type Machine struct {
	GOARCH string
	argv   []string // comes before the program; empty where it runs natively
	env    []string // beside this process's own
}

// For returns the machine of an architecture. The emulator is a command line; if it is empty, it is none on
// this machine and qemu's elsewhere. It is an error if the emulator cannot be found.
func For(goarch, emulator string) (*Machine, error) {
	m := &Machine{GOARCH: goarch}
	if emulator == "" && goarch != runtime.GOARCH {
		e, ok := emulators[goarch]
		if !ok {
			return nil, fmt.Errorf("no emulator is known for %s", goarch)
		}
		emulator, m.env = e.command, e.env
	}
	if m.argv = strings.Fields(emulator); len(m.argv) == 0 {
		return m, nil
	}
	path, err := exec.LookPath(m.argv[0])
	if err != nil {
		return nil, fmt.Errorf("the emulator %s is not installed (Debian has qemu's in the package qemu-user)", m.argv[0])
	}
	m.argv[0] = path
	return m, nil
}

// Command returns a program with arguments, to be started by Start or Run. To what it has in Env more can be added.
func (m *Machine) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	words := append(append([]string(nil), m.argv...), program)
	words = append(words, args...)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), m.env...)
	return cmd
}

// Run is Start, and waits for the end.
func Run(cmd *exec.Cmd) error {
	if err := Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// Build makes a statically linked program for m with the go command: args are "build" or "test -c" with
// flags, pkg is a package as seen from this folder. It gives the path of the program, which is in dir.
func (m *Machine) Build(ctx context.Context, dir, pkg string, args ...string) (string, error) {
	out := filepath.Join(dir, "program-"+m.GOARCH)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", out, pkg)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+m.GOARCH, "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go %s: %s", strings.Join(append(args, pkg), " "), cmp.Or(firstError(string(text)), err.Error()))
	}
	return out, nil
}

// firstError returns the first line of what the go command says that is not the name of a package.
func firstError(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
