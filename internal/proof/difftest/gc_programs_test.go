//go:build linux

package difftest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestGCPrograms: programs of languages with a collected heap write what they should: Kotlin's, and a benchmark that replaces nodes of a tree.
func TestGCPrograms(t *testing.T) {
	kotlin := testenv.Material(t, testenv.EnvWasm3)
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	t.Run("hello", func(t *testing.T) {
		want := read(filepath.Join(kotlin, "kotlin-hello.expected"))
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			if out := runCollected(t, filepath.Join(kotlin, "kotlin-hello.wasm"), level); out != want {
				t.Errorf("-O%d: %q, want %q", level, out, want)
			}
		}
	})
	t.Run("splay", func(t *testing.T) {
		dir := filepath.Join(testenv.Material(t, testenv.EnvBench), "splay")
		if out, want := runCollected(t, filepath.Join(dir, "splay.wasm"), opt.O1), read(filepath.Join(dir, "splay.stdout.expected")); out != want {
			t.Errorf("%q, want %q", out, want)
		}
	})
	t.Run("awfy", func(t *testing.T) {
		testenv.OnlyFull(t, "takes seconds")
		lines := strings.Split(strings.TrimSpace(runCollected(t, filepath.Join(kotlin, "kotlin-awfy.wasm"), opt.O1)), "\n")
		if len(lines) != 12 {
			t.Errorf("%d programs", len(lines))
		}
		for _, line := range lines {
			if !strings.Contains(line, "ok=true") {
				t.Error(line)
			}
		}
	})
}

// kotlinPrograms calls f with programs that use collections, coroutines, texts and exceptions, and with what they write.
func kotlinPrograms(t *testing.T, f func(t *testing.T, file, want string)) {
	for _, name := range []string{"collections", "coroutines", "text", "throws"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "kotlin", name)
			want, err := os.ReadFile(file + ".expected")
			if err != nil {
				t.Fatal(err)
			}
			f(t, file+".wasm", string(want))
		})
	}
}

// TestKotlin: Kotlin's programs write what they should.
func TestKotlin(t *testing.T) {
	kotlinPrograms(t, func(t *testing.T, file, want string) {
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			if out := runCollected(t, file, level); out != want {
				t.Errorf("-O%d: %q, want %q", level, out, want)
			}
		}
	})
}

// TestKotlinMoving: they also do if all objects move whenever one is made.
func TestKotlinMoving(t *testing.T) {
	testenv.OnlyFull(t, "takes seconds")
	kotlinPrograms(t, func(t *testing.T, file, want string) {
		if out := runMoving(t, file); out != want {
			t.Errorf("%q, want %q", out, want)
		}
	})
}

// runMoving is runCollected with a collection for each object that the program makes.
func runMoving(t *testing.T, file string) string {
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := nativeFor(wasm, compile.Options{OptLevel: opt.O1})
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	var out bytes.Buffer
	system, err := wasirun.NewSystem(&wasirun.Options{Args: []string{"program"}, Stdout: &out, Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer system.Close()
	s, err := inproc.NewStore(inproc.Config{CollectAlways: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	inst, err := (*host.Store)(s).Instantiate(t.Context(), mod, system.ImportsOf(mod))
	if err != nil {
		t.Fatal(err)
	}
	if status, err := system.Start(t.Context(), inst); err != nil || status != 0 {
		t.Fatalf("%s: exit status %d, %v", file, status, err)
	}
	return out.String()
}

// runCollected returns what a program writes that finds its folder as ".".
func runCollected(t *testing.T, file string, level opt.Level) string {
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := nativeFor(wasm, compile.Options{OptLevel: level})
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	var out bytes.Buffer
	nothing := func() {}
	options := &wasirun.Options{Args: []string{"program"}, Stdout: &out, Stderr: os.Stderr, Dirs: []wasirun.Dir{{Host: filepath.Dir(file), Guest: ".", ReadOnly: true}}}
	status, err := wasirun.Run(t.Context(), mod, options, host.Imports{"bench": {"start": nothing, "end": nothing}})
	if err != nil || status != 0 {
		t.Fatalf("%s: exit status %d, %v", file, status, err)
	}
	return out.String()
}
