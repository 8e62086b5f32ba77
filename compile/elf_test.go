package compile_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// tool finds a program that the test needs. Without it the test is skipped, but on
// the build server it fails.
func tool(t *testing.T, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err == nil {
		return p
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is needed", name)
	}
	t.Skipf("NOT TESTED: %s is not installed", name)
	return ""
}

func runTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, name), args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// userModule imports functions that the sample module exports.
func userModule() *wasmModule {
	m := &wasmModule{}
	add := m.importFunc("lib", "add", types(i32, i32), types(i32))
	fib := m.importFunc("lib", "fib", types(i32), types(i32))
	m.exportFn("twice", types(i32, i32), types(i32), nil,
		cat([]byte{0x20, 0, 0x20, 1, 0x10}, leb(add), []byte{0x41, 2, 0x6c})...)
	m.tables = append(m.tables, cat([]byte{funcref, 0}, leb(1)))
	m.elems = append(m.elems, cat([]byte{0, 0x41, 0, 0x0b}, leb(1), leb(fib)))
	m.exportFn("fib", types(i32), types(i32), nil,
		cat([]byte{0x20, 0, 0x41, 0, 0x11}, leb(m.typ(types(i32), types(i32))), []byte{0})...)
	return m
}

func writeObjects(t *testing.T, level opt.Level) (dir, lib, user string) {
	t.Helper()
	dir = t.TempDir()
	lib, user = filepath.Join(dir, "lib.o"), filepath.Join(dir, "user.o")
	for name, m := range map[string]*wasmModule{"lib": sampleModule(), "user": userModule()} {
		b := elf(t, build(t, m.bytes(), compile.Options{Name: name, OptLevel: level}))
		if err := os.WriteFile(filepath.Join(dir, name+".o"), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, lib, user
}

// TestDriver links two objects with a program in C, which checks everything that C can
// see, and runs it.
func TestDriver(t *testing.T) {
	tool(t, "gcc")
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		dir, lib, user := writeObjects(t, level)
		for name, objs := range map[string][]string{"lib first": {lib, user}, "user first": {user, lib}} {
			for _, pie := range []string{"-pie", "-no-pie"} {
				exe := filepath.Join(dir, "driver")
				args := append([]string{"-O1", "-Wall", "-Wextra", "-Wno-builtin-declaration-mismatch", "-Wl,--fatal-warnings", pie, "-o", exe, "testdata/driver.c"}, objs...)
				if pie == "-pie" {
					args = append(args, "-fPIE")
				} else {
					args = append(args, "-fno-pie")
				}
				if out := runTool(t, "gcc", args...); out != "" {
					t.Errorf("%s %s: %s", name, pie, out)
				}
				out, err := exec.Command(exe).CombinedOutput()
				if err != nil || string(out) != "ok\n" {
					t.Errorf("%s %s O%d: %v\n%s", name, pie, level, err, out)
				}
			}
		}
	}
}

// TestTools checks that the usual tools read the objects without complaint.
func TestTools(t *testing.T) {
	dir, lib, user := writeObjects(t, opt.O1)
	for _, file := range []string{lib, user} {
		for _, args := range [][]string{{"-aW"}, {"--debug-dump=frames"}, {"-nW"}} {
			out := runTool(t, "readelf", append(args, file)...)
			if s := strings.ToLower(out); strings.Contains(s, "warning") || strings.Contains(s, "error") || strings.Contains(s, "corrupt") {
				t.Errorf("readelf %v %s:\n%s", args, file, out)
			}
		}
		out := runTool(t, "objdump", "-d", "-r", file)
		if strings.Contains(out, "(bad)") {
			t.Errorf("objdump %s:\n%s", file, out)
		}
	}
	frames := runTool(t, "readelf", "--debug-dump=frames-interp", lib)
	if !strings.Contains(frames, "rbp+16") {
		t.Errorf("frames:\n%s", frames)
	}
	symbols := runTool(t, "readelf", "-sW", lib)
	for _, want := range []string{"lib_fib.waot", "lib_fib.desc", "lib_mem.memory", "lib_tab.table", "lib_counter.global", "lib__init",
		"lib__instance", "lib__object", ".fibonacci_number", "lib_unreachableZ21", "env_log.waot"} {
		if !strings.Contains(symbols, want) {
			t.Errorf("no symbol %s", want)
		}
	}
	both := filepath.Join(dir, "both.o")
	if out := runTool(t, "ld", "-r", "--fatal-warnings", "-o", both, lib, user); out != "" {
		t.Error(out)
	}
	if out := runTool(t, "readelf", "-aW", both); strings.Contains(strings.ToLower(out), "warning") {
		t.Error(out)
	}
}
