//go:build linux && (amd64 || arm64)

package wasirun_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// suiteTests is how many official tests there are.
const suiteTests = 72

// TestSuite runs the official WASI preview 1 tests as native code.
func TestSuite(t *testing.T) {
	dir := testenv.Material(t, testenv.EnvWASI)
	n := 0
	for _, lang := range []string{"assemblyscript", "c", "rust"} {
		zr, err := zip.OpenReader(filepath.Join(dir, lang+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer zr.Close()
		for _, f := range zr.File {
			if path.Ext(f.Name) == ".wasm" {
				n++
				t.Run(lang+"/"+path.Base(f.Name), func(t *testing.T) { suiteTest(t, &zr.Reader, f.Name) })
			}
		}
	}
	if n != suiteTests {
		t.Errorf("%d tests, want %d", n, suiteTests)
	}
}

// fromZip reads a file; nil if there is none.
func fromZip(t *testing.T, zr *zip.Reader, name string) []byte {
	t.Helper()
	f, err := zr.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func suiteTest(t *testing.T, zr *zip.Reader, name string) {
	var spec struct {
		Args     []string
		Env      map[string]string
		Root     *string
		ExitCode uint32 `json:"exit_code"`
		Stdout   *string
	}
	if b := fromZip(t, zr, strings.TrimSuffix(name, ".wasm")+".json"); b != nil {
		if err := json.Unmarshal(b, &spec); err != nil {
			t.Fatal(err)
		}
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var stdout, stderr bytes.Buffer
	cfg := &wasirun.Options{Args: append([]string{path.Base(name)}, spec.Args...), Stdin: null, Stdout: &stdout, Stderr: &stderr}
	for k, v := range spec.Env {
		cfg.Env = append(cfg.Env, k+"="+v)
	}
	if spec.Root != nil {
		dir := t.TempDir()
		for _, f := range zr.File {
			rel, ok := strings.CutPrefix(f.Name, path.Join(path.Dir(name), *spec.Root)+"/")
			if !ok || strings.HasSuffix(f.Name, "/") {
				continue
			}
			to := filepath.Join(dir, filepath.FromSlash(rel))
			if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, fromZip(t, zr, f.Name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cfg.Dirs = []wasirun.Dir{{Host: dir, Guest: "/"}}
	}
	status, err := wasirun.Run(nil, compiled(t, fromZip(t, zr, name)), cfg)
	if err != nil || status != spec.ExitCode {
		t.Errorf("exit status %d, want %d; error %v; standard error:\n%s", status, spec.ExitCode, err, stderr.Bytes())
	}
	if spec.Stdout != nil && stdout.String() != *spec.Stdout {
		t.Errorf("standard output %q, want %q", stdout.String(), *spec.Stdout)
	}
}
