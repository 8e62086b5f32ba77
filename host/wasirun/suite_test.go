//go:build linux && (amd64 || arm64)

package wasirun_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/proof/wasisuite"
)

// TestSuite runs the official WASI preview 1 tests as native code.
func TestSuite(t *testing.T) {
	wasisuite.Run(t, true, func(t *testing.T, test *wasisuite.Test) {
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		var stdout, stderr bytes.Buffer
		cfg := &wasirun.Options{Args: test.Args, Env: test.Env, Stdin: null, Stdout: &stdout, Stderr: &stderr}
		if dir := test.Directory(t); dir != "" {
			cfg.Dirs = []wasirun.Dir{{Host: dir, Guest: "/"}}
		}
		status, err := wasirun.Run(nil, compiled(t, test.Wasm), cfg)
		if err != nil || int(status) != test.ExitCode {
			t.Errorf("exit status %d, want %d; error %v; standard error:\n%s", status, test.ExitCode, err, stderr.Bytes())
		}
		if test.Stdout != nil && stdout.String() != *test.Stdout {
			t.Errorf("standard output %q, want %q", stdout.String(), *test.Stdout)
		}
	})
}
