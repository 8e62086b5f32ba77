//go:build linux

package program_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasisuite"
)

// build writes an executable of a module and returns its path.
func build(t testing.TB, target string, wasm []byte, o *program.Options) string {
	t.Helper()
	b, err := link(target, wasm, o)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, b)
}

// write writes an executable.
func write(t testing.TB, b []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, b, 0o777); err != nil {
		t.Fatal(err)
	}
	return file
}

func link(target string, wasm []byte, o *program.Options) ([]byte, error) {
	return linkAs(compile.Options{Target: target, Name: "prog", OptLevel: opt.O1}, wasm, o)
}

// linkAs is link for options of the compiler.
func linkAs(c compile.Options, wasm []byte, o *program.Options) ([]byte, error) {
	r, err := compile.Module(wasm, c)
	if err != nil {
		return nil, err
	}
	if o.Prefix == "" {
		o.Prefix = "prog"
	}
	return program.Link(r.Object, r.Meta, o)
}

// machine returns where programs of a target run.
func machine(t testing.TB, target string) *emulate.Machine {
	t.Helper()
	m, err := emulate.For(compile.GOARCH(target), "")
	if err != nil {
		testenv.Missing(t, err.Error())
	}
	return m
}

// result is what a program did.
type result struct {
	stdout, stderr string
	status         int // -1 if a signal ended it
}

// run runs an executable without any environment.
func run(t testing.TB, m *emulate.Machine, stdin, file string, args ...string) result {
	t.Helper()
	return runWith(t, m, nil, stdin, file, args...)
}

// runWith runs an executable with variables.
func runWith(t testing.TB, m *emulate.Machine, env []string, stdin, file string, args ...string) result {
	t.Helper()
	cmd := m.Command(t.Context(), file, args...)
	cmd.Env = append([]string{}, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// TestSuite runs the official tests of WASI as executables: what a test is given is granted when it is built, or when it runs.
func TestSuite(t *testing.T) {
	for _, target := range compile.Targets() {
		t.Run(target, func(t *testing.T) {
			m := machine(t, target)
			wasisuite.Run(t, testenv.Full(), func(t *testing.T, test *wasisuite.Test) {
				var o program.Options
				var args []string
				dir := test.Directory(t)
				if strings.HasPrefix(test.Name, "rust/") {
					o.Grants.AtRunTime = true
					for _, v := range test.Env {
						args = append(args, "--waot-env="+v)
					}
					if dir != "" {
						args = append(args, "--waot-dir="+dir+"::/")
					}
				} else {
					o.Grants.Env = test.Env
					if dir != "" {
						o.Grants.Dirs = []program.Dir{{Host: dir, Guest: "/"}}
					}
				}
				got := run(t, m, "", build(t, target, test.Wasm, &o), append(args, test.Args[1:]...)...)
				if got.status != test.ExitCode || test.Stdout != nil && got.stdout != *test.Stdout {
					t.Errorf("status %d, want %d; standard output %q, standard error:\n%s", got.status, test.ExitCode, got.stdout, got.stderr)
				}
			})
		})
	}
}
