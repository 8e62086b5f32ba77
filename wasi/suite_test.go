//go:build linux

package wasi_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasi"
)

// suiteArchives are the official tests by language and their number.
var suiteArchives = []struct {
	name  string
	tests int
}{{"assemblyscript", 12}, {"c", 14}, {"rust", 46}}

// suiteSpec is what a test expects.
type suiteSpec struct {
	Args     []string
	Env      map[string]string
	Root     *string
	ExitCode uint32 `json:"exit_code"`
	Stdout   *string
}

// TestSuite runs the official preview 1 tests with another runtime's engine.
func TestSuite(t *testing.T) {
	dir := testenv.Material(t, testenv.EnvWASI)
	sample := testenv.Cases(3, 3, 1)
	for name, how := range map[string]struct {
		every   int
		prepare func(c *wasi.Context)
	}{
		"openat2":       {1, func(*wasi.Context) {}},
		"walk":          {sample, wasi.ForceWalk},
		"interruptible": {sample, func(c *wasi.Context) { c.SetInterrupt(make(chan struct{})) }},
	} {
		t.Run(name, func(t *testing.T) { runSuite(t, dir, how.every, how.prepare) })
	}
}

// runSuite runs one in every of the tests.
func runSuite(t *testing.T, dir string, every int, prepare func(*wasi.Context)) {
	passed, total := 0, 0
	for _, a := range suiteArchives {
		zr, err := zip.OpenReader(filepath.Join(dir, a.name+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer zr.Close()
		n := 0
		for _, f := range zr.File {
			if path.Ext(f.Name) != ".wasm" {
				continue
			}
			if n++; n%every != 0 {
				continue
			}
			if t.Run(a.name+"/"+path.Base(f.Name), func(t *testing.T) { runSuiteTest(t, &zr.Reader, f, prepare) }) {
				passed++
			}
		}
		if n != a.tests {
			t.Errorf("%s: %d tests, want %d", a.name, n, a.tests)
		}
		total += n
	}
	t.Logf("one in %d of %d tests: %d pass", every, total, passed)
}

func readZip(t *testing.T, zr *zip.Reader, name string) []byte {
	t.Helper()
	f, err := zr.Open(name)
	if errors.Is(err, os.ErrNotExist) {
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

func runSuiteTest(t *testing.T, zr *zip.Reader, f *zip.File, prepare func(*wasi.Context)) {
	var spec suiteSpec
	base := strings.TrimSuffix(f.Name, ".wasm")
	if b := readZip(t, zr, base+".json"); b != nil {
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
	cfg := wasi.Options{
		Args: append([]string{path.Base(f.Name)}, spec.Args...), Stdin: null, Stdout: &stdout, Stderr: &stderr,
	}
	for k, v := range spec.Env {
		cfg.Env = append(cfg.Env, k+"="+v)
	}
	if spec.Root != nil {
		dir := t.TempDir()
		extract(t, zr, path.Join(path.Dir(f.Name), *spec.Root), dir)
		cfg.Preopens = []wasi.Preopen{{Guest: "/", Host: dir}}
	}
	code, err := runWasm(t, readZip(t, zr, f.Name), cfg, prepare)
	if err != nil || code != spec.ExitCode {
		t.Errorf("exit code %d, want %d; error %v; standard error:\n%s", code, spec.ExitCode, err, stderr.Bytes())
	}
	if spec.Stdout != nil && stdout.String() != *spec.Stdout {
		t.Errorf("standard output %q, want %q", stdout.String(), *spec.Stdout)
	}
}

// extract copies the folder root of an archive to dir.
func extract(t *testing.T, zr *zip.Reader, root, dir string) {
	for _, f := range zr.File {
		rel, ok := strings.CutPrefix(f.Name, root+"/")
		if !ok || strings.HasSuffix(f.Name, "/") {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(rel))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, readZip(t, zr, f.Name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// runWasm runs a program's _start and gives its exit code.
func runWasm(t testing.TB, bin []byte, cfg wasi.Options, prepare func(*wasi.Context)) (uint32, error) {
	c, err := wasi.New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	prepare(c)
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	b := rt.NewHostModuleBuilder(wasi.ModuleName)
	for _, f := range wasi.Functions() {
		call := api.GoModuleFunc(func(_ context.Context, mod api.Module, stack []uint64) {
			mem, _ := mod.Memory().Read(0, mod.Memory().Size())
			errno, err := f.Call(c, mem, stack)
			if err != nil {
				panic(err)
			}
			if f.Results != "" {
				stack[0] = uint64(errno)
			}
		})
		params, results := wasi.Types(&f, api.ValueTypeI32, api.ValueTypeI64)
		b.NewFunctionBuilder().WithGoModuleFunction(call, params, results).Export(f.Name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = rt.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig())
	var exit *wasi.ExitError
	if errors.As(err, &exit) {
		return exit.Code, nil
	}
	return 0, err
}
