package compile_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/gobpipe"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
)

// This file compiles modules on the other machine, in an emulator: this package's test binary, built for that machine,
// serves one request after the other. Objects must be the same bytes whichever machine has made them.

// serveEnv makes the test binary a server.
const serveEnv = "WAOT_COMPILE_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) == "" {
		os.Exit(m.Run())
	}
	if err := gobpipe.Serve(os.Stdin, os.Stdout, (*job).run); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// job is a compilation.
type job struct {
	Wasm   []byte
	Level  opt.Level
	Target string
}

// made is what comes of it.
type made struct {
	GOARCH string // of the machine that has made it
	Size   int
	Digest [sha256.Size]byte // of the object
	Err    string
}

func (j *job) run() *made {
	m := &made{GOARCH: runtime.GOARCH}
	r, err := compile.Module(j.Wasm, compile.Options{OptLevel: j.Level, Target: j.Target, Name: "m"})
	var b bytes.Buffer
	if err == nil {
		err = r.WriteELF(&b)
	}
	if err != nil {
		m.Err = err.Error()
	}
	m.Size, m.Digest = b.Len(), sha256.Sum256(b.Bytes())
	return m
}

// startServer starts the server, and gives what lets it run a job. Without an emulator the test is skipped, or fails
// where that must not be.
func startServer(t *testing.T) func(*job) *made {
	t.Helper()
	goarch := "arm64"
	if runtime.GOARCH == goarch {
		goarch = "amd64"
	}
	m, err := emulate.For(goarch, "")
	if err != nil {
		fmt.Fprintf(os.Stderr, "WARNING: objects are not compared with those made on %s: %v\n", goarch, err)
		testenv.Missing(t, err.Error())
	}
	program, err := m.Build(t.Context(), t.TempDir(), ".", "test", "-c", "-ldflags=-w")
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.Command(context.Background(), program)
	cmd.Env = append(cmd.Env, serveEnv+"=1")
	cmd.Stderr = os.Stderr
	process, err := gobpipe.Start[job, made](cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(j *job) *made {
		there, err := process.Ask(j)
		if err != nil {
			t.Fatal(err)
		}
		if there.GOARCH != goarch {
			t.Fatalf("compiled on %q, not on %s", there.GOARCH, goarch)
		}
		return there
	}
}

// crossModules are modules by name: those in testdata, random ones, and some of the benchmark modules.
func crossModules(t *testing.T) (names []string, modules map[string][]byte) {
	t.Helper()
	files, err := filepath.Glob("../testdata/wasm/*.wasm")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d modules, error %v", len(files), err)
	}
	if dir := testenv.OptionalMaterial(t, testenv.EnvBench); dir != "" && testenv.Full() {
		for _, name := range []string{"quicksort/benchmark", "blake3-scalar/benchmark", "bz2/benchmark", "shootout/shootout-matrix", "tinygo/tinygo-json"} {
			files = append(files, filepath.Join(dir, name+".wasm"))
		}
	}
	modules = map[string][]byte{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		names, modules[name] = append(names, name), b
	}
	for seed := range testenv.Cases[uint64](0, 10, 100) {
		name := fmt.Sprintf("seed %d", seed)
		names, modules[name] = append(names, name), wasmgen.Generate(seed, wasmgen.Config{Size: 60}).Wasm
	}
	return names, modules
}

// TestSameElsewhere: the object for a target is the same whichever machine has compiled it.
func TestSameElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("runs in an emulator")
	}
	elsewhere := startServer(t)
	names, modules := crossModules(t)
	objects, bytes := 0, 0
	for _, name := range names {
		for _, target := range compile.Targets() {
			for _, level := range []opt.Level{opt.O0, opt.O1} {
				j := &job{modules[name], level, target}
				here, there := j.run(), elsewhere(j)
				if there.GOARCH = here.GOARCH; *here != *there {
					t.Errorf("%s for %s at -O%d: %d bytes, digest %x, error %q; on the other machine %d, %x, %q", name, target, level,
						here.Size, here.Digest, here.Err, there.Size, there.Digest, there.Err)
				}
				if here.Err == "" {
					objects, bytes = objects+1, bytes+here.Size
				}
			}
		}
	}
	t.Logf("%d modules, %d objects of %d bytes", len(names), objects, bytes)
	if want := 2 * len(compile.Targets()) * len(names); objects != want || !slices.Contains(names, "wasm/add.wasm") {
		t.Errorf("%d objects, want %d", objects, want)
	}
}
