//go:build linux

package difftest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

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

// kotlinPrograms calls f with programs of Kotlin, and with what they write.
func kotlinPrograms(t *testing.T, names []string, f func(t *testing.T, file, want string)) {
	for _, name := range names {
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
	kotlinPrograms(t, []string{"collections", "coroutines", "language", "text", "throws"}, func(t *testing.T, file, want string) {
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			if out := runCollected(t, file, level); out != want {
				t.Errorf("-O%d: %q, want %q", level, out, want)
			}
		}
	})
}

// TestKotlinMoving: those that do not make millions of objects also do if all objects move whenever one is made.
func TestKotlinMoving(t *testing.T) {
	testenv.OnlyFull(t, "takes seconds")
	kotlinPrograms(t, []string{"collections", "coroutines", "text", "throws"}, func(t *testing.T, file, want string) {
		if out := runMoving(t, file); out != want {
			t.Errorf("%q, want %q", out, want)
		}
	})
}

// TestMoonBit: programs of another compiler write and return what they do in V8.
func TestMoonBit(t *testing.T) {
	dir := filepath.Join("testdata", "moonbit")
	want, err := os.ReadFile(filepath.Join(dir, "library.expected"))
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		var units []uint16
		print := func(unit uint32) { units = append(units, uint16(unit)) }
		inst := moonBit(t, filepath.Join(dir, "library.wasm"), level, false, host.Imports{"spectest": {"print_char": print}})
		call(t, inst, "_start")
		if out := string(utf16.Decode(units)); out != string(want) {
			t.Errorf("-O%d: %q, want %q", level, out, want)
		}
		for _, always := range []bool{false, true} {
			inst := moonBit(t, filepath.Join(dir, "plain.wasm"), level, always, nil)
			for _, c := range []struct {
				name string
				n    int
				want int32
			}{{"tree", 200, -940873064}, {"shapes", 100, -1469526326}, {"closures", 50, -161425126}, {"ring", 200, 394118357}, {"sieve", 10000, 1229}} {
				if r := call(t, inst, c.name, c.n); !slices.Equal(r, []any{c.want}) {
					t.Errorf("-O%d, collections always %v: %s is %v, want %d", level, always, c.name, r, c.want)
				}
			}
		}
	}
}

// moonBit makes an instance of a module in a store of its own.
func moonBit(t *testing.T, file string, level opt.Level, always bool, imports host.Imports) *host.Instance {
	t.Helper()
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := nativeFor(wasm, compile.Options{OptLevel: level})
	if err != nil {
		t.Fatal(err)
	}
	s, err := inproc.NewStore(inproc.Config{CollectAlways: always})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	inst, err := (*host.Store)(s).Instantiate(t.Context(), mod, imports)
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

// call calls an export.
func call(t *testing.T, inst *host.Instance, name string, args ...any) []any {
	t.Helper()
	f, err := inst.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Call(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
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
