//go:build linux && (amd64 || arm64)

package wasirun_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
)

// compiled is a module, ready to be instantiated.
func compiled(t testing.TB, wasm []byte) *host.Module {
	t.Helper()
	m, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// section is a section of a module; all of the tests' numbers are below 128.
func section(id byte, items ...string) string {
	body := string(byte(len(items))) + strings.Join(items, "")
	return string(id) + string(byte(len(body))) + body
}

func name(s string) string { return string(byte(len(s))) + s }

func body(code string) string {
	code = "\x00" + code + "\x0b"
	return string(byte(len(code))) + code
}

const (
	typeVoid = "\x60\x00\x00"             // 0
	typeExit = "\x60\x01\x7f\x00"         // 1
	type4    = "\x60\x04\x7f\x7f\x7f\x7f" // 2
	resultI  = "\x01\x7f"
)

func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

// program is a module whose _start has the given code, with one imported function.
func program(typ byte, mod, field, code string, more ...string) []byte {
	s := []string{
		section(1, typeVoid, typeExit, type4+resultI),
		section(2, name(mod)+name(field)+"\x00"+string(typ)),
		section(3, "\x00"),
		section(5, "\x00\x01"),
		section(7, name("_start")+"\x00\x01", name("memory")+"\x02\x00"),
	}
	return module(append(append(s, more...), section(10, body(code)))...)
}

func TestSmall(t *testing.T) {
	const wasi = "wasi_snapshot_preview1"
	for _, x := range []struct {
		name   string
		wasm   []byte
		status uint32
		check  func(error) bool
	}{
		{"exit", program(1, wasi, "proc_exit", "\x41\x2a\x10\x00\x00"), 42, nil},
		{"exit in start", program(1, wasi, "proc_exit", "\x41\x03\x10\x00", section(8, "")[:0]+"\x08\x01\x01"), 3, nil},
		{"return", program(1, wasi, "proc_exit", ""), 0, nil},
		{"trap", program(1, wasi, "proc_exit", "\x00"), 0, func(err error) bool {
			var trap *host.Trap
			return errors.As(err, &trap) && trap.Code == host.TrapUnreachable && len(trap.Backtrace) == 1
		}},
		{"unknown function", program(1, wasi, "proc_exits", ""), 0, isLinkError},
		{"wrong type", program(0, wasi, "proc_exit", ""), 0, isLinkError},
		{"unknown module", program(1, "env", "f", ""), 0, isLinkError},
		{"no start", module(), 0, func(err error) bool { return errors.Is(err, wasirun.ErrNoStart) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			mod := compiled(t, x.wasm)
			for range 2 { // a module serves any number of runs
				status, err := wasirun.Run(nil, mod, nil)
				if x.check == nil && err != nil || x.check != nil && !x.check(err) {
					t.Fatalf("error %v", err)
				}
				if status != x.status {
					t.Errorf("status %d, want %d", status, x.status)
				}
			}
		})
	}
}

func isLinkError(err error) bool {
	var link *host.LinkError
	return errors.As(err, &link)
}

// TestWithoutMemory calls fd_write from a module that exports no memory: a fault, not
// a crash.
func TestWithoutMemory(t *testing.T) {
	wasm := module(
		section(1, typeVoid, typeExit, type4+resultI, "\x60\x00"+resultI),
		section(2, name("wasi_snapshot_preview1")+name("fd_write")+"\x00\x02"),
		section(3, "\x03"),
		section(7, name("f")+"\x00\x01"),
		section(10, body("\x41\x01\x41\x00\x41\x01\x41\x08\x10\x00")),
	)
	p, err := wasirun.New(nil, compiled(t, wasm), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f, err := p.Instance().Func("f")
	if err != nil {
		t.Fatal(err)
	}
	result := []uint64{0}
	const efault = 21
	if err := f.CallRaw(nil, result); err != nil || result[0] != efault {
		t.Errorf("errno %d, error %v", result[0], err)
	}
}

// TestImports gives a program a function of the host's own.
func TestImports(t *testing.T) {
	calls := 0
	env := host.Imports{"env": {"tick": func() { calls++ }}}
	if _, err := wasirun.Run(nil, compiled(t, program(0, "env", "tick", "\x10\x00\x10\x00")), nil, env); err != nil {
		t.Fatal(err)
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

// wazeroDir is where wazero's sources are, which have WASI programs made by several
// compilers.
func wazeroDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Skipf("SKIPPED: programs of wazero's tests, because its sources are not here: %v", err)
	}
	return dir
}

// outcome is what a run gave.
type outcome struct {
	Status         uint32
	Stdout, Stderr string
}

func native(t *testing.T, wasm []byte, args []string, dir string) (o outcome) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status, err := wasirun.Run(nil, compiled(t, wasm), &wasirun.Options{
		Args: args, Env: []string{"a=b", "c=d"}, Stdin: strings.NewReader("input\n"), Stdout: &stdout, Stderr: &stderr,
		Dirs: []wasirun.Dir{{Host: dir, Guest: "/"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return outcome{status, stdout.String(), stderr.String()}
}

func underWazero(t *testing.T, wasm []byte, args []string, dir string) (o outcome) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	cfg := wazero.NewModuleConfig().WithArgs(args...).WithEnv("a", "b").WithEnv("c", "d").
		WithStdin(strings.NewReader("input\n")).WithStdout(&stdout).WithStderr(&stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(dir, "/"))
	var exit *sys.ExitError
	if _, err := rt.InstantiateWithConfig(ctx, wasm, cfg); errors.As(err, &exit) {
		o.Status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	o.Stdout, o.Stderr = stdout.String(), stderr.String()
	return o
}

// TestPrograms runs programs in TinyGo, Rust, C and Zig natively and under wazero with
// wazero's own WASI.
func TestPrograms(t *testing.T) {
	base := filepath.Join(wazeroDir(t), "imports", "wasi_snapshot_preview1")
	dir := t.TempDir()
	for name, text := range map[string]string{"test.txt": "greet filesystem\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, lang := range []string{"tinygo", "cargo-wasi", "zig-cc", "zig"} {
		for _, x := range []struct {
			file string
			args []string
		}{
			{"example/testdata/" + lang + "/cat.wasm", []string{"/test.txt"}},
			{"example/testdata/" + lang + "/cat.wasm", []string{"/missing"}},
			{"testdata/" + lang + "/wasi.wasm", []string{"preopen"}},
			{"testdata/" + lang + "/wasi.wasm", []string{"poll"}},
			{"testdata/" + lang + "/wasi.wasm", []string{"unknown command"}},
		} {
			t.Run(lang+"/"+filepath.Base(x.file)+"/"+x.args[0], func(t *testing.T) {
				wasm, err := os.ReadFile(filepath.Join(base, x.file))
				if err != nil {
					t.Fatal(err)
				}
				args := append([]string{"wasi"}, x.args...)
				if d := cmp.Diff(underWazero(t, wasm, args, dir), native(t, wasm, args, dir)); d != "" {
					t.Errorf("wazero -, native +:\n%s", d)
				}
			})
		}
	}
}
